//! Source Flow Control: headroom, largest threshold and legal pause times of an N:1 incast.
//!
//! ```text
//! T_loop = 2 L t_link + (2 S - 1) t_switch      L links and S switches from a sender to the congested port: the message passes
//!                                               L links and S - 1 switches on its way back, the last data L links and S switches
//! H      = (N-1) C T_loop / 8                   bytes that still come after the threshold: N senders at line rate into one port
//! Th    <= PFC threshold - H
//! H/C    < P < (Th + H)/C                       not back before the queue is at Th again, and not after it has run empty
//! ```
//!
//! Source: contribution dw-chen-sfc-computation-simulation to IEEE P802.1Qdw, whose numbers are reproduced exactly; its 2.4 us are inferred
//! to be 6 links and 5 switches. With serialisation every store-and-forward hop adds the time of its frame.

use super::incast_case::Case;
use backwater_engine::Time;
use backwater_net::hooks::{AdviceError, Hop};
use backwater_net::{Bytes, Rate};
use serde_json::{Map, Value, json};

/// The times between a sender and the congested port, each link and switch once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PathTime {
    /// Propagation over all links.
    pub links: Time,
    /// Latency of all switches.
    pub switches: Time,
    /// Latency of the congested switch, which a message does not pass.
    pub congested: Time,
    /// One data frame on every link.
    pub frames: Time,
    /// One message on every link.
    pub messages: Time,
}

impl PathTime {
    /// The times of a path, on which data frames and messages have these lengths.
    pub(super) fn of(path: &[Hop], frame: Bytes, message: Bytes) -> PathTime {
        path.iter().fold(PathTime::default(), |way, hop| PathTime {
            links: way.links.after(hop.delay),
            switches: way.switches.after(hop.latency),
            congested: hop.latency,
            frames: way.frames.after(hop.rate.time_for(frame)),
            messages: way.messages.after(hop.rate.time_for(message)),
        })
    }

    /// T_loop, without and with serialisation.
    pub(super) fn loops(&self) -> Result<(Time, Time), AdviceError> {
        let sum = |parts: &[u64]| parts.iter().try_fold(0u64, |sum, part| sum.checked_add(*part));
        let bare = sum(&[self.links.0, self.links.0, self.switches.0, self.switches.0]).map(|t| t - self.congested.0);
        let long = bare.and_then(|t| sum(&[t, self.frames.0, self.messages.0]));
        let times = bare.zip(long).ok_or_else(|| AdviceError::too_large("the loop time"))?;
        Ok((Time(times.0), Time(times.1)))
    }
}

/// The results for a loop time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Numbers {
    /// From the queue passing the threshold until fewer bytes arrive.
    pub loop_time: Time,
    /// Bytes that still arrive.
    pub headroom: Bytes,
    /// Largest legal threshold, if there is one.
    pub largest_threshold: Option<Bytes>,
    /// The threshold of the calculation.
    pub threshold: Bytes,
    /// Pause times have to be longer.
    pub shortest_pause: Time,
    /// Pause times have to be shorter.
    pub longest_pause: Time,
}

impl Numbers {
    /// The numbers for a headroom.
    pub(super) fn new(
        loop_time: Time,
        headroom: Bytes,
        rate: Rate,
        pfc_threshold: Bytes,
        threshold: Option<Bytes>,
    ) -> Result<Numbers, AdviceError> {
        let largest = (pfc_threshold > headroom).then(|| pfc_threshold - headroom);
        let threshold = threshold.or(largest).unwrap_or(Bytes::ZERO);
        let full =
            Bytes(threshold.0.checked_add(headroom.0).ok_or_else(|| AdviceError::too_large("threshold and headroom"))?);
        Ok(Numbers {
            loop_time,
            headroom,
            largest_threshold: largest,
            threshold,
            shortest_pause: rate.time_for(headroom),
            longest_pause: rate.time_for(full),
        })
    }

    /// Numbers by names that end in their unit.
    pub(super) fn named(&self) -> Map<String, Value> {
        let pairs = [
            ("headroom_bytes", json!(self.headroom.0)),
            ("threshold_max_bytes", json!(self.largest_threshold.map(|bytes| bytes.0))),
            ("pause_min_ps", json!(self.shortest_pause.as_ps())),
            ("pause_max_ps", json!(self.longest_pause.as_ps())),
        ];
        pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Returns whether the threshold leaves the headroom below the PFC threshold.
    pub(super) fn threshold_fits(&self) -> bool {
        self.largest_threshold.is_some_and(|largest| self.threshold <= largest)
    }

    /// Returns whether sources resume before the queue has fallen to the threshold.
    pub(super) fn too_short(&self, pause: Time) -> bool {
        pause <= self.shortest_pause
    }

    /// Returns whether the queue runs empty before sources resume.
    pub(super) fn too_long(&self, pause: Time) -> bool {
        pause >= self.longest_pause
    }
}

/// Bytes that still arrive from `senders` at line rate into one port of that rate.
pub(super) fn headroom(senders: u64, rate: Rate, loop_time: Time) -> Result<Bytes, AdviceError> {
    let excess = u128::from(senders.saturating_sub(1)) * u128::from(rate.0);
    let bits_ps = excess.checked_mul(u128::from(loop_time.0)).ok_or_else(|| AdviceError::too_large("the headroom"))?;
    let bytes =
        u64::try_from(bits_ps.div_ceil(8_000_000_000_000)).map_err(|_| AdviceError::too_large("the headroom"))?;
    Ok(Bytes(bytes))
}

/// The numbers, without and with serialisation (`None` without a frame length).
pub(super) fn numbers(question: &Case) -> Result<(Numbers, Option<Numbers>), AdviceError> {
    let q = question;
    if q.senders == 0 || q.links == 0 || q.switches == 0 {
        return Err(AdviceError::new("senders, links and switches are at least 1"));
    }
    if q.rate.0 == 0 {
        return Err(AdviceError::new("a rate of 0 carries nothing").key("rate").hint("as in 200 Gb/s"));
    }
    if q.packet == Some(Bytes::ZERO) {
        return Err(AdviceError::new("a frame has at least 1 B").key("packet").hint("as in 4064 B"));
    }
    let times = |n: u64, t: Time| n.checked_mul(t.0).map(Time).ok_or_else(|| AdviceError::too_large("the loop time"));
    let packet = q.packet.unwrap_or_default();
    let way = PathTime {
        links: times(q.links, q.link_delay)?,
        switches: times(q.switches, q.switch_latency)?,
        congested: q.switch_latency,
        frames: q.on_links(packet)?,
        messages: q.on_links(q.message)?,
    };
    let (bare, long) = way.loops()?;
    let of = |time: Time| {
        let headroom = headroom(q.senders, q.rate, time)?;
        Numbers::new(time, headroom, q.rate, q.pfc_threshold, q.threshold)
    };
    Ok((of(bare)?, q.packet.map(|_| of(long)).transpose()?))
}

#[cfg(test)]
mod tests {
    use super::super::advice_text::advice;
    use super::super::bound::bound;
    use super::super::incast_case::{GIVEN, MESSAGE};
    use super::*;

    fn study(senders: u64, threshold: Option<u64>) -> Case {
        Case {
            senders,
            rate: Rate::gbps(200),
            rates: Vec::new(),
            links: 3,
            switches: 3,
            link_delay: Time::ns(150),
            switch_latency: Time::ns(300),
            behind_latency: true,
            pfc_threshold: Bytes(380_000),
            pauses: true,
            threshold: threshold.map(Bytes),
            pause: None,
            interval: None,
            packet: None,
            gap: Bytes::ZERO,
            message: MESSAGE,
            origin: GIVEN,
        }
    }

    /// Document 000: 3 and 6 senders.
    #[test]
    fn the_documents_own_numbers() {
        let (three, _) = numbers(&study(3, Some(200_000))).unwrap();
        assert_eq!(three.loop_time, Time::ns(2400));
        assert_eq!((three.headroom, three.largest_threshold), (Bytes(120_000), Some(Bytes(260_000))));
        assert_eq!((three.shortest_pause, three.longest_pause), (Time::ns(4800), Time::ns(12_800)));
        let (six, _) = numbers(&study(6, Some(80_000))).unwrap();
        assert_eq!((six.headroom, six.largest_threshold), (Bytes(300_000), Some(Bytes(80_000))));
        assert_eq!((six.shortest_pause, six.longest_pause), (Time::us(12), Time::ns(15_200)));
        assert_eq!(numbers(&study(6, None)).unwrap().0, six, "the largest legal threshold is the default");
    }

    #[test]
    fn serialisation_adds_a_frame_and_a_message_per_hop() {
        let (_, with) = numbers(&Case { packet: Some(Bytes(4064)), ..study(3, None) }).unwrap();
        let with = with.unwrap();
        // 3 x 162.56 ns of data and 3 x 4.64 ns of message.
        assert_eq!(with.loop_time, Time(2_400_000 + 3 * 162_560 + 3 * 4_640));
        assert_eq!(with.headroom, Bytes(145_080));
    }

    /// 20 B take 0.8 ns at 200 Gb/s: three of a frame, and three of a message. A queue does not hold gaps: 41 frames of headroom as
    /// without, which leave with their gaps, as the 200 KB do: 59 x 163.36 ns and 8 us x 4084 / 4064.
    #[test]
    fn a_gap_takes_time_and_no_room() {
        let question = Case { packet: Some(Bytes(4064)), message: Bytes(64), ..study(3, Some(200_000)) };
        let gapped = Case { gap: Bytes(20), ..question.clone() };
        let (without, with) = (numbers(&question).unwrap().1.unwrap(), numbers(&gapped).unwrap().1.unwrap());
        assert_eq!(with.loop_time, Time(without.loop_time.0 + 6 * 800));
        let ours = bound(&gapped, Bytes(200_000)).unwrap();
        assert_eq!((ours.loop_time, ours.frames, ours.headroom), (Time(3_195_360 + 6 * 800), 20, Bytes(41 * 4064)));
        assert_eq!(ours.shortest_pause, Time(60 * 163_360 - 3_200_160));
        let longest = 59 * 163_360 + 8_000_000 * 4084 / 4064 - 3_200_160;
        assert!(ours.longest_pause.0.abs_diff(longest) < 100, "{} against {longest}", ours.longest_pause);
    }

    /// A fabric twice as fast as the hosts' links: 332.64 ns and 2 x 166.32 ns of data, 9.28 ns and 2 x 4.64 ns of message beside 2.4 us.
    #[test]
    fn each_link_has_its_own_rate() {
        let rates = vec![Rate::gbps(100), Rate::gbps(200), Rate::gbps(200)];
        let base = Case { rate: Rate::gbps(100), packet: Some(Bytes(4158)), ..study(12, Some(64_000)) };
        let question = Case { rates, pfc_threshold: Bytes(740_000), behind_latency: false, ..base };
        let with = numbers(&question).unwrap().1.unwrap();
        assert_eq!(with.loop_time, Time(2_400_000 + 665_280 + 18_560));
        // 11 x 12.5 B/ns x 3083.84 ns.
        assert_eq!(with.headroom, Bytes(424_028));
        // 64 KB and these.
        assert_eq!(with.longest_pause, Time(39_042_240));
        let reported = advice(&question).unwrap();
        let formula = |name: &str| reported.rows.iter().find(|row| row.name == name).unwrap().formula.clone();
        assert_eq!(formula("data frames"), "332.64 ns + 2 x 166.32 ns for 4.158 KB");
        assert_eq!(formula("messages"), "9.28 ns + 2 x 4.64 ns for 116 B");
        // Our bound: ten frames of 332.64 ns begin in that loop and the messages' own 18.56 ns.
        let ours = bound(&question, Bytes(64_000)).unwrap();
        assert_eq!((ours.loop_time, ours.frames), (Time(3_083_840), 10));
        assert_eq!(ours.shortest_pause, Time(12 * 10 * 332_640 - 3_083_840));
    }

    /// By hand for the study: 6 x 150 + 6 x 300 + 3 x (162.56 + 2.56) ns are 3195.36 ns, in which 20 frames begin. So 3 x 20 x
    /// 162.56 - 3195.36 ns = 6558.24 ns, and 41 frames of headroom; 59 frames and 200 KB leave 14.3957 us.
    #[test]
    fn the_bound_by_hand() {
        let question = Case { message: Bytes(64), ..study(3, Some(200_000)) };
        let ours = bound(&question, Bytes(200_000)).unwrap();
        assert_eq!((ours.loop_time, ours.frames), (Time(3_195_360), 20));
        assert_eq!((ours.headroom, ours.largest_threshold), (Bytes(41 * 4064), Some(Bytes(380_000 - 41 * 4064))));
        assert_eq!(ours.shortest_pause, Time(6_558_240));
        assert_eq!(ours.longest_pause, Time(8_000_000 + 59 * 162_560 - 3_195_360));
        // Messages every 2 us: the second follows 13 frames after the first of a burst, and so does the end of the pause.
        let often = bound(&Case { interval: Some(Time::us(2)), ..question.clone() }, Bytes(200_000)).unwrap();
        assert_eq!(often.shortest_pause, Time(6_558_240 - 13 * 162_560));
        // Every 15 us: 3 x 31 frames begin in it, 11 of each 31 without a message; two thirds of the time must be paused.
        let seldom = bound(&Case { interval: Some(Time::us(15)), ..question }, Bytes(200_000)).unwrap();
        assert_eq!(seldom.shortest_pause, Time(6_558_240 + 2 * 11 * 162_560));
    }

    /// By hand if a frame is in its queue before that switch's latency: 6 x 150 + 5 x 300 + 3 x (162.56 + 2.56) ns are 2895.36 ns, as in
    /// `sfc_headroom_is_tight` of the integration tests, in which 18 frames begin. So 3 x 18 x 162.56 - 2895.36 ns, and 37 frames of
    /// headroom.
    #[test]
    fn the_bound_by_hand_where_a_frame_is_seen_before_the_latency() {
        let question = Case { message: Bytes(64), behind_latency: false, ..study(3, Some(200_000)) };
        let ours = bound(&question, Bytes(200_000)).unwrap();
        assert_eq!((ours.loop_time, ours.frames), (Time(2_895_360), 18));
        assert_eq!((ours.headroom, ours.shortest_pause), (Bytes(37 * 4064), Time(5_882_880)));
        let rows = advice(&question).unwrap().rows;
        assert!(rows.iter().any(|row| row.formula.contains("2 x 3 - 1 switches")), "{rows:?}");
    }

    /// The document's own setting of three senders, 6 us at 200 KB, is legal by its formula and not by the bound.
    #[test]
    fn both_formulas_speak() {
        let with = |pause| advice(&Case { pause: Some(Time::us(pause)), ..study(3, Some(200_000)) }).unwrap();
        let (own, long) = (with(6), with(12));
        assert!(own.feasible && own.cautions.len() == 1 && own.cautions[0].contains("grows"), "{:?}", own.cautions);
        assert!(long.feasible && long.cautions.is_empty(), "{:?}", long.cautions);
        assert!(own.rows.iter().any(|row| row.name == "pause longer than"));
        assert!(own.rows.iter().any(|row| row.name == "pause at least, our bound"));
    }

    #[test]
    fn infeasible_says_so_and_why() {
        let reported = advice(&study(17, None)).unwrap();
        assert!(!reported.feasible);
        assert!(
            reported.problems[0].contains("960 KB") && reported.problems[0].contains("380 KB"),
            "{:?}",
            reported.problems
        );
        let reported = advice(&study(3, Some(300_000))).unwrap();
        assert!(!reported.feasible && reported.problems[0].contains("at most 260 KB"), "{:?}", reported.problems);
        assert!(advice(&study(3, None)).unwrap().feasible);
    }

    /// Document 000, cases 7 to 9: among 12, 30, 50 and 3 us only 12 us are between 4.8 and 12.8 us.
    #[test]
    fn a_pause_outside_its_range_is_a_problem() {
        let with = |pause| advice(&Case { pause: Some(pause), ..study(3, Some(200_000)) }).unwrap();
        assert!(with(Time::us(12)).feasible);
        for (pause, why) in [(30, "runs empty"), (50, "runs empty"), (3, "back before the queue")] {
            let reported = with(Time::us(pause));
            assert!(!reported.feasible && reported.problems[0].contains(why), "{pause} us: {:?}", reported.problems);
        }
        for (edge, fine) in [(4_800, false), (4_801, true), (12_799, true), (12_800, false)] {
            assert_eq!(with(Time::ns(edge)).feasible, fine, "{edge} ns: the ends do not belong to the range");
        }
    }

    #[test]
    fn nonsense_is_an_error() {
        assert!(advice(&Case { rate: Rate(0), ..study(3, None) }).is_err());
        assert!(advice(&Case { links: u64::MAX, ..study(3, None) }).is_err());
        assert!(advice(&Case { senders: u64::MAX, link_delay: Time::NEVER, ..study(3, None) }).is_err());
        assert!(advice(&study(0, None)).is_err());
    }
}
