//! The threshold that follows the memory, on the bench.

use crate::ecn::{At, CongestionPoint, Marker, MarkingThreshold, Params};
use crate::red::AboveMaximum;
use backwater_net::bench::{SwitchBench, data, place};
use backwater_net::config::{Architecture, SwitchParams};
use backwater_net::hooks::{Account, Levels, Mechanism, SwitchSide};
use backwater_net::packet::{Class, HostId, Port, Queue};
use backwater_net::{Bytes, Rate};

/// 1 MB that all queues share; each may hold half of what is free.
fn memory() -> SwitchParams {
    SwitchParams {
        architecture: Architecture::SharedMemory,
        buffer: Bytes(1_000_000),
        alpha_egress: 0.5,
        ..SwitchParams::default()
    }
}

fn below_limit(offset: u64, floor: u64) -> Params {
    Params {
        threshold: MarkingThreshold::Dynamic,
        offset: Some(Bytes(offset)),
        floor: Bytes(floor),
        mark_at: At::Enqueue,
        ..Params::default()
    }
}

/// A switch of four ports, of whose memory frames from `by` use so many bytes. They are of a class that no limit refuses.
fn filled(params: &Params, memory: &SwitchParams, by: u16, bytes: u64) -> (SwitchBench, CongestionPoint) {
    let mut bench = SwitchBench::new(memory, 4, Rate::gbps(100), 1 << 4);
    bench.set_ingress(Port(by), Class(4), bytes);
    let marker = Marker::switch(params, bench.shape()).expect("ECN acts at switches");
    (bench, marker)
}

/// Returns whether a packet from port 0 to port 1 is marked that finds `queue` bytes there.
fn is_marked((bench, marker): &mut (SwitchBench, CongestionPoint), queue: u64) -> bool {
    bench.set_egress(Port(1), Queue(3), queue);
    let (mut pkt, here) = (data(HostId(0), HostId(1), 0, Class(3), 936), place(Port(0), Port(1), Class(3)));
    marker.on_enqueue(&mut bench.cx(), &here, &mut pkt);
    marker.on_dequeue(&mut bench.cx(), &here, &mut pkt);
    pkt.is_marked()
}

/// With `used` bytes of 1 MB in use the limit is (1 MB - used) / 2. Marks begin above it less 100 KB, but above 50 KB as long as the limit
/// is no lower.
#[test]
fn marks_begin_an_offset_below_the_limit_of_the_moment() {
    let params = below_limit(100_000, 50_000);
    for (used, threshold) in [
        (0, 400_000),       // limit 500 KB
        (400_000, 200_000), // limit 300 KB
        (699_998, 50_001),  // limit 150,001 B
        (700_000, 50_000),  // limit 150 KB
        (800_000, 50_000),  // limit 100 KB: the floor
        (900_000, 50_000),  // limit 50 KB: the floor, and the limit
        (920_000, 40_000),  // limit 40 KB: below the floor
        (1_000_000, 0),     // nothing is free
    ] {
        for mark_at in [At::Enqueue, At::Dequeue] {
            // The 1000 B of a packet that leaves do not count.
            let own = if mark_at == At::Enqueue { 0 } else { 1_000 };
            let mut at = filled(&Params { mark_at, ..params.clone() }, &memory(), 2, used);
            let marks = [0, 1].map(|beyond| is_marked(&mut at, threshold + own + beyond));
            assert_eq!(marks, [false, true], "{used} B in use, {mark_at:?}");
        }
    }
}

/// Two slices of 500 KB, each for two of four ports. Frames of one that use 300 KB leave the other its 500 KB, and a limit of 250 KB.
#[test]
fn each_slice_has_its_own_limit() {
    let memory = SwitchParams { slices: 2, ..memory() };
    let params = below_limit(100_000, 0);
    let threshold = |by| {
        let mut at = filled(&params, &memory, by, 300_000);
        (0..250).rev().find(|kb| !is_marked(&mut at, kb * 1_000))
    };
    assert_eq!((threshold(3), threshold(1)), (Some(150), Some(0)), "port 0 shares its slice with port 1");
}

/// The limit is admission's: 10 KB that a queue may hold beyond its share count, and a fixed limit of 60 KB bounds it.
#[test]
fn the_limit_is_that_of_admission() {
    let params = below_limit(10_000, 0);
    let beyond = SwitchParams { queue_reserve: Bytes(10_000), ..memory() };
    let bounded = SwitchParams { queue_limit: Some(Bytes(60_000)), ..beyond.clone() };
    for (memory, threshold) in [(beyond, 500_000), (bounded, 50_000)] {
        let mut at = filled(&params, &memory, 2, 0);
        assert_eq!([threshold, threshold + 1].map(|queue| is_marked(&mut at, queue)), [false, true]);
    }
}

/// `above_kmax` applies above the threshold: with a probability of zero nothing is marked. Every frame is looked at where a threshold is
/// dynamic, and up to Kmin none where it is static.
#[test]
fn only_a_dynamic_threshold_looks_at_every_frame() {
    let params = below_limit(100_000, 0);
    let never = Params { above_kmax: AboveMaximum::Pmax, pmax: 0.0, ..params.clone() };
    assert!(!is_marked(&mut filled(&never, &memory(), 2, 0), 450_000));
    let levels = |params: &Params| {
        let mut at = filled(params, &memory(), 2, 0);
        is_marked(&mut at, 300_000);
        at.1.levels(at.0.seen(), Account::Egress(Port(1), Queue(3)))
    };
    assert_eq!(levels(&params), Levels::above(Bytes::ZERO));
    assert_eq!(levels(&Params { mark_at: At::Dequeue, ..params }), Levels::left(Bytes(1)));
    let fixed = Params { kmin: Bytes(400_000), kmax: Bytes(400_000), mark_at: At::Enqueue, ..Params::default() };
    assert_eq!(levels(&fixed), Levels::above(Bytes(300_000)));
}

/// The queue came to 300 KB when the threshold was 400 KB.
#[test]
fn the_margin_is_that_of_the_longest_queue() {
    let mut at = filled(&below_limit(100_000, 0), &memory(), 2, 0);
    assert_eq!([200_000, 300_000].map(|queue| is_marked(&mut at, queue)), [false; 2]);
    let margin = at.1.activity(at.0.seen()).margin.expect("its ports mark");
    assert_eq!((margin.peak, margin.threshold), (300_000, 400_000));
}
