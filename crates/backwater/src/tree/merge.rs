//! Merges one tree over another.

use super::node::{Node, TomlTable, Value, entries_named, labels};
use super::source::Origin;

/// Merges `over` into `base`: tables key by key, a table over a list entry by entry (named by label or number), anything else replaces. A
/// replaced value has the origin of its replacement.
pub(crate) fn merge(base: &mut Node, over: &Node, path: &mut Vec<String>) -> Result<(), Misfit> {
    match (&mut base.value, &over.value) {
        (Value::Table(base), Value::Table(over)) => merge_tables(base, over, path),
        (Value::List(list), Value::Table(over)) => {
            for (name, entry) in over {
                path.push(name.clone());
                let hits = entries_named(list, name);
                if hits.is_empty() {
                    return Err(Misfit { path: path.clone(), origin: entry.origin.clone(), names: labels(list) });
                }
                for hit in hits {
                    merge(&mut list[hit], entry, path)?;
                }
                path.pop();
            }
            Ok(())
        }
        _ => {
            *base = over.clone();
            Ok(())
        }
    }
}

pub(crate) fn merge_tables(base: &mut TomlTable, over: &TomlTable, path: &mut Vec<String>) -> Result<(), Misfit> {
    for (key, node) in over {
        path.push(key.clone());
        match base.get_mut(key) {
            Some(old) => merge(old, node, path)?,
            None => {
                base.insert(key.clone(), node.clone());
            }
        }
        path.pop();
    }
    Ok(())
}

/// An override of a list entry that does not exist.
pub(crate) struct Misfit {
    pub path: Vec<String>,
    pub origin: Origin,
    /// The names of the entries.
    pub names: Vec<String>,
}
