//! The parameters of Swift.

use backwater_derive::parameters;
use backwater_engine::Time;

/// Parameters of Swift.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// Target delay of a path without switches, for a wide window.
    #[param(
        symbol = "base_target", default = Time::us(20), range = Time(1)..,
        source = "public htsim: 20 us; SIGCOMM 2020 section 3.1: above the idle network's", why = "no packet takes no time"
    )]
    pub base_target: Time,
    /// Increase of the target delay for each switch of the path.
    #[param(
        symbol = "h", default = Time::us(3), range = Time::ZERO..,
        source = "SIGCOMM 2020 section 3.5; value: public htsim, base_target / 6.55"
    )]
    pub hop: Time,
    /// Additive increase: packets per round trip.
    #[param(symbol = "ai", default = 1.0, range = >0.0.., source = "public htsim", why = "a window would never grow")]
    pub ai: f64,
    /// Multiplicative decrease: a delay above the target reduces the window by the share beta x (delay - target) / delay.
    #[param(
        symbol = "beta", default = 0.8, range = >0.0..1.0, source = "public htsim",
        why = "that leaves the window as it is, or nothing of it"
    )]
    pub beta: f64,
    /// Largest reduction of the window at a time, as a share of the window.
    #[param(
        symbol = "max_mdf", default = 0.5, range = >0.0..1.0, source = "public htsim",
        why = "that leaves the window as it is, or nothing of it"
    )]
    pub max_mdf: f64,
    /// Largest increase of the target for a narrow window; 0: the target does not depend on the window.
    #[param(
        symbol = "fs_range", default = Time::us(100), range = Time::ZERO..,
        source = "SIGCOMM 2020 section 3.5; value: public htsim, 5 base_target"
    )]
    pub fs_range: Time,
    /// Window, in packets, up to which the target grows by the whole of `fs_range`.
    #[param(symbol = "fs_min_cwnd", default = 0.1, range = >0.0..fs_max_cwnd, source = "public htsim")]
    pub fs_min_cwnd: f64,
    /// Window, in packets, from which `fs_range` does not raise the target.
    #[param(symbol = "fs_max_cwnd", default = 100.0, range = >fs_min_cwnd.., source = "public htsim")]
    pub fs_max_cwnd: f64,
    /// Narrowest window, in packets.
    #[param(symbol = "min_cwnd", default = 0.001, range = 1e-6..=max_cwnd, source = "choice: a packet each 1000 round trips")]
    pub min_cwnd: f64,
    /// Widest window, in packets.
    #[param(symbol = "max_cwnd", default = 1000.0, range = min_cwnd.., source = "public htsim")]
    pub max_cwnd: f64,
    /// Window of a new flow, in packets.
    #[param(symbol = "cwnd at first", default = 10.0, range = min_cwnd..=max_cwnd, source = "choice: RFC 6928; the paper gives none")]
    pub initial_cwnd: f64,
    /// Number of timeouts in a row from which the window is `min_cwnd`.
    #[param(
        symbol = "RETX_RESET_THRESHOLD", default = 5, range = 1.., source = "SIGCOMM 2020 algorithm 1; value: public htsim",
        why = "every timeout would be one too many"
    )]
    pub retx_reset_threshold: u32,
}
