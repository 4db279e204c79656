//! A workload.
//!
//! ```text
//! file  = policy { key ":" value } newline count newline { layer }
//! layer = name dependency ns comm octets ns comm octets ns comm octets ns
//! comm  = "NONE" | ( "ALLREDUCE" | "ALLGATHER" | "REDUCESCATTER" | "ALLTOALL" ) [ "_EP" | "_DP_EP" ]
//! ```
//!
//! The three passes of a layer are forward, input gradient and weight gradient, each a computation and a collective; the last number is the
//! time of the update of weights. A collective without a suffix belongs to the tensor-parallel group in the first two passes, of the
//! data-parallel group in the third. Read from `Workload.cc` of SimAI.

use crate::error::ImportError;
use crate::note::Notes;
use crate::source::Head;
use crate::words::{Word, Words};

/// The content of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Its name in messages.
    pub file: String,
    /// The order of layers.
    pub policy: Policy,
    /// Ranks of a tensor-parallel group.
    pub tensor: u32,
    /// Ranks of an expert-parallel group.
    pub expert: u32,
    /// Stages of the pipeline.
    pub stages: u32,
    /// All GPUs, if given.
    pub gpus: Option<u32>,
    /// In the order of the file.
    pub layers: Vec<Layer>,
}

/// The order of layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Forward through all layers; then, from the last on, input gradient and weight gradient of each. The collectives of the forward pass
    /// and of the input gradient block, that of the weight gradient does not.
    Transformer,
    /// The same, but the collective of the input gradient continues during the weight gradient's computation, and the first layer has none.
    Model,
    /// Forward without collectives; then, from the last on, weight gradient and input gradient of each, with the weight gradient's
    /// collective only.
    Data,
    /// Forward only.
    Inference,
    /// Collectives of the weight gradient only.
    Micro,
}

/// A layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Its line.
    pub line: u64,
    /// Its name.
    pub name: String,
    /// Forward, input gradient, weight gradient.
    pub passes: [Pass; 3],
    /// Time of the update after the weight gradient's collective, in ns.
    pub update_ns: u64,
}

/// A computation and the communication after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pass {
    /// Time of the computation, in ns.
    pub compute_ns: u64,
    /// The collective.
    pub comm: Option<Comm>,
}

/// A collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comm {
    /// Its kind.
    pub kind: CommKind,
    /// Its members.
    pub group: Group,
    /// A rank's buffer, in octets.
    pub bytes: u64,
}

/// The kind of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommKind {
    /// `ALLREDUCE`
    AllReduce,
    /// `ALLGATHER`
    AllGather,
    /// `REDUCESCATTER`
    ReduceScatter,
    /// `ALLTOALL`
    AllToAll,
}

/// The members of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Tensor-parallel ranks.
    Tensor,
    /// Data-parallel ranks.
    Data,
    /// Expert-parallel ranks.
    Expert,
    /// Ranks that are data-parallel for experts.
    DataOfExperts,
}

/// Supported policies.
const POLICIES: [(&str, Policy); 8] = [
    ("HYBRID_TRANSFORMER_FWD_IN_BCKWD", Policy::Transformer),
    ("HYBRID_TRANSFORMER", Policy::Transformer),
    ("MODEL", Policy::Model),
    ("HYBRID_DATA_MODEL", Policy::Model),
    ("HYBRID_MODEL_DATA", Policy::Model),
    ("DATA", Policy::Data),
    ("DISTRIBUTED_INFERENCE", Policy::Inference),
    ("MICRO", Policy::Micro),
];

/// Known but unsupported policies.
const OTHERS: [&str; 3] = ["HYBRID_DLRM", "HYBRID_DLRM_ENHANCED", "HYBRID_CUSTOMIZED"];

/// Longest computation: an hour, in ns.
const LONGEST_NS: u64 = 3_600_000_000_000;
/// Largest buffer of a collective.
const LARGEST: u64 = 1 << 50;

/// Returns whether a file is a workload: a policy, and a count alone in the next line.
pub fn recognise(head: &Head) -> bool {
    let lines = head.lines();
    let first = lines.first().and_then(|line| line.split_whitespace().next()).unwrap_or_default();
    let count = lines.get(1).is_some_and(|line| line.trim().parse::<u32>().is_ok());
    count && (POLICIES.iter().any(|(name, _)| *name == first) || OTHERS.contains(&first))
}

/// Reads a workload; messages call it `file`.
pub fn parse(file: &str, text: &str, notes: &mut Notes) -> Result<Workload, ImportError> {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let mut head = Words::new(file, first);
    let word = head.word("a policy")?;
    let Some((_, policy)) = POLICIES.iter().find(|(name, _)| *name == word.text) else {
        let names: Vec<&str> = POLICIES.iter().map(|(name, _)| *name).collect();
        let reason = if OTHERS.contains(&word.text) { "cannot be imported" } else { "is no policy of SimAI" };
        return Err(head.error(1, reason).value(word.text).hint(format!("{} can be", names.join(", "))));
    };
    let mut workload = Workload {
        file: file.to_owned(),
        policy: *policy,
        tensor: 1,
        expert: 1,
        stages: 1,
        gpus: None,
        layers: Vec::new(),
    };
    workload.read_head(&mut head, notes)?;
    let mut words = Words::new(file, rest);
    // The rest begins in the second line.
    let at = |error: ImportError| match error.line {
        Some(line) => error.line(line + 1),
        None => error,
    };
    let unused = match policy {
        Policy::Micro => {
            "dependency, forward, forward-comm, forward-bytes, input, input-comm, input-bytes, weight and update of each layer of MICRO: all but \
             the collective of the weight gradient"
        }
        Policy::Inference => {
            "of each layer dependency, forward-bytes where nothing is sent, and input, input-comm, input-bytes, weight, weight-comm, weight-bytes and \
             update, which are behind the forward pass"
        }
        Policy::Data => {
            "of each layer dependency, weight-bytes where nothing is sent, update where the weight gradient is not sent, and forward-comm, forward-bytes, \
             input-comm and input-bytes, the collectives of the other passes"
        }
        Policy::Transformer | Policy::Model => {
            "of each layer dependency, forward-bytes, input-bytes and weight-bytes of NONE, forward-comm, input-comm and weight-comm of 0 B, \
             and update where the weight gradient is not sent"
        }
    };
    notes.ignored(file, Some(2), unused);
    let count: u64 = words.number("a number of layers").map_err(at)?;
    for _ in 0..count {
        let layer = layer(&mut words, file, notes).map_err(at)?;
        workload.layers.push(layer);
    }
    if let Some(word) = words.next_word() {
        notes.ignored(
            file,
            Some(word.line + 1),
            format!("what follows the {count} layers that the second line counts"),
        );
    }
    Ok(workload)
}

impl Workload {
    fn read_head(&mut self, words: &mut Words<'_>, notes: &mut Notes) -> Result<(), ImportError> {
        let file = self.file.clone();
        let mut skipped = 0u32;
        while let Some(word) = words.next_word() {
            if skipped > 0 && word.text.parse::<u32>().is_ok() {
                skipped -= 1;
                continue;
            }
            let mut size = |what: &str| -> Result<u32, ImportError> {
                let size: u32 = words.number(what)?;
                if size == 0 { Err(words.error(1, format!("{what} is 0"))) } else { Ok(size) }
            };
            match word.text.trim_end_matches(':') {
                "model_parallel_NPU_group" => self.tensor = size("a number of ranks")?,
                "ep" => self.expert = size("a number of ranks")?,
                "pp" => {
                    self.stages = size("a number of stages")?;
                    if self.stages > 1 {
                        let text = "pp: that program runs one stage on all ranks, and adds bubbles and transfers of the pipeline by a \
                                    formula; here only the stage runs";
                        notes.differs(&file, Some(1), text);
                    }
                }
                "all_gpus" => self.gpus = Some(size("a number of GPUs")?),
                key @ ("vpp" | "ga" | "pp_comm") => {
                    words.number::<u64>("a number")?;
                    notes.unread(&file, Some(1), key, "that program only has it in the formula for the pipeline");
                }
                key @ ("checkpoints" | "checkpoint_initiates") => {
                    skipped = words.number("a number of layers")?;
                    if skipped > 0 {
                        let text =
                            "layers that are computed again: that program reads them, and computes nothing again";
                        notes.unread(&file, Some(1), key, text);
                    }
                }
                key => {
                    let key: String = key.chars().take(40).collect();
                    notes.unknown(&file, Some(1), &key, "no key that is known");
                }
            }
        }
        Ok(())
    }
}

fn layer(words: &mut Words<'_>, file: &str, notes: &mut Notes) -> Result<Layer, ImportError> {
    let name = words.word("the name of a layer")?;
    words.word("a dependency")?;
    let mut passes = [Pass::default(); 3];
    for (number, pass) in passes.iter_mut().enumerate() {
        pass.compute_ns = nanoseconds(words)?;
        let kind = words.word("a collective")?;
        let bytes: u64 = words.number("a number of octets")?;
        if bytes > LARGEST {
            return Err(words.error(words.line(), format!("{bytes} B are more than {LARGEST}")));
        }
        let own = if number == 2 { Group::Data } else { Group::Tensor };
        pass.comm = comm(kind, own, bytes, words, file, notes)?;
    }
    let update_ns = nanoseconds(words)?;
    let name_text = name.text.chars().take(60).collect();
    Ok(Layer { line: name.line + 1, name: name_text, passes, update_ns })
}

fn nanoseconds(words: &mut Words<'_>) -> Result<u64, ImportError> {
    let time: u64 = words.number("a time in ns")?;
    match time <= LONGEST_NS {
        true => Ok(time),
        false => Err(words.error(words.line(), format!("{time} ns are more than an hour"))),
    }
}

fn comm(
    word: Word<'_>,
    own: Group,
    bytes: u64,
    words: &Words<'_>,
    file: &str,
    notes: &mut Notes,
) -> Result<Option<Comm>, ImportError> {
    let kinds = [
        ("ALLREDUCE", CommKind::AllReduce),
        ("ALLGATHER", CommKind::AllGather),
        ("REDUCESCATTER", CommKind::ReduceScatter),
        ("ALLTOALL", CommKind::AllToAll),
    ];
    let groups = [("", own), ("_EP", Group::Expert), ("_DP_EP", Group::DataOfExperts)];
    let found = kinds.iter().find_map(|(name, kind)| {
        let suffix = word.text.strip_prefix(name)?;
        Some((*kind, groups.iter().find(|(known, _)| *known == suffix)?.1))
    });
    match (found, word.text) {
        (Some((kind, group)), _) if bytes > 0 => Ok(Some(Comm { kind, group, bytes })),
        (Some(_), _) | (None, "NONE") => Ok(None),
        (None, "BROADCAST") => {
            notes.ignored(file, Some(word.line + 1), "BROADCAST: that program sends nothing for it");
            Ok(None)
        }
        (None, text) => {
            let hint = "NONE, or ALLREDUCE, ALLGATHER, REDUCESCATTER or ALLTOALL, perhaps with _EP or _DP_EP";
            Err(words.error(word.line, "is no collective that can be imported").value(text).hint(hint))
        }
    }
}
