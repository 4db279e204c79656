//! From a resolved scenario to the spec of a run.

use crate::check::{Checked, clock, losses};
use crate::error::ScenarioError;
use crate::file::{Arrivals, FlowGroup, Places, Slots};
use crate::hosts::MOST;
use crate::inputs::{RowsOf, is_parquet, place_of};
use crate::job_graphs;
use crate::jobs;
use crate::layout::Layout;
use crate::nics;
use crate::plan::{Plan, Who};
use crate::planned::Planned;
use crate::queue_pairs;
use crate::resolved::Resolved;
use crate::table;
use backwater_engine::Time;
use backwater_mech::registry;
use backwater_net::Rate;
use backwater_net::config::LinkChoice;
use backwater_net::packet::{CLASSES, Class, HostId, class_bits};
use backwater_net::spec::{CausesSpec, QueuePairs, SeriesSpec, Spec, Stream, Way};
use backwater_net::workload::Dependent;
use backwater_net::workload::caller::{Caller, Reserved};
use backwater_net::workload::graph::Operations;
use backwater_net::workload::{
    Arrivals as Flows, Assigned, Classes, Crowd, FlowSource, FlowTable, Gaps, Group, Incasts, List, Row, Sender, Sizes,
    Timing, To, Ways, placement,
};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

/// Stands for every group in `output.waits`.
const ALL: &str = "all";

/// Builds the spec of a run with this `seed`. Reads flow tables.
pub fn build(checked: &Checked, seed: u64) -> Result<Spec<registry::Config>, ScenarioError> {
    let mut run = Sources {
        seed,
        groups: Vec::new(),
        queue_pairs: Vec::new(),
        sources: Vec::new(),
        jobs: Vec::new(),
        total: Some(0),
        streams: HashSet::new(),
    };
    let resolved = checked.resolved();
    let awaited = resolved.file.stop.when.as_deref().unwrap_or_default();
    // Tables first: flows of group 0 have the identities in the file, those of later groups identities by group.
    tables(&checked.planned, &mut run)?;
    for plan in &checked.planned.plans {
        let before = run.sources.len();
        run.add(checked.layout(), plan)?;
        run.assign(checked.layout(), &plan.group, before)?;
    }
    run.jobs(checked)?;
    let causes = causes(resolved, &run.groups)?;
    let switches = checked.layout().graph.switches().map(|node| {
        let about = &checked.layout().graph.nodes[node.0 as usize];
        resolved.switch.of(&about.name, &about.tier).clone()
    });
    Ok(Spec {
        seed,
        graph: (*checked.layout().graph).clone(),
        packet: resolved.file.packet.clone(),
        ack: resolved.file.ack.clone(),
        transport: resolved.file.transport.clone(),
        switches: switches.collect(),
        nic: resolved.file.nic.params.clone(),
        queues: checked.planned.queues,
        nics_at: checked.planned.nics_at.clone(),
        actors: resolved.mechanisms.clone(),
        awaited: awaited_groups(resolved, &run.groups, awaited)?,
        groups: run.groups,
        queue_pairs: run.queue_pairs,
        sources: run.sources,
        jobs: run.jobs,
        flows_total: run.total,
        faults: checked.planned.faults.clone(),
        convergence: resolved.file.link.convergence,
        stop_at: resolved.file.stop.at,
        deadlock_ends: resolved.file.stop.deadlock,
        stall: resolved.file.stop.stall,
        lossless: resolved.file.lossless,
        series: series(checked.layout()),
        causes,
    })
}

/// The numbers of the groups with these labels.
fn awaited_groups(resolved: &Resolved, groups: &[String], labels: &[String]) -> Result<Vec<u32>, ScenarioError> {
    if let Some(unknown) = labels.iter().find(|label| !groups.contains(label)) {
        let error = resolved.error("stop.when", format!("there is no group of flows `{unknown}`"));
        return Err(error.hint(format!("groups are called by their `label`: {}", groups.join(", "))));
    }
    Ok((0..groups.len() as u32).filter(|n| labels.contains(&groups[*n as usize])).collect())
}

/// Returns the recording of causes: for all groups, or for those with these labels.
fn causes(resolved: &Resolved, groups: &[String]) -> Result<CausesSpec, ScenarioError> {
    let output = &resolved.file.output;
    for (i, label) in output.waits.iter().enumerate().filter(|(_, label)| *label != ALL) {
        if !groups.contains(label) {
            let reason = format!("no group of flows is called `{label}`");
            let hint = format!("there are {}; `{ALL}` stands for all of them", groups.join(", "));
            return Err(resolved.error(&format!("output.waits.{i}"), reason).hint(hint));
        }
    }
    let wanted = |group: &String| output.waits.iter().any(|label| label == group || label == ALL);
    Ok(CausesSpec { waits: groups.iter().map(wanted).collect(), pauses: output.pause_causes })
}

fn series(layout: &Layout) -> Option<SeriesSpec> {
    let output = &layout.resolved.file.output;
    output.interval.filter(|_| output.any()).map(|interval| SeriesSpec {
        interval,
        queues: output.queues,
        links: output.links,
        pauses: output.pauses,
        flows: output.flows,
        backlogs: output.backlogs,
        nodes: output.nodes.iter().filter_map(|name| layout.index.node(name)).collect(),
    })
}

/// Every flow table of the scenario and of the caller.
fn tables(planned: &Planned, run: &mut Sources) -> Result<(), ScenarioError> {
    let resolved = planned.resolved();
    let mut read: Vec<(Group, FlowTable)> = Vec::new();
    for (i, group) in resolved.file.flow.iter().enumerate() {
        let Some(file) = &group.table else { continue };
        let key = format!("flow.{i}.table");
        if group.placement == Places::Random || group.classes.is_some() || group.small_below.is_some() {
            let error = resolved.error(&key, "a table says its flows' hosts and classes itself");
            return Err(error.hint("leave out `placement`, `classes` and `small_below`"));
        }
        let own = run.group(group);
        let table = if is_parquet(file) {
            let path = RowsOf::File(place_of(&resolved.base_dir, file));
            let Some(given) = resolved.tables.iter().find(|given| given.of == path) else {
                return Err(resolved
                    .error(&key, format!("`{file}` has not been read"))
                    .hint("give its rows with `with_table`"));
            };
            table::from_rows(&given.rows, file, &planned.layout.index, &own)?
        } else {
            let path = resolved.base_dir.join(file);
            if let Some(wrong) = crate::inputs::wrong(&path) {
                return Err(resolved
                    .error(&key, wrong)
                    .hint("a flow table is a .csv or .parquet file; its name is relative to the scenario's"));
            }
            table::from_csv_file(&path, &planned.layout.index, &own)?
        };
        read.push((own, table));
    }
    for given in &resolved.tables {
        let RowsOf::Label(label) = &given.of else { continue };
        let own = run.named(label, Class(3), true, None);
        let table = table::from_rows(&given.rows, label, &planned.layout.index, &own)?;
        read.push((own, table));
    }
    let caller = resolved.tables.iter().find_map(|given| match &given.of {
        RowsOf::Caller(of) => Some(of),
        _ => None,
    });
    let caller = caller.map(|of| (of.wanted, run.named(&of.label, Class(3), true, queue_pairs::of(1, None, of.kept))));
    for (own, table) in read {
        clock(planned, Some(&table))?;
        allowed(planned, table.rows().iter().map(|row| row.class.0).collect())?;
        if table.names_links() && resolved.file.nic.params.link != LinkChoice::Index {
            let error = resolved.error("nic.link", "a flow table names links, and hosts choose by themselves");
            return Err(error.hint("nic.link = \"index\", or leave the column out"));
        }
        run.total = run.total.map(|n| n + table.rows().len() as u64);
        run.sources.push(Box::new(List::new(&own, Arc::new(table))));
    }
    if let Some((wanted, own)) = caller {
        run.jobs.push(Box::new(Caller::new(own, run.sources.len() as u32, wanted)));
        run.sources.push(Box::new(Reserved));
        run.total = None;
    }
    Ok(())
}

/// Checks whether the rows of a table may have these classes.
pub(crate) fn allowed(planned: &Planned, classes: BTreeSet<u8>) -> Result<(), ScenarioError> {
    nics::keeps_off(planned.resolved(), &planned.queues, &classes)?;
    match planned.resolved().file.lossless {
        true => losses::promised(planned.resolved(), &planned.layout.graph, class_bits(&classes)),
        false => Ok(()),
    }
}

/// The groups and sources of a run under construction.
struct Sources {
    seed: u64,
    groups: Vec<String>,
    queue_pairs: Vec<Option<QueuePairs>>,
    sources: Vec<Box<dyn FlowSource>>,
    jobs: Vec<Box<dyn Dependent>>,
    total: Option<u64>,
    streams: HashSet<String>,
}

impl Sources {
    fn group(&mut self, group: &FlowGroup) -> Group {
        let pairs = queue_pairs::of(group.queue_pairs, group.segment, group.keep_queue_pairs);
        self.named(&group.label, Class(group.class), group.ect, pairs)
    }

    /// The next group. Groups with the same label have separate random streams.
    fn named(&mut self, label: &str, class: Class, ect: bool, pairs: Option<QueuePairs>) -> Group {
        let names = std::iter::once(label.to_owned()).chain((1u64..).map(|n| format!("{label}/{n}")));
        let stream = names.into_iter().find(|name| self.streams.insert(name.clone())).unwrap_or_default();
        self.groups.push(label.to_owned());
        self.queue_pairs.push(pairs);
        Group { index: self.groups.len() as u32 - 1, stream, class, ect }
    }

    fn add(&mut self, layout: &Layout, plan: &Plan) -> Result<(), ScenarioError> {
        if let Who::Incast(crowd) = &plan.who {
            return self.events(layout, plan, crowd);
        }
        match plan.group.arrivals {
            Arrivals::Once => self.once(layout, plan),
            Arrivals::Bernoulli => self.streams(layout, plan),
            Arrivals::Periodic | Arrivals::Poisson => self.arriving(layout, plan),
        }
    }

    /// Every job, a group for each of its steps, or for each label of the sends of its table.
    fn jobs(&mut self, checked: &Checked) -> Result<(), ScenarioError> {
        for (number, job) in checked.resolved().file.job.iter().enumerate() {
            match job.is_graph() {
                true => self.graph(&checked.planned, number, checked.operations(number)?)?,
                false => self.steps(checked.layout(), number)?,
            }
            // The groups of its steps, or labels.
            self.queue_pairs
                .resize(self.groups.len(), queue_pairs::of(job.queue_pairs, job.segment, job.keep_queue_pairs));
        }
        Ok(())
    }

    fn steps(&mut self, layout: &Layout, number: usize) -> Result<(), ScenarioError> {
        let spec = jobs::read(layout, number, self.seed)?;
        let group = self.groups.len() as u32;
        self.groups.extend(spec.steps.iter().map(|step| format!("{}/{}", spec.label, step.label)));
        let job = jobs::build(layout, number, spec, group, self.seed)?;
        self.total = self.total.zip(job.total()).map(|(a, b)| a + b);
        self.jobs.push(Box::new(job));
        Ok(())
    }

    fn graph(&mut self, planned: &Planned, number: usize, operations: Arc<Operations>) -> Result<(), ScenarioError> {
        allowed(planned, (0..CLASSES as u8).filter(|class| operations.classes() & 1 << class != 0).collect())?;
        let spec = job_graphs::read(&planned.layout, number, self.seed)?;
        let group = self.groups.len() as u32;
        self.groups.extend(operations.labels().iter().map(|label| format!("{}/{label}", spec.label)));
        let graph = job_graphs::build(&planned.layout, number, spec, operations, group)?;
        self.total = self.total.map(|total| total + graph.total());
        self.jobs.push(Box::new(graph));
        Ok(())
    }

    /// Gives the flows of a group, whose sources are those from `first` on, the hosts and classes of its entry.
    fn assign(&mut self, layout: &Layout, group: &FlowGroup, first: usize) -> Result<(), ScenarioError> {
        let by_destination = group.classes.iter().flatten().map(|class| Class(*class)).collect();
        let classes = Classes {
            by_destination,
            small: group.small_below.zip(group.small_class).map(|(below, class)| (below.0, Class(class))),
        };
        let random = group.placement == Places::Random;
        if !random && classes == Classes::default() {
            return Ok(());
        }
        let order = random.then(|| placement(self.seed, layout.index.hosts()));
        for source in self.sources.drain(first..).collect::<Vec<_>>() {
            self.sources.push(Box::new(Assigned { source, placement: order.clone(), classes: classes.clone() }));
        }
        Ok(())
    }

    fn once(&mut self, layout: &Layout, plan: &Plan) -> Result<(), ScenarioError> {
        let group = self.group(&plan.group);
        let pairs = plan.pairs(self.seed, &group.stream, &layout.resolved)?;
        let count = plan.group.count.unwrap_or(1);
        let total = count.saturating_mul(pairs.len() as u64);
        if total > MOST as u64 {
            let reason = format!("{total} flows at once are too many, {MOST} are possible");
            return Err(layout
                .resolved
                .error(&format!("{}.count", plan.key), reason)
                .hint("let them arrive over time"));
        }
        let bytes = plan.group.size.unwrap_or_default().0;
        let rows = numbered(&group, plan, &pairs, count, bytes);
        self.total = self.total.map(|n| n + total);
        self.sources.push(Box::new(List::new(&group, Arc::new(rows))));
        Ok(())
    }

    fn streams(&mut self, layout: &Layout, plan: &Plan) -> Result<(), ScenarioError> {
        let packet = plan.packet(&layout.resolved);
        let frame = packet.payload + packet.header + packet.gap;
        let Some(until) = plan.until(&layout.resolved) else { return Ok(()) };
        let load = plan.offered.share.unwrap_or_default();
        let (all, per_source) = (self.pairs_of(layout, plan)?, plan.who.pairs_of_sources());
        let slots = all.iter().enumerate().map(|(i, (src, _))| {
            let rate = layout.rate(*src);
            ((rate.time_for(frame), per_source.get(src).copied().unwrap_or(1)), i)
        });
        for ((slot, sharing), pairs) in gathered(slots) {
            let group = self.group(&plan.group);
            let pairs = Picked::of(&all, &pairs);
            let stream = Stream {
                queue: plan.group.queue,
                own_phase: plan.group.slots == Some(Slots::Apart),
                burst: plan.group.burst.unwrap_or(1.0),
                ..Stream::new(slot, (load / sharing as f64).min(1.0), until)
            };
            self.total = self.total.map(|n| n + pairs.0.len() as u64);
            self.sources.push(Box::new(List::streams(&group, Arc::new(pairs.rows(&group, plan)), stream)));
        }
        Ok(())
    }

    fn arriving(&mut self, layout: &Layout, plan: &Plan) -> Result<(), ScenarioError> {
        let per_source = plan.who.pairs_of_sources();
        let gap = |src: HostId| {
            let rate = layout.rate(src);
            let gap = plan.gap(&layout.resolved, rate).unwrap_or(Time::NEVER);
            Time(gap.0.saturating_mul(per_source.get(&src).copied().unwrap_or(1)).max(1))
        };
        let senders: Vec<Sender> = match &plan.who {
            Who::Random(sets) => {
                let of = |(from, to): &'_ (Vec<HostId>, Arc<[HostId]>)| {
                    let to = to.clone();
                    from.clone().into_iter().map(move |src| Sender {
                        src,
                        to: To::Any(to.clone()),
                        way: way_of(plan, 0),
                    })
                };
                sets.iter().flat_map(of).collect()
            }
            Who::Matrix(from, matrix) => {
                let row = |src: &HostId| To::Weighted(matrix.get(src).cloned().unwrap_or_default());
                from.iter().map(|src| Sender { src: *src, to: row(src), way: way_of(plan, 0) }).collect()
            }
            _ => {
                let pairs = self.pairs_of(layout, plan)?;
                let way = |i: usize| way_of(plan, i);
                pairs
                    .iter()
                    .enumerate()
                    .map(|(i, (src, dst))| Sender { src: *src, to: To::One(*dst), way: way(i) })
                    .collect()
            }
        };
        let gaps = gathered(senders.iter().enumerate().map(|(i, sender)| (gap(sender.src), i)));
        for (gap, numbers) in gaps {
            let group = self.group(&plan.group);
            let gaps = if plan.group.arrivals == Arrivals::Poisson { Gaps::Poisson(gap) } else { Gaps::Periodic(gap) };
            let until = plan.until(&layout.resolved);
            let timing = Timing { start: plan.group.start, gaps, until, count: plan.group.count };
            let senders = numbers.iter().map(|i| senders[*i].clone()).collect();
            let sizes = plan.sizes.clone().unwrap_or(Sizes::Fixed(plan.group.size.unwrap_or_default()));
            let flows = Flows::new(self.seed, group, senders, timing, sizes)
                .map_err(|e| layout.resolved.error(&plan.key, e.to_string()))?;
            self.total = self.total.zip(flows.total()).map(|(a, b)| a + b);
            self.sources.push(Box::new(flows));
        }
        Ok(())
    }

    fn events(&mut self, layout: &Layout, plan: &Plan, crowd: &Crowd) -> Result<(), ScenarioError> {
        let once = plan.group.arrivals == Arrivals::Once;
        let gap = plan.gap(&layout.resolved, Rate(0));
        let timing = Timing {
            start: plan.group.start,
            gaps: match (plan.group.arrivals, gap) {
                (Arrivals::Poisson, Some(gap)) => Gaps::Poisson(Time(gap.0.max(1))),
                // All at the start.
                (_, None) => Gaps::Periodic(Time::ZERO),
                (_, Some(gap)) => Gaps::Periodic(Time(gap.0.max(1))),
            },
            until: plan.until(&layout.resolved).filter(|_| !once),
            count: plan.group.count.or(once.then_some(1)),
        };
        let group = self.group(&plan.group);
        let sizes = plan.sizes.clone().unwrap_or(Sizes::Fixed(plan.group.size.unwrap_or_default()));
        let events = Incasts::new(self.seed, group, crowd.clone(), timing, sizes)
            .map_err(|e| layout.resolved.error(&plan.key, e.to_string()))?;
        self.total = self.total.zip(events.total()).map(|(a, b)| a + b);
        self.sources.push(Box::new(events));
        Ok(())
    }

    /// The pairs of a group; a permutation is drawn by the group's label.
    fn pairs_of(&self, layout: &Layout, plan: &Plan) -> Result<Vec<(HostId, HostId)>, ScenarioError> {
        plan.pairs(self.seed, &plan.group.label, &layout.resolved)
    }
}

/// Numbers grouped by key.
fn gathered<K: Ord>(all: impl Iterator<Item = (K, usize)>) -> BTreeMap<K, Vec<usize>> {
    let mut by = BTreeMap::<K, Vec<usize>>::new();
    all.for_each(|(key, i)| by.entry(key).or_default().push(i));
    by
}

fn way_of(plan: &Plan, pair: usize) -> Way {
    Way { link: plan.group.link, ..pinned_way(plan, pair) }
}

fn pinned_way(plan: &Plan, pair: usize) -> Way {
    match &plan.who {
        Who::Pairs(_, ways) => ways.get(pair).cloned().unwrap_or_default(),
        _ => Way::default(),
    }
}

/// Some pairs of a group, with their numbers.
struct Picked(Vec<(usize, (HostId, HostId))>);

impl Picked {
    fn of(pairs: &[(HostId, HostId)], numbers: &[usize]) -> Picked {
        Picked(numbers.iter().map(|i| (*i, pairs[*i])).collect())
    }

    fn rows(&self, group: &Group, plan: &Plan) -> FlowTable {
        let mut ways = Ways::default();
        let row = |(n, (i, (src, dst))): (usize, &(usize, (HostId, HostId)))| Row {
            id: group.flow_id(n as u64),
            bytes: 0,
            start: plan.group.start,
            src: *src,
            dst: *dst,
            way: ways.number(way_of(plan, *i)),
            class: Class(plan.group.class),
        };
        let rows = self.0.iter().enumerate().map(row).collect();
        FlowTable::new(rows, ways)
    }
}

/// `count` flows of each pair, all at the start.
fn numbered(group: &Group, plan: &Plan, pairs: &[(HostId, HostId)], count: u64, bytes: u64) -> FlowTable {
    let mut ways = Ways::default();
    let mut rows = Vec::with_capacity(pairs.len() * count as usize);
    for (i, (src, dst)) in pairs.iter().enumerate() {
        let way = ways.number(way_of(plan, i));
        for _ in 0..count {
            rows.push(Row {
                id: group.flow_id(rows.len() as u64),
                bytes,
                start: plan.group.start,
                src: *src,
                dst: *dst,
                way,
                class: Class(plan.group.class),
            });
        }
    }
    FlowTable::new(rows, ways)
}
