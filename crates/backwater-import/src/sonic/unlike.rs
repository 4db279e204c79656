//! Differences between ports: a scenario has one setting for a switch, so ports with another one are named.

use super::ports::Port;
use crate::note::NAMES;
use std::collections::BTreeMap;

/// The number of each port by its name.
pub fn numbers(ports: &[Port]) -> BTreeMap<&str, usize> {
    ports.iter().map(|port| port.name.as_str()).zip(0..).collect()
}

/// Names; for more than [`NAMES`] the first, and the number of the others: `Ethernet0, Ethernet4 and 5 more`.
pub fn names(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [all @ .., last] if names.len() <= NAMES => format!("{} and {last}", all.join(", ")),
        _ => format!(
            "{} and {} more",
            names.iter().take(NAMES).copied().collect::<Vec<_>>().join(", "),
            names.len() - NAMES
        ),
    }
}

/// A number of things: `1 port`, `2 ports`.
pub fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// A few names of ports, and their number.
pub fn of_all(ports: &[&str], all: usize) -> String {
    format!("{} ({} of {})", names(ports), ports.len(), count(all, "port"))
}

/// The values of a setting, by port.
pub struct Setting<'a, T> {
    /// By port.
    pub has: Vec<Option<T>>,
    ports: &'a [Port],
}

impl<'a, T: Clone + PartialEq> Setting<'a, T> {
    /// No port has it.
    pub fn new(ports: &'a [Port]) -> Setting<'a, T> {
        Setting { has: vec![None; ports.len()], ports }
    }

    /// A port has this value.
    pub fn set(&mut self, number: usize, value: T) {
        if let Some(has) = self.has.get_mut(number) {
            *has = Some(value);
        }
    }

    /// The first port with a value, and the value.
    pub fn first(&self) -> Option<(&'a str, &T)> {
        self.ports.iter().zip(&self.has).find_map(|(port, has)| Some((port.name.as_str(), has.as_ref()?)))
    }

    /// Returns which ports have the same value as the first.
    pub fn like_first(&self) -> Vec<bool> {
        let first = self.first().map(|(_, value)| value);
        self.has.iter().map(|has| has.is_some() && has.as_ref() == first).collect()
    }

    /// Ports without a value, if others have one.
    pub fn lacking(&self) -> Vec<&'a str> {
        match self.first() {
            Some(_) => self.named(|has| has.is_none()),
            None => Vec::new(),
        }
    }

    /// Returns the values that differ from the first, each with its ports.
    pub fn others(&self) -> Vec<(&T, Vec<&'a str>)> {
        let first = self.first().map(|(_, value)| value);
        let mut others: Vec<&T> = Vec::new();
        for value in self.has.iter().flatten().filter(|value| Some(*value) != first) {
            if !others.contains(&value) {
                others.push(value);
            }
        }
        others.into_iter().map(|value| (value, self.named(|has| has.as_ref() == Some(value)))).collect()
    }

    fn named(&self, is: impl Fn(&Option<T>) -> bool) -> Vec<&'a str> {
        self.ports.iter().zip(&self.has).filter(|(_, has)| is(has)).map(|(port, _)| port.name.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_names_are_said_as_a_text_has() {
        let reported = |count: usize| names(&["a", "b", "c", "d", "e"][..count]);
        assert_eq!(
            (1..=5).map(reported).collect::<Vec<_>>(),
            ["a", "a and b", "a, b and c", "a, b, c and d", "a, b, c, d and e"]
        );
        let many = vec!["a"; NAMES + 2];
        assert!(names(&many[..NAMES]).ends_with("a, a and a"));
        assert!(names(&many).ends_with("a, a and 2 more"));
        assert_eq!(of_all(&["a", "b"], 7), "a and b (2 of 7 ports)");
        assert_eq!(of_all(&["a"], 1), "a (1 of 1 port)");
    }
}
