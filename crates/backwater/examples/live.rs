//! The cost of a message that a caller sends while a run is in progress, beside its packets: the processor time of such a run less that
//! of the same flows as a scenario. And the memory of such a run, which does not grow with the number of messages.
//!
//! ```sh
//! cargo run --release --example live -- 200000
//! ```

use backwater::{Live, LiveOptions, Scenario, ScenarioError, TableFlow};
use backwater_engine::Time;
use std::fs;
use std::sync::Arc;
use std::time::Instant;

const SCENARIO: &str = r#"
[topology]
kind = "leaf-spine"
leaves = 8
spines = 4
hosts_per_leaf = 16
rate = "400 Gb/s"
link_delay = "500 ns"
[switch]
buffer_per = "none"
"#;

/// \[s\] of processor time that this process has used; on other systems than Linux, of wall time
fn used(since: Instant) -> f64 {
    let stat = fs::read_to_string("/proc/self/schedstat").ok();
    let nanoseconds = stat.and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
    nanoseconds.map_or(since.elapsed().as_secs_f64(), |n| n as f64 / 1e9)
}

/// \[MB\] of memory that this process has had at most, on Linux
fn peak() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<f64>().ok()? * 1_024.0 / 1e6)
}

/// Sender, receiver and start of a message: one packet each, every 10 ns.
fn message(number: u64) -> (u32, u32, Time) {
    let src = (number * 37 % 128) as u32;
    (src, (src + 1 + (number * 13 % 127) as u32) % 128, Time::ns(10 * number))
}

fn main() -> Result<(), ScenarioError> {
    let messages: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(200_000);
    let scenario = Scenario::from_text(SCENARIO, "live.toml", ".".as_ref())?;
    let since = Instant::now();
    // What the first check of a process prepares is not part of a message.
    scenario.check()?;

    let before = used(since);
    let mut live = Live::open(&scenario, &LiveOptions { seed: Some(1), ..LiveOptions::default() })?;
    for number in 0..messages {
        let (src, dst, start) = message(number);
        while live.now() < start {
            live.step(start)?;
        }
        live.send(src, dst, 4_000, None, Time::ZERO, number)?;
    }
    while !live.step(Time::NEVER)?.is_empty() {}
    let of_live = used(since) - before;

    if let Some(megabytes) = peak() {
        println!("{megabytes:.1} MB at most, with {messages} messages");
    }

    let row = |id: u64| {
        let (src, dst, start) = message(id);
        TableFlow { id, src, dst, bytes: 4_000, start, class: Some(3), path: None, ack_path: None, link: None }
    };
    let flows: Arc<[TableFlow]> = (0..messages).map(row).collect();
    let before = used(since);
    let table = scenario.with_flows("messages", flows).run(1)?;
    let of_table = used(since) - before;

    assert_eq!(live.fingerprint(), table.fingerprint(), "it is the same run");
    let each = |seconds: f64| seconds / messages as f64 * 1e6;
    println!(
        "{messages} messages, us of processor time for each: {:.2} live, {:.2} as a table",
        each(of_live),
        each(of_table)
    );
    println!("{:.2} us for a message beside its packets", each(of_live - of_table));
    Ok(())
}
