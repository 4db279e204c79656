//! `[[flow]]`: a few flows are written out, many are a table.

use super::cdf;
use super::flow::{List, Row};
use super::paths::Ways;
use crate::error::ImportError;
use crate::family::Work;
use crate::graph::{Fabric, Graph};
use crate::scenario_writer::ScenarioWriter;
use crate::source::Source;
use crate::tables::{Flow, Flows};
use crate::units::{size, time};
use std::collections::{BTreeMap, HashSet};
use std::io::Write;

/// The label of a group of all flows.
const LABEL: &str = "flows";

/// Most flows that are written out, each with its hosts by name.
const FEW: usize = 16;

/// A list of flows and its network.
pub struct Known<'a> {
    /// The list.
    pub flows: &'a List,
    /// Its file.
    pub list: &'a Source,
    /// The network.
    pub graph: &'a Graph,
    /// The names of its nodes.
    pub fabric: &'a Fabric,
    /// The time of the file that becomes 0 s.
    pub start: u64,
}

/// A flow with the names of the nodes on its paths, hosts included.
struct One {
    row: Row,
    src: u32,
    dst: u32,
    way: Option<Vec<String>>,
    back: Option<Vec<String>>,
}

impl Known<'_> {
    /// Writes the flows; `ways` are the paths of some of them, by number. Returns the labels of the groups.
    pub fn write(
        &self,
        ways: Option<(&Source, BTreeMap<u64, Ways>)>,
        work: &mut Work<'_>,
        writer: &mut ScenarioWriter,
    ) -> Result<Vec<String>, ImportError> {
        let flows = &self.flows.rows;
        let name = self.list.name();
        if self.flows.ports {
            let text = "dport: that code hashes the ports of flows for ECMP; here the flow's number is hashed";
            work.notes.ignored(name, flows.first().map(|row| row.line), text);
        }
        if flows.iter().any(|row| row.start_ps % 1000 != 0) {
            work.notes.differs(name, None, "starts between whole nanoseconds: that code cuts them off");
        }
        let mut links = None;
        if let Some((source, ways)) = &ways {
            if let Some((flow, ways)) = ways.iter().find(|(flow, _)| **flow >= flows.len() as u64) {
                let reason = format!("there is no flow {flow}: the list has {}", flows.len());
                return Err(source.error(reason).line(ways.line).hint("flows are counted from 0"));
            }
            links = Some(self.graph.links.iter().flat_map(|l| [(l.a, l.b), (l.b, l.a)]).collect::<HashSet<_>>());
        } else if !flows.is_empty() {
            let text = "equal ways: that code chooses by a hash of addresses and of where its memory lies, here each seed chooses anew; \
                        a file of ways pins them";
            work.notes.differs(name, None, text);
        }
        // If the caller gives a fabric, the scenario's check compares them.
        if work.fabric.is_none() {
            let joined = self.graph.joined();
            let apart = |row: &&Row| {
                let hosts = [row.src, row.dst].iter().all(|node| self.fabric.host(*node).is_some());
                hosts && !joined.are(row.src, row.dst)
            };
            if let Some(row) = flows.iter().find(apart) {
                let reason = format!("no links of the topology join node {} and node {}", row.src, row.dst);
                return Err(self
                    .list
                    .error(reason)
                    .line(row.line)
                    .hint("add a link to the topology, or leave the flow out"));
            }
        }
        let one = |(number, row): (u64, &Row)| -> Result<One, ImportError> {
            let known = ways.as_ref().and_then(|(source, ways)| Some((*source, ways.get(&number)?)));
            let pinned = |nodes: &[u32], ends: [u32; 2]| match (&known, &links) {
                (Some((source, ways)), Some(links)) => self.pinned(nodes, ends, links, source, ways.line).map(Some),
                _ => Ok(None),
            };
            let (way, back) = match &known {
                Some((_, ways)) => (
                    pinned(&ways.data, [row.src, row.dst])?,
                    match &ways.ack {
                        Some(ack) => pinned(ack, [row.dst, row.src])?,
                        None => None,
                    },
                ),
                None => (None, None),
            };
            Ok(One { row: *row, src: self.host(row.src, row)?, dst: self.host(row.dst, row)?, way, back })
        };
        if flows.len() <= FEW {
            let all: Vec<One> = (0u64..).zip(flows).map(one).collect::<Result<_, _>>()?;
            return Ok(self.write_few(&all, writer));
        }
        let class = self.flows.rows.first().map_or(3, |row| row.class);
        let one_class = flows.iter().all(|row| row.class == class);
        let mut table = Flows::new(format!("{}.flows", work.stem));
        let inner = |way: Option<Vec<String>>| way.map(|way| way[1..way.len() - 1].join(" "));
        for (id, row) in (0u64..).zip(flows) {
            let one = one((id, row))?;
            let start_ps = row.start_ps - self.start;
            let class = (!one_class).then_some(row.class);
            let (path, ack_path) = (inner(one.way), inner(one.back));
            let flow = Flow { id, src: one.src, dst: one.dst, bytes: row.bytes, start_ps, class, path, ack_path };
            table.add(flow, work.place)?;
        }
        let table = table.finish(work.place)?;
        writer.head("[[flow]]").key("label", LABEL).key("table", table);
        if one_class && class != 3 {
            writer.key("class", i64::from(class));
        }
        Ok(vec![LABEL.to_owned()])
    }

    fn host(&self, node: u32, row: &Row) -> Result<u32, ImportError> {
        self.fabric.host(node).ok_or_else(|| {
            let what = if self.graph.is_switch(node) { "is a switch" } else { "is not in the topology" };
            self.list.error(format!("node {node} {what}")).line(row.line).hint("flows lead from host to host")
        })
    }

    fn pinned(
        &self,
        nodes: &[u32],
        [from, to]: [u32; 2],
        links: &HashSet<(u32, u32)>,
        source: &Source,
        line: u64,
    ) -> Result<Vec<String>, ImportError> {
        let fail = |reason: String| Err(source.error(reason).line(line));
        if nodes.len() < 3 || nodes.first() != Some(&from) || nodes.last() != Some(&to) {
            return fail(format!("is no way from node {from} to node {to}"));
        }
        if let Some(gap) = nodes.windows(2).find(|two| !links.contains(&(two[0], two[1]))) {
            return fail(format!("there is no link between the nodes {} and {}", gap[0], gap[1]));
        }
        let unique: HashSet<&u32> = nodes.iter().collect();
        if unique.len() < nodes.len() {
            return fail("passes a node twice".into());
        }
        Ok(nodes.iter().map(|node| self.fabric.name(*node)).collect())
    }

    /// A `[[flow]]` for each run of flows with the same receiver, size and start. Returns their labels.
    fn write_few(&self, flows: &[One], writer: &mut ScenarioWriter) -> Vec<String> {
        let alike = |a: &One, b: &One| {
            let key = |one: &One| {
                let Row { bytes, start_ps, class, .. } = one.row;
                (one.dst, bytes, start_ps, class, one.way.is_some(), one.back.is_some())
            };
            key(a) == key(b)
        };
        let mut labels = Vec::new();
        let mut rest = flows;
        while let [first, ..] = rest {
            let mut count = 1;
            while let Some(next) = rest.get(count) {
                if !alike(first, next) || rest[..count].iter().any(|one| one.src == next.src) {
                    break;
                }
                count += 1;
            }
            let (group, others) = rest.split_at(count);
            rest = others;
            let from: Vec<String> = group.iter().map(|one| self.fabric.name(one.row.src)).collect();
            let to = self.fabric.name(first.row.dst);
            let label = match from.as_slice() {
                [one] => format!("{one} to {to}"),
                _ => format!("incast at {to}"),
            };
            let label = another(label, &labels);
            writer.head("[[flow]]").key("label", label.clone());
            labels.push(label);
            match from.as_slice() {
                [one] => writer.key("from", one.clone()),
                _ => writer.key("from", from),
            };
            writer.key("to", to).key("size", size(first.row.bytes));
            if first.row.start_ps > self.start {
                writer.key("start", time(first.row.start_ps - self.start));
            }
            if first.row.class != 3 {
                writer.key("class", i64::from(first.row.class));
            }
            let ways = |of: fn(&One) -> Option<Vec<String>>| -> Option<toml::Value> {
                let mut ways: Vec<toml::Value> =
                    group.iter().map(|one| of(one).map(toml::Value::from)).collect::<Option<_>>()?;
                Some(if ways.len() == 1 { ways.remove(0) } else { ways.into() })
            };
            if let Some(ways) = ways(|one| one.way.clone()) {
                writer.key("path", ways);
            }
            if let Some(ways) = ways(|one| one.back.clone()) {
                writer.key("ack_path", ways);
            }
        }
        labels
    }
}

/// A unique label: the same with a number from 2 if it exists already.
fn another(label: String, labels: &[String]) -> String {
    let same = |other: &&String| {
        other.strip_prefix(label.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(" ("))
    };
    match labels.iter().filter(same).count() {
        0 => label,
        before => format!("{label} ({})", before + 1),
    }
}

/// `[[flow]]` with sizes from a distribution, between random hosts. Returns its label.
pub fn drawn(source: &Source, work: &mut Work<'_>, writer: &mut ScenarioWriter) -> Result<String, ImportError> {
    let cdf = cdf::parse(source.name(), &source.text()?)?;
    if let Some(line) = cdf.steps {
        let text = "several shares for one size: here the step lies between that size and the octet before";
        work.notes.differs(source.name(), Some(line), text);
    }
    let name = format!("{}.sizes.txt", work.stem);
    let written = work.place.create(&name).and_then(|mut file| {
        file.write_all(cdf.text().as_bytes())?;
        file.flush()
    });
    written.map_err(|error| ImportError::new(format!("cannot be written: {error}")).file(&name))?;
    let text = "who sends, how much, and for how long: each host to random ones, 30 % of its link in payload, for 1 ms";
    work.notes.assumed(source.name(), None, text);
    writer.head("[[flow]]").key("label", LABEL).key("pattern", "random").key("sizes", name);
    writer.key("arrivals", "poisson").key("load", "30 %").key("load_counts", "payload").key("until", "1 ms");
    Ok(LABEL.to_owned())
}
