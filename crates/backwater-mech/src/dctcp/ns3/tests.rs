//! The rule by hand, and recorded decisions of the ns-3 code.

use super::*;
use crate::dctcp::Law;
use crate::recorded::{Held, SIX_DIGITS, traces};
use backwater_engine::Time;
use backwater_net::bench::{FlowBench, at_offset, data};
use backwater_net::packet::{Class, HostId};
use std::collections::HashMap;

fn params(base_rtt: Time) -> Params {
    Params { law: Law::Ns3, base_rtt, r_ai: Rate(615_000_000), min_rate: Rate::gbps(1), ..Params::default() }
}

fn flow(params: &Params) -> (FlowBench, Sender) {
    let bench = FlowBench::new(Rate::gbps(100));
    let sender = Sender::new(params, bench.shape());
    (bench, sender)
}

fn send(bench: &mut FlowBench, sender: &mut Sender, until: u64) {
    let mut pkt = at_offset(data(HostId(0), HostId(1), 0, Class(3), 1000), until - 1000);
    sender.on_send(&mut bench.cx(), &mut pkt);
}

fn ack(bench: &mut FlowBench, sender: &mut Sender, received: u64, marked: bool) {
    let ack = Ack { received, rtt: Time::us(10), marked, carried: None, counted: None };
    sender.on_ack(&mut bench.cx(), &ack);
}

/// T = 10 us at 100 Gb/s: a window of 125 KB. The first acknowledgement begins a batch of 10 packets and 1. Two are marked: the first
/// halves the rate, since alpha is 1, and the second is of the same window. alpha becomes 15/16 + 2/11/16. An acknowledgement beyond what
/// had been sent at the cut may cut again, and an unmarked one that begins a batch adds R_AI.
#[test]
fn cuts_by_half_of_alpha_once_a_window() {
    let (mut bench, mut sender) = flow(&params(Time::us(10)));
    assert_eq!((sender.rate(), sender.window()), (Some(Rate::gbps(100)), Some(Bytes(125_000))));
    send(&mut bench, &mut sender, 10_000);
    ack(&mut bench, &mut sender, 1_000, false);
    send(&mut bench, &mut sender, 15_000);
    ack(&mut bench, &mut sender, 2_000, true);
    assert_eq!((sender.rate(), sender.window()), (Some(Rate::gbps(50)), Some(Bytes(62_500))));
    ack(&mut bench, &mut sender, 3_000, true);
    assert_eq!(sender.rate, Rate::gbps(50));
    ack(&mut bench, &mut sender, 11_000, false);
    let alpha = 15.0 / 16.0 + 2.0 / 11.0 / 16.0;
    assert!((sender.alpha - alpha).abs() < 1e-12, "{}", sender.alpha);
    assert_eq!((sender.rate, sender.batch), (Rate::gbps(50), 5), "nothing is added while CWR");
    send(&mut bench, &mut sender, 30_000);
    ack(&mut bench, &mut sender, 15_000, true);
    assert_eq!(sender.rate, Rate::gbps(50), "sent before the cut");
    ack(&mut bench, &mut sender, 16_000, false);
    assert_eq!(sender.rate, Rate(50_615_000_000));
    ack(&mut bench, &mut sender, 17_000, true);
    assert!((sender.rate.0 as f64 / (50.615e9 * (1.0 - sender.alpha / 2.0)) - 1.0).abs() < 1e-9, "{}", sender.rate);
    assert_eq!(sender.activity().acts, 2);
}

/// Every alpha, to the printed digits, every rate, to the bit per second, and every state.
#[test]
fn decisions_of_the_ns3_code() {
    let (mut held, mut decreases) = (Held::default(), 0);
    for trace in traces("dctcp") {
        let params = params(trace.base_rtt());
        let mut flows: HashMap<u64, (FlowBench, Sender, u64)> = HashMap::new();
        for line in &trace.lines {
            let (bench, sender, last) = flows.entry(line.number("flow")).or_insert_with(|| {
                let (bench, sender) = flow(&params);
                (bench, sender, 0)
            });
            // Marks between two recorded acknowledgements were only counted. All came while nothing could be cut.
            let counted = line.number("marks") - u64::from(line.is_set("marked"));
            for _ in sender.marks..counted {
                ack(bench, sender, *last, true);
            }
            assert_eq!(sender.batch, line.number("packets"), "{}", trace.name);
            let before = sender.rate;
            send(bench, sender, line.number("snd_nxt"));
            *last = line.number("ack");
            ack(bench, sender, *last, line.is_set("marked"));
            held.compare(&trace, line, "alpha", sender.alpha, SIX_DIGITS);
            held.compare(&trace, line, "rate", sender.rate.0 as f64, 0.0);
            held.compare(&trace, line, "cwr", f64::from(u8::from(sender.cwr.is_some())), 0.0);
            decreases += u64::from(sender.rate < before);
        }
    }
    held.none_off(5_940);
    assert!(decreases > 100, "{decreases}");
}
