//! The command line of one of htsim's programs, with values that its files do not contain.

use super::controls::Controls;
use super::values::{NAME, link_speed, scaled, whole};
use crate::error::ImportError;
use crate::note::Notes;

/// A program of htsim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// `htsim_uec` of uet-htsim: UEC's transport.
    Uec,
    /// `htsim_roce`: RoCE with PAUSE.
    Roce,
    /// Another one: ndp, eqds, swift, hpcc, tcp.
    Other,
}

/// The options of the command line; missing ones have the program's default.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// The program, if one is named.
    pub program: Option<Program>,
    /// Rate of links, in b/s.
    pub linkspeed_bps: u64,
    /// `-mtu`: for `htsim_uec` a packet with its header, for the others its payload.
    pub mtu: Option<u64>,
    /// Delay of each link, in ps.
    pub hop_latency_ps: u64,
    /// Latency of each switch, in ps.
    pub switch_latency_ps: u64,
    /// Tiers of the fat tree.
    pub tiers: u64,
    /// Low and high threshold of PAUSE, in packets.
    pub pfc: (u64, u64),
    /// Links of aggregation switches upwards that run at a quarter of their rate.
    pub failed: u64,
    /// Octets for which a receiver of `htsim_uec` waits before it acknowledges.
    pub sack_threshold: u64,
    /// How switches choose among paths: `-strat`.
    pub strategy: Option<String>,
    /// Values of entropy.
    pub paths: Option<u64>,
    /// Controls and queues of `htsim_uec`.
    pub controls: Controls,
    /// The given options of [`NETWORK`], each with its value.
    reported: Vec<(&'static str, String)>,
}

impl Command {
    /// Returns whether the program is `htsim_uec`, or not named: that one is in use today.
    pub fn is_uec(&self) -> bool {
        matches!(self.program, None | Some(Program::Uec))
    }

    /// A full packet of `htsim_uec`, with its header, in octets.
    pub fn uec_mtu(&self) -> u64 {
        self.mtu.unwrap_or(4150)
    }

    /// The value of an option of [`NETWORK`], if given.
    pub fn reported(&self, option: &str) -> Option<&str> {
        self.reported.iter().find(|(name, _)| *name == option).map(|(_, value)| value.as_str())
    }

    /// Notes that an option has no effect, if it is given.
    pub fn ignored(&self, option: &str, why: &str, notes: &mut Notes) {
        if let Some(value) = self.reported(option) {
            notes.unread(NAME, None, &format!("{option} {value}"), why);
        }
    }
}

impl Default for Command {
    /// Returns the programs' values without options: `main_uec.cpp`, `main_roce.cpp`, `main.h`.
    fn default() -> Command {
        Command {
            program: None,
            linkspeed_bps: 100_000_000_000,
            mtu: None,
            hop_latency_ps: 1_000_000,
            switch_latency_ps: 0,
            tiers: 3,
            pfc: (12, 15),
            failed: 0,
            sack_threshold: 16384,
            strategy: None,
            paths: None,
            controls: Controls::default(),
            reported: Vec::new(),
        }
    }
}

/// Options for files and the network, which a file or the caller's fabric may also determine.
pub const NETWORK: [&str; 8] =
    ["-topo", "-tm", "-nodes", "-linkspeed", "-hop_latency", "-switch_latency", "-tiers", "-failed"];

/// Options of controls and queues, which [`Controls`] reads for `htsim_uec`; the number of their words, and their effect with another
/// program.
const CONTROLS: [(&str, usize, &str); 15] = [
    ("-q", 1, NO_LIMIT),
    ("-queue_size_bdp_factor", 1, NO_LIMIT),
    ("-ecn", 2, "no control here reacts to marks unless you switch one on"),
    ("-cwnd", 1, "flows here have no window; `transport.window` gives them one"),
    ("-sender_cc_only", 0, OF_UEC),
    ("-receiver_cc_only", 0, OF_UEC),
    ("-sender_cc", 0, OF_UEC),
    ("-receiver_cc", 0, OF_UEC),
    ("-sender_cc_algo", 1, OF_UEC),
    ("-target_q_delay", 1, OF_UEC),
    ("-disable_base_rtt_update_on_nack", 0, OF_UEC),
    ("-sleek", 0, OF_UEC),
    ("-disable_trim", 0, "queues here hold everything: nothing is trimmed or dropped"),
    ("-trimsize", 1, "there is no trimming"),
    ("-load_balancing_algo", 1, OF_UEC),
];

const RESULTS: &str = "results of that program; `backwater run --out` writes its own";
const NO_LIMIT: &str = "queues here hold everything: there is no trimming";
const OF_UEC: &str = "an option of htsim_uec";

/// Options without a counterpart here, the number of their words, and the consequence.
const LOST: [(&str, usize, &str); 24] = [
    ("-conn_reuse", 0, "messages share a connection where the matrix says it"),
    ("-o", 1, RESULTS),
    ("-log", 1, RESULTS),
    ("-logtime", 1, RESULTS),
    ("-logtime_us", 1, RESULTS),
    ("-debug", 0, RESULTS),
    ("-conns", 1, "the matrix says how many connections there are"),
    ("-subflows", 1, "a flow has one connection"),
    ("-end", 1, "a run here ends when its flows are complete; `stop.at` ends it at a time"),
    ("-seed", 1, "random numbers are others here; `backwater run --seed` chooses among them"),
    ("-oversubscribed_cc", 0, "pulls slow down where RCCC is alone and the tiers are oversubscribed, and nowhere else"),
    ("-force_disable_oversubscribed_cc", 0, "rccc.oversubscription = 1 keeps pulls from slowing down"),
    ("-qa_gate", 1, "the gate of quick adapt is an eighth of the greatest window here"),
    ("-Ai", 1, "constants of pulls that slow down are those of the program"),
    ("-Md", 1, "constants of pulls that slow down are those of the program"),
    ("-alpha", 1, "constants of pulls that slow down are those of the program"),
    ("-enable_accurate_base_rtt", 0, "all flows begin with the base round trip of the longest way"),
    ("-pcie", 1, "the bus of the host is not modelled"),
    ("-queue_type", 1, "ports here have a queue for each class"),
    ("-host_queue_type", 1, "hosts here serve their flows in turns"),
    ("-ar_sticky_delta", 1, "adaptive routing is not modelled"),
    ("-ar_granularity", 1, "adaptive routing is not modelled"),
    ("-ar_method", 1, "adaptive routing is not modelled"),
    ("-planes", 1, "one plane is imported"),
];

/// Reads a command line, word by word: a program, perhaps, and its options.
pub fn parse(words: &[String], notes: &mut Notes) -> Result<Command, ImportError> {
    let mut command = Command::default();
    let mut rest = words.iter().map(String::as_str).peekable();
    if let Some(program) = rest.next_if(|word| !word.starts_with('-')) {
        command.program = Some(match program.rsplit('/').next() {
            Some("htsim_uec") => Program::Uec,
            Some("htsim_roce") => Program::Roce,
            Some(name) if name.starts_with("htsim_") => {
                notes.differs(
                    NAME,
                    None,
                    format!("{name}: its transport is not modelled; flows send at the rate of their link"),
                );
                Program::Other
            }
            _ => {
                let hint = "htsim_uec, htsim_roce, or another htsim_ program, with its options behind it";
                return Err(ImportError::new("is no program of htsim").file(NAME).value(program).hint(hint));
            }
        });
    }
    while let Some(option) = rest.next() {
        if let (Some(name), Some(value)) = (NETWORK.iter().find(|name| **name == option), rest.peek()) {
            command.reported.retain(|(other, _)| other != name);
            command.reported.push((name, (*value).to_owned()));
        }
        let mut next =
            || rest.next().ok_or_else(|| ImportError::new("has no value behind it").file(NAME).value(option));
        match option {
            "-linkspeed" => command.linkspeed_bps = link_speed(next()?)?,
            "-mtu" => command.mtu = Some(whole(next()?)?),
            "-hop_latency" => command.hop_latency_ps = scaled(next()?, 1e6)?,
            "-switch_latency" => command.switch_latency_ps = scaled(next()?, 1e6)?,
            "-tiers" => command.tiers = whole(next()?)?,
            "-pfc_thresholds" => command.pfc = (whole(next()?)?, whole(next()?)?),
            "-failed" => command.failed = whole(next()?)?,
            "-sack_threshold" => command.sack_threshold = whole(next()?)?,
            "-strat" => command.strategy = Some(next()?.to_owned()),
            "-paths" => command.paths = Some(whole(next()?)?),
            _ => {
                if command.is_uec() && command.controls.read(option, &mut next)? {
                } else if ["-tm", "-topo", "-nodes"].contains(&option) {
                    next()?;
                } else if let Some((_, more, why)) = LOST.iter().chain(&CONTROLS).find(|(name, ..)| *name == option) {
                    let values = (0..*more).map(|_| next()).collect::<Result<Vec<_>, _>>()?;
                    notes.unread(NAME, None, &[&[option][..], &values].concat().join(" "), *why);
                } else {
                    return Err(ImportError::new("is no option of htsim's programs").file(NAME).value(option));
                }
            }
        }
    }
    if command.tiers != 2 && command.tiers != 3 {
        return Err(ImportError::new("is not 2 or 3 tiers").file(NAME).value(format!("-tiers {}", command.tiers)));
    }
    if command.linkspeed_bps == 0 {
        return Err(ImportError::new("a rate of 0").file(NAME).value("-linkspeed"));
    }
    if command.mtu.is_some_and(|mtu| !(128..=65_536).contains(&mtu)) {
        return Err(ImportError::new("is not from 128 to 65536 octets").file(NAME).value("-mtu"));
    }
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last word counts, as in the program: `-sender_cc_only` removes credit again, `-receiver_cc` adds it.
    #[test]
    fn controls_are_switched_in_the_order_of_the_words() {
        let of = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let controls = parse(&words, &mut Notes::default()).expect("a command").controls;
            (controls.sender, controls.receiver)
        };
        for (line, expected) in [
            ("htsim_uec", (true, false)),
            ("htsim_uec -sender_cc_only", (true, false)),
            ("htsim_uec -receiver_cc_only", (false, true)),
            ("htsim_uec -receiver_cc", (true, true)),
            ("htsim_uec -sender_cc -receiver_cc", (true, true)),
            ("htsim_uec -receiver_cc_only -sender_cc", (true, true)),
            ("htsim_uec -receiver_cc_only -sender_cc_only", (true, false)),
        ] {
            assert_eq!(of(line), expected, "{line}");
        }
    }
}
