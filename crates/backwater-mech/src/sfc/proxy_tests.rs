//! The proxy on the bench.

use super::tests::{C3, FAR, OTHER, TIMED};
use super::wire::PointId;
use super::*;
use backwater_engine::Time;
use backwater_net::bench::{NicBench, OWNER, SwitchBench, data, place};
use backwater_net::config::SwitchParams;
use backwater_net::hooks::{LinkSide, NicAction, NicGate, NicSide, SwitchAction};
use backwater_net::packet::{Dscp, Queue};
use backwater_net::pause::PauseRequest;
use backwater_net::{Bytes, Rate};

/// The contribution's thresholds: 1000 KB and 200 KB, the pause computed, explicit resume.
fn params() -> Params {
    Params {
        threshold: Bytes(1_000_000),
        pause: None,
        target: Some(Bytes(200_000)),
        resume: true,
        at_source: AtSource::Proxy,
        ..tests::params()
    }
}

struct Tor {
    bench: SwitchBench,
    sfc: Bridge,
}

impl Tor {
    /// Hosts 0 to 3 at ports 0 to 3 of 100 Gb/s.
    fn new() -> Tor {
        Tor::with(&params())
    }

    fn with(params: &Params) -> Tor {
        let bench = SwitchBench::new(&SwitchParams::default(), 4, Rate::gbps(100), 0);
        let sfc = Sfc::switch(params, bench.shape()).expect("SFC acts at switches");
        Tor { bench, sfc }
    }

    fn message(&mut self, to: u32, point: PointId, pause: Time) -> (Fate, Vec<SwitchAction>) {
        let message = Message { pause, class: C3, dscp: Dscp::of(C3), flow_mode: false, point, to: HostId(3) };
        let frame = message.frame(Some(FlowRef { slot: 0, tag: 0 }), 116);
        let fate = self.sfc.on_control(&mut self.bench.cx(), Port(0), Some(HostId(to)), &frame);
        (fate, self.bench.actions())
    }

    fn enqueue(&mut self, src: u32, queue: u64) -> Vec<SwitchAction> {
        self.bench.set_egress(Port(3), Queue(3), queue);
        let mut pkt = data(HostId(src), HostId(3), 0, C3, 1000);
        self.sfc.on_enqueue(&mut self.bench.cx(), &place(Port(0), Port(3), C3), &mut pkt);
        self.bench.actions()
    }

    fn depart(&mut self, queue: u64) -> Vec<SwitchAction> {
        self.bench.set_egress(Port(3), Queue(3), queue);
        self.sfc.on_depart(&mut self.bench.cx(), &place(Port(0), Port(3), C3));
        self.bench.actions()
    }
}

fn held(port: u16, until: Time) -> Vec<SwitchAction> {
    vec![SwitchAction::PauseQueue(OWNER, Port(port), C3, until, TIMED)]
}

fn released(port: u16) -> Vec<SwitchAction> {
    vec![SwitchAction::ResumeQueue(OWNER, Port(port), C3)]
}

/// Entry 3 is the priority of DSCP 24, the class selector of class 3.
#[test]
fn a_written_table_maps_the_dscp_to_the_priority() {
    let mut tor = Tor::with(&Params { dscp_priority: vec![0, 1, 2, 5, 4, 3, 6, 7], ..params() });
    let (fate, actions) = tor.message(0, FAR, Time::us(64));
    let paused = SwitchAction::PauseQueue(OWNER, Port(0), Class(5), Time::us(64), TIMED);
    assert_eq!((fate, actions), (Fate::Consumed, vec![paused]));
    let mut bench = NicBench::new(HostId(0), Rate::gbps(100));
    let params = Params { dscp_priority: vec![0, 1, 2, 5, 4, 3, 6, 7], ..params() };
    let mut host = Sfc::nic(&params, bench.shape()).expect("SFC acts at NICs");
    let frame = PauseRequest { class: Some(Class(5)), quanta: 1000, lasting: false }.frame();
    assert_eq!(host.on_mac_control(&mut bench.cx().links(), Port(0), &frame), Fate::Consumed);
    assert_eq!(
        bench.actions()[0],
        NicAction::Shut(OWNER, NicGate::Class(Class(5))),
        "the host obeys what its ToR asks"
    );
}

/// Two DSCPs of one priority: a message of one does not replace the pause by the other.
#[test]
fn pauses_by_two_dscps_of_a_priority_end_one_by_one() {
    let mut tor = Tor::with(&Params { dscp_priority: vec![0, 1, 2, 3, 3, 5, 6, 7], ..params() });
    tor.message(0, FAR, Time::us(64));
    let message = Message {
        pause: Time::us(2),
        class: C3,
        dscp: Dscp::of(Class(4)),
        flow_mode: false,
        point: FAR,
        to: HostId(3),
    };
    let frame = message.frame(Some(FlowRef { slot: 0, tag: 0 }), 116);
    tor.sfc.on_control(&mut tor.bench.cx(), Port(0), Some(HostId(0)), &frame);
    assert_eq!(tor.bench.actions(), held(0, Time::us(64)), "the later end");
}

#[test]
fn message_for_an_attached_host_becomes_a_pause_of_its_link() {
    let mut tor = Tor::new();
    tor.bench.now = Time::us(5);
    assert_eq!(tor.message(1, FAR, Time::us(64)), (Fate::Consumed, held(1, Time::us(69))));
    assert_eq!(tor.message(9, FAR, Time::us(64)), (Fate::Passed, vec![]), "h9 is another switch's");
    tor.bench.now = Time::us(20);
    assert_eq!(tor.message(1, FAR, Time::ZERO), (Fate::Consumed, released(1)));
    assert_eq!(tor.message(1, FAR, Time::ZERO), (Fate::Consumed, vec![]), "it is not paused any more");
}

#[test]
fn messages_count_also_when_their_flow_has_ended() {
    let mut tor = Tor::new();
    let message =
        Message { pause: Time::us(64), class: C3, dscp: Dscp::of(C3), flow_mode: false, point: FAR, to: HostId(3) };
    let mut take = |message: Message| {
        let fate = tor.sfc.on_control(&mut tor.bench.cx(), Port(0), Some(HostId(1)), &message.frame(None, 116));
        (fate, tor.bench.actions())
    };
    assert_eq!(take(message), (Fate::Consumed, held(1, Time::us(64))));
    assert_eq!(take(Message { pause: Time::ZERO, ..message }), (Fate::Consumed, released(1)));
}

#[test]
fn other_frames_and_hosts_that_obey_pass() {
    let mut tor = Tor::new();
    let cnp = Control::carrying("cnp", 64, 0, &());
    assert_eq!(tor.sfc.on_control(&mut tor.bench.cx(), Port(0), Some(HostId(1)), &cnp), Fate::Passed);
    let native = Params { at_source: AtSource::Host, ..params() };
    tor.sfc = Sfc::switch(&native, tor.bench.shape()).expect("SFC acts at switches");
    assert_eq!(tor.message(1, FAR, Time::us(64)), (Fate::Passed, vec![]));
}

#[test]
fn one_queue_neither_cuts_nor_lifts_the_pause_of_another() {
    let mut tor = Tor::new();
    tor.message(1, FAR, Time::us(64));
    tor.bench.now = Time::us(1);
    assert_eq!(tor.message(1, OTHER, Time::us(10)).1, held(1, Time::us(64)), "the later end counts");
    tor.bench.now = Time::us(2);
    assert_eq!(tor.message(1, FAR, Time::ZERO).1, held(1, Time::us(11)), "the other queue's pause is left");
    tor.bench.now = Time::us(3);
    assert_eq!(tor.message(1, OTHER, Time::ZERO).1, released(1));
}

#[test]
fn a_newer_message_of_the_same_queue_replaces_the_time() {
    let mut tor = Tor::new();
    tor.message(1, FAR, Time::us(64));
    tor.bench.now = Time::us(2);
    assert_eq!(tor.message(1, FAR, Time::us(8)).1, held(1, Time::us(10)));
    tor.bench.now = Time::us(11);
    assert_eq!(tor.message(1, FAR, Time::ZERO).1, [], "ended by itself");
}

/// 1000 KB less 200 KB at 100 Gb/s are 64 us; until they have passed or a resume was sent, the source is not notified again.
#[test]
fn at_most_one_pause_of_a_source_and_queue_is_outstanding() {
    let mut tor = Tor::new();
    // Host 9 is at another switch.
    let pauses = |actions: Vec<SwitchAction>| {
        let pause = |action: &SwitchAction| match action {
            SwitchAction::Route(HostId(9), Class(7), frame) => {
                frame.message::<Message>().expect("an SFC message").pause
            }
            other => panic!("{other:?}"),
        };
        actions.iter().map(pause).collect::<Vec<_>>()
    };
    let full = Time::ps(64_000_080);
    assert_eq!(pauses(tor.enqueue(9, 1_000_001)), [full]);
    tor.bench.now = Time::us(64);
    assert_eq!(pauses(tor.enqueue(9, 1_500_000)), [], "80 ps are left");
    assert_eq!(pauses(tor.depart(199_999)), [Time::ZERO]);
    assert_eq!(pauses(tor.depart(100_000)), [], "lifted once");
    assert_eq!(pauses(tor.enqueue(9, 1_000_001)), [full], "lifted, so it may be paused anew");
    tor.bench.now = Time::us(64) + full;
    assert_eq!(pauses(tor.enqueue(9, 1_000_001)), [full], "ended");
}

#[test]
fn source_at_the_congested_switch_itself_is_paused_without_a_message() {
    let mut tor = Tor::new();
    assert_eq!(tor.enqueue(0, 1_000_001), held(0, Time::ps(64_000_080)));
    tor.bench.now = Time::us(9);
    assert_eq!(tor.depart(199_999), released(0));
}

#[test]
fn host_without_pfc_obeys_pauses_of_its_class() {
    let mut bench = NicBench::new(HostId(0), Rate::gbps(100));
    let mut source = Sfc::nic(&params(), bench.shape()).expect("SFC acts at NICs");
    let frame = |class, quanta| PauseRequest { class: Some(class), quanta, lasting: false }.frame();
    let gate = NicGate::Class(C3);
    assert_eq!(source.on_mac_control(&mut bench.cx().links(), Port(0), &frame(C3, 1000)), Fate::Consumed);
    // A quantum of 512 bit is 5.12 ns.
    assert_eq!(bench.actions(), [NicAction::Shut(OWNER, gate), NicAction::Arm(OWNER, Time::ns(5120), 3)]);
    assert_eq!(
        source.on_mac_control(&mut bench.cx().links(), Port(0), &frame(Class(4), 1000)),
        Fate::Passed,
        "not a class of SFC"
    );
    bench.now = Time::ns(5120);
    source.on_timer(&mut bench.cx(), 3);
    assert_eq!(bench.actions(), [NicAction::Open(OWNER, gate)]);
}

#[test]
fn proxy_cannot_pause_a_flow() {
    let flow = Params { granularity: Granularity::Flow, ..params() };
    let cx = CheckCx::default();
    assert!(crate::stack::inspect::<Sfc>(&params(), &cx).is_empty());
    assert!(matches!(&crate::stack::inspect::<Sfc>(&flow, &cx)[..], [Finding { fatal: true, key: "granularity", .. }]));
}
