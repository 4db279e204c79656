//! To which flows a control is confined, such as DCQCN to RoCE's class beside DCTCP in TCP's.

use backwater_derive::parameters;
use backwater_net::packet::Class;

/// Flows that a mechanism controls: those of these classes in these groups. It leaves all others alone: they have none of its rate
/// limiters, its receivers do not answer them, and their frames carry none of its octets.
#[parameters]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confined {
    /// Classes of the flows, each 0 to 7, as `[[flow]]` and `[[job]]` give them. Absent: all.
    #[param(each = 0..=7, source = "Backwater's own; IEEE 802.1Q clause 6.9.3 (priority)", why = "there is no such class")]
    pub classes: Option<Vec<u8>>,
    /// Labels of the flows' groups; of the steps of a job `JOB/STEP`. Absent: all.
    #[param(told = "labels of flow groups", source = "Backwater's own")]
    pub groups: Option<Vec<String>>,
}

impl Confined {
    /// Whether there may be flows that it leaves alone.
    pub fn confines(&self) -> bool {
        self.classes.is_some() || self.groups.is_some()
    }

    /// Whether it leaves none alone.
    pub(crate) fn is_everything(&self) -> bool {
        !self.confines()
    }

    /// Whether flows of this class are among them, in groups of this label.
    pub fn holds(&self, class: Class, group: &str) -> bool {
        let class = self.classes.as_ref().is_none_or(|classes| classes.contains(&class.0));
        class && self.groups.as_ref().is_none_or(|groups| groups.iter().any(|one| one == group))
    }
}
