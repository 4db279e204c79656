//! The caller's scenario as a fabric, without its workload.

use crate::error::ImportError;

/// Arrays of tables that are a workload.
const WORKLOAD: [&str; 2] = ["flow", "job"];

/// A scenario without its workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bare {
    /// Its text, with its comments.
    pub text: String,
    /// Groups of flows that were left out.
    pub flows: usize,
    /// Jobs that were left out.
    pub jobs: usize,
}

/// Removes the workload from a scenario.
///
/// # Errors
///
/// It is not TOML.
pub fn bare(name: &str, text: &str) -> Result<Bare, ImportError> {
    let mut table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = 1 + before.bytes().filter(|octet| *octet == b'\n').count() as u64;
        ImportError::new(error.message()).file(name).line(line).hint("--fabric takes a scenario")
    })?;
    let [flows, jobs] = WORKLOAD.map(|key| table.remove(key).map_or(0, |all| all.as_array().map_or(1, Vec::len)));
    if flows + jobs == 0 {
        return Ok(Bare { text: text.to_owned(), flows, jobs });
    }
    let cut = without_sections(text);
    // Lines may be part of a text or a list, so the result must equal the scenario; without its comments it always can.
    let text = if cut.parse::<toml::Table>().is_ok_and(|own| own == table) { cut } else { table.to_string() };
    Ok(Bare { text, flows, jobs })
}

/// Removes the lines from each head of a workload to the next other head. Comments right above a head are removed with it.
fn without_sections(text: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut above: Vec<&str> = Vec::new();
    let mut within = false;
    for line in text.lines() {
        if let Some(head) = line.trim_start().strip_prefix('[') {
            let name = head.trim_start_matches('[').split(['.', ']']).next().unwrap_or_default();
            within = WORKLOAD.contains(&name.trim());
        }
        above.push(line);
        if !line.starts_with('#') {
            kept.extend(above.drain(..).filter(|_| !within));
        }
    }
    kept.extend(above.into_iter().filter(|_| !within));
    kept.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_and_jobs_go_and_remarks_stay() {
        let text = "title = \"t\" # mine\n\n# Who sends.\n[[flow]]\nsize = 1\n[flow.burst]\na = 1\n[[job]]\nranks = 2\n\
                    [[job.step]]\nkind = \"x\"\n\n# Wires.\n[topology]\nhosts = 2\n[[flow]]\nsize = 2\n";
        let bare = bare("f", text).unwrap();
        assert_eq!((bare.flows, bare.jobs), (2, 1));
        assert_eq!(bare.text, "title = \"t\" # mine\n\n# Wires.\n[topology]\nhosts = 2");
    }

    #[test]
    fn lists_and_texts_are_no_heads() {
        let text = "flow = [{ size = 1 }]\n[a]\nlist = [\n  [1],\n  [2],\n]\nwords = \"\"\"\n[[job]]\n\"\"\"\n";
        let bare = bare("f", text).unwrap();
        assert_eq!((bare.flows, bare.jobs), (1, 0));
        let mut expected: toml::Table = text.parse().unwrap();
        expected.remove("flow");
        assert_eq!(bare.text.parse::<toml::Table>().unwrap(), expected);
    }

    #[test]
    fn what_is_no_toml_is_refused_with_its_line() {
        let error = bare("f.toml", "a = 1\nb = = 2\n").unwrap_err().to_string();
        assert!(error.starts_with("f.toml:2: "), "{error}");
    }
}
