//! A list of experiments, as read by `validate.py` of uet-htsim.
//!
//! ```text
//! path of a connection matrix
//! !Experiment text            what follows belongs to the matrix before it
//! !Binary path
//! !Param -flag value …
//! !tailFCT us | !FCT name us  what the run is to give
//! ```

use crate::error::ImportError;
use crate::note::Notes;
use crate::source::{Head, Source};

/// An experiment.
#[derive(Clone, Debug, Default)]
pub struct Experiment {
    /// Its matrix.
    pub matrix: Option<Source>,
    /// Its topology, if one is named.
    pub topology: Option<Source>,
    /// Program and options.
    pub command: Vec<String>,
    /// Its description in the list.
    pub about: String,
}

/// Returns whether a file is a list of experiments.
pub fn recognise(head: &Head) -> bool {
    let lines = head.lines();
    lines.iter().any(|line| line.starts_with("!Experiment ")) && lines.iter().any(|line| line.starts_with("!Binary "))
}

/// The only experiment of a list; for several the error explains how to import each.
pub fn only(list: &Source, text: &str, notes: &mut Notes) -> Result<Experiment, ImportError> {
    let mut about = String::new();
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for (number, line) in (1u64..).zip(text.lines()) {
        let fail = |reason: &str| list.error(reason).line(number).value(line);
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some(reported) = line.strip_prefix('!') else {
            found.push((line.to_owned(), Vec::new()));
            continue;
        };
        let Some((_, command)) = found.last_mut() else { return Err(fail("no connection matrix is named before")) };
        match reported.split_once(' ') {
            Some(("Binary", program)) => command.insert(0, program.trim().to_owned()),
            Some(("Param", words)) => command.extend(words.split_whitespace().map(str::to_owned)),
            Some(("Experiment", text)) => {
                text.trim().clone_into(&mut about);
                notes.unread(list.name(), Some(number), "Experiment", "a text, which is a remark of the scenario");
            }
            Some((key @ ("tailFCT" | "FCT"), _)) => {
                notes.unread(list.name(), Some(number), key, "what the run is to give: nothing here compares it");
            }
            _ => {
                return Err(
                    fail("is no line of a list of experiments").hint("!Experiment, !Binary, !Param, !tailFCT, !FCT")
                );
            }
        }
    }
    let [(matrix, command)] = found.as_slice() else {
        let command = |(matrix, words): &(String, Vec<String>)| {
            format!("backwater import {matrix} --command \"{}\"", words.join(" "))
        };
        let first = found.first().map(command).unwrap_or_default();
        let reason = format!("{} experiments, and one is imported at a time", found.len());
        return Err(list.error(reason).hint(format!("the first one: {first}")));
    };
    let named = |name: &str| {
        list.beside(name).ok_or_else(|| list.error(format!("names {name}, and is no file that lies beside it")))
    };
    let topology = command.iter().position(|word| word == "-topo").and_then(|at| command.get(at + 1));
    Ok(Experiment {
        matrix: Some(named(matrix)?),
        topology: topology.map(|name| named(name)).transpose()?,
        command: command.clone(),
        about,
    })
}
