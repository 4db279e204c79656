//! Confined controls, and others beside them for the remaining flows.

use super::super::case::Case;
use super::super::dice::Dice;
use super::{schema, values};
use backwater_mech::registry::ENTRIES;
use serde_json::{Value as Json, json};

/// Confines the controls of a scenario, and lets a second one stand beside a single one.
pub fn confine(dice: &mut Dice, case: &mut Case) {
    let controls: Vec<&str> = ENTRIES.iter().filter(|entry| (entry.at_flows)()).map(|entry| entry.name).collect();
    let (there, others): (Vec<&str>, Vec<&str>) = controls.iter().partition(|name| case.tree.contains_key(**name));
    if there.is_empty() || !dice.chance(0.4) {
        return;
    }
    if let ([one], true) = (there.as_slice(), dice.chance(0.6)) {
        let other = dice.pick(&others);
        let table = values::table(dice, schema(), other, 0.2, &["at", "preset", "flows"]);
        case.tree.insert(other.into(), Json::Object(table));
        let [some, rest] = halves(dice, case);
        case.set(&format!("{one}.flows"), some);
        case.set(&format!("{other}.flows"), rest);
        return;
    }
    for name in there {
        if dice.chance(0.5) {
            let [some, _] = halves(dice, case);
            case.set(&format!("{name}.flows"), some);
        }
    }
}

/// Disjoint flows: of one class and of others, or of one group and of the others.
fn halves(dice: &mut Dice, case: &Case) -> [Json; 2] {
    let flows = case.tree.get("flow").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
    let mut labels: Vec<&str> = flows.iter().filter_map(|flow| flow.get("label")?.as_str()).collect();
    labels.sort_unstable();
    labels.dedup();
    if labels.len() > 1 && dice.chance(0.5) {
        let one = dice.pick(&labels);
        labels.retain(|label| *label != one);
        return [json!({ "groups": [one] }), json!({ "groups": labels })];
    }
    let classes: Vec<u64> = flows.iter().map(|flow| flow.get("class").and_then(Json::as_u64).unwrap_or(3)).collect();
    let one = if classes.is_empty() { 3 } else { dice.one(&classes) };
    let rest: Vec<u64> = (0..8).filter(|class| *class != one).collect();
    [json!({ "classes": [one] }), json!({ "classes": rest })]
}
