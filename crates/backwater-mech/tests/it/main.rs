//! The integration tests of the mechanisms, in one binary: a binary of its own for each file would compile the
//! stage each time.

mod balancing;
mod bcn;
mod ci;
mod common;
mod csig;
mod dcqcn;
mod deadlock;
mod edges;
mod fast_cnp;
mod flow_control;
mod laws;
mod losses;
mod marking;
mod mrc;
mod nic_queues;
mod own;
mod physics;
mod qcn;
mod sfc_isolation;
mod sfc_proxy;
mod transport;
mod watchdog;
mod windows;
