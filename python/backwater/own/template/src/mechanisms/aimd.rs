//! AIMD — additive increase and multiplicative decrease by marks; Chiu and Jain, "Analysis of the Increase and Decrease Algorithms for
//! Congestion Avoidance in Computer Networks", Computer Networks and ISDN Systems 17 (1989).
//!
//! Each flow has a window. It grows by a constant in each round trip. When a packet is marked or lost, it shrinks to a share of itself, at
//! most once in a round trip.
//!
//! ```text
//! ACK, not marked   w += a payload acked / w
//! ACK, marked       if now - t_last >= rtt:  w = b w
//! loss              as a mark;   after a timeout: w = payload
//! always            payload <= w
//! ```
//!
//! # Not modelled
//! - slow start
//!
//! # Differences
//! - The source has rounds of equal length for all users. Here each flow has its own round trips.

use backwater_net::prelude::*;

/// Parameters of AIMD.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// Additive increase: packets per round trip.
    #[param(symbol = "a", default = 1.0, range = >0.0.., source = "choice: RFC 5681 section 3.1", why = "a window would never grow")]
    pub increase: f64,
    /// Multiplicative decrease: the share of the window that remains.
    #[param(symbol = "b", default = 0.5, range = >0.0..1.0, source = "choice: RFC 5681 section 3.1", why = "it must leave less, and something")]
    pub decrease: f64,
    /// Window of a new flow, in packets.
    #[param(symbol = "w at first", default = 10.0, range = 1.0.., source = "choice: RFC 6928")]
    pub initial: f64,
}

/// AIMD.
pub enum Aimd {}

#[backwater_derive::mechanism]
impl Mechanism for Aimd {
    const NAME: &'static str = "aimd";
    const DEFINED_BY: &'static str = "Chiu and Jain, 1989";
    const SUMMARY: &'static str = "widens each flow's window by a constant per round trip, and halves it at a mark";
    const INACTIVE: &'static str = "never narrowed a window";
    type Flow = Sender;

    fn profile(_: &Params) -> Profile {
        Profile {
            claims: Claims { flow_rate: true, ..Claims::NONE },
            needs: Needs { marks: true, acks: true, window: true, ..Needs::default() },
            ..Profile::default()
        }
    }

    fn flow(params: &Params, shape: &FlowShape, (): &()) -> Option<Sender> {
        let payload = shape.payload.0 as f64;
        Some(Sender {
            payload,
            window: params.initial * payload,
            acked: 0,
            rtt: None,
            last: None,
            cuts: 0,
            params: Box::new(params.clone()),
        })
    }
}

/// The sender of one flow.
#[derive(State)]
pub struct Sender {
    /// \[bytes\] of a full packet
    #[state(fixed)]
    payload: f64,
    /// \[bytes\] w
    window: f64,
    /// \[bytes\] acknowledged
    acked: u64,
    /// the last measured one, from the first acknowledgement on
    rtt: Option<Time>,
    /// t_last: when the window was narrowed
    last: Option<Time>,
    /// how often it was narrowed
    cuts: u64,
    #[state(fixed)]
    params: Box<Params>,
}

// The specification.
#[hooks]
impl FlowSide for Sender {
    #[inline(always)]
    fn window(&self) -> Option<Bytes> {
        Some(Bytes(self.window as u64))
    }

    fn on_ack(&mut self, cx: &mut FlowCx<'_>, ack: &Ack<'_>) {
        let acked = ack.received.saturating_sub(self.acked) as f64;
        self.acked = self.acked.max(ack.received);
        self.rtt = Some(ack.rtt);
        if ack.marked {
            self.narrow(cx.now());
        } else {
            self.window += self.params.increase * self.payload * acked / self.window;
        }
    }

    fn on_loss(&mut self, cx: &mut FlowCx<'_>, loss: Loss) {
        if matches!(loss, Loss::Timeout { .. }) {
            self.narrow_to(self.payload, cx.now());
        } else {
            self.narrow(cx.now());
        }
    }

    fn activity(&self) -> Activity {
        Activity { acts: self.cuts, margin: None }
    }
}

impl Sender {
    fn narrow(&mut self, now: Time) {
        let has_passed = |last| self.rtt.is_some_and(|rtt| now.since(last) >= rtt);
        if self.last.is_none_or(has_passed) {
            self.narrow_to((self.params.decrease * self.window).max(self.payload), now);
        }
    }

    fn narrow_to(&mut self, window: f64, now: Time) {
        self.window = window;
        self.last = Some(now);
        self.cuts += 1;
    }
}

/// Computed by hand: packets of 1000 bytes, and a window of ten of them.
#[cfg(test)]
mod tests {
    use super::*;
    use backwater_net::bench::FlowBench;

    fn flow() -> (FlowBench, Sender) {
        let bench = FlowBench::new(Rate::gbps(100));
        let sender = Aimd::flow(&Params::default(), bench.shape(), &()).expect("AIMD acts at flows");
        (bench, sender)
    }

    fn ack(bench: &mut FlowBench, sender: &mut Sender, marked: bool) {
        let received = sender.acked + 1000;
        sender.on_ack(&mut bench.cx(), &Ack { received, rtt: Time::us(10), marked, carried: None, counted: None });
    }

    /// The first adds 1000 x 1000 / 10,000. Each adds 2 x 10^6 and a little to the square of the window, which is 10^8 at first: after ten
    /// it is a little more than the root of 1.2 x 10^8.
    #[test]
    fn a_window_of_acknowledgements_adds_nearly_a_packet() {
        let (mut bench, mut sender) = flow();
        ack(&mut bench, &mut sender, false);
        assert_eq!(sender.window(), Some(Bytes(10_100)));
        (1..10).for_each(|_| ack(&mut bench, &mut sender, false));
        let Some(Bytes(window)) = sender.window() else { panic!("it has one") };
        assert!((10_955..10_965).contains(&window), "{window}");
    }

    /// It halves once in 10 us, down to a packet.
    #[test]
    fn a_mark_halves_the_window_once_in_a_round_trip() {
        let (mut bench, mut sender) = flow();
        for (now, window) in [(0, 5000), (9, 5000), (10, 2500), (20, 1250), (30, 1000)] {
            bench.now = Time::us(now);
            ack(&mut bench, &mut sender, true);
            assert_eq!(sender.window(), Some(Bytes(window)), "at {now} us");
        }
    }

    #[test]
    fn a_timeout_leaves_a_packet_and_counts() {
        let (mut bench, mut sender) = flow();
        sender.on_loss(&mut bench.cx(), Loss::Timeout { bytes: 1000 });
        assert_eq!(sender.window(), Some(Bytes(1000)));
        assert_eq!(sender.activity().acts, 1);
    }

    /// Before the first acknowledgement, the round trip is unknown, and all losses count as in one.
    #[test]
    fn gaps_before_the_first_acknowledgement_halve_the_window_once() {
        let (mut bench, mut sender) = flow();
        for now in [0, 100] {
            bench.now = Time::us(now);
            sender.on_loss(&mut bench.cx(), Loss::Gap);
            assert_eq!(sender.window(), Some(Bytes(5000)), "at {now} us");
        }
    }
}
