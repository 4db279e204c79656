use super::*;
use proptest::prelude::*;

fn read(text: impl AsRef<[u8]>) -> Result<Operations, ScenarioError> {
    from_csv(text.as_ref(), "ops.csv", 4)
}

const HEADER: &str = "id,rank,kind,peer,bytes,time,after,after_ack,needs,start,class,label,stream";

#[test]
fn columns_in_any_order_and_units() {
    let table = read(
        "kind, after, time_ps, rank, id, bytes, peer, label\n# a remark\n\
         compute, , 5 us, 0, 10, , , think\nsend, 10, , 0, 11, 20 MB, 3, ask\nsend, 10 11, , 3, 12, 64, 0, \n",
    );
    let table = table.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(table.len(), 3);
    assert_eq!(table.labels().iter().map(|label| &**label).collect::<Vec<_>>(), ["ask", "operations"]);
    assert!(read("id,rank,kind,time\n0,0,compute,0\n").is_ok());
}

#[test]
fn errors_name_line_column_value_and_reason() {
    let expect = |row: &str, column: &str, value: &str, reason: &str| {
        let error = read(format!("{HEADER}\n0,0,compute,,,5 us,,,,,,,\n\n# a remark\n{row}\n")).unwrap_err();
        let notified =
            (error.line, error.key.as_deref().unwrap_or_default(), error.value.as_deref().unwrap_or_default());
        assert_eq!((notified, error.reason.as_str()), ((Some(5), column, value), reason), "{row}");
        assert_eq!(error.file.as_deref(), Some("ops.csv"));
    };
    expect(",0,compute,,,1,,,,,,,", "id", "", "is empty");
    expect("1,,compute,,,1,,,,,,,", "rank", "", "is empty");
    expect("1,0,,,,1,,,,,,,", "kind", "", "is empty");
    expect("x,0,compute,,,1,,,,,,,", "id", "x", "`x` is not a number below 2^40");
    expect("0,0,compute,,,1,,,,,,,", "id", "0", "two operations have the id 0");
    expect("1,4,compute,,,1,,,,,,,", "rank", "4", "there is no rank 4");
    expect("1,-1,compute,,,1,,,,,,,", "rank", "-1", "`-1` is not the number of a rank");
    expect("1,0,recv,,,1,,,,,,,", "kind", "recv", "`recv` is no kind of operation");
    expect("1,0,send,,5,,,,,,,,", "peer", "", "is empty, and the operation is a send");
    expect("1,0,send,4,5,,,,,,,,", "peer", "4", "there is no rank 4");
    expect("1,0,send,1,,,,,,,,,", "bytes", "", "is empty, and the operation is a send");
    expect("1,0,send,1,5 us,,,,,,,,", "bytes", "5 us", "`us` is not a unit of a size");
    expect("1,0,send,0,5,,,,,,,,", "peer", "0", "rank 0 sends to itself");
    let beyond = "1000000000000000001";
    expect(
        &format!("1,0,send,1,{beyond},,,,,,,,"),
        "bytes",
        "1000000.000000000001 TB",
        "1000000.000000000001 TB is more than 1000000 TB",
    );
    expect("1,0,compute,,,8640001 s,,,,,,,", "time", "8640001 s", "8640001 s is more than 8640000 s");
    expect("1,0,compute,,,5,,,,8640001 s,,,", "start", "8640001 s", "8640001 s is more than 8640000 s");
    expect("1,0,send,1,5,5,,,,,,,", "time", "5", "a send has none");
    expect("1,0,compute,,,,,,,,,,", "time", "", "is empty, and the operation is a compute");
    expect("1,0,compute,1,,5,,,,,,,", "peer", "1", "a compute has none");
    expect("1,0,compute,,,5,0 x,,,,,,", "after", "x", "`x` is not the id of an operation");
    expect("1,0,compute,,,5,0 9,,,,,,", "after", "9", "there is no operation 9");
    expect("1,0,compute,,,5,,0,,,,,", "after_ack", "0", "operation 0 computes, nothing acknowledges it");
    expect("1,0,compute,,,5,0,,2,,,,", "needs", "2", "needs 2 of the 1 operations that it waits for");
    expect("1,0,compute,,,5,,,,1 KB,,,", "start", "1 KB", "`KB` is not a unit of a time");
    expect("1,0,send,1,5,,,,,,8,,", "class", "8", "8 is not a class from 0 to 7");
    expect("1,0,compute,,,5,,,,,,,one", "stream", "one", "`one` is not the number of a stream");
    expect("1,0,compute,,,5,1,,,,,,", "after", "1", "operation 1 waits for itself");
}

#[test]
fn a_circle_names_ids_and_a_line() {
    let error = read("id,rank,kind,time,after\n0,0,compute,1,\n1,0,compute,1,0 3\n2,0,compute,1,1\n3,0,compute,1,2\n");
    let error = error.unwrap_err();
    assert!((3..=5).contains(&error.line.unwrap()), "{error}");
    assert!(error.reason.starts_with("operations wait for each other, and none can begin: "), "{error}");
}

#[test]
fn what_is_no_table_of_operations() {
    let refused = |text: &[u8]| read(text).unwrap_err().to_string();
    assert!(refused(b"id,rank,kind\n").contains("the table has no operations"));
    assert!(refused(b"").contains("the column is missing"));
    assert!(refused(b"id,rank\n").contains("`kind`") || refused(b"id,rank\n").contains("kind"));
    assert!(refused(b"id,rank,kind,size\n").contains("`size` is not a column of a table of operations"));
    assert!(refused(b"id,rank,kind,id\n").contains("the column stands twice"));
    assert!(refused(b"id,rank,kind\n0,0\n").contains("2 values, but the first line names 3 columns"));
    assert!(refused(b"id,rank,kind\n\x00").contains("binary"));
    assert!(refused(b"id,rank,kind\n0,0,\xff\n").contains("UTF-8"));
    let endless = std::io::Read::chain(&b"id,rank,kind\n"[..], std::io::repeat(b'7'));
    let error = from_csv(endless, "ops.csv", 4).unwrap_err();
    assert!(error.reason.contains("a line is longer than 4096 KiB"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Whatever the cells contain, the result is a table or an error with a reason.
    #[test]
    fn no_cell_makes_it_panic(
        cells in proptest::collection::vec(
            proptest::sample::select(vec![
                "", "0", "1", "2", "3", "send", "compute", "0 1 2", "1 1", "5 us", "20 MB", "-1", "1e9", "99999999999999999999",
                "18446744073709551615", "1099511627775", "4294967295", "\"", "\u{1f600}", "#", " ", "a",
            ]),
            0..60,
        ),
    ) {
        let rows: Vec<String> = cells.chunks(13).map(|row| {
            let mut row = row.to_vec();
            row.resize(13, "");
            row.join(",")
        }).collect();
        if let Err(error) = read(format!("{HEADER}\n{}\n", rows.join("\n"))) {
            prop_assert!(!error.reason.is_empty());
        }
    }

    /// Random waits: the table is accepted if and only if every operation can begin. The test checks this by trying all of them repeatedly.
    #[test]
    fn what_can_begin_is_accepted(
        waits in proptest::collection::btree_set((0..9u64, 0..9u64, any::<bool>()), 0..14),
        needs in proptest::collection::vec(0..3usize, 9),
    ) {
        let of = |id: u64, ack: bool| waits.iter().filter(move |one| one.0 == id && one.2 == ack).map(|one| one.1);
        let all = |id: u64| of(id, false).chain(of(id, true));
        let need = |id: u64| match needs[id as usize] {
            0 => all(id).count(),
            needs => needs,
        };
        let mut rows = String::new();
        for id in 0..9u64 {
            let named = |ack| of(id, ack).map(|from| from.to_string()).collect::<Vec<_>>().join(" ");
            let needs = needs[id as usize].to_string().replace('0', "");
            rows += &format!("{id},0,send,1,5,,{},{},{needs},,,,\n", named(false), named(true));
        }
        let mut begun = [false; 9];
        for _ in 0..9 {
            for id in 0..9 {
                begun[id as usize] |= all(id).filter(|from| begun[*from as usize]).count() >= need(id);
            }
        }
        let plain = (0..9).all(|id| need(id) <= all(id).count() && all(id).all(|from| from != id));
        let read = read(format!("{HEADER}\n{rows}"));
        prop_assert_eq!(read.is_ok(), plain && begun == [true; 9]);
        if let Err(error) = read {
            prop_assert!(error.line.is_some() && error.hint.is_some(), "{}", error);
        }
    }
}
