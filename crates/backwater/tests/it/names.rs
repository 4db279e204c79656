//! No shared file knows a mechanism by its name: what is said of one stands in its own file.

use backwater_mech::registry::ENTRIES;
use std::fs;
use std::path::{Path, PathBuf};

/// Their names are words that shared code needs for other things: a pause of any mechanism, the ECN field of IP.
const WORDS: [&str; 2] = ["pause", "ecn"];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        match entry.extension() {
            None => sources(&entry, found),
            Some(end) if end == "rs" && !entry.ends_with("tests.rs") => found.push(entry),
            Some(_) => {}
        }
    }
}

/// Where code, comments and tests left out, names a mechanism: as a word or, where that is an ordinary word, as a table, type or module.
fn named(text: &str) -> Vec<(usize, &'static str)> {
    let code = text.split("#[cfg(test)]").next().unwrap().lines().enumerate();
    // Documentation of a key is for people: its sources and examples may name one.
    let code = code.filter(|(_, line)| !line.trim_start().starts_with("//") && !line.contains("x-source"));
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

#[test]
fn names_are_found() {
    let text = "// sfc\nresolved.mechanisms.pause\nfn pause(ecn: u8)\n\"pfc.xoff\"\nuse backwater_mech::ecn;\npfcs\n#[cfg(test)]\nsfc";
    assert_eq!(named(text), [(2, "pause"), (4, "pfc"), (5, "ecn")]);
}

/// Captures name the frames of `backwater_wire`, which are those of the standards.
#[test]
fn no_shared_file_names_a_mechanism() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&folder, &mut files);
    files.retain(|file| !file.starts_with(folder.join("capture")));
    assert!(files.len() > 40);
    let naming: Vec<String> = files
        .iter()
        .flat_map(|file| {
            named(&fs::read_to_string(file).unwrap()).into_iter().map(move |one| format!("{} {one:?}", file.display()))
        })
        .collect();
    assert!(naming.is_empty(), "{naming:#?}");
}
