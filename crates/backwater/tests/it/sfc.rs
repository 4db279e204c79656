//! What is said of settings of Source Flow Control, by `check` and by `advise`.

use backwater::advise::{SfcFacts, sfc_facts};
use backwater::{Resolved, Scenario};
use backwater_engine::Time;
use backwater_net::{Bytes, Rate};
use std::path::Path;

fn resolved(scenario: &Scenario, set: &[(&str, &str)]) -> Resolved {
    let scenario = set.iter().fold(scenario.clone(), |s, (k, v)| s.with_set(k, v).unwrap_or_else(|e| panic!("{e}")));
    scenario.resolve().unwrap_or_else(|e| panic!("{e}"))
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
    Scenario::from_file(&file).and_then(|s| s.with_variant("pfc-sfc")).unwrap_or_else(|e| panic!("{e}"))
}

const SIX: [(&str, &str); 4] = [
    ("flow.incast.from", r#"["h8", "h16", "h24", "h32", "h40", "h48"]"#),
    ("flow.incast.via", r#"[["spine0"], ["spine1"], ["spine2"], ["spine3"], ["spine4"], ["spine4"]]"#),
    ("sfc.threshold", "80 KB"),
    ("sfc.pause", "15 us"),
];

/// By the document itself a pause of 30, 50 or 3 us and a threshold of 260 KB are illegal for three senders.
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
    let said = warned(&study(), &[("sfc.threshold", "260 KB")]).remove(0).1;
    assert!(said.contains("3 senders into h0") && said.contains("144.768 KB"), "{said}");
    assert!(said.contains("at most 235.232 KB"), "{said}");
    let said = warned(&study(), &[("sfc.pause", "3 us")]).remove(0).1;
    assert!(said.contains("longer than 5.79072 us and shorter than 13.79072 us"), "{said}");
}

#[test]
fn what_is_not_known_is_not_said() {
    let study = study();
    let more = |set: &[(&str, &str)]| keys(&study, set);
    let none: [&str; 0] = [];
    // Nobody else may be there for the greatest pause; more senders could only lower the threshold and raise the least pause.
    let others = ("flow.victim.to", "h0");
    assert_eq!(more(&[others, ("flow.victim.start", "1 us"), ("sfc.pause", "30 us")]), none);
    assert_eq!(more(&[others, ("flow.victim.start", "1 us"), ("sfc.pause", "3 us")]), ["sfc.pause"]);
    assert_eq!(more(&[("sfc.pause", "30 us"), ("sfc.resume", "true")]), none, "a message ends the pause");
    assert_eq!(more(&[("flow.incast.size", "20 KB"), ("sfc.pause", "3 us")]), none, "60 KB never fill 200 KB");
    // Without PFC for that class frames may be lost, which is no matter of SFC's.
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

#[test]
fn advice_reads_the_facts_of_a_scenario() {
    let expected = SfcFacts {
        receiver: Some("h0".into()),
        senders: Some(3),
        rate: Rate::gbps(200),
        links: 3,
        link_delay: Time::ns(150),
        switch_latency: Time::ns(300),
        pfc_threshold: Some(Bytes(380_000)),
        pfc_threshold_key: "pfc.xoff",
        threshold: Some(Bytes(200_000)),
        pause: Some(Time::us(6)),
        interval: Some(Time::us(6)),
        packet: Bytes(4_064),
        message: Bytes(64),
    };
    assert_eq!(sfc_facts(&resolved(&study(), &[])).unwrap(), expected);
    // Without an incast, PFC and SFC.
    let off = [
        ("pfc", "false"),
        ("sfc", "false"),
        ("lossless", "false"),
        ("flow.incast.from", "h8"),
        ("flow.incast.via", r#"["spine0"]"#),
    ];
    let facts = sfc_facts(&resolved(&study(), &off)).unwrap();
    let none = SfcFacts {
        receiver: None,
        senders: None,
        threshold: None,
        pause: None,
        interval: None,
        message: Bytes(116),
        ..expected
    };
    assert_eq!(facts, SfcFacts { pfc_threshold: Some(Bytes(400_000)), pfc_threshold_key: "switch.buffer", ..none });
}

/// Where what comes in cannot know which memory it will take, a share of free memory pauses nobody. Elsewhere it is alpha / (1 + alpha)
/// of the memory: a fifth of 400 KB at an alpha of a quarter.
#[test]
fn a_dynamic_threshold_is_a_limit_only_where_it_pauses() {
    let limit = |per: &str| {
        let facts = sfc_facts(&resolved(
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
        ));
        let facts = facts.unwrap_or_else(|e| panic!("{e}"));
        (facts.pfc_threshold, facts.pfc_threshold_key)
    };
    assert_eq!(limit("ingress"), (Some(Bytes(80_000)), "pfc.alpha"));
    assert_eq!(limit("switch"), (Some(Bytes(80_000)), "pfc.alpha"));
    for per in ["egress", "queue"] {
        assert_eq!(limit(per), (Some(Bytes(400_000)), "switch.buffer"));
    }
    assert_eq!(limit("none").0, None);
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
                found.iter().any(|(k, said)| k == key && said.contains("999 senders into h")),
                "{pattern}: {found:?}"
            );
        }
    }
}

/// What a lane holds comes out of the switch's memory: with nobody to pause its host, a room as large as that bounds nothing.
#[test]
fn room_for_isolated_flows_beyond_the_buffer_needs_pfc() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/sfc-proxy/scenario.toml");
    let isolation =
        Scenario::from_file(&file).and_then(|s| s.with_variant("isolation")).unwrap_or_else(|e| panic!("{e}"));
    let lossy = [("pfc", "false"), ("lossless", "false"), ("transport.recovery", "go-back-n")];
    let none: [&str; 0] = [];
    assert_eq!(keys(&isolation, &[]), none);
    assert_eq!(keys(&isolation, &[("sfc.isolation_threshold", "64 MB")]), none, "PFC bounds it");
    assert_eq!(keys(&isolation, &lossy), none, "far below the buffer");
    let unbounded = [lossy[0], lossy[1], lossy[2], ("sfc.isolation_threshold", "64 MB")];
    assert_eq!(keys(&isolation, &unbounded), ["sfc.isolation_threshold"]);
}
