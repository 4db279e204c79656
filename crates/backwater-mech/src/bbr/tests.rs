//! Samples of the delivery rate against a model written here, and the reactions of a sender by the draft's rules. Packets carry 1000 bytes.

use super::filter::MaxFilter;
use super::sample::Connection;
use super::*;
use backwater_net::bench::{FlowBench, at_offset, data};
use backwater_net::packet::{Class, HostId};
use rand::RngExt;

/// The greatest of a window, found by a search of the whole window.
#[test]
fn the_filter_keeps_the_greatest_of_its_rounds() {
    let mut rng = backwater_engine::rng::stream(3, "filter", 0);
    let (mut filter, mut all) = (MaxFilter::default(), Vec::new());
    for round in 0..500_u64 {
        for _ in 0..rng.random_range(1..4) {
            let value = rng.random_range(1.0..100.0);
            all.push((round, value));
            filter.update(value, round, 10);
            let greatest = all.iter().filter(|(of, _)| of + 10 > round).map(|(_, value)| *value).fold(0.0, f64::max);
            assert_eq!(filter.greatest(), greatest);
        }
    }
}

/// An outside view of all packets: when each was sent, and when which number of bytes was acknowledged. A sample counts the bytes delivered
/// from the last acknowledgement before the packet left until its own acknowledgement. It divides them by the longer of two times: of their
/// acknowledgement, and of their transmission since the packet that the former acknowledged.
struct Model {
    sent: Vec<(u64, Time)>,
    acks: Vec<(u64, Time)>,
}

impl Model {
    /// The rate for the acknowledgement of all before `received` at `now`.
    fn rate(&self, received: u64, now: Time) -> Option<f64> {
        let packet = self.sent.iter().rfind(|(end, _)| *end <= received)?;
        let before = self.acks.iter().rfind(|(_, at)| *at <= packet.1);
        let (delivered, at) = before.copied().unwrap_or((0, self.sent[0].1));
        let first = self.sent.iter().rfind(|(end, _)| *end <= delivered).unwrap_or(&self.sent[0]).1;
        let interval = now.since(at).max(packet.1.since(first));
        (interval > Time::ZERO).then(|| (received - delivered) as f64 / interval.0 as f64 * 1e12)
    }
}

/// Random times of packets and acknowledgements, several packets at once now and then; something is always in flight.
#[test]
fn samples_are_those_of_the_model() {
    for seed in 0..20 {
        let mut rng = backwater_engine::rng::stream(seed, "samples", 0);
        let (mut connection, mut model) = (Connection::default(), Model { sent: Vec::new(), acks: Vec::new() });
        let (mut now, mut sent, mut received) = (Time::us(5), 0_u64, 0_u64);
        for _ in 0..2_000 {
            now += Time(rng.random_range(1..400_000));
            let under_way = sent - received;
            if under_way < 2 || under_way < 30 && rng.random_range(0..2) == 0 {
                connection.sends(sent * 1000, (sent + 1) * 1000, false, now);
                sent += 1;
                model.sent.push((sent * 1000, now));
                continue;
            }
            received += rng.random_range(1..under_way.min(4));
            let sample = connection.acknowledges(received * 1000, Time::NEVER, now).expect("packets were acknowledged");
            let (ours, theirs) =
                (sample.delivery_rate.expect("a time"), model.rate(received * 1000, now).expect("a time"));
            assert!((ours / theirs - 1.0).abs() < 1e-12, "seed {seed}, {now}: {ours}, {theirs}");
            assert_eq!(connection.inflight(), (sent - received) * 1000);
            model.acks.push((received * 1000, now));
        }
    }
}

/// Go-back-n retransmits from a gap on: the old times of retransmitted packets do not count.
#[test]
fn what_is_sent_again_counts_from_then_on() {
    let mut connection = Connection::default();
    for packet in 0..4 {
        connection.sends(packet * 1000, (packet + 1) * 1000, false, Time::us(packet));
    }
    connection.acknowledges(1000, Time::NEVER, Time::us(10));
    for packet in 1..4 {
        connection.sends(packet * 1000, (packet + 1) * 1000, false, Time::us(20 + packet));
    }
    assert_eq!(connection.inflight(), 3000);
    let sample = connection.acknowledges(2000, Time::NEVER, Time::us(31)).expect("a sample");
    // 1,000 B since the acknowledgement at 10 us.
    assert!((sample.delivery_rate.expect("a time") - 1000.0 / 21e-6).abs() < 1.0);
    assert_eq!(sample.prior_delivered, 1000);
}

/// Samples at the end of a message are marked until the end has been delivered.
#[test]
fn the_end_of_a_message_limits_samples() {
    let mut connection = Connection::default();
    connection.sends(0, 1000, false, Time::us(1));
    connection.sends(1000, 2000, true, Time::us(2));
    assert!(connection.is_app_limited());
    connection.sends(2000, 3000, false, Time::us(3));
    let limited =
        |c: &mut Connection, received, at| c.acknowledges(received, Time::NEVER, at).map(|s| s.is_app_limited);
    assert_eq!(limited(&mut connection, 2000, Time::us(9)), Some(false));
    assert_eq!(limited(&mut connection, 3000, Time::us(10)), Some(true));
    assert!(!connection.is_app_limited());
}

/// A flow over a path that delivers a packet every `every`, `way` after the packet's turn.
struct Flow {
    bench: FlowBench,
    sender: Sender,
    now: Time,
    sent: u64,
    acked: u64,
    /// When the path is free, and the packets on it
    free: Time,
    under_way: std::collections::VecDeque<(Time, Time)>,
    next: Time,
    most: u64,
}

impl Flow {
    fn new(params: &Params) -> Flow {
        let mut bench = FlowBench::new(Rate::gbps(100));
        bench.backlog = Bytes(1_000_000_000);
        let sender = Bbr::flow(params, bench.shape(), &()).expect("BBR acts at flows");
        let under_way = std::collections::VecDeque::new();
        Flow {
            bench,
            sender,
            now: Time::ZERO,
            sent: 0,
            acked: 0,
            free: Time::ZERO,
            under_way,
            next: Time::ZERO,
            most: 0,
        }
    }

    /// Runs until a time: paces packets within the window, and acknowledges what the path delivers.
    fn run(&mut self, until: Time, every: Time, way: Time) {
        while self.now < until {
            let window = self.sender.window().expect("a window").0 / 1000;
            let sends = if self.sent < self.acked + window { self.next.max(self.now) } else { Time::NEVER };
            let comes = self.under_way.front().map_or(Time::NEVER, |(at, _)| *at);
            self.now = sends.min(comes);
            self.bench.now = self.now;
            if sends < comes {
                let mut pkt = at_offset(data(HostId(0), HostId(1), 0, Class(3), 1000), self.sent * 1000);
                let mut cx = self.bench.cx();
                self.sender.on_send(&mut cx, &mut pkt);
                // Data is unlimited.
                self.sent += 1;
                let rate = self.sender.rate().expect("a rate").0;
                self.next = self.now + Time((8.512e15 / rate as f64) as u64);
                self.free = self.free.max(self.now) + every;
                self.under_way.push_back((self.free + way, self.now));
                self.most = self.most.max(self.under_way.len() as u64);
            } else if let Some((_, sent)) = self.under_way.pop_front() {
                self.acked += 1;
                let rtt = self.now - sent;
                let ack = Ack { received: self.acked * 1000, rtt, marked: false, carried: None, counted: None };
                self.sender.on_ack(&mut self.bench.cx(), &ack);
            }
        }
    }
}

/// A packet a microsecond, and 20 us for the first: a product of 20 packets.
const EVERY: Time = Time::us(1);
const WAY: Time = Time::us(19);

/// In steady state the model is that of the path. The bytes in flight are at most the product, three quanta, and the excess of a phase of
/// 5/4 in a round trip, apart from the packets between two acknowledgements; the path is busy all the time.
#[test]
fn a_sender_finds_its_path() {
    let mut flow = Flow::new(&Params::default());
    flow.run(Time::ms(2), EVERY, WAY);
    assert_eq!(flow.sender.state, State::ProbeBw);
    assert!((flow.sender.btl_bw.greatest() / 1e9 - 1.0).abs() < 1e-9, "{}", flow.sender.btl_bw.greatest());
    assert_eq!(flow.sender.rtprop, Time::us(20));
    flow.most = 0;
    let before = flow.acked;
    flow.run(Time::ms(6), EVERY, WAY);
    assert!(flow.most <= 20 + 3 + 5 + 2, "{}", flow.most);
    assert!(flow.acked - before >= 3_990, "{}", flow.acked - before);
}

/// Startup ends when the rate has not grown for three rounds. The rate has doubled each round, so the bytes in flight stay below its gain
/// of the product, and Drain leaves one product.
#[test]
fn startup_fills_the_path_and_drain_empties_it() {
    let mut flow = Flow::new(&Params::default());
    let (mut before, mut seen) = (State::Startup, vec![State::Startup]);
    while flow.now < Time::ms(2) {
        let next = flow.now + Time::ns(500);
        flow.run(next, EVERY, WAY);
        if flow.sender.state != before {
            before = flow.sender.state;
            seen.push(before);
            if before == State::ProbeBw {
                assert!(flow.sender.connection.inflight() <= 24_000, "{}", flow.sender.connection.inflight());
            }
        }
    }
    assert_eq!(seen, [State::Startup, State::Drain, State::ProbeBw]);
    assert!(flow.most as f64 <= HIGH_GAIN * 20.0 + 4.0, "{}", flow.most);
}

/// Phases of the cycle last a round trip. Over whole cycles the mean of the gains is one.
#[test]
fn gains_take_turns() {
    let mut flow = Flow::new(&Params::default());
    flow.run(Time::ms(2), EVERY, WAY);
    let mut phases = vec![(flow.sender.cycle_index, flow.now)];
    while flow.now < Time::ms(6) {
        let next = flow.now + Time::ns(100);
        flow.run(next, EVERY, WAY);
        if phases.last().is_some_and(|(index, _)| *index != flow.sender.cycle_index) {
            phases.push((flow.sender.cycle_index, flow.now));
        }
    }
    assert!(phases.len() > 100);
    for pair in phases.windows(2).skip(1) {
        let ((of, began), (next, ended)) = (pair[0], pair[1]);
        assert_eq!(next, (of + 1) % 8);
        let took = ended - began;
        // A round trip, and a packet or two more; a phase of 3/4 may be shorter, one of 5/4 lasts until its packets are in flight.
        let (least, most) = match of {
            0 => (20, 60),
            1 => (0, 22),
            _ => (20, 22),
        };
        assert!(Time::us(least) <= took && took <= Time::us(most), "phase {of}: {took}");
    }
}

/// When RTprop expires, four packets are in flight for the duration and a round. Then all is as before.
#[test]
fn probe_rtt_empties_the_path() {
    let params = Params { rtprop_window: Time::ms(2), probe_rtt_duration: Time::us(100), ..Params::default() };
    let mut flow = Flow::new(&params);
    let (mut emptied, mut probes) = (None, Vec::new());
    while flow.now < Time::ms(20) {
        let next = flow.now + Time::ns(500);
        flow.run(next, EVERY, WAY);
        if flow.sender.state != State::ProbeRtt {
            probes.extend(emptied.take().map(|since| flow.now - since));
        } else if flow.sender.probe_rtt_done_stamp.is_some() {
            assert!(flow.sender.connection.inflight() <= 4_000);
            emptied = emptied.or(Some(flow.now));
        }
    }
    assert!((4..=10).contains(&probes.len()), "{probes:?}");
    // The duration, and the rest of a round trip until the next acknowledgement.
    assert!(probes.iter().all(|took| Time::us(99) <= *took && *took <= Time::us(121)), "{probes:?}");
    assert_eq!(flow.sender.rtprop, Time::us(20));
    let acked = flow.acked;
    flow.run(flow.now + Time::us(100), EVERY, WAY);
    assert!(flow.acked > acked);
}

/// The path gets slower, and then longer: the model follows after ten rounds, and after the window of RTprop.
#[test]
fn the_model_follows_the_path() {
    let params = Params { rtprop_window: Time::ms(2), probe_rtt_duration: Time::us(100), ..Params::default() };
    let mut flow = Flow::new(&params);
    flow.run(Time::ms(1), EVERY, WAY);
    flow.run(Time::ms(6), Time::us(2), WAY);
    assert!((flow.sender.btl_bw.greatest() / 5e8 - 1.0).abs() < 0.01, "{}", flow.sender.btl_bw.greatest());
    flow.run(Time::ms(16), Time::us(2), Time::us(48));
    assert!(flow.sender.rtprop >= Time::us(50) && flow.sender.rtprop < Time::us(60), "{}", flow.sender.rtprop);
}

/// A reported gap costs at most a round of the bytes in flight; after a timeout one packet goes, and then all again.
#[test]
fn losses_do_not_narrow_the_window_for_long() {
    let mut flow = Flow::new(&Params::default());
    flow.run(Time::ms(2), EVERY, WAY);
    let before = flow.sender.cwnd;
    flow.sender.on_loss(&mut flow.bench.cx(), Loss::Gap);
    assert!(flow.sender.cwnd <= before);
    flow.run(Time::ms(2) + Time::us(100), EVERY, WAY);
    assert!((flow.sender.cwnd / before - 1.0).abs() < 0.05);
    flow.sender.on_loss(&mut flow.bench.cx(), Loss::Timeout { bytes: 1000 });
    assert_eq!(flow.sender.window(), Some(Bytes(1000)));
    flow.run(Time::ms(2) + Time::us(200), EVERY, WAY);
    assert!((flow.sender.cwnd / before - 1.0).abs() < 0.05);
}
