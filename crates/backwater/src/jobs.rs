//! From a `[[job]]` to ranks on hosts, and steps that wait for each other.

use crate::error::{ScenarioError, Warning, nearest};
use crate::file::{
    AlgorithmName, ChoiceName, CompleteAt, CopiesTo, Host, Hosts, JobEntry, Placement, SizeOf, StepEntry, StepKind,
};
use crate::hosts;
use crate::layout::Layout;
use crate::nccl;
use crate::resolved::Resolved;
use backwater_net::packet::{Class, HostId};
use backwater_net::workload::Moment;
use backwater_net::workload::job::{
    Algorithm, Choice, Collective, Copies, Exchange, Flaw, Job, JobError, JobSpec, Links, MOST as AT_ONCE,
    MOST_AT_ONE_INSTANT, Placement as Order, Routing, Software, StepSpec, Work,
};
use std::collections::HashMap;
use std::sync::Arc;

/// Most ranks in the groups of a job's steps together: each takes some tens of bytes.
const MOST: usize = 10_000_000;

/// The required form of `sizes`.
const SQUARE: &str = "as many lists of as many sizes as there are ranks in a group";

/// Warns of collectives along all ranks of several servers one by one, unless that was chosen.
pub(crate) fn flat_rings(resolved: &Resolved) -> Vec<Warning> {
    let jobs = resolved.file.job.iter().enumerate();
    let steps = jobs.flat_map(|(number, job)| job.step.iter().enumerate().map(move |(n, step)| (number, job, n, step)));
    let flat = steps.filter(|(_, job, _, step)| {
        let phased = matches!(step.kind, StepKind::AllReduce | StepKind::AllGather | StepKind::ReduceScatter);
        // Some ranks may be one of each server, and so may those a stride apart.
        let every = step.ranks.is_none() && step.group_stride == 1;
        let group = step.group_size.unwrap_or(job.ranks);
        let servers = job.ranks_per_server;
        phased
            && every
            && step.algorithm.is_none()
            && step.channels.is_none()
            && servers > 1
            && group > servers
            && group.is_multiple_of(servers)
    });
    flat.map(|(number, job, n, step)| {
        let group = step.group_size.unwrap_or(job.ranks);
        Warning {
            key: format!("job.{number}.step.{n}.algorithm"),
            value: "absent".into(),
            reason: format!(
                "`{}` goes round all {group} ranks in one ring: of the interfaces of a server one sends to another server and one \
                 receives, and the other {} are idle",
                step.label,
                job.ranks_per_server - 1
            ),
            hint: format!(
                "algorithm = \"hierarchical\" has a ring at each place within the servers, side by side on rails; channels = {} has \
                 rings as NCCL, one for each interface; algorithm = \"ring\" says that this one is meant",
                job.ranks_per_server
            ),
        }
    })
    .collect()
}

/// Checks whether each job has a label of its own.
pub(crate) fn labels_differ(layout: &Layout) -> Result<(), ScenarioError> {
    let jobs = &layout.resolved.file.job;
    for (i, job) in jobs.iter().enumerate() {
        if jobs[..i].iter().any(|other| other.label == job.label) {
            let reason = format!("another job is called `{}`", job.label);
            return Err(layout.resolved.error(&format!("job.{i}.label"), reason).hint("give each job its own label"));
        }
    }
    Ok(())
}

/// A job with steps, in a run with `seed`.
pub(crate) fn read(layout: &Layout, number: usize, seed: u64) -> Result<JobSpec, ScenarioError> {
    Reader::of(layout, number).read(seed)
}

/// A job whose flows begin with `group`; it has been checked.
pub(crate) fn build(
    layout: &Layout,
    number: usize,
    spec: JobSpec,
    group: u32,
    seed: u64,
) -> Result<Job, ScenarioError> {
    let packet = |step: &StepSpec| layout.resolved.packet_of(spec.class.0, &format!("{}/{}", spec.label, step.label));
    // The rates for a bound that no path can beat.
    let rates = layout.rates.iter().zip(&layout.arriving).map(|(out, back)| *out.max(back)).collect();
    let links = Links { rates, packets: spec.steps.iter().map(packet).collect() };
    Job::new(spec, group, seed, links).map_err(|error| Reader::of(layout, number).explained(&error))
}

/// Reads one job.
pub(crate) struct Reader<'a> {
    layout: &'a Layout,
    /// `job.3`
    key: String,
    pub job: &'a JobEntry,
}

impl<'a> Reader<'a> {
    pub fn of(layout: &'a Layout, number: usize) -> Reader<'a> {
        Reader { layout, key: format!("job.{number}"), job: &layout.resolved.file.job[number] }
    }

    pub fn fail<T>(&self, name: &str, reason: impl Into<String>, hint: impl Into<String>) -> Result<T, ScenarioError> {
        Err(self.error(name, reason).hint(hint))
    }

    pub fn error(&self, name: &str, reason: impl Into<String>) -> ScenarioError {
        self.layout.resolved.error(&format!("{}.{name}", self.key), reason)
    }

    fn read(&self, seed: u64) -> Result<JobSpec, ScenarioError> {
        let job = self.job;
        if job.step.is_empty() {
            return self.fail(
                "step",
                "the job has no steps",
                "add a [[job.step]], a table of `operations` or a `pipeline`",
            );
        }
        let hosts = self.placed(seed)?;
        let mut numbers = HashMap::new();
        for (number, step) in job.step.iter().enumerate() {
            if numbers.insert(step.label.as_str(), number).is_some() {
                let reason = format!("another step of the job is called `{}`", step.label);
                return self.fail(&format!("step.{number}.label"), reason, "`after` tells steps apart by their labels");
            }
        }
        let (mut steps, mut ranks) = (Vec::new(), 0);
        for (number, step) in job.step.iter().enumerate() {
            let step = self.step(number, step, &numbers)?;
            ranks += step.communicators.iter().chain(&step.rings).map(Vec::len).sum::<usize>();
            if ranks > MOST {
                let reason = format!("the steps up to here have {ranks} ranks together, {MOST} are possible");
                return self.fail(&format!("step.{number}"), reason, "fewer steps; what recurs is a round");
            }
            steps.push(step);
        }
        self.reach(&hosts, || {
            let of = |step: &StepSpec, ranks: &[u32]| match &step.work {
                Work::Exchange(exchange) => exchange
                    .pairs(ranks.len() as u32)
                    .filter_map(|(from, to)| Some((*ranks.get(from as usize)?, *ranks.get(to as usize)?)))
                    .collect::<Vec<_>>(),
                Work::Compute(_) => Vec::new(),
            };
            let members = |step: &'_ StepSpec| {
                (0..step.communicators.len()).flat_map(|n| of(step, step.members(n))).collect::<Vec<_>>()
            };
            Ok(steps.iter().flat_map(members).collect())
        })?;
        let spec = JobSpec {
            label: job.label.as_str().into(),
            stream: job.label.clone(),
            ranks: job.ranks,
            hosts,
            ranks_per_server: job.ranks_per_server,
            start: job.start,
            rounds: job.rounds,
            in_flight: job.rounds_in_flight,
            moment: match job.complete_at {
                CompleteAt::LastByte => Moment::LastByte,
                CompleteAt::LastAck => Moment::LastAck,
            },
            start_latency: job.start_latency,
            class: Class(job.class),
            ect: job.ect,
            steps,
        };
        Ok(spec)
    }

    /// Checks whether all hosts of a job reach those to which they send: `pairs` of ranks of an instance. Nothing is sent within a server.
    pub fn reach(
        &self,
        hosts: &[HostId],
        mut pairs: impl FnMut() -> Result<Vec<(u32, u32)>, ScenarioError>,
    ) -> Result<(), ScenarioError> {
        let index = &self.layout.index;
        if index.meet(hosts) {
            return Ok(());
        }
        let (ranks, per_server) = (self.job.ranks as usize, self.job.ranks_per_server);
        let pairs = pairs()?;
        let sent = hosts.chunks_exact(ranks).flat_map(|instance| {
            let other = pairs.iter().filter(|(from, to)| from / per_server != to / per_server);
            other.map(|(from, to)| (instance[*from as usize], instance[*to as usize]))
        });
        let cut = sent.into_iter().find(|(from, to)| !index.reaches(*from, *to));
        cut.map_or(Ok(()), |(from, to)| {
            let (reason, hint) = self.layout.unreachable(from, to);
            self.fail("hosts", reason, hint)
        })
    }

    /// The hosts of all ranks, instance by instance.
    pub fn placed(&self, seed: u64) -> Result<Vec<HostId>, ScenarioError> {
        let job = self.job;
        if !job.ranks.is_multiple_of(job.ranks_per_server) {
            let reason = format!("{} ranks do not fill servers of {}", job.ranks, job.ranks_per_server);
            return self.fail("ranks_per_server", reason, "`ranks` is a multiple of it");
        }
        let given = match &job.hosts {
            None => (0..self.layout.index.hosts()).map(HostId).collect(),
            Some(set) => {
                hosts::expand(set, &self.layout.index).or_else(|(reason, hint)| self.fail("hosts", reason, hint))?
            }
        };
        let mut sorted = given.clone();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|w| w[0] == w[1]) {
            return self.fail("hosts", format!("{} is named twice", self.layout.name(twice[0])), "name each host once");
        }
        let wanted = u64::from(job.ranks) * u64::from(job.instances);
        let servers: Vec<&[HostId]> = given.chunks_exact(job.ranks_per_server as usize).collect();
        let room = servers.len() as u64 * u64::from(job.ranks_per_server);
        if wanted > room {
            let of = if job.instances > 1 {
                format!(" ({} instances of {})", job.instances, job.ranks)
            } else {
                String::new()
            };
            let whole = if room < given.len() as u64 { " in whole servers" } else { "" };
            let reason = format!("{wanted} ranks{of} need as many hosts, and there are {room}{whole}");
            return self.fail("ranks", reason, "fewer ranks or instances, or more `hosts`");
        }
        if job.stride.is_some() && job.placement != Placement::Strided {
            return self.fail("stride", "is for another placement", "placement = \"strided\"?");
        }
        let order = match job.placement {
            Placement::Consecutive => Order::Consecutive,
            Placement::Strided => {
                let per_instance = (job.ranks / job.ranks_per_server) as usize;
                let stride = job.stride.map_or((servers.len() / per_instance).max(1), |stride| stride as usize);
                if stride > servers.len() {
                    let reason = format!("{stride} is more than the {} servers that there are", servers.len());
                    return self.fail("stride", reason, "fewer, or more `hosts`");
                }
                Order::Strided(stride)
            }
            Placement::Random => Order::Random,
        };
        let servers = order.order(servers, seed, &job.label);
        Ok(servers.into_iter().flatten().copied().take(wanted as usize).collect())
    }

    /// A step; `numbers` are those of all steps by their labels.
    fn step(&self, number: usize, step: &StepEntry, numbers: &Numbers<'_>) -> Result<StepSpec, ScenarioError> {
        let one = StepReader { job: self, number, step, numbers };
        one.keys_fit()?;
        let before = || number.checked_sub(1).into_iter().collect();
        let communicators = one.communicators()?;
        let rings = |channels: u32| communicators.iter().map(|ranks| one.rings(ranks, channels)).collect();
        Ok(StepSpec {
            label: step.label.as_str().into(),
            work: one.work()?,
            rings: step.channels.map(rings).unwrap_or_default(),
            communicators,
            after: step.after.as_ref().map_or_else(|| Ok(before()), |labels| one.steps("after", labels))?,
            after_previous: one.steps("after_previous", &step.after_previous)?,
            start: step.start,
            software: one.software()?,
        })
    }

    /// Returns an error of the stage, at the job's key.
    fn explained(&self, error: &JobError) -> ScenarioError {
        let label = |step: usize| format!("`{}`", self.job.step[step].label);
        let at = |step: usize, name: &str| format!("{}.step.{step}.{name}", self.key);
        let (key, reason, hint) = match error {
            JobError::NoRank { step, rank } => {
                let name = if self.job.step[*step].pairs.is_some() { "pairs" } else { "ranks" };
                let reason = format!("there is no rank {rank}");
                (at(*step, name), reason, format!("ranks are 0 to {}", self.job.ranks - 1))
            }
            JobError::Flaw { step, flaw } => {
                let pair = self.job.step[*step].kind == StepKind::PointToPoint;
                let (name, hint) = match flaw {
                    _ if pair => ("pairs", "a sender and another rank"),
                    Flaw::Twice { .. } => ("ranks", "name each rank once"),
                    Flaw::Number { .. } => ("group_size", "at least 2"),
                    Flaw::PowerOfTwo { .. } => {
                        ("algorithm", "\"ring\" works among any number, halving-doubling among 2, 4, 8, …")
                    }
                    Flaw::WholeServers { .. } => {
                        ("algorithm", "groups of whole servers (`group_size`, `ranks_per_server`), or \"ring\"")
                    }
                    Flaw::NoByte { .. } => ("size", "`size` is the whole buffer of a rank"),
                    Flaw::Sizes { .. } => ("sizes", SQUARE),
                    Flaw::Experts { .. } => ("experts", "a multiple of the ranks of a group"),
                    Flaw::TopK { .. } => ("top_k", "at most `experts`, and those of `server_limit` servers"),
                    Flaw::FanOut { .. } => {
                        ("fan_out", "at most the other ranks of the group; with_self = true is one more")
                    }
                };
                (at(*step, name), flaw.to_string(), hint.to_owned())
            }
            JobError::Nowhere { step, after } => {
                let reason = format!("nothing of {} arrives at a rank of {}", label(*after), label(*step));
                let hint = "a rank waits for what is done there; of point-to-point transfers, for what it receives";
                (at(*step, "after"), reason, hint.to_owned())
            }
            JobError::Cycle { steps, rank } => {
                let mut round: Vec<String> = steps.iter().map(|step| label(*step)).collect();
                round.extend(round.first().cloned());
                let reason = format!("steps wait for each other at rank {rank}: {}", round.join(" after "));
                let hint =
                    "leave one of them out of `after`; what is to wait for the round before stands in `after_previous`";
                (at(steps[0], "after"), reason, hint.to_owned())
            }
            JobError::TooMany { step } => {
                let reason = format!("{} has more transfers in all rounds than can be told apart", label(*step));
                (format!("{}.rounds", self.key), reason, "fewer rounds".to_owned())
            }
            JobError::AtOnce { step, transfers } => {
                let reason = format!("{} begins {transfers} transfers at once, {AT_ONCE} are possible", label(*step));
                let (name, hint) = match self.job.step[*step].kind {
                    StepKind::AllToAll => ("algorithm", "algorithm = \"pairwise\" begins one of each rank at a time"),
                    _ => ("kind", "fewer ranks or instances, or groups of them in steps that follow each other"),
                };
                (at(*step, name), reason, hint.to_owned())
            }
            JobError::Tasks { tasks } => {
                let reason = format!("{tasks} tasks are open at once, {AT_ONCE} are possible");
                let hint =
                    "a task is a step of one group of ranks in one round: fewer rounds in flight, steps or instances";
                (format!("{}.rounds_in_flight", self.key), reason, hint.to_owned())
            }
            JobError::Waits { step, waits } => {
                let reason = format!("the steps up to here wait for {waits} others, {AT_ONCE} such waits are possible");
                let hint = "name the steps that come last alone: those before them are complete by then, too";
                (at(*step, "after"), reason, hint.to_owned())
            }
            JobError::NoTime { tasks } => {
                let reason = format!(
                    "nothing in a round takes any time, and all {tasks} steps of its groups would be done at one instant; \
                     {MOST_AT_ONE_INSTANT} are possible"
                );
                (format!("{}.rounds", self.key), reason, "fewer rounds, or a step that computes or sends".to_owned())
            }
        };
        self.layout.resolved.error(&key, reason).hint(hint)
    }
}

/// The numbers of a job's steps by their labels.
type Numbers<'a> = HashMap<&'a str, usize>;

struct StepReader<'a> {
    job: &'a Reader<'a>,
    number: usize,
    step: &'a StepEntry,
    numbers: &'a Numbers<'a>,
}

impl StepReader<'_> {
    fn fail<T>(&self, name: &str, reason: impl Into<String>, hint: impl Into<String>) -> Result<T, ScenarioError> {
        self.job.fail(&format!("step.{}.{name}", self.number), reason, hint)
    }

    /// Checks that keys of the kind are present, and others are not.
    fn keys_fit(&self) -> Result<(), ScenarioError> {
        use StepKind::{
            AllGather, AllReduce, AllToAll, AllToAllV, Combine, Compute, Dispatch, PointToPoint, ReduceScatter,
        };
        let step = self.step;
        let sized: &[StepKind] =
            &[PointToPoint, AllReduce, AllGather, ReduceScatter, AllToAll, AllToAllV, Dispatch, Combine];
        let phased: &[StepKind] = &[AllReduce, AllGather, ReduceScatter];
        let kinds: [(&str, bool, &[StepKind]); 21] = [
            ("time", step.time.is_some(), &[Compute]),
            ("size", step.size.is_some(), sized),
            ("size_of", step.size_of != SizeOf::Transfer, &[AllToAllV]),
            ("algorithm", step.algorithm.is_some(), &[AllReduce, AllGather, ReduceScatter, AllToAll]),
            ("channels", step.channels.is_some(), phased),
            ("protocol", step.protocol.is_some(), phased),
            ("latency", step.latency.is_some(), sized),
            ("message_latency", step.message_latency.is_some(), sized),
            ("fan_out", step.fan_out.is_some(), &[AllToAllV]),
            ("choice", step.choice != ChoiceName::Random, &[AllToAllV]),
            ("with_self", step.with_self, &[AllToAllV]),
            ("sizes", step.sizes.is_some(), &[AllToAllV]),
            ("shift", step.shift.is_some(), &[PointToPoint]),
            ("pairs", step.pairs.is_some(), &[PointToPoint]),
            ("tokens", step.tokens.is_some(), &[Dispatch]),
            ("experts", step.experts.is_some(), &[Dispatch]),
            ("top_k", step.top_k.is_some(), &[Dispatch]),
            ("skew", step.skew != 0.0, &[Dispatch]),
            ("server_limit", step.server_limit.is_some(), &[Dispatch]),
            ("copies", step.copies != CopiesTo::Rank, &[Dispatch]),
            ("of", step.of.is_some(), &[Combine]),
        ];
        if let Some((name, ..)) = kinds.iter().find(|(_, given, kinds)| *given && !kinds.contains(&step.kind)) {
            return self.fail(name, "is for another kind of step", "`backwater explain job.step.kind` lists the kinds");
        }
        let missing = |name: &str, hint: &str| self.fail(name, "is missing", hint);
        match step.kind {
            Compute if step.time.is_none() => missing("time", "how long, as in time = \"1 ms\""),
            PointToPoint if step.shift.is_none() == step.pairs.is_none() => match step.shift {
                None => missing("shift", "whom rank r sends to, as in shift = 1 (to r + 1), or `pairs`"),
                Some(_) => self.fail("pairs", "`shift` is given too", "give one of them"),
            },
            PointToPoint if step.group_size.is_some() => {
                self.fail("group_size", "a transfer has a sender and a receiver", "leave it out")
            }
            AllToAllV if step.sizes.is_some() && (step.size.is_some() || step.fan_out.is_some()) => {
                self.fail("sizes", "`size` or `fan_out` is given too", "give one of them")
            }
            AllToAllV if step.sizes.is_none() && step.fan_out.is_none() => {
                missing("fan_out", "how many receivers each rank has, as in fan_out = 8, or `sizes`")
            }
            Dispatch if step.tokens.is_none() => missing("tokens", "how many each rank has, as in tokens = 4096"),
            Dispatch if step.top_k.is_none() => missing("top_k", "experts of each token, as in top_k = 8"),
            Combine if step.of.is_none() => missing("of", "the label of the dispatch step whose tokens come back"),
            Compute => Ok(()),
            _ if step.size.is_none() && step.sizes.is_none() => missing("size", "payload, as in size = \"16 MB\""),
            _ => Ok(()),
        }
    }

    fn work(&self) -> Result<Work, ScenarioError> {
        let step = self.step;
        let bytes = step.size.unwrap_or_default().0;
        let phased = |collective| match step.algorithm {
            None | Some(AlgorithmName::Ring) => {
                let channels = step.channels.unwrap_or(1);
                Ok(Exchange::Phased { collective, algorithm: Algorithm::Ring { channels }, bytes })
            }
            Some(AlgorithmName::HalvingDoubling) => {
                Ok(Exchange::Phased { collective, algorithm: Algorithm::HalvingDoubling, bytes })
            }
            Some(AlgorithmName::Hierarchical) => {
                let per_server = self.job.job.ranks_per_server;
                Ok(Exchange::Phased { collective, algorithm: Algorithm::Hierarchical { per_server }, bytes })
            }
            Some(AlgorithmName::Tree) if collective == Collective::AllReduce => {
                Ok(Exchange::Tree { bytes, chunks: step.chunks.unwrap_or(1) })
            }
            Some(AlgorithmName::Tree) => self.fail("algorithm", "is for an all-reduce", "\"ring\""),
            Some(_) => self.fail(
                "algorithm",
                "is for an all-to-all",
                "\"ring\", \"halving-doubling\", \"hierarchical\" or \"tree\"",
            ),
        };
        if step.chunks.is_some() && step.algorithm != Some(AlgorithmName::Tree) {
            return self.fail("chunks", "is for another algorithm", "algorithm = \"tree\"");
        }
        if step.channels.is_some() && !matches!(step.algorithm, None | Some(AlgorithmName::Ring)) {
            return self.fail("channels", "is for another algorithm", "algorithm = \"ring\"");
        }
        let exchange = match step.kind {
            StepKind::Compute => return Ok(Work::Compute(step.time.unwrap_or_default())),
            StepKind::PointToPoint => Exchange::PointToPoint { bytes },
            StepKind::AllReduce => phased(Collective::AllReduce)?,
            StepKind::AllGather => phased(Collective::AllGather)?,
            StepKind::ReduceScatter => phased(Collective::ReduceScatter)?,
            StepKind::AllToAll => match step.algorithm {
                None | Some(AlgorithmName::Direct) => Exchange::AllToAll { bytes, pairwise: false },
                Some(AlgorithmName::Pairwise) => Exchange::AllToAll { bytes, pairwise: true },
                Some(_) => return self.fail("algorithm", "is not for an all-to-all", "\"direct\" or \"pairwise\""),
            },
            StepKind::AllToAllV => match &step.sizes {
                Some(sizes) if sizes.0.iter().any(|row| row.len() != sizes.0.len()) => {
                    return self.fail("sizes", "its lists are not as long as there are lists", SQUARE);
                }
                Some(sizes) if sizes.0.iter().flatten().all(|size| size.0 == 0) => {
                    return self.fail("sizes", "nobody sends anything", "one size at least is above 0 B");
                }
                Some(sizes) => Exchange::Sizes(sizes.0.iter().flatten().map(|size| size.0).collect()),
                None => Exchange::Drawn {
                    choice: match step.choice {
                        ChoiceName::Random => Choice::Random,
                        ChoiceName::Balanced => Choice::Balanced,
                    },
                    fan_out: step.fan_out.unwrap_or_default(),
                    with_self: step.with_self,
                    bytes,
                    in_all: step.size_of == SizeOf::Sender,
                },
            },
            StepKind::Dispatch => Exchange::Routed { routing: self.routing(self.number)?, bytes, back: false },
            StepKind::Combine => Exchange::Routed { routing: self.routing(self.dispatch()?)?, bytes, back: true },
        };
        Ok(Work::Exchange(exchange))
    }

    /// The costs of the step in software.
    fn software(&self) -> Result<Software, ScenarioError> {
        let step = self.step;
        let of_protocol = match step.protocol {
            None => Software::FREE,
            Some(protocol) => match nccl::software(protocol, step.algorithm) {
                Some(software) => software,
                None => {
                    return self.fail(
                        "protocol",
                        "NCCL has no such algorithm",
                        "\"ring\", \"hierarchical\" (rings of servers) or \"tree\"; or `latency` and `message_latency`",
                    );
                }
            },
        };
        Ok(Software {
            latency: step.latency.unwrap_or(of_protocol.latency),
            message_latency: step.message_latency.unwrap_or(of_protocol.message_latency),
            ..of_protocol
        })
    }

    /// The dispatch step whose tokens this one sends back.
    fn dispatch(&self) -> Result<usize, ScenarioError> {
        let label = self.step.of.clone().unwrap_or_default();
        let number = self.steps("of", &[label])?[0];
        let other = &self.job.job.step[number];
        if other.kind != StepKind::Dispatch {
            return self.fail("of", format!("`{}` is no dispatch", other.label), "the label of a dispatch step");
        }
        let groups = |step: &StepEntry| (step.ranks.clone(), step.group_size, step.group_stride);
        if groups(other) != groups(self.step) {
            let reason = format!("`{}` has other ranks or groups", other.label);
            return self.fail("of", reason, "the same `ranks`, `group_size` and `group_stride` in both steps");
        }
        Ok(number)
    }

    /// Returns the routing of a dispatch step's tokens to their experts.
    fn routing(&self, number: usize) -> Result<Arc<Routing>, ScenarioError> {
        let step = &self.job.job.step[number];
        let ranks = self.communicators()?.first().map_or(0, Vec::len) as u32;
        Ok(Arc::new(Routing {
            step: number as u32,
            tokens: step.tokens.unwrap_or_default(),
            experts: step.experts.unwrap_or(ranks),
            top_k: step.top_k.unwrap_or_default(),
            skew: step.skew,
            server_limit: step.server_limit,
            copies: match step.copies {
                CopiesTo::Rank => Copies::Rank,
                CopiesTo::Server => Copies::Server,
            },
        }))
    }

    /// The groups of ranks that act together.
    fn communicators(&self) -> Result<Vec<Vec<u32>>, ScenarioError> {
        let (step, of_job) = (self.step, self.job.job.ranks);
        let ranks = match &step.ranks {
            None => (0..of_job).collect(),
            Some(set) => self.ranks(set)?,
        };
        if step.kind == StepKind::PointToPoint {
            return self.pairs(&ranks);
        }
        let stride = step.group_stride as usize;
        let size = match step.group_size {
            Some(size) => size as usize,
            None if step.kind == StepKind::Compute => 1,
            None => ranks.len() / stride,
        };
        let block = size.saturating_mul(stride);
        if block == 0 || !ranks.len().is_multiple_of(block) {
            let name = if step.group_size.is_some() { "group_size" } else { "group_stride" };
            let reason = format!("{} ranks do not make groups of {size} with a stride of {stride}", ranks.len());
            return self.fail(name, reason, "the number of ranks is a multiple of group_size x group_stride");
        }
        let group = |block: &[u32], first: usize| block.iter().skip(first).step_by(stride).copied().collect();
        Ok(ranks.chunks(block).flat_map(|block| (0..stride).map(move |first| group(block, first))).collect())
    }

    /// The members of rings side by side, server by server. In ring k the rank that has an interface stands for all ranks of its server,
    /// which take no time.
    fn rings(&self, ranks: &[u32], channels: u32) -> Vec<u32> {
        let server = |rank: u32| rank / self.job.job.ranks_per_server.max(1);
        let mut servers: Vec<Vec<u32>> = Vec::new();
        let mut numbers: HashMap<u32, usize> = HashMap::new();
        for rank in ranks {
            let number = *numbers.entry(server(*rank)).or_insert(servers.len());
            if number == servers.len() {
                servers.push(Vec::new());
            }
            servers[number].push(*rank);
        }
        let ring = |k: usize| servers.iter().flat_map(move |there| there.iter().map(move |_| there[k % there.len()]));
        (0..channels as usize).flat_map(ring).collect()
    }

    fn pairs(&self, ranks: &[u32]) -> Result<Vec<Vec<u32>>, ScenarioError> {
        let of_job = i64::from(self.job.job.ranks);
        let pairs: Vec<Vec<u32>> = match (&self.step.pairs, self.step.shift) {
            (Some(pairs), _) => pairs.0.iter().map(|pair| pair.to_vec()).collect(),
            (None, shift) => {
                let to = |rank: &u32| {
                    let to = i64::from(*rank) + shift.unwrap_or_default();
                    let to = if self.step.wrap { to.rem_euclid(of_job) } else { to };
                    let there = u32::try_from(to).ok().filter(|to| i64::from(*to) < of_job)?;
                    (there != *rank).then(|| vec![*rank, there])
                };
                ranks.iter().filter_map(to).collect()
            }
        };
        match pairs.is_empty() {
            true => self.fail("shift", "no rank sends to another one", format!("ranks are 0 to {}", of_job - 1)),
            false => Ok(pairs),
        }
    }

    /// A set of ranks, in its order.
    fn ranks(&self, set: &Hosts) -> Result<Vec<u32>, ScenarioError> {
        let most = self.job.job.ranks - 1;
        let form = "a rank is a number; a range is written \"0..7\" or \"0..7 step 2\"";
        let number = |text: &str| match text.trim().parse::<u32>() {
            Ok(rank) if rank <= most => Ok(rank),
            Ok(rank) => self.fail("ranks", format!("there is no rank {rank}"), format!("ranks are 0 to {most}")),
            Err(_) => self.fail("ranks", format!("`{}` is no rank", text.trim()), form),
        };
        let mut all = Vec::new();
        for entry in set.entries() {
            let text = match entry {
                Host::Number(n) => n.to_string(),
                Host::Text(text) => text.clone(),
            };
            let (range, step) =
                hosts::stepped(&text, form).or_else(|(reason, hint)| self.fail("ranks", reason, hint))?;
            let (first, last) = range.split_once("..").unwrap_or((range, range));
            all.extend((number(first)?..=number(last)?).step_by(step));
            if all.len() > MOST {
                return self.fail("ranks", format!("more than {MOST} ranks"), "name each rank once");
            }
        }
        if all.is_empty() {
            return self.fail("ranks", "no ranks", form);
        }
        Ok(all)
    }

    /// Numbers of the steps of these labels.
    fn steps(&self, name: &str, labels: &[String]) -> Result<Vec<usize>, ScenarioError> {
        let find = |label: &String| match self.numbers.get(label.as_str()) {
            Some(number) => Ok(*number),
            None => {
                let known = || self.job.job.step.iter().map(|step| step.label.as_str());
                let hint = match nearest(label, known()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("there are: {}", known().take(20).collect::<Vec<_>>().join(", ")),
                };
                self.fail(name, format!("the job has no step `{label}`"), hint)
            }
        };
        labels.iter().map(find).collect()
    }
}
