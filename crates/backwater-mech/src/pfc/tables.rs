//! Headroom of switching chips, as their vendors' tables for SONiC have it.

use backwater_engine::Time;
use backwater_net::{Bytes, Rate};

/// An entry of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// A chip of `backwater list silicon`.
    pub chip: &'static str,
    /// The cell of its memory.
    pub cell: Bytes,
    /// The hardware SKU whose table it is.
    pub table: &'static str,
    pub rate: Rate,
    /// \[m\] Length of the cable.
    pub metres: u64,
    pub headroom: Bytes,
}

impl Entry {
    /// Propagation in the cable, 5 ns a metre (two thirds of the speed of light).
    pub fn delay(&self) -> Time {
        Time::ns(5 * self.metres)
    }
}

/// All entries, by chip.
pub(super) fn entries() -> impl Iterator<Item = Entry> {
    let lines = include_str!("tables.csv").lines().filter(|line| !line.starts_with('#')).skip(1);
    lines.filter_map(|line| {
        let [chip, cell, table, gbps, metres, headroom] = line.split(',').collect::<Vec<_>>().try_into().ok()?;
        let number = |text: &str| text.parse::<u64>().ok();
        Some(Entry {
            chip,
            cell: Bytes(number(cell)?),
            table,
            rate: Rate::gbps(number(gbps)?),
            metres: number(metres)?,
            headroom: Bytes(number(headroom)?),
        })
    })
}

/// The chips that have a table.
pub(super) fn chips() -> Vec<&'static str> {
    let mut chips: Vec<&str> = entries().map(|entry| entry.chip).collect();
    chips.dedup();
    chips
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every line is read. Tables of older chips of Broadcom have whole cells.
    #[test]
    fn tables_are_read() {
        let lines = include_str!("tables.csv").lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(entries().count(), lines - 1);
        let whole = ["tomahawk", "tomahawk2", "tomahawk3", "trident3"];
        for entry in entries().filter(|entry| whole.contains(&entry.chip)) {
            assert!(entry.headroom.0.is_multiple_of(entry.cell.0), "{entry:?}");
        }
        let of_200g = entries().find(|entry| entry.chip == "tomahawk5" && entry.rate == Rate::gbps(200));
        assert_eq!(of_200g.map(|entry| (entry.metres, entry.headroom)), Some((5, Bytes(300_990))));
    }
}
