//! Behaviour of a sender of UEC's transport that waits for credit, or finds losses itself.

use backwater::{Scenario, build};
use backwater_engine::Time;
use backwater_net::Network;
use backwater_net::packet::HostId;
use backwater_net::record::{FlowRow, Progress, Rows, State};
use std::path::Path;

/// Hosts at one switch; those from h1 on send to h0, and trimmed packets precede data.
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

/// The same with this window, which finds losses itself, in place of trimming and credit.
fn without_trimming(star: &str, window: &str) -> String {
    let (trim, flow) = (star.find("[trim]").unwrap(), star.find("[[flow]]").unwrap());
    format!("{}[nscc]\nsleek = true\n{window}\n{}", &star[..trim], &star[flow..])
}

fn fault(kind: &str, at: &str) -> String {
    format!("[[fault]]\nkind = \"{kind}\"\nat = \"{at}\"\na = \"s0\"\nb = \"h0\"\n")
}

fn run(text: &str) -> (Progress, Rows) {
    run_with(text, 1)
}

/// With a seed of its own.
fn run_with(text: &str, seed: u64) -> (Progress, Rows) {
    let scenario = Scenario::from_text(text, "net.toml", Path::new(".")).unwrap_or_else(|e| panic!("{e}"));
    let mut network = Network::new(build(&scenario.check().unwrap_or_else(|e| panic!("{e}")), seed).unwrap()).unwrap();
    let mut rows = Rows::default();
    while !network.run(1 << 16, &mut rows).unwrap_or_else(|broken| panic!("{}", broken.reason)).done {}
    (network.progress(), rows)
}

fn requests(rows: &Rows) -> usize {
    rows.control.iter().filter(|row| row.kind == "rts").count()
}

/// The link to the receiver fails for good. The packets in flight are given up after a timeout of 100 us, those of the last credit at most
/// another 100 us later. Then the sender asks, and again after 100, 200, 400 and 800 us: three vain tries are allowed, with the fourth it
/// gives up.
#[test]
fn who_asks_for_credit_in_vain_gives_up() {
    let (end, rows) = run(&star(2, "2 MB", &fault("link-down", "50 us")));
    assert_eq!((end.flows_done, end.flows_failed, end.flows_active), (0, 1, 0));
    assert_eq!(requests(&rows), 5);
    assert!(end.time >= Time::us(50 + 100 + 1_500), "{:?}", end.time);
    assert!(end.time <= Time::us(60 + 200 + 1_500), "{:?}", end.time);
}

/// The link is back after 300 us: the flow ends, since the sender requested the missing credit.
#[test]
fn credit_that_was_lost_is_asked_for_again() {
    let faults = fault("link-down", "50 us") + &fault("link-up", "350 us");
    let (end, rows) = run(&star(2, "2 MB", &faults));
    assert_eq!((end.flows_done, end.flows_failed), (1, 0));
    assert!((1..=4).contains(&requests(&rows)), "{}", requests(&rows));
}

/// Everything has arrived, but the last answer is lost: the receiver's link fails while it is on it, for so long that the sender uses up
/// its credit for packets that it believes to be lost. The credit that it then requests is given at once. The receiver does not pull the
/// flow's 2 MB, 122 pulls, again.
#[test]
fn who_lacks_only_the_last_answer_is_served_once() {
    let pulls = |rows: &Rows| rows.control.iter().filter(|row| row.kind == "pull").count();
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

/// 299 senders share a link: a turn of 16,384 B comes every 0.4 ms, four times the time after which a sender asks. No credit is lost, so
/// every request is in vain; each sender may ask at 100, 200 and 400 us before its first turn, and not again.
#[test]
fn who_waits_for_a_turn_does_not_keep_asking() {
    let (end, rows) = run(&star(300, "100 KB", ""));
    assert_eq!((end.flows_done, end.flows_failed), (299, 0));
    assert!(requests(&rows) <= 3 * 299, "{}", requests(&rows));
}

/// Eight hosts of a leaf send 1 MB each to eight of another, through one spine: eight to one. Each receiver alone would pull at its whole
/// rate, so seven of eight packets would be trimmed for as long as the flows last. Receivers slow down until few are.
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

/// A flow of so many packets between two hosts, every one of them acknowledged; the tenth is lost. Window: 1.5 x 4674.24 ns at 100 Gb/s,
/// 87,642 B; 21 full payloads.
fn tenth_is_lost(packets: u32, more: &str) -> (Progress, Rows) {
    run(&format!(
        "[topology]\nkind = \"star\"\nhosts = 2\nrate = \"100 Gb/s\"\nlink_delay = \"1 us\"\n\
         [packet]\npayload = \"4086 B\"\nheader = \"64 B\"\ngap = \"0 B\"\n\
         [ack]\nsize = \"64 B\"\nbytes = \"1 B\"\n[switch]\nlatency = \"0 ns\"\n\
         [transport]\nrecovery = \"rud\"\ntimeout = \"100 us\"\nretries = 3\n\
         [nscc]\nnetwork_rtt = \"4674240 ps\"\ntarget = \"4674240 ps\"\n{more}\n\
         [[flow]]\nfrom = \"h1\"\nto = \"h0\"\nstart = \"1 us\"\nsize = \"{} B\"\n\
         [[fault]]\nkind = \"drop-nth\"\nfrom = \"h1\"\nto = \"s0\"\nframe = \"data\"\nnth = 10\n",
        packets * 4086
    ))
}

/// Round trip of a packet of 332 ns and an acknowledgement of 5.12 ns over two links of 1 us.
const ROUND: u64 = 4_674_240;
const PACKET: u64 = 332_000;

/// With the 31st packet 21 have arrived beyond the tenth. Its acknowledgement arrives 30 packets and a round trip after the start; the lost
/// packet is retransmitted at once, and ends the flow another round trip later.
#[test]
fn a_window_and_a_half_beyond_a_packet_shows_that_it_is_lost() {
    let (end, rows) = tenth_is_lost(31, "sleek = true");
    let flow = &rows.flows[0];
    assert_eq!((end.flows_done, flow.retransmitted, flow.inferred, flow.timeouts), (1, 1, 1, 0));
    assert_eq!(flow.fct_last_ack, Some(Time(30 * PACKET + 2 * ROUND)));
    assert!(rows.control.iter().all(|row| row.kind != "probe"));
}

/// With 30 packets only 20 arrive beyond it. After the last acknowledgement, 29 packets and a round trip from the start, nothing arrives. A
/// probe is sent a base RTT and the target later. It returns after four links of 1 us and 5.12 ns, and causes the retransmission of the
/// lost packet.
#[test]
fn a_probe_asks_where_nothing_comes() {
    let (end, rows) = tenth_is_lost(30, "sleek = true");
    let flow = &rows.flows[0];
    assert_eq!((end.flows_done, flow.retransmitted, flow.inferred, flow.timeouts), (1, 1, 1, 0));
    let probe = 4 * (1_000_000 + 5_120);
    assert_eq!(flow.fct_last_ack, Some(Time(29 * PACKET + ROUND + 2 * ROUND + probe + ROUND)));
    let probes: Vec<Time> = rows.control.iter().filter(|row| row.kind == "probe").map(|row| row.time).collect();
    assert_eq!(probes, [Time(1_000_000 + 29 * PACKET + 3 * ROUND)]);
}

/// 40 packets; the tenth is lost. The answer to the 31st starts a recovery 14.6 us after the flow. The answers to the last nine leave the
/// receiver one every 40 us, k x 40 us after 14.96 us, and that to the tenth after them, at 414.96 us. All have arrived, so retransmissions
/// by timers would be in vain. They expire every 100 us, and none counts as a loss, since answers arrive: once for the third and fourth of
/// the nine, twice for the next three, three times for the last two. The tenth itself, which was retransmitted, is lost again with the
/// answer after each of its timers: at 134.96, 254.96 and 374.96 us.
#[test]
fn timers_retransmit_nothing_while_answers_come_in_a_recovery() {
    let slow =
        "[[fault]]\nkind = \"rate-change\"\nat = \"13.7 us\"\nfrom = \"h0\"\nto = \"s0\"\nrate = \"12.8 Mb/s\"\n";
    let (end, rows) = tenth_is_lost(40, &format!("sleek = true\n{slow}"));
    let flow = &rows.flows[0];
    assert_eq!((end.flows_done, flow.retransmitted, flow.inferred), (1, 4, 4));
    assert_eq!(flow.timeouts, 2 + 3 * 2 + 2 * 3 + 3);
    // The 32nd packet arrives 31 packets and two links after the start.
    let arrives = Time(31 * PACKET + 2 * (PACKET + 1_000_000));
    let last = arrives + Time(10 * 40_000_000) + Time(2_000_000 + 5_120);
    assert_eq!(flow.fct_last_ack, Some(last));
}

/// Without it the timer of the lost packet finds the loss, 100 us after it was sent.
#[test]
fn without_it_a_timeout_tells() {
    let (_, rows) = tenth_is_lost(31, "");
    let flow = &rows.flows[0];
    assert_eq!((flow.retransmitted, flow.inferred, flow.timeouts), (1, 0, 1));
    assert_eq!(flow.fct_last_ack, Some(Time(9 * PACKET + 100_000_000 + ROUND)));
}

/// The receiver's link fails for good, and only unanswered probes are left: the sender gives up after three vain tries, which it counts by
/// its timeout of 100 us.
#[test]
fn whose_probes_nobody_answers_gives_up() {
    let cut = "[[fault]]\nkind = \"link-down\"\nat = \"7 us\"\na = \"s0\"\nb = \"h0\"\n";
    let (end, rows) = tenth_is_lost(31, &format!("sleek = true\n{cut}"));
    assert_eq!((end.flows_done, end.flows_failed, end.flows_active), (0, 1, 0));
    assert!(end.time >= Time::us(400) && end.time <= Time::us(600), "{:?}", end.time);
    assert!(rows.control.iter().filter(|row| row.kind == "probe").count() > 10);
    // Its three vain tries and the fourth are expired timers, though recovery retransmits nothing for them.
    assert_eq!(rows.flows[0].state, State::Failed);
    assert!(rows.flows[0].timeouts >= 4, "{}", rows.flows[0].timeouts);
}

/// Fifteen senders of 2 MB, one of them at the receiver's switch, in three tiers that do not trim. `htsim_uec` ends within 2704 to 2746 us
/// (5 seeds) with timeouts alone and within 2448 to 2475 us (25 seeds) with `-sleek`; the test allows another hundredth.
#[test]
fn an_incast_without_trimming_ends_as_in_uecs_program() {
    let net = |more: &str| {
        format!(
            "[topology]\nkind = \"fat-tree\"\npods = 4\ntors_per_pod = 2\naggs_per_pod = 2\ncores = 4\nhosts_per_tor = 2\n\
             rate = \"100 Gb/s\"\nlink_delay = \"1 us\"\n[packet]\npayload = \"4086 B\"\nheader = \"64 B\"\ngap = \"0 B\"\n\
             [ack]\nsize = \"64 B\"\nbytes = \"16 KiB\"\nclass = 7\n[nic]\ncontrol_turns = 10\n\
             [switch]\nlatency = \"0 ns\"\nrelease_at = \"end\"\nbuffer_per = \"queue\"\nqueue_buffers = [{}\"1784500 B\"]\n\
             [transport]\nrecovery = \"rud\"\ntimeout = \"443.28 us\"\nretries = \"unlimited\"\n\
             [ecn]\nkmin = \"37350 B\"\nkmax = \"145250 B\"\npmax = 1.0\n[ev]\nvalues = 64\npolicy = \"mixed\"\n\
             [nscc]\nnetwork_rtt = \"14022.72 ns\"\ntarget = \"14022.72 ns\"\n{more}\n\
             [[flow]]\nfrom = \"1..15\"\nto = 0\nsize = \"2 MB\"\n",
            "\"892250 B\", ".repeat(7)
        )
    };
    for (more, least, most) in [("", 2704, 2746), ("sleek = true", 2448, 2475)] {
        let (end, rows) = run(&net(more));
        assert_eq!(end.flows_done, 15);
        let last = rows.flows.iter().filter_map(|row| row.fct_last_ack).max().unwrap();
        assert!(last >= Time::us(least * 99 / 100) && last <= Time::us(most * 101 / 100), "{more}: {last}");
        // With it all retransmitted packets were declared lost: a timer that expires in a recovery retransmits nothing.
        let sum = |of: fn(&FlowRow) -> u64| rows.flows.iter().map(of).sum::<u64>();
        let (again, inferred, timeouts) =
            (sum(|row| row.retransmitted), sum(|row| row.inferred), sum(|row| row.timeouts.into()));
        assert_eq!((inferred, timeouts > 0), if more.is_empty() { (0, true) } else { (again, timeouts > 0) });
    }
}

/// The port to h0 sends at 10 Gb/s, and its queue holds four packets. Those of h1 arrive 1.332 to 2.328 us after the start, and the first
/// of them is on the wire until 4.652 us. So there is no memory for the only packet of h2, at 2.832 us. It is lost itself, or by a random
/// draw the last of h1. With 100 seeds 50 lose it then, within five standard deviations of 5.
#[test]
fn a_toss_decides_which_of_two_packets_is_lost() {
    let lost = |more: &str, seed| {
        let text = format!(
            "[topology]\nkind = \"star\"\nhosts = 3\nrate = \"100 Gb/s\"\nlink_delay = \"1 us\"\n\
             [packet]\npayload = \"4086 B\"\nheader = \"64 B\"\ngap = \"0 B\"\n\
             [switch]\nlatency = \"0 ns\"\nbuffer_per = \"queue\"\nbuffer = \"16600 B\"\n{more}\n\
             [transport]\nrecovery = \"rud\"\ntimeout = \"100 us\"\nloss = \"expected\"\n[ack]\nbytes = \"4150 B\"\n\
             [[flow]]\nfrom = \"h1\"\nto = \"h0\"\nsize = \"{} B\"\n\
             [[flow]]\nfrom = \"h2\"\nto = \"h0\"\nsize = \"4086 B\"\nstart = \"1.5 us\"\n\
             [[fault]]\nkind = \"rate-change\"\nat = \"0 s\"\nfrom = \"s0\"\nto = \"h0\"\nrate = \"10 Gb/s\"\n",
            4 * 4086
        );
        let (end, rows) = run_with(&text, seed);
        let of = |src| rows.flows.iter().find(|row| row.src == src).unwrap().retransmitted;
        let (first, second) = (of(HostId(1)), of(HostId(2)));
        assert_eq!((end.flows_done, end.drops, first + second), (2, 1, 1), "{more} {seed}");
        second
    };
    assert_eq!((1..=5).map(|seed| lost("", seed)).sum::<u64>(), 5);
    let either = (1..=100).map(|seed| lost("victim = \"either\"", seed)).sum::<u64>();
    assert!((25..=75).contains(&either), "{either}");
    for more in
        ["victim = \"either\"\nbuffer_per = \"switch\"", "victim = \"either\"\narchitecture = \"shared-memory\""]
    {
        let text = format!(
            "[topology]\nkind = \"star\"\nhosts = 2\nrate = \"100 Gb/s\"\nlink_delay = \"1 us\"\n[switch]\n{more}\n"
        );
        let text = text + "[[flow]]\nfrom = \"h1\"\nto = \"h0\"\nsize = \"1 KB\"\n";
        let error = Scenario::from_text(&text, "net.toml", Path::new(".")).unwrap().check().err().unwrap().to_string();
        assert!(error.contains("switch.victim"), "{error}");
    }
}

/// A loss from the start on applies to the first flow's frames, though they leave at the same time.
#[test]
fn a_fault_from_the_start_meets_the_first_frame() {
    let fault = "[[fault]]\nkind = \"drop-nth\"\nfrom = \"h1\"\nto = \"s0\"\nframe = \"data\"\nnth = 1\n";
    let (end, rows) = run(&star(2, "1 KB", fault));
    assert_eq!((end.flows_done, rows.flows[0].retransmitted, rows.flows[0].timeouts), (1, 1, 1));
}

/// Packets 30 and 31 are lost, and each again when it is retransmitted, while answers arrive late: the effect of the second timeout stays,
/// whichever packet times out after that.
#[test]
fn what_is_lost_twice_in_a_recovery_is_sent_a_third_time() {
    let lost = |nth: u32| {
        format!("[[fault]]\nkind = \"drop-nth\"\nfrom = \"h1\"\nto = \"s0\"\nframe = \"data\"\nnth = {nth}\n")
    };
    let late = "[[fault]]\nkind = \"rate-change\"\nat = \"40 us\"\nfrom = \"h0\"\nto = \"s0\"\nrate = \"200 Mb/s\"\n";
    let more = [30, 31, 70, 71].map(lost).concat() + late;
    let text = star(2, "1 MB", &more).replace("retries = 3", "retries = 7");
    let (end, rows) = run(&without_trimming(&text, "network_rtt = \"4674240 ps\"\ntarget = \"100 ns\""));
    assert_eq!((end.flows_done, end.flows_failed), (1, 0));
    assert!(rows.flows[0].retransmitted >= 4, "{}", rows.flows[0].retransmitted);
}

/// No probe gets through, and one packet in twenty is lost, including retransmissions: packets that a recovery keeps in flight get their
/// timers again, and are then retransmitted as without it.
#[test]
fn without_probes_timeouts_go_on() {
    let loss =
        |frame: &str, share: f64| format!("[[fault]]\nkind = \"loss\"\nframe = \"{frame}\"\nprobability = {share}\n");
    let text = star(2, "2 MB", &(loss("probe", 1.0) + &loss("data", 0.05))).replace("retries = 3", "retries = 7");
    let (end, _) = run(&without_trimming(&text, "network_rtt = \"14022.72 ns\"\ntarget = \"14022.72 ns\""));
    assert_eq!((end.flows_done, end.flows_failed), (1, 0));
}

/// A connection fails while packets and answers are still in flight, and the next message opens another: nothing of the old one counts for
/// it. No message is complete before the idle network could have acknowledged it, and none without all its bytes.
#[test]
fn what_is_under_way_of_a_failed_connection_is_not_of_the_next() {
    for recovery in ["rud", "go-back-n", "selective-repeat"] {
        let (end, rows) = run(&format!(
            "[topology]\nkind = \"star\"\nhosts = 3\nrate = \"100 Gb/s\"\nlink_delay = \"100 us\"\n\
             [transport]\nrecovery = \"{recovery}\"\ntimeout = \"250 us\"\nretries = 0\nloss = \"expected\"\n\
             [[flow]]\nfrom = \"h0\"\nto = \"h1\"\nsize = \"40 KB\"\narrivals = \"periodic\"\ninterval = \"260 us\"\ncount = 4\n\
             keep_queue_pairs = true\n"
        ));
        // Each is acknowledged after two links of 100 us in each direction, and given up after 250 us.
        assert_eq!((end.flows_done, end.flows_failed), (0, 4), "{recovery}");
        assert!(rows.flows.iter().all(|row| row.fct_last_ack.is_none()), "{recovery}");
    }
}

/// One of two queue pairs of a message has failed: the message has, too, and its job sees no completion.
#[test]
fn a_message_of_which_a_queue_pair_has_failed_is_not_done() {
    for keep in [true, false] {
        for seed in 1..=3 {
            let text = format!(
                "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\nrate = \"100 Gb/s\"\n\
                 link_delay = \"500 ns\"\n[transport]\nrecovery = \"go-back-n\"\ntimeout = \"50 us\"\nretries = 0\nloss = \"expected\"\n\
                 [ack]\nevery = 4\n[[job]]\nranks = 4\nqueue_pairs = 2\nkeep_queue_pairs = {keep}\n\
                 [[job.step]]\nkind = \"point-to-point\"\nshift = 2\nsize = \"2 MB\"\n\
                 [[fault]]\nkind = \"loss\"\nfrom = \"leaf0\"\nto = \"spine0\"\nprobability = 1.0\n"
            );
            let (end, rows) = run_with(&text, seed);
            let failed = rows.flows.iter().filter(|row| row.state == State::Failed).count() as u64;
            assert_eq!((end.flows_failed, end.flows_done), (failed, rows.flows.len() as u64 - failed), "{keep} {seed}");
        }
    }
}
