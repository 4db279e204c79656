//! The flows to which a control is confined, such as DCQCN to RoCE's class beside DCTCP in TCP's class.

use backwater_derive::parameters;
use backwater_net::hooks::{CheckCx, Finding};
use backwater_net::packet::{Class, class_bits};

/// Flows that a mechanism controls: those of these classes in these groups. It does not affect other flows: it does not limit their rates,
/// its receivers do not respond to their packets, and their frames carry no headers of the mechanism.
#[parameters]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confined {
    /// Classes of the flows, each 0 to 7, as in `[[flow]]` and `[[job]]`. Absent: all.
    #[param(each = 0..=7, source = "Backwater's own; IEEE 802.1Q clause 6.9.3 (priority)", why = "there is no such class")]
    pub classes: Option<Vec<u8>>,
    /// Labels of the flows' groups; steps of a job have the label `JOB/STEP`. Absent: all.
    #[param(range_text = "labels of flow groups", source = "Backwater's own")]
    pub groups: Option<Vec<String>>,
}

impl Confined {
    /// Returns whether it may leave flows alone.
    pub fn confines(&self) -> bool {
        self.classes.is_some() || self.groups.is_some()
    }

    /// Returns whether it leaves no flow alone.
    pub(crate) fn is_everything(&self) -> bool {
        !self.confines()
    }

    /// Classes of its possible flows, a bit each.
    pub(crate) fn class_bits(&self) -> u8 {
        crate::class_bits_or_all(self.classes.as_deref())
    }

    /// Returns whether it has flows of this class in groups of this label.
    pub fn holds(&self, class: Class, group: &str) -> bool {
        let class = self.classes.as_ref().is_none_or(|classes| classes.contains(&class.0));
        class && self.groups.as_ref().is_none_or(|groups| groups.iter().any(|one| one == group))
    }
}

/// Warns if a mechanism watches the queues of other classes than those of its flows: it then signals to sources that do not react, or has
/// flows without signals. `watched`: its parameter `classes`, the classes of these queues.
pub(crate) fn disagreement(watched: &[u8], cx: &CheckCx<'_>) -> Option<Finding> {
    let (watched, mut flows) = (class_bits(watched), cx.flows);
    if watched == 0 || flows == u8::MAX {
        return None;
    }
    let untold = flows & !watched;
    if flows & cx.steered != 0 {
        // Some of them wait in other queues.
        flows |= cx.steered;
    }
    let deaf = watched & !flows;
    let named = |bits: u8| {
        let all: Vec<String> =
            (0..8).filter(|class| bits & 1 << class != 0).map(|class: u8| class.to_string()).collect();
        all.join(", ")
    };
    let reason = match (deaf, untold) {
        (0, 0) => return None,
        (0, _) => format!(
            "no queue of class {} is watched, and flows of that class are never told to slow down",
            named(untold)
        ),
        (_, 0) => format!("queues of class {} are watched, and flows of that class do not listen", named(deaf)),
        _ => format!(
            "queues of class {} are watched, whose flows do not listen, and flows of class {} are never told to slow down",
            named(deaf),
            named(untold)
        ),
    };
    Some(Finding::warning("classes", reason, "give `classes` and `flows.classes` the same classes"))
}
