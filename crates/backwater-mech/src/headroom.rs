//! The headroom that a pause needs, and checks that a threshold leaves it.

use crate::mac_control::{Counter, Signal};
use backwater_engine::Time;
use backwater_net::config::{Architecture, BufferPer, LatencyAt, SwitchParams};
use backwater_net::hooks::{CheckCx, Finding, PortShape, SwitchShape};
use backwater_net::packet::Control;
use backwater_net::{Bytes, Rate};

/// Worst-case bytes above xoff, of frames of at most `max_frame` (wire length `max_frame + gap`) over a link of `rate` and
/// `delay`:
///
/// ```text
/// A = t(max_frame + gap) + t(PFC frame + gap) + delay + response      when the sender stops; ideal signal: delay + response
/// headroom = max_frame                                                 the frame that passed xoff
///          + (A + delay) max_frame / t(max_frame + gap)                what is sent until then, had it left when that one had
///          + max_frame                                                 the frame begun last
/// ```
///
/// Exact for this model if frames may have any length: only whole equal frames fit into the middle term, but a short one among them can
/// fill it. The standard's worst case (802.1Q annex N) adds the delays of real interfaces. A latency that frames spend before any counter
/// sees them (`latency_at = "input"`) counts as response.
pub fn headroom(rate: Rate, delay: Time, max_frame: Bytes, gap: Bytes, response: Time, signal: Signal) -> Bytes {
    let frame = rate.time_for(max_frame + gap);
    let pfc = rate.time_for(Bytes(u64::from(Control::MIN_FRAME)) + gap);
    let wait = if signal == Signal::Ideal { Time::ZERO } else { frame + pfc };
    let until_stop = wait + delay + response;
    let sent = u128::from((until_stop + delay).0) * u128::from(max_frame.0) / u128::from(frame.0.max(1));
    max_frame * 2 + Bytes(u64::try_from(sent).unwrap_or(u64::MAX / 4))
}

/// A headroom of whole cells, from one in bytes. What is sent until the stop fills a wire of frames that take most cells for their time on
/// the wire: the shortest Ethernet frames, or those that are 1 B longer than some cells.
///
/// ```text
/// headroom = 2 cells(max_frame) + wire max over f >= 64 B of cells(f) / (f + gap)      wire: bytes sent until the stop, with gaps
/// ```
///
/// In the tables that SONiC ships for Tomahawk 5 (cells of 254 B) headroom grows 3.00 to 3.03 times as fast with the cable as bytes do:
/// 254 / (64 + 20) = 3.02.
pub fn headroom_in_cells(exact: Bytes, max_frame: Bytes, gap: Bytes, cell: Bytes) -> Bytes {
    if cell.0 <= 1 {
        return exact;
    }
    let sent = exact.saturating_sub(max_frame * 2);
    let wire = u128::from(sent.0) * u128::from((max_frame + gap).0) / u128::from(max_frame.0.max(1));
    let sent = cells_of_wire(Bytes(u64::try_from(wire).unwrap_or(u64::MAX / 4)), gap, cell);
    // With cells far shorter than frames, the gaps of short frames cost more than their last cells.
    (max_frame.in_cells(cell) * 2 + sent).max(exact.in_cells(cell))
}

/// A headroom of whole cells, from one in bytes, if all frames have the longest length: whole frames arrive. By bytes other lengths fill
/// what they leave.
pub fn in_cells_of_longest(exact: Bytes, max_frame: Bytes, cell: Bytes) -> Bytes {
    match cell.0 {
        0 | 1 => exact,
        _ => max_frame.in_cells(cell) * (exact.0 / max_frame.0.max(1)),
    }
}

/// The most memory in cells that frames take which fill so many bytes of a wire, gaps included.
pub(crate) fn cells_of_wire(wire: Bytes, gap: Bytes, cell: Bytes) -> Bytes {
    let shortest = u64::from(Control::MIN_FRAME);
    let one_more = shortest.div_ceil(cell.0.max(1)) * cell.0 + 1;
    let taken = |frame: u64| {
        let cells = u128::from(wire.0) * u128::from(Bytes(frame).in_cells(cell).0) / u128::from(frame + gap.0);
        u64::try_from(cells).unwrap_or(u64::MAX / 4)
    };
    Bytes(taken(shortest).max(taken(one_more))).in_cells(cell)
}

/// The part of a switch's latency that frames spend before a counter sees them: unseen frames cannot have caused a pause.
pub(crate) fn unseen(latency_at: LatencyAt, latency: Time, counter: Counter) -> Time {
    match (latency_at, counter) {
        (LatencyAt::Input, _) | (LatencyAt::Fabric, Counter::Egress | Counter::Queue) => latency,
        _ => Time::ZERO,
    }
}

/// The properties of a pausing mechanism that matter for headroom.
pub(crate) struct Pausing {
    pub counter: Counter,
    /// The threshold; `None`: dynamic.
    pub xoff: Option<Bytes>,
    /// Rate of the ports for which it is meant; `None`: all.
    pub reference: Option<Rate>,
    /// Number of counters per port with this threshold.
    pub classes: u64,
    /// Number of classes that it keeps from being dropped: a counter's bytes may be of any class that it counts.
    pub kept: u64,
    pub response: Time,
    pub signal: Signal,
    /// It has dynamic thresholds, too.
    pub dynamic: bool,
}

impl Pausing {
    fn xoff_at(&self, rate: Rate) -> Option<Bytes> {
        self.xoff.map(|xoff| xoff.at_rate(rate, self.reference))
    }
}

/// Compares thresholds with each switch's buffer, or with that of each slice. Too little headroom is fatal only where the scenario promises
/// losslessness.
pub(crate) fn headroom_findings(pausing: &Pausing, cx: &CheckCx<'_>) -> Vec<Finding> {
    for (whole, shape, switch) in cx.memories() {
        let shape = &*shape;
        if switch.buffer_per == BufferPer::None {
            continue;
        }
        let xoffs = shape.ports.iter().filter_map(|port| pausing.xoff_at(port.rate));
        // All slices fill an egress queue.
        let buffer = match pausing.counter {
            Counter::Ingress => switch.memory_of(cx.kept),
            Counter::Egress | Counter::Queue => switch.buffer_of(cx.kept),
        };
        if let Some(xoff) = xoffs.max().filter(|xoff| *xoff >= buffer) {
            return vec![Finding {
                fatal: true,
                key: "xoff",
                reason: format!(
                    "xoff ({xoff}) is not below the buffer of {} ({buffer}): frames are lost before a neighbour is paused",
                    shape.name
                ),
                hint: format!("xoff + headroom must fit into the buffer; is it KB or KiB? buffer: {buffer}"),
            }];
        }
        if let Some((key, reason, hint)) = shortage(pausing, whole, shape, switch, cx) {
            return vec![Finding { fatal: cx.lossless, key, reason, hint }];
        }
    }
    Vec::new()
}

/// Warns if a pause may end before its refresh. The frame of the refresh is due at half the pause time. Before it, it may find the longest
/// frame on the wire and the frames for everything that any mechanism pauses there:
///
/// ```text
/// 512 quanta / 2 >= 8 (max_frame + gap) + 8 paused (PFC frame + gap)      [bit times]
/// ```
///
/// Fatal only if memory is limited and the scenario promises losslessness.
pub(crate) fn refresh_finding(signal: Signal, quanta: u16, cx: &CheckCx<'_>) -> Option<Finding> {
    if signal != Signal::Timed || cx.paused == 0 {
        return None;
    }
    let longest = cx.switches.iter().map(|shape| shape.max_frame).max()?;
    let notified = (Bytes(u64::from(Control::MIN_FRAME)) + cx.gap) * u64::from(cx.paused.count_ones());
    let least = ((longest + cx.gap + notified).0 * 8 * 2).div_ceil(512);
    (u64::from(quanta) < least).then(|| Finding {
        fatal: cx.lossless && cx.switch_params.iter().any(|switch| switch.buffer_per != BufferPer::None),
        key: "quanta",
        reason: format!(
            "a pause of {quanta} quanta ends before it is told anew: that frame is due after half of them, and may wait for one of {longest}"
        ),
        hint: format!("{least} quanta at least, or signal = \"on-off\""),
    })
}

/// A headroom for links that are faster than their rates: the bytes sent until the stop grow, except the two `whole` frames at its ends.
fn faster(exact: Bytes, whole: Bytes, (more, than): (u64, u64)) -> Bytes {
    let sent = u128::from(exact.saturating_sub(whole).0) * u128::from(more);
    whole + Bytes(u64::try_from(sent.div_ceil(u128::from(than.max(1)))).unwrap_or(u64::MAX / 4))
}

/// The headroom that one switch lacks: key, reason and hint.
fn shortage(
    pausing: &Pausing,
    whole: &SwitchShape,
    shape: &SwitchShape,
    switch: &SwitchParams,
    cx: &CheckCx<'_>,
) -> Option<(&'static str, String, String)> {
    let response = pausing.response.after(unseen(switch.latency_at, switch.latency, pausing.counter));
    let of_port = |p: &PortShape| {
        let exact = headroom(p.rate, p.delay, shape.max_frame, cx.gap, response, pausing.signal);
        headroom_in_cells(faster(exact, shape.max_frame * 2, cx.overrun), shape.max_frame, cx.gap, switch.cell)
    };
    let needs: Vec<Bytes> = shape.ports.iter().map(of_port).collect();
    let advice = "`backwater advise pfc` itemises the headroom";
    let carved = switch.buffer_per.is_carved();
    let short = |(port, need): &(&PortShape, &Bytes)| switch.headroom_at(port.rate) < **need;
    let short = shape.ports.iter().zip(&needs).filter(short).max_by_key(|(_, need)| **need);
    // If a frame is in headroom its sender is paused, however little the pool before it holds.
    if pausing.counter == Counter::Ingress && carved && short.is_none() {
        return scarce_pool(pausing, shape, switch, &needs);
    }
    // What `headroom` has to be, given for ports of the reference rate.
    let enough = shape.ports.iter().zip(&needs).map(|(port, need)| match switch.reference_rate {
        Some(reference) => {
            Bytes((u128::from(need.0) * u128::from(reference.0)).div_ceil(u128::from(port.rate.0.max(1))) as u64)
        }
        None => *need,
    });
    let enough = enough.max().unwrap_or(Bytes::ZERO);
    let by_share = switch.headroom_above.is_some() && switch.architecture == Architecture::SharedMemory;
    if carved && by_share && switch.headroom > Bytes::ZERO {
        return above_share(pausing, shape, switch, short, enough);
    }
    let Some(xoff) = pausing.xoff else {
        if !carved {
            let reason = format!(
                "a dynamic threshold is a share of free memory, and at {} what comes in cannot know which memory it will take: \
                 nobody is ever paused",
                shape.name
            );
            return Some(("threshold", reason, "switch.buffer_per = \"switch\", or threshold = \"static\"".into()));
        }
        let (port, need) = short?;
        let reason = format!(
            "{} has a headroom of {} per port and class, but its links' delays need {need} beyond a dynamic threshold",
            shape.name,
            switch.headroom_at(port.rate)
        );
        return Some(("threshold", reason, format!("switch.headroom = \"{enough}\" at least; {advice}")));
    };
    // Frames of a slice may wait for every port.
    let counting = if pausing.counter == Counter::Ingress { shape } else { whole };
    let xoffs: Vec<Bytes> = counting.ports.iter().filter_map(|port| pausing.xoff_at(port.rate)).collect();
    let (xoffs, need) = worst(pausing, switch.buffer_per, &xoffs, &needs, cx.steered != 0);
    let memory = usable(pausing, shape, switch, cx.kept);
    let have = memory.saturating_sub(xoffs);
    if have >= need {
        return None;
    }
    let left = memory.saturating_sub(need).0;
    let fitting = Bytes((u128::from(xoff.0) * u128::from(left) / u128::from(xoffs.0.max(1))) as u64);
    let shared = pausing.reference.map_or_else(|| divided(memory, xoffs, xoff, pausing.classes), |_| String::new());
    let reason = format!("{} has {have} above xoff, but its links' delays need {need} of headroom{shared}", shape.name);
    let carve = match carved && pausing.counter == Counter::Ingress && switch.headroom > Bytes::ZERO {
        true => format!("switch.headroom = \"{enough}\", "),
        false => String::new(),
    };
    // A dynamic threshold follows the free memory, and has separate headroom.
    let room = enough * (shape.ports.len() as u64 * pausing.classes) + shape.max_frame < switch.memory_of(cx.kept);
    let other = match pausing.dynamic && carved && pausing.counter == Counter::Ingress && room {
        true => format!("; or threshold = \"dynamic\" with switch.headroom = \"{enough}\""),
        false => String::new(),
    };
    let hint = format!("{carve}lower xoff to {fitting} or enlarge {}{other}; {advice}", switch.buffer_key());
    Some(("xoff", reason, hint))
}

/// Returns the shortage if headrooms share a memory that does not suffice for all of them at once.
fn scarce_pool(
    pausing: &Pausing,
    shape: &SwitchShape,
    switch: &SwitchParams,
    needs: &[Bytes],
) -> Option<(&'static str, String, String)> {
    let pool = switch.slice_headroom()?;
    let all = needs.iter().copied().sum::<Bytes>() * pausing.kept;
    (pool < all).then(|| {
        let key = if pausing.xoff.is_some() { "xoff" } else { "threshold" };
        let reason = format!(
            "headrooms of {} share {pool}, but its links' delays need {all} if all neighbours are paused at once",
            shape.name
        );
        (key, reason, format!("switch.headroom_pool = \"{}\" at least", all * u64::from(switch.slices.max(1))))
    })
}

/// Returns the division of memory that several thresholds of `xoff` share, `xoffs` together, as text for a reason. Empty if one has it all,
/// or if they differ.
fn divided(memory: Bytes, xoffs: Bytes, xoff: Bytes, classes: u64) -> String {
    if xoff == Bytes::ZERO || !xoffs.0.is_multiple_of(xoff.0) || xoffs == xoff {
        return String::new();
    }
    let all = xoffs.0 / xoff.0;
    let (ports, classes) = if all.is_multiple_of(classes) { (all / classes, classes) } else { (all, 1) };
    let by = |number: u64, what: &str| if number > 1 { format!(" / {number} {what}") } else { String::new() };
    let one = match (ports, classes) {
        (1, _) => "class",
        (_, 1) => "port",
        _ => "port and class",
    };
    let each = Bytes(memory.0 / all);
    format!(": {memory}{}{} = {each} for one {one}, xoff and headroom", by(ports, "ports"), by(classes, "classes"))
}

/// Returns the shortage if a class takes only a share of free memory before its headroom (`switch.headroom_above`): while others take the
/// rest, its share is zero, and frames after a pause have only the headroom.
fn above_share(
    pausing: &Pausing,
    shape: &SwitchShape,
    switch: &SwitchParams,
    short: Option<(&PortShape, &Bytes)>,
    enough: Bytes,
) -> Option<(&'static str, String, String)> {
    let key = if pausing.xoff.is_some() { "xoff" } else { "threshold" };
    let Some((port, need)) = short else {
        let reason = format!(
            "at {} switch.headroom_above sends frames to headroom while the queue that pauses is short: nobody is paused for that",
            shape.name
        );
        let hint = "counter = \"ingress\", or leave out switch.headroom_above";
        return (pausing.counter != Counter::Ingress).then(|| (key, reason, hint.into()));
    };
    let reason = format!(
        "{} has a headroom of {} per port and class, but its links' delays need {need}: with switch.headroom_above a class may get no more",
        shape.name,
        switch.headroom_at(port.rate)
    );
    Some((key, reason, format!("switch.headroom = \"{enough}\" at least, or leave out switch.headroom_above")))
}

/// \[bytes\] of one buffer that any frame may take: memory reserved for other classes and ports does not help.
fn usable(pausing: &Pausing, shape: &SwitchShape, switch: &SwitchParams, kept: u8) -> Bytes {
    let ports = match switch.buffer_per {
        BufferPer::Switch => shape.ports.as_slice(),
        BufferPer::Ingress => &shape.ports[..1.min(shape.ports.len())],
        BufferPer::Egress | BufferPer::Queue | BufferPer::None => &[],
    };
    let accounts = ports.len() as u64 * pausing.kept;
    let headroom = |classes: u64| match switch.slice_headroom() {
        Some(pool) => pool,
        None => ports.iter().map(|port| switch.headroom_at(port.rate) * classes).sum::<Bytes>(),
    };
    let reserves = switch.reserves(ports.len());
    let headrooms = match (switch.headroom, pausing.counter) {
        (Bytes::ZERO, _) => Bytes::ZERO,
        // A counter's frames may all be of one class, whose headroom takes whole frames.
        (_, Counter::Ingress) => {
            headroom(pausing.kept - pausing.classes) + shape.max_frame * (accounts + u64::from(accounts > 0))
        }
        (_, Counter::Egress | Counter::Queue) => headroom(pausing.kept),
    };
    switch.memory_of(kept).saturating_sub(reserves).saturating_sub(headrooms)
}

/// \[bytes\] Most that may stand in one buffer below the thresholds of all counters whose frames it holds, and above them.
fn worst(pausing: &Pausing, per: BufferPer, xoffs: &[Bytes], needs: &[Bytes], steered: bool) -> (Bytes, Bytes) {
    let all = |of: &[Bytes]| of.iter().copied().sum::<Bytes>();
    let most = |of: &[Bytes]| of.iter().copied().max().unwrap_or(Bytes::ZERO);
    // No frame leaves by its ingress.
    let others = |of: &[Bytes]| all(of).saturating_sub(of.iter().copied().min().unwrap_or(Bytes::ZERO));
    let classes = pausing.classes;
    // A queue holds frames of its own class, except for flows that are moved to it.
    let in_queue = if steered { classes } else { 1 };
    match (pausing.counter, per) {
        (_, BufferPer::None) => (Bytes::ZERO, Bytes::ZERO),
        (Counter::Ingress, BufferPer::Ingress) => (most(xoffs) * classes, most(needs) * classes),
        (_, BufferPer::Switch) => (all(xoffs) * classes, all(needs) * classes),
        // A buffer of an egress fills from all other ports.
        (Counter::Ingress, BufferPer::Egress) => (others(xoffs) * classes, others(needs) * classes),
        (Counter::Ingress, BufferPer::Queue) => (others(xoffs) * in_queue, others(needs) * in_queue),
        // Frames from one port may wait for each of the others.
        (Counter::Egress | Counter::Queue, BufferPer::Ingress) => (others(xoffs) * classes, most(needs) * classes),
        // Every other port continues until it has received the pause.
        (Counter::Egress | Counter::Queue, BufferPer::Egress) => (most(xoffs) * classes, others(needs) * classes),
        (Counter::Egress | Counter::Queue, BufferPer::Queue) => (most(xoffs), others(needs)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A metre of cable takes 5 ns each way: at 400 Gb/s 500 B are sent meanwhile. SONiC's tables for Tomahawk 5 set 3.00 to 3.03 times as
    /// much aside, since each frame of 64 B takes a cell of 254 B and 84 B of the wire.
    #[test]
    fn a_longer_cable_needs_cells_full_of_short_frames() {
        let (frame, gap, cell) = (Bytes(4096), Bytes(20), Bytes(254));
        let of = |metres: u64, cell: Bytes| {
            let exact = headroom(Rate::gbps(400), Time::ns(5 * metres), frame, gap, Time::ZERO, Signal::Timed);
            headroom_in_cells(exact, frame, gap, cell).0
        };
        let grows = (of(300, cell) - of(100, cell)) as f64 / (200.0 * 500.0);
        assert!((grows - 254.0 / 84.0).abs() < 0.01, "{grows}");
        assert_eq!(
            of(300, Bytes(1)),
            headroom(Rate::gbps(400), Time::ns(1500), frame, gap, Time::ZERO, Signal::Timed).0
        );
        assert_eq!(of(300, cell) % 254, 0, "whole cells");
    }

    /// Sent are 1,000,900 B in whole frames of 1000 B, each with 11 cells of 96 B; 2 frames stand at the ends.
    #[test]
    fn the_longest_frames_fill_their_own_cells() {
        let taken = in_cells_of_longest(Bytes(2 * 1000 + 1_000_900), Bytes(1000), Bytes(96));
        assert_eq!(taken, Bytes(1002 * 11 * 96));
        assert_eq!(in_cells_of_longest(Bytes(12_345), Bytes(1000), Bytes(1)), Bytes(12_345), "by length");
    }

    /// With cells of 2 to 20 B the longest frames have the least gap for their cells, so that their bytes are what counts.
    #[test]
    fn no_cells_take_less_than_bytes() {
        for cell in 1..=9200 {
            let exact = Bytes(2 * 9122 + 40_000);
            let taken = headroom_in_cells(exact, Bytes(9122), Bytes(20), Bytes(cell));
            assert!(taken >= exact && taken >= in_cells_of_longest(exact, Bytes(9122), Bytes(cell)), "{cell}: {taken}");
        }
    }

    /// With cells of 96 B a frame of 97 B takes two for 117 B of the wire, more than one of 64 B for 84 B.
    #[test]
    fn frames_just_longer_than_cells_take_most() {
        let taken = headroom_in_cells(Bytes(2 * 1000 + 1_000_000), Bytes(1000), Bytes(20), Bytes(96)).0;
        let wire = 1_000_000.0 * 1.02;
        let most = f64::max(96.0 / 84.0, 192.0 / 117.0);
        assert!((taken as f64 - 2.0 * 1056.0 - wire * most).abs() <= 96.0 + 2.0, "{taken}");
    }
}
