//! Faults of the link out of a port: its losses, and its former rates.

use crate::spec::FrameKind;
use crate::units::Serialiser;
use backwater_engine::{Rng, Time};

/// Faults of the link out of a port.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct LinkFaults {
    /// The kinds of frames that are lost (`None`: all), each with its probability.
    pub loss: Vec<(Option<FrameKind>, f64)>,
    pub rng: Rng,
    /// The kinds that are counted, each with the number of frames until one is lost.
    pub drop_nth: Vec<(FrameKind, u64)>,
    /// When the link last went down.
    pub down_at: Option<Time>,
    /// When the link last went down or came up.
    pub changed_at: Option<Time>,
    /// Former rates of the link, each with the time until which frames left at it. `NEVER`, for the last entry only: a frame at that rate
    /// is still leaving.
    former: Vec<(Time, Serialiser)>,
}

impl LinkFaults {
    /// No faults yet.
    pub fn new(rng: Rng) -> LinkFaults {
        LinkFaults { loss: Vec::new(), rng, drop_nth: Vec::new(), down_at: None, changed_at: None, former: Vec::new() }
    }

    /// The rate changes at `now`; `busy` if a frame is leaving. Frames that left a `delay` ago have arrived and been handled.
    pub fn changes(&mut self, before: Serialiser, busy: bool, now: Time, delay: Time) {
        self.former.retain(|(until, _)| until.after(delay) >= now);
        // The frame that is still leaving began before `before` was the rate: no frame was sent at it.
        if self.former.last().is_none_or(|(until, _)| *until != Time::NEVER) {
            self.former.push((if busy { Time::NEVER } else { now }, before));
        }
    }

    /// A frame begins at `now`: frames at a former rate have left.
    pub fn begins(&mut self, now: Time) {
        if let Some((until, _)) = self.former.last_mut() {
            *until = now.min(*until);
        }
    }

    /// Returns the rate of a frame that had left at `end`, if the rate is `current` now.
    pub fn sent_by(&self, end: Time, current: Serialiser) -> Serialiser {
        self.former.iter().find(|(until, _)| end <= *until).map_or(current, |(_, former)| *former)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Rate;

    /// A link whose rate changes 10,000 times keeps the rates of frames that may still be on it: 1 us holds 10 changes that are 100 ns
    /// apart.
    #[test]
    fn rates_are_kept_while_frames_may_be_under_way() {
        let mut faults = LinkFaults::new(backwater_engine::rng::stream(1, "link loss", 0));
        let rate = |n: u64| Serialiser::new(Rate::gbps(1 + n % 2), None);
        let at = |n: u64| Time::ns(100 * n);
        for n in 0..10_000 {
            faults.begins(at(n));
            faults.changes(rate(n), false, at(n), Time::us(1));
        }
        assert!(faults.former.len() <= 12, "{}", faults.former.len());
        // A frame that left between two changes used the rate between them; after the last change, the current rate.
        assert_eq!(faults.sent_by(Time::ns(999_650), rate(0)).rate(), rate(9_997).rate());
        assert_eq!(faults.sent_by(Time::ns(999_750), rate(0)).rate(), rate(9_998).rate());
        faults.begins(at(10_000));
        assert_eq!(faults.sent_by(at(10_001), Serialiser::new(Rate::gbps(7), None)).rate(), Rate::gbps(7));
    }

    /// If the rate changes twice while a frame leaves, the rate before the first change is that of the frame.
    #[test]
    fn a_frame_leaves_at_the_rate_at_which_it_began() {
        let mut faults = LinkFaults::new(backwater_engine::rng::stream(1, "link loss", 0));
        let rate = |gbps| Serialiser::new(Rate::gbps(gbps), None);
        faults.changes(rate(1), true, Time::us(1), Time::us(1));
        faults.changes(rate(2), true, Time::us(2), Time::us(1));
        assert_eq!(faults.sent_by(Time::us(9), rate(3)).rate(), Rate::gbps(1));
        faults.begins(Time::us(9));
        assert_eq!(faults.sent_by(Time::us(10), rate(3)).rate(), Rate::gbps(3));
    }
}
