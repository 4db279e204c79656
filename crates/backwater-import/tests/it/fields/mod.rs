//! Each change of a file changes the scenario, its tables or a note, or the import refuses it. A note names each field
//! that is not read.
//!
//! Each sample is imported, and imported once more with each of its fields changed in turn. Each other value
//!
//! - results in another scenario (apart from its remarks), other tables or other notes, or
//! - is refused, or
//! - changes nothing, and a note of the sample names the field as ignored or different.
//!
//! A field with a value outside these three cases is *silent*, and the test fails. A note names a field if the field is
//! among its names ([`Note::names`]) or is the subject of its text. The note must mean this very field: it also names
//! the element, table or row, or it changes if the field is removed. For example, a note about `arch` of a `<cpu>` does
//! not cover `arch` of a `<gpu>`. A note is *untrue* if it calls a field of a line ignored, and another value results
//! in another scenario or other tables.
//!
//! A field with an unknown name is added to each element, object, section and line. A note names it, or the file is
//! refused ([`unknown`]).
//!
//! Remarks in the format's own grammar (`#` lines of htsim and SONiC, `//` and `/*` of GOAL, `<!-- -->`) are not
//! changed, because no program of that format reads them.

mod protobuf;
mod samples;
mod syntax;
mod unknown;

use crate::fixture;
use backwater_import::registry::{FAMILIES, recognise};
use backwater_import::{Imported, Memory, Note, NoteKind, Options, Source, import};
use samples::{SETS, Set};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::PathBuf;
use syntax::Field;

/// Returns how many fields of one name are tried in a file. Large files get fewer; the choice is even.
fn most(octets: &[u8]) -> usize {
    if octets.len() > 16_384 { 3 } else { 24 }
}

/// The result of an import in a comparable form: the scenario without its remarks, the tables, the notes.
type Outcome = Result<(String, Vec<(String, Vec<u8>)>, Vec<Note>), String>;

/// Removes the remarks of a scenario: whole lines, and those after values.
fn without_remarks(scenario: &str) -> String {
    let lines = scenario.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split("  # ").next().unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// The files of a set, with the options of their import.
struct InputFiles {
    files: Vec<(String, Vec<u8>)>,
    options: Options,
    /// The folder of the files, if they must be on disk.
    folder: Option<PathBuf>,
}

impl InputFiles {
    fn of(set: &Set) -> InputFiles {
        let files = set.files.iter().map(|path| ((*path).to_owned(), fixture(path))).collect();
        let command = set.command.split_whitespace().map(str::to_owned).collect();
        let folder = set.beside.first().map(|_| {
            let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("fields-{}", std::process::id()));
            std::fs::create_dir_all(&folder).expect("a folder");
            for path in set.beside {
                std::fs::write(folder.join(base(path)), fixture(path)).expect("written");
            }
            folder
        });
        InputFiles { files, options: Options { command, ..Options::default() }, folder }
    }

    /// Imports the files, with one of them or the command line replaced.
    fn outcome(&self, place: usize, other: &[u8]) -> Outcome {
        let mut options = self.options.clone();
        if place == self.files.len() {
            options.command = String::from_utf8_lossy(other).split_whitespace().map(str::to_owned).collect();
        }
        let source = |(number, (name, octets)): (usize, &(String, Vec<u8>))| {
            let octets = if number == place { other } else { octets };
            match &self.folder {
                None => Source::octets(name, octets),
                Some(folder) => {
                    let path = folder.join(base(name));
                    std::fs::write(&path, octets).expect("written");
                    Source::file(path)
                }
            }
        };
        let sources = self.files.iter().enumerate().map(source).collect();
        let mut memory = Memory::default();
        match import(sources, "it", &options, &mut memory) {
            Ok(Imported { scenario, notes, .. }) => {
                let tables = memory.names().into_iter().map(|name| (name.clone(), memory.octets(&name))).collect();
                Ok((without_remarks(&scenario), tables, notes))
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// Returns the files and the command line.
    fn each(&self) -> Vec<(String, Vec<u8>)> {
        let mut all = self.files.clone();
        if !self.options.command.is_empty() {
            all.push((COMMAND.to_owned(), self.options.command.join(" ").into_bytes()));
        }
        all
    }
}

const COMMAND: &str = "--command";

fn base(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Found {
    /// Each value changes something, is refused, or is named.
    Reported,
    /// A value changes nothing, and no note names the field.
    Silent,
    /// A note calls the field ignored, although it is not.
    Untrue,
}

/// Fields with values that differ in octets, but not for the program that reads the file. One value that changes
/// something suffices for these.
const SAME: [(&str, &str, &str); 15] = [
    ("chakra-et", "node.is_cpu_op", "protobuf takes any number but 0 for true"),
    ("chakra-et", "node.type", "0 and 1 take no time, and 2 and 3 the same"),
    ("chakra-json", "workload_graph.NodeType", "as node.type"),
    ("goal--command", "-S", "no message of the sample has a size between the two"),
    ("hpcc-config", "ENABLE_PFC", FLAG),
    ("hpcc-config", "ENABLE_QCN", FLAG),
    ("hpcc-config", "HAS_WIN", FLAG),
    ("hpcc-config", "RATE_BOUND", FLAG),
    ("hpcc-config", "USE_DYNAMIC_PFC_THRESHOLD", FLAG),
    ("hpcc-config", "VAR_WIN", FLAG),
    ("hpcc-topology", "link.rate", "a rate has no part of a bit in a second"),
    ("htsim-cm", "flow.size", "htsim_roce sends whole packets"),
    ("htsim-validate", "-sender_cc_only", "it is what the program does without it"),
    ("msccl--command", "--coll_size", "chunks have whole octets"),
    ("simai-workload", "layer.weight-bytes", "each rank gets a part of whole octets"),
];
const FLAG: &str = "any number but 0 is true";

/// Returns the outcome of changing a field.
fn found(
    field: &Field,
    octets: &[u8],
    usual: &Outcome,
    file: &str,
    same: bool,
    outcome: impl Fn(&[u8]) -> Outcome,
) -> (Found, Vec<u8>) {
    let Ok((scenario, tables, notes)) = usual else { return (Found::Silent, Vec::new()) };
    let naming: Vec<&Note> = notes.iter().filter(|note| names(note, file, &field.words)).collect();
    let without = |whole: &Range<usize>| outcome(&[&octets[..whole.start], &octets[whole.end..]].concat());
    let changes = |whole| without(whole).is_ok_and(|(.., others)| naming.iter().any(|note| !others.contains(note)));
    let named = naming.iter().any(|note| whole(note, &field.words) || note.text.contains(&field.owner))
        || !naming.is_empty() && field.whole.as_ref().is_some_and(changes);
    let own = field.words.last();
    let ignored = notes.iter().any(|note| {
        let at = note.lines.is_empty() || note.lines.contains(&(field.line as u64));
        note.kind == NoteKind::Ignored
            && base(&note.file) == base(file)
            && at
            && own.is_some_and(|own| note.names.contains(own))
    });
    let of = |other: &Vec<u8>| {
        let changed = [&octets[..field.range.start], other, &octets[field.range.end..]].concat();
        let what = match outcome(&changed) {
            same if same == *usual && !named => Found::Silent,
            Ok((other, others, _)) if ignored && (other != *scenario || others != *tables) => Found::Untrue,
            _ => Found::Reported,
        };
        (what, other.clone())
    };
    let mut all: Vec<(Found, Vec<u8>)> = field.others.iter().map(of).collect();
    if same && all.iter().any(|(what, _)| *what == Found::Reported) {
        all.retain(|(what, _)| *what != Found::Silent);
    }
    all.into_iter().max().unwrap_or((Found::Reported, Vec::new()))
}

/// Returns whether a note reports that a field of its file has no effect, or a different one. The field is among its
/// names or is the subject of its text.
fn names(note: &Note, file: &str, words: &[String]) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let about = |word: &String| {
        note.text.match_indices(word.as_str()).any(|(at, _)| {
            let (before, behind) = (&note.text[..at], &note.text[at + word.len()..]);
            !before.contains(": ") && !before.ends_with(part) && !behind.starts_with(part)
        })
    };
    // A note about all traces applies to each of them.
    let of_it = base(&note.file) == base(file) || note.text.contains("of all traces");
    let it = words.iter().any(|word| note.names.contains(word)) || words.last().is_some_and(about);
    matches!(note.kind, NoteKind::Ignored | NoteKind::Differs) && of_it && it
}

/// Returns whether a note covers the whole table of a field, or its whole entry there. `words`: the table, the entry
/// and the field.
fn whole(note: &Note, words: &[String]) -> bool {
    let [table, entry, _] = words else { return false };
    note.names.contains(table) || note.names.contains(entry) && note.text.contains(table.as_str())
}

/// Returns the fields to try: some of each name.
fn chosen(fields: Vec<Field>, most: usize) -> Vec<Field> {
    let mut by_name: BTreeMap<String, Vec<Field>> = BTreeMap::new();
    for field in fields {
        by_name.entry(field.name.clone()).or_default().push(field);
    }
    let some = |all: Vec<Field>| {
        let step = all.len().div_ceil(most).max(1);
        all.into_iter().step_by(step).collect::<Vec<_>>()
    };
    by_name.into_values().flat_map(some).collect()
}

/// Tries all samples of a family. Returns how many fields were tried, and the silent or untrue ones, by kind and name,
/// with a place.
fn tried(family: &str) -> (usize, BTreeMap<(String, String, Found), String>) {
    let (mut count, mut silent) = (0, BTreeMap::new());
    for set in SETS.iter().filter(|set| set.family == family) {
        let given = InputFiles::of(set);
        let all = given.each();
        let usual = given.outcome(usize::MAX, &[]);
        if let Err(error) = &usual {
            panic!("{:?} cannot be imported: {error}", set.files);
        }
        for (place, (name, octets)) in all.iter().enumerate() {
            let kind = if name == COMMAND { format!("{family}{COMMAND}") } else { kind(name, octets).to_owned() };
            for field in chosen(samples::fields(&kind, octets), most(octets)) {
                count += 1;
                let same = SAME.iter().any(|(of, own, _)| *of == kind && *own == field.name);
                let (what, other) = found(&field, octets, &usual, name, same, |other| given.outcome(place, other));
                if what != Found::Reported {
                    // Binary files are replaced as a whole.
                    let short = |octets: &[u8]| match octets.len() {
                        ..=40 => String::from_utf8_lossy(octets).into_owned(),
                        _ => "…".to_owned(),
                    };
                    let value = octets.get(field.range.clone()).unwrap_or_default();
                    let place = || format!("{name}:{}, {:?} -> {:?}", field.line, short(value), short(&other));
                    silent.entry((kind.clone(), field.name, what)).or_insert_with(place);
                }
            }
        }
    }
    (count, silent)
}

fn kind(name: &str, octets: &[u8]) -> &'static str {
    recognise(&Source::octets(name, octets)).unwrap().unwrap_or_else(|| panic!("{name}")).1.name
}

/// Tries all samples of a family: no known or unknown field is silent, and at least `least` and `least_unknown` fields
/// are tried.
fn holds(family: &str, least: usize, least_unknown: usize) {
    let (count, silent) = tried(family);
    let (unknown, silent_unknown) = unknown::tried(family);
    println!("{family}: {count} fields tried, and {unknown} unknown ones");
    let silent = silent.into_iter().map(|((kind, name, what), place)| format!("{what:?}: {kind} {name} ({place})"));
    let unnamed = silent_unknown.into_iter().map(|((kind, place), file)| format!("Unknown: {kind} {place} ({file})"));
    let all: Vec<String> = silent.chain(unnamed).collect();
    assert!(all.is_empty(), "changed or added and nothing says so, or ignored and not so:\n{}", all.join("\n"));
    assert!(count >= least, "{count} fields were tried, and {least} were before");
    assert!(unknown >= least_unknown, "{unknown} unknown fields were tried, and {least_unknown} were before");
}

#[test]
fn htsim() {
    holds("htsim", 534, 448);
}

#[test]
fn goal() {
    holds("goal", 690, 313);
}

#[test]
fn chakra() {
    holds("chakra", 287, 133);
}

#[test]
fn msccl() {
    holds("msccl", 298, 81);
}

#[test]
fn hpcc() {
    holds("hpcc", 455, 274);
}

#[test]
fn sonic() {
    holds("sonic", 1115, 752);
}

#[test]
fn simai() {
    holds("simai", 563, 174);
}

#[test]
fn nccl() {
    holds("nccl", 858, 342);
}

/// A kind without a sample would not be tested.
#[test]
fn every_kind_has_a_sample() {
    let sampled: BTreeSet<&str> =
        SETS.iter().flat_map(|set| set.files).map(|path| kind(path, &fixture(path))).collect();
    let all: BTreeSet<&str> = FAMILIES.iter().flat_map(|family| family.kinds).map(|kind| kind.name).collect();
    assert_eq!(sampled, all);
}
