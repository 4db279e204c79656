//! A connection matrix, as read by `ConnectionMatrix::load` of csg-htsim (commit 841d9e7) and uet-htsim (40ccb05).
//!
//! ```text
//! file    = { blank | comment | "Nodes" n | "Connections" n | "Triggers" n | "Failures" n } { conn | trig | fail }
//! conn    = src "->" dst { "id" k | "msg" [k] | "start" t | "trigger" k | "size" B | "send_done_trigger" k
//!                        | "recv_done_trigger" k | "prio" p }
//! trig    = "trigger" { "id" k | "oneshot" | "multishot" | "barrier" | "count" n }
//! fail    = "failure" { "switch_type" ("TOR" | "AGG" | "CORE") | "switch_id" n | "link_id" n }
//! comment = "#" …, in the head only; one blank between words, none before the first and after the last
//! ```
//!
//! A connection starts at a time or by a trigger, not by both. Its identity and those of triggers are above 0.

use crate::error::ImportError;
use crate::source::Head;
use std::collections::BTreeMap;

/// The content of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matrix {
    /// Number of hosts.
    pub nodes: u32,
    /// In the order of the file.
    pub connections: Vec<Connection>,
    /// By identity: those that are defined, or only named.
    pub triggers: BTreeMap<u32, Trigger>,
    /// In the order of the file.
    pub failures: Vec<Failure>,
}

/// A flow, or a message of one.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    /// Its line.
    pub line: u64,
    /// Sender.
    pub src: u32,
    /// Receiver.
    pub dst: u32,
    /// Payload in octets, at least 1.
    pub size: u64,
    /// Identity; messages of one connection share it.
    pub id: Option<u32>,
    /// It is a message of its connection, with a number or without.
    pub message: Option<Option<u32>>,
    /// When it starts.
    pub start: Start,
    /// The trigger that its sender's last acknowledgement activates.
    pub send_done: Option<u32>,
    /// The trigger that its last octet at the receiver activates.
    pub recv_done: Option<u32>,
    /// Priority among the sender's flows.
    pub priority: Option<u32>,
}

/// When a connection starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
    /// At a time, whose unit depends on the program.
    At(f64),
    /// When this trigger fires.
    By(u32),
}

/// A trigger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trigger {
    /// The line that defines it; 0 without a definition.
    pub line: u64,
    /// Its condition.
    pub kind: TriggerKind,
}

/// The condition of a trigger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TriggerKind {
    /// It is named but not defined.
    #[default]
    Undefined,
    /// The first activation.
    OneShot,
    /// Every activation.
    MultiShot,
    /// So many activations.
    Barrier(u32),
}

/// A link that fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Its line.
    pub line: u64,
    /// `TOR`, `AGG` or `CORE`.
    pub tier: String,
    /// Number of the switch in its tier.
    pub switch: u32,
    /// Number of the link among the switch's.
    pub link: u32,
}

/// Most hosts.
const MOST_NODES: u32 = 1_000_000;

/// Returns whether a file is a connection matrix: the first line with content counts nodes or connections, and no tier follows.
pub fn recognise(head: &Head) -> bool {
    let lines = head.lines();
    let mut words =
        lines.iter().filter_map(|line| line.split_whitespace().next()).filter(|word| !word.starts_with('#'));
    let first = words.clone().next();
    matches!(first, Some("Nodes" | "Connections")) && words.any(|word| word == "Connections" || word.contains("->"))
}

/// Reads a connection matrix; messages call it `file`.
pub fn parse(file: &str, text: &str) -> Result<Matrix, ImportError> {
    let mut matrix = Matrix::default();
    let mut counts = Counts::default();
    let mut in_head = true;
    let mut last = 0;
    for (number, line) in (1u64..).zip(text.lines()) {
        last = number;
        let line = Line { file, number, text: line };
        let words = line.words()?;
        let Some(first) = words.first().copied() else { continue };
        if in_head && first.starts_with('#') {
            continue;
        }
        if let Some((src, dst)) = first.split_once("->") {
            in_head = false;
            let connection = line.connection(src, dst, &words)?;
            let named = [connection.send_done, connection.recv_done].into_iter().flatten();
            let started = if let Start::By(trigger) = connection.start { Some(trigger) } else { None };
            for trigger in named.chain(started) {
                matrix.triggers.entry(trigger).or_default();
            }
            matrix.connections.push(connection);
        } else if first == "trigger" {
            in_head = false;
            let (id, kind) = line.trigger(&words)?;
            let trigger = matrix.triggers.entry(id).or_default();
            if trigger.kind != TriggerKind::Undefined {
                return Err(line
                    .error(format!("trigger {id} is defined in line {} already", trigger.line))
                    .value(line.text));
            }
            *trigger = Trigger { line: number, kind };
            counts.found[1] += 1;
        } else if first == "failure" {
            in_head = false;
            matrix.failures.push(line.failure(&words)?);
        } else if in_head {
            counts.read(&line, &words)?;
        } else {
            let hint = "a line is `SRC->DST …`, `trigger …` or `failure …`; remarks stand in the head only";
            return Err(line.error("is no line of a connection matrix").value(line.text).hint(hint));
        }
    }
    let end = Line { file, number: last.max(1), text: "" };
    counts.found[0] = matrix.connections.len() as u64;
    counts.found[2] = matrix.failures.len() as u64;
    counts.hold(&end)?;
    matrix.nodes = counts.nodes.ok_or_else(|| end.error("the line `Nodes N` is missing"))?;
    matrix.holds(file)?;
    Ok(matrix)
}

impl Matrix {
    /// Checks what is known only when everything has been read.
    fn holds(&self, file: &str) -> Result<(), ImportError> {
        for connection in &self.connections {
            let line = |reason: String| ImportError::new(reason).file(file).line(connection.line);
            for host in [connection.src, connection.dst] {
                if host >= self.nodes {
                    return Err(
                        line(format!("there is no node {host}")).hint(format!("nodes are 0 to {}", self.nodes - 1))
                    );
                }
            }
            if connection.src == connection.dst {
                return Err(line(format!("node {} sends to itself", connection.src)));
            }
            let triggers = [connection.send_done, connection.recv_done].into_iter().flatten();
            let by = if let Start::By(trigger) = connection.start { Some(trigger) } else { None };
            for trigger in triggers.chain(by) {
                if self.triggers.get(&trigger).is_none_or(|trigger| trigger.kind == TriggerKind::Undefined) {
                    let hint = format!("a line `trigger id {trigger} oneshot`");
                    return Err(line(format!("trigger {trigger} is named and defined nowhere")).hint(hint));
                }
            }
        }
        Ok(())
    }
}

/// The counts in the head, and the actual numbers.
#[derive(Default)]
struct Counts {
    nodes: Option<u32>,
    /// Connections, triggers, failures: the line and the number.
    reported: [Option<(u64, u64)>; 3],
    found: [u64; 3],
}

const COUNTED: [&str; 3] = ["Connections", "Triggers", "Failures"];

impl Counts {
    fn read(&mut self, line: &Line<'_>, words: &[&str]) -> Result<(), ImportError> {
        let [key, value] = words else {
            return Err(line.error("is no line of a head").value(line.text).hint("such as `Nodes 16`"));
        };
        if *key == "Nodes" {
            let nodes: u32 = line.number(value, "a number of nodes")?;
            if nodes == 0 || nodes > MOST_NODES {
                return Err(line.error(format!("is not from 1 to {MOST_NODES} nodes")).value(value));
            }
            self.nodes = Some(nodes);
            return Ok(());
        }
        let Some(which) = COUNTED.iter().position(|known| known == key) else {
            let hint = format!("a head has Nodes, {}", COUNTED.join(", "));
            return Err(line.error("is no line of a head").value(line.text).hint(hint));
        };
        self.reported[which] = Some((line.number, line.number(value, "a number")?));
        Ok(())
    }

    fn hold(&self, end: &Line<'_>) -> Result<(), ImportError> {
        for ((name, reported), found) in COUNTED.iter().zip(self.reported).zip(self.found) {
            // Without a line the program counts zero.
            let (number, reported) = reported.unwrap_or((end.number, 0));
            if reported != found {
                let reason = format!("the head says {reported} {}, and there are {found}", name.to_lowercase());
                let line = Line { number, ..*end };
                return Err(line.error(reason).hint(format!("`{name} {found}`")));
            }
        }
        Ok(())
    }
}

/// A line as it is read.
#[derive(Clone, Copy)]
struct Line<'a> {
    file: &'a str,
    number: u64,
    text: &'a str,
}

impl<'a> Line<'a> {
    fn error(&self, reason: impl Into<String>) -> ImportError {
        ImportError::new(reason).file(self.file).line(self.number)
    }

    /// The words, which single blanks separate.
    fn words(&self) -> Result<Vec<&'a str>, ImportError> {
        let text = self.text.trim_end();
        if text.is_empty() || text.starts_with('#') {
            return Ok(if text.is_empty() { Vec::new() } else { vec![text] });
        }
        if text.contains('\t') {
            return Err(self.error("a tab; the program splits lines at blanks only").value(text));
        }
        let words: Vec<&str> = text.split(' ').collect();
        if words.iter().any(|word| word.is_empty()) {
            return Err(self.error("two blanks in a row, which the program takes for an empty word").value(text));
        }
        Ok(words)
    }

    fn number<N: std::str::FromStr>(&self, word: &str, what: &str) -> Result<N, ImportError> {
        word.parse().map_err(|_| self.error(format!("is not {what}")).value(word))
    }

    /// An identity, which is above 0.
    fn identity(&self, word: &str) -> Result<u32, ImportError> {
        match self.number(word, "an identity from 1 on")? {
            0 => Err(self.error("an identity of 0 is not allowed").value(word)),
            id => Ok(id),
        }
    }

    fn connection(&self, src: &str, dst: &str, words: &[&'a str]) -> Result<Connection, ImportError> {
        let (mut size, mut start, mut by) = (None, None, None);
        let mut connection = Connection {
            line: self.number,
            src: self.number(src, "the number of a node")?,
            dst: self.number(dst, "the number of a node")?,
            size: 0,
            id: None,
            message: None,
            start: Start::At(0.0),
            send_done: None,
            recv_done: None,
            priority: None,
        };
        let mut rest = words.iter().skip(1).copied().peekable();
        while let Some(key) = rest.next() {
            if key == "msg" {
                let number = rest.next_if(|next| next.bytes().all(|b| b.is_ascii_digit()));
                connection.message = Some(number.map(|number| self.identity(number)).transpose()?);
                continue;
            }
            let Some(value) = rest.next() else {
                return Err(self.error("has no value behind it").value(key));
            };
            match key {
                "id" => connection.id = Some(self.identity(value)?),
                "size" => size = Some(self.number::<u64>(value, "a number of octets")?),
                "start" => start = Some(self.time(value)?),
                "trigger" => by = Some(self.identity(value)?),
                "send_done_trigger" => connection.send_done = Some(self.identity(value)?),
                "recv_done_trigger" => connection.recv_done = Some(self.identity(value)?),
                "prio" => connection.priority = Some(self.number(value, "a priority")?),
                _ => {
                    let hint =
                        "a connection has id, msg, start, trigger, size, send_done_trigger, recv_done_trigger, prio";
                    return Err(self.error("is no word of a connection").value(key).hint(hint));
                }
            }
        }
        connection.start = match (start, by) {
            (Some(_), Some(_)) => return Err(self.error("has a start and a trigger").hint("one of them")),
            (Some(start), None) => Start::At(start),
            (None, Some(_)) if connection.id.is_none() => {
                return Err(self.error("waits for a trigger and has no id").hint("`id K` before `trigger`"));
            }
            (None, Some(trigger)) => Start::By(trigger),
            (None, None) => return Err(self.error("has neither a start nor a trigger").hint("such as `start 0`")),
        };
        connection.size = match size {
            Some(0) => return Err(self.error("a size of 0").hint("a flow has at least 1 octet")),
            // The programs store sizes in 32 bits with a sign.
            Some(size) if size > i32::MAX as u64 => {
                let reason = format!("{size} octets are more than the programs can hold, {}", i32::MAX);
                return Err(self.error(reason).hint("several flows"));
            }
            Some(size) => size,
            None => return Err(self.error("has no size").hint("such as `size 2000000`")),
        };
        Ok(connection)
    }

    /// A time; decimals and exponents are accepted.
    fn time(&self, word: &str) -> Result<f64, ImportError> {
        let time: f64 = self.number(word, "a time")?;
        if time.is_finite() && time >= 0.0 { Ok(time) } else { Err(self.error("is not a time from 0 on").value(word)) }
    }

    fn trigger(&self, words: &[&'a str]) -> Result<(u32, TriggerKind), ImportError> {
        let (mut id, mut kind, mut count) = (None, None, None);
        let mut rest = words.iter().skip(1).copied();
        while let Some(key) = rest.next() {
            match key {
                "id" | "count" => {
                    let Some(value) = rest.next() else { return Err(self.error("has no value behind it").value(key)) };
                    *(if key == "id" { &mut id } else { &mut count }) = Some(self.identity(value)?);
                }
                "oneshot" | "multishot" | "barrier" if kind.is_none() => kind = Some(key),
                _ => return Err(self.error("is no word of a trigger").value(key).hint("`trigger id K oneshot`")),
            }
        }
        let id = id.ok_or_else(|| self.error("a trigger without an id").value(self.text))?;
        let kind = match (kind, count) {
            (Some("oneshot"), _) => TriggerKind::OneShot,
            (Some("multishot"), _) => TriggerKind::MultiShot,
            (Some(_), Some(count)) => TriggerKind::Barrier(count),
            (Some(_), None) => return Err(self.error("a barrier without a count").value(self.text)),
            (None, _) => {
                return Err(self
                    .error("a trigger without a kind")
                    .value(self.text)
                    .hint("oneshot, multishot or barrier"));
            }
        };
        Ok((id, kind))
    }

    fn failure(&self, words: &[&'a str]) -> Result<Failure, ImportError> {
        let (mut tier, mut switch, mut link) = (None, None, None);
        for pair in words.get(1..).unwrap_or_default().chunks(2) {
            match pair {
                ["switch_type", name @ ("TOR" | "AGG" | "CORE")] => tier = Some((*name).to_owned()),
                ["switch_id", number] => switch = Some(self.number(number, "the number of a switch")?),
                ["link_id", number] => link = Some(self.number(number, "the number of a link")?),
                _ => {
                    let hint = "`failure switch_type TOR switch_id 0 link_id 0`";
                    return Err(self.error("is no part of a failure").value(pair.join(" ")).hint(hint));
                }
            }
        }
        match (tier, switch, link) {
            (Some(tier), Some(switch), Some(link)) => Ok(Failure { line: self.number, tier, switch, link }),
            _ => Err(self.error("says not which link of which switch").value(self.text)),
        }
    }
}
