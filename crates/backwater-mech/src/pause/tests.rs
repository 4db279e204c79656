//! PAUSE on the bench.

use super::*;
use crate::mac_control::Signal;
use backwater_net::Rate;
use backwater_net::bench::{OWNER, SwitchBench, data, place};
use backwater_net::config::SwitchParams;
use backwater_net::hooks::SwitchAction;
use backwater_net::packet::{Class, HostId, Queue};

const STYLE: PauseStyle = PauseStyle { quanta: Some(u16::MAX), framed: true };

fn params(xoff: Bytes, xon: Option<Bytes>, counter: Counter) -> Params {
    let (signal, quanta, response) = (Signal::Timed, u16::MAX, Time::ZERO);
    Params { xoff, xon, reference_rate: None, counter, signal, quanta, response }
}

fn pause_of(port: u16) -> SwitchAction {
    SwitchAction::PausePeer(OWNER, Port(port), None, Time::NEVER, STYLE)
}

fn release(port: u16) -> SwitchAction {
    SwitchAction::ResumePeer(OWNER, Port(port), None)
}

/// Document 002's core switch: above 140 KB before an egress it pauses every input, below 130 KB it resumes them.
#[test]
fn egress_counter_of_the_2006_study() {
    let mut bench = SwitchBench::new(&SwitchParams::default(), 3, Rate::gbps(10), u8::MAX);
    let (xoff, xon) = (Bytes(140_000), Some(Bytes(130_000)));
    let params = params(xoff, xon, Counter::Egress);
    let mut pause = Pause::switch(&params, bench.shape()).expect("PAUSE acts at switches");
    let mut pkt = data(HostId(0), HostId(2), 0, Class(3), 1436);
    let here = place(Port(0), Port(2), Class(3));
    for (bytes, actions) in [(140_000, vec![]), (140_001, vec![pause_of(0), pause_of(1)]), (150_000, vec![])] {
        bench.set_egress(Port(2), Queue(3), bytes);
        pause.on_enqueue(&mut bench.cx(), &here, &mut pkt);
        assert_eq!(bench.actions(), actions, "{bytes} B");
    }
    for (bytes, actions) in [(130_000, vec![]), (129_999, vec![release(0), release(1)]), (0, vec![])] {
        bench.set_egress(Port(2), Queue(3), bytes);
        pause.on_depart(&mut bench.cx(), &here);
        assert_eq!(bench.actions(), actions, "{bytes} B");
    }
}

/// Over an ingress counter all classes of a port count together, and only that port is paused.
#[test]
fn ingress_counter_sums_the_classes() {
    let mut bench = SwitchBench::new(&SwitchParams::default(), 3, Rate::gbps(10), u8::MAX);
    let params = params(Bytes(10_000), None, Counter::Ingress);
    let mut pause = Pause::switch(&params, bench.shape()).expect("PAUSE acts at switches");
    let pkt = data(HostId(0), HostId(2), 0, Class(3), 1436);
    bench.set_ingress(Port(1), Class(3), 6_000);
    bench.set_ingress(Port(1), Class(5), 4_001);
    pause.on_admit(&mut bench.cx(), &place(Port(1), Port(2), Class(5)), &pkt);
    assert_eq!(bench.actions(), [pause_of(1)]);
    // XON is 8 KB below XOFF where none is given.
    bench.set_ingress(Port(1), Class(3), 0);
    pause.on_release(&mut bench.cx(), &place(Port(1), Port(2), Class(3)), 0);
    assert_eq!(bench.actions(), [], "4001 B are left");
    bench.set_ingress(Port(1), Class(5), 1_999);
    pause.on_release(&mut bench.cx(), &place(Port(1), Port(2), Class(5)), 0);
    assert_eq!(bench.actions(), [release(1)]);
}

/// Thresholds for ports of 10 Gb/s are four times as high at ports of 40 Gb/s.
#[test]
fn thresholds_are_in_proportion_to_the_rate_of_the_port() {
    let reference_rate = Some(Rate::gbps(10));
    let params = Params { reference_rate, ..params(Bytes(10_000), Some(Bytes(5_000)), Counter::Ingress) };
    for (gbps, times) in [(10, 1), (40, 4)] {
        let mut bench = SwitchBench::new(&SwitchParams::default(), 3, Rate::gbps(gbps), u8::MAX);
        let mut pause = Pause::switch(&params, bench.shape()).expect("PAUSE acts at switches");
        let pkt = data(HostId(0), HostId(2), 0, Class(3), 1436);
        let here = place(Port(1), Port(2), Class(3));
        for (bytes, actions) in [(10_000 * times, vec![]), (10_000 * times + 1, vec![pause_of(1)])] {
            bench.set_ingress(Port(1), Class(3), bytes);
            pause.on_admit(&mut bench.cx(), &here, &pkt);
            assert_eq!(bench.actions(), actions, "{bytes} B at {gbps} Gb/s");
        }
        for (bytes, actions) in [(5_000 * times, vec![]), (5_000 * times - 1, vec![release(1)])] {
            bench.set_ingress(Port(1), Class(3), bytes);
            pause.on_release(&mut bench.cx(), &here, 0);
            assert_eq!(bench.actions(), actions, "{bytes} B at {gbps} Gb/s");
        }
    }
}

/// The nearest approach is the accounts' largest value over all ports, also while no hook was called.
#[test]
fn the_most_that_a_port_has_held() {
    let rates = [Rate::gbps(20), Rate::gbps(10), Rate::gbps(10)];
    let counters = [(Counter::Ingress, "most bytes from one port"), (Counter::Egress, "most bytes for one port")];
    for (counter, of) in counters {
        let reference_rate = Some(Rate::gbps(10));
        let params = Params { reference_rate, ..params(Bytes(10_000), None, counter) };
        let mut bench = SwitchBench::of_rates(&SwitchParams::default(), &rates, u8::MAX);
        let pause = Pause::switch(&params, bench.shape()).expect("PAUSE acts at switches");
        let margin = |bench: &SwitchBench| pause.activity(bench.seen()).margin;
        assert_eq!(margin(&bench), Some(Margin::bytes(of, Bytes::ZERO, Bytes(10_000))));
        for bytes in [9_000, 4_000] {
            for port in [Port(0), Port(2)] {
                bench.set_ingress(port, Class(3), bytes);
                bench.set_egress(port, Queue(3), bytes);
            }
        }
        assert_eq!(margin(&bench), Some(Margin::bytes(of, Bytes(9_000), Bytes(10_000))), "the slower of equals");
        bench.set_ingress(Port(0), Class(5), 6_000);
        bench.set_egress(Port(0), Queue(5), 6_000);
        assert_eq!(margin(&bench), Some(Margin::bytes(of, Bytes(10_000), Bytes(20_000))), "all classes of a port");
    }
}
