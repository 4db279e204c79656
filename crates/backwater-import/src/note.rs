//! Notes on omissions and assumptions of an import.

use crate::error::ImportError;
use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::fmt;
use std::hash::{Hash, Hasher};

/// The kind of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NoteKind {
    /// It is in the file and has no effect here.
    Ignored,
    /// It is not in the file, and a value had to be chosen.
    Assumed,
    /// Its effect here differs from that in the original program.
    Differs,
    /// A result of the import about the configuration itself.
    Verdict,
}

impl NoteKind {
    /// The word that messages begin with.
    pub fn word(self) -> &'static str {
        match self {
            NoteKind::Ignored => "ignored",
            NoteKind::Assumed => "assumed",
            NoteKind::Differs => "differs",
            NoteKind::Verdict => "verdict",
        }
    }
}

/// Information for the reader of an imported scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The file.
    pub file: String,
    /// Its first line, if any.
    pub line: Option<u64>,
    /// The kind.
    pub kind: NoteKind,
    /// A sentence without its full stop. It names the first of many names and lines.
    pub text: String,
    /// All lines that it concerns, in the order of reading.
    pub lines: Vec<u64>,
    /// The names of everything that it concerns, if there are names.
    pub names: Vec<String>,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}: {}", self.kind.word(), self.text)
    }
}

/// Collected notes. Those with the same text for several names, or in several lines, become one.
#[derive(Debug, Default)]
pub struct Notes {
    list: Vec<Gathered>,
    /// Places in `list` by a hash of text and file: a file may have as many notes as lines.
    places: HashMap<u64, Vec<usize>>,
    /// Unknown things, with their place: they may be the cause of a later error.
    not_known: Vec<String>,
}

/// Notes of one file with the same text.
#[derive(Debug)]
struct Gathered {
    file: String,
    kind: NoteKind,
    text: String,
    /// True if their subjects have names.
    named: bool,
    /// Their subjects; a subject has no name if the text alone describes it.
    about: Vec<About>,
    /// Its place in `about`, by name.
    places: HashMap<String, usize>,
    /// Names for the text, which has some of them.
    names: Vec<String>,
}

/// The subject of notes.
#[derive(Debug)]
struct About {
    name: String,
    /// Its lines.
    lines: Vec<u64>,
    /// The number of its notes: it may have no line.
    times: u64,
}

/// Most names in a text; [`Note::names`] has all.
pub const NAMES: usize = 100;

/// Most unknown things that an error names.
const SUSPECTS: usize = 8;

/// Most lines of one subject in a text.
const LINES: usize = 8;

impl Notes {
    /// Adds a note.
    pub fn add(&mut self, kind: NoteKind, file: &str, line: Option<u64>, text: impl Into<String>) {
        self.named(kind, file, line, "", text);
    }

    /// Adds a note about something with a name. Notes with the same text share a sentence.
    pub fn named(&mut self, kind: NoteKind, file: &str, line: Option<u64>, name: &str, text: impl Into<String>) {
        let gathered = self.gathered(kind, file, !name.is_empty(), text.into());
        let place = *gathered.places.entry(name.to_owned()).or_insert(gathered.about.len());
        if place == gathered.about.len() {
            gathered.about.push(About { name: name.to_owned(), lines: Vec::new(), times: 0 });
        }
        let about = &mut gathered.about[place];
        about.times += 1;
        about.lines.extend(line.filter(|line| about.lines.last() != Some(line)));
    }

    /// Adds a note whose text contains some of its names.
    pub fn some(&mut self, kind: NoteKind, file: &str, line: Option<u64>, names: &[&str], text: impl Into<String>) {
        let text = text.into();
        self.add(kind, file, line, text.as_str());
        let own = self.gathered(kind, file, false, text);
        own.names.extend(names.iter().map(|name| (*name).to_owned()));
    }

    /// Returns the notes with the same text.
    fn gathered(&mut self, kind: NoteKind, file: &str, named: bool, text: String) -> &mut Gathered {
        let mut hasher = DefaultHasher::new();
        (kind, file, named, text.as_str()).hash(&mut hasher);
        let places = self.places.entry(hasher.finish()).or_default();
        let same = |place: &&usize| {
            self.list
                .get(**place)
                .is_some_and(|one| one.kind == kind && one.named == named && one.text == text && one.file == file)
        };
        let place = places.iter().find(same).copied().unwrap_or_else(|| {
            places.push(self.list.len());
            let (about, by_name, names) = Default::default();
            self.list.push(Gathered { file: file.to_owned(), kind, text, named, about, places: by_name, names });
            self.list.len() - 1
        });
        &mut self.list[place]
    }

    /// Something in the file has no effect.
    pub fn ignored(&mut self, file: &str, line: Option<u64>, text: impl Into<String>) {
        self.add(NoteKind::Ignored, file, line, text);
    }

    /// A key, an option or a field has no effect: its name, and why.
    pub fn unread(&mut self, file: &str, line: Option<u64>, name: &str, why: impl Into<String>) {
        self.named(NoteKind::Ignored, file, line, name, why);
    }

    /// The same for something that no program knows: an error of the import names it, too.
    pub fn unknown(&mut self, file: &str, line: Option<u64>, name: &str, why: impl Into<String>) {
        self.unread(file, line, name, why);
        let place = line.map_or_else(String::new, |line| format!(":{line}"));
        self.suspect(format!("{name} ({file}{place})"));
    }

    /// Records something that an error of the import must name, since it may be the cause.
    pub fn suspect(&mut self, what: String) {
        if !self.not_known.contains(&what) && self.not_known.len() < SUSPECTS {
            self.not_known.push(what);
        }
    }

    /// An error with unknown things in its hint.
    pub fn with_unknown(&self, error: ImportError) -> ImportError {
        if self.not_known.is_empty() {
            return error;
        }
        let also = format!("not known, and perhaps misspelt: {}", self.not_known.join(", "));
        let hint = error.hint.as_ref().map_or_else(|| also.clone(), |hint| format!("{hint}; {also}"));
        error.hint(hint)
    }

    /// Something was chosen.
    pub fn assumed(&mut self, file: &str, line: Option<u64>, text: impl Into<String>) {
        self.add(NoteKind::Assumed, file, line, text);
    }

    /// Something differs here.
    pub fn differs(&mut self, file: &str, line: Option<u64>, text: impl Into<String>) {
        self.add(NoteKind::Differs, file, line, text);
    }

    /// A result about the configuration.
    pub fn verdict(&mut self, file: &str, line: Option<u64>, text: impl Into<String>) {
        self.add(NoteKind::Verdict, file, line, text);
    }

    /// All, in the order in which they came.
    pub fn into_list(self) -> Vec<Note> {
        self.list.into_iter().map(Gathered::into_note).collect()
    }
}

impl Gathered {
    fn into_note(mut self) -> Note {
        self.about.sort_by_key(|about| about.lines.first().copied());
        let line = self.about.iter().find_map(|about| about.lines.first().copied());
        // The first line stands before the text.
        let mut before = line;
        let named = |About { name, lines, times }: &About| {
            let own = if before.take().is_some() { lines.get(1..).unwrap_or_default() } else { lines };
            let places = match (lines.is_empty(), own.is_empty()) {
                (true, _) if *times > 1 => format!("{times} times"),
                (_, true) => return name.clone(),
                (false, false) if name.is_empty() => format!("and {}", line_ranges(own)),
                (_, false) => line_ranges(own),
            };
            format!("{name} ({places})")
        };
        let shown: Vec<String> = self.about.iter().take(NAMES).map(named).collect();
        let hidden = match self.about.len().saturating_sub(NAMES) {
            0 => String::new(),
            hidden => format!(" and {hidden} more"),
        };
        let text = match self.about.first() {
            Some(about) if !about.name.is_empty() => format!("{}{hidden}: {}", shown.join(", "), self.text),
            _ => self.text + &shown.concat(),
        };
        let (mut lines, mut names) = (Vec::new(), self.names);
        for about in self.about {
            lines.extend(about.lines);
            names.extend(Some(about.name).filter(|name| !name.is_empty()));
        }
        Note { file: self.file, line, kind: self.kind, text, lines, names }
    }
}

/// Lines, with ranges for consecutive ones, and only the first of many: `lines 3, 5-9, 12 and 40 more`. Empty without lines.
fn line_ranges(lines: &[u64]) -> String {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for line in lines {
        match ranges.last_mut() {
            Some((_, to)) if *to + 1 == *line => *to = *line,
            _ => ranges.push((*line, *line)),
        }
    }
    let shown = ranges.iter().take(LINES);
    let hidden: u64 = ranges.iter().skip(LINES).map(|(from, to)| to - from + 1).sum();
    let shown: Vec<String> =
        shown.map(|(from, to)| if from == to { from.to_string() } else { format!("{from}-{to}") }).collect();
    match (lines, hidden) {
        ([], _) => String::new(),
        ([line], _) => format!("line {line}"),
        (_, 0) => format!("lines {}", shown.join(", ")),
        _ => format!("lines {} and {hidden} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(notes: Notes) -> Vec<String> {
        notes.into_list().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn names_that_share_a_reason_are_all_named() {
        let mut notes = Notes::default();
        for (line, name) in [(3, "A"), (7, "B"), (9, "A"), (12, "C")] {
            notes.unread("f", Some(line), name, "of others");
        }
        notes.unread("f", Some(20), "D", "for another reason");
        notes.unread("--command", None, "-x 1", "of others");
        assert_eq!(
            texts(notes),
            [
                "f:3: ignored: A (line 9), B (line 7), C (line 12): of others",
                "f:20: ignored: D: for another reason",
                "--command: ignored: -x 1: of others",
            ]
        );
    }

    #[test]
    fn lines_of_the_same_are_told_as_ranges_and_kept_in_full() {
        let mut notes = Notes::default();
        for line in [2, 4, 5, 6, 6, 9] {
            notes.differs("f", Some(line), "rounded");
        }
        for line in (0..12).map(|n| 10 * n) {
            notes.ignored("g", Some(line), "odd");
        }
        notes.assumed("h", None, "chosen");
        notes.assumed("h", None, "chosen");
        let list = notes.into_list();
        let line_ranges: Vec<String> = list.iter().map(ToString::to_string).collect();
        assert_eq!(line_ranges[0], "f:2: differs: rounded (and lines 4-6, 9)");
        assert_eq!(line_ranges[1], "g:0: ignored: odd (and lines 10, 20, 30, 40, 50, 60, 70, 80 and 3 more)");
        assert_eq!(line_ranges[2], "h: assumed: chosen (2 times)");
        assert_eq!(list[0].lines, [2, 4, 5, 6, 9]);
        assert_eq!(list[1].lines.len(), 12);
    }

    #[test]
    fn of_many_notes_none_is_left_out() {
        let mut notes = Notes::default();
        (0..5000u64).for_each(|n| notes.ignored("f", Some(n), format!("the {n}th")));
        notes.unread("f", Some(7000), "a name", "the 3th");
        let list = notes.into_list();
        assert_eq!(list.len(), 5001);
        assert_eq!((list[4321].text.as_str(), list[4321].line), ("the 4321th", Some(4321)));
        assert_eq!(list[5000].to_string(), "f:7000: ignored: a name: the 3th");
    }

    #[test]
    fn of_many_names_the_first_are_shown_and_all_are_kept() {
        let all: Vec<String> = (0..2500).map(|n| format!("key{n}")).collect();
        let mut notes = Notes::default();
        for (name, line) in all.iter().zip(1u64..) {
            notes.unread("f", Some(line), name, "of others");
        }
        let list = notes.into_list();
        assert_eq!((list.len(), list[0].names.len(), list[0].lines.len()), (1, 2500, 2500));
        assert_eq!(list[0].names, all);
        assert!(list[0].text.starts_with("key0, key1 (line 2), "), "{}", list[0].text);
        assert!(list[0].text.ends_with(", key99 (line 100) and 2400 more: of others"), "{}", list[0].text);
    }

    #[test]
    fn a_text_with_some_names_comes_with_all() {
        let mut notes = Notes::default();
        notes.some(NoteKind::Differs, "f", Some(3), &["a", "b", "c"], "no x at a and 2 more");
        let list = notes.into_list();
        assert_eq!(list[0].to_string(), "f:3: differs: no x at a and 2 more");
        assert_eq!((list[0].names.join(" "), list[0].lines.len()), ("a b c".to_owned(), 1));
    }
}
