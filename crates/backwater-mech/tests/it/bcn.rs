//! BCN in a network: the hot spots of the documents of 2006 and 2007.

use crate::common::{Bench, Outcome, document_of_2006};
use backwater_engine::Time;
use backwater_mech::bcn::{Params, Sampling, SignRule};
use backwater_mech::registry::Config;
use backwater_mech::stack::{At, Scoped, Select};
use backwater_net::config::{BufferPer, PacketParams};
use backwater_net::spec::{SeriesSpec, Stream};
use backwater_net::topology::Star;
use backwater_net::{Bytes, Rate};

/// Frames of 1500 B in slots of 1.2 us, a source queue of 4 frames.
fn source(probability: f64, until: Time) -> Stream {
    Stream { queue: Some(4), ..Stream::new(Time::ns(1200), probability, until) }
}

/// Hosts 0 to 3 to host 4 over links of this delay; `buffer` for each port.
fn hot_spot(load: f64, delay: Time, buffer: u64, end: Time, params: Params) -> Bench {
    let star = Star { hosts: 5, rate: Rate::gbps(10), link_delay: delay };
    let mut bench = Bench::new(star.build().expect("a star"));
    bench.packet = PacketParams { payload: Bytes(1500), header: Bytes(0), gap: Bytes(0), ..PacketParams::default() };
    bench.ack.enabled = false;
    (bench.switch.latency, bench.switch.buffer, bench.switch.buffer_per) =
        (Time::us(1), Bytes(buffer), BufferPer::Egress);
    for src in 0..4 {
        bench.stream(src, 4, source(load, end));
    }
    bench.stop_at = Some(end);
    bench.mechanisms = Config { bcn: Some(Scoped::everywhere(params)), ..Config::default() };
    let nodes = vec![bench.node("s0")];
    bench.series = Some(SeriesSpec {
        interval: Time::us(10),
        queues: true,
        links: false,
        pauses: false,
        flows: false,
        backlogs: false,
        nodes,
    });
    bench
}

/// Rate out of the port \[Gb/s\], and samples of its queue from a time on \[B\].
fn port(bench: &Bench, out: &Outcome, from: Time) -> (f64, Vec<u64>) {
    let port = out.port(bench.node("s0"), bench.node("h4"));
    let gbps = port.stats.tx_bytes as f64 * 8000.0 / bench.stop_at.unwrap().0 as f64;
    let rows = out.rows.series.iter().filter(|r| r.time > from && r.port == Some(port.port));
    (gbps, rows.map(|r| r.value).collect())
}

fn of_2006() -> Params {
    Params { qeq: Some(Bytes(24_000)), response_time: Time::us(1), ..Params::default() }
}

fn of_2007() -> Params {
    Params { sample: Bytes(75_000), bcn_max: true, ..Params::default() }
}

/// Four sources of 4.9 Gb/s into 10 Gb/s: the queue stands at Qeq, the port does not idle, by either sign rule and any sampling.
#[test]
fn queue_stands_near_the_equilibrium() {
    for sampling in [Sampling::Uniform, Sampling::BelowNominal, Sampling::Bernoulli] {
        for sign_rule in [SignRule::Fb, SignRule::Q] {
            let params = Params { sampling, sign_rule, ..of_2006() };
            let bench = hot_spot(0.49, Time::ns(500), 2_000_000, Time::ms(60), params);
            let out = bench.run();
            // The first messages come with 150 KB of 19.6 Gb/s, but take some loops to slow all sources down.
            let (gbps, depth) = port(&bench, &out, Time::ms(10));
            let (mean, most) = (depth.iter().sum::<u64>() as f64 / 5_000.0, depth.iter().max().copied());
            println!("{sampling:?} {sign_rule:?}: mean {mean:.0} B, most {most:?} B, {gbps:.4} Gb/s");
            assert!((0.85 * 24e3..1.05 * 24e3).contains(&mean), "{mean}");
            assert!(most.is_some_and(|most| most < 40_000), "{most:?}");
            assert!(gbps > 9.99 && out.progress.drops == 0, "{gbps}");
            let kinds = |kind| out.rows.control.iter().filter(|row| row.kind == kind).count();
            assert!(kinds("bcn-negative") > 20 && kinds("bcn-positive") > 20);
            let again = bench.run_sliced(1000);
            assert_eq!((again.fingerprint, again.rows.control), (out.fingerprint, out.rows.control));
        }
    }
}

/// Document of 2007, a loop of 200 us with BCN(MAX): 185 frames lost and 9.775 Gb/s with 600 KB for the port, 43 and 9.855 with 1.2 MB,
/// none and 9.955 with 2.4 MB. Each is one run of unknown length; seeds differ by a factor of 1.5 in losses (200 runs of another model: 132
/// to 226 around 186), 1 % in throughput is less than the start of the run costs.
#[test]
fn long_loops_lose_what_the_document_of_2007_shows() {
    let lost = |params: &Params, buffer| {
        let bench = hot_spot(0.5, Time::us(100), buffer, Time::ms(400), params.clone());
        let out = bench.run();
        (out.progress.drops as f64, port(&bench, &out, Time::ZERO).0)
    };
    for (buffer, frames, gbps) in [(600_000, 185.0, 9.775), (1_200_000, 43.0, 9.855), (2_400_000, 0.0, 9.955)] {
        let (drops, rate) = lost(&of_2007(), buffer);
        println!("{buffer} B: {drops} frames lost, {rate:.3} Gb/s; published {frames}, {gbps}");
        assert!((frames / 1.5..=frames * 1.5).contains(&drops), "{buffer}: {drops}");
        assert!((rate / gbps - 1.0).abs() < 0.01, "{buffer}: {rate}");
    }
    let (drops, _) = lost(&Params { bcn_max: false, ..of_2007() }, 600_000);
    assert!(drops > 3.0 * 185.0, "BCN(MAX) makes the difference: {drops}");
}

/// A STOP outlasts all other pending events: the run waits for it, and the sources send the rest.
#[test]
fn stopped_sources_go_on() {
    let (stop_time, stop_time_max) = (Time::ms(20), Time::ms(20));
    let params = Params { bcn_00: true, qsc: Some(Bytes(60_000)), stop_time, stop_time_max, ..of_2006() };
    let mut bench = hot_spot(0.9, Time::ns(500), 2_000_000, Time::ms(1), params);
    (bench.stop_at, bench.series) = (None, None);
    let out = bench.run();
    out.at_rest();
    let stops = out.rows.control.iter().filter(|row| row.kind == "bcn-stop").count();
    assert!(stops >= 2 && out.progress.time > Time::ms(2), "{stops} {}", out.progress.time);
    assert!(out.rows.flows.iter().all(|flow| flow.received == flow.bytes));
}

/// The document of 2006 with BCN at the core.
fn of_document_2006(seed: u64) -> Bench {
    let mut bench = document_of_2006(seed, Some(4), Time::ms(75));
    // "BCN detection is enabled at CS".
    let edge = Select { tier: None, node: Some("es".into()) };
    let off = At { select: edge, params: Params { classes: vec![], ..of_2006() } };
    bench.mechanisms.bcn = Some(Scoped { at: vec![off], ..Scoped::everywhere(of_2006()) });
    bench
}

/// Printed: 9995 Mb/s into EP5 and 4824 for EP1, without loss, where PAUSE alone leaves EP1 1405. 200 runs of another model have
/// EP1 between 4828 and 4978; a seed here must lie there within 1 %.
#[test]
fn bystander_of_the_document_of_2006_keeps_its_rate() {
    for seed in 1..=5 {
        let bench = of_document_2006(seed);
        let out = bench.run();
        assert_eq!(out.broken, None);
        let rates = [0, 1, 2, 3, 4].map(|id| out.flow(id).received as f64 * 8.0 / 75e3);
        let into_ep5 = rates[0] + rates[2] + rates[3] + rates[4];
        println!("seed {seed}: EP0..EP4 {rates:.0?} Mb/s, into EP5 {into_ep5:.1}");
        assert!((4828.0 * 0.99..4978.0 * 1.01).contains(&rates[1]), "{rates:?}");
        assert!(into_ep5 > 9_990.0, "{into_ep5}");
        // The edge switch has no congestion points.
        let edge = bench.node("es");
        assert!(out.rows.control.iter().all(|row| row.node != edge || row.kind == "mac-control"));
    }
}
