//! No shared file knows a mechanism by its name: everything about one is in its own file.

use backwater_mech::registry::ENTRIES;
use std::fs;
use std::path::{Path, PathBuf};

/// Shared code needs these names for other things: a pause of any mechanism, the ECN field of IP, to cut the blanks off a text, and the
/// field of a packet with an entropy value.
const WORDS: [&str; 5] = ["pause", "ecn", "trim", "ev", "prototype"];

/// Directories of shared code, its file names, and files in it that may name mechanisms: for frames on the wire, for a study, and for files
/// that other programs name after one.
const SHARED: [(&str, &str, &[&str]); 3] = [
    ("crates/backwater/src", "rs", &["capture"]),
    ("crates/backwater-net/src", "rs", &[]),
    (
        "python/backwater",
        "py",
        &[
            "cli/capture.py",
            "cli/pcap.py",
            "numbers/of_mechanisms.py",
            "study/claims",
            "study/costs.py",
            "plot/own",
            "studies",
            "exporting",
            "cli/export.py",
        ],
    ),
];

/// Examples in texts for people, by file, and the mechanism of each.
const EXAMPLES: [(&str, &str); 12] = [
    ("backwater/scenario.py", "sfc"),
    ("backwater/study/__init__.py", "sfc"),
    ("backwater/plot/__init__.py", "sfc"),
    ("backwater/cli/arguments.py", "sfc"),
    ("backwater/cli/compare.py", "sfc"),
    ("backwater/cli/subjects.py", "sfc"),
    ("backwater/cli/subjects.py", "ecn"),
    ("backwater/cli/describe.py", "pfc"),
    ("backwater/cli/query.py", "sfc"),
    ("backwater/deck/__init__.py", "sfc"),
    ("backwater/sweep/goal.py", "sfc"),
    ("backwater/plot/sweep.py", "sfc"),
];

/// Comments that may name a mechanism, by file: a document or a program that shared code follows, and the frames by which a host with a fault
/// pauses.
const SOURCES: [(&str, &str); 8] = [
    ("file/fault.rs", "pfc"),
    ("file/mod.rs", "pfc"),
    ("bench/network.rs", "sfc"),
    ("host/send.rs", "hpcc"),
    ("occupancy/mod.rs", "hpcc"),
    ("topology/fat_tree.rs", "hpcc"),
    ("topology/fat_tree.rs", "sfc"),
    ("topology/leaf_spine.rs", "sfc"),
];

fn sources(folder: &Path, end: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            sources(&entry, end, found);
        } else if entry.extension().is_some_and(|its| its == end) && !entry.ends_with("tests.rs") {
            found.push(entry);
        }
    }
}

/// Lines of code, without comments and tests, that name a mechanism: as a word or, if that is an ordinary word, as a table, type or module.
fn named(text: &str) -> Vec<(usize, &'static str)> {
    let code = text.split("#[cfg(test)]").next().unwrap().lines().enumerate();
    // Documentation of a key is for people: its sources and examples may name one.
    let comment = |line: &str| ["//", "# "].iter().any(|begin| line.trim_start().starts_with(begin));
    // In an attribute with a source, the name of a command is not that of a paper.
    let source = |line: &str| line.contains("x-source") && !line.contains('`');
    let code = code.filter(|(_, line)| !comment(line) && !source(line));
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let by_name = |line: &str, name: &str| {
        line.match_indices(name).any(|(at, _)| {
            let (before, after) = (&line[..at], &line[at + name.len()..]);
            let whole = !before.ends_with(is_word) && !after.starts_with(is_word);
            let as_name = !WORDS.contains(&name)
                || before.ends_with("mechanisms.")
                || before.ends_with("backwater_mech::")
                || before.ends_with('"') && (after.starts_with('"') || after.starts_with('.'));
            whole && as_name
        })
    };
    let found = |(number, line): (usize, &str)| {
        ENTRIES
            .iter()
            .filter(|entry| by_name(line, entry.name))
            .map(|entry| (number + 1, entry.name))
            .collect::<Vec<_>>()
    };
    code.flat_map(found).collect()
}

/// Lines of comments that name a mechanism, in the usual form: in capitals.
fn told(text: &str) -> Vec<(usize, &'static str)> {
    let code = text.split("#[cfg(test)]").next().unwrap().lines().enumerate();
    let comments = code.filter(|(_, line)| line.trim_start().starts_with("//"));
    let names = ENTRIES.iter().map(|entry| entry.name).filter(|name| !WORDS.contains(name));
    let names: Vec<_> = names.map(|name| (name, name.to_uppercase())).collect();
    let found = |(number, line): (usize, &str)| {
        let words: Vec<_> = line.split(|c: char| !c.is_alphanumeric()).collect();
        let found = names.iter().filter(|(_, capitals)| words.contains(&capitals.as_str()));
        found.map(|(name, _)| (number + 1, *name)).collect::<Vec<_>>()
    };
    comments.flat_map(found).collect()
}

#[test]
fn names_in_comments_are_found() {
    let text = "// as PFC's\nlet PFC = 1;\n//! (SFC, PAUSE)\n/// sfcs\n#[cfg(test)]\n// SFC";
    assert_eq!(told(text), [(1, "pfc"), (3, "sfc")]);
}

#[test]
fn names_are_found() {
    let text = "// sfc\nresolved.mechanisms.pause\nfn pause(ecn: u8)\n\"pfc.xoff\"\nuse backwater_mech::ecn;\npfcs\n#[x-source = `advise ci`]\n#[cfg(test)]\nsfc";
    assert_eq!(named(text), [(2, "pause"), (4, "pfc"), (5, "ecn"), (7, "ci")]);
}

/// In Python `ci` is a confidence interval.
#[test]
fn no_shared_file_names_a_mechanism() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut naming = Vec::new();
    for (folder, end, own) in SHARED {
        let (folder, mut files) = (root.join(folder), Vec::new());
        sources(&folder, end, &mut files);
        assert!(files.len() > 40, "{folder:?}");
        files.retain(|file| !own.iter().any(|own| file.starts_with(folder.join(own))));
        for file in files {
            let example = |name: &str| EXAMPLES.iter().any(|(of, takes)| file.ends_with(of) && *takes == name);
            let source = |name: &str| SOURCES.iter().any(|(of, follows)| file.ends_with(of) && *follows == name);
            let text = fs::read_to_string(&file).unwrap();
            let mut found = named(&text);
            found.retain(|(_, name)| !example(name) && (end, *name) != ("py", "ci"));
            found.extend(told(&text).into_iter().filter(|(_, name)| !source(name)));
            naming.extend(found.into_iter().map(|one| format!("{} {one:?}", file.display())));
        }
    }
    assert!(naming.is_empty(), "{naming:#?}");
}
