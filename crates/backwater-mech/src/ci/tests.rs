//! The worked example: queue 3 monitored, queue 2 congesting, Low 10 KB, High 300 KB, Pmax 1 %.

use super::*;
use crate::red::AboveMaximum;
use backwater_net::Rate;
use backwater_net::bench::{NicBench, SwitchBench, ack, control, data, place};
use backwater_net::config::{BufferPer, SwitchParams};
use backwater_net::hooks::{NicAction, NicSide, SwitchAction};
use backwater_net::packet::Ecn;
use backwater_net::packet::NodeId;

const IN: Port = Port(0);
const OUT: Port = Port(1);
const MQ: Queue = Queue(3);
const CQ: Queue = Queue(2);

/// A bridge between two others, at ports 0 and 1.
struct Stand {
    bench: SwitchBench,
    bridge: Bridge,
}

impl Stand {
    fn new(params: Params) -> Stand {
        let switch = SwitchParams { buffer_per: BufferPer::None, ..SwitchParams::default() };
        let mut bench = SwitchBench::new(&switch, 3, Rate::gbps(100), 0);
        bench.lead_to_switch(IN);
        bench.lead_to_switch(OUT);
        let bridge = CongestionIsolation::switch(&params, bench.shape()).expect("queues take part");
        Stand { bench, bridge }
    }

    /// Steers a packet and lets it join its queue, whose length the test sets. Returns its place, and the packet.
    fn arrive(&mut self, flow: u32, class: Class) -> (Place, Packet) {
        let mut pkt = data(HostId(0), HostId(1), flow, class, 1000);
        let mut at = place(IN, OUT, class);
        self.bridge.steer(&mut self.bench.cx(), &mut at, &mut pkt);
        self.bridge.on_enqueue(&mut self.bench.cx(), &at, &mut pkt);
        (at, pkt)
    }

    fn isolates(&mut self, flow: u32) -> bool {
        self.arrive(flow, Class(3)).0.queue == CQ
    }

    /// The congesting queue has been emptied.
    fn empty(&mut self) {
        self.bench.set_egress(OUT, CQ, 0);
        self.bridge.on_depart(&mut self.bench.cx(), &place(IN, OUT, Class(2)));
    }

    fn hear(&mut self, from: Port, to: Option<HostId>, source: NodeId, flow: Option<u32>) -> Fate {
        let flow = flow.map(|flow| FlowRef { slot: flow, tag: flow });
        let params = Params::default();
        let message = Message::new(source, (OUT, CQ), false, &params);
        let frame = Control { flow, ..message.frame(1, FlowRef { slot: 0, tag: 0 }, &params) };
        self.bridge.on_control(&mut self.bench.cx(), from, to, &frame)
    }

    fn count(&self, port: Port, name: &str) -> u64 {
        let all = self.bridge.counts(self.bench.now);
        all.iter().find(|(p, n, _)| *p == port && *n == name).expect("there is such a counter").2
    }

    fn cims(&mut self) -> Vec<(Port, Class, Control)> {
        let emitted = |action| match action {
            SwitchAction::Emit(port, class, frame) => (port, class, frame),
            other => panic!("a bridge only emits, not {other:?}"),
        };
        self.bench.actions().into_iter().map(emitted).collect()
    }
}

#[test]
fn the_curve_is_that_of_the_simulations() {
    let params = Params::default();
    assert_eq!(red(Bytes(10_000), &params), 0.0);
    assert_eq!(red(Bytes(155_000), &params), 0.005);
    assert_eq!(red(Bytes(300_000), &params), 0.01);
    assert_eq!(red(Bytes(300_001), &params), 1.0);
}

/// "Max Probability 1 %" as a bound: above High one flow in a hundred is found, not every flow. 20 000 draws: 200, within 4 deviations of
/// 14.
#[test]
fn detection_can_stay_at_its_greatest_probability() {
    let capped = Params { above_high: AboveMaximum::Pmax, ..Params::default() };
    assert_eq!([155_000, 300_000, 300_001, 1_000_000].map(|q| red(Bytes(q), &capped)), [0.005, 0.01, 0.01, 0.01]);
    let mut stand = Stand::new(capped);
    stand.bench.set_egress(OUT, MQ, 1_000_000);
    let found = (0..20_000).filter(|flow| stand.isolates(*flow)).count();
    assert!((144..=256).contains(&found), "{found} of 20000 at 1 %");
}

/// Up to Low nothing is isolated, between Low and High one packet in some hundreds finds its flow, above High every one.
#[test]
fn long_queues_find_congesting_flows() {
    let mut stand = Stand::new(Params::default());
    stand.bench.set_egress(OUT, MQ, 10_000);
    assert!((0..1000).all(|flow| !stand.isolates(flow)));
    stand.bench.set_egress(OUT, MQ, 155_000);
    let found = (1000..21_000).filter(|flow| stand.isolates(*flow)).count();
    assert!((70..=130).contains(&found), "{found} of 20000 at 0.5 %");
    assert_eq!(stand.count(OUT, "isolations"), found as u64);
    stand.bench.set_egress(OUT, MQ, 300_001);
    assert!(stand.isolates(30_000));
}

/// With a weight of 1/4 an MQ of 400 KB counts as 100, 175, 231, 273 and then 305 KB, which is above High; packets of flows in the table do
/// not change the average, and an empty MQ makes it decay: the longest frame, 4064 B, takes 325 ns at 100 Gb/s.
#[test]
fn an_average_finds_congesting_flows_later_and_forgets() {
    let curve = Params { pmax: 0.0, weight: Some(0.25), ..Params::default() };
    let mut stand = Stand::new(curve);
    stand.bench.set_egress(OUT, MQ, 400_000);
    assert_eq!([1, 2, 3, 4, 5].map(|flow| stand.isolates(flow)), [false, false, false, false, true]);
    stand.bench.set_egress(OUT, MQ, 1_000);
    assert!((0..20).all(|_| stand.isolates(5)));
    stand.bench.set_egress(OUT, MQ, 500_000);
    assert!(stand.isolates(6), "as if they had not come: 354 KB");
    stand.bench.now = Time::us(1);
    stand.bench.set_egress(OUT, MQ, 0);
    stand.bridge.on_depart(&mut stand.bench.cx(), &place(IN, OUT, Class(3)));
    stand.bench.now = Time::us(2);
    assert!(!stand.isolates(7), "this one, and three frames' time: 112 KB");
}

/// An isolated packet waits in the CQ, has its priority on the next link, and is marked; its ingress still counts its old class.
#[test]
fn an_isolated_packet_changes_queue_and_priority() {
    let mut stand = Stand::new(Params::default());
    stand.bench.set_egress(OUT, MQ, 301_000);
    let (at, pkt) = stand.arrive(7, Class(3));
    assert_eq!((at.queue, at.class, pkt.class, pkt.ecn()), (CQ, Class(3), Class(2), Ecn::Ce));
    // A flow in the table stays isolated when the MQ is short; others are not.
    stand.bench.set_egress(OUT, MQ, 0);
    assert!(stand.isolates(7) && !stand.isolates(8));
    assert_eq!(stand.count(OUT, "isolated_packets"), 2);
    // Packets that arrive in the CQ's priority stay there, and are not marked here.
    let (at, pkt) = stand.arrive(9, Class(2));
    assert_eq!((at.queue, pkt.class, pkt.ecn()), (CQ, Class(2), Ecn::Ect));
    let (at, pkt) = stand.arrive(9, Class(5));
    assert_eq!((at.queue, pkt.class), (Queue(5), Class(5)));
}

/// The neighbour has released the flow, and some of it still waits here: new packets stay behind that until the CQ is empty.
#[test]
fn a_flow_returns_when_nothing_of_it_is_left() {
    let ce_marking = CeMarking::Isolated;
    let mut stand = Stand::new(Params { cim_threshold: Bytes::ZERO, ce_marking, ..Params::default() });
    stand.bench.set_egress(OUT, CQ, 1_064);
    let (_, pkt) = stand.arrive(7, Class(2));
    assert_eq!((pkt.ecn(), stand.cims().len()), (Ecn::Ect, 0), "isolated upstream, so not here");
    let (at, pkt) = stand.arrive(7, Class(3));
    assert_eq!((at.queue, pkt.ecn()), (CQ, Ecn::Ce));
    assert_eq!(stand.cims().len(), 1, "the neighbour isolates it no longer");
    stand.empty();
    assert!(!stand.isolates(7));
}

#[test]
fn acknowledgements_are_flows_and_messages_are_not() {
    let mut stand = Stand::new(Params::default());
    stand.bench.set_egress(OUT, MQ, 301_000);
    let class = Class(3);
    for (of, queue) in [(control as fn(Packet) -> Packet, MQ), (ack, CQ)] {
        let mut pkt = of(data(HostId(0), HostId(1), 7, class, 0));
        let mut at = place(IN, OUT, class);
        stand.bridge.steer(&mut stand.bench.cx(), &mut at, &mut pkt);
        assert_eq!(at.queue, queue, "{:?}", pkt.body);
    }
    stand.bench.set_egress(OUT, MQ, 0);
    assert!(!stand.isolates(7), "the data of a flow whose acknowledgements are isolated");
}

/// CIMs go to the neighbour that the packet came from: three, 10 us apart, once the CQ is above its threshold.
#[test]
fn cims_are_few_and_far_between() {
    let mut stand = Stand::new(Params::default());
    stand.bench.set_egress(OUT, MQ, 301_000);
    stand.bench.set_egress(OUT, CQ, 300_000);
    assert!(stand.isolates(7));
    assert_eq!(stand.cims(), [], "not above the threshold yet");
    stand.bench.set_egress(OUT, CQ, 300_001);
    let mut sent = Vec::new();
    for us in 0..100 {
        stand.bench.now = Time::us(us);
        assert!(stand.isolates(7));
        sent.extend(stand.cims().into_iter().map(|cim| (us, cim)));
    }
    let source = NodeId(3);
    let reported =
        Message { source, congesting: Queue(2), back: false, form: CimType::L2, most: Bytes(48), egress: OUT.0 };
    let flow = Some(FlowRef { slot: 7, tag: 7 });
    let frame = |count| Control { flow, ..Control::carrying(CIM, 88, count, &reported) };
    let expected = [(0, 1), (10, 2), (20, 3)].map(|(us, count)| (us, (IN, Class(6), frame(count))));
    assert_eq!(sent, expected);
    assert_eq!(stand.count(IN, "cims_sent"), 3);
    // Another flow has its own.
    assert!(stand.isolates(8));
    assert_eq!(stand.cims().len(), 1);
}

#[test]
fn conformity_has_degrees() {
    let now = |params: Params, ingress: Port| {
        let mut stand = Stand::new(params);
        stand.bench.set_egress(OUT, MQ, 301_000);
        stand.bench.set_egress(OUT, CQ, 1_064);
        let mut pkt = data(HostId(0), HostId(1), 7, Class(3), 1000);
        let mut at = place(ingress, OUT, Class(3));
        stand.bridge.steer(&mut stand.bench.cx(), &mut at, &mut pkt);
        stand.bridge.on_enqueue(&mut stand.bench.cx(), &at, &mut pkt);
        stand.cims().len()
    };
    let at_once = Params { cim_threshold: Bytes::ZERO, ..Params::default() };
    assert_eq!(now(at_once.clone(), IN), 1);
    assert_eq!(now(Params { cim: false, ..at_once.clone() }, IN), 0, "local isolation only");
    assert_eq!(now(Params { max_cim_tx: 0, ..at_once.clone() }, IN), 0);
    assert_eq!(now(at_once.clone(), Port(2)), 0, "a host that takes no part is not told");
    assert_eq!(now(Params { end_stations: true, ..at_once }, Port(2)), 1);
}

/// One packet is marked each time the flow is found: later ones go to the CQ unmarked, until the flow has been released and is found again.
#[test]
fn marked_once_for_each_time_that_it_is_found() {
    let mut stand = Stand::new(Params { ce_marking: CeMarking::Found, ..Params::default() });
    stand.bench.set_egress(OUT, MQ, 300_001);
    let marks = |stand: &mut Stand| [0; 3].map(|_| stand.arrive(7, Class(3)).1.ecn());
    assert_eq!(marks(&mut stand), [Ecn::Ce, Ecn::Ect, Ecn::Ect]);
    stand.empty();
    assert_eq!(marks(&mut stand), [Ecn::Ce, Ecn::Ect, Ecn::Ect]);
    assert_eq!((stand.count(OUT, "isolations"), stand.count(OUT, "isolated_packets")), (2, 6));
    // Isolated because of a CIM: another bridge found it.
    let peer = stand.bench.shape().ports[1].peer;
    stand.hear(OUT, None, peer, Some(8));
    assert_eq!(stand.arrive(8, Class(3)).1.ecn(), Ecn::Ect);
}

/// A CIM isolates the flow at the port at which it came in; it ends here.
#[test]
fn a_cim_isolates_upstream() {
    let mut stand = Stand::new(Params { ce_marking: CeMarking::Local, ..Params::default() });
    let peer = stand.bench.shape().ports[1].peer;
    assert_eq!(stand.hear(OUT, None, peer, Some(7)), Fate::Consumed);
    let (at, pkt) = stand.arrive(7, Class(3));
    assert_eq!((at.queue, pkt.class, pkt.ecn()), (CQ, Class(2), Ecn::Ect), "not found here, so not marked");
    assert_eq!((stand.count(OUT, "cims_received"), stand.count(OUT, "isolations")), (1, 0));
    // The CIM propagates when this CQ fills.
    stand.bench.set_egress(OUT, CQ, 300_001);
    assert!(stand.isolates(7));
    assert_eq!(stand.cims().len(), 1);
}

#[test]
fn strange_cims_are_ignored_and_counted() {
    let mut stand = Stand::new(Params::default());
    let peer = stand.bench.shape().ports[1].peer;
    assert_eq!(stand.hear(OUT, None, NodeId(77), Some(7)), Fate::Consumed, "not from the neighbour");
    assert_eq!(stand.hear(OUT, Some(HostId(1)), peer, Some(7)), Fate::Consumed, "forwarded");
    assert_eq!(stand.hear(OUT, None, peer, None), Fate::Consumed, "of no flow that there is");
    assert_eq!((stand.count(OUT, "cims_ignored"), stand.count(OUT, "entries_live")), (3, 0));
    assert!(!stand.isolates(7));
    let mut deaf = Stand::new(Params { cim: false, ..Params::default() });
    assert_eq!(deaf.hear(OUT, None, peer, Some(7)), Fate::Consumed);
    assert_eq!((deaf.count(OUT, "cims_ignored"), deaf.count(OUT, "entries_live")), (1, 0));
}

/// Local entries end when the CQ is empty.
#[test]
fn local_entries_end_with_the_congestion() {
    let mut stand = Stand::new(Params::default());
    stand.bench.set_egress(OUT, MQ, 301_000);
    stand.bench.set_egress(OUT, CQ, 1_064);
    assert!(stand.isolates(7));
    stand.bench.set_egress(OUT, MQ, 0);
    stand.bridge.on_depart(&mut stand.bench.cx(), &place(IN, OUT, Class(2)));
    assert!(stand.isolates(7), "the CQ still holds something");
    stand.empty();
    assert_eq!(stand.count(OUT, "entries_live"), 0);
    assert!(!stand.isolates(7));
}

/// Entries of CIMs outlast the congestion for the maximum flow life; congestion and CIMs extend it, and ended entries stay ended.
#[test]
fn entries_of_cims_age() {
    let life = Time::us(100);
    let mut stand = Stand::new(Params { max_flow_life: life, ..Params::default() });
    let peer = stand.bench.shape().ports[1].peer;
    let at = |stand: &mut Stand, us| stand.bench.now = Time::us(us);
    stand.hear(OUT, None, peer, Some(7));
    at(&mut stand, 99);
    stand.bench.set_egress(OUT, CQ, 1_064);
    assert!(stand.isolates(7));
    at(&mut stand, 500);
    assert!(stand.isolates(7), "congested all the while");
    stand.empty();
    at(&mut stand, 550);
    stand.hear(OUT, None, peer, Some(7));
    at(&mut stand, 649);
    assert_eq!(stand.count(OUT, "entries_live"), 1, "refreshed");
    at(&mut stand, 650);
    assert_eq!(stand.count(OUT, "entries_live"), 0);
    // The queue turns congested again, for another flow: nothing comes back.
    stand.bench.set_egress(OUT, CQ, 1_064);
    stand.arrive(9, Class(2));
    assert!(!stand.isolates(7));
}

/// A flow that was found here and named by a CIM: the empty CQ ends the first reason, time the second.
#[test]
fn the_create_mask_has_two_bits() {
    let life = Time::us(100);
    let mut stand = Stand::new(Params { max_flow_life: life, ce_marking: CeMarking::Local, ..Params::default() });
    let peer = stand.bench.shape().ports[1].peer;
    stand.bench.set_egress(OUT, MQ, 301_000);
    stand.bench.set_egress(OUT, CQ, 1_064);
    assert_eq!(stand.arrive(7, Class(3)).1.ecn(), Ecn::Ce);
    stand.hear(OUT, None, peer, Some(7));
    stand.bench.set_egress(OUT, MQ, 0);
    assert_eq!(stand.arrive(7, Class(3)).1.ecn(), Ecn::Ce);
    stand.empty();
    let (at, pkt) = stand.arrive(7, Class(3));
    assert_eq!((at.queue, pkt.ecn()), (CQ, Ecn::Ect), "isolated by the CIM alone");
    stand.empty();
    stand.bench.now = life;
    assert!(!stand.isolates(7));
}

/// A packet without memory may have been the only one on its way to an empty CQ.
#[test]
fn a_dropped_packet_does_not_keep_an_entry() {
    let mut stand = Stand::new(Params::default());
    stand.bench.set_egress(OUT, MQ, 301_000);
    let mut pkt = data(HostId(0), HostId(1), 7, Class(3), 1000);
    let mut at = place(IN, OUT, Class(3));
    stand.bridge.steer(&mut stand.bench.cx(), &mut at, &mut pkt);
    assert_eq!(stand.count(OUT, "entries_live"), 1);
    assert_eq!(stand.bridge.on_full(&mut stand.bench.cx(), &mut at, &mut pkt), Full::Drop);
    assert_eq!(stand.count(OUT, "entries_live"), 0);
}

/// A packet by which its flow is found stays behind other packets of the flow in an isolation queue, and joins their queue: no packet is on
/// its way to the empty CQ. A packet that was in the fabric when the flow was found has no such meaning.
#[test]
fn a_packet_that_stays_in_its_old_queue_keeps_no_entry() {
    let mut stand = Stand::new(Params::default());
    let old = place(IN, OUT, Class(3));
    let find = |stand: &mut Stand| {
        stand.bench.set_egress(OUT, MQ, 301_000);
        let mut pkt = data(HostId(0), HostId(1), 7, Class(3), 1000);
        pkt.uid = 2;
        let mut at = old;
        stand.bridge.steer(&mut stand.bench.cx(), &mut at, &mut pkt);
        assert_eq!(at.queue, CQ);
        pkt.class = Class(3);
        pkt
    };
    let mut found_by = find(&mut stand);
    let mut before = found_by;
    before.uid = 1;
    stand.bridge.on_enqueue(&mut stand.bench.cx(), &old, &mut before);
    assert_eq!(stand.count(OUT, "entries_live"), 1);
    stand.bridge.on_enqueue(&mut stand.bench.cx(), &old, &mut found_by);
    stand.bench.set_egress(OUT, MQ, 0);
    assert_eq!(stand.count(OUT, "entries_live"), 0);
    assert!(!stand.isolates(7));
    // While the CQ holds something the flow is isolated, whichever flow's packet that is.
    stand.bench.set_egress(OUT, CQ, 1_064);
    stand.arrive(9, Class(2));
    let mut found_by = find(&mut stand);
    stand.bridge.on_enqueue(&mut stand.bench.cx(), &old, &mut found_by);
    assert!(stand.isolates(7));
    stand.empty();
    assert_eq!(stand.count(OUT, "entries_live"), 0);
}

/// The table does not keep ended entries forever.
#[test]
fn the_table_is_swept() {
    let mut stand = Stand::new(Params::default());
    for flow in 0..10_000 {
        stand.bench.set_egress(OUT, MQ, 301_000);
        stand.bench.set_egress(OUT, CQ, 1_064);
        assert!(stand.isolates(flow));
        stand.empty();
    }
    assert!(stand.bridge.ports[1].streams.held() <= 64, "{}", stand.bridge.ports[1].streams.held());
}

#[test]
fn an_end_station_sends_in_the_other_priority() {
    let params = Params { end_stations: true, max_flow_life: Time::us(100), ..Params::default() };
    let mut bench = NicBench::new(HostId(0), Rate::gbps(100));
    let mut station = CongestionIsolation::nic(&params, bench.shape()).expect("end stations take part");
    let flow = FlowRef { slot: 7, tag: 7 };
    let frame = Message::new(NodeId(9), (OUT, CQ), false, &params).frame(1, flow, &params);
    assert_eq!(station.on_control(&mut bench.cx(), &frame), Fate::Consumed);
    assert_eq!(
        bench.actions(),
        [NicAction::SendIn(flow, Some(Class(2))), NicAction::Arm(backwater_net::bench::OWNER, Time::us(100), 0)]
    );
    bench.now = Time::us(50);
    station.on_control(&mut bench.cx(), &frame);
    assert_eq!(bench.actions(), []);
    bench.now = Time::us(100);
    station.on_timer(&mut bench.cx(), 0);
    assert_eq!(bench.actions(), [NicAction::Arm(backwater_net::bench::OWNER, Time::us(150), 0)]);
    bench.now = Time::us(150);
    station.on_timer(&mut bench.cx(), 0);
    assert_eq!(bench.actions(), [NicAction::SendIn(flow, None)]);
    assert!(CongestionIsolation::nic(&Params::default(), bench.shape()).is_none());
}

#[test]
fn lengths_of_cims() {
    let size = |cim_type, octets| Params { cim_type, min_header_octets: Bytes(octets), ..Params::default() }.cim_size();
    assert_eq!([size(CimType::L2, 48), size(CimType::Ipv4, 48), size(CimType::Ipv6, 48)], [88, 116, 136]);
    assert_eq!(size(CimType::L2, 0), 64, "no frame is shorter");
    // 802.1Q 33.4: 24 octets, then at most 64 of the frame; Ethernet 14, tag 4 and FCS 4.
    assert_eq!([size(CimType::Cnm, 48), size(CimType::Cnm, 64), size(CimType::Cnm, 512)], [94, 110, 110]);
}

#[test]
fn queue_maps_that_cannot_work_are_refused() {
    let judge = |map: &[i8]| {
        let params = Params { queue_map: map.to_vec(), ..Params::default() };
        let found = crate::stack::inspect::<CongestionIsolation>(&params, &Default::default());
        found.first().map(|finding| finding.fatal)
    };
    assert_eq!(judge(&Params::default().queue_map), None);
    assert_eq!(judge(&[0; 8]), None, "takes no part");
    assert_eq!(judge(&[0, -4, 4, 4, 0, 0, 0, 0]), None, "two monitored queues may share one");
    assert_eq!(judge(&[0, 0, 4, -4, 0, 0, 0, 0]), Some(false), "the congesting one is served first");
    for wrong in [&[0, 0, -4, 5, 0, 0, 0, 0][..], &[0, -4, -4, 4, 0, 0, 0, 0], &[4, -4], &[9, -9, 0, 0, 0, 0, 0, 0]] {
        assert_eq!(judge(wrong), Some(true), "{wrong:?}");
    }
}
