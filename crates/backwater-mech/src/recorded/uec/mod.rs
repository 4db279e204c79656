//! The arithmetic of UEC's controls against recorded events of its program, value by value (`uec/traces/README.md`).

use super::{Table, tables};
use crate::ev::values::{Bitmap, Feedback, Mixed, Oblivious, Reps};
use crate::nscc::window::{Accumulator, Acked, Setting, Timed, Trimmed, Variant, Window};
use crate::rccc::credit::{Credit, Sent};
use crate::rccc::pacer::Pacer;
use backwater_engine::{Time, rng};
use backwater_net::Rate;
use std::collections::{HashSet, VecDeque};

mod losses;

const MTU: u64 = 4150;
const MSS: u64 = 4086;
/// The base of pull counts.
const BASE: u64 = 100_000_000;

/// A line of a trace.
struct Line {
    event: char,
    now: Time,
    fields: Vec<String>,
}

impl Line {
    fn number(&self, column: &str) -> u64 {
        self.signed(column) as u64
    }
    fn signed(&self, column: &str) -> i64 {
        const COLUMNS: [&str; 19] = [
            "event",
            "t_ps",
            "cum_or_target",
            "psn",
            "ref",
            "bitmap_hex",
            "ev",
            "flag",
            "raw_rtt_ps",
            "delay_ps",
            "bytes",
            "in_flight",
            "cwnd",
            "maxwnd",
            "base_rtt_ps",
            "avg_delay_ps",
            "inc",
            "credit",
            "extra",
        ];
        let at = COLUMNS.iter().position(|name| *name == column).expect("a column");
        self.fields[at].parse().expect("a number")
    }
    fn is_set(&self, column: &str) -> bool {
        self.number(column) == 1
    }
}

/// A recorded sender.
struct Trace {
    name: String,
    head: String,
    lines: Vec<Line>,
}

impl Trace {
    fn rate(&self) -> Rate {
        Rate::gbps(if self.head.contains("-linkspeed 400000") { 400 } else { 100 })
    }
    fn network_rtt(&self) -> Time {
        let (_, reported) = self.head.rsplit_once("network_rtt ").expect("it is said");
        Time(reported.trim_end_matches(" ps").parse().expect("a number"))
    }
    fn has(&self, flag: &str) -> bool {
        self.head.split([' ', ';']).any(|word| word == flag)
    }
    fn gives_credit(&self) -> bool {
        self.has("-receiver_cc") || self.has("-receiver_cc_only")
    }
}

fn traces() -> Vec<Trace> {
    let line = |fields: Vec<String>| Line {
        event: fields[0].chars().next().unwrap(),
        now: Time(fields[1].parse().unwrap()),
        fields,
    };
    let of = |Table { name, head, rows, .. }: Table| Trace { name, head, lines: rows.into_iter().map(line).collect() };
    tables("src/recorded/uec/traces", |_| true).into_iter().map(of).collect()
}

/// Compares a trace with computed values: counts values, and shows the first that is off.
#[derive(Default)]
struct Held {
    values: u64,
    off: Vec<String>,
}

impl Held {
    fn compare<const N: usize>(&mut self, place: &str, line: &Line, got: [i64; N], columns: [&str; N]) {
        for (got, column) in got.into_iter().zip(columns) {
            self.values += 1;
            if got != line.signed(column) {
                self.off.push(format!("{place}: {column} {got}: {}", line.fields.join(" ")));
            }
        }
    }
}

#[test]
fn nscc_has_the_windows_of_the_traces() {
    let mut held = Held::default();
    let mut used = 0;
    for trace in traces().iter().filter(|trace| !trace.has("-receiver_cc_only")) {
        used += 1;
        let rtt = trace.network_rtt();
        let target = if trace.has("-disable_trim") { rtt } else { Time(rtt.0 * 3 / 4) };
        let setting = Setting {
            rate: trace.rate(),
            mtu: MTU,
            mss: MSS,
            network_rtt: rtt,
            target,
            receiver_credit: trace.gives_credit(),
            accumulator: Accumulator::Exact,
            variant: Variant::Htsim,
        };
        let (mut window, mut sent) = (Window::new(setting, None), HashSet::new());
        for line in &trace.lines {
            let psn = line.number("psn");
            let raw = Time(line.number("raw_rtt_ps"));
            let (bytes, in_flight) = (line.number("bytes"), line.number("in_flight"));
            match line.event {
                'S' => {
                    sent.insert(psn);
                }
                'A' => {
                    let rtt = (raw > Time::ZERO).then_some(raw);
                    let of = if sent.contains(&psn) { Timed::Data } else { Timed::Control };
                    let marked = line.is_set("flag");
                    window.on_ack(line.now, &Acked { rtt, of, marked, bytes, in_flight });
                }
                'N' => {
                    let last_hop = line.is_set("extra");
                    let trim = Trimmed { rtt: raw, lowers_base: true, bytes, in_flight, last_hop };
                    window.on_trim(line.now, &trim);
                }
                _ => {}
            }
            let is = [window.cwnd(), window.maxwnd(), window.base_rtt().0, window.avg_delay().0, window.increment()];
            let columns = ["cwnd", "maxwnd", "base_rtt_ps", "avg_delay_ps", "inc"];
            held.compare(&trace.name, line, is.map(|n| n as i64), columns);
            if line.event == 'T' {
                window.on_timeout(bytes);
            }
        }
    }
    assert_eq!((used, held.values), (9, 42_920));
    assert!(held.off.is_empty(), "{} off; {}", held.off.len(), held.off[0]);
}

#[test]
fn rccc_has_the_credit_of_the_traces() {
    let (mut held, mut steps) = (Held::default(), 0);
    for trace in traces().iter().filter(|trace| trace.gives_credit()) {
        let windowed = trace.has("-sender_cc");
        let new = trace.lines.iter().filter(|line| line.event == 'S');
        let mut backlog: u64 = new.map(|line| line.number("bytes")).sum();
        let (maxwnd, mut rtx_backlog) = (262_926, 0);
        let (mut credit, mut cwnd) = (Credit::new(MTU, maxwnd, BASE), maxwnd);
        for line in &trace.lines {
            let bytes = line.number("bytes");
            match line.event {
                'S' | 'R' => {
                    steps += 1;
                    let left = if line.event == 'S' { &mut backlog } else { &mut rtx_backlog };
                    *left -= bytes;
                    let cwnd = windowed.then_some(cwnd);
                    let target = credit.on_send(&Sent { bytes, backlog, rtx_backlog, cwnd, waiting: 1 });
                    let is = [target as i64, credit.bytes(), i64::from(credit.speculates())];
                    held.compare(&trace.name, line, is, ["cum_or_target", "credit", "extra"]);
                }
                'A' | 'N' => {
                    held.compare(&trace.name, line, [credit.bytes()], ["credit"]);
                    credit.on_answer();
                    rtx_backlog += if line.event == 'N' { bytes } else { 0 };
                }
                'P' => {
                    steps += 1;
                    credit.on_pull(line.number("cum_or_target"));
                    held.compare(&trace.name, line, [credit.bytes()], ["credit"]);
                }
                _ => {}
            }
            cwnd = line.number("cwnd");
        }
    }
    assert_eq!((steps, held.values), (2118, 5897));
    assert!(held.off.is_empty(), "{} off; {}", held.off.len(), held.off[0]);
}

/// The path of a packet and of a pull through the idle network of three tiers: six links of 1 us at 100 Gb/s, stored and forwarded.
const LINKS: u64 = 6;
const LINK: Time = Time::us(1);

/// Each pull leaves when the pacer decides, with its number. It may wait for one acknowledgement at the interface, 5.12 ns.
#[test]
fn rccc_pulls_as_the_trace_has_it() {
    let trace = traces().into_iter().find(|trace| trace.name.starts_with("one_rccc")).expect("it is there");
    let time = |bytes| trace.rate().time_for(backwater_net::Bytes(bytes));
    let (way, back) = ((time(MTU) + LINK) * LINKS, (time(64) + LINK) * LINKS);
    // Only the last packet is shorter: those before it clear every queue ahead of it.
    let came = |line: &Line| {
        let bytes = line.number("bytes");
        line.now + if bytes == MTU { way } else { way - time(MTU) + time(bytes) }
    };
    let sent = trace.lines.iter().filter(|line| line.event == 'S');
    let mut coming: VecDeque<(Time, u64)> = sent.map(|line| (came(line), line.number("cum_or_target"))).collect();
    let (mut pacer, mut turn) = (Pacer::new(trace.rate(), 262_926, BASE), Time::NEVER);
    let mut pulls = 0;
    for line in trace.lines.iter().filter(|line| line.event == 'P') {
        while let Some(&(now, target)) = coming.front().filter(|(now, _)| *now <= turn) {
            coming.pop_front();
            if pacer.on_target(0, target, false) {
                turn = now;
                break;
            }
        }
        let (now, pull) = (turn, pacer.turn().expect("it has a turn"));
        turn = now + pull.then;
        assert_eq!((pull.number, pull.unasked), (line.number("cum_or_target"), line.is_set("flag")));
        let waited = line.now - (now + back);
        assert!(waited <= time(64), "pull {}: {waited} late", pull.number);
        pulls += 1;
    }
    assert_eq!(pulls, 206);
}

/// Values that came back are reused where the trace reuses them; random values are taken from the trace.
#[test]
fn entropy_values_are_used_again_as_in_the_traces() {
    let mut rng = rng::stream(1, "entropy values", 0);
    let mut used = [0, 0];
    for trace in traces() {
        // A request to send draws a value, too, and has no line.
        let requests = trace.name.starts_with("incast15_both") || trace.name.starts_with("incast15_notrim");
        if trace.has("bitmap") || requests {
            continue;
        }
        let is_reps = trace.has("reps");
        let (mut reps, mut mixed) = (Reps::new(7), Mixed::new(6, &mut rng));
        for line in &trace.lines {
            let value = line.number("ev") as u16;
            match line.event {
                'S' | 'R' => {
                    let again = if is_reps { reps.reuse(line.now) } else { mixed.reuse() };
                    if let Some(again) = again {
                        assert_eq!(again, value, "{}: {}", trace.name, line.fields.join(" "));
                        used[usize::from(is_reps)] += 1;
                    }
                }
                // A packet that was trimmed at the last hop has found its way.
                'A' | 'N' => {
                    let good = !line.is_set("flag") && (line.event == 'A' || line.is_set("extra"));
                    let feedback = if good { Feedback::Good } else { Feedback::Marked };
                    reps.feedback(line.now, value, feedback);
                    mixed.feedback(value, feedback);
                }
                _ => {}
            }
        }
    }
    assert_eq!(used, [785, 406]);
}

/// A pass has each value once, in an order of its own; unused bits stay unchanged.
#[test]
fn an_oblivious_pass_has_each_value_once() {
    let mut rng = rng::stream(1, "entropy values", 1);
    let mut values = Oblivious::new(6, &mut rng);
    let pass = |values: &mut Oblivious, rng: &mut _| -> Vec<u16> { (0..64).map(|_| values.next(rng)).collect() };
    let (first, second) = (pass(&mut values, &mut rng), pass(&mut values, &mut rng));
    assert_ne!(first, second);
    for pass in [&first, &second] {
        let low: HashSet<u16> = pass.iter().map(|value| value & 63).collect();
        assert_eq!(low.len(), 64);
        assert!(pass.iter().all(|value| value >> 6 == first[0] >> 6));
    }
}

/// A trim costs a value four turns. When all have a penalty, one is used all the same, and each packet lowers only the first penalty.
#[test]
fn a_bitmap_passes_over_what_has_a_penalty() {
    let mut rng = rng::stream(1, "entropy values", 2);
    let mut values = Bitmap::new(2, &mut rng);
    let high = values.next(&mut rng) & !3;
    values.feedback(high | 2, Feedback::Trimmed);
    // Each pass of four meets the value once and lowers its penalty: four passes without it, three packets each at least.
    let taken: Vec<u16> = (0..12).map(|_| values.next(&mut rng) & 3).collect();
    assert!(!taken.contains(&2), "{taken:?}");
    let later: Vec<u16> = (0..8).map(|_| values.next(&mut rng) & 3).collect();
    assert!(later.contains(&2), "{later:?}");
    for value in 0..4 {
        values.feedback(value, Feedback::Timeout);
    }
    for _ in 0..4 {
        values.next(&mut rng);
    }
    values.feedback(3, Feedback::Good);
    assert!((0..100).any(|_| values.next(&mut rng) & 3 == 3), "penalties fall by one a packet, and end");
}

/// After a timeout the eight values are cycled for 10 ms, reused or not; then sixteen are drawn, and no value is known.
#[test]
fn reps_freezes_for_ten_milliseconds() {
    let mut reps = Reps::new(7);
    for value in 10..18 {
        reps.feedback(Time::ZERO, value, Feedback::Good);
    }
    assert_eq!(reps.reuse(Time::ZERO), Some(10));
    reps.feedback(Time::us(5), 0, Feedback::Timeout);
    let frozen: Vec<_> = (0..10).map(|_| reps.reuse(Time::us(6)).unwrap()).collect();
    assert_eq!(frozen, [10, 11, 12, 13, 14, 15, 16, 17, 10, 11]);
    let after = Time::us(10_005);
    assert_eq!(reps.reuse(after), None);
    reps.feedback(after, 99, Feedback::Good);
    let drawn = (0..20).find(|_| reps.reuse(after).is_some());
    assert_eq!(drawn, Some(15), "it draws sixteen before it uses one again");
}

/// A receiver serves requesting flows in turns, a pull of 64 quanta each; a small request gets a small pull.
#[test]
fn pulls_go_round() {
    let mut pacer = Pacer::new(Rate::gbps(100), 262_926, BASE);
    assert!(pacer.on_target(1, BASE + 200, false));
    assert!(pacer.on_target(2, BASE + 70, false), "it sleeps until its first turn");
    let quantum = 20_686;
    let turns: Vec<_> = (0..7).map(|_| pacer.turn().unwrap()).collect();
    let gave: Vec<_> = turns.iter().map(|pull| (pull.flow, pull.number - BASE, pull.then.0 / quantum)).collect();
    let asked = [(1, 64, 64), (2, 64, 64), (1, 128, 64), (2, 70, 6), (1, 192, 64), (1, 200, 8)];
    assert_eq!(gave[..6], asked);
    assert!(turns[..6].iter().all(|pull| !pull.unasked));
    assert_eq!((gave[6], turns[6].unasked), ((2, 134, 64), true), "then, unasked, whoever was served first");
    pacer.end(1);
    // Like the other it gets unrequested credit, 262,926 B in quanta of 256 at most, and then it is forgotten.
    let unasked = (0..100).map_while(|_| pacer.turn()).filter(|pull| pull.flow == 1 && pull.unasked).count();
    assert_eq!((unasked, pacer.knows(1), pacer.knows(2)), (17, false, true));
}

/// Pulls of an interface that slows down leave later by the same factor: a quantum of 20.686 ns takes 91.937 ns at 22.5 %, rounded down.
#[test]
fn slowed_pulls_leave_later() {
    let mut pacer = Pacer::new(Rate::gbps(100), 262_926, BASE);
    pacer.on_target(1, BASE + 130, false);
    pacer.slow_to(0.225);
    let turns: Vec<_> = (0..3).map(|_| pacer.turn().unwrap()).map(|pull| (pull.number - BASE, pull.then)).collect();
    assert_eq!(turns, [(64, Time(91_937 * 64)), (128, Time(91_937 * 64)), (130, Time(91_937 * 2))]);
}

/// 1.2 Tb/s, packets of 1000 B, and a base RTT of 10 us: numbers for a calculation by hand.
fn setting(variant: Variant) -> Setting {
    Setting {
        rate: Rate::gbps(1200),
        mtu: 1000,
        mss: 1000,
        network_rtt: Time::us(10),
        target: Time::ns(7500),
        receiver_credit: false,
        accumulator: Accumulator::Exact,
        variant,
    }
}

/// Nine acknowledgements of 1000 B at a window of 1 MB, base RTT 10 us, T 7.5 us, BDP 1.5 MB (a = 10), by hand: proportional increase
/// alpha n (T - d) with alpha = 4 x 1000 x 10 x 0.625 / 7500 ns = 10/3 B/ns, which is 18,333,333.3 each, rounded down at each addition, so
/// that 164,999,997 over the window stay short of 165; fair increase 50,000 n / cwnd; nothing for marks below T.
#[test]
fn nine_acknowledgements_by_hand() {
    let grown = |late: u64, marked: bool| {
        let mut window = Window::new(setting(Variant::Htsim), Some(backwater_net::Bytes(1_000_000)));
        let rtt = Some(Time::us(10 + late));
        let ack = Acked { rtt, of: Timed::Data, marked, bytes: 1000, in_flight: 500_000 };
        (1..=9).for_each(|n| window.on_ack(Time(n), &ack));
        assert_eq!(window.maxwnd(), 2_250_000);
        window.cwnd() as i64 - 1_000_000
    };
    assert_eq!((grown(2, false), grown(15, false), grown(2, true)), (164, 450, 0));
}

/// The same by UEC 1.0.3, where a mean is over the last base RTT: marked and late at an average of 15 us the window is cut to 1 - 0.8 (15 -
/// 7.5)/15 = 0.6. A trim opens the period. After it, with 12 packets achieved, the window becomes these, and marks of the 40 in flight are
/// ignored.
#[test]
fn cuts_by_hand() {
    let late = Acked { rtt: Some(Time::us(25)), of: Timed::Data, marked: true, bytes: 1000, in_flight: 500_000 };
    let mut window = Window::new(setting(Variant::Uec103), Some(backwater_net::Bytes(1_000_000)));
    window.on_ack(Time::us(100), &late);
    assert_eq!(
        (window.avg_delay(), window.cwnd()),
        (Time::us(15), 600_000 + 1_500),
        "and eta, 1500 B, once per round trip"
    );
    // The public program's mean of one sample in eighty is still below T.
    let mut theirs = Window::new(setting(Variant::Htsim), Some(backwater_net::Bytes(1_000_000)));
    theirs.on_ack(Time::us(100), &late);
    assert_eq!((theirs.avg_delay(), theirs.cwnd() >= 1_000_000), (Time(187_500), true));

    let mut window = Window::new(setting(Variant::Uec103), Some(backwater_net::Bytes(1_000_000)));
    let trim = Trimmed { rtt: Time::us(10), lowers_base: true, bytes: 1000, in_flight: 40_000, last_hop: false };
    window.on_trim(Time::us(1), &trim);
    assert_eq!(window.cwnd(), 999_000);
    let clean = Acked { rtt: Some(Time::us(10)), of: Timed::Data, marked: true, bytes: 1000, in_flight: 40_000 };
    (0..12).for_each(|k| window.on_ack(Time::us(2) + Time(k), &clean));
    // The period is over base_rtt + T after the trim.
    window.on_trim(Time::us(1) + Time::ns(17_500), &trim);
    assert_eq!(window.cwnd(), 12_000);
    let marked = Acked { rtt: Some(Time::us(200)), ..clean };
    (0..39).for_each(|k| window.on_ack(Time::us(19) + Time(k), &marked));
    assert_eq!(window.cwnd(), 12_000, "39 of 40 in flight are ignored");
    window.on_ack(Time::us(20), &marked);
    assert_eq!(window.cwnd(), 6_000 + 1_500, "the next is cut by the most, a half");
    // A timeout subtracts the packet, and an answer of unknown round trip leaves the window unchanged.
    window.on_timeout(1000);
    assert_eq!(window.cwnd(), 6_500);
    window.on_ack(Time::us(40), &Acked { rtt: None, marked: false, ..clean });
    assert_eq!(window.cwnd(), 6_500);
}
