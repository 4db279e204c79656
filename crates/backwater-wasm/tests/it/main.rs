//! Tests requests and answers natively. The browser's side is tests/python/house/test_playground.py.

use backwater::Scenario;
use backwater_wasm::{Run, answer};
use serde_json::{Value, json};
use std::path::Path;

/// Two hosts send to a third. Each gets half of its link, and the switch queues the excess.
const STAR: &str = r#"
[topology]
kind = "star"
hosts = 3
rate = "100 Gb/s"
link_delay = "150 ns"

[switch]
buffer = "4 MB"

[[flow]]
label = "incast"
from = ["h0", "h1"]
to = "h2"
size = "1 MB"
"#;

fn run(extra: &Value) -> Value {
    let mut run: Option<Run> = None;
    let mut request = json!({ "do": "start", "text": STAR });
    for (key, value) in extra.as_object().into_iter().flatten() {
        request[key] = value.clone();
    }
    let begun = answer(&request, &mut run);
    assert!(begun.get("error").is_none(), "{begun}");
    while answer(&json!({ "do": "advance", "events": 1000 }), &mut run)["done"] != true {}
    answer(&json!({ "do": "finish" }), &mut run)
}

#[test]
fn samples_change_no_fingerprint_and_see_the_queue() {
    let plain = run(&json!({}));
    let interval = 2_000_000_u64;
    let filmed = run(&json!({ "pictures": true, "interval_ps": interval, "flow_rates": true }));
    assert_eq!(plain["fingerprint"], filmed["fingerprint"]);
    assert_eq!(plain["pictures"], Value::Null);
    let group = &plain["groups"][0];
    assert_eq!((group["group"].as_str(), group["flows"].as_u64()), (Some("incast"), Some(2)));
    // 2 MB over one link of 100 Gb/s take 160 us, and headers some more.
    let longest = group["max_ps"].as_u64().unwrap();
    assert!((160_000_000..180_000_000).contains(&longest), "{longest}");
    // Two links feed one: half of the arrived bytes wait when both senders are done, at about 80 us.
    let ports = filmed["pictures"]["ports"].as_array().unwrap();
    let greatest = |series: &str| {
        let of = |port: &Value| {
            port[series].as_array().unwrap().chunks(2).map(|pair| pair[1].as_u64().unwrap()).max().unwrap_or(0)
        };
        ports
            .iter()
            .filter(|port| filmed["fabric"]["nodes"][port["node"].as_u64().unwrap() as usize][2] == false)
            .map(of)
            .max()
            .unwrap()
    };
    assert!((800_000..1_100_000).contains(&greatest("waiting")), "{}", greatest("waiting"));
    // No port sends more in an interval than its rate allows.
    assert!(greatest("sent") <= 100 * interval / 8000 + 5000, "{}", greatest("sent"));
    assert_eq!(filmed["fabric"]["nodes"].as_array().unwrap().len(), 4);
    assert_eq!(filmed["pictures"]["flows"].as_array().unwrap().len(), 2);
}

#[test]
fn errors_are_the_cores() {
    let text = STAR.replace("4 MB", "4 MBx");
    let got = answer(&json!({ "do": "check", "text": text, "origin": "net.toml" }), &mut None);
    let error =
        Scenario::from_text(&text, "net.toml", Path::new(".")).and_then(|one| one.check().map(drop)).unwrap_err();
    assert_eq!(got["error"]["message"], error.to_string());
    assert_eq!(got["error"]["line"], 9);
    assert_eq!(got["error"]["hint"].as_str(), error.hint.as_deref());
}

#[test]
fn what_is_no_request_is_said() {
    for (request, reason) in [
        (json!({ "do": "dance" }), "`dance` is no request"),
        (json!({ "do": "advance" }), "no run was begun"),
        (json!({ "do": "finish" }), "no run was begun"),
    ] {
        assert_eq!(answer(&request, &mut None)["error"]["message"], reason);
    }
}
