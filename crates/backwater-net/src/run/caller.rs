//! The program that runs the network, as a source of messages ([`Caller`]): it sends them between two calls of
//! [`Network::run_for_caller`], which returns whenever it has something to learn.

use super::parallel::Parallel;
use super::{Actors, Network};
use crate::model::packet::{NodeId, Port as PortNo};
use crate::record::{Broken, PortRow, Sink};
use crate::workload::Moment;
use crate::workload::caller::{Caller, Halt, Message, Told};
use backwater_engine::Time;

impl<A: Actors> Network<A> {
    /// Sends a message of the caller. Returns its number, or `None` if no [`Caller`] is among the jobs.
    ///
    /// The message starts at its time, or at the time of the run if that is later.
    pub fn send(&mut self, message: Message) -> Option<u64> {
        let job = self.jobs.caller?;
        let message = Message { start: message.start.max(self.world.now), ..message };
        let (number, first) = self.jobs.of_caller()?.send(message);
        if first {
            self.ask_job_about(job, message.start, None);
        }
        Some(number)
    }

    /// Handles up to `budget` events that are not after `until`, and stops as soon as it waits for its caller.
    ///
    /// # Errors
    /// A broken promise ends the run.
    pub fn run_for_caller(&mut self, until: Time, budget: u64, sink: &mut dyn Sink) -> Result<Halt, Broken> {
        let reached = self.advance_until(until, budget, sink)?;
        if self.jobs.news {
            return Ok(Halt::Told);
        }
        if self.world.totals.stopped {
            return Ok(Halt::Ended);
        }
        if !reached || self.lives() {
            return Ok(if reached { Halt::Reached } else { Halt::More });
        }
        if self.tables.flows.active > self.messages.extra {
            self.nothing_comes_to_caller();
        }
        self.world.totals.broken.take().map_or(Ok(Halt::Idle), Err)
    }

    /// Appends the moments of the caller's messages since the last call, in their order.
    pub fn take_told(&mut self, into: &mut Vec<Told>) {
        if let Some(caller) = self.jobs.of_caller() {
            caller.take(into);
        }
        self.jobs.news = false;
    }

    /// Messages of the caller so far, and those of them that have not ended.
    pub fn sent_and_open(&mut self) -> (u64, u64) {
        self.jobs.of_caller().map_or((0, 0), |caller| caller.counts())
    }

    /// Returns whether the run waits for its caller: he has something to learn, or nothing happens any more until he sends.
    pub(super) fn waits_for_caller(&self) -> bool {
        self.jobs.news || self.jobs.caller.is_some() && !self.lives()
    }

    /// The caller sends nothing more. A run in which nothing else is pending has ended.
    pub fn dismiss_caller(&mut self) {
        if self.jobs.caller.is_some() && !self.lives() && !self.world.totals.stopped {
            self.nothing_pending();
        }
    }

    /// The turn of the caller's messages.
    pub(super) fn ask_caller(&mut self) {
        let Some(job) = self.jobs.caller else { return };
        self.ask_job(job);
        self.jobs.news = self.jobs.of_caller().is_some_and(|caller| caller.has_news());
    }

    /// An interface has taken the last byte of a flow, or of the message of a connection whose first packet has this offset.
    #[cold]
    pub(super) fn all_sent(&mut self, at: usize, from: u64) {
        let flow = &self.tables.flows.send[at];
        let step = u64::from(self.world.rules.payload);
        let id = match flow.messages() {
            None => Some(flow.id),
            Some(messages) => messages.of(from, step).map(|message| message.id),
        };
        let group = flow.group;
        if let Some(id) = id {
            self.notify_job_of(group, id, Moment::Sent);
        }
    }
}

impl<A: Actors> Parallel<A> {
    /// As [`Network::send`].
    pub fn send(&mut self, message: Message) -> Option<u64> {
        self.parts[0].send(message)
    }

    /// As [`Network::run_for_caller`].
    ///
    /// # Errors
    /// A broken promise ends the run.
    pub fn run_for_caller(&mut self, until: Time, budget: u64, sink: &mut dyn Sink) -> Result<Halt, Broken> {
        self.parts[0].run_for_caller(until, budget, sink)
    }

    /// As [`Network::take_told`].
    pub fn take_told(&mut self, into: &mut Vec<Told>) {
        self.parts[0].take_told(into);
    }

    /// As [`Network::sent_and_open`].
    pub fn sent_and_open(&mut self) -> (u64, u64) {
        self.parts[0].sent_and_open()
    }

    /// As [`Network::dismiss_caller`].
    pub fn dismiss_caller(&mut self) {
        self.parts[0].dismiss_caller();
    }

    /// The totals of a port until now; `None`: there is no such port.
    pub fn port_row(&self, node: NodeId, port: PortNo) -> Option<PortRow> {
        self.view().port_row(node, port)
    }
}

impl super::jobs::Jobs {
    /// The caller's messages.
    pub(super) fn of_caller(&mut self) -> Option<&mut Caller> {
        self.job_mut(self.caller?).as_caller()?.downcast_mut()
    }
}
