//! A family of files: its kinds, and their conversion into a scenario.

use crate::error::ImportError;
use crate::fabric::{self, Bare};
use crate::note::Notes;
use crate::options::Options;
use crate::scenario_writer::ScenarioWriter;
use crate::source::{Head, Place, Source};

/// Files of one origin, which belong together.
#[derive(Debug)]
pub struct Family {
    /// Its name for `--format`.
    pub name: &'static str,
    /// The origin of the files.
    pub about: &'static str,
    /// Its kinds of files.
    pub kinds: &'static [Kind],
    /// Kinds of other families that may accompany its own files.
    pub beside: &'static [&'static str],
    /// The options that it uses, of [`Options::given_options`].
    pub uses: &'static [&'static str],
    /// Turns files of its kinds into one scenario.
    pub combine: fn(InputFiles, &mut Work<'_>) -> Result<ScenarioWriter, ImportError>,
}

/// A kind of file.
#[derive(Debug)]
pub struct Kind {
    /// Its name for `--format`.
    pub name: &'static str,
    /// Its content.
    pub about: &'static str,
    /// Returns whether a file with this beginning is of the kind. A file that could be of two kinds is refused, so the function examines
    /// the whole head.
    pub recognise: fn(&Head) -> bool,
}

/// The files that are given, each with its kind.
#[derive(Debug)]
pub struct InputFiles {
    /// Their family.
    pub family: &'static Family,
    /// In the order of the command line.
    pub files: Vec<(&'static Kind, Source)>,
}

impl InputFiles {
    /// The files of a kind.
    pub fn of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Source> + 'a {
        self.files.iter().filter(move |(own, _)| own.name == kind).map(|(_, source)| source)
    }

    /// The only file of a kind that may occur once.
    pub fn at_most_one<'a>(&'a self, kind: &'a str) -> Result<Option<&'a Source>, ImportError> {
        let mut all = self.of(kind);
        let first = all.next();
        match all.next() {
            Some(second) => Err(second.error(format!("another {kind} beside it")).hint("give one of them")),
            None => Ok(first),
        }
    }
}

/// The environment of a family's conversion.
pub struct Work<'a> {
    /// The beginning of the names of tables.
    pub stem: &'a str,
    /// The caller's options.
    pub options: &'a Options,
    /// The caller's fabric, with its name, unless the files have no workload for it.
    pub fabric: Option<&'a (String, String)>,
    /// The place of tables.
    pub place: &'a mut dyn Place,
    /// Notes for the reader.
    pub notes: &'a mut Notes,
}

impl Work<'_> {
    /// Writes the title, unless the caller gives a fabric: that has its own title, if any.
    pub fn title(&self, title: &str, writer: &mut ScenarioWriter) {
        if self.fabric.is_none() {
            writer.key("title", title);
        }
    }

    /// Writes the caller's fabric, without its workload. Returns whether there is one.
    pub fn write_fabric(&mut self, writer: &mut ScenarioWriter) -> Result<bool, ImportError> {
        let Some((name, text)) = self.fabric else { return Ok(false) };
        let Bare { text, flows, jobs } = fabric::bare(name, text)?;
        if flows + jobs > 0 {
            let plural = |count| if count == 1 { "" } else { "s" };
            let text = format!(
                "{flows} flow group{} and {jobs} job{}: the workload is the imported one",
                plural(flows),
                plural(jobs)
            );
            self.notes.ignored(name, None, text);
        }
        writer.fabric(name, &text);
        Ok(true)
    }

    /// The files have no workload, so the caller's fabric is not used.
    pub fn no_workload(&mut self) {
        if self.fabric.take().is_some() {
            let text = "the files have no workload to run on it; give it to the import of one";
            self.notes.ignored("--fabric", None, text);
        }
    }

    /// Notes the options that a family does not use.
    pub(crate) fn unused(&mut self, family: &Family) {
        for name in self.options.given_options().filter(|name| !family.uses.contains(name)) {
            match name {
                "--fabric" => self.no_workload(),
                _ => self.notes.ignored(name, None, format!("files of {} do not need it", family.name)),
            }
        }
    }
}
