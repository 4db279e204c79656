//! Tests imports of SONiC's configuration databases.

use crate::{fixture, imported};
use backwater_import::{ChipPreset, ImportError, Imported, Memory, Needed, NoteKind, Options, Pauses};
use serde_json::{Value, json};

fn text(path: &str) -> String {
    String::from_utf8(fixture(path)).expect("text")
}

/// Returns the leaf of the fixtures, with some of its text replaced.
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

/// Returns the verdict on a question.
fn verdict(place: &Memory, question: &str) -> Value {
    let list: Value = serde_json::from_str(&place.text("it.verdicts.json")).expect("JSON");
    let found = list.as_array().and_then(|all| all.iter().find(|one| one["question"] == question));
    found.unwrap_or_else(|| panic!("no verdict on {question} in {list}")).clone()
}

/// Returns all verdicts on a question.
fn verdicts(place: &Memory, question: &str) -> Vec<Value> {
    let list: Value = serde_json::from_str(&place.text("it.verdicts.json")).expect("JSON");
    list.as_array().into_iter().flatten().filter(|one| one["question"] == question).cloned().collect()
}

/// A substitute for the simulator: a headroom of 30,000 B, and the bytes that arrive until a port stops. It knows 100
/// Gb/s.
const PAUSES: Pauses = Pauses {
    longest_response: |bps| (bps == 100_000_000_000).then_some(2_000_000),
    headroom: |asked| {
        let any_frames = 30_000 + asked.response_ps * asked.bps / 8_000_000_000_000;
        Needed { longest_frames: any_frames, any_frames, slow_interfaces: Some(any_frames) }
    },
    annex_n: |asked| (asked.bps == 100_000_000_000).then_some(90_000),
};

/// Returns the leaf with these tables replaced. A table that is null is removed.
fn with(tables: Value) -> String {
    let mut file: Value = serde_json::from_str(&text("sonic/leaf.json")).unwrap();
    for (table, entries) in tables.as_object().unwrap() {
        file[table] = entries.clone();
    }
    file.as_object_mut().unwrap().retain(|_, entries| !entries.is_null());
    file.to_string()
}

/// Returns the same entry for each of the eight ports.
fn at_all_ports(slot: &str, fields: Value) -> Value {
    let entries = (0..8).map(|port| (format!("Ethernet{}{slot}", 4 * port), fields.clone()));
    Value::Object(entries.collect())
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
            "reserve = \"18432 B\"",
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
    assert!(result.notes.iter().filter(|note| note.kind == NoteKind::Verdict).count() == 4, "{:?}", notes(&result));
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

/// 8 ports reserve 2 x 178,432 B each, and another pool has 3,000,000 B.
#[test]
fn a_pool_without_a_size_has_what_the_others_leave() {
    let pool = (
        "\"mode\": \"dynamic\",\n   \"size\": \"8000000\",\n   \"type\": \"ingress\"\n  },",
        "\"type\": \"ingress\"\n  },\n  \"ingress_lossy_pool\": {\"size\": \"3000000\", \"type\": \"ingress\"},",
    );
    let draws = "\"ingress_lossy_profile\": {\n   \"pool\": \"ingress_loss";
    let text = leaf(&[pool, (&format!("{draws}less_pool"), &format!("{draws}y_pool"))]);
    let (result, place) = import(&text, Some(10_000_000)).unwrap();
    let notified = notes(&result);
    let expected = "ingress_lossless_pool has 4145088 B: the memory without what is set aside and other pools";
    assert!(notified.iter().any(|note| note.ends_with(expected)), "{notified:#?}");
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
    // The hardware of this pool shares 2 x 420194 cells of 210 B. The headroom is within the pool.
    let hardware = ("\"hwsku\": \"Test-Leaf\"", "\"hwsku\": \"NH-4210-F-O256\"");
    let (result, place) = import(&leaf(&[pool, sets_nothing_aside, hardware]), None).unwrap();
    let within = verdict(&place, "memory");
    assert_eq!((&within["holds"], &within["facts"]["need_bytes"]), (&Value::Bool(true), &258_035_400.into()));
    assert!(result.scenario.contains("# 176481480 B of ingress_lossless_pool"), "{}", result.scenario);
    // 81,553,920 B for 16 priority groups, each of which may take 160,000 B.
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
    // alpha 1/2, two ports: half of the pool, and 18,432 B reserved for each port.
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
    // At 100 Mb/s it takes a thousand times as long. Six senders, with an alpha of a half, hold three quarters of the
    // pool: 6,000,000 B, 480 ms.
    let slow = ("\"speed\": \"100000\"", "\"speed\": \"100\"");
    for (detection, holds) in [("200", Value::Bool(false)), ("500", Value::Null), ("900", Value::Bool(true))] {
        let detection = format!("\"detection_time\": \"{detection}\"");
        let (_, place) = import(&leaf(&[slow, ("\"detection_time\": \"200\"", &detection)]), Some(16_000_000)).unwrap();
        let verdict = verdict(&place, "watchdog");
        assert_eq!(verdict["facts"]["pause_of_the_run_ps"], 480_000_000_000_u64);
        assert_eq!(verdict["holds"], holds, "{verdict}");
    }
}

/// SONiC's script restores a queue only if a time is set for it.
#[test]
fn a_watchdog_without_a_time_to_restore_hardly_restores() {
    let text = leaf(&[(",\n   \"restoration_time\": \"200\"", "")]);
    let (result, _) = import(&text, Some(16_000_000)).unwrap();
    has(&result.scenario, &["watchdog = \"200 ms\"\nwatchdog_restore = \"3600 s\""]);
    let expected =
        "a watchdog without a restoration_time: SONiC never restores the queue, here it is an hour (and lines ";
    assert!(notes(&result).iter().any(|note| note.contains(expected)), "{:#?}", notes(&result));
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
        let notified: Vec<String> = notes(&result).into_iter().filter(|note| note.contains("YANG")).collect();
        assert_eq!(notified.len(), wrong.len(), "{notified:?}");
        for ((name, most), note) in wrong.iter().zip(&notified) {
            assert!(note.contains(&format!("differs: {name} of ")) && note.contains(&range(*most)), "{note}");
            // Eight ports have it.
            let lines = note.rsplit_once("(and lines ").map_or(0, |(_, lines)| lines.split(',').count());
            assert_eq!(lines, 7, "{note}");
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
    // The port has the same profile, and thus the same headroom and limit. Each link has its own delay.
    assert!(!notes(&result).iter().any(|note| note.contains("the scenario of all ports runs")), "{:?}", notes(&result));
    // A worst case of two ports does not exist for one port.
    assert_eq!(place.text("it.headroom-2.toml"), "");
    assert!(result.scenario.contains("{ a = \"Ethernet28\", b = \"leaf1\", rate = \"100 Gb/s\", delay = \"1.5 us\" }"));
}

/// Scenarios give these names to nodes other than ports. The switch has the name of a port, too.
#[test]
fn no_two_nodes_have_one_name() {
    let names = ["next", "sink", "back-1", "back-2", "switch", "next_", "leaf1", "late-3"];
    let renamed = (0..8).rev().fold(leaf(&[]), |text, port| {
        // The character after the name is included, because Ethernet2 is not part of Ethernet28.
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

/// Some runs are impossible: one port has no receiver, and two ports cannot fill a queue of one of them.
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
    let (holds, reported, none) = says(&one, "headroom");
    let expected = "160000 B for each priority group of classes 3 and 4 at 1 of 1 port with";
    assert!(holds.is_null() && none && reported.starts_with(expected), "{reported}");
    assert!(reported.ends_with(". No run shows it: two ports that are alike have to fill memory"), "{reported}");
    has(&result.scenario, &["with 1 port.", "2 classes of 1 port"]);
    assert!(
        !result.scenario.contains("1 ports") && !result.scenario.contains("all send at once"),
        "{}",
        result.scenario
    );
    let (_, two) = of(2);
    assert_eq!(says(&two, "ecn-before-pfc"), (Value::Null, format!("{third} 2 ports 2 are lossless"), true));
    // All memory leaves in far less than 200 ms, whichever ports fill it.
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
    let notified = notes(&result);
    let six = "Ethernet8, Ethernet12, Ethernet16, Ethernet20, Ethernet24 and Ethernet28 (6 of 8 ports)";
    let keep = "here all ports keep each class that is lossless at one of them";
    let one = "here all queues that mark have one";
    for expected in [
        format!("no pfc_enable at {six}: {keep}"),
        format!("pfc_enable is 3 at Ethernet4 (1 of 8 ports): {keep}"),
        format!("wred_profile of queues 3, 4 is missing at {six}: {one}"),
        format!("wred_profile of queues 3, 4 is OTHER at Ethernet4 (1 of 8 ports): {one}"),
        "queues name OTHER, and WRED_PROFILE has no such entry: give the file that has it".to_owned(),
        format!("no watchdog at {six}: here all ports have that of Ethernet0"),
        // Times are the same.
        "the watchdog of Ethernet4 (1 of 8 ports) has action forward: here all ports have that of Ethernet0, action drop"
            .to_owned(),
    ] {
        assert!(notified.iter().any(|note| note.ends_with(&expected)), "{expected} is not in {notified:#?}");
    }
    // Ethernet0 is lossless in two classes and Ethernet4 in one, which never marks.
    let order = verdict(&place, "ecn-before-pfc");
    assert_eq!((&order["holds"], &order["facts"]["ports_that_never_mark"]), (&Value::Bool(false), &1.into()));
    let headroom = verdict(&place, "headroom");
    assert_eq!((&headroom["facts"]["ports"], &headroom["facts"]["priority_groups"]), (&2.into(), &3.into()));
    let idle: Vec<(Value, Value)> = verdicts(&place, "headroom-without-pfc")
        .iter()
        .map(|one| (one["facts"]["priority_group"].clone(), one["facts"]["ports"].clone()))
        .collect();
    assert_eq!(idle, [(4.into(), 7.into()), (3.into(), 6.into())]);
    let seven = "Ethernet4, Ethernet8, Ethernet12, Ethernet16, Ethernet20, Ethernet24 and Ethernet28";
    let says = verdict(&place, "watchdog")["says"].as_str().unwrap_or_default().to_owned();
    let expected = format!("That is not of {seven} (7 of 8 ports), which have no such watchdog");
    assert!(says.contains(&expected), "{expected} is not in {says}");
    // If all ports are equal, no note mentions it.
    let (result, _) = import(&leaf(&[]), Some(16_000_000)).unwrap();
    assert!(!notes(&result).iter().any(|note| note.contains("all ports have")), "{:#?}", notes(&result));
}

/// A note has the name of each table, entry or port without effect, and of each differing port, even if its text shows
/// only some.
#[test]
fn of_many_names_none_is_hidden() {
    let mut file: Value = serde_json::from_str(&text("sonic/leaf.json")).unwrap();
    let many = |name: &str| (0..150).map(|n| format!("{name}{n}")).collect::<Vec<_>>();
    let down = json!({"admin_status": "down", "speed": "100000"});
    for name in many("Down") {
        file["BUFFER_PG"][format!("{name}|0")] = json!({"profile": "ingress_lossy_profile"});
        file["CABLE_LENGTH"]["AZURE"][&name] = "5m".into();
        file["PORT"][&name] = down.clone();
    }
    let unlike = json!({"pool": "ingress_lossless_pool", "size": "0", "static_th": "1000"});
    for name in many("Profile") {
        file["BUFFER_PROFILE"][&name] = unlike.clone();
    }
    many("TABLE").iter().for_each(|name| file[name] = json!({"a": {"b": "c"}}));
    // Only the first of the ports that are up has a watchdog.
    for name in many("Up") {
        file["PORT"][&name] = json!({"admin_status": "up", "speed": "100000"});
    }
    let text = serde_json::to_string_pretty(&file).unwrap();
    let (result, place) = import(&text, Some(64_000_000)).unwrap();
    let mut lines = text.lines().zip(1u64..);
    let line = lines.find(|(line, _)| line.contains("\"TABLE7\"")).map(|(_, number)| number).unwrap();
    for (reported, name) in [
        (": tables without effect here", "TABLE"),
        (": ports that are not up", "Down"),
        (": cables of ports that are not up", "Down"),
        (": entries of BUFFER_PROFILE that nothing uses", "Profile"),
        (": the limit is static, and the mode of ingress_lossless_pool is dynamic: here the profile holds", "Profile"),
    ] {
        let note =
            result.notes.iter().find(|note| note.text.ends_with(reported)).unwrap_or_else(|| panic!("{reported}"));
        assert!(note.text.contains(" and 50 more: "), "{}", note.text);
        assert!(many(name).iter().all(|name| note.names.contains(name)), "{:?}", note.names);
        assert_eq!((note.names.len(), note.lines.len()), (150, 150), "{}", note.text);
    }
    let note = result.notes.iter().find(|note| note.text.contains("entries of BUFFER_PG")).expect("a note");
    assert!(many("Down").iter().all(|name| note.names.contains(&format!("{name}|0"))), "{:?}", note.names);
    let tables = result.notes.iter().find(|note| note.names.contains(&"TABLE7".to_owned())).expect("a note");
    assert!(tables.lines.contains(&line), "{line} is not in {:?}", tables.lines);
    let note = result.notes.iter().find(|note| note.text.starts_with("no watchdog at ")).expect("a note");
    assert!(many("Up").iter().all(|name| note.names.contains(name)), "{:?}", note.names);
    let ports = verdict(&place, "watchdog")["ports"].clone();
    assert!(many("Up").iter().all(|name| ports.as_array().unwrap().contains(&name.as_str().into())), "{ports}");
}

/// In a lossy class, 4 x 9122 B and the 3750 B that 100 Gb/s bring in 300 ns pass through: more than the 18,432 B of
/// the profile.
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
            "kmin = \"250 KB\"\nkmax = \"2097152 B\"\npmax = 0.05",
        ],
    );
    let verdict = verdict(&place, "memory");
    // 10,875,072 + 4,194,112 + 88 x 1248.
    assert_eq!((&verdict["holds"], &verdict["facts"]["need_bytes"]), (&Value::Bool(true), &15_179_008.into()));
    let error = imported(&files[..2], &Options::default()).unwrap_err().to_string();
    assert!(error.starts_with("buffers-dell6100.json: there is no port\nhint: give the file that has PORT"), "{error}");
    // The values of a later file count.
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
    assert!(notes.iter().any(|note| note.contains("No priority group has a profile with xoff")), "{notes:?}");
    assert!(
        notes.iter().any(|note| note.starts_with("mock.json:26: ignored: Ethernet0, Ethernet100 (line 349), ")),
        "{notes:?}"
    );
    // All limits are of the kind that their pool's mode determines.
    assert!(!notes.iter().any(|note| note.contains("here the profile holds")), "{notes:?}");
    assert!(!result.scenario.contains("[pfc]"));
}

#[test]
fn a_file_of_one_long_line_is_known() {
    // More than the 64 KiB that are read to recognise a kind.
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
        "leaf.json:185: ignored: alias (lines ",
        ": fields of PORT without effect here",
        ": fields of DEVICE_METADATA without effect here",
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

const SMALL: &str = "small";

/// Two profiles in two classes of all ports, which share 320,000 B of headroom.
fn two_profiles(large: u8, small: u8) -> String {
    let pool = json!({"type": "ingress", "mode": "dynamic", "size": "8000000", "xoff": "320000"});
    let profile = |xoff: &str, exponent: &str| {
        json!({
            "pool": "ingress_lossless_pool", "size": "18432", "xon": "18432", "xon_offset": "2496", "xoff": xoff,
            "dynamic_th": exponent
        })
    };
    let mut groups = at_all_ports(&format!("|{large}"), json!({"profile": "large"}));
    let others = at_all_ports(&format!("|{small}"), json!({"profile": SMALL}));
    groups.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
    with(json!({
        "BUFFER_POOL": {"ingress_lossless_pool": pool},
        "BUFFER_PROFILE": {"large": profile("160000", "-1"), SMALL: profile("1000", "-4")},
        "BUFFER_PG": groups,
        "BUFFER_QUEUE": null,
        "PORT_QOS_MAP": at_all_ports("", json!({"pfc_enable": format!("{large},{small}")})),
        "QUEUE": at_all_ports(&format!("|{}-{}", large.min(small), large.max(small)), json!({"wred_profile": "AZURE_LOSSLESS"})),
    }))
}

fn judged(text: &str) -> Memory {
    let options = Options { memory: Some(16_000_000), pauses: Some(PAUSES), ..Options::default() };
    imported(&[("leaf.json", text)], &options).unwrap().1
}

/// 8 of 16 priority groups take 1000 B each of 320,000 B: 39,000 B are left for each of the others. The substitute for
/// the simulator needs 55,000 B.
#[test]
fn each_profile_in_use_has_a_verdict() {
    let place = judged(&two_profiles(3, 4));
    let fact = |one: &Value, name: &str| one["facts"][name].clone();
    let headroom: Vec<(Value, Value, Value, Value)> = verdicts(&place, "headroom")
        .iter()
        .map(|one| (fact(one, "profile"), fact(one, "classes"), fact(one, "headroom_bytes"), one["holds"].clone()))
        .collect();
    let no = Value::Bool(false);
    assert_eq!(
        headroom,
        [(SMALL.into(), json!([4]), 1000.into(), no.clone()), ("large".into(), json!([3]), 39_000.into(), no),]
    );
    has(&place.text("it.headroom-1.toml"), &["headroom = \"1 KB\"", "classes = [4]\n", "alpha = 0.0625", "class = 4"]);
    has(&place.text("it.headroom-2.toml"), &["headroom = \"39 KB\"", "classes = [3]\n", "alpha = 0.5", "class = 3"]);
    // Two ports with an alpha of a sixteenth: 8,000,000 / 8 / (1 + 1/8), and the reserve of each port. Marked from 100
    // KB to 400 KB.
    let order: Vec<(Value, Value, Value)> = verdicts(&place, "ecn-before-pfc")
        .iter()
        .map(|one| (fact(one, "profile"), fact(one, "queue_at_pause_bytes"), one["scenario"].clone()))
        .collect();
    assert_eq!(
        order,
        [
            (SMALL.into(), (888_888 + 36_864).into(), "it.order.toml".into()),
            ("large".into(), (4_000_000 + 36_864).into(), "it.order-2.toml".into()),
        ]
    );
}

/// The scenario of all ports has one headroom and one limit. Its title names their profile in each result. A note
/// explains in which direction they are wrong for the other classes.
#[test]
fn a_run_with_one_profile_for_unlike_classes_says_so_at_its_result() {
    let options = Options { memory: Some(16_000_000), pauses: Some(PAUSES), ..Options::default() };
    for (large, small) in [(3, 4), (4, 3)] {
        let (result, _) = imported(&[("leaf.json", &two_profiles(large, small))], &options).unwrap();
        has(
            &result.scenario,
            &["headroom = \"1 KB\"", "alpha = 0.0625", "; the headroom and limit of small at 100 Gb/s over"],
        );
        let reported = notes(&result).into_iter().filter(|note| note.contains("the scenario of all ports runs "));
        let reported: Vec<String> = reported.collect();
        let [note] = reported.as_slice() else { panic!("{reported:#?}") };
        let who = format!(
            "differs: the scenario of all ports runs class {large} (large at 100 Gb/s over 200 ns) with the settings of class {small} (small at"
        );
        let what = "1000 B of headroom instead of 39000 B, so that the run drops frames that the switch holds; dynamic_th -4 instead of -1, so \
                    that the run pauses earlier. Where at least two ports have the settings of class";
        has(note, &[&who, what]);
    }
    let (alike, _) = import(&leaf(&[]), Some(16_000_000)).unwrap();
    assert!(!alike.scenario.contains("the headroom and limit of"), "{}", alike.scenario);
}

/// Verdicts on a switch do not depend on the numbers of its classes.
#[test]
fn renamed_classes_change_no_verdict() {
    let reported = |large: u8, small: u8| -> Vec<(Value, Value, Value)> {
        let list: Value = serde_json::from_str(&judged(&two_profiles(large, small)).text("it.verdicts.json")).unwrap();
        let without_classes = |one: &Value| {
            let mut facts = one["facts"].clone();
            facts.as_object_mut().unwrap().remove("classes");
            (one["question"].clone(), one["holds"].clone(), facts)
        };
        list.as_array().unwrap().iter().map(without_classes).collect()
    };
    let first = reported(3, 4);
    assert_eq!(first.len(), 6, "{first:#?}");
    for (large, small) in [(4, 3), (1, 6), (7, 0)] {
        assert_eq!(reported(large, small), first, "large is {large}");
    }
}

/// Class 4 is paused, and its priority group has the lossy profile. Priority group 6 has headroom, and class 6 is not
/// paused.
#[test]
fn pfc_and_headroom_apart_are_findings() {
    let mut groups = at_all_ports("|3", json!({"profile": "pg_lossless_100000_40m_profile"}));
    let entries = groups.as_object_mut().unwrap();
    entries.insert("Ethernet8|4".into(), json!({"profile": "ingress_lossy_profile"}));
    entries.insert("Ethernet0|6".into(), json!({"profile": "pg_lossless_100000_40m_profile"}));
    let pool = json!({"type": "ingress", "mode": "dynamic", "size": "8000000", "xoff": "900000"});
    let text = with(json!({"BUFFER_PG": groups, "BUFFER_POOL": {"ingress_lossless_pool": pool}}));
    let (result, place) = import(&text, Some(16_000_000)).unwrap();
    // Class 4 is not lossless: nine priority groups share the headroom.
    has(&result.scenario, &["[pfc]\nclasses = [3]\n", "headroom = \"100 KB\""]);
    let says = |question: &str| -> Vec<String> {
        verdicts(&place, question).iter().map(|one| one["says"].as_str().unwrap().to_owned()).collect()
    };
    let seven = "Ethernet0, Ethernet4, Ethernet12, Ethernet16, Ethernet20, Ethernet24 and Ethernet28 (7 of 8 ports)";
    let rest = "and what comes until the pause acts is lost when memory is full";
    assert_eq!(
        says("pfc-without-headroom"),
        [
            format!(
                "class 4 is paused and not lossless at {seven}: its priority group 4 has no buffer profile, {rest}"
            ),
            format!(
                "class 4 is paused and not lossless at Ethernet8 (1 of 8 ports): its priority group 4 has ingress_lossy_profile, without \
                 xoff, {rest}"
            ),
        ]
    );
    let [idle] = says("headroom-without-pfc").try_into().unwrap();
    assert!(
        idle.starts_with("priority group 6 has the headroom of pg_lossless_100000_40m_profile at Ethernet0 (1 of 8"),
        "{idle}"
    );
    assert!(verdicts(&place, "pfc-without-headroom").iter().all(|one| one["holds"] == false));
}

/// 30,000 B, and 2 us at 100 Gb/s: 25,000 B.
#[test]
fn a_headroom_is_judged_with_the_response_that_it_names() {
    let of = |headroom: u64, response_ps: Option<u64>, speed: &str| {
        let size = format!("\"size\": \"{}\"", headroom + 18_432);
        let text = leaf(&[
            ("\"xoff\": \"160000\"", &format!("\"xoff\": \"{headroom}\"")),
            ("\"size\": \"178432\"", &size),
            ("\"speed\": \"100000\"", &format!("\"speed\": \"{speed}\"")),
        ]);
        let options = Options { response_ps, pauses: Some(PAUSES), ..Options::default() };
        let (result, place) = imported(&[("leaf.json", &text)], &options).unwrap();
        let verdict = verdict(&place, "headroom");
        let facts = &verdict["facts"];
        assert!(result.scenario.contains("[pfc]\nclasses = [3, 4]\nthreshold = \"dynamic\""));
        let says = verdict["says"].as_str().unwrap().to_owned();
        (verdict["holds"].clone(), facts["need_bytes"].clone(), facts["response_ps"].clone(), says, result.scenario)
    };
    let bound = "where ports stop 2 us after a pause has come, the longest that IEEE 802.3 allows at 100 Gb/s";
    for (headroom, holds) in [(55_000, true), (54_999, false)] {
        let (found, need, response, says, scenario) = of(headroom, None, "100000");
        assert_eq!((found, need, response), (holds.into(), 55_000.into(), 2_000_000.into()));
        assert!(
            says.contains(&format!("55000 B are needed {bound}"))
                && says.ends_with("counts three, and no cells, asks for 90000 B"),
            "{says}"
        );
        assert_eq!(says.contains(", 1 B more than there are"), !holds);
        has(&scenario, &["response = \"2 us\"  # the longest that IEEE 802.3 allows at 100 Gb/s"]);
    }
    let (found, need, response, says, scenario) = of(54_999, Some(0), "100000");
    assert_eq!((found, need, response), (true.into(), 30_000.into(), 0.into()));
    assert!(
        says.contains("30000 B are needed where ports stop 0 s after a pause has come, as --response says"),
        "{says}"
    );
    assert!(!scenario.contains("response ="));
    // No bound of the response is known. Less headroom than an immediate stop needs is too little, and more may not be
    // enough.
    for (headroom, holds) in [(30_000, Value::Null), (29_999, Value::Bool(false))] {
        let (found, need, response, says, _) = of(headroom, None, "50000");
        assert_eq!((found, need, response), (holds, 30_000.into(), Value::Null));
        let expected = "30000 B are needed if ports stop at once, and more if not: --response says when (no bound of IEEE 802.3 is known for 50 Gb/s)";
        assert!(says.contains(expected), "{says}");
    }
}

const LOOKUP: &str = "# PG lossless profiles.\n# speed cable size xon xoff threshold xon_offset\n\
                      100000 5m 18432 18432 55120 -1 2496\n100000 40m 18432 18432 60320 -1 2496\n";

/// Returns the tables of a leaf without the profile that a switch looks up.
fn unlooked() -> Value {
    json!({
        "BUFFER_PROFILE": {"ingress_lossy_profile": {"pool": "ingress_lossless_pool", "size": "0", "dynamic_th": "3"}},
        "BUFFER_PG": at_all_ports("|0", json!({"profile": "ingress_lossy_profile"})),
        "BUFFER_QUEUE": null,
        "BUFFER_POOL": {"ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "8000000", "xoff": "320000"}},
    })
}

#[test]
fn a_table_of_profiles_fills_the_database() {
    let text = with(unlooked());
    for files in [[("a.json", text.as_str()), ("b.ini", LOOKUP)], [("b.ini", LOOKUP), ("a.json", &text)]] {
        let options = Options { pauses: Some(PAUSES), ..Options::default() };
        let (result, place) = imported(&files, &options).unwrap();
        let headroom = verdict(&place, "headroom");
        assert_eq!(headroom["facts"]["profile"], "pg_lossless_100000_40m_profile");
        // 320,000 B for 16 priority groups. Each would take 60,320 B.
        assert_eq!(
            (&headroom["facts"]["xoff_bytes"], &headroom["facts"]["headroom_bytes"]),
            (&60_320.into(), &20_000.into())
        );
        has(
            &result.scenario,
            &[
                "classes = [3, 4]\nthreshold = \"dynamic\"\nalpha = 0.5",
                "xon_offset = \"2496 B\"",
                "reserve = \"18432 B\"",
            ],
        );
        let notified = notes(&result);
        assert!(
            notified.iter().any(|note| note.starts_with("b.ini:3: ignored: size, xon")
                && note.ends_with("columns of rows whose speed and cable no port has")),
            "{notified:#?}"
        );
    }
    let (result, place) = import(&text, None).unwrap();
    assert!(!result.scenario.contains("[pfc]"));
    let says = verdict(&place, "pfc-without-headroom")["says"].as_str().unwrap().to_owned();
    assert!(
        says.contains(
            "No priority group has a profile with xoff: a switch that looks them up has pg_profile_lookup.ini"
        ),
        "{says}"
    );
}

/// Limits are powers of two or octets, by the pool's mode. Entries of the database stay. Ports without a row get no
/// profile.
#[test]
fn a_table_of_profiles_goes_by_mode_speed_and_cable() {
    let mut tables = unlooked();
    tables["BUFFER_POOL"]["ingress_lossless_pool"]["mode"] = "static".into();
    let fixed = LOOKUP.replace("-1", "500000");
    let options = Options::default();
    let (result, _) = imported(&[("a.json", &with(tables.clone())), ("b.ini", &fixed)], &options).unwrap();
    has(&result.scenario, &["threshold = \"static\"\nxoff = \"500 KB\""]);
    let error = imported(&[("a.json", &with(tables.clone())), ("b.ini", LOOKUP)], &options).unwrap_err().to_string();
    let expected = "b.ini:4: `-1`: threshold is no number of octets, and the pool's mode is static\n";
    assert!(error.starts_with(expected), "{error}");

    let mut tables = unlooked();
    let cable = |port: u32| if port == 4 { "300m" } else { "40m" };
    let cables = (0..8).map(|port| (format!("Ethernet{}", 4 * port), cable(4 * port).into()));
    tables["CABLE_LENGTH"] = json!({"AZURE": Value::Object(cables.collect())});
    tables["BUFFER_PROFILE"]["mine"] =
        json!({"pool": "ingress_lossless_pool", "size": "0", "xoff": "70000", "dynamic_th": "0"});
    tables["BUFFER_PG"]["Ethernet8|3-4"] = json!({"profile": "mine"});
    let (result, place) = imported(&[("a.json", &with(tables)), ("b.ini", LOOKUP)], &options).unwrap();
    let notified = notes(&result);
    for expected in [
        "b.ini: differs: no row for 100000 Mb/s and 300m of Ethernet4 (1 of 8 ports): such ports get no profile",
        "b.ini: assumed: Ethernet8 (1 of 8 ports) keep mine of the database, which has headroom of its own or none",
    ] {
        assert!(notified.iter().any(|note| note == expected), "{expected} is not in {notified:#?}");
    }
    let ports: Vec<Value> = verdicts(&place, "headroom").iter().map(|one| one["facts"]["ports"].clone()).collect();
    assert_eq!(ports, [Value::from(6), 1.into()]);
    assert_eq!(verdicts(&place, "pfc-without-headroom").len(), 2);
}

#[test]
fn a_bad_table_of_profiles_is_refused_with_its_line() {
    let text = with(unlooked());
    for (table, expected) in [
        (
            "100000 40m 18432 18432\n",
            "b.ini:1: a row of 4 columns\nhint: 6 or 7: speed cable size xon xoff threshold xon_offset",
        ),
        ("#\n100000 40m 1 2 3 4 5 6\n", "b.ini:2: a row of 8 columns"),
        ("100000 40m 18432 18432 6e4 -1\n", "b.ini:1: `6e4`: xoff is no number of octets"),
        ("\n\n100000 40m 18432 18432 60320 high\n", "b.ini:3: `high`: threshold is no number"),
        ("100000 40m 1 1 1 -1\nfast 40m 1 1 1 -1\n", "b.ini:2: `fast`: speed is no speed in Mb/s"),
        ("100000 40m 1 1 1 -1\n100000 forty 1 1 1 -1\n", "b.ini:2: `forty`: cable is no length"),
        ("100000 40m 18432 18432 60320 8\n", "b.ini:1: `8`: threshold is no power of two from -8 to 7"),
    ] {
        let error = imported(&[("a.json", &text), ("b.ini", table)], &Options::default()).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}\nis not {expected}");
    }
    let options = Options { format: Some("sonic-pg-lookup".into()), ..Options::default() };
    let error = imported(&[("b.ini", "# nothing\n")], &options).unwrap_err().to_string();
    assert!(error.starts_with("b.ini: it has profiles alone, and no ports\nhint: give the config_db.json"), "{error}");
    let later = "100000 40m 1 1 9 -1\n".to_owned() + LOOKUP;
    let (result, _) = imported(&[("a.json", &text), ("b.ini", &later)], &Options::default()).unwrap();
    let expected = "b.ini:5: assumed: the row of 100000 Mb/s and 40m in place of that of line 1";
    assert!(notes(&result).iter().any(|note| note == expected), "{:#?}", notes(&result));
}

/// Thresholds of ECN take precedence over those of drops. Without either, or if ECN is off, nothing marks.
#[test]
fn marks_have_the_thresholds_that_count() {
    let of = |fields: Value| {
        let mut profile = json!({
            "ecn": "ecn_all", "green_min_threshold": "100000", "green_max_threshold": "400000", "green_drop_probability": "5"
        });
        profile.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        import(&with(json!({"WRED_PROFILE": {"AZURE_LOSSLESS": profile}})), Some(16_000_000)).unwrap()
    };
    let (result, _) = of(json!({"wred_green_enable": "true"}));
    has(&result.scenario, &["kmin = \"100 KB\"\nkmax = \"400 KB\"\npmax = 0.05"]);
    assert!(!notes(&result).iter().any(|note| note.contains("wred_green_enable")));
    let own = json!({
        "wred_green_enable": "true", "ecn_green_min_threshold": "3000000", "ecn_green_max_threshold": "3500000",
        "ecn_green_mark_probability": "100"
    });
    let (result, place) = of(own.clone());
    has(&result.scenario, &["kmin = \"3 MB\"\nkmax = \"3500 KB\"\npmax = 1.0"]);
    assert_eq!(verdict(&place, "ecn-before-pfc")["facts"]["kmax_bytes"], 3_500_000);
    assert!(notes(&result).iter().any(|note| note.contains("green_min_threshold of AZURE_LOSSLESS: where WRED drops")));
    let mut off = own;
    off["wred_green_enable"] = "false".into();
    has(&of(off).0.scenario, &["kmin = \"3 MB\""]);
    let (result, _) = of(json!({"wred_green_enable": "false"}));
    assert!(!result.scenario.contains("[ecn]"), "{}", result.scenario);
    let expected = "ignored: AZURE_LOSSLESS marks nothing: wred_green_enable is false";
    assert!(notes(&result).iter().any(|note| note.contains(expected)), "{:#?}", notes(&result));
    let (result, _) = of(json!({"green_ect_min_threshold": "3000000"}));
    let expected = "ignored: green_ect_min_threshold: fields of WRED_PROFILE without effect here";
    assert!(notes(&result).iter().any(|note| note.ends_with(expected)), "{:#?}", notes(&result));
}

/// Names with control characters, one of them with a line of TOML, stay names.
#[test]
fn control_characters_in_names_write_no_scenario_of_their_own() {
    let evil = "x\u{1b}[31m\n[evil]\na = 1";
    let mut file: Value = serde_json::from_str(&leaf(&[])).unwrap();
    file["DEVICE_METADATA"]["localhost"]["hostname"] = evil.into();
    file["DEVICE_METADATA"]["localhost"]["hwsku"] = evil.into();
    let pool = file["BUFFER_POOL"]["ingress_lossless_pool"].clone();
    file["BUFFER_POOL"][evil] = pool;
    for profile in ["ingress_lossy_profile", "pg_lossless_100000_40m_profile"] {
        file["BUFFER_PROFILE"][profile]["pool"] = evil.into();
    }
    let (result, place) = import(&file.to_string(), Some(16_000_000)).unwrap();
    let texts = place.names().into_iter().filter(|name| name.ends_with(".toml")).map(|name| place.text(&name));
    for text in texts.chain([result.scenario]) {
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
        let scenario: toml::Table = text.parse().expect("TOML");
        assert!(
            !scenario.contains_key("evil") && scenario["title"].as_str().is_some_and(|title| !title.contains('\n'))
        );
    }
}

/// The mode of a pool determines the kind of its profiles' limits. If they disagree, a note names the profiles.
#[test]
fn modes_that_disagree_with_limits_are_noted() {
    for (mode, limit, differs) in [
        ("dynamic", "dynamic_th", false),
        ("static", "static_th", false),
        ("dynamic", "static_th", true),
        ("static", "dynamic_th", true),
    ] {
        let mut file: Value = serde_json::from_str(&text("sonic/leaf.json")).unwrap();
        file["BUFFER_POOL"]["ingress_lossless_pool"]["mode"] = mode.into();
        for (name, profile) in file["BUFFER_PROFILE"].as_object_mut().unwrap() {
            if profile["pool"] == "ingress_lossless_pool" {
                let profile = profile.as_object_mut().unwrap();
                let threshold = profile.remove("dynamic_th").or(profile.remove("static_th"));
                assert!(threshold.is_some(), "{name} has no limit");
                profile.insert(limit.into(), if limit == "static_th" { "100000" } else { "-1" }.into());
            }
        }
        let (result, _) = import(&file.to_string(), Some(16_000_000)).unwrap();
        let reported: Vec<_> =
            result.notes.iter().filter(|note| note.text.contains("the mode of ingress_lossless_pool is")).collect();
        assert_eq!(!reported.is_empty(), differs, "{mode}, {limit}: {reported:?}");
        let lossless = |name: &String| name == "pg_lossless_100000_40m_profile";
        assert!(
            reported.iter().all(|note| note.names.iter().any(lossless) && note.text.contains(&format!("is {mode}"))),
            "{reported:?}"
        );
    }
}

/// SONiC writes 0m for an unused port, which differs from a missing length. The verdict names both ports.
#[test]
fn cables_and_ports_that_are_not_used_are_said_as_they_are() {
    let mut file: Value = serde_json::from_str(&text("sonic/leaf.json")).unwrap();
    file["CABLE_LENGTH"]["AZURE"]["Ethernet0"] = "0m".into();
    file["CABLE_LENGTH"]["AZURE"].as_object_mut().unwrap().remove("Ethernet4");
    let options = Options { memory: Some(16_000_000), pauses: Some(PAUSES), ..Options::default() };
    let reported = |file: &Value| {
        let (result, place) = imported(&[("leaf.json", &file.to_string())], &options).unwrap();
        (notes(&result), verdicts(&place, "headroom"))
    };
    let (notified, headroom) = reported(&file);
    let has = |notified: &[String], expected: &str| {
        assert!(notified.iter().any(|note| note.ends_with(expected)), "{expected}: {notified:#?}")
    };
    has(&notified, "differs: Ethernet0: a cable of 0m, as of a port that is not used: here it has 5 m");
    has(&notified, "assumed: Ethernet4: no length in CABLE_LENGTH: the cable has 5 m");
    let says: Vec<&str> = headroom.iter().filter_map(|one| one["says"].as_str()).collect();
    assert_eq!(says.len(), 2, "{says:?}");
    let assumed = "where the cable has 5 m, which CABLE_LENGTH does not say of Ethernet0 and Ethernet4";
    assert_eq!(says.iter().filter(|says| says.contains(assumed)).count(), 1, "{says:?}");
    // All ports are down, and one has no status.
    for (_, port) in file["PORT"].as_object_mut().unwrap() {
        port["admin_status"] = "down".into();
    }
    file["PORT"]["Ethernet8"].as_object_mut().unwrap().remove("admin_status");
    let (notified, _) = reported(&file);
    has(&notified, "Ethernet28 (line 1): admin_status is down, and no port is up: here the port is");
    has(&notified, "assumed: Ethernet8: admin_status is not said, and no port is up: here the port is");
}

/// The headroom suffices for one priority group, but the pool does not suffice for all at once. The verdict names the
/// key with too little.
#[test]
fn the_key_that_has_too_little_headroom_is_named() {
    let says = |xoff: u64, pool: u64| {
        let mut file: Value = serde_json::from_str(&text("sonic/leaf.json")).unwrap();
        file["BUFFER_POOL"]["ingress_lossless_pool"]["xoff"] = pool.to_string().into();
        file["BUFFER_PROFILE"]["pg_lossless_100000_40m_profile"]["xoff"] = xoff.to_string().into();
        let options = Options { memory: Some(64_000_000), pauses: Some(PAUSES), ..Options::default() };
        let (_, place) = imported(&[("leaf.json", &file.to_string())], &options).unwrap();
        verdict(&place, "headroom")["says"].as_str().unwrap().to_owned()
    };
    // 55,000 B are needed, and 16 priority groups share the pool.
    let one = says(60_320, 640_000);
    assert!(one.starts_with("not enough: 40000 B for each priority group"), "{one}");
    let expected = "The 60320 B of pg_lossless_100000_40m_profile (xoff in BUFFER_PROFILE) are enough for one; the 640000 B of \
                    ingress_lossless_pool (xoff in BUFFER_POOL) are not enough for all 16 priority groups at once";
    assert!(one.contains(expected), "{one}");
    assert!(says(54_999, 640_000).contains("are not enough even for one"), "{}", says(54_999, 640_000));
    let own = says(54_999, 1_600_000);
    assert!(own.contains("xoff of BUFFER_PROFILE pg_lossless_100000_40m_profile says how much there is"), "{own}");
    assert!(!says(60_320, 1_600_000).contains("at once"), "{}", says(60_320, 1_600_000));
}

/// A wire full of short frames fills more cells. Between the need of the longest frames and that of any with slow interfaces, the
/// configuration alone does not decide.
#[test]
fn headroom_between_two_needs_is_not_decided() {
    const IN_CELLS: Pauses = Pauses {
        headroom: |asked| Needed {
            longest_frames: 20_000 + 500 * (asked.cell - 1),
            any_frames: 20_000 * asked.cell,
            slow_interfaces: (asked.bps == 100_000_000_000).then_some(62_000),
        },
        ..PAUSES
    };
    const CHIP: ChipPreset = ChipPreset { name: "chip", toml: "architecture = \"shared-memory\"\ncell = \"3 B\"" };
    let judged = |xoff: u64, asic: Option<&str>| {
        let mut file: Value = serde_json::from_str(&text("sonic/leaf.json")).unwrap();
        file["BUFFER_POOL"]["ingress_lossless_pool"]["xoff"] = "1600000".into();
        file["BUFFER_PROFILE"]["pg_lossless_100000_40m_profile"]["xoff"] = xoff.to_string().into();
        let asic = asic.map(str::to_owned);
        let options =
            Options { memory: Some(64_000_000), pauses: Some(IN_CELLS), asic, chips: vec![CHIP], ..Options::default() };
        let (_, place) = imported(&[("leaf.json", &file.to_string())], &options).unwrap();
        (verdict(&place, "headroom"), place.text("it.headroom-1.toml"))
    };
    for (xoff, holds) in
        [(62_000, Some(true)), (61_999, None), (60_000, None), (59_999, None), (21_000, None), (20_999, Some(false))]
    {
        let (verdict, run) = judged(xoff, Some("chip"));
        assert_eq!(verdict["holds"], json!(holds), "{xoff}: {verdict}");
        assert_eq!(verdict["facts"]["need_bytes"], 60_000);
        assert_eq!(verdict["facts"]["need_longest_frames_bytes"], 21_000);
        assert!(
            verdict["says"].as_str().unwrap().contains("cells of 3 B; for the longest frames alone it is 21000 B"),
            "{verdict}"
        );
        assert!(run.contains("cell = \"3 B\""), "{run}");
    }
    // Without a chip frames count by length.
    let (verdict, run) = judged(62_000, None);
    assert_eq!((&verdict["facts"]["need_bytes"], &verdict["facts"]["cell_bytes"]), (&json!(20_000), &json!(1)));
    assert!(!verdict["says"].as_str().unwrap().contains("cells of") && !run.contains("cell ="), "{verdict}");
}

/// A pool that no slice shares a cell of, and a second pool: notes have the reason, in place of a prediction.
#[test]
fn what_is_not_predicted_has_its_reason() {
    const CHIP: ChipPreset =
        ChipPreset { name: "chip", toml: "architecture = \"shared-memory\"\ncell = \"200 B\"\nslices = 4" };
    let noted = |change: &dyn Fn(&mut Value)| {
        let mut file: Value = serde_json::from_str(&text("sonic/leaf.json")).unwrap();
        change(&mut file);
        let options = Options {
            memory: Some(64_000_000),
            asic: Some("chip".to_owned()),
            chips: vec![CHIP],
            pauses: Some(PAUSES),
            ..Options::default()
        };
        let (result, _) = imported(&[("leaf.json", &file.to_string())], &options).unwrap();
        notes(&result).into_iter().filter(|note| note.contains("nothing is predicted")).collect::<Vec<_>>()
    };
    assert_eq!(noted(&|_| ()), [""; 0]);
    let none = noted(&|file| file["BUFFER_POOL"]["ingress_lossless_pool"]["size"] = "799".into());
    assert!(none.len() == 1 && none[0].contains("ingress_lossless_pool shares no cell of a slice"), "{none:?}");
    let other = noted(&|file| {
        file["BUFFER_POOL"]["second_pool"] =
            json!({"type": "ingress", "mode": "dynamic", "size": "1000000", "xoff": "400000"});
        let own = &file["BUFFER_PROFILE"]["pg_lossless_100000_40m_profile"];
        let mut second = own.clone();
        second["pool"] = "second_pool".into();
        file["BUFFER_PROFILE"]["second"] = second;
        file["BUFFER_PG"]["Ethernet0|3-4"] = json!({"profile": "second"});
    });
    assert!(other.len() == 1 && other[0].contains("it draws from second_pool, and memory is divided for"), "{other:?}");
}
