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
    /// Its first line, where there is one.
    pub line: Option<u64>,
    /// What the note is about.
    pub sort: Sort,
    /// A sentence without its full stop. It names all that it is about, and of many lines the first ones.
    pub text: String,
    /// All lines that it is about, in the order in which they were read.
    pub lines: Vec<u64>,
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

/// Notes as they are gathered. Those that say the same of several names, or in several lines, become one.
#[derive(Debug, Default)]
pub struct Notes {
    list: Vec<Gathered>,
    /// What is beyond [`MOST`].
    beyond: u64,
}

/// Notes of one file that say the same.
#[derive(Debug)]
struct Gathered {
    file: String,
    sort: Sort,
    text: String,
    /// What they are about, if it has names, each with the lines that it stands in; how often where there are no lines.
    about: Vec<(String, Vec<u64>, u64)>,
}

/// Most notes of different texts, and most names in one: more would be a file that is something else.
const MOST: usize = 1000;

/// Most lines that a text names of one thing.
const LINES: usize = 8;

impl Notes {
    /// Adds a note.
    pub fn add(&mut self, sort: Sort, file: &str, line: Option<u64>, text: impl Into<String>) {
        self.add_named(sort, file, line, "", text);
    }

    /// Adds a note about something that has a name. Others that say the same are in one sentence with it.
    fn add_named(&mut self, sort: Sort, file: &str, line: Option<u64>, name: &str, text: impl Into<String>) {
        let text = text.into();
        let same = |one: &Gathered| {
            let named = one.about.first().is_some_and(|(other, ..)| other.is_empty() == name.is_empty());
            named && one.sort == sort && one.text == text && one.file == file
        };
        let place = self.list.iter().position(same).unwrap_or(self.list.len());
        if place == self.list.len() {
            if place == MOST {
                self.beyond += 1;
                return;
            }
            self.list.push(Gathered { file: file.to_owned(), sort, text, about: Vec::new() });
        }
        let about = &mut self.list[place].about;
        let own = about.iter().position(|(other, ..)| other == name).unwrap_or(about.len());
        if own == about.len() {
            if own == MOST {
                self.beyond += 1;
                return;
            }
            about.push((name.to_owned(), Vec::new(), 0));
        }
        let (_, lines, times) = &mut about[own];
        *times += 1;
        lines.extend(line.filter(|line| lines.last() != Some(line)));
    }

    /// Something in the file has no effect.
    pub fn ignored(&mut self, file: &str, line: Option<u64>, text: impl Into<String>) {
        self.add(Sort::Ignored, file, line, text);
    }

    /// A key, an option or a field has no effect: its name, and why.
    pub fn unread(&mut self, file: &str, line: Option<u64>, name: &str, why: impl Into<String>) {
        self.add_named(Sort::Ignored, file, line, name, why);
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
        let mut all: Vec<Note> = self.list.into_iter().map(Gathered::into_note).collect();
        if let Some(last) = all.last().filter(|_| self.beyond > 0) {
            let text = format!("{} more places with notes of their own, after the first {MOST}", self.beyond);
            all.push(Note { file: last.file.clone(), line: None, sort: Sort::Ignored, text, lines: Vec::new() });
        }
        all
    }
}

impl Gathered {
    fn into_note(mut self) -> Note {
        self.about.sort_by_key(|(_, lines, _)| lines.first().copied());
        let line = self.about.iter().find_map(|(_, lines, _)| lines.first().copied());
        // The first line stands before the text.
        let mut before = line;
        let named = |(name, lines, times): &(String, Vec<u64>, u64)| {
            let own = if before.take().is_some() { lines.get(1..).unwrap_or_default() } else { lines };
            let places = match (lines.is_empty(), own.is_empty()) {
                (true, _) if *times > 1 => format!("{times} times"),
                (_, true) => return name.clone(),
                (false, false) if name.is_empty() => format!("and {}", told(own)),
                (_, false) => told(own),
            };
            format!("{name} ({places})")
        };
        let names: Vec<String> = self.about.iter().map(named).collect();
        let text = match self.about.first() {
            Some((name, ..)) if !name.is_empty() => format!("{}: {}", names.join(", "), self.text),
            _ => self.text + &names.concat(),
        };
        let lines = self.about.into_iter().flat_map(|(_, lines, _)| lines).collect();
        Note { file: self.file, line, sort: self.sort, text, lines }
    }
}

/// Lines, those in a row as a range, and of many the first: `lines 3, 5-9, 12 and 40 more`. Empty where there are none.
fn told(lines: &[u64]) -> String {
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
        let told: Vec<String> = list.iter().map(ToString::to_string).collect();
        assert_eq!(told[0], "f:2: differs: rounded (and lines 4-6, 9)");
        assert_eq!(told[1], "g:0: ignored: odd (and lines 10, 20, 30, 40, 50, 60, 70, 80 and 3 more)");
        assert_eq!(told[2], "h: assumed: chosen (2 times)");
        assert_eq!(list[0].lines, [2, 4, 5, 6, 9]);
        assert_eq!(list[1].lines.len(), 12);
    }

    #[test]
    fn notes_beyond_the_most_are_counted() {
        let mut notes = Notes::default();
        (0..MOST + 5).for_each(|n| notes.ignored("f", Some(n as u64), format!("the {n}th")));
        let list = notes.into_list();
        assert_eq!(list.len(), MOST + 1);
        assert!(list[MOST].text.starts_with("5 more places"), "{}", list[MOST].text);
    }
}
