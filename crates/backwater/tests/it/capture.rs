//! Frames of runs, octet by octet.

use backwater::capture::{Capture, Filter, Options, Tap, ports};
use backwater::{Scenario, build};
use backwater_mech::stage;
use backwater_net::record::{ControlRow, Row, Sink};
use backwater_wire::capture::{Item, read};
use backwater_wire::frame::{Frame, Message, Numbers};
use backwater_wire::roce::{icrc, opcode};
use backwater_wire::uet::{Ack, CcState, Request, Sack, Uet};
use std::path::Path;

/// A frame of a capture.
#[derive(Clone, Debug)]
struct Seen {
    interface: String,
    time: u128,
    outbound: bool,
    octets: Vec<u8>,
    length: u32,
}

impl Seen {
    fn frame(&self) -> Frame<'_> {
        Frame::parse(&self.octets, &Numbers::default()).unwrap()
    }
}

/// Keeps the rows of control messages.
#[derive(Default)]
struct Rows(Vec<ControlRow>);

impl Sink for Rows {
    fn row(&mut self, row: Row<'_>) {
        if let Row::Control(row) = row {
            self.0.push(row.clone());
        }
    }
}

fn run(scenario: &Scenario, options: &Options) -> (Vec<Seen>, Vec<ControlRow>) {
    let resolved = scenario.check().unwrap_or_else(|e| panic!("{e}"));
    let spec = build(&resolved, 1).unwrap_or_else(|e| panic!("{e}"));
    let at = ports(&spec.graph, &options.ports).unwrap_or_else(|e| panic!("{e}"));
    let mut file = Vec::new();
    let mut rows = Rows::default();
    {
        let mut capture = Capture::new(&mut file, &spec, &at, options).unwrap_or_else(|e| panic!("{e:?}"));
        let mut network = stage::build(spec).unwrap_or_else(|e| panic!("{e}"));
        assert!(at.iter().all(|(node, port)| network.capture_at(*node, *port)));
        let mut sink = Tap { tables: &mut rows, capture: Some(&mut capture) };
        while !stage::run(&mut network, 1_000_000, &mut sink).unwrap_or_else(|e| panic!("{e:?}")).done {}
        network.finish(&mut sink);
        capture.finish().unwrap();
    }
    let mut seen = Vec::new();
    let take = |item: Item<'_>| match item {
        Item::Problem(problem) => panic!("{problem:?}"),
        Item::Frame(f) => seen.push(Seen {
            interface: f.interface.to_owned(),
            time: f.time.unwrap(),
            outbound: f.direction == 2,
            octets: f.octets.to_vec(),
            length: f.length,
        }),
    };
    read(&file[..], take).unwrap();
    (seen, rows.0)
}

fn scenario(text: &str) -> Scenario {
    Scenario::from_text(text, "net.toml", Path::new(".")).unwrap_or_else(|e| panic!("{e}"))
}

fn shipped(name: &str, set: &[(&str, &str)]) -> Scenario {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name);
    let first = Scenario::load(&file).unwrap_or_else(|e| panic!("{e}"));
    set.iter().fold(first, |s, (k, v)| s.with_set(k, v).unwrap_or_else(|e| panic!("{e}")))
}

fn all(kinds: &[&str]) -> Options {
    let kinds: Vec<_> = kinds.iter().map(|kind| (*kind).to_owned()).collect();
    Options { ports: "all".into(), filter: Filter::new(&kinds, &[]).unwrap(), ..Options::default() }
}

const STAR: &str = "[topology]\nkind = \"star\"\nhosts = 3\nrate = \"100 Gb/s\"\nlink_delay = \"500 ns\"\n\
                    [packet]\npayload = \"1000 B\"\n[switch]\nlatency = \"300 ns\"\nbuffer_per = \"none\"\n";

#[test]
fn a_flow_octet_by_octet() {
    let text = format!("{STAR}[[flow]]\nfrom = \"h2\"\nto = \"h0\"\nsize = \"2401 B\"\n");
    let (seen, _) = run(&scenario(&text), &all(&["data", "ack"]));
    let data: Vec<_> = seen.iter().filter(|s| s.outbound && s.interface == "h2/0").collect();
    assert_eq!(data.len(), 3);
    let expected =
        [(opcode::SEND_FIRST, 0, 1000, 0), (opcode::SEND_MIDDLE, 1, 1000, 0), (opcode::SEND_LAST, 2, 401, 3)];
    for (seen, (op, psn, bytes, pad)) in data.iter().zip(expected) {
        let frame = seen.frame();
        let Message::Roce { bth, payload, icrc: Some(crc), reth: None, aeth: None } = frame.message else {
            panic!("{frame:?}")
        };
        assert_eq!((bth.opcode, bth.psn, payload, u32::from(bth.padding)), (op, psn, bytes, pad));
        assert_eq!(seen.octets[..14], [2, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 8, 0]);
        // IPv4: no options, DSCP CS3 and ECT(0), length, don't fragment, 64 hops, UDP, 10.0.0.3 to 10.0.0.1.
        let ip = &seen.octets[14..];
        let total = 20 + 8 + 12 + bytes as u16 + pad as u16 + 4;
        assert_eq!(ip[..4], [0x45, 0x62, (total >> 8) as u8, total as u8]);
        assert_eq!((&ip[6..10], &ip[12..20]), (&[0x40, 0, 64, 17][..], &[10, 0, 0, 3, 10, 0, 0, 1][..]));
        let sum = ip[..20].chunks(2).fold(0u32, |sum, w| sum + u32::from(u16::from_be_bytes([w[0], w[1]])));
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff, "header checksum");
        assert_eq!(icrc(&ip[..usize::from(total) - 4]), Ok(crc));
        assert_eq!((frame.ip.unwrap().ports.unwrap().1, ip[26], ip[27]), (4791, 0, 0), "no UDP checksum");
        // 62 B of headers in the model, with 4 of frame check sequence; padding is the protocol's own.
        assert_eq!(seen.length, 14 + u32::from(total));
    }
    // 1062 B and the gap at 100 Gb/s, 500 ns, and the same behind 300 ns of switch.
    let times = |interface: &str, outbound: bool, kind: &str| -> Vec<u128> {
        let at = seen.iter().filter(|s| s.interface == interface && s.outbound == outbound);
        at.filter(|s| s.frame().message.name() == kind).map(|s| s.time).collect()
    };
    let on_wire = 1082 * 80;
    assert_eq!(times("h2/0", true, "data")[0], on_wire);
    assert_eq!(times("s0/2", false, "data")[0], on_wire + 500_000);
    assert_eq!(times("s0/0", true, "data")[0], 2 * on_wire + 800_000);
    assert_eq!(times("h0/0", false, "data")[0], 2 * on_wire + 1_300_000);
    // Three ACKs: opcode 0x11, PSN of what they acknowledge, from h0 to h2.
    let acks: Vec<_> = seen.iter().filter(|s| s.outbound && s.interface == "h0/0").collect();
    let psns = acks.iter().map(|seen| match seen.frame().message {
        Message::Roce { bth, aeth: Some(aeth), payload: 0, .. } => (bth.opcode, bth.psn, aeth.syndrome),
        other => panic!("{other:?}"),
    });
    assert_eq!(psns.collect::<Vec<_>>(), [0, 1, 2].map(|psn| (0x11, psn, 0x1f)));
    assert!(acks.iter().all(|seen| seen.octets[..12] == [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 0]));
}

#[test]
fn frames_longer_than_their_headers_are_filled_up_and_snapped() {
    let text = format!("{STAR}[[flow]]\nfrom = \"h2\"\nto = \"h0\"\nsize = \"100 B\"\n");
    let long = scenario(&text).with_set("packet.header", "162 B").unwrap();
    let (seen, _) = run(&long, &all(&["data"]));
    assert_eq!((seen[0].length, seen[0].octets.len()), (258, 258));
    assert!(matches!(seen[0].frame().message, Message::Roce { payload: 100, icrc: Some(_), .. }));
    let (seen, _) = run(&long, &all(&["data"]).bounded(Some("60 B"), None).unwrap());
    assert_eq!((seen[0].length, seen[0].octets.len()), (258, 60));
    assert!(matches!(seen[0].frame().message, Message::Roce { payload: 100, icrc: None, .. }), "the ICRC is cut off");
}

/// Congestion isolation: each CIM of the table leaves its bridge, in each encapsulation, as long as the model has it.
#[test]
fn cims_in_three_forms() {
    for (form, headers) in [("l2", 0), ("ipv4", 28), ("ipv6", 48)] {
        let scenario = shipped("ci-victim.toml", &[("ci.cim_type", form), ("ci.cim_threshold", "10 KB")]);
        let (seen, rows) = run(&scenario, &all(&["cim"]));
        let rows: Vec<_> = rows.iter().filter(|row| row.kind == "cim").collect();
        let out: Vec<_> = seen.iter().filter(|s| s.outbound).collect();
        assert!(!rows.is_empty() && rows.len() == out.len(), "{form}: {} {}", rows.len(), out.len());
        for seen in out {
            let frame = seen.frame();
            let Message::Cim(cim) = frame.message else { panic!("{frame:?}") };
            assert_eq!((cim.delete, cim.vid, cim.msdu.len(), &cim.msdu[..3]), (false, 0, 48, &[8, 0, 0x45][..]));
            // The flow's addresses are those of the encapsulated packet.
            let host = |mac: backwater_wire::address::Mac| mac.0[5] + 1;
            assert_eq!([host(cim.source), host(cim.destination)], [cim.msdu[2 + 15], cim.msdu[2 + 19]]);
            assert_eq!(seen.length, 18 + headers + 18 + 48, "as long as the model's, which has a frame check sequence");
            assert_eq!(frame.vlan, Some((6, 0)), "its class");
            assert_eq!(frame.source.0[..2], [2, 1], "a bridge");
            assert_eq!(frame.ip.map(|ip| ip.ports), (form != "l2").then_some(Some((61186, 61186))));
        }
    }
}

/// Two senders fill the port to h0. The model's frames of 122 and 78 B are as long as their headers with the frame check sequence, which a
/// capture does not have.
#[test]
fn a_fast_cnp_names_the_receiver_and_its_queue_pair() {
    let flows = "[fast_cnp]\nthreshold = \"3 KB\"\n[dcqcn]\nrai = \"100 Mb/s\"\n\
                 [[flow]]\nfrom = [1, 2]\nto = 0\nsize = \"100 KB\"\n";
    for (told, length) in [("sender", 122 - 4), ("proxy", 78 - 4)] {
        let scenario = scenario(&format!("{STAR}{flows}")).with_set("fast_cnp.notify", told).unwrap();
        let (seen, rows) = run(&scenario, &all(&["cnp", "data"]));
        let queue_pair = |host: u8| {
            seen.iter().filter(|s| s.octets[11] == host).find_map(|s| match s.frame().message {
                Message::Roce { bth, .. } => Some(bth.destination),
                _ => None,
            })
        };
        let cnps: Vec<_> = seen.iter().filter(|s| s.outbound && matches!(s.frame().message, Message::Cnp(_))).collect();
        assert!(!cnps.is_empty() && cnps.len() == rows.len(), "{told}: {} {}", cnps.len(), rows.len());
        for seen in cnps {
            let frame = seen.frame();
            let Message::Cnp(cnp) = frame.message else { panic!("{frame:?}") };
            assert_eq!((seen.length, Some(cnp.destination)), (length, queue_pair(seen.octets[5])), "{told}");
            assert_eq!((&frame.source.0[..2], frame.ip.unwrap().dscp), (&[2, 1][..], 48), "{told}: a switch, class 6");
            // 10.0.0.1 is h0.
            let original = (told == "sender").then(|| "fd00::a00:1".parse().unwrap());
            assert_eq!(frame.original, original, "{told}");
            let packet = &seen.octets[14..];
            let end = packet.len() - 4;
            assert_eq!(packet[end..], icrc(&packet[..end]).unwrap().to_le_bytes(), "{told}");
        }
    }
}

/// QCN: the message's content equals that of the table, in units of 64 octets.
#[test]
fn a_cnm_goes_to_the_source_of_the_sampled_frame() {
    let (seen, rows) = run(&shipped("qcn-hot-spot.toml", &[]), &all(&["cnm"]));
    let rows: Vec<_> = rows.iter().filter(|row| row.kind == "cnm").collect();
    assert!(rows.len() > 5);
    let mut values: Vec<_> = rows.iter().map(|row| (row.to.unwrap().0, row.value)).collect();
    let mut reported = Vec::new();
    for s in seen.iter().filter(|s| s.outbound && s.octets[6..8] == [2, 1]) {
        let Message::Cnm(cnm) = s.frame().message else { panic!() };
        if s.interface.split('/').next() == Some(node_of(&cnm.cpid).as_str()) {
            reported.push((u32::from(s.octets[5]), u64::from(cnm.feedback)));
            // Fb = -(q_off + w q_delta) < 0, w = 2: the queue is above its set point, or grows.
            assert!(i32::from(cnm.q_offset) < 2 * i32::from(cnm.q_delta) + 1, "{cnm:?}");
            assert_eq!((cnm.msdu.len(), s.frame().vlan.map(|v| v.1)), (64, Some(0)));
        }
    }
    values.sort_unstable();
    reported.sort_unstable();
    assert_eq!(values, reported);

    fn node_of(cpid: &backwater_wire::address::Cpid) -> String {
        let node = u32::from_be_bytes(cpid.bridge.0[2..].try_into().unwrap()) >> 12;
        // Hosts come first in the topology.
        format!("s{}", node - hosts())
    }

    fn hosts() -> u32 {
        let spec = build(&shipped("qcn-hot-spot.toml", &[]).check().unwrap(), 1).unwrap();
        spec.graph.nodes.iter().filter(|node| node.name.starts_with('h')).count() as u32
    }
}

#[test]
fn ports_are_named_in_five_ways() {
    let text = format!("{STAR}[[flow]]\nfrom = \"h2\"\nto = \"h0\"\nsize = \"1 KB\"\n");
    let graph = build(&scenario(&text).check().unwrap(), 1).unwrap().graph;
    let count = |list: &str| ports(&graph, list).map(|found| found.len());
    assert_eq!(
        (count("all"), count("s0"), count("s0/1"), count("s0:h2"), count("h0, h1 ,h0")),
        (Ok(6), Ok(3), Ok(1), Ok(1), Ok(2))
    );
    let reported = |list: &str| ports(&graph, list).unwrap_err().to_string();
    assert_eq!(reported("s0/3"), "capture.ports: `s0/3` names no port\nhint: s0 has the ports 0 to 2");
    assert_eq!(reported("s0/x"), "capture.ports: `s0/x` names no port\nhint: s0 has the ports 0 to 2");
    assert!(reported("").starts_with("capture.ports: `` names no port"));
    assert!(reported("h9").contains("give all, a tier, a node, node/port or node:peer"));
}

/// Four senders into one port with little memory, under RCCC or without.
fn unordered(credit: &str) -> Scenario {
    let text = format!(
        "[topology]\nkind = \"star\"\nhosts = 5\nrate = \"100 Gb/s\"\nlink_delay = \"500 ns\"\n\
         [packet]\npayload = \"1000 B\"\nheader = \"64 B\"\n[ack]\nsize = \"64 B\"\nclass = 6\n\
         [switch]\nbuffer = \"20 KB\"\nbuffer_per = \"queue\"\n\
         [transport]\nrecovery = \"rud\"\nwindow = \"30 KB\"\n[trim]\n{credit}\
         [[flow]]\nfrom = \"1..4\"\nto = \"h0\"\nsize = \"100500 B\"\n"
    );
    scenario(&text)
}

/// UET at both ends of the bottleneck: every octet of the headers from the numbers of the run.
#[test]
fn unordered_delivery_is_put_down_as_uet() {
    let (seen, _) = run(&unordered(""), &all(&[]));
    let at = |interface: &'static str, outbound: bool| {
        seen.iter().filter(move |seen| seen.interface == interface && seen.outbound == outbound)
    };
    let header = |seen: &Seen| match seen.frame().message {
        Message::Uet { header, payload } => (header, payload),
        other => panic!("{other:?}"),
    };
    // The first packet of a sender: type 2, PSN 0, no SYN; 14 + 20 + 8 + 12 octets of the 60 that the model counts before the FCS.
    let first = at("h1/0", true).next().unwrap();
    assert_eq!((first.length, &first.octets[42..50]), (1060, &[0x10, 0, 0, 0, 0, 0, 0, 0][..]));
    assert_eq!((first.frame().ip.unwrap().dscp, first.frame().ip.unwrap().ports.unwrap().1), (24, 4793));
    // All 101 packets of each leave, those that are retransmitted with the bit; the last has 500 octets.
    for host in ["h1/0", "h2/0", "h3/0", "h4/0"] {
        let sent: Vec<_> = at(host, true).map(header).collect();
        let mut new: Vec<_> = sent
            .iter()
            .filter_map(|(header, payload)| match header {
                Uet::Request(request) if !request.again => Some((request.psn, *payload)),
                _ => None,
            })
            .collect();
        new.sort_unstable();
        assert_eq!(new, (0..101).map(|psn| (psn, if psn == 100 { 500 } else { 1000 })).collect::<Vec<_>>());
        assert!(sent.len() > 101, "{host}: nothing was retransmitted");
    }
    // A trimmed packet has 64 B less the FCS, no payload, and the code point of the last hop in class 6: CS6 and 7.
    let cut: Vec<_> = at("h0/0", false).filter(|seen| seen.frame().ip.unwrap().dscp == 55).collect();
    let whole = at("h0/0", false).filter(|seen| seen.frame().ip.unwrap().dscp == 24).count();
    assert!(!cut.is_empty() && cut.len() + whole == at("h0/0", false).count());
    assert!(cut.iter().all(|seen| seen.length == 60 && matches!(header(seen), (Uet::Request(_), 0))));
    // Each of them is answered by a NACK with its PSN, in order; the NACK is as long as the model has it.
    let answers: Vec<_> = at("h0/0", true).map(|seen| (seen.length, header(seen).0)).collect();
    let named: Vec<_> = answers
        .iter()
        .filter_map(|(length, header)| match header {
            Uet::Nack(nack) => Some((*length, nack.code, nack.psn, nack.destination)),
            _ => None,
        })
        .collect();
    let expected = cut.iter().map(|seen| match header(seen).0 {
        Uet::Request(request) => (60, 2, request.psn, request.source),
        other => panic!("{other:?}"),
    });
    assert_eq!(named, expected.collect::<Vec<_>>());
    // An ACK_CC takes 74 octets, more than the model's 64 B. The last of each flow has all: 101 packets of 64 B and their payload.
    let all: Vec<_> = answers
        .iter()
        .filter_map(|(length, header)| match header {
            Uet::Ack(Ack {
                cumulative: 100, sack: Some(Sack { state: CcState::Nscc { received, .. }, .. }), ..
            }) => Some((*length, *received)),
            _ => None,
        })
        .collect();
    assert!(all.len() >= 4 && all.iter().all(|one| *one == (74, (100_500 + 101 * 64) / 256)), "{all:?}");
    // A map shows packets beyond a gap, and none that are acknowledged cumulatively.
    let maps = answers.iter().filter_map(|(_, header)| match header {
        Uet::Ack(Ack { sack: Some(sack), .. }) if sack.map != 0 => Some(sack),
        _ => None,
    });
    let lowest = |sack: &Sack| i64::from(sack.offset) + i64::from(sack.map.trailing_zeros());
    assert!(maps.clone().count() > 0 && maps.clone().all(|sack| lowest(sack) > 1));
}

/// Pulls and requests have the numbers of the table, in 24 bits, and data carries targets.
#[test]
fn credit_is_put_down_as_control_packets_of_uet() {
    let (seen, rows) = run(&unordered("[rccc]\nnetwork_rtt = \"4 us\"\n"), &all(&[]));
    let credits: Vec<_> = seen
        .iter()
        .filter(|seen| seen.outbound && seen.interface == "h0/0" && seen.frame().message.name() == "uet")
        .map(|seen| match seen.frame().message {
            Message::Uet { header: Uet::Control(control), payload: 0 } => (seen.length, control.kind, control.credit()),
            other => panic!("{other:?}"),
        })
        .collect();
    let pulls = rows.iter().filter(|row| row.kind == "pull");
    let expected = pulls.map(|row| (60, 7, Some((row.value % (1 << 24)) as u32)));
    assert!(!credits.is_empty());
    assert_eq!(credits, expected.collect::<Vec<_>>());
    let targets = seen.iter().filter(|seen| seen.outbound && seen.interface == "h1/0").map(|seen| seen.frame().message);
    assert!(targets.clone().all(|message| matches!(
        message,
        Message::Uet { header: Uet::Request(Request { target: Some((0, _)), .. }) | Uet::Control(_), .. }
    )));
    // Type 13 with its target takes 58 octets of headers.
    let first = seen.iter().find(|seen| seen.interface == "h1/0").unwrap();
    assert_eq!((first.octets[42] >> 3, first.length), (13, 1060));
}

/// The last of nine packets is lost, so a probe asks: a control packet of type 6 with the number 1. The answer repeats the number with the
/// flag P, and counts eight packets of 1064 B.
#[test]
fn a_probe_and_its_answer_are_put_down_as_uet() {
    let text = "[topology]\nkind = \"star\"\nhosts = 2\nrate = \"100 Gb/s\"\nlink_delay = \"500 ns\"\n\
         [packet]\npayload = \"1000 B\"\nheader = \"64 B\"\n[ack]\nsize = \"64 B\"\n\
         [transport]\nrecovery = \"rud\"\n[nscc]\nsleek = true\nnetwork_rtt = \"3 us\"\n\
         [[flow]]\nfrom = \"h1\"\nto = \"h0\"\nsize = \"9 KB\"\nstart = \"1 us\"\n\
         [[fault]]\nkind = \"drop-nth\"\nfrom = \"s0\"\nto = \"h0\"\nframe = \"data\"\nnth = 9\n";
    let (seen, _) = run(&scenario(text), &all(&[]));
    let at = |interface: &'static str| {
        seen.iter().filter(move |seen| seen.interface == interface && seen.outbound).map(|seen| seen.frame().message)
    };
    let probes: Vec<_> =
        at("h1/0").filter(|message| matches!(message, Message::Uet { header: Uet::Control(_), .. })).collect();
    let [Message::Uet { header: Uet::Control(probe), payload: 0 }] = probes[..] else { panic!("{probes:?}") };
    assert_eq!((probe.kind, probe.probe), (6, 1));
    let answers: Vec<_> = at("h0/0")
        .filter_map(|message| match message {
            Message::Uet { header: Uet::Ack(ack), .. } if ack.probe => {
                let CcState::Nscc { received, .. } = ack.sack?.state else { return None };
                Some((ack.offset, ack.cumulative, received, ack.destination))
            }
            _ => None,
        })
        .collect();
    assert_eq!(answers, [(1, 7, 8 * 1064 / 256, probe.source)]);
}
