//! Things that must not matter: flows that share no port with others, and samples of time series.

use backwater::{Scenario, build};
use backwater_mech::stage;
use backwater_net::record::{Row, Sink};

/// Completion times in ps by flow, of flows that end; and the fingerprint.
#[derive(Default)]
struct Times(Vec<(u32, u32, Option<u64>)>, u64);

impl Sink for Times {
    fn row(&mut self, row: Row<'_>) {
        if let Row::Flow(row) = row {
            self.0.push((row.src.0, row.dst.0, row.fct_last_ack.map(|t| t.as_ps())));
        }
    }
}

fn run(text: &str, seed: u64) -> Times {
    let scenario = Scenario::from_text(text, "test.toml", std::path::Path::new(".")).unwrap();
    let mut network = stage::build(build(&scenario.check().unwrap(), seed).unwrap()).unwrap();
    let mut times = Times::default();
    while !stage::run(&mut network, 1 << 16, &mut times).unwrap().done {}
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

/// Hosts 6 to 10 share no port with hosts 0 to 4: their traffic changes none of these by a picosecond. Marking is a step here: a switch's
/// ports share one stream of random numbers per mechanism.
#[test]
fn disjoint_flows_move_nothing() {
    let more = format!("{BUSY}\n[[flow]]\nlabel = \"other\"\nfrom = \"6..9\"\nto = \"h10\"\nsize = \"700 KB\"\n");
    for seed in 1..=8 {
        let alone = run(BUSY, seed).0;
        let beside: Vec<_> = run(&more, seed).0.into_iter().filter(|(src, ..)| *src < 6).collect();
        assert_eq!(alone, beside, "seed {seed}");
    }
}

/// A sample changes nothing: the same fingerprint with and without, even across long silences.
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

/// A run whose flows lose frames that nothing retransmits ends with the last event: its time does not depend on samples.
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
        let mut network = stage::build(build(&scenario.check().unwrap(), 1).unwrap()).unwrap();
        while !stage::run(&mut network, 1 << 16, &mut Times::default()).unwrap().done {}
        (network.progress().time, network.now())
    };
    let without = end(lossy);
    for interval in ["7 ns", "1 us", "3 us"] {
        let sampled = format!("{lossy}\n[output]\ninterval = \"{interval}\"\nlinks = true\n");
        assert_eq!(end(&sampled), without, "{interval}");
    }
}

/// A pause of three seconds is not the end of a run, with or without timers of rate controllers.
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

/// The fingerprint of the starting scenario, in debug and in release; `tests/python/core/test_core.py` checks the same in Python.
#[test]
fn starting_scenario_has_one_fingerprint_everywhere() {
    assert_eq!(format!("{:016x}", run(backwater::new_scenario(), 1).1), "c171737a3029a49a");
}

/// 400 leaves with a host each: 3,600 links.
const WIDE: &str = r#"
[topology]
kind = "leaf-spine"
leaves = 400
spines = 8
hosts_per_leaf = 1
rate = "100 Gb/s"
link_delay = "150 ns"
[switch]
buffer_per = "none"
"#;

/// Runs in slices of at most `events`; returns the times and the most flows that began within a slice.
fn sliced(text: &str, events: u64) -> (Times, u64) {
    let scenario = Scenario::from_text(text, "test.toml", std::path::Path::new(".")).unwrap();
    let mut network = stage::build(build(&scenario.check().unwrap(), 1).unwrap()).unwrap();
    let (mut times, mut most, mut before) = (Times::default(), 0, 0);
    loop {
        let progress = stage::run(&mut network, events, &mut times).unwrap();
        let begun = progress.flows_active + progress.flows_done;
        (most, before) = (most.max(begun - before), begun);
        if progress.done {
            break;
        }
    }
    network.finish(&mut times);
    times.1 = network.fingerprint();
    times.0.sort_unstable();
    (times, most)
}

/// Finding routes counts against a slice, so that the caller of a run regularly gets control. The 400 flows of a job, which begin at one
/// instant and need routes to 400 switches, do not begin within one slice. The result is the same with any slices.
#[test]
fn routes_are_part_of_a_slice() {
    let job =
        "[[job]]\nranks = 400\n[[job.step]]\nkind = \"point-to-point\"\nshift = 1\nwrap = true\nsize = \"1 KB\"\n";
    let flows = "[[flow]]\nfrom = \"0..398\"\nto = \"1..399\"\nsize = \"1 KB\"\n";
    for (what, flow_count) in [(job, 400), (flows, 399)] {
        let text = format!("{WIDE}{what}");
        let (short, most) = sliced(&text, 64);
        // A slice is worth 65,536 examined links, and finding the routes to a host examines each of 3,600 at least once. A flow's routes
        // are those to its destination and back.
        assert!((1..=65_536 / 3_600 + 2).contains(&most), "{most}");
        assert_eq!(short.0.len(), flow_count);
        assert!(short.0.iter().all(|(.., fct)| fct.is_some()));
        let (long, _) = sliced(&text, 1 << 40);
        assert_eq!((short.0, short.1), (long.0, long.1));
    }
}

/// A link's failure drops all routes at once; those still needed are found again one by one, and flows avoid the link.
#[test]
fn routes_are_found_again_after_a_failure() {
    let flows =
        "[[flow]]\nfrom = \"0..398\"\nto = \"1..399\"\nsize = \"100 KB\"\n[transport]\nrecovery = \"go-back-n\"\n";
    let fault = "[[fault]]\nkind = \"link-down\"\nat = \"2 us\"\na = \"leaf0\"\nb = \"spine3\"\n";
    let text = format!("{WIDE}{flows}{fault}");
    let ((short, _), (long, _)) = (sliced(&text, 64), sliced(&text, 1 << 40));
    assert!(short.0.iter().all(|(.., fct)| fct.is_some()));
    assert_eq!((short.0, short.1), (long.0, long.1));
}
