use super::*;
use backwater_derive::parameters;
use schemars::generate::SchemaSettings;
use serde_json::json;

/// A table with a parameter of each form.
#[parameters]
#[derive(Clone, Debug)]
struct Table {
    /// A length.
    #[param(symbol = "K", default = Bytes(5_000), range = Bytes::ZERO..=most, source = "a paper", why = "it would end before it begins")]
    least: Bytes,
    /// Another.
    #[param(default = Bytes(200_000), range = least.., up_to = "the buffer", source = "a paper", alias = "kmax")]
    most: Bytes,
    /// A gain.
    #[param(default = 0.5, range = >0.0..=1.0, source = "choice")]
    gain: f64,
    /// A share.
    #[param(default = Some(0.25), range = 0.0..1.0, source = "choice")]
    share: Option<f64>,
    /// Classes.
    #[param(default = vec![3], each = 0..=7, source = "choice", why = "there is no such class")]
    classes: Vec<u8>,
    /// A time. Absent: none; of course.
    #[param(range = Time(1).., source = "choice")]
    timer: Option<Time>,
    /// A number.
    #[param(default = 7, range = 1.., unit = "quanta", range_text = "1 to what is known later", source = "choice")]
    quanta: u16,
}

fn reasons(change: impl FnOnce(&mut Table)) -> Vec<(&'static str, String, String)> {
    let mut table = Table::default();
    change(&mut table);
    table.out_of_range().into_iter().map(|f| (f.key, f.reason, f.hint)).collect()
}

fn reported(key: &'static str, reason: &str, hint: &str) -> Vec<(&'static str, String, String)> {
    vec![(key, reason.into(), hint.into())]
}

#[test]
fn defaults_are_within() {
    assert_eq!(reasons(|_| ()), []);
}

#[test]
fn bounds_belong_to_a_range_or_not() {
    assert_eq!(reasons(|t| (t.gain, t.share) = (1.0, Some(0.0))), []);
    assert_eq!(reasons(|t| t.gain = 0.0), reported("gain", "0 is not above 0", "above 0 to 1; the default is 0.5"));
    assert_eq!(reasons(|t| t.gain = 1.5), reported("gain", "1.5 is above 1", "above 0 to 1; the default is 0.5"));
    assert_eq!(
        reasons(|t| t.share = Some(1.0)),
        reported("share", "1 is not below 1", "0 to below 1; the default is 0.25")
    );
    assert_eq!(
        reasons(|t| t.share = Some(-0.1)),
        reported("share", "-0.1 is below 0", "0 to below 1; the default is 0.25")
    );
    assert_eq!(reasons(|t| t.share = None), []);
}

#[test]
fn what_is_no_number_is_in_no_range() {
    for value in [f64::NAN, f64::INFINITY] {
        assert_eq!(reasons(|t| t.gain = value)[0].1, format!("{value} is no finite number"));
    }
}

#[test]
fn a_bound_may_be_another_parameter() {
    assert_eq!(reasons(|t| t.least = t.most), []);
    let hint = "0 B to most (200 KB); the default is 5 KB";
    let reason = "least (200.001 KB) is above most (200 KB): it would end before it begins";
    assert_eq!(
        reasons(|t| t.least = Bytes(200_001)),
        reported("least", reason, hint),
        "once, though both name the other"
    );
}

#[test]
fn each_entry_and_each_given_value_is_looked_at() {
    let hint = "0 to 7; the default is 3";
    assert_eq!(
        reasons(|t| t.classes = vec![0, 9, 10]),
        reported("classes", "9 is above 7: there is no such class", hint)
    );
    assert_eq!(reasons(|t| t.classes = vec![]), []);
    assert_eq!(
        reasons(|t| t.timer = Some(Time::ZERO)),
        reported("timer", "0 s is below 1 ps", "1 ps and more: a time")
    );
}

#[test]
fn the_schema_says_what_is_declared() {
    let mut generator = SchemaSettings::draft2020_12().with(|s| s.inline_subschemas = true).into_generator();
    let schema = generator.root_schema_for::<Table>().to_value();
    let of = |key: &str, what: &str| schema.pointer(&format!("/properties/{key}/{what}")).cloned().unwrap_or_default();
    assert_eq!(schema["additionalProperties"], json!(false));
    assert_eq!(schema.get("required"), None);
    assert_eq!(of("least", "description"), json!("A length."));
    assert_eq!(of("least", "default"), json!("5 KB"));
    assert_eq!(of("least", "x-symbol"), json!("K"));
    assert_eq!(of("least", "x-source"), json!("a paper"));
    assert_eq!(of("least", "x-range"), json!("0 B to most"));
    assert_eq!(of("most", "x-range"), json!("least to the buffer"));
    assert_eq!(of("most", "x-alias"), json!("kmax"));
    assert_eq!((of("gain", "exclusiveMinimum"), of("gain", "maximum")), (json!(0.0), json!(1.0)));
    assert_eq!((of("share", "minimum"), of("share", "exclusiveMaximum")), (json!(0.0), json!(1.0)));
    assert_eq!((of("classes/items", "minimum"), of("classes/items", "maximum")), (json!(0), json!(7)));
    assert_eq!(of("classes", "x-range"), Json::Null);
    assert_eq!(of("timer", "default"), Json::Null);
    assert_eq!((of("quanta", "x-range"), of("quanta", "x-unit")), (json!("1 to what is known later"), json!("quanta")));
}

#[test]
fn what_is_not_given_is_the_default_and_unknown_keys_are_errors() {
    let read: Table = serde_json::from_value(json!({ "kmax": "1 MB", "timer": "2 us" })).unwrap();
    assert_eq!((read.least, read.most, read.timer), (Bytes(5_000), Bytes(1_000_000), Some(Time::us(2))));
    assert_eq!((read.gain, read.share, read.classes, read.quanta), (0.5, Some(0.25), vec![3], 7));
    assert!(serde_json::from_value::<Table>(json!({ "lest": "1 B" })).is_err());
}

/// A table that takes in the keys of another, and has tables of its own.
#[parameters]
#[derive(Clone, Debug)]
struct Outer {
    /// The keys of the other.
    #[serde(flatten)]
    table: Table,
    /// A number.
    #[param(default = 2, range = 1..=4, source = "choice")]
    number: u8,
    /// Tables, of which there are none unless they are given.
    #[serde(default)]
    inner: Vec<Table>,
}

#[test]
fn a_table_takes_in_the_keys_of_another() {
    let usual = Outer::default();
    assert_eq!((usual.table.quanta, usual.number, usual.inner.len()), (7, 2, 0));
    let read: Outer = serde_json::from_value(json!({ "quanta": 0, "number": 5, "inner": [{}] })).unwrap();
    assert_eq!((read.table.quanta, read.number, read.inner.len()), (0, 5, 1));
    let wrong: Vec<&str> = read.out_of_range().into_iter().map(|finding| finding.key).collect();
    assert_eq!(wrong, ["quanta", "number"], "each by its own declaration");
    let mut generator = SchemaSettings::draft2020_12().with(|s| s.inline_subschemas = true).into_generator();
    let schema = generator.root_schema_for::<Outer>().to_value();
    assert_eq!(schema.pointer("/properties/quanta/x-unit"), Some(&json!("quanta")));
    assert_eq!(schema.pointer("/properties/number/maximum"), Some(&json!(4)));
    assert_eq!(schema.pointer("/properties/inner/default"), Some(&json!([])));
}
