//! Tests imports of htsim's files.

use crate::{fixture, imported};
use backwater_import::{Options, StartUnit};

fn text(path: &str) -> String {
    String::from_utf8(fixture(path)).expect("text")
}

fn command(line: &str) -> Options {
    Options { command: line.split_whitespace().map(str::to_owned).collect(), ..Options::default() }
}

#[test]
fn a_matrix_becomes_a_table_and_a_fat_tree_of_its_size() {
    let (result, place) =
        imported(&[("one.cm", &text("htsim/one.cm"))], &command("htsim_uec -sender_cc_only")).unwrap();
    assert_eq!(place.text("it.flows.csv"), "id,src,dst,bytes,start\n0,0,13,2000000,0\n");
    // 16 = 4^3 / 4 hosts: four pods of two ToRs, and four cores.
    for line in [
        "kind = \"fat-tree\"",
        "pods = 4",
        "cores = 4",
        "hosts_per_tor = 2",
        "payload = \"4086 B\"",
        "bytes = \"16 KiB\"",
    ] {
        assert!(result.scenario.contains(line), "{line} is missing in\n{}", result.scenario);
    }
    assert_eq!(result.notes, []);
}

/// Returns the lines of a scenario below a head.
fn below(scenario: &str, head: &str) -> String {
    let lines = scenario.lines().skip_while(|line| *line != head).skip(1);
    lines
        .take_while(|line| !line.is_empty())
        .map(|line| line.split("  #").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("; ")
}

/// The constants for three tiers at 100 Gb/s, computed by hand in `uec.rs`: 14.02272 us, 43 packets of 4150 B, marks
/// from 9 to 35 of them.
#[test]
fn controls_of_htsim_uec_come_along() {
    let of = |line: &str| imported(&[("one.cm", &text("htsim/one.cm"))], &command(line)).unwrap().0;
    let nscc = of("htsim_uec -sender_cc_only -cwnd 50 -load_balancing_algo reps -paths 128 -sack_threshold 4000");
    for (head, expected) in [
        ("[ack]", "size = \"64 B\"; bytes = \"4 KB\"; class = 7"),
        ("[nic]", "control_turns = 10"),
        ("[transport]", "recovery = \"rud\"; timeout = \"100.656 us\"; retries = \"unlimited\""),
        ("[trim]", "size = \"64 B\"; class = 7; victim = \"either\""),
        ("[ecn]", "kmin = \"37350 B\"; kmax = \"145250 B\"; pmax = 1.0"),
        ("[ev]", "values = 128; policy = \"reps\"; cut_counts_first = false"),
        ("[nscc]", "network_rtt = \"14022.72 ns\"; window = \"207500 B\""),
        ("[rccc]", ""),
    ] {
        assert_eq!(below(&nscc.scenario, head), expected, "{head}");
    }
    let data = "\"178450 B\", ".repeat(7);
    let queues = format!("buffer_per = \"queue\"; queue_buffers = [{data}\"356900 B\"]; release_at = \"end\"");
    assert!(below(&nscc.scenario, "[switch]").starts_with(&queues), "{}", nscc.scenario);
    assert_eq!(nscc.notes, []);

    let rccc = of("htsim_uec -receiver_cc_only -cwnd 50");
    assert!(below(&rccc.scenario, "[ecn]").ends_with("host_ports = false"), "{}", rccc.scenario);
    assert_eq!(below(&rccc.scenario, "[rccc]"), "network_rtt = \"14022.72 ns\"; class = 7");
    assert_eq!(below(&rccc.scenario, "[nscc]"), "");
    assert_eq!(below(&rccc.scenario, "[ev]"), "values = 64; policy = \"mixed\"; cut_counts_first = false");
    assert_eq!(rccc.notes.len(), 1);
    assert!(rccc.notes[0].text.starts_with("-cwnd 50: without NSCC there is no window"), "{:?}", rccc.notes);

    let slow = of("htsim_uec -failed 1");
    for head in ["[switch]", "[ecn]"] {
        assert!(below(&slow.scenario, head).contains("reference_rate = \"100 Gb/s\""), "{}", slow.scenario);
    }

    let both = of("htsim_uec -sender_cc -receiver_cc -target_q_delay 6 -disable_base_rtt_update_on_nack");
    let window =
        "network_rtt = \"14022.72 ns\"; target = \"6 us\"; base_rtt_from_trims = false; receiver_credit = true";
    assert_eq!(below(&both.scenario, "[nscc]"), window);
    assert_eq!(below(&both.scenario, "[rccc]"), "network_rtt = \"14022.72 ns\"; class = 7");
}

#[test]
fn without_trimming_queues_are_longer_and_delay_is_aimed_at_by_the_round_trip() {
    let matrix = text("htsim/one.cm");
    let (result, _) = imported(&[("one.cm", &matrix)], &command("htsim_uec -disable_trim")).unwrap();
    assert!(below(&result.scenario, "[switch]").contains("\"892250 B\""), "{}", result.scenario);
    assert_eq!(below(&result.scenario, "[trim]"), "");
    assert_eq!(below(&result.scenario, "[nscc]"), "network_rtt = \"14022.72 ns\"; target = \"14022.72 ns\"");
    assert!(below(&result.scenario, "[switch]").contains("victim = \"either\""), "{}", result.scenario);
    assert!(!result.notes.iter().any(|note| note.text.contains("-disable_trim")), "{:?}", result.notes);
    let (result, _) = imported(&[("one.cm", &matrix)], &command("htsim_uec -disable_trim -sleek")).unwrap();
    let window = "network_rtt = \"14022.72 ns\"; target = \"14022.72 ns\"; sleek = true";
    assert_eq!(below(&result.scenario, "[nscc]"), window);
}

#[test]
fn words_that_htsim_uec_does_not_know_are_refused() {
    let refused = |line: &str| {
        imported(&[("one.cm", &text("htsim/one.cm"))], &command(line)).map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(
        refused("htsim_uec -load_balancing_algo resp"),
        "--command: `-load_balancing_algo resp`: htsim_uec knows no such word\n\
         hint: mixed, oblivious, bitmap, reps, reps_legacy"
    );
    assert!(refused("htsim_uec -sender_cc_algo cubic").contains("hint: nscc, constant, dctcp"));
    assert!(refused("htsim_uec -q 20").contains("a queue holds 20"));
}

/// Eight hosts of a leaf below two spines are four to one. If RCCC is alone, the program then slows pulls down.
#[test]
fn pulls_over_too_few_spines_slow_down() {
    let rows = "Nodes 32\nConnections 1\n0->31 start 0 size 1000\n";
    let of = |topology: &str, line: &str| {
        let (result, _) = imported(&[("a.cm", rows), ("tiny.topo", topology)], &command(line)).unwrap();
        let set = result.scenario.lines().find(|line| line.starts_with("oversubscription = "));
        set.map(|line| line.split_whitespace().nth(2).unwrap().to_owned())
    };
    assert_eq!(of(TINY, "htsim_uec -receiver_cc_only").as_deref(), Some("4.0"));
    assert_eq!(of(TINY, "htsim_uec -sender_cc -receiver_cc"), None);
    let wide = TINY.replace("Radix_Up 2", "Radix_Up 8");
    assert_eq!(of(&wide, "htsim_uec -receiver_cc_only"), None);
}

#[test]
fn triggers_become_operations() {
    let (result, place) = imported(&[("chain.cm", &text("htsim/chain.cm"))], &Options::default()).unwrap();
    let expected =
        "id,rank,kind,peer,bytes,after_ack\n1,0,send,13,200000,\n2,13,send,5,200000,1\n3,5,send,10,200000,2\n";
    assert_eq!(place.text("it.operations.csv"), expected);
    assert!(result.scenario.contains("operations = \"it.operations.csv\""));
    assert!(!result.scenario.contains("[[flow]]"));
}

#[test]
fn a_barrier_and_the_first_of_several() {
    let head = "Nodes 16\nConnections 4\nTriggers 1\n";
    let body = "0->1 id 1 start 0 size 9 recv_done_trigger 7\n2->3 id 2 start 5 size 9 send_done_trigger 7\n\
                4->5 id 3 start 0 size 9 send_done_trigger 7\n6->7 id 4 trigger 7 size 9\n";
    let with = |trigger: &str| imported(&[("a.cm", &format!("{head}{body}{trigger}\n"))], &Options::default());
    let last = |trigger: &str| {
        with(trigger).unwrap().1.text("it.operations.csv").lines().last().unwrap_or_default().to_owned()
    };
    // Columns: id,rank,kind,peer,bytes,after,after_ack,needs,start
    assert_eq!(last("trigger id 7 oneshot"), "4,6,send,7,9,1,2 3,1,0");
    assert_eq!(last("trigger id 7 barrier count 2"), "4,6,send,7,9,1,2 3,2,0");
    assert_eq!(last("trigger id 7 barrier count 3"), "4,6,send,7,9,1,2 3,0");
    let error = with("trigger id 7 barrier count 4").unwrap_err().to_string();
    assert!(error.starts_with("a.cm:7: waits for trigger 7, which needs 4 activations, and 3 flows"), "{error}");
}

#[test]
fn messages_of_a_connection_share_it() {
    let file = text("htsim/test_cr_1f10m10p.cm");
    let (result, place) = imported(&[("a.cm", &file)], &command("htsim_uec -conn_reuse")).unwrap();
    let rows: String = (0..10).map(|id| format!("{id},0,1,40860,0\n")).collect();
    assert_eq!(place.text("it.messages.csv"), format!("id,src,dst,bytes,start\n{rows}"));
    assert!(result.scenario.contains("keep_queue_pairs = true"), "{}", result.scenario);
    // Other programs do not have these connections.
    let (result, place) = imported(&[("a.cm", &file)], &command("htsim_ndp")).unwrap();
    assert_eq!(place.text("it.flows.csv").lines().count(), 11);
    assert!(!result.scenario.contains("keep_queue_pairs"));
    assert!(result.notes.iter().any(|note| note.text.contains("are flows of their own")));
}

#[test]
fn two_connections_of_a_pair_are_in_two_groups() {
    let file = "Nodes 16\nConnections 5\n0->1 id 1 msg start 0 size 9\n0->1 id 2 msg start 0 size 8\n\
                0->1 id 1 msg start 3 size 7\n2->1 id 3 msg start 0 size 6\n5->6 id 4 start 0 size 5\n";
    let (result, place) = imported(&[("a.cm", file)], &command("htsim_uec -conn_reuse")).unwrap();
    let bytes = |name: &str| -> Vec<String> {
        let rows = place.text(name);
        rows.lines().skip(1).filter_map(|row| row.split(',').nth(3).map(str::to_owned)).collect()
    };
    assert_eq!(bytes("it.flows.csv"), ["5"]);
    assert_eq!(bytes("it.messages.csv"), ["9", "7", "6"]);
    assert_eq!(bytes("it.messages-2.csv"), ["8"]);
    assert_eq!(result.scenario.matches("keep_queue_pairs = true").count(), 2);
}

#[test]
fn starts_are_microseconds_or_picoseconds() {
    let file = "Nodes 16\nConnections 2\n0->1 start 40.5 size 9\n1->2 start 1e3 size 9\n";
    let starts = |options: &Options| {
        let (result, place) = imported(&[("a.cm", file)], options).unwrap();
        let rows = place.text("it.flows.csv");
        let starts: Vec<String> =
            rows.lines().skip(1).filter_map(|row| row.rsplit(',').next().map(str::to_owned)).collect();
        (starts, result.notes.iter().any(|note| note.text.contains("--start-unit")))
    };
    // Starts are rounded, because a picosecond is not divided.
    assert_eq!(starts(&command("htsim_ndp")), (vec!["41".to_owned(), "1000".to_owned()], true));
    // This program reads whole microseconds.
    let expected = vec!["40000000".to_owned(), "1000000000".to_owned()];
    assert_eq!(starts(&command("./htsim_uec")), (expected.clone(), true));
    // Without a program, its transport is assumed, and with it the unit.
    assert_eq!(starts(&Options::default()), (expected.clone(), true));
    let options = Options { start_unit: Some(StartUnit::Microseconds), ..Options::default() };
    assert_eq!(starts(&options), (expected, false));
}

/// One program is assumed for transport, queues and start times. One note reports it, with the last start as it is
/// read.
#[test]
fn the_program_that_is_assumed_is_said_once() {
    let rows = "Nodes 16\nConnections 2\n0->13 start 0 size 1000\n1->13 start 20 size 1000\n";
    let assumed = |line: &str, fabric: bool| -> Vec<String> {
        let star = || ("star.toml".to_owned(), "[topology]\nkind = \"star\"\nhosts = 16\n".to_owned());
        let options = Options { fabric: fabric.then(star), ..command(line) };
        let (result, _) = imported(&[("a.cm", rows)], &options).unwrap();
        let all = result.notes.iter().map(ToString::to_string);
        all.filter_map(|note| note.split_once("assumed: ").map(|(_, text)| text.to_owned())).collect()
    };
    let [one] = assumed("", false).try_into().expect("one note");
    assert!(one.starts_with("no program is named: transport, queues and start times are those of htsim_uec"), "{one}");
    assert!(one.contains("whole microseconds, the last 20 us"), "{one}");
    assert!(one.contains("`backwater import a.cm --command \"PROGRAM OPTIONS\"` says otherwise"), "{one}");
    // With the caller's own fabric, only the unit is assumed.
    let [one] = assumed("", true).try_into().expect("one note");
    assert!(one.starts_with("no program is named: start times are whole microseconds as in htsim_uec"), "{one}");
    assert_eq!(
        assumed("htsim_ndp", false),
        ["start times are picoseconds, as that program reads them, the last 20 ps; --start-unit says otherwise"]
    );
}

#[test]
fn a_way_of_choosing_paths_that_is_not_modelled_is_said() {
    let rows = "Nodes 16\nConnections 1\n0->13 start 0 size 1000\n";
    for (line, expected) in [
        ("htsim_uec -strat ecmp_ar", "-strat ecmp_ar: switches choose ways by ECMP"),
        ("htsim_roce -strat rr_ecmp", "-strat rr_ecmp: each flow takes one way, by ECMP"),
        ("htsim_ndp -strat pull", "-strat pull: packets are sprayed at random"),
        ("htsim_ndp -strat perm -paths 1", "-strat perm: each flow takes one way, by ECMP"),
    ] {
        let notified = notes(&[("a.cm", rows)], line).unwrap();
        assert!(notified.iter().any(|note| note.ends_with(expected)), "{notified:#?}");
    }
    let notified = notes(&[("a.cm", rows)], "htsim_roce -strat ecmp_host").unwrap();
    assert!(!notified.iter().any(|note| note.contains("-strat")), "{notified:#?}");
}

/// 16 is 4^3 / 4, and lies between 4^2 / 2 and 6^2 / 2. 18 is 6^2 / 2, and lies between 4^3 / 4 and 6^3 / 4. 17 is
/// neither.
#[test]
fn a_number_of_hosts_that_is_no_fat_tree_is_answered_with_those_that_are() {
    let hint = |nodes: u32, line: &str| {
        let rows = format!("Nodes {nodes}\nConnections 1\n0->1 start 0 size 1\n");
        let error = imported(&[("a.cm", &rows)], &command(line)).map(|_| ()).unwrap_err().to_string();
        error.split_once("hint: ").map(|(_, hint)| hint.to_owned()).unwrap_or_default()
    };
    let file = "give the topology file beside it; the next sizes with";
    let expected = format!("--command \"... -tiers 3\" has 16 hosts, or {file} 2 tiers: 8, 18");
    assert_eq!(hint(16, "htsim_uec -tiers 2"), expected);
    let expected = format!("--command \"... -tiers 2\" has 18 hosts, or {file} 3 tiers: 16, 54");
    assert_eq!(hint(18, "htsim_uec"), expected);
    assert_eq!(hint(17, "htsim_uec"), format!("{file} 3 tiers: 16, 54"));
}

#[test]
fn a_topology_file_says_the_fat_tree() {
    let rows = "Nodes 32\nConnections 1\n0->31 start 0 size 1000\n";
    let files = [("a.cm", rows), ("tiny.topo", &text("htsim/leaf_spine_tiny.topo"))];
    let (result, _) = imported(&files, &Options::default()).unwrap();
    for line in ["kind = \"leaf-spine\"", "leaves = 4", "spines = 2", "hosts_per_leaf = 8", "link_delay = \"1 us\""] {
        assert!(result.scenario.contains(line), "{line} is missing in\n{}", result.scenario);
    }
    let files = [("fat.topo", text("htsim/fat_tree_1024.topo"))];
    let (result, _) = imported(&[(files[0].0, &files[0].1)], &Options::default()).unwrap();
    for line in
        ["pods = 16", "tors_per_pod = 8", "aggs_per_pod = 8", "cores = 64", "hosts_per_tor = 8", "rate = \"100 Gb/s\""]
    {
        assert!(result.scenario.contains(line), "{line} is missing in\n{}", result.scenario);
    }
}

#[test]
fn htsim_roce_is_what_the_scenario_by_hand_says() {
    let rows = "Nodes 128\nConnections 1\n8->120 id 1 start 0 size 20000000\n";
    let line = "htsim_roce -nodes 128 -tiers 2 -linkspeed 200000 -mtu 4096 -q 2000 -hop_latency 0.15 -switch_latency 0.3 \
                -pfc_thresholds 80 93 -strat ecmp_host -paths 1 -seed 13 -end 10000";
    let (result, place) = imported(&[("a.cm", rows)], &command(line)).unwrap();
    // 4883 packets of 4096 B.
    assert_eq!(place.text("it.flows.csv"), "id,src,dst,bytes,start\n1,8,120,20000768,0\n");
    for line in [
        "leaves = 16",
        "spines = 8",
        "hosts_per_leaf = 8",
        "rate = \"200 Gb/s\"",
        "link_delay = \"150 ns\"",
        "latency = \"300 ns\"",
        "xoff = \"372 KiB\"",
        "xon = \"320 KiB\"",
        "payload = \"4 KiB\"",
    ] {
        assert!(result.scenario.contains(line), "{line} is missing in\n{}", result.scenario);
    }
}

/// 16 hosts: two aggregation switches in each pod, each with two uplinks. The first switch has two of three slow
/// links, and the second has one.
#[test]
fn failed_links_are_slow_downwards_or_down() {
    let rows = "Nodes 16\nConnections 1\nFailures 2\n0->13 start 0 size 9\nfailure switch_type AGG switch_id 3 link_id 1\n\
                failure switch_type TOR switch_id 0 link_id 0\n";
    let (result, _) = imported(&[("a.cm", rows)], &command("htsim_uec -failed 3")).unwrap();
    let entries: Vec<&str> = result.scenario.split("[[link.at]]\n").skip(1).collect();
    let keys = |n: usize| entries[n].lines().take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
    assert_eq!(keys(0), "between = [\"agg3\", \"core3\"]; down = true");
    let why = "rate = \"25 Gb/s\"  # -failed: downwards, a quarter";
    assert_eq!(keys(1), format!("from = [\"core0\", \"core1\"]; to = \"agg0\"; {why}"));
    assert_eq!(keys(2), format!("from = [\"core2\"]; to = \"agg1\"; {why}"));
    assert!(result.notes.iter().any(|note| note.text.starts_with("link 0 of TOR 0: there is none")));
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    let refused = |text: &str| {
        let options = Options { format: Some("htsim-cm".into()), ..Options::default() };
        imported(&[("a.cm", text)], &options).map(|_| ()).unwrap_err().to_string()
    };
    for (file, expected) in [
        ("Nodes 16\nConnections 2\n0->1 start 0 size 1\n", "a.cm:2: the head says 2 connections, and there are 1"),
        ("Nodes 16\nConnections 1\n0->1\tstart 0 size 1\n", "a.cm:3: `0->1 start 0 size 1`: a tab"),
        ("Nodes 16\nConnections 1\n0->1 start 0  size 1\n", "a.cm:3: `0->1 start 0  size 1`: two blanks in a row"),
        ("Nodes 16\nConnections 1\n0->16 start 0 size 1\n", "a.cm:3: there is no node 16"),
        ("Nodes 16\nConnections 1\n0->0 start 0 size 1\n", "a.cm:3: node 0 sends to itself"),
        ("Nodes 16\nConnections 1\n0->1 start 0 size 2147483648\n", "a.cm:3: 2147483648 octets are more than"),
        ("Nodes 16\nConnections 1\n0->1 start 0 size 0\n", "a.cm:3: a size of 0"),
        ("Nodes 16\nConnections 1\n0->1 size 1\n", "a.cm:3: has neither a start nor a trigger"),
        ("Nodes 16\nConnections 1\n0->1 id 1 trigger 1 size 1\n", "a.cm:3: trigger 1 is named and defined nowhere"),
        ("Nodes 16\nConnections 1\n0->1 start 0 size 1 colour 3\n", "a.cm:3: `colour`: is no word of a connection"),
        ("Nodes 17\nConnections 1\n0->1 start 0 size 1\n", "a.cm: a fat tree of 3 tiers has k^3 / 4"),
        ("Nodes 4294967296\n", "a.cm:1: `4294967296`: is not a number of nodes"),
        ("Connections 0\n", "a.cm:1: the line `Nodes N` is missing"),
    ] {
        let error = refused(file);
        assert!(error.starts_with(expected), "{error}\nis not {expected}");
    }
}

/// The topology of uet-htsim: 2 pods of 2 ToRs. Aggregation switches have four ports of 100 Gb/s upwards in bundles of
/// two, and thus two cores each.
#[test]
fn bundles_in_three_tiers_are_parallel_links() {
    let file = text("htsim/test.topo");
    let scenario =
        |file: &str| imported(&[("test.topo", file)], &Options::default()).map(|(result, _)| result.scenario);
    let own = scenario(&file).unwrap();
    for line in ["pods = 2", "aggs_per_pod = 2", "cores = 4", "core_links_per_pair = 2", "core_rate = \"100 Gb/s\""] {
        assert!(own.contains(line), "{line} is missing in\n{own}");
    }
    assert!(!own.contains("\nlinks_per_pair"), "{own}");
    // Two ports upwards in one bundle: one aggregation switch in each pod, with two links to each of the two ToRs, and
    // two cores.
    let below =
        file.replace("Tier 1\nDownlink_speed_Gbps 200\nRadix_Down 2", "Tier 1\nDownlink_speed_Gbps 200\nRadix_Down 4");
    let below = scenario(&below.replace("Bundle 1", "Bundle 2")).unwrap();
    for line in ["aggs_per_pod = 1", "cores = 2", "\nlinks_per_pair = 2", "core_links_per_pair = 2"] {
        assert!(below.contains(line), "{line} is missing in\n{below}");
    }
    let odd = scenario(&file.replace("Radix_Up 4", "Radix_Up 3")).unwrap_err().to_string();
    assert!(odd.contains("3 / 2 core switches of an aggregation switch is no whole number"), "{odd}");
    let hosts = scenario(&file.replace("Tier 0\n", "Tier 0\nBundle 2\n")).unwrap_err().to_string();
    assert!(hosts.starts_with("test.topo:5: several links to each host cannot be imported"), "{hosts}");
}

/// A failure takes the first link of a bundle, and `-failed` slows all.
#[test]
fn links_of_a_bundle_fail_and_are_slow() {
    let rows =
        "Nodes 8\nConnections 1\nFailures 1\n0->7 start 0 size 9\nfailure switch_type AGG switch_id 3 link_id 1\n";
    let files = [("a.cm", rows), ("test.topo", &text("htsim/test.topo"))];
    let (result, _) = imported(&files, &command("htsim_uec -failed 1")).unwrap();
    let entries: Vec<&str> = result.scenario.split("[[link.at]]\n").skip(1).collect();
    let keys = |n: usize| entries[n].lines().take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
    assert_eq!(keys(0), "between = [\"agg3\", \"core3\"]; number = 0  # of a bundle the first; down = true");
    assert_eq!(keys(1), "from = [\"core0\"]; to = \"agg0\"; rate = \"25 Gb/s\"  # -failed: downwards, a quarter");
}

/// 32 hosts, with rates and delays in the file.
const TINY: &str = "Nodes 32\nTiers 2\nPodsize 32\nTier 0\nDownlink_speed_Gbps 100\nRadix_Up 2\nRadix_Down 8\nDownlink_Latency_ns 500\n\
                    Switch_Latency_ns 0\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 4\nDownlink_Latency_ns 500\nSwitch_Latency_ns 0\n";

fn notes(files: &[(&str, &str)], line: &str) -> Result<Vec<String>, String> {
    match imported(files, &command(line)) {
        Ok((result, _)) => Ok(result.notes.iter().map(ToString::to_string).collect()),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn files_of_the_command_line_are_those_that_are_given() {
    let matrix = ("a.cm", "Nodes 32\nConnections 1\n0->31 start 0 size 1000\n");
    let sixteen = ("a.cm", "Nodes 16\nConnections 1\n0->13 start 0 size 1000\n");
    let error = notes(&[sixteen], "htsim_uec -topo topologies/tiny.topo").unwrap_err();
    assert!(error.starts_with("--command: `-topo topologies/tiny.topo`: "), "{error}");
    assert!(error.ends_with("hint: give it beside the matrix"), "{error}");
    let other = notes(&[matrix, ("other.topo", TINY)], "htsim_uec -topo topologies/tiny.topo").unwrap_err();
    assert!(other.starts_with("--command: `-topo topologies/tiny.topo`: "), "{other}");
    let notified = |line: &str| {
        let all = notes(&[matrix, ("dir/tiny.topo", TINY)], line).unwrap();
        all.into_iter().filter(|note| note.starts_with("--command: ignored")).collect::<Vec<_>>()
    };
    assert_eq!(notified("htsim_uec -topo topologies/tiny.topo -tm matrices/a.cm -nodes 32"), [""; 0]);
    assert_eq!(
        notified("htsim_uec -topo tiny.topo -tm matrices/b.cm"),
        ["--command: ignored: -tm matrices/b.cm: the matrix is a.cm"]
    );
    // A topology alone has no flows, even if the command line names a matrix.
    let alone = notes(&[("tiny.topo", TINY)], "htsim_uec -tm a.cm").unwrap();
    assert!(alone.contains(&"--command: ignored: -tm a.cm: no matrix is given".to_owned()), "{alone:#?}");
}

#[test]
fn what_a_topology_file_says_the_command_line_does_not() {
    let matrix = ("a.cm", "Nodes 32\nConnections 1\n0->31 start 0 size 1000\n");
    let line = "htsim_uec -linkspeed 200000 -hop_latency 0.5 -switch_latency 0.1 -tiers 3 -nodes 64";
    let notified = |topology: &str| {
        let all = notes(&[matrix, ("tiny.topo", topology)], line).unwrap();
        all.into_iter()
            .filter_map(|note| note.strip_prefix("--command: ignored: ").map(str::to_owned))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        notified(TINY),
        [
            "-linkspeed 200000, -hop_latency 0.5, -switch_latency 0.1: tiny.topo says it",
            "-tiers 3: tiny.topo says 2",
            "-nodes 64: a.cm says 32",
        ]
    );
    // If the file lacks a value for a tier, the command line sets it.
    let silent = TINY.replacen("Downlink_speed_Gbps 100\n", "", 1).replacen("Downlink_Latency_ns 500\n", "", 1);
    assert_eq!(
        notified(&silent),
        ["-switch_latency 0.1: tiny.topo says it", "-tiers 3: tiny.topo says 2", "-nodes 64: a.cm says 32"]
    );
    let same = notes(&[matrix, ("tiny.topo", TINY)], "htsim_uec -tiers 2 -nodes 32").unwrap();
    assert!(!same.iter().any(|note| note.starts_with("--command")), "{same:#?}");
}

#[test]
fn on_a_fabric_of_the_caller_the_command_line_says_no_topology() {
    let matrix = "Nodes 16\nConnections 1\n0->13 start 0 size 1000\n";
    let fabric = Some(("star.toml".to_owned(), "[topology]\nkind = \"star\"\nhosts = 16\n".to_owned()));
    let options = Options { fabric, ..command("htsim_uec -topo tiny.topo -linkspeed 200000") };
    let (result, _) = imported(&[("a.cm", matrix)], &options).unwrap();
    let notes: Vec<String> = result.notes.iter().map(ToString::to_string).collect();
    let note = "--command: ignored: -topo tiny.topo, -linkspeed 200000: star.toml says it".to_owned();
    assert!(notes.contains(&note), "{notes:#?}");
}

#[test]
fn a_rate_with_a_unit_has_a_hint() {
    let matrix = ("a.cm", "Nodes 16\nConnections 1\n0->13 start 0 size 1000\n");
    for (word, hint) in [("200Gbps", "200000"), ("2.5Gbps", "2500"), ("400Mbps", "400")] {
        let error = notes(&[matrix], &format!("htsim_uec -linkspeed {word}")).unwrap_err();
        let expected = format!("--command: `-linkspeed {word}`: is not a number\nhint: in Mb/s: {hint}");
        assert_eq!(error, expected);
    }
}
