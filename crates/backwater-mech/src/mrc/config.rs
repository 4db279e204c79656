//! Parameters of MRC: the scenario's table `mrc`.

use backwater_derive::parameters;
use backwater_engine::Time;
use backwater_net::hooks::{CheckCx, Finding};

/// Greatest number of paths that entropy values can name: a value has 16 bits here, and 0 means none.
const MOST: u64 = 65_535;

/// Parameters of MRC.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// Number of entropy values of a flow. With `fields` a flow has no more values than there are paths.
    #[param(
        symbol = "n", default = 128, range = 1..=4096,
        source = "arXiv 2605.04333, 2.1: typically 128 to 256; the range: choice", why = "a flow keeps a state for each"
    )]
    pub values: u32,
    /// Source routes: for each switch of the path, in order, the number of ports among which a value selects. The first is the number of
    /// planes. Absent: switches hash the value (ECMP).
    #[param(
        each = 1..=65535,
        source = "arXiv 2605.04333, 2.2 (SRv6); MRC 1.0, 9.3.4 (structured values), as others describe it",
        why = "a value selects a port"
    )]
    pub fields: Option<Vec<u32>>,
    /// Time from the retirement of a value until its first probe, and between its probes.
    #[param(
        symbol = "probe", default = Time::us(100), range = Time::ns(1)..,
        source = "choice: the texts give no number", why = "probes would never end"
    )]
    pub probe_interval: Time,
    /// Number of probes in a row whose answers bring a retired value back.
    #[param(
        symbol = "k", default = 1, range = 1..=1000,
        source = "MRC 1.0, figure 5, as others describe it: one; arXiv 2605.04333, 2.1: enough", why = "a value would return unprobed"
    )]
    pub probes: u32,
}

impl Params {
    /// Returns the number of paths that source routes name.
    pub(super) fn paths(&self) -> Option<u64> {
        let fields = self.fields.as_deref()?;
        Some(fields.iter().fold(1, |paths: u64, ports| paths.saturating_mul(u64::from(*ports))))
    }
}

/// Checks what no range of a single parameter can express.
pub(super) fn check(params: &Params, _: &CheckCx<'_>) -> Vec<Finding> {
    let Some(paths) = params.paths() else { return Vec::new() };
    let reason = match paths {
        _ if params.fields.as_ref().is_some_and(Vec::is_empty) => "no switch is named".to_owned(),
        paths if paths > MOST => format!("they name {paths} paths, and a value has 16 bits"),
        _ => return Vec::new(),
    };
    let hint =
        "the planes and then the uplinks of a leaf, such as [8, 16]; or leave it out: switches then hash the value";
    vec![Finding { fatal: true, key: "fields", reason, hint: hint.into() }]
}
