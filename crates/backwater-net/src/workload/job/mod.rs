//! Jobs: computations and transfers that wait for each other, repeated in rounds.
//!
//! ```text
//! job ── instances ── rounds ── steps ── communicators ── transfers
//!                     at most   one kind  ranks that      flows of the network
//!                     in_flight of work   act together
//! ```
//!
//! A *step* is one kind of work: a computation, a point-to-point transfer, or a collective. One or more *communicators*, sets of ranks that
//! act together, do it; for a point-to-point transfer each is a pair. A step of one communicator is a *task*. A task begins when everything
//! that it waits for is complete: for every step in `after`, the tasks of the same round that arrive at one of its ranks; for every step in
//! `after_previous`, those of the round before; and itself in the round before. A point-to-point transfer arrives at its receiver and waits
//! at its sender; other work arrives and waits at all its ranks. Round b opens when round b - `in_flight` is complete.
//!
//! Transfers that a job begins enter the network a *start latency* later. A transfer is complete when its last byte has been received or,
//! by [`Moment`](super::Moment), when its sender has the last acknowledgement. A transfer within one server takes no time and does not use
//! the network.
//!
//! Software may cost more: an exchange begins its first messages a *latency* after its start, each message enters the network a *message
//! latency* after its last wait, and flags travel with the data.
//!
//! Only work in progress is in memory: a round's flows are created when their task, or their phase of it, begins, and a run holds the state
//! of `in_flight` rounds, whatever their number. Completions of one instant are collected and handled in the order of instances, rounds and
//! tasks, so a run does not depend on which of several simultaneous completions comes first.
//!
//! **Not modelled:** a limit of transfers at once by one rank; contention within a server; kernels that compute while they send.

mod error;
mod exchange;
mod experts;
mod placement;
mod plan;
mod run;
mod spec;
mod tokens;
mod transfer;
mod tree;

pub use error::{Flaw, JobError, MOST, MOST_AT_ONE_INSTANT};
pub use exchange::{Algorithm, Choice, Collective, Exchange};
pub use placement::Placement;
pub use plan::Plan;
pub use run::Job;
pub use spec::{JobSpec, Links, Software, StepSpec, Work};
pub use tokens::{Copies, Routing};

#[cfg(test)]
mod tests;
