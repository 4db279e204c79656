//! From a `[[flow]]` to senders, receivers, paths, sizes and arrivals.

use crate::error::ScenarioError;
use crate::file::{Arrivals, FlowGroup, Pattern, Places};
use crate::hosts::{self, MOST};
use crate::layout::Layout;
use crate::matrix;
use crate::pinned_paths::ways;
use crate::plan::{Offered, Plan, Who};
use crate::resolved::Resolved;
use backwater_net::config::LinkChoice;
use backwater_net::packet::HostId;
use backwater_net::workload::{Crowd, Distribution, Sizes, permutation, sizes};
use std::collections::HashSet;
use std::io;
use std::sync::Arc;

impl Plan {
    /// The plan of the `number`-th group.
    pub(crate) fn new(layout: &Layout, number: usize, group: &FlowGroup) -> Result<Plan, ScenarioError> {
        let key = format!("flow.{number}");
        keys_fit(&layout.resolved, &key, group)?;
        let who = who(layout, &key, group)?;
        let sizes = sizes_of(&layout.resolved, &key, group)?;
        let mut plan = Plan { sizes, key, group: group.clone(), who, offered: Offered::default() };
        plan.offered = plan.offered(layout);
        plan.ends(&layout.resolved)?;
        plan.reaches(layout)?;
        plan.links(layout)?;
        Ok(plan)
    }

    fn ends(&self, resolved: &Resolved) -> Result<(), ScenarioError> {
        let (group, key) = (&self.group, &self.key);
        let endless = match group.arrivals {
            Arrivals::Once => false,
            Arrivals::Bernoulli => self.until(resolved).is_none(),
            Arrivals::Periodic | Arrivals::Poisson => self.until(resolved).is_none() && group.count.is_none(),
        };
        if endless {
            let error = resolved.error(&format!("{key}.arrivals"), "the flows never end");
            return Err(error.hint("give `until` or `count` here, or `at` in [stop]"));
        }
        Ok(())
    }

    fn reaches(&self, layout: &Layout) -> Result<(), ScenarioError> {
        let cut = |from: HostId, to: HostId| (!layout.index.reaches(from, to)).then_some((from, to));
        let found = match &self.who {
            Who::Pairs(pairs, _) => pairs.iter().find_map(|&(from, to)| cut(from, to)),
            Who::Permutation(hosts) => hosts.iter().find_map(|&h| cut(hosts[0], h)),
            Who::Random(sets) => sets.iter().find_map(|(from, to)| {
                let first = from.first().copied()?;
                to.iter().chain(from).find_map(|&h| cut(first, h))
            }),
            Who::Matrix(from, matrix) => from.iter().find_map(|from| {
                let to = matrix.get(from).into_iter().flat_map(|row| row.iter());
                to.map(|(to, _)| *to).find_map(|to| cut(*from, to))
            }),
            Who::Incast(crowd) => {
                let first = crowd.from.first().copied();
                first.and_then(|first| crowd.to.iter().chain(&*crowd.from).find_map(|&h| cut(first, h)))
            }
        };
        found.map_or(Ok(()), |(from, to)| {
            let (reason, hint) = layout.unreachable(from, to);
            Err(layout.resolved.error(&format!("{}.to", self.key), reason).hint(hint))
        })
    }

    /// Checks whether sources have the link that sends their flows.
    fn links(&self, layout: &Layout) -> Result<(), ScenarioError> {
        let Some(link) = self.group.link.filter(|_| self.group.placement == Places::Named) else { return Ok(()) };
        let mut sources: Vec<HostId> = self.who.pairs_of_sources().into_keys().collect();
        sources.sort_unstable();
        let lacks = |host: &HostId| layout.index.links(*host) <= u32::from(link);
        match sources.iter().find(|host| lacks(host)) {
            None => Ok(()),
            Some(host) => {
                let reason = format!("{} has no link {link}", layout.name(*host));
                let hint = format!("its links are numbered from 0 to {}", layout.index.links(*host).saturating_sub(1));
                Err(layout.resolved.error(&format!("{}.link", self.key), reason).hint(hint))
            }
        }
    }

    /// The pairs of a run with this seed.
    pub(crate) fn pairs(
        &self,
        seed: u64,
        stream: &str,
        resolved: &Resolved,
    ) -> Result<Vec<(HostId, HostId)>, ScenarioError> {
        match &self.who {
            Who::Pairs(pairs, _) => Ok(pairs.clone()),
            Who::Random(..) | Who::Matrix(..) | Who::Incast(_) => Ok(Vec::new()),
            Who::Permutation(from) => {
                let to = permutation(seed, stream, from)
                    .map_err(|e| resolved.error(&format!("{}.from", self.key), e.to_string()))?;
                Ok(from.iter().copied().zip(to).collect())
            }
        }
    }
}

/// Checks for keys that exclude each other.
fn keys_fit(resolved: &Resolved, key: &str, group: &FlowGroup) -> Result<(), ScenarioError> {
    let fail = |name: &str, reason: &str, hint: &str| Err(resolved.error(&format!("{key}.{name}"), reason).hint(hint));
    let drawn = group.arrivals == Arrivals::Periodic || group.arrivals == Arrivals::Poisson;
    match (group.arrivals, group.size, &group.sizes) {
        (Arrivals::Bernoulli, Some(_), _) => {
            return fail("size", "a bernoulli stream has no size", "it sends full packets until `until`");
        }
        (_, Some(_), Some(_)) => return fail("sizes", "`size` is given too", "give one of them"),
        (_, None, None) if group.arrivals != Arrivals::Bernoulli => {
            return fail("size", "is missing", "payload of each flow, as in size = \"2 MB\"");
        }
        (_, _, Some(_)) if !drawn && group.pattern != Pattern::Incast => {
            return fail(
                "sizes",
                "only flows that arrive over time have drawn sizes",
                "arrivals = \"poisson\", or give `size`",
            );
        }
        _ => {}
    }
    match (group.arrivals, group.load, group.interval) {
        (_, Some(_), Some(_)) => fail("interval", "`load` is given too", "give one of them"),
        (Arrivals::Once, Some(_), _) => fail("load", "flows that start once have no load", "arrivals = \"poisson\"?"),
        (Arrivals::Once, _, Some(_)) => {
            fail("interval", "flows that start once have no interval", "arrivals = \"periodic\"?")
        }
        (Arrivals::Bernoulli, None, _) => {
            fail("load", "is missing", "share of the source's link, as in load = \"40 %\"")
        }
        (Arrivals::Periodic | Arrivals::Poisson, None, None) => {
            fail("load", "is missing", "give `load`, as in \"40 %\", or `interval`, as in \"10 us\"")
        }
        (Arrivals::Bernoulli, ..) if group.count.is_some() => {
            fail("count", "a bernoulli stream is not counted", "it ends at `until` or at `at` in [stop]")
        }
        _ if group.arrivals == Arrivals::Once && group.until.is_some() => {
            fail("until", "flows that start once have no end of arrivals", "`stop.at` ends a run")
        }
        _ => Ok(()),
    }?;
    match (&group.classes, group.small_below, group.small_class) {
        (Some(classes), ..) if classes.is_empty() || classes.iter().any(|class| *class > 7) => {
            return fail("classes", "names no class, or one above 7", "as in [1, 2]");
        }
        (_, Some(_), None) => return fail("small_class", "is missing", "class of flows below `small_below`"),
        (_, None, Some(_)) => return fail("small_below", "is missing", "a size, as in \"100 KB\""),
        _ => {}
    }
    if group.slots.is_some() && group.arrivals != Arrivals::Bernoulli {
        return fail("slots", "only bernoulli streams have slots", "arrivals = \"bernoulli\"");
    }
    if group.burst.is_some() && group.arrivals != Arrivals::Bernoulli {
        return fail("burst", "only a bernoulli stream has bursts of packets", "arrivals = \"bernoulli\"");
    }
    if group.queue.is_some() && group.arrivals != Arrivals::Bernoulli {
        return fail("queue", "only a bernoulli stream has a queue that can be full", "arrivals = \"bernoulli\"");
    }
    for (name, pattern, given, wanted, hint) in [
        (
            "fan_in",
            "incast",
            group.fan_in.is_some(),
            Pattern::Incast,
            "number of senders of each event, as in fan_in = 120",
        ),
        ("matrix", "matrix", group.matrix.is_some(), Pattern::Matrix, "a file with lines SRC,DST,WEIGHT"),
    ] {
        match (given, group.pattern == wanted) {
            (true, false) => return fail(name, "is for another pattern", &format!("pattern = \"{pattern}\"?")),
            (false, true) => return fail(name, "is missing", hint),
            _ => {}
        }
    }
    match (group.cluster.is_some(), matches!(group.pattern, Pattern::Clusters | Pattern::Gather)) {
        (true, false) => return fail("cluster", "is for another pattern", "pattern = \"clusters\" or \"gather\"?"),
        (false, true) => return fail("cluster", "is missing", "hosts of each cluster, as in cluster = 21"),
        _ => {}
    }
    if group.ack_path.is_some() && !resolved.file.ack.enabled {
        return fail("ack_path", "nothing is acknowledged", "[ack] enabled = true, or leave it out");
    }
    if group.link.is_some() && resolved.file.nic.params.link != LinkChoice::Index {
        return fail("link", "hosts choose links by themselves", "nic.link = \"index\", or leave it out");
    }
    if group.link.is_some() && group.pattern == Pattern::Incast {
        return fail("link", "an incast's senders are drawn", "leave it out: the number of a flow decides");
    }
    let ways = [("path", &group.path), ("via", &group.via), ("ack_path", &group.ack_path)];
    let pinned = ways.into_iter().find(|(_, w)| w.is_some());
    match (pinned, group.pattern) {
        (Some(("path", _)), _) if group.via.is_some() => fail("via", "`path` is given too", "give one of them"),
        (
            Some((name, _)),
            Pattern::Permutation | Pattern::Random | Pattern::Clusters | Pattern::Matrix | Pattern::Incast,
        ) => fail(name, "only pairs that are known beforehand can be pinned", "pattern = \"pairs\""),
        (_, Pattern::Matrix) if group.to.is_some() => fail("to", "the matrix says it for each sender", "leave it out"),
        (_, Pattern::Incast) if group.arrivals == Arrivals::Bernoulli => {
            fail("arrivals", "an incast is events, and not a stream", "arrivals = \"poisson\"")
        }
        (Some((name, _)), _) if group.placement == Places::Random => {
            fail(name, "hosts that the seed places have no way that is known beforehand", "placement = \"named\"")
        }
        (_, Pattern::Clusters | Pattern::Gather) if group.to.is_some() => {
            fail("to", "clusters are within one set", "leave `to` out")
        }
        (_, Pattern::Random | Pattern::Clusters | Pattern::Matrix) if !drawn => {
            fail("pattern", "only flows that arrive over time go to random hosts", "arrivals = \"poisson\"")
        }
        _ => Ok(()),
    }
}

fn sizes_of(resolved: &Resolved, key: &str, group: &FlowGroup) -> Result<Option<Sizes>, ScenarioError> {
    let Some(name) = &group.sizes else { return Ok(group.size.map(Sizes::Fixed)) };
    let error = |reason: String| resolved.error(&format!("{key}.sizes"), reason);
    let drawn = |d: Distribution| Ok(Some(Sizes::Drawn(Arc::new(d))));
    if let Some(known) = sizes::BuiltIn::find(name) {
        return known.distribution().map_err(|e| error(e.to_string())).and_then(drawn);
    }
    let path = resolved.base_dir.join(name);
    let known = sizes::BUILT_IN.iter().map(|b| b.name).collect::<Vec<_>>().join(", ");
    let hint = format!("known: {known}; or the name of a file with lines `BYTES PERCENT`");
    let text = crate::inputs::text(&path).map_err(|e| {
        let reason = match e.kind() {
            io::ErrorKind::NotFound => format!("`{name}` is no known distribution, and no file"),
            io::ErrorKind::FileTooLarge => format!("`{name}` is too large for a distribution"),
            _ => format!("`{name}` cannot be read: {e}"),
        };
        error(reason).hint(hint.as_str())
    })?;
    Distribution::parse(&text).map_err(|e| error(format!("`{name}`: {e}"))).and_then(drawn)
}

fn who(layout: &Layout, key: &str, group: &FlowGroup) -> Result<Who, ScenarioError> {
    let resolved = &layout.resolved;
    let set = |name: &str, hosts: Option<&crate::file::Hosts>| match hosts {
        None => Ok((0..layout.index.hosts()).map(HostId).collect()),
        Some(hosts) => hosts::expand(hosts, &layout.index)
            .map_err(|(reason, hint)| resolved.error(&format!("{key}.{name}"), reason).hint(hint)),
    };
    let (from, to): (Vec<HostId>, Vec<HostId>) = (set("from", group.from.as_ref())?, set("to", group.to.as_ref())?);
    let fail =
        |name: &str, reason: String, hint: &str| Err(resolved.error(&format!("{key}.{name}"), reason).hint(hint));
    for (name, hosts) in [("from", &from), ("to", &to)] {
        if hosts.is_empty() {
            return fail(name, "no hosts".into(), "as in 0, \"h3\", \"0..7\" or \"all\"");
        }
    }
    match group.pattern {
        Pattern::Matrix => weighted(layout, key, group, from),
        Pattern::Permutation | Pattern::Random | Pattern::Clusters | Pattern::Incast => {
            let mut receivers = to.clone();
            for (name, hosts) in [("from", &mut from.clone()), ("to", &mut receivers)] {
                hosts.sort_unstable();
                if let Some(twice) = hosts.windows(2).find(|w| w[0] == w[1]) {
                    return fail(name, format!("{} is named twice", layout.name(twice[0])), "name each host once");
                }
            }
            if group.pattern == Pattern::Incast {
                let crowd = Crowd { from: from.into(), to: to.into(), fan_in: group.fan_in.unwrap_or(1) };
                return match crowd.short() {
                    Some(host) => {
                        let beside = crowd.from.len() - usize::from(crowd.from.contains(&host));
                        let reason =
                            format!("{} senders, but only {beside} beside {}", crowd.fan_in, layout.name(host));
                        fail("fan_in", reason, "fewer, or more hosts in `from`")
                    }
                    None => Ok(Who::Incast(crowd)),
                };
            }
            if group.pattern == Pattern::Clusters {
                let sets = clusters(layout, key, group, &from)?;
                return Ok(Who::Random(sets.map(|set| (set.to_vec(), set.into())).collect()));
            }
            if group.pattern == Pattern::Random {
                let alone = from.iter().find(|h| to.len() == 1 && to[0] == **h);
                return match alone {
                    Some(host) => {
                        fail("to", format!("{} could send to nobody but itself", layout.name(*host)), "add receivers")
                    }
                    None => Ok(Who::Random(vec![(from, to.into())])),
                };
            }
            let mut senders = from.clone();
            senders.sort_unstable();
            if group.to.is_some() && senders != receivers {
                return fail("to", "a permutation is within one set".into(), "leave `to` out");
            }
            if from.len() < 2 {
                return fail("from", "a permutation needs at least 2 hosts".into(), "as in \"0..7\"");
            }
            Ok(Who::Permutation(from))
        }
        Pattern::Pairs | Pattern::AllToAll | Pattern::Gather => {
            let pairs = match group.pattern {
                Pattern::Gather => {
                    let sets = clusters(layout, key, group, &from)?;
                    sets.flat_map(|set| set[1..].iter().map(|from| (*from, set[0]))).collect()
                }
                _ => pairs(layout, key, group, &from, &to)?,
            };
            if group.arrivals != Arrivals::Once {
                let mut seen = HashSet::with_capacity(pairs.len());
                if let Some((src, dst)) = pairs.iter().find(|pair| !seen.insert(**pair)) {
                    let reason = format!("{} sends to {} twice", layout.name(*src), layout.name(*dst));
                    return fail("from", reason, "give the pair a higher load instead");
                }
            }
            let ways = ways(layout, key, group, &pairs)?;
            Ok(Who::Pairs(pairs, ways))
        }
    }
}

/// The clusters of a group.
fn clusters<'a>(
    layout: &Layout,
    key: &str,
    group: &FlowGroup,
    from: &'a [HostId],
) -> Result<std::slice::Chunks<'a, HostId>, ScenarioError> {
    let size = group.cluster.unwrap_or(1) as usize;
    if size < 2 || !from.len().is_multiple_of(size) {
        let reason = format!("{} hosts cannot be divided into clusters of {size}", from.len());
        let error = layout.resolved.error(&format!("{key}.cluster"), reason);
        return Err(error.hint("2 or more, and as many as divide the hosts of `from`"));
    }
    Ok(from.chunks(size))
}

/// Senders with the receivers of a matrix.
fn weighted(layout: &Layout, key: &str, group: &FlowGroup, from: Vec<HostId>) -> Result<Who, ScenarioError> {
    let name = group.matrix.as_deref().unwrap_or_default();
    let matrix = matrix::read(&layout.resolved.base_dir.join(name), name, &layout.index).map_err(|error| {
        // An error within the file is reported there.
        match error.file {
            Some(_) => error,
            None => ScenarioError { hint: error.hint, ..layout.resolved.error(&format!("{key}.matrix"), error.reason) },
        }
    })?;
    let from = if group.from.is_some() { from } else { matrix.keys().copied().collect() };
    let mut seen = HashSet::with_capacity(from.len());
    for host in &from {
        let reason = match (matrix.contains_key(host), seen.insert(*host)) {
            (true, true) => continue,
            (true, false) => format!("{} is named twice", layout.name(*host)),
            (false, _) => format!("the matrix has no receiver for {}", layout.name(*host)),
        };
        return Err(layout
            .resolved
            .error(&format!("{key}.from"), reason)
            .hint("senders are hosts with weights of their own"));
    }
    if from.is_empty() {
        return Err(layout
            .resolved
            .error(&format!("{key}.matrix"), "has no pair with a weight")
            .hint("SRC,DST,WEIGHT"));
    }
    Ok(Who::Matrix(from, matrix))
}

fn pairs(
    layout: &Layout,
    key: &str,
    group: &FlowGroup,
    from: &[HostId],
    to: &[HostId],
) -> Result<Vec<(HostId, HostId)>, ScenarioError> {
    let fail = |name: &str, reason: String, hint: &str| {
        Err(layout.resolved.error(&format!("{key}.{name}"), reason).hint(hint))
    };
    let pairs: Vec<(HostId, HostId)> = if group.pattern == Pattern::AllToAll {
        if from.len().saturating_mul(to.len()) > MOST {
            let reason = format!("{} pairs are too many, {MOST} are possible", from.len() as u64 * to.len() as u64);
            return fail("pattern", reason, "pattern = \"random\" with arrivals = \"poisson\" needs no list of pairs");
        }
        from.iter().flat_map(|f| to.iter().filter(move |t| *t != f).map(|t| (*f, *t))).collect()
    } else {
        match (from.len(), to.len()) {
            (n, m) if n == m => from.iter().copied().zip(to.iter().copied()).collect(),
            (1, _) => to.iter().map(|t| (from[0], *t)).collect(),
            (_, 1) => from.iter().map(|f| (*f, to[0])).collect(),
            (n, m) => {
                let hint = "as many as senders, or one; pattern = \"all-to-all\" pairs each with each";
                return fail("to", format!("{n} senders but {m} receivers"), hint);
            }
        }
    };
    // "all" means all others.
    let loose = hosts::is_all(group.from.as_ref()) != hosts::is_all(group.to.as_ref());
    if loose {
        return Ok(pairs.into_iter().filter(|(f, t)| f != t).collect());
    }
    match pairs.iter().find(|(f, t)| f == t) {
        Some((host, _)) => fail(
            "to",
            format!("{} would send to itself", layout.name(*host)),
            "source and destination are different hosts",
        ),
        None => Ok(pairs),
    }
}
