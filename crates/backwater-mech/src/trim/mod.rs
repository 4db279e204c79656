//! Packet trimming — UEC 1.0, section 4.1; SAI, "Packet Trimming" (drop-and-trim of a buffer profile); the idea: Cheng, Ren, Shao and
//! Shi, "Catch the Whole Lot in an Action", NSDI 2014 (CP), and Handley et al., "Re-architecting datacenter networks and stacks for low
//! latency and high performance", SIGCOMM 2017 (NDP).
//!
//! A switch that has no memory for a packet cuts it down to its headers and forwards these in a separate class. So the
//! receiver learns of the loss at once, and reports it. Otherwise only a gap or a timeout would reveal it.
//!
//! ```text
//! on a data packet p of a trimmable class for which there is no memory:
//!     victim = either, with probability 1/2:  p takes the memory and the place of the newest packet t that waits in its queue;  p = t
//!     size(p) > trim_size:  size(p) = max(headers, trim_size);  class(p) = trim_class;  admit p again
//!     no memory for that either: p is lost
//! ```
//!
//! With `victim = "either"`, p replaces t even if p is longer: a queue exceeds its memory by less than a frame. The
//! packet on the wire is never trimmed. If t is not trimmable, p is trimmed. A packet no longer than trim_size is lost,
//! since nothing can be cut off. A trimmed packet is never trimmed again. The receiver returns a NACK for it at once
//! (`transport.recovery`), and it is retransmitted like any other loss.
//!
//! With `to = "source"` the switch sends the receiver's NACK itself, sooner by the round trip from the switch to the
//! receiver.
//!
//! ```text
//! on such a packet p, with to = "source":
//!     size(p) > trim_size:  n = NACK(flow(p), offset(p)) from destination(p) to source(p)
//!                           size(n) = max(headers, trim_size);  class(n) = trim_class;  route and admit n at the ingress of p
//!     no way back, or no memory for that either: lost
//! ```
//!
//! UEC 1.0 (4.1) excludes this, and nobody has specified it publicly; the rules are a choice. The idea is NDP's
//! return-to-sender, which sends headers back that find no memory themselves (Handley et al.). The switch sends one
//! NACK for each packet. A flow's control learns of a loss, and gets no acknowledgement and no round trip, since the
//! round trip would end at a switch.
//!
//! # Not modelled
//! - the rewriting of the DSCP (DSCP_TRIMMED, DSCP_TRIMMED_LASTHOP; TRIM_DSCP_VALUE): the class determines the queue of
//!   a frame; only [captures](docs/captures.md) show a DSCP
//! - the scheduling weight that UEC recommends for the trimmed class (25 %): the trimmed class is served by its number,
//!   like all classes
//! - payload that remains with a large `trim.size`: in a capture a trimmed packet has only its headers
//!
//! # Differences
//! - `htsim_uec` takes a packet out of its queue when its last bit has left. So if nothing else waits, the newest
//!   packet of a queue may be the one that is being sent, and is trimmed meanwhile. Here that packet has left the queue
//!   at its first bit, and nothing gives way. This matters only for queues with memory for less than two packets.
//! - `htsim_uec` trims either of two packets, whatever they are. Here `trim.classes` and `trim.size` limit which may be
//!   trimmed.
//! - Mechanisms treat a packet that gives way like one that leaves its queue, except that they do not mark it.
//! - `htsim_uec` tosses with one random generator for all queues. So shares can be compared, but not single packets.
//! - In `htsim_uec` the switch's latency passes before the queue is examined: `switch.latency_at = "input"`. With
//!   `fabric`, the newest packet is the last that has crossed the fabric; packets still in the fabric stay.

mod config;

use backwater_engine::Time;
use backwater_net::config::Victim;
use backwater_net::hooks::{
    Activity, CheckCx, Count, Finding, Full, Mechanism, Place, Profile, SwitchCx, SwitchShape, SwitchSide,
};
use backwater_net::occupancy::Occupancy;
use backwater_net::packet::{Body, Class, DataHeader, Packet, Port, Queue};
pub use config::{Params, To};
use rand::RngExt;

/// A switch that trims.
#[derive(backwater_derive::State)]
pub struct Trimmer {
    /// \[bytes\] trim_size
    #[state(fixed)]
    size: u32,
    /// trim_class
    #[state(fixed)]
    class: u8,
    /// trimmable classes, a bit each
    #[state(fixed)]
    classes: u8,
    #[state(fixed)]
    to: To,
    #[state(fixed)]
    victim: Victim,
    /// trimmed packets that went on, per egress port
    trimmed: Vec<u64>,
    /// trimmed packets that were returned, per egress port by which they would have left
    returned: Vec<u64>,
    /// \[bytes\] trimmed from these
    bytes: Vec<u64>,
    /// number of these that were lost
    lost: Vec<u64>,
}

impl Trimmer {
    /// Returns whether a packet has a payload that may be trimmed.
    fn is_trimmable(&self, p: &Packet) -> bool {
        p.data().is_some_and(|data| data.payload > 0) && self.classes & (1 << p.class.0) != 0
    }
}

// The specification.
#[backwater_derive::hooks]
impl SwitchSide for Trimmer {
    /// `htsim_uec`, CompositeQueue: either, with probability 1/2.
    fn push_out(&mut self, cx: &mut SwitchCx<'_>, _: &Place, p: &Packet, last: &Packet) -> bool {
        self.victim == Victim::Either
            && self.is_trimmable(p)
            && self.is_trimmable(last)
            && last.size > self.size
            && cx.rng().random::<bool>()
    }

    fn on_full(&mut self, _: &mut SwitchCx<'_>, at: &mut Place, p: &mut Packet) -> Full {
        let egress = usize::from(at.egress.0);
        match p.body {
            // UEC 1.0, 4.1: a trimmed packet is lost.
            Body::Data(data) if data.is(DataHeader::CUT) => {
                self.lost[egress] += 1;
                Full::Drop
            }
            Body::Ack(ack) if ack.is_returned() => {
                self.lost[egress] += 1;
                Full::Drop
            }
            // UEC 1.0, 4.1: size(p) > trim_size: trimmed, in the class of trimmed packets.
            Body::Data(data) if self.is_trimmable(p) && p.size > self.size => {
                self.bytes[egress] += u64::from(data.payload.min(p.size.saturating_sub(self.size)));
                (at.queue, p.class) = (Queue(self.class), Class(self.class));
                match self.to {
                    To::Destination => {
                        self.trimmed[egress] += 1;
                        Full::Trim(self.size)
                    }
                    // NDP's return-to-sender (Handley et al.), which UEC 1.0, 4.1, excludes.
                    To::Source => {
                        self.returned[egress] += 1;
                        Full::Return(self.size)
                    }
                }
            }
            _ => Full::Drop,
        }
    }

    fn counts(&self, _: Time) -> Vec<Count> {
        let of = |name, counts: &[u64]| -> Vec<Count> {
            (0u16..).zip(counts).filter(|(_, n)| **n > 0).map(|(port, n)| (Port(port), name, *n)).collect()
        };
        let counters = [
            ("trimmed", &self.trimmed),
            ("returned", &self.returned),
            ("trimmed_bytes", &self.bytes),
            ("trimmed_lost", &self.lost),
        ];
        counters.map(|(name, counts)| of(name, counts)).concat()
    }

    fn activity(&self, _: &Occupancy) -> Activity {
        Activity { acts: self.trimmed.iter().chain(&self.returned).sum(), margin: None }
    }
}

/// Packet trimming.
pub enum Trim {}

#[backwater_derive::mechanism]
impl Mechanism for Trim {
    const NAME: &'static str = "trim";
    const DEFINED_BY: &'static str = "UEC 1.0, section 4.1; SAI, Packet Trimming";
    const SUMMARY: &'static str =
        "cuts packets that find no memory down to their headers, so that receivers know of the loss";
    const INACTIVE: &'static str = "never trimmed a packet";
    const COUNTERS: &'static str = "trimmed (packets for this port that were trimmed and forwarded), returned (packets for this port that were trimmed and sent back), \
         trimmed_bytes (bytes removed from both), trimmed_lost (trimmed packets lost for want of memory)";
    type Switch = Trimmer;

    fn profile(params: &Params) -> Profile {
        config::profile(params)
    }

    fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
        config::check(params, cx)
    }

    fn switch(params: &Params, shape: &SwitchShape) -> Option<Trimmer> {
        let ports = shape.ports.len();
        Some(Trimmer {
            size: params.size.map_or(0, |size| size.0 as u32),
            class: params.class,
            to: params.to,
            classes: crate::class_bits_or_all(params.classes.as_deref()) & !(1 << params.class),
            victim: params.victim,
            trimmed: vec![0; ports],
            returned: vec![0; ports],
            bytes: vec![0; ports],
            lost: vec![0; ports],
        })
    }
}

#[cfg(test)]
mod tests;
