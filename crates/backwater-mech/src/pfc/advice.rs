//! Priority-based Flow Control: the headroom of one port and class, itemised.
//!
//! Two models. *Simulator* is exact for this simulator ([`headroom`]). *Standard* is the worst case of IEEE 802.1Q annex N
//! ([`annex_n`]), in bit times.

use super::annex_n::{self, Asked, GAP, Items};
use super::{Params, Threshold, tables};
use crate::headroom::{cells_of_wire, headroom, headroom_in_cells, unseen};
use crate::mac_control::{Counter, Signal};
use backwater_engine::Time;
use backwater_net::config::{BufferPer, PacketParams};
use backwater_net::hooks::{
    Advice, AdviceError, AdviceForm, AdviceOption, AdviceProof, AdviceRow as Row, Hop, Question, Situation, needed,
};
use backwater_net::{Bytes, Rate};
use serde_json::{Map, Value, json};

const fn option(name: &'static str, help: &'static str, default: &'static str) -> AdviceOption {
    AdviceOption { name, help, whole: false, default: Some(default) }
}

/// The questions.
pub(super) const FORM: AdviceForm = AdviceForm {
    about: "PFC headroom of one port and class, itemised.\n\n\
            A scenario gives the link into a switch that needs most: of those on the ways to the\n\
            receiver of its largest incast, or without one on the longest way to its first host.",
    options: &[
        option("rate", "Rate of the link. Default: the scenario's, or 200 Gb/s.", "200 Gb/s"),
        option("link_delay", "Propagation delay of the link. Default: the scenario's, or 150 ns.", "150 ns"),
        option("packet", "Largest frame. Default: the scenario's, or 4158 B.", "4158 B"),
        option("control_packet", "Size of a PFC frame. Default: 64 B.", "64 B"),
        option("response", "Time from a pause's arrival to the stop. Default: the scenario's, or 0 ns.", "0 ns"),
        option("cell", "Cell of the switch's memory. Default: the scenario's, or 1 B: frames count by length.", "1 B"),
        AdviceOption {
            name: "interface",
            help: "standard: delay of one interface, both directions. Default: 802.3's bound for the rate.",
            whole: false,
            default: None,
        },
        AdviceOption {
            name: "silicon",
            help: "A chip of `backwater list silicon`: its vendor's headrooms beside ours. Default: none.",
            whole: false,
            default: None,
        },
        option("model", "simulator: what this simulator needs; standard: 802.1Q's. Default: simulator.", "simulator"),
    ],
    scenario: true,
    proof: Some(AdviceProof {
        key: "pfc.xoff",
        largest: true,
        condition: "drops == 0",
        rows: &["headroom"],
        below: None,
        from: Some("switch.buffer"),
        sets: &[],
        ineffective: Some(
            "a dynamic threshold moves with the free memory, so that there is no largest xoff: --prove is for static thresholds",
        ),
        free: &["model", "silicon"],
    }),
};

/// Returns the values of a scenario, quantities as text. The time that frames spend in a switch before it counts them is given as response.
pub(super) fn facts(params: Option<&Params>, situation: &Situation) -> Map<String, Value> {
    let signal = params.map_or(Signal::Timed, |pfc| pfc.signal);
    let counter = params.map_or(Counter::Ingress, |pfc| pfc.counter);
    let response = |hop: &Hop| {
        let own = params.map_or(Time::ZERO, |pfc| pfc.response);
        own.after(unseen(situation.latency_at, hop.latency, counter))
    };
    let need_of = |hop: &Hop, frame: Bytes| {
        let exact = headroom(hop.rate, hop.delay, frame, situation.gap, response(hop), signal);
        headroom_in_cells(exact, frame, situation.gap, situation.cell)
    };
    let need = |hop: &Hop| need_of(hop, situation.frame);
    let hops = situation.paths.different.iter().flatten();
    let Some(hop) = hops.max_by_key(|hop| (need(hop), hop.rate, hop.delay)) else { return Map::new() };
    // As `check` counts: over all ports, whatever the path of the question.
    let longest = situation.frame.max(situation.longest_frame);
    let most = situation.into_switches.iter().map(|hop| need_of(hop, longest));
    let facts = json!({
        "no_xoff": no_largest_xoff(params, situation),
        "most_headroom": most.max().map(|bytes| bytes.to_string()),
        "rate": hop.rate.to_string(),
        "link_delay": hop.delay.to_string(),
        "packet": situation.frame.to_string(),
        "response": response(hop).to_string(),
        "gap": situation.gap.to_string(),
        "moving": params.is_some_and(|pfc| pfc.threshold == Threshold::Dynamic),
        "frameless": signal == Signal::Ideal,
        // With shared memory, the memory left above a threshold depends on the other ports.
        "ingress_buffer": situation.buffer.filter(|_| situation.buffer_per == BufferPer::Ingress).map(|(size, _)| size.to_string()),
    });
    let Value::Object(mut facts) = facts else { return Map::new() };
    if situation.cell > Bytes(1) {
        facts.insert("cell".into(), json!(situation.cell.to_string()));
    }
    facts
}

/// Returns why an ingress's own memory less one headroom may be more than the largest `xoff`.
fn no_largest_xoff(params: Option<&Params>, situation: &Situation) -> Option<&'static str> {
    let classes = params.map_or(1, |pfc| pfc.class_bits().count_ones());
    // Without PFC the question concerns one class, whichever it is.
    let others = params.map_or(situation.classes.count_ones() > 1, |pfc| situation.classes & !pfc.class_bits() != 0);
    let reasons = [
        (classes != 1, "several classes are paused and share an ingress's memory"),
        (params.is_some_and(|pfc| pfc.counter != Counter::Ingress), "pfc.counter is not \"ingress\""),
        (
            params.is_some_and(|pfc| pfc.reference_rate.is_some()),
            "with pfc.reference_rate ports have different thresholds",
        ),
        (situation.set_aside, "reserves or headrooms are set aside in that memory"),
        (!situation.alike, "switches differ (switch.at, pfc.at)"),
        (situation.clocked, "packet.clock may make links faster than their rates"),
        (others, "frames of a class that is not paused share an ingress's memory"),
    ];
    reasons.into_iter().find_map(|(holds, why)| holds.then_some(why))
}

/// Returns the values taken from the scenario, in a line.
fn taken(question: &Question) -> Option<String> {
    let (file, _) = question.scenario.as_ref()?;
    let keys = FORM.options.iter().map(|option| option.name).chain(["gap"]);
    // A response of zero is a default, unless the scenario gives it.
    let none = |key: &str| {
        key == "response" && !question.is_written(key) && question.text(key) == Some(Time::ZERO.to_string())
    };
    let names: Vec<String> =
        keys.filter(|key| question.is_from_scenario(key) && !none(key)).map(|key| key.replace('_', " ")).collect();
    Some(format!("From {file}: {}.", names.join(", ")))
}

/// Reads the question and answers it.
pub(super) fn answer(question: &Question) -> Result<Advice, AdviceError> {
    let model = match needed("model", question.text("model"))?.as_str() {
        "simulator" => Model::Simulator,
        "standard" => Model::Standard,
        other => {
            let error = AdviceError::new(format!("`{other}` is not a model")).key("model");
            return Err(error.hint("models are `simulator` and `standard`"));
        }
    };
    let moving = question.fact("moving").and_then(Value::as_bool).unwrap_or(false);
    let link = Link {
        rate: needed("rate", question.quantity("rate")?)?,
        link_delay: needed("link_delay", question.quantity("link_delay")?)?,
        packet: needed("packet", question.quantity("packet")?)?,
        control_packet: needed("control_packet", question.quantity("control_packet")?)?,
        response: needed("response", question.quantity("response")?)?,
        cell: needed("cell", question.quantity("cell")?)?,
        interface: question.quantity("interface")?,
        gap: question.quantity("gap")?.unwrap_or(PacketParams::default().gap),
        frameless: question.fact("frameless").and_then(Value::as_bool).unwrap_or(false),
        memory: question.quantity("ingress_buffer")?,
        no_xoff: question.text("no_xoff"),
        most: question.quantity("most_headroom")?,
        moving,
        model,
    };
    let mut advice = match question.text("silicon") {
        Some(chip) => beside_vendor(link, &chip)?,
        None => advice(&link)?,
    };
    if moving {
        advice.summary.push(
            "A dynamic threshold moves with the free memory: there is one headroom, and no largest xoff. `--prove` is for static \
             thresholds."
                .to_owned(),
        );
    }
    advice.summary.extend(taken(question));
    Ok(advice)
}

/// The advice for the cells of a chip, and the headrooms of its vendor at that rate beside those that the model needs for the same cable.
fn beside_vendor(mut link: Link, chip: &str) -> Result<Advice, AdviceError> {
    let of_chip: Vec<tables::Entry> = tables::entries().filter(|entry| entry.chip == chip).collect();
    let Some(first) = of_chip.first() else {
        let error = AdviceError::new(format!("no headroom of a chip `{chip}` is known")).key("silicon");
        return Err(error.hint(format!("known for {}", tables::chips().join(", "))));
    };
    if link.cell == Bytes(1) {
        link.cell = first.cell;
    }
    let mut advice = advice(&link)?;
    let same_rate: Vec<&tables::Entry> = of_chip.iter().filter(|entry| entry.rate == link.rate).collect();
    for entry in &same_rate {
        let own = total(&Link { link_delay: entry.delay(), ..link.clone() })?;
        let times = entry.headroom.0 as f64 / own.0.max(1) as f64;
        let name = format!("{}, {} m", entry.table, entry.metres);
        advice.rows.push(Row::new(
            &name,
            entry.headroom,
            format!("the vendor's; {times:.2} times {own} by this model, with 5 ns a metre"),
        ));
    }
    if same_rate.is_empty() {
        let rates: std::collections::BTreeSet<Rate> = of_chip.iter().map(|entry| entry.rate).collect();
        let rates: Vec<String> = rates.iter().map(Rate::to_string).collect();
        advice.summary.push(format!("No table of {chip} has {}; there are {}.", link.rate, rates.join(", ")));
    } else {
        advice.summary.push(
            "Beyond this model, a vendor's headroom has the chip's own response to a pause and what its pipeline holds; --response \
             and --model standard count bounds of these."
                .to_owned(),
        );
    }
    Ok(advice)
}

/// \[bytes\] The headroom by the model, in cells.
fn total(q: &Link) -> Result<Bytes, AdviceError> {
    match q.model {
        Model::Simulator => Ok(headroom_in_cells(by_length(q), q.packet, q.gap, q.cell)),
        Model::Standard => Ok(cells_of_wire(items(q)?.bytes(), Bytes(GAP), q.cell)),
    }
}

/// The model of the headroom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Model {
    /// This simulator: exact.
    Simulator,
    /// 802.1Q annex N: the worst case of real equipment.
    Standard,
}

/// One port and class.
#[derive(Clone, Debug)]
struct Link {
    /// Rate of the link.
    rate: Rate,
    /// Propagation delay of the link.
    link_delay: Time,
    /// Largest frame, headers included.
    packet: Bytes,
    /// Length of a PFC frame.
    control_packet: Bytes,
    /// Time from a pause's arrival to the stop. Standard: zero means the bound of IEEE 802.3.
    response: Time,
    /// A cell of the switch's memory.
    cell: Bytes,
    /// Both directions of one interface, for the standard; absent: the bound of the rate.
    interface: Option<Time>,
    /// Bytes per frame that only the link counts. The standard has its own.
    gap: Bytes,
    /// True if a pause is signalled without a frame (`signal = "ideal"`).
    frameless: bool,
    /// Memory of an ingress, if it has its own and that is known.
    memory: Option<Bytes>,
    /// Why no largest `xoff` is reported, if none is.
    no_xoff: Option<String>,
    /// The need of the neediest port of any switch, if known.
    most: Option<Bytes>,
    /// True if the threshold moves with the free memory.
    moving: bool,
    /// The model.
    model: Model,
}

/// PFC headroom of one port and class, itemised.
fn advice(question: &Link) -> Result<Advice, AdviceError> {
    let q = question;
    if q.rate.0 == 0 {
        return Err(AdviceError::new("a rate of 0 carries nothing").key("rate").hint("as in 200 Gb/s"));
    }
    for (key, size) in [("packet", q.packet), ("control_packet", q.control_packet)] {
        if size.0 == 0 || size.0 > 1 << 20 {
            return Err(AdviceError::new(format!("{size} is no frame")).key(key).hint("1 B to 1 MB"));
        }
    }
    if !Bytes::CELLS.contains(&q.cell.0) {
        return Err(AdviceError::new(format!("{} is no cell", q.cell)).key("cell").hint("1 B to 65536 B"));
    }
    // Longer than any cable; keeps all sums countable.
    let longest = Time::ms(1_000);
    let interface = q.interface.unwrap_or(Time::ZERO);
    for (key, time) in [("link_delay", q.link_delay), ("response", q.response), ("interface", interface)] {
        if time > longest {
            return Err(AdviceError::new(format!("{time} is too long")).key(key).hint(format!("at most {longest}")));
        }
    }
    match q.model {
        Model::Simulator if q.interface.is_some() => {
            let error = AdviceError::new("interfaces take no time in this simulator").key("interface");
            Err(error.hint("--model standard counts them"))
        }
        Model::Simulator => simulator(q),
        Model::Standard => standard(q),
    }
}

/// The time from the frame that passes `xoff` to the stop, and what is sent meanwhile.
struct Window {
    /// A frame of the longest length on the wire.
    frame: Time,
    /// The frame before the PFC frame.
    blocking: Time,
    pause: Time,
    all: Time,
    meanwhile: Bytes,
}

impl Window {
    fn of(q: &Link) -> Window {
        let frame = q.rate.time_for(q.packet + q.gap);
        let (blocking, pause) = match q.frameless {
            true => (Time::ZERO, Time::ZERO),
            false => (frame, q.rate.time_for(q.control_packet + q.gap)),
        };
        let all = blocking + pause + q.link_delay + q.response + q.link_delay;
        let meanwhile = u128::from(all.0) * u128::from(q.packet.0) / u128::from(frame.0.max(1));
        Window { frame, blocking, pause, all, meanwhile: Bytes(meanwhile as u64) }
    }
}

/// \[bytes\] The headroom in this simulator, by length.
fn by_length(q: &Link) -> Bytes {
    // The formula itself, for any length of PFC frame; the tests compare it with the mechanism's own.
    let signal = if q.frameless { Signal::Ideal } else { Signal::Timed };
    if q.frameless || q.control_packet.0 == u64::from(backwater_net::packet::Control::MIN_FRAME) {
        return headroom(q.rate, q.link_delay, q.packet, q.gap, q.response, signal);
    }
    Window::of(q).meanwhile + q.packet * 2
}

fn simulator(q: &Link) -> Result<Advice, AdviceError> {
    let gap = q.gap;
    let Window { frame, blocking, pause, all: window, meanwhile } = Window::of(q);
    let by_length = by_length(q);
    let time = |size: Bytes, what: &str| match q.frameless {
        true => "no frame tells of a pause (signal = \"ideal\")".to_owned(),
        false => format!("({size} + {gap}{what}) x 8 / {}", q.rate),
    };
    let mut rows = vec![
        Row::new("blocking frame", blocking, time(q.packet, " of gap")),
        Row::new("PFC frame", pause, time(q.control_packet, "")),
        Row::new("way of the PFC frame", q.link_delay, "propagation"),
        Row::new("response", q.response, "from receipt to stop"),
        Row::new("way of the last frame", q.link_delay, "propagation"),
        Row::new("frame that passed xoff", q.packet, "its bytes lie above xoff too"),
        Row::new("sent meanwhile", meanwhile, format!("{window} / {frame} x {}", q.packet)),
        Row::new("last frame", q.packet, "begun just before the stop"),
    ];
    let total = headroom_in_cells(by_length, q.packet, gap, q.cell);
    rows.extend(headrooms(q, by_length, "sum of the three", total));
    let mut problems = Vec::new();
    let mut summary = Vec::new();
    let elsewhere = q.most.filter(|most| *most > total).map(|most| format!("another port needs {most} of headroom"));
    let why = q.no_xoff.clone().or(elsewhere);
    match q.memory {
        Some(memory) if memory > total && q.moving => {}
        Some(memory) if memory > total && why.is_some() => {
            summary.extend(why.map(|why| format!("No largest xoff is told: {why}. `backwater check` counts all.")));
        }
        Some(memory) if memory > total => {
            let left = Bytes(memory.0 - total.0);
            rows.push(Row::new("largest xoff", left, format!("{memory} of an ingress, less the headroom")));
        }
        Some(memory) => problems.push(format!("an ingress has {memory} of memory, its headroom needs {total}")),
        None => {}
    }
    let title = format!("PFC headroom of a port and class in this simulator, {} and {}", q.rate, q.link_delay);
    Ok(Advice { title, rows, feasible: problems.is_empty(), problems, summary, ..Advice::default() })
}

/// The headroom, with cells after that by length.
fn headrooms(q: &Link, by_length: Bytes, formula: &str, in_cells: Bytes) -> Vec<Row> {
    if q.cell == Bytes(1) {
        return vec![Row::new("headroom", by_length, formula)];
    }
    let short = format!("in cells of {}, if short frames fill the wire", q.cell);
    vec![Row::new("by length", by_length, formula), Row::new("headroom", in_cells, short)]
}

/// The items of the standard; an error for a rate without bounds.
fn items(q: &Link) -> Result<Items, AdviceError> {
    // A response of zero means the bound: no equipment reacts at once.
    let given = Some(q.response).filter(|time| *time > Time::ZERO);
    let asked = Asked {
        rate: q.rate,
        delay: q.link_delay,
        frame: q.packet,
        control: q.control_packet,
        response: given,
        interface: q.interface,
    };
    Items::of(&asked).map_err(|lacking| {
        let options: Vec<String> = lacking.iter().map(|name| format!("--{name}")).collect();
        let error =
            AdviceError::new(format!("no bound of {} is known for {}", lacking.join(" and "), q.rate)).key("rate");
        error.hint(format!(
            "known for {}; for other rates give {}, as of your equipment, or --model simulator",
            annex_n::known_rates(),
            options.join(" and ")
        ))
    })
}

fn standard(q: &Link) -> Result<Advice, AdviceError> {
    let given = Some(q.response).filter(|time| *time > Time::ZERO);
    let items = items(q)?;
    let why = given.map_or_else(|| "bound of IEEE 802.3 annex 31B.3.7".to_owned(), |time| format!("{time}, as given"));
    let interfaces = match q.interface {
        Some(time) => format!("2 x {time}, as given"),
        None if q.rate >= Rate::gbps(200) => {
            format!("2 x {}, upper bounds, as long as at 100 Gb/s: a choice", items.interface)
        }
        None => format!("2 x {}, upper bounds", items.interface),
    };
    let bt = |name: &str, n: u64, formula: String| Row {
        name: name.into(),
        value: n.to_string(),
        unit: "bit times".into(),
        formula,
    };
    let mut rows = vec![
        bt("blocking frame", items.frame, format!("({} + {GAP} B) x 8", q.packet)),
        bt("PFC frame", items.pause, format!("({} + {GAP} B) x 8", q.control_packet)),
        bt("cable", 2 * items.cable, format!("2 x {}", q.link_delay)),
        bt("interfaces", 2 * items.interface, interfaces),
        bt("response", items.response, why),
        bt("last frame", items.frame, format!("({} + {GAP} B) x 8, just begun at the peer", q.packet)),
        bt("sum", items.sum(), "IEEE 802.1Q annex N".into()),
    ];
    rows.extend(headrooms(q, items.bytes(), "sum / 8", cells_of_wire(items.bytes(), Bytes(GAP), q.cell)));
    let title = format!("PFC headroom of a port and class by IEEE 802.1Q annex N, {} and {}", q.rate, q.link_delay);
    Ok(Advice { title, rows, feasible: true, ..Advice::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(gbps: u64, delay: Time, packet: u64, model: Model) -> Link {
        Link {
            rate: Rate::gbps(gbps),
            link_delay: delay,
            packet: Bytes(packet),
            control_packet: Bytes(64),
            response: Time::ZERO,
            cell: Bytes(1),
            interface: None,
            gap: PacketParams::default().gap,
            frameless: false,
            memory: None,
            no_xoff: None,
            most: None,
            moving: false,
            model,
        }
    }

    /// The default frame is the longest of a scenario that says nothing of packets.
    #[test]
    fn the_default_frame_is_a_scenarios() {
        let packet = PacketParams::default();
        let default = FORM.options.iter().find(|option| option.name == "packet").and_then(|option| option.default);
        assert_eq!(default, Some(format!("{} B", (packet.payload + packet.header).0).as_str()));
    }

    fn total(question: &Link) -> f64 {
        let reported = advice(question).unwrap();
        let row = reported.rows.last().unwrap();
        assert_eq!((row.name.as_str(), row.unit.as_str()), ("headroom", "KB"));
        row.value.parse().unwrap()
    }

    /// 9216-byte frames over 3 m and 100 m at 5 ns/m: worked examples with the bounds of IEEE 802.3.
    #[test]
    fn annex_n_by_hand() {
        for (gbps, short, long) in [(10, 24.5, 25.7), (25, 25.3, 28.3), (40, 32.4, 37.3), (100, 74.9, 87.0)] {
            for (metres, expected) in [(3, short), (100, long)] {
                let got = total(&ask(gbps, Time::ns(5 * metres), 9216, Model::Standard));
                assert!((got - expected).abs() <= 0.05, "{gbps} Gb/s, {metres} m: {got} KB instead of {expected}");
            }
        }
    }

    #[test]
    fn items_add_up_to_the_mechanisms_own_headroom() {
        for (gbps, delay, packet) in [(200, 150, 4158), (10, 0, 1538), (100, 5000, 9216), (400, 77, 64)] {
            let (rate, delay) = (Rate::gbps(gbps), Time::ns(delay));
            let reported = advice(&ask(gbps, delay, packet, Model::Simulator)).unwrap();
            let value = |name: &str| {
                let row = reported.rows.iter().find(|r| r.name == name).unwrap();
                format!("{} {}", row.value, row.unit).parse::<Bytes>().unwrap()
            };
            let items = ["frame that passed xoff", "sent meanwhile", "last frame"].map(value);
            let own = headroom(rate, delay, Bytes(packet), PacketParams::default().gap, Time::ZERO, Signal::Timed);
            assert_eq!((items.into_iter().sum::<Bytes>(), value("headroom")), (own, own));
        }
    }

    /// In Tomahawk 5's cells of 254 B, frames of 64 B that fill a wire take 254 B for 84 B of it. The standard's items count the wire itself.
    #[test]
    fn cells_of_short_frames() {
        let bytes = |question: &Link, name: &str| {
            let advice = advice(question).unwrap();
            let row = advice.rows.iter().find(|row| row.name == name).unwrap();
            let Row { value, unit, .. } = row;
            format!("{value} {unit}").parse::<Bytes>().unwrap().0 as f64
        };
        let cells = Link { cell: Bytes(254), ..ask(100, Time::ns(1_500), 4_158, Model::Standard) };
        let wire = bytes(&cells, "by length");
        assert!((bytes(&cells, "headroom") - wire * 254.0 / 84.0).abs() <= 254.0 + 0.001 * wire);
        let own = Link { model: Model::Simulator, ..cells };
        let (sent, exact) = (bytes(&own, "sent meanwhile"), bytes(&own, "by length"));
        assert_eq!(exact, sent + 2.0 * 4158.0);
        let expected = 2.0 * 17.0 * 254.0 + sent * 4178.0 / 4158.0 * 254.0 / 84.0;
        assert!((bytes(&own, "headroom") - expected).abs() <= 254.0 + 0.001 * expected);
    }

    /// 4158 B at 200 Gb/s over 150 ns, whose headroom the test above compares with the mechanism's own.
    #[test]
    fn what_an_ingress_has_beyond_its_headroom_is_the_largest_xoff() {
        let mut question = ask(200, Time::ns(150), 4158, Model::Simulator);
        let need =
            headroom(question.rate, question.link_delay, question.packet, question.gap, Time::ZERO, Signal::Timed);
        question.memory = Some(need + Bytes(1));
        let reported = advice(&question).unwrap();
        let last = reported.rows.last().unwrap();
        assert_eq!((last.name.as_str(), last.value.as_str(), last.unit.as_str()), ("largest xoff", "1", "B"));
        assert!(reported.feasible);
        question.memory = Some(need);
        assert!(!advice(&question).unwrap().feasible);
    }

    /// Rates without a bound take a given one: 2 x 73,136 + 672 + 2 x 160,000 + 2 x 400,000 + 800,000 bit times at 800 Gb/s.
    #[test]
    fn a_rate_without_bounds_takes_ones_own() {
        for gbps in [50, 800] {
            let error = advice(&ask(gbps, Time::ns(200), 9122, Model::Standard)).unwrap_err();
            assert_eq!(error.key, Some("rate"));
            assert_eq!(error.reason, format!("no bound of interface is known for {gbps} Gb/s"));
            let hint = "known for 10, 25, 40, 100, 200, 400 Gb/s; for other rates give --interface, as of your equipment, or --model simulator";
            assert_eq!(error.hint.as_deref(), Some(hint));
        }
        let error = advice(&ask(1600, Time::ns(200), 9122, Model::Standard)).unwrap_err();
        assert_eq!(error.reason, "no bound of response and interface is known for 1.6 Tb/s");
        let mut question = ask(800, Time::ns(200), 9122, Model::Standard);
        question.response = Time::ns(1000);
        let error = advice(&question).unwrap_err();
        assert_eq!(error.reason, "no bound of interface is known for 800 Gb/s");
        question.interface = Some(Time::ns(500));
        assert_eq!(total(&question), 258.368);
        question.model = Model::Simulator;
        assert_eq!(advice(&question).unwrap_err().key, Some("interface"));
    }

    #[test]
    fn nonsense_is_an_error() {
        assert!(advice(&ask(0, Time::ZERO, 1500, Model::Simulator)).is_err());
        assert!(advice(&ask(13, Time::ZERO, 1500, Model::Standard)).is_err());
        assert!(advice(&ask(10, Time::NEVER, 1500, Model::Simulator)).is_err());
        assert!(advice(&ask(10, Time::ZERO, 0, Model::Simulator)).is_err());
    }
}
