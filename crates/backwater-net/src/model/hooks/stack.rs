//! The hooks that mechanisms have. `#[hooks]` on the traits generates how several of them at one node or flow are combined
//! ([`hooks`](macro@backwater_derive::hooks)).

use super::{Account, FlowHooks, Levels, LinkHooks, NicHooks, SwitchHooks};

/// The hooks of one trait that a mechanism has. `#[hooks]` on its `impl` declares them.
pub trait Defines<Set> {
    /// The set of hooks.
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

    /// The hooks of either.
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

    /// The hooks at the links of nodes of either kind.
    fn links(self) -> LinkHooks {
        self.switch_links.or(self.nic_links)
    }

    /// Returns whether a mechanism sees frames arrive or leave at ports. If so, hosts carry out requested actions whenever a frame joins a
    /// queue or is taken out of the receive buffer, whichever of these events it sees: the order of frames that hooks send follows from it.
    pub(crate) fn port_events(self) -> bool {
        self.links().has(LinkHooks::ON_ARRIVE.or(LinkHooks::ON_START))
            || self.nic.has(NicHooks::ON_CONSUMED.or(NicHooks::ON_ENQUEUE))
    }

    /// Returns whether ports keep what they send.
    pub(crate) fn retains(self) -> bool {
        self.links().has(LinkHooks::RETAINS)
    }

    /// Returns whether a mechanism decides which packets may start.
    pub(crate) fn may_transmit(self) -> bool {
        self.links().has(LinkHooks::MAY_TRANSMIT)
    }
}

impl SwitchHooks {
    /// The hooks whose calls depend on levels.
    pub const BY_LEVELS: SwitchHooks = SwitchHooks::COUNTED
        .or(SwitchHooks::ON_ADMIT)
        .or(SwitchHooks::ON_RELEASE)
        .or(SwitchHooks::ON_DEQUEUE)
        .or(SwitchHooks::ON_DEPART);
    /// A packet may be marked while it is steered; this is handled when it joins its queue.
    const COUNTED: SwitchHooks = SwitchHooks::STEER.or(SwitchHooks::ON_ENQUEUE);

    /// The part of the levels that matters to a mechanism with these hooks.
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
