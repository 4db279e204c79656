//! Flows in progress and controllers, and how a host finds its own.
//!
//! They lie in tables for all hosts of a network: a packet names a flow by one slot, which its sender and its receiver both look up. A host
//! sees the tables through an [`Interface`]. A lookup by a flow that a mechanism names finds only the host's own flows. With debug
//! assertions on, slots and controllers are checked to be the host's own.

use super::flow::{Controller, NO_FLOW, RecvFlow, SendFlow, Status};
use super::nic::Host;
use crate::model::hooks::{Activity, RateKey};
use crate::model::own::Own;
use crate::model::packet::{CLASSES, FlowRef, PathRef};
use crate::topology::routing::NO_PATH;
use backwater_engine::fetch;
use std::collections::HashMap;

/// The controllers of hosts.
pub(crate) struct Controllers<F> {
    pub list: Vec<Option<Controller<F>>>,
    pub free: Vec<u32>,
    /// Controllers that are kept between flows, by interface.
    pub kept: HashMap<(u32, RateKey, u8), u32>,
    /// Number of the last controller.
    pub tag: u16,
    /// Activity of controllers that have ended, by mechanism.
    pub activity: Vec<Activity>,
}

impl<F> Controllers<F> {
    /// Tables without controllers, for so many mechanisms.
    pub fn new(owners: usize) -> Controllers<F> {
        let activity = vec![Activity::default(); owners];
        Controllers { list: Vec::new(), free: Vec::new(), kept: HashMap::new(), tag: 0, activity }
    }
}

/// How acknowledgements of a flow leave its receiver.
#[derive(Clone, Copy, serde::Serialize, serde::Deserialize)]
pub(crate) struct Return {
    /// ECMP's choice for them, or `NO_PATH`.
    pub path: u64,
    /// The interface of the receiver's half, which sends them.
    pub nic: u32,
}

/// Flows by slot. A part knows those that begin or end at its hosts.
#[derive(Default, backwater_derive::State)]
pub(crate) struct Flows {
    pub send: Own<SendFlow>,
    pub recv: Own<RecvFlow>,
    /// Separate from the receiver's half, which fills a cache line.
    pub returns: Own<Return>,
    free: Vec<u32>,
    /// In a part: slots to be freed once all parts free them.
    #[state(fixed)]
    pub freed: Option<Vec<u32>>,
    pub active: u64,
}

impl Flows {
    /// Becomes the table of a part. It is empty.
    pub fn split(&mut self) {
        self.send.split();
        self.recv.split();
        self.returns.split();
        self.freed = Some(Vec::new());
    }

    /// Adds a flow, and returns its slot. In a part in which it is `unknown` it has only a slot.
    #[inline]
    pub fn insert(&mut self, flow: SendFlow, recv_nic: u32, back: PathRef, pending: u16, unknown: bool) -> u32 {
        self.active += 1;
        let slot = self.free.pop().unwrap_or(self.send.len() as u32);
        let at = slot as usize;
        let other = (!unknown).then(|| RecvFlow::of(&flow, back, pending));
        self.recv.put(at, other);
        self.returns.put(at, (!unknown).then_some(Return { path: NO_PATH, nic: recv_nic }));
        self.send.put(at, (!unknown).then_some(flow));
        slot
    }

    pub fn remove(&mut self, slot: u32) {
        self.retire(slot);
        self.free_slot(slot);
    }

    /// The flow has ended, but its slot still stands in a list: lookups do not find it any more.
    pub fn retire(&mut self, slot: u32) {
        self.active -= 1;
        self.send[slot as usize].live = false;
        self.recv[slot as usize].live = false;
    }

    /// The slot of a retired flow has left its list.
    pub fn free_slot(&mut self, slot: u32) {
        self.freed.as_mut().unwrap_or(&mut self.free).push(slot);
    }

    /// All parts give back a slot.
    pub fn release_slot(&mut self, slot: u32) {
        self.send.put(slot as usize, None);
        self.recv.put(slot as usize, None);
        self.returns.put(slot as usize, None);
        self.free.push(slot);
    }

    /// The slot of a flow at its receiver, if it is still in progress.
    #[inline(always)]
    pub fn find_received(&self, flow: FlowRef) -> Option<usize> {
        let slot = flow.slot as usize;
        let recv = self.recv.get(slot)?;
        (recv.live && recv.tag == flow.tag).then_some(slot)
    }

    /// The slot of a flow at its sender, if it is still in progress.
    #[inline(always)]
    pub fn find(&self, flow: FlowRef) -> Option<usize> {
        let slot = flow.slot as usize;
        let send = self.send.get(slot)?;
        (send.live && send.tag == flow.tag).then_some(slot)
    }

    /// Prefetches the sender's half of a flow.
    #[inline(always)]
    pub fn fetch_sending(&self, slot: u32) {
        if let Some(send) = self.send.get(slot as usize) {
            fetch(&send.tag);
            fetch(&send.packets);
        }
    }

    /// Prefetches what the receiver of a flow needs.
    #[inline(always)]
    pub fn fetch_received(&self, slot: u32) {
        let at = slot as usize;
        if let (Some(recv), Some(back)) = (self.recv.get(at), self.returns.get(at)) {
            fetch(recv);
            fetch(back);
        }
    }

    /// Slots of all flows in progress.
    pub fn slots(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.send.len() as u32).filter(|slot| self.send.get(*slot as usize).is_some_and(|flow| flow.live))
    }

    pub fn reference(&self, slot: u32) -> FlowRef {
        FlowRef { slot, tag: self.send[slot as usize].tag }
    }
}

/// The tables of hosts beside their interfaces.
pub(crate) struct Tables<F> {
    pub flows: Flows,
    pub controllers: Controllers<F>,
}

/// A host's interface, with its share of the tables: the flows that it sends, the flows that it receives, and the controllers of the
/// former.
pub(crate) struct Interface<'a, N, F> {
    pub host: &'a mut Host<N>,
    tables: &'a mut Tables<F>,
}

impl<'a, N, F> Interface<'a, N, F> {
    #[inline(always)]
    pub fn new(host: &'a mut Host<N>, tables: &'a mut Tables<F>) -> Interface<'a, N, F> {
        Interface { host, tables }
    }

    /// The slot of a flow that this host sends, if it is still in progress.
    #[inline(always)]
    pub fn find_sending(&self, flow: FlowRef) -> Option<usize> {
        self.tables.flows.find(flow).filter(|slot| self.tables.flows.send[*slot].nic == self.host.number)
    }

    /// The slot of the flow of a packet that was delivered here, if it is still in progress.
    #[inline(always)]
    pub fn find_delivered(&self, flow: FlowRef) -> Option<usize> {
        self.tables.flows.find_received(flow)
    }

    /// The slot of a flow that comes to this host, if it is still in progress.
    pub fn find_receiving(&self, flow: FlowRef) -> Option<usize> {
        self.find_delivered(flow).filter(|slot| self.tables.flows.send[*slot].dst == self.host.shape.host)
    }

    /// The sender's half of a flow that this host sends.
    #[inline(always)]
    pub fn sending(&self, slot: usize) -> &SendFlow {
        let flow = &self.tables.flows.send[slot];
        debug_assert_eq!(flow.nic, self.host.number, "another interface sends this flow");
        flow
    }

    #[inline(always)]
    pub fn sending_mut(&mut self, slot: usize) -> &mut SendFlow {
        let flow = &mut self.tables.flows.send[slot];
        debug_assert_eq!(flow.nic, self.host.number, "another interface sends this flow");
        flow
    }

    /// The receiver's half of a flow that comes to this host.
    #[inline(always)]
    pub fn receiving(&self, slot: usize) -> &RecvFlow {
        debug_assert_eq!(self.tables.flows.send[slot].dst, self.host.shape.host, "this flow goes to another host");
        &self.tables.flows.recv[slot]
    }

    #[inline(always)]
    pub fn receiving_mut(&mut self, slot: usize) -> &mut RecvFlow {
        debug_assert_eq!(self.tables.flows.send[slot].dst, self.host.shape.host, "this flow goes to another host");
        &mut self.tables.flows.recv[slot]
    }

    /// Returns ECMP's choice for the acknowledgements of a flow to this host, or `NO_PATH`.
    #[inline(always)]
    pub fn return_path(&self, slot: usize) -> u64 {
        debug_assert_eq!(self.tables.flows.send[slot].dst, self.host.shape.host, "this flow goes to another host");
        self.tables.flows.returns[slot].path
    }

    /// The reference by which packets name a flow that this host sends.
    #[inline(always)]
    pub fn reference(&self, slot: u32) -> FlowRef {
        FlowRef { slot, tag: self.sending(slot as usize).tag }
    }

    /// A controller of this host; `None`: its flow has ended, or there is no controller.
    #[inline(always)]
    pub fn controller(&self, controller: u32) -> Option<&Controller<F>> {
        let found = self.tables.controllers.list.get(controller as usize)?.as_ref()?;
        debug_assert_eq!(found.nic, self.host.number, "another interface's controller");
        Some(found)
    }

    #[inline(always)]
    pub fn controller_mut(&mut self, controller: u32) -> Option<&mut Controller<F>> {
        let found = self.tables.controllers.list.get_mut(controller as usize)?.as_mut()?;
        debug_assert_eq!(found.nic, self.host.number, "another interface's controller");
        Some(found)
    }

    /// The same, and the flow of this slot, unless that is `NO_FLOW`.
    #[inline(always)]
    pub fn controller_with(&mut self, controller: u32, slot: u32) -> Option<(&mut Controller<F>, Option<&SendFlow>)> {
        let found = self.tables.controllers.list.get_mut(controller as usize)?.as_mut()?;
        debug_assert_eq!(found.nic, self.host.number, "another interface's controller");
        let of = self.tables.flows.send.get(slot as usize);
        debug_assert!(of.is_none_or(|flow| flow.nic == self.host.number), "another interface sends this flow");
        Some((found, of))
    }

    /// The controllers that this host keeps under these keys.
    pub fn kept<'b>(&'b self, keys: impl Iterator<Item = (RateKey, u8)> + 'b) -> impl Iterator<Item = u32> + 'b {
        let nic = self.host.number;
        keys.filter_map(move |(key, left)| self.tables.controllers.kept.get(&(nic, key, left)).copied())
    }

    /// The interface, a flow that it sends, and that flow's controller, if it has one.
    #[inline(always)]
    pub fn with_flow(&mut self, slot: u32) -> (&mut Host<N>, &mut SendFlow, Option<&mut Controller<F>>) {
        let flow = &mut self.tables.flows.send[slot as usize];
        debug_assert_eq!(flow.nic, self.host.number, "another interface sends this flow");
        let controller = self.tables.controllers.list.get_mut(flow.controller as usize).and_then(Option::as_mut);
        // The controller of an ended flow may belong to another interface by now.
        debug_assert!(
            !flow.live || controller.as_ref().is_none_or(|c| c.nic == self.host.number),
            "another interface's controller"
        );
        (self.host, flow, controller)
    }

    /// A flow is ready: its turn comes after those of all others of its class.
    #[inline(always)]
    pub fn line_up(&mut self, slot: u32) {
        let flow = self.sending_mut(slot as usize);
        (flow.status, flow.behind) = (Status::Ready, NO_FLOW);
        let class = flow.class;
        let list = self.host.ready_list(usize::from(class.0));
        if list.first == NO_FLOW {
            list.first = slot;
        } else {
            debug_assert_ne!(list.last, slot, "it is in line already");
            self.tables.flows.send[list.last as usize].behind = slot;
        }
        list.last = slot;
        self.host.ready_mask |= 1 << class.0;
    }

    /// Flows that wait for their turn.
    #[cold]
    pub fn ready_count(&self) -> u32 {
        let first = (0..CLASSES)
            .filter(|class| self.host.ready_mask & 1 << class != 0)
            .map(|class| self.host.first_in_line(class));
        let behind = |slot: &u32| Some(self.tables.flows.send[*slot as usize].behind).filter(|next| *next != NO_FLOW);
        first.map(|first| std::iter::successors(Some(first), behind).count() as u32).sum()
    }

    /// The flow that had the turn keeps it.
    #[cold]
    pub fn return_turn(&mut self, slot: u32) {
        let class = self.sending(slot as usize).class;
        let list = self.host.ready_list(usize::from(class.0));
        let behind = std::mem::replace(&mut list.first, slot);
        if behind == NO_FLOW {
            list.last = slot;
        }
        self.host.ready_mask |= 1 << class.0;
        let flow = self.sending_mut(slot as usize);
        (flow.status, flow.behind) = (Status::Ready, behind);
    }

    /// Removes the flow that has the turn.
    #[inline(always)]
    pub fn pop_ready(&mut self, class: usize) -> u32 {
        let list = self.host.ready_list(class);
        let slot = list.first;
        list.first = self.tables.flows.send[slot as usize].behind;
        if list.first == NO_FLOW {
            self.host.ready_mask &= !(1 << class);
        }
        debug_assert_eq!(
            self.tables.flows.send[slot as usize].nic, self.host.number,
            "another interface sends this flow"
        );
        slot
    }

    /// Removes a flow from the line, wherever it stands.
    #[cold]
    pub fn remove_ready(&mut self, slot: u32) {
        for class in 0..CLASSES {
            let (mut before, mut at) = (NO_FLOW, self.host.ready_list(class).first);
            while at != NO_FLOW && at != slot {
                (before, at) = (at, self.tables.flows.send[at as usize].behind);
            }
            if at == NO_FLOW {
                continue;
            }
            let behind = self.tables.flows.send[slot as usize].behind;
            let list = self.host.ready_list(class);
            if list.last == slot {
                list.last = before;
            }
            if before == NO_FLOW {
                list.first = behind;
                if behind == NO_FLOW {
                    self.host.ready_mask &= !(1 << class);
                }
            } else {
                self.tables.flows.send[before as usize].behind = behind;
            }
            return;
        }
    }

    /// The slot of an ended flow has left the list of ready flows.
    pub fn free_slot(&mut self, slot: u32) {
        debug_assert!(!self.sending(slot as usize).live, "it is still under way");
        self.tables.flows.free_slot(slot);
    }
}
