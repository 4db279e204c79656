//! The NICs of a GPU: the nearest ones, shared if there are several.
//!
//! Source: NVIDIA/nccl, commit 5067397, `src/graph/paths.cc` and `ncclTopoGetLocalNetType` of `src/graph/topo.cc`.
//!
//! ```text
//! path         bw = the least rate on it; type = PIX one bridge, PXB several, PHB by the CPU, SYS by two CPUs
//! without GDR  what is nearer than the CPU goes by the CPU all the same
//! nearest(x)   those with the highest bw, and of these with the lowest type
//! nics = nearest(gpu), gpus = nearest(nics[0]), k = ceil(nics / gpus)
//! first = dev mod gpus, its bits mirrored if nics is a power of two
//! channel c uses nics[(first + c mod k) mod nics]
//! ```

use super::system::System;
use std::fmt;

/// The distance of a GPU and a NIC, the nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    /// One bridge.
    Pix,
    /// Several bridges.
    Pxb,
    /// Their CPU.
    Phb,
    /// Two CPUs.
    Sys,
}

impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Distance::Pix => "PIX",
            Distance::Pxb => "PXB",
            Distance::Phb => "PHB",
            Distance::Sys => "SYS",
        })
    }
}

/// A path between a GPU and a NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// The least rate on it, in b/s.
    pub bps: u64,
    /// Its distance.
    pub distance: Distance,
}

/// For each GPU the NICs that it uses, by their place in the list of the system, with the path to the first.
pub fn nics(system: &System) -> Vec<(Vec<usize>, Path)> {
    let paths: Vec<Vec<Path>> =
        (0..system.gpus.len()).map(|gpu| (0..system.nics.len()).map(|nic| path(system, gpu, nic)).collect()).collect();
    system
        .gpus
        .iter()
        .zip(&paths)
        .map(|(gpu, own)| {
            let nics = nearest(own);
            let to_first: Vec<Path> = paths.iter().map(|own| own[nics[0]]).collect();
            let sharing = nearest(&to_first).len();
            let each = nics.len().div_ceil(sharing);
            let place = gpu.dev as usize % sharing;
            let first = if nics.len().is_power_of_two() { mirrored(place, nics.len()) } else { place };
            let used: Vec<usize> = (0..each).map(|channel| nics[(first + channel) % nics.len()]).collect();
            let path = own[used[0]];
            (used, path)
        })
        .collect()
}

/// The NICs with a path of the highest rate, and among these the nearest; in their order.
fn nearest(paths: &[Path]) -> Vec<usize> {
    let key = |path: &Path| (std::cmp::Reverse(path.bps), path.distance);
    let best = paths.iter().map(key).min();
    (0..).zip(paths).filter(|(_, path)| Some(key(path)) == best).map(|(place, _)| place).collect()
}

/// The bits of a number below a power of two in reverse order.
fn mirrored(value: usize, power: usize) -> usize {
    let bits = power.trailing_zeros();
    (0..bits).filter(|bit| value & (1 << bit) != 0).map(|bit| power >> (bit + 1)).sum()
}

fn path(system: &System, gpu: usize, nic: usize) -> Path {
    let (gpu, nic) = (&system.gpus[gpu], &system.nics[nic]);
    let [from, to] = [gpu.place, nic.place].map(|place| upwards(system, place));
    let common = from.iter().rev().zip(to.iter().rev()).take_while(|(a, b)| a == b).count();
    // From the common bridge on they share the path.
    let apart = |way: &[usize], common: usize| {
        way[..way.len() - common].iter().map(|place| system.places[*place].bps).min().unwrap_or(u64::MAX)
    };
    let bps = |common: usize| apart(&from, common).min(apart(&to, common)).min(nic.bps);
    match common {
        // The rate of a CPU is that to other CPUs.
        0 => Path { bps: bps(0), distance: Distance::Sys },
        1 => Path { bps: bps(1), distance: Distance::Phb },
        _ if !(gpu.direct && nic.direct) => Path { bps: bps(1), distance: Distance::Phb },
        _ => {
            // Both ends are devices, so everything between them is a bridge.
            let bridges = from.len() + to.len() - 2 * common - 1;
            let distance = if bridges == 1 { Distance::Pix } else { Distance::Pxb };
            Path { bps: bps(common), distance }
        }
    }
}

/// A place and everything above it, the CPU last.
fn upwards(system: &System, place: usize) -> Vec<usize> {
    std::iter::successors(Some(place), |place| system.places[*place].above).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_mirrored_as_nccl_does() {
        let of = |power| (0..power).map(|value| mirrored(value, power)).collect::<Vec<_>>();
        assert_eq!(of(1), [0]);
        assert_eq!(of(2), [0, 1]);
        assert_eq!(of(8), [0, 4, 2, 6, 1, 5, 3, 7]);
    }
}
