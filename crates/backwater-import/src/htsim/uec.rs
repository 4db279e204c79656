//! `htsim_uec`: values that it derives from rate, delays and sizes, and its transport and controls as tables of a scenario.

use super::HEADER;
use super::command::Command;
use super::controls::{Controls, Window};
use super::fabric::Fabric;
use super::values::NAME;
use crate::error::ImportError;
use crate::note::Notes;
use crate::scenario_writer::ScenarioWriter;
use crate::units::{rate, size, time};

/// The values that the program derives before it begins. It uses the hosts' rate for all links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    /// The longest round trip of a full packet and its answer in an empty network: 2 x latency + D x (s + a), in ps, rounded down.
    pub network_rtt_ps: u64,
    /// Bandwidth-delay product in full packets, rounded up.
    pub bdp_packets: u64,
    /// Data of a queue, in octets; headers and control have twice that.
    pub queue: u64,
    /// Thresholds of marks, in octets.
    pub ecn: (u64, u64),
    /// Retransmission timeout: 15 us and the time of six queues, in ps, rounded down.
    pub timeout_ps: u64,
}

/// ps in a second.
const SECOND: u128 = 1_000_000_000_000;

impl Constants {
    /// The constants for a command line on a fabric: `calculate_rtt`, `calculate_bdp_pkt` and the rest of them in `main_uec.cpp`.
    ///
    /// # Errors
    ///
    /// The thresholds do not fit the queue: that program would stop, too.
    pub fn of(fabric: &Fabric, command: &Command) -> Result<Constants, ImportError> {
        let controls = &command.controls;
        let (mtu, rate) = (u128::from(command.uec_mtu()), u128::from(command.linkspeed_bps));
        let links = 2 * fabric.layers.len() as u128;
        let serial = links * (mtu + u128::from(HEADER)) * 8 * SECOND / rate;
        let network_rtt = 2 * u128::from(fabric.one_way_ps()) + serial;
        let bdp_packets = (network_rtt * (rate / 8)).div_ceil(SECOND * mtu);
        let factor = match (controls.queue_factor, controls.trim) {
            (0, true) => 1,
            (0, false) => 5,
            (reported, _) => reported,
        };
        let packets = controls.queue.map_or(bdp_packets * u128::from(factor), u128::from);
        let part = |share: f64| (bdp_packets as f64 * share).ceil() as u64;
        let (low, high) = controls.ecn.unwrap_or_else(|| (part(0.2), part(0.8)));
        if low > high {
            let reason = format!("marks begin at {low} packets, and all are marked from {high} on");
            return Err(ImportError::new(reason).file(NAME).value("-ecn"));
        }
        if u128::from(high) > packets {
            let reason =
                format!("all packets are marked above {high}, and a queue holds {packets}: htsim_uec refuses it");
            return Err(ImportError::new(reason).file(NAME).value("-q").hint("-ecn LOW HIGH gives other thresholds"));
        }
        let queue = packets * mtu;
        let timeout = 15_000_000 + queue * 6 * 8 * SECOND / rate;
        let small = |number: u128, what: &str| {
            u64::try_from(number).map_err(|_| ImportError::new(format!("{what} is out of range")).file(NAME))
        };
        Ok(Constants {
            network_rtt_ps: small(network_rtt, "the round trip")?,
            bdp_packets: small(bdp_packets, "the bandwidth-delay product")?,
            queue: small(queue, "the queue")?,
            ecn: (small(u128::from(low) * mtu, "-ecn")?, small(u128::from(high) * mtu, "-ecn")?),
            timeout_ps: small(timeout, "the timeout")?,
        })
    }
}

/// Class of acknowledgements, credit and trimmed packets: all wait in one queue, which precedes data.
const CONTROL: i64 = 7;

/// Writes the queues of switches into `[switch]`, whose head is written.
pub fn write_queues(command: &Command, constants: &Constants, writer: &mut ScenarioWriter) {
    writer.key("buffer_per", "queue");
    let sizes = (0..8).map(|class| size(if class == CONTROL { 2 * constants.queue } else { constants.queue }));
    writer.key_because("queue_buffers", sizes.collect::<Vec<_>>(), "headers and control have twice that of data");
    if !command.controls.trim {
        writer.key_because("victim", "either", "half of the time the newest packet of a full queue is lost");
    }
    writer.key("release_at", "end");
    write_reference(command, writer);
}

/// A slow link (`-failed`) has a quarter of the queue and of the thresholds. Links with another rate in a topology file do not.
fn write_reference(command: &Command, writer: &mut ScenarioWriter) {
    if command.failed > 0 {
        writer.key_because("reference_rate", rate(command.linkspeed_bps), "slow links have a part");
    }
}

/// Writes the transport, the actions of switches, and the controls.
pub fn write_controls(
    fabric: &Fabric,
    command: &Command,
    constants: &Constants,
    writer: &mut ScenarioWriter,
    notes: &mut Notes,
) {
    let controls = &command.controls;
    writer.head("[ack]").key("size", size(HEADER)).key("bytes", size(command.sack_threshold)).key("class", CONTROL);
    writer.head("[nic]").key_because("control_turns", 10, "where both wait, ten of control and one of data");
    writer.head("[transport]").key("recovery", "rud").key("timeout", time(constants.timeout_ps));
    writer.key("retries", "unlimited");
    if controls.sender && controls.window == Window::Constant && controls.first_window > 0 {
        writer.key("window", size(controls.first_window * (command.uec_mtu() - HEADER)));
    }
    if controls.trim {
        writer
            .head("[trim]")
            .key("size", size(controls.trim_size.unwrap_or(HEADER)))
            .key("class", CONTROL)
            .key("victim", "either");
    }
    let (low, high) = constants.ecn;
    writer.head("[ecn]").key("kmin", size(low)).key("kmax", size(high)).key("pmax", 1.0);
    write_reference(command, writer);
    if controls.receiver {
        writer.key_because("host_ports", false, "the credit of receivers owns the last hop");
    }
    if command.controls.queue.is_some() && command.controls.queue_factor > 0 {
        notes.unread(NAME, None, "-queue_size_bdp_factor", "-q says how many packets a queue holds");
    }
    writer.head("[ev]").number("values", command.paths.unwrap_or(64)).key("policy", controls.balancing.policy());
    writer.key_because("cut_counts_first", false, "what was cut goes again before its answer counts");
    if controls.sender {
        write_window(controls, command, constants, writer, notes);
    }
    if !controls.sender && controls.first_window > 0 {
        let text = format!(
            "-cwnd {}: without NSCC there is no window, and credit does not begin with it",
            controls.first_window
        );
        notes.ignored(NAME, None, text);
    }
    if controls.receiver {
        writer.head("[rccc]").key("network_rtt", time(constants.network_rtt_ps)).key("class", CONTROL);
        let ratio = fabric.oversubscription();
        if !controls.sender && ratio > 1.0 {
            writer.key_because(
                "oversubscription",
                ratio,
                "that program slows pulls down by itself where RCCC is alone",
            );
        }
    }
    if let Some(strategy) = command.strategy.as_deref().filter(|strategy| *strategy != "ecmp_host") {
        notes.differs(NAME, None, format!("-strat {strategy}: switches choose ways by ECMP"));
    }
}

/// The window at the sender.
fn write_window(
    controls: &Controls,
    command: &Command,
    constants: &Constants,
    writer: &mut ScenarioWriter,
    notes: &mut Notes,
) {
    let first = controls.first_window * command.uec_mtu();
    match controls.window {
        Window::Nscc => {
            writer.head("[nscc]").key("network_rtt", time(constants.network_rtt_ps));
            if controls.target_ps > 0 || !controls.trim {
                let target = if controls.target_ps > 0 { controls.target_ps } else { constants.network_rtt_ps };
                writer.key("target", time(target));
            }
            if first > 0 {
                writer.key_because("window", size(first), "-cwnd: at first");
            }
            if !controls.rtt_from_nacks {
                writer.key("base_rtt_from_trims", false);
            }
            if controls.sleek {
                writer.key("sleek", true);
            }
            if controls.receiver {
                writer.key("receiver_credit", true);
            }
        }
        Window::Constant if first > 0 => {
            notes.differs(NAME, None, "-sender_cc_algo constant: the window counts payload, not frames");
        }
        Window::Constant => notes.differs(NAME, None, "-sender_cc_algo constant: without -cwnd there is no window"),
        Window::Dctcp => notes.differs(NAME, None, "-sender_cc_algo dctcp: its own variant is not modelled"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::command::parse;
    use super::*;

    fn constants(nodes: u32, line: &str) -> Result<Constants, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let command = parse(&words, &mut Notes::default()).map_err(|error| error.to_string())?;
        let fabric = Fabric::of_hosts(nodes, &command, "a.cm").map_err(|error| error.to_string())?;
        Constants::of(&fabric, &command).map_err(|error| error.to_string())
    }

    /// 12 us of delay, and over six links 0.332 us of packet and 5.12 ns of answer: 12 + 1.992 + 0.03072 us. In this time 100 Gb/s carry
    /// 175 284 B, 42.24 packets. The queue is 43 packets, 178 450 B, which takes 14.276 us: six and 15 us are 100.656 us.
    #[test]
    fn at_100_gbps_with_three_tiers() {
        let expected = Constants {
            network_rtt_ps: 14_022_720,
            bdp_packets: 43,
            queue: 178_450,
            ecn: (37_350, 145_250),
            timeout_ps: 100_656_000,
        };
        for nodes in [2, 16, 128, 1024] {
            assert_eq!(constants(nodes, "htsim_uec"), Ok(expected), "{nodes}");
        }
    }

    /// 12 us and 2.02272 us at 100 Gb/s, over 2, 4 and 8. At 400 Gb/s there are 625 284 B in it, or 150.67 packets.
    #[test]
    fn at_other_rates() {
        let of = |rate: u32| constants(16, &format!("htsim_uec -linkspeed {rate}"));
        assert_eq!(of(200_000).map(|c| c.network_rtt_ps), Ok(13_011_360));
        assert_eq!(of(400_000).map(|c| (c.network_rtt_ps, c.bdp_packets)), Ok((12_505_680, 151)));
        assert_eq!(of(800_000).map(|c| c.network_rtt_ps), Ok(12_252_840));
    }

    /// Four links: 8 + 1.328 + 0.02048 us, in which 116 856 B fit, 28.16 packets.
    #[test]
    fn with_two_tiers() {
        let c = constants(8, "htsim_uec -tiers 2").expect("constants");
        assert_eq!((c.network_rtt_ps, c.bdp_packets), (9_348_480, 29));
        assert_eq!(c.ecn, (6 * 4150, 24 * 4150));
    }

    /// Five switches of 0.5 us and six links of 0.25 us one way: 8 us there and back.
    #[test]
    fn with_other_delays() {
        let c = constants(16, "htsim_uec -hop_latency 0.25 -switch_latency 0.5").expect("constants");
        assert_eq!(c.network_rtt_ps, 8_000_000 + 2_022_720);
    }

    /// 1564 B on six links: 12 us and 0.750 72 us hold 159 384 B, 106.3 packets of 1500 B.
    #[test]
    fn with_another_packet() {
        let c = constants(16, "htsim_uec -mtu 1500").expect("constants");
        assert_eq!((c.network_rtt_ps, c.bdp_packets, c.queue), (12_750_720, 107, 160_500));
        assert_eq!(c.ecn, (22 * 1500, 86 * 1500));
    }

    /// The thresholds do not follow the queue; without trimming it is five times as long.
    #[test]
    fn queues_of_other_lengths() {
        let deep = constants(16, "htsim_uec -q 500").expect("constants");
        assert_eq!((deep.queue, deep.ecn), (2_075_000, (37_350, 145_250)));
        // 15 us and six times 166 us.
        assert_eq!(deep.timeout_ps, 1_011_000_000);
        assert_eq!(constants(16, "htsim_uec -disable_trim").map(|c| c.queue), Ok(892_250));
        assert_eq!(constants(16, "htsim_uec -queue_size_bdp_factor 2").map(|c| c.queue), Ok(356_900));
        let short = constants(16, "htsim_uec -q 20").expect_err("refused");
        assert!(short.starts_with("--command: `-q`: all packets are marked above 35, and a queue holds 20"), "{short}");
        assert_eq!(constants(16, "htsim_uec -q 20 -ecn 4 16").map(|c| c.ecn), Ok((16_600, 66_400)));
    }
}
