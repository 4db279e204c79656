//! `[output]`.

use backwater_derive::parameters;
use backwater_engine::Time;

/// What is recorded beside flows, ports and control messages.
#[parameters]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Time between two samples of the time series below. Needed when one of them is on.
    #[param(bounds = Time(1).., source = "Backwater's own")]
    pub interval: Option<Time>,
    /// Record the depth of every egress queue that is not empty, and what every switch holds in isolation queues before them.
    #[param(default = false, source = "Backwater's own; off: choice, a time series is large")]
    pub queues: bool,
    /// Record the bytes that every port has sent since the last sample.
    #[param(default = false, source = "Backwater's own; off: choice, a time series is large")]
    pub links: bool,
    /// Record which classes of which ports are paused by the neighbour.
    #[param(default = false, source = "Backwater's own; off: choice, a time series is large")]
    pub pauses: bool,
    /// Record the payload rate of every active flow, and what its receiver has got by then.
    #[param(default = false, source = "Backwater's own; off: choice, a time series is large")]
    pub flows: bool,
    /// Record, for every switch port from the first interval on in which something waited for it, exact statistics of the backlog since the last sample: mean, mean square, most, and the time without any.
    #[param(default = false, source = "Backwater's own; off: choice, a time series is large")]
    pub backlogs: bool,
    /// Labels of the groups of flows of which everything that they waited for is recorded, exactly, in the table `waits`; `all`: of every group. Streams are left out.
    #[param(default = Vec::new(), range_text = "labels of groups of flows, or `all`", source = "Backwater's own")]
    pub waits: Vec<String>,
    /// Record every pause, and which queue it stood behind, in the table `pauses`.
    #[param(default = false, source = "Backwater's own; off: choice, a run may have many")]
    pub pause_causes: bool,
    /// Names of the nodes to record. Empty: all.
    #[param(default = Vec::new(), range_text = "names of nodes of the topology", source = "Backwater's own")]
    pub nodes: Vec<String>,
}

impl Output {
    /// Returns whether there is a time series to record.
    pub fn any(&self) -> bool {
        self.queues || self.links || self.pauses || self.flows || self.backlogs
    }
}
