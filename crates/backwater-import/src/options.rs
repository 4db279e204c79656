//! What the caller of an import may say.

/// Unit of times in a file whose unit depends on the program that reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartUnit {
    /// Microseconds.
    Microseconds,
    /// Picoseconds.
    Picoseconds,
}

/// What a simulator says of pauses. The caller has one, this crate knows none.
#[derive(Clone, Copy, Debug)]
pub struct Pauses {
    /// The longest time that IEEE 802.3 allows a port of a rate (b/s) from the receipt of a pause to the stop, in ps; `None`: no bound is
    /// known.
    pub longest_response: fn(bps: u64) -> Option<u64>,
    /// The headroom in octets that the simulator needs.
    pub headroom: fn(Asked) -> u64,
    /// The headroom in octets by IEEE 802.1Q annex N; `None`: a bound of it is not known.
    pub annex_n: fn(Asked) -> Option<u64>,
}

/// Whose headroom is asked for: that of a port and class.
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
}

/// What the caller of an import may say. All of it may be left out.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The family or the kind of all files, instead of what their content says.
    pub format: Option<String>,
    /// Unit of `start` in htsim's connection matrices.
    pub start_unit: Option<StartUnit>,
    /// The command line of the program that the files were written for: its program and its options, without a shell's quotes.
    pub command: Vec<String>,
    /// Text of a scenario, with its name, whose fabric and mechanisms the imported workload runs on, instead of what the family
    /// assumes.
    pub fabric: Option<(String, String)>,
    /// A start time of the files that becomes 0 s; absent: what the family does.
    pub from_ps: Option<u64>,
    /// Servers that a file describes one of; absent: what the family assumes.
    pub servers: Option<u32>,
    /// Packet memory of the switch whose configuration is imported, in octets; absent: what is known of its hardware.
    pub memory: Option<u64>,
    /// Time from the receipt of a pause to the stop at the ports of that switch's neighbours, in ps; absent: the longest that IEEE
    /// 802.3 allows.
    pub response_ps: Option<u64>,
    /// What the simulator says of pauses; absent: the headroom of a switch is not judged.
    pub pauses: Option<Pauses>,
}

impl Options {
    /// What the caller has said, as the command line calls it, beside the format.
    pub fn given_options(&self) -> impl Iterator<Item = &'static str> {
        let all = [
            ("--start-unit", self.start_unit.is_some()),
            ("--command", !self.command.is_empty()),
            ("--fabric", self.fabric.is_some()),
            ("--zero-at", self.from_ps.is_some()),
            ("--servers", self.servers.is_some()),
            ("--memory", self.memory.is_some()),
            ("--response", self.response_ps.is_some()),
        ];
        all.into_iter().filter(|(_, given_options)| *given_options).map(|(name, _)| name)
    }
}
