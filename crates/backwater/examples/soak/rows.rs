//! All rows of a run, by kind, for comparison with those of another.

use backwater_net::record::{Row, Sink};
use std::collections::BTreeMap;
use std::fmt::Debug;

/// Rows as text, in the order in which they were handed out.
pub type Kinds = BTreeMap<&'static str, Vec<String>>;

/// Collects rows.
#[derive(Default)]
pub struct Rows(pub Kinds);

impl Rows {
    /// Adds a row.
    pub fn keep(&mut self, kind: &'static str, row: &dyn Debug) {
        self.0.entry(kind).or_default().push(format!("{row:?}"));
    }
}

impl Sink for Rows {
    fn row(&mut self, row: Row<'_>) {
        if !matches!(row, Row::Frame(_)) {
            self.keep(row.name(), &row);
        }
    }
}

/// Returns the first difference.
pub fn differ(one: &Kinds, other: &Kinds) -> Option<String> {
    let kind = one.keys().chain(other.keys()).find(|kind| one.get(*kind) != other.get(*kind))?;
    let (a, b) = (one.get(kind).map_or(&[][..], |rows| rows), other.get(kind).map_or(&[][..], |rows| rows));
    let at = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    Some(format!("{kind} {at} of {} and {}:\n  one   {:?}\n  other {:?}", a.len(), b.len(), a.get(at), b.get(at)))
}
