//! The mechanism that `backwater new mechanism` writes: it compiles from outside, and its own tests pass.

#[path = "../../../../python/backwater/own/template/src/mechanisms/aimd.rs"]
mod aimd;
