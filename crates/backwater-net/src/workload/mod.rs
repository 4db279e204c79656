//! Where flows come from.

use crate::spec::FlowSpec;

/// Yields flows by ascending start.
pub trait FlowSource: Send {
    /// The next flow; `None`: no more.
    fn next_flow(&mut self) -> Option<FlowSpec>;
}
