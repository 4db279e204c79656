//! SLEEK's decisions, against recorded events of UEC's program (`traces/README.md`).

use super::MSS;
use crate::nscc::sleek::{Seen, Setting, Sleek};
use crate::recorded::{Table, tables};
use backwater_engine::Time;
use std::collections::{BTreeSet, HashMap};

/// T without trimming: network_rtt of three tiers.
const TARGET: Time = Time(14_022_720);

/// The timeout of the program without trimming.
const TIMEOUT: Time = Time(443_280_000);

type Row = HashMap<String, String>;

fn traces() -> Vec<Vec<Row>> {
    let of = |table: Table| {
        table.rows.iter().map(|fields| table.columns.iter().cloned().zip(fields.clone()).collect()).collect()
    };
    tables("src/recorded/uec/traces/losses", |_| true).into_iter().map(of).collect()
}

fn number(row: &Row, column: &str) -> u64 {
    row[column].parse().unwrap()
}

fn numbers(row: &Row, column: &str) -> BTreeSet<u64> {
    row[column].split(',').filter_map(|number| number.parse().ok()).collect()
}

#[test]
fn sleek_decides_as_the_traces_have_it() {
    let (mut values, mut lost, mut probes, mut held) = (0, 0, 0, 0);
    for trace in traces() {
        let mut sleek = Sleek::new(Setting { mss: MSS, target: TARGET });
        let mut least = TARGET;
        for row in &trace {
            let (now, base_rtt) = (Time(number(row, "t_ps")), Time(number(row, "base_rtt_ps")));
            least = if row["event"] == "A" { base_rtt } else { least };
            match row["event"].as_str() {
                "A" => {
                    let delay = Time(number(row, "delay_ps"));
                    let probe = number(row, "probe");
                    if probe == 1 {
                        let rtt = sleek.rtt_of(probes_of(&trace, now), now).expect("it is the last");
                        assert_eq!(rtt.since(base_rtt), delay, "{row:?}");
                        values += 1;
                    }
                    let seen = Seen {
                        cumulative: number(row, "cum"),
                        beyond: number(row, "ooo"),
                        next: number(row, "next"),
                        has_retransmissions: number(row, "waiting") == 1,
                        unsent: number(row, "unsent") == 1,
                        prompt: probe > 0 && delay < TARGET,
                        cwnd: number(row, "cwnd"),
                        maxwnd: number(row, "maxwnd"),
                        base_rtt,
                    };
                    let moved = numbers(row, "moved");
                    let under_way: BTreeSet<u64> = numbers(row, "under_way").union(&moved).copied().collect();
                    let got = sleek.on_ack(now, &seen, |number| under_way.contains(&number));
                    let got = BTreeSet::from_iter(got);
                    assert_eq!(got, moved, "{row:?}");
                    let due = if sleek.due() == Time::NEVER { 0 } else { sleek.due().0 };
                    let is = [u64::from(sleek.recovers()), sleek.resent(), due];
                    assert_eq!(is, ["recovers", "resent", "due_ps"].map(|column| number(row, column)), "{row:?}");
                    if let Some(until) = sleek.until() {
                        assert_eq!(until, number(row, "until"), "{row:?}");
                        values += 1;
                    }
                    values += 4;
                    lost += moved.len();
                }
                "P" => {
                    assert_eq!(sleek.due(), now, "{row:?}");
                    assert_eq!(sleek.on_timer(now, least), Some(number(row, "cum")));
                    (values, probes) = (values + 2, probes + 1);
                }
                _ => {
                    let (retransmission, since) = (number(row, "waiting") > 0, now - TIMEOUT);
                    let lost = number(row, "recovers") == 0;
                    assert_eq!(sleek.timeout_is_loss(number(row, "cum"), retransmission, since), lost, "{row:?}");
                    (values, held) = (values + 1, held + 1);
                }
            }
        }
    }
    assert_eq!((values, lost, probes, held), (7839, 92, 12, 45));
}

/// Ten packets, the first of which is lost, by hand: five beyond it start a recovery up to the tenth, and the first is retransmitted at
/// once. Timers that expire while answers arrive leave all in flight. That of the first moves the search for losses back to it, and the
/// next answer declares it lost again. When no answer has come since a timer started, the recovery ends, and the packet is lost as without
/// one.
#[test]
fn a_recovery_ends_where_nobody_answers() {
    let mut sleek = Sleek::new(Setting { mss: 1_000, target: Time::us(10) });
    let seen = Seen {
        cumulative: 0,
        beyond: 5,
        next: 10,
        has_retransmissions: false,
        unsent: false,
        prompt: false,
        cwnd: 3_000,
        maxwnd: 100_000,
        base_rtt: Time::us(10),
    };
    let missing = |number: u64| number == 0 || number > 5;
    assert_eq!(sleek.on_ack(Time::us(20), &seen, missing), [0]);
    // Timers of 100 us: for the packets from the seventh on, sent 1 us apart from 6 us on, and for the first, retransmitted at 20 us.
    for timeouts in 0..3 {
        let start = Time::us(100 * timeouts);
        for number in 6..10 {
            assert!(!sleek.timeout_is_loss(number, false, start + Time::us(number)), "{number} after {timeouts}");
        }
        assert!(!sleek.timeout_is_loss(0, true, start + Time::us(20)));
        assert_eq!((sleek.until(), sleek.resent()), (Some(10), 0));
        assert_eq!(sleek.on_ack(start + Time::us(120), &seen, missing), [0]);
    }
    assert!(!sleek.timeout_is_loss(9, false, Time::us(320)), "an answer came as its timer started");
    assert!(sleek.timeout_is_loss(9, false, Time::us(321)));
    assert!(!sleek.recovers());
    assert!(
        sleek.timeout_is_loss(0, true, Time::us(321)) && sleek.timeout_is_loss(8, false, Time::us(300)),
        "and so is each after it"
    );
}

/// The last probe before a time.
fn probes_of(trace: &[Row], now: Time) -> u64 {
    let before = trace.iter().filter(|row| row["event"] == "P" && number(row, "t_ps") < now.0);
    before.map(|row| number(row, "cum")).max().unwrap_or(0)
}
