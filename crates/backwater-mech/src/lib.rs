//! The actors: one congestion-management mechanism, one folder (a short one: one file), written like its source.
//!
//! [`registry`] lists them, one line each; everything else about a mechanism is in its own folder.

mod average;
mod base_rtt;
pub mod bbr;
pub mod bcn;
pub mod cbfc;
pub mod ci;
pub mod confined;
pub mod csig;
pub mod dcqcn;
pub mod dctcp;
pub mod ecn;
pub mod ev;
pub mod fast_cnp;
pub mod flowlet;
mod headroom;
pub mod hpcc;
pub mod llr;
pub mod mac_control;
pub mod mrc;
pub mod nscc;
pub mod own;
pub mod pause;
pub mod pfc;
pub mod prototype;
pub mod qcn;
pub mod rccc;
#[cfg(test)]
mod recorded;
pub mod red;
pub mod registry;
pub mod sfc;
pub mod sfc_tofino2;
pub mod spray;
pub mod stack;
// No unit test runs a network, so those of this crate need not compile the stage again.
#[cfg(not(test))]
pub mod stage;
pub mod swift;
pub mod timely;
pub mod trim;
mod uec_checks;

/// Classes as a bit each; none given means all.
fn class_bits_or_all(classes: Option<&[u8]>) -> u8 {
    classes.map_or(u8::MAX, backwater_net::packet::class_bits)
}
