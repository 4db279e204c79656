//! Queue pairs that outlive a message. h0 and h1 are attached to one switch; frames have up to 4000 B of payload and 64 B of header at 100
//! Gb/s.
//!
//! ```text
//! messages of a, b, … bytes that are posted together      leave back to back, so the last byte of each comes
//!     (all frames up to its last) + (its last frame once more, at the switch) + 2 · 150 ns after the start
//! ```
//!
//! The switch stores and forwards: the last frame to arrive is sent twice, unless a longer frame before it delays it.

use crate::own::Bench;
use backwater_engine::Time;
use backwater_net::bench::network::Outcome;
use backwater_net::config::{NicTimes, Recovery, Window};
use backwater_net::packet::HostId;
use backwater_net::record::{FlowRow, State};
use backwater_net::spec::{FaultKind, FrameKind, QueuePairs};
use backwater_net::{Bytes, Rate};

const STEP: u64 = 4_000;
const HEADER: u64 = 64;
/// \[ps\] of a byte at 100 Gb/s
const BYTE: u64 = 80;
/// \[ps\] two links
const FIXED: u64 = 2 * 150_000;
const ALL: [Recovery; 3] = [Recovery::GoBackN, Recovery::SelectiveRepeat, Recovery::Rud];

fn bench(recovery: Recovery, messages: &[u64]) -> Bench {
    let mut bench = Bench::star(3, Rate::gbps(100));
    bench.switch.latency = Time::ZERO;
    bench.transport.recovery = recovery;
    bench.transport.timeout = Time::us(100);
    bench.queue_pairs = vec![Some(QueuePairs { number: 1, segment: None, kept: true })];
    messages.iter().for_each(|bytes| _ = bench.flow(0, 1, *bytes));
    bench
}

/// Rows by identity.
fn rows(out: &Outcome) -> Vec<&FlowRow> {
    let mut rows: Vec<&FlowRow> = out.rows.flows.iter().collect();
    rows.sort_by_key(|row| row.id);
    rows
}

/// Frames of a message \[bytes\].
fn frames(bytes: u64) -> Vec<u64> {
    let full = bytes / STEP;
    let rest = bytes % STEP;
    let mut frames = vec![STEP + HEADER; full as usize];
    if rest > 0 || bytes == 0 {
        frames.push(rest + HEADER);
    }
    frames
}

/// Returns when the last byte of each of these messages arrives \[ps\], over the two links in turn.
fn arrivals(messages: &[u64]) -> Vec<u64> {
    let (mut first, mut second) = (0, 0);
    let mut come = Vec::new();
    for bytes in messages {
        for frame in frames(*bytes) {
            first += frame * BYTE;
            second = second.max(first + 150_000) + frame * BYTE;
        }
        come.push(second + 150_000);
    }
    come
}

#[test]
fn messages_follow_each_other_each_with_packets_of_its_own() {
    for messages in [&[40_000, 8_000][..], &[4_001, 1, 0, 12_345, 4_000, 3_999], &[1; 10]] {
        for recovery in ALL {
            let bench = bench(recovery, messages);
            let out = bench.run();
            let come: Vec<u64> = rows(&out).iter().map(|row| row.fct_last_byte.expect("complete").0).collect();
            assert_eq!(come, arrivals(messages), "{recovery:?} {messages:?}");
            for (row, bytes) in rows(&out).iter().zip(messages) {
                let packets = frames(*bytes).len() as u64;
                assert_eq!((row.bytes, row.received, row.packets), (*bytes, *bytes, packets), "{recovery:?}");
                assert_eq!((row.state.clone(), row.retransmitted, row.timeouts), (State::Complete, 0, 0));
                assert!(row.fct_last_ack > row.fct_last_byte);
            }
            assert_eq!((out.progress.flows_done, out.progress.flows_active), (messages.len() as u64, 0));
            assert!(out.unrest.is_empty(), "{:?}", out.unrest);
        }
    }
}

/// Earlier messages delay a message, but its ideal time is that of a message alone.
#[test]
fn the_ideal_of_a_message_is_its_own() {
    let out = bench(Recovery::GoBackN, &[40_000, 4_000]).run();
    let ideals: Vec<u64> = rows(&out).iter().map(|row| row.ideal.expect("no stream").0).collect();
    assert_eq!(ideals, [arrivals(&[40_000])[0], arrivals(&[4_000])[0]]);
}

/// The second message starts while the connection is idle.
#[test]
fn a_connection_rests_and_goes_on() {
    for recovery in ALL {
        let mut bench = bench(recovery, &[10_000, 10_000]);
        bench.flows[1].start = Time::us(50);
        let out = bench.run();
        let come: Vec<u64> = rows(&out).iter().map(|row| row.fct_last_byte.expect("complete").0).collect();
        assert_eq!(come, [arrivals(&[10_000])[0]; 2], "{recovery:?}");
        assert_eq!(rows(&out)[1].start, Time::us(50));
    }
}

/// A window of two packets: if queue pairs outlive a message, a message that is posted at once waits for the acknowledgements of the one
/// before it; otherwise both have their own windows.
#[test]
fn messages_share_a_window() {
    let times = |kept: bool| {
        let mut bench = bench(Recovery::GoBackN, &[8_000, 4_000]);
        bench.transport.window = Some(Window::Bytes(Bytes(8_000)));
        bench.queue_pairs = vec![Some(QueuePairs { number: 1, segment: None, kept })];
        let out = bench.run();
        rows(&out).iter().map(|row| row.fct_last_byte.expect("complete").0).collect::<Vec<u64>>()
    };
    let frame = (STEP + HEADER) * BYTE;
    // The last bit of the first frame is at h1 after two transmissions and two links, and its acknowledgement takes two transmissions and
    // two links back.
    let acknowledged = 2 * frame + FIXED + 2 * 64 * BYTE + FIXED;
    assert_eq!(times(true), [3 * frame + FIXED, acknowledged + 2 * frame + FIXED]);
    assert_eq!(times(false)[1].max(times(false)[0]), 4 * frame + FIXED);
}

#[test]
fn what_is_lost_is_sent_again_and_counts_for_its_message() {
    for recovery in ALL {
        for nth in 1..=7 {
            let mut bench = bench(recovery, &[6_000, 500, 9_000, 0]);
            let [from, to] = ["h0", "s0"].map(|name| bench.node(name));
            bench.flows.iter_mut().for_each(|flow| flow.start = Time::ns(1));
            bench.fault(Time::ZERO, FaultKind::DropNth { from, to, what: FrameKind::Data, nth });
            let out = bench.run();
            let rows = rows(&out);
            assert!(
                rows.iter().all(|row| row.state == State::Complete && row.received == row.bytes),
                "{recovery:?} {nth}"
            );
            // Packets 1 and 2, 3, 4 to 6, and 7.
            let hit = [0, 0, 1, 2, 2, 2, 3][nth as usize - 1];
            assert!(rows[hit].retransmitted > 0, "{recovery:?} {nth}");
            let before: u64 = rows[..hit].iter().map(|row| row.retransmitted).sum();
            // Unordered delivery acknowledges a packet without a request only when enough have arrived.
            assert!(before == 0 || recovery == Recovery::Rud, "{recovery:?} {nth}: what went before is acknowledged");
            let sent = |row: &&FlowRow| row.packets == frames(row.bytes).len() as u64 + row.retransmitted;
            assert!(rows.iter().all(sent), "{recovery:?} {nth}");
        }
    }
}

/// The first packet of the first message is lost. If packets are acknowledged one by one the second message is complete long before the
/// first; otherwise it waits for it.
#[test]
fn messages_complete_in_their_order_but_for_unordered_delivery() {
    for recovery in ALL {
        let mut bench = bench(recovery, &[8_000, 4_000]);
        let [from, to] = ["h0", "s0"].map(|name| bench.node(name));
        bench.flows.iter_mut().for_each(|flow| flow.start = Time::ns(1));
        bench.fault(Time::ZERO, FaultKind::DropNth { from, to, what: FrameKind::Data, nth: 1 });
        let out = bench.run();
        let done: Vec<Option<Time>> = rows(&out).iter().map(|row| row.fct_last_ack).collect();
        assert_eq!(done[1] < done[0], recovery == Recovery::Rud, "{recovery:?} {done:?}");
    }
}

#[test]
fn a_sender_that_gives_up_fails_all_and_the_next_message_begins_anew() {
    for recovery in ALL {
        let mut bench = bench(recovery, &[8_000, 4_000, 5_000]);
        bench.transport.retries = Some(1);
        bench.flows[2].start = Time::ms(2);
        let [a, b] = ["s0", "h1"].map(|name| bench.node(name));
        bench.fault(Time::ZERO, FaultKind::link_down(a, b));
        bench.fault(Time::ms(1), FaultKind::link_up(a, b));
        let out = bench.run();
        let states: Vec<State> = rows(&out).iter().map(|row| row.state.clone()).collect();
        assert_eq!(states, [State::Failed, State::Failed, State::Complete], "{recovery:?}");
        assert_eq!((out.progress.flows_failed, out.progress.flows_done, out.progress.flows_active), (2, 1, 0));
        assert_eq!(rows(&out)[2].fct_last_byte.map(|time| time.0), Some(arrivals(&[5_000])[0]));
    }
}

/// A run that ends early reports the state of each message.
#[test]
fn messages_that_are_cut_short_are_unfinished() {
    let mut bench = bench(Recovery::Rud, &[40_000, 40_000, 40_000]);
    bench.stop_at = Some(Time::us(5));
    let out = bench.run();
    let received: Vec<u64> = rows(&out).iter().map(|row| row.received).collect();
    assert_eq!(received[0], 40_000);
    assert!(received[1] > 0 && received[1] < 40_000 && received[2] == 0, "{received:?}");
    assert!(rows(&out)[1..].iter().all(|row| matches!(row.state, State::Unfinished(_))));
}

/// Each of two queue pairs carries its half of each message, and both outlive it.
#[test]
fn several_queue_pairs_outlive_a_message() {
    let mut bench = bench(Recovery::GoBackN, &[16_000, 16_000]);
    bench.queue_pairs = vec![Some(QueuePairs { number: 2, segment: Some(Bytes(4_000)), kept: true })];
    let out = bench.run();
    let pairs: Vec<(u64, u32, u64)> = out.rows.queue_pairs.iter().map(|row| (row.id, row.pair, row.bytes)).collect();
    assert_eq!(pairs.len(), 4);
    assert!(pairs.iter().all(|(_, _, bytes)| *bytes == 8_000));
    assert_eq!(rows(&out).iter().map(|row| (row.bytes, row.packets)).collect::<Vec<_>>(), [(16_000, 4); 2]);
    assert_eq!((out.progress.flows_done, out.progress.flows_active), (2, 0));
}

/// An interface issues messages one after the other, on whatever connections.
#[test]
fn each_message_is_issued() {
    let mut bench = bench(Recovery::GoBackN, &[4_000, 4_000]);
    bench.nics_at = vec![(HostId(0), NicTimes { issue: Some(Time::us(3)), ..NicTimes::default() })];
    let out = bench.run();
    let come: Vec<u64> = rows(&out).iter().map(|row| row.fct_last_byte.expect("complete").0).collect();
    assert_eq!(come, [3_000_000 + arrivals(&[4_000])[0], 6_000_000 + arrivals(&[4_000])[0]]);
}

#[test]
fn without_recovery_there_is_no_connection() {
    let refused = backwater_net::Network::new(bench(Recovery::None, &[1]).spec(crate::own::Own::default()));
    assert!(refused.is_err_and(|reason| reason.contains("recovery")));
}
