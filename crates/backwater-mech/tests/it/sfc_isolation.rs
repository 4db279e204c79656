//! Isolation at the source's ToR in a network: congested traffic waits there, and no other traffic does.

use crate::common::{Bench, On, Outcome, pfc, sfc, step};
use backwater_engine::Time;
use backwater_mech::dcqcn;
use backwater_mech::mac_control::Signal;
use backwater_mech::registry::Config;
use backwater_mech::sfc::{AtSource, Granularity, IsolationQueues, PAUSE, Params, RESUME};
use backwater_mech::stack::{At, Select};
use backwater_net::config::{Architecture, BufferPer, LatencyAt, ReleaseAt};
use backwater_net::packet::{Class, HostId};
use backwater_net::pause::MAC_CONTROL;
use backwater_net::record::IsolationStats;
use backwater_net::spec::{FaultKind, FrameKind};
use backwater_net::{Bytes, Rate};

const ARCHITECTURES: [Architecture; 4] =
    [Architecture::OutputQueued, Architecture::SharedMemory, Architecture::InputQueued, Architecture::Voq];
const LATENCIES: [LatencyAt; 3] = [LatencyAt::Input, LatencyAt::Fabric, LatencyAt::Output];

/// Hosts 8, 16 and 24, each at a leaf of its own, send to host 0; host 8 also sends to host 40 (flow 3).
fn mixed(at_source: AtSource) -> Bench {
    let mut bench = Bench::leaf_spine(8, 4, 8);
    for src in [8, 16, 24] {
        bench.flow(src, 0, 2_000_000);
    }
    bench.flow(8, 40, 400_000);
    let mut params = sfc(200_000, Time::us(6));
    (params.pause, params.target, params.resume) = (Some(Time::us(40)), Some(Bytes(50_000)), true);
    (params.at_source, params.isolation_threshold) = (at_source, Bytes(2_000_000));
    bench.mechanisms = Config::default().sfc(params);
    bench
}

fn params(bench: &mut Bench) -> &mut Params {
    &mut bench.mechanisms.sfc.as_mut().expect("these networks have SFC").base
}

fn sent(out: &Outcome, kind: &str) -> usize {
    out.rows.control.iter().filter(|row| row.kind == kind).count()
}

fn held(bench: &Bench, out: &Outcome, switch: &str) -> IsolationStats {
    let node = bench.node(switch);
    out.rows.switches.iter().find(|row| row.node == node).expect("every switch has a row").isolated
}

/// The host's other flow is not affected: it takes as long as beside a flow to a host that is not congested.
#[test]
fn innocent_flow_waits_under_the_proxy_and_not_under_isolation() {
    let alone = {
        let mut bench = mixed(AtSource::Isolation);
        bench.flows.retain(|flow| flow.src == HostId(8));
        bench.run().at_rest().fct_us(3)
    };
    let [proxy, isolation] = [AtSource::Proxy, AtSource::Isolation].map(|at| mixed(at).run());
    let [by_proxy, by_isolation] = [&proxy, &isolation].map(|out| out.at_rest().fct_us(3));
    assert!(by_proxy > 1.5 * alone, "{by_proxy} us by proxy, {alone} us without the incast");
    assert!((by_isolation / alone - 1.0).abs() < 0.05, "{by_isolation} us isolated, {alone} us without the incast");
    assert_eq!(sent(&isolation, MAC_CONTROL), 0, "the host is unaware");
    assert!(sent(&isolation, PAUSE) > 3 && sent(&isolation, RESUME) > 0);
    let bench = mixed(AtSource::Isolation);
    for (leaf, holds) in [("leaf1", true), ("leaf2", true), ("leaf3", true), ("leaf0", false), ("spine0", false)] {
        let stats = held(&bench, &isolation, leaf);
        assert_eq!(stats.frames > 0, holds, "{leaf}: {stats:?}");
        assert!(stats.p99_bytes <= stats.p999_bytes && stats.p999_bytes <= stats.max_bytes, "{leaf}: {stats:?}");
        assert!(stats.mean_bytes <= stats.max_bytes as f64, "{leaf}: {stats:?}");
    }
}

/// The congested queue cannot distinguish isolation from a host that obeys: the incast completes at the same time.
#[test]
fn the_congested_queue_is_relieved_as_by_a_host_that_obeys() {
    let [host, isolation] = [AtSource::Host, AtSource::Isolation].map(|at| {
        let mut bench = mixed(at);
        bench.flows.truncate(3);
        let out = bench.run();
        let queue = out.port(bench.node("leaf0"), bench.node("h0")).stats.max_egress_bytes;
        let last = (0..3).map(|id| out.at_rest().fct_us(id)).fold(0.0, f64::max);
        (queue, last)
    });
    assert!(isolation.0 < 200_000 + 175_000, "three senders bring less than 175 KB in a loop of 3.5 us: {isolation:?}");
    assert!((isolation.1 / host.1 - 1.0).abs() < 0.05, "{isolation:?}, and by the host {host:?}");
}

/// Order of every flow, whatever the switch: isolation queues shut and open while packets are in the fabric, in crossbars and on wires.
#[test]
fn no_packet_passes_another() {
    for architecture in ARCHITECTURES {
        for latency_at in LATENCIES {
            for release_at in [ReleaseAt::Start, ReleaseAt::End] {
                for (granularity, threshold, pause, rate, queues) in [
                    (Granularity::Class, 2_000_000, 1, None, IsolationQueues::Each),
                    (Granularity::Class, 2_000_000, 5, Some(Rate::gbps(20)), IsolationQueues::Each),
                    (Granularity::Flow, 60_000, 3, Some(Rate::gbps(100)), IsolationQueues::Each),
                    (Granularity::Flow, 0, 7, None, IsolationQueues::Each),
                    (Granularity::Class, 2_000_000, 5, None, IsolationQueues::One),
                    (Granularity::Flow, 60_000, 3, Some(Rate::gbps(100)), IsolationQueues::One),
                ] {
                    let mut bench = mixed(AtSource::Isolation);
                    bench.flow(8, 0, 300_000).start = Time::us(20);
                    (bench.switch.architecture, bench.switch.latency_at) = (architecture, latency_at);
                    (bench.switch.release_at, bench.switch.buffer) = (release_at, Bytes(100_000_000));
                    bench.switch.buffer_per = BufferPer::Switch;
                    let sfc = params(&mut bench);
                    (sfc.granularity, sfc.isolation_threshold) = (granularity, Bytes(threshold));
                    (sfc.pause, sfc.isolation_rate, sfc.isolation_queues) = (Some(Time::us(pause)), rate, queues);
                    let out = bench.run();
                    let case =
                        format!("{architecture:?} {latency_at:?} {release_at:?} {granularity:?} {rate:?} {queues:?}");
                    assert_eq!(out.unrest, Vec::<String>::new(), "{case}");
                    assert_eq!(out.progress.flows_active, 0, "{case}");
                    let frames = held(&bench, &out, "leaf1").frames;
                    assert!(frames > if threshold == 0 { 5 } else { 50 }, "{case}: {frames} frames have waited");
                    let reordered: u64 = out.rows.flows.iter().map(|flow| flow.reordered).sum();
                    assert_eq!((reordered, out.progress.drops), (0, 0), "{case}");
                }
            }
        }
    }
}

/// Four flows of 100 KB of one host find their destination remembered and wait, all of them, until the pause of 300 us has ended. Then
/// waiting packets leave at the rate of the isolation queue, first in first out whatever uplinks the flows take, wherever the latency is
/// and whenever a frame leaves the counts.
#[test]
fn what_waited_comes_at_the_rate_of_its_lane() {
    for (release_at, latency_at, gbps) in [
        (ReleaseAt::End, LatencyAt::Output, 5),
        (ReleaseAt::Start, LatencyAt::Output, 5),
        (ReleaseAt::Start, LatencyAt::Fabric, 10),
        (ReleaseAt::End, LatencyAt::Fabric, 5),
    ] {
        let mut bench = Bench::leaf_spine(8, 4, 8);
        for src in [16, 24, 32] {
            bench.flow(src, 0, 1_000_000);
        }
        bench.flow(8, 0, 100_000).start = Time::us(2);
        for start in [60, 61, 62, 63] {
            bench.flow(9, 0, 100_000).start = Time::us(start);
        }
        (bench.switch.release_at, bench.switch.latency_at) = (release_at, latency_at);
        let mut params = sfc(10_000, Time::us(300));
        (params.at_source, params.isolation_threshold) = (AtSource::Isolation, Bytes(2_000_000));
        (params.cache, params.isolation_rate) = (true, Some(Rate::gbps(gbps)));
        bench.mechanisms = Config::default().sfc(params);
        let out = bench.run();
        let ends = [4, 5, 6, 7].map(|flow| out.at_rest().fct_us(flow) + 56.0 + flow as f64);
        let took = 100.0 * 4_064.0 * 8e-3 / gbps as f64;
        let share = ends.map(|end| (end - 305.0) / took);
        let case =
            format!("{release_at:?} {latency_at:?} {gbps} Gb/s: the flows end after {share:.2?} of what 400 KB take");
        assert!((0.95..1.05).contains(&share[3]), "{case}");
        assert!(share.iter().all(|share| *share > 0.6), "{case}");
    }
}

/// Too much waits: PFC pauses the host's class, no more than its link holds arrives after that, and it resumes.
#[test]
fn pfc_pauses_the_host_while_too_much_waits() {
    let mut bench = mixed(AtSource::Isolation);
    params(&mut bench).isolation_threshold = Bytes(100_000);
    let out = bench.run();
    let pauses = |host: &str| out.port(bench.node(host), bench.node("leaf1")).stats.pauses_received;
    assert!(pauses("h8") > 0);
    assert_eq!(out.at_rest().sum(|p| p.stats.pauses_received), out.sum(|p| p.stats.pauses_sent));
    let uplinks = out.rows.ports.iter().filter(|p| p.peer == bench.node("leaf1") && p.stats.pauses_received > 0);
    assert!(
        uplinks.eq(out.rows.ports.iter().filter(|p| p.node == bench.node("h8"))),
        "of leaf1's links only the source's"
    );
    // Two frames of 4064 B, one of 64 B and twice 150 ns at 25 GB/s: the bytes in flight.
    let most = held(&bench, &out, "leaf1").max_bytes;
    assert!((100_000 - 4_064..100_000 + 2 * 4_064 + 64 + 7_500).contains(&most), "{most}");
    let mut frames = out.rows.control.iter().filter(|row| row.kind == MAC_CONTROL && row.node == bench.node("leaf1"));
    assert_eq!(frames.next_back().map(|row| row.value), Some(0), "the last word is a resume");
    assert!(out.fct_us(3) > 1.2 * mixed(AtSource::Isolation).run().fct_us(3), "the innocent flow waits with it");
}

/// A pause of 10 ms that is not lifted delays the incast; a resume opens the isolation queue at once.
#[test]
fn resume_opens_the_lane_early() {
    let last = |resume: bool| {
        let mut bench = mixed(AtSource::Isolation);
        let sfc = params(&mut bench);
        (sfc.pause, sfc.resume) = (Some(Time::ms(10)), resume);
        let out = bench.run();
        (0..3).map(|id| out.at_rest().fct_us(id)).fold(0.0, f64::max)
    };
    let (lifted, waited) = (last(true), last(false));
    assert!(lifted < 400.0, "3 x 2 MB at 200 Gb/s take 240 us: {lifted}");
    assert!(waited > 10_000.0, "{waited}");
}

/// A lost resume costs the rest of the pause time, and no more.
#[test]
fn lost_resume_is_bounded_by_the_pause_time() {
    let mut bench = mixed(AtSource::Isolation);
    params(&mut bench).pause = Some(Time::us(500));
    for leaf in ["leaf1", "leaf2", "leaf3"] {
        for spine in ["spine0", "spine1", "spine2", "spine3"] {
            let (from, to) = (bench.node(spine), bench.node(leaf));
            bench.fault(Time::ZERO, FaultKind::DropNth { from, to, what: FrameKind::Control(RESUME.into()), nth: 1 });
        }
    }
    let out = bench.run();
    assert!(out.at_rest().progress.fault_losses > 0);
    for id in 0..3 {
        let fct = out.fct_us(id);
        assert!(fct < 2_000.0, "flow {id}: {fct}");
    }
}

/// The original ends of resumed pauses do not matter: the run ends with its last flow.
#[test]
fn timers_that_run_out_later_are_no_part_of_the_run() {
    let [short, long] = [Time::us(200), Time::ms(10)].map(|pause| {
        let mut bench = mixed(AtSource::Isolation);
        let params = params(&mut bench);
        (params.pause, params.resume, params.target) = (Some(pause), true, Some(Bytes(50_000)));
        let out = bench.run();
        let last = out.at_rest().rows.flows.iter().map(|flow| flow.start + flow.fct_last_ack.expect("complete")).max();
        let end = out.progress.time;
        assert!(Some(end) >= last && Some(end) < last.map(|last| last + Time::us(10)), "{end} after {last:?}");
        (held(&bench, &out, "leaf1"), out.fingerprint)
    });
    assert_eq!(long, short);
}

/// A run that is cut short counts waiting packets as in flight.
#[test]
fn a_run_may_end_while_packets_wait() {
    let mut bench = mixed(AtSource::Isolation);
    bench.stop_at = Some(Time::us(30));
    let out = bench.run();
    let stats = held(&bench, &out, "leaf1");
    assert!(stats.max_bytes > 0 && stats.time_ps > 0, "{stats:?}");
    assert!(out.unrest.iter().any(|what| what == "counters of leaf1 are not zero"), "{:?}", out.unrest);
    assert_eq!(out.progress.flows_active, 4, "the incast needs 240 us, and flow 3 as good as 32 us");
}

/// A link fails and comes back while packets wait for it: they use it, and lost packets are not retransmitted here.
#[test]
fn a_link_that_fails_under_a_lane_loses_only_what_it_carries() {
    let mut bench = mixed(AtSource::Isolation);
    for (at, up) in [(10, false), (12, true)] {
        for spine in ["spine0", "spine1", "spine2", "spine3"] {
            let (a, b) = (bench.node("leaf2"), bench.node(spine));
            let kind = if up { FaultKind::link_up(a, b) } else { FaultKind::link_down(a, b) };
            bench.fault(Time::us(at), kind);
        }
    }
    let out = bench.run();
    assert!(out.progress.fault_losses > 0);
    assert_eq!(out.unrest, Vec::<String>::new());
    for id in [0, 2, 3] {
        assert!(out.flow(id).fct_last_ack.is_some(), "flow {id} does not use that leaf");
    }
}

/// DCQCN, acknowledgements in the data's class and CNPs of a host continue while its congested flow waits.
#[test]
fn acknowledgements_and_cnps_of_an_isolated_host_pass() {
    let mut bench = mixed(AtSource::Isolation);
    bench.ack.class = Some(3);
    // Host 0's own ToR sees host 8 as the receiver of another flow.
    bench.flow(40, 8, 1_000_000);
    bench.flow(41, 8, 1_000_000);
    params(&mut bench).pause = Some(Time::ms(1));
    params(&mut bench).resume = false;
    bench.mechanisms = bench.mechanisms.ecn(step(20_000)).dcqcn(dcqcn::Params::default());
    let out = bench.run();
    assert!(out.at_rest().fct_us(0) > 1_000.0, "its own flow waits: {}", out.fct_us(0));
    for id in [4, 5] {
        assert!(out.fct_us(id) < 500.0, "flow {id} is acknowledged: {}", out.fct_us(id));
    }
    let cnps = out.rows.control.iter().filter(|row| row.kind == "cnp" && row.to.is_some_and(|to| to.0 >= 40)).count();
    assert!(cnps > 0);
}

/// PFC of the ToR's own ingress is the reserve: little memory, no threshold of isolation, no losses.
#[test]
fn memory_of_lanes_is_the_ingress_s_own() {
    let mut bench = mixed(AtSource::Isolation);
    (bench.switch.buffer_per, bench.switch.buffer, bench.lossless) = (BufferPer::Ingress, Bytes(400_000), true);
    let config = bench.mechanisms.clone();
    bench.mechanisms = config.pfc(pfc(350_000, 300_000, Signal::Timed));
    let out = bench.run();
    assert_eq!(out.at_rest().progress.drops, 0);
    assert!(held(&bench, &out, "leaf1").max_bytes > 300_000);
    assert!(out.port(bench.node("h8"), bench.node("leaf1")).stats.pauses_received > 0, "PFC stops the host instead");
}

const BEGINS: Time = Time::us(30);

/// Host 9, at the leaf of host 8, begins to send to host 0 when the congested queue is empty and host 8 still paused.
fn neighbour(at_source: AtSource, cache: bool) -> (Bench, Outcome) {
    let mut bench = mixed(at_source);
    bench.flows.truncate(3);
    bench.flow(9, 0, 100_000).start = BEGINS;
    let sfc = params(&mut bench);
    (sfc.cache, sfc.pause, sfc.resume) = (cache, Some(Time::us(40)), false);
    let out = bench.run();
    out.at_rest();
    (bench, out)
}

#[test]
fn neighbours_of_a_paused_source_are_paused_by_what_its_switch_remembers() {
    for at_source in [AtSource::Host, AtSource::Proxy, AtSource::Isolation] {
        let [(_, without), (bench, with)] = [false, true].map(|cache| neighbour(at_source, cache));
        let notified = |out: &Outcome, host: u32| {
            let rows = out.rows.control.iter().filter(|row| row.kind == PAUSE && row.to == Some(HostId(host)));
            rows.map(|row| (row.time, row.node)).collect::<Vec<_>>()
        };
        let first = notified(&with, 8)[0].0;
        let end = first + Time::us(40);
        assert!(first < BEGINS && BEGINS < end, "{at_source:?}: host 8 is paused when host 9 begins");
        let early = |out: &Outcome| out.flow(3).fct_last_byte.expect("complete") + BEGINS < end;
        assert!(early(&without), "{at_source:?}: host 9 finds no queue");
        assert!(!early(&with), "{at_source:?}: {:?}", with.flow(3).fct_last_byte);
        let leaf = bench.node("leaf1");
        match at_source {
            AtSource::Host => assert_eq!(notified(&with, 9)[0].1, leaf, "its own switch tells it"),
            AtSource::Proxy => assert!(with.port(bench.node("h9"), leaf).stats.pauses_received > 0),
            AtSource::Isolation => {
                assert!(held(&bench, &with, "leaf1").frames >= held(&bench, &without, "leaf1").frames + 25);
            }
        }
    }
}

/// With an idle fabric an opened isolation queue sends at the rate of its link, without a gap and without overtaking other classes.
#[test]
fn an_opened_lane_shares_its_link() {
    let mut bench = Bench::star(4, Rate::gbps(200));
    for src in [1, 2, 3] {
        bench.flow(src, 0, 1_000_000);
    }
    bench.flow(1, 3, 800_000).class = Class(4);
    bench.mechanisms = mixed(AtSource::Isolation).mechanisms;
    let out = bench.run();
    let last = (0..3).map(|id| out.at_rest().fct_us(id)).fold(0.0, f64::max);
    // 750 frames of 4064 B at 25 GB/s are 121.92 us; the queue must not have run empty for long.
    assert!((122.0..135.0).contains(&last), "{last}");
}

/// Under one ToR hosts know SFC, under the other they do not.
#[test]
fn hosts_that_obey_and_hosts_that_are_stood_in_for() {
    let mut bench = mixed(AtSource::Host);
    let select = Select { tier: None, node: Some("leaf1".into()) };
    let params = Params { at_source: AtSource::Isolation, ..params(&mut bench).clone() };
    bench.mechanisms.sfc.as_mut().expect("it has SFC").at = vec![At { select, params }];
    let out = bench.run();
    out.at_rest();
    for (leaf, holds) in [("leaf1", true), ("leaf2", false), ("leaf3", false)] {
        assert_eq!(held(&bench, &out, leaf).frames > 0, holds, "{leaf}");
    }
    let native = mixed(AtSource::Host).run().fct_us(3);
    assert!(
        out.fct_us(3) < 0.7 * native,
        "{} us where only leaf1 isolates, {native} us where its host obeys",
        out.fct_us(3)
    );
    assert!(out.port(bench.node("leaf0"), bench.node("h0")).stats.max_egress_bytes < 200_000 + 175_000);
}
