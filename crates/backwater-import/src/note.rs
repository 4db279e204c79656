//! What an import left out or assumed.

use std::fmt;

/// What a note is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sort {
    /// It stands in the file and has no effect here.
    Ignored,
    /// It does not stand in the file, and something had to be chosen.
    Assumed,
    /// It has an effect here that is not quite that of the program it was written for.
    Differs,
    /// What the import found out about the configuration itself.
    Verdict,
}

impl Sort {
    /// The word that messages begin with.
    pub fn word(self) -> &'static str {
        match self {
            Sort::Ignored => "ignored",
            Sort::Assumed => "assumed",
            Sort::Differs => "differs",
            Sort::Verdict => "verdict",
        }
    }
}

/// Something that the reader of an imported scenario should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The file.
    pub file: String,
    /// Its line, where there is one.
    pub line: Option<u64>,
    /// What the note is about.
    pub sort: Sort,
    /// A sentence without its full stop.
    pub text: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}: {}", self.sort.word(), self.text)
    }
}

/// Notes as they are gathered. Of notes that differ only in their line the first is kept, with how many more there are.
#[derive(Debug, Default)]
pub struct Notes {
    list: Vec<(Note, u64)>,
}

/// Most notes of different texts: more would be a file that is something else.
const MOST: usize = 1000;

impl Notes {
    /// Adds a note.
    pub fn add(&mut self, sort: Sort, file: &str, line: Option<u64>, text: impl Into<String>) {
        let text = text.into();
        if let Some((_, more)) = self.list.iter_mut().find(|(n, _)| n.sort == sort && n.text == text && n.file == file)
        {
            *more += 1;
        } else if self.list.len() < MOST {
            self.list.push((Note { file: file.to_owned(), line, sort, text }, 0));
        }
    }

    /// Something in the file has no effect.
    pub fn ignored(&mut self, file: &str, line: Option<u64>, text: impl Into<String>) {
        self.add(Sort::Ignored, file, line, text);
    }

    /// Something was chosen.
    pub fn assumed(&mut self, file: &str, line: Option<u64>, text: impl Into<String>) {
        self.add(Sort::Assumed, file, line, text);
    }

    /// Something is not quite the same here.
    pub fn differs(&mut self, file: &str, line: Option<u64>, text: impl Into<String>) {
        self.add(Sort::Differs, file, line, text);
    }

    /// Something was found out.
    pub fn verdict(&mut self, file: &str, line: Option<u64>, text: impl Into<String>) {
        self.add(Sort::Verdict, file, line, text);
    }

    /// All, in the order in which they came.
    pub fn into_list(self) -> Vec<Note> {
        let told = |(note, more): (Note, u64)| match more {
            0 => note,
            1 => Note { text: format!("{} (and once more)", note.text), ..note },
            _ => Note { text: format!("{} (and {more} times more)", note.text), ..note },
        };
        self.list.into_iter().map(told).collect()
    }
}
