//! MAC control pause state: a port's requests to its neighbour, and the frames that carry them (IEEE 802.3 annexes 31B and 31D).
//!
//! Several mechanisms may pause the same neighbour. The port keeps one end per (owner, class or link) and signals the merged state, so one
//! owner's resume never undoes another's pause. A pause that outlasts the pause time of a frame is refreshed when half of that time has
//! passed.

use crate::model::hooks::{MechanismId, PauseStyle};
use crate::model::packet::{CLASSES, Class, Control};
use crate::units::Rate;
use backwater_engine::Time;
use std::any::TypeId;
use zerocopy::{Immutable, IntoBytes, KnownLayout, TryFromBytes};

/// Kind of the frame in result tables.
pub const MAC_CONTROL: &str = "mac-control";

/// Index of the whole link beside the 8 classes.
const LINK: usize = CLASSES;

/// Length of a pause: quanta of 512 bit times of the obeying port (IEEE 802.3 annexes 31B.2 and 31D.2; IEEE 802.1Q 36.1.3).
pub fn quanta_time(rate: Rate, quanta: u16) -> Time {
    let bits_ps = u128::from(quanta) * 512 * 1_000_000_000_000;
    Time(u64::try_from(bits_ps.div_ceil(u128::from(rate.0.max(1)))).unwrap_or(u64::MAX))
}

/// A pause or resume as it arrives: for one class, or (`None`) for the whole link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseRequest {
    /// The class, or the whole link.
    pub class: Option<Class>,
    /// Pause time in quanta of the link's 512 bit times; 0 resumes.
    pub quanta: u16,
    /// An on/off signal: the pause lasts until it is lifted.
    pub lasting: bool,
}

/// The content of a frame of MAC control: the same for each class that it names, or for the link.
#[derive(Clone, Copy, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C, packed)]
struct MacControl {
    /// Bits as in [`bit`], one or several: the priority enable vector (annex 31D).
    of: u16,
    quanta: u16,
    lasting: bool,
}

impl MacControl {
    fn frame(self) -> Control {
        Control::carrying(MAC_CONTROL, Control::MIN_FRAME, self.quanta.into(), &self)
    }
}

impl PauseRequest {
    /// The type of the content of a frame of MAC control.
    pub(crate) const MESSAGE: TypeId = TypeId::of::<MacControl>();

    /// The frame.
    pub fn frame(self) -> Control {
        self.frame_with(0)
    }

    /// The same frame for further classes, a bit each.
    pub(crate) fn frame_with(self, others: u8) -> Control {
        let of = bit(self.class) | u16::from(others);
        MacControl { of, quanta: self.quanta, lasting: self.lasting }.frame()
    }

    /// Returns the request of a frame for each class that it names, or for the link; nothing for another kind of frame.
    pub fn each(frame: &Control) -> impl Iterator<Item = PauseRequest> + use<> {
        frame.message::<MacControl>().into_iter().flat_map(|MacControl { of, quanta, lasting }| {
            let named = (0..=CLASSES as u8).filter(move |number| of & (1 << number) != 0);
            let class = |number| (usize::from(number) != LINK).then_some(Class(number));
            named.map(move |number| PauseRequest { class: class(number), quanta, lasting })
        })
    }

    /// Removes these classes from a frame, bits as in [`bit`]. Returns whether any class is left.
    pub(crate) fn remove_classes(frame: &mut Control, classes: u16) -> bool {
        let Some(reported) = frame.message::<MacControl>() else { return true };
        let of = reported.of & !classes;
        *frame = MacControl { of, ..reported }.frame();
        of != 0
    }

    /// Reads a frame; of several classes it gives the first. `None`: another kind of frame.
    pub fn read(frame: &Control) -> Option<PauseRequest> {
        PauseRequest::each(frame).next()
    }

    /// Returns the digest of a frame for a fingerprint: the first class (8: the link), the quanta, and the other classes, a bit each.
    pub(crate) fn digest(frame: &Control) -> u64 {
        let Some(MacControl { of, quanta, .. }) = frame.message() else { return 0 };
        let others = of & of.wrapping_sub(1);
        u64::from(of.trailing_zeros()) ^ u64::from(quanta) << 20 ^ u64::from(others) << 40
    }

    /// Returns when the pause ends by itself if it arrives now over a link of `rate`.
    pub fn until(self, now: Time, rate: Rate) -> Time {
        if self.lasting { Time::NEVER } else { now.after(quanta_time(rate, self.quanta)) }
    }
}

/// The request of one owner.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Requested {
    owner: MechanismId,
    until: Time,
    /// Pause time of each frame, or `None` for an on/off signal.
    quanta: Option<u16>,
}

/// The pauses that a port requests of its neighbour.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct PauseRequests {
    /// The request of each owner, for each class and the link.
    asked: [Vec<Requested>; CLASSES + 1],
    /// When the last frame's pause ends at the neighbour, without the propagation delay; zero: not paused.
    signalled: [Time; CLASSES + 1],
    /// When the sender next checks whether the pause needs another frame; in the past: not determined yet.
    looks: [Time; CLASSES + 1],
    /// The rate at which the neighbour sends: its bit times count a pause.
    rate: Rate,
    /// Signals take no frame; the same for all owners of a port.
    frameless: bool,
    /// Signals without a frame so far: those of one instant arrive in the order of their numbers.
    signals: u16,
}

/// The port's action after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Nothing,
    /// Send nothing, but check again at that time.
    Look(Time),
    /// Send this frame, and check again at that time (`NEVER`: not needed).
    Signal(PauseRequest, Time),
}

/// The bit of a class or (`None`) of the link.
pub(crate) fn bit(class: Option<Class>) -> u16 {
    1 << index(class)
}

fn index(class: Option<Class>) -> usize {
    class.map_or(LINK, |c| usize::from(c.0))
}

impl PauseRequests {
    /// No requests to a neighbour that sends at this rate.
    pub(crate) fn at(rate: Rate) -> PauseRequests {
        PauseRequests { rate, ..PauseRequests::default() }
    }

    fn end(&self, i: usize) -> Time {
        self.asked[i].iter().map(|asked| asked.until).max().unwrap_or(Time::ZERO)
    }

    /// Returns the quanta of the merged pause: those of the owner with the latest end; of several such owners, the longest.
    fn quanta(&self, i: usize) -> Option<u16> {
        let signalled = |asked: &Requested| (asked.until, asked.quanta.is_none(), asked.quanta);
        self.asked[i].iter().max_by_key(|asked| signalled(asked))?.quanta
    }

    /// Removes an owner's request, and those that have ended. Returns the merged end before.
    fn forget_owner(&mut self, i: usize, owner: MechanismId, now: Time) -> Time {
        let before = self.end(i);
        self.asked[i].retain(|asked| asked.owner != owner && asked.until > now);
        before
    }

    pub(crate) fn request(
        &mut self,
        owner: MechanismId,
        class: Option<Class>,
        now: Time,
        until: Time,
        style: PauseStyle,
    ) -> Act {
        let i = index(class);
        let before = self.forget_owner(i, owner, now);
        self.asked[i].push(Requested { owner, until, quanta: style.quanta });
        self.frameless = !style.framed;
        self.shortened(i, before);
        self.review(class, now)
    }

    /// The neighbour may have received a later end than the current one.
    fn shortened(&mut self, i: usize, before: Time) {
        if self.end(i) < before && self.signalled[i] != Time::NEVER {
            self.signalled[i] = Time::ZERO;
        }
    }

    pub(crate) fn release(&mut self, owner: MechanismId, class: Option<Class>, now: Time) -> Act {
        let i = index(class);
        let before = self.forget_owner(i, owner, now);
        if self.asked[i].is_empty() {
            return self.resume(class);
        }
        self.shortened(i, before);
        self.review(class, now)
    }

    fn resume(&mut self, class: Option<Class>) -> Act {
        let signalled = std::mem::take(&mut self.signalled[index(class)]);
        if signalled == Time::ZERO {
            return Act::Nothing;
        }
        Act::Signal(PauseRequest { class, quanta: 0, lasting: false }, Time::NEVER)
    }

    /// Sends a frame if the neighbour does not yet know of the merged end, or will forget it too soon.
    pub(crate) fn review(&mut self, class: Option<Class>, now: Time) -> Act {
        let i = index(class);
        let end = self.end(i);
        if end <= now {
            // A timed pause has also ended at the neighbour; an on/off signal has not.
            return if self.signalled[i] == Time::NEVER { self.resume(class) } else { Act::Nothing };
        }
        // An on/off signal of one owner remains one when an owner with timed frames joins: it never expires.
        let Some(most) = self.quanta(i).filter(|_| self.signalled[i] != Time::NEVER) else {
            if std::mem::replace(&mut self.signalled[i], Time::NEVER) == Time::NEVER {
                return if end == Time::NEVER { Act::Nothing } else { Act::Look(end) };
            }
            return Act::Signal(PauseRequest { class, quanta: u16::MAX, lasting: true }, end);
        };
        let longest = quanta_time(self.rate, most);
        // Rounded up: rounded down, half of an odd time would not have passed when its refresh comes.
        let half = Time(longest.0.div_ceil(2));
        // A frame is due now, unless the last one covers the end or half of its time is still to come.
        if self.signalled[i] >= end {
            return Act::Nothing;
        }
        if self.signalled[i].since(now) > half {
            let due = Time(self.signalled[i].0 - half.0);
            if self.looks[i] > now && self.looks[i] <= due {
                return Act::Nothing;
            }
            self.looks[i] = due;
            return Act::Look(due);
        }
        let quantum = quanta_time(self.rate, 1).0.max(1);
        let quanta = (end.since(now).0.div_ceil(quantum)).clamp(1, u64::from(most)) as u16;
        self.signalled[i] = now.after(quanta_time(self.rate, quanta));
        let refresh_at = if end > self.signalled[i] { now.after(half) } else { Time::NEVER };
        self.looks[i] = if refresh_at == Time::NEVER { Time::ZERO } else { refresh_at };
        Act::Signal(PauseRequest { class, quanta, lasting: false }, refresh_at)
    }

    /// Returns whether the neighbour has received a pause that, by the sender's clock, still lasts.
    pub(crate) fn is_signalled(&self, class: Option<Class>, now: Time) -> bool {
        self.signalled[index(class)] > now
    }

    /// Returns whether the neighbour has received a pause that lasts until it is lifted.
    pub(crate) fn lifts(&self, class: Option<Class>) -> bool {
        self.signalled[index(class)] == Time::NEVER
    }

    /// The number of the next signal without a frame.
    pub(crate) fn number(&mut self) -> u16 {
        self.signals = self.signals.wrapping_add(1);
        self.signals
    }

    /// The link has failed: the neighbour forgets its pauses.
    pub(crate) fn forget(&mut self) {
        (self.signalled, self.looks) = Default::default();
    }

    /// The neighbour sends at this rate from now on. A timed pause may end sooner than intended, so it must be signalled again. On/off
    /// signals have no time.
    pub(crate) fn count_at(&mut self, rate: Rate) {
        self.rate = rate;
        self.signalled.iter_mut().filter(|end| **end != Time::NEVER).for_each(|end| *end = Time::ZERO);
        self.looks = Default::default();
    }

    /// Returns whether signals are frames on the wire.
    pub(crate) fn framed(&self) -> bool {
        !self.frameless
    }

    /// Returns whether an owner pauses class `i`, or the link, without an end.
    pub(crate) fn lasts(&self, i: u8) -> bool {
        self.asked[usize::from(i)].iter().any(|asked| asked.until == Time::NEVER)
    }

    /// Returns the owners of pauses without an end.
    pub(crate) fn lasting_owners(&self, class: Option<Class>) -> impl Iterator<Item = MechanismId> {
        self.asked[index(class)].iter().filter(|asked| asked.until == Time::NEVER).map(|asked| asked.owner)
    }

    /// Returns whether every request at `now` is without an end.
    pub(crate) fn has_no_end(&self, now: Time) -> bool {
        (0..=LINK).all(|i| self.end(i) <= now || self.end(i) == Time::NEVER)
    }

    /// Returns whether anything is paused at `now`.
    pub(crate) fn any(&self, now: Time) -> bool {
        (0..=LINK).any(|i| self.end(i) > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STYLE: PauseStyle = PauseStyle { quanta: Some(u16::MAX), framed: true };
    const RATE: Rate = Rate::gbps(10);
    const C: Option<Class> = Some(Class(3));
    const RESUME: Act = Act::Signal(PauseRequest { class: C, quanta: 0, lasting: false }, Time::NEVER);

    #[test]
    fn quantum_is_512_bit_times() {
        assert_eq!(quanta_time(Rate::gbps(10), 1), Time::ns(51) + Time::ps(200));
        assert_eq!(quanta_time(Rate::gbps(400), u16::MAX).0, 83_884_800);
    }

    /// A frame of several classes means the same for each as a frame of its own, and a newer frame removes single classes from it.
    #[test]
    fn a_frame_speaks_of_several_classes() {
        let request = |class| PauseRequest { class: Some(Class(class)), quanta: 7, lasting: false };
        let mut frame = request(3).frame_with(1 << 5 | 1 << 6);
        assert_eq!(PauseRequest::each(&frame).collect::<Vec<_>>(), [3, 5, 6].map(request));
        assert!(PauseRequest::remove_classes(&mut frame, 1 << 3 | 1 << 1));
        assert_eq!(frame, request(5).frame_with(1 << 6));
        assert!(PauseRequest::remove_classes(&mut frame, 1 << 6) && frame == request(5).frame());
        assert!(!PauseRequest::remove_classes(&mut frame, 1 << 5));
        let mut link = PauseRequest { class: None, ..request(0) }.frame();
        assert!(
            PauseRequest::remove_classes(&mut link, 0xFF)
                && PauseRequest::read(&link).is_some_and(|h| h.class.is_none())
        );
        assert!(!PauseRequest::remove_classes(&mut link, bit(None)));
        let mut other = Control::carrying("cnp", Control::MIN_FRAME, 0, &());
        assert!(
            PauseRequest::remove_classes(&mut other, u16::MAX) && PauseRequest::each(&other).next().is_none(),
            "not of this kind"
        );
    }

    #[test]
    fn one_owner_never_undoes_another() {
        let mut h = PauseRequests::at(RATE);
        let until = Time::us(10);
        assert!(matches!(h.request(MechanismId(1), C, Time::ZERO, until, STYLE), Act::Signal(..)));
        assert_eq!(h.request(MechanismId(2), C, Time::ZERO, Time::us(5), STYLE), Act::Nothing, "already told of more");
        assert_eq!(h.release(MechanismId(2), C, Time::us(1)), Act::Nothing);
        assert_eq!(h.release(MechanismId(1), C, Time::us(2)), RESUME);
    }

    #[test]
    fn latest_end_wins_also_when_it_is_released() {
        let mut h = PauseRequests::at(RATE);
        h.request(MechanismId(1), C, Time::ZERO, Time::us(100), STYLE);
        h.request(MechanismId(2), C, Time::ZERO, Time::us(5), STYLE);
        // 3 us are left of owner 2's pause: 58.6 quanta of 51.2 ns.
        let shorter = PauseRequest { class: C, quanta: 59, lasting: false };
        assert_eq!(h.release(MechanismId(1), C, Time::us(2)), Act::Signal(shorter, Time::NEVER));
        assert_eq!(h.release(MechanismId(2), C, Time::us(3)), RESUME);
    }

    /// The frame for 300 us covers its own end and needs no further check. A longer pause that joins causes a refresh all the same, when
    /// half of the longest pause time is left of it: 335.5 us at 100 Gb/s.
    #[test]
    fn a_hold_that_joins_a_told_one_is_refreshed() {
        let (rate, mut h) = (Rate::gbps(100), PauseRequests::at(Rate::gbps(100)));
        let signalled = quanta_time(rate, 58_594);
        assert!(matches!(h.request(MechanismId(1), C, Time::ZERO, Time::us(300), STYLE), Act::Signal(_, Time::NEVER)));
        let half = Time(quanta_time(rate, u16::MAX).0.div_ceil(2));
        let due = Time(signalled.0 - half.0);
        assert_eq!(h.request(MechanismId(2), C, Time::us(10), Time::NEVER, STYLE), Act::Look(due));
        assert_eq!(
            h.request(MechanismId(3), C, Time::us(11), Time::NEVER, STYLE),
            Act::Nothing,
            "it will be looked at"
        );
        assert!(
            matches!(h.review(C, due), Act::Signal(request, refresh_at) if request.quanta == u16::MAX && refresh_at == due + half)
        );
        assert_eq!(h.review(C, due), Act::Nothing, "the next look is armed");
    }

    #[test]
    fn on_off_signal_is_lifted_when_the_last_hold_ends() {
        let style = PauseStyle { quanta: None, framed: true };
        let mut h = PauseRequests::at(RATE);
        let pause = PauseRequest { class: C, quanta: u16::MAX, lasting: true };
        assert_eq!(h.request(MechanismId(1), C, Time::ZERO, Time::us(5), style), Act::Signal(pause, Time::us(5)));
        assert_eq!(h.request(MechanismId(2), C, Time::ZERO, Time::us(9), style), Act::Look(Time::us(9)));
        assert_eq!(h.review(C, Time::us(5)), Act::Look(Time::us(9)));
        assert_eq!(h.review(C, Time::us(9)), RESUME);
        assert_eq!(h.review(C, Time::us(9)), Act::Nothing);
    }

    #[test]
    fn shorter_hold_replaces_a_longer_one_of_the_same_owner() {
        let mut h = PauseRequests::at(RATE);
        h.request(MechanismId(1), C, Time::ZERO, Time::us(100), STYLE);
        // 3 us are left: 58.6 quanta of 51.2 ns.
        let shorter = PauseRequest { class: C, quanta: 59, lasting: false };
        let act = h.request(MechanismId(1), C, Time::us(2), Time::us(5), STYLE);
        assert_eq!(act, Act::Signal(shorter, Time::NEVER));
    }

    #[test]
    fn on_off_signal_outlives_its_owner_until_timed_ones_end() {
        let mut h = PauseRequests::at(RATE);
        let on_off = PauseStyle { quanta: None, framed: true };
        assert!(matches!(h.request(MechanismId(1), C, Time::ZERO, Time::NEVER, on_off), Act::Signal(..)));
        assert_eq!(h.request(MechanismId(2), C, Time::us(1), Time::us(9), STYLE), Act::Nothing);
        assert_eq!(h.release(MechanismId(1), C, Time::us(2)), Act::Look(Time::us(9)));
        assert_eq!(h.review(C, Time::us(9)), RESUME);
    }

    /// Each owner's pause is signalled in its own quanta: one with few quanta does not delay the signal of another's longer pause. 100
    /// quanta at 10 Gb/s are 5.12 us.
    #[test]
    fn each_owner_has_its_own_quanta() {
        let quanta = |quanta| PauseStyle { quanta: Some(quanta), framed: true };
        let mut h = PauseRequests::at(RATE);
        let signalled = |quanta| PauseRequest { class: C, quanta, lasting: false };
        let half = Time::ns(2560);
        assert_eq!(
            h.request(MechanismId(1), C, Time::ZERO, Time::NEVER, quanta(100)),
            Act::Signal(signalled(100), half)
        );
        assert_eq!(h.request(MechanismId(2), C, Time::us(1), Time::us(3), quanta(1)), Act::Nothing);
        assert_eq!(h.review(C, half), Act::Signal(signalled(100), Time(2 * half.0)));
        assert_eq!(
            h.request(MechanismId(3), C, Time::us(3), Time::NEVER, quanta(1)),
            Act::Nothing,
            "the longest serves both"
        );
        // The remaining one signals its own quanta, when no more than half of them is left: 25.6 of 51.2 ns.
        let due = Time(h.signalled[3].0 - 25_600);
        assert_eq!(h.release(MechanismId(1), C, Time::us(4)), Act::Nothing, "the look at 5.12 us comes first");
        assert_eq!(h.review(C, Time::ns(5120)), Act::Look(due));
        assert_eq!(h.review(C, due), Act::Signal(signalled(1), due.after(Time(25_600))));
    }

    #[test]
    fn odd_pause_time_is_refreshed() {
        let rate = Rate::gbps(7);
        assert_eq!(quanta_time(rate, u16::MAX).0 % 2, 1);
        let mut h = PauseRequests::at(rate);
        let Act::Signal(_, refresh_at) = h.request(MechanismId(1), C, Time::ZERO, Time::NEVER, STYLE) else { panic!() };
        assert!(matches!(h.review(C, refresh_at), Act::Signal(..)));
    }

    /// 65 535 quanta last ten times as long at 10 Gb/s as at 100: a pause signalled for 3.36 ms may end after 336 us, and is signalled
    /// anew.
    #[test]
    fn a_pause_is_counted_at_the_rate_of_who_obeys_it() {
        let mut h = PauseRequests::at(RATE);
        let longest = |rate| PauseRequest { class: C, quanta: u16::MAX, lasting: false }.until(Time::ZERO, rate);
        let Act::Signal(_, refresh_at) = h.request(MechanismId(1), C, Time::ZERO, Time::NEVER, STYLE) else { panic!() };
        assert_eq!(Time(2 * refresh_at.0), longest(RATE));
        assert_eq!(h.review(C, Time::us(1)), Act::Nothing, "it is looked at when half of that has passed");
        h.count_at(Rate::gbps(100));
        let Act::Signal(reported, refresh_at) = h.review(C, Time::us(1)) else { panic!() };
        assert_eq!((reported.quanta, Time(2 * refresh_at.since(Time::us(1)).0)), (u16::MAX, longest(Rate::gbps(100))));
    }

    #[test]
    fn lasting_hold_is_refreshed_at_half_time() {
        let mut h = PauseRequests::at(RATE);
        let Act::Signal(first, refresh_at) = h.request(MechanismId(1), C, Time::ZERO, Time::NEVER, STYLE) else {
            panic!()
        };
        assert_eq!(first.quanta, u16::MAX);
        assert_eq!(refresh_at.0, quanta_time(RATE, u16::MAX).0 / 2);
        assert!(matches!(h.review(C, refresh_at), Act::Signal(..)));
        assert!(h.any(refresh_at));
    }
}
