//! Checks that no operation waits for itself, over others of its rank or over messages.

use super::{NONE, START, Schedule};
use crate::error::ImportError;

/// Most operations of a cycle that a message names.
const NAMED: usize = 20;

impl Schedule {
    /// Checks whether all operations can be done one after the other. `partner` gives the send for each receive.
    ///
    /// # Errors
    ///
    /// Some wait for each other in a cycle: the error names them, or the first of them and the number of the others.
    pub fn check_order(&self, partner: &[u32]) -> Result<(), ImportError> {
        let total = self.total() as usize;
        let mut missing = vec![0u32; total];
        // First the number that wait for each, then the beginning of their list.
        let mut begins = vec![0u32; total + 1];
        self.each_wait(partner, |own, other| {
            missing[own as usize] += 1;
            begins[other as usize + 1] += 1;
        });
        let mut sum = 0u64;
        for begin in &mut begins {
            sum += u64::from(*begin);
            if sum > u64::from(u32::MAX) {
                return Err(ImportError::new("more than 2^32 dependencies in all").file(self.file()));
            }
            *begin = sum as u32;
        }
        let mut next = begins.clone();
        let mut waiting = vec![0u32; sum as usize];
        self.each_wait(partner, |own, other| {
            let at = &mut next[other as usize];
            waiting[*at as usize] = own;
            *at += 1;
        });
        drop(next);
        let mut ready: Vec<u32> = (0u32..).zip(&missing).filter(|(_, n)| **n == 0).map(|(number, _)| number).collect();
        let mut done = 0;
        while let Some(number) = ready.pop() {
            done += 1;
            let (from, to) = (begins[number as usize] as usize, begins[number as usize + 1] as usize);
            for own in &waiting[from..to] {
                let left = &mut missing[*own as usize];
                *left -= 1;
                if *left == 0 {
                    ready.push(*own);
                }
            }
        }
        if done == total { Ok(()) } else { Err(self.circle(partner, &missing)) }
    }

    /// Calls back with each operation and each of its waits, by their numbers among all.
    fn each_wait(&self, partner: &[u32], mut call: impl FnMut(u32, u32)) {
        for (program, first) in self.programs.iter().zip(&self.first) {
            program.waits.iter().for_each(|(own, other)| call(first + own, first + (other & !START)));
        }
        (0u32..).zip(partner).filter(|(_, send)| **send != NONE).for_each(|(own, send)| call(own, *send));
    }

    /// An error that names a cycle among those with unmet waits.
    fn circle(&self, partner: &[u32], missing: &[u32]) -> ImportError {
        // Each of them waits for another one of them, so following the waits leads back to a visited one.
        let mut waits_for = vec![NONE; missing.len()];
        self.each_wait(partner, |own, other| {
            if missing[own as usize] > 0 && missing[other as usize] > 0 {
                waits_for[own as usize] = other;
            }
        });
        let Some(mut at) = (0u32..).zip(missing).find(|(_, n)| **n > 0).map(|(number, _)| number) else {
            return ImportError::new("operations wait for each other").file(self.file());
        };
        for _ in 0..missing.len() {
            at = waits_for[at as usize];
        }
        let mut names = vec![self.describe(at)];
        let (mut other, mut more) = (waits_for[at as usize], 0usize);
        while other != at {
            if names.len() < NAMED {
                names.push(self.describe(other));
            } else {
                more += 1;
            }
            other = waits_for[other as usize];
        }
        let hint = "a receive waits for its send, and each operation for what it depends on";
        let error = |way: String, hint: &str| self.error(at, format!("waits for itself, by way of {way}")).hint(hint);
        match (more, names.last()) {
            (1.., Some(last)) => error(
                format!("{} and {more} more", names.join(", ")),
                &format!("{hint}: that leads from {last} to the others"),
            ),
            _ => error(names.join(", "), hint),
        }
    }
}
