//! Frames of the model as octets.
//!
//! The model knows lengths, addresses, numbers and marks, not payload. A frame therefore contains:
//!
//! - **Data**: Ethernet, IPv4, UDP to port 4791, BTH, payload of zeros, padding, ICRC. The opcode is SEND first, middle, last or only, the
//!   PSN the offset of the first payload byte divided by `packet.payload`, the queue pair 24 bits of a hash of the flow's identity, the
//!   UDP source port 14 of them. The DSCP is the class selector of the priority in which the host sent it (priority times 8, RFC 2474);
//!   bridges here add no VLAN tag.
//! - **Acknowledgements**: opcode 0x11, AETH. The PSN is that of the last packet received in order. A NACK has the PSN expected next; a
//!   NACK from a switch (`trim.to = "source"`) has that of the lost packet. If the data packet was marked, BECN is set: the model's ACK
//!   echoes the mark.
//! - **With reliable unordered delivery** (`transport.recovery = "rud"`) data and acknowledgements are those of UET instead ([`rud`]).
//! - **Trimmed packets** have the DSCP of their class on the link, and in its lower bits 3, or 7 if they were trimmed at the port to their
//!   receiver.
//! - **Control frames**: the content from their mechanism, addressed from the switch or host that sent them to their destination. An
//!   encapsulated data packet is as its source sends it: a middle one (PSN 0), not yet marked.
//! - **Pause signals** without a frame in the model are written as the equivalent frame; one that lasts until it is lifted has the longest
//!   time, 65535 quanta.
//! - **Length**: the model's, less 4 octets of frame check sequence, filled up with zeros behind the packet. If the scenario counts fewer
//!   bytes of headers than these are, the frame in the file is longer than the model's. A length beyond IP's range is written as 65535.

mod rud;

use backwater_mech::registry::Config;
use backwater_net::address::{host_ip, host_mac, ip6, port_mac, switch_ip, switch_mac};
use backwater_net::config::TransportParams;
use backwater_net::hooks::{Carrier, WireCx};
use backwater_net::packet::{
    AckHeader, Body, Control, ControlHeader, DataHeader, DsField, Dscp, Ecn, Gap, HostId, NodeId, Packet, Port,
};
use backwater_net::pause::PauseRequest;
use backwater_net::record::{FlowIdentity, FrameRow};
use backwater_net::topology::{Graph, GraphError, PortEnd};
use backwater_wire::Emit;
use backwater_wire::address::Mac;
use backwater_wire::ethernet::{SHORTEST, ether_type};
use backwater_wire::ip::{Datagram, ROCE_PORT};
use backwater_wire::pause::Pause;
use backwater_wire::pfc::Pfc;
use backwater_wire::roce::{Aeth, Bth, opcode};
use std::net::Ipv4Addr;

/// First of the UDP source ports that carry entropy (dynamic range, RFC 6335).
const ENTROPY: u16 = 0xc000;
/// EtherType of frames that no mechanism encodes: local experimental EtherType 2 (IEEE 802 clause 9.2.4), followed by the kind's name.
const UNKNOWN: u16 = 0x88b6;

/// \[octets\] of a packet that messages may encapsulate: CNM and BCN take 64, CIM 48 by default and 512 at most.
const SAMPLED: usize = 512;

/// Turns rows into octets.
pub struct Renderer {
    mechanisms: Config,
    /// \[bytes\] `packet.payload`
    payload: u64,
    /// True if data and acknowledgements are UET's.
    unordered: bool,
    /// Host of a node, by node number.
    hosts: Vec<Option<HostId>>,
    ports: Vec<Vec<PortEnd>>,
}

impl Renderer {
    /// A renderer for the frames of a run.
    ///
    /// # Errors
    /// The graph is not valid.
    pub fn new(
        graph: &Graph,
        mechanisms: &Config,
        payload: u64,
        transport: &TransportParams,
    ) -> Result<Renderer, GraphError> {
        let mut hosts = vec![None; graph.nodes.len()];
        graph.hosts().zip(0..).for_each(|(node, number)| hosts[node.0 as usize] = Some(HostId(number)));
        Ok(Renderer {
            mechanisms: mechanisms.clone(),
            payload: payload.max(1),
            unordered: transport.acknowledges_packets(),
            hosts,
            ports: graph.ports()?,
        })
    }

    /// Encodes a frame, without its frame check sequence, into `octets`, which are cleared first.
    pub fn render(&self, row: &FrameRow, octets: &mut Vec<u8>) {
        octets.clear();
        match (row.packet.body, &row.control) {
            (Body::Control(header) | Body::Mac(header), Some(frame)) => self.control(row, frame, header, octets),
            (Body::Data(data), _) if self.unordered => self.request(&row.packet, data, octets),
            (Body::Ack(ack), _) if self.unordered => self.answer(&row.packet, ack, row.report, octets),
            (Body::Data(data), _) => {
                let whole = row.flow.map_or((0, 0), |flow| (flow.from, flow.from + flow.bytes));
                self.data(&row.packet, data, whole, octets);
            }
            (Body::Ack(ack), _) => self.ack(&row.packet, ack, octets),
            (Body::Control(_) | Body::Mac(_), None) => {}
        }
        let model = row.packet.size.saturating_sub(4) as usize;
        octets.resize(octets.len().max(model).max(SHORTEST), 0);
    }

    /// The packet sequence number at an offset.
    fn psn(&self, offset: u64) -> u32 {
        (offset / self.payload) as u32 & 0xff_ffff
    }

    /// Encodes data; `begin` and `end` are the offsets of its message.
    fn data(&self, packet: &Packet, data: DataHeader, (begin, end): (u64, u64), octets: &mut Vec<u8>) {
        ethernet(octets, host_mac(packet.dst), host_mac(data.src));
        let at = octets.len();
        if let Some(tag) = self.mechanisms.tag_octets(packet.tag, octets) {
            octets.splice(at..at, tag.to_be_bytes());
        }
        let padding = (4 - data.payload % 4) % 4;
        let bth = Bth {
            opcode: match (data.offset == begin, data.end() >= end) {
                (true, true) => opcode::SEND_ONLY,
                (true, false) => opcode::SEND_FIRST,
                (false, true) => opcode::SEND_LAST,
                (false, false) => opcode::SEND_MIDDLE,
            },
            padding: padding as u8,
            ack_request: true,
            psn: self.psn(data.offset),
            ..bth_of(packet.flow.tag)
        };
        let mut body = Vec::new();
        let written = bth.append(&mut body);
        debug_assert!(written.is_ok(), "every field is cut to its width");
        body.resize(body.len() + (data.payload + padding) as usize, 0);
        let ports = roce_ports(packet.flow.tag);
        datagram((host_ip(data.src), host_ip(packet.dst)), ds_of(packet, data), ports, &body, true).append(octets);
    }

    fn ack(&self, packet: &Packet, ack: AckHeader, octets: &mut Vec<u8>) {
        ethernet(octets, host_mac(packet.dst), host_mac(ack.src));
        let nack = ack.is_nack();
        let psn = self.psn(match ack.gap {
            Some(Gap::Returned { at, .. }) => at,
            _ if nack => ack.received,
            _ => ack.received.saturating_sub(1),
        });
        let becn = packet.ecn() == Ecn::Ce;
        let bth = Bth { opcode: opcode::ACKNOWLEDGE, becn, psn, ..bth_of(packet.flow.tag) };
        let syndrome = if nack { Aeth::NAK_SEQUENCE } else { Aeth::ACK };
        let mut body = Vec::new();
        let written = bth.append(&mut body).and_then(|()| Aeth { syndrome, msn: 0 }.append(&mut body));
        debug_assert!(written.is_ok(), "every field is cut to its width");
        // An ACK carries the mark of its data packet, not one of its own.
        let ds = DsField::new(packet.ds.dscp(), Ecn::NotEct);
        let ports = roce_ports(packet.flow.tag);
        datagram((host_ip(ack.src), host_ip(packet.dst)), ds, ports, &body, true).append(octets);
    }

    /// MAC control and mechanisms' frames.
    fn control(&self, row: &FrameRow, frame: &Control, header: ControlHeader, octets: &mut Vec<u8>) {
        let speaker = header.from;
        let hears = if row.outbound { self.across(row).map(|end| end.peer) } else { Some(row.node) };
        if PauseRequest::read(frame).is_some() {
            return self.mac_control(row, frame, octets);
        }
        let mut sampled = Vec::new();
        let mut flow = (Mac::default(), Mac::default());
        if let Some(of) = &row.flow {
            flow = (host_mac(of.src), host_mac(of.dst));
            self.sample(frame, of, &mut sampled);
        }
        let mut body = Vec::new();
        let cx = WireCx { speaker: self.mac_of(speaker), flow, packet: &sampled };
        let carrier = Config::octets(frame, &cx, &mut body).unwrap_or_else(|| {
            body.clear();
            body.extend(frame.kind.as_bytes());
            Carrier::Link(UNKNOWN)
        });
        // A frame without a host is for the neighbour.
        let (mac, destination) = match (header.to, hears) {
            (Some(host), _) => (host_mac(host), host_ip(host)),
            (None, Some(node)) => (self.mac_of(node), self.ip_of(node)),
            (None, None) => (Mac::default(), Ipv4Addr::UNSPECIFIED),
        };
        ethernet(octets, mac, cx.speaker);
        let ds = DsField::new(row.packet.ds.dscp(), Ecn::NotEct);
        let addresses = (self.ip_of(speaker), destination);
        if matches!(carrier, Carrier::Tagged(_) | Carrier::TaggedUdp(_) | Carrier::TaggedUdp6(_)) {
            octets.extend(ether_type::VLAN.to_be_bytes());
            octets.extend((u16::from(row.packet.class.0) << 13).to_be_bytes());
        }
        match carrier {
            Carrier::Link(kind) | Carrier::Tagged(kind) => octets.extend(kind.to_be_bytes().iter().chain(&body)),
            Carrier::Udp(port) | Carrier::TaggedUdp(port) => {
                datagram(addresses, ds, (port, port), &body, false).append(octets);
            }
            Carrier::TaggedUdp6(port) => {
                let addresses = (ip6(addresses.0).into(), ip6(addresses.1).into());
                let (ds, ports) = (ds.octet(), (port, port));
                Datagram { addresses, ds, ports, payload: &body, roce: false }.append(octets);
            }
            Carrier::Roce => {
                let ports = roce_ports(frame.flow.map_or(0, |flow| flow.tag));
                datagram(addresses, ds, ports, &body, true).append(octets);
            }
            Carrier::Roce6(options) => {
                let addresses = (ip6(addresses.0).into(), ip6(addresses.1).into());
                let (options, payload) = body.split_at(options.min(body.len()));
                let (ds, ports) = (ds.octet(), roce_ports(frame.flow.map_or(0, |flow| flow.tag)));
                Datagram { addresses, ds, ports, payload, roce: true }.append_behind(options, octets);
            }
        }
    }

    /// The first octets of a packet of the flow that a control frame names.
    fn sample(&self, frame: &Control, flow: &FlowIdentity, octets: &mut Vec<u8>) {
        let tag = frame.flow.map_or(0, |flow| flow.tag);
        let bth = Bth { opcode: opcode::SEND_MIDDLE, ..bth_of(tag) };
        let mut body = Vec::new();
        let written = bth.append(&mut body);
        debug_assert!(written.is_ok(), "every field is cut to its width");
        body.resize(body.len() + self.payload.min(u16::MAX.into()) as usize, 0);
        let addresses = (host_ip(flow.src), host_ip(flow.dst));
        datagram(addresses, flow.ds, roce_ports(tag), &body, true).append(octets);
        octets.drain(..2); // the EtherType
        octets.truncate(SAMPLED);
    }

    fn mac_control(&self, row: &FrameRow, frame: &Control, octets: &mut Vec<u8>) {
        let sender = if row.outbound {
            Some((row.node, row.port))
        } else {
            self.across(row).map(|end| (end.peer, end.peer_port))
        };
        ethernet(octets, Mac::CONTROL, sender.map_or_else(Mac::default, |(node, port)| self.at(node, port)));
        octets.extend(ether_type::MAC_CONTROL.to_be_bytes());
        let mut pfc = Pfc::default();
        let mut pause = None;
        for hold in PauseRequest::each(frame) {
            // A signal that lasts until it is lifted has no time: the longest one stands for it.
            let quanta = if hold.lasting { u16::MAX } else { hold.quanta };
            match hold.class.map(|class| pfc.quanta.get_mut(usize::from(class.0))) {
                None => pause = Some(Pause { quanta }),
                Some(place) => place.into_iter().for_each(|place| *place = Some(quanta)),
            }
        }
        let written = match pause {
            Some(pause) => pause.append(octets),
            None => pfc.append(octets),
        };
        debug_assert!(written.is_ok(), "neither has a field that could be too small");
    }

    fn host(&self, node: NodeId) -> Option<HostId> {
        self.hosts.get(node.0 as usize).copied().flatten()
    }

    fn mac_of(&self, node: NodeId) -> Mac {
        self.host(node).map_or_else(|| switch_mac(node), host_mac)
    }

    fn ip_of(&self, node: NodeId) -> Ipv4Addr {
        self.host(node).map_or_else(|| switch_ip(node), host_ip)
    }

    /// Address of a port.
    fn at(&self, node: NodeId, port: Port) -> Mac {
        self.host(node).map_or_else(|| port_mac(node, port), host_mac)
    }

    /// The other end of the link.
    fn across(&self, row: &FrameRow) -> Option<&PortEnd> {
        self.ports.get(row.node.0 as usize)?.get(usize::from(row.port.0))
    }
}

/// The local-use code point (RFC 2474, section 6: xxxx11) of a trimmed packet's class, which shows where it was trimmed.
const TRIMMED: u8 = 3;
const TRIMMED_LASTHOP: u8 = 7;

/// DS field of a data packet on the link. For a trimmed packet it shows the trimming, and the packet's class.
fn ds_of(packet: &Packet, data: DataHeader) -> DsField {
    if !data.is(DataHeader::CUT) {
        return packet.ds;
    }
    let place = if data.is(DataHeader::LAST_HOP) { TRIMMED_LASTHOP } else { TRIMMED };
    DsField::new(Dscp(Dscp::of(packet.class).0 | place), packet.ecn())
}

/// Source port of a flow, which carries its entropy, and that of RoCEv2.
fn roce_ports(tag: u32) -> (u16, u16) {
    (ENTROPY | tag as u16 & !ENTROPY, ROCE_PORT)
}

/// Returns the common header of a flow's packets: its queue pair.
fn bth_of(tag: u32) -> Bth {
    Bth { destination: tag & 0xff_ffff, ..Bth::default() }
}

/// Encodes the addresses.
fn ethernet(octets: &mut Vec<u8>, destination: Mac, source: Mac) {
    octets.extend(destination.0);
    octets.extend(source.0);
}

/// Encodes IPv4 and UDP around `payload`; `roce`: with an ICRC behind it.
fn datagram(
    addresses: (Ipv4Addr, Ipv4Addr),
    ds: DsField,
    ports: (u16, u16),
    payload: &[u8],
    roce: bool,
) -> Datagram<'_> {
    let (source, destination) = addresses;
    Datagram { addresses: (source.into(), destination.into()), ds: ds.octet(), ports, payload, roce }
}
