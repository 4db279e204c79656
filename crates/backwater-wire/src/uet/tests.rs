//! Vectors made by hand from the tables of fields.

use super::*;

/// Emits a header and reads it back.
fn octets<V: Emit + for<'a> Parse<'a> + PartialEq + core::fmt::Debug>(value: &V) -> std::vec::Vec<u8> {
    let mut octets = std::vec::Vec::new();
    value.append(&mut octets).unwrap();
    assert_eq!(V::parse(&octets).as_ref(), Ok(value));
    octets
}

#[test]
fn a_request_octet_by_octet() {
    let request = Request {
        next: 3,
        again: true,
        ack_request: true,
        syn: false,
        clear: -2,
        psn: 0x0102_0304,
        source: 0x1122,
        destination: 0x3344,
        target: None,
    };
    // 00010 0011 0011000: type 2, next header 3, retransmitted and ACK request.
    assert_eq!(octets(&request), [0x11, 0x98, 0xff, 0xfe, 1, 2, 3, 4, 0x11, 0x22, 0x33, 0x44]);
    // 01101 0000 0000100: type 13, SYN.
    let asking = Request { target: Some((5, 0x0a_0b0c)), psn: 7, syn: true, ..Request::default() };
    assert_eq!(octets(&asking), [0x68, 0x04, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 5, 0x0a, 0x0b, 0x0c]);
}

#[test]
fn acknowledgements_octet_by_octet() {
    let ack = Ack {
        next: 4,
        marked: true,
        probe: true,
        request: 2,
        offset: 9,
        cumulative: 0x0102_0304,
        source: 0x1122,
        destination: 0x3344,
        ..Ack::default()
    };
    // 00111 0100 0101100: type 7, next header 4, marked, probe, request 2.
    assert_eq!(octets(&ack), [0x3a, 0x2c, 0, 9, 1, 2, 3, 4, 0x11, 0x22, 0x33, 0x44]);
    let state =
        CcState::Nscc { service_time: 0x0506, restore: true, penalty: 0x11, received: 0x21_2223, out_of_order: 0x3132 };
    let sack = Sack { mpr: 0x80, offset: -1, map: 0x4142_4344_4546_4748, state };
    let with = octets(&Ack { next: 0, again: true, sack: Some(sack), ..Ack::default() });
    // 01000 0000 0010000: type 8, retransmitted.
    assert_eq!(with[..12], [0x40, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(with[12..24], [0, 0x80, 0xff, 0xff, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48]);
    assert_eq!(with[24..], [5, 6, 0x91, 0x21, 0x22, 0x23, 0x31, 0x32]);
    let sack = Sack { state: CcState::Credit { credit: 0x51_5253, out_of_order: 9 }, ..sack };
    let with = octets(&Ack { sack: Some(sack), ..Ack::default() });
    assert_eq!((with[12], &with[24..]), (0x10, &[0x51, 0x52, 0x53, 0, 0, 0, 0, 9][..]));
}

#[test]
fn nacks_and_control_packets_octet_by_octet() {
    let nack = Nack {
        marked: true,
        rudi: true,
        code: Nack::TRIMMED_LASTHOP,
        vendor: 6,
        psn: 0x0102_0304,
        source: 0x1122,
        destination: 0x3344,
        payload: 0x5566_7788,
        ..Nack::default()
    };
    // 01010 0000 0101000: type 10, marked, NACK type.
    let expected = [0x50, 0x28, 2, 6, 1, 2, 3, 4, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88];
    assert_eq!(octets(&nack), expected);
    let credit = Control {
        kind: Control::CREDIT,
        ack_request: true,
        probe: 0x0a0b,
        psn: 3,
        source: 0x1122,
        destination: 0x3344,
        payload: 0x0066_7788,
        ..Control::default()
    };
    // 01011 0111 0001000: type 11, kind 7, ACK request.
    let expected = [0x5b, 0x88, 0x0a, 0x0b, 0, 0, 0, 3, 0x11, 0x22, 0x33, 0x44, 0, 0x66, 0x77, 0x88];
    assert_eq!(octets(&credit), expected);
    assert_eq!((credit.credit(), Control { kind: 6, ..credit }.credit()), (Some(0x66_7788), None));
}

#[test]
fn what_cannot_be_is_refused() {
    assert_eq!(Uet::parse(&[]), Err(Error::Short { frame: "UET", needs: 1, has: 0 }));
    for (kind, length) in [(2, 12), (13, 16), (7, 12), (8, 32), (10, 16), (11, 16)] {
        let mut octets = [0; 40];
        octets[0] = kind << 3;
        assert!(Uet::parse(&octets[..length]).is_ok(), "{kind}");
        let short = Uet::parse(&octets[..length - 1]);
        assert!(
            matches!(short, Err(Error::Short { needs, has, .. }) if (needs, has) == (length, length - 1)),
            "{short:?}"
        );
    }
    // No version, but the type: undefined types, types of other formats, and an unknown state are refused.
    for kind in [0, 1, 3, 9, 14, 15, 31] {
        let wrong = Uet::parse(&[kind << 3; 40]);
        assert!(
            matches!(wrong, Err(Error::Field { field: "type", value, .. }) if value == u64::from(kind)),
            "{wrong:?}"
        );
        assert_eq!(Uet::foreign(&[kind << 3]), (1..15).contains(&kind));
    }
    let mut octets = [0; 32];
    (octets[0], octets[12]) = (kind::ACK_CC << 3, 0x20);
    assert!(matches!(Ack::parse(&octets), Err(Error::Field { field: "type of CC state", offset: 12, value: 2, .. })));
    assert!(matches!(Request::parse(&octets), Err(Error::Field { field: "type", .. })));
    assert!(matches!(Nack::parse(&octets), Err(Error::Field { field: "type", .. })));
    assert!(matches!(Control::parse(&octets), Err(Error::Field { field: "type", .. })));
    // Values that are too wide are refused, and nothing is written.
    let mut place = [0xaa; 40];
    let wide = [
        Request { next: 16, ..Request::default() }.emit(&mut place),
        Request { target: Some((0, 1 << 24)), ..Request::default() }.emit(&mut place),
        Ack { request: 4, ..Ack::default() }.emit(&mut place),
        Control { kind: 16, ..Control::default() }.emit(&mut place),
    ];
    assert!(wide.iter().all(|result| matches!(result, Err(Error::Field { .. }))), "{wide:?}");
    for (penalty, received) in [(0x80, 0), (0, 1 << 24)] {
        let state = CcState::Nscc { service_time: 0, restore: false, penalty, received, out_of_order: 0 };
        let ack = Ack { sack: Some(Sack { mpr: 0, offset: 0, map: 0, state }), ..Ack::default() };
        assert!(matches!(ack.emit(&mut place), Err(Error::Field { .. })));
    }
    assert_eq!(place, [0xaa; 40]);
}

#[test]
fn what_is_reserved_is_ignored() {
    let request = Request::parse(&[0x10, 0x63, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]).unwrap();
    assert_eq!(request, Request { psn: 1, ..Request::default() });
    let ack = Ack::parse(&[0x38, 0x41, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]).unwrap();
    assert_eq!(ack, Ack { cumulative: 1, ..Ack::default() });
}
