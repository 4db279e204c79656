//! The fingerprint of a trajectory: one number that changes when any event moves.
//!
//! Each place (a port) folds its own events, in its own order, into its own lane; the run's fingerprint folds the lanes by number. It
//! therefore depends on what every place saw and when, not on how places were interleaved: a run that is split over threads has the
//! fingerprint of the serial one.

/// One lane: the running hash of one place's events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Fingerprint(u64);

/// Odd constant of the multiplicative hash: the fractional part of the golden ratio, Knuth's choice.
const PHI: u64 = 0x9E37_79B9_7F4A_7C15;

impl Fingerprint {
    /// Folds one event in: `time` in picoseconds and a word of its content.
    #[inline(always)]
    pub fn fold(&mut self, time: u64, content: u64) {
        self.0 = (self.0.rotate_left(5) ^ time ^ content.rotate_left(32)).wrapping_mul(PHI);
    }

    /// The value so far.
    pub fn value(self) -> u64 {
        mix(self.0)
    }

    /// The fingerprint of all lanes, in the order of their places.
    pub fn of(lanes: impl IntoIterator<Item = Fingerprint>) -> u64 {
        let mut all = Fingerprint::default();
        for (place, lane) in lanes.into_iter().enumerate() {
            all.fold(place as u64, lane.value());
        }
        all.value()
    }
}

/// Spreads every bit of `x` over the whole word (the finaliser of splitmix64, Steele, Lea and Flood, OOPSLA 2014).
#[inline(always)]
pub const fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_content_matter() {
        let run = |events: &[(u64, u64)]| {
            let mut f = Fingerprint::default();
            events.iter().for_each(|&(t, c)| f.fold(t, c));
            f.value()
        };
        assert_ne!(run(&[(1, 2), (3, 4)]), run(&[(3, 4), (1, 2)]));
        assert_ne!(run(&[(1, 2)]), run(&[(2, 1)]));
        assert_ne!(
            Fingerprint::of([Fingerprint(1), Fingerprint(2)]),
            Fingerprint::of([Fingerprint(2), Fingerprint(1)])
        );
    }
}
