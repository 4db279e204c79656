//! PINT — Ben Basat et al., "PINT: Probabilistic In-band Network Telemetry", SIGCOMM 2020, as the HPCC ns-3 code has it for HPCC.
//!
//! Each port of a switch keeps the load that a sender would compute from INT's records, and a packet carries the greatest of its path, as a
//! logarithm to the base b.
//!
//! ```text
//! switch, as a data packet begins to leave:  tau, byte = time, and bytes sent, since the data packet before began to
//!   U = (1 - tau/T) U + qLen tau / (B T^2) + byte / (B T)                                 tau > T: byte / tau and qLen / T, over a T
//!   x = max(1, ceil(M U)), M = 512;   p = log_b(x), rounded up or down by chance so that the mean of b^p is x
//!   packet: power = max(power, p)
//! acknowledgement: U = b^power / M
//! ```
//!
//! The HPCC ns-3 code (`Counts::Last`) takes tau and byte from the frame before, whatever it is: bytes that a port has sent before an
//! acknowledgement or another control packet are missing in U.

use backwater_derive::State;
use backwater_engine::Time;
use backwater_net::Bytes;
use rand::{Rng, RngExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// M: the least load above zero is 1/512.
const M: f64 = 512.0;

/// Octets of a power: loads are below M.
pub(super) fn octets(base: f64) -> Bytes {
    let most = (M * M).ln() / base.ln();
    Bytes((most.log2().ceil().max(1.0) / 8.0).ceil() as u64)
}

/// `U` as a power of the base.
pub(super) fn encode(u: f64, base: f64, random: &mut impl Rng) -> u64 {
    let x = (M * u).ceil().max(1.0);
    let p = (x.ln() / base.ln()).floor();
    let (lower, upper) = (base.powf(p), base.powf(p + 1.0));
    let up = random.random::<f64>() < (x - lower) / (upper - lower);
    p as u64 + u64::from(up)
}

/// The load of a power.
pub(super) fn decode(power: u64, base: f64) -> f64 {
    base.powf(power as f64) / M
}

/// Bytes from which a port computes its load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Counts {
    /// All bytes since the last data packet.
    All,
    /// The bytes of the last frame of any kind, as in the HPCC ns-3 code.
    Last,
}

/// The load of one port.
#[derive(State, Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Load {
    /// U
    pub(super) u: f64,
    /// when the last packet that counts began to leave, and txBytes then
    at: Time,
    tx_bytes: u64,
}

impl Load {
    /// A data packet begins to leave: `tx_bytes` before it, `queued` bytes behind it, at a port of `b` bits a picosecond.
    pub(super) fn update(&mut self, now: Time, tx_bytes: u64, queued: u64, b: f64, base_rtt: Time) -> f64 {
        let (t, since) = (base_rtt.0 as f64, (now.0 - self.at.0) as f64);
        if since > 0.0 {
            let tau = since.min(t);
            let sent = (tx_bytes - self.tx_bytes) as f64 * 8.0 * tau / since;
            self.u = (1.0 - tau / t) * self.u + queued as f64 * 8.0 * tau / (b * t * t) + sent / (b * t);
        }
        self.pass(now, tx_bytes);
        self.u
    }

    /// Time and bytes count from the begin of this frame.
    pub(super) fn pass(&mut self, now: Time, tx_bytes: u64) {
        (self.at, self.tx_bytes) = (now, tx_bytes);
    }
}
