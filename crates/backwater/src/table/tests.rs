use super::*;
use backwater_net::topology::{Graph, LeafSpine};
use std::io;

fn graph() -> Graph {
    LeafSpine { leaves: 2, spines: 2, hosts_per_leaf: 2, ..LeafSpine::default() }.build().unwrap()
}

fn group() -> Group {
    Group { index: 0, stream: "table".into(), class: Class(3), ect: true }
}

fn read(text: impl AsRef<[u8]>) -> Result<FlowTable, ScenarioError> {
    let graph = graph();
    from_csv(text.as_ref(), "flows.csv", &Index::new(graph.clone().into()), &group())
}

fn refused(text: impl AsRef<[u8]>) -> String {
    read(text).unwrap_err().to_string()
}

#[test]
fn numbers_names_quantities_and_paths() {
    let table = read(
        "id, src, dst, bytes, start, class, path, ack_path\n\
         # a remark\n\
         0, h0, h2, 20 MB, 5 us, 4, leaf0 spine1 leaf1, h2 leaf1 spine0 leaf0\n\
         1, 1, 3, 64, 0, , ,\n",
    )
    .unwrap();
    let [first, second] = table.rows() else { panic!("{:?}", table.rows()) };
    assert_eq!((first.id, first.bytes, first.class, first.way), (1, 64, Class(3), Row::ECMP));
    assert_eq!((second.src, second.dst, second.bytes), (HostId(0), HostId(2), 20_000_000));
    assert_eq!((second.start, second.class), (Time::us(5), Class(4)));
    let way = table.way(second);
    assert_eq!([way.data, way.acks].map(|path| path.map(|path| path.len())), [Some(5), Some(5)]);
}

#[test]
fn class_and_path_may_be_absent_and_columns_in_any_order() {
    let table = read("start_ps,bytes,dst,src,id\n7,8,1,0,9\n").unwrap();
    let row = table.rows()[0];
    assert_eq!((row.start, row.bytes, row.src, row.dst, row.id), (Time(7), 8, HostId(0), HostId(1), 9));
}

#[test]
fn lines_are_counted_with_remarks_and_whatever_their_ends() {
    let text = "id,src,dst,bytes,start\n\n# a remark\n0,0,1,5,0\n# another\n# one more\n\n1,h9,1,5,0";
    for text in [text.to_owned(), format!("{text}\n"), text.replace('\n', "\r\n"), text.replace('\n', "\r\n") + "\r\n"]
    {
        assert_eq!(read(&text).unwrap_err().line, Some(8), "{text:?}");
    }
}

#[test]
fn errors_name_line_column_value_and_reason() {
    let with = |row: &str| {
        let error = read(format!("id,src,dst,bytes,start\n0,0,1,5,0\n{row}\n")).unwrap_err();
        (error.line, error.key.clone().unwrap_or_default(), error.value.clone().unwrap_or_default(), error.reason)
    };
    let expect = |row, column: &str, value: &str, reason: &str| {
        assert_eq!(with(row), (Some(3), column.into(), value.into(), reason.into()));
    };
    expect("1,0,1,5,", "start", "", "is empty");
    expect("1,0,1,,0", "bytes", "", "is empty");
    expect("1,,1,5,0", "src", "", "is empty");
    expect(",0,1,5,0", "id", "", "is empty");
    expect("x,0,1,5,0", "id", "x", "`x` is not a number below 2^40");
    expect("1099511627776,0,1,5,0", "id", "1099511627776", "1099511627776 is not below 2^40");
    expect("1,h9,1,5,0", "src", "h9", "there is no host `h9`");
    expect("1,1,1,5,0", "dst", "1", "host 1 sends to itself");
    expect("1,0,1,5 Kb,0", "bytes", "5 Kb", "`Kb` is not a unit of a size");
    expect("1,0,1,0,0", "bytes", "0", "a flow has at least 1 byte");
    expect("1,0,1,5,-3", "start", "-3", "`-3` is not a time");
    expect("1,0,1,5", "", "", "4 values, but the first line names 5 columns");
    assert!(refused("id,src,dst,bytes,start,class\n0,0,1,5,0,8\n").contains("8 is not a class from 0 to 7"));
    assert!(refused("id,src,dst,bytes,start,class\n0,0,1,5,0,300\n").contains("is not a class from 0 to 7"));
    let path = "id,src,dst,bytes,start,path\n0,0,1,5,0,leaf1\n";
    assert!(refused(path).contains("from `h0` to `leaf1`, which no link joins"));
}

#[test]
fn errors_of_the_whole_table() {
    assert!(refused("id,src,dst,bytes,start\n4,0,1,5,0\n4,1,0,5,9\n").contains("two flows have the id 4"));
    assert!(refused("id,src,dst,size,start\n").contains("`size` is not a column"));
    assert!(refused("id,src,dst,byte,start\n").contains("did you mean `bytes`?"));
    assert!(refused("id,src,dst,bytes,id\n").contains("stands twice"));
    assert!(refused("id,src,dst,bytes\n").contains("start: the column is missing"));
    assert!(refused("").contains("the column is missing"));
}

#[test]
fn what_is_no_table_is_refused_early() {
    assert!(refused(b"id,src\0,dst").contains("binary"));
    assert!(refused(b"id,src,dst,bytes,start\n0,0,1,\xff,5\n").contains("not text"));
    // Endless, like a large file without line ends.
    let graph = graph();
    let endless = from_csv(io::repeat(b'x'), "big", &Index::new(graph.clone().into()), &group()).unwrap_err();
    assert!(endless.to_string().contains("longer than 64 KiB"), "{endless}");
    let quoted = io::Read::chain(&b"id,src,dst,bytes,start\n\""[..], io::repeat(b'"'));
    assert!(from_csv(quoted, "big", &Index::new(graph.clone().into()), &group()).is_err());
    let missing = from_csv_file(Path::new("no/such.csv"), &Index::new(graph.clone().into()), &group()).unwrap_err();
    assert!(missing.to_string().starts_with("no/such.csv: cannot read the flow table"), "{missing}");
}

#[test]
fn an_endless_quoted_field_with_line_ends_is_refused() {
    struct LinesForEver;
    impl Read for LinesForEver {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n = buffer.len().min(2);
            buffer[..n].copy_from_slice(&b"x\n"[..n]);
            Ok(n)
        }
    }
    let graph = graph();
    let quoted = io::Read::chain(&b"id,src,dst,bytes,start\n\""[..], LinesForEver);
    let error = from_csv(quoted, "big", &Index::new(graph.clone().into()), &group()).unwrap_err();
    assert!(error.to_string().contains("quotation"), "{error}");
}

#[test]
fn rows_that_were_read_elsewhere() {
    let graph = graph();
    let index = Index::new(graph.clone().into());
    let flow = TableFlow {
        id: 3,
        src: 0,
        dst: 3,
        bytes: 9,
        start: Time(4),
        class: Some(5),
        path: Some("leaf0 spine0 leaf1".into()),
        ack_path: Some("leaf1 spine1 leaf0".into()),
        link: None,
    };
    let table = from_rows(std::slice::from_ref(&flow), "table", &index, &group()).unwrap();
    assert_eq!((table.rows()[0].id, table.rows()[0].class, table.rows()[0].way), (3, Class(5), 0));
    let way = table.way(&table.rows()[0]);
    let spines = [way.data, way.acks].map(|path| graph.nodes[path.unwrap()[2].0 as usize].name.clone());
    assert_eq!(spines, ["spine0", "spine1"]);
    let forth = TableFlow { ack_path: flow.path.clone(), ..flow.clone() };
    let error = from_rows(&[forth], "table", &index, &group()).unwrap_err();
    assert_eq!((error.key.as_deref(), error.reason.contains("no link")), (Some("ack_path"), true), "{error}");
    let error = from_rows(&[flow.clone(), TableFlow { src: 4, ..flow }], "table", &index, &group()).unwrap_err();
    assert_eq!((error.reason.as_str(), error.key.as_deref()), ("row 1 (from 0): there is no host 4", Some("src")));
    assert_eq!(error.hint.as_deref(), Some("hosts are numbered 0 to 3"));
}

#[test]
fn an_empty_cell_is_told_with_what_belongs_there() {
    assert_eq!(
        refused("id,src,dst,bytes,start\n0,0,1,5,0\n1,0,1,5,\n"),
        "flows.csv:3: start: is empty\nhint: every flow has a start: 0, a number of ps, or a time with a unit as in 5 us"
    );
}

#[test]
fn rows_without_a_class_have_the_group_s() {
    let graph = graph();
    let row = |id, class| TableFlow {
        id,
        src: 0,
        dst: 1,
        bytes: 1,
        start: Time::ZERO,
        class,
        path: None,
        ack_path: None,
        link: None,
    };
    let table =
        from_rows(&[row(0, None), row(1, Some(5))], "rows", &Index::new(graph.clone().into()), &group()).unwrap();
    assert_eq!(table.rows().iter().map(|row| row.class).collect::<Vec<_>>(), [Class(3), Class(5)]);
}

/// The same limit for a file, a table and its caller.
#[test]
fn quantities_have_the_limits_of_scenario_files() {
    let of = |bytes: &str, start: &str| read(format!("id,src,dst,bytes,start\n0,0,1,{bytes},{start}\n"));
    assert_eq!(of("1000000000000000000", "8640000 s").unwrap().rows()[0].bytes, 1_000_000_000_000_000_000);
    for (bytes, start, column) in [
        ("1000000000000000001", "0", "bytes"),
        ("18446744073709551615", "0", "bytes"),
        ("1000001 TB", "0", "bytes"),
        ("1", "8640000000000000001", "start"),
        ("1", "8640001 s", "start"),
    ] {
        let error = of(bytes, start).unwrap_err();
        assert_eq!(error.key.as_deref(), Some(column), "{bytes} {start}");
        assert!(error.reason.contains(" is more than "), "{}", error.reason);
    }
    let given = |bytes, start| TableFlow {
        id: 0,
        src: 0,
        dst: 1,
        bytes,
        start,
        class: None,
        path: None,
        ack_path: None,
        link: None,
    };
    let given = |bytes, start| from_rows(&[given(bytes, start)], "rows", &Index::new(graph().into()), &group());
    assert!(given(1_000_000_000_000_000_000, Time::ZERO).is_ok());
    assert_eq!(given(u64::MAX, Time::ZERO).unwrap_err().key.as_deref(), Some("bytes"));
    assert_eq!(given(1, Time::NEVER).unwrap_err().key.as_deref(), Some("start"));
}
