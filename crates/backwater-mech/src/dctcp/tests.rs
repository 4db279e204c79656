//! DCTCP on the bench: RFC 8257 section 3.3 step by step, and TCP's rules around it. Packets carry 1000 bytes.

use super::*;
use backwater_engine::Time;
use backwater_net::Rate;
use backwater_net::bench::{FlowBench, at_offset, data};
use backwater_net::packet::{Class, HostId};

struct Connection {
    bench: FlowBench,
    sender: Window,
    sent: u64,
    acked: u64,
}

impl Connection {
    fn new(params: &Params) -> Connection {
        let bench = FlowBench::new(Rate::gbps(10));
        let Some(Sender::Window(sender)) = Dctcp::flow(params, bench.shape(), &()) else {
            panic!("the RFC's has a window")
        };
        Connection { bench, sender, sent: 0, acked: 0 }
    }

    fn window(&self) -> u64 {
        self.sender.window().expect("a window").0 / 1000
    }

    /// Fills the window.
    fn fill(&mut self) {
        while self.sent < self.acked + self.window() {
            let mut pkt = at_offset(data(HostId(0), HostId(1), 0, Class(3), 1000), self.sent * 1000);
            self.sender.on_send(&mut self.bench.cx(), &mut pkt);
            self.sent += 1;
        }
    }

    /// Acknowledges the next packet, and fills the window again.
    fn ack(&mut self, marked: bool) {
        self.acked += 1;
        self.sender.on_ack(
            &mut self.bench.cx(),
            &Ack { received: self.acked * 1000, rtt: Time::us(10), marked, carried: None, counted: None },
        );
        self.fill();
    }

    /// Acknowledges all that has been sent so far.
    fn round(&mut self, marked: bool) {
        for _ in self.acked..self.sent {
            self.ack(marked);
        }
    }

    fn lose(&mut self, loss: Loss) {
        self.sender.on_loss(&mut self.bench.cx(), loss);
    }
}

fn started(params: &Params) -> Connection {
    let mut connection = Connection::new(params);
    connection.fill();
    connection
}

/// RFC 5681: the window doubles each round trip, until a mark ends slow start; then it grows by a packet each.
#[test]
fn slow_start_then_congestion_avoidance() {
    let mut c = started(&Params::default());
    assert_eq!(c.sent, 10);
    c.round(false);
    assert_eq!(c.window(), 20);
    c.round(false);
    assert_eq!(c.window(), 40);
    c.ack(true);
    // Windows of observation have ended at packets 1, 11 and 31; one of the 20 packets of the last one was marked.
    let alpha = f64::powi(15.0 / 16.0, 3) + 1.0 / 20.0 / 16.0;
    assert!((c.sender.alpha - alpha).abs() < 1e-12, "{}", c.sender.alpha);
    assert!((c.sender.cwnd - 40_000.0 * (1.0 - alpha / 2.0)).abs() < 1e-9);
    c.round(false);
    let before = c.sender.cwnd;
    c.round(false);
    let more = c.sender.cwnd - before;
    assert!((950.0..=1000.0).contains(&more), "{more}");
}

/// Section 3.3: Alpha = (1 - g) Alpha + g M, once per window, M the share of bytes that was marked.
#[test]
fn alpha_is_the_moving_average_of_the_share_of_marked_bytes() {
    let mut c = started(&Params { initial_window: 4, initial_alpha: 0.0, ..Params::default() });
    // The first acknowledgement ends the empty window before anything was sent.
    c.ack(false);
    let end = c.sender.window_end;
    assert_eq!(end, c.sent.min(4) * 1000);
    for marked in [true, false, false, true] {
        c.ack(marked);
    }
    // Two of the four observed packets were marked; they include those acknowledged beyond `end`.
    assert!((c.sender.alpha - 2.0 / 4.0 / 16.0).abs() < 1e-12, "{}", c.sender.alpha);
    assert_eq!((c.sender.bytes_acked, c.sender.bytes_marked), (0, 0));
}

/// Section 3.3, step 9: with Alpha = 1, as it is at first, a mark halves the window as RFC 3168 does; once per window.
#[test]
fn a_mark_takes_off_half_alpha_once_per_window() {
    for (alpha, left) in [(1.0, 20), (0.5, 30), (0.25, 35)] {
        let mut c = started(&Params { initial_window: 40, initial_alpha: alpha, g: 0.0, ..Params::default() });
        let sent = c.sent;
        c.ack(true);
        assert_eq!(c.window(), left);
        while c.acked + 1 < sent {
            c.ack(true);
            assert_eq!(c.window(), left, "one window, one cut");
        }
        // Everything sent before the cut is acknowledged: the next mark is of a packet sent after it.
        c.ack(false);
        c.ack(true);
        assert_eq!(c.window(), (left as f64 * (1.0 - alpha / 2.0)) as u64);
    }
}

/// RFC 7661: a flow that does not fill half of its window learns nothing from acknowledgements.
#[test]
fn no_growth_while_the_window_is_not_in_use() {
    let mut c = started(&Params { initial_window: 40, ..Params::default() });
    c.ack(true);
    c.round(false);
    let (sent, before) = (c.sent - c.acked, c.sender.cwnd);
    for _ in 0..sent {
        c.acked += 1;
        let ack = Ack { received: c.acked * 1000, rtt: Time::us(10), marked: false, carried: None, counted: None };
        c.sender.on_ack(&mut c.bench.cx(), &ack);
    }
    // The first 11 or so of these 20 acknowledgements find at least half of the window used.
    let most = (sent as f64 / 2.0 + 2.0) * 1000.0 * 1000.0 / before;
    assert!(c.sender.cwnd - before < most, "{} {before}", c.sender.cwnd);
}

/// Section 3.5 and RFC 5681: a gap halves the bytes in flight, once per window; a timeout leaves one packet.
#[test]
fn losses_are_answered_as_tcp_does() {
    let mut c = started(&Params { initial_window: 40, ..Params::default() });
    c.lose(Loss::Gap);
    assert_eq!(c.window(), 20);
    c.lose(Loss::Gap);
    assert_eq!(c.window(), 20, "the same window");
    c.lose(Loss::Timeout { bytes: 1000 });
    assert_eq!(c.window(), 1);
    assert_eq!(c.sender.ssthresh, 20_000.0);
    let mut small = started(&Params { initial_window: 3, ..Params::default() });
    small.lose(Loss::Gap);
    assert_eq!(small.window(), 2, "never below two");
}

#[test]
fn values_that_cannot_work_are_refused() {
    let cx = backwater_net::hooks::CheckCx::default();
    let keys = |params: Params| crate::stack::inspect::<Dctcp>(&params, &cx).iter().map(|f| f.key).collect::<Vec<_>>();
    assert!(keys(Params::default()).is_empty());
    assert_eq!(keys(Params { g: 0.0, ..Params::default() }), ["g"]);
    assert_eq!(keys(Params { initial_alpha: 1.5, ..Params::default() }), ["initial_alpha"]);
    assert_eq!(
        keys(Params { initial_window: 0, min_window: 0, ..Params::default() }),
        ["initial_window", "min_window"]
    );
}

/// Each law reports what it has not done: the RFC's has a window, that of the public ns-3 code a rate, which losses do not change.
#[test]
fn each_law_says_what_it_has_not_done() {
    let idle = |law| Dctcp::idle(&Params { law, ..Params::default() });
    assert_eq!(idle(Law::Rfc8257), "never narrowed a window, since no mark and no loss reached it");
    assert_eq!(idle(Law::Ns3), "never lowered a rate, since no mark reached it");
}
