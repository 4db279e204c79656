//! Messages on settings of Source Flow Control, by `check` and by `advise`.

use backwater::advise::{Advice, advise, facts};
use backwater::{Checked, Scenario};
use serde_json::{Map, Value, json};
use std::path::Path;

fn resolved(scenario: &Scenario, set: &[(&str, &str)]) -> Checked {
    let scenario = set.iter().fold(scenario.clone(), |s, (k, v)| s.with_set(k, v).unwrap_or_else(|e| panic!("{e}")));
    scenario.check().unwrap_or_else(|e| panic!("{e}"))
}

fn warned(scenario: &Scenario, set: &[(&str, &str)]) -> Vec<(String, String)> {
    let warnings = resolved(scenario, set).warnings;
    warnings.into_iter().map(|w| (w.key, format!("{}; {}", w.reason, w.hint))).collect()
}

fn keys(scenario: &Scenario, set: &[(&str, &str)]) -> Vec<String> {
    warned(scenario, set).into_iter().map(|(key, _)| key).collect()
}

fn study() -> Scenario {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/sfc-aidc-2025/scenario.toml");
    Scenario::load(&file).and_then(|s| s.with_variant("pfc-sfc")).unwrap_or_else(|e| panic!("{e}"))
}

const SIX: [(&str, &str); 4] = [
    ("flow.incast.from", r#"["h8", "h16", "h24", "h32", "h40", "h48"]"#),
    ("flow.incast.via", r#"[["spine0"], ["spine1"], ["spine2"], ["spine3"], ["spine4"], ["spine4"]]"#),
    ("sfc.threshold", "80 KB"),
    ("sfc.pause", "15 us"),
];

/// By the document's formula a pause of 30, 50 or 3 us and a threshold of 260 KB are illegal for three senders.
#[test]
fn the_study_s_illegal_cases_are_warned_of_and_its_legal_ones_are_not() {
    let study = study();
    let none: [&str; 0] = [];
    assert_eq!(keys(&study, &[]), none);
    assert_eq!(keys(&study, &SIX), none);
    assert_eq!(keys(&study, &[("sfc.pause", "12 us")]), none, "case 7");
    assert_eq!(keys(&study, &[("sfc.threshold", "100 KB")]), none, "case 11");
    assert_eq!(keys(&study, &[("sfc.pause", "30 us")]), ["sfc.pause"], "case 8");
    assert_eq!(keys(&study, &[("sfc.pause", "50 us")]), ["sfc.pause"], "case 8'");
    assert_eq!(keys(&study, &[("sfc.pause", "3 us")]), ["sfc.pause"], "case 9");
    assert_eq!(keys(&study, &[("sfc.threshold", "260 KB")]), ["sfc.threshold"], "case 10");
}

/// 2.4 us and 3 x (162.56 + 2.56) ns of data and message: 2.89536 us, in which 2 x 25 GB/s bring 144.768 KB.
#[test]
fn the_numbers_are_those_of_the_scenario_s_own_delays() {
    let reported = warned(&study(), &[("sfc.threshold", "260 KB")]).remove(0).1;
    assert!(reported.contains("3 senders into h0") && reported.contains("144.768 KB"), "{reported}");
    assert!(reported.contains("at most 235.232 KB"), "{reported}");
    let reported = warned(&study(), &[("sfc.pause", "3 us")]).remove(0).1;
    assert!(reported.contains("longer than 5.79072 us and shorter than 13.79072 us"), "{reported}");
}

#[test]
fn what_is_not_known_is_not_said() {
    let study = study();
    let more = |set: &[(&str, &str)]| keys(&study, set);
    let none: [&str; 0] = [];
    // The greatest pause assumes that no one else sends; more senders could only lower the threshold and raise the least pause.
    let others = ("flow.victim.to", "h0");
    assert_eq!(more(&[others, ("flow.victim.start", "1 us"), ("sfc.pause", "30 us")]), none);
    assert_eq!(more(&[others, ("flow.victim.start", "1 us"), ("sfc.pause", "3 us")]), ["sfc.pause"]);
    assert_eq!(more(&[("sfc.pause", "30 us"), ("sfc.resume", "true")]), none, "a message ends the pause");
    assert_eq!(more(&[("flow.incast.size", "20 KB"), ("sfc.pause", "3 us")]), none, "60 KB never fill 200 KB");
    // Without PFC for that class frames may be lost, but SFC does not affect that.
    let lossy = [("lossless", "false"), ("transport.recovery", "go-back-n")];
    let unmanaged = [lossy[0], lossy[1], ("flow.incast.class", "2"), ("sfc.pause", "3 us")];
    assert_eq!(more(&unmanaged), none, "not a class of SFC");
    let poisson = [("flow.incast.arrivals", "poisson"), ("flow.incast.load", "10 %"), ("flow.incast.count", "3")];
    assert_eq!(more(&[poisson[0], poisson[1], poisson[2], ("sfc.pause", "3 us")]), none);
}

/// Eight senders behind one link of the same rate are one sender for the last switch.
#[test]
fn a_narrow_way_makes_no_incast() {
    let text = |trunk: &str| {
        format!(
            "[topology]\nkind = \"dumbbell\"\nleft_hosts = 8\nright_hosts = 1\nrate = \"100 Gb/s\"\ntrunk_rate = \"{trunk}\"\n\
             link_delay = \"1 us\"\n[switch]\nbuffer = \"400 KB\"\n[pfc]\nxoff = \"200 KB\"\n[sfc]\nthreshold = \"150 KB\"\n\
             [[flow]]\nfrom = \"0..7\"\nto = 8\nsize = \"1 MB\"\n"
        )
    };
    let read = |trunk| Scenario::from_text(&text(trunk), "net.toml", Path::new(".")).unwrap();
    assert!(!keys(&read("100 Gb/s"), &[]).contains(&"sfc.threshold".into()));
    assert!(keys(&read("800 Gb/s"), &[]).contains(&"sfc.threshold".into()));
}

fn advised(scenario: &Scenario, given: Map<String, Value>) -> Advice {
    let facts = facts(&resolved(scenario, &[]).planned, "sfc").unwrap_or_else(|e| panic!("{e}"));
    advise("sfc", given, Some(("net.toml".into(), facts))).unwrap_or_else(|e| panic!("{e}"))
}

/// A trunk of 400 Gb/s carries the traffic of four of the eight senders. The loop is 4 us of links, 900 ns in switches, 334.24 and 83.56 ns
/// of a frame of 4158 B and its gap of 20 B, 10.88 and 2.72 ns of a message of 116 B and its gap: 5.3314 us, in which three senders bring
/// 199.9275 KB beyond what leaves.
#[test]
fn advice_says_where_check_warns_and_why_it_is_elsewhere() {
    let text = "[topology]\nkind = \"dumbbell\"\nleft_hosts = 8\nright_hosts = 1\nrate = \"100 Gb/s\"\ntrunk_rate = \"400 Gb/s\"\n\
                link_delay = \"1 us\"\n[switch]\nbuffer = \"800 KB\"\n[pfc]\nxoff = \"500 KB\"\n[sfc]\nthreshold = \"450 KB\"\n\
                [[flow]]\nfrom = \"0..7\"\nto = 8\nsize = \"1 MB\"\n";
    let scenario = Scenario::from_text(text, "net.toml", Path::new(".")).unwrap();
    let warned = warned(&scenario, &[]).into_iter().find(|(key, _)| key == "sfc.threshold").unwrap().1;
    let limit = warned.split("at most ").nth(1).and_then(|rest| rest.split(" is legal").next()).unwrap();
    let reported = advised(&scenario, Map::new()).summary.join(" ");
    assert_eq!(limit, "300.072 KB");
    assert!(
        reported.contains(&format!("warns above {limit}: it counts the 4 of 8 senders")),
        "{reported} against {warned}"
    );
    // With another rate, the question changes.
    let other = advised(&scenario, Map::from_iter([("rate".to_owned(), json!("200 Gb/s"))]));
    assert!(!other.summary.join(" ").contains("warns above"));
}

#[test]
fn advice_reads_the_facts_of_a_scenario() {
    let expected = json!({
        "jobs": false,
        "receiver": "h0",
        "senders": 3,
        "carried": 3,
        "check_threshold": "235.232 KB",
        "rate": "200 Gb/s",
        "links": 3,
        "fastest_sender": "200 Gb/s",
        "link_rates": ["200 Gb/s", "200 Gb/s", "200 Gb/s"],
        "switches": 3,
        "link_delay": "150 ns",
        "switch_latency": "300 ns",
        "behind_latency": true,
        "pfc_threshold": "380 KB",
        "pfc_pauses": true,
        "pfc_threshold_key": "pfc.xoff",
        "threshold": "200 KB",
        "pause": "6 us",
        "interval": "6 us",
        "packet": "4.064 KB",
        "message": "64 B",
        "gap": "0 B",
        "written": ["threshold", "pause", "min_interval", "points", "message_size"],
    });
    assert_eq!(Value::Object(facts(&resolved(&study(), &[]).planned, "sfc").unwrap()), expected);
    // Without an incast, PFC and SFC.
    let off = [
        ("pfc", "false"),
        ("sfc", "false"),
        ("lossless", "false"),
        ("flow.incast.from", "h8"),
        ("flow.incast.via", r#"["spine0"]"#),
    ];
    let mut without = expected;
    for key in ["receiver", "senders", "carried", "check_threshold", "threshold", "pause", "interval"] {
        without[key] = Value::Null;
    }
    without["message"] = json!("116 B");
    without["written"] = json!([]);
    without["pfc_threshold"] = json!("400 KB");
    without["pfc_pauses"] = json!(false);
    without["pfc_threshold_key"] = json!("switch.buffer");
    assert_eq!(Value::Object(facts(&resolved(&study(), &off).planned, "sfc").unwrap()), without);
}

/// If an ingress cannot know which memory its frames will take, a share of free memory pauses nothing. Otherwise the limit is alpha / (1 +
/// alpha) of the memory: a fifth of 400 KB at an alpha of a quarter.
#[test]
fn a_dynamic_threshold_is_a_limit_only_where_it_pauses() {
    let limit = |per: &str| {
        let facts = facts(
            &resolved(
                &study(),
                &[
                    ("lossless", "false"),
                    ("transport.recovery", "go-back-n"),
                    ("pfc.threshold", "dynamic"),
                    ("pfc.alpha", "0.25"),
                    ("switch.headroom", "0 B"),
                    ("switch.reserve", "0 B"),
                    ("switch.buffer_per", per),
                ],
            )
            .planned,
            "sfc",
        );
        let facts = facts.unwrap_or_else(|e| panic!("{e}"));
        ["pfc_threshold", "pfc_threshold_key"].map(|key| facts[key].clone())
    };
    assert_eq!(limit("ingress"), [json!("80 KB"), json!("pfc.alpha")]);
    assert_eq!(limit("switch"), [json!("80 KB"), json!("pfc.alpha")]);
    for per in ["egress", "queue"] {
        assert_eq!(limit(per), [json!("400 KB"), json!("switch.buffer")]);
    }
    assert_eq!(limit("none")[0], Value::Null);
}

/// A million flows at once are no more than one incast a host.
#[test]
fn a_large_incast_and_all_to_all_are_checked() {
    let text = |pattern: &str, hosts: u32| {
        format!(
            "[topology]\nkind = \"star\"\nhosts = {hosts}\nrate = \"100 Gb/s\"\nlink_delay = \"1 us\"\n\
             [switch]\nbuffer = \"4 MB\"\n[pfc]\nxoff = \"2 MB\"\n[sfc]\nthreshold = \"1 MB\"\npause = \"1 us\"\n\
             [[flow]]\n{pattern}size = \"1 MB\"\n"
        )
    };
    for pattern in ["pattern = \"all-to-all\"\n", "from = \"1..999\"\nto = 0\n"] {
        let scenario = Scenario::from_text(&text(pattern, 1000), "net.toml", Path::new(".")).unwrap();
        let found = warned(&scenario, &[]);
        for key in ["sfc.threshold", "sfc.pause"] {
            assert!(
                found.iter().any(|(k, reported)| k == key && reported.contains("999 senders into h")),
                "{pattern}: {found:?}"
            );
        }
    }
}

/// The contents of an isolation queue come out of the switch's memory: without a mechanism that pauses its host, a limit as large as that
/// bounds nothing.
#[test]
fn room_for_isolated_flows_beyond_the_buffer_needs_pfc() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/sfc-proxy/scenario.toml");
    let isolation = Scenario::load(&file).and_then(|s| s.with_variant("isolation")).unwrap_or_else(|e| panic!("{e}"));
    let lossy = [("pfc", "false"), ("lossless", "false"), ("transport.recovery", "go-back-n")];
    let none: [&str; 0] = [];
    assert_eq!(keys(&isolation, &[]), none);
    assert_eq!(keys(&isolation, &[("sfc.isolation_threshold", "64 MB")]), none, "PFC bounds it");
    assert_eq!(keys(&isolation, &lossy), none, "far below the buffer");
    let unbounded = [lossy[0], lossy[1], lossy[2], ("sfc.isolation_threshold", "64 MB")];
    assert_eq!(keys(&isolation, &unbounded), ["sfc.isolation_threshold"]);
}

/// Values of options precede those of the scenario, and these precede the form's defaults.
#[test]
fn a_question_is_answered_from_options_then_the_scenario_then_defaults() {
    let given = |pairs: Value| pairs.as_object().cloned().unwrap();
    let asked = |given, scenario| advise("sfc", given, scenario).unwrap_or_else(|e| panic!("{e}"));
    let row = |advice: &Advice, name: &str| {
        let row = advice.rows.iter().find(|row| row.name == name).unwrap();
        (format!("{} {}", row.value, row.unit), row.formula.clone())
    };
    let facts =
        || Some(("net.toml".to_owned(), given(json!({ "senders": 6, "rate": "100 Gb/s", "threshold": "50 KB" }))));
    let advice = asked(given(json!({ "rate": "400 Gb/s" })), facts());
    assert_eq!(advice.title, "Source Flow Control, 6 senders at 400 Gb/s into one port");
    // The form's 3 links of 150 ns, in both directions.
    assert_eq!(row(&advice, "links").0, "900 ns");
    assert_eq!(row(&advice, "threshold"), ("50 KB".into(), "as given".into()));
    assert_eq!(advice.summary.last().unwrap(), "From net.toml: senders, threshold.");
    // Without a scenario the study's threshold counts if it is legal, otherwise the largest legal one.
    let study = asked(given(json!({ "senders": 3 })), None);
    assert_eq!(row(&study, "threshold"), ("200 KB".into(), "as in studies/sfc-aidc-2025".into()));
    let six = asked(given(json!({ "senders": 6 })), None);
    assert_eq!(row(&six, "threshold"), ("80 KB".into(), "the largest".into()));
    let error = advise("sfc", given(json!({ "senders": "many" })), None).unwrap_err();
    assert_eq!((error.key.as_deref(), error.value.as_deref()), (Some("senders"), Some("many")));
    assert!(advise("qcn", given(json!({})), None).unwrap_err().reason.contains("gives no advice"));
}

/// By hand for the study's three senders: 900 ns of links, 3 x (162.56 + 2.56) ns of frames and messages, and six latencies of 300 ns, or
/// five if a frame is in its queue before the last of them.
#[test]
fn our_bound_counts_latencies_as_the_scenario_has_them() {
    let loop_ps = |at: &str| {
        // PFC's own headroom depends on it as well.
        let checked = resolved(&study(), &[("switch.latency_at", at), ("switch.buffer", "500 KB")]);
        let known = facts(&checked.planned, "sfc").unwrap_or_else(|e| panic!("{e}"));
        let reported =
            advise("sfc", Map::new(), Some(("net.toml".to_owned(), known))).unwrap_or_else(|e| panic!("{e}"));
        reported.numbers["our_bound"]["loop_ps"].clone()
    };
    assert_eq!(["fabric", "input", "output"].map(loop_ps), [3_195_360, 3_195_360, 2_895_360].map(Value::from));
}
