//! `IngressSfcEpochInit` and the filters of `IngressSfcTrigger`: at most one message a key and epoch.

use backwater_engine::Time;
use backwater_net::address::host_ip;
use backwater_net::packet::{Dscp, HostId};
use crc::{CRC_16_ARC, CRC_16_IBM_3740, Crc};
use std::collections::BTreeSet;

const CRC16: Crc<u16> = Crc::<u16>::new(&CRC_16_ARC);
const RANDOM: Crc<u16> = Crc::<u16>::new(&CRC_16_IBM_3740);

/// Two filters of one bit an index. The bank that an epoch uses is empty when it begins, so that one bank is all that a model needs.
#[derive(backwater_derive::State)]
pub(super) struct Suppression {
    /// \[us\]
    #[state(fixed)]
    epoch_us: u64,
    /// bits of a hash that are an index
    #[state(fixed)]
    mask: u16,
    /// \[us\] `current_epoch_start`
    start_us: u64,
    filters: [BTreeSet<u16>; 2],
}

impl Suppression {
    pub(super) fn new(epoch: Time, width: u8) -> Suppression {
        let mask = u16::MAX >> (16 - width.clamp(1, 16));
        Suppression { epoch_us: us(epoch), mask, start_us: 0, filters: Default::default() }
    }

    /// `get_bank_switch_idx`: an epoch begins with the first packet after the last one is over.
    pub(super) fn tick(&mut self, now: Time) {
        if us(now) - self.start_us > self.epoch_us {
            self.start_us = us(now);
            self.filters = Default::default();
        }
    }

    /// `decide_suppression`: returns whether both bits of the key are set already, and sets them.
    pub(super) fn suppresses(&mut self, source: HostId, destination: HostId, dscp: Dscp) -> bool {
        let mut key = [0; 9];
        key[..4].copy_from_slice(&host_ip(source).octets());
        key[4..8].copy_from_slice(&host_ip(destination).octets());
        key[8] = dscp.0;
        let bits = [CRC16.checksum(&key) & self.mask, RANDOM.checksum(&key) & self.mask];
        // Both filters are written, whatever the first says.
        let set = [0, 1].map(|filter| !self.filters[filter].insert(bits[filter]));
        set == [true; 2]
    }
}

/// The chip's clock of microseconds.
pub(super) fn us(time: Time) -> u64 {
    time.as_ps() / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    const DSCP: Dscp = Dscp(24);

    fn suppressed(of: &mut Suppression, source: u32) -> bool {
        of.suppresses(HostId(source), HostId(9), DSCP)
    }

    #[test]
    fn one_message_a_key_and_epoch() {
        let mut filters = Suppression::new(Time::us(10), 16);
        assert!(!suppressed(&mut filters, 1) && suppressed(&mut filters, 1), "the same pair, whatever the queue pair");
        assert!(!suppressed(&mut filters, 2), "another source");
        assert!(!filters.suppresses(HostId(1), HostId(9), Dscp(0)), "another DSCP");
        assert!(!filters.suppresses(HostId(1), HostId(8), DSCP), "another destination");
        filters.tick(Time::us(10));
        assert!(suppressed(&mut filters, 1), "10 us are not more than an epoch");
        filters.tick(Time::us(11));
        assert!(!suppressed(&mut filters, 1));
        filters.tick(Time::us(21));
        assert!(suppressed(&mut filters, 1), "this epoch began at 11 us, with its first packet");
    }

    /// A new key finds both bits set with the chance (1 - exp(-n/m))^2 after n keys in filters of m bits: 0.155 for m = n/2. With 2 048
    /// trials of it the standard deviation is 0.008 to 0.011.
    #[test]
    fn collisions_suppress_messages_that_should_go() {
        let mut suppressions = 0;
        for round in 0..2048 {
            let mut filters = Suppression::new(Time::us(10), 8);
            for key in 0..128 {
                suppressed(&mut filters, round * 200 + key);
            }
            suppressions += u32::from(suppressed(&mut filters, round * 200 + 150));
        }
        let share = f64::from(suppressions) / 2048.0;
        assert!((share - 0.155).abs() < 0.035, "{share}");
    }
}
