//! The outcome of a run does not depend on the number of threads: fingerprint, totals, rows and their order.

use backwater::{Scenario, build};
use backwater_mech::stage;
use backwater_net::record::{Progress, Rows};
use std::path::Path;

const TREE: &str = r#"
[topology]
kind = "leaf-spine"
leaves = 6
spines = 3
hosts_per_leaf = 4
rate = "100 Gb/s"
link_delay = "150 ns"
"#;

/// All hosts send all the time, several to one, and more than the links carry.
const BUSY: &str = r#"
[[flow]]
label = "background"
pattern = "random"
size = "60 KB"
arrivals = "poisson"
load = "70 %"
until = "40 us"
[[flow]]
label = "incast"
from = "4..19"
to = "h0"
size = "90 KB"
"#;

const PFC: &str = r#"
[switch]
buffer = "400 KB"
buffer_per = "ingress"
[pfc]
xoff = "60 KB"
"#;

/// Returns the outcome of a scenario on so many threads, as text, the number of threads used, and why there was only one.
fn run(text: &str, threads: usize, slice: u64) -> (String, usize, Option<String>) {
    let scenario = Scenario::from_text(text, "test.toml", Path::new(".")).unwrap();
    let checked = scenario.check().unwrap();
    let mut make = || build(&checked, 7).map_err(|error| error.to_string());
    let mut run = stage::build_parallel(threads, &mut make).unwrap();
    let mut rows = Rows::default();
    let broken = loop {
        match stage::run_parallel(&mut run, slice, &mut rows) {
            Ok(progress) if progress.done => break None,
            Ok(_) => {}
            Err(broken) => break Some(broken),
        }
    };
    stage::finish_parallel(&mut run, &mut rows).unwrap();
    // The number of events is the engine's affair.
    let progress = Progress { events: 0, ..run.progress() };
    let reported = [
        format!("{:x} {progress:?} {:?} {broken:?} {:?}", run.fingerprint(), run.now(), run.unrest()),
        format!("{:?} {:?}", run.deadlock(), run.first_drop()),
        format!("{:#?}", rows.flows),
        format!("{:#?}", rows.control),
        format!("{:#?} {:#?} {:#?}", rows.ports, rows.switches, rows.counters),
        format!("{:#?} {:#?} {:#?}", rows.collectives, rows.transfers, rows.rounds),
        format!("{:#?} {:#?} {:?}", rows.instances, rows.loads, run.rounds()),
        format!("{:#?}", rows.series),
    ];
    (reported.join("\n"), run.threads(), run.why_one_thread().map(str::to_owned))
}

/// Six leaves make six parts at most.
fn same_on_any_number(name: &str, text: &str) {
    same_in_parts(6, name, text);
}

fn same_in_parts(most: usize, name: &str, text: &str) {
    let (one, _, _) = run(text, 1, 1 << 16);
    assert!(one.len() > 10_000, "{name}: rows were handed out");
    for threads in [2, 3, 4, 8, 16] {
        let (many, used, why) = run(text, threads, 1 << 16);
        assert_eq!((used, why), (threads.min(most), None), "{name}");
        let differ = one.lines().zip(many.lines()).find(|(one, many)| one != many);
        assert!(one == many, "{name}, {threads} threads: {differ:?}");
    }
    let (many, ..) = run(text, 3, 500);
    assert!(one == many, "{name}: short slices");
}

#[test]
fn pfc_and_dcqcn() {
    let mechanisms = "[ecn]\nkmin = \"20 KB\"\nkmax = \"40 KB\"\n[dcqcn]\npreset = \"ns3-hpcc\"\n";
    same_on_any_number("by frames", &format!("lossless = true\n{TREE}{PFC}{mechanisms}{BUSY}"));
    same_on_any_number("by signals", &format!("{TREE}{PFC}signal = \"ideal\"\n{mechanisms}{BUSY}"));
}

/// Six leaves in three groups, far apart, so that links of several delays connect parts.
#[test]
fn groups_of_leaves_and_spines() {
    let groups = "kind = \"dragonfly-plus\"\ngroups = 3\nleaves_per_group = 2\nspines_per_group = 2\nglobal_links_per_spine = 1\n\
                  global_delay = \"2 us\"\n";
    let tree = TREE.replace("kind = \"leaf-spine\"\nleaves = 6\nspines = 3\n", groups);
    same_on_any_number("groups", &format!("lossless = true\n{tree}{PFC}{BUSY}"));
    let routers = "kind = \"dragonfly\"\ngroups = 3\nrouters_per_group = 2\nglobal_links_per_router = 1\nglobal_delay = \"2 us\"\n";
    let tree = TREE.replace("kind = \"leaf-spine\"\nleaves = 6\nspines = 3\n", routers);
    same_on_any_number("routers", &format!("{}{BUSY}", tree.replace("hosts_per_leaf", "hosts_per_router")));
}

/// Ended flows are handed out during the run, however few events a slice has: memory does not grow with time.
#[test]
fn rows_come_before_the_end() {
    let text = format!("{TREE}{PFC}{}", BUSY.replace("40 us", "400 us"));
    let scenario = Scenario::from_text(&text, "test.toml", Path::new(".")).unwrap();
    let checked = scenario.check().unwrap();
    let mut make = || build(&checked, 7).map_err(|error| error.to_string());
    let mut run = stage::build_parallel(3, &mut make).unwrap();
    let mut rows = Rows::default();
    let mut held = 0;
    loop {
        let progress = stage::run_parallel(&mut run, 5_000, &mut rows).unwrap();
        held = held.max(progress.flows_done - rows.flows.len() as u64);
        if progress.done {
            break;
        }
    }
    let all = run.progress().flows_done;
    assert_eq!(run.threads(), 3);
    assert!(all > 800 && held * 5 < all, "{held} of {all} flows were over and not handed out");
}

/// Frames are lost and arrive twice, and flows end while copies of their frames are still in flight.
#[test]
fn drops_and_what_is_sent_again() {
    for recovery in ["go-back-n", "selective-repeat"] {
        let transport = format!(
            "[transport]\nrecovery = \"{recovery}\"\ntimeout = \"200 us\"\nretries = \"unlimited\"\n[switch]\nbuffer = \"30 KB\"\n"
        );
        same_on_any_number(recovery, &format!("{TREE}{transport}{BUSY}"));
    }
}

/// Telemetry goes with packets from part to part, and comes back; sprayed packets take all paths.
#[test]
fn telemetry_and_spraying() {
    same_on_any_number("hpcc", &format!("{TREE}{PFC}[hpcc]\n{BUSY}"));
    same_on_any_number("hpcc", &format!("{TREE}{PFC}[hpcc]\ntelemetry = \"pint\"\n{BUSY}"));
    same_on_any_number("spray", &format!("{TREE}{PFC}[spray]\n{BUSY}"));
}

/// Flows over two planes, whose packets are lost, so that values are retired and probed. A host with the switch in its interface is a part.
#[test]
fn planes_with_entropy_values_that_are_retired() {
    let planes = "planes = 2\nhost_rate = \"200 Gb/s\"\n";
    let mrc = "[ack]\nbytes = \"4 KB\"\n[transport]\nrecovery = \"rud\"\ntimeout = \"30 us\"\nretries = \"unlimited\"\n[switch]\n\
               buffer = \"30 KB\"\n[mrc]\nvalues = 12\nfields = [2, 3]\nprobe_interval = \"20 us\"\n";
    let text = format!("{TREE}{planes}{mrc}{BUSY}");
    assert!(run(&text, 1, 1 << 16).0.contains("ev-answer"), "values are probed");
    same_in_parts(24, "planes", &text);
}

/// Jobs with ranks in all parts, among other flows: a completion in one part lets a transfer begin in another.
#[test]
fn jobs_with_a_start_latency() {
    let jobs = r#"
[[job]]
label = "train"
ranks = 8
hosts = "0..23"
rounds = 3
start_latency = "1 us"
[[job.step]]
label = "reduce"
kind = "all-reduce"
size = "120 KB"
[[job.step]]
label = "think"
kind = "compute"
time = "3 us"
[[job.step]]
label = "experts"
kind = "all-to-all"
size = "90 KB"
[[job]]
label = "late"
ranks = 24
hosts = "0..23"
rounds = 2
rounds_in_flight = 2
start = "20 us"
start_latency = "400 ns"
complete_at = "last-ack"
[[job.step]]
label = "shift"
kind = "point-to-point"
shift = 5
wrap = true
size = "70 KB"
"#;
    same_on_any_number("jobs", &format!("{TREE}{PFC}{BUSY}{jobs}"));
    let pairs = jobs.replacen("[[job]]\n", "[[job]]\nqueue_pairs = 2\n", 1);
    let (_, _, why) = run(&format!("{TREE}{PFC}{BUSY}{pairs}"), 4, 1 << 16);
    assert_eq!(
        why.as_deref(),
        Some("messages over several queue pairs, or queue pairs that outlive a message, are not split yet")
    );
    let issue = "[nic]\nissue = \"60 ns\"\n[[nic.at]]\nhosts = \"0..9\"\nissue = \"1.7 us\"\n";
    same_on_any_number("issued in turn", &format!("{TREE}{PFC}{BUSY}{jobs}{issue}"));
    same_on_any_number("an end", &format!("{TREE}{PFC}{BUSY}{jobs}[stop]\nat = \"27.1828 us\"\n"));
    let at_once = jobs.replace("start_latency = \"400 ns\"\n", "");
    let (.., why) = run(&format!("{TREE}{PFC}{BUSY}{at_once}"), 2, 1 << 16);
    assert!(why.unwrap_or_default().starts_with("job.start_latency is 0: "));
}

/// The end cuts flows off, and reports where each of them waits.
#[test]
fn an_end_before_flows_end() {
    same_on_any_number("stop", &format!("{TREE}{PFC}{BUSY}[stop]\nat = \"31.4159 us\"\n"));
}

/// Parts stop together for each sample, whether or not anything happens then. The last sample is that after the last event.
#[test]
fn time_series() {
    let series =
        "[output]\ninterval = \"3.1 us\"\nqueues = true\nlinks = true\npauses = true\nflows = true\nbacklogs = true\n";
    let late = "[[flow]]\nlabel = \"late\"\nfrom = 2\nto = 9\nsize = \"30 KB\"\nstart = \"200 us\"\n";
    let text = format!("{TREE}{PFC}{BUSY}{late}{series}");
    let (reported, used, why) = run(&text, 3, 1 << 16);
    assert_eq!((used, why), (3, None));
    for quantity in
        ["queue_bytes", "sent_bytes", "paused", "flow_rate_bps", "flow_received_bytes", "backlog_mean_bytes"]
    {
        assert!(reported.contains(quantity), "{quantity} was sampled");
    }
    same_on_any_number("series", &text);
    same_on_any_number("series and an end", &format!("{text}[stop]\nat = \"34 us\"\n"));
    same_on_any_number("series at the end", &format!("{text}[stop]\nat = \"199.6 us\"\n"));
    let timers = "[transport]\nrecovery = \"go-back-n\"\ntimeout = \"20 us\"\n";
    same_on_any_number("series and timers", &format!("{text}{timers}"));
}

/// A frame that leaves lets one go from an isolation queue, which takes the port at once, before the first has reached the other part.
#[test]
fn isolation_queues() {
    let sfc = "[sfc]\nthreshold = \"30 KB\"\ntarget = \"10 KB\"\nresume = true\nat_source = \"isolation\"\n";
    for release in ["end", "start"] {
        let pfc = PFC.replace("[pfc]", &format!("release_at = \"{release}\"\n[pfc]"));
        same_on_any_number(release, &format!("{TREE}{pfc}{sfc}{BUSY}"));
    }
}

/// A frame that a wake-up (a late event of its instant) releases arms a timer, an early event of the same instant: rows of the timer come
/// after those of the wake-up, wherever the other ports are.
#[test]
fn an_event_that_one_of_its_instant_pushes() {
    let credits =
        "[switch]\nbuffer = \"4 MB\"\nbuffer_per = \"ingress\"\nrelease_at = \"start\"\n[cbfc]\ncredits = 2000\n";
    same_on_any_number("credits", &format!("{TREE}{credits}{BUSY}"));
}

/// If something must be known elsewhere at the same instant there is one thread, and the reason is reported.
#[test]
fn one_thread_and_why() {
    let why = |text: &str| {
        let (reported, used, why) = run(text, 4, 1 << 16);
        assert_eq!(reported, run(text, 1, 1 << 16).0);
        assert_eq!(used, 1);
        why.unwrap_or_default()
    };
    assert_eq!(
        why(&format!("{TREE}{BUSY}[ack]\nenabled = false\n")),
        "without acknowledgements a sender knows at once what has arrived"
    );
    let shared = "[ecn]\nkmin = \"20 KB\"\nkmax = \"40 KB\"\n[dcqcn]\nlaw = \"paper\"\nshared_alpha = true\n";
    assert_eq!(why(&format!("{TREE}{shared}{BUSY}")), "dcqcn has state that all nodes share at once");
    assert_eq!(why(&format!("{}{BUSY}", TREE.replace("150 ns", "0 ns"))), "a link between its parts takes no time");
}

/// Flows of a group are alike: the first shows that the run cannot be split, and nothing is done twice.
#[test]
fn pinned_flows_with_recovery_have_one_thread_from_the_start() {
    let pinned = |key: &str, path: &str| {
        let nodes = path.split(' ').map(|node| format!("\"{node}\"")).collect::<Vec<_>>().join(", ");
        format!(
            "[[flow]]\nlabel = \"pinned\"\nfrom = 20\nto = 8\nsize = \"200 KB\"\nstart = \"30 us\"\n{key} = [{nodes}]\n"
        )
    };
    let recovery = "[transport]\nrecovery = \"go-back-n\"\n";
    for (key, path) in [("path", "h20 leaf5 spine1 leaf2 h8"), ("ack_path", "h8 leaf2 spine0 leaf5 h20")] {
        let text = format!("{TREE}{PFC}{BUSY}{}", pinned(key, path));
        let (reported, used, why) = run(&format!("{text}{recovery}"), 3, 1 << 16);
        assert_eq!(
            (used, why.as_deref()),
            (1, Some("a path is pinned, and taken out everywhere at the instant at which its flow ends"))
        );
        assert_eq!(reported, run(&format!("{text}{recovery}"), 1, 1 << 16).0);
        same_on_any_number("pinned, nothing comes twice", &text);
    }
}

/// Senders give up at their first timeout, and packets are lost.
fn gives_up(timeout: &str) -> String {
    let transport =
        format!("[transport]\nrecovery = \"go-back-n\"\ntimeout = \"{timeout}\"\nretries = 0\nloss = \"expected\"\n");
    format!("{TREE}{transport}[switch]\nbuffer = \"30 KB\"\n{BUSY}")
}

/// A sender that gives up in one part ends the attempt. Nothing is handed out twice.
#[test]
fn what_nobody_has_foreseen_begins_again() {
    // Some flows complete before the first sender gives up.
    let text = gives_up("100 us");
    let (one, _, _) = run(&text, 1, 1 << 16);
    for (threads, slice) in [(2, 500), (3, 500), (4, 300)] {
        let (many, used, why) = run(&text, threads, slice);
        assert_eq!(
            (used, why.as_deref()),
            (1, Some("a sender gives up, which its receiver knows at once; it began again"))
        );
        assert!(one == many, "{threads} threads");
    }
}

/// A run that is ended just after its restart has already handed out later rows. Its own report must be of the same time as its rows.
#[test]
fn a_run_that_ends_as_it_begins_again_agrees_with_its_rows() {
    let scenario = Scenario::from_text(&gives_up("100 us"), "test.toml", Path::new(".")).unwrap();
    let checked = scenario.check().unwrap();
    let mut make = || build(&checked, 7).map_err(|error| error.to_string());
    for threads in [2, 3, 4] {
        let mut run = stage::build_parallel(threads, &mut make).unwrap();
        let mut rows = Rows::default();
        while run.threads() > 1 {
            assert!(!stage::run_parallel(&mut run, 500, &mut rows).unwrap().done, "it begins again before it ends");
        }
        let (before, behind) = (rows.flows.len() as u64, run.progress().flows_done);
        assert!(before > 10 && behind < before, "{before} rows were handed out, and it is at {behind}");
        stage::finish_parallel(&mut run, &mut rows).unwrap();
        let (complete, failed) =
            (rows.flows.iter().filter(|row| row.fct_last_ack.is_some()).count() as u64, run.progress().flows_failed);
        assert_eq!(complete, run.progress().flows_done);
        assert!(complete + failed >= before);
        let mut ids: Vec<_> = rows.flows.iter().map(|row| row.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), rows.flows.len(), "each flow has one row");
    }
}

/// Three computations of 8 x 10^6 s end after the largest time, about 1.8 x 10^7 s: an error reports it, and nothing happens at the largest
/// time instead.
#[test]
fn a_job_that_goes_on_after_all_time_is_told() {
    let think = ["a", "b", "c"]
        .map(|label| format!("[[job.step]]\nlabel = \"{label}\"\nkind = \"compute\"\ntime = \"8000000 s\"\n"))
        .concat();
    let reduce = "[[job.step]]\nkind = \"all-reduce\"\nsize = \"120 KB\"\n";
    for latency in ["0 s", "1 us"] {
        let job = format!("[[job]]\nlabel = \"late\"\nranks = 4\nstart_latency = \"{latency}\"\n{think}{reduce}");
        for threads in [1, 2, 3] {
            let (reported, ..) = run(&format!("{TREE}{job}"), threads, 500);
            let first = reported.lines().next().unwrap_or_default();
            assert!(first.contains("after the last time that there is"), "{latency}, {threads} threads: {first}");
        }
    }
}
