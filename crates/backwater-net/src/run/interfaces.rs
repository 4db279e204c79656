//! Hosts with several links: the interface of each flow, also after links change.
//!
//! An interface of a host is a node of its own: a port, its flows, the sides of mechanisms. Each half of a flow belongs to one: the
//! sender's half to the interface that sends its data, the receiver's half to the interface that sends its acknowledgements. A frame that
//! arrives at another link of the host is handed to the interface that has its flow.
//!
//! ```text
//! candidates(host, other)   links of the host that are up and on a shortest way to the other, in the order of their numbers
//! hash                      candidates[hash of the flow and the node]      as switches choose
//! least-loaded              the candidate with the fewest bytes of flows that have begun there and not ended; of equals the first
//! index                     the link that the flow names; else candidates[number of the flow mod their number]
//! acknowledgements          hash, of what ECMP hashes of them; or where their path is pinned, the link to its first node
//! a link's state changes    a flow whose link leads nowhere any more chooses anew; others stay where they are
//! ```

use super::{Actors, Network};
use crate::config::LinkChoice;
use crate::model::hooks::{FlowShape, RateKey};
use crate::model::host::flow::{NO_CONTROLLER, NO_FLOW, Status};
use crate::model::packet::{Body, HostId, NodeId, Packet, PathRef};
use crate::model::slab::Ix;
use crate::spec::FlowSpec;
use crate::units::Bytes;

impl<A: Actors> Network<A> {
    /// The interface by which a flow leaves its host. The routes in both directions are known.
    pub(super) fn nic_of(&self, spec: &FlowSpec, hash: u64) -> u32 {
        let nics = self.world.fabric.nics(spec.src);
        if nics.len() == 1 {
            return nics.start;
        }
        match spec.path.as_deref().and_then(|path| path.get(1)) {
            Some(next) => self.nic_to(spec.src, *next, hash),
            None => self.chosen(spec.src, spec.dst, hash, spec.id, spec.link).unwrap_or(nics.start),
        }
    }

    /// Chooses the interface of a flow's receiver, whose pinned path back begins with the node `behind`.
    pub(super) fn choose_recv_nic(&mut self, slot: u32, behind: NodeId) {
        let (flow, at) = (&self.tables.flows.send[slot as usize], slot as usize);
        let (src, dst) = (flow.src, flow.dst);
        if self.world.fabric.nics(dst).len() == 1 {
            return;
        }
        let entropy = Packet::entropy_of(dst, src, self.tables.flows.reference(slot));
        let nic = match self.tables.flows.recv[at].back {
            PathRef::NONE => self.by_hash(dst, src, entropy),
            _ => Some(self.nic_to(dst, behind, entropy)),
        };
        self.tables.flows.returns[at].nic = nic.unwrap_or(self.world.fabric.nics(dst).start);
    }

    /// The interface of a host for a path that is pinned to `next`; among parallel links the hash decides.
    fn nic_to(&self, host: HostId, next: NodeId, hash: u64) -> u32 {
        let fabric = &self.world.fabric;
        let (node, nics) = (fabric.host_node[host.0 as usize], fabric.nics(host));
        let links = nics.clone().zip(&fabric.neighbours[node as usize]);
        let there: Vec<u32> = links.filter(|(_, (peer, _))| *peer == next.0).map(|(nic, _)| nic).collect();
        there.get(fabric.routes.pick_link(node, there.len(), hash)).copied().unwrap_or(nics.start)
    }

    /// The interfaces of a host on shortest paths to another.
    fn candidates(&self, host: HostId, other: HostId) -> Vec<u32> {
        let fabric = &self.world.fabric;
        let [node, to] = [host, other].map(|host| fabric.host_node[host.0 as usize]);
        let links = &fabric.neighbours[node as usize];
        let towards = fabric.routes.links_towards(links, &fabric.switch_of, other, to);
        towards.into_iter().map(|link| fabric.nics(host).start + u32::from(link)).collect()
    }

    fn by_hash(&self, host: HostId, other: HostId, hash: u64) -> Option<u32> {
        let fabric = &self.world.fabric;
        let (all, node) = (self.candidates(host, other), fabric.host_node[host.0 as usize]);
        all.get(fabric.routes.pick_link(node, all.len(), hash)).copied()
    }

    /// The interface that a host's policy chooses for a flow to another; `None`: no link leads there.
    fn chosen(&self, host: HostId, other: HostId, hash: u64, id: u64, link: Option<u16>) -> Option<u32> {
        let all = self.candidates(host, other);
        match self.world.rules.nic.link {
            LinkChoice::Hash => self.by_hash(host, other, hash),
            LinkChoice::LeastLoaded => all.into_iter().min_by_key(|nic| (self.hosts[*nic as usize].unfinished, *nic)),
            LinkChoice::Index => {
                let named = link.map(|link| self.world.fabric.nics(host).start + u32::from(link));
                let named = named.filter(|nic| self.world.fabric.nics(host).contains(nic) && self.leads(*nic, other));
                named.or_else(|| all.get(usize::try_from(id % all.len().max(1) as u64).ok()?).copied())
            }
        }
    }

    /// Returns whether an interface leads to a host, by any path.
    fn leads(&self, nic: u32, other: HostId) -> bool {
        let (fabric, host) = (&self.world.fabric, self.hosts[nic as usize].shape.host);
        let [node, to] = [host, other].map(|host| fabric.host_node[host.0 as usize]);
        let link = fabric.neighbours[node as usize][(nic - fabric.nics(host).start) as usize];
        fabric.routes.leads(link, &fabric.switch_of, other, to)
    }

    /// The interface of a host for a frame that has arrived at one of its links.
    pub(super) fn interface_for(&self, here: u32, pkt: Ix) -> u32 {
        let host = self.hosts[here as usize].shape.host;
        let (fabric, flows) = (&self.world.fabric, &self.tables.flows);
        if fabric.nics(host).len() == 1 {
            return here;
        }
        let packet = &self.world.slab[pkt].pkt;
        let sends = |flow| flows.find(flow).filter(|at| flows.send[*at].src == host).map(|at| flows.send[at].nic);
        let receives = |flow| {
            let found = flows.find_received(flow).filter(|at| flows.send[*at].dst == host);
            found.map(|at| flows.returns[at].nic)
        };
        let found = match packet.body {
            Body::Data(_) => receives(packet.flow),
            Body::Ack(_) => sends(packet.flow),
            Body::Control(header) | Body::Mac(header) => {
                let frame = self.world.slab.control(header.content);
                let of_flow = frame.flow.and_then(|flow| sends(flow).or_else(|| receives(flow)));
                of_flow.or_else(|| {
                    frame.about.and_then(|(dst, class)| {
                        let keys = [RateKey::Dest(dst), RateKey::Class(class)];
                        let places = || self.world.rules.confinement.places();
                        let kept = |nic: &u32, key| {
                            places().any(|left| self.tables.controllers.kept.contains_key(&(*nic, key, left)))
                        };
                        fabric.nics(host).find(|nic| keys.into_iter().any(|key| kept(nic, key)))
                    })
                })
            }
        };
        found.unwrap_or(here)
    }

    /// Counts a flow at its interface, until it has ended.
    pub(super) fn count_in(&mut self, at: usize) {
        let flow = &self.tables.flows.send[at];
        if self.world.rules.nic.link == LinkChoice::LeastLoaded && self.is_here(flow.src) {
            self.hosts[flow.nic as usize].unfinished += flow.unfinished();
        }
    }

    /// Ends its count.
    pub(super) fn count_out(&mut self, at: usize) {
        let flow = &self.tables.flows.send[at];
        if self.world.rules.nic.link == LinkChoice::LeastLoaded && self.is_here(flow.src) {
            let host = &mut self.hosts[flow.nic as usize];
            host.unfinished = host.unfinished.saturating_sub(flow.unfinished());
        }
    }

    /// Links have changed: halves of flows whose link does not lead to the other host any more choose another one.
    pub(super) fn move_flows(&mut self) {
        if !self.world.fabric.has_several() {
            return;
        }
        let mut slots: Vec<u32> = self.tables.flows.slots().collect();
        slots.sort_by_key(|slot| self.tables.flows.send[*slot as usize].order());
        for slot in slots {
            let at = slot as usize;
            let flow = &self.tables.flows.send[at];
            let (src, dst, nic, hash, id, pinned) =
                (flow.src, flow.dst, flow.nic, flow.hash, flow.id, flow.path != PathRef::NONE);
            [src, dst].into_iter().for_each(|host| self.world.fabric.find_routes(host));
            if !pinned
                && !self.leads(nic, dst)
                && let Some(other) = self.chosen(src, dst, hash, id, None)
            {
                self.move_sender(slot, other);
            }
            if self.tables.flows.recv[at].back == PathRef::NONE && !self.leads(self.tables.flows.returns[at].nic, src) {
                let entropy = Packet::entropy_of(dst, src, self.tables.flows.reference(slot));
                if let Some(other) = self.by_hash(dst, src, entropy) {
                    self.tables.flows.returns[at].nic = other;
                }
            }
        }
    }

    /// Moves a flow to another interface of its host. Its own rate controller moves with it; one that an interface keeps for several flows
    /// stays there.
    #[cold]
    fn move_sender(&mut self, slot: u32, to: u32) {
        let at = slot as usize;
        let (from, status, controller) = {
            let flow = &self.tables.flows.send[at];
            (flow.nic, flow.status, flow.controller)
        };
        let all = &self.tables.controllers.list;
        let shape =
            all.get(controller as usize).and_then(Option::as_ref).filter(|c| c.slot == NO_FLOW).map(|c| c.shape);
        let mut host = self.host_at(from);
        match status {
            Status::Ready => host.node.remove_ready(slot),
            _ => _ = host.leave_lists(at),
        }
        // A flow that has not begun keeps the time at which it is issued.
        let begun = status != Status::NotIssued;
        if shape.is_some() && begun {
            host.notify_end(slot);
            host.repace(controller);
        }
        self.count_out(at);
        self.move_waits(slot, from, to);
        let flow = &mut self.tables.flows.send[at];
        // Requests of mechanisms of the old interface end here.
        (flow.nic, flow.shut, flow.class) = (to, 0, flow.own_class);
        self.count_in(at);
        let flow = &self.tables.flows.send[at];
        match shape {
            Some(shape) => {
                let (left, hash) = (flow.left, flow.hash);
                let payload = self.world.rules.payload;
                let frame = Bytes(u64::from(payload + self.world.rules.header(flow.left)));
                let own = FlowShape { payload: Bytes(u64::from(payload)), frame, ..flow.shape(&shape) };
                let own = FlowShape { line: self.nic_rate(to), ..own };
                self.tables.flows.send[at].controller = self.controller(&own, to, left, slot, hash);
                if begun {
                    self.host_at(to).notify_begin(slot);
                }
            }
            None if controller != NO_CONTROLLER => {
                if let Some(Some(own)) = self.tables.controllers.list.get_mut(controller as usize) {
                    own.nic = to;
                }
            }
            None => {}
        }
        if begun && status != Status::Idle {
            self.host_at(to).send_on(slot);
        }
    }

    /// Moves the records of a flow at its source to its new interface.
    fn move_waits(&mut self, slot: u32, from: u32, to: u32) {
        let flow = self.tables.flows.reference(slot);
        let [from, to] = [from, to].map(|nic| self.hosts[nic as usize].port as usize);
        let Some(waits) = &mut self.world.probes.waits else { return };
        let own = waits.stands[from].iter().position(|stand| stand.source && stand.flow == flow);
        if let Some(own) = own {
            let stand = waits.stands[from].remove(own);
            waits.stands[to].push(stand);
        }
    }
}
