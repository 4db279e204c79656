//! The meeting place of parts: the progress of each, and the mail to it.
//!
//! A part may advance as far as nothing can reach it: the least, over all parts, of that part's pending events plus the least time from it
//! (Chandy and Misra 1979; pending events are known to all and replace null messages). It publishes its progress after a few events, so
//! that the others need not wait for its whole window.

use crate::model::part::{Key, Mail, NEVER};
use backwater_engine::Time;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Checks before a waiting part sleeps.
const LOOKS: u32 = 2_000;

pub(super) struct Board {
    state: Mutex<State>,
    /// Counts changes that others may wait for.
    version: AtomicU64,
    sleepers: AtomicUsize,
    bell: Condvar,
    /// True if there is a processor for each part.
    roomy: bool,
}

struct State {
    distances: Vec<Vec<Time>>,
    /// By part: a lower bound of its next event, without its mailbox.
    pending: Vec<Key>,
    mailboxes: Vec<Vec<Mail>>,
    /// The first event in each mailbox.
    mailed: Vec<Key>,
    /// Where this stretch ends.
    until: Key,
    /// Events that it may still handle.
    left: u64,
    over: bool,
}

/// The next step of a part.
pub(super) struct Turn {
    pub over: bool,
    /// It may handle events before this.
    pub until: Key,
    pub version: u64,
}

impl Board {
    pub fn new(distances: Vec<Vec<Time>>) -> Board {
        let parts = distances.len();
        let state = State {
            distances,
            pending: vec![(Time::ZERO, 0); parts],
            mailboxes: (0..parts).map(|_| Vec::new()).collect(),
            mailed: vec![NEVER; parts],
            until: (Time::ZERO, 0),
            left: 0,
            over: false,
        };
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Board {
            state: Mutex::new(state),
            version: AtomicU64::new(0),
            sleepers: AtomicUsize::new(0),
            bell: Condvar::new(),
            roomy: processors >= parts,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a stretch that ends before `until`, or after about so many events.
    pub fn begin(&self, until: Key, events: u64) {
        let mut state = self.lock();
        (state.until, state.left, state.over) = (until, events, false);
    }

    /// Returns a lower bound of all pending events.
    pub fn first(&self) -> Key {
        let state = self.lock();
        state.pending.iter().chain(&state.mailed).copied().min().unwrap_or(NEVER)
    }

    /// Returns whether nothing is left to be done before `until`.
    pub fn reached(&self) -> bool {
        let state = self.lock();
        state.is_done()
    }

    /// Returns the mail that is left at the end, by part.
    pub fn take(&self) -> Vec<Vec<Mail>> {
        let mut state = self.lock();
        state.mailed.fill(NEVER);
        state.mailboxes.iter_mut().map(std::mem::take).collect()
    }

    /// A part delivers its mail to others and publishes its progress; it has handled `events` meanwhile. Fills `mail`, which is empty, with
    /// the mail for it, and `certain` with the time up to which each part has finished and all of its mail is in.
    pub fn meet(
        &self,
        me: usize,
        next: Key,
        events: u64,
        out: &mut [Vec<Mail>],
        mail: &mut Vec<Mail>,
        certain: &mut Vec<Key>,
    ) -> Turn {
        let mut state = self.lock();
        let state = &mut *state;
        let mut news = false;
        for (to, mails) in out.iter_mut().enumerate().filter(|(_, mails)| !mails.is_empty()) {
            let first = mails.iter().map(Mail::key).min().unwrap_or(NEVER);
            state.mailed[to] = state.mailed[to].min(first);
            state.mailboxes[to].append(mails);
            news = true;
        }
        std::mem::swap(mail, &mut state.mailboxes[me]);
        let next = next.min(std::mem::replace(&mut state.mailed[me], NEVER));
        news |= state.pending[me] != next;
        state.pending[me] = next;
        state.left = state.left.saturating_sub(events);
        let done = state.left == 0 || state.is_done();
        news |= done && !state.over;
        state.over |= done;
        certain.clear();
        certain.extend(state.pending.iter().zip(&state.mailed).map(|(pending, mailed)| *pending.min(mailed)));
        let reach = |from: usize| certain[from].0.after(state.distances[from][me]);
        let limit = (0..certain.len()).map(reach).min().unwrap_or(Time::NEVER);
        let (over, until) = (state.over, state.until.min((limit, 0)));
        if news {
            self.ring();
        }
        Turn { over, until, version: self.version.load(Ordering::Relaxed) }
    }

    /// Ends the stretch.
    pub fn stop(&self) {
        // Held while it rings: a part that is about to sleep would miss it.
        let mut state = self.lock();
        state.over = true;
        self.ring();
    }

    fn ring(&self) {
        self.version.fetch_add(1, Ordering::Release);
        if self.sleepers.load(Ordering::SeqCst) != 0 {
            self.bell.notify_all();
        }
    }

    /// Waits until something has changed since `version`: polls if there are enough processors, and then sleeps. A part that yielded instead
    /// would lose whole slices of time to other programs.
    pub fn wait(&self, version: u64) {
        let spins = if self.roomy { LOOKS } else { 0 };
        for _ in 0..spins {
            if self.version.load(Ordering::Acquire) != version {
                return;
            }
            std::hint::spin_loop();
        }
        let mut state = self.lock();
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        // Notifiers hold the lock, so no wake-up is missed.
        while self.version.load(Ordering::Acquire) == version {
            state = self.bell.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}

impl State {
    fn is_done(&self) -> bool {
        self.pending.iter().all(|pending| *pending >= self.until) && self.mailboxes.iter().all(Vec::is_empty)
    }
}

impl Mail {
    /// Returns the key of its event. The end of a flow may lie in the past: it still has to be handled.
    fn key(&self) -> Key {
        match self {
            Mail::Frame(crossing) => (crossing.at, 0),
            Mail::Signal(signal) => (signal.at, 0),
            Mail::Over(key, _) => *key,
            Mail::Completed(completion) => (completion.at, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Alarm;
    use super::*;
    use std::thread;

    /// A part that panics ends the stretch: the other one would wait forever.
    #[test]
    fn nobody_waits_for_a_part_that_has_panicked() {
        let board = Board::new(vec![vec![Time::us(1); 2]; 2]);
        board.begin((Time::us(100), 0), 1_000);
        let board = &board;
        let panicked = thread::scope(|scope| {
            let other = scope.spawn(|| {
                let _alarm = Alarm(board);
                panic!("as a defect does");
            });
            let (mut out, mut mail, mut certain) = ([Vec::new(), Vec::new()], Vec::new(), Vec::new());
            loop {
                let turn = board.meet(0, (Time::us(5), 0), 0, &mut out, &mut mail, &mut certain);
                if turn.over {
                    break;
                }
                board.wait(turn.version);
            }
            other.join().is_err()
        });
        assert!(panicked);
    }
}
