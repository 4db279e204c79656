//! What the file of a mechanism imports: `use backwater_net::prelude::*;`.

pub use crate::attachment::Attachment;
pub use crate::hooks::{
    Absent, Account, Ack, Advice, AdviceError, AdviceForm, Awaits, Carrier, CheckCx, Claims, Count, Counted, Cut,
    Defines, Departure, Fate, Finding, FlowCx, FlowHooks, FlowOrder, FlowShape, FlowSide, Full, Gate, HoldStyle,
    Incoming, Lane, Levels, Loss, Margin, Mechanism, MemoryCx, Needs, NicCx, NicGate, NicHooks, NicShape, NicSide,
    Overhead, Owner, Owners, Place, PortShape, Preset, Profile, Question, RateKey, Reach, Situation, Steering,
    SwitchCx, SwitchHooks, SwitchShape, SwitchSide, Token, Turn, Unit, Unread, WireCx,
};
pub use crate::occupancy::Occupancy;
pub use crate::packet::{Class, Control, FlowRef, HostId, NodeId, Packet, Port, Queue};
pub use crate::units::{Bytes, Rate};
pub use backwater_derive::{State, hooks, parameters};
pub use backwater_engine::{Rng, Time};
