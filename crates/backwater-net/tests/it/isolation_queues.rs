//! Isolation queues in a whole network. A frame of 4064 B takes 325.12 ns at 100 Gb/s, one of 64 B 5.12 ns; links take 150 ns, switches 300 ns.

use crate::own::{Bench, Makes, own};
use backwater_engine::Time;
use backwater_net::attachment::Attachment;
use backwater_net::config::Architecture;
use backwater_net::hooks::{
    Departure, Fate, FlowOrder, Gate, IsolationQueue, LinkCx, LinkSide, NicCx, NicSide, Place, Steering, SwitchCx,
    SwitchSide, Token,
};
use backwater_net::packet::{Class, Control, HostId, Packet, Queue};
use backwater_net::{Bytes, Rate};
use std::cell::RefCell;
use std::rc::Rc;

const OPENS: Time = Time::us(20);

/// Holds data until [`OPENS`], and the switch's own frames forever: two messages to the sender for each packet.
#[derive(Clone, Default)]
struct PauseRequests {
    heard: Rc<RefCell<Vec<Time>>>,
}

impl Makes for PauseRequests {
    fn switch(&self) -> Box<dyn SwitchSide> {
        Box::new(self.clone())
    }
    fn nic(&self) -> Box<dyn NicSide> {
        Box::new(self.clone())
    }
}

#[backwater_derive::hooks]
impl SwitchSide for PauseRequests {
    fn on_admit(&mut self, cx: &mut SwitchCx<'_>, _: &Place, pkt: &Packet) {
        if pkt.is_data() {
            cx.route(HostId(0), Class(7), Control::carrying("message", 64, 0, &()));
            cx.route(HostId(0), Class(7), Control::carrying("message", 64, 0, &()));
            cx.arm(OPENS, 0);
        }
    }
    fn divert(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet) -> Option<IsolationQueue> {
        (at.own || pkt.is_data()).then(|| cx.isolation_queue(u32::from(at.own)))
    }
    fn on_timer(&mut self, cx: &mut SwitchCx<'_>, _: Token) {
        cx.open(Gate::IsolationQueue(cx.isolation_queue(0)));
    }
}

#[backwater_derive::hooks(link)]
impl NicSide for PauseRequests {
    fn on_control(&mut self, cx: &mut NicCx<'_>, _: &Control) -> Fate {
        self.heard.borrow_mut().push(cx.now());
        Fate::Consumed
    }
}

/// A switch's own frames are in no ingress account, so no pause makes room for them: no isolation queue keeps them.
#[test]
fn what_a_switch_sends_waits_in_no_lane() {
    let mut bench = Bench::star(2, Rate::gbps(100));
    bench.flow(0, 1, 4_000);
    let holds = PauseRequests::default();
    let out = bench.run_with(own(holds.clone()));
    assert_eq!(out.unrest, Vec::<String>::new());
    let first = Time(325_120 + 150_000 + 300_000 + 5_120 + 150_000);
    assert_eq!(*holds.heard.borrow(), [first, first + Time(5_120)]);
    assert_eq!(out.rows.flows[0].fct_last_byte, Some(OPENS + Time(325_120 + 150_000)));
}

/// Holds data until [`OPENS`], and records what the port had sent before each data frame begins to leave.
#[derive(Clone, Default)]
struct Counts {
    starts: Rc<RefCell<Vec<(u64, u64)>>>,
}

impl Makes for Counts {
    fn switch(&self) -> Box<dyn SwitchSide> {
        Box::new(self.clone())
    }
}

#[backwater_derive::hooks(link)]
impl SwitchSide for Counts {
    fn divert(&mut self, cx: &mut SwitchCx<'_>, _: &Place, pkt: &Packet) -> Option<IsolationQueue> {
        cx.arm(OPENS, 0);
        pkt.is_data().then(|| cx.isolation_queue(0))
    }
    fn on_timer(&mut self, cx: &mut SwitchCx<'_>, _: Token) {
        cx.open(Gate::IsolationQueue(cx.isolation_queue(0)));
    }
}

#[backwater_derive::hooks]
impl LinkSide for Counts {
    fn on_start(&mut self, _: &mut LinkCx<'_>, from: &Departure, pkt: &Packet, _: Option<&mut Attachment>) {
        if pkt.is_data() {
            self.starts.borrow_mut().push((from.tx_frames, from.tx_bytes));
        }
    }
}

/// The memory that a frame releases lets the next one out of its isolation queue and onto the wire: a frame that begins to leave counts
/// those before it.
#[test]
fn a_frame_that_begins_to_leave_counts_those_before_it() {
    let mut bench = Bench::star(2, Rate::gbps(100));
    bench.flow(0, 1, 12_000);
    let counts = Counts::default();
    let out = bench.run_with(own(counts.clone()));
    assert_eq!(out.rows.flows[0].fct_last_byte, Some(OPENS + Time(3 * 325_120 + 150_000)));
    let before = [(0, 0), (1, 4064), (2, 8128)];
    assert_eq!(*counts.starts.borrow(), before);
}

/// Holds data that arrived in class 3 until [`OPENS`] in an isolation queue; with `apart`, only data for queue 3. From the third to the
/// eighth packet, data uses queue 2.
#[derive(Clone, Copy)]
struct Moves {
    apart: bool,
    order: FlowOrder,
}

impl Makes for Moves {
    fn switch(&self) -> Box<dyn SwitchSide> {
        Box::new(*self)
    }
    fn steering(&self) -> Option<Steering> {
        Some(Steering { queues: 0b1100, order: self.order, hosts: false })
    }
}

#[backwater_derive::hooks]
impl SwitchSide for Moves {
    fn steer(&mut self, cx: &mut SwitchCx<'_>, at: &mut Place, pkt: &mut Packet) {
        cx.arm(OPENS, 0);
        if pkt.data().is_some_and(|data| (2..8).contains(&(data.offset / 4000))) {
            (at.queue, pkt.class) = (Queue(2), Class(2));
        }
    }
    fn divert(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet) -> Option<IsolationQueue> {
        let (isolation_queue, waits) = (cx.isolation_queue(0), pkt.is_data() && !(self.apart && at.queue != Queue(3)));
        (waits && (cx.now() < OPENS || cx.seen().isolated_in(isolation_queue) > Bytes::ZERO)).then_some(isolation_queue)
    }
    fn on_timer(&mut self, cx: &mut SwitchCx<'_>, _: Token) {
        cx.open(Gate::IsolationQueue(cx.isolation_queue(0)));
    }
}

/// A flow with packets in an isolation queue stays in order when it is moved to another queue, whether that is held as well or not.
#[test]
fn a_flow_that_waits_in_a_lane_keeps_its_order() {
    for architecture in [Architecture::OutputQueued, Architecture::Voq] {
        for (apart, order) in [
            (false, FlowOrder::Counters),
            (true, FlowOrder::Counters),
            (false, FlowOrder::Markers),
            (true, FlowOrder::Markers),
        ] {
            let mut bench = Bench::star(3, Rate::gbps(100));
            bench.switch.architecture = architecture;
            bench.flow(0, 1, 48_000);
            // Other frames fill queue 3 when the isolation queue opens, so it feeds the queue by turns.
            bench.flow(2, 1, 400_000).start = OPENS - Time::us(3);
            let out = bench.run_with(own(Moves { apart, order }));
            assert_eq!(out.unrest, Vec::<String>::new());
            assert_eq!(
                (out.flow(0).received, out.flow(0).reordered),
                (48_000, 0),
                "{architecture:?} {apart} {order:?}"
            );
        }
    }
}
