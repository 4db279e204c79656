//! Sources with several queues for a class, on the bench.

use super::tests::C3;
use super::wire::PointId;
use super::*;
use crate::mac_control::Signal;
use backwater_engine::Time;
use backwater_net::bench::{NicBench, OWNER, SwitchBench, data, place};
use backwater_net::config::SwitchParams;
use backwater_net::hooks::{NicAction, NicGate, NicSide, PauseStyle, SwitchAction};
use backwater_net::packet::Queue;
use backwater_net::packet::{DsField, Dscp, Ecn, NodeId};
use backwater_net::{Bytes, HostQueues, Rate};

const SECOND: Class = Class(5);
const POINT: PointId = PointId(NodeId(9), Port(3), Queue(3));

fn params(at_source: AtSource) -> Params {
    Params { target: Some(Bytes(50_000)), resume: true, at_source, signal: Signal::OnOff, ..tests::params() }
}

fn message(priority: Class, pause: Time) -> Control {
    Message { pause, class: C3, dscp: Dscp::of(priority), flow_mode: false, point: POINT, to: HostId(3) }
        .frame(Some(FlowRef { slot: 0, tag: 0 }), 116)
}

/// Returns the messages to host 9, which is elsewhere: the queue of each, and the pause.
fn notified(bench: &mut SwitchBench) -> Vec<(Class, Time)> {
    let one = |action: &SwitchAction| match action {
        SwitchAction::Route(HostId(9), Class(7), frame) => {
            let message = frame.message::<Message>().expect("an SFC message");
            assert_eq!(message.class, C3, "on the way it is the network's class");
            (message.dscp.priority(), message.pause)
        }
        other => panic!("{other:?}"),
    };
    bench.actions().iter().map(one).collect()
}

#[test]
fn congestion_point_echoes_the_dscp_and_tells_each_queue_of_a_source() {
    let mut bench = SwitchBench::new(&SwitchParams::default(), 4, Rate::gbps(200), 0);
    let mut sfc = Sfc::switch(&params(AtSource::Proxy), bench.shape()).expect("SFC acts at switches");
    let at = place(Port(0), Port(3), C3);
    bench.set_egress(Port(3), Queue(3), 250_000);
    let six = Time::us(6);
    for (priority, wanted) in [(C3, vec![(C3, six)]), (SECOND, vec![(SECOND, six)]), (C3, vec![]), (SECOND, vec![])] {
        let mut pkt = data(HostId(9), HostId(3), 0, C3, 4000);
        pkt.ds = DsField::new(Dscp::of(priority), Ecn::Ect);
        pkt.mark();
        sfc.on_enqueue(&mut bench.cx(), &at, &mut pkt);
        assert_eq!(notified(&mut bench), wanted, "a mark does not touch the DSCP");
    }
    bench.set_egress(Port(3), Queue(3), 49_999);
    sfc.on_depart(&mut bench.cx(), &at);
    assert_eq!(notified(&mut bench), [(C3, Time::ZERO), (SECOND, Time::ZERO)]);
}

#[test]
fn proxy_pauses_the_priority_of_the_dscp() {
    let mut bench = SwitchBench::new(&SwitchParams::default(), 4, Rate::gbps(200), 0);
    let mut sfc = Sfc::switch(&params(AtSource::Proxy), bench.shape()).expect("SFC acts at switches");
    let mut hear = |priority, pause| {
        sfc.on_control(&mut bench.cx(), Port(3), Some(HostId(1)), &message(priority, pause));
        bench.actions()
    };
    let style = PauseStyle { quanta: None, framed: true };
    assert_eq!(hear(SECOND, Time::us(6)), [SwitchAction::PauseQueue(OWNER, Port(1), SECOND, Time::us(6), style)]);
    assert_eq!(hear(C3, Time::us(9)), [SwitchAction::PauseQueue(OWNER, Port(1), C3, Time::us(9), style)]);
    assert_eq!(hear(SECOND, Time::ZERO), [SwitchAction::ResumeQueue(OWNER, Port(1), SECOND)]);
    assert_eq!(hear(SECOND, Time::ZERO), [], "the first queue's pause is not the second's");
}

#[test]
fn host_that_obeys_stops_the_queue_of_the_dscp() {
    let queues = HostQueues::new(C3, &[C3, SECOND]).expect("two priorities");
    let mut bench = NicBench::new(HostId(0), Rate::gbps(200)).with_queues(queues);
    let mut source = Sfc::nic(&params(AtSource::Host), bench.shape()).expect("SFC acts at NICs");
    let mut hear = |priority, pause| {
        source.on_control(&mut bench.cx(), &message(priority, pause));
        bench.actions()
    };
    let gate = NicGate::Class(SECOND);
    assert_eq!(hear(SECOND, Time::us(6)), [NicAction::Shut(OWNER, gate), NicAction::Arm(OWNER, Time::us(6), 8)]);
    assert_eq!(hear(C3, Time::ZERO), [], "the first is not stopped");
    assert_eq!(hear(SECOND, Time::ZERO), [NicAction::Open(OWNER, gate)]);
}

/// Host 0 has been notified of host 9. A packet of host 1's second queue stops that queue, and the resume lifts its pause.
#[test]
fn cache_tells_the_queue_that_a_packet_comes_from() {
    let mut bench = SwitchBench::new(&SwitchParams::default(), 4, Rate::gbps(200), 0);
    let cached = Params { cache: true, ..params(AtSource::Proxy) };
    let mut sfc = Sfc::switch(&cached, bench.shape()).expect("SFC acts at switches");
    let style = PauseStyle { quanta: None, framed: true };
    let to = |pause| {
        let message = Message { pause, class: C3, dscp: Dscp::of(C3), flow_mode: false, point: POINT, to: HostId(9) };
        message.frame(Some(FlowRef { slot: 0, tag: 0 }), 116)
    };
    sfc.on_control(&mut bench.cx(), Port(3), Some(HostId(0)), &to(Time::us(6)));
    bench.actions();
    for priority in [SECOND, C3] {
        let mut pkt = data(HostId(1), HostId(9), 1, C3, 4000);
        pkt.ds = DsField::new(Dscp::of(priority), Ecn::Ect);
        sfc.divert(&mut bench.cx(), &place(Port(1), Port(3), C3), &pkt);
        assert_eq!(bench.actions(), [SwitchAction::PauseQueue(OWNER, Port(1), priority, Time::us(6), style)]);
    }
    sfc.on_control(&mut bench.cx(), Port(3), Some(HostId(0)), &to(Time::ZERO));
    let released = |port, priority| SwitchAction::ResumeQueue(OWNER, Port(port), priority);
    assert_eq!(bench.actions(), [released(1, C3), released(1, SECOND), released(0, C3)]);
}
