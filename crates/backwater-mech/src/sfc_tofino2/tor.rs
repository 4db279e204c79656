//! `EgressSfcPacket` at the source's ToR, and the host behind it.

use super::arithmetic::Speed;
use super::config::Params;
use super::wire::Message;
use crate::mac_control::{Receiver, Signal};
use backwater_net::packet::class_bits;
use backwater_net::pause::quanta_time;
use backwater_net::prelude::*;

/// Ports to hosts are those that the program marks as *server*.
pub(super) struct Tor {
    /// Classes in which messages are recognised (`TcSignalEnabled`), a bit each.
    signal_classes: u8,
}

impl Tor {
    pub(super) fn new(params: &Params) -> Tor {
        Tor { signal_classes: class_bits(&params.signal_classes) }
    }

    /// `do_convert_to_pfc_pause`: consumes a message for an attached host.
    #[cold]
    pub(super) fn take(&self, cx: &mut SwitchCx<'_>, host: HostId, message: Message) -> Fate {
        let Some(port) = cx.attached(host) else { return Fate::Passed };
        let rate = cx.shape().ports[usize::from(port.0)].rate;
        let Some(speed) = Speed::of(rate).filter(|_| self.signal_classes & (1 << message.travels.0) != 0) else {
            // An ordinary datagram to the host, which does not know it.
            return Fate::Passed;
        };
        let (priority, quanta) = (message.dscp.priority(), speed.quanta(message.duration_us));
        if quanta == 0 {
            // IEEE 802.3 annex 31D: a pause of no time resumes.
            cx.resume_queue(port, priority);
        } else {
            let until = cx.now().after(quanta_time(rate, quanta));
            cx.pause_queue(port, priority, until, Signal::Timed.style(quanta));
        }
        Fate::Consumed
    }
}

/// A host that knows PFC alone. Where `[pfc]` is off this obeys the frames, at once.
#[derive(State)]
pub struct EndStation {
    #[state(within)]
    pauses: Receiver,
}

impl EndStation {
    pub(super) fn new(params: &Params, shape: &NicShape) -> EndStation {
        EndStation { pauses: Receiver::new(shape.queues.carrying(params.class_bits()).into(), 1, Time::ZERO) }
    }
}

#[hooks]
impl LinkSide for EndStation {
    // IEEE 802.3 annex 31D.
    fn on_mac_control(&mut self, cx: &mut LinkCx<'_>, from: Port, frame: &Control) -> Fate {
        self.pauses.on_mac_control(cx, from, frame)
    }
}

#[hooks(link)]
impl NicSide for EndStation {
    /// A message that no ToR has converted is for nobody.
    fn on_control(&mut self, _: &mut NicCx<'_>, frame: &Control) -> Fate {
        if frame.message::<Message>().is_some() { Fate::Consumed } else { Fate::Passed }
    }

    fn on_timer(&mut self, cx: &mut NicCx<'_>, token: Token) {
        self.pauses.on_link_timer(&mut cx.links(), token);
    }
}
