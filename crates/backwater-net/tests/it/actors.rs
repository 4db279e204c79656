//! The hook interface with the tests' own mechanisms: functions that the registry's mechanisms do not use yet must work for the next one.

use crate::own::{Bench, Makes, OWNERS, own};
use backwater_engine::Time;
use backwater_net::bench::network::Outcome;
use backwater_net::config::{Architecture, BufferPer, Recovery, ReleaseAt, TransportParams, Window};
use backwater_net::hooks::{
    FlowCx, FlowShape, FlowSide, Full, Gate, MechanismId, Place, RateKey, SwitchCx, SwitchSide, Token,
};
use backwater_net::packet::Packet;
use backwater_net::record::State;
use backwater_net::spec::{FaultKind, FrameKind};
use backwater_net::{Bytes, Rate};

/// The behaviour of a test's mechanism.
#[derive(Clone, Copy, Default)]
struct Tests {
    trims: bool,
    /// \[bytes\] by which each packet grows when it joins a queue
    grows: u32,
    /// the first queue that a packet joins is shut
    shuts: bool,
    /// a queue is emptied when it holds so many bytes
    flushes: Option<Bytes>,
    flow: Option<Limited>,
    shared: bool,
}

impl Makes for Tests {
    fn switch(&self) -> Box<dyn SwitchSide> {
        Box::new(*self)
    }
    fn flow(&self) -> Option<Box<dyn FlowSide>> {
        self.flow.map(|flow| Box::new(flow) as _)
    }
    fn rate_key(&self, flow: &FlowShape) -> RateKey {
        if self.shared { RateKey::Dest(flow.dst) } else { RateKey::Flow }
    }
}

#[backwater_derive::hooks]
impl SwitchSide for Tests {
    fn on_full(&mut self, _: &mut SwitchCx<'_>, _: &mut Place, _: &mut Packet) -> Full {
        if self.trims { Full::Trim(0) } else { Full::Drop }
    }
    fn on_enqueue(&mut self, cx: &mut SwitchCx<'_>, at: &Place, pkt: &mut Packet) {
        pkt.size += self.grows;
        if std::mem::take(&mut self.shuts) {
            cx.shut(Gate::Egress(at.egress, at.queue));
        }
        if self.flushes.is_some_and(|most| cx.seen().egress(at.egress, at.queue) > most) {
            cx.flush(at.egress, at.queue);
        }
    }
}

/// A flow with a rate and a window, either of which changes at a time.
#[derive(Clone, Copy, Default)]
struct Limited {
    rate: Option<Rate>,
    window: Option<Bytes>,
    then: Option<(Time, Option<Rate>, Option<Bytes>)>,
    armed: bool,
}

#[backwater_derive::hooks]
impl FlowSide for Limited {
    fn rate(&self) -> Option<Rate> {
        self.rate
    }
    fn window(&self) -> Option<Bytes> {
        self.window
    }
    fn on_send(&mut self, cx: &mut FlowCx<'_>, _: &mut Packet) {
        if let (false, Some((at, ..))) = (self.armed, self.then) {
            self.armed = true;
            cx.arm(at, 0);
        }
    }
    fn on_timer(&mut self, _: &mut FlowCx<'_>, _: u16) {
        if let Some((_, rate, window)) = self.then {
            (self.rate, self.window) = (rate, window);
        }
    }
}

const ALL: [Architecture; 4] =
    [Architecture::OutputQueued, Architecture::SharedMemory, Architecture::InputQueued, Architecture::Voq];

/// A trimmed packet passes as a header, and its payload is missing at the receiver only.
#[test]
fn trimming_saves_the_header() {
    let mut bench = Bench::star(3, Rate::gbps(100));
    (bench.switch.buffer, bench.switch.buffer_per) = (Bytes(20_000), BufferPer::Egress);
    bench.flow(0, 2, 400_000);
    bench.flow(1, 2, 400_000);
    let out = bench.run_with(own(Tests { trims: true, ..Tests::default() }));
    assert_eq!(out.unrest, Vec::<String>::new());
    let received: u64 = out.rows.flows.iter().map(|f| f.received).sum();
    let (s0, h2) = (bench.node("s0"), bench.node("h2"));
    let arrived = out.port(s0, h2).stats;
    // 200 packets of 4064 B arrive at twice the rate at which they leave; each arrives whole, or as 64 B, or is dropped.
    let (whole, cut) = (arrived.tx_data_frames, arrived.tx_cut_frames);
    assert_eq!(whole + cut + out.progress.drops, 200);
    assert_eq!(whole, received / 4000, "headers alone are no data");
    assert!(cut > 50, "{cut}");
    assert_eq!(arrived.tx_bytes, received + 64 * (whole + cut));
    assert_eq!(out.progress.data_hops, 200 + whole);
}

/// A receiver that gets a header reports the missing packet, and nothing waits for a timeout.
#[test]
fn what_is_trimmed_is_sent_again_without_a_timeout() {
    for recovery in [Recovery::GoBackN, Recovery::SelectiveRepeat] {
        let mut bench = Bench::star(3, Rate::gbps(100));
        bench.transport = TransportParams { recovery, ..TransportParams::default() };
        (bench.switch.buffer, bench.switch.buffer_per) = (Bytes(20_000), BufferPer::Egress);
        bench.transport.window = Some(Window::Bytes(Bytes(20_000)));
        bench.flow(0, 2, 400_000);
        bench.flow(1, 2, 400_000);
        let out = bench.run_with(own(Tests { trims: true, ..Tests::default() }));
        assert_eq!(out.unrest, Vec::<String>::new());
        assert_eq!(out.progress.drops, 0);
        for flow in &out.rows.flows {
            assert_eq!((&flow.state, flow.received, flow.timeouts), (&State::Complete, 400_000, 0), "{recovery:?}");
            assert!(flow.retransmitted > 0);
            if recovery == Recovery::SelectiveRepeat {
                assert_eq!(flow.packets, 100 + flow.retransmitted, "what has arrived is not retransmitted");
            }
        }
    }
}

/// A flow whose own rate delays a retransmission counts one timeout, not one for every timeout until its turn comes.
#[test]
fn a_slow_flow_does_not_fail_for_its_own_rate() {
    for recovery in [Recovery::GoBackN, Recovery::SelectiveRepeat] {
        let mut bench = Bench::star(2, Rate::gbps(100));
        let timeout = Time::us(100);
        bench.transport = TransportParams { recovery, timeout, retries: Some(2), ..TransportParams::default() };
        bench.flow(0, 1, 20_000);
        let (from, to) = (bench.node("h0"), bench.node("s0"));
        bench.fault(Time::ZERO, FaultKind::DropNth { from, to, what: FrameKind::Data, nth: 2 });
        // A packet every 3.25 ms.
        let flow = Some(Limited { rate: Some(Rate(10_000_000)), ..Limited::default() });
        let out = bench.run_with(own(Tests { flow, ..Tests::default() }));
        let flow = out.flow(0);
        assert_eq!((&flow.state, flow.timeouts, flow.retransmitted), (&State::Complete, 1, 1), "{recovery:?}");
    }
}

/// Accounts release what they charged, even if a hook has made the packet longer in the meantime.
#[test]
fn packet_that_grows_in_a_switch() {
    for architecture in ALL {
        for release_at in [ReleaseAt::Start, ReleaseAt::End] {
            let mut bench = Bench::star(3, Rate::gbps(100));
            (bench.switch.architecture, bench.switch.release_at) = (architecture, release_at);
            bench.flow(0, 2, 100_000);
            bench.flow(1, 2, 100_000);
            let out = bench.run_with(own(Tests { grows: 12, ..Tests::default() }));
            assert_eq!(out.at_rest().port(bench.node("s0"), bench.node("h2")).stats.tx_bytes, 50 * 4076);
        }
    }
}

/// The next packet of a paced flow goes one packet time at its rate after the last; frames and gap count.
#[test]
fn pacing_spaces_packets_by_the_rate() {
    for tx_queue in [1, 4] {
        let mut bench = Bench::star(2, Rate::gbps(100));
        bench.nic.tx_queue = tx_queue;
        bench.flow(0, 1, 100 * 4000);
        let paced = Limited { rate: Some(Rate::gbps(10)), ..Limited::default() };
        let out = bench.run_with(own(Tests { flow: Some(paced), ..Tests::default() }));
        // 99 spaces of 3251.2 ns, then the last packet and its acknowledgement at 100 Gb/s.
        let way = 2 * (325_120 + 150_000) + 300_000 + 2 * (5_120 + 150_000) + 300_000;
        assert_eq!(out.at_rest().flow(0).fct_last_ack, Some(Time(99 * 3_251_200 + way)), "tx_queue {tx_queue}");
    }
}

/// A rate that changes while a flow waits counts from the last packet on.
#[test]
fn rate_changes_while_a_flow_waits() {
    for (then, at_ns, last_gap) in [(Rate::gbps(100), 1_000, 1_000_000), (Rate::gbps(1), 1_000, 32_512_000)] {
        let mut bench = Bench::star(2, Rate::gbps(100));
        bench.flow(0, 1, 2 * 4000);
        let first = Limited {
            rate: Some(Rate::gbps(10)),
            then: Some((Time::ns(at_ns), Some(then), None)),
            ..Limited::default()
        };
        let out = bench.run_with(own(Tests { flow: Some(first), ..Tests::default() }));
        let way = 2 * (325_120 + 150_000) + 300_000;
        assert_eq!(out.at_rest().flow(0).fct_last_byte, Some(Time(last_gap + way)), "to {then}");
    }
}

fn waits_for(out: &Outcome) -> &str {
    let State::Unfinished(why) = &out.flow(0).state else { panic!("{:?}", out.flow(0)) };
    why
}

#[test]
fn a_rate_of_zero_ends_the_run_and_says_so() {
    let mut bench = Bench::star(2, Rate::gbps(100));
    bench.flow(0, 1, 40_000);
    for (then, rate) in [(None, Some(Rate(0))), (Some((Time::us(1), Some(Rate(0)), None)), None)] {
        let flow = Some(Limited { rate, then, ..Limited::default() });
        let out = bench.run_with(own(Tests { flow, ..Tests::default() }));
        assert_eq!((out.broken.as_ref(), out.progress.flows_active), (None, 1));
        assert_eq!(waits_for(&out), "its rate limiter, whose rate is 0");
        assert!(out.progress.time < Time::us(20), "{:?}", out.progress.time);
    }
    // A new rate sets the flow going again.
    let then = Some((Time::us(50), Some(Rate::gbps(10)), None));
    let flow = Some(Limited { rate: Some(Rate(0)), then, ..Limited::default() });
    bench.run_with(own(Tests { flow, ..Tests::default() })).at_rest();
}

#[test]
fn a_gate_that_stays_shut_is_named() {
    for architecture in ALL {
        let mut bench = Bench::star(2, Rate::gbps(100));
        bench.switch.architecture = architecture;
        bench.flow(0, 1, 40_000);
        let out = bench.run_with(own(Tests { shuts: true, ..Tests::default() }));
        let frames = "10 frames wait at s0 port 1 (to h1) class 3, whose gate is shut";
        assert_eq!(waits_for(&out), format!("acknowledgements of what it has sent; {frames}"), "{architecture:?}");
        // A sender that retransmits finds no end by itself.
        bench.transport = TransportParams { recovery: Recovery::GoBackN, retries: None, ..TransportParams::default() };
        let broken =
            bench.run_with(own(Tests { shuts: true, ..Tests::default() })).broken.expect("no flow gets further");
        assert!(broken.reason.starts_with("no flow has got further for 100 ms: flow 0 of all from h0 to h1 waits"));
        assert!(broken.reason.contains("whose gate is shut"), "{}", broken.reason);
    }
}

/// A mechanism that empties queues: every account falls, whatever the architecture, and dropped packets are retransmitted.
#[test]
fn flushed_queues_leave_no_trace_in_the_accounts() {
    for architecture in ALL {
        for (staging, release_at) in [(1, ReleaseAt::Start), (16_000, ReleaseAt::End), (1, ReleaseAt::End)] {
            let mut bench = Bench::star(4, Rate::gbps(100));
            (bench.switch.architecture, bench.switch.release_at) = (architecture, release_at);
            bench.switch.staging = Bytes(staging);
            bench.ack.class = Some(6);
            bench.transport.recovery = Recovery::SelectiveRepeat;
            for (src, dst) in [(0, 3), (1, 3), (2, 3), (3, 0), (1, 0)] {
                bench.flow(src, dst, 400_000);
            }
            let out = bench.run_with(own(Tests { flushes: Some(Bytes(50_000)), ..Tests::default() }));
            out.at_rest();
            assert_eq!(out.progress.flows_done, 5);
            assert!(out.progress.flushed > 20, "{architecture:?}: {}", out.progress.flushed);
            let sent: u64 = out.rows.flows.iter().map(|flow| flow.packets).sum();
            assert_eq!(sent, 500 + out.progress.flushed + repeats(&out), "{architecture:?}");
        }
    }
}

/// Packets that arrived a second time.
fn repeats(out: &Outcome) -> u64 {
    let arrived: u64 = out.rows.ports.iter().filter(|p| p.peer.0 < 4).map(|p| p.stats.tx_data_frames).sum();
    arrived - 500
}

/// Flows that share a controller share its rate.
#[test]
fn shared_controller_shares_its_rate() {
    let mut bench = Bench::star(3, Rate::gbps(100));
    for dst in [1, 1, 2] {
        bench.flow(0, dst, 50 * 4000);
    }
    let paced = Limited { rate: Some(Rate::gbps(10)), ..Limited::default() };
    let out = bench.run_with(own(Tests { flow: Some(paced), shared: true, ..Tests::default() }));
    let us = |id| out.at_rest().fct_us(id);
    // Two flows to host 1 need 100 spaces of 3.25 us, the one to host 2 only its own 50.
    assert!((us(1).max(us(0)) - 99.0 * 3.2512 - 2.0).abs() < 1.0, "{} {}", us(0), us(1));
    assert!((us(2) - 49.0 * 3.2512 - 2.0).abs() < 1.0, "{}", us(2));
}

/// A window of w keeps ceil(w / payload) packets in flight: one round trip each.
#[test]
fn window_bounds_what_is_under_way() {
    let mut bench = Bench::star(2, Rate::gbps(100));
    bench.flow(0, 1, 10 * 4000);
    let windowed = Limited { window: Some(Bytes(1)), ..Limited::default() };
    let out = bench.run_with(own(Tests { flow: Some(windowed), ..Tests::default() }));
    let round_trip = 2 * (325_120 + 150_000) + 300_000 + 2 * (5_120 + 150_000) + 300_000;
    assert_eq!(out.at_rest().flow(0).fct_last_ack, Some(Time(10 * round_trip)));
}

/// A window that opens by a timer is noticed, though no acknowledgement comes.
#[test]
fn window_that_opens_by_itself() {
    let mut bench = Bench::star(2, Rate::gbps(100));
    bench.flow(0, 1, 10 * 4000);
    let then = Some((Time::us(50), None, Some(Bytes(8_000))));
    // The first packet arms the timer; then nothing is allowed until 50 us.
    let first = Limited { window: Some(Bytes(4_000)), then, ..Limited::default() };
    let shut = Closing { inner: first };
    let out = bench.run_with(own(shut));
    assert!(out.at_rest().fct_us(0) > 50.0);
}

/// As [`Tests`], but with a flow whose window closes with its first packet.
#[derive(Clone, Copy)]
struct Closing {
    inner: Limited,
}

#[derive(Clone, Copy)]
struct ClosingFlow(Limited);

#[backwater_derive::hooks]
impl FlowSide for ClosingFlow {
    fn window(&self) -> Option<Bytes> {
        self.0.window
    }
    fn on_send(&mut self, cx: &mut FlowCx<'_>, pkt: &mut Packet) {
        if !self.0.armed {
            self.0.window = Some(Bytes::ZERO);
        }
        self.0.on_send(cx, pkt);
    }
    fn on_timer(&mut self, cx: &mut FlowCx<'_>, token: u16) {
        self.0.on_timer(cx, token);
    }
}

impl Makes for Closing {
    fn flow(&self) -> Option<Box<dyn FlowSide>> {
        Some(Box::new(ClosingFlow(self.inner)))
    }
}

/// Forty mechanisms, each of which shuts the first queue that a packet joins, the n-th for n us.
#[derive(Clone, Copy)]
struct Forty;

#[derive(Default)]
struct FortySides {
    begun: bool,
    shut: Option<Gate>,
}

#[backwater_derive::hooks]
impl SwitchSide for FortySides {
    fn on_enqueue(&mut self, cx: &mut SwitchCx<'_>, at: &Place, _: &mut Packet) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        let gate = Gate::Egress(at.egress, at.queue);
        self.shut = Some(gate);
        for owner in 0..OWNERS {
            let until = cx.now().after(Time::us(u64::from(owner) + 1));
            let mut own = cx.owned_by(MechanismId(owner));
            own.shut(gate);
            own.arm(until, owner.into());
        }
    }
    fn on_timer(&mut self, cx: &mut SwitchCx<'_>, token: Token) {
        assert_eq!(cx.owner(), MechanismId(token as u8), "a timer comes back to the mechanism that armed it");
        cx.open(self.shut.expect("timers follow the gate"));
    }
}

impl Makes for Forty {
    fn switch(&self) -> Box<dyn SwitchSide> {
        Box::new(FortySides::default())
    }
}

/// A gate stays shut until the last of forty mechanisms has opened it, and none is confused with another.
#[test]
fn forty_mechanisms_are_kept_apart() {
    let mut bench = Bench::star(2, Rate::gbps(100));
    bench.flow(0, 1, 4000);
    let free = bench.run_with(own(Tests::default())).at_rest().flow(0).fct_last_byte.expect("complete");
    let out = bench.run_with(own(Forty));
    // The switch's latency passes while the packet waits in its queue, whose gate is shut for 40 us.
    let late = Time::us(40).since(bench.switch.latency);
    assert_eq!(out.at_rest().flow(0).fct_last_byte, Some(free.after(late)));
}
