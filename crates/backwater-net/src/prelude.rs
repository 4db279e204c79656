//! The imports of a mechanism's file: `use backwater_net::prelude::*;`.

pub use crate::model::hooks::attachment::Attachment;
pub use crate::model::hooks::{
    Absent, Account, Ack, Activity, Advice, AdviceError, AdviceForm, Awaits, Carrier, CheckCx, Claims, Count, Counted,
    Cut, Defines, Departure, Fate, Finding, FlowCx, FlowHooks, FlowOrder, FlowShape, FlowSide, Full, Gate, Incoming,
    Ineffective, IsolationQueue, Levels, LinkCx, LinkHooks, LinkSide, Loss, Margin, Mechanism, MechanismId,
    MechanismSet, MemoryCx, Needs, NicCx, NicGate, NicHooks, NicShape, NicSide, Overhead, PauseStyle, Place, PortShape,
    Preset, Profile, Question, RateKey, Situation, Steering, SwitchCx, SwitchHooks, SwitchShape, SwitchSide, Token,
    Turn, Unit, WireCx,
};
pub use crate::model::packet::{Class, Control, FlowRef, HostId, NodeId, Packet, Port, Queue};
pub use crate::model::switch::occupancy::Occupancy;
pub use crate::units::{Bytes, Rate};
pub use backwater_derive::{State, hooks, parameters};
pub use backwater_engine::{Rng, Time};
