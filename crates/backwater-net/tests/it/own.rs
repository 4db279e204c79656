//! Mechanisms of the tests' own. All are of one type, [`Own`], so that the stage is compiled for them once.

use backwater_engine::Time;
use backwater_net::Actors;
use backwater_net::attachment::Attachment;
use backwater_net::hooks::{
    Absent, Ack, Departure, Extra, Fate, FlowCx, FlowShape, FlowSide, Full, Incoming, Lane, Loss, NicCx, NicShape,
    NicSide, Owners, Place, RateKey, Steering, SwitchCx, SwitchShape, SwitchSide, Token,
};
use backwater_net::packet::{Control, FlowRef, HostId, Packet, Port, Queue};
use backwater_net::{Bytes, Rate};
use std::rc::Rc;

/// What makes the sides of a test's mechanisms; what is left out is absent.
pub trait Makes {
    fn switch(&self) -> Box<dyn SwitchSide> {
        Box::new(Absent)
    }
    fn nic(&self) -> Box<dyn NicSide> {
        Box::new(Absent)
    }
    fn flow(&self) -> Option<Box<dyn FlowSide>> {
        None
    }
    fn rate_key(&self, _: &FlowShape) -> RateKey {
        RateKey::Flow
    }
    fn extra(&self) -> Extra {
        Extra::NONE
    }
    fn steering(&self) -> Option<Steering> {
        None
    }
}

/// The mechanisms that `0` makes.
#[derive(Clone)]
pub struct Own(Rc<dyn Makes>);

/// No mechanism at all.
struct Nobody;

impl Makes for Nobody {}

impl Default for Own {
    fn default() -> Own {
        own(Nobody)
    }
}

pub type Bench = backwater_net::bench::network::Bench<Own>;

/// Up to as many mechanisms as a test has.
pub const OWNERS: u8 = 40;

pub fn own(makes: impl Makes + 'static) -> Own {
    Own(Rc::new(makes))
}

pub struct OwnSwitch(Box<dyn SwitchSide>);
pub struct OwnNic(Box<dyn NicSide>);
pub struct OwnFlow(Box<dyn FlowSide>);

impl Actors for Own {
    type Switch = OwnSwitch;
    type Nic = OwnNic;
    type Flow = OwnFlow;
    type Shared = ();
    const OWNERS: usize = OWNERS as usize;
    fn shared(&self) {}
    fn switch(&self, _: &SwitchShape) -> OwnSwitch {
        OwnSwitch(self.0.switch())
    }
    fn nic(&self, _: &NicShape) -> OwnNic {
        OwnNic(self.0.nic())
    }
    fn flow(&self, _: &FlowShape, _: Owners, (): &()) -> Option<OwnFlow> {
        self.0.flow().map(OwnFlow)
    }
    fn rate_key(&self, shape: &FlowShape, _: Owners) -> RateKey {
        self.0.rate_key(shape)
    }
    fn extra(&self) -> Extra {
        self.0.extra()
    }
    fn steering(&self) -> Option<Steering> {
        self.0.steering()
    }
    fn lossless_classes(&self, _: &str, _: &str) -> u8 {
        0
    }
}

impl SwitchSide for OwnSwitch {
    fn choose(&mut self, cx: &mut SwitchCx<'_>, candidates: &[Port], pkt: &Packet) -> Option<Port> {
        self.0.choose(cx, candidates, pkt)
    }
    fn steer(&mut self, cx: &mut SwitchCx<'_>, at: &mut Place, pkt: &mut Packet) {
        self.0.steer(cx, at, pkt);
    }
    fn gives_way(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet, last: &Packet) -> bool {
        self.0.gives_way(cx, at, pkt, last)
    }
    fn on_full(&mut self, cx: &mut SwitchCx<'_>, at: &mut Place, pkt: &mut Packet) -> Full {
        self.0.on_full(cx, at, pkt)
    }
    fn on_admit(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet) {
        self.0.on_admit(cx, at, pkt);
    }
    fn hold(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet) -> Option<Lane> {
        self.0.hold(cx, at, pkt)
    }
    fn on_enqueue(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &mut Packet) {
        self.0.on_enqueue(cx, at, pkt);
    }
    fn on_dequeue(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &mut Packet) {
        self.0.on_dequeue(cx, at, pkt);
    }
    fn may_start(&self, port: Port, queue: Queue, pkt: &Packet) -> bool {
        self.0.may_start(port, queue, pkt)
    }
    fn on_start(&mut self, cx: &mut SwitchCx<'_>, from: &Departure, pkt: &Packet, carried: Option<&mut Attachment>) {
        self.0.on_start(cx, from, pkt, carried);
    }
    fn on_sent(&mut self, cx: &mut SwitchCx<'_>, from: &Departure, pkt: &Packet) {
        self.0.on_sent(cx, from, pkt);
    }
    fn on_release(&mut self, cx: &mut SwitchCx<'_>, at: &Place, size: u32) {
        self.0.on_release(cx, at, size);
    }
    fn on_depart(&mut self, cx: &mut SwitchCx<'_>, at: &Place) {
        self.0.on_depart(cx, at);
    }
    fn on_control(&mut self, cx: &mut SwitchCx<'_>, from: Port, to: Option<HostId>, frame: &Control) -> Fate {
        self.0.on_control(cx, from, to, frame)
    }
    fn on_timer(&mut self, cx: &mut SwitchCx<'_>, token: Token) {
        self.0.on_timer(cx, token);
    }
}

impl NicSide for OwnNic {
    fn on_flow_start(&mut self, cx: &mut NicCx<'_>, incoming: &Incoming) {
        self.0.on_flow_start(cx, incoming);
    }
    fn on_flow_end(&mut self, cx: &mut NicCx<'_>, flow: FlowRef) {
        self.0.on_flow_end(cx, flow);
    }
    fn on_enqueue(&mut self, cx: &mut NicCx<'_>, queue: Queue, pkt: &Packet) {
        self.0.on_enqueue(cx, queue, pkt);
    }
    fn may_start(&self, port: Port, queue: Queue, pkt: &Packet) -> bool {
        self.0.may_start(port, queue, pkt)
    }
    fn on_start(&mut self, cx: &mut NicCx<'_>, from: &Departure, pkt: &Packet, carried: Option<&mut Attachment>) {
        self.0.on_start(cx, from, pkt, carried);
    }
    fn on_sent(&mut self, cx: &mut NicCx<'_>, from: &Departure, pkt: &Packet) {
        self.0.on_sent(cx, from, pkt);
    }
    fn on_receive(&mut self, cx: &mut NicCx<'_>, pkt: &Packet) {
        self.0.on_receive(cx, pkt);
    }
    fn on_control(&mut self, cx: &mut NicCx<'_>, frame: &Control) -> Fate {
        self.0.on_control(cx, frame)
    }
    fn on_timer(&mut self, cx: &mut NicCx<'_>, token: Token) {
        self.0.on_timer(cx, token);
    }
}

impl FlowSide for OwnFlow {
    fn rate(&self) -> Option<Rate> {
        self.0.rate()
    }
    fn stopped_until(&self) -> Time {
        self.0.stopped_until()
    }
    fn window(&self) -> Option<Bytes> {
        self.0.window()
    }
    fn on_start(&mut self, cx: &mut FlowCx<'_>) {
        self.0.on_start(cx);
    }
    fn on_end(&mut self, cx: &mut FlowCx<'_>) {
        self.0.on_end(cx);
    }
    fn attach(&mut self, pkt: &Packet) -> Option<Attachment> {
        self.0.attach(pkt)
    }
    fn on_send(&mut self, cx: &mut FlowCx<'_>, pkt: &mut Packet) {
        self.0.on_send(cx, pkt);
    }
    fn on_ack(&mut self, cx: &mut FlowCx<'_>, ack: &Ack<'_>) {
        self.0.on_ack(cx, ack);
    }
    fn on_loss(&mut self, cx: &mut FlowCx<'_>, loss: Loss) {
        self.0.on_loss(cx, loss);
    }
    fn on_control(&mut self, cx: &mut FlowCx<'_>, frame: &Control) -> Fate {
        self.0.on_control(cx, frame)
    }
    fn on_timer(&mut self, cx: &mut FlowCx<'_>, token: u16) {
        self.0.on_timer(cx, token);
    }
}
