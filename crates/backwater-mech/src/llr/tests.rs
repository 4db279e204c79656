//! The ends of a link, by hand: a sender and a receiver over a wire that the test controls.

use super::link::{Act, Link, Rules};
use super::wire::{What, Word};
use backwater_engine::Time;

const T: Time = Time::us(10);

/// Acknowledges each frame of 1,000 B, and keeps 4,000 B.
fn link() -> Link {
    Link::new(Rules {
        frames: 100,
        bytes: 4_000,
        spacing: 1_000,
        spaced: Time::ns(80),
        timer: T,
        tries: 2,
        lost: Time::ns(500),
    })
}

fn reported(acts: &[Act]) -> Vec<(What, u64)> {
    let words = acts.iter().filter_map(|act| if let Act::Say(frame) = act { frame.message::<Word>() } else { None });
    words.map(|Word { what, number }| (what, number)).collect()
}

fn again(acts: &[Act]) -> Option<u64> {
    acts.iter().find_map(|act| if let Act::ReplayFrom(from) = act { Some(*from) } else { None })
}

fn hear(link: &mut Link, what: What, number: u64, now: Time) -> Vec<Act> {
    link.receive(Word { what, number }, now)
}

/// At most four frames of 1,000 B may be outstanding; one acknowledged frame releases one. A frame larger than the limit goes alone.
#[test]
fn what_is_outstanding_is_limited() {
    let mut link = link();
    assert!(link.may_send(9_000));
    for _ in 0..4 {
        assert!(link.may_send(1_000));
        assert!(link.retains(1_000, Time::ZERO).0);
    }
    assert!(!link.may_send(64));
    hear(&mut link, What::Ack, 1, Time::us(1));
    assert!(link.may_send(1_000) && !link.may_send(1_001));
}

/// One NACK for a gap, and silence until the missing frame arrives.
#[test]
fn a_receiver_asks_once() {
    let mut link = link();
    assert_eq!(reported(&link.accepts(0, 1_000, Time::ZERO).1), [(What::Ack, 1)]);
    assert_eq!(reported(&link.ask()), [(What::Nack, 1)]);
    for number in [2, 3] {
        assert_eq!(link.accepts(number, 1_000, Time::ZERO), (false, vec![]));
    }
    assert_eq!(reported(&link.ask()), []);
    let (taken, acts) = link.accepts(1, 1_000, Time::ZERO);
    assert!(taken);
    assert_eq!(reported(&acts), [(What::Ack, 2)]);
    let (taken, acts) = link.accepts(3, 1_000, Time::ZERO);
    assert!(!taken, "2 is missing");
    assert_eq!(reported(&acts), [(What::Nack, 2)]);
}

/// A NACK acknowledges the frames before it, and causes a replay of the rest.
#[test]
fn a_sender_goes_back() {
    let mut link = link();
    (0..4).for_each(|_| assert!(link.retains(1_000, Time::ZERO).0));
    let acts = hear(&mut link, What::Nack, 2, Time::us(1));
    assert!(acts.contains(&Act::DiscardBefore(2)));
    assert_eq!(again(&acts), Some(2));
    assert!(link.may_send(2_000) && !link.may_send(2_001));
}

/// The timer counts from the last progress. After two vain tries the frames are given up, and the other end is notified until it answers.
#[test]
fn a_timer_goes_back_and_gives_up() {
    let mut link = link();
    let (_, acts) = link.retains(1_000, Time::ZERO);
    assert_eq!(acts, [Act::Replay(T)]);
    link.retains(1_000, Time::ZERO);
    hear(&mut link, What::Ack, 1, Time::us(4));
    assert_eq!(link.replay(T), [Act::Replay(Time::us(14))]);
    assert_eq!(again(&link.replay(Time::us(14))), Some(1));
    assert_eq!(again(&link.replay(Time::us(24))), Some(1));
    let acts = link.replay(Time::us(34));
    assert!(acts.contains(&Act::DiscardBefore(2)));
    assert_eq!((reported(&acts), again(&acts)), (vec![(What::Init, 2)], None));
    link.retains(1_000, Time::us(40));
    // The INIT was lost: the receiver still asks for 1.
    let acts = hear(&mut link, What::Nack, 1, Time::us(41));
    assert_eq!((reported(&acts), again(&acts)), (vec![(What::Init, 2)], Some(2)));
}

/// A late INIT takes nothing back.
#[test]
fn an_init_only_goes_forward() {
    let mut link = link();
    assert_eq!(reported(&hear(&mut link, What::Init, 5, Time::ZERO)), [(What::Ack, 5)]);
    assert!(link.accepts(5, 1_000, Time::ZERO).0);
    assert_eq!(reported(&hear(&mut link, What::Init, 5, Time::ZERO)), [(What::Ack, 6)]);
    assert!(!link.accepts(5, 1_000, Time::ZERO).0);
}

/// A link that is down for less than the timeout keeps its frames; otherwise they are given up, and nothing is kept until it is up.
#[test]
fn a_link_that_is_down() {
    let mut link = link();
    link.retains(1_000, Time::ZERO);
    assert_eq!(link.is_up(false, Time::us(1)), [Act::Lost(Time::ns(1_500))]);
    assert_eq!(link.is_up(true, Time::ns(1_400)), []);
    assert_eq!(link.lost(Time::ns(1_500)), []);
    link.is_up(false, Time::us(2));
    assert!(link.lost(Time::ns(2_500)).contains(&Act::DiscardBefore(1)));
    assert!(!link.retains(1_000, Time::us(3)).0 && link.may_send(9_000));
    assert_eq!(reported(&link.is_up(true, Time::us(4))), [(What::Init, 1)]);
    assert!(link.retains(1_000, Time::us(5)).0);
}
