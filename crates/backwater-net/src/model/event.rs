//! Events, and their order within one instant.
//!
//! An order word is made of content: the kind, then the place or a hash of what the event concerns. Slots of the slab and of flows are
//! never part of it, since they depend on the order of allocation. Frames that arrive at one instant are ordered by
//! [`uid`](crate::model::packet::Packet::uid), a hash, which the sender passes (`NodeCx::transmit`).

use crate::model::slab::Ix;

#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) enum Event {
    /// The frame on this port's wire has left.
    Sent {
        port: u32,
    },
    /// A frame has arrived at this port.
    Arrive {
        port: u32,
        pkt: Ix,
        /// The port by which it will probably leave, or [`NO_PORT`]: only for prefetching.
        egress: u32,
    },
    /// A frame joins its egress queue after the fabric's latency.
    Enqueue {
        switch: u32,
        pkt: Ix,
    },
    /// A frame has crossed the fabric.
    Crossed {
        switch: u32,
        ingress: u16,
        egress: u16,
    },
    /// A pause signal that needs no frame.
    Signal {
        port: u32,
        control: u32,
        number: u16,
    },
    /// A paused neighbour may need another frame.
    Refresh {
        port: u32,
        class: u8,
        /// Further classes named in the same frame, a bit each.
        others: u8,
        /// Or a pause without a time ends here and must be lifted.
        lifts: bool,
    },
    SwitchTimer {
        switch: u32,
        owner: u8,
        token: u32,
    },
    NicTimer {
        host: u32,
        owner: u8,
        token: u32,
    },
    FlowTimer {
        controller: u32,
        tag: u16,
        owner: u8,
        token: u16,
    },
    /// A controller's next packet is due.
    Pace {
        controller: u32,
        tag: u16,
    },
    /// A host acts on a control message that arrived some time ago.
    ControlDue {
        host: u32,
        pkt: Ix,
    },
    /// A slow receiver takes a frame.
    Drain {
        host: u32,
    },
    /// A source's next flow starts.
    Source {
        source: u32,
    },
    /// The caller's messages may start, in a source's turn.
    Call {
        source: u32,
    },
    /// A job may have something to start.
    Job {
        job: u32,
    },
    /// A posted flow begins: its interface has issued it, and fetched its first frame if it does that.
    Begin {
        slot: u32,
        tag: u32,
    },
    /// A packet of a Bernoulli source becomes available, or the source ends.
    Stream {
        slot: u32,
        tag: u32,
        ends: bool,
    },
    /// A flow may have made no progress for too long.
    Timeout {
        slot: u32,
        tag: u32,
    },
    Fault {
        fault: u32,
    },
    /// Routes follow a link whose state a fault has changed.
    Reroute {
        fault: u32,
    },
    /// A frame's ready time has come.
    Wake {
        port: u32,
    },
    Sample,
    /// All frames of this instant have arrived: match ingresses to egresses.
    Match {
        switch: u32,
    },
    Stop,
    /// Pauses last: check for a deadlock.
    Look,
    /// A flow whose sender belongs to another part has ended.
    Over {
        slot: u32,
    },
}

/// Order of simultaneous events by kind; within a kind by `detail`, a word of content.
pub(crate) fn order(kind: u64, detail: u64) -> u64 {
    kind << 58 | detail >> 6
}

impl Event {
    /// Returns whether it only keeps itself going: samples, looks, refreshes of a pause, and timers of rate controllers, which are rearmed
    /// as long as their flow lives. A retransmission timer of an ended flow idles, too: see `SenderCommon::idles`.
    pub(crate) fn idles(&self) -> bool {
        matches!(
            self,
            Event::Sample
                | Event::Look
                | Event::Over { .. }
                | Event::Refresh { lifts: false, .. }
                | Event::FlowTimer { .. }
        )
    }

    /// Returns whether it observes without changing anything.
    #[inline(always)]
    pub(crate) fn is_observer(&self) -> bool {
        matches!(self, Event::Sample | Event::Look)
    }

    /// True for timers: they may be stale when they fire.
    #[inline(always)]
    pub(crate) fn is_timer(&self) -> bool {
        self.idles()
            || matches!(
                self,
                Event::Refresh { .. } | Event::SwitchTimer { .. } | Event::NicTimer { .. } | Event::Timeout { .. }
            )
    }

    /// The order word of an event whose place makes it unique.
    #[inline(always)]
    pub(crate) fn order(&self) -> u64 {
        let at = |n: u32| u64::from(n) << 32;
        match *self {
            Event::Sent { port } => order(0, at(port)),
            Event::Crossed { switch, ingress, .. } => order(1, at(switch) | u64::from(ingress) << 8),
            Event::Arrive { .. } | Event::Enqueue { .. } | Event::ControlDue { .. } => {
                unreachable!("ordered by the packet")
            }
            Event::Over { .. } => unreachable!("ordered by the event that ends the flow"),
            Event::FlowTimer { .. } | Event::Pace { .. } => unreachable!("ordered by the controller"),
            Event::Signal { port, number, .. } => order(4, at(port) | u64::from(number) << 8),
            Event::Refresh { port, class, others, .. } => {
                order(5, at(port) | u64::from(others) << 16 | u64::from(class) << 8)
            }
            Event::SwitchTimer { switch, owner, token } => {
                order(6, at(switch) | u64::from(token & 0xFFFF) << 14 | u64::from(owner) << 8)
            }
            Event::NicTimer { host, owner, token } => {
                order(7, at(host) | u64::from(token & 0xFFFF) << 14 | u64::from(owner) << 8)
            }
            Event::Drain { host } => order(10, at(host)),
            Event::Source { source } | Event::Call { source } => order(11, at(source)),
            Event::Stream { tag, ends, .. } => order(12, at(tag) | u64::from(ends) << 8),
            Event::Begin { tag, .. } => order(13, at(tag)),
            Event::Fault { fault } | Event::Reroute { fault } => order(14, at(fault)),
            Event::Wake { port } => order(15, at(port)),
            Event::Sample => order(16, 0),
            Event::Match { switch } => order(17, at(switch)),
            Event::Stop => order(18, 0),
            Event::Timeout { tag, .. } => order(19, at(tag)),
            // After every event that may complete a flow at this instant; 20 is `ControlDue`.
            Event::Job { job } => order(21, at(job)),
            Event::Look => order(22, 0),
        }
    }
}

/// The order word of a controller's event: by the hash of the controlled flow, not by where its state lies.
pub(crate) fn controller_order(event: Event, key: u32) -> u64 {
    let at = u64::from(key) << 32;
    match event {
        Event::FlowTimer { owner, token, .. } => order(8, at | u64::from(token) << 14 | u64::from(owner) << 8),
        _ => order(9, at),
    }
}

/// No port.
pub(crate) const NO_PORT: u32 = u32::MAX;

const _: () = assert!(size_of::<Event>() == 16, "an event and its key are half a cache line");
