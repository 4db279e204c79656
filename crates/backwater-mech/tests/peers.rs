//! Peers: the same inputs in another simulator, and its completion times.

mod common;

use backwater_engine::Time;
use backwater_mech::mac_control::{Counter, Signal};
use backwater_mech::registry::Config;
use backwater_mech::{dcqcn, ecn, pfc};
use backwater_net::config::{
    AckParams, AckPath, Architecture, BufferPer, LatencyAt, PacketParams, Recovery, ReleaseAt, SwitchParams,
};
use backwater_net::topology::LeafSpine;
use backwater_net::{Bytes, Rate};
use common::{Bench, On, Outcome, pause};

/// Broadcom csg-htsim at 841d9e7, `htsim_roce -nodes 128 -tiers 2 -linkspeed 200000 -mtu 4096 -hop_latency 0.15
/// -switch_latency 0.3 -pfc_thresholds 80 93 -strat ecmp_host -paths 1`: three flows of 20 MB into host 120 and a victim of
/// 50 MB that shares leaf 0's uplink to spine 6 with one of them. All start at once at line rate; the last packet is full,
/// too. Output queues without limit, PAUSE from a byte counter per ingress: above 93 x 4096 B, below 80 x 4096 B.
fn workload(ack_path: AckPath, seed: u64) -> Bench {
    let mut bench = Bench::leaf_spine(16, 8, 8);
    bench.seed = seed;
    bench.packet = PacketParams { payload: Bytes(4096), header: Bytes(64), gap: Bytes(0), ..PacketParams::default() };
    bench.ack.path = ack_path;
    (bench.switch.latency_at, bench.switch.release_at) = (LatencyAt::Fabric, ReleaseAt::End);
    bench.mechanisms = Config::default().pause(pause(93 * 4096, 80 * 4096, Counter::Ingress, Signal::Ideal));
    for (src, dst, bytes, spine) in
        [(8, 120, 20_000_000u64, 0), (16, 120, 20_000_000, 1), (0, 120, 20_000_000, 6), (1, 112, 50_000_000, 6)]
    {
        let path = bench.over_spine(src, spine, dst);
        bench.flow(src, dst, bytes.div_ceil(4096) * 4096).path = path;
    }
    bench
}

fn workload_a(ack_path: AckPath, seed: u64) -> Outcome {
    workload(ack_path, seed).run()
}

/// htsim reports 2431.62, 2432.45, 2441.10 and, for the victim, 3604.27 us. Who of several simultaneous packets goes first
/// is left to chance in both, which moves single flows by up to 0.2 %; more than 0.5 % would be another model. No choice moves the last flow
/// into host 120, whose link is never idle until then. htsim's acknowledgements have paths of their own; here they take the
/// data's path back, or one by hash, and the difference is nil, because they go the other way and add 1.5 % to idle links.
#[test]
fn htsim_workload_a_completes_at_the_same_times() {
    let published = [2431.62, 2432.45, 2441.10, 3604.27];
    for (ack_path, seed) in [(AckPath::Reverse, 1), (AckPath::Ecmp, 1), (AckPath::Reverse, 2), (AckPath::Reverse, 3)] {
        let out = workload_a(ack_path, seed);
        let got: Vec<f64> = (0..4).map(|id| out.at_rest().fct_us(id)).collect();
        println!("acknowledgements {ack_path:?}, seed {seed}: {got:.2?} us");
        for (got, published) in got.iter().zip(published) {
            assert!((got / published - 1.0).abs() < 0.005, "{ack_path:?}, seed {seed}: {got}, htsim {published}");
        }
        assert!((got[2] - 2441.10).abs() < 0.005, "the last flow: {}", got[2]);
    }
}

/// The HPCC ns-3 code at 9f4be2a: 128 hosts in 16 leaves and 8 spines, every link 200 Gb/s and 1 us long, no switch latency, 4 MiB a switch; DCQCN and PFC. Three
/// flows of 20 MB into host 0, and a victim of 50 MB that shares leaf 1's uplink to spine 4 with the first. Times on links are cut off to whole ns.
fn ns3_case(seed: u64) -> Outcome {
    let shape = LeafSpine {
        leaves: 16,
        spines: 8,
        hosts_per_leaf: 8,
        rate: Rate::gbps(200),
        delay: Time::us(1),
        fabric_rate: Rate::gbps(200),
        fabric_delay: Time::us(1),
        ..LeafSpine::default()
    };
    let mut bench = Bench::new(shape.build().expect("a valid leaf-spine"));
    bench.seed = seed;
    bench.packet = PacketParams { payload: Bytes(1000), header: Bytes(48), gap: Bytes(0), clock: Some(Time::ns(1)) };
    bench.ack = AckParams { size: Bytes(60), path: AckPath::Ecmp, ..AckParams::default() };
    bench.transport.recovery = Recovery::GoBackN;
    bench.switch = SwitchParams {
        architecture: Architecture::SharedMemory,
        latency: Time::ZERO,
        release_at: ReleaseAt::Start,
        // That code reserves 4096 B a port, not a port and class: 7 x 16 x 4096 B are not carved out of its 4 MiB.
        buffer: Bytes((4 << 20) + 7 * 16 * 4096),
        buffer_per: BufferPer::Switch,
        reserve: Bytes(4096),
        // 3 x rate x delay
        headroom: Bytes(75_000),
        headroom_above: Some(0.125),
        ..SwitchParams::default()
    };
    let pfc = pfc::Params {
        threshold: pfc::Threshold::Dynamic,
        xoff: None,
        xon: None,
        xon_offset: Bytes(3072),
        ..common::pfc(380_000, 372_000, Signal::OnOff)
    };
    let ecn = ecn::Params {
        kmin: Bytes(800_000),
        kmax: Bytes(3_200_000),
        pmax: 0.2,
        mark_at: ecn::At::Dequeue,
        ..ecn::Params::default()
    };
    let dcqcn = dcqcn::Params {
        law: dcqcn::Law::Ns3,
        alpha_timer: Time::us(1),
        rate_timer: Time::us(300),
        f: 1,
        rai: Rate(40_000_000),
        rhai: Rate(400_000_000),
        min_rate: Rate(1_000_000_000),
        clamp_target: false,
        decrease_interval: Time::us(4),
        ..dcqcn::Params::default()
    };
    bench.mechanisms = Config::default().pfc(pfc).ecn(ecn).dcqcn(dcqcn);
    for (src, dst, bytes, spine) in
        [(8, 0, 20_000_000, 4), (16, 0, 20_000_000, 1), (25, 0, 20_000_000, 3), (10, 37, 50_000_000, 4)]
    {
        let path = bench.over_spine(src, spine, dst);
        bench.flow(src, dst, bytes).path = path;
    }
    bench.run()
}

/// That code logs 2,060 pause and resume frames, and its first pauses reach spines 3 and 1 at 22.533 and 22.574 us, hosts 10 and 8 at 25.207 and
/// 25.248 us; spine 3 resumes at 28.273 us. Before the first rate cut nothing is random, so that these times check thresholds, headroom and delays.
/// Its completion times (3449, 2727, 2673 and, for the victim, 3437 us) are of one run; these take 2740, 2460, 2548 and 3065 us on average over 20
/// seeds: the flow that shares the victim's uplink is slower there, for a reason not found yet.
#[test]
fn ns3_incast_pauses_at_the_same_times() {
    // Which of two simultaneous packets goes first is chance in both: four packets of 41 ns.
    let chance = Time::ns(4 * 41);
    for seed in 1..=5 {
        let run = ns3_case(seed);
        assert_eq!(run.at_rest().progress.drops, 0);
        let frames = run.rows.control.iter().filter(|row| row.kind == "mac-control");
        assert!((1_000..=4_000).contains(&frames.clone().count()), "{} pause and resume frames", frames.count());
        // A frame of 64 B here, 43 B there, and 1 us of link.
        let arrivals: Vec<Time> = frames.take(5).map(|row| row.time + Time::ns(1_002)).collect();
        for (here, there) in arrivals.iter().zip([22_533, 22_574, 25_207, 25_248, 28_273]) {
            let apart = here.since(Time::ns(there)).max(Time::ns(there).since(*here));
            assert!(apart <= chance, "{here:?} against {there} ns");
        }
    }
}
