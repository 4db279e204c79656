//! Topologies of 3 to 30 hosts.

use super::super::case::Case;
use super::super::dice::Dice;
use backwater_net::packet::NodeId;
use backwater_net::topology::Graph;
use serde_json::{Value as Json, json};

const RATES: [&str; 7] = ["10 Gb/s", "25 Gb/s", "40 Gb/s", "100 Gb/s", "200 Gb/s", "400 Gb/s", "7 Gb/s"];
const DELAYS: [&str; 4] = ["0 s", "150 ns", "500 ns", "2 us"];

pub fn draw(dice: &mut Dice) -> Json {
    let kinds = ["star", "dumbbell", "parking-lot", "leaf-spine", "leaf-spine", "fat-tree", "explicit"];
    let kind = dice.pick(&kinds);
    let (rate, link_delay) = (dice.pick(&RATES), dice.pick(&DELAYS));
    let mut table = match kind {
        "star" => json!({ "hosts": dice.between(3, 12) }),
        "dumbbell" => {
            json!({ "left_hosts": dice.between(1, 5), "right_hosts": dice.between(2, 5), "trunk_links": dice.one(&[1, 1, 2, 3]) })
        }
        "parking-lot" => json!({ "switches": dice.between(2, 5), "hosts_per_switch": dice.between(2, 4) }),
        "leaf-spine" => {
            let leaves = dice.between(2, 4);
            let rails = if dice.chance(0.2) { leaves } else { 1 };
            json!({
                "leaves": leaves, "spines": dice.between(1, 4), "hosts_per_leaf": dice.between(2, 6), "rails": rails,
                "links_per_pair": dice.one(&[1, 1, 1, 2]),
            })
        }
        "fat-tree" => {
            let aggs = dice.between(1, 2);
            json!({
                "pods": dice.between(2, 3), "tors_per_pod": dice.between(1, 2), "aggs_per_pod": aggs,
                "cores": aggs * dice.between(1, 2), "hosts_per_tor": dice.between(2, 4), "core_wiring": dice.pick(&["groups", "all"]),
            })
        }
        _ => return explicit(dice),
    };
    let names: &[&str] = match kind {
        "dumbbell" | "parking-lot" => &["trunk"],
        "leaf-spine" => &["fabric"],
        "fat-tree" => &["fabric", "core"],
        _ => &[],
    };
    table["kind"] = json!(kind);
    table["rate"] = json!(rate);
    table["link_delay"] = json!(link_delay);
    others(dice, &mut table, names);
    table
}

/// Bundles, planes, several leaves a host, interfaces with switches, NVLink domains; or groups in place of the drawn topology.
pub fn wider(dice: &mut Dice, topology: &mut Json) {
    if dice.chance(0.12) {
        *topology = groups(dice);
    } else if dice.chance(0.08) {
        *topology = routers(dice);
    }
    let number = |topology: &Json, key: &str| topology[key].as_u64().unwrap_or(1);
    let product = |topology: &Json, keys: [&str; 3]| keys.map(|key| number(topology, key)).iter().product::<u64>();
    let hosts = match topology["kind"].as_str() {
        Some("leaf-spine") => {
            let (leaves, rails) = (number(topology, "leaves"), number(topology, "rails"));
            if (leaves / rails).is_multiple_of(2) && dice.chance(0.25) {
                topology["leaves_per_host"] = json!(2);
            }
            if dice.chance(0.2) {
                topology["planes"] = json!(dice.between(2, 3));
            }
            leaves / number(topology, "leaves_per_host") * number(topology, "hosts_per_leaf")
        }
        Some("fat-tree") => {
            for key in ["links_per_pair", "core_links_per_pair"] {
                if dice.chance(0.3) {
                    topology[key] = json!(dice.between(2, 3));
                }
            }
            product(topology, ["pods", "tors_per_pod", "hosts_per_tor"])
        }
        Some("dragonfly") => product(topology, ["groups", "routers_per_group", "hosts_per_router"]),
        Some("dragonfly-plus") => product(topology, ["groups", "leaves_per_group", "hosts_per_leaf"]),
        _ => return,
    };
    let gpus: Vec<u64> = (2..=4).filter(|gpus| hosts.is_multiple_of(*gpus)).collect();
    if !gpus.is_empty() && dice.chance(0.2) {
        let (gpus, rate, delay) = (dice.one(&gpus), dice.pick(&RATES), dice.pick(&DELAYS));
        topology["nvlink"] = json!({ "gpus": gpus, "rate": rate, "delay": delay });
    }
    if number(topology, "planes") > 1 && dice.chance(0.5) {
        topology["host_rate"] = json!(dice.pick(&RATES));
        topology["host_delay"] = json!(dice.pick(&DELAYS));
    }
}

/// Groups with one link between any two, or two.
fn groups(dice: &mut Dice) -> Json {
    let &(groups, spines) = dice.pick(&[&(2u64, 1u64), &(2, 2), &(3, 1), &(3, 2), &(5, 2)]);
    let rounds = if groups < 5 { dice.between(1, 2) } else { 1 };
    let mut table = json!({
        "kind": "dragonfly-plus", "groups": groups, "leaves_per_group": dice.between(1, 2), "spines_per_group": spines,
        "hosts_per_leaf": dice.between(2, 3), "global_links_per_spine": ((groups - 1) * rounds).div_ceil(spines),
        "rate": dice.pick(&RATES), "link_delay": dice.pick(&DELAYS), "links_per_pair": dice.one(&[1, 1, 2]),
    });
    others(dice, &mut table, &["fabric", "global"]);
    table
}

/// A dragonfly of the most groups, or of two with several links between them.
fn routers(dice: &mut Dice) -> Json {
    let (routers, global) = (dice.between(2, 3), dice.between(1, 2));
    let groups = if dice.chance(0.5) { 2 } else { routers * global + 1 };
    let mut table = json!({
        "kind": "dragonfly", "groups": groups, "routers_per_group": routers, "hosts_per_router": dice.between(1, 2),
        "global_links_per_router": global, "rate": dice.pick(&RATES), "link_delay": dice.pick(&DELAYS),
    });
    others(dice, &mut table, &["fabric", "global"]);
    table
}

/// Rates and delays of other links.
fn others(dice: &mut Dice, table: &mut Json, names: &[&str]) {
    for name in names {
        if dice.chance(0.5) {
            table[format!("{name}_rate")] = json!(dice.pick(&RATES));
        }
        if dice.chance(0.5) {
            table[format!("{name}_delay")] = json!(dice.pick(&DELAYS));
        }
    }
}

/// Some hosts of an explicit topology have a second link, to any switch.
pub fn several(dice: &mut Dice, topology: &mut Json) {
    if topology["kind"] != "explicit" || !dice.chance(0.4) {
        return;
    }
    let names = |kind: &str| -> Vec<String> {
        let nodes = topology["node"].as_array().into_iter().flatten().filter(|node| node["kind"] == kind);
        nodes.filter_map(|node| node["name"].as_str().map(str::to_owned)).collect()
    };
    let (hosts, switches) = (names("host"), names("switch"));
    let Some(links) = topology["link"].as_array_mut() else { return };
    for host in hosts {
        if dice.chance(0.5) {
            let switch = &switches[dice.between(0, switches.len() as u64 - 1) as usize];
            links.push(json!({ "a": host, "b": switch, "rate": dice.pick(&RATES), "delay": dice.pick(&DELAYS) }));
        }
    }
}

/// Some links differ from their kind.
pub fn differ(dice: &mut Dice, case: &mut Case, graph: &Graph) {
    if !dice.chance(0.15) {
        return;
    }
    let link = &graph.links[dice.between(0, graph.links.len() as u64 - 1) as usize];
    let name = |node: NodeId| graph.nodes[node.0 as usize].name.as_str();
    let mut entry = if dice.chance(0.6) {
        json!({ "between": [name(link.a), name(link.b)], "delay": dice.pick(&DELAYS) })
    } else {
        json!({ "from": name(link.a), "to": name(link.b) })
    };
    entry["rate"] = json!(dice.pick(&RATES));
    case.tree.insert("link".into(), json!({ "at": [entry] }));
}

/// Switches in a tree, maybe with one link more, and hosts at each.
fn explicit(dice: &mut Dice) -> Json {
    let switches = dice.between(1, 5);
    let mut nodes: Vec<Json> = Vec::new();
    let mut links: Vec<Json> = Vec::new();
    let mut join = |dice: &mut Dice, a: String, b: String| {
        links.push(json!({ "a": a, "b": b, "rate": dice.pick(&RATES), "delay": dice.pick(&DELAYS) }));
    };
    for s in 0..switches {
        let mut node = json!({ "name": format!("s{s}"), "kind": "switch" });
        if dice.chance(0.3) {
            node["tier"] = json!(dice.pick(&["edge", "middle"]));
        }
        nodes.push(node);
        if s > 0 {
            let before = dice.between(0, s - 1);
            join(dice, format!("s{before}"), format!("s{s}"));
        }
        for h in 0..dice.between(if s == 0 { 3 } else { 0 }, 4) {
            nodes.push(json!({ "name": format!("h{s}-{h}"), "kind": "host" }));
            join(dice, format!("h{s}-{h}"), format!("s{s}"));
        }
    }
    if switches > 1 && dice.chance(0.4) {
        let a = dice.between(0, switches - 2);
        let b = dice.between(a + 1, switches - 1);
        join(dice, format!("s{a}"), format!("s{b}"));
    }
    json!({ "kind": "explicit", "node": nodes, "link": links })
}
