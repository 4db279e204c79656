//! A host's control delay: routed messages act exactly so much later, and nothing else changes.

use crate::own::{Bench, Makes, own};
use backwater_engine::Time;
use backwater_net::Rate;
use backwater_net::bench::network::Outcome;
use backwater_net::config::{NicParams, NicTimes};
use backwater_net::hooks::{
    Fate, FlowCx, FlowSide, LinkCx, LinkSide, NicCx, NicSide, PauseStyle, Place, SwitchCx, SwitchSide,
};
use backwater_net::packet::{Class, Control, HostId, Packet, Port};
use backwater_net::pause::PauseRequest;

const ASKED: &str = "slow-down";
const HEARD: &str = "heard";

/// The switch sends a message to the source of its first data frame. The NIC answers and leaves the message to the flow, which slows down.
#[derive(Clone, Copy)]
struct Tests {
    how: How,
    sent: bool,
}

/// How the message reaches its host.
#[derive(Clone, Copy, PartialEq)]
enum How {
    Routed,
    ToNeighbour,
    MacControl,
}

fn message(kind: &'static str, pkt: Option<&Packet>) -> Control {
    let (flow, about) = (pkt.map(|pkt| pkt.flow), pkt.map(|pkt| (pkt.dst, pkt.class)));
    Control { flow, about, ..Control::carrying(kind, 64, 0, &()) }
}

impl Makes for Tests {
    fn switch(&self) -> Box<dyn SwitchSide> {
        Box::new(*self)
    }
    fn nic(&self) -> Box<dyn NicSide> {
        Box::new(Listener)
    }
    fn flow(&self) -> Option<Box<dyn FlowSide>> {
        Some(Box::new(Slowed(None)))
    }
}

#[backwater_derive::hooks]
impl SwitchSide for Tests {
    fn on_enqueue(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &mut Packet) {
        if let Some(data) = pkt.data().copied()
            && !std::mem::replace(&mut self.sent, true)
        {
            let frame = message(ASKED, Some(pkt));
            match self.how {
                How::Routed => cx.route(data.src, Class(6), frame),
                How::ToNeighbour => cx.emit(at.ingress, Class(6), frame),
                How::MacControl => {
                    // A class that nobody uses.
                    let style = PauseStyle { quanta: Some(u16::MAX), framed: true };
                    cx.pause_peer(at.ingress, Some(Class(0)), cx.now() + Time::ns(1), style);
                }
            }
        }
    }
}

struct Listener;

#[backwater_derive::hooks(link)]
impl NicSide for Listener {
    fn on_control(&mut self, cx: &mut NicCx<'_>, frame: &Control) -> Fate {
        if frame.kind == ASKED {
            cx.reply(HostId(1), Class(6), message(HEARD, None));
        }
        Fate::Passed
    }
}

#[backwater_derive::hooks]
impl LinkSide for Listener {
    fn on_mac_control(&mut self, cx: &mut LinkCx<'_>, _: Port, frame: &Control) -> Fate {
        if let LinkCx::Nic(cx) = cx
            && PauseRequest::each(frame).any(|request| request.quanta > 0)
        {
            cx.reply(HostId(1), Class(6), message(HEARD, None));
        }
        Fate::Passed
    }
}

struct Slowed(Option<Rate>);

#[backwater_derive::hooks]
impl FlowSide for Slowed {
    fn rate(&self) -> Option<Rate> {
        self.0
    }
    fn on_control(&mut self, _: &mut FlowCx<'_>, _: &Control) -> Fate {
        self.0 = Some(Rate::gbps(10));
        Fate::Consumed
    }
}

/// 20 packets at 100 Gb/s, 325.12 ns each.
const PACKETS: u64 = 20;
const SLOT: u64 = 325_120;

fn bench() -> Bench {
    let mut bench = Bench::star(2, Rate::gbps(100));
    bench.flow(0, 1, PACKETS * 4000);
    bench
}

fn run(bench: &Bench, how: How) -> Outcome {
    let out = bench.run_with(own(Tests { how, sent: false }));
    assert_eq!(out.unrest, Vec::<String>::new());
    out
}

/// Returns when the NIC has heard it.
fn heard(out: &Outcome) -> Time {
    let rows: Vec<Time> = out.rows.control.iter().filter(|row| row.kind == HEARD).map(|row| row.time).collect();
    assert_eq!(rows.len(), 1);
    rows[0]
}

/// The first frame is at the switch after 325.12 + 150 ns; the message takes the switch's 300 ns, 5.12 ns and 150 ns.
const ARRIVAL: u64 = 325_120 + 150_000 + 300_000 + 5_120 + 150_000;

/// NIC and flow see it after exactly the host's delay: packets after the last one that left before that time follow at 10 Gb/s.
#[test]
fn routed_messages_act_after_the_delay_to_the_picosecond() {
    for delay in [0, 1, 1_000, 45_119, 45_120, 45_121, 1_000_000, 2_345_678] {
        let mut bench = bench();
        bench.nic = NicParams { control_delay: Time(delay), ..NicParams::default() };
        let out = run(&bench, How::Routed);
        assert_eq!(heard(&out), Time(ARRIVAL + delay), "{delay}");
        let fast = (ARRIVAL + delay).div_ceil(SLOT) - 1;
        // A packet that is due at this very instant leaves before the message takes effect, or after it.
        let by = |fast: u64| {
            let last = fast * SLOT + (PACKETS - 1 - fast) * 10 * SLOT;
            Time(last + 2 * (SLOT + 150_000) + 300_000 + 2 * (5_120 + 150_000) + 300_000)
        };
        let got = out.flow(0).fct_last_ack.unwrap();
        if (ARRIVAL + delay).is_multiple_of(SLOT) {
            assert!(got == by(fast) || got == by(fast + 1), "{delay}: {got}");
        } else {
            assert_eq!(got, by(fast), "{delay}");
        }
    }
}

/// The delay of the message's host counts, the last one given; those of other hosts do not.
#[test]
fn hosts_have_delays_of_their_own() {
    let mut bench = bench();
    bench.nic.control_delay = Time::us(3);
    let with = |host, delay| (HostId(host), NicTimes { control_delay: Some(delay), issue: None });
    bench.nics_at = vec![with(0, Time::us(9)), with(0, Time::us(1)), with(1, Time::us(7))];
    assert_eq!(heard(&run(&bench, How::Routed)), Time(ARRIVAL) + Time::us(1));
    bench.nics_at = vec![with(1, Time::us(7))];
    assert_eq!(heard(&run(&bench, How::Routed)), Time(ARRIVAL) + Time::us(3));
    bench.nics_at = vec![with(0, Time::ZERO)];
    assert_eq!(heard(&run(&bench, How::Routed)), Time(ARRIVAL));
    bench.nics_at = vec![with(2, Time::us(7))];
    assert!(backwater_net::Network::new(bench.spec(own(Tests { how: How::Routed, sent: false }))).is_err());
}

/// A neighbour's message to a host, as a frame of its own or as MAC control, acts at once: it is not routed.
#[test]
fn messages_between_neighbours_are_not_delayed() {
    for how in [How::ToNeighbour, How::MacControl] {
        let at_once = heard(&run(&bench(), how));
        let mut delayed = bench();
        delayed.nic.control_delay = Time::us(5);
        assert_eq!(heard(&run(&delayed, how)), at_once);
    }
}

/// Without a delay a run is unchanged; with a delay it is the same in any slices.
#[test]
fn delayed_runs_repeat() {
    let mut delayed = bench();
    delayed.nic.control_delay = Time::us(1);
    let (a, b) = (run(&delayed, How::Routed), run(&delayed, How::Routed));
    assert_eq!((a.fingerprint, a.rows.control), (b.fingerprint, b.rows.control));
    assert_ne!(a.fingerprint, run(&bench(), How::Routed).fingerprint);
}
