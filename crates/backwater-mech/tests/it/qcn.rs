//! QCN in a network: four Bernoulli sources share a port near its set point, without loss and without idling.

use crate::common::Bench;
use backwater_engine::Time;
use backwater_mech::qcn::{Halve, Params, Per};
use backwater_mech::registry::Config;
use backwater_mech::stack::Scoped;
use backwater_net::config::{BufferPer, PacketParams};
use backwater_net::spec::{SeriesSpec, Stream};
use backwater_net::topology::Star;
use backwater_net::{Bytes, Rate};

const END: Time = Time::ms(500);

fn star(hosts: u32, params: Params) -> Bench {
    let star = Star { hosts, rate: Rate::gbps(10), link_delay: Time::ns(500) };
    let mut bench = Bench::new(star.build().expect("a star"));
    bench.packet = PacketParams { payload: Bytes(1436), header: Bytes(64), gap: Bytes(0), ..PacketParams::default() };
    bench.ack.enabled = false;
    (bench.switch.buffer, bench.switch.buffer_per) = (Bytes(600_000), BufferPer::Egress);
    bench.stop_at = Some(END);
    bench.mechanisms = Config { qcn: Some(Scoped::everywhere(params)), ..Config::default() };
    bench
}

/// A Bernoulli source in slots of a frame of 1500 B at 10 Gb/s.
fn source(probability: f64) -> Stream {
    Stream::new(Time::ns(1200), probability, END)
}

/// Congestion points aim at cpQsp. Four sources of 4.9 Gb/s into 10 Gb/s: once the rates have recovered from the first cuts, after some ten
/// stages of the MIB's timer of 15 ms, the port neither idles nor loses control of the queue.
#[test]
fn queue_stands_near_the_set_point() {
    for halve in [Halve::HyperActive, Halve::AfterRecovery] {
        let mut bench = star(5, Params { halve, ..Params::default() });
        for src in 0..4 {
            bench.stream(src, 4, source(0.49));
        }
        let nodes = vec![bench.node("s0")];
        bench.series = Some(SeriesSpec {
            interval: Time::us(10),
            queues: true,
            links: true,
            pauses: false,
            flows: false,
            backlogs: false,
            nodes,
        });
        let out = bench.run();
        let port = out.port(bench.node("s0"), bench.node("h4"));
        let late = |quantity: &str| {
            let rows = out.rows.series.iter().filter(|r| r.time > Time::ms(200) && r.quantity == quantity);
            rows.filter(|r| r.port == Some(port.port)).map(|r| r.value).collect::<Vec<_>>()
        };
        let (depth, sent) = (late("queue_bytes"), late("sent_bytes"));
        let (mean, most) = (depth.iter().sum::<u64>() as f64 / 30_000.0, depth.iter().max().copied());
        let gbps = sent.iter().sum::<u64>() as f64 * 8.0 / 300e6;
        println!("{halve:?}: mean {mean:.0} B, most {most:?} B, {gbps:.3} Gb/s, {} CNMs", out.rows.control.len());
        // Increases come in small steps, and each decrease takes the queue below the set point: somewhat under it on average.
        assert!((0.85 * 26e3..1.05 * 26e3).contains(&mean), "{mean}");
        assert!(most.is_some_and(|most| most < 40_000), "{most:?}");
        assert!(gbps > 9.99, "{gbps}");
        // At first all send 19.6 Gb/s until the first sample of 150 KB and one loop later: no more than a few samples.
        assert!(port.stats.max_egress_bytes < 300_000, "{}", port.stats.max_egress_bytes);
        assert_eq!(out.progress.drops, 0);
        assert!(out.rows.control.iter().all(|row| row.kind == "cnm" && (1..64).contains(&row.value)));
        let again = bench.run_sliced(1000);
        assert_eq!((again.fingerprint, again.rows.control), (out.fingerprint, out.rows.control));
    }
}

/// One source sends to a congested and to an idle port. With a reaction point per class the second flow pays for the first.
#[test]
fn shared_reaction_points_slow_all_their_flows() {
    let received = |per| {
        let mut bench = star(6, Params { per, ..Params::default() });
        for src in 0..4 {
            bench.stream(src, 4, source(0.45));
        }
        bench.stream(0, 5, source(0.45));
        let out = bench.run();
        let share = |id| out.flow(id).received as f64 / out.flow(id).bytes as f64;
        (share(0), share(4))
    };
    let [flow, destination, class] = [Per::Flow, Per::Destination, Per::Class].map(received);
    println!("congested and idle: {flow:.3?} per flow, {destination:.3?} per destination, {class:.3?} per class");
    assert!(flow.0 < 0.9 && flow.1 > 0.999, "{flow:?}");
    assert!(destination.0 < 0.9 && destination.1 > 0.999, "{destination:?}");
    assert!(class.0 < 0.9 && class.1 < 0.9, "{class:?}");
}

/// With `[[qcn.at]]` a switch without classes has no congestion points: no messages are sent.
#[test]
fn a_switch_without_classes_sends_nothing() {
    let mut bench = star(5, Params { classes: vec![], ..Params::default() });
    bench.stop_at = Some(Time::ms(5));
    for src in 0..4 {
        bench.stream(src, 4, source(0.49));
    }
    let out = bench.run();
    assert!(out.rows.control.is_empty() && out.progress.drops > 0);
}

/// A reaction point that all flows to a destination share outlives them: a message about an ended flow still reaches it. A separate one for
/// each flow of a packet cannot help.
#[test]
fn a_shared_reaction_point_hears_of_flows_that_have_ended() {
    let drops = |per| {
        let mut bench = star(5, Params { per, ..Params::default() });
        bench.stop_at = Some(Time::ms(60));
        for n in 0..20_000u64 {
            for src in 0..4u32 {
                bench.flow(src, 4, 1_436).start = Time::ns(2_450 * n + 600 * u64::from(src));
            }
        }
        let out = bench.run();
        (out.rows.control.len(), out.progress.drops)
    };
    let (messages, lost) = drops(Per::Destination);
    assert!(messages > 100 && lost < 1_000, "{messages} messages, {lost} drops");
    let (_, lost) = drops(Per::Flow);
    assert!(lost > 30_000, "{lost} drops");
}
