use super::*;
use proptest::prelude::*;

proptest! {
    /// Whatever the spacing, events leave in the order of a sorted list, even when new ones are pushed in between.
    #[test]
    fn pops_in_order(steps in prop::collection::vec((0u64..4, 0u64..1u64 << 34, any::<u64>()), 1..600), scale in 0u32..34) {
        let mut queue = EventQueue::new();
        let mut model: BinaryHeap<Reverse<(u64, u64)>> = BinaryHeap::new();
        let mut now = 0;
        for (pops, delay, order) in steps {
            let time = now + (delay >> scale);
            queue.push(Time(time), order, ());
            model.push(Reverse((time, order)));
            for _ in 0..pops.saturating_sub(1) {
                let got = queue.pop().map(|(t, o, ())| (t.0, o));
                prop_assert_eq!(got, model.pop().map(|Reverse(k)| k));
                now = got.map_or(now, |k| k.0);
            }
        }
        while let Some(Reverse(want)) = model.pop() {
            prop_assert_eq!(queue.pop().map(|(t, o, ())| (t.0, o)), Some(want));
        }
        prop_assert!(queue.is_empty() && queue.pop().is_none());
    }
}

/// A queue that is saved and loaded at any time continues like an undisturbed one, including equal events and the width of buckets.
#[test]
fn goes_on_where_it_was_saved() {
    for gap in [1u64, 7, 40_000, 900_000_000] {
        let mut queue = EventQueue::new();
        (0..400u64).for_each(|i| queue.push(Time(i / 4 * gap), 0, i));
        for n in 0..200_000u64 {
            if n % 19_997 == 0 {
                let mut to = Saver::new(Vec::new());
                queue.save(&mut to);
                let octets = to.finish().unwrap();
                let mut from = Loader::new(&octets, Vec::new());
                let mut loaded = EventQueue::new();
                loaded.push(Time(5), 5, 5);
                loaded.load(&mut from).unwrap();
                from.finish().unwrap();
                assert_eq!((loaded.len(), loaded.at_least()), (queue.len(), queue.at_least()));
                let mut both = [loaded, queue];
                for m in 0..900 {
                    let [a, b] = &mut both;
                    let (popped, other) = (a.pop().unwrap(), b.pop().unwrap());
                    assert_eq!(popped, other, "gap {gap}, event {m} after {n}");
                    let again = Time(popped.0.0 + (popped.2 % 3) * 100 * gap);
                    a.push(again, popped.1, popped.2);
                    b.push(again, popped.1, popped.2);
                }
                [queue, _] = both;
            }
            let (t, o, i) = queue.pop().unwrap();
            queue.push(Time(t.0 + 100 * gap), o, i);
        }
    }
}

/// Simultaneous events that exceed a batch keep their order, and the wheel keeps its reach: no event waits in the heap.
#[test]
fn keeps_events_in_step_in_the_wheel() {
    const IN_STEP: u64 = 500;
    let mut queue = EventQueue::new();
    for i in 0..IN_STEP {
        queue.push(Time(0), i, ());
    }
    let (mut last, mut far) = ((0, 0), 0);
    for n in 0..IN_STEP * 4_000 {
        let (t, o, ()) = queue.pop().unwrap();
        assert!((t.0, o) >= last);
        last = (t.0, o);
        // Some are due at once, among those of the same instant.
        let delay = if n % 7 == 0 { 0 } else { 81_280 };
        queue.push(Time(t.0 + delay), if delay == 0 { o } else { n % IN_STEP }, ());
        far += usize::from(!queue.far.is_empty());
    }
    assert_eq!(queue.len() as u64, IN_STEP);
    assert!(far < 400_000, "{far} of 2000000 times an event was in the heap");
}

/// The width adapts in both directions without losing or reordering an event.
#[test]
fn adapts_to_density() {
    for gap in [1u64, 7, 40_000, 900_000_000] {
        let mut queue = EventQueue::new();
        for i in 0..64 {
            queue.push(Time(i * gap), i, ());
        }
        let mut last = (0, 0);
        for n in 0..400_000u64 {
            let (t, o, ()) = queue.pop().unwrap();
            assert!((t.0, o) >= last, "gap {gap}");
            last = (t.0, o);
            queue.push(Time(t.0 + 64 * gap), 64 + n, ());
        }
        assert_eq!(queue.len(), 64);
    }
}

/// A wider bucket reaches events of the heap, too. Buckets of 2048 ps: at time 0 the bucket 4097 is beyond the wheel; when the bucket 4096
/// has been handled, buckets become 4096 ps wide, and the next one begins with what is in the heap.
#[test]
fn a_wider_bucket_reaches_the_heap() {
    let mut queue = EventQueue::new();
    let begin = |bucket: u64| bucket * 2048;
    queue.push(Time(0), 0, "first");
    queue.push(Time(begin(4097) + 100), 0, "far");
    queue.push(Time(begin(4000)), 0, "near");
    assert_eq!([queue.pop().unwrap().2, queue.pop().unwrap().2], ["first", "near"]);
    queue.push(Time(begin(4096)), 0, "before");
    queue.push(Time(begin(4097) + 500), 0, "in the wheel");
    assert_eq!((queue.pop().unwrap().2, queue.far.len()), ("before", 1));
    (queue.since_review, queue.far_pushes) = (REVIEW, REVIEW);
    assert_eq!([queue.pop().unwrap().2, queue.pop().unwrap().2], ["far", "in the wheel"]);
    assert_eq!(queue.shift, 12);
}
