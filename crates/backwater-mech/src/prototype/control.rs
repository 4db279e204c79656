//! A control outside of the core, and the name by which the running program offers it.

use backwater_engine::Time;
use backwater_net::hooks::{Ack, FlowShape, Loss};
use backwater_net::{Bytes, Rate};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// An event at a sender.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The flow begins. `seed`: for its own random numbers.
    Start {
        /// The flow.
        shape: &'a FlowShape,
        /// A number that depends on the run's seed and the flow alone.
        seed: u64,
    },
    /// An acknowledgement, with the mark of the packet.
    Ack(&'a Ack<'a>),
    /// Packets are lost and will be retransmitted.
    Loss(Loss),
    /// The timer of this token has expired.
    Timer(u16),
}

/// The bounds that hold until the next answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Most unacknowledged bytes; `None`: no bound, 0: nothing is sent.
    pub window: Option<Bytes>,
    /// The rate of sending; `None`: the line's.
    pub rate: Option<Rate>,
    /// Timers to set: the time from now, and the token.
    pub timers: Vec<(Time, u16)>,
}

/// The control of one flow.
pub trait Control: Send {
    /// An event has happened at `now`; `sent`: bytes of payload that have been sent at least once.
    fn on_event(&mut self, now: Time, sent: Bytes, event: Event<'_>) -> Answer;
}

/// Creates the control of one flow, with the given parameters.
pub type Make = dyn Fn(&BTreeMap<String, f64>) -> Box<dyn Control> + Send + Sync;

/// A control that the running program offers.
#[derive(Clone)]
pub struct Offer {
    /// Names of its parameters.
    pub parameters: Vec<String>,
    /// True if it uses marks.
    pub marks: bool,
    /// Creates one.
    pub make: Arc<Make>,
}

static OFFERS: RwLock<BTreeMap<String, Offer>> = RwLock::new(BTreeMap::new());

/// Offers a control to all scenarios of this process. The caller must make sure that a name always means the same control.
pub fn offer(name: &str, offer: Offer) {
    OFFERS.write().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), offer);
}

pub(super) fn offered(name: &str) -> Option<Offer> {
    OFFERS.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
}
