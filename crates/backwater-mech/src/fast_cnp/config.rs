//! The parameters of Fast CNP, and their checks.

use backwater_net::config::BufferPer;
use backwater_net::packet::class_bits;
use backwater_net::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whom a congested switch notifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Notify {
    /// The sender, by a Fast CNP.
    Sender,
    /// The sender's switch, which sends it a usual CNP.
    Proxy,
}

/// Parameters of Fast CNP.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// Length of an egress queue above which senders are notified.
    #[param(
        symbol = "Th", range = Bytes(1).., up_to = "below the buffer",
        source = "draft-xiao-rtgwg-rocev2-fast-cnp-05 has a threshold; the value is the operator's"
    )]
    pub threshold: Bytes,
    /// Node that a congested switch notifies: the `sender`, by a Fast CNP; or a `proxy`, the sender's switch, which sends the sender a usual
    /// CNP.
    #[param(
        default = Notify::Sender,
        source = "draft-xiao-rtgwg-rocev2-fast-cnp-05: the sender; draft-xiao-rtgwg-proxy-congestion-notification-03: a proxy"
    )]
    pub notify: Notify,
    /// Minimum time between two notifications that a switch sends for one flow.
    #[param(
        symbol = "N", default = Time::us(50), range = Time::ZERO..,
        source = "choice: as between two CNPs of a receiver, SIGCOMM 2015 section 3.1; the draft asks for a limit"
    )]
    pub interval: Time,
    /// Classes whose packets may cause a notification, each 0 to 7. Absent: all.
    #[param(each = 0..=7, source = "choice, as in [ecn]", why = "there is no such class")]
    pub classes: Option<Vec<u8>>,
    /// Class of notifications and of a proxy's CNPs, 0 to 7.
    #[param(default = 6, range = 0..=7, source = "choice: as `dcqcn.cnp_class`", why = "there is no such class")]
    pub message_class: u8,
    /// Frame length of a Fast CNP, and of the notification to a proxy.
    #[param(
        default = Bytes(122), range = Bytes(64)..=Bytes(1 << 20),
        source = "RoCEv2, InfiniBand annex A17: 78 B over IPv4; 20 B more for IPv6, and 24 B for a destination option with an address",
        why = "such a message is no Ethernet frame"
    )]
    pub size: Bytes,
    /// Frame length of the CNP that a proxy sends.
    #[param(
        default = Bytes(78), range = Bytes(64)..=Bytes(1 << 20), source = "RoCEv2, InfiniBand annex A17: 74 B and FCS",
        why = "such a CNP is no Ethernet frame"
    )]
    pub cnp_size: Bytes,
}

/// Returns its effects on others and its needs.
pub(super) fn profile(params: &Params) -> Profile {
    let by_proxy = params.notify == Notify::Proxy;
    Profile {
        needs: Needs { heeded: true, ..Needs::default() },
        notifies: true,
        classes: class_bits(&[params.message_class]),
        longest_message: if by_proxy { params.size.max(params.cnp_size) } else { params.size },
        one_link: by_proxy,
        ..Profile::default()
    }
}

/// Checks what no range of a single parameter can express.
pub(super) fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
    let classes = crate::class_bits_or_all(params.classes.as_deref());
    let switches = cx.switches.iter().zip(cx.switch_params);
    let limited = switches.filter(|(_, switch)| switch.buffer_per != BufferPer::None);
    let beyond = limited.map(|(shape, switch)| (shape, switch.buffer_of(classes)));
    let beyond = beyond.filter(|(_, buffer)| params.threshold >= *buffer).map(|(shape, buffer)| {
        let reason = format!("threshold ({}) is not below the buffer of {} ({buffer})", params.threshold, shape.name);
        let hint = "lower it: a queue loses packets, or is paused, before it passes the threshold";
        Finding::warning("threshold", reason, hint)
    });
    beyond.take(1).collect()
}

/// Parameters that these settings leave without effect.
pub(super) fn ineffective(params: &Params) -> Vec<Ineffective> {
    match params.notify {
        Notify::Sender => Ineffective::all(&["cnp_size"], "notify", "notify = \"proxy\""),
        Notify::Proxy => Vec::new(),
    }
}
