//! State that is saved and loaded: a resumed run has the state of the saved one.
//!
//! A model is built from its parameters as always; [`State::load`] then restores the saved state. What follows from parameters is never
//! saved, so a run that is resumed with other parameters uses these from then on. `#[derive(State)]` of `backwater-derive` writes both
//! directions from one list of fields.
//!
//! Values are encoded by serde in the format of `postcard`: no field names, numbers by their size. Only the build that saved a state can
//! read it.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::TypeId;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::{BuildHasher, Hash};

/// Something with state.
pub trait State {
    /// Saves the changes since it was built.
    fn save(&self, to: &mut Saver);

    /// Restores the state of a value that was built in the same way.
    ///
    /// # Errors
    /// The saved state does not fit. `self` is then in an undefined state.
    fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Unfit>;
}

/// Why a state cannot be saved or loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    /// The part of the state that does not fit.
    pub place: String,
    /// The reason.
    pub reason: String,
}

impl Unfit {
    /// An error for a part that is not named yet.
    pub fn new(reason: impl Into<String>) -> Unfit {
        Unfit { place: String::new(), reason: reason.into() }
    }

    /// Adds the name of the enclosing part.
    #[must_use]
    pub fn within(self, place: &str) -> Unfit {
        let inner = if self.place.is_empty() { String::new() } else { format!(" {}", self.place) };
        Unfit { place: format!("{place}{inner}"), ..self }
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.is_empty() { f.write_str(&self.reason) } else { write!(f, "{}: {}", self.place, self.reason) }
    }
}

/// Collects state that is saved.
pub struct Saver {
    octets: Vec<u8>,
    types: Vec<TypeId>,
    wrong: Option<Unfit>,
}

impl Saver {
    /// An empty saver. Values may refer to these types by their numbers.
    pub fn new(types: Vec<TypeId>) -> Saver {
        Saver { octets: Vec::new(), types, wrong: None }
    }

    /// Saves a value.
    pub fn put<T: Serialize + ?Sized>(&mut self, value: &T) {
        let octets = std::mem::take(&mut self.octets);
        match postcard::to_extend(value, octets) {
            Ok(octets) => self.octets = octets,
            Err(error) => self.fail(Unfit::new(format!("it cannot be encoded: {error}"))),
        }
    }

    /// Saves the type of a value.
    pub fn put_type(&mut self, of: TypeId, what: &str) {
        match self.types.iter().position(|one| *one == of) {
            Some(number) => self.put(&number),
            None => self.fail(Unfit::new(format!("nobody has declared the type of {what}"))),
        }
    }

    /// Records that the state cannot be saved. The first reason is kept.
    pub fn fail(&mut self, why: Unfit) {
        self.wrong.get_or_insert(why);
    }

    /// All that was saved.
    ///
    /// # Errors
    /// The first reason why something could not be saved.
    pub fn finish(self) -> Result<Vec<u8>, Unfit> {
        self.wrong.map_or(Ok(self.octets), Err)
    }
}

/// Returns saved state, in the same order.
pub struct Loader<'a> {
    rest: &'a [u8],
    types: Vec<TypeId>,
}

impl<'a> Loader<'a> {
    /// A loader for the output of a [`Saver`] with the same types.
    pub fn new(octets: &'a [u8], types: Vec<TypeId>) -> Loader<'a> {
        Loader { rest: octets, types }
    }

    /// Loads a value.
    ///
    /// # Errors
    /// No value of this type comes next.
    pub fn take<T: DeserializeOwned>(&mut self) -> Result<T, Unfit> {
        let (value, rest) = postcard::take_from_bytes(self.rest)
            .map_err(|error| Unfit::new(format!("it cannot be decoded: {error}")))?;
        self.rest = rest;
        Ok(value)
    }

    /// Loads the type of a value.
    ///
    /// # Errors
    /// If there is no such type.
    pub fn take_type(&mut self) -> Result<TypeId, Unfit> {
        let number: usize = self.take()?;
        self.types.get(number).copied().ok_or_else(|| Unfit::new(format!("there is no type of number {number}")))
    }

    /// Ends loading.
    ///
    /// # Errors
    /// Something is left.
    pub fn finish(self) -> Result<(), Unfit> {
        if self.rest.is_empty() { Ok(()) } else { Err(Unfit::new(format!("{} B are left over", self.rest.len()))) }
    }
}

/// Saves a map in the order of its keys: a file is then the same whenever it is written.
pub fn save_sorted<K: Ord + Serialize, V: Serialize, S>(map: &HashMap<K, V, S>, to: &mut Saver) {
    to.put(&map.iter().collect::<BTreeMap<_, _>>());
}

/// Loads what [`save_sorted`] has saved.
///
/// # Errors
/// The saved value is no such map.
pub fn load_sorted<K, V, S>(map: &mut HashMap<K, V, S>, from: &mut Loader<'_>) -> Result<(), Unfit>
where
    K: Eq + Hash + Ord + DeserializeOwned,
    V: DeserializeOwned,
    S: BuildHasher + Default,
{
    *map = from.take::<BTreeMap<K, V>>()?.into_iter().collect();
    Ok(())
}

/// Loads a value that must be unchanged, since the rest of the saved state would not fit to another one.
///
/// # Errors
/// The value is another one.
pub fn load_same<T: PartialEq + DeserializeOwned>(own: &T, from: &mut Loader<'_>) -> Result<(), Unfit> {
    if from.take::<T>()? == *own { Ok(()) } else { Err(Unfit::new("this cannot change while a run is under way")) }
}

/// Checks that the number of entries is unchanged: it follows from parameters.
fn same_number(own: usize, from: &mut Loader<'_>) -> Result<(), Unfit> {
    let saved: usize = from.take()?;
    if saved == own { Ok(()) } else { Err(Unfit::new(format!("it has {own} entries, and {saved} were saved"))) }
}

impl<T: State> State for [T] {
    fn save(&self, to: &mut Saver) {
        to.put(&self.len());
        self.iter().for_each(|one| one.save(to));
    }

    fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Unfit> {
        same_number(self.len(), from)?;
        self.iter_mut().try_for_each(|one| one.load(from))
    }
}

impl<T: State> State for Vec<T> {
    fn save(&self, to: &mut Saver) {
        self[..].save(to);
    }

    fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Unfit> {
        self[..].load(from)
    }
}

impl<T: State> State for Option<T> {
    fn save(&self, to: &mut Saver) {
        to.put(&self.is_some());
        self.iter().for_each(|one| one.save(to));
    }

    fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Unfit> {
        let saved: bool = from.take()?;
        match self {
            Some(one) if saved => one.load(from),
            None if !saved => Ok(()),
            Some(_) => Err(Unfit::new("it is there, and was not when the state was saved")),
            None => Err(Unfit::new("it is not there, and was when the state was saved")),
        }
    }
}

impl<T: State + ?Sized> State for Box<T> {
    fn save(&self, to: &mut Saver) {
        (**self).save(to);
    }

    fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Unfit> {
        (**self).load(from)
    }
}

impl State for () {
    fn save(&self, _: &mut Saver) {}

    fn load(&mut self, _: &mut Loader<'_>) -> Result<(), Unfit> {
        Ok(())
    }
}

/// A text of the program. Under this name a derived `Deserialize` does not borrow it from the input.
pub type Text = &'static str;

/// Saves texts of the program. Each is kept once for the rest of the process when it is loaded; their number is bounded by the program.
pub mod text {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::collections::BTreeSet;
    use std::sync::{Mutex, PoisonError};

    static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

    /// Serialises it.
    ///
    /// # Errors
    /// Those of the serialiser.
    pub fn serialize<S: Serializer>(text: &&'static str, to: S) -> Result<S::Ok, S::Error> {
        text.serialize(to)
    }

    /// Deserialises it.
    ///
    /// # Errors
    /// Those of the deserialiser.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<&'static str, D::Error> {
        let text = String::deserialize(from)?;
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(text.as_str()) {
            return Ok(known);
        }
        let kept: &'static str = Box::leak(text.into_boxed_str());
        known.insert(kept);
        Ok(kept)
    }
}

/// Shared texts, as they are saved: each by itself.
pub mod shared_text {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::sync::Arc;

    /// Serialises it.
    ///
    /// # Errors
    /// Those of the serialiser.
    pub fn serialize<S: Serializer>(text: &Arc<str>, to: S) -> Result<S::Ok, S::Error> {
        (**text).serialize(to)
    }

    /// Deserialises it.
    ///
    /// # Errors
    /// Those of the deserialiser.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<str>, D::Error> {
        String::deserialize(from).map(Arc::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Default, Debug, PartialEq)]
    struct Counter {
        limit: u64,
        count: u64,
    }

    impl State for Counter {
        fn save(&self, to: &mut Saver) {
            to.put(&self.count);
        }

        fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Unfit> {
            self.count = from.take()?;
            Ok(())
        }
    }

    fn saved<T: State>(of: &T) -> Vec<u8> {
        let mut to = Saver::new(Vec::new());
        of.save(&mut to);
        to.finish().unwrap()
    }

    fn loaded<T: State>(of: &mut T, octets: &[u8]) -> Result<(), Unfit> {
        let mut from = Loader::new(octets, Vec::new());
        of.load(&mut from)?;
        from.finish()
    }

    /// Loading leaves what follows from parameters as it was.
    #[test]
    fn a_state_comes_over_what_was_built() {
        let before = vec![Some(Counter { limit: 5, count: 3 }), None];
        let mut after = vec![Some(Counter { limit: 9, count: 0 }), None];
        loaded(&mut after, &saved(&before)).unwrap();
        assert_eq!(after, [Some(Counter { limit: 9, count: 3 }), None]);
    }

    #[test]
    fn another_shape_is_refused() {
        let octets = saved(&vec![Some(Counter::default()), None]);
        let refused = |mut into: Vec<Option<Counter>>| loaded(&mut into, &octets).unwrap_err().reason;
        assert_eq!(refused(vec![None]), "it has 1 entries, and 2 were saved");
        assert!(refused(vec![None, None]).starts_with("it is not there"));
        assert!(refused(vec![Some(Counter::default()), Some(Counter::default())]).starts_with("it is there"));
        assert!(loaded(&mut vec![Some(Counter::default()), None], &octets[..1]).is_err(), "it is cut off");
        assert_eq!(loaded(&mut (), &octets).unwrap_err().reason, "4 B are left over");
    }

    #[test]
    fn types_and_texts_come_back() {
        #[derive(Serialize, Deserialize)]
        struct Named(#[serde(with = "text")] Text);
        let types = vec![TypeId::of::<u8>(), TypeId::of::<u16>()];
        let mut to = Saver::new(types.clone());
        to.put(&Named("cnp"));
        to.put_type(TypeId::of::<u16>(), "a message");
        let octets = to.finish().unwrap();
        let mut from = Loader::new(&octets, types);
        let Named(name) = from.take().unwrap();
        assert_eq!((name, from.take_type()), ("cnp", Ok(TypeId::of::<u16>())));
        let mut to = Saver::new(Vec::new());
        to.put_type(TypeId::of::<u16>(), "a message");
        assert_eq!(to.finish().unwrap_err().reason, "nobody has declared the type of a message");
    }
}
