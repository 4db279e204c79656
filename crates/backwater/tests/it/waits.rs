//! The waits of recorded flows add up to their delay, to the picosecond, and recording changes nothing.

use backwater::{Scenario, build};
use backwater_engine::Time;
use backwater_mech::stage;
use backwater_net::record::{PauseRow, Rows, State};
use std::collections::BTreeMap;
use std::path::Path;

const ON: [(&str, &str); 2] = [("output.waits", r#"["all"]"#), ("output.pause_causes", "true")];

fn run(scenario: &Scenario, set: &[(&str, &str)]) -> (Rows, u64) {
    let scenario = set.iter().fold(scenario.clone(), |s, (k, v)| s.with_set(k, v).unwrap_or_else(|e| panic!("{e}")));
    let resolved = scenario.check().unwrap_or_else(|e| panic!("{e}"));
    let mut network = stage::build(build(&resolved, 1).unwrap_or_else(|e| panic!("{e}"))).unwrap();
    let mut rows = Rows::default();
    while !stage::run(&mut network, 1 << 16, &mut rows).is_ok_and(|progress| progress.done) {
        if network.deadlock().is_some() {
            break;
        }
    }
    network.finish(&mut rows);
    (rows, network.fingerprint())
}

/// Runs with everything recorded, and checks that nothing changed.
fn recorded(scenario: &Scenario, set: &[(&str, &str)]) -> Rows {
    let (_, plain) = run(scenario, set);
    let (rows, fingerprint) = run(scenario, &[set, &ON].concat());
    assert_eq!(plain, fingerprint, "recording moves nothing");
    rows
}

fn sums(rows: &Rows) -> BTreeMap<u64, Time> {
    rows.waits.iter().fold(BTreeMap::new(), |mut sums, row| {
        *sums.entry(row.flow).or_default() += row.time;
        sums
    })
}

fn study() -> Scenario {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/sfc-aidc-2025/scenario.toml");
    Scenario::load(&file).unwrap_or_else(|e| panic!("{e}"))
}

/// All packets and links of the study are equal, so no wait is hidden by another: every flow's waits are its delay.
#[test]
fn waits_are_the_delay_to_the_picosecond() {
    for variant in ["pfc", "pfc-sfc", "pfc-dcqcn", "pfc-qcn"] {
        for architecture in ["output-queued", "voq"] {
            let scenario = study().with_variant(variant).unwrap();
            let rows = recorded(&scenario, &[("switch.architecture", architecture)]);
            let sums = sums(&rows);
            assert_eq!(rows.flows.len(), 4);
            let waited = sums.values().fold(Time::ZERO, |all, one| all + *one);
            assert!(waited > Time::us(200), "{variant} {architecture}: {waited}");
            for flow in &rows.flows {
                let delay = flow.fct_last_byte.unwrap() - flow.ideal.unwrap();
                assert_eq!(sums[&flow.id], delay, "{variant} {architecture}: flow {}", flow.id);
            }
        }
    }
}

fn victim(rows: &Rows) -> Vec<(&str, Option<u64>, Time)> {
    let victim = rows.flows.iter().find(|flow| flow.group == 1).unwrap().id;
    let mut items: Vec<_> = rows.waits.iter().filter(|row| row.flow == victim).collect();
    items.sort_by_key(|row| std::cmp::Reverse(row.time));
    items.iter().map(|row| (row.cause, row.behind.map(|met| met.id), row.time)).collect()
}

/// Without sharing an uplink the victim of plain PFC waits only for pauses; with it, for the incast's first flow as well.
#[test]
fn the_victim_waits_for_pauses_and_for_the_flow_that_it_meets() {
    let pfc = study().with_variant("pfc").unwrap();
    let rows = recorded(&pfc, &[]);
    let first = rows.flows.iter().filter(|flow| flow.group == 0).map(|flow| flow.id).min();
    let items = victim(&rows);
    assert!(
        items.iter().all(|(cause, behind, _)| *cause == "paused" || *cause == "behind" && *behind == first),
        "{items:?}"
    );
    assert!(items.iter().any(|(cause, ..)| *cause == "paused") && items.iter().any(|(cause, ..)| *cause == "behind"));
    let apart =
        recorded(&pfc, &[("flow.victim.via", r#"["spine7"]"#), ("flow.incast.from", r#"["h16", "h24", "h32"]"#)]);
    assert_eq!(victim(&apart), [], "it meets nobody");
}

/// The recorded pauses are those that ports count, with the same durations; the first stand behind the port to the receiver.
#[test]
fn pauses_are_all_there_and_lead_to_the_incast() {
    let rows = recorded(&study().with_variant("pfc").unwrap(), &[]);
    let received: u64 = rows.ports.iter().map(|row| row.stats.pauses_received).sum();
    assert!(received > 3);
    assert_eq!(rows.pauses.len() as u64, received);
    for port in &rows.ports {
        let of = |pause: &&PauseRow| pause.peer == port.node && pause.peer_port == port.port;
        let paused: Time =
            rows.pauses.iter().filter(of).fold(Time::ZERO, |sum, row| sum + (row.end.unwrap() - row.start));
        assert_eq!(paused.as_ps(), port.stats.paused_ps);
    }
    let host = rows
        .ports
        .iter()
        .find(|row| row.stats.max_egress_bytes == rows.ports.iter().map(|r| r.stats.max_egress_bytes).max().unwrap());
    let root = host.map(|row| (row.node, row.port, row.peer)).unwrap();
    let at_root: Vec<_> = rows.pauses.iter().filter(|row| row.node == root.0).collect();
    assert!(!at_root.is_empty());
    for row in at_root {
        let behind = row.behind.unwrap();
        assert_eq!((behind.port, behind.to, behind.paused), (root.1, root.2, false));
        assert!(behind.bytes > 300_000 && behind.since < row.asked && row.asked < row.start);
    }
}

/// Frames in a slow receiver's buffer wait for it, and so do frames that it has paused.
#[test]
fn a_slow_receiver_is_a_cause() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/slow-receiver.toml");
    let rows = recorded(&Scenario::load(&file).unwrap_or_else(|e| panic!("{e}")), &[]);
    let received = rows.waits.iter().filter(|row| row.cause == "receiver");
    let waited = received.fold(Time::ZERO, |sum, row| sum + row.time);
    assert!(waited > Time::us(1), "{waited}");
    assert!(rows.waits.iter().any(|row| row.cause == "paused"));
    let sums = sums(&rows);
    for flow in rows.flows.iter().filter(|flow| flow.state == State::Complete) {
        assert!(sums[&flow.id] < flow.fct_last_byte.unwrap());
    }
}

/// Flows with retransmissions, several paths, isolation queues, windows, rates, several queues, slow receivers or links of several rates
/// add up, too: the remainder, in which something of the flow moved, is no less than the time of its frames at its source.
#[test]
fn no_flow_of_the_examples_waits_for_longer_than_it_takes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let mut causes: BTreeMap<&str, u64> = BTreeMap::new();
    for file in files {
        let scenario = Scenario::load(&file).unwrap_or_else(|e| panic!("{e}"));
        let variants: Vec<Scenario> =
            scenario.variants().iter().map(|name| scenario.with_variant(name).unwrap()).collect();
        for scenario in variants.into_iter().chain([scenario]) {
            // The large one shows everything in less time.
            let at = if file.ends_with("fat-tree-rpc.toml") { "60 us" } else { "300 us" };
            let set = [("stop.at", at)];
            if scenario.with_set("stop.at", at).is_ok_and(|scenario| scenario.check().is_err()) {
                continue;
            }
            let rows = recorded(&scenario, &set);
            let sums = sums(&rows);
            rows.waits.iter().for_each(|row| *causes.entry(row.cause).or_default() += 1);
            for flow in rows.flows.iter().filter(|flow| flow.state == State::Complete && flow.ideal.is_some()) {
                let (waited, fct) = (sums.get(&flow.id).copied().unwrap_or_default(), flow.fct_last_byte.unwrap());
                assert!(waited < fct, "{}: flow {} waited for {waited} of {fct}", file.display(), flow.id);
            }
        }
    }
    let found: Vec<&str> = causes.into_keys().collect();
    // Gates and isolation queues belong to a mechanism, other causes do not.
    for cause in ["behind", "control-frames", "fabric", "gate", "lane", "paused", "rate-limit", "window"] {
        assert!(found.contains(&cause), "no example waits for {cause}: {found:?}");
    }
}

/// Frames that a watchdog drops were somewhere, too: no flow waits for longer than it takes, and for a fabric only in a crossbar.
#[test]
fn waits_hold_where_a_watchdog_drops() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/ns3-incast.toml");
    let scenario = Scenario::load(&file).unwrap_or_else(|e| panic!("{e}"));
    for architecture in ["output-queued", "shared-memory", "input-queued", "voq"] {
        let set = [
            ("switch.architecture", architecture),
            ("switch.latency", "0 s"),
            ("pfc.watchdog", "1 us"),
            ("transport.recovery", "selective-repeat"),
            ("stop.at", "150 us"),
        ];
        let (rows, _) = run(&scenario, &[&set[..], &ON].concat());
        let flushed: u64 = rows.ports.iter().map(|row| row.stats.flushed_frames).sum();
        assert!(flushed > 0, "{architecture}: the watchdog drops nothing");
        let sums = sums(&rows);
        for flow in &rows.flows {
            let waited = sums.get(&flow.id).copied().unwrap_or_default();
            let fct = flow.fct_last_byte.unwrap_or(Time::us(150));
            assert!(waited <= fct, "{architecture}: flow {} waited for {waited} of {fct}", flow.id);
        }
        let fabric = rows.waits.iter().any(|row| row.cause == "fabric");
        assert!(!fabric || ["input-queued", "voq"].contains(&architecture), "{architecture} has no fabric");
    }
}
