//! The threads of a split run: one for each part but the first, which last as long as the run. A part is handed to its thread for a stretch
//! and comes back, so that between stretches all parts are at hand.
//!
//! Threads of a single stretch would cost about as much as 100,000 events.

use super::super::{Actors, Network};
use super::Alarm;
use super::board::Board;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

/// The threads of all parts but the first.
pub(super) struct Crew<A: Actors> {
    workers: Vec<Worker<A>>,
}

struct Worker<A: Actors> {
    to: Sender<Network<A>>,
    from: Receiver<Network<A>>,
    thread: JoinHandle<()>,
}

impl<A: Actors + 'static> Crew<A>
where
    Network<A>: Send,
{
    /// Starts threads for so many parts. `None`: the system starts no more threads.
    pub fn new(parts: usize, board: &Arc<Board>) -> Option<Crew<A>> {
        let worker = |_| {
            let ((to, tasks), (back, from)) = (channel::<Network<A>>(), channel());
            let board = Arc::clone(board);
            let work = move || {
                for mut part in tasks {
                    let _alarm = Alarm(&board);
                    part.work(&board);
                    if back.send(part).is_err() {
                        return;
                    }
                }
            };
            Some(Worker { to, from, thread: Builder::new().spawn(work).ok()? })
        };
        Some(Crew { workers: (1..parts).map(worker).collect::<Option<_>>()? })
    }

    /// Lets all parts handle the events of the stretch that the board has begun. A panic in a part goes on here.
    pub fn work(&mut self, parts: &mut Vec<Network<A>>, board: &Board) {
        let others = parts.split_off(1);
        for (worker, part) in self.workers.iter().zip(others) {
            // Without its thread, the part is missed below.
            let _ = worker.to.send(part);
        }
        let alarm = Alarm(board);
        parts[0].work(board);
        drop(alarm);
        while let Some(worker) = self.workers.get(parts.len() - 1) {
            match worker.from.recv() {
                Ok(part) => parts.push(part),
                Err(_) => {
                    let failed = self.workers.swap_remove(parts.len() - 1);
                    if let Err(panic) = failed.thread.join() {
                        resume_unwind(panic);
                    }
                    unreachable!("a thread ends when it is not needed any more, or panics");
                }
            }
        }
    }
}
