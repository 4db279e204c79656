//! TOML in, results out: scenario files, their checks, and the runs and advice made from them.
//!
//! ```
//! use backwater::prelude::*;
//!
//! let scenario = Scenario::from_text(
//!     r#"
//!     [topology]
//!     kind = "star"
//!     hosts = 3
//!     rate = "100 Gb/s"
//!     link_delay = "500 ns"
//!
//!     [pfc]
//!     classes = [3]
//!     threshold = "dynamic"
//!
//!     [[flow]]
//!     from = ["h0", "h1"]
//!     to = "h2"
//!     size = "1 MB"
//!     "#,
//!     "incast.toml",
//!     ".".as_ref(),
//! )?;
//! let run = scenario.run(1)?;
//! assert_eq!(run.flows().len(), 2);
//! // 2 MB at 100 Gb/s take 160 us, and their headers a little more.
//! let last = run.flows().iter().filter_map(|flow| flow.fct_last_byte).max();
//! assert!(last > Some(Time::us(160)) && last < Some(Time::us(170)));
//! # Ok::<(), ScenarioError>(())
//! ```
//!
//! A file is read by [`Scenario::load`]. What happens between the two lines:
//!
//! ```text
//! text ──▶ Scenario ── with_variant, with_mechanism, with_set, with_flows ──▶ check() ──▶ Checked ── build() ──▶ Spec ──▶ Network
//!
//! Checked holds Planned, which holds Layout, which holds Resolved
//! ```
//!
//! No user input makes this crate panic: every failure is a [`ScenarioError`].

pub mod advise;
mod build;
pub mod capture;
mod catalog;
mod changes;
mod check;
mod csv_text;
pub mod diverge;
mod error;
mod explain;
mod faults;
pub mod file;
mod flows;
mod graph;
mod hosts;
mod incast;
mod inputs;
mod job_graphs;
mod jobs;
mod layout;
mod links;
mod live;
pub mod load;
mod matrix;
mod nccl;
mod nics;
pub mod operations;
mod pinned_paths;
mod pipeline;
mod plan;
mod planned;
pub mod prelude;
mod queue_pairs;
mod resolved;
pub mod results;
pub mod resume_changes;
mod run;
mod scenario;
mod schema;
mod silicon;
pub mod table;
pub mod topology_view;
mod tree;

pub use build::build;
pub use catalog::{Item, items, new_scenario, version};
pub use changes::Skipped;
pub use check::{Checked, Draft};
pub use error::{ScenarioError, Warning};
pub use explain::{Explain, explain, keys, schema};
pub use inputs::TableFlow;
pub use layout::Layout;
pub use live::{Advanced, LARGEST_MESSAGE, Live, LiveOptions, Nowhere, Occurred, What};
pub use planned::Planned;
pub use resolved::{Resolved, ResolvedValue};
pub use run::Run;
pub use scenario::Scenario;
pub use silicon::chips;
