//! What a control outside of the core is, and by which name the running program offers it.

use backwater_engine::Time;
use backwater_net::hooks::{Ack, FlowShape, Loss};
use backwater_net::{Bytes, Rate};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// What a sender hears.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The flow begins. `seed`: of random numbers of its own.
    Start {
        /// What the flow is.
        shape: &'a FlowShape,
        /// A number that depends on the run's seed and the flow alone.
        seed: u64,
    },
    /// An acknowledgement; it says whether the packet was marked.
    Ack(&'a Ack<'a>),
    /// Packets are lost and will be retransmitted.
    Loss(Loss),
    /// The timer of this token has run out.
    Timer(u16),
}

/// What holds until the next answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Most unacknowledged bytes; `None`: no bound, 0: nothing is sent.
    pub window: Option<Bytes>,
    /// The rate of sending; `None`: the line's.
    pub rate: Option<Rate>,
    /// Timers to set: how long from now, and the token that is told then.
    pub timers: Vec<(Time, u16)>,
}

/// The control of one flow.
pub trait Control: Send {
    /// Something has happened at `now`; `sent`: bytes of payload that have been sent at least once.
    fn on_event(&mut self, now: Time, sent: Bytes, event: Event<'_>) -> Answer;
}

/// Makes the control of one flow, with the parameters that are given.
pub type Make = dyn Fn(&BTreeMap<String, f64>) -> Box<dyn Control> + Send + Sync;

/// A control that the running program offers.
#[derive(Clone)]
pub struct Offer {
    /// Names of its parameters.
    pub parameters: Vec<String>,
    /// Whether marks mean something to it.
    pub marks: bool,
    /// Makes one.
    pub make: Arc<Make>,
}

static OFFERS: RwLock<BTreeMap<String, Offer>> = RwLock::new(BTreeMap::new());

/// Offers a control to all scenarios of this process. A name always means the same control: it is for who offers to see to that.
pub fn offer(name: &str, offer: Offer) {
    OFFERS.write().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), offer);
}

pub(super) fn offered(name: &str) -> Option<Offer> {
    OFFERS.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
}
