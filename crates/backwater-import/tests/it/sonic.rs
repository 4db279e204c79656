//! SONiC's configuration databases.

use crate::{fixture, imported};
use backwater_import::{ImportError, Imported, Memory, Options, Sort};
use serde_json::Value;

fn text(path: &str) -> String {
    String::from_utf8(fixture(path)).expect("text")
}

/// The leaf of the fixtures, with some of its text replaced.
fn leaf(changes: &[(&str, &str)]) -> String {
    changes.iter().fold(text("sonic/leaf.json"), |all, (from, to)| {
        assert!(all.contains(from), "{from} is not in the fixture");
        all.replace(from, to)
    })
}

fn import(text: &str, memory: Option<u64>) -> Result<(Imported, Memory), ImportError> {
    imported(&[("leaf.json", text)], &Options { memory, ..Options::default() })
}

fn notes(result: &Imported) -> Vec<String> {
    result.notes.iter().map(ToString::to_string).collect()
}

/// The verdict on a question.
fn verdict(place: &Memory, question: &str) -> Value {
    let list: Value = serde_json::from_str(&place.text("it.verdicts.json")).expect("JSON");
    let found = list.as_array().and_then(|all| all.iter().find(|one| one["question"] == question));
    found.unwrap_or_else(|| panic!("no verdict on {question} in {list}")).clone()
}

fn has(scenario: &str, lines: &[&str]) {
    for line in lines {
        assert!(scenario.contains(line), "{line} is missing in\n{scenario}");
    }
}

#[test]
fn a_switch_becomes_a_star_with_its_thresholds() {
    let (result, place) = import(&leaf(&[]), Some(16_000_000)).unwrap();
    assert_eq!(result.kinds, ["sonic-config-db"]);
    has(
        &result.scenario,
        &[
            "{ name = \"leaf1\", kind = \"switch\" }",
            "{ name = \"Ethernet28\", kind = \"host\" }",
            // 40 m at 5 ns each.
            "{ a = \"Ethernet0\", b = \"leaf1\", rate = \"100 Gb/s\", delay = \"200 ns\" }",
            // MTU 9100 and 22 B, less 62 B of headers.
            "payload = \"9060 B\"",
            // 8,000,000 + 16 x 160,000 + 64 x 18,432.
            "buffer = \"11739648 B\"",
            "headroom = \"160 KB\"",
            "reserve = \"18 KiB\"",
            "headroom_above = 0.5",
            // 2^3 of the lossy profile.
            "alpha_ingress = 8.0",
            "weights = [1, 1, 1, 15, 15, 1, 1, 1]",
            "classes = [3, 4]\nthreshold = \"dynamic\"\nalpha = 0.5",
            "xon_offset = \"2496 B\"",
            "watchdog = \"200 ms\"",
            "kmin = \"100 KB\"\nkmax = \"400 KB\"\npmax = 0.05\nclasses = [3, 4]",
            "# Class 3: DSCP 3, 26.",
        ],
    );
    let files = place.names();
    for name in ["it.headroom-1.toml", "it.memory.toml", "it.order.toml", "it.watchdog.toml", "it.verdicts.json"] {
        assert!(files.iter().any(|file| file == name), "{name} is not among {files:?}");
    }
    assert!(result.notes.iter().filter(|note| note.sort == Sort::Verdict).count() == 4, "{:?}", notes(&result));
}

#[test]
fn memory_is_the_sum_of_pool_headroom_and_what_is_set_aside() {
    // 8 ports with 2 x 178,432 B each, and the pool: 8,000,000 + 2,854,912.
    for (memory, holds) in [(10_854_912, true), (10_854_911, false)] {
        let (_, place) = import(&leaf(&[]), Some(memory)).unwrap();
        let verdict = verdict(&place, "memory");
        assert_eq!(verdict["facts"]["need_bytes"], 10_854_912);
        assert_eq!(verdict["holds"], holds, "{verdict}");
    }
    let (_, place) = import(&leaf(&[]), None).unwrap();
    assert_eq!(verdict(&place, "memory")["holds"], Value::Null);
}

/// 8 ports with 2 x 178,432 B each are set aside, and another pool has 3,000,000 B.
#[test]
fn a_pool_without_a_size_has_what_the_others_leave() {
    let pool = (
        "\"mode\": \"dynamic\",\n   \"size\": \"8000000\",\n   \"type\": \"ingress\"\n  },",
        "\"type\": \"ingress\"\n  },\n  \"ingress_lossy_pool\": {\"size\": \"3000000\", \"type\": \"ingress\"},",
    );
    let draws = "\"ingress_lossy_profile\": {\n   \"pool\": \"ingress_loss";
    let text = leaf(&[pool, (&format!("{draws}less_pool"), &format!("{draws}y_pool"))]);
    let (result, place) = import(&text, Some(10_000_000)).unwrap();
    let told = notes(&result);
    let expected = "ingress_lossless_pool has 4145088 B: the memory without what is set aside and other pools";
    assert!(told.iter().any(|note| note.ends_with(expected)), "{told:#?}");
    let verdict = verdict(&place, "memory");
    assert_eq!((&verdict["holds"], &verdict["facts"]["need_bytes"]), (&Value::Bool(true), &10_000_000.into()));
    for memory in [5_854_912, 5_854_911] {
        let error = import(&text, Some(memory)).unwrap_err().to_string();
        let expected = format!(
            "leaf.json:53: ingress_lossless_pool has no size, and of the memory of {memory} B (--memory) nothing is left: 2854912 B \
             are set aside, other pools have 3000000 B"
        );
        assert!(error.starts_with(&expected), "{error}");
    }
    let error = import(&text, None).unwrap_err().to_string();
    assert!(error.ends_with("hint: --memory says it, as in --memory \"64 MB\""), "{error}");
}

#[test]
fn a_shared_headroom_pool_beside_the_pool_is_not_legal_and_within_it_may_be() {
    let pool = ("\"size\": \"8000000\",\n   \"type\": \"ingress\"", "\"size\": \"258035400\", \"xoff\": \"81553920\"");
    let sets_nothing_aside = ("\"size\": \"178432\"", "\"size\": \"0\"");
    let (_, place) = import(&leaf(&[pool, sets_nothing_aside]), Some(267_000_000)).unwrap();
    let beside = verdict(&place, "memory");
    assert_eq!((&beside["holds"], &beside["facts"]["need_bytes"]), (&Value::Bool(false), &339_589_320.into()));
    let says = beside["says"].as_str().unwrap_or_default();
    assert!(says.contains("72589320 B more than the memory of 267000000 B (--memory)"), "{says}");
    assert!(says.contains("then 176481480 B are shared"), "{says}");
    // The hardware that this pool is of has 2 x 420194 cells of 210 B to share, and the headroom within the pool.
    let hardware = ("\"hwsku\": \"Test-Leaf\"", "\"hwsku\": \"NH-4210-F-O256\"");
    let (result, place) = import(&leaf(&[pool, sets_nothing_aside, hardware]), None).unwrap();
    let within = verdict(&place, "memory");
    assert_eq!((&within["holds"], &within["facts"]["need_bytes"]), (&Value::Bool(true), &258_035_400.into()));
    assert!(result.scenario.contains("# 176481480 B of ingress_lossless_pool"), "{}", result.scenario);
    // 81,553,920 B for 16 priority groups, of which each may take 160,000.
    assert!(result.scenario.contains("headroom = \"160 KB\""));
}

#[test]
fn a_shared_headroom_pool_is_shared_by_all_at_once() {
    let pool = ("\"size\": \"8000000\",\n   \"type\": \"ingress\"", "\"size\": \"8000000\", \"xoff\": \"1600000\"");
    let (result, _) = import(&leaf(&[pool]), Some(16_000_000)).unwrap();
    assert!(result.scenario.contains("headroom = \"100 KB\""), "{}", result.scenario);
    let expected = "16 priority groups share 1600000 B of headroom. Each has 100000 B when all want theirs at once";
    assert!(notes(&result).iter().any(|note| note.contains(expected)), "{:?}", notes(&result));
}

#[test]
fn marks_or_pauses_come_first() {
    // alpha 1/2, two ports: half of the pool, and 18,432 B for each that are its own.
    let pause = 4_000_000 + 2 * 18_432;
    for ((min, max), holds) in [
        (("100000", "400000"), Value::Bool(true)),
        (("5000000", "6000000"), Value::Bool(false)),
        (("100000", "5000000"), Value::Null),
    ] {
        let changes = [
            ("\"100000\",\n   \"green_max", format!("\"{min}\",\n   \"green_max")),
            ("\"400000\"", format!("\"{max}\"")),
        ];
        let changes: Vec<(&str, &str)> = changes.iter().map(|(from, to)| (*from, to.as_str())).collect();
        let (_, place) = import(&leaf(&changes), Some(16_000_000)).unwrap();
        let verdict = verdict(&place, "ecn-before-pfc");
        assert_eq!(verdict["facts"]["queue_at_pause_bytes"], pause);
        assert_eq!(verdict["holds"], holds, "{verdict}");
        assert_eq!(verdict["scenario"].is_null(), holds.is_null(), "{verdict}");
    }
}

#[test]
fn a_watchdog_is_longer_than_all_memory_takes_through_the_slowest_port() {
    // 8,000,000 + 16 x (160,000 + 18,432) B at 100 Gb/s: 868.39296 us.
    let (_, place) = import(&leaf(&[]), Some(16_000_000)).unwrap();
    let fast = verdict(&place, "watchdog");
    assert_eq!((&fast["holds"], &fast["facts"]["longest_pause_ps"]), (&Value::Bool(true), &868_392_960.into()));
    // At 100 Mb/s a thousand times that. Six that send, with an alpha of a half, hold three quarters of the pool: 6,000,000 B, 480 ms.
    let slow = ("\"speed\": \"100000\"", "\"speed\": \"100\"");
    for (detection, holds) in [("200", Value::Bool(false)), ("500", Value::Null), ("900", Value::Bool(true))] {
        let detection = format!("\"detection_time\": \"{detection}\"");
        let (_, place) = import(&leaf(&[slow, ("\"detection_time\": \"200\"", &detection)]), Some(16_000_000)).unwrap();
        let verdict = verdict(&place, "watchdog");
        assert_eq!(verdict["facts"]["pause_of_the_run_ps"], 480_000_000_000_u64);
        assert_eq!(verdict["holds"], holds, "{verdict}");
    }
}

/// Ranges of `pfcwd.yang`: 100 to 5000 ms, and 100 to 60000 ms.
#[test]
fn times_outside_the_ranges_of_the_model_are_kept_and_told() {
    let range = |most: u32| format!("outside the range of SONiC's YANG models, 100 to {most} ms");
    for (detection, restoration, expected, wrong) in [
        (99, 99, "99 ms", vec![("detection_time", 5000), ("restoration_time", 60_000)]),
        (100, 60_000, "60 s", vec![]),
        (5000, 100, "100 ms", vec![]),
        (5001, 60_001, "60.001 s", vec![("detection_time", 5000), ("restoration_time", 60_000)]),
        (1, 3_600_000, "3600 s", vec![("detection_time", 5000), ("restoration_time", 60_000)]),
    ] {
        let field = |name: &str, ms: u64| format!("\"{name}_time\": \"{ms}\"");
        let text = leaf(&[
            (&field("detection", 200), &field("detection", detection)),
            (&field("restoration", 200), &field("restoration", restoration)),
        ]);
        let (result, place) = import(&text, Some(16_000_000)).unwrap();
        let told: Vec<String> = notes(&result).into_iter().filter(|note| note.contains("YANG")).collect();
        assert_eq!(told.len(), wrong.len(), "{told:?}");
        for ((name, most), note) in wrong.iter().zip(&told) {
            assert!(note.contains(&format!("differs: {name} of ")) && note.contains(&range(*most)), "{note}");
            // Eight ports have it.
            assert!(note.contains("7 times more"), "{note}");
        }
        let ps = detection * 1_000_000_000;
        assert_eq!(verdict(&place, "watchdog")["facts"]["detection_ps"], ps);
        let scenario: toml::Value = toml::from_str(&result.scenario).unwrap();
        let kept = scenario["pfc"]["watchdog_restore"].as_str().unwrap_or_default();
        assert_eq!(kept, expected);
    }
}

#[test]
fn ports_with_other_headroom_have_a_scenario_of_their_own() {
    let (result, place) = import(&leaf(&[("\"Ethernet28\": \"40m\"", "\"Ethernet28\": \"300m\"")]), None).unwrap();
    assert!(
        notes(&result).iter().any(|note| note.contains("ports have 2 different headrooms")),
        "{:?}",
        notes(&result)
    );
    // One port is no worst case of two.
    assert_eq!(place.text("it.headroom-2.toml"), "");
    assert!(result.scenario.contains("{ a = \"Ethernet28\", b = \"leaf1\", rate = \"100 Gb/s\", delay = \"1.5 us\" }"));
}

/// Names that scenarios give to what is no port. The switch is called as a port, too.
#[test]
fn no_two_nodes_have_one_name() {
    let names = ["next", "sink", "back-1", "back-2", "switch", "next_", "leaf1", "late-3"];
    let renamed = (0..8).rev().fold(leaf(&[]), |text, port| {
        // With what follows: Ethernet2 is no part of Ethernet28.
        ["\"", ",", "|"].iter().fold(text, |text, end| {
            text.replace(&format!("Ethernet{}{end}", 4 * port), &format!("{}{end}", names[port]))
        })
    });
    let (result, place) = import(&renamed, Some(16_000_000)).unwrap();
    let nodes = |text: &str| -> Vec<String> {
        let scenario: toml::Value = toml::from_str(text).expect("TOML");
        let all = scenario["topology"]["node"].as_array().expect("nodes");
        all.iter().map(|node| node["name"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(nodes(&result.scenario)[0], "switch_");
    assert_eq!(nodes(&place.text("it.watchdog.toml"))[..2], ["switch_", "next__"]);
    assert_eq!(nodes(&place.text("it.headroom-1.toml"))[3..], ["sink_", "back-1_", "back-2_"]);
    for name in ["it.headroom-1.toml", "it.memory.toml", "it.order.toml", "it.watchdog.toml"] {
        let mut nodes = nodes(&place.text(name));
        let all = nodes.len();
        nodes.sort_unstable();
        nodes.dedup();
        assert_eq!(nodes.len(), all, "{name}: {nodes:?}");
    }
}

/// Runs that cannot be: one port sends to nobody, and of two none has a queue that two fill.
#[test]
fn what_takes_more_ports_than_there_are_is_not_known() {
    let of = |ports: usize| {
        let mut file: Value = serde_json::from_str(&text("sonic/leaf.json")).unwrap();
        let all = file["PORT"].as_object_mut().unwrap();
        all.retain(|name, _| ["Ethernet0", "Ethernet4", "Ethernet8"][..ports].contains(&name.as_str()));
        import(&file.to_string(), Some(16_000_000)).unwrap()
    };
    let says = |place: &Memory, question: &str| {
        let verdict = verdict(place, question);
        (
            verdict["holds"].clone(),
            verdict["says"].as_str().unwrap_or_default().to_owned(),
            verdict["scenario"].is_null(),
        )
    };
    let third = "not known: two lossless ports have to fill the queue of a third port, and of";
    let (result, one) = of(1);
    let expected = format!("{third} 1 port 1 is lossless");
    assert_eq!(says(&one, "ecn-before-pfc"), (Value::Null, expected, true));
    assert_eq!(verdict(&one, "ecn-before-pfc")["facts"]["queue_at_pause_bytes"], Value::Null);
    let expected = "not known: congestion takes two ports, and there is 1; the watchdog looks for pauses of 200 ms";
    assert_eq!(says(&one, "watchdog"), (Value::Null, expected.to_owned(), true));
    let (holds, said, none) = says(&one, "headroom");
    assert!(holds.is_null() && none && said.starts_with("160000 B for each priority group of 1 port with"), "{said}");
    assert!(
        said.ends_with(". No run shows whether it is enough: two ports that are alike have to fill memory"),
        "{said}"
    );
    has(&result.scenario, &["with 1 port.", "2 classes of 1 port"]);
    assert!(
        !result.scenario.contains("1 ports") && !result.scenario.contains("all send at once"),
        "{}",
        result.scenario
    );
    let (_, two) = of(2);
    assert_eq!(says(&two, "ecn-before-pfc"), (Value::Null, format!("{third} 2 ports 2 are lossless"), true));
    // All memory leaves in far less than 200 ms, whoever fills it.
    assert_eq!(says(&two, "watchdog").0, true);
    assert!(!says(&two, "headroom").2);
    let (_, three) = of(3);
    let (holds, _, none) = says(&three, "ecn-before-pfc");
    assert_eq!((holds, none), (Value::Bool(true), false));
}

/// Six of eight ports lack each setting, and one has another.
#[test]
fn ports_that_differ_are_named() {
    let all = ["PFC_WD", "PORT_QOS_MAP", "QUEUE"];
    let entry = |table: &str, port: u32| match table {
        "PFC_WD" => {
            let action = if port == 4 { "forward" } else { "drop" };
            format!("\"Ethernet{port}\": {{\"action\": \"{action}\", \"detection_time\": \"200\"}}")
        }
        "PORT_QOS_MAP" => {
            format!("\"Ethernet{port}\": {{\"pfc_enable\": \"{}\"}}", if port == 4 { "3" } else { "3,4" })
        }
        _ => {
            let name = if port == 4 { "OTHER" } else { "AZURE_LOSSLESS" };
            format!("\"Ethernet{port}|3-4\": {{\"wred_profile\": \"{name}\"}}")
        }
    };
    let mut file: Value = serde_json::from_str(&text("sonic/leaf.json")).unwrap();
    for table in all {
        let entries = format!("{{{}, {}}}", entry(table, 0), entry(table, 4));
        file[table] = serde_json::from_str(&entries).unwrap();
    }
    let (result, place) = import(&file.to_string(), Some(16_000_000)).unwrap();
    let told = notes(&result);
    let six = "Ethernet8, Ethernet12, Ethernet16 and 3 more (6 of 8 ports)";
    for expected in [
        format!("no pfc_enable at {six}: here all ports have that of Ethernet0, 3,4"),
        "pfc_enable is 3 at Ethernet4 (1 of 8 ports): here all ports have that of Ethernet0, 3,4".to_owned(),
        format!("wred_profile of queues 3, 4 is missing at {six}: here all ports have that of Ethernet0, AZURE_LOSSLESS"),
        "wred_profile of queues 3, 4 is OTHER at Ethernet4 (1 of 8 ports): here all ports have that of Ethernet0, AZURE_LOSSLESS"
            .to_owned(),
        format!("no watchdog at {six}: here all ports have that of Ethernet0"),
        // Times are the same.
        "the watchdog of Ethernet4 (1 of 8 ports) has action forward: here all ports have that of Ethernet0, action drop"
            .to_owned(),
    ] {
        assert!(told.iter().any(|note| note.ends_with(&expected)), "{expected} is not in {told:#?}");
    }
    let seven = "Ethernet4, Ethernet8, Ethernet12 and 4 more";
    let order = verdict(&place, "ecn-before-pfc");
    assert_eq!((&order["holds"], &order["facts"]["ports_without_pfc"]), (&Value::Null, &7.into()));
    for (question, expected) in [
        ("ecn-before-pfc", format!("there is none at {seven} (7 of 8 ports)")),
        ("headroom", format!("no such PFC at {seven}: headroom does nothing there")),
        ("watchdog", format!("That is not of {seven} (7 of 8 ports), which have no such watchdog")),
    ] {
        let says = verdict(&place, question)["says"].as_str().unwrap_or_default().to_owned();
        assert!(says.contains(&expected), "{expected} is not in {says}");
    }
    // Where all have the same, nothing is said of it.
    let (result, _) = import(&leaf(&[]), Some(16_000_000)).unwrap();
    assert!(!notes(&result).iter().any(|note| note.contains("all ports have")), "{:#?}", notes(&result));
}

/// What passes through in a lossy class has 4 x 9122 B and what 100 Gb/s bring in 300 ns, 3750 B: above 18,432 B of the profile.
#[test]
fn a_reserve_that_is_not_the_profiles_says_so() {
    let (_, place) = import(&leaf(&[]), Some(16_000_000)).unwrap();
    let expected =
        "reserve = \"40238 B\"  # room for lossy frames that pass through; pg_lossless_100000_40m_profile has 18432 B";
    has(&place.text("it.headroom-1.toml"), &[expected, "title = \"leaf1 (Test-Leaf): headroom of"]);
}

#[test]
fn files_of_a_running_switch_are_read_as_one() {
    let files = ["buffers-dell6100.json", "qos-dell6100.json", "dell6100-ports.json"];
    let texts: Vec<(&str, String)> = files.iter().map(|name| (*name, text(&format!("sonic/{name}")))).collect();
    let files: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let (result, place) = imported(&files, &Options { memory: Some(16 << 20), ..Options::default() }).unwrap();
    has(
        &result.scenario,
        &[
            "title = \"s6100 (Force10-S6100)\"",
            "{ a = \"Ethernet0\", b = \"s6100\", rate = \"40 Gb/s\", delay = \"25 ns\" }",
            // 4,194,112 B for 44 ports x 2 classes.
            "headroom = \"47660 B\"",
            "alpha = 1.0  # pg_lossless_40000_5m_profile: 2^0",
            "kmin = \"250 KB\"\nkmax = \"2 MiB\"\npmax = 0.05",
        ],
    );
    let verdict = verdict(&place, "memory");
    // 10,875,072 + 4,194,112 + 88 x 1248.
    assert_eq!((&verdict["holds"], &verdict["facts"]["need_bytes"]), (&Value::Bool(true), &15_179_008.into()));
    let error = imported(&files[..2], &Options::default()).unwrap_err().to_string();
    assert!(error.starts_with("buffers-dell6100.json: there is no port\nhint: give the file that has PORT"), "{error}");
    // What a later file says holds.
    let off = "{\"PORT\": {\n\"Ethernet0\": {\"admin_status\": \"down\"}}}";
    let all = [files[0], files[1], files[2], ("off.json", off)];
    let (result, _) = imported(&all, &Options::default()).unwrap();
    assert!(!result.scenario.contains("\"Ethernet0\""), "{}", result.scenario);
    let expected = "off.json:2: assumed: an entry of PORT in place of that of dell6100-ports.json";
    assert!(notes(&result).iter().any(|note| note == expected), "{:?}", notes(&result));
    let twice = imported(&[files[2], files[2]], &Options::default()).unwrap_err().to_string();
    assert!(twice.contains("`BUFFER_PG|Ethernet0|3-4`: stands there twice"), "{twice}");
}

#[test]
fn a_dump_of_the_database_is_read_as_well() {
    let (result, _) = imported(&[("mock.json", &text("sonic/mock_config_db.json"))], &Options::default()).unwrap();
    assert!(
        result.scenario.contains("{ a = \"Ethernet4\", b = \"sonic-switch\", rate = \"40 Gb/s\", delay = \"25 ns\" }")
    );
    let notes = notes(&result);
    // Its only lossless priority groups have the profile NULL.
    assert!(notes.iter().any(|note| note.contains("no priority group has a profile with xoff")), "{notes:?}");
    assert!(notes.iter().any(|note| note.starts_with("mock.json:26: ignored: a port that is not up")), "{notes:?}");
    assert!(!result.scenario.contains("[pfc]"));
}

#[test]
fn a_file_of_one_long_line_is_known() {
    // More than the 64 KiB by which a kind is recognised.
    let ports: Vec<String> = (0..4000).map(|port| format!("\"Ethernet{port}\": {{\"speed\": \"100000\"}}")).collect();
    let pool = "\"BUFFER_POOL\": {\"ingress_pool\": {\"size\": \"8000000\"}}";
    let text = format!("{{{pool}, \"PORT\": {{{}}}}}", ports.join(", "));
    assert!(text.len() > 64 << 10 && !text.contains('\n'));
    assert_eq!(import(&text, None).unwrap().0.kinds, ["sonic-config-db"]);
}

#[test]
fn what_has_no_counterpart_is_said_with_its_line() {
    let changes = [
        ("\"xon_offset\": \"2496\",\n   ", ""),
        (
            "\"size\": \"0\",\n   \"dynamic_th\": \"3\"",
            "\"size\": \"0\", \"packet_discard_action\": \"trim\",\n \"dynamic_th\": \"3\"",
        ),
        ("\"POLL_INTERVAL\": \"200\"", "\"POLL_INTERVAL\": \"200\", \"BIG_RED_SWITCH\": \"enable\""),
    ];
    let (result, _) = import(&leaf(&changes), Some(16_000_000)).unwrap();
    let notes = notes(&result);
    for expected in [
        "has no xon_offset: the switch resumes when a priority group has fallen to 18432 B",
        "ingress_lossy_profile trims what finds no room: here it is dropped",
        "BIG_RED_SWITCH of the watchdog",
        "leaf.json:185: ignored: fields of PORT without effect here: alias, lanes",
        "fields of DEVICE_METADATA without effect here: platform, type",
    ] {
        assert!(notes.iter().any(|note| note.contains(expected)), "{expected} is not in {notes:#?}");
    }
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    let refused = |text: &str| {
        let options = Options { format: Some("sonic-config-db".into()), ..Options::default() };
        imported(&[("a.json", text)], &options).map(|_| ()).unwrap_err().to_string()
    };
    let port = "\"PORT\": {\"Ethernet0\": {\"speed\": \"100000\"}},\n";
    for (body, expected) in [
        ("{", "a.json:1: EOF while parsing an object"),
        ("[]", "a.json:1: invalid type: sequence, expected an object of tables"),
        ("{} {}", "a.json:1: trailing characters"),
        ("{\"PORT\": {\n\"Ethernet0\": {\"mtu\": \"9100\"}}}", "a.json:2: `PORT|Ethernet0`: the port has no speed"),
        (
            "{\"PORT\": {\n\"Ethernet0\": {\n\"speed\": \"fast\"}}}",
            "a.json:3: `fast`: speed of PORT Ethernet0 is no number",
        ),
        (
            "{\"PORT\": {\n\"Ethernet0\": {\"speed\": 1},\n\"Ethernet0\": {\"speed\": 1}}}",
            "a.json:3: `PORT|Ethernet0`: stands there twice",
        ),
        ("{\"PORT\": {\"Ethernet0\": {\"speed\": 1,\n\"speed\": 2}}}", "a.json:2: the field speed stands there twice"),
        ("{\"PORT\": {\"Ethernet0\": {\"speed\": {}}}}", "a.json:1: the field speed is neither a text nor a list"),
        (
            "{PORT\"BUFFER_PG\": {\n\"Ethernet0\": {}}}",
            "a.json:3: `BUFFER_PG|Ethernet0`: the key has no number behind a bar",
        ),
        (
            "{PORT\"BUFFER_PG\": {\"Ethernet0|4-3\": {}}}",
            "a.json:2: `BUFFER_PG|Ethernet0|4-3`: the range of the key is empty",
        ),
        (
            "{PORT\"CABLE_LENGTH\": {\"AZURE\": {\n\"Ethernet0\": \"40ft\"}}}",
            "a.json:3: `40ft`: the cable of Ethernet0 is no length",
        ),
        (
            "{PORT\"PORT_QOS_MAP\": {\"Ethernet0\": {\"pfc_enable\": \"3,9\"}}}",
            "a.json:2: `3,9`: pfc_enable is no list",
        ),
        (
            "{PORT\"BUFFER_PROFILE\": {\"p\": {\"dynamic_th\": \"8\"}}}",
            "a.json:2: `8`: dynamic_th of BUFFER_PROFILE p is no number",
        ),
        (
            "{PORT\"PFC_WD\": {\"Ethernet0\": {\n\"detection_time\": \"0\"}}}",
            "a.json:3: `0`: detection_time of PFC_WD Ethernet0 is no number from 1 to 3600000",
        ),
        (
            "{PORT\"PFC_WD\": {\"Ethernet0\": {\"detection_time\": \"100\",\n\"restoration_time\": \"3600001\"}}}",
            "a.json:3: `3600001`: restoration_time of PFC_WD Ethernet0 is no number from 1 to 3600000",
        ),
        ("{PORT\"BUFFER_POOL\": {}}", "a.json: there is no buffer pool of what comes in"),
        ("{PORT\"BUFFER_POOL\": {\"p\": {}}}", "a.json:2: p has no size, and the memory of the switch is not known"),
    ] {
        let error = refused(
            &body
                .replace("PORT\"B", &format!("{port}\"B"))
                .replace("PORT\"C", &format!("{port}\"C"))
                .replace("PORT\"P", &format!("{port}\"P")),
        );
        assert!(error.starts_with(expected), "{error}\nis not {expected}");
    }
}
