//! Time series report the values at the time of the sample, and those of intervals the values within them, to the byte and picosecond.

use backwater::{Scenario, build};
use backwater_mech::stage;
use backwater_net::record::{Row, SeriesRow, Sink};

#[derive(Default)]
struct Rows(Vec<SeriesRow>);

impl Sink for Rows {
    fn row(&mut self, row: Row<'_>) {
        if let Row::Series(row) = row {
            self.0.push(row.clone());
        }
    }
}

impl Rows {
    fn of(text: &str) -> Rows {
        let scenario = Scenario::from_text(text, "test.toml", std::path::Path::new(".")).unwrap();
        let mut network = stage::build(build(&scenario.check().unwrap(), 1).unwrap()).unwrap();
        let mut rows = Rows::default();
        while !stage::run(&mut network, 1 << 16, &mut rows).unwrap().done {}
        rows
    }

    /// (time in ns, value) of a quantity.
    fn quantity(&self, name: &str) -> Vec<(u64, u64)> {
        let wanted = self.0.iter().filter(|row| row.quantity == name);
        wanted.map(|row| (row.time.as_ps() / 1000, row.value)).collect()
    }
}

/// A frame of 1000 B takes 0.8 us on a link; links and the switch add nothing.
const STAR: &str = r#"
[topology]
kind = "star"
hosts = 3
rate = "10 Gb/s"
link_delay = "0 ns"
[packet]
payload = "1000 B"
header = "0 B"
gap = "0 B"
[ack]
enabled = false
[switch]
latency = "0 ns"
[stop]
at = "12 us"
[output]
interval = "4 us"
"#;

/// Frames arrive every 0.8 us from 1.6 us on: four by 4 us, including the one that arrives at 4 us. The fifth frame has been put on the
/// wire at 3.2 us and ends at 4 us; the sixth begins then, before the sample.
#[test]
fn delivered_and_sent_payload_are_those_of_the_sample_s_instant() {
    let flow = "flows = true\n[[flow]]\nfrom = \"h1\"\nto = \"h0\"\nsize = \"11 KB\"\n";
    let rows = Rows::of(&format!("{STAR}{flow}"));
    // The flow has ended at 10.4 us and has no row at 12 us: everything has arrived.
    assert_eq!(rows.quantity("flow_received_bytes"), [(4_000, 4_000), (8_000, 9_000)]);
    assert_eq!(rows.quantity("flow_rate_bps"), [(4_000, 12_000_000_000), (8_000, 10_000_000_000)]);
}

/// Two frames reach the switch together at 0.8 us: 2000 B wait for 0.8 us, then 1000 B for 0.8 us. Over 4 us that is 600 B in
/// the mean, 1 MB² in the mean of the square, and 2.4 us without a byte. Every interval from that on has its rows.
#[test]
fn backlogs_are_weighted_by_time() {
    let flow = "backlogs = true\n[[flow]]\nfrom = [1, 2]\nto = \"h0\"\nsize = \"1 KB\"\n";
    for architecture in ["output-queued", "voq"] {
        let set = format!("[switch]\narchitecture = \"{architecture}\"\nspeedup = 2\n");
        let text = if architecture == "voq" { STAR.replace("[switch]\n", &set) } else { STAR.into() };
        let rows = Rows::of(&format!("{text}{flow}"));
        for (name, first, idle) in [
            ("backlog_max_bytes", 2_000, 0),
            ("backlog_mean_bytes", 600, 0),
            ("backlog_mean_square_bytes2", 1_000_000, 0),
            ("backlog_empty_ps", 2_400_000, 4_000_000),
        ] {
            let expected = [(4_000, first), (8_000, idle), (12_000, idle)];
            assert_eq!(rows.quantity(name), expected, "{architecture} {name}");
        }
    }
}

/// Statistics change nothing.
#[test]
fn backlogs_move_nothing() {
    let flow = "[[flow]]\nfrom = [1, 2]\nto = \"h0\"\nsize = \"1 MB\"\n";
    let run = |output: &str| {
        let text = format!("{}{output}{flow}", STAR.replace("at = \"12 us\"", "at = \"1 ms\""));
        let scenario = Scenario::from_text(&text, "test.toml", std::path::Path::new(".")).unwrap();
        let mut network = stage::build(build(&scenario.check().unwrap(), 1).unwrap()).unwrap();
        while !stage::run(&mut network, 1 << 16, &mut Rows::default()).unwrap().done {}
        network.fingerprint()
    };
    assert_eq!(run("backlogs = true\n"), run(""));
}
