//! The parameters of link-level retry, and their checks.

use super::link::{Link, Rules};
use backwater_derive::parameters;
use backwater_engine::Time;
use backwater_net::hooks::{CheckCx, Finding};
use backwater_net::{Bytes, Rate};

/// Parameters of link-level retry.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// Most bytes of frames that a port may have in flight without acknowledgement.
    #[param(
        symbol = "OUTSTANDING_BYTES_MAX", default = Bytes(102_400), range = Bytes(1).., source = "SAI: example of a profile", why = "one frame alone always goes"
    )]
    pub outstanding_bytes: Bytes,
    /// Most frames that a port may have in flight without acknowledgement.
    #[param(
        symbol = "OUTSTANDING_FRAMES_MAX", default = 1_024, range = 1..=524_288, source = "our choice; SAI's example has 100", why = "half of the numbers of 20 bits"
    )]
    pub outstanding_frames: u32,
    /// Bytes between two acknowledgements. Fewer bytes are acknowledged after the time that the link takes to carry this many.
    #[param(default = Bytes(2_048), range = Bytes(1).., source = "SAI: ACK target spacing", why = "zero is no spacing")]
    pub ack_spacing: Bytes,
    /// Time without progress after which all unacknowledged frames are retransmitted.
    #[param(
        symbol = "REPLAY_TIMER_MAX", default = Time::us(10), range = Time::ns(100).., source = "SAI: example of a profile, 10 000 taken for ns", why = "shorter than any loop"
    )]
    pub replay_timer: Time,
    /// Number of timeouts in a row without progress that retransmit all frames. After that the port gives the frames up.
    #[param(symbol = "REPLAY_COUNT_MAX", default = 255, range = 0..=255, source = "SAI: example of a profile; its default is 1")]
    pub replays: u32,
    /// Time that a link may be down before the port gives up the frames sent over it.
    #[param(symbol = "PCS_LOST_TIMEOUT", default = Time::ns(500), range = Time::ZERO.., source = "SAI: example of a profile, 500 taken for ns")]
    pub link_timeout: Time,
}

impl Params {
    pub(super) fn link(&self, rate: Rate) -> Link {
        Link::new(Rules {
            frames: self.outstanding_frames.into(),
            bytes: self.outstanding_bytes.0,
            spacing: self.ack_spacing.0.max(1),
            spaced: rate.time_for(self.ack_spacing),
            timer: self.replay_timer,
            tries: self.replays,
            lost: self.link_timeout,
        })
    }
}

/// Checks what no range of a single parameter can express.
pub(super) fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for shape in cx.switches {
        let loops = shape.ports.iter().map(|port| {
            // A frame, the ACK's spacing, a frame before the ACK, and the wire both ways.
            let wire = port.rate.time_for(shape.max_frame * 2 + params.ack_spacing) + port.delay + port.delay;
            (port.rate, wire)
        });
        let Some((rate, longest)) = loops.max_by_key(|(_, wire)| *wire) else { continue };
        if params.replay_timer < longest {
            findings.push(Finding {
                fatal: false,
                key: "replay_timer",
                reason: format!(
                    "an acknowledgement may take {longest} on a link of {}: frames would be retransmitted that have come",
                    shape.name
                ),
                hint: format!("more than {longest}"),
            });
            return findings;
        }
        let fill = rate.bytes_in(longest);
        if params.outstanding_bytes < fill {
            findings.push(Finding {
                fatal: false,
                key: "outstanding_bytes",
                reason: format!(
                    "a link of {} carries {fill} until a frame is acknowledged: it cannot be busy all the time",
                    shape.name
                ),
                hint: format!("{fill} or more"),
            });
            return findings;
        }
    }
    findings
}
