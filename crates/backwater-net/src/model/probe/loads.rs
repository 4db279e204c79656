//! The load of jobs' steps on each link. Without jobs nothing is counted.

/// The load of jobs on links.
#[derive(Default, backwater_derive::State)]
pub(crate) struct Loads {
    /// Per group of flows: whether it belongs to a job. Empty without jobs.
    #[state(fixed)]
    of_jobs: Vec<bool>,
    /// Per port: where its groups begin in `loads`, and for how many there is room. Empty without jobs.
    ports: Vec<(usize, u32)>,
    /// Per port, per group of flows up to the last that has sent there. Entries that a port has outgrown stay unused.
    loads: Vec<Load>,
}

impl Loads {
    /// Loads for groups of flows; `of_jobs` marks those of jobs. If it is empty nothing is counted.
    pub fn new(of_jobs: Vec<bool>, ports: usize) -> Loads {
        let ports = if of_jobs.is_empty() { Vec::new() } else { vec![(0, 0); ports] };
        Loads { of_jobs, ports, loads: Vec::new() }
    }

    /// Returns whether loads of jobs are counted.
    #[inline(always)]
    pub fn count(&self) -> bool {
        !self.ports.is_empty()
    }

    /// Returns the loads of flows on a port's link, by group.
    pub fn at(&self, port: usize) -> &[Load] {
        let (first, groups) = self.ports.get(port).copied().unwrap_or_default();
        &self.loads[first..][..groups as usize]
    }

    /// Returns the entry for a group's load at a port, if it belongs to a job.
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

/// The load of a group's flows on a link.
#[derive(Clone, Copy, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Load {
    pub frames: u64,
    pub bytes: u64,
    pub payload: u64,
}
