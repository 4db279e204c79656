//! Memory in cells: accounts count whole cells, so that small frames reach a threshold sooner.

use super::links::{checked, run};
use backwater_engine::Time;

/// Frames of 64 B to a host that has paused its switch: none leaves. Returns when the switch first pauses the sender.
fn first_pause(switch: &str) -> Time {
    let rows = run(&checked(&format!(
        "[topology]\nkind = \"star\"\nhosts = 2\nrate = \"100 Gb/s\"\nlink_delay = \"0 ns\"\n\
         [packet]\npayload = \"44 B\"\nheader = \"20 B\"\ngap = \"20 B\"\n\
         [switch]\nlatency = \"0 s\"\nbuffer_per = \"ingress\"\nbuffer = \"1 MB\"\n{switch}\
         [pfc]\nxoff = \"2080 B\"\nxon = \"1 KB\"\n\
         [[fault]]\nkind = \"pause-storm\"\nhost = 1\n\
         [[flow]]\nfrom = 0\nto = 1\nsize = \"10 KB\"\nstart = \"10 us\"\n[stop]\nat = \"50 us\"\n"
    )));
    let from_switch = |row: &&backwater_net::record::ControlRow| row.time > Time::us(10) && row.value > 0;
    rows.control.iter().find(from_switch).map(|row| row.time).expect("the switch pauses the sender")
}

/// A frame and its gap take 6.72 ns at 100 Gb/s. More than 2,080 B are 33 frames of 64 B, 11 cells of
/// 208 B, or 9 of 254 B: the numbers of frames at which Tomahawk and Tomahawk 5 would pause.
#[test]
fn a_threshold_counts_cells() {
    let after = |frames: u64| Time::us(10) + Time(6_720 * frames);
    for (switch, frames) in [("", 33), ("cell = \"208 B\"\n", 11), ("cell = \"254 B\"\n", 9), ("cell = \"64 B\"\n", 33)]
    {
        assert_eq!(first_pause(switch), after(frames), "{switch}");
    }
}

/// Frames of 64 B in cells of 208 B behave as in cells of 64 B if thresholds are 13/4 of theirs: also what ECN counts behind a packet that
/// leaves. (A random scenario found that the packet itself was taken off by its length.)
#[test]
fn marks_count_cells() {
    let marked = |cell: u64, ecn: &str| {
        let rows = run(&checked(&format!(
            "[topology]\nkind = \"star\"\nhosts = 3\nrate = \"100 Gb/s\"\nlink_delay = \"0 ns\"\n\
             [packet]\npayload = \"44 B\"\nheader = \"20 B\"\ngap = \"20 B\"\n\
             [switch]\nlatency = \"0 s\"\nbuffer_per = \"none\"\ncell = \"{cell} B\"\n\
             [ecn]\nkmin = \"{0} B\"\nkmax = \"{0} B\"\n{ecn}\
             [[flow]]\nfrom = [0, 1]\nto = 2\nsize = \"2200 B\"\n",
            10 * cell
        )));
        rows.flows.iter().map(|flow| flow.marked).sum::<u64>()
    };
    for ecn in
        ["", "mark_at = \"dequeue\"\n", "mark_at = \"dequeue\"\ncount_departing = true\n", "mark_at = \"enqueue\"\n"]
    {
        assert!(marked(64, ecn) > 0, "{ecn}");
        assert_eq!(marked(208, ecn), marked(64, ecn), "{ecn}");
    }
}
