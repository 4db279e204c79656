//! Recognises files of other tools, and imports them as scenarios.

use crate::errors::{call, patiently};
use backwater::ScenarioError;
use backwater_engine::Time;
use backwater_import::registry::{self, FAMILIES};
use backwater_import::{
    Asked, ChipPreset, Folder, ImportError, Imported, Needed, Options, Pauses, Source, StartUnit, import,
};
use backwater_mech::mac_control::Signal;
use backwater_mech::pfc::{annex_n, headroom, headroom_in_cells, in_cells_of_longest};
use backwater_net::config::PacketParams;
use backwater_net::{Bytes, Rate};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// Turns an import's error into one of a scenario, with the same attributes and text.
fn as_scenario(error: ImportError) -> ScenarioError {
    let reason = match &error.value {
        Some(value) => format!("`{value}`: {}", error.reason),
        None => error.reason,
    };
    let line = error.line.and_then(|line| usize::try_from(line).ok());
    ScenarioError { file: error.file, line, value: error.value, reason, hint: error.hint, ..ScenarioError::default() }
}

/// Limits of PFC for a link, for the import of a switch.
const PAUSES: Pauses = Pauses {
    longest_response: |bps| annex_n::longest_response(Rate(bps)).map(|time| time.0),
    headroom: |asked: Asked| {
        let (rate, delay, response) = (Rate(asked.bps), Time(asked.delay_ps), Time(asked.response_ps));
        let (frame, cell, gap) = (Bytes(asked.frame), Bytes(asked.cell), PacketParams::default().gap);
        let exact = |response| headroom(rate, delay, frame, gap, response, Signal::Timed);
        let any_frames = |response| headroom_in_cells(exact(response), frame, gap, cell).0;
        Needed {
            longest_frames: in_cells_of_longest(exact(response), frame, cell).0,
            any_frames: any_frames(response),
            slow_interfaces: annex_n::longest_interfaces(rate).map(|delay| any_frames(response.after(delay))),
        }
    },
    annex_n: |asked: Asked| {
        let (rate, delay, response) = (Rate(asked.bps), Time(asked.delay_ps), Time(asked.response_ps));
        annex_n::headroom(rate, delay, Bytes(asked.frame), Some(response)).map(|bytes| bytes.0)
    },
};

/// Return the kinds of files that can be imported, each with name, summary and source.
#[pyfunction]
pub fn formats(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let mut all = Vec::new();
    for family in FAMILIES {
        for kind in family.kinds {
            let dict = PyDict::new(py);
            dict.set_item("name", kind.name)?;
            dict.set_item("summary", kind.about)?;
            dict.set_item("source", family.about)?;
            all.push(dict);
        }
    }
    Ok(all)
}

/// Return the kind of a file that can be imported, by its content; None: of no kind.
#[pyfunction]
pub fn recognise(py: Python<'_>, file: PathBuf) -> PyResult<Option<&'static str>> {
    call(py, || registry::recognise(&Source::file(file)).map_err(as_scenario))
        .map(|found| found.map(|(_, kind)| kind.name))
}

/// Turn files into the text of one scenario, and write its tables to `folder`.
#[pyfunction]
#[pyo3(signature = (
    files, folder, stem, *, kind=None, start_unit=None, from_ps=None, command=Vec::new(), fabric=None, servers=None, memory=None,
    response_ps=None, asic=None
))]
#[expect(clippy::too_many_arguments, reason = "they are the options of the command")]
pub fn import_files<'py>(
    py: Python<'py>,
    files: Vec<PathBuf>,
    folder: PathBuf,
    stem: String,
    kind: Option<String>,
    start_unit: Option<&str>,
    from_ps: Option<u64>,
    command: Vec<String>,
    fabric: Option<(String, String)>,
    servers: Option<u32>,
    memory: Option<u64>,
    response_ps: Option<u64>,
    asic: Option<String>,
) -> PyResult<Bound<'py, PyDict>> {
    let start_unit = start_unit.map(|unit| if unit == "us" { StartUnit::Microseconds } else { StartUnit::Picoseconds });
    let pauses = Some(PAUSES);
    let chips = backwater::chips().map(|chip| ChipPreset { name: chip.name, toml: chip.toml }).collect();
    let options = Options {
        format: kind,
        start_unit,
        from_ps,
        command,
        fabric,
        servers,
        memory,
        response_ps,
        asic,
        chips,
        pauses,
    };
    let work = move || {
        let sources = files.into_iter().map(Source::file).collect();
        import(sources, &stem, &options, &mut Folder(folder)).map_err(as_scenario)
    };
    let Imported { kinds, scenario, notes } = patiently(py, None, work)?;
    let dict = PyDict::new(py);
    dict.set_item("kinds", kinds)?;
    dict.set_item("scenario", scenario)?;
    let notes =
        notes.into_iter().map(|note| (note.file, note.line, note.kind.word(), note.text, note.lines, note.names));
    dict.set_item("notes", notes.collect::<Vec<_>>())?;
    Ok(dict)
}
