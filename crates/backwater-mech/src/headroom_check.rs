//! Whether a pause threshold leaves the headroom that this run's own delays need.

use crate::mac_control::{Counter, Signal};
use crate::pfc::headroom;
use backwater_engine::Time;
use backwater_net::Bytes;
use backwater_net::config::{BufferPer, LatencyAt, SwitchParams};
use backwater_net::hooks::{CheckCx, Finding, SwitchShape};

/// What a pausing mechanism does, as far as headroom goes.
pub(crate) struct Pausing {
    pub counter: Counter,
    /// The threshold; `None`: dynamic.
    pub xoff: Option<Bytes>,
    /// Number of counters per port that have it.
    pub classes: u64,
    pub response: Time,
    pub signal: Signal,
}

/// Compares thresholds with each switch's buffer. Too little headroom is fatal only where the scenario promises losslessness.
pub(crate) fn headroom_findings(pausing: &Pausing, cx: &CheckCx<'_>) -> Vec<Finding> {
    for (shape, switch) in cx.switches.iter().zip(cx.switch_params) {
        if switch.buffer_per == BufferPer::None {
            continue;
        }
        if let Some(xoff) = pausing.xoff.filter(|xoff| *xoff >= switch.buffer) {
            return vec![Finding {
                fatal: true,
                key: "xoff",
                reason: format!(
                    "xoff ({xoff}) is not below the buffer of {} ({}): frames are lost before anybody is paused",
                    shape.name, switch.buffer
                ),
                hint: format!("xoff + headroom must fit into the buffer; is it KB or KiB? buffer: {}", switch.buffer),
            }];
        }
        if let Some((key, reason, hint)) = shortage(pausing, shape, switch, cx.gap) {
            return vec![Finding { fatal: cx.lossless, key, reason, hint }];
        }
    }
    Vec::new()
}

/// The headroom that one switch lacks: key, reason and hint.
fn shortage(
    pausing: &Pausing,
    shape: &SwitchShape,
    switch: &SwitchParams,
    gap: Bytes,
) -> Option<(&'static str, String, String)> {
    // What no counter has seen yet cannot have caused a pause.
    let unseen = if switch.latency_at == LatencyAt::Input { switch.latency } else { Time::ZERO };
    let response = pausing.response.after(unseen);
    let of_port =
        |p: &backwater_net::hooks::PortShape| headroom(p.rate, p.delay, shape.max_frame, gap, response, pausing.signal);
    let needs: Vec<Bytes> = shape.ports.iter().map(of_port).collect();
    let most = needs.iter().copied().max().unwrap_or(Bytes::ZERO);
    let advice = "`backwater advise pfc` itemises the headroom";
    let carved = matches!(switch.buffer_per, BufferPer::Switch | BufferPer::Ingress);
    // Whoever has a frame in headroom is paused, however little the pool before it holds.
    if pausing.counter == Counter::Ingress && carved && switch.headroom >= most {
        return None;
    }
    let Some(xoff) = pausing.xoff else {
        let reason = format!(
            "{} has a headroom of {} per port and class, but its links' delays need {most} beyond a dynamic threshold",
            shape.name, switch.headroom
        );
        return carved.then(|| ("threshold", reason, format!("switch.headroom = \"{most}\" at least; {advice}")));
    };
    // Bytes that may stand above all thresholds that share one buffer, and how many such thresholds there are.
    let (need, thresholds) = match (pausing.counter, switch.buffer_per) {
        (Counter::Ingress, BufferPer::Ingress) => (most * pausing.classes, pausing.classes),
        (Counter::Ingress, BufferPer::Switch) => {
            let all: Bytes = needs.iter().copied().sum();
            (all * pausing.classes, needs.len() as u64 * pausing.classes)
        }
        // The buffer of an egress fills from all ports, whatever each ingress holds.
        (Counter::Ingress, _) => return None,
        // Every other port goes on until it has heard.
        (Counter::Egress | Counter::Queue, _) => (needs.iter().copied().sum::<Bytes>().saturating_sub(most), 1),
    };
    let have = switch.buffer.saturating_sub(xoff * thresholds);
    if have >= need {
        return None;
    }
    let fitting = Bytes(switch.buffer.saturating_sub(need).0 / thresholds.max(1));
    let reason = format!("{} has {have} above xoff, but its links' delays need {need} of headroom", shape.name);
    let carve = match carved && pausing.counter == Counter::Ingress {
        true => format!("switch.headroom = \"{most}\", "),
        false => String::new(),
    };
    Some(("xoff", reason, format!("{carve}lower xoff to {fitting} or enlarge switch.buffer; {advice}")))
}
