//! Hosts with several classes, and runs that do not wait for all flows.

use crate::own::Bench;
use backwater_engine::Time;
use backwater_net::Rate;
use backwater_net::bench::network::Outcome;
use backwater_net::packet::{Class, HostId};
use backwater_net::record::State;

const RATE: Rate = Rate::gbps(100);

/// Flows of a star's host 0 to one host each, in these classes, for 100 us. Returns what each receiver has received, in frames of 4 KB.
fn shares(classes: &[u8], weights: Option<[u32; 8]>) -> Vec<u64> {
    let mut bench = Bench::star(1 + classes.len() as u32, RATE);
    bench.nic.weights = weights;
    for (i, class) in classes.iter().enumerate() {
        bench.flow(0, 1 + i as u32, 1 << 40).class = Class(*class);
    }
    bench.stop_at = Some(Time::us(100));
    let out = bench.run();
    out.rows.flows.iter().map(|flow| flow.received / 4000).collect()
}

/// 307 frames of 4064 B in 100 us. By weight a class sends so many packets in its turn, whatever the number of its flows.
#[test]
fn hosts_serve_classes_strictly_or_by_turns() {
    // The first flow is alone for one frame.
    assert_eq!(shares(&[2, 3], None)[0], 1, "strict: the higher class sends all the time");
    let near = |got: &[u64], wanted: &[u64]| {
        assert!(got.iter().zip(wanted).all(|(got, wanted)| got.abs_diff(*wanted) <= 4), "{got:?}, not {wanted:?}");
    };
    near(&shares(&[2, 3], Some([1; 8])), &[153, 153]);
    near(&shares(&[2, 3, 3], Some([1; 8])), &[153, 76, 76]);
    near(&shares(&[1, 3], Some([0, 3, 0, 1, 0, 0, 0, 0])), &[230, 76]);
    let mice_first = shares(&[2, 3, 5], Some([1, 1, 1, 1, 0, 0, 0, 0]));
    assert_eq!(mice_first[..2], [1, 0], "weight 0 goes before all others: {mice_first:?}");
}

/// With `awaited` the run ends at the instant at which the last awaited flow ends; the others stay unfinished.
#[test]
fn a_run_waits_for_some_groups_only() {
    let mut bench = Bench::star(4, RATE);
    bench.flow(0, 2, 1 << 40).group = 1;
    bench.flow(1, 3, 400_000);
    bench.flow(1, 3, 400_000).start = Time::us(60);
    let whole = |out: &Outcome, id: u64| out.flow(id).start + out.flow(id).fct_last_ack.unwrap_or(Time::NEVER);
    bench.awaited = vec![0];
    let out = bench.run();
    assert!(out.progress.done);
    assert_eq!(out.progress.time, whole(&out, 2));
    assert!(whole(&out, 1) < Time::us(60), "nothing awaited was under way for a while, but more was to come");
    assert!(matches!(out.flow(0).state, State::Unfinished(_)) && out.flow(0).received > 0);
    // The group has no flows: the run does not begin.
    bench.flows.retain(|flow| flow.group == 1);
    let none = bench.run();
    assert_eq!((none.progress.time, none.flow(0).received), (Time::ZERO, 0));
    assert_eq!(none.flow(0).src, HostId(0));
}
