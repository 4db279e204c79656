//! Source Flow Control by proxy in a network: the source ToR pauses its hosts by PFC, and no other node is paused.

use crate::common::{Bench, On, Outcome, narrow_uplinks, set_rate, sfc};
use backwater_engine::Time;
use backwater_mech::dcqcn;
use backwater_mech::mac_control::Signal;
use backwater_mech::registry::Config;
use backwater_mech::sfc::{AtSource, PAUSE, RESUME};
use backwater_net::packet::HostId;
use backwater_net::pause::MAC_CONTROL;
use backwater_net::spec::SeriesSpec;
use backwater_net::{Bytes, Rate};

const SIGNALS: [Signal; 3] = [Signal::Timed, Signal::OnOff, Signal::Ideal];

/// Hosts 8, 16 and 24, each at a leaf of its own, send to host 0; host 9 sends to host 40 and shares leaf 1 with host 8.
fn incast(at_source: AtSource, signal: Signal) -> Bench {
    let mut bench = Bench::leaf_spine(8, 4, 8);
    for src in [8, 16, 24] {
        bench.flow(src, 0, 4_000_000);
    }
    bench.flow(9, 40, 2_000_000);
    let mut params = sfc(200_000, Time::us(6));
    (params.pause, params.target, params.resume) = (Some(Time::us(20)), Some(Bytes(50_000)), true);
    (params.at_source, params.signal) = (at_source, signal);
    bench.mechanisms = Config::default().sfc(params);
    bench
}

/// Nodes that were paused by their neighbours, by the ports table.
fn paused(bench: &Bench, out: &Outcome) -> Vec<String> {
    let ports = out.rows.ports.iter().filter(|p| p.stats.pauses_received > 0);
    let mut names: Vec<String> = ports.map(|p| bench.graph.nodes[p.node.0 as usize].name.clone()).collect();
    names.sort();
    names
}

fn sent(out: &Outcome, kind: &str) -> usize {
    out.rows.control.iter().filter(|row| row.kind == kind).count()
}

#[test]
fn only_the_links_of_the_sources_are_paused() {
    for signal in SIGNALS {
        let bench = incast(AtSource::Proxy, signal);
        let out = bench.run();
        out.at_rest();
        assert_eq!(paused(&bench, &out), ["h16", "h24", "h8"], "{signal:?}");
        assert!(sent(&out, PAUSE) > 3 && sent(&out, RESUME) > 0, "{signal:?}");
        let leaves = [1, 2, 3].map(|l| bench.node(&format!("leaf{l}")));
        let mut frames = out.rows.control.iter().filter(|row| row.kind == MAC_CONTROL);
        assert!(frames.all(|row| leaves.contains(&row.node)), "{signal:?}: only the sources' leaves send PFC frames");
        // 2 MB in 500 frames of 4064 B at 200 Gb/s take 81.3 us, and 3 us to host 40 and back.
        assert!(
            out.fct_us(3) < 86.0,
            "{signal:?}: the neighbour at the source's leaf is not held up: {}",
            out.fct_us(3)
        );
        let queue = out.port(bench.node("leaf0"), bench.node("h0")).stats.max_egress_bytes;
        // 3 senders bring 2 x 25 GB/s more than leaves during a loop of less than 3.5 us.
        assert!(queue < 200_000 + 175_000, "{signal:?}: {queue}");
    }
}

/// Hosts 8, 16 and 24 fill host 0's queue. The packet of host 8's short flow makes the queue pause host 8, and the flow ends before the
/// queue resumes it. Flow 4 goes from host 8 to host 40.
fn told_about_a_flow_that_ends(at_source: AtSource, signal: Signal) -> Bench {
    let mut bench = incast(at_source, signal);
    bench.flows.clear();
    for src in [16, 24, 32] {
        bench.flow(src, 0, 400_000);
    }
    bench.flow(8, 0, 4_000).start = Time::us(10);
    bench.flow(8, 40, 2_000_000).start = Time::us(11);
    let sfc = bench.mechanisms.sfc.as_mut().expect("incast has SFC");
    sfc.base.pause = Some(Time::ms(10));
    bench
}

#[test]
fn a_resume_counts_also_when_the_flow_that_it_names_has_ended() {
    for signal in SIGNALS {
        let out = told_about_a_flow_that_ends(AtSource::Proxy, signal).run();
        out.at_rest();
        let to_h8 = |kind| out.rows.control.iter().filter(|row| row.kind == kind && row.to == Some(HostId(8))).count();
        assert_eq!((to_h8(PAUSE), to_h8(RESUME)), (1, 1), "{signal:?}");
        let resumed = out.rows.control.iter().find(|row| row.kind == RESUME).map_or(Time::NEVER, |row| row.time);
        let short = out.flow(3);
        assert!(short.start + short.fct_last_ack.expect("complete") < resumed, "{signal:?}: the flow is over before");
        assert!(out.fct_us(4) < 200.0, "{signal:?}: paused for {} us", out.fct_us(4));
    }
}

/// Without a resume the ToR lifts an on/off pause when it expires, though until then only timers of rate controllers may be pending.
#[test]
fn an_on_off_pause_ends_when_its_time_is_over() {
    for signal in SIGNALS {
        let mut bench = told_about_a_flow_that_ends(AtSource::Proxy, signal);
        bench.mechanisms.sfc.as_mut().expect("incast has SFC").base.resume = false;
        let params = dcqcn::Params { timers_from_start: true, ..dcqcn::Params::default() };
        bench.mechanisms = bench.mechanisms.dcqcn(params);
        let late = bench.run().at_rest().fct_us(4);
        assert!((10_000.0..10_200.0).contains(&late), "{signal:?}: {late}");
    }
}

/// The proxy does for the host what the host would do itself, one link and one frame sooner or later.
#[test]
fn the_proxy_is_as_good_as_a_host_that_obeys() {
    let [host, proxy] = [AtSource::Host, AtSource::Proxy].map(|at| incast(at, Signal::Timed).run());
    for id in 0..3 {
        let (native, by_proxy) = (host.at_rest().fct_us(id), proxy.at_rest().fct_us(id));
        assert!((by_proxy / native - 1.0).abs() < 0.05, "flow {id}: {by_proxy} by proxy, {native} by the host");
    }
    assert_eq!(sent(&host, MAC_CONTROL), 0);
}

/// The destination's own hosts are paused by its own switch, without a message on any link.
#[test]
fn sources_at_the_congested_switch_are_paused_as_well() {
    let mut bench = Bench::star(4, Rate::gbps(200));
    for src in 1..4 {
        bench.flow(src, 0, 2_000_000);
    }
    bench.mechanisms = incast(AtSource::Proxy, Signal::Timed).mechanisms;
    let out = bench.run();
    assert_eq!(paused(&bench, out.at_rest()), ["h1", "h2", "h3"]);
    assert_eq!(sent(&out, PAUSE) + sent(&out, RESUME), 0);
}

/// Times at which samples found the port of `h8` paused.
fn pauses_of_h8(bench: &Bench, out: &Outcome) -> Vec<Time> {
    let rows = out.rows.series.iter();
    rows.filter(|row| row.node == bench.node("h8") && row.quantity == "paused").map(|row| row.time).collect()
}

/// Returns when the proxy has certainly received that h8 must pause, and when it may first have received the end of it.
fn windows(out: &Outcome, pause: Time) -> Vec<(Time, Time)> {
    let to_h8 = || out.rows.control.iter().filter(|row| row.to == Some(HostId(8)));
    let resumes: Vec<Time> = to_h8().filter(|row| row.kind == RESUME).map(|row| row.time).collect();
    let window = |sent: Time| {
        let end = resumes.iter().copied().find(|r| *r > sent).unwrap_or(Time::NEVER);
        (sent + Time::us(2), end.min(sent + pause))
    };
    to_h8().filter(|row| row.kind == PAUSE).map(|row| window(row.time)).collect()
}

/// The uplinks are a quarter of the hosts' links, so PFC pauses h8 as well, from an ingress threshold of its leaf. Its resumes must not
/// lift the proxy's pauses, and the proxy's must not lift those of PFC. The former would let h8 send while the congested queue has paused
/// it, the latter would let its leaf's memory overflow.
#[test]
fn pauses_of_pfc_and_of_the_proxy_are_merged() {
    for signal in SIGNALS {
        let mut bench = incast(AtSource::Proxy, signal);
        let pause = Time::us(20);
        narrow_uplinks(&mut bench, signal);
        set_rate(&mut bench, "h0", Rate::gbps(100));
        let sfc = bench.mechanisms.sfc.as_mut().expect("incast has SFC");
        (sfc.base.threshold, sfc.base.target, sfc.base.pause) = (Bytes(150_000), Some(Bytes(20_000)), Some(pause));
        let interval = Time::ns(100);
        let (queues, links, flows, nodes) = (false, false, false, vec![bench.node("h8")]);
        bench.series = Some(SeriesSpec { interval, queues, links, pauses: true, flows, backlogs: false, nodes });
        let out = bench.run();
        assert_eq!(out.at_rest().progress.drops, 0, "{signal:?}");
        let (paused, windows) = (pauses_of_h8(&bench, &out), windows(&out, pause));
        let of_pfc = |at: &Time| windows.iter().all(|(from, _)| *at < *from || *at > *from + pause);
        assert!(paused.iter().filter(|at| of_pfc(at)).count() > 10, "{signal:?}: PFC has to pause h8, too");
        assert!(windows.len() > 3, "{signal:?}");
        for (from, to) in windows {
            let mut at = Time(from.0.next_multiple_of(interval.0));
            while at < to {
                assert!(paused.contains(&at), "{signal:?}: h8 may send at {at}, within a pause from {from} to {to}");
                at += interval;
            }
        }
    }
}
