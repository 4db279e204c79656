//! Hosts with several queues for one class.
//!
//! Between a host and its switch each queue of the host is a priority of its own, which can be paused by itself (IEEE 802.1Q clause 36);
//! the host writes the priority's DSCP into the frames that it sends. The switch and all nodes behind it map those DSCPs to one class. A
//! flow takes a queue when it starts, the first in order that is not paused, and stays in it.

use crate::model::packet::{CLASSES, Class, Dscp};

/// The class that has several queues at its host, and their priorities, in the order in which new flows try them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostQueues {
    class: Class,
    order: [Class; CLASSES],
    number: u8,
    /// The priorities, a bit each; 0: every class has one queue, its own.
    bits: u8,
}

impl Default for HostQueues {
    /// Each class has one queue.
    fn default() -> HostQueues {
        HostQueues { class: Class(0), order: [Class(0); CLASSES], number: 0, bits: 0 }
    }
}

impl HostQueues {
    /// Queues of these priorities for `class`; `None`, unless the priorities are different and the first is the class's own.
    pub fn new(class: Class, priorities: &[Class]) -> Option<HostQueues> {
        let bits = priorities.iter().filter(|p| usize::from(p.0) < CLASSES).fold(0u8, |bits, p| bits | 1 << p.0);
        if priorities.first() != Some(&class) || bits.count_ones() as usize != priorities.len() {
            return None;
        }
        if priorities.len() == 1 {
            return Some(HostQueues::default());
        }
        let mut queues = HostQueues { class, number: priorities.len() as u8, bits, ..HostQueues::default() };
        queues.order[..priorities.len()].copy_from_slice(priorities);
        Some(queues)
    }

    /// Returns whether some class has several.
    #[inline(always)]
    pub fn several(&self) -> bool {
        self.bits != 0
    }

    /// Priorities that carry these classes on a link between a host and its switch, a bit each.
    pub fn carrying(&self, classes: u8) -> u8 {
        if self.several() && classes & (1 << self.class.0) != 0 { classes | self.bits } else { classes }
    }

    /// The queue in which a packet of this class is acknowledged in `class`: the packet's own, if both are of the class with several
    /// queues.
    pub(crate) fn answers(&self, class: Class, packet: Dscp) -> Dscp {
        let shared = class == self.class && self.bits & (1 << packet.priority().0) != 0;
        if shared { packet } else { Dscp::of(class) }
    }

    /// Priorities of all queues but the first, a bit each: no other class may use them.
    pub fn extra(&self) -> u8 {
        self.bits & !(1 << self.class.0)
    }

    /// The classes that these priorities carry, a bit each.
    pub(crate) fn carried(&self, priorities: u32) -> u32 {
        let own = if priorities & u32::from(self.bits) != 0 { 1 << self.class.0 } else { 0 };
        priorities & !u32::from(self.bits) | own
    }

    /// The queue of a new flow: the first that is not paused. If all are paused it is the last, since the rule passes over a paused queue
    /// while there is another one.
    pub(crate) fn pick(&self, class: Class, open: u32) -> Class {
        if !self.several() || class != self.class {
            return class;
        }
        let queues = &self.order[..usize::from(self.number)];
        let free = queues.iter().find(|queue| open & (1 << queue.0) != 0);
        free.or(queues.last()).copied().unwrap_or(class)
    }

    /// The next priority in turn of the highest class that has one among `mask`, which is not empty.
    pub(crate) fn next(&self, mask: u32, last: u8) -> u8 {
        let class = self.carried(mask).ilog2() as u8;
        if !self.several() || class != self.class.0 {
            return class;
        }
        let among = mask & u32::from(self.bits);
        // Those after the last one first.
        let behind = among & u32::MAX << (last + 1);
        (if behind != 0 { behind } else { among }).trailing_zeros() as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn four() -> HostQueues {
        HostQueues::new(Class(3), &[3, 5, 0, 1].map(Class)).expect("four different priorities")
    }

    #[test]
    fn priorities_are_different_and_begin_with_the_class() {
        for wrong in [&[][..], &[4], &[4, 3], &[3, 4, 4], &[3, 8]] {
            let priorities: Vec<Class> = wrong.iter().map(|p| Class(*p)).collect();
            assert_eq!(HostQueues::new(Class(3), &priorities), None, "{wrong:?}");
        }
        assert_eq!(HostQueues::new(Class(3), &[Class(3)]), Some(HostQueues::default()));
    }

    #[test]
    fn a_class_is_carried_on_all_its_priorities() {
        let queues = four();
        assert_eq!(queues.carrying(1 << 3 | 1 << 6), 0b0110_1011);
        assert_eq!(queues.carrying(1 << 6), 1 << 6);
        assert_eq!(queues.extra(), 0b0010_0011);
        assert_eq!(queues.carried(0b0100_0010), 0b0100_1000);
        assert_eq!(HostQueues::default().carrying(0b1001), 0b1001);
        assert_eq!(HostQueues::default().carried(0b1001), 0b1001);
    }

    #[test]
    fn a_flow_takes_the_first_queue_that_is_not_paused_and_else_the_last() {
        let queues = four();
        assert_eq!(queues.pick(Class(3), u32::MAX), Class(3));
        assert_eq!(queues.pick(Class(3), !(1 << 3)), Class(5));
        assert_eq!(queues.pick(Class(3), 1 << 0 | 1 << 1), Class(0));
        assert_eq!(queues.pick(Class(3), 1 << 7), Class(1), "all are paused");
        assert_eq!(queues.pick(Class(6), 0), Class(6), "another class");
    }

    #[test]
    fn queues_of_the_class_take_turns_behind_higher_classes() {
        let queues = four();
        assert_eq!(queues.next(0b0010_1011, 0), 1);
        assert_eq!(queues.next(0b0010_1011, 3), 5);
        assert_eq!(queues.next(0b0010_1011, 5), 0);
        assert_eq!(queues.next(0b0011_0000, 7), 4, "class 4 is above class 3, whatever the priority of its queue");
        assert_eq!(queues.next(0b0010_0100, 0), 5, "class 2 is below");
    }
}
