//! What the steps of jobs put on each link. Nothing is counted where there is no job.

/// What jobs put on links.
#[derive(Default, backwater_derive::State)]
pub(crate) struct Loads {
    /// Per group of flows: whether it is of a job. Empty without jobs.
    #[state(fixed)]
    of_jobs: Vec<bool>,
    /// Per port: where in `loads` its groups begin, and how many have room there. Empty without jobs.
    ports: Vec<(usize, u32)>,
    /// Per port, per group of flows up to the last that has sent there. What a port has outgrown stays unused.
    loads: Vec<Load>,
}

impl Loads {
    /// For groups of flows of which `of_jobs` says whether they are a job's; of none where it is empty.
    pub fn new(of_jobs: Vec<bool>, ports: usize) -> Loads {
        let ports = if of_jobs.is_empty() { Vec::new() } else { vec![(0, 0); ports] };
        Loads { of_jobs, ports, loads: Vec::new() }
    }

    /// Whether what jobs put on links is counted.
    #[inline(always)]
    pub fn count(&self) -> bool {
        !self.ports.is_empty()
    }

    /// What flows have put on the link of a port, by group.
    pub fn at(&self, port: usize) -> &[Load] {
        let (first, groups) = self.ports.get(port).copied().unwrap_or_default();
        &self.loads[first..][..groups as usize]
    }

    /// Where a group's load at a port lies, if it is of a job.
    #[inline(always)]
    pub fn load(&mut self, port: usize, group: u32) -> Option<&mut Load> {
        if self.of_jobs.get(group as usize) != Some(&true) {
            return None;
        }
        if self.ports[port].1 <= group {
            self.grow(port, group);
        }
        self.loads.get_mut(self.ports[port].0 + group as usize)
    }

    #[cold]
    fn grow(&mut self, port: usize, group: u32) {
        let kept = self.at(port).to_vec();
        let groups = (group + 1).next_power_of_two().min(self.of_jobs.len() as u32);
        let first = self.loads.len();
        self.loads.extend(kept);
        self.loads.resize(first + groups as usize, Load::default());
        self.ports[port] = (first, groups);
    }
}

/// What the flows of a group put on a link.
#[derive(Clone, Copy, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Load {
    pub frames: u64,
    pub bytes: u64,
    pub payload: u64,
}
