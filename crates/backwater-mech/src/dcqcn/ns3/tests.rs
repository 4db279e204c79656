//! The recorded decisions of the ns-3 code.

use super::*;
use crate::recorded::{Held, traces};
use backwater_net::bench::FlowBench;
use std::collections::HashMap;

/// A recorded flow.
struct Played {
    bench: FlowBench,
    rp: ReactionPoint,
    armed: Vec<(Time, u16)>,
    /// \[b/s\] after the last decision
    recorded: f64,
}

impl Played {
    fn new(params: &Params) -> Played {
        let bench = FlowBench::new(Rate::gbps(100));
        let rp = ReactionPoint::new(params, bench.shape());
        Played { rp, bench, armed: Vec::new(), recorded: 100e9 }
    }

    /// Runs all timers that expire before `now`.
    fn wait_until(&mut self, now: Time) {
        loop {
            self.armed.extend(self.bench.timers());
            self.armed.sort();
            if self.armed.first().is_none_or(|(at, _)| *at >= now) {
                return;
            }
            let (at, token) = self.armed.remove(0);
            self.run_out(at, token);
        }
    }

    fn run_out(&mut self, at: Time, token: u16) {
        self.bench.now = at;
        self.rp.on_timer(&mut self.bench.cx(), token);
    }

    fn mark(&mut self, at: Time) {
        self.bench.now = at;
        self.rp.on_mark(&mut self.bench.cx());
    }
}

/// Rates and targets of every decrease and increase, at their times; nothing else changes a rate. The marks were not recorded: alpha is
/// taken from the record, to six digits, and the rate after a decrease has the same accuracy. That program counts in whole b/s.
#[test]
fn decisions_of_the_ns3_code() {
    // The preset `ns3-hpcc`.
    let params = Params {
        law: super::super::Law::Ns3,
        alpha_timer: Time::us(1),
        rate_timer: Time::us(300),
        f: 1,
        rai: Rate(20_000_000),
        rhai: Rate(200_000_000),
        min_rate: Rate::gbps(1),
        clamp_target: false,
        decrease_interval: Time::us(4),
        ..Params::default()
    };
    let (mut held, mut decreases) = (Held::default(), 0);
    for trace in traces("dcqcn") {
        let mut flows: HashMap<u64, Played> = HashMap::new();
        for line in &trace.lines {
            let now = Time::ns(line.number("at"));
            let played = flows.entry(line.number("flow")).or_insert_with(|| Played::new(&params));
            played.wait_until(now);
            let token = match line.text("event") {
                "mark" => {
                    played.mark(now);
                    continue;
                }
                "dec" => DECREASE,
                _ => INCREASE,
            };
            let due = played.armed.iter().position(|timer| *timer == (now, token));
            played.armed.remove(due.unwrap_or_else(|| panic!("{}: no timer at {now}", trace.name)));
            held.is(&trace, line, "rate before", played.rp.rc, played.recorded, 0.0);
            if token == DECREASE {
                played.mark(now);
                played.rp.alpha = line.real("alpha");
                decreases += 1;
            } else {
                held.compare(&trace, line, "stage", f64::from(played.rp.stage), 0.0);
            }
            played.run_out(now, token);
            let slack = if token == DECREASE { 0.5e-6 * played.recorded / 2.0 + 1.0 } else { 1.0 };
            held.compare(&trace, line, "target", played.rp.rt, 0.0);
            held.compare(&trace, line, "rate", played.rp.rc, slack);
            (played.recorded, played.rp.rc) = (line.real("rate"), line.real("rate"));
        }
    }
    held.none_off(1_321);
    assert!(decreases > 100, "{decreases}");
}
