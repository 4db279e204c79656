//! One end of a link that retries: the frames that it has sent and not seen acknowledged, and those that it accepts from the other end.
//! Numbers do not wrap.

use super::wire::{What, Word};
use backwater_engine::Time;
use backwater_net::hooks::Count;
use backwater_net::packet::{Control, Port};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// An action after a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Act {
    Say(Control),
    /// Acknowledges at the latest then.
    Look(Time),
    /// The replay timer.
    Replay(Time),
    /// The end of the time that a link may be down.
    Lost(Time),
    DiscardBefore(u64),
    ReplayFrom(u64),
    /// Waiting frames may be sent.
    Open,
}

/// The constants of a link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Rules {
    /// OUTSTANDING_FRAMES_MAX
    pub frames: u64,
    /// \[bytes\] OUTSTANDING_BYTES_MAX
    pub bytes: u64,
    /// \[bytes\] Between two acknowledgements, and as a time.
    pub spacing: u64,
    pub spaced: Time,
    /// REPLAY_TIMER_MAX, at least a loop of the link
    pub timer: Time,
    /// REPLAY_COUNT_MAX
    pub tries: u32,
    /// PCS_LOST_TIMEOUT
    pub lost: Time,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Counters {
    acks: u64,
    nacks: u64,
    replays: u64,
    timeouts: u64,
    flushes: u64,
    discarded: u64,
    outstanding: u64,
}

/// The end of a link.
#[derive(Clone, Debug, backwater_derive::State)]
pub(super) struct Link {
    #[state(fixed)]
    rules: Rules,
    /// \[bytes\] Each frame that is not acknowledged, oldest first
    sizes: VecDeque<u32>,
    /// Number of the first of them
    first: u64,
    /// \[bytes\] Their sum
    bytes: u64,
    /// When a frame was last acknowledged, or all were replayed
    progress: Time,
    /// A timer runs for it.
    timed: bool,
    /// Times that it has expired since.
    tries: u32,
    down: Option<Time>,
    /// Frames are not kept: the link has been down for too long.
    off: bool,
    /// Frames were given up, and no acknowledgement shows yet that the other end knows it.
    given_up: bool,
    /// The number that is taken next
    expected: u64,
    /// NACK_SENT: nothing is sent until that frame arrives.
    asked: bool,
    /// \[bytes\] Accepted, or received again, since the last acknowledgement
    unsaid: u64,
    looks: bool,
    counters: Counters,
}

impl Link {
    pub fn new(rules: Rules) -> Link {
        Link {
            rules,
            sizes: VecDeque::new(),
            first: 0,
            bytes: 0,
            progress: Time::ZERO,
            timed: false,
            tries: 0,
            down: None,
            off: false,
            given_up: false,
            expected: 0,
            asked: false,
            unsaid: 0,
            looks: false,
            counters: Counters::default(),
        }
    }

    fn next(&self) -> u64 {
        self.first + self.sizes.len() as u64
    }

    /// SAI: OUTSTANDING_FRAMES_MAX and OUTSTANDING_BYTES_MAX. Returns whether a frame of `size` may be outstanding, too. A single one
    /// always may.
    pub fn may_send(&self, size: u32) -> bool {
        self.off
            || self.sizes.is_empty()
            || (self.sizes.len() as u64) < self.rules.frames && self.bytes + u64::from(size) <= self.rules.bytes
    }

    /// A frame begins to leave. Returns whether it is kept.
    pub fn retains(&mut self, size: u32, now: Time) -> (bool, Vec<Act>) {
        if self.off {
            return (false, Vec::new());
        }
        if self.sizes.is_empty() {
            self.progress = now;
        }
        self.sizes.push_back(size);
        self.bytes += u64::from(size);
        self.counters.outstanding = self.counters.outstanding.max(self.bytes);
        (true, self.time())
    }

    /// Starts the timer while something is outstanding.
    fn time(&mut self) -> Vec<Act> {
        if self.sizes.is_empty() || std::mem::replace(&mut self.timed, true) {
            return Vec::new();
        }
        vec![Act::Replay(self.progress + self.rules.timer)]
    }

    /// All before `number` have been accepted.
    fn acknowledged(&mut self, number: u64, now: Time) -> Vec<Act> {
        if number <= self.first || number > self.next() {
            return Vec::new();
        }
        while self.first < number {
            self.bytes -= u64::from(self.sizes.pop_front().unwrap_or(0));
            self.first += 1;
        }
        (self.progress, self.tries, self.given_up) = (now, 0, false);
        vec![Act::DiscardBefore(number), Act::Open]
    }

    /// All from `number` on are requested again.
    fn asked(&mut self, number: u64, now: Time) -> Vec<Act> {
        let mut acts = self.acknowledged(number, now);
        if number > self.first {
            return acts;
        }
        if number < self.first {
            acts.push(Act::Say(Word::frame(What::Init, self.first)));
        }
        if !self.sizes.is_empty() {
            self.counters.replays += 1;
            self.progress = now;
            acts.push(Act::ReplayFrom(self.first));
        }
        acts
    }

    /// SAI: REPLAY_TIMER_MAX has expired since the last progress.
    pub fn replay(&mut self, now: Time) -> Vec<Act> {
        self.timed = false;
        if self.sizes.is_empty() || now < self.progress + self.rules.timer {
            return self.time();
        }
        self.counters.timeouts += 1;
        // SAI: REPLAY_COUNT_MAX.
        if self.tries >= self.rules.tries {
            return self.give_up();
        }
        self.tries += 1;
        self.progress = now;
        let mut acts = Vec::new();
        if self.given_up {
            acts.push(Act::Say(Word::frame(What::Init, self.first)));
        }
        acts.push(Act::ReplayFrom(self.first));
        acts.extend(self.time());
        acts
    }

    /// FLUSH
    fn give_up(&mut self) -> Vec<Act> {
        let number = self.next();
        self.counters.flushes += u64::from(!self.sizes.is_empty());
        self.sizes.clear();
        (self.first, self.bytes, self.tries, self.given_up) = (number, 0, 0, true);
        vec![Act::DiscardBefore(number), Act::Say(Word::frame(What::Init, number)), Act::Open]
    }

    /// The link goes down, or is up again.
    pub fn is_up(&mut self, up: bool, now: Time) -> Vec<Act> {
        if !up {
            self.down = Some(now);
            return vec![Act::Lost(now + self.rules.lost)];
        }
        self.down = None;
        if !std::mem::take(&mut self.off) {
            return Vec::new();
        }
        vec![Act::Say(Word::frame(What::Init, self.first))]
    }

    /// SAI: PCS_LOST_TIMEOUT. It may have been down for too long.
    pub fn lost(&mut self, now: Time) -> Vec<Act> {
        if self.off || self.down.is_none_or(|since| since + self.rules.lost > now) {
            return Vec::new();
        }
        self.off = true;
        self.give_up()
    }

    /// A frame has arrived intact. Returns whether it is accepted.
    pub fn accepts(&mut self, number: u64, size: u32, now: Time) -> (bool, Vec<Act>) {
        // SAI: a gap is answered by one NACK.
        if number > self.expected {
            self.counters.discarded += 1;
            return (false, self.ask());
        }
        let taken = number == self.expected;
        if taken {
            self.expected += 1;
            self.asked = false;
        } else {
            self.counters.discarded += 1;
        }
        self.unsaid += u64::from(size);
        // SAI: ACK target spacing.
        if self.unsaid >= self.rules.spacing {
            return (taken, self.acknowledge());
        }
        let look = !std::mem::replace(&mut self.looks, true);
        (taken, if look { vec![Act::Look(now + self.rules.spaced)] } else { Vec::new() })
    }

    /// A frame has arrived damaged, or one is missing.
    pub fn ask(&mut self) -> Vec<Act> {
        // SAI: in NACK_SENT nothing is sent.
        if std::mem::replace(&mut self.asked, true) {
            return Vec::new();
        }
        self.unsaid = 0;
        self.counters.nacks += 1;
        vec![Act::Say(Word::frame(What::Nack, self.expected))]
    }

    fn acknowledge(&mut self) -> Vec<Act> {
        self.unsaid = 0;
        self.counters.acks += 1;
        vec![Act::Say(Word::frame(What::Ack, self.expected))]
    }

    /// Acknowledges now what has been accepted.
    pub fn look(&mut self) -> Vec<Act> {
        self.looks = false;
        if self.unsaid > 0 { self.acknowledge() } else { Vec::new() }
    }

    /// An ordered set has arrived.
    pub fn receive(&mut self, word: Word, now: Time) -> Vec<Act> {
        match word.what {
            What::Ack => self.acknowledged(word.number, now),
            What::Nack => self.asked(word.number, now),
            What::Init => {
                self.asked &= word.number <= self.expected;
                self.expected = self.expected.max(word.number);
                self.acknowledge()
            }
        }
    }

    /// Number of replays, most bytes outstanding, and their limit.
    pub fn nearest(&self) -> (u64, u64, u64) {
        (self.counters.replays + self.counters.timeouts, self.counters.outstanding, self.rules.bytes)
    }

    pub fn counts(&self, port: Port) -> Vec<Count> {
        let all = [
            ("llr_acks", self.counters.acks),
            ("llr_nacks", self.counters.nacks),
            ("llr_replays", self.counters.replays),
            ("llr_timeouts", self.counters.timeouts),
            ("llr_flushes", self.counters.flushes),
            ("llr_discarded", self.counters.discarded),
            ("llr_outstanding_max", self.counters.outstanding),
        ];
        all.into_iter().filter(|(_, n)| *n > 0).map(|(name, n)| (port, name, n)).collect()
    }
}
