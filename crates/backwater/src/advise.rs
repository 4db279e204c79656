//! Advice of mechanisms on their settings, and a scenario's answers to their questions.

use crate::check::{Draft, longest_frame, losses};
use crate::error::ScenarioError;
use crate::incast::{Measure, incasts};
use crate::planned::Planned;
use backwater_mech::registry::{Config, ENTRIES};
use backwater_net::config::BufferPer;
pub use backwater_net::hooks::{Advice, AdviceForm, AdviceRow};
use backwater_net::hooks::{Hop, LargestIncast, MemoryCx, Question, Situation, WRITTEN};
use backwater_net::packet::{HostId, NodeId, class_bits};
use backwater_net::topology::NodeKind;
use backwater_net::{Bytes, Rate};
use serde_json::{Map, Value};

/// Returns the questions by mechanism, first those that a scenario can answer.
pub fn forms() -> Vec<(&'static str, AdviceForm)> {
    let mut forms: Vec<_> = ENTRIES.iter().filter_map(|entry| Some((entry.name, entry.advice?))).collect();
    forms.sort_by_key(|(_, form)| !form.scenario);
    forms
}

/// The advice of a mechanism. `given`: values of the options of its form, by their keys; `scenario`: its name and [`facts`].
///
/// # Errors
/// Invalid or missing values.
pub fn advise(
    mechanism: &str,
    given: Map<String, Value>,
    scenario: Option<(String, Map<String, Value>)>,
) -> Result<Advice, ScenarioError> {
    let form = form(mechanism)?;
    let lacking = scenario.as_ref().and_then(|(_, facts)| facts.get(LACKING)?.as_array()).cloned();
    let mut advice = Config::advise(mechanism, &Question { form, given, scenario }).map_err(|error| ScenarioError {
        key: error.key.map(str::to_owned),
        value: error.value,
        reason: error.reason,
        hint: error.hint,
        ..ScenarioError::default()
    })?;
    let lacking = lacking.into_iter().flatten();
    advice.cautions.extend(lacking.filter_map(|reason| reason.as_str().map(str::to_owned)));
    Ok(advice)
}

/// A key of the facts: values that mechanisms of the scenario need and lack, and why.
const LACKING: &str = "lacking";

/// As [`facts`], for a scenario that may lack values: [`advise`] reports them.
///
/// # Errors
/// As of [`facts`].
pub fn facts_of_draft(draft: &Draft, mechanism: &str) -> Result<Map<String, Value>, ScenarioError> {
    let mut facts = facts(&draft.planned, mechanism)?;
    let lacking = draft
        .lacking
        .iter()
        .map(|error| format!("{}: {}; answered without it", error.key.as_deref().unwrap_or_default(), error.reason));
    facts.insert(LACKING.to_owned(), lacking.collect());
    Ok(facts)
}

fn form(mechanism: &str) -> Result<AdviceForm, ScenarioError> {
    let forms = forms();
    let known = || forms.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let found = forms.iter().find(|(name, _)| *name == mechanism);
    let error = || ScenarioError::new(format!("`{mechanism}` gives no advice")).hint(format!("there is: {}", known()));
    found.map(|(_, form)| *form).ok_or_else(error)
}

/// Returns the values of a scenario for the questions of a mechanism, by their keys. The situation is that of the largest known incast;
/// without one the path is that from the host that is farthest from the first.
///
/// # Errors
/// No such path exists.
pub fn facts(planned: &Planned, mechanism: &str) -> Result<Map<String, Value>, ScenarioError> {
    form(mechanism)?;
    let index = &planned.layout.index;
    let mut all = incasts(planned);
    // The first of equal ones.
    all.sort_by_key(|incast| std::cmp::Reverse(incast.senders.len()));
    let incast = all.first();
    let receiver = incast.map_or(HostId(0), |incast| incast.receiver);
    let home = planned.layout.graph.links.iter().find_map(|link| match index.node_of(receiver) {
        Some(host) if host == link.a => Some(link.b),
        Some(host) if host == link.b => Some(link.a),
        _ => None,
    });
    let Some(home) = home else {
        return Err(ScenarioError::new("the scenario has no hosts with a link").key("topology"));
    };
    let measure = Measure::new(planned);
    let paths = match incast {
        Some(incast) => measure.paths(incast),
        None => measure.longest_from_first_host(),
    };
    let Some(mut paths) = paths else {
        let error = ScenarioError::new("the scenario's hosts are not joined through a switch").key("topology");
        return Err(error.hint("give the delays as options instead"));
    };
    let (name, tier) = called(planned, home);
    let switch = planned.resolved().switch.of(name, tier);
    let limit = |node| pause_threshold(planned, node, incast.map(|incast| incast.class));
    paths.pause_threshold = limit(home);
    // The receiver's switch first, so that it wins among equal ones.
    let all = std::iter::once(&home).chain(&paths.through);
    let limits =
        all.filter_map(|node| limit(*node).map(|(bytes, key)| (bytes, key, called(planned, *node).0.to_owned())));
    let lowest_pause_threshold = limits.min_by_key(|(bytes, ..)| *bytes);
    let class = incast.map_or(0, |incast| class_bits(&[incast.class]));
    let situation = Situation {
        incast: incast.map(|incast| LargestIncast {
            receiver: planned.layout.name(incast.receiver).to_owned(),
            senders: incast.senders.len() as u64,
            class: incast.class,
            bytes: Bytes(incast.bytes),
        }),
        jobs: !planned.resolved().file.job.is_empty(),
        rate: planned.layout.arriving[receiver.0 as usize],
        paths,
        lowest_pause_threshold,
        buffer_per: switch.buffer_per,
        buffer: (switch.buffer_per != BufferPer::None).then(|| (switch.buffer_of(class), switch.buffer_key())),
        set_aside: switch.reserve > Bytes::ZERO || switch.headroom > Bytes::ZERO,
        alike: planned.resolved().switch.at.is_empty()
            && planned.resolved().mechanisms.overrides().iter().all(|(name, at)| *name != mechanism || at.is_empty()),
        clocked: planned.resolved().file.packet.clock.is_some(),
        classes: losses::all_classes(planned.resolved()),
        into_switches: into_switches(planned),
        longest_frame: longest_frame(planned.resolved(), &planned.layout.graph),
        cell: switch.cell,
        latency_at: switch.latency_at,
        frame: planned.resolved().file.packet.payload + planned.resolved().file.packet.header,
        gap: planned.resolved().file.packet.gap,
    };
    let mut facts = planned.resolved().mechanisms.facts(mechanism, (name, tier), &situation);
    facts.insert(WRITTEN.to_owned(), planned.resolved().keys_in(mechanism).into());
    Ok(facts)
}

/// Every link into a switch, as its port sends and as its neighbour does.
fn into_switches(planned: &Planned) -> Vec<Hop> {
    let ends = planned.layout.graph.links.iter().flat_map(|link| [(link, link.a), (link, link.b)]);
    let switches = ends.filter(|(_, end)| planned.layout.graph.nodes[end.0 as usize].kind == NodeKind::Switch);
    let hops = switches.flat_map(|(link, end)| {
        let (name, tier) = called(planned, end);
        let latency = planned.resolved().switch.of(name, tier).latency;
        [link.a, link.b].map(|from| Hop { rate: link.rate_from(from), delay: link.delay, latency })
    });
    hops.collect()
}

/// Name and tier of a node.
fn called(planned: &Planned, node: NodeId) -> (&str, &str) {
    let about = &planned.layout.graph.nodes[node.0 as usize];
    (&about.name, &about.tier)
}

/// The least bytes at which a mechanism pauses a neighbour of a switch, and the key that decides it.
fn pause_threshold(planned: &Planned, node: NodeId, class: Option<u8>) -> Option<(Bytes, String)> {
    let (name, tier) = called(planned, node);
    let links = planned.layout.graph.links.iter().filter(|link| [link.a, link.b].contains(&node));
    let rates: Vec<Rate> = links.map(|link| link.rate_from(node)).collect();
    let (switch, kept) =
        (planned.resolved().switch.of(name, tier), planned.resolved().mechanisms.lossless_classes(name, tier));
    planned.resolved().mechanisms.pause_threshold(name, tier, &MemoryCx { switch, rates: &rates, kept, class })
}
