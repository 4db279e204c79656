//! Samples for pictures, of bounded size: queues, loads and pauses by port, rates by flow.

use backwater_net::record::{PortRow, SeriesRow};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The most numbers that are kept. Further samples are left out, and the answer reports how many.
const MOST: usize = 1_500_000;

/// Samples of a run.
pub struct Pictures {
    interval: u64,
    /// By node and port: the peer, the rate, and the samples of the port.
    ports: BTreeMap<(u32, u16), Samples>,
    /// \[b/s\] Rates, by flow and step.
    flows: BTreeMap<u64, BTreeMap<u64, u64>>,
    kept: usize,
    left_out: u64,
    last: u64,
}

#[derive(Default)]
struct Samples {
    peer: u32,
    rate: u64,
    /// Bytes of all queues together, by step.
    waiting: BTreeMap<u64, u64>,
    sent: BTreeMap<u64, u64>,
    paused: BTreeMap<u64, u64>,
}

impl Pictures {
    /// Creates an empty set, with a sample every `interval` ps.
    pub fn new(interval: u64) -> Pictures {
        let interval = interval.max(1);
        Pictures { interval, ports: BTreeMap::new(), flows: BTreeMap::new(), kept: 0, left_out: 0, last: 0 }
    }

    /// Adds a sample. Zeros are not stored.
    pub fn take(&mut self, row: &SeriesRow) {
        let step = row.time.as_ps().div_ceil(self.interval);
        self.last = self.last.max(step);
        if row.value == 0 {
            return;
        }
        if self.kept >= MOST {
            self.left_out += 1;
            return;
        }
        if row.quantity == "flow_rate_bps" {
            if let Some(flow) = row.flow {
                self.flows.entry(flow).or_default().insert(step, row.value);
                self.kept += 1;
            }
            return;
        }
        let Some(port) = row.port else { return };
        let at = (row.node.0, port.0);
        let samples = self.ports.entry(at).or_default();
        let series = match row.quantity {
            "queue_bytes" => &mut samples.waiting,
            "sent_bytes" => &mut samples.sent,
            "paused" => &mut samples.paused,
            _ => return,
        };
        *series.entry(step).or_default() += row.value;
        self.kept += 1;
    }

    /// Stores the peer of a port.
    pub fn port(&mut self, row: &PortRow) {
        let samples = self.ports.entry((row.node.0, row.port.0)).or_default();
        (samples.peer, samples.rate) = (row.peer.0, row.rate_bps);
    }

    /// Returns the samples as the page reads them: for each series, steps and values in turn.
    pub fn as_json(self) -> Value {
        let flat =
            |series: &BTreeMap<u64, u64>| series.iter().flat_map(|(step, value)| [*step, *value]).collect::<Vec<_>>();
        let ports = self.ports.iter().map(|((node, port), one)| {
            json!({
                "node": node, "port": port, "peer": one.peer, "rate_bps": one.rate,
                "waiting": flat(&one.waiting), "sent": flat(&one.sent), "paused": flat(&one.paused),
            })
        });
        let flows = self.flows.iter().map(|(flow, rates)| json!({ "flow": flow, "rates": flat(rates) }));
        json!({
            "interval_ps": self.interval, "steps": self.last, "left_out": self.left_out,
            "ports": ports.collect::<Vec<_>>(), "flows": flows.collect::<Vec<_>>(),
        })
    }
}
