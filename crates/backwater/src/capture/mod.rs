//! Captures: frames that passed some ports of a run, as a pcapng file that Wireshark opens.
//!
//! ```text
//! Network ── FrameRow ──▶ Filter ──▶ Renderer ──▶ in order of time ──▶ pcapng::Writer ──▶ file
//! ```

mod render;
mod select;
mod show;
mod tap;

pub use render::Renderer;
pub use select::{Filter, KINDS, ports};
pub use show::{Shown, Value, show};
pub use tap::Tap;

use crate::error::ScenarioError;
use backwater_engine::Time;
use backwater_mech::registry::Config;
use backwater_net::Bytes;
use backwater_net::packet::{NodeId, Port};
use backwater_net::record::FrameRow;
use backwater_net::spec::Spec;
use backwater_wire::ethernet;
use backwater_wire::pcapng::{Direction, Interface, Writer};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::fmt;
use std::io::{self, Write};

/// The selection of a capture, and its limits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Ports, as [`ports`] reads them.
    pub ports: String,
    /// The selection of frames.
    pub filter: Filter,
    /// Most bytes kept of each frame; at most [`Options::MOST`].
    pub snap: Option<Bytes>,
    /// The file ends before the first frame that would make it longer.
    pub limit: Option<Bytes>,
}

impl Options {
    /// \[bytes\] Most that is kept of a frame: Wireshark refuses longer ones (`WTAP_MAX_PACKET_SIZE_STANDARD`).
    pub const MOST: u64 = 262_144;

    /// Adds a snap length and a bound, as sizes with their unit.
    ///
    /// # Errors
    /// One is no size, or out of range.
    pub fn bounded(self, snap: Option<&str>, limit: Option<&str>) -> Result<Options, ScenarioError> {
        let head = size_of::<ethernet::Layout>() as u64;
        let snap = snap.map(|text| size("capture.snap", text, head, Options::MOST)).transpose()?;
        let limit = limit.map(|text| size("capture.limit", text, 1, u64::MAX)).transpose()?;
        Ok(Options { snap, limit, ..self })
    }

    /// Checks that a bound has room for the beginning of every file, which depends on the number of captured ports, and for a short frame.
    ///
    /// # Errors
    /// It has no room, or the graph is not valid.
    pub fn room(&self, spec: &Spec<Config>, at: &[(NodeId, Port)]) -> Result<(), ScenarioError> {
        let Some(limit) = self.limit else { return Ok(()) };
        let (writer, _) = head(io::sink(), spec, at, self).map_err(|error| ScenarioError::new(error.to_string()))?;
        let least = writer.written() + writer.cost(ethernet::SHORTEST);
        if limit.0 >= least {
            return Ok(());
        }
        let ports = if at.len() == 1 { "1 port".to_owned() } else { format!("{} ports", at.len()) };
        let hint = format!("the names of {ports} and a frame take {least} B; leave it out for no bound");
        let error = ScenarioError::new(format!("`{limit}` has no room for a frame")).key("capture.limit").hint(hint);
        Err(error.value(limit.to_string()))
    }
}

/// A size from `least` to `most`.
fn size(key: &str, text: &str, least: u64, most: u64) -> Result<Bytes, ScenarioError> {
    let (reason, hint) = match text.parse::<Bytes>() {
        Ok(size) if (least..=most).contains(&size.0) => return Ok(size),
        Ok(_) if most == u64::MAX => (format!("`{text}` is no bound"), "leave it out for none".to_owned()),
        Ok(_) => (format!("`{text}` is out of range"), format!("{least} B to {most} B")),
        Err(error) => (error.reason, error.hint),
    };
    let error = ScenarioError::new(reason).key(key).hint(hint);
    Err(error.value(text))
}

/// The counts of a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Interfaces: ports that are captured.
    pub ports: u64,
    /// Frames in the file.
    pub frames: u64,
    /// Frames for which the bound left no room.
    pub left_out: u64,
    /// \[bytes\] Length of the file.
    pub bytes: u64,
}

/// Numbers of interfaces in the file.
type Interfaces = HashMap<(NodeId, Port), u32>;

/// A capture in progress.
pub struct Capture<W: Write> {
    renderer: Renderer,
    writer: Writer<W>,
    interfaces: Interfaces,
    filter: Filter,
    limit: u64,
    /// Most delay of a row after its time stamp: an inbound frame's row comes when the switch's latency has passed.
    lag: Time,
    /// The latest time stamp so far.
    latest: Time,
    waiting: BinaryHeap<Reverse<Waiting>>,
    rows: u64,
    count: Count,
    error: Option<io::Error>,
}

/// A frame that waits for others with earlier time stamps. The order of fields is the order in the file.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    time: Time,
    /// number of the row
    number: u64,
    interface: u32,
    outbound: bool,
    /// the kept part of it
    octets: Vec<u8>,
    length: u32,
}

impl<W: Write> Capture<W> {
    /// Begins a file. Every port of `at`, as from [`ports`], becomes an interface named `node/port`.
    ///
    /// # Errors
    /// Errors of the writer, or of a graph that is not valid.
    pub fn new(to: W, spec: &Spec<Config>, at: &[(NodeId, Port)], options: &Options) -> Result<Capture<W>, NotBegun> {
        let renderer = Renderer::new(&spec.graph, &spec.actors, spec.packet.payload.0, &spec.transport)?;
        let (mut writer, interfaces) = head(to, spec, at, options)?;
        writer.flush()?;
        Ok(Capture {
            renderer,
            interfaces,
            filter: options.filter.clone(),
            limit: options.limit.map_or(u64::MAX, |limit| limit.0),
            lag: spec.switches.iter().map(|switch| switch.latency).max().unwrap_or(Time::ZERO),
            latest: Time::ZERO,
            waiting: BinaryHeap::new(),
            rows: 0,
            count: Count { ports: at.len() as u64, bytes: writer.written(), ..Count::default() },
            error: None,
            writer,
        })
    }

    /// Takes a frame. [`Capture::flush`] reports write errors.
    pub fn frame(&mut self, row: &FrameRow) {
        let Some(interface) = self.interfaces.get(&(row.node, row.port)) else { return };
        if !self.filter.may_take(row) || self.error.is_some() {
            return;
        }
        let mut octets = Vec::new();
        self.renderer.render(row, &mut octets);
        if !self.filter.takes(row, &octets) {
            return;
        }
        let length = octets.len() as u32;
        octets.truncate(self.writer.snap() as usize);
        let (time, outbound, number) = (row.time, row.outbound, self.rows);
        self.waiting.push(Reverse(Waiting { time, number, interface: *interface, outbound, octets, length }));
        self.rows += 1;
        self.latest = self.latest.max(time);
        self.write(self.latest.since(self.lag));
    }

    /// Writes waiting frames that are older than `before`.
    fn write(&mut self, before: Time) {
        while let Some(Reverse(next)) = self.waiting.peek()
            && next.time < before
        {
            let Some(Reverse(frame)) = self.waiting.pop() else { return };
            // A shorter frame that would still fit is left out as well: the file has no gaps.
            let fits = self.writer.written() + self.writer.cost(frame.octets.len()) <= self.limit;
            if !fits || self.count.left_out > 0 {
                self.count.left_out += 1;
                continue;
            }
            let direction = if frame.outbound { Direction::Outbound } else { Direction::Inbound };
            match self.writer.frame(frame.interface, frame.time.as_ps(), direction, &frame.octets, frame.length) {
                Ok(()) => self.count.frames += 1,
                Err(error) => self.error = Some(error),
            }
            self.count.bytes = self.writer.written();
        }
    }

    /// Returns its counts.
    pub fn count(&self) -> Count {
        self.count
    }

    /// Flushes due frames to the file: it is then readable up to there.
    ///
    /// # Errors
    /// The first error of the underlying writer. No frame is written after it.
    pub fn flush(&mut self) -> io::Result<()> {
        self.error.take().map_or_else(|| self.writer.flush(), Err)
    }

    /// Flushes everything: the run has ended.
    ///
    /// # Errors
    /// As [`Capture::flush`].
    pub fn finish(&mut self) -> io::Result<()> {
        self.write(Time::NEVER);
        self.flush()
    }
}

/// Returns the beginning of a file: every captured port as an interface.
fn head<W: Write>(
    to: W,
    spec: &Spec<Config>,
    at: &[(NodeId, Port)],
    options: &Options,
) -> Result<(Writer<W>, Interfaces), NotBegun> {
    let application = concat!("backwater ", env!("CARGO_PKG_VERSION"));
    let snap = options.snap.map_or(Options::MOST, |snap| snap.0) as u32;
    let mut writer = Writer::new(to, snap, application)?;
    let ends = spec.graph.ports()?;
    let mut interfaces = Interfaces::new();
    for (node, port) in at {
        let Some(end) = ends.get(node.0 as usize).and_then(|ports| ports.get(usize::from(port.0))) else {
            continue;
        };
        let name = |node: NodeId| spec.graph.nodes.get(node.0 as usize).map_or("", |node| node.name.as_str());
        let interface = Interface {
            name: &format!("{}/{}", name(*node), port.0),
            description: &format!("to {}/{}", name(end.peer), end.peer_port.0),
            speed: spec.graph.links.get(end.link as usize).map_or(0, |link| link.rate_from(*node).0),
        };
        interfaces.insert((*node, *port), writer.interface(&interface)?);
    }
    Ok((writer, interfaces))
}

/// The reason why a capture could not begin.
#[derive(Debug)]
pub enum NotBegun {
    /// The file cannot be written.
    File(io::Error),
    /// The graph is not valid.
    Graph(String),
}

impl fmt::Display for NotBegun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotBegun::File(error) => error.fmt(f),
            NotBegun::Graph(reason) => reason.fmt(f),
        }
    }
}

impl From<io::Error> for NotBegun {
    fn from(error: io::Error) -> NotBegun {
        NotBegun::File(error)
    }
}

impl From<backwater_net::topology::GraphError> for NotBegun {
    fn from(error: backwater_net::topology::GraphError) -> NotBegun {
        NotBegun::Graph(error.to_string())
    }
}
