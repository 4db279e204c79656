//! QCN on the bench: the quantisation and the sampling table over their whole range, and the reaction point's stages by hand.

use super::cp::{Feedback, interval};
use super::*;
use backwater_engine::Time;
use backwater_net::bench::{FlowBench, SwitchBench, ack, data, place};
use backwater_net::config::BufferPer;
use backwater_net::config::SwitchParams;
use backwater_net::hooks::{Fate, FlowSide, SwitchAction, SwitchSide};
use backwater_net::packet::{Class, Control, HostId, Packet, Port, Queue};
use backwater_net::{Bytes, Rate};
use backwater_wire::address::Cpid;

const C3: Class = Class(3);
const LINE: Rate = Rate::gbps(10);

fn exact() -> Params {
    Params { cp_jitter: 0.0, ..Params::default() }
}

/// Clause 32 with the MIB's values: cpQsp 26000 B and w = 2, so the greatest feedback is 26000 x 5 = 130000 B.
#[test]
fn feedback_is_quantised_to_six_bits_over_its_whole_range() {
    let feedback = Feedback::new(&exact());
    let most = 130_000u64;
    let mut last = 0;
    for fb in 0..=most + 1_000 {
        // A queue that does not grow: -cpFb = cpQLen - cpQsp.
        let qlen = 26_000 + fb;
        let qntz = feedback.quantised(qlen, qlen);
        assert_eq!(qntz, fb.min(most) * 63 / most, "cpFb -{fb}");
        assert!(qntz == last || qntz == last + 1, "no step is left out");
        last = qntz;
    }
    assert_eq!(last, 63);
    // Step k begins at the first whole byte from k/63 of the range: 130000/63 = 2063.49.
    for (fb, qntz) in
        [(2_063, 0), (2_064, 1), (4_126, 1), (4_127, 2), (127_936, 61), (127_937, 62), (129_999, 62), (130_000, 63)]
    {
        assert_eq!(feedback.quantised(26_000 + fb, 26_000 + fb), qntz, "cpFb -{fb}");
    }
}

/// cpFb = cpQsp - cpQLen - w (cpQLen - cpQLenOld), by hand.
#[test]
fn feedback_weighs_growth() {
    let feedback = Feedback::new(&exact());
    // At the set point, 26000 B grown since the last sample: -cpFb = 0 + 2 x 26000 = 52000; 52000 x 63/130000 = 25.2.
    assert_eq!(feedback.quantised(26_000, 0), 25);
    // Above the set point by 10000 and fallen by 6000: 10000 - 12000 < 0.
    assert_eq!(feedback.quantised(36_000, 42_000), 0);
    // Fallen by 1000: 8000; 8000 x 63/130000 = 3.9.
    assert_eq!(feedback.quantised(36_000, 37_000), 3);
    assert_eq!(feedback.quantised(0, 0), 0);
    assert_eq!(feedback.quantised(u64::MAX >> 8, 0), 63);
    // w = 2^-10: growth counts 1/1024. At 26000 + 1024 B, all of it growth: 1024 + 27024/1024 = 1050.4 of 26000 x (1 + 2/1024).
    let slow = Feedback::new(&Params { cp_w: -10, ..exact() });
    assert_eq!(slow.quantised(27_024, 0), 2);
    // w = 1024: 1 B of growth is 1024 of 26000 x 2049.
    let quick = Feedback::new(&Params { cp_w: 10, ..exact() });
    assert_eq!((quick.quantised(26_000, 25_175), quick.quantised(26_000, 25_174)), (0, 1));
}

/// Table of clause 32 for cpSampleBase 150 KB, by the upper three of the six bits.
#[test]
fn sampling_intervals_over_all_feedback() {
    let table = [150_000, 75_000, 50_000, 37_500, 30_000, 25_000, 21_500, 18_500];
    for qntz in 0..64 {
        assert_eq!(interval(Bytes(150_000), qntz), table[qntz as usize / 8], "{qntz}");
        assert_eq!(interval(Bytes(300_000), qntz), 2 * table[qntz as usize / 8], "{qntz}");
        // A base of 300 x 2^55 fits into 2^64 bytes, but 300 of them do not.
        let shares = [300, 150, 100, 75, 60, 50, 43, 37];
        assert_eq!(interval(Bytes(300 << 55), qntz), shares[qntz as usize / 8] << 55, "{qntz}");
    }
}

struct At {
    bench: SwitchBench,
    cp: CongestionPoint,
}

impl At {
    fn new(params: &Params) -> At {
        let bench = SwitchBench::new(&SwitchParams::default(), 4, LINE, 0);
        let cp = Qcn::switch(params, bench.shape()).expect("QCN acts at switches");
        At { bench, cp }
    }

    /// `frames` of 1500 B from host 0 find `queue` bytes before port 3. Returns the frames (from 1) at which a CNM was sent, and the CNM.
    fn enqueue(&mut self, frames: u32, queue: u64, of: fn(Packet) -> Packet) -> Vec<(u32, Control)> {
        self.bench.set_egress(Port(3), Queue(3), queue);
        let mut sent = Vec::new();
        for frame in 1..=frames {
            let mut pkt = of(data(HostId(0), HostId(3), 0, C3, 1436));
            self.cp.on_enqueue(&mut self.bench.cx(), &place(Port(0), Port(3), C3), &mut pkt);
            for action in self.bench.actions() {
                match action {
                    SwitchAction::Route(HostId(0), Class(6), cnm) => sent.push((frame, cnm)),
                    other => panic!("QCN only sends CNMs, not {other:?}"),
                }
            }
        }
        sent
    }
}

/// cpEnqued begins at 150 KB: 100 frames of 1500 B. The sampled frame counts as part of the queue and of the interval.
#[test]
fn samples_come_by_the_table() {
    let mut at = At::new(&exact());
    let sent = at.enqueue(100, 78_000, |data| data);
    assert_eq!(sent.iter().map(|(n, _)| *n).collect::<Vec<_>>(), [100]);
    let cnm = sent[0].1;
    // -cpFb = 52000 + 2 x 78000 > 130000: 63. Next interval 18.5 KB: 13 frames, and the same queue has not grown: 25.
    assert_eq!((cnm.kind, cnm.size, cnm.value), (CNM, 64, 63));
    let reported: Message = cnm.message().expect("a message of QCN");
    assert_eq!(
        (reported.feedback, reported.q_offset, reported.q_delta),
        (63, -52_000, 78_000),
        "qntz, cnmQOffset and cnmQDelta"
    );
    let sent = at.enqueue(13, 78_000, |data| data);
    assert_eq!(sent.iter().map(|(n, cnm)| (*n, cnm.value)).collect::<Vec<_>>(), [(13, 25)]);
    // 25 >> 3 = 3: 37.5 KB, 25 frames. No feedback at the set point, and then 150 KB again.
    assert_eq!(at.enqueue(25, 26_000, |data| data), []);
    assert_eq!(at.enqueue(99, 78_000, |data| data), []);
    assert_eq!(at.enqueue(1, 78_000, |data| data).len(), 1);
}

/// An acknowledgement counts as a sample, but no reaction point could use a CNM for it. Other classes have no congestion point.
#[test]
fn only_data_of_its_classes_causes_messages() {
    let mut at = At::new(&exact());
    assert_eq!(at.enqueue(100, 78_000, ack), []);
    assert_eq!(at.enqueue(13, 78_000, |data| data).len(), 1);
    let mut at = At::new(&Params { classes: vec![0, 5], ..exact() });
    assert_eq!(at.enqueue(200, 500_000, |data| data), []);
    assert!(Qcn::switch(&Params { classes: vec![], ..exact() }, at.bench.shape()).is_none());
}

/// Clause 32: the interval is drawn from 0.85 to 1.15 of the table's.
#[test]
fn jitter_spreads_intervals_evenly() {
    let mut at = At::new(&Params::default());
    let mut intervals = Vec::new();
    for _ in 0..402 {
        let mut frames = 0u64;
        loop {
            frames += 1;
            if !at.enqueue(1, 30_000, |data| data).is_empty() {
                break;
            }
        }
        intervals.push(frames * 1500);
    }
    // 4000 B above the set point: 4000 x 63/130000 = 1.9, qntz 1, interval 150 KB; but the first sample finds growth.
    intervals.drain(..2);
    let (least, most) = (intervals.iter().min().unwrap(), intervals.iter().max().unwrap());
    assert!((127_500..=132_000).contains(least) && (169_500..=174_000).contains(most), "{least} {most}");
    let mean = intervals.iter().sum::<u64>() as f64 / 400.0;
    // Rounded up to whole frames: half a frame more on average. Standard error 13 KB/20.
    assert!((mean - 150_750.0).abs() < 2000.0, "{mean}");
}

#[test]
fn cnm_carries_the_octets_it_returns() {
    let mut at = At::new(&Params { cp_min_header_octets: Bytes(64), ..exact() });
    // 12 + 4 + 2 + 24 + 64 + 4
    assert_eq!(at.enqueue(100, 78_000, |data| data)[0].1.size, 110);
}

struct Rp {
    bench: FlowBench,
    rp: ReactionPoint,
    armed: Vec<(Time, u16)>,
}

impl Rp {
    fn new(params: &Params) -> Rp {
        let bench = FlowBench::new(LINE);
        let rp = Qcn::flow(params, bench.shape(), &()).expect("QCN acts at flows");
        Rp { bench, rp, armed: Vec::new() }
    }

    fn cnm(&mut self, feedback: u8) -> f64 {
        let (cpid, priority) = (Cpid::default(), C3);
        let cnm = Message { feedback, cpid, q_offset: 0, q_delta: 0, priority };
        let frame = Control::carrying(CNM, 64, feedback.into(), &cnm);
        assert_eq!(self.rp.on_control(&mut self.bench.cx(), &frame), Fate::Consumed);
        self.mbps()
    }

    /// Current rate, Mb/s; the line rate where nothing limits.
    fn mbps(&self) -> f64 {
        self.rp.rate().unwrap_or(LINE).0 as f64 / 1e6
    }

    /// Sends `bytes` in one frame.
    fn send(&mut self, bytes: u32) -> f64 {
        let mut pkt = data(HostId(0), HostId(1), 0, C3, bytes - 64);
        self.rp.on_send(&mut self.bench.cx(), &mut pkt);
        self.mbps()
    }

    /// Lets time pass, and returns the rate after each timer that changed it.
    fn wait(&mut self, until: Time) -> Vec<f64> {
        let mut rates = Vec::new();
        loop {
            self.armed.extend(self.bench.timers());
            self.armed.sort();
            if self.armed.first().is_none_or(|(at, _)| *at > until) {
                self.bench.now = until;
                return rates;
            }
            let (at, token) = self.armed.remove(0);
            let before = self.mbps();
            self.bench.now = at;
            self.rp.on_timer(&mut self.bench.cx(), token);
            if self.mbps() != before {
                rates.push(self.mbps());
            }
        }
    }
}

/// Clause 32: the rate falls by qntz/128, at most by half (rpgMinDecFac), and never below rpgMinRate.
#[test]
fn decrease_by_all_feedback() {
    for qntz in 1..64 {
        let mut rp = Rp::new(&Params::default());
        assert_eq!(rp.rp.rate(), None, "without a CNM nothing limits");
        assert_eq!(rp.cnm(qntz), 10000.0 * (1.0 - f64::from(qntz) / 128.0));
    }
    // With Gd = 1/64 the greatest feedback would leave 1/64: rpgMinDecFac stops at half.
    let mut rp = Rp::new(&Params { rpg_gd: 6, ..Params::default() });
    assert_eq!((rp.cnm(63), rp.cnm(63)), (5000.0, 2500.0));
    let mut rp = Rp::new(&Params::default());
    (0..20).for_each(|_| {
        rp.cnm(63);
    });
    assert_eq!(rp.mbps(), 5.0);
}

/// Clause 32 with the byte counter alone: four stages halve the distance to the old rate; from stage 5 on, 5 Mb/s more each.
#[test]
fn byte_counter_recovers_then_increases() {
    let mut rp = Rp::new(&Params { rpg_max_rate: Some(Rate(9_000_000_000)), ..Params::default() });
    // The first CNM begins at rpgMaxRate, not at the line rate: 9000 x (1 - 32/128) = 6750. Then two more without a stage: rpTargetRate
    // stays 9000.
    assert_eq!((rp.cnm(32), rp.cnm(32), rp.cnm(64)), (6750.0, 5062.5, 2531.25));
    // 149.9 KB end no stage, 100 B more do.
    assert_eq!(rp.send(149_900), 2531.25);
    let recovery = [5765.625, 7382.8125, 8191.40625, 8595.703125];
    assert_eq!(rp.send(100), recovery[0]);
    assert_eq!([(); 3].map(|()| rp.send(150_000)), recovery[1..]);
    // A CNM with rpByteStage != 0 makes the current rate the target and starts the byte counter anew.
    rp.send(100_000);
    assert_eq!(rp.cnm(64), 4297.851562);
    assert_eq!(rp.send(149_999), 4297.851562, "the counter has begun anew");
    let target = 8595.703125;
    let mut rc = 4297.851562;
    for stage in 1..=7 {
        // Stages 5, 6, 7: rpTargetRate + 5 Mb/s before the mean.
        let target = target + 5.0 * f64::from((stage - 4).max(0));
        rc = (rc + target) / 2.0;
        let got = rp.send(if stage == 1 { 100 } else { 150_000 });
        assert!((got - rc).abs() < 1e-5, "stage {stage}: {got} {rc}");
    }
}

/// The byte counter continues if a CNM finds rpByteStage = 0: it is not reset then.
#[test]
fn byte_counter_survives_a_message_in_its_first_cycle() {
    let mut rp = Rp::new(&Params::default());
    rp.cnm(64);
    rp.send(100_000);
    assert_eq!(rp.cnm(64), 2500.0);
    // 50 KB more end the stage: (2500 + 10000)/2.
    assert_eq!(rp.send(50_000), 6250.0);
}

/// The timer alone: stages at 15, 30, 45, 60 ms recover, and a CNM starts it anew.
#[test]
fn timer_recovers_and_restarts() {
    let mut rp = Rp::new(&Params::default());
    rp.cnm(64);
    assert!(rp.wait(Time::ms(14)).is_empty());
    // rpByteStage is 0: the target stays at 10000.
    assert_eq!(rp.cnm(64), 2500.0);
    assert!(rp.wait(Time::ms(28)).is_empty(), "the first timer is stale at 15 ms");
    assert_eq!(rp.wait(Time::ms(14 + 60)), [6250.0, 8125.0, 9062.5, 9531.25]);
}

/// Both at rpgThreshold: hyper-active increase, 50 Mb/s times the stages beyond, with half periods from then on.
#[test]
fn hyper_active_increase() {
    let params = Params { rpg_threshold: 2, ..Params::default() };
    let mut rp = Rp::new(&params);
    // Target 5000 from here: a stage, then a CNM.
    rp.cnm(64);
    rp.send(150_000); // 7500
    rp.cnm(64); // target 7500, rate 3750
    assert_eq!(rp.send(150_000), 5625.0, "byte stage 1 of 2: fast recovery");
    assert_eq!(rp.wait(Time::ms(15)), [6562.5], "timer stage 1");
    // Timer stage 2, byte stage 1: active. Target 7505.
    assert_eq!(rp.wait(Time::ms(30)), [7033.75]);
    // Byte stage 2, timer stage 2: hyper-active, i = 1. Target 7555.
    assert_eq!(rp.send(150_000), 7294.375);
    // That step still began a full period; the next one, from within, halves it. Byte stage 3, i still 1: target 7605.
    assert_eq!(rp.send(149_000), 7294.375);
    assert_eq!(rp.send(1_000), 7449.6875);
    // From now on 75 KB. Byte stage 4: target 7655.
    assert_eq!(rp.send(75_000), 7552.34375);
    // Timer stage 3 comes at 45 ms, armed in full at 30; min(4, 3) - 2 + 1 = 2: target 7755. Stage 4 comes 7.5 ms later: i = 3, 7905.
    assert_eq!(rp.wait(Time::us(52_499)), [7653.671875]);
    let rates = rp.wait(Time::us(52_500));
    assert_eq!(rates, [7779.335938]);
}

/// `after-recovery` halves each period as soon as its own stage is past rpgThreshold.
#[test]
fn halved_after_recovery() {
    let params = Params { rpg_threshold: 2, halve: Halve::AfterRecovery, ..Params::default() };
    let mut rp = Rp::new(&params);
    rp.cnm(64);
    let before = [150_000, 150_000, 150_000].map(|bytes| rp.send(bytes));
    // Stage 3 > 2: half a period is enough now, although the timer's stage is 0.
    assert!(rp.send(74_999) == before[2] && rp.send(100) > before[2]);
    // In the state machine it is not.
    let mut rp = Rp::new(&Params { halve: Halve::HyperActive, ..params });
    rp.cnm(64);
    let before = [150_000, 150_000, 150_000].map(|bytes| rp.send(bytes));
    assert!(rp.send(149_999) == before[2] && rp.send(100) > before[2]);
}

/// Extra fast recovery: in the first stage after a deep cut the target falls to an eighth.
#[test]
fn extra_fast_recovery() {
    let mut rp = Rp::new(&Params::default());
    // Four halvings without a stage: 625 Mb/s under a target of 10000, more than tenfold. 10000/8 = 1250.
    (0..4).for_each(|_| {
        rp.cnm(64);
    });
    assert_eq!(rp.mbps(), 625.0);
    assert_eq!(rp.send(150_000), 937.5);
    // Stage 2: target 1250, no rule.
    assert_eq!(rp.send(150_000), 1093.75);
    // Tenfold exactly is not more than tenfold: 1000 Mb/s under 10000. 5 b/s more than tenfold is.
    let mut rp = Rp::new(&Params { rpg_gd: 0, rpg_min_dec_fac: 0.1, ..Params::default() });
    assert_eq!(rp.cnm(1), 1000.0);
    assert_eq!(rp.send(150_000), 5500.0);
    let (rpg_min_dec_fac, rpg_max_rate) = (0.1, Some(Rate(9_999_999_995)));
    let mut rp = Rp::new(&Params { rpg_gd: 0, rpg_min_dec_fac, rpg_max_rate, ..Params::default() });
    assert_eq!(rp.cnm(1), 999.999999);
    // (999999999 + 1249999999)/2
    assert_eq!(rp.send(150_000), 1124.999999);
}

/// The limiter ends when rpCurrentRate reaches rpgMaxRate: halving 5 Gb/s of distance takes 33 stages.
#[test]
fn reaction_point_ends_at_the_greatest_rate() {
    let mut rp = Rp::new(&Params::default());
    rp.cnm(64);
    let mut stages = 0;
    while rp.rp.rate().is_some() {
        rp.send(150_000);
        stages += 1;
    }
    assert_eq!(stages, 33, "2^32 < 5e9 < 2^33, and the last halving of 1 b/s rounds up");
    // Timers that still run do nothing, and the next CNM begins at the greatest rate.
    assert!(rp.wait(Time::ms(1_000)).is_empty());
    assert_eq!(rp.cnm(32), 7500.0);
    assert_eq!(rp.send(149_999), 7500.0, "with a fresh byte counter");
}

#[test]
fn reaction_points_are_shared_as_asked() {
    let bench = FlowBench::new(LINE);
    let key = |per| Qcn::rate_key(&Params { per, ..Params::default() }, bench.shape());
    assert_eq!(
        [Per::Flow, Per::Destination, Per::Class].map(key),
        [RateKey::Flow, RateKey::Dest(HostId(1)), RateKey::Class(C3)]
    );
}

/// The ranges of the MIB, each under its own key.
#[test]
fn what_is_refused() {
    let keys = |params: &Params, buffer_per| {
        let switch = SwitchParams { buffer: Bytes(26_000), buffer_per, ..SwitchParams::default() };
        let bench = SwitchBench::new(&switch, 4, LINE, 0);
        let (switches, switch_params) = (std::slice::from_ref(bench.shape()), std::slice::from_ref(&switch));
        let cx = CheckCx { switches, switch_params, ..CheckCx::default() };
        crate::stack::inspect::<Qcn>(params, &cx).into_iter().map(|f| f.key).collect::<Vec<_>>()
    };
    let of = |params: Params| keys(&params, BufferPer::None);
    assert_eq!(of(exact()), [""; 0]);
    assert_eq!(keys(&exact(), BufferPer::Egress), ["cp_qsp"], "it could never be reached");
    assert_eq!(keys(&Params { classes: vec![], ..exact() }, BufferPer::Egress), [""; 0]);
    assert_eq!(of(Params { cp_qsp: Bytes(99), ..exact() }), ["cp_qsp"]);
    assert_eq!(of(Params { cp_w: -11, ..exact() }), ["cp_w"]);
    assert_eq!(of(Params { cp_sample_base: Bytes(9_999), ..exact() }), ["cp_sample_base"]);
    assert_eq!(of(Params { cp_min_header_octets: Bytes(65), ..exact() }), ["cp_min_header_octets"]);
    assert_eq!(of(Params { rpg_min_dec_fac: 0.0, ..exact() }), ["rpg_min_dec_fac"]);
    assert_eq!(of(Params { rpg_time_reset: Time::ZERO, ..exact() }), ["rpg_time_reset"]);
    assert_eq!(of(Params { rpg_max_rate: Some(Rate(4_999_999)), ..exact() }), ["rpg_max_rate"]);
}
