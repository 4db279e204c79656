//! Tables of nodes and ports, of which a part holds only its own.

use backwater_engine::State;
use backwater_engine::state::{Loader, Saver, Unfit};
use std::ops::{Index, IndexMut, Range};

/// Entries by their numbers in the whole network. A network that is not split holds all of them; a part holds some, in order. To look up
/// another one is a fault of the caller.
pub(crate) struct Own<T> {
    list: Vec<T>,
    /// In a part: by number, the place in `list`, or [`ELSEWHERE`].
    places: Vec<u32>,
}

const ELSEWHERE: u32 = u32::MAX;

impl<T> Own<T> {
    /// All entries of a network.
    pub fn all(list: Vec<T>) -> Own<T> {
        Own { list, places: Vec::new() }
    }

    /// The entries of a part, by ascending number, of `all` in the network.
    pub fn some(own: Vec<(u32, T)>, all: usize) -> Own<T> {
        let mut places = vec![ELSEWHERE; all];
        (0u32..).zip(&own).for_each(|(place, (number, _))| places[*number as usize] = place);
        Own { list: own.into_iter().map(|(_, entry)| entry).collect(), places }
    }

    #[inline(always)]
    fn place(&self, number: usize) -> usize {
        if self.places.is_empty() { number } else { self.places[number] as usize }
    }

    /// The entry of this number, if it is here.
    #[inline(always)]
    pub fn get(&self, number: usize) -> Option<&T> {
        if self.places.is_empty() { self.list.get(number) } else { self.list.get(*self.places.get(number)? as usize) }
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
        if self.places.is_empty() { self.list.len() } else { self.places.len() }
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
