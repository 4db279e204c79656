//! A mechanism that no run of the bench has, with every hook that a frame could bring about. benches/idle.sh adds ten such to the registry.

use backwater_net::prelude::*;

/// Its parameters: none that matters.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// \[bytes\] of a queue.
    #[param(default = Bytes(100_000), range = Bytes(1).., source = "choice")]
    pub most: Bytes,
}

/// Idle.
pub enum Idle0 {}

impl Mechanism for Idle0 {
    const NAME: &'static str = "idle_0";
    const DEFINED_BY: &'static str = "benches/idle.sh";
    const SUMMARY: &'static str = "is not there";
    const INACTIVE: &'static str = "never was there";
    type Params = Params;
    type Shared = ();
    type Switch = Side;
    type Nic = Side;
    type Flow = Side;

    fn profile(_: &Params) -> Profile {
        Profile::default()
    }

    fn switch(params: &Params, _: &SwitchShape) -> Option<Side> {
        Some(Side { most: params.most, bytes: 0 })
    }

    fn nic(params: &Params, _: &NicShape) -> Option<Side> {
        Some(Side { most: params.most, bytes: 0 })
    }

    fn flow(params: &Params, _: &FlowShape, (): &()) -> Option<Side> {
        Some(Side { most: params.most, bytes: 0 })
    }
}

/// What it would keep at a node, or of a flow.
#[derive(State)]
pub struct Side {
    #[state(fixed)]
    most: Bytes,
    bytes: u64,
}

impl Side {
    fn count(&mut self, bytes: u64) -> bool {
        self.bytes += bytes;
        self.bytes > self.most.0
    }
}

#[hooks]
impl LinkSide for Side {
    fn on_arrive(&mut self, cx: &mut LinkCx<'_>, from: Port, pkt: &Packet) {
        if self.count(pkt.bytes().0) {
            cx.open(from, None);
        }
    }
    fn may_transmit(&self, _: Port, _: Queue, pkt: &Packet) -> bool {
        pkt.bytes() < self.most
    }
    fn on_start(&mut self, cx: &mut LinkCx<'_>, from: &Departure, pkt: &Packet, _: Option<&mut Attachment>) {
        if self.count(pkt.bytes().0) {
            cx.open(from.port, None);
        }
    }
}

#[hooks(link)]
impl SwitchSide for Side {
    fn choose(&mut self, _: &mut SwitchCx<'_>, candidates: &[Port], pkt: &Packet) -> Option<Port> {
        if self.count(pkt.bytes().0) { candidates.first().copied() } else { None }
    }
    fn steer(&mut self, _: &mut SwitchCx<'_>, at: &mut Place, pkt: &mut Packet) {
        if self.count(pkt.bytes().0) {
            at.queue = Queue(0);
        }
    }
    fn on_admit(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet) {
        if self.count(pkt.bytes().0) {
            cx.open(Gate::Port(at.egress));
        }
    }
    fn divert(&mut self, cx: &mut SwitchCx<'_>, _: &Place, pkt: &Packet) -> Option<IsolationQueue> {
        self.count(pkt.bytes().0).then(|| cx.isolation_queue(0))
    }
    fn on_enqueue(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &mut Packet) {
        if self.count(cx.seen().egress(at.egress, at.queue).0) {
            pkt.mark();
        }
    }
    fn on_dequeue(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &mut Packet) {
        if self.count(cx.seen().egress(at.egress, at.queue).0) {
            pkt.mark();
        }
    }
    fn on_release(&mut self, cx: &mut SwitchCx<'_>, at: &Place, size: u32) {
        if self.count(size.into()) {
            cx.open(Gate::Port(at.egress));
        }
    }
    fn on_depart(&mut self, cx: &mut SwitchCx<'_>, at: &Place) {
        if self.count(cx.seen().egress(at.egress, at.queue).0) {
            cx.open(Gate::Port(at.egress));
        }
    }
}

#[hooks(link)]
impl NicSide for Side {
    fn on_receive(&mut self, cx: &mut NicCx<'_>, pkt: &Packet) {
        if self.count(pkt.bytes().0) {
            cx.open(NicGate::Link);
        }
    }
    fn on_enqueue(&mut self, cx: &mut NicCx<'_>, _: Queue, pkt: &Packet) {
        if self.count(pkt.bytes().0) {
            cx.open(NicGate::Link);
        }
    }
}

#[hooks]
impl FlowSide for Side {
    fn window(&self) -> Option<Bytes> {
        Some(self.most)
    }
    fn on_send(&mut self, cx: &mut FlowCx<'_>, pkt: &mut Packet) {
        if self.count(pkt.bytes().0) {
            cx.arm(cx.now(), 0);
        }
    }
    fn on_ack(&mut self, cx: &mut FlowCx<'_>, ack: &Ack<'_>) {
        if self.count(ack.received) {
            cx.arm(cx.now(), 0);
        }
    }
}
