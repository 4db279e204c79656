//! Checks whether the settings of mechanisms suit the known incasts of a scenario ([`Mechanism::check_incasts`]).
//!
//! [`Mechanism::check_incasts`]: backwater_net::hooks::Mechanism::check_incasts

use super::{Lacking, overridden};
use crate::error::{ScenarioError, Warning};
use crate::incast::{self, Measure};
use crate::planned::Planned;
use backwater_mech::stack::Select;
use backwater_net::config::SwitchParams;
use backwater_net::hooks::{Incast, Incasts, MemoryCx, Paths, SwitchShape};
use backwater_net::{Bytes, Rate};
use std::cell::OnceCell;
use std::collections::HashMap;

pub(super) fn check(
    planned: &Planned,
    shapes: &[SwitchShape],
    lacking: &mut Lacking,
) -> Result<Vec<Warning>, ScenarioError> {
    let resolved = planned.resolved();
    let known = Known { planned, shapes, incasts: OnceCell::new() };
    let mut warnings: Vec<Warning> = Vec::new();
    for (mechanism, selects) in resolved.mechanisms.overrides() {
        for number in (0..selects.len()).map(Some).chain([None]) {
            let here = Here { known: &known, selects: &selects, number };
            for finding in resolved.mechanisms.check_incasts(mechanism, number, &here) {
                let key = overridden(mechanism, number, finding.key);
                if finding.fatal {
                    let error = resolved.error(&key, finding.reason).hint(finding.hint);
                    lacking.refuse(resolved, &key, error)?;
                    continue;
                }
                let value = resolved.written(&key).unwrap_or_default();
                warnings.push(Warning { key, value, reason: finding.reason, hint: finding.hint });
            }
        }
    }
    Ok(warnings)
}

/// All known incasts, those with the fewest senders first, each with the number of its receiver's switch.
struct Known<'a> {
    planned: &'a Planned,
    shapes: &'a [SwitchShape],
    /// Found at the first mechanism's call.
    incasts: OnceCell<Vec<(incast::KnownIncast, usize)>>,
}

impl Known<'_> {
    fn incasts(&self) -> &[(incast::KnownIncast, usize)] {
        self.incasts.get_or_init(|| {
            let shapes = self.shapes.iter().enumerate();
            let ports = shapes.flat_map(|(number, shape)| shape.ports.iter().map(move |port| (port.host, number)));
            let homes: HashMap<_, _> = ports.filter_map(|(host, number)| Some((host?, number))).collect();
            let mut all = incast::incasts(self.planned);
            all.sort_by_key(|incast| incast.senders.len());
            all.into_iter()
                .filter_map(|incast| Some((homes.get(&incast.receiver).copied()?, incast)).map(|(n, i)| (i, n)))
                .collect()
        })
    }
}

/// The incasts at switches with the same override, or none.
struct Here<'a> {
    known: &'a Known<'a>,
    selects: &'a [&'a Select],
    number: Option<usize>,
}

impl Here<'_> {
    fn switch(&self, shape: &SwitchShape) -> (&SwitchParams, u8) {
        let resolved = self.known.planned;
        let lossless = resolved.resolved().mechanisms.lossless_classes(&shape.name, &shape.tier);
        (resolved.resolved().switch.of(&shape.name, &shape.tier), lossless)
    }
}

impl Incasts for Here<'_> {
    fn all(&self) -> Vec<Incast<'_>> {
        let incasts = self
            .known
            .incasts()
            .iter()
            .enumerate()
            .map(|(number, (incast, at))| (number, incast, &self.known.shapes[*at]));
        let counts =
            |shape: &SwitchShape| self.selects.iter().rposition(|select| select.matches(&shape.name, &shape.tier));
        let here = incasts.filter(|(_, _, shape)| counts(shape) == self.number);
        here.map(|(number, incast, shape)| {
            let (switch, lossless) = self.switch(shape);
            Incast {
                number,
                receiver: self.known.planned.layout.name(incast.receiver),
                shape,
                switch,
                lossless,
                class: incast.class,
                rate: incast.rate,
                senders: incast.senders.len() as u64,
                bytes: Bytes(incast.bytes),
                open: incast.open,
            }
        })
        .collect()
    }

    fn paths(&self, incast: &Incast<'_>) -> Option<Paths> {
        let (found, _) = self.known.incasts().get(incast.number)?;
        let rates: Vec<Rate> = incast.shape.ports.iter().map(|port| port.rate).collect();
        let memory =
            MemoryCx { switch: incast.switch, rates: &rates, kept: incast.lossless, class: Some(incast.class) };
        let (name, tier) = (&incast.shape.name, &incast.shape.tier);
        let pause_threshold = self.known.planned.resolved().mechanisms.pause_threshold(name, tier, &memory);
        let paths = Measure::new(self.known.planned).paths(found)?;
        Some(Paths { pause_threshold, ..paths })
    }

    fn frame(&self) -> Bytes {
        let packet = &self.known.planned.resolved().file.packet;
        packet.payload + packet.header
    }

    fn gap(&self) -> Bytes {
        self.known.planned.resolved().file.packet.gap
    }

    fn is_lossless(&self) -> bool {
        self.known.planned.resolved().file.lossless
    }
}
