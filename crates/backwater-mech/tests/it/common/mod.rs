//! Benches of whole networks ([`backwater_net::bench::network`]) with the registry's mechanisms, and parameters of these.

use backwater_engine::Time;
use backwater_mech::mac_control::{Counter, Signal};
use backwater_mech::registry::Config;
use backwater_mech::stack::{At, Scoped, Select};
use backwater_mech::{ci, dcqcn, ecn, pause, pfc, sfc};
pub use backwater_net::bench::network::{Outcome, network};
use backwater_net::config::{BufferPer, LatencyAt, PacketParams};
use backwater_net::packet::NodeId;
use backwater_net::spec::Stream;
use backwater_net::{Bytes, Rate};

pub type Bench = backwater_net::bench::network::Bench<Config>;

/// The network of contribution "BCN with Pause" (2006) under global PAUSE: EP0 and EP1 share an edge switch, EP2 to EP4 are attached to the
/// core, as do the receivers EP5 and EP6. 10 Gb/s, 0.5 us, 150 KB per egress port; until `end` 49 % of Bernoulli load each to EP5, EP1 50 %
/// to EP6, from sources that hold `queue` frames.
pub fn document_of_2006(seed: u64, queue: Option<u32>, end: Time) -> Bench {
    let (rate, delay) = (Rate::gbps(10), Time::ns(500));
    let links = [
        ("h0", "es"),
        ("h1", "es"),
        ("es", "cs"),
        ("h2", "cs"),
        ("h3", "cs"),
        ("h4", "cs"),
        ("h5", "cs"),
        ("h6", "cs"),
    ];
    let mut bench = Bench::new(network(7, &["es", "cs"], &links.map(|(a, b)| (a, b, rate, delay))));
    bench.seed = seed;
    bench.packet = PacketParams { payload: Bytes(1500), header: Bytes(0), gap: Bytes(0), ..PacketParams::default() };
    bench.ack.enabled = false;
    bench.switch.latency = Time::us(1);
    // Before the counters, the latency would let 12 KB more into the 10 KB above XOFF.
    bench.switch.latency_at = LatencyAt::Output;
    (bench.switch.buffer, bench.switch.buffer_per) = (Bytes(150_000), BufferPer::Egress);
    bench.lossless = true;
    let at_edge = pause(130_000, 110_000, Counter::Egress, Signal::Timed);
    let at_core = pause(140_000, 130_000, Counter::Egress, Signal::Timed);
    let edge = At { select: Select { tier: None, node: Some("es".into()) }, params: at_edge };
    bench.mechanisms.pause = Some(Scoped { at: vec![edge], ..Scoped::everywhere(at_core) });
    for (src, dst, probability) in [(0, 5, 0.49), (1, 6, 0.5), (2, 5, 0.49), (3, 5, 0.49), (4, 5, 0.49)] {
        bench.stream(src, dst, Stream { queue, ..Stream::new(Time::ns(1200), probability, end) });
    }
    bench.stop_at = Some(end);
    bench
}

/// Three switches in a ring, two hosts at each, all links alike: every host sends `bytes` to one two switches on, all in the same
/// direction.
pub fn ring(rate: Rate, bytes: u64) -> Bench {
    let delay = Time::ns(500);
    let hosts = [("h0", "s0"), ("h1", "s0"), ("h2", "s1"), ("h3", "s1"), ("h4", "s2"), ("h5", "s2")];
    let trunks = [("s0", "s1"), ("s1", "s2"), ("s2", "s0")];
    let links: Vec<_> = hosts.into_iter().chain(trunks).map(|(a, b)| (a, b, rate, delay)).collect();
    let mut bench = Bench::new(network(6, &["s0", "s1", "s2"], &links));
    for src in 0..6u32 {
        let dst = (src + 4) % 6;
        let switch = |on: u32| format!("s{}", (src / 2 + on) % 3);
        let nodes = [format!("h{src}"), switch(0), switch(1), switch(2), format!("h{dst}")];
        let path: Vec<NodeId> = nodes.iter().map(|node| bench.node(node)).collect();
        bench.flow(src, dst, bytes).path = Some(path.into());
    }
    bench
}

/// Narrows the uplinks of a leaf-spine network to 50 Gb/s, so that hosts fill the ingress accounts of their leaf, which has PFC.
pub fn narrow_uplinks(bench: &mut Bench, signal: Signal) {
    for link in &mut bench.graph.links {
        let fabric = bench.graph.nodes[link.b.0 as usize].tier == "spine";
        link.rates = if fabric { [Rate::gbps(50); 2] } else { link.rates };
    }
    (bench.switch.buffer_per, bench.switch.buffer, bench.lossless) = (BufferPer::Ingress, Bytes(120_000), true);
    bench.mechanisms.pfc = Some(Scoped::everywhere(pfc(90_000, 60_000, signal)));
}

/// Sets the rate of a host's link.
pub fn set_rate(bench: &mut Bench, host: &str, rate: Rate) {
    let node = bench.node(host);
    bench.graph.links.iter_mut().filter(|link| link.a == node).for_each(|link| link.rates = [rate; 2]);
}

/// PFC on class 3 with a static threshold.
pub fn pfc(xoff: u64, xon: u64, signal: Signal) -> pfc::Params {
    pfc::Params {
        classes: vec![3],
        threshold: pfc::Threshold::Static,
        reference_rate: None,
        xoff: Some(Bytes(xoff)),
        xon: Some(Bytes(xon)),
        alpha: 0.125,
        xon_offset: Bytes(3_000),
        counter: Counter::Ingress,
        signal,
        quanta: u16::MAX,
        response: Time::ZERO,
        watchdog: None,
        watchdog_restore: None,
        watchdog_action: pfc::Action::Drop,
        watchdog_poll: None,
        watchdog_blind: false,
    }
}

/// Global PAUSE.
pub fn pause(xoff: u64, xon: u64, counter: Counter, signal: Signal) -> pause::Params {
    let (xoff, xon) = (Bytes(xoff), Some(Bytes(xon)));
    pause::Params { xoff, xon, reference_rate: None, counter, signal, quanta: u16::MAX, response: Time::ZERO }
}

/// SFC of the study: fixed pause time, last hops only.
pub fn sfc(threshold: u64, pause: Time) -> sfc::Params {
    sfc::Params {
        threshold: Bytes(threshold),
        pause: Some(pause),
        min_interval: None,
        target: None,
        resume: false,
        granularity: sfc::Granularity::Class,
        at_source: sfc::AtSource::Host,
        isolation_threshold: Bytes(200_000),
        isolation_per: sfc::IsolationPer::Port,
        isolation_queues: sfc::IsolationQueues::Each,
        isolation_rate: None,
        cache: false,
        dscp_priority: (0..8).collect(),
        signal: Signal::Timed,
        quanta: u16::MAX,
        points: sfc::Points::ToHosts,
        classes: vec![3],
        message_class: 7,
        message_size: Bytes(64),
    }
}

/// ECN with a step at `k`.
pub fn step(k: u64) -> ecn::Params {
    ecn::Params { kmin: Bytes(k), kmax: Bytes(k), pmax: 1.0, ..ecn::Params::default() }
}

/// Turns mechanisms on everywhere.
pub trait On {
    fn pfc(self, params: pfc::Params) -> Self;
    fn pause(self, params: pause::Params) -> Self;
    fn sfc(self, params: sfc::Params) -> Self;
    fn ci(self, params: ci::Params) -> Self;
    fn ecn(self, params: ecn::Params) -> Self;
    fn dcqcn(self, params: dcqcn::Params) -> Self;
}

impl On for Config {
    fn pfc(self, params: pfc::Params) -> Config {
        Config { pfc: Some(Scoped::everywhere(params)), ..self }
    }
    fn pause(self, params: pause::Params) -> Config {
        Config { pause: Some(Scoped::everywhere(params)), ..self }
    }
    fn sfc(self, params: sfc::Params) -> Config {
        Config { sfc: Some(Scoped::everywhere(params)), ..self }
    }
    fn ci(self, params: ci::Params) -> Config {
        Config { ci: Some(Scoped::everywhere(params)), ..self }
    }
    fn ecn(self, params: ecn::Params) -> Config {
        Config { ecn: Some(Scoped::everywhere(params)), ..self }
    }
    fn dcqcn(self, params: dcqcn::Params) -> Config {
        Config { dcqcn: Some(Scoped::everywhere(params)), ..self }
    }
}
