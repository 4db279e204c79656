//! Records pauses, each with the frames behind it, and the first drop: what spread, and from where.
//!
//! When a node asks its neighbour to pause, the frames whose departure that pause awaits (`SwitchSide::awaits`) are looked up once. The
//! pause is *behind* the egress queue with most of them. If that queue is paused, or has been since something last began to wait there, the
//! pause of that queue is the cause of this one; otherwise the queue is a root.

use crate::model::packet::{CLASSES, Class};
use crate::record::PauseRow;
use backwater_engine::Time;
use std::collections::BTreeMap;

/// A paused port, and the class, or `CLASSES` for the link.
type Paused = (u32, u8);

/// Requested pauses, and those in force.
#[derive(Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Pauses {
    pub asked: BTreeMap<Paused, PauseRow>,
    /// With their ends, as far as known.
    pub obeyed: BTreeMap<Paused, (PauseRow, Time)>,
}

pub(crate) fn number(class: Option<Class>) -> u8 {
    class.map_or(CLASSES as u8, |class| class.0)
}

impl Pauses {
    /// The run has ended: returns the pauses in force.
    pub(crate) fn close(&mut self, now: Time) -> impl Iterator<Item = PauseRow> {
        let obeyed = std::mem::take(&mut self.obeyed);
        obeyed.into_values().map(move |(row, end)| PauseRow { end: (end <= now).then_some(end), ..row })
    }
}
