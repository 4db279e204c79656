//! The source of Source Flow Control: a NIC that obeys messages, and the pauses of its proxy. With several queues for a class both stop the
//! one whose DSCP the message echoes.

use super::config::Params;
use super::pause_ends::{Change, PauseEnds};
use super::wire::{Message, PointId};
use crate::mac_control::Receiver;
use backwater_engine::Time;
use backwater_net::hooks::{Fate, LinkCx, LinkSide, NicCx, NicGate, NicShape, NicSide, Token};
use backwater_net::packet::{CLASSES, Control, Port};

/// The timer of messages; those of PFC's classes come before it.
const MESSAGES: Token = CLASSES as Token;

/// A source that obeys.
///
/// With a proxy it never sees a message, only PFC frames. If `[pfc]` is on, PFC obeys them; otherwise this does, at once and for the
/// classes of SFC: a host of a network without PFC still knows the standard of 2011.
#[derive(backwater_derive::State)]
pub struct EndStation {
    /// shut gates, with the end that each congested queue requests
    paused: Vec<(NicGate, PauseEnds<PointId>)>,
    /// of priorities whose PFC frames are obeyed
    #[state(within)]
    pauses: Receiver,
}

impl EndStation {
    pub(super) fn new(params: &Params, shape: &NicShape) -> EndStation {
        let obeyed = params.class_bits() | params.paused_bits();
        let pauses = Receiver::new(shape.queues.carrying(obeyed).into(), 1, Time::ZERO);
        EndStation { paused: Vec::new(), pauses }
    }

    fn message(&mut self, cx: &mut NicCx<'_>, gate: NicGate, message: Message) {
        let known = self.paused.iter().position(|(g, _)| *g == gate);
        let at = known.unwrap_or_else(|| {
            self.paused.push((gate, PauseEnds::default()));
            self.paused.len() - 1
        });
        match self.paused[at].1.record(message.point, message.pause, cx.now()) {
            Change::Until(end) => {
                if known.is_none() {
                    cx.shut(gate);
                }
                cx.arm(end, MESSAGES);
            }
            Change::Lifted | Change::Nothing => {
                self.paused.swap_remove(at);
                if known.is_some() {
                    cx.open(gate);
                }
            }
        }
    }
}

#[backwater_derive::hooks]
impl LinkSide for EndStation {
    // IEEE 802.3 annex 31D: PFC of the proxy.
    fn on_mac_control(&mut self, cx: &mut LinkCx<'_>, from: Port, frame: &Control) -> Fate {
        self.pauses.on_mac_control(cx, from, frame)
    }
}

#[backwater_derive::hooks(link)]
impl NicSide for EndStation {
    fn on_control(&mut self, cx: &mut NicCx<'_>, frame: &Control) -> Fate {
        let Some(message) = frame.message::<Message>() else { return Fate::Passed };
        // SFC-AIDC 2025: stop the class (or the flow); the queue is that of the DSCP which the message echoes.
        let gate = match (message.flow_mode, frame.flow) {
            (false, _) => Some(NicGate::Class(message.dscp.priority())),
            (true, flow) => flow.map(NicGate::Flow),
        };
        if let Some(gate) = gate {
            self.message(cx, gate, message);
        }
        Fate::Consumed
    }

    fn on_timer(&mut self, cx: &mut NicCx<'_>, token: Token) {
        let now = cx.now();
        if token != MESSAGES {
            return self.pauses.on_link_timer(&mut cx.links(), token);
        }
        self.paused.retain(|(gate, ends)| {
            let over = ends.over(now);
            if over {
                cx.open(*gate);
            }
            !over
        });
    }
}
