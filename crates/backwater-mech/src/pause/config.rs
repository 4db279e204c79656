//! The parameters of global PAUSE, and their checks.

use crate::headroom::{Pausing, headroom_findings, refresh_finding};
use crate::mac_control::{Counter, Signal};
use backwater_derive::parameters;
use backwater_engine::Time;
use backwater_net::hooks::{CheckCx, Claims, Finding, Profile};
use backwater_net::packet::CLASSES;
use backwater_net::{Bytes, Rate};

/// Parameters of global PAUSE.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// Bytes above which the link partner is paused.
    #[param(
        symbol = "XOFF", range = Bytes(1).., up_to = "below the buffer",
        source = "the study; IEEE 802.3 leaves it to the implementer"
    )]
    pub xoff: Bytes,
    /// Bytes below which the link partner resumes. Absent: `xoff` less 8 KB.
    #[param(symbol = "XON", range = Bytes::ZERO..=xoff, source = "choice: two frames of 4 KB", why = "a pause would be lifted at once")]
    pub xon: Option<Bytes>,
    /// Port rate for which `xoff` and `xon` are given; both scale in proportion at ports of other rates. Absent: the same values at all
    /// ports.
    #[param(symbol = "C0", range = Rate(1).., source = "as `pfc.reference_rate`", why = "no port has a rate of zero")]
    pub reference_rate: Option<Rate>,
    /// Bytes that the thresholds apply to. `ingress`: those that arrived at a port; pauses the neighbour at that port. `egress`: those that
    /// wait for a port; pauses the neighbours at all other ports.
    #[param(default = Counter::Ingress, range_text = "ingress, egress", source = "choice")]
    pub counter: Counter,
    /// How pauses are signalled: `timed` (a frame with a pause time, refreshed at half of it), `on-off` (a frame that holds until the next
    /// one) or `ideal` (no frame, propagation delay only).
    #[param(default = Signal::Timed, source = "IEEE 802.3 annex 31B; ideal: as htsim")]
    pub signal: Signal,
    /// Pause time in each frame, in quanta of 512 bit times.
    #[param(
        symbol = "pause_time", unit = "512 bit times", default = u16::MAX, range = 1..=65535,
        source = "IEEE 802.3 annex 31B.2", why = "such a pause is none"
    )]
    pub quanta: u16,
    /// Time from the receipt of a PAUSE frame until the receiver obeys it.
    #[param(default = Time::ZERO, range = Time::ZERO.., source = "IEEE 802.3 annex 31B.3.7 bounds it from above")]
    pub response: Time,
}

impl Params {
    pub(super) fn xon(&self) -> Bytes {
        self.xon.unwrap_or(self.xoff.saturating_sub(Bytes(8_000)))
    }

    /// The thresholds at a port of `rate`.
    pub(super) fn thresholds(&self, rate: Rate) -> Thresholds {
        let at = |bytes: Bytes| bytes.at_rate(rate, self.reference_rate);
        Thresholds { xoff: at(self.xoff), xon: at(self.xon()) }
    }
}

/// The thresholds of one port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thresholds {
    /// \[bytes\] pause above
    pub xoff: Bytes,
    /// \[bytes\] resume below
    pub xon: Bytes,
}

/// Returns its effects on others and its needs.
pub(super) fn profile(params: &Params) -> Profile {
    Profile {
        claims: Claims { link_pause: true, ..Claims::NONE },
        lossless_classes: u8::MAX,
        pauses: params.signal.by_frame(1 << CLASSES),
        ..Profile::default()
    }
}

/// Checks what no range of a single parameter can express.
pub(super) fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if params.counter == Counter::Queue {
        let reason = "counter = \"queue\" pauses classes, and PAUSE knows none".into();
        let hint = "counter = \"egress\" counts all that waits for a port; PFC pauses classes".into();
        findings.push(Finding { fatal: true, key: "counter", reason, hint });
    }
    let pausing = Pausing {
        counter: params.counter,
        xoff: Some(params.xoff),
        reference: params.reference_rate,
        classes: 1,
        kept: CLASSES as u64,
        response: params.response,
        signal: params.signal,
        dynamic: false,
    };
    findings.extend(refresh_finding(params.signal, params.quanta, cx));
    findings.extend(headroom_findings(&pausing, cx));
    findings
}
