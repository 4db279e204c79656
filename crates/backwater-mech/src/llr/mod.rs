//! Link-level retry — UEC 1.0, section 5.1, as SAI describes it ("Link Layer Retry", opencomputeproject/SAI, 2025-11, in review).
//!
//! The sender of a link numbers its frames and keeps them in a replay buffer until they are acknowledged. A receiver
//! that gets a damaged frame, or misses one, asks once for all frames from there on, and accepts nothing until that
//! frame arrives: go-back-N, hop by hop. So a fault of a link costs a loop of that link, and not a retransmission from
//! end to end; nothing is lost or overtaken.
//!
//! ```text
//! sender    f, where out + 1 <= OUTSTANDING_FRAMES_MAX and bytes + size(f) <= OUTSTANDING_BYTES_MAX:    number it, keep it, send it
//!           ACK(k):                                    let go of all before k;  tries = 0
//!           NACK(k):                                   as ACK(k);  replay from k on, before all that is new
//!           REPLAY_TIMER_MAX without progress:         tries < REPLAY_COUNT_MAX: tries += 1, send all again; otherwise FLUSH
//!           link down for PCS_LOST_TIMEOUT:            FLUSH, and keep nothing until it is up again
//!           FLUSH:                                     let go of all;  INIT(next number)
//! receiver  f(k), k = expected:                        take it;  expected += 1
//!           f(k), k > expected, or a damaged frame:    discard it;  if nothing was asked for since expected last came: NACK(expected)
//!           f(k), k < expected:                        discard it
//!           ACK spacing of octets, or as long:         ACK(expected)
//!           INIT(k):                                   expected = max(expected, k);  ACK(expected)
//! ```
//!
//! ACK, NACK and INIT are control ordered sets of 8 octets. They go between frames, before all that waits. Ordered
//! sets, including those of other mechanisms, are not numbered. All frames are numbered, including MAC control.
//! Replayed frames are sent unchanged: gates, pauses and credits do not apply to them, and no queue holds them.
//!
//! # Not modelled
//! - `DATA_AGE_TIMEOUT`; frames that a flush holds or discards: here they are sent without protection
//! - poisoned frames; numbers of 20 bits that wrap; the least spacing of ordered sets (CTLOS_MIN_SPACING)
//! - octets for the number: it is in the preamble
//! - both ends of a link on different threads
//!
//! # Differences
//! - An acknowledgement names the next expected number, not the last good one.
//! - The sender also sends INIT after a flush, and an acknowledgement is its echo.
//! - The limits of outstanding frames and bytes do not delay MAC control. An ordered set takes the gap of a frame
//!   (`packet.gap`) besides its 8 octets.
//! - `outstanding_frames` has a default of 1,024, where SAI's example has 100: 100 acknowledgements of 64 B would not fill a loop. SAI's
//!   default of `replays` is 1.
//! - An ordered set is no frame. Captures show it as a frame of EtherType 0x88B6: the kind's name, and the number in 32
//!   bits. This is our choice.

mod config;
mod link;
mod wire;

use self::link::{Act, Link};
use self::wire::{ACK, INIT, NACK, Word};
use backwater_engine::Time;
use backwater_net::Bytes;
use backwater_net::hooks::{
    Activity, Carrier, CheckCx, Count, Fate, Finding, LinkCx, LinkSide, Margin, Mechanism, NicShape, NicSide, Profile,
    SwitchShape, SwitchSide, Token, WireCx,
};
use backwater_net::packet::{Control, Packet, Port, Queue};
pub use config::Params;
use std::any::TypeId;

/// The purpose of a timer, in the lowest bits of its token; the port is above.
const LOOK: Token = 0;
const REPLAY: Token = 1;
const LOST: Token = 2;

/// Both ends of the links of one node.
#[derive(backwater_derive::State)]
pub struct Ends {
    #[state(within)]
    links: Vec<Link>,
}

// The specification is in `link`; this file connects it to a run.
#[backwater_derive::hooks]
impl LinkSide for Ends {
    fn may_transmit(&self, port: Port, _: Queue, pkt: &Packet) -> bool {
        self.links.get(usize::from(port.0)).is_none_or(|link| link.may_send(pkt.size))
    }

    fn retains(&mut self, cx: &mut LinkCx<'_>, port: Port, _: u64, size: u32) -> bool {
        self.at(cx, port, |link, now| link.retains(size, now)).unwrap_or(false)
    }

    fn accepts(&mut self, cx: &mut LinkCx<'_>, from: Port, number: u64, size: u32) -> bool {
        self.at(cx, from, |link, now| link.accepts(number, size, now)).unwrap_or(true)
    }

    fn on_damaged(&mut self, cx: &mut LinkCx<'_>, from: Port) {
        self.at(cx, from, |link, _| ((), link.ask()));
    }

    fn on_mac_control(&mut self, cx: &mut LinkCx<'_>, from: Port, frame: &Control) -> Fate {
        let Some(word) = frame.message::<Word>() else { return Fate::Passed };
        self.at(cx, from, |link, now| ((), link.receive(word, now)));
        Fate::Consumed
    }

    fn on_link_timer(&mut self, cx: &mut LinkCx<'_>, token: Token) {
        let step = match token & 3 {
            LOOK => |link: &mut Link, _| link.look(),
            REPLAY => Link::replay,
            _ => Link::lost,
        };
        self.at(cx, Port((token >> 2) as u16), |link, now| ((), step(link, now)));
    }

    fn on_link(&mut self, cx: &mut LinkCx<'_>, port: Port, up: bool) {
        self.at(cx, port, |link, now| ((), link.is_up(up, now)));
    }

    fn link_counts(&self, _: Time) -> Vec<Count> {
        (0u16..).zip(&self.links).flat_map(|(port, link)| link.counts(Port(port))).collect()
    }

    fn link_activity(&self) -> Activity {
        let mut all = Activity::default();
        self.links.iter().for_each(|link| {
            let (acts, most, limit) = link.nearest();
            let margin = Margin::bytes("most bytes not acknowledged", Bytes(most), Bytes(limit));
            all.join(Activity { acts, margin: Some(margin) });
        });
        all
    }
}

#[backwater_derive::hooks(link)]
impl SwitchSide for Ends {}
#[backwater_derive::hooks(link)]
impl NicSide for Ends {}

impl Ends {
    fn at<R>(
        &mut self,
        cx: &mut LinkCx<'_>,
        port: Port,
        step: impl FnOnce(&mut Link, Time) -> (R, Vec<Act>),
    ) -> Option<R> {
        let (answer, acts) = step(self.links.get_mut(usize::from(port.0))?, cx.now());
        let token = |what| Token::from(port.0) << 2 | what;
        for act in acts {
            match act {
                Act::Say(set) => cx.signal(port, set),
                Act::Look(at) => cx.arm(at, token(LOOK)),
                Act::Replay(at) => cx.arm(at, token(REPLAY)),
                Act::Lost(at) => cx.arm(at, token(LOST)),
                Act::DiscardBefore(before) => cx.discard_before(port, before),
                Act::ReplayFrom(from) => cx.replay_from(port, from),
                Act::Open => cx.open(port, None),
            }
        }
        Some(answer)
    }
}

/// Link-level retry.
pub enum Llr {}

#[backwater_derive::mechanism]
impl Mechanism for Llr {
    const NAME: &'static str = "llr";
    const DEFINED_BY: &'static str = "UEC 1.0, section 5.1; SAI, Link Layer Retry";
    const SUMMARY: &'static str = "sends frames again over the link on which they were damaged, in order";
    const INACTIVE: &'static str = "never retransmitted a frame";
    const FRAMES: &'static [&'static str] = &[ACK, NACK, INIT];
    const MESSAGE: TypeId = TypeId::of::<Word>();
    const VALUE: &'static str = "of llr-ack and llr-nack the number of the next expected frame; of llr-init the number of the frame before which all are given up";
    const COUNTERS: &'static str = "llr_acks and llr_nacks (sent by the port), llr_replays and llr_timeouts (retransmissions after a NACK and after a timeout), \
         llr_flushes (how often it gave frames up), llr_discarded (frames that it did not accept), llr_outstanding_max (most bytes in its replay buffer)";
    type Switch = Ends;
    type Nic = Ends;

    fn profile(_: &Params) -> Profile {
        let shortest_message = Some(Bytes(wire::ORDERED_SET.into()));
        Profile {
            couples: Some("tells the other end of a link at once what a fault does to a frame"),
            repairs: true,
            shortest_message,
            ..Profile::default()
        }
    }

    fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
        config::check(params, cx)
    }

    fn octets(frame: &Control, _: &WireCx<'_>, octets: &mut Vec<u8>) -> Option<Carrier> {
        wire::octets(frame, octets)
    }

    fn switch(params: &Params, shape: &SwitchShape) -> Option<Ends> {
        Some(Ends { links: shape.ports.iter().map(|port| params.link(port.rate)).collect() })
    }

    fn nic(params: &Params, shape: &NicShape) -> Option<Ends> {
        Some(Ends { links: vec![params.link(shape.rate)] })
    }
}

#[cfg(test)]
mod tests;
