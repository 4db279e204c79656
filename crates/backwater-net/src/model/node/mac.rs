//! Communication between the two ends of a link: pauses that a mechanism requests, the frames of MAC control or the frameless signals that
//! carry them, and their arrival.

use crate::model::event::Event;
use crate::model::hooks::{Fate, LinkSide, MechanismId, PauseStyle};
use crate::model::node::{Node, NodeCx};
use crate::model::packet::{CLASSES, Class, Control, Port as PortNo};
use crate::model::part::{Mail, Signal};
use crate::model::port::Port;
use crate::model::port::pause::{Act, PauseRequest, bit};
use backwater_engine::Time;
use backwater_engine::fingerprint::mix;

impl<N> NodeCx<'_, N>
where
    Self: Node,
{
    /// A mechanism pauses the neighbour.
    pub fn pause_peer(&mut self, port: u16, owner: MechanismId, classes: u16, until: Time, style: PauseStyle) {
        let now = self.world.now;
        let mut asked = 0;
        self.update_pauses(port, classes, |p, class| {
            let was_signalled = p.rest.pause_requests.is_signalled(class, now);
            let act = p.rest.pause_requests.request(owner, class, now, until, style);
            if !was_signalled && act != Act::Nothing {
                p.rest.stats.pauses_sent += 1;
                asked |= bit(class);
            }
            act
        });
        if self.world.probes.pauses.is_some() {
            self.record_pause_request(port, owner, asked);
        }
        if until == Time::NEVER {
            self.world.watch_pause();
        }
    }

    /// A mechanism ends its pause.
    pub fn resume_peer(&mut self, port: u16, owner: MechanismId, classes: u16) {
        let now = self.world.now;
        self.update_pauses(port, classes, |p, class| p.rest.pause_requests.release(owner, class, now));
    }

    /// A paused neighbour may need another frame.
    pub fn refresh(&mut self, port: u16, classes: u16) {
        let now = self.world.now;
        self.update_pauses(port, classes, |p, class| p.rest.pause_requests.review(class, now));
    }

    /// Updates the pause requests for each of these classes. One frame carries what is the same for several.
    fn update_pauses(&mut self, port: u16, classes: u16, mut act: impl FnMut(&mut Port, Option<Class>) -> Act) {
        let mut signals: Vec<(PauseRequest, Time, u8)> = Vec::new();
        for number in (0..=CLASSES as u8).filter(|n| classes & (1 << n) != 0) {
            let class = (usize::from(number) != CLASSES).then_some(Class(number));
            match act(self.port(port), class) {
                Act::Nothing => {}
                Act::Look(at) => {
                    let lifts = self.port(port).rest.pause_requests.lifts(class);
                    let port = self.global(port);
                    self.world.push(at, Event::Refresh { port, class: number, others: 0, lifts });
                }
                Act::Signal(request, refresh_at) => {
                    // A frame of PAUSE stops the whole link, and names no class.
                    let same = |(other, at, _): &&mut (PauseRequest, Time, u8)| {
                        class.is_some() && PauseRequest { class, ..*other } == request && *at == refresh_at
                    };
                    match signals.iter_mut().find(same) {
                        Some((.., others)) => *others |= 1 << number,
                        None => signals.push((request, refresh_at, 0)),
                    }
                }
            }
        }
        for (request, refresh_at, others) in signals {
            self.send_pause(port, request, others, refresh_at);
        }
    }

    /// Signals a pause of a class, and of others in the same frame, and schedules the next review.
    fn send_pause(&mut self, port: u16, request: PauseRequest, others: u8, refresh_at: Time) {
        let global = self.global(port);
        let p = self.port(port);
        let (peer, delay, framed) = (p.peer, p.delay, p.rest.pause_requests.framed());
        let mut frame = request.frame_with(others);
        if !p.up {
            return;
        }
        self.log(Some(port), request.class, None, frame.kind, frame.value);
        if framed {
            // A newer request for the same class replaces waiting MAC control.
            let p = self.port(port);
            p.keep_mac(|f| PauseRequest::remove_classes(f, bit(request.class) | u16::from(others)));
            p.push_mac(frame);
            self.kick(port);
        } else {
            if self.port(port).rest.captured {
                let from = self.id();
                self.capture_signal(port, frame, from, true);
            }
            frame.size = 0;
            let number = self.port(port).rest.pause_requests.number();
            let at = self.world.now + delay;
            if self.port(port).leads_away {
                let by = (self.world.now, self.world.order);
                if let Some(part) = &mut self.world.part {
                    let signal = Signal { at, by, port: peer, number, control: frame };
                    part.post(part.owners.of_port(peer), Mail::Signal(Box::new(signal)));
                }
            } else {
                let control = self.world.slab.insert_control(frame);
                self.world.push(at, Event::Signal { port: peer, control, number });
            }
        }
        if refresh_at != Time::NEVER {
            let class = request.class.map_or(CLASSES as u8, |c| c.0);
            self.world.push(refresh_at, Event::Refresh { port: global, class, others, lifts: request.lasting });
        }
    }

    /// Sends a mechanism's frame to the neighbour in the place of MAC control.
    pub fn signal_peer(&mut self, port: u16, frame: Control) {
        self.log(Some(port), None, None, frame.kind, frame.value);
        self.port(port).push_mac(frame);
        self.kick(port);
    }

    /// MAC control, or a mechanism's frame in its place, has arrived at a port.
    pub fn mac_control(&mut self, port: u16, frame: &Control) {
        let now = self.world.now;
        let p = self.port(port);
        let rate = p.serialiser.rate();
        p.arrivals.fold(now.0, mix(PauseRequest::digest(frame)));
        if PauseRequest::read(frame).is_none() {
            self.at_links(|side, cx, _| side.on_mac_control(cx, PortNo(port), frame));
            return;
        }
        // Class by class: mechanisms may obey only some of the named classes.
        for request in PauseRequest::each(frame) {
            let frame = request.frame();
            if self.at_links(|side, cx, _| side.on_mac_control(cx, PortNo(port), &frame)) == Fate::Passed {
                continue;
            }
            let until = if request.quanta == 0 { Time::ZERO } else { request.until(now, rate) };
            self.paused_until(port, request.class, until);
        }
    }

    /// The neighbour's pause of a class, or of the link, has ended.
    pub fn pause_over(&mut self, port: u16, class: Option<Class>) {
        self.paused_until(port, class, Time::ZERO);
    }

    fn paused_until(&mut self, port: u16, class: Option<Class>, until: Time) {
        if self.world.probes.pauses.is_some() {
            self.record_obeyed_pause(port, class, until);
        }
        let now = self.world.now;
        self.port(port).paused_by_peer(class, now, until);
    }
}
