//! The two conversions of `EgressSfc`: cells of a queue to microseconds, and microseconds to quanta of PFC.
//!
//! The values of 25, 50 and 100 Gb/s are in `sfc_trigger.p4`, and the limits in `lib_sfc.py`.

use backwater_net::{Bytes, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The program's treatment of ports at 200 and 400 Gb/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FastPorts {
    /// As its code has it: cells are divided by 64, and messages keep DSCP 0.
    Shipped,
    /// As its comment has it: cells are divided by 128 and 256, and messages have their DSCP.
    Repaired,
}

/// \[bytes\] of a cell of Tofino 2.
pub(super) const CELL: Bytes = Bytes(176);

/// The constants of a port's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Speed {
    /// `do_calc_cells_to_pause_*`: q_drain_length, which is in 8 cells, is shifted right by so much.
    shipped: u32,
    /// The same by the comment above the code.
    meant: u32,
    /// `do_calc_pause_to_pfc_time_*`: the duration times 2^high plus 2^(high - 1).
    high: u32,
    /// \[us\] From here on the quanta are 0xffff.
    limit: u16,
}

impl Speed {
    /// `None`: the program has no action for this rate.
    pub(super) fn of(rate: Rate) -> Option<Speed> {
        let speed = |shipped, meant, high, limit| Some(Speed { shipped, meant, high, limit });
        match rate.0 / 1_000_000_000 {
            25 => speed(1, 1, 5, 1200),
            50 => speed(2, 2, 6, 700),
            100 => speed(3, 3, 7, 320),
            200 => speed(3, 4, 8, 160),
            400 => speed(3, 5, 9, 80),
            _ => None,
        }
    }

    /// Returns whether the program handles the port otherwise than its comment says.
    pub(super) fn is_fast(self) -> bool {
        self.shipped != self.meant
    }

    /// \[us\] `trigger_qd_read` and `do_calc_cells_to_pause_*`: the duration for cells above the target, of which the register returns bits 3
    /// to 18.
    pub(super) fn duration_us(self, drain_cells: u32, fast: FastPorts) -> u16 {
        let q_drain_length = (drain_cells >> 3) as u16;
        let shift = if fast == FastPorts::Shipped { self.shipped } else { self.meant };
        q_drain_length >> shift
    }

    /// `do_calc_pause_to_pfc_time_*`, in 16 bits; beyond the limit `do_cal_pause_to_pfc_time_overflow_conversion`.
    pub(super) fn quanta(self, duration_us: u16) -> u16 {
        if duration_us >= self.limit {
            return u16::MAX;
        }
        let (first, second) = (u32::from(duration_us) << self.high, u32::from(duration_us) << (self.high - 1));
        (first as u16).wrapping_add(second as u16)
    }
}

/// Cells of these bytes; `qdepth` has 19 bits.
pub(super) fn cells(bytes: Bytes) -> u32 {
    bytes.0.div_ceil(CELL.0).min((1 << 19) - 1) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speed(gbps: u64) -> Speed {
        Speed::of(Rate::gbps(gbps)).expect("a rate of the program")
    }

    /// The registers of the program's tests (1, 16, 256 and 4096 cells, `SfcSignalTimeConversion`) by its code: bits 3 to 18, then 1 to 3 further.
    /// The tests expect 8 times as much, the cells shifted by 1, 2 and 3: they contradict the code, and its comment, which divides by 16 to 64.
    #[test]
    fn values_of_the_programs_code() {
        for (gbps, durations, factor, limit) in
            [(25, [0, 1, 16, 256], 48, 1200), (50, [0, 0, 8, 128], 96, 700), (100, [0, 0, 4, 64], 192, 320)]
        {
            let found = [1, 16, 256, 4096].map(|cells| speed(gbps).duration_us(cells, FastPorts::Shipped));
            assert_eq!(found, durations, "{gbps} Gb/s");
            for us in [0, 1, 64, limit - 18] {
                assert_eq!(u32::from(speed(gbps).quanta(us)), u32::from(us) * factor);
            }
            assert_eq!([limit, u16::MAX].map(|us| speed(gbps).quanta(us)), [u16::MAX; 2]);
        }
    }

    /// 682 x 96 is 65 472, the last product in 16 bits, and the limit of 50 Gb/s is 700 us: the program's comment counts 92 quanta a microsecond.
    #[test]
    fn durations_just_below_the_limit_of_50_overflow() {
        assert_eq!([682, 683, 699, 700].map(|us| speed(50).quanta(us)), [65_472, 32, 1568, 65_535]);
    }

    /// 71 022 cells drain in 1 ms at 100 Gb/s. Low bits of the depth are lost: 63 cells are no microsecond.
    #[test]
    fn durations_by_rate() {
        let table = [25, 50, 100, 200, 400].map(|gbps| {
            let shipped = speed(gbps).duration_us(10_000, FastPorts::Shipped);
            (gbps, shipped, speed(gbps).duration_us(10_000, FastPorts::Repaired), speed(gbps).quanta(shipped))
        });
        let expected = [
            (25, 625, 625, 30_000),
            (50, 312, 312, 29_952),
            (100, 156, 156, 29_952),
            (200, 156, 78, 59_904),
            (400, 156, 39, 65_535),
        ];
        assert_eq!(table, expected);
        assert_eq!(
            (speed(100).duration_us(63, FastPorts::Shipped), speed(100).duration_us(64, FastPorts::Shipped)),
            (0, 1)
        );
        assert_eq!(Speed::of(Rate::gbps(800)), None);
    }

    /// The total pause over the true drain time, as in the reference: 1.11 x 0.983 = 1.091 at 100 Gb/s, and 4.36 at 400 Gb/s.
    #[test]
    fn pauses_are_longer_than_the_queue() {
        for (gbps, expected) in [(25, 1.091), (50, 1.091), (100, 1.091), (200, 2.182), (400, 4.364)] {
            let drain = 4096;
            let us = speed(gbps).duration_us(drain, FastPorts::Shipped);
            let paused = f64::from(speed(gbps).quanta(us)) * 512.0 / (gbps as f64 * 1e9);
            let drained = f64::from(drain) * 176.0 * 8.0 / (gbps as f64 * 1e9);
            assert!((paused / drained - expected).abs() < 0.002, "{gbps}: {}", paused / drained);
        }
    }

    #[test]
    fn depths_have_19_bits() {
        assert_eq!([0, 1, 176, 177, 352].map(|bytes| cells(Bytes(bytes))), [0, 1, 1, 2, 2]);
        assert_eq!(cells(Bytes(1 << 40)), 524_287);
    }
}
