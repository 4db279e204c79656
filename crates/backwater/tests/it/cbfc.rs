//! Credit-based flow control on whole links: throughput against the closed form, and credits that are lost.
//!
//! One flow of 4,096-byte frames (32 credits) crosses one switch at 100 Gb/s; nothing else is on the links. A frame takes 327,680 ps, the
//! wire 500,000 ps; the switch keeps it for 300,000 ps, and frees it at its first bit out. The CF_Update takes 640 ps and the wire.

use backwater::{Scenario, build};
use backwater_engine::Time;
use backwater_net::Network;
use backwater_net::record::{Progress, Rows};
use std::path::Path;

const FRAME: u64 = 327_680;
const WIRE: u64 = 500_000;
const SWITCH: u64 = 300_000;
/// Between the first bits of two frames, if the second waits for the credits of the first.
const LOOP: u64 = FRAME + WIRE + SWITCH + 640 + WIRE;
/// CF_MAX_SPACING: 262,144 octets.
const REFRESH: u64 = 20_971_520;

/// CC_Updates would take time on the wire, so only scenarios that need them have them.
fn scenario(credits: u64, frames: u64, timer: &str, more: &str) -> String {
    format!(
        "[topology]\nkind = \"star\"\nhosts = 2\nrate = \"100 Gb/s\"\nlink_delay = \"500 ns\"\n\
         [packet]\npayload = \"4032 B\"\nheader = \"64 B\"\ngap = \"0 B\"\n[ack]\nenabled = false\n\
         [switch]\nlatency = \"300 ns\"\nlatency_at = \"fabric\"\nrelease_at = \"start\"\nbuffer = \"10 MB\"\nbuffer_per = \"ingress\"\n\
         [cbfc]\ncredits = {credits}\ncc_timer = \"{timer}\"\ncf_min_spacing = \"800 B\"\n\
         [[flow]]\nfrom = \"h0\"\nto = \"h1\"\nsize = \"{} B\"\n{more}",
        frames * 4032
    )
}

fn run(text: &str) -> (Progress, Rows) {
    let scenario = Scenario::from_text(text, "net.toml", Path::new(".")).unwrap_or_else(|e| panic!("{e}"));
    let mut network = Network::new(build(&scenario.check().unwrap_or_else(|e| panic!("{e}")), 1).unwrap()).unwrap();
    let mut rows = Rows::default();
    while !network.run(1 << 16, &mut rows).unwrap_or_else(|broken| panic!("{}", broken.reason)).done {}
    (network.progress(), rows)
}

fn last_byte(rows: &Rows) -> Time {
    rows.flows[0].fct_last_byte.expect("the flow has been received")
}

/// Duration of `n` frames with at most `k` in flight: the frames of a window follow each other, and each window waits for the credits of
/// the one before.
fn closed_form(k: u64, n: u64) -> Time {
    let windows = (n - 1) / k * (k * FRAME).max(LOOP) + (n - 1) % k * FRAME;
    Time(windows + 2 * (FRAME + WIRE) + SWITCH)
}

/// min(1, credits / loop), to the picosecond: a loop is 4.97 frames.
#[test]
fn throughput_is_credits_by_loop() {
    for k in [1, 2, 3, 4, 5, 8] {
        let (end, rows) = run(&scenario(32 * k, 1_000, "250 ms", ""));
        assert_eq!(end.flows_done, 1);
        assert_eq!(last_byte(&rows), closed_form(k, 1_000), "{k} frames of credits");
    }
}

/// Credits that are no whole frame are useless: 63 let one frame go, as 32 do.
#[test]
fn part_of_a_frame_is_no_frame() {
    assert_eq!(last_byte(&run(&scenario(63, 100, "250 ms", "")).1), closed_form(1, 100));
}

/// With one frame of credits everything waits for the lost CF_Update: it is repeated after CF_MAX_SPACING.
#[test]
fn a_lost_update_is_told_again() {
    let fault = "[[fault]]\nkind = \"drop-nth\"\nfrom = \"s0\"\nto = \"h0\"\nframe = \"cf-update\"\nnth = 3\n";
    let (end, rows) = run(&scenario(32, 20, "250 ms", fault));
    assert_eq!(end.fault_losses, 1);
    assert_eq!(last_byte(&rows), Time(closed_form(1, 20).0 + REFRESH));
}

/// The credits of a lost frame are missing until the next CC_Update, 256 us after the first frame: the switch then reports that the four
/// frames sent so far are free, and the others follow.
#[test]
fn a_lost_frame_gives_its_credits_back() {
    let fault = "[[fault]]\nkind = \"drop-nth\"\nfrom = \"h0\"\nto = \"s0\"\nframe = \"data\"\nnth = 4\n";
    let (end, rows) = run(&scenario(32, 20, "256 us", fault));
    assert_eq!(end.fault_losses, 1);
    // The message of 64 octets, the wire, and the time that frames before it may still spend in the switch.
    let answered = Time(256_000_000 + 5_120 + WIRE + SWITCH);
    let reported: Vec<_> = rows.control.iter().filter(|row| row.kind == "cf-update" && row.value == 128).collect();
    assert!(reported.iter().any(|row| row.time == answered), "{reported:?}");
    // By the end all 20 frames have been sent, 32 credits each, and are free.
    assert!(rows.control.iter().any(|row| row.kind == "cf-update" && row.value == 640));
}

/// All credits of a link are lost repeatedly: the flow ends, and nothing overflows.
#[test]
fn credits_heal_under_loss() {
    let more = "[transport]\nrecovery = \"go-back-n\"\n[[fault]]\nkind = \"loss\"\nprobability = 0.02\n";
    let text = scenario(64, 300, "256 us", more).replace("enabled = false", "enabled = true").replace("10 MB", "66 KB");
    let (end, _) = run(&text);
    assert_eq!((end.flows_done, end.drops), (1, 0));
    assert!(end.fault_losses > 10, "{}", end.fault_losses);
}
