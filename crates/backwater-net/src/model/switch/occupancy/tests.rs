use super::*;
use backwater_engine::State;
use backwater_engine::state::{Loader, Saver};

const RATE: Rate = Rate::gbps(100);

fn at(ingress: u16, egress: u16, class: u8) -> Place {
    let (ingress, egress) = (Port(ingress), Port(egress));
    Place { ingress, egress, class: Class(class), queue: Queue(class), own: false }
}

/// The memory to which a frame is charged, and the bytes of the whole ingress port then.
fn admit(o: &mut Occupancy, at: &Place, size: u64) -> Option<(Pool, u64)> {
    let pool = o.admit(at, size)?.0;
    Some((pool, o.ingress_port(at.ingress).0))
}

/// Tomahawk's cells of 208 B: a frame of 64 B takes one, of 209 B two. Without cells a frame takes its length.
#[test]
fn a_frame_takes_whole_cells() {
    let of = |cell: u64| Occupancy::new(&SwitchParams { cell: Bytes(cell), ..SwitchParams::default() }, &[RATE], 0);
    assert_eq!([1, 64, 208, 209, 4164].map(|size| of(208).in_cells(size) / 208), [1, 1, 1, 2, 21]);
    assert_eq!([1, 64, 4164].map(|size| of(1).in_cells(size)), [1, 64, 4164]);
}

#[test]
fn reserve_then_shared_then_headroom_then_nothing() {
    let params =
        SwitchParams { buffer: Bytes(10_000), reserve: Bytes(100), headroom: Bytes(1_000), ..SwitchParams::default() };
    // 2 ports: 2 x (8 x 100 + 1 x 1000) = 3600 carved out, 6400 shared.
    let mut o = Occupancy::new(&params, &[RATE; 2], 1 << 3);
    let here = at(0, 1, 3);
    let mut admitted = 0;
    while o.admit(&here, 100).is_some() {
        admitted += 100;
    }
    assert_eq!((admitted, o.in_headroom(Port(0), Class(3))), (100 + 6_400 + 1_000, Bytes(1_000)));
    assert_eq!(o.free(Port(0)), Bytes::ZERO);
    assert_eq!(admit(&mut o, &at(1, 0, 0), 100), Some((Pool::Reserve, 100)), "another class still has its reserve");
    assert_eq!(admit(&mut o, &at(1, 0, 0), 100), None, "and no headroom");
    o.release(&at(1, 0, 0), 100, Pool::Reserve);
    for left in (0..10).rev() {
        o.release(&here, 100, Pool::Aggregate);
        assert_eq!((o.in_headroom(Port(0), Class(3)), o.free(Port(0))), (Bytes(100 * left), Bytes::ZERO));
    }
    (0..65).for_each(|_| _ = o.release(&here, 100, Pool::Aggregate));
    assert!(o.is_empty());
}

/// HPCC's `switch-mmu`: 9000 B less 2 x (8 x 100 + 500) leave 6400 B; one class may hold a quarter of the free part.
#[test]
fn headroom_above_the_threshold_drains_first() {
    let params = SwitchParams {
        architecture: Architecture::SharedMemory,
        buffer: Bytes(9_000),
        reserve: Bytes(100),
        headroom: Bytes(500),
        headroom_above: Some(0.25),
        ..SwitchParams::default()
    };
    let mut o = Occupancy::new(&params, &[RATE; 2], 1 << 3);
    let here = at(0, 1, 3);
    // Reserve 100, then shared while s + 100 <= (6400 - s) / 4: 1300; then 500 of headroom.
    let mut admitted = 0;
    while o.admit(&here, 100).is_some() {
        admitted += 100;
    }
    assert_eq!((admitted, o.in_headroom(Port(0), Class(3))), (100 + 1_300 + 500, Bytes(500)));
    assert_eq!(o.free(Port(0)), Bytes(5_100));
    for left in [400, 300, 200, 100, 0, 0] {
        o.release(&here, 100, Pool::Aggregate);
        assert_eq!(o.in_headroom(Port(0), Class(3)), Bytes(left));
    }
    assert_eq!(o.free(Port(0)), Bytes(5_200), "headroom has drained, and then one frame of shared memory");
    (0..13).for_each(|_| _ = o.release(&here, 100, Pool::Aggregate));
    assert!(o.is_empty());
}

/// With a factor above one the free memory runs out before a queue with few bytes reaches its threshold: 16 queues share 6400 B, and have
/// their reserves and headrooms.
#[test]
fn a_threshold_above_all_memory_gives_what_there_is() {
    let params = SwitchParams {
        architecture: Architecture::SharedMemory,
        buffer: Bytes(16 * (8 * 100 + 500) + 6_400),
        reserve: Bytes(100),
        headroom: Bytes(500),
        headroom_above: Some(8.0),
        ..SwitchParams::default()
    };
    let mut o = Occupancy::new(&params, &[RATE; 16], 1 << 3);
    let mut admitted = 0;
    for n in 0..16 * 1_000u32 {
        admitted += o.admit(&at((n % 16) as u16, 15, 3), 130).map_or(0, |_| 130);
        assert!(o.free(Port(0)).0 <= 6_400, "after {admitted} B: {}", o.free(Port(0)));
    }
    assert!((12_000..=16 * 600 + 6_400).contains(&admitted), "{admitted}");
}

/// The fabrics that the ns-3 code of HPCC configures: 37.5 KB behind 1/8 of the free memory at ports of 100 Gb/s, 150 KB behind 1/2 at 400
/// Gb/s.
#[test]
fn headroom_is_in_proportion_to_the_rate_of_the_port() {
    let params = SwitchParams {
        architecture: Architecture::SharedMemory,
        buffer: Bytes(2 * 37_500 + 150_000 + 900_000),
        headroom: Bytes(37_500),
        headroom_above: Some(0.125),
        reference_rate: Some(RATE),
        ..SwitchParams::default()
    };
    let rates = [RATE, RATE, Rate::gbps(400)];
    assert_eq!(shared_memory(&params, &rates, 1 << 3), Some(vec![900_000]));
    // s <= a (900 000 - s): 100 000 B at a = 1/8, and 300 000 B at 1/2; and the headroom.
    for (port, shared, headroom) in [(0, 100_000, 37_500), (2, 300_000, 150_000)] {
        let mut o = Occupancy::new(&params, &rates, 1 << 3);
        let mut admitted = 0;
        while o.admit(&at(port, 1, 3), 100).is_some() {
            admitted += 100;
        }
        assert_eq!((admitted, o.in_headroom(Port(port), Class(3))), (shared + headroom, Bytes(headroom)));
    }
    let ingress = SwitchParams { buffer_per: BufferPer::Ingress, buffer: Bytes(200_000), ..params.clone() };
    assert_eq!(shared_memory(&ingress, &rates, 1 << 3), Some(vec![162_500, 162_500, 50_000]));
    let scarce = SwitchParams { buffer: Bytes(149_999), ..ingress };
    assert_eq!(shared_memory(&scarce, &rates, 1 << 3), None);
    let beyond_counting = SwitchParams { headroom: Bytes(u64::MAX / 2), ..params };
    assert_eq!(shared_memory(&beyond_counting, &rates, 1 << 3), None);
}

/// 10 GB in frames of 1 MB: more than 32 bits count, at every counter.
#[test]
fn memory_without_end_has_none() {
    let params = SwitchParams { buffer_per: BufferPer::None, ..SwitchParams::default() };
    let mut o = Occupancy::new(&params, &[RATE; 2], 0);
    let here = at(0, 1, 3);
    let mut last = 0;
    for n in 1..=10_000u64 {
        assert_eq!(admit(&mut o, &here, 1_000_000), Some((Pool::Shared, n * 1_000_000)), "frame {n}");
        o.join_egress(&here, 1_000_000);
        last = o.egress_port(Port(1)).0;
    }
    let all = Bytes(10_000_000_000);
    assert_eq!((o.total(), o.ingress(Port(0), Class(3)), o.ingress_port(Port(0))), (all, all, all));
    assert_eq!((o.egress(Port(1), Queue(3)), o.egress_port(Port(1)), last), (all, all, all.0));
}

/// 43 packets of 4150 B at 100 Gb/s are 10 packets and three quarters at 25 Gb/s, of which ten fit.
#[test]
fn memory_of_queues_and_egress_ports_follows_the_rate() {
    for buffer_per in [BufferPer::Queue, BufferPer::Egress] {
        let (buffer, reference_rate) = (Bytes(43 * 4150), Some(RATE));
        let params = SwitchParams { buffer, buffer_per, reference_rate, ..SwitchParams::default() };
        let mut o = Occupancy::new(&params, &[RATE, Rate::gbps(25)], 0);
        let mut fit = |egress| (0..100).filter(|_| o.admit(&at(0, egress, 3), 4150).is_some()).count();
        assert_eq!((fit(0), fit(1)), (43, 10), "{buffer_per:?}");
        let rates = || [RATE, Rate::gbps(25)].into_iter();
        assert_eq!(params.port_buffer(rates()), Some(Bytes(44_612)));
        assert_eq!(SwitchParams { reference_rate: None, ..params }.port_buffer(rates()), Some(buffer));
    }
}

/// A queue of 1000 B is full when 600 B give way to 900 B. It then holds 1300 B, admits nothing before it has fallen below its size, and is
/// saved as it is.
#[test]
fn what_others_give_way_to_may_exceed_a_queue() {
    let of = |size| {
        let (buffer_per, queue_buffers) = (BufferPer::Queue, Some([Bytes(size); CLASSES]));
        let params = SwitchParams { buffer_per, queue_buffers, ..SwitchParams::default() };
        Occupancy::new(&params, &[RATE; 2], 0)
    };
    let (mut o, here) = (of(1_000), at(0, 1, 3));
    assert!(o.is_of_egress() && o.admit(&here, 400).is_some() && o.admit(&here, 600).is_some());
    assert_eq!(admit(&mut o, &here, 1), None);
    o.release(&here, 600, Pool::Shared);
    assert_eq!((o.transfer_charge(&here, 900).0, o.ingress_port(Port(0))), (Pool::Shared, Bytes(1_300)));
    assert_eq!(admit(&mut o, &here, 1), None);
    assert_eq!(admit(&mut o, &at(0, 1, 4), 1_000), Some((Pool::Shared, 2_300)), "the next queue has its own");
    let mut saver = Saver::new(Vec::new());
    o.save(&mut saver);
    let saved = saver.finish().expect("counters are saved");
    let load = |size| of(size).load(&mut Loader::new(&saved, Vec::new()));
    assert_eq!((load(1_000), load(1_300)), (Ok(()), Ok(())));
    assert!(load(1_299).is_err_and(|unfit| unfit.reason.contains("are in use, and there would be")));
    o.release(&here, 400, Pool::Shared);
    assert_eq!(admit(&mut o, &here, 101), None);
    assert_eq!(admit(&mut o, &here, 100), Some((Pool::Shared, 2_000)));
}

#[test]
fn dynamic_limit_leaves_room() {
    let params = SwitchParams {
        architecture: Architecture::SharedMemory,
        buffer: Bytes(9_000),
        alpha_egress: 1.0,
        ..SwitchParams::default()
    };
    let mut o = Occupancy::new(&params, &[RATE; 4], 0);
    let here = at(0, 1, 0);
    let mut n = 0;
    while o.admit(&here, 100).is_some() {
        o.join_egress(&here, 100);
        n += 1;
    }
    // q <= 1 x (B - q): one queue alone may take half of the memory.
    assert_eq!(n, 45);
}

/// From now on nothing looks at frames in port 0 and for port 1 as long as they stay below 10 kB, the largest value so far.
fn calm(o: &mut Occupancy) {
    let here = at(0, 1, 5);
    o.set_levels(Account::IngressPort(Port(0)), Levels::NONE);
    o.set_levels(Account::EgressPort(Port(1)), Levels::NONE);
    assert_eq!(o.admit(&here, 10_000), Some((Pool::Shared, true)), "more than ever");
    assert!(o.join_egress(&here, 10_000));
    o.admitted(Port(0));
    o.joined(Port(1));
    o.leave_egress(&here, 10_000);
    o.release(&here, 10_000, Pool::Shared);
    let most = |port| (o.most_ingress_port(port), o.most_egress_port(port));
    assert_eq!(most(Port(0)), (Bytes(10_000), Bytes::ZERO));
    assert_eq!(most(Port(1)), (Bytes::ZERO, Bytes(10_000)));
}

/// Pause above 300 B, resume below 200 B: of four frames of 100 B the fourth is looked at, and of those that leave the third.
#[test]
fn what_lies_between_levels_is_not_looked_at() {
    let mut o = Occupancy::new(&SwitchParams::default(), &[RATE; 2], 0);
    let here = at(0, 1, 3);
    let levels = Levels::above(Bytes(300)).or(Levels::below(Bytes(200))).or(Levels::left(Bytes(300)));
    calm(&mut o);
    o.set_levels(Account::Ingress(Port(0), Class(3)), levels);
    o.set_levels(Account::Egress(Port(1), Queue(3)), levels);
    for looked_at in [false, false, false, true] {
        assert_eq!(o.admit(&here, 100), Some((Pool::Shared, looked_at)));
        assert_eq!((o.join_egress(&here, 100), o.leaves_behind(&here, 100)), (looked_at, looked_at));
    }
    for looked_at in [false, false, true, true] {
        assert_eq!((o.leave_egress(&here, 100), o.release(&here, 100, Pool::Shared)), (looked_at, looked_at));
    }
    assert_eq!(Levels::ALL.or(levels), Levels::ALL);
}

/// A level that rests on 5000 B of free memory, in a switch of 10 kB: passed by the frame that leaves less free, and by frames in headroom.
#[test]
fn levels_that_rest_on_free_memory() {
    let params = SwitchParams { headroom: Bytes(1_000), buffer: Bytes(12_000), ..SwitchParams::default() };
    let mut o = Occupancy::new(&params, &[RATE; 2], 1 << 3);
    let of = Account::Ingress(Port(0), Class(3));
    calm(&mut o);
    o.set_levels(of, Levels::above(Bytes(20_000)).unless_free(Bytes(5_000)));
    let mut is_shown = |size| o.admit(&at(0, 1, 3), size).map(|(_, looked_at)| looked_at);
    assert_eq!([is_shown(5_000), is_shown(1)], [Some(false), Some(true)]);
    o.release(&at(0, 1, 3), 5_001, Pool::Aggregate);
    let mut o = Occupancy::new(&params, &[RATE; 2], 1 << 3);
    calm(&mut o);
    o.set_levels(of, Levels::NONE);
    let mut is_shown = |size| o.admit(&at(0, 1, 3), size).map(|(_, looked_at)| looked_at);
    assert_eq!([is_shown(10_000), is_shown(1_000), is_shown(1)], [Some(false), Some(true), None]);
}

/// An egress account does not see how much memory is free: for a level that rests on it every frame passes.
#[test]
fn levels_of_an_egress_that_rest_on_free_memory() {
    let params = SwitchParams { headroom: Bytes(1_000), buffer: Bytes(12_000), ..SwitchParams::default() };
    let mut o = Occupancy::new(&params, &[RATE; 2], 1 << 3);
    let (of, above) = (Account::Egress(Port(1), Queue(3)), Levels::above(Bytes(20_000)));
    calm(&mut o);
    o.set_levels(of, above);
    assert!(!o.join_egress(&at(0, 1, 3), 100) && !o.passes(of, above, false));
    let rests = above.unless_free(Bytes(5_000));
    o.set_levels(of, rests);
    assert!(o.join_egress(&at(0, 1, 3), 100) && o.passes(of, rests, false));
}
