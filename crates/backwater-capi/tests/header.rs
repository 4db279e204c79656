//! The header declares what the library exports, with the same layouts and numbers.

use backwater_capi::{API_VERSION, CLASS_DEFAULT, Event, LinkCounters, Options, Totals};
use std::collections::BTreeSet;

const HEADER: &str = include_str!("../include/backwater.h");
const SOURCES: [&str; 2] = [include_str!("../src/lib.rs"), include_str!("../src/open.rs")];

/// The header without its comments.
fn code() -> String {
    let mut rest = HEADER;
    let mut code = String::new();
    while let Some((before, after)) = rest.split_once("/*") {
        code += before;
        rest = after.split_once("*/").map_or("", |(_, behind)| behind);
    }
    code + rest
}

/// The words that begin with `bw_` right before a parenthesis.
fn functions(text: &str) -> BTreeSet<String> {
    let calls = text.match_indices('(').map(|(at, _)| &text[..at]);
    let name = |before: &str| {
        let begin = before.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_').map_or(0, |at| at + 1);
        before[begin..].to_owned()
    };
    calls.map(name).filter(|name| name.starts_with("bw_")).collect()
}

/// The parameters of a function, without types: by their number.
fn parameters(text: &str, function: &str) -> usize {
    let (_, behind) = text.split_once(&format!("{function}(")).unwrap();
    let list = behind.split_once(')').unwrap().0.trim();
    match list {
        "" | "void" => 0,
        list => list.trim_end_matches(',').split(',').count(),
    }
}

#[test]
fn the_header_declares_what_is_exported() {
    let exported: String = SOURCES.concat();
    let of_sources: BTreeSet<String> =
        exported.split("extern \"C\" fn ").skip(1).map(|text| text.split_once('(').unwrap().0.to_owned()).collect();
    let code = code();
    assert_eq!(functions(&code), of_sources);
    assert_eq!(of_sources.len(), 17);
    for name in &of_sources {
        assert_eq!(parameters(&code, name), parameters(&exported, &format!("fn {name}")), "{name}");
    }
}

#[test]
fn every_declaration_has_a_comment() {
    let lines: Vec<&str> = HEADER.lines().collect();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.contains("bw_") && line.contains('(')) {
        let declares = ["int bw_", "uint32_t bw_", "const char *bw_"].iter().any(|begin| line.starts_with(begin));
        assert!(!declares || lines[at - 1].ends_with("*/"), "{line}");
    }
}

#[test]
fn numbers_and_layouts_are_those_of_the_header() {
    let code = code();
    for text in ["BW_API_VERSION 1", "BW_CLASS_DEFAULT UINT32_MAX", "BW_NEVER UINT64_MAX"] {
        assert!(code.contains(&format!("#define {text}")), "{text}");
    }
    assert_eq!((API_VERSION, CLASS_DEFAULT), (1, u32::MAX));
    // The C test asserts the same sizes.
    assert_eq!((size_of::<Event>(), size_of::<LinkCounters>(), size_of::<Totals>()), (24, 72, 40));
    assert_eq!(size_of::<Options>(), 16 + 4 * size_of::<usize>());
}
