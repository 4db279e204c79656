//! Swift on the bench: algorithm 1 and the target of section 3.5, by hand. Packets carry 1000 bytes, the way has three switches.

use super::*;
use backwater_net::Rate;
use backwater_net::bench::{FlowBench, data};
use backwater_net::packet::{Class, HostId};

fn flow(params: &Params) -> (FlowBench, Sender) {
    let bench = FlowBench::new(Rate::gbps(100));
    let sender = Swift::flow(params, bench.shape(), &()).expect("Swift acts at flows");
    (bench, sender)
}

fn ack(bench: &mut FlowBench, sender: &mut Sender, packets: u64, rtt: Time) {
    let received = sender.acked + packets * 1000;
    sender.on_ack(&mut bench.cx(), &Ack { received, rtt, marked: false, carried: None, counted: None });
}

/// 20 us, 3 x 3 us for the hops; the curve adds 100 us at 0.1 packets and nothing at 100.
#[test]
fn target_by_hops_and_window() {
    let (_, mut sender) = flow(&Params::default());
    let at = |sender: &mut Sender, cwnd: f64| {
        sender.cwnd = cwnd;
        sender.target_delay() / 1e6
    };
    assert!((at(&mut sender, 100.0) - 29.0).abs() < 1e-9);
    assert!((at(&mut sender, 500.0) - 29.0).abs() < 1e-9);
    assert!((at(&mut sender, 0.1) - 129.0).abs() < 1e-9);
    assert!((at(&mut sender, 0.01) - 129.0).abs() < 1e-9, "no more than fs_range");
    // alpha = 100 us / (sqrt(10) - 0.1) = 32.6548 us, beta = -3.2655 us.
    assert!((at(&mut sender, 1.0) - (29.0 + 32.6548 - 3.2655)).abs() < 1e-3);
    assert!((at(&mut sender, 25.0) - (29.0 + 32.6548 / 5.0 - 3.2655)).abs() < 1e-3);
    let (_, mut flat) = flow(&Params { fs_range: Time::ZERO, hop: Time::ZERO, ..Params::default() });
    assert_eq!(at(&mut flat, 0.5), 20.0);
}

/// Below the target a window of acknowledgements adds `ai`; below one packet each acknowledgement does.
#[test]
fn additive_increase() {
    let (mut bench, mut sender) = flow(&Params::default());
    ack(&mut bench, &mut sender, 1, Time::us(10));
    assert!((sender.cwnd - 10.1).abs() < 1e-12);
    ack(&mut bench, &mut sender, 2, Time::us(10));
    assert!((sender.cwnd - (10.1 + 2.0 / 10.1)).abs() < 1e-12);
    sender.cwnd = 0.25;
    ack(&mut bench, &mut sender, 1, Time::us(10));
    assert!((sender.cwnd - 1.25).abs() < 1e-12);
    sender.cwnd = 999.9999;
    ack(&mut bench, &mut sender, 1, Time::us(10));
    assert_eq!(sender.cwnd, 1000.0);
}

/// Above it: 1 - beta (delay - t)/delay, never below 1 - max_mdf, once per round trip.
#[test]
fn multiplicative_decrease() {
    let params = Params { fs_range: Time::ZERO, hop: Time::ZERO, ..Params::default() };
    let (mut bench, mut sender) = flow(&params);
    bench.now = Time::us(100);
    ack(&mut bench, &mut sender, 1, Time::us(25));
    // 1 - 0.8 x 5/25
    assert!((sender.cwnd - 8.4).abs() < 1e-12);
    bench.now = Time::us(124);
    ack(&mut bench, &mut sender, 1, Time::us(25));
    assert!((sender.cwnd - 8.4).abs() < 1e-12, "24 us after the last decrease");
    bench.now = Time::us(125);
    ack(&mut bench, &mut sender, 1, Time::us(25));
    assert!((sender.cwnd - 8.4 * 0.84).abs() < 1e-12);
    bench.now = Time::us(1000);
    ack(&mut bench, &mut sender, 1, Time::us(200));
    assert!((sender.cwnd - 8.4 * 0.84 / 2.0).abs() < 1e-12, "max_mdf");
}

/// A gap is answered as fast recovery; the fifth timeout in a row leaves the narrowest window.
#[test]
fn losses() {
    let (mut bench, mut sender) = flow(&Params::default());
    sender.on_loss(&mut bench.cx(), Loss::Gap);
    assert_eq!(sender.cwnd, 5.0);
    for n in 1..5u32 {
        bench.now = Time::ms(u64::from(n));
        sender.on_loss(&mut bench.cx(), Loss::Timeout { bytes: 1000 });
        assert_eq!(sender.cwnd, 5.0 / f64::from(1 << n));
    }
    bench.now = Time::ms(5);
    sender.on_loss(&mut bench.cx(), Loss::Timeout { bytes: 1000 });
    assert_eq!(sender.cwnd, 0.001);
    ack(&mut bench, &mut sender, 1, Time::us(10));
    assert_eq!(sender.retransmit_cnt, 0);
}

/// A quarter of a packet: one packet each four round trips.
#[test]
fn pacing_below_one_packet() {
    let (mut bench, mut sender) = flow(&Params { initial_cwnd: 2.0, ..Params::default() });
    assert_eq!(sender.window(), Some(Bytes(2000)));
    bench.now = Time::us(50);
    sender.on_send(&mut bench.cx(), &mut data(HostId(0), HostId(1), 0, Class(3), 1000));
    assert_eq!(sender.stopped_until(), Time::ZERO);
    (sender.cwnd, sender.rtt) = (0.25, Time::us(30));
    assert_eq!(sender.stopped_until(), Time::us(50 + 120));
    assert_eq!(sender.window(), Some(Bytes(1000)));
}

#[test]
fn values_that_cannot_work_are_refused() {
    let cx = backwater_net::hooks::CheckCx::default();
    let d = Params::default;
    assert!(crate::stack::inspect::<Swift>(&d(), &cx).is_empty());
    for (params, key) in [
        (Params { beta: 0.0, ..d() }, "beta"),
        (Params { max_mdf: 1.0, ..d() }, "max_mdf"),
        (Params { base_target: Time::ZERO, ..d() }, "base_target"),
        (Params { ai: f64::NAN, ..d() }, "ai"),
        (Params { fs_min_cwnd: 100.0, ..d() }, "fs_min_cwnd"),
        (Params { min_cwnd: 0.0, ..d() }, "min_cwnd"),
        (Params { initial_cwnd: 2000.0, ..d() }, "initial_cwnd"),
        (Params { retx_reset_threshold: 0, ..d() }, "retx_reset_threshold"),
    ] {
        let keys: Vec<_> = crate::stack::inspect::<Swift>(&params, &cx).iter().map(|f| f.key).collect();
        assert_eq!(keys, [key]);
    }
}
