//! Oracle: an uncongested network. Store and forward has a closed form that no architecture may change, to the picosecond.

use crate::own::Bench;
use backwater_engine::Time;
use backwater_net::bench::network::network;
use backwater_net::config::{Architecture, BufferPer, LatencyAt, PacketParams, ReleaseAt, SwitchParams};
use backwater_net::{Bytes, Rate};

const ARCHITECTURES: [Architecture; 4] =
    [Architecture::OutputQueued, Architecture::SharedMemory, Architecture::InputQueued, Architecture::Voq];

/// Hosts at both ends of a chain of `switches`, over links of these rates in turn.
fn chain(switches: usize, rates: &[Rate]) -> Bench {
    let names: Vec<String> = (0..switches).map(|s| format!("s{s}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let nodes: Vec<&str> = [&["h0"], &names[..], &["h1"]].concat();
    let delay = |i: usize| Time::ns(150 + 10 * i as u64);
    let links: Vec<_> =
        nodes.windows(2).enumerate().map(|(i, n)| (n[0], n[1], rates[i % rates.len()], delay(i))).collect();
    Bench::new(network(2, &names, &links))
}

/// sum(S/R_i) + sum(prop_i) + n t_switch, one way and back, whatever the switch's architecture and the place of its latency.
#[test]
fn lone_packet_takes_the_sum_of_its_parts() {
    // 7 Gb/s does not divide a picosecond: each link rounds up for itself.
    let rates = [Rate::gbps(100), Rate::gbps(7), Rate::gbps(400), Rate::gbps(40)];
    for switches in 0..=4 {
        for architecture in ARCHITECTURES {
            for latency_at in [LatencyAt::Input, LatencyAt::Fabric, LatencyAt::Output] {
                for release_at in [ReleaseAt::Start, ReleaseAt::End] {
                    let mut bench = chain(switches, &rates);
                    bench.packet = PacketParams {
                        payload: Bytes(1000),
                        header: Bytes(62),
                        gap: Bytes(20),
                        ..PacketParams::default()
                    };
                    bench.switch = SwitchParams {
                        architecture,
                        latency_at,
                        release_at,
                        latency: Time::ns(310),
                        buffer_per: BufferPer::Switch,
                        ..SwitchParams::default()
                    };
                    bench.flow(0, 1, 777);
                    let links = switches + 1;
                    let wire = |bytes| (0..links).map(|i| rates[i % 4].time_for(Bytes(bytes)).0).sum::<u64>();
                    let flight = (0..links as u64).map(|i| 150_000 + 10_000 * i).sum::<u64>();
                    let one_way = |bytes: u64| wire(bytes + 20) + flight + switches as u64 * 310_000;
                    let out = bench.run();
                    let row = out.at_rest().flow(0);
                    let what = format!("{switches} switches, {architecture:?}, {latency_at:?}, {release_at:?}");
                    assert_eq!(row.fct_last_byte, Some(Time(one_way(777 + 62))), "{what}");
                    assert_eq!(row.fct_last_ack, Some(Time(one_way(777 + 62) + one_way(64))), "{what}");
                }
            }
        }
    }
}

/// 500 frames of 162.56 ns pipelined over 4 links and 3 switches, and the last acknowledgement back: the lone 2 MB flow that the simulator
/// behind contribution dw-chen "SFC AIDC results 2025" completes in 84.778 us.
#[test]
fn lone_2_mb_flow_over_the_studys_network() {
    for architecture in ARCHITECTURES {
        let mut bench = Bench::leaf_spine(16, 8, 8);
        bench.switch.architecture = architecture;
        bench.flow(8, 0, 2_000_000);
        let out = bench.run();
        // 503 x 162.56 + 4 x 150 + 3 x 300 out, 4 x (2.56 + 150) + 3 x 300 back
        assert_eq!(out.at_rest().flow(0).fct_last_ack, Some(Time::ps(84_777_920)), "{architecture:?}");
        assert_eq!(out.progress.data_hops, 4 * 500);
        assert_eq!(out.progress.hops, 8 * 500);
    }
}

/// In a permutation every link has one flow: each completes as if it were alone.
#[test]
fn permutation_without_collision_is_uncongested() {
    for architecture in ARCHITECTURES {
        let mut bench = Bench::leaf_spine(4, 8, 8);
        bench.switch.architecture = architecture;
        for h in 0..32 {
            let path = bench.over_spine(h, h % 8, (h + 8) % 32);
            bench.flow(h, (h + 8) % 32, 400_000).path = path;
        }
        let out = bench.run();
        // Data and acknowledgements of other flows share host links only in opposite directions, but a host's own acknowledgements
        // alternate with its data: at most 100 of 2.56 ns delay a flow, plus a frame at each of 4 links.
        let alone = 103 * 162_560 + 4 * 150_000 + 3 * 300_000 + 4 * 152_560 + 900_000;
        for row in &out.at_rest().rows.flows {
            let fct = row.fct_last_ack.expect("complete").0;
            assert!((alone..=alone + 100 * 2_560 * 4 + 4 * 162_560).contains(&fct), "{fct} {alone}");
        }
    }
}
