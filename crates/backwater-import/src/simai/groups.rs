//! Groups of ranks, as in `MockNcclGroup.cc` of SimAI: tensor-parallel ranks are neighbours, and ranks of all other groups are spaced
//! apart.

use super::MOST_RANKS;
use super::workload::{Group, Policy, Workload};
use crate::error::ImportError;

/// Sizes of all groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Groups {
    tensor: u32,
    stages: u32,
    expert: u32,
    data: u32,
}

impl Groups {
    /// The groups of a workload on so many GPUs, if known.
    pub fn of(workload: &Workload, gpus: Option<u32>) -> Result<Groups, ImportError> {
        let fail = |reason: String| ImportError::new(reason).file(&workload.file).line(1);
        let Some(ranks) = workload.gpus.or(gpus) else {
            return Err(
                fail("the number of GPUs is not said".into()).hint("give the topology beside it, or add all_gpus: N")
            );
        };
        if ranks > MOST_RANKS {
            return Err(fail(format!("{ranks} ranks are more than {MOST_RANKS}")));
        }
        if let Some(gpus) = gpus.filter(|gpus| *gpus < ranks) {
            return Err(fail(format!("{ranks} ranks, and the topology has {gpus} GPUs")));
        }
        // Micro tests use all GPUs.
        let (tensor, stages, expert) = match workload.policy {
            Policy::Micro => (1, 1, 1),
            _ => (workload.tensor, workload.stages, workload.expert),
        };
        let whole = |ranks: u32, by: u64, what: &str| match u64::from(ranks).checked_rem(by) {
            Some(0) => Ok((u64::from(ranks) / by) as u32),
            _ => Err(fail(format!("{ranks} ranks do not make {what} of {by}"))),
        };
        let data = whole(ranks, u64::from(tensor) * u64::from(stages), "groups of tensor and pipeline")?;
        whole(data, expert.into(), "groups of experts")?;
        Ok(Groups { tensor, stages, expert, data })
    }

    /// All ranks.
    pub fn ranks(&self) -> u32 {
        self.tensor * self.stages * self.data
    }

    /// Returns the number of ranks of a group, and their spacing.
    pub fn size_and_stride(&self, group: Group) -> (u32, u32) {
        match group {
            Group::Tensor => (self.tensor, 1),
            Group::Data => (self.data, self.tensor * self.stages),
            Group::Expert => (self.expert, self.tensor),
            Group::DataOfExperts => (self.data / self.expert, self.tensor * self.expert),
        }
    }
}
