//! What packets carry for a mechanism beside their headers, such as in-band telemetry, and what some acknowledgements say beside theirs.
//!
//! Both lie beside the packets, by the packets' places. A packet without one pays nothing, and one that ends takes nothing back:
//! what is left in its place has the identity of a packet that is gone, and no packet that comes there has the same.

use crate::model::slab::Ix;

/// Words of an attachment: 128 octets, which hold the three words of a hop for five hops, and one more.
pub const WORDS: usize = 16;

/// What one packet carries for the mechanism that attaches it. Its octets on the wire are another matter
/// ([`crate::model::hooks::Profile::overhead`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Attachment(pub [u64; WORDS]);

/// What packets in flight carry of one kind, such as their attachments.
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
    /// The packet at `ix`, whose identity is `uid`, sets out with this.
    pub fn put(&mut self, ix: Ix, uid: u64, carried: T) {
        let at = ix as usize;
        if self.of.len() <= at {
            self.of.resize(at + 1, None);
        }
        self.of[at] = Some((uid, carried));
    }

    /// What the packet at `ix` carries, if it carries something.
    pub fn get_mut(&mut self, ix: Ix, uid: u64) -> Option<&mut T> {
        let (of, carried) = self.of.get_mut(ix as usize)?.as_mut()?;
        (*of == uid).then_some(carried)
    }

    /// Takes it from there.
    pub fn take(&mut self, ix: Ix, uid: u64) -> Option<T> {
        let at = self.of.get_mut(ix as usize)?;
        let (_, carried) = at.take_if(|(of, _)| *of == uid)?;
        Some(carried)
    }

    /// A copy of that.
    pub fn get(&self, ix: Ix, uid: u64) -> Option<T> {
        let (of, carried) = self.of.get(ix as usize)?.as_ref()?;
        (*of == uid).then_some(*carried)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A place is given to another packet when the one before has gone, by whatever way: what that one carried is not found any more.
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
