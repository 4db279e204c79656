//! Jobs: they are told what has been completed, and asked at the end of the same instant what that lets begin.
//!
//! Nothing of this is paid for by a packet: a flow is looked at when its last byte has come and when it ends.

use super::{Actors, Event, Network};
use crate::record::CollectiveRow;
use crate::workload::job::{Dependent, Due, Moment, Rounds};
use backwater_engine::Time;
use std::collections::BTreeSet;

/// The jobs of a run.
#[derive(Default)]
pub(super) struct Jobs {
    list: Vec<Entry>,
    /// Per group of flows: the number of its job, or `NONE`. Empty without jobs.
    of_group: Vec<u32>,
}

struct Entry {
    job: Box<dyn Dependent>,
    moment: Moment,
    /// When it will be asked.
    asked: BTreeSet<Time>,
}

const NONE: u32 = u32::MAX;

impl Jobs {
    pub fn new(jobs: Vec<Box<dyn Dependent>>, groups: usize) -> Jobs {
        if jobs.is_empty() {
            return Jobs::default();
        }
        let mut of_group = vec![NONE; groups];
        for (number, job) in (0u32..).zip(&jobs) {
            job.groups().for_each(|group| of_group[group as usize] = number);
        }
        let entry = |job: Box<dyn Dependent>| Entry { moment: job.moment(), job, asked: BTreeSet::new() };
        Jobs { list: jobs.into_iter().map(entry).collect(), of_group }
    }

    /// Whether one will begin something without anything else happening.
    pub fn wait(&self) -> bool {
        self.list.iter().any(|entry| !entry.asked.is_empty())
    }

    pub fn unfinished(&self) -> impl Iterator<Item = CollectiveRow> + '_ {
        self.list.iter().flat_map(|entry| entry.job.unfinished())
    }

    pub fn rounds(&self) -> impl Iterator<Item = Rounds> + '_ {
        self.list.iter().map(|entry| entry.job.rounds())
    }
}

impl<A: Actors> Network<A> {
    pub(super) fn begin_jobs(&mut self) {
        for job in 0..self.jobs.list.len() as u32 {
            let begins = self.jobs.list[job as usize].job.begins();
            self.ask_job_at(job, begins);
        }
    }

    fn ask_job_at(&mut self, job: u32, at: Time) {
        if self.jobs.list[job as usize].asked.insert(at) {
            self.push(at, Event::Job { job });
        }
    }

    /// A flow has come to a moment that its job may wait for.
    #[inline]
    pub(super) fn tell_job(&mut self, at: usize, moment: Moment) {
        if let Some(&job) = self.jobs.of_group.get(self.flows.send[at].group as usize)
            && job != NONE
        {
            self.completed_for_job(job, at, moment);
        }
    }

    #[cold]
    fn completed_for_job(&mut self, job: u32, at: usize, moment: Moment) {
        let (flow, entry) = (&self.flows.send[at], &mut self.jobs.list[job as usize]);
        if entry.moment == moment {
            entry.job.completed(flow.id, flow.group);
            self.ask_job_at(job, self.now);
        }
    }

    pub(super) fn ask_job(&mut self, job: u32) {
        let mut due = Due::default();
        let entry = &mut self.jobs.list[job as usize];
        entry.asked.remove(&self.now);
        let again = entry.job.due(self.now, &mut due);
        due.flows.iter().for_each(|flow| self.start_flow(flow));
        self.rows.collectives.append(&mut due.rows);
        if let Some(at) = again {
            self.ask_job_at(job, at);
        }
    }
}
