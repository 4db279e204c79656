//! Trimming on the bench: which packets give way, which are trimmed, and where that is allowed.

use super::*;
use backwater_net::Bytes;
use backwater_net::Rate;
use backwater_net::bench::{SwitchBench, ack, data, place};
use backwater_net::config::{Architecture, BufferPer, SwitchParams};
use backwater_net::packet::HostId;

fn params(victim: Victim) -> Params {
    Params { size: Some(Bytes(200)), class: 6, classes: Some(vec![3, 4]), to: To::Destination, victim }
}

fn packet(class: u8, payload: u32) -> Packet {
    data(HostId(0), HostId(1), 0, Class(class), payload)
}

/// Returns how often of 10,000 times `last` gives way to `p`.
fn given(victim: Victim, p: &Packet, last: &Packet) -> u32 {
    let mut bench = SwitchBench::new(&SwitchParams::default(), 2, Rate::gbps(100), 0);
    let mut trimmer = Trim::switch(&params(victim), bench.shape()).expect("it acts at switches");
    let at = place(Port(0), Port(1), p.class);
    (0..10_000).map(|_| u32::from(trimmer.push_out(&mut bench.cx(), &at, p, last))).sum()
}

/// Half of the time: 5000 of 10,000; four standard deviations are 200.
#[test]
fn the_newest_gives_way_by_the_toss_of_a_coin() {
    let (p, last) = (packet(3, 1000), packet(3, 4000));
    let half = given(Victim::Either, &p, &last);
    assert!((4_800..=5_200).contains(&half), "{half}");
    assert_eq!(given(Victim::Arriving, &p, &last), 0);
}

/// A packet that could not be trimmed never gives way, and no packet gives way to one that is not data of a trimmable class.
#[test]
fn only_what_can_be_cut_gives_way_to_what_is_trimmable() {
    let of = |p: &Packet, last: &Packet| given(Victim::Either, p, last) > 0;
    let (long, cut, short, other) = (packet(3, 4000), packet(3, 0), packet(3, 136), packet(5, 4000));
    assert!(of(&long, &long));
    assert!(of(&short, &long), "200 B may take the place of 4064 B");
    for last in [cut, short, other, ack(long)] {
        assert!(!of(&long, &last), "{last:?}");
    }
    for p in [cut, other, ack(long)] {
        assert!(!of(&p, &long), "{p:?}");
    }
}

/// A switch that draws itself which of two packets finds no memory needs no second draw.
#[test]
fn one_toss_decides() {
    let bench = SwitchBench::new(&SwitchParams::default(), 2, Rate::gbps(100), 0);
    let found = |of_trim, victim| {
        let switch = [SwitchParams { victim, buffer_per: BufferPer::Queue, ..SwitchParams::default() }];
        let switches = std::slice::from_ref(bench.shape());
        let cx = CheckCx { switches, switch_params: &switch, ..CheckCx::default() };
        Trim::check(&params(of_trim), &cx).iter().filter(|finding| finding.fatal && finding.key == "victim").count()
    };
    assert_eq!(found(Victim::Either, Victim::Either), 1);
    assert_eq!(found(Victim::Either, Victim::Arriving) + found(Victim::Arriving, Victim::Either), 0);
}

/// If the memory is not that of the packet's output queue, the newest packet of that queue does not have the memory that the arriving one
/// lacks.
#[test]
fn what_gives_way_needs_output_queues_with_memory_of_their_own() {
    let bench = SwitchBench::new(&SwitchParams::default(), 2, Rate::gbps(100), 0);
    let refused = |victim, architecture, buffer_per| {
        let switches = std::slice::from_ref(bench.shape());
        let switch = [SwitchParams { architecture, buffer_per, ..SwitchParams::default() }];
        let cx = CheckCx { switches, switch_params: &switch, ..CheckCx::default() };
        let found = Trim::check(&params(victim), &cx);
        assert!(found.iter().all(|finding| finding.fatal && finding.key == "victim"));
        !found.is_empty()
    };
    let (output, shared, input, voq) =
        (Architecture::OutputQueued, Architecture::SharedMemory, Architecture::InputQueued, Architecture::Voq);
    for (architecture, of_queue, of_switch) in
        [(output, false, true), (shared, true, true), (input, true, true), (voq, true, true)]
    {
        for (buffer_per, expected) in [
            (BufferPer::Queue, of_queue),
            (BufferPer::Egress, of_queue),
            (BufferPer::Switch, of_switch),
            (BufferPer::Ingress, of_switch),
            (BufferPer::None, false),
        ] {
            assert_eq!(refused(Victim::Either, architecture, buffer_per), expected, "{architecture:?} {buffer_per:?}");
            assert!(!refused(Victim::Arriving, architecture, buffer_per));
        }
    }
}
