//! The parameters of packet trimming, and their checks.

use backwater_derive::parameters;
use backwater_net::Bytes;
use backwater_net::config::{SwitchParams, Victim};
use backwater_net::hooks::{CheckCx, Finding, Needs, Profile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where trimmed packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum To {
    /// On to the receiver, which reports it to the sender.
    Destination,
    /// Back to the sender, as a NACK.
    Source,
}

/// Parameters of packet trimming.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// Length of a trimmed packet, as buffers count it, but never below its headers; a packet that is not longer is dropped instead.
    /// Absent: its headers.
    #[param(
        symbol = "trim_size", range = Bytes(1)..=Bytes(9216),
        source = "SAI: PACKET_TRIM_SIZE, 128 B by default; UEC 1.0: MIN_TRIM_SIZE; htsim_uec: 64 B, its headers"
    )]
    pub size: Option<Bytes>,
    /// Class of trimmed packets, from the trimming switch on, 0 to 7.
    #[param(
        symbol = "trim_class", default = 6, range = 0..=7,
        source = "choice: before data; UEC 1.0: below control and before data; SAI: TRIM_QUEUE_INDEX", why = "there is no such class"
    )]
    pub class: u8,
    /// Classes whose packets are trimmed, each 0 to 7. Absent: all but `class`.
    #[param(each = 0..=7, source = "UEC 1.0: DSCP_TRIMMABLE; choice: all", why = "there is no such class")]
    pub classes: Option<Vec<u8>>,
    /// Where trimmed packets go: on to the `destination`, which reports them, or back to the `source`, as a NACK of their own flow.
    #[param(
        default = To::Destination,
        source = "UEC 1.0, 4.1: destination; source: choice, which UEC excludes, after NDP's return-to-sender (Handley et al., SIGCOMM 2017)"
    )]
    pub to: To,
    /// Packet that is trimmed for want of memory: the `arriving` one, or `either`: with probability 1/2 the newest packet that waits in its
    /// queue, whose memory it takes. `either` needs output queues and `switch.buffer_per` = `queue` or `egress`.
    #[param(default = Victim::Arriving, source = "UEC 1.0, section 4.1, and SAI: arriving; htsim_uec, CompositeQueue: either")]
    pub victim: Victim,
}

/// Returns its effects on others and its needs.
pub(super) fn profile(params: &Params) -> Profile {
    Profile {
        needs: Needs { recovery: true, ..Needs::default() },
        classes: 1 << params.class,
        // A returned packet overtakes no packet that goes on.
        reorders: params.to == To::Destination,
        cuts: true,
        ..Profile::default()
    }
}

/// Checks what no range of a single parameter can express.
pub(super) fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
    let mut findings = Vec::from_iter(crate::uec_checks::of_class("what is cut", params.class, cx));
    if params.victim == Victim::Arriving {
        return findings;
    }
    let first = |that: fn(&SwitchParams) -> bool| {
        let mut switches = cx.switches.iter().zip(cx.switch_params);
        switches.find(|(_, switch)| that(switch)).map(|(shape, _)| shape)
    };
    findings.extend(first(|switch| switch.victim == Victim::Either).map(|shape| Finding {
        fatal: true,
        key: "victim",
        reason: format!("{} tosses already which of two packets finds no memory, by switch.victim", shape.name),
        hint: "one toss decides: remove trim.victim or switch.victim".into(),
    }));
    findings.extend(first(|switch| !switch.may_give_way()).map(|shape| Finding {
        fatal: true,
        key: "victim",
        reason: format!("the newest packet of a queue of {} has not the memory that the arriving one lacks", shape.name),
        hint: "switch.architecture = \"output-queued\" with switch.buffer_per = \"queue\" or \"egress\"; or victim = \"arriving\""
            .into(),
    }));
    findings
}
