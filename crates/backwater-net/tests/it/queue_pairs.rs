//! Messages over several queue pairs: each is a flow of its own to the network, and the message is all of them together.
//!
//! h0 and h1 have links four times as fast as those of the four paths between them. A frame takes `F` on the fast ones and 4 F on the
//! others. For a message of n frames, a multiple of 4:
//!
//! ```text
//! one queue pair, or four that share a way    F + n 4F + 4F + F         the slow links one after the other
//! four queue pairs on four ways               (n + 1) F + 2 · 4F + F
//! ```
//!
//! The first queue pair sends two frames before the others have begun, and so ends a turn before them. The last frame of the last one comes
//! 3 F after the one before it, and waits F for its slow link. That is the 1 in n + 1.

use crate::own::Bench;
use backwater_engine::Time;
use backwater_net::bench::network::{Outcome, network};
use backwater_net::config::Recovery;
use backwater_net::record::{QueuePairRow, State};
use backwater_net::spec::{CausesSpec, FaultKind, FrameKind, QueuePairs, SeriesSpec};
use backwater_net::{Bytes, Rate};

/// \[ps\] of a frame of 4000 B and 64 B of header at 400 Gb/s
const FRAME: u64 = 4064 * 20;
/// \[ps\] four links of 150 ns, three switches of 300 ns
const FIXED: u64 = 4 * 150_000 + 3 * 300_000;
const MIDDLE: [&str; 4] = ["m0", "m1", "m2", "m3"];

fn ways(delays: [u64; 4]) -> Bench {
    let (fast, slow) = (Rate::gbps(400), Rate::gbps(100));
    let near = Time::ns(150);
    let mut links = vec![("h0", "s0", fast, near), ("h1", "s1", fast, near)];
    for (middle, delay) in MIDDLE.into_iter().zip(delays) {
        links.extend([("s0", middle, slow, Time::ns(delay)), (middle, "s1", slow, near)]);
    }
    Bench::new(network(2, &["s0", "m0", "m1", "m2", "m3", "s1"], &links))
}

fn over(mut bench: Bench, number: u32, segment: Option<u64>) -> Bench {
    bench.queue_pairs = vec![Some(QueuePairs { number, segment: segment.map(Bytes), kept: false })];
    bench
}

/// \[bytes\] of frames that each path carried.
fn carried(bench: &Bench, out: &Outcome) -> Vec<u64> {
    let from = bench.node("s0");
    MIDDLE.iter().map(|middle| out.port(from, bench.node(middle)).stats.tx_bytes).collect()
}

/// With a seed by which each of four queue pairs has its own path.
fn apart(mut bench: Bench) -> Bench {
    let all_used = |bench: &Bench| carried(bench, &bench.run()).iter().all(|bytes| *bytes > 0);
    bench.seed = (0..1_000).find(|seed| all_used(&Bench { seed: *seed, ..bench.clone() })).expect("1 of 11 seeds does");
    bench
}

#[test]
fn on_ways_of_their_own_queue_pairs_take_a_share_of_the_time() {
    for frames in [4, 40, 400] {
        let mut one = ways([150; 4]);
        one.flow(0, 1, frames * 4000);
        let out = one.run();
        out.at_rest();
        assert_eq!(out.flow(0).fct_last_byte, Some(Time((4 * frames + 6) * FRAME + FIXED)));
        let four = apart(over(one, 4, None));
        let out = four.run();
        out.at_rest();
        assert_eq!(carried(&four, &out), [frames / 4 * 4064; 4]);
        let waits_for_its_link = if frames == 4 { 0 } else { 1 };
        let expected = (frames + waits_for_its_link + 9) * FRAME + FIXED;
        assert_eq!(out.flow(0).fct_last_byte, Some(Time(expected)), "{frames} frames");
        assert_eq!((out.progress.flows_done, out.progress.flows_active, out.rows.flows.len()), (1, 0, 1));
    }
}

/// On one path it takes the same time; with odd lengths the headers of the additional frames take more.
#[test]
fn on_one_way_queue_pairs_take_the_time_of_one_flow() {
    let mut one = ways([150; 4]);
    let path = one.path(&["h0", "s0", "m2", "s1", "h1"]);
    one.flow(0, 1, 400 * 4000).path = path;
    let alone = one.run().flow(0).fct_last_byte;
    for number in [1, 2, 4, 8, 100] {
        let out = over(one.clone(), number, None).run();
        assert_eq!(out.flow(0).fct_last_byte, alone, "{number} queue pairs");
    }
    // 40,002 B are 11 frames; over 4 queue pairs 3 of 10,001 B and one of 9,999 B, of 3 frames each.
    one.flows[0].bytes = 40_002;
    for (number, frames) in [(1, 11), (4, 12)] {
        let bench = over(one.clone(), number, None);
        let out = bench.run();
        assert_eq!(carried(&bench, &out), [0, 0, 40_002 + frames * 64, 0]);
        assert_eq!(out.flow(0).packets, frames);
    }
}

/// Seven segments of two frames, the last of half a frame: 0, 3, 6 | 1, 4 | 2, 5.
#[test]
fn segments_go_round_and_rows_add_up() {
    let mut bench = over(ways([150; 4]), 3, Some(8_000));
    bench.flow(0, 1, 50_000);
    let out = bench.run();
    out.at_rest();
    let notified: Vec<_> =
        out.rows.queue_pairs.iter().map(|row| (row.pair, row.segments, row.bytes, row.packets)).collect();
    let mut sorted = notified.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, [(0, 3, 18_000, 5), (1, 2, 16_000, 4), (2, 2, 16_000, 4)]);
    let flow = out.flow(0);
    assert_eq!((flow.bytes, flow.received, flow.packets), (50_000, 50_000, 13));
    assert_eq!((&flow.state, flow.ideal), (&State::Complete, None));
    let last =
        |of: fn(&QueuePairRow) -> Option<Time>| out.rows.queue_pairs.iter().map(|row| of(row).expect("complete")).max();
    assert_eq!(flow.fct_last_byte, last(|row| row.fct_last_byte));
    assert_eq!(flow.fct_last_ack, last(|row| row.fct_last_ack));
}

/// A message that one segment holds is one flow, and has its ideal time; a group without queue pairs has no rows of them.
#[test]
fn a_short_message_is_one_flow() {
    let mut bench = over(ways([150; 4]), 4, Some(8_000));
    bench.flow(0, 1, 8_000);
    bench.flow(1, 0, 80_000).group = 1;
    let out = bench.run();
    let whole = out.flow(0);
    assert_eq!((whole.ideal, out.rows.queue_pairs.len()), (whole.fct_last_byte, 1));
    let mut plain = bench.clone();
    plain.queue_pairs = Vec::new();
    assert_eq!(plain.run().fingerprint, out.fingerprint);
    plain.queue_pairs = vec![Some(QueuePairs { number: 1, segment: None, kept: false }); 2];
    assert_eq!(plain.run().fingerprint, out.fingerprint, "one queue pair is the flow that it was");
}

/// Paths of different lengths: each queue pair keeps its order, whatever overtakes whatever, and the message ends with the slowest.
#[test]
fn each_queue_pair_keeps_its_order() {
    let mut bench = over(ways([150, 5_000, 20_000, 90_000]), 4, Some(4_000));
    bench.flow(0, 1, 400_000);
    let bench = apart(bench);
    let out = bench.run();
    let rows = &out.rows.queue_pairs;
    assert!(rows.len() == 4 && rows.iter().all(|row| row.reordered == 0 && row.segments == 25));
    let fastest = rows.iter().filter_map(|row| row.fct_last_byte).min().expect("complete");
    // The path of 90 us is longer than everything that the others take.
    assert!(out.flow(0).fct_last_byte > Some(Time::us(90)) && fastest < Time::us(12), "{fastest}");
    assert_eq!(out.flow(0).reordered, 0);
}

/// A frame that one queue pair loses does not affect the others.
#[test]
fn each_queue_pair_recovers_by_itself() {
    for recovery in [Recovery::GoBackN, Recovery::SelectiveRepeat] {
        let mut bench = over(ways([150; 4]), 4, None);
        (bench.transport.recovery, bench.transport.timeout) = (recovery, Time::us(100));
        bench.flow(0, 1, 400_000);
        let mut bench = apart(bench);
        let (from, to) = (bench.node("s0"), bench.node("m1"));
        bench.fault(Time::ZERO, FaultKind::DropNth { from, to, what: FrameKind::Data, nth: 7 });
        let out = bench.run();
        let again: Vec<u64> = out.rows.queue_pairs.iter().map(|row| row.retransmitted).collect();
        assert_eq!(again.iter().filter(|again| **again > 0).count(), 1, "{recovery:?}: {again:?}");
        assert_eq!(out.flow(0).retransmitted, again.iter().sum::<u64>());
        assert_eq!((&out.flow(0).state, out.flow(0).received), (&State::Complete, 400_000));
    }
}

/// A message with a queue pair that gives up has failed, once.
#[test]
fn a_message_fails_once() {
    let mut bench = over(ways([150; 4]), 4, None);
    (bench.transport.recovery, bench.transport.timeout) = (Recovery::GoBackN, Time::us(100));
    bench.transport.retries = Some(1);
    let path = bench.path(&["h0", "s0", "m2", "s1", "h1"]);
    bench.flow(0, 1, 400_000).path = path;
    bench.flow(1, 0, 40_000).start = Time::us(1);
    let (a, b) = (bench.node("s0"), bench.node("m2"));
    bench.fault(Time::us(10), FaultKind::link_down(a, b));
    let out = bench.run();
    assert_eq!((out.progress.flows_failed, out.progress.flows_done, out.progress.flows_active), (1, 1, 0));
    assert_eq!((&out.flow(0).state, &out.flow(1).state), (&State::Failed, &State::Complete));
    assert_eq!(out.rows.queue_pairs.iter().filter(|row| row.state == State::Failed).count(), 4);
}

/// The first segments are issued in turn, the others behind them; the next posted message waits for all.
#[test]
fn each_segment_takes_its_issue() {
    let mut bench = over(Bench::star(3, Rate::gbps(400)), 4, Some(4_000));
    bench.nic.issue = Time::us(1);
    bench.flow(0, 1, 8 * 4_000);
    bench.flow(0, 2, 4_000);
    let out = bench.run();
    let star = 2 * 150_000 + 300_000;
    let mut pairs: Vec<_> = out.rows.queue_pairs.iter().filter(|row| row.id == 0).collect();
    pairs.sort_by_key(|row| row.pair);
    for (turn, row) in (1..).zip(pairs) {
        assert_eq!(row.fct_last_byte, Some(Time(turn * 1_000_000 + 3 * FRAME + star)));
    }
    assert_eq!(out.flow(0).fct_last_byte, Some(Time(4_000_000 + 3 * FRAME + star)));
    assert_eq!(out.flow(1).fct_last_byte, Some(Time(9_000_000 + 2 * FRAME + star)));
}

/// A message that the end of the run cuts off has one row, and so have its queue pairs that had ended before.
#[test]
fn a_message_that_is_cut_off_has_one_row() {
    let mut bench = over(ways([150, 5_000, 20_000, 90_000]), 4, None);
    bench.flow(0, 1, 400_000);
    let mut bench = apart(bench);
    bench.stop_at = Some(Time::us(60));
    let out = bench.run();
    let [flow] = &out.rows.flows[..] else { panic!("{} rows", out.rows.flows.len()) };
    assert!(matches!(flow.state, State::Unfinished(_)) && flow.fct_last_byte.is_none());
    assert_eq!((flow.bytes, out.rows.queue_pairs.len(), out.progress.flows_active), (400_000, 4, 1));
    let done = out.rows.queue_pairs.iter().filter(|row| row.state == State::Complete).count();
    assert_eq!((done, flow.received), (3, 300_000));
}

/// The waits recorded for a message are those of its last queue pair; samples are of all together, and recording changes nothing.
#[test]
fn records_are_of_the_message() {
    let mut bench = over(ways([150; 4]), 4, None);
    let path = bench.path(&["h0", "s0", "m0", "s1", "h1"]);
    for _ in 0..2 {
        bench.flow(0, 1, 400_000).path = path.clone();
    }
    let plain = bench.run();
    bench.causes = CausesSpec { waits: vec![true], pauses: false };
    let interval = Time::us(5);
    bench.series = Some(SeriesSpec {
        interval,
        queues: false,
        links: false,
        pauses: false,
        flows: true,
        backlogs: false,
        nodes: Vec::new(),
    });
    let out = bench.run();
    assert_eq!(out.fingerprint, plain.fingerprint);
    for flow in &out.rows.flows {
        let fct = flow.fct_last_byte.expect("complete");
        let waited =
            out.rows.waits.iter().filter(|row| row.flow == flow.id).fold(Time::ZERO, |sum, row| sum + row.time);
        // What is left is no less than the frames of its queue pair took on the slow link.
        assert!(waited + Time(25 * 4 * FRAME) <= fct && waited > Time::ZERO, "{waited} of {fct}");
        let of = out.rows.series.iter().filter(|row| row.flow == Some(flow.id));
        let received: Vec<(Time, u64)> =
            of.filter(|row| row.quantity == "flow_received_bytes").map(|row| (row.time, row.value)).collect();
        assert!(received.is_sorted() && received.is_sorted_by_key(|sample| sample.1), "{received:?}");
        let samples = u64::try_from(received.len()).expect("few");
        assert_eq!(samples, (flow.fct_last_ack.expect("complete").0 - 1) / interval.0, "one a time");
    }
}
