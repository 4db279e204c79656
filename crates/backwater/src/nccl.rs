//! NCCL's own estimates of its software's costs, by algorithm and protocol.
//!
//! Source: NVIDIA/nccl at commit b6475625 (2024), src/graph/tuning.cc. `baseLat` is the start-up latency of a collective, and the row NET of
//! `hwLat` that of a message between servers, in microseconds. NCCL uses them to choose an algorithm. They are not measurements of one
//! machine, and the value of a message includes what the network takes when it is idle, a few microseconds, which a run adds once more.
//!
//! Not modelled: the rows NVLINK and PCI (steps within a server take no time here), `latencyInter` of a topology, the overhead of posting,
//! and the bandwidths that NCCL estimates.

use crate::file::{AlgorithmName, Protocol};
use backwater_engine::Time;
use backwater_net::workload::job::Software;

/// The costs of an algorithm under a protocol; `None`: NCCL has no such algorithm.
pub(crate) fn software(protocol: Protocol, algorithm: Option<AlgorithmName>) -> Option<Software> {
    // `baseLat` and `hwLat[NET]` in units of 100 ns.
    let (base, message) = match (algorithm, protocol) {
        (None | Some(AlgorithmName::Ring | AlgorithmName::Hierarchical), Protocol::Ll) => (66, 27),
        (None | Some(AlgorithmName::Ring | AlgorithmName::Hierarchical), Protocol::Ll128) => (140, 40),
        (None | Some(AlgorithmName::Ring | AlgorithmName::Hierarchical), Protocol::Simple) => (84, 140),
        (Some(AlgorithmName::Tree), Protocol::Ll) => (68, 50),
        (Some(AlgorithmName::Tree), Protocol::Ll128) => (140, 85),
        (Some(AlgorithmName::Tree), Protocol::Simple) => (0, 280),
        _ => return None,
    };
    // 4 B of flag to 4 B of data; 8 B of flag to 120 B of data.
    let (sent, of) = match protocol {
        Protocol::Simple => (1, 1),
        Protocol::Ll => (2, 1),
        Protocol::Ll128 => (16, 15),
    };
    Some(Software { latency: Time::ns(base * 100), message_latency: Time::ns(message * 100), sent, of })
}
