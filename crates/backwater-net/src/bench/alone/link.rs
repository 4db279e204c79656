//! A link alone: two ends, and the frames between them.

use super::*;
use crate::model::hooks::PauseStyle;
use crate::topology::NodeKind;

/// No node, only ends.
struct Nothing;

impl Alone for Nothing {
    fn arrive(&mut self, _: &mut [Port], _: &mut World, _: u16, _: Ix) {
        unreachable!("no port is its own");
    }
    fn sent(&mut self, _: &mut [Port], _: &mut World, _: u16) {
        unreachable!("no port is its own");
    }
    fn happen(&mut self, _: &mut [Port], _: &mut World, event: Event) {
        panic!("{event:?}");
    }
}

fn link(rate: Rate, delay: Time, clock: Option<Time>) -> Lone<Nothing> {
    let mut graph = Graph::default();
    let ends = [0, 1].map(|end| graph.add(format!("h{end}"), "host", NodeKind::Host));
    graph.link(ends[0], ends[1], rate, delay);
    let packet = PacketParams { clock, ..PacketParams::default() };
    let rules = rules(packet, AckParams::default(), TransportParams::default(), NicParams::default());
    Lone::new(graph, 0, rules, |_, _| Nothing)
}

/// A pause of a class, with so many quanta a frame, that uses frames.
const FRAMED: PauseStyle = PauseStyle { quanta: Some(100), framed: true };
const CLASS_3: u16 = 1 << 3;

/// 8 (size + gap) / R and the propagation delay; fractions of a picosecond are rounded up, so a link is never faster than its rate.
#[test]
fn a_frame_takes_its_bits_and_the_way() {
    for (gbps, size, on_the_wire) in
        [(100, 1060, 86_400), (400, 64, 1_680), (10, 1500, 1_216_000), (3, 64, 224_000), (7, 1500, 1_737_143)]
    {
        for delay in [Time::ZERO, DELAY, Time::us(5)] {
            let mut link = link(Rate::gbps(gbps), delay, None);
            link.send(Time::ns(7), 0, frame(1, 3, size, 1));
            link.run();
            assert_eq!(link.times(1), [Time(7_000 + on_the_wire) + delay], "{gbps} Gb/s, {size} B, {delay:?}");
        }
    }
}

/// A clock rounds the time on the wire down to whole ticks, and leaves the propagation delay unchanged.
#[test]
fn a_clock_cuts_off() {
    let mut link = link(RATE, Time(150_333), Some(Time::ns(1)));
    link.send(Time::ZERO, 0, frame(1, 3, 1060, 1));
    link.run();
    assert_eq!(link.times(1), [Time(86_000 + 150_333)]);
}

/// Frames follow each other without a break, the highest class first; the directions are independent.
#[test]
fn frames_follow_each_other() {
    let mut link = link(RATE, DELAY, None);
    for (number, class) in [(0, 3), (1, 0), (2, 5), (3, 3)] {
        link.send(Time::ZERO, 0, frame(1, class, 1060, number));
    }
    link.send(Time::ZERO, 1, frame(0, 3, 560, 9));
    link.run();
    let came: Vec<(Time, u64)> = link.arrived.iter().filter(|a| a.link == 1).map(|a| (a.at, a.bytes)).collect();
    // The first was alone when the wire was free; of the others 5 goes before 3, and 3 before 0.
    let expected = [(1, 0), (2, 2), (3, 3), (4, 1)].map(|(nth, number)| (wire(1060) * nth + DELAY, number));
    assert_eq!(came, expected);
    assert_eq!(link.times(0), [wire(560) + DELAY]);
}

/// A pause frame waits for the frame on the wire, precedes all others, lets the neighbour finish its current frame, and pauses that class
/// for its quanta of 512 bit times.
#[test]
fn a_pause_holds_one_class_for_its_quanta() {
    let mut link = link(RATE, DELAY, None);
    for number in 0..20 {
        link.send(Time::ZERO, 0, frame(1, 3, 1060, number));
    }
    link.send(Time::ns(200), 0, frame(1, 0, 560, 99));
    link.send(Time::ZERO, 1, frame(0, 0, 1060, 50));
    link.send(Time::ZERO, 1, frame(0, 0, 1060, 51));
    let asked = Time::ns(10);
    link.run_until(asked);
    link.world.now = asked;
    // Shorter than a frame's quanta: the frame carries what is left, rounded up to whole quanta.
    let quantum = Time(512 * 10);
    link.end(1).pause_peer(0, OWNER, CLASS_3, asked + quantum * 60, FRAMED);
    link.run();
    let heard = wire(1060) + wire(64) + DELAY;
    let control: Vec<Time> = link.arrived.iter().filter(|a| a.kind == Kind::Control).map(|a| a.at).collect();
    assert_eq!(control, [heard]);
    // Frame k ends at 86.4 (k + 1) ns. A pause at 243.12 ns lets the third end, at 259.2 ns; class 0 continues.
    assert_eq!(heard, Time(243_120));
    let came = link.times(1);
    assert_eq!(came[..3], [1, 2, 3].map(|k| wire(1060) * k + DELAY));
    assert_eq!(came[3], wire(1060) * 3 + wire(560) + DELAY, "class 0 is not paused");
    assert_eq!(came[4], heard + quantum * 60 + wire(1060) + DELAY);
    assert_eq!(came.len(), 21);
    assert_eq!(link.ports[0].stats(link.world.now).paused_ps, (quantum * 60).0);
}

/// A pause that outlasts a frame's quanta is refreshed when half of them have passed, and a release resumes at once.
#[test]
fn a_pause_is_refreshed_at_half_time_and_released() {
    let mut link = link(RATE, DELAY, None);
    link.send(Time::us(1), 0, frame(1, 3, 1060, 0));
    link.end(1).pause_peer(0, OWNER, CLASS_3, Time::NEVER, FRAMED);
    let released = Time::ns(1100);
    link.run_until(released);
    link.world.now = released;
    link.end(1).resume_peer(0, OWNER, CLASS_3);
    // A frame's 100 quanta are 512 ns.
    let reported = [0, 256_000, 512_000, 768_000, 1_024_000].map(|at| Time(at) + wire(64) + DELAY);
    let resumed = released + wire(64) + DELAY;
    while link.times(1).is_empty() {
        link.step();
    }
    let control: Vec<Time> = link.arrived.iter().filter(|a| a.kind == Kind::Control).map(|a| a.at).collect();
    assert_eq!(control[..5], reported);
    assert_eq!(control[5..], [resumed]);
    assert_eq!(link.times(1), [resumed + wire(1060) + DELAY]);
}
