//! Tests imports of Chakra's execution traces.

use crate::fixture;
use backwater_import::{Imported, Memory, Options, Source, import};
use std::io::Write;

type Files = Vec<(String, Vec<u8>)>;

fn of(files: Files, options: &Options) -> Result<(Imported, Memory), String> {
    let mut place = Memory::default();
    let sources = files.into_iter().map(|(name, octets)| Source::octets(name, octets)).collect();
    import(sources, "it", options, &mut place).map(|imported| (imported, place)).map_err(|error| error.to_string())
}

fn rows(files: Files) -> Vec<Vec<String>> {
    let (_, place) = of(files, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    let table = place.text("it.operations.csv");
    table.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

fn refused(files: Files) -> String {
    of(files, &Options::default()).map(|_| ()).unwrap_err()
}

fn fixtures(name: &str, ranks: u32) -> Files {
    (0..ranks).map(|rank| (format!("{name}.{rank}.et"), fixture(&format!("chakra/{name}.{rank}.et")))).collect()
}

/// Returns the sends as (rank, peer, octets), in the order of the table.
fn sends(rows: &[Vec<String>]) -> Vec<(u32, u32, u64)> {
    let sends = rows.iter().filter(|row| row[2] == "send");
    sends.map(|row| (row[1].parse().unwrap(), row[3].parse().unwrap(), row[4].parse().unwrap())).collect()
}

/// Returns a field of protobuf: a number, or octets.
fn field(tag: u8, value: &[u8]) -> Vec<u8> {
    [&[tag << 3 | 2, value.len() as u8], value].concat()
}

fn number(tag: u8, value: u64) -> Vec<u8> {
    let mut octets = varint(u64::from(tag) << 3);
    octets.extend(varint(value));
    octets
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut octets = Vec::new();
    while value > 127 {
        octets.push(value as u8 | 128);
        value >>= 7;
    }
    octets.push(value as u8);
    octets
}

/// Returns an attribute of type int64 (9), or of another type.
fn attribute(name: &str, tag: u8, value: u64) -> Vec<u8> {
    field(10, &[field(1, name.as_bytes()), number(tag, value)].concat())
}

fn group(name: &str) -> Vec<u8> {
    let name = [vec![29u8 << 3 | 2, 1, name.len() as u8], name.as_bytes().to_vec()].concat();
    field(10, &[field(1, b"pg_name"), name].concat())
}

/// Returns a trace file with these nodes, each a list of fields.
fn trace(nodes: &[&[Vec<u8>]]) -> Vec<u8> {
    let mut octets = vec![5, 10, 3, b'1', b'.', b'0'];
    for node in nodes {
        let node = node.concat();
        octets.extend(varint(node.len() as u64));
        octets.extend(node);
    }
    octets
}

#[test]
fn collectives_have_the_transfers_of_their_algorithms() {
    let ring: Vec<(u32, u32, u64)> = (0..4).map(|rank| (rank, (rank + 1) % 4, 262_144)).collect();
    assert_eq!(sends(&rows(fixtures("all_reduce", 4))), ring.repeat(6));
    assert_eq!(sends(&rows(fixtures("reduce_scatter", 4))), ring.repeat(3));
    // Each rank contributes 1 MiB.
    let whole: Vec<(u32, u32, u64)> = ring.iter().map(|(from, to, _)| (*from, *to, 1 << 20)).collect();
    assert_eq!(sends(&rows(fixtures("all_gather", 4))), whole.repeat(3));
    let direct: Vec<(u32, u32, u64)> =
        (0..4).flat_map(|from| (1..4).map(move |step| (from, (from + step) % 4, 262_144))).collect();
    assert_eq!(sends(&rows(fixtures("all_to_all", 4))), direct);
}

#[test]
fn a_rank_begins_a_phase_when_it_has_sent_and_received_the_last_one() {
    let rows = rows(fixtures("all_reduce", 4));
    // Operations 0 to 3 end the collective, 4 to 27 are 6 phases of 4 transfers. Columns:
    // id,rank,kind,peer,bytes,time,after,label
    let after = |id: &str| rows.iter().find(|row| row[0] == id).map(|row| (row[6].clone(), row[7].clone())).unwrap();
    let name = "all_reduce_4npus_1MB";
    assert_eq!(after("4"), (String::new(), name.to_owned()));
    assert_eq!(after("9"), ("5 4".to_owned(), name.to_owned()));
    assert_eq!(after("8"), ("4 7".to_owned(), name.to_owned()));
    assert_eq!(after("0"), ("24 27".to_owned(), String::new()));
}

#[test]
fn sends_and_receives_match_across_traces() {
    let rows = rows(fixtures("custom_allreduce", 8));
    // In a ring of 8 by MSCCL, each rank has 14 sends of 1 MiB / 8, and computes for 7 us after 7 of its receives.
    let sends = sends(&rows);
    assert_eq!(sends.len(), 8 * 14);
    assert!(sends.iter().all(|(from, to, bytes)| (from + 1) % 8 == *to && *bytes == 131_072));
    assert_eq!(rows.iter().filter(|row| row[5] == "7000000").count(), 8 * 7);
    assert_eq!(rows.len(), 8 * 35);
}

#[test]
fn nodes_become_operations() {
    let file = trace(&[
        // Its id is 0, which protobuf does not write.
        &[field(2, b"fwd"), number(3, 4), number(7, 3)],
        &[number(1, 7), number(3, 4), number(4, 0), attribute("num_ops", 13, 1000), attribute("is_cpu_op", 27, 1)],
        // Dependencies are packed and single, and some refer to later nodes.
        &[number(1, 8), number(3, 2), field(4, &[0, 9]), number(5, 7), number(7, 2)],
        &[number(1, 9), number(3, 1)],
        &[number(1, 10), number(3, 7), number(5, 8), attribute("comm_type", 9, 0), attribute("comm_size", 9, 50)],
    ]);
    let command = ["--peak-perf", "2"].map(str::to_owned).to_vec();
    let table = |command: Vec<String>| {
        let options = Options { command, ..Options::default() };
        let (imported, place) = of(vec![("a.et".into(), file.clone())], &options).unwrap();
        (place.text("it.operations.csv"), imported.notes.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    // 1000 operations take 500 ps, at 2 per picosecond. A collective of one rank sends nothing.
    let expected = "id,rank,kind,time,after,label,stream\n0,0,compute,3000000,,fwd,0\n1,0,compute,500,0,,1\n\
                    2,0,compute,2000000,0 1 3,,\n3,0,compute,0,,,\n4,0,compute,0,2,,\n";
    assert_eq!(table(command).0, expected);
    let (without, notes) = table(Vec::new());
    assert_eq!(without, expected.replace(",500,", ",0,"));
    assert!(notes.iter().any(|note| note.starts_with("a.et: ignored: num_ops without a duration")), "{notes:?}");
}

#[test]
fn there_are_as_many_ranks_as_traces() {
    let ranks = |files: Files| {
        let (imported, _) = of(files, &Options::default()).unwrap();
        let all = imported.notes.iter().map(ToString::to_string);
        all.filter(|note| note.contains(" rank, ") || note.contains(" ranks, ")).collect::<Vec<_>>()
    };
    // The traces of ranks 2 and 3, or 1 to 3, are left out. The other traces do not show that they are missing.
    assert_eq!(ranks(fixtures("all_reduce", 2)), ["all_reduce.0.et: assumed: 2 ranks, as many as there are traces"]);
    assert_eq!(
        ranks(fixtures("all_reduce", 1)),
        ["all_reduce.0.et: assumed: 1 rank, as there is 1 trace: its collectives have no transfers"]
    );
    let alone = vec![("a.et".to_owned(), trace(&[&[field(2, b"fwd"), number(3, 4), number(7, 3)]]))];
    assert_eq!(ranks(alone), ["a.et: assumed: 1 rank, as there is 1 trace"]);
}

#[test]
fn a_collective_is_of_its_group() {
    let one = |rank: u32, name: &str| {
        let coll = [number(3, 7), attribute("comm_type", 9, 7), attribute("comm_size", 9, 10), group(name)];
        (format!("a.{rank}.et"), trace(&[&coll]))
    };
    let names = ["1", "2", "1", "2"];
    let mut files: Files = (0u32..).zip(names).map(|(rank, name)| one(rank, name)).collect();
    files.push(("groups.json".into(), br#"{"1": [0, 2], "2": [3, 1]}"#.to_vec()));
    assert_eq!(sends(&rows(files.clone())), [(0, 2, 5), (2, 0, 5), (3, 1, 5), (1, 3, 5)]);
    files.pop();
    assert!(refused(files.clone()).starts_with("a.0.et: node 0: group 1 is not known"), "{}", refused(files));
    for (groups, expected) in [
        (r#"{"1": [0, 4], "2": [3, 1]}"#, "groups.json: group 1 has rank 4, and there are 4 traces"),
        (r#"{"1": [0, 0, 2], "2": [3, 1]}"#, "groups.json: group 1 has rank 0 twice"),
        (
            r#"{"1": [0, 2, 3], "2": [3, 1]}"#,
            "groups.json: rank 3 takes part in 0 collectives of its group, and others in 1",
        ),
        (r#"{"1": [0, 1], "2": [3, 2]}"#, "a.1.et: node 0: rank 1 is no member of its group"),
        (r#"{"1": 7}"#, "groups.json: its content is of no kind that can be imported"),
    ] {
        let mut files: Files = (0u32..).zip(names).map(|(rank, name)| one(rank, name)).collect();
        files.push(("groups.json".into(), groups.as_bytes().to_vec()));
        let error = refused(files);
        assert!(error.starts_with(expected), "{error}\nis not {expected}");
    }
}

#[test]
fn compressed_and_json_traces_say_the_same() {
    let plain = rows(fixtures("custom_allreduce", 8));
    let gzip = |(name, octets): (String, Vec<u8>)| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&octets).unwrap();
        (format!("{name}.gz"), encoder.finish().unwrap())
    };
    assert_eq!(rows(fixtures("custom_allreduce", 8).into_iter().map(gzip).collect()), plain);
    let files = vec![
        json(
            0,
            r#"{"Id": 4, "Name": "c", "NodeType": 4, "is_cpu_op": false, "runtime": 5, "data_deps": []},
                  {"Id": 5, "Name": "s", "NodeType": 5, "data_deps": [4], "comm_size": 100, "comm_dst": 1, "comm_tag": 3}"#,
        ),
        json(
            1,
            r#"{"Id": 1, "Name": "r", "NodeType": 6, "data_deps": [], "comm_size": 100, "comm_src": 0, "comm_tag": 3}"#,
        ),
    ];
    let (_, place) = of(files, &Options::default()).unwrap();
    let expected = "id,rank,kind,peer,bytes,time,after,label,stream\n0,0,compute,,,5000000,,c,0\n1,0,send,1,100,,0,s,\n2,1,compute,,,0,1,,\n";
    assert_eq!(place.text("it.operations.csv"), expected);
}

/// Returns the notes of an import whose text contains `words`.
fn notes_with(files: Files, words: &str) -> Vec<String> {
    let (imported, _) = of(files, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    imported.notes.iter().map(ToString::to_string).filter(|note| note.contains(words)).collect()
}

fn json(rank: u32, body: &str) -> (String, Vec<u8>) {
    (format!("a.{rank}.json"), format!("{{\"workload_graph\": [{body}]}}").into_bytes())
}

/// Until the middle of 2024, PyTorch's converter gave the processor's call the type of the kernel that it launches. The
/// schema then shows two collectives, of which one moves octets.
#[test]
fn what_launches_communication_is_a_computation() {
    let launch = |cpu: &str| {
        format!(
            r#"{{"Id": 1, "Name": "forward", "NodeType": 4, "is_cpu_op": false, "runtime": 30}},
               {{"Id": 2, "Name": "launcher", "NodeType": 7, "is_cpu_op": {cpu}, "runtime": 80,
                "comm_type": 0, "comm_size": 8}},
               {{"Id": 3, "Name": "kernel", "NodeType": 7, "is_cpu_op": false, "data_deps": [1, 2], "comm_type": 0,
                "comm_size": 1048576}}"#
        )
    };
    let both = |cpu: &str| (0..2).map(|rank| json(rank, &launch(cpu))).collect::<Files>();
    for yes in ["true", "1"] {
        let rows = rows(both(yes));
        // Columns: id,rank,kind,peer,bytes,time,after,label,stream. The processor's call runs beside the accelerator's
        // computations.
        assert_eq!(rows[0].join(","), "0,0,compute,,,30000000,,forward,0", "{yes}");
        assert_eq!(rows[1].join(","), "1,0,compute,,,80000000,,launcher,1", "{yes}");
        // Each rank sends half of 1 MiB, twice. Both transfers wait for the computation and the launch.
        let half = 524_288;
        assert_eq!(sends(&rows), [(0, 1, half), (1, 0, half), (0, 1, half), (1, 0, half)], "{yes}");
        let first = rows.iter().find(|row| row[2] == "send").unwrap();
        let entry = rows.iter().find(|row| row[0] == first[6]).unwrap();
        assert_eq!((entry[6].as_str(), first[7].as_str()), ("0 1", "kernel"));
    }
    let reported = notes_with(both("true"), "the call that launches it");
    assert_eq!(reported.len(), 1, "{reported:?}");
    assert!(reported[0].ends_with("(2 nodes of all traces)"), "{reported:?}");
    // A node is communication if the attribute is false or null.
    for no in ["false", "null"] {
        assert_eq!(sends(&rows(both(no))).len(), 8, "{no}");
    }
    // The same applies to messages.
    let file = trace(&[&[field(2, b"isend"), number(3, 5), number(7, 4), attribute("is_cpu_op", 27, 1)]]);
    assert_eq!(rows(vec![("a.et".into(), file)])[0].join(","), "0,0,compute,4000000,isend,1");
}

#[test]
fn collectives_that_wait_for_no_kernel_are_counted() {
    let body = |deps: [&str; 2]| {
        format!(
            r#"{{"Id": 1, "Name": "launch", "NodeType": 4, "is_cpu_op": true, "runtime": 3}},
               {{"Id": 2, "Name": "mm", "NodeType": 4, "is_cpu_op": false, "runtime": 30, "data_deps": [1]}},
               {{"Id": 3, "Name": "wait", "NodeType": 4, "is_cpu_op": true, "runtime": 3, "data_deps": [{}]}},
               {{"Id": 4, "Name": "sum", "NodeType": 7, "data_deps": [3], "comm_type": 0, "comm_size": 100}},
               {{"Id": 5, "Name": "sum", "NodeType": 7, "data_deps": [{}], "comm_type": 0, "comm_size": 100}}"#,
            deps[0], deps[1]
        )
    };
    let reported =
        |deps: [&str; 2]| notes_with((0..2).map(|rank| json(rank, &body(deps))).collect(), "wait for no kernel");
    // An indirect dependency is enough.
    assert_eq!(reported(["2", "4"]), [""; 0]);
    assert!(reported(["1", "2"])[0].ends_with("they are launched (2 nodes of all traces)"));
    assert!(reported(["1", "4"])[0].ends_with("they are launched (4 nodes of all traces)"));
    // Without a computation of the accelerator, no kernel exists to wait for.
    assert_eq!(notes_with(fixtures("all_reduce", 4), "wait for no kernel"), [""; 0]);
}

/// The output of `chakra_jsonizer` is read like the trace itself.
#[test]
fn printed_traces_say_the_same() {
    let nodes: [&[Vec<u8>]; 5] = [
        &[field(2, b"fwd"), number(3, 4), number(6, 5), number(7, 3), attribute("is_cpu_op", 27, 0)],
        &[number(1, 7), field(2, b"launch"), number(3, 7), field(5, &[0]), number(7, 2), attribute("is_cpu_op", 27, 1)],
        &[
            number(1, 8),
            field(2, b"sum"),
            number(3, 7),
            field(4, &[0]),
            field(5, &[7]),
            attribute("comm_type", 9, 0),
            attribute("comm_size", 9, 4096),
            group("0"),
            attribute("rf_id", 9, 11),
        ],
        &[number(1, 9), field(2, b"send"), number(3, 5), attribute("comm_size", 9, 10), attribute("comm_dst", 7, 0)],
        &[number(1, 10), field(2, b"recv"), number(3, 6), attribute("comm_size", 9, 10), attribute("comm_src", 7, 0)],
    ];
    let octets = vec![("a.0.et".to_owned(), trace(&nodes))];
    // This is the form in which protobuf prints messages: zeros are left out, and 64-bit numbers are texts.
    let printed = r#"{
  "version": "1.0"
}{
  "name": "fwd", "type": "COMP_NODE", "startTimeMicros": "5", "durationMicros": "3",
  "attr": [{"name": "is_cpu_op", "boolVal": false}]
}{
  "id": "7", "name": "launch", "type": "COMM_COLL_NODE", "dataDeps": ["0"], "durationMicros": "2",
  "attr": [{"name": "is_cpu_op", "boolVal": true}]
}{
  "id": "8", "name": "sum", "type": "COMM_COLL_NODE", "ctrlDeps": ["0"], "dataDeps": ["7"],
  "attr": [{"name": "comm_type", "int64Val": "0"}, {"name": "comm_size", "int64Val": "4096"},
           {"name": "pg_name", "stringVal": "0"}, {"name": "rf_id", "int64Val": "11"}]
}{
  "id": "9", "name": "send", "type": "COMM_SEND_NODE",
  "attr": [{"name": "comm_size", "int64Val": "10"}, {"name": "comm_dst", "int32Val": 0}]
}
{
  "id": "10", "name": "recv", "type": "COMM_RECV_NODE",
  "attr": [{"name": "comm_size", "int64Val": "10"}, {"name": "comm_src", "int32Val": 0}]
}
"#;
    let all = |files: Files| {
        let (imported, place) = of(files, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
        let notes: Vec<String> = imported.notes.iter().map(|note| note.text.clone()).collect();
        (place.text("it.operations.csv"), notes)
    };
    let text = |text: &str| vec![("a.0.json".to_owned(), text.as_bytes().to_vec())];
    assert_eq!(all(text(printed)), all(octets.clone()));
    assert!(all(octets).1.contains(&"rf_id: what else nodes say".to_owned()));
    // Other versions print the names of the schema, or leave out metadata that is empty.
    let other = printed.replace("startTimeMicros", "start_time_micros").replace("dataDeps", "data_deps");
    let other = other.replace("durationMicros", "duration_micros").replace("int64Val", "int64_val");
    assert_eq!(all(text(&other)), all(text(printed)));
    let bare = other.replace("\"version\": \"1.0\"", "");
    assert_eq!(all(text(&bare)).0, all(text(printed)).0);
    for (from, to, expected) in [
        ("\"COMP_NODE\"", "\"COMPUTE_NODE\"", "a.0.json: `COMPUTE_NODE`: is no type of a node\nhint: types are"),
        ("\"7\"", "\"seven\"", "a.0.json:7: invalid digit"),
        ("\"id\": \"10\"", "\"number\": \"10\"", "a.0.json:18: unknown field `number`"),
    ] {
        let error = refused(text(&printed.replacen(from, to, 1)));
        assert!(error.starts_with(expected), "{error}\nis not {expected}");
    }
}

#[test]
fn what_is_no_trace_is_refused() {
    let one = |nodes: &[&[Vec<u8>]]| vec![("a.et".to_owned(), trace(nodes))];
    let send = |to: u64| [number(3, 5), attribute("comm_size", 9, 1), attribute("comm_dst", 7, to)];
    let json = |body: &str| vec![("a.json".to_owned(), format!("{{\"workload_graph\": [{body}]}}").into_bytes())];
    let mut cut = trace(&[&[field(2, b"fwd"), number(3, 4)]]);
    cut.pop();
    let mut files = fixtures("all_reduce", 4);
    files.remove(2);
    let mut other = fixtures("all_reduce", 3);
    other.extend(fixtures("all_gather", 4).into_iter().skip(3).map(|(_, octets)| ("all_reduce.3.et".into(), octets)));
    for (files, expected) in [
        (one(&[&[number(3, 4)], &[number(3, 4)]]), "a.et: node 0: there is another one with this id"),
        (one(&[&[number(3, 4), number(4, 9)]]), "a.et: node 0: depends on node 9, which is not there"),
        (one(&[&[number(3, 4), number(4, 0)]]), "a.et: node 0: depends on itself"),
        (one(&[&[number(3, 8)]]), "a.et: node 0: type 8 is not in the schema"),
        (
            one(&[&[field(2, b"x"), number(3, 4), number(7, 1 << 50)]]),
            "a.et: `x`: node 0: 1125899906842624 us are longer",
        ),
        (one(&[&[number(3, 7), attribute("comm_type", 9, 10)]]), "a.et: node 0: comm_type 10 is not in the schema"),
        (one(&[&send(1)]), "a.et: node 0: there is no rank 1: there are 1 traces"),
        (one(&[&send(1)[..2]]), "a.et: node 0: has no comm_dst"),
        (
            one(&[&send(0)]),
            "a.et: rank 0, operation 0: rank 0 sends to rank 0 with tag 0 once more than that is received",
        ),
        (
            one(&[&[number(3, 4), number(4, 1)], &[number(1, 1), number(3, 4), number(4, 0)]]),
            "a.et: rank 0, operation 0: waits for itself, by way of rank 0, operation 0, rank 0, operation 1",
        ),
        (json(r#"{"Id": -1, "NodeType": 4}"#), "a.json:1: invalid value: integer `-1`, expected u64"),
        (json(r#"{"Id": 1}"#), "a.json:1: missing field `NodeType`"),
        (files, "all_reduce.3.et: the trace of rank 3, and there is none of rank 2"),
        (
            other,
            "all_reduce.3.et: `all_gather_4npus_1MB`: node 3: collective 0 of its group is all-gather of 1048576 B here",
        ),
    ] {
        let error = refused(files);
        assert!(error.starts_with(expected), "{error}\nis not {expected}");
    }
    let options = Options { format: Some("chakra-et".into()), ..Options::default() };
    for (octets, expected) in [
        (cut, "a.et: octet 6: a message of 7 B, and the file ends after 6 of them"),
        (vec![0xff; 20], "a.et: octet 0: the length of a message has no end"),
        (vec![0xff, 0xff, 0xff, 0xff, 0x7f], "a.et: octet 0: a message of 34359738367 B: more than 67108864 cannot be"),
        (Vec::new(), "a.et: an empty file"),
    ] {
        let error = of(vec![("a.et".into(), octets)], &options).map(|_| ()).unwrap_err();
        assert!(error.starts_with(expected), "{error}\nis not {expected}");
    }
}

#[test]
fn all_that_nodes_say_beside_is_named() {
    let names: Vec<String> = (0..250).map(|n| format!("own_{n}")).collect();
    let mut node = vec![number(1, 0), number(3, 4), number(6, 3)];
    node.extend(names.iter().map(|name| attribute(name, 9, 1)));
    let (imported, _) = of(vec![("a.0.et".into(), trace(&[&node]))], &Options::default()).unwrap();
    let note = imported.notes.iter().find(|note| note.text.contains("what else nodes say")).expect("a note");
    let mut notified = note.names.clone();
    notified.sort_by_key(|name| names.iter().position(|own| own == name));
    assert_eq!(notified, names);
    assert!(note.text.ends_with(" and 150 more: what else nodes say"), "{}", note.text);
}

/// An unreadable size does not become 1 B, and a text `true` does not become `false`.
#[test]
fn attributes_that_cannot_be_read_are_refused() {
    let printed = |attributes: &str| {
        let text = format!(
            r#"{{"version": "1"}} {{"id": "1", "name": "sum", "type": "COMM_COLL_NODE", "durationMicros": "7", "attr": [
               {{"name": "comm_type", "int64Val": "0"}}, {attributes}]}}"#
        );
        let file = |rank: u32| (format!("t.{rank}.json"), text.clone().into_bytes());
        of(vec![file(0), file(1)], &Options::default()).map(|(_, place)| place.text("it.operations.csv"))
    };
    for (value, name) in [
        (r#"{"name": "comm_size", "int64Val": "-5"}"#, "comm_size is no whole number of at least 0"),
        (r#"{"name": "comm_size", "doubleVal": 1048576.7}"#, "comm_size is no whole number of at least 0"),
        (r#"{"name": "comm_size", "stringVal": "many"}"#, "comm_size is no whole number of at least 0"),
        (r#"{"name": "comm_size"}"#, "comm_size is no whole number of at least 0"),
        (r#"{"name": "is_cpu_op", "boolVal": false}"#, "has no comm_size"),
        (r#"{"name": "comm_size", "int64Val": "8"}, {"name": "root", "int64Val": "-1"}"#, "root is no whole number"),
        (
            r#"{"name": "comm_size", "int64Val": "8"}, {"name": "is_cpu_op", "stringVal": "maybe"}"#,
            "is_cpu_op is neither",
        ),
        (r#"{"name": "comm_size", "int64Val": "8"}, {"name": "is_cpu_op", "int64Val": "2"}"#, "is_cpu_op is neither"),
    ] {
        let error = printed(value).unwrap_err();
        assert!(error.starts_with(&format!("t.0.json: `sum`: node 1: {name}")), "{error}");
    }
    // Attributes without an effect may have any value. A processor's call sends nothing.
    let rows =
        printed(r#"{"name": "comm_size", "int64Val": "8"}, {"name": "comm_priority", "int64Val": "-1"}"#).unwrap();
    assert!(rows.contains(",send,"), "{rows}");
    let rows =
        printed(r#"{"name": "comm_size", "int64Val": "8"}, {"name": "is_cpu_op", "stringVal": "true"}"#).unwrap();
    assert!(!rows.contains(",send,"), "{rows}");
    let json = |node: &str| {
        let file = |rank: u32| (format!("t.{rank}.json"), format!("{{\"workload_graph\": [{node}]}}").into_bytes());
        refused(vec![file(0), file(1)])
    };
    let error = json(r#"{"Id": 3, "NodeType": 7, "comm_type": 0}"#);
    assert!(error.contains("node 3: has no comm_size"), "{error}");
    let error = json(r#"{"Id": 3, "NodeType": 7, "comm_type": 0, "comm_size": 8, "is_cpu_op": 2}"#);
    assert!(error.contains("node 3: is_cpu_op is neither true nor false"), "{error}");
}
