//! What the file of a mechanism imports: `use backwater_net::prelude::*;`.

pub use crate::attachment::Attachment;
pub use crate::hooks::*;
pub use crate::packet::{Class, Control, FlowRef, HostId, NodeId, Packet, Port, Queue};
pub use crate::units::{Bytes, Rate};
pub use backwater_derive::{State, hooks, parameters};
pub use backwater_engine::{Rng, Time};
