//! A frame of each format, to test programs that read them. Its values reveal an error of place, width or sign.

use crate::address::{Cpid, Mac};
use crate::bcn::{Bcn, RateLimitedTag};
use crate::cim::Cim;
use crate::ethernet::{self, ether_type};
use crate::fast_cnp::OriginalDestination;
use crate::frame::Numbers;
use crate::ip::{DSCP_CS6, Datagram, ROCE_PORT};
use crate::lldp::{CiAddress, CiTlv, CnTlv};
use crate::pause::Pause;
use crate::pfc::Pfc;
use crate::qcn::{CnTag, Cnm};
use crate::roce::{Aeth, Bth, Cnp, Reth, opcode};
use crate::sfc_pause::SfcPause;
use crate::sfcm::{Scope, Sfcm};
use crate::uet::{self, Ack, CcState, Control, Nack, Request, Sack};
use crate::{Emit, Error};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::vec;
use std::vec::Vec;

const HOST: Mac = Mac([2, 0, 0, 0, 0, 9]);
const OTHER: Mac = Mac([2, 0, 0, 0, 0, 4]);
const SWITCH: Mac = Mac([2, 1, 0, 0, 0x50, 0]);
const PORT: Mac = Mac([2, 1, 0, 0, 0x50, 3]);
const V4: (IpAddr, IpAddr) = (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 5)), IpAddr::V4(Ipv4Addr::new(10, 0, 0, 10)));
const V6: (IpAddr, IpAddr) =
    (IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 5)), IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 10)));

/// Returns the frames, each with its name. None has a frame check sequence.
///
/// # Errors
/// None: every value fits its field.
pub fn frames() -> Result<Vec<(&'static str, Vec<u8>)>, Error> {
    let cpid = Cpid::of(SWITCH, 300, 5);
    let mut all = Vec::new();
    let mut add = |what, frame: Result<Vec<u8>, Error>| frame.map(|frame| all.push((what, frame)));

    add("PAUSE", link(Mac::CONTROL, PORT, None, ether_type::MAC_CONTROL, &octets(&Pause { quanta: 0x1234 })?))?;
    let quanta = [Some(0), None, None, Some(2344), None, Some(0x8001), None, Some(0xffff)];
    add("PFC", link(Mac::CONTROL, PORT, None, ether_type::MAC_CONTROL, &octets(&Pfc { quanta })?))?;

    let bth = Bth { opcode: opcode::SEND_ONLY, destination: 0x0a_0b0c, psn: 0xfe_dcba, ..Bth::default() };
    let send = [octets(&Bth { padding: 3, solicited: true, ack_request: true, ..bth })?, vec![0x5a; 68]].concat();
    add("RoCEv2 SEND only, 65 octets and 3 of padding", packet(V4, 0x6a, ROCE_PORT, &send, true))?;
    add("the same over IPv6", packet(V6, 0x6b, ROCE_PORT, &send, true))?;
    let reth = Reth { address: 0x0123_4567_89ab_cdef.into(), key: 0x1122_3344.into(), length: 4096.into() };
    let write = [
        octets(&Bth { opcode: opcode::WRITE_FIRST, migrated: false, p_key: 0x8001, fecn: true, ..bth })?,
        octets(&reth)?,
        vec![7; 64],
    ]
    .concat();
    add("RoCEv2 WRITE first", packet(V4, 0x62, ROCE_PORT, &write, true))?;
    let ack = Bth { opcode: opcode::ACKNOWLEDGE, ..bth };
    let ack = [octets(&ack)?, octets(&Aeth { syndrome: Aeth::NAK_SEQUENCE, msn: 0x01_0203 })?].concat();
    add("RoCEv2 acknowledge, PSN sequence error", packet(V4, 0, ROCE_PORT, &ack, true))?;
    let cnp = octets(&Cnp { destination: 0x0a_0b0c, p_key: 0x8001 })?;
    add("CNP", packet(V4, DSCP_CS6 << 2, ROCE_PORT, &cnp, true))?;
    add("CNP over IPv6", packet(V6, DSCP_CS6 << 2, ROCE_PORT, &cnp, true))?;
    let options = octets(&OriginalDestination(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0x0a00, 0x0001)))?;
    let mut fast = [HOST.0, OTHER.0].concat();
    let ports = (0xc123, ROCE_PORT);
    Datagram { addresses: V6, ds: DSCP_CS6 << 2, ports, payload: &cnp, roce: true }.append_behind(&options, &mut fast);
    add("Fast CNP", Ok(fast))?;

    // Messages encapsulate the packet of 65 octets above.
    let sampled = packet(V4, 0x6a, ROCE_PORT, &send, true)?;
    let (msdu, inside) = (&sampled[12..], &sampled[14..]);
    let cnm =
        Cnm { feedback: 42, cpid, q_offset: -100, q_delta: 20, priority: 3, destination: HOST, msdu: &msdu[..64] };
    add("CNM", link(OTHER, SWITCH, Some((6, 5)), ether_type::CNM, &octets(&cnm)?))?;
    let tag = |ether_type: u16| CnTag { flow: 0xbeef.into(), ether_type: ether_type.into() };
    let tagged = [octets(&tag(ether_type::CNM))?, octets(&Cnm { msdu: &[], ..cnm })?].concat();
    add("CNM with a CN-TAG, nothing encapsulated", link(OTHER, SWITCH, Some((6, 5)), ether_type::CN_TAG, &tagged))?;
    let tagged = [&octets(&tag(ether_type::IPV4))?, inside].concat();
    add("data with a CN-TAG", link(HOST, OTHER, Some((3, 5)), ether_type::CN_TAG, &tagged))?;

    let cim = Cim { delete: false, destination: HOST, source: OTHER, vid: 0xabc, msdu: &msdu[..48] };
    add("CIM, layer 2", link(PORT, SWITCH, Some((6, 0)), ether_type::CIM, &octets(&cim)?))?;
    let delete = octets(&Cim { delete: true, ..cim })?;
    add("CIM, layer 3, delete", packet(V4, DSCP_CS6 << 2, Numbers::CIM_PORT, &delete, false))?;
    add("CIM, layer 3 over IPv6", packet(V6, DSCP_CS6 << 2, Numbers::CIM_PORT, &octets(&cim)?, false))?;
    if let Some(as_cnm) = cim.as_cnm(cpid, 3) {
        let frame = link(PORT, SWITCH, Some((6, 0xabc)), ether_type::CNM, &octets(&as_cnm)?);
        add("CIM in the format of a CNM", frame)?;
    }

    let sfcm = Sfcm {
        scope: Scope::Class,
        by_proxy: false,
        dscp: 26,
        ecn: 2,
        priority: 3,
        pause_time: 0x0001_86a1,
        depth: 3125,
        cpid,
        packet: &inside[..48],
    };
    add("SFCM, pause", packet(V4, DSCP_CS6 << 2, Sfcm::PORT, &octets(&sfcm)?, false))?;
    let resume = Sfcm { scope: Scope::Flow, by_proxy: true, pause_time: 0, packet: &[], ..sfcm };
    add(
        "SFCM over IPv6, resume of a flow by a proxy",
        packet(V6, DSCP_CS6 << 2, Sfcm::PORT, &octets(&resume)?, false),
    )?;

    let pause = SfcPause { dscp: 26, duration_us: 319 };
    add("SFC pause of Tofino 2", packet(V4, 1 << 2, SfcPause::PORT, &octets(&pause)?, false))?;

    let bcn = Bcn { mild: false, severe: true, cpid, q_off: -375, q_delta: 24, frame: &sampled[..64] };
    add("BCN", link(OTHER, SWITCH, None, ether_type::LOCAL_EXPERIMENTAL, &octets(&bcn)?))?;
    let tag = RateLimitedTag { cpid, ether_type: ether_type::IPV4 };
    let tagged = [&octets(&tag)?, inside].concat();
    add("data with BCN's rate-limited tag", link(HOST, OTHER, None, ether_type::RLT, &tagged))?;

    // The three mandatory TLVs of LLDP, then those of this crate, then the end (IEEE 802.1AB clause 8).
    let mandatory = [&[2, 7, 4][..], &PORT.0, &[4, 3, 7, b'p', b'3', 6, 2, 0, 120]].concat();
    let ci = CiTlv {
        queue_map: [0, 0, 0, 4, 0, -2, 8, -8],
        encapsulated: 48,
        mac: SWITCH,
        udp_port: Numbers::CIM_PORT,
        address: CiAddress::V4([172, 16, 0, 6]),
    };
    let tlvs =
        [mandatory, octets(&CnTlv { cnpv: 0b1010_1000, ready: 0b0010_1000 })?, octets(&ci)?, vec![0, 0]].concat();
    add("LLDP with CN TLV and CI TLV", link(Mac::NEAREST_BRIDGE, PORT, None, ether_type::LLDP, &tlvs))?;

    let request = Request {
        again: true,
        ack_request: true,
        clear: -3,
        psn: 0xfedc_ba98,
        source: 0x1a2b,
        destination: 0x3c4d,
        ..Request::default()
    };
    let data = [octets(&request)?, vec![0x5a; 65]].concat();
    add("UET request, 65 octets", packet(V4, 0x6a, uet::PORT, &data, false))?;
    let asking = octets(&Request { again: false, target: Some((6, 0xab_cdef)), ..request })?;
    add("UET request with a credit target over IPv6, trimmed", packet(V6, 0xcf, uet::PORT, &asking, false))?;
    let ack =
        Ack { again: true, offset: -2, cumulative: 0x0123_4567, source: 0x3c4d, destination: 0x1a2b, ..Ack::default() };
    add("UET ACK", packet(V4, 0xc0, uet::PORT, &octets(&ack)?, false))?;
    let state =
        CcState::Nscc { service_time: 0x0708, restore: true, penalty: 0x55, received: 0x98_7654, out_of_order: 0x0304 };
    let sack = Sack { mpr: 0x81, offset: 2, map: 0x8000_0000_1234_5601, state };
    let with = octets(&Ack { marked: true, again: false, sack: Some(sack), ..ack })?;
    add("UET ACK_CC, NSCC", packet(V4, 0xc0, uet::PORT, &with, false))?;
    let state = CcState::Credit { credit: 0x98_7654, out_of_order: 0x0304 };
    let with = octets(&Ack { sack: Some(Sack { state, ..sack }), ..ack })?;
    add("UET ACK_CC, credit, over IPv6", packet(V6, 0xc0, uet::PORT, &with, false))?;
    let nack = Nack {
        marked: true,
        code: Nack::TRIMMED_LASTHOP,
        vendor: 0x12,
        psn: 0xfedc_ba98,
        source: 0x3c4d,
        destination: 0x1a2b,
        payload: 0x0102_0304,
        ..Nack::default()
    };
    add("UET NACK, trimmed at the last hop", packet(V4, 0xc0, uet::PORT, &octets(&nack)?, false))?;
    let credit = Control {
        kind: Control::CREDIT,
        ack_request: true,
        probe: 0x0b0c,
        psn: 0x0506_0708,
        source: 0x3c4d,
        destination: 0x1a2b,
        payload: 0x00ab_cdef,
        ..Control::default()
    };
    add("UET credit", packet(V4, 0xc0, uet::PORT, &octets(&credit)?, false))?;
    Ok(all)
}

fn octets(value: &impl Emit) -> Result<Vec<u8>, Error> {
    let mut octets = Vec::new();
    value.append(&mut octets).map(|()| octets)
}

fn link(to: Mac, from: Mac, vlan: Option<(u8, u16)>, ether_type: u16, client: &[u8]) -> Result<Vec<u8>, Error> {
    let mut octets = vec![0; ethernet::SHORTEST.max(18 + client.len())];
    let length = ethernet::emit(&mut octets, to, from, vlan, ether_type, client)?;
    octets.truncate(length);
    Ok(octets)
}

fn packet(addresses: (IpAddr, IpAddr), ds: u8, port: u16, payload: &[u8], roce: bool) -> Result<Vec<u8>, Error> {
    let mut octets = [HOST.0, OTHER.0].concat();
    let source = if roce { 0xc123 } else { port };
    Datagram { addresses, ds, ports: (source, port), payload, roce }.append(&mut octets);
    octets.resize(octets.len().max(ethernet::SHORTEST), 0);
    Ok(octets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Frame, Message};

    #[test]
    fn each_is_read_as_what_it_is() {
        let frames = frames().unwrap();
        let names: Vec<_> = frames
            .iter()
            .map(|(_, octets)| Frame::parse(octets, &Numbers::default()).unwrap().message.name())
            .collect();
        for name in Message::NAMES {
            assert_eq!(names.contains(&name), !matches!(name, "other" | "broken"), "{name}");
        }
        let of = |what: &str| &frames.iter().find(|(name, _)| *name == what).unwrap().1;
        let frame = Frame::parse(of("CNM"), &Numbers::default()).unwrap();
        assert!(matches!(frame.message, Message::Cnm(cnm) if cnm.q_offset == -100 && cnm.msdu.len() == 64));
        let frame = Frame::parse(of("the same over IPv6"), &Numbers::default()).unwrap();
        assert!(matches!(frame.message, Message::Roce { payload: 65, icrc: Some(_), .. }), "{frame:?}");
    }
}
