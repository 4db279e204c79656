//! DCQCN on the bench: the paper's law, the ns-3 code's ticks, and the notification point.

use super::*;
use backwater_net::Bytes;
use backwater_net::bench::{FlowBench, NicBench, data};
use backwater_net::hooks::NicAction;

const LINE: Rate = Rate::gbps(40);

fn cnp() -> Control {
    Control::carrying(CNP, 78, 0, &Cnp { destination: 7, p_key: Bth::DEFAULT_PARTITION })
}

fn flow(params: &Params) -> (FlowBench, ReactionPoint) {
    let bench = FlowBench::new(LINE);
    let rp = Dcqcn::flow(params, bench.shape(), &SharedAlpha::default()).expect("DCQCN acts at flows");
    (bench, rp)
}

fn gbps(rp: &ReactionPoint) -> f64 {
    rp.rate().expect("a rate").0 as f64 / 1e9
}

/// Wakes it at each of its timers in turn until `until`, and returns the rate after each that changed it.
fn play(bench: &mut FlowBench, rp: &mut ReactionPoint, armed: &mut Vec<(Time, u16)>, until: Time) -> Vec<f64> {
    let mut rates = Vec::new();
    loop {
        armed.extend(bench.timers());
        armed.sort();
        if armed.first().is_none_or(|(at, _)| *at > until) {
            return rates;
        }
        let (at, token) = armed.remove(0);
        let before = gbps(rp);
        bench.now = at;
        rp.on_timer(&mut bench.cx(), token);
        if gbps(rp) != before {
            rates.push(gbps(rp));
        }
    }
}

/// Section 3.1 with alpha = 1 at first: the first CNP halves the rate. Then, every 55 us, five stages: the first F - 1 = 4 halve the
/// distance to the old rate, and from stage F on Rt grows by 40 Mb/s.
#[test]
fn paper_cut_recovery_and_additive_increase() {
    let (mut bench, mut rp) = flow(&Params::default());
    assert_eq!(gbps(&rp), 40.0);
    rp.on_control(&mut bench.cx(), &cnp());
    assert_eq!(gbps(&rp), 20.0);
    let mut armed = Vec::new();
    let rates = play(&mut bench, &mut rp, &mut armed, Time::us(4 * 55));
    assert_eq!(rates, [30.0, 35.0, 37.5, 38.75]);
    // Stage 5 = F: Rt = 40.04, Rc = (40.04 + 38.75)/2.
    let rates = play(&mut bench, &mut rp, &mut armed, Time::us(5 * 55));
    assert_eq!(rates, [39.395]);
}

/// alpha = (1-g) alpha + g on a CNP, (1-g) alpha after 55 us without: seen through the depth of the next cut.
#[test]
fn paper_alpha_recursion() {
    let g = 1.0 / 256.0;
    let (mut bench, mut rp) = flow(&Params { rate_timer: Time::ms(1_000), ..Params::default() });
    rp.on_control(&mut bench.cx(), &cnp());
    let mut armed = Vec::new();
    play(&mut bench, &mut rp, &mut armed, Time::us(3 * 55));
    // alpha stayed 1 at the CNP, (1-g) 1 + g, and has decayed three times since.
    let alpha = f64::powi(1.0 - g, 3);
    rp.on_control(&mut bench.cx(), &cnp());
    assert!((gbps(&rp) - 20.0 * (1.0 - alpha / 2.0)).abs() < 1e-6);
    let after = (1.0 - g) * alpha + g;
    let before = gbps(&rp);
    rp.on_control(&mut bench.cx(), &cnp());
    assert!((gbps(&rp) - before * (1.0 - after / 2.0)).abs() < 1e-6);
}

/// Both counters beyond F: Rt grows by i x Rhai, i = min(T, BC) - F.
#[test]
fn paper_hyper_increase_needs_both_counters() {
    // One stage of the byte counter per packet, and a timer that never comes: min(T, BC) stays 0, so only additive steps.
    let params = Params { byte_counter: Bytes(1_000), rate_timer: Time::ms(1_000), f: 1, ..Params::default() };
    let send = |bench: &mut FlowBench, rp: &mut ReactionPoint| {
        let mut pkt = data(HostId(0), HostId(1), 0, Class(3), 1_000);
        rp.on_send(&mut bench.cx(), &mut pkt);
    };
    let (mut bench, mut rp) = flow(&params);
    rp.on_control(&mut bench.cx(), &cnp());
    send(&mut bench, &mut rp);
    // max(T, BC) = 1 = F: additive at once. Rt = 40.04.
    assert!((gbps(&rp) - 30.02).abs() < 1e-9);
    // Now with a timer: T = 2 after 110 us, then BC catches up.
    let (mut bench, mut rp) = flow(&Params { rate_timer: Time::us(55), alpha_timer: Time::ms(1_000), ..params });
    rp.on_control(&mut bench.cx(), &cnp());
    let mut armed = Vec::new();
    let rates = play(&mut bench, &mut rp, &mut armed, Time::us(110));
    // Rt = 40.04, 40.08
    assert_eq!(rates, [30.02, 35.05]);
    send(&mut bench, &mut rp); // BC = 1: additive, Rt = 40.12
    assert!((gbps(&rp) - 37.585).abs() < 1e-9);
    send(&mut bench, &mut rp); // BC = 2, T = 2, i = 1: Rt = 40.52
    assert!((gbps(&rp) - 39.0525).abs() < 1e-9);
}

#[test]
fn paper_cnp_restarts_everything() {
    let (mut bench, mut rp) = flow(&Params::default());
    rp.on_control(&mut bench.cx(), &cnp());
    let mut armed = Vec::new();
    play(&mut bench, &mut rp, &mut armed, Time::us(54));
    bench.now = Time::us(54);
    rp.on_control(&mut bench.cx(), &cnp());
    assert_eq!(gbps(&rp), 10.0);
    // The timer of the first CNP is stale at 55 us; the next stage is at 109 us.
    assert!(play(&mut bench, &mut rp, &mut armed, Time::us(108)).is_empty());
    assert_eq!(play(&mut bench, &mut rp, &mut armed, Time::us(109)), [15.0]);
}

#[test]
fn rate_never_falls_below_the_least() {
    let (mut bench, mut rp) = flow(&Params::default());
    for _ in 0..30 {
        rp.on_control(&mut bench.cx(), &cnp());
    }
    assert_eq!(rp.rate(), Some(Rate(100_000_000)));
}

/// The public ns-3 code: alpha starts at 1, its first tick counts no mark; the decrease tick, 1 ns behind it, halves.
#[test]
fn ns3_ticks() {
    let params = Params {
        law: Law::Ns3,
        alpha_timer: Time::us(1),
        decrease_interval: Time::us(4),
        rate_timer: Time::us(300),
        f: 1,
        rai: Rate(20_000_000),
        rhai: Rate(200_000_000),
        ..Params::default()
    };
    let ack = |marked| Ack { received: 0, rtt: Time::us(10), marked, carried: None, counted: None };
    let g = params.g;
    let (mut bench, mut rp) = flow(&params);
    rp.on_ack(&mut bench.cx(), &ack(false));
    assert_eq!(bench.timers(), []);
    rp.on_ack(&mut bench.cx(), &ack(true));
    let mut armed = Vec::new();
    let rates = play(&mut bench, &mut rp, &mut armed, Time::us(5));
    // Four alpha ticks without a mark before the decrease tick at 4.001 us.
    let cut = 40.0 * (1.0 - f64::powi(1.0 - g, 4) / 2.0);
    assert_eq!(rates.len(), 1);
    assert!((rates[0] - cut).abs() < 1e-6, "{rates:?} {cut}");
    // 300 us later: stage 0 < F: half-way back; stage 1 = F: Rt + Rai; then Rt + Rhai, both clamped to the line rate.
    let rates = play(&mut bench, &mut rp, &mut armed, Time::us(905));
    let expected = [(40.0 + cut) / 2.0, (40.0 * 3.0 + cut) / 4.0, (40.0 * 7.0 + cut) / 8.0];
    assert_eq!(rates.len(), 3);
    rates.iter().zip(expected).for_each(|(got, want)| assert!((got - want).abs() < 1e-6, "{got} {want}"));
}

fn cnps(bench: &mut NicBench) -> usize {
    bench.actions().iter().filter(|n| matches!(n, NicAction::Route(HostId(0), _, frame) if frame.kind == CNP)).count()
}

/// Section 3.1: at most one CNP per flow in 50 us.
#[test]
fn notification_point_keeps_its_interval() {
    for trailing in [false, true] {
        let params = Params { cnp_trailing: trailing, ..Params::default() };
        let mut bench = NicBench::new(HostId(1), LINE);
        let mut np = Dcqcn::nic(&params, bench.shape()).expect("the paper's law has a notification point");
        let mut marked = |bench: &mut NicBench, at: Time, flow: u32| {
            bench.now = at;
            let mut pkt = data(HostId(0), HostId(1), flow, Class(3), 1000);
            pkt.mark();
            np.on_receive(&mut bench.cx(), &pkt);
            cnps(bench)
        };
        assert_eq!(marked(&mut bench, Time::ZERO, 0), 1);
        assert_eq!(marked(&mut bench, Time::us(1), 0), 0);
        assert_eq!(marked(&mut bench, Time::us(1), 1), 1, "another flow has an interval of its own");
        assert_eq!(marked(&mut bench, Time::us(49), 0), 0);
        bench.now = Time::us(50);
        np.on_timer(&mut bench.cx(), 0);
        assert_eq!(cnps(&mut bench), usize::from(trailing), "marks within the interval cause one at its end");
        bench.now = Time::us(100);
        np.on_timer(&mut bench.cx(), 0);
        assert_eq!(cnps(&mut bench), 0, "nothing has been marked since");
    }
    let mut bench = NicBench::new(HostId(1), LINE);
    let mut np = Dcqcn::nic(&Params::default(), bench.shape()).expect("the paper's law has a notification point");
    np.on_receive(&mut bench.cx(), &data(HostId(0), HostId(1), 0, Class(3), 1000));
    assert_eq!(bench.actions(), [], "not marked");
}
