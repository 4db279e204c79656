//! Which hooks mechanisms have. How several of them at one node or flow answer, `#[hooks]` on the traits writes
//! ([`hooks`](macro@backwater_derive::hooks)).

use super::{Account, FlowHooks, Levels, LinkHooks, NicHooks, SwitchHooks};

/// Which hooks of one trait a mechanism has. `#[hooks]` on its `impl` says so.
pub trait Defines<Set> {
    /// These.
    const HOOKS: Set;
}

/// The hooks of mechanisms at switches, at NICs and to flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hooks {
    /// At switches.
    pub switch: SwitchHooks,
    /// At the links of switches.
    pub switch_links: LinkHooks,
    /// At NICs.
    pub nic: NicHooks,
    /// At the links of NICs.
    pub nic_links: LinkHooks,
    /// To flows.
    pub flow: FlowHooks,
}

impl Hooks {
    /// No hook.
    pub const NONE: Hooks = Hooks {
        switch: SwitchHooks::NONE,
        switch_links: LinkHooks::NONE,
        nic: NicHooks::NONE,
        nic_links: LinkHooks::NONE,
        flow: FlowHooks::NONE,
    };

    /// Those of either.
    #[must_use]
    pub const fn or(self, other: Hooks) -> Hooks {
        Hooks {
            switch: self.switch.or(other.switch),
            switch_links: self.switch_links.or(other.switch_links),
            nic: self.nic.or(other.nic),
            nic_links: self.nic_links.or(other.nic_links),
            flow: self.flow.or(other.flow),
        }
    }

    /// At the links of nodes of either kind.
    fn links(self) -> LinkHooks {
        self.switch_links.or(self.nic_links)
    }

    /// Whether some mechanism sees frames come in or leave at ports. Where one does, hosts act on what hooks have noted so far whenever a frame joins a
    /// queue or is taken out of the receive buffer, whichever of these events it sees: the order of frames that hooks send follows from it.
    pub(crate) fn port_events(self) -> bool {
        self.links().has(LinkHooks::ON_ARRIVE.or(LinkHooks::ON_START))
            || self.nic.has(NicHooks::ON_CONSUMED.or(NicHooks::ON_ENQUEUE))
    }

    /// Whether ports keep what they send.
    pub(crate) fn retains(self) -> bool {
        self.links().has(LinkHooks::RETAINS)
    }

    /// Whether some mechanism says which packets may start.
    pub(crate) fn may_transmit(self) -> bool {
        self.links().has(LinkHooks::MAY_TRANSMIT)
    }
}

impl SwitchHooks {
    /// Those of which levels say when they are called.
    pub const BY_LEVELS: SwitchHooks = SwitchHooks::COUNTED
        .or(SwitchHooks::ON_ADMIT)
        .or(SwitchHooks::ON_RELEASE)
        .or(SwitchHooks::ON_DEQUEUE)
        .or(SwitchHooks::ON_DEPART);
    /// A packet may be marked while it is steered, and is looked at for that when it joins its queue.
    const COUNTED: SwitchHooks = SwitchHooks::STEER.or(SwitchHooks::ON_ENQUEUE);

    /// Of levels what matters to a mechanism with these hooks.
    #[must_use]
    pub const fn of_levels(self, of: Account, levels: Levels) -> Levels {
        match of {
            Account::Ingress(..) | Account::IngressPort(_) => {
                levels.only(self.has(SwitchHooks::ON_ADMIT), false, self.has(SwitchHooks::ON_RELEASE))
            }
            Account::Egress(..) | Account::EgressPort(_) => levels.only(
                self.has(SwitchHooks::COUNTED),
                self.has(SwitchHooks::ON_DEQUEUE),
                self.has(SwitchHooks::ON_DEPART),
            ),
        }
    }
}
