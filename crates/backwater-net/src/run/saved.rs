//! Saves a run in progress, and resumes it in a network that was built from the same scenario, or from one with other parameters of
//! mechanisms: these apply from then on.
//!
//! Only the number of flows that a source has yielded is saved: the source is drawn again up to it.

use super::parallel::Parallel;
use super::{Actors, Network, SLICE};
use crate::model::hooks::FlowShape;
use crate::model::host::flow::{Controller, NO_FLOW};
use crate::model::port::pause::PauseRequest;
use crate::model::switch::Switch;
use crate::record::{Broken, Progress, Sink};
use backwater_engine::state::{Loader, Saver, State, Unfit};
use backwater_engine::{Time, state};
use std::any::TypeId;
use std::collections::HashMap;

/// Why a run on several threads cannot be saved.
const SEVERAL: &str = "a run on several threads cannot be saved";

impl<A: Actors> Network<A> {
    /// Handles up to `budget` events that are not after `until`. Returns also whether none of these is left: then the run can be saved.
    ///
    /// # Errors
    /// A broken promise ends the run.
    pub fn run_until(&mut self, until: Time, budget: u64, sink: &mut dyn Sink) -> Result<(Progress, bool), Broken> {
        let reached = self.advance_until(until, budget, sink)?;
        Ok((self.progress(), reached))
    }

    /// As [`Network::run_until`], without the progress, which takes a look at every port.
    pub(super) fn advance_until(&mut self, until: Time, budget: u64, sink: &mut dyn Sink) -> Result<bool, Broken> {
        let (mut left, mut reached) = (budget, false);
        while left > 0 && !reached && !self.world.totals.stopped {
            let slice = left.min(SLICE);
            left -= slice;
            reached = self.slice_until(until, slice);
            self.world.fabric.routes.take_work();
            self.world.rows.emit(sink);
        }
        match self.world.totals.broken.take() {
            Some(broken) => Err(broken),
            None => Ok(reached),
        }
    }

    /// Handles them one by one, since each may add others before the next. Returns whether the next one is later.
    fn slice_until(&mut self, until: Time, slice: u64) -> bool {
        for _ in 0..slice {
            if self.jobs_are_starting() && !self.start_jobs_flows() {
                return false;
            }
            if self.waits_for_caller() {
                return true;
            }
            if self.world.queue.fill() && self.wide {
                self.fetch_ahead();
            }
            if self.world.queue.at_least().is_some_and(|(next, _)| next > until) {
                return true;
            }
            self.run_slice(1);
            if self.world.totals.stopped || self.enough_routes() {
                return false;
            }
        }
        false
    }
}

impl<A> Network<A>
where
    A: Actors,
    A::Switch: State,
    A::Nic: State,
    A::Flow: State,
    A::Shared: State,
{
    fn message_types(&self) -> Vec<TypeId> {
        [TypeId::of::<()>(), PauseRequest::MESSAGE].into_iter().chain(self.actors.messages()).collect()
    }

    /// Returns its state, for [`Network::load`]. All its rows have been handed out.
    ///
    /// # Errors
    /// A part of the state that cannot be saved.
    pub fn save(&self) -> Result<Vec<u8>, Unfit> {
        let mut to = Saver::new(self.message_types());
        if self.world.part.is_some() {
            to.fail(Unfit::new("a part of a run cannot be saved"));
        }
        if self.ports.iter().any(|port| port.rest.captured) {
            to.fail(Unfit::new("a run whose frames are captured cannot be saved"));
        }
        if self.jobs_are_starting() {
            to.fail(Unfit::new("flows of this instant are still to be started"));
        }
        to.put(&(self.world.now, self.world.order));
        self.world.queue.save(&mut to);
        self.world.slab.save(&mut to);
        to.put(&self.world.attachments);
        to.put(&self.world.reports);
        to.put(&self.world.numbers);
        self.world.totals.save(&mut to);
        self.world.probes.save(&mut to);
        self.world.fabric.save(&mut to);
        self.shared.save(&mut to);
        self.ports.save(&mut to);
        self.switches.save(&mut to);
        self.hosts.save(&mut to);
        self.tables.flows.save(&mut to);
        self.save_controllers(&mut to);
        let coming: Vec<bool> = self.coming.iter().map(Option::is_some).collect();
        to.put(&(&self.drawn, coming));
        self.jobs.save(&mut to);
        self.messages.save(&mut to);
        to.put(&(self.awaited.active, &self.sampled_bytes));
        to.finish()
    }

    /// Restores the state of [`Network::save`]. Nothing has happened here yet.
    ///
    /// # Errors
    /// A part that does not fit: the network is unusable then.
    pub fn load(&mut self, octets: &[u8]) -> Result<(), Unfit> {
        let from = &mut Loader::new(octets, self.message_types());
        (self.world.now, self.world.order) = from.take()?;
        self.world.queue.load(from)?;
        self.world.slab.load(from)?;
        self.world.attachments = from.take()?;
        self.world.reports = from.take()?;
        self.world.numbers = from.take()?;
        self.world.totals.load(from)?;
        self.world.probes.load(from)?;
        self.world.fabric.load(from)?;
        self.shared.load(from)?;
        self.ports.load(from)?;
        self.switches.load(from)?;
        self.switches.iter_mut().for_each(Switch::ask_all_levels);
        self.hosts.load(from)?;
        self.tables.flows.load(from)?;
        self.load_controllers(from)?;
        let (drawn, coming): (Vec<u64>, Vec<bool>) = from.take()?;
        self.draw_again(&drawn, &coming)?;
        self.jobs.load(from)?;
        self.messages.load(from)?;
        (self.awaited.active, self.sampled_bytes) = from.take()?;
        std::mem::replace(from, Loader::new(&[], Vec::new())).finish()
    }

    /// Saves controllers with what is needed to create their sides: their shapes, and the mechanisms that leave their flows alone.
    fn save_controllers(&self, to: &mut Saver) {
        let all = &self.tables.controllers;
        let kept: HashMap<u32, u8> = all.kept.iter().map(|((.., left), at)| (*at, *left)).collect();
        state::save_sorted(&all.kept, to);
        to.put(&all.list.len());
        for (at, controller) in (0u32..).zip(&all.list) {
            let made_of = controller.as_ref().map(|of| {
                let own = || self.tables.flows.send.get(of.slot as usize).map(|flow| flow.left);
                (of.shape, kept.get(&at).copied().or_else(own).unwrap_or(0))
            });
            to.put(&made_of);
            controller.iter().for_each(|controller| controller.save(to));
        }
        to.put(&(&all.free, all.tag, &all.activity));
    }

    fn load_controllers(&mut self, from: &mut Loader<'_>) -> Result<(), Unfit> {
        state::load_sorted(&mut self.tables.controllers.kept, from)?;
        let number: usize = from.take()?;
        self.tables.controllers.list.clear();
        for _ in 0..number {
            let controller = match from.take::<Option<(FlowShape, u8)>>()? {
                None => None,
                Some((shape, left)) => {
                    let owners = self.world.rules.confinement.at(left).owners;
                    let side = self.actors.flow(&shape, owners, &self.shared);
                    let side =
                        side.ok_or_else(|| Unfit::new("no mechanism controls a flow that one has controlled"))?;
                    let mut controller = Controller::new(side, shape, 0, 0, 0, NO_FLOW);
                    controller.load(from)?;
                    Some(controller)
                }
            };
            self.tables.controllers.list.push(controller);
        }
        let all = &mut self.tables.controllers;
        (all.free, all.tag, all.activity) = from.take()?;
        Ok(())
    }

    /// Draws from each source the flows that it had yielded; the last one is still to start if it was when saved.
    fn draw_again(&mut self, drawn: &[u64], coming: &[bool]) -> Result<(), Unfit> {
        if drawn.len() != self.sources.len() || coming.len() != self.sources.len() {
            return Err(Unfit::new("there are other sources of flows"));
        }
        for (source, (drawn, comes)) in drawn.iter().zip(coming).enumerate() {
            while self.drawn[source] < *drawn {
                let flow = self.sources[source].next_flow();
                self.coming[source] = Some(flow.ok_or_else(|| Unfit::new("a source of flows ends earlier"))?);
                self.drawn[source] += 1;
            }
            if !comes {
                self.coming[source] = None;
            }
        }
        Ok(())
    }
}

impl<A> Parallel<A>
where
    A: Actors,
    A::Switch: State,
    A::Nic: State,
    A::Flow: State,
    A::Shared: State,
{
    /// As [`Network::run_until`], for a run on one thread.
    ///
    /// # Errors
    /// A broken promise ends the run; a run on several threads cannot stop at a time.
    pub fn run_until(&mut self, until: Time, budget: u64, sink: &mut dyn Sink) -> Result<(Progress, bool), Broken> {
        match &mut self.parts[..] {
            [one] => one.run_until(until, budget, sink),
            _ => Err(Broken { time: Time::ZERO, reason: SEVERAL.into(), hint: "run it on one".into() }),
        }
    }

    /// As [`Network::save`].
    ///
    /// # Errors
    /// A part of the state that cannot be saved, such as a run on several threads.
    pub fn save(&self) -> Result<Vec<u8>, Unfit> {
        match &self.parts[..] {
            [one] => one.save(),
            _ => Err(Unfit::new(SEVERAL)),
        }
    }

    /// As [`Network::load`].
    ///
    /// # Errors
    /// A part that does not fit.
    pub fn load(&mut self, octets: &[u8]) -> Result<(), Unfit> {
        match &mut self.parts[..] {
            [one] => one.load(octets),
            _ => Err(Unfit::new(SEVERAL)),
        }
    }
}
