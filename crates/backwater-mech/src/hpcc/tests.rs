//! HPCC on the bench: INT by hand, the rule by hand, and the decisions that the HPCC ns-3 code took.

use super::*;
use backwater_net::bench::{FlowBench, SwitchBench, at_offset, data};
use backwater_net::config::SwitchParams;
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

/// What packets carry that each of these `(port, ns, tx_bytes, queued, Gb/s)` has written into.
fn int(of: &[(u64, u64, u64, u32, u32)]) -> Attachment {
    let mut carried = Attachment::default();
    for (port, ns, tx_bytes, queued, gbps) in of {
        let hop = Hop { at: Time::ns(*ns), tx_bytes: *tx_bytes, queued: *queued, rate: gbps * 1_000_000 };
        Int(&mut carried.0).append(*port, hop);
    }
    carried
}

/// A switch writes the time, what its port had sent before, and what waits behind the packet, into data only and five times at most.
#[test]
fn switches_write_their_ports_state() {
    let mut bench = SwitchBench::new(&SwitchParams::default(), 2, Rate::gbps(100), 0);
    let pkt = data(HostId(0), HostId(1), 0, Class(3), 1000);
    bench.now = Time::ns(700);
    bench.set_egress(Port(1), Queue(3), 1064 + 5000);
    bench.set_egress(Port(1), Queue(0), 200);
    let from = Departure { port: Port(1), queue: Queue(3), rate: Rate::gbps(100), tx_frames: 9, tx_bytes: 9000 };
    let mut carried = Attachment::default();
    let mut side = Telemetry;
    for _ in 0..7 {
        side.on_start(&mut bench.cx(), &from, &pkt, Some(&mut carried));
    }
    let hop = Hop { at: Time::ns(700), tx_bytes: 9000, queued: 5200, rate: 100_000_000 };
    assert_eq!(hops(&carried).collect::<Vec<_>>(), [hop; 5]);
    let before = carried;
    side.on_start(&mut bench.cx(), &from, &backwater_net::bench::ack(pkt), Some(&mut carried));
    side.on_start(&mut bench.cx(), &from, &pkt, None);
    assert_eq!(carried, before);
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

/// Below eta there are `max_stage` additive steps, a round trip each, and then a multiplicative one. Idle links leave U where it falls to.
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

/// The way has changed: counters of one switch are not taken from those of another. A packet that has overtaken another says nothing.
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

/// Every rate that the HPCC ns-3 code has set, to a billionth, and every U, to the digits that it prints.
#[test]
fn decisions_of_the_ns3_code() {
    let mut flows: HashMap<[&str; 3], (FlowBench, Sender, [u64; 2])> = HashMap::new();
    let (mut decisions, mut decreases) = (0, 0);
    for line in include_str!("decisions.tsv").lines().skip_while(|line| !line.starts_with("case")).skip(1) {
        let field: Vec<&str> = line.split('\t').collect();
        let number = |at: usize| field[at].parse::<u64>().expect("a number");
        let key = [field[0], field[1], field[2]];
        let first = !flows.contains_key(&key);
        let (bench, sender, [at, tx_bytes]) = flows.entry(key).or_insert_with(|| {
            // The preset `ns3-hpcc`, with the stages of the case.
            let (r_ai, min_rate, max_stage) = (Rate(40_000_000), Rate::gbps(1), number(1) as u32);
            let base_rtt = Time::ns(4160);
            let (bench, sender) = flow(&Params { base_rtt, max_stage, r_ai, min_rate, ..Params::default() });
            (bench, sender, [1_000, 0])
        });
        send(bench, sender, number(4));
        (*at, *tx_bytes) = (*at + number(7), *tx_bytes + number(6));
        let carried = int(&[(1, *at, *tx_bytes, number(5) as u32, 100)]);
        let before = sender.rate;
        ack(bench, sender, number(3), Some(&carried));
        if first {
            continue;
        }
        let (u, rate) = (field[8].parse::<f64>().expect("U"), number(9) as f64);
        assert!((sender.u - u).abs() < 1e-6, "{line}: {}", sender.u);
        assert!((sender.rate.0 as f64 - rate).abs() < 1e-9 * rate, "{line}: {}", sender.rate);
        decisions += 1;
        decreases += u64::from(sender.rate < before);
    }
    assert_eq!((decisions, flows.len()), (1017, 5));
    assert!(decreases > 100, "{decreases}");
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
    assert_eq!(refused(Params { r_ai: Rate(0), min_rate: Rate(0), ..good() }), ["r_ai", "min_rate"]);
}
