//! The worst case of IEEE 802.1Q annex N, in bit times:
//!
//! ```text
//! DV = 2 max frame + PFC frame + 2 cable + 2 interfaces + response
//! ```
//!
//! The first frame blocks the PFC frame at the requesting port; the second has just begun at the peer when the pause arrives. Frames count
//! with 8 bytes of preamble and 12 of gap.

use backwater_engine::Time;
use backwater_net::{Bytes, Rate};

/// Preamble and inter-frame gap, IEEE 802.3 clause 4A.4.2.
pub(super) const GAP: u64 = 20;

/// Delays of a rate, in bit times.
struct Bound {
    /// In Gb/s.
    rate: u64,
    /// Longest time from receipt of a pause to the stop.
    response: u64,
    /// Both directions of one interface, at most; `None`: no bound is known.
    interface: Option<u64>,
}

const fn bound(rate: u64, quanta: u64, interface: Option<u64>) -> Bound {
    Bound { rate, response: quanta * 512, interface }
}

/// IEEE 802.3 annex 31B.3.7, in quanta. `pause_quanta_per_speed` of SONiC's `cfgmgr/buffer_headroom_mellanox.lua` (sonic-swss, commit
/// 18913fa3) has the same from 25 Gb/s on; at 10 Gb/s it has 67. Here it is 60, which the published examples of annex N have
/// (30,720 bit times).
///
/// That response is measured at the link, so it includes the interface of the stopping port. The examples add both interfaces all the same,
/// and so does the sum here: it is an upper bound. Linux's driver i40e has 6144 bit times at 10 Gb/s in its place
/// (`I40E_HIGHER_LAYER_DELAY_10G`): the delay behind the interfaces alone.
///
/// No interface bound is known for 200 and 400 Gb/s: as long as at 100 Gb/s.
const BOUNDS: [Bound; 8] = [
    bound(10, 60, Some(8_192)),
    bound(25, 80, Some(6_144)),
    bound(40, 118, Some(24_576)),
    bound(50, 147, None),
    bound(100, 394, Some(122_880)),
    bound(200, 453, Some(245_760)),
    bound(400, 905, Some(491_520)),
    bound(800, 905, None),
];

fn bound_of(rate: Rate) -> Option<&'static Bound> {
    BOUNDS.iter().find(|bound| Rate::gbps(bound.rate) == rate)
}

/// The rates whose bounds are all known, in words.
pub(super) fn known_rates() -> String {
    let known = BOUNDS.iter().filter(|bound| bound.interface.is_some());
    let known: Vec<String> = known.map(|bound| bound.rate.to_string()).collect();
    format!("{} Gb/s", known.join(", "))
}

/// The longest time from receipt of a pause to the stop that IEEE 802.3 allows at a rate; `None`: no bound is known.
pub fn longest_response(rate: Rate) -> Option<Time> {
    bound_of(rate).map(|bound| of_bit_times(bound.response, rate))
}

/// The longest time that both interfaces of a link take together in one round trip, by the same bounds; `None`: no bound is known.
pub fn longest_interfaces(rate: Rate) -> Option<Time> {
    Some(of_bit_times(2 * bound_of(rate)?.interface?, rate))
}

/// Headroom of a port and class by annex N; `None`: a value is missing and has no known bound at this rate.
pub fn headroom(rate: Rate, delay: Time, frame: Bytes, response: Option<Time>) -> Option<Bytes> {
    let items = Items::of(&Asked { rate, delay, frame, control: Bytes(64), response, interface: None }).ok()?;
    Some(items.bytes())
}

/// The input of the annex.
pub(super) struct Asked {
    pub rate: Rate,
    /// Propagation delay of the link.
    pub delay: Time,
    /// Largest frame.
    pub frame: Bytes,
    /// A PFC frame.
    pub control: Bytes,
    /// `None`: the bound of the rate.
    pub response: Option<Time>,
    /// Both directions of one interface; `None`: the bound of the rate.
    pub interface: Option<Time>,
}

/// The items of the sum, in bit times.
pub(super) struct Items {
    pub frame: u64,
    pub pause: u64,
    pub cable: u64,
    pub interface: u64,
    pub response: u64,
}

impl Items {
    /// The items; an error names the missing values without a bound at this rate.
    pub fn of(asked: &Asked) -> Result<Items, Vec<&'static str>> {
        let bound = bound_of(asked.rate);
        let item = |given: Option<Time>, of: fn(&Bound) -> Option<u64>| {
            given.map(|time| in_bit_times(time, asked.rate)).or_else(|| bound.and_then(of))
        };
        let response = item(asked.response, |bound| Some(bound.response));
        let interface = item(asked.interface, |bound| bound.interface);
        let (Some(response), Some(interface)) = (response, interface) else {
            let lacking = [("response", response), ("interface", interface)];
            return Err(lacking.iter().filter(|(_, item)| item.is_none()).map(|(name, _)| *name).collect());
        };
        Ok(Items {
            frame: (asked.frame.0 + GAP) * 8,
            pause: (asked.control.0 + GAP) * 8,
            cable: in_bit_times(asked.delay, asked.rate),
            interface,
            response,
        })
    }

    /// DV.
    pub fn sum(&self) -> u64 {
        2 * self.frame + self.pause + 2 * self.cable + 2 * self.interface + self.response
    }

    /// DV in whole bytes.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.sum().div_ceil(8))
    }
}

/// Picoseconds per second.
const SECOND: u128 = 1_000_000_000_000;

fn in_bit_times(time: Time, rate: Rate) -> u64 {
    (u128::from(time.0) * u128::from(rate.0)).div_ceil(SECOND) as u64
}

fn of_bit_times(count: u64, rate: Rate) -> Time {
    Time((u128::from(count) * SECOND).div_ceil(u128::from(rate.0.max(1))) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quanta of 512 bit times: 147 at 50 Gb/s, 394 at 100, 453 at 200, 905 at 400 and 800.
    #[test]
    fn responses_by_hand() {
        for (gbps, ps) in [(50, 1_505_280), (100, 2_017_280), (200, 1_159_680), (400, 1_158_400), (800, 579_200)] {
            assert_eq!(longest_response(Rate::gbps(gbps)), Some(Time::ps(ps)), "{gbps} Gb/s");
        }
        assert_eq!(longest_response(Rate::gbps(1600)), None);
    }

    /// 9122 B over 500 ns at 400 Gb/s: 2 x 73,136 + 672 + 2 x 200,000 + 2 x 491,520 + 463,360 bit times.
    #[test]
    fn a_headroom_by_hand() {
        let of = |gbps, response| headroom(Rate::gbps(gbps), Time::ns(500), Bytes(9122), response);
        assert_eq!(of(400, None), Some(Bytes(1_993_344 / 8)));
        // 1 us is 400,000 bit times in place of 463,360.
        assert_eq!(of(400, Some(Time::ns(1000))), Some(Bytes((1_993_344 - 63_360) / 8)));
        assert_eq!(of(800, Some(Time::ns(1000))), None);
    }
}
