//! docs/reference.md follows from the schema: every key of a scenario with symbol, unit, default, range and source. `make reference` writes
//! it anew.

use backwater::{Explain, explain, keys};
use std::fmt::Write as _;
use std::path::Path;

const HEAD: &str = "\
# Reference: every key of a scenario

Written from the schema by `make reference`: change a parameter's declaration, not this page. `backwater explain KEY`
prints one key. [What is modelled](modelling/README.md) says what they do, with examples.

A symbol is what the source of a mechanism calls the parameter. Tables of mechanisms and `[switch]` may have
overrides for a tier or a node, as in `[[pfc.at]]`. Units: a *size* is written as \"400 KB\" or \"1 MiB\" (KB = 1000 B,
KiB = 1024 B), a *rate* as \"200 Gb/s\", a *time* as \"5 us\" (ps, ns, us, ms, s). None is above 10^18 B, 1000 Tb/s or
100 days, here and in tables of flows and operations.
";

/// A text that may stand in a table's cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// The kind of a unit: the text before its list of units. A choice has none: its values are its range.
fn kind(unit: &str) -> &str {
    unit.split(" (").next().filter(|kind| *kind != "one of the values below").unwrap_or_default()
}

/// The default of a parameter without one, if its meaning names it; and the rest of the meaning.
fn absent(about: &Explain) -> (Option<String>, String) {
    let mark = "Absent: ";
    let known = about.default.as_deref() == Some("absent");
    let Some((before, after)) = about.meaning.split_once(mark).filter(|_| known) else {
        return (None, about.meaning.clone());
    };
    let end = after.find(". ").unwrap_or(after.len());
    let (reported, rest) = after.split_at(end);
    let meaning = format!("{} {}", before.trim(), rest.trim_start_matches('.').trim());
    (Some(reported.trim_end_matches('.').to_owned()), meaning.trim().to_owned())
}

fn row(about: &Explain) -> String {
    let key = about.key.rsplit('.').next().unwrap_or(&about.key);
    let symbol = about.symbol.as_ref().map_or_else(String::new, |symbol| cell(symbol));
    let code = |text: &Option<String>| match text.as_deref() {
        Some("") => "empty".to_owned(),
        Some(text) if text == "absent" || text.starts_with("none") => text.to_owned(),
        Some(text) => format!("`{}`", cell(text)),
        None => String::new(),
    };
    let text = |text: &Option<String>| cell(text.as_deref().unwrap_or_default());
    let unit = cell(kind(about.unit.as_deref().unwrap_or_default()));
    let (reported, meaning) = absent(about);
    let default = reported.map_or_else(|| code(&about.default), |reported| cell(&reported));
    format!(
        "| `{key}` | {symbol} | {} | {unit} | {default} | {} | {} |\n",
        cell(&meaning),
        text(&about.range),
        text(&about.source)
    )
}

/// Returns whether it is a key of overrides that repeat those of their table, for a tier or a node.
fn repeated(key: &str) -> bool {
    let table = key.split_once(".at.").map(|(table, _)| table);
    table.is_some_and(|table| explain(&format!("{table}.at.tier")).is_ok())
}

fn page() -> String {
    let all: Vec<Explain> = keys().iter().filter(|key| !repeated(key)).map(|key| explain(key).unwrap()).collect();
    let is_table = |about: &Explain| all.iter().any(|other| other.key.starts_with(&format!("{}.", about.key)));
    let mut text = HEAD.to_owned();
    let columns = "| key | symbol | meaning | unit | default | range | source |\n|---|---|---|---|---|---|---|\n";
    let _ = write!(text, "\n## Without a table\n\n{columns}");
    for about in all.iter().filter(|about| !about.key.contains('.') && !is_table(about)) {
        text.push_str(&row(about));
    }
    for table in all.iter().filter(|about| is_table(about)) {
        let of = |about: &&Explain| about.key.rsplit_once('.').is_some_and(|(of, _)| of == table.key);
        let _ = write!(text, "\n## `{}`\n\n{}\n\n{columns}", table.key, wrapped(&table.meaning));
        for about in all.iter().filter(of) {
            text.push_str(&row(about));
        }
    }
    text
}

/// Prose in lines of at most 120 columns.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= 120 => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

#[test]
fn the_reference_is_what_the_schema_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference.md");
    let page = page();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    for (committed, page) in committed.lines().zip(page.lines()) {
        assert_eq!(committed, page, "`make reference` writes docs/reference.md anew");
    }
    assert!(committed == page, "`make reference` writes docs/reference.md anew");
    assert!(
        page.contains(
            "\n| `kmin` | Kmin | Queue length up to which no packet is marked. | size | `5 KB` | 0 B to kmax |"
        )
    );
}
