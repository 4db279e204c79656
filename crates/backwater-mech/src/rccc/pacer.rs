//! The pull pacer of RCCC: the flow that a receiver gives credit next, and how much, apart from any run.
//!
//! Symbols and rules are those of UEC 1.0 and of `htsim_uec` (ultraethernet/uet-htsim, commit 40ccb052). One pacer serves all flows that an
//! interface receives.
//!
//! ```text
//! data, trim or request   highest = max(highest, its target);  rose, or a trim or request:  to the end of active, if it is not there
//! turn   active:  g = min(latest + 64, highest) - latest, at least 0;  latest += g;  pull latest;  highest > latest: to the end of active,
//!                 otherwise to the end of idle
//!        idle:    latest += 64;  pull latest, unasked;  to the end of idle while latest - highest < floor(maxwnd / Q)
//!        neither: the pacer sleeps until a flow becomes active, whose pull leaves at once
//! next turn           g quanta later, or 64; where g is 0, 4
//! quantum of time     Q / (0.99 R), in whole picoseconds, and that / r where the interface slows its pulls down
//! ```
//!
//! So a flow with a small request gets a small pull, and the turn passes on sooner. Unrequested credit goes in turns to the flows that were
//! active last. A flow that becomes active while it is idle stays in both lists, as in the program.

use super::credit::QUANTUM;
use backwater_engine::Time;
use backwater_net::Rate;
use std::collections::{BTreeMap, VecDeque};

/// Quanta of one pull: 16,384 B.
pub const PULL: u64 = 64;
/// Quanta of time after a pull that gives no credit.
const NOTHING: u64 = 4;
/// Share of the line rate that pulls use, in per cent.
const SHARE: u64 = 99;

/// The requests and the credit of a flow.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Asking {
    latest: u64,
    highest: u64,
    active: bool,
    /// The number of its entries in `idle`.
    idle: u32,
    /// The flow has arrived completely.
    over: bool,
}

/// A pull that leaves now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pull<F> {
    /// The flow whose sender gets it.
    pub flow: F,
    /// Its number.
    pub number: u64,
    /// It was not requested.
    pub unasked: bool,
    /// From now to the next turn.
    pub then: Time,
}

/// The pacer of one interface; `F` names a flow.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[serde(bound(deserialize = "F: Ord + serde::Deserialize<'de>"))]
pub struct Pacer<F> {
    rate: Rate,
    /// r: the part of their full rate at which pulls leave.
    part: f64,
    base: u64,
    /// \[quanta\] Most credit that a flow gets without a request.
    most_unasked: u64,
    flows: BTreeMap<F, Asking>,
    active: VecDeque<F>,
    idle: VecDeque<F>,
    awake: bool,
}

impl<F: Copy + Ord> Pacer<F> {
    /// For an interface of this rate. `maxwnd` \[bytes\] bounds the unrequested credit of a flow; pulls count from `base`.
    pub fn new(rate: Rate, maxwnd: u64, base: u64) -> Pacer<F> {
        let most_unasked = maxwnd / QUANTUM as u64;
        let (flows, active, idle) = (BTreeMap::new(), VecDeque::new(), VecDeque::new());
        Pacer { rate, part: 1.0, base, most_unasked, flows, active, idle, awake: false }
    }

    /// A packet of a flow has arrived with a target. `urgent`: it was trimmed, or it is a request to send. Returns whether the pacer
    /// sleeps, so that its next turn must be now.
    pub fn on_target(&mut self, flow: F, target: u64, urgent: bool) -> bool {
        let fresh = Asking { latest: self.base, highest: self.base, active: false, idle: 0, over: false };
        let asking = self.flows.entry(flow).or_insert(fresh);
        let rose = target > asking.highest;
        asking.highest = asking.highest.max(target);
        if (rose || urgent) && !asking.active {
            asking.active = true;
            self.active.push_back(flow);
        }
        !self.awake && !self.active.is_empty()
    }

    /// A turn. `None`: there is no flow to pull from, and it sleeps.
    pub fn turn(&mut self) -> Option<Pull<F>> {
        let pull = self.turn_active().or_else(|| self.turn_idle());
        self.awake = pull.is_some();
        pull
    }

    fn turn_active(&mut self) -> Option<Pull<F>> {
        let flow = self.active.pop_front()?;
        let asking = self.flows.get_mut(&flow)?;
        let given = asking.highest.min(asking.latest + PULL).saturating_sub(asking.latest);
        asking.latest += given;
        let number = asking.latest;
        asking.active = asking.highest > asking.latest;
        if asking.active {
            self.active.push_back(flow);
        } else {
            asking.idle += 1;
            self.idle.push_back(flow);
        }
        let quanta = if given == 0 { NOTHING } else { given };
        Some(Pull { flow, number, unasked: false, then: self.time_for(quanta) })
    }

    fn turn_idle(&mut self) -> Option<Pull<F>> {
        let flow = self.idle.pop_front()?;
        let asking = self.flows.get_mut(&flow)?;
        asking.latest += PULL;
        let number = asking.latest;
        if asking.highest <= number && number - asking.highest < self.most_unasked {
            self.idle.push_back(flow);
        } else {
            asking.idle -= 1;
            self.leave(flow);
        }
        Some(Pull { flow, number, unasked: true, then: self.time_for(PULL) })
    }

    /// From the end of the next turn on, pulls leave at this part of their full rate; above 0, at most 1.
    pub fn slow_to(&mut self, part: f64) {
        self.part = part;
    }

    /// The time of a quantum is first rounded down to whole picoseconds.
    fn time_for(&self, quanta: u64) -> Time {
        let rate = u128::from(self.rate.0.max(1)) * u128::from(SHARE);
        let quantum = QUANTUM as u128 * 8 * 100 * 1_000_000_000_000 / rate;
        let quantum = u64::try_from(quantum).unwrap_or(u64::MAX);
        let slowed = if self.part < 1.0 { (quantum as f64 / self.part) as u64 } else { quantum };
        Time(slowed.saturating_mul(quanta))
    }

    /// A flow has arrived completely. It stays in its lists, and is forgotten when it leaves the last of them.
    pub fn end(&mut self, flow: F) {
        if let Some(asking) = self.flows.get_mut(&flow) {
            asking.over = true;
            self.leave(flow);
        }
    }

    /// \[quanta\] Position up to which a flow has been pulled.
    pub fn pulled(&self, flow: F) -> Option<u64> {
        self.flows.get(&flow).map(|asking| asking.latest)
    }

    /// Returns whether a flow has requested credit and may still get some.
    pub fn knows(&self, flow: F) -> bool {
        self.flows.contains_key(&flow)
    }

    fn leave(&mut self, flow: F) {
        if self.flows.get(&flow).is_some_and(|asking| asking.over && !asking.active && asking.idle == 0) {
            self.flows.remove(&flow);
        }
    }
}
