//! Flows, jobs and faults for a network.

use super::super::case::Case;
use super::super::dice::Dice;
use super::{schema, values};
use backwater_net::topology::{Graph, Link, NodeKind};
use backwater_net::workload::sizes::BUILT_IN;
use backwater_net::{Bytes, Rate};
use serde_json::{Map, Value as Json, json};
use std::collections::VecDeque;

/// Shapes of flow groups: pattern, and when flows arrive. The empty pattern is a table.
const SHAPES: [(&str, &str); 22] = [
    ("pairs", "once"),
    ("pairs", "once"),
    ("pairs", "once"),
    ("pairs", "periodic"),
    ("pairs", "poisson"),
    ("pairs", "bernoulli"),
    ("all-to-all", "once"),
    ("all-to-all", "bernoulli"),
    ("all-to-all", "poisson"),
    ("permutation", "once"),
    ("permutation", "poisson"),
    ("permutation", "bernoulli"),
    ("random", "poisson"),
    ("random", "periodic"),
    ("clusters", "poisson"),
    ("gather", "once"),
    ("matrix", "poisson"),
    ("matrix", "periodic"),
    ("incast", "once"),
    ("incast", "poisson"),
    ("incast", "periodic"),
    ("", "once"),
];

pub struct Network<'a> {
    graph: &'a Graph,
    pub(super) dice: &'a mut Dice,
    hosts: Vec<usize>,
}

impl<'a> Network<'a> {
    pub fn new(graph: &'a Graph, dice: &'a mut Dice) -> Network<'a> {
        let hosts = (0..graph.nodes.len()).filter(|n| graph.nodes[*n].kind == NodeKind::Host).collect();
        Network { graph, dice, hosts }
    }

    fn name(&self, node: usize) -> &str {
        &self.graph.nodes[node].name
    }

    fn is_host(&self, name: &str) -> bool {
        self.hosts.iter().any(|host| self.name(*host) == name)
    }

    fn host(&mut self) -> usize {
        self.hosts[self.dice.between(0, self.hosts.len() as u64 - 1) as usize]
    }

    /// Two different hosts.
    fn two(&mut self) -> (usize, usize) {
        let from = self.host();
        loop {
            let to = self.host();
            if to != from {
                return (from, to);
            }
        }
    }

    fn names(&self, nodes: &[usize]) -> Vec<String> {
        nodes.iter().map(|node| self.name(*node).to_owned()).collect()
    }

    fn size(&mut self) -> String {
        let least = if self.dice.chance(0.1) { 1 } else { 500 };
        format!("{} B", self.dice.log_whole(least, 200_000))
    }

    /// A shortest path, one of several at random.
    fn way(&mut self, from: usize, to: usize) -> Vec<String> {
        let mut neighbours: Vec<Vec<usize>> = vec![Vec::new(); self.graph.nodes.len()];
        for link in &self.graph.links {
            neighbours[link.a.0 as usize].push(link.b.0 as usize);
            neighbours[link.b.0 as usize].push(link.a.0 as usize);
        }
        let mut far = vec![usize::MAX; self.graph.nodes.len()];
        far[to] = 0;
        let mut queue = VecDeque::from([to]);
        while let Some(node) = queue.pop_front() {
            for next in &neighbours[node] {
                if far[*next] == usize::MAX {
                    far[*next] = far[node] + 1;
                    queue.push_back(*next);
                }
            }
        }
        let mut way = vec![from];
        let mut at = from;
        while at != to {
            let nearer: Vec<usize> = neighbours[at].iter().copied().filter(|n| far[*n] < far[at]).collect();
            at = nearer[self.dice.between(0, nearer.len() as u64 - 1) as usize];
            way.push(at);
        }
        self.names(&way)
    }

    /// Interfaces with differences.
    pub fn nic(&mut self, case: &mut Case) {
        if self.dice.chance(0.1) {
            let host = self.host();
            let key = self.dice.pick(&["control_delay", "issue"]);
            let most = if key == "issue" { 2_000 } else { 20_000 };
            let time = format!("{} ns", self.dice.log_whole(100, most));
            case.set("nic.at", json!([{ "hosts": [self.name(host)], key: time }]));
        }
    }

    pub fn flows(&mut self, case: &mut Case) {
        let number = self.dice.one(&[0, 1, 1, 2, 2, 3, 4]);
        let groups: Vec<Json> = (0..number).map(|n| Json::Object(self.group(case, n, number))).collect();
        if !groups.is_empty() {
            case.tree.insert("flow".into(), Json::Array(groups));
        }
    }

    fn group(&mut self, case: &mut Case, number: u64, of: u64) -> Map<String, Json> {
        let mut group = Map::new();
        let mut put = |key: &str, value: Json| group.insert(key.into(), value);
        let (pattern, arrivals) = SHAPES[self.dice.between(0, SHAPES.len() as u64 - 1) as usize];
        put("label", json!(if self.dice.chance(0.9) { format!("g{number}") } else { "g".into() }));
        put("class", json!(if self.dice.chance(0.75) { 3 } else { self.dice.between(0, 7) }));
        if self.dice.chance(0.2) {
            put("ect", json!(self.dice.chance(0.5)));
        }
        if pattern.is_empty() {
            let file = format!("flows{number}.csv");
            let text = self.flow_table(number);
            case.files.insert(file.clone(), text);
            put("table", json!(file));
            return group;
        }
        put("pattern", json!(pattern));
        put("arrivals", json!(arrivals));
        put("start", json!(format!("{} ns", self.dice.between(0, 20_000))));
        let (some, one) = (self.dice.some(&self.hosts, 0.5), self.host());
        let mut pinned = false;
        match pattern {
            "pairs" => {
                let mut from: Vec<usize> = some.iter().copied().filter(|host| *host != one).collect();
                let mut to = one;
                if from.is_empty() {
                    (from, to) = (vec![one], self.hosts[usize::from(one == self.hosts[0])]);
                }
                if self.dice.chance(0.3) {
                    let mut ways: Vec<Vec<String>> = from.iter().map(|from| self.way(*from, to)).collect();
                    let via = self.dice.chance(0.3);
                    if via {
                        ways.iter_mut().for_each(|way| way.retain(|name| !self.is_host(name)));
                    }
                    put(if via { "via" } else { "path" }, json!(ways));
                    pinned = true;
                }
                if self.dice.chance(0.15) {
                    let ways: Vec<Vec<String>> = from.iter().map(|from| self.way(to, *from)).collect();
                    put("ack_path", json!(ways));
                }
                put("from", json!(self.names(&from)));
                put("to", json!(self.name(to)));
            }
            "all-to-all" | "permutation" | "matrix" | "random" | "incast" if self.dice.chance(0.5) => {}
            "all-to-all" | "permutation" | "random" => {
                let some: Vec<usize> = some.into_iter().take(5).collect();
                if some.len() > 1 {
                    put("from", json!(self.names(&some)));
                    if pattern != "permutation" {
                        put("to", json!(self.names(&some)));
                    }
                }
            }
            "clusters" | "gather" => {
                let size = self.dice.between(2, 4).min(self.hosts.len() as u64);
                let whole = self.hosts.len() as u64 / size * size;
                let from = self.names(&self.hosts[..whole as usize]);
                put("from", json!(from));
                put("cluster", json!(size));
            }
            _ => {}
        }
        match pattern {
            "incast" => {
                put("fan_in", json!(self.dice.between(1, (self.hosts.len() as u64 - 1).min(6))));
            }
            "matrix" => {
                let file = format!("matrix{number}.csv");
                let rows: Vec<String> = (0..self.dice.between(1, 6))
                    .map(|_| {
                        let ((from, to), weight) = (self.two(), self.dice.between(1, 9));
                        format!("{},{},{weight}", self.name(from), self.name(to))
                    })
                    .collect();
                case.files.insert(file.clone(), format!("src,dst,weight\n{}\n", rows.join("\n")));
                put("matrix", json!(file));
            }
            _ => {}
        }
        if arrivals == "once" {
            put("size", json!(self.size()));
            if self.dice.chance(0.15) {
                put("count", json!(self.dice.between(1, 3)));
            }
        } else {
            let until = self.dice.between(2, 40);
            put("until", json!(format!("{until} us")));
            if arrivals == "bernoulli" {
                put("load", json!(format!("{} %", self.dice.between(5, 95 / of))));
                if self.dice.chance(0.4) {
                    put("queue", json!(self.dice.between(1, 6)));
                }
            } else {
                let mut size = None;
                match self.dice.one(&[0, 1, 2]) {
                    0 => put("sizes", json!(BUILT_IN[self.dice.between(0, BUILT_IN.len() as u64 - 1) as usize].name)),
                    1 => {
                        let file = format!("sizes{number}.txt");
                        case.files.insert(file.clone(), "100 20\n3000 70\n60000 100\n".into());
                        put("sizes", json!(file))
                    }
                    _ => {
                        let drawn = self.size();
                        size = drawn.parse::<Bytes>().ok();
                        put("size", json!(drawn))
                    }
                };
                match size.filter(|_| self.dice.chance(0.4)) {
                    None => put("load", json!(format!("{} %", self.dice.between(5, 95 / of)))),
                    // No host is offered more than its link carries, whatever other hosts send to it.
                    Some(size) => {
                        let slowest = self.graph.links.iter().map(Link::slowest).min().unwrap_or(Rate(1));
                        let least = slowest.time_for(size * 2 + Bytes(2_000)).0 / 1_000 * self.hosts.len() as u64 * of;
                        put(
                            "interval",
                            json!(format!("{} ns", self.dice.log_whole(least.max(500), least * 4 + 20_000))),
                        )
                    }
                };
                if self.dice.chance(0.2) {
                    put("load_counts", json!(self.dice.pick(&["wire", "payload"])));
                    put("load_of", json!(self.dice.pick(&["sources", "network"])));
                }
                if self.dice.chance(0.6) {
                    put("count", json!(self.dice.between(1, 4)));
                }
            }
        }
        if !pinned && self.dice.chance(0.1) {
            put("placement", json!("random"));
        }
        if self.dice.chance(0.1) {
            put("classes", json!([3, self.dice.between(0, 7)]));
        }
        if self.dice.chance(0.1) && arrivals != "bernoulli" {
            put("small_below", json!("10 KB"));
            put("small_class", json!(self.dice.between(0, 7)));
        }
        group
    }

    fn flow_table(&mut self, number: u64) -> String {
        let mut text = String::from("id,src,dst,bytes,start,class,path\n");
        for flow in 0..self.dice.between(1, 8) {
            let (from, to) = self.two();
            let path = if self.dice.chance(0.4) { self.way(from, to).join(" ") } else { String::new() };
            let class = if self.dice.chance(0.3) { self.dice.between(0, 7).to_string() } else { String::new() };
            let (start, bytes) = (self.dice.between(0, 20_000_000), self.dice.log_whole(1, 200_000));
            let (from, to) = (self.name(from), self.name(to));
            text.push_str(&format!("{},{from},{to},{bytes},{start},{class},{path}\n", number * 100 + flow));
        }
        text
    }

    pub fn jobs(&mut self, case: &mut Case) {
        let number =
            if case.tree.contains_key("flow") { self.dice.one(&[0, 0, 0, 1]) } else { self.dice.between(1, 2) };
        let mut jobs: Vec<Json> = (0..number).map(|n| Json::Object(self.job(n))).collect();
        if self.dice.chance(0.1) {
            jobs.push(Json::Object(self.graph(case, number)));
        }
        if !jobs.is_empty() {
            case.tree.insert("job".into(), Json::Array(jobs));
        }
    }

    /// A job of steps.
    fn job(&mut self, number: u64) -> Map<String, Json> {
        let (mut job, ranks) = self.members(number);
        let mut put = |key: &str, value: Json| job.insert(key.into(), value);
        put("rounds", json!(self.dice.between(1, 3)));
        put("rounds_in_flight", json!(self.dice.one(&[1, 1, 2, 3])));
        put("complete_at", json!(self.dice.pick(&["last-byte", "last-ack"])));
        let per_server = job.get("ranks_per_server").and_then(Json::as_u64).unwrap_or(1);
        let mut steps: Vec<Map<String, Json>> = Vec::new();
        for number in 0..self.dice.between(1, 4) {
            let mut step = self.step(number, ranks, per_server);
            if step.get("kind") == Some(&json!("combine")) {
                self.combine(&mut step, &steps);
            }
            steps.push(step);
        }
        job.insert("step".into(), steps.into_iter().map(Json::Object).collect());
        job
    }

    /// A job without work, and its ranks.
    pub(super) fn members(&mut self, number: u64) -> (Map<String, Json>, u64) {
        let mut job = Map::new();
        let mut put = |key: &str, value: Json| job.insert(key.into(), value);
        let hosts = self.hosts.len() as u64;
        let per_server = self.dice.one(&[1, 1, 1, 2]);
        let instances = if self.dice.chance(0.2) { 2 } else { 1 };
        let servers = (hosts / instances / per_server).clamp(1, 8);
        let ranks = if servers >= 4 && self.dice.chance(0.5) { 4 } else { self.dice.between(2.min(servers), servers) }
            * per_server;
        put("label", json!(format!("j{number}")));
        put("ranks", json!(ranks));
        put("instances", json!(instances));
        put("ranks_per_server", json!(per_server));
        let placement = self.dice.pick(&["consecutive", "strided", "random"]);
        put("placement", json!(placement));
        if placement == "strided" && self.dice.chance(0.4) {
            put("stride", json!(self.dice.between(1, (servers / (ranks / per_server)).max(1))));
        }
        if self.dice.chance(0.2) {
            put("ect", json!(self.dice.chance(0.5)));
        }
        if self.dice.chance(0.2) {
            // As many as are needed, at least.
            let least = (ranks * instances).min(hosts) as usize;
            let begin = self.dice.between(0, hosts - least as u64) as usize;
            put("hosts", json!(self.names(&self.hosts[begin..begin + least])));
        }
        put("class", json!(if self.dice.chance(0.8) { 3 } else { self.dice.between(0, 7) }));
        put("start", json!(format!("{} ns", self.dice.between(0, 5_000))));
        if self.dice.chance(0.6) {
            put("start_latency", json!(format!("{} ns", self.dice.log_whole(1, 5_000))));
        }
        (job, ranks)
    }

    /// A combine refers to a dispatch before it, among the same ranks; without such a dispatch the ranks compute.
    fn combine(&mut self, step: &mut Map<String, Json>, before: &[Map<String, Json>]) {
        let dispatch = before.iter().rev().find(|step| step.get("kind") == Some(&json!("dispatch")));
        for key in ["group_size", "group_stride"] {
            step.shift_remove(key);
        }
        match dispatch {
            Some(dispatch) => {
                step.insert("of".into(), dispatch["label"].clone());
                let same = ["group_size", "group_stride"]
                    .into_iter()
                    .filter_map(|key| Some((key.to_owned(), dispatch.get(key)?.clone())));
                step.extend(same);
            }
            None => {
                step.shift_remove("size");
                step.insert("kind".into(), json!("compute"));
                step.insert("time".into(), json!(format!("{} ns", self.dice.between(0, 5_000))));
            }
        }
    }

    fn step(&mut self, number: u64, ranks: u64, per_server: u64) -> Map<String, Json> {
        let kinds = schema().pointer("/properties/job/items/properties/step/items/properties/kind/oneOf");
        let kinds = kinds.and_then(Json::as_array).into_iter().flatten();
        let kinds: Vec<&str> = kinds.filter_map(|kind| kind.get("const")?.as_str()).collect();
        let kind = self.dice.pick(&kinds);
        let mut step = Map::new();
        let mut put = |key: &str, value: Json| step.insert(key.into(), value);
        put("label", json!(format!("t{number}")));
        put("kind", json!(kind));
        if kind == "compute" {
            put("time", json!(format!("{} ns", self.dice.between(0, 5_000))));
        } else {
            put("size", json!(format!("{} B", self.dice.log_whole(ranks.max(1), 100_000))));
        }
        let grouped = kind != "point-to-point" && ranks.is_multiple_of(2) && ranks > 2 && self.dice.chance(0.2);
        let members = if grouped { 2 } else { ranks };
        match kind {
            "point-to-point" => {
                if self.dice.chance(0.5) || ranks < 2 {
                    put("shift", json!(self.dice.between(1, ranks.max(2) - 1)));
                    put("wrap", json!(self.dice.chance(0.5)));
                } else {
                    let from = self.dice.between(0, ranks - 1);
                    put("pairs", json!([[from, (from + 1) % ranks]]));
                }
            }
            "all-reduce" | "all-gather" | "reduce-scatter" => {
                let mut names = vec!["ring"];
                names.extend(members.is_power_of_two().then_some("halving-doubling"));
                names.extend((members == ranks && ranks > per_server).then_some("hierarchical"));
                names.extend((kind == "all-reduce").then_some("tree"));
                let name = self.dice.pick(&names);
                put("algorithm", json!(name));
                if name == "tree" && self.dice.chance(0.5) {
                    // A rank's buffer has a byte for each rank at least.
                    put("chunks", json!(self.dice.between(1, ranks.min(4))));
                }
            }
            "dispatch" => {
                let experts = members * self.dice.between(1, 3);
                put("size", json!(format!("{} B", self.dice.log_whole(1, 2_000))));
                put("tokens", json!(self.dice.between(1, 20)));
                put("experts", json!(experts));
                put("top_k", json!(self.dice.between(1, experts.min(4))));
                put("skew", json!(self.dice.one(&[0, 0, 1, 3])));
                put("copies", json!(self.dice.pick(&["rank", "server"])));
            }
            "all-to-all" => {
                put("algorithm", json!(self.dice.pick(&["direct", "pairwise"])));
            }
            "all-to-all-v" if members > 1 && self.dice.chance(0.25) => {
                step.shift_remove("size");
                let size = |dice: &mut Dice| format!("{} B", dice.one(&[0, 1]) * dice.log_whole(1, 50_000));
                let row = |dice: &mut Dice| (0..members).map(|_| json!(size(dice))).collect::<Json>();
                step.insert("sizes".into(), (0..members).map(|_| row(self.dice)).collect());
            }
            "all-to-all-v" => {
                put("fan_out", json!(self.dice.between(1, (members - 1).max(1))));
                put("choice", json!(self.dice.pick(&["random", "balanced"])));
                put("with_self", json!(self.dice.chance(0.5)));
                put("size_of", json!(self.dice.pick(&["transfer", "sender"])));
            }
            _ => {}
        }
        let mut put = |key: &str, value: Json| step.insert(key.into(), value);
        if grouped {
            put("group_size", json!(2));
            put("group_stride", json!(self.dice.one(&[1, ranks / 2])));
        }
        if number > 0 && self.dice.chance(0.3) {
            let before = format!("t{}", self.dice.between(0, number - 1));
            put("after", if self.dice.chance(0.3) { json!([]) } else { json!([before.clone()]) });
            if self.dice.chance(0.3) {
                put("after_previous", json!([before]));
            }
        }
        if self.dice.chance(0.1) {
            put("start", json!(format!("{} ns", self.dice.between(0, 20_000))));
        }
        if kind == "compute" && self.dice.chance(0.3) {
            put("ranks", json!([0, ranks - 1].into_iter().take(ranks.min(2) as usize).collect::<Vec<_>>()));
        }
        step
    }

    pub fn faults(&mut self, case: &mut Case) {
        if !self.dice.chance(0.25) {
            return;
        }
        let mut forms =
            schema().pointer("/properties/fault/items/oneOf").and_then(Json::as_array).cloned().unwrap_or_default();
        // Flaps, and numbers of links, have dice of their own.
        forms.retain(|form| form.pointer("/properties/kind/const") != Some(&json!("link-flap")));
        let mut faults = Vec::new();
        for _ in 0..self.dice.between(1, 3) {
            let form = &forms[self.dice.between(0, forms.len() as u64 - 1) as usize];
            faults.push(Json::Object(self.fault(form)));
        }
        case.tree.insert("fault".into(), Json::Array(faults));
    }

    /// A fault of a form of the schema.
    fn fault(&mut self, form: &Json) -> Map<String, Json> {
        let link = &self.graph.links[self.dice.between(0, self.graph.links.len() as u64 - 1) as usize];
        let (a, b) = (link.a.0 as usize, link.b.0 as usize);
        let (a, b) = if self.dice.chance(0.5) { (a, b) } else { (b, a) };
        let mut fault = Map::new();
        for (key, about) in form.get("properties").and_then(Json::as_object).into_iter().flatten() {
            if key == "number" {
                continue;
            }
            let value = match key.as_str() {
                "kind" => about.get("const").cloned(),
                "at" => Some(json!(format!("{} ns", self.dice.between(0, 30_000)))),
                "from" | "a" => Some(json!(self.name(a))),
                "to" | "b" => Some(json!(self.name(b))),
                "host" => {
                    let host = self.host();
                    Some(json!(self.name(host)))
                }
                "frame" => Some(json!(self.dice.pick(&["data", "ack", "mac-control", "cnp"]))),
                "nth" => Some(json!(self.dice.between(1, 20))),
                "rate" => Some(json!(format!("{} Mb/s", self.dice.log_whole(500, 100_000)))),
                "class" => Some(json!(3)),
                _ => values::value(self.dice, key, about),
            };
            if let Some(value) = value {
                fault.insert(key.clone(), value);
            }
        }
        if fault.contains_key("xoff") {
            // A receiver that pauses above, and resumes below.
            let xoff = self.dice.log_whole(1_000, 120_000);
            fault.insert("xoff".into(), json!(format!("{xoff} B")));
            fault.insert("xon".into(), json!(format!("{} B", xoff * self.dice.between(0, 16) / 16)));
        }
        fault
    }
}
