//! What a mechanism is to those who configure and check it: its parameters, claims, needs, and its sides at each node.

use super::advice::{Advice, AdviceError, AdviceForm, Incasts, Question, Situation};
use super::{
    Defines, FlowHooks, FlowShape, FlowSide, LinkHooks, NicHooks, NicShape, NicSide, PauseStyle, Steering, SwitchHooks,
    SwitchShape, SwitchSide,
};
use crate::model::packet::{Class, Control, HostId};
use crate::parameters::{Finding, Parameters};
use crate::units::{Bytes, Rate};
use backwater_engine::{State, Time};
use backwater_wire::address::Mac;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::any::TypeId;

/// Which flows of one host share a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum RateKey {
    /// Each flow has its own.
    Flow,
    /// All flows to one destination share one, and it is kept between flows.
    Dest(HostId),
    /// All flows of one class share one, and it is kept between flows.
    Class(Class),
}

/// What a mechanism, as configured, claims for itself alone. Two mechanisms with the same claim are refused at load, but for rate
/// limiters where the scenario lets them stand side by side: a flow then sends at the least of their rates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// It decides at what rate flows send.
    pub flow_rate: bool,
    /// It pauses and resumes a whole link.
    pub link_pause: bool,
    /// It decides in which queue a packet waits.
    pub steering: bool,
    /// It writes the packet tag.
    pub packet_tag: bool,
    /// It decides which of several paths a packet takes.
    pub path: bool,
    /// Packets carry its attachment.
    pub attachment: bool,
}

impl Claims {
    /// What `flow_rate` is called in messages.
    pub const FLOW_RATE: &str = "the sending rate of flows";

    /// No claim.
    pub const NONE: Claims = Claims {
        flow_rate: false,
        link_pause: false,
        steering: false,
        packet_tag: false,
        path: false,
        attachment: false,
    };

    /// The names of the claims that both make.
    pub fn clash(self, other: Claims) -> Vec<&'static str> {
        let both = [
            (self.flow_rate && other.flow_rate, Claims::FLOW_RATE),
            (self.link_pause && other.link_pause, "the pause state of the link"),
            (self.steering && other.steering, "the queue of a packet"),
            (self.packet_tag && other.packet_tag, "the packet tag"),
            (self.path && other.path, "the path of a packet"),
            (self.attachment && other.attachment, "what packets carry beside their headers"),
        ];
        both.into_iter().filter_map(|(clash, name)| clash.then_some(name)).collect()
    }
}

/// What a mechanism, as configured, cannot work without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Something that marks packets.
    pub marks: bool,
    /// Acknowledgements.
    pub acks: bool,
    /// These all the more, since they open its window: without, nothing is sent once it is full.
    pub window: bool,
    /// A transport that retransmits what is lost.
    pub recovery: bool,
    /// One that acknowledges single packets, and counts what is in flight.
    pub counts: bool,
}

/// Octets that a mechanism adds to every frame of a kind, whether they are used or not. They count as header, on every link and in every
/// buffer. A control frame has its length of its own ([`Control::size`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overhead {
    /// To data packets.
    pub data: Bytes,
    /// To acknowledgements.
    pub ack: Bytes,
}

impl Overhead {
    /// Of two.
    pub fn and(self, other: Overhead) -> Overhead {
        Overhead { data: self.data + other.data, ack: self.ack + other.ack }
    }
}

/// What a mechanism, as configured, does to others and asks of them. Written as what differs from nothing:
/// `Profile { marks: true, ..Profile::default() }`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// What it claims for itself alone. What claims the path picks one of several ([`SwitchSide::choose`]): data is then not pinned to
    /// one beforehand.
    pub claims: Claims,
    /// What it cannot work without.
    pub needs: Needs,
    /// Whether it marks packets.
    pub marks: bool,
    /// Whether packets of a flow overtake each other by its doing.
    pub reorders: bool,
    /// Classes that it promises never to drop: a bit each.
    pub lossless_classes: u8,
    /// What it may tell a switch's neighbours to pause by frames of MAC control: a bit for each class, and bit 8 for the whole link.
    pub pauses: u16,
    /// Classes that it pauses on single links, or in which its own frames travel: a bit each.
    pub classes: u8,
    /// Between which queues it moves flows, if it does.
    pub steering: Option<Steering>,
    /// Its longest frame beside MAC control; zero: it sends none.
    pub longest_message: Bytes,
    /// Its shortest frame, where that is shorter than [`Control::MIN_FRAME`].
    ///
    /// [`Control::MIN_FRAME`]: crate::model::packet::Control::MIN_FRAME
    pub shortest_message: Option<Bytes>,
    /// Whether all nodes share state of it ([`Mechanism::Shared`]): what one does another knows at the same instant.
    pub couples: bool,
    /// Whether it retransmits, over its link, what a fault has damaged there: such a fault loses nothing.
    pub repairs: bool,
    /// Whether switches tell of packets that find no memory, by cutting them.
    pub cuts: bool,
    /// Octets that it adds to every data packet and acknowledgement.
    pub overhead: Overhead,
    /// Whether it takes for granted that a host has one link: a switch acts for the hosts attached to it.
    pub one_link: bool,
}

/// A named set of parameter values with its source, as TOML text of the mechanism's table.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Name, as in `preset = "paper"`.
    pub name: &'static str,
    /// Where the values come from.
    pub source: &'static str,
    /// The values.
    pub toml: &'static str,
}

/// What an inspection of a mechanism's parameters knows of the run.
#[derive(Clone, Copy, Debug)]
pub struct CheckCx<'a> {
    /// Every switch.
    pub switches: &'a [SwitchShape],
    /// The switch's parameters, one for each of `switches`.
    pub switch_params: &'a [crate::config::SwitchParams],
    /// \[bytes\] per frame that only the link counts.
    pub gap: Bytes,
    /// By how much `packet.clock` may make the fastest link faster than its rate, as a fraction; (1, 1) without a clock.
    pub overrun: (u64, u64),
    /// Whether the scenario promises losslessness.
    pub lossless: bool,
    /// Queues between which some mechanism moves flows, a bit each.
    pub steered: u8,
    /// What any mechanism pauses on single links at these switches: bits as in [`Profile::pauses`].
    pub paused: u16,
    /// Classes that some mechanism keeps from being dropped at these switches, a bit each.
    pub kept: u8,
    /// How each mechanism that pauses neighbours there signals it, by its name.
    pub styles: &'a [(&'static str, PauseStyle)],
    /// Classes of the flows that the mechanism has, a bit each: all of them unless it is confined.
    pub flows: u8,
    /// The longest round trip of the idle network; `None`: no two hosts are joined.
    pub round_trip: Option<RoundTrip<'a>>,
    /// The way that passes most switches.
    pub longest_way: Option<LongestWay<'a>>,
    /// A mechanism that sends packets of one flow over several ways, if there is one.
    pub spread_by: Option<&'static str>,
    /// A mechanism by which switches cut packets that find no memory, if there is one.
    pub cut_by: Option<&'static str>,
    /// Classes of the data that the scenario names, a bit each.
    pub data: u8,
}

/// The way between hosts that passes most switches.
#[derive(Clone, Copy, Debug)]
pub struct LongestWay<'a> {
    /// Their number.
    pub switches: usize,
    /// Names of the two hosts.
    pub between: (&'a str, &'a str),
}

/// A round trip of the idle network.
#[derive(Clone, Copy, Debug)]
pub struct RoundTrip<'a> {
    /// From a full packet's first bit at its source to its acknowledgement's last bit there.
    pub time: Time,
    /// Names of the two hosts.
    pub between: (&'a str, &'a str),
}

/// A switch's memory as pause thresholds are worked out in it.
#[derive(Clone, Copy, Debug)]
pub struct MemoryCx<'a> {
    /// The switch's parameters.
    pub switch: &'a crate::config::SwitchParams,
    /// Rates of its ports.
    pub rates: &'a [Rate],
    /// Classes that some mechanism keeps from being dropped there, a bit each.
    pub kept: u8,
    /// The class of the frames; `None`: any that is paused.
    pub class: Option<u8>,
}

impl Default for CheckCx<'_> {
    /// Of a run without switches, gap, clock or promise.
    fn default() -> Self {
        CheckCx {
            switches: &[],
            switch_params: &[],
            gap: Bytes::ZERO,
            overrun: (1, 1),
            lossless: false,
            steered: 0,
            paused: 0,
            kept: 0,
            styles: &[],
            flows: u8::MAX,
            round_trip: None,
            longest_way: None,
            spread_by: None,
            cut_by: None,
            data: 0,
        }
    }
}

/// A parameter that nothing reads while another one has the value that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ineffective {
    /// Its key within the mechanism's table.
    pub key: &'static str,
    /// The key that decides.
    pub by: &'static str,
    /// With which values of that key it is read, as in "only with threshold = \"dynamic\"".
    pub only: &'static str,
}

impl Ineffective {
    /// Of each of several keys the same.
    pub fn all(keys: &[&'static str], by: &'static str, only: &'static str) -> Vec<Ineffective> {
        keys.iter().map(|key| Ineffective { key, by, only }).collect()
    }
}

/// How a control frame travels, beside its own octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// Ethernet, with this EtherType.
    Link(u16),
    /// The same behind a VLAN tag that carries the frame's class.
    Tagged(u16),
    /// IPv4 and UDP, to this port.
    Udp(u16),
    /// The same behind a VLAN tag that carries the frame's class.
    TaggedUdp(u16),
    /// The same over IPv6.
    TaggedUdp6(u16),
    /// IPv4 and UDP to the port of RoCEv2, ended by an ICRC.
    Roce,
}

/// What a mechanism may need to know to put a control frame of its own into octets.
#[derive(Clone, Copy, Debug)]
pub struct WireCx<'a> {
    /// Address of the node that speaks.
    pub speaker: Mac,
    /// Addresses of the flow that it speaks of: source and destination. Zeros where none is named, or it has ended.
    pub flow: (Mac, Mac),
    /// The first octets of a packet of that flow as its source sends it, from its IP header on: IP, UDP and BTH. Empty where none is
    /// named.
    pub packet: &'a [u8],
}

impl WireCx<'_> {
    /// What a message encapsulates of the packet: `before`, such as its EtherType, and the packet, at most `most` octets of both.
    /// Nothing where no packet is known.
    pub fn sample(&self, before: &[u8], most: usize) -> Vec<u8> {
        if self.packet.is_empty() {
            return Vec::new();
        }
        before.iter().chain(self.packet).copied().take(most).collect()
    }
}

/// A congestion-management mechanism: its name, its source, its parameters and its sides.
pub trait Mechanism {
    /// The TOML table, such as `pfc`.
    const NAME: &'static str;
    /// The document that defines it, such as `IEEE 802.1Qbb-2011`.
    const DEFINED_BY: &'static str;
    /// One line for lists.
    const SUMMARY: &'static str;
    /// Its parameters; every field documented with unit, default and source.
    type Params: DeserializeOwned + serde::Serialize + JsonSchema + Parameters + Clone + 'static;
    /// State that all nodes of a run may share. Where they do ([`Profile::couples`]) the run is not split by node.
    type Shared: Default + Clone + State;
    /// Its side at switches.
    type Switch: SwitchSide + Defines<SwitchHooks> + Defines<LinkHooks> + State;
    /// Its side at NICs.
    type Nic: NicSide + Defines<NicHooks> + Defines<LinkHooks> + State;
    /// Its side at flows.
    type Flow: FlowSide + Defines<FlowHooks> + State;
    /// What it has not done where it never acted, as in "never paused a neighbour"; said after its name, and before how near it came
    /// ([`super::Activity`]).
    const INACTIVE: &'static str;
    /// The same, where it depends on how it is configured.
    fn idle(_params: &Self::Params) -> &'static str {
        Self::INACTIVE
    }
    /// Kinds of control frames that it sends, beside MAC control.
    const FRAMES: &'static [&'static str] = &[];
    /// The type of what its frames say ([`Control::carrying`]): a run that is saved has some in progress.
    const MESSAGE: TypeId = TypeId::of::<()>();
    /// What the column `value` of the table of control messages holds of these, as in "of a CNM the quantised feedback".
    const VALUE: &'static str = "";
    /// Its counters of the table `counters`, each with what it counts.
    const COUNTERS: &'static str = "";
    /// Named parameter sets.
    const PRESETS: &'static [Preset] = &[];
    /// What [`Mechanism::advise`] may be asked; `None`: nothing.
    const ADVICE: Option<AdviceForm> = None;
    /// What it does to others and asks of them, as configured.
    fn profile(params: &Self::Params) -> Profile;
    /// Looks for values that cannot work or hold a promise; all are within their declared ranges. `params` belong to the switch of the
    /// same number in `cx`.
    fn check(_params: &Self::Params, _cx: &CheckCx<'_>) -> Vec<Finding> {
        Vec::new()
    }
    /// What is to be said of its defaults at a switch whose ports have other rates than those for which they were published. Each is a
    /// warning about one key; the first of those counts whose key has not been given.
    fn check_defaults(_params: &Self::Params, _shape: &SwitchShape) -> Vec<Finding> {
        Vec::new()
    }
    /// How it signals to a switch's neighbours that they are to pause; `None`: it never asks them to.
    fn pause_style(_params: &Self::Params) -> Option<PauseStyle> {
        None
    }
    /// Bytes from one port, all in one queue, with which it pauses that port's neighbour: the least of all ports of a switch; all may
    /// have come in at one port, as over an uplink. With it the key that decides. `None`: it pauses nothing there at a fixed number.
    fn pause_threshold(_params: &Self::Params, _cx: &MemoryCx<'_>) -> Option<(Bytes, &'static str)> {
        None
    }
    /// Whether its parameters suit the incasts at the switches that have them; what is fatal stops the run from starting.
    fn check_incasts(_params: &Self::Params, _incasts: &dyn Incasts) -> Vec<Finding> {
        Vec::new()
    }
    /// What a scenario answers of the questions in [`Mechanism::ADVICE`], by their keys; `params` are those at the receiver's
    /// switch, where it is on.
    fn facts(_params: Option<&Self::Params>, _situation: &Situation) -> Map<String, Value> {
        Map::new()
    }
    /// Answers a question of the form [`Mechanism::ADVICE`].
    ///
    /// # Errors
    /// Values that cannot be, or are missing.
    fn advise(_question: &Question) -> Result<Advice, AdviceError> {
        Err(AdviceError::new("this mechanism gives no advice"))
    }
    /// Parameters that nothing reads, as others have it.
    fn ineffective(_params: &Self::Params) -> Vec<Ineffective> {
        Vec::new()
    }
    /// Which flows share a controller.
    fn rate_key(_params: &Self::Params, _flow: &FlowShape) -> RateKey {
        RateKey::Flow
    }
    /// Appends one of its control frames to `octets`, from the first octet after the EtherType or UDP header on. `None`: the frame
    /// is another's. For captures only: nothing in a run depends on it.
    fn octets(_frame: &Control, _cx: &WireCx<'_>, _octets: &mut Vec<u8>) -> Option<Carrier> {
        None
    }
    /// Appends the tag of a data frame whose packet tag it wrote, from the first octet after the tag's EtherType to the last before
    /// the next one, and returns that EtherType. For captures only.
    fn tag_octets(_tag: u64, _octets: &mut Vec<u8>) -> Option<u16> {
        None
    }
    /// \[256 octets\] The credit target of a data frame whose packet tag it wrote, modulo 2^24, as headers of UET have it. For captures
    /// only.
    fn credit_target(_tag: u64) -> Option<u32> {
        None
    }
    /// Its side at this switch.
    fn switch(_params: &Self::Params, _shape: &SwitchShape) -> Option<Self::Switch> {
        None
    }
    /// Its side at this NIC.
    fn nic(_params: &Self::Params, _shape: &NicShape) -> Option<Self::Nic> {
        None
    }
    /// Its side at this flow.
    fn flow(_params: &Self::Params, _shape: &FlowShape, _shared: &Self::Shared) -> Option<Self::Flow> {
        None
    }
}
