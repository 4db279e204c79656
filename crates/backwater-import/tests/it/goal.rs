//! Tests imports of GOAL schedules.

use crate::{fixture, imported};
use backwater_import::{Memory, Options, Source, import};

fn table_of(file: &str, options: &Options) -> Result<String, String> {
    match imported(&[("a.goal", file)], options) {
        Ok((_, place)) => Ok(place.text("it.operations.csv")),
        Err(error) => Err(error.to_string()),
    }
}

fn table(file: &str) -> String {
    table_of(file, &Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn of_fixture(path: &str) -> (String, Vec<String>) {
    let mut place = Memory::default();
    let sources = vec![Source::octets(path, fixture(path))];
    let imported = import(sources, "it", &Options::default(), &mut place).unwrap_or_else(|error| panic!("{error}"));
    (place.text("it.operations.csv"), imported.notes.iter().map(ToString::to_string).collect())
}

#[test]
fn a_schedule_becomes_operations() {
    // Operations of all ranks share one numbering. Operation 10 marks when `b` of rank 0 begins.
    let expected = "id,rank,kind,peer,bytes,time,after,stream\n\
                    0,0,compute,,,1500000,,0\n10,0,compute,,,0,0,\n1,0,send,1,4096,,10,\n2,0,compute,,,200000,10,1\n\
                    3,0,compute,,,0,2 9,\n4,1,compute,,,0,1,\n5,1,compute,,,3000000,4,0\n6,1,compute,,,500000,4,0\n\
                    7,1,send,2,70000,,5 6,\n8,2,compute,,,0,7,\n9,2,send,0,100,,8,\n";
    let (table, notes) = of_fixture("goal/mixed.goal");
    assert_eq!(table, expected);
    for reported in [
        "goal/mixed.goal:25: ignored: nic: 2 messages go by another than 0; here a host has one port",
        "goal/mixed.goal: assumed: the fabric: a star of 3 hosts at 400 Gb/s with 500 ns a link, whose switch drops nothing",
    ] {
        assert!(notes.iter().any(|note| note == reported), "{reported} is not in {notes:#?}");
    }
}

#[test]
fn the_binary_form_says_the_same() {
    for name in ["mixed", "binary_tree_32"] {
        let (text, binary) = (of_fixture(&format!("goal/{name}.goal")).0, of_fixture(&format!("goal/{name}.bin")).0);
        assert_eq!(text, binary, "{name}");
    }
}

#[test]
fn a_binary_tree_of_32_ranks_is_five_sends_deep() {
    let (table, _) = of_fixture("goal/binary_tree_32.goal");
    let rows: Vec<Vec<&str>> = table.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let sends = rows.iter().filter(|row| row[2] == "send").count();
    // Columns: id,rank,kind,peer,bytes,time,after. Rows have no fixed order, so the depths are found step by step.
    let mut depth = vec![None; rows.len()];
    while depth.contains(&None) {
        for row in &rows {
            let after: Option<Vec<u32>> =
                row[6].split_whitespace().map(|id| depth[id.parse::<usize>().unwrap()]).collect();
            let before = after.map(|after| after.into_iter().max().unwrap_or(0));
            depth[row[0].parse::<usize>().unwrap()] = before.map(|before| before + u32::from(row[2] == "send"));
        }
    }
    assert_eq!((sends, depth.into_iter().max().unwrap()), (31, Some(5)));
}

#[test]
fn sends_up_to_the_eager_limit_are_complete_when_they_begin() {
    let file = "num_ranks 2\nrank 0 {\na: calc 7\nb: send 10b to 1\nb requires a\nc: calc 1\nc requires b\n\
                d: send 11b to 1\nd requires a\ne: calc 1\ne requires d\n}\nrank 1 {\nrecv 10b from 0\nrecv 11b from 0\n}\n";
    let options = Options { command: vec!["LogGOPSim".into(), "-S".into(), "10".into()], ..Options::default() };
    let rows = |options| table_of(file, options).unwrap();
    // `c` waits for the operation that `b` waits for, and `e` for the last byte of `d`.
    for row in ["2,0,compute,,,1000,7,0\n", "4,0,compute,,,1000,3,0\n", "7,0,compute,,,0,0,\n", "1,0,send,1,10,,7,\n"] {
        assert!(rows(&options).contains(row), "{row} is not in\n{}", rows(&options));
    }
    assert!(rows(&Options::default()).contains("2,0,compute,,,1000,1,0\n"));
}

#[test]
fn messages_with_one_tag_are_received_in_order() {
    let table = table(
        "num_ranks 2\nrank 0 {\nsend 1b to 1 tag 5\nsend 2b to 1 tag 4\nsend 3b to 1 tag 5\n}\n\
         rank 1 {\nrecv 1b from 0 tag 5\nrecv 3b from 0 tag 5\nrecv 2b from 0 tag 4\n}\n",
    );
    let rows: Vec<&str> = table.lines().filter(|line| line.contains("compute")).collect();
    assert_eq!(rows, ["3,1,compute,,,0,0", "4,1,compute,,,0,2", "5,1,compute,,,0,1"]);
}

#[test]
fn a_receive_from_any_rank_takes_what_only_one_can_send() {
    let with = |body: &str| {
        table_of(
            &format!(
                "num_ranks 3\nrank 0 {{\n{body}}}\nrank 1 {{\nsend 1b to 0\nsend 2b to 0 tag 9\n}}\nrank 2 {{\nsend 3b to 0\n}}\n"
            ),
            &Options::default(),
        )
    };
    let after = |body: &str| -> Vec<String> {
        let table = with(body).unwrap_or_else(|error| panic!("{error}"));
        table.lines().skip(1).take(3).map(|row| row.rsplit(',').next().unwrap_or_default().to_owned()).collect()
    };
    // Operations 3 and 4 belong to rank 1, and 5 to rank 2. A receive from any rank gets no message that another
    // receive names.
    assert_eq!(after("recv 1b from 1\nrecv 2b from -1 tag 9\nrecv 3b from 2\n"), ["3", "4", "5"]);
    assert_eq!(after("recv 1b from -1\nrecv 2b from 1 tag 9\nrecv 3b from 2\n"), ["3", "4", "5"]);
    // It takes the first message left, of any tag.
    assert_eq!(after("recv 3b from 2 tag -1\nrecv 1b from 1 tag -1\nrecv 2b from 1 tag -1\n"), ["5", "3", "4"]);
    assert_eq!(after("recv 2b from 1 tag 9\nrecv 3b from 2\nrecv 1b from 1 tag -1\n"), ["4", "5", "3"]);
    let error = with("recv 1b from -1\nrecv 2b from 1 tag 9\nrecv 3b from -1\n").unwrap_err();
    let expected =
        "a.goal:3: receives from any rank, and messages of rank 1, of rank 2 and perhaps of others may be the one";
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn a_message_of_a_rank_to_itself_takes_no_time() {
    let table = table("num_ranks 1\nrank 0 {\na: send 5b to 0\nb: recv 5b from 0\nb requires a\n}\n");
    assert_eq!(table, "id,rank,kind,time,after\n0,0,compute,0,\n1,0,compute,0,0 0\n");
}

#[test]
fn comments_and_blanks_are_as_txt2bin_takes_them() {
    let file = "// a schedule\n/* of\ntwo ranks */\nnum_ranks\t2\nrank 0 { l1: send 5 b to 1 tag 3 cpu 0 nic 0 // to 1\n}\r\n\
                rank 1 {\n/* here */ l1 : recv 5b from 0 tag 3\n}";
    assert_eq!(table(file), "id,rank,kind,peer,bytes,time,after\n0,0,send,1,5,,\n1,1,compute,,,0,0\n");
}

#[test]
fn what_is_no_schedule_is_refused() {
    let two = |first: &str, second: &str| format!("num_ranks 2\nrank 0 {{\n{first}}}\nrank 1 {{\n{second}}}\n");
    for (file, expected) in [
        (two("send 1b to 2\n", ""), "a.goal:3: there is no rank 2: there are 2, from 0"),
        (two("send 1b to 1\n", ""), "a.goal:3: rank 0 sends to rank 1 with tag 0 once more than that is received"),
        (
            two("", "recv 1b from 0 tag 7\n"),
            "a.goal:5: rank 1 receives from rank 0 with tag 7 once more than that is sent",
        ),
        (
            two("", "recv 1b from -1\n"),
            "a.goal:5: rank 1 receives from any rank with tag 0 once more than that is sent",
        ),
        (two("a: calc 1\na: calc 2\n", ""), "a.goal:4: `a`: this label is that of line 3 already"),
        (two("a: calc 1\nb requires a\n", ""), "a.goal:4: `b`: no operation above has this label"),
        (two("a: calc 1\na requires a\n", ""), "a.goal:4: an operation that requires itself would never begin"),
        (two("calc 1 nic 0\n", ""), "a.goal:3: `nic`: the line should end here"),
        (two("calc 1 cpu 256\n", ""), "a.goal:3: `256`: is not a number of a cpu, 0 to 255"),
        (two("calc 9223372036854775808\n", ""), "a.goal:3: `9223372036854775808`: longer than can be simulated"),
        (two("calc -1\n", ""), "a.goal:3: `-1`: is not a time in ns"),
        (two("send 1b to 1 cpu 0 tag 0\n", ""), "a.goal:3: `tag`: does not belong here"),
        (two("send 1b to -1\n", ""), "a.goal:3: `-1`: -1 is for receives"),
        (two("send 1 to 1\n", ""), "a.goal:3: `to`: `b` should stand here"),
        (two("send 1b from 1\n", ""), "a.goal:3: `from`: `to` should stand here"),
        (two("1a: calc 1\n", ""), "a.goal:3: `1a`: is neither"),
        ("num_ranks 2\nrank 0 {\n}\n".into(), "a.goal:4: the file ends after 1 ranks, and num_ranks says 2"),
        ("num_ranks 2\nrank 1 {\n}\n".into(), "a.goal:2: rank 1 stands where rank 0 should"),
        ("num_ranks 1\nrank 0 {\n/* \n".into(), "a.goal:3: a comment without its end"),
        ("num_ranks 1\nrank 0 {\ncalc 1\n".into(), "a.goal:4: the file ends where a statement or `}` should stand"),
        ("num_ranks 1\nrank 0 {\n}\nrank 1 {\n}\n".into(), "a.goal:4: `rank`: stands behind the last rank"),
        ("num_ranks 4294967295\nrank 0 {\n}\n".into(), "a.goal:1: a schedule has 1 to 1048576 ranks"),
        (
            two(
                "a: recv 1b from 1\nb: send 1b to 1\nb requires a\n",
                "a: recv 1b from 0\nb: send 1b to 0\nb requires a\n",
            ),
            "a.goal:3: waits for itself, by way of line 3, line 9, line 8, line 4",
        ),
    ] {
        let error = table_of(&file, &Options::default()).unwrap_err();
        assert!(error.starts_with(expected), "{error}\nis not {expected}");
    }
}

/// Each rank sends to the next rank after it receives from the previous one. The operation at line l therefore waits
/// for the send at l - 4, or the receive at l - 1.
#[test]
fn a_long_circle_is_named_as_far_as_a_message_goes() {
    let ring = |ranks: u32| {
        let mut file = format!("num_ranks {ranks}\n");
        for rank in 0..ranks {
            let (before, next) = ((rank + ranks - 1) % ranks, (rank + 1) % ranks);
            file += &format!("rank {rank} {{\na: recv 1b from {before}\nb: send 1b to {next}\nb requires a\n}}\n");
        }
        table_of(&file, &Options::default()).unwrap_err()
    };
    let lines = |first: u32, pairs: u32| {
        (0..pairs).map(|k| format!("line {}, line {}", first - 5 * k, first - 5 * k - 1)).collect::<Vec<_>>().join(", ")
    };
    let hint = "hint: a receive waits for its send, and each operation for what it depends on";
    assert_eq!(ring(10), format!("a.goal:3: waits for itself, by way of line 3, {}, line 4\n{hint}", lines(49, 9)));
    let notified = format!("a.goal:3: waits for itself, by way of line 3, {}, line 29 and 10 more", lines(74, 9));
    assert_eq!(ring(15), format!("{notified}\n{hint}: that leads from line 29 to the others"));
}

#[test]
fn a_binary_file_that_lies_is_refused() {
    let whole = fixture("goal/mixed.bin");
    let with = |changes: &[(usize, &[u8])]| {
        let mut octets = whole.clone();
        for (at, new) in changes {
            octets[*at..*at + new.len()].copy_from_slice(new);
        }
        let error = import(vec![Source::octets("a.bin", octets)], "it", &Options::default(), &mut Memory::default());
        error.map(|_| ()).unwrap_err().to_string()
    };
    // Rank 0 begins at 0x36, counted after the first 8 octets: 4 nodes, one root, the first node at 0x4a.
    for (at, new, expected) in [
        (8, &[0xff; 4][..], "a.bin: octet 8: a schedule has 1 to 1048576 ranks, not 4294967295"),
        (14, &[0; 8], "a.bin: octet 14: rank 0 stands at 0 to 234: not behind the one before it and within the file"),
        (22, &[0xff; 8], "a.bin: octet 14: rank 0 stands at 54 to 18446744073709551615"),
        (0x3e, &[0xff; 4], "a.bin: octet 62: rank 0 ends before its nodes do"),
        (0x42, &[0xff; 4], "a.bin: octet 62: rank 0 ends before its nodes do"),
        (0x4a, &[9], "a.bin: octet 74: operation 0 of rank 0 says 9 dependencies, and 0 are listed"),
        (0x4e, &[4], "a.bin: octet 78: type 4: is neither 1 send, 2 recv nor 3 calc"),
        (0x61, &[9], "a.bin: octet 97: the nodes of rank 0 list more dependants than its 3 numbers"),
        (0x65, &[3], "a.bin: octet 97: 1 dependants from 3 on, and rank 0 has 3 numbers"),
    ] {
        let error = with(&[(at, new)]);
        assert!(error.starts_with(expected), "{error}\nis not {expected}");
    }
}
