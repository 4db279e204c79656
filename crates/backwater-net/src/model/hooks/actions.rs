//! Actions that hooks request of the stage, by kind of node: a hook can request only what its node can do.

use super::PauseStyle;
use crate::model::hooks::place::{IsolationQueue, MechanismId};
use crate::model::packet::{Class, Control, FlowRef, HostId, Port, Queue};
use backwater_engine::Time;

/// Something that a gate closes at a switch. A gate stays shut until every mechanism that shut it has opened it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gate {
    /// Everything but MAC control on one port.
    Port(Port),
    /// One queue of one egress port.
    Egress(Port, Queue),
    /// An isolation queue of held frames. It is shut when the first frame begins to wait in it.
    IsolationQueue(IsolationQueue),
}

/// Something that a gate closes at a NIC. A gate stays shut until every mechanism that shut it has opened it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum NicGate {
    /// Everything but MAC control.
    Link,
    /// The queue of one priority. A class has one queue, unless the NIC has several for it.
    Class(Class),
    /// One flow.
    Flow(FlowRef),
}

/// Actions that the stage carries out at a switch once the hooks have returned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SwitchAction {
    /// A queued frame to the neighbour.
    Emit(Port, Class, Control),
    /// A frame to the neighbour that goes before everything else.
    Signal(Port, Control),
    /// A queued frame to a host, forwarded like any other.
    Route(HostId, Class, Control),
    /// Pause the neighbour's class (or link) until a time.
    PausePeer(MechanismId, Port, Option<Class>, Time, PauseStyle),
    /// End that pause.
    ResumePeer(MechanismId, Port, Option<Class>),
    /// Pause one queue of the neighbour, by its priority, until a time.
    PauseQueue(MechanismId, Port, Class, Time, PauseStyle),
    /// End that pause.
    ResumeQueue(MechanismId, Port, Class),
    /// Shut a gate.
    Shut(MechanismId, Gate),
    /// Open it again.
    Open(MechanismId, Gate),
    /// Discard the kept frames with numbers before this one.
    DiscardBefore(Port, u64),
    /// Retransmit the kept frames from this number on.
    ReplayFrom(Port, u64),
    /// Ignore the neighbour's pause of a queue from now on.
    Disobey(Port, Queue),
    /// Drop everything that waits for one queue of one egress port.
    Flush(Port, Queue),
    /// Write a row into the control table without sending a frame.
    Report(&'static str, Port, Class, u64),
    /// Wake the mechanism.
    Arm(MechanismId, Time, u32),
}

/// Actions that the stage carries out at a NIC once the hooks have returned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NicAction {
    /// A queued frame to the neighbour.
    Emit(Class, Control),
    /// A frame to the neighbour that goes before everything else.
    Signal(Control),
    /// A queued frame to a host, forwarded like any other.
    Route(HostId, Class, Control),
    /// An acknowledgement of a flow to a host, in answer to the probe of this number.
    Acknowledge(HostId, FlowRef, u64),
    /// Discard the kept frames with numbers before this one.
    DiscardBefore(u64),
    /// Retransmit the kept frames from this number on.
    ReplayFrom(u64),
    /// Send a flow in this class from now on; `None`: in its own.
    SendIn(FlowRef, Option<Class>),
    /// Shut a gate.
    Shut(MechanismId, NicGate),
    /// Open it again.
    Open(MechanismId, NicGate),
    /// Wake the mechanism.
    Arm(MechanismId, Time, u32),
}

/// Actions that the stage carries out at a flow's host once the hooks have returned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FlowAction {
    /// A queued frame to a host, forwarded like any other.
    Send(HostId, Class, Control),
    /// Wake the mechanism.
    Arm(FlowTimer),
    /// So many requests of a flow in a row have not been answered.
    Unanswered(FlowRef, u32),
    /// The packet of this number is lost.
    GiveUp(FlowRef, u64),
}

/// A timer that wakes a mechanism at a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowTimer {
    /// The mechanism.
    pub owner: MechanismId,
    /// The time.
    pub at: Time,
    /// The token that the mechanism gets back.
    pub token: u16,
}

/// The lists of actions. They are empty between two events.
#[derive(Default)]
pub(crate) struct Actions {
    pub switch: Vec<SwitchAction>,
    pub nic: Vec<NicAction>,
    pub flow: Vec<FlowAction>,
}

/// Keeps the memory of carried-out actions for later ones; carrying them out may have added others.
pub(crate) fn reuse_memory<N>(next: &mut Vec<N>, mut done: Vec<N>) {
    if next.capacity() == 0 {
        done.clear();
        *next = done;
    }
}
