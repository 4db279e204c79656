//! The data that all nodes share: the time, pending events, packets in flight, the paths between nodes, and effects for the run.

use crate::config::{AckParams, NicParams, PacketParams, TransportParams};
use crate::model::confinement::Confinement;
use crate::model::event::Event;
use crate::model::hooks::attachment::{Attachment, Carried};
use crate::model::hooks::{Actions, Hooks, PortShape};
use crate::model::packet::{HostId, NodeId, PathRef, Report};
use crate::model::part::Part;
use crate::model::port::{Belongs, Facts, LinkFaults, Numbered, Port};
use crate::model::probe::Probes;
use crate::model::slab::{Ix, Slab};
use crate::model::transport::Moment;
use crate::record::{Broken, Deadlock, FirstDrop, Progress, Rows};
use crate::topology::routing::{EcmpPaths, EcmpTable, Neighbours, Paths};
use crate::topology::{Graph, NodeKind, PortEnd};
use crate::units::{Bytes, Serialiser};
use backwater_engine::state::{Loader, Saver, Unfit};
use backwater_engine::{EventQueue, State, Time, rng};
use std::sync::Arc;

/// The random streams by which links lose frames, one for each port that sends.
pub(crate) const LINK_LOSS: &str = "link loss";

/// Time between two checks for a deadlock.
pub(crate) const LOOK: Time = Time::us(100);

/// The data that every node may see and change: the time, pending events, packets in flight, and effects and rows to be handed out.
pub(crate) struct World {
    pub now: Time,
    /// Order word of the current event.
    pub order: u64,
    pub queue: EventQueue<Event>,
    pub slab: Slab,
    pub attachments: Carried<Attachment>,
    /// Reports of acknowledgements on single packets.
    pub reports: Carried<Report>,
    /// Link numbers of frames that their ports keep.
    pub numbers: Carried<Numbered>,
    pub actions: Actions,
    pub totals: Totals,
    pub rows: Rows,
    pub rules: Rules,
    pub effects: Vec<RunEffect>,
    pub fabric: Fabric,
    pub probes: Probes,
    /// The state of this network as a part of a larger one.
    pub part: Option<Box<Part>>,
}

impl World {
    /// The world before any event.
    pub fn new(rules: Rules, fabric: Fabric) -> World {
        World {
            now: Time::ZERO,
            order: u64::MAX,
            queue: EventQueue::new(),
            slab: Slab::default(),
            attachments: Carried::default(),
            reports: Carried::default(),
            numbers: Carried::default(),
            actions: Actions::default(),
            totals: Totals::default(),
            rows: Rows::default(),
            rules,
            effects: Vec::new(),
            fabric,
            probes: Probes::default(),
            part: None,
        }
    }

    /// The current moment, for a transport.
    pub fn moment(&self) -> Moment<'_> {
        let rules = &self.rules;
        Moment { now: self.now, step: u64::from(rules.payload), params: &rules.transport, ack: &rules.ack }
    }

    #[inline(always)]
    pub fn push(&mut self, at: Time, event: Event) {
        self.totals.keepalive_events += u64::from(event.idles());
        self.totals.observer_events += u64::from(event.is_observer());
        self.queue.push(at, event.order(), event);
    }

    /// Removes a packet, and the control frame in it.
    pub fn forget(&mut self, pkt: Ix) {
        if let Some(header) = self.slab[pkt].pkt.control_header() {
            self.slab.take_control(header.content);
        }
        self.slab.remove(pkt);
    }

    /// Reports a broken promise: the run ends.
    #[cold]
    pub fn broken(&mut self, reason: String, hint: &str) {
        self.totals.stopped = true;
        self.totals.broken = Some(Broken { time: self.now, reason, hint: hint.into() });
    }

    /// This part lacks the information for the right result: the run restarts on one thread.
    #[cold]
    pub fn doubt(&mut self, why: &'static str) {
        if let Some(part) = &mut self.part {
            part.doubt.get_or_insert(why);
            self.totals.stopped = true;
        }
    }

    /// A pause without an end has been requested: schedules a deadlock check.
    #[inline]
    pub fn watch_pause(&mut self) {
        self.arm_look(self.now + LOOK);
    }

    /// Schedules a deadlock check at `at` or earlier.
    pub fn arm_look(&mut self, at: Time) {
        if at < self.totals.deadlock_check_at {
            self.totals.deadlock_check_at = at;
            // Parts are checked together.
            if self.part.is_none() {
                self.push(at, Event::Look);
            }
        }
    }
}

impl Rules {
    /// Rules with these frame lengths; an error names the one that is too long.
    pub fn new(
        seed: u64,
        packet: &PacketParams,
        ack: AckParams,
        transport: TransportParams,
        nic: NicParams,
    ) -> Result<Rules, String> {
        let size = |b: Bytes| u32::try_from(b.0).map_err(|_| format!("a packet of {b} is too long"));
        Ok(Rules {
            seed,
            clock: packet.clock,
            payload: size(packet.payload)?.max(1),
            header: size(packet.header)?,
            gap: size(packet.gap)?,
            ack,
            transport,
            nic,
            lossless: false,
            chooses: false,
            tells_sent: false,
            hooks: Hooks::NONE,
            confinement: Confinement::default(),
        })
    }

    /// \[bytes\] of header of a data packet, if the mechanisms of this entry leave its flow alone
    #[inline(always)]
    pub fn header(&self, left: u8) -> u32 {
        self.header.saturating_sub(self.confinement.at(left).data)
    }

    /// \[bytes\] of an acknowledgement of such a flow
    #[inline(always)]
    pub fn ack_size(&self, left: u8) -> u32 {
        (self.ack.size.0 as u32).saturating_sub(self.confinement.at(left).ack)
    }

    /// \[bytes\] The least useful window.
    pub fn least_window(&self) -> u64 {
        self.ack.together(Bytes(u64::from(self.payload))).0
    }
}

/// The constants of a run that hold for every node.
pub(crate) struct Rules {
    pub seed: u64,
    pub clock: Option<Time>,
    /// \[bytes\] of payload and header of a full packet, header, gap
    pub payload: u32,
    pub header: u32,
    pub gap: u32,
    pub ack: AckParams,
    pub transport: TransportParams,
    pub nic: NicParams,
    pub lossless: bool,
    /// True if mechanisms choose paths: `Actors::chooses` of the run.
    pub chooses: bool,
    /// True if a job waits for last bytes to be taken from their senders.
    pub tells_sent: bool,
    /// The hooks that mechanisms of this run have.
    pub hooks: Hooks,
    /// The mechanisms that leave flows alone.
    pub confinement: Confinement,
}

/// The positions of nodes, and the paths between them.
#[derive(Clone)]
pub(crate) struct Fabric {
    pub graph: Arc<Graph>,
    /// Per node: its first port.
    pub first_port: Arc<Vec<u32>>,
    /// Per node: its number among switches, or `u32::MAX`.
    pub switch_of: Arc<Vec<u32>>,
    /// Per switch: its node.
    pub switch_node: Arc<Vec<u32>>,
    /// Per host: its node.
    pub host_node: Arc<Vec<u32>>,
    /// Per host, the number of its first interface; the last entry is the number of all interfaces. Each link of a host has one.
    pub first_nic: Arc<Vec<u32>>,
    pub neighbours: Arc<Neighbours>,
    pub routes: EcmpTable,
    pub ecmp_paths: EcmpPaths,
    pub paths: Paths,
}

impl Fabric {
    /// The nodes of a graph. An error says what is impossible in it.
    pub fn new(graph: Graph, seed: u64) -> Result<Fabric, String> {
        if let Some(link) = graph.links.iter().find(|link| link.a == link.b) {
            return Err(format!("a link joins {} with itself", graph.nodes[link.a.0 as usize].name));
        }
        let nodes = graph.ports().map_err(|e| e.to_string())?;
        let (mut first_port, mut switch_of, mut host_node) = (Vec::new(), vec![u32::MAX; nodes.len()], Vec::new());
        let (mut all, mut switch_node, mut nics, mut first_nic) = (0, Vec::new(), 0, vec![0]);
        for (i, (node, ends)) in graph.nodes.iter().zip(&nodes).enumerate() {
            first_port.push(all);
            all += ends.len() as u32;
            match node.kind {
                NodeKind::Host if ends.is_empty() => return Err(format!("host {} has no link", node.name)),
                NodeKind::Host => {
                    host_node.push(i as u32);
                    nics += ends.len() as u32;
                    first_nic.push(nics);
                }
                NodeKind::Switch => {
                    switch_of[i] = switch_node.len() as u32;
                    switch_node.push(i as u32);
                }
            }
        }
        let up = |end: &PortEnd| (end.peer.0, graph.links[end.link as usize].up);
        let neighbours: Neighbours = nodes.iter().map(|ends| ends.iter().map(up).collect()).collect();
        let routes = EcmpTable::new(&graph, &neighbours, &switch_of, seed);
        Ok(Fabric {
            graph: Arc::new(graph),
            first_port: Arc::new(first_port),
            switch_of: Arc::new(switch_of),
            switch_node: Arc::new(switch_node),
            host_node: Arc::new(host_node),
            first_nic: Arc::new(first_nic),
            neighbours: Arc::new(neighbours),
            routes,
            ecmp_paths: EcmpPaths::default(),
            paths: Paths::default(),
        })
    }

    /// The ports of the nodes for which `is_here` returns true, with their numbers.
    pub fn ports(&self, seed: u64, clock: Option<Time>, is_here: impl Fn(u32) -> bool) -> Vec<(u32, Port)> {
        let mut ports = Vec::new();
        let nodes = (0u32..).zip(self.graph.ports().unwrap_or_default());
        for (node, ends) in nodes.filter(|(node, _)| is_here(*node)) {
            for (local, end) in (0u32..).zip(&ends) {
                let link = &self.graph.links[end.link as usize];
                let number = self.first_port[node as usize] + local;
                let mut port = Port::new(self.facts_at(node, local, end, clock), local as u16);
                port.rest.pause_requests.count_at(link.rate_from(end.peer));
                if link.loss_from(NodeId(node)) > 0.0 {
                    let faults = port.faults(|| LinkFaults::new(rng::stream(seed, LINK_LOSS, u64::from(number))));
                    faults.loss.push((None, link.loss_from(NodeId(node))));
                }
                if !link.up {
                    port.set_up(false);
                }
                if matches!(port.belongs, Belongs::Host(_)) && ends.len() > 1 {
                    port.share_host();
                }
                ports.push((number, port));
            }
        }
        ports
    }

    /// The facts about all ports, by number.
    pub fn facts(&self, clock: Option<Time>) -> Vec<Facts> {
        let nodes = (0u32..).zip(self.graph.ports().unwrap_or_default());
        let of_node = |(node, ends): (u32, Vec<PortEnd>)| {
            let facts = (0u32..).zip(&ends).map(|(local, end)| self.facts_at(node, local, end, clock));
            facts.collect::<Vec<_>>()
        };
        nodes.flat_map(of_node).collect()
    }

    fn facts_at(&self, node: u32, local: u32, end: &PortEnd, clock: Option<Time>) -> Facts {
        let link = &self.graph.links[end.link as usize];
        let belongs = match self.switch_of[node as usize] {
            u32::MAX => Belongs::Host(self.first_nic[self.host_node.partition_point(|host| *host < node)] + local),
            switch => Belongs::Switch(switch),
        };
        Facts {
            belongs,
            peer: self.first_port[end.peer.0 as usize] + u32::from(end.peer_port.0),
            delay: link.delay,
            serialiser: Serialiser::new(link.rate_from(NodeId(node)), clock),
        }
    }

    /// The node of a port.
    pub fn node_at(&self, port: u32) -> u32 {
        self.first_port.partition_point(|first| *first <= port) as u32 - 1
    }

    /// The first port of a switch.
    #[inline]
    pub fn first_port_of(&self, switch: u32) -> u32 {
        self.first_port[self.switch_node[switch as usize] as usize]
    }

    /// The port of an interface.
    #[inline]
    pub fn port_of_nic(&self, nic: u32) -> u32 {
        let host = self.first_nic.partition_point(|first| *first <= nic) - 1;
        self.first_port[self.host_node[host] as usize] + nic - self.first_nic[host]
    }

    /// The node of a port's owner.
    pub fn node_of(&self, belongs: Belongs) -> u32 {
        match belongs {
            Belongs::Switch(switch) => self.switch_node[switch as usize],
            Belongs::Host(nic) => self.host_node[self.first_nic.partition_point(|first| *first <= nic) - 1],
        }
    }

    /// Returns a node's ports as mechanisms see them.
    pub fn port_shapes(&self, node: NodeId, ports: &[Port]) -> Vec<PortShape> {
        let shape = |(port, (peer, _)): (&Port, &(u32, bool))| {
            let host = self.host_node.binary_search(peer).ok().map(|host| HostId(host as u32));
            PortShape { rate: port.serialiser.rate(), delay: port.delay, peer: NodeId(*peer), host }
        };
        ports.iter().zip(&self.neighbours[node.0 as usize]).map(shape).collect()
    }

    /// The numbers of a host's interfaces.
    #[inline(always)]
    pub fn nics(&self, host: HostId) -> std::ops::Range<u32> {
        self.first_nic[host.0 as usize]..self.first_nic[host.0 as usize + 1]
    }

    /// Returns whether some host has several links.
    pub fn has_several(&self) -> bool {
        self.first_nic.len() <= self.first_nic.last().map_or(0, |all| *all as usize)
    }

    /// Finds the routes to a host, unless they are known.
    pub fn find_routes(&mut self, host: HostId) {
        if !self.routes.knows(host) {
            self.routes.learn(&self.neighbours, &self.switch_of, host);
        }
    }

    /// Saves the links that are down, the hosts with known routes, and the pinned paths.
    pub fn save(&self, to: &mut Saver) {
        let down: Vec<(usize, usize)> = (0..)
            .zip(self.neighbours.iter())
            .flat_map(|(node, all)| (0..).zip(all).filter(|(_, (_, up))| !up).map(move |(port, _)| (node, port)))
            .collect();
        to.put(&down);
        to.put(&self.routes.known().collect::<Vec<_>>());
        self.paths.save(to);
    }

    /// Restores it. Routes are found anew, over the same links.
    pub fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Unfit> {
        let neighbours = Arc::make_mut(&mut self.neighbours);
        neighbours.iter_mut().flatten().for_each(|(_, up)| *up = true);
        for (node, port) in from.take::<Vec<(usize, usize)>>()? {
            let link = neighbours.get_mut(node).and_then(|all| all.get_mut(port));
            link.ok_or_else(|| Unfit::new("a link is down that is not there"))?.1 = false;
        }
        self.routes.forget();
        for host in from.take::<Vec<HostId>>()? {
            if host.0 as usize >= self.host_node.len() {
                return Err(Unfit::new("ways lead to a host that is not there"));
            }
            self.find_routes(host);
        }
        self.routes.take_work();
        self.paths.load(from)
    }

    /// The node at the other end of a link.
    pub fn peer(&self, node: NodeId, port: u16) -> NodeId {
        NodeId(self.neighbours[node.0 as usize][usize::from(port)].0)
    }

    /// Returns the position of this switch on a pinned path, from 0; the path's first switch is the node `first`.
    pub fn position(&self, path: PathRef, first: NodeId, switch: u32) -> Option<u8> {
        let mut node = first.0;
        for hop in 0..self.paths.len(path) {
            if self.switch_of[node as usize] == switch {
                return Some(hop);
            }
            node = self.neighbours[node as usize][usize::from(self.paths.port(path, hop))].0;
        }
        None
    }
}

/// An effect of a node's event, carried out after it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RunEffect {
    /// The last bit of a frame that is captured, watched or lost has left this port, which is idle now.
    Sent { port: u32, pkt: Ix, wire: u8 },
    /// A frame that this port sent could not continue, and is lost.
    LostFrom(u32),
    /// The last byte of a flow has arrived.
    LastByte { slot: u32 },
    /// A sender's interface has taken the last byte of a flow, or of the message on a shared connection that this offset names.
    AllSent { slot: u32, from: u64 },
    /// More of a flow has arrived, and its sender knows it at once, since nothing is acknowledged.
    Received { slot: u32 },
    /// All of a flow is acknowledged.
    Complete { slot: u32 },
    /// A message on a shared connection has arrived completely; the offset of its first packet names it.
    MessageCame { slot: u32, from: u64 },
    /// A message on a shared connection is fully acknowledged.
    MessageDone { slot: u32, from: u64 },
    /// A sender has given up.
    Failed { slot: u32 },
    /// A sender has timed out so many times in a row.
    TimedOut { tries: u32 },
}

/// Data of the run beside the model: counters and the end.
#[derive(backwater_derive::State)]
pub(crate) struct Totals {
    pub progress: Progress,
    /// When a frame other than MAC control was last put on a link.
    pub last_frame: Time,
    pub broken: Option<Broken>,
    pub stopped: bool,
    /// Pending events that only keep themselves going.
    pub keepalive_events: u64,
    /// When the last event happened that was neither a frame's, nor a timer.
    pub last_progress: Time,
    /// Pending events of observers.
    pub observer_events: u64,
    pub observed: Observed,
    /// Nothing is left to happen.
    pub at_rest: bool,
    /// When the next deadlock check is due; `NEVER`: none is.
    pub deadlock_check_at: Time,
    pub deadlock: Option<Deadlock>,
    pub first_drop: Option<FirstDrop>,
    /// Order word of that event.
    pub first_drop_order: u64,
    /// The progress of flows at their last change, since something gave reason to watch.
    pub watched: Option<Watched>,
}

impl Default for Totals {
    fn default() -> Totals {
        Totals {
            progress: Progress::default(),
            last_frame: Time::ZERO,
            broken: None,
            stopped: false,
            keepalive_events: 0,
            last_progress: Time::ZERO,
            observer_events: 0,
            observed: Observed::default(),
            at_rest: false,
            deadlock_check_at: Time::NEVER,
            deadlock: None,
            first_drop: None,
            first_drop_order: 0,
            watched: None,
        }
    }
}

/// Observers are no part of a run: it ends when it would have ended without them.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Observed {
    /// When the last observer event happened, and when anything else had last happened by then.
    last: Time,
    happened: Time,
}

impl Observed {
    /// An observer event happens at `now`, and the event before it happened at `before`.
    pub fn look(&mut self, before: Time, now: Time) {
        if before > self.last {
            self.happened = before;
        }
        self.last = now;
    }

    /// Returns the time of the last event but observers, where the last one of all is at `now`. An event at the moment of a look comes before
    /// it, or is a mere timer; others were last at `progress`.
    pub fn last_event(&self, now: Time, progress: Time) -> Time {
        if now == self.last { self.happened.max(progress) } else { now }
    }
}

/// The progress of all flows together, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Watched {
    /// Flows done, failed and in progress, and bytes received of the latter.
    pub far: [u64; 4],
    pub since: Time,
}
