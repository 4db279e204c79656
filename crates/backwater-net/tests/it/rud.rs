//! Reliable unordered delivery in a network.

use crate::own::Bench;
use backwater_engine::Time;
use backwater_net::bench::network::network;
use backwater_net::config::{PacketParams, Recovery, TransportParams};
use backwater_net::record::State;
use backwater_net::spec::{FaultKind, FrameKind};
use backwater_net::{Bytes, Rate};

const RATE: u64 = 100;

/// h0 and h1 with two switches between, 1 us a link, no latency, packets of 4086 B and headers of 64 B.
fn line() -> Bench {
    let links = [("h0", "s0"), ("s0", "s1"), ("s1", "h1")];
    let links = links.map(|(a, b)| (a, b, Rate::gbps(RATE), Time::us(1)));
    let mut bench = Bench::new(network(2, &["s0", "s1"], &links));
    bench.packet = PacketParams { payload: Bytes(4086), header: Bytes(64), gap: Bytes(0), clock: None };
    bench.ack.size = Bytes(64);
    bench.switch.latency = Time::ZERO;
    let recovery = Recovery::Rud;
    bench.transport = TransportParams { recovery, timeout: Time::us(200), retries: None, ..TransportParams::default() };
    bench
}

/// n packets, the last of l bytes, over D links of latency L: (n-1) s + 8 l/R + (D-1)(s + L) + L until the last byte, and another D (a + L)
/// until its acknowledgement, since the last packet is acknowledged at once.
#[test]
fn a_flow_alone_takes_the_closed_form() {
    for bytes in [1u64, 4086, 4087, 40_860, 2_000_000] {
        let mut bench = line();
        bench.flow(0, 1, bytes);
        let outcome = bench.run();
        outcome.at_rest();
        let flow = outcome.flow(0);
        let packets = bytes.div_ceil(4086);
        let ps = |size: u64| size * 8 * 1000 / RATE;
        let (s, l, a) = (ps(4150), ps(bytes - (packets - 1) * 4086 + 64), ps(64));
        // For a single short packet every link takes l and not s.
        let each = if packets == 1 { l } else { s };
        let there = (packets - 1) * s + l + 2 * (each + 1_000_000) + 1_000_000;
        assert_eq!(flow.fct_last_byte, Some(Time(there)), "{bytes} B");
        assert_eq!(flow.fct_last_ack, Some(Time(there + 3 * (a + 1_000_000))), "{bytes} B");
        assert_eq!((flow.packets, flow.retransmitted, flow.timeouts), (packets, 0, 0));
    }
}

/// The first of 490 packets is acknowledged at once and the others in fours (16,384 B and more), except the last, whose acknowledgement its
/// sender requests.
#[test]
fn acknowledgements_are_for_16384_bytes() {
    let mut bench = line();
    bench.flow(0, 1, 2_000_000);
    let (host, switch) = (bench.node("h1"), bench.node("s1"));
    let outcome = bench.run();
    assert_eq!(outcome.port(host, switch).stats.tx_frames, 1 + 488 / 4 + 1);
}

/// Lost packets are retransmitted when their timers expire, one by one, and everything arrives once.
#[test]
fn lost_packets_come_again_each_by_its_time() {
    let mut bench = line();
    bench.flow(0, 1, 200_000);
    let (from, to) = (bench.node("s0"), bench.node("s1"));
    for nth in [7, 20, 49] {
        bench.fault(Time::ZERO, FaultKind::DropNth { from, to, what: FrameKind::Data, nth });
    }
    let outcome = bench.run();
    outcome.at_rest();
    let flow = outcome.flow(0);
    assert_eq!((&flow.state, flow.received, flow.retransmitted, flow.timeouts), (&State::Complete, 200_000, 3, 3));
    // The last packet was sent 48 packets after the first, and retransmitted 200 us later.
    let s = Time(332_000);
    let late = flow.fct_last_byte.unwrap() - flow.ideal.unwrap();
    assert!(late >= Time::us(200) - s && late <= Time::us(200) + s, "{late:?}");
}

/// Lost acknowledgements cost at most a timeout, and nothing is counted twice.
#[test]
fn lost_acknowledgements_are_made_up_for() {
    for nth in 1..=13 {
        let mut bench = line();
        bench.flow(0, 1, 200_000);
        let (from, to) = (bench.node("s1"), bench.node("s0"));
        bench.fault(Time::ZERO, FaultKind::DropNth { from, to, what: FrameKind::Ack, nth });
        let outcome = bench.run();
        outcome.at_rest();
        let flow = outcome.flow(0);
        assert_eq!((&flow.state, flow.received), (&State::Complete, 200_000), "acknowledgement {nth}");
        assert!(flow.retransmitted <= 4, "acknowledgement {nth}: {} retransmitted", flow.retransmitted);
    }
}

#[test]
fn an_empty_flow_is_one_packet() {
    let mut bench = line();
    bench.flow(0, 1, 0);
    let outcome = bench.run();
    outcome.at_rest();
    assert_eq!((&outcome.flow(0).state, outcome.flow(0).packets), (&State::Complete, 1));
}
