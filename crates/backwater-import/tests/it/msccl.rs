//! Tests imports of MSCCL algorithms.

use crate::{fixture, imported};
use backwater_import::{Memory, Options, Source, import};
use std::collections::HashMap;

fn command(line: &str) -> Options {
    Options { command: line.split_whitespace().map(str::to_owned).collect(), ..Options::default() }
}

fn table_of(file: &str, options: &Options) -> Result<String, String> {
    match imported(&[("a.xml", file)], options) {
        Ok((_, place)) => Ok(place.text("it.operations.csv")),
        Err(error) => Err(error.to_string()),
    }
}

/// Returns an algorithm of two GPUs with four chunks, each with one thread block on channel 3.
fn two(first: &str, second: &str) -> String {
    format!(
        "<algo name=\"x\" proto=\"Simple\" nchunksperloop=\"4\" ngpus=\"2\" coll=\"allreduce\">\n\
         <gpu id=\"0\"><tb id=\"0\" send=\"1\" recv=\"1\" chan=\"3\">\n{first}</tb></gpu>\n\
         <gpu id=\"1\"><tb id=\"0\" send=\"0\" recv=\"0\" chan=\"3\">\n{second}</tb></gpu>\n</algo>\n"
    )
}

fn step(number: u32, kind: &str, count: u32, dep: i32) -> String {
    let deps = if dep < 0 { -1 } else { 0 };
    format!("<step s=\"{number}\" type=\"{kind}\" cnt=\"{count}\" depid=\"{dep}\" deps=\"{deps}\" hasdep=\"0\"/>\n")
}

#[test]
fn each_type_of_step_becomes_what_it_does() {
    let first =
        [step(0, "s", 1, -1), step(1, "r", 2, -1), step(2, "re", 1, -1), step(3, "cpy", 1, -1), step(4, "nop", 1, -1)];
    let second = [step(0, "rcs", 1, -1), step(1, "nop", 1, -1)];
    // The second GPU forwards one chunk, so the first may receive only one.
    let sizes = two(&first.concat(), &second.concat());
    let options = command("et_converter --coll_size 1000 --reduce_us 2.5");
    let expected = "id,rank,kind,peer,bytes,time,after\n0,0,send,1,250,,\n1,0,compute,,,0,0 6\n2,0,compute,,,2500000,1\n\
                    3,0,compute,,,0,2\n4,0,compute,,,0,3\n5,1,compute,,,0,0\n6,1,send,0,250,,5\n7,1,compute,,,0,6\n";
    assert_eq!(table_of(&sizes, &options).unwrap(), expected);
    let (imported, _) = imported(&[("a.xml", &sizes)], &options).unwrap();
    let reported = "a.xml: differs: a receive of another size than is sent: what is sent counts";
    assert!(imported.notes.iter().any(|note| note.to_string().replace(":4:", ":") == reported), "{:?}", imported.notes);
    // Steps that reduce and forward.
    let second = [step(0, "rrcs", 1, -1), step(1, "rrc", 3, -1), step(2, "rrs", 1, -1)];
    let first =
        [step(0, "s", 1, -1), step(1, "s", 3, -1), step(2, "s", 1, -1), step(3, "r", 1, -1), step(4, "r", 1, -1)];
    let table = table_of(&two(&first.concat(), &second.concat()), &options).unwrap();
    let of_second: Vec<&str> = table.lines().filter(|row| row.split(',').nth(1) == Some("1")).collect();
    let expected = [
        "5,1,compute,,,0,0",
        "6,1,compute,,,2500000,5",
        "7,1,send,0,250,,6",
        "8,1,compute,,,0,1 7",
        "9,1,compute,,,2500000,8",
        "10,1,compute,,,0,2 9",
        "11,1,compute,,,2500000,10",
        "12,1,send,0,250,,11",
    ];
    // Each row waits for the previous row of its rank first, then for the send.
    let expected = expected.map(|row| match row {
        "8,1,compute,,,0,1 7" => "8,1,compute,,,0,7 1",
        "10,1,compute,,,0,2 9" => "10,1,compute,,,0,9 2",
        row => row,
    });
    assert_eq!(of_second, expected);
}

#[test]
fn steps_wait_for_steps_of_other_blocks() {
    let file = "<algo name=\"x\" nchunksperloop=\"1\" ngpus=\"1\"><gpu id=\"0\">\
                <tb id=\"0\" send=\"-1\" recv=\"-1\" chan=\"0\"><step s=\"0\" type=\"nop\" depid=\"7\" deps=\"1\"/></tb>\
                <tb id=\"7\" send=\"-1\" recv=\"-1\" chan=\"0\"><step s=\"0\" type=\"nop\" depid=\"-1\" deps=\"-1\"/>\
                <step s=\"1\" type=\"cpy\" depid=\"-1\" deps=\"-1\"/></tb></gpu></algo>";
    let table = table_of(file, &Options::default()).unwrap();
    assert_eq!(table, "id,rank,kind,time,after\n0,0,compute,0,2\n1,0,compute,0,\n2,0,compute,0,1\n");
}

/// Returns when the last operation ends, along the longest path. A send takes 1000, and a computation its time.
fn last_end(table: &str) -> u64 {
    let columns: Vec<&str> = table.lines().next().unwrap().split(',').collect();
    let place = |name: &str| columns.iter().position(|column| *column == name).unwrap();
    let (kind, time, after) = (place("kind"), place("time"), place("after"));
    let rows: HashMap<&str, Vec<&str>> =
        table.lines().skip(1).map(|row| row.split(',').collect::<Vec<_>>()).map(|row| (row[0], row)).collect();
    let mut ends: HashMap<&str, u64> = HashMap::new();
    while ends.len() < rows.len() {
        for (id, row) in &rows {
            let waits: Option<Vec<u64>> = row[after].split_whitespace().map(|other| ends.get(other).copied()).collect();
            if let Some(waits) = waits {
                let own = if row[kind] == "send" { 1000 } else { row[time].parse().unwrap() };
                ends.insert(id, waits.into_iter().max().unwrap_or(0) + own);
            }
        }
    }
    ends.into_values().max().unwrap()
}

#[test]
fn the_same_all_reduce_by_chakra_takes_as_long() {
    let text = String::from_utf8(fixture("msccl/custom_allreduce.xml")).unwrap();
    // Each reduction takes 7 us in the traces that astra-sim's converter made of this file.
    let msccl = table_of(&text, &command("et_converter --coll_size 1048576 --reduce_us 7")).unwrap();
    let files = (0..8).map(|rank| format!("chakra/custom_allreduce.{rank}.et"));
    let mut place = Memory::default();
    let sources = files.map(|name| Source::octets(name.clone(), fixture(&name))).collect();
    import(sources, "it", &Options::default(), &mut place).unwrap();
    let chakra = place.text("it.operations.csv");
    let sends = |table: &str| table.lines().filter(|row| row.contains(",send,") && row.contains(",131072,")).count();
    assert_eq!((sends(&msccl), sends(&chakra)), (112, 112));
    // 14 sends in sequence, with 7 reductions between them.
    assert_eq!((last_end(&msccl), last_end(&chakra)), (14_000 + 49_000_000, 14_000 + 49_000_000));
}

/// Returns the remark at the beginning of a scenario.
fn remark(scenario: &str) -> String {
    let lines: Vec<&str> = scenario.lines().map_while(|line| line.strip_prefix("# ")).collect();
    lines.join(" ")
}

/// MSCCL uses an algorithm for buffers of `minBytes` to `maxBytes`, both included; 0 means no maximum.
#[test]
fn an_algorithm_is_for_a_range_of_buffers() {
    let of = |range: &str, options: &Options| {
        let file = two(&step(0, "s", 4, -1), &step(0, "r", 4, -1)).replace("coll=", &format!("{range} coll="));
        let (imported, place) = imported(&[("a.xml", &file)], options).unwrap();
        let bytes: u64 =
            place.text("it.operations.csv").lines().nth(1).unwrap().split(',').nth(4).unwrap().parse().unwrap();
        let notes: Vec<String> =
            imported.notes.iter().map(ToString::to_string).filter(|note| note.contains("takes")).collect();
        (bytes, notes, remark(&imported.scenario))
    };
    let range = "minBytes=\"0\" maxBytes=\"9216\"";
    let none = Options::default();
    let (bytes, notes, about) = of(range, &none);
    assert_eq!(bytes, 9216);
    assert!(notes[0].contains("a buffer of 9 KiB at each GPU, since MSCCL takes it for 0 B to 9 KiB;"), "{notes:?}");
    assert!(about.ends_with("MSCCL takes it for 0 B to 9 KiB."), "{about}");
    let (bytes, notes, _) = of(range, &command("et_converter --coll_size 9217"));
    assert_eq!((bytes, notes.len()), (9217, 2));
    let reported =
        "a.xml:1: differs: minBytes and maxBytes: MSCCL takes the algorithm for 0 B to 9 KiB, and not for 9217 B";
    assert!(notes.iter().any(|note| note == reported), "{notes:?}");
    for buffer in ["9216", "1"] {
        let (_, notes, _) = of(range, &command(&format!("et_converter --coll_size {buffer}")));
        assert!(!notes.iter().any(|note| note.contains("minBytes")), "{notes:?}");
    }
    let (bytes, _, about) = of("minBytes=\"2097152\" maxBytes=\"0\"", &none);
    assert_eq!((bytes, about.contains("MSCCL takes it for 2 MiB and more.")), (2_097_152, true));
    // The default buffer is within the range.
    assert_eq!(of("minBytes=\"1\" maxBytes=\"2097152\"", &none).0, 1 << 20);
    assert!(!of("", &none).2.contains("MSCCL takes it"));
}

#[test]
fn what_is_no_algorithm_is_refused() {
    let whole = two(&step(0, "s", 1, -1), &step(0, "r", 1, -1));
    for (file, expected) in [
        (two(&step(0, "s", 1, -1), ""), "a.xml:3: rank 0 sends to rank 1 with tag 3 once more than that is received"),
        (two("", &step(0, "r", 1, -1)), "a.xml:5: rank 1 receives from rank 0 with tag 3 once more than that is sent"),
        (two(&step(0, "q", 1, -1), ""), "a.xml:3: `q`: is no type of a step"),
        (two(&step(1, "s", 1, -1), ""), "a.xml:3: step 1 stands where step 0 should"),
        (two(&step(0, "s", 5, -1), ""), "a.xml:3: cnt 5: a step moves 1 to 4 chunks"),
        (two(&step(0, "nop", 1, 4), ""), "a.xml:3: depends on step 0 of thread block 4, which is not there"),
        (two(&step(0, "nop", 1, 0), ""), "a.xml:3: waits for itself, by way of line 3"),
        (whole.replace("send=\"1\"", "send=\"-1\""), "a.xml:3: s in a thread block that has no send"),
        (whole.replace("send=\"1\"", "send=\"2\""), "a.xml:3: GPU 0 and 2: there are 2, and none is its own peer"),
        (whole.replace("ngpus=\"2\"", "ngpus=\"3\""), "a.xml:1: ngpus says 3 GPUs, and there are 2"),
        (whole.replace("gpu id=\"1\"", "gpu id=\"0\""), "a.xml:5: GPU 0 is there already"),
        (whole.replace("nchunksperloop=\"4\"", "nchunksperloop=\"0\""), "a.xml:1: `0`: nchunksperloop: a buffer has"),
        (whole.replace("nchunksperloop=\"4\"", "nchunksperloop=\"x\""), "a.xml:1: `x`: is no nchunksperloop of <algo>"),
        (whole.replace("</algo>", ""), "a.xml:1: not well-formed XML"),
        (whole.replace("coll=", "minBytes=\"2\" maxBytes=\"1\" coll="), "a.xml:1: maxBytes is less than minBytes"),
    ] {
        let error = table_of(&file, &Options::default()).unwrap_err();
        assert!(error.starts_with(expected), "{error}\nis not {expected}");
    }
    let error = table_of(&whole, &command("--coll_size x")).unwrap_err();
    assert!(error.starts_with("--command: `x`: is no size of a buffer"), "{error}");
}
