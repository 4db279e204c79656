//! What tests of hardware would read from a switch whose chip is known: frames of 64 B at the first pause and the first drop of each lossless
//! profile ([`super::frames`]). A scenario of each shows them: `NAME.frames-N.toml`.
//!
//! The test (sonic-net/sonic-mgmt, `tests/qos`): nothing leaves, a source obeys no pause, and frames of one cell each arrive by one port
//! until they are dropped; then by the next one, while those before stay full.

use super::buffers::{Limit, Profile};
use super::chip::Chip;
use super::frames::{Alpha, Frames, Limits, Slice, fill};
use super::plan::{Group, Memory, Plan, alpha};
use super::runs;
use super::scenario::{Part, integers, number};
use crate::error::ImportError;
use crate::family::Work;
use crate::note::Notes;
use crate::scenario_writer::ScenarioWriter;
use crate::units::{decimal, rate, time};

/// Priority groups that are filled one after the other.
const GROUPS: usize = 4;
/// Octets of a frame, of its payload here, and of a frame with its gap.
const FRAME: (u64, u64, u64) = (64, 18, 84);
/// Frames that a source sends beyond the first one that is dropped, so that some are.
const BEYOND: u64 = 9;
/// Start of the first source, and time between two, in ps.
const PAUSE_PS: u64 = 10_000_000;
/// Longest time in which a source sends its frames, in ps: far beyond that of any switch.
const MOST_PS: u64 = 1_000_000_000_000_000;

/// The predictions of a profile at a rate and a cable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// The description of its group.
    about: String,
    /// Its fields in the file of predictions.
    fields: Vec<String>,
    /// The groups, in the order in which they are filled.
    groups: [Frames; GROUPS],
    /// The scenario whose run shows them.
    scenario: String,
}

/// Columns of the file of predictions.
const COLUMNS: [&str; 10] = [
    "profile",
    "rate_gbps",
    "cable_m",
    "first_pause_frames",
    "first_drop_frames",
    "pause_end_frames",
    "pause_2_frames",
    "pause_3_frames",
    "pause_4_frames",
    "scenario",
];

/// All predictions, one for each group with a dynamic limit; none if the chip is not known. They are written to `NAME.predictions.csv`.
pub fn all(plan: &Plan, file: &str, work: &mut Work<'_>) -> Result<Vec<Prediction>, ImportError> {
    let Some(chip) = &plan.chip else { return Ok(Vec::new()) };
    say(plan, chip, file, work.notes);
    if chip.by_port {
        return Ok(Vec::new());
    }
    let mut predictions = Vec::new();
    for (group, number) in plan.groups.iter().zip(1u64..) {
        predictions.extend(predict(plan, chip, group, number, work)?);
    }
    if !predictions.is_empty() {
        let mut table = csv::Writer::from_writer(Vec::new());
        let rows = predictions.iter().map(|prediction| prediction.fields.clone());
        let header = COLUMNS.map(str::to_owned).to_vec();
        let written = std::iter::once(header).chain(rows).try_for_each(|row| table.write_record(row));
        let name = format!("{}.predictions.csv", work.stem);
        let unwritable = |error: String| ImportError::new(format!("cannot be written: {error}")).file(&name);
        written.map_err(|error| unwritable(error.to_string()))?;
        let octets = table.into_inner().map_err(|error| unwritable(error.to_string()))?;
        runs::write(&name, &String::from_utf8_lossy(&octets), work)?;
    }
    Ok(predictions)
}

/// Writes predictions as comments.
pub fn remark(predictions: &[Prediction], writer: &mut ScenarioWriter) {
    for Prediction { about, groups, scenario, .. } in predictions {
        let [first, others @ ..] = groups;
        let others: Vec<String> = others.iter().map(|frames| frames.pause.to_string()).collect();
        writer.remark(&format!(
            "Predicted for {about}: paused by frame {} of 64 B, first drop {}; further groups are paused by frame {} ({scenario}).",
            first.pause,
            first.drop,
            others.join(", "),
        ));
    }
}

/// Notes what the predictions rest on.
fn say(plan: &Plan, chip: &Chip, file: &str, notes: &mut Notes) {
    notes.assumed(file, None, format!("the chip is {} ({})", chip.name, chip.by));
    if plan.memory.whole {
        let (from, line) = &plan.pool.at;
        let text = format!(
            "{} has headroom and what is guaranteed within it, as it and its xoff exceed the memory: {} B are shared",
            plan.pool.name, plan.memory.shared
        );
        notes.assumed(from, Some(*line), text);
    }
    if chip.by_port {
        let text = format!("ports of {} have thresholds, too, which are not read: nothing is predicted", chip.name);
        notes.differs(file, None, text);
        return;
    }
    if !chip.tested {
        let text = format!(
            "what is predicted for {} is not held against tests of hardware: its slices are inferred",
            chip.name
        );
        notes.differs(file, None, text);
    }
    for group in plan.profiles().into_iter().filter(|group| group.profile.limit.alpha().is_none()) {
        let (from, line) = &group.profile.at;
        let text = format!("{} has a static limit: nothing is predicted for it", group.profile.name);
        notes.ignored(from, Some(*line), text);
    }
}

fn predict(
    plan: &Plan,
    chip: &Chip,
    group: &Group,
    number: u64,
    work: &mut Work<'_>,
) -> Result<Option<Prediction>, ImportError> {
    let (profile, Limit::Dynamic(exponent)) = (&group.profile, group.profile.limit) else { return Ok(None) };
    let mut slice = Slice {
        cell: chip.cell,
        shared: plan.memory.shared / chip.slices,
        headroom: (plan.pool.xoff > 0).then_some(plan.pool.xoff / chip.slices),
    };
    if let Some(why) = unpredictable(plan, profile, slice) {
        let (from, line) = &profile.at;
        work.notes.ignored(from, Some(*line), format!("{}: nothing is predicted, as {why}", group.about()));
        return Ok(None);
    }
    let whole = slice;
    let headroom = if slice.headroom.is_some() { profile.xoff.unwrap_or(0) } else { group.headroom };
    let limits =
        Limits { guaranteed: group.reserve, alpha: Alpha::power(exponent), headroom, xon_offset: profile.xon_offset };
    let groups: [Frames; GROUPS] = std::array::from_fn(|_| fill(&mut slice, limits));
    let Some(times) = times(group.bps, &groups) else {
        let (from, line) = &profile.at;
        let text =
            format!("{}: nothing is predicted, as its test would take more than {}", profile.name, time(MOST_PS));
        work.notes.ignored(from, Some(*line), text);
        return Ok(None);
    };
    let scenario = format!("{}.frames-{number}.toml", work.stem);
    runs::write(&scenario, &trial(plan, chip, group, whole, (&groups, &times)), work)?;
    let [first, others @ ..] = &groups;
    let resume = first.resume.map_or_else(String::new, |frames| frames.to_string());
    let mut fields = vec![profile.name.clone(), gbps(group.bps), group.metres().to_string()];
    fields.extend([first.pause.to_string(), first.drop.to_string(), resume]);
    fields.extend(others.iter().map(|frames| frames.pause.to_string()));
    fields.push(scenario.clone());
    Ok(Some(Prediction { about: group.about(), fields, groups, scenario }))
}

/// Why there is no prediction for a profile on a slice, if that is so.
fn unpredictable(plan: &Plan, profile: &Profile, slice: Slice) -> Option<String> {
    if profile.pool != plan.pool.name {
        return Some(format!("it draws from {}, and memory is divided for {} alone", profile.pool, plan.pool.name));
    }
    if slice.shared < slice.cell {
        return Some(format!("{} shares no cell of a slice", plan.pool.name));
    }
    (slice.headroom == Some(0)).then(|| format!("{} has no headroom in a slice", plan.pool.name))
}

/// A rate in Gb/s.
fn gbps(bps: u64) -> String {
    (bps as f64 / 1e9).to_string()
}

/// The times at which sources begin one after the other, and the end, in ps. `None`: it is later than [`MOST_PS`].
fn times(bps: u64, groups: &[Frames]) -> Option<Vec<u64>> {
    let frame_ps = u128::from(FRAME.2) * 8_000_000_000_000 / u128::from(bps.max(1)) + 1;
    let mut times = vec![PAUSE_PS];
    for frames in groups {
        let sends = u128::from(frames.drop + BEYOND + 1) * frame_ps;
        let end = u64::try_from(sends).ok().filter(|sends| *sends < MOST_PS)? + times.last()?;
        times.push(end.next_multiple_of(1000) + PAUSE_PS);
    }
    Some(times)
}

/// The scenario that shows the predictions of a group: a slice of the chip with a host that takes nothing and a source for each group.
fn trial(plan: &Plan, chip: &Chip, group: &Group, slice: Slice, (groups, times): (&[Frames], &[u64])) -> String {
    let profile = &group.profile;
    let classes = group.classes.get(..1).unwrap_or_default();
    // So many ports that one slice has all of the test.
    let ports = (GROUPS as u64 + 1) * chip.slices;
    let memory = Memory { shared: slice.shared * chip.slices, ..plan.memory.clone() };
    let mut pool = plan.pool.clone();
    pool.xoff = slice.headroom.map_or(0, |octets| octets * chip.slices);
    let plan = &Plan { memory, pool, ..plan.clone() };
    let mut writer = ScenarioWriter::new();
    writer.remark(&format!(
        "Frames of {} B, one cell each, fill priority groups of {} one after the other. Nothing leaves, and no source obeys a pause. The \
         slice of the memory is that of the configuration; it has {} ports here.",
        FRAME.0,
        group.about(),
        GROUPS + 1,
    ));
    for (frames, number) in groups.iter().zip(1u64..) {
        writer.remark(&format!("Group {number}: paused by frame {}, first drop {}.", frames.pause, frames.drop));
    }
    writer.key("title", format!("{}: frames at the first pause of {}", plan.named(), group.about()));
    writer.head("[stop]").key("at", time(times.last().copied().unwrap_or(0)));
    writer.head("[topology]").key("kind", "star").number("hosts", ports);
    writer.key("rate", rate(group.bps)).key("link_delay", "0 s");
    writer.head("[[link.at]]").key("between", vec!["h0", "s0"]).key_because("rate", "1 kb/s", "nothing leaves");
    writer.head("[packet]").key("payload", decimal(FRAME.1)).key("header", decimal(FRAME.0 - FRAME.1));
    writer.key("gap", decimal(FRAME.2 - FRAME.0));
    writer.head("[ack]").key("enabled", false);
    writer.head("[transport]").key_because("loss", "expected", "the first lost frame is an answer here");
    writer.head("[switch]").key("preset", chip.name.as_str()).key("latency", "0 s");
    plan.carved_chip(
        group,
        Part { group: Some(group), classes, ports, chip: Some(chip), ..Part::default() },
        &mut writer,
    );
    writer.head("[pfc]").key("classes", integers(classes)).key("threshold", "dynamic");
    writer.key("alpha", number(alpha(group)));
    if let Some(offset) = profile.xon_offset {
        writer.key("xon_offset", decimal(offset));
    }
    writer.key_because("response", "1 s", "no source obeys a pause");
    for ((frames, start), source) in groups.iter().zip(times).zip(1u64..) {
        writer.head("[[flow]]").key("label", format!("group-{source}")).key("from", vec![format!("h{source}")]);
        writer.key("to", "h0").key("size", decimal((frames.drop + BEYOND) * FRAME.1)).key("start", time(*start));
        writer.number("class", classes.first().copied().unwrap_or(0).into());
    }
    writer.into_text()
}
