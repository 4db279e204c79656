//! `lossless = true`: check accepts scenarios that cannot lose, and names causes of loss.

use backwater::{Scenario, ScenarioError, build};
use backwater_net::Network;
use backwater_net::record::{Progress, Rows};
use std::path::Path;

/// Five hosts, four of which send to the first, and a buffer of 200 KB for each egress port. The headroom in bytes on the wire, for frames
/// of 1082 B and a gap of 20 B at 100 Gb/s, 2 x 1082 + 1082/1102 x (1102 + 84 + 2 x 1875) = 7010 (150 ns are 1875 B).
fn four_to_one(xoff: u64, more: &str) -> String {
    format!(
        "lossless = true\n[topology]\nkind = \"star\"\nhosts = 5\nrate = \"100 Gb/s\"\nlink_delay = \"150 ns\"\n\
         [packet]\npayload = \"1000 B\"\nheader = \"82 B\"\ngap = \"20 B\"\n\
         [switch]\nbuffer = \"200 KB\"\nbuffer_per = \"egress\"\n[pfc]\nxoff = \"{xoff} B\"\n{more}\
         [[flow]]\nfrom = [\"h1\", \"h2\", \"h3\", \"h4\"]\nto = \"h0\"\nsize = \"400 KB\"\n"
    )
}

fn checked(text: &str) -> Result<Scenario, ScenarioError> {
    let scenario = Scenario::from_text(text, "net.toml", Path::new("."))?;
    build(&scenario.check()?, 1)?;
    Ok(scenario)
}

fn refused(text: &str) -> (String, String) {
    let error = checked(text).map(|_| ()).expect_err(text);
    (error.key.unwrap_or_default(), error.reason)
}

fn run(scenario: &Scenario) -> Progress {
    let mut network = Network::new(build(&scenario.check().unwrap(), 1).unwrap()).unwrap();
    let mut rows = Rows::default();
    while !network.run(1 << 16, &mut rows).unwrap_or_else(|broken| panic!("{}", broken.reason)).done {}
    network.progress()
}

/// The buffer of an egress fills from all other ports, each of which may hold `xoff` and its headroom: 4 x (xoff + 7010 B) are 200 KB at an
/// xoff of 42,990 B.
#[test]
fn a_buffer_of_an_egress_holds_what_all_other_ports_may() {
    let scenario = checked(&four_to_one(42_990, "")).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((run(&scenario).drops, run(&scenario).flows_done), (0, 4));
    let (key, reason) = refused(&four_to_one(43_000, ""));
    assert_eq!(key, "pfc.xoff", "{reason}");
    // Previously accepted, with losses: no port exceeds xoff, but all together exceed the buffer.
    assert_eq!(refused(&four_to_one(60_000, "")).0, "pfc.xoff");
    let unpromised = four_to_one(60_000, "").replace("lossless = true", "");
    assert!(run(&checked(&unpromised).unwrap_or_else(|e| panic!("{e}"))).drops > 0);
}

/// Every class under PFC has a queue of its own, which may reach the threshold in the same buffer.
#[test]
fn each_class_has_a_threshold_in_the_buffer_of_an_egress() {
    let counted = |classes: &str| format!("counter = \"egress\"\nclasses = {classes}\n");
    // xoff + 4 x 7010 B below 200 KB, once or twice.
    checked(&four_to_one(171_960, &counted("[3]"))).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(refused(&four_to_one(171_970, &counted("[3]"))).0, "pfc.xoff");
    checked(&four_to_one(71_960, &counted("[2, 3]"))).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(refused(&four_to_one(71_970, &counted("[2, 3]"))).0, "pfc.xoff");
}

/// PAUSE stops all classes and counts them together, and the bytes in memory may be of one class. The headroom reserved for each of the
/// other seven does not help that one: of 60 KB it has 60 - 7 x 2 = 46, less a frame that does not fit for each of nine accounts, 36,262 B,
/// of which 7010 B stay free above xoff.
#[test]
fn headroom_of_other_classes_is_no_help() {
    let paused = |xoff| {
        let text = four_to_one(xoff, "").replace("[pfc]", "[pause]").replace("\"200 KB\"", "\"60 KB\"");
        text.replace("buffer_per = \"egress\"", "buffer_per = \"ingress\"\nheadroom = \"2 KB\"")
    };
    let scenario = checked(&paused(29_250)).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((run(&scenario).drops, run(&scenario).flows_done), (0, 4));
    assert_eq!(refused(&paused(29_260)).0, "pause.xoff");
    let unpromised = paused(45_000).replace("lossless = true", "");
    assert!(run(&checked(&unpromised).unwrap_or_else(|e| panic!("{e}"))).drops > 0, "46 KB less xoff are no headroom");
}

/// A share of a memory whose free part an ingress cannot know is no threshold: no port was ever paused.
#[test]
fn dynamic_thresholds_need_a_memory_that_the_ingress_sees() {
    for per in ["egress", "queue"] {
        let text = four_to_one(1, "threshold = \"dynamic\"\n").replace("per = \"egress\"", &format!("per = \"{per}\""));
        let (key, reason) = refused(&text);
        assert_eq!(key, "pfc.threshold", "{reason}");
        assert!(reason.contains("nobody is ever paused"), "{reason}");
    }
    for counter in ["egress", "queue"] {
        let text = four_to_one(1, &format!("threshold = \"dynamic\"\ncounter = \"{counter}\"\n"));
        let (key, reason) = refused(&text.replace("per = \"egress\"", "per = \"switch\""));
        assert_eq!(key, "pfc.counter", "{reason}");
    }
}

/// A watchdog that forwards sends frames for which its neighbour has no headroom.
#[test]
fn a_watchdog_that_forwards_keeps_no_promise() {
    let watched = |action: &str| four_to_one(40_000, &format!("watchdog = \"2 us\"\nwatchdog_action = \"{action}\"\n"));
    let (key, reason) = refused(&watched("forward"));
    assert_eq!(key, "pfc.watchdog_action", "{reason}");
    checked(&watched("forward").replace("lossless = true", "")).unwrap_or_else(|e| panic!("{e}"));
    let warned = checked(&watched("drop")).unwrap_or_else(|e| panic!("{e}")).check().unwrap().warnings;
    assert!(warned.iter().any(|warning| warning.key == "pfc.watchdog"), "{warned:?}");
}

/// INT has room for five switches: in a chain of six it does not see the last, and with sprayed packets it seldom sees two of one path.
/// PINT's one value has neither limit.
#[test]
fn what_telemetry_cannot_see_is_warned_of() {
    let of = |switches: u32, telemetry: &str, more: &str| {
        let text = format!(
            "[topology]\nkind = \"parking-lot\"\nswitches = {switches}\nhosts_per_switch = 1\nrate = \"100 Gb/s\"\nlink_delay = \"1 us\"\n\
             [transport]\nrecovery = \"rud\"\n[hpcc]\nbase_rtt = \"20 us\"\n{telemetry}\n{more}\n\
             [[flow]]\nfrom = \"h0\"\nto = \"h1\"\nsize = \"1 MB\"\n"
        );
        let warnings = checked(&text).unwrap_or_else(|e| panic!("{e}")).check().unwrap().warnings;
        warnings.into_iter().find(|warning| warning.key == "hpcc.telemetry").map(|warning| warning.reason)
    };
    let reported = of(6, "", "").expect("a chain of six");
    assert!(reported.contains("from h5 to h0 passes 6") || reported.contains("from h0 to h5 passes 6"), "{reported}");
    assert_eq!(of(5, "", ""), None);
    assert!(of(5, "", "[spray]").is_some_and(|reported| reported.starts_with("`spray` sends packets of one flow")));
    assert_eq!(of(6, "telemetry = \"pint\"", "[spray]"), None);
}

/// Each NACK for one gap sends a flow back: before the closing packet can have arrived, that is in vain. The round trip of the star: two
/// links in each direction of 150 ns each, its switch's 300 ns twice, frames of 1102 B and acknowledgements of 84 B at 12.5 B a nanosecond.
#[test]
fn a_nack_interval_below_the_round_trip_is_warned_of() {
    let of = |interval: &str| {
        let transport = format!("[transport]\nrecovery = \"go-back-n\"\nnack_interval = \"{interval}\"\n");
        let text = four_to_one(40_000, "").replace("[switch]", &format!("[ack]\nsize = \"64 B\"\n{transport}[switch]"));
        let scenario = checked(&text).unwrap_or_else(|e| panic!("{e}"));
        let warnings = scenario.check().unwrap().warnings;
        warnings.into_iter().find(|warning| warning.key == "transport.nack_interval")
    };
    // 4 x 150 ns + 2 x 300 ns + 2 x (88.16 ns + 6.72 ns) = 1389.76 ns.
    let warning = of("1389 ns").expect("below a round trip");
    assert!(warning.reason.contains("a round trip (1.38976 us from h"), "{}", warning.reason);
    assert!(warning.hint.contains("13.8976 us"), "{}", warning.hint);
    assert_eq!(of("1390 ns"), None);
}

/// DCQCN's CNPs travel in a class that PFC does not pause. A CNP that finds the memory full of paused data is lost and counted; the promise
/// concerns flows, and stands.
#[test]
fn a_message_that_is_dropped_breaks_no_promise() {
    let text = "lossless = true\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 4\n\
                rate = \"100 Gb/s\"\nlink_delay = \"1 us\"\n[switch]\narchitecture = \"shared-memory\"\nbuffer = \"987185 B\"\n\
                headroom = \"37437 B\"\n[pfc]\nclasses = [0]\nxoff = \"600 KB\"\nxon = \"590 KB\"\n\
                [ecn]\nkmin = \"700 KB\"\nkmax = \"700 KB\"\n[dcqcn]\npreset = \"paper\"\n\
                [[flow]]\nfrom = [1, 2, 4, 5, 6]\nto = 0\nsize = \"1 MB\"\nclass = 0\n\
                [[flow]]\nfrom = [0, 1, 3]\nto = 7\nsize = \"1 MB\"\nclass = 0\n[stop]\nat = \"3 ms\"\n";
    let progress = run(&checked(text).unwrap_or_else(|e| panic!("{e}")));
    assert!(progress.drops > 0, "a CNP is lost in this network");
    assert_eq!(progress.flows_done, 8, "and no flow misses a byte");
}

/// Headroom is computed for the initial state of links.
#[test]
fn links_that_change_are_warned_of() {
    let warned = |fault: &str| {
        let scenario = checked(&four_to_one(42_990, fault)).unwrap_or_else(|e| panic!("{e}"));
        let warnings = scenario.check().unwrap().warnings;
        warnings.iter().any(|w| w.key == "lossless" && w.reason.contains("`fault.0` changes a link"))
    };
    let faster = "[[fault]]\nkind = \"rate-change\"\nat = \"2 us\"\nfrom = \"h1\"\nto = \"s0\"\nrate = \"800 Gb/s\"\n";
    let back = "[[fault]]\nkind = \"link-up\"\nat = \"14 us\"\na = \"h1\"\nb = \"s0\"\n";
    assert!(warned(faster) && warned(back));
    assert!(!warned("[[fault]]\nkind = \"loss\"\nframe = \"cnp\"\nprobability = 0.1\n"));
}

/// An acknowledgement longer than a data frame determines the headroom.
#[test]
fn headroom_holds_the_longest_frame_of_a_flow() {
    let text = |size: &str| four_to_one(42_990, &format!("[ack]\nenabled = true\nsize = \"{size}\"\n"));
    assert!(checked(&text("1082 B")).is_ok());
    assert_eq!(refused(&text("9000 B")).0, "pfc.xoff");
}

/// The frame that refreshes a pause is due at half its time, and may wait for a frame of 1082 + 20 B and, for each paused class, for one of
/// 84 B: 2 x 8 x 1186 bit times are 37.06 quanta for one class, 2 x 8 x 1774 are 55.4 for eight.
#[test]
fn a_pause_lasts_until_it_is_told_anew() {
    let paused = |quanta: u32, classes: &str| {
        // Nine hosts: a buffer of 200 KB holds 8 x (17,990 + 7010 B).
        let text = four_to_one(17_990, &format!("quanta = {quanta}\nclasses = {classes}\n"));
        // Data in the reverse direction of each paused link: the pause frame has to wait for it.
        let back = |(from, to)| format!("[[flow]]\nfrom = \"{from}\"\nto = \"{to}\"\nsize = \"400 KB\"\n");
        let back = [("h5", "h1"), ("h6", "h2"), ("h7", "h3"), ("h8", "h4")].map(back).concat();
        format!("{}{back}", text.replace("hosts = 5", "hosts = 9"))
    };
    let scenario = checked(&paused(38, "[3]")).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(run(&scenario).drops, 0);
    for (quanta, classes) in [(37, "[3]"), (55, "[0, 1, 2, 3, 4, 5, 6, 7]")] {
        let (key, reason) = refused(&paused(quanta, classes));
        assert_eq!(key, "pfc.quanta", "{reason}");
    }
    let unpromised = |quanta| paused(quanta, "[3]").replace("lossless = true", "");
    let lost = |quanta| run(&checked(&unpromised(quanta)).unwrap_or_else(|e| panic!("{e}"))).drops;
    // 16 quanta are 81.92 ns, less than the frame of 88.16 ns that the next one may wait for.
    assert!(lost(16) > 0);
    let warnings = checked(&unpromised(37)).unwrap().check().unwrap().warnings;
    assert!(warnings.iter().any(|warning| warning.key == "pfc.quanta"), "{warnings:?}");
}

/// Eight hosts around one switch, four of which send to h0; data in the reverse direction of each paused link.
fn refreshed(pfc: &str, more: &str) -> String {
    let back = |(from, to)| format!("[[flow]]\nfrom = \"{from}\"\nto = \"{to}\"\nsize = \"400 KB\"\n");
    let back = [("h5", "h1"), ("h6", "h2"), ("h7", "h3"), ("h8", "h4")].map(back).concat();
    let text = four_to_one(17_990, pfc).replace("hosts = 5", "hosts = 9");
    format!(
        "{}{more}{back}",
        text.replace("\"200 KB\"\nbuffer_per = \"egress\"", "\"25 KB\"\nbuffer_per = \"ingress\"")
    )
}

/// If nothing can be lost, or nothing is paused, short quanta break no promise. A warning follows if their effect is unwanted.
#[test]
fn short_quanta_break_no_promise_where_nothing_is_lost() {
    let warned = |text: &str| {
        let warnings = checked(text).unwrap_or_else(|e| panic!("{e}")).check().unwrap().warnings;
        warnings.iter().any(|warning| warning.key == "pfc.quanta")
    };
    let bounded = refreshed("quanta = 16\n", "");
    assert_eq!(refused(&bounded).0, "pfc.quanta");
    assert!(warned(&bounded.replace("buffer_per = \"ingress\"", "buffer_per = \"none\"")));
    assert!(!warned(&bounded.replace("quanta = 16\n", "quanta = 16\nclasses = []\n")));
}

/// A proxy's short quanta cause a warning, and affect only itself: ports that PFC pauses stay paused. When the last owner's quanta were
/// used a frame was dropped.
#[test]
fn short_quanta_of_a_proxy_leave_pfc_its_promise() {
    let proxy = |class: u8, quanta: u32| {
        format!(
            "[sfc]\nat_source = \"proxy\"\nthreshold = \"24 KB\"\nmin_interval = \"100 ns\"\npause = \"600 ns\"\n\
             classes = [{class}]\nquanta = {quanta}\n"
        )
    };
    let scenario = checked(&refreshed("quanta = 60\n", &proxy(3, 1))).unwrap_or_else(|e| panic!("{e}"));
    let warnings = scenario.check().unwrap().warnings;
    assert!(warnings.iter().any(|warning| warning.key == "sfc.quanta"), "{warnings:?}");
    assert_eq!((run(&scenario).drops, run(&scenario).flows_done), (0, 8));
    // Its frames use the same links: for two classes 2 x 8 x 1270 bit times are 39.7 quanta.
    checked(&refreshed("quanta = 38\n", &proxy(3, 100))).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(refused(&refreshed("quanta = 39\n", &proxy(4, 100))).0, "pfc.quanta");
    checked(&refreshed("quanta = 40\n", &proxy(4, 100))).unwrap_or_else(|e| panic!("{e}"));
}

/// A value that another one leaves unread causes a warning; a variant or a setting that leaves the file's value unread does not, since that
/// is its purpose.
#[test]
fn a_value_that_nothing_reads_is_told_of() {
    let notified = |more: &str, set: &[(&str, &str)]| -> Vec<String> {
        let text = four_to_one(20_000, more).replace("\"egress\"", "\"switch\"").replace("lossless = true\n", "");
        let mut scenario = Scenario::from_text(&text, "net.toml", Path::new(".")).unwrap();
        for (key, value) in set {
            scenario = scenario.with_set(key, value).unwrap();
        }
        let warnings = scenario.check().unwrap().warnings;
        warnings.into_iter().filter(|w| w.reason.starts_with("without effect")).map(|w| w.key).collect()
    };
    assert_eq!(notified("", &[]), [""; 0]);
    assert_eq!(notified("alpha = 0.5\nxon_offset = \"9 KB\"\n", &[]), ["pfc.alpha", "pfc.xon_offset"]);
    assert_eq!(notified("", &[("pfc.alpha", "0.5")]), ["pfc.alpha"]);
    assert_eq!(notified("threshold = \"dynamic\"\n", &[]), ["pfc.xoff"]);
    assert_eq!(notified("", &[("pfc.threshold", "dynamic")]), [""; 0], "the setting leaves the file's xoff unread");
    assert_eq!(notified("", &[("pfc.threshold", "dynamic"), ("pfc.xoff", "30 KB")]), ["pfc.xoff"]);
    assert_eq!(notified("signal = \"on-off\"\nquanta = 9\n", &[]), ["pfc.quanta"]);
    let sfc = "[sfc]\nthreshold = \"9 KB\"\npause = \"3 us\"\ntarget = \"5 KB\"\nisolation_per = \"switch\"\n";
    assert_eq!(notified(sfc, &[]), ["sfc.isolation_per", "sfc.target"]);
    assert_eq!(notified(sfc, &[("sfc.resume", "true")]), ["sfc.isolation_per"]);
}

/// A pause that does not arrive has no effect.
#[test]
fn lost_pauses_are_warned_of() {
    let warned = |pfc: &str, ends: &str, frame: &str| {
        let fault = format!("{pfc}[[fault]]\nkind = \"loss\"\n{ends}{frame}probability = 0.1\n");
        let scenario = checked(&four_to_one(42_990, &fault)).unwrap_or_else(|e| panic!("{e}"));
        let warnings = scenario.check().unwrap().warnings;
        warnings.iter().any(|w| w.key == "lossless" && w.reason.contains("`fault.0` loses pauses"))
    };
    let (from, to) = ("from = \"s0\"\n", "to = \"h1\"\n");
    let down = format!("{from}{to}");
    assert!(warned("", &down, "frame = \"mac-control\"\n") && warned("", &down, ""));
    assert!(!warned("", &down, "frame = \"data\"\n"));
    assert!(warned("", from, "") && warned("", to, "") && warned("", "", ""));
    // No pauses are sent in that direction, and an ideal signal is no frame.
    for up in ["from = \"h1\"\nto = \"s0\"\n", "from = \"h1\"\n", "to = \"s0\"\n"] {
        assert!(!warned("", up, ""), "{up}");
    }
    assert!(!warned("signal = \"ideal\"\n", &down, ""));
}

/// A message of a mechanism that is longer than data delays a pause for as long. In bytes on the wire: 2 x 4000 + 4000/4020 x (4020 + 84 +
/// 2 x 1875) = 15,815, while data alone needs 7010.
#[test]
fn a_message_longer_than_data_counts_for_headroom() {
    let notified = |size: u64| {
        let bcn = format!("[bcn]\nmessage_size = \"{size} B\"\nqeq = \"10 KB\"\nqsc = \"30 KB\"\n");
        four_to_one(34_180, &bcn)
    };
    checked(&notified(64)).unwrap_or_else(|e| panic!("{e}"));
    checked(&notified(4000)).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(refused(&notified(4000).replace("34180 B", "34190 B")).0, "pfc.xoff");
}

/// With a share of free memory and no headroom behind it, a frame is dropped while most of memory is free. 7010 B are the headroom of
/// these links ([`four_to_one`]); each buffer of an ingress holds it for one class.
#[test]
fn a_share_of_free_memory_needs_the_headroom_behind_it() {
    let shared = |headroom: u64, more: &str| {
        let text = four_to_one(20_000, more)
            .replace("per = \"egress\"", "per = \"ingress\"\narchitecture = \"shared-memory\"\nheadroom_above = 0.05");
        text.replace("[switch]", &format!("[switch]\nheadroom = \"{headroom} B\""))
    };
    let scenario = checked(&shared(7010, "")).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((run(&scenario).drops, run(&scenario).flows_done), (0, 4));
    assert_eq!(refused(&shared(7009, "")).0, "pfc.xoff");
    assert_eq!(refused(&shared(7010, "counter = \"queue\"\n")).0, "pfc.xoff");
    let unpromised = shared(1, "").replace("lossless = true", "");
    assert!(run(&checked(&unpromised).unwrap_or_else(|e| panic!("{e}"))).drops > 0);
}

/// Messages of SFC in an unpaused class share ports with classes that PFC keeps. One of 116 B and a gap of 20 B takes 108.8 ns at 10 Gb/s,
/// so those to six senders take 652.8 ns of a link.
#[test]
fn messages_that_fill_a_link_are_warned_of() {
    let text = |more: &str| {
        format!(
            "lossless = true\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 4\nrate = \"10 Gb/s\"\n\
             link_delay = \"10 ns\"\n[packet]\npayload = \"64 B\"\n[switch]\nbuffer = \"20 KB\"\nbuffer_per = \"ingress\"\n\
             [pfc]\nxoff = \"16 KB\"\nxon = \"0 B\"\n[sfc]\nthreshold = \"500 B\"\npoints = \"all\"\npause = \"100 ns\"\n{more}\
             [[flow]]\nfrom = [\"h1\", \"h2\", \"h3\", \"h4\", \"h5\", \"h6\"]\nto = \"h0\"\nsize = \"20 KB\"\ncount = 14\n"
        )
    };
    let warned = |more: &str| {
        let scenario = checked(&text(more)).unwrap_or_else(|e| panic!("{e}"));
        let reported = scenario.check().unwrap().warnings.iter().any(|w| w.key == "sfc.min_interval");
        (reported, scenario)
    };
    assert!(warned("").0);
    let unpromised = Scenario::from_text(&text("").replace("lossless = true", ""), "net.toml", Path::new(".")).unwrap();
    assert!(run(&unpromised).drops > 0);
    assert!(warned("min_interval = \"652 ns\"\n").0);
    for more in ["min_interval = \"1 us\"\n", "message_class = 3\n"] {
        let (reported, scenario) = warned(more);
        assert!(!reported, "{more}");
        assert_eq!(run(&scenario).drops, 0);
    }
}
