//! States of values, by hand.

use super::values::Values;
use super::*;
use backwater_engine::rng;
use backwater_net::bench::{FlowBench, SwitchBench, at_offset, data};
use backwater_net::config::SwitchParams;
use backwater_net::hooks::Turn;
use backwater_net::packet::{AckHeader, Gap};
use std::collections::{BTreeMap, BTreeSet};

fn values(n: u32) -> Values {
    Values::hashed(n, &mut rng::stream(1, "entropy values", 0))
}

/// The values of so many packets, by number of packets.
fn counts(values: &mut Values, packets: std::ops::Range<u64>) -> BTreeMap<u16, u64> {
    packets.fold(BTreeMap::new(), |mut counts, number| {
        *counts.entry(values.take(number)).or_default() += 1;
        counts
    })
}

/// Each of n values has 1/n of the packets. After one is retired, it has none, and each other one has 1/(n - 1).
#[test]
fn a_retired_value_has_no_share_and_the_others_share_alike() {
    let mut values = values(8);
    let all = counts(&mut values, 0..56);
    assert_eq!((all.keys().copied().collect::<Vec<_>>(), all.values().max()), ((1..=8).collect(), Some(&7)));
    let lost = values.take(56);
    assert!(values.lost(56) && !values.lost(56));
    let left = counts(&mut values, 57..113);
    assert!(!left.contains_key(&lost) && left.values().all(|n| *n == 8) && left.len() == 7, "{left:?} without {lost}");
}

/// A congested value misses one turn, however often it is reported.
#[test]
fn a_congested_value_misses_one_turn() {
    let mut values = values(4);
    let turn: Vec<u16> = (0..4).map(|number| values.take(number)).collect();
    assert!(values.congested(turn[1]) && !values.congested(turn[1]));
    let next: Vec<u16> = (4..11).map(|number| values.take(number)).collect();
    assert_eq!(next, [turn[0], turn[2], turn[3], turn[0], turn[1], turn[2], turn[3]]);
    // If all are congested each misses one turn, and the first is used.
    turn.iter().for_each(|ev| assert!(values.congested(*ev)));
    assert_eq!(values.take(11), turn[0]);
    assert_eq!(values.take(12), turn[1]);
}

/// A retransmitted packet counts for the value that it had last, and one that has arrived for none.
#[test]
fn a_loss_retires_the_value_of_the_last_transmission() {
    let mut values = values(4);
    let first = values.take(0);
    let second = values.take(0);
    assert!(values.lost(0));
    let left: BTreeSet<u16> = (1..9).map(|number| values.take(number)).collect();
    assert!(left.contains(&first) && !left.contains(&second));
    values.arrived(9);
    assert!(!values.in_flight() && !values.lost(3) && !values.lost(20));
}

/// k probes in a row bring a value back; one that is not answered begins the count anew.
#[test]
fn answers_in_a_row_bring_a_value_back() {
    let mut values = values(4);
    let ev = values.take(0);
    values.lost(0);
    let at = |n: u64| Time::us(10 * n);
    let places = values.arm(at(1));
    assert_eq!((places.len(), values.arm(at(1)).len()), (1, 0));
    assert!(!values.answered(ev, 2), "nothing has been asked");
    for (n, (answered, back)) in (1..).zip([(true, false), (false, false), (true, false), (true, true)]) {
        assert_eq!(values.probe(places[0], at(n), at(n + 1), false), Some(ev));
        if answered {
            assert_eq!(values.answered(ev, 2), back);
        }
    }
    assert_eq!(values.probe(places[0], at(5), at(6), false), None);
    assert!((1..5).any(|number| values.take(number) == ev));
}

/// A value that returns and is retired again within one interval has one chain of probes: the timer of the first is void.
#[test]
fn a_timer_of_an_earlier_retirement_is_void() {
    let mut values = values(4);
    let ev = values.take(0);
    values.lost(0);
    let place = values.arm(Time::us(10))[0];
    assert_eq!(values.probe(place, Time::us(10), Time::us(20), false), Some(ev));
    assert!(values.answered(ev, 1));
    let number = (1..).find(|number| values.take(*number) == ev).expect("it has a turn");
    values.lost(number);
    assert_eq!(values.arm(Time::us(24)), [place]);
    assert_eq!(values.probe(place, Time::us(20), Time::us(30), false), None);
    assert_eq!(values.probe(place, Time::us(24), Time::us(34), false), Some(ev));
    assert_eq!(values.probe(place, Time::us(30), Time::us(40), false), None);
    assert_eq!(values.probe(place, Time::us(34), Time::us(44), false), Some(ev));
}

/// While a flow has nothing to send, nothing is probed; its next packet arms the probe.
#[test]
fn an_idle_flow_does_not_probe() {
    let params = Params { values: 4, probe_interval: Time::us(10), ..Params::default() };
    let mut bench = FlowBench::new(Rate::gbps(100));
    let mut sender = Mrc::flow(&params, bench.shape(), &()).unwrap();
    let send = |bench: &mut FlowBench, sender: &mut Sender, number: u64| {
        let payload = bench.shape().payload.0;
        let mut pkt = at_offset(data(HostId(0), HostId(1), 0, Class(3), payload as u32), number * payload);
        sender.on_turn(&mut bench.cx(), &mut pkt, &Turn::default());
        pkt.ev()
    };
    let ev = send(&mut bench, &mut sender, 0);
    assert!(sender.timeout_is_loss(0, false, Time::ZERO));
    sender.on_loss(&mut bench.cx(), Loss::Timeout { bytes: 4064 });
    let timers = bench.timers();
    assert_eq!(timers.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [Time::us(10)]);
    // All has arrived after all.
    let counted = Counted { cumulative: 1, ..Counted::default() };
    let ack = Ack { received: 0, rtt: Time::us(5), marked: false, carried: None, counted: Some(&counted) };
    sender.on_ack(&mut bench.cx(), &ack);
    bench.now = Time::us(10);
    sender.on_timer(&mut bench.cx(), timers[0].1);
    assert_eq!(bench.timers(), []);
    bench.now = Time::us(50);
    assert_ne!(send(&mut bench, &mut sender, 1), ev);
    assert_eq!(bench.timers(), [(Time::us(60), timers[0].1)]);
}

/// Planes take turns, each with as many values; each value names one plane and one path there.
#[test]
fn planes_take_turns() {
    let mut rng = rng::stream(1, "entropy values", 0);
    let mut values = Values::routed(8, 4, 3, &mut rng);
    let taken: Vec<u32> = (0..16).map(|number| u32::from(values.take(number)) - 1).collect();
    for turn in taken.chunks(4) {
        assert_eq!(turn.iter().map(|path| path % 4).collect::<BTreeSet<_>>().len(), 4, "{taken:?}");
    }
    assert_eq!(taken[..8], taken[8..]);
    assert_eq!(taken[..8].iter().collect::<BTreeSet<_>>().len(), 8);
    assert!(taken.iter().all(|path| path / 4 < 3));
    // No path has two values, however many are asked for.
    let mut all = Values::routed(100, 4, 3, &mut rng);
    let counts = counts(&mut all, 0..24);
    assert!(counts.len() == 12 && counts.values().all(|n| *n == 2), "{counts:?}");
}

/// Value v - 1 = plane + 4 uplink: the first switch selects the plane, the second the uplink, a third hashes.
#[test]
fn a_value_is_a_source_route() {
    let params = Params { fields: Some(vec![4, 3]), ..Params::default() };
    let mut bench = SwitchBench::new(&SwitchParams::default(), 8, Rate::gbps(100), 0);
    let mut router = Mrc::switch(&params, bench.shape()).unwrap();
    let mut pkt = data(HostId(0), HostId(9), 0, Class(3), 1000);
    let ports = [4u16, 5, 6, 7].map(Port);
    assert_eq!(router.choose(&mut bench.cx(), &ports, &pkt), None);
    pkt.spread_by(1 + 2 + 4);
    assert_eq!(router.choose(&mut bench.cx(), &ports, &pkt), Some(Port(6)));
    // With a port less, the digit names no port: the value is hashed, so that no port gets two digits.
    assert_eq!(router.choose(&mut bench.cx(), &ports[1..], &pkt), None);
    // A packet that is returned has not passed the switches before on its way back.
    let gap = Gap::Returned { at: 0, ev: pkt.ev(), flags: 0 };
    let mut nack = pkt;
    nack.body = Body::Ack(AckHeader { src: HostId(9), received: 0, gap: Some(gap) });
    assert_eq!((nack.ev(), router.choose(&mut bench.cx(), &ports, &nack)), (pkt.ev(), None));
    assert!(Mrc::switch(&Params::default(), bench.shape()).is_none());
}
