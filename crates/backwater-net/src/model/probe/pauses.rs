//! Records pauses, each with what stood behind it, and the first drop: what spread, and from where.
//!
//! When a node asks its neighbour to pause, the frames whose departure that pause awaits (`SwitchSide::awaits`) are looked up once;
//! the egress queue with most of them is what the pause is *behind*. Where that queue is paused itself, or has been since
//! something last began to wait there, the pause behind it is the cause of this one; else this queue is a root.

use crate::model::packet::{CLASSES, Class};
use crate::record::PauseRow;
use backwater_engine::Time;
use std::collections::BTreeMap;

/// A paused port, and the class, or `CLASSES` for the link.
type Paused = (u32, u8);

/// Pauses asked for, and those in force.
#[derive(Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Pauses {
    pub asked: BTreeMap<Paused, PauseRow>,
    /// With their ends, as far as these are known.
    pub obeyed: BTreeMap<Paused, (PauseRow, Time)>,
}

pub(crate) fn number(class: Option<Class>) -> u8 {
    class.map_or(CLASSES as u8, |class| class.0)
}

impl Pauses {
    /// The run is over: gives the pauses in force.
    pub(crate) fn close(&mut self, now: Time) -> impl Iterator<Item = PauseRow> {
        let obeyed = std::mem::take(&mut self.obeyed);
        obeyed.into_values().map(move |(row, end)| PauseRow { end: (end <= now).then_some(end), ..row })
    }
}
