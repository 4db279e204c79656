use super::*;

/// What waited.
#[derive(Columns)]
struct Part {
    /// Bytes of it.
    #[column(unit = "B")]
    bytes: u64,
    /// The queue.
    #[column(name = "part_queue")]
    queue: Queue,
}

/// One row a test: all that a column can be.
#[derive(Table)]
#[table("tests")]
struct TestRow {
    /// When it began; null: never.
    start: Option<Time>,
    /// Label of its group.
    #[column(as = Group)]
    #[computed(twice: u32 = 2 * self.group, unit = "groups", "the group's index, doubled")]
    group: u32,
    /// What is not told.
    #[column(skip)]
    #[computed(node: NodeId = NodeId(self.hidden), "name of a node")]
    hidden: u32,
    /// The part.
    #[column(flatten)]
    part: Option<Part>,
}

fn row(part: Option<Part>) -> Vec<String> {
    let mut cells = Vec::new();
    TestRow { start: part.as_ref().map(|_| Time(7)), group: 3, hidden: 5, part }
        .cells(&mut |cell| cells.push(format!("{cell:?}")));
    cells
}

#[test]
fn a_row_declares_its_columns_in_their_order() {
    let mut columns = Vec::new();
    TestRow::columns(&mut columns);
    let notified = columns.iter().map(|of| (of.name.as_str(), of.kind, of.nullable, of.unit, of.description));
    assert_eq!(
        notified.collect::<Vec<_>>(),
        [
            ("start_ps", Kind::I64, true, "ps", "when it began; null: never"),
            ("group", Kind::Text, false, "", "label of its group"),
            ("twice", Kind::U32, false, "groups", "the group's index, doubled"),
            ("node", Kind::Text, false, "", "name of a node"),
            ("bytes", Kind::U64, true, "B", "bytes of it"),
            ("part_queue", Kind::U8, true, "0 to 7", "the queue"),
        ]
    );
    assert_eq!((TestRow::NAME, TestRow::DESCRIPTION), ("tests", "One row a test: all that a column can be."));
}

#[test]
fn values_come_in_the_order_of_the_columns_and_what_is_absent_is_null() {
    let of_both = ["Group(3)", "U32(6)", "Node(NodeId(5))"];
    let whole = row(Some(Part { bytes: 9, queue: Queue(2) }));
    assert_eq!(whole, [&["I64(7)"], &of_both[..], &["U64(9)", "U8(2)"]].concat());
    assert_eq!(row(None), [&["Null"], &of_both[..], &["Null", "Null"]].concat());
}

#[test]
fn each_table_has_columns_that_differ() {
    for table in TABLES {
        let mut columns = Vec::new();
        (table.columns)(&mut columns);
        let mut names: Vec<_> = columns.iter().map(|column| &column.name).collect();
        names.sort_unstable();
        names.dedup();
        assert!(!names.is_empty() && names.len() == columns.len(), "{}", table.name);
    }
}
