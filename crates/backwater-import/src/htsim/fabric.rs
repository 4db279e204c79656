//! The fabric of htsim's programs: a fat tree from a file, or the one for a number of hosts.

use super::command::Command;
use super::topo::{Tier, Topology};
use crate::error::ImportError;
use crate::note::Notes;
use crate::scenario_writer::ScenarioWriter;
use crate::units::{rate, time};

/// A tier's switches and the links below them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Rate of the links below, in b/s.
    pub bps: u64,
    /// Their delay, in ps.
    pub delay_ps: u64,
    /// Latency of the switches, in ps.
    pub latency_ps: u64,
}

/// Two or three tiers of switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fabric {
    /// Pods; one with two tiers.
    pub pods: u32,
    /// ToRs of a pod.
    pub tors: u32,
    /// Aggregation switches of a pod; with two tiers the spines.
    pub aggs: u32,
    /// Core switches in all; 0 with two tiers.
    pub cores: u32,
    /// Hosts of a ToR.
    pub hosts: u32,
    /// Parallel links between a ToR and an aggregation switch.
    pub bundle: u32,
    /// Parallel links between an aggregation switch and a core.
    pub core_bundle: u32,
    /// From the ToRs up.
    pub layers: Vec<Layer>,
}

impl Fabric {
    /// The fat tree of k with so many hosts: k^3 / 4 in three tiers, k^2 / 2 in two.
    pub fn of_hosts(nodes: u32, command: &Command, file: &str) -> Result<Fabric, ImportError> {
        let hosts = |tiers: u64, k: u64| if tiers == 3 { k * k * k / 4 } else { k * k / 2 };
        let of = |k: u64| hosts(command.tiers, k);
        let k = (1..=4000u64).find(|k| of(*k) >= u64::from(nodes)).unwrap_or(4000);
        // An odd k has no halves.
        if of(k) != u64::from(nodes) || k % 2 == 1 {
            let formula =
                if command.tiers == 3 { "k^3 / 4 (2, 16, 54, 128, …)" } else { "k^2 / 2 (2, 8, 18, 32, …)" };
            let reason = format!("a fat tree of {} tiers has {formula} hosts, not {nodes}", command.tiers);
            // The host numbers of the even k on both sides.
            let above = k + k % 2;
            let sizes = [above.saturating_sub(2), above].map(of);
            let sizes: Vec<String> = sizes.iter().filter(|size| **size > 0).map(u64::to_string).collect();
            let other = 5 - command.tiers;
            let tiers = match (1..=2000u64).any(|half| hosts(other, 2 * half) == u64::from(nodes)) {
                true => format!("--command \"... -tiers {other}\" has {nodes} hosts, or "),
                false => String::new(),
            };
            let hint = format!(
                "{tiers}give the topology file beside it; the next sizes with {} tiers: {}",
                command.tiers,
                sizes.join(", ")
            );
            return Err(ImportError::new(reason).file(file).hint(hint));
        }
        let (half, k) = (k as u32 / 2, k as u32);
        let layer = Layer {
            bps: command.linkspeed_bps,
            delay_ps: command.hop_latency_ps,
            latency_ps: command.switch_latency_ps,
        };
        let layers = vec![layer; command.tiers as usize];
        Ok(if command.tiers == 3 {
            Fabric {
                pods: k,
                tors: half,
                aggs: half,
                cores: half * half,
                hosts: half,
                bundle: 1,
                core_bundle: 1,
                layers,
            }
        } else {
            Fabric { pods: 1, tors: k, aggs: half, cores: 0, hosts: half, bundle: 1, core_bundle: 1, layers }
        })
    }

    /// The fabric of a file. The command line determines missing rates and delays.
    pub fn of_file(
        topology: &Topology,
        command: &Command,
        file: &str,
        notes: &mut Notes,
    ) -> Result<Fabric, ImportError> {
        let fail = |line: u64, reason: String| ImportError::new(reason).file(file).line(line);
        let whole = |line: u64, a: u64, b: u64, what: &str| match (b, a.checked_rem(b)) {
            (_, Some(0)) => u32::try_from(a / b).map_err(|_| fail(line, format!("too many {what}"))),
            _ => Err(fail(line, format!("{a} / {b} {what} is no whole number"))),
        };
        let [tor, agg, ..] = topology.tiers.as_slice() else { return Err(ImportError::new("no tiers").file(file)) };
        let radix = |tier: &Tier, of: fn(&Tier) -> Option<u32>, name: &str| {
            of(tier).filter(|n| *n > 0).map(u64::from).ok_or_else(|| fail(tier.line, format!("{name} is missing")))
        };
        for tier in &topology.tiers {
            for (line, key) in &tier.queues {
                let text = "queue sizes of the file: the programs set all queues by -q";
                notes.unread(file, Some(*line), key, text);
            }
        }
        let (down, up) = (radix(tor, |t| t.radix_down, "Radix_Down")?, radix(tor, |t| t.radix_up, "Radix_Up")?);
        if tor.bundle.is_some_and(|links| links > 1) {
            let hint = "one link of the bundle's rate";
            return Err(fail(tor.line, "several links to each host cannot be imported".into()).hint(hint));
        }
        let bundle = u64::from(agg.bundle.unwrap_or(1));
        let pods = whole(1, topology.nodes.into(), topology.pod.into(), "pods")?;
        let tors = whole(tor.line, topology.pod.into(), down, "ToRs of a pod")?;
        let aggs = whole(agg.line, up, bundle, "aggregation switches of a pod")?;
        let agg_down = radix(agg, |t| t.radix_down, "Radix_Down")?;
        if agg_down != u64::from(tors) * bundle {
            return Err(fail(
                agg.line,
                format!("Radix_Down of {agg_down}, and {tors} ToRs with {bundle} links each are below"),
            ));
        }
        let (mut cores, mut core_bundle) = (0, 1);
        if let Some(core) = topology.tiers.get(2) {
            core_bundle = u64::from(core.bundle.unwrap_or(1));
            let up = radix(agg, |t| t.radix_up, "Radix_Up")?;
            let group = whole(agg.line, up, core_bundle, "core switches of an aggregation switch")?;
            cores = group.checked_mul(aggs).ok_or_else(|| fail(agg.line, "too many core switches".into()))?;
            let down = radix(core, |t| t.radix_down, "Radix_Down")?;
            if down != u64::from(pods) * core_bundle {
                return Err(fail(
                    core.line,
                    format!("Radix_Down of {down}, and {pods} pods with {core_bundle} links each are below"),
                ));
            }
        }
        for (tier, below, above) in [(tor, down, up), (agg, agg_down, agg.radix_up.unwrap_or(0).into())] {
            if let Some(reported) = tier.oversubscribed.filter(|_| above > 0)
                && u64::from(reported) != below / above.max(1)
            {
                return Err(fail(
                    tier.line,
                    format!("Oversubscribed {reported}, and {below} ports down on {above} up are not that"),
                ));
            }
        }
        let layer = |tier: &Tier| Layer {
            bps: tier.downlink_gbps.map_or(command.linkspeed_bps, |gbps| gbps * 1_000_000_000),
            delay_ps: tier.link_latency_ns.map_or(command.hop_latency_ps, |ns| ns * 1000),
            latency_ps: tier.switch_latency_ns.map_or(command.switch_latency_ps, |ns| ns * 1000),
        };
        let layers = topology.tiers.iter().map(layer).collect();
        let (bundle, core_bundle) = (bundle as u32, core_bundle as u32);
        Ok(Fabric { pods, tors, aggs, cores, hosts: down as u32, bundle, core_bundle, layers })
    }

    /// The core switch at the upper end of a link of an aggregation switch. Those programs connect the j-th of a pod to the cores j, j + A,
    /// j + 2 A, …, with A a pod; here they are the j-th group.
    pub fn core_above(&self, agg: u32, link: u32) -> u32 {
        agg % self.aggs * (self.cores / self.aggs) + link
    }

    /// The links that `-failed` slows down: for aggregation switch a and its link l those with l + a A below the number, with A aggregation
    /// switches in a pod; a bundle counts as one. By switch, the cores at their upper ends.
    pub fn slow_links(&self, number: u64) -> Vec<(u32, Vec<u32>)> {
        let up = self.cores.checked_div(self.aggs).unwrap_or(0);
        let slow = |agg: u32, link: &u32| u64::from(*link) + u64::from(agg) * u64::from(self.aggs) < number;
        let of = |agg: u32| (0..up).filter(|link| slow(agg, link)).map(|link| self.core_above(agg, link)).collect();
        let all = (0..self.pods * self.aggs).map(|agg| (agg, of(agg)));
        all.filter(|(_, cores): &(u32, Vec<u32>)| !cores.is_empty()).collect()
    }

    /// Returns the factor by which its tiers take more from below than they pass upwards: the product over such tiers, 1 without any.
    pub fn oversubscription(&self) -> f64 {
        let up = |links: u32, at: usize| f64::from(links) * self.layers.get(at).map_or(0.0, |layer| layer.bps as f64);
        let ratio = |below: f64, above: f64| if above > 0.0 { (below / above).max(1.0) } else { 1.0 };
        let per_agg = self.cores.checked_div(self.aggs).unwrap_or(0);
        let tor = ratio(up(self.hosts, 0), up(self.aggs * self.bundle, 1));
        tor * ratio(up(self.tors * self.bundle, 1), up(per_agg * self.core_bundle, 2))
    }

    /// Delays of the links and latencies of the switches of the longest path, in one direction, in ps.
    pub fn one_way_ps(&self) -> u64 {
        let top = self.layers.len().saturating_sub(1);
        let of = |(at, layer): (usize, &Layer)| 2 * layer.delay_ps + if at == top { 1 } else { 2 } * layer.latency_ps;
        self.layers.iter().enumerate().map(of).sum()
    }

    /// `[topology]`.
    pub fn write(&self, writer: &mut ScenarioWriter) {
        writer.head("[topology]");
        let [edge, fabric, rest @ ..] = self.layers.as_slice() else { return };
        let other = |writer: &mut ScenarioWriter, names: [&str; 2], own: &Layer, below: &Layer| {
            if own.bps != below.bps {
                writer.key(names[0], rate(own.bps));
            }
            if own.delay_ps != below.delay_ps {
                writer.key(names[1], time(own.delay_ps));
            }
        };
        if let [core] = rest {
            writer.key("kind", "fat-tree").key("pods", self.pods).key("tors_per_pod", self.tors);
            writer.key("aggs_per_pod", self.aggs).key("cores", self.cores).key("hosts_per_tor", self.hosts);
            writer.key("rate", rate(edge.bps)).key("link_delay", time(edge.delay_ps));
            other(writer, ["fabric_rate", "fabric_delay"], fabric, edge);
            other(writer, ["core_rate", "core_delay"], core, fabric);
            if self.core_bundle > 1 {
                writer.key("core_links_per_pair", self.core_bundle);
            }
        } else {
            writer.key("kind", "leaf-spine").key("leaves", self.pods * self.tors).key("spines", self.aggs);
            writer.key("hosts_per_leaf", self.hosts);
            writer.key("rate", rate(edge.bps)).key("link_delay", time(edge.delay_ps));
            other(writer, ["fabric_rate", "fabric_delay"], fabric, edge);
        }
        if self.bundle > 1 {
            writer.key("links_per_pair", self.bundle);
        }
    }

    /// The latencies of the switches: the ToRs' for all, and `[[switch.at]]` for other tiers.
    pub fn write_latencies(&self, writer: &mut ScenarioWriter) {
        let names = if self.layers.len() == 3 { ["tor", "agg", "core"] } else { ["leaf", "spine", ""] };
        let Some(first) = self.layers.first() else { return };
        for (layer, name) in
            self.layers.iter().zip(names).skip(1).filter(|(layer, _)| layer.latency_ps != first.latency_ps)
        {
            writer.head("[[switch.at]]").key("tier", name).key("latency", time(layer.latency_ps));
        }
    }
}
