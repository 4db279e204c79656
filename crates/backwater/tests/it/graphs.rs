//! Graphs of operations in a network: on an idle one they take the time of their closed forms, to the picosecond.

use backwater::{Scenario, ScenarioError, build};
use backwater_engine::Time;
use backwater_mech::stage;
use backwater_net::record::Rows;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A table of operations in a file of its own.
struct Table {
    folder: PathBuf,
}

impl Table {
    fn new(name: &str, rows: &str) -> Table {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("graph-{name}"));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("ops.csv"), rows).unwrap();
        Table { folder }
    }

    fn checked(&self, text: &str) -> Result<backwater::Checked, ScenarioError> {
        Scenario::from_text(text, "graph.toml", &self.folder)?.check()
    }

    /// Runs to the end on so many threads; every operation must be complete.
    fn run_on(&self, text: &str, threads: usize) -> (Rows, u64) {
        let checked = self.checked(text).unwrap_or_else(|error| panic!("{error}"));
        let total = build(&checked, 1).unwrap_or_else(|error| panic!("{error}")).flows_total;
        let mut make = || build(&checked, 1).map_err(|error| error.to_string());
        let mut run = stage::build_parallel(threads, &mut make).unwrap();
        let mut rows = Rows::default();
        while !stage::run_parallel(&mut run, 777, &mut rows).unwrap_or_else(|e| panic!("{e:?}")).done {}
        assert!(run.unrest().is_empty(), "{:?}", run.unrest());
        stage::finish_parallel(&mut run, &mut rows).unwrap();
        assert_eq!(run.threads(), threads);
        assert_eq!(total, Some(rows.flows.len() as u64));
        assert!(rows.instances.iter().all(|row| row.end.is_some()), "{:?}", rows.instances);
        (rows, run.fingerprint())
    }

    fn run(&self, text: &str) -> Rows {
        self.run_on(text, 1).0
    }
}

const FRAME: u64 = 4000 + 62 + 20;
/// \[ps\] of a byte at 100 Gb/s
const BYTE: u64 = 80;
/// Two links of 500 ns and 300 ns of switch.
const WAY: u64 = 1_300_000;

/// Eight hosts at 100 Gb/s and 500 ns, 300 ns of switch.
fn star(acks: bool, more: &str) -> String {
    format!(
        "[topology]\nkind = \"star\"\nhosts = 8\nrate = \"100 Gb/s\"\nlink_delay = \"500 ns\"\n\
         [packet]\npayload = \"4000 B\"\n[switch]\nbuffer_per = \"none\"\n[ack]\nenabled = {acks}\n\
         [[job]]\nranks = 8\noperations = \"ops.csv\"\n{more}"
    )
}

/// \[ps\] of a flow alone on the star: all frames on the first link, the first one's time and the last once more on the second.
fn alone(bytes: u64) -> u64 {
    let (full, last) = ((bytes - 1) / 4000, (bytes - 1) % 4000 + 1);
    let last = (last + 82) * BYTE;
    let first_again = if full > 0 { FRAME * BYTE } else { last };
    full * FRAME * BYTE + first_again + last + WAY
}

fn end(rows: &Rows) -> u64 {
    rows.rounds[0].end.unwrap().0
}

#[test]
fn a_chain_of_sends_takes_the_sum_of_their_times() {
    let chain = "id,rank,kind,peer,bytes,time,after\n\
        0,0,send,1,40 KB,,\n1,1,compute,,,7 us,0\n2,1,send,2,1,,1\n3,2,send,3,1 MB,,2\n4,3,send,0,4000,,3\n";
    let table = Table::new("chain", chain);
    let rows = table.run(&star(false, ""));
    assert_eq!(end(&rows), alone(40_000) + 7_000_000 + alone(1) + alone(1_000_000) + alone(4000));
    let after: Vec<Option<u64>> = rows.transfers.iter().map(|row| row.release.flow).collect();
    assert_eq!(after, [None, Some(0), Some(2), Some(3)]);
    assert_eq!(rows.transfers[1].start, Time(alone(40_000) + 7_000_000));
    // A start latency comes before each of the four sends.
    let rows = table.run(&star(false, "start_latency = \"3 us\"\nstart = \"9 us\"\n"));
    let latencies = 4 * 3_000_000 + 9_000_000;
    assert_eq!(end(&rows), latencies + alone(40_000) + 7_000_000 + alone(1) + alone(1_000_000) + alone(4000));
}

/// A binomial tree over eight ranks: three hops one after the other, each as if alone, since no two share a link in the same direction.
#[test]
fn a_broadcast_by_a_tree_takes_its_depth() {
    let mut rows = String::from("id,rank,kind,peer,bytes,after\n");
    for hop in 0..3u32 {
        for rank in 0..1u32 << hop {
            let peer = rank + (1 << hop);
            // A send has the number of its receiver. It waits for the message to its rank, and for its rank's send before.
            let both = [rank, rank + (1 << hop) / 2].into_iter().filter(|id| *id > 0 && *id < 1 << hop);
            let after: Vec<String> = both.map(|id| id.to_string()).collect();
            let _ = writeln!(rows, "{peer},{rank},send,{peer},100 KB,{}", after.join(" "));
        }
    }
    let rows = Table::new("tree", &rows).run(&star(false, ""));
    assert_eq!(rows.flows.len(), 7);
    assert_eq!(end(&rows), 3 * alone(100_000));
}

/// Seven ranks compute, and all notify rank 0, which answers each when it has heard from all of them, the first, or four.
#[test]
fn a_barrier_waits_for_all_and_needs_for_some() {
    let table = |needs: &str| {
        let mut rows = String::from("id,rank,kind,peer,bytes,time,after,needs\n");
        for rank in 1..8 {
            let _ = writeln!(rows, "{rank},{rank},compute,,,{} us,,", 10 * rank);
            let _ = writeln!(rows, "{},{rank},send,0,1,,{rank},", 10 + rank);
            let _ = writeln!(rows, "{},0,send,{rank},1,,20,", 20 + rank);
        }
        let _ = writeln!(rows, "20,0,compute,,,0,11 12 13 14 15 16 17,{needs}");
        rows
    };
    for (needs, slowest) in [("", 7), ("7", 7), ("1", 1), ("4", 4)] {
        let rows = Table::new(&format!("barrier{needs}"), &table(needs)).run(&star(false, ""));
        let answers = rows.transfers.iter().filter(|row| row.src_rank == 0);
        let heard = slowest * 10_000_000 + alone(1);
        assert!(answers.clone().count() == 7 && answers.into_iter().all(|row| row.start == Time(heard)), "{needs}");
    }
}

/// An acknowledgement is 86 B on the wire: two links and the switch back.
#[test]
fn after_ack_is_later_by_the_way_back() {
    let rows = "id,rank,kind,peer,bytes,after,after_ack\n\
        0,0,send,1,40 KB,,\n1,2,send,3,1,0,\n2,4,send,5,1,,0\n";
    let rows = Table::new("ack", rows).run(&star(true, ""));
    let starts: Vec<Time> = rows.transfers.iter().map(|row| row.start).collect();
    assert_eq!(starts, [0, alone(40_000), alone(40_000) + 2 * 86 * BYTE + WAY].map(Time));
}

#[test]
fn streams_compute_one_at_a_time() {
    let rows = "id,rank,kind,time,stream,peer,bytes,after\n\
        0,0,compute,10 us,0,,,\n1,0,compute,20 us,0,,,\n2,0,compute,40 us,1,,,\n3,0,compute,80 us,,,,\n4,0,send,,,1,1,1\n";
    let rows = Table::new("streams", rows).run(&star(false, ""));
    assert_eq!(rows.transfers[0].start, Time::us(30));
    assert_eq!(end(&rows), 80_000_000);
}

/// A ring all-reduce of eight ranks, send by send: 14 phases in which each waits for its own send and for its arriving part.
fn ring(bytes: u64) -> String {
    let mut rows = String::from("id,rank,kind,peer,bytes,after,label\n");
    for phase in 0..14u32 {
        for rank in 0..8u32 {
            let id = |phase: u32, rank: u32| phase * 8 + rank;
            let after = if phase == 0 {
                String::new()
            } else {
                format!("{} {}", id(phase - 1, rank), id(phase - 1, (rank + 7) % 8))
            };
            let _ = writeln!(rows, "{},{rank},send,{},{},{after},ring", id(phase, rank), (rank + 1) % 8, bytes / 8);
        }
    }
    rows
}

#[test]
fn a_ring_as_operations_takes_the_time_of_the_step() {
    let table = Table::new("ring", &ring(800_000));
    for acks in [false, true] {
        let of_table = table.run(&star(acks, ""));
        let step = "[[job.step]]\nkind = \"all-reduce\"\nsize = \"800 KB\"\n";
        let of_step = table.run(&star(acks, step).replace("operations = \"ops.csv\"\n", ""));
        assert_eq!(end(&of_table), end(&of_step), "acks = {acks}");
        assert!(acks || end(&of_table) == 14 * alone(100_000));
        assert_eq!(of_table.transfers.len(), 8 * 14);
        let loads = |rows: &Rows| rows.loads.iter().map(|row| (row.node, row.port, row.payload)).collect::<Vec<_>>();
        assert_eq!(loads(&of_table), loads(&of_step));
    }
}

/// On two leaves, so that the run has parts.
#[test]
fn threads_change_nothing() {
    let table = Table::new("threads", &ring(800_000));
    let text = star(true, "start_latency = \"1 us\"\n")
        .replace("kind = \"star\"\nhosts = 8\n", "kind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 2\n");
    let (one, fingerprint) = table.run_on(&text, 1);
    for threads in [2, 4] {
        let (many, same) = table.run_on(&text, threads);
        assert_eq!(fingerprint, same, "{threads} threads");
        assert_eq!((&one.transfers, &one.rounds, &one.loads), (&many.transfers, &many.rounds, &many.loads));
    }
}

#[test]
fn keys_that_do_not_go_with_a_table() {
    let table = Table::new("keys", &ring(8000));
    let refused = |more: &str| table.checked(&star(true, more)).map(|_| ()).unwrap_err().to_string();
    for (key, more) in [
        ("job.0.rounds", "rounds = 2\n"),
        ("job.0.rounds_in_flight", "rounds_in_flight = 2\n"),
        ("job.0.complete_at", "complete_at = \"last-ack\"\n"),
        ("job.0.step", "[[job.step]]\nkind = \"all-reduce\"\nsize = \"1 MB\"\n"),
    ] {
        let error = refused(more);
        assert!(error.contains(key) && error.contains("is not for a job with `operations`"), "{error}");
    }
    let of = |text: &str| build(&table.checked(text).unwrap(), 1).map(|_| ()).unwrap_err().to_string();
    assert!(of(&star(true, "").replace("ops.csv", "none.csv")).contains("there is no file"));
    assert!(of(&star(true, "").replace("ops.csv", "none.parquet")).contains("has not been read"));
    assert!(of(&star(true, "").replace("ranks = 8", "ranks = 7")).contains("there is no rank 7"));
}

/// Controls may be confined to labels that only the table has.
#[test]
fn groups_of_labels() {
    let table = Table::new("groups", &ring(8000));
    let confined = |group: &str| star(true, &format!("[swift]\n[swift.flows]\ngroups = [\"{group}\"]\n"));
    assert!(table.checked(&confined("job/ring")).is_ok());
    let error = table.checked(&confined("work/ring")).map(|_| ()).unwrap_err();
    assert!(error.reason.contains("there is no group of flows `work/ring`"), "{error}");
    let waits =
        |group: &str| build(&table.checked(&star(true, &format!("[output]\nwaits = [\"{group}\"]\n"))).unwrap(), 1);
    assert!(waits("job/ring").is_ok() && waits("job/operations").is_err());
}

#[test]
fn a_scenario_with_a_table_reads_back_to_itself() {
    let table = Table::new("again", &ring(8000));
    let written = table.checked(&star(true, "")).unwrap().resolved().to_toml();
    assert_eq!(table.checked(&written).unwrap().resolved().to_toml(), written);
    assert_eq!(table.run_on(&written, 1).1, table.run_on(&star(true, ""), 1).1);
}
