//! Open-loop workloads: the offers of groups against the requested ones, the participants, and the warnings.

use backwater::load::offers;
use backwater::{Checked, Scenario, build};
use backwater_engine::Time;
use backwater_net::spec::FlowSpec;
use backwater_net::workload::FlowSource;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// 32 hosts at 8 ToRs in 2 pods, 100 and 400 Gb/s; frames of 1000 B and 48 B more, as in HPCC's ns-3 code.
const FABRIC: &str = r#"
[topology]
kind = "fat-tree"
pods = 2
tors_per_pod = 4
aggs_per_pod = 2
cores = 4
hosts_per_tor = 4
rate = "100 Gb/s"
fabric_rate = "400 Gb/s"
link_delay = "1 us"

[packet]
payload = "1000 B"
header = "48 B"
gap = "0 B"
"#;

fn resolved(flows: &str) -> Checked {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let scenario = Scenario::from_text(&format!("{FABRIC}{flows}"), "net.toml", folder);
    scenario.and_then(|s| s.check()).unwrap_or_else(|e| panic!("{e}"))
}

fn flows(resolved: &Checked) -> Vec<FlowSpec> {
    let mut spec = build(resolved, 7).unwrap_or_else(|e| panic!("{e}"));
    let drain = |source: &mut Box<dyn FlowSource>| std::iter::from_fn(|| source.next_flow()).collect::<Vec<_>>();
    spec.sources.iter_mut().flat_map(drain).collect()
}

/// Returns the ratio of each group's offer to its requested one: both are shares of its capacity in the bytes that it counts.
fn ratios(text: &str) -> Vec<f64> {
    let resolved = resolved(text);
    let (all, packet) = (flows(&resolved), resolved.resolved().file.packet.clone());
    let ratio = |(number, group): (usize, &backwater::file::FlowGroup)| {
        let offer = offers(&resolved).remove(number);
        let of_group = all.iter().filter(|f| f.group as usize == number);
        let bytes = of_group.map(|f| match group.load_counts {
            backwater::file::LoadCounts::Wire => packet.on_wire(f.bytes),
            backwater::file::LoadCounts::Payload => f.bytes,
        });
        let seconds = offer.until.unwrap().since(offer.from).as_secs_f64();
        bytes.sum::<u64>() as f64 * 8.0 / (offer.capacity * seconds) / offer.target
    };
    resolved.resolved().file.flow.iter().enumerate().map(ratio).collect()
}

/// With web search the standard deviation of a size is 2.3 times its mean, and 84,000 flows arrive: 0.9 %. The number of the incast's
/// 60,000 events deviates by 0.4 %.
#[test]
fn what_is_offered_is_what_was_asked_for() {
    std::fs::write(
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("rack.csv"),
        "src,dst,weight\nall,all,1\nat tor0,h31,50\n",
    )
    .unwrap();
    let got = ratios(
        r#"
[[flow]]
label = "drawn sizes"
pattern = "random"
sizes = "web-search"
arrivals = "poisson"
load = "50 %"
until = "750 ms"

[[flow]]
label = "payload"
pattern = "random"
size = "700 B"
arrivals = "poisson"
load = "5 %"
load_counts = "payload"
until = "3 ms"

[[flow]]
label = "of the network"
from = "at tor0..tor7 step 4"
to = "at tor1"
pattern = "random"
size = "20 KB"
arrivals = "poisson"
load = "5 %"
load_of = "network"
until = "30 ms"

[[flow]]
label = "matrix"
pattern = "matrix"
matrix = "rack.csv"
size = "20 KB"
arrivals = "poisson"
load = "10 %"
until = "30 ms"

[[flow]]
label = "pairs"
from = "8..11"
to = "12..15"
size = "10 KB"
arrivals = "periodic"
load = "10 %"
load_counts = "payload"
start = "1 ms"
until = "30 ms"

[[flow]]
label = "incast"
pattern = "incast"
fan_in = 3
size = "256 KB"
arrivals = "poisson"
load = "6 %"
load_of = "network"
until = "2 s"

[[flow]]
label = "incast by interval"
pattern = "incast"
from = "0..15"
fan_in = 3
size = "10 KB"
arrivals = "periodic"
interval = "100 us"
until = "30 ms"
"#,
    );
    assert_eq!(got.len(), 7);
    assert!(got.iter().all(|ratio| (ratio - 1.0).abs() < 0.02), "{got:?}");
}

/// 320 hosts at 100 Gb/s, 8 % of them in events of 120 times 256 KB of payload: 10,417 events a second.
#[test]
fn events_of_the_proxy_study() {
    let text = r#"
[topology]
kind = "fat-tree"
pods = 5
tors_per_pod = 4
aggs_per_pod = 4
cores = 16
hosts_per_tor = 16
rate = "100 Gb/s"
fabric_rate = "400 Gb/s"
link_delay = "1 us"

[[flow]]
pattern = "incast"
fan_in = 120
size = "256 KB"
arrivals = "periodic"
load = "8 %"
load_of = "network"
load_counts = "payload"
until = "960 us"
"#;
    let resolved = Scenario::from_text(text, "net.toml", Path::new(".")).and_then(|s| s.check()).unwrap();
    let starts: BTreeSet<Time> = flows(&resolved).iter().map(|f| f.start).collect();
    let starts: Vec<Time> = starts.into_iter().collect();
    assert_eq!(starts[..2], [Time::ZERO, Time::us(96)]);
    assert_eq!(starts.len(), 10);
    // 8 x 320 x 100 Gb/s / (8 x 120 x 256 KB) = 1/96 us, and 120 senders an event.
    assert_eq!(flows(&resolved).len(), 1200);
}

fn sources(from: &str) -> Result<Vec<u32>, String> {
    let text = format!("[[flow]]\nfrom = {from}\nto = \"h31\"\nsize = \"1 KB\"\n");
    let scenario = Scenario::from_text(&format!("{FABRIC}{text}"), "net.toml", Path::new("."));
    let resolved =
        scenario.and_then(|s| s.check()).map_err(|e| format!("{}; {}", e.reason, e.hint.unwrap_or_default()))?;
    Ok(flows(&resolved).iter().map(|f| f.src.0).collect())
}

#[test]
fn host_sets_by_range_step_and_switch() {
    assert_eq!(sources("\"0..8 step 2\"").unwrap(), [0, 2, 4, 6, 8]);
    assert_eq!(sources("\"h1..h8 step 3\"").unwrap(), [1, 4, 7]);
    assert_eq!(sources("\"at tor3\"").unwrap(), [12, 13, 14, 15]);
    assert_eq!(sources("\"at tor0..tor1\"").unwrap(), (0..8).collect::<Vec<_>>());
    assert_eq!(sources("[30, \"at tor1..tor6 step 5\"]").unwrap(), [30, 4, 5, 6, 7, 24, 25, 26, 27]);
    assert_eq!(sources("\"all step 16\"").unwrap(), [0, 16]);
    for (from, reason) in [
        ("\"at tor9\"", "there is no switch `tor9`; did you mean `tor7`?"),
        ("\"at h1\"", "there is no switch `h1`"),
        ("\"at agg0..agg1\"", "no host is attached to `agg0..agg1`"),
        ("\"at tor3..tor1\"", "the range `tor3..tor1` ends before it begins"),
        ("\"0..8 step 0\"", "`0` is no step; a number from 1"),
        ("\"0..8 step x\"", "`x` is no step"),
        ("\"0..80\"", "there is no host `80`; hosts are 0 to 31, called h0 to h31"),
    ] {
        let got = sources(from).unwrap_err();
        assert!(got.starts_with(reason), "{got}");
    }
}

#[test]
fn a_matrix_decides_who_receives() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("racks.csv");
    std::fs::write(&file, "src,dst,weight\nat tor0,at tor1,3\nat tor0,h31,4\nh5,h6,1\n").unwrap();
    let text = "[[flow]]\npattern = \"matrix\"\nmatrix = \"racks.csv\"\nsize = \"1 KB\"\narrivals = \"poisson\"\n\
                load = \"20 %\"\nuntil = \"2 ms\"\n";
    let mut seen: BTreeMap<u32, BTreeMap<u32, f64>> = BTreeMap::new();
    for flow in flows(&resolved(text)) {
        *seen.entry(flow.src.0).or_default().entry(flow.dst.0).or_default() += 1.0;
    }
    assert!(seen.keys().eq(&[0, 1, 2, 3, 5]), "{seen:?}");
    assert!(seen[&5].keys().eq(&[6]));
    for from in 0..4 {
        let n: f64 = seen[&from].values().sum();
        assert!(seen[&from].keys().eq(&[4, 5, 6, 7, 31]));
        for (to, share) in [(4, 3.0 / 16.0), (31, 0.25)] {
            assert!((seen[&from][&to] - n * share).abs() < 4.0 * (n * share).sqrt(), "{from} -> {to}: {seen:?}");
        }
    }
}

#[test]
fn receivers_that_drown_are_warned_of() {
    let incast = |to: &str| {
        format!(
            "[transport]\nrecovery = \"go-back-n\"\n[[flow]]\npattern = \"incast\"\nto = \"{to}\"\nfan_in = 8\nsize = \"64 KB\"\narrivals = \"poisson\"\nload = \"10 %\"\nuntil = \"1 ms\"\n"
        )
    };
    let warnings = resolved(&incast("0..1")).warnings;
    assert_eq!(warnings.len(), 1);
    assert_eq!((warnings[0].key.as_str(), warnings[0].value.as_str()), ("flow.0.load", "10 %"));
    assert!(
        warnings[0].reason.contains("bring 160 % of what their 2 receivers' links carry"),
        "{}",
        warnings[0].reason
    );
    assert_eq!(resolved(&incast("0..7")).warnings, []);
}

/// Clusters of 4 among 24 hosts, and two gathering ones of 4 after them. With random placement every pair stays in its set, sets are
/// disjoint, and hosts are not at the places of their numbers.
#[test]
fn clusters_stay_among_themselves_wherever_they_are_placed() {
    let text = |placement: &str| {
        format!(
            "[[flow]]\npattern = \"clusters\"\ncluster = 4\nfrom = \"0..23\"\nplacement = \"{placement}\"\nsizes = \"web-search\"\n\
             arrivals = \"poisson\"\nload = \"30 %\"\nuntil = \"5 ms\"\nclasses = [1, 2]\nsmall_below = \"10 KB\"\nsmall_class = 5\n\
             [[flow]]\nlabel = \"gather\"\npattern = \"gather\"\ncluster = 4\nfrom = \"24..31\"\nplacement = \"{placement}\"\nsize = \"1 TB\"\n"
        )
    };
    let named = flows(&resolved(&text("named")));
    let order = backwater_net::workload::placement(7, 32);
    let placed = flows(&resolved(&text("random")));
    assert_eq!(named.len(), placed.len());
    assert!(named.len() > 100, "{}", named.len());
    for (named, placed) in named.iter().zip(&placed) {
        assert_eq!(named.src.0 / 4, named.dst.0 / 4, "{named:?}");
        assert_eq!((placed.src, placed.dst), (order[named.src.0 as usize], order[named.dst.0 as usize]));
        assert_eq!((placed.start, placed.bytes), (named.start, named.bytes), "a place moves no draw");
    }
    let gathered: Vec<_> = named.iter().filter(|f| f.group == 1).map(|f| (f.src.0, f.dst.0)).collect();
    assert_eq!(gathered, [(25, 24), (26, 24), (27, 24), (29, 28), (30, 28), (31, 28)]);
    for flow in placed.iter().filter(|f| f.group == 0) {
        assert_eq!(flow.class.0 == 5, flow.bytes < 10_000, "{flow:?}");
        let same = placed.iter().filter(|f| f.group == 0 && f.dst == flow.dst && f.bytes >= 10_000);
        assert!(same.map(|f| f.class).collect::<BTreeSet<_>>().len() <= 1, "one destination, one queue");
    }
}
