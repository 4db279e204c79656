//! Jobs: they learn of completions, and at the end of the same instant return what can begin.
//!
//! A job with a start latency is called that much later about that instant, and its transfers start at the time of the call. So in a run of
//! several parts each part has all jobs and calls them alike: completions elsewhere have time to arrive.
//!
//! This costs nothing per packet: a flow is examined when its last byte has arrived and when it ends.

use super::view::View;
use super::{Actors, Network};
use crate::model::event::Event;
use crate::model::packet::{NodeId, Port};
use crate::model::part::{Completion, Mail};
use crate::model::probe::Load;
use crate::record::{LoadRow, Row, Rows, Sink};
use crate::spec::FlowSpec;
use crate::workload::{Dependent, Due, Moment, Reached, Rounds};
use backwater_engine::Time;
use backwater_engine::state::{Loader, Saver, Unfit, load_same};
use std::collections::{BTreeMap, VecDeque};

/// The jobs of a run.
#[derive(Default)]
pub(super) struct Jobs {
    list: Vec<Entry>,
    /// Per group of flows: the number of its job, or `NONE`. Empty without jobs.
    of_group: Vec<u32>,
    /// Flows of this instant that are still to be started.
    starting: VecDeque<FlowSpec>,
    /// Memory for what a job returns.
    due: Due,
    /// The job that belongs to the caller of the run, and whether he has something to learn.
    pub caller: Option<u32>,
    pub news: bool,
}

struct Entry {
    job: Box<dyn Dependent>,
    latency: Time,
    /// The source in whose turn of an instant it acts, if it does.
    place: Option<u32>,
    /// Instants for which it will be called, and the moments that flows reached at each.
    asked: BTreeMap<Time, Vec<Reached>>,
}

const NONE: u32 = u32::MAX;

/// Flows whose memory is kept for the next ones.
const FEW: usize = 64;

impl Jobs {
    pub fn new(jobs: Vec<Box<dyn Dependent>>, groups: usize) -> Jobs {
        if jobs.is_empty() {
            return Jobs::default();
        }
        let mut of_group = vec![NONE; groups];
        for (number, job) in (0u32..).zip(&jobs) {
            job.groups().for_each(|group| of_group[group as usize] = number);
        }
        let entry = |job: Box<dyn Dependent>| {
            let (latency, place) = (job.start_latency(), job.place());
            Entry { job, latency, place, asked: BTreeMap::new() }
        };
        let mut list: Vec<Entry> = jobs.into_iter().map(entry).collect();
        let caller = list.iter_mut().position(|entry| entry.job.as_caller().is_some()).map(|at| at as u32);
        Jobs { list, of_group, caller, ..Jobs::default() }
    }

    /// A job by its number.
    pub fn job_mut(&mut self, job: u32) -> &mut dyn Dependent {
        &mut *self.list[job as usize].job
    }

    /// Nobody reads the rows of their transfers.
    pub fn omit_rows(&mut self) {
        self.list.iter_mut().for_each(|entry| entry.job.omit_rows());
    }

    /// Returns whether a job will begin something without any other event.
    pub fn wait(&self) -> bool {
        !self.starting.is_empty() || self.list.iter().any(|entry| !entry.asked.is_empty())
    }

    /// Instants for which jobs will be called.
    pub fn asked(&self) -> usize {
        self.list.iter().map(|entry| entry.asked.len()).sum()
    }

    /// Per group of flows: whether it belongs to a job with steps, which a caller's messages are not. Empty without jobs.
    pub fn of_jobs(&self) -> Vec<bool> {
        self.of_group.iter().map(|job| *job != NONE && Some(*job) != self.caller).collect()
    }

    /// Saves their progress. All flows of this instant have been started.
    pub fn save(&self, to: &mut Saver) {
        to.put(&self.list.len());
        for entry in &self.list {
            entry.job.save(to);
            to.put(&entry.asked);
        }
    }

    /// Restores it.
    pub fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Unfit> {
        load_same(&self.list.len(), from)?;
        for entry in &mut self.list {
            entry.job.load(from)?;
            entry.asked = from.take()?;
        }
        self.news = self.of_caller().is_some_and(|caller| caller.has_news());
        Ok(())
    }

    /// Returns the rows of everything in progress at the end of a run.
    pub fn unfinished(&self) -> Rows {
        let mut rows = Rows::default();
        self.list.iter().for_each(|entry| rows.append(&mut entry.job.unfinished()));
        rows
    }

    pub fn rounds(&self) -> impl Iterator<Item = Rounds> + '_ {
        let jobs = (0u32..).zip(&self.list).filter(|(job, _)| Some(*job) != self.caller);
        jobs.map(|(_, entry)| entry.job.rounds())
    }
}

impl<A: Actors> Network<A> {
    /// Returns whether flows that jobs begin at this instant are still to be started.
    #[inline]
    pub(super) fn jobs_are_starting(&self) -> bool {
        !self.jobs.starting.is_empty()
    }

    pub(super) fn begin_jobs(&mut self) {
        for job in 0..self.jobs.list.len() as u32 {
            let begins = self.jobs.list[job as usize].job.begins();
            if begins != Time::NEVER {
                self.ask_job_about(job, begins, None);
            }
        }
    }

    /// A job will be called for an instant, at which a flow may have reached a moment.
    pub(super) fn ask_job_about(&mut self, job: u32, instant: Time, reached: Option<Reached>) {
        let entry = &mut self.jobs.list[job as usize];
        let at = instant.after(entry.latency);
        if at == Time::NEVER {
            let hint = "shorten the computations, or the waits, of the job";
            return self.world.broken("a job goes on after the last time that there is, 2^64 - 2 ps".into(), hint);
        }
        let before = entry.asked.len();
        entry.asked.entry(instant).or_default().extend(reached);
        if entry.asked.len() > before {
            let event = entry.place.map_or(Event::Job { job }, |source| Event::Call { source });
            self.world.push(at, event);
        }
    }

    /// A flow has reached a moment that its job may wait for.
    #[inline]
    pub(super) fn notify_job(&mut self, at: usize, moment: Moment) {
        let flow = &self.tables.flows.send[at];
        self.notify_job_of(flow.group, flow.id, moment);
    }

    /// A flow of this group and with this identity has reached a moment.
    pub(super) fn notify_job_of(&mut self, group: u32, id: u64, moment: Moment) {
        if let Some(&job) = self.jobs.of_group.get(group as usize)
            && job != NONE
        {
            self.reached_for_job(job, group, id, moment);
        }
    }

    #[cold]
    fn reached_for_job(&mut self, job: u32, group: u32, id: u64, moment: Moment) {
        let entry = &self.jobs.list[job as usize];
        if !entry.job.awaits(id, moment) {
            return;
        }
        let (reached, now) = (Reached { flow: id, group, moment }, self.world.now);
        if let Some(part) = &mut self.world.part {
            let completion = Completion { by: (now, self.world.order), at: now.after(entry.latency), job, reached };
            part.post_to_all(|| Mail::Completed(completion));
        }
        self.ask_job_about(job, now, Some(reached));
    }

    /// A flow has reached a moment in another part.
    pub(super) fn completed_elsewhere(&mut self, completion: Completion) {
        let Completion { by, job, reached, .. } = completion;
        self.ask_job_about(job, by.0, Some(reached));
    }

    pub(super) fn ask_job(&mut self, job: u32) {
        let Jobs { list, starting, due, .. } = &mut self.jobs;
        let entry = &mut list[job as usize];
        let Some((instant, reached)) = entry.asked.pop_first() else { return };
        reached.into_iter().for_each(|one| entry.job.completed(one.flow, one.group, one.moment));
        let again = entry.job.due(instant, due);
        if due.flows.len() <= FEW {
            starting.extend(due.flows.drain(..));
        } else if starting.is_empty() {
            *starting = std::mem::take(&mut due.flows).into();
        } else {
            starting.extend(std::mem::take(&mut due.flows));
        }
        self.world.rows.append(&mut due.rows);
        if let Some(instant) = again {
            self.ask_job_about(job, instant, None);
        }
        while !self.start_jobs_flows() && self.world.part.is_some() {
            // Slices belong to a run without parts.
            self.world.fabric.routes.take_work();
        }
    }

    /// Starts the flows that jobs have begun; the rest follows in the next slice if finding routes takes long. Returns whether all have
    /// started.
    #[cold]
    pub(super) fn start_jobs_flows(&mut self) -> bool {
        while !self.enough_routes() {
            let Some(flow) = self.jobs.starting.pop_front() else {
                // The memory of all flows of a large job.
                if self.jobs.starting.capacity() > FEW {
                    self.jobs.starting = VecDeque::new();
                }
                return true;
            };
            self.start_flow(&flow);
        }
        self.jobs.starting.is_empty()
    }
}

impl<A: Actors> View<'_, A> {
    /// Hands out the loads of jobs' steps on links.
    pub(super) fn emit_loads(&self, sink: &mut dyn Sink) {
        let first_part = &self.parts[0];
        if !first_part.world.probes.loads.count() {
            return;
        }
        let (fabric, jobs) = (&first_part.world.fabric, &first_part.jobs);
        for (node, first) in fabric.first_port.iter().enumerate() {
            for (local, (peer, _)) in fabric.neighbours[node].iter().enumerate() {
                let number = first + local as u32;
                let loads = self.part_of_port(number).world.probes.loads.at(number as usize);
                for (group, &Load { frames, bytes, payload }) in loads.filter(|(_, load)| load.frames > 0) {
                    let (node, port, peer) = (NodeId(node as u32), Port(local as u16), NodeId(*peer));
                    let (job, step) = jobs.list[jobs.of_group[group as usize] as usize].job.labels(group);
                    sink.row(Row::Load(&LoadRow { job, step, node, port, peer, frames, bytes, payload }));
                }
            }
        }
    }
}
