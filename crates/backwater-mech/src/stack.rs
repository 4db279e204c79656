//! From a list of mechanisms to the types of a run: one `Option` per mechanism and side, called in the list's order.

use backwater_net::hooks::{AdviceForm, CheckCx, Finding, Mechanism, Preset, Profile};
use backwater_net::parameters::Parameters;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

/// Which nodes an override is for. Every given key must match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Select {
    /// Tier of the node, such as `leaf`.
    pub tier: Option<String>,
    /// Name of the node, such as `leaf3`.
    pub node: Option<String>,
}

impl Select {
    /// Whether it speaks of a node of this name and tier.
    pub fn matches(&self, name: &str, tier: &str) -> bool {
        self.tier.as_deref().is_none_or(|t| t == tier) && self.node.as_deref().is_none_or(|n| n == name)
    }
}

/// Parameters with overrides, each complete; the last that matches a node counts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Scoped<P> {
    /// Where nothing else matches.
    pub base: P,
    /// Overrides, already merged over the base.
    #[serde(default = "Vec::new")]
    pub at: Vec<At<P>>,
}

/// One override.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct At<P> {
    /// For whom.
    pub select: Select,
    /// What.
    pub params: P,
}

impl<P> Scoped<P> {
    /// The same everywhere.
    pub fn everywhere(base: P) -> Scoped<P> {
        Scoped { base, at: Vec::new() }
    }

    /// What counts at one node or another.
    pub fn all(&self) -> impl Iterator<Item = &P> {
        std::iter::once(&self.base).chain(self.at.iter().map(|at| &at.params))
    }

    /// For the node of this name and tier.
    pub fn of(&self, name: &str, tier: &str) -> &P {
        self.by(self.at.iter().rposition(|at| at.select.matches(name, tier)))
    }

    /// Of an override by its number, or of the base.
    pub fn by(&self, number: Option<usize>) -> &P {
        number.and_then(|number| self.at.get(number)).map_or(&self.base, |at| &at.params)
    }

    /// For whom its overrides are.
    pub fn selects(&self) -> Vec<&Select> {
        self.at.iter().map(|at| &at.select).collect()
    }
}

/// What lists and documentation say of a mechanism.
pub struct Entry {
    /// Its TOML table.
    pub name: &'static str,
    /// The document that defines it.
    pub defined_by: &'static str,
    /// One line.
    pub summary: &'static str,
    /// What it has not done where it never acted.
    pub idle: &'static str,
    /// Kinds of control frames that it sends, beside MAC control.
    pub frames: &'static [&'static str],
    /// What their column `value` holds.
    pub value: &'static str,
    /// Its counters, each with what it counts.
    pub counters: &'static str,
    /// Named parameter sets.
    pub presets: &'static [Preset],
    /// What it may be asked for advice on.
    pub advice: Option<AdviceForm>,
    /// Schema of its parameters.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
}

impl Entry {
    /// The entry of a mechanism.
    pub const fn of<M: Mechanism>() -> Entry {
        Entry {
            name: M::NAME,
            defined_by: M::DEFINED_BY,
            summary: M::SUMMARY,
            idle: M::IDLE,
            frames: M::FRAMES,
            value: M::VALUE,
            counters: M::COUNTERS,
            presets: M::PRESETS,
            advice: M::ADVICE,
            schema: |generator| generator.subschema_for::<M::Params>(),
        }
    }
}

/// What is wrong with parameters of one mechanism: those out of range, or else what the mechanism finds in them.
pub fn inspect<M: Mechanism>(params: &M::Params, cx: &CheckCx<'_>) -> Vec<Finding> {
    Some(params.out_of_range()).filter(|found| !found.is_empty()).unwrap_or_else(|| M::check(params, cx))
}

/// Findings of one mechanism over all switches, each said once; `scope` picks the parameters per switch.
pub(crate) fn findings<M: Mechanism>(scoped: &Scoped<M::Params>, cx: &CheckCx<'_>) -> Vec<Finding> {
    let mut all: Vec<Finding> = Vec::new();
    for (shape, params) in cx.switches.iter().zip(cx.switch_params) {
        let one = CheckCx { switches: std::slice::from_ref(shape), switch_params: std::slice::from_ref(params), ..*cx };
        for finding in inspect::<M>(scoped.of(&shape.name, &shape.tier), &one) {
            if !all.iter().any(|f| f.key == finding.key && f.fatal == finding.fatal) {
                all.push(finding);
            }
        }
    }
    all
}

/// The pairs of configured mechanisms that claim the same.
pub(crate) fn clashes(profiles: &[(&'static str, Profile)]) -> Vec<(&'static str, &'static str, &'static str)> {
    let mut found = Vec::new();
    for (i, (a, first)) in profiles.iter().enumerate() {
        for (b, second) in &profiles[i + 1..] {
            found.extend(first.claims.clash(second.claims).into_iter().map(|what| (*a, *b, what)));
        }
    }
    found
}

/// What configured mechanisms need and nobody does.
pub(crate) fn unmet(profiles: &[(&'static str, Profile)], acks: bool) -> Vec<(&'static str, &'static str)> {
    let marks = profiles.iter().any(|(_, profile)| profile.marks);
    let mut unmet = Vec::new();
    for (name, Profile { needs, .. }) in profiles {
        unmet.extend((needs.marks && !marks).then_some((*name, "no mechanism marks packets")));
        unmet.extend((needs.acks && !acks).then_some((*name, "receivers do not acknowledge")));
    }
    unmet
}

/// Generates `Config`, `SwitchStack`, `NicStack`, `FlowStack` and `ENTRIES` from the registry's lines.
macro_rules! mechanisms {
    ($($name:ident => $mechanism:path),+ $(,)?) => {
        use backwater_net::hooks::{
            Ack, Advice, AdviceError, Awaits, Carrier, CheckCx, Count, Departure, Extra, Fate, Finding, FlowCx, FlowShape,
            FlowSide, Full, HoldStyle, Incasts, Incoming, Lane, Loss, Mechanism, MemoryCx, NicCx, NicShape, NicSide, Overhead, Owner,
            Place, Profile, Question, RateKey, Reach, Situation, Steering, SwitchCx, SwitchShape, SwitchSide, Token, Unread, WireCx,
        };
        use backwater_engine::Time;
        use backwater_net::attachment::Attachment;
        use backwater_net::packet::{Class, Control, FlowRef, HostId, Packet, Port, Queue};
        use backwater_net::{Bytes, Rate};
        use $crate::stack::{Entry, Scoped, Select, clashes, findings, unmet};

        /// Numbers of the mechanisms in the stack.
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[derive(Clone, Copy)]
        enum Number { $($name),+ }

        /// Every mechanism, in the order of the registry.
        pub const ENTRIES: &[Entry] = &[$(Entry::of::<$mechanism>()),+];

        /// The mechanisms of a scenario: absent ones are off.
        #[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Config {
            $(#[doc = concat!("Parameters of `", stringify!($name), "`.")]
            #[serde(skip_serializing_if = "Option::is_none")]
            pub $name: Option<Scoped<<$mechanism as Mechanism>::Params>>,)+
        }

        impl Config {
            /// Names of the mechanisms that are on.
            pub fn names(&self) -> Vec<&'static str> {
                let mut names = Vec::new();
                $(if self.$name.is_some() { names.push(<$mechanism as Mechanism>::NAME); })+
                names
            }

            /// Octets that mechanisms add to frames.
            pub fn overhead(&self) -> Overhead {
                self.profiles().iter().fold(Overhead::default(), |all, (_, own)| Overhead {
                    data: all.data + own.overhead.data,
                    ack: all.ack + own.overhead.ack,
                })
            }

            /// What each mechanism that is on does where nothing is overridden.
            pub fn profiles(&self) -> Vec<(&'static str, Profile)> {
                let mut all = Vec::new();
                $(if let Some(scoped) = &self.$name {
                    let mut own = <$mechanism as Mechanism>::profile(&scoped.base);
                    own.claims.attachment = <$mechanism as Mechanism>::EXTRA.attachment;
                    all.push((<$mechanism as Mechanism>::NAME, own));
                })+
                all
            }

            /// The same at a node.
            pub fn profiles_at(&self, name: &str, tier: &str) -> Vec<Profile> {
                let mut all = Vec::new();
                $(all.extend(self.$name.as_ref().map(|scoped| <$mechanism as Mechanism>::profile(scoped.of(name, tier))));)+
                all
            }

            /// The same at any node: one for each set of parameters.
            pub fn profiles_anywhere(&self) -> Vec<Profile> {
                let mut all = Vec::new();
                $(all.extend(self.$name.iter().flat_map(Scoped::all).map(<$mechanism as Mechanism>::profile));)+
                all
            }

            /// Pairs of mechanisms that claim the same thing, and what.
            pub fn clashes(&self) -> Vec<(&'static str, &'static str, &'static str)> {
                clashes(&self.profiles())
            }

            /// Mechanisms that decide about the rate of a flow, and which flows share a limiter of theirs.
            pub fn rate_limiters(&self, flow: &FlowShape) -> Vec<(&'static str, RateKey)> {
                let mut all = Vec::new();
                $(if let Some(scoped) = &self.$name {
                    if <$mechanism as Mechanism>::profile(&scoped.base).claims.flow_rate {
                        let key = <$mechanism as Mechanism>::rate_key(&scoped.base, flow);
                        all.push((<$mechanism as Mechanism>::NAME, key));
                    }
                })+
                all
            }

            /// Mechanisms that cannot work as configured, and what each lacks. `acks`: receivers acknowledge.
            pub fn unmet(&self, acks: bool) -> Vec<(&'static str, &'static str)> {
                unmet(&self.profiles(), acks)
            }

            /// A mechanism whose flows send within a window, which acknowledgements open, if there is one.
            pub fn windowed(&self) -> Option<&'static str> {
                self.profiles().iter().rfind(|(_, profile)| profile.needs.window).map(|(name, _)| *name)
            }

            /// A mechanism that lets packets of a flow overtake each other, if there is one.
            pub fn reorders(&self) -> Option<&'static str> {
                self.profiles().iter().rfind(|(_, profile)| profile.reorders).map(|(name, _)| *name)
            }

            /// What is wrong with the parameters, by mechanism.
            pub fn check(&self, cx: &CheckCx<'_>) -> Vec<(&'static str, Finding)> {
                let mut all = Vec::new();
                $(if let Some(scoped) = &self.$name {
                    let found = findings::<$mechanism>(scoped, cx);
                    all.extend(found.into_iter().map(|f| (<$mechanism as Mechanism>::NAME, f)));
                })+
                all
            }

            /// The longest message of any mechanism at this node.
            pub fn longest_message(&self, name: &str, tier: &str) -> Bytes {
                self.profiles_at(name, tier).iter().map(|profile| profile.longest_message).max().unwrap_or(Bytes::ZERO)
            }

            /// What mechanisms may pause by MAC control at this node: bits as in [`Profile::pauses`].
            pub fn pauses(&self, name: &str, tier: &str) -> u16 {
                self.profiles_at(name, tier).iter().fold(0, |bits, profile| bits | profile.pauses)
            }

            /// How each mechanism that pauses neighbours of this node signals it.
            pub fn hold_styles(&self, name: &str, tier: &str) -> Vec<(&'static str, HoldStyle)> {
                let mut all = Vec::new();
                $(if let Some(scoped) = &self.$name {
                    let style = <$mechanism as Mechanism>::hold_style(scoped.of(name, tier));
                    all.extend(style.map(|style| (<$mechanism as Mechanism>::NAME, style)));
                })+
                all
            }

            /// The least bytes with which a mechanism pauses a neighbour of this node, and the key that decides: as
            /// [`Mechanism::pause_threshold`].
            pub fn pause_threshold(&self, name: &str, tier: &str, cx: &MemoryCx<'_>) -> Option<(Bytes, String)> {
                let mut least: Option<(Bytes, String)> = None;
                $(if let Some(scoped) = &self.$name {
                    let own = <$mechanism as Mechanism>::pause_threshold(scoped.of(name, tier), cx);
                    if let Some((bytes, key)) = own.filter(|own| least.as_ref().is_none_or(|least| own.0 < least.0)) {
                        least = Some((bytes, format!("{}.{key}", <$mechanism as Mechanism>::NAME)));
                    }
                })+
                least
            }

            /// For whom the overrides of each mechanism that is on are.
            pub fn overrides(&self) -> Vec<(&'static str, Vec<&Select>)> {
                let mut all = Vec::new();
                $(if let Some(scoped) = &self.$name { all.push((<$mechanism as Mechanism>::NAME, scoped.selects())); })+
                all
            }

            /// Whether the parameters of a mechanism, by the number of an override or its base, suit these incasts.
            pub fn check_incasts(&self, mechanism: &str, number: Option<usize>, incasts: &dyn Incasts) -> Vec<Finding> {
                $(if let Some(scoped) = self.$name.as_ref().filter(|_| mechanism == <$mechanism as Mechanism>::NAME) {
                    return <$mechanism as Mechanism>::check_incasts(scoped.by(number), incasts);
                })+
                Vec::new()
            }

            /// What a situation at this node answers of the questions that a mechanism may be asked.
            pub fn facts(
                &self,
                mechanism: &str,
                (name, tier): (&str, &str),
                situation: &Situation,
            ) -> serde_json::Map<String, serde_json::Value> {
                $(if mechanism == <$mechanism as Mechanism>::NAME {
                    return <$mechanism as Mechanism>::facts(self.$name.as_ref().map(|scoped| scoped.of(name, tier)), situation);
                })+
                serde_json::Map::new()
            }

            /// The advice of a mechanism.
            pub fn advise(mechanism: &str, question: &Question) -> Result<Advice, AdviceError> {
                $(if mechanism == <$mechanism as Mechanism>::NAME { return <$mechanism as Mechanism>::advise(question); })+
                Err(AdviceError::new(format!("there is no mechanism `{mechanism}`")))
            }

            /// Parameters that nothing reads at this node, as others have it, by mechanism.
            pub fn unread(&self, name: &str, tier: &str) -> Vec<(&'static str, Unread)> {
                let mut all = Vec::new();
                $(if let Some(scoped) = &self.$name {
                    let unread = <$mechanism as Mechanism>::unread(scoped.of(name, tier));
                    all.extend(unread.into_iter().map(|one| (<$mechanism as Mechanism>::NAME, one)));
                })+
                all
            }

            /// Classes that some mechanism promises never to drop at this node, a bit each.
            pub fn lossless_classes(&self, name: &str, tier: &str) -> u8 {
                self.profiles_at(name, tier).iter().fold(0, |bits, profile| bits | profile.lossless_classes)
            }

            /// The octets of a control frame, and how it travels; `None`: it is of no mechanism.
            pub fn octets(frame: &Control, cx: &WireCx<'_>, octets: &mut Vec<u8>) -> Option<Carrier> {
                $(if let Some(carrier) = <$mechanism as Mechanism>::octets(frame, cx, octets) { return Some(carrier); })+
                None
            }

            /// The octets of the tag of a data frame, and its EtherType; `None`: nobody writes one.
            pub fn tag_octets(&self, tag: u64, octets: &mut Vec<u8>) -> Option<u16> {
                $(if let Some(scoped) = &self.$name {
                    if <$mechanism as Mechanism>::profile(&scoped.base).claims.packet_tag {
                        return <$mechanism as Mechanism>::tag_octets(tag, octets);
                    }
                })+
                None
            }

            /// Classes that some mechanism pauses, or in which its frames travel, at any node: a bit each.
            pub fn classes(&self) -> u8 {
                self.profiles_anywhere().iter().fold(0, |bits, profile| bits | profile.classes)
            }

            /// Between which queues mechanisms move flows at any node.
            pub fn steering(&self) -> Option<Steering> {
                let all = self.profiles_anywhere();
                all.iter().filter_map(|profile| profile.steering).fold(None, |all, one| Some(one.and(all)))
            }

            /// The sides at one switch.
            pub fn switch(&self, shape: &SwitchShape) -> SwitchStack {
                SwitchStack { $($name: self.$name.as_ref().and_then(|scoped| {
                    <$mechanism as Mechanism>::switch(scoped.of(&shape.name, &shape.tier), shape).map(Box::new)
                }),)+ }
            }

            /// The sides at one NIC.
            pub fn nic(&self, shape: &NicShape) -> NicStack {
                NicStack { $($name: self.$name.as_ref().and_then(|scoped| {
                    <$mechanism as Mechanism>::nic(&scoped.base, shape).map(Box::new)
                }),)+ }
            }

            /// What all nodes share.
            pub fn shared(&self) -> Shared {
                Shared::default()
            }

            /// The sides at one flow.
            pub fn flow(&self, shape: &FlowShape, shared: &Shared) -> FlowStack {
                FlowStack { $($name: self.$name.as_ref().and_then(|scoped| {
                    <$mechanism as Mechanism>::flow(&scoped.base, shape, &shared.$name)
                }),)+ }
            }

            /// Which flows share a controller.
            pub fn rate_key(&self, flow: &FlowShape) -> RateKey {
                $(if let Some(scoped) = &self.$name {
                    let key = <$mechanism as Mechanism>::rate_key(&scoped.base, flow);
                    if key != RateKey::Flow { return key; }
                })+
                RateKey::Flow
            }
        }

        /// State that mechanisms share between all nodes of a run.
        #[derive(Clone, Default)]
        pub struct Shared { $($name: <$mechanism as Mechanism>::Shared,)+ }

        /// The sides of all mechanisms at one switch. Boxed: which of them there are is asked of every frame, and must not be
        /// spread over as many cache lines as there are mechanisms.
        pub struct SwitchStack { $($name: Option<Box<<$mechanism as Mechanism>::Switch>>,)+ }

        /// The sides of all mechanisms at one NIC, boxed for the same reason.
        pub struct NicStack { $($name: Option<Box<<$mechanism as Mechanism>::Nic>>,)+ }

        /// The sides of all mechanisms at one flow.
        pub struct FlowStack { $($name: Option<<$mechanism as Mechanism>::Flow>,)+ }

        impl SwitchSide for SwitchStack {
            #[inline]
            fn choose(&mut self, cx: &mut SwitchCx<'_>, candidates: &[Port], pkt: &Packet) -> Option<Port> {
                $(if let Some(side) = &mut self.$name {
                    let choice = side.choose(&mut cx.owned_by(Owner(Number::$name as u8)), candidates, pkt);
                    if choice.is_some() { return choice; }
                })+
                None
            }
            #[inline(always)]
            fn steer(&mut self, cx: &mut SwitchCx<'_>, at: &mut Place, pkt: &mut Packet) {
                $(if let Some(side) = &mut self.$name { side.steer(&mut cx.owned_by(Owner(Number::$name as u8)), at, pkt); })+
            }
            fn on_full(&mut self, cx: &mut SwitchCx<'_>, at: &mut Place, pkt: &mut Packet) -> Full {
                $(if let Some(side) = &mut self.$name {
                    if side.on_full(&mut cx.owned_by(Owner(Number::$name as u8)), at, pkt) == Full::Trim { return Full::Trim; }
                })+
                Full::Drop
            }
            #[inline(always)]
            fn on_admit(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet) {
                $(if let Some(side) = &mut self.$name { side.on_admit(&mut cx.owned_by(Owner(Number::$name as u8)), at, pkt); })+
            }
            #[inline(always)]
            fn hold(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &Packet) -> Option<Lane> {
                $(if let Some(side) = &mut self.$name {
                    let lane = side.hold(&mut cx.owned_by(Owner(Number::$name as u8)), at, pkt);
                    if lane.is_some() { return lane; }
                })+
                None
            }
            #[inline(always)]
            fn on_enqueue(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &mut Packet) {
                $(if let Some(side) = &mut self.$name {
                    SwitchSide::on_enqueue(&mut **side, &mut cx.owned_by(Owner(Number::$name as u8)), at, pkt);
                })+
            }
            #[inline(always)]
            fn on_dequeue(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &mut Packet) {
                $(if let Some(side) = &mut self.$name { side.on_dequeue(&mut cx.owned_by(Owner(Number::$name as u8)), at, pkt); })+
            }
            fn may_start(&self, port: Port, queue: Queue, pkt: &Packet) -> bool {
                true $(&& self.$name.as_ref().is_none_or(|side| SwitchSide::may_start(&**side, port, queue, pkt)))+
            }
            fn on_start(
                &mut self, cx: &mut SwitchCx<'_>, from: &Departure, pkt: &Packet, mut carried: Option<&mut Attachment>,
            ) {
                $(if let Some(side) = &mut self.$name {
                    let own = carried.as_deref_mut().filter(|_| <$mechanism as Mechanism>::EXTRA.attachment);
                    SwitchSide::on_start(&mut **side, &mut cx.owned_by(Owner(Number::$name as u8)), from, pkt, own);
                })+
            }
            fn on_sent(&mut self, cx: &mut SwitchCx<'_>, from: &Departure, pkt: &Packet) {
                $(if let Some(side) = &mut self.$name {
                    SwitchSide::on_sent(&mut **side, &mut cx.owned_by(Owner(Number::$name as u8)), from, pkt);
                })+
            }
            #[inline(always)]
            fn on_release(&mut self, cx: &mut SwitchCx<'_>, at: &Place) {
                $(if let Some(side) = &mut self.$name { side.on_release(&mut cx.owned_by(Owner(Number::$name as u8)), at); })+
            }
            #[inline(always)]
            fn on_depart(&mut self, cx: &mut SwitchCx<'_>, at: &Place) {
                $(if let Some(side) = &mut self.$name { side.on_depart(&mut cx.owned_by(Owner(Number::$name as u8)), at); })+
            }
            fn on_control(&mut self, cx: &mut SwitchCx<'_>, from: Port, to: Option<HostId>, frame: &Control) -> Fate {
                $(if let Some(side) = &mut self.$name {
                    let fate = SwitchSide::on_control(&mut **side, &mut cx.owned_by(Owner(Number::$name as u8)), from, to, frame);
                    if fate == Fate::Consumed { return fate; }
                })+
                Fate::Passed
            }
            fn on_timer(&mut self, cx: &mut SwitchCx<'_>, token: Token) {
                $(if cx.owner() == Owner(Number::$name as u8) {
                    if let Some(side) = &mut self.$name { SwitchSide::on_timer(&mut **side, cx, token); }
                    return;
                })+
            }
            fn awaits(&self, owner: Owner, port: Port, class: Option<Class>) -> Awaits {
                $(if let (true, Some(side)) = (owner == Owner(Number::$name as u8), &self.$name) {
                    return side.awaits(owner, port, class);
                })+
                Awaits::Unknown
            }
            fn gives_up(&self, port: Port) -> bool {
                false $(|| self.$name.as_ref().is_some_and(|side| side.gives_up(port)))+
            }
        }

        impl NicSide for NicStack {
            fn on_flow_start(&mut self, cx: &mut NicCx<'_>, incoming: &Incoming) {
                $(if let Some(side) = &mut self.$name {
                    side.on_flow_start(&mut cx.owned_by(Owner(Number::$name as u8)), incoming);
                })+
            }
            fn on_flow_end(&mut self, cx: &mut NicCx<'_>, flow: FlowRef) {
                $(if let Some(side) = &mut self.$name {
                    side.on_flow_end(&mut cx.owned_by(Owner(Number::$name as u8)), flow);
                })+
            }
            fn on_enqueue(&mut self, cx: &mut NicCx<'_>, queue: Queue, pkt: &Packet) {
                $(if let Some(side) = &mut self.$name {
                    NicSide::on_enqueue(&mut **side, &mut cx.owned_by(Owner(Number::$name as u8)), queue, pkt);
                })+
            }
            fn may_start(&self, port: Port, queue: Queue, pkt: &Packet) -> bool {
                true $(&& self.$name.as_ref().is_none_or(|side| NicSide::may_start(&**side, port, queue, pkt)))+
            }
            fn on_start(
                &mut self, cx: &mut NicCx<'_>, from: &Departure, pkt: &Packet, mut carried: Option<&mut Attachment>,
            ) {
                $(if let Some(side) = &mut self.$name {
                    let own = carried.as_deref_mut().filter(|_| <$mechanism as Mechanism>::EXTRA.attachment);
                    NicSide::on_start(&mut **side, &mut cx.owned_by(Owner(Number::$name as u8)), from, pkt, own);
                })+
            }
            fn on_sent(&mut self, cx: &mut NicCx<'_>, from: &Departure, pkt: &Packet) {
                $(if let Some(side) = &mut self.$name {
                    NicSide::on_sent(&mut **side, &mut cx.owned_by(Owner(Number::$name as u8)), from, pkt);
                })+
            }
            #[inline]
            fn on_receive(&mut self, cx: &mut NicCx<'_>, pkt: &Packet) {
                $(if let Some(side) = &mut self.$name { side.on_receive(&mut cx.owned_by(Owner(Number::$name as u8)), pkt); })+
            }
            fn on_control(&mut self, cx: &mut NicCx<'_>, frame: &Control) -> Fate {
                $(if let Some(side) = &mut self.$name {
                    let fate = NicSide::on_control(&mut **side, &mut cx.owned_by(Owner(Number::$name as u8)), frame);
                    if fate == Fate::Consumed { return fate; }
                })+
                Fate::Passed
            }
            fn on_timer(&mut self, cx: &mut NicCx<'_>, token: Token) {
                $(if cx.owner() == Owner(Number::$name as u8) {
                    if let Some(side) = &mut self.$name { NicSide::on_timer(&mut **side, cx, token); }
                    return;
                })+
            }
        }

        impl FlowSide for FlowStack {
            #[inline]
            fn rate(&self) -> Option<Rate> {
                let mut least = None;
                $(if let Some(rate) = self.$name.as_ref().and_then(|side| side.rate()) {
                    least = Some(least.map_or(rate, |r: Rate| r.min(rate)));
                })+
                least
            }
            #[inline]
            fn stopped_until(&self) -> Time {
                let mut latest = Time::ZERO;
                $(if let Some(side) = &self.$name { latest = latest.max(side.stopped_until()); })+
                latest
            }
            #[inline]
            fn window(&self) -> Option<Bytes> {
                let mut least = None;
                $(if let Some(window) = self.$name.as_ref().and_then(|side| side.window()) {
                    least = Some(least.map_or(window, |w: Bytes| w.min(window)));
                })+
                least
            }
            #[inline]
            fn on_send(&mut self, cx: &mut FlowCx<'_>, pkt: &mut Packet) {
                $(if let Some(side) = &mut self.$name { side.on_send(&mut cx.owned_by(Owner(Number::$name as u8)), pkt); })+
            }
            fn attach(&mut self, pkt: &Packet) -> Option<Attachment> {
                $(if <$mechanism as Mechanism>::EXTRA.attachment {
                    if let Some(side) = &mut self.$name { return side.attach(pkt); }
                })+
                None
            }
            #[inline]
            fn on_ack(&mut self, cx: &mut FlowCx<'_>, ack: &Ack<'_>) {
                $(if let Some(side) = &mut self.$name {
                    let carried = ack.carried.filter(|_| <$mechanism as Mechanism>::EXTRA.attachment);
                    side.on_ack(&mut cx.owned_by(Owner(Number::$name as u8)), &Ack { carried, ..*ack });
                })+
            }
            fn on_start(&mut self, cx: &mut FlowCx<'_>) {
                $(if let Some(side) = &mut self.$name {
                    FlowSide::on_start(side, &mut cx.owned_by(Owner(Number::$name as u8)));
                })+
            }
            fn on_end(&mut self, cx: &mut FlowCx<'_>) {
                $(if let Some(side) = &mut self.$name { side.on_end(&mut cx.owned_by(Owner(Number::$name as u8))); })+
            }
            fn on_loss(&mut self, cx: &mut FlowCx<'_>, loss: Loss) {
                $(if let Some(side) = &mut self.$name { side.on_loss(&mut cx.owned_by(Owner(Number::$name as u8)), loss); })+
            }
            fn on_control(&mut self, cx: &mut FlowCx<'_>, frame: &Control) -> Fate {
                $(if let Some(side) = &mut self.$name {
                    let fate = FlowSide::on_control(side, &mut cx.owned_by(Owner(Number::$name as u8)), frame);
                    if fate == Fate::Consumed { return fate; }
                })+
                Fate::Passed
            }
            fn on_timer(&mut self, cx: &mut FlowCx<'_>, token: u16) {
                $(if cx.owner() == Owner(Number::$name as u8) {
                    if let Some(side) = &mut self.$name { FlowSide::on_timer(side, cx, token); }
                    return;
                })+
            }
        }

        impl FlowStack {
            /// Whether no mechanism has a side at the flow.
            pub fn is_empty(&self) -> bool {
                true $(&& self.$name.is_none())+
            }
        }

        impl SwitchStack {
            /// What each mechanism has counted.
            pub fn counts(&self, now: Time) -> Vec<(&'static str, Count)> {
                let mut all = Vec::new();
                $(if let Some(side) = &self.$name {
                    all.extend(SwitchSide::counts(&**side, now).into_iter().map(|c| (<$mechanism as Mechanism>::NAME, c)));
                })+
                all
            }
        }

        impl NicStack {
            /// What each mechanism has counted.
            pub fn counts(&self, now: Time) -> Vec<(&'static str, Count)> {
                let mut all = Vec::new();
                $(if let Some(side) = &self.$name {
                    all.extend(NicSide::counts(&**side, now).into_iter().map(|c| (<$mechanism as Mechanism>::NAME, c)));
                })+
                all
            }
        }

        impl backwater_net::Actors for Config {
            type Switch = SwitchStack;
            type Nic = NicStack;
            type Flow = FlowStack;
            type Shared = Shared;
            const OWNERS: usize = ENTRIES.len();
            fn chooses(&self) -> bool {
                self.profiles().iter().any(|(_, profile)| profile.claims.path)
            }
            fn extra(&self) -> Extra {
                let mut all = Extra::NONE;
                $(if self.$name.is_some() { all = all.or(<$mechanism as Mechanism>::EXTRA); })+
                all
            }
            fn steering(&self) -> Option<Steering> { Config::steering(self) }
            fn switch_counts(side: &SwitchStack, now: Time) -> Vec<(&'static str, Count)> { side.counts(now) }
            fn nic_counts(side: &NicStack, now: Time) -> Vec<(&'static str, Count)> { side.counts(now) }
            fn on(&self) -> Vec<(Owner, &'static str)> {
                let mut all = Vec::new();
                $(if self.$name.is_some() { all.push((Owner(Number::$name as u8), <$mechanism as Mechanism>::NAME)); })+
                all
            }
            fn switch_reach(side: &SwitchStack, tell: &mut dyn FnMut(Owner, Reach)) {
                $(if let Some(side) = &side.$name { tell(Owner(Number::$name as u8), SwitchSide::reach(&**side)); })+
            }
            fn nic_reach(side: &NicStack, tell: &mut dyn FnMut(Owner, Reach)) {
                $(if let Some(side) = &side.$name { tell(Owner(Number::$name as u8), NicSide::reach(&**side)); })+
            }
            fn flow_reach(side: &FlowStack, tell: &mut dyn FnMut(Owner, Reach)) {
                $(if let Some(side) = &side.$name { tell(Owner(Number::$name as u8), FlowSide::reach(side)); })+
            }
            fn shared(&self) -> Shared { Config::shared(self) }
            fn switch(&self, shape: &SwitchShape) -> SwitchStack { Config::switch(self, shape) }
            fn nic(&self, shape: &NicShape) -> NicStack { Config::nic(self, shape) }
            fn flow(&self, shape: &FlowShape, shared: &Shared) -> Option<FlowStack> {
                Some(Config::flow(self, shape, shared)).filter(|stack| !stack.is_empty())
            }
            fn rate_key(&self, shape: &FlowShape) -> RateKey { Config::rate_key(self, shape) }
            fn lossless_classes(&self, name: &str, tier: &str) -> u8 { Config::lossless_classes(self, name, tier) }
        }
    };
}
pub(crate) use mechanisms;
