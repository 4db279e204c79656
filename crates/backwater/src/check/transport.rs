//! `[transport]` and its requirements on `[ack]` and `[packet]`.

use crate::error::{ScenarioError, Warning};
use crate::resolved::Resolved;
use backwater_engine::Time;
use backwater_net::Bytes;
use backwater_net::config::{AckParams, Recovery, TransportParams, Window};
use backwater_net::hooks::RoundTrip;

/// Refuses values that cannot work, and warns of values without effect.
pub(super) fn check(resolved: &Resolved, round_trip: Option<RoundTrip<'_>>) -> Result<Vec<Warning>, ScenarioError> {
    let (transport, ack, packet) = (&resolved.file.transport, &resolved.file.ack, &resolved.file.packet);
    let refuse = |key: &str, reason: String, hint: String| Err(resolved.error(key, reason).hint(hint));
    if ack.every == 0 || ack.every > u32::from(u16::MAX) {
        let reason = format!("one acknowledgement for {} packets cannot be", ack.every);
        return refuse("ack.every", reason, "1 to 65535".into());
    }
    let acknowledged = [
        (transport.retransmits(), "transport.recovery", "what is lost shows in missing acknowledgements"),
        (transport.window.is_some(), "transport.window", "a window opens by acknowledgements"),
    ];
    for (asked, key, why) in acknowledged {
        if asked && !ack.enabled {
            return refuse(key, format!("{why}, and receivers send none"), "ack.enabled = true".into());
        }
    }
    if let Some(name) = resolved.mechanisms.windowed().filter(|_| !ack.enabled) {
        let reason = format!("the window of `{name}` opens by acknowledgements, and receivers send none");
        return refuse(name, reason, format!("ack.enabled = true, or {name} = false"));
    }
    if let Some(name) = resolved.mechanisms.recovering().filter(|_| !transport.retransmits()) {
        let reason = format!("`{name}` counts on lost packets being retransmitted, and nothing is");
        let rud = resolved.mechanisms.counting().is_some();
        let other = if rud { "" } else { ", or \"selective-repeat\" with transport.in_order = false" };
        return refuse("transport.recovery", reason, format!("transport.recovery = \"rud\"{other}"));
    }
    if let Some(name) = resolved.mechanisms.counting().filter(|_| !transport.acknowledges_packets()) {
        let reason = format!("`{name}` goes by acknowledgements of single packets and a count of what is in flight");
        return refuse("transport.recovery", reason, format!("transport.recovery = \"rud\", or {name} = false"));
    }
    if ack.bytes == Bytes::ZERO {
        let reason = "every packet comes to more than nothing".into();
        return refuse("ack.bytes", reason, "1 B for an acknowledgement of each packet, or more".into());
    }
    if transport.retransmits() && transport.timeout < Time::ns(1) {
        let reason = format!("a timeout of {} leaves no time for an acknowledgement", transport.timeout);
        return refuse("transport.timeout", reason, "some round-trip times, such as 500 us".into());
    }
    if !transport.in_order && transport.recovery == Recovery::GoBackN {
        let reason = "go-back-n drops what comes out of order".into();
        return refuse("transport.in_order", reason, "transport.recovery = \"selective-repeat\"".into());
    }
    if let Some(interval) = transport.nack_interval {
        let refuse = |reason: &str, hint: &str| refuse("transport.nack_interval", reason.into(), hint.into());
        match transport.recovery {
            _ if interval == Time::ZERO => {
                return refuse(
                    "every packet beyond a gap would be reported",
                    "a round-trip time and more, such as 500 us",
                );
            }
            Recovery::GoBackN => {}
            Recovery::SelectiveRepeat => {
                return refuse("with selective repeat every packet beyond a gap is reported", "leave it out");
            }
            Recovery::Rud => return refuse("packets are reported one by one, when they come", "leave it out"),
            Recovery::None => return refuse("nothing is retransmitted", "transport.recovery = \"go-back-n\""),
        }
    }
    let takes_order = matches!(transport.recovery, Recovery::GoBackN | Recovery::SelectiveRepeat) && transport.in_order;
    if let Some(name) = resolved.mechanisms.reorders().filter(|_| takes_order) {
        let reason = format!(
            "`{name}` lets packets overtake each other, and {} takes a gap for a loss",
            match transport.recovery {
                Recovery::GoBackN => "go-back-n",
                _ => "selective-repeat in order",
            }
        );
        let hint = "transport.recovery = \"selective-repeat\" with transport.in_order = false, \"rud\", or \"none\" in a lossless network";
        return refuse("transport.recovery", reason, hint.into());
    }
    let least = if transport.acknowledges_packets() { packet.payload } else { ack.together(packet.payload) };
    if let Some(Window::Bytes(window)) = transport.window
        && window < least
    {
        let reason = format!("{window} is less than the {least} that are acknowledged at a time: nothing would move");
        return refuse("transport.window", reason, format!("{least} and more (packet.payload x ack.every)"));
    }
    if transport.window_scaling && transport.window.is_none() {
        return refuse(
            "transport.window_scaling",
            "there is no window to be scaled".into(),
            "transport.window = \"bdp\"".into(),
        );
    }
    let usual = TransportParams::default();
    let without_effect = [
        (transport.timeout != usual.timeout, "transport.timeout", transport.timeout.to_string()),
        (!transport.in_order, "transport.in_order", "false".into()),
        (
            transport.retries != usual.retries,
            "transport.retries",
            transport.retries.map_or_else(|| "unlimited".into(), |most| most.to_string()),
        ),
    ];
    let warnings = without_effect.into_iter().filter(|(set, ..)| *set && !transport.retransmits());
    let warnings = warnings.map(|(_, key, value)| Warning {
        key: key.into(),
        value,
        reason: "without effect: nothing is retransmitted".into(),
        hint: "transport.recovery = \"go-back-n\", \"selective-repeat\" or \"rud\"".into(),
    });
    Ok(warnings.chain(other_count(resolved)).chain(impatient(resolved, round_trip)).collect())
}

/// Packets that are acknowledged together are counted in packets or in bytes, depending on the transport: the other key has no effect.
fn other_count(resolved: &Resolved) -> Option<Warning> {
    let (ack, usual) = (&resolved.file.ack, AckParams::default());
    let by_bytes = resolved.file.transport.acknowledges_packets();
    let (key, value, other) = match by_bytes {
        true if ack.every != usual.every => ("ack.every", ack.every.to_string(), "ack.bytes"),
        false if ack.bytes != usual.bytes => ("ack.bytes", ack.bytes.to_string(), "ack.every"),
        _ => return None,
    };
    let unit = if by_bytes { "bytes" } else { "packets" };
    let reason = format!("without effect: with this transport.recovery a receiver counts {unit}");
    Some(Warning { key: key.into(), value, reason, hint: other.into() })
}

/// Receivers that report a gap again before the closing packet can have arrived: each NACK sends the flow back once more, past its window,
/// and duplicates fill the queues that make the round trip longer.
fn impatient(resolved: &Resolved, round_trip: Option<RoundTrip<'_>>) -> Option<Warning> {
    let interval = resolved.file.transport.nack_interval?;
    let RoundTrip { time, between: (from, to) } = round_trip.filter(|round_trip| interval < round_trip.time)?;
    let reason = format!(
        "shorter than a round trip ({time} from {from} to {to} and back, all queues empty): a gap is reported again before what \
         closes it can come, and each report sends the flow back"
    );
    let hint = format!("some round trips, such as \"{}\": queues make them longer", Time(time.0.saturating_mul(10)));
    Some(Warning { key: "transport.nack_interval".into(), value: interval.to_string(), reason, hint })
}
