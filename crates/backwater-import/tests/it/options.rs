//! Tests options that the caller gives beside the files.

use crate::{fixture, imported};
use backwater_import::{Options, StartUnit};

fn text(path: &str) -> String {
    String::from_utf8(fixture(path)).expect("text")
}

/// A scenario with its own workload.
const MINE: &str = "title = \"mine\"\n[topology]\nkind = \"star\"\nhosts = 16\n[[flow]]\nlabel = \"a\"\n[[flow]]\nlabel = \"b\"\n\
                    [[job]]\nlabel = \"j\"\n[[job.step]]\nkind = \"all-reduce\"\n[pfc]\nxoff = \"1 MB\"\n";

fn on_mine() -> Options {
    Options { fabric: Some(("mine.toml".into(), MINE.into())), ..Options::default() }
}

/// Returns the keys of an imported scenario, how many groups of flows and jobs it has, and its notes.
fn imported_keys(files: &[&str], options: &Options) -> (Vec<String>, [usize; 2], Vec<String>) {
    let files: Vec<(&str, String)> = files.iter().map(|path| (*path, text(path))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let (result, _) = imported(&files, options).unwrap();
    let table: toml::Table = result.scenario.parse().unwrap();
    let count = |key: &str| table.get(key).and_then(toml::Value::as_array).map_or(0, Vec::len);
    let keys = table.keys().cloned().collect();
    (keys, [count("flow"), count("job")], result.notes.iter().map(ToString::to_string).collect())
}

#[test]
fn a_fabric_of_the_caller_comes_without_its_workload() {
    for (files, workload) in [
        (&["htsim/one.cm"][..], [1, 0]),
        (&["goal/mixed.goal"], [0, 1]),
        (&["msccl/small.xml"], [0, 1]),
        (&["simai/microAllReduce.txt"], [0, 1]),
        (&["hpcc/topology.txt", "hpcc/cdf.txt"], [1, 0]),
    ] {
        let (keys, count, notes) = imported_keys(files, &on_mine());
        assert_eq!(count, workload, "{files:?}");
        assert!(keys.iter().any(|key| key == "pfc"), "{files:?}: {keys:?}");
        let note = "mine.toml: ignored: 2 flow groups and 1 job: the workload is the imported one";
        assert_eq!(notes.iter().filter(|own| *own == note).count(), 1, "{files:?}: {notes:#?}");
    }
}

#[test]
fn a_fabric_without_a_workload_needs_no_note() {
    let options = Options {
        fabric: Some(("star.toml".into(), "[topology]\nkind = \"star\"\nhosts = 16\n".into())),
        ..Options::default()
    };
    let (_, _, notes) = imported_keys(&["htsim/one.cm"], &options);
    assert!(!notes.iter().any(|note| note.starts_with("star.toml")), "{notes:#?}");
}

#[test]
fn files_without_a_workload_ignore_a_fabric() {
    for files in [
        &["htsim/leaf_spine_tiny.topo"][..],
        &["hpcc/topology.txt"],
        &["simai/Spectrum-X_16g_8gps_400Gbps_H100"],
        &["nccl/dump.xml"],
        &["sonic/leaf.json"],
    ] {
        let (keys, _, notes) = imported_keys(files, &on_mine());
        let (own, ..) = imported_keys(files, &Options::default());
        assert_eq!(keys, own, "{files:?}");
        let notified = notes.iter().filter(|note| note.starts_with("--fabric: ignored: ")).count();
        assert_eq!(notified, 1, "{files:?}: {notes:#?}");
    }
}

#[test]
fn what_a_format_does_not_use_is_said_once() {
    let all = Options {
        start_unit: Some(StartUnit::Picoseconds),
        command: vec!["-x".into()],
        from_ps: Some(0),
        servers: Some(1),
        memory: Some(64_000_000),
        ..Options::default()
    };
    let none = Options { command: Vec::new(), ..all.clone() };
    for (file, options, unused) in [
        ("htsim/one.cm", &none, &["--zero-at", "--servers", "--memory"][..]),
        ("goal/mixed.goal", &all, &["--start-unit", "--zero-at", "--servers", "--memory"]),
        ("msccl/small.xml", &all, &["--start-unit", "--zero-at", "--servers", "--memory"]),
        ("hpcc/topology.txt", &all, &["--start-unit", "--command", "--servers", "--memory"]),
        ("sonic/leaf.json", &all, &["--start-unit", "--command", "--zero-at", "--servers"]),
        ("simai/microAllReduce.txt", &all, &["--start-unit", "--command", "--zero-at", "--servers", "--memory"]),
        ("nccl/dump.xml", &all, &["--start-unit", "--command", "--zero-at", "--memory"]),
    ] {
        let (_, _, notes) = imported_keys(&[file], options);
        let notified: Vec<&str> =
            notes.iter().filter_map(|note| note.split_once(": ignored: files of ")).map(|(name, _)| name).collect();
        assert_eq!(notified, unused, "{file}: {notes:#?}");
    }
}
