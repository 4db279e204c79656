//! Packets that a switch returns to their source for want of memory, beside trimmed ones that continue.
//!
//! Frames are 4000 B and 64 B of header: 325.12 ns at 100 Gb/s. Trimmed packets and acknowledgements are 64 B: 5.12 ns. Links take 150 ns,
//! switches 300 ns.

use crate::own::{Bench, Makes, own};
use backwater_engine::Time;
use backwater_net::bench::network::{Outcome, network};
use backwater_net::config::{AckPath, BufferPer, Recovery, TransportParams};
use backwater_net::hooks::{Ack, FlowCx, FlowSide, Full, Loss, Place, SwitchCx, SwitchSide};
use backwater_net::packet::{Class, Packet, Port, Queue};
use backwater_net::record::State;
use backwater_net::spec::FaultKind;
use backwater_net::{Bytes, Rate};
use std::cell::RefCell;
use std::rc::Rc;

const DATA: Time = Time(325_120);
const SHORT: Time = Time(5_120);
const LINK: Time = Time::ns(150);
const SWITCH: Time = Time::ns(300);

/// Observations of a run.
#[derive(Default)]
struct Seen {
    /// When packets found no memory.
    full: Vec<Time>,
    /// When sources learned of losses, and how.
    losses: Vec<(Time, Loss)>,
    /// Acknowledgements that controllers saw.
    acks: u64,
    /// The places of frames other than data that were admitted in class 7.
    turned: Vec<Place>,
    /// Such frames that found no memory.
    lost: u64,
}

/// Packets without memory are trimmed and continue, or return; in class 7, or with the data.
#[derive(Clone)]
struct Cuts {
    back: bool,
    apart: bool,
    seen: Rc<RefCell<Seen>>,
}

impl Makes for Cuts {
    fn switch(&self) -> Box<dyn SwitchSide> {
        Box::new(self.clone())
    }
    fn flow(&self) -> Option<Box<dyn FlowSide>> {
        Some(Box::new(self.clone()))
    }
}

#[backwater_derive::hooks]
impl SwitchSide for Cuts {
    fn on_full(&mut self, cx: &mut SwitchCx<'_>, at: &mut Place, pkt: &mut Packet) -> Full {
        if !pkt.is_data() {
            self.seen.borrow_mut().lost += u64::from(pkt.class == Class(7));
            return Full::Drop;
        }
        self.seen.borrow_mut().full.push(cx.now());
        if self.apart {
            (at.queue, pkt.class) = (Queue(7), Class(7));
        }
        if self.back { Full::Return(0) } else { Full::Trim(0) }
    }
    fn on_admit(&mut self, _: &mut SwitchCx<'_>, at: &Place, pkt: &Packet) {
        if !pkt.is_data() && pkt.class == Class(7) {
            self.seen.borrow_mut().turned.push(*at);
        }
    }
}

#[backwater_derive::hooks]
impl FlowSide for Cuts {
    fn on_loss(&mut self, cx: &mut FlowCx<'_>, loss: Loss) {
        self.seen.borrow_mut().losses.push((cx.now(), loss));
    }
    fn on_ack(&mut self, _: &mut FlowCx<'_>, _: &Ack<'_>) {
        self.seen.borrow_mut().acks += 1;
    }
}

/// Four hosts send 40 packets each to a fifth, all at once and at the rate of every link: they meet at s0, whose queue to s1 has memory for
/// ten packets.
fn incast() -> Bench {
    let fast = Rate::gbps(100);
    let links = ["h0", "h1", "h2", "h3"].map(|host| (host, "s0", fast, LINK));
    let links = [&links[..], &[("s0", "s1", fast, LINK), ("s1", "h4", fast, LINK)]].concat();
    let mut bench = Bench::new(network(5, &["s0", "s1"], &links));
    (bench.switch.buffer, bench.switch.buffer_per) = (Bytes(10 * 4064), BufferPer::Queue);
    bench.transport = TransportParams {
        recovery: Recovery::SelectiveRepeat,
        in_order: false,
        timeout: Time::us(200),
        ..TransportParams::default()
    };
    for src in 0..4 {
        bench.flow(src, 4, 160_000);
    }
    bench
}

fn run(bench: &Bench, back: bool, apart: bool) -> (Outcome, Seen) {
    let seen = Rc::<RefCell<Seen>>::default();
    let out = bench.clone().run_with(own(Cuts { back, apart, seen: Rc::clone(&seen) }));
    let seen = seen.take();
    (out, seen)
}

/// Four packets arrive every 325.12 ns, the first at `first`, and one leaves every 325.12 ns from 300 ns after that. When the j-th four
/// arrive, 4 (j - 1) have arrived and j - 2 have left, so 3 j - 2 are there: at j = 3 the memory is full after three of the four.
fn overflow() -> Time {
    let first = DATA + LINK;
    first + DATA * 2
}

/// The source learns of it when the NACK has come back from the switch whose queue is full; nothing else is on that path.
#[test]
fn a_source_hears_after_the_way_from_the_switch() {
    for path in [AckPath::Reverse, AckPath::Ecmp] {
        let mut bench = incast();
        bench.ack.path = path;
        let (_, seen) = run(&bench, true, true);
        assert_eq!(seen.full[0], overflow());
        assert_eq!(seen.losses[0], (overflow() + SWITCH + SHORT + LINK, Loss::Gap), "{path:?}");
    }
}

/// A trimmed packet that continues passes s1 and the receiver first. Its header begins at s0 when the second packet has left, and arrives
/// at s1 right behind it; there it waits for that packet's 325.12 ns on the link. On the path back its answer arrives right behind that to
/// the second packet.
#[test]
fn a_source_hears_later_of_what_goes_on() {
    let (_, seen) = run(&incast(), false, true);
    assert_eq!(seen.full[0], overflow());
    let second_at_s1 = overflow() + SWITCH + LINK;
    let cut_at_receiver = second_at_s1 + SWITCH + DATA + SHORT + LINK;
    let back = (SHORT + LINK) * 3 + SWITCH * 2;
    assert_eq!(seen.losses[0], (cut_at_receiver + back, Loss::Gap));
}

/// Every returned packet is retransmitted, once, and controllers see as many acknowledgements as the receiver has sent.
#[test]
fn what_comes_back_is_sent_again_and_acknowledges_nothing() {
    for (recovery, in_order) in
        [(Recovery::SelectiveRepeat, false), (Recovery::SelectiveRepeat, true), (Recovery::GoBackN, true)]
    {
        let mut bench = incast();
        (bench.transport.recovery, bench.transport.in_order) = (recovery, in_order);
        let (out, seen) = run(&bench, true, true);
        out.at_rest();
        assert!(out.rows.flows.iter().all(|f| f.state == State::Complete && f.received == 160_000), "{recovery:?}");
        assert_eq!(
            (out.progress.drops, out.rows.flows.iter().map(|f| f.timeouts).sum::<u32>()),
            (0, 0),
            "{recovery:?}"
        );
        let again = out.rows.flows.iter().map(|f| f.retransmitted).sum::<u64>();
        let turned = seen.full.len() as u64;
        let (notified, answers) =
            (seen.losses.len() as u64, out.port(bench.node("h4"), bench.node("s1")).stats.tx_frames);
        match recovery {
            // Packets after a returned packet are retransmitted with it, and some answers arrive after their flow has ended.
            Recovery::GoBackN => {
                assert!(again > 0 && notified > 0 && seen.acks <= answers, "{again} {notified} {answers}")
            }
            _ => assert_eq!((again, notified, seen.acks), (turned, turned, answers), "in order: {in_order}"),
        }
    }
}

/// A NACK stands in the account of the port and class by which its packet came, and leaves by that port.
#[test]
fn a_nack_is_admitted_where_its_packet_came_in() {
    let (_, seen) = run(&incast(), true, true);
    assert_eq!(seen.turned.len(), seen.full.len());
    for at in &seen.turned {
        assert_eq!((at.ingress, at.class, at.queue, at.own), (at.egress, Class(3), Queue(7), false));
        assert!(at.ingress < Port(4), "{at:?}");
    }
    assert!((0..4).all(|port| seen.turned.iter().any(|at| at.ingress == Port(port))));
}

/// If whole packets fill a memory that all ports share, there is no room for a NACK either: it is lost, and the timeout finds the loss.
#[test]
fn a_nack_without_memory_is_lost() {
    let mut bench = incast();
    bench.switch.buffer_per = BufferPer::Switch;
    let (out, seen) = run(&bench, true, true);
    let s0 = bench.node("s0");
    let sum = |of: fn(&backwater_net::record::PortStats) -> u64| {
        out.rows.ports.iter().filter(|row| row.node == s0).map(|row| of(&row.stats)).sum::<u64>()
    };
    let (frames, bytes) = (sum(|stats| stats.drop_frames), sum(|stats| stats.drop_bytes));
    // Acknowledgements in transit are lost, too.
    assert!(seen.lost > 0 && frames >= seen.lost && bytes == 64 * frames, "{bytes} B of {frames} frames");
    assert_eq!((seen.turned.len() as u64 + seen.lost, out.progress.drops), (seen.full.len() as u64, frames));
    assert!(out.rows.flows.iter().all(|f| f.state == State::Complete) && out.rows.flows.iter().any(|f| f.timeouts > 0));
}

/// All 100 packets have left s0 after 33.4 us, and then the link behind it fails: packets without memory at s2 have no path back, and are
/// lost.
#[test]
fn a_packet_without_a_way_back_is_lost_whole() {
    let links = [
        ("h0", "s0", Rate::gbps(100), LINK),
        ("s0", "s1", Rate::gbps(100), LINK),
        ("s1", "s2", Rate::gbps(20), LINK),
        ("s2", "h1", Rate::gbps(10), LINK),
    ];
    let mut bench = Bench::new(network(2, &["s0", "s1", "s2"], &links));
    bench.transport =
        TransportParams { recovery: Recovery::SelectiveRepeat, timeout: Time::ms(1), ..incast().transport };
    bench.ack.path = AckPath::Ecmp;
    let (s2, all) = ("s2".to_owned(), bench.switch.clone());
    let full = backwater_net::config::SwitchParams { buffer: Bytes(10 * 4064), buffer_per: BufferPer::Queue, ..all };
    bench.at = vec![(s2, full)];
    bench.flow(0, 1, 400_000);
    let (a, b) = (bench.node("s0"), bench.node("s1"));
    bench.fault(Time::us(34), FaultKind::link_down(a, b));
    bench.stop_at = Some(Time::us(300));
    let (out, seen) = run(&bench, true, true);
    let lost = out.port(bench.node("s2"), bench.node("s1")).stats;
    assert!(lost.drop_frames > 10 && lost.drop_bytes == 4064 * lost.drop_frames, "{lost:?}");
    let after = seen.full.iter().filter(|at| **at > Time::us(34)).count() as u64;
    assert_eq!(lost.drop_frames, after);
}

/// Headers and data in one queue: a NACK uses another queue anyway, since it leaves by another port.
#[test]
fn a_nack_may_stay_in_the_class_of_its_packet() {
    let (out, seen) = run(&incast(), true, false);
    out.at_rest();
    assert_eq!(out.progress.drops, 0);
    assert_eq!(seen.losses[0], (overflow() + SWITCH + SHORT + LINK, Loss::Gap));
}
