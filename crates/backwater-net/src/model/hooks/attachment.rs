//! Data that packets carry for a mechanism beside their headers, such as in-band telemetry, and data of some acknowledgements.
//!
//! Both are stored beside the packets, by the packets' places. A packet without an attachment costs nothing. A packet that ends removes
//! nothing: the entry at its place still has the identity of the old packet, and no later packet has the same identity.

use crate::model::slab::Ix;

/// Words of an attachment: 128 octets hold five hops of three words each, and one more.
pub const WORDS: usize = 16;

/// The data that one packet carries for the mechanism that attaches it. Its octets on the wire are declared elsewhere
/// ([`crate::model::hooks::Profile::overhead`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Attachment(pub [u64; WORDS]);

/// Data of one kind that packets in flight carry, such as their attachments.
#[derive(serde::Serialize, serde::Deserialize)]
pub(crate) struct Carried<T> {
    /// By the packet's place, with the packet's identity.
    of: Vec<Option<(u64, T)>>,
}

impl<T> Default for Carried<T> {
    fn default() -> Carried<T> {
        Carried { of: Vec::new() }
    }
}

impl<T: Copy> Carried<T> {
    /// Attaches data to the packet at `ix`, whose identity is `uid`.
    pub fn put(&mut self, ix: Ix, uid: u64, carried: T) {
        let at = ix as usize;
        if self.of.len() <= at {
            self.of.resize(at + 1, None);
        }
        self.of[at] = Some((uid, carried));
    }

    /// Returns the data of the packet at `ix`, if it carries any.
    pub fn get_mut(&mut self, ix: Ix, uid: u64) -> Option<&mut T> {
        let (of, carried) = self.of.get_mut(ix as usize)?.as_mut()?;
        (*of == uid).then_some(carried)
    }

    /// Removes and returns it.
    pub fn take(&mut self, ix: Ix, uid: u64) -> Option<T> {
        let at = self.of.get_mut(ix as usize)?;
        let (_, carried) = at.take_if(|(of, _)| *of == uid)?;
        Some(carried)
    }

    /// Returns a copy of it.
    pub fn get(&self, ix: Ix, uid: u64) -> Option<T> {
        let (of, carried) = self.of.get(ix as usize)?.as_ref()?;
        (*of == uid).then_some(*carried)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A place is reused when its packet has gone, whatever happened to it: the old packet's data is not found any more.
    #[test]
    fn what_a_packet_carried_goes_with_it() {
        let mut all = Carried::default();
        assert_eq!(all.get(3, 0), None, "nothing is there that was never put");
        all.put(3, 70, Attachment([1; WORDS]));
        assert_eq!(all.get(3, 70), Some(Attachment([1; WORDS])));
        assert_eq!((all.get(3, 71), all.get(2, 70), all.get(9, 70)), (None, None, None));
        if let Some(carried) = all.get_mut(3, 70) {
            carried.0[0] = 5;
        }
        assert_eq!(all.get(3, 70).map(|carried| carried.0[..2].to_vec()), Some(vec![5, 1]));
        all.put(3, 71, Attachment::default());
        assert_eq!((all.get(3, 70), all.get(3, 71)), (None, Some(Attachment::default())));
    }
}
