//! Memory as switching chips divide it: guaranteed cells, slices, and thresholds of port and class at once. Frames of a cell each arrive for
//! a host that takes none, as hardware tests of SONiC have it (sonic-mgmt, `tests/qos`): at which of them does the switch pause, and which
//! does it drop?

use super::links::{checked, run};
use backwater_engine::Time;
use backwater_net::record::ControlRow;

/// Cells of 100 B.
const SWITCH: &str = "architecture = \"shared-memory\"\nlatency = \"0 s\"\ncell = \"100 B\"\n";

/// From each of the first hosts 600 frames of 64 B to the last, one host after the other, each on a link of 100 Gb/s. Nobody obeys a pause.
/// Returns the number of frames with which each host's port is paused, and the number of those that are kept.
fn thresholds(senders: u64, hosts: u64, class: u8, switch: &str) -> Vec<(Option<u64>, u64)> {
    let flows: String = (0..senders)
        .map(|host| {
            format!(
                "[[flow]]\nfrom = {host}\nto = {}\nsize = \"26400 B\"\nclass = {class}\nstart = \"{} us\"\n",
                hosts - 1,
                10 + 10 * host
            )
        })
        .collect();
    let checked = checked(&format!(
        "[topology]\nkind = \"star\"\nhosts = {hosts}\nrate = \"100 Gb/s\"\nlink_delay = \"0 ns\"\n\
         [packet]\npayload = \"44 B\"\nheader = \"20 B\"\ngap = \"20 B\"\n[switch]\n{SWITCH}{switch}\
         [pfc]\nthreshold = \"dynamic\"\nalpha = 1.0\nxon_offset = \"0 B\"\nresponse = \"1 s\"\n\
         [[link.at]]\nbetween = [\"h{}\", \"s0\"]\nrate = \"1 kb/s\"\n{flows}[stop]\nat = \"100 us\"\n",
        hosts - 1
    ));
    let rows = run(&checked);
    let node = checked.layout().graph.node("s0").expect("a star has a switch");
    let of_host = |host: u64| {
        let start = Time::us(10 + 10 * host);
        let pauses = |row: &&ControlRow| {
            let port = row.port.is_some_and(|port| u64::from(port.0) == host);
            row.node == node && port && row.value > 0 && row.time > start
        };
        let paused = rows.control.iter().find(pauses).map(|row| (row.time - start).0 / 6_720);
        let port = rows.ports.iter().find(|row| row.node == node && u64::from(row.port.0) == host);
        (paused, 600 - port.expect("it has a port").stats.drop_frames)
    };
    (0..senders).map(of_host).collect()
}

/// Priority groups have 6 cells each, a headroom of 5, and alpha = 1 of 400 cells: s >= 400 - s from the 200th cell of the pool on, with 206
/// frames; 5 more are kept. The next port finds 200 cells: 6 + 100 frames. So it is on Tomahawk 5: what others hold halves the share.
#[test]
fn each_further_group_has_half_of_what_is_left() {
    // 4 ports with 8 reserves of 600 B, and a headroom of 500 B each.
    let switch = "buffer = \"61200 B\"\nreserve = \"600 B\"\nheadroom = \"500 B\"\nheadroom_above = 1.0\n";
    assert_eq!(thresholds(3, 4, 3, switch), [(Some(206), 211), (Some(106), 111), (Some(56), 61)]);
}

/// In two slices: 200 cells for the first two ports, so that s >= 200 - s, and 200 for the others.
#[test]
fn a_slice_belongs_to_its_ports_alone() {
    let switch = "slices = 2\nbuffer = \"61200 B\"\nreserve = \"600 B\"\nheadroom = \"500 B\"\nheadroom_above = 1.0\n";
    assert_eq!(thresholds(3, 4, 3, switch), [(Some(106), 111), (Some(56), 61), (Some(106), 111)]);
}

/// Thresholds of port and group at once, both with alpha = 1: a group of its own port is paused with s >= (400 - s) - s of 400 cells, from 134 on
/// (the law of Spectrum: 400 / 3), and the next port's finds 266: 89.
#[test]
fn a_class_has_a_share_of_the_share_of_its_port() {
    let switch = "alpha_port = 1.0\nbuffer = \"42000 B\"\nheadroom = \"500 B\"\nheadroom_above = 1.0\n";
    assert_eq!(thresholds(2, 4, 3, switch), [(Some(134), 139), (Some(89), 94)]);
    // 8 (400 - s) - s: from 320 on.
    let wide = switch.replace("alpha_port = 1.0", "alpha_port = 8.0");
    assert_eq!(thresholds(1, 4, 3, &wide)[0], (Some(320), 325));
}

/// A lossy queue holds alpha = 1 of what is free, 200 of 400 cells; 8 cells more with a reserve; and no more than a fixed limit.
#[test]
fn a_lossy_queue_has_a_reserve_and_a_fixed_limit() {
    let kept = |switch: &str| thresholds(1, 4, 0, &format!("buffer = \"40000 B\"\n{switch}"))[0].1;
    assert_eq!(kept(""), 200);
    // q <= 400 - q + 8
    assert_eq!(kept("queue_reserve = \"800 B\"\n"), 204);
    assert_eq!(kept("queue_reserve = \"800 B\"\nqueue_limit = \"5050 B\"\n"), 50);
}

/// Headrooms of 5 cells share 12: the third of three groups finds 2.
#[test]
fn headrooms_share_a_pool() {
    let switch = "buffer = \"60400 B\"\nreserve = \"600 B\"\nheadroom = \"500 B\"\nheadroom_pool = \"1200 B\"\nheadroom_above = 1.0\n";
    assert_eq!(thresholds(3, 4, 3, switch), [(Some(206), 211), (Some(106), 111), (Some(56), 58)]);
}

/// Two cells are shared, and taken by the first two groups: the third still has its 6.
#[test]
fn a_reserve_is_used_before_a_pause() {
    let switch = "buffer = \"21400 B\"\nreserve = \"600 B\"\nheadroom = \"500 B\"\nheadroom_above = 1.0\n";
    assert_eq!(thresholds(3, 4, 3, switch), [(Some(7), 12), (Some(7), 12), (Some(6), 11)]);
    // Half a cell of a reserve takes no frame: five cells are used before the pause.
    let less = switch.replace("reserve = \"600 B\"", "reserve = \"550 B\"").replace("21400 B", "19800 B");
    assert_eq!(thresholds(3, 4, 3, &less)[2].0, Some(5));
}
