//! The reasons why a job is impossible.

use crate::workload::Group;
use std::fmt;

/// Most transfers of a step at once, tasks in open rounds, and waits of a round's tasks for each other: the same limit as for flows of a
/// group that all begin at the start. Each takes some tens of bytes.
pub const MOST: u64 = 20_000_000;

/// Most tasks at one instant of a job in which nothing takes any time: about a second of work.
pub const MOST_AT_ONE_INSTANT: u64 = 1_000_000;

/// The reason why ranks cannot do a step together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// One of them is named twice.
    Twice {
        /// The rank.
        rank: u32,
    },
    /// They are too few, or too many for a pair.
    Number {
        /// The number of ranks.
        ranks: usize,
    },
    /// The algorithm needs a power of two.
    PowerOfTwo {
        /// The number of ranks.
        ranks: usize,
    },
    /// They are not several whole servers in order.
    WholeServers {
        /// The number of ranks.
        ranks: usize,
        /// Ranks of a server.
        per_server: u32,
    },
    /// Some would have nothing to send.
    NoByte {
        /// The buffer that is divided.
        bytes: u64,
        /// The number of ranks.
        ranks: usize,
    },
    /// A matrix of sizes for another number of ranks.
    Sizes {
        /// The number of sizes.
        sizes: usize,
        /// The number of ranks.
        ranks: usize,
    },
    /// More receivers, or fewer than one, than a rank can draw.
    FanOut {
        /// Receivers of each.
        fan_out: u32,
        /// The number of possible receivers.
        of: usize,
    },
    /// Experts that are not distributed evenly over all ranks.
    Experts {
        /// The number of experts.
        experts: u32,
        /// The number of ranks.
        ranks: usize,
    },
    /// More experts of a token than it can reach, or no experts.
    TopK {
        /// Experts of a token.
        top_k: u32,
        /// The number of experts that it can reach.
        of: u64,
    },
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flaw::Twice { rank } => write!(f, "rank {rank} would act with itself"),
            Flaw::Number { ranks } => write!(f, "{ranks} ranks cannot do this together"),
            Flaw::PowerOfTwo { ranks } => write!(f, "halving-doubling does not work among {ranks} ranks"),
            Flaw::WholeServers { ranks, per_server } => {
                write!(
                    f,
                    "{ranks} ranks are not those of several whole servers of {per_server}, one server after the other"
                )
            }
            Flaw::NoByte { bytes, ranks } => write!(f, "{bytes} B do not give each of {ranks} parts a byte"),
            Flaw::Sizes { sizes, ranks } => write!(f, "{sizes} sizes are not those from each of {ranks} ranks to each"),
            Flaw::Experts { experts, ranks } => write!(f, "{experts} experts do not lie on {ranks} ranks alike"),
            Flaw::TopK { top_k, of } => write!(f, "a token cannot go to {top_k} experts out of {of}"),
            Flaw::FanOut { fan_out, of } => write!(f, "a rank cannot draw {fan_out} receivers out of {of}"),
        }
    }
}

/// The reason why a job is impossible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobError {
    /// A rank beyond those of the job.
    NoRank {
        /// The step.
        step: usize,
        /// The rank.
        rank: u32,
    },
    /// A communicator that cannot do its work.
    Flaw {
        /// The step.
        step: usize,
        /// The flaw.
        flaw: Flaw,
    },
    /// A step that waits for work that arrives at none of its ranks.
    Nowhere {
        /// The step.
        step: usize,
        /// The step that it waits for.
        after: usize,
    },
    /// Steps that wait for each other: each for the next, and the last for the first.
    Cycle {
        /// The steps.
        steps: Vec<usize>,
        /// A rank at which they wait.
        rank: u32,
    },
    /// More flows than unique numbers.
    TooMany {
        /// The step.
        step: usize,
    },
    /// More transfers that begin at once than [`MOST`].
    AtOnce {
        /// The step.
        step: usize,
        /// Their number.
        transfers: u64,
    },
    /// More tasks in the rounds that are open at once than [`MOST`].
    Tasks {
        /// Their number.
        tasks: u64,
    },
    /// More waits of tasks for each other in a round than [`MOST`].
    Waits {
        /// The step that exceeds the limit.
        step: usize,
        /// Their number so far.
        waits: u64,
    },
    /// No task takes any time, and more than [`MOST_AT_ONE_INSTANT`] would be done at one instant.
    NoTime {
        /// Their number in all rounds.
        tasks: u64,
    },
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JobError::NoRank { step, rank } => write!(f, "step {step}: there is no rank {rank}"),
            JobError::Flaw { step, flaw } => write!(f, "step {step}: {flaw}"),
            JobError::Nowhere { step, after } => write!(f, "nothing of step {after} arrives at a rank of step {step}"),
            JobError::Cycle { steps, rank } => write!(f, "steps {steps:?} wait for each other at rank {rank}"),
            JobError::TooMany { step } => write!(f, "step {step} has more than {} transfers", Group::MOST_FLOWS),
            JobError::AtOnce { step, transfers } => {
                write!(f, "step {step} begins {transfers} transfers at once, {MOST} are possible")
            }
            JobError::Tasks { tasks } => write!(f, "{tasks} tasks are open at once, {MOST} are possible"),
            JobError::Waits { step, waits } => {
                write!(f, "up to step {step} tasks wait for {waits} others, {MOST} such waits are possible")
            }
            JobError::NoTime { tasks } => write!(
                f,
                "nothing in a round takes any time, and all {tasks} tasks would be done at one instant; \
                 {MOST_AT_ONE_INSTANT} are possible"
            ),
        }
    }
}

impl std::error::Error for JobError {}
