//! A host alone with reliable unordered delivery: the times of acknowledgements, and retransmissions.

use super::host::{LoneHost, ack_after, full_after, host, recovering};
use super::*;
use crate::config::Recovery;
use crate::model::packet::{AckHeader, DataHeader, DsField, Dscp, Ecn, Gap, Report};

const FRAME: u64 = PAYLOAD + HEADER;

impl Lone<LoneHost> {
    /// Packet `nth` of a flow that this host receives, changed by `change`.
    fn packet_with(&self, slot: u32, nth: u64, change: impl FnOnce(&mut DataHeader)) -> Packet {
        let mut packet = self.packet(slot, nth);
        if let Body::Data(data) = &mut packet.body {
            change(data);
        }
        packet
    }

    /// The answer that reports packet `nth` as trimmed.
    fn cut(&self, slot: u32, nth: u64) -> Packet {
        let gap = Gap::Cut { at: nth * PAYLOAD, ev: 0, flags: 0 };
        let ack = AckHeader { src: HostId(1), received: 0, gap: Some(gap) };
        Packet { body: Body::Ack(ack), flow: self.reference(slot), ..frame(0, 3, 64, 2000 + nth) }
    }

    fn report(&self, slot: u32) -> Report {
        self.node.tables.flows.recv[slot as usize]
            .transport
            .as_ref()
            .and_then(|receiver| receiver.report())
            .map(|(_, report)| report)
            .expect("it has acknowledged something")
    }
}

/// Packets are acknowledged in groups of three frames' bytes. Acknowledged at once: the first packet, a packet whose sender requests it, a
/// duplicate, a marked packet and, after a request within a gap, the packet that closes the gap. A packet without its payload counts
/// nothing.
#[test]
fn what_is_acknowledged_when() {
    let transport = TransportParams { recovery: Recovery::Rud, ..TransportParams::default() };
    let ack = AckParams { size: Bytes(64), bytes: Bytes(3 * FRAME), ..AckParams::default() };
    let mut host = host(ack, transport, NicParams::default());
    let slot = host.flow(1, 3, 12);
    let asks = |data: &mut DataHeader| data.flags |= DataHeader::ACK_REQUEST;
    let marked = |packet: Packet| Packet { ds: DsField::new(Dscp::of(Class(3)), Ecn::Ce), ..packet };
    let cut = host.packet_with(slot, 10, |data| (data.payload, data.flags) = (0, DataHeader::CUT));
    let packets = [
        host.packet(slot, 0),
        host.packet(slot, 1),
        host.packet(slot, 2),
        host.packet(slot, 3),
        host.packet_with(slot, 4, asks),
        host.packet(slot, 4),
        host.packet(slot, 6),
        host.packet_with(slot, 8, asks),
        host.packet(slot, 5),
        host.packet(slot, 7),
        marked(host.packet(slot, 9)),
        Packet { size: 64, ..cut },
        host.packet(slot, 10),
    ];
    for (nth, packet) in (1..).zip(packets) {
        host.send(Time::us(nth), 0, packet);
    }
    host.run_until(Time::us(8) + Time::ns(500));
    let arrived = 7 * FRAME;
    assert_eq!(
        host.report(slot),
        Report { first: 8, map: 1, counted: arrived, beyond: 2 },
        "0 to 4, 6 and 8 have come"
    );
    host.run();
    let at = |nth: u64| ack_after(full_after(Time::us(nth)));
    let (ack, nack) = (Kind::Ack, Kind::Nack);
    let expected = [
        (at(1), ack, 1),
        (at(4), ack, 4),
        (at(5), ack, 5),
        (at(6), ack, 5),
        (at(8), ack, 5),
        (at(10), ack, 9),
        (at(11), ack, 10),
        (ack_after(ack_after(Time::us(12))), nack, 10),
    ];
    assert_eq!(host.answers(), expected);
    assert_eq!(host.node.tables.flows.recv[slot as usize].received, 11 * PAYLOAD);
}

/// The map begins 63 packets before the acknowledged one, but not before the first missing packet.
#[test]
fn the_map_tells_of_64_packets() {
    let transport = TransportParams { recovery: Recovery::Rud, ..TransportParams::default() };
    let ack = AckParams { size: Bytes(64), bytes: Bytes(1), ..AckParams::default() };
    let mut host = host(ack, transport, NicParams::default());
    let slot = host.flow(1, 3, 200);
    // Packet 0, then all from 2 on but every fifth.
    let others: Vec<u64> = (2..150).filter(|nth| nth % 5 != 0).collect();
    for (k, nth) in (0..).zip(std::iter::once(0).chain(others.iter().copied())) {
        let packet = host.packet(slot, nth);
        host.send(Time::us(1 + k), 0, packet);
    }
    host.run();
    let first = 149 - 63;
    let map = others.iter().filter(|nth| **nth >= first).fold(0u64, |map, nth| map | 1 << (nth - first));
    let counted = (1 + others.len() as u64) * FRAME;
    assert_eq!(host.report(slot), Report { first, map, counted, beyond: others.len() as u64 });
}

/// Trimmed packets are retransmitted before new ones, the lowest first; an answer about a packet that was never sent is ignored.
#[test]
fn the_lowest_goes_again_first() {
    let mut host = recovering(Recovery::Rud);
    let slot = host.flow(0, 3, 6);
    host.begin(slot);
    for (ns, nth) in [(200, 1), (201, 0), (202, 5), (203, 1)] {
        let cut = host.cut(slot, nth);
        host.send(Time::ns(ns), 0, cut);
    }
    host.run_until(Time::us(3));
    // When the answers come, at 357 ns, five packets have gone.
    let order = [0, 1, 2, 3, 4, 0, 1, 5];
    let each = wire(FRAME);
    let expected: Vec<(Time, u64)> = (0..8).map(|k| (full_after(each * k), order[k as usize])).collect();
    assert_eq!(host.data(), expected);
}

/// No answers: each packet has its own timer, 10 us from its transmission, and is retransmitted then.
#[test]
fn each_packet_has_its_time() {
    let mut host = recovering(Recovery::Rud);
    let slot = host.flow(0, 3, 3);
    host.begin(slot);
    host.run_until(Time::us(15));
    let each = wire(FRAME);
    let round = |from: Time| (0..3).map(move |k| (full_after(from + each * k), k));
    let expected: Vec<(Time, u64)> = round(Time::ZERO).chain(round(Time::us(10))).collect();
    assert_eq!(host.data(), expected);
    let sender = host.counts(slot);
    assert_eq!((sender.timeouts, sender.tries, sender.retransmitted), (3, 1, 3), "one round is one try");
}
