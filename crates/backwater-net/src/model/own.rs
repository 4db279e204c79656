//! Tables of nodes, ports and flows, of which a part holds only its own.

use backwater_engine::State;
use backwater_engine::state::{Loader, Saver, Unfit};
use std::ops::{Index, IndexMut, Range};

/// Entries by their numbers in the whole network. A network that is not split holds all of them; a part holds some. To look up another one
/// is a fault of the caller.
#[derive(serde::Serialize, serde::Deserialize)]
pub(crate) struct Own<T> {
    list: Vec<T>,
    /// True in a part. Only a network that is not split is saved.
    #[serde(skip)]
    is_part: bool,
    /// In a part: by number, the place in `list`, or [`ELSEWHERE`].
    #[serde(skip)]
    places: Vec<u32>,
    /// In a part: places that are free.
    #[serde(skip)]
    free: Vec<u32>,
}

impl<T> Default for Own<T> {
    fn default() -> Own<T> {
        Own::all(Vec::new())
    }
}

const ELSEWHERE: u32 = u32::MAX;

impl<T> Own<T> {
    /// All entries of a network.
    pub fn all(list: Vec<T>) -> Own<T> {
        Own { list, is_part: false, places: Vec::new(), free: Vec::new() }
    }

    /// The entries of a part, by ascending number, of `all` in the network.
    pub fn some(own: Vec<(u32, T)>, all: usize) -> Own<T> {
        let mut places = vec![ELSEWHERE; all];
        (0u32..).zip(&own).for_each(|(place, (number, _))| places[*number as usize] = place);
        Own { list: own.into_iter().map(|(_, entry)| entry).collect(), is_part: true, places, free: Vec::new() }
    }

    /// Becomes the table of a part. It is empty.
    pub fn split(&mut self) {
        self.is_part = true;
    }

    /// Sets an entry, which may be a new one behind all others. `None`: it is not here (any more); only a part has such entries.
    pub fn put(&mut self, number: usize, entry: Option<T>) {
        if !self.is_part {
            match (self.list.get_mut(number), entry) {
                (Some(old), Some(new)) => *old = new,
                (None, Some(new)) => self.list.push(new),
                (_, None) => {}
            }
            return;
        }
        if number == self.places.len() {
            self.places.push(ELSEWHERE);
        }
        let place = &mut self.places[number];
        match entry {
            Some(entry) if *place != ELSEWHERE => self.list[*place as usize] = entry,
            Some(entry) => match self.free.pop() {
                Some(free) => {
                    *place = free;
                    self.list[free as usize] = entry;
                }
                None => {
                    *place = self.list.len() as u32;
                    self.list.push(entry);
                }
            },
            None if *place != ELSEWHERE => self.free.push(std::mem::replace(place, ELSEWHERE)),
            None => {}
        }
    }

    #[inline(always)]
    fn place(&self, number: usize) -> usize {
        if !self.is_part { number } else { self.places[number] as usize }
    }

    /// The entry of this number, if it is here.
    #[inline(always)]
    pub fn get(&self, number: usize) -> Option<&T> {
        if !self.is_part { self.list.get(number) } else { self.list.get(*self.places.get(number)? as usize) }
    }

    /// The entries of these numbers, which belong to one node.
    #[inline(always)]
    pub fn of_node(&mut self, numbers: Range<u32>) -> &mut [T] {
        let first = if numbers.is_empty() { 0 } else { self.place(numbers.start as usize) };
        &mut self.list[first..][..numbers.len()]
    }

    /// The same, to be read.
    pub fn at_node(&self, numbers: Range<u32>) -> &[T] {
        let first = if numbers.is_empty() { 0 } else { self.place(numbers.start as usize) };
        &self.list[first..][..numbers.len()]
    }

    /// Number of entries in the whole network.
    pub fn len(&self) -> usize {
        if !self.is_part { self.list.len() } else { self.places.len() }
    }

    /// The entries that are here.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.list.iter()
    }

    /// The same, to be changed.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.list.iter_mut()
    }
}

impl<T> Index<usize> for Own<T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, number: usize) -> &T {
        &self.list[self.place(number)]
    }
}

impl<T> IndexMut<usize> for Own<T> {
    #[inline(always)]
    fn index_mut(&mut self, number: usize) -> &mut T {
        let place = self.place(number);
        &mut self.list[place]
    }
}

/// Only a network that is not split is saved.
impl<T: State> State for Own<T> {
    fn save(&self, to: &mut Saver) {
        self.list.save(to);
    }

    fn load(&mut self, from: &mut Loader<'_>) -> Result<(), Unfit> {
        self.list.load(from)
    }
}
