//! The end station of Congestion Isolation (802.1Q 5.32, optional): a NIC that isolates one of its flows when a CIM requests it.
//!
//! It sends the flow in the priority of the congesting queue, after those of higher ones, and a pause of that priority stops these flows
//! alone. The flow returns `max_flow_life` after the last CIM: a NIC has no queue whose end of congestion it could wait for, since flows
//! wait in memory.

use super::config::Params;
use super::wire::Message;
use backwater_engine::Time;
use backwater_net::hooks::{Count, Fate, NicCx, NicSide, Token};
use backwater_net::packet::{Class, Control, FlowRef, Port};

/// The flows that one end station isolates.
#[derive(backwater_derive::State)]
pub struct Station {
    #[state(fixed)]
    life: Time,
    /// flows, and the end of their isolation
    isolated: Vec<(FlowRef, Time)>,
    isolations: u64,
    received: u64,
    ignored: u64,
}

impl Station {
    pub(super) fn new(params: &Params) -> Station {
        Station { life: params.max_flow_life, isolated: Vec::new(), isolations: 0, received: 0, ignored: 0 }
    }
}

#[backwater_derive::hooks]
impl NicSide for Station {
    fn on_control(&mut self, cx: &mut NicCx<'_>, frame: &Control) -> Fate {
        let Some(message) = frame.message::<Message>() else { return Fate::Passed };
        // Acknowledgements are sent in the class of the acknowledged data: there is nothing to isolate.
        let Some(flow) = frame.flow.filter(|_| !message.back) else {
            self.ignored += 1;
            return Fate::Consumed;
        };
        self.received += 1;
        let until = cx.now().after(self.life);
        match self.isolated.iter_mut().find(|(known, _)| *known == flow) {
            Some((_, end)) => *end = until,
            None => {
                self.isolations += 1;
                self.isolated.push((flow, until));
                cx.send_in(flow, Some(Class::from(message.congesting)));
                cx.arm(until, 0);
            }
        }
        Fate::Consumed
    }

    fn on_timer(&mut self, cx: &mut NicCx<'_>, _: Token) {
        let now = cx.now();
        self.isolated.retain(|(flow, until)| {
            if *until <= now {
                cx.send_in(*flow, None);
            }
            *until > now
        });
        // The remaining entries were refreshed: the expired timer was theirs.
        if let Some(next) = self.isolated.iter().map(|(_, until)| *until).min() {
            cx.arm(next, 0);
        }
    }

    fn counts(&self, _: Time) -> Vec<Count> {
        let (isolations, live) = (self.isolations, self.isolated.len() as u64);
        let all = [
            ("isolations", isolations),
            ("cims_received", self.received),
            ("cims_ignored", self.ignored),
            ("entries_live", live),
        ];
        all.map(|(name, value)| (Port(0), name, value)).to_vec()
    }
}
