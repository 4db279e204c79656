//! Values that suit another network than the scenario's, and a scenario's values for the headroom that PFC needs.

use backwater::advise::{advise, facts};
use backwater::{Scenario, Warning};
use serde_json::{Map, Value, json};
use std::path::Path;

/// A star of two hosts with frames of 1082 B on the wire and acknowledgements of 64 B without gaps.
fn star(rate: &str, more: &str) -> String {
    format!(
        "[topology]\nkind = \"star\"\nhosts = 2\nrate = \"{rate}\"\nlink_delay = \"1 us\"\n\
         [switch]\nbuffer_per = \"none\"\nlatency = \"300 ns\"\n\
         [packet]\npayload = \"1000 B\"\nheader = \"82 B\"\ngap = \"0 B\"\n[ack]\nsize = \"64 B\"\n{more}\
         [[flow]]\nfrom = 1\nto = 0\nsize = \"1 MB\"\n"
    )
}

fn warnings(text: &str) -> Vec<Warning> {
    let scenario = Scenario::from_text(text, "net.toml", Path::new(".")).unwrap_or_else(|e| panic!("{e}"));
    scenario.check().unwrap_or_else(|e| panic!("{e}")).warnings
}

fn keys(text: &str) -> Vec<String> {
    warnings(text).into_iter().map(|warning| warning.key).collect()
}

/// Four links of 1 us, twice 300 ns in the switch, and twice a frame of 1082 B and 42 octets of telemetry (89.92 ns at 100 Gb/s) and an
/// acknowledgement of 106 B (8.48 ns): 4.7968 us.
#[test]
fn a_base_rtt_below_the_idle_round_trip_is_warned_of() {
    let of = |rtt: &str| warnings(&star("100 Gb/s", &format!("[hpcc]\nbase_rtt = \"{rtt}\"\n")));
    assert_eq!(of("4796800 ps"), []);
    let [warning] = &of("2398400 ps")[..] else { panic!("one warning") };
    assert_eq!((warning.key.as_str(), warning.value.as_str()), ("hpcc.base_rtt", "2398400 ps"));
    assert!(warning.reason.contains("4.7968 us from h"), "{}", warning.reason);
    assert!(warning.reason.ends_with("fills 50 % of its link"), "{}", warning.reason);
    assert!(warning.hint.ends_with("such as \"5.03664 us\""), "{}", warning.hint);
    assert_eq!(keys(&star("1 Gb/s", "[hpcc]\n")), ["hpcc.base_rtt"], "a default, too: frames take 17.98 us there");
}

/// Published for 40 Gb/s: a warning if ports are faster, unless the value was given.
#[test]
fn defaults_for_slower_links_are_warned_of() {
    let of = |rate: &str, more: &str| keys(&star(rate, more));
    let dcqcn = "[ecn]\nkmin = \"100 KB\"\nkmax = \"400 KB\"\n[dcqcn]\n";
    assert_eq!(of("40 Gb/s", "[ecn]\n[dcqcn]\n"), [""; 0]);
    assert_eq!(of("100 Gb/s", "[ecn]\n[dcqcn]\n"), ["ecn.kmax", "dcqcn.rai"]);
    assert_eq!(of("100 Gb/s", dcqcn), ["dcqcn.rai"]);
    assert_eq!(of("100 Gb/s", &format!("{dcqcn}rai = \"40 Mb/s\"\n")), [""; 0], "chosen, and so nobody's default");
    for preset in ["paper", "ns3-hpcc"] {
        assert_eq!(of("100 Gb/s", &format!("{dcqcn}preset = \"{preset}\"\n")), [""; 0]);
    }
    assert_eq!(of("100 Gb/s", "[ecn]\nkmax = \"400 KB\"\n[dctcp]\n"), ["ecn.kmin"]);
    assert_eq!(of("100 Gb/s", "[ecn]\nreference_rate = \"40 Gb/s\"\n[dctcp]\n"), [""; 0]);
    let everywhere = "[ecn]\n[[ecn.at]]\ntier = \"switch\"\nkmin = \"9 KB\"\nkmax = \"9 KB\"\n[dctcp]\n";
    let tier = Scenario::from_text(&star("100 Gb/s", ""), "net.toml", Path::new(".")).unwrap().check().unwrap();
    let tier = tier.layout().graph.nodes.iter().find(|node| node.name == "s0").unwrap().tier.clone();
    assert_eq!(of("100 Gb/s", &everywhere.replace("\"switch\"", &format!("\"{tier}\""))), [""; 0]);
}

#[test]
fn such_a_warning_says_what_is_usual() {
    let all = warnings(&star("100 Gb/s", "[ecn]\n[dcqcn]\n"));
    let [kmax, rai] = &all[..] else { panic!("{all:?}") };
    assert_eq!((kmax.value.as_str(), rai.value.as_str()), ("200 KB", "40 Mb/s"));
    for warning in &all {
        assert!(
            warning.reason.contains("published for") && warning.reason.contains("40 Gb/s (Zhu et al., SIGCOMM 2015)")
        );
    }
    assert!(kmax.hint.starts_with("reference_rate = \"40 Gb/s\" raises kmin and kmax in proportion"), "{}", kmax.hint);
    assert!(
        rai.hint.starts_with("in proportion to the rate it would be 100 Mb/s; preset = \"ns3-hpcc\""),
        "{}",
        rai.hint
    );
}

fn headroom(text: &str, given: &Value) -> (String, Vec<String>) {
    let checked =
        Scenario::from_text(text, "net.toml", Path::new(".")).unwrap().check().unwrap_or_else(|e| panic!("{e}"));
    let facts = facts(&checked.planned, "pfc").unwrap_or_else(|e| panic!("{e}"));
    let given = given.as_object().cloned().unwrap_or_else(Map::new);
    let advice = advise("pfc", given, Some(("net.toml".into(), facts))).unwrap_or_else(|e| panic!("{e}"));
    (advice.rows.last().unwrap().quantity(), advice.summary)
}

/// The last frame before the pause, and the last after it, 1082 B each. Between them, the bytes that leave while the pause waits for a
/// frame, is sent (64 B) and travels 1 us each way: 100 Gb/s x (86.56 + 5.12 + 2 x 1000 ns) are 26,146 B.
#[test]
fn a_scenario_says_what_headroom_pfc_needs() {
    let pfc = |more: &str| star("100 Gb/s", &format!("[pfc]\nxoff = \"100 KB\"\n{more}"));
    let (headroom_of_it, summary) = headroom(&pfc(""), &json!({}));
    assert_eq!(headroom_of_it, "28.31 KB");
    assert_eq!(summary, ["From net.toml: rate, link delay, packet, gap."]);
    // 100 ns more are 1250 B more, and the switch's latency before the counters 3750 B.
    assert_eq!(headroom(&pfc("response = \"100 ns\"\n"), &json!({})).0, "29.56 KB");
    let late = pfc("").replace("[switch]", "[switch]\nlatency_at = \"input\"");
    assert_eq!(headroom(&late, &json!({})).0, "32.06 KB");
    // Without a pause frame: 2 us are 25,000 B.
    assert_eq!(headroom(&pfc("signal = \"ideal\"\n"), &json!({})).0, "27.164 KB");
    let (own, summary) = headroom(&pfc(""), &json!({ "link_delay": "0 ns" }));
    assert_eq!((own.as_str(), summary[0].as_str()), ("3.31 KB", "From net.toml: rate, packet, gap."));
}

/// Without a switch, `[switch]` and the actions of mechanisms at switches have no effect; actions at hosts alone do.
#[test]
fn a_network_without_a_switch_is_warned_of_what_acts_at_switches() {
    let network = |more: &str| {
        format!(
            "[topology]\nkind = \"explicit\"\n\
             node = [{{ name = \"a\", kind = \"host\" }}, {{ name = \"b\", kind = \"host\" }}]\n\
             link = [{{ a = \"a\", b = \"b\", rate = \"100 Gb/s\", delay = \"1 us\" }}]\n{more}\
             [[flow]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 MB\"\n"
        )
    };
    assert_eq!(keys(&network("")), Vec::<String>::new());
    assert_eq!(keys(&network("[swift]\n")), Vec::<String>::new());
    let both = "[switch]\nbuffer = \"1 MB\"\n[ecn]\nkmin = \"100 KB\"\nkmax = \"200 KB\"\npmax = 0.1\n";
    assert_eq!(keys(&network(both)), ["switch.buffer", "ecn"]);
}

/// A CNP needs someone who reacts to it, and who reacts to CNPs needs someone who sends them: a switch, or a receiver of marks.
#[test]
fn notifications_that_nobody_sends_or_heeds_are_warned_of() {
    let star = "[topology]\nkind = \"star\"\nhosts = 4\nrate = \"40 Gb/s\"\nlink_delay = \"1 us\"\n\
                [transport]\nrecovery = \"go-back-n\"\n[switch]\nbuffer = \"1 MB\"\n";
    let keys = |more: &str| keys(&format!("{star}{more}[[flow]]\nfrom = 1\nto = 0\nsize = \"1 MB\"\n"));
    let fast = |bytes: &str| format!("[fast_cnp]\nthreshold = \"{bytes}\"\n");
    assert_eq!(keys(&fast("100 KB")), ["fast_cnp"]);
    assert_eq!(keys("[dcqcn]\n"), ["dcqcn"]);
    assert_eq!(keys(&format!("{}[dcqcn]\n", fast("100 KB"))), [""; 0]);
    assert_eq!(keys("[ecn]\n[dcqcn]\n"), [""; 0]);
    assert_eq!(keys(&format!("{}[dcqcn]\n", fast("1 MB"))), ["fast_cnp.threshold"]);
}

/// Sizes that leave no room below the limit of a queue, and times that a chip's clock cannot tell.
#[test]
fn values_that_act_as_others_are_warned_about() {
    let star = "[topology]\nkind = \"star\"\nhosts = 4\nrate = \"100 Gb/s\"\nlink_delay = \"1 ns\"\n\
                [transport]\nrecovery = \"go-back-n\"\n[switch]\narchitecture = \"shared-memory\"\nbuffer = \"1 MB\"\ncell = \"176 B\"\n";
    let keys = |more: &str| keys(&format!("{star}{more}[[flow]]\nfrom = 1\nto = 0\nsize = \"1 MB\"\n"));
    let ecn = |offset: &str, floor: &str| {
        keys(&format!("[ecn]\nthreshold = \"dynamic\"\noffset = \"{offset}\"\nfloor = \"{floor}\"\n"))
    };
    assert_eq!(ecn("500 KB", "100 KB"), [""; 0]);
    assert_eq!(ecn("1 MB", "100 KB"), ["ecn.offset"]);
    assert_eq!(ecn("500 KB", "1 MB"), ["ecn.floor"]);
    // The largest limit is alpha_egress times the memory.
    let alpha = |alpha: f64, offset: &str| {
        keys(&format!("alpha_egress = {alpha}\n[ecn]\nthreshold = \"dynamic\"\noffset = \"{offset}\"\n"))
    };
    assert_eq!(alpha(8.0, "1.2 MB"), [""; 0]);
    assert_eq!(alpha(8.0, "8 MB"), ["ecn.offset"]);
    assert_eq!(alpha(0.1, "99 KB"), [""; 0]);
    assert_eq!(alpha(0.1, "100 KB"), ["ecn.offset"]);
    let sfc = |epoch: &str| keys(&format!("[sfc_tofino2]\nthreshold = \"100 KB\"\nepoch = \"{epoch}\"\n"));
    assert_eq!(sfc("2 us"), [""; 0]);
    assert_eq!(sfc("1.5 us"), ["sfc_tofino2.epoch"]);
}
