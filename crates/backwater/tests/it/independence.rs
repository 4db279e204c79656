//! What must not matter does not matter: flows that share no port with others, and samples of time series.

use backwater::{Scenario, build};
use backwater_net::network::Network;
use backwater_net::record::{ControlRow, FlowRow, PortRow, SeriesRow, Sink};

/// Completion times in ps by flow, of flows that end; and the fingerprint.
#[derive(Default)]
struct Times(Vec<(u32, u32, Option<u64>)>, u64);

impl Sink for Times {
    fn flow(&mut self, row: &FlowRow) {
        self.0.push((row.src.0, row.dst.0, row.fct_last_ack.map(|t| t.as_ps())));
    }
    fn control(&mut self, _: &ControlRow) {}
    fn series(&mut self, _: &SeriesRow) {}
    fn port(&mut self, _: &PortRow) {}
}

fn run(text: &str, seed: u64) -> Times {
    let scenario = Scenario::from_text(text, "test.toml", std::path::Path::new(".")).unwrap();
    let mut network = Network::new(build(&scenario.resolve().unwrap(), seed).unwrap()).unwrap();
    let mut times = Times::default();
    while !network.run(1 << 16, &mut times).unwrap().done {}
    network.finish(&mut times);
    times.1 = network.fingerprint();
    times.0.sort_unstable();
    times
}

const BUSY: &str = r#"
[topology]
kind = "star"
hosts = 12
rate = "100 Gb/s"
link_delay = "150 ns"
[switch]
buffer = "400 KB"
buffer_per = "ingress"
[pfc]
xoff = "340 KB"
[ecn]
kmin = "60 KB"
kmax = "60 KB"
[dcqcn]
[sfc]
threshold = "120 KB"
resume = true
[[flow]]
label = "main"
from = "1..4"
to = "h0"
size = "1 MB"
"#;

/// Hosts 6 to 10 share no port with hosts 0 to 4: what they do moves none of these by a picosecond. Marking is a step here: a
/// switch's ports share one stream of random numbers per mechanism.
#[test]
fn disjoint_flows_move_nothing() {
    let more = format!("{BUSY}\n[[flow]]\nlabel = \"other\"\nfrom = \"6..9\"\nto = \"h10\"\nsize = \"700 KB\"\n");
    for seed in 1..=8 {
        let alone = run(BUSY, seed).0;
        let beside: Vec<_> = run(&more, seed).0.into_iter().filter(|(src, ..)| *src < 6).collect();
        assert_eq!(alone, beside, "seed {seed}");
    }
}

/// A sample looks and touches nothing: the same fingerprint with and without, also across long silences.
#[test]
fn samples_move_nothing_and_end_nothing() {
    let rare = r#"
[topology]
kind = "star"
hosts = 3
rate = "1 Gb/s"
link_delay = "150 ns"
[[flow]]
from = "h1"
to = "h0"
arrivals = "bernoulli"
load = "0.0001 %"
until = "200 s"
"#;
    let sampled = "\n[output]\ninterval = \"100 ms\"\nqueues = true\n";
    for text in [rare, BUSY] {
        let (without, with) = (run(text, 1), run(&format!("{text}{sampled}"), 1));
        assert_eq!((without.0, without.1), (with.0, with.1));
    }
}

/// A run whose flows lose frames, and which nothing sends again, ends with the last thing that happens: when that is does not depend
/// on samples.
#[test]
fn samples_do_not_move_the_end() {
    let lossy = r#"
[topology]
kind = "star"
hosts = 3
rate = "1 Gb/s"
link_delay = "1 us"
[[flow]]
from = "h1"
to = "h0"
size = "1 B"
[[fault]]
kind = "link-down"
at = "1 ns"
a = "s0"
b = "h0"
"#;
    let end = |text: &str| {
        let scenario = Scenario::from_text(text, "test.toml", std::path::Path::new(".")).unwrap();
        let mut network = Network::new(build(&scenario.resolve().unwrap(), 1).unwrap()).unwrap();
        while !network.run(1 << 16, &mut Times::default()).unwrap().done {}
        (network.progress().time, network.now())
    };
    let without = end(lossy);
    for interval in ["7 ns", "1 us", "3 us"] {
        let sampled = format!("{lossy}\n[output]\ninterval = \"{interval}\"\nlinks = true\n");
        assert_eq!(end(&sampled), without, "{interval}");
    }
}

/// A pause of three seconds is not the end of a run, timers of rate controllers or not.
#[test]
fn a_long_pause_is_not_the_end() {
    let late = r#"
[topology]
kind = "star"
hosts = 3
rate = "100 Gb/s"
link_delay = "150 ns"
[ecn]
[dcqcn]
[sfc]
threshold = "20 KB"
pause = "3 s"
[[flow]]
from = "1..2"
to = "h0"
size = "200 KB"
"#;
    assert!(run(late, 1).0.iter().all(|(_, _, time)| time.is_some_and(|t| t > 3_000_000_000_000)));
}

/// The fingerprint of the starting scenario, in debug and in release; `tests/python/test_core.py` holds Python to the same.
#[test]
fn starting_scenario_has_one_fingerprint_everywhere() {
    assert_eq!(format!("{:016x}", run(backwater::new_scenario(), 1).1), "e4210d8aa349e723");
}
