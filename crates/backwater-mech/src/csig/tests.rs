//! CSIG on the bench.

use super::*;
use backwater_net::bench::{FlowBench, SwitchBench, data};
use backwater_net::config::SwitchParams;

const I: Time = Time::us(256);

fn params() -> Params {
    Params::default()
}

/// A switch of two ports of 100 Gb/s: 3.2 MB in an interval.
struct At {
    bench: SwitchBench,
    transit: Transit,
}

impl At {
    fn new(params: &Params) -> At {
        let bench = SwitchBench::new(&SwitchParams::default(), 2, Rate::gbps(100), 0);
        let transit = Csig::switch(params, bench.shape()).expect("it acts at switches");
        At { bench, transit }
    }

    /// A packet begins to leave port 1 at `now`, after `tx_bytes`; its tag had `tag`. Returns its tag then.
    fn leaves(&mut self, now: Time, tx_bytes: u64, tag: u64) -> u64 {
        self.bench.now = now;
        let from = Departure { port: Port(1), queue: Queue(3), rate: Rate::gbps(100), tx_frames: 0, tx_bytes };
        let mut carried = Attachment::default();
        carried.0[0] = tag;
        let pkt = data(HostId(0), HostId(1), 0, Class(3), 1000);
        self.transit.on_start(&mut self.bench.cx().links(), &from, &pkt, Some(&mut carried));
        below_greatest(&carried)
    }
}

/// 3.2 MB is the capacity of an interval, and a band of 32 is 100 KB of it.
#[test]
fn a_tag_is_about_the_last_whole_interval() {
    let mut at = At::new(&params());
    assert_eq!(at.leaves(Time::ZERO, 0, 0), 0, "nothing was sent before the run");
    assert_eq!(at.leaves(Time::us(255), 1_600_000, 0), 0, "the interval has not ended");
    assert_eq!(at.leaves(I, 1_650_000, 0), 16, "1.65 MB of 3.2: ABW/C is 0.484, band 15 of 0 to 31");
    assert_eq!(at.leaves(Time::us(511), 4_000_000, 0), 16);
    assert_eq!(at.leaves(Time::us(512), 4_000_001, 0), 23, "2,350,001 B of 3.2 MB: ABW/C is 0.266, band 8");
    assert_eq!(at.leaves(Time::us(1024), 4_800_000, 0), 0, "nothing was sent from 768 us on");
}

#[test]
fn a_full_port_is_in_the_least_band_and_an_idle_one_in_the_greatest() {
    for (sent, of_32, of_8) in [
        (0, 31, 7),
        (100_000, 31, 7),
        (100_001, 30, 7),
        (400_000, 28, 7),
        (400_001, 27, 6),
        (3_199_999, 0, 0),
        (3_200_000, 0, 0),
        (9_000_000, 0, 0),
    ] {
        assert_eq!((band(3_200_000, sent, 32), band(3_200_000, sent, 8)), (of_32, of_8), "{sent}");
    }
    assert_eq!(band(3_200_000, 1, 1), 0);
}

/// The tag of a path with loads u is that of the greatest.
#[test]
fn the_busiest_port_of_a_path_remains() {
    let mut at = At::new(&params());
    at.leaves(Time::ZERO, 0, 0);
    assert_eq!(at.leaves(I, 1_650_000, 30), 30);
    assert_eq!(at.leaves(I, 1_650_000, 7), 16);
}

#[test]
fn trimmed_packets_and_acknowledgements_keep_their_tags() {
    let mut at = At::new(&params());
    at.leaves(Time::ZERO, 0, 0);
    at.bench.now = I;
    let from = Departure { port: Port(1), queue: Queue(3), rate: Rate::gbps(100), tx_frames: 0, tx_bytes: 3_200_000 };
    let pkt = data(HostId(0), HostId(1), 0, Class(3), 1000);
    let mut carried = Attachment::default();
    at.transit.on_start(&mut at.bench.cx().links(), &from, &backwater_net::bench::ack(pkt), Some(&mut carried));
    assert_eq!(below_greatest(&carried), 0);
    assert_eq!(at.leaves(I, 3_200_000, 0), 31, "but the port has counted the frame");
}

fn react(bench: &mut FlowBench, sender: &mut Sender, now: Time, below: u64) -> u64 {
    bench.now = now;
    let mut tag = Attachment::default();
    tag.0[0] = below;
    let ack = Ack { received: 0, rtt: Time::us(10), marked: false, carried: Some(&tag), counted: None };
    sender.on_ack(&mut bench.cx(), &ack);
    sender.rate().expect("a rate").0
}

/// eta / U = 0.95 / (31/32), then two intervals of rest, then 0.95 / (16/32), clamped by the line.
#[test]
fn the_rate_follows_the_greatest_load_of_the_band_once_in_two_intervals() {
    let mut bench = FlowBench::new(Rate::gbps(100));
    let mut sender = Csig::flow(&params(), bench.shape(), &()).expect("it acts at flows");
    assert_eq!(react(&mut bench, &mut sender, Time::ZERO, 0), 100_000_000_000, "an idle path");
    assert_eq!(react(&mut bench, &mut sender, Time::us(300), 30), 98_064_516_129 + 50_000_000);
    assert_eq!(react(&mut bench, &mut sender, Time::us(811), 31), 98_114_516_129, "not within 512 us");
    assert_eq!(react(&mut bench, &mut sender, Time::us(812), 31), 93_208_790_323 + 50_000_000);
    assert_eq!(react(&mut bench, &mut sender, Time::us(1324), 15), 100_000_000_000);
    assert_eq!(sender.activity().acts, 2);
}

#[test]
fn the_rate_stays_above_the_least() {
    let mut bench = FlowBench::new(Rate::gbps(1));
    let params = Params { eta: 0.001, r_ai: Rate(1), ..params() };
    let mut sender = Csig::flow(&params, bench.shape(), &()).expect("it acts at flows");
    assert_eq!(react(&mut bench, &mut sender, Time::ZERO, 31), 100_000_000);
}

#[test]
fn a_wide_tag_has_eight_octets() {
    let octets = |bands| Csig::profile(&Params { bands, ..params() }).overhead.data;
    assert_eq!([32, 33].map(octets), [Bytes(4), Bytes(8)]);
}
