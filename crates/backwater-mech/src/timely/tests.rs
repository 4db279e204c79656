//! TIMELY on the bench: algorithm 1 by hand, and recorded decisions of the HPCC ns-3 code.

use super::*;
use crate::recorded::{Held, traces};
use backwater_net::Bytes;
use backwater_net::bench::{FlowBench, at_offset, data};
use backwater_net::packet::{Class, HostId};
use std::collections::HashMap;

const GBPS: u64 = 1_000_000_000;

fn flow(params: &Params) -> (FlowBench, Sender) {
    let bench = FlowBench::new(Rate::gbps(100));
    let sender = Timely::flow(params, bench.shape(), &()).expect("TIMELY acts at flows");
    (bench, sender)
}

fn send(bench: &mut FlowBench, sender: &mut Sender, until: u64) {
    let mut pkt = at_offset(data(HostId(0), HostId(1), 0, Class(3), 1000), until - 1000);
    sender.on_send(&mut bench.cx(), &mut pkt);
}

fn ack(bench: &mut FlowBench, sender: &mut Sender, received: u64, rtt: Time) {
    sender.on_ack(&mut bench.cx(), &Ack { received, rtt, marked: false, carried: None, counted: None });
}

/// Round trips of these lengths \[us\], a segment each.
fn round_trips(bench: &mut FlowBench, sender: &mut Sender, all: &[u64]) {
    for rtt in all {
        let received = sender.due.max(sender.params.segment.0);
        send(bench, sender, received + 1000);
        ack(bench, sender, received, Time::us(*rtt));
    }
}

/// The average has seen 60 - 60 and then 80 - 60 us: 0.875 x 20 us are 0.875 of minRTT, and 0.8 x 0.875 = 0.7 of the rate goes.
#[test]
fn shrinks_with_the_gradient() {
    let (mut bench, mut sender) = flow(&Params::default());
    round_trips(&mut bench, &mut sender, &[60, 60]);
    assert_eq!(sender.rate, Rate::gbps(100), "at line rate it stays there");
    round_trips(&mut bench, &mut sender, &[80]);
    assert!((sender.rate.0 as f64 / 30e9 - 1.0).abs() < 1e-9, "{}", sender.rate);
    // 0.125 x 17.5 + 0.875 x 0 = 2.1875 us: 0.8 x 0.109375 = 0.0875 of the rate.
    round_trips(&mut bench, &mut sender, &[80]);
    assert!((sender.rate.0 as f64 / (30e9 * 0.9125) - 1.0).abs() < 1e-9, "{}", sender.rate);
    assert_eq!(sender.activity().acts, 2);
}

/// Two minRTT a round trip exceed the whole rate: the least rate remains.
#[test]
fn a_steep_gradient_leaves_the_least_rate() {
    let (mut bench, mut sender) = flow(&Params { min_rate: Rate::gbps(1), ..Params::default() });
    round_trips(&mut bench, &mut sender, &[60, 100]);
    assert_eq!(sender.rate, Rate::gbps(1));
}

/// Above T_high the gradient does not count: 1000 us, falling, leave 1 - 0.8 (1 - 500/1000) = 0.6.
#[test]
fn shrinks_with_long_round_trips() {
    let (mut bench, mut sender) = flow(&Params::default());
    round_trips(&mut bench, &mut sender, &[1200, 1000]);
    assert_eq!(sender.rate, Rate::gbps(60));
    round_trips(&mut bench, &mut sender, &[500]);
    assert_eq!(sender.rate, Rate(60 * GBPS + 10_000_000), "500 us are not above 500 us, and the gradient is negative");
}

/// Below T_low the rate grows by delta, however steep; between the bounds the fifth event in a row that drains brings 5 delta.
#[test]
fn grows() {
    let (mut bench, mut sender) = flow(&Params::default());
    sender.rate = Rate::gbps(10);
    let grown = |sender: &Sender| (sender.rate.0 - 10 * GBPS) / 10_000_000;
    round_trips(&mut bench, &mut sender, &[10, 45]);
    assert_eq!(grown(&sender), 1);
    round_trips(&mut bench, &mut sender, &[49, 10, 10, 10, 10, 10]);
    assert_eq!(grown(&sender), 7, "no HAI below T_low");
    (sender.rate, sender.rtt_diff, sender.prev_rtt) = (Rate::gbps(10), 0.0, Some(Time::us(60)));
    round_trips(&mut bench, &mut sender, &[60, 59, 58, 58]);
    assert_eq!(grown(&sender), 4);
    round_trips(&mut bench, &mut sender, &[58, 57]);
    assert_eq!(grown(&sender), 4 + 2 * 5);
    round_trips(&mut bench, &mut sender, &[49, 48]);
    assert_eq!(grown(&sender), 14 + 2, "and below T_low the row ends");
}

/// An event ends with a segment, or with everything that had been sent at the last event, and more.
#[test]
fn completion_events() {
    let (mut bench, mut sender) = flow(&Params { segment: Bytes(3_000), ..Params::default() });
    send(&mut bench, &mut sender, 10_000);
    ack(&mut bench, &mut sender, 2_000, Time::us(60));
    assert_eq!(sender.prev_rtt, None);
    ack(&mut bench, &mut sender, 3_000, Time::us(60));
    ack(&mut bench, &mut sender, 5_000, Time::us(70));
    assert_eq!(sender.prev_rtt, Some(Time::us(60)));
    ack(&mut bench, &mut sender, 7_000, Time::us(80));
    ack(&mut bench, &mut sender, 9_000, Time::us(90));
    assert_eq!(sender.prev_rtt, Some(Time::us(80)), "the next is at 10,000");

    let (mut bench, mut sender) = flow(&Params { event: Event::RoundTrip, ..Params::default() });
    send(&mut bench, &mut sender, 10_000);
    ack(&mut bench, &mut sender, 1_000, Time::us(60));
    ack(&mut bench, &mut sender, 10_000, Time::us(70));
    assert_eq!(sender.prev_rtt, Some(Time::us(60)));
    ack(&mut bench, &mut sender, 11_000, Time::us(70));
    assert_eq!(sender.prev_rtt, Some(Time::us(70)));
}

/// Every rate that the HPCC ns-3 code has set, to the bit per second.
#[test]
fn decisions_of_the_ns3_code() {
    // The values of the preset `ns3-hpcc`.
    let params = Params {
        delta: Rate(100_000_000),
        hai: Rate(500_000_000),
        hai_after: 5,
        hai_counts: HaiCounts::Increases,
        event: Event::RoundTrip,
        min_rate: Rate::gbps(1),
        ..Params::default()
    };
    let (mut held, mut decreases) = (Held::default(), 0);
    for trace in traces("timely") {
        let mut flows: HashMap<u64, (FlowBench, Sender)> = HashMap::new();
        for line in &trace.lines {
            let updated = line.number("updated");
            let (bench, sender) = flows.entry(line.number("flow")).or_insert_with(|| {
                // The first acknowledgement: only its result was recorded.
                let (mut bench, mut sender) = flow(&params);
                send(&mut bench, &mut sender, updated);
                ack(&mut bench, &mut sender, 1_000, Time::ns(line.number("last_rtt")));
                (bench, sender)
            });
            assert_eq!(sender.due, updated, "{}", trace.name);
            send(bench, sender, line.number("snd_nxt"));
            ack(bench, sender, line.number("ack"), Time::ns(line.number("rtt")));
            held.compare(&trace, line, "rate", sender.rate.0 as f64, 0.0);
            assert_eq!(u64::from(sender.stage), line.number("stage"), "{}", trace.name);
            decreases += u64::from(sender.stage == 0);
        }
    }
    held.none_off(1_124);
    assert_eq!(decreases, 18);
}

#[test]
fn refuses_what_cannot_work() {
    let refused = |params: Params| -> Vec<&'static str> {
        crate::stack::inspect::<Timely>(&params, &Default::default())
            .iter()
            .filter(|f| f.fatal)
            .map(|f| f.key)
            .collect()
    };
    let good = Params::default;
    assert!(refused(good()).is_empty());
    assert_eq!(refused(Params { alpha: 0.0, beta: 1.5, ..good() }), ["alpha", "beta"]);
    assert_eq!(refused(Params { alpha: f64::NAN, ..good() }), ["alpha"]);
    assert_eq!(refused(Params { t_low: Time::us(501), ..good() }), ["t_low"]);
    assert_eq!(refused(Params { min_rtt: Time::ZERO, ..good() }), ["min_rtt"]);
    assert_eq!(refused(Params { delta: Rate(0), ..good() }), ["delta"]);
    assert_eq!(refused(Params { hai: Rate(1), ..good() }), ["hai"]);
    assert_eq!(refused(Params { segment: Bytes(0), ..good() }), ["segment"]);
    assert_eq!(refused(Params { min_rate: Rate(0), ..good() }), ["min_rate"]);
}
