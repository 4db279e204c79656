//! The mechanisms that leave flows alone, determined once for every group and class of a run. A flow stores one octet of it.

use crate::model::hooks::Overhead;
use crate::model::hooks::place::MechanismSet;
use crate::model::packet::{CLASSES, Class};

/// The differences for flows that some mechanisms leave alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Excluded {
    /// These mechanisms, a bit each.
    pub owners: MechanismSet,
    /// \[bytes\] that they do not add to data packets
    pub data: u32,
    /// \[bytes\] that they do not add to acknowledgements
    pub ack: u32,
}

/// The flows of a run, by the mechanisms that leave them alone.
#[derive(Debug, Default)]
pub(crate) struct Confinement {
    /// Each combination once; the first is empty. The list is empty if no mechanism is confined.
    all: Vec<Excluded>,
    /// By group and class: an index into `all`.
    of: Vec<[u8; CLASSES]>,
}

impl Confinement {
    /// The confinement of groups with these labels: `leaves` gives the mechanisms that leave flows of a class and label alone, `overhead`
    /// the bytes that these would add to frames.
    pub fn new(
        groups: &[String],
        leaves: impl Fn(Class, &str) -> MechanismSet,
        overhead: impl Fn(MechanismSet) -> Overhead,
    ) -> Result<Confinement, String> {
        let mut all = vec![Excluded::default()];
        let mut of = vec![[0; CLASSES]; groups.len()];
        for (label, by_class) in groups.iter().zip(&mut of) {
            for (class, place) in (0..).zip(by_class) {
                let owners = leaves(Class(class), label);
                let spared = overhead(owners);
                let left = Excluded { owners, data: spared.data.0 as u32, ack: spared.ack.0 as u32 };
                let at = all.iter().position(|one| *one == left).unwrap_or_else(|| {
                    all.push(left);
                    all.len() - 1
                });
                *place = u8::try_from(at).map_err(|_| "mechanisms are confined in more than 255 ways")?;
            }
        }
        Ok(Confinement { all, of })
    }

    /// The index for flows of a group and class; 0: no mechanism leaves them alone.
    pub fn place(&self, group: u32, class: Class) -> u8 {
        self.of.get(group as usize).map_or(0, |by_class| by_class[usize::from(class.0) % CLASSES])
    }

    /// Returns the entry at an index.
    #[inline(always)]
    pub fn at(&self, place: u8) -> Excluded {
        if place == 0 { Excluded::default() } else { self.all.get(usize::from(place)).copied().unwrap_or_default() }
    }

    /// All indices.
    pub fn places(&self) -> impl Iterator<Item = u8> + '_ {
        (0..=u8::MAX).take(self.all.len().max(1))
    }

    /// Mechanisms that leave any flow alone: for a packet of an ended flow the exact ones are unknown.
    pub fn any(&self) -> MechanismSet {
        self.all.iter().fold(0, |owners, left| owners | left.owners)
    }
}
