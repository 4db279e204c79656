//! The stage: packets, links, ports, gates, buffers, switches, NICs, flows, and the hooks that mechanisms act through.
//!
//! Four modules, each of which may use those before it: [`topology`] (nodes, links and paths), [`workload`] (flows and their starts),
//! `model` (links, switches, hosts, transports, hooks), and `run` (the event loop, the life of flows, probes, threads). Read [`hooks`]
//! first. No code here knows a mechanism by name.

pub mod bench;
pub mod config;
mod model;
pub mod parameters;
pub mod prelude;
pub mod record;
mod run;
pub mod spec;
pub mod topology;
pub mod units;
pub mod workload;

// Declared parameters name it (`#[parameters]`), and some are declared here.
extern crate self as backwater_net;

pub use model::hooks::attachment;
pub use model::port::in_order::FlowMap;
pub use model::port::queues::HostQueues;
pub use model::port::{pause, queues};
pub use model::switch::occupancy;
pub use model::{hooks, packet};
pub use run::parallel::Parallel;
pub use run::{Actors, Network};
pub use topology::address;
pub use units::{Bytes, Rate};
