//! What a scenario itself says of the question that [`super::sfc`] answers.

use crate::error::ScenarioError;
use crate::incast::{Measure, incasts};
use crate::plan::{Place, Plan};
use crate::resolved::Resolved;
use backwater_engine::Time;
use backwater_mech::pfc::Threshold;
use backwater_net::config::BufferPer;
use backwater_net::occupancy::shared_memory;
use backwater_net::packet::HostId;
use backwater_net::topology::Index;
use backwater_net::{Bytes, Rate};

/// The facts of a scenario; `None` where it has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SfcFacts {
    /// Name of the host with the largest known incast.
    pub receiver: Option<String>,
    /// Senders of that incast.
    pub senders: Option<u64>,
    /// Rate of the receiver's link.
    pub rate: Rate,
    /// Links from the farthest sender to the receiver's switch; as many switches.
    pub links: u64,
    /// Longest propagation delay of a link on the way.
    pub link_delay: Time,
    /// Longest latency of a switch on the way.
    pub switch_latency: Time,
    /// Where PFC pauses; the buffer where nothing pauses at a fixed number of bytes.
    pub pfc_threshold: Option<Bytes>,
    /// The key from which that comes.
    pub pfc_threshold_key: &'static str,
    /// The SFC threshold.
    pub threshold: Option<Bytes>,
    /// The SFC pause time.
    pub pause: Option<Time>,
    /// The time between two messages to one sender.
    pub interval: Option<Time>,
    /// Longest data frame.
    pub packet: Bytes,
    /// Length of an SFC message.
    pub message: Bytes,
}

/// With how many bytes from one port, all in one queue, PFC pauses a class (`None`: any that it pauses) at a switch whose ports have these
/// rates, and the key that decides it. `None`: nothing pauses it there. All may have come in at one port, as over an uplink.
pub(crate) fn pfc_limit(
    resolved: &Resolved,
    (name, tier): (&str, &str),
    rates: &[Rate],
    class: Option<u8>,
) -> Option<(Bytes, &'static str)> {
    let pfc = resolved.mechanisms.pfc.as_ref()?.of(name, tier);
    if class.is_some_and(|class| !pfc.classes.contains(&class)) {
        return None;
    }
    let switch = resolved.switch.of(name, tier);
    let (shared, beside, key) = match pfc.threshold {
        Threshold::Static => (Bytes::ZERO, Bytes::ZERO, "pfc.xoff"),
        // What comes in cannot know which memory it will take: nobody is paused by a share of it.
        Threshold::Dynamic if !switch.buffer_per.is_carved() => return None,
        Threshold::Dynamic => {
            let pools = shared_memory(switch, rates, resolved.mechanisms.lossless_classes(name, tier))?;
            (Bytes(pools.into_iter().min()?), switch.reserve, "pfc.alpha")
        }
    };
    let limit = rates.iter().filter_map(|rate| pfc.first_pause(*rate, shared)).min()?;
    Some((limit + beside, key))
}

/// Reads them off a scenario. Without a known incast the way is that from the host farthest from the first.
pub fn sfc_facts(resolved: &Resolved) -> Result<SfcFacts, ScenarioError> {
    let index = Index::new(&resolved.graph);
    let place = Place::new(resolved, &index);
    let groups = resolved.file.flow.iter().enumerate().filter(|(_, group)| group.table.is_none());
    let plans = groups.map(|(i, group)| Plan::new(&place, i, group)).collect::<Result<Vec<_>, _>>()?;
    let mut all = incasts(&place, &plans);
    // Of equal ones the first.
    all.sort_by_key(|incast| std::cmp::Reverse(incast.senders.len()));
    let incast = all.first();
    let receiver = incast.map_or(HostId(0), |incast| incast.receiver);
    let home = resolved.graph.links.iter().find_map(|link| match index.node_of(receiver) {
        Some(host) if host == link.a => Some(link.b),
        Some(host) if host == link.b => Some(link.a),
        _ => None,
    });
    let Some(home) = home else {
        return Err(ScenarioError::new("the scenario has no hosts with a link").key("topology"));
    };
    let about = &resolved.graph.nodes[home.0 as usize];
    let sfc = resolved.mechanisms.sfc.as_ref().map(|sfc| sfc.of(&about.name, &about.tier));
    let message = sfc.map_or(super::SFC_MESSAGE, |sfc| sfc.message_size);
    let measure = Measure::new(&place, message);
    let ways = match incast {
        Some(incast) => measure.ways(incast, &plans)?,
        None => measure.longest_from_first_host()?,
    };
    let Some(ways) = ways else {
        let error = ScenarioError::new("the scenario's hosts are not joined through a switch").key("topology");
        return Err(error.hint("give the delays as options instead"));
    };
    let switch = resolved.switch.of(&about.name, &about.tier);
    let links = resolved.graph.links.iter().filter(|link| [link.a, link.b].contains(&home));
    let rates: Vec<Rate> = links.map(|link| link.rate).collect();
    let limit = pfc_limit(resolved, (&about.name, &about.tier), &rates, incast.map(|incast| incast.class));
    let buffer = Some(switch.buffer).filter(|_| switch.buffer_per != BufferPer::None);
    Ok(SfcFacts {
        receiver: incast.map(|incast| place.name(incast.receiver).to_owned()),
        senders: incast.map(|incast| incast.senders.len() as u64),
        rate: place.rates.get(receiver.0 as usize).copied().unwrap_or_default(),
        links: ways.links,
        link_delay: ways.link_delay,
        switch_latency: ways.latency,
        pfc_threshold: limit.map(|(limit, _)| limit).or(buffer),
        pfc_threshold_key: limit.map_or("switch.buffer", |(_, key)| key),
        threshold: sfc.map(|sfc| sfc.threshold),
        pause: sfc.and_then(|sfc| sfc.pause),
        interval: sfc.and_then(|sfc| sfc.min_interval),
        packet: resolved.file.packet.payload + resolved.file.packet.header,
        message,
    })
}
