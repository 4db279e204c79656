//! The packet memory and the chip of a switch, by its hardware SKU.
//!
//! No data sheet gives it to the octet. The figures are those of the switch's own files in sonic-net/sonic-buildimage (commit 086b03b,
//! `device/*/*/HWSKU/buffers_defaults_*.j2`): the egress pool of lossless traffic, which has all of the memory. NH-4210's is
//! `egress_lossless_profile.static_th`, that is 2 x 631745 cells of 210 B, `SHARED_LIMIT_CELLS` of its `.yaml`.

/// The memory of switches whose hardware SKU has this beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// Beginning of `DEVICE_METADATA.localhost.hwsku`.
    pub begins: &'static str,
    /// Packet memory, in octets.
    pub memory: u64,
    /// True if `BUFFER_POOL.size` includes the headroom of `BUFFER_POOL.xoff`. SONiC's design of headroom calculation has them side by
    /// side. NH-4210's `.yaml` has 2 x 420194 cells of shared memory and 2 x 194176 of headroom, of 210 B: together its pool's `size`.
    pub inside: bool,
}

const fn device(begins: &'static str, memory: u64) -> Device {
    Device { begins, memory, inside: false }
}

/// All known devices; longer beginnings first.
pub const DEVICES: &[Device] = &[
    Device { begins: "NH-4210", memory: 265_332_900, inside: true },
    device("Mellanox-SN5640", 136_209_408),
    device("Mellanox-SN5610", 158_229_504),
    device("Mellanox-SN5600", 158_229_504),
    device("ACS-SN5600", 158_229_504),
    device("Mellanox-SN6600", 226_492_416),
    device("ACS-SN6600", 226_492_416),
    device("Mellanox-SN4", 60_817_392),
    device("ACS-MSN4", 60_817_392),
    device("Mellanox-SN3", 34_287_552),
    device("ACS-MSN3", 34_287_552),
    device("Mellanox-SN2700", 13_945_824),
    device("ACS-MSN2", 13_945_824),
    device("Arista-7060CX-32S", 15_982_720),
    device("DellEMC-Z9264f", 43_468_672),
    device("DellEMC-S5232f", 32_575_488),
];

/// Chips by the beginning of the hardware SKU, where switches of that name have no other: Broadcom's BCM56960 (Tomahawk), BCM56970 (Tomahawk
/// 2), BCM56980 (Tomahawk 3), BCM78900 (Tomahawk 5) and BCM56870 (Trident 3). Spectrum is left out: its ports have a threshold, too, which
/// no import has.
const CHIPS: &[(&str, &str)] = &[
    ("Force10-S6100", "tomahawk"),
    ("Arista-7060CX-32S", "tomahawk"),
    ("Arista-7260CX3", "tomahawk2"),
    ("DellEMC-Z9264f", "tomahawk2"),
    ("DellEMC-Z9332f", "tomahawk3"),
    ("Arista-7060X6", "tomahawk5"),
    ("Arista-7050CX3", "trident3"),
    ("DellEMC-S5232f", "trident3"),
];

/// The chip of a hardware SKU, where it is certain.
pub fn chip(hwsku: &str) -> Option<&'static str> {
    CHIPS.iter().find(|(begins, _)| hwsku.starts_with(begins)).map(|(_, chip)| *chip)
}

/// The device of a hardware SKU.
pub fn of(hwsku: &str) -> Option<&'static Device> {
    DEVICES.iter().find(|device| hwsku.starts_with(device.begins))
}
