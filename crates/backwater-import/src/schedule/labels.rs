//! Labels of operations: names from a tracer, each in memory once.

use std::collections::HashMap;
use std::sync::Arc;

/// Most different names of computations, and of sends: a name of sends is a group of flows in the results. A scenario has 4096 labels.
const MOST: [usize; 2] = [3500, 500];

/// Longest name, in characters: a kernel's may contain all arguments of its template.
const LONGEST: usize = 100;

/// The name of an operation, by its number from 1; 0: no name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Label(u32);

/// All names.
#[derive(Debug, Default)]
pub struct Labels {
    names: Vec<Arc<str>>,
    /// For computations and for sends.
    by_name: [HashMap<Arc<str>, Label>; 2],
}

impl Labels {
    /// The label for a name. [`Label::default`] for an empty name. `None`: there are already too many names.
    pub fn label(&mut self, name: &str, sends: bool) -> Option<Label> {
        let shown = name.chars().take(LONGEST).map(|c| if c.is_control() { ' ' } else { c });
        let name = shown.collect::<String>();
        let name = name.trim();
        if name.is_empty() {
            return Some(Label::default());
        }
        let kind = usize::from(sends);
        if let Some(label) = self.by_name[kind].get(name) {
            return Some(*label);
        }
        if self.by_name[kind].len() >= MOST[kind] {
            return None;
        }
        let name: Arc<str> = name.into();
        self.names.push(name.clone());
        let label = Label(self.names.len() as u32);
        self.by_name[kind].insert(name, label);
        Some(label)
    }

    /// The name of a label, if it has one.
    pub fn name(&self, label: Label) -> Option<&str> {
        self.names.get((label.0 as usize).checked_sub(1)?).map(|name| &**name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_once_and_shortened() {
        let mut labels = Labels::default();
        let [one, again, none] = ["mm", " mm\n", "\t"].map(|name| labels.label(name, false).unwrap());
        assert_eq!((labels.name(one), one == again, labels.name(none)), (Some("mm"), true, None));
        let long = labels.label(&"ü".repeat(101), true).unwrap();
        assert_eq!(labels.name(long), Some("ü".repeat(100).as_str()));
        let all = |sends: bool, labels: &mut Labels| {
            (0..).take_while(|n: &usize| labels.label(&n.to_string(), sends).is_some()).count()
        };
        assert_eq!([all(false, &mut labels), all(true, &mut labels)], [3499, 499]);
        assert_eq!(labels.label("mm", false), Some(one));
    }
}
