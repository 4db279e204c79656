//! SFC on the bench.

use super::wire::PointId;
use super::*;
use crate::mac_control::Signal;
use backwater_engine::Time;
use backwater_net::bench::{NicBench, OWNER, SwitchBench, ack, data, place};
use backwater_net::config::SwitchParams;
use backwater_net::hooks::{NicAction, NicGate, NicSide, SwitchAction};
use backwater_net::packet::{Dscp, NodeId, Queue};
use backwater_net::{Bytes, Rate};

pub(super) const C3: Class = Class(3);
pub(super) const TIMED: PauseStyle = PauseStyle { quanta: Some(u16::MAX), framed: true };
/// Queues of switches elsewhere.
pub(super) const FAR: PointId = PointId(NodeId(77), Port(3), Queue(3));
pub(super) const OTHER: PointId = PointId(NodeId(78), Port(0), Queue(3));

/// Document 000: threshold 200 KB, pause 6 us, least interval 6 us.
pub(super) fn params() -> Params {
    Params {
        threshold: Bytes(200_000),
        pause: Some(Time::us(6)),
        min_interval: None,
        target: None,
        resume: false,
        granularity: Granularity::Class,
        at_source: AtSource::Host,
        isolation_threshold: Bytes(200_000),
        isolation_per: IsolationPer::Port,
        isolation_queues: IsolationQueues::Each,
        isolation_rate: None,
        cache: false,
        dscp_priority: (0..8).collect(),
        signal: Signal::Timed,
        quanta: u16::MAX,
        points: Points::ToHosts,
        classes: vec![3],
        message_class: 7,
        message_size: Bytes(116),
    }
}

struct At {
    bench: SwitchBench,
    sfc: Bridge,
}

impl At {
    fn new(params: &Params) -> At {
        let bench = SwitchBench::new(&SwitchParams::default(), 4, Rate::gbps(200), 0);
        let sfc = Sfc::switch(params, bench.shape()).expect("SFC acts at switches");
        At { bench, sfc }
    }

    /// A packet of `flow` from host `src` finds `queue` bytes before port 3. Returns destination and pause of each message.
    fn enqueue(&mut self, src: u32, flow: u32, queue: u64) -> Vec<(u32, Time)> {
        self.bench.set_egress(Port(3), Queue(3), queue);
        let mut pkt = data(HostId(src), HostId(3), flow, C3, 4000);
        self.sfc.on_enqueue(&mut self.bench.cx(), &place(Port(0), Port(3), C3), &mut pkt);
        self.messages()
    }

    fn depart(&mut self, queue: u64) -> Vec<(u32, Time)> {
        self.bench.set_egress(Port(3), Queue(3), queue);
        self.sfc.on_depart(&mut self.bench.cx(), &place(Port(0), Port(3), C3));
        self.messages()
    }

    fn messages(&mut self) -> Vec<(u32, Time)> {
        let one = |action: &SwitchAction| match action {
            SwitchAction::Route(to, Class(7), frame) => {
                (to.0, frame.message::<Message>().expect("an SFC message").pause)
            }
            other => panic!("SFC only sends messages, not {other:?}"),
        };
        self.bench.actions().iter().map(one).collect()
    }
}

#[test]
fn above_the_threshold_a_source_is_told_once_per_interval() {
    let mut at = At::new(&params());
    let six = Time::us(6);
    assert_eq!(at.enqueue(0, 0, 200_000), [], "at the threshold is not above it");
    assert_eq!(at.enqueue(0, 0, 200_001), [(0, six)]);
    assert_eq!(at.enqueue(0, 1, 250_000), [], "the source has been told, whatever the flow");
    assert_eq!(at.enqueue(1, 2, 250_000), [(1, six)], "another source has not");
    at.bench.now = six - Time::ps(1);
    assert_eq!(at.enqueue(0, 0, 250_000), []);
    at.bench.now = six;
    assert_eq!(at.enqueue(0, 0, 250_000), [(0, six)]);
}

#[test]
fn interval_may_differ_from_the_pause() {
    let mut at = At::new(&Params { min_interval: Some(Time::us(2)), ..params() });
    at.enqueue(0, 0, 300_000);
    at.bench.now = Time::us(2);
    assert_eq!(at.enqueue(0, 0, 300_000), [(0, Time::us(6))]);
}

/// P = (q - target)/C: 300 KB less 100 KB at 200 Gb/s are 8 us.
#[test]
fn pause_time_is_computed_from_the_queue() {
    let mut at = At::new(&Params { pause: None, ..params() });
    assert_eq!(at.enqueue(0, 0, 300_000), [(0, Time::us(8))]);
    at.bench.now = Time::us(8);
    assert_eq!(at.enqueue(0, 0, 225_000), [(0, Time::us(5))]);
}

#[test]
fn flow_mode_tells_each_flow_apart() {
    let mut at = At::new(&Params { granularity: Granularity::Flow, ..params() });
    assert_eq!(at.enqueue(0, 0, 250_000).len(), 1);
    assert_eq!(at.enqueue(0, 1, 250_000).len(), 1);
    assert_eq!(at.enqueue(0, 1, 250_000).len(), 0);
}

#[test]
fn resume_goes_to_every_source_still_paused() {
    let mut at = At::new(&Params { resume: true, target: Some(Bytes(50_000)), ..params() });
    at.enqueue(0, 0, 250_000);
    at.bench.now = Time::us(4);
    at.enqueue(1, 1, 250_000);
    assert_eq!(at.depart(50_000), [], "not below the target");
    // The first pause has ended by itself at 6 us.
    at.bench.now = Time::us(7);
    assert_eq!(at.depart(49_999), [(1, Time::ZERO)]);
    assert_eq!(at.depart(40_000), [], "said once");
}

#[test]
fn other_classes_and_acknowledgements_cause_no_message() {
    let mut at = At::new(&Params { classes: vec![4], ..params() });
    assert_eq!(at.enqueue(0, 0, 900_000), []);
    let mut ack = ack(data(HostId(0), HostId(3), 0, C3, 0));
    let mut at = At::new(&params());
    at.bench.set_egress(Port(3), Queue(3), 900_000);
    at.sfc.on_enqueue(&mut at.bench.cx(), &place(Port(0), Port(3), C3), &mut ack);
    assert_eq!(at.messages(), [], "an acknowledgement's source is not the congestion's");
}

/// The pauses of two queues end with the later one, and neither queue lifts the other's pause.
#[test]
fn source_stops_while_one_queue_wants_it() {
    let mut bench = NicBench::new(HostId(0), Rate::gbps(200));
    let mut source = Sfc::nic(&params(), bench.shape()).expect("SFC acts at NICs");
    let gate = NicGate::Class(C3);
    let mut notified = |now, node, pause| {
        bench.now = now;
        let message = Message {
            pause,
            class: C3,
            dscp: Dscp::of(C3),
            flow_mode: false,
            point: PointId(NodeId(node), Port(3), Queue(3)),
            to: HostId(3),
        };
        source.on_control(&mut bench.cx(), &message.frame(None, 116));
        bench.actions()
    };
    assert_eq!(
        notified(Time::ZERO, 4, Time::us(60)),
        [NicAction::Shut(OWNER, gate), NicAction::Arm(OWNER, Time::us(60), 8)]
    );
    assert_eq!(notified(Time::us(1), 5, Time::us(6)), [NicAction::Arm(OWNER, Time::us(60), 8)], "the later end counts");
    assert_eq!(
        notified(Time::us(2), 5, Time::ZERO),
        [NicAction::Arm(OWNER, Time::us(60), 8)],
        "the other still wants it"
    );
    assert_eq!(notified(Time::us(3), 4, Time::ZERO), [NicAction::Open(OWNER, gate)]);
    assert_eq!(notified(Time::us(4), 4, Time::ZERO), [], "it is not paused any more");
}

#[test]
fn a_queue_without_a_target_resumes_when_it_is_empty() {
    let mut at = At::new(&Params { target: Some(Bytes::ZERO), resume: true, ..params() });
    assert_eq!(at.enqueue(9, 0, 1_000_000).len(), 1);
    assert_eq!(at.depart(1), []);
    assert_eq!(at.depart(0), [(9, Time::ZERO)]);
}

#[test]
fn source_stops_until_the_latest_message_ends() {
    let mut bench = NicBench::new(HostId(0), Rate::gbps(200));
    let mut source = Sfc::nic(&params(), bench.shape()).expect("SFC acts at NICs");
    let message = |pause| {
        Message {
            pause,
            class: C3,
            dscp: Dscp::of(C3),
            flow_mode: false,
            point: PointId(NodeId(4), Port(3), Queue(3)),
            to: HostId(3),
        }
        .frame(Some(FlowRef { slot: 0, tag: 0 }), 116)
    };
    let gate = NicGate::Class(C3);
    assert_eq!(source.on_control(&mut bench.cx(), &message(Time::us(6))), Fate::Consumed);
    assert_eq!(bench.actions(), [NicAction::Shut(OWNER, gate), NicAction::Arm(OWNER, Time::us(6), 8)]);
    bench.now = Time::us(2);
    source.on_control(&mut bench.cx(), &message(Time::us(6)));
    assert_eq!(bench.actions(), [NicAction::Arm(OWNER, Time::us(8), 8)], "replaces the time");
    bench.now = Time::us(6);
    source.on_timer(&mut bench.cx(), 8);
    assert_eq!(bench.actions(), [], "the first timer is stale");
    bench.now = Time::us(7);
    source.on_control(&mut bench.cx(), &message(Time::ZERO));
    assert_eq!(bench.actions(), [NicAction::Open(OWNER, gate)]);
    bench.now = Time::us(8);
    source.on_timer(&mut bench.cx(), 8);
    assert_eq!(bench.actions(), [], "nothing is paused any more");
}

/// Th, and once a source has been paused the target, at that queue only; before that the longest queue.
#[test]
fn levels_are_th_and_the_target() {
    let mut at = At::new(&Params { resume: true, target: Some(Bytes(150_000)), ..params() });
    let of = |at: &mut At, queue| at.sfc.levels(at.bench.cx().seen(), Account::Egress(Port(3), Queue(queue)));
    at.enqueue(0, 0, 50_000);
    assert_eq!(of(&mut at, 3), Levels::above(Bytes(50_000)));
    at.enqueue(0, 0, 250_000);
    assert_eq!(of(&mut at, 3), Levels::above(Bytes(200_000)).or(Levels::below(Bytes(150_000))));
    assert_eq!(of(&mut at, 4), Levels::above(Bytes(200_000)), "it has paused nobody");
    at.depart(149_999);
    assert_eq!(of(&mut at, 3), Levels::above(Bytes(200_000)));
    let isolation = At::new(&Params { at_source: AtSource::Isolation, ..params() });
    let mut at = At { bench: at.bench, ..isolation };
    assert_eq!(of(&mut at, 3), Levels::ALL);
}
