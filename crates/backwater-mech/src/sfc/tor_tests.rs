//! Isolation and the cache on the bench.

use super::tests::{C3, FAR, OTHER, TIMED};
use super::wire::PointId;
use super::*;
use backwater_engine::Time;
use backwater_net::bench::{OWNER, SwitchBench, ack, data, place};
use backwater_net::config::SwitchParams;
use backwater_net::hooks::{Gate, SwitchAction};
use backwater_net::packet::Dscp;
use backwater_net::{Bytes, Rate};

fn params() -> Params {
    Params {
        threshold: Bytes(1_000_000),
        pause: None,
        target: Some(Bytes(200_000)),
        resume: true,
        at_source: AtSource::Isolation,
        isolation_threshold: Bytes(20_000),
        ..tests::params()
    }
}

struct Tor {
    bench: SwitchBench,
    sfc: Bridge,
}

impl Tor {
    /// Hosts 0 to 3 at ports 0 to 3 of 100 Gb/s; the longest frame has 4064 B.
    fn new(params: &Params) -> Tor {
        let bench = SwitchBench::new(&SwitchParams::default(), 4, Rate::gbps(100), 0);
        let sfc = Sfc::switch(params, bench.shape()).expect("SFC acts at switches");
        Tor { bench, sfc }
    }

    /// `point` sends a message about a packet of `flow` from host `from` to host `to`.
    fn message(&mut self, from: u32, flow: u32, to: u32, point: PointId, pause: Time) -> Vec<SwitchAction> {
        let message = Message { pause, class: C3, dscp: Dscp::of(C3), flow_mode: true, point, to: HostId(to) };
        let frame = message.frame(Some(FlowRef { slot: flow, tag: flow }), 116);
        let fate = self.sfc.on_control(&mut self.bench.cx(), Port(3), Some(HostId(from)), &frame);
        assert_eq!(fate, Fate::Consumed);
        self.bench.actions()
    }

    /// The number of the isolation queue in which a packet of 1064 B waits.
    fn held(&mut self, from: u32, flow: u32, to: u32) -> Option<u32> {
        let pkt = data(HostId(from), HostId(to), flow, C3, 1000);
        let isolation_queue = self.sfc.divert(&mut self.bench.cx(), &place(Port(from as u16), Port(3), C3), &pkt);
        isolation_queue.map(|isolation_queue| isolation_queue.number)
    }

    fn timer(&mut self, number: u32) -> Vec<SwitchAction> {
        self.sfc.on_timer(&mut self.bench.cx(), number);
        self.bench.actions()
    }

    /// A packet from port 0 has joined its egress queue.
    fn joined(&mut self) -> Vec<SwitchAction> {
        self.left(0, 0, 9)
    }

    fn left(&mut self, from: u32, flow: u32, to: u32) -> Vec<SwitchAction> {
        let mut pkt = data(HostId(from), HostId(to), flow, C3, 1000);
        self.sfc.on_enqueue(&mut self.bench.cx(), &place(Port(from as u16), Port(3), C3), &mut pkt);
        self.bench.actions()
    }
}

fn gate(number: u32) -> Gate {
    Gate::IsolationQueue(IsolationQueue { owner: OWNER, number })
}

fn shut(number: u32, until: Time) -> Vec<SwitchAction> {
    vec![SwitchAction::Shut(OWNER, gate(number)), SwitchAction::Arm(OWNER, until, number)]
}

fn opened(number: u32) -> Vec<SwitchAction> {
    vec![SwitchAction::Open(OWNER, gate(number))]
}

/// 1000 KB less 200 KB at 100 Gb/s: for 64 us packets from host 0 to host 9 in class 3 wait, and no others do.
#[test]
fn what_a_message_names_waits_until_its_pause_is_over() {
    let mut tor = Tor::new(&params());
    tor.bench.now = Time::us(5);
    assert_eq!(tor.message(0, 0, 9, FAR, Time::us(64)), shut(1, Time::us(69)));
    assert_eq!(tor.held(0, 0, 9), Some(1));
    assert_eq!(tor.held(0, 4, 9), Some(1), "another flow of that host to the same queue");
    assert_eq!(tor.held(0, 5, 8), None, "to another host");
    assert_eq!(tor.held(1, 6, 9), None, "of another host");
    let cx = &mut tor.bench.cx();
    let ack = ack(data(HostId(0), HostId(9), 7, C3, 0));
    assert_eq!(tor.sfc.divert(cx, &place(Port(0), Port(3), C3), &ack), None, "an acknowledgement");
    let other = data(HostId(0), HostId(9), 8, Class(4), 1000);
    assert_eq!(tor.sfc.divert(cx, &place(Port(0), Port(3), Class(4)), &other), None, "another class");
    let passing = data(HostId(0), HostId(9), 0, C3, 1000);
    assert_eq!(tor.sfc.divert(cx, &place(Port(2), Port(3), C3), &passing), None, "not from the host itself");
    tor.bench.now = Time::us(69);
    assert_eq!(tor.timer(1), opened(1));
    assert_eq!(tor.held(0, 0, 9), None);
}

#[test]
fn what_comes_while_a_lane_drains_goes_behind_it() {
    let mut tor = Tor::new(&params());
    tor.message(0, 0, 9, FAR, Time::us(64));
    tor.bench.divert(Port(0), C3, 1, 2_128);
    tor.bench.now = Time::us(10);
    assert_eq!(tor.message(0, 0, 9, FAR, Time::ZERO), opened(1), "a resume opens it early");
    tor.bench.discard_before(Port(0), C3, 1, 1_064);
    assert_eq!(tor.held(0, 0, 9), Some(1), "a packet is still in it");
    assert_eq!(tor.message(0, 0, 9, FAR, Time::us(20)), shut(1, Time::us(30)), "shut again with what is in it");
    assert_eq!(tor.timer(1), [], "the first message's timer is stale");
    tor.bench.now = Time::us(30);
    assert_eq!(tor.timer(1), opened(1));
    tor.bench.discard_before(Port(0), C3, 1, 1_064);
    assert_eq!(tor.held(0, 0, 9), None);
    assert_eq!(tor.message(0, 0, 9, FAR, Time::us(1)), shut(2, Time::us(31)), "the empty lane has been given up");
}

#[test]
fn a_lane_opens_when_the_last_queue_lets_go() {
    let mut tor = Tor::new(&params());
    tor.message(0, 0, 9, FAR, Time::us(64));
    assert_eq!(tor.message(0, 0, 9, OTHER, Time::us(10)), shut(1, Time::us(64)), "the later end counts");
    tor.bench.now = Time::us(2);
    assert_eq!(tor.message(0, 0, 9, FAR, Time::ZERO), shut(1, Time::us(10)), "the other queue's pause is left");
    assert_eq!(tor.message(0, 1, 8, FAR, Time::us(50)), shut(2, Time::us(52)), "another destination, another lane");
    tor.bench.now = Time::us(10);
    assert_eq!(tor.timer(1), opened(1));
    assert_eq!((tor.held(0, 0, 9), tor.held(0, 1, 8)), (None, Some(2)));
}

/// Document 004: the congestion queue at the source's ToR is paused as a whole.
#[test]
fn one_queue_is_shut_until_the_last_of_its_traffic_may_go() {
    let mut tor = Tor::new(&Params { isolation_queues: IsolationQueues::One, ..params() });
    let number = 4;
    assert_eq!(tor.message(0, 0, 9, FAR, Time::us(64)), shut(number, Time::us(64)), "the queue of class 3");
    assert_eq!(tor.held(1, 1, 8), None, "no message has named it");
    assert_eq!(tor.message(1, 1, 8, OTHER, Time::us(90)), shut(number, Time::us(90)), "another source and destination");
    assert_eq!((tor.held(0, 0, 9), tor.held(1, 1, 8)), (Some(number), Some(number)));
    tor.bench.now = Time::us(70);
    assert_eq!(tor.timer(number), [], "the first pause is over, and the queue is paused as a whole");
    assert_eq!(tor.held(0, 0, 9), Some(number), "what was named first still waits");
    assert_eq!(tor.message(1, 1, 8, OTHER, Time::ZERO), opened(number));
    assert_eq!((tor.held(0, 0, 9), tor.held(1, 1, 8)), (None, None), "open and empty: all are released");
}

/// Two pauses by one congested queue end one by one.
#[test]
fn a_resume_of_one_source_leaves_the_pause_of_another() {
    let mut tor = Tor::new(&Params { isolation_queues: IsolationQueues::One, ..params() });
    tor.message(0, 0, 9, FAR, Time::us(64));
    tor.message(1, 1, 9, FAR, Time::us(90));
    assert_eq!(tor.message(1, 1, 9, FAR, Time::ZERO), shut(4, Time::us(64)));
    assert_eq!(tor.message(0, 0, 9, FAR, Time::ZERO), opened(4));
}

/// A resume may come for traffic whose pause was lost.
#[test]
fn a_resume_does_not_isolate() {
    let mut tor = Tor::new(&Params { isolation_queues: IsolationQueues::One, ..params() });
    tor.message(0, 0, 9, FAR, Time::us(64));
    assert_eq!(tor.message(1, 1, 8, OTHER, Time::ZERO), []);
    assert_eq!((tor.held(0, 0, 9), tor.held(1, 1, 8)), (Some(4), None));
}

/// The congested queue knows sources: its newer message about another destination of a source replaces the end of the older one.
#[test]
fn a_queue_s_pause_of_a_source_has_one_end() {
    let mut tor = Tor::new(&Params { isolation_queues: IsolationQueues::One, ..params() });
    tor.message(0, 0, 9, FAR, Time::us(64));
    tor.message(0, 1, 8, FAR, Time::us(50));
    assert_eq!(tor.message(0, 1, 8, FAR, Time::ZERO), opened(4));
}

#[test]
fn by_flow_only_the_flow_waits() {
    let mut tor = Tor::new(&Params { granularity: Granularity::Flow, ..params() });
    tor.message(0, 4, 9, FAR, Time::us(64));
    assert_eq!((tor.held(0, 4, 9), tor.held(0, 5, 9)), (Some(1), None));
}

/// By class a message about an ended flow opens the isolation queue; by flow there is nothing left that it could name.
#[test]
fn messages_about_a_flow_that_has_ended() {
    for (granularity, isolation_queues) in [(Granularity::Class, 1), (Granularity::Flow, 0)] {
        let mut tor = Tor::new(&Params { granularity, ..params() });
        let flow_mode = granularity == Granularity::Flow;
        for (pause, actions) in [(Time::us(64), shut(1, Time::us(64))), (Time::ZERO, opened(1))] {
            let message = Message { pause, class: C3, dscp: Dscp::of(C3), flow_mode, point: FAR, to: HostId(9) };
            let frame = message.frame(None, 116);
            let fate = tor.sfc.on_control(&mut tor.bench.cx(), Port(3), Some(HostId(0)), &frame);
            let expected = if isolation_queues == 1 { actions } else { vec![] };
            assert_eq!((fate, tor.bench.actions()), (Fate::Consumed, expected), "{granularity:?}");
        }
    }
}

/// 20 KB: with 18 936 B in isolation queues of port 0 a packet of 1064 B may enter, with one byte more the host is paused; 8128 B below it
/// resumes.
#[test]
fn too_much_in_lanes_of_a_port_is_left_to_pfc() {
    let mut tor = Tor::new(&params());
    tor.message(0, 0, 9, FAR, Time::us(64));
    tor.message(0, 1, 8, OTHER, Time::us(64));
    tor.bench.divert(Port(0), C3, 1, 10_000);
    tor.bench.divert(Port(0), C3, 2, 8_936);
    assert_eq!((tor.held(0, 0, 9), tor.bench.actions()), (Some(1), vec![]));
    tor.bench.divert(Port(0), C3, 2, 1);
    assert_eq!(tor.held(0, 1, 8), Some(2));
    assert_eq!(tor.bench.actions(), [SwitchAction::PausePeer(OWNER, Port(0), Some(C3), Time::NEVER, TIMED)]);
    assert_eq!((tor.held(0, 0, 9), tor.bench.actions()), (Some(1), vec![]), "it has been asked");
    tor.bench.discard_before(Port(0), C3, 1, 7_065);
    assert_eq!(tor.joined(), [], "11 872 B");
    tor.bench.discard_before(Port(0), C3, 1, 1);
    assert_eq!(tor.joined(), [SwitchAction::ResumePeer(OWNER, Port(0), Some(C3))]);
    assert_eq!(tor.joined(), [], "once");
}

/// Per switch the isolation queues of all ports share the 20 KB, and the host of a packet that comes to a full queue is paused; below it
/// all resume.
#[test]
fn lanes_of_a_switch_may_share_their_room() {
    let mut tor = Tor::new(&Params { isolation_per: IsolationPer::Switch, ..params() });
    tor.message(0, 0, 9, FAR, Time::us(64));
    tor.message(1, 1, 9, FAR, Time::us(64));
    tor.bench.divert(Port(0), C3, 1, 18_000);
    tor.bench.divert(Port(1), C3, 2, 936);
    assert_eq!((tor.held(1, 1, 9), tor.bench.actions()), (Some(2), vec![]));
    tor.bench.divert(Port(1), C3, 2, 1);
    let pause = |port| SwitchAction::PausePeer(OWNER, Port(port), Some(C3), Time::NEVER, TIMED);
    assert_eq!((tor.held(1, 1, 9), tor.bench.actions()), (Some(2), vec![pause(1)]));
    assert_eq!((tor.held(0, 0, 9), tor.bench.actions()), (Some(1), vec![pause(0)]));
    tor.bench.discard_before(Port(0), C3, 1, 7_065);
    assert_eq!(tor.joined(), [], "11 872 B");
    tor.bench.discard_before(Port(0), C3, 1, 1);
    assert_eq!(tor.joined(), [1, 0].map(|port| SwitchAction::ResumePeer(OWNER, Port(port), Some(C3))));
}

/// At 8.512 Gb/s a packet of 1064 B takes 1 us.
#[test]
fn lane_empties_at_its_rate() {
    let mut tor = Tor::new(&Params { isolation_rate: Some(Rate(8_512_000_000)), ..params() });
    tor.message(0, 0, 9, FAR, Time::us(64));
    assert_eq!(tor.held(0, 0, 9), Some(1));
    tor.bench.divert(Port(0), C3, 1, 3 * 1064);
    tor.bench.now = Time::us(10);
    assert_eq!(tor.message(0, 0, 9, FAR, Time::ZERO), opened(1), "the first goes at once");
    let leaves = |tor: &mut Tor, at: Time| {
        tor.bench.now = at;
        tor.bench.discard_before(Port(0), C3, 1, 1064);
        tor.left(0, 0, 9)
    };
    assert_eq!(leaves(&mut tor, Time::us(10)), shut(1, Time::us(11)));
    // A message between two packets ends nothing early, and its pause outlasts the interval.
    tor.bench.now = Time::ns(10_500);
    assert_eq!(tor.message(0, 0, 9, FAR, Time::us(5)), shut(1, Time::ns(15_500)));
    assert_eq!(tor.message(0, 0, 9, FAR, Time::ZERO), [], "the next packet is not due");
    tor.bench.now = Time::us(11);
    assert_eq!(tor.timer(1), opened(1));
    assert_eq!(leaves(&mut tor, Time::us(11)), shut(1, Time::us(12)));
    tor.bench.now = Time::us(12);
    assert_eq!(tor.timer(1), opened(1));
    tor.bench.divert(Port(0), C3, 1, 2 * 1064);
    assert_eq!(
        leaves(&mut tor, Time::us(12)),
        [],
        "the last that the pause had held back: what came behind follows at once"
    );
    assert_eq!(leaves(&mut tor, Time::us(12)), []);
    assert_eq!(leaves(&mut tor, Time::us(12)), []);
    assert_eq!(tor.held(0, 0, 9), None);
    assert_eq!(tor.left(0, 0, 9), [], "what has not waited is not spaced");
}

/// A pause and the time of the next packet end independently; the isolation queue opens with the later one.
#[test]
fn lane_opens_when_neither_pause_nor_rate_shuts_it() {
    let mut tor = Tor::new(&Params { isolation_rate: Some(Rate(1_064_000_000)), ..params() });
    tor.message(0, 0, 9, FAR, Time::us(64));
    tor.held(0, 0, 9);
    tor.bench.divert(Port(0), C3, 1, 4 * 1064);
    tor.bench.now = Time::us(64);
    assert_eq!(tor.timer(1), opened(1));
    tor.bench.discard_before(Port(0), C3, 1, 1064);
    assert_eq!(tor.left(0, 0, 9), shut(1, Time::us(72)), "8 us for a packet");
    tor.message(0, 0, 9, FAR, Time::us(4));
    tor.bench.now = Time::us(68);
    assert_eq!(tor.timer(1), [], "the pause is over, the next packet not due");
    tor.message(0, 0, 9, FAR, Time::us(9));
    tor.bench.now = Time::us(72);
    assert_eq!(tor.timer(1), [], "it is due, and paused");
    tor.bench.now = Time::us(77);
    assert_eq!(tor.timer(1), opened(1));
    assert_eq!(tor.timer(2), [], "of a lane that is no more");
}

#[test]
fn neighbour_s_packet_to_a_remembered_destination_waits_at_once() {
    let mut tor = Tor::new(&Params { cache: true, ..params() });
    tor.message(0, 0, 9, FAR, Time::us(64));
    tor.bench.now = Time::us(4);
    assert_eq!(tor.held(1, 1, 8), None, "another destination");
    assert_eq!(tor.held(1, 1, 9), Some(2));
    assert_eq!(tor.bench.actions(), shut(2, Time::us(64)));
    assert_eq!((tor.held(1, 1, 9), tor.bench.actions()), (Some(2), vec![]), "told once");
    assert_eq!((tor.held(1, 2, 9), tor.bench.actions().len()), (Some(2), 2), "of another flow, in flow mode, anew");
    tor.bench.now = Time::us(9);
    let lifted = tor.message(0, 0, 9, FAR, Time::ZERO);
    assert_eq!(lifted, [opened(2), opened(1)].concat(), "a resume lifts what the cache has asked, too");
    assert_eq!((tor.held(2, 3, 9), tor.bench.actions()), (None, vec![]), "it has been forgotten");
}

#[test]
fn a_memory_ends_with_the_pause_and_a_newer_one_replaces_it() {
    let mut tor = Tor::new(&Params { cache: true, ..params() });
    tor.message(0, 0, 9, FAR, Time::us(64));
    tor.held(1, 1, 9);
    tor.bench.now = Time::us(4);
    tor.message(0, 0, 9, FAR, Time::us(80));
    tor.bench.actions();
    assert_eq!((tor.held(1, 1, 9), tor.bench.actions()), (Some(2), shut(2, Time::us(84))));
    tor.bench.now = Time::us(84);
    assert_eq!((tor.held(2, 3, 9), tor.bench.actions()), (None, vec![]));
}

#[test]
fn the_cache_speaks_the_language_of_whoever_acts() {
    for at_source in [AtSource::Host, AtSource::Proxy] {
        let mut tor = Tor::new(&Params { cache: true, at_source, ..params() });
        let message =
            Message { pause: Time::us(64), class: C3, dscp: Dscp::of(C3), flow_mode: false, point: FAR, to: HostId(9) };
        let frame = message.frame(Some(FlowRef { slot: 0, tag: 0 }), 116);
        tor.sfc.on_control(&mut tor.bench.cx(), Port(3), Some(HostId(0)), &frame);
        tor.bench.actions();
        tor.bench.now = Time::us(4);
        assert_eq!(tor.held(1, 1, 9), None, "it is the host that waits");
        let actions = tor.bench.actions();
        match at_source {
            AtSource::Host => {
                let [SwitchAction::Route(HostId(1), Class(7), frame)] = &actions[..] else { panic!("{actions:?}") };
                assert_eq!(frame.message(), Some(Message { pause: Time::us(60), ..message }));
            }
            _ => assert_eq!(actions, [SwitchAction::PauseQueue(OWNER, Port(1), C3, Time::us(64), TIMED)]),
        }
        assert_eq!((tor.held(1, 2, 9), tor.bench.actions()), (None, vec![]), "whatever the flow: it names the class");
    }
}
