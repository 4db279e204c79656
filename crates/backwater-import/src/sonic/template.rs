//! `buffers_defaults_*.j2`: pools and profiles of a hardware SKU, a template for SONiC's `sonic-cfggen`.
//!
//! ```text
//! {%- macro generate_buffer_pool_and_profiles() %}
//!     "BUFFER_POOL": { … }, "BUFFER_PROFILE": { … }
//! {%- endmacro %}
//! ```
//!
//! The text of this macro is a part of a database, unless it computes something. Other macros assign profiles to ports.

use crate::error::ImportError;
use crate::note::Notes;
use crate::source::{Head, Source};

const MACRO: &str = "macro generate_buffer_pool_and_profiles(";

/// Returns whether a text is a template, and no JSON.
pub fn is_template(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with("{%") || text.starts_with("{#")
}

/// Returns whether a file is such a template.
pub fn recognise(head: &Head) -> bool {
    let text = String::from_utf8_lossy(&head.octets);
    is_template(&text) && text.contains(MACRO)
}

/// The pools and profiles of a template as JSON, each in its line. Another text stays as it is.
///
/// # Errors
///
/// There is no such macro, or it computes something.
pub fn database(source: &Source, notes: &mut Notes) -> Result<String, ImportError> {
    let text = source.text()?;
    if !is_template(&text) {
        return Ok(text);
    }
    let line_at = |at: usize| 1 + text[..at].matches('\n').count() as u64;
    let begin = text.find(MACRO).and_then(|at| Some(at + text[at..].find("%}")? + 2));
    let Some(begin) = begin else {
        let error = source.error("it has no macro generate_buffer_pool_and_profiles");
        return Err(error.hint("give the buffers_defaults_*.j2 that it includes"));
    };
    let mut body = String::from("{");
    let mut at = begin;
    // Up to the end of the macro, without comments.
    loop {
        let tag = next_tag(&text, at);
        body.push_str(&text[at..tag]);
        let comment = text[tag..].starts_with("{#").then(|| text[tag..].find("#}")).flatten();
        let Some(length) = comment else {
            at = tag;
            break;
        };
        body.extend(text[tag..tag + length].chars().filter(|c| *c == '\n'));
        at = tag + length + 2;
    }
    let tag = text[at..].trim_start_matches("{%").trim_start_matches('-').trim_start();
    let computed = body.find("{{").map(|place| line_at(begin) + body[..place].matches('\n').count() as u64);
    if let Some(line) = computed.or((!tag.starts_with("endmacro")).then(|| line_at(at))) {
        let error = source.error("generate_buffer_pool_and_profiles computes something").line(line);
        return Err(error.hint(
            "give the database that the switch has made of it: BUFFER_POOL and BUFFER_PROFILE of config_db.json",
        ));
    }
    notes.ignored(
        source.name(),
        None,
        "all but generate_buffer_pool_and_profiles: what precedes and what follows the macro",
    );
    let lines = "\n".repeat(text[..begin].matches('\n').count());
    Ok(format!("{lines}{}}}", body.trim_end().trim_end_matches(',')))
}

/// The place of the next comment or tag, otherwise the end.
fn next_tag(text: &str, from: usize) -> usize {
    let next = |what: &str| text[from..].find(what).map_or(text.len(), |at| from + at);
    next("{#").min(next("{%"))
}
