//! A configuration: `KEY value…` in any order, as read by `third.cc` of HPCC, `network-load-balance.cc` of conweave-ns3 and `common.h` of
//! SimAI. Those programs skip words that are no key. The last value of a repeated key counts.

use crate::error::ImportError;
use crate::graph::quantity;
use crate::note::Notes;
use crate::source::Head;
use crate::units::MOST_BPS;
use crate::words::Words;
use std::collections::BTreeMap;

/// The words after a key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// So many words.
    Words(usize),
    /// A count, and as many pairs of a rate and a value.
    Map,
}
use Shape::{Map, Words as W};

/// The use of a key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// It is read.
    Read,
    /// It has no effect, for the given reason.
    No(&'static str),
}
use Use::{No, Read};

const RESULTS: Use = No("a file of that program's results: `backwater run --out` writes its own, all of them");
const MONITOR: Use = No("what that program samples: `[output]` says what a run records here");
const TRACE: Use = No("which packets are traced: `backwater run --capture` writes what passes a port");
const UNUSED: Use = No("that program does not use it");
const CONWEAVE: Use = No("the parameters of ConWeave, which is not modelled");

/// All keys of these programs, with their words and uses.
const KEYS: [(&str, Shape, Use); 88] = [
    ("ENABLE_QCN", W(1), Read),
    ("USE_DYNAMIC_PFC_THRESHOLD", W(1), Read),
    ("CLAMP_TARGET_RATE", W(1), Read),
    ("PAUSE_TIME", W(1), No("pauses last until they are lifted, as in that program")),
    ("DATA_RATE", W(1), UNUSED),
    ("LINK_DELAY", W(1), UNUSED),
    ("PACKET_PAYLOAD_SIZE", W(1), Read),
    ("L2_CHUNK_SIZE", W(1), Read),
    ("L2_ACK_INTERVAL", W(1), Read),
    ("L2_BACK_TO_ZERO", W(1), Read),
    ("TOPOLOGY_FILE", W(1), Read),
    ("FLOW_FILE", W(1), Read),
    ("FLOW_INPUT_FILE", W(1), Read),
    ("TRACE_FILE", W(1), TRACE),
    ("TRACE_OUTPUT_FILE", W(1), RESULTS),
    ("SIMULATOR_STOP_TIME", W(1), Read),
    ("ALPHA_RESUME_INTERVAL", W(1), Read),
    ("RP_TIMER", W(1), Read),
    ("EWMA_GAIN", W(1), Read),
    ("FAST_RECOVERY_TIMES", W(1), Read),
    ("RATE_AI", W(1), Read),
    ("RATE_HAI", W(1), Read),
    ("MIN_RATE", W(1), Read),
    ("DCTCP_RATE_AI", W(1), Read),
    ("ERROR_RATE_PER_LINK", W(1), Read),
    ("CC_MODE", W(1), Read),
    ("RATE_DECREASE_INTERVAL", W(1), Read),
    ("FCT_OUTPUT_FILE", W(1), RESULTS),
    ("PFC_OUTPUT_FILE", W(1), RESULTS),
    ("HAS_WIN", W(1), Read),
    ("GLOBAL_T", W(1), Read),
    ("VAR_WIN", W(1), Read),
    ("FAST_REACT", W(1), Read),
    ("U_TARGET", W(1), Read),
    ("MI_THRESH", W(1), Read),
    ("INT_MULTI", W(1), Read),
    ("RATE_BOUND", W(1), Read),
    ("MULTI_RATE", W(1), Read),
    ("SAMPLE_FEEDBACK", W(1), Read),
    ("PINT_LOG_BASE", W(1), Read),
    ("PINT_PROB", W(1), Read),
    ("ACK_HIGH_PRIO", W(1), Read),
    ("LINK_DOWN", W(3), Read),
    ("ENABLE_TRACE", W(1), TRACE),
    ("KMAX_MAP", Map, Read),
    ("KMIN_MAP", Map, Read),
    ("PMAX_MAP", Map, Read),
    ("BUFFER_SIZE", W(1), Read),
    ("QLEN_MON_FILE", W(1), MONITOR),
    ("QLEN_MON_START", W(1), MONITOR),
    ("QLEN_MON_END", W(1), MONITOR),
    ("FLOWGEN_START_TIME", W(1), Read),
    ("FLOWGEN_STOP_TIME", W(1), No("the list of flows says when they end")),
    ("LB_MODE", W(1), Read),
    ("ENABLE_PFC", W(1), Read),
    ("ENABLE_IRN", W(1), Read),
    ("LOAD", W(1), No("it says only how the list of flows was made")),
    ("RANDOM_SEED", W(1), No("`seed` and `--seeds` choose random numbers here")),
    ("CNP_OUTPUT_FILE", W(1), RESULTS),
    ("EST_ERROR_MON_FILE", W(1), MONITOR),
    ("EST_ERROR_OUTPUT_FILE", W(1), MONITOR),
    ("VOQ_MON_FILE", W(1), MONITOR),
    ("VOQ_MON_DETAIL_FILE", W(1), MONITOR),
    ("UPLINK_MON_FILE", W(1), MONITOR),
    ("CONN_MON_FILE", W(1), MONITOR),
    ("SW_MONITORING_INTERVAL", W(1), MONITOR),
    ("CONWEAVE_TX_EXPIRY_TIME", W(1), CONWEAVE),
    ("CONWEAVE_REPLY_TIMEOUT_EXTRA", W(1), CONWEAVE),
    ("CONWEAVE_PATH_PAUSE_TIME", W(1), CONWEAVE),
    ("CONWEAVE_EXTRA_VOQ_FLUSH_TIME", W(1), CONWEAVE),
    ("CONWEAVE_DEFAULT_VOQ_WAITING_TIME", W(1), CONWEAVE),
    // From a patch that measures queues; configurations of published comparisons contain them.
    ("STAT_FILE", W(1), RESULTS),
    ("MON_FILE", W(1), MONITOR),
    ("MON_INTERVAL", W(1), MONITOR),
    ("MON_PORTS", Map, MONITOR),
    ("RATE_FILE", W(1), MONITOR),
    ("CCLOG_FILE", W(2), MONITOR),
    ("PATH_FILE", W(1), RESULTS),
    // From SimAI.
    ("BW_MON_FILE", W(1), MONITOR),
    ("RATE_MON_FILE", W(1), MONITOR),
    ("CNP_MON_FILE", W(1), MONITOR),
    ("MON_START", W(1), MONITOR),
    ("MON_END", W(1), MONITOR),
    ("QP_MON_INTERVAL", W(1), MONITOR),
    ("QLEN_MON_INTERVAL", W(1), MONITOR),
    ("BW_MON_INTERVAL", W(1), MONITOR),
    ("TRACE_NODE", W(1), TRACE),
    ("NIC_TOTAL_PAUSE_TIME", W(1), No("it says how many pauses an interface may count")),
];

/// Keys by which a file is recognised: two of them, each at the beginning of a line.
const TELLING: [&str; 8] = [
    "CC_MODE",
    "TOPOLOGY_FILE",
    "FLOW_FILE",
    "FLOW_INPUT_FILE",
    "ENABLE_QCN",
    "KMAX_MAP",
    "L2_ACK_INTERVAL",
    "HAS_WIN",
];

/// Default of `SIMULATOR_STOP_TIME`, in ps.
const STOP_PS: u64 = 3_010_000_000_000;

/// A configuration.
#[derive(Clone, Debug, Default)]
pub struct Config {
    file: String,
    entries: BTreeMap<&'static str, (u64, Vec<String>)>,
}

/// Returns whether a file is a configuration.
pub fn recognise(head: &Head) -> bool {
    let lines = head.lines();
    let first = |line: &&String| line.split_whitespace().next().is_some_and(|word| TELLING.contains(&word));
    lines.iter().filter(|line| first(line)).count() >= 2
}

/// Reads a configuration; messages call it `file`.
pub fn parse(file: &str, text: &str, notes: &mut Notes) -> Result<Config, ImportError> {
    let mut words = Words::new(file, text);
    let mut config = Config { file: file.to_owned(), entries: BTreeMap::new() };
    while let Some(word) = words.next_word() {
        let Some((key, shape, purpose)) = KEYS.iter().find(|(key, ..)| *key == word.text) else {
            notes.unknown(file, Some(word.line), &shortened(word.text), "no key that is known");
            continue;
        };
        let mut values = Vec::new();
        let count = match shape {
            W(count) => *count,
            Map => words.number::<u32>("a number of rates")? as usize * 2,
        };
        for _ in 0..count {
            values.push(words.word(&format!("a value of {key}"))?.text.to_owned());
        }
        if let No(why) = purpose {
            notes.unread(file, Some(word.line), key, *why);
        } else if let Some((line, _)) = config.entries.insert(key, (word.line, values)) {
            notes.ignored(file, Some(line), format!("{key} stands again in line {}, which counts", word.line));
        }
    }
    Ok(config)
}

fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

impl Config {
    /// Returns its name in messages.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The line of a key.
    pub fn line(&self, key: &str) -> Option<u64> {
        self.entries.get(key).map(|(line, _)| *line)
    }

    /// Ignores a key, if it is present, with a reason.
    pub fn set_aside(&mut self, key: &str, why: &str, notes: &mut Notes) {
        if let Some((line, _)) = self.entries.remove(key) {
            notes.ignored(&self.file, Some(line), format!("{key}: {why}"));
        }
    }

    /// The first word behind a key.
    pub fn word(&self, key: &str) -> Option<&str> {
        self.entries.get(key).and_then(|(_, words)| words.first()).map(String::as_str)
    }

    /// Returns whether it belongs to conweave-ns3.
    pub fn is_conweave(&self) -> bool {
        ["FLOW_INPUT_FILE", "LB_MODE", "ENABLE_IRN", "ENABLE_PFC"].iter().any(|key| self.entries.contains_key(key))
    }

    /// An error about a key.
    pub fn error(&self, key: &str, reason: &str) -> ImportError {
        let error = ImportError::new(format!("{key} {reason}")).file(&self.file);
        let error = match self.entries.get(key) {
            Some((_, words)) => error.value(words.join(" ")),
            None => error,
        };
        match self.line(key) {
            Some(line) => error.line(line),
            None => error,
        }
    }

    fn parsed<T>(&self, key: &str, default: T, what: &str, read: impl Fn(&str) -> Option<T>) -> Result<T, ImportError> {
        match self.word(key) {
            None => Ok(default),
            Some(word) => read(word).ok_or_else(|| self.error(key, &format!("is not {what}"))),
        }
    }

    /// 0 or 1.
    pub fn flag(&self, key: &str, default: bool) -> Result<bool, ImportError> {
        self.parsed(key, default, "0 or 1", |word| word.parse::<u32>().ok().map(|value| value != 0))
    }

    /// A whole number.
    pub fn whole(&self, key: &str, default: u32) -> Result<u32, ImportError> {
        self.parsed(key, default, "a whole number", |word| word.parse().ok())
    }

    /// A number from 0 to 1e9.
    pub fn number(&self, key: &str, default: f64) -> Result<f64, ImportError> {
        let read = |word: &str| word.parse().ok().filter(|value| (0.0..=1e9).contains(value));
        self.parsed(key, default, "a number from 0 to 1e9", read)
    }

    /// A time that is given as a number of 10^`power` ps, in ps; an hour at most.
    pub fn time(&self, key: &str, power: i32) -> Result<Option<u64>, ImportError> {
        let read = |word: &str| quantity::decimal(word, power).filter(|ps| *ps <= 3_600_000_000_000_000).map(Some);
        self.parsed(key, None, "a time up to an hour", read)
    }

    /// `SIMULATOR_STOP_TIME`, in ps. `None`: it is later than an hour, and no bound.
    pub fn stop(&self) -> Result<Option<u64>, ImportError> {
        let read = |word: &str| {
            let bounded = |seconds: f64| seconds <= 3600.0;
            let seconds = word.parse::<f64>().ok().filter(|seconds| *seconds >= 0.0)?;
            Some(quantity::decimal(word, 12).filter(|_| bounded(seconds)))
        };
        self.parsed("SIMULATOR_STOP_TIME", Some(STOP_PS), "a time in seconds", read)
    }

    /// A rate in b/s. It is required.
    pub fn rate(&self, key: &str) -> Result<u64, ImportError> {
        let read = |word: &str| quantity::rate(word).filter(|bps| *bps <= MOST_BPS).map(Some);
        let rate = self.parsed(key, None, "a rate up to 1000 Tb/s, as in 40Mb/s", read)?;
        rate.ok_or_else(|| self.error(key, "is missing"))
    }

    /// A rate increase, in b/s. It is required, and not 0.
    pub fn growth(&self, key: &str) -> Result<u64, ImportError> {
        match self.rate(key)? {
            0 => Err(self.error(key, "is 0: with this control no rate would grow")),
            bps => Ok(bps),
        }
    }

    /// A share above 0 and up to 1.
    pub fn share(&self, key: &str, default: f64) -> Result<f64, ImportError> {
        let read = |word: &str| word.parse().ok().filter(|share| *share > 0.0 && *share <= 1.0);
        self.parsed(key, default, "a number above 0 and up to 1", read)
    }

    /// A value for each rate.
    pub fn map(&self, key: &str) -> Result<BTreeMap<u64, f64>, ImportError> {
        let words = self.entries.get(key).map_or(&[][..], |(_, words)| words);
        let pair = |pair: &[String]| {
            let [rate, value] = pair else { return None };
            let value = value.parse().ok().filter(|value| (0.0..=1e9).contains(value))?;
            Some((quantity::decimal(rate, 0)?, value))
        };
        words.chunks(2).map(pair).collect::<Option<_>>().ok_or_else(|| self.error(key, "has a wrong rate or value"))
    }

    /// `LINK_DOWN`: time in ps after 2 s, and two nodes. Three zeros mean no failure.
    pub fn link_down(&self) -> Result<Option<(u64, u32, u32)>, ImportError> {
        let Some((_, words)) = self.entries.get("LINK_DOWN") else { return Ok(None) };
        let [time, a, b] = words.as_slice() else { return Ok(None) };
        let read = || Some((quantity::decimal(time, 6)?, a.parse().ok()?, b.parse().ok()?));
        match read() {
            None => Err(self.error("LINK_DOWN", "is not a time in us and two nodes")),
            Some((_, 0, 0)) => Ok(None),
            Some(down) => Ok(Some(down)),
        }
    }
}
