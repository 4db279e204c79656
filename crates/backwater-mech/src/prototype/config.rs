//! The parameters of a prototype, and their checks.

use super::control::offered;
use backwater_derive::parameters;
use backwater_net::hooks::{Claims, Finding, Needs, Profile};
use std::collections::BTreeMap;

/// Parameters of a prototype.
#[parameters]
#[derive(Clone, Debug)]
pub struct Params {
    /// Name of the control, a Python class that `Scenario.prototype` offers.
    #[param(range_text = "the name of a control that the running program offers", source = "Backwater's own")]
    pub control: String,
    /// Values of the control's own parameters, by name. Others keep the values of the class.
    #[param(default = BTreeMap::new(), unit = "a table of numbers", range_text = "finite numbers", source = "Backwater's own")]
    pub parameters: BTreeMap<String, f64>,
}

/// Returns its effects on others and its needs.
pub(super) fn profile(params: &Params) -> Profile {
    let marks = offered(&params.control).is_some_and(|offer| offer.marks);
    Profile {
        claims: Claims { flow_rate: true, ..Claims::NONE },
        needs: Needs { marks, acks: true, window: true, ..Needs::default() },
        couples: Some("runs in one interpreter of Python"),
        ..Profile::default()
    }
}

/// Checks what no range of a single parameter can express.
pub(super) fn check(params: &Params) -> Vec<Finding> {
    let Params { control, parameters } = params;
    let Some(offer) = offered(control) else {
        let reason = format!("no control `{control}` is offered here");
        return vec![Finding::fatal(
            "control",
            reason,
            "a prototype runs from Python, where its class is: backwater.load(FILE).prototype(CLASS).run()",
        )];
    };
    let unknown = parameters.keys().filter(|name| !offer.parameters.contains(name)).map(|name| {
        let known = match offer.parameters.is_empty() {
            true => "it has none".to_owned(),
            false => format!("its parameters: {}", offer.parameters.join(", ")),
        };
        Finding::fatal("parameters", format!("control `{control}` has no parameter `{name}`"), known)
    });
    let endless = parameters
        .iter()
        .filter(|(_, value)| !value.is_finite())
        .map(|(name, value)| Finding::fatal("parameters", format!("{name} = {value} is no finite number"), "a number"));
    let slow = Finding::warning(
        "control",
        "each acknowledgement is a call into Python, of some 2 us, and the run has one thread",
        "good for some hundred flows; for more, write it in Rust: backwater new mechanism NAME",
    );
    unknown.chain(endless).chain([slow]).collect()
}
