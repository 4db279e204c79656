//! The parameters of RCCC, and their checks.

use backwater_derive::parameters;
use backwater_engine::Time;
use backwater_net::Bytes;
use backwater_net::hooks::{CheckCx, Claims, Finding, Needs, Profile};
use backwater_net::packet::Control;

/// Parameters of RCCC.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// Round-trip time of a full packet and its acknowledgement over the longest path of the idle network. A sender may send 1.5 x rate x
    /// this without credit.
    #[param(
        symbol = "network_rtt", default = Time(14_022_720), range = Time(1_000)..,
        source = "uet-htsim: 2 x latency + links x (full packet + acknowledgement); value: three tiers, 100 Gb/s, 1 us a link",
        why = "no packet takes no time"
    )]
    pub network_rtt: Time,
    /// Class of pulls and requests, 0 to 7.
    #[param(default = 6, range = 0..=7, source = "choice: before data, as what is trimmed", why = "there is no such class")]
    pub class: u8,
    /// Time after which a sender without credit and with nothing in flight repeats its request; it doubles with each request.
    #[param(
        default = Time::us(100), range = Time::us(1)..,
        source = "choice: about the retransmission timeout of uet-htsim", why = "no pull could have come"
    )]
    pub request_interval: Time,
    /// Oversubscription of the network: rate towards hosts / rate upwards, as the product over all tiers. Above 1, marks and packets that
    /// were trimmed before the last hop slow a receiver's pulls, down to 0.9 / this of the full rate. 1: pulls leave at their full rate.
    #[param(default = 1.0, range = 1.0..=1000.0, source = "uet-htsim: on where RCCC is alone and the tiers are oversubscribed")]
    pub oversubscription: f64,
}

impl Params {
    /// \[bytes\] configured_maxwnd of a link of this rate.
    pub(super) fn maxwnd(&self, rate: backwater_net::Rate) -> u64 {
        let bdp = rate.bytes_in(self.network_rtt).0;
        bdp + bdp / 2
    }
}

/// Returns its effects on others and its needs.
pub(super) fn profile(params: &Params) -> Profile {
    Profile {
        claims: Claims { packet_tag: true, ..Claims::NONE },
        needs: Needs { acks: true, recovery: true, counts: true, ..Needs::default() },
        classes: 1 << (params.class & 7),
        longest_message: Bytes(u64::from(Control::MIN_FRAME)),
        ..Profile::default()
    }
}

/// Checks what no range of a single parameter can express.
pub(super) fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
    let found = [
        crate::uec_checks::too_long(params.network_rtt, cx),
        crate::uec_checks::of_class("pulls and requests", params.class, cx),
    ];
    found.into_iter().flatten().collect()
}
