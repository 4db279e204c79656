//! The parameters of the stage: frames, acknowledgements, switches, NICs. `backwater explain` prints each field's text; units are part of
//! the types.

use crate::model::packet::{Control, class_bits};
use crate::units::{Bytes, Rate};
use backwater_derive::parameters;
use backwater_engine::Time;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;

/// Sizes of frames on links.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct PacketParams {
    /// Most payload bytes in one data packet. A flow's last packet carries the rest.
    #[param(default = Bytes(4096), range_text = "1 B to 1 MiB", source = "choice: 4 KB, as in SFC-AIDC 2025 (contribution on IEEE P802.1Qdw)")]
    pub payload: Bytes,
    /// Bytes of headers and trailers of a data packet that buffers and links count: Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4.
    #[param(default = Bytes(62), range_text = "0 B to 1 MiB", source = "RoCEv2, InfiniBand annex A17")]
    pub header: Bytes,
    /// Bytes per frame that only the link counts: preamble 8 and inter-frame gap 12. Several published models leave them out.
    #[param(default = Bytes(20), range_text = "0 B to 1 MiB", source = "IEEE 802.3 clause 4A.4.2")]
    pub gap: Bytes,
    /// Clock tick of links: times on a link are rounded down to whole multiples of it, as in simulators with a coarse clock. A link may
    /// then carry up to twice its rate. Absent: exact. Only to reproduce results of such simulators.
    #[param(
        range_text = "1 ps to below the time of the shortest frame on the fastest link",
        source = "choice; public ns-3 RDMA code: 1 ns"
    )]
    pub clock: Option<Time>,
}

impl PacketParams {
    /// Bytes on the wire of a flow's packets: `bytes` of payload in as few packets as possible.
    pub fn on_wire(&self, bytes: u64) -> u64 {
        let packets = bytes.div_ceil(self.payload.0.max(1));
        bytes.saturating_add(packets.saturating_mul(self.header.0 + self.gap.0))
    }

    /// Octets on the wire of the shortest frame: data with so much payload, an acknowledgement (of length `ack`, if there are any), or a
    /// control frame. At least one byte: a frame is never empty.
    pub fn shortest(&self, payload: Bytes, ack: Option<Bytes>) -> Bytes {
        let control = Bytes(u64::from(Control::MIN_FRAME));
        let frames = (self.header + payload).min(control).min(ack.unwrap_or(control));
        (frames + self.gap).max(Bytes(1))
    }

    /// \[bytes\] Payload of the last packet of a message of so many bytes.
    pub fn last_payload(&self, bytes: Bytes) -> Bytes {
        let payload = self.payload.0.max(1);
        Bytes(bytes.0 - bytes.0.saturating_sub(1) / payload * payload)
    }

    /// The largest factor by which the clock may make a link faster than its `rate`, as a fraction, if no frame is shorter than `shortest`.
    /// A frame that takes between k and k + 1 ticks takes k: at most (k + 1) / k, the most for the shortest.
    pub fn overrun(&self, shortest: Bytes, rate: Rate) -> (u64, u64) {
        let Some(clock) = self.clock else { return (1, 1) };
        let ticks = (rate.time_for(shortest).0 / clock.0.max(1)).max(1);
        (ticks.saturating_add(1), ticks)
    }
}

/// Path of acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AckPath {
    /// The data's path, backwards.
    Reverse,
    /// A path of their own by the ECMP hash.
    Ecmp,
}

/// Acknowledgements of data packets.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct AckParams {
    /// Whether receivers acknowledge. `false`: a flow is complete when its last byte has arrived.
    #[param(default = true, source = "choice: RoCEv2 reliable connections acknowledge")]
    pub enabled: bool,
    /// Frame length of an acknowledgement: Ethernet 14, IPv4 20, UDP 8, BTH 12, AETH 4, ICRC 4, FCS 4.
    #[param(default = Bytes(66), range_text = "1 B to 1 MiB", source = "RoCEv2, InfiniBand annex A17")]
    pub size: Bytes,
    /// Class of acknowledgements, 0 to 7; absent: the data's class.
    #[param(bounds = 0..=7, source = "choice")]
    pub class: Option<u8>,
    /// Path of acknowledgements: `reverse` (the data's path backwards) or `ecmp` (a path of their own by the ECMP hash).
    #[param(default = AckPath::Ecmp, source = "choice: what RoCEv2 over ECMP does")]
    pub path: AckPath,
    /// Whether a host sends acknowledgements and control messages before its data.
    #[param(default = true, source = "choice: ns-3 and htsim models of NICs")]
    pub first_at_nic: bool,
    /// Data packets per acknowledgement. The last packet of a flow is acknowledged at once, and with recovery also a packet that arrives a
    /// second time.
    #[param(default = 1, bounds = 1..=65_535, source = "choice: 1; RoCEv2 leaves it to the sender's AckReq bit")]
    pub every: u32,
    /// With `transport.recovery = "rud"` instead of `every`: bytes of frames, headers included, that arrive before a receiver acknowledges
    /// a packet that does not request it.
    #[param(default = Bytes(16_384), range_text = "1 B and more", source = "UEC's transport in uet-htsim: 16384 B")]
    pub bytes: Bytes,
    /// Whether the first packet of a flow is acknowledged at once if several packets share an acknowledgement; the next shared
    /// acknowledgement covers the `every` packets after it.
    #[param(
        default = false,
        source = "off: choice; on: UEC's transport in uet-htsim, by which a sender learns the round trip"
    )]
    pub first_packet: bool,
}

impl AckParams {
    /// The initial count of unacknowledged packets of a flow before its first packet, so that its first one is the last of `every`.
    pub(crate) fn pending_at_first(&self) -> u16 {
        let before = self.every.saturating_sub(1);
        if self.first_packet { u16::try_from(before).unwrap_or(u16::MAX) } else { 0 }
    }

    /// Payload that is acknowledged together. With a narrower window the receiver would wait for packets that the sender may not send.
    pub fn together(&self, payload: Bytes) -> Bytes {
        Bytes(payload.0 * u64::from(self.every.max(1)))
    }
}

/// Loss recovery of connections, and the most bytes that they leave unacknowledged.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct TransportParams {
    /// Loss recovery: `none`, `go-back-n` (retransmits all packets from the gap on), `selective-repeat` (retransmits the missing packets
    /// only), or `rud` (the same with an acknowledgement for each packet, as in UEC's transport).
    #[param(default = Recovery::None, source = "choice: none, for lossless networks; RoCEv2 NICs: go-back-n (InfiniBand volume 1, 9.7); rud: UEC 1.0, reliable unordered delivery, as in uet-htsim")]
    pub recovery: Recovery,
    /// Meaning of frames that are lost for good, because nothing retransmits them or `retries` are used up: `unexpected` (the run counts as
    /// incomplete) or `expected` (a normal outcome, except for jobs that wait for these frames without end).
    #[param(default = Losses::Unexpected, source = "Backwater's own")]
    pub loss: Losses,
    /// Whether a receiver treats a packet beyond a gap as the sign of a loss, and reports it at once. `false`: the receiver places packets
    /// as they arrive, in any order, and only a timeout or a trimmed packet shows a loss; for `selective-repeat`.
    #[param(
        default = true,
        source = "InfiniBand volume 1, 9.7.5: true; false: transports made for multipath, such as MRC and UET (Ultra Ethernet 1.0)"
    )]
    pub in_order: bool,
    /// Go-back-n: time after which a receiver reports a gap again, if a packet arrives and the reported one is still missing. Absent: once
    /// for each gap.
    #[param(
        range_text = "1 ps and more; a round-trip time and more",
        source = "InfiniBand volume 1, 9.7: one NAK until the expected packet has come; public ns-3 RDMA code: 500 us"
    )]
    pub nack_interval: Option<Time>,
    /// Time without progress after which all unacknowledged packets are retransmitted.
    #[param(default = Time::ms(1), range_text = "1 ns and more", source = "choice; RoCEv2: 4.096 us x 2^(Local ACK Timeout)")]
    pub timeout: Time,
    /// Number of timeouts in a row without progress that a flow survives; it fails at the next one. `unlimited`: it never fails.
    #[serde(with = "retries")]
    #[schemars(with = "retries::Written")]
    #[param(default = Some(7), unit = "a number", range_text = "0 and more, or `unlimited`", source = "InfiniBand volume 1, 9.7.6: Retry Count, at most 7")]
    pub retries: Option<u32>,
    /// Most payload bytes that a flow may leave unacknowledged: a size, or `bdp`, the flow's own line rate times its round-trip time in an
    /// idle network. Absent: no limit.
    #[param(
        range_text = "packet.payload x ack.every and more",
        source = "choice; HPCC ns-3 code: the bandwidth-delay product"
    )]
    pub window: Option<Window>,
    /// Whether the window shrinks with the sending rate: window x rate / line rate.
    #[param(default = false, source = "choice; HPCC ns-3 code: VAR_WIN")]
    pub window_scaling: bool,
}

impl TransportParams {
    /// Returns whether lost packets are retransmitted.
    #[inline(always)]
    pub fn retransmits(&self) -> bool {
        self.recovery != Recovery::None
    }

    /// Returns whether packets are acknowledged one by one, in any order, with the headers of UET.
    pub fn acknowledges_packets(&self) -> bool {
        self.recovery == Recovery::Rud
    }
}

/// A number of retries as it is written: `None` is `unlimited`.
mod retries {
    use schemars::JsonSchema;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

    const UNLIMITED: &str = "unlimited";

    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(untagged, expecting = "retries: a number from 0 on, or \"unlimited\"")]
    pub(super) enum Written {
        Number(u32),
        Word(String),
    }

    pub(super) fn serialize<S: Serializer>(retries: &Option<u32>, s: S) -> Result<S::Ok, S::Error> {
        retries.map_or_else(|| Written::Word(UNLIMITED.into()), Written::Number).serialize(s)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<u32>, D::Error> {
        match Written::deserialize(d)? {
            Written::Number(number) => Ok(Some(number)),
            Written::Word(word) if word == UNLIMITED => Ok(None),
            Written::Word(word) => Err(de::Error::custom(format!(
                "{word:?} is no number of retries: a number from 0 on, or {UNLIMITED:?}"
            ))),
        }
    }
}

/// Packets that are retransmitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// None: for networks without loss.
    None,
    /// All packets from the first gap on: receivers drop packets beyond it.
    GoBackN,
    /// Missing packets: receivers keep packets beyond a gap.
    SelectiveRepeat,
    /// Missing packets, with packets acknowledged one by one in any order (UEC's reliable unordered delivery).
    Rud,
}

/// Whether frames may be lost for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Losses {
    /// They may not: a run that cannot complete because of losses counts as incomplete.
    Unexpected,
    /// They may: the scenario examines losses.
    Expected,
}

/// Most that a flow may have unacknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// So many payload bytes.
    Bytes(Bytes),
    /// Line rate times round-trip time of the flow's path when idle.
    Bdp,
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Window::Bytes(bytes) => bytes.fmt(f),
            Window::Bdp => f.write_str("bdp"),
        }
    }
}

impl Serialize for Window {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Window {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Window, D::Error> {
        let text = Cow::<'_, str>::deserialize(d)?;
        match text.trim() {
            "bdp" => Ok(Window::Bdp),
            size => size.parse().map(Window::Bytes).map_err(de::Error::custom),
        }
    }
}

impl JsonSchema for Window {
    fn schema_name() -> Cow<'static, str> {
        "Window".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "x-unit": "`bdp`, or a size (B, KB = 1000 B, MB, …)", "examples": ["100 KB", "bdp"] })
    }
    fn inline_schema() -> bool {
        true
    }
}

/// Architecture of a switch. Each has all accounts; queues and schedulers differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Architecture {
    /// A frame joins the queue of its egress port on arrival; only that queue delays it.
    OutputQueued,
    /// One first-in first-out queue per ingress port and class, whose head waits for a free egress: head-of-line blocking.
    InputQueued,
    /// Virtual output queues: one queue per ingress, egress and class, matched by iSLIP over a crossbar.
    Voq,
    /// As output-queued, in one memory with dynamic thresholds per (ingress, class) and per (egress, queue).
    SharedMemory,
}

/// Unit of the memory that `buffer` limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BufferPer {
    /// The whole switch.
    Switch,
    /// The frames that arrived at one ingress port.
    Ingress,
    /// The frames that wait for one egress port.
    Egress,
    /// The frames that wait in one queue of one egress port.
    Queue,
    /// None: unlimited memory.
    None,
}

impl BufferPer {
    /// Returns whether an ingress has its own part of a buffer: an arriving frame then determines which memory it will take.
    pub fn is_carved(self) -> bool {
        matches!(self, BufferPer::Switch | BufferPer::Ingress)
    }

    /// Its name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            BufferPer::Switch => "switch",
            BufferPer::Ingress => "ingress",
            BufferPer::Egress => "egress",
            BufferPer::Queue => "queue",
            BufferPer::None => "none",
        }
    }
}

/// Where a frame spends the switch's fixed latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LatencyAt {
    /// Before any counter has seen the frame.
    Input,
    /// Between the ingress counter and the egress queue.
    Fabric,
    /// After both counters, before it may be transmitted.
    Output,
}

impl LatencyAt {
    /// The share of a switch's latency that a frame spends before any counter sees it.
    pub(crate) fn before_counters(self, latency: Time) -> Time {
        if self == LatencyAt::Input { latency } else { Time::ZERO }
    }
}

/// When a departing frame leaves the counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReleaseAt {
    /// When its first bit leaves.
    Start,
    /// When its last bit has left.
    End,
}

/// Packet that is lost if the memory holds only one of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Victim {
    /// The arriving packet.
    Arriving,
    /// With probability 1/2 the arriving packet, otherwise the newest in its queue.
    Either,
}

/// A switch. May be overridden per tier, group or node with `[[switch.at]]`.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchParams {
    /// Architecture of the switch: `output-queued`, `input-queued`, `voq` or `shared-memory`.
    #[param(default = Architecture::OutputQueued, source = "choice")]
    pub architecture: Architecture,
    /// Fixed time that the switch takes to process a frame.
    #[param(default = Time::ns(300), range_text = "0 s and more", source = "SFC-AIDC 2025 (contribution on IEEE P802.1Qdw): 300 ns")]
    pub latency: Time,
    /// Place of the latency: `input` (before any counter), `fabric` (between ingress counter and egress queue), `output` (after both).
    #[param(default = LatencyAt::Output, source = "choice: a frame is counted as long as it needs memory")]
    pub latency_at: LatencyAt,
    /// When counters decrease: at the `start` or the `end` of a frame's transmission.
    #[param(default = ReleaseAt::End, source = "choice: htsim counts so; ns-3 has start")]
    pub release_at: ReleaseAt,
    /// Packet memory of each unit of `buffer_per`.
    #[param(default = Bytes(32_000_000), range_text = "1 B and more", source = "choice: 32 MB, a common shared-memory switch")]
    pub buffer: Bytes,
    /// Unit that `buffer` limits: the whole `switch`, the frames of one `ingress` port, those for one `egress` port, those in one `queue`
    /// of an egress port, or `none` (unlimited memory).
    #[param(default = BufferPer::Switch, source = "choice")]
    pub buffer_per: BufferPer,
    /// With `buffer_per = "queue"`: packet memory of each of the 8 queues of an egress port, queue 0 first. Absent: `buffer` for each.
    #[param(
        range_text = "one frame and more each",
        source = "choice: all alike; htsim_uec: data C, and headers and control 2 C of their own"
    )]
    pub queue_buffers: Option<[Bytes; 8]>,
    /// Packet that is lost for want of memory: the `arriving` one (drop tail), or `either`: with probability 1/2 the newest packet that
    /// waits in its queue. `either` needs output queues and `buffer_per` = `queue` or `egress`.
    #[param(default = Victim::Arriving, source = "choice: drop tail; htsim_uec, CompositeQueue: either")]
    pub victim: Victim,
    /// Unit in which the memory holds a frame: every account of the switch counts a frame as whole cells, without the gap. 1 B: by its
    /// length.
    #[param(
        default = Bytes(1),
        range_text = "1 B to 65536 B",
        source = "choice; SONiC sonic-mgmt, qos_params: 208 B (Tomahawk), 254 B (Tomahawk 5), 256 B (Trident 3)"
    )]
    pub cell: Bytes,
    /// With `buffer_per = "switch"`: number of equal parts into which the memory is cut. Each ingress port uses one of them alone; the first
    /// ports the first part, and so on. A queue is one for all parts.
    #[param(
        default = 1, bounds = 1..=16,
        source = "1: choice; sonic-mgmt, qos_params: pause thresholds of Tomahawk fit 4 parts, those of Tomahawk 5 two"
    )]
    pub slices: u32,
    /// Memory set aside for each (ingress port, class), used before shared memory.
    #[param(default = Bytes::ZERO, range_text = "8 classes of all ports within the buffer", source = "choice; HPCC ns-3 switch: 4 KB")]
    pub reserve: Bytes,
    /// Classes that have a `reserve`, each 0 to 7. Absent: all.
    #[param(
        range_text = "classes 0 to 7",
        source = "choice: all; SONiC, BUFFER_PG: only priority groups of a profile with a size"
    )]
    pub reserve_classes: Option<Vec<u8>>,
    /// Memory set aside for each (ingress port, lossless class), used if shared memory is refused. With `headroom_pool`: the most of it that
    /// each may use.
    #[param(default = Bytes::ZERO, range_text = "all ports within the buffer", source = "choice; `backwater advise` computes it")]
    pub headroom: Bytes,
    /// With `buffer_per = "switch"`: memory that the headrooms of all ports share, in equal parts for slices. Each (port, class) may use
    /// `headroom` of it. Absent: each has its own.
    #[param(
        range_text = "within the buffer",
        source = "choice: each its own; SONiC, BUFFER_POOL: xoff, a shared headroom pool"
    )]
    pub headroom_pool: Option<Bytes>,
    /// Shared memory: a lossy frame is refused if its (ingress, class) holds more than this times the free shared memory.
    #[param(default = 8.0, bounds = 0.0.., source = "Choudhury and Hahne, IEEE/ACM ToN 1998")]
    pub alpha_ingress: f64,
    /// Shared memory: a lossy frame is refused if its (egress, queue) holds more than this times the free shared memory.
    #[param(default = 1.0, bounds = 0.0.., source = "Choudhury and Hahne, IEEE/ACM ToN 1998")]
    pub alpha_egress: f64,
    /// Shared memory: bytes that a lossy (egress, queue) may hold beyond `alpha_egress` times the free shared memory. It is part of a limit:
    /// nothing is set aside.
    #[param(default = Bytes::ZERO, range_text = "0 B and more", source = "choice; sonic-mgmt, qos_params: 7 or 8 cells (Trident 3, Tomahawk)")]
    pub queue_reserve: Bytes,
    /// Shared memory: bytes beyond which a lossy frame is refused by its (egress, queue), however much memory is free. Absent: no such limit.
    #[param(range_text = "1 B and more", source = "SONiC, BUFFER_PROFILE: static_th of an egress profile")]
    pub queue_limit: Option<Bytes>,
    /// Shared memory: share of an ingress port, as a multiple of the free shared memory. Dynamic thresholds of its classes (`alpha_ingress`,
    /// `headroom_above`, `pfc.alpha`) are then shares of what is left of it. Only with `buffer_per` = `switch` or `ingress`. Absent: shares
    /// of the free shared memory.
    #[param(bounds = 0.0.., source = "SONiC, BUFFER_PORT_INGRESS_PROFILE_LIST: Spectrum has thresholds of port and priority group at once")]
    pub alpha_port: Option<f64>,
    /// Shared memory: limit of a lossless (port, class), as a multiple of the free shared memory. Frames beyond it use the headroom, which
    /// drains first; use the value of `pfc.alpha`. Absent: headroom is used when the shared memory is full.
    #[param(bounds = 0.0.., source = "HPCC ns-3 switch-mmu: 1/8 at the rate of the interfaces")]
    pub headroom_above: Option<f64>,
    /// Port rate for which `headroom`, `headroom_above` and the memory of egress ports and queues are given; all scale in proportion at
    /// ports of other rates. Absent: the same values at all ports.
    #[param(
        range_text = "1 b/s and more",
        source = "HPCC ns-3 configuration: 37.5 KB and 1/8 at 100 Gb/s, 150 KB and 1/2 at 400 Gb/s; uet-htsim: a slow link has its part of the queue"
    )]
    pub reference_rate: Option<Rate>,
    /// DWRR weight of each of the 8 queues, queue 0 first; queues of weight 0 are served before all others, the highest number first.
    /// Absent: strict priority for all.
    #[param(range_text = "0 to 2^32 - 1 each", source = "Shreedhar and Varghese, SIGCOMM 1995; default: choice")]
    pub weights: Option<[u32; 8]>,
    /// Crossbar: rate of the fabric as a multiple of the faster of the two links. Absent: 1 for `input-queued`, 2 for `voq`.
    #[param(bounds = 1.0..=16.0, source = "Chuang, Goel, McKeown and Prabhakar, IEEE JSAC 1999: 2 emulates output queues")]
    pub speedup: Option<f64>,
    /// Crossbar: number of iterations of the matching.
    #[param(default = 4, bounds = 1..=16, source = "McKeown, IEEE/ACM ToN 1999: log2 of the ports suffice")]
    pub iterations: u32,
    /// Crossbar: bytes that may wait behind the crossbar in each queue of an egress port.
    #[param(default = Bytes(16_000), range_text = "one frame and more", source = "choice: about four frames")]
    pub staging: Bytes,
}

impl SwitchParams {
    /// The latency that a frame spends before any counter sees it.
    pub(crate) fn latency_before_counters(&self) -> Time {
        self.latency_at.before_counters(self.latency)
    }

    /// Packet memory of one unit of `buffer_per`. If queues have memories of their own: the least of those of `classes` (a bit each), or of
    /// all if `classes` is empty.
    pub fn buffer_of(&self, classes: u8) -> Bytes {
        let Some(sizes) = self.queue_buffers.filter(|_| self.buffer_per == BufferPer::Queue) else {
            return self.buffer;
        };
        let named = |queue: usize| classes == 0 || classes & (1 << queue) != 0;
        let least = (0..sizes.len()).filter(|queue| named(*queue)).map(|queue| sizes[queue]).min();
        least.unwrap_or(self.buffer)
    }

    /// The part of a slice in the memory that headrooms share.
    pub fn slice_headroom(&self) -> Option<Bytes> {
        let pool = self.headroom_pool.filter(|_| self.headroom > Bytes::ZERO)?;
        Some(Bytes(pool.0 / u64::from(self.slices.max(1))))
    }

    /// [`SwitchParams::headroom_at`] if each has its own, otherwise nothing.
    pub fn own_headroom_at(&self, rate: Rate) -> Bytes {
        if self.slice_headroom().is_some() { Bytes::ZERO } else { self.headroom_at(rate) }
    }

    /// Packet memory of a slice.
    pub(crate) fn slice_buffer(&self) -> Bytes {
        Bytes(self.buffer.0 / u64::from(self.slices.max(1)))
    }

    /// [`SwitchParams::buffer_of`], or the part of a slice in it.
    pub fn memory_of(&self, classes: u8) -> Bytes {
        if self.slices > 1 { self.slice_buffer() } else { self.buffer_of(classes) }
    }

    /// The slice of a port of a switch with so many.
    pub(crate) fn slice_of(&self, port: usize, ports: usize) -> usize {
        port * self.slices.max(1) as usize / ports.max(1)
    }

    /// Returns whether a waiting packet may give its memory to an arriving one: both use memory of their egress. Also true if memory is
    /// unlimited.
    pub fn may_give_way(&self) -> bool {
        match self.buffer_per {
            BufferPer::Queue | BufferPer::Egress => self.architecture == Architecture::OutputQueued,
            BufferPer::None => true,
            BufferPer::Switch | BufferPer::Ingress => false,
        }
    }

    /// The key that gives [`SwitchParams::buffer_of`].
    pub fn buffer_key(&self) -> &'static str {
        if self.queue_buffers.is_some() { "switch.queue_buffers" } else { "switch.buffer" }
    }

    /// Returns the most bytes that may wait for one egress port, at least for each of its queues, if the switch limits them: for the
    /// slowest of ports of these rates.
    pub fn port_buffer(&self, rates: impl Iterator<Item = Rate>) -> Option<Bytes> {
        let slowest = rates.min().filter(|_| matches!(self.buffer_per, BufferPer::Egress | BufferPer::Queue))?;
        Some(self.buffer_of(0).at_rate(slowest, self.reference_rate))
    }

    /// Classes that have a reserve, a bit each.
    pub fn reserved_classes(&self) -> u8 {
        self.reserve_classes.as_ref().map_or(u8::MAX, class_bits)
    }

    /// Memory that the reserves of so many ports take.
    pub fn reserves(&self, ports: usize) -> Bytes {
        let accounts = u64::from(self.reserved_classes().count_ones()) * ports as u64;
        Bytes(self.reserve.0.saturating_mul(accounts))
    }

    /// Headroom of a lossless class at a port of `rate`.
    pub fn headroom_at(&self, rate: Rate) -> Bytes {
        self.headroom.at_rate(rate, self.reference_rate)
    }

    /// [`SwitchParams::headroom_above`] at a port of `rate`.
    pub fn headroom_above_at(&self, rate: Rate) -> Option<f64> {
        let share = self.reference_rate.map_or(1.0, |reference| rate.0 as f64 / reference.0.max(1) as f64);
        self.headroom_above.map(|above| above * share)
    }
}

/// How a host with several links chooses one for a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LinkChoice {
    /// By the flow's hash, as ECMP chooses.
    Hash,
    /// The link with the fewest bytes of flows in progress there; the first of several with equally few.
    LeastLoaded,
    /// The link whose number the flow has as its `link`; without one, the flow's number modulo the number of links.
    Index,
}

/// What a flow sends before the next flow of its class has a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NicTurn {
    /// One packet.
    Packet,
    /// All packets that it may send.
    Message,
}

/// A host's network interface.
#[parameters]
#[derive(Clone, Debug, PartialEq)]
pub struct NicParams {
    /// Data frames that may wait in the transmit queue, without the one on the wire. With 1 the interface requests a flow's next frame when
    /// the wire is free.
    #[param(default = 1, bounds = 1..=1024, source = "choice: the shortest")]
    pub tx_queue: u32,
    /// What a flow sends before the next flow of its class has a turn: one `packet`, or its whole `message`. A flow that may not send, because
    /// of a window, a rate or a pause, loses its turn.
    #[param(default = NicTurn::Packet, source = "choice: round robin, as the ns-3 code of HPCC; message: first come, first served")]
    pub turn: NicTurn,
    /// Packets that each of the 8 classes sends in its turn when several classes have packets to send; classes of weight 0 go before all
    /// others, the highest first. Absent: strict priority for all.
    #[param(
        range_text = "0 to 2^32 - 1 each",
        source = "weighted round robin, Katevenis, Sidiropoulos and Courcoubetis, IEEE JSAC 1991; default: choice"
    )]
    pub weights: Option<[u32; 8]>,
    /// Number of acknowledgements and control messages that a host sends for each data packet when both wait at its interface: one of
    /// `control_turns` + 1 packets is then data. If only one kind waits, it leaves at once. Only with `ack.first_at_nic`. Absent: data
    /// waits until no acknowledgement or control message does.
    #[param(bounds = 1..=1024, source = "htsim_uec (ultraethernet/uet-htsim 40ccb052), UecNIC: 10; default: choice, as the other models of NICs")]
    pub control_turns: Option<u32>,
    /// Whether the interface fetches the whole first frame of a flow from memory, at the link's rate, before its first bit leaves: this
    /// takes one packet time more per flow.
    #[param(default = false, source = "choice; SFC-AIDC 2025 shows one packet time in its digits")]
    pub store_and_forward: bool,
    /// How a flow of a host with several links gets its link, among the links that are up and on a shortest path: `hash`, `least-loaded` or
    /// `index`.
    #[param(default = LinkChoice::Hash, source = "choice: ECMP's, as bonded interfaces do (IEEE 802.1AX distributes conversations)")]
    pub link: LinkChoice,
    /// Time from the arrival of a forwarded control message at its host until it takes effect, for all hosts that `[[nic.at]]` does not
    /// name.
    #[param(default = Time::ZERO, range_text = "0 s to 100 ms", source = "choice: none; IEEE 802.1Qau studies speak of 100 to 500 us of control loop delay")]
    pub control_delay: Time,
    /// Time that an interface takes to issue one message. It issues them one after the other; a flow begins when its message has been
    /// issued. For all hosts that `[[nic.at]]` does not name.
    #[param(default = Time::ZERO, range_text = "0 s to 100 ms", source = "the gap g of LogGP (Alexandrov, Ionescu, Schauser and Scheiman, SPAA 1995); default: choice, none")]
    pub issue: Time,
    /// Rate at which a host's memory feeds its interfaces, each of them: a data frame begins at the earliest when the payload of the frame
    /// before has been fetched. Absent: faster than any link.
    #[param(
        bounds = Rate(1).., range_text = "at least 1 b/s",
        source = "the gap per byte G of LogGP (Alexandrov, Ionescu, Schauser and Scheiman, SPAA 1995), at the memory of a GPU; default: choice, none"
    )]
    pub feed_rate: Option<Rate>,
}

/// Differences at the interfaces of one host; `None`: no difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NicTimes {
    /// See [`NicParams::control_delay`].
    pub control_delay: Option<Time>,
    /// See [`NicParams::issue`].
    pub issue: Option<Time>,
}
