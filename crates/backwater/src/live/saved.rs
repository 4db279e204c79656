//! A saved run of a caller: the state of the network, and what the caller still has to come.

use super::{Live, LiveOptions};
use crate::catalog::version;
use crate::error::ScenarioError;
use crate::scenario::Scenario;
use backwater_engine::fingerprint::mix;
use backwater_engine::state::{Loader, Saver, Unfit};
use backwater_mech::stage;

impl Live {
    /// Returns its state, for [`Live::resume`]. What the last step returned is not part of it.
    ///
    /// # Errors
    /// A run that has ended, or that also writes a directory.
    pub fn save(&self) -> Result<Vec<u8>, ScenarioError> {
        self.goes_on()?;
        if self.directory.is_some() {
            return Err(ScenarioError::new("a run that writes a directory cannot be saved").hint("open it without one"));
        }
        let saved = || {
            let mut to = Saver::new(Vec::new());
            to.put(&self.origin());
            to.put(&(self.now, &self.timers, self.timers_set));
            to.put(&stage::save_parallel(&self.network)?);
            to.finish()
        };
        saved().map_err(|unfit: Unfit| ScenarioError::new(format!("the run cannot be saved: {unfit}")))
    }

    /// Opens a scenario at the point at which a run of it was saved. Rows before it are not kept.
    ///
    /// # Errors
    /// Those of [`Live::open`], or another scenario, seed, build or choice than the saved run's.
    pub fn resume(scenario: &Scenario, options: &LiveOptions, saved: &[u8]) -> Result<Live, ScenarioError> {
        if options.directory.is_some() {
            let error = ScenarioError::new("a resumed run writes no directory, since its first messages are not known");
            return Err(error.hint("leave the directory out"));
        }
        let mut live = Live::open(scenario, options)?;
        let mut from = Loader::new(saved, Vec::new());
        let mut loaded = || {
            let origin: (String, u64) = from.take()?;
            if origin != live.origin() {
                return Err(Unfit::new("it was saved by another build, or with other choices"));
            }
            (live.now, live.timers, live.timers_set) = from.take()?;
            stage::load_parallel(&mut live.network, &from.take::<Vec<u8>>()?)
        };
        let unfit = |unfit: Unfit| {
            let error = ScenarioError::new(format!("the saved run does not fit its scenario: {unfit}"));
            error.hint("resume it with the scenario, the seed and the options that it was opened with")
        };
        loaded().map_err(unfit)?;
        from.finish().map_err(unfit)?;
        Ok(live)
    }

    /// What a saved run must have in common with the one that resumes it: the build, and a hash of scenario, seed and choices.
    fn origin(&self) -> (String, u64) {
        let options = LiveOptions { rows: false, seed: None, ..self.options.clone() };
        let text = format!("{}{options:?}{}", self.seed, self.checked.resolved().to_toml());
        let build: Vec<&str> = version().into_iter().map(|(_, value)| value).collect();
        (build.join(" "), text.bytes().fold(0, |hash, byte| mix(hash ^ u64::from(byte))))
    }
}
