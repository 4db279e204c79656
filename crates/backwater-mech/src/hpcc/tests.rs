//! HPCC on the bench: INT by hand, the rule by hand, and recorded decisions of the HPCC ns-3 code.

use super::*;
use crate::recorded::{Held, Line, SIX_DIGITS, Trace, traces};
use backwater_net::bench::{FlowBench, SwitchBench, at_offset, data};
use backwater_net::config::SwitchParams;
use backwater_net::hooks::LongestWay;
use backwater_net::packet::{Class, HostId, Port, Queue};
use std::collections::HashMap;

fn flow(params: &Params) -> (FlowBench, Sender) {
    let bench = FlowBench::new(Rate::gbps(100));
    let sender = Hpcc::flow(params, bench.shape(), &()).expect("HPCC acts at flows");
    (bench, sender)
}

fn send(bench: &mut FlowBench, sender: &mut Sender, until: u64) {
    let mut pkt = at_offset(data(HostId(0), HostId(1), 0, Class(3), 1000), until - 1000);
    sender.on_send(&mut bench.cx(), &mut pkt);
}

fn ack(bench: &mut FlowBench, sender: &mut Sender, received: u64, carried: Option<&Attachment>) {
    let ack = Ack { received, rtt: Time::us(10), marked: false, carried, counted: None };
    sender.on_ack(&mut bench.cx(), &ack);
}

/// Returns the attachment of a packet in which each of these `(port, ns, tx_bytes, queued, Gb/s)` has written.
fn int(of: &[(u64, u64, u64, u32, u32)]) -> Attachment {
    let mut carried = Attachment::default();
    for (port, ns, tx_bytes, queued, gbps) in of {
        let hop = Hop { at: Time::ns(*ns), tx_bytes: *tx_bytes, queued: *queued, rate: gbps * 1_000_000 };
        Int(&mut carried.0).append(*port, hop);
    }
    carried
}

/// A switch writes the time, the bytes that its port had sent before, and the queue behind the packet, into data only and at most five
/// times.
#[test]
fn switches_write_their_ports_state() {
    let mut bench = SwitchBench::new(&SwitchParams::default(), 2, Rate::gbps(100), 0);
    let pkt = data(HostId(0), HostId(1), 0, Class(3), 1000);
    bench.now = Time::ns(700);
    bench.set_egress(Port(1), Queue(3), 1064 + 5000);
    bench.set_egress(Port(1), Queue(0), 200);
    let from = Departure { port: Port(1), queue: Queue(3), rate: Rate::gbps(100), tx_frames: 9, tx_bytes: 9000 };
    let mut carried = Attachment::default();
    let mut side = Writer::Int(0);
    for _ in 0..7 {
        side.on_start(&mut bench.cx().links(), &from, &pkt, Some(&mut carried));
    }
    let hop = Hop { at: Time::ns(700), tx_bytes: 9000, queued: 5200, rate: 100_000_000 };
    assert_eq!(hops(&carried).collect::<Vec<_>>(), [hop; 5]);
    let before = carried;
    side.on_start(&mut bench.cx().links(), &from, &backwater_net::bench::ack(pkt), Some(&mut carried));
    side.on_start(&mut bench.cx().links(), &from, &pkt, None);
    assert_eq!(carried, before);
    // 9000 B are 17 times 512 B and 296 B, 5200 B are 16 times 320 B and 80 B.
    let mut carried = Attachment::default();
    Writer::Int(4).on_start(&mut bench.cx().links(), &from, &pkt, Some(&mut carried));
    assert_eq!(hops(&carried).collect::<Vec<_>>(), [Hop { tx_bytes: 8704, queued: 5120, ..hop }]);
}

/// T = 10 us at 100 Gb/s: the window is 125 KB. Over 1 us the first port sends 6.25 KB, half its rate; the second, of 200 Gb/s, 12.5 KB,
/// half its rate, over 25 KB of queue at both times: 25 KB of 250 KB. So u' = 0.6, U = 0.9 of 1 and 0.1 of 0.6 = 0.96, and the rate is
/// 0.95 / 0.96 of 100 Gb/s and R_AI.
#[test]
fn the_busiest_hop_counts() {
    let params = Params { base_rtt: Time::us(10), max_stage: 0, ..Params::default() };
    let (mut bench, mut sender) = flow(&params);
    assert_eq!((sender.rate(), sender.window()), (Some(Rate::gbps(100)), Some(Bytes(125_000))));
    send(&mut bench, &mut sender, 50_000);
    let first = int(&[(1, 1_000, 0, 90_000, 100), (2, 2_000, 0, 25_000, 200)]);
    ack(&mut bench, &mut sender, 1_000, Some(&first));
    assert_eq!((sender.rate, sender.last_update), (Rate::gbps(100), 50_000), "nothing to compare with yet");
    let second = int(&[(1, 2_000, 6_250, 0, 100), (2, 3_000, 12_500, 26_000, 200)]);
    ack(&mut bench, &mut sender, 2_000, Some(&second));
    let expected = 100e9 * 0.95 / 0.96 + 50e6;
    assert!((sender.u - 0.96).abs() < 1e-12, "{}", sender.u);
    assert!((sender.rate.0 as f64 - expected).abs() < 2.0, "{}", sender.rate);
    let window = expected * 10e-6 / 8.0;
    assert!(sender.window().is_some_and(|w| (w.0 as f64 - window).abs() < 1.0));
    assert_eq!((sender.committed, sender.cuts), (Rate::gbps(100), 0), "within a round trip nothing is committed");
    ack(&mut bench, &mut sender, 2_500, None);
    assert!((sender.rate.0 as f64 - expected).abs() < 2.0, "an acknowledgement that carries nothing says nothing");
}

/// Below eta there are `max_stage` additive steps, a round trip each, and then a multiplicative one. Idle links leave U unchanged.
#[test]
fn additive_stages_come_before_a_multiplicative_one() {
    let params = Params { base_rtt: Time::us(10), max_stage: 2, min_rate: Rate::gbps(1), ..Params::default() };
    let (mut bench, mut sender) = flow(&params);
    (sender.committed, sender.rate, sender.u) = (Rate::gbps(10), Rate::gbps(10), 0.5);
    let mut at = 1_000;
    let mut round = |sender: &mut Sender, n: u64| {
        // Half the link is used, for one T at a time.
        at += 10_000;
        send(&mut bench, sender, 2_000 * (n + 1));
        let carried = int(&[(1, at, n * 62_500, 0, 100)]);
        ack(&mut bench, sender, 2_000 * n + 1_000, Some(&carried));
        (sender.committed.0, sender.stage)
    };
    assert_eq!(round(&mut sender, 0), (10_000_000_000, 0));
    assert_eq!(round(&mut sender, 1), (10_050_000_000, 1));
    assert_eq!(round(&mut sender, 2), (10_100_000_000, 2));
    // 0.95 / 0.5 of 10.1 Gb/s and 50 Mb/s.
    assert_eq!(round(&mut sender, 3), (19_240_000_000, 0));
    assert_eq!(sender.cuts, 0);
}

/// The path has changed: counters of different switches are not subtracted. A packet that has overtaken another is not evaluated.
#[test]
fn what_cannot_be_compared_is_not() {
    let (mut bench, mut sender) = flow(&Params { max_stage: 0, ..Params::default() });
    send(&mut bench, &mut sender, 9_000);
    ack(&mut bench, &mut sender, 1_000, Some(&int(&[(1, 1_000, 500_000, 0, 100)])));
    for carried in [
        int(&[(2, 2_000, 900_000_000, 0, 100)]),
        int(&[(2, 2_000, 900_000_000, 0, 100), (3, 2_000, 0, 0, 100)]),
        int(&[(3, 2_000, 0, 0, 100), (2, 2_000, 900_000_000, 0, 100)]),
        int(&[(3, 1_000, 0, 0, 100), (2, 2_000, 0, 0, 100)]),
    ] {
        ack(&mut bench, &mut sender, 2_000, Some(&carried));
        assert_eq!((sender.rate, sender.u), (Rate::gbps(100), 1.0));
    }
    ack(&mut bench, &mut sender, 3_000, Some(&int(&[(3, 2_000, 12_500, 0, 100), (2, 3_000, 12_500, 0, 100)])));
    assert!(sender.rate < Rate::gbps(100));
}

/// Compares the load that a sender has taken, and the rate to a billionth. Returns the rate.
fn is_as_recorded(held: &mut Held, trace: &Trace, line: &Line, sender: &Sender) -> Rate {
    held.compare(trace, line, "u", sender.u, SIX_DIGITS);
    held.compare(trace, line, "rate", sender.rate.0 as f64, 1e-9 * sender.rate.0 as f64);
    sender.rate
}

/// Every rate that the HPCC ns-3 code has set, to a billionth, and every U, to the printed digits.
#[test]
fn decisions_of_the_ns3_code() {
    let (mut held, mut decreases) = (Held::default(), 0);
    for trace in traces("hpcc") {
        // The preset `ns3-hpcc`, with the stages of the case.
        let max_stage = trace.reported("max_stage").and_then(|reported| reported.parse().ok()).expect("it is said");
        let (r_ai, min_rate, base_rtt) = (Rate(40_000_000), Rate::gbps(1), trace.base_rtt());
        let params = Params { base_rtt, max_stage, r_ai, min_rate, ..Params::default() };
        let mut flows: HashMap<u64, (FlowBench, Sender, Vec<Counters>)> = HashMap::new();
        for line in &trace.lines {
            let hops: Vec<[u64; 3]> = line.text("hops").split(' ').map(triple).collect();
            let (bench, sender, counters) = flows.entry(line.number("flow")).or_insert_with(|| {
                let (bench, sender) = flow(&params);
                (bench, sender, vec![(1_000, 0); hops.len()])
            });
            let mut written = Vec::new();
            for (port, ([queued, sent, tau], (at, tx_bytes))) in (1..).zip(hops.into_iter().zip(counters)) {
                (*at, *tx_bytes) = (*at + tau, *tx_bytes + sent);
                written.push((port, *at, *tx_bytes, queued as u32, 100));
            }
            send(bench, sender, line.number("snd_nxt"));
            let before = sender.rate;
            ack(bench, sender, line.number("ack"), Some(&int(&written)));
            if line.has("rate") {
                decreases += u64::from(is_as_recorded(&mut held, &trace, line, sender) < before);
            }
        }
    }
    held.none_off(19_946);
    assert!(decreases > 1000, "{decreases}");
}

/// The same with PINT: the load is that of the power, and the rate follows, to a billionth.
#[test]
fn decisions_of_the_ns3_code_with_pint() {
    let (mut held, mut decreases) = (Held::default(), 0);
    for trace in traces("pint") {
        // The preset `ns3-pint`.
        let (r_ai, min_rate, base_rtt) = (Rate(40_000_000), Rate::gbps(1), trace.base_rtt());
        let (telemetry, pint_base) = (Telemetry::Pint, 1.01);
        let params = Params { telemetry, base_rtt, max_stage: 0, r_ai, min_rate, pint_base, ..Params::default() };
        let mut flows: HashMap<u64, (FlowBench, Sender)> = HashMap::new();
        for line in &trace.lines {
            let mut carried = Attachment::default();
            carried.0[0] = line.number("power");
            let (bench, sender) = flows.entry(line.number("flow")).or_insert_with(|| {
                // The first acknowledgement: only the sent bytes were recorded.
                let (mut bench, mut sender) = flow(&params);
                send(&mut bench, &mut sender, line.number("updated"));
                ack(&mut bench, &mut sender, 1_000, Some(&carried));
                (bench, sender)
            });
            let before = sender.rate;
            send(bench, sender, line.number("snd_nxt"));
            ack(bench, sender, line.number("ack"), Some(&carried));
            decreases += u64::from(is_as_recorded(&mut held, &trace, line, sender) < before);
        }
    }
    held.none_off(10_998);
    assert!(decreases > 1000, "{decreases}");
}

/// T = 10 us at 100 Gb/s. A port that has sent 1250 B a us is fully used: U rises by a tenth of what is missing, and by a tenth of the
/// queue's share of 125 KB. After more than T without frames only the queue counts.
#[test]
fn a_port_keeps_its_load() {
    let params = Params { telemetry: Telemetry::Pint, base_rtt: Time::us(10), ..Params::default() };
    let mut load = pint::Load::default();
    let mut at = |us: u64, tx_bytes, queued| load.update(Time::us(us), tx_bytes, queued, 0.1, params.base_rtt);
    assert_eq!(at(100, 0, 0), 0.0);
    assert!((at(101, 12_500, 0) - 0.1).abs() < 1e-12);
    assert!((at(102, 25_000, 0) - 0.19).abs() < 1e-12);
    assert!((at(103, 37_500, 25_000) - (0.271 + 0.02)).abs() < 1e-12);
    // 12.5 KB in 100 us, an hundredth of the rate, and a queue of a tenth of 125 KB.
    assert!((at(203, 50_000, 12_500) - 0.11).abs() < 1e-12);
}

/// T = 10 us at 100 Gb/s, a data packet of 1250 B each 100 ns: a full link, at which U rises by a hundredth of what is missing from 1.
/// Behind each data packet but the first an acknowledgement of 125 B leaves at 90 ns: `all` counts 1375 B since the data packet before, and
/// `last` the 125 B of the last frame alone, in 10 ns; without an acknowledgement in between, both count the same.
#[test]
fn a_port_counts_all_or_the_last_frame() {
    let after = |pint_counts, acks: bool| {
        let params = Params { telemetry: Telemetry::Pint, base_rtt: Time::us(10), pint_counts, ..Params::default() };
        let mut bench = SwitchBench::new(&SwitchParams::default(), 2, Rate::gbps(100), 0);
        let mut side = Hpcc::switch(&params, bench.shape()).expect("HPCC acts at switches");
        let pkt = data(HostId(0), HostId(1), 0, Class(3), 1186);
        let mut tx_bytes = 0;
        for n in 0..3 {
            let mut start = |ns, pkt: &Packet, bytes| {
                bench.now = Time::ns(ns);
                let from = Departure { port: Port(0), queue: Queue(3), rate: Rate::gbps(100), tx_frames: 0, tx_bytes };
                let mut carried = Attachment::default();
                side.on_start(&mut bench.cx().links(), &from, pkt, pkt.is_data().then_some(&mut carried));
                tx_bytes += bytes;
            };
            start(100_000 + 100 * n, &pkt, 1250);
            if acks {
                start(100_090 + 100 * n, &backwater_net::bench::ack(pkt), 125);
            }
        }
        let Writer::Pint(loads) = side else { panic!("it is PINT") };
        loads.ports[0].u
    };
    let twice = |stays: f64, adds: f64| adds * stays + adds;
    for (counts, acks, expected) in [
        (pint::Counts::All, false, twice(0.99, 0.01)),
        (pint::Counts::Last, false, twice(0.99, 0.01)),
        (pint::Counts::All, true, twice(0.99, 0.011)),
        (pint::Counts::Last, true, twice(0.999, 0.001)),
    ] {
        let u = after(counts, acks);
        assert!((u - expected).abs() < 1e-12, "{counts:?} {acks}: {u}, not {expected}");
    }
}

/// A packet carries the greatest power. Powers are rounded randomly, so that their mean is right: 512 x 0.19 are 97.3, and so 98.
#[test]
fn packets_take_the_load_of_the_busiest_port_along() {
    let params = Params { telemetry: Telemetry::Pint, base_rtt: Time::us(10), ..Params::default() };
    let mut bench = SwitchBench::new(&SwitchParams::default(), 2, Rate::gbps(100), 0);
    let mut side = Hpcc::switch(&params, bench.shape()).expect("HPCC acts at switches");
    let pkt = data(HostId(0), HostId(1), 0, Class(3), 1000);
    let mut start = |side: &mut Writer, us: u64, port: u16, tx_bytes, carried: &mut Attachment| {
        bench.now = Time::us(us);
        let from = Departure { port: Port(port), queue: Queue(3), rate: Rate::gbps(100), tx_frames: 0, tx_bytes };
        side.on_start(&mut bench.cx().links(), &from, &pkt, Some(carried));
        carried.0[0]
    };
    let mut carried = Attachment::default();
    start(&mut side, 50, 1, 0, &mut carried);
    start(&mut side, 55, 1, 62_500, &mut carried);
    // Half a T at full rate: U = 0.5, 256 of 512, and log 256 / log 1.05 = 113.7.
    let power = carried.0[0];
    assert!(power == 113 || power == 114, "{power}");
    assert_eq!(start(&mut side, 55, 0, 1_000, &mut carried), power, "the other port is idle");
    let mut random = backwater_engine::rng::stream(1, "a test", 0);
    let draws = 10_000;
    let mean =
        (0..draws).map(|_| pint::decode(pint::encode(0.19, 1.05, &mut random), 1.05)).sum::<f64>() / f64::from(draws);
    assert!((mean - 98.0 / 512.0).abs() < 3.0 * 0.025 * 0.19 / 100.0, "{mean}");
    assert_eq!(pint::encode(0.0, 1.05, &mut random), 0, "no load is the least there is");
}

/// 512 squared are 256 powers of 1.05 and 1254 of 1.01: 8 and 11 bits.
#[test]
fn octets_of_a_load() {
    assert_eq!([1.05, 1.01, 1.0002].map(pint::octets), [Bytes(1), Bytes(2), Bytes(2)]);
    let profile = Hpcc::profile(&Params { telemetry: Telemetry::Pint, ..Params::default() });
    assert_eq!((profile.overhead.data, profile.overhead.ack), (Bytes(1), Bytes(1)));
}

/// When a port last wrote, and the bytes that it had sent then.
type Counters = (u64, u64);

fn triple(text: &str) -> [u64; 3] {
    let numbers: Vec<u64> = text.split(',').map(|n| n.parse().expect("a number")).collect();
    numbers.try_into().expect("three numbers")
}

#[test]
fn refuses_what_cannot_work() {
    let refused = |params: Params| -> Vec<&'static str> {
        crate::stack::inspect::<Hpcc>(&params, &Default::default()).iter().filter(|f| f.fatal).map(|f| f.key).collect()
    };
    let good = Params::default;
    assert!(refused(good()).is_empty());
    assert_eq!(refused(Params { base_rtt: Time::ZERO, ..good() }), ["base_rtt"]);
    for eta in [0.0, -1.0, 1.01, f64::NAN] {
        assert_eq!(refused(Params { eta, ..good() }), ["eta"]);
    }
    let pint = Params { telemetry: Telemetry::Pint, ..good() };
    for pint_base in [1.0, 0.5, 2.1, f64::NAN] {
        assert_eq!(refused(Params { pint_base, ..pint.clone() }), ["pint_base"]);
    }
    assert_eq!(refused(Params { r_ai: Rate(0), min_rate: Rate(0), ..good() }), ["r_ai", "min_rate"]);
}

/// INT has five records, and is compared with the acknowledgement before; PINT has one value, which needs no comparison.
#[test]
fn what_int_cannot_tell_is_said_and_what_can() {
    let reported = |telemetry, switches, spread_by| {
        let way = LongestWay { switches, between: ("h0", "h9") };
        let cx = CheckCx { longest_way: Some(way), spread_by, ..CheckCx::default() };
        Hpcc::check(&Params { telemetry, ..Params::default() }, &cx)
    };
    for (switches, spread_by) in [(5, None), (6, None), (5, Some("spray")), (7, Some("spray"))] {
        assert!(reported(Telemetry::Pint, switches, spread_by).is_empty());
        let found = reported(Telemetry::Int, switches, spread_by);
        assert_eq!(found.len(), usize::from(switches > 5 || spread_by.is_some()));
        for finding in found {
            assert_eq!((finding.fatal, finding.key), (false, "telemetry"));
            assert!(finding.hint.contains("telemetry = \"pint\""), "{}", finding.hint);
            let many = format!("from h0 to h9 passes {switches}");
            assert_eq!(finding.reason.contains(&many), switches > 5, "{}", finding.reason);
            assert_eq!(finding.reason.contains("`spray`"), spread_by.is_some(), "{}", finding.reason);
        }
    }
}
