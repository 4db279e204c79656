//! Transports without a host: a sender, a receiver, and a line between them with the losses of a test.

use super::*;
use crate::bench::{at_offset, data};
use crate::model::packet::{Class, HostId};
use crate::units::Bytes;

const STEP: u64 = 1_000;
const PACKETS: u64 = 6;

/// A flow of six full packets. Arriving packets are answered at once.
struct Line {
    sender: Box<Sender>,
    receiver: Receiver,
    params: TransportParams,
    ack: AckParams,
    now: Time,
    sent: u64,
    acked: u64,
    received: u64,
    /// Numbers of packets in the order in which they were sent.
    order: Vec<u64>,
}

impl Line {
    fn new(recovery: Recovery) -> Line {
        let sender = Sender::new(recovery, false).expect("a reliable transport");
        let receiver = sender.receiver();
        let params = TransportParams { recovery, timeout: Time::us(100), retries: None, ..TransportParams::default() };
        let ack = AckParams { bytes: Bytes(1), ..AckParams::default() };
        Line { sender, receiver, params, ack, now: Time::ZERO, sent: 0, acked: 0, received: 0, order: Vec::new() }
    }

    /// The next packet is sent a microsecond after the previous one, and arrives or not.
    fn send(&mut self, arrives: bool) {
        self.now += Time::us(1);
        let offset = self.sender.common.next_offset(self.sent);
        self.sent = self.sent.max(offset + STEP);
        self.order.push(offset / STEP);
        let mut packet = at_offset(data(HostId(0), HostId(1), 0, Class(3), STEP as u32), offset);
        let Line { sender, receiver, params, ack, now, sent, acked, received, order } = self;
        let at = Moment { now: *now, step: STEP, params, ack };
        let flow = Offsets { available: PACKETS * STEP, sent, acked, packets: order.len() as u64, empty: false };
        let retransmission = Offsets { sent: &mut *flow.sent, acked: &mut *flow.acked, ..flow };
        sender.on_send(retransmission, at, &mut packet);
        let header = *packet.data().expect("data");
        if !arrives {
            return;
        }
        let mut report = Report::default();
        let (upto, gap) = match receiver.on_data(received, at, &packet, header) {
            Answer::Nothing => return,
            Answer::Ack(upto) | Answer::Again(upto) => (upto, None),
            Answer::Nack(upto) => (upto, Some(Gap::Before(offset))),
            Answer::Beyond(upto) => (upto, Some(Gap::Beyond(offset))),
            Answer::Trimmed(upto) => (upto, Some(Gap::Trimmed(offset))),
            Answer::Reported(upto) => {
                let (gap, reported) = receiver.report().expect("a report");
                report = reported;
                (upto, Some(gap))
            }
        };
        sender.on_ack(flow, at, &packet, AckHeader { src: HostId(1), received: upto, gap }, report);
    }

    /// Everything has been sent, and no more answers arrive.
    fn time_out(&mut self) {
        self.now += self.params.timeout;
        loop {
            let Line { sender, params, ack, now, sent, acked, order, .. } = self;
            let at = Moment { now: *now, step: STEP, params, ack };
            let flow = Offsets { available: PACKETS * STEP, sent, acked, packets: order.len() as u64, empty: false };
            if sender.on_timeout(flow, at, &mut |_| true).then != Then::Repeat {
                return;
            }
        }
    }

    /// Sends until all is acknowledged; a set bit of `losses` loses one of the first transmissions. Returns the number of losses.
    fn run(&mut self, losses: u32) -> u64 {
        let mut lost = 0;
        while self.acked < PACKETS * STEP {
            assert!(self.order.len() < 100, "it does not end: {:?}", self.order);
            if self.sent < PACKETS * STEP || self.sender.common.has_retransmissions() {
                let loses = self.order.len() < 32 && losses & 1 << self.order.len() != 0;
                lost += u64::from(loses);
                self.send(!loses);
            } else {
                self.time_out();
            }
        }
        lost
    }
}

/// Whichever of the first ten transmissions are lost, everything arrives, once. If only missing packets are retransmitted, each loss costs
/// one additional transmission.
#[test]
fn all_arrives_once_whatever_is_lost() {
    for recovery in [Recovery::GoBackN, Recovery::SelectiveRepeat, Recovery::Rud] {
        for losses in 0..1 << 10 {
            let mut line = Line::new(recovery);
            let lost = line.run(losses);
            assert_eq!(line.received, PACKETS * STEP, "{recovery:?} {losses:b}");
            let sent = line.order.len() as u64;
            assert_eq!(line.sender.common.retransmitted, sent - PACKETS, "{recovery:?} {losses:b}");
            if recovery == Recovery::GoBackN {
                assert!(sent >= PACKETS + lost, "{losses:b}");
            } else {
                assert_eq!(sent, PACKETS + lost, "{recovery:?} {losses:b}: {:?}", line.order);
            }
        }
    }
}

/// The second packet is lost. Go-back-N goes back to it, selective repeat retransmits it at once, and unordered delivery when its timer has
/// expired.
#[test]
fn what_follows_a_loss() {
    let orders = [Recovery::GoBackN, Recovery::SelectiveRepeat, Recovery::Rud].map(|recovery| {
        let mut line = Line::new(recovery);
        line.run(0b10);
        line.order
    });
    assert_eq!(orders[0], [0, 1, 2, 1, 2, 3, 4, 5]);
    assert_eq!(orders[1], [0, 1, 2, 1, 3, 4, 5]);
    assert_eq!(orders[2], [0, 1, 2, 3, 4, 5, 1]);
}

/// There may be many thousands of flows.
#[test]
fn a_flow_needs_little_memory() {
    assert!(Sender::new(Recovery::None, false).is_none());
    assert_eq!((size_of::<Sender>(), size_of::<Receiver>()), (152, 56));
}
