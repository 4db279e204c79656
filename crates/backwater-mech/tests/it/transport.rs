//! The reliable connection under mechanisms: paced by a rate control, and at a receiver that pauses. The stage tests it without mechanisms.

use crate::common::{Bench, On, network, pfc};
use backwater_engine::Time;
use backwater_mech::mac_control::Signal;
use backwater_mech::registry::Config;
use backwater_mech::stack::Scoped;
use backwater_mech::{dcqcn, ecn};
use backwater_net::config::{Recovery, TransportParams, Window};
use backwater_net::packet::{Class, HostId};
use backwater_net::record::State;
use backwater_net::spec::FaultKind;
use backwater_net::{Bytes, Rate};
use proptest::prelude::*;

/// h0 and h1 on s0, h2 on s1.
fn recovering(recovery: Recovery) -> Bench {
    let rate = Rate::gbps(100);
    let links = [
        ("h0", "s0", rate, Time::ns(150)),
        ("h1", "s0", rate, Time::ns(150)),
        ("s0", "s1", rate, Time::us(1)),
        ("s1", "h2", rate, Time::ns(37)),
    ];
    let mut bench = Bench::new(network(3, &["s0", "s1"], &links));
    bench.transport = TransportParams { recovery, timeout: Time::us(200), ..TransportParams::default() };
    bench
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// However much is lost, every byte arrives once, and nothing is left over.
    #[test]
    fn every_byte_arrives_once(
        seed in 0u64..1_000, selective: bool, loss in 0.0f64..0.2, every in 1u32..5,
        window in prop::option::of(1u64..40), scaled: bool, paced: bool,
        sizes in prop::collection::vec(1u64..120_000, 1..7),
    ) {
        let mut bench = recovering(if selective { Recovery::SelectiveRepeat } else { Recovery::GoBackN });
        bench.seed = seed;
        bench.transport.retries = None;
        bench.transport.timeout = Time::us(50);
        bench.transport.window = window.map(|packets| Window::Bytes(Bytes(packets * 4000)));
        bench.transport.window_scaling = scaled;
        bench.ack.every = every;
        if paced {
            bench.mechanisms.ecn = Some(Scoped::everywhere(ecn::Params { kmin: Bytes(4_000), kmax: Bytes(8_000), ..ecn::Params::default() }));
            bench.mechanisms.dcqcn = Some(Scoped::everywhere(dcqcn::Params { min_rate: Rate::gbps(1), ..dcqcn::Params::default() }));
        }
        for (from, to) in [("s0", "s1"), ("s1", "s0")] {
            let (from, to) = (bench.node(from), bench.node(to));
            bench.fault(Time::ZERO, FaultKind::Loss { from: Some(from), to: Some(to), what: None, probability: loss, number: None });
        }
        for (i, size) in sizes.iter().enumerate() {
            bench.flow(i as u32 % 2, 2, *size).start = Time::us(i as u64);
        }
        bench.stop_at = Some(Time::ms(1_000));
        let outcome = bench.run();
        outcome.at_rest();
        for (flow, size) in outcome.rows.flows.iter().zip(&sizes) {
            prop_assert_eq!((&flow.state, flow.received), (&State::Complete, *size));
            prop_assert!(flow.packets >= size.div_ceil(4000) + flow.retransmitted);
            prop_assert!(flow.ideal <= flow.fct_last_byte);
        }
        prop_assert_eq!(outcome.progress.flows_done, sizes.len() as u64);
    }
}

/// A receiver that takes packets so slowly that all of them time out before it has looked at them: each byte counts once.
#[test]
fn copies_in_a_slow_receiver_count_once() {
    for recovery in [Recovery::GoBackN, Recovery::SelectiveRepeat] {
        let mut bench = recovering(recovery);
        (bench.transport.timeout, bench.transport.retries) = (Time::us(10), None);
        bench.mechanisms = Config::default().pfc(pfc(20_000, 10_000, Signal::Timed));
        let (xoff, xon) = (Bytes(8_000), Bytes(4_000));
        let slow = FaultKind::SlowReceiver { host: HostId(2), rate: Rate::gbps(2), xoff, xon, class: Some(Class(3)) };
        bench.fault(Time::ZERO, slow);
        bench.flow(0, 2, 200_000);
        bench.flow(1, 2, 100_000);
        let outcome = bench.run();
        outcome.at_rest();
        let received: Vec<_> =
            outcome.rows.flows.iter().map(|f| (f.state.clone(), f.received, f.timeouts > 5)).collect();
        assert_eq!(received, [(State::Complete, 200_000, true), (State::Complete, 100_000, true)], "{recovery:?}");
    }
}
