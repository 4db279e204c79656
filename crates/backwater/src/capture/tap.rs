//! A sink that passes frames to a capture, and everything else to another sink.

use super::Capture;
use backwater_net::record::{Row, Sink};
use std::io::Write;

/// Rows for tables, frames for a capture, if there is one.
pub struct Tap<'a, S: Sink, W: Write> {
    /// Takes all rows but frames.
    pub tables: &'a mut S,
    /// Takes frames.
    pub capture: Option<&'a mut Capture<W>>,
}

impl<S: Sink, W: Write> Sink for Tap<'_, S, W> {
    fn row(&mut self, row: Row<'_>) {
        match (row, &mut self.capture) {
            (Row::Frame(row), Some(capture)) => capture.frame(row),
            (Row::Frame(_), None) => {}
            (row, _) => self.tables.row(row),
        }
    }
}
