//! A switch alone: three links, with times, memory and turns of frames.

use super::*;
use crate::config::{Architecture, BufferPer, LatencyAt, ReleaseAt, SwitchParams};
use crate::model::hooks::{Absent, FlowOrder, Home, SwitchShape};
use crate::model::packet::{CLASSES, FlowRef, Port as PortNo, Queue};
use crate::model::port::in_order::InOrder;
use crate::model::switch::Switch;
use crate::topology::NodeKind;

const LINKS: usize = 3;
const LATENCY: Time = Time::ns(300);

type LoneSwitch = Lone<Switch<Absent>>;

impl Alone for Switch<Absent> {
    fn arrive(&mut self, ports: &mut [Port], world: &mut World, port: u16, pkt: Ix) {
        NodeCx { node: self, ports, world }.arrive(port, pkt);
    }
    fn sent(&mut self, ports: &mut [Port], world: &mut World, port: u16) {
        NodeCx { node: self, ports, world }.sent(port);
    }
    fn happen(&mut self, ports: &mut [Port], world: &mut World, event: Event) {
        let mut at = NodeCx { node: self, ports, world };
        match event {
            Event::Enqueue { pkt, .. } => at.enqueue(pkt),
            Event::Wake { port } => at.recheck(port as u16),
            Event::Crossed { ingress, egress, .. } => at.crossed(ingress, egress),
            Event::Match { .. } => at.match_crossbar(),
            other => panic!("{other:?}"),
        }
    }
}

fn switch(params: &SwitchParams) -> LoneSwitch {
    let mut graph = Graph::default();
    let s0 = graph.add("s0", "switch", NodeKind::Switch);
    for end in 0..LINKS {
        let end = graph.add(format!("h{end}"), "host", NodeKind::Host);
        graph.link(s0, end, RATE, DELAY);
    }
    let rules = rules(PacketParams::default(), AckParams::default(), TransportParams::default(), NicParams::default());
    Lone::new(graph, LINKS, rules, |fabric, ports| {
        let shape = SwitchShape {
            node: s0,
            name: "s0".into(),
            tier: "switch".into(),
            ports: fabric.port_shapes(s0, ports),
            max_frame: Bytes(PAYLOAD + HEADER),
            latency: params.latency,
            port_buffer: None,
        };
        let mut switch = Switch::new(0, 0, Home::new(shape, 1, 1), params, 0, Absent);
        let (own, ends) = ports.split_at_mut(LINKS);
        switch.set_up_ports(params, own);
        ends.iter_mut().for_each(|port| port.peer_latency = params.latency_before_counters());
        switch
    })
}

/// Returns the counters after one frame from link 0 to link 1.
fn counted(switch: &LoneSwitch) -> (u64, u64) {
    let seen = &switch.node.occupancy;
    (seen.ingress(PortNo(0), Class(3)).0, seen.egress(PortNo(1), Queue(3)).0)
}

/// Wherever the latency lies, an idle switch delays a frame by it; only the time at which its counters see the frame differs.
#[test]
fn times_of_a_frame_at_each_place_of_the_latency() {
    let came = wire(1060) + DELAY;
    let begins = came + LATENCY;
    let left = begins + wire(1060);
    for latency_at in [LatencyAt::Input, LatencyAt::Fabric, LatencyAt::Output] {
        let (in_from, out_from) = match latency_at {
            LatencyAt::Input => (begins, begins),
            LatencyAt::Fabric => (came, begins),
            LatencyAt::Output => (came, came),
        };
        for release_at in [ReleaseAt::Start, ReleaseAt::End] {
            let until = if release_at == ReleaseAt::Start { begins } else { left };
            let mut switch =
                switch(&SwitchParams { latency: LATENCY, latency_at, release_at, ..SwitchParams::default() });
            switch.send(Time::ZERO, 0, frame(1, 3, 1060, 1));
            let mut edges = [in_from, out_from, until].map(|edge| [edge - Time(1), edge]).concat();
            edges.sort();
            for at in edges {
                switch.run_until(at);
                let isolated = |from: Time| if from <= at && at < until { 1060 } else { 0 };
                assert_eq!(
                    counted(&switch),
                    (isolated(in_from), isolated(out_from)),
                    "{latency_at:?} {release_at:?} {at:?}"
                );
            }
            switch.run();
            assert_eq!(switch.times(1), [left + DELAY], "{latency_at:?} {release_at:?}");
        }
    }
}

/// The latency is a pipeline: consecutive frames leave as they arrived, each delayed by it.
#[test]
fn the_latency_delays_each_frame_once() {
    for latency_at in [LatencyAt::Input, LatencyAt::Fabric, LatencyAt::Output] {
        let mut switch = switch(&SwitchParams { latency: LATENCY, latency_at, ..SwitchParams::default() });
        for number in 0..5 {
            switch.send(Time::ZERO, 0, frame(1, 3, 1060, number));
        }
        switch.run();
        let last_bits = [1, 2, 3, 4, 5].map(|n| wire(1060) * n + DELAY + LATENCY + wire(1060) + DELAY);
        assert_eq!(switch.times(1), last_bits, "{latency_at:?}");
    }
}

/// Two links send to one: it is never idle, and the higher class goes first.
#[test]
fn a_shared_egress_takes_turns_by_class() {
    let mut switch = switch(&SwitchParams { latency: Time::ZERO, ..SwitchParams::default() });
    for number in 0..3 {
        switch.send(Time::ZERO, 0, frame(2, 3, 1060, number));
        switch.send(Time::ZERO, 1, frame(2, 5, 1060, 10 + number));
    }
    switch.run();
    let (first, each) = (wire(1060) + DELAY, wire(1060));
    let all: Vec<Time> = (1..=6).map(|n| first + each * n + DELAY).collect();
    assert_eq!(switch.times(2), all);
    // At each arrival of two frames, of classes 3 and 5, the wire has just become free: 5 goes, until none is left. Only the very first
    // instant finds the wire idle, so there the frame with the smaller number goes.
    let order: Vec<u64> = switch.arrived.iter().map(|arrival| arrival.bytes).collect();
    assert_eq!(order, [0, 10, 11, 12, 1, 2]);
}

/// When two frames arrive at one instant, the one whose identity has the smaller hash goes first, whatever its port.
#[test]
fn simultaneous_arrivals_are_ordered_by_their_identity() {
    for numbers in [[1, 2], [2, 1]] {
        let mut switch = switch(&SwitchParams { latency: Time::ZERO, ..SwitchParams::default() });
        for (link, number) in numbers.into_iter().enumerate() {
            switch.send(Time::ZERO, link, frame(2, 3, 1060, number));
        }
        switch.run();
        let order: Vec<u64> = switch.arrived.iter().map(|arrival| arrival.bytes).collect();
        assert_eq!(order, [1, 2]);
    }
}

/// Memory for exactly so many frames takes them; with a byte less the last is dropped and counted at its ingress.
#[test]
fn admission_and_drop_at_the_byte() {
    // Five frames from each of links 0 and 1, alternating between classes 3 and 5, go to link 2, which sends none: its gate is shut.
    let limits = [
        // (the limited unit, the admitted frames of ten with memory for four)
        (BufferPer::Switch, 4),
        (BufferPer::Egress, 4),
        (BufferPer::Ingress, 8),
        (BufferPer::Queue, 8),
        (BufferPer::None, 10),
    ];
    for (buffer_per, admitted) in limits {
        for missing in [0, 1] {
            let params = SwitchParams {
                latency: Time::ZERO,
                buffer: Bytes(4 * 1060 - missing),
                buffer_per,
                ..SwitchParams::default()
            };
            let mut switch = switch(&params);
            switch.ports[2].shut(CLASSES, OWNER);
            for number in 0..5 {
                for link in [0, 1] {
                    let class = [3, 5][(number as usize + link) % 2];
                    switch.send(Time::ZERO, link, frame(2, class, 1060, 2 * number + link as u64));
                }
            }
            switch.run();
            let pools = admitted / 4;
            let fits = if buffer_per == BufferPer::None { 10 } else { admitted - missing * pools };
            assert_eq!(switch.node.occupancy.total(), Bytes(fits * 1060), "{buffer_per:?} less {missing}");
            let stats = |link: usize| &switch.ports[link].rest.stats;
            assert_eq!(stats(0).drop_frames + stats(1).drop_frames, 10 - fits, "{buffer_per:?} less {missing}");
            assert_eq!(stats(0).drop_bytes + stats(1).drop_bytes, (10 - fits) * 1060);
            assert_eq!(switch.world.totals.progress.drops, 10 - fits);
        }
    }
}

/// Queues of a port with memories of their own sizes: admission to each is exact to the byte, and room in the others does not count.
#[test]
fn queues_have_memories_of_their_own_sizes() {
    for missing in [0, 1] {
        let mut sizes = [Bytes(1060); CLASSES];
        (sizes[3], sizes[5]) = (Bytes(3 * 1060 - missing), Bytes(2 * 1060));
        let params = SwitchParams {
            latency: Time::ZERO,
            buffer: Bytes(1),
            buffer_per: BufferPer::Queue,
            queue_buffers: Some(sizes),
            ..SwitchParams::default()
        };
        let mut switch = switch(&params);
        switch.ports[2].shut(CLASSES, OWNER);
        // Five frames of class 3 and five of class 5, and behind them one of class 3 that is a byte shorter.
        for number in 0..5 {
            switch.send(Time::ZERO, 0, frame(2, 3, 1060, number));
            switch.send(Time::ZERO, 1, frame(2, 5, 1060, 10 + number));
        }
        switch.send(Time::ZERO, 0, frame(2, 3, 1059, 5));
        switch.run();
        let in_three = if missing == 0 { 3 * 1060 } else { 2 * 1060 + 1059 };
        let seen = &switch.node.occupancy;
        let bytes = [3, 5].map(|queue| seen.egress(PortNo(2), Queue(queue)));
        assert_eq!(bytes, [Bytes(in_three), Bytes(2 * 1060)], "less {missing}");
        let lost = |link: usize| switch.ports[link].rest.stats.drop_bytes;
        assert_eq!([lost(0), lost(1)], [5 * 1060 + 1059 - in_three, 3 * 1060], "less {missing}");
    }
}

/// A queue with memory for one frame: the frame counts until its last bit has left, or with `start` until its first one has. htsim counts
/// its queues the second way: it removes a packet when it is sent.
#[test]
fn a_queue_counts_the_frame_on_the_wire_until_it_is_released() {
    let each = wire(1060);
    for (release_at, behind, dropped) in [
        (ReleaseAt::End, each - Time(1), 1),
        (ReleaseAt::End, each, 0),
        (ReleaseAt::Start, Time(1), 0),
        (ReleaseAt::Start, each - Time(1), 0),
    ] {
        let params = SwitchParams {
            latency: Time::ZERO,
            release_at,
            buffer_per: BufferPer::Queue,
            queue_buffers: Some([Bytes(1060); CLASSES]),
            ..SwitchParams::default()
        };
        let mut switch = switch(&params);
        switch.send(Time::ZERO, 0, frame(2, 3, 1060, 1));
        switch.send(behind, 1, frame(2, 3, 1060, 2));
        switch.run();
        assert_eq!(switch.ports[1].rest.stats.drop_frames, dropped, "{release_at:?} {behind:?}");
    }
}

/// Memory is free from the instant at which a frame's last bit leaves, or with `start` after the instant at which its first bit does: a
/// port becomes free before the arrivals of an instant, and looks for ready frames after them.
#[test]
fn memory_is_free_again_at_the_instant_of_release() {
    let (begins, left) = (LATENCY, LATENCY + wire(1060));
    for (release_at, full, free) in
        [(ReleaseAt::Start, begins, begins + Time(1)), (ReleaseAt::End, left - Time(1), left)]
    {
        for (at, dropped) in [(full, 1), (free, 0)] {
            let params = SwitchParams { latency: LATENCY, release_at, buffer: Bytes(1060), ..SwitchParams::default() };
            let mut switch = switch(&params);
            switch.send(Time::ZERO, 0, frame(2, 3, 1060, 1));
            // Both take their frame time and the delay to arrive; the first begins to leave a latency later.
            switch.send(at, 1, frame(2, 3, 1060, 2));
            switch.run();
            assert_eq!(switch.ports[1].rest.stats.drop_frames, dropped, "{release_at:?} {at:?}");
        }
    }
}

/// Behind a crossbar an idle switch takes no longer than without one.
#[test]
fn architectures_delay_a_lone_frame_alike() {
    for architecture in
        [Architecture::OutputQueued, Architecture::SharedMemory, Architecture::InputQueued, Architecture::Voq]
    {
        let mut switch = switch(&SwitchParams { architecture, latency: LATENCY, ..SwitchParams::default() });
        switch.send(Time::ZERO, 0, frame(1, 3, 1060, 1));
        switch.run();
        assert_eq!(switch.times(1), [(wire(1060) + DELAY) * 2 + LATENCY], "{architecture:?}");
    }
}

/// A packet that waits for one of its flow in another queue leaves at the instant at which that queue is emptied, also from an idle port.
#[test]
fn what_a_flush_sets_free_leaves_at_once() {
    for architecture in [Architecture::OutputQueued, Architecture::Voq] {
        let mut switch = switch(&SwitchParams { architecture, latency: Time::ZERO, ..SwitchParams::default() });
        let ingresses = if architecture == Architecture::Voq { LINKS } else { 1 };
        switch.ports[2].keep_in_order(InOrder::new(0b1100, FlowOrder::Counters, ingresses));
        switch.ports[2].shut(3, OWNER);
        for (number, class) in [(1, 3), (2, 2)] {
            let flow = FlowRef { slot: 0, tag: 1 };
            switch.send(Time::us(number), 0, Packet { flow, ..frame(2, class, 1060, number) });
        }
        switch.run_until(Time::us(5));
        assert_eq!(switch.node.occupancy.total(), Bytes(2 * 1060), "{architecture:?}");
        switch.world.now = Time::us(5);
        let ports = &mut switch.ports[..LINKS];
        NodeCx { node: &mut switch.node, ports, world: &mut switch.world }.flush(PortNo(2), Queue(3));
        switch.run();
        assert_eq!(switch.times(2), [Time::us(5) + wire(1060) + DELAY], "{architecture:?}");
        assert_eq!(switch.node.occupancy.total(), Bytes(0));
    }
}
