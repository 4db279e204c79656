//! Costs of hosts, and failures of single links. With separate dice: all other draws are the same with and without.

use super::super::case::Case;
use super::super::dice::Dice;
use backwater_net::topology::Graph;
use serde_json::{Value as Json, json};

/// Some steps cost software time, some rings have others beside them, and some memories are slower than a link.
pub fn hosts(dice: &mut Dice, case: &mut Case) {
    if dice.chance(0.1) {
        case.set("nic.feed_rate", json!(format!("{} Mb/s", dice.log_whole(2_000, 400_000))));
    }
    let jobs = case.tree.get_mut("job").and_then(Json::as_array_mut).into_iter().flatten();
    let steps = jobs.filter_map(|job| job.get_mut("step")?.as_array_mut()).flatten();
    for step in steps.filter(|step| step["kind"] != "compute") {
        for key in ["latency", "message_latency"] {
            if dice.chance(0.15) {
                step[key] = json!(format!("{} ns", dice.log_whole(1, 5_000)));
            }
        }
        let phased = ["all-reduce", "all-gather", "reduce-scatter"].iter().any(|kind| step["kind"] == *kind);
        if phased && step["algorithm"] != "halving-doubling" && dice.chance(0.15) {
            step["protocol"] = json!(dice.pick(&["simple", "ll", "ll128"]));
        }
        if step["algorithm"] == "ring" && dice.chance(0.3) {
            // A member of a ring has a byte at least.
            let channels = dice.between(1, 4);
            step["size"] = json!(format!("{} B", dice.log_whole(64, 100_000)));
            step["channels"] = json!(channels);
        }
    }
}

/// Some links fail and recover several times, some faults mean one of several links, and some routes follow late.
pub fn failures(dice: &mut Dice, case: &mut Case, graph: &Graph) {
    if dice.chance(0.3) {
        case.set("link.convergence", json!(format!("{} ns", dice.log_whole(1, 30_000))));
    }
    let faults = case.tree.get_mut("fault").and_then(Json::as_array_mut).into_iter().flatten();
    for fault in faults {
        let ends = ["a", "b", "from", "to"].map(|end| fault[end].as_str().and_then(|name| graph.node(name)));
        let [a, b] = [ends[0].or(ends[2]), ends[1].or(ends[3])];
        let joins = graph.links.iter().filter(|link| {
            let [from, to] = [Some(link.a), Some(link.b)];
            (from, to) == (a, b) || (from, to) == (b, a)
        });
        let links = joins.count() as u64;
        if links > 0 && fault["kind"] != "drop-nth" && dice.chance(0.3) {
            fault["number"] = json!(dice.between(0, links - 1));
        }
        if fault["kind"] == "link-up" && dice.chance(0.5) {
            fault["kind"] = json!("link-flap");
            fault["down"] = json!(format!("{} ns", dice.log_whole(1, 20_000)));
            fault["up"] = json!(format!("{} ns", dice.log_whole(1, 20_000)));
            fault["times"] = json!(dice.between(1, 4));
        }
    }
}
