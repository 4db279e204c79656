//! The frames of a capture from any program, with their fields by name and unit.

use backwater_wire::capture::{Captured, Item, Problem, read};
use backwater_wire::ethernet::ether_type;
use backwater_wire::frame::{Frame, Ip, Message, Numbers};
use backwater_wire::ip::{IpNumber, Ipv4HeaderSlice, Ipv6HeaderSlice};
use backwater_wire::lldp::{CiAddress, CiTlv, CnTlv};
use backwater_wire::sfcm::Scope;
use backwater_wire::uet::{CcState, Uet};
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// No value.
    None,
    /// Yes or no.
    Flag(bool),
    /// A number, in the unit in the field's name.
    Number(i64),
    /// Text, such as an address.
    Text(String),
    /// A number for each priority, from 0.
    List(Vec<Option<i64>>),
}

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Its number in the file, from 1.
    pub number: u64,
    /// Name of the interface.
    pub interface: String,
    /// \[ps\] Time stamp; `None`: it has none.
    pub time: Option<u128>,
    /// `in`, `out` or empty.
    pub direction: &'static str,
    /// The result of [`Message::name`].
    pub kind: &'static str,
    /// Addresses, tags and IP header.
    pub head: Vec<(&'static str, Value)>,
    /// The content of the message.
    pub fields: Vec<(&'static str, Value)>,
}

/// Reads a capture and passes every frame, and every problem, to `take`; a frame without a complete Ethernet header is a problem.
/// `numbers`: the EtherTypes and ports by which the capture's program sends messages that have no registered ones.
///
/// # Errors
/// [`Problem`] if `from` is no capture at all.
pub fn show<R: Read + Send>(
    from: R,
    numbers: &Numbers,
    mut take: impl FnMut(Result<Shown, Problem>),
) -> Result<(), Problem> {
    read(from, |item| match item {
        Item::Problem(problem) => take(Err(problem)),
        Item::Frame(captured) => match Frame::parse(captured.octets, numbers) {
            Ok(frame) => take(Ok(shown(&captured, &frame))),
            Err(error) => {
                let reason = format!("frame {}: {error}", captured.number);
                take(Err(Problem { offset: captured.offset, reason }));
            }
        },
    })
}

fn shown(captured: &Captured<'_>, frame: &Frame<'_>) -> Shown {
    let mut head = vec![
        ("source", Value::Text(frame.source.to_string())),
        ("destination", Value::Text(frame.destination.to_string())),
        ("length_bytes", Value::Number(captured.length.into())),
        ("captured_bytes", Value::Number(captured.octets.len() as i64)),
        ("ether_type", Value::Number(frame.ether_type.into())),
    ];
    if let Some((priority, vid)) = frame.vlan {
        head.extend([("vlan_priority", Value::Number(priority.into())), ("vlan_vid", Value::Number(vid.into()))]);
    }
    head.extend(frame.cn_tag.map(|flow| ("cn_tag_flow", Value::Number(flow.into()))));
    head.extend(frame.rate_limited.map(|cpid| ("rate_limited_cpid", Value::Text(cpid.to_string()))));
    if let Some(Ip { source, destination, dscp, ecn, ports }) = frame.ip {
        head.extend([("ip_source", Value::Text(source.to_string()))]);
        head.extend([("ip_destination", Value::Text(destination.to_string()))]);
        head.extend([("ip_dscp", Value::Number(dscp.into())), ("ip_ecn", Value::Number(ecn.into()))]);
        if let Some((from, to)) = ports {
            head.extend([("udp_source", Value::Number(from.into())), ("udp_destination", Value::Number(to.into()))]);
        }
    }
    head.extend(frame.original.map(|original| ("original_destination", Value::Text(original.to_string()))));
    Shown {
        number: captured.number,
        interface: captured.interface.to_owned(),
        time: captured.time,
        direction: ["", "in", "out", ""][usize::from(captured.direction & 3)],
        kind: frame.message.name(),
        head,
        fields: fields(&frame.message),
    }
}

/// The fields of a message, in their order in the message.
fn fields(message: &Message<'_>) -> Vec<(&'static str, Value)> {
    let number = |n: i64| Value::Number(n);
    let text = |t: &dyn ToString| Value::Text(t.to_string());
    match message {
        Message::Pause(pause) => vec![("quanta", number(pause.quanta.into()))],
        Message::Pfc(pfc) => vec![("quanta", Value::List(pfc.quanta.iter().map(|q| q.map(i64::from)).collect()))],
        Message::Cnm(cnm) => vec![
            ("feedback", number(cnm.feedback.into())),
            ("cpid", text(&cnm.cpid)),
            ("q_offset_64_bytes", number(cnm.q_offset.into())),
            ("q_delta_64_bytes", number(cnm.q_delta.into())),
            ("priority", number(cnm.priority.into())),
            ("flow_destination", text(&cnm.destination)),
            ("flow", flow_of_msdu(cnm.msdu)),
            ("encapsulated_bytes", number(cnm.msdu.len() as i64)),
        ],
        Message::Cim(cim) => vec![
            ("delete", Value::Flag(cim.delete)),
            ("flow_destination", text(&cim.destination)),
            ("flow_source", text(&cim.source)),
            ("vid", number(cim.vid.into())),
            ("flow", flow_of_msdu(cim.msdu)),
            ("encapsulated_bytes", number(cim.msdu.len() as i64)),
        ],
        Message::SfcPause(pause) => {
            vec![("dscp", number(pause.dscp.into())), ("duration_us", number(pause.duration_us.into()))]
        }
        Message::Sfcm(sfcm) => vec![
            ("stops", Value::Text(scope(sfcm.scope).to_owned())),
            ("by_proxy", Value::Flag(sfcm.by_proxy)),
            ("dscp", number(sfcm.dscp.into())),
            ("ecn", number(sfcm.ecn.into())),
            ("priority", number(sfcm.priority.into())),
            ("pause_ns", number(sfcm.pause_time.into())),
            ("depth_64_bytes", number(sfcm.depth.into())),
            ("cpid", text(&sfcm.cpid)),
            ("flow", flow_of_packet(sfcm.packet)),
            ("encapsulated_bytes", number(sfcm.packet.len() as i64)),
        ],
        Message::Bcn(bcn) => vec![
            ("mild", Value::Flag(bcn.mild)),
            ("severe", Value::Flag(bcn.severe)),
            ("cpid", text(&bcn.cpid)),
            ("q_off_64_bytes", number(bcn.q_off.into())),
            ("q_delta_64_bytes", number(bcn.q_delta.into())),
            ("flow", bcn.frame.get(12..).map_or(Value::None, flow_of_msdu)),
            ("encapsulated_bytes", number(bcn.frame.len() as i64)),
        ],
        Message::Lldp(cn, ci) => cn.iter().flat_map(cn_fields).chain(ci.iter().flat_map(ci_fields)).collect(),
        Message::Cnp(cnp) => {
            vec![("p_key", number(cnp.p_key.into())), ("queue_pair", number(cnp.destination.into()))]
        }
        Message::Roce { bth, reth, aeth, payload, icrc } => {
            let mut fields = vec![
                ("opcode", number(bth.opcode.into())),
                ("solicited", Value::Flag(bth.solicited)),
                ("migrated", Value::Flag(bth.migrated)),
                ("padding_bytes", number(bth.padding.into())),
                ("p_key", number(bth.p_key.into())),
                ("fecn", Value::Flag(bth.fecn)),
                ("becn", Value::Flag(bth.becn)),
                ("queue_pair", number(bth.destination.into())),
                ("ack_request", Value::Flag(bth.ack_request)),
                ("psn", number(bth.psn.into())),
            ];
            if let Some(reth) = reth {
                fields.push(("address", Value::Text(format!("0x{:016x}", reth.address.get()))));
                fields.extend([
                    ("key", number(reth.key.get().into())),
                    ("message_bytes", number(reth.length.get().into())),
                ]);
            }
            if let Some(aeth) = aeth {
                fields.extend([("syndrome", number(aeth.syndrome.into())), ("msn", number(aeth.msn.into()))]);
            }
            fields.push(("payload_bytes", number(*payload as i64)));
            fields.push(("icrc", icrc.map_or(Value::None, |icrc| number(icrc.into()))));
            fields
        }
        Message::Uet { header, payload } => uet_fields(header, *payload),
        Message::Other => Vec::new(),
        Message::Broken(error) => vec![("reason", text(error))],
    }
}

/// A header of UET; `payload`: the length of the rest, in octets.
fn uet_fields(header: &Uet, payload: usize) -> Vec<(&'static str, Value)> {
    let number = |n: i64| Value::Number(n);
    let pdcs = |source: u16, destination: u16| {
        [("source_pdc", Value::Number(source.into())), ("destination_pdc", Value::Number(destination.into()))]
    };
    match header {
        Uet::Request(request) => {
            let mut fields = vec![
                ("pds_type", number(if request.target.is_some() { 13 } else { 2 })),
                ("next_header", number(request.next.into())),
                ("retransmitted", Value::Flag(request.again)),
                ("ack_request", Value::Flag(request.ack_request)),
                ("syn", Value::Flag(request.syn)),
                ("clear_psn", number(request.psn.wrapping_add_signed(request.clear.into()).into())),
                ("psn", number(request.psn.into())),
            ];
            fields.extend(pdcs(request.source, request.destination));
            if let Some((ccc, target)) = request.target {
                fields.extend([("ccc", number(ccc.into())), ("credit_target_256_bytes", number(target.into()))]);
            }
            fields.push(("payload_bytes", number(payload as i64)));
            fields
        }
        Uet::Ack(ack) => {
            let mut fields = vec![
                ("pds_type", number(if ack.sack.is_some() { 8 } else { 7 })),
                ("marked", Value::Flag(ack.marked)),
                ("retransmitted", Value::Flag(ack.again)),
                if ack.probe {
                    ("probe", number((ack.offset as u16).into()))
                } else {
                    ("psn", number(ack.cumulative.wrapping_add_signed(ack.offset.into()).into()))
                },
                ("cumulative_psn", number(ack.cumulative.into())),
            ];
            fields.extend(pdcs(ack.source, ack.destination));
            if let Some(sack) = ack.sack {
                let first = ack.cumulative.wrapping_add_signed(sack.offset.into());
                let came = (0..64).filter(|bit| sack.map >> bit & 1 == 1);
                let came = came.map(|bit| Some(first.wrapping_add(bit).into())).collect();
                fields.extend([("sack_first_psn", number(first.into())), ("sack_psns", Value::List(came))]);
                fields.extend(match sack.state {
                    CcState::Nscc { service_time, penalty, received, out_of_order, .. } => vec![
                        ("service_time", number(service_time.into())),
                        ("window_penalty_128ths", number(penalty.into())),
                        ("received_256_bytes", number(received.into())),
                        ("out_of_order", number(out_of_order.into())),
                    ],
                    CcState::Credit { credit, out_of_order } => {
                        vec![("credit_256_bytes", number(credit.into())), ("out_of_order", number(out_of_order.into()))]
                    }
                });
            }
            fields
        }
        Uet::Nack(nack) => {
            let mut fields = vec![
                ("pds_type", number(10)),
                ("marked", Value::Flag(nack.marked)),
                ("retransmitted", Value::Flag(nack.again)),
                ("nack_code", number(nack.code.into())),
                ("psn", number(nack.psn.into())),
            ];
            fields.extend(pdcs(nack.source, nack.destination));
            fields
        }
        Uet::Control(control) => {
            let mut fields = vec![
                ("pds_type", number(11)),
                ("control", number(control.kind.into())),
                ("probe", number(control.probe.into())),
                ("psn", number(control.psn.into())),
                ("payload", number(control.payload.into())),
            ];
            fields.extend(pdcs(control.source, control.destination));
            fields.extend(control.credit().map(|credit| ("credit_256_bytes", number(credit.into()))));
            fields
        }
    }
}

fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Class => "class",
        Scope::Flow => "flow",
        Scope::Open => "open",
    }
}

fn cn_fields(tlv: &CnTlv) -> [(&'static str, Value); 2] {
    let bits = |octet: u8| Value::List((0..8).map(|i| Some((octet >> i & 1).into())).collect());
    [("cn_cnpv", bits(tlv.cnpv)), ("cn_ready", bits(tlv.ready))]
}

fn ci_fields(tlv: &CiTlv) -> [(&'static str, Value); 5] {
    let address = match tlv.address {
        CiAddress::None => Value::None,
        CiAddress::V4(octets) => Value::Text(Ipv4Addr::from(octets).to_string()),
        CiAddress::V6(octets) => Value::Text(Ipv6Addr::from(octets).to_string()),
    };
    [
        ("ci_queue_map", Value::List(tlv.queue_map.iter().map(|k| Some((*k).into())).collect())),
        ("ci_encapsulated_bytes", Value::Number(tlv.encapsulated.into())),
        ("ci_mac", Value::Text(tlv.mac.to_string())),
        ("ci_udp_port", Value::Number(tlv.udp_port.into())),
        ("ci_address", address),
    ]
}

/// The flow of an encapsulated MSDU, which begins with its EtherType.
fn flow_of_msdu(msdu: &[u8]) -> Value {
    match msdu.split_first_chunk() {
        Some((kind, packet)) if [ether_type::IPV4, ether_type::IPV6].contains(&u16::from_be_bytes(*kind)) => {
            flow_of_packet(packet)
        }
        _ => Value::None,
    }
}

/// The flow of an encapsulated packet, which begins with its IP header: `10.0.0.9:49153 > 10.0.0.1:4791`, without ports if it is neither
/// TCP nor UDP.
fn flow_of_packet(packet: &[u8]) -> Value {
    let (source, destination, protocol, at): (IpAddr, IpAddr, IpNumber, usize) =
        if let Ok(ip) = Ipv4HeaderSlice::from_slice(packet) {
            (ip.source_addr().into(), ip.destination_addr().into(), ip.protocol(), ip.slice().len())
        } else if let Ok(ip) = Ipv6HeaderSlice::from_slice(packet) {
            (ip.source_addr().into(), ip.destination_addr().into(), ip.next_header(), ip.slice().len())
        } else {
            return Value::None;
        };
    let ports = [IpNumber::TCP, IpNumber::UDP].contains(&protocol).then(|| packet.get(at..at + 4)).flatten();
    Value::Text(match ports {
        Some(&[a, b, c, d]) => {
            format!("{source}:{} > {destination}:{}", u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
        }
        _ => format!("{source} > {destination}"),
    })
}
