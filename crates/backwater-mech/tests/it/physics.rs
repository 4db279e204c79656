//! The physics tables: completion times, queues and fingerprints of some runs, as text. A change of behaviour is a diff here that a
//! person can read; the commit that moves a line says which physics changed, and why it is right.
//!
//! Cases 1 to 3 of contribution dw-chen "SFC AIDC results 2025" (study `sfc-aidc-2025` holds the published numbers and how
//! near these come): 128 x 200 Gb/s, incast into host 0, victim from host 9 to host 1. Hot spot: four Bernoulli sources of 4.9 Gb/s
//! into one port of 10 Gb/s, frames of 1500 B, as in the studies of rate control by the queue's own messages.

use crate::common::{Bench, On, pfc, sfc, step};
use backwater_engine::Time;
use backwater_mech::mac_control::Signal;
use backwater_mech::registry::Config;
use backwater_mech::stack::Scoped;
use backwater_mech::{bcn, dcqcn, ecn, qcn};
use backwater_net::config::{BufferPer, LatencyAt, PacketParams};
use backwater_net::spec::Stream;
use backwater_net::topology::Star;
use backwater_net::{Bytes, Rate};

/// The reaction point of the simulator behind the document, preset `htsim-aidc-2025`.
fn htsim_profile() -> dcqcn::Params {
    dcqcn::Params {
        cnp_trailing: true,
        cnp_size: Bytes(64),
        rai: Rate::gbps(10),
        rhai: Rate::gbps(20),
        min_rate: Rate(1),
        recover_through_f: true,
        timers_from_start: true,
        shared_alpha: true,
        ..dcqcn::Params::default()
    }
}

fn line(case: u32, mechanism: &str) -> String {
    let mut bench = Bench::leaf_spine(16, 8, 8);
    bench.switch.latency_at = LatencyAt::Fabric;
    bench.nic.store_and_forward = true;
    let scale = if case == 2 { 10 } else { 1 };
    // In case 3 six leaves send, and two of their flows share a spine.
    let spines: &[u32] = if case == 3 { &[0, 1, 1, 2, 3, 4] } else { &[0, 1, 2] };
    for (i, spine) in spines.iter().enumerate() {
        let src = 8 * (i as u32 + 1);
        let path = bench.over_spine(src, *spine, 0);
        bench.flow(src, 0, 2_000_000 * scale).path = path;
    }
    let path = bench.over_spine(9, 0, 1);
    bench.flow(9, 1, 5_000_000 * scale).path = path;
    let (threshold, time) = if case == 3 { (80_000, Time::us(15)) } else { (200_000, Time::us(6)) };
    bench.mechanisms = Config::default().pfc(pfc(380_000, 240_000, Signal::Ideal));
    match mechanism {
        "pfc+sfc" => bench.mechanisms = bench.mechanisms.sfc(sfc(threshold, time)),
        "pfc+dcqcn" => {
            let marks = ecn::Params { count_departing: true, ..step(200_000) };
            bench.mechanisms = bench.mechanisms.ecn(marks).dcqcn(htsim_profile());
        }
        _ => {}
    }
    let out = bench.run();
    let incast = spines.len() as u64;
    let mean = (0..incast).map(|id| out.at_rest().fct_us(id)).sum::<f64>() / incast as f64;
    let hops = out.progress.hops;
    format!("{case} {mechanism:<9} {mean:>8.2} {:>8.2} {hops:>7} {:016x}", out.fct_us(incast), out.fingerprint)
}

#[test]
fn study_cases_1_to_3() {
    // case, mechanism, mean incast and victim completion [us], frames put on links, fingerprint
    let table = "\
1 pfc         239.81   354.25   22000 2e9586b4ba06874b
1 pfc+sfc     238.51   288.14   22210 448f17257c65b2e2
1 pfc+dcqcn   442.74   690.00   22060 ae78ddaffb2101b6
2 pfc        2388.99  3820.52  220000 e9717efc6b4ba15f
2 pfc+sfc    2343.39  2848.46  222169 73b3e43aa71599e7
2 pfc+dcqcn  3250.95  3420.50  220212 a41c4ba65c5bba08
3 pfc         428.29   524.78   34000 72073fbbaefda7f5
3 pfc+sfc     482.94   244.25   34456 dd5fbe75146b5baf
3 pfc+dcqcn   926.34  1125.21   34216 7ce12775e393ee66
";
    let lines = [1, 2, 3].into_iter().flat_map(|case| ["pfc", "pfc+sfc", "pfc+dcqcn"].map(|m| line(case, m) + "\n"));
    let got: String = lines.collect();
    assert_eq!(got, table, "\n{got}");
}

fn hot_spot(mechanism: &str, config: Config) -> String {
    let star = Star { hosts: 5, rate: Rate::gbps(10), link_delay: Time::ns(500) };
    let mut bench = Bench::new(star.build().expect("a star"));
    bench.packet = PacketParams { payload: Bytes(1436), header: Bytes(64), gap: Bytes(0), ..PacketParams::default() };
    bench.ack.enabled = false;
    (bench.switch.buffer, bench.switch.buffer_per) = (Bytes(250_000), BufferPer::Egress);
    for src in 0..4 {
        bench.stream(src, 4, Stream::new(Time::ns(1200), 0.49, Time::ms(50)));
    }
    bench.stop_at = Some(Time::ms(50));
    bench.mechanisms = config;
    let out = bench.run();
    let port = out.port(bench.node("s0"), bench.node("h4")).stats;
    let gbps = port.tx_bytes as f64 * 8.0 / 50e6;
    let (messages, drops) = (out.rows.control.len(), out.progress.drops);
    let most = port.max_egress_bytes;
    format!("{mechanism:<4} {gbps:>7.4} {most:>6} {drops:>6} {messages:>4} {:016x}\n", out.fingerprint)
}

#[test]
fn hot_spots() {
    // mechanism, rate out of the port [Gb/s], most bytes that waited, frames dropped, messages, fingerprint
    let table = "\
none  9.9998 249000  39754    0 f5216ab675c23cf0
qcn   9.9600 160500      0  195 98ae18244d8a7c6e
bcn   9.9998 249000   2233  411 30e24460ea90a875
";
    let on = Some(Scoped::everywhere(qcn::Params { rpg_time_reset: Time::ms(1), ..qcn::Params::default() }));
    let qcn = Config { qcn: on, ..Config::default() };
    let bcn = Config { bcn: Some(Scoped::everywhere(bcn::Params::default())), ..Config::default() };
    let got = [("none", Config::default()), ("qcn", qcn), ("bcn", bcn)].map(|(name, on)| hot_spot(name, on)).concat();
    assert_eq!(got, table, "\n{got}");
}
