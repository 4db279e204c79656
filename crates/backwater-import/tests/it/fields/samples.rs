//! The samples whose fields are changed, and the names of fields of each kind.

use super::protobuf;
use super::syntax::{Field, json, numbers_at, words, xml};

/// Files that are imported together.
pub struct Set {
    /// Their family.
    pub family: &'static str,
    /// Their paths below `tests/files`.
    pub files: &'static [&'static str],
    /// Their command line.
    pub command: &'static str,
    /// Files that these name, in the same folder.
    pub beside: &'static [&'static str],
}

const fn set(family: &'static str, files: &'static [&'static str]) -> Set {
    Set { family, files, command: "", beside: &[] }
}

/// All samples.
pub const SETS: &[Set] = &[
    set("htsim", &["htsim/one.cm"]),
    set("htsim", &["htsim/bidir.cm"]),
    set("htsim", &["htsim/chain.cm"]),
    set("htsim", &["htsim/alltoall_serial_16n.cm"]),
    set("htsim", &["htsim/test_cr_1f10m10p.cm"]),
    set("htsim", &["htsim/every.cm", "htsim/every.topo"]),
    Set { command: UEC, ..set("htsim", &["htsim/one.cm"]) },
    Set { command: CREDIT, ..set("htsim", &["htsim/one.cm"]) },
    Set { command: DROPS, ..set("htsim", &["htsim/test_cr_1f10m10p.cm"]) },
    Set {
        command: "htsim_uec -topo every.topo -tm every.cm -linkspeed 100000 -hop_latency 1 -switch_latency 0 -tiers 2",
        ..set("htsim", &["htsim/every.cm", "htsim/every.topo"])
    },
    Set { command: ROCE, ..set("htsim", &["htsim/one.cm"]) },
    Set { command: OTHER, ..set("htsim", &["htsim/one.cm"]) },
    set("htsim", &["htsim/fat_tree_1024.topo"]),
    set("htsim", &["htsim/leaf_spine_tiny.topo"]),
    set("htsim", &["htsim/test.topo"]),
    Set { beside: &["htsim/one.cm"], ..set("htsim", &["htsim/validate.txt"]) },
    set("goal", &["goal/mixed.goal"]),
    Set { command: LOGGOPS, ..set("goal", &["goal/mixed.goal"]) },
    set("goal", &["goal/binary_tree_32.goal"]),
    set("goal", &["goal/mixed.bin"]),
    set("goal", &["goal/binary_tree_32.bin"]),
    set("chakra", &["chakra/nodes.0.et", "chakra/groups.json"]),
    set("chakra", &["chakra/nodes.0.json", "chakra/groups.json"]),
    set("chakra", &["chakra/printed.0.json", "chakra/printed.1.json"]),
    Set {
        command: "--peak-perf 0.5 --workload all_reduce --system system.json",
        ..set("chakra", &["chakra/nodes.0.et", "chakra/groups.json"])
    },
    set(
        "chakra",
        &["chakra/all_reduce.0.et", "chakra/all_reduce.1.et", "chakra/all_reduce.2.et", "chakra/all_reduce.3.et"],
    ),
    set("msccl", &["msccl/small.xml"]),
    set("msccl", &["msccl/custom_allreduce.xml"]),
    Set { command: "--coll_size 1048576 -n 20 --reduce_us 0.5", ..set("msccl", &["msccl/small.xml"]) },
    set("hpcc", &["hpcc/config.txt", "hpcc/topology.txt", "hpcc/flow.txt", "hpcc/trace.txt"]),
    set("hpcc", &["hpcc/conweave.conf", "hpcc/topology.txt", "hpcc/flow-conweave.txt"]),
    set("hpcc", &["hpcc/topology.txt", "hpcc/flow.txt", "hpcc/paths.txt"]),
    set("hpcc", &["hpcc/topology.txt", "hpcc/cdf.txt"]),
    set("hpcc", &["hpcc/datacenter.txt", "hpcc/cdf-fraction.txt"]),
    set("sonic", &["sonic/leaf.json"]),
    set("sonic", &["sonic/buffers-dell6100.json", "sonic/qos-dell6100.json", "sonic/dell6100-ports.json"]),
    set("sonic", &["sonic/mock_config_db.json"]),
    set("sonic", &["sonic/without-profiles.json", "sonic/pg_profile_lookup.ini"]),
    set("sonic", &["sonic/only-ports.json", "sonic/pg_profile_lookup.ini", "sonic/buffers_defaults_own.j2"]),
    set("simai", &["simai/microAllReduce.txt"]),
    set("simai", &["simai/experts.txt"]),
    set("simai", &["simai/aicb_all_to_all.txt", "simai/Spectrum-X_16g_8gps_400Gbps_H100"]),
    set("simai", &["simai/exchange.txt", "simai/servers.txt", "simai/SimAI.conf"]),
    set("nccl", &["nccl/dump.xml"]),
    set("nccl", &["nccl/ncv4-topo.xml"]),
    set("nccl", &["nccl/ndv4-topo.xml"]),
    set("nccl", &["nccl/ndv5-topo.xml"]),
    set("nccl", &["nccl/p4d-24xl-topo.xml"]),
    set("nccl", &["nccl/rccl.xml"]),
];

/// Options of `htsim_uec` for the window at the sender, the network and its results.
const UEC: &str = "htsim_uec -tm one.cm -nodes 16 -linkspeed 200000 -mtu 4150 -hop_latency 0.5 -switch_latency 0.1 -tiers 3 -failed 1 \
    -sack_threshold 4000 -strat ecmp_ar -paths 128 -q 60 -queue_size_bdp_factor 2 -ecn 9 35 -cwnd 50 -sender_cc_algo nscc \
    -target_q_delay 6 -trimsize 64 -load_balancing_algo reps -disable_base_rtt_update_on_nack -end 1000 -seed 3 -o out -log sink \
    -logtime 1 -logtime_us 1 -debug -conns 1 -subflows 1 -qa_gate 2 -enable_accurate_base_rtt -pcie 4 -queue_type composite \
    -host_queue_type prio -ar_sticky_delta 10 -ar_granularity packet -ar_method queue -planes 1";
/// Options for credit of receivers.
const CREDIT: &str = "htsim_uec -receiver_cc_only -queue_size_bdp_factor 2 -oversubscribed_cc -force_disable_oversubscribed_cc -Ai 1 -Md 1 \
    -alpha 1";
/// Options for queues that drop, and for messages of one connection.
const DROPS: &str = "htsim_uec -conn_reuse -disable_trim -sleek -receiver_cc";
const ROCE: &str =
    "htsim_roce -pfc_thresholds 12 15 -strat ecmp_rr -mtu 9000 -q 100 -ecn 9 35 -cwnd 50 -paths 4 -hop_latency 2";
const OTHER: &str = "htsim_ndp -strat perm -paths 4 -mtu 1500 -linkspeed 40000 -sleek -trimsize 64";
/// Options of LogGOPSim.
const LOGGOPS: &str = "LogGOPSim -f mixed.bin -L 2500 -o 1500 -g 1000 -G 6 -O 0 -S 65535 -b 1 -n 2 --qstat";

/// Returns the fields of a file of a kind, or of a command line.
pub fn fields(kind: &str, octets: &[u8]) -> Vec<Field> {
    let text = || std::str::from_utf8(octets).expect("text");
    match kind {
        "htsim-cm" => words(text(), matrix),
        "htsim-topo" => words(text(), |_, words| remarks("#", words, || keyed(words))),
        "htsim-validate" => words(text(), |_, words| match words.first() {
            Some(&"!Param") => keyed_options(words),
            Some(first) if first.starts_with('!') => columns(&["", &format!("list.{}", &first[1..])], words),
            _ => columns(&["list.matrix"], words),
        }),
        "htsim--command" | "goal--command" | "chakra--command" | "msccl--command" => {
            words(text(), |_, words| keyed_options(words))
        }
        "goal-text" => goal(text()),
        "goal-binary" => goal_binary(octets),
        "chakra-et" => protobuf::fields(octets, super::most(octets)),
        "chakra-json" | "chakra-objects" => {
            json(text(), |path| (path.join("."), path.last().cloned().into_iter().collect(), "node".into()))
        }
        "chakra-groups" => json(text(), |_| ("group.member".into(), vec![], "group".into())),
        "msccl-xml" | "nccl-topology" => xml(text()),
        "hpcc-config" => words(text(), |_, words| keyed(words)),
        "hpcc-topology" | "simai-topology" => words(text(), topology(text())),
        "hpcc-flow" => {
            let head: usize = text().split_whitespace().next().and_then(|word| word.parse().ok()).expect("a count");
            words(text(), move |line, words| match (line, words.len()) {
                (0, _) => columns(&["flow.count"], words),
                (line, _) if line > head => columns(&["flow.follows"; 8], words),
                (_, 5) => columns(&["flow.src", "flow.dst", "flow.pg", "flow.size", "flow.start"], words),
                _ => columns(&["flow.src", "flow.dst", "flow.pg", "flow.dport", "flow.size", "flow.start"], words),
            })
        }
        "hpcc-cdf" => words(text(), |_, words| columns(&["cdf.size", "cdf.share"], words)),
        "hpcc-paths" => words(text(), |_, words| {
            let data = words.iter().position(|word| *word == "data").unwrap_or(0);
            let name = |(at, word): (usize, &&str)| match (at, *word) {
                (_, "data" | "ack") => None,
                (0, _) => Some("path.flow".to_owned()),
                (1, _) if at < data => Some("path.sport".to_owned()),
                (2, _) if at < data => Some("path.dport".to_owned()),
                _ => Some("path.node".to_owned()),
            };
            words.iter().enumerate().map(name).collect()
        }),
        "hpcc-trace" => words(text(), |line, words| match line {
            0 => columns(&["trace.count"], words),
            _ => columns(&["trace.node"; 16], words),
        }),
        "sonic-config-db" => json(text(), |path| {
            let (table, key) = path.first().and_then(|first| first.split_once('|')).unwrap_or((&path[0], ""));
            let field = path.last().cloned().unwrap_or_default();
            (format!("{table}.{field}"), vec![table.to_owned(), key.to_owned(), field], table.to_owned())
        }),
        "sonic-buffers-template" => words(text(), |_, words| match words {
            [key, _] => vec![None, Some(format!("template.{}", key.trim_matches(['"', ':'])))],
            _ => vec![None; words.len()],
        }),
        "sonic-pg-lookup" => words(text(), |_, words| remarks("#", words, || columns(&LOOKUP, words))),
        "simai-workload" => words(text(), |line, words| match line {
            0 => keyed_pairs(words),
            1 => columns(&["workload.layers"], words),
            _ => columns(&LAYER, words),
        }),
        other => panic!("what the fields of {other} are is not known here"),
    }
}

/// Columns of a row of `pg_profile_lookup.ini`.
const LOOKUP: [&str; 7] = [
    "lookup.speed",
    "lookup.cable",
    "lookup.size",
    "lookup.xon",
    "lookup.xoff",
    "lookup.threshold",
    "lookup.xon_offset",
];

/// Columns of a layer of SimAI.
const LAYER: [&str; 12] = [
    "layer.name",
    "layer.dependency",
    "layer.forward",
    "layer.forward-comm",
    "layer.forward-bytes",
    "layer.input",
    "layer.input-comm",
    "layer.input-bytes",
    "layer.weight",
    "layer.weight-comm",
    "layer.weight-bytes",
    "layer.update",
];

/// Returns the names of words in their order. An empty name marks a word that is not a value.
fn columns(names: &[&str], words: &[&str]) -> Vec<Option<String>> {
    let name = |at: usize| names.get(at).filter(|name| !name.is_empty()).map(|name| (*name).to_owned());
    (0..words.len()).map(name).collect()
}

/// Returns names for a key and its values: the values have the key's name.
fn keyed(words: &[&str]) -> Vec<Option<String>> {
    words.iter().enumerate().map(|(at, _)| (at > 0).then(|| words[0].to_owned())).collect()
}

/// Returns names for one word, followed by keys with one or more values each.
fn keyed_pairs(words: &[&str]) -> Vec<Option<String>> {
    let mut key: Option<String> = None;
    let each = |(at, word): (usize, &&str)| {
        let number = word.parse::<f64>().is_ok();
        if at == 0 {
            return Some("POLICY".to_owned());
        }
        if !number {
            key = Some(word.trim_end_matches(':').to_owned());
            return None;
        }
        key.clone()
    };
    words.iter().enumerate().map(each).collect()
}

/// Returns names for options. A word that does not begin with `-` is the value of the option before it. An option
/// without a value is a field itself.
fn keyed_options(words: &[&str]) -> Vec<Option<String>> {
    let mut key = "program".to_owned();
    let option = |at: usize| words.get(at).is_some_and(|word| word.starts_with('-'));
    let each = |(at, word): (usize, &&str)| {
        if option(at) {
            key = (*word).to_owned();
            return (option(at + 1) || at + 1 == words.len()).then(|| key.clone());
        }
        (!word.starts_with('!')).then(|| key.clone())
    };
    words.iter().enumerate().map(each).collect()
}

fn remarks(mark: &str, words: &[&str], otherwise: impl Fn() -> Vec<Option<String>>) -> Vec<Option<String>> {
    if words.first().is_some_and(|word| word.starts_with(mark)) { vec![None; words.len()] } else { otherwise() }
}

fn matrix(_: usize, words: &[&str]) -> Vec<Option<String>> {
    const ALONE: [&str; 5] = ["msg", "oneshot", "multishot", "barrier", "addon"];
    let first = words.first().copied().unwrap_or_default();
    if first.starts_with('#') {
        return vec![None; words.len()];
    }
    let what = match first {
        "trigger" | "failure" => first,
        _ if first.starts_with(|c: char| c.is_ascii_digit()) => "flow",
        _ => return keyed(words),
    };
    let mut key: Option<String> = None;
    let each = |(at, word): (usize, &&str)| {
        let number = word.starts_with(|c: char| c.is_ascii_digit());
        match (what, at) {
            ("flow", 0) => return Some("flow.src".to_owned()),
            ("flow", 1) => return Some("flow.dst".to_owned()),
            ("trigger", 1..) if ALONE.contains(word) => return Some("trigger.kind".to_owned()),
            _ => {}
        }
        if number || key.as_deref() == Some("switch_type") {
            return key.take().map(|key| format!("{what}.{key}"));
        }
        key = Some((*word).to_owned());
        None
    };
    words.iter().enumerate().map(each).collect()
}

fn topology(text: &str) -> impl FnMut(usize, &[&str]) -> Vec<Option<String>> + use<> {
    let head: Vec<String> = text.split_whitespace().take(6).map(str::to_owned).collect();
    let first = text.lines().next().map_or(0, |line| line.split_whitespace().count());
    let simai = first == 6 && head[5].parse::<f64>().is_err();
    move |line, words| match (line, first) {
        (0, _) if simai => columns(
            &[
                "head.nodes",
                "head.gpus_per_server",
                "head.nvlink_switches",
                "head.switches",
                "head.links",
                "head.gpu_type",
            ],
            words,
        ),
        (0, 3) => columns(&["head.nodes", "head.switches", "head.links"], words),
        (0, _) => columns(
            &["head.nodes", "head.switches", "head.tors", "head.links", "head.capacity", "head.capacity"],
            words,
        ),
        (1, _) => vec![Some("head.switch".to_owned()); words.len()],
        _ => columns(&["link.a", "link.b", "link.rate", "link.delay", "link.loss"], words),
    }
}

/// Returns the fields of GOAL as text: each word gets its name from the keyword before it.
fn goal(text: &str) -> Vec<Field> {
    words(text, |_, words| {
        let mut before = String::new();
        let each = |(at, word): (usize, &&str)| {
            let name = match before.as_str() {
                "num_ranks" => Some("num_ranks"),
                "rank" => Some("rank"),
                "send" | "recv" | "calc" => Some("size"),
                "to" | "from" => Some("peer"),
                "tag" | "cpu" | "nic" | "requires" | "irequires" => Some(before.as_str()),
                _ if at == 0 && word.ends_with(':') => None,
                _ if at == 0 && words.get(1).is_some_and(|second| second.ends_with("requires")) => Some("dependant"),
                _ if matches!(*word, "send" | "recv" | "calc") => Some("operation"),
                _ if matches!(*word, "requires" | "irequires") => Some("dependency"),
                _ => None,
            };
            let name = name.map(str::to_owned);
            before = (*word).to_owned();
            name
        };
        words.iter().enumerate().map(each).collect()
    })
}

/// Returns the fields of GOAL as binary, in the layout that `src/goal/binary.rs` describes.
fn goal_binary(octets: &[u8]) -> Vec<Field> {
    let number = |at: usize, length: usize| {
        octets[at..at + length].iter().rev().fold(0usize, |value, octet| value << 8 | usize::from(*octet))
    };
    let mut places = Vec::new();
    let mut add = |name: &str, at: usize, length: usize| places.push((name.to_owned(), at, length));
    add("head.magic", 0, 8);
    add("head.ranks", 8, 4);
    add("head.cpu", 12, 1);
    add("head.nic", 13, 1);
    for rank in 0..number(8, 4) {
        let at = 14 + 16 * rank;
        add("head.begin", at, 8);
        add("head.end", at + 8, 8);
        let (begin, end) = (number(at, 8) + 8, number(at + 8, 8) + 8);
        add("rank.nodes", begin, 4);
        add("rank.roots", begin + 4, 4);
        let (nodes, roots) = (number(begin, 4), number(begin + 4, 4));
        (0..roots).for_each(|root| add("rank.root", begin + 8 + 4 * root, 4));
        let first = begin + 8 + 4 * roots;
        for node in 0..nodes {
            let mut at = first + 39 * node;
            let calc = octets[at + 4] == 3;
            for (name, length) in NODE {
                // A calc has no peer, tag or NIC, and an empty list has no first entry. The octets at these places are
                // not values.
                let none = calc && ["node.peer", "node.tag", "node.nic"].contains(&name)
                    || name.starts_with("node.first") && number(at - 4, 4) == 0;
                if !none {
                    add(name, at, length);
                }
                at += length;
            }
        }
        let lists = first + 39 * nodes;
        (lists..end).step_by(4).for_each(|at| add("rank.dependant", at, 4));
    }
    numbers_at(octets, places)
}

const NODE: [(&str, usize); 11] = [
    ("node.dependencies", 4),
    ("node.type", 1),
    ("node.peer", 4),
    ("node.size", 8),
    ("node.tag", 4),
    ("node.cpu", 1),
    ("node.nic", 1),
    ("node.requires", 4),
    ("node.first", 4),
    ("node.irequires", 4),
    ("node.first_of_irequires", 4),
];
