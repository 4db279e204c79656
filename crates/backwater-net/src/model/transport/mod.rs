//! Reliable delivery: what is retransmitted, and when. Each transport is a file and implements [`Transport`].
//!
//! | file | transport | source |
//! |---|---|---|
//! | `go_back_n.rs` | from the first missing packet on all is retransmitted | RoCEv2, on what `roce.rs` has for both |
//! | `selective_repeat.rs` | only what is missing is retransmitted | the same |
//! | `rud.rs` | the same, with packets acknowledged one by one | UEC 1.0 |
//!
//! A transport knows no host, no port and no controller. It changes its own state and the offsets of its flow, and returns actions for the
//! host: arm a timer, wake the flow, inform the controller, give up. `host/transport.rs` carries them out, alike for all transports.
//!
//! A packet's number is the offset of its first payload byte in full packets. A flow without a [`Sender`] is unreliable: lost packets stay
//! lost.

mod common;
mod go_back_n;
pub(crate) mod messages;
mod outstanding;
mod roce;
mod rud;
mod selective_repeat;
#[cfg(test)]
mod tests;

use crate::config::{AckParams, Recovery, TransportParams};
use crate::model::hooks::{Counted, Loss};
use crate::model::packet::{AckHeader, DataHeader, Gap, Packet, Report};
use backwater_engine::Time;
use go_back_n::GoBackN;
use rud::Rud;
use selective_repeat::SelectiveRepeat;

pub(crate) use common::{ReceiverCommon, SenderCommon};

/// A way of reliable delivery, with both halves. Everything that does not follow from the half's state comes with the call.
pub(crate) trait Transport {
    /// State of its sender beside [`SenderCommon`], and of its receiver beside [`ReceiverCommon`].
    type Sender: Default;
    type Receiver: Default;
    /// True if a waiting flow may send before its controller has seen an acknowledgement; otherwise only afterwards.
    const SENDS_BEFORE_CONTROL: bool;
    /// True if a sender requests acknowledgements.
    const REQUESTS_ACKS: bool;

    /// A data packet is sent: new, or retransmitted. Its offset no longer counts as lost.
    fn on_send(sender: &mut Sending<'_, Self::Sender>, packet: &mut Packet);
    /// The receiver takes a data packet.
    fn on_data(receiver: &mut Receiving<'_, Self::Receiver>, packet: &Packet, data: DataHeader) -> Answer;
    /// The sender takes an acknowledgement or NACK, with the report beside it.
    fn on_ack(sender: &mut Sending<'_, Self::Sender>, packet: &Packet, ack: AckHeader, report: Report) -> Learned;
    /// The retransmission timer expires. `timeout_is_loss` asks the flow's controller whether a packet whose timer has expired is lost.
    fn on_timeout(sender: &mut Sending<'_, Self::Sender>, timeout_is_loss: &mut dyn FnMut(Timed) -> bool) -> Expiry;
    /// \[bytes\] that count against the flow's window
    fn in_flight(own: &Self::Sender, common: &SenderCommon, span: Span) -> u64;

    /// Returns whether the packet of this number is in flight; `false` if single packets are not tracked.
    fn is_in_flight(_: &Self::Sender, _: u64) -> bool {
        false
    }
    /// The flow's controller declares the packet of this number lost. Without effect if packets are not acknowledged one by one.
    fn declare_lost(_: &mut Self::Sender, _: &mut SenderCommon, _: u64, _step: u64) {}
    /// The sender has probed, by this number, for what has arrived. `None`: probes are not answered.
    fn on_probe(_: &mut Receiving<'_, Self::Receiver>, _: u64) -> Option<Answer> {
        None
    }
    /// Returns the content of an [`Answer::Reported`].
    fn report(_: &Self::Receiver) -> Option<(Gap, Report)> {
        None
    }
}

/// The time of a call to a transport, and the rules.
#[derive(Clone, Copy)]
pub(crate) struct Moment<'a> {
    pub now: Time,
    /// \[bytes\] of payload of a full packet: packets are counted in these
    pub step: u64,
    pub params: &'a TransportParams,
    pub ack: &'a AckParams,
}

/// The progress of a flow: its transport moves `sent` and `acked`.
pub(crate) struct Offsets<'a> {
    /// \[bytes\] of payload made available, sent, acknowledged
    pub available: u64,
    pub sent: &'a mut u64,
    pub acked: &'a mut u64,
    /// Packets sent, retransmissions included.
    pub packets: u64,
    /// The flow is one packet without payload.
    pub empty: bool,
}

/// The bytes that a flow has sent and that are not acknowledged cumulatively, in packets of `step` bytes.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    pub acked: u64,
    pub sent: u64,
    pub step: u64,
}

/// A sender at work: its transport's state, the common state, and its flow.
pub(crate) struct Sending<'a, S> {
    pub own: &'a mut S,
    pub common: &'a mut SenderCommon,
    pub flow: Offsets<'a>,
    pub at: Moment<'a>,
}

impl<S> Sending<'_, S> {
    pub fn span(&self) -> Span {
        Span { acked: *self.flow.acked, sent: *self.flow.sent, step: self.at.step }
    }
}

/// A receiver at work.
pub(crate) struct Receiving<'a, R> {
    pub own: &'a mut R,
    pub common: &'a mut ReceiverCommon,
    /// \[bytes\] of payload that has arrived, each counted once
    pub received: &'a mut u64,
    pub at: Moment<'a>,
}

/// The answer to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Nothing,
    /// All bytes before this offset have arrived.
    Ack(u64),
    /// The same, at once: the packet is a duplicate, so acknowledgements have been lost, or it has closed a gap.
    Again(u64),
    /// The same, and some later packet is missing.
    Nack(u64),
    /// The same, and this packet has arrived; others may still be in flight.
    Beyond(u64),
    /// The same, and the payload of this packet is missing.
    Trimmed(u64),
    /// The same; the rest is in the receiver's report.
    Reported(u64),
}

/// The content of an acknowledgement that the flow's controller learns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Learned {
    /// Packets are newly known to be lost.
    pub loss: Option<Loss>,
    /// Something has arrived: it is no mere NACK.
    pub acknowledges: bool,
    /// Its content about single packets.
    pub counted: Option<Counted>,
}

/// A packet whose timer has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timed {
    pub number: u64,
    /// It has been retransmitted.
    pub retransmission: bool,
    /// When its timer was started.
    pub since: Time,
}

/// The outcome of a retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expiry {
    /// The timer is armed again, and expires then.
    pub timer: Option<Time>,
    /// Timeouts in a row without progress, if this is one.
    pub tries: Option<u32>,
    /// \[bytes\] that are lost
    pub lost: Option<u64>,
    pub then: Then,
}

impl Expiry {
    /// No packet's timer has expired.
    pub fn early(timer: Option<Time>, then: Then) -> Expiry {
        Expiry { timer, tries: None, lost: None, then }
    }
}

/// The host's action after a timer's expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    Nothing,
    /// The flow has failed: the timeouts exceed the retries.
    Fail,
    /// The flow, and those that share its controller, may send.
    Wake,
    /// Another packet's timer may have expired as well: the transport is called again.
    Repeat,
}

/// The outcome of sending a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    /// It is a retransmission.
    pub retransmission: bool,
    /// The timer is armed, and expires then.
    pub timer: Option<Time>,
}

/// A value for one of the transports. Only this enum lists them.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
enum Of<G, S, R> {
    GoBackN(G),
    SelectiveRepeat(S),
    Rud(R),
}

/// Does the same with the value of any transport, whose type is `$T`.
macro_rules! with {
    ($of:expr, |$own:pat_param, $T:ident| $do:expr) => {
        match $of {
            Of::GoBackN($own) => {
                type $T = GoBackN;
                $do
            }
            Of::SelectiveRepeat($own) => {
                type $T = SelectiveRepeat;
                $do
            }
            Of::Rud($own) => {
                type $T = Rud;
                $do
            }
        }
    };
}

type SenderOf = Of<<GoBackN as Transport>::Sender, <SelectiveRepeat as Transport>::Sender, <Rud as Transport>::Sender>;

type ReceiverOf =
    Of<<GoBackN as Transport>::Receiver, <SelectiveRepeat as Transport>::Receiver, <Rud as Transport>::Receiver>;

/// The sender's half of a reliable flow, for any transport.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Sender {
    pub common: SenderCommon,
    own: SenderOf,
}

impl Sender {
    /// The half of a flow that has sent nothing, or of a connection whose messages follow each other; `None`: flows are unreliable.
    pub fn new(recovery: Recovery, kept: bool) -> Option<Box<Sender>> {
        let own = match recovery {
            Recovery::None => return None,
            Recovery::GoBackN => Of::GoBackN(()),
            Recovery::SelectiveRepeat => Of::SelectiveRepeat(Default::default()),
            Recovery::Rud => Of::Rud(Default::default()),
        };
        let messages = kept.then(Box::default);
        Some(Box::new(Sender { common: SenderCommon { messages, ..SenderCommon::default() }, own }))
    }

    /// The other half.
    pub fn receiver(&self) -> Receiver {
        let own = match self.own {
            Of::GoBackN(_) => Of::GoBackN(Default::default()),
            Of::SelectiveRepeat(_) => Of::SelectiveRepeat(()),
            Of::Rud(_) => Of::Rud(Default::default()),
        };
        let messages = self.common.messages.is_some().then(Box::default);
        Receiver { common: ReceiverCommon { messages, ..ReceiverCommon::default() }, own }
    }

    /// Sends a packet that the flow's offsets describe.
    pub fn on_send(&mut self, flow: Offsets<'_>, at: Moment<'_>, packet: &mut Packet) -> Sent {
        let Sender { common, own } = self;
        common.cut_to_message(packet, at.step);
        let retransmission = common.count_sent(packet, flow.packets == 1, at.step);
        with!(own, |own, T| T::on_send(&mut Sending { own, common, flow, at }, packet));
        Sent { retransmission, timer: common.arm(at.now + at.params.timeout) }
    }

    pub fn on_ack(
        &mut self,
        flow: Offsets<'_>,
        at: Moment<'_>,
        packet: &Packet,
        ack: AckHeader,
        report: Report,
    ) -> Learned {
        let Sender { common, own } = self;
        with!(own, |own, T| T::on_ack(&mut Sending { own, common, flow, at }, packet, ack, report))
    }

    pub fn on_timeout(
        &mut self,
        flow: Offsets<'_>,
        at: Moment<'_>,
        timeout_is_loss: &mut dyn FnMut(Timed) -> bool,
    ) -> Expiry {
        let Sender { common, own } = self;
        with!(own, |own, T| T::on_timeout(&mut Sending { own, common, flow, at }, timeout_is_loss))
    }

    pub fn in_flight(&self, span: Span) -> u64 {
        with!(&self.own, |own, T| T::in_flight(own, &self.common, span))
    }

    pub fn is_in_flight(&self, number: u64) -> bool {
        with!(&self.own, |own, T| T::is_in_flight(own, number))
    }

    pub fn declare_lost(&mut self, number: u64, step: u64) {
        let Sender { common, own } = self;
        with!(own, |own, T| T::declare_lost(own, common, number, step));
    }

    pub fn sends_before_control(&self) -> bool {
        with!(&self.own, |_, T| T::SENDS_BEFORE_CONTROL)
    }

    pub fn requests_acks(&self) -> bool {
        with!(&self.own, |_, T| T::REQUESTS_ACKS)
    }
}

/// The receiver's half of a reliable flow, for any transport.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Receiver {
    pub common: ReceiverCommon,
    own: ReceiverOf,
}

impl Receiver {
    /// A packet arrives. Counts its payload in `received`, unless it is a duplicate.
    pub fn on_data(&mut self, received: &mut u64, at: Moment<'_>, packet: &Packet, data: DataHeader) -> Answer {
        let Receiver { common, own } = self;
        with!(own, |own, T| T::on_data(&mut Receiving { own, common, received, at }, packet, data))
    }

    pub fn on_probe(&mut self, received: &mut u64, at: Moment<'_>, probe: u64) -> Option<Answer> {
        let Receiver { common, own } = self;
        with!(own, |own, T| T::on_probe(&mut Receiving { own, common, received, at }, probe))
    }

    pub fn report(&self) -> Option<(Gap, Report)> {
        with!(&self.own, |own, T| T::report(own))
    }
}
