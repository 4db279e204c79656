//! Tests imports of a SONiC switch whose chip is known: its scenario, and the predicted values of tests of hardware.

use crate::{fixture, imported};
use backwater_import::{ChipPreset, ImportError, Imported, Memory, Options};
use serde_json::{Value, json};

/// Chips of the simulator.
fn chips() -> Vec<ChipPreset> {
    macro_rules! chip {
        ($name:literal) => {
            ChipPreset { name: $name, toml: include_str!(concat!("../../../backwater/src/silicon/", $name, ".toml")) }
        };
    }
    vec![chip!("tomahawk"), chip!("tomahawk5"), chip!("trident3"), chip!("spectrum3"), chip!("jericho2c-plus")]
}

/// A switch of so many ports, with a pool and the profile that it looks up.
struct Switch {
    hwsku: &'static str,
    ports: u64,
    mbps: u64,
    metres: u64,
    pool: Value,
    /// size, xon, xoff, threshold and perhaps `xon_offset`.
    profile: &'static str,
}

impl Switch {
    fn import(&self, asic: Option<&str>) -> Result<(Imported, Memory), ImportError> {
        let ports: Vec<String> = (0..self.ports).map(|port| format!("Ethernet{port}")).collect();
        let each = |value: Value| Value::Object(ports.iter().map(|port| (port.clone(), value.clone())).collect());
        let database = json!({
            "DEVICE_METADATA": {"localhost": {"hwsku": self.hwsku}},
            "PORT": each(json!({"speed": self.mbps.to_string()})),
            "CABLE_LENGTH": {"AZURE": each(format!("{}m", self.metres).into())},
            "BUFFER_POOL": {"ingress_lossless_pool": self.pool},
            "PORT_QOS_MAP": {"global": {"pfc_enable": "3,4"}},
        });
        let lookup = format!("{} {}m {}\n", self.mbps, self.metres, self.profile);
        let options = Options { asic: asic.map(str::to_owned), chips: chips(), ..Options::default() };
        imported(&[("a.json", &database.to_string()), ("b.ini", &lookup)], &options)
    }
}

fn pool(size: u64, xoff: u64) -> Value {
    json!({"type": "ingress", "mode": "dynamic", "size": size.to_string(), "xoff": xoff.to_string()})
}

const HEADER: &str = "profile,rate_gbps,cable_m,first_pause_frames,first_drop_frames,pause_end_frames,pause_2_frames,pause_3_frames,\
                      pause_4_frames,scenario\n";

fn s6100() -> Switch {
    let (hwsku, profile) = ("Force10-S6100", "1248 2288 108160 0 2288");
    Switch { hwsku, ports: 64, mbps: 40_000, metres: 300, pool: pool(10_875_072, 4_194_112), profile }
}

/// The pool of Tomahawk has neither headroom nor reserves in it.
#[test]
fn a_chip_has_its_preset_and_shares_its_headroom() {
    let (result, place) = s6100().import(None).unwrap();
    for line in [
        "preset = \"tomahawk\"  # cells and slices; by Force10-S6100",
        // 10,875,072 + 4,194,112 + 64 x 2 x 1248, as in studies/silicon-2026.
        "buffer = \"15228928 B\"",
        "reserve = \"1248 B\"  # pg_lossless_40000_300m_profile: size",
        "reserve_classes = [3, 4]",
        "headroom = \"108160 B\"",
        "headroom_pool = \"4194112 B\"  # ingress_lossless_pool: xoff",
        "headroom_above = 1.0",
        "xon_offset = \"2288 B\"",
        "# Predicted for pg_lossless_40000_300m_profile at 40 Gb/s over 1.5 us: paused by frame 6542 of 64 B,",
    ] {
        assert!(result.scenario.contains(line), "{line} is missing in\n{}", result.scenario);
    }
    assert!(!result.scenario.contains("architecture"));
    let expected = "pg_lossless_40000_300m_profile,40,300,6542,7063,6,3274,1640,823,it.frames-1.toml\n";
    assert_eq!(place.text("it.predictions.csv"), format!("{HEADER}{expected}"));
    let trial: toml::Table = place.text("it.frames-1.toml").parse().unwrap();
    assert_eq!(trial["flow"].as_array().unwrap().len(), 4);
    // Four slices of five ports: 2,718,768 B to share, 1,048,528 B of headroom, 5 x 1248 B.
    assert_eq!(trial["switch"]["buffer"].as_str(), Some("15094144 B"));
}

/// A pool that has all of the memory: with it, headroom would exceed the chip's. Its other template has only what is shared.
#[test]
fn a_pool_may_have_headroom_and_reserves_in_it() {
    let profile = "18796 0 300990 0 3556";
    for size in [165_660_324, 121_964_196] {
        let (pool, hwsku) = (pool(size, 29_520_896), "Arista-7060X6-64PE-256x200G");
        let (result, place) =
            Switch { hwsku, ports: 256, mbps: 200_000, metres: 5, pool, profile }.import(None).unwrap();
        assert!(result.scenario.contains("buffer = \"161108644 B\""), "{}", result.scenario);
        let expected = "pg_lossless_200000_5m_profile,200,5,120118,121304,8,60096,30085,15079,it.frames-1.toml\n";
        assert_eq!(place.text("it.predictions.csv"), format!("{HEADER}{expected}"));
        let notes: Vec<String> = result.notes.iter().map(ToString::to_string).collect();
        let within = notes.iter().any(|note| note.contains("has headroom and what is guaranteed within it"));
        assert_eq!(within, size == 165_660_324, "{notes:#?}");
    }
    let profile = "4608 4608 160000 0 4608";
    let pool = pool(32_732_160, 1_622_016);
    let switch = Switch { hwsku: "Mine", ports: 32, mbps: 100_000, metres: 300, pool, profile };
    let (_, place) = switch.import(Some("trident3")).unwrap();
    let expected = "pg_lossless_100000_300m_profile,100,300,60204,60830,9,30111,15065,7541,it.frames-1.toml\n";
    assert_eq!(place.text("it.predictions.csv"), format!("{HEADER}{expected}"));
}

/// Without a chip nothing is predicted. Without `xon_offset` nobody knows where a pause ends.
#[test]
fn what_is_not_known_is_not_predicted() {
    let (result, place) = Switch { hwsku: "Mine", ..s6100() }.import(None).unwrap();
    assert!(!place.names().iter().any(|name| name.contains("predictions")), "{:?}", place.names());
    assert!(result.scenario.contains("architecture = \"shared-memory\""));
    let (_, place) = Switch { profile: "1248 2288 108160 0", ..s6100() }.import(None).unwrap();
    assert!(place.text("it.predictions.csv").contains(",6542,7063,,3274,"));
    let fixed = json!({"type": "ingress", "mode": "static", "size": "10875072", "xoff": "4194112"});
    let (result, place) = Switch { pool: fixed, profile: "1248 2288 108160 500000", ..s6100() }.import(None).unwrap();
    assert!(!place.names().iter().any(|name| name.contains("predictions")), "{:?}", place.names());
    let expected = "pg_lossless_40000_300m_profile has a static limit: nothing is predicted for it";
    assert!(result.notes.iter().any(|note| note.text == expected), "{:#?}", result.notes);
    let (result, _) = Switch { hwsku: "Mine", ..s6100() }.import(Some("spectrum3")).unwrap();
    let expected = "ports of spectrum3 have thresholds, too, which are not read: nothing is predicted";
    assert!(result.notes.iter().any(|note| note.text == expected), "{:#?}", result.notes);
}

#[test]
fn a_chip_that_is_none_is_refused() {
    for (asic, expected) in [
        (
            "tomahawk9",
            "`tomahawk9`: --asic: there is no such chip\nhint: `backwater list silicon` has them: tomahawk, ",
        ),
        ("jericho2c-plus", "`jericho2c-plus`: --asic: the chip has virtual output queues"),
    ] {
        let error = s6100().import(Some(asic)).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    // Only of some chips a pool holds its headroom.
    let (profile, pool) = ("1248 2288 108160 0 2288", pool(165_000_000, 164_990_000));
    let switch = Switch { hwsku: "Mine", pool, profile, ..s6100() };
    let error = switch.import(Some("tomahawk5")).unwrap_err().to_string();
    let expected = "a.json:1: ingress_lossless_pool has 165000000 B, all of the memory, and ";
    assert!(error.starts_with(expected), "{error}");
}

/// Pools come from the template, with their lines. An entry of the database replaces one of the template.
#[test]
fn a_template_of_buffers_has_pools() {
    let template = String::from_utf8(fixture("sonic/buffers_defaults_own.j2")).unwrap();
    let database = |more: Value| {
        let mut database: Value = serde_json::from_slice(&fixture("sonic/only-ports.json")).unwrap();
        database.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        database.to_string()
    };
    // Other macros compute something.
    let template = format!(
        "{{%- set default_cable = '40m' %}} {template}{{%- macro generate_pg_profiles(names) %}}{{{{ names }}}}{{%- endmacro %}}\n"
    );
    let with = |template: &str, more: Value| {
        let database = database(more);
        let files = [("a.json", database.as_str()), ("b.j2", template), ("c.ini", "100000 40m 18432 18432 60320 -1\n")];
        imported(&files, &Options::default())
    };
    let (result, _) = with(&template, json!({})).unwrap();
    assert_eq!(result.kinds, ["sonic-config-db", "sonic-buffers-template", "sonic-pg-lookup"]);
    // 8,000,000 B, and of three ports a headroom of 60,320 B and eight reserves of 18,432 B each.
    assert!(result.scenario.contains("buffer = \"8623328 B\""), "{}", result.scenario);
    let expected = "b.j2: ignored: all but generate_buffer_pool_and_profiles: what precedes and what follows the macro";
    let notes: Vec<String> = result.notes.iter().map(ToString::to_string).collect();
    assert!(notes.iter().any(|note| note == expected), "{notes:#?}");
    let own = json!({"BUFFER_POOL": {"ingress_lossless_pool": pool(4_000_000, 320_000)}});
    let (result, _) = with(&template, own).unwrap();
    assert!(result.scenario.contains("buffer = \"4623328 B\""), "{}", result.scenario);
    let computes = "b.j2:5: generate_buffer_pool_and_profiles computes something\nhint: give the database that";
    for (from, to, expected) in [
        ("8000000", "{{ size }}", computes),
        ("\"size\": \"8000000\",", "{% if x %}", computes),
        ("8000000", "many", "b.j2:5: `many`: size of BUFFER_POOL ingress_lossless_pool is no number"),
    ] {
        let error = with(&template.replace(from, to), json!({})).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}\nis not {expected}");
    }
    let error = imported(&[("b.j2", &template)], &Options::default()).unwrap_err().to_string();
    assert!(error.starts_with("b.j2: it has profiles alone, and no ports"), "{error}");
    let options = Options { format: Some("sonic-config-db".into()), ..Options::default() };
    let error = imported(&[("b.j2", "{%- include 'other.j2' %}")], &options).unwrap_err().to_string();
    assert!(error.starts_with("b.j2: it has no macro generate_buffer_pool_and_profiles\nhint: give"), "{error}");
}
