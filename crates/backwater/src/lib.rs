//! TOML in, results out: scenario files, their checks, and the runs and advice made from them.
//!
//! ```text
//! text ──▶ Scenario ── with_variant, with_mechanism, with_set, with_flows ──▶ check() ──▶ Checked ── build() ──▶ Spec ──▶ Network
//!
//! Checked holds Planned, which holds Layout, which holds Resolved
//! ```
//!
//! Nothing here panics on what a user gives, whatever it is: every failure is a [`ScenarioError`].

pub mod advise;
mod build;
pub mod capture;
mod cells;
mod changes;
mod check;
pub mod diverge;
mod error;
mod explain;
mod faults;
pub mod file;
mod flows;
pub mod fork;
mod given;
mod graph;
mod hosts;
mod incast;
mod items;
mod job_graphs;
mod jobs;
mod layout;
mod links;
pub mod load;
mod matrix;
mod nics;
pub mod operations;
mod pipeline;
mod plan;
mod planned;
mod queue_pairs;
mod resolved;
pub mod results;
mod scenario;
mod schema;
pub mod sketch;
pub mod table;
mod tree;
mod ways;

pub use build::build;
pub use changes::Skipped;
pub use check::{Checked, Draft};
pub use error::{ScenarioError, Warning};
pub use explain::{Explain, explain, keys, schema};
pub use given::TableFlow;
pub use items::{Item, items, new_scenario, version};
pub use layout::Layout;
pub use planned::Planned;
pub use resolved::{Resolved, ResolvedValue};
pub use scenario::Scenario;
