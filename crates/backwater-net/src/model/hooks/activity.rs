//! What mechanisms have done in a run, and how near they came to it.

use crate::units::Bytes;
use backwater_engine::state::{Text, text};

/// What a side of a mechanism has done in a run, and how near it came to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Activity {
    /// How often it has done what the mechanism is there for.
    pub acts: u64,
    /// What decides, where it was nearest to acting. `None`: nothing that could be held against a threshold.
    pub margin: Option<Margin>,
}

/// What decides whether a mechanism acts: the most that was seen of it, and from where on it acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Margin {
    /// What it is, as in "most bytes of a class from one port".
    #[serde(with = "text")]
    pub of: Text,
    /// Its unit.
    pub unit: Unit,
    /// The most that was seen.
    pub peak: u64,
    /// Above which the mechanism acts.
    pub threshold: u64,
}

/// Unit of a [`Margin`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Unit {
    /// \[bytes\]
    Bytes,
    /// \[ps\]
    Time,
}

impl Margin {
    /// Of a queue, or of what else is counted in bytes.
    pub fn bytes(of: &'static str, peak: Bytes, threshold: Bytes) -> Margin {
        Margin { of, unit: Unit::Bytes, peak: peak.0, threshold: threshold.0 }
    }

    /// Whether the threshold was nearer here.
    fn is_nearer(&self, other: &Margin) -> bool {
        let part = |margin: &Margin, by: &Margin| u128::from(margin.peak) * u128::from(by.threshold.max(1));
        part(self, other) > part(other, self)
    }
}

impl Activity {
    /// Takes in what another side has done. Returns whether its threshold was the nearer one.
    pub fn join(&mut self, other: Activity) -> bool {
        self.acts += other.acts;
        let nearer = match (&self.margin, &other.margin) {
            (Some(mine), Some(others)) => others.is_nearer(mine),
            (mine, others) => mine.is_none() && others.is_some(),
        };
        if nearer {
            self.margin = other.margin;
        }
        nearer
    }
}
