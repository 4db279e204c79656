//! A mechanism as configuration and checks see it: its parameters, claims, needs, and its sides at each node.

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
use std::borrow::Cow;

/// The flows of one host that share a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum RateKey {
    /// Each flow has its own.
    Flow,
    /// All flows to one destination share one, and it is kept between flows.
    Dest(HostId),
    /// All flows of one class share one, and it is kept between flows.
    Class(Class),
}

/// The claims of a mechanism, as configured, for itself alone. Two mechanisms with the same claim are refused at load, except rate limiters
/// that the scenario allows side by side: a flow then sends at the lowest of their rates.
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
    /// The name of `flow_rate` in messages.
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

/// The needs of a mechanism, as configured: it does not work without them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Something that marks packets.
    pub marks: bool,
    /// Something that marks packets, or that sends congestion notification packets in place of marks ([`Profile::notifies`]).
    pub notified: bool,
    /// Something that lowers rates when a congestion notification packet arrives ([`Profile::heeds`]).
    pub heeded: bool,
    /// Acknowledgements.
    pub acks: bool,
    /// Acknowledgements that open its window: without them nothing is sent once it is full.
    pub window: bool,
    /// A transport that retransmits lost packets.
    pub recovery: bool,
    /// A transport that acknowledges single packets and counts what is in flight.
    pub counts: bool,
}

/// Octets that a mechanism adds to every frame of a kind, used or unused. They count as header on every link and in every buffer. A control
/// frame has its own length ([`Control::size`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overhead {
    /// To data packets.
    pub data: Bytes,
    /// To acknowledgements.
    pub ack: Bytes,
}

impl Overhead {
    /// The sum of two.
    pub fn and(self, other: Overhead) -> Overhead {
        Overhead { data: self.data + other.data, ack: self.ack + other.ack }
    }
}

/// The effects of a mechanism, as configured, on others, and its needs from them. Write only what differs from nothing: `Profile { marks:
/// true, ..Profile::default() }`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Its claims. A mechanism that claims the path picks one of several ([`SwitchSide::choose`]); data is then not pinned beforehand.
    pub claims: Claims,
    /// Its needs.
    pub needs: Needs,
    /// True if it marks packets.
    pub marks: bool,
    /// True if its switches send congestion notification packets of RoCEv2 to senders.
    pub notifies: bool,
    /// True if its flows react to congestion notification packets of RoCEv2, from a receiver or from a switch.
    pub heeds: bool,
    /// True if it lets packets of a flow overtake each other.
    pub reorders: bool,
    /// Classes that it promises never to drop: a bit each.
    pub lossless_classes: u8,
    /// Bits of what it may pause at a switch's neighbours by frames of MAC control: one for each class, and bit 8 for the whole link.
    pub pauses: u16,
    /// Classes that it pauses on single links, or in which its own frames travel: a bit each.
    pub classes: u8,
    /// The queues between which it moves flows, if it does.
    pub steering: Option<Steering>,
    /// Its longest frame beside MAC control; zero: it sends no frames.
    pub longest_message: Bytes,
    /// Its shortest frame, where that is shorter than [`Control::MIN_FRAME`].
    ///
    /// [`Control::MIN_FRAME`]: crate::model::packet::Control::MIN_FRAME
    pub shortest_message: Option<Bytes>,
    /// Why an action at one node is known to another one at the same instant, if it is: such a run is not split by node. Completes a sentence
    /// that begins with the mechanism's name.
    pub couples: Option<&'static str>,
    /// True if it retransmits over its link the frames that a fault has damaged there: such a fault loses nothing.
    pub repairs: bool,
    /// True if switches trim packets that find no memory, and so report them.
    pub cuts: bool,
    /// Octets that it adds to every data packet and acknowledgement.
    pub overhead: Overhead,
    /// True if it assumes that a host has one link: a switch acts for its attached hosts.
    pub one_link: bool,
}

/// A named set of parameter values with its source, as TOML text of the mechanism's table.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Name, as in `preset = "paper"`.
    pub name: &'static str,
    /// The source of the values.
    pub source: &'static str,
    /// The values.
    pub toml: &'static str,
}

/// The knowledge of the run that the check of a mechanism's parameters has.
#[derive(Clone, Copy, Debug)]
pub struct CheckCx<'a> {
    /// Every switch.
    pub switches: &'a [SwitchShape],
    /// The switch's parameters, one for each of `switches`.
    pub switch_params: &'a [crate::config::SwitchParams],
    /// \[bytes\] per frame that only the link counts.
    pub gap: Bytes,
    /// The largest factor by which `packet.clock` may make the fastest link faster than its rate, as a fraction; (1, 1) without a clock.
    pub overrun: (u64, u64),
    /// True if the scenario promises losslessness.
    pub lossless: bool,
    /// Queues between which some mechanism moves flows, a bit each.
    pub steered: u8,
    /// Bits of what mechanisms pause on single links at these switches, as in [`Profile::pauses`].
    pub paused: u16,
    /// Classes that some mechanism keeps from being dropped at these switches, a bit each.
    pub kept: u8,
    /// How each mechanism that pauses neighbours there signals its pauses, by its name.
    pub styles: &'a [(&'static str, PauseStyle)],
    /// Classes of the mechanism's flows, a bit each: all classes unless it is confined.
    pub flows: u8,
    /// The longest round trip of the idle network; `None`: no two hosts are connected.
    pub round_trip: Option<RoundTrip<'a>>,
    /// The path through the most switches.
    pub longest_way: Option<LongestWay<'a>>,
    /// A mechanism that sends packets of one flow over several paths, if any.
    pub spread_by: Option<&'static str>,
    /// A mechanism by which switches trim packets that find no memory, if any.
    pub cut_by: Option<&'static str>,
    /// Classes of the data that the scenario names, a bit each.
    pub data: u8,
}

impl<'a> CheckCx<'a> {
    /// Every memory of the switches with their parameters: a switch, and the same with the ports that use the memory: all, or those of a
    /// slice ([`crate::config::SwitchParams::slices`]).
    pub fn memories(
        &self,
    ) -> impl Iterator<Item = (&'a SwitchShape, Cow<'a, SwitchShape>, &'a crate::config::SwitchParams)> + use<'a> {
        self.switches.iter().zip(self.switch_params).flat_map(|(shape, switch)| {
            let of_slice = |slice: usize| {
                let ports = shape.ports.iter().enumerate();
                let own = ports.filter(|(port, _)| switch.slice_of(*port, shape.ports.len()) == slice);
                SwitchShape { ports: own.map(|(_, port)| port.clone()).collect(), ..shape.clone() }
            };
            let parts: Vec<Cow<'a, SwitchShape>> = match switch.slices {
                0 | 1 => vec![Cow::Borrowed(shape)],
                slices => (0..slices as usize).map(|slice| Cow::Owned(of_slice(slice))).collect(),
            };
            let used = parts.into_iter().filter(|part| !part.ports.is_empty());
            used.map(move |part| (shape, part, switch)).collect::<Vec<_>>()
        })
    }
}

/// The path between hosts through the most switches.
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

/// A switch's memory, as the calculation of pause thresholds sees it.
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
    /// A context without switches, gap, clock or promise.
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

/// A parameter that is not read because of another parameter's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ineffective {
    /// Its key within the mechanism's table.
    pub key: &'static str,
    /// The other parameter's key.
    pub by: &'static str,
    /// The values of that key with which it is read, as in "only with threshold = \"dynamic\"".
    pub only: &'static str,
}

impl Ineffective {
    /// The same reason for several keys.
    pub fn all(keys: &[&'static str], by: &'static str, only: &'static str) -> Vec<Ineffective> {
        keys.iter().map(|key| Ineffective { key, by, only }).collect()
    }
}

/// The encapsulation of a control frame.
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
    /// IPv6, a header of destination options, which are so many of the first octets, UDP to the port of RoCEv2, and an ICRC.
    Roce6(usize),
}

/// The data that a mechanism may need to encode one of its control frames.
#[derive(Clone, Copy, Debug)]
pub struct WireCx<'a> {
    /// Address of the sending node.
    pub speaker: Mac,
    /// Addresses of the flow that the frame names: source and destination. Zeros if it names no flow, or the flow has ended.
    pub flow: (Mac, Mac),
    /// The first octets of a packet of that flow as its source sends it, from its IP header on: IP, UDP and BTH. Empty if no flow is named.
    pub packet: &'a [u8],
}

impl WireCx<'_> {
    /// Returns the part of the packet that a message encapsulates: `before`, such as its EtherType, and the packet, at most `most` octets
    /// of both. Empty if no packet is known.
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
    /// State that all nodes of a run may share. A run with shared state ([`Profile::couples`]) is not split by node.
    type Shared: Default + Clone + State;
    /// Its side at switches.
    type Switch: SwitchSide + Defines<SwitchHooks> + Defines<LinkHooks> + State;
    /// Its side at NICs.
    type Nic: NicSide + Defines<NicHooks> + Defines<LinkHooks> + State;
    /// Its side at flows.
    type Flow: FlowSide + Defines<FlowHooks> + State;
    /// The text for a mechanism that never acted, as in "never paused a neighbour". Printed after its name, and before how near it came
    /// ([`super::Activity`]).
    const INACTIVE: &'static str;
    /// The same, if it depends on the configuration.
    fn idle(_params: &Self::Params) -> &'static str {
        Self::INACTIVE
    }
    /// Kinds of control frames that it sends, beside MAC control.
    const FRAMES: &'static [&'static str] = &[];
    /// The type of its frames' content ([`Control::carrying`]): a saved run may have some in flight.
    const MESSAGE: TypeId = TypeId::of::<()>();
    /// The meaning of the column `value` of the table of control messages for these frames, as in "of a CNM the quantised feedback".
    const VALUE: &'static str = "";
    /// Its counters of the table `counters`, each with its meaning.
    const COUNTERS: &'static str = "";
    /// Named parameter sets.
    const PRESETS: &'static [Preset] = &[];
    /// The questions that [`Mechanism::advise`] answers; `None`: it answers none.
    const ADVICE: Option<AdviceForm> = None;
    /// Returns what it does to others and needs from them, as configured.
    fn profile(params: &Self::Params) -> Profile;
    /// Looks for values that cannot work or break a promise; all values are within their declared ranges. `params` belong to the switch of
    /// the same number in `cx`.
    fn check(_params: &Self::Params, _cx: &CheckCx<'_>) -> Vec<Finding> {
        Vec::new()
    }
    /// Returns warnings about its defaults at a switch whose ports have other rates than those for which they were published. Each warning
    /// is about one key; only the first one whose key was not given counts.
    fn check_defaults(_params: &Self::Params, _shape: &SwitchShape) -> Vec<Finding> {
        Vec::new()
    }
    /// Returns how it signals pauses to a switch's neighbours; `None`: it never pauses them.
    fn pause_style(_params: &Self::Params) -> Option<PauseStyle> {
        None
    }
    /// Bytes from one port, all in one queue, at which it pauses that port's neighbour; and the key that decides it. This is the least
    /// value of all ports of a switch: all bytes may have arrived at one port, as over an uplink. `None`: it has no fixed threshold there.
    fn pause_threshold(_params: &Self::Params, _cx: &MemoryCx<'_>) -> Option<(Bytes, &'static str)> {
        None
    }
    /// Returns findings about its parameters for the incasts at the switches that have them. A fatal finding stops the run from starting.
    fn check_incasts(_params: &Self::Params, _incasts: &dyn Incasts) -> Vec<Finding> {
        Vec::new()
    }
    /// Returns the values of a scenario for the questions in [`Mechanism::ADVICE`], by their keys; `params` are those at the receiver's
    /// switch, if the mechanism is on there.
    fn facts(_params: Option<&Self::Params>, _situation: &Situation) -> Map<String, Value> {
        Map::new()
    }
    /// Answers a question of the form [`Mechanism::ADVICE`].
    ///
    /// # Errors
    /// Values that are invalid, or missing.
    fn advise(_question: &Question) -> Result<Advice, AdviceError> {
        Err(AdviceError::new("this mechanism gives no advice"))
    }
    /// Parameters that are not read because of other values.
    fn ineffective(_params: &Self::Params) -> Vec<Ineffective> {
        Vec::new()
    }
    /// Returns the key of the controller that the flow shares.
    fn rate_key(_params: &Self::Params, _flow: &FlowShape) -> RateKey {
        RateKey::Flow
    }
    /// Appends the octets of one of its control frames to `octets`, starting after the EtherType or UDP header. `None`: the frame belongs
    /// to another mechanism. For captures only: nothing in a run depends on it.
    fn octets(_frame: &Control, _cx: &WireCx<'_>, _octets: &mut Vec<u8>) -> Option<Carrier> {
        None
    }
    /// Appends the tag of a data frame whose packet tag it wrote, and returns the tag's EtherType. The octets go from the first after that
    /// EtherType to the last before the next one. For captures only.
    fn tag_octets(_tag: u64, _octets: &mut Vec<u8>) -> Option<u16> {
        None
    }
    /// \[256 octets\] The credit target of a data frame whose packet tag it wrote, modulo 2^24, as in UET headers. For captures only.
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
