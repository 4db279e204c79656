//! PFC on the bench.

use super::*;
use crate::mac_control::Signal;
use backwater_net::Rate;
use backwater_net::bench::{NicBench, OWNER, SwitchBench, data, place};
use backwater_net::config::{Architecture, BufferPer, SwitchParams};
use backwater_net::hooks::{Gate, NicAction, NicGate, SwitchAction};
use backwater_net::packet::HostId;
use backwater_net::pause::PauseRequest;

const RATE: Rate = Rate::gbps(100);
const STYLE: PauseStyle = PauseStyle { quanta: Some(u16::MAX), framed: true };
const C3: Class = Class(3);

pub(super) fn params(xoff: u64, xon: u64) -> Params {
    let (xoff, xon) = (Some(Bytes(xoff)), Some(Bytes(xon)));
    Params {
        classes: vec![3],
        threshold: Threshold::Static,
        reference_rate: None,
        xoff,
        xon,
        alpha: 0.125,
        xon_offset: Bytes(3_000),
        counter: Counter::Ingress,
        signal: Signal::Timed,
        quanta: u16::MAX,
        response: Time::ZERO,
        watchdog: None,
        watchdog_restore: None,
        watchdog_action: Action::Drop,
        watchdog_poll: None,
        watchdog_blind: false,
    }
}

fn pause_of(port: u16) -> SwitchAction {
    SwitchAction::PausePeer(OWNER, Port(port), Some(C3), Time::NEVER, STYLE)
}

fn release(port: u16) -> SwitchAction {
    SwitchAction::ResumePeer(OWNER, Port(port), Some(C3))
}

/// A PFC and its bench with four ports.
struct At {
    bench: SwitchBench,
    pfc: Switch,
}

impl At {
    fn new(params: &Params, switch: &SwitchParams) -> At {
        let bench = SwitchBench::new(switch, 4, RATE, params.class_bits());
        let pfc = Pfc::switch(params, bench.shape()).expect("PFC acts at switches");
        At { bench, pfc }
    }

    fn admitted(&mut self, port: u16, class: Class, bytes: u64) -> Vec<SwitchAction> {
        self.bench.set_ingress(Port(port), class, bytes);
        let pkt = data(HostId(0), HostId(1), 0, class, 4000);
        self.pfc.on_admit(&mut self.bench.cx(), &place(Port(port), Port(3), class), &pkt);
        self.bench.actions()
    }

    fn released(&mut self, port: u16, class: Class, bytes: u64) -> Vec<SwitchAction> {
        self.bench.set_ingress(Port(port), class, bytes);
        self.pfc.on_release(&mut self.bench.cx(), &place(Port(port), Port(3), class), 0);
        self.bench.actions()
    }
}

/// Document 000: buffer 400 KB, PFC when more than 380 KB are there.
#[test]
fn pauses_above_xoff_and_resumes_below_xon() {
    let mut at = At::new(&params(380_000, 240_000), &SwitchParams::default());
    assert_eq!(at.admitted(1, C3, 380_000), [], "at the threshold is not above it");
    assert_eq!(at.admitted(1, C3, 380_001), [pause_of(1)]);
    assert_eq!(at.admitted(1, C3, 390_000), [], "said once");
    assert_eq!(at.admitted(2, C3, 380_001), [pause_of(2)], "each port for itself");
    assert_eq!(at.released(1, C3, 240_000), [], "at the threshold is not below it");
    assert_eq!(at.released(1, C3, 239_999), [release(1)]);
    assert_eq!(at.released(1, C3, 0), [], "said once");
    assert_eq!(at.admitted(0, Class(4), 400_000), [], "not under PFC");
}

#[test]
fn empty_ingress_always_resumes() {
    let mut at = At::new(&params(0, 0), &SwitchParams::default());
    assert_eq!(at.admitted(1, C3, 64), [pause_of(1)]);
    assert_eq!(at.released(1, C3, 1), []);
    assert_eq!(at.released(1, C3, 0), [release(1)], "nothing is below an xon of zero");
}

/// HPCC's switch: beyond the reserve, alpha x free shared memory, and 3 KB below it to resume.
#[test]
fn dynamic_threshold_follows_free_memory() {
    let switch = SwitchParams {
        architecture: Architecture::SharedMemory,
        buffer: Bytes(132_000),
        buffer_per: BufferPer::Switch,
        headroom: Bytes(8_000),
        ..SwitchParams::default()
    };
    let params = Params { threshold: Threshold::Dynamic, xoff: None, xon: None, ..params(0, 0) };
    // 132 KB less 4 ports x 8 KB of headroom: 100 KB shared. q >= (100 - q)/8 from q = 100/9 = 11.11 KB on (limits are whole bytes).
    let mut at = At::new(&params, &switch);
    assert_eq!(at.admitted(0, C3, 11_110), []);
    assert_eq!(at.admitted(0, C3, 11_111), [pause_of(0)]);
    // Resume: q + 3000 <= (100 000 - q)/8 up to q = 76 000/9 = 8444.4.
    assert_eq!(at.released(0, C3, 8_445), []);
    assert_eq!(at.released(0, C3, 8_444), [release(0)]);
    // Other bytes leave less: with 60 KB of another port, a limit of (40 000 - q)/8.
    at.bench.set_ingress(Port(2), C3, 60_000);
    assert_eq!(at.admitted(0, C3, 4_443), []);
    assert_eq!(at.admitted(0, C3, 4_444), [pause_of(0)]);
}

/// A dynamic threshold does not check the unread static values against their ranges; a static one does.
#[test]
fn a_dynamic_threshold_reads_neither_xoff_nor_xon() {
    let found = |threshold, xoff, xon| {
        let params = Params { threshold, xoff: Some(Bytes(xoff)), xon: Some(Bytes(xon)), ..params(0, 0) };
        let found = crate::stack::inspect::<Pfc>(&params, &Default::default());
        found.iter().filter(|finding| finding.fatal).map(|finding| finding.key).collect::<Vec<_>>()
    };
    for (xoff, xon, wrong) in [(0, 0, "xoff"), (10_000, 10_001, "xon")] {
        assert_eq!(found(Threshold::Static, xoff, xon), [wrong]);
        assert_eq!(found(Threshold::Dynamic, xoff, xon), [""; 0]);
    }
}

/// With a reference rate of 100 Gb/s a port of 400 Gb/s has four times the threshold, static or dynamic, as in the ns-3 code of HPCC (shift 3 and 1).
#[test]
fn thresholds_are_in_proportion_to_the_rate_of_the_port() {
    let at = |params: &Params, switch: &SwitchParams| {
        let bench = SwitchBench::of_rates(switch, &[RATE, Rate::gbps(400), RATE, RATE], params.class_bits());
        let pfc = Pfc::switch(params, bench.shape()).expect("PFC acts at switches");
        At { bench, pfc }
    };
    let fixed = Params { reference_rate: Some(RATE), ..params(100_000, 90_000) };
    let mut it = at(&fixed, &SwitchParams::default());
    assert_eq!((it.admitted(0, C3, 100_000), it.admitted(0, C3, 100_001)), (vec![], vec![pause_of(0)]));
    assert_eq!((it.admitted(1, C3, 400_000), it.admitted(1, C3, 400_001)), (vec![], vec![pause_of(1)]));
    assert_eq!((it.released(1, C3, 360_000), it.released(1, C3, 359_999)), (vec![], vec![release(1)]));
    let switch =
        SwitchParams { architecture: Architecture::SharedMemory, buffer: Bytes(900_000), ..SwitchParams::default() };
    let dynamic = Params { threshold: Threshold::Dynamic, xoff: None, xon: None, ..fixed };
    // q >= (900 000 - q)/8 from 100 000 on, q >= (900 000 - q)/2 from 300 000 on.
    for (port, threshold) in [(0, 100_000), (1, 300_000)] {
        let mut it = at(&dynamic, &switch);
        assert_eq!(
            (it.admitted(port, C3, threshold - 1), it.admitted(port, C3, threshold)),
            (vec![], vec![pause_of(port)])
        );
    }
}

#[test]
fn egress_counter_pauses_all_other_ports_until_the_last_queue_has_drained() {
    let mut at = At::new(&Params { counter: Counter::Egress, ..params(10_000, 5_000) }, &SwitchParams::default());
    let fill = |at: &mut At, egress: u16, bytes: u64, arrives: bool| {
        at.bench.set_egress(Port(egress), Queue(3), bytes);
        let (here, mut pkt) = (place(Port(0), Port(egress), C3), data(HostId(0), HostId(1), 0, C3, 4000));
        match arrives {
            true => at.pfc.on_enqueue(&mut at.bench.cx(), &here, &mut pkt),
            false => at.pfc.on_depart(&mut at.bench.cx(), &here),
        }
        at.bench.actions()
    };
    assert_eq!(fill(&mut at, 2, 10_000, true), []);
    assert_eq!(fill(&mut at, 2, 10_001, true), [pause_of(0), pause_of(1), pause_of(3)]);
    assert_eq!(fill(&mut at, 1, 10_001, true), [pause_of(2)], "0 and 3 are paused already, 1 by 2");
    assert_eq!(fill(&mut at, 2, 4_999, false), [release(1)]);
    assert_eq!(fill(&mut at, 1, 4_999, false), [release(0), release(2), release(3)]);
}

/// Queue 2 of port 3 and queue 3 of port 2 fill, the former with flows that arrived in class 3.
#[test]
fn a_queue_pauses_those_that_fill_it_and_nobody_else() {
    let mut at = At::new(&Params { counter: Counter::Queue, ..params(10_000, 5_000) }, &SwitchParams::default());
    let fill = |at: &mut At, ingress: u16, to: (u16, u8), bytes: u64, arrives: bool| {
        at.bench.set_egress(Port(to.0), Queue(to.1), bytes);
        let (mut here, mut pkt) = (place(Port(ingress), Port(to.0), C3), data(HostId(0), HostId(1), 0, C3, 4000));
        here.queue = Queue(to.1);
        match arrives {
            true => at.pfc.on_enqueue(&mut at.bench.cx(), &here, &mut pkt),
            false => at.pfc.on_depart(&mut at.bench.cx(), &here),
        }
        at.bench.actions()
    };
    assert_eq!(fill(&mut at, 0, (3, 2), 10_000, true), [], "at the threshold is not above it");
    assert_eq!(fill(&mut at, 0, (3, 2), 10_001, true), [pause_of(0)], "the class in which it came");
    assert_eq!(fill(&mut at, 0, (3, 2), 12_000, true), [], "said once");
    assert_eq!(fill(&mut at, 1, (3, 2), 12_000, true), [pause_of(1)]);
    assert_eq!(fill(&mut at, 0, (2, 3), 10_001, true), [], "paused already");
    assert_eq!(fill(&mut at, 0, (3, 2), 5_000, false), [], "at the threshold is not below it");
    assert_eq!(fill(&mut at, 0, (3, 2), 4_999, false), [release(1)], "port 0 fills the other queue, too");
    assert_eq!(fill(&mut at, 0, (2, 3), 4_999, false), [release(0)]);
    assert_eq!(fill(&mut at, 0, (2, 3), 0, false), [], "said once");
}

/// 802.3 annex 31D: the class stops until the time has passed or a zero comes; at a switch its queue, at a NIC the class.
#[test]
fn receiver_obeys_after_its_response_time() {
    let mut at = At::new(&Params { response: Time::us(1), ..params(1, 1) }, &SwitchParams::default());
    let gate = Gate::Egress(Port(2), Queue(3));
    let frame = |class, quanta| PauseRequest { class: Some(Class(class)), quanta, lasting: false }.frame();
    let slot = 2 * 8 + 3;
    let fate = at.pfc.on_mac_control(&mut at.bench.cx().links(), Port(2), &frame(3, 100));
    assert_eq!((fate, at.bench.actions()), (Fate::Consumed, vec![SwitchAction::Arm(OWNER, Time::us(1), slot)]));
    at.bench.now = Time::us(1);
    at.pfc.on_link_timer(&mut at.bench.cx().links(), slot);
    // 100 quanta of 5.12 ns at 100 Gb/s
    assert_eq!(at.bench.actions(), [SwitchAction::Shut(OWNER, gate), SwitchAction::Arm(OWNER, Time::ns(1512), slot)]);
    at.bench.now = Time::ns(1512);
    at.pfc.on_link_timer(&mut at.bench.cx().links(), slot);
    assert_eq!(at.bench.actions(), [SwitchAction::Open(OWNER, gate)]);
    at.pfc.on_mac_control(&mut at.bench.cx().links(), Port(2), &frame(5, 100));
    assert_eq!(at.bench.actions(), [], "class 5 is not under PFC");

    let mut bench = NicBench::new(HostId(0), RATE);
    let mut nic = Pfc::nic(&params(1, 1), bench.shape()).expect("PFC acts at NICs");
    nic.on_mac_control(&mut bench.cx().links(), Port(0), &frame(3, u16::MAX));
    let expiry = Time::ps(65_535 * 5_120);
    assert_eq!(bench.actions(), [NicAction::Shut(OWNER, NicGate::Class(C3)), NicAction::Arm(OWNER, expiry, 3)]);
    nic.on_mac_control(&mut bench.cx().links(), Port(0), &frame(3, 0));
    assert_eq!(bench.actions(), [NicAction::Open(OWNER, NicGate::Class(C3))]);
}

/// A class with several queues: a frame that names their priorities shuts each, one that names others is not PFC's.
#[test]
fn a_nic_obeys_for_every_priority_of_the_class() {
    let queues = backwater_net::HostQueues::new(C3, &[C3, Class(6)]).expect("two priorities");
    let mut bench = NicBench::new(HostId(0), RATE).with_queues(queues);
    let mut nic = Pfc::nic(&params(1, 1), bench.shape()).expect("PFC acts at NICs");
    let frame = |class, quanta| PauseRequest { class: Some(Class(class)), quanta, lasting: true }.frame();
    for class in [3, 6] {
        assert_eq!(nic.on_mac_control(&mut bench.cx().links(), Port(0), &frame(class, 9)), Fate::Consumed);
        assert_eq!(bench.actions()[0], NicAction::Shut(OWNER, NicGate::Class(Class(class))));
    }
    assert_eq!(nic.on_mac_control(&mut bench.cx().links(), Port(0), &frame(4, 9)), Fate::Passed);
    nic.on_mac_control(&mut bench.cx().links(), Port(0), &frame(6, 0));
    assert_eq!(bench.actions(), [NicAction::Open(OWNER, NicGate::Class(Class(6)))]);
}

/// Half of the free part of 900: 300 are used, 600 are free. At a port four times as fast twice the free part: 600 of 900.
#[test]
fn the_first_pause_of_a_dynamic_threshold() {
    let dynamic = Params { threshold: Threshold::Dynamic, alpha: 0.5, xoff: None, xon: None, ..params(0, 0) };
    let scaled = Params { reference_rate: Some(Rate::gbps(100)), ..dynamic.clone() };
    let shared = Bytes(900_000);
    assert_eq!(dynamic.first_pause(Rate::gbps(400), shared, None), Some(Bytes(300_000)));
    assert_eq!(scaled.first_pause(Rate::gbps(400), shared, None), Some(Bytes(600_000)));
    assert_eq!(params(70_000, 60_000).first_pause(Rate::gbps(400), shared, None), Some(Bytes(70_000)));
}

/// Its level is a port's largest value until that passes xoff; then xon, and any new largest value. A dynamic threshold of 1/8 is at least
/// 1/16 of the memory while half of that is free: 25 000 B of 400 kB, at which it pauses.
#[test]
fn levels_are_the_thresholds() {
    let of = Account::Ingress(Port(1), C3);
    let mut at = At::new(&params(380_000, 240_000), &SwitchParams::default());
    let mut levels = |bytes| {
        at.admitted(1, C3, bytes);
        at.pfc.levels(at.bench.cx().seen(), of)
    };
    assert_eq!(levels(1_000), Levels::above(Bytes(1_000)));
    assert_eq!(levels(380_000), Levels::above(Bytes(380_000)));
    assert_eq!(levels(384_000), Levels::below(Bytes(240_000)).or(Levels::above(Bytes(384_000))));
    at.released(1, C3, 239_999);
    assert_eq!(at.pfc.levels(at.bench.cx().seen(), of), Levels::above(Bytes(380_000)));
    for other in
        [Account::Ingress(Port(1), Class(4)), Account::IngressPort(Port(1)), Account::Egress(Port(1), Queue(3))]
    {
        assert_eq!(at.pfc.levels(at.bench.cx().seen(), other), Levels::NONE, "{other:?}");
    }
    let shared = SwitchParams { buffer: Bytes(400_000), ..SwitchParams::default() };
    let mut at = At::new(&Params { threshold: Threshold::Dynamic, ..params(1, 1) }, &shared);
    at.admitted(1, C3, 60_000);
    let dynamic = at.pfc.levels(at.bench.cx().seen(), Account::Ingress(Port(0), C3));
    assert_eq!(dynamic, Levels::above(Bytes(24_999)).unless_free(Bytes(200_000)));
    let paused = at.pfc.levels(at.bench.cx().seen(), of);
    assert_eq!((paused.above, paused.below), (Bytes(60_000), Bytes::MAX));
}
