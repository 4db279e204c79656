//! The tables of jobs: how their rows become cells.

use super::Cell::{F64, I64, Text, U32, U64};
use super::columns::Table;
use super::{Tables, keep, ps};
use backwater_engine::Time;
use backwater_net::record::{CollectiveRow, InstanceRow, LoadRow, RoundRow, TransferRow};

impl Tables {
    pub(super) fn push_collective(&mut self, row: &CollectiveRow) {
        let duration = row.end.map(|end| end - row.start);
        let bandwidth = |bytes: f64| {
            let seconds = duration.filter(|time| *time > Time::ZERO)?.as_secs_f64();
            Some(bytes * 8.0 / seconds)
        };
        let cells = [
            Text(Some(&row.job)),
            Text(Some(&row.step)),
            Text(Some(row.kind)),
            Text(Some(row.algorithm)),
            U32(Some(row.instance)),
            U64(Some(row.round)),
            U32(Some(row.communicator)),
            U32(Some(row.ranks)),
            I64(Some(ps(row.start))),
            I64(row.end.map(ps)),
            I64(duration.map(ps)),
            U64(Some(row.transfers)),
            U64(Some(row.bytes)),
            F64(Some(row.size_bytes)),
            F64(bandwidth(row.size_bytes)),
            F64(bandwidth(row.bus_bytes)),
            I64(Some(ps(row.bound))),
        ];
        keep(&mut self.error, self.open[Table::Collectives as usize].push(cells));
    }

    pub(super) fn push_transfer(&mut self, row: &TransferRow) {
        let computed = row.release.computed.as_ref().map(ToString::to_string);
        let cells = [
            U64(Some(row.flow)),
            Text(Some(&row.job)),
            Text(Some(&row.step)),
            U32(Some(row.instance)),
            U64(Some(row.round)),
            U32(Some(row.communicator)),
            U32(Some(row.phase)),
            U32(Some(row.src_rank)),
            U32(Some(row.dst_rank)),
            U32(Some(row.src.0)),
            U32(Some(row.dst.0)),
            U64(Some(row.bytes)),
            I64(Some(ps(row.start))),
            I64(row.end.map(ps)),
            U64(row.release.flow),
            Text(computed.as_deref()),
        ];
        keep(&mut self.error, self.open[Table::Transfers as usize].push(cells));
    }

    pub(super) fn push_round(&mut self, row: &RoundRow) {
        let computed = row.release.computed.as_ref().map(ToString::to_string);
        let cells = [
            Text(Some(&row.job)),
            U32(Some(row.instance)),
            U64(Some(row.round)),
            I64(Some(ps(row.start))),
            I64(row.end.map(ps)),
            I64(row.end.map(|end| ps(end - row.start))),
            U64(row.release.flow),
            Text(computed.as_deref()),
        ];
        keep(&mut self.error, self.open[Table::Rounds as usize].push(cells));
    }

    pub(super) fn push_instance(&mut self, row: &InstanceRow) {
        let cells = [
            Text(Some(&row.job)),
            U32(Some(row.instance)),
            U32(Some(row.ranks)),
            U64(Some(row.rounds)),
            U64(Some(row.complete)),
            I64(Some(ps(row.start))),
            I64(row.end.map(ps)),
            I64(row.end.map(|end| ps(end - row.start))),
        ];
        keep(&mut self.error, self.open[Table::Jobs as usize].push(cells));
    }

    pub(super) fn push_load(&mut self, row: &LoadRow) {
        let cells = [
            Text(Some(&row.job)),
            Text(Some(&row.step)),
            Text(Some(self.names.node(row.node))),
            U32(Some(row.port.0.into())),
            Text(Some(self.names.node(row.peer))),
            U64(Some(row.frames)),
            U64(Some(row.bytes)),
            U64(Some(row.payload)),
        ];
        keep(&mut self.error, self.open[Table::JobLinks as usize].push(cells));
    }
}
