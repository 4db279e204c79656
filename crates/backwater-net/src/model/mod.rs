//! Everything that a packet meets: the two ends of a link, switches, hosts with their NICs and transports, and the hooks of mechanisms.
//!
//! Code here knows one node at a time ([`node::NodeCx`]); the run handles what concerns several.

pub(crate) mod confinement;
pub(crate) mod event;
pub mod hooks;
pub(crate) mod host;
pub(crate) mod node;
pub(crate) mod own;
pub mod packet;
pub(crate) mod part;
pub(crate) mod port;
pub(crate) mod probe;
pub(crate) mod slab;
pub(crate) mod switch;
pub(crate) mod transport;
pub(crate) mod world;
