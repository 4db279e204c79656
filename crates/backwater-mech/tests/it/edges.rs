//! Corner cases, as a hostile reviewer would try them. Each test names the state that is hard to get right.

use crate::common::{Bench, On, network, pause, pfc, sfc, step};
use backwater_engine::Time;
use backwater_mech::mac_control::{Counter, Signal};
use backwater_mech::registry::Config;
use backwater_net::config::{Architecture, LatencyAt, ReleaseAt};
use backwater_net::packet::{Class, HostId};
use backwater_net::spec::{CausesSpec, FaultKind, FrameKind};
use backwater_net::{Bytes, Rate};

const ALL: [Architecture; 4] =
    [Architecture::OutputQueued, Architecture::SharedMemory, Architecture::InputQueued, Architecture::Voq];

/// An ideal pause and the resume after it can arrive in the same picosecond: the last one counts.
#[test]
fn signals_of_one_instant_keep_their_order() {
    for release_at in [ReleaseAt::Start, ReleaseAt::End] {
        for (xoff, xon) in [(0, 0), (4064, 4064), (8128, 8128)] {
            let mut bench = Bench::star(4, Rate::gbps(100));
            bench.switch.latency = Time::ZERO;
            bench.switch.release_at = release_at;
            bench.mechanisms = Config::default().pfc(pfc(xoff, xon, Signal::Ideal));
            for src in 0..3 {
                bench.flow(src, 3, 400_000);
            }
            bench.run().at_rest();
        }
    }
}

/// A resume for another flow than the leaving one finds that flow's path back.
#[test]
fn sfc_resume_finds_each_paused_source() {
    // The queue is so long that frames of near sources are still at its head when it has fallen to the target.
    for target in (300_000..400_000).step_by(10_000) {
        let mut bench = Bench::leaf_spine(2, 2, 4);
        let mut params = sfc(400_000, Time::ms(10));
        (params.resume, params.target) = (true, Some(Bytes(target)));
        bench.mechanisms = Config::default().sfc(params);
        // From afar and from the same leaf: paths of three switches and of one.
        for src in [4, 5, 1, 2, 3] {
            bench.flow(src, 0, 800_000);
        }
        let out = bench.run();
        let most = out.at_rest().rows.flows.iter().filter_map(|f| f.fct_last_ack).max();
        // 4 MB at 200 Gb/s are 163 us; a source that misses its resume waits for 10 ms.
        assert!(most < Some(Time::us(200)), "target {target} B: {most:?}");
    }
}

/// A message from a switch spends the switch's latency there, wherever frames spend theirs.
#[test]
fn message_from_a_switch_takes_its_latency() {
    for latency_at in [LatencyAt::Input, LatencyAt::Fabric, LatencyAt::Output] {
        let links = [("h0", "s0", Rate::gbps(200), Time::ns(150)), ("h1", "s0", Rate::gbps(10), Time::ns(150))];
        let mut bench = Bench::new(network(2, &["s0"], &links));
        (bench.switch.latency_at, bench.switch.latency) = (latency_at, Time::us(2));
        bench.ack.enabled = false;
        bench.mechanisms = Config::default().sfc(sfc(20_000, Time::ms(1)));
        bench.flow(0, 1, 4_000_000);
        bench.stop_at = Some(Time::us(100));
        let out = bench.run();
        // 64 B at 200 Gb/s and the link; a frame of 162.56 ns begins until the message is there.
        let stop = out.rows.control[0].time + Time::us(2) + Time::ps(2_560) + Time::ns(150);
        assert_eq!(out.flow(0).packets, stop.0 / 162_560 + 1, "{latency_at:?}");
    }
}

/// A paused class blocks no other at a port: neither behind a crossing nor in a NIC's transmit queue.
#[test]
fn paused_class_blocks_no_other() {
    let quick = Rate::gbps(100);
    let links = [
        ("h0", "s0", quick),
        ("h1", "s0", quick),
        ("s0", "s1", quick),
        ("h2", "s1", Rate(1_000_000)),
        ("h3", "s1", quick),
    ];
    let nics = [(1, true), (4, true), (1, false), (4, false)];
    let releases = [ReleaseAt::Start, ReleaseAt::End];
    for (architecture, (tx_queue, first_at_nic), release_at) in
        ALL.into_iter().flat_map(|a| nics.into_iter().flat_map(move |n| releases.map(|r| (a, n, r))))
    {
        let mut bench = Bench::new(network(4, &["s0", "s1"], &links.map(|(a, b, rate)| (a, b, rate, Time::ns(150)))));
        (bench.switch.architecture, bench.switch.release_at) = (architecture, release_at);
        (bench.nic.tx_queue, bench.ack.first_at_nic) = (tx_queue, first_at_nic);
        bench.mechanisms = Config::default().pfc(pfc(20_000, 10_000, Signal::OnOff));
        bench.ack.class = Some(6);
        // Class 3 waits for a link of 1 Mb/s, and soon has s0 and both senders paused.
        bench.flow(0, 2, 400_000);
        bench.flow(1, 2, 400_000);
        for (src, class) in [(0, 2), (1, 1), (0, 5)] {
            let other = bench.flow(src, 3, 400_000);
            (other.class, other.start) = (Class(class), Time::us(100));
        }
        // Keeps the senders' NICs busy with acknowledgements while they are being paused.
        for dst in 0..2 {
            bench.flow(3, dst, 400_000).class = Class(0);
        }
        bench.stop_at = Some(Time::ms(3));
        let out = bench.run();
        let done: Vec<bool> = (0..7).map(|id| out.flow(id).fct_last_ack.is_some()).collect();
        let what = format!("{architecture:?}, tx_queue {tx_queue}, ACKs first {first_at_nic}, {release_at:?}");
        assert_eq!(done, [false, false, true, true, true, true, true], "{what}");
    }
}

/// A frame that is lost on the wire in the instant in which its crossing ends (speed-up 1) still frees the crossbar, even if a
/// pause frame has taken its place in memory since.
#[test]
fn frame_lost_as_its_crossing_ends() {
    for seed in 0..10 {
        let mut bench = Bench::star(3, Rate::gbps(100));
        bench.seed = seed;
        bench.switch.architecture = Architecture::InputQueued;
        bench.mechanisms = Config::default().pfc(pfc(8_000, 4_000, Signal::Timed));
        // Host 2 is paused repeatedly over the port that loses half of its frames.
        for (src, dst) in [(0, 2), (1, 2), (1, 0), (2, 0)] {
            bench.flow(src, dst, 400_000);
        }
        let (from, to) = (bench.node("s0"), bench.node("h2"));
        bench.fault(
            Time::ZERO,
            FaultKind::Loss { from: Some(from), to: Some(to), what: None, probability: 0.5, number: None },
        );
        let out = bench.run();
        assert!(out.progress.fault_losses > 50);
        assert_eq!(out.unrest, Vec::<String>::new(), "seed {seed}");
    }
}

/// A link that fails while it is paused is not paused when it comes back, whatever the kind of signal.
#[test]
fn link_failure_ends_its_pauses() {
    let signals = [Signal::Timed, Signal::OnOff, Signal::Ideal];
    for (signal, down) in signals.into_iter().flat_map(|s| (0..20).map(move |i| (s, Time::us(20) + Time::ns(97 * i)))) {
        let mut bench = Bench::star(3, Rate::gbps(100));
        bench.mechanisms = Config::default().pfc(pfc(20_000, 10_000, signal));
        bench.flow(0, 2, 400_000);
        bench.flow(1, 2, 400_000);
        // Both hosts are paused most of the time: 800 KB arrive at twice the rate at which they leave.
        let (a, b) = (bench.node("h0"), bench.node("s0"));
        bench.fault(down, FaultKind::link_down(a, b));
        bench.fault(Time::us(30), FaultKind::link_up(a, b));
        bench.flow(0, 2, 40_000).start = Time::us(200);
        bench.stop_at = Some(Time::ms(1));
        let out = bench.run();
        assert!(out.flow(2).fct_last_ack.is_some(), "{signal:?}, down at {down}: host 0 never resumed");
        assert!(out.flow(1).fct_last_ack.is_some(), "{signal:?}, down at {down}: host 1 has nothing to do with it");
    }
}

fn slow(host: u32, rate: Rate, xoff: u64, class: u8) -> FaultKind {
    let (xoff, xon) = (Bytes(xoff), Bytes(xoff / 2));
    FaultKind::SlowReceiver { host: HostId(host), rate, xoff, xon, class: Some(Class(class)) }
}

fn two_classes() -> Config {
    Config::default().pfc(backwater_mech::pfc::Params { classes: vec![3, 4], ..pfc(100_000, 50_000, Signal::Timed) })
}

/// 100 KB at 1 Gb/s take 800 us. A slow receiver of another class does not end that, a faster one of the same class does.
#[test]
fn a_slow_receiver_is_replaced_by_one_of_its_class() {
    let run = |later: &[(u64, u64, u8)]| {
        let mut bench = Bench::star(2, Rate::gbps(100));
        bench.mechanisms = two_classes();
        bench.flow(0, 1, 100_000);
        for (at, rate, class) in [(1, 1, 3)].iter().chain(later) {
            bench.fault(Time::us(*at), slow(1, Rate::gbps(*rate), 4000, *class));
        }
        bench.stop_at = Some(Time::ms(20));
        bench.run().flow(0).fct_last_ack.expect("it ends")
    };
    assert!(run(&[]) > Time::us(750));
    assert!(run(&[(5, 200, 4)]) > Time::us(750), "both act, and the lower rate counts");
    assert!(run(&[(5, 200, 3)]) < Time::us(200));
}

/// A host takes 1 Mb/s of two classes, which is nothing in 200 us. Frames of 1000 B take 800 ns at 10 Gb/s. The eleventh is the first
/// beyond 10 KB; its pause frame, 64 B and so 51.2 ns, and two times 150 ns of link come before the end of the twelfth. Nothing follows it
/// in either class. The order of the faults and the numbers of the classes do not matter.
#[test]
fn slow_receivers_of_two_classes_both_act() {
    for (faults, classes) in [([3, 4], [3, 4]), ([4, 3], [3, 4]), ([3, 4], [4, 3])] {
        let mut bench = Bench::star(3, Rate::gbps(10));
        (bench.packet.payload, bench.packet.header) = (Bytes(1000), Bytes(0));
        (bench.ack.enabled, bench.switch.latency) = (false, Time::ZERO);
        bench.mechanisms = two_classes();
        for (src, class) in (0..).zip(classes) {
            bench.flow(src, 2, 1_000_000).class = Class(class);
        }
        for class in faults {
            bench.fault(Time::ZERO, slow(2, Rate(1_000_000), 10_000, class));
        }
        bench.stop_at = Some(Time::us(200));
        let out = bench.run();
        let (host, switch) = (bench.node("h2"), bench.node("s0"));
        let port = out.port(switch, host);
        assert_eq!(port.stats.tx_data_frames, 12, "{faults:?} {classes:?}");
        assert_eq!(port.stats.pauses_received, 2, "one of each class");
    }
}

/// Storms of a class may overlap: the last to end counts. Frames of 1250 B take 100 ns at 100 Gb/s; 64 B take 5.12 ns, and each link 150
/// ns. A pause requested at 10 us takes effect 155.12 ns later, and the frame on the wire still leaves.
#[test]
fn storms_of_pauses_overlap() {
    let sent = |storms: &[(u64, Option<u64>, u16)], stop: Time| {
        let mut bench = Bench::star(2, Rate::gbps(100));
        (bench.packet.payload, bench.packet.header) = (Bytes(1250), Bytes(0));
        (bench.ack.enabled, bench.switch.latency) = (false, Time::ZERO);
        bench.mechanisms = two_classes()
            .pfc(backwater_mech::pfc::Params { classes: vec![3, 4], ..pfc(10_000_000, 9_000_000, Signal::Timed) });
        bench.flow(0, 1, 10_000_000);
        for (from, until, classes) in storms {
            let (host, classes) = (HostId(1), *classes);
            bench.fault(Time::us(*from), FaultKind::PauseStorm { host, classes });
            if let Some(until) = until {
                bench.fault(Time::us(*until), FaultKind::PauseStormEnd { host, classes });
            }
        }
        bench.stop_at = Some(stop);
        let out = bench.run();
        let stats = out.port(bench.node("s0"), bench.node("h1")).stats;
        (stats.tx_data_frames, stats.pauses_received)
    };
    // The first frame leaves the switch at 250 ns. Until 10.15512 us 100 have begun.
    let stopped = 100;
    let of_3 = 1 << 3;
    let late = Time::ms(1);
    assert_eq!(sent(&[(10, None, of_3)], late), (stopped, 1));
    assert_eq!(sent(&[(10, None, 0xFF)], late), (stopped, 2), "of all classes those under PFC are obeyed");
    assert_eq!(sent(&[(10, Some(20), of_3), (15, None, of_3)], late), (stopped, 1));
    assert_eq!(sent(&[(10, Some(20), of_3), (15, Some(30), of_3)], Time::us(30)), (stopped, 1));
    // From 30.15512 us on 8 begin until 31 us, the last of them at 30.85512 us.
    assert_eq!(sent(&[(10, Some(20), of_3), (15, Some(30), of_3)], Time::us(31)), (stopped + 9, 1));
    assert_eq!(sent(&[(10, None, 1 << 5)], Time::us(31)).1, 0, "not under PFC");
}

/// A storm without an end keeps no run going. At a host without flows to it, the run ends when it ends without the storm; at the receiver,
/// its flow has stalled after the run's patience: 100 timeouts of 1 ms.
#[test]
fn a_storm_without_an_end_keeps_no_run_going() {
    let run = |storm: Option<u32>| {
        let mut bench = Bench::star(3, Rate::gbps(100));
        bench.mechanisms = Config::default().pfc(pfc(10_000_000, 9_000_000, Signal::Timed));
        bench.transport.timeout = Time::ms(1);
        bench.flow(0, 1, 1_000_000);
        if let Some(host) = storm {
            bench.fault(Time::us(10), FaultKind::PauseStorm { host: HostId(host), classes: 0xFF });
        }
        (bench.node("s0"), bench.node("h2"), bench.run())
    };
    let ((s0, h2, without), (.., bystander), (.., receiver)) = (run(None), run(Some(2)), run(Some(1)));
    assert_eq!((bystander.progress.time, bystander.progress.flows_done), (without.progress.time, 1));
    assert!(bystander.broken.is_none() && without.progress.time < Time::us(100));
    // The storm's frame of 64 B takes 5.12 ns at 100 Gb/s, the link 150 ns.
    let paused = bystander.port(s0, h2).stats.paused_ps;
    assert_eq!(paused, without.progress.time.0 - 10_155_120);
    let broken = receiver.broken.expect("it has stalled");
    assert!(
        broken.reason.starts_with("no flow has got further for 100 ms: flow 0 of all from h0 to h1 waits"),
        "{broken:?}"
    );
    assert!(broken.time > Time::ms(100) && broken.time < Time::ms(111), "{broken:?}");
}

/// The same by PAUSE, which stops the whole link, also if only PAUSE is obeyed.
#[test]
fn a_storm_of_pauses_stops_a_link() {
    let sent = |classes: u16| {
        let mut bench = Bench::star(2, Rate::gbps(100));
        (bench.packet.payload, bench.packet.header) = (Bytes(1250), Bytes(0));
        (bench.ack.enabled, bench.switch.latency) = (false, Time::ZERO);
        bench.mechanisms = Config::default().pause(pause(10_000_000, 9_000_000, Counter::Ingress, Signal::Timed));
        bench.flow(0, 1, 10_000_000);
        bench.fault(Time::us(10), FaultKind::PauseStorm { host: HostId(1), classes });
        bench.stop_at = Some(Time::us(500));
        let out = bench.run();
        let stats = out.port(bench.node("s0"), bench.node("h1")).stats;
        (stats.tx_data_frames, stats.pauses_received, stats.paused_ps)
    };
    assert_eq!(sent(1 << 8), (100, 1, Time::us(500).0 - 10_155_120));
    assert_eq!(sent(0xFF).1, 0, "of classes nothing is obeyed");
}

/// A slow receiver that sends PAUSE stops its link at the same frame at which one that sends PFC stops its only class.
#[test]
fn a_slow_receiver_stops_a_link() {
    let sent = |mechanisms: Config, class: Option<Class>| {
        let mut bench = Bench::star(2, Rate::gbps(100));
        bench.ack.enabled = false;
        bench.mechanisms = mechanisms;
        bench.flow(0, 1, 1_000_000);
        let (host, rate, xoff, xon) = (HostId(1), Rate::gbps(1), Bytes(20_000), Bytes(10_000));
        bench.fault(Time::ZERO, FaultKind::SlowReceiver { host, rate, xoff, xon, class });
        bench.stop_at = Some(Time::us(500));
        let out = bench.run();
        let stats = out.port(bench.node("s0"), bench.node("h1")).stats;
        (stats.tx_data_frames, stats.pauses_received, stats.paused_ps)
    };
    let by_class = sent(Config::default().pfc(pfc(10_000_000, 9_000_000, Signal::Timed)), Some(Class(3)));
    let link = pause(10_000_000, 9_000_000, Counter::Ingress, Signal::Timed);
    assert!(by_class.1 > 1 && by_class.2 > Time::us(400).0, "{by_class:?}");
    assert_eq!(sent(Config::default().pause(link.clone()), None), by_class);
    assert_eq!(sent(Config::default().pause(link), Some(Class(3))).1, 0, "of classes nothing is obeyed");
}

/// A pause lasts for quanta of the obeying port. A host whose own sending slows down a hundredfold does not repeat its pauses a hundred
/// times later, and one whose neighbour speeds up tenfold repeats them in time; so does a switch, with PFC and with PAUSE. 64 B take 5.12
/// ns at 100 Gb/s, 51.2 ns at 10, 512 ns at 1; the link takes 150 ns.
#[test]
fn pauses_have_no_break_after_a_change_of_rate() {
    let big = 10_000_000;
    let config = |pause_link: bool, xoff: u64| match pause_link {
        false => Config::default().pfc(pfc(xoff, xoff - 8_000, Signal::Timed)),
        true => Config::default().pause(pause(xoff, xoff - 8_000, Counter::Ingress, Signal::Timed)),
    };
    // The pausing node, the paused node, the start and the end.
    type Told = Vec<(String, String, Time, Option<Time>)>;
    let run = |rate: u64, pause_link: bool, xoff: u64, (from, to, then): (&str, &str, u64)| -> Told {
        let mut bench = Bench::star(3, Rate::gbps(rate));
        (bench.ack.enabled, bench.lossless, bench.switch.buffer) = (false, true, Bytes(10 * big));
        bench.mechanisms = config(pause_link, xoff);
        bench.causes = CausesSpec { pauses: true, ..CausesSpec::default() };
        (0..2).for_each(|src| _ = bench.flow(src, 2, big));
        let (host, classes) = (HostId(2), if pause_link { 1 << 8 } else { 0xFF });
        bench.fault(Time::us(10), FaultKind::PauseStorm { host, classes });
        bench.fault(Time::us(9_000), FaultKind::PauseStormEnd { host, classes });
        let (from, to) = (bench.node(from), bench.node(to));
        bench.fault(Time::us(50), FaultKind::RateChange { from, to, rate: Rate::gbps(then), number: None });
        bench.stop_at = Some(Time::us(9_001));
        let out = bench.run();
        assert_eq!((&out.broken, out.progress.drops), (&None, 0));
        let name = |node| bench.graph.nodes[usize::try_from(node).expect("few")].name.clone();
        out.rows.pauses.iter().map(|row| (name(row.node.0), name(row.peer.0), row.start, row.end)).collect()
    };
    for link in [false, true] {
        let storm = |start: u64, end: u64| vec![("h2".into(), "s0".into(), Time::ps(start), Some(Time::ps(end)))];
        // The buffer has room for all.
        assert_eq!(run(100, link, 3 * big, ("h2", "s0", 1)), storm(10_155_120, 9_000_662_000));
        assert_eq!(run(10, link, 3 * big, ("s0", "h2", 100)), storm(10_201_200, 9_000_201_200));
        // The buffer is too small: the switch pauses h0 and h1 until the storm has ended and its memory is nearly empty again.
        for change in [("s0", "h0", 1), ("h0", "s0", 200)] {
            let notified = run(100, link, 100_000, change);
            let to_h0: Vec<_> = notified.iter().filter(|(_, peer, ..)| peer == "h0").collect();
            let [(_, _, start, end)] = to_h0[..] else { panic!("{change:?}: {to_h0:?}") };
            assert!(*start < Time::us(50) && end.is_none(), "{change:?}: {start} to {end:?}");
        }
    }
}

/// DropNth picks exactly one frame of its kind, and only its kind.
#[test]
fn drop_nth_of_each_kind() {
    let base = || {
        let mut bench = Bench::star(3, Rate::gbps(100));
        bench.mechanisms = Config::default()
            .pfc(pfc(20_000, 10_000, Signal::OnOff))
            .sfc(sfc(15_000, Time::us(5)))
            .ecn(step(10_000))
            .dcqcn(Default::default());
        bench.flow(0, 2, 200_000);
        bench.flow(1, 2, 200_000);
        bench.stop_at = Some(Time::ms(1));
        bench
    };
    let kinds = [
        (FrameKind::Data, "h0", "s0"),
        (FrameKind::Ack, "s0", "h0"),
        (FrameKind::Control("cnp".into()), "h2", "s0"),
        (FrameKind::Control("sfc-pause".into()), "s0", "h0"),
        (FrameKind::Control("mac-control".into()), "s0", "h1"),
    ];
    for (what, from, to) in kinds {
        let mut bench = base();
        if what == FrameKind::Control("mac-control".into()) {
            // Sources that stop by themselves need no PFC.
            (bench.mechanisms.sfc, bench.mechanisms.dcqcn) = (None, None);
        }
        let (from, to) = (bench.node(from), bench.node(to));
        bench.fault(Time::ZERO, FaultKind::DropNth { from, to, what: what.clone(), nth: 1 });
        let out = bench.run();
        assert_eq!(out.progress.fault_losses, 1, "{what:?}");
        assert_eq!(out.port(from, to).stats.fault_frames, 1, "{what:?}");
        let received: u64 = out.rows.flows.iter().map(|f| f.received).sum();
        assert_eq!(received, if what == FrameKind::Data { 396_000 } else { 400_000 }, "{what:?}");
    }
}

/// A pause with few quanta is refreshed as long as it lasts, at every rate: no frame leaves in between.
#[test]
fn refresh_comes_before_expiry() {
    for (gbps, quanta) in [(7, 65535), (100, 3), (100, 64), (3, 100), (10, 65535)] {
        let rate = Rate::gbps(gbps);
        let mut bench = Bench::new(network(
            2,
            &["s0"],
            &[("h0", "s0", rate, Time::ns(10)), ("h1", "s0", Rate(1_000_000), Time::ns(10))],
        ));
        bench.packet.payload = Bytes(100);
        bench.ack.enabled = false;
        let mut params = pfc(1000, 500, Signal::Timed);
        params.quanta = quanta;
        bench.mechanisms = Config::default().pfc(params);
        bench.flow(0, 1, 4_000);
        bench.stop_at = Some(Time::ms(40));
        let out = bench.run();
        let most = out.sum(|p| p.stats.max_ingress_bytes);
        // 1000 B, and the frames of 164 B that begin until the pause acts: far below the 6.5 KB of the flow.
        let late = rate.bytes_in(Time::ns(40)).0 + 6 * 164;
        assert!(most <= 1000 + late, "{gbps} Gb/s, {quanta} quanta: {most} B");
    }
}

/// A flow's pinned path may be reused by another flow while a message about the first is still in flight.
#[test]
fn paths_outlive_their_flows_frames() {
    for seed in 0..8 {
        let graph = backwater_net::topology::ParkingLot { switches: 4, hosts_per_switch: 5, ..Default::default() };
        let mut bench = Bench::new(graph.build().expect("a chain"));
        bench.seed = seed;
        bench.mechanisms = Config::default().ecn(step(0)).dcqcn(backwater_mech::dcqcn::Params {
            cnp_interval: Time::ps(1),
            cnp_class: Some(0),
            ..Default::default()
        });
        // Flows of one packet follow each other between hosts at other ends of the chain, one hop apart or three.
        for i in 0..2000u64 {
            let (src, dst) = ((i * 7 % 20) as u32, (i * 11 + 5) as u32 % 20);
            let flow = bench.flow(src, (dst + u32::from(src == dst)) % 20, 4_000 * (1 + i % 3));
            flow.start = Time::ns(25 * i);
        }
        let out = bench.run();
        let cnps = out.at_rest().rows.control.iter().filter(|c| c.kind == "cnp").count();
        assert!(cnps > 100, "the load was to be marked");
    }
}
