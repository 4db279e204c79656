//! What the steps of jobs put on each link. Nothing is counted where there is no job.

use crate::node::{At, Node};
use crate::slab::Ix;

/// What jobs put on links.
#[derive(Default)]
pub(crate) struct Loads {
    /// Per group of flows: whether it is of a job. Empty without jobs.
    of_jobs: Vec<bool>,
    /// Per port, per group of flows up to the last that has sent there. Empty without jobs.
    pub loads: Vec<Vec<Load>>,
}

impl Loads {
    /// For groups of flows of which `of_jobs` says whether they are a job's; of none where it is empty.
    pub fn new(of_jobs: Vec<bool>, ports: usize) -> Loads {
        let loads = if of_jobs.is_empty() { Vec::new() } else { vec![Vec::new(); ports] };
        Loads { of_jobs, loads }
    }

    /// Whether what jobs put on links is counted.
    #[inline(always)]
    pub fn count(&self) -> bool {
        !self.loads.is_empty()
    }
}

/// What the flows of a group put on a link.
#[derive(Clone, Copy, Default)]
pub(crate) struct Load {
    pub frames: u64,
    pub bytes: u64,
    pub payload: u64,
}

impl<N> At<'_, N>
where
    Self: Node,
{
    /// A data frame is put on a link: if its flow is a job's and still under way, it counts for its step.
    #[inline(never)]
    pub(crate) fn count_load(&mut self, port: u16, pkt: Ix) {
        let global = self.global(port) as usize;
        let header = &self.world.slab[pkt].pkt;
        let Some(met) = self.world.probes.who.find(header.flow) else { return };
        let (group, loads) = (met.group as usize, &mut self.world.probes.loads);
        if loads.of_jobs.get(group) != Some(&true) {
            return;
        }
        let loads = &mut loads.loads[global];
        if loads.len() <= group {
            loads.resize(group + 1, Load::default());
        }
        let load = &mut loads[group];
        load.frames += 1;
        load.bytes += u64::from(header.size);
        load.payload += header.data().map_or(0, |data| u64::from(data.payload));
    }
}
