//! The entropy values of one flow and their states, apart from any run.
//!
//! ```text
//! in turns    the next value in state GOOD; one in state SKIP is passed over once, and is GOOD then
//! marked, or trimmed before the last hop      GOOD -> SKIP
//! lost                                        -> ASSUMED_BAD: passed over
//! k probes in a row answered                  ASSUMED_BAD -> GOOD
//! ```

use backwater_engine::Time;
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The state of a value (MRC 1.0, figure 5, as others describe it).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// In use.
    Good,
    /// Passed over once.
    Skip,
    /// Retired.
    AssumedBad {
        /// When its next probe is due. Timers of other times are of an earlier retirement.
        due: Option<Time>,
        /// Its last probe has not been answered.
        asked: bool,
        /// Probes answered in a row.
        answered: u32,
    },
}

/// Retired just now.
const RETIRED: State = State::AssumedBad { due: None, asked: false, answered: 0 };

/// No value: the packet has not been sent.
const NONE: u16 = u16::MAX;

/// The values of one flow, in the order in which they take turns, and those of the packets in flight.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Values {
    /// Each value, from 1 on.
    ring: Vec<(u16, State)>,
    at: usize,
    /// Number of the first packet that has not been acknowledged with all before it.
    first: u64,
    /// From that packet on: the place of the value in the ring with which it was sent last.
    sent: VecDeque<u16>,
    /// Retired values whose next probe is not armed.
    unarmed: u32,
}

impl Values {
    /// The values 1 to `n` in an order of chance.
    pub fn hashed(n: u32, rng: &mut impl Rng) -> Values {
        let mut values: Vec<u16> = (1..=n as u16).collect();
        shuffle(&mut values, rng);
        Values::in_order(values)
    }

    /// `n` values of source routes over so many planes, and so many paths in each, but no more than there are paths: each plane in turn, in
    /// an order of chance, and in it the paths in an order of chance. Value v takes plane (v - 1) mod planes, and there path
    /// (v - 1) / planes.
    pub fn routed(n: u32, planes: u32, paths: u32, rng: &mut impl Rng) -> Values {
        let mut order: Vec<u32> = (0..planes).collect();
        shuffle(&mut order, rng);
        let in_plane: Vec<Vec<u32>> = order
            .iter()
            .map(|_| {
                let mut all: Vec<u32> = (0..paths).collect();
                shuffle(&mut all, rng);
                all
            })
            .collect();
        let value = |i: u32| {
            let (turn, round) = ((i % planes) as usize, (i / planes % paths) as usize);
            (1 + order[turn] + planes * in_plane[turn][round]) as u16
        };
        Values::in_order((0..n.min(planes * paths)).map(value).collect())
    }

    fn in_order(values: Vec<u16>) -> Values {
        let ring = values.into_iter().map(|ev| (ev, State::Good)).collect();
        Values { ring, at: 0, first: 0, sent: VecDeque::new(), unarmed: 0 }
    }

    /// Takes the value of packet `number`, which is sent now. If all are retired, the next one in turn.
    pub fn take(&mut self, number: u64) -> u16 {
        let n = self.ring.len();
        let mut place = self.at;
        for passed in 0..2 * n {
            let i = (self.at + passed) % n;
            match &mut self.ring[i].1 {
                State::Good => {
                    place = i;
                    break;
                }
                skip @ State::Skip => *skip = State::Good,
                State::AssumedBad { .. } => {}
            }
        }
        self.at = (place + 1) % n;
        if let Some(nth) = number.checked_sub(self.first).map(|nth| nth as usize) {
            if self.sent.len() <= nth {
                self.sent.resize(nth + 1, NONE);
            }
            self.sent[nth] = place as u16;
        }
        self.ring[place].0
    }

    /// All packets before this number have arrived.
    pub fn arrived(&mut self, before: u64) {
        while self.first < before {
            self.sent.pop_front();
            self.first += 1;
        }
    }

    /// A value's path is congested. Returns whether this is new.
    pub fn congested(&mut self, ev: u16) -> bool {
        let Some(state) = self.state_mut(ev).filter(|state| **state == State::Good) else { return false };
        *state = State::Skip;
        true
    }

    /// The packet of this number is lost: its value is retired. Returns whether this is new.
    pub fn lost(&mut self, number: u64) -> bool {
        let nth = number.checked_sub(self.first).map(|nth| nth as usize);
        let Some(place) = nth.and_then(|nth| self.sent.get(nth)).filter(|place| **place != NONE) else { return false };
        let state = &mut self.ring[usize::from(*place)].1;
        let new = !matches!(state, State::AssumedBad { .. });
        if new {
            *state = RETIRED;
            self.unarmed += 1;
        }
        new
    }

    /// Places of the retired values whose next probe, due then, is to be armed now.
    pub fn arm(&mut self, then: Time) -> Vec<u16> {
        if std::mem::take(&mut self.unarmed) == 0 {
            return Vec::new();
        }
        let unarmed = (0u16..).zip(&mut self.ring).filter_map(|(place, (_, state))| match state {
            State::AssumedBad { due: due @ None, .. } => {
                *due = Some(then);
                Some(place)
            }
            _ => None,
        });
        unarmed.collect()
    }

    /// A timer of the value at this place has expired. Returns the value if its probe is due, and arms the one after it, due `then`; `None`:
    /// the value has returned, the timer is of an earlier retirement, or nothing is to be sent (`idle`).
    pub fn probe(&mut self, place: u16, now: Time, then: Time, idle: bool) -> Option<u16> {
        let (ev, State::AssumedBad { due, asked, answered }) = self.ring.get_mut(usize::from(place))? else {
            return None;
        };
        if *due != Some(now) {
            return None;
        }
        if idle {
            *due = None;
            self.unarmed += 1;
            return None;
        }
        *due = Some(then);
        if std::mem::replace(asked, true) {
            *answered = 0;
        }
        Some(*ev)
    }

    /// A probe of a value has been answered, of which `enough` in a row bring it back. Returns whether it is back.
    pub fn answered(&mut self, ev: u16, enough: u32) -> bool {
        let Some(state) = self.state_mut(ev) else { return false };
        let State::AssumedBad { asked: asked @ true, answered, .. } = state else { return false };
        (*asked, *answered) = (false, *answered + 1);
        let back = *answered >= enough;
        if back {
            *state = State::Good;
        }
        back
    }

    /// Returns whether packets are in flight.
    pub fn in_flight(&self) -> bool {
        !self.sent.is_empty()
    }

    fn state_mut(&mut self, ev: u16) -> Option<&mut State> {
        self.ring.iter_mut().find(|(of, _)| *of == ev).map(|(_, state)| state)
    }
}

/// Fisher and Yates.
fn shuffle<T>(all: &mut [T], rng: &mut impl Rng) {
    for i in (1..all.len()).rev() {
        all.swap(i, rng.random_range(0..=i));
    }
}
