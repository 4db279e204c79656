//! What the two ends of a link ask of each other: pauses that a mechanism has asked for, the frames of MAC control that carry them, or signals
//! without a frame, and what has arrived of either.

use crate::event::Event;
use crate::hold::{Act, Hold, bit};
use crate::hooks::{Fate, HoldStyle, Owner};
use crate::node::{Node, NodeCx};
use crate::packet::{CLASSES, Class, Control};
use crate::part::{Mail, Signal};
use crate::port::Port;
use backwater_engine::Time;
use backwater_engine::fingerprint::mix;

impl<N> NodeCx<'_, N>
where
    Self: Node,
{
    /// A mechanism pauses the neighbour.
    pub fn hold_peer(&mut self, port: u16, owner: Owner, classes: u16, until: Time, style: HoldStyle) {
        let now = self.world.now;
        let mut asked = 0;
        self.update_holds(port, classes, |p, class| {
            let held = p.rest.holds.is_signalled(class, now);
            let act = p.rest.holds.hold(owner, class, now, until, style);
            if !held && act != Act::Nothing {
                p.rest.stats.pauses_sent += 1;
                asked |= bit(class);
            }
            act
        });
        if self.world.probes.pauses.is_some() {
            self.note_asked(port, owner, asked);
        }
        if until == Time::NEVER {
            self.world.suspect_pause();
        }
    }

    /// It lets go.
    pub fn release_peer(&mut self, port: u16, owner: Owner, classes: u16) {
        let now = self.world.now;
        self.update_holds(port, classes, |p, class| p.rest.holds.release(owner, class, now));
    }

    /// A neighbour that is to be held may need another frame.
    pub fn refresh(&mut self, port: u16, classes: u16) {
        let now = self.world.now;
        self.update_holds(port, classes, |p, class| p.rest.holds.review(class, now));
    }

    /// Updates what is asked of the neighbour for each of these classes. One frame carries what is the same for several.
    fn update_holds(&mut self, port: u16, classes: u16, mut act: impl FnMut(&mut Port, Option<Class>) -> Act) {
        let mut signals: Vec<(Hold, Time, u8)> = Vec::new();
        for number in (0..=CLASSES as u8).filter(|n| classes & (1 << n) != 0) {
            let class = (usize::from(number) != CLASSES).then_some(Class(number));
            match act(self.port(port), class) {
                Act::Nothing => {}
                Act::Look(at) => {
                    let lifts = self.port(port).rest.holds.lifts(class);
                    let port = self.global(port);
                    self.world.push(at, Event::Refresh { port, class: number, others: 0, lifts });
                }
                Act::Signal(hold, again) => {
                    let same =
                        |(other, at, _): &&mut (Hold, Time, u8)| Hold { class, ..*other } == hold && *at == again;
                    match signals.iter_mut().find(same) {
                        Some((.., others)) => *others |= 1 << number,
                        None => signals.push((hold, again, 0)),
                    }
                }
            }
        }
        for (hold, again, others) in signals {
            self.send_hold(port, hold, others, again);
        }
    }

    /// Signals a hold of a class, and of others in the same frame, and looks again at a time.
    fn send_hold(&mut self, port: u16, hold: Hold, others: u8, again: Time) {
        let global = self.global(port);
        let p = self.port(port);
        let (peer, delay, framed) = (p.peer, p.delay, p.rest.holds.framed());
        let mut frame = hold.frame_with(others);
        if !p.up {
            return;
        }
        self.log(Some(port), hold.class, None, frame.kind, frame.value);
        if framed {
            // MAC control that waits is overtaken by what is newer for the same class.
            let p = self.port(port);
            p.keep_mac(|f| Hold::strike(f, bit(hold.class) | u16::from(others)));
            p.push_mac(frame);
            self.kick(port);
        } else {
            if self.port(port).rest.captured {
                let from = self.id();
                self.capture_signal(port, frame, from, true);
            }
            frame.size = 0;
            let number = self.port(port).rest.holds.number();
            let at = self.world.now + delay;
            if self.port(port).rest.leads_away {
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
        if again != Time::NEVER {
            let class = hold.class.map_or(CLASSES as u8, |c| c.0);
            self.world.push(again, Event::Refresh { port: global, class, others, lifts: hold.lasting });
        }
    }

    /// A mechanism's frame goes to the neighbour in the place of MAC control.
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
        p.arrivals.fold(now.0, mix(Hold::digest(frame)));
        if Hold::read(frame).is_none() {
            self.hear(port, frame);
            return;
        }
        // Class by class: mechanisms may obey some of those that a frame names.
        for hold in Hold::each(frame) {
            if self.hear(port, &hold.frame()) == Fate::Passed {
                continue;
            }
            let until = if hold.quanta == 0 { Time::ZERO } else { hold.until(now, rate) };
            self.paused_until(port, hold.class, until);
        }
    }

    /// The neighbour's pause of a class, or of the link, is over.
    pub fn pause_over(&mut self, port: u16, class: Option<Class>) {
        self.paused_until(port, class, Time::ZERO);
    }

    fn paused_until(&mut self, port: u16, class: Option<Class>, until: Time) {
        if self.world.probes.pauses.is_some() {
            self.note_obeyed(port, class, until);
        }
        let now = self.world.now;
        self.port(port).held_by_peer(class, now, until);
    }
}
