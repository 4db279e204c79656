//! A run whose messages its caller sends equals the run of the same flows in a scenario, to the picosecond, and the caller learns of each
//! moment when it comes.

use backwater::{Live, LiveOptions, Occurred, Scenario, ScenarioError, What};
use backwater_engine::{Rng, Time, rng};
use backwater_net::record::{FlowRow, State};
use rand::RngExt;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Four hosts at one switch.
const STAR: &str = include_str!("star.toml");

/// A fabric under pressure: pauses, marks, rate control, and background flows of its own.
const BUSY: &str = r#"
[topology]
kind = "leaf-spine"
leaves = 3
spines = 2
hosts_per_leaf = 4
rate = "100 Gb/s"
link_delay = "150 ns"
[switch]
buffer = "400 KB"
buffer_per = "ingress"
[pfc]
xoff = "60 KB"
[ecn]
kmin = "20 KB"
kmax = "80 KB"
pmax = 0.2
[dcqcn]
[[flow]]
label = "background"
pattern = "random"
size = "60 KB"
arrivals = "poisson"
load = "20 %"
until = "300 us"
"#;

/// Retransmission, for connections that outlive a message.
const RECOVERY: &str = r#"
[transport]
recovery = "go-back-n"
timeout = "200 us"
window = "60 KB"
"#;

fn scenario(text: &str) -> Scenario {
    Scenario::from_text(text, "test.toml", Path::new(".")).unwrap()
}

/// A directory that does not exist yet.
fn directory(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("live-{name}"));
    _ = fs::remove_dir_all(&path);
    path
}

/// The deeds of a caller, and all that he has learned.
struct Diary {
    /// By token: when it occurred. A message's token is its number, a timer's is above all of them.
    told: BTreeMap<(u64, What), u64>,
    fingerprint: u64,
    rows: Vec<FlowRow>,
    /// The number of the group of the messages.
    group: u32,
}

/// A caller who sends at random: beforehand, by timers, and in answer to moments, at once or later. Times are multiples of `grid`, so that
/// much happens at one instant.
fn at_random(live: &mut Live, messages: u64, seed: u64, grid: u64) -> BTreeMap<(u64, What), u64> {
    const TIMER: u64 = 1 << 40;
    const MOST: u64 = 40;
    let mut dice = rng::stream(seed, "caller", 0);
    let hosts = live.hosts();
    let mut sent = 0;
    let mut told = BTreeMap::new();
    let mut send = |live: &mut Live, dice: &mut Rng| {
        let (all, ended) = live.counts();
        if sent == messages || all - ended >= MOST {
            return sent < messages;
        }
        let src = dice.random_range(0..hosts);
        let dst = (src + dice.random_range(1..hosts)) % hosts;
        let delay = [0, 0, 1, 2, 7][dice.random_range(0..5)] * grid;
        let bytes = [1, 2, 64, 4_000, 4_001, 30_000][dice.random_range(0..6)];
        live.send(src, dst, bytes, Some([3, 4][dice.random_range(0..2)]), Time(delay), sent).unwrap();
        sent += 1;
        true
    };
    for _ in 0..MOST {
        send(live, &mut dice);
    }
    live.timer(Time(grid), TIMER).unwrap();
    let mut timers = 1;
    loop {
        let until = if dice.random_range(0..4) == 0 { live.now().after(Time(grid / 2)) } else { Time::NEVER };
        let occurred: Vec<Occurred> = live.step(until).unwrap().to_vec();
        if occurred.is_empty() && until == Time::NEVER {
            return told;
        }
        for one in occurred {
            assert_eq!((one.at, told.insert((one.token, one.what), one.at.0)), (live.now(), None));
            for _ in 0..dice.random_range(0..3) {
                send(live, &mut dice);
            }
            if one.what == What::Timer {
                assert_eq!(one.at.0, (one.token - TIMER + 1) * grid);
                if send(live, &mut dice) {
                    live.timer(one.at.after(Time(grid)), TIMER + timers).unwrap();
                    timers += 1;
                }
            }
        }
    }
}

/// Steps to the end.
fn drain(live: &mut Live) -> Vec<Occurred> {
    let mut all = Vec::new();
    loop {
        let occurred = live.step(Time::NEVER).unwrap();
        if occurred.is_empty() {
            return all;
        }
        all.extend_from_slice(occurred);
    }
}

fn diary(name: &str, text: &str, kept: bool, messages: u64, seed: u64, grid: u64) -> (Diary, PathBuf) {
    let at = directory(name);
    let options = LiveOptions {
        keep_connections: kept,
        sent: true,
        rows: true,
        directory: Some(at.clone()),
        seed: Some(seed),
        ..LiveOptions::default()
    };
    let mut live = Live::open(&scenario(text), &options).unwrap();
    let told = at_random(&mut live, messages, seed, grid);
    live.close().unwrap();
    let group = live.groups().iter().position(|label| label == "messages").unwrap() as u32;
    (Diary { told, fingerprint: live.fingerprint(), rows: live.rows().flows.clone(), group }, at)
}

/// Runs the same flows as a scenario, and compares.
fn same_as_its_flows(name: &str, text: &str, kept: bool, messages: u64, seed: u64, grid: u64) {
    let (live, at) = diary(name, text, kept, messages, seed, grid);
    let run = Scenario::load(&at.join("scenario.toml")).unwrap().run(seed).unwrap();
    assert_eq!(run.groups()[live.group as usize], "messages");
    let all = |rows: &[FlowRow]| {
        let mut rows = rows.to_vec();
        rows.sort_by_key(|row| row.id);
        rows
    };
    let (own, other) = (all(&live.rows), all(run.flows()));
    assert_eq!(own.len(), other.len());
    if let Some((own, other)) = own.iter().zip(&other).find(|(own, other)| own != other) {
        panic!("{name}, seed {seed}: {own:?} is not {other:?}");
    }
    assert_eq!(live.fingerprint, run.fingerprint(), "{name}, seed {seed}");
    let mut of_messages = 0;
    for row in own.iter().filter(|row| row.group == live.group) {
        let number = row.id & ((1 << 40) - 1);
        let told = |what| live.told.get(&(number, what)).map(|at| Time(at - row.start.0));
        assert_eq!((told(What::Delivered), told(What::Acknowledged)), (row.fct_last_byte, row.fct_last_ack), "{row:?}");
        assert!(told(What::Sent).is_some_and(|sent| Some(sent) < row.fct_last_byte), "{row:?}");
        assert_eq!(row.state, State::Complete);
        of_messages += 1;
    }
    assert_eq!(of_messages, messages);
}

#[test]
fn a_live_run_is_the_run_of_its_flows() {
    for seed in 1..4 {
        same_as_its_flows("star", STAR, false, 400, seed, 1_000_000);
        // Every packet's time is a multiple of this: answers and arrivals at one instant.
        same_as_its_flows("star-grid", STAR, false, 400, seed, 325_120);
        same_as_its_flows("busy", BUSY, false, 400, seed, 777_777);
    }
}

#[test]
fn connections_are_used_again() {
    for seed in 1..4 {
        same_as_its_flows("kept", &format!("{STAR}{RECOVERY}"), true, 400, seed, 1_000_000);
        same_as_its_flows("kept-busy", &format!("{BUSY}{RECOVERY}"), true, 400, seed, 777_777);
        same_as_its_flows("not-kept", &format!("{STAR}{RECOVERY}"), false, 400, seed, 1_000_000);
    }
}

/// Takes 18 s of processor time in a release, and minutes without: `cargo test --release -p backwater --test it a_million -- --ignored`.
#[test]
#[ignore = "takes minutes"]
fn a_million_messages_and_timers() {
    same_as_its_flows("million", BUSY, false, 1_000_000, 7, 777_777);
}

/// Frames of 4064 B and 64 B take 325.12 ns and 5.12 ns at 100 Gb/s, links 500 ns; the switch stores and forwards.
#[test]
fn moments_of_one_message_are_exact() {
    let options = LiveOptions { sent: true, ..LiveOptions::default() };
    let mut live = Live::open(&scenario(STAR), &options).unwrap();
    live.send(0, 1, 8_000, None, Time::us(1), 42).unwrap();
    live.timer(Time::us(2), 43).unwrap();
    let (frame, ack, link, start) = (325_120, 5_120, 500_000, 1_000_000);
    let last = start + 3 * frame + 2 * link;
    let expected = [
        // The interface takes the second packet when the first has left.
        (42, What::Sent, start + frame),
        (43, What::Timer, 2_000_000),
        (42, What::Delivered, last),
        (42, What::Acknowledged, last + 2 * (ack + link)),
    ];
    for (token, what, at) in expected {
        assert_eq!(live.step(Time::NEVER).unwrap(), [Occurred { at: Time(at), token, what }]);
        assert_eq!(live.now(), Time(at));
    }
    assert_eq!(live.step(Time::NEVER).unwrap(), []);
    assert_eq!((live.now(), live.counts()), (Time(expected[3].2), (1, 1)));
    assert_eq!(live.step(Time::ms(1)).unwrap(), []);
    assert_eq!(live.now(), Time::ms(1));
    // h0's link to the switch: two frames.
    let port = live.port(0, 0).or_else(|| live.port(1, 0)).unwrap();
    assert!(port.stats.tx_frames == 2 || port.stats.tx_data_frames == 2, "{port:?}");
}

#[test]
fn what_nobody_wants_is_not_told_and_not_kept() {
    let options = LiveOptions { delivered: false, ..LiveOptions::default() };
    let mut live = Live::open(&scenario(STAR), &options).unwrap();
    for token in 0..10 {
        live.send(token as u32 % 3, 3, 1_000, None, Time::ZERO, token).unwrap();
    }
    assert!(drain(&mut live).iter().all(|one| one.what == What::Acknowledged));
    assert_eq!((live.counts(), live.rows().flows.len()), ((10, 10), 0));
}

#[test]
fn several_moments_of_an_instant_come_together() {
    let mut live = Live::open(&scenario(STAR), &LiveOptions::default()).unwrap();
    live.send(0, 1, 1_000, None, Time::ZERO, 5).unwrap();
    live.send(2, 3, 1_000, None, Time::ZERO, 4).unwrap();
    let last = 2 * (1_064 * 80 + 500_000);
    live.timer(Time(last), 9).unwrap();
    live.timer(Time(last), 8).unwrap();
    let occurred: Vec<_> = live.step(Time::NEVER).unwrap().iter().map(|one| (one.token, one.what)).collect();
    assert_eq!(occurred, [(5, What::Delivered), (4, What::Delivered), (9, What::Timer), (8, What::Timer)]);
    assert_eq!(live.now(), Time(last));
}

#[test]
fn a_failed_message_is_told() {
    let fault = "[[fault]]\nkind = \"link-down\"\na = \"h1\"\nb = \"s0\"\nat = \"0 ns\"\n";
    let recovery = "[transport]\nrecovery = \"go-back-n\"\ntimeout = \"10 us\"\nretries = 2\n";
    for kept in [false, true] {
        let text = format!("{STAR}{recovery}{fault}");
        let options = LiveOptions { keep_connections: kept, ..LiveOptions::default() };
        let mut live = Live::open(&scenario(&text), &options).unwrap();
        live.send(0, 1, 1_000, None, Time::ZERO, 1).unwrap();
        live.send(0, 2, 1_000, None, Time::ZERO, 2).unwrap();
        let failed: Vec<u64> =
            drain(&mut live).iter().filter(|one| one.what == What::Failed).map(|one| one.token).collect();
        assert_eq!((failed, live.counts()), (vec![1], (2, 2)), "kept: {kept}");
    }
}

#[test]
fn a_saved_run_goes_on() {
    for (text, kept) in [(BUSY.to_owned(), false), (format!("{STAR}{RECOVERY}"), true)] {
        let options = LiveOptions { keep_connections: kept, seed: Some(3), ..LiveOptions::default() };
        let mut live = Live::open(&scenario(&text), &options).unwrap();
        for number in 0..60 {
            live.send(number % 4, (number + 1) % 4, 9_000, None, Time::us(number.into()), number.into()).unwrap();
        }
        live.timer(Time::us(70), 100).unwrap();
        live.step(Time::us(33)).unwrap();
        let saved = live.save().unwrap();
        let mut resumed = Live::resume(&scenario(&text), &options, &saved).unwrap();
        assert_eq!((resumed.now(), resumed.counts()), (live.now(), live.counts()));
        for run in [&mut live, &mut resumed] {
            run.send(0, 3, 5_000, None, Time::us(1), 101).unwrap();
        }
        assert_eq!(drain(&mut live), drain(&mut resumed));
        assert_eq!(live.fingerprint(), resumed.fingerprint());
        let other = LiveOptions { seed: Some(4), ..options.clone() };
        let error = Live::resume(&scenario(&text), &other, &saved).err().unwrap();
        assert!(error.reason.contains("other choices"), "{error}");
        assert!(Live::resume(&scenario(&text), &options, &saved[..saved.len() / 2]).is_err());
        assert!(Live::resume(&scenario(&text), &options, b"").is_err());
    }
}

fn reason(result: Result<impl Sized, ScenarioError>) -> String {
    let error = result.err().expect("an error");
    assert!(error.hint.is_some(), "{error}");
    error.reason
}

#[test]
fn misuse_is_an_error() {
    let mut live = Live::open(&scenario(STAR), &LiveOptions::default()).unwrap();
    assert_eq!(reason(live.send(4, 1, 10, None, Time::ZERO, 0)), "there is no host 4");
    assert_eq!(reason(live.send(1, u32::MAX, 10, None, Time::ZERO, 0)), "there is no host 4294967295");
    assert_eq!(reason(live.send(1, 1, 10, None, Time::ZERO, 0)), "host 1 sends to itself");
    assert_eq!(reason(live.send(0, 1, 10, Some(8), Time::ZERO, 0)), "there is no such class");
    for bytes in [0, (1 << 60) + 1, u64::MAX] {
        assert_eq!(reason(live.send(0, 1, bytes, None, Time::ZERO, 0)), "a message has 1 B to 2^60 B");
    }
    assert!(reason(live.send(0, 1, 10, None, Time::NEVER, 0)).contains("last time"));
    live.step(Time::us(5)).unwrap();
    assert_eq!(reason(live.timer(Time::us(4), 0)), "4 us has passed, it is 5 us");
    assert_eq!(reason(live.step(Time::us(4)).map(|_| ())), "4 us has passed, it is 5 us");
    assert_eq!(live.counts(), (0, 0));
    live.close().unwrap();
    assert!(live.send(0, 1, 10, None, Time::ZERO, 0).is_err() && live.step(Time::NEVER).is_err());
    assert!(live.timer(Time::ms(1), 0).is_err() && live.save().is_err() && live.close().is_ok());
}

#[test]
fn the_end_of_a_scenario_is_an_error_afterwards() {
    let mut live = Live::open(&scenario(&format!("{STAR}[stop]\nat = \"10 us\"\n")), &LiveOptions::default()).unwrap();
    live.send(0, 1, 1_000_000, None, Time::ZERO, 1).unwrap();
    assert_eq!(live.step(Time::NEVER).unwrap(), []);
    assert_eq!(live.now(), Time::us(10));
    assert_eq!(reason(live.step(Time::NEVER).map(|_| ())), "the run has ended at 10 us");
    let kept = LiveOptions { keep_connections: true, ..LiveOptions::default() };
    assert!(reason(Live::open(&scenario(STAR), &kept)).contains("need a recovery"));
}

#[test]
fn a_directory_is_not_replaced() {
    let options = LiveOptions { directory: Some(directory("twice")), ..LiveOptions::default() };
    Live::open(&scenario(STAR), &options).unwrap().close().unwrap();
    assert!(reason(Live::open(&scenario(STAR), &options)).contains("cannot be written"));
    let mut live =
        Live::open(&scenario(STAR), &LiveOptions { directory: Some(directory("third")), ..options }).unwrap();
    assert!(live.save().is_err());
    live.close().unwrap();
}
