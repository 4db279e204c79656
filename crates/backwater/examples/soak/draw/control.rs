//! The control that a soak's prototypes name.

use backwater_engine::Time;
use backwater_mech::prototype::{Answer, Control, Event, Offer, offer};
use backwater_net::{Bytes, Rate};
use std::sync::{Arc, Once};

/// Its name.
pub const NAME: &str = "soak";

/// Offers it.
pub fn offer_it() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let make = |_: &std::collections::BTreeMap<String, f64>| -> Box<dyn Control> { Box::new(Soak::default()) };
        offer(NAME, Offer { parameters: Vec::new(), marks: false, make: Arc::new(make) });
    });
}

/// Answers alternately with a window and with a rate; a timer ends the effect of a loss.
#[derive(Default)]
struct Soak {
    payload: u64,
    line: u64,
    packets: u64,
    by_rate: bool,
}

impl Control for Soak {
    fn on_event(&mut self, _: Time, _: Bytes, event: Event<'_>) -> Answer {
        let mut timers = Vec::new();
        match event {
            Event::Start { shape, seed } => {
                (self.payload, self.line, self.packets) = (shape.payload.0, shape.line.0, 2 + seed % 20);
            }
            Event::Ack(ack) if ack.marked => self.packets = (self.packets / 2).max(1),
            Event::Ack(_) => self.packets = (self.packets + 1).min(64),
            Event::Loss(_) => {
                self.by_rate = true;
                timers.push((Time::us(5), 1));
            }
            Event::Timer(_) => self.by_rate = false,
        }
        let (bytes, rate) = (Bytes(self.packets * self.payload), Rate((self.line / 2).max(1)));
        Answer { window: Some(bytes), rate: self.by_rate.then_some(rate), timers }
    }
}
