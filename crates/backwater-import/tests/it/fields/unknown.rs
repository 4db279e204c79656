//! Unknown fields, added to each element, object, section and line of each sample: a note names them, or the file is
//! refused.

use super::protobuf;
use super::syntax::objects;
use super::{InputFiles, Outcome, kind};
use std::collections::BTreeMap;

/// The name of each added field. In protobuf, whose fields have no names, it is a number.
const NAME: &str = "unlike";

/// A file with an unknown field, and its place.
pub struct Changed {
    /// The kind of element that contains it.
    pub place: String,
    /// A table, one of its entries, and the name added to it; empty without a table.
    pub inside: Vec<String>,
    /// The name that a note must contain.
    pub name: String,
    /// The content of the file.
    pub octets: Vec<u8>,
}

/// Returns how many were tried, and the silent ones by kind and place.
pub fn tried(family: &str) -> (usize, BTreeMap<(String, String), String>) {
    let (mut count, mut silent) = (0, BTreeMap::new());
    for set in super::SETS.iter().filter(|set| set.family == family) {
        let given = InputFiles::of(set);
        for (place, (name, octets)) in given.each().iter().enumerate() {
            let command = name == super::COMMAND;
            let kind = if command { format!("{family}{name}") } else { kind(name, octets).to_owned() };
            for changed in some(changed(&kind, octets), super::most(octets)) {
                count += 1;
                if !named(&given.outcome(place, &changed.octets), &changed) {
                    silent.entry((kind.clone(), changed.place)).or_insert_with(|| name.clone());
                }
            }
        }
    }
    (count, silent)
}

/// Returns whether the file is refused, or a note names the field or all that contains it. If words have no names, the
/// note reports that more words follow.
fn named(outcome: &Outcome, changed: &Changed) -> bool {
    let Ok((.., notes)) = outcome else { return true };
    let name = changed.name.as_str();
    notes.iter().any(|note| {
        let own = |own: &String| own.contains(name);
        let follows = !changed.place.contains(":") && note.text.contains("what follows the ");
        follows || note.names.iter().any(own) || note.text.contains(name) || super::whole(note, &changed.inside)
    })
}

/// Returns up to `most` files for each place, chosen evenly.
fn some(all: Vec<Changed>, most: usize) -> Vec<Changed> {
    let mut by_place: BTreeMap<String, Vec<Changed>> = BTreeMap::new();
    all.into_iter().for_each(|one| by_place.entry(one.place.clone()).or_default().push(one));
    let chosen = |all: Vec<Changed>| {
        let step = all.len().div_ceil(most).max(1);
        all.into_iter().step_by(step).collect::<Vec<_>>()
    };
    by_place.into_values().flat_map(chosen).collect()
}

/// Returns a file of a kind, or a command line, with an unknown addition, once for each possible place.
fn changed(kind: &str, octets: &[u8]) -> Vec<Changed> {
    let text = || std::str::from_utf8(octets).expect("text");
    match kind {
        "chakra-et" => protobuf::unknown(octets),
        "goal-binary" => {
            vec![Changed {
                place: "end".into(),
                inside: vec![],
                name: "octets that are of no rank".into(),
                octets: [octets, NAME.as_bytes()].concat(),
            }]
        }
        "chakra-json" | "chakra-objects" | "chakra-groups" | "sonic-config-db" => json(text()),
        "msccl-xml" | "nccl-topology" => xml(text()),
        _ if kind.ends_with(super::COMMAND) => {
            vec![with(text(), octets.len(), &format!(" -{NAME} 1"), "command")]
        }
        _ => lines(kind, text()),
    }
}

fn with(text: &str, at: usize, more: &str, place: &str) -> Changed {
    let octets = [&text[..at], more, &text[at..]].concat().into_bytes();
    Changed { place: place.to_owned(), inside: vec![], name: NAME.to_owned(), octets }
}

/// Adds an attribute to each element, and an element inside it.
fn xml(text: &str) -> Vec<Changed> {
    let mut all = Vec::new();
    for (at, _) in text.match_indices('<') {
        let element: String = text[at + 1..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        if element.is_empty() {
            continue;
        }
        all.push(with(text, at + 1 + element.len(), &format!(" {NAME}=\"1\""), &element));
        let end = at + text[at..].find('>').expect("an end");
        let place = format!("{element} <>");
        if text[..end].ends_with('/') {
            let octets = format!("{}><{NAME}/></{element}>{}", &text[..end - 1], &text[end + 1..]).into_bytes();
            all.push(Changed { place, inside: vec![], name: NAME.to_owned(), octets });
        } else {
            all.push(with(text, end + 1, &format!("<{NAME}/>"), &place));
        }
    }
    all
}

/// Adds a scalar to each object, and an object inside it.
fn json(text: &str) -> Vec<Changed> {
    let mut all = Vec::new();
    for (path, at, empty) in objects(text) {
        let comma = if empty { "" } else { ", " };
        // The name of a table's entry does not show its kind.
        let place =
            path.iter().enumerate().filter(|(at, _)| at % 2 == 0).map(|(_, key)| key.split('|').next().unwrap_or(key));
        let place = format!("{}: {}", path.len(), place.collect::<Vec<_>>().join("."));
        let flat: Vec<String> = path.iter().flat_map(|key| key.split('|')).map(str::to_owned).collect();
        let inside = match flat.as_slice() {
            [table] => vec![table.clone(), String::new(), NAME.to_owned()],
            [table, entry, ..] => vec![table.clone(), entry.clone(), NAME.to_owned()],
            [] => vec![],
        };
        all.push(Changed { inside: inside.clone(), ..with(text, at, &format!("\"{NAME}\": \"1\"{comma}"), &place) });
        let object = format!("\"{NAME}\": {{\"key\": {{\"field\": \"1\"}}}}{comma}");
        all.push(Changed { inside, ..with(text, at, &object, &format!("{place} {{}}")) });
    }
    all
}

/// Adds two words to the end of each line, and a line after it.
fn lines(kind: &str, text: &str) -> Vec<Changed> {
    let remark = if kind.starts_with("goal") { "//" } else { "#" };
    let mut all = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let first = line.split_whitespace().next().unwrap_or_default();
        let what = if first.starts_with(|c: char| c.is_ascii_digit()) { "a number" } else { first };
        let end = at + line.trim_end().len();
        at += line.len();
        if first.is_empty() || line.contains(remark) {
            continue;
        }
        let inside = vec![first.trim_start_matches('!').to_owned(), String::new(), NAME.to_owned()];
        // If all words are options, an option may have any number of values.
        let mark = if first == "!Param" { "-" } else { "" };
        all.push(Changed { inside, ..with(text, end, &format!(" {mark}{NAME} 1"), what) });
        all.push(with(text, end, &format!("\n{NAME} 1"), &format!("behind {what}")));
    }
    all
}
