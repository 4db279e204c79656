//! A sink that gives frames to a capture, and all else to another sink.

use super::Capture;
use backwater_net::record::{
    ActivityRow, CollectiveRow, ControlRow, CounterRow, FlowRow, FrameRow, InstanceRow, LoadRow, PauseRow, PortRow,
    QueuePairRow, RoundRow, SeriesRow, Sink, SwitchRow, TransferRow, WaitRow,
};
use std::io::Write;

/// Rows for tables, frames for a capture, if there is one.
pub struct Tap<'a, S: Sink, W: Write> {
    /// Takes all rows but frames.
    pub tables: &'a mut S,
    /// Takes frames.
    pub capture: Option<&'a mut Capture<W>>,
}

impl<S: Sink, W: Write> Sink for Tap<'_, S, W> {
    fn flow(&mut self, row: &FlowRow) {
        self.tables.flow(row);
    }

    fn queue_pair(&mut self, row: &QueuePairRow) {
        self.tables.queue_pair(row);
    }

    fn control(&mut self, row: &ControlRow) {
        self.tables.control(row);
    }

    fn series(&mut self, row: &SeriesRow) {
        self.tables.series(row);
    }

    fn collective(&mut self, row: &CollectiveRow) {
        self.tables.collective(row);
    }

    fn transfer(&mut self, row: &TransferRow) {
        self.tables.transfer(row);
    }

    fn round(&mut self, row: &RoundRow) {
        self.tables.round(row);
    }

    fn instance(&mut self, row: &InstanceRow) {
        self.tables.instance(row);
    }

    fn load(&mut self, row: &LoadRow) {
        self.tables.load(row);
    }

    fn port(&mut self, row: &PortRow) {
        self.tables.port(row);
    }

    fn frame(&mut self, row: &FrameRow) {
        if let Some(capture) = &mut self.capture {
            capture.frame(row);
        }
    }

    fn switch(&mut self, row: &SwitchRow) {
        self.tables.switch(row);
    }

    fn counter(&mut self, row: &CounterRow) {
        self.tables.counter(row);
    }

    fn activity(&mut self, row: &ActivityRow) {
        self.tables.activity(row);
    }

    fn wait(&mut self, row: &WaitRow) {
        self.tables.wait(row);
    }

    fn pause(&mut self, row: &PauseRow) {
        self.tables.pause(row);
    }
}
