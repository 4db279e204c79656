//! Jobs without a network: the test completes flows itself, in any order.

use super::*;
use crate::config::PacketParams;
use crate::model::packet::{Class, HostId};
use crate::record::{CollectiveRow, Computed, InstanceRow, Release, RoundRow, Rows, TransferRow};
use crate::units::Bytes;
use crate::units::Rate;
use crate::workload::flow_spec::FlowSpec;
use crate::workload::{Dependent, Due, Moment};
use backwater_engine::Time;
use proptest::prelude::*;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

pub(super) fn compute(us: u64) -> Work {
    Work::Compute(Time::us(us))
}

pub(super) fn send(bytes: u64) -> Work {
    Work::Exchange(Exchange::PointToPoint { bytes })
}

pub(super) fn step(work: Work, communicators: Vec<Vec<u32>>, after: &[usize]) -> StepSpec {
    let (label, after_previous, start) = ("step".into(), Vec::new(), Time::ZERO);
    let (rings, software) = (Vec::new(), Software::FREE);
    StepSpec { label, work, communicators, rings, after: after.to_vec(), after_previous, start, software }
}

pub(super) fn job(ranks: u32, steps: Vec<StepSpec>) -> JobSpec {
    JobSpec {
        label: "job".into(),
        stream: "job".into(),
        ranks,
        hosts: (0..ranks).map(HostId).collect(),
        ranks_per_server: 1,
        start: Time::us(3),
        rounds: 1,
        in_flight: 1,
        moment: Moment::LastByte,
        start_latency: Time::ZERO,
        class: Class(3),
        ect: true,
        steps,
    }
}

fn links(hosts: usize) -> Links {
    let packet = PacketParams { payload: Bytes(4000), header: Bytes(64), gap: Bytes(0), clock: None };
    Links { rates: vec![Rate::gbps(100); hosts].into(), packets: vec![packet; 16] }
}

/// The course of a job whose flows took `lasts` each.
#[derive(Default)]
struct Course {
    /// Start, flow and end.
    flows: Vec<(Time, FlowSpec, Time)>,
    rows: Vec<CollectiveRow>,
    transfers: Vec<TransferRow>,
    rounds: Vec<RoundRow>,
    instances: Vec<InstanceRow>,
    /// Most flows at once.
    most: usize,
}

/// Runs a job whose flows take the time of `lasts`; with `backwards`, flows that end at once end in reverse order.
fn course(spec: &JobSpec, lasts: impl Fn(&FlowSpec) -> Time, backwards: bool) -> Course {
    let mut job = Job::new(spec.clone(), 2, 1, links(spec.hosts.len())).unwrap();
    let mut course = Course::default();
    let mut ends: BTreeMap<Time, Vec<(u64, u32)>> = BTreeMap::new();
    let (mut now, mut again) = (job.begins(), Some(job.begins()));
    loop {
        let next = ends.keys().next().copied().into_iter().chain(again).min();
        let Some(next) = next else { break };
        assert!(next >= now);
        now = next;
        let mut over = ends.remove(&now).unwrap_or_default();
        if backwards {
            over.reverse();
        }
        over.iter().for_each(|(flow, group)| job.completed(*flow, *group, spec.moment));
        let mut due = Due::default();
        again = job.due(now, &mut due);
        for flow in due.flows {
            assert_eq!(flow.start, now);
            let end = now + lasts(&flow);
            ends.entry(end).or_default().push((flow.id, flow.group));
            course.flows.push((now, flow, end));
        }
        course.rows.extend(due.rows.collectives);
        course.transfers.extend(due.rows.transfers);
        course.rounds.extend(due.rows.rounds);
        course.instances.extend(due.rows.instances);
        course.most = course.most.max(ends.values().map(Vec::len).sum());
    }
    assert_eq!(job.unfinished(), Rows::default());
    if let Some(total) = job.total() {
        assert_eq!(total, course.flows.len() as u64);
    }
    course
}

fn exchange(ranks: u32, exchange: Exchange) -> JobSpec {
    job(ranks, vec![step(Work::Exchange(exchange), vec![(0..ranks).collect()], &[])])
}

#[test]
fn a_chain_takes_the_sum_of_its_parts() {
    let steps = vec![
        step(compute(5), vec![vec![0]], &[]),
        step(send(4000), vec![vec![0, 1]], &[0]),
        step(compute(7), vec![vec![1]], &[1]),
        step(send(8000), vec![vec![1, 0]], &[2]),
    ];
    let spec = JobSpec { rounds: 3, ..job(2, steps) };
    let course = course(&spec, |_| Time::us(10), false);
    // 32 us a round from 3 us on; the first transfer after 5 us, the second after 22.
    let starts: Vec<u64> = course.flows.iter().map(|(at, ..)| at.0 / 1_000_000).collect();
    assert_eq!(starts, [8, 25, 40, 57, 72, 89]);
    assert_eq!((course.most, course.rows.len()), (1, 6));
    let row = &course.rows[5];
    assert_eq!((row.round, row.group, row.start, row.end), (2, 5, Time::us(89), Some(Time::us(99))));
    assert_eq!((row.transfers, row.bytes, row.size_bytes), (1, 8000, 8000.0));
    // Two frames of 4064 B at 100 Gb/s.
    assert_eq!(row.bound, Time(2 * 4064 * 80));
}

#[test]
fn each_transfer_says_what_let_it_begin() {
    let steps = vec![
        step(compute(5), vec![vec![0]], &[]),
        step(send(4000), vec![vec![0, 1]], &[0]),
        step(compute(7), vec![vec![1]], &[1]),
        step(send(8000), vec![vec![1, 0]], &[2]),
        step(compute(2), vec![vec![0]], &[3]),
    ];
    let spec = JobSpec { rounds: 2, ..job(2, steps) };
    let course = course(&spec, |_| Time::us(10), false);
    let computed = |text: &str| text.split(" + ").map(Arc::from).map(Computed::new).reduce(|all, _| all.then("step"));
    let release = |flow: Option<u64>, text: &str| Release { flow, computed: computed(text) };
    let [a, b, c, d] = &course.transfers[..] else { panic!("{:?}", course.transfers) };
    assert_eq!(a.release, release(None, "step"));
    assert_eq!(b.release, release(Some(a.flow), "step"));
    // The second computation of the round before, and the first of this one.
    assert_eq!(c.release, release(Some(b.flow), "step + step"));
    assert_eq!((c.start, c.end), (Time::us(3 + 34 + 5), Some(Time::us(3 + 34 + 15))));
    assert_eq!((d.src_rank, d.dst_rank, d.src, d.bytes), (1, 0, HostId(1), 8000));
    let notified = |row: &RoundRow| (row.start, row.end.unwrap(), row.release.clone());
    assert_eq!(notified(&course.rounds[0]), (Time::us(3), Time::us(37), release(Some(b.flow), "step")));
    assert_eq!(notified(&course.rounds[1]), (Time::us(37), Time::us(71), release(Some(d.flow), "step")));
    let [one] = &course.instances[..] else { panic!("{:?}", course.instances) };
    assert_eq!((one.rounds, one.complete, one.start, one.end), (2, 2, Time::us(3), Some(Time::us(71))));
}

#[test]
fn rounds_without_transfers_need_no_more_memory_with_each() {
    let spec = JobSpec { rounds: 100_000, ..job(1, vec![step(compute(1), vec![vec![0]], &[])]) };
    let course = course(&spec, |_| Time::us(10), false);
    let notified = course.rounds.last().unwrap().release.computed.as_ref().unwrap().to_string();
    assert_eq!(notified, format!("{} + 99984 more", ["step"; 16].join(" + ")));
}

#[test]
fn rounds_in_flight_overlap_and_stay_in_order() {
    // A pipeline of three stages; a micro-batch takes 10 us of computing and 1 us of sending at each.
    let steps = vec![
        step(compute(10), vec![vec![0], vec![1], vec![2]], &[1]),
        step(send(4000), vec![vec![0, 1], vec![1, 2]], &[0]),
    ];
    let piped = JobSpec { rounds: 8, in_flight: 8, ..job(3, steps) };
    let end = |spec: &JobSpec| course(spec, |_| Time::us(1), false).rows.iter().filter_map(|r| r.end).max().unwrap();
    // The last transfer ends when stage 0 has computed 8 times, stage 1 once more, and both have sent.
    assert_eq!(end(&piped), Time::us(3 + 8 * 10 + 1 + 10 + 1));
    // One at a time: a round ends with the computation of the last stage.
    let one = JobSpec { in_flight: 1, ..piped.clone() };
    assert_eq!(end(&one), Time::us(3 + 7 * 32 + 22));
    // Two: as one, but the next round fills the idle time of the one before. Stage 0 begins round b when round b - 2 is complete.
    let two = JobSpec { in_flight: 2, ..piped.clone() };
    assert!(end(&two) < end(&one) && end(&two) > end(&piped));
    let endless = JobSpec { rounds: 1 << 30, in_flight: 2, ..piped };
    let mut job = Job::new(endless, 0, 1, links(3)).unwrap();
    job.due(Time::us(3), &mut Due::default());
    assert_eq!(job.open(), 2, "rounds are not expanded beforehand");
}

#[test]
fn phases_wait_for_what_they_pass_on() {
    use super::{Algorithm::*, Collective::*};
    for (collective, algorithm, phases) in [
        (AllReduce, Ring { channels: 1 }, 14),
        (AllGather, Ring { channels: 1 }, 7),
        (ReduceScatter, Ring { channels: 1 }, 7),
        (AllReduce, HalvingDoubling, 6),
        (AllGather, HalvingDoubling, 3),
    ] {
        let spec = exchange(8, Exchange::Phased { collective, algorithm, bytes: 8_000 });
        let course = course(&spec, |_| Time::us(10), false);
        assert_eq!(course.rows[0].end, Some(Time::us(3 + 10 * phases)), "{collective:?} {algorithm:?}");
        assert_eq!((course.flows.len() as u64, course.most), (8 * phases, 8));
    }
    // One slow link delays only the parts that pass over it, until they have gone around.
    let spec = exchange(4, Exchange::Phased { collective: AllGather, algorithm: Ring { channels: 1 }, bytes: 400 });
    let slow = |flow: &FlowSpec| if flow.src.0 == 0 { Time::us(50) } else { Time::us(1) };
    let course = course(&spec, slow, false);
    assert_eq!(course.rows[0].end, Some(Time::us(3 + 150)));
    assert!(course.flows.iter().any(|(at, flow, _)| flow.src.0 == 3 && *at == Time::us(5)));
}

#[test]
fn within_a_server_nothing_is_sent() {
    let all = exchange(8, Exchange::AllToAll { bytes: 4000, pairwise: false });
    let course_of = |spec: &JobSpec| course(spec, |_| Time::us(1), false);
    let four = JobSpec { ranks_per_server: 4, ..all.clone() };
    let course = course_of(&four);
    assert_eq!((course.flows.len(), course.rows[0].bytes), (32, 32 * 4000));
    assert!(course.flows.iter().all(|(_, f, _)| f.src.0 / 4 != f.dst.0 / 4));
    // A ring by servers: 2 of 8 transfers of a phase leave their server.
    let ring =
        Exchange::Phased { collective: Collective::AllReduce, algorithm: Algorithm::Ring { channels: 1 }, bytes: 8000 };
    let ring = JobSpec { ranks_per_server: 4, ..exchange(8, ring) };
    assert_eq!(course_of(&ring).flows.len(), 14 * 2);
    let inside = JobSpec { ranks_per_server: 8, rounds: 4, ..all };
    let course = course_of(&inside);
    assert_eq!((course.flows.len(), course.rows.len()), (0, 4));
    assert!(course.rows.iter().all(|r| r.end == Some(r.start) && r.bound == Time::ZERO));
}

#[test]
fn a_share_for_each_server_that_was_drawn() {
    // Four of eight, maybe itself: the total goes to three or four others.
    let drawn = |choice| Exchange::Drawn { choice, fan_out: 4, with_self: true, bytes: 51_375_001, in_all: true };
    for choice in [Choice::Random, Choice::Balanced] {
        let spec = JobSpec { rounds: 20, ..exchange(8, drawn(choice)) };
        let course = course(&spec, |_| Time::us(1), false);
        for round in 0..20 {
            for rank in 0..8 {
                let sent = |(_, f, _): &&(Time, FlowSpec, Time)| f.src.0 == rank && f.id % (1 << 40) / 32 == round;
                let sizes: Vec<u64> = course.flows.iter().filter(sent).map(|(_, f, _)| f.bytes).collect();
                assert!(matches!(sizes.len(), 3 | 4), "{sizes:?}");
                assert_eq!(sizes.iter().sum::<u64>(), 51_375_001);
            }
        }
        assert_eq!(course.rows[0].size_bytes, 51_375_001.0);
    }
}

#[test]
fn rings_side_by_side_use_an_interface_of_each_server_each() {
    // Two servers of two ranks; ring k is listed by the rank of place k, twice for each server.
    let ring =
        Exchange::Phased { collective: Collective::AllReduce, algorithm: Algorithm::Ring { channels: 2 }, bytes: 8000 };
    let rings = vec![vec![0, 0, 2, 2, 1, 1, 3, 3]];
    let one = StepSpec { rings, ..step(Work::Exchange(ring), vec![vec![0, 1, 2, 3]], &[]) };
    let spec = JobSpec { ranks_per_server: 2, ..job(4, vec![one]) };
    let course = course(&spec, |_| Time::us(10), false);
    // Six phases of S/8 in each ring; two of the four links of a ring join servers.
    assert_eq!(course.flows.len(), 6 * 2 * 2);
    assert!(course.flows.iter().all(|(_, f, _)| f.bytes == 1000 && f.src.0 % 2 == f.dst.0 % 2 && f.src != f.dst));
    for host in 0..4 {
        assert_eq!(course.flows.iter().filter(|(_, f, _)| f.src.0 == host).count(), 6);
    }
    let row = &course.rows[0];
    assert_eq!((row.ranks, row.size_bytes, row.bus_bytes), (4, 8000.0, 8000.0 * 2.0 * 3.0 / 4.0));
    // The last member of a server sends a part to the next server in each of the six phases.
    assert_eq!(row.end, Some(Time::us(3 + 60)));
}

#[test]
fn ranks_without_an_interface_of_their_own_wait_for_rings_and_hold_them_back() {
    // One ring, by the first rank of each server; rank 3 computes before it, and rank 1 sends after it.
    let ring =
        Exchange::Phased { collective: Collective::AllGather, algorithm: Algorithm::Ring { channels: 1 }, bytes: 4000 };
    let rings = vec![vec![0, 0, 2, 2]];
    let sum = StepSpec { rings, ..step(Work::Exchange(ring), vec![vec![0, 1, 2, 3]], &[0]) };
    let steps = vec![step(compute(5), vec![vec![3]], &[]), sum, step(send(100), vec![vec![1, 3]], &[1])];
    let course = course(&JobSpec { ranks_per_server: 2, ..job(4, steps) }, |_| Time::us(10), false);
    // Three phases of the ring between servers after 3 + 5 us, then the transfer.
    let starts: Vec<u64> = course.flows.iter().map(|(at, ..)| at.0 / 1_000_000).collect();
    assert_eq!(starts, [8, 8, 18, 18, 28, 28, 38]);
}

#[test]
fn software_prepares_a_message_while_the_one_before_is_sent() {
    // Two servers of four in one ring. What a server receives at its first rank its last rank passes on; only there a message waits for
    // software, 20 us after the receipt, and each server sends a part in each of 7 phases. A part that has just been received waits for
    // its latency, those that follow it are ready: NCCL's estimate counts a latency for each server that a part passes, not for each part.
    let ring =
        Exchange::Phased { collective: Collective::AllGather, algorithm: Algorithm::Ring { channels: 1 }, bytes: 8000 };
    let software = Software { message_latency: Time::us(20), ..Software::FREE };
    let one = StepSpec { software, ..step(Work::Exchange(ring), vec![(0..8).collect()], &[]) };
    let course = course(&JobSpec { ranks_per_server: 4, ..job(8, vec![one]) }, |_| Time::us(1), false);
    let of =
        |host: u32| course.flows.iter().filter(move |(_, f, _)| f.src.0 == host).map(|(at, ..)| at.0 / 1_000_000 - 3);
    // The own part and the three of the server's other ranks, received at once, are ready at 20 us; the first part of the other server has
    // arrived at 21 us.
    assert_eq!(of(3).collect::<Vec<_>>(), [20, 21, 22, 23, 41, 42, 43]);
    assert!(of(7).eq(of(3)));
    assert_eq!(course.rows[0].end, Some(Time::us(3 + 44)));
}

#[test]
fn software_costs_time_before_the_first_and_before_each_message() {
    let ring = Exchange::Phased {
        collective: Collective::AllGather,
        algorithm: Algorithm::Ring { channels: 1 },
        bytes: 30_000,
    };
    let software = Software { latency: Time::us(7), message_latency: Time::us(2), sent: 16, of: 15 };
    let one = StepSpec { software, ..step(Work::Exchange(ring), vec![vec![0, 1, 2]], &[]) };
    let course = course(&job(3, vec![one]), |_| Time::us(10), false);
    let starts: Vec<u64> = course.flows.iter().map(|(at, ..)| at.0 / 1_000_000).collect();
    assert_eq!(starts, [12, 12, 12, 24, 24, 24]);
    // 10 000 B of data take 16/15 of that, rounded up; rows have the data.
    assert!(course.flows.iter().all(|(_, flow, _)| flow.bytes == 10_667));
    let row = &course.rows[0];
    assert_eq!((row.start, row.end, row.bytes), (Time::us(3), Some(Time::us(34)), 60_000));
    // The first transfers began with the exchange.
    let times: Vec<(Time, Option<Time>)> = course.transfers.iter().map(|row| (row.start, row.end)).collect();
    assert_eq!(times[0], (Time::us(3), Some(Time::us(22))));
    assert_eq!(times[5], (Time::us(22), Some(Time::us(34))));
    // Two packets of 4000 B, one of 2667 B, each way twice, at 100 Gb/s.
    assert_eq!(row.bound, Time(2 * (10_667 + 3 * 64) * 80));
}

#[test]
fn instances_share_nothing_but_their_kind() {
    let drawn = Exchange::Drawn { choice: Choice::Random, fan_out: 2, with_self: false, bytes: 4000, in_all: false };
    let one = exchange(6, drawn);
    let many = JobSpec { hosts: (0..24).map(HostId).collect(), rounds: 2, ..one };
    let course = course(&many, |f| Time::us(1 + u64::from(f.src.0 / 6)), false);
    assert_eq!((course.rows.len(), course.flows.len()), (8, 96));
    assert!(course.flows.iter().all(|(_, f, _)| f.src.0 / 6 == f.dst.0 / 6));
    assert_eq!(course.flows.iter().map(|(_, f, _)| f.id).collect::<HashSet<_>>().len(), 96);
    // An instance's next round waits for no other instance.
    let ends: Vec<u64> = course.rows.iter().filter(|r| r.round == 1).map(|r| r.end.unwrap().0 / 1_000_000).collect();
    assert_eq!(ends, [5, 7, 9, 11]);
}

fn works() -> impl Strategy<Value = Work> {
    use super::{Algorithm::*, Collective::*};
    let phased = |collective, algorithm| Exchange::Phased { collective, algorithm, bytes: 9_001 };
    prop_oneof![
        (0u64..20).prop_map(compute),
        proptest::sample::select(vec![
            phased(AllReduce, Ring { channels: 1 }),
            phased(AllGather, Ring { channels: 1 }),
            phased(ReduceScatter, Ring { channels: 1 }),
            Exchange::AllToAll { bytes: 5_000, pairwise: false },
            Exchange::AllToAll { bytes: 5_000, pairwise: true },
            Exchange::Drawn { choice: Choice::Random, fan_out: 1, with_self: false, bytes: 5_001, in_all: true },
            Exchange::Drawn { choice: Choice::Balanced, fan_out: 2, with_self: true, bytes: 5_001, in_all: false },
        ])
        .prop_map(Work::Exchange),
    ]
}

/// Steps in an order in which none waits for a later one, so the job has no cycle; communicators are blocks of the ranks.
fn jobs() -> impl Strategy<Value = JobSpec> {
    let software = (0u64..3, 0u64..3).prop_map(|(latency, message)| Software {
        latency: Time::us(latency),
        message_latency: Time::us(message),
        ..Software::FREE
    });
    let after = prop::collection::vec(any::<prop::sample::Index>(), 0..3);
    let one = (works(), 1u32..=3, after, any::<bool>(), software);
    (prop::collection::vec(one, 1..6), 1u64..5, 1u64..4, 1u32..3).prop_map(|(steps, rounds, in_flight, per_server)| {
        type Drawn = (Work, u32, Vec<prop::sample::Index>, bool, Software);
        let step = |(number, (work, blocks, after, previous, software)): (usize, Drawn)| {
            let size = 12 / blocks;
            let communicators = (0..blocks).map(|b| (b * size..(b + 1) * size).collect()).collect();
            let mut after: Vec<usize> = after.iter().filter(|_| number > 0).map(|i| i.index(number)).collect();
            after.dedup();
            let after_previous = if previous { vec![number] } else { Vec::new() };
            StepSpec { after_previous, software, ..self::step(work, communicators, &after) }
        };
        let steps = steps.into_iter().enumerate().map(step).collect();
        JobSpec { rounds, in_flight, ranks_per_server: per_server, ..job(12, steps) }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(6), ..ProptestConfig::default() })]

    /// Every byte in a row belongs to a flow, no step begins before its waits are over, rounds stay in order, and the order of completions
    /// of one instant does not matter.
    #[test]
    fn laws_of_jobs(spec in jobs(), slow in 0u64..4) {
        // Many flows end at one instant.
        let lasts = |flow: &FlowSpec| Time::us(1 + (flow.id * slow) % 3);
        let course = self::course(&spec, lasts, false);
        let turned = self::course(&spec, lasts, true);
        prop_assert_eq!(&course.rows, &turned.rows);
        let flows = |c: &Course| c.flows.iter().map(|(at, f, _)| (*at, f.clone())).collect::<Vec<_>>();
        prop_assert_eq!(flows(&course), flows(&turned));
        prop_assert_eq!((&course.transfers, &course.rounds), (&turned.transfers, &turned.rounds));
        // A transfer begins when its last condition is complete, after the computations in between.
        let ends: BTreeMap<u64, Time> = course.transfers.iter().map(|t| (t.flow, t.end.unwrap())).collect();
        prop_assert_eq!(ends.len(), course.flows.len());
        for transfer in &course.transfers {
            let before = transfer.release.flow.map_or(spec.start, |flow| ends[&flow]);
            prop_assert!(before <= transfer.start);
            prop_assert!(before == transfer.start || transfer.release.computed.is_some(), "{:?}", transfer);
        }
        prop_assert_eq!(course.rounds.len() as u64, spec.rounds);
        let last = course.rounds.iter().map(|round| round.end.unwrap()).max();
        prop_assert_eq!(course.instances.iter().map(|one| one.end).collect::<Vec<_>>(), [last]);
        let ids: HashSet<u64> = course.flows.iter().map(|(_, f, _)| f.id).collect();
        prop_assert_eq!(ids.len(), course.flows.len());
        let exchanges = |step: &StepSpec| matches!(step.work, Work::Exchange(_));
        let each: usize = spec.steps.iter().filter(|s| exchanges(s)).map(|s| s.communicators.len()).sum();
        prop_assert_eq!(course.rows.len() as u64, each as u64 * spec.rounds);
        for row in &course.rows {
            let step = &spec.steps[row.group as usize - 2];
            let ranks = &step.communicators[row.communicator as usize];
            let most: u64 = match &step.work { Work::Exchange(e) => e.most(ranks.len() as u64), _ => 0 };
            let per_round = most * step.communicators.len() as u64;
            let number = |f: &FlowSpec| f.id % (1 << 40);
            let own = |f: &FlowSpec| f.group == row.group && number(f) / per_round == row.round
                && number(f) % per_round / most == u64::from(row.communicator);
            let of_row = || course.flows.iter().filter(|(_, f, _)| own(f));
            prop_assert_eq!(row.bytes, of_row().map(|(_, f, _)| f.bytes).sum::<u64>());
            prop_assert_eq!(row.transfers, of_row().count() as u64);
            prop_assert!(of_row().all(|(at, _, end)| *at >= row.start && Some(*end) <= row.end));
            prop_assert!(of_row().map(|(.., end)| *end).max().is_none_or(|end| Some(end) == row.end));
            for before in &course.rows {
                let other = &spec.steps[before.group as usize - 2];
                let shared = other.communicators[before.communicator as usize].iter().any(|r| ranks.contains(r));
                let waits = step.after.contains(&(before.group as usize - 2)) && shared && before.round == row.round;
                let same = before.group == row.group && before.communicator == row.communicator;
                let ordered = same && before.round + 1 == row.round;
                let window = before.round + spec.in_flight <= row.round;
                prop_assert!(!(waits || ordered || window) || before.end <= Some(row.start), "{:?} {:?}", before, row);
            }
        }
    }
}
