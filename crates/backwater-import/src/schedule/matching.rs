//! The message of each receive by the rules of MPI (MPI 4.1, section 3.5): messages from one rank to another with the same tag are received
//! in the order in which they are sent, which is the order of the file.
//!
//! A receive from any rank, or with any tag, takes the first message to arrive. That depends on time, which no file contains. So it is
//! matched if only one rank has a message left for it, and refused if several have.

use super::{ANY, Act, NONE, Schedule};
use crate::error::ImportError;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// A message as it is sent or received: its receiver, its sender, its tag, and the number of the operation.
type Envelope = (u32, u32, u32, u32);

impl Schedule {
    /// For each operation that receives, the number of the operation that sends.
    ///
    /// # Errors
    ///
    /// A rank that does not exist, a message that is sent and not received or the reverse, a receive that several messages match.
    pub fn matched(&self) -> Result<Vec<u32>, ImportError> {
        let (mut sent, mut received): (Vec<Envelope>, Vec<Envelope>) = (Vec::new(), Vec::new());
        for (rank, number, op) in self.all() {
            let (list, envelope, peer) = match op.act {
                Act::Send { peer, tag, .. } => (&mut sent, (peer, rank, tag, number), peer),
                Act::Receive { peer, tag, .. } => (&mut received, (rank, peer, tag, number), peer),
                Act::Compute { .. } | Act::Collective(_) => continue,
            };
            let may_be_any = matches!(op.act, Act::Receive { .. });
            if peer >= self.ranks() && !(may_be_any && peer == ANY) {
                let reason = format!("there is no rank {peer}: there are {}, from 0", self.ranks());
                return Err(self.error(number, reason));
            }
            if envelope.2 == ANY && !may_be_any {
                return Err(self
                    .error(number, "sends with any tag")
                    .hint("-1 is for receives: give the message a tag"));
            }
            list.push(envelope);
        }
        self.without_any(&sent, &mut received)?;
        sent.sort_unstable();
        received.sort_unstable();
        let mut partner = vec![NONE; self.total() as usize];
        let (mut sent, mut received) = (sent.as_slice(), received.as_slice());
        // Both are sorted by receiver, sender and tag: matching ones are at the same place.
        while let (Some((send, rest_sent)), Some((receive, rest_received))) =
            (sent.split_first(), received.split_first())
        {
            match (send.0, send.1, send.2).cmp(&(receive.0, receive.1, receive.2)) {
                std::cmp::Ordering::Equal => {
                    partner[receive.3 as usize] = send.3;
                    (sent, received) = (rest_sent, rest_received);
                }
                std::cmp::Ordering::Less => break,
                std::cmp::Ordering::Greater => return Err(self.never_comes(receive.3)),
            }
        }
        match (sent.first(), received.first()) {
            (Some(send), _) => Err(self.never_received(send.3)),
            (None, Some(receive)) => Err(self.never_comes(receive.3)),
            (None, None) => Ok(partner),
        }
    }

    fn never_comes(&self, receive: u32) -> ImportError {
        let (rank, op) = self.op(receive);
        let Act::Receive { peer, tag, .. } = op.act else { return self.error(receive, "receives nothing") };
        let who = if peer == ANY { "any rank".to_owned() } else { format!("rank {peer}") };
        let what = if tag == ANY { "any tag".to_owned() } else { format!("tag {tag}") };
        let reason = format!("rank {rank} receives from {who} with {what} once more than that is sent");
        self.error(receive, reason).hint("it would wait for ever: is a file or the end of one missing?")
    }

    fn never_received(&self, send: u32) -> ImportError {
        let (rank, op) = self.op(send);
        let Act::Send { peer, tag, .. } = op.act else { return self.error(send, "sends nothing") };
        let reason = format!("rank {rank} sends to rank {peer} with tag {tag} once more than that is received");
        self.error(send, reason).hint("is a file or the end of one missing?")
    }

    /// Sets rank and tag of receives from any rank or with any tag to those of their messages.
    fn without_any(&self, sent: &[Envelope], received: &mut [Envelope]) -> Result<(), ImportError> {
        let mut by_receiver: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (to, from, tag, _) in received.iter() {
            if *from == ANY || *tag == ANY {
                by_receiver.entry(*to).or_default();
            }
        }
        if by_receiver.is_empty() {
            return Ok(());
        }
        for (at, (to, ..)) in received.iter().enumerate() {
            if let Some(list) = by_receiver.get_mut(to) {
                list.push(at);
            }
        }
        let mut to_receiver: HashMap<u32, Vec<Envelope>> = HashMap::new();
        for envelope in sent.iter().filter(|envelope| by_receiver.contains_key(&envelope.0)) {
            to_receiver.entry(envelope.0).or_default().push(*envelope);
        }
        for (receiver, list) in by_receiver {
            // Both lists are in the order of the file, rank by rank.
            let own = to_receiver.remove(&receiver).unwrap_or_default();
            self.give_ranks(&own, received, &list)?;
            self.give_tags(&own, received, &list)?;
        }
        Ok(())
    }

    /// A receive from any rank takes from the only rank that sends more than others receive from it by name.
    fn give_ranks(&self, sent: &[Envelope], received: &mut [Envelope], list: &[usize]) -> Result<(), ImportError> {
        let mut left = Left::default();
        sent.iter().for_each(|(_, rank, tag, _)| left.count(*tag, *rank, 1));
        for at in list {
            let (_, rank, tag, _) = received[*at];
            if rank != ANY {
                left.count(tag, rank, -1);
            }
        }
        for at in list {
            let (_, rank, tag, number) = received[*at];
            if rank != ANY {
                continue;
            }
            match left.of(tag) {
                (Some(only), None) => {
                    received[*at].1 = only;
                    left.count(tag, only, -1);
                }
                (Some(one), Some(other)) => {
                    let reason = format!(
                        "receives from any rank, and messages of rank {one}, of rank {other} and perhaps of others may be \
                         the one: which comes first is a matter of time"
                    );
                    return Err(self.error(number, reason).hint("name the rank that it is from"));
                }
                _ => return Err(self.never_comes(number)),
            }
        }
        Ok(())
    }

    /// A receive with any tag takes the first remaining message of its rank.
    fn give_tags(&self, sent: &[Envelope], received: &mut [Envelope], list: &[usize]) -> Result<(), ImportError> {
        let any: std::collections::HashSet<u32> = list
            .iter()
            .map(|at| received[*at])
            .filter(|envelope| envelope.2 == ANY)
            .map(|envelope| envelope.1)
            .collect();
        if any.is_empty() {
            return Ok(());
        }
        let mut queues: HashMap<u32, Queue> = HashMap::new();
        for (_, rank, tag, _) in sent.iter().filter(|envelope| any.contains(&envelope.1)) {
            queues.entry(*rank).or_default().push(*tag);
        }
        for at in list {
            let (_, rank, tag, number) = received[*at];
            if any.contains(&rank) {
                let taken = queues.get_mut(&rank).and_then(|queue| queue.take(tag));
                received[*at].2 = taken.ok_or_else(|| self.never_comes(number))?;
            }
        }
        Ok(())
    }
}

/// The number of messages of each rank that no receive names, by tag and, under [`ANY`], in total.
#[derive(Default)]
struct Left(HashMap<u32, BTreeMap<u32, i64>>);

impl Left {
    fn count(&mut self, tag: u32, rank: u32, n: i64) {
        let mut add = |key: u32| {
            let ranks = self.0.entry(key).or_default();
            let own = ranks.entry(rank).or_default();
            *own += n;
            if *own == 0 {
                ranks.remove(&rank);
            }
        };
        add(ANY);
        if tag != ANY {
            add(tag);
        }
    }

    /// The first two ranks that have messages with this tag left.
    fn of(&self, tag: u32) -> (Option<u32>, Option<u32>) {
        let mut ranks = self.0.get(&tag).into_iter().flatten().filter(|(_, n)| **n > 0).map(|(rank, _)| *rank);
        (ranks.next(), ranks.next())
    }
}

/// Messages of one rank to another, in order.
#[derive(Default)]
struct Queue {
    all: Vec<(u32, bool)>,
    first: usize,
    by_tag: HashMap<u32, VecDeque<usize>>,
}

impl Queue {
    fn push(&mut self, tag: u32) {
        self.by_tag.entry(tag).or_default().push_back(self.all.len());
        self.all.push((tag, false));
    }

    /// Takes the first with a tag, or the first of all; returns its tag.
    fn take(&mut self, tag: u32) -> Option<u32> {
        if tag == ANY {
            while let Some((tag, taken)) = self.all.get_mut(self.first) {
                self.first += 1;
                if !*taken {
                    *taken = true;
                    return Some(*tag);
                }
            }
            return None;
        }
        let own = self.by_tag.get_mut(&tag)?;
        while let Some(at) = own.pop_front() {
            if let Some((_, taken)) = self.all.get_mut(at).filter(|(_, taken)| !taken) {
                *taken = true;
                return Some(tag);
            }
        }
        None
    }
}
