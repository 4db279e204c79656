//! `import FILE… -o SCENARIO`: turns files into a scenario, without Python. It helps those who write an importer.

use backwater_import::{Folder, Options, Source, import};
use std::path::PathBuf;

fn main() -> Result<(), String> {
    let (mut sources, mut out, mut options) = (Vec::new(), PathBuf::from("scenario.toml"), Options::default());
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "-o" => out = words.next().ok_or("-o has no value")?.into(),
            "--format" => options.format = words.next(),
            "--memory" => options.memory = words.next().and_then(|octets| octets.parse().ok()),
            "--command" => {
                options.command = words.next().unwrap_or_default().split_whitespace().map(str::to_owned).collect();
            }
            _ => sources.push(Source::file(word)),
        }
    }
    let folder = out.parent().map_or_else(PathBuf::new, PathBuf::from);
    let stem = out.file_stem().map_or_else(|| "scenario".into(), |stem| stem.to_string_lossy());
    let imported = import(sources, &stem, &options, &mut Folder(folder)).map_err(|error| error.to_string())?;
    imported.notes.iter().for_each(|note| eprintln!("{note}"));
    std::fs::write(&out, imported.scenario).map_err(|error| error.to_string())
}
