//! `[output]`.

use backwater_derive::parameters;
use backwater_engine::Time;

/// Recorded data besides flows, ports and control messages.
#[parameters]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Time between two samples of the time series below. Required if one of them is on.
    #[param(bounds = Time(1).., source = "Backwater's own")]
    pub interval: Option<Time>,
    /// Record the length of each egress queue that is not empty, and the bytes in the isolation queues of each switch.
    #[param(default = false, source = "Backwater's own; off: choice, a time series is large")]
    pub queues: bool,
    /// Record the bytes that each port has sent since the last sample.
    #[param(default = false, source = "Backwater's own; off: choice, a time series is large")]
    pub links: bool,
    /// Record the classes of ports that the neighbour pauses.
    #[param(default = false, source = "Backwater's own; off: choice, a time series is large")]
    pub pauses: bool,
    /// Record the payload rate of each active flow, and the payload that its receiver has so far.
    #[param(default = false, source = "Backwater's own; off: choice, a time series is large")]
    pub flows: bool,
    /// Record exact statistics of the backlog of each switch port since the last sample: mean, mean square, maximum, and the time without a
    /// backlog. A port is recorded from the first interval on in which a frame waited for it.
    #[param(default = false, source = "Backwater's own; off: choice, a time series is large")]
    pub backlogs: bool,
    /// Labels of groups of flows whose waits are all recorded, exactly, in the table `waits`; `all`: all groups. Streams are left out.
    #[param(default = Vec::new(), range_text = "labels of groups of flows, or `all`", source = "Backwater's own")]
    pub waits: Vec<String>,
    /// Record each pause, and the queue that caused it, in the table `pauses`.
    #[param(default = false, source = "Backwater's own; off: choice, a run may have many")]
    pub pause_causes: bool,
    /// Names of the nodes that are recorded. Empty: all.
    #[param(default = Vec::new(), range_text = "names of nodes of the topology", source = "Backwater's own")]
    pub nodes: Vec<String>,
}

impl Output {
    /// Returns whether there is a time series to record.
    pub fn any(&self) -> bool {
        self.queues || self.links || self.pauses || self.flows || self.backlogs
    }
}
