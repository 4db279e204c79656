//! The mechanisms of a scenario: answers of all that are on, in the registry's order.

/// Generates `Config`, the mechanisms' numbers and `ENTRIES`.
macro_rules! config {
    ([$($name:ident => $mechanism:path),+]) => {
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

        $crate::stack::config!(asked [$($name => $mechanism),+]);
        $crate::stack::config!(stage [$($name => $mechanism),+]);
    };
    (asked $list:tt) => {
        impl Config {
            /// Names of the mechanisms that are on.
            pub fn names(&self) -> Vec<&'static str> {
                self.profiles().into_iter().map(|(name, _)| name).collect()
            }

            /// Octets that mechanisms add to frames.
            pub fn overhead(&self) -> Overhead {
                self.overhead_of(MechanismSet::MAX)
            }

            /// Returns the profile of each mechanism that is on, without overrides.
            pub fn profiles(&self) -> Vec<(&'static str, Profile)> {
                let mut all = Vec::new();
                for_configured!($list self, |scoped, M| {
                    let mut own = M::profile(&scoped.base);
                    own.claims.attachment = attaches::<M>();
                    all.push((M::NAME, own));
                });
                all
            }

            /// A mechanism that assumes that each host has one link.
            pub fn one_link(&self) -> Option<&'static str> {
                let mut found = None;
                for_configured!($list self, |scoped, M| {
                    if scoped.all().any(|params| M::profile(params).one_link) {
                        found = found.or(Some(M::NAME));
                    }
                });
                found
            }

            /// The same at a node.
            pub fn profiles_at(&self, name: &str, tier: &str) -> Vec<Profile> {
                let mut all = Vec::new();
                for_configured!($list self, |scoped, M| all.push(M::profile(scoped.of(name, tier))));
                all
            }

            /// The same at any node: one for each set of parameters.
            pub fn profiles_anywhere(&self) -> Vec<Profile> {
                let mut all = Vec::new();
                for_configured!($list self, |scoped, M| all.extend(scoped.all().map(M::profile)));
                all
            }

            /// A mechanism with a difference in `changed` that cannot change during a run, and the difference.
            pub fn cannot_become(&self, changed: &Config) -> Option<(&'static str, &'static str)> {
                if self.names() != changed.names() {
                    let other = |a: &Config, b: &Config| a.names().into_iter().find(|name| !b.names().contains(name));
                    return other(self, changed).or(other(changed, self)).map(|name| (name, "whether it is on"));
                }
                if let Some((name, _)) = differs(&self.confined(), &changed.confined()) {
                    return Some((*name, "to which flows it is confined"));
                }
                if let Some((name, _)) = differs(&self.overrides(), &changed.overrides()) {
                    return Some((*name, "which nodes have values of their own"));
                }
                let what = |of: &Config| of.profiles_of_all().into_iter().map(lasting).collect::<Vec<_>>();
                differs(&what(self), &what(changed)).map(|(name, _)| (*name, "what it claims, needs or adds to frames, or its classes"))
            }

            /// Returns the profile of each mechanism that is on, for each set of parameters.
            fn profiles_of_all(&self) -> Vec<(&'static str, Profile)> {
                let mut all = Vec::new();
                for_configured!($list self, |scoped, M| all.extend(scoped.all().map(|params| (M::NAME, M::profile(params)))));
                all
            }

            /// Pairs of mechanisms that claim the same thing, and what.
            pub fn clashes(&self) -> Vec<(&'static str, &'static str, &'static str)> {
                clashes(&self.profiles())
            }

            /// Mechanisms that decide the rate of flows, with the key of their limiter and the flows to which they are confined.
            pub fn rate_limiters(&self, flow: &FlowShape) -> Vec<(&'static str, RateKey, &Confined)> {
                let mut all = Vec::new();
                for_configured!($list self, |scoped, M| if M::profile(&scoped.base).claims.flow_rate {
                    all.push((M::NAME, M::rate_key(&scoped.base, flow), &scoped.flows));
                });
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

            /// A mechanism that requires retransmission of lost packets, if any.
            pub fn recovering(&self) -> Option<&'static str> {
                self.profiles().iter().rfind(|(_, profile)| profile.needs.recovery).map(|(name, _)| *name)
            }

            /// A mechanism that requires acknowledgements of single packets, if any.
            pub fn counting(&self) -> Option<&'static str> {
                self.profiles().iter().rfind(|(_, profile)| profile.needs.counts).map(|(name, _)| *name)
            }

            /// A mechanism that lets packets of a flow overtake each other, if any.
            pub fn reorders(&self) -> Option<&'static str> {
                self.profiles().iter().rfind(|(_, profile)| profile.reorders).map(|(name, _)| *name)
            }

            /// A mechanism that sends packets of one flow over several paths, if any.
            pub fn spreads(&self) -> Option<&'static str> {
                let spreads = |profile: &Profile| profile.claims.path && profile.reorders;
                self.profiles().iter().rfind(|(_, profile)| spreads(profile)).map(|(name, _)| *name)
            }

            /// A mechanism by which switches trim packets without memory, if any.
            pub fn cuts(&self) -> Option<&'static str> {
                self.profiles().iter().rfind(|(_, profile)| profile.cuts).map(|(name, _)| *name)
            }

            /// Returns whether links retransmit frames that faults damage on them.
            pub fn repairs(&self) -> bool {
                self.profiles().iter().any(|(_, profile)| profile.repairs)
            }

            /// Returns findings about the parameters, by mechanism.
            pub fn check(&self, cx: &CheckCx<'_>) -> Vec<(&'static str, Finding)> {
                let mut all = Vec::new();
                for_configured!($list self, |scoped, M| {
                    all.extend(findings::<M>(scoped, cx).into_iter().map(|finding| (M::NAME, finding)));
                });
                all
            }

            /// Returns findings about the parameters that hold for any network, without overrides, by mechanism.
            pub fn check_alone(&self) -> Vec<(&'static str, Finding)> {
                let mut all = Vec::new();
                for_configured!($list self, |scoped, M| if scoped.at.is_empty() {
                    let found = inspect::<M>(&scoped.base, &CheckCx::default());
                    all.extend(found.into_iter().map(|finding| (M::NAME, finding)));
                });
                all
            }

            /// Returns findings about defaults at this switch, by mechanism.
            pub fn check_defaults(&self, shape: &SwitchShape) -> Vec<(&'static str, Vec<Finding>)> {
                let mut all = Vec::new();
                for_configured!($list self, |scoped, M| {
                    all.push((M::NAME, M::check_defaults(scoped.of(&shape.name, &shape.tier), shape)));
                });
                all
            }

            /// The longest message of any mechanism at this node.
            pub fn longest_message(&self, name: &str, tier: &str) -> Bytes {
                self.profiles_at(name, tier).iter().map(|profile| profile.longest_message).max().unwrap_or(Bytes::ZERO)
            }

            /// The shortest frame of any mechanism, if it is shorter than other control frames.
            pub fn shortest_message(&self) -> Option<Bytes> {
                self.profiles().iter().filter_map(|(_, profile)| profile.shortest_message).min()
            }

            /// Returns the classes and link that mechanisms may pause by MAC control at this node: bits as in [`Profile::pauses`].
            pub fn pauses(&self, name: &str, tier: &str) -> u16 {
                self.profiles_at(name, tier).iter().fold(0, |bits, profile| bits | profile.pauses)
            }

            /// Returns how each mechanism that pauses neighbours of this node signals it.
            pub fn pause_styles(&self, name: &str, tier: &str) -> Vec<(&'static str, PauseStyle)> {
                let mut all = Vec::new();
                for_configured!($list self, |scoped, M| {
                    all.extend(M::pause_style(scoped.of(name, tier)).map(|style| (M::NAME, style)));
                });
                all
            }

            /// The least bytes at which a mechanism pauses a neighbour of this node, and the key that decides it: as
            /// [`Mechanism::pause_threshold`].
            pub fn pause_threshold(&self, name: &str, tier: &str, cx: &MemoryCx<'_>) -> Option<(Bytes, String)> {
                let mut least: Option<(Bytes, String)> = None;
                for_configured!($list self, |scoped, M| {
                    let own = M::pause_threshold(scoped.of(name, tier), cx);
                    if let Some((bytes, key)) = own.filter(|own| least.as_ref().is_none_or(|least| own.0 < least.0)) {
                        least = Some((bytes, format!("{}.{key}", M::NAME)));
                    }
                });
                least
            }

            /// The nodes of the overrides of each mechanism that is on.
            pub fn overrides(&self) -> Vec<(&'static str, Vec<&Select>)> {
                let mut all = Vec::new();
                for_configured!($list self, |scoped, M| all.push((M::NAME, scoped.selects())));
                all
            }

            /// Returns findings about the parameters of a mechanism, by the number of an override or its base, for these incasts.
            pub fn check_incasts(&self, mechanism: &str, number: Option<usize>, incasts: &dyn Incasts) -> Vec<Finding> {
                for_configured!($list self, |scoped, M| if mechanism == M::NAME {
                    return M::check_incasts(scoped.by(number), incasts);
                });
                Vec::new()
            }

            /// Returns the values of a situation at this node for the questions that a mechanism answers.
            pub fn facts(
                &self,
                mechanism: &str,
                (name, tier): (&str, &str),
                situation: &Situation,
            ) -> serde_json::Map<String, serde_json::Value> {
                for_all_of!($list self, |scoped, M| if mechanism == M::NAME {
                    return M::facts(scoped.map(|scoped| scoped.of(name, tier)), situation);
                });
                serde_json::Map::new()
            }

            /// The advice of a mechanism.
            pub fn advise(mechanism: &str, question: &Question) -> Result<Advice, AdviceError> {
                for_all!($list |M| if mechanism == M::NAME { return M::advise(question); });
                Err(AdviceError::new(format!("there is no mechanism `{mechanism}`")))
            }

            /// Parameters that are not read at this node because of other values, by mechanism.
            pub fn ineffective(&self, name: &str, tier: &str) -> Vec<(&'static str, Ineffective)> {
                let mut all = Vec::new();
                for_configured!($list self, |scoped, M| {
                    all.extend(M::ineffective(scoped.of(name, tier)).into_iter().map(|one| (M::NAME, one)));
                });
                all
            }

            /// Classes that some mechanism promises never to drop at this node, a bit each.
            pub fn lossless_classes(&self, name: &str, tier: &str) -> u8 {
                self.profiles_at(name, tier).iter().fold(0, |bits, profile| bits | profile.lossless_classes)
            }

            /// The octets of a control frame, and its encapsulation; `None`: it belongs to no mechanism.
            pub fn octets(frame: &Control, cx: &WireCx<'_>, octets: &mut Vec<u8>) -> Option<Carrier> {
                for_all!($list |M| if let Some(carrier) = M::octets(frame, cx, octets) { return Some(carrier); });
                None
            }

            /// The octets of the tag of a data frame, and its EtherType; `None`: no mechanism writes one.
            pub fn tag_octets(&self, tag: u64, octets: &mut Vec<u8>) -> Option<u16> {
                for_configured!($list self, |scoped, M| if M::profile(&scoped.base).claims.packet_tag {
                    return M::tag_octets(tag, octets);
                });
                None
            }

            /// The credit target of a data frame; `None`: no mechanism writes one.
            pub fn credit_target(&self, tag: u64) -> Option<u32> {
                for_configured!($list self, |scoped, M| if M::profile(&scoped.base).claims.packet_tag {
                    return M::credit_target(tag);
                });
                None
            }

            /// Classes that some mechanism pauses, or in which its frames travel, at any node: a bit each.
            pub fn classes(&self) -> u8 {
                self.profiles_anywhere().iter().fold(0, |bits, profile| bits | profile.classes)
            }

            /// The queues between which mechanisms move flows at any node.
            pub fn steering(&self) -> Option<Steering> {
                let all = self.profiles_anywhere();
                all.iter().filter_map(|profile| profile.steering).fold(None, |all, one| Some(one.and(all)))
            }

            /// The flows of each mechanism that is confined to some.
            pub fn confined(&self) -> Vec<(&'static str, &Confined)> {
                let mut all = Vec::new();
                for_configured!($list self, |scoped, M| if scoped.flows.confines() {
                    all.push((M::NAME, &scoped.flows));
                });
                all
            }

            /// Mechanisms that leave flows of this class, in groups of this label, alone.
            pub fn leaves(&self, class: Class, group: &str) -> MechanismSet {
                let mut all = 0;
                for_numbered!($list self, |scoped, owner, M| if !scoped.flows.holds(class, group) {
                    all |= owner.bit();
                });
                all
            }

            /// Octets that these mechanisms add to frames of their flows.
            pub fn overhead_of(&self, of: MechanismSet) -> Overhead {
                let mut all = Overhead::default();
                for_numbered!($list self, |scoped, owner, M| if of & owner.bit() != 0 {
                    all = all.and(M::profile(&scoped.base).overhead);
                });
                all
            }

            /// Octets that mechanisms add to frames of some flows only.
            pub fn overhead_of_confined(&self) -> Overhead {
                let mut all = Overhead::default();
                for_configured!($list self, |scoped, M| if scoped.flows.confines() {
                    all = all.and(M::profile(&scoped.base).overhead);
                });
                all
            }

            /// Returns the key of the controller that a flow shares, by the mechanisms that do not leave it alone.
            pub fn rate_key(&self, flow: &FlowShape, left: MechanismSet) -> RateKey {
                for_numbered!($list self, |scoped, owner, M| if left & owner.bit() == 0 {
                    let key = M::rate_key(&scoped.base, flow);
                    if key != RateKey::Flow { return key; }
                });
                RateKey::Flow
            }
        }
    };
    (stage $list:tt) => {
        impl backwater_net::Actors for Config {
            type Switch = SwitchStack;
            type Nic = NicStack;
            type Flow = FlowStack;
            type Shared = Shared;
            const OWNERS: usize = ENTRIES.len();
            fn chooses(&self) -> bool {
                self.profiles().iter().any(|(_, profile)| profile.claims.path)
            }
            fn hooks(&self) -> Hooks {
                let mut all = Hooks::NONE;
                for_configured!($list self, |_scoped, M| all = all.or(Hooks {
                    switch: <<M as Mechanism>::Switch as Defines<_>>::HOOKS,
                    switch_links: <<M as Mechanism>::Switch as Defines<_>>::HOOKS,
                    nic: <<M as Mechanism>::Nic as Defines<_>>::HOOKS,
                    nic_links: <<M as Mechanism>::Nic as Defines<_>>::HOOKS,
                    flow: <<M as Mechanism>::Flow as Defines<_>>::HOOKS,
                }));
                all
            }
            fn couples(&self) -> Option<(&'static str, &'static str)> {
                for_configured!($list self, |scoped, M| {
                    if let Some(why) = scoped.all().find_map(|params| M::profile(params).couples) {
                        return Some((M::NAME, why));
                    }
                });
                None
            }
            fn sends_messages(&self) -> bool {
                let mut any = false;
                for_configured!($list self, |_scoped, M| any |= !M::FRAMES.is_empty());
                any
            }
            fn messages(&self) -> Vec<TypeId> {
                let mut all = Vec::new();
                for_all!($list |M| all.push(M::MESSAGE));
                all
            }
            fn on(&self) -> Vec<(MechanismId, &'static str, &'static str)> {
                let mut all = Vec::new();
                for_numbered!($list self, |scoped, owner, M| all.push((owner, M::NAME, M::idle(&scoped.base))));
                all
            }
            fn steering(&self) -> Option<Steering> { Config::steering(self) }
            fn shared(&self) -> Shared { Shared::default() }
            fn switch(&self, shape: &SwitchShape) -> SwitchStack { Config::switch(self, shape) }
            fn nic(&self, shape: &NicShape) -> NicStack { Config::nic(self, shape) }
            fn confines(&self) -> bool { !self.confined().is_empty() }
            fn leaves(&self, class: Class, group: &str) -> MechanismSet { Config::leaves(self, class, group) }
            fn overhead(&self, of: MechanismSet) -> Overhead { self.overhead_of(of) }
            fn flow(&self, shape: &FlowShape, left: MechanismSet, shared: &Shared) -> Option<FlowStack> {
                Some(Config::flow(self, shape, left, shared)).filter(|stack| !stack.is_empty())
            }
            fn rate_key(&self, shape: &FlowShape, left: MechanismSet) -> RateKey { Config::rate_key(self, shape, left) }
            fn lossless_classes(&self, name: &str, tier: &str) -> u8 { Config::lossless_classes(self, name, tier) }
        }
    };
}
pub(crate) use config;
