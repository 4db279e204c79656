//! What travels: names of places, packets, and control frames.

use crate::units::Bytes;
use backwater_engine::Time;
use backwater_engine::fingerprint::mix;

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

/// Those of some numbers that are classes, a bit each.
pub fn class_bits<'a>(numbers: impl IntoIterator<Item = &'a u8>) -> u8 {
    numbers.into_iter().filter(|class| usize::from(**class) < CLASSES).fold(0, |bits, class| bits | 1 << class)
}

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

/// A differentiated services code point. The class selectors (RFC 2474, 4.2.2) are those used here: CS p, which is 8 p, is what a
/// host writes into what it sends from its queue of priority p. Which class the network serves it in is another matter: several
/// may be one class.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Dscp(pub u8);

impl Dscp {
    /// The class selector of a priority.
    #[inline(always)]
    pub const fn of(priority: Class) -> Dscp {
        Dscp(priority.0 << 3)
    }

    /// The priority of the host's queue that it came from.
    #[inline(always)]
    pub const fn priority(self) -> Class {
        Class(self.0 >> 3)
    }
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

/// The DS field of the IP header: DSCP in the upper six bits, ECN in the lower two (RFC 2474, RFC 3168).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DsField(u8);

impl DsField {
    const ECT_0: u8 = 0b10;
    const CE: u8 = 0b11;

    /// Of its two parts.
    #[inline(always)]
    pub const fn new(dscp: Dscp, ecn: Ecn) -> DsField {
        let ecn = match ecn {
            Ecn::NotEct => 0,
            Ecn::Ect => DsField::ECT_0,
            Ecn::Ce => DsField::CE,
        };
        DsField(dscp.0 << 2 | ecn)
    }

    /// As it stands in the header.
    pub const fn octet(self) -> u8 {
        self.0
    }

    /// The code point.
    #[inline(always)]
    pub const fn dscp(self) -> Dscp {
        Dscp(self.0 >> 2)
    }

    /// The ECN field.
    #[inline(always)]
    pub const fn ecn(self) -> Ecn {
        match self.0 & DsField::CE {
            0 => Ecn::NotEct,
            DsField::CE => Ecn::Ce,
            _ => Ecn::Ect,
        }
    }
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
    /// DS field. An ACK carries the data packet's mark.
    pub ds: DsField,
    /// \[bytes\] Payload.
    pub payload: u32,
    /// \[bytes\] Data: offset of the first payload byte. ACK: payload bytes received so far.
    pub seq: u64,
    /// Sending host.
    pub src: HostId,
    /// Receiving host.
    pub dst: HostId,
    /// Hash by which switches spread it over equal ways, where its path is not pinned (RFC 2992). All data of a flow has the same.
    pub(crate) entropy: u64,
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
        let flow = frame.flow.unwrap_or(FlowRef { slot: u32::MAX, tag: 0 });
        Packet {
            src,
            dst,
            entropy: Packet::entropy_of(src, dst, flow),
            flow,
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
            ds: DsField::new(Dscp::of(class), Ecn::NotEct),
        }
    }

    /// The entropy of what is no data: of its addresses and the flow that it speaks of.
    pub(crate) fn entropy_of(src: HostId, dst: HostId, flow: FlowRef) -> u64 {
        mix(u64::from(src.0) << 32 | u64::from(dst.0)) ^ u64::from(flow.tag)
    }

    /// Its ECN field.
    #[inline(always)]
    pub fn ecn(&self) -> Ecn {
        self.ds.ecn()
    }

    /// Sets congestion experienced, where the packet is ECN-capable.
    pub fn mark(&mut self) {
        if self.ecn() == Ecn::Ect {
            self.ds = DsField::new(self.ds.dscp(), Ecn::Ce);
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
    /// Destination and class of the packet that gave rise to it, as far as it repeats that packet's header: a host whose flow is over
    /// finds the controller that it keeps by them.
    pub about: Option<(HostId, Class)>,
    /// The mechanism's own words, at most 64 bytes.
    pub words: [u64; 6],
}

impl Control {
    /// Length of the shortest Ethernet frame with FCS (IEEE 802.3 clause 4A.4.2, minFrameSize 512 bit), bytes.
    pub const MIN_FRAME: u32 = 64;
}

/// The tag of a control packet: destination and class of the flow that it speaks of.
pub(crate) fn spoken_of(dst: HostId, class: Class) -> u64 {
    1 << 63 | u64::from(class.0) << 32 | u64::from(dst.0)
}

pub(crate) fn read_spoken_of(tag: u64) -> Option<(HostId, Class)> {
    (tag >> 63 == 1).then_some((HostId(tag as u32), Class((tag >> 32) as u8)))
}
