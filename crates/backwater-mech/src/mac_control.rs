//! Common parts of 802.3 PAUSE and 802.1Qbb PFC: obeying a MAC control frame, and sending such frames.

use backwater_engine::Time;
use backwater_net::hooks::{Awaits, CheckCx, Fate, Ineffective, LinkCx, LinkSide, Margin, NicSide, PauseStyle, Token};
use backwater_net::packet::{CLASSES, Control, Port, Queue};
use backwater_net::pause::PauseRequest;
use backwater_net::{Bytes, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a pause is signalled to the neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Signal {
    /// A MAC control frame with a pause time; it waits for the frame on the wire, is repeated while the pause lasts, and expires.
    Timed,
    /// A MAC control frame that holds until the next one.
    OnOff,
    /// A pause or a resume without a frame: it takes the propagation delay and nothing else, as in several simulators.
    Ideal,
}

impl Signal {
    /// The part of what is to be paused (bits as in [`Profile::pauses`]) that uses frames.
    ///
    /// [`Profile::pauses`]: backwater_net::hooks::Profile::pauses
    pub(crate) fn by_frame(self, paused: u16) -> u16 {
        if self == Signal::Ideal { 0 } else { paused }
    }

    pub(crate) fn style(self, quanta: u16) -> PauseStyle {
        PauseStyle { quanta: (self == Signal::Timed).then_some(quanta), framed: self != Signal::Ideal }
    }

    /// Only a timed pause has a time.
    pub(crate) fn ineffective(self) -> Vec<Ineffective> {
        match self {
            Signal::Timed => Vec::new(),
            Signal::OnOff | Signal::Ideal => Ineffective::all(&["quanta"], "signal", "signal = \"timed\""),
        }
    }
}

/// A port merges the pauses of all mechanisms into one, and signals that in one way. Returns a mechanism that signals in another kind of
/// way than `style`, and the name of a switch.
pub(crate) fn differing_signal<'a>(style: PauseStyle, cx: &CheckCx<'a>) -> Option<(&'static str, &'a str)> {
    let kind = |style: PauseStyle| (style.quanta.is_some(), style.framed);
    let (other, _) = cx.styles.iter().find(|(_, other)| kind(*other) != kind(style))?;
    Some((other, &cx.switches.first()?.name))
}

/// Bytes that a pause threshold applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Counter {
    /// Bytes that arrived at a port; pauses the neighbour at that port.
    Ingress,
    /// Bytes that wait for an egress port; pauses the neighbours at all other ports.
    Egress,
    /// Bytes in an egress queue; pauses the neighbours whose frames join it, in the class in which these arrived.
    Queue,
}

/// The ports that exceed their threshold, and the ports whose neighbours are paused for it.
#[derive(Clone, Debug, backwater_derive::State)]
pub(crate) struct Congested {
    #[state(same)]
    counter: Counter,
    over: Vec<bool>,
    number: usize,
}

impl Congested {
    pub(crate) fn new(counter: Counter, ports: usize) -> Congested {
        Congested { counter, over: vec![false; ports], number: 0 }
    }

    #[inline(always)]
    pub(crate) fn counter(&self) -> Counter {
        self.counter
    }

    #[inline(always)]
    pub(crate) fn is(&self, port: Port) -> bool {
        self.over[usize::from(port.0)]
    }

    fn paused(&self, port: usize) -> bool {
        match self.counter {
            Counter::Ingress => self.over[port],
            Counter::Egress => self.number > usize::from(self.over[port]),
            Counter::Queue => false,
        }
    }

    /// Returns what must leave before the neighbour at `port` resumes; a counter is that of `queue`, or of a whole port.
    pub(crate) fn awaits(&self, port: Port, queue: Option<Queue>) -> Awaits {
        let over = |other: usize| self.over[other] && other != usize::from(port.0);
        match self.counter {
            Counter::Ingress => Awaits::Ingress,
            Counter::Queue => Awaits::Unknown,
            Counter::Egress => {
                let ports = (0..self.over.len()).filter(|other| over(*other));
                Awaits::Egress(ports.map(|other| (Port(other as u16), queue)).collect())
            }
        }
    }

    /// `port` has exceeded its threshold, or fallen below it. Returns the ports whose neighbours are to pause or to resume.
    #[cold]
    pub(crate) fn set(&mut self, port: Port, over: bool) -> Vec<(Port, bool)> {
        let before: Vec<bool> = (0..self.over.len()).map(|p| self.paused(p)).collect();
        if self.over[usize::from(port.0)] != over {
            self.number = if over { self.number + 1 } else { self.number - 1 };
            self.over[usize::from(port.0)] = over;
        }
        let changed = before.into_iter().enumerate().filter(|(p, was)| self.paused(*p) != *was);
        changed.map(|(p, was)| (Port(p as u16), !was)).collect()
    }
}

/// How near counters have come to their thresholds: the largest value of a counter, and its threshold then.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct PeakOccupancy {
    bytes: Bytes,
    threshold: Bytes,
}

impl PeakOccupancy {
    /// Nothing has been counted yet against `threshold`.
    pub fn new(threshold: Bytes) -> PeakOccupancy {
        PeakOccupancy { bytes: Bytes::ZERO, threshold }
    }

    /// \[bytes\] The largest value of a counter.
    pub fn most(&self) -> Bytes {
        self.bytes
    }

    /// A counter has `bytes`. A threshold may change in the meantime; if it falls while bytes grow, the largest value is nearest. Returns
    /// whether it is the largest so far.
    pub fn observe(&mut self, bytes: Bytes, threshold: Bytes) -> bool {
        let most = bytes > self.bytes;
        if most {
            *self = PeakOccupancy { bytes, threshold };
        }
        most
    }

    /// `of` names the counted bytes.
    pub fn margin(&self, of: &'static str) -> Margin {
        Margin::bytes(of, self.bytes, self.threshold)
    }
}

/// A receiver's action now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GateChange {
    Shut(usize),
    Open(usize),
}

/// The same, and when to check again.
pub(crate) type Due = (Vec<GateChange>, Time);

/// A [`Receiver`] obeys pauses of whole links.
pub(crate) const LINK: u16 = 1 << CLASSES;

/// Pause timers of one node, a slot for each (port, class) or port. It is all of the mechanism at an end station.
#[derive(Clone, Debug, backwater_derive::State)]
pub struct Receiver {
    /// The obeyed pauses: [`LINK`], or classes, a bit each (priorities: all of a class with several queues).
    #[state(same)]
    pub(crate) stops: u16,
    /// The end of each pause; zero: not paused.
    until: Vec<Time>,
    /// Frames whose response time has not passed: when to act, slot, end of the pause.
    pending: std::collections::VecDeque<(Time, usize, Time)>,
    #[state(fixed)]
    response: Time,
}

/// IEEE 802.3 annexes 31B and 31D: a pause stops a link, or a class of it, for the frame's quanta, or resumes it.
#[backwater_derive::hooks]
impl LinkSide for Receiver {
    fn on_mac_control(&mut self, cx: &mut LinkCx<'_>, from: Port, frame: &Control) -> Fate {
        let Some((slot, due)) = self.hear(cx, from, frame) else { return Fate::Passed };
        self.obey(cx, slot, due, |_, _| true);
        Fate::Consumed
    }

    fn on_link_timer(&mut self, cx: &mut LinkCx<'_>, slot: Token) {
        let due = self.wake(slot as usize, cx.now());
        self.obey(cx, slot as usize, due, |_, _| true);
    }
}

#[backwater_derive::hooks(link)]
impl NicSide for Receiver {}

impl Receiver {
    pub(crate) fn new(stops: u16, ports: usize, response: Time) -> Receiver {
        let slots = if stops == LINK { ports } else { ports * CLASSES };
        Receiver { stops, until: vec![Time::ZERO; slots], pending: Default::default(), response }
    }

    /// A frame of MAC control has arrived. `None`: it pauses nothing that is obeyed. Otherwise its slot, the action, and when to check
    /// again.
    pub(crate) fn hear(&mut self, cx: &LinkCx<'_>, from: Port, frame: &Control) -> Option<(usize, Due)> {
        let request = PauseRequest::read(frame)?;
        if self.stops & request.class.map_or(LINK, |class| 1 << class.0) == 0 {
            return None;
        }
        let port = usize::from(from.0);
        let slot = request.class.map_or(port, |class| port * CLASSES + usize::from(class.0));
        Some((slot, self.receive(slot, request, cx.now(), cx.rate(from))))
    }

    /// Does what is due at a slot that it `obeys`, and schedules the next check.
    pub(crate) fn obey(
        &self,
        cx: &mut LinkCx<'_>,
        slot: usize,
        (changes, look): Due,
        mut obeys: impl FnMut(&mut LinkCx<'_>, GateChange) -> bool,
    ) {
        for change in changes {
            let (GateChange::Shut(slot) | GateChange::Open(slot)) = change;
            let (port, queue) = match self.stops {
                LINK => (Port(slot as u16), None),
                _ => (Port((slot / CLASSES) as u16), Some(Queue((slot % CLASSES) as u8))),
            };
            match change {
                _ if !obeys(cx, change) => {}
                GateChange::Shut(_) => cx.shut(port, queue),
                GateChange::Open(_) => cx.open(port, queue),
            }
        }
        if look != Time::NEVER {
            cx.arm(look, slot as Token);
        }
    }

    /// A frame for `slot` has arrived over a link of `rate`. Returns the action and when to check again.
    fn receive(&mut self, slot: usize, request: PauseRequest, now: Time, rate: Rate) -> Due {
        let act = now + self.response;
        let until = if request.quanta == 0 { Time::ZERO } else { request.until(act, rate) };
        if self.response == Time::ZERO {
            let next = if until == Time::ZERO { Time::NEVER } else { until };
            return (self.apply(slot, until), next);
        }
        self.pending.push_back((act, slot, until));
        (Vec::new(), act)
    }

    /// Returns whether a pause of `slot` is in force.
    pub(crate) fn is_paused(&self, slot: usize, now: Time) -> bool {
        self.until[slot] > now
    }

    /// The pause of `slot` is over, whatever its frame said.
    pub(crate) fn forget(&mut self, slot: usize) {
        self.until[slot] = Time::ZERO;
    }

    fn apply(&mut self, slot: usize, until: Time) -> Vec<GateChange> {
        // A newer frame replaces the timer (IEEE 802.3 annex 31B.3.3).
        let before = std::mem::replace(&mut self.until[slot], until);
        // 802.1Q 8.6.8: a frame whose priority is paused is not available for transmission (Priority_Paused, 36.1.3.2).
        match (before == Time::ZERO, until == Time::ZERO) {
            (true, false) => vec![GateChange::Shut(slot)],
            (false, true) => vec![GateChange::Open(slot)],
            _ => Vec::new(),
        }
    }

    /// The timer of `slot` has expired: acts on its frames whose response time has passed, and ends its pause if that has ended. Returns
    /// when to check again, if a pause began.
    pub(crate) fn wake(&mut self, slot: usize, now: Time) -> Due {
        let mut changes = Vec::new();
        let mut next = Time::NEVER;
        // Frames of other slots have timers of their own, which also check for the end.
        while let Some(i) = self.pending.iter().position(|(act, s, _)| *s == slot && *act <= now) {
            let Some((_, slot, until)) = self.pending.remove(i) else { break };
            changes.extend(self.apply(slot, until));
            next = if until == Time::ZERO { Time::NEVER } else { until };
        }
        // IEEE 802.3 annexes 31B.2 and 31D.2: the quanta of the last frame have passed.
        if self.until[slot] != Time::ZERO && self.until[slot] <= now {
            self.until[slot] = Time::ZERO;
            changes.push(GateChange::Open(slot));
        }
        (changes, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_net::packet::Class;

    fn request(quanta: u16) -> PauseRequest {
        PauseRequest { class: Some(Class(3)), quanta, lasting: false }
    }

    #[test]
    fn newer_frame_replaces_the_timer_and_zero_resumes() {
        let mut r = Receiver::new(LINK, 1, Time::ZERO);
        let rate = Rate::gbps(10);
        assert_eq!(r.receive(0, request(100), Time::ZERO, rate), (vec![GateChange::Shut(0)], Time::ns(5120)));
        assert_eq!(r.receive(0, request(10), Time::ns(100), rate).0, vec![]);
        assert_eq!(r.wake(0, Time::ns(612)).0, vec![GateChange::Open(0)], "51.2 ns x 10 after 100 ns");
        assert_eq!(r.wake(0, Time::ns(5120)).0, vec![], "the first timer is stale");
        r.receive(0, request(100), Time::us(10), rate);
        assert_eq!(r.receive(0, request(0), Time::us(11), rate).0, vec![GateChange::Open(0)]);
    }

    #[test]
    fn response_time_passes_first() {
        let mut r = Receiver::new(LINK, 1, Time::us(1));
        let (changes, look) = r.receive(0, request(100), Time::ZERO, Rate::gbps(10));
        assert_eq!((changes, look), (vec![], Time::us(1)));
        assert_eq!(r.wake(0, Time::us(1)), (vec![GateChange::Shut(0)], Time::us(1) + Time::ns(5120)));
    }

    #[test]
    fn frames_of_one_instant_end_each_at_its_own_time() {
        let (mut r, rate, us) = (Receiver::new(LINK, 2, Time::us(1)), Rate::gbps(10), Time::us(1));
        r.receive(0, request(100), Time::ZERO, rate);
        r.receive(1, request(10), Time::ZERO, rate);
        let (long, short) = (us + Time::ns(5120), us + Time::ns(512));
        assert_eq!(r.wake(0, us), (vec![GateChange::Shut(0)], long));
        assert_eq!(r.wake(1, us), (vec![GateChange::Shut(1)], short));
        assert_eq!(r.wake(1, short).0, vec![GateChange::Open(1)]);
        assert_eq!(r.wake(0, long).0, vec![GateChange::Open(0)]);
    }
}
