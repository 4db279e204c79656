//! Fast CNP in a network: the time until the sender reacts, to the picosecond, and the number of messages.
//!
//! h0 sends to h1 over two switches. Only the last link is slower, at 2/5 of the rate. In units of the frame time T, frame k joins the queue
//! of the last link k - 1 after the first, and frame i has left it 2.5 i after that. So the queue has 1, 2, 3, 3 and 4 frames when the first
//! five have joined: with a threshold of three frames the fifth is the first above it.

use crate::common::{Bench, On, network, step};
use backwater_engine::Time;
use backwater_mech::fast_cnp::{FAST_CNP, NOTIFICATION, Notify, Params};
use backwater_mech::registry::Config;
use backwater_mech::stack::Scoped;
use backwater_mech::{dcqcn, ecn};
use backwater_net::config::LatencyAt;
use backwater_net::packet::Port;
use backwater_net::record::{FrameRow, Rows};
use backwater_net::{Bytes, Network, Rate};

/// 4064 B at 200 Gb/s.
const T: Time = Time(162_560);
/// Delay of a link, latency of a switch.
const D: Time = Time::ns(150);
const L: Time = Time::ns(300);

/// Time of so many bytes at so many Gb/s.
fn wire(bytes: u64, gbps: u64) -> Time {
    Time(bytes * 8_000 / gbps)
}

fn times(n: u64, time: Time) -> Time {
    Time(n * time.0)
}

/// When the fifth frame has joined the queue: two links, with two frame times, and two switches after the first bit of the first left.
fn congested() -> Time {
    times(2, T) + times(2, D) + times(2, L) + times(4, T)
}

fn line(bytes: u64, mechanisms: Config) -> Bench {
    let (fast, slow) = (Rate::gbps(200), Rate::gbps(80));
    let links = [("h0", "s0", fast, D), ("s0", "s1", fast, D), ("s1", "h1", slow, D)];
    let mut bench = Bench::new(network(2, &["s0", "s1"], &links));
    (bench.ack.enabled, bench.mechanisms) = (false, mechanisms);
    // The latency passes before a frame joins its queue, so that the queue holds only what waits for the link.
    (bench.switch.latency, bench.switch.latency_at) = (L, LatencyAt::Fabric);
    bench.flow(0, 1, bytes);
    bench
}

fn params(notify: Notify) -> Params {
    Params {
        threshold: Bytes(3 * 4064),
        notify,
        interval: Time::us(50),
        classes: None,
        message_class: 6,
        size: Bytes(122),
        cnp_size: Bytes(78),
    }
}

fn on(params: Params) -> Config {
    Config { fast_cnp: Some(Scoped::everywhere(params)), ..Config::default() }
}

/// The frames at the sender's port.
fn at_sender(bench: &Bench) -> Vec<FrameRow> {
    let mut network = Network::new(bench.spec(bench.mechanisms.clone())).expect("a valid run");
    assert!(network.capture_at(bench.node("h0"), Port(0)));
    let mut rows = Rows::default();
    while !network.run(1 << 20, &mut rows).expect("nothing is promised").done {}
    rows.frames
}

/// The kind and the time of the first control frame that the sender receives.
fn told(frames: &[FrameRow]) -> (&'static str, Time) {
    let first = frames.iter().find(|row| !row.outbound).expect("the sender receives a frame");
    (first.control.as_ref().expect("by a control frame").kind, first.time)
}

#[test]
fn the_sender_learns_a_path_back_after_the_packet_joined() {
    let bench = line(400_000, on(params(Notify::Sender)).dcqcn(dcqcn::Params::default()));
    let way = times(2, L + wire(122, 200) + D);
    assert_eq!(told(&at_sender(&bench)), (FAST_CNP, congested() + way));
}

/// A switch latency passes at the congested switch and at the proxy, as on the path of a Fast CNP, and the CNP is 44 B shorter.
#[test]
fn a_proxy_costs_no_more_than_the_length_of_the_two_messages() {
    let bench = line(400_000, on(params(Notify::Proxy)).dcqcn(dcqcn::Params::default()));
    let way = L + wire(122, 200) + D + L + wire(78, 200) + D;
    let frames = at_sender(&bench);
    assert_eq!(told(&frames), ("cnp", congested() + way));
    assert!(frames.iter().filter_map(|row| row.control.as_ref()).all(|frame| frame.kind != NOTIFICATION));
}

/// The fifth frame has left 12.5 T after the first joined, so 8.5 T after itself joined. Then there is its last link, and the path back of a
/// CNP of the receiver over three links and two switches.
#[test]
fn a_mark_takes_the_wait_in_the_queue_and_the_path_there_and_back() {
    let marks = ecn::Params { mark_at: ecn::At::Enqueue, ..step(3 * 4064) };
    let bench = line(400_000, Config::default().ecn(marks).dcqcn(dcqcn::Params::default()));
    let way = Time(T.0 * 17 / 2) + D + wire(78, 80) + D + times(2, L + wire(78, 200) + D);
    assert_eq!(told(&at_sender(&bench)), ("cnp", congested() + way));
}

/// The first CNP halves the rate, since alpha is 1. Frames that began before it follow each other after T. The next begins 2 T after the
/// last of them.
#[test]
fn the_rate_is_halved_from_the_frame_on_that_is_waiting() {
    for notify in [Notify::Sender, Notify::Proxy] {
        let bench = line(400_000, on(params(notify)).dcqcn(dcqcn::Params::default()));
        let frames = at_sender(&bench);
        let (_, when) = told(&frames);
        let sent: Vec<Time> = frames.iter().filter(|row| row.outbound).map(|row| row.time).collect();
        let before = when.0 / T.0 + 1;
        let expected: Vec<Time> = (1..=before).map(|k| times(k, T)).chain([times(before + 2, T)]).collect();
        assert_eq!(sent[..expected.len()], expected, "{notify:?}");
        let acts = bench
            .run()
            .rows
            .activity
            .iter()
            .filter(|row| row.mechanism == "dcqcn")
            .map(|row| row.activity.acts)
            .sum::<u64>();
        assert!(acts > 0, "{notify:?}: no receiver has sent a CNP, and yet a rate was lowered");
    }
}

/// Without a control the queue stays above the threshold from the fifth frame on. Frames join every T: an interval of 10 T lets each tenth
/// notify, a picosecond more each eleventh.
#[test]
fn one_message_for_a_flow_and_interval() {
    for (interval, each) in [(Time::ZERO, 1), (times(10, T), 10), (times(10, T) + Time(1), 11)] {
        for (notify, kinds) in [(Notify::Sender, [FAST_CNP].as_slice()), (Notify::Proxy, &[NOTIFICATION, "cnp"])] {
            let bench = line(400_000, on(Params { interval, ..params(notify) }));
            let out = bench.run();
            for kind in kinds {
                let sent = out.rows.control.iter().filter(|row| row.kind == *kind).count();
                assert_eq!(sent, 96usize.div_ceil(each), "{kind} each {interval}");
            }
        }
    }
}

/// Where nothing is congested, nothing is sent, and every frame travels as without it.
#[test]
fn below_the_threshold_nothing_changes() {
    let idle = line(400_000, Config::default().dcqcn(dcqcn::Params::default())).run();
    let high = Params { threshold: Bytes(1 << 30), ..params(Notify::Sender) };
    let out = line(400_000, on(high).dcqcn(dcqcn::Params::default())).run();
    assert_eq!((out.fingerprint, out.rows.control.len()), (idle.fingerprint, 0));
}
