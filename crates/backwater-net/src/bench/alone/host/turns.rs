//! Turns of control and data at a host's interface (`nic.control_turns`): the order in which frames leave it.

use super::*;
use crate::config::NicTurn;

/// A host whose interface gives control so many turns to one of data.
fn with_turns(turns: u32) -> Lone<LoneHost> {
    let nic = NicParams { control_turns: Some(turns), ..NicParams::default() };
    host(AckParams::default(), TransportParams::default(), nic)
}

impl Lone<LoneHost> {
    /// Control frames with these numbers begin to wait at the interface.
    fn control(&mut self, numbers: std::ops::Range<u64>) {
        for number in numbers {
            let ack = AckHeader { src: HostId(0), received: number * PAYLOAD, gap: None };
            let packet = Packet { body: Body::Ack(ack), ..frame(1, 6, 64, 1000 + number) };
            self.node.at(&mut self.ports[..1], &mut self.world).express(packet);
        }
    }

    /// Returns the frames that arrived at the other end: `a` and its number for control, `d` for data.
    fn order(&self) -> String {
        let name = |a: &Arrival| format!("{}{}", if a.kind == Kind::Data { 'd' } else { 'a' }, a.bytes / PAYLOAD);
        self.arrived.iter().map(name).collect::<Vec<_>>().join(" ")
    }
}

/// If both wait, so many control frames go, and then one of data; frames of one kind alone go without a turn.
#[test]
fn data_has_one_turn_beside_those_of_control() {
    for (turns, order) in [
        (1, "a0 a1 d0 a2 d1 a3 d2 a4 a5 a6 a7 a8 a9 a10 a11 a12 a13"),
        (3, "a0 a1 a2 a3 d0 a4 a5 a6 d1 a7 a8 a9 d2 a10 a11 a12 a13"),
        (10, "a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 a10 d0 a11 a12 a13 d1 d2"),
    ] {
        let mut host = with_turns(turns);
        // The first finds the wire free.
        host.control(0..14);
        let slot = host.flow(0, 3, 3);
        host.begin(slot);
        host.run();
        assert_eq!(host.order(), order, "{turns}");
    }
    let mut host = plain();
    host.control(0..14);
    let slot = host.flow(0, 3, 3);
    host.begin(slot);
    host.run();
    assert_eq!(host.order(), "a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 a10 a11 a12 a13 d0 d1 d2", "without turns");
}

/// Frames go back to back, whichever has the turn: 64 B and 1060 B, and 20 B between any two.
#[test]
fn turns_cost_no_time() {
    let mut host = with_turns(2);
    host.control(0..5);
    let slot = host.flow(0, 3, 3);
    host.begin(slot);
    host.run();
    assert_eq!(host.order(), "a0 a1 a2 d0 a3 a4 d1 d2");
    let mut begins = Time::ZERO;
    for arrival in &host.arrived {
        let size = if arrival.kind == Kind::Data { PAYLOAD + HEADER } else { 64 };
        begins += wire(size);
        assert_eq!(arrival.at, begins + DELAY);
    }
}

/// Frames that go while the other kind does not wait use no turn: the count stands until both wait again.
#[test]
fn turns_count_where_both_wait() {
    let mut host = with_turns(3);
    host.control(0..7);
    host.run();
    let slot = host.flow(0, 3, 4);
    host.begin(slot);
    host.run_until(host.world.now + wire(PAYLOAD + HEADER) + Time::ns(1));
    // d0 found the wire free, and d1 is on it: both wait for the first time when that has left.
    host.control(7..9);
    host.run();
    assert_eq!(host.order(), "a0 a1 a2 a3 a4 a5 a6 d0 d1 a7 a8 d2 d3");
    // Control has had two of its three turns.
    host.control(9..12);
    let slot = host.flow(0, 3, 2);
    host.begin(slot);
    host.run();
    assert!(host.order().ends_with("d3 a9 a10 d0 a11 d1"), "{}", host.order());
}

/// Data that its rate does not release yet uses no turn, and gets the due turn once it may leave.
#[test]
fn a_flow_that_may_not_send_takes_no_turn() {
    let mut host = with_turns(1);
    let slot = host.flow(0, 3, 2);
    // Its second packet goes 864 ns after the first; six frames of control take 40.32 ns.
    host.pace(slot, Paced { rate: Rate::gbps(10), then: None });
    host.begin(slot);
    host.control(0..6);
    host.run();
    assert_eq!(host.order(), "d0 a0 a1 a2 a3 a4 a5 d1");
    assert_eq!(host.data()[1].0, full_after(Time(864_000)));
}

/// Looking at flows during a turn of control does not change the turns among flows.
#[test]
fn flows_keep_their_turns_among_those_of_control() {
    let mut host = with_turns(2);
    host.control(0..9);
    let flows = [host.flow(0, 3, 3), host.flow(0, 3, 1), host.flow(0, 5, 1)];
    flows.into_iter().for_each(|slot| host.begin(slot));
    host.run();
    // Class 5, and then the flows of class 3 in turn.
    assert_eq!(host.order(), "a0 a1 a2 d0 a3 a4 d0 a5 a6 d0 a7 a8 d1 d2");
}

/// If a mechanism does not let data start when its turn comes, control gets the wire.
#[test]
fn a_turn_of_data_that_may_not_start_is_control_s() {
    let mut host = with_turns(1);
    host.world.rules.hooks.nic_links = host.node.host.stack.link_hooks();
    host.ports[0].report_events();
    host.node.host.stack.others = 5;
    host.control(0..9);
    let slot = host.flow(0, 3, 2);
    host.begin(slot);
    host.run();
    // d0 is made in the turn after a1 and may not start; once refused, it waits for the wire until five others have left.
    assert_eq!(host.order(), "a0 a1 a2 a3 a4 a5 d0 a6 d1 a7 a8");
}

/// Two flows of three packets each. The first has its second packet ready before the other begins; then they alternate, or the second
/// waits for the first to end.
#[test]
fn a_turn_is_a_packet_or_a_message() {
    for (turn, order) in [(NicTurn::Packet, "d0 d1 d0 d2 d1 d2"), (NicTurn::Message, "d0 d1 d2 d0 d1 d2")] {
        let nic = NicParams { turn, ..NicParams::default() };
        let mut host = host(AckParams::default(), TransportParams::default(), nic);
        let flows = [host.flow(0, 3, 3), host.flow(0, 3, 3)];
        for slot in flows {
            host.begin(slot);
        }
        host.run();
        assert_eq!(host.order(), order, "{turn:?}");
    }
}
