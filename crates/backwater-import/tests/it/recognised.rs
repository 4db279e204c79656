//! Each file is of one kind.

use crate::{FIXTURES, fixture};
use backwater_import::registry::recognise;
use backwater_import::{Options, Source};

#[test]
fn each_fixture_is_of_its_kind() {
    for (path, kind) in FIXTURES {
        let found = recognise(&Source::octets(*path, fixture(path))).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(found.map(|(_, kind)| kind.name), Some(*kind), "{path}");
    }
}

#[test]
fn what_is_of_no_kind_is_refused() {
    for text in ["", "title = \"a scenario\"\n[topology]\nkind = \"star\"\n", "hello\n", "\0\0\0", "1 2 3\n"] {
        let error = crate::imported(&[("it", text)], &Options::default()).unwrap_err();
        assert!(error.reason.contains("of no kind"), "{text:?}: {error}");
    }
    let options = Options { format: Some("htsin".into()), ..Options::default() };
    let error = crate::imported(&[("it", "Nodes 1\n")], &options).unwrap_err();
    assert!(error.to_string().contains("--format htsin: there is no such format"), "{error}");
}

/// Some editors put a byte order mark at the beginning of a text.
#[test]
fn a_mark_before_a_text_is_none_of_it() {
    for path in ["htsim/one.cm", "nccl/ndv5-topo.xml", "goal/mixed.goal", "hpcc/topology.txt"] {
        let text = fixture(path);
        let marked = [&b"\xef\xbb\xbf"[..], &text].concat();
        let [plain, marked] = [text, marked].map(|octets| Source::octets(path, octets));
        let kind = |source: &Source| recognise(source).unwrap().map(|(_, kind)| kind.name);
        assert!(kind(&plain).is_some(), "{path}");
        assert_eq!(kind(&marked), kind(&plain), "{path}");
        assert_eq!(marked.read().unwrap(), plain.read().unwrap(), "{path}");
    }
    assert_eq!(Source::octets("short", &b"\xef\xbb"[..]).read().unwrap(), b"\xef\xbb");
}
