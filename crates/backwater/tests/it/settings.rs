//! Settings have their literal meaning: a key of a mechanism applies if the mechanism is on, and switches nothing on.

use backwater::{Scenario, ScenarioError, Skipped};
use std::path::Path;

const TEXT: &str = "[topology]
kind = \"star\"
hosts = 4
rate = \"100 Gb/s\"
link_delay = \"500 ns\"
[switch]
buffer = \"300 KB\"
buffer_per = \"ingress\"
[pfc]
xoff = \"200 KB\"
[[flow]]
label = \"incast\"
from = \"1..3\"
to = \"h0\"
size = \"1 MB\"
[variant.sfc.sfc]
threshold = \"100 KB\"
pause = \"10 us\"
[variant.endless]
pfc = false
switch.buffer_per = \"none\"
";

fn scenario() -> Scenario {
    Scenario::from_text(TEXT, "net.toml", Path::new(".")).unwrap_or_else(|e| panic!("{e}"))
}

fn value(scenario: &Scenario, key: &str) -> Option<(String, String)> {
    let values = scenario.check().unwrap_or_else(|e| panic!("{e}")).resolved().values();
    values.into_iter().find(|one| one.key == key).map(|one| (one.value, one.origin))
}

fn on(scenario: &Scenario) -> Vec<&'static str> {
    scenario.check().unwrap_or_else(|e| panic!("{e}")).resolved().mechanisms.names()
}

fn refused(scenario: Result<Scenario, ScenarioError>) -> String {
    match scenario.and_then(|s| s.check()) {
        Ok(_) => panic!("it was accepted"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_setting_switches_nothing_on() {
    let plain = scenario();
    let text = refused(plain.with_set("sfc.threshold", "80 KB"));
    assert!(text.contains("--set sfc.threshold=80 KB: sfc.threshold: `sfc` is off"), "{text}");
    assert!(text.contains("hint: --with sfc switches it on") && text.contains("variant sfc"), "{text}");
    let skipping = plain.with_set_where_on("sfc.threshold", "80 KB").unwrap();
    assert_eq!(on(&skipping), ["pfc"]);
    let [Skipped { key, value, mechanism, reason }] = skipping.skipped() else { panic!("one is skipped") };
    assert_eq!([key, value, mechanism, reason].map(String::as_str), ["sfc.threshold", "80 KB", "sfc", "`sfc` is off"]);
    assert_eq!(skipping.check().unwrap().resolved().to_toml(), plain.check().unwrap().resolved().to_toml());
}

#[test]
fn what_is_switched_off_stays_off() {
    let endless = scenario().with_variant("endless").unwrap();
    let text = refused(endless.with_set("pfc.xoff", "100 KB"));
    assert!(text.contains("`pfc` is off, by variant endless (net.toml:20)"), "{text}");
    let text = refused(scenario().with_set("pfc.xoff", "100 KB").and_then(|s| s.with_set("pfc", "false")));
    assert!(text.contains("`pfc` is off, by --set") && text.contains("leave out --set pfc=false"), "{text}");
}

#[test]
fn order_does_not_matter() {
    let all: [fn(Scenario) -> Result<Scenario, ScenarioError>; 4] = [
        |s| s.with_variant("sfc"),
        |s| s.with_mechanism("ecn"),
        |s| s.with_set("sfc.threshold", "80 KB"),
        |s| s.with_set("ecn.kmin", "50 KB"),
    ];
    let mut seen = Vec::new();
    for first in 0..4 {
        for step in [1, 3] {
            let changes = (0..4).map(|n| all[(first + step * n) % 4]);
            let changed = changes.fold(scenario(), |s, change| change(s).unwrap_or_else(|e| panic!("{e}")));
            seen.push(changed.check().unwrap_or_else(|e| panic!("{e}")).resolved().to_toml());
        }
    }
    assert!(seen.iter().all(|one| *one == seen[0]));
    let changed = scenario().with_set("sfc.threshold", "80 KB").and_then(|s| s.with_variant("sfc")).unwrap();
    assert_eq!(value(&changed, "sfc.threshold"), Some(("80 KB".into(), "--set".into())), "over the variant");
    assert_eq!(value(&changed, "sfc.pause").unwrap().0, "10 us");
}

#[test]
fn a_mechanism_is_switched_on_with_its_defaults() {
    let with = scenario().with_mechanism("dcqcn").and_then(|s| s.with_mechanism("ecn")).unwrap();
    assert_eq!(on(&with), ["ecn", "pfc", "dcqcn"]);
    let preset = with.with_set("dcqcn.preset", "htsim-aidc-2025").unwrap();
    assert!(
        preset.check().unwrap().resolved().values().iter().any(|one| one.origin == "preset htsim-aidc-2025 of dcqcn")
    );
    let text = refused(scenario().with_mechanism("sfc"));
    assert!(text.starts_with("--with sfc: sfc.threshold: is missing"), "{text}");
    let text = refused(scenario().with_mechanism("sfcc"));
    assert!(text.contains("--with sfcc: `sfcc` is no mechanism") && text.contains("did you mean `sfc`?"), "{text}");
    // A mechanism that is on keeps its values, and one that was switched off comes back.
    let same = scenario().with_mechanism("pfc").unwrap();
    assert_eq!(same.check().unwrap().resolved().to_toml(), scenario().check().unwrap().resolved().to_toml());
    let again = scenario().with_variant("endless").and_then(|s| s.with_mechanism("pfc")).unwrap();
    assert_eq!(value(&again, "pfc.xoff").unwrap().0, "200 KB", "with the values that it had");
    assert_eq!(value(&again, "switch.buffer_per").unwrap().0, "none");
}

#[test]
fn true_and_false_switch_before_all_settings() {
    let set = |pairs: &[(&str, &str)]| {
        pairs.iter().fold(scenario(), |s, (k, v)| s.with_set(k, v).unwrap_or_else(|e| panic!("{e}")))
    };
    assert_eq!(on(&set(&[("sfc.threshold", "80 KB"), ("sfc", "true")])), ["pfc", "sfc"]);
    assert_eq!(value(&set(&[("pfc", "true")]), "pfc.xoff").unwrap().0, "200 KB", "it keeps its values");
    assert_eq!(on(&set(&[("pfc", "false"), ("pfc", "true")])), ["pfc"]);
    assert_eq!(value(&set(&[("pfc", "false"), ("pfc", "true")]), "pfc.xoff").unwrap().0, "200 KB");
    assert!(on(&set(&[("pfc", "false"), ("switch.buffer_per", "none")])).is_empty());
    assert!(refused(scenario().with_set("sfc", "{ threshold = \"80 KB\" }")).contains("`sfc` is off"));
}

#[test]
fn overrides_for_single_nodes_need_the_mechanism_too() {
    let at = r#"[{ tier = "switch", threshold = "80 KB" }]"#;
    let skipping = scenario().with_set_where_on("sfc.at", at).unwrap();
    assert_eq!(skipping.skipped().len(), 1);
    assert_eq!(on(&skipping), ["pfc"]);
    let set = skipping.with_variant("sfc").unwrap();
    assert!(set.skipped().is_empty());
    assert_eq!(value(&set, "sfc.at.0.threshold").unwrap().0, "80 KB");
    assert!(refused(scenario().with_set("sfc.at.0.threshold", "80 KB")).contains("`sfc` is off"));
}

#[test]
fn an_unknown_key_is_an_error_wherever_its_mechanism_is_off() {
    assert!(refused(scenario().with_set_where_on("sfc.treshold", "80 KB")).contains("did you mean `threshold`?"));
    assert!(refused(scenario().with_set_where_on("sfc.threshold", "80 us")).contains("sfc.threshold"));
}
