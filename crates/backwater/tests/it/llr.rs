//! Link-level retry on whole links: the cost of a damaged frame against the closed form; nothing is lost or overtaken.
//!
//! One flow of 4,096-byte frames crosses one switch at 100 Gb/s; nothing else is on the links. A frame takes s = 327,680 ps, an ordered set
//! 640 ps. A NACK arrives s + 2 d + 640 ps after the damaged frame began, and the frame on the wire then still leaves. So W = 1 + ceil((2 d
//! + 640 ps) / s) frames are sent in vain, including the damaged one.

use backwater::{Scenario, build};
use backwater_net::Network;
use backwater_net::record::{Progress, Rows};
use std::path::Path;

const FRAME: u64 = 327_680;
const SET: u64 = 640;

fn scenario(delay: u64, frames: u64, llr: &str, more: &str) -> String {
    format!(
        "[topology]\nkind = \"star\"\nhosts = 2\nrate = \"100 Gb/s\"\nlink_delay = \"{delay} ps\"\n\
         [packet]\npayload = \"4032 B\"\nheader = \"64 B\"\ngap = \"0 B\"\n[ack]\nenabled = false\n\
         [switch]\nlatency = \"300 ns\"\nbuffer = \"100 MB\"\nbuffer_per = \"ingress\"\n\
         [llr]\noutstanding_bytes = \"1 MB\"\n{llr}\n\
         [[flow]]\nfrom = \"h0\"\nto = \"h1\"\nsize = \"{} B\"\n{more}",
        frames * 4032
    )
}

fn run_seeded(text: &str, seed: u64) -> (Progress, Rows) {
    let scenario = Scenario::from_text(text, "net.toml", Path::new(".")).unwrap_or_else(|e| panic!("{e}"));
    let mut network = Network::new(build(&scenario.check().unwrap_or_else(|e| panic!("{e}")), seed).unwrap()).unwrap();
    let mut rows = Rows::default();
    while !network.run(1 << 16, &mut rows).unwrap_or_else(|broken| panic!("{}", broken.reason)).done {}
    network.finish(&mut rows);
    (network.progress(), rows)
}

fn run(text: &str) -> (Progress, Rows) {
    run_seeded(text, 1)
}

fn last_byte(rows: &Rows) -> u64 {
    rows.flows[0].fct_last_byte.expect("the flow has been received").0
}

fn count(rows: &Rows, name: &str) -> u64 {
    rows.counters.iter().filter(|row| row.counter == name).map(|row| row.value).sum()
}

fn most(rows: &Rows, name: &str) -> u64 {
    rows.counters.iter().filter(|row| row.counter == name).map(|row| row.value).max().unwrap_or(0)
}

/// Frames that a damaged one costs.
fn wasted(delay: u64) -> u64 {
    1 + (2 * delay + SET).div_ceil(FRAME)
}

fn loss(link: &str, probability: f64) -> String {
    format!("[[fault]]\nkind = \"loss\"\n{link}probability = {probability}\n")
}

/// The first link, in the direction of the data.
const THERE: &str = "from = \"h0\"\nto = \"s0\"\n";

/// One frame in the middle of the flow is damaged: that costs W frames, to the picosecond, for wires of 10 ns to 10 us.
#[test]
fn a_damaged_frame_costs_a_loop() {
    for delay in [10_000, 163_000, 164_000, 500_000, 2_000_000, 10_000_000] {
        let clean = last_byte(&run(&scenario(delay, 300, "replay_timer = \"100 us\"", "")).1);
        let nth = format!("[[fault]]\nkind = \"drop-nth\"\n{THERE}frame = \"data\"\nnth = 50\n");
        let (end, rows) = run(&scenario(delay, 300, "replay_timer = \"100 us\"", &nth));
        assert_eq!(last_byte(&rows), clean + wasted(delay) * FRAME, "{delay} ps");
        assert_eq!((end.drops, rows.flows[0].reordered, rows.flows[0].received), (0, 0, 300 * 4032));
        assert_eq!((count(&rows, "llr_replays"), count(&rows, "llr_timeouts")), (1, 0));
        // The damaged frame, and those after it that were not accepted.
        assert_eq!(end.fault_losses, wasted(delay));
    }
}

/// (1 - p) / (1 - p + p W), for several p and W. A frame that is damaged when it is retransmitted waits for the timer, which the closed form does not
/// know: p times as often, a timer and a loop at most.
#[test]
fn efficiency_is_the_closed_form() {
    let (frames, timer) = (40_000_u64, 40 * FRAME);
    for (delay, p) in [(100_000, 0.001), (500_000, 0.001), (500_000, 0.005), (2_000_000, 0.002)] {
        let w = wasted(delay) as f64;
        let llr = format!("replay_timer = \"{timer} ps\"");
        let (end, rows) = run_seeded(&scenario(delay, frames, &llr, &loss(THERE, p)), 7);
        let clean = FRAME + 2 * delay + 300_000;
        let efficiency = (frames * FRAME) as f64 / (last_byte(&rows) - clean) as f64;
        let form = |w: f64| (1.0 - p) / (1.0 - p + p * w);
        // The number of damaged frames is binomial: five standard deviations of it.
        let spread = 5.0 / (frames as f64 * p).sqrt() * p * (w + 1.0);
        let with_timers = form(w + p * (timer as f64 / FRAME as f64 + 2.0 * w));
        assert!(efficiency < form(w) + spread, "{delay} ps, {p}: {efficiency}, {}", form(w));
        assert!(efficiency > with_timers - spread, "{delay} ps, {p}: {efficiency}, {with_timers}");
        assert_eq!((end.flows_done, end.drops, rows.flows[0].reordered), (1, 0, 0));
    }
}

/// All frames of both links and both directions may be damaged, ordered sets too. Everything arrives, in order, without a transport that
/// retransmits, and no buffer exceeds its limit.
#[test]
fn nothing_is_lost_or_overtaken() {
    for (seed, p) in [(1, 0.0005), (2, 0.01), (3, 0.05), (4, 0.2)] {
        let two = "[[flow]]\nfrom = \"h1\"\nto = \"h0\"\nsize = \"4 MB\"\n";
        let text = scenario(500_000, 1_000, "", &(two.to_owned() + &loss("", p))).replace("\"1 MB\"", "\"24 kB\"");
        let (end, rows) = run_seeded(&text, seed);
        assert_eq!((end.flows_done, end.drops), (2, 0), "{p}");
        assert!(rows.flows.iter().all(|flow| flow.reordered == 0 && flow.retransmitted == 0), "{p}");
        assert!(end.fault_losses > 0 && count(&rows, "llr_flushes") == 0, "{p}");
        assert!(most(&rows, "llr_outstanding_max") <= 24_000, "{p}");
    }
}

/// The replay buffer is as full as the loop needs: a frame, its way, and what is sent until its acknowledgement is there.
#[test]
fn the_replay_buffer_holds_a_loop() {
    for delay in [100_000, 500_000, 2_000_000] {
        let rows = run(&scenario(delay, 300, "", "")).1;
        let frames = (FRAME + 2 * delay + SET).div_ceil(FRAME);
        assert_eq!(most(&rows, "llr_outstanding_max"), frames * 4096, "{delay} ps");
    }
}

/// With room for k frames outstanding a link carries min(1, k s / loop) of its rate.
#[test]
fn the_limit_of_what_is_outstanding_is_a_window() {
    for k in 1..=6_u64 {
        let text = scenario(500_000, 500, "", "").replace("\"1 MB\"", &format!("\"{} B\"", k * 4096));
        let windows = 499 / k * (k * FRAME).max(FRAME + 1_000_000 + SET) + 499 % k * FRAME;
        assert_eq!(last_byte(&run(&text).1), windows + 2 * (FRAME + 500_000) + 300_000, "{k} frames");
    }
}

/// A link that fails for less than the timeout loses nothing; one that fails for longer loses the frames on it, and continues.
#[test]
fn a_link_that_fails() {
    for (timeout, lost) in [("50 us", false), ("500 ns", true)] {
        let fault =
            |kind: &str, at: &str| format!("[[fault]]\nkind = \"{kind}\"\nat = \"{at}\"\na = \"h0\"\nb = \"s0\"\n");
        let more = fault("link-down", "20 us") + &fault("link-up", "40 us");
        let (end, rows) = run(&scenario(500_000, 300, &format!("link_timeout = \"{timeout}\""), &more));
        assert_eq!(end.flows_done == 1, !lost, "{timeout}");
        assert_eq!(count(&rows, "llr_flushes") > 0, lost, "{timeout}");
        assert!(rows.flows[0].received > 200 * 4032 && rows.flows[0].reordered == 0, "{timeout}");
    }
}

/// The headroom that a replay needs, at its bound. Frames have 4096 B, s0's way out is so slow that none leaves, and h1's port is paused
/// once more than 10 frames are there. The 11th is damaged, and so is its NACK. So h1 continues until 25 frames are outstanding, and when
/// its timer expires it replays all of them. The first crosses xoff, and the other 24 arrive in spite of the pause, which takes effect 0.51
/// us later while the replay lasts 8.2 us. So headroom is max(that of PFC, OUTSTANDING_BYTES_MAX): 25 frames suffice, 24 lose the last of
/// them. PFC alone needs 6: two whole ones, and the 4.1 frames of 4096 B that a 100 Gb/s link carries in 332.8 + 500 + 500 ns.
#[test]
fn headroom_holds_a_replay() {
    const OUTSTANDING: u64 = 25;
    let losses = |headroom: u64, faults: &str| {
        let text = format!(
            "[stop]\nat = \"100 us\"\n\
             [topology]\nkind = \"star\"\nhosts = 2\nrate = \"100 Gb/s\"\nlink_delay = \"500 ns\"\n\
             [[link.at]]\nfrom = \"s0\"\nto = \"h0\"\nrate = \"10 Mb/s\"\n\
             [packet]\npayload = \"4032 B\"\nheader = \"64 B\"\ngap = \"0 B\"\n[ack]\nenabled = false\n\
             [switch]\nbuffer = \"{} B\"\nbuffer_per = \"ingress\"\nrelease_at = \"end\"\n[pfc]\nxoff = \"40960 B\"\n\
             [llr]\noutstanding_bytes = \"{} B\"\n\
             [[llr.at]]\nnode = \"s0\"\nreplay_timer = \"10 ms\"\n\
             [[flow]]\nfrom = \"h1\"\nto = \"h0\"\nsize = \"2 MB\"\n{faults}",
            (10 + headroom) * 4096,
            OUTSTANDING * 4096,
        );
        let (end, rows) = run(&text);
        assert_eq!(count(&rows, "llr_timeouts"), u64::from(!faults.is_empty()));
        end.drops
    };
    let damaged = |from: &str, to: &str, frame: &str, nth: u64| {
        format!("[[fault]]\nkind = \"drop-nth\"\nfrom = \"{from}\"\nto = \"{to}\"\nframe = \"{frame}\"\nnth = {nth}\n")
    };
    let worst = damaged("h1", "s0", "data", 11) + &damaged("s0", "h1", "llr-nack", 1);
    assert_eq!(losses(OUTSTANDING, &worst), 0);
    assert_eq!(losses(OUTSTANDING - 1, &worst), 1);
    assert_eq!(losses(6, &worst), OUTSTANDING - 6);
    assert_eq!(losses(6, ""), 0);
}

/// With PFC and with credits, lossless, on links that damage frames of every kind: a frame takes credits once, and nothing is lost if
/// memory has room for the frames that damaged pauses let through.
#[test]
fn it_goes_together_with_pause_and_credits() {
    let pfc = "[pfc]\nxoff = \"60 KB\"\n";
    let cbfc = "[cbfc]\ncredits = 400\ncc_timer = \"20 us\"\n";
    for (control, seed) in [(pfc, 1), (cbfc, 2), (pfc, 3), (cbfc, 4)] {
        let text = format!(
            "lossless = true\n[topology]\nkind = \"star\"\nhosts = 4\nrate = \"100 Gb/s\"\nlink_delay = \"500 ns\"\n\
             [switch]\nbuffer = \"4 MB\"\nbuffer_per = \"ingress\"\n[llr]\n{control}\
             [[flow]]\nfrom = [\"h1\", \"h2\", \"h3\"]\nto = \"h0\"\nsize = \"2 MB\"\n{}",
            loss("", 0.01)
        );
        let (end, rows) = run_seeded(&text, seed);
        assert_eq!((end.flows_done, end.drops), (3, 0), "{control}");
        assert!(end.fault_losses > 50 && count(&rows, "llr_flushes") == 0);
        assert!(rows.flows.iter().all(|flow| flow.reordered == 0 && flow.retransmitted == 0), "{control}");
        assert_eq!(count(&rows, "credits_repaired"), 0, "{control}");
    }
}

/// Without it `check` reports that flows that lose a frame never end; with it that would be wrong, unless a link fails.
#[test]
fn what_links_send_again_is_not_lost_for_good() {
    let warned = |text: &str| {
        let scenario = Scenario::from_text(text, "net.toml", Path::new(".")).unwrap_or_else(|e| panic!("{e}"));
        let checked = scenario.check().unwrap_or_else(|e| panic!("{e}"));
        checked.warnings.iter().any(|warning| warning.reason.contains("loses frames"))
    };
    let down = "[[fault]]\nkind = \"link-down\"\nat = \"1 us\"\na = \"h0\"\nb = \"s0\"\n";
    let with = scenario(500_000, 10, "", &loss("", 0.1));
    assert!(!warned(&with));
    assert!(warned(&with.replace("[llr]\noutstanding_bytes = \"1 MB\"\n", "")));
    assert!(warned(&scenario(500_000, 10, "", down)));
}
