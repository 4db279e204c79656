//! Sent frames that a port keeps, numbered in the order of sending, until a mechanism discards them. Frames are replayed in that order,
//! before all new ones.

use crate::model::hooks::attachment::Attachment;
use crate::model::packet::{Control, Packet, Report, controls};
use crate::model::probe::account::Account;
use backwater_engine::Time;
use backwater_engine::state::{Loader, Saver, State, Unfit};
use std::collections::VecDeque;

/// A sent frame, and the data beside it.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub packet: Packet,
    pub control: Option<Control>,
    pub carried: Option<Attachment>,
    pub report: Option<Report>,
    /// Its wait account at its last transmission, and the time of that, if its flow is recorded.
    pub waited: Option<(Account, Time)>,
}

/// The number of a kept frame on the link, and whether it is damaged.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Numbered {
    pub number: u64,
    pub damaged: bool,
}

/// The frames that a port keeps.
#[derive(Debug, Default)]
pub(crate) struct ReplayBuffer {
    frames: VecDeque<Sent>,
    /// Number of the first of them.
    first: u64,
    /// Number of the next frame to be replayed; equal to the number of the next new one: no frame is.
    next_replayed: u64,
}

impl ReplayBuffer {
    /// The number that the next new frame gets.
    pub fn next(&self) -> u64 {
        self.first + self.frames.len() as u64
    }

    /// Keeps a new frame. No replay is in progress.
    pub fn keep(&mut self, sent: Sent) {
        self.frames.push_back(sent);
        self.next_replayed = self.next();
    }

    /// Its header has been changed since.
    pub fn renew(&mut self, packet: &Packet) {
        if let Some(sent) = self.frames.back_mut().filter(|sent| sent.packet.uid == packet.uid) {
            sent.packet = *packet;
        }
    }

    /// Discards all before this number.
    pub fn discard_before(&mut self, before: u64) {
        while self.first < before && self.frames.pop_front().is_some() {
            self.first += 1;
        }
        self.next_replayed = self.next_replayed.max(self.first);
    }

    /// Replays all from this number on.
    pub fn replay_from(&mut self, from: u64) {
        self.next_replayed = from.clamp(self.first, self.next());
    }

    /// Returns whether a replay is in progress.
    pub fn resends(&self) -> bool {
        self.next_replayed < self.next()
    }

    /// The next frame to be replayed, with its number.
    pub fn next_to_replay(&mut self) -> Option<(u64, &mut Sent)> {
        let number = self.next_replayed;
        let sent = self.frames.get_mut(usize::try_from(number - self.first).ok()?)?;
        self.next_replayed += 1;
        Some((number, sent))
    }
}

impl State for ReplayBuffer {
    fn save(&self, to: &mut Saver) {
        to.put(&(self.first, self.next_replayed, self.frames.len()));
        for Sent { packet, control, carried, report, waited } in &self.frames {
            to.put(&(packet, carried, report, waited));
            controls::save(control, to);
        }
    }

    fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Unfit> {
        let frames: usize;
        (self.first, self.next_replayed, frames) = from.take()?;
        self.frames.clear();
        for _ in 0..frames {
            let (packet, carried, report, waited) = from.take()?;
            let mut all = Vec::new();
            controls::load(&mut all, from)?;
            self.frames.push_back(Sent { packet, control: all.pop(), carried, report, waited });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::packet::{Class, ControlHeader, NodeId};

    fn sent(uid: u64) -> Sent {
        let frame = Control::carrying("test", 64, 0, &());
        let header = ControlHeader { from: NodeId(0), to: None, content: 0, ev: 0 };
        let packet = Packet::control(&frame, header, Class(0), uid);
        Sent { packet, control: Some(frame), carried: None, report: None, waited: None }
    }

    fn next_replayed(replay: &mut ReplayBuffer) -> Vec<(u64, u64)> {
        std::iter::from_fn(|| replay.next_to_replay().map(|(number, sent)| (number, sent.packet.uid))).collect()
    }

    /// The first two of five frames are discarded. A replay from the second on begins with the third; another one from the fifth.
    #[test]
    fn frames_go_again_in_their_order() {
        let mut replay = ReplayBuffer::default();
        (10..15).for_each(|uid| replay.keep(sent(uid)));
        assert!(!replay.resends());
        replay.discard_before(2);
        replay.replay_from(1);
        assert!(replay.resends());
        assert_eq!(next_replayed(&mut replay), [(2, 12), (3, 13), (4, 14)]);
        replay.replay_from(4);
        assert_eq!(next_replayed(&mut replay), [(4, 14)]);
        assert!(!replay.resends());
        assert_eq!(replay.next(), 5);
    }

    /// A frame that is discarded during its replay is not sent; numbers continue.
    #[test]
    fn what_is_let_go_is_not_sent_again() {
        let mut replay = ReplayBuffer::default();
        (0..4).for_each(|uid| replay.keep(sent(uid)));
        replay.replay_from(0);
        replay.discard_before(u64::MAX);
        assert!(!replay.resends() && replay.next() == 4);
        replay.keep(sent(9));
        replay.replay_from(0);
        assert_eq!(next_replayed(&mut replay), [(4, 9)]);
    }
}
