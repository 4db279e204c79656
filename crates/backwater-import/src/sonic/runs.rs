//! Scenarios whose runs show what is said of a configuration.

use super::config::Limit;
use super::plan::{Group, Plan, alpha};
use super::scenario::{Fixed, Incast, incasts, xon};
use super::verdict::about;
use crate::error::ImportError;
use crate::page::Page;
use crate::registry::Work;

/// Latency of a switch, the default of `switch.latency`, in ns.
const LATENCY_NS: u64 = 300;

/// A scenario, and what is to be looked at in its results.
pub type Run = (String, &'static str);

/// Writes a file beside the scenario of the import.
pub fn write(name: &str, text: &str, work: &mut Work<'_>) -> Result<(), ImportError> {
    let unwritable = |error: std::io::Error| ImportError::new(format!("cannot be written: {error}")).file(name);
    let mut file = work.place.create(name).map_err(unwritable)?;
    file.write_all(text.as_bytes()).and_then(|()| file.flush()).map_err(unwritable)
}

/// An incast from all ports but the slowest into that, in each lossless class, that fills all memory twice.
pub fn worst(plan: &Plan, group: &Group, ports: &[usize]) -> Vec<Incast> {
    let of = |number: &usize| plan.config.ports.get(*number);
    let Some(to) = ports.iter().filter_map(of).min_by_key(|port| port.bps) else { return Vec::new() };
    let from: Vec<String> =
        ports.iter().filter_map(of).filter(|port| port.name != to.name).map(|port| port.name.clone()).collect();
    let classes = &plan.config.lossless;
    let flows = (from.len() * classes.len()).max(1) as u64;
    let bytes = (2 * plan.held(group, ports.len() as u64) / flows).max(100 * plan.payload());
    let incast = |class: &u8| Incast {
        label: format!("incast-{class}"),
        from: from.clone(),
        to: to.name.clone(),
        bytes,
        class: *class,
    };
    if from.is_empty() { Vec::new() } else { classes.iter().map(incast).collect() }
}

/// Thresholds as the configured pool has them in this incast, in the memory that there is; and neighbours that take for stopping all
/// that headroom allows them.
pub fn memory(plan: &Plan, group: &Group, all: u64, work: &mut Work<'_>) -> Result<Option<Run>, ImportError> {
    let every: Vec<usize> = plan.groups.iter().flat_map(|group| &group.ports).copied().collect();
    let (here, there) = halves(plan, &every);
    let crossed = here.len() > 1 && there.len() > 1;
    let all_send = if crossed { every.len() } else { every.len().saturating_sub(1) };
    let senders = (all_send * plan.config.lossless.len()) as f64;
    if senders < 2.0 {
        return Ok(None);
    }
    // What the configuration gives each of so many that fill the pool together.
    let configured = plan.memory.configured as f64;
    let each = match group.profile.limit {
        Limit::Dynamic(_) => alpha(group) * configured / (1.0 + senders * alpha(group)),
        Limit::Static(octets) => (octets as f64).min(configured / senders),
    };
    let xoff = (each as u64).saturating_add(group.reserve).min(all.saturating_sub(1)).max(1);
    // One time for all: the least that any of them is allowed.
    let response_ps = plan.groups.iter().map(|group| slowest_response(plan, group)).min().unwrap_or(0);
    let fixed = Fixed { memory: all, xoff, xon: xon(group, xoff), response_ps };
    let mut page = Page::new();
    page.remark(
        "The memory: thresholds as the configured pool has them in this incast, and the memory that there is. The neighbours take for \
         stopping what headroom allows them. Half of the ports send to one of the others, and these to one of them. Frames that are \
         lost show that the two do not go together.",
    );
    page.key("title", format!("{}: memory", plan.named()));
    plan.star(&plan.config.ports.iter().collect::<Vec<_>>(), &mut page);
    plan.mechanisms(Some(group), plan.config.ports.len() as u64, Some(fixed), &mut page);
    if crossed {
        let flows = (every.len() * plan.config.lossless.len()).max(1) as u64;
        let bytes = (2 * plan.held(group, every.len() as u64) / flows).max(100 * plan.payload());
        for (from, to) in [(&here, &there), (&there, &here)] {
            let incast = |class: &u8| Incast {
                label: format!("incast-{class}"),
                from: from.clone(),
                to: to[0].clone(),
                bytes,
                class: *class,
            };
            incasts(&plan.config.lossless.iter().map(incast).collect::<Vec<_>>(), &mut page);
        }
    } else {
        incasts(&worst(plan, group, &every), &mut page);
    }
    let name = format!("{}.memory.toml", work.stem);
    write(&name, &page.into_text(), work)?;
    Ok(Some((name, "ports.drop_frames: above 0 shows that the memory is not enough")))
}

/// The names of the ports in two halves, in each the slowest first: all of one send to the first of the other, and both ways, so that
/// each port is paused and takes all its headroom.
fn halves(plan: &Plan, ports: &[usize]) -> (Vec<String>, Vec<String>) {
    let mut ports: Vec<_> = ports.iter().filter_map(|number| plan.config.ports.get(*number)).collect();
    ports.sort_by_key(|port| port.bps);
    let half = |odd: usize| ports.iter().skip(odd).step_by(2).map(|port| port.name.clone()).collect();
    (half(0), half(1))
}

/// A time from receipt of a pause to the stop that uses most of the headroom, in ps: all of it but four frames and the cable.
fn slowest_response(plan: &Plan, group: &Group) -> u64 {
    let octets = group.headroom.saturating_sub(4 * (plan.frame + 20));
    let ps = u128::from(octets) * 8_000_000_000_000 / u128::from(group.bps.max(1));
    u64::try_from(ps).unwrap_or(0).saturating_sub(2 * group.delay_ps)
}

/// Half of the ports of a group send to one of them, and each hears pauses late: the way to it is full of the longest frames, which
/// the others send it.
pub fn headroom(plan: &Plan, group: &Group, number: usize, work: &mut Work<'_>) -> Result<Option<Run>, ImportError> {
    let ports = plan.ports(group);
    let [to, others @ ..] = ports.as_slice() else { return Ok(None) };
    let (from, back) = others.split_at(others.len().div_ceil(2).max(2).min(others.len()));
    if from.len() < 2 {
        return Ok(None);
    }
    let lossless = &plan.config.lossless;
    let Some(lossy) = (0..8u8).find(|class| !lossless.contains(class)) else { return Ok(None) };
    let names = |ports: &[&super::config::Port]| ports.iter().map(|port| port.name.clone()).collect::<Vec<_>>();
    // What the others send in a lossy class must not be lost, or it would be counted, too: each (port, class) has room for it.
    let in_transit = 4 * plan.frame + group.bps / 8 * LATENCY_NS / 1_000_000_000;
    let group = &Group { reserve: group.reserve.max(in_transit), ..group.clone() };
    let held = plan.held(group, ports.len() as u64);
    let flows = (from.len() * lossless.len()).max(1) as u64;
    let incast = |class: &u8| Incast {
        label: format!("incast-{class}"),
        from: names(from),
        to: to.name.clone(),
        bytes: (2 * held / flows).max(100 * plan.payload()),
        class: *class,
    };
    let mut page = Page::new();
    page.remark(&format!(
        "The headroom of ports with {}: {} B. Frames are lost if it is short by more than a frame. Half of the ports send to {}, and the \
         way of pauses to them is full of frames from the others.",
        about(group),
        group.headroom,
        to.name
    ));
    page.key("title", format!("{}: headroom of {}", plan.named(), about(group)));
    let labels: Vec<String> = lossless.iter().map(|class| format!("incast-{class}")).collect();
    page.head("[stop]").key("when", labels);
    plan.star(&ports, &mut page);
    plan.mechanisms(Some(group), ports.len() as u64, None, &mut page);
    incasts(&lossless.iter().map(incast).collect::<Vec<_>>(), &mut page);
    // The receiver sends, too: each sender has somebody to hear from, as far as there are so many.
    let back: Vec<&super::config::Port> = std::iter::once(*to).chain(back.iter().copied()).collect();
    for (source, sender) in back.iter().zip(from) {
        let back = Incast {
            label: "back".to_owned(),
            from: vec![source.name.clone()],
            to: sender.name.clone(),
            bytes: 2 * held + 100 * plan.payload(),
            class: lossy,
        };
        incasts(&[back], &mut page);
    }
    let name = format!("{}.headroom-{number}.toml", work.stem);
    write(&name, &page.into_text(), work)?;
    Ok(Some((name, "ports.drop_frames: 0 if headroom is enough")))
}

/// A queue that grows to a length between two, by two ports of the rate of the third.
pub fn order(
    plan: &Plan,
    group: &Group,
    class: u8,
    (low, high): (u64, u64),
    work: &mut Work<'_>,
) -> Result<Option<Run>, ImportError> {
    let ports = plan.ports(group);
    let [to, first, second, ..] = ports.as_slice() else { return Ok(None) };
    // The queue has in the end what one of them has sent.
    let packets = (low.midpoint(high) / plan.frame.max(1)).max(1);
    let incast = Incast {
        label: "burst".to_owned(),
        from: vec![first.name.clone(), second.name.clone()],
        to: to.name.clone(),
        bytes: packets * plan.payload(),
        class,
    };
    let mut page = Page::new();
    page.remark(&format!(
        "What comes first, ECN or PFC: a queue that grows to {} B. The lengths at which packets are marked and ports are paused lie on both \
         sides of that.",
        packets * plan.frame
    ));
    page.key("title", format!("{}: ECN and PFC", plan.named()));
    plan.star(&ports, &mut page);
    plan.mechanisms(Some(group), ports.len() as u64, None, &mut page);
    incasts(&[incast], &mut page);
    let name = format!("{}.order.toml", work.stem);
    write(&name, &page.into_text(), work)?;
    Ok(Some((name, "ports.marked_frames and ports.pauses_sent: what comes first is there, the other is 0")))
}

/// A second switch of the kind pauses this one in its worst incast.
pub fn watchdog(plan: &Plan, group: &Group, work: &mut Work<'_>) -> Result<Option<Run>, ImportError> {
    if group.ports.len() < 4 {
        return Ok(None);
    }
    let mut page = Page::new();
    page.remark(&format!(
        "The watchdog: a second switch of the kind, next, pauses the port of {} that leads to it while its own memory is full.",
        plan.switch()
    ));
    page.key("title", format!("{}: watchdog", plan.named()));
    plan.two_switches(group, &mut page);
    plan.mechanisms(Some(group), group.ports.len() as u64, None, &mut page);
    incasts(&worst(plan, group, &group.ports), &mut page);
    let name = format!("{}.watchdog.toml", work.stem);
    write(&name, &page.into_text(), work)?;
    Ok(Some((name, "ports.flushed_frames: 0 unless the watchdog gave up a queue")))
}
