//! What mechanisms did in a run, and how near they came to acting.

use crate::units::Bytes;
use backwater_engine::state::{Text, text};

/// The activity of a side of a mechanism in a run, and how near it came to acting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Activity {
    /// Number of times that it acted.
    pub acts: u64,
    /// The deciding quantity, where it was nearest to acting. `None`: no quantity is compared with a threshold.
    pub margin: Option<Margin>,
}

/// The quantity that decides whether a mechanism acts: its largest value, and the threshold for acting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Margin {
    /// Its name, as in "most bytes of a class from one port".
    #[serde(with = "text")]
    pub of: Text,
    /// Its unit.
    pub unit: Unit,
    /// The largest value.
    pub peak: u64,
    /// The mechanism acts above this value.
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
    /// A margin of a queue, or of another count of bytes.
    pub fn bytes(of: &'static str, peak: Bytes, threshold: Bytes) -> Margin {
        Margin { of, unit: Unit::Bytes, peak: peak.0, threshold: threshold.0 }
    }

    /// Returns whether this margin is nearer to its threshold than the other.
    fn is_nearer(&self, other: &Margin) -> bool {
        let part = |margin: &Margin, by: &Margin| u128::from(margin.peak) * u128::from(by.threshold.max(1));
        part(self, other) > part(other, self)
    }
}

impl Activity {
    /// Adds the activity of another side. Returns whether its threshold was the nearer one.
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
