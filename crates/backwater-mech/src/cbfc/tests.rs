//! The counters of a link's end, by hand.

use super::link::{Act, Link, PATIENCE, Rates};
use super::wire::Word;
use backwater_engine::Time;
use backwater_net::packet::{CLASSES, Class};

const LEAST: Time = Time::ns(64);
const MOST: Time = Time::us(20);
const VC: Class = Class(3);

/// A link with so many credits of 128 B each.
fn link(limit: u64) -> Link {
    let (port_limit, credit, overhead) = (u64::MAX, 128, 0);
    Link::new(Rates {
        classes: 1 << 3,
        limit,
        port_limit,
        credit,
        overhead,
        least: LEAST,
        most: MOST,
        timer: Time::us(256),
    })
}

fn says(acts: [Act; 2]) -> Option<(u32, u32)> {
    acts.iter().find_map(|act| match act {
        Act::Say(frame) => {
            frame.message::<Word>().map(|word| (word.of, word.counts[if word.of == Word::ALL { 3 } else { 0 }]))
        }
        _ => None,
    })
}

/// 129 B take two credits of 128 B; with two of three in use another such packet waits, and one of 128 B goes.
#[test]
fn a_packet_takes_whole_credits() {
    let mut link = link(3);
    assert!(link.may_send(VC, 384) && !link.may_send(VC, 385));
    link.sent(VC, 129, Time::ZERO);
    assert!(link.may_send(VC, 128) && !link.may_send(VC, 129));
    assert!(link.may_send(Class(2), 9_000), "a class without credits");
    link.freed(3, 2);
    assert!(link.may_send(VC, 384));
}

/// The counts of sent bytes, 2^20 and more, continue across the wrap of the messages' counters.
#[test]
fn counters_are_cyclic() {
    let (mut sender, mut receiver) = (link(40_000), link(40_000));
    for step in 0..40u64 {
        let now = Time::us(100 * (step + 1));
        assert!(sender.may_send(VC, 32_000 * 128));
        sender.sent(VC, 32_000 * 128, now);
        receiver.came(VC, 32_000 * 128, now);
        let (vc, cf) = says(receiver.look(now)).expect("something is free");
        assert_eq!((u64::from(vc), u64::from(cf)), (3, 32_000 * (step + 1) % (1 << 20)));
        sender.freed(3, cf);
    }
}

/// Stored packets are not free; updates keep their spacing, and the last is repeated once.
#[test]
fn updates_are_spaced_and_repeated() {
    let mut link = link(100);
    for _ in 0..2 {
        link.came(VC, 128, Time::ZERO);
        link.stored(VC, 128);
    }
    assert_eq!(says(link.look(Time::ZERO)), None);
    assert_eq!(link.left(VC, 128, Time::us(1)), [Act::Look(Time::us(1)), Act::Nothing]);
    assert_eq!(says(link.look(Time::us(1))), Some((3, 1)));
    assert_eq!(link.left(VC, 128, Time::us(1)), [Act::Look(Time::us(1) + LEAST), Act::Nothing]);
    let acts = link.look(Time::us(1) + LEAST);
    assert_eq!((says(acts), acts[1]), (Some((3, 2)), Act::Look(Time::us(1) + LEAST + MOST)));
    let acts = link.look(Time::us(1) + LEAST + MOST);
    assert_eq!((says(acts), acts[1]), (Some((3, 2)), Act::Nothing));
}

/// The sender has sent 5 credits, of which 2 were lost: CC 5 shows it, and they are free. A CC that is older than the arrived packets
/// changes nothing.
#[test]
fn a_cc_update_repairs() {
    let mut link = link(100);
    link.came(VC, 3 * 128, Time::ZERO);
    link.stored(VC, 3 * 128);
    let mut reported = [0; CLASSES];
    reported[3] = 5;
    link.consumed(reported, Time::us(1));
    assert_eq!(says(link.look(Time::us(1))), Some((3, 2)));
    reported[3] = 4;
    link.consumed(reported, Time::us(2));
    assert_eq!(says(link.look(Time::us(2))), Some((3, 2)), "told again, and no more");
}

/// CC_Updates are sent while credits are in use, but not forever.
#[test]
fn synchronisation_ends() {
    let mut link = link(100);
    assert_eq!(link.sent(VC, 128, Time::ZERO), [Act::Synchronise(Time::us(256)), Act::Nothing]);
    let sent = (1..2 * u64::from(PATIENCE)).take_while(|n| says(link.synchronise(Time::us(256 * n))).is_some()).count();
    assert_eq!(sent, PATIENCE as usize);
    link.sent(VC, 128, Time::ms(2_000));
    link.freed(3, 2);
    assert_eq!(says(link.synchronise(Time::ms(2_001))), None, "nothing is in use");
}
