//! Captures: what passed some ports of a run, as a pcapng file that Wireshark opens.
//!
//! ```text
//! Network ── FrameRow ──▶ Filter ──▶ Renderer ──▶ pcapng::Writer ──▶ file
//! ```

mod render;
mod select;

pub use render::Renderer;
pub use select::{Filter, Kinds, ports};

use crate::error::ScenarioError;
use backwater_mech::registry::Config;
use backwater_net::packet::{NodeId, Port};
use backwater_net::record::FrameRow;
use backwater_net::spec::Spec;
use backwater_wire::pcapng::{Direction, Interface, Writer};
use std::collections::HashMap;
use std::io::{self, Write};

/// What is captured, and how much of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Ports, as [`ports`] reads them.
    pub ports: String,
    /// Which frames.
    pub filter: Filter,
    /// \[bytes\] Most of each frame that is kept; 0 = all.
    pub snap: u32,
    /// \[bytes\] The file gets no longer; 0 = no bound.
    pub limit: u64,
}

/// How a capture went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Frames in the file.
    pub frames: u64,
    /// Frames that would have made it longer than allowed.
    pub left_out: u64,
    /// \[bytes\] Length of the file.
    pub bytes: u64,
}

/// A capture under way.
pub struct Capture<W: Write> {
    renderer: Renderer,
    writer: Writer<W>,
    interfaces: HashMap<(NodeId, Port), u32>,
    filter: Filter,
    limit: u64,
    count: Count,
    octets: Vec<u8>,
    error: Option<io::Error>,
}

impl<W: Write> Capture<W> {
    /// Begins a file. Every port of `at`, which [`ports`] gives, becomes an interface named `node/port`.
    ///
    /// # Errors
    /// Those of the writer, and of a graph that is not valid.
    pub fn new(
        to: W,
        spec: &Spec<Config>,
        at: &[(NodeId, Port)],
        options: &Options,
    ) -> Result<Capture<W>, ScenarioError> {
        let refused = |error: io::Error| ScenarioError::new(format!("the capture cannot be written: {error}"));
        let renderer = Renderer::new(&spec.graph, &spec.actors, spec.packet.payload.0)
            .map_err(|error| ScenarioError::new(error.to_string()))?;
        let application = concat!("backwater ", env!("CARGO_PKG_VERSION"));
        let mut writer = Writer::new(to, options.snap, application).map_err(refused)?;
        let ends = spec.graph.ports().map_err(|error| ScenarioError::new(error.to_string()))?;
        let mut interfaces = HashMap::new();
        for (node, port) in at {
            let Some(end) = ends.get(node.0 as usize).and_then(|ports| ports.get(usize::from(port.0))) else {
                continue;
            };
            let name = |node: NodeId| spec.graph.nodes.get(node.0 as usize).map_or("", |node| node.name.as_str());
            let interface = Interface {
                name: &format!("{}/{}", name(*node), port.0),
                description: &format!("to {}/{}", name(end.peer), end.peer_port.0),
                speed: spec.graph.links.get(end.link as usize).map_or(0, |link| link.rate.0),
            };
            interfaces.insert((*node, *port), writer.interface(&interface).map_err(refused)?);
        }
        let count = Count { bytes: writer.written(), ..Count::default() };
        let (filter, limit) = (options.filter.clone(), options.limit);
        Ok(Capture { renderer, writer, interfaces, filter, limit, count, octets: Vec::new(), error: None })
    }

    /// Takes a frame. What cannot be written is told by [`Capture::finish`].
    pub fn frame(&mut self, row: &FrameRow) {
        let Some(interface) = self.interfaces.get(&(row.node, row.port)) else { return };
        if self.error.is_some() || !self.filter.takes(row) {
            return;
        }
        let length = self.renderer.render(row, &mut self.octets);
        if self.limit != 0 && self.writer.written() + self.writer.cost(self.octets.len()) > self.limit {
            self.count.left_out += 1;
            return;
        }
        let direction = if row.outbound { Direction::Outbound } else { Direction::Inbound };
        match self.writer.frame(*interface, row.time.as_ps(), direction, &self.octets, length) {
            Ok(()) => self.count.frames += 1,
            Err(error) => self.error = Some(error),
        }
        self.count.bytes = self.writer.written();
    }

    /// How it goes.
    pub fn count(&self) -> Count {
        self.count
    }

    /// Ends the file.
    ///
    /// # Errors
    /// The first one of the writer underneath.
    pub fn finish(self) -> io::Result<Count> {
        match self.error {
            Some(error) => Err(error),
            None => self.writer.finish().map(|_| self.count),
        }
    }
}
