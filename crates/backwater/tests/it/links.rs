//! Links that differ from the rest of their topology: `[[link.at]]`.

use backwater::load::offers;
use backwater::{Checked, Scenario, build};
use backwater_engine::Time;
use backwater_mech::stage;
use backwater_net::Rate;
use backwater_net::bench::network::Collected;
use backwater_net::topology::Link;
use std::path::Path;

/// Packets of 1000 B on the wire, which take 80 ns at 100 Gb/s; switches without latency.
pub(crate) const PLAIN: &str = "
[packet]
payload = \"1000 B\"
header = \"0 B\"
gap = \"0 B\"
[switch]
latency = \"0 s\"
buffer_per = \"none\"
";

fn clos(spines: u32, more: &str) -> Checked {
    checked(&format!(
        "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = {spines}\nhosts_per_leaf = 1\nrate = \"100 Gb/s\"\n\
         link_delay = \"1 us\"\n{PLAIN}{more}"
    ))
}

pub(crate) fn checked(text: &str) -> Checked {
    let scenario = Scenario::from_text(text, "net.toml", Path::new("."));
    scenario.and_then(|s| s.check()).unwrap_or_else(|e| panic!("{e}"))
}

pub(crate) fn run(checked: &Checked) -> Collected {
    run_with(checked, 1)
}

/// With a seed of its own.
pub(crate) fn run_with(checked: &Checked, seed: u64) -> Collected {
    let mut network = stage::build(build(checked, seed).unwrap_or_else(|e| panic!("{e}"))).unwrap();
    let mut rows = Collected::default();
    while !stage::run(&mut network, 1 << 16, &mut rows).unwrap_or_else(|e| panic!("{e:?}")).done {}
    network.finish(&mut rows);
    rows
}

/// Data frames that each node has sent to another.
pub(crate) fn data(checked: &Checked, rows: &Collected, from: &str, to: &str) -> u64 {
    let node = |name: &str| checked.graph.node(name).unwrap_or_else(|| panic!("no node {name}"));
    let (from, to) = (node(from), node(to));
    rows.ports.iter().filter(|row| row.node == from && row.peer == to).map(|row| row.stats.tx_data_frames).sum()
}

fn links(checked: &Checked, a: &str, b: &str) -> Vec<Link> {
    let ends = [a, b].map(|name| checked.graph.node(name).unwrap_or_else(|| panic!("no node {name}")));
    checked.graph.links.iter().filter(|link| ends.contains(&link.a) && ends.contains(&link.b)).copied().collect()
}

const FLOW: &str = "[[flow]]\nfrom = 0\nto = 1\nsize = \"10 KB\"\n";
const BACK: &str = "[[flow]]\nfrom = 1\nto = 0\nsize = \"10 KB\"\n";

/// Ten packets over four links. The first takes 80 ns on each of three and 320 ns on the slow one, which sets the pace of the nine others.
#[test]
fn completion_times_are_those_of_the_links_passed() {
    let slow = "[[link.at]]\nbetween = [\"leaf0\", \"spine0\"]\nrate = \"25 Gb/s\"\ndelay = \"3 us\"\n";
    let rows = run(&clos(1, &format!("{slow}{FLOW}")));
    let expected = Time::ns(3 * 80 + 320 + 9 * 320) + Time::us(1 + 3 + 1 + 1);
    assert_eq!(rows.flows[0].fct_last_byte, Some(expected));
    assert_eq!(rows.flows[0].ideal, Some(expected));
}

/// Slow in one direction only: who sends the other way has 80 ns a packet all along.
#[test]
fn a_rate_may_be_of_one_direction() {
    let slow = "[[link.at]]\nfrom = \"spine0\"\nto = \"leaf0\"\nrate = \"25 Gb/s\"\n";
    let there = run(&clos(1, &format!("{slow}{FLOW}")));
    let back = run(&clos(1, &format!("{slow}{BACK}")));
    let of = |rows: &Collected| rows.flows[0].fct_last_byte;
    assert_eq!(of(&there), Some(Time::ns(4 * 80 + 9 * 80) + Time::us(4)));
    assert_eq!(of(&back), Some(Time::ns(3 * 80 + 320 + 9 * 320) + Time::us(4)));
    assert_eq!(back.flows[0].ideal, of(&back));
    // So it is of a link that is written out.
    let explicit = run(&checked(&format!(
        "[topology]\nkind = \"explicit\"\nnode = [{{ name = \"a\", kind = \"host\" }}, {{ name = \"b\", kind = \"host\" }}, \
         {{ name = \"s\", kind = \"switch\" }}]\nlink = [\n\
         {{ a = \"s\", b = \"a\", rate = {{ ab = \"25 Gb/s\", ba = \"100 Gb/s\" }}, delay = \"1 us\" }},\n\
         {{ a = \"s\", b = \"b\", rate = \"100 Gb/s\", delay = \"1 us\" }} ]\n{PLAIN}{BACK}"
    )));
    assert_eq!(of(&explicit), Some(Time::ns(80 + 320 + 9 * 320) + Time::us(2)));
}

/// Of four spines three are cut off from leaf0: all that leaves it, and all that goes to it, passes the first.
#[test]
fn ecmp_leaves_out_what_is_down() {
    let down = "[[link.at]]\nbetween = [\"leaf0\", \"spine1..spine3\"]\ndown = true\n";
    let flows =
        "[[flow]]\nfrom = 0\nto = 1\nsize = \"1 KB\"\narrivals = \"periodic\"\ninterval = \"1 us\"\ncount = 100\n";
    let back = flows.replace("from = 0\nto = 1", "from = 1\nto = 0");
    let all = clos(4, &format!("{down}{flows}{back}"));
    let rows = run(&all);
    assert_eq!(rows.flows.len(), 200);
    assert_eq!((data(&all, &rows, "leaf0", "spine0"), data(&all, &rows, "leaf1", "spine0")), (100, 100));
    assert_eq!(data(&all, &rows, "spine0", "leaf0"), 100);
    // Half of what begins after a second one has come up takes that: 50 by hash, and a deviation of 5.
    let up = "[[fault]]\nkind = \"link-up\"\nat = \"0 s\"\na = \"leaf0\"\nb = \"spine2\"\n";
    let two = clos(4, &format!("{down}{up}{flows}"));
    let rows = run(&two);
    let shares = ["spine0", "spine1", "spine2", "spine3"].map(|spine| data(&two, &rows, "leaf0", spine));
    assert_eq!((shares[1], shares[3], shares[0] + shares[2]), (0, 0, 100));
    assert!(shares[2].abs_diff(50) <= 25, "{shares:?}");
}

/// 20,000 frames of which each is lost with a probability of 10 %: 2,000, with a deviation of 42.
#[test]
fn a_share_of_frames_is_lost_in_the_direction_that_is_meant() {
    let text = |place: &str| {
        format!(
            "{PLAIN}[topology]\nkind = \"star\"\nhosts = 2\nrate = \"100 Gb/s\"\nlink_delay = \"1 us\"\n[stop]\nat = \"10 ms\"\n\
             [transport]\nloss = \"expected\"\n[[link.at]]\n{place}\nloss = 0.1\n[[flow]]\nfrom = 0\nto = 1\nsize = \"20 MB\"\n"
        )
    };
    let lost = |place: &str| {
        let all = checked(&text(place));
        assert_eq!(all.warnings, []);
        let rows = run(&all);
        let of = |from: &str, to: &str| {
            let [from, to] = [from, to].map(|name| all.graph.node(name));
            let port = rows.ports.iter().find(|row| Some(row.node) == from && Some(row.peer) == to);
            port.map_or(0, |row| row.stats.fault_frames)
        };
        [of("h0", "s0"), of("s0", "h0"), of("s0", "h1"), of("h1", "s0")]
    };
    let there = lost("from = \"h0\"");
    assert!(there[0].abs_diff(2_000) < 5 * 42 && there[1..] == [0, 0, 0], "{there:?}");
    // Of the 20,000 acknowledgements, too; s0 sends what h0 has not lost.
    let both = lost("between = [\"h1\", \"s0\"]");
    assert!(both[2].abs_diff(2_000) < 5 * 42 && both[3].abs_diff(1_800) < 5 * 42, "{both:?}");
    assert_eq!(both[..2], [0, 0]);
    let unexpected = text("from = \"h0\"").replace("[transport]\nloss = \"expected\"\n", "");
    assert_eq!(checked(&unexpected).warnings[0].key, "transport.recovery");
}

/// One of two links of a trunk; and of several entries about a link the last counts, key by key.
#[test]
fn links_of_one_pair_are_told_apart() {
    let all = checked(
        "[topology]\nkind = \"dumbbell\"\nleft_hosts = 1\nright_hosts = 1\nrate = \"100 Gb/s\"\nlink_delay = \"1 us\"\ntrunk_links = 2\n\
         [[link.at]]\nbetween = [\"all\", \"all\"]\nrate = \"40 Gb/s\"\ndelay = \"2 us\"\n\
         [[link.at]]\nbetween = [\"right\", \"left\"]\nnumber = 1\nrate = \"10 Gb/s\"\n",
    );
    let trunk = links(&all, "left", "right");
    let of = |link: &Link| (link.rates, link.delay);
    let rate = |gbps| [Rate::gbps(gbps); 2];
    assert_eq!(trunk.iter().map(of).collect::<Vec<_>>(), [(rate(40), Time::us(2)), (rate(10), Time::us(2))]);
    let again = checked(&all.resolved.to_toml());
    assert_eq!(again.graph.links, all.graph.links);
}

/// What htsim calls `-failed 3`: of the links from cores down to the first aggregation switch three have a quarter of their rate, and
/// none upwards (csg-htsim, `fat_tree_topology.cpp`).
#[test]
fn failed_links_of_htsim_are_one_entry() {
    let all = checked(
        "[topology]\nkind = \"fat-tree\"\npods = 2\ntors_per_pod = 1\naggs_per_pod = 2\ncores = 8\nhosts_per_tor = 1\nrate = \"100 Gb/s\"\n\
         link_delay = \"1 us\"\n[[link.at]]\nfrom = \"core0..core2\"\nto = \"agg0\"\nrate = \"25 Gb/s\"\n",
    );
    let slow: Vec<&Link> = all.graph.links.iter().filter(|link| link.slowest() < Rate::gbps(100)).collect();
    assert_eq!(slow.len(), 3);
    for link in slow {
        let name = |node: backwater_net::packet::NodeId| all.graph.nodes[node.0 as usize].name.as_str();
        let (core, agg) = if name(link.a) == "agg0" { (link.b, link.a) } else { (link.a, link.b) };
        assert!(name(agg) == "agg0" && ["core0", "core1", "core2"].contains(&name(core)));
        assert_eq!((link.rate_from(core), link.rate_from(agg)), (Rate::gbps(25), Rate::gbps(100)));
    }
}

/// A load is a share of the links as they are: 100 and 50 Gb/s.
#[test]
fn loads_are_shares_of_these_links() {
    let all = checked(
        "[topology]\nkind = \"star\"\nhosts = 4\nrate = \"100 Gb/s\"\nlink_delay = \"1 us\"\n\
         [[link.at]]\nbetween = [\"h1\", \"s0\"]\nrate = \"50 Gb/s\"\n\
         [[flow]]\npattern = \"random\"\nfrom = \"0..1\"\nto = \"2..3\"\nsize = \"10 KB\"\narrivals = \"poisson\"\nload = \"20 %\"\nuntil = \"1 ms\"\n",
    );
    assert_eq!(offers(&all)[0].capacity, 150e9);
}
