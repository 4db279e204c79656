//! The parameters of BBR.

use backwater_derive::parameters;
use backwater_engine::Time;

/// Parameters of BBR.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// Number of rounds for which a sample of the delivery rate is used.
    #[param(symbol = "BtlBwFilterLen", default = 10, range = 1.., source = "draft section 4.1.1.4: 10", why = "there would be no bandwidth")]
    pub bandwidth_rounds: u32,
    /// Time for which a measured least round-trip time is used. After that the sender empties the path to measure it again.
    #[param(symbol = "RTpropFilterLen", default = Time::ms(10_000), range = Time(1).., source = "draft section 4.1.2.4: 10 s", why = "every round trip would be the least")]
    pub rtprop_window: Time,
    /// Time for which the sender keeps the path empty.
    #[param(symbol = "ProbeRTTDuration", default = Time::ms(200), range = Time::ZERO.., source = "draft section 4.3.5: 200 ms")]
    pub probe_rtt_duration: Time,
    /// Narrowest window, in packets, which is also the window while the path is kept empty.
    #[param(symbol = "BBRMinPipeCwnd", default = 4, range = 1.., source = "draft section 4.2.3.2: 4", why = "a flow without a window never sends")]
    pub min_window: u32,
    /// Window of a new flow, in packets.
    #[param(symbol = "InitialCwnd", default = 10, range = 1.., source = "RFC 6928: 10", why = "a flow without a window never sends")]
    pub initial_window: u32,
    /// Round-trip time from which the pacing rate of a new flow is computed until a round trip is measured.
    #[param(default = Time::ms(1), range = Time(1).., source = "draft section 4.2.1: 1 ms", why = "no rate is infinite")]
    pub initial_rtt: Time,
    /// Window in steady state, as a multiple of bandwidth x round-trip time.
    #[param(symbol = "cwnd_gain", default = 2.0, range = 1.0.., source = "draft section 4.3.4: 2", why = "the path would never be full")]
    pub window_gain: f64,
}
