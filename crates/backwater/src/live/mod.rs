//! A run that belongs to its caller: he sends messages while it is in progress, sets timers, and learns of every moment in its order.
//!
//! ```
//! use backwater::{Live, LiveOptions, Scenario, What};
//! use backwater::prelude::*;
//!
//! let scenario = Scenario::from_text(
//!     r#"
//!     [topology]
//!     kind = "star"
//!     hosts = 3
//!     rate = "100 Gb/s"
//!     link_delay = "500 ns"
//!     "#,
//!     "star.toml",
//!     ".".as_ref(),
//! )?;
//! let mut live = Live::open(&scenario, &LiveOptions::default())?;
//! live.send(0, 2, 1_000_000, None, Time::ZERO, 7)?;
//! let mut times = Vec::new();
//! loop {
//!     let occurred = live.step(Time::NEVER)?;
//!     if occurred.is_empty() {
//!         break;
//!     }
//!     times.extend(occurred.iter().map(|one| (one.what, one.token, one.at)));
//! }
//! // 1 MB at 100 Gb/s takes 80 us, and its headers a little more.
//! assert!(matches!(times[..], [(What::Delivered, 7, last), (What::Acknowledged, 7, ack)] if last > Time::us(80) && last < ack));
//! # Ok::<(), ScenarioError>(())
//! ```
//!
//! Time passes only in [`Live::step`], which returns all that occurs at the next instant. Answers to it may start at that very instant.
//! The same messages give the same picoseconds, and the run equals that of a scenario with these flows
//! ([`LiveOptions::directory`] writes it).

mod directory;
mod saved;

use crate::build::{allowed, build};
use crate::check::Checked;
use crate::error::ScenarioError;
use crate::inputs::OfCaller;
use crate::scenario::Scenario;
use backwater_engine::Time;
use backwater_mech::registry::Config;
use backwater_mech::stage;
use backwater_net::Parallel;
use backwater_net::packet::{CLASSES, Class, HostId, NodeId, Port};
use backwater_net::record::{Broken, PortRow, Progress, Row, Rows, Sink};
use backwater_net::topology::Graph;
use backwater_net::workload::Moment;
use backwater_net::workload::caller::{Halt, Message, Told, Wanted};
use directory::Directory;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Events between two returns of [`Live::advance`].
const BUDGET: u64 = 1 << 16;

/// Largest message \[bytes\]: offsets of its packets are far from the end of 64 bits.
pub const LARGEST_MESSAGE: u64 = 1 << 60;

/// The choices of a run that belongs to its caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveOptions {
    /// Seed of all random streams; `None`: the scenario's.
    pub seed: Option<u64>,
    /// Label of the group of the messages, by which mechanisms may be confined to it.
    pub label: String,
    /// True if all messages from one host to another follow each other on one connection, which needs `transport.recovery`; its class
    /// is that of its first message. False: each has a connection of its own.
    pub keep_connections: bool,
    /// Tell when the sender's interface has taken the last byte of a message: the sender may use its memory again. Its last packet is on
    /// the wire then, unless a pause stops it or another frame has the turn.
    pub sent: bool,
    /// Tell when the last byte of a message has arrived.
    pub delivered: bool,
    /// Tell when the last acknowledgement of a message has arrived.
    pub acknowledged: bool,
    /// Keep the rows of [`Live::rows`]. False: no memory is used for a message that has ended.
    pub rows: bool,
    /// Write the run into this directory as a scenario with a table of its messages, to be run again with all results. `None`: nowhere.
    pub directory: Option<PathBuf>,
}

impl Default for LiveOptions {
    fn default() -> LiveOptions {
        LiveOptions {
            seed: None,
            label: "messages".into(),
            keep_connections: false,
            sent: false,
            delivered: true,
            acknowledged: true,
            rows: false,
            directory: None,
        }
    }
}

/// A moment of a message, or a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum What {
    /// The sender's interface has taken the message's last byte.
    Sent,
    /// Its last byte has arrived.
    Delivered,
    /// Its last acknowledgement has arrived; without acknowledgements, its last byte.
    Acknowledged,
    /// Its sender has given up (`transport.retries`).
    Failed,
    /// A timer is due.
    Timer,
}

/// Something that has occurred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Occurred {
    /// When: [`Live::now`] of the step that returned it.
    pub at: Time,
    /// The caller's name for the message or timer.
    pub token: u64,
    /// The moment.
    pub what: What,
}

/// How far [`Live::advance`] has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advanced {
    /// To an instant at which something has occurred.
    Occurred,
    /// To the requested time, or nothing happens any more until the caller sends.
    Done,
    /// The budget is used up; call it again.
    More,
}

/// A run that belongs to its caller.
pub struct Live {
    network: Parallel<Config>,
    checked: Checked,
    options: LiveOptions,
    seed: u64,
    groups: Vec<String>,
    now: Time,
    /// Tokens of timers, by time and the order of setting.
    timers: BTreeMap<(Time, u64), u64>,
    timers_set: u64,
    told: Vec<Told>,
    occurred: Vec<Occurred>,
    /// Classes that a message may have, as far as known.
    classes: BTreeMap<u8, Result<(), ScenarioError>>,
    rows: Rows,
    directory: Option<Directory>,
    /// Why it has ended, if it has.
    over: Option<ScenarioError>,
}

/// Takes rows that nobody reads.
pub struct Nowhere;

impl Sink for Nowhere {
    fn row(&mut self, _: Row<'_>) {}
}

impl Live {
    /// Checks a scenario and builds its network, at time 0. It may have flows and jobs of its own, and may have none.
    ///
    /// # Errors
    /// Errors of [`Scenario::check`] and [`crate::build`], or of the options.
    pub fn open(scenario: &Scenario, options: &LiveOptions) -> Result<Live, ScenarioError> {
        let wanted = Wanted { sent: options.sent, delivered: options.delivered, acknowledged: options.acknowledged };
        let of = OfCaller { label: options.label.clone(), kept: options.keep_connections, wanted };
        let checked = scenario.with_caller(of).check()?;
        let file = &checked.resolved().file;
        if options.keep_connections && !(file.transport.retransmits() && file.ack.enabled) {
            let error =
                checked.resolved().error("transport.recovery", "connections that outlive a message need a recovery");
            return Err(error
                .hint("transport.recovery = \"go-back-n\" and ack.enabled = true, or a connection for each message"));
        }
        if file.stop.when.is_some() {
            let error = checked.resolved().error("stop.when", "the run belongs to a caller, who decides when it ends");
            return Err(error.hint("leave it out"));
        }
        let seed = options.seed.unwrap_or_else(|| checked.resolved().seed());
        let spec = build(&checked, seed)?;
        let groups = spec.groups.clone();
        let mut first = Some(spec);
        let mut make = || first.take().ok_or_else(|| "a run of a caller has one thread".to_owned());
        let network = stage::build_parallel(1, &mut make).map_err(ScenarioError::new)?;
        let directory =
            options.directory.as_deref().map(|at| Directory::begin(at, &checked, seed, options)).transpose()?;
        Ok(Live {
            network,
            checked,
            options: options.clone(),
            seed,
            groups,
            now: Time::ZERO,
            timers: BTreeMap::new(),
            timers_set: 0,
            told: Vec::new(),
            occurred: Vec::new(),
            classes: BTreeMap::new(),
            rows: Rows::default(),
            directory,
            over: None,
        })
    }

    /// Number of hosts; they are numbered from 0.
    pub fn hosts(&self) -> u32 {
        self.checked.layout().index.hosts()
    }

    /// The number of a host by its name, or by a number in digits; `None`: no host has this name.
    pub fn host(&self, name: &str) -> Option<u32> {
        self.checked.layout().index.host(name).map(|host| host.0)
    }

    /// Nodes and links; a port's number is that of a link at its node.
    pub fn graph(&self) -> &Graph {
        &self.checked.layout().graph
    }

    /// Returns whether it has ended: at the scenario's `stop.at`, by a broken promise, or by [`Live::close`].
    pub fn is_over(&self) -> bool {
        self.over.is_some()
    }

    /// The time of the last step.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Messages sent so far, and those of them that have ended: acknowledged, or failed.
    pub fn counts(&mut self) -> (u64, u64) {
        let (sent, open) = stage::sent_and_open(&mut self.network);
        (sent, sent - open)
    }

    /// Sends a message of `bytes` from host `src` to host `dst`, `delay` after [`Live::now`]. `class`: of its data, 0 to 7; `None`: 3.
    /// `token`: the caller's name for it, of any meaning. Returns the message's number, from 0.
    ///
    /// Messages that start at one instant start in the order of their numbers.
    ///
    /// # Errors
    /// An unknown host, a class that the scenario does not permit, a size or a time without end, or a run that has ended.
    pub fn send(
        &mut self,
        src: u32,
        dst: u32,
        bytes: u64,
        class: Option<u8>,
        delay: Time,
        token: u64,
    ) -> Result<u64, ScenarioError> {
        self.goes_on()?;
        self.ends(src, dst)?;
        if !(1..=LARGEST_MESSAGE).contains(&bytes) {
            let error = ScenarioError::new("a message has 1 B to 2^60 B").key("bytes").value(bytes.to_string());
            return Err(error.hint("send 1 B for a mere signal, and larger ones in parts"));
        }
        let class = class.unwrap_or(3);
        self.class(class)?;
        let start = self.later(delay, "delay")?;
        let message = Message { src: HostId(src), dst: HostId(dst), bytes, class: Class(class), start, token };
        let number = stage::send(&mut self.network, message).unwrap_or_default();
        if let Some(directory) = &mut self.directory {
            directory.message(number, &message)?;
        }
        Ok(number)
    }

    /// Sets a timer for the time `at`. `token`: the caller's name for it, which may be that of a message.
    ///
    /// # Errors
    /// A time before [`Live::now`], or a run that has ended.
    pub fn timer(&mut self, at: Time, token: u64) -> Result<(), ScenarioError> {
        self.goes_on()?;
        self.has_not_passed(at, "at", "a timer is due now or later")?;
        self.timers.insert((at, self.timers_set), token);
        self.timers_set += 1;
        Ok(())
    }

    /// Runs to the next instant at which something occurs, at most to `until`, and returns all that occurs then: messages by their
    /// numbers, then timers in the order of their setting. Nothing: the time is `until`; or with [`Time::NEVER`], nothing will occur until
    /// the caller sends.
    ///
    /// An answer that starts at this instant may have consequences at this instant, which the next step returns.
    ///
    /// # Errors
    /// A time before [`Live::now`], a broken promise of the scenario (which ends the run), or a run that has ended.
    pub fn step(&mut self, until: Time) -> Result<&[Occurred], ScenarioError> {
        if self.options.rows {
            let mut rows = std::mem::take(&mut self.rows);
            let result = self.step_into(until, &mut rows);
            self.rows = rows;
            result?;
        } else {
            self.step_into(until, &mut Nowhere)?;
        }
        Ok(&self.occurred)
    }

    fn step_into(&mut self, until: Time, sink: &mut dyn Sink) -> Result<(), ScenarioError> {
        while self.advance(until, BUDGET, sink)? == Advanced::More {}
        Ok(())
    }

    /// As [`Live::step`], for callers that take the rows themselves, or must look at something else meanwhile: it handles about `budget`
    /// events, and what has occurred is in [`Live::occurred`].
    ///
    /// # Errors
    /// Those of [`Live::step`].
    pub fn advance(&mut self, until: Time, budget: u64, sink: &mut dyn Sink) -> Result<Advanced, ScenarioError> {
        self.occurred.clear();
        self.goes_on()?;
        self.has_not_passed(until, "until", "time only goes on")?;
        let timer = self.timers.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at);
        let target = until.min(timer);
        match stage::run_for_caller(&mut self.network, target, budget, sink) {
            Err(broken) => return Err(self.has_broken(broken)),
            Ok(Halt::More) => return Ok(Advanced::More),
            Ok(Halt::Told) => {
                stage::take_told(&mut self.network, &mut self.told);
                self.tell();
            }
            Ok(Halt::Ended) => {
                self.now = self.network.now();
                let reason = format!("the run has ended at {}", self.now);
                self.over = Some(ScenarioError::new(reason).hint("stop.at is the scenario's end; leave it out"));
            }
            Ok(Halt::Reached | Halt::Idle) if target == Time::NEVER => {}
            Ok(Halt::Reached | Halt::Idle) => self.now = target,
        }
        while let Some(first) = self.timers.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let ((at, _), token) = first.remove_entry();
            self.occurred.push(Occurred { at, token, what: What::Timer });
        }
        Ok(if self.occurred.is_empty() { Advanced::Done } else { Advanced::Occurred })
    }

    /// Everything that occurred at the end of the last step.
    pub fn occurred(&self) -> &[Occurred] {
        &self.occurred
    }

    fn tell(&mut self) {
        for Told { at, moment, token, .. } in self.told.drain(..) {
            let what = match moment {
                Moment::Sent => What::Sent,
                Moment::LastByte => What::Delivered,
                Moment::LastAck => What::Acknowledged,
                Moment::Failed => What::Failed,
            };
            self.now = at;
            self.occurred.push(Occurred { at, token, what });
        }
    }

    /// The totals of a port of a node until now, by their numbers in [`Live::graph`]; `None`: there is no such port.
    pub fn port(&self, node: u32, port: u16) -> Option<PortRow> {
        stage::port_row(&self.network, NodeId(node), Port(port))
    }

    /// The same of every port, by node and port: both directions of every link.
    pub fn ports(&self) -> impl Iterator<Item = PortRow> + '_ {
        let of_node = move |node: u32| (0..u16::MAX).map_while(move |port| self.port(node, port));
        (0..self.graph().nodes.len() as u32).flat_map(of_node)
    }

    /// Totals of the run so far. It looks at every port.
    pub fn progress(&self) -> Progress {
        self.network.progress()
    }

    /// A hash of all arrivals of frames so far: equal for equal messages.
    pub fn fingerprint(&self) -> u64 {
        self.network.fingerprint()
    }

    /// Rows so far, if [`LiveOptions::rows`] asks for them.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Labels of the groups of flows, by the number in a row.
    pub fn groups(&self) -> &[String] {
        &self.groups
    }

    /// Ends the run: messages in flight stay unfinished. The last rows are in [`Live::rows`].
    ///
    /// # Errors
    /// The directory cannot be written.
    pub fn close(&mut self) -> Result<(), ScenarioError> {
        let mut rows = std::mem::take(&mut self.rows);
        let result = if self.options.rows { self.finish(&mut rows) } else { self.finish(&mut Nowhere) };
        self.rows = rows;
        result
    }

    /// As [`Live::close`], for callers that take the rows themselves.
    ///
    /// # Errors
    /// The directory cannot be written.
    pub fn finish(&mut self, sink: &mut dyn Sink) -> Result<(), ScenarioError> {
        if self.over.is_none() {
            stage::dismiss_caller(&mut self.network);
        }
        self.over = Some(ScenarioError::new("the run is closed"));
        let ended = stage::finish_parallel(&mut self.network, sink).map_err(|broken| called(&broken));
        let written = self.directory.take().map_or(Ok(()), Directory::finish);
        ended.and(written)
    }

    fn goes_on(&self) -> Result<(), ScenarioError> {
        self.over.clone().map_or(Ok(()), Err)
    }

    fn has_broken(&mut self, broken: Broken) -> ScenarioError {
        self.now = self.now.max(broken.time);
        let error = called(&broken);
        self.over = Some(error.clone());
        error
    }

    /// Checks the ends of a message.
    fn ends(&self, src: u32, dst: u32) -> Result<(), ScenarioError> {
        let index = &self.checked.layout().index;
        for (key, host) in [("src", src), ("dst", dst)] {
            if host >= index.hosts() {
                let error = ScenarioError::new(format!("there is no host {host}")).key(key).value(host.to_string());
                return Err(error.hint(format!("hosts are 0 to {}", index.hosts().saturating_sub(1))));
            }
        }
        if src == dst {
            let reason = format!("host {src} sends to itself");
            return Err(ScenarioError::new(reason).key("dst").hint("such a message does not pass the network"));
        }
        if !index.reaches(HostId(src), HostId(dst)) {
            let error = ScenarioError::new(format!("no path leads from host {src} to host {dst}"));
            return Err(error.key("dst").hint("add a link to the topology"));
        }
        Ok(())
    }

    /// Checks a class, once for all its messages.
    fn class(&mut self, class: u8) -> Result<(), ScenarioError> {
        if usize::from(class) >= CLASSES {
            let error = ScenarioError::new("there is no such class").key("class").value(class.to_string());
            return Err(error.hint("classes are 0 to 7"));
        }
        let planned = &self.checked.planned;
        self.classes.entry(class).or_insert_with(|| allowed(planned, BTreeSet::from([class]))).clone()
    }

    /// Checks a time that the caller names.
    fn has_not_passed(&self, at: Time, key: &str, hint: &str) -> Result<(), ScenarioError> {
        if at < self.now {
            let error = ScenarioError::new(format!("{at} has passed, it is {}", self.now)).key(key);
            return Err(error.value(at.to_string()).hint(hint));
        }
        Ok(())
    }

    /// The time after a delay.
    fn later(&self, delay: Time, key: &str) -> Result<Time, ScenarioError> {
        let at = self.now.after(delay);
        if at == Time::NEVER {
            let error = ScenarioError::new("it would start after the last time that there is, 2^64 - 2 ps");
            return Err(error.key(key).hint("2^64 ps are 213 days"));
        }
        Ok(at)
    }
}

fn called(broken: &Broken) -> ScenarioError {
    ScenarioError::new(format!("at {}: {}", broken.time, broken.reason)).hint(broken.hint.clone())
}
