//! A host alone: one link, with the times of sent frames and answers.

mod returned;
mod turns;

use super::*;
use crate::config::{Recovery, Window};
use crate::model::hooks::attachment::Attachment;
use crate::model::hooks::{Departure, FlowCx, FlowShape, FlowSide, NicShape, NicSide};
use crate::model::host::flow::{Controller, SendFlow};
use crate::model::host::{Controllers, Flows, Host, Interface, Tables};
use crate::model::packet::{AckHeader, DsField, Dscp, Ecn, FlowRef, Gap, Port as PortNo, Queue};
use crate::model::port::queues::HostQueues;
use crate::model::transport::{Sender, SenderCommon};
use crate::model::world::RunEffect;
use crate::spec::FlowSpec;
use crate::topology::NodeKind;
use backwater_engine::fingerprint::mix;

/// Sends at a rate that changes at a time.
#[derive(Clone, Copy)]
pub(super) struct Paced {
    rate: Rate,
    then: Option<(Time, Rate)>,
}

#[backwater_derive::hooks]
impl FlowSide for Paced {
    fn rate(&self) -> Option<Rate> {
        Some(self.rate)
    }
    fn on_send(&mut self, cx: &mut FlowCx<'_>, _: &mut Packet) {
        if let Some((at, _)) = self.then.filter(|(at, _)| *at > cx.now()) {
            cx.arm(at, 0);
        }
    }
    fn on_timer(&mut self, _: &mut FlowCx<'_>, _: u16) {
        if let Some((_, rate)) = self.then.take() {
            self.rate = rate;
        }
    }
}

/// Frames of queue 3 may start once so many others have; no gate shows it.
#[derive(Default)]
pub(super) struct After {
    others: u32,
    started: u32,
}

#[backwater_derive::hooks]
impl LinkSide for After {
    fn may_transmit(&self, _: PortNo, queue: Queue, _: &Packet) -> bool {
        queue != Queue(3) || self.started >= self.others
    }
    fn on_start(&mut self, _: &mut LinkCx<'_>, from: &Departure, _: &Packet, _: Option<&mut Attachment>) {
        self.started += u32::from(from.queue != Queue(3));
    }
}

#[backwater_derive::hooks(link)]
impl NicSide for After {}

pub(super) struct LoneHost {
    host: Host<After>,
    pub(super) tables: Tables<Paced>,
}

impl LoneHost {
    fn at<'a>(&'a mut self, ports: &'a mut [Port], world: &'a mut World) -> NodeCx<'a, Interface<'a, After, Paced>> {
        NodeCx { node: Interface::new(&mut self.host, &mut self.tables), ports, world }
    }
}

impl Alone for LoneHost {
    fn arrive(&mut self, ports: &mut [Port], world: &mut World, _: u16, pkt: Ix) {
        self.at(ports, world).arrive(pkt);
    }
    fn sent(&mut self, ports: &mut [Port], world: &mut World, port: u16) {
        self.at(ports, world).sent(port);
    }
    fn happen(&mut self, ports: &mut [Port], world: &mut World, event: Event) {
        let mut at = self.at(ports, world);
        match event {
            Event::Pace { controller, .. } => at.pace(controller),
            Event::FlowTimer { controller, owner, token, .. } => at.flow_timer(controller, MechanismId(owner), token),
            Event::Timeout { slot, .. } => at.timed_out(slot as usize),
            other => panic!("{other:?}"),
        }
    }
}

/// The host h0; its frames go to h1 at the other end of its link.
pub(super) fn host(ack: AckParams, transport: TransportParams, nic: NicParams) -> Lone<LoneHost> {
    with_queues(HostQueues::default(), ack, transport, nic)
}

fn with_queues(queues: HostQueues, ack: AckParams, transport: TransportParams, nic: NicParams) -> Lone<LoneHost> {
    let mut graph = Graph::default();
    let ends = [0, 1].map(|end| graph.add(format!("h{end}"), "host", NodeKind::Host));
    graph.link(ends[0], ends[1], RATE, DELAY);
    let rules = rules(PacketParams::default(), ack, transport, nic);
    Lone::new(graph, 1, rules, |_, _| {
        let shape = NicShape { host: HostId(0), rate: RATE, queues };
        LoneHost {
            host: Host::new(0, 0, shape, After::default(), &NicParams::default()),
            tables: Tables { flows: Flows::default(), controllers: Controllers::new(1) },
        }
    })
}

fn plain() -> Lone<LoneHost> {
    host(AckParams::default(), TransportParams::default(), NicParams::default())
}

pub(super) fn recovering(recovery: Recovery) -> Lone<LoneHost> {
    let transport = TransportParams { recovery, timeout: Time::us(10), ..TransportParams::default() };
    host(AckParams { size: Bytes(64), ..AckParams::default() }, transport, NicParams::default())
}

impl Lone<LoneHost> {
    /// A flow of `packets` full packets from one host to the other; returns its slot.
    pub(super) fn flow(&mut self, src: u32, class: u8, packets: u64) -> u32 {
        let id = self.node.tables.flows.send.len() as u64;
        let spec = FlowSpec {
            id,
            group: 0,
            src: HostId(src),
            dst: HostId(1 - src),
            bytes: packets * PAYLOAD,
            start: Time::ZERO,
            class: Class(class),
            ect: false,
            path: None,
            ack_path: None,
            link: None,
            stream: None,
        };
        let ds = DsField::new(Dscp::of(Class(class)), Ecn::NotEct);
        let transport = Sender::new(self.world.rules.transport.recovery, false);
        let flow = SendFlow::new(&spec, src, mix(id + 1), ds, self.world.now, transport);
        let pending = self.world.rules.ack.pending_at_first();
        self.node.tables.flows.insert(flow, 1 - src, crate::model::packet::PathRef::NONE, pending, false)
    }

    /// The flow is paced.
    pub(super) fn pace(&mut self, slot: u32, side: Paced) {
        let (src, dst, class) = (HostId(0), HostId(1), Class(3));
        let shape = FlowShape { src, dst, class, line: RATE, payload: Bytes(PAYLOAD), frame: Bytes(PAYLOAD), hops: 0 };
        self.node.tables.controllers.list.push(Some(Controller::new(side, shape, 0, 0, slot, slot)));
        self.node.tables.flows.send[slot as usize].controller = self.node.tables.controllers.list.len() as u32 - 1;
    }

    /// Returns the counters of a flow's sender.
    pub(super) fn counts(&self, slot: u32) -> &SenderCommon {
        let sender = self.node.tables.flows.send[slot as usize].transport.as_ref();
        sender.map(|sender| &sender.common).expect("it retransmits")
    }

    pub(super) fn begin(&mut self, slot: u32) {
        self.node.at(&mut self.ports[..1], &mut self.world).begin(slot, Time::ZERO);
    }

    pub(super) fn reference(&self, slot: u32) -> FlowRef {
        self.node.tables.flows.reference(slot)
    }

    /// Packet `nth` of a flow that this host receives.
    pub(super) fn packet(&self, slot: u32, nth: u64) -> Packet {
        let packet = frame(0, 3, PAYLOAD + HEADER, nth);
        crate::bench::at_offset(Packet { flow: self.reference(slot), ..packet }, nth * PAYLOAD)
    }

    /// An answer to a flow that this host sends: all before packet `upto` have arrived, and packet `beyond` as well.
    pub(super) fn answer(&self, slot: u32, upto: u64, beyond: Option<u64>) -> Packet {
        let gap = beyond.map(|nth| Gap::Before(nth * PAYLOAD));
        let ack = AckHeader { src: HostId(1), received: upto * PAYLOAD, gap };
        Packet { body: Body::Ack(ack), flow: self.reference(slot), ..frame(0, 3, 64, 1000 + upto) }
    }

    /// Returns the data packets that arrived at the other end, with their times.
    pub(super) fn data(&self) -> Vec<(Time, u64)> {
        self.arrived.iter().filter(|a| a.kind == Kind::Data).map(|a| (a.at, a.bytes / PAYLOAD)).collect()
    }

    /// Returns the answers that arrived at the other end, with their times and the cumulative offset of each.
    pub(super) fn answers(&self) -> Vec<(Time, Kind, u64)> {
        self.arrived.iter().filter(|a| a.kind != Kind::Data).map(|a| (a.at, a.kind, a.bytes / PAYLOAD)).collect()
    }
}

/// A packet that begins at `t` has arrived after its frame time and the link's delay.
pub(super) fn full_after(t: Time) -> Time {
    t + wire(PAYLOAD + HEADER) + DELAY
}

pub(super) fn ack_after(t: Time) -> Time {
    t + wire(64) + DELAY
}

/// Flows of a class take turns packet by packet, and a higher class goes first.
#[test]
fn flows_take_turns() {
    let mut host = plain();
    let flows = [host.flow(0, 3, 3), host.flow(0, 3, 2), host.flow(0, 5, 2)];
    flows.into_iter().for_each(|slot| host.begin(slot));
    host.run();
    // The first flow found the wire free, and was in line again before the second began; class 5 precedes both.
    let sent: Vec<u64> = host.data().iter().map(|(_, nth)| *nth).collect();
    assert_eq!(sent, [0, 0, 1, 1, 0, 2, 1]);
    let times: Vec<Time> = host.data().iter().map(|(at, _)| *at).collect();
    let expected: Vec<Time> = (0..7).map(|k| full_after(wire(PAYLOAD + HEADER) * k)).collect();
    assert_eq!(times, expected);
}

/// The next packet of a paced flow goes 8 (size + gap) / rate after the one before.
#[test]
fn pacing_spaces_packets() {
    for (gbps, space) in [(10, 864_000), (25, 345_600), (3, 2_880_000), (100, 86_400), (400, 86_400)] {
        let mut host = plain();
        let slot = host.flow(0, 3, 5);
        host.pace(slot, Paced { rate: Rate::gbps(gbps), then: None });
        host.begin(slot);
        host.run();
        let expected: Vec<(Time, u64)> = (0..5).map(|k| (full_after(Time(space) * k), k)).collect();
        assert_eq!(host.data(), expected, "{gbps} Gb/s");
    }
}

/// A rate that changes while a flow waits applies from the last packet on; if that time is past, the packet leaves at once.
#[test]
fn a_new_rate_counts_from_the_last_packet() {
    for (then, second) in [(20, 432_000), (5, 1_728_000), (100, 400_000)] {
        let mut host = plain();
        let slot = host.flow(0, 3, 2);
        host.pace(slot, Paced { rate: Rate::gbps(10), then: Some((Time::ns(400), Rate::gbps(then))) });
        host.begin(slot);
        host.run();
        assert_eq!(host.data(), [(full_after(Time::ZERO), 0), (full_after(Time(second)), 1)], "to {then} Gb/s");
    }
}

/// The bytes in flight stay within the window; an acknowledgement releases the next packet at the instant of its arrival.
#[test]
fn a_window_opens_with_an_acknowledgement() {
    let transport = TransportParams { window: Some(Window::Bytes(Bytes(2 * PAYLOAD))), ..TransportParams::default() };
    let mut host = host(AckParams::default(), transport, NicParams::default());
    let slot = host.flow(0, 3, 4);
    host.node.tables.flows.send[slot as usize].window = 2 * PAYLOAD;
    host.begin(slot);
    let ack = host.answer(slot, 1, None);
    host.send(Time::us(3), 0, ack);
    host.run();
    let each = wire(PAYLOAD + HEADER);
    let third = full_after(ack_after(Time::us(3)));
    assert_eq!(host.data(), [(full_after(Time::ZERO), 0), (full_after(each), 1), (third, 2)]);
}

/// A flow is found at its sender, and at its receiver.
#[test]
fn a_host_finds_its_own_flows() {
    let mut host = plain();
    let [sent, received] = [0, 1].map(|src| {
        let slot = host.flow(src, 3, 1);
        host.reference(slot)
    });
    let at = host.node.at(&mut host.ports[..1], &mut host.world);
    assert_eq!([sent, received].map(|flow| at.node.find_sending(flow)), [Some(0), None]);
    assert_eq!([sent, received].map(|flow| at.node.find_receiving(flow)), [None, Some(1)]);
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "another interface sends this flow")]
fn a_host_does_not_touch_what_another_sends() {
    let mut host = plain();
    let slot = host.flow(1, 3, 1);
    host.begin(slot);
}

/// Data is acknowledged at the instant of its arrival, and with the last byte the flow is whole.
#[test]
fn data_is_acknowledged_at_once() {
    let mut host = recovering(Recovery::None);
    let slot = host.flow(1, 3, 3);
    for nth in 0..3 {
        let packet = host.packet(slot, nth);
        host.send(Time::us(nth), 0, packet);
    }
    host.run();
    let expected = [0, 1, 2].map(|nth| (ack_after(full_after(Time::us(nth))), Kind::Ack, nth + 1));
    assert_eq!(host.answers(), expected);
    assert!(matches!(host.world.effects[..], [RunEffect::LastByte { slot: whole }] if whole == slot));
    assert_eq!(host.node.tables.flows.recv[slot as usize].last_byte, full_after(Time::us(2)));
}

/// If several packets share an acknowledgement, the last of a flow does not wait for another.
#[test]
fn packets_share_an_acknowledgement() {
    let ack = AckParams { size: Bytes(64), every: 2, ..AckParams::default() };
    let mut host = host(ack, TransportParams::default(), NicParams::default());
    let slot = host.flow(1, 3, 5);
    for nth in 0..5 {
        let packet = host.packet(slot, nth);
        host.send(Time::us(nth), 0, packet);
    }
    host.run();
    let expected = [(1, 2), (3, 4), (4, 5)].map(|(us, upto)| (ack_after(full_after(Time::us(us))), Kind::Ack, upto));
    assert_eq!(host.answers(), expected);
}

/// The first packet of a flow waits for no other, with the option; later packets share an acknowledgement in pairs.
#[test]
fn the_first_packet_may_be_acknowledged_at_once() {
    let ack = AckParams { size: Bytes(64), every: 2, first_packet: true, ..AckParams::default() };
    let mut host = host(ack, TransportParams::default(), NicParams::default());
    let slot = host.flow(1, 3, 6);
    for nth in 0..6 {
        let packet = host.packet(slot, nth);
        host.send(Time::us(nth), 0, packet);
    }
    host.run();
    let expected =
        [(0, 1), (2, 3), (4, 5), (5, 6)].map(|(us, upto)| (ack_after(full_after(Time::us(us))), Kind::Ack, upto));
    assert_eq!(host.answers(), expected);
}

/// An acknowledgement waits for the packet on the wire and precedes the next one.
#[test]
fn acknowledgements_go_before_data() {
    let mut host = recovering(Recovery::None);
    let (out, back) = (host.flow(0, 3, 5), host.flow(1, 3, 1));
    host.begin(out);
    let packet = host.packet(back, 0);
    host.send(Time::ZERO, 0, packet);
    host.run();
    // It came at 236.4 ns, while the third packet was on the wire, which ends at 259.2 ns.
    let each = wire(PAYLOAD + HEADER);
    assert!(each * 2 < full_after(Time::ZERO) && full_after(Time::ZERO) < each * 3);
    assert_eq!(host.answers(), [(ack_after(each * 3), Kind::Ack, 1)]);
    assert_eq!(host.data()[3], (full_after(each * 3 + wire(64)), 3));
}

/// Go-back-n at the receiver: one NACK for each gap, packets beyond it are dropped, duplicates are acknowledged again.
#[test]
fn go_back_n_reports_a_gap_once() {
    let mut host = recovering(Recovery::GoBackN);
    let slot = host.flow(1, 3, 4);
    for (us, nth) in [0, 2, 3, 1, 1, 3, 2, 3].into_iter().enumerate() {
        let packet = host.packet(slot, nth);
        host.send(Time::us(us as u64), 0, packet);
    }
    host.run();
    // 0 arrives; 2 shows the gap at 1, 3 is silent; 1 fills it and arrives again; 3 shows the gap at 2; 2 and 3 arrive.
    let reported = [
        (0, Kind::Ack, 1),
        (1, Kind::Nack, 1),
        (3, Kind::Ack, 2),
        (4, Kind::Ack, 2),
        (5, Kind::Nack, 2),
        (6, Kind::Ack, 3),
        (7, Kind::Ack, 4),
    ];
    assert_eq!(host.answers(), reported.map(|(us, kind, upto)| (ack_after(full_after(Time::us(us))), kind, upto)));
}

/// Go-back-n at the sender: the next packet after a NACK is the one that it names, and all follow anew.
#[test]
fn go_back_n_rewinds() {
    let mut host = recovering(Recovery::GoBackN);
    let slot = host.flow(0, 3, 6);
    host.begin(slot);
    let each = wire(PAYLOAD + HEADER);
    // Heard at 20 + 6.72 + 150 = 176.72 ns, while packet 2 is on the wire: 1 is missing.
    let nack = host.answer(slot, 1, Some(2));
    host.send(Time::ns(20), 0, nack);
    let heard = ack_after(Time::ns(20));
    assert!(each * 2 < heard && heard < each * 3);
    host.run_until(Time::us(1));
    let order = [0, 1, 2, 1, 2, 3, 4, 5];
    let expected: Vec<(Time, u64)> = (0..8).map(|k| (full_after(each * k), order[k as usize])).collect();
    assert_eq!(host.data(), expected);
    let sender = host.counts(slot);
    assert_eq!((sender.retransmitted, sender.timeouts), (2, 0));
}

/// Without progress for the timeout, everything unacknowledged is retransmitted; an acknowledgement starts the timer anew.
#[test]
fn a_timeout_rewinds_to_what_is_acknowledged() {
    let mut host = recovering(Recovery::GoBackN);
    let slot = host.flow(0, 3, 3);
    host.begin(slot);
    let ack = host.answer(slot, 1, None);
    host.send(Time::us(4), 0, ack);
    let due = ack_after(Time::us(4)) + Time::us(10);
    let all = host.answer(slot, 3, None);
    host.send(due + Time::us(5), 0, all);
    host.run();
    let each = wire(PAYLOAD + HEADER);
    let expected = [(Time::ZERO, 0), (each, 1), (each * 2, 2), (due, 1), (due + each, 2)];
    assert_eq!(host.data(), expected.map(|(begins, nth)| (full_after(begins), nth)));
    let complete = |outcome: &RunEffect| matches!(outcome, RunEffect::Complete { slot: done } if *done == slot);
    assert_eq!(host.world.effects.iter().filter(|outcome| complete(outcome)).count(), 1);
}

/// Selective repeat: only missing packets are retransmitted.
#[test]
fn selective_repeat_sends_what_is_missing() {
    let mut host = recovering(Recovery::SelectiveRepeat);
    let slot = host.flow(0, 3, 6);
    host.begin(slot);
    let nack = host.answer(slot, 1, Some(2));
    host.send(Time::ns(20), 0, nack);
    host.run_until(Time::us(1));
    let each = wire(PAYLOAD + HEADER);
    let order = [0, 1, 2, 1, 3, 4, 5];
    let expected: Vec<(Time, u64)> = (0..7).map(|k| (full_after(each * k), order[k as usize])).collect();
    assert_eq!(host.data(), expected);
}

/// One of two queues of a class is refused for a time: its flows are tried whenever the port looks for work, though no gate opens.
#[test]
fn flows_of_a_refused_queue_are_asked_again() {
    let queues = HostQueues::new(Class(3), &[Class(3), Class(5)]).expect("two priorities");
    let mut host = with_queues(queues, AckParams::default(), TransportParams::default(), NicParams::default());
    host.world.rules.hooks.nic_links = host.node.host.stack.link_hooks();
    host.ports[0].report_events();
    host.node.host.stack.others = 3;
    let flows = [(3, 3), (5, 4)].map(|(queue, packets)| {
        let slot = host.flow(0, 3, packets);
        host.node.tables.flows.send[slot as usize].ds = DsField::new(Dscp::of(Class(queue)), Ecn::NotEct);
        slot
    });
    flows.into_iter().for_each(|slot| host.begin(slot));
    host.run();
    // Three of the second flow, then frame by frame in turn.
    let sent: Vec<u64> = host.data().iter().map(|(_, nth)| *nth).collect();
    assert_eq!(sent, [0, 1, 2, 0, 3, 1, 2]);
    let times: Vec<Time> = host.data().iter().map(|(at, _)| *at).collect();
    assert_eq!(times, (0..7).map(|k| full_after(wire(PAYLOAD + HEADER) * k)).collect::<Vec<_>>());
}
