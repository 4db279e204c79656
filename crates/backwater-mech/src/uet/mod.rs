//! The arithmetic of UEC's congestion controls, apart from any run: events in, numbers out.
//!
//! So it is held against recorded runs of the public program value by value (`tests.rs`, `traces/README.md`), and a mechanism only has to call it.

pub(crate) mod checks;
pub mod credit;
pub mod nscc;
pub mod oversubscribed;
pub mod pacer;
pub mod sleek;
pub mod values;

#[cfg(test)]
mod tests;
