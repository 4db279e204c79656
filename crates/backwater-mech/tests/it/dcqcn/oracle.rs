//! DCQCN without packets: the fluid model of its authors, and its law with single marks, cuts and stages on a queue that is a number.
//! Written from the papers, for the defaults of the paper; the only part of the simulator in it is random numbers.

use backwater_engine::rng;
use rand::RngExt;

/// Identical flows into one port; the marking curve in bytes.
#[derive(Clone, Copy)]
pub struct Case {
    pub gbps: f64,
    pub flows: usize,
    pub kmin: f64,
    pub kmax: f64,
    pub pmax: f64,
}

/// \[bytes\] of a packet on the wire, and of its payload.
const PACKET: f64 = 1000.0;
const PAYLOAD: f64 = 936.0;
/// \[us\] N, K and T; \[bytes\] B; F; g; \[bytes/us\] Rai and Rhai, for 40 and 400 Mb/s
const N: f64 = 50.0;
const K: f64 = 55.0;
const T: f64 = 55.0;
const B: f64 = 10e6;
const F: u32 = 5;
const G: f64 = 1.0 / 256.0;
const RAI: f64 = 5.0;
const RHAI: f64 = 50.0;

impl Case {
    /// \[bytes/us\]
    fn line(&self) -> f64 {
        self.gbps * 1e3 / 8.0
    }

    fn marked(&self, queue: f64) -> f64 {
        if queue <= self.kmin {
            0.0
        } else if queue >= self.kmax {
            1.0
        } else {
            self.pmax * (queue - self.kmin) / (self.kmax - self.kmin)
        }
    }
}

/// The delay-differential equations of Zhu et al. (SIGCOMM 2015, section 5; CoNEXT 2016), by Euler's method in steps of 1 us: mean and
/// deviation of the queue in KB over the last quarter of `end` us, from equal shares and an empty queue.
pub fn fluid(case: &Case, delay: usize, end: usize) -> (f64, f64) {
    let (line, flows) = (case.line() / PACKET, case.flows as f64);
    let (rai, bytes) = (RAI / PACKET, B / PAYLOAD);
    let (mut rc, mut rt, mut alpha, mut queue) = (line / flows, line / flows, 1.0, 0.0f64);
    let mut marks = vec![0.0; end + 1];
    let mut late = Vec::new();
    for now in 0..end {
        let p: f64 = if now >= delay { marks[now - delay] } else { 0.0 };
        // ln (1 - p); shares of intervals with a mark; rates of stages by bytes and by time, and of those after F stages without a mark.
        let none = (-p.min(0.999_999)).ln_1p();
        let hit = |packets: f64| -(packets * none).exp_m1();
        let stages = |packets: f64| if p > 0.0 { p / (-packets * none).exp_m1() } else { 1.0 / packets };
        let calm = |packets: f64| (f64::from(F) * packets * none).exp();
        let (by_bytes, by_time) = (stages(bytes), stages(T * rc));
        let d_alpha = G / K * (hit(K * rc) - alpha);
        let d_rt = -(rt - rc) / N * hit(N * rc) + rai * rc * (calm(bytes) * by_bytes + calm(T * rc) * by_time);
        let d_rc = -rc * alpha / (2.0 * N) * hit(N * rc) + (rt - rc) / 2.0 * rc * (by_bytes + by_time);
        (alpha, rt, rc) = (alpha + d_alpha, rt + d_rt, (rc + d_rc).min(line));
        queue = (queue + flows * rc - line).max(0.0);
        marks[now + 1] = case.marked(queue * PACKET);
        if now >= end / 4 * 3 {
            late.push(queue * PACKET / 1e3);
        }
    }
    spread(&late)
}

struct Flow {
    rc: f64,
    rt: f64,
    alpha: f64,
    t: u32,
    bc: u32,
    sent: f64,
    alpha_at: f64,
    rate_at: f64,
    cnp_at: f64,
}

impl Flow {
    fn cut(&mut self, now: f64) {
        (self.rt, self.rc) = (self.rc, (self.rc * (1.0 - self.alpha / 2.0)).max(12.5));
        self.alpha = (1.0 - G) * self.alpha + G;
        (self.t, self.bc, self.sent) = (0, 0, 0.0);
        (self.alpha_at, self.rate_at) = (now + K, now + T);
    }

    fn stage(&mut self, line: f64) {
        let (most, least) = (self.t.max(self.bc), self.t.min(self.bc));
        if self.rc >= line {
            return;
        }
        if least > F {
            self.rt += f64::from(least - F) * RHAI;
        } else if most >= F {
            self.rt += RAI;
        }
        self.rc = ((self.rt + self.rc) / 2.0).min(line);
    }
}

/// The law itself, separate for each flow, on a queue that fills by the sum of rates and drains at the line rate. In steps of half a
/// microsecond each flow has a mark with the probability that one of its departing packets would, and learns of it `delay` us later.
/// Returns mean and deviation of the queue in KB from `from` to `end` us.
pub fn law(case: &Case, delay: f64, (from, end): (f64, f64), seed: u64) -> (f64, f64) {
    const STEP: f64 = 0.5;
    let mut chance = rng::stream(seed, "oracle", case.flows as u64);
    let line = case.line();
    let never = f64::INFINITY;
    let flow =
        || Flow { rc: line, rt: line, alpha: 1.0, t: 0, bc: 0, sent: 0.0, alpha_at: never, rate_at: never, cnp_at: -N };
    let mut flows: Vec<Flow> = (0..case.flows).map(|_| flow()).collect();
    let mut heard: std::collections::VecDeque<(f64, usize)> = std::collections::VecDeque::new();
    let (mut queue, mut late) = (0.0f64, Vec::new());
    for step in 0..(end / STEP) as u64 {
        let now = step as f64 * STEP;
        while heard.front().is_some_and(|(at, _)| *at <= now) {
            let Some((_, of)) = heard.pop_front() else { break };
            flows[of].cut(now);
        }
        // Not all synchronous, as in the simulated run.
        let begun = ((now / 37.0) as usize + 1).min(case.flows);
        for flow in &mut flows[..begun] {
            if flow.alpha_at <= now {
                (flow.alpha, flow.alpha_at) = (flow.alpha * (1.0 - G), flow.alpha_at + K);
            }
            if flow.rate_at <= now {
                (flow.t, flow.rate_at) = (flow.t + 1, flow.rate_at + T);
                flow.stage(line);
            }
            flow.sent += flow.rc * STEP * PAYLOAD / PACKET;
            if flow.sent >= B {
                (flow.bc, flow.sent) = (flow.bc + 1, 0.0);
                flow.stage(line);
            }
        }
        let offered: f64 = flows[..begun].iter().map(|flow| flow.rc).sum();
        let departing = line.min(offered + queue / STEP) * STEP / PACKET;
        let p = case.marked(queue);
        for (of, flow) in flows[..begun].iter_mut().enumerate() {
            let marked = 1.0 - (1.0 - p).powf(departing * flow.rc / offered);
            if p > 0.0 && now - flow.cnp_at >= N && chance.random::<f64>() < marked {
                flow.cnp_at = now;
                heard.push_back((now + delay, of));
            }
        }
        queue = (queue + (offered - line) * STEP).max(0.0);
        if now >= from {
            late.push(queue / 1e3);
        }
    }
    spread(&late)
}

/// Mean and deviation.
fn spread(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt())
}
