//! This project's bound: thresholds and pause times that Source Flow Control needs, derived from first principles.
//!
//! Assumptions:
//!
//! - (A1) N senders send without end into one port at its own rate C, over paths that share only the last switch.
//! - (A2) Frames have one length F and take t = 8 F/C (their gap included, which no queue holds), at every hop stored first; l links of delay d, S switches of latency s.
//! - (A3) A frame is seen when it joins the egress queue, behind its switch's latency. If the queue is then above Th and its sender has had
//!   no message within the interval I, a message is sent at once. The message passes the same switch and the path back, and waits on each
//!   link for at most one frame of its own length (an acknowledgement).
//! - (A4) A sender that gets a message stops for P after the frame in transmission; a later message only moves the end to a later time.
//!
//! **Loop**, from a frame's first bit at its sender to the stop that it causes there (t_m: the message's own time):
//!
//! ```text
//! L = 2 l d + 2 S s + l (t + t_m)        at most L' = L + l t_m
//! m = ceil(L'/t)                         frames that a sender brings from the first one that is told on
//! ```
//!
//! If links have several rates, l t stands for the time of a frame on all of them, and l t_m for that of a message; t remains the frame's
//! time at C. With `switch.latency_at = "output"`, the simulator's default, a frame is in its queue before that latency, and only the
//! message passes it: 2 S - 1 in place of 2 S, as the document counts. If a message may have to wait for a data frame at each hop, as on
//! links that carry data both ways, L is up to l t longer: this is not counted.
//!
//! **Least pause.** While the queue stays above Th each sender repeats one cycle: its first frame causes a message, m frames arrive, it
//! pauses. Messages on later frames of the same burst, every I* = ceil(I/t) t, end the pause k I* later; an interval that outlasts loop and
//! pause lets j more frames arrive without a message. A cycle lasts L + P + k I* + j t and brings (m + j) frames a sender. The queue does
//! not grow if the port can send them all in that time:
//!
//! ```text
//! N (m + j) t <= L + P + k I* + j t
//! P_min = N m t - L + (N-1) j t - k I*       k = floor((m-1) t / I*)     j = max(0, ceil(I / (N t)) - m)
//! ```
//!
//! With I = P and two senders or more j = k = 0 at P_min itself. A pause below (m-1) t is its own further message, so with two senders some
//! shorter pauses suffice, too. Otherwise a shorter pause lets the queue grow by C (P_min - P) a cycle without end: in the end PFC fires,
//! whatever Th and the PFC threshold are, as soon as the flows are long enough. With (m t = L) P_min is (N-1) L, the formula of the
//! document except its loop.
//!
//! From the frame that brings the queue above Th every sender has m + j' more, the first included, and the port sends m + j' - 1 until the
//! last has arrived. Later cycles bring no more than the port sends if P >= P_min:
//!
//! ```text
//! H = ((N-1) (m + j') + 1) F     j' = max(0, ceil((I - L - P) / t))     Th <= PFC threshold - H
//! ```
//!
//! This holds wherever PFC counts, since no ingress holds more than the queue. It is tight where PFC counts the queue itself; with equal
//! senders at as many ingresses each ingress holds an N-th.
//!
//! **Greatest pause.** The queue was above Th at one moment; the N m - 1 frames after it arrive in any case, and the first sender is back L
//! + P + k I* later. The port does not idle if
//!
//! ```text
//! P_max = (Th + (N m0 - 1) F) / C - L - k I*     m0 = ceil(L/t)
//! ```

use super::incast_case::Case;
use backwater_engine::Time;
use backwater_net::Bytes;
use backwater_net::hooks::AdviceError;

/// Default frame length: that of the study sfc-aidc-2025.
pub(super) const FRAME: Bytes = Bytes(4_064);

/// This project's bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bound {
    /// The frame length of the calculation.
    pub frame: Bytes,
    /// From a frame's first bit at its sender to the stop that it causes there.
    pub loop_time: Time,
    /// Frames that a sender still brings, including the first one with a message.
    pub frames: u64,
    /// Bytes above the threshold.
    pub headroom: Bytes,
    /// Largest threshold with which PFC does not fire, if there is one.
    pub largest_threshold: Option<Bytes>,
    /// With a shorter pause the queue grows without end.
    pub shortest_pause: Time,
    /// With a longer pause the port idles.
    pub longest_pause: Time,
}

/// The bound for an incast whose threshold is `threshold`.
pub(super) fn bound(q: &Case, threshold: Bytes) -> Result<Bound, AdviceError> {
    let frame = q.packet.unwrap_or(FRAME);
    let t = i128::from(q.at(q.rate, frame).0.max(1));
    let (data, messages) = (i128::from(q.on_links(frame)?.0), i128::from(q.on_links(q.message)?.0));
    let (n, l, s) = (i128::from(q.senders), i128::from(q.links), i128::from(q.switches));
    let sum = |parts: [(i128, i128); 3]| {
        let products = parts.map(|(a, b)| a.checked_mul(b));
        products.into_iter().try_fold(0i128, |sum, product| sum.checked_add(product?))
    };
    let large = || AdviceError::too_large("the loop time");
    let (delay, latency) = (i128::from(q.link_delay.0), i128::from(q.switch_latency.0));
    let passed = 2 * s - i128::from(!q.behind_latency);
    let least = sum([(2 * l, delay), (passed, latency), (1, data + messages)]).ok_or_else(large)?;
    let most = sum([(1, least), (1, messages), (0, 0)]).ok_or_else(large)?;
    let frames = ceil(most, t);
    let interval = q.interval.map(|interval| i128::from(interval.0));
    // Messages on later frames of a burst.
    let again = interval.map_or(0, |i| {
        let step = ceil(i.max(1), t) * t;
        (frames - 1) * t / step * step
    });
    let untold = interval.map_or(0, |i| (ceil(i, n * t) - frames).max(0));
    let over = || AdviceError::too_large("the pause time");
    let shortest = sum([(n * frames, t), ((n - 1) * untold, t), (-1, least + again)]).ok_or_else(over)?;
    let late = match (interval, q.pause) {
        (Some(i), Some(pause)) => ceil((i - least - i128::from(pause.0)).max(0), t),
        (Some(_), None) => untold,
        (None, _) => 0,
    };
    let headroom = sum([((n - 1) * (frames + late) + 1, i128::from(frame.0)), (0, 0), (0, 0)]).ok_or_else(over)?;
    let headroom = Bytes(u64::try_from(headroom).map_err(|_| AdviceError::too_large("the headroom"))?);
    let full = sum([(n * ceil(least, t) - 1, i128::from(frame.0)), (1, i128::from(threshold.0)), (0, 0)]);
    // Each frame of that leaves with its gap.
    let (whole, own) = (i128::from(frame.0) + i128::from(q.gap.0), i128::from(frame.0.max(1)));
    let full = full.and_then(|full| Some(full.checked_mul(whole)? / own));
    let full = u64::try_from(full.ok_or_else(over)?).map_err(|_| over())?;
    let longest = i128::from(q.rate.time_for(Bytes(full)).0) - least - again;
    let time = |ps: i128| u64::try_from(ps.max(0)).map(Time).map_err(|_| over());
    Ok(Bound {
        frame,
        loop_time: time(least)?,
        frames: u64::try_from(frames).map_err(|_| large())?,
        headroom,
        largest_threshold: (q.pfc_threshold > headroom).then(|| q.pfc_threshold - headroom),
        shortest_pause: time(shortest)?,
        longest_pause: time(longest)?,
    })
}

fn ceil(a: i128, b: i128) -> i128 {
    (a + b - 1).div_euclid(b)
}
