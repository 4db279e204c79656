//! The directory of a run that belongs to its caller: a scenario with a table of its messages.
//!
//! ```text
//! scenario.toml    the scenario, every value resolved, with one more group of flows
//! messages.csv     id, src, dst, bytes, start in ps, class: a line a message, in the order of sending
//! ```
//!
//! A run of this scenario has the same fingerprint, and every result of it can be had without its caller.

use super::LiveOptions;
use crate::check::Checked;
use crate::error::ScenarioError;
use crate::inputs::RowsOf;
use backwater_net::workload::caller::Message;
use serde_json::json;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

const SCENARIO: &str = "scenario.toml";
const MESSAGES: &str = "messages.csv";

/// A directory in progress.
pub(super) struct Directory {
    path: PathBuf,
    messages: BufWriter<File>,
}

impl Directory {
    /// Creates the directory and its files. Nothing is replaced.
    pub fn begin(path: &Path, checked: &Checked, seed: u64, options: &LiveOptions) -> Result<Directory, ScenarioError> {
        let resolved = checked.resolved();
        if resolved.tables.iter().any(|given| !matches!(given.of, RowsOf::Caller(_))) || !resolved.operations.is_empty()
        {
            let error =
                ScenarioError::new("tables in memory cannot be named in a scenario").file(path.display().to_string());
            return Err(error.hint("leave the directory out, or give tables as CSV files"));
        }
        let group = json!({ "label": options.label, "table": MESSAGES, "keep_queue_pairs": options.keep_connections });
        let text = resolved.to_toml_elsewhere(seed, group);
        let begun = || {
            fs::create_dir_all(path)?;
            File::create_new(path.join(SCENARIO))?.write_all(text.as_bytes())?;
            let mut messages = BufWriter::new(File::create_new(path.join(MESSAGES))?);
            messages.write_all(b"id,src,dst,bytes,start,class\n")?;
            Ok(messages)
        };
        let messages = begun().map_err(|error| unwritten(path, &error))?;
        Ok(Directory { path: path.to_owned(), messages })
    }

    /// A message has been sent.
    pub fn message(&mut self, number: u64, message: &Message) -> Result<(), ScenarioError> {
        let Message { src, dst, bytes, start, class, .. } = message;
        writeln!(self.messages, "{number},{},{},{bytes},{},{}", src.0, dst.0, start.as_ps(), class.0)
            .map_err(|error| unwritten(&self.path, &error))
    }

    /// The run has ended.
    pub fn finish(mut self) -> Result<(), ScenarioError> {
        self.messages.flush().map_err(|error| unwritten(&self.path, &error))
    }
}

fn unwritten(path: &Path, error: &io::Error) -> ScenarioError {
    let wrong = ScenarioError::new(format!("it cannot be written: {error}")).file(path.display().to_string());
    match error.kind() {
        io::ErrorKind::AlreadyExists => wrong.hint("it holds another run; name another directory"),
        _ => wrong.hint("check its permissions and the room on the disk"),
    }
}
