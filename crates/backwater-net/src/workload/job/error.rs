//! Why a job cannot be.

use crate::workload::Group;
use std::fmt;

/// Most transfers of a step at once, tasks in open rounds, and waits of a round's tasks for each other: as many as flows of a group that all
/// begin at the start. Each takes some tens of bytes.
pub const MOST: u64 = 20_000_000;

/// Most tasks at one instant of a job in which nothing takes any time: about a second of work.
pub const MOST_AT_ONE_INSTANT: u64 = 1_000_000;

/// Why ranks cannot do a step together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// One of them is named twice.
    Twice {
        /// The rank.
        rank: u32,
    },
    /// They are too few, or too many for a pair.
    Number {
        /// How many they are.
        ranks: usize,
    },
    /// The algorithm needs a power of two.
    PowerOfTwo {
        /// How many they are.
        ranks: usize,
    },
    /// They are not those of several whole servers in their order.
    WholeServers {
        /// How many they are.
        ranks: usize,
        /// Ranks of a server.
        per_server: u32,
    },
    /// Some would have nothing to send.
    NoByte {
        /// The buffer that is shared out.
        bytes: u64,
        /// How many they are.
        ranks: usize,
    },
    /// A matrix of sizes for another number.
    Sizes {
        /// Sizes that there are.
        sizes: usize,
        /// How many they are.
        ranks: usize,
    },
    /// More receivers, or fewer than one, than a rank can draw.
    FanOut {
        /// Receivers of each.
        fan_out: u32,
        /// Those that there are to draw from.
        of: usize,
    },
    /// Experts that do not lie on all ranks alike.
    Experts {
        /// How many there are.
        experts: u32,
        /// How many ranks.
        ranks: usize,
    },
    /// More experts of a token than it can reach, or none.
    TopK {
        /// Experts of a token.
        top_k: u32,
        /// Those that it can reach.
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

/// Why a job cannot be.
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
        /// What is wrong.
        flaw: Flaw,
    },
    /// What a step waits for arrives at none of its ranks.
    Nowhere {
        /// The step.
        step: usize,
        /// What it waits for.
        after: usize,
    },
    /// Steps that wait for each other: each for the next, and the last for the first.
    Cycle {
        /// The steps.
        steps: Vec<usize>,
        /// A rank at which they do.
        rank: u32,
    },
    /// More flows than can be told apart.
    TooMany {
        /// The step.
        step: usize,
    },
    /// More transfers that begin at once than [`MOST`].
    AtOnce {
        /// The step.
        step: usize,
        /// How many they are.
        transfers: u64,
    },
    /// More tasks in the rounds that are open at once than [`MOST`].
    Tasks {
        /// How many they are.
        tasks: u64,
    },
    /// More waits of tasks for each other in a round than [`MOST`].
    Waits {
        /// The step with which they are too many.
        step: usize,
        /// How many they are so far.
        waits: u64,
    },
    /// No task takes any time, and more than [`MOST_AT_ONE_INSTANT`] would be done at one instant.
    NoTime {
        /// How many they are in all rounds.
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
