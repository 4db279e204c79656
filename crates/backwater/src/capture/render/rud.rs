//! Data and acknowledgements of reliable unordered delivery, as packets of UET.
//!
//! - **Data**: a RUD request, with a credit target if the packet carries one. The PSN is the offset of the first payload byte divided by
//!   `packet.payload`; a connection begins at 0. No header of the semantic sublayer follows, since the model knows none: the payload of
//!   zeros follows at once. A trimmed packet has no payload.
//! - **Acknowledgements**: ACK_CC with the CC state of NSCC, which contains the receiver's count of bytes, whichever control is on. Before
//!   anything has arrived in order the cumulative PSN is the one before 0. A map with an offset beyond 16 bits is left out.
//! - **For a trimmed packet**: NACK with the code TRIMMED or TRIMMED_LASTHOP, also from a switch.
//! - **Source port**: 14 bits of the flow's hash, with the entropy value added modulo 2, from 49152 on.
//! - **An answer to a probe** has the flag P, and the probe's opaque value in place of the offset of its PSN.
//! - **Not modelled**, and 0: SYN, clear PSN, maximum PSN range, service time, window penalty; no CRC of UET ends a packet.

use super::{ENTROPY, Renderer, datagram, ds_of, ethernet};
use backwater_net::address::{host_ip, host_mac, pdc_ids};
use backwater_net::packet::{AckHeader, DataHeader, DsField, Ecn, Gap, Packet, Report};
use backwater_wire::Emit;
use backwater_wire::uet::{self, Ack, CcState, Nack, Request, Sack, Uet};

/// \[octets\] Unit of received bytes.
const QUANTUM: u64 = 256;

impl Renderer {
    pub(super) fn request(&self, packet: &Packet, data: DataHeader, octets: &mut Vec<u8>) {
        ethernet(octets, host_mac(packet.dst), host_mac(data.src));
        let (source, destination) = pdc_ids(packet.flow);
        let request = Request {
            again: data.is(DataHeader::RETRANSMISSION),
            ack_request: data.is(DataHeader::ACK_REQUEST),
            psn: self.number(data.offset),
            source,
            destination,
            target: self.mechanisms.credit_target(packet.tag).map(|target| (0, target)),
            ..Request::default()
        };
        let mut body = Vec::new();
        let written = request.append(&mut body);
        debug_assert!(written.is_ok(), "every field is cut to its width");
        body.resize(body.len() + data.payload as usize, 0);
        let (addresses, ports) = ((host_ip(data.src), host_ip(packet.dst)), ports(packet, data.ev));
        datagram(addresses, ds_of(packet, data), ports, &body, false).append(octets);
    }

    pub(super) fn answer(&self, packet: &Packet, ack: AckHeader, report: Option<Report>, octets: &mut Vec<u8>) {
        ethernet(octets, host_mac(packet.dst), host_mac(ack.src));
        // The source of an answer is the destination of the data.
        let (destination, source) = pdc_ids(packet.flow);
        let marked = packet.ecn() == Ecn::Ce;
        let cumulative = (ack.received.div_ceil(self.payload) as u32).wrapping_sub(1);
        let (at, ev, flags) = match ack.gap {
            Some(Gap::Map { at, ev, flags } | Gap::Cut { at, ev, flags } | Gap::Returned { at, ev, flags }) => {
                (at, ev, flags)
            }
            Some(Gap::Before(at) | Gap::Beyond(at) | Gap::Trimmed(at)) => (at, 0, 0),
            None => (ack.received.saturating_sub(1), 0, 0),
        };
        let (probe, again) = (flags & DataHeader::PROBE != 0, flags & DataHeader::RETRANSMISSION != 0);
        let psn = self.number(at);
        let header = if ack.is_nack() {
            let code = match ack.gap {
                Some(Gap::Before(_) | Gap::Beyond(_)) => Nack::INFERRED_LOSS,
                _ if flags & DataHeader::LAST_HOP != 0 => Nack::TRIMMED_LASTHOP,
                _ => Nack::TRIMMED,
            };
            Uet::Nack(Nack { marked, again, code, psn, source, destination, ..Nack::default() })
        } else {
            let from = |psn: u32| i16::try_from(psn.wrapping_sub(cumulative) as i32);
            let sack = report.map(|report| {
                let received = (report.counted / QUANTUM) as u32 & 0xff_ffff;
                let out_of_order = report.beyond.min(u64::from(u16::MAX)) as u16;
                let state = CcState::Nscc { service_time: 0, restore: false, penalty: 0, received, out_of_order };
                let (offset, map) = from(report.first as u32).map_or((0, 0), |offset| (offset, report.map));
                Sack { mpr: 0, offset, map, state }
            });
            let offset = if probe { at as u16 as i16 } else { from(psn).unwrap_or(0) };
            Uet::Ack(Ack { marked, again, probe, offset, cumulative, source, destination, sack, ..Ack::default() })
        };
        let mut body = Vec::new();
        let written = header.append(&mut body);
        debug_assert!(written.is_ok(), "every field is cut to its width");
        // An answer carries the mark of its data packet, not one of its own.
        let ds = DsField::new(packet.ds.dscp(), Ecn::NotEct);
        datagram((host_ip(ack.src), host_ip(packet.dst)), ds, ports(packet, ev), &body, false).append(octets);
    }

    /// The packet sequence number at an offset.
    fn number(&self, offset: u64) -> u32 {
        (offset / self.payload) as u32
    }
}

fn ports(packet: &Packet, ev: u16) -> (u16, u16) {
    (ENTROPY | (packet.flow.tag as u16 ^ ev) & !ENTROPY, uet::PORT)
}
