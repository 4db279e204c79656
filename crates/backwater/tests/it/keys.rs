//! Every key of a scenario can be explained, and the schema is one that a scenario satisfies.

use backwater::{explain, items, keys, schema};

#[test]
fn every_key_has_a_meaning_and_every_quantity_a_unit() {
    let all = keys();
    assert!(all.len() > 100, "{}", all.len());
    let mut poor = Vec::new();
    for key in all {
        let about = explain(key).unwrap_or_else(|e| panic!("{key}: {e}"));
        assert_eq!(about.key, *key);
        let leaf = about.children.is_empty();
        if about.meaning.len() < 3 || leaf && about.unit.is_none() {
            poor.push(format!("{key}: {about:?}"));
        }
        if leaf && about.default.is_none() && key != "variant" {
            poor.push(format!("{key} has no default: {about:?}"));
        }
        let quantity =
            about.unit.as_deref().is_some_and(|u| ["time", "size", "rate", "share"].iter().any(|q| u.starts_with(q)));
        let text = about.default.as_deref().unwrap_or_default();
        if quantity && !["absent", "none: must be given"].contains(&text) && !text.contains(' ') {
            poor.push(format!("{key} has a default without a unit: {text}"));
        }
    }
    assert!(poor.is_empty(), "{}", poor.join("\n"));
}

#[test]
fn every_key_has_a_range_and_a_source() {
    let mut poor = Vec::new();
    for key in keys().iter().filter(|key| *key != "variant") {
        let about = explain(key).unwrap_or_else(|e| panic!("{key}: {e}"));
        // A choice has its values as children; a table has its keys.
        let choice = about.range.is_some();
        if !about.children.is_empty() && !choice {
            continue;
        }
        let notified = about.range.is_some() || about.unit.as_deref() == Some("true or false");
        if !notified {
            poor.push(format!("{key} has no range: {about:?}"));
        }
        if about.source.as_deref().is_none_or(|s| s.len() < 6) {
            poor.push(format!("{key} has no source: {about:?}"));
        }
    }
    assert!(poor.is_empty(), "{}", poor.join("\n"));
}

/// A value instead of a key leads to that key.
#[test]
fn a_value_leads_to_its_key() {
    for (value, key) in
        [("pause-storm", "fault.kind"), ("slow-receiver", "fault.kind"), ("go-back-n", "transport.recovery")]
    {
        let error = explain(value).unwrap_err();
        assert_eq!(error.hint.as_deref(), Some(&*format!("it is a value of `{key}`: explain that")), "{value}");
    }
}

#[test]
fn entries_of_lists_are_explained_by_their_labels() {
    for (named, plain) in [
        ("flow.incast.size", "flow.size"),
        ("flow.size.size", "flow.size"),
        ("flow.\"a.b\".start", "flow.start"),
        ("topology.node.edge.tier", "topology.node.tier"),
        ("variant.large.flow.incast.size", "variant.large.flow.size"),
    ] {
        assert_eq!(explain(named).unwrap(), explain(plain).unwrap(), "{named}");
    }
    for (wrong, hint) in [("flow.sise", "flow.size"), ("flow.incast.sise", "flow.size"), ("flow.incast", "flow")] {
        let error = explain(wrong).unwrap_err();
        assert!(error.hint.as_deref().unwrap_or_default().contains(hint), "{wrong}: {error}");
    }
}

#[test]
fn what_a_key_means() {
    let xoff = explain("pfc.xoff").unwrap();
    assert!(xoff.meaning.starts_with("Static threshold: bytes above which the class is paused. Absent: must be given"));
    assert!(xoff.unit.unwrap().starts_with("size (B, KB = 1000 B"));
    assert_eq!(xoff.default.as_deref(), Some("absent"));
    assert!(explain("switch.queue_buffers").unwrap().unit.unwrap().starts_with("a list, of each size (B, KB"));
    assert_eq!(explain("pause.counter").unwrap().range.as_deref(), Some("ingress, egress"));
    let alpha = explain("switch.alpha_ingress").unwrap();
    assert_eq!((alpha.default.as_deref(), alpha.range.as_deref()), (Some("8"), Some("at least 0")));
    let at = explain("switch.latency_at").unwrap();
    assert_eq!(at.range.as_deref(), Some("input, fabric, output"));
    assert_eq!(at.default.as_deref(), Some("output"));
    assert_eq!(at.children[0], ("input".into(), "Before any counter has seen the frame.".into()));
    let rai = explain("dcqcn.rpg-ai-rate").unwrap();
    assert_eq!((rai.key.as_str(), rai.aliases.as_slice()), ("dcqcn.rai", &["rpg-ai-rate".to_owned()][..]));
    assert_eq!((rai.default.as_deref(), rai.source.as_deref()), (Some("40 Mb/s"), Some("SIGCOMM 2015 section 5")));
    assert_eq!(explain("flow.size").unwrap().range.as_deref(), Some("at least 1 B"));
    assert_eq!(explain("flow.3.size").unwrap(), explain("flow.size").unwrap());
    assert_eq!(explain("dcqcn.g").unwrap().range.as_deref(), Some("above 0 to 1"));
    assert_eq!(explain("sfc.threshold").unwrap().default.as_deref(), Some("none: must be given"));
    assert!(
        explain("pfc")
            .unwrap()
            .children
            .iter()
            .any(|(name, about)| name == "quanta" && about.contains("512 bit times"))
    );
    assert_eq!(explain("variant.big.pfc.xoff").unwrap().meaning, xoff.meaning);
    assert!(explain("").unwrap().children.iter().any(|(name, _)| name == "topology"));
    assert!(explain("topology.kind").unwrap().children.iter().any(|(name, _)| name == "leaf-spine"));
    assert!(explain("fault.kind").unwrap().range.unwrap().contains("drop-nth"));
}

#[test]
fn unknown_keys_name_the_nearest() {
    for (key, hint) in [
        ("pfc.xof", "pfc.xoff"),
        ("xoff", "xoff"),
        ("switch.latencyat", "switch.latency_at"),
        ("flows.size", "flow.size"),
    ] {
        let error = explain(key).unwrap_err();
        assert!(error.hint.as_deref().unwrap_or_default().contains(hint), "{key}: {error}");
    }
}

#[test]
fn lists() {
    let names = |what| items(what).unwrap().into_iter().map(|i| i.name).collect::<Vec<_>>();
    let all = [
        "pause",
        "ecn",
        "pfc",
        "dcqcn",
        "sfc",
        "qcn",
        "bcn",
        "spray",
        "flowlet",
        "ci",
        "dctcp",
        "swift",
        "timely",
        "hpcc",
        "trim",
        "ev",
        "nscc",
        "rccc",
        "cbfc",
        "llr",
        "bbr",
        "prototype",
        "sfc_tofino2",
        "fast_cnp",
        "csig",
        "mrc",
    ];
    assert_eq!(names("mechanisms"), all);
    let kinds =
        ["star", "dumbbell", "parking-lot", "leaf-spine", "fat-tree", "dragonfly", "dragonfly-plus", "explicit"];
    assert_eq!(names("topologies"), kinds);
    assert!(names("workloads").contains(&"poisson".to_owned()));
    assert!(
        ["mechanisms", "topologies", "workloads"]
            .iter()
            .all(|w| items(w).unwrap().iter().all(|i| i.summary.len() > 10))
    );
    assert!(items("mechanism").unwrap_err().hint.unwrap().contains("mechanisms"));
}

#[test]
fn the_schema_is_json_and_has_no_parameter_that_hides_a_key_of_the_file() {
    let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
    for table in
        ["switch", "pause", "ecn", "pfc", "dcqcn", "sfc", "qcn", "bcn", "ci", "dctcp", "swift", "timely", "hpcc"]
    {
        let at = &schema["properties"][table]["properties"]["at"];
        assert_eq!(at["type"], "array", "{table}");
    }
    assert_eq!(schema["properties"]["topology"]["oneOf"].as_array().map(Vec::len), Some(8));
}

/// If not all kinds of a table have a key, those that do are named.
#[test]
fn keys_of_some_kinds_say_of_which() {
    let children = explain("fault").unwrap().children;
    let about = |key: &str| children.iter().find(|(name, _)| name == key).unwrap_or_else(|| panic!("{key}")).1.as_str();
    assert!(about("nth").ends_with(" Of `drop-nth`."), "{}", about("nth"));
    assert!(about("a").ends_with(" Of `link-down`, `link-up`, `link-flap`."), "{}", about("a"));
    assert!(about("from").contains("`rate-change`") && !about("from").contains("link-down"), "{}", about("from"));
    assert!(!about("kind").contains(" Of "), "{}", about("kind"));
    let hosts = explain("topology").unwrap().children;
    assert!(hosts.iter().any(|(name, text)| name == "leaves" && text.ends_with(" Of `leaf-spine`.")), "{hosts:?}");
}
