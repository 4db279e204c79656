//! The transfers of an exchange in progress, phase by phase, and its row.

use super::{At, Job, State};
use crate::model::packet::HostId;
use crate::record::{CollectiveRow, Release, TransferRow};
use crate::units::Bytes;
use crate::workload::flow_spec::FlowSpec;
use crate::workload::job::transfer::Transfer;
use crate::workload::job::tree::Tree;
use crate::workload::job::{Exchange, Routing, Software, Work, experts};
use crate::workload::{Due, Group};
use backwater_engine::{Time, rng};
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// An exchange in progress.
#[derive(serde::Serialize, serde::Deserialize)]
pub(super) struct Active {
    start: Time,
    /// Transfers over the network that are not complete.
    left: u64,
    transfers: u64,
    /// \[bytes\] over the network; then bytes within servers or to the sender itself.
    bytes: u64,
    kept: u64,
    /// \[bytes\] on the wire, by host, out of it and into it.
    loads: BTreeMap<HostId, (u64, u64)>,
    /// With phases, per rank: phases begun and sent.
    ranks: Vec<(u32, u32)>,
    /// With phases and a message latency: when members received what they have not passed on, by member and phase.
    received: BTreeMap<(u32, u32), Time>,
    /// With a tree, per transfer: how many others it waits for.
    waits: Vec<u32>,
    /// While software prepares its first messages: what released them.
    prepares: Option<Release>,
    /// Its first messages are being sent: they began with it.
    first: bool,
}

/// A message for the network.
#[derive(Clone, Copy, serde::Serialize, serde::Deserialize)]
pub(super) struct Message {
    group: u32,
    src: HostId,
    dst: HostId,
    /// \[bytes\] of payload.
    bytes: u64,
}

/// A transfer in the network: what its row needs, and its flow's number does not tell.
#[derive(serde::Serialize, serde::Deserialize)]
pub(super) struct InProgress {
    from: u32,
    to: u32,
    bytes: u64,
    start: Time,
    /// `None`: the start of the job.
    release: Option<Box<Release>>,
}

impl Job {
    pub(super) fn begin_exchange(&mut self, at: At, exchange: &Exchange, after: &Release, now: Time, due: &mut Due) {
        let n = self.members(at).len() as u32;
        let phases = exchange.phases(n);
        let ranks = if phases > 0 { vec![(0, 0); n as usize] } else { Vec::new() };
        let (left, transfers, bytes, kept, loads) = (0, 0, 0, 0, BTreeMap::new());
        let waits = exchange.tree(n).map_or_else(Vec::new, Tree::waits);
        let latency = self.software(at).latency;
        let prepares = (latency > Time::ZERO).then(|| after.clone());
        self.put(
            at,
            Box::new(Active {
                start: now,
                left,
                transfers,
                bytes,
                kept,
                loads,
                ranks,
                received: BTreeMap::new(),
                waits,
                prepares,
                first: true,
            }),
        );
        if latency > Time::ZERO {
            return self.later.push(Reverse((now.after(latency), at, false)));
        }
        self.send_first(at, after, now, due);
    }

    /// The costs of a task in software.
    fn software(&self, at: At) -> Software {
        self.spec.steps[self.plan.tasks[at.task as usize].step as usize].software
    }

    /// Returns what released an exchange whose first messages are now prepared.
    pub(super) fn prepared(&mut self, at: At) -> Option<Release> {
        match self.state(at) {
            Some(State::Active(active)) => active.prepares.take(),
            _ => None,
        }
    }

    /// Sends the first messages of an exchange.
    pub(super) fn send_first(&mut self, at: At, after: &Release, now: Time, due: &mut Due) {
        let Work::Exchange(exchange) = self.work(at).clone() else { return };
        self.begin_transfers(at, &exchange, after, now, due);
        if let Some(State::Active(active)) = self.state(at) {
            active.first = false;
        }
        self.finish(at, after, now, due);
    }

    fn begin_transfers(&mut self, at: At, exchange: &Exchange, after: &Release, now: Time, due: &mut Due) {
        let n = self.members(at).len() as u32;
        let phases = exchange.phases(n);
        if phases > 0 {
            // A phase of every rank, so that the remainder is known before the first is complete.
            self.expect(at, u64::from(n) * u64::from(phases));
            return (0..n).for_each(|rank| self.go_on(at, exchange, rank, after, now, due));
        }
        if let Some(tree) = exchange.tree(n) {
            self.expect(at, tree.transfers());
            let waits = tree.waits();
            let edges = (0..tree.numbers()).filter(|index| index % u64::from(n) != 0);
            let first: Vec<u64> = edges.filter(|index| waits.get(*index as usize) == Some(&0)).collect();
            return self.go_on_in_tree(at, tree, first, after, now, due);
        }
        let all = match *exchange {
            Exchange::Drawn { choice, fan_out, with_self, bytes, in_all } => {
                let task = &self.plan.tasks[at.task as usize];
                let name = format!("receivers/{}/{}/{}", self.spec.stream, task.step, task.communicator);
                let mut rng = rng::stream(self.seed, &name, self.turn(at));
                let drawn = experts::draw(&mut rng, choice, n, fan_out, with_self);
                self.drawn(at, &drawn, bytes, in_all)
            }
            Exchange::Routed { ref routing, bytes, back } => self.routed(at, routing, bytes, back),
            _ => exchange.direct(n),
        };
        self.expect(at, all.len() as u64);
        all.into_iter().for_each(|transfer| {
            self.transfer(at, transfer, after, (now, now), due);
        });
    }

    /// So many transfers of an exchange are to come.
    fn expect(&mut self, at: At, transfers: u64) {
        if let Some(State::Active(active)) = self.state(at) {
            active.left = transfers;
        }
    }

    fn put(&mut self, at: At, active: Box<Active>) {
        if let Some(state) = self.state(at) {
            *state = State::Active(active);
        }
    }

    /// The transfers to drawn receivers. The total of a rank is split evenly among receivers outside its server.
    fn drawn(&self, at: At, drawn: &[Vec<u32>], bytes: u64, in_all: bool) -> Vec<Transfer> {
        let ranks = self.members(at);
        let fan_out = drawn.first().map_or(0, Vec::len) as u64;
        let mut all = Vec::new();
        for (from, to) in (0u32..).zip(drawn) {
            let away = |to: &u32| self.spec.server(ranks[*to as usize]) != self.spec.server(ranks[from as usize]);
            let shares = to.iter().filter(|to| away(to)).count() as u64;
            let mut turn = 0;
            for (index, to) in (0u64..).zip(to) {
                let mut size = bytes;
                if in_all && away(to) {
                    let end = |part: u64| (u128::from(bytes) * u128::from(part) / u128::from(shares)) as u64;
                    size = end(turn + 1) - end(turn);
                    turn += 1;
                } else if in_all {
                    size = 0;
                }
                all.push(Transfer { index: u64::from(from) * fan_out + index, from, to: *to, bytes: size });
            }
        }
        all
    }

    /// The transfers of tokens to their experts, or back.
    fn routed(&self, at: At, routing: &Routing, bytes: u64, back: bool) -> Vec<Transfer> {
        let communicator = self.plan.tasks[at.task as usize].communicator;
        let servers: Vec<u32> = self.members(at).iter().map(|rank| self.spec.server(*rank)).collect();
        let n = servers.len() as u64;
        let stream = |what: &str, turn: u64| {
            rng::stream(self.seed, &format!("{what}/{}/{}/{communicator}", self.spec.stream, routing.step), turn)
        };
        let copies = routing.draw(&mut stream("popular", 0), &mut stream("tokens", self.turn(at)), &servers);
        let transfer = |(index, copies): (u64, u32)| {
            let (sender, receiver) = ((index / n) as u32, (index % n) as u32);
            let (from, to) = if back { (receiver, sender) } else { (sender, receiver) };
            Transfer { index, from, to, bytes: bytes.saturating_mul(copies.into()) }
        };
        (0u64..).zip(copies).filter(|(_, copies)| *copies > 0).map(transfer).collect()
    }

    /// Begins a transfer that `after` released, whose data was there at `ready`. Returns whether it is complete at once, since it does not
    /// use the network.
    fn transfer(
        &mut self,
        at: At,
        transfer: Transfer,
        after: &Release,
        (ready, now): (Time, Time),
        due: &mut Due,
    ) -> bool {
        let ranks = self.members(at);
        let (from, to) = (ranks[transfer.from as usize], ranks[transfer.to as usize]);
        let (src, dst, local) =
            (self.host(at, from), self.host(at, to), self.spec.server(from) == self.spec.server(to));
        let (group, id) = (self.group_of(at), self.flow_id(at, transfer.index));
        let step = self.plan.tasks[at.task as usize].step as usize;
        let software = self.software(at);
        let carried = software.carried(transfer.bytes);
        let wire = self.links.packets[step].on_wire(carried);
        let mut start = now;
        if let Some(State::Active(active)) = self.state(at) {
            start = if active.first { active.start } else { now };
            if local {
                (active.kept, active.left) = (active.kept + transfer.bytes, active.left - 1);
                return true;
            }
            (active.transfers, active.bytes) = (active.transfers + 1, active.bytes + transfer.bytes);
            active.loads.entry(src).or_default().0 += wire;
            active.loads.entry(dst).or_default().1 += wire;
        }
        if self.has_rows {
            let release = (*after != Release::default()).then(|| Box::new(after.clone()));
            self.in_progress.insert(id, InProgress { from, to, bytes: transfer.bytes, start, release });
        }
        let message = Message { group, src, dst, bytes: carried };
        match ready.after(software.message_latency) {
            enters if enters <= now => due.flows.push(self.flow(id, message)),
            enters => _ = self.held.insert((enters, id), message),
        }
        false
    }

    /// The flow of a message; the caller knows when it starts.
    pub(super) fn flow(&self, id: u64, Message { group, src, dst, bytes }: Message) -> FlowSpec {
        let (class, ect) = (self.spec.class, self.spec.ect);
        let (start, path, ack_path, stream) = (Time::ZERO, None, None, None);
        FlowSpec { id, group, src, dst, bytes, start, class, ect, path, ack_path, link: None, stream }
    }

    /// The row of a transfer.
    pub(super) fn transfer_row(&self, flow: u64, transfer: &InProgress, end: Option<Time>) -> TransferRow {
        let (at, index) = self.task_of((flow >> 40) as u32, flow & (Group::MOST_FLOWS - 1));
        let (task, ranks) = (&self.plan.tasks[at.task as usize], self.members(at).len() as u32);
        let numbered = |exchange: &Exchange| exchange.phases(ranks) > 0 || exchange.tree(ranks).is_some();
        let phases = matches!(self.work(at), Work::Exchange(exchange) if numbered(exchange));
        TransferRow {
            flow,
            job: Arc::clone(&self.spec.label),
            step: Arc::clone(&self.spec.steps[task.step as usize].label),
            instance: at.instance,
            round: at.round,
            communicator: task.communicator,
            phase: if phases { (index / u64::from(ranks)) as u32 } else { 0 },
            src_rank: transfer.from,
            dst_rank: transfer.to,
            src: self.host(at, transfer.from),
            dst: self.host(at, transfer.to),
            bytes: transfer.bytes,
            start: transfer.start,
            end,
            release: transfer.release.as_deref().cloned().unwrap_or_default(),
        }
    }

    /// The host of a rank.
    fn host(&self, at: At, rank: u32) -> HostId {
        let first = u64::from(at.instance) * u64::from(self.spec.ranks);
        self.spec.hosts[(first + u64::from(rank)) as usize]
    }

    /// Begins the phases of a rank that may begin.
    fn go_on(&mut self, at: At, exchange: &Exchange, rank: u32, after: &Release, now: Time, due: &mut Due) {
        let n = self.members(at).len() as u32;
        let mut look = VecDeque::from([rank]);
        while let Some(rank) = look.pop_front() {
            let Some(State::Active(active)) = self.state(at) else { return };
            let (begun, sent) = active.ranks[rank as usize];
            let before = |phase: u32| exchange.from(n, rank, phase - 1);
            let received = begun == 0 || active.ranks[before(begun) as usize].1 >= begun;
            if begun > sent || begun == exchange.phases(n) || !received {
                continue;
            }
            active.ranks[rank as usize].0 += 1;
            // Software prepares a message while the one before it is sent.
            let ready = begun.checked_sub(1).and_then(|phase| active.received.remove(&(rank, phase))).unwrap_or(now);
            let transfer = exchange.transfer(n, rank, begun);
            if self.transfer(at, transfer, after, (ready, now), due) {
                self.sent(at, rank, transfer.to, begun, now);
                look.extend([rank, transfer.to]);
            }
        }
    }

    /// A member has sent a phase, and its receiver has it.
    fn sent(&mut self, at: At, member: u32, to: u32, phase: u32, now: Time) {
        let notes = self.software(at).message_latency > Time::ZERO;
        let Some(State::Active(active)) = self.state(at) else { return };
        if let Some((_, sent)) = active.ranks.get_mut(member as usize) {
            *sent += 1;
            if notes {
                active.received.insert((to, phase), now);
            }
        }
    }

    /// Begins transfers of a tree, and those that wait for them if they are complete at once.
    fn go_on_in_tree(&mut self, at: At, tree: Tree, ready: Vec<u64>, after: &Release, now: Time, due: &mut Due) {
        let mut ready = VecDeque::from(ready);
        while let Some(index) = ready.pop_front() {
            if self.transfer(at, tree.transfer(index), after, (now, now), due) {
                ready.extend(self.next_in_tree(at, tree, index));
            }
        }
    }

    /// The transfers of a tree that one has released, as their last condition.
    fn next_in_tree(&mut self, at: At, tree: Tree, index: u64) -> Vec<u64> {
        let Some(State::Active(active)) = self.state(at) else { return Vec::new() };
        let mut next = tree.then(index);
        next.retain(|index| {
            active.waits.get_mut(*index as usize).is_some_and(|waits| {
                *waits -= 1;
                *waits == 0
            })
        });
        next
    }

    /// Completes an exchange without transfers left; `after`: the last of them.
    fn finish(&mut self, at: At, after: &Release, now: Time, due: &mut Due) {
        let Some(State::Active(active)) = self.state(at) else { return };
        if active.left > 0 {
            return;
        }
        let Some(state) = self.state(at) else { return };
        if let State::Active(active) = std::mem::replace(state, State::Complete) {
            due.rows.collectives.push(self.row(at, &active, Some(now)));
        }
        self.complete(at, after, now, due);
    }

    pub(super) fn row(&self, at: At, active: &Active, end: Option<Time>) -> CollectiveRow {
        let task = &self.plan.tasks[at.task as usize];
        let ranks = self.spec.steps[task.step as usize].communicators[task.communicator as usize].len() as u32;
        let Work::Exchange(exchange) = self.work(at) else { unreachable!("computations have no rows") };
        let packet = &self.links.packets[task.step as usize];
        let time = |(host, (out, into)): (&HostId, &(u64, u64))| {
            let rate = self.links.rates[host.0 as usize];
            let (more, than) = packet.overrun(packet.shortest(Bytes::ZERO, None), rate);
            Time((u128::from(rate.time_for(Bytes(*out.max(into))).0) * u128::from(than) / u128::from(more)) as u64)
        };
        let (size, bus) = exchange.quoted(ranks, active.bytes, active.kept);
        CollectiveRow {
            job: Arc::clone(&self.spec.label),
            step: Arc::clone(&self.spec.steps[task.step as usize].label),
            kind: exchange.kind(),
            algorithm: exchange.algorithm(),
            group: self.group_of(at),
            instance: at.instance,
            round: at.round,
            communicator: task.communicator,
            ranks,
            start: active.start,
            end,
            transfers: active.transfers,
            bytes: active.bytes,
            size_bytes: size,
            bus_bytes: bus,
            bound: active.loads.iter().map(time).max().unwrap_or(Time::ZERO),
        }
    }

    /// Completions of this instant release phases and tasks.
    pub(super) fn settle(&mut self, now: Time, due: &mut Due) {
        let mut done = std::mem::take(&mut self.done);
        done.sort_unstable();
        for &(at, rank, phase) in &done {
            let n = self.members(at).len() as u32;
            let to = match self.work(at) {
                Work::Exchange(exchange) if exchange.phases(n) > 0 => exchange.transfer(n, rank, phase).to,
                _ => rank,
            };
            if let Some(State::Active(active)) = self.state(at) {
                active.left -= 1;
            }
            self.sent(at, rank, to, phase, now);
        }
        for (at, rank, phase) in done {
            let Work::Exchange(exchange) = self.work(at).clone() else { continue };
            let n = self.members(at).len() as u32;
            let flow = self.flow_id(at, u64::from(phase) * u64::from(n) + u64::from(rank));
            let after = Release { flow: Some(flow), computed: None };
            if let Some(transfer) = self.in_progress.remove(&flow) {
                due.rows.transfers.push(self.transfer_row(flow, &transfer, Some(now)));
            }
            if let Some(tree) = exchange.tree(n) {
                let index = u64::from(phase) * u64::from(n) + u64::from(rank);
                let next = self.next_in_tree(at, tree, index);
                self.go_on_in_tree(at, tree, next, &after, now, due);
            } else if exchange.phases(n) > 0 {
                let to = exchange.transfer(n, rank, phase).to;
                [rank, to].into_iter().for_each(|rank| self.go_on(at, &exchange, rank, &after, now, due));
            }
            self.finish(at, &after, now, due);
        }
    }
}
