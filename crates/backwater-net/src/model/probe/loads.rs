//! The load of jobs' steps on each link. Without jobs nothing is counted.

use backwater_engine::fetch;

/// Most steps whose loads lie in one table, a row a port.
const DENSE: usize = 4;

/// The step of a frame whose owner must be looked up: its flow may have ended, and the frame be a late duplicate.
const LOOKED_UP: u8 = u8::MAX;

/// The load of jobs on links.
#[derive(Default, backwater_derive::State)]
pub(crate) struct Loads {
    /// Per group of flows: the number of its step among those of all jobs, from 1; 0: it belongs to no job. Empty without jobs.
    #[state(fixed)]
    steps: Vec<u32>,
    /// Per step: its group.
    #[state(fixed)]
    groups: Vec<u32>,
    /// Frames may be late duplicates.
    #[state(fixed)]
    retransmits: bool,
    /// Per port: where its steps begin in `loads`, and for how many there is room. Empty if `loads` is a table.
    ports: Vec<(usize, u32)>,
    /// Per port, per step up to the last that has sent there. Entries that a port has outgrown stay unused.
    loads: Vec<Load>,
}

impl Loads {
    /// Loads for groups of flows; `of_jobs` marks those of jobs. If it is empty nothing is counted.
    pub fn new(of_jobs: &[bool], ports: usize, retransmits: bool) -> Loads {
        let groups: Vec<u32> = (0u32..).zip(of_jobs).filter(|(_, is)| **is).map(|(group, _)| group).collect();
        let mut steps = vec![0; if groups.is_empty() { 0 } else { of_jobs.len() }];
        (1u32..).zip(&groups).for_each(|(step, group)| steps[*group as usize] = step);
        let (table, lists) = if groups.len() <= DENSE { (ports * groups.len(), 0) } else { (0, ports) };
        Loads { steps, groups, retransmits, ports: vec![(0, 0); lists], loads: vec![Load::default(); table] }
    }

    /// Returns whether loads of jobs are counted.
    #[inline(always)]
    pub fn count(&self) -> bool {
        !self.groups.is_empty()
    }

    /// Returns whether owners of frames must be looked up.
    pub fn looks_up(&self) -> bool {
        self.count() && (self.retransmits || self.groups.len() >= usize::from(LOOKED_UP))
    }

    /// The mark by which a packet of a group names its step.
    pub fn mark(&self, group: u32) -> u8 {
        match self.steps.get(group as usize).copied().unwrap_or(0) {
            0 => 0,
            _ if self.looks_up() => LOOKED_UP,
            step => step as u8,
        }
    }

    /// Returns the loads on a port's link, by groups of flows.
    pub fn at(&self, port: usize) -> impl Iterator<Item = (u32, &Load)> {
        let (first, steps) = match self.ports.get(port) {
            Some((first, steps)) => (*first, *steps as usize),
            None => (port * self.groups.len(), self.groups.len()),
        };
        self.groups.iter().copied().zip(&self.loads[first..][..steps])
    }

    /// Returns the entry for a frame at a port, which names its step by `mark`; `group` looks up the group of its flow.
    #[inline(always)]
    pub fn load(&mut self, port: usize, mark: u8, group: impl FnOnce() -> Option<u32>) -> Option<&mut Load> {
        let step = match mark {
            0 => return None,
            LOOKED_UP => self.steps.get(group()? as usize)?.checked_sub(1)? as usize,
            mark => usize::from(mark) - 1,
        };
        if self.ports.is_empty() {
            return self.loads.get_mut(port * self.groups.len() + step);
        }
        if self.ports[port].1 as usize <= step {
            self.grow(port, step as u32);
        }
        self.loads.get_mut(self.ports[port].0 + step)
    }

    /// Prefetches the loads on a port's link.
    #[inline(always)]
    pub fn fetch(&self, port: usize) {
        if self.ports.is_empty()
            && let Some(load) = self.loads.get(port * self.groups.len())
        {
            fetch(load);
        }
    }

    #[cold]
    fn grow(&mut self, port: usize, step: u32) {
        let (old, had) = self.ports[port];
        let kept = self.loads[old..][..had as usize].to_vec();
        let steps = (step + 1).next_power_of_two().min(self.groups.len() as u32);
        let first = self.loads.len();
        self.loads.extend(kept);
        self.loads.resize(first + steps as usize, Load::default());
        self.ports[port] = (first, steps);
    }
}

/// The load of a group's flows on a link.
#[derive(Clone, Copy, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Load {
    pub frames: u64,
    pub bytes: u64,
    pub payload: u64,
}
