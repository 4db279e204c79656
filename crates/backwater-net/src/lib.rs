//! The stage: packets, links, ports, gates, buffers, switches, NICs, flows, and the hooks that mechanisms act through.
//!
//! Read [`hooks`] first. Nothing here knows any mechanism by name.

pub mod address;
pub mod bench;
pub mod config;
mod flow;
mod held;
pub mod hold;
pub mod hooks;
mod lineup;
pub mod network;
pub mod occupancy;
pub mod packet;
mod port;
pub mod queues;
pub mod record;
mod routing;
mod slab;
pub mod spec;
pub mod topology;
pub mod units;
mod waits;
pub mod workload;

pub use lineup::FlowMap;
pub use queues::HostQueues;
pub use units::{Bytes, Rate};
