//! Hosts with several queues for one class: the congestion point's message stops the queue that its packet came from, new flows take one
//! that is not stopped, and a pause of the class pauses them all.

use crate::common::{Bench, On, Outcome, narrow_uplinks, set_rate, sfc};
use backwater_engine::Time;
use backwater_mech::mac_control::Signal;
use backwater_mech::registry::Config;
use backwater_mech::sfc::{AtSource, Granularity, PAUSE, RESUME};
use backwater_net::packet::{Class, HostId};
use backwater_net::pause::MAC_CONTROL;
use backwater_net::spec::SeriesSpec;
use backwater_net::{Bytes, HostQueues, Rate};
use std::collections::{BTreeMap, BTreeSet};

const SIGNALS: [Signal; 3] = [Signal::Timed, Signal::OnOff, Signal::Ideal];
/// In the order in which new flows try them.
const PRIORITIES: [Class; 4] = [Class(3), Class(4), Class(5), Class(1)];
const PAUSE_TIME: Time = Time::us(40);

fn queues(k: usize) -> HostQueues {
    HostQueues::new(Class(3), &PRIORITIES[..k]).expect("different priorities, the class's own first")
}

/// Hosts 8, 16 and 24 send 1 MB each to host 0, at whose port more than 100 KB wait after 2 us; no resume ends the pauses. Host 8 has
/// 60 KB more for host 40 at 10 us, when it is paused.
fn beside_an_incast(k: usize, at_source: AtSource, signal: Signal) -> Bench {
    let mut bench = Bench::leaf_spine(8, 4, 8);
    for src in [8, 16, 24] {
        bench.flow(src, 0, 1_000_000);
    }
    bench.flow(8, 40, 60_000).start = Time::us(10);
    let mut params = sfc(100_000, PAUSE_TIME);
    (params.at_source, params.signal) = (at_source, signal);
    bench.mechanisms = Config::default().sfc(params);
    bench.queues = queues(k);
    bench
}

/// The time of 60 KB alone, with 3 us of delays: 16 frames of 4064 B at 200 Gb/s are 2.6 us.
const ALONE_US: f64 = 6.0;

/// The node that sends, the first priority that it names and whether it pauses: each frame of MAC control, in its order.
fn pauses_by(bench: &Bench, out: &Outcome, node: &str) -> Vec<(u8, bool)> {
    let rows = out.rows.control.iter().filter(|row| row.kind == MAC_CONTROL && row.node == bench.node(node));
    rows.map(|row| (row.class.expect("no link is paused").0, row.value > 0)).collect()
}

/// Records which priorities are paused at h8, and what it sends.
fn watched(mut bench: Bench) -> Bench {
    let (queues, links, flows, nodes) = (false, true, false, vec![bench.node("h8")]);
    let interval = Time::ns(50);
    bench.series = Some(SeriesSpec { interval, queues, links, pauses: true, flows, backlogs: false, nodes });
    bench
}

/// Priorities of h8 that were paused together at some sample, a bit each.
fn paused_together(out: &Outcome) -> Vec<u8> {
    let mut at = BTreeMap::<Time, u8>::new();
    for row in out.rows.series.iter().filter(|row| row.quantity == "paused") {
        *at.entry(row.time).or_default() |= 1 << row.queue.expect("a class is paused");
    }
    let mut sets: Vec<u8> = at.into_values().collect();
    sets.sort_unstable();
    sets.dedup();
    sets
}

#[test]
fn a_second_message_goes_round_the_paused_queue_and_waits_where_there_is_one_queue() {
    for at_source in [AtSource::Proxy, AtSource::Host] {
        for signal in SIGNALS {
            let [one, two, four] = [1, 2, 4].map(|k| beside_an_incast(k, at_source, signal).run());
            for out in [&one, &two, &four] {
                out.at_rest();
            }
            // Paused from 2 or 3 us on for 40 us.
            assert!(one.fct_us(3) > 25.0, "{at_source:?} {signal:?}: {}", one.fct_us(3));
            assert!(two.fct_us(3) < ALONE_US, "{at_source:?} {signal:?}: {}", two.fct_us(3));
            assert_eq!(four.fct_us(3), two.fct_us(3), "the third and fourth are not needed");
            // The first message, which was there before the pause, stays in its queue and is paused all the same.
            let sent = [1, 2].map(|k| {
                let stop_at = Some(Time::us(30));
                let out = Bench { stop_at, ..beside_an_incast(k, at_source, signal) }.run();
                out.flow(0).received
            });
            assert_eq!(sent[0], sent[1], "{at_source:?} {signal:?}");
            assert!(sent[0] < 200_000, "{at_source:?} {signal:?}: 30 us at full rate are 750 KB: {}", sent[0]);
        }
    }
}

/// The first queues of hosts 8 and 16 are both paused when host 8 has a message for host 16: it goes in the second, and so does its
/// acknowledgement, which is of the same connection. With one queue both wait.
#[test]
fn an_acknowledgement_takes_the_queue_of_its_message() {
    for (class, signal) in [None, Some(3)].into_iter().zip(SIGNALS) {
        let acknowledged = |k| {
            let mut bench = beside_an_incast(k, AtSource::Proxy, signal);
            bench.ack.class = class;
            bench.flows[3].dst = HostId(16);
            let out = bench.run();
            out.at_rest().fct_us(3)
        };
        let [one, two] = [1, 2].map(acknowledged);
        assert!(two < ALONE_US, "{class:?} {signal:?}: {two}");
        assert!(one > 25.0, "{class:?} {signal:?}: {one}");
    }
}

#[test]
fn nothing_is_changed_by_queues_that_nobody_needs() {
    for signal in SIGNALS {
        let flows = |k| {
            let mut bench = beside_an_incast(k, AtSource::Proxy, signal);
            bench.flows.pop();
            bench.run()
        };
        let [one, two, four] = [1, 2, 4].map(flows);
        assert!(one.rows.control.iter().any(|row| row.kind == PAUSE));
        assert_eq!([two.fingerprint, four.fingerprint], [one.fingerprint; 2], "no flow starts during a pause");
        assert_eq!(two.rows.flows, one.rows.flows);
    }
    // No pause at all, and many flows of two classes.
    let busy = |k| {
        let mut bench = Bench::leaf_spine(4, 2, 8);
        (bench.queues, bench.nic.tx_queue) = (queues(k), 3);
        for i in 0..60u32 {
            let flow = bench.flow(i % 7, 8 + i % 11, 10_000 + 3_000 * u64::from(i));
            (flow.start, flow.class) = (Time::ns(300 * u64::from(i)), Class(if i % 5 == 0 { 6 } else { 3 }));
        }
        bench.run()
    };
    let [one, two, four] = [1, 2, 4].map(busy);
    one.at_rest();
    assert_eq!([two.fingerprint, four.fingerprint], [one.fingerprint; 2]);
}

/// The port of h0 stops the first queue, and the port of h1 stops the second, which the flow to h1 has taken meanwhile.
#[test]
fn each_queue_is_paused_and_resumed_by_itself() {
    for signal in SIGNALS {
        let mut bench = beside_an_incast(4, AtSource::Proxy, signal);
        bench.flows.pop();
        // h8 and two others fill the port of h1 as well, while h8's first queue is paused.
        for src in [8, 17, 25] {
            bench.flow(src, 1, 1_000_000).start = Time::us(10);
        }
        let sfc = bench.mechanisms.sfc.as_mut().expect("there is SFC");
        (sfc.base.resume, sfc.base.target) = (true, Some(Bytes(20_000)));
        let bench = watched(bench);
        let out = bench.run();
        out.at_rest();
        let sets = paused_together(&out);
        assert!(sets.contains(&(1 << 3)), "{signal:?}: {sets:?}: the first alone");
        assert!(sets.contains(&(1 << 4)), "{signal:?}: {sets:?}: the second alone, the first having been resumed");
        assert!(sets.contains(&(1 << 3 | 1 << 4)), "{signal:?}: {sets:?}");
        assert!(sets.iter().all(|set| set & !(1 << 3 | 1 << 4) == 0), "{signal:?}: {sets:?}");
        assert!(out.rows.control.iter().any(|row| row.kind == RESUME && row.to == Some(HostId(8))));
        let frames = pauses_by(&bench, &out, "leaf1");
        assert!(frames.contains(&(3, false)) && frames.contains(&(4, false)), "{signal:?}: {frames:?}");
    }
}

/// A message that starts while both queues are paused takes the second, and leaves when that resumes.
#[test]
fn a_message_that_finds_all_queues_paused_takes_the_last() {
    for signal in SIGNALS {
        let mut bench = beside_an_incast(2, AtSource::Proxy, signal);
        bench.flows.pop();
        // The second queue's message, with a pause of its own, from about 13 us on.
        for src in [8, 17, 25] {
            bench.flow(src, 1, 1_000_000).start = Time::us(10);
        }
        bench.flow(8, 40, 60_000).start = Time::us(20);
        let out = watched(bench.clone()).run();
        out.at_rest();
        let began = |priority: u8| {
            let of = |row: &&backwater_net::record::SeriesRow| row.quantity == "paused" && row.queue == Some(priority);
            out.rows.series.iter().find(of).map(|row| row.time).expect("it is paused")
        };
        let (first, second) = (began(3), began(4));
        assert!(first < Time::us(10) && second > Time::us(10) && second < Time::us(20), "{first} {second}");
        // In the first queue it would have gone when that opens, at least 6 us sooner.
        let done = Time::us(20) + Time((out.fct_us(6) * 1e6) as u64);
        assert!(done > second + PAUSE_TIME, "{signal:?}: {done}, {second}");
        assert!(first + Time::us(6) < second, "{signal:?}: {first}, {second}");
        // A third queue is open.
        let third = Bench { queues: queues(3), ..bench }.run();
        assert!(third.at_rest().fct_us(6) < ALONE_US, "{signal:?}: {}", third.fct_us(6));
    }
}

/// A trunk of a quarter of the hosts' rate fills the ingress of h8's leaf, and the leaf's own PFC stops the class: all queues,
/// in one frame.
#[test]
fn pfc_of_the_switch_pauses_every_queue() {
    for signal in SIGNALS {
        let mut bench = Bench::leaf_spine(8, 4, 8);
        narrow_uplinks(&mut bench, signal);
        bench.queues = queues(4);
        bench.flow(8, 40, 1_000_000);
        // To a neighbour: only the pause is in its way.
        bench.flow(8, 9, 60_000).start = Time::us(30);
        let bench = watched(bench);
        let out = bench.run();
        assert_eq!(out.at_rest().progress.drops, 0);
        let all = PRIORITIES.iter().fold(0, |bits, p| bits | 1 << p.0);
        assert_eq!(paused_together(&out), [all], "{signal:?}");
        let of = |quantity: &str| -> BTreeSet<Time> {
            out.rows.series.iter().filter(|row| row.quantity == quantity).map(|row| row.time).collect()
        };
        let (paused, sends) = (of("paused"), of("sent_bytes"));
        assert!(sends.len() > 100 && paused.iter().any(|at| *at > Time::us(30)));
        for at in paused.iter().filter(|at| paused.contains(&(**at - Time::ns(50)))) {
            assert!(!sends.contains(at), "{signal:?}: h8 begins a frame before {at}, while its class is paused");
        }
        let frames = pauses_by(&bench, &out, "leaf1");
        assert!(frames.len() > 4 && frames.iter().all(|(first, _)| *first == 1), "{signal:?}: {frames:?}");
        let one_queue = Bench { queues: queues(1), ..bench.clone() }.run();
        assert_eq!(
            pauses_by(&bench, &one_queue, "leaf1").len(),
            frames.len(),
            "{signal:?}: a frame is for all of them"
        );
    }
}

/// PFC's pause of the class and SFC's of a queue overlap: neither one's resume lifts the other's.
#[test]
fn pauses_of_the_class_and_of_a_queue_are_merged() {
    for signal in SIGNALS {
        let mut bench = beside_an_incast(2, AtSource::Proxy, signal);
        bench.flows.truncate(3);
        narrow_uplinks(&mut bench, signal);
        set_rate(&mut bench, "h0", Rate::gbps(100));
        // Enough data for other hosts, whose path is as narrow, that PFC has to pause h8 while its first queue is held.
        for i in 0..4 {
            bench.flow(8, 40 + i, 400_000).start = Time::us(25 + u64::from(i));
        }
        let bench = watched(bench);
        let out = bench.run();
        assert_eq!(out.at_rest().progress.drops, 0, "{signal:?}");
        let sets = paused_together(&out);
        assert_eq!(sets, [1 << 3, 1 << 3 | 1 << 4], "{signal:?}: the queue alone, and both");
        // Within the proxy's pause the first queue stays paused, whatever PFC does.
        let notified = out.rows.control.iter().find(|row| row.kind == PAUSE && row.to == Some(HostId(8)));
        let from = notified.expect("h8 is told").time + Time::us(2);
        let (mut at, mut both) = (Time(from.0.next_multiple_of(50_000)), false);
        let paused = |at: Time, priority: u8| {
            out.rows.series.iter().any(|row| row.time == at && row.quantity == "paused" && row.queue == Some(priority))
        };
        let mut lifted = false;
        while at + Time::us(3) < from + PAUSE_TIME {
            assert!(paused(at, 3), "{signal:?}: {at}");
            lifted |= both && !paused(at, 4);
            both |= paused(at, 4);
            at += Time::ns(50);
        }
        assert!(both && lifted, "{signal:?}: PFC pauses and resumes within the proxy's pause");
    }
}

/// In flow mode the host stops the flow, whichever queue it is in.
#[test]
fn a_host_that_stops_flows_leaves_its_queues_open() {
    let mut bench = beside_an_incast(2, AtSource::Host, Signal::Timed);
    bench.mechanisms.sfc.as_mut().expect("there is SFC").base.granularity = Granularity::Flow;
    let out = bench.run();
    assert!(out.at_rest().fct_us(3) < ALONE_US);
}
