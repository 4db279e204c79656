//! The chip of a switch, by `--asic` or by its hardware SKU: a preset of the scenario, and what predictions need of it.

use super::devices;
use crate::error::ImportError;
use crate::options::Options;

/// A chip with a shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chip {
    /// Its preset.
    pub name: String,
    /// A cell, in octets.
    pub cell: u64,
    /// Equal parts of its memory.
    pub slices: u64,
    /// Packet memory, in octets; no data sheet has it to the octet.
    pub memory: Option<u64>,
    /// True if a pool of its files holds headroom and guaranteed octets, where it fills the memory (studies/silicon-2026, "The reading", 4).
    pub whole: bool,
    /// Octets that are guaranteed to the queues of a port, and lie within a pool that has all of the memory.
    pub queues: u64,
    /// True if tests of hardware bear out the law of [`super::frames`].
    pub tested: bool,
    /// True if its ports have a threshold, too: Spectrum. No import has it, so nothing is predicted.
    pub by_port: bool,
    /// The origin of the name: `--asic`, or a hardware SKU.
    pub by: String,
}

/// Queues of a port with guaranteed cells. No file has the number. It is inferred: from the first pause of Tomahawk 5 (studies/silicon-2026,
/// "The reading", 4), and on Tomahawk 3 from the pools of Z9332f, whose `egress_lossless_pool` is what is left without 32 x (2 x 10 + 10 x 7)
/// cells.
const QUEUES: u64 = 10;
const WITH_QUEUES: [&str; 2] = ["tomahawk3", "tomahawk5"];
/// Chips whose pools hold all of the memory.
const WHOLE: [&str; 3] = ["tomahawk3", "tomahawk5", "trident3"];
/// Chips whose tests of hardware the law meets (studies/silicon-2026).
const TESTED: [&str; 3] = ["tomahawk", "tomahawk5", "trident3"];

/// The chip of a switch; `None`: it is not known.
///
/// # Errors
///
/// `--asic` names no chip, or one without a shared memory.
pub fn of(hwsku: &str, options: &Options) -> Result<Option<Chip>, ImportError> {
    let (name, by) = match (options.asic.as_deref(), devices::chip(hwsku)) {
        (Some(name), _) => (name, "--asic".to_owned()),
        (None, Some(name)) => (name, hwsku.to_owned()),
        (None, None) => return Ok(None),
    };
    let preset = options.chips.iter().find(|preset| preset.name == name);
    let asked = options.asic.is_some();
    let Some(preset) = preset else {
        if !asked {
            return Ok(None);
        }
        let names: Vec<&str> = options.chips.iter().map(|preset| preset.name).collect();
        let error = ImportError::new("--asic: there is no such chip").value(name);
        return Err(error.hint(format!("`backwater list silicon` has them: {}", names.join(", "))));
    };
    let table: toml::Table = preset.toml.parse().unwrap_or_default();
    if table.get("architecture").and_then(toml::Value::as_str) != Some("shared-memory") {
        let error =
            ImportError::new("--asic: the chip has virtual output queues, and pools of SONiC are of a shared memory");
        return Err(error.value(name).hint("leave --asic out"));
    }
    let octets = |key: &str| table.get(key).and_then(toml::Value::as_str)?.strip_suffix(" B")?.parse::<u64>().ok();
    let slices = table.get("slices").and_then(toml::Value::as_integer).and_then(|slices| u64::try_from(slices).ok());
    Ok(Some(Chip {
        name: name.to_owned(),
        cell: octets("cell").unwrap_or(1).max(1),
        slices: slices.unwrap_or(1).max(1),
        memory: octets("buffer"),
        whole: WHOLE.contains(&name),
        queues: if WITH_QUEUES.contains(&name) { QUEUES * octets("queue_reserve").unwrap_or(0) } else { 0 },
        tested: TESTED.contains(&name),
        by_port: name.starts_with("spectrum"),
        by,
    }))
}
