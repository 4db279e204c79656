//! The credits that a link needs for its full rate.
//!
//! ```text
//! L = t(frame + gap) + delay + residence + t(frame + gap) + t(CF_MIN_SPACING) + t(frame + gap) + t(CF_Update + gap) + delay
//! frames = ceil(L / t(frame + gap)),  credits = frames c(frame);  share = min(1, k t(frame + gap) / L) with k frames of credits
//! ```
//!
//! The second frame is the same one on its way out, if the switch frees its memory at its end (`switch.release_at`). The third is one in
//! the other direction, for whose end the CF_Update waits. A packet waits for its credits at most a spacing before the next CF_Update may
//! go. If packets follow each other no faster than spacings do, none waits: then that term is left out of the share, and so is every other
//! term that a network does not have. The model is exact here.

use super::wire::ORDERED_SET;
use backwater_engine::Time;
use backwater_net::config::PacketParams;
use backwater_net::hooks::{Advice, AdviceError, AdviceForm, AdviceOption, AdviceRow as Row, Question, needed};
use backwater_net::{Bytes, Rate};

const fn option(name: &'static str, help: &'static str, default: &'static str) -> AdviceOption {
    AdviceOption { name, help, whole: false, default: Some(default) }
}

/// The questions.
pub(super) const FORM: AdviceForm = AdviceForm {
    about: "Credits that a class of a link needs for the link's full rate, itemised.",
    options: &[
        option("rate", "Rate of the link. Default: 400 Gb/s.", "400 Gb/s"),
        option("link_delay", "Propagation delay of the link. Default: 150 ns.", "150 ns"),
        option("packet", "Largest frame. Default: 4158 B.", "4158 B"),
        option("residence", "Time of a frame in the receiver until it leaves. Default: 300 ns.", "300 ns"),
        option("spacing", "CF_MIN_SPACING. Default: 6400 B.", "6400 B"),
        option("credit_size", "Bytes of a credit. Default: 128 B.", "128 B"),
        option("overhead", "Bytes added to each packet. Default: 0 B.", "0 B"),
    ],
    scenario: false,
    proof: None,
};

/// Reads the question and answers it.
pub(super) fn answer(question: &Question) -> Result<Advice, AdviceError> {
    let rate: Rate = needed("rate", question.quantity("rate")?)?;
    let delay: Time = needed("link_delay", question.quantity("link_delay")?)?;
    let packet: Bytes = needed("packet", question.quantity("packet")?)?;
    let residence: Time = needed("residence", question.quantity("residence")?)?;
    let spacing: Bytes = needed("spacing", question.quantity("spacing")?)?;
    let credit: Bytes = needed("credit_size", question.quantity("credit_size")?)?;
    let overhead: Bytes = needed("overhead", question.quantity("overhead")?)?;
    if rate.0 == 0 {
        return Err(AdviceError::new("a rate of 0 carries nothing").key("rate").hint("as in 400 Gb/s"));
    }
    for (key, size, most) in [("packet", packet, 1 << 20), ("credit_size", credit, 65_536)] {
        if size.0 == 0 || size.0 > most {
            return Err(AdviceError::new(format!("{size} is out of range"))
                .key(key)
                .hint(format!("1 B to {}", Bytes(most))));
        }
    }
    for (key, size, most) in [("spacing", spacing, 1 << 20), ("overhead", overhead, 127)] {
        if size.0 > most {
            return Err(AdviceError::new(format!("{size} is too much"))
                .key(key)
                .hint(format!("at most {}", Bytes(most))));
        }
    }
    let longest = Time::ms(1_000);
    for (key, time) in [("link_delay", delay), ("residence", residence)] {
        if time > longest {
            return Err(AdviceError::new(format!("{time} is too long")).key(key).hint(format!("at most {longest}")));
        }
    }
    let gap = PacketParams::default().gap;
    let frame = rate.time_for(packet + gap);
    let update = rate.time_for(Bytes(ORDERED_SET.into()) + gap);
    let wait = rate.time_for(spacing);
    let around = frame + delay + residence + frame + wait + frame + update + delay;
    let (cost, frames) = ((packet + overhead).0.div_ceil(credit.0), around.0.div_ceil(frame.0.max(1)));
    let rows = vec![
        Row::new("frame", frame, format!("({packet} + {gap} of gap) x 8 / {rate}")),
        Row::new("way of the frame", delay, "propagation"),
        Row::new("residence", residence, "in the receiver, such as a switch's latency"),
        Row::new("frame out", frame, "its memory is free when it has left"),
        Row::new("spacing", wait, format!("CF_MIN_SPACING of {spacing} x 8 / {rate}")),
        Row::new("frame before it", frame, "one that goes the other way has begun"),
        Row::new("CF_Update", update, format!("({ORDERED_SET} B + {gap}) x 8 / {rate}")),
        Row::new("way of the CF_Update", delay, "propagation"),
        Row::new("loop", around, "sum"),
        Row::new("credits of a frame", cost, format!("({packet} + {overhead}) / {credit}, rounded up")),
        Row::new("frames", frames, format!("{around} / {frame}, rounded up")),
        Row::new("credits", frames * cost, format!("{frames} x {cost}")),
        Row::new("buffer", credit * (frames * cost), format!("{} x {credit}, for each class", frames * cost)),
    ];
    let title = format!("Credits of a class for the full rate of a link, {rate} and {delay}");
    Ok(Advice { title, rows, feasible: true, ..Advice::default() })
}
