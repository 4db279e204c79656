//! A switch: its memory accounts, its crossbar, its isolation queues, and its mechanisms. It knows packets, but no flows.

mod actions;
mod crossbar;
mod flush;
mod forward;
mod isolated;
mod isolation;
mod levels;
mod observe;
pub mod occupancy;
mod overflow;
pub(crate) mod queued;
mod returned;

use crossbar::Crossbar;

use crate::config::{Architecture, LatencyAt, ReleaseAt, SwitchParams, Victim};
use crate::model::hooks::attachment::{Attachment, Carried};
use crate::model::hooks::{Home, LinkCx, LinkHooks, MechanismId, SwitchCx, SwitchSide, Token};
use crate::model::node::{Node, NodeCx};
use crate::model::packet::{NodeId, Packet, Port as PortNo, Queue};
use crate::model::port::{Next, Port};
use crate::model::probe::watch::Watch;
use crate::model::slab::{Ix, Slab};
use crate::units::Rate;
use backwater_engine::{Rng, Time};
use occupancy::Occupancy;

/// The context of a switch's hook: `$s` is the switch, borrowed apart from the rest of the network.
macro_rules! cx {
    ($network:ident, $s:ident) => {
        crate::model::hooks::SwitchCx {
            now: $network.world.now,
            owner: crate::model::hooks::MechanismId(0),
            seen: &$s.occupancy,
            home: &mut $s.home,
            actions: &mut $network.world.actions.switch,
        }
    };
}
use cx;

/// A switch.
#[derive(backwater_derive::State)]
pub(crate) struct Switch<S> {
    /// Its number among switches.
    #[state(fixed)]
    pub number: u32,
    #[state(within)]
    pub home: Home,
    #[state(fixed)]
    pub first_port: u32,
    #[state(fixed)]
    pub ports: u32,
    #[state(fixed)]
    pub latency: Time,
    #[state(fixed)]
    pub latency_at: LatencyAt,
    #[state(within)]
    pub occupancy: Occupancy,
    /// Draws which of two frames is lost, with `switch.victim = "either"`.
    pub tosses: Option<Rng>,
    #[state(within)]
    pub stack: S,
    #[state(within)]
    pub crossbar: Option<Box<Crossbar>>,
    /// For probes of the frames that wait for its ports, if there are any.
    #[state(within)]
    pub watch: Option<Box<Watch>>,
}

impl<S> Switch<S> {
    /// The idle switch of this number, whose ports begin at `first_port`, with headroom for the classes in `lossless` (a bit each).
    pub fn new(number: u32, first_port: u32, home: Home, params: &SwitchParams, lossless: u8, stack: S) -> Switch<S> {
        let rates: Vec<Rate> = home.shape.ports.iter().map(|port| port.rate).collect();
        let crossbar = match params.architecture {
            Architecture::OutputQueued | Architecture::SharedMemory => None,
            Architecture::InputQueued | Architecture::Voq => Some(Box::new(Crossbar::new(params, rates.len()))),
        };
        Switch {
            number,
            first_port,
            ports: rates.len() as u32,
            latency: params.latency,
            latency_at: params.latency_at,
            occupancy: Occupancy::new(params, &rates, lossless),
            tosses: (params.victim == Victim::Either)
                .then(|| backwater_engine::rng::stream(home.seed, "victims", u64::from(home.shape.node.0))),
            stack,
            crossbar,
            watch: None,
            home,
        }
    }

    /// Sets up its ports.
    pub fn set_up_ports(&mut self, params: &SwitchParams, ports: &mut [Port])
    where
        S: SwitchSide,
    {
        self.ask_all_levels();
        for port in ports {
            port.release_at_end = params.release_at == ReleaseAt::End;
            if let Some(weights) = params.weights {
                port.set_weights(weights, self.home.shape.max_frame.0);
            }
        }
    }
}

impl<S: SwitchSide> Node for NodeCx<'_, &mut Switch<S>> {
    type Side = S;

    fn side(&self) -> &S {
        &self.node.stack
    }

    #[inline(always)]
    fn links(&mut self) -> (&mut S, LinkCx<'_>, &mut Carried<Attachment>) {
        let s = &mut *self.node;
        (&mut s.stack, LinkCx::Switch(cx!(self, s)), &mut self.world.attachments)
    }

    fn act(&mut self) {
        self.ask_watched();
        self.act_switch();
    }

    fn id(&self) -> NodeId {
        self.node.home.shape.node
    }

    #[inline(always)]
    fn first(&self) -> u32 {
        self.node.first_port
    }

    #[inline(always)]
    fn serve(&mut self, port: u16) {
        let p = &mut self.ports[usize::from(port)];
        if !p.has_work() {
            return;
        }
        let next = if self.world.rules.hooks.switch_links.has(LinkHooks::MAY_TRANSMIT) {
            if self.world.probes.waits.is_some() {
                self.refused(port);
            }
            let p = &mut self.ports[usize::from(port)];
            let stack = &self.node.stack;
            let may_transmit = |queue, pkt: &Packet| stack.may_transmit(PortNo(port), queue, pkt);
            p.next_of(&self.world.slab, self.world.now, may_transmit)
        } else {
            p.next(&self.world.slab, self.world.now)
        };
        match next {
            Next::Packet(pkt) => self.transmit(port, pkt),
            Next::Wait(until) => self.wake(port, until),
            Next::Nothing => {}
        }
    }

    #[inline(always)]
    fn waits(&self, port: u16) -> bool {
        self.ports[usize::from(port)].has_work()
    }

    /// A frame leaves the switch's counters.
    #[inline(always)]
    fn depart(&mut self, port: u16, pkt: Ix) {
        if self.leave(port, pkt) {
            self.make_room(pkt);
        }
        self.act_switch();
    }

    fn queue_of(&self, pkt: Ix) -> Queue {
        self.world.slab[pkt].place.queue
    }

    fn account_waits(&mut self, port: u16) {
        self.enter_joined();
        self.account_standing(port, |_, _| None);
    }

    fn observe_joins(&mut self) {
        self.enter_joined();
    }

    fn record_pause_request(&mut self, port: u16, owner: MechanismId, classes: u16) {
        self.record_own_pause_request(port, owner, classes, |at, class| {
            let (occupancy, local) = (&at.node.occupancy, PortNo(port));
            let bytes = class.map_or(occupancy.ingress_port(local), |class| occupancy.ingress(local, class));
            (bytes.0, at.behind(owner, local, class))
        });
    }
}

impl<S: SwitchSide> NodeCx<'_, &mut Switch<S>> {
    /// Calls a hook of the switch's stack.
    #[inline(always)]
    pub(crate) fn at_switch<R>(&mut self, f: impl FnOnce(&mut S, &mut SwitchCx<'_>, &mut Slab) -> R) -> R {
        let s = &mut *self.node;
        let answer = f(&mut s.stack, &mut cx!(self, s), &mut self.world.slab);
        self.ask_watched();
        answer
    }

    pub(crate) fn timer(&mut self, owner: MechanismId, token: Token) {
        self.at_switch(|stack, cx, _| {
            stack.on_link_timer(&mut cx.owned_by(owner).links(), token);
            stack.on_timer(&mut cx.owned_by(owner), token);
        });
        self.act_switch();
    }
}
