//! Tests imports of files of SimAI and AICB.

use crate::{fixture, imported};
use backwater_import::Memory;
use backwater_import::{Imported, Options, Source, import, mutation};

fn text(name: &str) -> String {
    String::from_utf8(fixture(&format!("simai/{name}"))).expect("text")
}

fn done(files: &[(&str, &str)]) -> (Imported, toml::Table) {
    let (result, _) = imported(files, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    let scenario = result.scenario.parse().unwrap_or_else(|error| panic!("{error}\n{}", result.scenario));
    (result, scenario)
}

/// Returns the label of each step and its relevant keys, as `KEY VALUE`.
fn steps(scenario: &toml::Table) -> Vec<String> {
    let line = |step: &toml::Value| {
        let keys = ["time", "size", "group_size", "group_stride", "after"];
        let reported = keys.iter().filter_map(|key| Some(format!("{key} {}", step.get(*key)?)));
        let name = format!("{}: {}", step["label"].as_str().unwrap(), step["kind"].as_str().unwrap());
        std::iter::once(name).chain(reported).collect::<Vec<_>>().join(", ")
    };
    scenario["job"][0]["step"].as_array().unwrap().iter().map(line).collect()
}

/// Returns the links of an explicit topology, as `a-b RATE DELAY`.
fn links(scenario: &toml::Table) -> Vec<String> {
    assert_eq!(scenario["topology"]["kind"].as_str(), Some("explicit"));
    let line = |link: &toml::Value| {
        let [a, b, rate, delay] = ["a", "b", "rate", "delay"].map(|key| link[key].as_str().unwrap());
        format!("{a}-{b} {rate} {delay}")
    };
    scenario["topology"]["link"].as_array().unwrap().iter().map(line).collect()
}

/// Two servers of eight GPUs, eight ASW switches by rail, and 64 PSW switches above them.
#[test]
fn servers_on_rails_are_a_leaf_spine_with_nvlink() {
    let (result, scenario) = done(&[("t", &text("Spectrum-X_16g_8gps_400Gbps_H100"))]);
    let expected: toml::Table =
        "kind = \"leaf-spine\"\nleaves = 8\nspines = 64\nhosts_per_leaf = 2\nrails = 8\nrate = \"400 Gb/s\"\n\
                                 link_delay = \"500 ns\"\n[nvlink]\ngpus = 8\nrate = \"2880 Gb/s\"\ndelay = \"25 ns\"\n"
            .parse()
            .unwrap();
    assert_eq!(scenario["topology"].as_table(), Some(&expected));
    assert_eq!((scenario.get("job"), scenario.get("nic")), (None, None));
    assert!(result.notes.iter().all(|note| !note.text.contains("NVLink")), "{:?}", result.notes);
}

/// Servers that `[topology.nvlink]` cannot describe: one server has slower NVLinks, or a GPU has two, or none.
#[test]
fn other_servers_are_written_out() {
    let whole = "9 2 2 3 10 H100\n4 5 6 7 8\n0 4 2400Gbps 25ns 0\n1 4 2400Gbps 25ns 0\n2 5 2400Gbps 25ns 0\n3 5 2400Gbps 25ns 0\n\
                 0 6 400Gbps 500ns 0\n1 7 400Gbps 500ns 0\n2 6 400Gbps 500ns 0\n3 7 400Gbps 500ns 0\n6 8 400Gbps 500ns 0\n\
                 7 8 400Gbps 500ns 0\n";
    let kind = |text: &str| done(&[("t", text)]).1["topology"]["kind"].as_str().unwrap().to_owned();
    assert_eq!(kind(whole), "leaf-spine");
    for (from, to) in
        [("3 5 2400Gbps", "3 5 1200Gbps"), ("3 5 2400Gbps", "3 4 2400Gbps"), ("1 4 2400Gbps", "2 4 2400Gbps")]
    {
        assert_eq!(kind(&whole.replace(from, to)), "explicit", "{to}");
    }
}

#[test]
fn gpus_have_several_links_to_the_network() {
    let text = "8 2 2 2 10 H100\n4 5 6 7\n0 4 2400Gbps 25ns 0\n1 4 2400Gbps 25ns 0\n2 5 2400Gbps 25ns 0\n3 5 2400Gbps 25ns 0\n\
                0 6 200Gbps 500ns 0\n0 7 200Gbps 500ns 0\n1 6 200Gbps 500ns 0\n2 6 200Gbps 500ns 0\n2 7 200Gbps 500ns 0\n\
                3 7 200Gbps 500ns 0\n";
    let (_, scenario) = done(&[("t", text)]);
    let of = |host: &str| links(&scenario).into_iter().filter(|link| link.starts_with(host)).collect::<Vec<_>>();
    assert_eq!(of("h2-"), ["h2-nvlink1 2400 Gb/s 25 ns", "h2-s6 200 Gb/s 500 ns", "h2-s7 200 Gb/s 500 ns"]);
}

/// If GPUs of a server share a switch, a link to it reaches a neighbour, as NVLink does.
#[test]
fn two_ways_to_a_neighbour_are_said() {
    let text =
        "4 2 1 1 4 H100\n2 3\n0 3 400Gbps 500ns 0\n1 3 400Gbps 500ns 0\n0 2 2400Gbps 25ns 0\n1 2 2400Gbps 25ns 0\n";
    let (result, scenario) = done(&[("t", text)]);
    assert_eq!(links(&scenario)[0], "h0-nvlink0 2400 Gb/s 25 ns");
    assert_eq!(scenario["nic"]["link"].as_str(), Some("least-loaded"));
    let reported = "t:4: differs: GPU 1 reaches another one by NVLink and by one switch alike";
    assert!(result.notes.iter().any(|note| note.to_string().starts_with(reported)), "{:?}", result.notes);
}

#[test]
fn a_workload_on_its_servers() {
    let files = [("w", text("microAllReduce.txt")), ("t", text("Spectrum-X_16g_8gps_400Gbps_H100"))];
    let (_, scenario) = done(&[(files[0].0, &files[0].1), (files[1].0, &files[1].1)]);
    let job = &scenario["job"][0];
    assert_eq!((job["ranks"].as_integer(), job.get("ranks_per_server")), (Some(8), None));
    // Weight and input gradient take 1 ns each. The second pass through the layers is backwards.
    assert_eq!(
        steps(&scenario),
        [
            "0 embedding_layer forward: compute, time \"556 us\"",
            "0 embedding_layer forward all-reduce: all-reduce, size \"16 MiB\"",
            "1 embedding_layer forward: compute, time \"556 us\"",
            "1 embedding_layer forward all-reduce: all-reduce, size \"64 MiB\"",
            "1 embedding_layer input gradient: compute, time \"1 ns\"",
            "1 embedding_layer weight gradient: compute, time \"1 ns\"",
            "0 embedding_layer input gradient: compute, time \"1 ns\"",
            "0 embedding_layer weight gradient: compute, time \"1 ns\"",
        ]
    );
}

/// 16 ranks: tensor groups of 2 and two stages leave 4 data-parallel ranks, of which 2 share a group of experts. By
/// `MockNcclGroup.cc` these groups are 1, 4 and 2 ranks apart, and those of the data-parallel experts 4.
#[test]
fn groups_are_those_of_the_program() {
    let (result, scenario) = done(&[("w", &text("experts.txt"))]);
    let expected = [
        "0 embedding forward: compute, time \"1 us\"",
        "0 embedding forward all-reduce: all-reduce, size \"4 KiB\", group_size 2",
        "1 moe forward: compute, time \"500 ns\"",
        // Half of 8193 B, rounded up, goes to the other rank.
        "1 moe forward all-to-all: all-to-all, size \"4097 B\", group_size 2, group_stride 2",
        "2 norm weight gradient: compute, time \"10 ns\"",
        "2 norm weight gradient all-gather: all-gather, size \"2 KiB\", group_size 4, group_stride 4",
        "2 norm update: compute, time \"50 ns\"",
        // Nothing waits for the collective of a weight gradient.
        "1 moe input gradient: compute, time \"700 ns\", after [\"2 norm weight gradient\"]",
        "1 moe input gradient all-to-all: all-to-all, size \"4 KiB\", group_size 2, group_stride 2",
        "1 moe weight gradient: compute, time \"900 ns\"",
        "1 moe weight gradient reduce-scatter: reduce-scatter, size \"10 KB\", group_size 2, group_stride 4",
        "0 embedding input gradient: compute, time \"2 us\", after [\"1 moe weight gradient\"]",
        "0 embedding weight gradient: compute, time \"3 us\"",
        "0 embedding weight gradient all-reduce: all-reduce, size \"64 KiB\", group_size 4, group_stride 4",
        "0 embedding update: compute, time \"100 ns\"",
    ];
    assert_eq!(steps(&scenario), expected);
    assert_eq!(scenario["topology"]["hosts"].as_integer(), Some(16));
    let notes: Vec<String> = result.notes.iter().map(ToString::to_string).collect();
    for note in [
        "w:1: differs: pp: that program runs one stage",
        "w:1: ignored: vpp, ga (line 1), pp_comm (line 1): that program only has it",
        "w:1: ignored: checkpoints: layers that are computed again",
        "w:5: ignored: BROADCAST: that program sends nothing",
    ] {
        assert!(notes.iter().any(|own| own.starts_with(note)), "{note} is missing in {notes:?}");
    }
}

#[test]
fn micro_tests_are_done_one_after_the_other() {
    let files = [("w", text("aicb_all_to_all.txt")), ("t", text("Spectrum-X_16g_8gps_400Gbps_H100"))];
    let (_, scenario) = done(&[(files[0].0, &files[0].1), (files[1].0, &files[1].1)]);
    let steps = steps(&scenario);
    assert_eq!(steps.len(), 19);
    // Each rank gets a sixteenth of 4096 B. The sizes grow up to 1 GiB.
    assert_eq!(steps[0], "0 micro_test weight gradient all-to-all: all-to-all, size \"256 B\"");
    assert_eq!(steps[18], "18 micro_test weight gradient all-to-all: all-to-all, size \"64 MiB\"");
}

#[test]
fn policies_order_the_passes() {
    let of = |policy: &str| {
        let layers =
            "a -1 1 ALLREDUCE 8 2 ALLREDUCE 8 3 ALLREDUCE 8 0\nb -1 4 ALLREDUCE 8 5 ALLREDUCE 8 6 ALLREDUCE 8 0\n";
        let text = format!("{policy} all_gpus: 4 model_parallel_NPU_group: 2\n2\n{layers}");
        let (_, scenario) = done(&[("w", &text)]);
        let short = |step: String| {
            let (label, rest) = step.split_once(": ").unwrap();
            let after = rest.split_once("after ").map_or(String::new(), |(_, after)| format!(" < {after}"));
            format!("{label}{after}").replace("gradient", "g").replace("all-reduce", "sum")
        };
        steps(&scenario).into_iter().map(short).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(of("DISTRIBUTED_INFERENCE"), "0 a forward; 0 a forward sum; 1 b forward; 1 b forward sum");
    assert_eq!(
        of("DATA"),
        "0 a forward; 1 b forward; 1 b weight g; 1 b weight g sum; 1 b input g < [\"1 b weight g\"]; 0 a weight g; 0 a weight g sum"
    );
    assert_eq!(
        of("MODEL"),
        "0 a forward; 0 a forward sum; 1 b forward; 1 b forward sum; 1 b input g; 1 b input g sum; 1 b weight g < [\"1 b input g\"]; \
         1 b weight g sum; 1 b gs < [\"1 b weight g\", \"1 b input g sum\"]; 0 a input g; 0 a weight g; 0 a weight g sum"
    );
}

#[test]
fn gpus_that_only_have_nvlink_are_joined_by_its_switch() {
    let text =
        "5 4 1 0 4 H100\n4\n0 4 2400Gbps 25ns 0\n1 4 2400Gbps 25ns 0\n2 4 2400Gbps 25ns 0\n3 4 2400Gbps 25ns 0\n";
    let (_, scenario) = done(&[("t", text), ("w", "MICRO\n1\nm -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 4096 1\n")]);
    assert_eq!(scenario["topology"]["kind"].as_str(), Some("star"));
    assert_eq!(scenario["topology"]["rate"].as_str(), Some("2400 Gb/s"));
    assert_eq!(scenario["job"][0].get("ranks_per_server"), None);
    assert_eq!(scenario["job"][0]["ranks"].as_integer(), Some(4));
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    let refused = |kind: &str, text: &str| {
        let options = Options { format: Some(format!("simai-{kind}")), ..Options::default() };
        imported(&[("a", text)], &options).map(|_| ()).unwrap_err().to_string()
    };
    let layer = "l -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 1\n";
    for (kind, file, expected) in [
        ("topology", "5 4 1 0 4 H100\n4\n0 4 1Gbps 1ns 0\n".to_owned(), "a:3: the file ends where"),
        (
            "topology",
            "50 4 1 0 4 H100\n4\n0 4 1Gbps 1ns 0\n".into(),
            "a:1: says 50 nodes and 4 links, and is too short",
        ),
        (
            "topology",
            "5 4 1 4 1 H100\n4\n0 4 1Gbps 1ns 0\n".into(),
            "a:1: 1 and 4 of 5 nodes are switches: there is no GPU",
        ),
        ("topology", "5 3 1 0 1 H100\n4\n0 4 1Gbps 1ns 0\n".into(), "a:1: 4 GPUs do not fill servers of 3"),
        (
            "topology",
            "3 2 0 1 2 H100\n2\n0 2 1Gbps 1ns 0\n0 1 1Gbps 1ns 0\n".into(),
            "a:4: a link between the GPUs 0 and 1",
        ),
        (
            "topology",
            "4 2 1 1 3 H100\n2 3\n0 2 1Gbps 1ns 0\n1 2 1Gbps 1ns 0\n0 3 1Gbps 1ns 0\n".into(),
            "a:1: GPU 1 has no link to the network",
        ),
        (
            "topology",
            format!("2 1 1 0 65 H100\n1\n{}", "0 1 1Gbps 1ns 0\n".repeat(65)),
            "a:67: GPU 0 has more than 64 links of a kind",
        ),
        ("workload", format!("HYBRID_DLRM all_gpus: 4\n1\n{layer}"), "a:1: `HYBRID_DLRM`: cannot be imported"),
        ("workload", format!("SOMETHING all_gpus: 4\n1\n{layer}"), "a:1: `SOMETHING`: is no policy of SimAI"),
        ("workload", format!("MICRO all_gpus: 0\n1\n{layer}"), "a:1: a number of GPUs is 0"),
        ("workload", format!("MICRO\n1\n{layer}"), "a:1: the number of GPUs is not said"),
        (
            "workload",
            format!("MICRO all_gpus: 4\n2\n{layer}"),
            "a:3: the file ends where the name of a layer should stand",
        ),
        (
            "workload",
            "MICRO all_gpus: 4\n1\nl -1 1 NONE 0 1 NONE 0 1 GATHER 8 1\n".into(),
            "a:3: `GATHER`: is no collective that can be imported",
        ),
        (
            "workload",
            "MICRO all_gpus: 4\n1\nl -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 18446744073709551615 1\n".into(),
            "a:3: 18446744073709551615 B are more than",
        ),
        (
            "workload",
            format!("DATA all_gpus: 6 pp: 4\n1\n{layer}"),
            "a:1: 6 ranks do not make groups of tensor and pipeline of 4",
        ),
        ("workload", format!("DATA all_gpus: 6 ep: 4\n1\n{layer}"), "a:1: 6 ranks do not make groups of experts of 4"),
        ("workload", "MICRO all_gpus: 1\n1\nl -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n".into(), "a: no layer computes"),
        ("workload", format!("MICRO all_gpus: 4000000\n1\n{layer}"), "a:1: 4000000 ranks are more than 1000000"),
        ("workload", format!("MICRO all_gpus: 70000\n1\n{layer}"), "a: 70000 ranks, and no topology is given"),
    ] {
        let error = refused(kind, &file);
        assert!(error.starts_with(expected), "{error}\nis not {expected}");
    }
    let topology = text("Spectrum-X_16g_8gps_400Gbps_H100");
    let workload = format!("MICRO all_gpus: 32\n1\n{layer}");
    let error = imported(&[("w", &workload), ("t", &topology)], &Options::default()).map(|_| ()).unwrap_err();
    assert!(error.to_string().starts_with("w:1: 32 ranks, and the topology has 16 GPUs"), "{error}");
}

/// Two servers of two GPUs. Each GPU has NVLink and a link to the switch of its number.
const SERVERS: &str = "9 2 2 3 10 H100\n4 5 6 7 8\n0 4 2880Gbps 25ns 0\n1 4 2880Gbps 25ns 0\n2 5 2880Gbps 25ns 0\n3 5 2880Gbps 25ns 0\n\
                       0 6 400Gbps 500ns 0\n1 7 400Gbps 500ns 0\n2 6 400Gbps 500ns 0\n3 7 400Gbps 500ns 0\n6 8 400Gbps 500ns 0\n\
                       7 8 400Gbps 500ns 0\n";
const EXCHANGE: &str = "MICRO all_gpus: 4\n1\nexchange -1 1 NONE 0 1 NONE 0 1 ALLTOALL 1048576 1\n";
/// A configuration like SimAI.conf: it names missing files, and has marking thresholds for the network's rates only.
const CONF: &str = "FLOW_FILE /etc/astra-sim/simulation/flows.txt\nPACKET_PAYLOAD_SIZE 9000\nSIMULATOR_STOP_TIME 40000000000000.00\n\
                    CC_MODE 1\nENABLE_QCN 1\nRATE_AI 50Mb/s\nRATE_HAI 100Mb/s\nMIN_RATE 100Mb/s\nRP_TIMER 900\n\
                    EWMA_GAIN 0.00390625\nL2_ACK_INTERVAL 1\nHAS_WIN 1\nGLOBAL_T 0\nVAR_WIN 1\nMON_START 0\n\
                    KMAX_MAP 1 400000000000 3200\nKMIN_MAP 1 400000000000 800\nPMAX_MAP 1 400000000000 0.2\nBUFFER_SIZE 32\n";

#[test]
fn a_configuration_stands_beside_workload_and_topology() {
    for files in [
        [("w", EXCHANGE), ("t", SERVERS), ("SimAI.conf", CONF)],
        [("SimAI.conf", CONF), ("t", SERVERS), ("w", EXCHANGE)],
    ] {
        let (result, scenario) = done(&files);
        let text = |table: &str, key: &str| scenario[table][key].to_string();
        assert_eq!(text("packet", "payload"), "\"9 KB\"");
        assert_eq!((text("dcqcn", "rai"), text("dcqcn", "rate_timer")), ("\"50 Mb/s\"".into(), "\"900 us\"".into()));
        assert_eq!(text("switch", "architecture"), "\"shared-memory\"");
        // GLOBAL_T is 1 in that program. From h0 to h3, 4 links of 500 ns there and back and 9000 B over each link take
        // 4.72 us at 400 Gb/s.
        assert_eq!(text("transport", "window"), "\"236 KB\"");
        assert_eq!((text("ecn", "kmin"), text("ecn", "kmax")), ("\"800 KB\"".into(), "\"3200 KB\"".into()));
        let at = scenario["ecn"]["at"].as_array().unwrap();
        assert_eq!((at.len(), at[0]["tier"].as_str(), at[0]["kmin"].as_str()), (1, Some("nvlink"), Some("1024 GiB")));
        assert_eq!((scenario.get("stop"), scenario["job"][0]["ranks"].as_integer()), (None, Some(4)));
        let notes: Vec<String> = result.notes.iter().map(ToString::to_string).collect();
        for note in [
            "SimAI.conf:1: ignored: FLOW_FILE: the workload and the topology stand in files of their own",
            "SimAI.conf:3: ignored: SIMULATOR_STOP_TIME: the run ends with its workload",
            "SimAI.conf:13: ignored: GLOBAL_T: that program takes 1",
            "SimAI.conf:15: ignored: MON_START: what that program samples",
        ] {
            assert!(notes.iter().any(|own| own.starts_with(note)), "{note} is missing in {notes:#?}");
        }
        assert!(!notes.iter().any(|note| note.contains("which that program has in another file")), "{notes:#?}");
    }
    // Without a topology, the fabric is a star. With another fabric, the configuration is ignored.
    assert_eq!(done(&[("w", EXCHANGE), ("c", CONF)]).1["ecn"]["kmin"].as_str(), Some("800 KB"));
    let options =
        Options { fabric: Some(("f".into(), "[topology]\nkind = \"star\"\nhosts = 4\n".into())), ..Options::default() };
    let (result, _) = imported(&[("w", EXCHANGE), ("c", CONF)], &options).unwrap();
    assert!(result.notes.iter().any(|note| note.text.starts_with("the configuration: --fabric has")));
    let refused = |files: &[(&str, &str)]| imported(files, &Options::default()).map(|_| ()).unwrap_err().to_string();
    let error = refused(&[("w", EXCHANGE), ("c", &CONF.replace("400000000000 800", "100000000000 800"))]);
    assert!(error.starts_with("c:17: `100000000000 800`: KMIN_MAP has no value for 400 Gb/s"), "{error}");
    let error = refused(&[("w", EXCHANGE), ("c", CONF), ("m", "Nodes 2\nConnections 1\n0->1 start 0 size 5\n")]);
    assert!(error.starts_with("m: a file of htsim, and the ones before it are of simai"), "{error}");
}

/// The file also has marking thresholds for NVLink switches, which do not mark, and for rates that no link has.
#[test]
fn thresholds_of_marking_that_nothing_has_are_named() {
    let conf = CONF
        .replace("MAP 1 400000000000 3200", "MAP 2 400000000000 3200 2880000000000 9")
        .replace("MAP 1 400000000000 800", "MAP 2 400000000000 800 100000000000 5");
    let (result, _) = done(&[("w", EXCHANGE), ("t", SERVERS), ("SimAI.conf", &conf)]);
    let notes: Vec<String> = result.notes.iter().map(ToString::to_string).collect();
    for expected in [
        "SimAI.conf:16: differs: KMAX_MAP: no mark at 2880 Gb/s, a rate of links that only NVLink switches have, which do \
         not mark",
        "SimAI.conf:17: differs: KMIN_MAP: no mark at 100 Gb/s, a rate of links that no switch has",
    ] {
        assert!(notes.iter().any(|note| note == expected), "{expected} is missing in {notes:#?}");
    }
    assert!(!notes.iter().any(|note| note.contains("PMAX_MAP")), "{notes:#?}");
}

#[test]
fn ranks_that_are_fewer_than_gpus_are_said() {
    let reported = |ranks: u32| {
        let workload = EXCHANGE.replace("all_gpus: 4", &format!("all_gpus: {ranks}"));
        let (result, _) = done(&[("w", &workload), ("t", SERVERS)]);
        let notes = result.notes.iter().map(ToString::to_string);
        notes.filter(|note| note.contains("GPUs, the first ones")).collect::<Vec<_>>()
    };
    assert_eq!(reported(4), [""; 0]);
    assert!(
        reported(2)[0].starts_with("w:1: differs: 2 of 4 GPUs, the first ones, all in one server"),
        "{:?}",
        reported(2)
    );
    assert!(reported(3)[0].contains("3 of 4 GPUs, the first ones, in the first 2 servers"), "{:?}", reported(3));
}

/// If one of two files that belong together changes, they are read or refused.
#[test]
fn mutated_sets_are_read_or_refused() {
    let names = ["experts.txt", "Spectrum-X_16g_8gps_400Gbps_H100"];
    for seed in 0..600u64 {
        let sources = (0u64..).zip(names).map(|(number, name)| {
            let original = fixture(&format!("simai/{name}"));
            let octets = if seed % 2 == number { mutation::of(&original, seed) } else { original };
            Source::octets(name, octets)
        });
        if let Ok(result) = import(sources.collect(), "it", &Options::default(), &mut Memory::default()) {
            result.scenario.parse::<toml::Table>().unwrap_or_else(|error| panic!("{seed}: {error}"));
        }
    }
}
