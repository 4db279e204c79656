//! The stage: packets, links, ports, gates, buffers, switches, NICs, flows, and the hooks that mechanisms act through.
//!
//! Read [`hooks`] first. Nothing here knows any mechanism by name.

pub mod address;
#[cfg(test)]
mod alone;
pub mod attachment;
pub mod bench;
pub mod config;
mod confinement;
mod event;
mod flow_spec;
pub mod hooks;
mod host;
mod levels;
mod node;
pub mod packet;
pub mod parameters;
mod part;
mod place;
mod port;
pub mod prelude;
mod probe;
mod reach;
pub mod record;
mod routing;
mod run;
mod slab;
pub mod spec;
mod switch;
pub mod topology;
mod transport;
pub mod units;
pub mod workload;
mod world;

// Declared parameters name it (`#[parameters]`), and some are declared here.
extern crate self as backwater_net;

pub use port::lineup::FlowMap;
pub use port::queues::HostQueues;
pub use port::{hold, queues};
pub use run::parallel::Parallel;
pub use run::{Actors, Network};
pub use switch::occupancy;
pub use units::{Bytes, Rate};
