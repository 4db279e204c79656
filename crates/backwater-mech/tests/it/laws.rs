//! Laws of single mechanisms over random networks and loads: what headroom, queues and isolation promise, and what a ring of pauses comes to.
//! Laws that hold for every scenario are those of the soak (`crates/backwater/examples/soak/laws.rs`).

use crate::common::{Bench, On, Outcome, pause, pfc, ring, sfc, step};
use backwater_engine::Time;
use backwater_mech::ci::CeMarking;
use backwater_mech::mac_control::{Counter, Signal};
use backwater_mech::pfc::{Threshold, headroom};
use backwater_mech::registry::Config;
use backwater_mech::sfc::{AtSource, Granularity, IsolationQueues, Points};
use backwater_mech::stack::Scoped;
use backwater_mech::{bcn, ci, dcqcn, dctcp, flowlet, hpcc, qcn, spray, swift, timely};
use backwater_net::config::{
    AckPath, Architecture, BufferPer, LatencyAt, PacketParams, Recovery, ReleaseAt, SwitchParams,
};
use backwater_net::hooks::FlowOrder;
use backwater_net::packet::Class;
use backwater_net::record::State;
use backwater_net::spec::{FaultKind, FrameKind, Stream};
use backwater_net::topology::fat_tree::CoreWiring;
use backwater_net::topology::{Dumbbell, FatTree, Graph, LeafSpine, ParkingLot, Star};
use backwater_net::{Bytes, HostQueues, Rate};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;
use std::collections::BTreeMap;

fn graphs() -> impl Strategy<Value = Graph> {
    let rates = || select(vec![Rate::gbps(10), Rate::gbps(25), Rate::gbps(100), Rate::gbps(200), Rate::gbps(7)]);
    let delays = || select(vec![Time::ZERO, Time::ns(150), Time::us(2)]);
    let built = |graph: Result<Graph, _>| graph.expect("shapes of these sizes can be built");
    prop_oneof![
        (3u32..8, rates(), delays())
            .prop_map(move |(hosts, rate, link_delay)| built(Star { hosts, rate, link_delay }.build())),
        (1u32..4, 1u32..4, rates(), rates().prop_map(Some), delays(), 1u32..3).prop_map(
            move |(left_hosts, right_hosts, rate, trunk_rate, link_delay, trunk_links)| {
                built(
                    Dumbbell { left_hosts, right_hosts, rate, link_delay, trunk_rate, trunk_delay: None, trunk_links }
                        .build(),
                )
            }
        ),
        (2u32..5, 1u32..3, rates(), delays()).prop_map(move |(switches, hosts_per_switch, rate, link_delay)| {
            built(ParkingLot { switches, hosts_per_switch, rate, link_delay, ..ParkingLot::default() }.build())
        }),
        (
            select(vec![2u32, 4]),
            select(vec![CoreWiring::Groups, CoreWiring::All]),
            rates(),
            rates().prop_map(Some),
            delays()
        )
            .prop_map(move |(k, core_wiring, rate, core_rate, delay)| {
                built(FatTree { core_wiring, core_rate, ..FatTree::k_ary(k, rate, delay) }.build())
            }),
        (2u32..4, 1u32..4, 2u32..4, rates(), delays()).prop_map(
            move |(leaves, spines, hosts_per_leaf, rate, link_delay)| {
                built(LeafSpine { leaves, spines, hosts_per_leaf, rate, link_delay, ..LeafSpine::default() }.build())
            }
        ),
    ]
}

fn switches() -> impl Strategy<Value = SwitchParams> {
    use Architecture::*;
    (
        select(vec![OutputQueued, SharedMemory, InputQueued, Voq]),
        select(vec![LatencyAt::Input, LatencyAt::Fabric, LatencyAt::Output]),
        select(vec![ReleaseAt::Start, ReleaseAt::End]),
        select(vec![Time::ZERO, Time::ns(300)]),
        select(vec![None, Some([1; 8]), Some([0, 3, 1, 2, 1, 5, 1, 0])]),
        select(vec![None, Some(1.0), Some(1.5)]),
        select(vec![Bytes(1), Bytes(16_000)]),
    )
        .prop_map(|(architecture, latency_at, release_at, latency, weights, speedup, staging)| SwitchParams {
            architecture,
            latency_at,
            release_at,
            latency,
            weights,
            speedup,
            staging,
            buffer_per: BufferPer::None,
            ..SwitchParams::default()
        })
}

/// The pausing mechanism of links, if any: thresholds in frames.
#[derive(Clone, Copy, Debug)]
enum Pausing {
    Off,
    Pfc(Signal, u64, u64, u64),
    PfcEgress(Signal),
    PfcDynamic(Signal),
    Pause(Signal, Counter),
}

fn pausing() -> impl Strategy<Value = Pausing> {
    let signals = || select(vec![Signal::Timed, Signal::OnOff, Signal::Ideal]);
    prop_oneof![
        Just(Pausing::Off),
        // XOFF, XON in bytes, response in ns
        (signals(), 0u64..40_000, 0u64..=100, select(vec![0u64, 700]))
            .prop_map(|(s, xoff, share, response)| Pausing::Pfc(s, xoff, xoff * share / 100, response)),
        signals().prop_map(Pausing::PfcEgress),
        signals().prop_map(Pausing::PfcDynamic),
        (signals(), select(vec![Counter::Ingress, Counter::Egress])).prop_map(|(s, c)| Pausing::Pause(s, c)),
    ]
}

#[derive(Clone, Debug)]
struct Load {
    src: u32,
    dst: u32,
    bytes: u64,
    start: u64,
    class: u8,
    stream: bool,
}

fn loads() -> impl Strategy<Value = Vec<Load>> {
    let sizes = prop_oneof![Just(0u64), Just(1), 1u64..10_000, 10_000u64..400_000];
    let one = (0u32..64, 0u32..64, sizes, 0u64..20_000, select(vec![3u8, 3, 3, 0, 5, 7]), prop::bool::weighted(0.1));
    let load = one.prop_map(|(src, dst, bytes, start, class, stream)| Load { src, dst, bytes, start, class, stream });
    prop::collection::vec(load, 1..14)
}

/// The rate control of flows.
#[derive(Clone, Copy, Debug)]
enum Rates {
    Dcqcn(dcqcn::Law),
    Qcn(qcn::Per),
    /// with BCN(0,0)
    Bcn(bool),
    /// DCQCN and QCN, with the lower rate
    Both,
    /// DCTCP from a window of so many packets
    Dctcp(u32),
    /// Swift with a target of so many us
    Swift(u64),
    /// TIMELY that leaves its first branch at so many us
    Timely(u64),
    /// that of HPCC's ns-3 code with a round trip of so many us
    DctcpRate(u64),
    /// HPCC with a round trip of so many us, and the telemetry of packets
    Hpcc(u64, hpcc::Telemetry),
}

/// How flows are isolated: thresholds so low that they are, and change queues often.
#[derive(Clone, Copy, Debug)]
struct Isolation {
    low: u64,
    high: u64,
    pmax: f64,
    order: FlowOrder,
    degree: u8,
    cim_threshold: u64,
    life: Time,
    weight: Option<f64>,
    marking: CeMarking,
}

impl Isolation {
    fn params(self) -> ci::Params {
        ci::Params {
            low: Bytes(self.low),
            high: Bytes(self.low + self.high),
            pmax: self.pmax,
            in_order: self.order,
            cim: self.degree > 0,
            end_stations: self.degree > 1,
            cim_threshold: Bytes(self.cim_threshold),
            cim_interval: Time::us(1),
            max_flow_life: self.life,
            weight: self.weight,
            ce_marking: self.marking,
            ..ci::Params::default()
        }
    }
}

fn isolation() -> impl Strategy<Value = Isolation> {
    (
        (select(vec![0u64, 1_500, 5_000]), select(vec![0u64, 4_000, 30_000]), select(vec![0.05, 0.5])),
        select(vec![FlowOrder::Counters, FlowOrder::Markers]),
        0u8..3,
        select(vec![0u64, 2_000, 15_000]),
        select(vec![Time::ZERO, Time::us(2), Time::us(50)]),
        select(vec![None, Some(0.1)]),
        select(vec![CeMarking::Found, CeMarking::Isolated, CeMarking::Local, CeMarking::None]),
    )
        .prop_map(|((low, high, pmax), order, degree, cim_threshold, life, weight, marking)| Isolation {
            low,
            high,
            pmax,
            order,
            degree,
            cim_threshold,
            life,
            weight,
            marking,
        })
}

/// The settings of SFC: explicit resumes, flows instead of classes, a computed pause, the actor, its threshold and rate, the cache.
#[derive(Clone, Copy, Debug)]
struct Sources {
    resume: bool,
    by_flow: bool,
    computed: bool,
    at: AtSource,
    isolation_threshold: u64,
    isolation_rate: Option<u64>,
    isolation_queues: IsolationQueues,
    cache: bool,
}

fn sources() -> impl Strategy<Value = Sources> {
    let at = select(vec![AtSource::Host, AtSource::Proxy, AtSource::Isolation, AtSource::Isolation]);
    let threshold = select(vec![0u64, 3_000, 20_000, 1_000_000]);
    let rate = select(vec![None, Some(2), Some(40)]);
    let queues = select(vec![IsolationQueues::Each, IsolationQueues::One]);
    (any::<(bool, bool, bool)>(), at, threshold, rate, queues, any::<bool>()).prop_map(
        |((resume, by_flow, computed), at, isolation_threshold, isolation_rate, isolation_queues, cache)| {
            let by_flow = by_flow && at != AtSource::Proxy;
            Sources { resume, by_flow, computed, at, isolation_threshold, isolation_rate, isolation_queues, cache }
        },
    )
}

/// Mechanisms beside those that pause links.
#[derive(Clone, Copy, Debug)]
struct Extras {
    sfc: Option<Sources>,
    rates: Option<Rates>,
    ci: Option<Isolation>,
    tx_queue: u32,
    fetch: bool,
    /// \[ns\] of control messages at hosts
    delay: u64,
    /// of a host for class 3
    queues: usize,
    ack_class: Option<u8>,
    ack_first: bool,
    acks: bool,
    ecmp: bool,
    gap: u64,
    header: u64,
    balance: Option<Balance>,
}

/// The choice among several paths of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Balance {
    Spray(spray::Order),
    /// Gaps of flows are not as long, unless they are paused.
    Flowlet,
}

fn extras() -> impl Strategy<Value = Extras> {
    (
        prop::option::of(sources()),
        prop::option::of(select(vec![
            Rates::Dcqcn(dcqcn::Law::Paper),
            Rates::Dcqcn(dcqcn::Law::Ns3),
            Rates::Qcn(qcn::Per::Flow),
            Rates::Qcn(qcn::Per::Class),
            Rates::Bcn(false),
            Rates::Bcn(true),
            Rates::Both,
            Rates::Dctcp(1),
            Rates::Dctcp(10),
            Rates::Swift(2),
            Rates::Swift(20),
            Rates::Timely(2),
            Rates::Timely(20),
            Rates::DctcpRate(2),
            Rates::DctcpRate(20),
            Rates::Hpcc(2, hpcc::Telemetry::Int),
            Rates::Hpcc(20, hpcc::Telemetry::Int),
            Rates::Hpcc(2, hpcc::Telemetry::Pint),
            Rates::Hpcc(20, hpcc::Telemetry::Pint),
        ])),
        (select(vec![1u32, 1, 4]), any::<bool>(), select(vec![0u64, 0, 900, 30_000])),
        (select(vec![None, Some(6u8)]), any::<bool>(), prop::bool::weighted(0.9), any::<bool>()),
        (
            select(vec![0u64, 20]),
            select(vec![0u64, 64]),
            select(vec![
                None,
                None,
                Some(Balance::Spray(spray::Order::Random)),
                Some(Balance::Spray(spray::Order::RoundRobin)),
                Some(Balance::Flowlet),
            ]),
        ),
        select(vec![1usize, 1, 2, 4]),
        prop::option::weighted(0.3, isolation()),
    )
        .prop_map(|(mut sfc, rates, (tx_queue, fetch, delay), acks, (gap, header, balance), queues, ci)| {
            // The reader of scenarios refuses two mechanisms that decide where packets wait, and a host's queue of a class in use.
            let queues = if ci.is_some() { 1 } else { queues };
            if let Some(drawn) = sfc.as_mut().filter(|drawn| ci.is_some() && drawn.at == AtSource::Isolation) {
                drawn.at = AtSource::Host;
            }
            let (ack_class, ack_first, acks, ecmp) = acks;
            // A window does not open without acknowledgements; the reader of scenarios refuses that.
            let asks = |rates| {
                matches!(
                    rates,
                    Rates::Dctcp(_) | Rates::DctcpRate(_) | Rates::Swift(_) | Rates::Timely(_) | Rates::Hpcc(..)
                )
            };
            let acks = acks || rates.is_some_and(asks);
            Extras {
                sfc,
                rates,
                ci,
                tx_queue,
                fetch,
                delay,
                queues,
                ack_class,
                ack_first,
                acks,
                ecmp,
                gap,
                header,
                balance,
            }
        })
}

const PLAIN: Extras = Extras {
    sfc: None,
    rates: None,
    ci: None,
    tx_queue: 1,
    fetch: false,
    delay: 0,
    queues: 1,
    ack_class: None,
    ack_first: true,
    acks: true,
    ecmp: false,
    gap: 20,
    header: 64,
    balance: None,
};

const PAYLOAD: u64 = 1000;

fn bench(graph: Graph, switch: SwitchParams, pausing: Pausing, loads: &[Load], extras: Extras, seed: u64) -> Bench {
    let hosts = graph.hosts().count() as u32;
    let mut b = Bench { seed, switch, ..Bench::new(graph) };
    b.packet = PacketParams {
        payload: Bytes(PAYLOAD),
        header: Bytes(extras.header),
        gap: Bytes(extras.gap),
        ..PacketParams::default()
    };
    (b.nic.tx_queue, b.nic.store_and_forward) = (extras.tx_queue, extras.fetch);
    b.nic.control_delay = Time::ns(extras.delay);
    // Priorities that no other mechanism uses here, above and below the class.
    b.queues = HostQueues::new(Class(3), &[3, 4, 1, 2].map(Class)[..extras.queues]).expect("different priorities");
    (b.ack.class, b.ack.first_at_nic, b.ack.enabled) = (extras.ack_class, extras.ack_first, extras.acks);
    b.ack.path = if extras.ecmp { AckPath::Ecmp } else { AckPath::Reverse };
    for load in loads {
        let (src, dst) = (load.src % hosts, load.dst % hosts);
        let dst = if dst == src { (src + 1) % hosts } else { dst };
        let until = Time::ns(load.start) + Time::us(20);
        let stream = Stream::new(Time::ns(500), 0.3, until);
        let flow = b.flow(src, dst, load.bytes);
        (flow.start, flow.class) = (Time::ns(load.start), Class(load.class));
        if load.stream {
            (flow.bytes, flow.stream, flow.group) = (0, Some(stream), 1);
        }
    }
    // An egress that pauses all other ports can deadlock by the scheme itself: if links form a cycle (each direction of two parallel trunks
    // waits for the other), and if an egress's frames stand behind others in an ingress.
    let tree = b.graph.links.len() < b.graph.nodes.len();
    let sound = tree && b.switch.architecture != Architecture::InputQueued;
    let pausing = match pausing {
        Pausing::PfcEgress(signal) if !sound => Pausing::Pfc(signal, 20_000, 10_000, 0),
        Pausing::Pause(signal, Counter::Egress) if !sound => Pausing::Pause(signal, Counter::Ingress),
        other => other,
    };
    b.mechanisms = mechanisms(pausing, extras);
    // In every third run times are rounded down to a clock whose tick is shorter than nearly all frames, on every link that a fault may
    // make.
    let tick = Rate::gbps(400).time_for(b.packet.shortest(Bytes(0), Some(b.ack.size)));
    b.packet.clock = (seed % 3 == 2).then(|| Time(tick.0 - 1));
    // For all flows except streams, in every second run.
    b.causes.waits = vec![seed % 2 == 1];
    b
}

fn mechanisms(pausing: Pausing, extras: Extras) -> Config {
    let mut config = Config::default();
    match pausing {
        Pausing::Off => {}
        Pausing::Pfc(signal, xoff, xon, response) => {
            let mut params = pfc(xoff, xon, signal);
            params.response = Time::ns(response);
            config = config.pfc(params);
        }
        Pausing::PfcEgress(signal) => {
            let mut params = pfc(20_000, 10_000, signal);
            params.counter = Counter::Egress;
            config = config.pfc(params);
        }
        Pausing::PfcDynamic(signal) => {
            let mut params = pfc(0, 0, signal);
            params.threshold = Threshold::Dynamic;
            config = config.pfc(params);
        }
        Pausing::Pause(signal, counter) => config = config.pause(pause(20_000, 10_000, counter, signal)),
    }
    if let Some(drawn) = extras.sfc {
        let mut params = sfc(15_000, Time::us(3));
        (params.resume, params.cache) = (drawn.resume, drawn.cache);
        if drawn.by_flow {
            (params.granularity, params.points) = (Granularity::Flow, Points::All);
        }
        if drawn.computed {
            params.pause = None;
        }
        (params.at_source, params.isolation_threshold) = (drawn.at, Bytes(drawn.isolation_threshold));
        params.isolation_rate = drawn.isolation_rate.map(Rate::gbps);
        params.isolation_queues = drawn.isolation_queues;
        if drawn.at != AtSource::Host {
            // One port signals in one way.
            params.signal = signal_of(pausing);
        }
        config = config.sfc(params);
    }
    match extras.balance {
        None => {}
        Some(Balance::Spray(order)) => {
            config.spray = Some(Scoped::everywhere(spray::Params { order, ..spray::Params::default() }));
        }
        Some(Balance::Flowlet) => {
            let gap = Time::ms(100);
            config.flowlet = Some(Scoped::everywhere(flowlet::Params { gap, ..flowlet::Params::default() }));
        }
    }
    if let Some(isolation) = extras.ci {
        config = config.ci(isolation.params());
    }
    // So short that runs of some 20 us see all of it.
    let of_qcn = |per| {
        let (cp_qsp, cp_sample_base) = (Bytes(5_000), Bytes(10_000));
        let (rpg_time_reset, rpg_byte_reset) = (Time::us(5), Bytes(10_000));
        let params = qcn::Params { per, cp_qsp, cp_sample_base, rpg_time_reset, rpg_byte_reset, ..Default::default() };
        Some(Scoped::everywhere(params))
    };
    match extras.rates {
        None => {}
        Some(Rates::Dcqcn(law)) => {
            config = config.ecn(step(10_000)).dcqcn(dcqcn::Params { law, ..dcqcn::Params::default() });
        }
        Some(Rates::Qcn(per)) => config.qcn = of_qcn(per),
        Some(Rates::Both) => {
            config = config.ecn(step(10_000)).dcqcn(dcqcn::Params::default());
            config.qcn = of_qcn(qcn::Per::Flow);
        }
        Some(Rates::Dctcp(initial_window)) => {
            let params = dctcp::Params { initial_window, ..dctcp::Params::default() };
            config = config.ecn(step(10_000));
            config.dctcp = Some(Scoped::everywhere(params));
        }
        Some(Rates::Swift(target)) => {
            // A packet each 100 round trips at least: runs here are short.
            let (base_target, min_cwnd) = (Time::us(target), 0.01);
            let params = swift::Params { base_target, min_cwnd, ..swift::Params::default() };
            config.swift = Some(Scoped::everywhere(params));
        }
        Some(Rates::Timely(t_low)) => {
            // Runs are short here: a flow that is slowed down must not take long.
            let (t_low, min_rate) = (Time::us(t_low), Rate(100_000_000));
            let params = timely::Params { t_low, min_rtt: Time::us(5), min_rate, ..timely::Params::default() };
            config.timely = Some(Scoped::everywhere(params));
        }
        Some(Rates::DctcpRate(base_rtt)) => {
            let (law, base_rtt) = (dctcp::Law::Ns3, Time::us(base_rtt));
            config = config.ecn(step(10_000));
            config.dctcp = Some(Scoped::everywhere(dctcp::Params { law, base_rtt, ..dctcp::Params::default() }));
        }
        Some(Rates::Hpcc(base_rtt, telemetry)) => {
            let params = hpcc::Params { base_rtt: Time::us(base_rtt), telemetry, ..hpcc::Params::default() };
            config.hpcc = Some(Scoped::everywhere(params));
        }
        Some(Rates::Bcn(bcn_00)) => {
            let (qeq, qsc) = (Some(Bytes(5_000)), Some(Bytes(15_000)));
            let (sample, jitter, bcn_max) = (Bytes(6_000), Bytes(2_000), !bcn_00);
            let (self_increase, self_increase_interval) = (Rate::gbps(1), Time::us(10));
            let params = bcn::Params {
                qeq,
                qsc,
                sample,
                jitter,
                bcn_00,
                bcn_max,
                self_increase,
                self_increase_interval,
                response_time: Time::us(1),
                min_rate: Rate(100_000_000),
                ..Default::default()
            };
            config.bcn = Some(Scoped::everywhere(params));
        }
    }
    config
}

fn signal_of(pausing: Pausing) -> Signal {
    match pausing {
        Pausing::Off => Signal::Timed,
        Pausing::Pfc(signal, ..)
        | Pausing::PfcEgress(signal)
        | Pausing::PfcDynamic(signal)
        | Pausing::Pause(signal, _) => signal,
    }
}

/// The most headroom that any port of the network needs.
fn most_headroom(b: &Bench, signal: Signal, response: u64) -> u64 {
    let max_frame = b.packet.payload + b.packet.header;
    let unseen = if b.switch.latency_at == LatencyAt::Input { b.switch.latency } else { Time::ZERO };
    let longest = Bytes(max_frame.0.max(b.ack.size.0));
    let each = b.graph.links.iter();
    // Between two ticks of a clock a link may send bytes that need almost another tick, relatively most of its shortest frame.
    let shortest = b.packet.shortest(Bytes(0), Some(b.ack.size));
    let sent = |need: u64, rate: Rate| {
        let ticks = b.packet.clock.map(|clock| rate.time_for(shortest).0 / clock.0);
        ticks.map_or(need, |ticks| need + (need - 2 * longest.0).div_ceil(ticks))
    };
    let needs = each.map(|l| {
        let need = headroom(l.rates[0], l.delay, longest, b.packet.gap, Time::ns(response) + unseen, signal);
        sent(need.0, l.rates[0])
    });
    needs.max().unwrap_or(0)
}

/// Everything that holds for a run without faults and with all flows ended.
fn obeys_the_laws(b: &Bench, out: &Outcome) -> Result<(), TestCaseError> {
    prop_assert_eq!(&out.broken, &None);
    prop_assert_eq!(&out.deadlock, &None, "these networks route up and down, or have no cycles at all");
    prop_assert_eq!(&out.unrest, &Vec::<String>::new());
    prop_assert_eq!(out.sum(|p| p.stats.drop_frames), out.progress.drops);
    prop_assert_eq!(out.sum(|p| p.stats.fault_frames), out.progress.fault_losses);
    prop_assert_eq!(out.progress.fault_losses, 0);
    prop_assert_eq!(out.rows.flows.len(), b.flows.len());
    for row in &out.rows.flows {
        prop_assert!(row.reordered == 0 || b.mechanisms.spray.is_some(), "a single path cannot reorder");
    }
    counts_every_mark(out)?;
    waits_are_true(b, out)?;
    if out.progress.drops == 0 {
        prop_assert_eq!(out.progress.flows_active, 0, "nothing was lost, yet flows have not ended");
        for row in &out.rows.flows {
            prop_assert_eq!(row.received, row.bytes);
            prop_assert_eq!(
                row.packets,
                row.bytes.div_ceil(PAYLOAD).max(u64::from(b.flows[row.id as usize].stream.is_none()))
            );
            prop_assert!(row.fct_last_byte.is_some());
            prop_assert!(!b.ack.enabled || row.fct_last_ack >= row.fct_last_byte);
        }
        // Every payload byte once on every link of its path: as many data frames leave hosts as arrive at hosts.
        let is_host = |n: u32| (n as usize) < b.graph.hosts().count();
        let sent = out.sum(|p| if is_host(p.node.0) { p.stats.tx_data_frames } else { 0 });
        let received = out.sum(|p| if is_host(p.peer.0) { p.stats.tx_data_frames } else { 0 });
        prop_assert_eq!(sent, received);
        prop_assert_eq!(sent, out.rows.flows.iter().map(|f| f.packets).sum::<u64>());
    }
    Ok(())
}

/// A packet is marked once on its path, by one port: a packet that arrives marked has been counted there. Nothing else has, unless a frame
/// is lost or comes to a flow that has ended, failed or with a duplicate.
fn counts_every_mark(out: &Outcome) -> Result<(), TestCaseError> {
    let marked = out.sum(|p| p.stats.marked_frames);
    let arrived: u64 = out.rows.flows.iter().map(|row| row.marked).sum();
    prop_assert!(marked >= arrived, "{} marked, {} arrived", marked, arrived);
    let lost = out.progress.drops + out.progress.flushed + out.progress.fault_losses;
    let once = out.rows.flows.iter().all(|row| row.state == State::Complete && row.retransmitted == 0);
    if lost == 0 && once {
        prop_assert_eq!(marked, arrived);
    }
    Ok(())
}

/// No flow waits for longer than it takes, and for a fabric only if there is one, or a latency.
fn waits_are_true(b: &Bench, out: &Outcome) -> Result<(), TestCaseError> {
    let mut sums: BTreeMap<u64, Time> = BTreeMap::new();
    for row in &out.rows.waits {
        *sums.entry(row.flow).or_default() += row.time;
    }
    for row in &out.rows.flows {
        let waited = sums.get(&row.id).copied().unwrap_or_default();
        let most = row.fct_last_byte.unwrap_or(out.progress.time.since(row.start));
        prop_assert!(waited <= most, "flow {} waited for {} of {}", row.id, waited, most);
    }
    let crossbar = matches!(b.switch.architecture, Architecture::InputQueued | Architecture::Voq);
    let fabric = out.rows.waits.iter().find(|row| row.cause == "fabric");
    prop_assert!(crossbar || b.switch.latency != Time::ZERO || fabric.is_none(), "{:?}", fabric);
    Ok(())
}

/// The same cases in every run: without a change nothing fails.
fn cases(n: u32) -> ProptestConfig {
    ProptestConfig {
        cases: n,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(20_251),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases(300))]



    /// The headroom of the model behind any threshold, per ingress port: not one frame of the paused class is lost.
    #[test]
    fn headroom_makes_lossless(
        graph in graphs(), switch in switches(), loads in loads(), extras in extras(), seed in 0u64..9,
        signal in select(vec![Signal::Timed, Signal::OnOff, Signal::Ideal]),
        xoff in 0u64..40_000, share in 0u64..=100, response in select(vec![0u64, 700]),
    ) {
        let loads: Vec<Load> = loads.into_iter().map(|l| Load { class: 3, ..l }).collect();
        // Frames of other classes share the memory here, so the case has none.
        let extras = Extras { ack_class: None, rates: None, sfc: None, ci: None, ..extras };
        let pausing = Pausing::Pfc(signal, xoff, xoff * share / 100, response);
        let mut b = bench(graph, switch, pausing, &loads, extras, seed);
        let need = most_headroom(&b, signal, response);
        (b.switch.buffer_per, b.switch.buffer, b.lossless) = (BufferPer::Ingress, Bytes(xoff + need), true);
        let out = b.run();
        obeys_the_laws(&b, &out)?;
        prop_assert_eq!(out.progress.drops, 0);
    }

    /// Reserved headroom makes any pool lossless, however small it is: a sender that finds it full is paused.
    #[test]
    fn headroom_set_aside_makes_lossless(
        graph in graphs(), switch in switches(), loads in loads(), extras in extras(), seed in 0u64..9,
        signal in select(vec![Signal::Timed, Signal::OnOff, Signal::Ideal]), per in select(vec![BufferPer::Switch, BufferPer::Ingress]),
        xoff in 0u64..40_000, share in 0u64..=100, response in select(vec![0u64, 700]), pool in 0u64..60_000, reserve in select(vec![0u64, 5000]),
    ) {
        let loads: Vec<Load> = loads.into_iter().map(|l| Load { class: 3, ..l }).collect();
        let extras = Extras { ack_class: None, rates: None, sfc: None, ci: None, ..extras };
        let pausing = Pausing::Pfc(signal, xoff, xoff * share / 100, response);
        let mut b = bench(graph, switch, pausing, &loads, extras, seed);
        let need = most_headroom(&b, signal, response);
        (b.switch.headroom, b.switch.reserve, b.switch.buffer_per, b.lossless) = (Bytes(need), Bytes(reserve), per, true);
        let ports = if per == BufferPer::Switch { 2 * b.graph.links.len() as u64 } else { 1 };
        b.switch.buffer = Bytes(pool + ports * (need + 8 * reserve));
        let out = b.run();
        obeys_the_laws(&b, &out)?;
        prop_assert_eq!(out.progress.drops, 0);
    }

    /// Queues that are never paused behave like a single one.
    #[test]
    fn queues_without_pauses_change_nothing(
        graph in graphs(), switch in switches(), loads in loads(), extras in extras(), seed in 0u64..9,
    ) {
        let of = |queues| bench(graph.clone(), switch.clone(), Pausing::Off, &loads, Extras { sfc: None, ci: None, queues, ..extras }, seed);
        let (one, four) = (of(1).run(), of(4).run());
        prop_assert_eq!(four.fingerprint, one.fingerprint);
        prop_assert_eq!(&four.rows.flows, &one.rows.flows);
        prop_assert_eq!(&four.rows.control, &one.rows.control);
    }

    /// Congestion Isolation with PFC for both queues, while its messages are lost: nothing else is lost, no flow is ever out of order, and
    /// once the maximum flow life has passed nothing is isolated any more.
    #[test]
    fn isolated_flows_stay_in_order_and_are_released(
        graph in graphs(), switch in switches(), loads in loads(), extras in extras(), seed in 0u64..9, isolation in isolation(),
        signal in select(vec![Signal::Timed, Signal::OnOff, Signal::Ideal]), xoff in 0u64..40_000, share in 0u64..=100,
        counter in select(vec![Counter::Ingress, Counter::Queue]),
        lost in prop::collection::vec((0usize..64, any::<bool>(), 1u64..6), 0..6),
    ) {
        let loads: Vec<Load> = loads.into_iter().map(|l| Load { class: 3, ..l }).collect();
        let rates = extras.rates.filter(|rates| matches!(rates, Rates::Dcqcn(_)));
        let balance = extras.balance.filter(|balance| *balance == Balance::Flowlet);
        let extras = Extras { ack_class: None, rates, sfc: None, balance, queues: 1, ci: Some(isolation), ..extras };
        let mut b = bench(graph, switch, Pausing::Pfc(signal, xoff, xoff * share / 100, 0), &loads, extras, seed);
        if let Some(pfc) = &mut b.mechanisms.pfc {
            (pfc.base.classes, pfc.base.counter) = (vec![2, 3], counter);
        }
        // Both queues' classes, and messages. A queue fills from all ports, in both classes, and from frames in the fabric.
        let (per, need) = match counter {
            Counter::Queue => {
                let (ports, fabric) = (2 * b.graph.links.len() as u64, b.switch.latency.as_ps().div_ceil(1000));
                (BufferPer::Queue, xoff + 2 * ports * most_headroom(&b, signal, fabric))
            }
            _ => (BufferPer::Ingress, 2 * (xoff + most_headroom(&b, signal, 0))),
        };
        (b.switch.buffer_per, b.switch.buffer, b.lossless) = (per, Bytes(need + 20_000), true);
        let links = b.graph.links.clone();
        for (link, back, nth) in lost {
            let link = &links[link % links.len()];
            let (from, to) = if back { (link.b, link.a) } else { (link.a, link.b) };
            b.fault(Time::ZERO, FaultKind::DropNth { from, to, what: FrameKind::Control(ci::CIM.into()), nth });
        }
        // So late that everything has ended: then time has passed.
        let flows = b.flows.len() as u64;
        b.flow(0, 1, 1).start = Time::ms(800);
        let out = b.run();
        prop_assert_eq!(&out.broken, &None);
        prop_assert_eq!(&out.unrest, &Vec::<String>::new());
        prop_assert_eq!((out.progress.drops, out.progress.flows_done), (0, flows + 1));
        for row in &out.rows.flows {
            prop_assert_eq!((row.reordered, row.received), (0, row.bytes));
            prop_assert_eq!(row.class, Class(3));
        }
        counts_every_mark(&out)?;
        prop_assert_eq!(out.counted(None, "entries_live"), 0);
        let (sent, heard) = (out.counted(None, "cims_sent"), out.counted(None, "cims_received"));
        prop_assert_eq!(sent, heard + out.counted(None, "cims_ignored") + out.progress.fault_losses);
    }




    /// A ring, in which pauses may wait for each other: the run ends, and either nothing is wrong, or the cycle is named and its flows are
    /// not complete.
    #[test]
    fn a_ring_comes_to_rest_or_names_its_cycle(
        switch in switches(), pausing in pausing(), bytes in 20_000u64..600_000, others in loads(), seed in 0u64..9, recovers in any::<bool>(),
    ) {
        let mut b = ring(Rate::gbps(100), bytes);
        (b.seed, b.switch) = (seed, switch);
        b.transport.recovery = if recovers { Recovery::GoBackN } else { Recovery::None };
        for load in others.iter().filter(|load| !load.stream) {
            let (src, dst) = (load.src % 6, load.dst % 6);
            let flow = b.flow(src, if dst == src { (src + 1) % 6 } else { dst }, load.bytes);
            (flow.start, flow.class) = (Time::ns(load.start), Class(load.class));
        }
        b.mechanisms = mechanisms(pausing, PLAIN);
        let out = b.run();
        match (&out.deadlock, &out.broken) {
            (Some(deadlock), Some(_)) => {
                // Pauses of whole links include those of a host: then it is no cycle of switches, and not accused.
                prop_assert!(deadlock.cycle.len() >= 2, "{:?}", deadlock);
                prop_assert!(deadlock.waiting > 0 && out.progress.flows_active > 0);
            }
            (None, None) => {
                prop_assert_eq!(&out.unrest, &Vec::<String>::new());
                prop_assert_eq!(out.progress.flows_active, 0);
            }
            other => prop_assert!(false, "{:?}", other),
        }
        let sliced = b.run_sliced(1000);
        prop_assert_eq!((sliced.fingerprint, sliced.progress, sliced.deadlock), (out.fingerprint, out.progress, out.deadlock));
    }


}
