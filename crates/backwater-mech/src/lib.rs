//! The actors: one congestion-management mechanism, one file, written like its source.
//!
//! [`registry`] lists them, one line each; everything else about a mechanism stands in its own file.

pub mod bcn;
pub mod ci;
pub mod dcqcn;
pub mod dctcp;
pub mod ecn;
mod headroom_check;
pub mod mac_control;
pub mod pause;
pub mod pfc;
pub mod qcn;
pub mod registry;
pub mod sfc;
pub mod stack;
pub mod swift;
