//! Limits on the size of a network.

use super::error::GraphError;

/// Most nodes, and most links, of a network. A link has two ports of about 1 KB each, and this many are built in seconds; a fat tree of
/// 65,536 hosts has a fifth of it.
pub const MOST: u64 = 1 << 20;

/// Refuses a count of zero, and one beyond `most`.
pub(super) fn count(what: &str, got: u64, most: u64) -> Result<(), GraphError> {
    match got {
        0 => Err(GraphError::None { what: what.to_owned() }),
        _ if got > most => Err(GraphError::TooMany { what: what.to_owned(), got, most }),
        _ => Ok(()),
    }
}
