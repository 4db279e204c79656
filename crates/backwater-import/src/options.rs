//! The options of an import.

/// Unit of times in a file whose unit depends on the program that reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartUnit {
    /// Microseconds.
    Microseconds,
    /// Picoseconds.
    Picoseconds,
}

/// The functions of a simulator for pauses. The caller provides them, since this crate knows no simulator.
#[derive(Clone, Copy, Debug)]
pub struct Pauses {
    /// The longest time that IEEE 802.3 allows a port of a rate (b/s) from the receipt of a pause to the stop, in ps; `None`: no bound is
    /// known.
    pub longest_response: fn(bps: u64) -> Option<u64>,
    /// The headroom that the simulator needs.
    pub headroom: fn(Asked) -> Needed,
    /// The headroom in octets by IEEE 802.1Q annex N; `None`: one of its bounds is unknown.
    pub annex_n: fn(Asked) -> Option<u64>,
}

/// A switching chip of the simulator, a preset of its table `[switch]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChipPreset {
    /// Its name.
    pub name: &'static str,
    /// Its values, keys of that table.
    pub toml: &'static str,
}

/// The port and class whose headroom is calculated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Rate of the link, in b/s.
    pub bps: u64,
    /// Propagation delay of the link, in ps.
    pub delay_ps: u64,
    /// Longest frame, in octets.
    pub frame: u64,
    /// Time from the receipt of a pause to the stop, in ps.
    pub response_ps: u64,
    /// A cell of the switch's memory, in octets; 1: frames count by their length.
    pub cell: u64,
}

/// A headroom, in octets, from the least to the largest. The first two differ only where memory counts in cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needed {
    /// For the longest frames alone.
    pub longest_frames: u64,
    /// For frames of any length: a wire full of those that take most cells.
    pub any_frames: u64,
    /// For interfaces that take as long as IEEE 802.3 allows, too; `None`: no bound is known.
    pub slow_interfaces: Option<u64>,
}

/// The options of an import. All of them may be absent.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The family or the kind of all files, instead of recognition by content.
    pub format: Option<String>,
    /// Unit of `start` in htsim's connection matrices.
    pub start_unit: Option<StartUnit>,
    /// The command line of the program that the files were written for: its program and its options, without a shell's quotes.
    pub command: Vec<String>,
    /// Text of a scenario, with its name. The imported workload runs on its fabric and mechanisms, instead of the family's defaults.
    pub fabric: Option<(String, String)>,
    /// A start time of the files that becomes 0 s; absent: the family's default.
    pub from_ps: Option<u64>,
    /// Number of servers, if a file describes one of them; absent: the family's default.
    pub servers: Option<u32>,
    /// Packet memory of the switch whose configuration is imported, in octets; absent: that of known hardware.
    pub memory: Option<u64>,
    /// Time from the receipt of a pause to the stop at the ports of that switch's neighbours, in ps; absent: the longest that IEEE
    /// 802.3 allows.
    pub response_ps: Option<u64>,
    /// The chip of that switch, a name of `chips`; absent: that of known hardware.
    pub asic: Option<String>,
    /// The simulator's chips; empty: none is known.
    pub chips: Vec<ChipPreset>,
    /// The simulator's functions for pauses; absent: the headroom of a switch is not judged.
    pub pauses: Option<Pauses>,
}

impl Options {
    /// Returns the given options, in the form of the command line, without the format.
    pub fn given_options(&self) -> impl Iterator<Item = &'static str> {
        let all = [
            ("--start-unit", self.start_unit.is_some()),
            ("--command", !self.command.is_empty()),
            ("--fabric", self.fabric.is_some()),
            ("--zero-at", self.from_ps.is_some()),
            ("--servers", self.servers.is_some()),
            ("--memory", self.memory.is_some()),
            ("--response", self.response_ps.is_some()),
            ("--asic", self.asic.is_some()),
        ];
        all.into_iter().filter(|(_, given_options)| *given_options).map(|(name, _)| name)
    }
}
