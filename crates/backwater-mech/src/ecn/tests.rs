//! The marking curve on the bench.

use super::*;
use crate::red::AboveMaximum;
use backwater_net::Rate;
use backwater_net::bench::{SwitchBench, data, place};
use backwater_net::config::SwitchParams;
use backwater_net::packet::{Body, Class, DataHeader, HostId, Port, Queue};

/// The number of marked packets among `n` that find `queue` bytes.
fn marked(params: &Params, queue: u64, n: u32) -> u32 {
    let mut bench = SwitchBench::new(&SwitchParams::default(), 2, Rate::gbps(40), 0);
    let mut marker = Marker::switch(params, bench.shape()).expect("ECN acts at switches");
    bench.set_egress(Port(1), Queue(3), queue);
    let mut mark = |_: &u32| {
        let mut pkt = data(HostId(0), HostId(1), 0, Class(3), 936);
        let here = place(Port(0), Port(1), Class(3));
        marker.on_enqueue(&mut bench.cx(), &here, &mut pkt);
        marker.on_dequeue(&mut bench.cx(), &here, &mut pkt);
        pkt.ecn() == Ecn::Ce
    };
    (0..n).filter(|i| mark(i)).count() as u32
}

/// Zhu et al. 2015: Kmin 5 KB, Kmax 200 KB, Pmax 1 %. 100 000 draws: within 4 standard deviations of n p.
#[test]
fn red_curve_of_the_dcqcn_paper() {
    let params = Params { mark_at: At::Enqueue, ..Params::default() };
    for (queue, p) in [(0u64, 0.0), (5_000, 0.0), (102_500, 0.005), (199_999, 0.01), (200_000, 1.0), (1_000_000, 1.0)] {
        let (n, p): (u32, f64) = (100_000, p);
        let (mean, sigma) = (f64::from(n) * p, (f64::from(n) * p * (1.0 - p)).sqrt());
        let got = f64::from(marked(&params, queue, n));
        assert!((got - mean).abs() <= 4.0 * sigma, "{queue} B: {got} of {n} marked, P = {p}");
    }
}

/// P802.1Qcz's "Low 10 KB, High 300 KB, Max Probability 1 %", a queue held at 1 MB: RED that stays at its maximum marks 1 % of 100 000, RED
/// that marks all from High on marks all. Below High both are one curve, and a step is one of height Pmax.
#[test]
fn above_kmax_all_are_marked_or_pmax_of_them() {
    let with = |above_kmax| Params {
        kmin: Bytes(10_000),
        kmax: Bytes(300_000),
        mark_at: At::Enqueue,
        above_kmax,
        ..Params::default()
    };
    let n = 100_000;
    let around = |got: u32, p: f64| {
        let (mean, sigma) = (f64::from(n) * p, (f64::from(n) * p * (1.0 - p)).sqrt());
        assert!((f64::from(got) - mean).abs() <= 4.0 * sigma, "{got} of {n} marked, P = {p}");
    };
    for queue in [300_000, 1_000_000] {
        assert_eq!(marked(&with(AboveMaximum::All), queue, n), n);
        around(marked(&with(AboveMaximum::Pmax), queue, n), 0.01);
    }
    assert_eq!(marked(&with(AboveMaximum::Pmax), 155_000, n), marked(&with(AboveMaximum::All), 155_000, n));
    let step = Params { kmax: Bytes(10_000), pmax: 0.25, ..with(AboveMaximum::Pmax) };
    assert_eq!(marked(&step, 10_000, n), 0);
    around(marked(&step, 10_001, n), 0.25);
    assert_eq!(Params::default().above_kmax, AboveMaximum::All, "as DCQCN's paper has it");
}

#[test]
fn step_marks_above_k() {
    let k = Bytes(200_000);
    let step = Params { kmin: k, kmax: k, pmax: 1.0, mark_at: At::Enqueue, ..Params::default() };
    assert_eq!((marked(&step, 200_000, 1), marked(&step, 200_001, 1)), (0, 1));
    // At dequeue the departing packet of 1000 B counts only with the option.
    let leaving = Params { mark_at: At::Dequeue, ..step.clone() };
    assert_eq!((marked(&leaving, 201_000, 1), marked(&leaving, 201_001, 1)), (0, 1));
    let whole = Params { count_departing: true, ..leaving };
    assert_eq!((marked(&whole, 200_000, 1), marked(&whole, 200_001, 1)), (0, 1));
    let other_class = Params { classes: Some(vec![4]), ..step };
    assert_eq!(marked(&other_class, 1_000_000, 1), 0);
}

/// With a weight of 1/4 the average of a queue of 200 KB is 50, 87.5 and 115.6 KB after the first packets: the third is marked.
#[test]
fn average_rises_with_arrivals() {
    let k = Bytes(100_000);
    for mark_at in [At::Enqueue, At::Dequeue] {
        let params = Params { kmin: k, kmax: k, weight: Some(0.25), mark_at, ..Params::default() };
        assert_eq!([2, 3, 4].map(|n| marked(&params, 201_000, n)), [0, 1, 2], "{mark_at:?}");
        let as_it_is = Params { weight: None, ..params };
        assert_eq!(marked(&as_it_is, 201_001, 2), 2, "{mark_at:?}");
    }
}

/// The queue is empty from 10 us on, when the last packet leaves. At 40 Gb/s, where the longest frame takes 813 ns, the next packet at 11
/// us counts for two, not for the thirteen since the last arrival. A packet that leaves one byte behind empties nothing.
#[test]
fn average_is_forgotten_from_when_the_queue_is_empty() {
    let step = |kb: u64, mark_at| {
        let k = Bytes(kb * 1000);
        Params { kmin: k, kmax: k, weight: Some(0.25), mark_at, ..Params::default() }
    };
    let marks = |params: &Params, left_behind: u64| {
        let mut bench = SwitchBench::new(&SwitchParams::default(), 2, Rate::gbps(40), 0);
        let mut marker = Marker::switch(params, bench.shape()).expect("ECN acts at switches");
        let here = place(Port(0), Port(1), Class(3));
        let pkt = || data(HostId(0), HostId(1), 0, Class(3), 936);
        let (mut first, mut last, mut next) = (pkt(), pkt(), pkt());
        bench.set_egress(Port(1), Queue(3), 400_001_000);
        bench.now = backwater_engine::Time::us(1);
        marker.on_enqueue(&mut bench.cx(), &here, &mut first);
        bench.set_egress(Port(1), Queue(3), 1_000 + left_behind);
        bench.now = backwater_engine::Time::us(10);
        marker.on_dequeue(&mut bench.cx(), &here, &mut last);
        bench.set_egress(Port(1), Queue(3), 1_000);
        bench.now = backwater_engine::Time::us(11);
        marker.on_enqueue(&mut bench.cx(), &here, &mut next);
        marker.on_dequeue(&mut bench.cx(), &here, &mut next);
        next.ecn() == Ecn::Ce
    };
    // 100 MB; 56.25 MB after two; 1.8 MB after fourteen.
    for mark_at in [At::Enqueue, At::Dequeue] {
        assert_eq!([56_000, 57_000].map(|kb| marks(&step(kb, mark_at), 0)), [true, false], "{mark_at:?}");
        assert_eq!([1_000, 2_000].map(|kb| marks(&step(kb, mark_at), 1)), [true, false], "{mark_at:?}");
    }
}

/// Kmin = Kmax = 100 KB at 100 Gb/s is 40 KB at the bench's 40 Gb/s, and 400 KB at 10 Gb/s' reference.
#[test]
fn thresholds_follow_the_rate_of_the_port() {
    let k = Bytes(100_000);
    let step = |gbps| Params {
        kmin: k,
        kmax: k,
        reference_rate: Some(Rate::gbps(gbps)),
        mark_at: At::Enqueue,
        ..Params::default()
    };
    assert_eq!([40_000, 40_001].map(|q| marked(&step(100), q, 1)), [0, 1]);
    assert_eq!([400_000, 400_001].map(|q| marked(&step(10), q, 1)), [0, 1]);
    let mut bench = SwitchBench::new(&SwitchParams::default(), 2, Rate::gbps(40), 0);
    let curve = Params { kmin: Bytes(0), pmax: 1.0, ..step(100) };
    let mut marker = Marker::switch(&curve, bench.shape()).expect("ECN acts at switches");
    bench.set_egress(Port(1), Queue(3), 20_000);
    let share = (0..1_000).filter(|_| {
        let mut pkt = data(HostId(0), HostId(1), 0, Class(3), 936);
        marker.on_enqueue(&mut bench.cx(), &place(Port(0), Port(1), Class(3)), &mut pkt);
        pkt.ecn() == Ecn::Ce
    });
    let share = share.count();
    assert!((440..=560).contains(&share), "half way up the curve: {share} of 1000");
}

#[test]
fn weights_lie_above_0_and_up_to_1() {
    let keys = |weight| {
        let params = Params { weight, ..Params::default() };
        crate::stack::inspect::<Marker>(&params, &Default::default()).into_iter().map(|f| f.key).collect::<Vec<_>>()
    };
    assert!([None, Some(0.002), Some(1.0)].into_iter().all(|weight| keys(weight).is_empty()));
    assert!([0.0, -0.1, 1.5, f64::NAN].into_iter().all(|weight| keys(Some(weight)) == ["weight"]));
}

/// With `host_ports = false` the port of the bench marks once a switch is at its other end; a switch with hosts only has no threshold.
#[test]
fn ports_to_hosts_may_be_left_unmarked() {
    let k = Bytes(10_000);
    let params = Params { kmin: k, kmax: k, pmax: 1.0, host_ports: false, ..Params::default() };
    let marks = |params: &Params, to_switch: &[u16]| {
        let mut bench = SwitchBench::new(&SwitchParams::default(), 3, Rate::gbps(40), 0);
        to_switch.iter().for_each(|port| bench.lead_to_switch(Port(*port)));
        let mut marker = Marker::switch(params, bench.shape()).expect("ECN acts at switches");
        bench.set_egress(Port(1), Queue(3), 50_000);
        let mut pkt = data(HostId(0), HostId(1), 0, Class(3), 936);
        marker.on_dequeue(&mut bench.cx(), &place(Port(0), Port(1), Class(3)), &mut pkt);
        let Activity { acts, margin } = marker.activity(bench.seen());
        (pkt.is_marked(), acts, margin.map(|margin| margin.threshold))
    };
    assert_eq!(marks(&params, &[]), (false, 0, None));
    assert_eq!(marks(&params, &[2]), (false, 0, Some(10_000)), "the marking port is another one");
    assert_eq!(marks(&params, &[1]), (true, 1, Some(10_000)));
    let everywhere = Params { host_ports: true, ..params };
    assert_eq!(marks(&everywhere, &[]), (true, 1, Some(10_000)));
    assert!(Params::default().host_ports);
}

/// Defaults for 40 Gb/s cause a warning for the ports that mark.
#[test]
fn the_fastest_port_that_marks_is_held_against_the_defaults() {
    let mut bench = SwitchBench::of_rates(&SwitchParams::default(), &[Rate::gbps(40), Rate::gbps(100)], 0);
    bench.lead_to_switch(Port(0));
    let warned = |host_ports, bench: &SwitchBench| {
        Marker::check_defaults(&Params { host_ports, ..Params::default() }, bench.shape()).len()
    };
    assert_eq!([true, false].map(|host_ports| warned(host_ports, &bench)), [2, 0]);
    bench.lead_to_switch(Port(1));
    assert_eq!(warned(false, &bench), 2);
}

/// A trimmed packet keeps the mark that it had, and gets none; a flow without a byte has its packet marked. A trimmed packet does not count
/// for how near the queue came.
#[test]
fn what_was_cut_is_not_marked() {
    let k = Bytes(10_000);
    for mark_at in [At::Enqueue, At::Dequeue] {
        let params = Params { kmin: k, kmax: k, pmax: 1.0, mark_at, ..Params::default() };
        let marked = |payload: u32, cut: bool, mark: bool| {
            let mut bench = SwitchBench::new(&SwitchParams::default(), 2, Rate::gbps(40), 0);
            let mut marker = Marker::switch(&params, bench.shape()).expect("ECN acts at switches");
            bench.set_egress(Port(1), Queue(3), 50_000);
            let mut pkt = data(HostId(0), HostId(1), 0, Class(3), payload);
            let header = *pkt.data().expect("it is data");
            pkt.body = Body::Data(DataHeader { flags: if cut { DataHeader::CUT } else { 0 }, ..header });
            if mark {
                pkt.mark();
            }
            let here = place(Port(0), Port(1), Class(3));
            marker.on_enqueue(&mut bench.cx(), &here, &mut pkt);
            marker.on_dequeue(&mut bench.cx(), &here, &mut pkt);
            let Activity { acts, margin } = marker.activity(bench.seen());
            (pkt.is_marked(), acts, margin.map(|margin| margin.peak > 0))
        };
        assert_eq!(marked(0, true, false), (false, 0, Some(false)), "{mark_at:?}");
        assert_eq!(marked(0, true, true), (true, 0, Some(false)), "{mark_at:?}");
        assert_eq!(marked(0, false, false), (true, 1, Some(true)), "{mark_at:?}");
        assert_eq!(marked(936, false, false), (true, 1, Some(true)), "{mark_at:?}");
    }
}

/// The packet's own queue counts: packets in other queues do not.
#[test]
fn queues_beside_it_do_not_count() {
    let k = Bytes(10_000);
    let params = Params { kmin: k, kmax: k, pmax: 1.0, ..Params::default() };
    let mut bench = SwitchBench::new(&SwitchParams::default(), 2, Rate::gbps(40), 0);
    let mut marker = Marker::switch(&params, bench.shape()).expect("ECN acts at switches");
    bench.set_egress(Port(1), Queue(3), 11_000);
    bench.set_egress(Port(1), Queue(6), 1_000_000);
    let here = place(Port(0), Port(1), Class(3));
    let mut mark = |bench: &mut SwitchBench| {
        let mut pkt = data(HostId(0), HostId(1), 0, Class(3), 936);
        marker.on_dequeue(&mut bench.cx(), &here, &mut pkt);
        pkt.is_marked()
    };
    assert!(!mark(&mut bench), "10,000 B are left in its queue");
    bench.set_egress(Port(1), Queue(3), 11_001);
    assert!(mark(&mut bench));
}

/// Up to Kmin only a queue longer than any before matters, beyond it every packet does; if a leaving packet counts itself, the remaining
/// queue is shorter by its length.
#[test]
fn levels_are_kmin_and_the_longest_queue() {
    let levels = |params: &Params, queue| {
        let mut bench = SwitchBench::new(&SwitchParams::default(), 2, Rate::gbps(40), 0);
        let mut marker = Marker::switch(params, bench.shape()).expect("ECN acts at switches");
        bench.set_egress(Port(1), Queue(3), queue);
        let mut pkt = data(HostId(0), HostId(1), 0, Class(3), 936);
        let here = place(Port(0), Port(1), Class(3));
        marker.on_enqueue(&mut bench.cx(), &here, &mut pkt);
        marker.on_dequeue(&mut bench.cx(), &here, &mut pkt);
        marker.levels(bench.cx().seen(), Account::Egress(Port(1), Queue(3)))
    };
    let enqueue = Params { mark_at: At::Enqueue, ..Params::default() };
    assert_eq!([4_000, 5_000, 90_000].map(|queue| levels(&enqueue, queue).above.0), [4_000, 5_000, 5_000]);
    // A packet of 1000 B that leaves 4000 B leaves 3000 B behind; the bench's longest packet has 4064 B.
    assert_eq!(
        [4_000, 90_000].map(|queue| levels(&Params::default(), queue)),
        [3_001, 5_001].map(|b| Levels::left(Bytes(b)))
    );
    let counted = Params { count_departing: true, ..Params::default() };
    assert_eq!(
        [4_000, 90_000].map(|queue| levels(&counted, queue)),
        [0, 5_001 - 4_064].map(|b| Levels::left(Bytes(b)))
    );
    assert_eq!(levels(&Params { weight: Some(0.5), ..Params::default() }, 4_000), Levels::ALL);
}
