//! No input makes the reader panic, and every error has a reason: random changes of a good file, and random text.

use backwater::{Scenario, build, explain, new_scenario};
use proptest::prelude::*;
use std::path::Path;

const MORE: &str = r#"
[[switch.at]]
tier = "spine"
latency = { }
[[flow]]
label = "background"
pattern = "random"
sizes = "web-search"
arrivals = "poisson"
load = "30 %"
until = "10 us"
[[fault]]
kind = "loss"
from = "h0"
to = "leaf0"
probability = 0.5
[output]
interval = "1 us"
queues = true
[ecn]
kmin = "5 KB"
[dcqcn]
preset = "ns3-hpcc"
rpg-ai-rate = "5 Mb/s"
"#;

/// All uses of a text by a user.
fn whole(text: &str) {
    let Ok(scenario) =
        Scenario::from_text(text, "fuzz.toml", Path::new(".")).inspect_err(|e| assert!(!e.to_string().is_empty()))
    else {
        return;
    };
    let variants = scenario.variants().into_iter().filter_map(|name| scenario.with_variant(&name).ok());
    for scenario in variants.collect::<Vec<_>>().iter().chain([&scenario]) {
        match scenario.check() {
            Err(error) => assert!(!error.reason.is_empty() && !error.to_string().is_empty()),
            Ok(resolved) => {
                let again = Scenario::from_text(&resolved.resolved().to_toml(), "again.toml", Path::new("."));
                let again =
                    again.and_then(|s| s.check()).unwrap_or_else(|e| panic!("{e}\n{}", resolved.resolved().to_toml()));
                assert_eq!(again.resolved().to_toml(), resolved.resolved().to_toml());
                let _ = build(&resolved, 1);
            }
        }
    }
}

fn good() -> String {
    format!("{}{}", new_scenario(), MORE.replace("latency = { }", "latency = \"1 us\""))
}

#[test]
fn the_file_that_is_changed_is_good() {
    let scenario = Scenario::from_text(&good(), "fuzz.toml", Path::new(".")).unwrap_or_else(|e| panic!("{e}"));
    scenario.check().unwrap_or_else(|e| panic!("{e}"));
}

fn word() -> impl Strategy<Value = String> {
    let fixed = [
        "0",
        "-1",
        "1",
        "7",
        "8",
        "4294967296",
        "9223372036854775807",
        "1e308",
        "nan",
        "-0.0",
        "true",
        "false",
        "\"\"",
        "\"all\"",
        "\"0 B\"",
        "\"18446744073709551615 B\"",
        "\"9 EB\"",
        "\"0 ns\"",
        "\"213 s\"",
        "\"18446744073709551615 ps\"",
        "\"1 b/s\"",
        "\"18446744073709551615 b/s\"",
        "\"100 %\"",
        "\"0.000001 %\"",
        "\"h0\"",
        "\"0..3\"",
        "\"3..0\"",
        "\"spine0\"",
        "[]",
        "[[]]",
        "{}",
        "[1, \"a\"]",
        "{ a = 1 }",
        "\"voq\"",
        "\"shared-memory\"",
        "\"none\"",
        "\"explicit\"",
        "\"dynamic\"",
        "\"permutation\"",
        "\"bernoulli\"",
        "\"all-to-all\"",
        "[3]",
        "[0, 0, 0, 0, 0, 0, 0, 0]",
    ];
    prop_oneof![4 => proptest::sample::select(fixed.to_vec()).prop_map(str::to_owned), 1 => "\\PC{0,12}"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changed_values(changes in proptest::collection::vec((0usize..200, word()), 1..4)) {
        let text = good();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let with_value: Vec<usize> = (0..lines.len()).filter(|i| lines[*i].contains(" = ") && !lines[*i].starts_with('#')).collect();
        for (at, word) in changes {
            let line = &mut lines[with_value[at % with_value.len()]];
            let key = line.split(" = ").next().unwrap_or_default().to_owned();
            *line = format!("{key} = {word}");
        }
        whole(&lines.join("\n"));
    }

    #[test]
    fn changed_lines(changes in proptest::collection::vec((0usize..500, 0usize..500, 0u8..4), 1..5)) {
        let text = good();
        let mut lines: Vec<&str> = text.lines().collect();
        for (a, b, what) in changes {
            let (a, b) = (a % lines.len(), b % lines.len());
            match what {
                0 => { lines.remove(a); }
                1 => { let line = lines[a]; lines.insert(b, line); }
                2 => lines.swap(a, b),
                _ => lines.truncate(a.max(20)),
            }
        }
        whole(&lines.join("\n"));
    }

    #[test]
    fn changed_bytes(changes in proptest::collection::vec((0usize..10_000, any::<u8>()), 1..20)) {
        let mut bytes = good().into_bytes();
        for (at, byte) in changes {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        whole(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_text(text in "\\PC{0,200}") {
        whole(&text);
        let _ = explain(&text);
    }

    #[test]
    fn any_setting(key in "[a-z.0-9_\"' =\\[\\]-]{0,20}", known in proptest::sample::select(backwater::keys().to_vec()), value in word()) {
        let scenario = Scenario::from_text(&good(), "fuzz.toml", Path::new(".")).unwrap();
        for key in [key, known] {
            let _ = scenario.with_set(&key, &value).and_then(|s| s.check()).and_then(|r| build(&r, 3));
        }
    }
}
