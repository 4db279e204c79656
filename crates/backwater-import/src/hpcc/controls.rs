//! A configuration as tables of a scenario.
//!
//! docs/modelling/ns-3.md describes what that code does without a key in a configuration: frames, a clock of whole nanoseconds, memory
//! accounts, thresholds.

use super::config::Config;
use super::flow::Row;
use super::ports;
use super::window::{self, Widest};
use crate::error::ImportError;
use crate::graph::{Fabric, Graph};
use crate::note::Notes;
use crate::scenario_writer::ScenarioWriter;
use crate::units::{rate, size, time};
use std::collections::BTreeSet;

/// Octets of headers of a data packet without telemetry: Ethernet as PPP 14, IPv4 20, UDP 8, sequence and priority 6.
const HEADER: u64 = 48;
/// Octets of an acknowledgement: the minimum, and its headers, which telemetry follows.
const ACK: u64 = 60;
const ACK_HEADER: u64 = 46;
/// A round trip whose window in `[dctcp]` is wider than any other.
const LONG_PS: u64 = 1_000_000_000_000;
/// Octets that an egress port holds behind the crossing (the default of `switch.staging`, docs/reference.md).
const STAGING: u64 = 16_000;
/// Octets of a pause frame.
const PAUSE: u64 = 64;
/// That code's unit of time, in ps.
const NANOSECOND: u64 = 1000;

/// The explanation of `base_rtt`.
const LONGEST: &str =
    "The longest round trip as that code has it: both ways' delays, and packets without headers one way.";

/// `CC_MODE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Control {
    Dcqcn,
    Hpcc,
    Timely,
    Dctcp,
    Pint,
    None,
}

impl Control {
    /// Octets that packets and acknowledgements carry for it: `custom-header.cc`, `int-header.cc`. PINT's load takes two, used or not.
    fn telemetry(self) -> u64 {
        match self {
            Control::Hpcc => 5 * 8 + 2,
            Control::Timely => 8,
            Control::Pint => 2,
            _ => 0,
        }
    }

    /// Octets of an acknowledgement.
    fn ack(self) -> u64 {
        ACK.max(ACK_HEADER + self.telemetry())
    }
}

/// Constants of single controls.
const OWN: [(&str, &[Control]); 17] = [
    ("EWMA_GAIN", &[Control::Dcqcn, Control::Dctcp]),
    ("ALPHA_RESUME_INTERVAL", &[Control::Dcqcn]),
    ("RP_TIMER", &[Control::Dcqcn]),
    ("FAST_REACT", &[Control::Hpcc]),
    ("FAST_RECOVERY_TIMES", &[Control::Dcqcn]),
    ("RATE_DECREASE_INTERVAL", &[Control::Dcqcn]),
    ("CLAMP_TARGET_RATE", &[Control::Dcqcn]),
    ("RATE_AI", &[Control::Dcqcn, Control::Hpcc, Control::Pint, Control::Timely]),
    ("RATE_HAI", &[Control::Dcqcn, Control::Timely]),
    ("DCTCP_RATE_AI", &[Control::Dctcp]),
    ("U_TARGET", &[Control::Hpcc, Control::Pint]),
    ("MI_THRESH", &[Control::Hpcc, Control::Pint]),
    ("INT_MULTI", &[Control::Hpcc]),
    ("MULTI_RATE", &[Control::Hpcc]),
    ("SAMPLE_FEEDBACK", &[Control::Hpcc]),
    ("PINT_LOG_BASE", &[Control::Pint]),
    ("PINT_PROB", &[Control::Pint]),
];

/// The traffic: it determines the shortest data packet.
#[derive(Clone, Copy, Debug)]
pub enum Sent<'a> {
    /// These flows.
    Flows(&'a [Row]),
    /// Flows of any size.
    Drawn,
    /// Jobs, whose packets may be headers alone.
    Jobs,
}

impl Sent<'_> {
    /// The least payload of a packet, in octets, if full ones have `full`, which is above 0.
    fn least_payload(self, full: u64) -> u64 {
        match self {
            Sent::Flows(rows) => rows.iter().map(|row| (row.bytes.max(1) - 1) % full + 1).min().unwrap_or(full),
            Sent::Drawn => 1,
            Sent::Jobs => 0,
        }
    }
}

/// The environment of a configuration.
pub struct Setting<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// The network.
    pub graph: &'a Graph,
    /// The names of its nodes.
    pub fabric: &'a Fabric,
    /// The traffic.
    pub sent: Sent<'a>,
    /// The classes of the flows.
    pub classes: &'a BTreeSet<u8>,
    /// Longest time from the first start to the end, in ps.
    pub longest_ps: u64,
}

impl Setting<'_> {
    /// Writes all tables except those of the topology and the flows.
    pub fn write(&self, notes: &mut Notes, writer: &mut ScenarioWriter) -> Result<(), ImportError> {
        let control = self.control(notes)?;
        let config = self.config;
        let payload = u64::from(config.whole("PACKET_PAYLOAD_SIZE", 1000)?);
        if payload == 0 {
            return Err(config.error("PACKET_PAYLOAD_SIZE", "is 0"));
        }
        let frame = payload + HEADER + control.telemetry();
        if frame > STAGING {
            let reason =
                format!("gives frames of {frame} B, of which a port of a switch does not hold one: {STAGING} B");
            return Err(config.error("PACKET_PAYLOAD_SIZE", &reason));
        }
        self.packet(control, payload, notes, writer)?;
        self.acks(control, payload, notes, writer)?;
        self.transport(control, payload, notes, writer)?;
        let ports = ports::ports(self.graph);
        let pauses = !config.is_conweave() || config.flag("ENABLE_PFC", true)?;
        self.switches(&ports, pauses, notes, writer)?;
        let looks = !matches!(control, Control::Hpcc | Control::Timely | Control::Pint);
        self.marks(&ports, looks, notes, writer)?;
        self.sender(control, payload, notes, writer)?;
        self.spread(notes, writer)
    }

    /// Notes a difference from that code.
    pub fn differs(&self, notes: &mut Notes, key: &str, text: impl Into<String>) {
        notes.differs(self.config.file(), self.config.line(key), text);
    }

    fn control(&self, notes: &mut Notes) -> Result<Control, ImportError> {
        Ok(match self.config.whole("CC_MODE", 1)? {
            1 => Control::Dcqcn,
            3 => Control::Hpcc,
            7 => Control::Timely,
            8 => Control::Dctcp,
            10 => Control::Pint,
            mode => {
                let text = format!("CC_MODE {mode} is no control of that code that is known: flows have none");
                self.differs(notes, "CC_MODE", text);
                Control::None
            }
        })
    }

    fn packet(
        &self,
        control: Control,
        payload: u64,
        notes: &mut Notes,
        writer: &mut ScenarioWriter,
    ) -> Result<(), ImportError> {
        let header = HEADER + control.telemetry();
        writer.head("[packet]").key("payload", size(payload));
        if control == Control::Pint {
            writer.remark("`[hpcc]` adds PINT's load, for which that code has 2 B: 50 B in all.");
        }
        writer.key("header", size(header - self.added(control)?)).key("gap", "0 B");
        self.clock(header + self.sent.least_payload(payload), control.ack(), notes, writer);
        Ok(())
    }

    /// `packet.clock`: that code's nanosecond if the shortest frame takes longer on the fastest link, as a scenario's check requires,
    /// otherwise the longest shorter time. `data`, `ack`: octets of the shortest data packet, and of an acknowledgement.
    fn clock(&self, data: u64, ack: u64, notes: &mut Notes, writer: &mut ScenarioWriter) {
        let fastest = self.graph.links.iter().map(|link| link.bps).max().unwrap_or(0).max(1);
        let shortest = data.min(ack).min(PAUSE);
        let longest = ((shortest * 8 * 1_000_000_000_000 - 1) / fastest).max(1);
        if longest >= NANOSECOND {
            writer.key_because("clock", "1 ns", "that code has whole nanoseconds");
            return;
        }
        writer.key_because("clock", time(longest), "the longest in which a frame takes a tick at least");
        let text = format!(
            "that code cuts times off to whole nanoseconds, which at {} would leave nothing of a frame of {shortest} B: here to whole {}",
            rate(fastest),
            time(longest)
        );
        notes.differs(self.config.file(), None, text);
    }

    fn acks(
        &self,
        control: Control,
        payload: u64,
        notes: &mut Notes,
        writer: &mut ScenarioWriter,
    ) -> Result<(), ImportError> {
        let config = self.config;
        writer.head("[ack]").key("size", size(control.ack() - self.added(control)?));
        if config.is_conweave() {
            writer.key_because("class", 7, "before all data, and never paused");
            self.differs(notes, "CC_MODE", "acknowledgements, in a queue outside all accounts there: here in class 7");
        } else if config.flag("ACK_HIGH_PRIO", false)? {
            let text = "ACK_HIGH_PRIO: acknowledgements leave a host there whose data is paused; here they wait";
            self.differs(notes, "ACK_HIGH_PRIO", text);
        }
        // `ReceiverCheckSeq` of `rdma-hw.cc`: after so many octets, and at each multiple of a chunk.
        let interval = u64::from(config.whole("L2_ACK_INTERVAL", 1)?);
        let chunk = u64::from(config.whole("L2_CHUNK_SIZE", 0)?);
        let after = interval.div_ceil(payload).max(1);
        let at = if chunk == 0 { after } else { chunk / gcd(chunk, payload) };
        let every = after.min(at).min(65535);
        if every > 1 {
            writer.number("every", every);
        }
        if interval > payload && !interval.is_multiple_of(payload) {
            let text = format!(
                "L2_ACK_INTERVAL is no multiple of the payload: there an acknowledgement comes for {:.2} packets in the mean",
                interval as f64 / payload as f64
            );
            self.differs(notes, "L2_ACK_INTERVAL", text);
        }
        if let Some(line) = config.line("L2_ACK_INTERVAL").filter(|_| every == 1) {
            let text =
                "L2_ACK_INTERVAL: each packet is acknowledged, as by that code if it is no more than the payload";
            notes.ignored(config.file(), Some(line), text);
        }
        if at >= after {
            if let Some(line) = config.line("L2_CHUNK_SIZE") {
                let text = "L2_CHUNK_SIZE: acknowledgements at its multiples are no more than L2_ACK_INTERVAL asks for; else it counts \
                            where whole chunks are retransmitted";
                notes.ignored(config.file(), Some(line), text);
            }
        } else if !after.is_multiple_of(at) {
            let text = format!(
                "L2_CHUNK_SIZE and L2_ACK_INTERVAL: there each of them asks for acknowledgements, after {at} and after {after} packets; \
                 here every {every} packets"
            );
            self.differs(notes, "L2_CHUNK_SIZE", text);
        } else {
            let text =
                format!("L2_CHUNK_SIZE: that code acknowledges at its multiples, too, which is every {at} packets");
            notes.verdict(config.file(), config.line("L2_CHUNK_SIZE"), text);
        }
        Ok(())
    }

    fn transport(
        &self,
        control: Control,
        payload: u64,
        notes: &mut Notes,
        writer: &mut ScenarioWriter,
    ) -> Result<(), ImportError> {
        let config = self.config;
        writer.head("[transport]");
        if config.flag("ENABLE_IRN", false)? {
            writer.key("recovery", "selective-repeat");
            self.differs(notes, "ENABLE_IRN", "IRN's window of a bandwidth-delay product is HAS_WIN's");
        } else {
            writer.key("recovery", "go-back-n");
        }
        if config.flag("L2_BACK_TO_ZERO", false)? {
            let text = "L2_BACK_TO_ZERO: a flow begins a chunk again there; here it goes back to what is missing";
            self.differs(notes, "L2_BACK_TO_ZERO", text);
        }
        let lossy = config.number("ERROR_RATE_PER_LINK", 0.0)? > 0.0 || self.graph.links.iter().any(|l| l.loss > 0.0);
        if config.is_conweave() {
            writer.key_because("timeout", "4 ms", "as in conweave-ns3");
        } else {
            writer.key_because("timeout", time(self.longest_ps), "that code has no timer: this one does not run out");
            if lossy {
                let text =
                    "losses: there is no timer, as in that code, and a flow whose last packets are lost never ends";
                notes.verdict(config.file(), None, text);
            }
        }
        if lossy {
            writer.key("nack_interval", "500 us");
        }
        let windows = config.flag("HAS_WIN", true)?;
        if !windows {
            for key in ["GLOBAL_T", "VAR_WIN"] {
                if let Some(line) = config.line(key) {
                    notes.ignored(config.file(), Some(line), format!("{key}: HAS_WIN is 0, so there is no window"));
                }
            }
        }
        // The window of `[hpcc]` is part of it.
        if matches!(control, Control::Hpcc | Control::Pint) {
            return self.own_window(control, windows, notes);
        }
        // So is that of `[dctcp]`, if it is the same.
        if control == Control::Dctcp && self.scales_alike(payload)? {
            return Ok(());
        }
        if windows {
            if config.flag("GLOBAL_T", true)? {
                let widest = window::widest(self.graph, payload);
                writer.remark("GLOBAL_T: the largest bandwidth-delay product of two hosts, for all flows.");
                writer.key("window", size(widest.bytes.max(payload)));
            } else {
                writer.key("window", "bdp");
                let text = "GLOBAL_T 0: headers and acknowledgements count in a round trip here, and not there";
                self.differs(notes, "GLOBAL_T", text);
            }
            if config.flag("VAR_WIN", false)? {
                writer.key("window_scaling", true);
            }
        }
        Ok(())
    }

    /// Notes if the window of `[hpcc]`, its rate times `base_rtt`, differs from that of a configuration.
    fn own_window(&self, control: Control, windows: bool, notes: &mut Notes) -> Result<(), ImportError> {
        if !windows {
            let text = if control == Control::Hpcc {
                "HAS_WIN 0: HPCC divides by the window there and stays at its least rate; here it has its window"
            } else {
                "HAS_WIN 0: HPCC-PINT has no window there; here it has that of its rate"
            };
            self.differs(notes, "HAS_WIN", text);
        } else if !self.config.flag("VAR_WIN", false)? {
            self.differs(notes, "VAR_WIN", "VAR_WIN 0: a window stays as it is there; here it follows the rate");
        }
        if !self.config.flag("GLOBAL_T", true)? {
            let text = "GLOBAL_T 0: two hosts have their own round trip there; here all have the longest";
            self.differs(notes, "GLOBAL_T", text);
        }
        Ok(())
    }

    /// Returns whether the window of every host is the rate times the longest round trip, so that `[dctcp]` yields it by itself.
    fn scales_alike(&self, payload: u64) -> Result<bool, ImportError> {
        let widest = window::widest(self.graph, payload);
        let bits = |bps: u64| u128::from(bps) * u128::from(widest.round_trip_ps) / 1_000_000_000_000;
        let mut hosts = self.graph.links.iter().filter(|link| !self.graph.is_switch(link.ends(self.graph).0));
        let alike = hosts.all(|link| bits(link.bps) / 8 == u128::from(widest.bytes));
        let config = self.config;
        Ok(config.flag("HAS_WIN", true)? && config.flag("GLOBAL_T", true)? && config.flag("VAR_WIN", false)? && alike)
    }

    /// `PINT_LOG_BASE`. Below 1.0002 powers do not fit the 16 bits of that code.
    fn log_base(&self) -> Result<f64, ImportError> {
        let base = self.config.number("PINT_LOG_BASE", 1.05)?;
        if (1.0002..=2.0).contains(&base) {
            Ok(base)
        } else {
            Err(self.config.error("PINT_LOG_BASE", "is not from 1.0002 to 2"))
        }
    }

    /// Octets that `[hpcc]` adds to packets and acknowledgements.
    fn added(&self, control: Control) -> Result<u64, ImportError> {
        match control {
            Control::Hpcc => Ok(control.telemetry()),
            Control::Pint => self.load_octets(),
            _ => Ok(0),
        }
    }

    /// Octets of a load of PINT: loads are powers of the base up to 512 x 512.
    fn load_octets(&self) -> Result<u64, ImportError> {
        let most = f64::from(512 * 512).ln() / self.log_base()?.ln();
        Ok(if most.log2().ceil() > 8.0 { 2 } else { 1 })
    }

    /// `EWMA_GAIN`.
    fn gain(&self, notes: &mut Notes) -> Result<f64, ImportError> {
        if self.config.word("EWMA_GAIN").is_none() {
            let text = "EWMA_GAIN is missing: there 1/16 is divided in whole numbers, and is 0; here it is 1/16";
            self.differs(notes, "EWMA_GAIN", text);
        }
        self.config.share("EWMA_GAIN", 0.0625)
    }

    /// The table of the control.
    fn sender(
        &self,
        control: Control,
        payload: u64,
        notes: &mut Notes,
        writer: &mut ScenarioWriter,
    ) -> Result<(), ImportError> {
        let config = self.config;
        let needed = |key: &str, power: i32| {
            let time = config.time(key, power)?.filter(|ps| *ps > 0);
            time.ok_or_else(|| config.error(key, "is missing or 0"))
        };
        match control {
            Control::Dcqcn => {
                writer.head("[dcqcn]").key("law", "ns3");
                writer.key("g", self.gain(notes)?);
                writer.key("alpha_timer", time(config.time("ALPHA_RESUME_INTERVAL", 6)?.unwrap_or(55_000_000).max(1)));
                writer.key("rate_timer", time(needed("RP_TIMER", 6)?));
                writer.key("f", config.whole("FAST_RECOVERY_TIMES", 5)?);
                writer.key("rai", rate(config.rate("RATE_AI")?)).key("rhai", rate(config.rate("RATE_HAI")?));
                writer.key("min_rate", self.least()?);
                writer.key("clamp_target", config.flag("CLAMP_TARGET_RATE", false)?);
                let interval = config.time("RATE_DECREASE_INTERVAL", 6)?.unwrap_or(4_000_000).max(1);
                writer.key("decrease_interval", time(interval));
            }
            Control::Hpcc | Control::Pint => self.hpcc(control, payload, notes, writer)?,
            Control::Timely => {
                let (delta, hai) = (config.growth("RATE_AI")?, config.rate("RATE_HAI")?);
                if hai < delta {
                    let reason = format!("is below RATE_AI, which is {}", rate(delta));
                    return Err(config.error("RATE_HAI", &reason));
                }
                writer.head("[timely]").key("delta", rate(delta)).key("hai", rate(hai)).key("hai_after", 5);
                writer.key("hai_counts", "increases").key("event", "round-trip").key("min_rate", self.least()?);
            }
            Control::Dctcp => self.dctcp(payload, notes, writer)?,
            Control::None => {}
        }
        for (key, controls) in OWN {
            if let Some(line) = config.line(key).filter(|_| !controls.contains(&control)) {
                let text = "constants of other controls than that of CC_MODE, as there";
                notes.unread(config.file(), Some(line), key, text);
            }
        }
        if !config.flag("RATE_BOUND", true)? {
            self.differs(notes, "RATE_BOUND", "RATE_BOUND 0: here packets are paced at their flow's rate");
        }
        Ok(())
    }

    /// `[hpcc]`, with INT or PINT.
    fn hpcc(
        &self,
        control: Control,
        payload: u64,
        notes: &mut Notes,
        writer: &mut ScenarioWriter,
    ) -> Result<(), ImportError> {
        let config = self.config;
        let Widest { round_trip_ps, .. } = window::widest(self.graph, payload);
        writer.head("[hpcc]");
        if control == Control::Pint {
            writer.key("telemetry", "pint").key("pint_base", self.log_base()?);
        }
        writer.remark(LONGEST);
        writer.key("base_rtt", time(round_trip_ps.max(1))).key("eta", config.share("U_TARGET", 0.95)?);
        writer.key("max_stage", config.whole("MI_THRESH", 5)?).key("r_ai", rate(config.growth("RATE_AI")?));
        writer.key("min_rate", self.least()?);
        if control == Control::Pint {
            // Senders read nothing else: FAST_REACT, MULTI_RATE and SAMPLE_FEEDBACK belong to INT.
            let share = config.number("PINT_PROB", 1.0)?;
            if share < 1.0 {
                let text =
                    format!("PINT_PROB: senders take loads of a share of {share} of their packets there; here of all");
                self.differs(notes, "PINT_PROB", text);
            }
            return Ok(());
        }
        let multi = config.whole("INT_MULTI", 1)?;
        if !(1..=1000).contains(&multi) {
            return Err(config.error("INT_MULTI", "is not from 1 to 1000"));
        }
        writer.key_because("int_multi", multi, "records count in so many times 128 B, and queues in 80 B");
        for (key, default, neutral, text) in [
            ("FAST_REACT", true, true, "FAST_REACT 0: here a rate follows every acknowledgement"),
            (
                "MULTI_RATE",
                true,
                false,
                "MULTI_RATE, which is 1 if absent: here a flow has one rate, not one for each hop",
            ),
            ("SAMPLE_FEEDBACK", false, false, "SAMPLE_FEEDBACK: here every acknowledgement counts"),
        ] {
            if config.flag(key, default)? != neutral {
                self.differs(notes, key, text);
            }
        }
        Ok(())
    }

    /// `[dctcp]` with the law of that code. `RATE_AI` is not part of it.
    fn dctcp(&self, payload: u64, notes: &mut Notes, writer: &mut ScenarioWriter) -> Result<(), ImportError> {
        writer.head("[dctcp]").key("law", "ns3").key("g", self.gain(notes)?);
        if self.scales_alike(payload)? {
            writer.remark(LONGEST);
            writer.key("base_rtt", time(window::widest(self.graph, payload).round_trip_ps.max(1)));
        } else {
            writer.remark(
                "A window is that of `[transport]`, or there is none: the law's own would be narrower than there.",
            );
            writer.key("base_rtt", time(LONG_PS));
        }
        writer.key("r_ai", rate(self.rate_or("DCTCP_RATE_AI", 1_000_000_000)?));
        writer.key("min_rate", self.least()?);
        Ok(())
    }

    /// Writes how flows spread over equal paths.
    fn spread(&self, notes: &mut Notes, writer: &mut ScenarioWriter) -> Result<(), ImportError> {
        match self.config.whole("LB_MODE", 0)? {
            0 => {}
            6 => {
                writer.head("[flowlet]");
                self.differs(notes, "LB_MODE", "LetFlow: a burst takes the least-loaded way here, a random one there");
            }
            2 => {
                writer.head("[spray]");
                self.differs(notes, "LB_MODE", "DRILL: packets are sprayed at random here, to the shorter queue there");
            }
            mode @ (3 | 9) => {
                let name = if mode == 3 { "CONGA" } else { "ConWeave" };
                self.differs(notes, "LB_MODE", format!("{name} is not modelled: flows keep one way, by ECMP"));
            }
            _ => {
                let error = self.config.error("LB_MODE", "is no way to balance load that is known");
                return Err(error.hint("0 ECMP, 2 DRILL, 3 CONGA, 6 LetFlow, 9 ConWeave"));
            }
        }
        Ok(())
    }

    fn rate_or(&self, key: &str, default: u64) -> Result<u64, ImportError> {
        if self.config.word(key).is_some() { self.config.rate(key) } else { Ok(default) }
    }

    fn least(&self) -> Result<String, ImportError> {
        Ok(rate(self.rate_or("MIN_RATE", 100_000_000)?.max(1)))
    }
}

/// The greatest common divisor of two numbers, at least one of them above 0.
fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
