//! A host's interface: what it has to send, and what of that may go.

pub mod flow;
mod notes;
mod receive;
pub mod recovery;
mod send;
mod tables;
pub mod transport;

use crate::hooks::{Departure, Fate, FlowSide, NicCx, NicShape, NicSide, Owner, Owners};
use crate::node::{At, Node};
use crate::packet::{CLASSES, Class, Control, Dscp, NodeId, Packet, Port as PortNo, Queue};
use crate::port::highest;
use crate::slab::{Fifo, Ix, Slab};
use crate::units::Rate;
use backwater_engine::Time;
use flow::NO_FLOW;
pub(crate) use tables::{Controllers, Flows, Interface, Tables};

/// The context of a NIC's hook: `$h` is the interface, borrowed apart from the rest of the network.
macro_rules! cx {
    ($network:ident, $h:ident) => {
        crate::hooks::NicCx {
            now: $network.world.now,
            owner: crate::hooks::Owner(0),
            shape: &$h.shape,
            left: 0,
            notes: &mut $network.world.notes.nic,
        }
    };
}

/// A host's interface. What every frame touches comes first, in three cache lines: what there is to send at all, the flows, and
/// what goes before them. The flows of a class take turns in one list, whichever of its queues they are in.
#[repr(C, align(64))]
pub(crate) struct Host<N> {
    pub port: u32,
    /// Classes that have flows ready to send, a bit each.
    pub ready_mask: u32,
    /// Whether a class has several queues.
    several: bool,
    /// Data frames in the transmit queue, per queue.
    staged: [u16; CLASSES],
    pub rx: Option<Box<SlowReceiver>>,
    ready: [ReadyFlows; CLASSES],
    pub stack: N,
    pub shape: NicShape,
    /// Under weighted round robin: the class whose turn it is, and how many packets more it may send.
    turn: (u8, u32),
    /// Flows for which a gate is shut.
    pub parked: Vec<u32>,
    /// Flows that found their queue refused by a mechanism while the port looked for work; they are in line again when it has.
    passed_over: Vec<u32>,
    /// Time between the arrival of a control message and its effect.
    pub control_delay: Time,
}

/// The flows of one class that may send, in the order of their turns: a list through [`flow::SendFlow::behind`].
#[derive(Clone, Copy, Debug)]
struct ReadyFlows {
    first: u32,
    last: u32,
}

/// A receive buffer that is emptied too slowly.
pub(crate) struct SlowReceiver {
    pub rate: Rate,
    pub xoff: u64,
    pub xon: u64,
    pub class: Class,
    pub fifo: Fifo,
    pub bytes: u64,
    pub holding: bool,
    pub draining: bool,
}

impl<N> Host<N> {
    pub fn new(port: u32, shape: NicShape, stack: N, control_delay: Time) -> Host<N> {
        Host {
            port,
            ready_mask: 0,
            several: shape.queues.several(),
            staged: [0; CLASSES],
            rx: None,
            shape,
            ready: [ReadyFlows { first: NO_FLOW, last: NO_FLOW }; CLASSES],
            stack,
            turn: (0, 0),
            parked: Vec::new(),
            passed_over: Vec::new(),
            control_delay,
        }
    }

    /// Data frames in the transmit queue that may leave: those of a paused queue must not keep others from it.
    #[inline(always)]
    pub fn staged(&self, open: u32) -> u32 {
        if open == u32::MAX {
            return self.staged.iter().map(|staged| u32::from(*staged)).sum();
        }
        let queues = self.staged.iter().enumerate();
        queues.map(|(queue, staged)| if open & (1 << queue) != 0 { u32::from(*staged) } else { 0 }).sum()
    }

    /// A data frame joins the transmit queue.
    #[inline(always)]
    pub fn stage(&mut self, queue: Class) {
        self.staged[usize::from(queue.0) % CLASSES] += 1;
    }

    /// It leaves it.
    #[inline(always)]
    pub fn unstage(&mut self, queue: Class) {
        self.staged[usize::from(queue.0) % CLASSES] -= 1;
    }

    /// The flows of a class that are ready.
    #[inline(always)]
    fn ready_list(&mut self, class: usize) -> &mut ReadyFlows {
        &mut self.ready[class % CLASSES]
    }

    /// Whose turn it is among the classes of a mask that is not empty.
    #[cold]
    pub fn weighted_turn(&mut self, mask: u32, weights: &[u32; CLASSES]) -> usize {
        let strict = (0..CLASSES).fold(0u32, |bits, class| if weights[class] == 0 { bits | 1 << class } else { bits });
        if mask & strict != 0 {
            return highest(mask & strict);
        }
        let (class, left) = self.turn;
        if mask & (1 << class) == 0 || left == 0 {
            // The next one below, and after the lowest the highest.
            let below = mask & ((1 << class) - 1);
            let next = highest(if below == 0 { mask } else { below });
            self.turn = (next as u8, weights[next]);
        }
        usize::from(self.turn.0)
    }

    /// A packet of a class goes.
    #[cold]
    pub fn took_turn(&mut self, class: usize) {
        if usize::from(self.turn.0) == class {
            self.turn.1 = self.turn.1.saturating_sub(1);
        }
    }

    /// The flow whose turn it will probably be next.
    #[inline(always)]
    pub fn next_up(&self) -> Option<u32> {
        self.ready_mask.checked_ilog2().map(|class| self.ready[class as usize % CLASSES].first)
    }

    /// Whether flows in the queue of this priority are shut, where the gate of their class does not say so.
    #[inline(always)]
    pub fn is_shut(&self, queue: Class, open: u32) -> bool {
        self.several && open & (1 << queue.0) == 0
    }

    /// The code point of an acknowledgement in `class` for a packet: where the class has several queues it is that of the packet, whose
    /// connection it belongs to.
    #[inline(always)]
    pub fn answers(&self, class: Class, packet: Dscp) -> Dscp {
        if self.several { self.shape.queues.answers(class, packet) } else { Dscp::of(class) }
    }

    /// Classes of which a queue is open.
    #[inline(always)]
    pub fn classes_open(&self, open: u32) -> u32 {
        if self.several { self.shape.queues.carried(open) } else { open }
    }
}

impl SlowReceiver {
    /// Takes the next packet out.
    pub fn pop(&mut self, slab: &Slab) -> Option<Ix> {
        let pkt = self.fifo.pop(slab)?;
        self.bytes -= u64::from(slab[pkt].pkt.size);
        Some(pkt)
    }
}

/// The port of a host.
pub(crate) const PORT: u16 = 0;

impl<N: NicSide, F: FlowSide> Node for At<'_, Interface<'_, N, F>> {
    fn id(&self) -> NodeId {
        NodeId(self.world.fabric.host_node[self.node.host.shape.host.0 as usize])
    }

    #[inline(always)]
    fn first(&self) -> u32 {
        self.node.host.port
    }

    #[inline(always)]
    fn serve(&mut self, port: u16) {
        self.serve_host(port);
    }

    #[inline(always)]
    fn waits(&self, port: u16) -> bool {
        let h = &*self.node.host;
        let p = &self.ports[usize::from(port)];
        // What is staged stands in the port's queues.
        h.ready_mask != 0 || p.may_have_work() || p.holds_some() && h.staged(u32::MAX) != 0
    }

    fn may_start(&self, port: u16, queue: Queue, pkt: &Packet) -> bool {
        self.node.host.stack.may_start(PortNo(port), queue, pkt)
    }

    /// A host has no counters.
    #[inline(always)]
    fn depart(&mut self, _: u16, _: Ix) {}

    fn queue_of(&self, pkt: Ix) -> Queue {
        self.world.slab[pkt].pkt.nic_queue()
    }

    fn tell_start(&mut self, from: &Departure, pkt: Ix) {
        let header = self.world.slab[pkt].pkt;
        let carried = self.world.attachments.get_mut(pkt, header.uid);
        let h = &mut *self.node.host;
        h.stack.on_start(&mut cx!(self, h), from, &header, carried);
        self.act_nic();
    }

    fn tell_sent(&mut self, from: &Departure, pkt: Ix) {
        let header = self.world.slab[pkt].pkt;
        self.at_nic(|stack, cx| stack.on_sent(cx, from, &header));
        self.act_nic();
    }

    fn hear(&mut self, _: u16, frame: &Control) -> Fate {
        let fate = self.at_nic(|stack, cx| stack.on_control(cx, frame));
        self.act_nic();
        fate
    }

    fn pass_waits(&mut self, port: u16) {
        self.pass_stands(port, |at, stand| at.cause_at_source(stand));
    }

    fn look_on(&mut self) {}

    fn note_asked(&mut self, port: u16, _: Owner, classes: u16) {
        self.note_asked_here(port, classes, |at, _| (at.node.host.rx.as_ref().map_or(0, |rx| rx.bytes), None));
    }
}

impl<N: NicSide, F: FlowSide> At<'_, Interface<'_, N, F>> {
    /// Calls a hook of a NIC's stack.
    #[inline(always)]
    pub(crate) fn at_nic<R>(&mut self, f: impl FnOnce(&mut N, &mut NicCx<'_>) -> R) -> R {
        self.at_nic_of(0, f)
    }

    /// The same about a flow that some mechanisms leave alone.
    #[inline(always)]
    pub(crate) fn at_nic_of<R>(&mut self, left: Owners, f: impl FnOnce(&mut N, &mut NicCx<'_>) -> R) -> R {
        let h = &mut *self.node.host;
        f(&mut h.stack, &mut NicCx { left, ..cx!(self, h) })
    }
}
