//! A configuration as tables of a scenario.
//!
//! What that code does without saying so in a configuration is in docs/modelling/ns-3.md: frames, a clock of whole nanoseconds, memory
//! accounts, thresholds.

use super::config::Config;
use super::ports;
use super::window::{self, Widest};
use crate::error::ImportError;
use crate::graph::{Fabric, Graph};
use crate::note::Notes;
use crate::page::Page;
use crate::units::{rate, size, time};
use std::collections::BTreeSet;

/// Octets of headers of a data packet without telemetry: Ethernet as PPP 14, IPv4 20, UDP 8, sequence and priority 6.
const HEADER: u64 = 48;
/// Octets of an acknowledgement.
const ACK: u64 = 60;
/// What HPCC's telemetry adds to packets and acknowledgements; the table `[hpcc]` adds it by itself.
const INT: u64 = 42;
/// Octets of a pause frame.
const PAUSE: u64 = 64;

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

/// Constants of single controls.
const OWN: [(&str, &[Control]); 13] = [
    ("EWMA_GAIN", &[Control::Dcqcn, Control::Dctcp]),
    ("ALPHA_RESUME_INTERVAL", &[Control::Dcqcn]),
    ("RP_TIMER", &[Control::Dcqcn]),
    ("FAST_RECOVERY_TIMES", &[Control::Dcqcn]),
    ("RATE_DECREASE_INTERVAL", &[Control::Dcqcn]),
    ("CLAMP_TARGET_RATE", &[Control::Dcqcn]),
    ("RATE_AI", &[Control::Dcqcn, Control::Hpcc, Control::Pint, Control::Timely]),
    ("RATE_HAI", &[Control::Dcqcn, Control::Timely]),
    ("DCTCP_RATE_AI", &[Control::Dctcp]),
    ("U_TARGET", &[Control::Hpcc, Control::Pint]),
    ("MI_THRESH", &[Control::Hpcc, Control::Pint]),
    ("MULTI_RATE", &[Control::Hpcc, Control::Pint]),
    ("SAMPLE_FEEDBACK", &[Control::Hpcc, Control::Pint]),
];

/// What a configuration is written for.
pub struct Setting<'a> {
    /// It.
    pub config: &'a Config,
    /// The network.
    pub graph: &'a Graph,
    /// What its nodes are called.
    pub fabric: &'a Fabric,
    /// The classes of the flows.
    pub classes: &'a BTreeSet<u8>,
}

impl Setting<'_> {
    /// Writes all tables but those of the topology and the flows.
    pub fn write(&self, notes: &mut Notes, page: &mut Page) -> Result<(), ImportError> {
        let control = self.control(notes)?;
        let config = self.config;
        let payload = u64::from(config.whole("PACKET_PAYLOAD_SIZE", 1000)?);
        if payload == 0 {
            return Err(config.error("PACKET_PAYLOAD_SIZE", "is 0"));
        }
        self.packet(control, payload, notes, page);
        self.acks(control, payload, notes, page)?;
        self.transport(control, payload, notes, page)?;
        let ports = ports::ports(self.graph);
        let pauses = !config.is_conweave() || config.flag("ENABLE_PFC", true)?;
        self.switches(&ports, pauses, notes, page)?;
        let looks = !matches!(control, Control::Hpcc | Control::Timely | Control::Pint);
        self.marks(&ports, looks, notes, page)?;
        self.sender(control, payload, notes, page)?;
        self.spread(notes, page)
    }

    /// Says that something is not quite as it is there.
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

    fn packet(&self, control: Control, payload: u64, notes: &mut Notes, page: &mut Page) {
        let telemetry = match control {
            Control::Timely => 8,
            Control::Pint => 2,
            _ => 0,
        };
        page.head("[packet]").key("payload", size(payload));
        if control == Control::Pint {
            page.remark("`[hpcc]` adds 42 B of telemetry; with PINT's 2 B a header has 50 B in all.");
            page.key("header", size(HEADER + 2 - INT));
        } else {
            page.key("header", size(HEADER + telemetry));
        }
        page.key("gap", "0 B");
        // Nothing on the wire may take less than a tick: neither a header alone nor, with HPCC's telemetry in it, a pause frame.
        let fastest = self.graph.links.iter().map(|link| link.bps).max().unwrap_or(0);
        let shortest = if control == Control::Hpcc { PAUSE } else { HEADER + telemetry };
        if fastest < shortest * 8 * 1_000_000_000 {
            page.key_because("clock", "1 ns", "that code has whole nanoseconds");
        } else {
            let text = format!(
                "that code cuts times off to whole nanoseconds, which at {} would leave nothing of a short frame: here times are \
                 exact",
                rate(fastest)
            );
            notes.differs(self.config.file(), None, text);
        }
    }

    fn acks(&self, control: Control, payload: u64, notes: &mut Notes, page: &mut Page) -> Result<(), ImportError> {
        let config = self.config;
        let ack = match control {
            Control::Hpcc => 46,
            Control::Pint => ACK - INT,
            _ => ACK,
        };
        page.head("[ack]").key("size", size(ack));
        if config.is_conweave() {
            page.key_because("class", 7, "before all data, and never paused");
            self.differs(notes, "CC_MODE", "acknowledgements, in a queue outside all accounts there: here in class 7");
        } else if config.flag("ACK_HIGH_PRIO", false)? {
            let text = "ACK_HIGH_PRIO: acknowledgements leave a host there whose data is paused; here they wait";
            self.differs(notes, "ACK_HIGH_PRIO", text);
        }
        let interval = u64::from(config.whole("L2_ACK_INTERVAL", 1)?);
        if interval > payload {
            page.number("every", interval.div_ceil(payload).min(65535));
        }
        Ok(())
    }

    fn transport(&self, control: Control, payload: u64, notes: &mut Notes, page: &mut Page) -> Result<(), ImportError> {
        let config = self.config;
        page.head("[transport]");
        if config.flag("ENABLE_IRN", false)? {
            page.key("recovery", "selective-repeat");
            self.differs(notes, "ENABLE_IRN", "IRN's window of a bandwidth-delay product is HAS_WIN's");
        } else {
            page.key("recovery", "go-back-n");
        }
        if config.flag("L2_BACK_TO_ZERO", false)? {
            let text = "L2_BACK_TO_ZERO: a flow begins a chunk again there; here it goes back to what is missing";
            self.differs(notes, "L2_BACK_TO_ZERO", text);
        }
        let lossy = config.number("ERROR_RATE_PER_LINK", 0.0)? > 0.0 || self.graph.links.iter().any(|l| l.loss > 0.0);
        if lossy {
            page.key("nack_interval", "500 us");
            let text =
                "losses: that code has no timeout, and a flow whose last packets are lost never ends; here it has one";
            notes.differs(config.file(), None, text);
        }
        let windows = config.flag("HAS_WIN", true)?;
        // The window of `[hpcc]` is its own.
        if matches!(control, Control::Hpcc | Control::Pint) {
            if !windows {
                let text =
                    "HAS_WIN 0: HPCC divides by the window there and stays at its least rate; here it has its window";
                self.differs(notes, "HAS_WIN", text);
            }
            return Ok(());
        }
        if windows {
            if config.flag("GLOBAL_T", true)? {
                let widest = window::widest(self.graph, payload);
                page.remark("GLOBAL_T: the largest bandwidth-delay product of two hosts, for all flows.");
                page.key("window", size(widest.bytes.max(payload)));
            } else {
                page.key("window", "bdp");
                let text = "GLOBAL_T 0: headers and acknowledgements count in a round trip here, and not there";
                self.differs(notes, "GLOBAL_T", text);
            }
            if config.flag("VAR_WIN", false)? {
                page.key("window_scaling", true);
            }
        }
        Ok(())
    }

    /// The table of the control.
    fn sender(&self, control: Control, payload: u64, notes: &mut Notes, page: &mut Page) -> Result<(), ImportError> {
        let config = self.config;
        let needed = |key: &str, power: i32| {
            let time = config.time(key, power)?.filter(|ps| *ps > 0);
            time.ok_or_else(|| config.error(key, "is missing or 0"))
        };
        match control {
            Control::Dcqcn => {
                page.head("[dcqcn]").key("law", "ns3");
                page.key("g", config.number("EWMA_GAIN", 0.0625)?);
                page.key("alpha_timer", time(config.time("ALPHA_RESUME_INTERVAL", 6)?.unwrap_or(55_000_000).max(1)));
                page.key("rate_timer", time(needed("RP_TIMER", 6)?));
                page.key("f", config.whole("FAST_RECOVERY_TIMES", 5)?);
                page.key("rai", rate(config.rate("RATE_AI")?)).key("rhai", rate(config.rate("RATE_HAI")?));
                page.key("min_rate", self.least()?);
                page.key("clamp_target", config.flag("CLAMP_TARGET_RATE", false)?);
                let interval = config.time("RATE_DECREASE_INTERVAL", 6)?.unwrap_or(4_000_000).max(1);
                page.key("decrease_interval", time(interval));
            }
            Control::Hpcc | Control::Pint => {
                let Widest { round_trip_ps, .. } = window::widest(self.graph, payload);
                page.head("[hpcc]");
                page.remark("The longest round trip as that code has it: both ways' delays, and packets without headers one way.");
                page.key("base_rtt", time(round_trip_ps.max(1))).key("eta", config.number("U_TARGET", 0.95)?);
                page.key("max_stage", config.whole("MI_THRESH", 5)?).key("r_ai", rate(config.rate("RATE_AI")?));
                page.key("min_rate", self.least()?);
                if control == Control::Pint {
                    self.differs(notes, "CC_MODE", "HPCC-PINT: packets carry the exact telemetry of HPCC here");
                }
                for (key, neutral, text) in [
                    ("FAST_REACT", true, "FAST_REACT 0: here a rate follows every acknowledgement"),
                    ("MULTI_RATE", false, "MULTI_RATE: here a flow has one rate, not one for each hop"),
                    ("SAMPLE_FEEDBACK", false, "SAMPLE_FEEDBACK: here every acknowledgement counts"),
                ] {
                    if config.flag(key, neutral)? != neutral {
                        self.differs(notes, key, text);
                    }
                }
            }
            Control::Timely => {
                page.head("[timely]").key("delta", rate(config.rate("RATE_AI")?));
                page.key("hai", rate(config.rate("RATE_HAI")?)).key("hai_after", 5);
                page.key("hai_counts", "increases").key("event", "round-trip").key("min_rate", self.least()?);
            }
            Control::Dctcp => {
                page.head("[dctcp]").key("g", config.number("EWMA_GAIN", 0.0625)?);
                let widest = window::widest(self.graph, payload);
                let packets = (widest.bytes / payload).clamp(2, 1_000_000);
                page.key_because("initial_window", packets as i64, "flows begin with all of their window there");
                let text = "DCTCP sets a rate there, which grows by DCTCP_RATE_AI; here it is TCP's window of RFC 8257";
                self.differs(notes, "CC_MODE", text);
            }
            Control::None => {}
        }
        for (key, controls) in OWN {
            if let Some(line) = config.line(key).filter(|_| !controls.contains(&control)) {
                let text = "constants of other controls than that of CC_MODE, as there";
                notes.ignored(config.file(), Some(line), text);
            }
        }
        if !config.flag("RATE_BOUND", true)? {
            self.differs(notes, "RATE_BOUND", "RATE_BOUND 0: here packets are paced at their flow's rate");
        }
        Ok(())
    }

    /// How flows spread over equal ways.
    fn spread(&self, notes: &mut Notes, page: &mut Page) -> Result<(), ImportError> {
        match self.config.whole("LB_MODE", 0)? {
            0 => {}
            6 => {
                page.head("[flowlet]");
                self.differs(notes, "LB_MODE", "LetFlow: a burst takes the least-loaded way here, a random one there");
            }
            2 => {
                page.head("[spray]");
                self.differs(notes, "LB_MODE", "DRILL: packets are sprayed at random here, to the shorter queue there");
            }
            mode => {
                let name = if mode == 3 { "CONGA" } else { "ConWeave" };
                self.differs(notes, "LB_MODE", format!("{name} is not modelled: flows keep one way, by ECMP"));
            }
        }
        Ok(())
    }

    fn least(&self) -> Result<String, ImportError> {
        match self.config.word("MIN_RATE") {
            Some(_) => Ok(rate(self.config.rate("MIN_RATE")?.max(1))),
            None => Ok(rate(100_000_000)),
        }
    }
}
