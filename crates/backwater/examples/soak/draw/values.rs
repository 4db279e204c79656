//! Values of keys by the schema, so that a new mechanism's parameters are found automatically.

use super::super::dice::Dice;
use backwater_engine::Time;
use backwater_net::{Bytes, Rate};
use serde_json::{Map, Value as Json, json};

/// The keys of a table of the schema.
pub fn properties<'a>(schema: &'a Json, table: &str) -> Option<&'a Map<String, Json>> {
    schema.pointer(&format!("/properties/{table}/properties"))?.as_object()
}

/// Values for some keys of a table, each drawn with a probability; required keys always get one.
pub fn table(dice: &mut Dice, schema: &Json, name: &str, probability: f64, skip: &[&str]) -> Map<String, Json> {
    let mut drawn = Map::new();
    let required = schema.pointer(&format!("/properties/{name}/required")).and_then(Json::as_array);
    let required = |key: &str| required.is_some_and(|all| all.iter().any(|one| one == key));
    for (key, about) in properties(schema, name).into_iter().flatten() {
        if skip.contains(&key.as_str()) || !(required(key) || dice.chance(probability)) {
            continue;
        }
        if let Some(value) = value(dice, key, about) {
            drawn.insert(key.clone(), value);
        }
    }
    drawn
}

/// A value for a key, if the schema describes it sufficiently.
pub fn value(dice: &mut Dice, key: &str, about: &Json) -> Option<Json> {
    if let Some(forms) = about.get("oneOf").and_then(Json::as_array) {
        let names: Vec<&str> = forms.iter().filter_map(|form| form.get("const")?.as_str()).collect();
        return (!names.is_empty()).then(|| json!(dice.pick(&names)));
    }
    let unit = about.get("x-unit").and_then(Json::as_str).unwrap_or_default();
    match unit.split([' ', ',']).next() {
        Some("size") => return Some(json!(size(dice, about))),
        Some("time") => return Some(json!(time(dice, about))),
        Some("rate") => return Some(json!(rate(dice, about))),
        _ => {}
    }
    let kind = match about.get("type") {
        Some(Json::String(kind)) => kind.as_str(),
        // A value or nothing.
        Some(Json::Array(kinds)) => kinds.iter().filter_map(Json::as_str).find(|kind| *kind != "null")?,
        _ if key == "retries" => {
            return Some(if dice.chance(0.1) { json!("unlimited") } else { json!(dice.between(0, 9)) });
        }
        _ => return None,
    };
    match kind {
        "boolean" => Some(json!(dice.chance(0.5))),
        "integer" => Some(json!(integer(dice, about))),
        "number" => Some(json!(number(dice, about))),
        "array" => list(dice, key, about),
        _ if key == "control" => Some(json!(super::control::NAME)),
        _ if key == "window" => {
            Some(if dice.chance(0.4) { json!("bdp") } else { json!(format!("{} B", dice.log_whole(4_000, 300_000))) })
        }
        _ => None,
    }
}

/// The bounds at the begin and end of `x-range`, as far as they are quantities: `100 B and more`, `0 s to 100 ms`.
fn bounds<T: std::str::FromStr>(about: &Json) -> (Option<T>, Option<T>) {
    let text = about.get("x-range").or_else(|| about.get("x-min")).and_then(Json::as_str).unwrap_or_default();
    let (least, most) = text.split_once(" to ").unwrap_or((text, ""));
    let first = |text: &str| text.split([':', ',', ';']).next().unwrap_or_default().trim().to_owned();
    let least = first(least.trim_end_matches("and more").trim_start_matches("above"));
    (least.parse().ok(), first(most).parse().ok())
}

fn default_of<T: std::str::FromStr>(about: &Json) -> Option<T> {
    about.get("default")?.as_str()?.parse().ok()
}

/// From a frame to some dozens of frames; lengths of frames near their default.
fn size(dice: &mut Dice, about: &Json) -> String {
    let (least, most) = bounds::<Bytes>(about);
    let (low, high) = match default_of::<Bytes>(about) {
        Some(Bytes(usual)) if usual < 1_000 => (usual / 2, (usual * 3).max(64)),
        _ => (1_000, 120_000),
    };
    let least = least.map_or(0, |bytes| bytes.0);
    let most = most.map_or(high, |bytes| bytes.0.min(high)).max(least);
    let drawn = if least == 0 && dice.chance(0.08) { 0 } else { dice.log_whole(low.clamp(least, most), most) };
    format!("{drawn} B")
}

/// Returns a time that matters in runs of some 100 us.
fn time(dice: &mut Dice, about: &Json) -> String {
    let (least, most) = bounds::<Time>(about);
    let high = default_of::<Time>(about).map_or(Time::us(60), |usual| usual.clamp(Time::us(2), Time::us(400)));
    let (least, most) = (least.unwrap_or(Time::ZERO), most.unwrap_or(high).min(high));
    let low = Time(most.0 / 100).max(Time::ns(100)).clamp(least, most);
    let zero = least == Time::ZERO && dice.chance(0.1);
    format!("{} ns", if zero { 0 } else { dice.log_whole(low.0.div_ceil(1000), most.0.div_ceil(1000)) })
}

fn rate(dice: &mut Dice, about: &Json) -> String {
    let (least, most) = bounds::<Rate>(about);
    let zero = least == Some(Rate(0)) && dice.chance(0.1);
    let high = most.map_or(50_000, |rate| (rate.0 / 1_000_000).max(1));
    format!("{} Mb/s", if zero { 0 } else { dice.log_whole(10, high) })
}

fn integer(dice: &mut Dice, about: &Json) -> i64 {
    let of = |key: &str| about.get(key).and_then(Json::as_i64);
    let usual = of("default").unwrap_or(4);
    let least = of("minimum").unwrap_or(0);
    let most = of("maximum").unwrap_or(i64::MAX).min(usual.saturating_mul(4).max(8));
    least + dice.between(0, (most - least).max(0) as u64) as i64
}

fn number(dice: &mut Dice, about: &Json) -> f64 {
    let of = |key: &str| about.get(key).and_then(Json::as_f64);
    let default = of("default").filter(|usual| *usual > 0.0);
    let (usual, least) = (default.unwrap_or(0.5), of("minimum"));
    // Without a usual value, values beyond the range occur, too, and are refused.
    let most = of("maximum").or(of("exclusiveMaximum")).filter(|_| default.is_some() || least.is_some());
    let (least, most) = (least.unwrap_or(0.0), most.unwrap_or(usual * 8.0).min(usual * 8.0));
    let drawn = dice.log((usual / 8.0).max(least).max(1e-4), most.max(least));
    // As people write them.
    (drawn * 1e4).round().max(1.0) / 1e4
}

fn list(dice: &mut Dice, key: &str, about: &Json) -> Option<Json> {
    if about.pointer("/items/type").and_then(Json::as_str) != Some("integer") {
        return None;
    }
    match key {
        "weights" => Some((0..8).map(|_| json!(dice.one(&[0, 1, 1, 2, 5]))).collect()),
        "queue_map" => {
            // Flows of one class are isolated into the queue of another.
            let (from, to) = (dice.between(0, 7), dice.between(0, 6));
            let to = if to >= from { to + 1 } else { to };
            let at = |queue: u64| match queue {
                _ if queue == from => from as i64 + 1,
                _ if queue == to => -(from as i64 + 1),
                _ => 0,
            };
            Some((0..8).map(|queue| json!(at(queue))).collect())
        }
        _ => {
            let mut classes = dice.some(&[0, 1, 2, 4, 5, 6, 7], 0.2);
            if dice.chance(0.8) {
                classes.push(3);
            }
            Some(json!(classes))
        }
    }
}
