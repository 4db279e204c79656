//! Controls that are confined to classes or to groups of flows.

use backwater::{Scenario, build};
use backwater_engine::Time;
use backwater_mech::stage;
use backwater_net::packet::HostId;
use backwater_net::record::{FlowRow, Rows};
use std::path::Path;

/// Two flows of class 3 meet at h4, and two of class 0 at h5: the classes share no link.
const APART: &str = r#"
[topology]
kind = "star"
hosts = 6
rate = "10 Gb/s"
link_delay = "1 us"
[switch]
buffer_per = "none"
[ecn]
kmin = "20 KB"
kmax = "20 KB"
pmax = 1.0
[[flow]]
label = "roce"
from = "0..1"
to = 4
size = "2 MB"
[[flow]]
label = "tcp"
from = "2..3"
to = 5
size = "2 MB"
class = 0
"#;

/// All four meet at one host, in one class.
fn together() -> String {
    APART.replace("to = 5", "to = 4").replace("class = 0", "class = 3")
}

fn scenario(text: &str, more: &str) -> Scenario {
    Scenario::from_text(&format!("{text}{more}"), "net.toml", Path::new(".")).unwrap_or_else(|e| panic!("{e}"))
}

fn run(text: &str, more: &str) -> Rows {
    let checked = scenario(text, more).check().unwrap_or_else(|e| panic!("{e}"));
    let mut network = stage::build(build(&checked, 1).unwrap()).unwrap();
    let mut rows = Rows::default();
    while !stage::run(&mut network, 1 << 16, &mut rows).unwrap().done {}
    rows.flows.sort_by_key(|row| (row.group, row.id));
    rows
}

/// Returns the rows of a group's flows.
fn group(rows: &Rows, group: u32) -> Vec<FlowRow> {
    rows.flows.iter().filter(|row| row.group == group).cloned().collect()
}

/// Hosts to which messages of a kind went.
fn notified(rows: &Rows, kind: &str) -> Vec<HostId> {
    let mut notified: Vec<HostId> =
        rows.control.iter().filter(|row| row.kind == kind).filter_map(|row| row.to).collect();
    notified.sort_unstable();
    notified.dedup();
    notified
}

fn classes(control: &str, class: u8) -> String {
    // The queues that signal to sources are a parameter of their own.
    let points =
        if control == "qcn" { format!("[qcn]\nclasses = [{class}]\ncp_qsp = \"20 KB\"\n") } else { String::new() };
    format!("{points}[{control}.flows]\nclasses = [{class}]\n")
}

fn groups(control: &str, label: &str) -> String {
    format!("[{control}.flows]\ngroups = [\"{label}\"]\n")
}

/// Flows decide as if their own control were the only one in the network, and uncontrolled flows as if there were no control. The classes
/// share no link, so nothing else connects them.
#[test]
fn each_class_has_its_own_control() {
    let none = run(APART, "");
    for (first, second) in [("dcqcn", "dctcp"), ("dctcp", "dcqcn"), ("qcn", "dctcp"), ("dcqcn", "qcn")] {
        let both = run(APART, &(classes(first, 3) + &classes(second, 0)));
        let (one, other) = (run(APART, &classes(first, 3)), run(APART, &classes(second, 0)));
        for (number, alone, left) in [(0, &one, &other), (1, &other, &one)] {
            assert_eq!(group(&both, number), group(alone, number), "{first} and {second}: group {number}");
            assert_eq!(group(left, number), group(&none, number), "{first} and {second}: group {number} left alone");
            assert_ne!(
                group(alone, number),
                group(&none, number),
                "{first} and {second}: group {number} is controlled"
            );
        }
    }
}

/// A control that is confined to all flows is not confined.
#[test]
fn confined_to_everything_is_not_confined() {
    for control in ["dcqcn", "dctcp", "swift", "timely", "hpcc", "qcn"] {
        let all = format!("[{control}.flows]\nclasses = [0, 3]\ngroups = [\"tcp\", \"roce\"]\n");
        assert_eq!(run(APART, &all).flows, run(APART, &format!("[{control}]\n")).flows, "{control}");
    }
}

/// A receiver answers marks of its control's flows only, though packets of all flows are marked, even in the same queue.
#[test]
fn only_own_flows_are_told() {
    let roce = [HostId(0), HostId(1)];
    assert_eq!(notified(&run(APART, "[dcqcn]\n"), "cnp"), [0, 1, 2, 3].map(HostId));
    assert_eq!(notified(&run(APART, &(classes("dcqcn", 3) + &classes("dctcp", 0))), "cnp"), roce);
    let shared = run(&together(), &(groups("dcqcn", "roce") + &groups("dctcp", "tcp")));
    assert_eq!(notified(&shared, "cnp"), roce);
    assert!(group(&shared, 1).iter().all(|row| row.marked > 0), "packets of both are marked");
}

/// Groups have the same effect as classes if each has a class of its own.
#[test]
fn groups_are_named_by_their_labels() {
    let by_class = run(APART, &(classes("dcqcn", 3) + &classes("dctcp", 0)));
    let by_group = run(APART, &(groups("dcqcn", "roce") + &groups("dctcp", "tcp")));
    assert_eq!(by_class.flows, by_group.flows);
}

/// Flows that are left alone do not carry a mechanism's octets. For one unhindered flow the last byte counts all headers on its first link,
/// 489 of them for 2 MB, and the last on its second: 42 B more in each at 0.8 ns an octet.
#[test]
fn octets_are_in_own_frames_only() {
    let text = APART.replace("2..3", "2").replace("0..1", "0");
    let ends = |more: &str| {
        let rows = run(&text, more);
        [0, 1].map(|number| group(&rows, number).remove(0)).map(|row| (row.fct_last_byte.unwrap(), row.ideal.unwrap()))
    };
    let fast = "[hpcc]\neta = 1.0\nr_ai = \"1 Gb/s\"\nmax_stage = 1000\n";
    let ([plain, _], [all, _]) = (ends(""), ends(fast));
    let [own, left] = ends(&format!("{fast}[hpcc.flows]\nclasses = [3]\n"));
    assert_eq!((own, left), (all, plain));
    let more = Time::ps(490 * 42 * 800);
    assert_eq!(own, (plain.0 + more, plain.1 + more));
}

/// HPCC measures by its own packets' telemetry, and DCQCN by marks: in one class, at one link.
#[test]
fn telemetry_beside_marks() {
    let rows = run(&together(), &(groups("hpcc", "tcp") + &groups("dcqcn", "roce")));
    assert!(rows.flows.iter().all(|row| row.fct_last_ack.is_some()));
    assert_eq!(notified(&rows, "cnp"), [HostId(0), HostId(1)]);
}

/// Two controls that each have one limiter for all flows to a destination have separate limiters for their flows. A control that never acts
/// leaves its flows as fast as without it, though the other's limiter is for the same destination.
#[test]
fn limiters_for_destinations_are_apart() {
    let text = together().replace("2..3", "0..1");
    let qcn = format!("[qcn]\nper = \"destination\"\ncp_qsp = \"20 KB\"\n{}", groups("qcn", "roce"));
    let idle = format!("[bcn]\nclasses = [7]\nqeq = \"20 KB\"\n{}", groups("bcn", "tcp"));
    let (both, alone) = (run(&text, &(qcn.clone() + &idle)), run(&text, &qcn));
    assert_eq!(both.flows, alone.flows);
    let last = |rows: &Rows, number| group(rows, number).iter().map(|row| row.fct_last_ack.unwrap()).max();
    assert!(last(&both, 1) < last(&both, 0), "only the first group slows down");
}

/// The confinement in a scenario is the same in its resolved form.
#[test]
fn confinement_survives_resolving() {
    let more = "[dcqcn.flows]\nclasses = [3]\ngroups = [\"roce\"]\n[[dcqcn.at]]\ntier = \"switch\"\nf = 3\n";
    let checked = scenario(APART, more).check().unwrap();
    let again = scenario(&checked.resolved().to_toml(), "").check().unwrap();
    for checked in [&checked, &again] {
        let dcqcn = checked.resolved().mechanisms.dcqcn.as_ref().unwrap();
        assert_eq!(dcqcn.flows.classes, Some(vec![3]));
        assert_eq!(dcqcn.flows.groups, Some(vec!["roce".to_owned()]));
        assert_eq!(dcqcn.at.len(), 1);
        assert_eq!(checked.controls(), [("dcqcn", "`roce` in class 3".to_owned())]);
    }
    let values = checked.resolved().values();
    let value = values.iter().find(|value| value.key == "dcqcn.flows.classes").unwrap();
    assert!(value.value == "[3]" && value.origin.starts_with("net.toml:"), "{value:?}");
}

/// The flows of each control are those that the scenario names, from any source.
#[test]
fn controls_are_told_with_their_flows() {
    let more = "[dcqcn.flows]\nclasses = [3, 5]\n[dctcp.flows]\ngroups = [\"tcp\"]\n\
                [[job]]\nlabel = \"train\"\nranks = 2\n[[job.step]]\nlabel = \"reduce\"\nkind = \"all-reduce\"\nsize = \"1 KB\"\n";
    let text = APART.replace("class = 0", "classes = [0, 1]");
    let notified = scenario(&text, more).check().unwrap().controls();
    assert_eq!(
        notified,
        [
            ("dcqcn", "`roce` in class 3; `train/reduce` in class 3".to_owned()),
            ("dctcp", "`tcp` in the classes 0, 1".to_owned())
        ]
    );
    assert_eq!(scenario(APART, "[dcqcn]\n").check().unwrap().controls(), [], "nothing is confined");
}

/// A class without flows may be intended, if a variant leaves some out.
#[test]
fn a_class_without_flows_is_warned_of() {
    let checked = scenario(APART, &classes("dcqcn", 5)).check().unwrap();
    let warning = checked.warnings.iter().find(|warning| warning.key == "dcqcn.flows.classes").unwrap();
    assert_eq!(warning.to_string(), "dcqcn.flows.classes = [5]: `dcqcn` has no flows: none is in one of these classes");
    assert_eq!(warning.hint, "there are flows of `roce` in class 3; `tcp` in class 0");
}

/// Congestion points watch queues, and reaction points belong to flows: if their classes differ, no flow is slowed down.
#[test]
fn queues_that_are_watched_are_those_of_its_flows() {
    let reported = |control: &str, watched: &str, flows: &str| {
        let low = if control == "qcn" { "cp_qsp" } else { "qeq" };
        let more = format!("[{control}]\nclasses = {watched}\n{low} = \"20 KB\"\n[{control}.flows]\n{flows}\n");
        let warnings = scenario(APART, &more).check().unwrap_or_else(|e| panic!("{e}")).warnings;
        let own = warnings.into_iter().find(|warning| warning.key == format!("{control}.classes"));
        own.map(|warning| (warning.value, warning.reason))
    };
    for control in ["qcn", "bcn"] {
        assert_eq!(reported(control, "[3]", "classes = [3]"), None);
        assert_eq!(reported(control, "[3]", "groups = [\"roce\"]"), None, "nothing is said of classes");
        assert_eq!(reported(control, "[]", "classes = [3]"), None, "no queue is watched on purpose");
        let reasons = [
            (
                "[3]",
                "classes = [0]",
                "queues of class 3 are watched, whose flows do not listen, and flows of class 0 are never told",
            ),
            ("[0, 3]", "classes = [3]", "queues of class 0 are watched, and flows of that class do not listen"),
            ("[3]", "classes = [0, 3]", "no queue of class 0 is watched, and flows of that class are never told"),
        ];
        for (watched, flows, reason) in reasons {
            let (value, seen) = reported(control, watched, flows).expect(flows);
            assert_eq!(value, watched);
            assert!(seen.starts_with(reason), "{seen}");
        }
    }
}

/// Flows that are moved to another queue are signalled from there.
#[test]
fn a_queue_to_which_its_flows_move_may_be_watched() {
    let more = "[ci]\n[qcn]\nclasses = [2, 3]\ncp_qsp = \"20 KB\"\n[qcn.flows]\nclasses = [3]\n";
    let warnings = scenario(APART, more).check().unwrap_or_else(|e| panic!("{e}")).warnings;
    assert!(warnings.iter().all(|warning| warning.key != "qcn.classes"), "{warnings:?}");
}

/// The example behaves as described.
#[test]
fn the_example_does_what_it_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/roce-beside-tcp.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let variant = |name: Option<&str>| {
        let scenario = scenario(&text, "");
        let scenario = name.map_or(scenario.clone(), |name| scenario.with_variant(name).unwrap());
        let checked = scenario.check().unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(checked.warnings, []);
        let mut network = stage::build(build(&checked, 1).unwrap()).unwrap();
        let mut rows = Rows::default();
        while !stage::run(&mut network, 1 << 16, &mut rows).unwrap().done {}
        rows.flows.sort_by_key(|row| (row.group, row.id));
        rows
    };
    let [plain, weighted, by_group] = [None, Some("weighted"), Some("groups")].map(variant);
    let mean = |rows: &Rows, number| {
        let flows = group(rows, number);
        flows.iter().map(|row| row.fct_last_ack.unwrap().0).sum::<u64>() / flows.len() as u64
    };
    for rows in [&plain, &weighted] {
        assert!(rows.flows.iter().all(|row| row.fct_last_ack.is_some() && row.marked > 0));
        assert_eq!(notified(rows, "cnp"), [HostId(0), HostId(1)]);
    }
    assert!(mean(&plain, 1) < mean(&plain, 0), "DCTCP raises its window faster than DCQCN its rate");
    assert!(mean(&weighted, 0) < mean(&weighted, 1), "three turns for one keep DCQCN from slowing down");
    assert_eq!(plain.flows, by_group.flows);
}
