//! Every row that a run hands out, kept.

use backwater_net::record::{
    CollectiveRow, ControlRow, FlowRow, InstanceRow, LoadRow, PauseRow, PortRow, RoundRow, SeriesRow, Sink,
    TransferRow, WaitRow,
};

#[derive(Default)]
pub struct Rows {
    pub flows: Vec<FlowRow>,
    pub series: Vec<SeriesRow>,
    pub ports: Vec<PortRow>,
    pub waits: Vec<WaitRow>,
    pub pauses: Vec<PauseRow>,
    pub collectives: Vec<CollectiveRow>,
    pub transfers: Vec<TransferRow>,
    pub rounds: Vec<RoundRow>,
    pub instances: Vec<InstanceRow>,
    pub loads: Vec<LoadRow>,
}

impl Sink for Rows {
    fn flow(&mut self, row: &FlowRow) {
        self.flows.push(row.clone());
    }
    fn control(&mut self, _: &ControlRow) {}
    fn series(&mut self, row: &SeriesRow) {
        self.series.push(row.clone());
    }
    fn port(&mut self, row: &PortRow) {
        self.ports.push(row.clone());
    }
    fn wait(&mut self, row: &WaitRow) {
        self.waits.push(row.clone());
    }
    fn pause(&mut self, row: &PauseRow) {
        self.pauses.push(row.clone());
    }
    fn collective(&mut self, row: &CollectiveRow) {
        self.collectives.push(row.clone());
    }
    fn transfer(&mut self, row: &TransferRow) {
        self.transfers.push(row.clone());
    }
    fn round(&mut self, row: &RoundRow) {
        self.rounds.push(row.clone());
    }
    fn instance(&mut self, row: &InstanceRow) {
        self.instances.push(row.clone());
    }
    fn load(&mut self, row: &LoadRow) {
        self.loads.push(row.clone());
    }
}
