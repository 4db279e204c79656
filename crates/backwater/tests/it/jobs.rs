//! Jobs in a network: on an idle one every collective takes the time of its closed form, to the picosecond.
//!
//! For n full packets and a last one, each F and L on a link of the star, over two links and the switch:
//!
//! ```text
//! alone = (n + 1) F + L + 2 delays + latency        (a single packet: 2 L + …)
//! ```
//!
//! where alpha includes the first packet's time on the second link. Acknowledgements share the links with the next phase's data, so closed
//! forms are for runs without them; with them a phase takes at most an acknowledgement longer for each packet.

use backwater::{Scenario, build};
use backwater_engine::Time;
use backwater_mech::stage;
use backwater_net::record::{FlowRow, Rows};
use std::path::Path;

/// Runs to the end; every flow must be complete and the network at rest unless the scenario stops before.
fn run(text: &str) -> (Rows, u64) {
    let scenario = Scenario::from_text(text, "job.toml", Path::new(".")).unwrap_or_else(|e| panic!("{e}"));
    let resolved = scenario.check().unwrap_or_else(|e| panic!("{e}"));
    let spec = build(&resolved, resolved.resolved().seed()).unwrap_or_else(|e| panic!("{e}"));
    let (total, stops) = (spec.flows_total, spec.stop_at.is_some());
    let mut network = stage::build(spec).unwrap_or_else(|e| panic!("{e}"));
    let mut rows = Rows::default();
    while !stage::run(&mut network, 777, &mut rows).unwrap_or_else(|e| panic!("{e:?}")).done {}
    assert!(stops || network.unrest().is_empty(), "{:?}", network.unrest());
    network.finish(&mut rows);
    assert!(stops || total.is_none_or(|total| total == rows.flows.len() as u64));
    (rows, network.fingerprint())
}

const FRAME: u64 = 4000 + 62 + 20;
/// \[ps\] of a byte at 100 Gb/s
const BYTE: u64 = 80;

/// Eight hosts at 100 Gb/s and 500 ns, 300 ns of switch.
fn star(acks: bool, job: &str) -> String {
    format!(
        "[topology]\nkind = \"star\"\nhosts = 8\nrate = \"100 Gb/s\"\nlink_delay = \"500 ns\"\n\
         [packet]\npayload = \"4000 B\"\n[switch]\nbuffer_per = \"none\"\n[ack]\nenabled = {acks}\n{job}"
    )
}

fn alone(bytes: u64) -> u64 {
    let (full, last) = ((bytes - 1) / 4000, (bytes - 1) % 4000 + 1);
    let last = (last + 82) * BYTE;
    let first_again = if full > 0 { FRAME * BYTE } else { last };
    full * FRAME * BYTE + first_again + last + 1_300_000
}

fn step(kind: &str, more: &str) -> String {
    format!("[[job]]\nranks = 8\n[[job.step]]\nkind = \"{kind}\"\n{more}\n")
}

/// Each phase of a ring waits for the one before, and enters the network a start latency later: 14 times for an all-reduce of eight. So
/// does a transfer after a computation. Flows take as long as without it.
#[test]
fn a_start_latency_comes_before_every_transfer() {
    const LATENCY: u64 = 3_700_000;
    let late = |text: String| star(false, &text.replace("ranks = 8\n", "ranks = 8\nstart_latency = \"3.7 us\"\n"));
    let (rows, _) = run(&late(step("all-reduce", "size = \"8 MB\"\n")));
    let [row] = &rows.collectives[..] else { panic!("{} rows", rows.collectives.len()) };
    assert_eq!((row.start, row.end), (Time::ZERO, Some(Time(14 * (alone(1_000_000) + LATENCY)))));
    assert!(rows.flows.iter().all(|flow| flow.fct_last_byte == Some(Time(alone(1_000_000)))));
    assert_eq!(rows.flows.iter().map(|flow| flow.start).min(), Some(Time(LATENCY)));
    let transfers = rows.transfers.iter().map(|row| (row.start, row.end));
    assert!(transfers.into_iter().all(|(start, end)| end == Some(start + Time(alone(1_000_000) + LATENCY))));

    let computes = "[[job.step]]\nkind = \"compute\"\ntime = \"20 us\"\n[[job.step]]\nlabel = \"send\"\nkind = \"point-to-point\"\nsize = \"8 MB\"\nshift = 4\nranks = 1\n";
    let (rows, _) = run(&late(format!("[[job]]\nranks = 8\n{computes}")));
    let [row] = &rows.rounds[..] else { panic!("{} rows", rows.rounds.len()) };
    assert_eq!((row.start, row.end), (Time::ZERO, Some(Time(20_000_000 + LATENCY + alone(8_000_000)))));
}

/// NCCL's estimates (NVIDIA/nccl b6475625, src/graph/tuning.cc) before an all-reduce and before each of its messages, and its flags: 8 B for
/// 4 B of data under `ll`, 128 B for 120 B under `ll128`. Keys of the step take precedence.
#[test]
fn a_protocol_costs_what_nccl_estimates() {
    let ring = |more: &str| run(&star(false, &step("all-reduce", &format!("size = \"8 MB\"\n{more}")))).0;
    for (protocol, base, message, carried) in [
        ("simple", 8_400_000, 14_000_000, 1_000_000),
        ("ll", 6_600_000, 2_700_000, 2_000_000),
        ("ll128", 14_000_000, 4_000_000, 1_066_667),
    ] {
        let rows = ring(&format!("protocol = \"{protocol}\""));
        let [row] = &rows.collectives[..] else { panic!("{} rows", rows.collectives.len()) };
        assert_eq!(
            (row.start, row.end),
            (Time::ZERO, Some(Time(base + 14 * (message + alone(carried))))),
            "{protocol}"
        );
        assert_eq!((row.bytes, row.size_bytes), (14 * 8_000_000, 8e6), "{protocol}");
    }
    let own = ring("protocol = \"ll\"\nlatency = \"1 us\"\nmessage_latency = \"0 s\"");
    assert_eq!(own.collectives[0].end, Some(Time(1_000_000 + 14 * alone(2_000_000))));
    let direct = run(&star(
        false,
        &step(
            "point-to-point",
            "size = \"8 MB\"\nshift = 4\nranks = 1\nlatency = \"5 us\"\nmessage_latency = \"2 us\"",
        ),
    ));
    assert_eq!(direct.0.collectives[0].end, Some(Time(7_000_000 + alone(8_000_000))));
}

/// A ring over servers of several ranks pays NCCL's latency for each server that a part passes, and its own flags; not for each part.
#[test]
fn a_ring_pays_a_latency_for_each_server() {
    let job = step("all-reduce", "size = \"16 KB\"\nchannels = 4\nprotocol = \"simple\"");
    let (rows, _) = run(&star(false, &job.replace("ranks = 8\n", "ranks = 8\nranks_per_server = 4\n")));
    let Some(end) = rows.collectives[0].end else { panic!("complete") };
    // NCCL: base + 2 nNodes x 14 us, without steps in servers. The network adds at most a message of 500 B for each of the 14 phases.
    let nccl = 8_400_000 + 4 * 14_000_000;
    assert!(end.0 > nccl && end.0 < nccl + 14 * alone(500), "{end}");
}

/// Any number of channels, and ranks that share an interface: the size is that of the user's ranks.
#[test]
fn ranks_that_share_an_interface_are_ranks_of_the_collective() {
    for channels in [1, 2, 3] {
        let more = "[[job.step]]\nlabel = \"next\"\nkind = \"point-to-point\"\nsize = \"4000 B\"\npairs = [[3, 7]]\n";
        let job = step("all-reduce", &format!("size = \"8 MB\"\nchannels = {channels}\n{more}"));
        let (rows, _) = run(&star(false, &job.replace("ranks = 8\n", "ranks = 8\nranks_per_server = 4\n")));
        let [sum, next] = &rows.collectives[..] else { panic!("{} rows", rows.collectives.len()) };
        assert_eq!((sum.ranks, Some(next.start)), (8, sum.end), "{channels}");
    }
}

/// Two servers of four: rings side by side use all interfaces, and each carries a quarter of the buffer in seven phases.
#[test]
fn channels_use_the_interface_of_each_gpu() {
    let gather = |more: &str| {
        let job = step("all-gather", &format!("size = \"8 MB\"\nalgorithm = \"ring\"\n{more}"));
        run(&star(false, &job.replace("ranks = 8\n", "ranks = 8\nranks_per_server = 4\n"))).0
    };
    let (one, four) = (gather(""), gather("channels = 4"));
    assert_eq!(one.collectives[0].end, Some(Time(7 * alone(1_000_000))));
    assert_eq!(four.collectives[0].end, Some(Time(7 * alone(250_000))));
    let senders = |rows: &Rows| rows.flows.iter().map(|flow| flow.src.0).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(senders(&one).into_iter().collect::<Vec<_>>(), [3, 7]);
    assert_eq!(senders(&four).len(), 8);
    assert!(four.flows.iter().all(|flow| flow.src.0 % 4 == flow.dst.0 % 4));
    assert_eq!((four.collectives[0].ranks, four.collectives[0].bus_bytes), (8, 7e6));
    // More rings than interfaces share them.
    assert_eq!(senders(&gather("channels = 8")).len(), 8);
}

/// Rank 0 sends three others a frame each at once, and its interface issues one after the other; the next round's frames are posted when
/// all of the first round is complete.
#[test]
fn sends_of_a_rank_are_issued_in_turn() {
    const ISSUE: u64 = 700_000;
    let send = step("point-to-point", "label = \"send\"\nsize = \"4000 B\"\npairs = [[0, 1], [0, 2], [0, 3]]\n");
    let twice = send.replace("ranks = 8\n", "ranks = 8\nrounds = 2\n");
    let (rows, _) = run(&star(false, &format!("{twice}[nic]\nissue = \"700 ns\"\n")));
    let round = 3 * ISSUE + alone(4000);
    for (n, row) in (0u64..).zip(&rows.transfers) {
        let (number, turn) = (n / 3, n % 3 + 1);
        let expected = (Time(number * round), Some(Time(number * round + turn * ISSUE + alone(4000))));
        assert_eq!((row.round, row.start, row.end), (number, expected.0, expected.1));
    }
    assert_eq!(rows.transfers.len(), 6);
    assert_eq!(rows.instances[0].end, Some(Time(2 * round)));
}

/// Four queue pairs have as many frames as one flow if each has whole ones, and on one path take the same time. A wait for a transfer is a
/// wait for all of them.
#[test]
fn a_transfer_is_complete_with_its_last_queue_pair() {
    let two = "queue_pairs = 4\nsegment = \"100 KB\"\n[[job.step]]\nlabel = \"there\"\nkind = \"point-to-point\"\nsize = \"8 MB\"\n\
               pairs = [[0, 1]]\n[[job.step]]\nlabel = \"back\"\nkind = \"point-to-point\"\nsize = \"8 MB\"\npairs = [[1, 0]]\n";
    let (rows, _) = run(&star(false, &format!("[[job]]\nranks = 8\n{two}")));
    let ends: Vec<_> = rows.transfers.iter().map(|row| (row.start, row.end)).collect();
    let once = alone(8_000_000);
    assert_eq!(ends, [(Time::ZERO, Some(Time(once))), (Time(once), Some(Time(2 * once)))]);
    let mut segments: Vec<_> = rows.queue_pairs.iter().map(|row| (row.id, row.pair, row.segments)).collect();
    segments.sort_unstable();
    assert!(segments.len() == 8 && segments.iter().all(|(.., segments)| *segments == 20), "{segments:?}");
    assert_eq!(rows.flows.len(), 2);
}

#[test]
fn collectives_on_an_idle_network_take_what_their_closed_forms_say() {
    let size = "size = \"8 MB\"\n";
    let halving = alone(4_000_000) + alone(2_000_000) + alone(1_000_000);
    // All send to host 7 last, at once. When all links have carried seven flows of 2000 packets, seven frames wait there, and one of the
    // round before. They arrived six turns earlier, not seven: a flow's first packet leaves before the others have started, and it has had
    // its last turn.
    let direct = (7 * 2000 + 8) * FRAME * BYTE + 1_300_000;
    let cases = [
        ("all-reduce", size.to_owned(), 14 * alone(1_000_000), 14.0 / 8.0),
        ("all-gather", size.to_owned(), 7 * alone(1_000_000), 7.0 / 8.0),
        ("reduce-scatter", size.to_owned(), 7 * alone(1_000_000), 7.0 / 8.0),
        ("all-reduce", format!("{size}algorithm = \"halving-doubling\""), 2 * halving, 14.0 / 8.0),
        ("all-gather", format!("{size}algorithm = \"halving-doubling\""), halving, 7.0 / 8.0),
        ("reduce-scatter", format!("{size}algorithm = \"halving-doubling\""), halving, 7.0 / 8.0),
        ("all-to-all", format!("{size}algorithm = \"pairwise\""), 7 * alone(8_000_000), 7.0),
        ("all-to-all", size.to_owned(), direct, 7.0),
        ("point-to-point", format!("{size}shift = 4\nranks = 1"), alone(8_000_000), 1.0),
    ];
    for (kind, more, expected, bus) in cases {
        let (rows, _) = run(&star(false, &step(kind, &more)));
        let [row] = &rows.collectives[..] else { panic!("{kind}: {} rows", rows.collectives.len()) };
        assert_eq!((row.start, row.end), (Time::ZERO, Some(Time(expected))), "{kind} {more}");
        assert!(
            row.bound < Time(expected) && row.bound.0 as f64 > 0.9 * expected as f64,
            "{kind} {more}: {}",
            row.bound
        );
        assert_eq!((row.bus_bytes, row.bytes), (8e6 * bus, rows.flows.iter().map(|f| f.bytes).sum::<u64>()));
        // With acknowledgements: 86 B more for each packet in the way of the next, and one in the way of each phase's first.
        let (rows, _) = run(&star(true, &step(kind, &more)));
        let end = rows.collectives[0].end.unwrap().0;
        let most = expected as f64 * (1.0 + 2.0 * 86.0 / FRAME as f64);
        assert!(end >= expected && (end as f64) < most, "{kind} {more}: {end} against {expected}");
    }
}

/// Four servers of two: at each place in them a ring of four, of parts of an eighth.
#[test]
fn a_hierarchical_all_reduce_is_a_ring_of_servers() {
    let job = step("all-reduce", "size = \"8 MB\"\nalgorithm = \"hierarchical\"");
    let (rows, _) = run(&star(false, &job.replace("ranks = 8\n", "ranks = 8\nranks_per_server = 2\n")));
    let row = &rows.collectives[0];
    assert_eq!(row.end, Some(Time(6 * alone(1_000_000))));
    assert_eq!((row.algorithm, row.bytes, row.bus_bytes), ("hierarchical", 48_000_000, 14e6));
}

/// Two of three ranks send to the root at once, and it sends to both: the first packet of 4000 passes one link more.
#[test]
fn a_tree_goes_up_and_down() {
    let three = step("all-reduce", "size = \"8 MB\"\nalgorithm = \"tree\"\nranks = \"0..2\"");
    let (rows, _) = run(&star(false, &three));
    assert_eq!(rows.collectives[0].end, Some(Time(2 * (4001 * FRAME * BYTE + 1_300_000))));
    // For two ranks and four chunks: each goes up after the one before, and down while the next goes up.
    let two = step("all-reduce", "size = \"8 MB\"\nalgorithm = \"tree\"\nchunks = 4\nranks = \"0..1\"");
    let (rows, _) = run(&star(false, &two));
    assert_eq!(rows.collectives[0].end, Some(Time(5 * alone(2_000_000))));
    assert_eq!(rows.transfers.iter().map(|row| row.phase).max(), Some(7));
}

/// If each token goes to all experts, the dispatch is an all-to-all; with a copy for each of two servers, a permutation. The combine
/// returns them.
#[test]
fn tokens_of_all_experts_go_everywhere_and_come_back() {
    let direct = (7 * 2000 + 8) * FRAME * BYTE + 1_300_000;
    for (copies, per_server, each, mean) in [("rank", 1, direct, 64e6), ("server", 4, alone(8_000_000), 16e6)] {
        let text = format!(
            "[[job]]\nranks = 8\nranks_per_server = {per_server}\n\
             [[job.step]]\nlabel = \"out\"\nkind = \"dispatch\"\ntokens = 2000\nsize = \"4000 B\"\nexperts = 16\ntop_k = 16\ncopies = \"{copies}\"\n\
             [[job.step]]\nlabel = \"back\"\nkind = \"combine\"\nof = \"out\"\nsize = \"4000 B\"\n"
        );
        let (rows, _) = run(&star(false, &text));
        let ends: Vec<_> = rows.collectives.iter().map(|row| (row.kind, row.end, row.size_bytes)).collect();
        assert_eq!(ends, [("dispatch", Some(Time(each)), mean), ("combine", Some(Time(2 * each)), mean)]);
    }
}

/// The draws of a dispatch return with sender and receiver exchanged; another round draws anew.
#[test]
fn a_combine_sends_back_what_its_dispatch_has_drawn() {
    let text = "[[job]]\nranks = 8\nrounds = 2\n\
        [[job.step]]\nlabel = \"out\"\nkind = \"dispatch\"\ntokens = 50\nsize = \"100 B\"\nexperts = 64\ntop_k = 4\nskew = 1.2\n\
        [[job.step]]\nlabel = \"back\"\nkind = \"combine\"\nof = \"out\"\nsize = \"200 B\"\n";
    let (rows, _) = run(&star(true, text));
    let sizes = |step: &str, round: u64| {
        let of = rows.transfers.iter().filter(|row| &*row.step == step && row.round == round);
        let mut sizes: Vec<_> = of.map(|row| (row.src_rank, row.dst_rank, row.bytes)).collect();
        sizes.sort_unstable();
        sizes
    };
    for round in 0..2 {
        let mut back: Vec<_> = sizes("back", round).iter().map(|(from, to, bytes)| (*to, *from, bytes / 2)).collect();
        back.sort_unstable();
        assert_eq!(sizes("out", round), back);
    }
    assert_ne!(sizes("out", 0), sizes("out", 1));
}

/// Eight ranks in stages of so many, with passes of 3 and 5 us.
fn pipeline(per_server: u32, keys: &str) -> String {
    format!(
        "[[job]]\nranks = 8\nranks_per_server = {per_server}\n[job.pipeline]\nforward = \"3 us\"\nbackward = \"5 us\"\n{keys}\n"
    )
}

/// Within one server transfers between stages take no time: a bubble is (p - 1) passes forward and back. With v chunks it is as long, and
/// there are v times as many passes.
#[test]
fn a_pipeline_has_the_bubble_of_its_schedule() {
    for (keys, turns) in [
        ("stages = 4\nmicro_batches = 8\nsize = \"1 MB\"\nschedule = \"gpipe\"", 8 + 3),
        ("stages = 4\nmicro_batches = 8\nsize = \"1 MB\"", 8 + 3),
        ("stages = 8\nmicro_batches = 3\nsize = \"1 MB\"\nschedule = \"1f1b\"", 3 + 7),
        ("stages = 4\nmicro_batches = 8\nsize = \"1 MB\"\nschedule = \"interleaved\"\nchunks = 3", 8 * 3 + 3),
    ] {
        let (rows, _) = run(&star(false, &pipeline(8, keys)));
        assert_eq!(rows.instances[0].end, Some(Time::us(turns * 8)), "{keys}");
        assert!(rows.flows.is_empty());
    }
}

/// Over the network one micro-batch goes through all stages and back: each rank sends to its counterpart, on links of its own.
#[test]
fn a_micro_batch_passes_the_network_between_stages() {
    let keys = "stages = 4\nmicro_batches = 1\nsize = \"1 MB\"";
    let (rows, _) = run(&star(false, &pipeline(1, keys)));
    let expected = 4 * 8_000_000 + 6 * alone(1_000_000);
    assert_eq!(rows.instances[0].end, Some(Time(expected)));
    let mut sends: Vec<_> = rows.transfers.iter().map(|row| (&*row.step, row.src_rank, row.dst_rank)).collect();
    sends.sort_unstable();
    let expected: Vec<_> = (0..6)
        .map(|rank| ("activations", rank, rank + 2))
        .chain((2..8).map(|rank| ("gradients", rank, rank - 2)))
        .collect();
    assert_eq!(sends, expected);
}

#[test]
fn a_chain_through_a_fabric_adds_up() {
    // Two leaves and a spine: four links and three switches. Host 0 computes, sends to 2, which computes and sends back.
    let text = "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 2\nrate = \"100 Gb/s\"\nlink_delay = \"500 ns\"\n\
        [packet]\npayload = \"4000 B\"\n[switch]\nbuffer_per = \"none\"\n\
        [[job]]\nranks = 4\nstart = \"5 us\"\nrounds = 3\n\
        [[job.step]]\nlabel = \"think\"\nkind = \"compute\"\ntime = \"7 us\"\nranks = 0\n\
        [[job.step]]\nlabel = \"ask\"\nkind = \"point-to-point\"\npairs = [[0, 2]]\nsize = \"40 KB\"\n\
        [[job.step]]\nlabel = \"consider\"\nkind = \"compute\"\ntime = \"11 us\"\nranks = 2\n\
        [[job.step]]\nlabel = \"answer\"\nkind = \"point-to-point\"\npairs = [[2, 0]]\nsize = \"4 KB\"\n";
    let way = 4 * 500_000 + 3 * 300_000;
    let (ask, answer) = ((10 + 3) * FRAME * BYTE + way, 4 * FRAME * BYTE + way);
    let round = 7_000_000 + ask + 11_000_000 + answer;
    let (rows, _) = run(text);
    let ends: Vec<u64> =
        rows.collectives.iter().filter(|r| &*r.step == "answer").filter_map(|r| r.end).map(|t| t.0).collect();
    assert_eq!(ends, [5_000_000 + round, 5_000_000 + 2 * round, 5_000_000 + 3 * round]);
    // With `last-ack` each transfer includes its path back: 86 B over four links.
    let (rows, _) = run(&text.replace("rounds = 3", "rounds = 3\ncomplete_at = \"last-ack\""));
    let round = round + 2 * (4 * 86 * BYTE + way);
    assert_eq!(rows.collectives.last().and_then(|r| r.end), Some(Time(5_000_000 + 3 * round)));
}

#[test]
fn a_pipeline_takes_one_stage_for_each_micro_batch_and_once_all_stages() {
    // Four stages of two ranks; the network is never the bottleneck.
    let text = star(
        false,
        "[[job]]\nranks = 8\nrounds = 6\nrounds_in_flight = 6\n\
         [[job.step]]\nlabel = \"compute\"\nkind = \"compute\"\ntime = \"100 us\"\nafter = [\"next\"]\n\
         [[job.step]]\nlabel = \"next\"\nkind = \"point-to-point\"\nshift = 2\nsize = \"400 KB\"\nafter = [\"compute\"]\n",
    );
    let (rows, _) = run(&text);
    assert_eq!(rows.collectives.len(), 6 * 6);
    // The third stage sends its last micro-batch when it has computed it, 6 + 2 times after the beginning, and two transfers.
    let last = rows.collectives.iter().filter_map(|row| row.end).max().unwrap();
    assert_eq!(last.0, 8 * 100_000_000 + 3 * alone(400_000));
}

#[test]
fn two_jobs_share_hosts_and_keep_apart_in_results() {
    let jobs = "[[job]]\nlabel = \"a\"\nranks = 4\ninstances = 2\nplacement = \"strided\"\nrounds = 2\n\
        [[job.step]]\nlabel = \"sum\"\nkind = \"all-reduce\"\nsize = \"1 MB\"\n\
        [[job]]\nlabel = \"b\"\nranks = 8\nplacement = \"random\"\n\
        [[job.step]]\nlabel = \"experts\"\nkind = \"all-to-all-v\"\nfan_out = 3\nsize = \"100 KB\"\nchoice = \"balanced\"\n";
    let text = star(true, jobs);
    let (rows, fingerprint) = run(&text);
    assert_eq!(rows.collectives.iter().filter(|r| &*r.job == "a").count(), 4);
    // Stride two: 0, 2, 4, 6 are the first instance, in a ring.
    let ring = |f: &&FlowRow| f.group == 0 && f.src.0.is_multiple_of(2);
    assert!(rows.flows.iter().filter(ring).all(|f| f.dst.0 == (f.src.0 + 2) % 8));
    let mut received = [0; 8];
    rows.flows.iter().filter(|f| f.group == 1).for_each(|f| received[f.dst.0 as usize] += 1);
    assert_eq!(received, [3; 8]);
    assert_eq!(run(&text).1, fingerprint);
    assert_ne!(run(&format!("seed = 2\n{text}")).1, fingerprint);
}

#[test]
fn what_a_run_that_ends_early_leaves_unfinished_is_told() {
    let job = "[stop]\nat = \"250 us\"\n[[job]]\nranks = 8\nrounds = 9\n\
        [[job.step]]\nkind = \"all-to-all\"\nsize = \"100 KB\"\n";
    let (rows, _) = run(&star(true, job));
    let ends: Vec<bool> = rows.collectives.iter().map(|row| row.end.is_some()).collect();
    assert!(ends.len() < 9 && !ends[ends.len() - 1] && ends[..ends.len() - 1].iter().all(|e| *e), "{ends:?}");
    assert!(rows.flows.iter().any(|f| f.fct_last_byte.is_none()));
}

#[test]
fn a_scenario_with_jobs_reads_back_to_itself() {
    let job = "[[job]]\nlabel = \"train\"\nranks = 8\nranks_per_server = 2\n\
        [[job.step]]\nlabel = \"v\"\nkind = \"all-to-all-v\"\nranks = [0, \"2..3\"]\nsizes = [[\"0 B\", \"1 KB\", \"2 KB\"], \
        [\"3 KB\", \"0 B\", \"0 B\"], [\"1 B\", \"0 B\", \"0 B\"]]\n\
        [[job.step]]\nlabel = \"p\"\nkind = \"point-to-point\"\npairs = [[0, 4], [1, 5]]\nsize = \"1 MB\"\nafter = []\n";
    let scenario = Scenario::from_text(&star(true, job), "job.toml", Path::new(".")).unwrap();
    let written = scenario.check().unwrap_or_else(|e| panic!("{e}")).resolved().to_toml();
    let again = Scenario::from_text(&written, "again.toml", Path::new(".")).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(again.check().unwrap().resolved().to_toml(), written);
    assert_eq!(run(&written).1, run(&star(true, job)).1);
    let set = scenario.with_set("job.train.step.p.size", "2 MB").unwrap();
    let (rows, _) = run(&set.check().unwrap().resolved().to_toml());
    assert_eq!(rows.flows.iter().filter(|f| f.bytes == 2_000_000).count(), 2);
    assert_eq!(rows.collectives[0].bytes, 1000 + 2000 + 3000 + 1);
}

/// Each host of a ring sends its neighbour 2 (n - 1) parts of S/n, and the switch forwards them: each of the 2n used links carries 2 (n -
/// 1)/n S of payload.
#[test]
fn a_ring_puts_its_parts_on_every_link() {
    let (rows, _) = run(&star(true, &step("all-reduce", "size = \"800 KB\"")));
    assert_eq!(rows.loads.len(), 16);
    for load in &rows.loads {
        assert_eq!((&*load.step, load.payload, load.frames), ("step", 14 * 100_000, 14 * 25), "{load:?}");
        assert_eq!(load.bytes, 14 * 25 * (FRAME - 20));
    }
    let frames: u64 = rows.ports.iter().map(|port| port.stats.tx_data_frames).sum();
    assert_eq!(frames, rows.loads.iter().map(|load| load.frames).sum::<u64>());
    assert_eq!(rows.transfers.len(), 8 * 14);
    for transfer in &rows.transfers {
        assert_eq!(transfer.dst_rank, (transfer.src_rank + 1) % 8);
        let flow = rows.flows.iter().find(|flow| flow.id == transfer.flow).unwrap();
        assert_eq!((transfer.src, transfer.dst, transfer.bytes), (flow.src, flow.dst, flow.bytes));
        assert_eq!(transfer.start, flow.start);
        assert_eq!(transfer.end, flow.fct_last_byte.map(|fct| flow.start + fct));
        assert_eq!(transfer.phase == 0, transfer.release.flow.is_none());
    }
}

#[test]
fn a_job_cut_short_says_how_far_it_was() {
    let job = "[stop]\nat = \"100 us\"\n[[job]]\nranks = 8\nrounds = 9\n[[job.step]]\nkind = \"all-to-all\"\nsize = \"50 KB\"\n";
    let (rows, _) = run(&star(false, job));
    let [one] = &rows.instances[..] else { panic!("{:?}", rows.instances) };
    let (over, open): (Vec<_>, Vec<_>) = rows.rounds.iter().partition(|round| round.end.is_some());
    assert_eq!((one.rounds, one.complete, one.end), (9, over.len() as u64, None));
    assert!(!over.is_empty() && open.len() == 1, "{:?}", rows.rounds);
    assert!(rows.transfers.iter().any(|transfer| transfer.end.is_none()));
}

/// 300 steps of 8 ranks that all wait for one computation, and one that waits for all of them: 600 waits of steps, some 4,800 of tasks. A
/// step never waits for a step twice, whatever the order of names.
#[test]
fn a_step_after_hundreds_of_others_waits_for_all_of_them() {
    let labels: Vec<String> = (0..300).map(|n| format!("s{n}")).collect();
    let middle = |(n, label): (usize, &String)| {
        format!(
            "[[job.step]]\nlabel = \"{label}\"\nkind = \"compute\"\ntime = \"{} us\"\nafter = [\"first\"]\n",
            1 + n % 7
        )
    };
    let middle: String = labels.iter().enumerate().map(middle).collect();
    let names: Vec<String> = labels.iter().map(|label| format!("{label:?}")).collect();
    let job = format!(
        "[[job]]\nranks = 8\n[[job.step]]\nlabel = \"first\"\nkind = \"compute\"\ntime = \"5 us\"\n{middle}\
         [[job.step]]\nlabel = \"last\"\nkind = \"compute\"\ntime = \"1 us\"\nafter = [{}]\n",
        names.join(", ")
    );
    let (rows, _) = run(&star(true, &job));
    // First, the longest between, last.
    assert_eq!(rows.rounds[0].end, Some(Time::us(5 + 7 + 1)));
}

/// A ring along all ranks of several servers uses one interface of each; a warning unless that was chosen. Rings at each place of the
/// servers use all of them: with eight ranks in servers of two each host sends half as much.
#[test]
fn a_flat_ring_over_servers_is_a_warning() {
    let job = |more: &str| step("all-reduce", more).replace("ranks = 8\n", "ranks = 8\nranks_per_server = 2\n");
    let warned = |text: &str| {
        let scenario = Scenario::from_text(&star(false, text), "job.toml", Path::new(".")).unwrap();
        let warnings = scenario.check().unwrap_or_else(|e| panic!("{e}")).warnings;
        warnings.into_iter().filter(|warning| warning.key.ends_with(".algorithm")).collect::<Vec<_>>()
    };
    let [found] = &warned(&job("size = \"80 KB\""))[..] else { panic!("one warning") };
    assert_eq!(found.key, "job.0.step.0.algorithm");
    assert!(found.reason.contains("all 8 ranks in one ring") && found.hint.contains("\"hierarchical\""), "{found:?}");
    for quiet in
        ["algorithm = \"ring\"", "algorithm = \"hierarchical\"", "group_size = 2", "group_size = 4\ngroup_stride = 2"]
    {
        assert_eq!(warned(&job(&format!("size = \"80 KB\"\n{quiet}"))), [], "{quiet}");
    }
    assert_eq!(warned(&step("all-reduce", "size = \"80 KB\"")), [], "each rank is a server");
    let sent = |text: &str| {
        run(&star(false, text)).0.flows.iter().map(|flow| flow.src.0).collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(sent(&job("size = \"80 KB\"")).len(), 4, "half of the interfaces");
    assert_eq!(sent(&job("size = \"80 KB\"\nalgorithm = \"hierarchical\"")).len(), 8);
}
