//! Probes of entropy values.

use backwater_net::packet::{Class, Control, FlowRef, HostId};
use zerocopy::{Immutable, IntoBytes, KnownLayout, TryFromBytes};

/// A probe of a retired value.
pub const PROBE: &str = "ev-probe";
/// Its answer.
pub const ANSWER: &str = "ev-answer";

/// The content of a probe, and of its answer.
#[derive(Clone, Copy, Debug, PartialEq, TryFromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C, packed)]
pub(super) struct Word {
    pub ev: u16,
    /// The host that probes.
    pub src: HostId,
    pub class: Class,
    pub answers: bool,
}

impl Word {
    /// The frame that carries it, on the path of its value.
    pub(super) fn frame(self, flow: Option<FlowRef>) -> Control {
        let (kind, ev) = (if self.answers { ANSWER } else { PROBE }, self.ev);
        Control { flow, ev, ..Control::carrying(kind, Control::MIN_FRAME, u64::from(ev), &self) }
    }
}
