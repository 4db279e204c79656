//! The ends of pauses by congested queues of one class of a host, or of one isolation queue.

use backwater_engine::Time;

/// The end of the pause of each `K`: a congested queue, or what it names. A newer message replaces its own time, never another's.
#[derive(serde::Serialize, serde::Deserialize)]
pub(super) struct PauseEnds<K>(Vec<(K, Time)>);

impl<K> Default for PauseEnds<K> {
    fn default() -> PauseEnds<K> {
        PauseEnds(Vec::new())
    }
}

/// The effect of a message.
pub(super) enum Change {
    /// Paused until then: the latest of all queues.
    Until(Time),
    /// The last pause has been lifted.
    Lifted,
    /// It was not paused, and is not.
    Nothing,
}

impl<K: PartialEq> PauseEnds<K> {
    /// Takes a message of `point`; a `pause` of zero resumes.
    pub(super) fn record(&mut self, point: K, pause: Time, now: Time) -> Change {
        self.0.retain(|(_, end)| *end > now);
        let before = self.0.len();
        self.0.retain(|(known, _)| *known != point);
        if pause != Time::ZERO {
            self.0.push((point, now.after(pause)));
        }
        match self.last() {
            Some(end) => Change::Until(end),
            // A pause that has ended by itself needs no resume.
            None if before > 0 => Change::Lifted,
            None => Change::Nothing,
        }
    }

    fn last(&self) -> Option<Time> {
        self.0.iter().map(|(_, end)| *end).max()
    }

    /// Returns whether no queue pauses it any more.
    pub(super) fn over(&self, now: Time) -> bool {
        self.last().is_none_or(|end| end <= now)
    }
}
