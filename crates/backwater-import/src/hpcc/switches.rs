//! Memory, pauses and marks of a configuration as `[switch]`, `[pfc]` and `[ecn]`.

use super::controls::Setting;
use super::ports::{self, Keys, Ports, Scaled};
use crate::error::ImportError;
use crate::note::{NoteKind, Notes};
use crate::scenario_writer::ScenarioWriter;
use crate::units::{rate, size};
use std::collections::{BTreeMap, BTreeSet};

/// Memory for each port, and in conweave-ns3 for each port and class.
const RESERVE: u64 = 4096;
const RESERVE_CONWEAVE: u64 = 1048;
/// A threshold of marks beyond any queue.
const NEVER: u64 = 1 << 40;
/// Octets below the threshold at which a class resumes.
const XON_OFFSET: u64 = 3072;
/// Classes for which a scenario reserves a port's reserve.
const CLASSES: u64 = 8;

impl Setting<'_> {
    /// `[switch]` and `[pfc]`.
    pub fn switches(
        &self,
        ports: &BTreeMap<u32, Ports>,
        pauses: bool,
        notes: &mut Notes,
        writer: &mut ScenarioWriter,
    ) -> Result<(), ImportError> {
        let config = self.config;
        let conweave = config.is_conweave();
        let buffer = config.whole("BUFFER_SIZE", if conweave { 9 } else { 32 })?;
        if buffer == 0 {
            return Err(config.error("BUFFER_SIZE", "is 0: a switch needs memory"));
        }
        if config.word("BUFFER_SIZE").is_none() {
            notes.assumed(config.file(), None, format!("BUFFER_SIZE, which is missing: {buffer} MiB a switch"));
        }
        let nic = self.nic_bps();
        let lossless = if pauses { self.classes.len().max(1) as u64 } else { 0 };
        // The code's whole numbers: rate x delay in octets, rounded down, and then multiplied.
        let headroom = |bps: u64, delay: u64| {
            let octets = (u128::from(bps) * u128::from(delay / 1000) / 8 / 1_000_000_000) as u64;
            if conweave { 2 * octets + 2 * RESERVE_CONWEAVE } else { 3 * octets }
        };
        let sixteenths = |bps: u64| if conweave { 1 } else { 16 >> shift(bps, nic) };
        let (scaled, exact) =
            ports::by_switch(ports, |bps, delay| vec![if pauses { headroom(bps, delay) } else { 0 }, sixteenths(bps)]);
        if !exact {
            let text = "headroom and thresholds of ports that neither are alike nor in proportion to their rate: those of the most \
                        ports of a switch hold for all of it";
            notes.differs(config.file(), None, text);
        }
        writer.head("[switch]").key("architecture", "shared-memory");
        let (reserve, set_aside) = if conweave { (RESERVE_CONWEAVE, 0) } else { (RESERVE, (CLASSES - 1) * RESERVE) };
        writer.key("reserve", size(reserve));
        let keys = |node: &u32, own: &Scaled| -> Keys {
            let there = ports.get(node).map_or(0, |ports| ports.values().map(|n| u64::from(*n)).sum());
            // A scenario reserves headroom for each lossless class, that code for each port.
            let room: u64 = ports
                .get(node)
                .into_iter()
                .flatten()
                .map(|((bps, delay), n)| headroom(*bps, *delay) * u64::from(*n))
                .sum();
            let extra = there * set_aside + room * lossless.saturating_sub(1);
            let mut keys: Keys = vec![("buffer", size((u64::from(buffer) << 20) + extra).into())];
            if pauses {
                keys.push(("headroom", size(own.values[0]).into()));
                keys.push(("headroom_above", (own.values[1] as f64 / 16.0).into()));
                keys.extend(own.reference_bps.map(|bps| ("reference_rate", rate(bps).into())));
            }
            keys
        };
        writer.key("latency", "0 s").key("release_at", "start");
        if !conweave {
            writer.remark("That code sets the reserve aside for each port, this one for each port and class: the buffer is larger by the rest.");
        }
        // A scenario reserves memory and headroom of all ports, and refuses a buffer that is too small for them.
        for (node, own) in &scaled {
            let there = || ports.get(node).into_iter().flatten().map(|((bps, delay), n)| (*bps, *delay, u64::from(*n)));
            let here = |bps: u64| match own.reference_bps {
                Some(reference) => (u128::from(own.values[0]) * u128::from(bps) / u128::from(reference.max(1))) as u64,
                None => own.values[0],
            };
            let aside = |bps: u64| CLASSES * reserve + if pauses { lossless * here(bps) } else { 0 };
            let needed: u64 = there().map(|(bps, _, n)| aside(bps) * n).sum();
            let room: u64 = there().map(|(bps, delay, n)| headroom(bps, delay) * n).sum();
            let extra: u64 = there().map(|(.., n)| set_aside * n).sum::<u64>() + room * lossless.saturating_sub(1);
            let least = needed.saturating_sub(extra);
            if least > u64::from(buffer) << 20 {
                let name = self.fabric.name(*node);
                let reason = format!("MiB are less than reserves and headroom of the ports of {name} take, {least} B");
                return Err(config.error("BUFFER_SIZE", &reason));
            }
        }
        let all = scaled.iter().map(|(node, own)| (*node, keys(node, own))).collect();
        ports::write(writer, "switch", self.fabric, &all);
        if !pauses {
            return Ok(());
        }
        writer.head("[pfc]").key("threshold", "dynamic").key("xon_offset", size(if conweave { 1 } else { XON_OFFSET }));
        writer.key("signal", "on-off");
        if !self.classes.iter().eq([3u8].iter()) && !self.classes.is_empty() {
            let classes: Vec<toml::Value> = self.classes.iter().map(|class| i64::from(*class).into()).collect();
            writer.key("classes", classes);
        }
        if !config.flag("USE_DYNAMIC_PFC_THRESHOLD", true)? {
            let text = "USE_DYNAMIC_PFC_THRESHOLD 0: the switch of that code has dynamic thresholds all the same";
            self.differs(notes, "USE_DYNAMIC_PFC_THRESHOLD", text);
        }
        let (alphas, _) = ports::by_switch(ports, |bps, _| vec![sixteenths(bps)]);
        let keys = |own: &Scaled| -> Keys {
            let mut keys: Keys = vec![("alpha", (own.values[0] as f64 / 16.0).into())];
            keys.extend(own.reference_bps.map(|bps| ("reference_rate", rate(bps).into())));
            keys
        };
        let all = alphas.iter().map(|(node, own)| (*node, keys(own))).collect();
        ports::write(writer, "pfc", self.fabric, &all);
        if conweave {
            let text = "PFC: a pause ends after PAUSE_TIME there and is sent again; here it lasts until it is lifted";
            notes.differs(config.file(), None, text);
        }
        Ok(())
    }

    /// `[ecn]`; `looks`: whether the control uses marks.
    pub fn marks(
        &self,
        ports: &BTreeMap<u32, Ports>,
        looks: bool,
        notes: &mut Notes,
        writer: &mut ScenarioWriter,
    ) -> Result<(), ImportError> {
        let config = self.config;
        if !config.flag("ENABLE_QCN", true)? || !looks {
            for key in ["KMIN_MAP", "KMAX_MAP", "PMAX_MAP"] {
                if let Some(line) = config.line(key) {
                    let text = "thresholds of marking: the control does not look at marks, or ENABLE_QCN is 0";
                    notes.unread(config.file(), Some(line), key, text);
                }
            }
            return Ok(());
        }
        let maps = [config.map("KMIN_MAP")?, config.map("KMAX_MAP")?, config.map("PMAX_MAP")?];
        // NVLink switches do not mark: `NVSwitchNode::SwitchNotifyDequeue` of ns-3-alibabacloud checks no threshold.
        let (nvlink, ports): (BTreeMap<u32, Ports>, BTreeMap<u32, Ports>) =
            ports.clone().into_iter().partition(|(node, _)| self.graph.is_nvlink(*node));
        let rates: BTreeSet<u64> = ports.values().flatten().map(|((bps, _), _)| *bps).collect();
        for (key, map) in ["KMIN_MAP", "KMAX_MAP", "PMAX_MAP"].into_iter().zip(&maps) {
            for bps in map.keys().filter(|bps| !rates.contains(bps)) {
                let alone = nvlink.values().flatten().any(|((own, _), _)| own == bps);
                let who = if alone { "only NVLink switches have, which do not mark" } else { "no switch has" };
                let text = format!("no mark at {}, a rate of links that {who}", rate(*bps));
                notes.named(NoteKind::Differs, config.file(), config.line(key), key, text);
            }
        }
        if ports.is_empty() {
            return Ok(());
        }
        let missing = |(key, map): (&str, &BTreeMap<u64, f64>)| {
            let bps = rates.iter().find(|bps| !map.contains_key(bps))?;
            Some(config.error(key, &format!("has no value for {}, which links have", rate(*bps))))
        };
        if let Some(error) = ["KMIN_MAP", "KMAX_MAP", "PMAX_MAP"].into_iter().zip(&maps).find_map(missing) {
            return Err(error.hint("that code stops there: add the rate in b/s and the value"));
        }
        let of = |map: usize, bps: u64| maps.get(map).and_then(|map| map.get(&bps)).copied().unwrap_or(0.0);
        // KB of 1000 B.
        let octets = |map: usize, bps: u64| (of(map, bps) * 1000.0).round() as u64;
        for bps in &rates {
            if octets(0, *bps) > octets(1, *bps) {
                return Err(config.error("KMIN_MAP", &format!("exceeds KMAX_MAP at {}", rate(*bps))));
            }
            if of(2, *bps) > 1.0 {
                return Err(config.error("PMAX_MAP", "has a probability above 1"));
            }
        }
        let (scaled, mut exact) = ports::by_switch(&ports, |bps, _| vec![octets(0, bps), octets(1, bps)]);
        writer.head("[ecn]");
        let mut keys = |node: &u32, own: &Scaled| -> Keys {
            let shares: Vec<f64> = ports.get(node).into_iter().flatten().map(|((bps, _), _)| of(2, *bps)).collect();
            exact &= shares.windows(2).all(|two| two[0] == two[1]);
            let share = shares.last().copied().unwrap_or(1.0);
            let mut keys: Keys = vec![
                ("kmin", size(own.values[0]).into()),
                ("kmax", size(own.values[1]).into()),
                ("pmax", share.into()),
            ];
            keys.extend(own.reference_bps.map(|bps| ("reference_rate", rate(bps).into())));
            keys
        };
        let mut all: BTreeMap<u32, Keys> = scaled.iter().map(|(node, own)| (*node, keys(node, own))).collect();
        let never = || vec![("kmin", size(NEVER).into()), ("kmax", size(NEVER).into())];
        all.extend(nvlink.keys().map(|node| (*node, never())));
        if !exact {
            let text = "thresholds that neither are alike nor in proportion to the rate: those of the most ports of a switch hold for \
                        all of it";
            self.differs(notes, "KMIN_MAP", text);
        }
        ports::write(writer, "ecn", self.fabric, &all);
        Ok(())
    }

    /// The rate of the first host, which that code uses for all.
    fn nic_bps(&self) -> u64 {
        let first = self.graph.hosts().next();
        let own = self.graph.links.iter().find(|link| Some(link.a) == first || Some(link.b) == first);
        own.map_or(1, |link| link.bps)
    }
}

/// The exponent of the share of free memory that a port may hold, a power of a half: 3, reduced by one for each doubling of its rate above
/// that of the hosts.
fn shift(bps: u64, nic: u64) -> u32 {
    let (mut shift, mut bps) = (3, bps);
    while bps > nic && shift > 0 {
        shift -= 1;
        bps /= 2;
    }
    shift
}
