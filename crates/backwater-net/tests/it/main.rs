//! Whole networks with no mechanism but the tests' own, in one binary.

mod actors;
mod control_delay;
mod hooks;
mod hosts;
mod latency;
mod own;
mod queueing;
mod transport;
