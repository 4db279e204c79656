//! Tables of flows: from CSV, or from rows that the caller has read (Parquet, Arrow).
//!
//! ```text
//! id,src,dst,bytes,start,class,path,ack_path,link
//! 0,h0,h120,20 MB,0,3,leaf0 spine6 leaf15,leaf15 spine2 leaf0,
//! 1,1,112,50000000,5 us,,,,1
//! ```
//!
//! `src` and `dst` are host numbers or names, `bytes` and `start` bare numbers (B, ps) or quantities with a unit. `class` may be missing or
//! empty for the group's, `path` for ECMP, `ack_path` for that of `ack.path`, `link` for the host's choice; `#` begins a comment. The file
//! is read as a stream, and only 40 bytes a row are kept.

use crate::csv_text::{Columns, Form, Lines, Wrong, line, quantity};
use crate::error::ScenarioError;
use crate::inputs::TableFlow;
use backwater_engine::Time;
use backwater_engine::quantity::TOO_MUCH;
use backwater_net::Bytes;
use backwater_net::packet::{Class, HostId};
use backwater_net::spec::Way;
use backwater_net::topology::Index;
use backwater_net::workload::{FlowTable, Group, Row, Ways};
use std::io::{BufReader, Read};
use std::path::Path;

/// Most rows: 0.8 GB of memory.
const MOST_ROWS: usize = 20_000_000;

/// Longest line: a file with longer ones is no table of flows.
const LONGEST_LINE: usize = 64 << 10;

const COLUMNS: [&str; 9] = ["id", "src", "dst", "bytes", "start", "class", "path", "ack_path", "link"];

const FORM: Form<9> = Form {
    what: "flow table",
    columns: COLUMNS,
    needed: 5,
    in_ps: &["start"],
    hint: "a flow table is CSV text with the columns id, src, dst, bytes, start and maybe class, path, ack_path and link",
};

/// The meaning of a flow's required columns, in their order.
const MEANINGS: [&str; 5] = [
    "every flow has a number: 0, 1, 2, …",
    "every flow has a sender: the number or the name of a host",
    "every flow has a receiver: the number or the name of a host",
    "every flow has a size: a number of bytes, or one with a unit as in 20 MB",
    "every flow has a start: 0, a number of ps, or a time with a unit as in 5 us",
];

/// Reads a CSV file as flows of `group`.
pub fn from_csv_file(path: &Path, index: &Index, group: &Group) -> Result<FlowTable, ScenarioError> {
    let name = path.display().to_string();
    match crate::inputs::open(path) {
        Ok(file) => from_csv(BufReader::new(file), &name, index, group),
        Err(error) => Err(ScenarioError::new(format!("cannot read the flow table: {error}")).file(name)),
    }
}

/// Reads CSV text as flows of `group`; messages call it `origin`.
pub fn from_csv(input: impl Read, origin: &str, index: &Index, group: &Group) -> Result<FlowTable, ScenarioError> {
    let mut reader =
        csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_reader(Lines::new(input, LONGEST_LINE));
    let header = reader.headers().map_err(|error| FORM.unreadable(&error, origin))?.clone();
    let columns = FORM.find(&header).map_err(|wrong| wrong.at(origin, Some(1)))?;
    let mut rows = RowReader::new(index, group);
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(|error| FORM.unreadable(&error, origin))? {
        let line = Some(line(&reader));
        flow(&columns, &record, index).and_then(|flow| rows.add(&flow)).map_err(|wrong| wrong.at(origin, line))?;
    }
    rows.finish().map_err(|wrong| wrong.at(origin, None))
}

/// Takes rows that were read elsewhere as flows of `group`; messages call them `origin`.
pub fn from_rows(flows: &[TableFlow], origin: &str, index: &Index, group: &Group) -> Result<FlowTable, ScenarioError> {
    let mut rows = RowReader::new(index, group);
    for (number, flow) in flows.iter().enumerate() {
        let (src, dst) = (HostId(flow.src), HostId(flow.dst));
        let (class, path, ack_path, link) = (flow.class, flow.path.as_deref(), flow.ack_path.as_deref(), flow.link);
        let flow = Flow { id: flow.id, src, dst, bytes: flow.bytes, start: flow.start, class, path, ack_path, link };
        rows.add(&flow).map_err(|wrong| Wrong { row: Some(number), ..wrong }.at(origin, None))?;
    }
    rows.finish().map_err(|wrong| wrong.at(origin, None))
}

/// A row with its texts read.
struct Flow<'r> {
    id: u64,
    src: HostId,
    dst: HostId,
    bytes: u64,
    start: Time,
    class: Option<u8>,
    path: Option<&'r str>,
    ack_path: Option<&'r str>,
    link: Option<u16>,
}

/// Reads the texts of a row.
fn flow<'r>(columns: &Columns<9>, record: &'r csv::StringRecord, index: &Index) -> Result<Flow<'r>, Wrong> {
    let text = |column| columns.text(record, column);
    // Everything except class and paths.
    if let Some(empty) = (0..5).find(|column| text(*column).is_empty()) {
        return Err(Wrong::new(COLUMNS[empty], "", "is empty").hint(MEANINGS[empty]));
    }
    let number = |column: usize, what: &str| {
        let reason = || format!("`{:.60}` is not {what}", text(column));
        text(column).parse::<u64>().map_err(|_| Wrong::new(COLUMNS[column], text(column), reason()))
    };
    let host = |column: usize| {
        let reason = || format!("there is no host `{:.60}`", text(column));
        let hosts = || format!("hosts are numbered 0 to {}, or named", index.hosts().saturating_sub(1));
        let wrong = || Wrong::new(COLUMNS[column], text(column), reason()).hint(hosts());
        index.host(text(column)).ok_or_else(wrong)
    };
    let class = match text(5) {
        "" => None,
        _ => Some(u8::try_from(number(5, "a class from 0 to 7")?).unwrap_or(u8::MAX)),
    };
    Ok(Flow {
        id: number(0, "a number below 2^40")?,
        src: host(1)?,
        dst: host(2)?,
        bytes: quantity(text(3), COLUMNS[3], |text| Ok(text.parse::<Bytes>()?.0))?,
        start: Time(quantity(text(4), COLUMNS[4], |text| Ok(text.parse::<Time>()?.0))?),
        class,
        path: Some(text(6)).filter(|path| !path.is_empty()),
        ack_path: Some(text(7)).filter(|path| !path.is_empty()),
        link: match text(8) {
            "" => None,
            _ => Some(u16::try_from(number(8, "the number of a link")?).unwrap_or(u16::MAX)),
        },
    })
}

/// Checks and collects rows.
struct RowReader<'a> {
    index: &'a Index,
    group: &'a Group,
    rows: Vec<Row>,
    ways: Ways,
}

impl<'a> RowReader<'a> {
    fn new(index: &'a Index, group: &'a Group) -> RowReader<'a> {
        RowReader { index, group, rows: Vec::new(), ways: Ways::default() }
    }

    fn add(&mut self, flow: &Flow<'_>) -> Result<(), Wrong> {
        if self.rows.len() == MOST_ROWS {
            let reason = format!("more than {MOST_ROWS} flows in one table");
            let hint = "split the run, or draw the flows with `arrivals` instead of listing them";
            return Err(Wrong { reason, ..Wrong::default() }.hint(hint));
        }
        if flow.id >= Group::MOST_FLOWS {
            return Err(Wrong::new("id", flow.id, format!("{} is not below 2^40", flow.id)));
        }
        for (column, host) in [("src", flow.src), ("dst", flow.dst)] {
            if host.0 >= self.index.hosts() {
                let hosts = format!("hosts are numbered 0 to {}", self.index.hosts().saturating_sub(1));
                return Err(Wrong::new(column, host.0, format!("there is no host {}", host.0)).hint(hosts));
            }
        }
        if flow.src == flow.dst {
            return Err(Wrong::new("dst", flow.dst.0, format!("host {} sends to itself", flow.src.0)));
        }
        if !self.index.reaches(flow.src, flow.dst) {
            let reason = format!("no way leads from host {} to host {}", flow.src.0, flow.dst.0);
            return Err(Wrong::new("dst", flow.dst.0, reason).hint("join the two parts of the topology by a link"));
        }
        if flow.bytes == 0 {
            return Err(Wrong::new("bytes", 0, "a flow has at least 1 byte"));
        }
        within("bytes", Bytes(flow.bytes), Bytes::MOST)?;
        within("start", flow.start, Time::MOST)?;
        let class = flow.class.map_or(self.group.class, Class);
        if class.0 > 7 {
            return Err(Wrong::new("class", class.0, format!("{} is not a class from 0 to 7", class.0)));
        }
        let pinned = |column: &'static str, names: Option<&str>, from: HostId, to: HostId| {
            let path = |names: &str| {
                let path = self.index.path(from, to, names.split_whitespace());
                path.map_err(|error| Wrong::new(column, names, error.to_string()))
            };
            names.map(path).transpose()
        };
        let data = pinned("path", flow.path, flow.src, flow.dst)?;
        let acks = pinned("ack_path", flow.ack_path, flow.dst, flow.src)?;
        if let Some(link) = flow.link.filter(|link| self.index.links(flow.src) <= u32::from(*link)) {
            let last = self.index.links(flow.src).saturating_sub(1);
            let hint = format!("its links are numbered from 0 to {last}");
            return Err(Wrong::new("link", link, format!("host {} has no link {link}", flow.src.0)).hint(hint));
        }
        let (id, way) = (self.group.flow_id(flow.id), self.ways.number(Way { data, acks, link: flow.link }));
        self.rows.push(Row { id, bytes: flow.bytes, start: flow.start, src: flow.src, dst: flow.dst, way, class });
        Ok(())
    }

    fn finish(self) -> Result<FlowTable, Wrong> {
        let mut ids: Vec<u64> = self.rows.iter().map(|row| row.id).collect();
        ids.sort_unstable();
        if let Some(twice) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
            let id = twice[0] & (Group::MOST_FLOWS - 1);
            return Err(Wrong::new("id", id, format!("two flows have the id {id}")).hint("number the flows 0, 1, 2, …"));
        }
        Ok(FlowTable::new(self.rows, self.ways))
    }
}

/// Checks that a quantity does not exceed the limit of a scenario file.
fn within<Q: PartialOrd + std::fmt::Display>(column: &'static str, value: Q, most: Q) -> Result<(), Wrong> {
    if value <= most {
        return Ok(());
    }
    Err(Wrong::new(column, &value, format!("{value} is more than {most}")).hint(TOO_MUCH))
}

#[cfg(test)]
mod tests;
