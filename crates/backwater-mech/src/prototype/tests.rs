//! On the bench, by hand, with a control that records its events.

use super::control::{Answer, Control, Event, Offer, offer};
use super::*;
use backwater_engine::Time;
use backwater_net::bench::FlowBench;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;

/// Halves its window at a mark, sets a timer at a loss, and lifts every bound when the timer expires.
struct Halving {
    window: u64,
    step: f64,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Control for Halving {
    fn on_event(&mut self, now: Time, sent: Bytes, event: Event<'_>) -> Answer {
        let mut answer = Answer::default();
        let reported = match event {
            Event::Start { shape, .. } => format!("start {}", shape.payload),
            Event::Ack(ack) if ack.marked => {
                self.window /= 2;
                format!("mark {}", ack.received)
            }
            Event::Ack(ack) => {
                self.window += self.step as u64;
                format!("ack {}", ack.received)
            }
            Event::Loss(loss) => {
                answer.timers.push((Time::us(3), 7));
                format!("loss {loss:?}")
            }
            Event::Timer(token) => format!("timer {token}"),
        };
        self.heard.lock().unwrap().push(format!("{now} {sent} {reported}"));
        if !matches!(event, Event::Timer(_)) {
            answer.window = Some(Bytes(self.window));
        }
        answer
    }
}

fn halving(name: &str) -> (FlowBench, Sender, Arc<Mutex<Vec<String>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&heard);
    let make = move |parameters: &BTreeMap<String, f64>| -> Box<dyn Control> {
        let step = parameters.get("step").copied().unwrap_or(100.0);
        Box::new(Halving { window: 8000, step, heard: Arc::clone(&kept) })
    };
    offer(name, Offer { parameters: vec!["step".to_owned()], marks: true, make: Arc::new(make) });
    let mut bench = FlowBench::new(Rate::gbps(100));
    let mut sender = Prototype::flow(&params(name, &[("step", 500.0)]), bench.shape(), &()).expect("it is offered");
    FlowSide::on_start(&mut sender, &mut bench.cx());
    (bench, sender, heard)
}

fn params(control: &str, parameters: &[(&str, f64)]) -> Params {
    let parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    Params { control: control.to_owned(), parameters }
}

fn ack(received: u64, marked: bool) -> Ack<'static> {
    Ack { received, rtt: Time::us(10), marked, carried: None, counted: None }
}

#[test]
fn an_answer_holds_until_the_next() {
    let (mut bench, mut sender, heard) = halving("answers");
    assert_eq!(sender.window(), Some(Bytes(8000)));
    sender.on_ack(&mut bench.cx(), &ack(1000, false));
    assert_eq!(sender.window(), Some(Bytes(8500)), "its parameter is 500");
    bench.now = Time::us(2);
    sender.on_ack(&mut bench.cx(), &ack(2000, true));
    assert_eq!((sender.window(), sender.rate()), (Some(Bytes(4250)), None));
    sender.on_timer(&mut bench.cx(), 7);
    assert_eq!(sender.window(), None);
    let heard = heard.lock().unwrap().clone();
    assert_eq!(heard, ["0 s 0 B start 1 KB", "0 s 0 B ack 1000", "2 us 0 B mark 2000", "2 us 0 B timer 7"]);
}

/// The first answer bounds the window and the mark narrows it; an acknowledgement and the timer do not.
#[test]
fn it_acts_where_it_bounds_or_lowers() {
    let (mut bench, mut sender, _) = halving("acts");
    sender.on_ack(&mut bench.cx(), &ack(1000, false));
    assert_eq!(sender.activity().acts, 1);
    sender.on_ack(&mut bench.cx(), &ack(2000, true));
    sender.on_timer(&mut bench.cx(), 7);
    assert_eq!(sender.activity().acts, 2);
    sender.on_loss(&mut bench.cx(), Loss::Gap);
    assert_eq!(sender.activity().acts, 3, "from no bound to one");
}

#[test]
fn timers_count_from_the_answer() {
    let (mut bench, mut sender, _) = halving("timers");
    bench.now = Time::us(2);
    sender.on_loss(&mut bench.cx(), Loss::Gap);
    assert_eq!(bench.timers(), [(Time::us(5), 7)]);
}

#[test]
fn what_is_not_offered_stops_the_run() {
    let found = Prototype::check(&params("nobody's", &[]), &CheckCx::default());
    assert!(
        found.len() == 1 && found[0].fatal && found[0].reason.contains("no control `nobody's` is offered"),
        "{found:?}"
    );
    assert!(Prototype::flow(&params("nobody's", &[]), FlowBench::new(Rate::gbps(1)).shape(), &()).is_none());
}

#[test]
fn a_parameter_that_it_does_not_have_stops_the_run() {
    halving("unknown");
    let found = Prototype::check(&params("unknown", &[("stride", 1.0)]), &CheckCx::default());
    let fatal: Vec<_> = found.iter().filter(|finding| finding.fatal).collect();
    assert!(fatal.len() == 1 && fatal[0].reason.contains("no parameter `stride`"), "{found:?}");
    assert!(fatal[0].hint.contains("step"));
    assert!(found.iter().any(|finding| !finding.fatal && finding.reason.contains("Python")), "it says that it is slow");
}

/// Only a control that uses marks needs a mechanism that marks.
#[test]
fn marks_are_needed_by_who_hears_them() {
    halving("marks");
    assert!(Prototype::profile(&params("marks", &[])).needs.marks);
    assert!(!Prototype::profile(&params("nobody's", &[])).needs.marks);
}
