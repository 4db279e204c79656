//! BCN on the bench: samples, clamps, both sign rules, the tag, severe congestion, and the reaction point by hand.

use super::cp::cpid;
use super::wire::{Kind, Message};
use super::*;
use backwater_engine::Time;
use backwater_net::bench::{FlowBench, SwitchBench, ack, data, place};
use backwater_net::config::BufferPer;
use backwater_net::config::SwitchParams;
use backwater_net::hooks::{Fate, FlowSide, SwitchAction, SwitchSide, WireCx};
use backwater_net::packet::{Class, Control, HostId, NodeId, Port, Queue};
use backwater_net::{Bytes, Rate};
use backwater_wire::Parse;
use backwater_wire::address::Mac;

const C3: Class = Class(3);
const LINE: Rate = Rate::gbps(10);

/// Document of 2006: Qeq 16 frames of 1500 B, W 2, a sample every 150 KB; without the jitter.
fn exact() -> Params {
    Params { qeq: Some(Bytes(24_000)), jitter: Bytes(0), ..Params::default() }
}

struct At {
    bench: SwitchBench,
    cp: CongestionPoint,
    name: u64,
}

impl At {
    /// A port with 150 KB of memory, as in the document of 2006.
    fn new(params: &Params) -> At {
        let switch = SwitchParams { buffer: Bytes(150_000), buffer_per: BufferPer::Egress, ..SwitchParams::default() };
        let bench = SwitchBench::new(&switch, 4, LINE, 0);
        let cp = Bcn::switch(params, bench.shape()).expect("BCN acts at switches");
        At { bench, cp, name: cpid(NodeId(4), 3 * 8 + 3) }
    }

    /// A frame of 1500 B with a tag finds `queue` bytes before port 3.
    fn frame(&mut self, queue: u64, tag: u64) -> Option<Control> {
        self.bench.set_egress(Port(3), Queue(3), queue);
        let mut pkt = data(HostId(0), HostId(3), 0, C3, 1436);
        pkt.tag = tag;
        self.cp.on_enqueue(&mut self.bench.cx(), &place(Port(0), Port(3), C3), &mut pkt);
        match self.bench.actions().as_slice() {
            [] => None,
            [SwitchAction::Route(HostId(0), Class(6), frame)] => Some(*frame),
            other => panic!("BCN sends one message at most, not {other:?}"),
        }
    }

    /// A hundred frames, the last of which is the sample: returns its message.
    fn sample(&mut self, queue: u64, tag: u64) -> Option<Message> {
        assert!((0..99).all(|_| self.frame(queue, tag).is_none()), "150 KB are 100 frames");
        self.frame(queue, tag).map(|frame| frame.message().expect("a message of BCN"))
    }

    /// Brings the queue to a length from which a sample sees no change.
    fn settled(params: &Params, queue: u64) -> At {
        let mut at = At::new(params);
        at.sample(queue, 0);
        at
    }
}

/// Fb = Qoff - W Qdelta, by hand.
#[test]
fn feedback_of_offset_and_change() {
    let mut at = At::new(&exact());
    let first = at.sample(30_000, 0).expect("a queue above Qeq that has grown");
    // Qoff = 24000 - 30000, Qdelta = 30000 - 0, Fb = -6000 - 2 x 30000.
    assert_eq!((first.kind, first.qoff, first.qdelta, first.fb(2.0)), (Kind::Negative, -6_000, 30_000, -66_000.0));
    assert_eq!((first.cpid, first.qeq), (at.name, 24_000));
    // The same queue again: Qdelta = 0.
    let second = at.sample(30_000, 0).expect("still above Qeq");
    assert_eq!((second.qoff, second.qdelta), (-6_000, 0));
    // Above Qeq, but falling faster: Fb = -2000 + 2 x 4000 > 0, nothing for a frame without tag.
    assert_eq!(at.sample(26_000, 0), None);
    // Below Qeq, but growing: Fb = 14000 - 2 x (10000 - 26000) > 0; then from 10000 to 20000: 4000 - 20000 < 0.
    assert_eq!(at.sample(10_000, 0), None);
    assert_eq!(at.sample(20_000, 0).map(|m| m.fb(2.0)), Some(-16_000.0));
}

/// The greatest |Fb| is (1 + 2W) Qeq, by which both documents normalise the gains: 5 x 24000.
#[test]
fn clamps_bound_the_feedback() {
    for (clamp_qoff, clamp_qdelta, fb) in
        [(true, true, -120_000.0), (false, true, -222_000.0), (true, false, -324_000.0), (false, false, -426_000.0)]
    {
        let mut at = At::new(&Params { clamp_qoff, clamp_qdelta, ..exact() });
        // Unclamped: Qoff = -126000, Qdelta = 150000.
        let message = at.sample(150_000, 0).expect("a full queue");
        assert_eq!(message.fb(2.0), fb, "{clamp_qoff} {clamp_qdelta}");
        // And empty: Qoff = 24000, Qdelta = -150000, clamped -48000.
        let fb = at.sample(0, at.name).map(|m| m.fb(2.0));
        assert_eq!(fb, Some(if clamp_qdelta { 120_000.0 } else { 324_000.0 }));
    }
}

/// Positive messages go to frames with the tag of this queue only; negative ones to all.
#[test]
fn tag_rule() {
    for (tag, positive) in [(0, false), (1, false), (cpid(NodeId(4), 27), true), (cpid(NodeId(5), 27), false)] {
        let mut at = At::settled(&exact(), 10_000);
        assert_eq!(at.sample(10_000, tag).map(|m| m.kind), positive.then_some(Kind::Positive), "{tag:x}");
        assert_eq!(at.sample(40_000, tag).map(|m| m.kind), Some(Kind::Negative));
    }
    // Fb = 0 is never sent.
    let mut at = At::settled(&exact(), 24_000);
    assert_eq!(at.sample(24_000, at.name), None);
}

/// The first contributions: above Qeq every sample sends a message, below it only tagged frames do, whatever Fb.
#[test]
fn sign_rules_differ_where_length_and_change_disagree() {
    let kinds = |sign_rule, from, to, tagged: bool| {
        let mut at = At::settled(&Params { sign_rule, ..exact() }, from);
        let tag = if tagged { at.name } else { 0 };
        at.sample(to, tag).map(|m| m.kind)
    };
    use SignRule::{Fb, Q};
    // Below Qeq and growing: Fb = 4000 - 20000 < 0.
    assert_eq!((kinds(Fb, 10_000, 20_000, false), kinds(Q, 10_000, 20_000, false)), (Some(Kind::Negative), None));
    assert_eq!(kinds(Q, 10_000, 20_000, true), Some(Kind::Negative));
    // Above Qeq and falling: Fb = -2000 + 8000 > 0.
    assert_eq!((kinds(Fb, 30_000, 26_000, false), kinds(Q, 30_000, 26_000, false)), (None, Some(Kind::Positive)));
    // At Qeq without change a message would say (0, 0), which is a STOP.
    assert_eq!(kinds(Q, 24_000, 24_000, true), None);
    for rule in [Fb, Q] {
        assert_eq!(kinds(rule, 30_000, 30_000, false), Some(Kind::Negative));
        assert_eq!(kinds(rule, 10_000, 10_000, true), Some(Kind::Positive));
        assert_eq!(kinds(rule, 10_000, 10_000, false), None);
    }
}

/// Qsc is three quarters of 150 KB unless given: above it BCN(MAX) or BCN(0,0), at it neither.
#[test]
fn severe_congestion() {
    for (bcn_00, bcn_max, above) in
        [(false, false, Kind::Negative), (false, true, Kind::Max), (true, false, Kind::Stop), (true, true, Kind::Stop)]
    {
        let params = Params { bcn_00, bcn_max, ..exact() };
        let mut at = At::settled(&params, 112_500);
        assert_eq!(at.sample(112_500, 0).map(|m| (m.kind, m.severe)), Some((Kind::Negative, false)));
        let message = at.sample(112_501, 0).expect("a message");
        // If severe congestion has no effect and no given threshold, no congestion is severe.
        assert_eq!((message.kind, message.severe), (above, above != Kind::Negative));
        match above {
            Kind::Stop => assert_eq!((message.qoff, message.qdelta), (0, 0)),
            Kind::Max => assert_eq!((message.qoff, message.qdelta), (-24_000, 48_000)),
            _ => assert_eq!((message.qoff, message.qdelta), (-24_000, 1)),
        }
        // The queue is remembered: not grown since.
        assert_eq!(at.sample(101_000, 0).map(|m| m.qdelta), Some(-11_501));
    }
    let mut at = At::settled(&Params { bcn_max: true, qsc: Some(Bytes(50_000)), ..exact() }, 50_001);
    assert_eq!(at.sample(50_001, 0).map(|m| m.kind), Some(Kind::Max));
}

/// The bits of a message on the wire, mild and severe, show where the queue is between Qeq and Qsc, whatever the message requests.
#[test]
fn what_a_message_says_of_congestion() {
    let cx = WireCx { speaker: Mac::default(), flow: (Mac::default(), Mac::default()), packet: &[] };
    let reported = |params: &Params, queue: u64| {
        let mut at = At::settled(params, queue - 1_000);
        let frame = at.sample(queue, at.name)?.frame(Bytes(64), params.w);
        let mut octets = Vec::new();
        Bcn::octets(&frame, &cx, &mut octets)?;
        let message = backwater_wire::bcn::Bcn::parse(&octets).ok()?;
        Some((message.mild, message.severe))
    };
    let given = Params { qsc: Some(Bytes(50_000)), ..exact() };
    for params in [Params { bcn_00: true, ..given.clone() }, Params { bcn_max: true, ..given.clone() }, given] {
        let all = [20_000, 50_000, 50_001].map(|queue| reported(&params, queue));
        assert_eq!(all, [Some((false, false)), Some((true, false)), Some((false, true))]);
    }
}

/// Ten times as many samples while the queue is above Qsc.
#[test]
fn oversampling() {
    let mut at = At::new(&Params { oversampling: 10, ..exact() });
    let mut count = |queue| (0..1000).filter(|_| at.frame(queue, 0).is_some()).count();
    assert_eq!((count(120_000), count(112_500), count(120_000)), (100, 10, 100));
}

/// Intervals are counted in accepted bytes from the last sample on.
#[test]
fn sampling_intervals() {
    use Sampling::{BelowNominal, Bernoulli, Uniform};
    for (sampling, least, most, mean) in [
        (Uniform, 130_000, 170_000, 150_000.0),
        (BelowNominal, 130_000, 150_000, 140_000.0),
        (Bernoulli, 1, 3_000_000, 150_000.0),
    ] {
        let mut at = At::new(&Params { sampling, jitter: Bytes(20_000), ..exact() });
        let mut intervals = Vec::new();
        for _ in 0..1_000 {
            let frames = 1 + (0u64..).take_while(|_| at.frame(40_000, 0).is_none()).count() as u64;
            intervals.push(frames * 1500);
        }
        // The first is nominal.
        let all = &intervals[1..];
        assert!(all.iter().all(|n| (least..most + 1500).contains(n)), "{sampling:?} {intervals:?}");
        let got = all.iter().sum::<u64>() as f64 / all.len() as f64;
        // Intervals end with a whole frame. Standard errors: 12 KB/32, 6 KB/32, and 150 KB/32 = 4.7 KB.
        let (rounding, band) = if sampling == Bernoulli { (0.0, 14_000.0) } else { (750.0, 1_200.0) };
        assert!((got - mean - rounding).abs() < band, "{sampling:?} {got}");
    }
}

#[test]
fn only_data_of_its_classes_causes_messages() {
    let mut at = At::new(&exact());
    at.bench.set_egress(Port(3), Queue(3), 40_000);
    for _ in 0..300 {
        let mut ack = ack(data(HostId(0), HostId(3), 0, C3, 1436));
        at.cp.on_enqueue(&mut at.bench.cx(), &place(Port(0), Port(3), C3), &mut ack);
    }
    assert_eq!(at.bench.actions(), []);
    let mut other = At::new(&Params { classes: vec![5], ..exact() });
    assert!((0..300).all(|_| other.frame(40_000, 0).is_none()));
}

/// Document of 2007: Qeq = B/4, and with it the thresholds follow the memory of a port.
#[test]
fn equilibrium_follows_the_memory() {
    let mut at = At::settled(&Params { qeq: None, ..exact() }, 40_000);
    assert_eq!(at.sample(40_000, 0).map(|m| (m.qeq, m.qoff)), Some((37_500, -2_500)));
    let bench = SwitchBench::new(&SwitchParams::default(), 4, LINE, 0);
    assert!(Bcn::switch(&Params::default(), bench.shape()).is_none(), "one memory for all ports says nothing of one");
}

fn negative(fb_frames: i64) -> Message {
    Message { kind: Kind::Negative, cpid: 7, qoff: -1500 * fb_frames, qdelta: 0, qeq: 24_000, severe: false, random: 0 }
}

fn positive(fb_frames: i64) -> Message {
    Message { kind: Kind::Positive, qoff: 1500 * fb_frames, ..negative(0) }
}

/// BCN(0,0) whose random time is this share of the greatest.
fn stop(share: f64) -> Message {
    Message { kind: Kind::Stop, random: (share * 2f64.powi(64)) as u64, ..negative(0) }
}

struct Rp {
    bench: FlowBench,
    rp: ReactionPoint,
    armed: Vec<(Time, u16)>,
}

impl Rp {
    fn new(params: &Params) -> Rp {
        let bench = FlowBench::new(LINE);
        let rp = Bcn::flow(params, bench.shape(), &()).expect("BCN acts at flows");
        Rp { bench, rp, armed: Vec::new() }
    }

    fn at(&mut self, time: Time) -> &mut Rp {
        self.bench.now = time;
        self
    }

    fn bcn(&mut self, message: Message) -> f64 {
        assert_eq!(self.rp.on_control(&mut self.bench.cx(), &message.frame(Bytes(64), 2.0)), Fate::Consumed);
        self.mbps()
    }

    /// Current rate, Mb/s; the line rate where nothing limits.
    fn mbps(&self) -> f64 {
        self.rp.rate().unwrap_or(LINE).0 as f64 / 1e6
    }

    fn tag(&mut self) -> u64 {
        let mut pkt = data(HostId(0), HostId(1), 0, C3, 1436);
        self.rp.on_send(&mut self.bench.cx(), &mut pkt);
        pkt.tag
    }

    /// Runs its timers up to a time.
    fn wait(&mut self, until: Time) -> f64 {
        loop {
            self.armed.extend(self.bench.timers());
            self.armed.sort();
            if self.armed.first().is_none_or(|(at, _)| *at > until) {
                self.bench.now = until;
                return self.mbps();
            }
            let (at, token) = self.armed.remove(0);
            self.bench.now = at;
            self.rp.on_timer(&mut self.bench.cx(), token);
        }
    }
}

/// Both documents: Gd = 1/2 / ((1 + 2W) Qeq), so 80 frames (of 16 x 5) halve the rate; Gi = line rate/10 of the same: 12.5 Mb/s a frame.
#[test]
fn gains_by_formula() {
    let mut rp = Rp::new(&exact());
    assert_eq!((rp.rp.rate(), rp.tag()), (None, 0), "nothing limits before the first message");
    assert_eq!((rp.bcn(negative(80)), rp.bcn(negative(80))), (5_000.0, 2_500.0));
    assert_eq!(rp.bcn(negative(16)), 2_250.0, "a fifth of the greatest: 10 %");
    assert_eq!(rp.bcn(positive(80)), 3_250.0);
    assert_eq!(rp.bcn(positive(1)), 3_262.5);
    // Document of 2007: Qeq 150 KB, 100 frames: Gd = 0.001 and Gi = 2 Mb/s a frame.
    let of_2007 = |message: Message| Message { qeq: 150_000, ..message };
    let mut rp = Rp::new(&exact());
    assert_eq!((rp.bcn(of_2007(negative(500))), rp.bcn(of_2007(negative(1)))), (5_000.0, 4_995.0));
    assert_eq!(rp.bcn(of_2007(positive(10))), 5_015.0);
}

/// The values that the document of 2006 prints, for a frame of 1500 B.
#[test]
fn literal_gains() {
    let mut rp = Rp::new(&Params { gi: Some(12.42), gd: Some(6.09e-3), ..exact() });
    assert!((rp.bcn(negative(80)) - 10_000.0 * (1.0 - 0.4872)).abs() < 1e-5);
    assert!((rp.bcn(positive(10)) - 5_128.0 - 124.2).abs() < 1e-5);
    // A gain above one leaves the least rate.
    let mut rp = Rp::new(&Params { gd: Some(1.0), ..exact() });
    assert_eq!(rp.bcn(negative(2)), 1.0);
}

/// The limiter follows the queue that slowed it down last: its frames carry that queue's name, and only that queue raises its rate.
#[test]
fn follows_the_latest_congested_queue() {
    let from = |cpid, message: Message| Message { cpid, ..message };
    let mut rp = Rp::new(&exact());
    assert_eq!(rp.bcn(positive(80)), 10_000.0, "nothing to raise");
    rp.bcn(from(7, negative(80)));
    assert_eq!(rp.tag(), 7);
    rp.bcn(from(9, negative(80)));
    assert_eq!(rp.tag(), 9);
    assert_eq!(rp.bcn(from(7, positive(80))), 2_500.0);
    assert_eq!(rp.bcn(from(9, positive(80))), 3_500.0);
    // At the line rate it ends, and frames carry no tag.
    (0..7).for_each(|_| {
        rp.bcn(from(9, positive(80)));
    });
    assert_eq!((rp.rp.rate(), rp.tag()), (None, 0));
}

#[test]
fn least_and_first_rate() {
    let mut rp = Rp::new(&exact());
    (0..20).for_each(|_| {
        rp.bcn(negative(80));
    });
    assert_eq!(rp.mbps(), 1.0);
    let mut rp = Rp::new(&Params { initial_rate: Some(Rate::gbps(4)), ..exact() });
    assert_eq!(rp.bcn(negative(80)), 2_000.0);
}

/// BCN(0,0): a random share of 100 us, then a tenth of the line; again before the rate has risen: 200 us and a twentieth.
#[test]
fn stop_doubles_and_halves() {
    let mut rp = Rp::new(&exact());
    assert_eq!(rp.bcn(stop(0.5)), 1_000.0);
    assert_eq!(rp.rp.stopped_until(), Time::us(50));
    assert_eq!(rp.tag(), 7);
    // Messages that arrive during a STOP concern frames sent before it.
    assert_eq!((rp.at(Time::us(49)).bcn(stop(0.9)), rp.bcn(negative(80))), (1_000.0, 1_000.0));
    assert_eq!(rp.rp.stopped_until(), Time::us(50));
    assert_eq!(rp.at(Time::us(50)).bcn(stop(0.5)), 500.0);
    assert_eq!(rp.rp.stopped_until(), Time::us(150));
    // A positive message: the next STOP is a first one.
    assert_eq!(rp.at(Time::us(150)).bcn(positive(80)), 1_500.0);
    rp.bcn(stop(0.25));
    assert_eq!((rp.mbps(), rp.rp.stopped_until()), (1_000.0, Time::us(175)));
    // The same if the rate has risen by itself.
    let mut rp = Rp::new(&Params { self_increase: Rate(1_000_000), self_increase_interval: Time::us(10), ..exact() });
    rp.bcn(stop(0.5));
    assert_eq!(rp.wait(Time::us(60)), 1_001.0);
    assert_eq!((rp.bcn(stop(0.5)), rp.rp.stopped_until()), (1_000.0, Time::us(110)));
    // No rate exceeds the line rate, even if the least rate does.
    let mut rp = Rp::new(&Params { min_rate: Rate::gbps(40), ..exact() });
    assert_eq!((rp.bcn(stop(0.5)), rp.bcn(negative(80))), (10_000.0, 10_000.0));
    // 100 us x 2^7 would be 12.8 ms: 10 ms is the most. Rates halve down to Rmin.
    let mut rp = Rp::new(&exact());
    for doubled in [100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000, 10_000, 10_000, 10_000] {
        let now = rp.rp.stopped_until();
        rp.at(now).bcn(stop(0.5));
        assert_eq!(rp.rp.stopped_until(), now + Time::ns(500 * doubled));
    }
    assert_eq!(rp.mbps(), 1.0);
}

/// Document of 2006: end points respond after 1 us.
#[test]
fn response_time() {
    let mut rp = Rp::new(&Params { response_time: Time::us(1), ..exact() });
    assert_eq!(rp.at(Time::us(5)).bcn(negative(80)), 10_000.0);
    assert_eq!(rp.at(Time::ns(5_400)).bcn(positive(80)), 10_000.0);
    let armed = rp.bench.timers();
    assert_eq!(armed.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [Time::us(6), Time::ns(6_400)]);
    for ((at, token), rate) in armed.into_iter().zip([5_000.0, 6_000.0]) {
        rp.at(at);
        rp.rp.on_timer(&mut rp.bench.cx(), token);
        assert_eq!(rp.mbps(), rate);
    }
}

/// Off unless asked for: a limiter without messages from any queue stays at its rate, as "No Self Increase" in the document of 2007 has it.
#[test]
fn self_increase_and_ageing() {
    let mut rp = Rp::new(&exact());
    rp.bcn(negative(80));
    assert_eq!(rp.wait(Time::ms(10_000)), 5_000.0);
    let mut rp = Rp::new(&Params { self_increase: Rate(1_000_000), ..exact() });
    rp.bcn(negative(80));
    assert_eq!(rp.wait(Time::us(2_500)), 5_002.0);
    let mut rp = Rp::new(&Params { self_increase: Rate::gbps(2), ..exact() });
    rp.bcn(negative(80));
    // 7, 9, 10 Gb/s: then it has ended, and nothing rises any more.
    assert_eq!(rp.wait(Time::ms(3)), 10_000.0);
    assert_eq!((rp.rp.rate(), rp.wait(Time::ms(20))), (None, 10_000.0));
    let mut rp = Rp::new(&Params { ageing: Some(Time::ms(500)), ..exact() });
    rp.bcn(negative(80));
    assert_eq!(rp.wait(Time::ms(499)), 5_000.0);
    rp.bcn(negative(80));
    // The first message's timer is stale at 500 ms; the second one counts.
    assert_eq!(rp.wait(Time::ms(998)), 2_500.0);
    assert_eq!((rp.wait(Time::ms(999)), rp.rp.rate(), rp.tag()), (10_000.0, None, 0));
}

/// The check refuses meaningless values, each under its own key.
#[test]
fn what_is_refused() {
    let keys = |params: &Params, per: BufferPer| {
        let switch = SwitchParams { buffer: Bytes(150_000), buffer_per: per, ..SwitchParams::default() };
        let bench = SwitchBench::new(&switch, 4, LINE, 0);
        let (switches, switch_params) = (std::slice::from_ref(bench.shape()), std::slice::from_ref(&switch));
        let cx = CheckCx { switches, switch_params, ..CheckCx::default() };
        crate::stack::inspect::<Bcn>(params, &cx).into_iter().map(|f| f.key).collect::<Vec<_>>()
    };
    use BufferPer::{Egress, Queue, Switch};
    assert_eq!(keys(&Params::default(), Egress), [""; 0]);
    assert_eq!(keys(&Params::default(), Queue), [""; 0]);
    assert_eq!(keys(&Params::default(), Switch), ["qeq"]);
    assert_eq!(keys(&exact(), Switch), [""; 0]);
    assert_eq!(keys(&Params { bcn_max: true, ..exact() }, Switch), ["qsc"]);
    assert_eq!(keys(&Params { bcn_max: true, qsc: Some(Bytes(23_999)), ..exact() }, Switch), ["qsc"]);
    assert_eq!(keys(&Params { qeq: Some(Bytes(150_000)), ..exact() }, BufferPer::Egress), ["qeq"]);
    assert_eq!(keys(&Params { qeq: Some(Bytes(150_000)), ..exact() }, BufferPer::None), [""; 0]);
    assert_eq!(keys(&Params { classes: vec![], ..Params::default() }, Switch), [""; 0]);
    assert_eq!(keys(&Params { jitter: Bytes(150_000), ..exact() }, Egress), ["jitter"]);
}
