//! Sorts rows in any order into operations by id, and checks that each of them can begin.

use super::{ACK, ACK_OF_ID, Flaw, NONE, Operation, Operations, Reader, find};
use std::collections::HashSet;

/// Ids of a cycle that an error names.
const NAMED: usize = 8;

impl Reader {
    /// The operations, once all rows have been added.
    ///
    /// # Errors
    /// No row, an id twice, a wait for a missing id or for the acknowledgement of a computation, operations that can never begin.
    pub fn finish(self) -> Result<Operations, Flaw> {
        let Reader { ids, mut all, needs, ends, mut waits, mut starts, labels, streams } = self;
        if all.is_empty() {
            let (reason, hint) = ("the table has no operations".to_owned(), "a row for each operation".to_owned());
            return Err(Flaw { row: None, column: "id", value: String::new(), reason, hint });
        }
        let mut order: Vec<u32> = (0..all.len() as u32).collect();
        if !ids.is_sorted() {
            order.sort_unstable_by_key(|row| (ids[*row as usize], *row));
        }
        let rows_ids = ids;
        let ids: Vec<u64> = order.iter().map(|row| rows_ids[*row as usize]).collect();
        if let Some(at) = ids.windows(2).position(|pair| pair[0] == pair[1]) {
            let reason = format!("two operations have the id {}", ids[at]);
            return Err(Flaw {
                row: Some(order[at + 1] as usize),
                column: "id",
                value: ids[at].to_string(),
                reason,
                hint: "number operations 0, 1, 2, …".into(),
            });
        }
        let of = |row: usize| row.checked_sub(1).map_or(0, |before| ends[before] as usize)..ends[row] as usize;
        // Replace ids in waits by places.
        let mut first = vec![0u32; ids.len() + 1];
        for row in 0..ends.len() {
            for wait in &mut waits[of(row)] {
                let (id, ack) = (*wait & !ACK_OF_ID, *wait & ACK_OF_ID != 0);
                let column = if ack { "after_ack" } else { "after" };
                let fail = |reason: String, hint: &str| {
                    Err(Flaw { row: Some(row), column, value: id.to_string(), reason, hint: hint.to_owned() })
                };
                let Some(at) = find(&ids, id) else {
                    return fail(format!("there is no operation {id}"), "every id that is waited for has a row");
                };
                if ack && all[order[at as usize] as usize].peer == NONE {
                    return fail(format!("operation {id} computes, nothing acknowledges it"), "name it in `after`");
                }
                first[at as usize + 1] += 1;
                *wait = u64::from(if ack { at | ACK } else { at });
            }
        }
        for at in 0..ids.len() {
            first[at + 1] += first[at];
        }
        let mut then = vec![0u32; waits.len()];
        let mut next = first.clone();
        for (at, row) in (0u32..).zip(&order) {
            for wait in &waits[of(*row as usize)] {
                let wait = *wait as u32;
                let place = &mut next[(wait & !ACK) as usize];
                then[*place as usize] = at | (wait & ACK);
                *place += 1;
            }
        }
        drop((waits, next));
        // Numbers of labels and streams must not depend on the order of rows.
        let (sends, others): (Vec<_>, Vec<_>) = labels.into_iter().partition(|(_, (_, of_sends))| *of_sends);
        let groups = sends.len();
        let mut label_of = vec![0u16; groups + others.len()];
        let mut names = Vec::with_capacity(label_of.len());
        for (name, (number, _)) in sends.into_iter().chain(others) {
            label_of[usize::from(number)] = names.len() as u16;
            names.push(name);
        }
        let mut stream_of = vec![0u32; streams.len()];
        (0u32..).zip(streams.into_values()).for_each(|(number, came)| stream_of[came as usize] = number);
        for one in &mut all {
            one.label = label_of[usize::from(one.label)];
            if one.stream != NONE {
                one.stream = stream_of[one.stream as usize];
            }
        }
        let mut place = vec![0u32; if starts.is_empty() { 0 } else { order.len() }];
        if !starts.is_empty() {
            (0u32..).zip(&order).for_each(|(at, row)| place[*row as usize] = at);
            starts.iter_mut().for_each(|(row, _)| *row = place[*row as usize]);
            starts.sort_unstable_by_key(|(at, _)| *at);
        }
        drop(place);
        let all: Vec<Operation> = order.iter().map(|row| all[*row as usize]).collect();
        let needs: Vec<u32> = order.iter().map(|row| needs[*row as usize]).collect();
        let made = Operations { ids, all, needs, first, then, starts, labels: names, groups };
        match made.stuck() {
            None => Ok(made),
            Some(circle) => Err(made.circle(&circle, &order)),
        }
    }
}

impl Operations {
    /// Operations in a cycle, each after the next, so that none can ever begin. `None`: all will begin.
    fn stuck(&self) -> Option<Vec<u32>> {
        let mut left = self.needs.clone();
        let mut free: Vec<u32> = (0u32..).zip(&left).filter(|(_, needs)| **needs == 0).map(|(at, _)| at).collect();
        let mut begun = 0;
        while let Some(at) = free.pop() {
            begun += 1;
            for (then, _) in self.waiting(at) {
                let left = &mut left[then as usize];
                if *left > 0 {
                    *left -= 1;
                    if *left == 0 {
                        free.push(then);
                    }
                }
            }
        }
        if begun == self.len() {
            return None;
        }
        // Each operation that does not begin waits for another one that does not.
        let mut before = vec![NONE; self.len()];
        let mut at = NONE;
        for (one, _) in (0u32..).zip(&left).filter(|(_, left)| **left > 0) {
            for (then, _) in self.waiting(one).filter(|(then, _)| left[*then as usize] > 0) {
                before[then as usize] = one;
                at = then;
            }
        }
        let mut seen = HashSet::new();
        while seen.insert(at) {
            at = before[at as usize];
        }
        let mut circle = vec![at];
        let mut next = before[at as usize];
        while next != at {
            circle.push(next);
            next = before[next as usize];
        }
        Some(circle)
    }

    fn circle(&self, circle: &[u32], order: &[u32]) -> Flaw {
        let mut names: Vec<String> = circle.iter().take(NAMED).map(|at| self.id(*at).to_string()).collect();
        if circle.len() > NAMED {
            names.push(format!("{} more", circle.len() - NAMED));
        }
        names.push(self.id(circle[0]).to_string());
        Flaw {
            row: Some(order[circle[0] as usize] as usize),
            column: "after",
            value: self.id(circle[0]).to_string(),
            reason: format!("operations wait for each other, and none can begin: {}", names.join(" after ")),
            hint: "leave one of these waits out".into(),
        }
    }
}
