//! The source of Source Flow Control: a NIC that obeys messages, and the pauses of its proxy. With several queues for a class
//! either stops the one whose DSCP the message echoes.

use super::config::Params;
use super::pause_ends::{Change, PauseEnds};
use super::wire::Message;
use crate::mac_control::{GateChange, Receiver};
use backwater_engine::Time;
use backwater_net::hooks::{Fate, NicCx, NicGate, NicShape, NicSide, Token};
use backwater_net::packet::{CLASSES, Class, Control};
use backwater_net::pause::PauseRequest;

/// The timer of messages; those of PFC's classes come before it.
const MESSAGES: Token = CLASSES as Token;

/// A source that obeys.
///
/// With a proxy it never sees a message, only PFC frames. Where `[pfc]` is on it is PFC that obeys them; elsewhere this
/// does, at once and for the classes of SFC: a host of a network without PFC still knows the standard of 2011.
#[derive(backwater_derive::State)]
pub struct EndStation {
    /// gates that are shut, and until when each congested queue wants that
    paused: Vec<(NicGate, PauseEnds)>,
    /// priorities whose PFC frames are obeyed, a bit each
    #[state(same)]
    classes: u8,
    #[state(within)]
    pauses: Receiver,
}

impl EndStation {
    pub(super) fn new(params: &Params, shape: &NicShape) -> EndStation {
        let pauses = Receiver::new(CLASSES, Time::ZERO);
        EndStation { paused: Vec::new(), classes: shape.queues.carrying(params.class_bits()), pauses }
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

    fn obey(cx: &mut NicCx<'_>, (changes, look): (Vec<GateChange>, Time), class: usize) {
        let gate = |class: usize| NicGate::Class(Class(class as u8));
        for change in changes {
            match change {
                GateChange::Shut(class) => cx.shut(gate(class)),
                GateChange::Open(class) => cx.open(gate(class)),
            }
        }
        if look != Time::NEVER {
            cx.arm(look, class as Token);
        }
    }
}

#[backwater_derive::hooks]
impl NicSide for EndStation {
    fn on_control(&mut self, cx: &mut NicCx<'_>, frame: &Control) -> Fate {
        if let Some(message) = frame.message::<Message>() {
            // SFC-AIDC 2025: stop the class (or the flow); the queue is that of the DSCP which the message echoes.
            let gate = match (message.flow_mode, frame.flow) {
                (false, _) => Some(NicGate::Class(message.dscp.priority())),
                (true, flow) => flow.map(NicGate::Flow),
            };
            if let Some(gate) = gate {
                self.message(cx, gate, message);
            }
            return Fate::Consumed;
        }
        let mut fate = Fate::Passed;
        // IEEE 802.3 annex 31D: PFC of the proxy.
        for divert in PauseRequest::each(frame) {
            let Some(Class(class)) = divert.class.filter(|class| self.classes & (1 << class.0) != 0) else { continue };
            let changes = self.pauses.receive(usize::from(class), divert, cx.now(), cx.shape().rate);
            EndStation::obey(cx, changes, usize::from(class));
            fate = Fate::Consumed;
        }
        fate
    }

    fn on_timer(&mut self, cx: &mut NicCx<'_>, token: Token) {
        let now = cx.now();
        if token != MESSAGES {
            let changes = self.pauses.wake(token as usize, now);
            return EndStation::obey(cx, changes, token as usize);
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
