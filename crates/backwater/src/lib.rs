//! TOML in, results out: scenario files, their checks, and the runs and advice made from them.
//!
//! ```text
//! text ──▶ Scenario ── with_variant, with_set, with_flows ──▶ resolve() ──▶ Resolved ── build() ──▶ Spec ──▶ Network
//! ```
//!
//! Nothing here panics on what a user gives, whatever it is: every failure is a [`ScenarioError`].

pub mod advise;
mod build;
mod error;
mod explain;
pub mod file;
mod items;
mod resolved;
pub mod results;
mod scenario;
pub mod table;

pub use build::build;
pub use error::{ScenarioError, Warning};
pub use explain::{Explain, explain, schema};
pub use items::{Item, items, new_scenario, version};
pub use resolved::{Resolved, ResolvedValue};
pub use scenario::{Scenario, TableFlow};
