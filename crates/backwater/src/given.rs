//! What a scenario's caller has read and gives: rows of flow tables, and operations of jobs. And how large a text may be that is read whole.

use backwater_engine::Time;
use backwater_net::workload::graph::Operations;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Largest scenario file \[bytes\]. Longer ones are flow tables, which have files of their own.
pub const LARGEST: u64 = 16 << 20;

/// One row of a flow table that the caller has read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableFlow {
    /// Identity, unique in the run.
    pub id: u64,
    /// Number of the sending host.
    pub src: u32,
    /// Number of the receiving host.
    pub dst: u32,
    /// \[bytes\] Payload.
    pub bytes: u64,
    /// When it starts.
    pub start: Time,
    /// Class of its data. `None`: the group's.
    pub class: Option<u8>,
    /// Names of the nodes to pass with blanks between; hosts may be left out. `None`: ECMP.
    pub path: Option<String>,
    /// The same for its acknowledgements, from the receiver on. `None`: as `ack.path` says.
    pub ack_path: Option<String>,
    /// Number of the link by which it leaves a host with several. `None`: the host chooses.
    pub link: Option<u16>,
}

/// Rows that the caller has read.
#[derive(Clone)]
pub(crate) struct GivenRows {
    pub of: RowsOf,
    pub rows: Arc<[TableFlow]>,
}

/// Operations that the caller has read, and the absolute path of their file.
pub(crate) type GivenOperations = (PathBuf, Arc<Operations>);

/// What rows belong to.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum RowsOf {
    /// Every group whose table is the file at this absolute path.
    File(PathBuf),
    /// A group of their own, of this label.
    Label(String),
}

/// Whether a flow table is Parquet, by its name.
pub(crate) fn is_parquet(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|e| e.eq_ignore_ascii_case("parquet"))
}

/// The absolute path of a flow table.
pub(crate) fn place_of(base_dir: &Path, file: &str) -> PathBuf {
    let path = base_dir.join(file);
    std::path::absolute(&path).unwrap_or(path)
}
