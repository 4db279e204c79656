//! Oracles of senders' controls: the sawtooth of DCTCP's paper, the delay that Swift maintains, the growth of queues under TIMELY, and the
//! share of the link that HPCC uses.

use crate::common::{Bench, On, step};
use backwater_engine::Time;
use backwater_mech::registry::Config;
use backwater_mech::stack::Scoped;
use backwater_mech::{dctcp, hpcc, swift, timely};
use backwater_net::config::{PacketParams, Recovery};
use backwater_net::packet::Port;
use backwater_net::spec::{FaultKind, FrameKind, SeriesSpec};
use backwater_net::topology::Star;
use backwater_net::{Bytes, Rate};

const FRAME: u64 = 1500;

/// `n` hosts that send to another for good, at `rate`, links of `delay`, frames of 1500 bytes.
fn long_lived(n: u32, rate: Rate, delay: Time, mechanisms: Config) -> Bench {
    let mut bench = Bench::new(Star { hosts: n + 1, rate, link_delay: delay }.build().expect("a star"));
    bench.packet = PacketParams { payload: Bytes(FRAME), header: Bytes(0), gap: Bytes(0), ..PacketParams::default() };
    bench.switch.latency = Time::ZERO;
    bench.mechanisms = mechanisms;
    for src in 0..n {
        bench.flow(src, n, 1 << 40).start = Time::us(37 * u64::from(src));
    }
    bench
}

/// \[bytes\] Bytes that wait for the receiver, sampled each `interval` from `from` to `until`; then each flow's share of the throughput.
fn run(bench: &mut Bench, from: Time, until: Time, interval: Time) -> (Vec<f64>, Vec<f64>) {
    bench.stop_at = Some(until);
    bench.series = Some(SeriesSpec {
        interval,
        queues: true,
        links: false,
        pauses: false,
        flows: true,
        backlogs: false,
        nodes: vec![],
    });
    let out = bench.run();
    assert_eq!(out.progress.drops, 0);
    let receiver = Port(bench.flows.len() as u16);
    let samples = (until.since(from).0 / interval.0) as usize;
    let late = |quantity: &str| {
        let rows: Vec<_> =
            out.rows.series.iter().filter(|r| r.time > from && r.quantity == quantity).cloned().collect();
        rows
    };
    let mut queue: Vec<f64> =
        late("queue_bytes").iter().filter(|r| r.port == Some(receiver)).map(|r| r.value as f64).collect();
    // Samples of an empty queue are not recorded.
    queue.resize(samples, 0.0);
    let rate =
        |id: u64| late("flow_rate_bps").iter().filter(|r| r.flow == Some(id)).map(|r| r.value as f64).sum::<f64>();
    let rates = (0..bench.flows.len() as u64).map(|id| rate(id) / samples as f64 / 1e9).collect();
    (queue, rates)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Jain's index.
fn fairness(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().sum();
    sum * sum / (rates.len() as f64 * rates.iter().map(|r| r * r).sum::<f64>())
}

/// All 64 packets of the first window are lost, and all retransmissions for 2.8 ms. After a timeout DCTCP has a window of one packet: with
/// either recovery each timeout sends one.
#[test]
fn a_narrowed_window_holds_back_what_is_sent_again() {
    let sent_again = [Recovery::GoBackN, Recovery::SelectiveRepeat].map(|recovery| {
        let params = dctcp::Params { initial_window: 64, ..dctcp::Params::default() };
        let mut mechanisms = Config::default().ecn(step(60_000));
        mechanisms.dctcp = Some(Scoped::everywhere(params));
        let mut bench = long_lived(1, Rate::gbps(10), Time::us(10), mechanisms);
        bench.flows[0].bytes = 64 * FRAME;
        (bench.transport.recovery, bench.transport.timeout, bench.transport.retries) = (recovery, Time::us(500), None);
        let (from, to) = (bench.node("s0"), bench.node("h1"));
        bench.fault(
            Time::ZERO,
            FaultKind::Loss { from: Some(from), to: Some(to), what: None, probability: 1.0, number: None },
        );
        bench.fault(
            Time::us(2_800),
            FaultKind::Loss { from: Some(from), to: Some(to), what: None, probability: 0.0, number: None },
        );
        let out = bench.run();
        out.at_rest().flow(0).retransmitted
    });
    // Five timeouts before the link carries again, and then each packet once.
    assert_eq!(sent_again, [64 + 5; 2]);
}

/// SIGCOMM 2010, section 3.3: N synchronous flows vary between K + N and K + N - A packets, A = sqrt(2 N (C RTT + K)) / 2. Four packets of
/// tolerance: the paper's flows are synchronous, these start one after the other.
#[test]
fn dctcp_swings_about_k_as_its_paper_computes() {
    for (n, k) in [(2u32, 40u64), (4, 65), (8, 65)] {
        let config = Config {
            dctcp: Some(Scoped::everywhere(dctcp::Params::default())),
            ..Config::default().ecn(step(k * FRAME))
        };
        // Four links of 25 us there and back.
        let mut bench = long_lived(n, Rate::gbps(10), Time::us(25), config);
        let (queue, rates) = run(&mut bench, Time::ms(40), Time::ms(120), Time::us(10));
        let extreme = |pick: fn(f64, f64) -> f64, first: f64| queue.iter().copied().fold(first, pick) / FRAME as f64;
        let (least, most) = (extreme(f64::min, f64::MAX), extreme(f64::max, 0.0));
        let (n, k, in_flight) = (f64::from(n), k as f64, 10e9 * 100e-6 / 8.0 / FRAME as f64);
        let amplitude = (2.0 * n * (in_flight + k)).sqrt() / 2.0;
        println!("{n} flows: {least:.1} to {most:.1}; paper {:.1} to {:.1}; {rates:.2?}", k + n - amplitude, k + n);
        assert!((most - (k + n)).abs() < 4.0, "{n} flows: {most}");
        assert!((least - (k + n - amplitude)).abs() < 4.0, "{n} flows: {least}");
        let sum: f64 = rates.iter().sum();
        assert!((sum - 10.0).abs() < 0.01, "the link is never idle: {rates:?}");
        assert!(fairness(&rates) > 0.9, "{rates:?}");
    }
}

/// RFC 8257 section 3.5: a loss of the transport halves the window, which then takes a round trip per packet to open again. A flow of 10 MB
/// that fills a link of 10 Gb/s with 84 packets in 100 us so loses 42 x 42/2 packets' time, or 1.06 ms, and up to three round trips to
/// notice the loss, to retransmit, and to get the acknowledgement.
#[test]
fn dctcp_halves_its_window_when_the_transport_has_lost() {
    for recovery in [Recovery::GoBackN, Recovery::SelectiveRepeat] {
        let config = Config {
            dctcp: Some(Scoped::everywhere(dctcp::Params::default())),
            ..Config::default().ecn(step(1 << 30))
        };
        let mut bench = long_lived(1, Rate::gbps(10), Time::us(25), config);
        bench.transport.recovery = recovery;
        bench.flows[0].bytes = 10_000_000;
        let without = bench.run().at_rest().fct_us(0);
        let (from, to) = (bench.node("h0"), bench.node("s0"));
        bench.fault(Time::ZERO, FaultKind::DropNth { from, to, what: FrameKind::Data, nth: 2000 });
        let with = bench.run();
        assert_eq!(with.at_rest().progress.fault_losses, 1);
        let lost = with.fct_us(0) - without;
        println!("{recovery:?}: {without:.0} us, {lost:.0} us more");
        assert!((1000.0..1360.0).contains(&lost), "{recovery:?}: {lost} us");
    }
}

/// Long-lived flows keep delay at the target: the queue is the target less the 4.36 us of the idle network, whatever the number of flows,
/// down to windows of less than a packet. With `fs_range` the target is that of the window which each flow's share needs.
#[test]
fn swift_holds_its_target() {
    let idle = 4.36;
    // The last two: 400 flows share 20 us of 100 Gb/s, or 167 packets.
    for (n, hop, fs_range) in [(2u32, 0u64, 0u64), (8, 0, 0), (8, 10, 0), (8, 0, 100), (400, 0, 0), (400, 0, 100)] {
        let params = swift::Params { hop: Time::us(hop), fs_range: Time::us(fs_range), ..Default::default() };
        let config = Config { swift: Some(Scoped::everywhere(params)), ..Config::default() };
        let mut bench = long_lived(n, Rate::gbps(100), Time::us(1), config);
        let (queue, rates) = run(&mut bench, Time::ms(10), Time::ms(20), Time::us(20));
        let waiting = mean(&queue) * 8.0 / 100e3;
        // Each packet is acknowledged after the target: cwnd = rate x target.
        let mut target = 20.0 + hop as f64;
        for _ in 0..20 {
            let cwnd = 100e3 / f64::from(n) * target / 8.0 / FRAME as f64;
            let scaled = fs_range as f64 * (cwnd.sqrt().recip() - 0.1) / (10f64.sqrt() - 0.1);
            target = 20.0 + hop as f64 + scaled.clamp(0.0, fs_range as f64);
        }
        let (sum, index) = (rates.iter().sum::<f64>(), fairness(&rates));
        println!("{n} flows: {waiting:.2} us wait, target {:.2}; {sum:.2} Gb/s, index {index:.3}", target - idle);
        // Above it by up to half of what all flows together add in a round trip, `ai` packets each.
        let (wanted, added) = (target - idle, f64::from(n) * FRAME as f64 * 8.0 / 100e3);
        let band = 0.05 * wanted..(0.05 * wanted).max(added / 2.0);
        assert!(waiting > wanted - band.start && waiting < wanted + band.end, "{n}, {hop}, {fs_range}: {waiting} us");
        assert!(sum > 99.5, "{n} flows: {sum} Gb/s");
        // Flow scaling is there for fairness: with it the index goes to 1.
        assert!(index > if fs_range > 0 { 0.98 } else { 0.7 }, "{n} flows: {index}");
    }
}

/// Below one packet a packet leaves every rtt / cwnd (algorithm 1), so ten take nine such times and a round trip. A flow alone always has
/// the idle network's round trip: that of a flow of one packet.
#[test]
fn swift_paces_packets_by_a_window_below_one() {
    for cwnd in [1.0, 0.25, 0.01, 0.001] {
        let fct = |packets: u64| {
            let params = swift::Params {
                min_cwnd: cwnd,
                initial_cwnd: cwnd,
                max_cwnd: cwnd,
                fs_range: Time::ZERO,
                ..swift::Params::default()
            };
            let config = Config { swift: Some(Scoped::everywhere(params)), ..Config::default() };
            let mut bench = long_lived(1, Rate::gbps(100), Time::us(1), config);
            bench.flows[0].bytes = packets * FRAME;
            bench.run().at_rest().fct_us(0)
        };
        let rtt = fct(1);
        let wanted = 9.0 * rtt / cwnd + rtt;
        assert!((fct(10) / wanted - 1.0).abs() < 1e-6, "cwnd {cwnd}: {} us, not {wanted} us", fct(10));
    }
}

/// Nothing slows a flow down before a round trip takes T_low = 50 us, of which 4.36 us are the idle network's. By then the flows have
/// sped up together by a = n delta / event, so the queue of q = 45.64 us has grown for sqrt(2 q C / a) and the rates exceed the link by
/// sqrt(2 q C a): 6 to 13 % of it for these events of 25 to 102 us. The next event shows a gradient that takes off more than that, so the
/// peak lies at most two events' growth above, or 20 us.
#[test]
fn timely_lets_queues_grow_to_its_lower_bound_and_little_more() {
    for n in [2u32, 8] {
        for event in [timely::Event::Segment, timely::Event::RoundTrip] {
            let params = timely::Params { event, ..timely::Params::default() };
            let config = Config { timely: Some(Scoped::everywhere(params)), ..Config::default() };
            let mut bench = long_lived(n, Rate::gbps(10), Time::us(1), config);
            let (queue, rates) = run(&mut bench, Time::ms(100), Time::ms(300), Time::us(20));
            let peak = queue.iter().copied().fold(0.0, f64::max) * 8.0 / 10e3;
            println!("{n} flows, {event:?}: up to {peak:.1} us, {rates:.2?}");
            assert!((50.0 - 4.36..70.0).contains(&peak), "{n} flows, {event:?}: {peak}");
        }
    }
}

/// An incast settles where ComputeWind leaves rates unchanged. With n R = C U it gives R = R eta / U + R_AI, so U = eta + n R_AI / C, which
/// is below 1 here. U is the port's throughput, as a share of C, and the lesser of two queue samples, as a share of C T: so the throughput
/// lies below U by at most the mean queue. That is less than in front of a server with random arrivals (M/D/1), since paced flows are more
/// even; and less than half of the queue if all flows send at the same time, n - 1 frames. Differences between flows shrink by eta / U each
/// round trip.
#[test]
fn hpcc_uses_eta_of_the_link_and_leaves_its_queue_near_empty() {
    // Gb/s, us
    let (c, t, eta, r_ai) = (100.0, 13.0, 0.95, 0.05);
    let in_flight = c * t * 1e3 / 8.0;
    for n in [2u32, 8, 64] {
        let config = Config { hpcc: Some(Scoped::everywhere(hpcc::Params::default())), ..Config::default() };
        let mut bench = long_lived(n, Rate::gbps(100), Time::us(1), config);
        let (queue, rates) = run(&mut bench, Time::ms(10), Time::ms(15), Time::us(5));
        let (sum, index) = (rates.iter().sum::<f64>(), fairness(&rates));
        let (share, frame) = (sum / c, FRAME as f64);
        // The frame on the wire counts as queued, but not for HPCC.
        let waiting = mean(&queue) - share * frame;
        let u = eta + f64::from(n) * r_ai / c;
        println!("{n} flows: U {u:.4}; {sum:.2} Gb/s, {waiting:.0} B wait, index {index:.4}");
        assert!(share < u + 0.001 && share > u - waiting / in_flight - 0.001, "{n} flows: {share} of the link");
        let random = share * share / (2.0 * (1.0 - share)) * frame;
        let together = f64::from(n - 1) / 2.0 * frame;
        assert!(waiting < random.min(together), "{n} flows: {waiting} B of {random}, {together}");
        assert!(n < 64 || index > 0.99, "{n} flows: {rates:?}");
    }
}
