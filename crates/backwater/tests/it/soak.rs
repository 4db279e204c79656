//! The first scenarios of a soak (`make soak`), with short runs: no law may fail. Also the soak itself: it finds breaches and shrinks them.

// Its modules are those of the example, which uses all of them.
#![allow(dead_code)]

#[path = "../../examples/soak/case.rs"]
mod case;
#[path = "../../examples/soak/coverage.rs"]
mod coverage;
#[path = "../../examples/soak/dice.rs"]
mod dice;
#[path = "../../examples/soak/draw/mod.rs"]
mod draw;
#[path = "../../examples/soak/laws.rs"]
mod laws;
#[path = "../../examples/soak/mend.rs"]
mod mend;
#[path = "../../examples/soak/resume.rs"]
mod resume;
#[path = "../../examples/soak/rows.rs"]
mod rows;
#[path = "../../examples/soak/run.rs"]
mod run;
#[path = "../../examples/soak/shrink.rs"]
mod shrink;
#[path = "../../examples/soak/verdict.rs"]
mod verdict;

use backwater_mech::registry::ENTRIES;
use case::{Case, Folder};
use serde_json::json;
use verdict::{Effort, one};

const EFFORT: Effort = Effort { events: 4_000, tries: 100 };

/// Few enough for a few seconds; `make soak` uses thousands.
const SCENARIOS: u64 = 200;

#[test]
fn no_law_fails_in_the_first_scenarios() {
    let folder = Folder::new("test").unwrap();
    let (mut accepted, mut failures, mut found) = (0, Vec::new(), std::collections::BTreeSet::new());
    for number in 0..SCENARIOS {
        let verdict = one(1, number, EFFORT, &folder);
        if let Some((breach, case)) = verdict.breach {
            failures.push(format!("scenario {number}: {}\n{}\n{}", breach.law, breach.seen, case.paste()));
        }
        accepted += u64::from(verdict.refused.is_some());
        found.extend(verdict.found);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(accepted * 10 > SCENARIOS * 9, "{accepted} of {SCENARIOS} scenarios were accepted");
    let missing: Vec<&str> = ENTRIES.iter().map(|entry| entry.name).filter(|name| !found.contains(*name)).collect();
    assert!(missing.is_empty(), "no scenario has {missing:?}");
}

/// Runs that are saved and resumed have the same outcome as undisturbed ones: rows, their order, fingerprint, events.
#[test]
fn a_run_that_is_saved_goes_on_as_if_it_had_not_been() {
    let tally = resume::check_all(SCENARIOS / 2, 1, 3_000).unwrap();
    assert!(tally.wrong.is_empty(), "{}", tally.wrong.join("\n\n"));
    assert!(tally.resumed > SCENARIOS / 2, "{tally:?}");
}

/// A captured port has an event for the end of each frame. Without outputs, ends that nothing waits for have no event: those of 4000
/// acknowledgements on two links each.
#[test]
fn outputs_may_add_an_event_for_each_frame() {
    let mut case = Case::default();
    case.tree
        .insert("topology".into(), json!({ "kind": "star", "hosts": 2, "rate": "100 Gb/s", "link_delay": "1 us" }));
    case.tree.insert("switch".into(), json!({ "release_at": "start" }));
    case.tree.insert("packet".into(), json!({ "payload": "1 KB" }));
    case.tree.insert("flow".into(), json!([{ "from": 0, "to": 1, "size": "4 MB" }]));
    let (folder, effort) = (Folder::new("frames").unwrap(), Effort { events: 100_000, tries: 0 });
    let mut slices = dice::Dice::new(1, "slices", 0);
    let events = verdict::tried(&case, effort, &mut slices, &folder).unwrap_or_else(|breach| panic!("{breach:?}"));
    assert!(events > 16_000, "{events}");
}

/// Scenario k of seed S is always the same scenario.
#[test]
fn a_scenario_is_known_by_its_number() {
    let (a, b) = (Folder::new("a").unwrap(), Folder::new("b").unwrap());
    for number in 0..20 {
        assert_eq!(draw::case(7, number, &a), draw::case(7, number, &b));
    }
    assert_ne!(draw::case(7, 0, &a), draw::case(8, 0, &a));
}

/// If a scenario fails because of one number, the shrunk one keeps that number, as small as possible.
#[test]
fn what_fails_is_shrunk() {
    let mut case = Case::default();
    case.tree.insert("seed".into(), json!(3));
    case.tree.insert("pfc".into(), json!({ "xoff": "47011 B", "classes": [3, 5], "signal": "ideal" }));
    case.tree.insert("flow".into(), json!([{ "size": "10 B" }, { "size": "20 B" }]));
    let mut fails = |case: &Case| {
        let xoff = case.get("pfc.xoff").and_then(|xoff| xoff.as_str()?.strip_suffix(" B")?.parse::<u64>().ok());
        xoff.is_some_and(|xoff| xoff >= 1_000)
    };
    let small = shrink::shrink(case, &mut fails, 1_000);
    assert_eq!(small.keys(), ["pfc", "pfc.xoff"]);
    let left = small.get("pfc.xoff").and_then(|xoff| xoff.as_str()?.strip_suffix(" B")?.parse::<u64>().ok()).unwrap();
    assert!((1_000..1_200).contains(&left), "{left}");
}
