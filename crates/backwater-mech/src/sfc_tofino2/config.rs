//! The parameters of Tofino 2's Source Flow Control, and their checks.

use super::arithmetic::{CELL, FastPorts, Speed, cells};
use super::suppression::us;
use super::wire::SIZE;
use crate::mac_control::{Signal, differing_signal};
use crate::sfc::Points;
use backwater_net::config::BufferPer;
use backwater_net::packet::class_bits;
use backwater_net::prelude::*;

/// \[bytes\] The unit of the ghost thread's threshold: 4 cells.
const UNIT: Bytes = Bytes(4 * CELL.0);

/// Parameters of Source Flow Control as it is shipped in Tofino 2.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// Length of an egress queue at or above which packets cause messages. It is counted in units of 4 cells, 704 B, and rounded down.
    #[param(
        symbol = "qdepth_threshold", range = UNIT..=Bytes(u16::MAX as u64 * UNIT.0),
        source = "open-p4studio 2025, sfc_ghost.p4: qlength[17:2] >= qdepth_threshold", why = "it is a number of 16 bits, in units of 4 cells of 176 B"
    )]
    pub threshold: Bytes,
    /// Queue length for which a duration aims. Absent: half of `threshold`.
    #[param(
        symbol = "target_qdepth", range = Bytes::ZERO..=threshold,
        source = "open-p4studio 2025, sfc_trigger.p4; half: choice, as in [sfc]", why = "a pause ends when the queue has fallen to the target"
    )]
    pub target: Option<Bytes>,
    /// Time in which a pair of hosts gets at most one message for a DSCP, in whole microseconds. A new epoch begins with the first packet that
    /// arrives a microsecond after its end.
    #[param(
        symbol = "suppression_epoch_duration", default = Time::us(10), range = Time::us(1)..,
        source = "open-p4studio 2025; 10 us: choice, the program's tests have 2 s for a slow model of the chip", why = "the chip's clock counts microseconds"
    )]
    pub epoch: Time,
    /// Bits of a hash by which a filter is addressed.
    #[param(
        symbol = "SFC_SUPPRESSION_FILTER_WIDTH", unit = "bits", default = 16, range = 1..=16,
        source = "a constant of the build that open-p4studio does not give; 16: choice, all bits of its hashes", why = "the hashes have 16 bits"
    )]
    pub filter_width: u8,
    /// Latency of a pass of the pipeline. A packet's copy reads the length of its queue after one pass, and joins the message's queue after two.
    #[param(default = Time::ns(400), range = Time::ZERO.., source = "choice: the program does not say")]
    pub pass: Time,
    /// Durations and class of messages from ports at 200 and 400 Gb/s. `shipped`: up to 2.2 and 4.4 times the time to the target, in class 0.
    /// `repaired` to what the program's comment says: 1.1 times, in `message_class`.
    #[param(default = FastPorts::Shipped, source = "open-p4studio 2025, sfc_trigger.p4")]
    pub fast_ports: FastPorts,
    /// Which egress queues are congestion points: those `to-hosts`, or `all`.
    #[param(default = Points::ToHosts, source = "choice, as in [sfc]: incast is seen at the last hop")]
    pub points: Points,
    /// Traffic classes whose packets may cause a message, each 0 to 7.
    #[param(
        symbol = "classify_sfc", default = vec![3], each = 0..=7, source = "choice: RoCEv2 deployments commonly use 3", why = "there is no such class"
    )]
    pub classes: Vec<u8>,
    /// Class of messages, 0 to 7.
    #[param(
        symbol = "sfc_pause_packet_dscp", default = 7, range = 0..=7, source = "choice: served first",
        why = "there is no such class, and 7 is served first"
    )]
    pub message_class: u8,
    /// Classes in which a switch recognises messages, each 0 to 7. In others they are datagrams that nobody reads.
    #[param(
        symbol = "TcSignalEnabled", default = vec![0, 7], each = 0..=7,
        source = "open-p4studio 2025; 0: choice, without which no message from a port at 200 or 400 Gb/s has an effect", why = "there is no such class"
    )]
    pub signal_classes: Vec<u8>,
}

impl Params {
    /// `qdepth_threshold`, in units of 4 cells.
    pub(super) fn threshold_units(&self) -> u32 {
        (self.threshold.0 / UNIT.0) as u32
    }

    /// `target_qdepth`.
    pub(super) fn target_cells(&self) -> u32 {
        cells(self.target.unwrap_or(Bytes(self.threshold.0 / 2)))
    }

    /// The class of messages from a port: `set_sfc_pause_dscp` is applied after the actions for 25, 50 and 100 Gb/s only.
    pub(super) fn travels(&self, speed: Speed) -> Class {
        if self.fast_ports == FastPorts::Shipped && speed.is_fast() { Class(0) } else { Class(self.message_class) }
    }

    /// Classes that may be paused, a bit each.
    pub(super) fn class_bits(&self) -> u8 {
        class_bits(&self.classes)
    }
}

/// Returns its effects on others and its needs.
pub(super) fn profile(params: &Params) -> Profile {
    let own = params.class_bits();
    Profile {
        pauses: own.into(),
        classes: own | class_bits(&[params.message_class, 0]),
        longest_message: Bytes(SIZE.into()),
        one_link: true,
        ..Profile::default()
    }
}

/// Checks what no range of a single parameter can express.
pub(super) fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let points = |shape: &SwitchShape| {
        let ports = shape.ports.iter().filter(|port| params.points.include(port));
        ports.map(|port| port.rate).collect::<Vec<_>>()
    };
    let fatal = |key, reason, hint: &str| Finding { fatal: true, key, reason, hint: hint.into() };
    for (shape, switch) in cx.switches.iter().zip(cx.switch_params) {
        if let Some(rate) = points(shape).into_iter().find(|rate| Speed::of(*rate).is_none()) {
            let reason = format!("{} has a port of {rate}, for which Tofino 2's program has no arithmetic", shape.name);
            findings.push(fatal("points", reason, "ports of 25, 50, 100, 200 or 400 Gb/s; or [sfc]"));
            break;
        }
        let buffer = switch.buffer_of(params.class_bits());
        if params.threshold >= buffer && switch.buffer_per != BufferPer::None {
            let reason = format!(
                "threshold ({}) is not below the buffer of {} ({buffer}): PFC or loss comes before any message",
                params.threshold, shape.name
            );
            findings.push(fatal("threshold", reason, "lower it; is it KB or KiB?"));
            break;
        }
    }
    if let Some((shape, switch)) = cx.switches.iter().zip(cx.switch_params).find(|(_, switch)| switch.cell != CELL) {
        let reason =
            format!("{} counts memory in cells of {}, and the program in cells of {CELL}", shape.name, switch.cell);
        findings.push(Finding::warning("threshold", reason, "cell = \"176 B\" in [switch]"));
    }
    let speeds = cx.switches.iter().flat_map(points).filter_map(Speed::of);
    let travels = class_bits(&speeds.map(|speed| params.travels(speed).0).collect::<Vec<_>>());
    if let Some(class) = (0..8).find(|class| travels & !class_bits(&params.signal_classes) & (1 << class) != 0) {
        let reason = format!("messages travel in class {class}, in which no switch recognises them");
        findings.push(Finding::warning("signal_classes", reason, format!("add {class}")));
    }
    if let Some((other, name)) = differing_signal(Signal::Timed.style(u16::MAX), cx) {
        let reason = format!("{name} would signal pauses of one port by timed frames, and for [{other}] differently");
        findings.push(fatal("classes", reason, &format!("{other}.signal = \"timed\"")));
    }
    let whole = us(params.epoch);
    if params.epoch != Time::us(whole) {
        let reason = format!("{} acts as {whole} us: the chip's clock counts microseconds", params.epoch);
        findings.push(Finding::warning("epoch", reason, "whole microseconds"));
    }
    findings
}
