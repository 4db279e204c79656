//! The reliable connection: lost packets are retransmitted, windows bound the bytes in flight, and the ideal time is the time alone.

use crate::own::Bench;
use backwater_engine::Time;
use backwater_net::bench::network::{Outcome, network};
use backwater_net::config::{AckPath, Architecture, LatencyAt, PacketParams, Recovery, TransportParams, Window};
use backwater_net::record::State;
use backwater_net::spec::{FaultKind, FrameKind, QueuePairs, SeriesSpec, Stream};
use backwater_net::{Bytes, Rate};
use proptest::prelude::*;

/// h0 and h1 on s0, h2 on s1; links of different rates, so that the slowest is in the middle, first or last.
fn chain(rates: [u64; 3]) -> Bench {
    let [first, middle, last] = rates.map(Rate::gbps);
    let links = [
        ("h0", "s0", first, Time::ns(150)),
        ("h1", "s0", first, Time::ns(150)),
        ("s0", "s1", middle, Time::us(1)),
        ("s1", "h2", last, Time::ns(37)),
    ];
    Bench::new(network(3, &["s0", "s1"], &links))
}

fn recovering(recovery: Recovery) -> Bench {
    let mut bench = chain([100, 100, 100]);
    bench.transport = TransportParams { recovery, timeout: Time::us(200), ..TransportParams::default() };
    bench
}

fn drop_nth(bench: &mut Bench, from: &str, to: &str, what: FrameKind, nth: u64) {
    let (from, to) = (bench.node(from), bench.node(to));
    bench.fault(Time::ZERO, FaultKind::DropNth { from, to, what, nth });
}

fn complete(outcome: &Outcome, bytes: u64) {
    outcome.at_rest();
    for flow in &outcome.rows.flows {
        assert_eq!((&flow.state, flow.received), (&State::Complete, bytes), "flow {}", flow.id);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Alone in the network a flow takes its ideal time, to the picosecond, whatever the rates, the size and the switch.
    #[test]
    fn ideal_time_is_the_time_alone(
        rates in prop::array::uniform3(prop::sample::select(vec![10u64, 25, 40, 100, 400])),
        bytes in 1u64..60_000, fetched: bool, issue in 0u64..2_000,
        architecture in prop::sample::select(vec![
            Architecture::OutputQueued, Architecture::InputQueued, Architecture::Voq, Architecture::SharedMemory]),
    ) {
        let mut bench = chain(rates);
        bench.switch.architecture = architecture;
        (bench.nic.store_and_forward, bench.nic.issue) = (fetched, Time::ns(issue));
        bench.flow(0, 2, bytes);
        let outcome = bench.run();
        let flow = outcome.flow(0);
        prop_assert_eq!(flow.ideal, flow.fct_last_byte);
    }

    /// The ideal time also holds on each of several paths, pinned or hashed, and with any headers.
    #[test]
    fn ideal_time_follows_the_flows_own_way(
        rates in prop::array::uniform6(prop::sample::select(vec![1u64, 3, 7, 10, 25, 100])),
        delays in prop::array::uniform3(0u64..5_000), bytes in 0u64..30_000, seed in 0u64..50, id in 0u64..50,
        payload in 1u64..3_000, header in 0u64..200, gap in 0u64..30, latency in 0u64..1_000,
        reverse: bool, pinned: bool, recovering: bool,
        latency_at in prop::sample::select(vec![LatencyAt::Input, LatencyAt::Fabric, LatencyAt::Output]),
    ) {
        let [a, b, c, d, e, f] = rates.map(Rate::gbps);
        let [near, far, middle] = delays.map(Time::ns);
        // Two trunks in parallel, and an equally short path around them by s2.
        let links = [
            ("h0", "s0", a, near), ("s0", "s1", b, far), ("s0", "s1", c, far), ("s0", "s2", d, middle), ("s2", "s3", e, near),
            ("s1", "s3", f, middle), ("s3", "h1", a.max(b), far),
        ];
        let mut bench = Bench::new(network(2, &["s0", "s1", "s2", "s3"], &links));
        bench.seed = seed;
        bench.packet = PacketParams { payload: Bytes(payload), header: Bytes(header.max(1)), gap: Bytes(gap), clock: None };
        (bench.switch.latency, bench.switch.latency_at) = (Time::ns(latency), latency_at);
        bench.ack.path = if reverse { AckPath::Reverse } else { AckPath::Ecmp };
        if recovering {
            bench.transport.recovery = Recovery::SelectiveRepeat;
            bench.transport.timeout = Time::ms(100);
        }
        let path = bench.path(&["h0", "s0", "s1", "s3", "h1"]);
        let flow = bench.flow(0, 1, bytes);
        flow.id = id;
        if pinned {
            flow.path = path;
        }
        let outcome = bench.run();
        outcome.at_rest();
        let flow = outcome.flow(id);
        prop_assert_eq!(flow.ideal, flow.fct_last_byte);
    }
}

#[test]
fn selective_repeat_sends_one_packet_again_where_go_back_n_sends_all_since() {
    let run = |recovery| {
        let mut bench = recovering(recovery);
        bench.flow(0, 2, 400_000);
        drop_nth(&mut bench, "s0", "s1", FrameKind::Data, 20);
        let outcome = bench.run();
        complete(&outcome, 400_000);
        (outcome.flow(0).retransmitted, outcome.flow(0).timeouts, outcome.flow(0).packets)
    };
    assert_eq!(run(Recovery::SelectiveRepeat), (1, 0, 101));
    let (again, timeouts, packets) = run(Recovery::GoBackN);
    // The 21st packet shows the gap; by the time its NACK is back, a round trip of packets has followed it: 4.6 us of 325 ns.
    assert!((14..=18).contains(&again), "{again} packets were retransmitted");
    assert_eq!((timeouts, packets), (0, 100 + again));
}

#[test]
fn a_lost_tail_takes_one_timeout() {
    for recovery in [Recovery::GoBackN, Recovery::SelectiveRepeat] {
        let mut bench = recovering(recovery);
        bench.flow(0, 2, 40_000);
        drop_nth(&mut bench, "s0", "s1", FrameKind::Data, 10);
        let outcome = bench.run();
        complete(&outcome, 40_000);
        let flow = outcome.flow(0);
        assert_eq!((flow.retransmitted, flow.timeouts), (1, 1), "{recovery:?}");
        let late = flow.fct_last_byte.unwrap() - flow.ideal.unwrap();
        // Counted from the last progress, an acknowledgement 4.7 us after the packet before the lost one.
        assert!(late > Time::us(200) && late < Time::us(206), "{late:?} late");
    }
}

#[test]
fn a_lost_acknowledgement_is_made_up_for_by_the_next() {
    let mut bench = recovering(Recovery::GoBackN);
    bench.flow(0, 2, 40_000);
    drop_nth(&mut bench, "s1", "s0", FrameKind::Ack, 4);
    let outcome = bench.run();
    complete(&outcome, 40_000);
    assert_eq!((outcome.flow(0).retransmitted, outcome.flow(0).timeouts), (0, 0));
}

#[test]
fn a_flow_without_a_way_fails_after_its_retries() {
    let mut bench = recovering(Recovery::GoBackN);
    bench.transport.retries = Some(3);
    bench.flow(0, 2, 4_000_000);
    bench.flow(1, 0, 40_000);
    let (a, b) = (bench.node("s0"), bench.node("s1"));
    bench.fault(Time::us(50), FaultKind::link_down(a, b));
    let outcome = bench.run();
    assert_eq!(outcome.flow(0).state, State::Failed);
    assert_eq!(outcome.flow(0).timeouts, 4);
    assert_eq!(outcome.flow(1).state, State::Complete);
    assert_eq!((outcome.progress.flows_failed, outcome.progress.flows_done, outcome.progress.flows_active), (1, 1, 0));
    assert_eq!(outcome.unrest, Vec::<String>::new());
}

#[test]
fn without_recovery_a_row_says_what_its_flow_waits_for() {
    let mut bench = chain([100, 100, 100]);
    bench.flow(0, 2, 40_000);
    drop_nth(&mut bench, "s0", "s1", FrameKind::Data, 3);
    let waits = "acknowledgements of what it has sent; nothing of it is under way: frames were lost".into();
    assert_eq!(bench.run().flow(0).state, State::Unfinished(waits));
}

#[test]
fn a_window_of_the_bandwidth_delay_product_costs_nothing_and_half_of_it_half() {
    let time = |window| {
        let mut bench = chain([100, 100, 100]);
        bench.transport.window = window;
        bench.flow(0, 2, 4_000_000);
        bench.run().at_rest().flow(0).fct_last_byte.unwrap().0 as f64
    };
    // Three frames of 325.12 ns and three acknowledgements of 5.12 ns, 1.187 us of links and two switches of 300 ns, twice.
    let bdp = (3.0 * 325.12 + 3.0 * 5.12 + 2.0 * (1187.0 + 600.0)) * 100.0 / 8.0;
    let free = time(None);
    assert_eq!(time(Some(Window::Bdp)), time(Some(Window::Bytes(Bytes(bdp as u64)))));
    assert!(time(Some(Window::Bdp)) / free < 1.002);
    let half = time(Some(Window::Bytes(Bytes(bdp as u64 / 2)))) / free;
    // A window is whole packets: 7 of 14.04 go in a round trip.
    assert!((half - 14.04 / 8.0).abs() < 0.03 || (half - 14.04 / 7.0).abs() < 0.03, "{half}");
}

#[test]
fn acknowledgements_are_coalesced_and_the_last_packet_is_not_kept_waiting() {
    for (every, acks) in [(1, 25), (4, 7), (25, 1), (1000, 1)] {
        let mut bench = chain([100, 100, 100]);
        bench.ack.every = every;
        bench.flow(0, 2, 100_000);
        let outcome = bench.run();
        complete(&outcome, 100_000);
        let (s1, s0) = (bench.node("s1"), bench.node("s0"));
        assert_eq!(outcome.port(s1, s0).stats.tx_frames, acks, "one for every {every}");
    }
}

/// A flow of no bytes is a message without payload: one packet, acknowledged like any other.
#[test]
fn a_flow_of_no_bytes_completes_whatever_is_sent_again() {
    for recovery in [Recovery::None, Recovery::GoBackN, Recovery::SelectiveRepeat] {
        let mut bench = recovering(recovery);
        bench.flow(0, 2, 0);
        let outcome = bench.run();
        complete(&outcome, 0);
        assert_eq!((outcome.flow(0).packets, outcome.flow(0).timeouts), (1, 0), "{recovery:?}");
        drop_nth(&mut bench, "s0", "s1", FrameKind::Data, 1);
        if recovery != Recovery::None {
            let outcome = bench.run();
            complete(&outcome, 0);
            assert_eq!((outcome.flow(0).packets, outcome.flow(0).retransmitted, outcome.flow(0).timeouts), (2, 1, 1));
        }
    }
}

/// Samples of a flow that has gone back: its rate counts sent bytes, and is never negative.
#[test]
fn samples_survive_a_flow_that_goes_back() {
    for recovery in [Recovery::GoBackN, Recovery::SelectiveRepeat] {
        let mut bench = recovering(recovery);
        bench.flow(0, 2, 400_000);
        drop_nth(&mut bench, "s0", "s1", FrameKind::Data, 20);
        let interval = Time::ns(500);
        let (queues, links, pauses, backlogs, nodes) = (false, false, false, false, Vec::new());
        bench.series = Some(SeriesSpec { interval, queues, links, pauses, flows: true, backlogs, nodes });
        let outcome = bench.run();
        complete(&outcome, 400_000);
        let rates = outcome.rows.series.iter().filter(|row| row.quantity == "flow_rate_bps").map(|row| row.value);
        // Whole packets: one more than the line carries in an interval.
        let most = 100_000_000_000 + 4_000 * 8 * 2_000_000;
        assert!(rates.clone().all(|bps| bps <= most), "{recovery:?}: {:?}", rates.max());
        // All packets leave well before the last acknowledgement, so samples see every one of them.
        let sent: u64 = rates.map(|bps| bps / 2_000_000).sum();
        assert_eq!(sent, outcome.flow(0).packets * 4_000 * 8, "{recovery:?}");
    }
}

/// A retransmission timer that is pending when its flow, or the last message of its connection, has ended does not cause samples: they
/// continue to the end of the run, which is the same with and without them.
#[test]
fn samples_end_with_the_run() {
    for (recovery, kept) in [Recovery::GoBackN, Recovery::SelectiveRepeat, Recovery::Rud]
        .into_iter()
        .flat_map(|recovery| [(recovery, false), (recovery, true)])
    {
        let mut bench = recovering(recovery);
        bench.transport.timeout = Time::ms(10);
        if kept {
            bench.queue_pairs = vec![Some(QueuePairs { number: 1, segment: None, kept: true })];
        }
        // The second one posts on a connection whose timer had nothing to time for 100 us.
        bench.flow(0, 2, 100_000);
        bench.flow(0, 2, 100_000).start = Time::us(100);
        let plain = bench.run();
        complete(&plain, 100_000);
        let interval = Time::us(1);
        let (queues, links, pauses, backlogs, nodes) = (true, true, true, true, Vec::new());
        bench.series = Some(SeriesSpec { interval, queues, links, pauses, flows: true, backlogs, nodes });
        let sampled = bench.run();
        let (of, end) = (format!("{recovery:?}, kept: {kept}"), plain.progress.time);
        assert_eq!((sampled.fingerprint, sampled.progress.time), (plain.fingerprint, end), "{of}");
        assert!(end > Time::us(100) && end < Time::us(200), "{of}: {end}");
        let last = sampled.rows.series.iter().map(|row| row.time).max().expect("there are samples");
        assert!(last <= end.after(interval), "{of}: the last sample at {last}, the end at {end}");
        let looks = sampled.progress.events - plain.progress.events;
        assert!(looks <= end.0 / interval.0 + 1, "{of}: {looks} samples until {end}");
    }
}

/// A timer that had nothing to time is active again, once a message follows on its connection: the lost packet of that message is
/// retransmitted.
#[test]
fn the_timer_of_a_connection_that_rested_expires() {
    for recovery in [Recovery::GoBackN, Recovery::SelectiveRepeat, Recovery::Rud] {
        let mut bench = recovering(recovery);
        bench.queue_pairs = vec![Some(QueuePairs { number: 1, segment: None, kept: true })];
        bench.flow(0, 2, 8_000);
        bench.flow(0, 2, 8_000).start = Time::us(50);
        // The last packet of the second message: no later one shows that it is missing.
        drop_nth(&mut bench, "s0", "s1", FrameKind::Data, 4);
        let outcome = bench.run();
        complete(&outcome, 8_000);
        // Packets without an order have a timer each, and the lost one was to request the acknowledgement of both.
        let expected = if recovery == Recovery::Rud { (2, 2) } else { (1, 1) };
        assert_eq!((outcome.flow(1).retransmitted, outcome.flow(1).timeouts), expected, "{recovery:?}");
    }
}

/// The time without progress begins with the first packet in flight, however long none was.
#[test]
fn a_source_that_rests_does_not_time_out() {
    for recovery in [Recovery::GoBackN, Recovery::SelectiveRepeat] {
        let mut bench = recovering(recovery);
        bench.transport.timeout = Time::us(20);
        // A packet every 16 us on average, acknowledged after 5 us.
        let spec = Stream::new(Time::ps(325_120), 0.02, Time::ms(10));
        bench.stream(0, 2, spec);
        let outcome = bench.run();
        outcome.at_rest();
        let flow = outcome.flow(0);
        assert_eq!((flow.timeouts, flow.retransmitted, flow.received), (0, 0, flow.packets * 4_000), "{recovery:?}");
        assert!(flow.packets > 500);
    }
}

/// Packets left over from an ended flow, on a pinned path that another flow may use by now, go to their own destination.
#[test]
fn leftovers_of_an_ended_flow_take_no_other_flows_way() {
    for recovery in [Recovery::GoBackN, Recovery::SelectiveRepeat] {
        // h0 and h1 on s0 (3 ports), h2 and h3 and h4 on s1 (4 ports): each hop of another flow's path may not even exist here.
        let rate = Rate::gbps(100);
        let (near, far) = (Time::ns(100), Time::us(20));
        let links = [
            ("h0", "s0", rate, near),
            ("h1", "s0", rate, near),
            ("s0", "s1", rate, far),
            ("s1", "h2", rate, near),
            ("s1", "h3", rate, near),
            ("s1", "h4", rate, near),
            ("s1", "h5", rate, near),
        ];
        let mut bench = Bench::new(network(6, &["s0", "s1"], &links));
        // Less than a round trip: everything is sent several times, and the first copy completes the flow.
        bench.transport =
            TransportParams { recovery, timeout: Time::us(5), retries: None, ..TransportParams::default() };
        bench.flow(0, 2, 400_000);
        for i in 0..400 {
            let (src, dst) = [(5, 0), (1, 4), (4, 1), (3, 5)][i % 4];
            bench.flow(src, dst, 1_000).start = Time::us(20 + i as u64 / 4);
        }
        let outcome = bench.run();
        outcome.at_rest();
        let at = |from: &str, to: &str| outcome.port(bench.node(from), bench.node(to)).stats.tx_data_frames;
        let packets = |dst: u32| outcome.rows.flows.iter().filter(|f| f.dst.0 == dst).map(|f| f.packets).sum::<u64>();
        for (host, switch) in [("h0", "s0"), ("h1", "s0"), ("h2", "s1"), ("h3", "s1"), ("h4", "s1"), ("h5", "s1")] {
            let number = host[1..].parse().unwrap();
            assert_eq!(at(switch, host), packets(number), "{recovery:?}: frames to {host}");
        }
    }
}

const LINK: Time = Time::us(10);

/// Time from a packet's start to the start of its retransmission, in packets: the next one arrives (three frames and two links), the NACK
/// comes back, and the current frame ends.
fn packets_a_round_trip(frame: Time, latency: Time) -> u64 {
    let (nack, hops) = (Rate::gbps(100).time_for(Bytes(64)), 2);
    let time = frame.0 * (1 + hops) + hops * nack.0 + 2 * hops * LINK.0 + 2 * latency.0;
    time.div_ceil(frame.0)
}

/// Goodput of one endless go-back-n flow with a loss ratio `p` of data frames on the last link, as a share of the link.
fn lossy_goodput(p: f64, nack_interval: Option<Time>) -> f64 {
    const PACKETS: u64 = 50_000;
    let rate = Rate::gbps(100);
    let times = (1..=4).map(|seed| {
        let links = [("h0", "s0", rate, LINK), ("h1", "s0", rate, LINK)];
        let mut bench = Bench::new(network(2, &["s0"], &links));
        bench.seed = seed;
        bench.transport = TransportParams {
            recovery: Recovery::GoBackN,
            timeout: Time::us(500),
            retries: None,
            nack_interval,
            ..TransportParams::default()
        };
        let (from, to) = (bench.node("s0"), bench.node("h1"));
        bench.fault(
            Time::ZERO,
            FaultKind::Loss { from: Some(from), to: Some(to), what: None, probability: p, number: None },
        );
        bench.flow(0, 1, 4000 * PACKETS);
        let out = bench.run();
        complete(&out, 4000 * PACKETS);
        out.at_rest().fct_us(0)
    });
    let mean = times.sum::<f64>() / 4.0;
    PACKETS as f64 * rate.time_for(Bytes(4064)).0 as f64 / 1e6 / mean
}

/// Go-back-n wastes the N packets of a round trip at each loss: (1 - p)/(1 - p + p N), if the loss of a retransmission is noticed as soon
/// as that of a packet sent for the first time. With one NACK for each gap it is not: a lost retransmission (a share p of losses) costs the
/// timeout R, so that a packet takes 1 + p N + p^2/(1 - p) R. A NACK that is repeated after a round trip restores the formula; one that is
/// repeated after M packets costs M in the place of R. Chance: 4000 losses at p = 2 %, of which 80 retransmissions, that is 3 % of the last
/// term's share of a third.
#[test]
fn a_lost_retransmission_costs_the_timeout_or_the_nack_interval() {
    let (p, frame) = (0.02, Rate::gbps(100).time_for(Bytes(4064)));
    let n = packets_a_round_trip(frame, Time::ns(300));
    let packets = |time: Time| time.0 as f64 / frame.0 as f64;
    // Just before the first packet behind the retransmission is due, and four times as long.
    let soon = Time(frame.0 * n - frame.0 / 2);
    let late = Time(frame.0 * 4 * n - frame.0 / 2);
    let mut figures = Vec::new();
    for (interval, repeated) in [(None, packets(Time::us(500))), (Some(soon), n as f64), (Some(late), 4.0 * n as f64)] {
        let expected = 1.0 / (1.0 + p * n as f64 + p * p / (1.0 - p) * repeated);
        let got = lossy_goodput(p, interval);
        println!("N = {n}, NACK interval {interval:?}: goodput {got:.4}, formula {expected:.4}");
        figures.push((got, expected));
    }
    assert!(figures.iter().all(|(got, expected)| (got / expected - 1.0).abs() < 0.04), "{figures:?}");
    let plain = (1.0 - p) / (1.0 - p + p * n as f64);
    assert!((figures[1].1 / plain - 1.0).abs() < 1e-9, "the textbook's formula");
}

/// An interval far below the round trip sends the flow back repeatedly for one loss: what it has sent meanwhile is retransmitted each time.
#[test]
fn an_impatient_receiver_costs_goodput() {
    let (patient, impatient) = (lossy_goodput(0.002, Some(Time::us(50))), lossy_goodput(0.002, Some(Time::us(5))));
    println!("goodput {patient:.4} with 50 us, {impatient:.4} with 5 us");
    assert!(impatient < 0.95 * patient, "{impatient} against {patient}");
}
