//! Tofino 2's Source Flow Control on the bench.

use super::*;
use crate::sfc::Points;
use backwater_net::bench::{NicBench, OWNER, SwitchBench, ack, data, place};
use backwater_net::config::SwitchParams;
use backwater_net::hooks::{NicAction, SwitchAction};
use backwater_net::packet::Dscp;
use backwater_net::pause::PauseRequest;

const C3: Class = Class(3);

/// 400 units of 4 cells, 281 600 B, and a target of 800 cells, 140 800 B.
fn params() -> Params {
    Params {
        threshold: Bytes(281_600),
        target: Some(Bytes(140_800)),
        epoch: Time::us(10),
        filter_width: 16,
        pass: Time::ns(400),
        fast_ports: FastPorts::Shipped,
        points: Points::ToHosts,
        classes: vec![3],
        message_class: 7,
        signal_classes: vec![0, 7],
    }
}

struct At {
    bench: SwitchBench,
    program: Program,
}

impl At {
    fn new(gbps: u64, params: &Params) -> At {
        let switch = SwitchParams { cell: Bytes(176), ..SwitchParams::default() };
        let bench = SwitchBench::new(&switch, 4, Rate::gbps(gbps), 0);
        let program = SfcTofino2::switch(params, bench.shape()).expect("it acts at switches");
        At { bench, program }
    }

    /// A packet of host `src` finds `cells` before port 3. Returns when its copy is a message.
    fn arrives(&mut self, src: u32, cells: u64) -> Option<Time> {
        self.bench.set_egress(Port(3), Queue(3), cells * 176);
        let mut pkt = data(HostId(src), HostId(3), src, C3, 4000);
        self.program.steer(&mut self.bench.cx(), &mut place(Port(0), Port(3), C3), &mut pkt);
        match &self.bench.actions()[..] {
            [] => None,
            [SwitchAction::Arm(OWNER, at, 0)] => Some(*at),
            other => panic!("{other:?}"),
        }
    }

    /// A data packet of 24 cells leaves a queue of `cells`.
    fn leaves(&mut self, cells: u64) {
        self.bench.set_egress(Port(3), Queue(3), cells * 176);
        let mut pkt = data(HostId(0), HostId(3), 0, C3, 4000);
        self.program.on_dequeue(&mut self.bench.cx(), &place(Port(0), Port(3), C3), &mut pkt);
        assert_eq!(self.bench.actions(), []);
    }

    fn at(&mut self, now: Time) -> Vec<SwitchAction> {
        self.bench.now = now;
        self.program.on_timer(&mut self.bench.cx(), 0);
        self.bench.actions()
    }
}

impl At {
    /// The first pass of a copy ends at `now`, and the second at `next`.
    fn message_after(&mut self, now: Time, next: Time) {
        assert_eq!(self.at(now), [SwitchAction::Arm(OWNER, next, 0)]);
    }

    fn messages(&mut self, now: Time) -> Vec<(u32, u8, u16)> {
        self.at(now).iter().map(message).collect()
    }
}

/// Destination, class, duration of a message.
fn message(action: &SwitchAction) -> (u32, u8, u16) {
    match action {
        SwitchAction::Route(to, class, frame) => {
            assert_eq!((frame.size, frame.kind), (64, PAUSE));
            (to.0, class.0, frame.message::<Message>().expect("a message").duration_us)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_queue_within_four_cells_of_the_threshold_reads_as_below_it() {
    let mut at = At::new(100, &params());
    assert_eq!(at.arrives(9, 1599), None);
    assert_eq!(at.arrives(9, 1600), Some(Time::ns(400)));
    assert_eq!(at.arrives(8, 1603), Some(Time::ns(400)));
    let mut at = At::new(100, &Params { threshold: Bytes(281_600 + 703), ..params() });
    assert!(at.arrives(9, 1600).is_some(), "rounded down to 400 units");
}

/// 2 424 cells less a packet of 24 (4 064 B), less the target of 800, are 1 600 above it: 200 units of 8 cells, 25 us at 100 Gb/s. The copy
/// reads them after one pass, and is a message after two.
#[test]
fn the_duration_is_that_of_the_last_packet_to_leave() {
    let mut at = At::new(100, &params());
    at.leaves(2000);
    at.arrives(9, 2000);
    at.leaves(2424);
    at.message_after(Time::ns(400), Time::ns(800));
    at.leaves(900);
    assert_eq!(at.messages(Time::ns(800)), [(9, 7, 25)]);
    at.bench.now = Time::us(11);
    at.arrives(9, 2000);
    at.message_after(Time::us(11) + Time::ns(400), Time::us(11) + Time::ns(800));
    assert_eq!(at.messages(Time::us(11) + Time::ns(800)), [(9, 7, 1)], "76 cells above the target");
}

/// A packet with a BTH is `Data`, and so is an acknowledgement: it asks its own source.
#[test]
fn an_acknowledgement_triggers_too() {
    let mut at = At::new(100, &params());
    at.bench.set_egress(Port(3), Queue(3), 281_600);
    let mut pkt = ack(data(HostId(3), HostId(9), 0, C3, 4000));
    at.program.steer(&mut at.bench.cx(), &mut place(Port(0), Port(3), C3), &mut pkt);
    assert_eq!(at.bench.actions(), [SwitchAction::Arm(OWNER, Time::ns(400), 0)]);
    at.message_after(Time::ns(400), Time::ns(800));
    assert_eq!(at.messages(Time::ns(800)), [(9, 7, 0)]);
}

#[test]
fn one_message_a_pair_and_epoch() {
    let mut at = At::new(100, &params());
    assert!(at.arrives(9, 1600).is_some());
    assert_eq!(at.arrives(9, 1700), None);
    assert!(at.arrives(8, 1700).is_some());
    at.bench.now = Time::us(11);
    assert!(at.arrives(9, 1700).is_some());
    assert_eq!(at.program.counts(Time::ZERO), [(Port(3), "mirrored", 3), (Port(3), "suppressed", 1)]);
}

/// At 400 Gb/s the code divides by 64 and leaves the DSCP 0; the comment asks for 256.
#[test]
fn fast_ports_as_shipped_and_repaired() {
    for (fast_ports, expected) in [(FastPorts::Shipped, (9, 0, 25)), (FastPorts::Repaired, (9, 7, 6))] {
        let mut at = At::new(400, &Params { fast_ports, ..params() });
        at.leaves(2424);
        at.arrives(9, 2000);
        at.message_after(Time::ns(400), Time::ns(800));
        assert_eq!(at.messages(Time::ns(800)), [expected]);
    }
}

/// 25 us are 4 800 quanta of 5.12 ns at 100 Gb/s, 24.576 us; 320 us are the longest pause.
#[test]
fn a_message_for_an_attached_host_becomes_pfc_with_its_quanta() {
    let mut at = At::new(100, &params());
    let mut take = |to, duration_us, travels| {
        let frame = Message { duration_us, dscp: Dscp::of(C3), travels }.frame(FlowRef { slot: 0, tag: 0 });
        let fate = at.program.on_control(&mut at.bench.cx(), Port(0), Some(HostId(to)), &frame);
        (fate, at.bench.actions())
    };
    let pause = |quanta, until| {
        let style = PauseStyle { quanta: Some(quanta), framed: true };
        (Fate::Consumed, vec![SwitchAction::PauseQueue(OWNER, Port(1), C3, until, style)])
    };
    assert_eq!(take(1, 25, Class(7)), pause(4800, Time::ps(24_576_000)));
    assert_eq!(take(1, 319, Class(0)), pause(61_248, Time::ps(313_589_760)));
    assert_eq!(take(1, 320, Class(7)), pause(65_535, Time::ps(335_539_200)));
    assert_eq!(take(1, 0, Class(7)), (Fate::Consumed, vec![SwitchAction::ResumeQueue(OWNER, Port(1), C3)]));
    assert_eq!(take(1, 25, Class(5)), (Fate::Passed, vec![]), "not a class of messages");
    assert_eq!(take(9, 25, Class(7)), (Fate::Passed, vec![]), "another switch's host");
}

#[test]
fn a_source_at_the_congested_switch_is_paused_without_a_message() {
    let mut at = At::new(100, &params());
    at.leaves(2424);
    at.arrives(0, 2000);
    at.message_after(Time::ns(400), Time::ns(800));
    let style = PauseStyle { quanta: Some(4800), framed: true };
    let until = Time::ns(800) + Time::ps(24_576_000);
    assert_eq!(at.at(Time::ns(800)), [SwitchAction::PauseQueue(OWNER, Port(0), C3, until, style)]);
}

#[test]
fn a_host_obeys_pfc_and_no_message() {
    let mut bench = NicBench::new(HostId(0), Rate::gbps(100));
    let mut host = SfcTofino2::nic(&params(), bench.shape()).expect("it acts at NICs");
    let frame = PauseRequest { class: Some(C3), quanta: 1000, lasting: false }.frame();
    assert_eq!(host.on_mac_control(&mut bench.cx().links(), Port(0), &frame), Fate::Consumed);
    let gate = NicGate::Class(C3);
    assert_eq!(bench.actions(), [NicAction::Shut(OWNER, gate), NicAction::Arm(OWNER, Time::ns(5120), 3)]);
    let message = Message { duration_us: 9, dscp: Dscp::of(C3), travels: Class(0) }.frame(FlowRef { slot: 0, tag: 0 });
    assert_eq!(host.on_control(&mut bench.cx(), &message), Fate::Consumed);
    assert_eq!(bench.actions(), []);
}

#[test]
fn other_rates_and_classes_without_messages_are_found() {
    let findings = |gbps, params: &Params| {
        let bench = SwitchBench::new(&SwitchParams::default(), 2, Rate::gbps(gbps), 0);
        let switch = SwitchParams { cell: Bytes(176), ..SwitchParams::default() };
        let cx = CheckCx { switches: &[bench.shape().clone()], switch_params: &[switch], ..CheckCx::default() };
        let found = crate::stack::inspect::<SfcTofino2>(params, &cx);
        found.into_iter().map(|finding| (finding.fatal, finding.key)).collect::<Vec<_>>()
    };
    assert_eq!(findings(400, &params()), []);
    assert_eq!(findings(800, &params()), [(true, "points")]);
    let without = Params { signal_classes: vec![7], ..params() };
    assert_eq!((findings(100, &without), findings(200, &without)), (vec![], vec![(false, "signal_classes")]));
}
