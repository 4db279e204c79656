//! Hooks that schemes of 2026 need, with the tests' own mechanisms: attachments, port events, begin and end of flows, frames that each side
//! sends, a gate with a query, and a queue for trimmed packets.
//!
//! Frames are 4000 B and 64 B of header: 325.12 ns at 100 Gb/s. Acknowledgements are 64 B, 5.12 ns. Links take 150 ns, switches 300 ns.

use crate::own::{Bench, Makes, own};
use backwater_engine::Time;
use backwater_net::attachment::Attachment;
use backwater_net::bench::network::network;
use backwater_net::config::{BufferPer, Recovery, ReleaseAt, TransportParams};
use backwater_net::hooks::{
    Absent, Ack, Departure, Fate, FlowCx, FlowShape, FlowSide, Full, Incoming, LinkCx, LinkSide, NicCx, NicSide, Place,
    RateKey, SwitchCx, SwitchSide, Token,
};
use backwater_net::packet::{Class, Control, FlowRef, HostId, NodeId, Packet, Port, Queue};
use backwater_net::record::State;
use backwater_net::spec::{FaultKind, FrameKind};
use backwater_net::{Bytes, Rate};
use std::cell::RefCell;
use std::rc::Rc;

/// A 4064-B frame, and a 64-B one, at 100 Gb/s.
const DATA: Time = Time(325_120);
const SHORT: Time = Time(5_120);
const LINK: Time = Time::ns(150);
const SWITCH: Time = Time::ns(300);

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Data,
    Ack,
}

impl Kind {
    fn of(pkt: &Packet) -> Kind {
        if pkt.is_data() { Kind::Data } else { Kind::Ack }
    }
}

type Log<T> = Rc<RefCell<Vec<T>>>;

fn frame(kind: &'static str, flow: Option<FlowRef>) -> Control {
    Control { flow, ..Control::carrying(kind, 64, 0, &()) }
}

/// Every packet carries the byte at which it begins; each switch adds its number and the bytes that its port had sent before.
#[derive(Clone, Default)]
struct Telemetry {
    echoed: Log<(u64, Option<Attachment>)>,
}

impl Makes for Telemetry {
    fn switch(&self) -> Box<dyn SwitchSide> {
        Box::new(self.clone())
    }
    fn flow(&self) -> Option<Box<dyn FlowSide>> {
        Some(Box::new(self.clone()))
    }
}

#[backwater_derive::hooks(link)]
impl SwitchSide for Telemetry {}

#[backwater_derive::hooks]
impl LinkSide for Telemetry {
    fn on_start(&mut self, cx: &mut LinkCx<'_>, from: &Departure, pkt: &Packet, carried: Option<&mut Attachment>) {
        let (Some(Attachment(words)), LinkCx::Switch(cx)) = (carried, cx) else { return };
        if pkt.is_data() {
            words[1] += 1;
            words[1 + words[1] as usize] = from.tx_bytes << 16 | u64::from(cx.shape().node.0);
        }
    }
}

#[backwater_derive::hooks]
impl FlowSide for Telemetry {
    fn attach(&mut self, pkt: &Packet) -> Option<Attachment> {
        // Every other packet only.
        let mut words = [0; 16];
        words[0] = pkt.data()?.offset;
        (words[0] / 4000).is_multiple_of(2).then_some(Attachment(words))
    }
    fn on_ack(&mut self, _: &mut FlowCx<'_>, ack: &Ack<'_>) {
        self.echoed.borrow_mut().push((ack.received, ack.carried.copied()));
    }
}

/// The attachment that a packet has collected returns with its acknowledgement, and with no other.
#[test]
fn acknowledgements_bring_back_what_packets_carry() {
    let mut bench = Bench::leaf_spine(2, 1, 2);
    bench.flow(0, 2, 40_000);
    let telemetry = Telemetry::default();
    let out = bench.run_with(own(telemetry.clone()));
    assert_eq!(out.unrest, Vec::<String>::new());
    let nodes = ["leaf0", "spine0", "leaf1"].map(|name| u64::from(bench.node(name).0));
    let expected: Vec<(u64, Option<Vec<u64>>)> = (0..10)
        .map(|packet| {
            let hop = |node: u64| (packet * 4064) << 16 | node;
            let carried = [vec![packet * 4000, 3], nodes.map(hop).to_vec()].concat();
            ((packet + 1) * 4000, (packet % 2 == 0).then_some(carried))
        })
        .collect();
    let echoed: Vec<(u64, Option<Vec<u64>>)> =
        telemetry.echoed.borrow().iter().map(|(to, a)| (*to, a.map(|a| a.0[..5].to_vec()))).collect();
    assert_eq!(echoed, expected);
}

/// Places of lost packets are reused, and new packets do not find the old attachments. For packets that are acknowledged together, the
/// attachment of the last one returns.
#[test]
fn what_a_lost_packet_carried_is_lost() {
    let mut bench = Bench::star(2, Rate::gbps(100));
    bench.transport = TransportParams { recovery: Recovery::SelectiveRepeat, ..TransportParams::default() };
    bench.ack.every = 4;
    bench.flow(0, 1, 400_000);
    let (s0, h1) = (bench.node("s0"), bench.node("h1"));
    for nth in [3, 8, 21, 22, 23] {
        bench.fault(Time::ZERO, FaultKind::DropNth { from: s0, to: h1, what: FrameKind::Data, nth });
    }
    let telemetry = Telemetry::default();
    let out = bench.run_with(own(telemetry.clone()));
    assert_eq!((&out.rows.flows[0].state, out.rows.flows[0].received), (&State::Complete, 400_000));
    for (_, carried) in telemetry.echoed.borrow().iter() {
        if let Some(Attachment(words)) = carried {
            assert_eq!((words[0] % 8000, words[1]), (0, 1), "{words:?}");
        }
    }
    assert!(telemetry.echoed.borrow().iter().any(|(_, carried)| carried.is_some()));
    assert!(telemetry.echoed.borrow().iter().any(|(_, carried)| carried.is_none()));
}

/// Records when frames begin to leave and have left: direction, frame, time, and the port's totals before.
#[derive(Clone, Default)]
struct Ports {
    seen: Log<(&'static str, Time, Departure, Kind)>,
    joined: Log<(Time, Queue, Kind)>,
}

impl Makes for Ports {
    fn switch(&self) -> Box<dyn SwitchSide> {
        Box::new(self.clone())
    }
    fn nic(&self) -> Box<dyn NicSide> {
        Box::new(self.clone())
    }
}

#[backwater_derive::hooks]
impl LinkSide for Ports {
    fn on_start(&mut self, cx: &mut LinkCx<'_>, from: &Departure, pkt: &Packet, carried: Option<&mut Attachment>) {
        assert_eq!(carried, None);
        let what = if let LinkCx::Switch(_) = cx { "switch starts" } else { "nic starts" };
        self.seen.borrow_mut().push((what, cx.now(), *from, Kind::of(pkt)));
    }
}

#[backwater_derive::hooks(link)]
impl SwitchSide for Ports {}

#[backwater_derive::hooks(link)]
impl NicSide for Ports {
    fn on_enqueue(&mut self, cx: &mut NicCx<'_>, queue: Queue, pkt: &Packet) {
        self.joined.borrow_mut().push((cx.now(), queue, Kind::of(pkt)));
    }
}

/// Switch and NIC report the same for their ports, whenever a switch releases memory.
#[test]
fn ports_tell_when_frames_begin_to_leave() {
    for release_at in [ReleaseAt::Start, ReleaseAt::End] {
        let mut bench = Bench::star(2, Rate::gbps(100));
        bench.switch.release_at = release_at;
        bench.flow(0, 1, 8000);
        let ports = Ports::default();
        let out = bench.run_with(own(ports.clone()));
        let from = |port: u16, frames: u64, bytes: u64| Departure {
            port: Port(port),
            queue: Queue(3),
            rate: Rate::gbps(100),
            tx_frames: frames,
            tx_bytes: bytes,
        };
        let (first, second) = (from(0, 0, 0), from(0, 1, 4064));
        let of = |who: &str, kind: Kind| -> Vec<(Time, Departure)> {
            let seen = ports.seen.borrow();
            seen.iter().filter(|(w, .., k)| *w == who && *k == kind).map(|(_, at, from, _)| (*at, *from)).collect()
        };
        assert_eq!(of("nic starts", Kind::Data), [(Time::ZERO, first), (DATA, second)]);
        // Over the link and through the switch, and out by the port to host 1.
        let there = DATA + LINK + SWITCH;
        let (first, second) = (from(1, 0, 0), from(1, 1, 4064));
        assert_eq!(of("switch starts", Kind::Data), [(there, first), (there + DATA, second)]);
        let answered = there + DATA + LINK;
        let (first, second) = (from(0, 0, 0), from(0, 1, 64));
        assert_eq!(of("nic starts", Kind::Ack), [(answered, first), (answered + DATA, second)]);
        let joined = [
            (Time::ZERO, Queue(3), Kind::Data),
            (DATA, Queue(3), Kind::Data),
            (answered, Queue(3), Kind::Ack),
            (answered + DATA, Queue(3), Kind::Ack),
        ];
        assert_eq!(*ports.joined.borrow(), joined);
        let fct = out.rows.flows[0].fct_last_ack;
        assert_eq!(fct, Some(answered + DATA + SHORT + LINK + SWITCH + SHORT + LINK), "nothing is any later for it");
    }
}

/// Records what both halves of flows learn of their begin and end.
#[derive(Clone, Default)]
struct Ends {
    sender: Log<(&'static str, Time, u64)>,
    receiver: Log<(&'static str, Time, FlowRef)>,
    incoming: Log<Incoming>,
}

impl Makes for Ends {
    fn nic(&self) -> Box<dyn NicSide> {
        Box::new(self.clone())
    }
    fn flow(&self) -> Option<Box<dyn FlowSide>> {
        Some(Box::new(self.clone()))
    }
}

#[backwater_derive::hooks]
impl NicSide for Ends {
    fn on_flow_start(&mut self, cx: &mut NicCx<'_>, incoming: &Incoming) {
        self.incoming.borrow_mut().push(*incoming);
        self.receiver.borrow_mut().push(("start", cx.now(), incoming.flow));
    }
    fn on_flow_end(&mut self, cx: &mut NicCx<'_>, flow: FlowRef) {
        self.receiver.borrow_mut().push(("end", cx.now(), flow));
    }
}

#[backwater_derive::hooks]
impl FlowSide for Ends {
    fn on_start(&mut self, cx: &mut FlowCx<'_>) {
        self.sender.borrow_mut().push(("start", cx.now(), cx.backlog().0));
    }
    fn on_ack(&mut self, cx: &mut FlowCx<'_>, _: &Ack<'_>) {
        self.sender.borrow_mut().push(("ack", cx.now(), cx.backlog().0));
    }
    fn on_end(&mut self, cx: &mut FlowCx<'_>) {
        self.sender.borrow_mut().push(("end", cx.now(), cx.backlog().0));
    }
}

/// A flow's sender learns of its start, and of its end with the last acknowledgement; its receiver with the first packet and with the last
/// byte. The backlog is the unsent part.
#[test]
fn both_ends_hear_of_a_flows_begin_and_end() {
    let mut bench = Bench::star(2, Rate::gbps(100));
    bench.flow(0, 1, 20_000).start = Time::us(3);
    let ends = Ends::default();
    let out = bench.run_with(own(ends.clone()));
    let (begins, first) = (Time::us(3), Time::us(3) + DATA + LINK + SWITCH + DATA + LINK);
    let last = first + Time(4 * DATA.0);
    let back = SHORT + LINK + SWITCH + SHORT + LINK;
    // The first of five packets is acknowledged after 1.56 us, in which all have been sent but the fifth begins at 1.3 us.
    assert_eq!(first + back, Time::us(3) + Time(2 * 325_120 + 2 * 5_120 + 1_200_000));
    let mut sender = vec![("start", begins, 20_000)];
    sender.extend((0..5).map(|n| ("ack", first + back + Time(n * DATA.0), 0)));
    sender.push(("end", last + back, 0));
    assert_eq!(*ends.sender.borrow(), sender);
    let flow = ends.incoming.borrow()[0].flow;
    assert_eq!(*ends.incoming.borrow(), [Incoming { flow, src: HostId(0), class: Class(3), bytes: Bytes(20_000) }]);
    assert_eq!(*ends.receiver.borrow(), [("start", first, flow), ("end", last, flow)]);
    assert_eq!(out.rows.flows[0].fct_last_byte, Some(last - begins));
}

/// A receiver learns of the end of a flow whose sender gives up; a flow without arrived packets has not begun there.
#[test]
fn a_flow_that_fails_ends_at_both_ends() {
    let mut bench = Bench::star(3, Rate::gbps(100));
    let timeout = Time::us(50);
    bench.transport =
        TransportParams { recovery: Recovery::GoBackN, timeout, retries: Some(1), ..TransportParams::default() };
    bench.flow(0, 1, 400_000);
    bench.flow(2, 1, 400_000).start = Time::us(20);
    bench.fault(Time::us(10), FaultKind::link_down(bench.node("s0"), bench.node("h1")));
    let ends = Ends::default();
    let out = bench.run_with(own(ends.clone()));
    assert!(out.rows.flows.iter().all(|flow| flow.state == State::Failed));
    let receiver: Vec<&str> = ends.receiver.borrow().iter().map(|(what, ..)| *what).collect();
    assert_eq!(receiver, ["start", "end"]);
    let ended = ends.sender.borrow().iter().filter(|(what, ..)| *what == "end").count();
    assert_eq!(ended, 2);
}

/// A sender asks its receiver before it sends; the receiver grants. A NIC also greets its switch.
#[derive(Clone, Default)]
struct Asks {
    heard: Log<(&'static str, Time)>,
}

struct Asking {
    granted: bool,
}

impl Makes for Asks {
    fn switch(&self) -> Box<dyn SwitchSide> {
        Box::new(self.clone())
    }
    fn nic(&self) -> Box<dyn NicSide> {
        Box::new(self.clone())
    }
    fn flow(&self) -> Option<Box<dyn FlowSide>> {
        Some(Box::new(Asking { granted: false }))
    }
}

#[backwater_derive::hooks]
impl SwitchSide for Asks {
    fn on_control(&mut self, cx: &mut SwitchCx<'_>, from: Port, to: Option<HostId>, frame: &Control) -> Fate {
        if to.is_none() {
            assert_eq!((from, frame.kind), (Port(1), "hello"));
            self.heard.borrow_mut().push(("hello", cx.now()));
        }
        Fate::Passed
    }
}

#[backwater_derive::hooks(link)]
impl NicSide for Asks {
    fn on_control(&mut self, cx: &mut NicCx<'_>, frame: &Control) -> Fate {
        if frame.kind != "request" {
            return Fate::Passed;
        }
        self.heard.borrow_mut().push(("request", cx.now()));
        assert_eq!((cx.shape().host, frame.message()), (HostId(1), Some(Bytes(12_000))));
        cx.reply(HostId(0), Class(7), frame_of("grant", frame.flow));
        cx.emit(Class(7), frame_of("hello", None));
        Fate::Consumed
    }
}

fn frame_of(kind: &'static str, flow: Option<FlowRef>) -> Control {
    frame(kind, flow)
}

#[backwater_derive::hooks]
impl FlowSide for Asking {
    fn window(&self) -> Option<Bytes> {
        (!self.granted).then_some(Bytes(0))
    }
    fn on_start(&mut self, cx: &mut FlowCx<'_>) {
        let request = Control { flow: cx.flow(), ..Control::carrying("request", 64, 0, &cx.backlog()) };
        cx.send(cx.shape().dst, Class(7), request);
    }
    fn on_control(&mut self, _: &mut FlowCx<'_>, frame: &Control) -> Fate {
        self.granted |= frame.kind == "grant";
        Fate::Consumed
    }
}

/// The request, the grant and then the data cross the star, each in the time of an idle path.
#[test]
fn a_sender_asks_its_receiver() {
    let mut bench = Bench::star(2, Rate::gbps(100));
    bench.flow(0, 1, 12_000);
    let asks = Asks::default();
    let out = bench.run_with(own(asks.clone()));
    let across = |frame: Time| Time(2 * (frame + LINK).0) + SWITCH;
    let requested = across(SHORT);
    // The greeting leaves behind the grant, and is heard at the switch when its last bit is in.
    assert_eq!(*asks.heard.borrow(), [("request", requested), ("hello", requested + SHORT + SHORT + LINK)]);
    let last_byte = requested + across(SHORT) + across(DATA) + DATA + DATA;
    assert_eq!(out.rows.flows[0].fct_last_byte, Some(last_byte));
    let kinds: Vec<&str> = out.rows.control.iter().map(|row| row.kind).collect();
    assert_eq!(kinds, ["request", "grant", "hello"]);
}

/// Long frames may not start before a time; short ones and other queues may.
#[derive(Clone, Default)]
struct PauseRequests {
    open: bool,
    at_switch: bool,
}

const OPENS: Time = Time::us(20);

impl Makes for PauseRequests {
    fn switch(&self) -> Box<dyn SwitchSide> {
        if self.at_switch { Box::new(self.clone()) } else { Box::new(Absent) }
    }
    fn nic(&self) -> Box<dyn NicSide> {
        if self.at_switch { Box::new(Absent) } else { Box::new(self.clone()) }
    }
}

#[backwater_derive::hooks]
impl LinkSide for PauseRequests {
    fn may_transmit(&self, port: Port, queue: Queue, pkt: &Packet) -> bool {
        assert!(self.at_switch || port == Port(0));
        self.open || queue != Queue(3) || pkt.size < 1000
    }
    fn on_link_timer(&mut self, cx: &mut LinkCx<'_>, _: Token) {
        self.open = true;
        cx.open(Port(u16::from(self.at_switch)), None);
    }
}

#[backwater_derive::hooks(link)]
impl SwitchSide for PauseRequests {
    fn on_admit(&mut self, cx: &mut SwitchCx<'_>, _: &Place, _: &Packet) {
        if cx.now() < OPENS {
            cx.arm(OPENS, 0);
        }
    }
}

#[backwater_derive::hooks(link)]
impl NicSide for PauseRequests {
    fn on_enqueue(&mut self, cx: &mut NicCx<'_>, _: Queue, _: &Packet) {
        cx.arm(OPENS, 0);
    }
}

/// A gate with a query keeps long frames of queue 3 from starting until a time; frames in queue 0 pass as if they did not exist.
#[test]
fn a_gate_may_ask_for_the_packet() {
    for at_switch in [false, true] {
        let mut bench = Bench::star(3, Rate::gbps(100));
        bench.flow(0, 1, 8_000);
        bench.flow(0, 1, 40_000).class = Class(0);
        bench.flow(2, 1, 400);
        let out = bench.run_with(own(PauseRequests { at_switch, open: false }));
        assert_eq!(out.unrest, Vec::<String>::new());
        let fct = |id: u64| out.rows.flows.iter().find(|flow| flow.id == id).and_then(|flow| flow.fct_last_byte);
        let (queued, across) = (LINK + SWITCH, DATA + LINK);
        // Two frames, from the gate on.
        let from_gate = if at_switch { OPENS + DATA + DATA + LINK } else { OPENS + DATA + queued + across + DATA };
        assert_eq!(fct(0), Some(from_gate), "{at_switch}");
        // The first of the ten frames of queue 0 begins at once at the NIC; at the switch it waits for at most two others.
        let idle = DATA + queued + Time(9 * DATA.0) + across;
        let (slower, most) = (fct(1).map(|fct| fct.since(idle)), if at_switch { Time(3 * DATA.0) } else { DATA });
        assert!(slower.is_some_and(|slower| slower <= most), "{at_switch}: {slower:?}");
        assert!(fct(2).is_some_and(|fct| fct < Time::us(2)), "{at_switch}");
    }
}

/// The wait of a frame that may not start is a cause of its own, at the host and at the switch; a run that ends meanwhile reports it.
#[test]
fn what_may_not_start_waits_for_that() {
    for at_switch in [false, true] {
        let mut bench = Bench::star(2, Rate::gbps(100));
        bench.flow(0, 1, 8_000);
        bench.causes.waits = vec![true];
        let holds = PauseRequests { at_switch, open: false };
        let out = bench.run_with(own(holds.clone()));
        let came = if at_switch { DATA + LINK + SWITCH } else { Time::ZERO };
        let waits: Vec<(&str, NodeId, Time)> =
            out.rows.waits.iter().map(|row| (row.cause, row.node, row.time)).collect();
        let at = bench.node(if at_switch { "s0" } else { "h0" });
        assert_eq!(waits, [("credit", at, OPENS - came)]);
        bench.stop_at = Some(Time::us(10));
        let out = bench.run_with(own(holds));
        let of_what = if at_switch {
            "acknowledgements of what it has sent; 2 frames wait at s0 port 1 (to h1) class 3, of which a mechanism lets no frame start"
        } else {
            "its turn at h0, of which a mechanism lets no frame start"
        };
        assert_eq!(out.rows.flows[0].state, State::Unfinished(of_what.into()));
    }
}

/// Packets without memory are trimmed, and continue in class 7.
#[derive(Clone, Copy)]
struct Trims {
    apart: bool,
}

impl Makes for Trims {
    fn switch(&self) -> Box<dyn SwitchSide> {
        Box::new(*self)
    }
}

#[backwater_derive::hooks]
impl SwitchSide for Trims {
    fn on_full(&mut self, _: &mut SwitchCx<'_>, at: &mut Place, pkt: &mut Packet) -> Full {
        if self.apart {
            (at.queue, pkt.class) = (Queue(7), Class(7));
        }
        Full::Trim(0)
    }
}

/// A header in a queue of its own overtakes the packets in the other queue: the sender learns of the first loss while they still wait.
#[test]
fn what_is_trimmed_may_take_another_queue() {
    let run = |apart: bool| {
        let fast = Rate::gbps(100);
        let links = [("h0", "s0", fast, LINK), ("s0", "h1", Rate::gbps(10), LINK)];
        let mut bench = Bench::new(network(2, &["s0"], &links));
        (bench.switch.buffer, bench.switch.buffer_per) = (Bytes(42_000), BufferPer::Queue);
        let recovery = Recovery::SelectiveRepeat;
        bench.transport = TransportParams { recovery, in_order: false, ..TransportParams::default() };
        bench.flow(0, 1, 44_000);
        let out = bench.run_with(own(Trims { apart }));
        assert_eq!(out.rows.flows[0].state, State::Complete);
        let port = out.port(bench.node("s0"), bench.node("h1"));
        let frames = [port.stats.tx_data_frames, port.stats.tx_cut_frames];
        (out.rows.flows[0].fct_last_byte.unwrap_or(Time::NEVER), frames)
    };
    // The queue has memory for ten packets, and the eleventh arrives before the first has left: it is trimmed. In the same queue its header
    // reaches the receiver last, and the payload then arrives over an idle path. In its own queue it arrives behind the first, and the
    // payload follows the others without a gap.
    let (slow, header) = (Time(3_251_200), Time(51_200));
    let ((same, frames), (apart, as_many)) = (run(false), run(true));
    assert_eq!((frames, as_many), ([11, 1], [11, 1]));
    let last = DATA + LINK + SWITCH + Time(10 * slow.0) + header + LINK;
    assert_eq!(apart, last + slow, "the bottleneck never rests");
    let back = header + LINK + SWITCH + SHORT + LINK;
    assert_eq!(same, last + back + DATA + LINK + SWITCH + slow + LINK);
}

/// With each data packet, its flow sends the receiver a frame.
#[derive(Clone, Copy)]
struct Talks;

impl Makes for Talks {
    fn flow(&self) -> Option<Box<dyn FlowSide>> {
        Some(Box::new(*self))
    }
}

#[backwater_derive::hooks]
impl FlowSide for Talks {
    fn on_send(&mut self, cx: &mut FlowCx<'_>, pkt: &mut Packet) {
        cx.send(cx.shape().dst, Class(6), frame("note", Some(pkt.flow)));
    }
}

/// A frame that a flow sends while its packet is made does not leave at the same time: a wire carries one frame.
#[test]
fn what_is_sent_with_a_packet_takes_its_own_time() {
    let mut bench = Bench::star(2, Rate::gbps(100));
    bench.flow(0, 1, 40_000);
    let out = bench.run_with(own(Talks));
    assert_eq!(out.unrest, Vec::<String>::new());
    // Ten of each on the first link, one after another; the last packet then passes the switch and the second link.
    let last = (DATA + SHORT) * 10 + LINK + SWITCH + DATA + LINK;
    assert_eq!(out.flow(0).fct_last_byte, Some(last));
}

/// Flows of a class have one controller, whose rate depends on their number. It records when packets leave, their destination and their
/// number of switches.
#[derive(Clone)]
struct Shares {
    alone: Rate,
    together: Rate,
    flows: u32,
    sent: Log<(Time, HostId, u32)>,
}

impl Makes for Shares {
    fn flow(&self) -> Option<Box<dyn FlowSide>> {
        Some(Box::new(self.clone()))
    }
    fn rate_key(&self, shape: &FlowShape) -> RateKey {
        RateKey::Class(shape.class)
    }
}

#[backwater_derive::hooks]
impl FlowSide for Shares {
    fn rate(&self) -> Option<Rate> {
        Some(if self.flows > 1 { self.together } else { self.alone })
    }
    fn on_start(&mut self, _: &mut FlowCx<'_>) {
        self.flows += 1;
    }
    fn on_end(&mut self, _: &mut FlowCx<'_>) {
        self.flows -= 1;
    }
    fn on_send(&mut self, cx: &mut FlowCx<'_>, _: &mut Packet) {
        self.sent.borrow_mut().push((cx.now(), cx.shape().dst, cx.shape().hops));
    }
}

/// A rate that changes with a flow's begin or end applies at once to waiting flows; each hook sees its own flow.
#[test]
fn flows_that_share_a_controller_hear_of_a_new_rate() {
    let (slow, fast) = (Rate::gbps(1), Rate::gbps(100));
    let run = |alone: Rate, together: Rate| {
        // One switch to host 1, three to host 2.
        let links =
            [("h0", "s0", fast, LINK), ("s0", "h1", fast, LINK), ("s0", "s1", fast, LINK), ("s1", "s2", fast, LINK)];
        let mut bench =
            Bench::new(network(3, &["s0", "s1", "s2"], &[&links[..], &[("s2", "h2", fast, LINK)]].concat()));
        bench.flow(0, 1, 12_000);
        bench.flow(0, 2, 4_000).start = Time::us(1);
        let sent = Log::default();
        let out = bench.run_with(own(Shares { alone, together, flows: 0, sent: sent.clone() }));
        assert_eq!(out.unrest, Vec::<String>::new());
        sent.take()
    };
    let (near, far) = (HostId(1), HostId(2));
    // The second packet would be due after 32 us, but leaves when another flow begins.
    let due = Time::us(1);
    let sent = [(Time::ZERO, near, 1), (due, near, 1), (due + DATA, near, 1), (due + DATA + DATA, far, 3)];
    assert_eq!(run(slow, fast), sent);
    // Two packets go one after another. With the other flow the third is due 32 us later, and its only packet as much later. When that is
    // acknowledged the rate is as before.
    let mut bench = Bench::star(2, fast);
    bench.flow(0, 1, 20_000);
    bench.flow(0, 1, 4_000).start = DATA + Time::ns(100);
    let sent = Log::default();
    bench.run_with(own(Shares { alone: fast, together: slow, flows: 0, sent: sent.clone() }));
    let times: Vec<Time> = sent.take().into_iter().map(|(at, ..)| at).collect();
    let apart = DATA * 100;
    let acknowledged = DATA + apart + apart + DATA + LINK + SWITCH + DATA + LINK + SHORT + LINK + SWITCH + SHORT + LINK;
    assert_eq!(times, [Time::ZERO, DATA, DATA + apart, DATA + apart + apart, acknowledged, acknowledged + DATA]);
}
