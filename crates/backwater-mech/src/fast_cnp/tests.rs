//! Fast CNP on the bench.

use super::*;
use backwater_net::bench::{SwitchBench, data, place};
use backwater_net::config::SwitchParams;
use backwater_net::hooks::SwitchAction;

const C3: Class = Class(3);
const KB: u64 = 1000;

struct At {
    bench: SwitchBench,
    node: NetworkNode,
}

fn params() -> Params {
    Params {
        threshold: Bytes(100 * KB),
        notify: Notify::Sender,
        interval: Time::us(50),
        classes: None,
        message_class: 6,
        size: Bytes(122),
        cnp_size: Bytes(78),
    }
}

impl At {
    /// A switch whose ports 2 and 3 lead to switches.
    fn new(params: &Params) -> At {
        let mut bench = SwitchBench::new(&SwitchParams::default(), 4, Rate::gbps(200), 0);
        bench.lead_to_switch(Port(2));
        bench.lead_to_switch(Port(3));
        let node = FastCnp::switch(params, bench.shape()).expect("it acts at switches");
        At { bench, node }
    }

    /// At `now` \[us\] a packet of `flow` from host `src` joins a queue of port 1 that then has `queue` bytes. Returns what is sent.
    fn joins(&mut self, now: u64, src: u32, flow: u32, class: Class, queue: u64) -> Vec<(u32, u8, &'static str, u32)> {
        self.bench.now = Time::us(now);
        self.bench.set_egress(Port(1), Queue(class.0), queue);
        let mut pkt = data(HostId(src), HostId(1), flow, class, 4000);
        self.node.on_enqueue(&mut self.bench.cx(), &place(Port(2), Port(1), class), &mut pkt);
        self.sent()
    }

    fn sent(&mut self) -> Vec<(u32, u8, &'static str, u32)> {
        let one = |action: SwitchAction| match action {
            SwitchAction::Route(to, class, frame) => (to.0, class.0, frame.kind, frame.size),
            other => panic!("it only sends frames to hosts, not {other:?}"),
        };
        self.bench.actions().into_iter().map(one).collect()
    }
}

#[test]
fn a_queue_above_the_threshold_notifies_the_sender_of_the_packet() {
    let mut at = At::new(&params());
    assert_eq!(at.joins(0, 9, 1, C3, 100 * KB), []);
    assert_eq!(at.joins(0, 9, 1, C3, 100 * KB + 1), [(9, 6, FAST_CNP, 122)]);
}

#[test]
fn a_fast_cnp_is_a_cnp_to_what_reacts_to_cnps() {
    let mut at = At::new(&params());
    at.bench.set_egress(Port(1), Queue(3), 101 * KB);
    let mut pkt = data(HostId(9), HostId(1), 1, C3, 4000);
    at.node.on_enqueue(&mut at.bench.cx(), &place(Port(2), Port(1), C3), &mut pkt);
    let actions = at.bench.actions();
    let [SwitchAction::Route(_, _, frame)] = &actions[..] else { panic!("{actions:?}") };
    assert_eq!(frame.flow, Some(pkt.flow));
    let destination = address::queue_pair(pkt.flow);
    assert_eq!(frame.message(), Some(Cnp { destination, p_key: Bth::DEFAULT_PARTITION }));
    assert!(!pkt.ds.is_marked(), "a Fast CNP is sent instead of a mark");
}

/// One notification for each flow and interval: at 0, 50, 100 us.
#[test]
fn the_next_notification_for_a_flow_follows_after_the_interval() {
    let mut at = At::new(&params());
    let times: Vec<u64> = (0..=120).filter(|now| !at.joins(*now, 9, 1, C3, 200 * KB).is_empty()).collect();
    assert_eq!(times, [0, 50, 100]);
    assert_eq!(at.joins(121, 9, 2, C3, 200 * KB).len(), 1, "another flow has its own interval");
    assert_eq!(at.node.last.len(), 2, "flow 1 of 100 us, and flow 2");
    assert_eq!(at.joins(200, 9, 3, C3, 200 * KB).len(), 1);
    assert_eq!(at.node.last.len(), 1, "the others are forgotten");
}

#[test]
fn without_an_interval_each_packet_notifies() {
    let mut at = At::new(&Params { interval: Time::ZERO, ..params() });
    let sent: usize = (0..10).map(|_| at.joins(7, 9, 1, C3, 200 * KB).len()).sum();
    assert_eq!((sent, at.node.activity(at.bench.seen()).acts), (10, 10));
}

#[test]
fn only_the_classes_given_notify() {
    let mut at = At::new(&Params { classes: Some(vec![3]), ..params() });
    assert_eq!(at.joins(0, 9, 1, Class(4), 200 * KB), []);
    assert_eq!(at.joins(0, 9, 2, C3, 200 * KB).len(), 1);
}

/// Host 9 is at another switch, host 0 at this one.
#[test]
fn the_proxy_is_the_senders_switch() {
    let mut at = At::new(&Params { notify: Notify::Proxy, ..params() });
    assert_eq!(at.joins(0, 9, 1, C3, 200 * KB), [(9, 6, NOTIFICATION, 122)]);
    assert_eq!(at.joins(0, 0, 2, C3, 200 * KB), [(0, 6, "cnp", 78)], "this switch is the proxy");
}

#[test]
fn a_proxy_translates_notifications_for_its_senders_alone() {
    let mut at = At::new(&params());
    let (flow, cnp) = (data(HostId(0), HostId(9), 5, C3, 4000).flow, Cnp { destination: 77, p_key: 1 });
    let frame = Notification::of(cnp).frame(flow, 122);
    let mut takes = |to| {
        let fate = at.node.on_control(&mut at.bench.cx(), Port(3), to, &frame);
        (fate, at.bench.actions())
    };
    assert_eq!(takes(Some(HostId(9))), (Fate::Passed, vec![]));
    assert_eq!(takes(None), (Fate::Passed, vec![]));
    let (fate, actions) = takes(Some(HostId(0)));
    let [SwitchAction::Route(HostId(0), Class(6), sent)] = &actions[..] else { panic!("{actions:?}") };
    assert_eq!((fate, sent.kind, sent.flow, sent.message()), (Fate::Consumed, "cnp", Some(flow), Some(cnp)));
}

#[test]
fn a_fast_cnp_passes_a_switch() {
    let mut at = At::new(&params());
    let flow = data(HostId(0), HostId(9), 5, C3, 4000).flow;
    let frame = wire::fast_cnp(flow, Cnp { destination: 77, p_key: 1 }, 122);
    assert_eq!(at.node.on_control(&mut at.bench.cx(), Port(3), Some(HostId(0)), &frame), Fate::Passed);
    assert_eq!(at.sent(), []);
}

#[test]
fn levels_lead_to_each_packet_above_the_threshold() {
    let mut at = At::new(&params());
    let egress = Account::Egress(Port(1), Queue(3));
    let level = |at: &At| at.node.levels(at.bench.seen(), egress);
    assert_eq!(level(&at), Levels::above(Bytes::ZERO), "the longest queue is to be known");
    at.joins(0, 9, 1, C3, 40 * KB);
    assert_eq!(level(&at), Levels::above(Bytes(40 * KB)));
    at.joins(0, 9, 1, C3, 300 * KB);
    assert_eq!(level(&at), Levels::above(Bytes(100 * KB)));
    assert_eq!(
        at.node.activity(at.bench.seen()).margin,
        Some(Margin::bytes("longest queue", Bytes(300 * KB), Bytes(100 * KB)))
    );
}

#[test]
fn a_threshold_at_the_buffer_is_warned_of() {
    let bench = SwitchBench::new(&SwitchParams::default(), 4, Rate::gbps(200), 0);
    let switch = SwitchParams {
        buffer: Bytes(100 * KB),
        buffer_per: backwater_net::config::BufferPer::Switch,
        ..SwitchParams::default()
    };
    let of = |threshold| {
        let cx = CheckCx {
            switches: std::slice::from_ref(bench.shape()),
            switch_params: std::slice::from_ref(&switch),
            ..CheckCx::default()
        };
        FastCnp::check(&Params { threshold: Bytes(threshold), ..params() }, &cx)
    };
    assert_eq!(of(99 * KB), []);
    let findings = of(100 * KB);
    assert_eq!(findings.iter().map(|f| (f.key, f.fatal)).collect::<Vec<_>>(), [("threshold", false)]);
}
