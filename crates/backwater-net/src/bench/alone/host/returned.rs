//! Packets of a host's flows that a switch has returned (`Gap::Returned`).

use super::*;

/// Packets have 1000 B, and nothing sent within a microsecond is acknowledged unless a test does it.
impl Lone<LoneHost> {
    /// A switch returns packet `nth` of a flow.
    fn returns(&mut self, at: Time, slot: u32, nth: u64) {
        let gap = Some(Gap::Returned { at: nth * PAYLOAD, ev: 0, flags: 0 });
        let body = Body::Ack(AckHeader { src: HostId(1), received: 0, gap });
        let nack = Packet { body, flow: self.reference(slot), ..frame(0, 6, 64, 2000 + nth) };
        self.send(at, 0, nack);
    }

    fn sent(&self) -> Vec<u64> {
        self.data().iter().map(|(_, nth)| *nth).collect()
    }

    fn resent(&self, slot: u32) -> (u64, u32) {
        let sender = self.counts(slot);
        (sender.retransmitted, sender.timeouts)
    }
}

fn selective(in_order: bool) -> Lone<LoneHost> {
    with(Recovery::SelectiveRepeat, in_order)
}

fn with(recovery: Recovery, in_order: bool) -> Lone<LoneHost> {
    let transport = TransportParams { recovery, in_order, timeout: Time::us(10), ..TransportParams::default() };
    host(AckParams { size: Bytes(64), ..AckParams::default() }, transport, NicParams::default())
}

/// Only the returned packet is retransmitted: it shows no gap before it. It is next, with or without order.
#[test]
fn selective_repeat_sends_what_came_back() {
    for (recovery, in_order) in
        [(Recovery::SelectiveRepeat, true), (Recovery::SelectiveRepeat, false), (Recovery::Rud, false)]
    {
        let mut host = with(recovery, in_order);
        let slot = host.flow(0, 3, 6);
        host.begin(slot);
        // Heard while packet 2 is on the wire.
        host.returns(Time::ns(20), slot, 1);
        host.run_until(Time::us(1));
        assert_eq!(host.sent(), [0, 1, 2, 1, 3, 4, 5], "{recovery:?}, in order: {in_order}");
        let each = wire(PAYLOAD + HEADER);
        assert_eq!(host.data()[3].0, full_after(each * 3), "it does not wait for anything");
        assert_eq!(host.resent(slot), (1, 0));
    }
}

/// A later gap that shows the returned packet again is not new; another gap is.
#[test]
fn a_gap_that_is_known_is_not_sent_again() {
    let run = |missing: &[u64]| {
        let mut host = selective(true);
        let slot = host.flow(0, 3, 6);
        host.begin(slot);
        host.returns(Time::ns(20), slot, 1);
        // All before packet 1 have arrived, and then packet 4; the missing ones have not.
        for beyond in (2..5).filter(|nth| !missing.contains(nth)) {
            let nack = host.answer(slot, 1, Some(beyond));
            host.send(Time::ns(600 + 20 * beyond), 0, nack);
        }
        host.run_until(Time::us(2));
        host.sent()
    };
    assert_eq!(run(&[]), [0, 1, 2, 1, 3, 4, 5]);
    assert_eq!(run(&[3]), [0, 1, 2, 1, 3, 4, 5, 3]);
}

/// A packet that is returned again is retransmitted again; packets acknowledged in the meantime are not.
#[test]
fn a_packet_may_come_back_again() {
    let mut host = selective(true);
    let slot = host.flow(0, 3, 4);
    host.begin(slot);
    host.returns(Time::ns(20), slot, 1);
    host.returns(Time::us(1), slot, 1);
    let ack = host.answer(slot, 3, None);
    host.send(Time::us(2), 0, ack);
    host.returns(Time::us(3), slot, 2);
    host.run_until(Time::us(4));
    assert_eq!(host.sent(), [0, 1, 2, 1, 3, 1]);
    assert_eq!(
        host.node.tables.flows.send[slot as usize].acked,
        3 * PAYLOAD,
        "a NACK without a receiver takes nothing back"
    );
    assert_eq!(host.resent(slot), (2, 0));
}

/// Go-back-n goes back to the returned packet, not to the beginning, and not forward to a later one.
#[test]
fn go_back_n_goes_back_to_what_came_back() {
    let mut host = recovering(Recovery::GoBackN);
    let slot = host.flow(0, 3, 6);
    host.begin(slot);
    // Heard at 176.72 ns and 183.44 ns, both while packet 2 is on the wire.
    host.returns(Time::ns(20), slot, 1);
    host.returns(Time::ns(21), slot, 2);
    host.run_until(Time::us(1));
    assert_eq!(host.sent(), [0, 1, 2, 1, 2, 3, 4, 5]);
    assert_eq!(host.resent(slot), (2, 0));
}

/// Acknowledged packets stay acknowledged, whatever is returned late.
#[test]
fn go_back_n_does_not_go_back_before_what_is_acknowledged() {
    let mut host = recovering(Recovery::GoBackN);
    let slot = host.flow(0, 3, 6);
    host.begin(slot);
    let ack = host.answer(slot, 4, None);
    host.send(Time::us(1), 0, ack);
    host.returns(Time::us(2), slot, 2);
    host.run_until(Time::us(3));
    assert_eq!(host.sent(), [0, 1, 2, 3, 4, 5]);
    host.returns(Time::us(4), slot, 4);
    host.run_until(Time::us(5));
    assert_eq!(host.sent(), [0, 1, 2, 3, 4, 5, 4, 5]);
    assert_eq!(host.node.tables.flows.send[slot as usize].acked, 4 * PAYLOAD);
}

/// It is a sign of life: a flow whose packets are returned has no timeouts in a row.
#[test]
fn what_comes_back_ends_a_row_of_timeouts() {
    for recovery in [Recovery::GoBackN, Recovery::SelectiveRepeat] {
        let mut host = recovering(recovery);
        let slot = host.flow(0, 3, 1);
        host.begin(slot);
        let tries = |host: &Lone<LoneHost>| host.counts(slot).tries;
        host.run_until(Time::us(25));
        assert_eq!(tries(&host), 2, "{recovery:?}");
        host.returns(host.world.now, slot, 0);
        host.run_until(Time::us(26));
        assert_eq!(tries(&host), 0, "{recovery:?}");
    }
}
