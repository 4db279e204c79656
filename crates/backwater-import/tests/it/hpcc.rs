//! Tests imports of files of HPCC's ns-3 code and its descendants.

use crate::{fixture, imported};
use backwater_import::{Imported, Memory, Options, Source, import, mutation};
use std::fmt::Write;
use toml::Value;

fn text(name: &str) -> String {
    String::from_utf8(fixture(&format!("hpcc/{name}"))).expect("text")
}

/// Returns the text of a topology: hosts, switches, and links, each (node, node, Gb/s, ns).
fn topology(hosts: u32, switches: u32, links: &[(u32, u32, u32, u32)]) -> String {
    let mut text = format!("{} {switches} {}\n", hosts + switches, links.len());
    (hosts..hosts + switches).for_each(|id| write!(text, "{id} ").unwrap());
    links.iter().for_each(|(a, b, gbps, ns)| write!(text, "\n{a} {b} {gbps}Gbps {ns}ns 0.000000").unwrap());
    text
}

fn leaf_spine(leaves: u32, spines: u32, hosts: u32, gbps: u32) -> String {
    let n = leaves * hosts;
    let mut links: Vec<_> = (0..n).map(|host| (host, n + host / hosts, gbps, 1000)).collect();
    links.extend((0..leaves * spines).map(|i| (n + i / spines, n + leaves + i % spines, gbps, 1000)));
    topology(n, leaves + spines, &links)
}

/// Returns the fabric of 320 hosts in the public code: 20 ToRs, 20 aggregation switches in 5 pods, 16 cores.
fn fat_tree() -> String {
    let mut links: Vec<_> = (0..320).map(|host| (host, 320 + host / 16, 100, 1000)).collect();
    links.extend((0..80).map(|i| (320 + i / 4, 340 + i / 16 * 4 + i % 4, 400, 1000)));
    links.extend((0..80).map(|i| (340 + i / 4, 360 + i / 4 % 4 * 4 + i % 4, 400, 1000)));
    topology(320, 56, &links)
}

fn dumbbell(trunk: u32) -> String {
    let mut links: Vec<_> = (0..16).map(|host| (host, 16 + host / 8, 100, 1000)).collect();
    links.push((16, 17, trunk, 1000));
    topology(16, 2, &links)
}

fn star(hosts: u32) -> String {
    topology(hosts, 1, &(0..hosts).map(|host| (host, hosts, 100, 1000)).collect::<Vec<_>>())
}

fn done(files: &[(&str, &str)]) -> (Imported, Memory) {
    imported(files, &Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn scenario(files: &[(&str, &str)]) -> toml::Table {
    let (result, _) = done(files);
    result.scenario.parse().unwrap_or_else(|error| panic!("{error}\n{}", result.scenario))
}

fn has(files: &[(&str, &str)], lines: &[&str]) {
    let (result, _) = done(files);
    for line in lines {
        assert!(result.scenario.contains(line), "{line} is missing in\n{}", result.scenario);
    }
}

/// Returns the fixture's configuration without files and faults, with these values changed.
fn config(changes: &[(&str, &str)]) -> String {
    let own = text("config.txt").replace("LINK_DOWN 5 5 7\n", "");
    let kept = own.lines().filter(|line| {
        let key = line.split(' ').next().unwrap_or_default();
        !changes.iter().any(|(changed, _)| *changed == key)
    });
    let mut text: String = kept.flat_map(|line| [line, "\n"]).collect();
    changes.iter().for_each(|(key, value)| writeln!(text, "{key} {value}").unwrap());
    text
}

/// Returns a quantity in its smallest unit, or a text unchanged.
fn plain(value: &Value) -> String {
    let Some((number, unit)) = value.as_str().and_then(|text| text.split_once(' ')) else { return value.to_string() };
    let units = [
        ("B", 1.0),
        ("KB", 1e3),
        ("KiB", 1024.0),
        ("MB", 1e6),
        ("MiB", 1048576.0),
        ("s", 1e12),
        ("ms", 1e9),
        ("us", 1e6),
        ("ns", 1e3),
        ("Mb/s", 1e6),
        ("Gb/s", 1e9),
    ];
    match (number.parse::<f64>(), units.iter().find(|(name, _)| *name == unit)) {
        (Ok(number), Some((_, size))) => (number * size).to_string(),
        _ => value.to_string(),
    }
}

const INCAST: &str = "4\n8 0 3 100 20000000 2.000000000\n16 0 3 101 20000000 2.000000000\n\
                      25 0 3 102 20000000 2.000000000\n10 37 3 100 50000000 2.000000000\n";

#[test]
fn a_published_configuration_is_the_scenario_by_hand() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/ns3-incast.toml");
    let by_hand: toml::Table = std::fs::read_to_string(path).unwrap().parse().unwrap();
    let maps =
        [("KMIN_MAP", "1 200000000000 800"), ("KMAX_MAP", "1 200000000000 3200"), ("PMAX_MAP", "1 200000000000 0.2")];
    let mut changes = maps.to_vec();
    changes.extend([("RATE_AI", "40Mb/s"), ("RATE_HAI", "400Mb/s"), ("BUFFER_SIZE", "4")]);
    let ways = "0 10000 data 8 129 148 128 0\n1 10000 data 16 130 145 128 0\n2 10000 data 25 131 147 128 0\n\
                3 10000 data 10 129 148 132 37\n";
    let (config, fabric) = (config(&changes), leaf_spine(16, 8, 8, 200));
    let ours = scenario(&[("a.conf", &config), ("topology", &fabric), ("flows", INCAST), ("paths", ways)]);
    for (name, table) in by_hand.iter().filter_map(|(name, value)| Some((name, value.as_table()?))) {
        for (key, value) in table.iter().filter(|(key, _)| *key != "preset" && name != "variant") {
            let own = ours.get(name).and_then(|table| table.get(key));
            assert_eq!(own.map(plain), Some(plain(value)), "{name}.{key}");
        }
    }
    let flows = |scenario: &toml::Table| -> Vec<String> {
        let groups = scenario["flow"].as_array().unwrap();
        groups.iter().map(|group| format!("{} {} {}", group["from"], group["to"], group["size"])).collect()
    };
    assert_eq!(flows(&ours), flows(&by_hand));
    let path = ours["flow"][1]["path"].to_string();
    assert_eq!(path, r#"["h10", "leaf1", "spine4", "leaf4", "h37"]"#);
    // The values of the preset in the scenario written by hand.
    for (key, value) in [
        ("law", "\"ns3\""),
        ("alpha_timer", "\"1 us\""),
        ("rate_timer", "\"300 us\""),
        ("f", "1"),
        ("min_rate", "\"1 Gb/s\""),
        ("clamp_target", "false"),
        ("decrease_interval", "\"4 us\""),
        ("g", "0.00390625"),
    ] {
        assert_eq!(ours["dcqcn"][key].to_string(), value, "{key}");
    }
}

#[test]
fn fabrics_are_recognised() {
    has(&[("t", &star(16))], &["kind = \"star\"", "hosts = 16", "rate = \"100 Gb/s\"", "link_delay = \"1 us\""]);
    has(
        &[("t", &dumbbell(400))],
        &["kind = \"dumbbell\"", "left_hosts = 8", "right_hosts = 8", "trunk_rate = \"400 Gb/s\""],
    );
    has(
        &[("t", &leaf_spine(16, 8, 8, 200))],
        &["kind = \"leaf-spine\"", "leaves = 16", "spines = 8", "hosts_per_leaf = 8"],
    );
    has(
        &[("t", &text("topology.txt"))],
        &["leaves = 2", "spines = 2", "fabric_rate = \"400 Gb/s\"", "fabric_delay = \"2 us\""],
    );
    let tree = ["kind = \"fat-tree\"", "pods = 5", "tors_per_pod = 4", "aggs_per_pod = 4", "cores = 16"];
    has(&[("t", &fat_tree())], &tree);
    has(&[("t", &fat_tree())], &["hosts_per_tor = 16", "rate = \"100 Gb/s\"", "fabric_rate = \"400 Gb/s\""]);
    has(&[("t", &text("datacenter.txt"))], &["hosts = 8", "rate = \"25 Gb/s\"", "link_delay = \"3.33 us\""]);
    // The order of links and of their ends does not matter.
    let mut lines: Vec<String> = leaf_spine(2, 2, 2, 100).lines().map(str::to_owned).collect();
    lines[2..].reverse();
    lines[2] = lines[2].replace("5 7 ", "7 5 ");
    has(&[("t", &lines.join("\n"))], &["kind = \"leaf-spine\"", "leaves = 2", "hosts_per_leaf = 2"]);
}

/// Two pods of two ToRs and one aggregation switch, with two links to each ToR and three to each of two cores.
#[test]
fn parallel_links_are_bundles_of_a_fat_tree() {
    let mut links: Vec<_> = (0..4).map(|host| (host, 4 + host, 100, 1000)).collect();
    let bundle = |links: &mut Vec<_>, n: u32, a: u32, b: u32| links.extend((0..n).map(|_| (a, b, 100, 1000)));
    (0..4).for_each(|tor| bundle(&mut links, 2, 4 + tor, 8 + tor / 2));
    for agg in 8..10 {
        (10..12).for_each(|core| bundle(&mut links, 3, agg, core));
    }
    let lines = ["kind = \"fat-tree\"", "pods = 2", "tors_per_pod = 2", "aggs_per_pod = 1", "cores = 2"];
    has(&[("t", &topology(4, 8, &links))], &lines);
    has(&[("t", &topology(4, 8, &links))], &["\nlinks_per_pair = 2", "core_links_per_pair = 3"]);
    // With one link less, the fabric is no longer of this kind.
    links.pop();
    has(&[("t", &topology(4, 8, &links))], &["kind = \"explicit\""]);
}

#[test]
fn rails_are_a_leaf_spine_with_rails() {
    // Two groups of two servers of two interfaces, over four leaves and a spine.
    let leaf = |host: u32| 8 + host / 4 * 2 + host % 2;
    let mut links: Vec<_> = (0..8).map(|host| (host, leaf(host), 100, 1000)).collect();
    links.extend((8..12).map(|leaf| (leaf, 12, 100, 1000)));
    has(&[("t", &topology(8, 5, &links))], &["leaves = 4", "spines = 1", "hosts_per_leaf = 2", "rails = 2"]);
}

#[test]
fn other_fabrics_are_written_out() {
    // Hosts 2 and 3 are exchanged.
    let swapped = leaf_spine(2, 2, 3, 100).replace("\n2 6 ", "\n2 7 ").replace("\n3 7 ", "\n3 6 ");
    has(
        &[("t", &swapped)],
        &[
            "kind = \"explicit\"",
            "{ name = \"h5\", kind = \"host\" }",
            "{ name = \"s6\", kind = \"switch\", tier = \"tor\" }",
            "{ name = \"s9\", kind = \"switch\", tier = \"agg\" }",
            "{ a = \"h2\", b = \"s7\", rate = \"100 Gb/s\", delay = \"1 us\" }",
        ],
    );
    // Switches come before hosts in the file: hosts get new numbers.
    let text = "4 1 3\n0\n1 0 100Gbps 1us 0\n2 0 100Gbps 1us 0\n3 0 25Gbps 1us 0\n";
    has(&[("t", text)], &["name = \"s0\"", "{ a = \"h2\", b = \"s0\", rate = \"25 Gb/s\", delay = \"1 us\" }"]);
    let (_, place) = done(&[("t", text), ("f", &flows_of(20, "3 1 3 100 7 2"))]);
    assert!(place.text("it.flows.csv").starts_with("id,src,dst,bytes,start\n0,2,0,7,0\n"));
}

/// Returns `count` equal flows.
fn flows_of(count: usize, flow: &str) -> String {
    format!("{count}\n{}", format!("{flow}\n").repeat(count))
}

#[test]
fn a_table_has_the_numbers_of_the_list() {
    // SplitMix64 suffices for numbers of all sizes.
    let mut state = 1u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    let (mut list, mut expected) = (String::from("500\n"), String::from("id,src,dst,bytes,start,class\n"));
    for id in 0..500 {
        let (src, class, bytes, ns) = (draw(16), draw(8), 1 + draw(1 << 31), draw(1_000_000_000));
        let dst = (src + 1 + draw(15)) % 16;
        writeln!(list, "{src} {dst} {class} 100 {bytes} 2.{ns:09}").unwrap();
        writeln!(expected, "{id},{src},{dst},{bytes},{},{class}", ns * 1000).unwrap();
    }
    let (_, place) = done(&[("t", &star(16)), ("f", &list)]);
    assert_eq!(place.text("it.flows.csv"), expected);
}

#[test]
fn few_flows_are_written_out_and_ways_are_pinned() {
    let (result, place) = done(&[("t", &text("topology.txt")), ("f", &text("flow.txt")), ("p", &text("paths.txt"))]);
    assert!(place.names().is_empty());
    let scenario: toml::Table = result.scenario.parse().unwrap();
    let flows = scenario["flow"].as_array().unwrap();
    // Flows 0 and 1 have the same receiver and start, but flow 1 has no return path.
    assert_eq!(flows.len(), 4);
    assert_eq!(flows[0]["path"].to_string(), r#"["h1", "leaf0", "h0"]"#);
    assert_eq!(flows[0]["ack_path"].to_string(), r#"["h0", "leaf0", "h1"]"#);
    assert_eq!(flows[1]["path"].to_string(), r#"["h2", "leaf1", "spine0", "leaf0", "h0"]"#);
    assert_eq!(flows[1].get("ack_path"), None);
    assert_eq!(flows[2]["ack_path"].to_string(), r#"["h0", "leaf0", "spine0", "leaf1", "h3"]"#);
    assert_eq!(flows[2]["start"].to_string(), "\"13 ns\"");
    assert_eq!((flows[3].get("path"), flows[3]["size"].to_string()), (None, "\"64 B\"".to_owned()));
    let notes: Vec<String> = result.notes.iter().map(ToString::to_string).collect();
    assert!(notes.iter().any(|note| note.starts_with("f:6: ignored: what follows the 4 flows")), "{notes:?}");
    assert!(notes.iter().any(|note| note.starts_with("f:2: assumed: 2 s of the file is 0 s here")), "{notes:?}");
    // In a table, paths are lists of switches.
    let ways = "3 data 1 4 0 ack 0 4 1\n";
    let (_, place) = done(&[("t", &text("topology.txt")), ("f", &flows_of(20, "1 0 3 100 9 2")), ("p", ways)]);
    let table = place.text("it.flows.csv");
    let rows: Vec<&str> = table.lines().collect();
    assert_eq!(rows[0], "id,src,dst,bytes,start,path,ack_path");
    assert_eq!(rows[4], "3,1,0,9,0,leaf0,leaf0");
    assert_eq!(rows[5], "4,1,0,9,0,,");
}

#[test]
fn five_columns_and_starts() {
    let files = [("t", text("topology.txt")), ("f", text("flow-conweave.txt"))];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    has(
        &files,
        &["start = \"1 us\"", "size = \"65536 B\"".replace("65536 B", "64 KiB").as_str(), "start = \"2.5 us\""],
    );
    has(&files, &["start = \"500 ms\"", "size = \"1 B\""]);
    // Starts may be earlier than 2 s: the first flow starts at 0 s.
    has(&[("f", "2\n0 1 3 100 9 0.5\n1 0 3 100 9 0.7\n")], &["start = \"200 ms\"", "hosts = 2"]);
    let from = |ps| Options { from_ps: Some(ps), ..Options::default() };
    let (result, _) = imported(&files, &from(1_999_999_000_000)).unwrap();
    assert!(result.scenario.contains("start = \"2 us\""), "{}", result.scenario);
    let error = imported(&files, &from(2_000_002_000_000)).unwrap_err().to_string();
    assert!(error.starts_with("f:2: starts at"), "{error}");
}

/// Round trips and windows that the code itself printed in public runs, with one configuration and these fabrics.
#[test]
fn round_trips_and_windows_are_those_of_the_code() {
    for (fabric, round_trip, window) in [
        (star(16), "4.16 us", "52 KB"),
        (dumbbell(100), "6.24 us", "78 KB"),
        (dumbbell(400), "6.18 us", "77250 B"),
        (leaf_spine(4, 4, 4, 100), "8.32 us", "104 KB"),
        (fat_tree(), "12.24 us", "153 KB"),
    ] {
        let run = |mode: &str| {
            let config = config(&[("CC_MODE", mode), ("HAS_WIN", "1"), ("VAR_WIN", "1")]);
            scenario(&[("c", &config), ("t", &fabric), ("f", "0\n0 1 3 1 1 2\n")])
        };
        let hpcc = run("3");
        assert_eq!(hpcc["hpcc"]["base_rtt"].as_str(), Some(round_trip));
        assert_eq!(hpcc["transport"].get("window"), None);
        assert_eq!((hpcc["ack"]["size"].as_str(), hpcc["packet"]["header"].as_str()), (Some("46 B"), Some("48 B")));
        let timely = run("7");
        assert_eq!(timely["transport"]["window"].as_str(), Some(window));
        assert_eq!(timely["transport"]["window_scaling"].as_bool(), Some(true));
        assert_eq!(timely["packet"]["header"].as_str(), Some("56 B"));
        assert_eq!((timely["timely"]["delta"].as_str(), timely.get("ecn")), (Some("20 Mb/s"), None));
        let dctcp = run("8");
        assert_eq!(dctcp["dctcp"]["base_rtt"].as_str(), Some(round_trip));
        assert_eq!((dctcp["transport"].get("window"), dctcp["ecn"]["kmin"].as_str()), (None, Some("400 KB")));
        assert_eq!(run("10")["hpcc"]["base_rtt"].as_str(), Some(round_trip));
    }
}

fn in_a_star(changes: &[(&str, &str)]) -> (toml::Table, Vec<String>) {
    let (config, fabric) = (config(changes), star(16));
    let (result, _) = done(&[("c", &config), ("t", &fabric), ("f", "0\n0 1 3 1 1 2\n")]);
    (result.scenario.parse().unwrap(), result.notes.iter().map(ToString::to_string).collect())
}

/// The fixture has EWMA_GAIN 1/256, DCTCP_RATE_AI 1000Mb/s and MIN_RATE 1000Mb/s; RATE_AI is not DCTCP's there.
#[test]
fn dctcp_is_the_law_of_that_code() {
    let (table, notes) = in_a_star(&[("CC_MODE", "8"), ("HAS_WIN", "1"), ("VAR_WIN", "1")]);
    assert_eq!(
        table["dctcp"].to_string(),
        "{ law = \"ns3\", g = 0.00390625, base_rtt = \"4.16 us\", r_ai = \"1 Gb/s\", min_rate = \"1 Gb/s\" }"
    );
    assert_eq!(
        notes.iter().filter(|note| note.contains("CC_MODE") && note.contains("differs")).count(),
        0,
        "{notes:?}"
    );
    // The transport has the fixed window, or no window. The law's own window is a second at 100 Gb/s.
    for (has, window) in [("1", Some("52 KB")), ("0", None)] {
        let (table, _) = in_a_star(&[("CC_MODE", "8"), ("HAS_WIN", has), ("DCTCP_RATE_AI", "615Mb/s")]);
        assert_eq!(table["transport"].get("window").and_then(Value::as_str), window);
        assert_eq!(table["transport"].get("window_scaling"), None);
        assert_eq!(table["dctcp"]["base_rtt"].as_str(), Some("1 s"));
        assert_eq!(table["dctcp"]["r_ai"].as_str(), Some("615 Mb/s"));
    }
    // The code's own defaults: 1000Mb/s, 100Mb/s, and a gain of 1 / 16 in whole numbers.
    let own = config(&[("CC_MODE", "8")]);
    let bare: String = own
        .lines()
        .filter(|line| !["EWMA", "DCTCP", "MIN_R"].iter().any(|key| line.starts_with(key)))
        .fold(String::new(), |text, line| text + line + "\n");
    let (result, _) = done(&[("c", &bare), ("t", &star(16)), ("f", "0\n0 1 3 1 1 2\n")]);
    let table: toml::Table = result.scenario.parse().unwrap();
    assert_eq!(table["dctcp"]["r_ai"].as_str(), Some("1 Gb/s"));
    assert_eq!(table["dctcp"]["min_rate"].as_str(), Some("100 Mb/s"));
    assert!(result.notes.iter().any(|note| note.text.contains("EWMA_GAIN is missing")));
    // In that code, a host of 25 Gb/s has the whole window of 52 KB at its full rate, and not a quarter of it.
    let mixed = topology(3, 1, &[(0, 3, 100, 1000), (1, 3, 100, 1000), (2, 3, 25, 1000)]);
    let mut changes = vec![("CC_MODE", "8"), ("HAS_WIN", "1"), ("VAR_WIN", "1")];
    changes.extend([
        ("KMIN_MAP", "2 25000000000 100 100000000000 400"),
        ("KMAX_MAP", "2 25000000000 400 100000000000 1600"),
        ("PMAX_MAP", "2 25000000000 0.2 100000000000 0.2"),
    ]);
    let config = config(&changes);
    let table = scenario(&[("c", &config), ("t", &mixed), ("f", "0\n0 1 3 1 1 2\n")]);
    assert_eq!(table["dctcp"]["base_rtt"].as_str(), Some("1 s"));
    // 4 us of delays, and 80 and 320 ns of sending, at 100 and at 25 Gb/s: 52,000 and 13,750 B.
    assert_eq!(table["transport"]["window"].as_str(), Some("52 KB"));
    assert_eq!(table["transport"]["window_scaling"].as_bool(), Some(true));
}

/// In that code, a packet has 2 octets for a load, of which one or both are written: 50 B of headers, and 60 B for an
/// acknowledgement.
#[test]
fn pint_has_its_base_and_the_length_of_that_code() {
    // ln(512 x 512) / ln(b) is 256 or less from b = 1.0499 on.
    for (base, pint_base, header, ack) in [
        (None, 1.05, "49 B", "59 B"),
        (Some("1.05"), 1.05, "49 B", "59 B"),
        (Some("1.049"), 1.049, "48 B", "58 B"),
        (Some("1.01"), 1.01, "48 B", "58 B"),
        (Some("2"), 2.0, "49 B", "59 B"),
    ] {
        let mut changes = vec![("CC_MODE", "10"), ("MI_THRESH", "0"), ("U_TARGET", "0.9"), ("RATE_AI", "40Mb/s")];
        changes.extend(base.map(|base| ("PINT_LOG_BASE", base)));
        let (table, _) = in_a_star(&changes);
        assert_eq!(
            table["hpcc"].to_string(),
            format!(
                "{{ telemetry = \"pint\", pint_base = {pint_base:?}, base_rtt = \"4.16 us\", eta = 0.9, max_stage = 0, \
                 r_ai = \"40 Mb/s\", min_rate = \"1 Gb/s\" }}"
            )
        );
        assert_eq!(table["packet"]["header"].as_str(), Some(header));
        assert_eq!(table["ack"]["size"].as_str(), Some(ack));
    }
    // It reads none of INT's keys.
    let mut changes = vec![("CC_MODE", "10"), ("HAS_WIN", "1"), ("VAR_WIN", "1")];
    changes.extend([("PINT_PROB", "0.25"), ("INT_MULTI", "4"), ("FAST_REACT", "0")]);
    let (_, notes) = in_a_star(&changes);
    let reported = |text: &str| notes.iter().any(|note| note.contains(text));
    assert!(reported("PINT_PROB: senders take loads of a share of 0.25 of their packets there"), "{notes:?}");
    assert!(!reported("FAST_REACT 0") && !reported("VAR_WIN") && !reported("not modelled"), "{notes:?}");
    for (key, value) in [("PINT_LOG_BASE", "1"), ("PINT_LOG_BASE", "2.5"), ("PINT_LOG_BASE", "1.0001")] {
        let config = config(&[("CC_MODE", "10"), (key, value)]);
        let files = [("c", config.as_str()), ("t", &star(4)), ("f", "0\n0 1 3 1 1 2\n")];
        let error = imported(&files, &Options::default()).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("PINT_LOG_BASE is not from 1.0002 to 2"), "{error}");
    }
}

#[test]
fn records_count_in_the_units_of_the_configuration() {
    // The program's default is 1.
    for (given, multi) in [(None, 1), (Some("4"), 4), (Some("16"), 16)] {
        let mut changes = vec![("CC_MODE", "3")];
        changes.extend(given.map(|given| ("INT_MULTI", given)));
        let (table, _) = in_a_star(&changes);
        assert_eq!((table["hpcc"]["int_multi"].as_integer(), table["hpcc"].get("telemetry")), (Some(multi), None));
    }
    let (_, notes) = in_a_star(&[("CC_MODE", "3"), ("HAS_WIN", "1"), ("GLOBAL_T", "0"), ("PINT_PROB", "0.5")]);
    let reported = |text: &str| notes.iter().any(|note| note.contains(text));
    assert!(
        reported("VAR_WIN 0: a window stays") && reported("GLOBAL_T 0: two hosts") && reported("PINT_PROB"),
        "{notes:?}"
    );
    let config = config(&[("CC_MODE", "3"), ("INT_MULTI", "0")]);
    let files = [("c", config.as_str()), ("t", &star(4)), ("f", "0\n0 1 3 1 1 2\n")];
    let error = imported(&files, &Options::default()).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("INT_MULTI is not from 1 to 1000"), "{error}");
}

/// Memory of the fat tree's switches: 32 MiB, and 7 x 4096 B for each port. A ToR has 20 ports, an aggregation switch
/// 8, a core 5.
#[test]
fn memory_and_thresholds_follow_ports_and_rates() {
    let table = scenario(&[("c", &config(&[])), ("t", &fat_tree()), ("f", "0\n0 1 3 1 1 2\n")]);
    let kib = |ports: u64| format!("{} KiB", 32 * 1024 + 7 * 4 * ports);
    assert_eq!(table["switch"]["buffer"].as_str(), Some(kib(20).as_str()));
    let at = table["switch"]["at"].as_array().unwrap();
    let tiers: Vec<_> = at.iter().map(|at| (at["tier"].as_str().unwrap(), at["buffer"].as_str().unwrap())).collect();
    assert_eq!(tiers, [("agg", kib(8).as_str()), ("core", kib(5).as_str())]);
    // 3 x 100 Gb/s x 1 us, and four times that at 400 Gb/s; a share of 1/8, and 1/2 at 400 Gb/s.
    for (table, key, value) in [
        (&table["switch"], "headroom", "\"37500 B\""),
        (&table["switch"], "headroom_above", "0.125"),
        (&table["pfc"], "alpha", "0.125"),
        (&table["ecn"], "kmin", "\"400 KB\""),
    ] {
        assert_eq!(table[key].to_string(), value);
        assert_eq!(table["reference_rate"].as_str(), Some("100 Gb/s"));
    }
    // Thresholds out of proportion, at switches of one rate each.
    let maps =
        [("KMIN_MAP", "2 100000000000 100 400000000000 150"), ("KMAX_MAP", "2 100000000000 400 400000000000 400")];
    let links = [(0, 2, 100, 1000), (1, 2, 100, 1000), (2, 3, 400, 1000), (3, 4, 400, 1000)];
    let table = scenario(&[("c", &config(&maps)), ("t", &topology(2, 3, &links)), ("f", "0\n0 1 3 1 1 2\n")]);
    assert_eq!(table["ecn"]["kmin"].as_str(), Some("150 KB"));
    assert_eq!(table["ecn"].get("reference_rate"), None);
    let at = table["ecn"]["at"].as_array().unwrap();
    assert_eq!(at.len(), 1);
    assert_eq!((at[0]["tier"].as_str(), at[0]["kmin"].as_str()), (Some("tor"), Some("100 KB")));
}

/// Data has 48 B, telemetry (HPCC 42 B, TIMELY 8, PINT 2) and payload. An acknowledgement has 46 B and telemetry, at
/// least 60 B. A pause has 64 B. At 400 Gb/s, 50 B take a nanosecond.
#[test]
fn the_clock_is_a_nanosecond_where_every_frame_takes_longer() {
    let clock = |control: &str, gbps: u32, sent: &str| {
        let maps = format!("2 100000000000 100 {gbps}000000000 400");
        let shares = format!("2 100000000000 0.2 {gbps}000000000 0.2");
        let maps = [("CC_MODE", control), ("KMIN_MAP", &maps), ("KMAX_MAP", &maps), ("PMAX_MAP", &shares)];
        let (result, _) = done(&[("c", &config(&maps)), ("t", &dumbbell(gbps)), ("f", sent)]);
        let table: toml::Table = result.scenario.parse().unwrap();
        let clock = table["packet"]["clock"].as_str().unwrap().to_owned();
        let notes: Vec<_> = result.notes.iter().filter(|note| note.text.contains("cuts times off")).collect();
        let reported = notes.first().map(|note| note.text.clone()).unwrap_or_default();
        assert_eq!(reported.is_empty(), clock == "1 ns", "{reported}");
        assert!(reported.ends_with(&clock) || clock == "1 ns", "{reported}");
        clock
    };
    let flow = |octets: u64| format!("2\n0 9 3 1 5000 2\n1 8 3 1 {octets} 2\n");
    for (control, gbps, octets, expected) in [
        // DCQCN: the acknowledgement is shortest, 1.2 ns, then the packet of 1, 2 or 3 B.
        ("1", 100, 1, "1 ns"),
        ("1", 400, 1000, "1 ns"),
        ("1", 400, 1, "979 ps"),
        ("1", 400, 2, "999 ps"),
        ("1", 400, 3, "1 ns"),
        ("1", 400, 7002, "999 ps"),
        ("1", 800, 1000, "599 ps"),
        ("8", 400, 1000, "1 ns"),
        // HPCC: the pause. TIMELY: 57 B; PINT: 51 B.
        ("3", 400, 1, "1 ns"),
        ("3", 800, 1, "639 ps"),
        ("7", 400, 1, "1 ns"),
        ("7", 800, 1000, "599 ps"),
        ("10", 400, 1, "1 ns"),
        ("10", 800, 1, "509 ps"),
    ] {
        assert_eq!(clock(control, gbps, &flow(octets)), expected, "{control} {gbps} {octets}");
    }
    // A flow of a random size may have one byte.
    assert_eq!(clock("1", 400, "0 0\n100000 100\n"), "979 ps");
}

/// Each host has two links, to a pair of leaves. `GetNicIdxOfQp` hashes over those towards the receiver.
#[test]
fn hosts_have_several_links() {
    let mut links: Vec<_> = (0..4).flat_map(|host| [(host, 4, 25, 1000), (host, 5, 25, 1000)]).collect();
    links.extend([(4, 6, 100, 1000), (4, 7, 100, 1000), (5, 6, 100, 1000), (5, 7, 100, 1000)]);
    let dual = topology(4, 4, &links);
    let maps = "2 25000000000 100 100000000000 400";
    let config = config(&[
        ("CC_MODE", "3"),
        ("KMIN_MAP", maps),
        ("KMAX_MAP", maps),
        ("PMAX_MAP", "2 25000000000 0.2 100000000000 0.2"),
    ]);
    let flows = "2\n0 2 3 100 1000 2\n3 1 3 100 1000 2\n";
    let table = scenario(&[("t", &dual), ("f", flows), ("c", &config)]);
    assert_eq!((table["topology"]["kind"].as_str(), table["nic"]["link"].as_str()), (Some("explicit"), Some("hash")));
    let of_host = |link: &&Value| link["a"].as_str() == Some("h3");
    let ends: Vec<&str> = table["topology"]["link"]
        .as_array()
        .unwrap()
        .iter()
        .filter(of_host)
        .map(|link| link["b"].as_str().unwrap())
        .collect();
    assert_eq!(ends, ["s4", "s5"]);
    // Each host is two links from any other through either leaf: 4 us, and 1000 B at 25 Gb/s twice.
    assert_eq!(table["hpcc"]["base_rtt"].as_str(), Some("4.64 us"));
    // A path determines the link of a flow.
    let ways = "0 data 0 5 2\n1 data 3 4 1 ack 1 5 3\n";
    let table = scenario(&[("t", &dual), ("f", flows), ("c", &config), ("p", ways)]);
    assert_eq!(table["flow"][0]["path"].to_string(), r#"["h0", "s5", "h2"]"#);
    assert_eq!(table["flow"][1]["ack_path"].to_string(), r#"["h1", "s5", "h3"]"#);
    // Two hosts may be joined directly. They forward nothing for others.
    let (result, _) = done(&[("t", "3 1 3\n2\n0 1 10Gbps 1us 0\n0 2 10Gbps 1us 0\n1 2 10Gbps 1us 0\n")]);
    assert!(result.scenario.contains("{ a = \"h0\", b = \"h1\","), "{}", result.scenario);
    // With one link each, nothing is chosen.
    assert_eq!(scenario(&[("t", &star(4))]).get("nic"), None);
}

#[test]
fn parallel_links_are_said_to_be_one_there() {
    let reported = |copies: usize| {
        let text = format!(
            "4 2 {}\n2 3\n0 2 10Gbps 1us 0\n1 3 10Gbps 1us 0\n{}",
            2 + copies,
            "3 2 40Gbps 1us 0\n".repeat(copies)
        );
        let (result, _) = done(&[("t", &text)]);
        let notes = result.notes.iter().map(ToString::to_string);
        notes.filter(|note| note.contains("beside a later one")).collect::<Vec<_>>()
    };
    assert_eq!(reported(1), [""; 0]);
    assert_eq!(
        reported(4),
        [
            "t:5: differs: a link beside a later one of the same two nodes: that code sends by the last of them alone; here by all \
          (and lines 6-7)"
        ]
    );
}

/// `ReceiverCheckSeq`: the receiver acknowledges every L2_ACK_INTERVAL octets, and at the end of each chunk.
#[test]
fn chunks_are_acknowledged_too() {
    let of = |interval: &str, chunk: &str| {
        let (table, notes) = in_a_star(&[("L2_ACK_INTERVAL", interval), ("L2_CHUNK_SIZE", chunk)]);
        let notes: Vec<String> = notes.into_iter().filter(|note| note.contains("L2_")).collect();
        (table["ack"].get("every").and_then(Value::as_integer), notes)
    };
    // With payloads of 1000 B: after 20 packets and after 4 packets; after 4 packets at the earliest if chunks end
    // inside a packet.
    assert_eq!(of("20000", "4000").0, Some(4));
    assert_eq!(of("20000", "40000").0, Some(20));
    assert_eq!(of("20000", "3500").0, Some(7));
    assert_eq!((of("1", "4000").0, of("0", "4000").0, of("20000", "0").0), (None, None, Some(20)));
    let reported = |(_, notes): (Option<i64>, Vec<String>), text: &str| notes.iter().any(|note| note.contains(text));
    assert!(reported(of("1", "4000"), "ignored: L2_CHUNK_SIZE: acknowledgements at its multiples"));
    assert!(reported(of("1", "4000"), "ignored: L2_ACK_INTERVAL: each packet is acknowledged"));
    assert!(reported(of("20000", "4000"), "verdict: L2_CHUNK_SIZE: that code acknowledges at its multiples, too"));
    // After 7 and after 20 packets.
    assert!(reported(of("20000", "3500"), "differs: L2_CHUNK_SIZE and L2_ACK_INTERVAL"));
    assert!(reported(of("2500", "0"), "for 2.50 packets in the mean"));
    assert_eq!(of("2500", "0").0, Some(3));
}

/// That code has no timer, and stops at a given time at the latest.
#[test]
fn a_run_ends_with_its_flows() {
    let files = |stop: Option<&'static str>, flows: &str| {
        let mut changes = vec![("SIMULATOR_STOP_TIME", stop.unwrap_or("2"))];
        if stop.is_none() {
            changes.clear();
        }
        let mut config = config(&changes);
        if stop.is_none() {
            config =
                config.lines().filter(|line| !line.starts_with("SIMULATOR")).flat_map(|line| [line, "\n"]).collect();
        }
        let files = [("c", config), ("t", star(4)), ("f", flows.to_owned())];
        let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let (result, _) = done(&files);
        let notes: Vec<String> = result.notes.iter().map(ToString::to_string).collect();
        (scenario(&files), notes.into_iter().filter(|note| note.contains("SIMULATOR_STOP_TIME")).collect::<Vec<_>>())
    };
    let flows = "4\n1 0 3 1 9 2\n2 0 3 1 9 2.1\n1 0 3 1 9 2.2\n1 0 3 1 9 2.2\n";
    let (table, notes) = files(Some("2.5"), flows);
    let labels = r#"["h1 to h0", "h2 to h0", "h1 to h0 (2)", "h1 to h0 (3)"]"#;
    assert_eq!((table["stop"]["at"].as_str(), table["stop"]["when"].to_string()), (Some("500 ms"), labels.into()));
    let own: Vec<String> = table["flow"].as_array().unwrap().iter().map(|flow| flow["label"].to_string()).collect();
    assert_eq!(format!("[{}]", own.join(", ")), labels);
    assert_eq!((table["transport"]["timeout"].as_str(), notes), (Some("500 ms"), vec![]));
    // Many flows become a group.
    let (table, _) = files(Some("2.5"), &flows_of(20, "1 0 3 1 9 2"));
    assert_eq!(table["stop"]["when"].to_string(), r#"["flows"]"#);
    let (table, _) = files(Some("2.5"), "0\n0 1 3 1 1 2\n");
    assert_eq!(table["stop"].get("when"), None);
    // The program's default is 3.01 s.
    let (table, notes) = files(None, flows);
    assert_eq!(table["stop"]["at"].as_str(), Some("1.01 s"));
    assert!(notes[0].starts_with("c: assumed: SIMULATOR_STOP_TIME, which is missing: 3.01 s"), "{notes:?}");
    for (stop, reported) in [("1", "nothing would run until then"), ("40000000000000.00", "later than an hour")] {
        let (table, notes) = files(Some(stop), flows);
        assert_eq!((table.get("stop"), table["transport"]["timeout"].as_str()), (None, Some("3600 s")));
        assert!(notes[0].contains(reported), "{notes:?}");
    }
}

#[test]
fn links_fail_and_lose() {
    let config = text("config.txt");
    let files = [("c", config.as_str()), ("t", &text("topology.txt")), ("f", &text("flow.txt"))];
    has(&files, &["kind = \"link-down\"\nat = \"5 us\"\na = \"leaf1\"\nb = \"spine1\"", "[stop]\nat = \"10 ms\""]);
    let lossy = text("topology.txt").replace("5 7 400Gbps 0.002ms 0.000000", "5 7 400Gbps 0.002ms 0.25");
    let table = scenario(&[("t", &lossy)]);
    let faults: Vec<String> = table["fault"].as_array().unwrap().iter().map(Value::to_string).collect();
    let one = |from, to| format!("{{ kind = \"loss\", probability = 0.25, from = \"{from}\", to = \"{to}\" }}");
    assert_eq!(faults, [one("leaf1", "spine1"), one("spine1", "leaf1")]);
    let config = self::config(&[("ERROR_RATE_PER_LINK", "0.001")]);
    let table = scenario(&[("c", &config), ("t", &text("topology.txt")), ("f", &text("flow.txt"))]);
    assert_eq!(table["fault"].as_array().map(Vec::len), Some(1));
    assert_eq!(table["fault"][0]["probability"].as_float(), Some(0.001));
    assert_eq!(table["transport"]["nack_interval"].as_str(), Some("500 us"));
}

#[test]
fn a_fabric_of_the_caller_is_all_but_the_flows() {
    let fabric = "title = \"mine\"\n[stop]\nat = \"1 s\"\n[topology]\nkind = \"star\"\nhosts = 4\n";
    let options = Options { fabric: Some(("mine.toml".into(), fabric.into())), ..Options::default() };
    let files = [("c", text("config.txt")), ("t", text("topology.txt")), ("f", text("flow.txt"))];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let (result, _) = imported(&files, &options).unwrap();
    let table: toml::Table = result.scenario.parse().unwrap();
    let names: Vec<&str> = table.keys().map(String::as_str).collect();
    assert_eq!(names, ["title", "stop", "topology", "flow"]);
}

#[test]
fn nothing_is_ignored_in_silence() {
    let config = config(&[("COLOUR", "blue"), ("CC_MODE", "3"), ("QLEN_MON_FILE", "q")]);
    let (result, _) = done(&[("c", &config), ("t", &text("topology.txt")), ("f", &text("flow.txt"))]);
    let notes: Vec<String> = result.notes.iter().map(ToString::to_string).collect();
    for note in [
        "c:33: ignored: COLOUR, blue (line 33): no key that is known",
        "c:9: ignored: ALPHA_RESUME_INTERVAL, RATE_DECREASE_INTERVAL (line 10), CLAMP_TARGET_RATE (line 11), RP_TIMER (line 12), \
         EWMA_GAIN (line 13), FAST_RECOVERY_TIMES (line 14), RATE_HAI (line 16), DCTCP_RATE_AI (line 18): constants of other controls",
        "c:35: ignored: QLEN_MON_FILE: what that program samples",
        "c:6: ignored: TRACE_FILE, ENABLE_TRACE (line 28): which packets are traced",
        "c:29: ignored: KMAX_MAP, KMIN_MAP (line 30), PMAX_MAP (line 31): thresholds of marking",
    ] {
        assert!(notes.iter().any(|own| own.contains(note)), "{note} is missing in {notes:#?}");
    }
}

#[test]
fn a_rate_without_a_unit_is_said_to_be_bits_a_second() {
    let notified = |rate: &str| {
        let (result, _) = done(&[("t", &format!("3 1 2\n2\n0 2 {rate} 1us 0\n1 2 100Gbps 1us 0\n"))]);
        let notes = result.notes.iter().map(ToString::to_string);
        notes.filter(|note| note.contains("no unit")).collect::<Vec<_>>()
    };
    assert_eq!(notified("100"), ["t:3: assumed: 100 b/s: bits a second where no unit stands"]);
    // A number as large as a link's rate may be meant in b/s, and a rate with a unit is clear.
    assert_eq!(notified("25000000000.0"), [""; 0]);
    assert_eq!(notified("10Mbps"), [""; 0]);
}

#[test]
fn conweave_has_thresholds_of_its_own() {
    let files = [("c", text("conweave.conf")), ("t", text("topology.txt")), ("f", text("flow-conweave.txt"))];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let table = scenario(&files);
    assert_eq!(table["pfc"]["alpha"].as_float(), Some(1.0 / 16.0));
    assert_eq!(table["switch"]["reserve"].as_str(), Some("1048 B"));
    assert_eq!(table["switch"]["buffer"].as_str(), Some("9 MiB"));
    assert_eq!(table["ack"]["class"].as_integer(), Some(7));
    assert_eq!(table["transport"]["timeout"].as_str(), Some("4 ms"));
    assert_eq!(table["dcqcn"]["rai"].as_str(), Some("40 Mb/s"));
    let (result, _) = done(&files);
    assert!(result.notes.iter().any(|note| note.text.contains("ConWeave is not modelled")));
    // A link fails at this time after flows begin.
    let early = text("conweave.conf").replace("START_TIME 2.0", "START_TIME 1.0") + "LINK_DOWN 5 5 7\n";
    let table = scenario(&[("c", &early), files[1], files[2]]);
    assert_eq!(table["fault"][0]["at"].as_str(), Some("5 us"));
    let without = text("conweave.conf").replace("ENABLE_PFC 1", "ENABLE_PFC 0").replace("IRN 0", "IRN 1");
    let table = scenario(&[("c", &without), files[1], files[2]]);
    assert_eq!((table.get("pfc"), table["transport"]["recovery"].as_str()), (None, Some("selective-repeat")));
}

#[test]
fn a_distribution_is_in_per_cent() {
    let (result, place) = done(&[("cdf.txt", &text("cdf.txt"))]);
    // An eighth of the flows have 30000 B: 62.5 % are smaller, 75 % are not larger.
    assert_eq!(place.text("it.sizes.txt"), "0 0\n1000 10\n29999 62.5\n30000 75\n1000000 100\n");
    assert!(result.scenario.contains("sizes = \"it.sizes.txt\""), "{}", result.scenario);
    let (_, place) = done(&[("cdf.txt", &text("cdf-fraction.txt"))]);
    assert_eq!(place.text("it.sizes.txt"), "1 0\n99 7\n100 30\n5000 100\n");
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    let refused = |kind: &str, text: &str| {
        let options = Options { format: Some(format!("hpcc-{kind}")), ..Options::default() };
        imported(&[("a", text)], &options).map(|_| ()).unwrap_err().to_string()
    };
    let many_links = format!("2 1 65\n1\n{}", "0 1 1Gbps 1us 0\n".repeat(65));
    for (kind, file, expected) in [
        ("topology", "3 1 2\n2\n0 2 100Gbps 1us 0\n", "a:3: the file ends where the number of a node should stand"),
        ("topology", "3 1 2\n3\n", "a:1: says 3 nodes and 2 links, and is too short for that"),
        ("topology", "4294967295 1 1\n2\n", "a:1: 4294967295 nodes are more than 1000000"),
        ("topology", "3 1 2\n3\n0 2 100Gbps 1us 0\n", "a:2: there is no node 3: the file says 3 nodes"),
        ("topology", "3 2 2\n2 2\n0 2 1Gbps 1us 0\n", "a:2: switch 2 stands twice"),
        ("topology", "3 3 2\n0 1 2\n0 2 1Gbps 1us 0\n", "a:1: 3 of 3 nodes are switches"),
        ("topology", "3 1 2\n2\n0 2 fastGbps 1us 0\n1 2 1Gbps 1us 0\n", "a:3: `fastGbps`: is not a rate"),
        ("topology", "3 1 2\n2\n0 2 0Gbps 1us 0\n1 2 1Gbps 1us 0\n", "a:3: `0Gbps`: is not a rate"),
        ("topology", "3 1 2\n2\n0 2 1Gbps 2s 0\n1 2 1Gbps 1us 0\n", "a:3: `2s`: is not a delay"),
        ("topology", "3 1 2\n2\n0 2 1Gbps 1us 2\n1 2 1Gbps 1us 0\n", "a:3: `2`: is not a share from 0 to 1"),
        ("topology", "3 1 2\n2\n0 0 1Gbps 1us 0\n1 2 1Gbps 1us 0\n", "a:3: a link of node 0 to itself"),
        ("topology", "3 1 2\n2\n0 2 1Gbps 1us 0\n0 2 1Gbps 1us 0\n", "a:1: host 1 has no link"),
        ("topology", &many_links, "a:67: host 0 has more than 64 links"),
        ("flow", "2\n0 1 3 100 9 2.0\n", "a:2: the file ends where the number of a sender should stand"),
        ("flow", "1\n0 1 8 100 9 2.0\n", "a:2: priority group 8 is none of 0 to 7"),
        ("flow", "1\n0 0 3 100 9 2.0\n", "a:2: node 0 sends to itself"),
        ("flow", "1\n0 1 3 100 9 soon\n", "a:2: `soon`: is not a start"),
        ("flow", "1\n0 1 3 100 18446744073709551616 2\n", "a:2: `18446744073709551616`: is not a number of octets"),
        ("flow", "1\n0 70000 3 100 9 2\n", "a:2: names host 70000, and gives no topology"),
        ("cdf", "0 0\n5 50\n", "a: does not end with all flows"),
        ("cdf", "0 0\n5 50\n4 100\n", "a:3: `4 100`: is less than what stands before it"),
        ("cdf", "0 5\n4 100\n", "a:1: `0 5`: the first share is not 0"),
        ("config", "CC_MODE 3\nTOPOLOGY_FILE\n", "a:2: the file ends where a value of TOPOLOGY_FILE should stand"),
        ("config", "CC_MODE 3\nENABLE_QCN 1\n", "a: TOPOLOGY_FILE is missing"),
    ] {
        let error = refused(kind, file);
        assert!(error.starts_with(expected), "{error}\nis not {expected}");
    }
    let both = |changes: &[(&str, &str)], paths: Option<&str>| {
        let (config, topology, flows) = (config(changes), text("topology.txt"), text("flow.txt"));
        let mut files = vec![("c", config.as_str()), ("t", &topology), ("f", &flows)];
        files.extend(paths.map(|paths| ("p", paths)));
        imported(&files, &Options::default()).map(|_| ()).unwrap_err().to_string()
    };
    let error = both(&[("KMIN_MAP", "1 100000000000 400")], None);
    assert!(error.contains("KMIN_MAP has no value for 400 Gb/s, which links have"), "{error}");
    assert!(both(&[("RATE_AI", "fast")], None).contains("`fast`: RATE_AI is not a rate"));
    assert!(both(&[("BUFFER_SIZE", "0")], None).contains("BUFFER_SIZE is 0"));
    assert!(both(&[("LINK_DOWN", "1 0 1")], None).contains("names two nodes without a link between them"));
    assert!(both(&[], Some("0 data 1 5 0\n")).contains("p:1: there is no link between the nodes 1 and 5"));
    assert!(both(&[], Some("0 data 2 5 6 4 0\n")).contains("p:1: is no way from node 1 to node 0"));
    assert!(both(&[], Some("4 data 1 4 0\n")).contains("p:1: there is no flow 4: the list has 4"));
    assert!(both(&[], Some("1 data 2 5 6 5 7 4 0\n")).contains("p:1: passes a node twice"));
}

/// If one of several files that belong together changes, they are read or refused.
#[test]
fn mutated_sets_are_read_or_refused() {
    for names in [
        ["config.txt", "topology.txt", "flow.txt", "paths.txt"],
        ["conweave.conf", "topology.txt", "flow-conweave.txt", "trace.txt"],
    ] {
        for seed in 0..1200u64 {
            let sources = (0u64..).zip(names).map(|(number, name)| {
                let original = fixture(&format!("hpcc/{name}"));
                let octets = if seed % 4 == number { mutation::of(&original, seed) } else { original };
                Source::octets(name, octets)
            });
            if let Ok(result) = import(sources.collect(), "it", &Options::default(), &mut Memory::default()) {
                result.scenario.parse::<toml::Table>().unwrap_or_else(|error| panic!("{names:?} {seed}: {error}"));
            }
        }
    }
}
