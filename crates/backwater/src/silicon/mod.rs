//! Switching chips: `preset` of the table `[switch]`, a file each.
//!
//! Facts of sonic-net/sonic-mgmt b4ba9de3 (`tests/qos/files/qos_params.*.yaml`) and sonic-net/sonic-buildimage 086b03bd
//! (`device/*/*/*/{pg_profile_lookup.ini,buffers_defaults_*.j2}`), both Apache-2.0. A value that no file states is marked as inferred.
//! `headroom_above` is alpha of the lossless profile, a power of two in `pg_profile_lookup.ini`.

use backwater_net::hooks::Preset;

macro_rules! chip {
    ($name:literal, $source:literal) => {
        Preset { name: $name, source: $source, toml: include_str!(concat!($name, ".toml")) }
    };
}

/// All chips, by family and age.
pub(crate) const CHIPS: &[Preset] = &[
    chip!(
        "tomahawk",
        "Broadcom BCM56960. qos_params.th, Force10-S6100: cells, guaranteed cells of groups (6) and queues (8), alpha 2^0, memory of \
         egress_lossless_pool; pools include no headroom. Inferred: slices, alpha_egress"
    ),
    chip!(
        "tomahawk2",
        "Broadcom BCM56970. Arista-7260CX3-C64: guaranteed cells, alpha 2^0; DellEMC-Z9264f: memory of egress_lossless_pool. Inferred: slices"
    ),
    chip!(
        "tomahawk3",
        "Broadcom BCM56980. DellEMC-Z9332f-O32: cells, guaranteed cells, alpha 2^-2, memory of ingress_lossless_pool with headroom. \
         Inferred: slices; queue_reserve, from what egress_lossless_pool leaves"
    ),
    chip!(
        "tomahawk5",
        "Broadcom BCM78900. qos_params.th5, Arista-7060X6-64PE-256x200G: cells, guaranteed cells of groups (74) and queues (7), alpha 2^0, memory \
         of ingress_lossless_pool with headroom. Inferred: slices, alpha_egress"
    ),
    chip!(
        "trident3",
        "Broadcom BCM56870. qos_params.td3, Arista-7050CX3-32S-C32: cells, guaranteed cells of groups (18) and queues (7), alpha 2^0, memory of \
         ingress_lossless_pool with headroom; egress_lossy_profile: alpha 2^3"
    ),
    chip!(
        "spectrum",
        "NVIDIA Spectrum. sonic-mgmt's generator of qos_params: cells; ACS-MSN2700: memory of egress_lossless_pool. Its ports have a \
         threshold, too: give alpha_port"
    ),
    chip!("spectrum2", "NVIDIA Spectrum-2. The same: cells; ACS-MSN3700: memory. Give alpha_port"),
    chip!("spectrum3", "NVIDIA Spectrum-3. The same: cells; ACS-MSN4700: memory. Give alpha_port"),
    chip!("spectrum4", "NVIDIA Spectrum-4. The same: cells; ACS-SN5600: memory. Give alpha_port"),
    chip!(
        "jericho2c-plus",
        "Broadcom BCM88850, virtual output queues. qos_params.j2c+: cells. Inferred: that they are units of memory; its memory is not \
         in the files"
    ),
    chip!(
        "gibraltar",
        "Cisco Silicon One Q200, virtual output queues. qos_params.gb: cells of its queues; its memory is not in the files"
    ),
];

/// All chips, in the order of their list.
pub fn chips() -> impl Iterator<Item = &'static Preset> {
    CHIPS.iter()
}

/// Facts about a chip in a line: what its file sets.
pub(crate) fn summary(chip: &Preset) -> String {
    let set = chip.toml.lines().filter_map(|line| line.split_once(" = "));
    let words: Vec<String> = set.map(|(key, value)| format!("{key} {}", value.trim_matches('"'))).collect();
    format!("switch.preset: {}", words.join(", "))
}
