//! Frames of the model as octets.
//!
//! The model knows lengths, addresses, numbers and marks, not payload; what stands in a frame is therefore this:
//!
//! - **Data**: Ethernet, IPv4, UDP to port 4791, BTH, payload of zeros, padding, ICRC. The opcode is SEND first, middle, last or only, the
//!   PSN the offset of the first payload byte divided by `packet.payload`, the queue pair the flow's identity, the UDP source port
//!   a hash of it. The class is carried in the DSCP as class selector (class times 8, RFC 2474); bridges here add no VLAN tag.
//! - **Acknowledgements**: opcode 0x11, AETH. The PSN is that of the last packet that was received in order; of a NACK it is the one
//!   expected next. Where the data packet was marked, BECN is set: the model's ACK echoes the mark.
//! - **Control frames**: what their mechanism says, addressed from the switch or host that made them to where they go.
//! - **Length**: the model's, less 4 octets of frame check sequence, filled up with zeros behind the packet. Where the scenario counts fewer
//!   bytes of headers than these are, the frame in the file is longer than the model's.

use backwater_mech::registry::Config;
use backwater_net::address::{host_ip, host_mac, port_mac, switch_ip, switch_mac};
use backwater_net::hold::Hold;
use backwater_net::hooks::{Carrier, WireCx};
use backwater_net::packet::{Class, Control, Ecn, HostId, Kind, NodeId, Packet, Port};
use backwater_net::record::FrameRow;
use backwater_net::topology::index::Index;
use backwater_net::topology::{Graph, GraphError, PortEnd};
use backwater_wire::Emit;
use backwater_wire::address::Mac;
use backwater_wire::ethernet::{SHORTEST, ether_type};
use backwater_wire::ip::{IpDscp, IpEcn, IpNumber, Ipv4Header, ROCE_PORT, UdpHeader};
use backwater_wire::pause::Pause;
use backwater_wire::pfc::Pfc;
use backwater_wire::roce::{Aeth, Bth, icrc, opcode};
use std::net::Ipv4Addr;

/// First of the UDP source ports that carry entropy (dynamic range, RFC 6335).
const ENTROPY: u16 = 0xc000;
/// Time to live of every packet: the model counts no hops.
const TTL: u8 = 64;
/// Of frames that no mechanism knows how to put into octets: local experimental EtherType 2 (IEEE 802 clause 9.2.4) and the kind's name.
const UNKNOWN: u16 = 0x88b6;

/// Turns rows into octets.
pub struct Renderer {
    mechanisms: Config,
    /// \[bytes\] `packet.payload`
    payload: u64,
    /// Host of a node, by node number.
    hosts: Vec<Option<HostId>>,
    ports: Vec<Vec<PortEnd>>,
}

/// IP and UDP of a packet.
struct Udp {
    source: Ipv4Addr,
    destination: Ipv4Addr,
    class: Class,
    ecn: u8,
    ports: (u16, u16),
}

impl Renderer {
    /// For the frames of a run.
    ///
    /// # Errors
    /// If the graph is not valid.
    pub fn new(graph: &Graph, mechanisms: &Config, payload: u64) -> Result<Renderer, GraphError> {
        let index = Index::new(graph);
        let hosts = (0..graph.nodes.len() as u32).map(|n| index.host_of(NodeId(n))).collect();
        Ok(Renderer { mechanisms: mechanisms.clone(), payload: payload.max(1), hosts, ports: graph.ports()? })
    }

    /// Puts a frame into `octets`, which are cleared first, and returns how long it was on the link, without frame check sequence. All
    /// of it is there, but for zeros at its end.
    pub fn render(&self, row: &FrameRow, octets: &mut Vec<u8>) -> u32 {
        octets.clear();
        match &row.control {
            Some((frame, speaker)) => self.control(row, frame, *speaker, octets),
            None => self.packet(&row.packet, row.flow.map_or(0, |flow| flow.bytes), octets),
        }
        if octets.len() < SHORTEST {
            octets.resize(SHORTEST, 0);
        }
        row.packet.size.saturating_sub(4).max(octets.len() as u32)
    }

    /// Data and acknowledgements.
    fn packet(&self, packet: &Packet, bytes: u64, octets: &mut Vec<u8>) {
        ethernet(octets, host_mac(packet.dst), host_mac(packet.src));
        if packet.kind == Kind::Data {
            let at = octets.len();
            if let Some(tag) = self.mechanisms.tag_octets(packet.tag, octets) {
                octets.splice(at..at, tag.to_be_bytes());
            }
        }
        octets.extend(ether_type::IPV4.to_be_bytes());
        let mut body = Vec::new();
        self.roce(packet, bytes, &mut body);
        udp(octets, &self.udp_of(packet), &body, true);
    }

    fn udp_of(&self, packet: &Packet) -> Udp {
        let ecn = match (packet.kind, packet.ecn()) {
            (Kind::Data, Ecn::Ect) => 2,
            (Kind::Data, Ecn::Ce) => 3,
            // An ACK carries the mark of its data packet, which is not its own.
            _ => 0,
        };
        let (source, destination) = (host_ip(packet.src), host_ip(packet.dst));
        Udp { source, destination, class: packet.class, ecn, ports: roce_ports(packet.flow.tag) }
    }

    fn roce(&self, packet: &Packet, bytes: u64, body: &mut Vec<u8>) {
        let number = |offset: u64| (offset / self.payload) as u32 & 0xff_ffff;
        let bth = bth_of(packet.flow.tag);
        let written = if packet.kind == Kind::Data {
            let (begins, ends) = (packet.seq == 0, packet.seq + u64::from(packet.payload) >= bytes);
            let padding = (4 - packet.payload % 4) % 4;
            let bth = Bth {
                opcode: match (begins, ends) {
                    (true, true) => opcode::SEND_ONLY,
                    (true, false) => opcode::SEND_FIRST,
                    (false, true) => opcode::SEND_LAST,
                    (false, false) => opcode::SEND_MIDDLE,
                },
                padding: padding as u8,
                ack_request: true,
                psn: number(packet.seq),
                ..bth
            };
            let written = bth.append(body);
            body.resize(body.len() + (packet.payload + padding) as usize, 0);
            written
        } else {
            let nack = packet.kind == Kind::Nack;
            let psn = number(if nack { packet.seq } else { packet.seq.saturating_sub(1) });
            let bth = Bth { opcode: opcode::ACKNOWLEDGE, becn: packet.ecn() == Ecn::Ce, psn, ..bth };
            let syndrome = if nack { Aeth::NAK_SEQUENCE } else { Aeth::ACK };
            bth.append(body).and_then(|()| Aeth { syndrome, msn: 0 }.append(body))
        };
        debug_assert!(written.is_ok(), "every field is cut to its width");
    }

    /// MAC control and mechanisms' frames.
    fn control(&self, row: &FrameRow, frame: &Control, speaker: NodeId, octets: &mut Vec<u8>) {
        if let Some(hold) = Hold::read(frame) {
            return self.mac_control(row, hold, octets);
        }
        let mut sampled = Vec::new();
        let mut flow = (Mac::default(), Mac::default());
        if let Some(of) = row.flow {
            flow = (host_mac(of.src), host_mac(of.dst));
            self.sample(frame, of.src, of.dst, of.class, &mut sampled);
        }
        let queue_pair = frame.flow.map_or(0, |flow| flow.tag & 0xff_ffff);
        let mut body = Vec::new();
        let cx = WireCx { speaker: self.mac_of(speaker), flow, queue_pair, packet: &sampled };
        let carrier = Config::octets(frame, &cx, &mut body).unwrap_or_else(|| {
            body.clear();
            body.extend(frame.kind.as_bytes());
            Carrier::Link(UNKNOWN)
        });
        let known = row.packet.dst != HostId(u32::MAX);
        let to = if known { host_mac(row.packet.dst) } else { self.across(row) };
        ethernet(octets, to, cx.speaker);
        let ip = |ports| Udp {
            source: self.ip_of(speaker),
            destination: if known { host_ip(row.packet.dst) } else { Ipv4Addr::UNSPECIFIED },
            class: row.packet.class,
            ecn: 0,
            ports,
        };
        match carrier {
            Carrier::Link(kind) => octets.extend(kind.to_be_bytes().iter().chain(&body)),
            Carrier::Tagged(kind) => {
                octets.extend(ether_type::VLAN.to_be_bytes());
                octets.extend((u16::from(row.packet.class.0) << 13).to_be_bytes());
                octets.extend(kind.to_be_bytes().iter().chain(&body));
            }
            Carrier::Udp(port) => {
                octets.extend(ether_type::IPV4.to_be_bytes());
                udp(octets, &ip((port, port)), &body, false);
            }
            Carrier::Roce => {
                octets.extend(ether_type::IPV4.to_be_bytes());
                udp(octets, &ip(roce_ports(queue_pair)), &body, true);
            }
        }
    }

    /// The first octets of a packet of the flow that a control frame speaks of.
    fn sample(&self, frame: &Control, src: HostId, dst: HostId, class: Class, octets: &mut Vec<u8>) {
        let tag = frame.flow.map_or(0, |flow| flow.tag);
        let bth = Bth { opcode: opcode::SEND_MIDDLE, ..bth_of(tag) };
        let mut body = Vec::new();
        let written = bth.append(&mut body);
        debug_assert!(written.is_ok(), "every field is cut to its width");
        body.resize(body.len() + self.payload.min(u16::MAX.into()) as usize, 0);
        let (source, destination, ports) = (host_ip(src), host_ip(dst), roce_ports(tag));
        udp(octets, &Udp { source, destination, class, ecn: 2, ports }, &body, true);
        octets.truncate(64);
    }

    fn mac_control(&self, row: &FrameRow, hold: Hold, octets: &mut Vec<u8>) {
        let sender = if row.outbound { self.at(row.node, row.port) } else { self.across(row) };
        ethernet(octets, Mac::CONTROL, sender);
        octets.extend(ether_type::MAC_CONTROL.to_be_bytes());
        // A signal that lasts until it is lifted has no time: the longest one stands for it.
        let quanta = if hold.lasting { u16::MAX } else { hold.quanta };
        let written = match hold.class {
            None => Pause { quanta }.append(octets),
            Some(class) => {
                let mut pfc = Pfc::default();
                if let Some(place) = pfc.quanta.get_mut(usize::from(class.0)) {
                    *place = Some(quanta);
                }
                pfc.append(octets)
            }
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

    /// Address of the node at the other end of the link: a port's where it sends MAC control or is meant itself.
    fn across(&self, row: &FrameRow) -> Mac {
        let Some(end) = self.ports.get(row.node.0 as usize).and_then(|ports| ports.get(usize::from(row.port.0))) else {
            return Mac::default();
        };
        match row.outbound && row.packet.kind != Kind::Mac {
            true => self.mac_of(end.peer),
            false => self.host(end.peer).map_or_else(|| port_mac(end.peer, end.peer_port), host_mac),
        }
    }
}

/// Source port of a flow, which carries its entropy, and that of RoCEv2.
fn roce_ports(tag: u32) -> (u16, u16) {
    (ENTROPY | tag as u16 & !ENTROPY, ROCE_PORT)
}

/// What all packets of a flow have in common: its queue pair.
fn bth_of(tag: u32) -> Bth {
    Bth { p_key: 0xffff, destination: tag & 0xff_ffff, ..Bth::default() }
}

/// Addresses.
fn ethernet(octets: &mut Vec<u8>, destination: Mac, source: Mac) {
    octets.extend(destination.0);
    octets.extend(source.0);
}

/// IPv4 and UDP headers and what they carry; with `roce` an ICRC at the end.
fn udp(octets: &mut Vec<u8>, about: &Udp, body: &[u8], roce: bool) {
    let length = 8 + body.len() + if roce { 4 } else { 0 };
    let cut = |length: usize| u16::try_from(length).unwrap_or(u16::MAX);
    let mut header = Ipv4Header {
        dscp: IpDscp::try_new((about.class.0 & 7) << 3).unwrap_or_default(),
        ecn: IpEcn::try_new(about.ecn & 3).unwrap_or_default(),
        total_len: cut(20 + length),
        dont_fragment: true,
        time_to_live: TTL,
        protocol: IpNumber::UDP,
        source: about.source.octets(),
        destination: about.destination.octets(),
        ..Ipv4Header::default()
    };
    header.header_checksum = header.calc_header_checksum();
    let (source_port, destination_port) = about.ports;
    // Checksum 0: none, as RoCEv2 and switches have it over IPv4.
    let udp = UdpHeader { source_port, destination_port, length: cut(length), checksum: 0 };
    let begin = octets.len();
    octets.extend(header.to_bytes());
    octets.extend(udp.to_bytes());
    octets.extend(body);
    if roce && let Ok(crc) = icrc(octets.get(begin..).unwrap_or_default()) {
        octets.extend(crc.to_le_bytes());
    }
}
