//! Scenarios whose runs show the verdicts on a configuration.

use super::buffers::Limit;
use super::plan::{Group, Memory, Plan, alpha};
use super::ports::Port;
use super::qos::Wred;
use super::scenario::{Fixed, Incast, Part, incasts, xon};
use crate::error::ImportError;
use crate::family::Work;
use crate::scenario_writer::ScenarioWriter;
use crate::units::time;

/// Latency of a switch, the default of `switch.latency`, in ns.
const LATENCY_NS: u64 = 300;

/// Octets on the wire beside a frame: the default of `packet.gap`.
const GAP: u64 = 20;
/// Time between the begin of a frame that delays a pause and the pause, in ps.
const JUST_PS: u64 = 100;

/// A scenario, and the results to be examined.
pub type Run = (String, &'static str);

/// Writes a file beside the scenario of the import.
pub fn write(name: &str, text: &str, work: &mut Work<'_>) -> Result<(), ImportError> {
    let unwritable = |error: std::io::Error| ImportError::new(format!("cannot be written: {error}")).file(name);
    let mut file = work.place.create(name).map_err(unwritable)?;
    file.write_all(text.as_bytes()).and_then(|()| file.flush()).map_err(unwritable)
}

/// An incast from all ports to the slowest, in each lossless class, that fills all memory twice.
pub fn worst(plan: &Plan, group: &Group, ports: &[usize]) -> Vec<Incast> {
    let of = |number: &usize| plan.config.ports.get(*number);
    let Some(to) = ports.iter().filter_map(of).min_by_key(|port| port.bps) else { return Vec::new() };
    let from: Vec<String> =
        ports.iter().filter_map(of).filter(|port| port.name != to.name).map(|port| port.name.clone()).collect();
    let classes = &plan.config.lossless;
    let flows = (from.len() * classes.len()).max(1) as u64;
    let groups = (ports.len() * classes.len()) as u64;
    let bytes = (2 * plan.held(group, groups) / flows).max(100 * plan.payload());
    let incast = |class: &u8| Incast {
        label: format!("incast-{class}"),
        from: from.clone(),
        to: to.name.clone(),
        bytes,
        class: *class,
    };
    if from.is_empty() { Vec::new() } else { classes.iter().map(incast).collect() }
}

/// Thresholds of the configured pool in this incast, in the existing memory; neighbours take the whole time that headroom allows them for
/// stopping.
pub fn memory(plan: &Plan, group: &Group, all: u64, work: &mut Work<'_>) -> Result<Option<Run>, ImportError> {
    let every = plan.lossless_ports();
    let (here, there) = halves(plan, &every);
    let crossed = here.len() > 1 && there.len() > 1;
    let all_send = if crossed { every.len() } else { every.len().saturating_sub(1) };
    let senders = (all_send * plan.config.lossless.len()) as f64;
    if senders < 2.0 {
        return Ok(None);
    }
    let each = each_of(plan, senders);
    let xoff = (each as u64).saturating_add(group.reserve).min(all.saturating_sub(1)).max(1);
    // One time for all: the least permitted one.
    let response_ps = plan.groups.iter().map(|group| slowest_response(plan, group)).min().unwrap_or(0);
    let fixed = Fixed { memory: all, xoff, xon: xon(group, xoff), response_ps };
    let classes = &plan.config.lossless;
    let mut writer = ScenarioWriter::new();
    writer.remark(
        "The memory: thresholds as the configured pool has them in this incast, and the memory that there is. The neighbours take for \
         stopping what headroom allows them. Half of the ports send to one of the others, and these to one of them. Frames that are \
         lost show that the two do not go together.",
    );
    writer.key("title", format!("{}: memory", plan.named()));
    plan.star(&plan.config.ports.iter().collect::<Vec<_>>(), &mut writer);
    let ports = plan.config.ports.len() as u64;
    let marks = plan.marking(group);
    let part = Part { group: Some(group), classes, ports, marks, fixed: Some(fixed), ..Part::default() };
    plan.mechanisms(part, &mut writer);
    if crossed {
        let flows = (every.len() * classes.len()).max(1) as u64;
        let bytes = (2 * plan.held(group, flows) / flows).max(100 * plan.payload());
        for (from, to) in [(&here, &there), (&there, &here)] {
            let incast = |class: &u8| Incast {
                label: format!("incast-{class}"),
                from: from.clone(),
                to: to[0].clone(),
                bytes,
                class: *class,
            };
            incasts(&classes.iter().map(incast).collect::<Vec<_>>(), &mut writer);
        }
    } else {
        incasts(&worst(plan, group, &every), &mut writer);
    }
    let name = format!("{}.memory.toml", work.stem);
    write(&name, &writer.into_text(), work)?;
    Ok(Some((name, "ports.drop_frames: above 0 shows that the memory is not enough")))
}

/// Returns the octets that the configuration gives each of so many priority groups that fill the pool together: the mean of all profiles,
/// since a scenario has one threshold.
///
/// ```text
/// dynamic: x_i = alpha_i (S - sum x), so sum x = S a / (1 + a), where a = sum alpha_i      static: x_i, at most S in all
/// ```
fn each_of(plan: &Plan, senders: f64) -> f64 {
    let configured = plan.memory.configured as f64;
    let all: f64 = plan.groups.iter().map(|group| group.count as f64).sum::<f64>().max(1.0);
    let mut sum_alpha = 0.0;
    let mut fixed = 0.0;
    for group in &plan.groups {
        // The number of senders with this profile.
        let many = group.count as f64 * senders / all;
        match group.profile.limit {
            Limit::Dynamic(_) => sum_alpha += many * alpha(group),
            Limit::Static(octets) => fixed += many * octets as f64,
        }
    }
    let fixed = fixed.min(configured);
    let moving = (configured - fixed) * sum_alpha / (1.0 + sum_alpha);
    (fixed + moving) / senders
}

/// The names of the ports in two halves, each with the slowest first. All of one half send to the first of the other, in both directions,
/// so each port is paused and takes all its headroom.
fn halves(plan: &Plan, ports: &[usize]) -> (Vec<String>, Vec<String>) {
    let mut ports: Vec<_> = ports.iter().filter_map(|number| plan.config.ports.get(*number)).collect();
    ports.sort_by_key(|port| port.bps);
    let half = |odd: usize| ports.iter().skip(odd).step_by(2).map(|port| port.name.clone()).collect();
    (half(0), half(1))
}

/// A time from receipt of a pause to the stop that uses most of the headroom, in ps: all of it except four frames and the cable.
fn slowest_response(plan: &Plan, group: &Group) -> u64 {
    let octets = group.headroom.saturating_sub(4 * (plan.frame + GAP));
    let ps = u128::from(octets) * 8_000_000_000_000 / u128::from(group.bps.max(1));
    u64::try_from(ps).unwrap_or(0).saturating_sub(2 * group.delay_ps)
}

/// Two ports of a group fill memory that nothing leaves, and pauses reach each as late as possible: the path to it is full of the longest
/// frames, and one has just begun when the pause is due.
pub fn headroom(plan: &Plan, group: &Group, number: usize, work: &mut Work<'_>) -> Result<Option<Run>, ImportError> {
    let ports = plan.ports(group);
    let [first, second, ..] = ports.as_slice() else { return Ok(None) };
    let classes = &group.classes;
    let Some(class) = classes.first().copied() else { return Ok(None) };
    let Some(lossy) = back_class(plan, group) else { return Ok(None) };
    // Frames of a lossy class in transit must not be lost, since losses would be counted: each (port, class) has room for them.
    let in_transit = 4 * plan.frame + group.bps / 8 * LATENCY_NS / 1_000_000_000;
    let group = &Group { reserve: group.reserve.max(in_transit), ..group.clone() };
    // With a static limit a frame first takes the rest of the pool: here the two take all of it.
    let shared = match group.profile.limit {
        Limit::Dynamic(_) => plan.memory.shared,
        Limit::Static(octets) => octets.saturating_sub(group.reserve).saturating_mul(2).clamp(1, plan.memory.shared),
    };
    let plan = &Plan { memory: Memory { shared, ..plan.memory.clone() }, ..plan.clone() };
    let hosts = 5;
    let held = plan.held(group, hosts * classes.len() as u64).max(plan.frame);
    let wire_ps = |octets: u64| {
        let ps = u128::from(octets) * 8_000_000_000_000 / u128::from(group.bps.max(1));
        u64::try_from(ps).unwrap_or(u64::MAX / 64)
    };
    // Two senders fill all memory in half the sink's time for its first frame.
    let slow = u128::from(group.bps) * u128::from(plan.frame) / u128::from(held);
    let slow = (u64::try_from(slow).unwrap_or(group.bps) / 1000 * 1000).max(1000);
    let frame_ps = wire_ps(plan.frame + GAP).max(1);
    let end = wire_ps(held) / 2 + 8 * group.delay_ps + group.response.ps() + 60 * frame_ps;
    // Frames of both directions have the same length. One in the reverse direction begins just before the pause.
    let begun = (LATENCY_NS * 1000 + JUST_PS) % frame_ps;
    let back_start = frame_ps - begun;
    let [sink, back_1, back_2] = ["sink", "back-1", "back-2"].map(|name| plan.free_name(name));
    let mut writer = ScenarioWriter::new();
    writer.remark(&format!(
        "The headroom of {} with {}: {} B. Its worst case: {} and {} send to {sink}, whose link is so slow that nothing leaves while \
         their pause is under way, as if the receiver were paused. The way of the pause is full of the longest frames from {back_1} and \
         {back_2}, of which one has just begun. {} {sink}, {back_1} and {back_2} are no ports of the configuration.",
        classes_named(classes),
        group.about(),
        group.headroom,
        first.name,
        second.name,
        match plan.cell() {
            1 => "Frames are lost if headroom is short of what is needed by more than a frame.",
            _ => "Frames are lost if headroom is short of what the longest frames need; short ones, which take more cells, are not here.",
        },
    ));
    if let Limit::Static(_) = group.profile.limit {
        writer.remark("The rest of the pool is taken: behind a static limit a frame takes what is left of it first.");
    }
    writer.key("title", format!("{}: headroom of {}", plan.named(), group.about()));
    writer.head("[stop]").key("at", time(end));
    plan.star_beside(group, &[(&sink, slow), (&back_1, group.bps), (&back_2, group.bps)], &mut writer);
    let cell = Some(plan.cell());
    plan.mechanisms(Part { group: Some(group), classes, ports: hosts, cell, ..Part::default() }, &mut writer);
    writer.head("[ack]").key_because("enabled", false, "acknowledgements would take from the rate of the senders");
    let bytes = 2 * held + 200 * plan.payload();
    let from = vec![first.name.clone(), second.name.clone()];
    incasts(&[Incast { label: format!("incast-{class}"), from, to: sink, bytes, class }], &mut writer);
    for (from, to) in [(back_1, first), (back_2, second)] {
        let back = Incast { label: "back".to_owned(), from: vec![from], to: to.name.clone(), bytes, class: lossy };
        incasts(&[back], &mut writer);
        writer.key("start", time(back_start));
    }
    let name = format!("{}.headroom-{number}.toml", work.stem);
    write(&name, &writer.into_text(), work)?;
    let look_at = match plan.cell() {
        1 => "ports.drop_frames: 0 if headroom is enough",
        _ => "ports.drop_frames: above 0 shows that headroom is too small; 0 proves it for the longest frames alone",
    };
    Ok(Some((name, look_at)))
}

/// A class for frames that delay a pause: one that is never lossless, or at least not in this group.
fn back_class(plan: &Plan, group: &Group) -> Option<u8> {
    let without = |classes: &[u8]| (0..8u8).find(|class| !classes.contains(class));
    without(&plan.config.lossless).or_else(|| without(&group.classes))
}

/// `class 3`, `classes 3 and 4`.
pub fn classes_named(classes: &[u8]) -> String {
    let words: Vec<String> = classes.iter().map(u8::to_string).collect();
    match words.split_last() {
        None => "no class".to_owned(),
        Some((one, [])) => format!("class {one}"),
        Some((last, others)) => format!("classes {} and {last}", others.join(", ")),
    }
}

/// Returns why the headroom of a group has no run.
pub fn no_headroom(group: &Group) -> &'static str {
    match group.ports.len() {
        0 | 1 => "two ports that are alike have to fill memory",
        _ => "what delays the pause is of a class without PFC, and there is none",
    }
}

/// Returns whether [`order`] has a run.
pub fn has_order(plan: &Plan, group: &Group) -> bool {
    plan.ports(group).len() > 2
}

/// A queue that two ports with the rate of a third fill to a length between two; `marks`: the port's marking.
pub fn order(
    plan: &Plan,
    group: &Group,
    marks: Option<&Wred>,
    (low, high): (u64, u64),
    number: usize,
    work: &mut Work<'_>,
) -> Result<Option<Run>, ImportError> {
    // A class that is marked, if any is.
    let marked = marks.map_or_else(|| group.classes.clone(), |wred| plan.marked(wred));
    let Some(class) = group.classes.iter().copied().find(|class| marked.contains(class)) else { return Ok(None) };
    let ports = plan.ports(group);
    let [to, first, second, ..] = ports.as_slice() else { return Ok(None) };
    // The ports are of one slice.
    let plan = &Plan { memory: Memory { shared: plan.of_slice().max(1), ..plan.memory.clone() }, ..plan.clone() };
    // In the end the queue holds the bytes of one of them.
    let packets = (low.midpoint(high) / plan.frame.max(1)).max(1);
    let incast = Incast {
        label: "burst".to_owned(),
        from: vec![first.name.clone(), second.name.clone()],
        to: to.name.clone(),
        bytes: packets * plan.payload(),
        class,
    };
    let mut writer = ScenarioWriter::new();
    writer.remark(&if marks.is_some() {
        format!(
            "What comes first, ECN or PFC: a queue that grows to {} B. The lengths at which packets are marked and ports are paused lie on \
             both sides of that.",
            packets * plan.frame
        )
    } else {
        "What comes first, ECN or PFC, at a port that never marks: its queue grows until those that fill it are paused.".to_owned()
    });
    writer.key("title", format!("{}: ECN and PFC", plan.named()));
    plan.star(&ports, &mut writer);
    let (classes, ports) = (&group.classes, ports.len() as u64);
    plan.mechanisms(Part { group: Some(group), classes, ports, marks, ..Part::default() }, &mut writer);
    incasts(&[incast], &mut writer);
    let name = match number {
        1 => format!("{}.order.toml", work.stem),
        _ => format!("{}.order-{number}.toml", work.stem),
    };
    write(&name, &writer.into_text(), work)?;
    Ok(Some((name, "ports.marked_frames and ports.pauses_sent: what comes first is there, the other is 0")))
}

/// The longest pause that the run of the watchdog certainly shows, in ps, and its ports. Late frames from the first switch wait behind
/// everything that the others hold, since frames in headroom leave last.
///
/// ```text
/// dynamic: n senders hold n alpha S / (1 + n alpha)      static: n xoff, at most S
/// ```
pub struct LatePause<'a> {
    /// The late sender, through the first switch.
    pub late: &'a Port,
    /// The receiver: the slowest port.
    pub to: &'a Port,
    /// Its length, in ps.
    pub ps: u64,
}

/// See [`LatePause`]. `None`: there are too few ports.
pub fn late_pause<'a>(plan: &'a Plan, group: &Group) -> Option<LatePause<'a>> {
    let all = &plan.config.ports;
    let to = all.iter().min_by_key(|port| port.bps)?;
    let late = plan.ports(group).into_iter().find(|port| port.name != to.name)?;
    let others = all.len().checked_sub(2).filter(|others| *others >= 2)?;
    let (n, shared) = (others as f64, plan.memory.shared);
    let held = match group.profile.limit {
        Limit::Dynamic(_) => (n * alpha(group) * shared as f64 / (1.0 + n * alpha(group))) as u64,
        Limit::Static(octets) => octets.saturating_mul(others as u64).min(shared),
    };
    let ps = u128::from(held) * 8_000_000_000_000 / u128::from(to.bps.max(1));
    Some(LatePause { late, to, ps: u64::try_from(ps).unwrap_or(u64::MAX / 8) })
}

/// A second identical switch is full when this one begins to send to it.
pub fn watchdog(plan: &Plan, group: &Group, work: &mut Work<'_>) -> Result<Option<Run>, ImportError> {
    let Some(LatePause { late, to, .. }) = late_pause(plan, group) else { return Ok(None) };
    let Some(class) = group.classes.first().copied() else { return Ok(None) };
    let (all, classes) = (&plan.config.ports, &plan.config.lossless);
    let ports = all.len() as u64;
    let held = plan.held(group, ports * classes.len() as u64);
    let full_ps = u128::from(held) * 8_000_000_000_000 / u128::from(to.bps.max(1));
    let full_ps = u64::try_from(full_ps).unwrap_or(u64::MAX / 8);
    let from: Vec<String> =
        all.iter().filter(|port| ![&to.name, &late.name].contains(&&port.name)).map(|port| port.name.clone()).collect();
    // They fill memory, and keep it full until all of it has left twice more.
    let bytes = (4 * held / from.len().max(1) as u64).max(100 * plan.payload());
    let next = plan.next_switch();
    let mut writer = ScenarioWriter::new();
    writer.remark(&format!(
        "The watchdog: the others fill the memory of a second switch of the kind, {next}. Then {} sends through {}, whose port to {next} \
         is paused until what the others hold has left through the port to {}. No link is faster, and no cable longer, than those of ports \
         with {}.",
        late.name,
        plan.switch(),
        to.name,
        group.about()
    ));
    writer.key("title", format!("{}: watchdog", plan.named()));
    writer.head("[stop]").key("when", vec![format!("late-{class}")]);
    plan.two_switches(group, late, &mut writer);
    let marks = plan.marking(group);
    plan.mechanisms(Part { group: Some(group), classes, ports, marks, ..Part::default() }, &mut writer);
    incasts(&[Incast { label: format!("incast-{class}"), from, to: to.name.clone(), bytes, class }], &mut writer);
    // More than the next one takes at once: some of it waits.
    let bytes = held.max(100 * plan.payload());
    let late = vec![late.name.clone()];
    incasts(&[Incast { label: format!("late-{class}"), from: late, to: to.name.clone(), bytes, class }], &mut writer);
    writer.key("start", time(full_ps));
    let name = format!("{}.watchdog.toml", work.stem);
    write(&name, &writer.into_text(), work)?;
    Ok(Some((name, "rows pfc-watchdog of the control table: none unless the watchdog gave up a queue")))
}
