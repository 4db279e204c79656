//! The parameters of credit-based flow control, and their checks.

use super::link::{Link, Rates};
use super::wire::ORDERED_SET;
use backwater_derive::parameters;
use backwater_engine::Time;
use backwater_net::config::BufferPer;
use backwater_net::hooks::{CheckCx, Finding, PortShape, Profile};
use backwater_net::{Bytes, Rate};

/// Parameters of credit-based flow control.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// Credits of each class at the sender of a link. They limit how much of the class may be in flight and in the receiver's buffer.
    #[param(symbol = "CL", range = 1..=1_048_575, source = "SAI: credit limit; the receiver's buffer", why = "counters have 20 bits")]
    pub credits: u32,
    /// Link rate for which `credits` and `port_credits` are given; both scale in proportion on links of other rates. Absent: the same
    /// values on all links.
    #[param(symbol = "C0", range = Rate(1).., source = "as `pfc.reference_rate`", why = "no link has a rate of zero")]
    pub reference_rate: Option<Rate>,
    /// Credits of all classes of a link together. Absent: only the limits of the classes apply.
    #[param(symbol = "CL_p", range = 1..=1_048_575, source = "SAI: port credit limit", why = "counters have 20 bits")]
    pub port_credits: Option<u32>,
    /// Bytes of one credit.
    #[param(default = Bytes(128), range = Bytes(1)..=Bytes(65_536), source = "SAI: credit size", why = "packets are counted in credits")]
    pub credit_size: Bytes,
    /// Bytes that are added to each packet before its credits are counted.
    #[param(default = Bytes::ZERO, range = Bytes::ZERO..=Bytes(127), source = "SAI: packet overhead, -16 to 127")]
    pub overhead: Bytes,
    /// Classes with credit-based flow control, each 0 to 7. Absent: all.
    #[param(each = 0..=7, source = "SAI: lossless virtual channels", why = "there is no such class")]
    pub classes: Option<Vec<u8>>,
    /// Least distance between two CF_Updates, in bytes at the line rate.
    #[param(symbol = "CF_MIN_SPACING", default = Bytes(6_400), range = Bytes(800).., source = "SAI: CF update minimum spacing", why = "SAI: at least 800 B")]
    pub cf_min_spacing: Bytes,
    /// Distance after which a CF_Update is repeated, in bytes at the line rate.
    #[param(
        symbol = "CF_MAX_SPACING", default = Bytes(262_144), range = Bytes(16_384)..=Bytes(1_048_576), source = "SAI: CF update maximum spacing", why = "SAI: 16 KiB to 1 MiB"
    )]
    pub cf_max_spacing: Bytes,
    /// Time between two CC_Updates.
    #[param(
        symbol = "CC_MESSAGE_TIMER", default = Time::us(256), range = Time::us(1)..=Time::ms(250), source = "SAI: CC message timer", why = "SAI: 1 us to 250 ms"
    )]
    pub cc_timer: Time,
}

impl Params {
    fn class_bits(&self) -> u8 {
        crate::class_bits_or_all(self.classes.as_deref())
    }

    /// Credits of a packet.
    pub(super) fn cost(&self, size: Bytes) -> u64 {
        (size + self.overhead).0.div_ceil(self.credit_size.0.max(1))
    }

    /// The limit on a link of `rate`.
    pub(super) fn limit(&self, credits: u32, rate: Rate) -> u64 {
        Bytes(credits.into()).at_rate(rate, self.reference_rate).0.min((1 << 20) - 1)
    }

    /// \[bytes\] that may arrive over a link of `rate` before anything leaves.
    pub(super) fn buffer(&self, rate: Rate) -> Bytes {
        let all = self.limit(self.credits, rate) * u64::from(self.class_bits().count_ones());
        let port = self.port_credits.map_or(all, |credits| self.limit(credits, rate));
        self.credit_size * all.min(port)
    }

    pub(super) fn link(&self, rate: Rate) -> Link {
        Link::new(Rates {
            classes: self.class_bits(),
            limit: self.limit(self.credits, rate),
            port_limit: self.port_credits.map_or(u64::MAX, |credits| self.limit(credits, rate)),
            credit: self.credit_size.0.max(1),
            overhead: self.overhead.0,
            least: rate.time_for(self.cf_min_spacing),
            most: rate.time_for(self.cf_max_spacing),
            timer: self.cc_timer,
        })
    }
}

/// Returns its effects on others and its needs.
pub(super) fn profile(params: &Params) -> Profile {
    let (classes, shortest_message) = (params.class_bits(), Some(Bytes(ORDERED_SET.into())));
    Profile { lossless_classes: classes, classes, shortest_message, ..Profile::default() }
}

/// Checks what no range of a single parameter can express.
pub(super) fn check(params: &Params, cx: &CheckCx<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (_, shape, switch) in cx.memories() {
        let least = params.cost(shape.max_frame);
        let limits = |port: &PortShape| {
            let port_limit = params.port_credits.map_or(u64::MAX, |credits| params.limit(credits, port.rate));
            params.limit(params.credits, port.rate).min(port_limit)
        };
        if let Some(short) = shape.ports.iter().map(limits).min().filter(|limit| *limit < least) {
            findings.push(Finding {
                fatal: true,
                key: "credits",
                reason: format!(
                    "a frame of {} takes {least} credits, and a link of {} has {short}: it would never start",
                    shape.max_frame, shape.name
                ),
                hint: format!("{least} credits at least on every link; several for each loop time"),
            });
            return findings;
        }
        let ports = shape.ports.iter().map(|port| params.buffer(port.rate));
        let (shared, need) = match switch.buffer_per {
            BufferPer::None => continue,
            BufferPer::Ingress => (true, ports.max().unwrap_or(Bytes::ZERO)),
            BufferPer::Switch | BufferPer::Egress => (true, ports.sum()),
            BufferPer::Queue => (false, ports.sum()),
        };
        let set_aside =
            |port: &PortShape| switch.reserves(1) + switch.own_headroom_at(port.rate) * u64::from(cx.kept.count_ones());
        let aside: Bytes = shape.ports.iter().map(set_aside).sum();
        let aside = aside + switch.slice_headroom().unwrap_or(Bytes::ZERO);
        let have = switch.memory_of(cx.kept).saturating_sub(aside);
        if have < need {
            findings.push(Finding {
                fatal: cx.lossless,
                key: "credits",
                reason: format!("{} has a memory of {have} for what credits of {need} may bring", shape.name),
                hint: format!("fewer credits, or enlarge {}", switch.buffer_key()),
            });
        } else if shared && params.class_bits() != u8::MAX && switch.buffer_per == BufferPer::Switch {
            findings.push(Finding {
                fatal: cx.lossless,
                key: "classes",
                reason: format!("other classes may fill the memory of {} that credits count on", shape.name),
                hint: "all classes under credit, or switch.buffer_per = \"queue\"".into(),
            });
        }
    }
    findings
}
