//! The advice on Source Flow Control as rows and sentences: by the document's formula, and by this project's bound.

use super::bound::{Bound, bound};
use super::formula::{Numbers, numbers};
use super::incast_case::Case;
use backwater_engine::Time;
use backwater_net::Bytes;
use backwater_net::hooks::{Advice, AdviceError, AdviceRow as Row};
use serde_json::{Value, json};

/// The assumption about senders in this project's bound.
pub(super) const ASSUMED: &str = "of senders that share nothing but the last switch";

/// Headroom, largest threshold and legal pause times, as rows.
pub(super) fn advice(question: &Case) -> Result<Advice, AdviceError> {
    let (plain, serialised) = numbers(question)?;
    // Without a given threshold, both formulas are evaluated at one that is legal by both: a setting has one only.
    let (largest, origin) = match &serialised {
        Some(with) => {
            (plain.largest_threshold.zip(with.largest_threshold).map(|(a, b)| a.min(b)), "the largest by both")
        }
        None => (plain.largest_threshold, "the largest"),
    };
    let case = match largest.filter(|_| question.threshold.is_none()) {
        Some(largest) => Case { threshold: Some(largest), origin, ..question.clone() },
        None => question.clone(),
    };
    let (plain, serialised) = numbers(&case)?;
    let q = &case;
    let (l, s) = (q.links, q.switches);
    let mut rows = vec![
        Row::new("links", Time(2 * l * q.link_delay.0), format!("2 x {l} links x {}", q.link_delay)),
        Row::new(
            "switches",
            Time((2 * s - 1) * q.switch_latency.0),
            format!("(2 x {s} - 1) switches x {}", q.switch_latency),
        ),
    ];
    describe(q, &plain, "", &mut rows);
    if let (Some(numbers), Some(packet)) = (&serialised, q.packet) {
        for (name, size) in [("data frames", packet), ("messages", q.message)] {
            rows.push(Row::new(name, q.on_links(size)?, q.on_each_link(size)));
        }
        describe(q, numbers, " with serialisation", &mut rows);
    }
    let mut problems = problems(q, &plain, "");
    if let Some(with) = &serialised {
        problems.extend(self::problems(q, with, "with serialisation counted, "));
        problems.extend(apart(q, &plain, with));
    }
    // Without a given threshold, no more than the bound allows.
    let most = bound(q, plain.threshold)?.largest_threshold;
    let at = match question.threshold {
        Some(threshold) => Some(threshold),
        None => most.map(|most| most.min(plain.threshold)),
    };
    let ours = bound(q, at.unwrap_or(Bytes::ZERO))?;
    describe_bound(q, &ours, at, &mut rows);
    let title = format!("Source Flow Control, {} senders at {} into one port", q.senders, q.rate);
    let cautions = cautions(question, &ours, at);
    let feasible = problems.is_empty();
    let summary = if feasible { summary(&rows) } else { vec![format!("\nOur bound is {ASSUMED}.")] };
    let mut numbers = plain.named();
    if let Some(serialised) = &serialised {
        numbers.insert("with_serialisation".into(), Value::Object(serialised.named()));
    }
    numbers.insert("our_bound".into(), named_bound(&ours, at));
    Ok(Advice { title, rows, feasible, problems, cautions, summary, numbers })
}

fn named_bound(bound: &Bound, threshold: Option<Bytes>) -> Value {
    json!({
        "frame_bytes": bound.frame.0,
        "loop_ps": bound.loop_time.as_ps(),
        "frames": bound.frames,
        "headroom_bytes": bound.headroom.0,
        "threshold_max_bytes": bound.largest_threshold.map(|bytes| bytes.0),
        "pause_min_ps": bound.shortest_pause.as_ps(),
        "pause_max_ps": threshold.map(|_| bound.longest_pause.as_ps()),
    })
}

/// Returns the conclusion: by the document's formula, by the same with serialisation, and by this project's bound.
fn summary(rows: &[Row]) -> Vec<String> {
    let value = |name: &str, end: &str| {
        let row = rows.iter().find(|row| row.name.strip_suffix(end) == Some(name))?;
        Some(row.quantity())
    };
    let sentence = |who: &str, end: &str, pause: [&str; 2], of_threshold: &str| {
        Some(format!(
            "{who}headroom {}; threshold at most {}; pause {} to {} at a threshold of {}.",
            value("headroom", end)?,
            value("largest threshold", end)?.trim_end(),
            value(pause[0], end)?,
            value(pause[1], end)?,
            value("threshold", of_threshold)?,
        ))
    };
    let own = ["pause longer than", "pause shorter than"];
    let serialised = " with serialisation";
    let ours = format!("This project's bound, {ASSUMED}: ");
    let of_bound = match value("threshold", ", our bound") {
        Some(_) => sentence(&ours, ", our bound", ["pause at least", "pause at most"], ", our bound"),
        None => value("headroom", ", our bound")
            .map(|headroom| format!("{ours}headroom {headroom}; no threshold is legal, and so no pause.")),
    };
    let all = [
        sentence("\nThe contribution dw-chen-sfc-computation-simulation: ", "", own, ""),
        sentence("The same, serialised: ", serialised, own, serialised),
        of_bound,
    ];
    all.into_iter().flatten().collect()
}

/// This project's bound, row by row.
fn describe_bound(q: &Case, b: &Bound, threshold: Option<Bytes>, rows: &mut Vec<Row>) {
    let mut row = |name: &str, quantity: String, formula: String| {
        rows.push(Row::new(format!("{name}, our bound"), quantity, formula))
    };
    let (n, t) = (q.senders, q.at(q.rate, b.frame));
    row(
        "loop",
        b.loop_time.to_string(),
        format!("2 x {} links, {}, a frame of {} and a message at each hop", q.links, passed(q), b.frame),
    );
    row(
        "frames a sender",
        b.frames.to_string(),
        format!("loop / {t}, rounded up; the message waits for an acknowledgement at each hop"),
    );
    row("headroom", b.headroom.to_string(), format!("(({n} - 1) x {} + 1) x {}", b.frames, b.frame));
    let most = b.largest_threshold.map_or_else(|| "none".into(), |t| t.to_string());
    row("largest threshold", most, format!("{} {} - headroom", q.limit(), q.pfc_threshold));
    if let Some(threshold) = threshold {
        let lowered = q.threshold.is_none_or(|asked| asked != threshold);
        row("threshold", threshold.to_string(), if lowered { "the largest by this bound" } else { q.origin }.into());
    }
    row("pause at least", b.shortest_pause.to_string(), format!("{n} x {} x {t} - loop{}", b.frames, with_interval(q)));
    let Some(threshold) = threshold else {
        row("pause at most", "none".into(), "no threshold is legal by this bound".into());
        return;
    };
    let full = format!(
        "({threshold} + ({n} x whole frames of a loop - 1) x {}) / rate{} - loop",
        b.frame,
        if q.gap == Bytes::ZERO { "" } else { ", with gaps," }
    );
    row("pause at most", b.longest_pause.to_string(), full);
}

/// Returns how often frames and messages pass a switch's latency.
fn passed(q: &Case) -> String {
    match q.behind_latency {
        true => format!("2 x {} switches (latency before the queue)", q.switches),
        false => format!("2 x {} - 1 switches (latency behind the queue)", q.switches),
    }
}

fn with_interval(q: &Case) -> String {
    q.interval.map_or_else(String::new, |interval| format!(", messages every {interval}"))
}

/// Cautions if the given setting meets the document's formula or not, but not this project's bound.
fn cautions(q: &Case, b: &Bound, at: Option<Bytes>) -> Vec<String> {
    let mut cautions = Vec::new();
    if let Some(threshold) = q.threshold.filter(|threshold| b.largest_threshold.is_none_or(|most| *threshold > most)) {
        cautions.push(format!(
            "by our bound {} come above a threshold of {threshold}: the queue can pass the {} ({}), which matters where {}",
            b.headroom,
            q.limit(),
            q.pfc_threshold,
            match q.pauses {
                true => "PFC counts that queue or most of it came in through one port",
                false => "that queue alone or one port has it",
            }
        ));
    }
    if let Some(pause) = q.pause.filter(|pause| *pause < b.shortest_pause) {
        cautions.push(format!(
            "by our bound a pause of {pause} is shorter than {}: with each pause the queue grows, and {} once the flows \
             have lasted long enough",
            b.shortest_pause,
            if q.pauses { "PFC may fire" } else { "frames may be dropped" }
        ));
    }
    if let Some(pause) = q.pause.filter(|pause| at.is_some() && *pause > b.longest_pause) {
        cautions.push(format!(
            "by our bound a pause of {pause} is longer than {}: the receiver's link idles",
            b.longest_pause
        ));
    }
    cautions
}

fn describe(q: &Case, n: &Numbers, suffix: &str, rows: &mut Vec<Row>) {
    let mut row = |name: &str, quantity: String, formula: String| {
        rows.push(Row::new(format!("{name}{suffix}"), quantity, formula))
    };
    let parts = if suffix.is_empty() { "links + switches" } else { "links + switches + data frames + messages" };
    row("loop", n.loop_time.to_string(), parts.into());
    row("headroom", n.headroom.to_string(), format!("({} - 1) x {} x {} / 8", q.senders, q.rate, n.loop_time));
    let most = n.largest_threshold.map_or_else(|| "none".into(), |t| t.to_string());
    row("largest threshold", most, format!("{} {} - headroom", q.limit(), q.pfc_threshold));
    if n.largest_threshold.is_some() || q.threshold.is_some() {
        let from = if q.threshold.is_some() { q.origin } else { "the largest" };
        row("threshold", n.threshold.to_string(), from.into());
        row("pause longer than", n.shortest_pause.to_string(), "headroom / rate".into());
        row("pause shorter than", n.longest_pause.to_string(), "(threshold + headroom) / rate".into());
    }
    if let Some(pause) = q.pause.filter(|_| suffix.is_empty()) {
        row("pause", pause.to_string(), "as given".into());
    }
}

/// A text if no pause is in the ranges of both formulas.
fn apart(q: &Case, plain: &Numbers, with: &Numbers) -> Option<String> {
    let most = with.largest_threshold?;
    let threshold = q.threshold.unwrap_or(most);
    let longest = q.rate.time_for(threshold + plain.headroom);
    if threshold == Bytes::ZERO || longest > with.shortest_pause {
        return None;
    }
    let enough = with.headroom - plain.headroom;
    let help = match enough < most {
        true => format!("a threshold above {enough} (at most {most}) has such pauses"),
        false => {
            format!("no legal threshold is high enough for that: a {} above {} is", q.limit(), with.headroom + enough)
        }
    };
    Some(format!(
        "no pause is legal by both formulas at a threshold of {threshold}: without serialisation it is shorter than {longest}, with it \
         longer than {}; the upper end of each range is (threshold + headroom) / rate, and {help}",
        with.shortest_pause
    ))
}

fn problems(q: &Case, n: &Numbers, prefix: &str) -> Vec<String> {
    let Some(largest) = n.largest_threshold else {
        return vec![format!(
            "{prefix}no threshold is legal: the headroom of {} senders ({}) alone is not below the {} ({}), so {} before the \
             sources receive a message; fewer senders, a shorter loop or a larger buffer would help. The bound suffices and is not \
             necessary: --prove runs the scenario",
            q.senders,
            n.headroom,
            q.limit(),
            q.pfc_threshold,
            q.passed()
        )];
    };
    let mut problems = Vec::new();
    if !n.threshold_fits() {
        problems.push(format!(
            "{prefix}a threshold of {} leaves less than the headroom ({}) below the {} ({}): {} first; at most {largest}",
            n.threshold,
            n.headroom,
            q.limit(),
            q.pfc_threshold,
            q.passed()
        ));
    }
    if n.threshold == Bytes::ZERO {
        return vec![format!(
            "{prefix}a threshold of 0 leaves no legal pause time: the queue runs empty before senders are back"
        )];
    }
    if let Some(pause) = q.pause.filter(|pause| n.too_short(*pause)) {
        problems.push(format!(
            "{prefix}a pause of {pause} is not longer than the headroom takes to leave ({}): sources are back before the queue \
             has fallen to the threshold, and it grows beyond",
            n.shortest_pause
        ));
    }
    if let Some(pause) = q.pause.filter(|pause| n.too_long(*pause)) {
        problems.push(format!(
            "{prefix}a pause of {pause} is not shorter than threshold and headroom take to leave ({}): the queue runs empty \
             before sources are back",
            n.longest_pause
        ));
    }
    problems
}
