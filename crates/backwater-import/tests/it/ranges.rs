//! A value that no scenario may have is refused at its place in the file, by its key in the file. An error also names
//! an unknown key, because a misspelt key is missing elsewhere.

use crate::{fixture, imported};
use backwater_import::{Memory, Options, Source, import};

/// Imports files, with a text replaced in the first; returns the error.
fn error(files: &[&str], from: &str, to: &str) -> String {
    let source = |(number, path): (usize, &&str)| {
        let text = String::from_utf8(fixture(path)).expect("text");
        let text = if number == 0 { replaced(&text, from, to) } else { text };
        Source::octets(*path, text.as_bytes())
    };
    let sources = files.iter().enumerate().map(source).collect();
    match import(sources, "it", &Options::default(), &mut Memory::default()) {
        Ok(_) => panic!("{} with {to:?} in place of {from:?} is imported", files[0]),
        Err(error) => error.to_string(),
    }
}

fn replaced(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from}");
    text.replacen(from, to, 1)
}

const HPCC: [&str; 3] = ["hpcc/config.txt", "hpcc/topology.txt", "hpcc/flow.txt"];

/// Returns a configuration with another control and another value of a key, and the line of that key, the last.
fn of_control(mode: &str, key: &str, value: &str) -> (String, usize) {
    let text = String::from_utf8(fixture(HPCC[0])).expect("text");
    let others = text.lines().filter(|line| ![Some("CC_MODE"), Some(key)].contains(&line.split_whitespace().next()));
    let control = format!("CC_MODE {mode}");
    let last = format!("{key} {value}");
    let all: Vec<&str> = others.chain([control.as_str(), last.as_str()]).collect();
    (all.join("\n"), all.len())
}

#[test]
fn a_configuration_is_refused_at_the_key_that_no_scenario_may_have() {
    let cases = [
        ("3", "U_TARGET", "1.4", "above 0 and up to 1"),
        ("3", "U_TARGET", "0", "above 0 and up to 1"),
        ("1", "EWMA_GAIN", "1.4", "above 0 and up to 1"),
        ("8", "EWMA_GAIN", "0", "above 0 and up to 1"),
        ("1", "RATE_AI", "5000Tb/s", "a rate up to 1000 Tb/s"),
        ("1", "RATE_HAI", "5000Tb/s", "a rate up to 1000 Tb/s"),
        ("8", "MIN_RATE", "5000Tb/s", "a rate up to 1000 Tb/s"),
        ("3", "RATE_AI", "0Mb/s", "no rate would grow"),
        ("7", "RATE_AI", "0Mb/s", "no rate would grow"),
        ("7", "RATE_HAI", "1Mb/s", "is below RATE_AI, which is 20 Mb/s"),
        ("1", "PACKET_PAYLOAD_SIZE", "70000", "frames of 70048 B"),
        ("1", "BUFFER_SIZE", "1", "MiB are less than"),
    ];
    for (mode, key, value, why) in cases {
        let (text, line) = of_control(mode, key, value);
        let topology = String::from_utf8(fixture(HPCC[1])).expect("text");
        let flows = String::from_utf8(fixture(HPCC[2])).expect("text");
        let files = [(HPCC[0], text.as_str()), (HPCC[1], &topology), (HPCC[2], &flows)];
        let error = imported(&files, &Options::default()).expect_err(key).to_string();
        assert!(error.starts_with(&format!("hpcc/config.txt:{line}: `{value}`: {key} ")), "{error}");
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn other_files_are_refused_at_the_line_of_what_no_scenario_may_have() {
    let cases: [(&[&str], &str, &str, &str); 7] = [
        (&HPCC[1..], "100Gbps", "5000000Tbps", "hpcc/topology.txt:"),
        (&["hpcc/flow.txt", "hpcc/topology.txt"], "1000000 ", "18446744073709551615 ", "hpcc/flow.txt:"),
        (&["goal/mixed.goal"], "4096b", "18446744073709551615b", "goal/mixed.goal:"),
        (&["htsim/every.topo"], "Downlink_speed_Gbps 100", "Downlink_speed_Gbps 0", "htsim/every.topo:"),
        (&["simai/experts.txt"], "ALLREDUCE 4096", "ALLREDUCE 1", "simai/experts.txt:3: "),
        (
            &["simai/servers.txt", "simai/exchange.txt"],
            "6 8 400Gbps",
            "0 8 400Gbps",
            "simai/servers.txt:1: no links join GPUs",
        ),
        (&["simai/servers.txt", "simai/exchange.txt"], "2880Gbps", "5000000Tbps", "simai/servers.txt:"),
    ];
    for (files, from, to, place) in cases {
        let error = error(files, from, to);
        assert!(error.starts_with(place), "{error}");
    }
}

#[test]
fn a_flow_between_hosts_that_no_links_join_is_refused_at_its_line() {
    let topology = replaced(&String::from_utf8(fixture(HPCC[1])).expect("text"), "3 5 100Gbps", "3 1 100Gbps");
    let flows = String::from_utf8(fixture(HPCC[2])).expect("text");
    let error =
        imported(&[(HPCC[2], &flows), (HPCC[1], &topology)], &Options::default()).expect_err("refused").to_string();
    assert!(error.starts_with("hpcc/flow.txt:"), "{error}");
    assert!(error.contains("no links of the topology join node 3 and node 0"), "{error}");
}

#[test]
fn an_error_names_what_is_not_known() {
    let cases: [(&[&str], &str, &str, &str); 5] = [
        (&HPCC, "KMIN_MAP", "KMIN_MAPX", "KMIN_MAPX (hpcc/config.txt:"),
        (&["nccl/ndv4-topo.xml"], "busid=", "busidx=", "busidx (nccl/ndv4-topo.xml:"),
        (&["msccl/small.xml"], "cnt=", "cntx=", "cntx (msccl/small.xml:"),
        (
            &["chakra/nodes.0.json", "chakra/groups.json"],
            "\"comm_type\"",
            "\"comm_typex\"",
            "comm_typex (chakra/nodes.0.json)",
        ),
        (&["sonic/leaf.json"], "\"speed\"", "\"sped\"", "sped of PORT (sonic/leaf.json:"),
    ];
    for (files, from, to, named) in cases {
        let error = error(files, from, to);
        assert!(error.contains("not known, and perhaps misspelt: ") && error.contains(named), "{error}");
    }
}

/// The same triggers, but flows wait for each other, or for a flow that never starts.
#[test]
fn flows_that_never_start_are_named_and_left_out() {
    for (from, to, lines) in [
        ("send_done_trigger 1", "send_done_trigger 3", 4),
        ("trigger 1 size 300000", "trigger 3 size 300000", 2),
        ("trigger 1 size 200000", "trigger 3 size 200000", 3),
        // A flow triggers what it waits for, which another flow triggers, too.
        ("recv_done_trigger 2", "recv_done_trigger 1", 2),
    ] {
        let matrix = String::from_utf8(fixture("htsim/every.cm")).expect("text");
        let topology = String::from_utf8(fixture("htsim/every.topo")).expect("text");
        let files = [("every.cm", replaced(&matrix, from, to)), ("every.topo", topology)];
        let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let (result, place) = imported(&files, &Options::default()).expect(to);
        let never = result.notes.iter().filter(|note| note.text.contains("it would never start"));
        assert_eq!(never.map(|note| note.lines.len()).sum::<usize>(), lines, "{to}: {:#?}", result.notes);
        // Every operation that another waits for has a row.
        let table = place.text("it.operations.csv");
        let ids: Vec<&str> = table.lines().skip(1).filter_map(|row| row.split(',').next()).collect();
        let head: Vec<&str> = table.lines().next().unwrap_or_default().split(',').collect();
        for row in table.lines().skip(1) {
            for (name, value) in head.iter().zip(row.split(',')).filter(|(name, _)| name.starts_with("after")) {
                let own = row.split(',').next();
                let there = |id: &str| ids.contains(&id) && Some(id) != own;
                assert!(value.split_whitespace().all(there), "{name} {value}: {table}");
            }
        }
    }
}
