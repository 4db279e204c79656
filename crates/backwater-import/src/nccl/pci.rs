//! NCCL's knowledge of PCI: classes of devices, and the rates of their links and of links between CPUs.
//!
//! Source: NVIDIA/nccl, commit 5067397, `src/graph/topo.cc` and `topo.h`.

/// NCCL's class of a PCI device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Gpu,
    Nic,
    NvSwitch,
    Cpu,
    Bridge,
}

/// Classes by the beginning of their numbers (`kvDictPciClass` of NCCL's `src/graph/topo.cc`; `0x120000` is RCCL's).
pub fn class(text: &str) -> Class {
    match text {
        _ if text.starts_with("0x068000") => Class::NvSwitch,
        _ if text.starts_with("0x068001") => Class::Cpu,
        _ if text.starts_with("0x03") || text.starts_with("0x120000") => Class::Gpu,
        _ if text.starts_with("0x02") => Class::Nic,
        _ => Class::Bridge,
    }
}

/// The number of `0000:10:1c.0`: its hexadecimal digits. `None`: the text has another form.
pub fn busid(text: &str) -> Option<u64> {
    let digits: String = text.chars().filter(|c| !matches!(c, ':' | '.')).collect();
    let hexadecimal = (1..=16).contains(&digits.len()) && digits.bytes().all(|octet| octet.is_ascii_hexdigit());
    u64::from_str_radix(&digits, 16).ok().filter(|_| hexadecimal)
}

/// Rate of a lane by `link_speed`, in 100 Mb/s (`kvDictPciGen` there): NCCL's value, not the raw rate.
pub fn lane(speed: &str) -> u64 {
    match speed.trim().trim_end_matches(" PCIe").trim_end_matches(" GT/s") {
        "2.5" => 15,
        "5" | "5.0" => 30,
        "16" | "16.0" => 120,
        "32" | "32.0" => 240,
        "64" | "64.0" => 480,
        // 8 GT/s, which NCCL also uses if the machine gives no rate.
        _ => 60,
    }
}

/// Rate between CPUs in b/s (`ncclTopoGetInterCpuBw` there).
pub fn between_cpus(arch: &str, vendor: &str, family: u32, model: u32) -> u64 {
    const GB: u64 = 8_000_000_000;
    match (arch, vendor) {
        ("ppc64", _) => 32 * GB,
        ("arm64", _) => 6 * GB,
        ("x86_64", "GenuineIntel") if family == 6 => match model {
            0xcf.. => 40 * GB,
            0x8f.. => 22 * GB,
            0x55.. => 10 * GB,
            _ => 6 * GB,
        },
        ("x86_64", "GenuineIntel") => 6 * GB,
        ("x86_64", "AuthenticAMD") => 16 * GB,
        ("x86_64", "CentaurHauls" | "  Shanghai  ") if (family, model) == (7, 0x5b) => 9 * GB,
        ("x86_64", "CentaurHauls" | "  Shanghai  ") => 6 * GB,
        _ => LOCAL_BPS,
    }
}

/// A rate that is no bottleneck (`LOC_BW` there).
pub const LOCAL_BPS: u64 = 40_000_000_000_000;

/// The rate of the slowest usual port that is at least as fast as a PCI link of this rate, in b/s.
pub fn port_for(bps: u64) -> u64 {
    const GBPS: [u64; 8] = [10, 25, 50, 100, 200, 400, 800, 1600];
    GBPS.into_iter().map(|gbps| gbps * 1_000_000_000).find(|port| *port >= bps).unwrap_or(bps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_on_pci_are_hexadecimal_digits() {
        assert_eq!(busid("0000:10:1c.0"), Some(0x101c0));
        assert_eq!(busid("ffff:ff:01.0"), Some(0x000f_ffff_f010));
        assert_eq!([busid(""), busid("::."), busid("0000:1g:00.0"), busid("00000000000000000")], [None; 4]);
    }

    #[test]
    fn ports_are_those_that_a_pci_link_feeds() {
        // Third, fourth and fifth generation with 16 lanes: 96, 192 and 384 Gb/s by NCCL's numbers.
        let gbps = |lanes: u64, speed| port_for(lanes * lane(speed) * 100_000_000) / 1_000_000_000;
        assert_eq!([gbps(16, "8 GT/s"), gbps(16, "16.0 GT/s PCIe"), gbps(16, "32 GT/s")], [100, 200, 400]);
        assert_eq!([gbps(8, "8.0 GT/s PCIe"), gbps(1, "2.5 GT/s"), gbps(16, "64.0 GT/s PCIe")], [50, 10, 800]);
    }
}
