//! Traffic matrices: the receivers of each sender's flows, by weight.
//!
//! ```text
//! src,dst,weight
//! at tor0,at tor1..tor3,2        each host of tor0 to each of the others, with weight 2
//! h0,h63,10
//! ```
//!
//! `src` and `dst` are sets of hosts as in a scenario's `from`; each host of the first sends to each host of the second except itself.
//! Weights are relative to the sender's other weights; those of a repeated pair are added. `#` begins a comment.

use crate::error::ScenarioError;
use crate::file::{Host, Hosts};
use crate::hosts::{self, MOST};
use backwater_net::packet::HostId;
use backwater_net::topology::Index;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Receivers of each sender, with the sum of the weights so far.
pub(crate) type Matrix = BTreeMap<HostId, Arc<[(HostId, f64)]>>;

const COLUMNS: [&str; 3] = ["src", "dst", "weight"];

/// Reads the file of a matrix; messages call it `name`.
pub(crate) fn read(path: &Path, name: &str, index: &Index) -> Result<Matrix, ScenarioError> {
    let hint = "CSV text with the columns src, dst and weight; its name is relative to the scenario's";
    let text = crate::inputs::text(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => ScenarioError::new(format!("there is no file `{name}`")).hint(hint),
        io::ErrorKind::FileTooLarge => {
            ScenarioError::new(format!("`{name}` is too large for a matrix")).hint("name sets of hosts")
        }
        _ => ScenarioError::new(format!("`{name}` cannot be read: {error}")).hint(hint),
    })?;
    parse(&text, name, index)
}

fn parse(text: &str, name: &str, index: &Index) -> Result<Matrix, ScenarioError> {
    let at = |line: Option<u64>, column: Option<usize>, value: &str, reason: String| ScenarioError {
        file: Some(name.to_owned()),
        line: line.and_then(|line| usize::try_from(line).ok()),
        key: column.map(|column| COLUMNS[column].to_owned()),
        // A cell may hold kilobytes of anything.
        value: column.map(|_| value.chars().take(60).collect()),
        ..ScenarioError::new(reason)
    };
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_reader(text.as_bytes());
    let mut weights: BTreeMap<(HostId, HostId), f64> = BTreeMap::new();
    let header = reader.headers().map_err(|error| at(Some(1), None, "", error.to_string()))?;
    if header != COLUMNS[..] {
        let error = at(Some(1), None, "", "the first line does not name the columns of a matrix".into());
        return Err(error.hint("src,dst,weight"));
    }
    for record in reader.records() {
        let record =
            record.map_err(|error| at(error.position().map(csv::Position::line), None, "", error.to_string()))?;
        let line = record.position().map(csv::Position::line);
        let cell = |column: usize| record.get(column).unwrap_or("");
        let set = |column: usize| {
            let hosts = Hosts::One(Host::Text(cell(column).to_owned()));
            hosts::expand(&hosts, index)
                .map_err(|(reason, hint)| at(line, Some(column), cell(column), reason).hint(hint))
        };
        let weight = cell(2).parse::<f64>().ok().filter(|w| (0.0..=1e18).contains(w)).ok_or_else(|| {
            at(line, Some(2), cell(2), "is not a weight".into()).hint("a number from 0 to 1e18; only ratios matter")
        })?;
        let (from, to) = (set(0)?, set(1)?);
        if from.len().saturating_mul(to.len()).saturating_add(weights.len()) > MOST {
            return Err(at(line, None, "", format!("more than {MOST} pairs")).hint("name fewer hosts"));
        }
        for pair in from.iter().flat_map(|from| to.iter().map(move |to| (*from, *to))).filter(|(a, b)| a != b) {
            *weights.entry(pair).or_default() += weight;
        }
    }
    Ok(summed(&weights))
}

/// Cumulative weights of each sender; pairs without weight are left out.
fn summed(weights: &BTreeMap<(HostId, HostId), f64>) -> Matrix {
    let mut rows: BTreeMap<HostId, Vec<(HostId, f64)>> = BTreeMap::new();
    for (&(from, to), &weight) in weights.iter().filter(|(_, weight)| **weight > 0.0) {
        let row = rows.entry(from).or_default();
        let before = row.last().map_or(0.0, |(_, sum)| *sum);
        row.push((to, before + weight));
    }
    rows.into_iter().map(|(from, row)| (from, row.into())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_net::topology::{Graph, LeafSpine};

    fn graph() -> Graph {
        LeafSpine { leaves: 2, spines: 1, hosts_per_leaf: 2, ..LeafSpine::default() }.build().unwrap()
    }

    /// A sender, and its receivers with the sums of weights.
    type Shown = (u32, Vec<(u32, f64)>);

    fn read(text: &str) -> Result<Vec<Shown>, String> {
        let graph = graph();
        let matrix = parse(text, "m.csv", &Index::new(graph.clone().into())).map_err(|e| e.to_string())?;
        let row = |row: &Arc<[(HostId, f64)]>| row.iter().map(|(to, sum)| (to.0, *sum)).collect();
        Ok(matrix.iter().map(|(from, to)| (from.0, row(to))).collect())
    }

    #[test]
    fn sets_are_pairs_of_each_with_each_and_weights_of_a_pair_are_added() {
        let got = read("src,dst,weight\n# a remark\nat leaf0,all,1\nh0,3,2.5\n2,h0,0\n").unwrap();
        assert_eq!(got, [(0, vec![(1, 1.0), (2, 2.0), (3, 5.5)]), (1, vec![(0, 1.0), (2, 2.0), (3, 3.0)])]);
    }

    #[test]
    fn what_is_refused() {
        for (text, reason) in [
            ("h0,h1,1\n", "m.csv:1: the first line does not name the columns of a matrix"),
            ("src,dst,weight\nh0,h9,1\n", "m.csv:2: dst: there is no host `h9`"),
            ("src,dst,weight\nh0,h1,-1\n", "m.csv:2: weight: is not a weight"),
            ("src,dst,weight\nh0,h1,nan\n", "m.csv:2: weight: is not a weight"),
            ("src,dst,weight\nh0,h1\n", "m.csv:2: CSV error"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(reason), "{error}");
        }
    }
}
