//! What travels: names of places, packets, and control frames.

use crate::units::Bytes;
use backwater_engine::Time;

/// A node of the topology: a switch or a host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

/// A host, counted from 0 in the order of the topology.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HostId(pub u32);

/// A port of one node, counted from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Port(pub u16);

/// A traffic class, 0 to 7: the priority that a frame carries on the link (802.1Q PCP). 7 is served first by default.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Class(pub u8);

/// One of the 8 queues of an egress port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Queue(pub u8);

impl From<Queue> for Class {
    /// The class of what leaves by the queue.
    fn from(queue: Queue) -> Class {
        Class(queue.0)
    }
}

/// A flow that is under way. The number of the flow guards against a slot that was given to another flow since.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowRef {
    /// A hash of the flow's identity: first, so that the order of flows does not depend on where their state lies.
    pub tag: u32,
    /// Where its state lies.
    pub slot: u32,
}

/// Number of classes and of queues per port.
pub const CLASSES: usize = 8;

/// What a packet is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Payload of a flow.
    Data,
    /// Acknowledgement of a data packet.
    Ack,
    /// Acknowledgement that also tells of a gap; the tag is the offset of the packet that showed it.
    Nack,
    /// A control frame of a mechanism that is forwarded like data; its content lies beside it.
    Control,
    /// MAC control, or a mechanism's frame in its place: ends at the neighbour.
    Mac,
}

/// The ECN field of the IP header (RFC 3168).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ecn {
    /// Not ECN-capable: never marked.
    NotEct,
    /// ECN-capable.
    Ect,
    /// Congestion experienced.
    Ce,
}

/// A packet's header as the model knows it; payload bytes do not exist.
///
/// What every switch reads comes first, so that it lies in one cache line of the slab: hence the fixed order.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Packet {
    /// Hash of the packet's identity: breaks ties between simultaneous arrivals.
    pub uid: u64,
    /// \[bytes\] Frame length as buffers count it: payload and headers, without preamble and inter-frame gap.
    pub size: u32,
    /// Where its pinned path begins in the path table, or `NO_PATH`.
    pub(crate) path: u32,
    /// Switches passed so far.
    pub(crate) hop: u8,
    /// Data, ACK or control.
    pub kind: Kind,
    /// Class on the current link; from a switch's `steer` on, that on the next one.
    pub class: Class,
    /// ECN field. An ACK carries the data packet's.
    pub ecn: Ecn,
    /// \[bytes\] Payload.
    pub payload: u32,
    /// \[bytes\] Data: offset of the first payload byte. ACK: payload bytes received so far.
    pub seq: u64,
    /// Sending host.
    pub src: HostId,
    /// Receiving host.
    pub dst: HostId,
    /// The flow that it belongs to (for control frames: the one it speaks of).
    pub flow: FlowRef,
    /// When the source sent it (an ACK echoes the data packet's).
    pub sent: Time,
    /// A word for the mechanism that claims the packet tag.
    pub tag: u64,
}

impl Packet {
    /// Frame length as a size.
    pub fn bytes(&self) -> Bytes {
        Bytes(u64::from(self.size))
    }

    /// The packet that carries a control frame; its content and path are still to be filled in.
    pub(crate) fn control(frame: &Control, src: HostId, dst: HostId, class: Class, uid: u64) -> Packet {
        Packet {
            src,
            dst,
            flow: frame.flow.unwrap_or(FlowRef { slot: u32::MAX, tag: 0 }),
            size: frame.size,
            payload: 0,
            seq: 0,
            sent: Time::ZERO,
            uid,
            tag: 0,
            path: crate::routing::NO_PATH,
            hop: 0,
            kind: Kind::Control,
            class,
            ecn: Ecn::NotEct,
        }
    }

    /// Sets congestion experienced, where the packet is ECN-capable.
    pub fn mark(&mut self) {
        if self.ecn == Ecn::Ect {
            self.ecn = Ecn::Ce;
        }
    }
}

/// A control frame: its kind, its length on the wire and a payload that only its mechanism reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Control {
    /// Name in result tables, such as `cnp`. Mechanisms recognise their frames by it.
    pub kind: &'static str,
    /// \[bytes\] Frame length including FCS.
    pub size: u32,
    /// The flow that it speaks of.
    pub flow: Option<FlowRef>,
    /// The mechanism's own words, at most 64 bytes.
    pub words: [u64; 6],
}

impl Control {
    /// Length of the shortest Ethernet frame with FCS (IEEE 802.3 clause 4A.4.2, minFrameSize 512 bit), bytes.
    pub const MIN_FRAME: u32 = 64;
}
