//! A random scenario: everything that the schema knows, in combinations that [`mend`](super::mend::mend) makes valid.

mod confine;
mod control;
mod costs;
mod fit;
mod operations;
mod topology;
mod values;
mod workload;

use super::case::{Case, Folder};
use super::dice::Dice;
use backwater_mech::registry::ENTRIES;
use backwater_net::topology::Graph;
use serde_json::{Map, Value as Json, json};
use std::sync::OnceLock;
use workload::Network;

/// The schema of scenario files.
pub fn schema() -> &'static Json {
    static SCHEMA: OnceLock<Json> = OnceLock::new();
    SCHEMA.get_or_init(|| serde_json::from_str(&backwater::schema()).unwrap_or_default())
}

/// Scenario `number` of a soak with `seed`, as drawn: it may be refused.
pub fn case(seed: u64, number: u64, folder: &Folder) -> Case {
    control::offer_it();
    let mut dice = Dice::new(seed, "soak", number);
    let mut case = Case::default();
    case.tree.insert("seed".into(), json!(dice.between(0, 9)));
    case.tree.insert("topology".into(), topology::draw(&mut dice));
    // With separate dice: all other draws are the same with and without.
    let mut apart = Dice::new(seed, "links", number);
    if let Some(topology) = case.tree.get_mut("topology") {
        topology::wider(&mut Dice::new(seed, "fabric", number), topology);
        topology::several(&mut apart, topology);
    }
    if let Ok(resolved) = case.resolve(folder) {
        topology::differ(&mut apart, &mut case, &resolved.layout().graph);
    }
    let Ok(resolved) = case.resolve(folder) else { return case };
    let graph = &resolved.layout().graph;
    let lossless = dice.chance(0.3);
    if lossless {
        case.tree.insert("lossless".into(), json!(true));
    }
    for name in ["packet", "ack", "transport", "nic"] {
        let drawn = values::table(&mut dice, schema(), name, 0.25, &["at", "clock", "payload", "link", "feed_rate"]);
        case.tree.insert(name.into(), Json::Object(drawn));
    }
    if graph.has_several_links() && apart.chance(0.7) {
        case.set("nic.link", json!(apart.pick(&["hash", "least-loaded", "index"])));
    }
    case.set("packet.payload", json!(format!("{} B", dice.one(&[1_000, 1_436, 4_000, 4_096, 64, 9_000]))));
    if dice.chance(0.1) {
        case.set("packet.clock", json!(format!("{} ps", dice.one(&[1, 100, 1_000, 10_000]))));
    }
    case.tree.insert("switch".into(), Json::Object(switch(&mut dice, lossless, graph)));
    mechanisms(&mut dice, &mut case, lossless, graph);
    let mut network = Network::new(graph, &mut dice);
    network.nic(&mut case);
    network.flows(&mut case);
    network.jobs(&mut case);
    network.faults(&mut case);
    stop(&mut dice, &mut case);
    output(&mut dice, &mut case, graph);
    words(&mut dice, &mut case);
    // With separate dice: all other draws are the same with and without.
    fit::fit(&mut dice, &mut Dice::new(seed, "confined", number), &mut case, graph);
    fit::queue_pairs(&mut Dice::new(seed, "queue pairs", number), &mut case);
    fit::kept(&mut Dice::new(seed, "kept queue pairs", number), &mut case);
    fit::queues(&mut Dice::new(seed, "queues", number), &mut case);
    fit::cells(&mut Dice::new(seed, "cells", number), &mut case);
    fit::shares(&mut Dice::new(seed, "shares", number), &mut case);
    costs::hosts(&mut Dice::new(seed, "costs of hosts", number), &mut case);
    costs::failures(&mut Dice::new(seed, "failures", number), &mut case, graph);
    case
}

fn switch(dice: &mut Dice, lossless: bool, graph: &Graph) -> Map<String, Json> {
    let own = [
        ["buffer", "buffer_per", "queue_buffers", "cell", "slices", "reserve"].as_slice(),
        &[
            "reserve_classes",
            "headroom",
            "headroom_pool",
            "staging",
            "at",
            "preset",
            "queue_reserve",
            "queue_limit",
            "alpha_port",
        ],
    ]
    .concat();
    let mut switch = values::table(dice, schema(), "switch", 0.3, &own);
    let per = dice.pick(if lossless {
        &["ingress", "switch"][..]
    } else {
        &["switch", "ingress", "egress", "queue", "none"]
    });
    switch.insert("buffer_per".into(), json!(per));
    let times = if per == "switch" { 4 } else { 1 };
    switch.insert("buffer".into(), json!(format!("{} B", times * dice.log_whole(12_000, 600_000))));
    if dice.chance(0.15) {
        switch.insert("reserve".into(), json!(format!("{} B", dice.log_whole(10, 3_000))));
    }
    if dice.chance(0.25) {
        switch.insert("headroom".into(), json!(format!("{} B", dice.log_whole(100, 40_000))));
    }
    if dice.chance(0.2) {
        switch.insert("staging".into(), json!(format!("{} B", dice.log_whole(1_000, 30_000))));
    }
    if dice.chance(0.15) {
        let mut other = values::table(dice, schema(), "switch", 0.2, &own);
        for key in ["buffer", "buffer_per", "reserve", "headroom", "staging"] {
            if let Some(value) = switch.get(key).filter(|_| dice.chance(0.3)) {
                other.insert(key.into(), value.clone());
            }
        }
        switch.insert("at".into(), at(dice, other, graph));
    }
    switch
}

/// Other values for some switches.
fn at(dice: &mut Dice, mut values: Map<String, Json>, graph: &Graph) -> Json {
    let switches: Vec<_> = graph.switches().map(|node| &graph.nodes[node.0 as usize]).collect();
    let one = switches[dice.between(0, switches.len() as u64 - 1) as usize];
    match dice.chance(0.5) {
        true => values.insert("tier".into(), json!(one.tier)),
        false => values.insert("node".into(), json!(one.name)),
    };
    json!([values])
}

/// Any of the registry, each with some of its parameters.
fn mechanisms(dice: &mut Dice, case: &mut Case, lossless: bool, graph: &Graph) {
    for entry in ENTRIES {
        let name = entry.name;
        let wanted = match name {
            "pfc" if lossless => 0.97,
            "pfc" | "ecn" => 0.45,
            _ => 0.17,
        };
        if !dice.chance(wanted) {
            continue;
        }
        let mut table = values::table(dice, schema(), name, 0.3, &["at", "preset", "flows"]);
        if !entry.presets.is_empty() && dice.chance(0.15) {
            let presets: Vec<&str> = entry.presets.iter().map(|preset| preset.name).collect();
            table.insert("preset".into(), json!(dice.pick(&presets)));
        }
        if dice.chance(0.2) {
            let other = values::table(dice, schema(), name, 0.2, &["at", "preset", "flows"]);
            table.insert("at".into(), at(dice, other, graph));
        }
        case.tree.insert(name.into(), Json::Object(table));
    }
    if case.tree.contains_key("ci") && dice.chance(0.8) {
        case.set("ci.max_flow_life", json!(format!("{} us", dice.log_whole(1, 200))));
    }
    if case.tree.contains_key("pfc") && case.get("pfc.threshold") != Some(&json!("dynamic")) {
        case.set("pfc.xoff", json!(format!("{} B", dice.log_whole(1_000, 80_000))));
    }
}

fn stop(dice: &mut Dice, case: &mut Case) {
    let mut stop = Map::new();
    if dice.chance(0.1) {
        stop.insert("at".into(), json!(format!("{} us", dice.between(1, 60))));
    }
    if dice.chance(0.1) {
        stop.insert("deadlock".into(), json!(false));
    }
    if dice.chance(0.1) {
        stop.insert("stall".into(), json!(format!("{} us", dice.log_whole(100, 100_000))));
    }
    if dice.chance(0.1)
        && let Some(label) = case.get("flow.0.label").cloned()
    {
        stop.insert("when".into(), json!([label]));
    }
    case.tree.insert("stop".into(), Json::Object(stop));
}

/// Texts for people, and a variant, which is off.
fn words(dice: &mut Dice, case: &mut Case) {
    if dice.chance(0.05) {
        case.tree.insert("title".into(), json!("drawn"));
        case.tree.insert("description".into(), json!("A scenario of a soak."));
    }
    if dice.chance(0.05) {
        case.tree.insert("variant".into(), json!({ "other": { "seed": dice.between(0, 9), "ecn": false } }));
    }
}

fn output(dice: &mut Dice, case: &mut Case, graph: &Graph) {
    let mut output = values::table(dice, schema(), "output", 0.3, &["interval", "waits", "nodes"]);
    output.insert("interval".into(), json!(format!("{} ns", dice.log_whole(200, 20_000))));
    if dice.chance(0.3) {
        output.insert("waits".into(), json!(["all"]));
    }
    if dice.chance(0.2) {
        let node = dice.between(0, graph.nodes.len() as u64 - 1) as usize;
        output.insert("nodes".into(), json!([graph.nodes[node].name]));
    }
    case.tree.insert("output".into(), Json::Object(output));
}
