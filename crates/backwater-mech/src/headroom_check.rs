//! Whether a static PFC threshold leaves the headroom that this run's own delays need.

use crate::mac_control::Counter;
use crate::pfc::{Params, headroom};
use backwater_engine::Time;
use backwater_net::Bytes;
use backwater_net::config::{BufferPer, LatencyAt};
use backwater_net::hooks::{CheckCx, Finding};

/// Compares `xoff` with each switch's buffer. Too little headroom is fatal only where the scenario promises losslessness.
pub(crate) fn headroom_findings(params: &Params, xoff: Bytes, cx: &CheckCx<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for (shape, switch) in cx.switches.iter().zip(cx.switch_params) {
        if switch.buffer_per == BufferPer::None {
            continue;
        }
        if xoff >= switch.buffer {
            findings.push(Finding {
                fatal: true,
                key: "xoff",
                reason: format!(
                    "xoff ({xoff}) is not below the buffer of {} ({}): frames are lost before anybody is paused",
                    shape.name, switch.buffer
                ),
                hint: format!("xoff + headroom must fit into the buffer; is it KB or KiB? buffer: {}", switch.buffer),
            });
            return findings;
        }
        if switch.buffer_per != BufferPer::Ingress || params.counter != Counter::Ingress {
            continue;
        }
        let have = switch.buffer - xoff;
        // What no counter has seen yet cannot have caused a pause.
        let unseen = if switch.latency_at == LatencyAt::Input { switch.latency } else { Time::ZERO };
        let response = params.response.after(unseen);
        let needs =
            shape.ports.iter().map(|p| headroom(p.rate, p.delay, shape.max_frame, cx.gap, response, params.signal));
        let need = needs.max().unwrap_or(Bytes::ZERO);
        if have < need && findings.is_empty() {
            findings.push(Finding {
                fatal: cx.lossless,
                key: "xoff",
                reason: format!("{} has {have} above xoff, but its links' delays need {need} of headroom", shape.name),
                hint: format!(
                    "lower xoff to {} or enlarge switch.buffer; `backwater advise pfc` itemises the headroom",
                    switch.buffer.saturating_sub(need)
                ),
            });
        }
    }
    findings
}
