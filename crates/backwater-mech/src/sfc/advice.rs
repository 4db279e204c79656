//! The questions that `advise` answers for Source Flow Control, and the values that a scenario provides.

use super::advice_text::{ASSUMED, advice};
use super::config::Params;
use super::formula::PathTime;
use super::incast_case::{Case, GIVEN, MESSAGE};
use super::incasts::{ends, judges};
use backwater_net::config::LatencyAt;
use backwater_net::hooks::{
    Advice, AdviceError, AdviceForm, AdviceOption, AdviceProof, Hop, Question, Situation, needed,
};
use backwater_net::{Bytes, Rate};
use serde_json::{Map, Value, json};
use std::cmp::Reverse;

/// The threshold of the 3:1 cases of the study sfc-aidc-2025, whose network the defaults are.
const STUDY_THRESHOLD: Bytes = Bytes(200_000);

const fn option(name: &'static str, help: &'static str, default: Option<&'static str>) -> AdviceOption {
    AdviceOption { name, help, whole: false, default }
}

const fn count(name: &'static str, help: &'static str, default: Option<&'static str>) -> AdviceOption {
    AdviceOption { name, help, whole: true, default }
}

/// The questions. The defaults are the network of the study sfc-aidc-2025.
pub(super) const FORM: AdviceForm = AdviceForm {
    about: "Headroom, largest threshold and legal range of pause times of Source Flow Control.\n\n\
            What neither an option nor a scenario gives is the network of the study sfc-aidc-2025. Ends with\n\
            code 1 if there is no legal setting, or if the one in mind is not legal. That is by the formula\n\
            of the contribution to P802.1Qdw and, where the length of a frame is known (--packet, --scenario),\n\
            by the same formula with serialisation, too. Beside it stands this project's bound, which counts\n\
            serialisation and whole frames and only cautions.",
    options: &[
        count("senders", "Senders into one port. Default: of the scenario's incast.", None),
        option("rate", "Rate of every link. Default: each link's in the scenario, or 200 Gb/s.", Some("200 Gb/s")),
        count("links", "Links from a sender to the receiver's switch. Default: the scenario's, or 3.", Some("3")),
        count("switches", "Switches on the way, the congested one too. Default: the scenario's, or 3.", Some("3")),
        option("link_delay", "Propagation delay of a link. Default: the scenario's, or 150 ns.", Some("150 ns")),
        option("switch_latency", "Processing delay of a switch. Default: the scenario's, or 300 ns.", Some("300 ns")),
        option("pfc_threshold", "Where PFC pauses an ingress. Default: the scenario's, or 380 KB.", Some("380 KB")),
        option(
            "threshold",
            "The SFC threshold you have in mind. Default: the scenario's, or 200 KB, or the largest legal one if that is less.",
            None,
        ),
        option("pause", "The pause time you have in mind. Default: the scenario's.", None),
        option("interval", "Time between two messages to one sender. Default: the scenario's, or the pause.", None),
        option("packet", "Largest frame; with it serialisation is counted too. Default: the scenario's.", None),
    ],
    scenario: true,
    proof: Some(AdviceProof {
        key: "sfc.threshold",
        largest: true,
        condition: "pauses == 0 and drops == 0",
        // A threshold that is legal is so by both.
        rows: &["largest threshold with serialisation", "largest threshold"],
        below: Some("pfc_threshold"),
        from: None,
        sets: &[("pause", "sfc.pause"), ("interval", "sfc.min_interval")],
        ineffective: None,
        free: &[],
    }),
};

/// Reads the question and answers it.
pub(super) fn answer(question: &Question) -> Result<Advice, AdviceError> {
    let Some(senders) = question.count("senders")? else { return Err(no_senders(question)) };
    let mut incast = Case {
        senders,
        rate: needed("rate", question.quantity("rate")?)?,
        rates: rates(question),
        links: needed("links", question.count("links")?)?,
        switches: needed("switches", question.count("switches")?)?,
        link_delay: needed("link_delay", question.quantity("link_delay")?)?,
        switch_latency: needed("switch_latency", question.quantity("switch_latency")?)?,
        behind_latency: question.fact("behind_latency").and_then(Value::as_bool).unwrap_or(true),
        pfc_threshold: needed("pfc_threshold", question.quantity("pfc_threshold")?)?,
        // Without PFC a scenario's limit is the memory.
        pauses: !question.is_from_scenario("pfc_threshold")
            || question.fact("pfc_pauses").and_then(Value::as_bool).unwrap_or(true),
        threshold: question.quantity("threshold")?,
        pause: question.quantity("pause")?,
        interval: question.quantity("interval")?,
        packet: question.quantity("packet")?,
        // The defaults are the study's frames, which have no gap.
        gap: question.quantity("gap")?.unwrap_or(Bytes::ZERO),
        message: question.quantity("message")?.unwrap_or(MESSAGE),
        origin: GIVEN,
    };
    if incast.threshold.is_none() && question.scenario.is_none() {
        let study = Case { threshold: Some(STUDY_THRESHOLD), origin: "as in studies/sfc-aidc-2025", ..incast.clone() };
        if advice(&study)?.feasible {
            incast = study;
        }
    }
    let mut advice = advice(&incast)?;
    advice.cautions.extend(faster(question));
    advice.cautions.extend(sharing(question, senders));
    advice.summary.extend(limit_of_check(question));
    advice.summary.extend(taken(question));
    Ok(advice)
}

/// The rates of the links on the scenario's longest path; empty if an option gives one rate for all, or their number.
fn rates(question: &Question) -> Vec<Rate> {
    if !["rate", "links"].iter().all(|key| question.is_from_scenario(key)) {
        return Vec::new();
    }
    let all = question.fact("link_rates").and_then(Value::as_array).into_iter().flatten();
    all.map(|rate| rate.as_str()?.parse().ok()).collect::<Option<_>>().unwrap_or_default()
}

/// A warning if some sender of the scenario is faster than the receiver, even if an option gives one rate to all links.
fn faster(question: &Question) -> Option<String> {
    let rate = |key: &str| question.fact(key).and_then(Value::as_str)?.parse::<Rate>().ok();
    let (own, receiver) = rate("fastest_sender").zip(rate("rate")).filter(|(own, receiver)| own > receiver)?;
    Some(format!(
        "senders' links (up to {own}) are faster than the receiver's ({receiver}): all formulas count a sender at the receiver's rate, \
         and their figures are too small here: the excess is the sum of the senders' rates less the receiver's, not (N - 1) C"
    ))
}

/// A warning if senders of the scenario share links on their paths: the formulas do not know these.
fn sharing(question: &Question, senders: u64) -> Option<String> {
    let carried = question.fact("carried").and_then(Value::as_u64).filter(|_| question.is_from_scenario("senders"))?;
    (carried < senders).then(|| {
        format!(
            "our bound is {ASSUMED}; here shared links bring {carried} of {senders} at once, so that simulation (`--prove`) says more"
        )
    })
}

/// The limit of the warning of `check`, and why it differs from those above.
fn limit_of_check(question: &Question) -> Option<String> {
    // If an option replaces a value of the scenario, the question differs from that of `check`.
    let same = ["senders", "rate", "links", "switches", "link_delay", "switch_latency", "pfc_threshold", "packet"];
    if !same.iter().all(|key| question.is_from_scenario(key)) {
        return None;
    }
    let fact = |key: &str| question.fact(key).and_then(Value::as_str);
    let (limit, carried) = (fact("check_threshold")?, question.fact("carried").and_then(Value::as_u64)?);
    let senders = question.count("senders").ok().flatten()?;
    let who = if carried < senders {
        format!("the {carried} of {senders} senders that shared links bring at once")
    } else {
        format!("all {senders} senders")
    };
    Some(format!(
        "`backwater check` warns above {limit}: it counts {who}, on the shortest loop, with serialisation. \
         The limits above count all senders on the longest loop."
    ))
}

fn no_senders(question: &Question) -> AdviceError {
    match &question.scenario {
        None => AdviceError::new("--senders is missing").hint("how many send into one port, or --scenario FILE"),
        Some((file, _)) if question.fact("jobs") == Some(&Value::Bool(true)) => {
            AdviceError::new(format!("{file}: which flows of jobs are there at once is not known beforehand"))
                .hint("say how many hosts may send into one with --senders")
        }
        Some((file, _)) => {
            AdviceError::new(format!("{file}: no flows are known to start at once from several hosts into one"))
                .hint("say how many there may be with --senders")
        }
    }
}

/// Returns the values taken from the scenario, in a line.
fn taken(question: &Question) -> Option<String> {
    let (file, _) = question.scenario.as_ref()?;
    let keys = FORM.options.iter().map(|option| option.name).chain(["message", "gap"]);
    let name = |key: &str| match (key, question.fact("pfc_threshold_key").and_then(Value::as_str)) {
        // The limit is a dynamic threshold of PFC, or without PFC the memory itself.
        ("pfc_threshold", Some(key)) if key != "pfc.xoff" => format!("limit ({key})"),
        _ => key.replace('_', " "),
    };
    let names: Vec<String> = keys.filter(|key| question.is_from_scenario(key)).map(name).collect();
    let receiver = question.fact("receiver").and_then(Value::as_str).filter(|_| question.is_from_scenario("senders"));
    let into = receiver.map_or_else(String::new, |receiver| format!(" (into {receiver})"));
    Some(format!("From {file}{into}: {}.", names.join(", ")))
}

/// Returns the values of a scenario, quantities as text.
pub(super) fn facts(params: Option<&Params>, situation: &Situation) -> Map<String, Value> {
    let hops = || situation.paths.different.iter().flatten();
    // Among paths with equally many links the one whose links take longest; among equal ones always the same.
    let rates = |way: &[Hop]| way.iter().map(|hop| hop.rate).collect::<Vec<_>>();
    let times = |way: &[Hop]| Reverse(PathTime::of(way, situation.frame + situation.gap, Bytes::ZERO).frames);
    let longest = situation.paths.different.iter().min_by_key(|way| (Reverse(way.len()), times(way), rates(way)));
    let fastest = situation.paths.different.iter().filter_map(|way| Some(way.first()?.rate)).max();
    let links = longest.map(Vec::len).unwrap_or_default();
    let limit = situation.paths.pause_threshold.clone();
    let limit = limit.or_else(|| situation.buffer.map(|(buffer, key)| (buffer, key.to_owned())));
    let incast = situation.incast.as_ref();
    let senders = incast.map(|incast| incast.senders);
    let message = params.map_or(MESSAGE, |sfc| sfc.message_size);
    let on_links = (situation.frame + situation.gap, message + situation.gap);
    // As in `check`: without a mechanism that pauses there is no limit.
    let pauses = situation.paths.pause_threshold.as_ref().map(|(bytes, _)| *bytes);
    let ends = senders.zip(pauses).and_then(|(senders, pauses)| {
        ends(&situation.paths, senders, situation.rate, on_links, Some(pauses), None).ok().flatten()
    });
    let check_threshold = ends.and_then(|(least, _)| least.largest_threshold);
    // An existing threshold decides what is judged now, and any threshold above the limit what would be judged.
    let classes = params.map_or_else(Params::usual_classes, |sfc| sfc.classes.clone());
    let threshold = params.map_or(Bytes::ZERO, |sfc| sfc.threshold);
    let judged = |limit: &Bytes| {
        incast.is_some_and(|incast| judges(&classes, incast.class, incast.bytes, threshold.max(*limit)))
    };
    let facts = json!({
        "carried": senders.map(|senders| situation.paths.carried.min(senders)),
        "check_threshold": check_threshold.filter(judged).map(|bytes| bytes.to_string()),
        "jobs": situation.jobs,
        "receiver": incast.map(|incast| &incast.receiver),
        "senders": senders,
        "rate": situation.rate.to_string(),
        "links": links,
        "fastest_sender": fastest.map(|rate| rate.to_string()),
        "link_rates": longest.map(|way| way.iter().map(|hop| hop.rate.to_string()).collect::<Vec<_>>()),
        "switches": links,
        "link_delay": hops().map(|hop| hop.delay).max().unwrap_or_default().to_string(),
        "switch_latency": hops().map(|hop| hop.latency).max().unwrap_or_default().to_string(),
        "behind_latency": situation.latency_at != LatencyAt::Output,
        "pfc_threshold": limit.as_ref().map(|(bytes, _)| bytes.to_string()),
        "pfc_pauses": pauses.is_some(),
        "pfc_threshold_key": limit.map_or_else(|| "switch.buffer".to_owned(), |(_, key)| key),
        "threshold": params.map(|sfc| sfc.threshold.to_string()),
        "pause": params.and_then(|sfc| sfc.pause).map(|time| time.to_string()),
        "interval": params.and_then(|sfc| sfc.min_interval).map(|time| time.to_string()),
        "packet": situation.frame.to_string(),
        "message": message.to_string(),
        "gap": situation.gap.to_string(),
    });
    match facts {
        Value::Object(facts) => facts,
        _ => Map::new(),
    }
}
