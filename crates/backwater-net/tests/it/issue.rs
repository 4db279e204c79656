//! `nic.issue`: an interface issues its messages one after the other, so that the i-th of k posted at once begins i issues later.
//!
//! For messages of n frames, each `F` on links of one rate, from one host of a star to another:
//!
//! ```text
//! way    = F + 2 delays + latency                    from the last frame's end at its host to the receiver
//! i-th   = i issue + n F + way                       issue ≥ n F: its link is free again when the next one begins
//! last   = issue + k n F + way                       issue ≤ n F: its link is never free once the first has begun
//! ```

use crate::own::Bench;
use backwater_engine::Time;
use backwater_net::Rate;
use backwater_net::bench::network::network;
use backwater_net::config::{LinkChoice, NicTimes};
use backwater_net::packet::HostId;
use backwater_net::record::State;
use backwater_net::spec::CausesSpec;

/// \[ps\] of a frame of 4000 B and 64 B of header at 200 Gb/s
const FRAME: u64 = 4064 * 40;
/// \[ps\] two links of 150 ns, and the switch
const FIXED: u64 = 2 * 150_000 + 300_000;

/// `messages` of so many frames from h0 to the hosts behind it, in turns, all posted at once.
fn posted(messages: u64, frames: u64, issue: Time) -> Bench {
    let mut bench = Bench::star(4, Rate::gbps(200));
    bench.nic.issue = issue;
    for message in 0..messages {
        bench.flow(0, 1 + message as u32 % 3, frames * 4000);
    }
    bench
}

/// Returns when each message's last byte arrived, in the order in which they were posted.
fn times(bench: &Bench) -> Vec<u64> {
    let out = bench.run();
    out.at_rest();
    out.rows.flows.iter().map(|flow| flow.start.0 + flow.fct_last_byte.expect("complete").0).collect()
}

/// A message's frames have left before the next one is issued: each arrives an issue after the one before it.
#[test]
fn slow_issues_set_the_pace() {
    for (frames, issue) in [(1, FRAME), (1, FRAME + 1), (1, 1_000_000), (5, 5 * FRAME), (5, 2_000_000)] {
        let expected: Vec<u64> = (1..=20).map(|i| i * issue + frames * FRAME + FRAME + FIXED).collect();
        assert_eq!(times(&posted(20, frames, Time(issue))), expected, "{frames} frames, {issue} ps");
    }
}

/// Frames take longer than issues: after the first issue the link is never idle, and single frames go in the order of their posts.
#[test]
fn fast_issues_leave_the_pace_to_the_link() {
    for issue in [1, 1_000, FRAME - 1] {
        let expected: Vec<u64> = (1..=20).map(|i| issue + i * FRAME + FRAME + FIXED).collect();
        assert_eq!(times(&posted(20, 1, Time(issue))), expected, "{issue} ps");
    }
    for issue in [1_000, 3 * FRAME, 5 * FRAME - 1] {
        let last = times(&posted(20, 5, Time(issue))).into_iter().max();
        assert_eq!(last, Some(issue + 20 * 5 * FRAME + FRAME + FIXED), "{issue} ps");
    }
}

/// `nic.feed_rate`: a frame begins when memory has fetched the payload of the one before, at 100 Gb/s for a link of 200. Faster memory
/// than the link changes nothing, and control frames do not wait for it.
#[test]
fn memory_slower_than_the_link_sets_the_pace() {
    let fetch = 4000 * 80;
    let mut bench = posted(0, 0, Time::ZERO);
    bench.nic.feed_rate = Some(Rate::gbps(100));
    (0..3).for_each(|n| _ = bench.flow(0, 1 + n, 400_000));
    let last = times(&bench).into_iter().max();
    assert_eq!(last, Some(299 * fetch + 2 * FRAME + FIXED));
    assert_eq!(bench.run_sliced(7).fingerprint, bench.run().fingerprint);
    // Each host has its own memory: one that sends back is not slowed by what it receives.
    bench.flow(1, 0, 400_000);
    assert!(times(&bench).into_iter().max() <= last.map(|last| last + 300 * 86 * 40));
    // A flow alone: the ideal time is that of the network, and the rest is recorded.
    let mut alone = posted(1, 50, Time::ZERO);
    alone.nic.feed_rate = Some(Rate::gbps(100));
    alone.causes = CausesSpec { waits: vec![true], pauses: false };
    let out = alone.run();
    let waits: Vec<_> = out.rows.waits.iter().map(|row| (row.cause, row.time)).collect();
    assert_eq!(waits, [("memory", Time(49 * (fetch - FRAME)))]);
    assert_eq!(out.flow(0).fct_last_byte, out.flow(0).ideal.map(|ideal| ideal + waits[0].1));
    let plain = times(&posted(20, 5, Time::ZERO));
    let mut fast = posted(20, 5, Time::ZERO);
    fast.nic.feed_rate = Some(Rate::gbps(200));
    assert_eq!(times(&fast), plain);
}

/// Tokens of an expert-parallel dispatch, 7168 B each in two frames to one of 3 peers: 1,000 of them take as long as the slower of link and
/// interface needs, and the rate of messages is the inverse of that.
#[test]
fn many_small_messages_are_bound_by_the_slower_of_link_and_interface() {
    let token = (4064 + 3168 + 64) * 40;
    let last_frame = (3168 + 64) * 40;
    for issue in [50_000, token, 500_000] {
        let mut bench = posted(0, 0, Time(issue));
        (0..1_000).for_each(|n| _ = bench.flow(0, 1 + n % 3, 7_168));
        let last = times(&bench).into_iter().max().expect("messages");
        // Frames of the last two tokens may alternate: the last frame of all may be a full one.
        let bound = if issue < token { issue + 1_000 * token } else { 1_000 * issue + token };
        let (least, most) = (bound + last_frame + FIXED, bound + FRAME + FIXED);
        assert!((least..=most).contains(&last), "{issue} ps: {last}, not {least} to {most}");
    }
}

/// A message posted while the interface issues waits behind earlier ones; a message for an idle interface does not wait.
#[test]
fn messages_wait_for_those_posted_before_them_only() {
    let mut bench = posted(0, 0, Time::us(1));
    let begin = |frames_end: u64| frames_end + FRAME + FRAME + FIXED;
    for start in [0, 200_000, 1_500_000, 9_000_000] {
        bench.flow(0, 1, 4000).start = Time(start);
    }
    // Another host's interface is its own.
    bench.flow(2, 3, 4000).start = Time(200_000);
    assert_eq!(times(&bench), [1_000_000, 2_000_000, 3_000_000, 10_000_000, 1_200_000].map(begin));
}

/// Completion counts from the post. The ideal time includes a message's own issue, so the excess over it is the wait for others' issues.
#[test]
fn completion_counts_from_the_post_and_the_wait_is_recorded() {
    let mut bench = posted(6, 3, Time::us(2));
    bench.causes = CausesSpec { waits: vec![true], pauses: false };
    let out = bench.run();
    for (i, flow) in out.rows.flows.iter().enumerate() {
        let ideal = 2_000_000 + 3 * FRAME + FRAME + FIXED;
        assert_eq!((flow.start, flow.ideal), (Time::ZERO, Some(Time(ideal))));
        let waited = Time::us(2 * i as u64);
        assert_eq!(flow.fct_last_byte, Some(Time(ideal) + waited));
        let waits: Vec<_> = out.rows.waits.iter().filter(|row| row.flow == flow.id).collect();
        let notified: Vec<_> = waits.iter().map(|row| (row.cause, row.time)).collect();
        assert_eq!(notified, if i == 0 { vec![] } else { vec![("issue", waited)] });
    }
    bench.causes = CausesSpec::default();
    assert_eq!(bench.run().fingerprint, out.fingerprint, "recording moves nothing");
}

/// The first frame is fetched once the message has been issued: one comes after the other.
#[test]
fn a_message_is_issued_before_its_first_frame_is_fetched() {
    let mut bench = posted(4, 1, Time::us(1));
    bench.nic.store_and_forward = true;
    let expected: Vec<u64> = (1..=4).map(|i| i * 1_000_000 + 3 * FRAME + FIXED).collect();
    assert_eq!(times(&bench), expected);
    let out = bench.run();
    assert_eq!(out.flow(0).ideal, out.flow(0).fct_last_byte);
}

/// The host's own value counts, the last one given; an entry about something else does not change it.
#[test]
fn hosts_have_times_of_their_own() {
    let own = |host, issue, control_delay| (HostId(host), NicTimes { control_delay, issue });
    let mut bench = posted(2, 1, Time::us(3));
    bench.flow(1, 0, 4000);
    bench.nics_at = vec![
        own(0, Some(Time::us(9)), None),
        own(0, Some(Time::us(1)), None),
        own(0, None, Some(Time::us(50))),
        own(2, Some(Time::us(7)), None),
    ];
    assert_eq!(times(&bench), [1_000_000, 2_000_000, 3_000_000].map(|issued| issued + 2 * FRAME + FIXED));
}

/// Each link of a host has an interface, which issues the messages that leave there.
#[test]
fn interfaces_of_a_host_issue_side_by_side() {
    let (rate, delay) = (Rate::gbps(200), Time::ns(150));
    let links = ["p0", "p1"].map(|plane| [("h0", plane, rate, delay), ("h1", plane, rate, delay)]).concat();
    let mut bench = Bench::new(network(2, &["p0", "p1"], &links));
    (bench.nic.issue, bench.nic.link) = (Time::us(1), LinkChoice::Index);
    for link in [0, 0, 1, 0, 1] {
        bench.flow(0, 1, 4000).link = Some(link);
    }
    assert_eq!(times(&bench), [1, 2, 1, 3, 2].map(|turn| turn * 1_000_000 + 2 * FRAME + FIXED));
}

/// A flow that has not been issued when its link fails leaves by the other one, at the time at which it would have left by the first.
#[test]
fn a_flow_that_is_still_to_be_issued_leaves_a_failed_link() {
    use backwater_net::config::Recovery;
    use backwater_net::spec::FaultKind;
    let (rate, delay) = (Rate::gbps(200), Time::ns(150));
    let links = ["p0", "p1"].map(|plane| [("h0", plane, rate, delay), ("h1", plane, rate, delay)]).concat();
    let mut bench = Bench::new(network(2, &["p0", "p1"], &links));
    (bench.nic.issue, bench.nic.link) = (Time::us(1), LinkChoice::Index);
    bench.transport.recovery = Recovery::GoBackN;
    bench.ack.path = backwater_net::config::AckPath::Ecmp;
    let (a, b) = (bench.node("h0"), bench.node("p0"));
    bench.fault(Time::ns(2_700), FaultKind::link_down(a, b));
    for _ in 0..4 {
        bench.flow(0, 1, 4000).link = Some(0);
    }
    assert_eq!(times(&bench), [1, 2, 3, 4].map(|turn| turn * 1_000_000 + 2 * FRAME + FIXED));
}

/// A run that ends before all are issued names the messages that the others wait for.
#[test]
fn what_has_not_been_issued_says_so() {
    let mut bench = posted(3, 1, Time::us(10));
    bench.stop_at = Some(Time::us(15));
    let out = bench.run();
    let states: Vec<String> = out.rows.flows.iter().map(|flow| format!("{:?}", flow.state)).collect();
    assert_eq!(out.flow(0).state, State::Complete);
    assert!(states[1..].iter().all(|state| state.contains("h0 to issue it")), "{states:?}");
    assert!(out.rows.flows[1..].iter().all(|flow| flow.packets == 0));
}

/// Without an issue time messages are unchanged, and a run is the same in any slices.
#[test]
fn runs_repeat() {
    let bench = posted(40, 3, Time::ns(777));
    let (whole, sliced) = (bench.run(), bench.run_sliced(7));
    assert_eq!(whole.fingerprint, sliced.fingerprint);
    assert_ne!(whole.fingerprint, posted(40, 3, Time::ZERO).run().fingerprint);
}
