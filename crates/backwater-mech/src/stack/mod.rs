//! From a list of mechanisms to the types of a run: one `Option` per mechanism and side, called in the list's order.

mod config;
mod each;
mod sides;

pub(crate) use config::config;
pub(crate) use each::{for_all, for_all_of, for_configured, for_numbered};
pub(crate) use sides::sides;

use crate::confined::Confined;
use backwater_derive::parameters;
use backwater_net::Bytes;
use backwater_net::hooks::{Absent, AdviceForm, CheckCx, Defines, Finding, FlowHooks, Mechanism, Preset, Profile};
use backwater_net::parameters::Parameters;
use schemars::{Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use std::any::TypeId;

/// Nodes that an override applies to. A node must match each key that is given.
#[parameters]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Select {
    /// Tier of the node, such as `leaf`.
    #[param(range_text = "a tier of the topology", source = "Backwater's own")]
    pub tier: Option<String>,
    /// Name of the node, such as `leaf3`.
    #[param(range_text = "the name of a switch", source = "Backwater's own")]
    pub node: Option<String>,
}

impl Select {
    /// Returns whether it selects a node of this name and tier.
    pub fn matches(&self, name: &str, tier: &str) -> bool {
        self.tier.as_deref().is_none_or(|t| t == tier) && self.node.as_deref().is_none_or(|n| n == name)
    }
}

/// Parameters with overrides, each complete; the last that matches a node counts. Includes the flows to which they apply.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Scoped<P> {
    /// The parameters without a matching override.
    pub base: P,
    /// Overrides, already merged over the base.
    #[serde(default = "Vec::new")]
    pub at: Vec<At<P>>,
    /// Flows to which a mechanism is confined.
    #[serde(default, skip_serializing_if = "Confined::is_everything")]
    pub flows: Confined,
}

/// One override.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct At<P> {
    /// The nodes.
    pub select: Select,
    /// The parameters.
    pub params: P,
}

impl<P> Scoped<P> {
    /// The same everywhere.
    pub fn everywhere(base: P) -> Scoped<P> {
        Scoped { base, at: Vec::new(), flows: Confined::default() }
    }

    /// Returns the parameters that apply at some node.
    pub fn all(&self) -> impl Iterator<Item = &P> {
        std::iter::once(&self.base).chain(self.at.iter().map(|at| &at.params))
    }

    /// For the node of this name and tier.
    pub fn of(&self, name: &str, tier: &str) -> &P {
        self.by(self.at.iter().rposition(|at| at.select.matches(name, tier)))
    }

    /// The parameters of an override by its number, or of the base.
    pub fn by(&self, number: Option<usize>) -> &P {
        number.and_then(|number| self.at.get(number)).map_or(&self.base, |at| &at.params)
    }

    /// The nodes of its overrides.
    pub fn selects(&self) -> Vec<&Select> {
        self.at.iter().map(|at| &at.select).collect()
    }
}

/// The data of a mechanism for lists and documentation.
pub struct Entry {
    /// Its TOML table.
    pub name: &'static str,
    /// The document that defines it.
    pub defined_by: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Kinds of control frames that it sends, beside MAC control.
    pub frames: &'static [&'static str],
    /// The meaning of their column `value`.
    pub value: &'static str,
    /// Its counters, each with its meaning.
    pub counters: &'static str,
    /// Named parameter sets.
    pub presets: &'static [Preset],
    /// The advice that it gives.
    pub advice: Option<AdviceForm>,
    /// True if it has a side at switches.
    pub at_switches: fn() -> bool,
    /// True if it has a side at flows, so that it can be confined to some of them.
    pub at_flows: fn() -> bool,
    /// Schema of its parameters.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
}

impl Entry {
    /// The entry of a mechanism.
    pub const fn of<M: Mechanism<Switch: 'static, Flow: 'static>>() -> Entry {
        Entry {
            name: M::NAME,
            defined_by: M::DEFINED_BY,
            summary: M::SUMMARY,
            frames: M::FRAMES,
            value: M::VALUE,
            counters: M::COUNTERS,
            presets: M::PRESETS,
            advice: M::ADVICE,
            at_switches: || TypeId::of::<M::Switch>() != TypeId::of::<Absent>(),
            at_flows: || TypeId::of::<M::Flow>() != TypeId::of::<Absent>(),
            schema: |generator| generator.subschema_for::<M::Params>(),
        }
    }
}

/// Returns findings about parameters of one mechanism: those out of range that are read, or else the findings of the mechanism itself.
pub fn inspect<M: Mechanism>(params: &M::Params, cx: &CheckCx<'_>) -> Vec<Finding> {
    let (mut wrong, ineffective) = (params.out_of_range(), M::ineffective(params));
    wrong.retain(|finding| ineffective.iter().all(|one| one.key != finding.key));
    if wrong.is_empty() { M::check(params, cx) } else { wrong }
}

/// Findings of one mechanism over all switches, each once; `scope` picks the parameters per switch.
pub(crate) fn findings<M: Mechanism>(scoped: &Scoped<M::Params>, cx: &CheckCx<'_>) -> Vec<Finding> {
    let mut all: Vec<Finding> = Vec::new();
    for (shape, params) in cx.switches.iter().zip(cx.switch_params) {
        let one = CheckCx {
            switches: std::slice::from_ref(shape),
            switch_params: std::slice::from_ref(params),
            flows: scoped.flows.class_bits(),
            ..*cx
        };
        for finding in inspect::<M>(scoped.of(&shape.name, &shape.tier), &one) {
            if !all.iter().any(|f| f.key == finding.key && f.fatal == finding.fatal) {
                all.push(finding);
            }
        }
    }
    all
}

/// Returns whether packets of its flows carry something for a mechanism.
pub(crate) const fn attaches<M: Mechanism>() -> bool {
    <M::Flow as Defines<FlowHooks>>::HOOKS.has(FlowHooks::ATTACH)
}

/// The first entry that differs in the second list, or is missing there.
pub(crate) fn differs<'a, T: PartialEq>(one: &'a [T], other: &'a [T]) -> Option<&'a T> {
    let at = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    one.get(at).or(other.get(at))
}

/// The part of a profile that a run in progress depends on.
pub(crate) fn lasting((name, profile): (&'static str, Profile)) -> (&'static str, Profile) {
    (name, Profile { longest_message: Bytes::ZERO, ..profile })
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

/// Returns the unmet needs of configured mechanisms.
pub(crate) fn unmet(profiles: &[(&'static str, Profile)], acks: bool) -> Vec<(&'static str, &'static str)> {
    let any = |of: fn(&Profile) -> bool| profiles.iter().any(|(_, profile)| of(profile));
    let (marks, notifies, heeds) =
        (any(|profile| profile.marks), any(|profile| profile.notifies), any(|profile| profile.heeds));
    let mut unmet = Vec::new();
    for (name, Profile { needs, .. }) in profiles {
        unmet.extend((needs.marks && !marks).then_some((*name, "no mechanism marks packets")));
        unmet.extend(
            (needs.notified && !marks && !notifies).then_some((*name, "no mechanism marks packets or sends CNPs")),
        );
        unmet.extend((needs.heeded && !heeds).then_some((*name, "no mechanism reacts to CNPs")));
        unmet.extend((needs.acks && !acks).then_some((*name, "receivers do not acknowledge")));
    }
    unmet
}

/// Generates `Config`, `SwitchStack`, `NicStack`, `FlowStack` and `ENTRIES` from the registry's lines.
macro_rules! mechanisms {
    ($($name:ident => $mechanism:path),+ $(,)?) => {
        use backwater_net::hooks::{
            Advice, AdviceError, Carrier, CheckCx, Defines, Finding, FlowShape, PauseStyle, Hooks, Incasts, Mechanism, MemoryCx, NicShape, Overhead, MechanismId,
            MechanismSet, Profile, Question, RateKey, Situation, Steering, SwitchShape, Ineffective, WireCx,
        };
        use std::any::TypeId;
        use backwater_net::packet::{Class, Control};
        use backwater_net::Bytes;
        use $crate::confined::Confined;
        use $crate::stack::{
            Entry, Scoped, Select, attaches, clashes, differs, findings, for_all, for_all_of, for_configured, for_numbered, inspect, lasting, unmet,
        };

        $crate::stack::config!([$($name => $mechanism),+]);
        $crate::stack::sides!([$($name => $mechanism),+]);
    };
}
pub(crate) use mechanisms;
