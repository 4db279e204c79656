//! CSIG, congestion signaling — SAI support for Congestion Signaling (UEC Management Working Group, 2025-05-12, in review;
//! opencomputeproject/SAI, `doc/CSIG/SAI-CSIG-Spec.md`), meant for UE 1.1; before it draft-ravi-ippm-csig-01 (2024-02-02).
//!
//! A data packet carries a tag of fixed length. Each switch compares the tag with the state of its egress port, and keeps
//! the worse of the two. So the tag tells about the busiest port of the path, whatever their number. The receiver
//! reflects it to the sender.
//!
//! ```text
//! sender, per data packet:      tag {t = 1 (ABW/C), s = the greatest band}
//! switch, port of capacity C:   ABW = C - (bytes that it sent in the last whole interval) / interval
//! as a tagged packet begins to leave:  s = min(s, band),  band = floor(ABW/C / step), step = 1 / bands
//!                               d set (the packet has been trimmed): s stays as it is
//! receiver:                     reflects s in the acknowledgement
//! sender, per acknowledgement:  U = 1 - s step, the greatest load in band s
//!     no change within two intervals after the last:  R = R eta / U + R_AI;  min_rate <= R <= line rate      (choice)
//! ```
//!
//! Intervals are common to all switches, and begin with the run. A tag is about an interval that has ended: its news is
//! between one and two intervals old. So the sender waits for two intervals after a change: any tag is then about the
//! time after it, and a load is corrected once. The rule is that of [HPCC](docs/modelling/hpcc.md) without its stages,
//! and the load is that of the tag. n equal flows settle at n R = C U with U = eta + n R_AI / C.
//!
//! ABW cannot say by how much a port is overloaded: U is 1 at most. From n times the capacity the rates fall by the
//! factor eta every two intervals.
//!
//! # Not modelled
//! - the reaction of NSCC or RCCC to a tag: nobody has published one. The sender's rule above is a choice
//! - the other signals: ABW (t = 0), delay of a hop (t = 2), queue by port speed (t = 3)
//! - the locator (lm), and the tag in captures: no EtherType is assigned
//! - 32 ranges of unequal width, as the compact tag allows
//! - ports that remove tags, telemetry to monitors, and probes
//!
//! # Differences
//! - Bytes are those of frames without preamble and gap, counted when a frame begins to leave. A port that is full by
//!   its gaps therefore shows a little ABW.
//! - Base and step must be powers of two, "for ease of hardware implementation". Here bands share ABW/C from 0 to 1
//!   equally, so that with a power of two as their number the step is one.
//! - The octets of the reflection are not published: as many as the tag's. That is a choice.

mod config;

use backwater_net::prelude::*;
pub use config::Params;

/// The bytes that a port sends in intervals.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Meter {
    /// number of the interval of the last frame
    interval: u64,
    /// \[bytes\] sent before this interval
    before: u64,
    /// \[bytes\] sent in the interval before
    last: u64,
}

impl Meter {
    /// A frame begins to leave in interval `number`; so many bytes have left before it.
    fn passes(&mut self, number: u64, tx_bytes: u64) {
        if number != self.interval {
            // Without a frame in the interval before, it sent nothing.
            self.last = if number == self.interval + 1 { tx_bytes - self.before } else { 0 };
            (self.interval, self.before) = (number, tx_bytes);
        }
    }
}

/// A switch that compares and updates tags.
#[derive(State)]
pub struct Transit {
    ports: Vec<Meter>,
    #[state(fixed)]
    interval: Time,
    #[state(fixed)]
    bands: u32,
}

/// The sender of one flow.
#[derive(State)]
pub struct Sender {
    /// R
    rate: Rate,
    #[state(fixed)]
    line: Rate,
    /// two intervals after the last change
    settled: Time,
    /// number of times that the rate was lowered
    cuts: u64,
    #[state(fixed)]
    params: Box<Params>,
}

/// The tag beside a packet: how many bands s is below the greatest. So a new tag is zero, and the worst port has the greatest number.
fn below_greatest(tag: &Attachment) -> u64 {
    tag.0[0]
}

// The specification.
#[hooks]
impl LinkSide for Transit {
    fn on_start(&mut self, cx: &mut LinkCx<'_>, from: &Departure, pkt: &Packet, carried: Option<&mut Attachment>) {
        let meter = &mut self.ports[usize::from(from.port.0)];
        meter.passes(cx.now().0 / self.interval.0, from.tx_bytes);
        // SAI CSIG 3.1: a packet with the d bit is not updated.
        if let (Some(Attachment(words)), true, false) = (carried, pkt.is_data(), pkt.is_cut()) {
            let band = band(from.rate.bytes_in(self.interval).0, meter.last, self.bands);
            // SAI CSIG 3: the minimum of ABW/C.
            words[0] = words[0].max(u64::from(self.bands - 1 - band));
        }
    }
}

/// SAI CSIG 3.2: band = floor((ABW/C - base) / step), with base 0 and step 1 / bands.
fn band(capacity: u64, sent: u64, bands: u32) -> u32 {
    let abw = u128::from(capacity.saturating_sub(sent));
    let band = abw * u128::from(bands) / u128::from(capacity.max(1));
    u32::try_from(band).unwrap_or(u32::MAX).min(bands - 1)
}

#[hooks(link)]
impl SwitchSide for Transit {}

#[hooks]
impl FlowSide for Sender {
    #[inline(always)]
    fn rate(&self) -> Option<Rate> {
        Some(self.rate)
    }

    #[inline(always)]
    fn attach(&mut self, _: &Packet) -> Option<Attachment> {
        Some(Attachment::default())
    }

    fn on_ack(&mut self, cx: &mut FlowCx<'_>, ack: &Ack<'_>) {
        if let (Some(tag), true) = (ack.carried, cx.now() >= self.settled) {
            self.react(cx.now(), below_greatest(tag));
        }
    }

    fn activity(&self) -> Activity {
        Activity { acts: self.cuts, margin: None }
    }
}

impl Sender {
    fn react(&mut self, now: Time, below_greatest: u64) {
        let Params { bands, eta, r_ai, min_rate, interval, .. } = *self.params;
        // Band s is s step <= ABW/C < (s + 1) step, so that the load is at most 1 - s step.
        let u = (below_greatest + 1) as f64 / f64::from(bands);
        // As HPCC, algorithm 1, lines 13 and 17: a choice.
        let rate = self.rate.scale(eta / u).0.saturating_add(r_ai.0);
        let rate = Rate(rate).min(self.line).max(min_rate.min(self.line));
        if rate != self.rate {
            self.cuts += u64::from(rate < self.rate);
            (self.rate, self.settled) = (rate, now.after(interval).after(interval));
        }
    }
}

/// CSIG.
pub enum Csig {}

#[backwater_derive::mechanism]
impl Mechanism for Csig {
    const NAME: &'static str = "csig";
    const DEFINED_BY: &'static str = "SAI CSIG specification (UEC, 2025-05, in review); draft-ravi-ippm-csig-01";
    const SUMMARY: &'static str =
        "switches write the bandwidth that is left at the busiest port into packets, and the sender follows it";
    const INACTIVE: &'static str = "never lowered a rate";
    type Switch = Transit;
    type Flow = Sender;

    fn profile(params: &Params) -> Profile {
        config::profile(params)
    }

    fn switch(params: &Params, shape: &SwitchShape) -> Option<Transit> {
        let ports = vec![Meter::default(); shape.ports.len()];
        Some(Transit { ports, interval: params.interval, bands: params.bands })
    }

    fn flow(params: &Params, shape: &FlowShape, (): &()) -> Option<Sender> {
        let (rate, settled, cuts) = (shape.line, Time::ZERO, 0);
        Some(Sender { rate, line: shape.line, settled, cuts, params: Box::new(params.clone()) })
    }
}

#[cfg(test)]
mod tests;
