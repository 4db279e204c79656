//! Imports keep the content of files, and refuse files of no known kind.

mod chakra;
mod fields;
mod goal;
mod hpcc;
mod htsim;
mod msccl;
mod mutate;
mod nccl;
mod options;
mod ranges;
mod recognised;
mod simai;
mod sonic;
mod sonic_chip;

use backwater_import::{ImportError, Imported, Memory, Options, Source, import};

/// Imports texts, each with its name.
pub fn imported(files: &[(&str, &str)], options: &Options) -> Result<(Imported, Memory), ImportError> {
    let sources = files.iter().map(|(name, text)| Source::octets(*name, text.as_bytes())).collect();
    let mut place = Memory::default();
    import(sources, "it", options, &mut place).map(|imported| (imported, place))
}

/// Returns a fixture, by its path below `tests/files`.
pub fn fixture(path: &str) -> Vec<u8> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(path);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All fixtures that can be imported, as (path, kind).
pub const FIXTURES: &[(&str, &str)] = &[
    ("chakra/all_reduce.0.et", "chakra-et"),
    ("chakra/nodes.0.et", "chakra-et"),
    ("chakra/nodes.0.json", "chakra-json"),
    ("chakra/groups.json", "chakra-groups"),
    ("chakra/printed.0.json", "chakra-objects"),
    ("chakra/custom_allreduce.0.et", "chakra-et"),
    ("chakra/custom_allreduce.7.et", "chakra-et"),
    ("goal/mixed.goal", "goal-text"),
    ("goal/binary_tree_32.goal", "goal-text"),
    ("goal/mixed.bin", "goal-binary"),
    ("goal/binary_tree_32.bin", "goal-binary"),
    ("msccl/small.xml", "msccl-xml"),
    ("msccl/custom_allreduce.xml", "msccl-xml"),
    ("nccl/dump.xml", "nccl-topology"),
    ("nccl/ncv4-topo.xml", "nccl-topology"),
    ("nccl/ndv4-topo.xml", "nccl-topology"),
    ("nccl/ndv5-topo.xml", "nccl-topology"),
    ("nccl/p4d-24xl-topo.xml", "nccl-topology"),
    ("nccl/rccl.xml", "nccl-topology"),
    ("htsim/one.cm", "htsim-cm"),
    ("htsim/bidir.cm", "htsim-cm"),
    ("htsim/chain.cm", "htsim-cm"),
    ("htsim/alltoall_serial_16n.cm", "htsim-cm"),
    ("htsim/test_cr_1f10m10p.cm", "htsim-cm"),
    ("htsim/test_cr_1f1m10p.cm", "htsim-cm"),
    ("htsim/fat_tree_1024.topo", "htsim-topo"),
    ("htsim/leaf_spine_tiny.topo", "htsim-topo"),
    ("htsim/test.topo", "htsim-topo"),
    ("htsim/validate.txt", "htsim-validate"),
    ("hpcc/topology.txt", "hpcc-topology"),
    ("hpcc/datacenter.txt", "hpcc-topology"),
    ("hpcc/flow.txt", "hpcc-flow"),
    ("hpcc/flow-conweave.txt", "hpcc-flow"),
    ("hpcc/config.txt", "hpcc-config"),
    ("hpcc/conweave.conf", "hpcc-config"),
    ("hpcc/cdf.txt", "hpcc-cdf"),
    ("hpcc/cdf-fraction.txt", "hpcc-cdf"),
    ("hpcc/paths.txt", "hpcc-paths"),
    ("hpcc/trace.txt", "hpcc-trace"),
    ("sonic/buffers-dell6100.json", "sonic-config-db"),
    ("sonic/buffers_defaults_own.j2", "sonic-buffers-template"),
    ("sonic/dell6100-ports.json", "sonic-config-db"),
    ("sonic/leaf.json", "sonic-config-db"),
    ("sonic/mock_config_db.json", "sonic-config-db"),
    ("sonic/only-ports.json", "sonic-config-db"),
    ("sonic/pg_profile_lookup.ini", "sonic-pg-lookup"),
    ("sonic/qos-dell6100.json", "sonic-config-db"),
    ("sonic/without-profiles.json", "sonic-config-db"),
    ("simai/microAllReduce.txt", "simai-workload"),
    ("simai/aicb_all_to_all.txt", "simai-workload"),
    ("simai/experts.txt", "simai-workload"),
    ("simai/Spectrum-X_16g_8gps_400Gbps_H100", "simai-topology"),
];
