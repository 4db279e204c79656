//! How far a receiver of RCCC slows its pulls down if the network before its own link is the bottleneck, apart from any run.
//!
//! UEC 1.0 does not cover it. The rules are those of `OversubscribedCC` of `htsim_uec` (ultraethernet/uet-htsim, commit 40ccb052), which
//! uses it if RCCC is alone and the tiers of the network are oversubscribed.
//!
//! ```text
//! every interval of (0.75 to 1.25, drawn) x 1.5 x network_rtt, of what has come in it:
//!   f     marked / (packets - cut)                          the whole ones;  0 where none came
//!   cut before the last hop:  r -= those / packets          and it is a decrease
//!   g     (1 - alpha) g + alpha f,  alpha = 0.5
//!   g > 0.3:  r = r (1 - (g - 0.3) x 0.5)                   and it is a decrease
//!   none:  r += 0.01 x 2^k where nothing was marked, otherwise 0.01;  k: increases in a row before this one
//!   r     at least max(0.01, 0.9 / ratio), at most 1
//! time of a quantum of pulls: / r
//! ```

/// Share of marked packets above which the rate falls.
const TARGET: f64 = 0.3;
/// Weight of an interval's share of marks in the mean.
const ALPHA: f64 = 0.5;
/// The increase of the rate.
const STEP: f64 = 0.01;
/// The factor of the excess over the target by which the rate falls.
const CUT: f64 = 0.5;
/// The rate never falls below this, whatever the ratio.
const LEAST: f64 = 0.01;

/// The packets that have arrived at an interface in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Came {
    /// Data packets, including trimmed ones, and requests to send.
    pub packets: u32,
    /// Whole packets with a mark.
    pub marked: u32,
    /// Packets that were trimmed at the port to this interface.
    pub cut_last: u32,
    /// Packets that were trimmed before it.
    pub cut_before: u32,
}

/// The rate of one interface's pulls.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Slowed {
    least: f64,
    rate: f64,
    mean: f64,
    increases: u32,
    /// The arrivals since the interval began.
    pub came: Came,
}

impl Slowed {
    /// For a network whose tiers take `ratio` times as much from below as they pass upwards (the product over the tiers).
    pub fn new(ratio: f64) -> Slowed {
        let least = (0.9 / ratio).max(LEAST);
        Slowed { least, rate: 1.0, mean: 0.0, increases: 0, came: Came::default() }
    }

    /// r: the part of their full rate at which pulls leave.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Returns whether the rate is full, and nothing that could change it is in progress.
    pub fn rests(&self) -> bool {
        self.rate >= 1.0 && self.came == Came::default()
    }

    /// The interval has ended.
    pub fn on_interval(&mut self) {
        let Came { packets, marked, cut_last, cut_before } = std::mem::take(&mut self.came);
        let whole = packets.saturating_sub(cut_last).saturating_sub(cut_before);
        let share = if whole == 0 { 0.0 } else { f64::from(marked) / f64::from(whole) };
        if cut_before > 0 {
            self.rate -= f64::from(cut_before) / f64::from(packets);
        }
        self.mean = self.mean * (1.0 - ALPHA) + ALPHA * share;
        let above = self.mean > TARGET;
        if above {
            self.rate *= 1.0 - (self.mean - TARGET) * CUT;
        }
        if above || cut_before > 0 {
            self.increases = 0;
        } else {
            // Twenty doublings exceed the whole rate.
            let doublings = if marked == 0 { self.increases.min(20) } else { 0 };
            self.rate += STEP * f64::from(1_u32 << doublings);
            self.increases += 1;
        }
        self.rate = self.rate.clamp(self.least, 1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(slowed: &mut Slowed, came: Came) -> f64 {
        slowed.came = came;
        slowed.on_interval();
        slowed.rate()
    }

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-12, "{a} for {b}");
    }

    #[test]
    fn the_rate_falls_by_the_share_that_is_cut_before_the_last_hop() {
        let mut slowed = Slowed::new(4.0);
        // 10 of 50; packets trimmed at the last hop count only in the total.
        near(after(&mut slowed, Came { packets: 50, cut_before: 10, cut_last: 5, ..Came::default() }), 0.8);
        // Without arrivals: 0.01, 0.02, 0.04, 0.08, and never above 1.
        for rate in [0.81, 0.83, 0.87, 0.95, 1.0, 1.0] {
            near(after(&mut slowed, Came::default()), rate);
        }
        assert!(slowed.rests());
    }

    #[test]
    fn marks_slow_it_down_above_three_tenths_in_the_mean() {
        let mut slowed = Slowed::new(8.0);
        let marked = |marked| Came { packets: 100, marked, ..Came::default() };
        // g = 0.25: an increase, but of one step, however often.
        near(after(&mut slowed, marked(50)), 1.0);
        // g = 0.125 + 0.5 = 0.625: r = 1 - 0.325 / 2.
        near(after(&mut slowed, marked(100)), 0.8375);
        // g = 0.3125: r = 0.8375 (1 - 0.0125 / 2).
        near(after(&mut slowed, marked(0)), 0.8375 * 0.99375);
        // g = 0.15625 + 0.05: marks, so one step.
        near(after(&mut slowed, marked(10)), 0.8375 * 0.99375 + 0.01);
        near(after(&mut slowed, marked(10)), 0.8375 * 0.99375 + 0.02);
        // Two increases before this one, and no mark: four steps.
        near(after(&mut slowed, marked(0)), 0.8375 * 0.99375 + 0.06);
    }

    #[test]
    fn the_share_is_of_whole_packets_and_the_rate_stays_above_its_least() {
        let mut slowed = Slowed::new(4.0);
        // All ten whole packets of 100 are marked, so g = 0.5: (1 - 0.9) (1 - 0.1), which is below 0.9 / 4.
        near(after(&mut slowed, Came { packets: 100, marked: 10, cut_before: 90, cut_last: 0 }), 0.225);
        near(after(&mut Slowed::new(500.0), Came { packets: 100, cut_before: 100, ..Came::default() }), 0.01);
    }
}
