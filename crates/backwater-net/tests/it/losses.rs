//! Networks with losses: the run waits for flows with progress, and names those without.

use crate::own::Bench;
use backwater_engine::Time;
use backwater_net::bench::network::network;
use backwater_net::config::{AckPath, Recovery, TransportParams, Window};
use backwater_net::record::State;
use backwater_net::spec::FaultKind;
use backwater_net::{Bytes, Rate};

const RECOVERIES: [Recovery; 2] = [Recovery::GoBackN, Recovery::SelectiveRepeat];

fn endless(recovery: Recovery) -> Bench {
    let mut bench = Bench::leaf_spine(2, 1, 2);
    bench.transport = TransportParams { recovery, retries: None, ..TransportParams::default() };
    bench.transport.window = Some(Window::Bytes(Bytes(100_000)));
    bench
}

#[test]
fn a_link_that_stays_down_ends_the_run_and_is_named() {
    for (recovery, ecmp) in RECOVERIES.into_iter().zip([true, false]) {
        let mut bench = endless(recovery);
        if ecmp {
            bench.ack.path = AckPath::Ecmp;
        }
        bench.flow(0, 2, 4_000_000);
        bench.flow(1, 0, 40_000);
        bench.flow(3, 1, 4_000_000);
        let (a, b) = (bench.node("leaf0"), bench.node("spine0"));
        bench.fault(Time::us(50), FaultKind::link_down(a, b));
        let out = bench.run();
        let broken = out.broken.as_ref().expect("no flow gets further");
        let text = "no flow has got further for 100 ms: flow 0 of all from h0 to h2 waits for";
        assert!(broken.reason.starts_with(text), "{}", broken.reason);
        let why = if ecmp { "there is no way to h2 any more" } else { "the link from leaf0 to spine0 is down" };
        assert!(broken.reason.ends_with(&format!("; {why}; another one waits, too")), "{}", broken.reason);
        assert_eq!(out.flow(1).state, State::Complete);
        assert!(out.progress.time < Time::ms(250), "{:?}", out.progress.time);
        assert_eq!(bench.run_sliced(1000).progress, out.progress);
        bench.stall = Some(Time::ms(10));
        assert!(bench.run().progress.time < Time::ms(30));
    }
}

#[test]
fn a_link_down_on_a_pinned_way_is_named() {
    let mut bench = endless(Recovery::GoBackN);
    let path = ["h0", "leaf0", "spine0", "leaf1", "h2"].map(|name| bench.node(name));
    bench.flow(0, 2, 4_000_000).path = Some(path.to_vec().into());
    let (a, b) = (bench.node("spine0"), bench.node("leaf1"));
    bench.fault(Time::us(50), FaultKind::link_down(a, b));
    let broken = bench.run().broken.expect("no flow gets further");
    assert!(broken.reason.ends_with("the link from spine0 to leaf1 is down"), "{}", broken.reason);
}

/// A link that comes back, a flow that is still to start, a slow receiver at work: the run waits.
#[test]
fn what_is_still_to_come_is_waited_for() {
    for recovery in RECOVERIES {
        let mut bench = endless(recovery);
        bench.stall = Some(Time::ms(20));
        bench.flow(0, 2, 400_000);
        let (a, b) = (bench.node("leaf0"), bench.node("spine0"));
        bench.fault(Time::us(5), FaultKind::link_down(a, b));
        bench.fault(Time::ms(90), FaultKind::link_up(a, b));
        let out = bench.run();
        out.at_rest();
        assert_eq!(out.flow(0).state, State::Complete);
        assert!(out.progress.time > Time::ms(90));
    }
}

/// Acknowledgements that are all lost: everything has arrived, but no sender knows.
#[test]
fn a_way_back_that_loses_everything_is_no_progress() {
    let mut bench = endless(Recovery::GoBackN);
    bench.flow(0, 2, 40_000);
    let (from, to) = (bench.node("leaf0"), bench.node("h0"));
    bench.fault(
        Time::ZERO,
        FaultKind::Loss { from: Some(from), to: Some(to), what: None, probability: 1.0, number: None },
    );
    let out = bench.run();
    assert!(out.broken.as_ref().is_some_and(|broken| broken.reason.starts_with("no flow has got further for 100 ms")));
    assert_eq!(out.flow(0).received, 40_000);
}

/// A flow with progress, however slow, keeps a run going in which another one never progresses.
#[test]
fn one_flow_that_gets_further_keeps_the_run_going() {
    let mut bench = endless(Recovery::GoBackN);
    bench.stall = Some(Time::ms(5));
    bench.flow(0, 2, 400_000);
    bench.flow(1, 0, 4_000_000);
    let (from, to) = (bench.node("leaf0"), bench.node("spine0"));
    bench.fault(Time::ZERO, FaultKind::link_down(from, to));
    let (from, to) = (bench.node("leaf0"), bench.node("h0"));
    // 4 MB at 1 Gb/s: 33 ms.
    bench.fault(Time::ZERO, FaultKind::RateChange { from, to, rate: Rate::gbps(1), number: None });
    let out = bench.run();
    assert_eq!(out.flow(1).state, State::Complete);
    assert!(out.broken.is_some() && out.progress.time > Time::ms(32));
}

/// A frame is lost if the link goes down between its first bit and its last one, at the rate at which it was sent. A frame of 4082 B and a
/// gap of 20 B take 328 ns at 100 Gb/s and 33 us at 1 Gb/s, and the link 10 us.
#[test]
fn a_rate_that_changes_later_cuts_nothing() {
    let lost = |before: Rate, after: Rate, start: u64, down: u64, change: u64| {
        let graph = network(2, &["s"], &[("h0", "s", before, Time::us(10)), ("s", "h1", Rate::gbps(100), Time::ZERO)]);
        let mut bench = Bench::new(graph);
        bench.ack.enabled = false;
        bench.flow(0, 1, 4000).start = Time::us(start);
        let (a, b) = (bench.node("h0"), bench.node("s"));
        bench.fault(Time::us(down), FaultKind::link_down(a, b));
        bench.fault(Time::us(down + 1), FaultKind::link_up(a, b));
        bench.fault(Time::us(change), FaultKind::RateChange { from: a, to: b, rate: after, number: None });
        bench.run().progress.fault_losses
    };
    let (fast, slow) = (Rate::gbps(100), Rate::gbps(1));
    // It begins at 5 us, after the link is up again; at 1 Gb/s it would have begun 18 us before it arrives.
    assert_eq!(lost(fast, slow, 5, 1, 6), 0);
    assert_eq!(lost(fast, slow, 5, 8, 6), 1);
    // It begins at 0 us and leaves until 33 us; at 100 Gb/s it would have begun at 32.7 us.
    assert_eq!(lost(slow, fast, 0, 5, 20), 1);
    assert_eq!(lost(slow, fast, 0, 5, 40), 1);
    assert_eq!(lost(slow, fast, 0, 50, 20), 0);
}
