//! BBR, version 1 — draft-cardwell-iccrg-bbr-congestion-control-00 (July 2017), with draft-cheng-iccrg-delivery-rate-estimation-00.
//!
//! The sender models the path by two numbers: the greatest delivery rate of the last rounds (BtlBw) and the least round
//! trip of the last seconds (RTprop). It paces at a gain times the rate, and keeps a gain times their product in
//! flight. From time to time it probes for more bandwidth, and empties the path to find a shorter round trip. It
//! ignores losses and marks as signals of congestion.
//!
//! ```text
//! ACK        BtlBw = max of rs.delivery_rate in BtlBwFilterLen rounds, unless rs.is_app_limited and less                        4.1.1
//!            RTprop = rtt, where rtt <= RTprop or none that low came for RTpropFilterLen                                          4.1.2
//! always     pacing_rate = pacing_gain BtlBw;  before filled_pipe it only grows                                                   4.2.1
//!            target_cwnd = cwnd_gain BtlBw RTprop + 3 send_quantum                                                                4.2.3
//!            filled_pipe: cwnd = min(cwnd + acked, target_cwnd);  else, below the target or InitialCwnd: cwnd += acked;  cwnd >= BBRMinPipeCwnd
//! Startup    both gains 2/ln 2;  three rounds in which BtlBw has not grown by 25 %: filled_pipe, Drain                            4.3.2
//! Drain      pacing_gain ln 2 / 2;  inflight <= BtlBw RTprop + 3 send_quantum: ProbeBW                                            4.3.3
//! ProbeBW    cwnd_gain 2;  pacing_gain in turn 5/4, 3/4, 1 six times, each for RTprop: 5/4 also until inflight is 5/4 BDP or a loss,
//!            3/4 only until inflight is a BDP;  begins anywhere but with 3/4                                                      4.3.4
//! ProbeRTT   RTprop expired: cwnd = BBRMinPipeCwnd for ProbeRTTDuration and a round, then as before                               4.3.5
//! gap        a round of packet conservation, then the old cwnd                                                                    4.2.3.4
//! timeout    cwnd = one packet;  the old cwnd with the next acknowledgement
//! idle       restarts in ProbeBW at BtlBw                                                                                         4.3.4.4
//! ```
//!
//! # Not modelled
//! - policers
//! - bursts of a send quantum: an interface paces each packet
//!
//! # Differences
//! - The send quantum is one packet. The draft sends up to 64 KB at a time above 24 Mb/s, and has three of these quanta
//!   in flight besides the product: more than most paths in a data centre hold.
//! - Losses are those of the [transport](docs/modelling/connections.md).
//! - Bytes in flight are the payload sent beyond the first byte that is not acknowledged. Under selective repeat they
//!   include bytes that have arrived beyond a gap, until the gap is closed. Delivered bytes are those acknowledged
//!   without a gap.
//! - Rates count payload. A flow is paced at the same rate plus headers, no faster than its link.
//! - The acknowledgement of a flow's last byte ends its rounds.

mod config;
mod filter;
mod sample;

use self::filter::MaxFilter;
use self::sample::{Connection, Sample};
use backwater_engine::Time;
use backwater_net::hooks::{Ack, Activity, Claims, FlowCx, FlowShape, FlowSide, Loss, Mechanism, Needs, Profile};
use backwater_net::packet::Packet;
use backwater_net::{Bytes, Rate};
pub use config::Params;
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// BBRHighGain: 2/ln 2.
const HIGH_GAIN: f64 = 2.0 / std::f64::consts::LN_2;

/// pacing_gain of the phases of ProbeBW.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

/// BBR.state
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum State {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// The effect of a loss on the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Recovery {
    None,
    /// packet_conservation until so many rounds have begun.
    Conserves(u64),
    /// Until something is acknowledged.
    Timeout,
}

/// The sender of one flow. Sizes are in bytes of payload, rates in such bytes a second.
#[derive(backwater_derive::State)]
pub struct Sender {
    #[state(fixed)]
    packet: f64,
    /// a full packet's frame by its payload
    #[state(fixed)]
    on_wire: f64,
    #[state(fixed)]
    line: Rate,
    connection: Connection,
    state: State,
    pacing_gain: f64,
    cwnd_gain: f64,
    pacing_rate: f64,
    cwnd: f64,
    prior_cwnd: f64,
    btl_bw: MaxFilter,
    rtprop: Time,
    rtprop_stamp: Time,
    rtprop_expired: bool,
    next_round_delivered: u64,
    round_count: u64,
    round_start: bool,
    filled_pipe: bool,
    full_bw: f64,
    full_bw_count: u32,
    cycle_index: usize,
    cycle_stamp: Time,
    /// number of times that ProbeBW has begun
    cycles: u32,
    probe_rtt_done_stamp: Option<Time>,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    /// a loss has been reported since the last acknowledgement
    lost: bool,
    recovery: Recovery,
    /// number of changes of the state
    states: u64,
    #[state(fixed)]
    params: Box<Params>,
}

// The specification.
#[backwater_derive::hooks]
impl FlowSide for Sender {
    #[inline(always)]
    fn rate(&self) -> Option<Rate> {
        let bits = 8.0 * self.pacing_rate * self.on_wire;
        Some(Rate((bits as u64).clamp(1, self.line.0.max(1))))
    }

    #[inline(always)]
    fn window(&self) -> Option<Bytes> {
        Some(Bytes((self.cwnd / self.packet).max(1.0) as u64 * self.packet as u64))
    }

    fn on_send(&mut self, cx: &mut FlowCx<'_>, pkt: &mut Packet) {
        let Some(data) = pkt.data() else { return };
        // HandleRestartFromIdle (4.3.4.4)
        if self.connection.inflight() == 0 && self.connection.is_app_limited() {
            self.idle_restart = true;
            if self.state == State::ProbeBw {
                self.set_pacing_rate(1.0);
            }
        }
        let last = cx.backlog() == Bytes::ZERO;
        self.connection.sends(data.offset, data.end(), last, cx.now());
    }

    fn on_ack(&mut self, cx: &mut FlowCx<'_>, ack: &Ack<'_>) {
        let prior_inflight = self.connection.inflight() as f64;
        let Some(rs) = self.connection.acknowledges(ack.received, self.rtprop, cx.now()) else { return };
        self.update_btl_bw(&rs);
        self.check_cycle_phase(cx.now(), prior_inflight);
        self.check_full_pipe(&rs);
        self.check_drain(cx);
        self.update_rtprop(ack.rtt, cx.now());
        self.check_probe_rtt(cx);
        self.set_pacing_rate(self.pacing_gain);
        self.set_cwnd(rs.acked as f64);
        self.lost = false;
    }

    #[cold]
    fn on_loss(&mut self, _: &mut FlowCx<'_>, loss: Loss) {
        self.lost = true;
        if matches!(loss, Loss::Timeout { .. }) {
            self.save_cwnd();
            self.cwnd = self.packet;
            self.recovery = Recovery::Timeout;
        } else if self.recovery == Recovery::None {
            // Packet conservation (4.2.3.4).
            self.save_cwnd();
            self.cwnd = (self.connection.inflight() as f64).max(self.packet);
            self.recovery = Recovery::Conserves(self.round_count + 1);
            // The round of conservation begins now.
            self.next_round_delivered = self.connection.delivered;
        }
    }

    fn activity(&self) -> Activity {
        Activity { acts: self.states, margin: None }
    }
}

impl Sender {
    /// UpdateRound, UpdateBtlBw (4.1.1)
    fn update_btl_bw(&mut self, rs: &Sample) {
        self.round_start = rs.prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.next_round_delivered = self.connection.delivered;
            self.round_count += 1;
        }
        if let Some(rate) = rs.delivery_rate
            && (rate >= self.btl_bw.greatest() || !rs.is_app_limited)
        {
            self.btl_bw.update(rate, self.round_count, self.params.bandwidth_rounds.into());
        }
    }

    /// UpdateRTprop (4.1.2)
    fn update_rtprop(&mut self, rtt: Time, now: Time) {
        self.rtprop_expired = now > self.rtprop_stamp.after(self.params.rtprop_window);
        if rtt <= self.rtprop || self.rtprop_expired {
            (self.rtprop, self.rtprop_stamp) = (rtt, now);
        }
    }

    /// BBRInflight(gain) (4.2.3)
    fn inflight(&self, gain: f64) -> f64 {
        if self.rtprop == Time::NEVER {
            return f64::from(self.params.initial_window) * self.packet;
        }
        gain * self.btl_bw.greatest() * self.rtprop.0 as f64 * 1e-12 + 3.0 * self.packet
    }

    fn enter(&mut self, state: State, pacing_gain: f64, cwnd_gain: f64) {
        self.states += 1;
        (self.state, self.pacing_gain, self.cwnd_gain) = (state, pacing_gain, cwnd_gain);
    }

    /// CheckFullPipe (4.3.2)
    fn check_full_pipe(&mut self, rs: &Sample) {
        if self.filled_pipe || !self.round_start || rs.is_app_limited {
            return;
        }
        let btl_bw = self.btl_bw.greatest();
        if btl_bw >= self.full_bw * 1.25 {
            (self.full_bw, self.full_bw_count) = (btl_bw, 0);
            return;
        }
        self.full_bw_count += 1;
        self.filled_pipe = self.full_bw_count >= 3;
    }

    /// CheckDrain (4.3.3)
    fn check_drain(&mut self, cx: &FlowCx<'_>) {
        if self.state == State::Startup && self.filled_pipe {
            self.enter(State::Drain, HIGH_GAIN.recip(), HIGH_GAIN);
        }
        if self.state == State::Drain && self.connection.inflight() as f64 <= self.inflight(1.0) {
            self.enter_probe_bw(cx);
        }
    }

    fn enter_probe_bw(&mut self, cx: &FlowCx<'_>) {
        self.enter(State::ProbeBw, 1.0, self.params.window_gain);
        self.cycles += 1;
        let random: usize = cx.stream(&format!("gain cycle {}", self.cycles)).random_range(0..CYCLE.len() - 1);
        self.cycle_index = CYCLE.len() - 1 - random;
        self.advance_cycle_phase(cx.now());
    }

    fn advance_cycle_phase(&mut self, now: Time) {
        self.cycle_stamp = now;
        self.cycle_index = (self.cycle_index + 1) % CYCLE.len();
        self.pacing_gain = CYCLE[self.cycle_index];
    }

    /// CheckCyclePhase, IsNextCyclePhase (4.3.4)
    fn check_cycle_phase(&mut self, now: Time, prior_inflight: f64) {
        if self.state != State::ProbeBw {
            return;
        }
        let is_full_length = now.since(self.cycle_stamp) > self.rtprop;
        let is_next = if self.pacing_gain > 1.0 {
            is_full_length && (self.lost || prior_inflight >= self.inflight(self.pacing_gain))
        } else if self.pacing_gain < 1.0 {
            is_full_length || prior_inflight <= self.inflight(1.0)
        } else {
            is_full_length
        };
        if is_next {
            self.advance_cycle_phase(now);
        }
    }

    /// CheckProbeRTT, HandleProbeRTT (4.3.5)
    fn check_probe_rtt(&mut self, cx: &FlowCx<'_>) {
        if self.state != State::ProbeRtt && self.rtprop_expired && !self.idle_restart {
            self.enter(State::ProbeRtt, 1.0, 1.0);
            self.save_cwnd();
            self.probe_rtt_done_stamp = None;
        }
        self.idle_restart = false;
        if self.state != State::ProbeRtt {
            return;
        }
        self.connection.limit();
        let now = cx.now();
        let Some(done) = self.probe_rtt_done_stamp else {
            if self.connection.inflight() as f64 <= self.min_pipe_cwnd() {
                self.probe_rtt_done_stamp = Some(now.after(self.params.probe_rtt_duration));
                self.probe_rtt_round_done = false;
                self.next_round_delivered = self.connection.delivered;
            }
            return;
        };
        self.probe_rtt_round_done |= self.round_start;
        if self.probe_rtt_round_done && now > done {
            self.rtprop_stamp = now;
            self.restore_cwnd();
            if self.filled_pipe {
                self.enter_probe_bw(cx);
            } else {
                self.enter(State::Startup, HIGH_GAIN, HIGH_GAIN);
            }
        }
    }

    /// SetPacingRateWithGain
    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.btl_bw.greatest();
        if self.filled_pipe || rate > self.pacing_rate {
            self.pacing_rate = rate.max(1.0);
        }
    }

    fn min_pipe_cwnd(&self) -> f64 {
        f64::from(self.params.min_window) * self.packet
    }

    /// SetCwnd
    fn set_cwnd(&mut self, acked: f64) {
        match self.recovery {
            Recovery::Timeout => {
                self.recovery = Recovery::None;
                self.restore_cwnd();
            }
            Recovery::Conserves(until) if self.round_count >= until => {
                self.recovery = Recovery::None;
                self.restore_cwnd();
            }
            Recovery::Conserves(_) => self.cwnd = self.cwnd.max(self.connection.inflight() as f64 + acked),
            Recovery::None => {}
        }
        if self.recovery == Recovery::None {
            let target_cwnd = self.inflight(self.cwnd_gain);
            if self.filled_pipe {
                self.cwnd = (self.cwnd + acked).min(target_cwnd);
            } else if self.cwnd < target_cwnd
                || (self.connection.delivered as f64) < f64::from(self.params.initial_window) * self.packet
            {
                self.cwnd += acked;
            }
            self.cwnd = self.cwnd.max(self.min_pipe_cwnd());
        }
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.min_pipe_cwnd());
        }
    }

    /// SaveCwnd
    fn save_cwnd(&mut self) {
        let keeps = self.recovery == Recovery::None && self.state != State::ProbeRtt;
        self.prior_cwnd = if keeps { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    /// RestoreCwnd
    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
}

/// BBR.
pub enum Bbr {}

#[backwater_derive::mechanism]
impl Mechanism for Bbr {
    const NAME: &'static str = "bbr";
    const DEFINED_BY: &'static str = "draft-cardwell-iccrg-bbr-congestion-control-00 (BBR version 1)";
    const SUMMARY: &'static str =
        "paces each flow at the greatest rate at which its path has delivered, and bounds what is in flight";
    const INACTIVE: &'static str = "never left its first state";
    type Flow = Sender;

    fn profile(_: &Params) -> Profile {
        Profile {
            claims: Claims { flow_rate: true, ..Claims::NONE },
            needs: Needs { acks: true, window: true, ..Needs::default() },
            ..Profile::default()
        }
    }

    fn flow(params: &Params, shape: &FlowShape, (): &()) -> Option<Sender> {
        let packet = shape.payload.0 as f64;
        let cwnd = f64::from(params.initial_window) * packet;
        Some(Sender {
            packet,
            on_wire: shape.frame.0 as f64 / packet.max(1.0),
            line: shape.line,
            connection: Connection::default(),
            state: State::Startup,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            pacing_rate: HIGH_GAIN * cwnd / params.initial_rtt.0 as f64 * 1e12,
            cwnd,
            prior_cwnd: 0.0,
            btl_bw: MaxFilter::default(),
            rtprop: Time::NEVER,
            rtprop_stamp: Time::ZERO,
            rtprop_expired: false,
            next_round_delivered: 0,
            round_count: 0,
            round_start: false,
            filled_pipe: false,
            full_bw: 0.0,
            full_bw_count: 0,
            cycle_index: 0,
            cycle_stamp: Time::ZERO,
            cycles: 0,
            probe_rtt_done_stamp: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            lost: false,
            recovery: Recovery::None,
            states: 0,
            params: Box::new(params.clone()),
        })
    }
}

#[cfg(test)]
mod tests;
