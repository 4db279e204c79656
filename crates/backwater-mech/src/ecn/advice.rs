//! Bounds on the queue length for a marking threshold.
//!
//! ```text
//! K > C RTT / 7        the least queue of DCTCP's sawtooth stays above 0 (Alizadeh et al., SIGCOMM 2010, section 3.4, equation 13)
//! K < t_PFC / n        marks come before pauses where one ingress fills n egress queues alike (Zhu et al., SIGCOMM 2015, section 4)
//! RTT = 2 (links x delay + switches x latency) + links x (t(frame) + t(acknowledgement))
//! Kmin = C RTT / 5, Kmax = 4 C RTT / 5     to begin with (UEC 1.0.3, section 3.6.17)
//! ```
//!
//! The first bound assumes long flows of one window law that share the queue synchronously; DCQCN's paper tunes its Kmin and Kmax by a
//! fluid model. For the second that paper sets n to all ports of a switch, and t_PFC to the greatest value that a shared memory leaves; n =
//! 1 is a single hot port, and the default.

use super::config::{MarkingThreshold, Params};
use backwater_engine::Time;
use backwater_net::Bytes;
use backwater_net::Rate;
use backwater_net::hooks::{
    Advice, AdviceError, AdviceForm, AdviceOption, AdviceRow as Row, Question, Situation, needed,
};
use serde_json::{Map, Value, json};

/// The divisor of the bandwidth-delay product in DCTCP's analysis.
const SEVENTH: u64 = 7;
/// Fifths of the bandwidth-delay product at which marking begins, and at which all is marked (UEC 1.0.3, section 3.6.17).
const FIFTHS: (u64, u64) = (1, 4);
/// An acknowledgement: the shortest frame of Ethernet.
const ACKNOWLEDGEMENT: Bytes = Bytes(64);
/// Longer round trips do not occur in a data centre, and would overflow sums.
const LONGEST: Time = Time::ms(1_000);

const fn option(name: &'static str, help: &'static str, default: Option<&'static str>) -> AdviceOption {
    AdviceOption { name, help, whole: false, default }
}

const fn count(name: &'static str, help: &'static str, default: Option<&'static str>) -> AdviceOption {
    AdviceOption { name, help, whole: true, default }
}

/// The questions.
pub(super) const FORM: AdviceForm = AdviceForm {
    about: "Least and greatest threshold at which ECN should mark, and two to begin with.\n\n\
            More than a seventh of the bandwidth-delay product (DCTCP's analysis), and less than PFC's\n\
            threshold. Begin with a fifth and four fifths of the product (UEC 1.0.3). Ends with code 1\n\
            if there is nothing between.",
    options: &[
        option("rate", "Rate of the links. Default: the scenario's, or 200 Gb/s.", Some("200 Gb/s")),
        count("links", "Links from a sender to the receiver. Default: the scenario's, or 4.", Some("4")),
        count("switches", "Switches on the way. Default: the scenario's, or 3.", Some("3")),
        option("link_delay", "Propagation delay of a link. Default: the scenario's, or 150 ns.", Some("150 ns")),
        option("switch_latency", "Processing delay of a switch. Default: the scenario's, or 300 ns.", Some("300 ns")),
        option("packet", "Largest frame. Default: the scenario's, or 4158 B.", Some("4158 B")),
        option("rtt", "Round trip of the idle network, in place of all these but the rate.", None),
        option("pfc_threshold", "Where PFC pauses an ingress. Default: the scenario's, or none.", None),
        count("ports", "Egress ports that one ingress may fill at once. Default: 1.", Some("1")),
    ],
    scenario: true,
    // A search varies one key, and marking has two.
    proof: None,
};

/// Returns the values of a scenario, quantities as text.
pub(super) fn facts(params: Option<&Params>, situation: &Situation) -> Map<String, Value> {
    let hops = || situation.paths.different.iter().flatten();
    let links = situation.paths.different.iter().map(Vec::len).max().unwrap_or_default();
    let own_limit = situation.paths.pause_threshold.as_ref().map(|(bytes, _)| *bytes);
    // If the switch of the hot port never pauses, its memory may fill before another switch pauses.
    let memory = situation.buffer.map(|(buffer, _)| buffer).filter(|_| own_limit.is_none());
    let lowest = situation.lowest_pause_threshold.as_ref();
    let lowest = lowest.filter(|(bytes, ..)| memory.is_none_or(|memory| *bytes <= memory));
    let limit = lowest.map(|(bytes, ..)| *bytes).or(memory);
    // Named if it is not the switch of the hot port itself.
    let lower = lowest.filter(|(bytes, ..)| own_limit.is_none_or(|own| *bytes < own));
    let own = Params::default();
    // A dynamic threshold reads neither kmin nor kmax.
    let params = params.filter(|ecn| ecn.threshold == MarkingThreshold::Static);
    let facts = json!({
        "rate": situation.rate.to_string(),
        // The receiver's own link follows its switch.
        "links": links + 1,
        "switches": links,
        "link_delay": hops().map(|hop| hop.delay).max().unwrap_or_default().to_string(),
        "switch_latency": hops().map(|hop| hop.latency).max().unwrap_or_default().to_string(),
        "packet": situation.frame.to_string(),
        "pfc_threshold": limit.map(|bytes| bytes.to_string()),
        "pfc_pauses": lowest.is_some(),
        "pfc_at": lower.map(|(.., switch)| switch),
        "reference_rate": params.and_then(|ecn| ecn.reference_rate).map(|rate| rate.to_string()),
        "kmin_default": params.is_some_and(|ecn| ecn.kmin == own.kmin),
        "kmax_default": params.is_some_and(|ecn| ecn.kmax == own.kmax),
        "kmin": params.map(|ecn| ecn.kmin.at_rate(situation.rate, ecn.reference_rate).to_string()),
        "kmax": params.map(|ecn| ecn.kmax.at_rate(situation.rate, ecn.reference_rate).to_string()),
    });
    match facts {
        Value::Object(facts) => facts,
        _ => Map::new(),
    }
}

/// Reads the question and answers it.
pub(super) fn answer(question: &Question) -> Result<Advice, AdviceError> {
    let rate: Rate = needed("rate", question.quantity("rate")?)?;
    if rate.0 == 0 {
        return Err(AdviceError::new("a rate of 0 carries nothing").key("rate").hint("as in 200 Gb/s"));
    }
    let mut rows = Vec::new();
    let around = match question.quantity::<Time>("rtt")? {
        Some(given) if given > LONGEST => return Err(too_long("rtt", given)),
        Some(given) => {
            rows.push(Row::new("round trip", given, "as given"));
            given
        }
        None => round_trip(question, rate, &mut rows)?,
    };
    let product = rate.bytes_in(around);
    let least = Bytes(product.0 / SEVENTH);
    rows.push(Row::new("bandwidth-delay product", product, format!("{rate} x {around} / 8")));
    rows.push(Row::new("threshold above", least, format!("{product} / {SEVENTH}")));
    let ports = needed("ports", question.count("ports")?)?;
    if ports == 0 || ports > 1_000 {
        return Err(AdviceError::new(format!("{ports} is out of range")).key("ports").hint("1 to 1000"));
    }
    let limit: Option<Bytes> = question.quantity("pfc_threshold")?;
    // Without PFC a scenario's limit is the memory.
    let of_scenario = question.is_from_scenario("pfc_threshold");
    let pauses = !of_scenario || question.fact("pfc_pauses").and_then(Value::as_bool).unwrap_or(true);
    let most = limit.map(|limit| Bytes(limit.0 / ports));
    let at = question.fact("pfc_at").and_then(Value::as_str).filter(|_| of_scenario);
    let at = at.map_or_else(String::new, |switch| format!(" of {switch}, the lowest on the way"));
    if let Some((limit, most)) = limit.zip(most) {
        let how = match (ports, pauses) {
            (1, true) => format!("PFC threshold{at}, so that marks come before pauses at one hot port"),
            (_, true) => format!("{limit} of PFC{at} / {ports} ports, so that marks come before pauses"),
            (1, false) => "memory, so that marks come before losses at one hot port".to_owned(),
            (_, false) => format!("{limit} of memory / {ports} ports, so that marks come before losses"),
        };
        rows.push(Row::new("threshold below", most, how));
    }
    let first = beginning(product, most);
    if let Some((kmin, kmax)) = &first {
        rows.extend([kmin.row.clone(), kmax.row.clone()]);
    }
    let reference: Option<Rate> = question.quantity("reference_rate")?;
    let mut advice = Advice {
        title: format!("Threshold of ECN's marks at {rate}"),
        rows,
        feasible: true,
        summary: vec![format!(
            "More than {least}, or the queue runs empty (Alizadeh et al., SIGCOMM 2010, section 3.4){}.",
            most.map_or_else(String::new, |most| match pauses {
                true => format!("; less than {most}, or PFC pauses first (Zhu et al., SIGCOMM 2015)"),
                false => format!("; less than {most}, or frames are dropped first"),
            })
        )],
        ..Advice::default()
    };
    advice.summary.extend(first.map(|(kmin, kmax)| {
        // The inverse of `at_rate` at the ports.
        let written = |first: First| reference.map_or(first.bytes, |at| first.bytes.at_rate(at, Some(rate)));
        let (kmin, kmax) = (written(kmin), written(kmax));
        let at = reference.map_or_else(String::new, |at| format!(" at the reference rate of {at}"));
        format!(
            "Begin with kmin = \"{kmin}\" and kmax = \"{kmax}\"{at}, and compare with others: `backwater sweep` varies them."
        )
    }));
    if let Some(most) = most.filter(|most| *most <= least) {
        advice.problems.push(format!("no threshold is above {least} and below {most}"));
        advice.feasible = false;
    }
    let named = |key: &str| match is_default(question, key) {
        true => format!("ecn.{key} (the default)"),
        false => format!("ecn.{key}"),
    };
    let (kmin, kmax): (Option<Bytes>, Option<Bytes>) = (question.quantity("kmin")?, question.quantity("kmax")?);
    if let Some(kmin) = kmin.filter(|kmin| *kmin <= least) {
        advice.cautions.push(format!("{} is {kmin}: from there on some are marked, below {least}", named("kmin")));
    }
    let first = if pauses { "PFC pauses" } else { "frames are dropped" };
    if let Some((kmin, most)) = kmin.zip(most).filter(|(kmin, most)| kmin >= most) {
        advice.cautions.push(format!("{} is {kmin}: {first} from {most} on, before any are marked", named("kmin")));
    } else if let Some((kmax, most)) = kmax.zip(most).filter(|(kmax, most)| kmax >= most) {
        advice.cautions.push(format!("{} is {kmax}: {first} from {most} on, before all are marked", named("kmax")));
    }
    advice.cautions.extend(short_way(question, around));
    advice.summary.extend(taken(question));
    Ok(advice)
}

/// The path of a single switch, such as one whose configuration was imported, is short: thresholds of a fabric are greater.
fn short_way(question: &Question, around: Time) -> Option<String> {
    let (file, _) = question.scenario.as_ref()?;
    let one = question.count("switches").ok().flatten() == Some(1);
    let of_file = ["switches", "link_delay"].iter().all(|key| question.is_from_scenario(key));
    (one && of_file && question.text("rtt").is_none()).then(|| {
        format!(
            "the round trip of {around} is that of one switch and its cables, as {file} has them: across a fabric it is longer, and \
             thresholds are greater; --rtt says it"
        )
    })
}

/// Returns whether the scenario's value equals the default. Overrides of one tier are compared by their value.
fn is_default(question: &Question, key: &str) -> bool {
    !question.is_written(key) && question.fact(&format!("{key}_default")).and_then(Value::as_bool).unwrap_or(false)
}

/// An initial threshold, at the rate in question.
struct First {
    bytes: Bytes,
    row: Row,
}

/// Initial thresholds; none if the lower one is not below the limit of PFC.
fn beginning(product: Bytes, most: Option<Bytes>) -> Option<(First, First)> {
    let first = |name: &str, bytes: Bytes, formula: String| First { bytes, row: Row::new(name, bytes, formula) };
    let fifths = |many: u64| Bytes(product.0 * many / 5);
    let (kmin, kmax) = (fifths(FIFTHS.0), fifths(FIFTHS.1));
    if most.is_some_and(|most| kmin >= most) {
        return None;
    }
    let source = "UEC 1.0.3, section 3.6.17";
    let higher = match most.filter(|most| kmax >= *most) {
        // If PFC would precede four fifths.
        Some(most) => {
            let between = Bytes(kmin.0.midpoint(most.0));
            first(
                "kmax to begin with",
                between,
                format!("half way from {kmin} to {most}, a choice: 4 x {product} / 5 is more"),
            )
        }
        None => first("kmax to begin with", kmax, format!("4 x {product} / 5 ({source})")),
    };
    Some((first("kmin to begin with", kmin, format!("{product} / 5 ({source})")), higher))
}

fn round_trip(question: &Question, rate: Rate, rows: &mut Vec<Row>) -> Result<Time, AdviceError> {
    let links = needed("links", question.count("links")?)?;
    let switches = needed("switches", question.count("switches")?)?;
    let delay: Time = needed("link_delay", question.quantity("link_delay")?)?;
    let latency: Time = needed("switch_latency", question.quantity("switch_latency")?)?;
    let packet: Bytes = needed("packet", question.quantity("packet")?)?;
    for (key, time) in [("link_delay", delay), ("switch_latency", latency)] {
        if time > LONGEST {
            return Err(too_long(key, time));
        }
    }
    for (key, many) in [("links", links), ("switches", switches)] {
        if many > 1_000 {
            return Err(AdviceError::new(format!("{many} are too many")).key(key).hint("at most 1000"));
        }
    }
    if packet.0 > 1 << 20 {
        return Err(AdviceError::new(format!("{packet} is too much")).key("packet").hint("at most 1 MiB"));
    }
    let (frame, back) = (rate.time_for(packet), rate.time_for(ACKNOWLEDGEMENT));
    let (on_links, in_switches) = (delay * (2 * links), latency * (2 * switches));
    let on_wires = (frame + back) * links;
    rows.push(Row::new("links", on_links, format!("2 x {links} links x {delay}")));
    rows.push(Row::new("switches", in_switches, format!("2 x {switches} switches x {latency}")));
    rows.push(Row::new(
        "frames",
        on_wires,
        format!("{links} links x ({frame} of {packet} + {back} of {ACKNOWLEDGEMENT})"),
    ));
    let around = on_links + in_switches + on_wires;
    rows.push(Row::new("round trip", around, "sum"));
    Ok(around)
}

fn too_long(key: &'static str, time: Time) -> AdviceError {
    AdviceError::new(format!("{time} is too long")).key(key).hint(format!("at most {LONGEST}"))
}

/// Returns the values taken from the scenario, in a line.
fn taken(question: &Question) -> Option<String> {
    let (file, _) = question.scenario.as_ref()?;
    let keys = FORM.options.iter().map(|option| option.name).chain(["kmin", "kmax"]);
    let memory = question.fact("pfc_pauses") == Some(&Value::Bool(false));
    let name = |key: &str| match key {
        "pfc_threshold" if memory => "memory".to_owned(),
        _ => key.replace('_', " "),
    };
    let names: Vec<String> =
        keys.filter(|key| question.is_from_scenario(key) && !is_default(question, key)).map(name).collect();
    Some(format!("From {file}: {}.", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(values: &[(&str, &str)]) -> Result<Advice, AdviceError> {
        let given = values.iter().map(|(key, text)| ((*key).to_owned(), Value::from(*text))).collect();
        answer(&Question { form: FORM, given, scenario: None })
    }

    fn row(advice: &Advice, name: &str) -> String {
        advice.rows.iter().find(|row| row.name == name).map(Row::quantity).unwrap_or_default()
    }

    #[test]
    fn the_numbers_of_dctcps_paper() {
        // 10 Gb/s and 100 us: 125 KB, a seventh is 17.857 KB; the paper recommends 65 packets there, more than these 12.
        let reported = ask(&[("rate", "10 Gb/s"), ("rtt", "100 us")]).unwrap();
        assert_eq!(row(&reported, "bandwidth-delay product"), "125 KB");
        assert_eq!(row(&reported, "threshold above"), "17.857 KB");
        assert!(reported.feasible && row(&reported, "threshold below").is_empty());
    }

    #[test]
    fn a_round_trip_is_what_links_switches_and_frames_take() {
        // 2 x 4 x 150 ns + 2 x 3 x 300 ns + 4 x (4000 + 64) B x 8 / 200 Gb/s.
        let reported = ask(&[("packet", "4000 B")]).unwrap();
        assert_eq!(row(&reported, "round trip"), "3.65024 us");
    }

    /// 125 KB: a fifth is 25 KB, four fifths 100 KB. With PFC at 80 KB the upper one is half way from 25 KB, 52.5 KB.
    #[test]
    fn two_thresholds_to_begin_with() {
        let begin = |limit: &[(&str, &str)]| {
            let reported = ask(&[&[("rate", "10 Gb/s"), ("rtt", "100 us")], limit].concat()).unwrap();
            (row(&reported, "kmin to begin with"), row(&reported, "kmax to begin with"))
        };
        let both = |kmin: &str, kmax: &str| (kmin.to_owned(), kmax.to_owned());
        assert_eq!(begin(&[]), both("25 KB", "100 KB"));
        assert_eq!(begin(&[("pfc_threshold", "100.001 KB")]), both("25 KB", "100 KB"));
        assert_eq!(begin(&[("pfc_threshold", "80 KB")]), both("25 KB", "52.5 KB"));
        assert_eq!(begin(&[("pfc_threshold", "25 KB")]), both("", ""));
    }

    #[test]
    fn nothing_between_is_a_problem() {
        let reported = ask(&[("rate", "10 Gb/s"), ("rtt", "100 us"), ("pfc_threshold", "17 KB")]).unwrap();
        assert!(!reported.feasible);
        assert_eq!(reported.problems.len(), 1);
    }

    /// An ingress that fills eight ports equally is paused when each has an eighth of its threshold.
    #[test]
    fn an_ingress_may_fill_several_ports() {
        let reported =
            ask(&[("rate", "10 Gb/s"), ("rtt", "10 us"), ("pfc_threshold", "200 KB"), ("ports", "8")]).unwrap();
        assert_eq!(row(&reported, "threshold below"), "25 KB");
        assert!(reported.feasible);
    }

    /// Without PFC nothing pauses, and frames are dropped where the memory ends.
    #[test]
    fn a_scenario_without_pfc_is_bounded_by_its_memory() {
        let reported = |pauses: bool, given: Map<String, Value>| {
            let facts = json!({ "rate": "10 Gb/s", "rtt": "100 us", "pfc_threshold": "80 KB", "pfc_pauses": pauses });
            let scenario = facts.as_object().map(|facts| ("net.toml".to_owned(), facts.clone()));
            answer(&Question { form: FORM, given, scenario }).unwrap().summary.join(" ")
        };
        assert!(reported(false, Map::new()).contains("less than 80 KB, or frames are dropped first"));
        assert!(reported(true, Map::new()).contains("or PFC pauses first"));
        let given = Map::from_iter([("pfc_threshold".to_owned(), Value::from("90 KB"))]);
        assert!(reported(false, given).contains("less than 90 KB, or PFC pauses first"));
    }

    /// A remote switch pauses at 300 KB. The receiver's switch, which never pauses, has 100 KB of memory: that is the lower limit; 500 KB
    /// would not be. If that switch pauses, too, the lowest threshold is the limit.
    #[test]
    fn a_far_pause_is_no_limit_beyond_the_memory() {
        use backwater_net::config::{BufferPer, LatencyAt};
        use backwater_net::hooks::Paths;
        let limit = |memory: u64, own: Option<u64>| {
            let pause_threshold = own.map(|bytes| (Bytes(bytes), String::new()));
            let facts = facts(
                None,
                &Situation {
                    incast: None,
                    jobs: false,
                    rate: Rate::gbps(100),
                    paths: Paths { pause_threshold, ..Paths::default() },
                    lowest_pause_threshold: Some((Bytes(300_000), String::new(), "leaf1".to_owned())),
                    buffer: Some((Bytes(memory), "switch.buffer")),
                    buffer_per: BufferPer::Ingress,
                    set_aside: false,
                    alike: true,
                    clocked: false,
                    classes: 0,
                    into_switches: Vec::new(),
                    longest_frame: Bytes(4158),
                    cell: Bytes(1),
                    latency_at: LatencyAt::Output,
                    frame: Bytes(4158),
                    gap: Bytes(20),
                },
            );
            (facts["pfc_threshold"].clone(), facts["pfc_pauses"].clone(), facts["pfc_at"].clone())
        };
        assert_eq!(limit(100_000, None), (json!("100 KB"), json!(false), Value::Null));
        assert_eq!(limit(500_000, None), (json!("300 KB"), json!(true), json!("leaf1")));
        assert_eq!(limit(100_000, Some(350_000)), (json!("300 KB"), json!(true), json!("leaf1")));
    }

    #[test]
    fn values_out_of_range_are_refused() {
        for (key, text) in [
            ("rate", "0 Gb/s"),
            ("rtt", "2 s"),
            ("link_delay", "2 s"),
            ("links", "5000"),
            ("packet", "4 MB"),
            ("ports", "0"),
        ] {
            assert_eq!(ask(&[(key, text)]).unwrap_err().key, Some(key));
        }
    }
}
