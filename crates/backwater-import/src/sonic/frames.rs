//! Frames of one cell that a priority group holds when it is paused, when it drops, and when its pause ends: the law of a shared memory
//! with dynamic thresholds, in closed form.
//!
//! ```text
//! s = octets of the group beyond its guaranteed ones      P = shared octets of its slice      all = what all groups hold of P
//! a frame is shared    if s <= alpha (P - all before it), else it takes headroom, else it is dropped
//! paused               if s >= alpha (P - all) and no frame fits into the guaranteed octets, or if headroom is in use
//! the pause ends       if s + xon_offset <= alpha (P - all)
//! ```
//!
//! The reading of studies/silicon-2026, which holds it against tests of hardware (sonic-net/sonic-mgmt b4ba9de3, `tests/qos`).

/// The simulator's largest alpha is 2 to this power.
pub const MOST_EXPONENT: i32 = 6;

/// Alpha of a profile: 2 to this power, from -8 to [`MOST_EXPONENT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alpha(i32);

impl Alpha {
    /// 2 to a power, at most the largest of a scenario.
    pub fn power(exponent: i32) -> Alpha {
        Alpha(exponent.clamp(-8, MOST_EXPONENT))
    }

    /// Alpha times a size, rounded down.
    fn of(self, octets: u64) -> u64 {
        match u32::try_from(self.0) {
            Ok(exponent) => octets.saturating_mul(1 << exponent),
            Err(_) => octets >> self.0.unsigned_abs(),
        }
    }

    /// Returns whether a size is at most alpha times another, without rounding.
    fn allows(self, own: u64, free: u64) -> bool {
        match u32::try_from(self.0) {
            Ok(exponent) => own <= free.saturating_mul(1 << exponent),
            Err(_) => own.saturating_mul(1 << self.0.unsigned_abs()) <= free,
        }
    }
}

/// The memory that the ports of a slice share, in octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// A cell.
    pub cell: u64,
    /// Shared octets that are free.
    pub shared: u64,
    /// Octets of the slice's headroom pool that are free; `None`: each group has its own headroom.
    pub headroom: Option<u64>,
}

/// The limits of a priority group, in octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Guaranteed octets: `size` of the profile.
    pub guaranteed: u64,
    /// Alpha: `dynamic_th`.
    pub alpha: Alpha,
    /// Headroom: `xoff`.
    pub headroom: u64,
    /// `xon_offset`, if given.
    pub xon_offset: Option<u64>,
}

/// Frames of one cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frames {
    /// Frames that the group holds when it is paused, the one included by which it is.
    pub pause: u64,
    /// The number of the first frame that is dropped.
    pub drop: u64,
    /// Frames that leave from the pause until it ends, if none comes meanwhile. `None`: without `xon_offset` it is not known.
    pub resume: Option<u64>,
}

/// Fills a group of a slice until it drops. Returns its frames; the slice keeps what is left for other groups.
pub fn fill(slice: &mut Slice, limits: Limits) -> Frames {
    let (cell, Limits { guaranteed, alpha, .. }) = (slice.cell.max(1), limits);
    let shared = slice.shared;
    let beyond = |frames: u64| frames.saturating_mul(cell).saturating_sub(guaranteed);
    let free = |frames: u64| shared.saturating_sub(beyond(frames));
    let is_paused =
        |frames: u64| (frames + 1).saturating_mul(cell) > guaranteed && beyond(frames) >= alpha.of(free(frames));
    let is_refused = |frames: u64| {
        let (own, before) = (beyond(frames), free(frames - 1));
        own > 0 && !(own.min(cell) <= before && alpha.allows(own, before))
    };
    let most = (guaranteed.saturating_add(shared)) / cell + 2;
    let kept = first(1, most, is_refused) - 1;
    // The first frame in headroom pauses, too.
    let pause = first(1, most, is_paused).min(kept + 1);
    let ends = |offset: u64| {
        let goes_on = |frames: u64| beyond(frames) > 0 && beyond(frames) + offset > alpha.of(free(frames));
        pause - (first(1, pause, goes_on) - 1)
    };
    let headroom = limits.headroom.min(slice.headroom.unwrap_or(u64::MAX)) / cell;
    slice.shared = free(kept);
    slice.headroom = slice.headroom.map(|left| left - headroom * cell);
    Frames { pause, drop: kept + headroom + 1, resume: limits.xon_offset.map(ends) }
}

/// Returns the first number from `from` on for which `is` holds, which then holds for all larger ones; at most `to`.
fn first(from: u64, to: u64, is: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (from, to.max(from));
    while low < high {
        let middle = low.midpoint(high);
        if is(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A case of the study, its case about the end of a pause, cell, shared octets and headroom pool of a slice, guaranteed octets,
    /// headroom, `xon_offset`. The sizes are those of its README.
    type Case = (&'static str, &'static str, u64, u64, u64, u64, u64, u64);

    const CASES: [Case; 8] = [
        ("th-40g", "th-xon", 208, 10_875_072 / 4, 4_194_112 / 4, 1248, 108_160, 2288),
        ("th-50g", "", 208, 10_875_072 / 4, 4_194_112 / 4, 1248, 141_856, 2288),
        ("th-100g", "", 208, 10_875_072 / 4, 4_194_112 / 4, 1248, 268_736, 2288),
        ("th5-200g", "th5-200g-xon", 254, 240_087 * 254, 29_520_896 / 2, 18_796, 300_990, 3556),
        ("th5-400g", "th5-400g-xon", 254, 266_550 * 254, 22_010_624 / 2, 18_796, 445_770, 3556),
        ("th5-800g", "th5-800g-xon", 254, 284_502 * 254, 17_962_880 / 2, 8636, 724_662, 3556),
        ("td3-100g-dual", "", 256, 120_372 * 256, 1_622_016, 4608, 160_000, 4608),
        ("td3-100g", "td3-xon", 256, 32_481_280 - 64 * 4608 - 1_622_016, 1_622_016, 4608, 92_672, 4608),
    ];

    /// Pauses, first drops and headroom of groups that are filled one after the other, within the study's bands. The tests drain
    /// `xon_offset` and then see no pause: they bound its end from one side.
    #[test]
    fn it_meets_tests_of_hardware() {
        let published = include_str!("../../../../studies/silicon-2026/published.toml");
        let published: toml::Table = published.parse().unwrap();
        let mut compared = 0;
        for (case, ended, cell, shared, pool, guaranteed, headroom, xon_offset) in CASES {
            let limits = Limits { guaranteed, alpha: Alpha::power(0), headroom, xon_offset: Some(xon_offset) };
            let mut slice = Slice { cell, shared, headroom: Some(pool) };
            let groups: Vec<Frames> = (0..50).map(|_| fill(&mut slice, limits)).collect();
            for row in published["row"].as_array().unwrap() {
                let name = row["case"].as_str().unwrap();
                // Ends of pauses have a range in its place.
                let band = row.get("band_absolute").map_or(0.0, |band| band.clone().try_into().unwrap());
                for (key, value) in row["values"].as_table().unwrap() {
                    let expected = value.as_integer().unwrap() as f64;
                    let is_about = |kind: &str| name == case && key.starts_with(kind);
                    let number = || key.rsplit('_').next().and_then(|n| n.parse::<usize>().ok()).unwrap_or(1);
                    let predicted = match () {
                        () if is_about("pause_") => groups[number() - 1].pause,
                        () if is_about("first_drop") => groups[0].drop,
                        () if is_about("headroom") => {
                            groups[..number()].iter().map(|group| group.drop - 1 - group.pause).sum()
                        }
                        () if name == ended && key == "resume" => {
                            assert!(groups[0].resume.unwrap() as f64 <= expected, "{case}: {groups:?}");
                            continue;
                        }
                        () => continue,
                    } as f64;
                    assert!((predicted - expected).abs() <= band, "{case}: {key} {predicted}, expected {expected}");
                    compared += 1;
                }
            }
        }
        assert_eq!(compared, 78);
    }

    /// 1000 cells of one octet, all shared, by alpha: the group pauses at alpha / (1 + alpha) of them.
    #[test]
    fn it_goes_by_alpha() {
        let pause = |exponent: i32, shared: u64| {
            let mut slice = Slice { cell: 1, shared, headroom: None };
            let limits = Limits { guaranteed: 0, alpha: Alpha::power(exponent), headroom: 10, xon_offset: Some(0) };
            let frames = fill(&mut slice, limits);
            (frames.pause, frames.drop, slice.shared)
        };
        assert_eq!(pause(0, 1000), (500, 511, 500));
        assert_eq!(pause(1, 999), (666, 677, 333));
        assert_eq!(pause(-2, 1000), (200, 211, 800));
        // A quarter of 803 is rounded down.
        assert_eq!(pause(-2, 1003), (200, 211, 803));
        // 2^7 counts as 2^6.
        assert_eq!(pause(7, 65), pause(6, 65));
    }

    /// A group that finds nothing to share is paused when its guaranteed cells are full, and has its headroom.
    #[test]
    fn it_has_what_is_guaranteed() {
        let mut slice = Slice { cell: 254, shared: 0, headroom: Some(1000) };
        let limits = Limits { guaranteed: 18_796, alpha: Alpha::power(0), headroom: 300_990, xon_offset: None };
        assert_eq!(fill(&mut slice, limits), Frames { pause: 74, drop: 78, resume: None });
        assert_eq!(slice, Slice { cell: 254, shared: 0, headroom: Some(1000 - 3 * 254) });
    }
}
