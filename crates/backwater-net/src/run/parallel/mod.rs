//! A run on several threads: a network in parts, each of which handles the events of some leaves and their hosts.
//!
//! The outcome is that of one thread: the same fingerprint, totals, rows and order of rows. `partition` assigns nodes to parts, parts meet
//! at `board`, `step` is the work of a part between two meetings, `rows` orders their rows, and `why` decides which runs cannot be split.
//! If a part lacks information that nobody foresaw, the attempt ends: the run restarts on one thread, and hands out nothing twice.

mod board;
mod crew;
mod ending;
mod partition;
mod rows;
mod step;
mod why;

use super::deadlock::broken_by;
use super::sample::Sample;
use super::view::View;
use super::{Actors, Network, SLICE};
use crate::model::event::Event;
use crate::model::packet::{NodeId, Port as PortNo};
use crate::model::part::{Half, Key, NEVER, Ownership, Part};
use crate::model::world::{LOOK, Observed};
use crate::record::{Broken, Deadlock, FirstDrop, Progress, Sink};
use crate::spec::Spec;
use crate::workload::Rounds;
use backwater_engine::Time;
use board::Board;
use crew::Crew;
use rows::{Handed, Merge, Skip};
use std::sync::Arc;
use std::thread;

/// A run, on one thread or several.
pub struct Parallel<A: Actors> {
    /// One network, unless it is split.
    pub(super) parts: Vec<Network<A>>,
    split: Option<Split<A>>,
    why_one: Option<String>,
    /// Rows that were handed out before the run restarted.
    skip: Handed,
}

/// Data of the parts' run beside the parts.
struct Split<A: Actors> {
    /// The spec, for a restart.
    spare: Spec<A>,
    owners: Arc<Ownership>,
    board: Arc<Board>,
    /// Its threads, from the first stretch on.
    crew: Option<Crew<A>>,
    merge: Merge,
    stop_at: Option<Time>,
    /// The instant of the next sample, or [`Time::NEVER`].
    sample_at: Time,
    /// As in [`crate::model::world::Totals`], of the whole run.
    now: Time,
    observed: Observed,
    stopped: bool,
    at_rest: bool,
    deadlock: Option<Deadlock>,
    broken: Option<Broken>,
    /// The stretch in progress. It outlives slices, since rows are handed out at its end.
    stretch: Option<Stretch>,
    /// The length of stretches: one has about as many events as a slice.
    span: Time,
    /// A thread could not be started.
    unable: bool,
}

/// A stretch of time whose end all parts reach.
#[derive(Clone, Copy)]
struct Stretch {
    /// It ends before this.
    until: Key,
    /// The deadlock check that is due at its end, if any.
    look: Time,
    /// Events of it so far.
    events: u64,
}

/// Ends the stretch for all parts when one of them panics: the others would wait for it forever.
struct Alarm<'a>(&'a Board);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop();
        }
    }
}

impl<A: Actors> Split<A> {
    /// The time is that of an observer.
    fn observed(&mut self, at: Time) {
        self.observed.look(self.now, at);
        self.now = at;
    }
}

/// The key of a sample's event.
fn sample_key(at: Time) -> Key {
    (at, Event::Sample.order())
}

/// Events of a stretch from which on its begin and end take no time to speak of. Ended flows keep their memory until its end.
const ENOUGH: u64 = 1 << 18;

/// The shortest stretch.
const SHORTEST: Time = Time::us(1);

impl<A> Parallel<A>
where
    A: Actors + Send + Sync + 'static,
    A::Switch: Send,
    A::Nic: Send,
    A::Flow: Send,
    A::Shared: Send,
{
    /// Builds it for at most `threads` threads. `make` returns the same spec at every call: one for each part, and one more for a restart.
    ///
    /// # Errors
    /// Errors of `make`, or an impossible spec.
    pub fn new<E: From<String>>(
        threads: usize,
        mut make: impl FnMut() -> Result<Spec<A>, E>,
    ) -> Result<Parallel<A>, E> {
        let mut spec = make()?;
        let (many, stop_at) = (threads > 1, spec.stop_at);
        let sample_at = spec.series.as_ref().map_or(Time::NEVER, |series| series.interval);
        let fabric = Network::fabric(&mut spec)?;
        let mut run = Parallel { parts: Vec::new(), split: None, why_one: None, skip: Handed::default() };
        if !many {
            run.parts.push(Network::build(spec, fabric, None)?);
            return Ok(run);
        }
        let facts = Arc::new(fabric.facts(spec.packet.clock));
        let (owners, parts) = partition::partition(&fabric, threads);
        let start_latency = spec.jobs.iter().map(|job| job.start_latency()).min();
        let distances = partition::distances(&facts, &owners, parts, start_latency);
        run.why_one = why::one_thread(&spec, &fabric.graph);
        let (owners, latencies) = (Arc::new(owners), spec.switches.iter().map(|params| params.latency).collect());
        let latencies = Arc::new(latencies);
        let part = |me| Part::new(me, parts, Arc::clone(&owners), Arc::clone(&facts), Arc::clone(&latencies));
        if run.why_one.is_none() {
            let first = Network::build(spec, fabric.clone(), Some(part(0)))?;
            run.why_one = first
                .why_not_split_at_first()
                .or_else(|| (parts == 1).then(|| partition::undivided(&fabric).into()))
                .or_else(|| distances.is_none().then(|| "a link between its parts takes no time".into()));
            run.parts.push(first);
            spec = make()?;
        }
        let Some(distances) = distances.filter(|_| run.why_one.is_none()) else {
            run.parts = vec![Network::build(spec, fabric, None)?];
            return Ok(run);
        };
        for me in 1..parts {
            run.parts.push(Network::build(spec, fabric.clone(), Some(part(me)))?);
            spec = make()?;
        }
        run.split = Some(Split {
            spare: spec,
            owners,
            board: Arc::new(Board::new(distances)),
            crew: None,
            merge: Merge::default(),
            stop_at,
            sample_at,
            now: Time::ZERO,
            observed: Observed::default(),
            stopped: false,
            at_rest: false,
            deadlock: None,
            broken: None,
            stretch: None,
            span: SHORTEST,
            unable: false,
        });
        Ok(run)
    }

    /// Handles about `budget` events, as [`Network::run`] does.
    ///
    /// # Errors
    /// A broken promise ends the run.
    pub fn run(&mut self, budget: u64, sink: &mut dyn Sink) -> Result<Progress, Broken> {
        let mut left = budget;
        while left > 0
            && let Some(first) = self.next_key()
        {
            let before = self.sum(|p| p.events);
            let samples = self.split.as_ref().is_some_and(|split| split.sample_at != Time::NEVER);
            if first == NEVER && !samples {
                self.nothing_pending();
                continue;
            }
            let Stretch { until, look, .. } = self.stretch_from(first.0);
            self.stretch(until, left);
            if let Some(why) = self.doubt() {
                self.begin_again(why)?;
                break;
            }
            let events = (self.sum(|p| p.events) - before).max(1);
            left = left.saturating_sub(events);
            self.count(events);
            if self.has_reached() {
                self.emit(sink);
                self.has_stretched(budget);
                if until == sample_key(until.0) && !self.is_stopped() {
                    self.sample();
                } else if (look, 0) < until && !self.is_stopped() {
                    self.look(look);
                }
            }
        }
        if let Some(split) = &mut self.split {
            return match split.broken.take() {
                Some(broken) => Err(broken),
                None => Ok(self.progress()),
            };
        }
        self.parts[0].run(left.max(1), &mut Skip { sink, left: &mut self.skip })
    }

    /// Ends the run here: hands out the rows of unfinished flows and of all ports. A restarted run first advances to the last rows that it
    /// had handed out, since its tables have these.
    ///
    /// # Errors
    /// A broken promise ends the run before it gets there; its rows are handed out all the same.
    pub fn finish(&mut self, sink: &mut dyn Sink) -> Result<(), Broken> {
        if let Some(split) = &self.split
            && !split.stopped
        {
            // All parts reach the same time.
            let now = split.now;
            self.stretch((now, u64::MAX), u64::MAX);
            if let Some(why) = self.doubt() {
                self.begin_again(why)?;
            }
        }
        let Some(split) = &mut self.split else {
            let mut skip = Skip { sink, left: &mut self.skip };
            let caught_up = catch_up(&mut self.parts[0], &mut skip);
            self.parts[0].finish(&mut skip);
            return caught_up;
        };
        split.stopped = true;
        for (part, mails) in self.parts.iter_mut().zip(split.board.take()) {
            mails.into_iter().for_each(|mail| part.deliver(mail));
        }
        self.emit_rest(sink);
        self.emit_unfinished(sink);
        self.parts[0].jobs.unfinished().emit(sink);
        let view = self.view();
        view.emit_totals(self.end(), sink);
        view.emit_loads(sink);
        view.emit_activity(sink);
        Ok(())
    }

    /// The stretch in progress, or a new one that begins with events of `first`.
    fn stretch_from(&mut self, first: Time) -> Stretch {
        let look = self.parts.iter().map(|part| part.world.totals.deadlock_check_at).min().unwrap_or(Time::NEVER);
        let Some(split) = &mut self.split else { return Stretch { until: (first, 0), look, events: 0 } };
        let fresh = || {
            // A request for a check precedes it by that long.
            let until = (look.after(Time(1)).min(first.after(split.span.min(LOOK))), 0);
            Stretch { until: until.min(sample_key(split.sample_at)), look, events: 0 }
        };
        *split.stretch.get_or_insert_with(fresh)
    }

    fn count(&mut self, events: u64) {
        if let Some(stretch) = self.split.as_mut().and_then(|split| split.stretch.as_mut()) {
            stretch.events += events;
        }
    }

    /// A stretch has ended: the next one is longer if the slice has room for more, and shorter if this one was too long.
    fn has_stretched(&mut self, budget: u64) {
        let Some(split) = &mut self.split else { return };
        let Some(stretch) = split.stretch.take() else { return };
        let budget = budget.min(ENOUGH);
        if stretch.events > budget {
            split.span = Time(split.span.0 / 2).max(SHORTEST);
        } else if stretch.events * 4 < budget {
            split.span = Time(split.span.0 * 2).min(LOOK);
        }
    }

    /// Lets parts handle events before `until`, about so many.
    fn stretch(&mut self, until: Key, events: u64) {
        let Some(split) = &mut self.split else { return };
        let stop = split.stop_at.map_or(NEVER, |at| (at, Event::Stop.order() + 1));
        split.board.begin(until.min(stop), events);
        if split.crew.is_none() {
            split.crew = Crew::new(self.parts.len(), &split.board);
        }
        match &mut split.crew {
            Some(crew) => crew.work(&mut self.parts, &split.board),
            None => split.unable = true,
        }
        split.now = self.parts.iter().map(|part| part.world.now).fold(split.now, Time::max);
        split.stopped |= self.parts.iter().any(|part| part.world.totals.stopped) && split.board.reached();
    }

    /// Returns a lower bound of the next event of all parts; `None`: there are no parts, or they have ended.
    fn next_key(&mut self) -> Option<Key> {
        self.split.as_mut().filter(|split| !split.stopped).map(|split| split.board.first())
    }

    fn has_reached(&mut self) -> bool {
        self.split.as_mut().is_some_and(|split| split.board.reached())
    }

    fn is_stopped(&self) -> bool {
        self.split.as_ref().is_some_and(|split| split.stopped)
    }

    /// Returns why it cannot continue in parts.
    fn doubt(&mut self) -> Option<&'static str> {
        if self.split.as_ref().is_some_and(|split| split.unable) {
            return Some("the system starts no more threads");
        }
        if self.has_reached() && self.has_ended_before() {
            return Some("nothing but timers was left to happen");
        }
        self.parts.iter().find_map(|part| {
            let broken = part.world.totals.broken.is_some().then_some("a promise was broken in one part");
            part.world.part.as_ref().and_then(|part| part.doubt).or(broken)
        })
    }

    /// Returns whether only timers were left in every part when one of them checked. All mail of that time has been delivered.
    fn has_ended_before(&mut self) -> bool {
        let parts = || self.parts.iter().filter_map(|part| part.world.part.as_ref());
        let ended = parts().flat_map(|part| &part.ends).any(|key| parts().all(|part| part.was_quiet(*key)));
        for part in self.parts.iter_mut().filter_map(|part| part.world.part.as_mut()) {
            part.ends.clear();
            part.quiets.clear();
        }
        ended
    }

    /// Restarts on one thread.
    fn begin_again(&mut self, why: &str) -> Result<(), Broken> {
        let Some(split) = self.split.take() else { return Ok(()) };
        self.parts.clear();
        self.why_one = Some(format!("{why}; it began again"));
        self.skip = split.merge.handed;
        let broken = |reason| Broken { time: Time::ZERO, reason, hint: String::new() };
        self.parts.push(Network::new(split.spare).map_err(broken)?);
        Ok(())
    }

    /// From now on frames at a port are handed out ([`Network::capture_at`]), on one thread. Returns whether the port exists.
    ///
    /// # Errors
    /// The network cannot be built.
    pub fn capture_at(&mut self, node: NodeId, port: PortNo) -> Result<bool, String> {
        if let Some(split) = self.split.take() {
            self.why_one = Some("frames are captured".into());
            self.parts = vec![Network::new(split.spare)?];
        }
        Ok(self.parts[0].capture_at(node, port))
    }

    /// Threads that it runs on.
    pub fn threads(&self) -> usize {
        self.parts.len()
    }

    /// Returns why it runs on one thread though it might have had several.
    pub fn why_one_thread(&self) -> Option<&str> {
        self.why_one.as_deref()
    }

    /// Returns the completed rounds of jobs.
    pub fn rounds(&self) -> Vec<Rounds> {
        self.parts[0].rounds()
    }

    /// Returns whether flows are still to start.
    pub fn flows_to_come(&self) -> bool {
        self.parts[0].flows_to_come()
    }

    /// Name of a node.
    pub fn node_name(&self, node: NodeId) -> &str {
        self.parts[0].node_name(node)
    }
}

/// A restarted run advances to the last of the rows that were handed out before.
fn catch_up<A: Actors>(network: &mut Network<A>, skip: &mut Skip<'_>) -> Result<(), Broken> {
    while skip.left.any() && !network.run(SLICE, skip)?.done {}
    Ok(())
}

impl<A: Actors> Parallel<A> {
    pub(in crate::run) fn view(&self) -> View<'_, A> {
        match &self.split {
            Some(split) => View { parts: &self.parts, owners: &split.owners, now: split.now },
            None => self.parts[0].view(),
        }
    }

    /// Pending events, and how many of them only keep themselves going.
    fn pending(&self) -> (u64, u64) {
        let copies = (self.parts.len() - 1) as u64;
        let first = &self.parts[0];
        // Events that every part has count once.
        let stop = self.split.as_ref().is_some_and(|split| split.stop_at.is_some() && !split.stopped);
        let common = (first.coming.iter().flatten().count() + first.jobs.asked()) as u64 + u64::from(stop);
        let all: u64 = self.parts.iter().map(|part| part.world.queue.len() as u64).sum();
        (all - copies * common, self.parts.iter().map(|part| part.world.totals.keepalive_events).sum())
    }

    /// Samples all nodes, as one network does. All parts have handled the events before.
    fn sample(&mut self) {
        let (pending, keepalive_events) = self.pending();
        let (Some(split), Some(series)) = (&mut self.split, &self.parts[0].series) else { return };
        let at = split.sample_at;
        split.sample_at = if pending > keepalive_events { at.after(series.interval) } else { Time::NEVER };
        split.observed(at);
        let mut sample = Sample { series: series.clone(), owners: &split.owners, now: at, rows: Vec::new() };
        sample.take(&mut self.parts);
        split.merge.add_samples(sample.rows);
        self.parts[0].world.totals.progress.events += 1;
    }

    /// Checks for a deadlock, as one network does.
    fn look(&mut self, at: Time) {
        let (pending, keepalive_events) = self.pending();
        let Some(split) = &mut self.split else { return };
        split.observed(at);
        self.parts.iter_mut().for_each(|part| part.world.totals.deadlock_check_at = Time::NEVER);
        self.parts[0].world.totals.progress.events += 1;
        if pending == 0 {
            self.rest_at_last();
        }
        let asks = self.find_deadlock();
        if pending > keepalive_events
            && asks
            && let Some(split) = &self.split
        {
            let again = split.now + LOOK;
            self.parts.iter_mut().for_each(|part| part.world.totals.deadlock_check_at = again);
        }
    }

    /// Sets the time to the last event that was no deadlock check.
    fn rest_at_last(&mut self) {
        let deed = self.parts.iter().map(|part| part.world.totals.last_progress).max().unwrap_or(Time::ZERO);
        let Some(split) = &mut self.split else { return };
        split.now = split.observed.last_event(split.now, deed);
    }

    /// No event is left.
    fn nothing_pending(&mut self) {
        self.rest_at_last();
        self.find_deadlock();
        if let Some(split) = &mut self.split {
            (split.stopped, split.at_rest) = (true, true);
        }
    }

    /// Returns whether any pause without an end is requested.
    fn find_deadlock(&mut self) -> bool {
        let view = self.view();
        let asks = view.asks();
        let known = self.split.as_ref().is_some_and(|split| split.deadlock.is_some());
        if asks.is_empty() || known {
            return !asks.is_empty();
        }
        let found = view.deadlock(&asks);
        let ends = self.parts[0].deadlock_ends;
        if let (Some(split), Some(found)) = (&mut self.split, found) {
            if ends {
                (split.stopped, split.broken) = (true, Some(broken_by(&found)));
            }
            split.deadlock = Some(found);
        }
        true
    }

    /// The deadlock that was found, if any.
    pub fn deadlock(&self) -> Option<&Deadlock> {
        self.split.as_ref().map_or_else(|| self.parts[0].deadlock(), |split| split.deadlock.as_ref())
    }

    /// The first frame that was dropped for want of memory, if any.
    pub fn first_drop(&self) -> Option<&FirstDrop> {
        let drops = self.parts.iter().filter_map(|part| Some((part.first_drop()?, part.world.totals.first_drop_order)));
        drops.min_by_key(|(drop, order)| (drop.time, *order)).map(|(drop, _)| drop)
    }
}

impl<A: Actors> Network<A> {
    /// Makes its ports to other parts, and its tables, those of a part. Nothing has happened yet.
    pub(super) fn become_part(&mut self) {
        let Some(part) = &self.world.part else { return };
        self.ports
            .iter_mut()
            .filter(|port| part.owners.of_port(port.peer) != part.me)
            .for_each(|port| port.mark_leaving_part());
        self.tables.flows.split();
        if part.me != 0 {
            // The rows of jobs come from the first part.
            self.jobs.omit_rows();
        }
    }
}
