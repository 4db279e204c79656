//! Networks with losses: flows complete all the same and every byte is accounted for, or the run names the flows without progress.

use crate::common::{Bench, On, Outcome, pfc, sfc};
use backwater_engine::Time;
use backwater_mech::mac_control::Signal;
use backwater_mech::registry::Config;
use backwater_mech::sfc::AtSource;
use backwater_net::config::{BufferPer, Recovery, TransportParams};
use backwater_net::record::State;
use backwater_net::spec::{FaultKind, FrameKind};
use backwater_net::{Bytes, Rate};

const RECOVERIES: [Recovery; 2] = [Recovery::GoBackN, Recovery::SelectiveRepeat];

/// Every data frame that left a host has arrived at one or was dropped, and nothing is left anywhere.
fn conserves(out: &Outcome, hosts: u32) {
    out.at_rest();
    let at_host = |n: u32| n < hosts;
    let sent = out.sum(|p| if at_host(p.node.0) { p.stats.tx_data_frames } else { 0 });
    let arrived = out.sum(|p| if at_host(p.peer.0) { p.stats.tx_data_frames } else { 0 });
    let packets: u64 = out.rows.flows.iter().map(|flow| flow.packets).sum();
    assert_eq!(sent, packets);
    assert_eq!(out.sum(|p| p.stats.drop_frames), out.progress.drops);
    let dropped = sent - arrived;
    assert!(dropped <= out.progress.drops, "{dropped} data frames are missing, {} were dropped", out.progress.drops);
    for flow in &out.rows.flows {
        assert_eq!((&flow.state, flow.received), (&State::Complete, flow.bytes), "flow {}", flow.id);
        assert_eq!(flow.packets, flow.bytes.div_ceil(4000) + flow.retransmitted);
    }
}

/// Fifteen to one in a fabric that keeps 200 KB for each port and pauses only sources.
fn best_effort(recovery: Recovery, at_source: AtSource, sources: bool) -> Outcome {
    let mut bench = Bench::leaf_spine(4, 2, 4);
    bench.transport = TransportParams { recovery, timeout: Time::us(500), ..TransportParams::default() };
    (bench.switch.buffer, bench.switch.buffer_per) = (Bytes(200_000), BufferPer::Egress);
    // Messages and acknowledgements have their own path: they are not lost with the data.
    bench.ack.class = Some(6);
    if sources {
        let mut params = sfc(50_000, Time::us(5));
        (params.pause, params.target, params.resume) = (None, Some(Bytes(20_000)), true);
        params.at_source = at_source;
        bench.mechanisms = Config::default().sfc(params);
    }
    for src in 1..16 {
        bench.flow(src, 0, 400_000);
    }
    let out = bench.run();
    conserves(&out, 16);
    assert_eq!(out.sum(|p| if p.node.0 >= 16 && p.peer.0 >= 16 { p.stats.pauses_sent } else { 0 }), 0);
    out
}

#[test]
fn source_flow_control_without_pfc_completes_in_small_buffers() {
    for recovery in RECOVERIES {
        let lost = best_effort(recovery, AtSource::Host, false);
        for at_source in [AtSource::Host, AtSource::Proxy] {
            let out = best_effort(recovery, at_source, true);
            let of = |out: &Outcome| out.rows.flows.iter().map(|flow| flow.retransmitted).sum::<u64>();
            let (saved, alone) = ((out.progress.drops, of(&out)), (lost.progress.drops, of(&lost)));
            println!("{recovery:?} {at_source:?}: (drops, retransmitted) {saved:?}, without SFC {alone:?}");
            assert!(out.progress.drops > 0, "the first round trip is too much for the buffer");
            assert!(out.progress.drops < lost.progress.drops, "pausing sources saves frames");
        }
    }
}

/// A pause whose resume is lost lasts, if it is an on/off signal: the row names what waits, where, and for what.
#[test]
fn a_pause_that_nobody_lifts_is_named() {
    let mut bench = Bench::leaf_spine(2, 1, 3);
    bench.mechanisms = Config::default().pfc(pfc(50_000, 30_000, Signal::OnOff));
    for src in [0, 1, 2] {
        bench.flow(src, 3, 400_000);
    }
    let (from, to) = (bench.node("leaf0"), bench.node("h0"));
    for nth in 2..200 {
        let what = FrameKind::Control("mac-control".into());
        bench.fault(Time::ZERO, FaultKind::DropNth { from, to, what, nth });
    }
    let out = bench.run();
    assert_eq!((out.broken.as_ref(), out.deadlock.as_ref(), out.progress.flows_active), (None, None, 1));
    assert_eq!(out.flow(0).state, State::Unfinished("its turn at h0, paused by leaf0".into()));
}

/// A port that pauses its neighbour repeats the pause when the link comes back, for requests before the failure and during it: the host
/// sends no more than the frames in flight. 1 us at 100 Gb/s are 12.5 KB.
#[test]
fn a_pause_that_stands_is_said_again_when_a_link_comes_back() {
    for (signal, down) in
        [(Signal::Timed, 30), (Signal::OnOff, 30), (Signal::Ideal, 30), (Signal::Timed, 4), (Signal::OnOff, 4)]
    {
        let mut bench = Bench::star(6, Rate::gbps(100));
        bench.mechanisms = Config::default().pfc(pfc(60_000, 52_000, signal));
        (bench.switch.buffer, bench.switch.buffer_per) = (Bytes(2_000_000), BufferPer::Ingress);
        for src in 1..6 {
            bench.flow(src, 0, 1_000_000);
        }
        let (a, b) = (bench.node("h1"), bench.node("s0"));
        bench.fault(Time::us(down), FaultKind::link_down(a, b));
        bench.fault(Time::us(down + 1), FaultKind::link_up(a, b));
        let out = bench.run();
        let most = out.port(b, a).stats.max_ingress_bytes;
        assert!(most < 60_000 + 2 * 12_500 + 2 * 4_096 + 30_000, "{signal:?}, down at {down} us: {most} B");
    }
}
