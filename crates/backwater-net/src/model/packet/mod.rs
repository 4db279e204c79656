//! Names of places, packets, and control frames.

mod control;

pub(crate) use control::controls;
pub use control::{Content, Control, Message};

use crate::units::Bytes;
use backwater_engine::Time;
use backwater_engine::fingerprint::mix;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A number type of its own, which can be compared, sent in a control frame, and saved.
macro_rules! number {
    ($(#[$about:meta])+ $name:ident: $of:ident) => {
        $(#[$about])+
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
        #[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
        #[repr(transparent)]
        pub struct $name(pub $of);
    };
}

number! {
    /// A node of the topology: a switch or a host.
    NodeId: u32
}

number! {
    /// A host, counted from 0 in the order of the topology.
    HostId: u32
}

number! {
    /// A port of one node, counted from 0.
    Port: u16
}

number! {
    /// A traffic class, 0 to 7: the priority that a frame carries on the link (802.1Q PCP). 7 is served first by default.
    Class: u8
}

/// The classes among some numbers, a bit each.
pub fn class_bits<'a>(numbers: impl IntoIterator<Item = &'a u8>) -> u8 {
    numbers.into_iter().filter(|class| usize::from(**class) < CLASSES).fold(0, |bits, class| bits | 1 << class)
}

number! {
    /// One of the 8 queues of an egress port.
    Queue: u8
}

impl From<Queue> for Class {
    /// The class of frames that leave by the queue.
    fn from(queue: Queue) -> Class {
        Class(queue.0)
    }
}

/// The path of a packet: where its pinned path begins in the table of paths, or one of two special values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub(crate) struct PathRef(pub u32);

impl PathRef {
    /// No path is pinned: each switch decides.
    pub const NONE: PathRef = PathRef(u32::MAX);
    /// ECMP decides, and the packet contains all of its decisions (`EcmpPaths` in `routing.rs`).
    pub const KNOWN: PathRef = PathRef(u32::MAX - 1);
}

/// A flow in progress. The flow's number detects a slot that was reused by another flow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct FlowRef {
    /// A hash of the flow's identity: first, so that the order of flows does not depend on where their state lies.
    pub tag: u32,
    /// Where its state lies.
    pub slot: u32,
}

/// Number of classes and of queues per port.
pub const CLASSES: usize = 8;

/// The class of most frames in most networks, the default of a flow. What belongs to it lies with what every frame touches.
pub(crate) const USUAL: usize = 3;

/// The place of a class, or of its queue, among the other classes; out of range for [`USUAL`].
#[inline(always)]
pub(crate) fn among_others(class: usize) -> usize {
    ((class ^ USUAL) % CLASSES).wrapping_sub(1)
}

/// Payload of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct DataHeader {
    /// Sending host.
    pub src: HostId,
    /// \[bytes\] Payload.
    pub payload: u32,
    /// \[bytes\] Offset in the flow of the first payload byte.
    pub offset: u64,
    /// Entropy value, by which switches spread packets of one flow; 0 where nothing chooses one.
    pub ev: u16,
    /// Flags that its sender, or a switch that trimmed it, has set: [`DataHeader::ACK_REQUEST`] and those after it.
    pub flags: u8,
}

impl DataHeader {
    /// Flag: its sender asks for an acknowledgement at once (AR).
    pub const ACK_REQUEST: u8 = 1;
    /// Flag: it is a retransmission.
    pub const RETRANSMISSION: u8 = 2;
    /// Flag: it was trimmed at the port to its receiver.
    pub const LAST_HOP: u8 = 4;
    /// Flag: a switch has trimmed its payload. A flow without payload has none to be trimmed.
    pub const CUT: u8 = 8;
    /// Flag of an acknowledged packet ([`Gap::Map`]): it is no packet of the flow but a probe, whose number stands for the offset.
    pub const PROBE: u8 = 16;

    /// Returns whether a flag is set.
    pub fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// \[bytes\] Offset in the flow of the first byte after it.
    pub fn end(&self) -> u64 {
        self.offset + u64::from(self.payload)
    }
}

/// Acknowledgement of data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct AckHeader {
    /// The host that sends the acknowledgement.
    pub src: HostId,
    /// \[bytes\] All of the flow before this offset has arrived.
    pub received: u64,
    /// Further content: with any of these except a map it is a NACK.
    pub gap: Option<Gap>,
}

impl AckHeader {
    /// Returns whether it reports a loss.
    pub fn is_nack(&self) -> bool {
        self.gap.is_some_and(|gap| gap.is_loss())
    }

    /// Returns whether a switch has sent it: the receiver has received nothing.
    #[inline(always)]
    pub fn is_returned(&self) -> bool {
        matches!(self.gap, Some(Gap::Returned { .. }))
    }
}

/// The content of a NACK about the packet that it answers, by the offset of that packet's first byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub enum Gap {
    /// The packet has arrived, and something before it is missing.
    Before(u64),
    /// The packet has arrived; earlier ones may still be in flight.
    Beyond(u64),
    /// The packet has arrived without its payload.
    Trimmed(u64),
    /// The packet has arrived, and a report on others lies beside this acknowledgement ([`Report`]). This one is no NACK.
    Map {
        /// That packet.
        at: u64,
        /// Its entropy value.
        ev: u16,
        /// Its flags.
        flags: u8,
    },
    /// The same for a packet that has arrived without its payload.
    Cut {
        /// That packet.
        at: u64,
        /// Its entropy value.
        ev: u16,
        /// Its flags.
        flags: u8,
    },
    /// The packet has not arrived: a switch without memory for it reports this instead of the receiver. The switch knows nothing of the
    /// flow's other packets.
    Returned {
        /// That packet.
        at: u64,
        /// Its entropy value.
        ev: u16,
        /// Its flags.
        flags: u8,
    },
}

impl Gap {
    /// Returns whether it reports a loss.
    pub fn is_loss(&self) -> bool {
        !matches!(self, Gap::Map { .. })
    }
}

/// The report of an acknowledgement on single packets, beside its header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Report {
    /// Number of the packet that the first bit of the map is about, counted in full packets from the flow's begin.
    pub first: u64,
    /// Bit i: the packet `first + i` has arrived.
    pub map: u64,
    /// \[bytes\] of all frames that have arrived, each counted once.
    pub counted: u64,
    /// Packets that have arrived beyond the first missing one.
    pub beyond: u64,
}

/// The header of a control frame, whose content lies beside the packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct ControlHeader {
    /// The node that sends it.
    pub from: NodeId,
    /// The host that it is for; `None`: it ends at the neighbour.
    pub to: Option<HostId>,
    /// Index of its content.
    pub(crate) content: u32,
    /// Its entropy value; 0: none.
    pub(crate) ev: u16,
}

/// The kind of a packet, with its header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[repr(u8)]
pub enum Body {
    /// Payload of a flow.
    Data(DataHeader),
    /// Acknowledgement; with a gap, a NACK.
    Ack(AckHeader),
    /// A control frame of a mechanism that waits in queues like data.
    Control(ControlHeader),
    /// MAC control, or a mechanism's frame in its place: precedes everything else and ends at the neighbour.
    Mac(ControlHeader),
}

number! {
    /// A differentiated services code point. Only class selectors (RFC 2474, 4.2.2) are used: a host writes CS p, which is 8 p, into frames
    /// from its queue of priority p. The network may serve it in another class, and several code points may share a class.
    Dscp: u8
}

impl Dscp {
    /// The class selector of a priority.
    #[inline(always)]
    pub const fn of(priority: Class) -> Dscp {
        Dscp(priority.0 << 3)
    }

    /// The priority of its queue at the host.
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
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct DsField(u8);

impl DsField {
    const ECT_0: u8 = 0b10;
    const CE: u8 = 0b11;

    /// A field with these two parts.
    #[inline(always)]
    pub const fn new(dscp: Dscp, ecn: Ecn) -> DsField {
        let ecn = match ecn {
            Ecn::NotEct => 0,
            Ecn::Ect => DsField::ECT_0,
            Ecn::Ce => DsField::CE,
        };
        DsField(dscp.0 << 2 | ecn)
    }

    /// The octet in the header.
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

    /// Returns whether the ECN field is set to CE.
    #[inline(always)]
    pub const fn is_marked(self) -> bool {
        self.0 & DsField::CE == DsField::CE
    }
}

/// A packet's header as the model knows it; payload bytes do not exist.
///
/// The fields that every switch reads come first, up to the kind of packet, so that they lie in one cache line of the slab: hence the fixed
/// order.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[repr(C)]
pub struct Packet {
    /// Hash of the packet's identity: breaks ties between simultaneous arrivals.
    pub uid: u64,
    /// Hash by which switches spread it over equal paths, where its path is not pinned (RFC 2992). With the path [`PathRef::KNOWN`] it is
    /// the path that results from this hash. All data of a flow has the same value.
    pub(crate) entropy: u64,
    /// Receiving host; unused in a frame that ends at the neighbour ([`ControlHeader::to`]).
    pub dst: HostId,
    /// \[bytes\] Frame length as buffers count it: payload and headers, without preamble and inter-frame gap.
    pub size: u32,
    /// Where its pinned path begins in the path table, or [`PathRef::NONE`], or [`PathRef::KNOWN`].
    pub(crate) path: PathRef,
    /// Switches passed so far.
    pub(crate) hop: u8,
    /// Class on the current link; after a switch's `steer`, the class on the next link.
    pub class: Class,
    /// DS field. An ACK carries the data packet's mark.
    pub ds: DsField,
    /// The step of a job to which it counts ([`crate::model::probe::Loads`]).
    pub(crate) step: u8,
    /// Its kind, with the header of that kind.
    pub body: Body,
    /// The flow that it belongs to; for control frames, the flow that they name.
    pub flow: FlowRef,
    /// When the source sent it; in an ACK, when the data packet was sent.
    pub sent: Time,
    /// A word for the mechanism that claims the packet tag.
    pub tag: u64,
}

/// The offset of the kind within a packet.
pub(crate) const BODY_AT: usize = std::mem::offset_of!(Packet, body);

impl Packet {
    /// Frame length as a size.
    pub fn bytes(&self) -> Bytes {
        Bytes(u64::from(self.size))
    }

    /// The packet that carries a control frame to a host or, with `None`, to the neighbour.
    pub(crate) fn control(frame: &Control, header: ControlHeader, class: Class, uid: u64) -> Packet {
        let flow = frame.flow.unwrap_or(FlowRef { slot: u32::MAX, tag: 0 });
        let dst = header.to.unwrap_or(HostId(u32::MAX));
        Packet {
            dst,
            entropy: Packet::entropy_of(HostId(u32::MAX), dst, flow),
            flow,
            size: frame.size,
            sent: Time::ZERO,
            uid,
            tag: 0,
            path: PathRef::NONE,
            hop: 0,
            class,
            ds: DsField::new(Dscp::of(class), Ecn::NotEct),
            step: 0,
            body: Body::Control(header),
        }
    }

    /// The entropy of a frame other than data: a hash of its addresses and the flow that it names.
    pub(crate) fn entropy_of(src: HostId, dst: HostId, flow: FlowRef) -> u64 {
        mix(u64::from(src.0) << 32 | u64::from(dst.0)) ^ u64::from(flow.tag)
    }

    /// Adds an entropy value by which switches spread it; its acknowledgement repeats the value.
    pub fn spread_by(&mut self, ev: u16) {
        if let Body::Data(data) = &mut self.body {
            data.ev = ev;
            self.entropy = Packet::entropy_with(self.entropy, ev);
        }
    }

    /// The entropy of a packet with an entropy value; the value zero changes nothing.
    #[inline(always)]
    pub(crate) fn entropy_with(entropy: u64, ev: u16) -> u64 {
        if ev == 0 { entropy } else { Packet::mixed(entropy, ev) }
    }

    // A function of its own, so that it is not computed for packets without a value.
    #[cold]
    #[inline(never)]
    fn mixed(entropy: u64, ev: u16) -> u64 {
        mix(entropy ^ u64::from(ev))
    }

    /// A control frame with this entropy, if it has an entropy value; without one it keeps its own.
    pub(crate) fn valued(self, entropy: u64) -> Packet {
        match self.ev() {
            0 => self,
            ev => Packet { entropy: Packet::entropy_with(entropy, ev), ..self },
        }
    }

    /// Its entropy value; of an acknowledgement that of the packet that it answers; 0: none.
    pub fn ev(&self) -> u16 {
        match self.body {
            Body::Data(DataHeader { ev, .. })
            | Body::Ack(AckHeader {
                gap: Some(Gap::Map { ev, .. } | Gap::Cut { ev, .. } | Gap::Returned { ev, .. }),
                ..
            })
            | Body::Control(ControlHeader { ev, .. }) => ev,
            Body::Ack(_) | Body::Mac(_) => 0,
        }
    }

    /// Switches that it has passed.
    pub fn hops(&self) -> u8 {
        self.hop
    }

    /// Its data header, if it is a data packet.
    #[inline(always)]
    pub fn data(&self) -> Option<&DataHeader> {
        if let Body::Data(data) = &self.body { Some(data) } else { None }
    }

    /// Returns whether it is payload of a flow.
    #[inline(always)]
    pub fn is_data(&self) -> bool {
        matches!(self.body, Body::Data(_))
    }

    /// Returns whether it is a trimmed packet.
    #[inline(always)]
    pub fn is_cut(&self) -> bool {
        self.data().is_some_and(|data| data.is(DataHeader::CUT))
    }

    /// Returns whether it is MAC control.
    #[inline(always)]
    pub fn is_mac(&self) -> bool {
        matches!(self.body, Body::Mac(_))
    }

    /// Returns whether it is payload or an acknowledgement: it belongs to its flow.
    pub fn is_of_flow(&self) -> bool {
        matches!(self.body, Body::Data(_) | Body::Ack(_))
    }

    /// Its control header, if it is a control frame or MAC control.
    #[inline(always)]
    pub fn control_header(&self) -> Option<ControlHeader> {
        match self.body {
            Body::Control(header) | Body::Mac(header) => Some(header),
            Body::Data(_) | Body::Ack(_) => None,
        }
    }

    /// Sets the index of a control frame's content.
    pub(crate) fn set_content(&mut self, at: u32) {
        if let Body::Control(header) | Body::Mac(header) = &mut self.body {
            header.content = at;
        }
    }

    /// Its ECN field.
    #[inline(always)]
    pub fn ecn(&self) -> Ecn {
        self.ds.ecn()
    }

    /// Returns whether its ECN field is set to CE.
    #[inline(always)]
    pub fn is_marked(&self) -> bool {
        self.ds.is_marked()
    }

    /// The queue of its host's interface from which it leaves.
    #[inline(always)]
    pub(crate) fn nic_queue(&self) -> Queue {
        Queue(self.ds.dscp().priority().0)
    }

    /// Sets CE, if the packet is ECN-capable.
    pub fn mark(&mut self) {
        if self.ecn() == Ecn::Ect {
            self.ds = DsField::new(self.ds.dscp(), Ecn::Ce);
        }
    }

    /// Trims a data packet to its headers, or to `least` bytes if it has them. Returns whether there was a payload.
    pub(crate) fn trim(&mut self, least: u32) -> bool {
        let Body::Data(data) = &mut self.body else { return false };
        self.size = (self.size - data.payload).max(least.min(self.size));
        let cut = std::mem::take(&mut data.payload) != 0;
        data.flags |= if cut { DataHeader::CUT } else { 0 };
        cut
    }

    /// The NACK that a switch returns to the source for a data packet: in its class, and as long as the packet without its payload. Its
    /// path is not set. `None`: there was no payload.
    pub(crate) fn as_returned(mut self, least: u32) -> Option<Packet> {
        if !self.trim(least) {
            return None;
        }
        let DataHeader { src, offset: at, ev, flags, .. } = *self.data()?;
        let echo = if self.is_marked() { Ecn::Ce } else { Ecn::NotEct };
        Some(Packet {
            dst: src,
            entropy: Packet::entropy_with(Packet::entropy_of(self.dst, src, self.flow), ev),
            uid: mix(self.uid),
            tag: 0,
            path: PathRef::NONE,
            hop: 0,
            ds: DsField::new(Dscp::of(self.class), echo),
            body: Body::Ack(AckHeader { src: self.dst, received: 0, gap: Some(Gap::Returned { at, ev, flags }) }),
            ..self
        })
    }
}
