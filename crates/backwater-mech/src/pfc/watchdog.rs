//! The PFC watchdog: a bridge that gives up waiting for a neighbour that pauses a queue for too long.
//!
//! Not part of 802.1Q. Switches have it because one station that pauses forever, or a cycle of pauses, stops a whole lossless fabric. Per
//! (port, class), with the detection time T and the restoration time R:
//!
//! ```text
//! paused without a break for T, and frames wait   -> storm:  drop:     what waits is dropped, and so is what comes
//!                                                            forward:  the pause is ignored, the queue sends
//! no frame of the class has come for R, and       -> the queue sends, and T begins anew with the next pause
//! no pause of it is in force
//! ```
//!
//! A paused queue that is empty when T has passed does no harm: it is checked again after another T. R starts at the detection and restarts
//! with each frame of MAC control that names the class, resumes included: a neighbour that pauses forever is given up forever. SONiC's rule
//! counts such frames alone (`pfc_restore.lua`). A pause in force counts here, too; that makes no difference if R is longer than the
//! interval of frames, as SONiC's 100 ms and more are.
//!
//! With an interval P it acts at looks only, as SONiC's does (`polls.rs`).
//!
//! With `watchdog_blind` a port hears no frame while all of its classes are in storm (Broadcom Tomahawk 4 to 6, sonic-buildimage issue
//! 29203). Each class is then restored in the midst of the storm. If it is paused again before the next look, it counts as paused since the
//! restoration: `pfc_detect_broadcom.lua` keeps the values of the last look before the storm, and no counter has moved since.
//!
//! ```text
//! storm at kP   -> frames that come before the switch has acted count until (k + 1) P
//! then nothing  -> restored at (k + 1 + ceil(R / P)) P, paused by the next frame, in storm again ceil(T / P) P later
//! cycle         =  (1 + ceil(R / P) + ceil(T / P)) P
//! ```
//!
//! **Not modelled:** a watchdog of end stations; dropping at the ingress what comes in the class from the port in storm; the time from a
//! look to its action.
//! **Differences:** without `watchdog_poll` T and R are exact. With it all switches look at the same instants, multiples of P. SONiC's rule
//! for Broadcom gives up an empty queue, too; here a storm needs frames that wait.

use super::config::{Action, Params};
use super::polls::Polls;
use crate::mac_control::{GateChange, Receiver};
use backwater_engine::Time;
use backwater_net::hooks::{Gate, Place, SwitchCx, Token};
use backwater_net::packet::{CLASSES, Class, Port, Queue};

/// Kind of the control table's row for giving up.
pub const FIRED: &str = "pfc-watchdog";

/// Kind of the row for a queue that is restored.
pub const RESTORED: &str = "pfc-watchdog-restored";

/// A bit of a timer's token: the timer is the watchdog's. Slots stay below, up to 4096 ports.
const OWN: Token = 1 << 15;

/// The queues of a bridge, a slot for each (port, class).
#[derive(backwater_derive::State)]
pub(super) struct Watchdog {
    /// T
    #[state(fixed)]
    detect: Time,
    /// R
    #[state(fixed)]
    restore: Time,
    #[state(fixed)]
    action: Action,
    /// P
    #[state(fixed)]
    polls: Polls,
    /// Classes under PFC, a bit each, where a port that gives up all of them hears no frames; zero elsewhere.
    #[state(fixed)]
    blind: u8,
    queues: Vec<State>,
    /// With looks: the latest one that is armed for each queue, which serves all that begins before it.
    armed: Vec<Time>,
}

#[derive(Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
enum State {
    /// The neighbour lets it send.
    Free,
    /// Its pause counts from this time on.
    Paused(Time),
    /// The neighbour's pauses are ignored; quiet counts from this time on, the last frame's or the storm's.
    Storm(Time),
    /// Restored unheard at this look; a pause that begins before the next one counts from here.
    Restored(Time),
}

fn place_of(slot: usize) -> (Port, Class) {
    (Port((slot / CLASSES) as u16), Class((slot % CLASSES) as u8))
}

fn gate(slot: usize) -> Gate {
    let (port, Class(queue)) = place_of(slot);
    Gate::Egress(port, Queue(queue))
}

impl Watchdog {
    pub(super) fn new(params: &Params, detect: Time, ports: usize) -> Watchdog {
        Watchdog {
            detect,
            restore: params.watchdog_restore.unwrap_or(detect),
            action: params.watchdog_action,
            polls: Polls::new(params.watchdog_poll),
            blind: if params.watchdog_blind { params.class_bits() } else { 0 },
            queues: vec![State::Free; ports * CLASSES],
            armed: vec![Time::ZERO; ports * CLASSES],
        }
    }

    /// The slot of a timer of its own.
    pub(super) fn own(token: Token) -> Option<usize> {
        (token & OWN != 0).then_some((token & !OWN) as usize)
    }

    /// Returns whether a frame that joins this queue is dropped.
    pub(super) fn drops(&self, at: &Place) -> bool {
        let slot = usize::from(at.egress.0) * CLASSES + usize::from(at.queue.0);
        self.action == Action::Drop && self.is_in_storm(slot)
    }

    /// Returns whether the neighbour's pauses of a queue do not keep it from sending.
    pub(super) fn ignores(&self, slot: usize) -> bool {
        self.action == Action::Forward && self.is_in_storm(slot)
    }

    fn is_in_storm(&self, slot: usize) -> bool {
        matches!(self.queues[slot], State::Storm(_))
    }

    /// The slots of a slot's port that are under PFC, where the port hears no frame.
    fn unheard(&self, slot: usize) -> Vec<usize> {
        let first = slot - slot % CLASSES;
        let of_port: Vec<usize> = (first..first + CLASSES).filter(|at| self.blind & (1 << (at - first)) != 0).collect();
        if of_port.iter().all(|at| self.is_in_storm(*at)) { of_port } else { Vec::new() }
    }

    /// A frame of MAC control names the class of a queue.
    pub(super) fn on_pause(&mut self, cx: &mut SwitchCx<'_>, slot: usize) {
        if self.is_in_storm(slot) && self.unheard(slot).is_empty() {
            self.quiet_from(cx, slot);
        }
    }

    /// Quiet begins with the frame of now, or with the storm.
    fn quiet_from(&mut self, cx: &mut SwitchCx<'_>, slot: usize) {
        let since = self.polls.counts_from(cx.now());
        self.queues[slot] = State::Storm(since);
        self.arm(cx, since.after(self.restore), slot);
    }

    /// Looks at a queue at `t`, or at the next look.
    fn arm(&mut self, cx: &mut SwitchCx<'_>, t: Time, slot: usize) {
        let look = self.polls.first_from(t);
        // Thousands of frames come between two looks, and all wait for the same one.
        if self.polls.are_apart() && look > cx.now() && self.armed[slot] == look {
            return;
        }
        self.armed[slot] = look;
        cx.arm(look, slot as Token | OWN);
    }

    /// The neighbour's pause of a queue begins or ends. Returns whether the queue obeys.
    pub(super) fn obeys(&mut self, cx: &mut SwitchCx<'_>, change: GateChange) -> bool {
        let (GateChange::Shut(slot) | GateChange::Open(slot)) = change;
        let ends = matches!(change, GateChange::Open(_));
        match self.queues[slot] {
            State::Storm(quiet_since) => {
                if ends {
                    self.restore_if_quiet(cx, slot, quiet_since);
                }
            }
            _ if ends => self.queues[slot] = State::Free,
            before => {
                let since = match before {
                    State::Restored(at) if cx.now() < self.polls.counts_from(at) => at,
                    _ => self.polls.counts_from(cx.now()),
                };
                self.queues[slot] = State::Paused(since);
                self.arm(cx, since.after(self.detect), slot);
            }
        }
        !self.is_in_storm(slot)
    }

    /// A timer has expired. What `neighbour` says of a queue that is restored without having been heard is forgotten.
    pub(super) fn wake(&mut self, cx: &mut SwitchCx<'_>, slot: usize, neighbour: &mut Receiver) {
        match self.queues[slot] {
            State::Paused(since) if cx.now() >= since.after(self.detect) => self.detected(cx, slot),
            State::Storm(quiet_since) => match self.unheard(slot) {
                // A storm goes on until its last pause has ended.
                unheard if unheard.is_empty() => {
                    if !neighbour.is_paused(slot, cx.now()) {
                        self.restore_if_quiet(cx, slot, quiet_since);
                    }
                }
                unheard => self.restore_unheard(cx, unheard, neighbour),
            },
            _ => {} // a timer of an earlier pause
        }
    }

    /// Restores those of a port's queues that seem quiet, all at once: with the first of them the port hears frames again.
    #[cold]
    fn restore_unheard(&mut self, cx: &mut SwitchCx<'_>, slots: Vec<usize>, neighbour: &mut Receiver) {
        for slot in slots {
            if let State::Storm(quiet_since) = self.queues[slot]
                && self.restore_if_quiet(cx, slot, quiet_since)
            {
                // Its counters stood still: the next look sees a pause that goes on.
                self.queues[slot] = State::Restored(cx.now());
                neighbour.forget(slot);
            }
        }
    }

    fn detected(&mut self, cx: &mut SwitchCx<'_>, slot: usize) {
        let (port, class) = place_of(slot);
        let waiting = cx.seen().egress(port, Queue(class.0)).0;
        if waiting == 0 {
            return self.arm(cx, cx.now().after(self.detect), slot);
        }
        self.quiet_from(cx, slot);
        cx.report(FIRED, port, class, waiting);
        match self.action {
            Action::Drop => cx.flush(port, Queue(class.0)),
            Action::Forward => {
                cx.disobey(port, Queue(class.0));
                cx.open(gate(slot));
            }
        }
        // Frames of all classes were heard until now.
        for other in self.unheard(slot).into_iter().filter(|other| *other != slot) {
            self.quiet_from(cx, other);
        }
    }

    /// Restores a queue in storm that is not paused, if it has been quiet long enough. Returns whether it is restored.
    fn restore_if_quiet(&mut self, cx: &mut SwitchCx<'_>, slot: usize, quiet_since: Time) -> bool {
        if cx.now() < quiet_since.after(self.restore) {
            return false;
        }
        if cx.now() < self.polls.first_from(cx.now()) {
            self.arm(cx, cx.now(), slot);
            return false;
        }
        let (port, class) = place_of(slot);
        self.queues[slot] = State::Free;
        cx.report(RESTORED, port, class, 0);
        cx.open(gate(slot));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mac_control::Signal;
    use crate::pfc::tests::params;
    use crate::pfc::{Params, Switch};
    use backwater_net::Rate;
    use backwater_net::bench::{OWNER, SwitchBench, data, place};
    use backwater_net::config::SwitchParams;
    use backwater_net::hooks::{LinkSide, Mechanism, SwitchAction, SwitchSide};
    use backwater_net::packet::HostId;
    use backwater_net::pause::PauseRequest;

    const T: Time = Time::us(100);
    const R: Time = Time::us(30);
    const SLOT: Token = (CLASSES + 3) as Token;
    const SHUT: SwitchAction = SwitchAction::Shut(OWNER, Gate::Egress(Port(1), Queue(3)));
    const OPEN: SwitchAction = SwitchAction::Open(OWNER, Gate::Egress(Port(1), Queue(3)));
    const FLUSH: SwitchAction = SwitchAction::Flush(Port(1), Queue(3));
    const RESTORES: SwitchAction = SwitchAction::Report(RESTORED, Port(1), Class(3), 0);

    fn bridge(watchdog_action: Action) -> (SwitchBench, Switch) {
        let bench = SwitchBench::new(&SwitchParams::default(), 4, Rate::gbps(100), 1 << 3);
        let (watchdog, watchdog_restore) = (Some(T), Some(R));
        let params =
            Params { watchdog, watchdog_restore, watchdog_action, signal: Signal::OnOff, ..params(100_000, 50_000) };
        let switch = crate::pfc::Pfc::switch(&params, bench.shape()).expect("PFC is at every switch");
        (bench, switch)
    }

    fn pause(bench: &mut SwitchBench, switch: &mut Switch, lasting: bool) -> Vec<SwitchAction> {
        let frame = PauseRequest { class: Some(Class(3)), quanta: u16::from(lasting), lasting }.frame();
        switch.on_mac_control(&mut bench.cx().links(), Port(1), &frame);
        bench.actions()
    }

    fn wake(bench: &mut SwitchBench, switch: &mut Switch, at: Time) -> Vec<SwitchAction> {
        bench.now = at;
        switch.on_link_timer(&mut bench.cx().links(), SLOT | OWN);
        bench.actions()
    }

    fn armed(at: Time) -> SwitchAction {
        SwitchAction::Arm(OWNER, at, SLOT | OWN)
    }

    #[test]
    fn a_queue_paused_for_the_detection_time_is_dropped_and_so_is_what_comes() {
        let (mut bench, mut switch) = bridge(Action::Drop);
        bench.set_egress(Port(1), Queue(3), 5_000);
        assert_eq!(pause(&mut bench, &mut switch, true), [armed(T), SHUT]);
        let fired = SwitchAction::Report(FIRED, Port(1), Class(3), 5_000);
        assert_eq!(wake(&mut bench, &mut switch, T), [armed(T + R), fired, FLUSH]);
        let mut pkt = data(HostId(0), HostId(1), 7, Class(3), 1_000);
        switch.on_enqueue(&mut bench.cx(), &place(Port(0), Port(1), Class(3)), &mut pkt);
        assert_eq!(bench.actions(), [FLUSH]);
        switch.on_enqueue(&mut bench.cx(), &place(Port(0), Port(2), Class(3)), &mut pkt);
        assert_eq!(bench.actions(), [], "another queue");
        // The neighbour still pauses.
        assert_eq!(wake(&mut bench, &mut switch, T + R), []);
        switch.on_enqueue(&mut bench.cx(), &place(Port(0), Port(1), Class(3)), &mut pkt);
        assert_eq!(bench.actions(), [FLUSH]);
        assert!(switch.overrides_pause(Port(1)));
    }

    /// Frames that are R/2 apart restore nothing. A resume is such a frame, too; R after it nothing is dropped any more.
    #[test]
    fn a_queue_is_restored_after_a_quiet_time() {
        let (mut bench, mut switch) = bridge(Action::Drop);
        bench.set_egress(Port(1), Queue(3), 5_000);
        pause(&mut bench, &mut switch, true);
        wake(&mut bench, &mut switch, T);
        let half = Time(R.0 / 2);
        let mut now = T;
        for _ in 0..10 {
            now += half;
            bench.now = now;
            assert_eq!(pause(&mut bench, &mut switch, true), [armed(now + R)]);
            assert_eq!(wake(&mut bench, &mut switch, now), [], "a timer of an earlier frame");
        }
        bench.now = now + half;
        let restored_at = bench.now + R;
        assert_eq!(
            pause(&mut bench, &mut switch, false),
            [armed(restored_at)],
            "it has ended, and not been quiet for R"
        );
        assert_eq!(wake(&mut bench, &mut switch, Time(restored_at.0 - 1)), []);
        assert_eq!(wake(&mut bench, &mut switch, restored_at), [RESTORES, OPEN]);
        let mut pkt = data(HostId(0), HostId(1), 7, Class(3), 1_000);
        switch.on_enqueue(&mut bench.cx(), &place(Port(0), Port(1), Class(3)), &mut pkt);
        assert_eq!(bench.actions(), []);
        // The next pause is obeyed, and T begins anew.
        assert_eq!(pause(&mut bench, &mut switch, true), [armed(restored_at + T), SHUT]);
    }

    /// The queue waits for the end of a timed pause longer than R: 65,535 quanta of 512 bit times at 100 Gb/s are 335.5392 us.
    #[test]
    fn a_pause_in_force_is_no_quiet_time() {
        let (mut bench, mut switch) = bridge(Action::Drop);
        bench.set_egress(Port(1), Queue(3), 5_000);
        let frame = PauseRequest { class: Some(Class(3)), quanta: u16::MAX, lasting: false }.frame();
        switch.on_mac_control(&mut bench.cx().links(), Port(1), &frame);
        let end = Time::ps(335_539_200);
        assert_eq!(bench.actions(), [armed(T), SHUT, SwitchAction::Arm(OWNER, end, SLOT)]);
        wake(&mut bench, &mut switch, T);
        assert_eq!(wake(&mut bench, &mut switch, T + R), []);
        bench.now = end;
        switch.on_link_timer(&mut bench.cx().links(), SLOT);
        assert_eq!(bench.actions(), [RESTORES, OPEN, OPEN]);
    }

    #[test]
    fn forwarding_ignores_the_pause_and_what_the_neighbour_says_meanwhile() {
        let (mut bench, mut switch) = bridge(Action::Forward);
        bench.set_egress(Port(1), Queue(3), 5_000);
        pause(&mut bench, &mut switch, true);
        let actions = wake(&mut bench, &mut switch, T);
        assert_eq!(actions.last(), Some(&OPEN));
        assert_eq!(pause(&mut bench, &mut switch, false), [armed(T + R)], "a resume in the storm is not quiet for R");
        assert_eq!(wake(&mut bench, &mut switch, T + R), [RESTORES, OPEN]);
    }

    #[test]
    fn neither_a_short_pause_nor_an_empty_queue_makes_it_fire() {
        let (mut bench, mut switch) = bridge(Action::Drop);
        bench.set_egress(Port(1), Queue(3), 5_000);
        pause(&mut bench, &mut switch, true);
        bench.now = Time::us(60);
        assert_eq!(pause(&mut bench, &mut switch, false), [OPEN]);
        bench.now = Time::us(70);
        pause(&mut bench, &mut switch, true);
        assert_eq!(wake(&mut bench, &mut switch, T), [], "the first timer is stale");
        bench.set_egress(Port(1), Queue(3), 0);
        let (end, again) = (Time::us(170), Time::us(270));
        assert_eq!(wake(&mut bench, &mut switch, end), [armed(again)], "nothing waits");
    }

    /// Pauses and storms of one interval wait for the same look, so one timer serves all.
    #[test]
    fn pauses_of_one_interval_arm_one_look() {
        let mut bench = SwitchBench::new(&SwitchParams::default(), 4, Rate::gbps(100), 1 << 3);
        let params = Params {
            watchdog: Some(T),
            watchdog_restore: Some(R),
            watchdog_poll: Some(T),
            signal: Signal::OnOff,
            ..params(100_000, 50_000)
        };
        let mut switch = crate::pfc::Pfc::switch(&params, bench.shape()).expect("PFC");
        bench.set_egress(Port(1), Queue(3), 5_000);
        bench.now = Time::us(10);
        // Seen by the look at 100 us, it is T old at 200 us.
        assert_eq!(pause(&mut bench, &mut switch, true), [armed(Time::us(200)), SHUT]);
        for at in [20, 40, 60] {
            bench.now = Time::us(at);
            assert_eq!(pause(&mut bench, &mut switch, false), [OPEN]);
            assert_eq!(pause(&mut bench, &mut switch, true), [SHUT]);
        }
        bench.now = Time::us(150);
        assert_eq!(pause(&mut bench, &mut switch, false), [OPEN]);
        assert_eq!(pause(&mut bench, &mut switch, true), [armed(Time::us(300)), SHUT], "of the next interval");
        assert_eq!(wake(&mut bench, &mut switch, Time::us(200)), [], "it is not T old");
        let storm = wake(&mut bench, &mut switch, Time::us(300));
        // Quiet is seen at 400 us, and is R old at 500 us. Frames of the same interval wait for that look, too, those of the next for one.
        assert!(storm.contains(&FLUSH) && storm.contains(&armed(Time::us(500))), "{storm:?}");
        for (times, looks) in [([310, 320, 330], vec![]), ([410, 420, 430], vec![armed(Time::us(600))])] {
            let mut found = Vec::new();
            for at in times {
                bench.now = Time::us(at);
                found.extend(pause(&mut bench, &mut switch, true));
            }
            assert_eq!(found, looks);
        }
    }
}
