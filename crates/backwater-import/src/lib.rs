//! Files of other simulators, of collective libraries and of switches, turned into scenarios of Backwater.
//!
//! ```text
//! files ── recognised by content ── a family parses its kinds ── one scenario, its tables, and notes
//!          registry.rs               htsim/, hpcc/, …              page.rs, table.rs, note.rs
//! ```
//!
//! A *family* is the files of one origin, which belong together: a connection matrix and a topology of htsim, say. It has a directory of
//! its own and a line in [`registry`]. A family turns files into the text of a scenario ([`ScenarioWriter`]) and tables of flows or
//! operations beside it ([`tables::Flows`], [`tables::Operations`]). It reports omissions and assumptions in a [`Note`] with file and line:
//! nothing is ignored silently.
//!
//! This crate knows no simulator: a scenario is text, and the crate `backwater` checks it. Every parser accepts any octets and returns a
//! value or an [`ImportError`]; memory is in proportion to the file, whatever its counts.

mod error;
mod fabric;
pub mod family;
#[doc(hidden)]
pub mod mutation;
mod note;
mod options;
pub mod registry;
mod scenario_writer;
mod source;
pub mod tables;
pub mod units;
pub mod words;

mod chakra;
mod goal;
mod graph;
mod hpcc;
mod htsim;
mod msccl;
mod nccl;
mod schedule;
mod simai;
mod sonic;
mod xml;

pub use error::ImportError;
pub use note::{Note, NoteKind, Notes};
pub use options::{Asked, ChipPreset, Needed, Options, Pauses, StartUnit};
pub use scenario_writer::ScenarioWriter;
pub use source::{Folder, Head, Memory, Place, Source};

use family::Work;

/// The result of an import, beside the tables that it has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The kinds of the files, as `--format` names them, in the order of the files.
    pub kinds: Vec<&'static str>,
    /// The scenario, TOML text with comments. Names of tables in it are relative to its own place.
    pub scenario: String,
    /// Omissions, assumptions and differences: file by file, line by line.
    pub notes: Vec<Note>,
}

/// Turns files into one scenario. Tables are created in `place`, their names begin with `stem`.
///
/// # Errors
///
/// A file of no kind or of several, a file with errors, or one that does not fit the others.
pub fn import(
    sources: Vec<Source>,
    stem: &str,
    options: &Options,
    place: &mut dyn Place,
) -> Result<Imported, ImportError> {
    let given = registry::recognised(sources, options)?;
    let kinds = given.files.iter().map(|(kind, _)| kind.name).collect();
    let mut notes = Notes::default();
    let family = given.family;
    let mut work = Work { stem, options, fabric: options.fabric.as_ref(), place, notes: &mut notes };
    work.unused(family);
    let written = (family.combine)(given, &mut work);
    let writer = written.map_err(|error| notes.with_unknown(error))?;
    Ok(Imported { kinds, scenario: writer.into_text(), notes: notes.into_list() })
}
