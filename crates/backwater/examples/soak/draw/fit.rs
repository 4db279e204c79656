//! Makes most drawn values fit together before check sees them: a refused scenario tests no run. The rules are those of the documentation,
//! in plain words; [`mend`](super::super::mend) corrects the rest by the messages of check.

use super::super::case::Case;
use super::super::dice::Dice;
use super::confine::confine;
use backwater_engine::Time;
use backwater_mech::mac_control::Signal;
use backwater_mech::pfc::headroom;
use backwater_net::topology::{Graph, Link};
use backwater_net::{Bytes, Rate};
use serde_json::{Value as Json, json};

/// Changes impossible values; `own` are the dice for confined controls.
pub fn fit(dice: &mut Dice, own: &mut Dice, case: &mut Case, graph: &Graph) {
    one_of(dice, case, &["pfc", "pause"]);
    one_of(dice, case, &["spray", "flowlet", "ev", "mrc"]);
    // Both write a word into packets.
    one_of(dice, case, &["bcn", "rccc"]);
    rate_limiters(dice, case);
    confine(own, case);
    transport(case);
    reference_rates(dice, case, graph);
    memory(dice, case, graph);
    credits(own, case, graph);
    retries(own, case, graph);
    routes(own, case);
    thresholds(dice, case);
    clock(dice, case, graph);
    if let Some(queues) = case.get("nic.queues").and_then(Json::as_u64) {
        case.set("nic.queues", json!(queues.clamp(1, 2)));
    }
}

fn bytes(case: &Case, key: &str) -> Option<u64> {
    case.get(key)?.as_str()?.parse::<Bytes>().ok().map(|bytes| bytes.0)
}

fn set_bytes(case: &mut Case, key: &str, bytes: u64) {
    case.set(key, json!(format!("{bytes} B")));
}

fn is(case: &Case, key: &str, word: &str) -> bool {
    case.get(key).and_then(Json::as_str) == Some(word)
}

/// Tables that exclude each other.
fn one_of(dice: &mut Dice, case: &mut Case, names: &[&str]) {
    let there: Vec<&str> = names.iter().copied().filter(|name| case.tree.contains_key(*name)).collect();
    if there.len() > 1 {
        let kept = dice.pick(&there);
        for name in there.into_iter().filter(|name| *name != kept) {
            case.remove(name);
        }
    }
}

fn rate_limiters(dice: &mut Dice, case: &mut Case) {
    if is(case, "nic.rate_limiters", "least") {
        // One limiter for each flow, or one for each destination.
        case.remove("bcn");
        return;
    }
    one_of(dice, case, &["dcqcn", "qcn", "bcn", "dctcp", "swift", "timely", "hpcc", "nscc"]);
}

fn transport(case: &mut Case) {
    let reliable = case.get("transport.recovery").is_some() && !is(case, "transport.recovery", "none");
    let go_back = is(case, "transport.recovery", "go-back-n");
    if reliable || ["swift", "dctcp", "timely", "hpcc", "transport.window"].iter().any(|key| case.get(key).is_some()) {
        case.remove("ack.enabled");
    }
    if case.tree.contains_key("trim") {
        case.remove("ack.enabled");
    }
    if ["nscc", "rccc", "ev", "mrc"].iter().any(|name| case.tree.contains_key(*name)) {
        case.remove("ack.enabled");
        case.set("transport.recovery", json!("rud"));
    }
    let rud = is(case, "transport.recovery", "rud");
    // Returned packets overtake nothing: any recovery is possible.
    let overtaken = case.tree.contains_key("trim") && !(reliable && is(case, "trim.to", "source"));
    if !rud && (overtaken || case.tree.contains_key("spray") && reliable) {
        case.set("transport.recovery", json!("selective-repeat"));
        case.set("transport.in_order", json!(false));
    } else if go_back {
        case.remove("transport.in_order");
    }
    let zero = is(case, "transport.nack_interval", "0 ns");
    if zero || !is(case, "transport.recovery", "go-back-n") {
        case.remove("transport.nack_interval");
    }
    if case.get("transport.window").is_none() {
        case.remove("transport.window_scaling");
    }
    if case.get("ack.first_at_nic") == Some(&json!(false)) {
        case.remove("nic.control_turns");
    }
}

/// Some messages use several queue pairs, in segments of whole packets.
pub fn queue_pairs(dice: &mut Dice, case: &mut Case) {
    let payload = bytes(case, "packet.payload").unwrap_or(4_096);
    for list in ["flow", "job"] {
        for entry in case.tree.get_mut(list).and_then(Json::as_array_mut).into_iter().flatten() {
            if entry["arrivals"] == "bernoulli" || !dice.chance(0.15) {
                continue;
            }
            entry["queue_pairs"] = json!(dice.one(&[2, 2, 3, 4, 8]));
            if dice.chance(0.5) {
                entry["segment"] = json!(format!("{} B", payload * dice.one(&[1, 1, 2, 5, 20])));
            }
        }
    }
}

/// If packets are numbered, some queue pairs outlive a message.
pub fn kept(dice: &mut Dice, case: &mut Case) {
    let numbered = case.get("transport.recovery").is_some() && !is(case, "transport.recovery", "none");
    if !numbered || case.get("ack.enabled") == Some(&json!(false)) {
        return;
    }
    for list in ["flow", "job"] {
        for entry in case.tree.get_mut(list).and_then(Json::as_array_mut).into_iter().flatten() {
            if entry["arrivals"] != "bernoulli" && dice.chance(0.3) {
                entry["keep_queue_pairs"] = json!(true);
            }
        }
    }
}

/// Some queues have memories of their own sizes, and some packets give way to others.
pub fn queues(dice: &mut Dice, case: &mut Case) {
    if case.tree.contains_key("trim") && !case.tree.contains_key("lossless") && dice.chance(0.6) {
        case.set("trim.victim", json!("either"));
        case.remove("switch.architecture");
        case.remove("switch.at");
        case.set("switch.buffer_per", json!(dice.pick(&["queue", "queue", "queue", "egress"])));
    }
    if is(case, "switch.buffer_per", "queue") && dice.chance(0.6) {
        let (frame, buffer) = (frame(case), bytes(case, "switch.buffer").unwrap_or(100_000));
        let sizes: Vec<u64> = (0..8).map(|_| (buffer * dice.between(1, 16) / 8).max(frame)).collect();
        case.set("switch.queue_buffers", sizes.iter().map(|size| json!(format!("{size} B"))).collect());
    }
}

/// Thresholds refer to existing rates.
fn reference_rates(dice: &mut Dice, case: &mut Case, graph: &Graph) {
    let rates: Vec<u64> = graph.links.iter().map(|link| link.rates[0].0).collect();
    for key in case.keys().into_iter().filter(|key| key.ends_with("reference_rate")) {
        let rate = dice.one(&rates);
        case.set(&key, json!(format!("{rate} b/s")));
    }
}

/// Longest frame without what only links count.
fn frame(case: &Case) -> u64 {
    bytes(case, "packet.payload").unwrap_or(9_000) + bytes(case, "packet.header").unwrap_or(100)
}

/// Classes in which anything travels.
fn classes(case: &Case) -> Vec<u8> {
    if case.keys().iter().any(|key| key.starts_with("flow.") && key.ends_with(".table")) {
        return (0..8).collect();
    }
    let named = |key: &String| {
        let workload = key.starts_with("flow.") || key.starts_with("job.");
        workload && ["class", "classes", "small_class"].iter().any(|name| key.ends_with(&format!(".{name}")))
            || key == "ack.class"
    };
    let values = case.keys().into_iter().filter(named).filter_map(|key| case.get(&key).cloned());
    let mut classes: Vec<u8> = values
        .flat_map(|value| value.as_array().cloned().unwrap_or_else(|| vec![value]))
        .filter_map(|value| Some(value.as_u64()? as u8))
        .collect();
    classes.push(3);
    classes.sort_unstable();
    classes.dedup();
    classes
}

/// Memory has room for reserves, some frames, and pauses with their thresholds.
fn memory(dice: &mut Dice, case: &mut Case, graph: &Graph) {
    let lossless = case.tree.contains_key("lossless");
    let frame = frame(case);
    let ports = graph.ports().unwrap_or_default();
    let most = graph.switches().map(|node| ports[node.0 as usize].len() as u64).max().unwrap_or(1);
    let per = case.get("switch.buffer_per").and_then(Json::as_str).unwrap_or("switch").to_owned();
    let unit = if per == "switch" { most } else { 1 };
    if lossless {
        for key in ["pfc.at", "pause.at", "switch.at", "pfc.watchdog"] {
            case.remove(key);
        }
        for key in ["restore", "action", "poll", "blind"] {
            case.remove(&format!("pfc.watchdog_{key}"));
        }
        if case.tree.contains_key("pfc") {
            case.set("pfc.classes", json!(classes(case)));
        }
    }
    let paused = case.get("pfc.classes").and_then(Json::as_array).map_or(1, Vec::len).max(1) as u64;
    let accounts = if case.tree.contains_key("pause") { 8 } else { paused };
    let fastest = graph.links.iter().map(|link| link.fastest().0).max().unwrap_or(1);
    // The factor by which a value for a reference rate is larger at the fastest port.
    let larger = |case: &Case, table: &str| {
        let reference =
            case.get(&format!("{table}.reference_rate")).and_then(|rate| rate.as_str()?.parse::<Rate>().ok());
        reference.map_or(1, |reference| fastest.div_ceil(reference.0.max(1)))
    };
    let response = ["pfc.response", "pause.response", "switch.latency"];
    let response = response.iter().filter_map(|key| case.get(key)?.as_str()?.parse::<Time>().ok());
    let response = response.fold(Time::ns(300), |sum, time| sum.after(time));
    let of_link = |rate: Rate, delay| headroom(rate, delay, Bytes(frame), Bytes(20), response, Signal::Timed).0;
    let need = graph.links.iter().map(|link| of_link(link.fastest(), link.delay)).max().unwrap_or(0);
    let need = need + need / 8;
    if lossless && is(case, "pfc.threshold", "dynamic") {
        case.remove("switch.reference_rate");
        set_bytes(case, "switch.headroom", need);
    }
    let aside = bytes(case, "switch.reserve").unwrap_or(0) * 8
        + bytes(case, "switch.headroom").unwrap_or(0) * larger(case, "switch") * accounts;
    let mut least = (aside + 6 * frame) * unit;
    for (table, counters) in [("pfc", paused), ("pause", 1)] {
        let xoff = format!("{table}.xoff");
        let Some(at) = bytes(case, &xoff) else { continue };
        let (at, larger) = (at.max(1), larger(case, table));
        set_bytes(case, &xoff, at);
        let above = if lossless { need } else { frame };
        // An egress counter includes all ports' bytes, an egress's buffer those of all ingresses.
        let egress = case.get(&format!("{table}.counter")).is_some_and(|counter| counter != "ingress");
        let spread = if egress || ["egress", "queue"].contains(&per.as_str()) { most } else { unit };
        least = least.max(aside * unit + (at * larger + above) * counters * spread + 9 * frame * unit);
    }
    if bytes(case, "switch.buffer").is_some_and(|buffer| buffer < least) {
        set_bytes(case, "switch.buffer", least + dice.between(0, least / 4));
    }
    if bytes(case, "switch.staging").is_some_and(|staging| staging < frame) {
        set_bytes(case, "switch.staging", frame * dice.between(1, 4));
    }
}

/// Credits let a frame start, and memory has room for it. If losslessness is promised nothing else keeps it, in half of the cases.
fn credits(dice: &mut Dice, case: &mut Case, graph: &Graph) {
    if !case.tree.contains_key("cbfc") {
        return;
    }
    let lossless = case.tree.contains_key("lossless");
    case.remove("cbfc.at");
    if lossless {
        case.remove("cbfc.classes");
        if dice.chance(0.5) {
            case.remove("pfc");
            case.remove("pause");
        }
    }
    let fastest = graph.links.iter().map(|link| link.fastest().0).max().unwrap_or(1);
    let slowest = graph.links.iter().map(|link| link.rates[0].min(link.rates[1]).0).min().unwrap_or(1).max(1);
    if case.get("cbfc.reference_rate").is_some() {
        case.set("cbfc.reference_rate", json!(format!("{slowest} b/s")));
    }
    // Octets that mechanisms add to frames, and their own frames, are shorter than this.
    let longest = (frame(case) + 400).max(2_000);
    let (credit, overhead) = (dice.one(&[32, 64, 128, 128, 256]), dice.between(0, 40));
    set_bytes(case, "cbfc.credit_size", credit);
    set_bytes(case, "cbfc.overhead", overhead);
    let one = (longest + overhead).div_ceil(credit);
    case.set("cbfc.credits", json!(one * dice.log_whole(1, 20)));
    if case.get("cbfc.port_credits").is_some() {
        case.set("cbfc.port_credits", json!(one * dice.log_whole(1, 40)));
    }
    if lossless {
        let larger = if case.get("cbfc.reference_rate").is_some() { fastest.div_ceil(slowest) } else { 1 };
        let each = case.get("cbfc.credits").and_then(Json::as_u64).unwrap_or(one) * credit * larger * 8;
        let ports = graph.ports().unwrap_or_default();
        let most = graph.switches().map(|node| ports[node.0 as usize].len() as u64).max().unwrap_or(1);
        let buffer = bytes(case, "switch.buffer").unwrap_or(0);
        let unit = if is(case, "switch.buffer_per", "ingress") { 1 } else { most };
        set_bytes(case, "switch.buffer", buffer + each * unit);
    }
}

/// Timers are longer than loops of links, and headroom has room for retransmissions.
fn retries(dice: &mut Dice, case: &mut Case, graph: &Graph) {
    if !case.tree.contains_key("llr") {
        return;
    }
    case.remove("llr.at");
    let longest = (frame(case) + 400).max(2_000);
    let slowest = graph.links.iter().map(|link| link.rates[0].min(link.rates[1]).0).min().unwrap_or(1).max(1);
    let delay = graph.links.iter().map(|link| link.delay).max().unwrap_or_default();
    let spacing = dice.log_whole(64, 10_000);
    set_bytes(case, "llr.ack_spacing", spacing);
    let wire = Rate(slowest).time_for(Bytes(4 * longest + spacing)) + delay + delay;
    case.set("llr.replay_timer", json!(format!("{} ps", wire.0 * dice.between(1, 5))));
    let outstanding = longest * dice.log_whole(1, 50);
    set_bytes(case, "llr.outstanding_bytes", outstanding);
    if case.tree.contains_key("lossless") {
        let ports = graph.ports().unwrap_or_default();
        let most = graph.switches().map(|node| ports[node.0 as usize].len() as u64).max().unwrap_or(1);
        let buffer = bytes(case, "switch.buffer").unwrap_or(0);
        set_bytes(case, "switch.buffer", buffer + outstanding * 8 * most);
        if let Some(headroom) = bytes(case, "switch.headroom") {
            set_bytes(case, "switch.headroom", headroom + outstanding);
        }
    }
}

/// Source routes name few paths.
fn routes(dice: &mut Dice, case: &mut Case) {
    if case.get("mrc.fields").is_some() {
        let fields: Vec<u64> = (0..dice.between(1, 3)).map(|_| dice.between(1, 5)).collect();
        case.set("mrc.fields", json!(fields));
    }
}

/// Thresholds stand in their order, below the buffer.
fn thresholds(dice: &mut Dice, case: &mut Case) {
    let buffer = bytes(case, "switch.buffer").unwrap_or(u64::MAX);
    let steered = case.tree.contains_key("ci");
    for key in case.keys().into_iter().filter(|key| key.ends_with(".counter")) {
        let (table, _) = key.rsplit_once('.').unwrap_or_default();
        let dynamic = is(case, &format!("{table}.threshold"), "dynamic") || is(case, "pfc.threshold", "dynamic");
        let odd = steered && is(case, &key, "egress") || table.starts_with("pause") && is(case, &key, "queue");
        if odd || dynamic {
            case.remove(&key);
        }
    }
    if is(case, "pfc.threshold", "dynamic") {
        for key in ["pfc.xoff", "pfc.xon", "pfc.at"] {
            case.remove(key);
        }
    }
    for key in ["pfc.at.0.xoff", "pause.at.0.xoff"] {
        let usual = bytes(case, &key.replace("at.0.", "")).unwrap_or(buffer / 2);
        if case.get(key).is_some() {
            set_bytes(case, key, (usual / dice.between(1, 4)).max(1));
        }
    }
    for xon in case.keys().into_iter().filter(|key| key.ends_with(".xon")) {
        let xoff = bytes(case, &xon.replace(".xon", ".xoff"));
        let table = xon.split('.').next().unwrap_or_default().to_owned();
        match xoff.or_else(|| bytes(case, &format!("{table}.xoff"))) {
            Some(xoff) => set_bytes(case, &xon, xoff * dice.between(0, 16) / 16),
            None => {
                case.remove(&xon);
            }
        }
    }
    for table in ["pfc", "pfc.at.0"] {
        if case.get(&format!("{table}.watchdog")).is_none() {
            case.remove(&format!("{table}.watchdog_restore"));
            case.remove(&format!("{table}.watchdog_poll"));
        }
        if case.get(&format!("{table}.watchdog_poll")).is_none() {
            case.remove(&format!("{table}.watchdog_blind"));
        }
    }
    // A dynamic threshold needs a limit of the queue at every switch.
    let limited = is(case, "switch.architecture", "shared-memory") && !is(case, "switch.buffer_per", "none");
    case.remove("ecn.at.0.threshold");
    if is(case, "ecn.threshold", "dynamic") {
        if limited && case.get("switch.at").is_none() {
            set_bytes(case, "ecn.offset", buffer / dice.between(4, 64));
        } else {
            case.remove("ecn.threshold");
        }
    }
    for (low, high) in [("ecn.kmin", "ecn.kmax"), ("ci.low", "ci.high"), ("bcn.qeq", "bcn.qsc")] {
        for prefix in ["", "at.0."] {
            let [low, high] = [low, high].map(|key| key.replacen('.', &format!(".{prefix}"), 1));
            match (bytes(case, &low), bytes(case, &high)) {
                (Some(a), Some(b)) => {
                    set_bytes(case, &low, a.min(b));
                    set_bytes(case, &high, a.max(b));
                }
                (Some(a), None) if low.starts_with("ecn") || low.starts_with("bcn") => set_bytes(case, &high, a * 4),
                _ => {}
            }
        }
    }
    if case.tree.contains_key("bcn") && bytes(case, "bcn.qeq").is_none() {
        set_bytes(case, "bcn.qeq", dice.log_whole(2_000, 40_000));
        set_bytes(case, "bcn.qsc", dice.log_whole(60_000, 200_000));
    }
    for (key, most) in [("sfc.threshold", buffer / 2), ("qcn.cp_qsp", buffer / 4)] {
        if let Some(value) = bytes(case, key).filter(|value| *value > most) {
            set_bytes(case, key, value.min(most).max(1));
        }
    }
    if let (Some(target), Some(threshold)) = (bytes(case, "sfc.target"), bytes(case, "sfc.threshold")) {
        set_bytes(case, "sfc.target", target.min(threshold));
    }
    for key in case.keys().into_iter().filter(|key| key.ends_with(".weight")) {
        if case.get(&key).and_then(Json::as_f64).is_some_and(|weight| weight > 1.0) {
            case.set(&key, json!(1.0));
        }
    }
}

/// A clock ticks faster than the shortest frame passes.
fn clock(dice: &mut Dice, case: &mut Case, graph: &Graph) {
    if case.get("packet.clock").is_none() {
        return;
    }
    let fastest = graph.links.iter().map(Link::fastest).max().unwrap_or(Rate(1));
    let ordered_sets = ["llr", "cbfc"].iter().any(|name| case.tree.contains_key(*name));
    let control = if ordered_sets { 8 } else { 64 };
    let shortest = bytes(case, "ack.size").unwrap_or(64).min(bytes(case, "packet.header").unwrap_or(64)).min(control);
    let most = fastest.time_for(Bytes(shortest)).0;
    case.set("packet.clock", json!(format!("{} ps", dice.log_whole(1, most.saturating_sub(1).max(1)))));
}

/// Memory in cells, as real switches have it. It is larger, so that lossless classes keep enough headroom for small frames.
pub fn cells(dice: &mut Dice, case: &mut Case) {
    let cell = dice.one(&[80, 96, 176, 208, 254, 256]);
    if !dice.chance(0.2) || case.get("switch.at").is_some() || case.get("switch.queue_buffers").is_some() {
        return;
    }
    case.set("switch.cell", json!(format!("{cell} B")));
    for key in ["switch.buffer", "switch.headroom", "switch.staging"] {
        if let Some(size) = bytes(case, key) {
            set_bytes(case, key, size * (cell / 64 + 1));
        }
    }
}

/// Memory in slices, and shares of it that a port and a queue have. Some slices are as large as the memory was.
pub fn shares(dice: &mut Dice, case: &mut Case) {
    let slices = dice.one(&[2, 3, 4]);
    let [sliced, by_port, by_queue, some_classes, pooled, ample] = [(); 6].map(|()| dice.chance(0.3));
    if case.get("switch.at").is_some() {
        return;
    }
    let is = |case: &Case, key: &str, value: &str| case.get(key) == Some(&json!(value));
    if sliced && is(case, "switch.buffer_per", "switch") {
        case.set("switch.slices", json!(slices));
        if let Some(size) = bytes(case, "switch.buffer") {
            set_bytes(case, "switch.buffer", size * if ample { slices } else { 1 });
        }
    }
    if pooled && is(case, "switch.buffer_per", "switch") && case.get("switch.headroom").is_some() {
        set_bytes(case, "switch.headroom_pool", dice.log_whole(100, 40_000));
    }
    if some_classes && case.get("switch.reserve").is_some() {
        case.set("switch.reserve_classes", json!([3, 5]));
    }
    if is(case, "switch.architecture", "shared-memory") {
        if by_port && ["switch", "ingress"].iter().any(|per| is(case, "switch.buffer_per", per)) {
            case.set(
                "switch.alpha_port",
                json!(dice.pick(&["0.125", "0.5", "1", "2", "8"]).parse::<f64>().unwrap_or(1.0)),
            );
        }
        if by_queue {
            set_bytes(case, "switch.queue_reserve", dice.log_whole(10, 3_000));
            set_bytes(case, "switch.queue_limit", dice.log_whole(10_000, 600_000));
        }
    }
}
