//! A scenario as read: layers of text that are merged when it is resolved.

use crate::error::ScenarioError;
use crate::resolved::Resolved;
use backwater_engine::Time;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    /// Class of its data.
    pub class: u8,
    /// Names of the nodes to pass with blanks between; hosts may be left out. `None`: ECMP.
    pub path: Option<String>,
}

/// A scenario; every change gives a new one.
#[derive(Clone)]
pub struct Scenario {}

impl Scenario {
    /// Reads TOML. `origin` is what messages call the text; paths in it are relative to `base_dir`.
    pub fn from_text(_text: &str, _origin: &str, _base_dir: &Path) -> Result<Scenario, ScenarioError> {
        Err(ScenarioError::new("not yet written"))
    }

    /// Reads a file.
    pub fn from_file(_path: &Path) -> Result<Scenario, ScenarioError> {
        Err(ScenarioError::new("not yet written"))
    }

    /// With `[variant.NAME]` merged over it.
    pub fn with_variant(&self, _name: &str) -> Result<Scenario, ScenarioError> {
        Err(ScenarioError::new("not yet written"))
    }

    /// With one dotted key overridden; `value` is TOML text, a bare word or quantity is a string.
    pub fn with_set(&self, _key: &str, _value: &str) -> Result<Scenario, ScenarioError> {
        Err(ScenarioError::new("not yet written"))
    }

    /// With the rows of a table as group `label`: those of [`Scenario::flow_table`] if that file's stem is `label`, else in
    /// addition.
    pub fn with_flows(&self, _label: &str, _rows: Arc<[TableFlow]>) -> Scenario {
        self.clone()
    }

    /// Names of its variants.
    pub fn variants(&self) -> Vec<String> {
        Vec::new()
    }

    /// Its title; empty if it has none.
    pub fn title(&self) -> String {
        String::new()
    }

    /// Its seed.
    pub fn seed(&self) -> u64 {
        1
    }

    /// The absolute path of a Parquet flow table that is still to be read and given to [`Scenario::with_flows`].
    pub fn flow_table(&self) -> Option<PathBuf> {
        None
    }

    /// Merges everything and checks it, apart from the rows of flow tables, which [`build`](crate::build) reads.
    pub fn resolve(&self) -> Result<Resolved, ScenarioError> {
        Err(ScenarioError::new("not yet written"))
    }
}
