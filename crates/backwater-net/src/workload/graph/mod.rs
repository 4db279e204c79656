//! Graphs of operations: sends and computations of ranks that wait for each other, one by one.
//!
//! ```text
//! graph ── instances ── operations ── a send:         a flow of the network
//!                                     a computation:  a time, perhaps one of a stream
//! ```
//!
//! An *operation* is done by one rank, once. It waits for other operations, and begins when as many of them are complete as it needs: all,
//! or fewer. It waits for an operation to be complete (a computation is over, the receiver of a send has its last byte), or for a send to
//! be acknowledged (its sender has the last acknowledgement). Computations of one rank and one *stream* are done one at a time, in the
//! order in which they become ready; of those that become ready at one instant the smallest id comes first. Nothing else limits what a rank
//! does at once. A send within a server takes no time and does not use the network.
//!
//! Flows that a graph begins enter the network a *start latency* later, as with a [`super::job::Job`].
//!
//! All operations are in memory, in the order of their ids: 40 bytes each and 4 for each wait, shared by all instances and by all parts of
//! a run, and 4 bytes for each instance. Operations in progress take more.

mod operations;
mod run;

pub use operations::{Flaw, MOST, MOST_LABELS, MOST_WAITS, Operations, Reader, Row, Task};
pub use run::Graph;

use crate::model::packet::{Class, HostId};
use backwater_engine::Time;
use std::fmt;
use std::sync::Arc;

/// A job whose operations a table lists.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphSpec {
    /// Its label in result rows.
    pub label: Arc<str>,
    /// Ranks of an instance.
    pub ranks: u32,
    /// Hosts of all ranks, instance by instance.
    pub hosts: Vec<HostId>,
    /// Ranks r and s with r / `ranks_per_server` = s / `ranks_per_server` are within one server.
    pub ranks_per_server: u32,
    /// When it starts.
    pub start: Time,
    /// See [`super::Dependent::start_latency`].
    pub start_latency: Time,
    /// Class of its data, unless an operation sets one.
    pub class: Class,
    /// True if packets are ECN-capable.
    pub ect: bool,
}

/// The reason why ranks cannot do the operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GraphError {
    /// A rank beyond those of the job.
    NoRank {
        /// The operation.
        id: u64,
        /// True if it sends to that rank rather than being done there.
        peer: bool,
        /// The rank.
        rank: u32,
    },
    /// Sends of all instances without unique numbers: ids times instances exceed 2^40.
    Ids {
        /// The greatest id.
        greatest: u64,
        /// The instances.
        instances: u64,
    },
    /// More operations in all instances than [`MOST`].
    TooMany {
        /// The number of operations.
        operations: u64,
    },
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GraphError::NoRank { id, peer: false, rank } => write!(f, "operation {id} is done by rank {rank}"),
            GraphError::NoRank { id, peer: true, rank } => write!(f, "operation {id} sends to rank {rank}"),
            GraphError::Ids { greatest, instances } => {
                write!(f, "ids up to {greatest} in {instances} instances are more than the 2^40 that can be told apart")
            }
            GraphError::TooMany { operations } => {
                write!(f, "{operations} operations in all instances, {MOST} are possible")
            }
        }
    }
}

impl std::error::Error for GraphError {}

#[cfg(test)]
mod tests;
