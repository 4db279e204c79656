//! The newest packet of a queue gives way to an arriving one, with the tests' own mechanisms.
//!
//! Frames are 4000 B and 64 B of header: 325.12 ns at 100 Gb/s, 3.2512 us at 10 Gb/s. Links take 150 ns, switches no time.

use crate::own::{Bench, Makes, own};
use backwater_engine::Time;
use backwater_net::attachment::Attachment;
use backwater_net::bench::network::network;
use backwater_net::config::{Architecture, BufferPer, LatencyAt, Recovery, ReleaseAt, TransportParams, Window};
use backwater_net::hooks::{
    Departure, FlowOrder, FlowSide, Full, Gate, IsolationQueue, LinkCx, LinkSide, NicCx, NicSide, Place, Steering,
    SwitchCx, SwitchSide, Token,
};
use backwater_net::packet::{Class, DataHeader, Packet, Queue};
use backwater_net::{Bytes, Rate};
use rand::RngExt;
use std::cell::RefCell;
use std::rc::Rc;

const LINK: Time = Time::ns(150);

/// The number of a packet in its flow, from 0.
fn number(pkt: &Packet) -> u64 {
    pkt.data().map_or(u64::MAX, |data| data.offset / 4000)
}

/// An event of a packet; `None` for hooks that do not see the packet.
type Seen = (&'static str, Option<u64>);

/// The newest packet gives way the `first` times, or by a random draw; packets without memory are trimmed and continue in class 7. Packets
/// carry their number, and are marked when they leave queue 3.
#[derive(Clone, Default)]
struct Gives {
    first: u64,
    never: bool,
    /// Data moves between queues 2 and 3.
    moves: bool,
    /// Some data waits in isolation queues.
    holds: bool,
    seen: Rc<RefCell<Vec<Seen>>>,
    asked: Rc<RefCell<u64>>,
    came: Rc<RefCell<Vec<(u64, u32, bool)>>>,
    /// For trimmed packets that arrived: whether they were at the last hop.
    last_hop: Rc<RefCell<Vec<bool>>>,
}

impl Gives {
    fn tell(&self, what: &'static str, pkt: &Packet) {
        if pkt.is_data() {
            self.seen.borrow_mut().push((what, Some(number(pkt))));
        }
    }
    /// For data, which arrives in class 3.
    fn report_row(&self, what: &'static str, at: &Place) {
        if at.class == Class(3) {
            self.seen.borrow_mut().push((what, None));
        }
    }
}

impl Makes for Gives {
    fn switch(&self) -> Box<dyn SwitchSide> {
        Box::new(self.clone())
    }
    fn nic(&self) -> Box<dyn NicSide> {
        Box::new(self.clone())
    }
    fn flow(&self) -> Option<Box<dyn FlowSide>> {
        Some(Box::new(self.clone()))
    }
    fn steering(&self) -> Option<Steering> {
        self.moves.then_some(Steering { queues: 0b1100, order: FlowOrder::Markers, hosts: false })
    }
}

#[backwater_derive::hooks(link)]
impl SwitchSide for Gives {
    fn steer(&mut self, cx: &mut SwitchCx<'_>, at: &mut Place, pkt: &mut Packet) {
        if self.moves && pkt.class == Class(3) && pkt.is_data() && cx.rng().random::<f64>() < 0.3 {
            (at.queue, pkt.class) = (Queue(2), Class(2));
        }
    }
    fn divert(&mut self, cx: &mut SwitchCx<'_>, _: &Place, pkt: &Packet) -> Option<IsolationQueue> {
        let isolation_queue = cx.isolation_queue(0);
        if !self.holds || !pkt.is_data() {
            return None;
        }
        let waits = cx.seen().isolated_in(isolation_queue) > Bytes::ZERO;
        if !waits {
            cx.arm(cx.now().after(Time::us(3)), 0);
        }
        (waits || cx.rng().random::<f64>() < 0.2).then_some(isolation_queue)
    }
    fn on_timer(&mut self, cx: &mut SwitchCx<'_>, _: Token) {
        cx.open(Gate::IsolationQueue(cx.isolation_queue(0)));
    }
    fn push_out(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet, last: &Packet) -> bool {
        let mut asked = self.asked.borrow_mut();
        *asked += 1;
        assert_eq!(pkt.class, last.class, "it waits in the queue that the other comes for: {at:?}");
        let gives = if self.first > 0 { *asked <= self.first } else { cx.rng().random() };
        let gives = gives && !self.never && last.data().is_some_and(|data| data.payload > 0);
        if gives {
            self.tell("gives way", last);
        }
        gives
    }
    fn on_full(&mut self, _: &mut SwitchCx<'_>, at: &mut Place, pkt: &mut Packet) -> Full {
        self.tell("full", pkt);
        (at.queue, pkt.class) = (Queue(7), Class(7));
        Full::Trim(0)
    }
    fn on_admit(&mut self, _: &mut SwitchCx<'_>, _: &Place, pkt: &Packet) {
        self.tell("admit", pkt);
    }
    fn on_enqueue(&mut self, _: &mut SwitchCx<'_>, _: &Place, pkt: &mut Packet) {
        self.tell("enqueue", pkt);
    }
    fn on_dequeue(&mut self, _: &mut SwitchCx<'_>, at: &Place, pkt: &mut Packet) {
        self.tell("dequeue", pkt);
        if at.queue == Queue(3) {
            pkt.mark();
        }
    }
    fn on_release(&mut self, _: &mut SwitchCx<'_>, at: &Place, _: u32) {
        self.report_row("release", at);
    }
    fn on_depart(&mut self, _: &mut SwitchCx<'_>, at: &Place) {
        self.report_row("depart", at);
    }
}

#[backwater_derive::hooks]
impl LinkSide for Gives {
    fn on_start(&mut self, cx: &mut LinkCx<'_>, _: &Departure, pkt: &Packet, carried: Option<&mut Attachment>) {
        if let LinkCx::Switch(_) = cx
            && pkt.is_data()
        {
            assert_eq!(carried.map(|carried| carried.0[0]), Some(number(pkt)));
        }
    }
}

#[backwater_derive::hooks(link)]
impl NicSide for Gives {
    fn on_receive(&mut self, _: &mut NicCx<'_>, pkt: &Packet) {
        let payload = pkt.data().map_or(0, |data| data.payload);
        self.came.borrow_mut().push((number(pkt), payload, pkt.is_marked()));
        if let Some(data) = pkt.data().filter(|data| data.payload == 0) {
            self.last_hop.borrow_mut().push(data.is(DataHeader::LAST_HOP));
        }
    }
}

#[backwater_derive::hooks]
impl FlowSide for Gives {
    fn attach(&mut self, pkt: &Packet) -> Option<Attachment> {
        let mut words = [0; 16];
        words[0] = number(pkt);
        Some(Attachment(words))
    }
}

/// A host at 100 Gb/s sends six packets to another over a link of 10 Gb/s, whose queue has memory for three, and for two headers.
fn slow_link() -> Bench {
    let links = [("h0", "s0", Rate::gbps(100), LINK), ("s0", "h1", Rate::gbps(10), LINK)];
    let mut bench = Bench::new(network(2, &["s0"], &links));
    bench.switch.latency = Time::ZERO;
    bench.switch.buffer_per = BufferPer::Queue;
    let mut sizes = [Bytes(3 * 4064); 8];
    sizes[7] = Bytes(2 * 64);
    bench.switch.queue_buffers = Some(sizes);
    bench.ack.class = Some(6);
    bench.transport =
        TransportParams { recovery: Recovery::SelectiveRepeat, in_order: false, ..TransportParams::default() };
    bench.flow(0, 1, 6 * 4000);
    bench
}

/// Packet 0 is on the wire, 1 and 2 wait. 2 gives way to 3, which gets its place behind 1; 3 gives way to 4, and 4 to 5. The headers of 2
/// and 3 overtake waiting packets; there is no memory for that of 4. No header is marked for having left queue 3.
#[test]
fn the_newest_packet_gives_its_place() {
    let (data, cut) = (|n| (n, 4000, true), |n| (n, 0, false));
    for (never, first, whole) in [
        (false, [data(0), cut(2), cut(3), data(1)], [data(0), data(1), data(5)]),
        (true, [data(0), cut(3), cut(4), data(1)], [data(0), data(1), data(2)]),
    ] {
        let gives = Gives { first: 3, never, ..Gives::default() };
        let out = slow_link().run_with(own(gives.clone()));
        let came = gives.came.borrow();
        assert_eq!(came[..4], first);
        let of_whole: Vec<_> = came.iter().filter(|(_, payload, _)| *payload > 0).copied().collect();
        assert_eq!(of_whole[..3], whole);
        assert_eq!(out.at_rest().flow(0).received, 24_000);
        assert!(out.progress.drops > 0, "there is no memory for a third header");
    }
}

/// The packet that gives way leaves like one that is sent, and then arrives anew; the other arrives after it.
#[test]
fn hooks_see_it_leave_and_come_again() {
    let gives = Gives { first: 3, ..Gives::default() };
    slow_link().run_with(own(gives.clone()));
    let seen = gives.seen.borrow();
    let at = seen.iter().position(|seen| seen.0 == "gives way").expect("three do");
    let expected: [Seen; 9] = [
        ("gives way", Some(2)),
        ("dequeue", Some(2)),
        ("release", None),
        ("depart", None),
        ("full", Some(2)),
        ("admit", Some(2)),
        ("enqueue", Some(2)),
        ("admit", Some(3)),
        ("enqueue", Some(3)),
    ];
    assert_eq!(seen[at..at + 9], expected);
    let times = |what: &str| seen.iter().filter(|seen| seen.0 == what).count();
    assert_eq!((times("admit"), times("enqueue")), (times("release"), times("depart")), "all that came has left");
}

/// A packet shows whether it was trimmed at the port to its receiver, or at an earlier one.
#[test]
fn what_is_cut_says_whether_that_was_at_the_last_hop() {
    let (fast, slow) = (Rate::gbps(100), Rate::gbps(10));
    for (before, last) in [(slow, fast), (fast, slow)] {
        let links = [("h0", "s0", fast, LINK), ("s0", "s1", before, LINK), ("s1", "h1", last, LINK)];
        let bench = Bench { graph: network(2, &["s0", "s1"], &links), ..slow_link() };
        let gives = Gives { first: 3, ..Gives::default() };
        bench.run_with(own(gives.clone()));
        let last_hop = gives.last_hop.borrow();
        assert!(last_hop.len() > 1 && last_hop.iter().all(|at_last| *at_last == (last == slow)), "{last_hop:?}");
    }
}

/// The packet on the wire never gives way: with memory for one packet no waiting packet could.
#[test]
fn the_packet_on_the_wire_is_left_alone() {
    let mut bench = slow_link();
    bench.switch.queue_buffers = Some([Bytes(4064); 8]);
    let gives = Gives { first: 3, ..Gives::default() };
    let out = bench.run_with(own(gives.clone()));
    assert_eq!((out.at_rest().flow(0).received, *gives.asked.borrow()), (24_000, 0));
    assert_eq!(gives.came.borrow()[0], (0, 4000, true));
}

/// Four hosts send to one, some back: whatever the switch, everything arrives, and every account falls to zero. If the memory is not that
/// of an output queue, no packet gives way.
#[test]
fn accounts_and_order_are_kept() {
    let mut gave_way = 0;
    let all = [Architecture::OutputQueued, Architecture::SharedMemory, Architecture::InputQueued, Architecture::Voq];
    for architecture in all {
        for per in [BufferPer::Queue, BufferPer::Egress, BufferPer::Ingress, BufferPer::Switch] {
            for (latency_at, release_at) in [
                (LatencyAt::Input, ReleaseAt::End),
                (LatencyAt::Fabric, ReleaseAt::End),
                (LatencyAt::Fabric, ReleaseAt::Start),
                (LatencyAt::Output, ReleaseAt::Start),
                (LatencyAt::Output, ReleaseAt::End),
            ] {
                for (moves, holds) in [(false, false), (true, false), (false, true), (true, true)] {
                    let output = architecture == Architecture::OutputQueued;
                    if moves && !output {
                        continue;
                    }
                    let mut bench = Bench::star(5, Rate::gbps(100));
                    (bench.switch.architecture, bench.switch.buffer_per) = (architecture, per);
                    (bench.switch.latency_at, bench.switch.release_at) = (latency_at, release_at);
                    bench.switch.buffer = Bytes(60_000);
                    bench.ack.class = Some(6);
                    bench.causes.waits = vec![true];
                    bench.stall = Some(Time::ms(100));
                    // Without a window senders would fill the links with trimmed packets.
                    let (recovery, window) = (Recovery::SelectiveRepeat, Some(Window::Bytes(Bytes(40_000))));
                    let transport = TransportParams { recovery, window, ..TransportParams::default() };
                    bench.transport = TransportParams { in_order: false, retries: None, ..transport };
                    for (src, dst) in [(0, 4), (1, 4), (2, 4), (3, 4), (4, 0), (1, 0)] {
                        bench.flow(src, dst, 200_000);
                    }
                    let gives = Gives { moves, holds, ..Gives::default() };
                    let out = bench.run_with(own(gives.clone()));
                    let of = format!("{architecture:?} {per:?} {latency_at:?} {release_at:?} {moves} {holds}");
                    assert_eq!((&out.broken, &out.unrest), (&None, &Vec::new()), "{of}");
                    assert_eq!(out.progress.flows_done, 6, "{of}");
                    let asks = output && matches!(per, BufferPer::Queue | BufferPer::Egress);
                    assert!(asks || *gives.asked.borrow() == 0, "{of}");
                    let seen = gives.seen.borrow();
                    gave_way += seen.iter().filter(|seen| seen.0 == "gives way").count();
                    for row in &out.rows.flows {
                        let waits = out.rows.waits.iter().filter(|wait| wait.flow == row.id).map(|wait| wait.time);
                        let waited = waits.fold(Time::ZERO, |sum, time| sum + time);
                        let took = row.fct_last_byte.expect("it is complete");
                        assert!(waited <= took, "{of}: flow {} waited {waited} of {took}", row.id);
                    }
                }
            }
        }
    }
    assert!(gave_way > 500, "{gave_way}");
}
