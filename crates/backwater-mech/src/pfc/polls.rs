//! The instants at which a watchdog looks at its queues.
//!
//! SONiC's watchdog is a program that reads counters at an interval P, and compares them with those of the interval before. It acts only
//! then, and a time counts from the first look that saw its beginning:
//!
//! ```text
//! begins at t   -> counts from the first k P after t
//! has lasted D  -> acted on at the first k P that is D later, so D is rounded up to whole intervals
//! ```
//!
//! A look at a queue is a timer of that queue while it is paused or in storm. A timer that repeats would keep an idle run from its end.

use backwater_engine::Time;

/// When a watchdog looks: at every instant, or at multiples of an interval.
#[derive(Clone, Copy)]
pub(super) struct Polls(Option<Time>);

impl Polls {
    pub fn new(interval: Option<Time>) -> Polls {
        Polls(interval.filter(|interval| *interval > Time::ZERO))
    }

    /// Returns whether there is an interval.
    pub fn are_apart(self) -> bool {
        self.0.is_some()
    }

    /// The instant from which something counts that begins at `t`.
    pub fn counts_from(self, t: Time) -> Time {
        self.0.map_or(t, |Time(interval)| Time((t.0 / interval).saturating_add(1).saturating_mul(interval)))
    }

    /// The first look at `t` or later.
    pub fn first_from(self, t: Time) -> Time {
        self.0.map_or(t, |Time(interval)| Time(t.0.div_ceil(interval).saturating_mul(interval)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_intervals_count() {
        let polls = Polls::new(Some(Time::ms(200)));
        let at = |look: fn(Polls, Time) -> Time| [0, 1, 200, 399].map(|ms| look(polls, Time::ms(ms)));
        assert_eq!(at(Polls::counts_from), [200, 200, 400, 400].map(Time::ms));
        assert_eq!(at(Polls::first_from), [0, 200, 200, 400].map(Time::ms));
        let always = Polls::new(None);
        assert_eq!((always.counts_from(Time(7)), always.first_from(Time(7))), (Time(7), Time(7)));
        assert_eq!(polls.first_from(Time::NEVER), Time::NEVER);
    }
}
