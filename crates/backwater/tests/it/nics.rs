//! `[nic]`: hosts with different delays, and mechanisms that limit the same flow's rate.

use backwater::{Scenario, build};
use backwater_engine::Time;
use backwater_mech::stage;
use backwater_net::config::NicTimes;
use backwater_net::packet::{Class, HostId};
use backwater_net::record::Rows;
use backwater_net::spec::QueuePairs;
use backwater_net::{Bytes, HostQueues};

const STAR: &str = r#"
[topology]
kind = "star"
hosts = 5
rate = "10 Gb/s"
link_delay = "1 us"
[switch]
buffer_per = "none"
"#;

const INCAST: &str = r#"
[[flow]]
from = "0..3"
to = 4
size = "2 MB"
"#;

fn scenario(more: &str) -> Scenario {
    Scenario::from_text(&format!("{STAR}{more}"), "net.toml", std::path::Path::new(".")).unwrap()
}

/// Completion times by flow, and the fingerprint.
fn run(more: &str) -> (Vec<Time>, u64) {
    let mut network = stage::build(build(&scenario(more).check().unwrap(), 1).unwrap()).unwrap();
    let mut rows = Rows::default();
    while !stage::run(&mut network, 1 << 16, &mut rows).unwrap().done {}
    let mut flows: Vec<_> = rows.flows.iter().map(|row| (row.id, row.fct_last_ack.unwrap())).collect();
    flows.sort_unstable();
    (flows.into_iter().map(|(_, fct)| fct).collect(), network.fingerprint())
}

#[test]
fn control_delays_of_hosts() {
    let text = "[nic]\ncontrol_delay = \"2 us\"\n[[nic.at]]\nhosts = \"0..1\"\ncontrol_delay = \"50 us\"\n\
                [[nic.at]]\nhosts = [\"h1\", 4]\ncontrol_delay = \"0 s\"\n";
    let resolved = scenario(&format!("{text}{INCAST}")).check().unwrap();
    let spec = build(&resolved, 1).unwrap();
    assert_eq!(spec.nic.control_delay, Time::us(2));
    let own = |host, delay| (HostId(host), NicTimes { control_delay: Some(delay), issue: None });
    let wanted = [own(0, Time::us(50)), own(1, Time::us(50)), own(1, Time::ZERO), own(4, Time::ZERO)];
    assert_eq!(spec.nics_at, wanted);
    let again = Scenario::from_text(&resolved.resolved().to_toml(), "net.toml", std::path::Path::new(".")).unwrap();
    assert_eq!(build(&again.check().unwrap(), 1).unwrap().nics_at, wanted);
    assert!(resolved.resolved().values().iter().any(|v| v.key == "nic.at.0.control_delay" && v.value == "50 us"));
    let set = scenario(text).with_set("nic.at.1.control_delay", "3 us").unwrap().check().unwrap();
    assert_eq!(build(&set, 1).unwrap().nics_at[3], own(4, Time::us(3)));
}

#[test]
fn issue_times_of_hosts() {
    let text = "[nic]\nissue = \"100 ns\"\n[[nic.at]]\nhosts = \"0..1\"\nissue = \"2 us\"\n\
                [[nic.at]]\nhosts = 1\ncontrol_delay = \"5 us\"\n";
    let resolved = scenario(&format!("{text}{INCAST}")).check().unwrap();
    let spec = build(&resolved, 1).unwrap();
    assert_eq!((spec.nic.issue, spec.nic.control_delay), (Time::ns(100), Time::ZERO));
    let own = |host, issue, control_delay| (HostId(host), NicTimes { control_delay, issue });
    let wanted = [own(0, Some(Time::us(2)), None), own(1, Some(Time::us(2)), None), own(1, None, Some(Time::us(5)))];
    assert_eq!(spec.nics_at, wanted);
    let again = Scenario::from_text(&resolved.resolved().to_toml(), "net.toml", std::path::Path::new(".")).unwrap();
    assert_eq!(build(&again.check().unwrap(), 1).unwrap().nics_at, wanted);
    assert_eq!(run(INCAST), run(&format!("[nic]\nissue = \"0 s\"\n{INCAST}")), "no time changes nothing");
}

/// 10 KB in 3 frames of 82 B more are 10,246 B: at half of 10 Gb/s one arrives every 16.39 us. A host with two such groups posts twice as
/// many.
#[test]
fn more_messages_than_can_be_issued_are_warned_of() {
    let group = |from: &str, load: &str| {
        format!(
            "[[flow]]\nfrom = {from}\nto = 4\nsize = \"10 KB\"\narrivals = \"poisson\"\nload = \"{load}\"\nuntil = \"1 ms\"\n"
        )
    };
    let warned = |issue: &str, flows: String| -> Vec<(String, String, String)> {
        let resolved =
            scenario(&format!("[nic]\nissue = \"{issue}\"\n{flows}")).check().unwrap_or_else(|e| panic!("{e}"));
        let about = resolved.warnings.into_iter().filter(|warning| warning.key == "nic.issue");
        about.map(|warning| (warning.key, warning.value, warning.reason)).collect()
    };
    let one = || group("[0, 1]", "50 %");
    assert_eq!(warned("16.3 us", one()), []);
    let [(_, value, reason)] = &warned("16.5 us", one())[..] else { panic!("one warning") };
    assert_eq!(value, "16.5 us");
    assert!(reason.contains("h0 posts takes 100.6") && reason.ends_with("; one other, too"), "{reason}");
    let two = || format!("{}{}", one(), group("1", "50 %"));
    assert_eq!(warned("8.1 us", two()), []);
    let [(.., reason)] = &warned("8.3 us", two())[..] else { panic!("one warning") };
    assert!(reason.contains("h1 posts takes 101.2") && reason.ends_with('s'), "{reason}");
    // Interfaces elsewhere are slow.
    assert_eq!(warned("1 us\"\n[[nic.at]]\nhosts = [2, 3]\nissue = \"1 ms", one()), []);
}

/// The queue's messages come to all sources alike: a host that ignores them for longer than it sends gets the bandwidth that the others
/// give up.
#[test]
fn a_delay_acts_where_it_is_asked_for() {
    let qcn = format!("[qcn]\n{INCAST}");
    let (_, plain) = run(&qcn);
    let (_, same) = run(&format!("[[nic.at]]\nhosts = \"all\"\ncontrol_delay = \"0 s\"\n{qcn}"));
    assert_eq!(plain, same, "a delay of nothing changes nothing");
    let (uncontrolled, _) = run(INCAST);
    let (deaf, _) = run(&format!("[[nic.at]]\nhosts = 2\ncontrol_delay = \"100 ms\"\n{qcn}"));
    // Alone it would take 1.6 ms, with an equal share 6.4 ms.
    assert!(deaf[2] < Time::ms(3) && uncontrolled[2] > Time::ms(6), "{deaf:?} {uncontrolled:?}");
    assert!([0, 1, 3].iter().all(|other| deaf[*other] > deaf[2]), "{deaf:?}");
}

/// Two controls limit a flow's rate: the slower one decides, whatever its place in the list.
#[test]
fn the_least_of_two_rates_counts() {
    let ecn = "[ecn]\nkmin = \"20 KB\"\nkmax = \"20 KB\"\npmax = 1.0\n";
    let slow_dcqcn = "[dcqcn]\nrai = \"1 b/s\"\nrhai = \"1 b/s\"\nf = 1000\n";
    let slow_qcn = "[qcn]\nrpg_ai_rate = \"0 b/s\"\nrpg_hai_rate = \"0 b/s\"\nrpg_threshold = 1000\n";
    let never_qcn = "[qcn]\ncp_qsp = \"1 GB\"\n";
    let never_dcqcn = "[dcqcn]\n";
    let least = "[nic]\nrate_limiters = \"least\"\n";
    let last = |text: &str| run(text).0.into_iter().max().unwrap();
    // One of the two gets no messages, and then the run is that of the other alone, to the picosecond.
    let (dcqcn, qcn) = (last(&format!("{ecn}{slow_dcqcn}{INCAST}")), last(&format!("{slow_qcn}{INCAST}")));
    assert_eq!(last(&format!("{least}{ecn}{slow_dcqcn}{never_qcn}{INCAST}")), dcqcn);
    assert_eq!(last(&format!("{least}{never_dcqcn}{slow_qcn}{INCAST}")), qcn);
    // Both together are no faster than either.
    let both = last(&format!("{least}{ecn}{slow_dcqcn}{slow_qcn}{INCAST}"));
    assert!(both >= dcqcn.min(qcn), "{both} {dcqcn} {qcn}");
}

#[test]
fn limiters_side_by_side_are_for_the_same_flows() {
    let refused = |more: &str| scenario(&format!("[nic]\nrate_limiters = \"least\"\n{more}{INCAST}")).check().err();
    assert!(refused("[ecn]\n[dcqcn]\n[qcn]\n").is_none());
    let error = refused("[ecn]\n[dcqcn]\n[qcn]\nper = \"class\"\n").unwrap();
    assert!(error.reason.contains("`qcn` has a rate limiter for each class, `dcqcn` for each flow"), "{error}");
    assert!(refused("[ecn]\n[dcqcn]\n[bcn]\nqeq = \"20 KB\"\n").is_some());
    assert!(refused("[qcn]\nper = \"destination\"\n[bcn]\nqeq = \"20 KB\"\n").is_none());
    // Claims other than rates are still refused.
    assert!(refused("[pause]\nxoff = \"1 MB\"\n[pfc]\nxoff = \"1 MB\"\n").is_some());
}

/// Groups, the rows of tables and jobs have the queue pairs that they request, and no others.
#[test]
fn queue_pairs_are_those_of_the_group() {
    let flow = |more: &str| format!("[[flow]]\nfrom = 0\nto = 1\nsize = \"10 KB\"\n{more}");
    let job = "[[job]]\nranks = 2\nqueue_pairs = 3\nsegment = \"8 KiB\"\n[[job.step]]\nkind = \"all-to-all\"\nsize = \"1 MB\"\n\
               [[job.step]]\nlabel = \"more\"\nkind = \"all-to-all\"\nsize = \"1 MB\"\n";
    let given = backwater::TableFlow {
        id: 9,
        src: 0,
        dst: 1,
        bytes: 10,
        start: Time::ZERO,
        class: None,
        path: None,
        ack_path: None,
        link: None,
    };
    let text = format!("{}{}{job}", flow("queue_pairs = 2\n"), flow(""));
    let checked = scenario(&text).with_flows("given", vec![given].into()).check().unwrap();
    let pairs = |number, segment: Option<u64>| Some(QueuePairs { number, segment: segment.map(Bytes), kept: false });
    let spec = build(&checked, 1).unwrap();
    assert_eq!(spec.groups.len(), 5);
    assert_eq!(spec.queue_pairs, [None, pairs(2, None), None, pairs(3, Some(8192)), pairs(3, Some(8192))]);
    let warned = scenario(&flow("segment = \"8 KiB\"\n")).check().unwrap().warnings;
    assert!(warned.len() == 1 && warned[0].key == "flow.0.segment", "{warned:?}");
}

fn queues(text: &str) -> HostQueues {
    build(&scenario(text).check().unwrap(), 1).unwrap().queues
}

/// The class's own priority first, then unused ones, upwards from it and modulo 8.
#[test]
fn priorities_of_queues_are_those_that_nothing_else_uses() {
    let of = |class, priorities: &[u8]| {
        HostQueues::new(Class(class), &priorities.iter().map(|p| Class(*p)).collect::<Vec<_>>()).unwrap()
    };
    assert_eq!(queues(INCAST), HostQueues::default());
    assert_eq!(queues(&format!("[nic]\nqueues = 4\n{INCAST}")), of(3, &[3, 4, 5, 6]));
    assert_eq!(queues(&format!("[nic]\nqueues = 3\nqueue_class = 6\n{INCAST}")), of(6, &[6, 7, 0]));
    // Flows use 4, PFC 1, CNPs 6, SFC's messages 7.
    let others = "[ecn]\n[dcqcn]\n[sfc]\nthreshold = \"1 MB\"\n[pfc]\nclasses = [3, 1]\nxoff = \"2 MB\"\n";
    let flows = format!("{others}{INCAST}class = 4\n");
    assert_eq!(queues(&format!("[nic]\nqueues = 4\n{flows}")), of(3, &[3, 5, 0, 2]));
    let error = scenario(&format!("[nic]\nqueues = 5\n{flows}")).check().err().unwrap();
    assert!(error.reason.contains("only 3 are free"), "{error}");
    assert!(error.hint.as_deref().unwrap_or_default().contains("use 1, 4, 6, 7: 4 queues"), "{error}");
}

/// The classes of a table are known when it is read.
#[test]
fn flows_of_a_table_are_kept_off_the_priorities_of_queues() {
    let flow = |class| backwater::TableFlow {
        id: 9,
        src: 0,
        dst: 1,
        bytes: 10,
        start: Time::ZERO,
        class,
        path: None,
        ack_path: None,
        link: None,
    };
    let given = |class| {
        let read = scenario("[nic]\nqueues = 2\n").with_flows("given", vec![flow(class)].into());
        build(&read.check().unwrap(), 1).map(|_| ())
    };
    assert!(given(Some(3)).is_ok() && given(Some(5)).is_ok() && given(None).is_ok());
    let error = given(Some(4)).unwrap_err();
    assert!(error.reason.contains("class 4") && error.reason.contains("queue of class 3"), "{error}");
}

/// A host under SFC by proxy that has a second message while its first is paused.
#[test]
fn a_second_queue_lets_a_second_message_pass() {
    let sfc = "[sfc]\nthreshold = \"100 KB\"\npause = \"200 us\"\nat_source = \"proxy\"\n";
    let incast = "[[flow]]\nfrom = \"0..2\"\nto = 4\nsize = \"1 MB\"\n";
    let message = "[[flow]]\nfrom = 0\nto = 3\nsize = \"10 KB\"\nstart = \"150 us\"\n";
    let second = |k: u32| run(&format!("[nic]\nqueues = {k}\n{sfc}{incast}{message}")).0[3];
    // The pause lasts from 43 us or so until 243 us.
    assert!(second(1) > Time::us(80), "{}", second(1));
    assert_eq!(second(2), run(message).0[0], "as if it were alone");
    assert_eq!(second(2), second(4));
}

#[test]
fn queues_of_a_class_that_no_flow_has_are_warned_of() {
    let keys = |more: &str| -> Vec<String> {
        let resolved = scenario(more).check().unwrap_or_else(|e| panic!("{e}"));
        resolved.warnings.into_iter().map(|warning| warning.key).collect()
    };
    let queues = |class: u8| format!("[nic]\nqueues = 2\nqueue_class = {class}\n{INCAST}");
    let none: [&str; 0] = [];
    assert_eq!(keys(&queues(3)), none);
    assert_eq!(keys(&queues(2)), ["nic.queues"]);
    assert_eq!(keys(&format!("{}class = 2\n", queues(2))), none);
}

/// A window that nothing opens is refused: the flow would stop forever when it is full.
#[test]
fn windows_need_acknowledgements() {
    for name in ["swift", "dctcp"] {
        let text = format!("[ack]\nenabled = false\n[ecn]\n[{name}]\n{INCAST}");
        let error = scenario(&text).check().map(|_| ()).unwrap_err();
        assert!(error.key.as_deref() == Some(name) && error.reason.contains("acknowledgements"), "{error}");
    }
}

/// Queues take no priority that flows use for any reason: a job, one of several classes, or the size of a flow.
#[test]
fn queues_keep_off_every_class_of_flows() {
    let nic = "[nic]\nqueues = 3\nqueue_class = 1\n";
    let extra = |more: &str| {
        let resolved = scenario(&format!("{nic}{more}")).check().unwrap();
        build(&resolved, 1).unwrap().queues.extra()
    };
    let flow = "[[flow]]\nfrom = 0\nto = 1\nsize = \"1 B\"\nclass = 1\n";
    for more in [
        "[[job]]\nranks = 3\nclass = 3\n[[job.step]]\nkind = \"all-to-all\"\nsize = \"1 B\"\n".to_owned(),
        format!("{flow}classes = [1, 3]\n"),
        format!("{flow}small_below = \"10 B\"\nsmall_class = 3\n"),
    ] {
        // 1 is the class itself; of the two others the first is 2, and 3 is taken.
        assert_eq!(extra(&more), 1 << 2 | 1 << 4, "{more}");
        run(&format!("{nic}{more}"));
    }
}
