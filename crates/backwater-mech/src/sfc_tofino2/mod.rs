//! Source Flow Control as it is shipped in Tofino 2 — p4lang/open-p4studio of 2025-02-26, `switch-p4-16/p4src/shared/sfc_trigger.p4`,
//! `sfc_ghost.p4`, `headers.p4`, `types.p4`, and the tables that its tests write (`ptf/common/lib_sfc.py`).
//!
//! The program is by authors of the SFC proxy contribution of 2025 and of arXiv 2305.00538. Names below are the program's.
//!
//! ```text
//! ghost thread:               qlength_over_threshold(e) = cells(e) / 4 >= qdepth_threshold          cells of 176 B, integer division
//! each packet at ingress:     if the epoch is over, the other bank of filters is used, and is empty
//! each packet p with a BTH (data or acknowledgement) at ingress, before it joins queue e of a traffic class that takes part:
//!     qlength_over_threshold(e) and not (filter_0[CRC16(k)] and filter_1[RANDOM(k)]),   k = (source, destination, DSCP of p):
//!                             a copy of p is mirrored; both bits are set in any case
//! each such packet that leaves e:            qdepth_drain_cells(e) = max(0, deq_qdepth - target_qdepth)
//! the copy, a pass of the pipeline later:    q_drain_length = qdepth_drain_cells(e) >> 3
//!     pause_duration_us =     q_drain_length >> 1 (25 Gb/s), >> 2 (50), >> 3 (100, 200 and 400)
//!     it becomes a message {DSCP of p, pause_duration_us} to the source of p, which is routed another pass later
//! a message that leaves a switch by a port to a host:  it becomes one frame of PFC for the priority of the DSCP, with
//!     quanta = k pause_duration_us, k = 48 (25 Gb/s), 96 (50), 192 (100), 384 (200), 768 (400); 0xffff from 1200 us (25), 700 (50), 320 (100) on
//! there is no resume
//! ```
//!
//! Cells of 176 B drain at 17.76, 35.5 and 71.0 a microsecond, so that division by 16, 32 and 64 gives durations that are 11 % long. At 200
//! and 400 Gb/s a comment asks for 128 and 256, and the code divides by 64: durations are 2.22 and 4.44 times the drain time. In quanta, 1.7 %
//! short, pauses are 1.09, 2.18 and 4.36 times as long as the drain time. For these two rates the program also does not apply the table that sets the message's own DSCP, which stays 0: it travels in class 0.
//! `fast_ports = "repaired"` divides by 128 and 256, and uses `message_class`.
//!
//! `arithmetic.rs` has the two conversions, `suppression.rs` the filters, `trigger.rs` the congestion point, `tor.rs` the source's ToR.
//!
//! # Not modelled
//! - the age of the ghost thread's bit, which is not in the program: it is that of the packet's arrival
//! - the variant for TCP, and VLAN tags, with which no packet triggers
//! - the queues of the copy: each of its two passes takes `pass`
//! - pipes: a chip has a filter and an epoch for the ports of each of four pipes, and here a switch has one
//! - frames of PFC and headers as the chip writes them: a capture has the usual destination address of PFC, the switch's addresses as the
//!   source of messages, and a UDP checksum
//!
//! # Differences
//! - A later message replaces the pause of an earlier one, as on the chip. But the port merges it with pauses by PFC: the host is paused until
//!   the later end, where the chip's frame would replace the host's timer, and a resume of PFC would end it.
//! - A message becomes PFC when it arrives at the source's switch, and not behind that port's queue: on the chip it waits for data in its class.
//! - A packet that is pushed out of its queue or flushed writes the register, as if it had left.
//! - `deq_qdepth` is the queue without the packet that leaves: a choice, the program does not say.
//! - The second hash is `HashAlgorithm_t.RANDOM`, which the compiler chooses: here it is CRC-16/IBM-3740. A key is 9 octets.
//! - The tests have no entries for messages at 200 and 400 Gb/s: their limits of 160 and 80 us are a choice, half for twice the rate.
//! - Where `switch.cell` is not 176 B, depths are bytes divided by 176 and rounded up.

mod arithmetic;
mod config;
mod suppression;
mod tor;
mod trigger;
mod wire;

use crate::mac_control::Signal;
pub use arithmetic::FastPorts;
use backwater_net::prelude::*;
pub use config::Params;
use std::any::TypeId;
pub use tor::EndStation;
use tor::Tor;
use trigger::Trigger;
use wire::Message;
pub use wire::PAUSE;

/// The program at a switch: its queues are congestion points, and messages to its hosts become PFC.
#[derive(State)]
pub struct Program {
    #[state(within)]
    trigger: Trigger,
    #[state(fixed)]
    tor: Tor,
}

// The specification.
#[hooks]
impl SwitchSide for Program {
    /// IngressSfcEpochInit, IngressSfcPrepare and IngressSfcTrigger: before the packet joins queue e. A trimmed packet has been here before.
    fn steer(&mut self, cx: &mut SwitchCx<'_>, at: &mut Place, pkt: &mut Packet) {
        if at.own || pkt.is_cut() {
            return;
        }
        self.trigger.tick(cx.now());
        let Some(source) = self.trigger.source(at, pkt) else { return };
        if self.trigger.is_over_threshold(cx, at) {
            self.trigger.mirror(cx, at, pkt, source);
        }
    }

    /// EgressSfc, for such a packet: qdepth_drain_cells(e) = max(0, deq_qdepth - target_qdepth).
    fn on_dequeue(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &mut Packet) {
        if self.trigger.source(at, pkt).is_some() {
            self.trigger.departs(cx, at, pkt);
        }
    }

    /// A copy has made a pass of the pipeline: it reads the queue, or is a message and is routed to the source.
    fn on_timer(&mut self, cx: &mut SwitchCx<'_>, _: Token) {
        self.trigger.mirrored(cx);
        while let Some((source, flow, message)) = self.trigger.recirculated(cx.now()) {
            if self.tor.take(cx, source, message) == Fate::Passed {
                cx.route(source, message.travels, message.frame(flow));
            }
        }
    }

    /// EgressSfcPacket: a message that leaves by a port to a host becomes PFC.
    fn on_control(&mut self, cx: &mut SwitchCx<'_>, _: Port, to: Option<HostId>, frame: &Control) -> Fate {
        match (to, frame.message::<Message>()) {
            (Some(host), Some(message)) => self.tor.take(cx, host, message),
            _ => Fate::Passed,
        }
    }

    fn counts(&self, _: Time) -> Vec<Count> {
        self.trigger.counts()
    }

    fn activity(&self, _: &Occupancy) -> Activity {
        self.trigger.activity()
    }
}

/// Source Flow Control of Tofino 2.
pub enum SfcTofino2 {}

#[backwater_derive::mechanism]
impl Mechanism for SfcTofino2 {
    const NAME: &'static str = "sfc_tofino2";
    const DEFINED_BY: &'static str = "p4lang/open-p4studio (2025-02-26), switch-p4-16";
    const SUMMARY: &'static str =
        "Source Flow Control as it is shipped in Tofino 2: pauses by PFC, suppressed per pair of hosts, without resume";
    const INACTIVE: &'static str = "never paused a source";
    const FRAMES: &'static [&'static str] = &[PAUSE];
    const MESSAGE: TypeId = TypeId::of::<Message>();
    const VALUE: &'static str = "of SFC of Tofino 2 the duration in us";
    const COUNTERS: &'static str =
        "mirrored (packets whose copy became a message), suppressed (packets above the threshold without a message)";
    type Switch = Program;
    type Nic = EndStation;

    fn octets(frame: &Control, cx: &WireCx<'_>, octets: &mut Vec<u8>) -> Option<Carrier> {
        wire::octets(frame, cx, octets)
    }

    fn profile(params: &Params) -> Profile {
        config::profile(params)
    }

    fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
        config::check(params, cx)
    }

    fn pause_style(_: &Params) -> Option<PauseStyle> {
        Some(Signal::Timed.style(u16::MAX))
    }

    fn switch(params: &Params, shape: &SwitchShape) -> Option<Program> {
        Some(Program { trigger: Trigger::new(params, shape), tor: Tor::new(params) })
    }

    fn nic(params: &Params, shape: &NicShape) -> Option<EndStation> {
        Some(EndStation::new(params, shape))
    }
}

#[cfg(test)]
mod tests;
