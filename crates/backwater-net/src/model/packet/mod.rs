//! What travels: names of places, packets, and control frames.

mod control;

pub(crate) use control::controls;
pub use control::{Content, Control, Message};

use crate::units::Bytes;
use backwater_engine::Time;
use backwater_engine::fingerprint::mix;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A number with a meaning of its own: to be compared, sent in a control frame and saved.
macro_rules! number {
    ($(#[$about:meta])+ $name:ident: $of:ident) => {
        $(#[$about])+
        #[derive(
            Clone,
            Copy,
            PartialEq,
            Eq,
            PartialOrd,
            Ord,
            Hash,
            Debug,
            FromBytes,
            IntoBytes,
            KnownLayout,
            Immutable,
            serde::Serialize,
            serde::Deserialize,
        )]
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

/// Those of some numbers that are classes, a bit each.
pub fn class_bits<'a>(numbers: impl IntoIterator<Item = &'a u8>) -> u8 {
    numbers.into_iter().filter(|class| usize::from(**class) < CLASSES).fold(0, |bits, class| bits | 1 << class)
}

number! {
    /// One of the 8 queues of an egress port.
    Queue: u8
}

impl From<Queue> for Class {
    /// The class of what leaves by the queue.
    fn from(queue: Queue) -> Class {
        Class(queue.0)
    }
}

/// How the way of a packet is given: where its pinned path begins in the table of paths, or one of two words.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub(crate) struct PathRef(pub u32);

impl PathRef {
    /// No path is pinned: each switch decides.
    pub const NONE: PathRef = PathRef(u32::MAX);
    /// ECMP decides, and all that it decides stands in the packet (`EcmpPaths` in `routing.rs`).
    pub const KNOWN: PathRef = PathRef(u32::MAX - 1);
}

/// A flow that is in progress. The number of the flow guards against a slot that was given to another flow since.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct FlowRef {
    /// A hash of the flow's identity: first, so that the order of flows does not depend on where their state lies.
    pub tag: u32,
    /// Where its state lies.
    pub slot: u32,
}

/// Number of classes and of queues per port.
pub const CLASSES: usize = 8;

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
    /// What its sender, or a switch that has cut it, says of it: [`DataHeader::ACK_REQUEST`] and those after it.
    pub flags: u8,
}

impl DataHeader {
    /// Flag: its sender asks for an acknowledgement at once (AR).
    pub const ACK_REQUEST: u8 = 1;
    /// Flag: it has been sent before.
    pub const RETRANSMISSION: u8 = 2;
    /// Flag: it was cut at the port to its receiver.
    pub const LAST_HOP: u8 = 4;
    /// Flag: a switch has cut its payload off. A flow without a byte has none to be cut.
    pub const CUT: u8 = 8;
    /// Flag of what an acknowledgement answers ([`Gap::Map`]): no packet of the flow, but a probe; its number stands for the offset.
    pub const PROBE: u8 = 16;

    /// Whether a flag is set.
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
    /// The host that acknowledges.
    pub src: HostId,
    /// \[bytes\] All of the flow before this offset has arrived.
    pub received: u64,
    /// What it tells beside that: with any of these but a map it is a NACK.
    pub gap: Option<Gap>,
}

impl AckHeader {
    /// Whether it tells of a loss.
    pub fn is_nack(&self) -> bool {
        self.gap.is_some_and(|gap| gap.is_loss())
    }

    /// Whether a switch has sent it: nothing has been received.
    #[inline(always)]
    pub fn is_returned(&self) -> bool {
        matches!(self.gap, Some(Gap::Returned { .. }))
    }
}

/// What a NACK tells of the packet that it answers, by the offset of that packet's first byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub enum Gap {
    /// It has come, and something before it is missing.
    Before(u64),
    /// It has come; what is before it may still be on its way.
    Beyond(u64),
    /// It has come without its payload.
    Trimmed(u64),
    /// It has come, and what this acknowledgement says of others lies beside it ([`Report`]). Such a one is no NACK.
    Map {
        /// That packet.
        at: u64,
        /// Its entropy value.
        ev: u16,
        /// Its flags.
        flags: u8,
    },
    /// The same of a packet that has come without its payload.
    Cut {
        /// That packet.
        at: u64,
        /// Its entropy value.
        ev: u16,
        /// Its flags.
        flags: u8,
    },
    /// It has not come: a switch that had no memory for it says so in the receiver's place, and knows nothing of the flow's other packets.
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
    /// Whether it tells of a loss.
    pub fn is_loss(&self) -> bool {
        !matches!(self, Gap::Map { .. })
    }
}

/// What an acknowledgement says of single packets, beside its header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Report {
    /// Number of the packet that the first bit of the map is about, counted in full packets from the flow's begin.
    pub first: u64,
    /// Bit i: the packet `first + i` has come.
    pub map: u64,
    /// \[bytes\] of frames that have come in all, none of them twice.
    pub counted: u64,
    /// Packets that have come beyond the first that has not.
    pub beyond: u64,
}

/// What carries a control frame, which lies beside the packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct ControlHeader {
    /// The node that sends it.
    pub from: NodeId,
    /// The host that it is for; `None`: it ends at the neighbour.
    pub to: Option<HostId>,
    /// Where its content lies.
    pub(crate) content: u32,
}

/// What a packet is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[repr(u8)]
pub enum Body {
    /// Payload of a flow.
    Data(DataHeader),
    /// Acknowledgement, or with a gap NACK.
    Ack(AckHeader),
    /// A control frame of a mechanism that waits in queues like data.
    Control(ControlHeader),
    /// MAC control, or a mechanism's frame in its place: goes before everything else and ends at the neighbour.
    Mac(ControlHeader),
}

number! {
    /// A differentiated services code point. The class selectors (RFC 2474, 4.2.2) are those used here: CS p, which is 8 p, is what a
    /// host writes into what it sends from its queue of priority p. Which class the network serves it in is another matter: several
    /// may be one class.
    Dscp: u8
}

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
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
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

    /// Whether the ECN field says that congestion was experienced.
    #[inline(always)]
    pub const fn is_marked(self) -> bool {
        self.0 & DsField::CE == DsField::CE
    }
}

/// A packet's header as the model knows it; payload bytes do not exist.
///
/// What every switch reads comes first, up to what kind of packet it is, so that it lies in one cache line of the slab: hence the
/// fixed order.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[repr(C)]
pub struct Packet {
    /// Hash of the packet's identity: breaks ties between simultaneous arrivals.
    pub uid: u64,
    /// Hash by which switches spread it over equal ways, where its path is not pinned (RFC 2992), or, with the path [`PathRef::KNOWN`], the way that
    /// they thereby give it. All data of a flow has the same.
    pub(crate) entropy: u64,
    /// Receiving host; of a frame that ends at the neighbour it says nothing ([`ControlHeader::to`]).
    pub dst: HostId,
    /// \[bytes\] Frame length as buffers count it: payload and headers, without preamble and inter-frame gap.
    pub size: u32,
    /// Where its pinned path begins in the path table, or [`PathRef::NONE`], or [`PathRef::KNOWN`].
    pub(crate) path: PathRef,
    /// Switches passed so far.
    pub(crate) hop: u8,
    /// Class on the current link; from a switch's `steer` on, that on the next one.
    pub class: Class,
    /// DS field. An ACK carries the data packet's mark.
    pub ds: DsField,
    /// What it is, and what only that has.
    pub body: Body,
    /// The flow that it belongs to (for control frames: the one it speaks of).
    pub flow: FlowRef,
    /// When the source sent it (an ACK echoes the data packet's).
    pub sent: Time,
    /// A word for the mechanism that claims the packet tag.
    pub tag: u64,
}

/// Where in a packet it is told what kind it is.
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
            body: Body::Control(header),
        }
    }

    /// The entropy of what is no data: of its addresses and the flow that it speaks of.
    pub(crate) fn entropy_of(src: HostId, dst: HostId, flow: FlowRef) -> u64 {
        mix(u64::from(src.0) << 32 | u64::from(dst.0)) ^ u64::from(flow.tag)
    }

    /// Switches spread it by this entropy value too, and its answer goes by it.
    pub fn spread_by(&mut self, ev: u16) {
        if let Body::Data(data) = &mut self.body {
            data.ev = ev;
            self.entropy = Packet::entropy_with(self.entropy, ev);
        }
    }

    /// Entropy of a packet with an entropy value; that of zero changes nothing.
    #[inline(always)]
    pub(crate) fn entropy_with(entropy: u64, ev: u16) -> u64 {
        if ev == 0 { entropy } else { Packet::mixed(entropy, ev) }
    }

    // Apart, or it is worked out where no value is, too.
    #[cold]
    #[inline(never)]
    fn mixed(entropy: u64, ev: u16) -> u64 {
        mix(entropy ^ u64::from(ev))
    }

    /// Its header as a data packet, where it is one.
    #[inline(always)]
    pub fn data(&self) -> Option<&DataHeader> {
        if let Body::Data(data) = &self.body { Some(data) } else { None }
    }

    /// Whether it is payload of a flow.
    #[inline(always)]
    pub fn is_data(&self) -> bool {
        matches!(self.body, Body::Data(_))
    }

    /// Whether it is what is left of a data packet whose payload a switch has cut off.
    #[inline(always)]
    pub fn is_cut(&self) -> bool {
        self.data().is_some_and(|data| data.is(DataHeader::CUT))
    }

    /// Whether it is MAC control.
    #[inline(always)]
    pub fn is_mac(&self) -> bool {
        matches!(self.body, Body::Mac(_))
    }

    /// Whether it is payload or an acknowledgement, which belong to their flow.
    pub fn is_of_flow(&self) -> bool {
        matches!(self.body, Body::Data(_) | Body::Ack(_))
    }

    /// Its header as a control frame, MAC control included.
    #[inline(always)]
    pub fn control_header(&self) -> Option<ControlHeader> {
        match self.body {
            Body::Control(header) | Body::Mac(header) => Some(header),
            Body::Data(_) | Body::Ack(_) => None,
        }
    }

    /// Where the content of a control frame lies from now on.
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

    /// Whether congestion was experienced.
    #[inline(always)]
    pub fn is_marked(&self) -> bool {
        self.ds.is_marked()
    }

    /// The queue of its host's interface that it leaves by.
    #[inline(always)]
    pub(crate) fn nic_queue(&self) -> Queue {
        Queue(self.ds.dscp().priority().0)
    }

    /// Sets congestion experienced, where the packet is ECN-capable.
    pub fn mark(&mut self) {
        if self.ecn() == Ecn::Ect {
            self.ds = DsField::new(self.ds.dscp(), Ecn::Ce);
        }
    }

    /// Cuts the payload off a data packet, whose frame keeps `least` bytes if it has them. Returns whether there was a payload.
    pub(crate) fn trim(&mut self, least: u32) -> bool {
        let Body::Data(data) = &mut self.body else { return false };
        self.size = (self.size - data.payload).max(least.min(self.size));
        let cut = std::mem::take(&mut data.payload) != 0;
        data.flags |= if cut { DataHeader::CUT } else { 0 };
        cut
    }

    /// The NACK that a switch sends to the source in place of a data packet, as long as that without its payload and in its class; its way
    /// is to be found. `None`: there was no payload.
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
