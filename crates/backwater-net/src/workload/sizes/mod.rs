//! Sizes of flows: one for all, or drawn from an empirical distribution.
//!
//! A distribution is a text file. Lines that begin with `#` are comments; every other line is a point,
//!
//! ```text
//! BYTES PERCENT      PERCENT of all flows are at most BYTES long
//! ```
//!
//! with strictly ascending bytes, percentages that never fall, and 100 in the last line. Between two points the distribution function is
//! linear, so a size is found by linear interpolation of its inverse, rounded to a whole byte, at least 1. If the first line has more than
//! 0 %, that share of flows has exactly that size.

use crate::units::Bytes;
use backwater_engine::Rng;
use rand::RngExt as _;
use std::fmt;
use std::sync::Arc;

/// Sizes of the flows of a group.
#[derive(Clone, Debug)]
pub enum Sizes {
    /// All the same.
    Fixed(Bytes),
    /// Drawn.
    Drawn(Arc<Distribution>),
}

impl Sizes {
    /// \[bytes\] The next size.
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        match self {
            Sizes::Fixed(bytes) => bytes.0,
            Sizes::Drawn(distribution) => distribution.quantile(rng.random()).0,
        }
    }

    /// \[bytes\] The mean, from which a load is calculated.
    pub fn mean(&self) -> f64 {
        match self {
            Sizes::Fixed(bytes) => bytes.0 as f64,
            Sizes::Drawn(distribution) => distribution.mean(),
        }
    }
}

/// A distribution of flow sizes, linear between its points.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    /// Size in bytes, and the share of flows of at most this size, 0 to 1.
    points: Vec<(f64, f64)>,
}

/// A built-in distribution.
#[derive(Debug)]
pub struct BuiltIn {
    /// Its name in scenarios.
    pub name: &'static str,
    /// The measured traffic.
    pub summary: &'static str,
    /// The source of its points.
    pub source: &'static str,
    text: &'static str,
}

/// The built-in distributions.
pub const BUILT_IN: &[BuiltIn] = &[
    BuiltIn {
        name: "google-rpc",
        summary: "sizes of all remote procedure calls at Google, 2008; mean 2.9 KB",
        source: "traffic generator of HPCC (Li et al., SIGCOMM 2019)",
        text: include_str!("google-rpc.txt"),
    },
    BuiltIn {
        name: "web-search",
        summary: "web search cluster; mean 1.7 MB",
        source: "Alizadeh et al., DCTCP, SIGCOMM 2010, figure 4",
        text: include_str!("web-search.txt"),
    },
    BuiltIn {
        name: "hadoop",
        summary: "Hadoop cluster at Facebook; mean 120 KB",
        source: "Roy et al., SIGCOMM 2015, as in the traffic generator of HPCC",
        text: include_str!("hadoop.txt"),
    },
    BuiltIn {
        name: "storage",
        summary: "distributed storage at Alibaba, 2019; mean 41 KB",
        source: "traffic generator of HPCC (Li et al., SIGCOMM 2019)",
        text: include_str!("storage.txt"),
    },
    BuiltIn {
        name: "data-mining",
        summary: "data mining cluster; mean 12.7 MB",
        source: "Greenberg et al., VL2, SIGCOMM 2009, as in HKUST's TrafficGenerator",
        text: include_str!("data-mining.txt"),
    },
];

impl BuiltIn {
    /// The built-in distribution of a name.
    pub fn find(name: &str) -> Option<&'static BuiltIn> {
        BUILT_IN.iter().find(|one| one.name == name)
    }

    /// The distribution itself. It is parsed at each call; the tests check that this succeeds.
    pub fn distribution(&self) -> Result<Distribution, SizesError> {
        Distribution::parse(self.text)
    }
}

/// An error in a distribution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizesError {
    /// Line of the text, from 1; 0 for the text as a whole.
    pub line: usize,
    /// The reason.
    pub reason: String,
}

impl fmt::Display for SizesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.reason),
            line => write!(f, "line {line}: {}", self.reason),
        }
    }
}

impl std::error::Error for SizesError {}

/// Largest size: floats do not represent every whole byte beyond it.
const LARGEST: f64 = (1u64 << 53) as f64;

impl Distribution {
    /// Reads the format above.
    pub fn parse(text: &str) -> Result<Distribution, SizesError> {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let point = point(line, points.last()).map_err(|reason| SizesError { line: at + 1, reason })?;
            points.push(point);
        }
        match points.last() {
            None => Err(SizesError { line: 0, reason: "no line has a size and a percentage".into() }),
            Some((bytes, share)) if *share != 1.0 => {
                let reason = format!("the last size, {bytes} B, has {} %, but 100 % must be reached", share * 100.0);
                Err(SizesError { line: 0, reason })
            }
            Some((bytes, _)) if *bytes < 1.0 => {
                Err(SizesError { line: 0, reason: "no flow would have any byte".into() })
            }
            Some(_) => Ok(Distribution { points }),
        }
    }

    /// The size that the share `q` of flows, 0 to 1, does not exceed; at least 1 byte.
    pub fn quantile(&self, q: f64) -> Bytes {
        let after = self.points.partition_point(|&(_, share)| share < q).min(self.points.len() - 1);
        let (x1, p1) = self.points[after];
        let size = match after.checked_sub(1).map(|before| self.points[before]) {
            Some((x0, p0)) if p1 > p0 => x0 + (x1 - x0) * ((q - p0) / (p1 - p0)).clamp(0.0, 1.0),
            _ => x1,
        };
        Bytes((size.round() as u64).max(1))
    }

    /// \[bytes\] The mean under linear interpolation.
    pub fn mean(&self) -> f64 {
        let first = self.points[0].0 * self.points[0].1;
        let parts = self.points.windows(2).map(|w| (w[1].1 - w[0].1) * (w[0].0 + w[1].0) / 2.0);
        first + parts.sum::<f64>()
    }
}

fn point(line: &str, last: Option<&(f64, f64)>) -> Result<(f64, f64), String> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [bytes, percent] = fields[..] else {
        // A line may be a megabyte long.
        let shown: String = line.chars().take(40).collect();
        return Err(format!("`{shown}` is not a size and a percentage"));
    };
    let bytes: f64 = bytes.parse().map_err(|_| format!("`{bytes:.40}` is not a number of bytes"))?;
    let percent: f64 = percent.parse().map_err(|_| format!("`{percent:.40}` is not a percentage"))?;
    // These comparisons also reject a NaN.
    if !(0.0..=LARGEST).contains(&bytes) {
        return Err(format!("{bytes} B is not a size from 0 to 2^53 B"));
    }
    if !(0.0..=100.0).contains(&percent) {
        return Err(format!("{percent} % is not a percentage from 0 to 100"));
    }
    let share = percent / 100.0;
    match last {
        Some((before, _)) if bytes <= *before => Err(format!("{bytes} B does not exceed the {before} B before it")),
        Some((_, before)) if share < *before => {
            Err(format!("{percent} % is less than the {} % before it", before * 100.0))
        }
        _ => Ok((bytes, share)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_engine::rng::stream;

    fn built_in(name: &str) -> Distribution {
        BuiltIn::find(name).unwrap().distribution().unwrap()
    }

    #[test]
    fn means_of_the_built_in_distributions() {
        for (name, mean) in
            [("google-rpc", 2_892.0), ("web-search", 1_711_250.0), ("hadoop", 120_421.0), ("storage", 40_870.0)]
        {
            assert_eq!(built_in(name).mean().round(), mean, "{name}");
        }
        let mining = built_in("data-mining").mean();
        assert!((mining / 1e6 - 12.66).abs() < 0.005, "{mining}");
        assert_eq!(BUILT_IN.len(), 5);
        assert!(BuiltIn::find("nothing").is_none());
    }

    #[test]
    fn points_are_met_and_lines_join_them() {
        let search = built_in("web-search");
        assert_eq!(search.quantile(0.15), Bytes(10_000));
        assert_eq!(search.quantile(0.175), Bytes(15_000));
        assert_eq!(search.quantile(0.0), Bytes(1));
        assert_eq!(search.quantile(1.0), Bytes(30_000_000));
        assert_eq!(built_in("google-rpc").points.len(), 843);
    }

    #[test]
    fn drawn_sizes_have_the_mean() {
        let search = built_in("web-search");
        let second: f64 = search
            .points
            .windows(2)
            .map(|w| (w[1].1 - w[0].1) * (w[0].0.powi(2) + w[0].0 * w[1].0 + w[1].0.powi(2)) / 3.0)
            .sum();
        let sigma = (second - search.mean().powi(2)).sqrt();
        let sizes = Sizes::Drawn(Arc::new(search));
        let mut rng = stream(5, "test", 0);
        let n = 100_000;
        let mean = (0..n).map(|_| sizes.draw(&mut rng) as f64).sum::<f64>() / f64::from(n);
        assert!((mean - sizes.mean()).abs() < 4.0 * sigma / f64::from(n).sqrt(), "{mean}");
        assert_eq!(Sizes::Fixed(Bytes(7)).draw(&mut rng), 7);
    }

    #[test]
    fn steps_are_allowed() {
        let two = Distribution::parse("1000 50\n9999 50\n10000 100\n").unwrap();
        assert_eq!((two.quantile(0.3), two.quantile(0.5)), (Bytes(1000), Bytes(1000)));
        assert_eq!(two.quantile(0.75), Bytes(10_000));
        let one = Distribution::parse("64 100").unwrap();
        assert_eq!((one.quantile(0.0), one.quantile(1.0), one.mean()), (Bytes(64), Bytes(64), 64.0));
    }

    #[test]
    fn what_is_refused() {
        let refused = |text: &str| Distribution::parse(text).unwrap_err().to_string();
        assert_eq!(refused("# nothing\n"), "no line has a size and a percentage");
        assert_eq!(refused("0 0\n5\n"), "line 2: `5` is not a size and a percentage");
        assert_eq!(refused("0 0\n5 x\n"), "line 2: `x` is not a percentage");
        assert_eq!(refused("0 0\nNaN 5\n"), "line 2: NaN B is not a size from 0 to 2^53 B");
        assert_eq!(refused("0 0\n5 101\n"), "line 2: 101 % is not a percentage from 0 to 100");
        assert_eq!(refused("9 0\n5 50\n"), "line 2: 5 B does not exceed the 9 B before it");
        assert_eq!(refused("0 50\n5 40\n"), "line 2: 40 % is less than the 50 % before it");
        assert!(refused("0 0\n5 40\n").contains("100 % must be reached"));
        assert_eq!(refused("0 100"), "no flow would have any byte");
        assert!(refused(&"x".repeat(1 << 20)).len() < 100);
    }
}
