//! Keys without effect in a network without a switch.

use crate::error::Warning;
use crate::resolved::Resolved;
use backwater_mech::registry::ENTRIES;
use backwater_net::topology::Graph;

/// Keys of `[switch]` that were given, and mechanisms with a side at switches.
pub(super) fn check(resolved: &Resolved, graph: &Graph) -> Vec<Warning> {
    if graph.switches().next().is_some() {
        return Vec::new();
    }
    let is_given = |key: &str| key.starts_with("switch.") && resolved.layer(key).is_some();
    let keys = resolved.values().into_iter().filter(|value| is_given(&value.key)).map(|value| Warning {
        key: value.key,
        value: value.value,
        reason: "without effect: the network has no switch".into(),
        hint: "leave it out, or put a switch between the hosts".into(),
    });
    let on = resolved.mechanisms.names();
    let acts = ENTRIES.iter().filter(|entry| (entry.at_switches)() && on.contains(&entry.name));
    let mechanisms = acts.map(|entry| Warning {
        key: entry.name.into(),
        value: String::new(),
        reason: "the network has no switch: what it does at switches does not happen".into(),
        hint: "leave it out, or put a switch between the hosts".into(),
    });
    keys.chain(mechanisms).collect()
}
