//! Valid scenarios: merging, origins, round trip, and the runs built from them.

use backwater::{Scenario, build, new_scenario};
use backwater_engine::Time;
use backwater_mech::stage;
use backwater_net::packet::{Class, HostId};
use backwater_net::record::{Row, Sink};
use backwater_net::spec::{Fault, FaultKind, FlowSpec};
use backwater_net::workload::FlowSource;
use std::path::Path;

fn read(text: &str) -> Scenario {
    Scenario::from_text(text, "net.toml", Path::new(".")).unwrap_or_else(|e| panic!("{e}"))
}

const STAR: &str = r#"
[topology]
kind = "star"
hosts = 4
rate = "100 Gb/s"
link_delay = "100 ns"
"#;

fn flows(text: &str, seed: u64) -> Vec<FlowSpec> {
    let resolved = read(text).check().unwrap_or_else(|e| panic!("{e}"));
    let mut spec = build(&resolved, seed).unwrap_or_else(|e| panic!("{e}"));
    let drain = |source: &mut Box<dyn FlowSource>| std::iter::from_fn(|| source.next_flow()).collect::<Vec<_>>();
    let all: Vec<FlowSpec> = spec.sources.iter_mut().flat_map(drain).collect();
    if let Some(total) = spec.flows_total {
        assert_eq!(total, all.len() as u64);
    }
    all
}

#[test]
fn the_starting_scenario_and_its_variants_are_good() {
    let scenario = read(new_scenario());
    assert_eq!(scenario.variants(), ["sfc", "dcqcn", "voq", "endless"]);
    let resolved = scenario.check().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(resolved.warnings, []);
    assert_eq!(resolved.resolved().mechanisms.names(), ["pfc"]);
    let names = |variant| {
        scenario.with_variant(variant).unwrap().check().unwrap_or_else(|e| panic!("{e}")).resolved().mechanisms.names()
    };
    assert_eq!(names("sfc"), ["pfc", "sfc"]);
    assert_eq!(names("dcqcn"), ["ecn", "pfc", "dcqcn"]);
    assert!(names("endless").is_empty());
    let spec = build(&resolved, 1).unwrap();
    assert_eq!(
        (spec.groups.as_slice(), spec.flows_total, spec.switches.len()),
        (&["incast".into(), "victim".into()][..], Some(4), 6)
    );
}

#[test]
fn the_starting_scenario_and_its_variants_run() {
    let scenario = read(new_scenario());
    let all = scenario.variants().into_iter().map(|name| scenario.with_variant(&name).unwrap());
    for scenario in all.collect::<Vec<_>>().iter().chain([&scenario]) {
        let spec = build(&scenario.check().unwrap(), 1).unwrap();
        let mut network = stage::build(spec).unwrap_or_else(|e| panic!("{e}"));
        let mut done = Done::default();
        while !stage::run(&mut network, 1_000_000, &mut done).unwrap_or_else(|e| panic!("{e:?}")).done {}
        network.finish(&mut done);
        assert_eq!(done.0, 4, "{:?} {:?}", scenario.check().unwrap().resolved().mechanisms.names(), network.progress());
    }
}

/// Counts complete flows.
#[derive(Default)]
struct Done(usize);

impl Sink for Done {
    fn row(&mut self, row: Row<'_>) {
        if let Row::Flow(row) = row {
            self.0 += usize::from(row.fct_last_ack.is_some());
        }
    }
}

#[test]
fn a_million_hosts_are_checked_in_seconds() {
    let text = "[topology]\nkind = \"leaf-spine\"\nleaves = 1000\nspines = 8\nhosts_per_leaf = 1000\nrate = \"1 Gb/s\"\nlink_delay = \"1 us\"\n\
                [pfc]\nxoff = \"1 MB\"\n[[flow]]\npattern = \"permutation\"\nsize = \"1 KB\"\n";
    let resolved = read(text).check().unwrap();
    assert_eq!(build(&resolved, 1).unwrap().flows_total, Some(1_000_000));
}

#[test]
fn the_scenarios_of_the_studies_are_good() {
    let studies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let files = std::fs::read_dir(studies).unwrap().map(|entry| entry.unwrap().path().join("scenario.toml"));
    for file in files.filter(|file| file.is_file()) {
        let scenario = Scenario::load(&file).unwrap_or_else(|e| panic!("{e}"));
        scenario.check().and_then(|r| build(&r, 1)).map(|_| ()).unwrap_or_else(|e| panic!("{e}"));
        for variant in scenario.variants() {
            let resolved = scenario.with_variant(&variant).and_then(|s| s.check());
            resolved.and_then(|r| build(&r, 1)).map(|_| ()).unwrap_or_else(|e| panic!("{variant}: {e}"));
        }
    }
}

#[test]
fn resolved_text_reads_back_to_the_same() {
    for variant in [None, Some("sfc"), Some("dcqcn"), Some("endless"), Some("hpcc")] {
        let mut scenario = read(new_scenario());
        match variant {
            // It adds octets to each frame.
            Some("hpcc") => scenario = scenario.with_mechanism("hpcc").unwrap(),
            Some(name) => scenario = scenario.with_variant(name).unwrap(),
            None => {}
        }
        let scenario = scenario.with_set("switch.at", r#"[{ tier = "spine", buffer = "900 KB" }]"#).unwrap();
        let first = scenario.check().unwrap_or_else(|e| panic!("{e}"));
        let text = first.resolved().to_toml();
        let second = read(&text).check().unwrap_or_else(|e| panic!("{text}\n{e}"));
        assert_eq!(second.resolved().to_toml(), text);
        let plain =
            |r: &backwater::Checked| r.resolved().values().into_iter().map(|v| (v.key, v.value)).collect::<Vec<_>>();
        assert_eq!(plain(&first), plain(&second));
        assert!(
            second.resolved().values().iter().filter(|v| v.value != "absent").all(|v| v.origin != "default"),
            "{text}"
        );
    }
}

#[test]
fn every_value_says_where_it_comes_from() {
    let text = format!(
        "{STAR}[pfc]\nxoff = \"300 KiB\"\n[dcqcn]\npreset = \"ns3-hpcc\"\nrpg-ai-rate = \"30 Mb/s\"\n[[dcqcn.at]]\ntier = \"switch\"\nf = 3\n\
         [variant.big.switch]\nbuffer = \"64 MB\"\n"
    );
    let scenario = read(&text).with_variant("big").unwrap().with_set("pfc.xon", "100 KB").unwrap();
    let values = scenario.check().unwrap_or_else(|e| panic!("{e}")).resolved().values();
    let of = |key: &str| {
        let value = values.iter().find(|v| v.key == key).unwrap_or_else(|| panic!("no {key}"));
        format!("{} from {}", value.value, value.origin)
    };
    assert_eq!(of("topology.hosts"), "4 from net.toml:4");
    assert_eq!(of("pfc.xoff"), "307.2 KB from net.toml:8");
    assert_eq!(of("pfc.xon"), "100 KB from --set");
    assert_eq!(of("pfc.quanta"), "65535 from default");
    assert_eq!(of("dcqcn.rai"), "30 Mb/s from net.toml:11");
    assert_eq!(of("dcqcn.law"), "ns3 from preset ns3-hpcc of dcqcn");
    assert_eq!(of("dcqcn.at.0.f"), "3 from net.toml:14");
    assert_eq!(of("dcqcn.at.0.rhai"), "200 Mb/s from preset ns3-hpcc of dcqcn");
    assert_eq!(of("switch.buffer"), "64 MB from variant big (net.toml:16)");
    assert_eq!(of("switch.speedup"), "absent from default");
    assert_eq!(of("seed"), "1 from default");
}

#[test]
fn entries_of_lists_are_overridden_by_label_or_number() {
    let text = format!(
        "{STAR}[[flow]]\nlabel = \"incast\"\nfrom = \"1..3\"\nto = 0\nsize = \"1 MB\"\n[[flow]]\nlabel = \"victim\"\nfrom = 1\nto = 2\nsize = \"1 KB\"\n\
         [variant.large.flow.incast]\nsize = \"9 MB\"\n"
    );
    let scenario = read(&text).with_variant("large").unwrap().with_set("flow.1.size", "2 KB").unwrap();
    let resolved = scenario.check().unwrap();
    let size = |i: usize| resolved.resolved().file.flow[i].size.map(|s| s.to_string());
    assert_eq!((size(0), size(1)), (Some("9 MB".into()), Some("2 KB".into())));
}

#[test]
fn values_are_named_by_the_label_that_sets_them() {
    let group = |label: &str| format!("[[flow]]\n{label}from = 1\nto = 0\nsize = \"1 MB\"\n");
    let labels = ["label = \"incast\"\n", "label = \"same\"\n", "label = \"same\"\n", "", "label = \"a.b\"\n"];
    let text = labels.iter().fold(STAR.to_owned(), |text, label| text + &group(label));
    let scenario = read(&text);
    let keys = |s: &Scenario| s.check().unwrap().resolved().values().into_iter().map(|v| v.key).collect::<Vec<_>>();
    let sizes: Vec<String> =
        keys(&scenario).into_iter().filter(|k| k.starts_with("flow.") && k.ends_with(".size")).collect();
    assert_eq!(sizes, ["flow.incast.size", "flow.1.size", "flow.2.size", "flow.3.size", "flow.\"a.b\".size"]);
    for key in sizes {
        let changed = scenario.with_set(&key, "7 KB").unwrap_or_else(|e| panic!("{e}"));
        let values = changed.check().unwrap().resolved().values();
        let seven: Vec<&str> = values.iter().filter(|v| v.value == "7 KB").map(|v| v.key.as_str()).collect();
        assert_eq!(seven, [key.as_str()]);
        assert_eq!(backwater::explain(&key).unwrap().key, "flow.size");
    }
}

#[test]
fn groups_become_flows() {
    let pairs = |text: &str| flows(&format!("{STAR}[stop]\nat = \"1 ms\"\n[[flow]]\n{text}"), 1);
    let of = |flows: &[FlowSpec]| flows.iter().map(|f| (f.src.0, f.dst.0)).collect::<Vec<_>>();
    let incast = pairs("from = \"1..3\"\nto = \"h0\"\nsize = \"1 MB\"\nstart = \"5 us\"\nclass = 5\nect = false");
    assert_eq!(of(&incast), [(1, 0), (2, 0), (3, 0)]);
    assert!(incast.iter().all(|f| f.bytes == 1_000_000 && f.start == Time::us(5) && f.class.0 == 5 && !f.ect));
    assert_eq!(of(&pairs("to = 2\nsize = \"1 B\"")), [(0, 2), (1, 2), (3, 2)], "all means all others");
    assert_eq!(
        of(&pairs("from = [0, 1]\nto = [2, \"h3\"]\nsize = \"1 B\"\ncount = 2")),
        [(0, 2), (0, 2), (1, 3), (1, 3)]
    );
    assert_eq!(pairs("pattern = \"all-to-all\"\nsize = \"1 B\"").len(), 12);
    let permutation = pairs("pattern = \"permutation\"\nsize = \"1 B\"");
    assert!(permutation.len() == 4 && permutation.iter().all(|f| f.src != f.dst));
    // 12500 B with 4 x 82 B of overhead at half of 100 Gb/s: one flow each 2052.48 ns.
    let periodic = pairs("from = 1\nto = 0\nsize = \"12500 B\"\narrivals = \"periodic\"\nload = \"50 %\"\ncount = 3");
    assert_eq!(periodic.iter().map(|f| f.start).collect::<Vec<_>>(), [Time(0), Time(2_052_480), Time(4_104_960)]);
    let random =
        pairs("pattern = \"random\"\nfrom = \"0..1\"\nsizes = \"web-search\"\narrivals = \"poisson\"\nload = \"90 %\"");
    assert!(random.len() > 2 && random.iter().all(|f| f.src.0 < 2 && f.src != f.dst && f.start < Time::ms(1)));
    let stream = pairs("from = 1\nto = [0, 2]\narrivals = \"bernoulli\"\nload = \"60 %\"");
    let probability = |f: &FlowSpec| f.stream.map(|s| (s.probability, s.slot, s.until));
    // One packet: 4096 + 62 + 20 B at 100 Gb/s.
    assert_eq!(probability(&stream[0]), Some((0.3, Time(334_240), Time::ms(1))));
    assert_eq!(stream.len(), 2);
}

#[test]
fn ids_are_unique_whatever_the_groups() {
    let text = format!(
        "{STAR}[stop]\nat = \"50 us\"\n[[flow]]\nto = 0\nsize = \"1 B\"\ncount = 3\n[[flow]]\nto = 1\nsize = \"1 KB\"\narrivals = \"poisson\"\nload = \"10 %\"\n\
         [[flow]]\npattern = \"random\"\nsize = \"1 KB\"\narrivals = \"poisson\"\nload = \"10 %\"\n"
    );
    let all = flows(&text, 1);
    let ids: std::collections::HashSet<u64> = all.iter().map(|f| f.id).collect();
    assert!(all.len() > 20 && ids.len() == all.len());
    assert_eq!(flows(&text, 1), all);
    assert_ne!(flows(&text, 2), all);
}

#[test]
fn paths_are_pinned_by_path_or_via() {
    let base = "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\nrate = \"100 Gb/s\"\nlink_delay = \"1 us\"\n";
    let names = |text: &str| {
        let resolved =
            read(&format!("{base}[[flow]]\nfrom = [0, 1]\nto = [2, 3]\nsize = \"1 B\"\n{text}")).check().unwrap();
        let mut spec = build(&resolved, 1).unwrap();
        let mut all = Vec::new();
        while let Some(flow) = spec.sources[0].next_flow() {
            let path = flow.path.unwrap();
            all.push(path.iter().map(|n| spec.graph.nodes[n.0 as usize].name.clone()).collect::<Vec<_>>().join(" "));
        }
        all
    };
    let expected = ["h0 leaf0 spine1 leaf1 h2", "h1 leaf0 spine1 leaf1 h3"];
    assert_eq!(names("via = [\"spine1\"]"), expected);
    assert_eq!(names("path = [\"leaf0\", \"spine1\", \"leaf1\"]"), expected);
    assert_eq!(names("via = [[\"spine0\"], [\"spine1\"]]")[0], "h0 leaf0 spine0 leaf1 h2");
}

#[test]
fn an_explicit_topology_with_faults_and_series() {
    let text = r#"
        seed = 7
        [topology]
        kind = "explicit"
        node = [{ name = "a", kind = "host" }, { name = "core", kind = "switch", tier = "core" }, { name = "b", kind = "host" }]
        link = [
            { a = "a", b = "core:1", rate = "10 Gb/s", delay = "1 us" },
            { a = "core:0", b = "b", rate = { ab = "10 Gb/s", ba = "10 Gb/s" }, delay = "1 us" },
        ]
        [[switch.at]]
        tier = "core"
        latency = "1 us"
        [[flow]]
        from = "a"
        to = "b"
        size = "1 MB"
        [[fault]]
        kind = "drop-nth"
        at = "3 us"
        from = "a"
        to = "core"
        frame = "data"
        nth = 2
        [[fault]]
        kind = "slow-receiver"
        host = "b"
        rate = "1 Gb/s"
        xoff = "100 KB"
        xon = "50 KB"
        [[fault]]
        kind = "pause-storm"
        host = "b"
        at = "5 us"
        until = "9 us"
        classes = [3, 4]
        [[fault]]
        kind = "pause-storm"
        host = 0
        [output]
        interval = "10 us"
        queues = true
        nodes = ["core"]
    "#;
    let resolved = read(text).check().unwrap_or_else(|e| panic!("{e}"));
    let spec = build(&resolved, resolved.resolved().seed()).unwrap();
    assert_eq!((spec.seed, spec.switches[0].latency), (7, Time::us(1)));
    assert_eq!(spec.graph.ports().unwrap()[1][0].link, 1);
    assert!(matches!(spec.faults[0].kind, FaultKind::DropNth { nth: 2, .. }));
    assert!(matches!(spec.faults[1].kind, FaultKind::SlowReceiver { host: HostId(1), .. }));
    let storm = |at, host, classes| Fault { at, kind: FaultKind::PauseStorm { host: HostId(host), classes } };
    let end = Fault { at: Time::us(9), kind: FaultKind::PauseStormEnd { host: HostId(1), classes: 0b11000 } };
    assert_eq!(spec.faults[2..], [storm(Time::us(5), 1, 0b11000), end, storm(Time::ZERO, 0, 0xFF)]);
    assert_eq!(spec.series.map(|s| (s.queues, s.links, s.nodes.len())), Some((true, false, 1)));
    // Nothing in this network obeys pauses.
    let warned = resolved.warnings.iter().map(|warning| warning.key.as_str());
    let vain: Vec<&str> = warned.filter(|key| key.starts_with("fault")).collect();
    assert_eq!(vain, ["fault.1.class", "fault.2.classes", "fault.3.classes"]);
    assert_eq!(
        read(&resolved.resolved().to_toml()).check().unwrap().resolved().to_toml(),
        resolved.resolved().to_toml()
    );
}

/// PAUSE of a link is obeyed if `[pause]` is on, PFC of classes is not, and the warning names what would be obeyed; with PFC it is the
/// reverse.
#[test]
fn hosts_that_pause_in_vain_are_told_what_is_obeyed() {
    let scenario = |mechanism: &str, faults: &str| {
        let text = format!(
            "[topology]\nkind = \"star\"\nhosts = 3\nrate = \"100 Gb/s\"\nlink_delay = \"1 us\"\n[switch]\nbuffer = \"4 MB\"\n\
             buffer_per = \"ingress\"\n{mechanism}\n[[flow]]\nfrom = [0, 1]\nto = 2\nsize = \"1 MB\"\n{faults}"
        );
        let resolved = read(&text).check().unwrap_or_else(|e| panic!("{e}"));
        let spec = build(&resolved, resolved.resolved().seed()).unwrap();
        let warnings = resolved.warnings.iter().filter(|warning| warning.key.starts_with("fault"));
        let vain: Vec<(String, String)> = warnings.map(|warning| (warning.key.clone(), warning.hint.clone())).collect();
        (spec.faults.into_iter().map(|fault| fault.kind).collect::<Vec<_>>(), vain)
    };
    let slow = "[[fault]]\nkind = \"slow-receiver\"\nhost = 1\nrate = \"1 Gb/s\"\nxoff = \"9 KB\"\nxon = \"8 KB\"\n";
    let of_classes = format!("[[fault]]\nkind = \"pause-storm\"\nhost = 2\n{slow}");
    let of_links = format!("[[fault]]\nkind = \"pause-storm\"\nhost = 2\nlink = true\n{slow}link = true\n");
    let (pfc, pause) = ("[pfc]\nxoff = \"1 MB\"", "[pause]\nxoff = \"1 MB\"");
    let storm = |classes| FaultKind::PauseStorm { host: HostId(2), classes };
    let (kinds, vain) = scenario(pause, &of_links);
    assert_eq!((&kinds[0], vain), (&storm(1 << 8), vec![]));
    assert!(matches!(kinds[1], FaultKind::SlowReceiver { class: None, .. }));
    let (kinds, vain) = scenario(pfc, &of_classes);
    assert_eq!((&kinds[0], vain), (&storm(0xFF), vec![]));
    assert!(matches!(kinds[1], FaultKind::SlowReceiver { class: Some(Class(3)), .. }));
    let hint = "link = true: there the whole link is paused";
    let keys = |vain: &[(String, String)]| vain.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
    let (_, vain) = scenario(pause, &of_classes);
    assert_eq!(keys(&vain), ["fault.0.classes", "fault.1.class"]);
    assert!(vain.iter().all(|(_, reported)| reported == hint), "{vain:?}");
    let (_, vain) = scenario(pfc, &of_links);
    assert_eq!(keys(&vain), ["fault.0.link", "fault.1.link"]);
}

/// A ring of hosts does not forward, and a ring all-reduce sends to neighbours only; two hosts without a link cannot send to each other.
#[test]
fn a_job_needs_the_links_over_which_it_sends() {
    let ring = |job: &str| {
        let links = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]
            .map(|(a, b)| format!("{{ a = \"{a}\", b = \"{b}\", rate = \"100 Gb/s\", delay = \"5 ns\" }}"));
        let nodes = ["a", "b", "c", "d"].map(|name| format!("{{ name = \"{name}\", kind = \"host\" }}"));
        read(&format!(
            "[topology]\nkind = \"explicit\"\nnode = [{}]\nlink = [{}]\n[[job]]\nlabel = \"j\"\nranks = 4\n{job}",
            nodes.join(", "),
            links.join(", ")
        ))
        .check()
        .map(drop)
    };
    let step = |kind: &str| format!("[[job.step]]\nlabel = \"s\"\nkind = \"{kind}\"\nsize = \"4 MB\"\n");
    assert!(ring(&step("all-reduce")).is_ok());
    let halving = ring(&format!("{}algorithm = \"halving-doubling\"\n", step("all-reduce"))).unwrap_err();
    assert!(halving.reason.contains("a cannot reach c"), "{}", halving.reason);
    assert!(ring(&step("all-to-all")).unwrap_err().reason.contains("a cannot reach c"));
    // A host between two others reaches both, and does not connect them.
    let star = "[topology]\nkind = \"explicit\"\nnode = [{ name = \"a\", kind = \"host\" }, { name = \"b\", kind = \"host\" }, \
                { name = \"c\", kind = \"host\" }]\nlink = [{ a = \"a\", b = \"b\", rate = \"1 Gb/s\", delay = \"5 ns\" }, \
                { a = \"a\", b = \"c\", rate = \"1 Gb/s\", delay = \"5 ns\" }]\n[[job]]\nlabel = \"j\"\nranks = 3\n";
    let error = read(&format!("{star}{}", step("all-reduce"))).check().map(drop).unwrap_err();
    assert!(error.reason.contains("b cannot reach c"), "{}", error.reason);
}

/// Pauses that wait for each other end the run; mechanisms that pause sources, or give up, keep it going.
#[test]
fn the_ring_deadlocks_and_its_variants_do_not() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/ring-deadlock.toml");
    let scenario = Scenario::load(&file).unwrap_or_else(|e| panic!("{e}"));
    let run = |scenario: &Scenario| {
        let resolved = scenario.check().unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(resolved.warnings, []);
        let mut network = stage::build(build(&resolved, 1).unwrap()).unwrap_or_else(|e| panic!("{e}"));
        let mut done = Done::default();
        let broken = loop {
            match stage::run(&mut network, 1_000_000, &mut done) {
                Ok(progress) if progress.done => break None,
                Ok(_) => {}
                Err(broken) => break Some(broken.reason),
            }
        };
        (broken, done.0, network.progress())
    };
    let (broken, done, progress) = run(&scenario);
    assert_eq!((done, progress.drops), (0, 0));
    let cycle = "deadlock: s0 port 2 (to s1) class 3 -> s1 port 3 (to s2) class 3 -> s2 port 3 (to s0) class 3 -> s0 port 2 (to s1) class 3";
    assert!(broken.as_ref().is_some_and(|reason| reason.starts_with(cycle)), "{broken:?} {progress:?}");
    for variant in ["sfc", "sfc-proxy", "watchdog"] {
        let (broken, done, progress) = run(&scenario.with_variant(variant).unwrap());
        assert_eq!((broken, done, progress.drops), (None, 6, 0), "{variant}");
        assert_eq!(progress.flushed > 0, variant == "watchdog", "{progress:?}");
    }
    let (broken, done, progress) = run(&scenario.with_set("stop.deadlock", "false").unwrap());
    assert_eq!((broken, done, progress.flows_active), (None, 0, 6));
}
