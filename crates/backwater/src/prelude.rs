//! The imports of a program that runs scenarios: `use backwater::prelude::*;`.

pub use crate::{Run, Scenario, ScenarioError, Warning};
pub use backwater_engine::Time;
pub use backwater_net::record::{
    CollectiveRow, ControlRow, FlowRow, PortRow, Progress, SeriesRow, State, SwitchRow, TransferRow,
};
pub use backwater_net::{Bytes, Rate};
