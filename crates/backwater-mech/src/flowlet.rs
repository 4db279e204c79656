//! Flowlet switching to the least-loaded port — flowlets: Kandula, Katabi, Sinha and Berger, "Dynamic Load Balancing Without Packet
//! Reordering", ACM CCR 37(2), 2007 (FLARE); by local load: Alizadeh et al., "CONGA", SIGCOMM 2014, section 5.3 ("Local").
//!
//! Packets of a flow that follow each other closely are a *flowlet* and keep to one path. After a gap longer than the
//! difference of path delays, the next packet cannot overtake, and may take another path:
//!
//! ```text
//! on a packet of flow f at t:
//!     if t - last(f) > delta or f is not in the table:  port(f) = the next hop with the least load
//!     last(f) = t;  out = port(f)
//! ```
//!
//! The load of a next hop is the time to send the bytes that wait for it; among several with the least load one is drawn.
//!
//! A source that sends without a gap has a single flowlet, which keeps the least-loaded port at the flow's start.
//! Pacing, PFC and SFC pauses make gaps. Acknowledgements and control frames keep to `ack.path`; a path that the
//! scenario pins stays pinned.
//!
//! # Not modelled
//! - collisions in the flowlet table: each flow has an entry
//! - CONGA's feedback about congestion beyond the switch
//!
//! # Differences
//! - CONGA ages an entry by a bit at a fixed period, so that its gap is between one and two periods. Here the gap is exact.

use backwater_derive::parameters;
use backwater_engine::Time;
use backwater_net::hooks::{Activity, Claims, Mechanism, Profile, SwitchCx, SwitchShape, SwitchSide};
use backwater_net::occupancy::Occupancy;
use backwater_net::packet::{FlowRef, Packet, Port};
use rand::RngExt;
use std::collections::HashMap;

/// Table size below which old entries are not removed.
const SMALL: usize = 1024;

/// Parameters of flowlet switching.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// Gap between packets after which a flow may take another path. A gap longer than the difference of path delays prevents reordering.
    #[param(symbol = "delta", default = Time::us(50), range = Time::ZERO.., source = "choice; CONGA, SIGCOMM 2014: 500 us")]
    pub gap: Time,
    /// Classes whose flows use flowlet switching, each 0 to 7; other classes use ECMP. Absent: all.
    #[param(each = 0..=7, source = "choice", why = "there is no such class")]
    pub classes: Option<Vec<u8>>,
}

/// Flowlet switching.
pub enum Flowlet {}

#[backwater_derive::mechanism]
impl Mechanism for Flowlet {
    const NAME: &'static str = "flowlet";
    const DEFINED_BY: &'static str = "Kandula et al., ACM CCR 2007; Alizadeh et al., SIGCOMM 2014, section 5.3";
    const SUMMARY: &'static str = "sends each burst of a flow over the least-loaded of the equal-cost paths";
    const INACTIVE: &'static str = "never chose a path, since no packet of its classes had two";
    type Switch = FlowletTable;

    fn profile(_: &Params) -> Profile {
        Profile { claims: Claims { path: true, ..Claims::NONE }, ..Profile::default() }
    }

    fn switch(params: &Params, _: &SwitchShape) -> Option<FlowletTable> {
        let classes = crate::class_bits_or_all(params.classes.as_deref());
        Some(FlowletTable { gap: params.gap, classes, flowlets: HashMap::new(), looked_through: SMALL, chosen: 0 })
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Entry {
    /// port(f)
    port: Port,
    /// last(f)
    last: Time,
}

/// The flowlet table of a switch.
#[derive(backwater_derive::State)]
pub struct FlowletTable {
    /// delta
    #[state(fixed)]
    gap: Time,
    /// classes that flowlet switching applies to, a bit each
    #[state(fixed)]
    classes: u8,
    #[state(sorted)]
    flowlets: HashMap<FlowRef, Entry>,
    /// table size at which old entries are next removed
    looked_through: usize,
    /// flowlets whose next hop it chose
    chosen: u64,
}

// The specification.
#[backwater_derive::hooks]
impl SwitchSide for FlowletTable {
    fn choose(&mut self, cx: &mut SwitchCx<'_>, next_hops: &[Port], pkt: &Packet) -> Option<Port> {
        if !pkt.is_data() || self.classes & (1 << pkt.class.0) == 0 {
            return None;
        }
        let (t, delta) = (cx.now(), self.gap);
        if let Some(f) = self.flowlets.get_mut(&pkt.flow).filter(|f| t - f.last <= delta && next_hops.contains(&f.port))
        {
            f.last = t;
            return Some(f.port);
        }
        let port = least_loaded(cx, next_hops);
        self.forget_old(t);
        self.chosen += 1;
        self.flowlets.insert(pkt.flow, Entry { port, last: t });
        Some(port)
    }

    fn activity(&self, _: &Occupancy) -> Activity {
        Activity { acts: self.chosen, margin: None }
    }
}

impl FlowletTable {
    /// Removes entries whose gap has passed: otherwise the table would hold every flow of the run.
    fn forget_old(&mut self, t: Time) {
        if self.flowlets.len() >= self.looked_through {
            let delta = self.gap;
            self.flowlets.retain(|_, f| t - f.last <= delta);
            self.looked_through = (2 * self.flowlets.len()).max(SMALL);
        }
    }
}

fn least_loaded(cx: &mut SwitchCx<'_>, next_hops: &[Port]) -> Port {
    let load = |cx: &SwitchCx<'_>, port: Port| {
        let rate = cx.shape().ports[usize::from(port.0)].rate;
        rate.time_for(cx.seen().egress_port(port))
    };
    let least = next_hops.iter().map(|port| load(cx, *port)).min().unwrap_or_default();
    let number = next_hops.iter().filter(|port| load(cx, **port) == least).count() as u32;
    let drawn = if number > 1 { cx.rng().random_range(0..number) } else { 0 };
    let mut with_least = next_hops.iter().filter(|port| load(cx, **port) == least);
    with_least.nth(drawn as usize).copied().unwrap_or(next_hops[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_net::Rate;
    use backwater_net::bench::{SwitchBench, data};
    use backwater_net::config::SwitchParams;
    use backwater_net::packet::{Class, HostId, Queue};

    fn bench() -> (SwitchBench, FlowletTable) {
        let bench = SwitchBench::new(&SwitchParams::default(), 8, Rate::gbps(100), 0);
        let table = Flowlet::switch(&Params { gap: Time::us(10), classes: None }, bench.shape()).unwrap();
        (bench, table)
    }

    const NEXT_HOPS: [Port; 4] = [Port(4), Port(5), Port(6), Port(7)];

    #[test]
    fn a_flowlet_goes_where_least_waits_and_stays_there() {
        let (mut bench, mut table) = bench();
        for (port, bytes) in [(4, 9000), (5, 100), (6, 5000), (7, 7000)] {
            bench.set_egress(Port(port), Queue(3), bytes);
        }
        let mut send = |bench: &mut SwitchBench, flow| {
            table.choose(&mut bench.cx(), &NEXT_HOPS, &data(HostId(0), HostId(9), flow, Class(3), 1000)).unwrap().0
        };
        assert_eq!(send(&mut bench, 1), 5);
        bench.set_egress(Port(5), Queue(3), 20_000);
        bench.now = Time::us(10);
        assert_eq!(
            (send(&mut bench, 1), send(&mut bench, 2)),
            (5, 6),
            "within the gap it stays; another flow does not"
        );
        // The gap counts from the last packet, and must be exceeded.
        bench.now = Time::us(20);
        assert_eq!(send(&mut bench, 1), 5);
        bench.now = Time::us(30) + Time(1);
        assert_eq!(send(&mut bench, 1), 6);
        // A path that does not exist any more is left at once.
        let left = table.choose(&mut bench.cx(), &NEXT_HOPS[..1], &data(HostId(0), HostId(9), 1, Class(3), 1000));
        assert_eq!(left, Some(Port(4)));
    }

    #[test]
    fn of_equals_one_is_drawn() {
        let (mut bench, mut table) = bench();
        let mut seen = [0f64; 8];
        bench.set_egress(Port(6), Queue(0), 1);
        for flow in 0..3000 {
            let packet = data(HostId(0), HostId(9), flow, Class(3), 1000);
            seen[usize::from(table.choose(&mut bench.cx(), &NEXT_HOPS, &packet).unwrap().0)] += 1.0;
        }
        // 1000 each, standard deviation 25.8.
        assert!([4, 5, 7].iter().all(|p| (seen[*p] - 1000.0).abs() < 4.0 * 25.8) && seen[6] == 0.0, "{seen:?}");
    }

    #[test]
    fn flows_that_are_over_are_forgotten() {
        let (mut bench, mut table) = bench();
        for flow in 0..100_000u32 {
            bench.now = Time::ns(100 * u64::from(flow));
            table.choose(&mut bench.cx(), &NEXT_HOPS, &data(HostId(0), HostId(9), flow, Class(3), 1000));
        }
        assert!(table.flowlets.len() <= SMALL, "{}", table.flowlets.len());
    }
}
