//! The offers of groups of flows in a run, beside the requested ones: arrivals are random, and so are their sums.

use crate::file::{LoadCounts, LoadOf};
use crate::load::Offer;
use backwater_engine::Time;
use backwater_net::record::FlowRow;

/// The offer of one group; groups with the same label are one.
#[derive(Clone, Debug, PartialEq)]
pub struct Offered {
    /// The label.
    pub group: String,
    /// The requested share of the capacity.
    pub target: f64,
    /// The actual share of it.
    pub offered: f64,
    /// The bytes that count; if groups of the label differ, those on the wire.
    pub counts: LoadCounts,
    /// The links of the capacity.
    pub of: LoadOf,
    /// \[b/s\] The capacity.
    pub capacity: f64,
    /// When arrivals began.
    pub from: Time,
    /// When they ended.
    pub until: Time,
}

/// Counts the bytes of flows of groups with a load.
#[derive(Clone, Debug, Default, backwater_derive::State)]
pub struct Tally {
    /// By label.
    #[state(within)]
    counted: Vec<Counted>,
    /// For each group of the run its entry in `counted`.
    #[state(fixed)]
    of_group: Vec<Option<usize>>,
}

#[derive(Clone, Debug, backwater_derive::State)]
struct Counted {
    #[state(fixed)]
    offers: Vec<Offer>,
    #[state(fixed)]
    counts: LoadCounts,
    bytes: u64,
    last: Time,
}

impl Tally {
    /// For a run whose groups have these labels.
    pub fn new(offers: Vec<Offer>, groups: &[String]) -> Tally {
        let mut counted: Vec<Counted> = Vec::new();
        for offer in offers {
            match counted.iter_mut().find(|c| c.offers.iter().any(|o| o.label == offer.label)) {
                Some(same) => {
                    if same.counts != offer.counts {
                        same.counts = LoadCounts::Wire;
                    }
                    same.offers.push(offer);
                }
                None => {
                    let counts = offer.counts;
                    counted.push(Counted { offers: vec![offer], counts, bytes: 0, last: Time::ZERO });
                }
            }
        }
        let place = |label: &String| counted.iter().position(|c| c.offers.iter().any(|o| o.label == *label));
        let of_group = groups.iter().map(place).collect();
        Tally { counted, of_group }
    }

    pub(super) fn flow(&mut self, row: &FlowRow) {
        let Some(at) = self.of_group.get(row.group as usize).copied().flatten() else { return };
        let counted = &mut self.counted[at];
        counted.bytes += match counted.counts {
            LoadCounts::Wire => counted.offers.first().map_or(0, |offer| offer.packet.on_wire(row.bytes)),
            LoadCounts::Payload => row.bytes,
        };
        counted.last = counted.last.max(row.start);
    }

    /// Returns the offers until the end of arrivals, or until `cut` if the run ended before.
    pub fn report(&self, cut: Option<Time>) -> Vec<Offered> {
        self.counted.iter().filter_map(|counted| counted.report(cut)).collect()
    }
}

impl Counted {
    fn report(&self, cut: Option<Time>) -> Option<Offered> {
        let first = self.offers.first()?;
        // Arrivals limited by a count end with the last of them.
        let until = |offer: &Offer| offer.until.unwrap_or(self.last).min(cut.unwrap_or(Time::NEVER));
        // \[b\] that the links could have carried meanwhile
        let room = |offer: &Offer| offer.capacity * until(offer).since(offer.from).as_secs_f64();
        let all: f64 = self.offers.iter().map(room).sum();
        if all <= 0.0 {
            return None;
        }
        Some(Offered {
            group: first.label.clone(),
            target: self.offers.iter().map(|offer| offer.target * room(offer)).sum::<f64>() / all,
            offered: self.bytes as f64 * 8.0 / all,
            counts: self.counts,
            of: first.of,
            capacity: first.capacity,
            from: self.offers.iter().map(|offer| offer.from).min()?,
            until: self.offers.iter().map(until).max()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::flow;
    use backwater_net::Bytes;
    use backwater_net::config::PacketParams;

    fn offer(label: &str, counts: LoadCounts, until: Option<Time>) -> Offer {
        let (of, capacity) = (LoadOf::Sources, 1e12);
        let packet = PacketParams { payload: Bytes(1000), header: Bytes(48), gap: Bytes(2), clock: None };
        Offer { label: label.into(), counts, packet, of, capacity, target: 0.4, from: Time::ZERO, until }
    }

    fn tally(offers: Vec<Offer>) -> Tally {
        let groups = ["a", "none", "b", "a"].map(String::from);
        let mut tally = Tally::new(offers, &groups);
        // 25 MB in packets of 1000 B are 26.25 MB on the wire.
        for (group, bytes, start) in [(0, 10_000_000, 1), (1, 99, 1), (3, 15_000_000, 500), (2, 5_000_000, 700)] {
            tally.flow(&FlowRow { group, bytes, start: Time::us(start), ..flow(0) });
        }
        tally
    }

    #[test]
    fn bytes_are_those_that_the_load_counts() {
        let ms = Some(Time::ms(1));
        let share = |one: &Offered| (one.offered * 1e9).round() / 1e9;
        let shares = |offers| tally(offers).report(None).iter().map(share).collect::<Vec<_>>();
        assert_eq!(shares(vec![offer("a", LoadCounts::Payload, ms), offer("b", LoadCounts::Wire, ms)]), [0.2, 0.042]);
        assert_eq!(shares(vec![offer("a", LoadCounts::Wire, ms)]), [0.21]);
        // Groups of one label share the label's flows: 0.21 Gb of twice 1 Gb.
        assert_eq!(shares(vec![offer("a", LoadCounts::Wire, ms), offer("a", LoadCounts::Payload, ms)]), [0.105]);
    }

    #[test]
    fn time_ends_with_arrivals_or_with_the_run() {
        let payload = |until| tally(vec![offer("a", LoadCounts::Payload, until)]);
        let one = payload(Some(Time::ms(1))).report(Some(Time::us(800))).remove(0);
        // 0.2 Gb in 800 us and in 500 us at 1 Tb/s; the last bit of a quotient does not matter.
        let share = |one: &Offered| (one.offered * 1e9).round() / 1e9;
        assert_eq!((one.until, share(&one)), (Time::us(800), 0.25));
        let counted = payload(None).report(None).remove(0);
        assert_eq!((counted.until, share(&counted), counted.target), (Time::us(500), 0.4, 0.4));
        assert_eq!(payload(None).report(Some(Time::ZERO)), [], "nothing could have come yet");
    }
}
