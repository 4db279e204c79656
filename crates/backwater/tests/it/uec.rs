//! What a sender of UEC's transport does that waits for credit.

use backwater::{Scenario, build};
use backwater_engine::Time;
use backwater_net::Network;
use backwater_net::bench::network::Collected;
use backwater_net::record::Progress;
use std::path::Path;

/// Hosts at one switch; those from h1 on send to h0, and what is cut waits before data.
fn star(hosts: u32, size: &str, more: &str) -> String {
    let senders = (1..hosts).map(|host| format!("\"h{host}\"")).collect::<Vec<_>>().join(", ");
    format!(
        "[topology]\nkind = \"star\"\nhosts = {hosts}\nrate = \"100 Gb/s\"\nlink_delay = \"1 us\"\n\
         [packet]\npayload = \"4086 B\"\nheader = \"64 B\"\ngap = \"0 B\"\n\
         [ack]\nsize = \"64 B\"\nclass = 7\nbytes = \"16384 B\"\n[switch]\nlatency = \"0 ns\"\nbuffer_per = \"queue\"\n\
         queue_buffers = [{}\"400 KB\"]\n\
         [transport]\nrecovery = \"rud\"\ntimeout = \"100 us\"\nretries = 3\n[trim]\nsize = \"64 B\"\nclass = 7\n\
         [rccc]\nnetwork_rtt = \"4674240 ps\"\nclass = 7\nrequest_interval = \"100 us\"\n\
         [[flow]]\nfrom = [{senders}]\nto = \"h0\"\nsize = \"{size}\"\n{more}",
        "\"100 KB\", ".repeat(7)
    )
}

fn fault(kind: &str, at: &str) -> String {
    format!("[[fault]]\nkind = \"{kind}\"\nat = \"{at}\"\na = \"s0\"\nb = \"h0\"\n")
}

fn run(text: &str) -> (Progress, Collected) {
    let scenario = Scenario::from_text(text, "net.toml", Path::new(".")).unwrap_or_else(|e| panic!("{e}"));
    let mut network = Network::new(build(&scenario.check().unwrap_or_else(|e| panic!("{e}")), 1).unwrap()).unwrap();
    let mut rows = Collected::default();
    while !network.run(1 << 16, &mut rows).unwrap_or_else(|broken| panic!("{}", broken.reason)).done {}
    (network.progress(), rows)
}

fn requests(rows: &Collected) -> usize {
    rows.control.iter().filter(|row| row.kind == "rts").count()
}

/// The link to the receiver is cut for good. The packets under way are given up after a timeout of 100 us, at the latest those of the last
/// credit another 100 us later; then the sender asks, and again after 100, 200, 400 and 800 us: three tries in vain are allowed, with the
/// fourth it gives up.
#[test]
fn who_asks_for_credit_in_vain_gives_up() {
    let (end, rows) = run(&star(2, "2 MB", &fault("link-down", "50 us")));
    assert_eq!((end.flows_done, end.flows_failed, end.flows_active), (0, 1, 0));
    assert_eq!(requests(&rows), 5);
    assert!(end.time >= Time::us(50 + 100 + 1_500), "{:?}", end.time);
    assert!(end.time <= Time::us(60 + 200 + 1_500), "{:?}", end.time);
}

/// The link is back after 300 us: the flow ends, and what it lacked was asked for.
#[test]
fn credit_that_was_lost_is_asked_for_again() {
    let faults = fault("link-down", "50 us") + &fault("link-up", "350 us");
    let (end, rows) = run(&star(2, "2 MB", &faults));
    assert_eq!((end.flows_done, end.flows_failed), (1, 0));
    assert!((1..=4).contains(&requests(&rows)), "{}", requests(&rows));
}

/// All has come, but the last answer is lost: the receiver's link is cut while it is on it, and for so long that the sender uses up its
/// credit for what it believes to be lost. What it asks for then is given at once. The receiver does not pull the flow's 2 MB, 122 pulls,
/// once more.
#[test]
fn who_lacks_only_the_last_answer_is_served_once() {
    let pulls = |rows: &Collected| rows.control.iter().filter(|row| row.kind == "pull").count();
    let (end, rows) = run(&star(2, "2 MB", ""));
    assert_eq!(end.flows_done, 1);
    let (before, last) = (pulls(&rows), rows.flows[0].fct_last_byte.unwrap());
    let cut = fault("link-down", &format!("{} ps", last.0 + 500_000))
        + &fault("link-up", &format!("{} ps", last.0 + 250_000_000));
    let (end, rows) = run(&star(2, "2 MB", &cut));
    assert_eq!((end.flows_done, end.flows_failed), (1, 0));
    assert_eq!(rows.flows[0].fct_last_byte, Some(last));
    assert!((1..=3).contains(&requests(&rows)), "{}", requests(&rows));
    assert!(pulls(&rows) <= before + 8, "{} after {before}", pulls(&rows));
}

/// 299 senders share a link: a turn of 16,384 B comes round every 0.4 ms, four times the time after which a sender asks. None is lost, so
/// every request is in vain; each sender may ask at 100, 200 and 400 us before its first turn, and not again.
#[test]
fn who_waits_for_a_turn_does_not_keep_asking() {
    let (end, rows) = run(&star(300, "100 KB", ""));
    assert_eq!((end.flows_done, end.flows_failed), (299, 0));
    assert!(requests(&rows) <= 3 * 299, "{}", requests(&rows));
}

/// Eight hosts of a leaf send 1 MB each to eight of another, through one spine: eight to one. Each receiver alone would pull at its whole
/// rate, so seven of eight packets would be cut for as long as the flows last. It slows down until few are.
#[test]
fn receivers_slow_their_pulls_down_where_the_spines_are_too_few() {
    let net = |ratio: u32| {
        format!(
            "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 8\nrate = \"100 Gb/s\"\nlink_delay = \"1 us\"\n\
             [packet]\npayload = \"4086 B\"\nheader = \"64 B\"\ngap = \"0 B\"\n\
             [ack]\nsize = \"64 B\"\nclass = 7\nbytes = \"16384 B\"\n[switch]\nlatency = \"0 ns\"\nbuffer_per = \"queue\"\n\
             queue_buffers = [{}\"240 KB\"]\n[transport]\nrecovery = \"rud\"\ntimeout = \"100 us\"\nretries = \"unlimited\"\n\
             [trim]\nsize = \"64 B\"\nclass = 7\n[ecn]\nkmin = \"24900 B\"\nkmax = \"99600 B\"\npmax = 1.0\nhost_ports = false\n\
             [rccc]\nnetwork_rtt = \"9348480 ps\"\nclass = 7\noversubscription = {ratio}\n{}",
            "\"120 KB\", ".repeat(7),
            (0..8)
                .map(|k| format!("[[flow]]\nfrom = \"h{k}\"\nto = \"h{}\"\nsize = \"1 MB\"\n", k + 8))
                .collect::<String>()
        )
    };
    let of = |ratio| {
        let (end, rows) = run(&net(ratio));
        assert_eq!(end.flows_done, 8);
        let last = rows.flows.iter().filter_map(|row| row.fct_last_ack).max().unwrap();
        (rows.flows.iter().map(|row| row.retransmitted).sum::<u64>(), last)
    };
    let [(full, _), (slowed, last)] = [1, 8].map(of);
    assert!(slowed * 10 < full, "{slowed} of {full}");
    // 8 x 245 packets of 4150 B at 100 Gb/s take 650.72 us on the spine's link.
    assert!(last >= Time(650_720_000) && last < Time::us(800), "{last:?}");
}
