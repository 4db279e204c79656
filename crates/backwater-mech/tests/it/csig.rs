//! CSIG in a network: the time until a sender reacts, to the picosecond.
//!
//! h0 sends to h1 over two switches, all links alike, so nothing waits. With the frame time T, frame k begins to leave s1 two frame times, two
//! links and two switches after its own begin. The first that does so in the second interval is the first with news: s0's first such frame
//! comes later.

use crate::common::{Bench, network};
use backwater_engine::Time;
use backwater_mech::csig::Params;
use backwater_mech::registry::Config;
use backwater_mech::stack::Scoped;
use backwater_net::packet::Port;
use backwater_net::record::{FrameRow, Rows};
use backwater_net::{Bytes, Network, Rate};

/// 4064 B at 200 Gb/s.
const T: Time = Time(162_560);
/// Delay of a link, latency of a switch, interval.
const D: Time = Time::ns(150);
const L: Time = Time::ns(300);
const I: Time = Time::us(10);
const LINE: Rate = Rate::gbps(200);

fn line(params: Params) -> Bench {
    let links = [("h0", "s0", LINE, D), ("s0", "s1", LINE, D), ("s1", "h1", LINE, D)];
    let mut bench = Bench::new(network(2, &["s0", "s1"], &links));
    bench.switch.latency = L;
    bench.mechanisms = Config { csig: Some(Scoped::everywhere(params)), ..Config::default() };
    bench.flow(0, 1, 2_000_000);
    bench
}

/// When the last bit of each data frame has left the sender.
fn sent(bench: &Bench) -> Vec<Time> {
    let mut network = Network::new(bench.spec(bench.mechanisms.clone())).expect("a valid run");
    assert!(network.capture_at(bench.node("h0"), Port(0)));
    let mut rows = Rows::default();
    while !network.run(1 << 20, &mut rows).expect("nothing is promised").done {}
    let data = |row: &&FrameRow| row.outbound && row.packet.is_data();
    rows.frames.iter().filter(data).map(|row| row.time).collect()
}

/// Frame k begins to leave s1 at 2 T + 2 D + 2 L + (k - 1) T. For k = 55 that is the first time after 10 us: 54 frames of 250 KB were sent.
/// ABW/C is 0.1222, in band 31 of 256, and so U = 1 - 31/256. The acknowledgement comes back over three links and two switches.
#[test]
fn a_sender_reacts_when_the_first_tag_about_a_whole_interval_is_back() {
    let params = Params { interval: I, bands: 256, eta: 0.5, r_ai: Rate::gbps(1), ..Params::default() };
    let sent = sent(&line(params));
    let leaves = |k: u64| 2 * (T.0 + D.0 + L.0) + (k - 1) * T.0;
    assert!(leaves(54) < I.0 && leaves(55) >= I.0);
    let band = (250_000 - 54 * 4064) * 256 / 250_000;
    assert_eq!(band, 31);
    let ack = LINE.time_for(Bytes(64)).0;
    let told = leaves(55) + T.0 + D.0 + 3 * (ack + D.0) + 2 * L.0;
    // The frame that is on the wire then ends as before. The next begins as long after it as the new rate says.
    let before = told / T.0 + 1;
    let rate = Rate(LINE.scale(0.5 / (225.0 / 256.0)).0 + 1_000_000_000);
    let next = (before - 1) * T.0 + rate.time_for(Bytes(4064)).0 + T.0;
    let expected: Vec<Time> = (1..=before).map(|k| Time(k * T.0)).chain([Time(next)]).collect();
    assert_eq!(sent[..expected.len()], expected);
}

/// A load below the target leaves a sender alone.
#[test]
fn an_idle_path_changes_nothing() {
    let sent = sent(&line(Params { interval: Time::ms(1), ..Params::default() }));
    assert_eq!(sent, (1..=500).map(|k| Time(k * T.0)).collect::<Vec<_>>());
}
