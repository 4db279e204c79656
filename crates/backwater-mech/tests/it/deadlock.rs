//! Harmful pauses: deadlock in a ring, the accused switches, the cases that are none, and resolutions.

use crate::common::{Bench, On, Outcome, network, pause, pfc, ring, sfc};
use backwater_engine::Time;
use backwater_mech::ci;
use backwater_mech::mac_control::{Counter, Signal};
use backwater_mech::pfc::{self as pfc_of, Action, watchdog};
use backwater_mech::registry::Config;
use backwater_mech::sfc::{self as sfc_of, AtSource, Points};
use backwater_net::config::{Architecture, Recovery, ReleaseAt, TransportParams, Window};
use backwater_net::packet::HostId;
use backwater_net::record::State;
use backwater_net::spec::FaultKind;
use backwater_net::topology::ParkingLot;
use backwater_net::{Bytes, Rate};

const RATE: Rate = Rate::gbps(100);
const SIGNALS: [Signal; 3] = [Signal::Timed, Signal::OnOff, Signal::Ideal];
const ARCHITECTURES: [Architecture; 4] =
    [Architecture::OutputQueued, Architecture::SharedMemory, Architecture::InputQueued, Architecture::Voq];

fn under_pfc(signal: Signal) -> Bench {
    let mut bench = ring(RATE, 2_000_000);
    bench.mechanisms = Config::default().pfc(pfc(100_000, 50_000, signal));
    bench
}

fn accused(out: &Outcome, what: &str) -> Vec<String> {
    let deadlock = out.deadlock.as_ref().unwrap_or_else(|| panic!("{what}: no deadlock, {:?}", out.progress));
    let broken = out.broken.as_ref().expect("the run has ended");
    assert_eq!(broken.time, deadlock.time);
    assert!(broken.reason.starts_with(&format!("deadlock: {} -> ", deadlock.cycle.join(" -> "))), "{}", broken.reason);
    deadlock.cycle.clone()
}

#[test]
fn a_ring_deadlocks_under_pfc_and_the_run_names_the_cycle() {
    for architecture in ARCHITECTURES {
        for release_at in [ReleaseAt::Start, ReleaseAt::End] {
            for signal in SIGNALS {
                let mut bench = under_pfc(signal);
                (bench.switch.architecture, bench.switch.release_at) = (architecture, release_at);
                let out = bench.run();
                let cycle = accused(&out, &format!("{architecture:?} {release_at:?} {signal:?}"));
                assert_eq!(
                    cycle,
                    ["s0 port 2 (to s1) class 3", "s1 port 3 (to s2) class 3", "s2 port 3 (to s0) class 3"]
                );
                assert_eq!(out.progress.flows_active, 6);
                assert!(out.progress.time < Time::ms(2), "{:?}", out.progress.time);
                let State::Unfinished(why) = &out.flow(0).state else { panic!("flow 0 is stuck") };
                assert!(why.contains("paused by s"), "{why}");
                assert_eq!(bench.run_sliced(1000).progress, out.progress, "{architecture:?} {signal:?}");
            }
        }
    }
}

/// Frames that isolation has moved to an unpaused queue stand behind others of their flows in a paused queue. They cannot leave either, and
/// count among the frames that the pauses wait for.
#[test]
fn frames_kept_in_order_behind_a_paused_queue_deadlock_with_it() {
    for architecture in ARCHITECTURES {
        let mut bench = under_pfc(Signal::OnOff);
        bench.switch.architecture = architecture;
        let params =
            ci::Params { low: Bytes(0), high: Bytes(20_000_000), pmax: 1.0, cim: false, ..ci::Params::default() };
        bench.mechanisms = bench.mechanisms.ci(params);
        let out = bench.run();
        assert!(out.counted(None, "isolated_packets") > 0, "{architecture:?}");
        assert_eq!(accused(&out, &format!("{architecture:?}")).len(), 3);
    }
}

#[test]
fn a_ring_deadlocks_under_pause_of_whole_links() {
    for architecture in ARCHITECTURES {
        for (signal, counter) in SIGNALS.into_iter().flat_map(|s| [(s, Counter::Ingress), (s, Counter::Egress)]) {
            let mut bench = ring(RATE, 2_000_000);
            bench.switch.architecture = architecture;
            // No acknowledgements: they would be paused, too.
            bench.ack.enabled = false;
            bench.mechanisms = Config::default().pause(pause(100_000, 50_000, counter, signal));
            let cycle = accused(&bench.run(), &format!("{architecture:?} {signal:?} {counter:?}"));
            assert_eq!(cycle, ["s0 port 2 (to s1)", "s1 port 3 (to s2)", "s2 port 3 (to s0)"]);
        }
    }
}

/// Two switches and a trunk: each waits for the other only if some sender between them cannot send.
#[test]
fn pauses_both_ways_over_a_trunk_are_no_deadlock() {
    for architecture in ARCHITECTURES {
        for signal in SIGNALS {
            let links = [
                ("h0", "s0", RATE, Time::ns(500)),
                ("h1", "s0", RATE, Time::ns(500)),
                ("h2", "s1", RATE, Time::ns(500)),
                ("h3", "s1", RATE, Time::ns(500)),
                ("s0", "s1", Rate::gbps(400), Time::ns(500)),
            ];
            let mut bench = Bench::new(network(4, &["s0", "s1"], &links));
            bench.switch.architecture = architecture;
            bench.mechanisms = Config::default().pfc(pfc(20_000, 10_000, signal));
            for (src, dst) in [(0, 2), (1, 2), (3, 2), (2, 0), (3, 0), (1, 0)] {
                bench.flow(src, dst, 2_000_000);
            }
            let out = bench.run();
            out.at_rest();
            assert_eq!(out.deadlock, None, "{architecture:?} {signal:?}");
            assert!(out.sum(|p| p.stats.pauses_received) > 20);
        }
    }
}

/// A slow host fills the fabric for 10 ms, far longer than the time between two deadlock checks. In the end it has taken everything.
#[test]
fn a_chain_of_pauses_behind_a_slow_host_is_no_deadlock() {
    for signal in SIGNALS {
        let mut bench = Bench::leaf_spine(2, 2, 3);
        bench.mechanisms = Config::default().pfc(pfc(50_000, 30_000, signal));
        for (src, dst) in [(0, 3), (1, 3), (2, 4), (4, 0), (5, 3)] {
            bench.flow(src, dst, 500_000);
        }
        let (xoff, xon) = (Bytes(20_000), Bytes(10_000));
        let class = backwater_net::packet::Class(3);
        let slow =
            FaultKind::SlowReceiver { host: HostId(3), rate: Rate(1_200_000_000), xoff, xon, class: Some(class) };
        bench.fault(Time::ZERO, slow);
        let out = bench.run();
        out.at_rest();
        assert_eq!(out.deadlock, None);
        assert!(out.progress.time > Time::ms(9));
    }
}

/// Messages of a switch to the sources leave by the ports at which the data arrived. The neighbour there has not sent them, so no pause may
/// wait for them: otherwise pauses of both ends of a trunk would wait for each other's messages.
#[test]
fn messages_of_switches_keep_no_neighbour_paused() {
    for architecture in ARCHITECTURES {
        for signal in SIGNALS {
            for counted in [Counter::Ingress, Counter::Queue] {
                if (architecture, counted) == (Architecture::InputQueued, Counter::Queue) {
                    // Frames for a finished queue stand behind those for another one, whatever messages do.
                    continue;
                }
                let chain = ParkingLot { hosts_per_switch: 3, ..ParkingLot::default() };
                let mut bench = Bench::new(chain.build().unwrap());
                bench.switch.architecture = architecture;
                let messages = sfc_of::Params { points: Points::All, message_class: 3, ..sfc(1, Time::us(5)) };
                bench.mechanisms = match counted {
                    Counter::Queue => Config::default()
                        .pfc(pfc_of::Params { counter: Counter::Queue, ..pfc(1, 1, signal) })
                        .sfc(messages),
                    _ => Config::default().pause(pause(1, 1, Counter::Ingress, signal)).sfc(messages),
                };
                for (src, dst) in (0..9).flat_map(|src| [1, 4, 7].map(|step| (src, (src + step) % 9))) {
                    bench.flow(src, dst, 9_000);
                }
                let out = bench.run();
                let what = format!("{architecture:?} {signal:?} {counted:?}");
                assert_eq!((&out.deadlock, out.progress.flows_done), (&None, 27), "{what}: {:?}", out.broken);
                assert!(
                    out.rows.control.iter().any(|row| row.kind == sfc_of::PAUSE),
                    "{what}: no switch has sent anything"
                );
                out.at_rest();
            }
        }
    }
}

#[test]
fn a_deadlock_elsewhere_is_found_while_others_go_on() {
    for signal in SIGNALS {
        let mut bench = under_pfc(signal);
        // A flow of a lower class over one link of the ring, as long as 8 ms.
        let (src, dst) = (0, 2);
        bench.flow(src, dst, 100_000_000).class = backwater_net::packet::Class(1);
        let out = bench.run();
        assert_eq!(accused(&out, &format!("{signal:?}")).len(), 3);
        assert!(out.progress.time < Time::ms(2), "{:?}", out.progress.time);
        assert!(out.flow(6).received > 0);
    }
}

#[test]
fn a_deadlock_may_be_recorded_only_and_the_run_still_ends() {
    for signal in SIGNALS {
        let mut bench = under_pfc(signal);
        bench.deadlock_ends = false;
        bench.flow(0, 2, 20_000_000).class = backwater_net::packet::Class(1);
        let out = bench.run();
        assert_eq!(out.broken, None);
        assert_eq!(out.deadlock.as_ref().map(|d| d.cycle.len()), Some(3), "{signal:?}");
        assert_eq!(out.flow(6).state, State::Complete);
        assert_eq!(out.progress.flows_active, 6);
    }
}

/// A link that fails lifts the pauses over it, so a pending fault may end what would otherwise last forever.
#[test]
fn a_failing_link_breaks_the_cycle_and_is_waited_for() {
    let mut bench = under_pfc(Signal::OnOff);
    bench.transport.recovery = Recovery::GoBackN;
    let (a, b) = (bench.node("s0"), bench.node("s1"));
    bench.fault(Time::ms(1), FaultKind::link_down(a, b));
    bench.fault(Time::us(1010), FaultKind::link_up(a, b));
    bench.mechanisms = Config::default().pfc(pfc(100_000, 50_000, Signal::OnOff));
    let out = bench.run();
    let found = out.deadlock.as_ref().map(|deadlock| deadlock.time);
    assert!(found.is_none_or(|at| at > Time::us(1010)), "{found:?}");
    assert!(out.progress.time > Time::us(1010));
}

fn resolved_by_sfc(at_source: AtSource) -> Bench {
    let mut bench = under_pfc(Signal::Timed);
    let mut params = sfc(30_000, Time::us(5));
    (params.points, params.pause, params.target, params.resume) = (Points::All, None, Some(Bytes(10_000)), true);
    params.at_source = at_source;
    bench.mechanisms = Config::default().pfc(pfc(300_000, 250_000, Signal::Timed)).sfc(params);
    bench
}

#[test]
fn source_flow_control_keeps_the_ring_from_deadlock() {
    for at_source in [AtSource::Host, AtSource::Proxy] {
        let out = resolved_by_sfc(at_source).run();
        out.at_rest();
        assert_eq!(out.deadlock, None);
        assert_eq!(out.progress.flows_done, 6);
    }
}

const NARROW: Option<Window> = Some(Window::Bytes(Bytes(100_000)));

fn watched(architecture: Architecture, signal: Signal, action: Action, window: Option<Window>) -> Outcome {
    let mut bench = under_pfc(signal);
    bench.switch.architecture = architecture;
    bench.transport =
        TransportParams { recovery: Recovery::GoBackN, window, retries: None, ..TransportParams::default() };
    let mut params = pfc(100_000, 50_000, signal);
    (params.watchdog, params.watchdog_restore, params.watchdog_action) =
        (Some(Time::us(200)), Some(Time::us(20)), action);
    bench.mechanisms = Config::default().pfc(params);
    bench.run()
}

#[test]
fn a_watchdog_ends_the_deadlock_and_what_it_dropped_is_sent_again() {
    for architecture in ARCHITECTURES {
        for signal in SIGNALS {
            let out = watched(architecture, signal, Action::Drop, NARROW);
            out.at_rest();
            assert_eq!((out.deadlock.as_ref(), out.progress.flows_done), (None, 6), "{architecture:?} {signal:?}");
            let fired = out.rows.control.iter().filter(|row| row.kind == watchdog::FIRED).count();
            assert!(fired > 0 && out.progress.flushed > 0, "{architecture:?} {signal:?}");
            assert_eq!(out.sum(|p| p.stats.flushed_frames), out.progress.flushed);
            assert_eq!(out.progress.drops, 0);
            // Every frame that left a host has arrived at one, or was dropped by a watchdog.
            let is_host = |n: u32| n < 6;
            let sent = out.sum(|p| if is_host(p.node.0) { p.stats.tx_data_frames } else { 0 });
            let arrived = out.sum(|p| if is_host(p.peer.0) { p.stats.tx_data_frames } else { 0 });
            assert_eq!(sent, arrived + out.progress.flushed, "{architecture:?} {signal:?}");
        }
    }
}

/// Senders without a window fill the ring with packets beyond the gap, and it deadlocks again before a packet arrives that the receiver
/// takes. The watchdog fires forever, and no flow makes progress. The run reports it.
#[test]
fn a_ring_that_deadlocks_again_and_again_is_a_run_without_progress() {
    let out = watched(Architecture::OutputQueued, Signal::Timed, Action::Drop, None);
    let broken = out.broken.as_ref().expect("no flow gets further");
    assert!(
        broken.reason.starts_with("no flow has got further for 100 ms: flow 0 of all from h0 to h4 waits"),
        "{}",
        broken.reason
    );
    assert!(broken.reason.ends_with("5 others wait, too"), "{}", broken.reason);
    assert!(out.rows.control.iter().filter(|row| row.kind == watchdog::FIRED).count() > 100);
}

#[test]
fn a_watchdog_that_forwards_drops_nothing_itself() {
    let out = watched(Architecture::OutputQueued, Signal::OnOff, Action::Forward, NARROW);
    out.at_rest();
    assert_eq!((out.progress.flushed, out.progress.flows_done), (0, 6));
    assert!(out.rows.control.iter().any(|row| row.kind == watchdog::FIRED));
}

#[test]
fn a_watchdog_that_drops_breaks_the_promise_of_losslessness() {
    let mut bench = under_pfc(Signal::Timed);
    bench.lossless = true;
    let mut params = pfc(100_000, 50_000, Signal::Timed);
    params.watchdog = Some(Time::us(200));
    bench.mechanisms = Config::default().pfc(params);
    let broken = bench.run().broken.expect("a broken promise");
    assert!(broken.reason.contains("the scenario is lossless, but s"), "{}", broken.reason);
}

/// A host pauses from 10 us on. At 100 Gb/s 64 B take 5.12 ns, and the link 150 ns: the switch hears it at 10.15512 us, and gives up 100 us
/// later. Frames that refresh a pause of 65,535 quanta come 167.8 us apart, far more than the 50 us of quiet time; but their pauses last.
/// The frame that ends the storm is the last one, and 50 us later the queue is restored. A storm without an end is given up forever,
/// whether of one class or of all.
#[test]
fn a_watchdog_restores_when_the_storm_has_ended() {
    let run = |classes: u16, end: Option<Time>, action: Action| {
        let mut bench = Bench::star(3, RATE);
        bench.ack.enabled = false;
        let classes_of_pfc = vec![3, 4];
        let params = pfc_of::Params { classes: classes_of_pfc, ..pfc(10_000_000, 9_000_000, Signal::Timed) };
        let (watchdog, watchdog_restore, watchdog_action) = (Some(Time::us(100)), Some(Time::us(50)), action);
        let params = pfc_of::Params { watchdog, watchdog_restore, watchdog_action, ..params };
        bench.mechanisms = Config::default().pfc(params);
        for (src, class) in [(0, 3), (1, 4)] {
            bench.flow(src, 2, 50_000_000).class = backwater_net::packet::Class(class);
        }
        bench.causes.pauses = true;
        let host = HostId(2);
        bench.fault(Time::us(10), FaultKind::PauseStorm { host, classes });
        if let Some(end) = end {
            bench.fault(end, FaultKind::PauseStormEnd { host, classes });
        }
        bench.stop_at = Some(Time::ms(2));
        let out = bench.run();
        let of = |kind: &str| {
            let rows = out.rows.control.iter().filter(|row| row.kind == kind);
            rows.map(|row| (row.time, row.class.map(|class| class.0))).collect::<Vec<_>>()
        };
        let paused = out.port(bench.node("s0"), bench.node("h2")).stats.paused_ps;
        let of_storm = out.rows.pauses.iter().filter(|row| row.node == bench.node("h2"));
        let ends: Vec<Option<Time>> = of_storm.map(|row| row.end).collect();
        (of(watchdog::FIRED), of(watchdog::RESTORED), out.progress.flushed, (paused, ends))
    };
    let (way, both) = (Time::ps(155_120), 1 << 3 | 1 << 4);
    let fired = Time::us(110) + way;
    let (at, restored, flushed, _) = run(1 << 3, Some(Time::us(1_000)), Action::Drop);
    assert_eq!((at, restored), (vec![(fired, Some(3))], vec![(Time::us(1_050) + way, Some(3))]));
    assert!(flushed > 0);
    for classes in [both, 0xFF] {
        let (at, restored, ..) = run(classes, None, Action::Drop);
        assert_eq!((at, restored), (vec![(fired, Some(3)), (fired, Some(4))], vec![]), "{classes:b}");
    }
    let (at, restored, flushed, (paused, ends)) = run(0xFF, Some(Time::us(500)), Action::Forward);
    assert_eq!((at.len(), restored), (2, vec![(Time::us(550) + way, Some(3)), (Time::us(550) + way, Some(4))]));
    assert_eq!(flushed, 0);
    // From then on the port is not paused, whatever its neighbour requests.
    assert_eq!((paused, ends), (Time::us(100).0, vec![Some(fired), Some(fired)]));
}
