//! Every value that can be written as octets is read back equal, and no octets make any parser panic.

use backwater_wire::address::{Cpid, Mac};
use backwater_wire::bcn::{Bcn, RateLimitedTag};
use backwater_wire::cim::Cim;
use backwater_wire::ethernet;
use backwater_wire::fast_cnp::OriginalDestination;
use backwater_wire::frame::{Frame, Ip, Message, Numbers};
use backwater_wire::ip::Datagram;
use backwater_wire::lldp::{CiAddress, CiTlv, CnTlv};
use backwater_wire::pause::Pause;
use backwater_wire::pfc::Pfc;
use backwater_wire::qcn::{CnTag, Cnm};
use backwater_wire::roce::{Aeth, Bth, Cnp, Reth, icrc};
use backwater_wire::sfc_pause::SfcPause;
use backwater_wire::sfcm::{Scope, Sfcm};
use backwater_wire::uet::{self, Ack, CcState, Control, Nack, Request, Sack, Uet};
use backwater_wire::{Emit, Error, Parse};
use proptest::collection::vec;
use proptest::prelude::*;
use std::fmt::Debug;
use std::net::IpAddr;

/// Emits into exactly enough room, too much and too little, and reads the value back.
fn round<V: Emit + PartialEq + Debug>(value: &V, parse: impl Fn(&[u8]) -> Result<bool, Error>) {
    let length = value.length();
    let mut octets = vec![0xaa; length + 7];
    assert_eq!(value.emit(&mut octets), Ok(length));
    assert!(octets[length..].iter().all(|o| *o == 0xaa), "wrote beyond its length");
    assert_eq!(parse(&octets[..length]), Ok(true));
    assert_eq!(parse(&octets), Ok(true), "what follows it must not matter");
    let mut small = vec![0xaa; length - 1];
    assert!(matches!(value.emit(&mut small), Err(Error::Room { .. })));
    assert!(small.iter().all(|o| *o == 0xaa), "wrote although there was no room");
}

macro_rules! round {
    ($value:expr) => {{
        let value = $value;
        round(&value, |octets| Parse::parse(octets).map(|back: _| same(&back, &value)))
    }};
}

fn same<V: PartialEq>(a: &V, b: &V) -> bool {
    a == b
}

fn mac() -> impl Strategy<Value = Mac> {
    any::<[u8; 6]>().prop_map(Mac)
}

fn cpid() -> impl Strategy<Value = Cpid> {
    (mac(), any::<[u8; 2]>()).prop_map(|(bridge, point)| Cpid { bridge, point })
}

fn address() -> impl Strategy<Value = (IpAddr, IpAddr)> {
    prop_oneof![
        any::<[[u8; 4]; 2]>().prop_map(|[source, destination]| (source.into(), destination.into())),
        any::<[[u8; 16]; 2]>().prop_map(|[source, destination]| (source.into(), destination.into())),
    ]
}

proptest! {
    #[test]
    fn frames(destination in mac(), source in mac(), vlan in proptest::option::of((0u8..8, 0u16..4096)),
              addresses in address(), ds: u8, source_port: u16, port in 1024u16..4000, payload in vec(any::<u8>(), 0..100)) {
        let mut packet = Vec::new();
        Datagram { addresses, ds, ports: (source_port, port), payload: &payload, roce: false }.append(&mut packet);
        let (ether_type, client) = packet.split_at(2);
        let ether_type = u16::from_be_bytes([ether_type[0], ether_type[1]]);
        let mut octets = vec![0xaa; 300];
        let length = ethernet::emit(&mut octets, destination, source, vlan, ether_type, client).unwrap();
        prop_assert_eq!(length, (client.len() + if vlan.is_some() { 18 } else { 14 }).max(ethernet::SHORTEST));
        let frame = Frame::parse(&octets[..length], &Numbers::default()).unwrap();
        prop_assert_eq!((frame.destination, frame.source, frame.vlan), (destination, source, vlan));
        prop_assert_eq!((frame.ether_type, frame.message), (ether_type, Message::Other));
        let ip = Ip { source: addresses.0, destination: addresses.1, dscp: ds >> 2, ecn: ds & 3, ports: Some((source_port, port)) };
        prop_assert_eq!(frame.ip, Some(ip));
        // The sum over all that UDP's checksum covers, the checksum included, is all ones.
        let at = client.len() - payload.len() - 8;
        let udp = &client[at..];
        prop_assert_eq!(&udp[8..], &payload[..]);
        prop_assert_eq!(usize::from(u16::from_be_bytes([udp[4], udp[5]])), udp.len());
        let both = if addresses.0.is_ipv4() { &client[12..20] } else { &client[8..40] };
        let length = (udp.len() as u16).to_be_bytes();
        let covered = [both, &[0, 17], &length, udp].concat();
        let sum = covered.chunks(2).fold(0, |sum, pair| sum + u64::from(u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)])));
        prop_assert_eq!(sum % 0xffff, 0);
    }

    #[test]
    fn pause_and_pfc(quanta: u16, times: [Option<u16>; 8]) {
        round!(Pause { quanta });
        round!(Pfc { quanta: times });
    }

    #[test]
    fn qcn(feedback in 0u8..64, cpid in cpid(), q_offset: i16, q_delta: i16, priority in 0u8..8, destination in mac(),
           msdu in vec(any::<u8>(), 0..=64), flow: u16, ether_type: u16) {
        round!(Cnm { feedback, cpid, q_offset, q_delta, priority, destination, msdu: &msdu });
        round!(CnTag { flow: flow.into(), ether_type: ether_type.into() });
    }

    #[test]
    fn cim(delete: bool, destination in mac(), source in mac(), vid in 0u16..4096, msdu in vec(any::<u8>(), 0..=512)) {
        round!(Cim { delete, destination, source, vid, msdu: &msdu });
    }

    #[test]
    fn sfcm(scope in prop_oneof![Just(Scope::Class), Just(Scope::Flow), Just(Scope::Open)], by_proxy: bool, dscp in 0u8..64,
            ecn in 0u8..4, priority in 0u8..8, pause_time: u32, depth: u32, cpid in cpid(), packet in vec(any::<u8>(), 0..100)) {
        round!(Sfcm { scope, by_proxy, dscp, ecn, priority, pause_time, depth, cpid, packet: &packet });
        round!(SfcPause { dscp, duration_us: pause_time as u16 });
        round!(OriginalDestination(u128::from(pause_time).into()));
    }

    #[test]
    fn bcn(mild: bool, severe: bool, cpid in cpid(), q_off: i16, q_delta: i16, frame in vec(any::<u8>(), 0..=64), ether_type: u16) {
        round!(Bcn { mild, severe, cpid, q_off, q_delta, frame: &frame });
        round!(RateLimitedTag { cpid, ether_type });
    }

    #[test]
    fn lldp(cnpv: u8, ready: u8, queue_map: [i8; 8], encapsulated in 0..=CiTlv::MOST_ENCAPSULATED, mac in mac(), udp_port: u16, v4: [u8; 4], v6: [u8; 16], family in 0..3) {
        round!(CnTlv { cnpv, ready });
        let address = match family { 0 => CiAddress::None, 1 => CiAddress::V4(v4), _ => CiAddress::V6(v6) };
        round!(CiTlv { queue_map, encapsulated, mac, udp_port, address });
    }

    #[test]
    fn roce(opcode: u8, [solicited, migrated, fecn, becn, ack_request]: [bool; 5], padding in 0u8..4, p_key: u16,
            destination in 0u32..1 << 24, psn in 0u32..1 << 24, syndrome: u8, address: u64, key: u32, length: u32) {
        round!(Bth { opcode, solicited, migrated, padding, p_key, fecn, becn, destination, ack_request, psn });
        round!(Cnp { destination, p_key });
        round!(Aeth { syndrome, msn: psn });
        round!(Reth { address: address.into(), key: key.into(), length: length.into() });
    }

    #[test]
    fn uet_requests(next in 0u8..16, [again, ack_request, syn]: [bool; 3], clear: i16, psn: u32, source: u16, destination: u16,
                    target in proptest::option::of((any::<u8>(), 0u32..1 << 24))) {
        let request = Request { next, again, ack_request, syn, clear, psn, source, destination, target };
        round!(request);
        round!(Uet::Request(request));
    }

    #[test]
    fn uet_answers(next in 0u8..16, [marked, again, probe, restore, credits, maps]: [bool; 6], request in 0u8..4, [offset, first]: [i16; 2],
                   cumulative: u32, source: u16, destination: u16, mpr: u8, map: u64, service_time: u16, penalty in 0u8..128,
                   of_24 in 0u32..1 << 24, out_of_order: u16) {
        let state = if credits {
            CcState::Credit { credit: of_24, out_of_order }
        } else {
            CcState::Nscc { service_time, restore, penalty, received: of_24, out_of_order }
        };
        let sack = maps.then_some(Sack { mpr, offset: first, map, state });
        let ack = Ack { next, marked, again, probe, request, offset, cumulative, source, destination, sack };
        round!(ack);
        round!(Uet::Ack(ack));
        let nack = Nack { next, marked, again, rudi: probe, code: mpr, vendor: penalty, psn: cumulative, source, destination, payload: of_24 };
        round!(nack);
        round!(Uet::Nack(nack));
        let control = Control { kind: next, again, ack_request: probe, syn: marked, probe: service_time, psn: cumulative, source, destination, payload: of_24 };
        round!(control);
        round!(Uet::Control(control));
    }

    // A datagram to UET's port with a known type in its first octet: nothing panics, and a value that was read can be
    // written.
    #[test]
    fn mutated_uet(kind in 0usize..6, mut octets in vec(any::<u8>(), 1..80)) {
        octets[0] = [2, 7, 8, 10, 11, 13][kind] << 3 | octets[0] & 7;
        let mut packet = Vec::new();
        let addresses = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        Datagram { addresses, ds: 0, ports: (49152, uet::PORT), payload: &octets, roce: false }.append(&mut packet);
        let frame = [&[0; 12][..], &packet].concat();
        match Frame::parse(&frame, &Numbers::default()).unwrap().message {
            Message::Uet { header, payload } => {
                prop_assert_eq!(header.length() + payload, octets.len());
                let mut written = Vec::new();
                header.append(&mut written).unwrap();
                prop_assert_eq!(Uet::parse(&written), Ok(header));
            }
            Message::Broken(error) => assert!(matches!(error, Error::Short { .. } | Error::Field { field: "type of CC state", .. }), "{error}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn nothing_panics(octets in vec(any::<u8>(), 0..200)) {
        let _ = (Pause::parse(&octets), Pfc::parse(&octets), Cnm::parse(&octets), CnTag::parse(&octets), Cim::parse(&octets));
        let _ = (SfcPause::parse(&octets), Sfcm::parse(&octets), Bcn::parse(&octets), RateLimitedTag::parse(&octets), CnTlv::parse(&octets), CiTlv::parse(&octets));
        let _ = OriginalDestination::parse(&octets);
        let _ = (Bth::parse(&octets), Cnp::parse(&octets), Aeth::parse(&octets), Reth::parse(&octets), icrc(&octets));
        let _ = Uet::parse(&octets);
        let _ = Frame::parse(&octets, &Numbers::default());
    }

    // Random octets almost never have a known EtherType. These have one.
    #[test]
    fn nothing_panics_behind_a_known_type(mut octets in vec(any::<u8>(), 14..200), tags in vec(0usize..10, 1..4)) {
        const TYPES: [u16; 10] = [0x8100, 0x88a8, 0x22e9, 0x8904, 0x8808, 0x22e7, 0x89a2, 0x88cc, 0x0800, 0x86dd];
        let mut at = 12;
        for tag in tags {
            let Some(place) = octets.get_mut(at..at + 2) else { break };
            place.copy_from_slice(&TYPES[tag].to_be_bytes());
            at += if TYPES[tag] == 0x8904 { 12 } else { 4 };
        }
        if let Some(version) = octets.get_mut(14) {
            *version = *version & 0x2f | 0x45;
        }
        let _ = Frame::parse(&octets, &Numbers::default()).unwrap();
    }
}
