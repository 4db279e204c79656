//! Laws that hold for every scenario.

use super::dice::Dice;
use super::run::{How, Outcome, Passage, Rows, SAMPLES, Sum, What, run};
use backwater::Checked;
use backwater::file::FaultEntry;
use backwater_engine::Time;
use backwater_mech::mac_control::Counter;
use backwater_mech::pfc::Action;
use backwater_net::config::Victim;
use backwater_net::config::{Architecture, BufferPer};
use backwater_net::packet::{NodeId, Port};
use backwater_net::record::{FlowRow, QueuePairRow, State};
use backwater_net::topology::Topology;
use backwater_net::topology::{Graph, PortEnd};
use backwater_net::{Bytes, Rate};
use std::collections::BTreeMap;

/// A law that does not hold: its name, and the observation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    pub law: &'static str,
    pub seen: String,
}

type Held = Result<(), Breach>;

/// \[bytes\] Upper bound of the length of a mechanism's message.
const MESSAGE: u64 = 2_000;

fn breach(law: &'static str, seen: impl Into<String>) -> Held {
    Err(Breach { law, seen: seen.into() })
}

fn holds(law: &'static str, holds: bool, seen: impl FnOnce() -> String) -> Held {
    if holds { Ok(()) } else { breach(law, seen()) }
}

/// Runs a scenario three times and checks all laws. Returns the number of events of the first run, or the time at which a run with too many
/// is to be cut off.
///
/// # Errors
/// The first law that does not hold.
pub fn judge(resolved: &Checked, most: u64, dice: &mut Dice) -> Result<Judged, Breach> {
    let runs = |how, most, dice: &mut Dice| {
        run(resolved, how, most, dice).map_err(|seen| Breach { law: "what check accepts runs", seen })
    };
    let plain = runs(How::Plain, most, dice)?;
    if !plain.ended {
        return Ok(Judged::TooLong(plain.progress.time));
    }
    // Samples are events, too, and so are the ends of captured frames.
    let most = plain.progress.events + plain.progress.hops + SAMPLES + 1_000;
    let (sliced, full) = (How::Sliced(plain.now), How::Full(plain.now));
    let sliced = runs(sliced, most, dice)?;
    holds("a run ends with outputs as it does without", sliced.ended, || format!("{:?}", sliced.progress))?;
    same(&plain, &sliced, "a run in slices is the same run")?;
    let full = runs(full, most, dice)?;
    holds("a run ends with outputs as it does without", full.ended, || format!("{:?}", full.progress))?;
    same(&plain, &full, "outputs, captures and calls for every frame change nothing")?;
    let laws = Laws::new(resolved, &full);
    laws.all()?;
    Ok(Judged::Good { events: plain.progress.events })
}

/// The outcome of a judgement without a breach.
pub enum Judged {
    Good {
        events: u64,
    },
    /// It has to be cut off here.
    TooLong(Time),
}

fn same(a: &Outcome, b: &Outcome, law: &'static str) -> Held {
    // The number of events may differ: see `judge`.
    let of = |outcome: &Outcome| backwater_net::record::Progress { events: 0, ..outcome.progress };
    holds(law, a.broken == b.broken, || format!("{:?} / {:?}", a.broken, b.broken))?;
    holds(law, a.fingerprint == b.fingerprint, || {
        format!("fingerprints {:016x} / {:016x}", a.fingerprint, b.fingerprint)
    })?;
    holds(law, of(a) == of(b), || format!("{:?} / {:?}", a.progress, b.progress))?;
    holds(law, a.deadlock == b.deadlock, || format!("{:?} / {:?}", a.deadlock, b.deadlock))?;
    rows(law, "flows", &a.rows.flows, &b.rows.flows)?;
    rows(law, "control", &a.rows.control, &b.rows.control)?;
    rows(law, "ports", &a.rows.ports, &b.rows.ports)?;
    rows(law, "switches", &a.rows.switches, &b.rows.switches)?;
    rows(law, "counters", &a.rows.counters, &b.rows.counters)?;
    rows(law, "activity", &a.rows.activity, &b.rows.activity)?;
    rows(law, "collectives", &a.rows.collectives, &b.rows.collectives)
}

fn rows<T: PartialEq + std::fmt::Debug>(law: &'static str, table: &str, a: &[T], b: &[T]) -> Held {
    holds(law, a.len() == b.len(), || format!("{} / {} rows of {table}", a.len(), b.len()))?;
    match a.iter().zip(b).find(|(a, b)| a != b) {
        Some((a, b)) => breach(law, format!("{table}: {a:?} / {b:?}")),
        None => Ok(()),
    }
}

struct Laws<'a> {
    resolved: &'a Checked,
    graph: &'a Graph,
    out: &'a Outcome,
    rows: &'a Rows,
    ends: Vec<Vec<PortEnd>>,
    /// Links become slower or faster, fail or come back, and may lose frames.
    rates_change: bool,
    links_fail: bool,
    frames_vanish: bool,
    /// A host pauses regardless of its buffer, perhaps until the run ends.
    storms: bool,
    /// Links have retransmitted frames.
    sent_again: bool,
    /// Waiting packets may give way to others.
    some_give_way: bool,
    /// Nothing was lost in any way.
    nothing_lost: bool,
    /// \[bytes\] trimmed from packets, by switch: the switch neither loses nor delivers these.
    cut: BTreeMap<NodeId, u64>,
    /// Nothing ended the run prematurely.
    not_cut: bool,
    /// Messages share connections.
    kept: bool,
}

impl<'a> Laws<'a> {
    fn new(resolved: &'a Checked, out: &'a Outcome) -> Laws<'a> {
        let file = &resolved.resolved().file;
        let faults = |of: fn(&FaultEntry) -> bool| file.fault.iter().any(of);
        let links_fail =
            faults(|f| matches!(f, FaultEntry::LinkDown(_) | FaultEntry::LinkUp(_) | FaultEntry::LinkFlap(_)));
        let progress = &out.progress;
        // Frames that links retransmit arrive, except those that they give up.
        let given_up = out.rows.counters.iter().any(|row| row.counter == "llr_flushes" && row.value > 0);
        let repaired = resolved.resolved().mechanisms.llr.is_some() && !given_up;
        let mut cut = BTreeMap::new();
        for row in out.rows.counters.iter().filter(|row| row.counter == "trimmed_bytes") {
            *cut.entry(row.node).or_default() += row.value;
        }
        Laws {
            resolved,
            graph: &resolved.layout().graph,
            out,
            rows: &out.rows,
            ends: resolved.layout().graph.ports().unwrap_or_default(),
            rates_change: faults(|f| matches!(f, FaultEntry::RateChange(_))),
            links_fail,
            storms: faults(|f| matches!(f, FaultEntry::PauseStorm(_))),
            frames_vanish: links_fail
                || !repaired && faults(|f| matches!(f, FaultEntry::Loss(_) | FaultEntry::DropNth(_))),
            some_give_way: resolved.resolved().switch.all().any(|params| params.victim == Victim::Either)
                || resolved
                    .resolved()
                    .mechanisms
                    .trim
                    .as_ref()
                    .is_some_and(|trim| trim.all().any(|params| params.victim == Victim::Either)),
            sent_again: resolved.resolved().mechanisms.llr.is_some() && progress.fault_losses > 0,
            nothing_lost: progress.drops + progress.flushed == 0
                && (progress.fault_losses == 0 || repaired && !links_fail),
            cut,
            not_cut: file.stop.when.is_none()
                && file.stop.at.is_none()
                && out.broken.is_none()
                && out.deadlock.is_none(),
            kept: file.flow.iter().any(|group| group.keep_queue_pairs)
                || file.job.iter().any(|job| job.keep_queue_pairs),
        }
    }

    fn all(&self) -> Held {
        self.a_run_ends_for_a_reason()?;
        self.no_loss_where_promised()?;
        self.counters_agree()?;
        self.flows()?;
        self.jobs()?;
        self.links()?;
        self.switches()?;
        self.waits()?;
        self.rest()
    }

    fn of_switch(&self, node: NodeId) -> &backwater_net::config::SwitchParams {
        let about = &self.graph.nodes[node.0 as usize];
        self.resolved.resolved().switch.of(&about.name, &about.tier)
    }

    fn name(&self, node: NodeId) -> &str {
        &self.graph.nodes[node.0 as usize].name
    }

    /// A cycle of pauses is possible only if links form a cycle, if an egress pauses all arrivals, or if frames for different ports share a
    /// queue.
    fn may_deadlock(&self) -> bool {
        let mechanisms = &self.resolved.resolved().mechanisms;
        // The paths of all other built-in topologies go up and then down.
        let cyclic = matches!(self.resolved.resolved().file.topology, Topology::Explicit(_) | Topology::Dragonfly(_))
            && self.graph.links.len() >= self.graph.nodes.len();
        let at_egress = mechanisms.pfc.as_ref().is_some_and(|pfc| pfc.all().any(|p| p.counter != Counter::Ingress))
            || mechanisms.pause.as_ref().is_some_and(|pause| pause.all().any(|p| p.counter != Counter::Ingress));
        cyclic || at_egress || self.frames_vanish
    }

    fn a_run_ends_for_a_reason(&self) -> Held {
        let law = "a run ends for a reason";
        if let Some(deadlock) = &self.out.deadlock {
            holds(law, self.may_deadlock(), || format!("deadlock without a cycle: {deadlock:?}"))?;
        }
        let Some(broken) = &self.out.broken else { return Ok(()) };
        let deadlock = self.out.deadlock.is_some() && broken.reason.contains("deadlock");
        let promise = broken.reason.contains("lossless");
        let stall = broken.reason.contains("no flow has got further");
        holds(law, deadlock || promise || stall || self.links_fail, || format!("{}: {}", broken.time, broken.reason))?;
        holds(law, !stall || !self.nothing_lost || self.storms || self.out.deadlock.is_some(), || {
            format!("nothing was lost, yet: {}", broken.reason)
        })
    }

    /// `lossless`, accepted without a warning that restricts the promise, and without faults that the headroom does not cover.
    fn no_loss_where_promised(&self) -> Held {
        let file = &self.resolved.resolved().file;
        let taken_back = self.resolved.warnings.iter().any(|w| w.key == "lossless" || w.key.ends_with("watchdog"));
        let drops = self.resolved.resolved().mechanisms.pfc.as_ref();
        let watchdog =
            drops.is_some_and(|pfc| pfc.all().any(|p| p.watchdog.is_some() && p.watchdog_action == Action::Drop));
        // Check ensures that data and acknowledgements travel in classes that are kept everywhere; messages in others may take the memory
        // of both.
        let paused = self.graph.switches().fold(u8::MAX, |bits, node| {
            let about = &self.graph.nodes[node.0 as usize];
            bits & self.resolved.resolved().mechanisms.lossless_classes(&about.name, &about.tier)
        });
        let beside = |p: &Passage| p.what == What::Control && paused & (1 << p.class) == 0;
        if self.rows.passed.keys().any(beside) {
            return Ok(());
        }
        if !file.lossless || taken_back || watchdog || self.frames_vanish || self.rates_change {
            return Ok(());
        }
        let reported = || self.out.broken.as_ref().map_or_else(String::new, |broken| broken.reason.clone());
        holds("nothing is dropped where that is promised", self.out.progress.drops == 0, reported)
    }

    fn sum(&self, of: impl Fn(&backwater_net::record::PortStats) -> u64) -> u64 {
        self.rows.ports.iter().map(|row| of(&row.stats)).sum()
    }

    /// The counts of ports equal those of the run.
    fn counters_agree(&self) -> Held {
        let (law, progress) = ("counters agree", &self.out.progress);
        for (name, ports, run) in [
            ("drops", self.sum(|s| s.drop_frames), progress.drops),
            ("fault losses", self.sum(|s| s.fault_frames), progress.fault_losses),
            ("flushed", self.sum(|s| s.flushed_frames), progress.flushed),
            ("hops", self.sum(|s| s.tx_frames), progress.hops),
            ("data hops", self.sum(|s| s.tx_data_frames), progress.data_hops),
        ] {
            holds(law, ports == run, || format!("{name}: {ports} at ports, {run} in the run"))?;
        }
        let (at_ports, at_flows) =
            (self.sum(|s| s.marked_frames), self.rows.flows.iter().map(|f| f.marked).sum::<u64>());
        let reported = || format!("{at_flows} packets came marked, and ports marked {at_ports}");
        holds(law, at_ports >= at_flows, reported)?;
        // A packet is marked once on its path. Marked packets are missing if they are lost, or do not count: those that come twice, or too late.
        let once = self.rows.flows.iter().all(|row| self.complete(row) && row.retransmitted == 0);
        let counted = self.nothing_lost && progress.fault_losses == 0 && once;
        holds("a packet is marked once", at_ports == at_flows || !counted, reported)?;
        let of_state = |state: fn(&State) -> bool| self.rows.flows.iter().filter(|f| state(&f.state)).count() as u64;
        let (complete, failed) = (of_state(|s| *s == State::Complete), of_state(|s| *s == State::Failed));
        let active = of_state(|s| matches!(s, State::Unfinished(_)));
        let seen = (complete, failed, active);
        let counted = (progress.flows_done, progress.flows_failed, progress.flows_active);
        holds(law, seen == counted, || format!("rows {seen:?}, run {counted:?} (complete, failed, under way)"))?;
        for row in &self.rows.ports {
            let paused = Time(row.stats.paused_ps);
            holds(law, paused <= self.now(), || {
                format!("{} was paused for {paused} of {}", self.name(row.node), self.now())
            })?;
        }
        Ok(())
    }

    /// Timers that expire after everything has ended are no part of the run, but pauses may be.
    fn now(&self) -> Time {
        let ended = self.rows.pauses.iter().filter_map(|pause| pause.end).max().unwrap_or_default();
        self.out.progress.time.max(ended)
    }

    fn flows(&self) -> Held {
        let payload = self.resolved.resolved().file.packet.payload.0;
        // If the frame that ends an on-off pause is lost nothing continues, and unsent frames have no timers. The same holds for a storm of
        // pauses without an end.
        let held_for_ever =
            (self.frames_vanish || self.storms) && self.rows.pauses.iter().any(|pause| pause.end.is_none());
        let recovers = self.resolved.resolved().file.transport.retransmits() && !held_for_ever;
        let mut ids: Vec<u64> = self.rows.flows.iter().map(|row| row.id).collect();
        ids.dedup();
        holds("one row for each flow", ids.len() == self.rows.flows.len(), || "an identity comes twice".into())?;
        for row in &self.rows.flows {
            let reported = || format!("{row:?}");
            holds("bytes are delivered once", row.received <= row.bytes, reported)?;
            let [sent, came] = self.rows.of_flow.get(&row.id).copied().unwrap_or_default();
            // A retransmission may leave when its flow has ended; then its owner is unknown.
            let late = row.retransmitted > 0 || !self.complete(row);
            let more = self.sent_again && row.packets < sent;
            holds("packets are sent as rows say", row.packets == sent || late && row.packets > sent || more, || {
                format!("{sent} left the source: {row:?}")
            })?;
            holds("packets come from somewhere", came <= sent, || format!("{sent} left, {came} came: {row:?}"))?;
            if self.complete(row) {
                holds("what is complete is there", row.received == row.bytes && row.fct_last_byte.is_some(), reported)?;
                let alone = u64::from(row.ideal.is_some());
                let packets = |bytes: u64| bytes.div_ceil(payload).max(alone);
                let least = match self.queue_pairs(row).map(|pair| packets(pair.bytes)).sum() {
                    0 => packets(row.bytes),
                    over_several => over_several,
                };
                holds("no packet too many", row.packets == least + row.retransmitted, reported)?;
            }
            if let (Some(byte), Some(ack)) = (row.fct_last_byte, row.fct_last_ack) {
                holds("acknowledgements come after bytes", ack >= byte, reported)?;
            }
            self.in_order(row)?;
            self.fast_enough_is_too_fast(row)?;
            if self.nothing_lost && self.not_cut && !held_for_ever {
                // A timeout below the round trip fails flows without losses.
                let timeouts = self.timeouts(row);
                let gave_up = self.resolved.resolved().file.transport.retries.is_some_and(|most| timeouts > most);
                let failed = row.state == State::Failed && gave_up;
                holds("what is not lost arrives", self.complete(row) || failed, reported)?;
                let known = self.cut.is_empty() && timeouts == 0 && row.reordered == 0;
                // SLEEK takes packets for lost that left after a probe that is answered promptly, as `htsim_uec` does.
                let inferred = row.retransmitted <= row.inferred;
                holds("nothing is retransmitted without a loss", inferred || !known, reported)?;
            }
            if recovers && self.not_cut {
                holds("what recovers completes or fails", !matches!(row.state, State::Unfinished(_)), reported)?;
            }
        }
        Ok(())
    }

    /// Returns the rows of a message's queue pairs, if it uses several.
    fn queue_pairs(&self, row: &FlowRow) -> impl Iterator<Item = &QueuePairRow> {
        let id = row.id;
        self.rows.queue_pairs.iter().filter(move |pair| pair.id == id)
    }

    /// Timeouts of a flow, or of all messages that may have shared its connection.
    fn timeouts(&self, row: &FlowRow) -> u32 {
        let of_group = self.rows.flows.iter().filter(|other| other.group == row.group);
        let alike = of_group.filter(|other| (other.src, other.dst) == (row.src, row.dst));
        if self.kept { alike.map(|other| other.timeouts).sum() } else { row.timeouts }
    }

    fn complete(&self, row: &FlowRow) -> bool {
        row.state == State::Complete
    }

    /// Each flow has one path and nothing is retransmitted.
    fn in_order(&self, row: &FlowRow) -> Held {
        let sprays = self.resolved.resolved().mechanisms.reorders().is_some()
            || self.resolved.resolved().mechanisms.flowlet.is_some();
        let moves = sprays || self.links_fail;
        let again = row.retransmitted > 0 || row.timeouts > 0;
        holds("one way keeps the order", row.reordered == 0 || moves || again, || format!("{row:?}"))
    }

    /// Nothing is faster than alone on its path, and than its own link.
    fn fast_enough_is_too_fast(&self, row: &FlowRow) -> Held {
        let (Some(fct), false) = (row.fct_last_byte, self.rates_change) else { return Ok(()) };
        // Paths of different lengths: the ideal time is that of one of them.
        let one_way = self.resolved.resolved().mechanisms.reorders().is_none()
            && self.resolved.resolved().mechanisms.flowlet.is_none()
            && !self.links_fail;
        if let Some(ideal) = row.ideal.filter(|_| one_way) {
            holds("no flow is faster than alone", fct >= ideal, || format!("ideal {ideal}: {row:?}"))?;
        }
        if self.resolved.resolved().file.packet.clock.is_some() {
            // Times on links are rounded down with a clock.
            return Ok(());
        }
        let hosts: Vec<NodeId> = self.graph.hosts().collect();
        for host in [row.src, row.dst] {
            let links = self.ends[hosts[host.0 as usize].0 as usize].iter().map(|end| end.link);
            let rates = links.map(|link| self.graph.links[link as usize].fastest());
            // Queue pairs of a message may have a link each, and so may its frames if switches choose for each.
            let fastest = match one_way && self.queue_pairs(row).count() < 2 {
                true => rates.max().unwrap_or(Rate(1)),
                false => Rate(rates.map(|rate| rate.0).sum()),
            };
            let least = fastest.time_for(Bytes(row.received));
            holds("no flow is faster than its links", fct >= least, || format!("{least} on the wire: {row:?}"))?;
        }
        Ok(())
    }

    fn jobs(&self) -> Held {
        let all_there = self.nothing_lost && self.not_cut && !self.storms && self.out.progress.flows_failed == 0;
        for row in &self.rows.instances {
            holds("jobs complete", row.end.is_some() || !all_there, || format!("{row:?}"))?;
        }
        for row in &self.rows.collectives {
            holds("collectives complete", row.end.is_some() || !all_there, || format!("{row:?}"))?;
            if let (Some(end), false) = (row.end, self.rates_change) {
                let took = end.since(row.start);
                holds("no collective is faster than its bound", took >= row.bound, || format!("{took}: {row:?}"))?;
            }
        }
        Ok(())
    }

    fn passed(&self, node: NodeId, port: Port, outbound: bool, wanted: impl Fn(&Passage) -> bool) -> Sum {
        let of = |p: &Passage| p.node == node && p.port == port && p.outbound == outbound && wanted(p);
        self.rows
            .passed
            .iter()
            .filter(|(p, _)| of(p))
            .fold(Sum::default(), |sum, (_, one)| Sum { frames: sum.frames + one.frames, bytes: sum.bytes + one.bytes })
    }

    /// Departures of a port arrive at the other end, class by class, and no faster than the link allows.
    fn links(&self) -> Held {
        let packet = &self.resolved.resolved().file.packet;
        let stats: BTreeMap<_, _> = self.rows.ports.iter().map(|row| ((row.node.0, row.port.0), &row.stats)).collect();
        for (node, ends) in (0u32..).map(NodeId).zip(&self.ends) {
            for (port, end) in (0u16..).map(Port).zip(ends) {
                let Some(stats) = stats.get(&(node.0, port.0)) else { continue };
                let place = || format!("{} port {} to {}", self.name(node), port.0, self.name(end.peer));
                let mut missing = 0;
                for class in 0..8 {
                    for what in [What::Data, What::Ack, What::Control] {
                        let here = |p: &Passage| p.class == class && p.what == what;
                        let sent = self.passed(node, port, true, here);
                        let came = self.passed(end.peer, end.peer_port, false, here);
                        let (frames, bytes) = (sent.frames >= came.frames, sent.bytes >= came.bytes);
                        holds("links make no frames", frames && bytes, || {
                            format!("{what:?} of class {class}, {}: {sent:?} sent, {came:?} came", place())
                        })?;
                        missing += sent.frames - came.frames;
                    }
                }
                let lost = stats.fault_frames;
                let at_rest = self.out.unrest.is_empty();
                holds("links lose what faults take", missing <= lost || !at_rest, || {
                    format!("{}: {missing} missing, {lost} lost", place())
                })?;
                let data = self.passed(node, port, true, |p| p.what == What::Data).frames;
                let begun = u64::from(!at_rest);
                let (whole, cut) = (stats.tx_data_frames, stats.tx_cut_frames);
                holds("frames on links are counted", (data..=data + begun).contains(&(whole + cut)), || {
                    format!("{}: {data} data frames left, {whole} counted whole and {cut} cut", place())
                })?;
                holds("only a mechanism cuts", cut == 0 || !self.cut.is_empty(), || format!("{}: {cut} cut", place()))?;
                if self.rates_change {
                    continue;
                }
                let rate = self.graph.links[end.link as usize].rate_from(node);
                let clock = packet.clock.unwrap_or_default();
                let left = self.rows.left.get(&(node, port)).map_or(&[][..], Vec::as_slice);
                for pair in left.windows(2) {
                    let took = pair[1].0.since(pair[0].0).after(clock);
                    let least = rate.time_for(Bytes(u64::from(pair[1].1)));
                    holds("links are busy at most all the time", took >= least, || {
                        format!("{}: {} B at {} in {took} after the frame before", place(), pair[1].1, pair[1].0)
                    })?;
                }
            }
        }
        Ok(())
    }

    /// A frame that enters a switch leaves it, is lost there, or is still there.
    fn switches(&self) -> Held {
        let at_rest = self.out.unrest.is_empty();
        for node in self.graph.switches() {
            let about = self.of_switch(node);
            let (mut came, mut left, mut lost) = (Sum::default(), Sum::default(), 0);
            let routed = |p: &Passage| p.what != What::Control;
            for row in self.rows.ports.iter().filter(|row| row.node == node) {
                let (incoming, outgoing) =
                    (self.passed(node, row.port, false, routed), self.passed(node, row.port, true, routed));
                (came.frames, came.bytes) = (came.frames + incoming.frames, came.bytes + incoming.bytes);
                (left.frames, left.bytes) = (left.frames + outgoing.frames, left.bytes + outgoing.bytes);
                lost += row.stats.drop_frames + row.stats.flushed_frames;
                let place = || format!("{} port {}", self.name(node), row.port.0);
                // Frames that have crossed a crossbar use separate memory (`switch.staging`).
                let crossbar = matches!(about.architecture, Architecture::InputQueued | Architecture::Voq);
                // A queue counts the switch's own frames, which use no buffer: at the end some of them may not have left.
                let sent = self.passed(node, row.port, true, |p| p.what == What::Control).bytes;
                let unsent = if at_rest {
                    0
                } else {
                    MESSAGE * self.rows.control.iter().filter(|r| r.node == node).count() as u64
                };
                // Queues with frames that give way may be longer than this.
                let frame = self.resolved.resolved().file.packet.payload + self.resolved.resolved().file.packet.header;
                let longer = if self.some_give_way { frame } else { Bytes::ZERO };
                let more = Bytes(sent + unsent) + longer;
                // Memories of egress ports and of queues are in proportion to the rate.
                let link = self.ends[node.0 as usize][usize::from(row.port.0)].link;
                let rate = self.graph.links[link as usize].rate_from(node);
                let own = |size: Bytes| size.at_rate(rate, about.reference_rate);
                let queues = about.queue_buffers.unwrap_or([about.buffer; 8]);
                let all = queues.iter().fold(0, |sum: u64, one| sum.saturating_add(own(*one).0));
                let (limit, most) = match about.buffer_per {
                    BufferPer::Ingress => (about.buffer, row.stats.max_ingress_bytes),
                    BufferPer::Egress if !crossbar => (own(about.buffer) + more, row.stats.max_egress_bytes),
                    BufferPer::Queue if !crossbar => (Bytes(all) + more + longer * 7, row.stats.max_egress_bytes),
                    BufferPer::Switch => (about.memory_of(0), row.stats.max_ingress_bytes),
                    _ => continue,
                };
                holds("memory holds no more than there is", most <= limit.0, || {
                    format!("{}: {most} B of {limit}", place())
                })?;
            }
            if self.sent_again {
                continue;
            }
            let reported = || format!("{}: {came:?} came, {left:?} left, {lost} lost", self.name(node));
            holds("switches make no frames", came.frames >= left.frames && came.bytes >= left.bytes, reported)?;
            let gone = came.frames.saturating_sub(left.frames);
            // Frames that wait for a failed link, or without a path, are counted as lost elsewhere.
            holds("switches lose what they count", gone <= lost || !at_rest || self.links_fail, reported)?;
            let cut = self.cut.get(&node).copied().unwrap_or_default();
            let kept = gone > 0 || came.bytes == left.bytes + cut;
            holds("switches lose no bytes without frames but what they cut off", kept, reported)?;
        }
        Ok(())
    }

    /// A flow waits for no longer than it takes, and for a fabric only if one takes time.
    fn waits(&self) -> Held {
        let mut sums: BTreeMap<u64, Time> = BTreeMap::new();
        for row in &self.rows.waits {
            *sums.entry(row.flow).or_default() += row.time;
            if row.cause == "fabric" {
                let about = self.of_switch(row.node);
                let crossbar = matches!(about.architecture, Architecture::InputQueued | Architecture::Voq);
                holds("only a fabric is waited for", crossbar || about.latency > Time::ZERO, || format!("{row:?}"))?;
            }
        }
        for row in &self.rows.flows {
            let waited = sums.get(&row.id).copied().unwrap_or_default();
            let took = row.fct_last_byte.unwrap_or_else(|| self.now().since(row.start));
            holds("no flow waits for longer than it takes", waited <= took, || format!("{waited} of {took}: {row:?}"))?;
        }
        Ok(())
    }

    /// When everything has ended nothing is left.
    fn rest(&self) -> Held {
        if !self.not_cut || self.frames_vanish || self.storms || self.out.progress.flows_active > 0 {
            return Ok(());
        }
        holds("all comes to rest", self.out.unrest.is_empty(), || self.out.unrest.join("; "))?;
        let open = self.rows.pauses.iter().find(|pause| pause.end.is_none());
        holds("all comes to rest", open.is_none(), || format!("a pause has no end: {open:?}"))
    }
}
