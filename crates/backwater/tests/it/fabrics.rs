//! Fabrics of several links: bundles, planes, pairs of leaves, NVLink domains, groups. Frames of 1000 B take 80 ns at 100 Gb/s; switches
//! take no time unless a test sets one. N frames over n links of that rate end after (n + N - 1) 80 ns and the links' delays.

use crate::links::{PLAIN, checked, data, run, run_with};
use backwater::{Checked, Scenario};
use backwater_engine::Time;
use backwater_net::packet::HostId;
use backwater_net::record::{Rows, State};
use std::collections::BTreeSet;
use std::path::Path;

const FRAME: Time = Time::ns(80);

fn of(topology: &str, more: &str) -> Checked {
    let rates = "rate = \"100 Gb/s\"\nlink_delay = \"1 us\"\n";
    let (keys, tables) = topology.split_once("\n[").map_or((topology, String::new()), |(a, b)| (a, format!("[{b}\n")));
    checked(&format!("[topology]\n{keys}\n{rates}{tables}{PLAIN}{more}"))
}

/// 10 frames from a host to another.
fn flow(from: u32, to: u32, more: &str) -> String {
    format!("[[flow]]\nfrom = {from}\nto = {to}\nsize = \"10 KB\"\n{more}")
}

/// Returns when 10 frames have arrived over links with this sum of frame times, the slowest of `most`, and with these delays together.
fn after(sum: Time, most: Time, delays: Time) -> Option<Time> {
    Some(sum + Time(9 * most.0) + delays)
}

/// The only flow's time, which is also its ideal time.
fn time(rows: &Rows) -> Option<Time> {
    assert_eq!(rows.flows.len(), 1);
    assert_eq!(rows.flows[0].ideal, rows.flows[0].fct_last_byte);
    rows.flows[0].fct_last_byte
}

/// Data frames on each of the parallel links from a node to another.
fn shares(checked: &Checked, rows: &Rows, from: &str, to: &str) -> Vec<u64> {
    let [from, to] = [from, to].map(|name| checked.layout().graph.node(name));
    let ports = rows.ports.iter().filter(|row| Some(row.node) == from && Some(row.peer) == to);
    ports.map(|row| row.stats.tx_data_frames).collect()
}

/// Every host reaches every other, and frames arrive from each host at each.
fn all_reach_all(topology: &str) {
    let all = of(topology, "[[flow]]\npattern = \"all-to-all\"\nsize = \"1 KB\"\n");
    let hosts = all.layout().graph.hosts().count() as u32;
    let index = backwater_net::topology::Index::new(all.layout().graph.clone());
    for (a, b) in (0..hosts).flat_map(|a| (0..hosts).map(move |b| (a, b))) {
        assert!(index.reaches(HostId(a), HostId(b)), "{a} to {b}: {topology}");
    }
    let rows = run(&all);
    assert_eq!(rows.flows.len() as u32, hosts * (hosts - 1), "{topology}");
    assert!(rows.flows.iter().all(|flow| flow.state == State::Complete), "{topology}");
}

/// The tiers of switches have different names, and there are no others.
fn tiers_are(topology: &str, tiers: &[&str]) {
    let all = of(topology, "");
    let found: BTreeSet<&str> =
        all.layout().graph.switches().map(|node| all.layout().graph.nodes[node.0 as usize].tier.as_str()).collect();
    assert_eq!(found, tiers.iter().copied().collect(), "{topology}");
    for tier in tiers {
        of(topology, &format!("[[switch.at]]\ntier = \"{tier}\"\nlatency = \"500 ns\"\n"));
    }
}

fn tree(hosts: u32, links: u32, core_links: u32) -> String {
    format!(
        "kind = \"fat-tree\"\npods = 2\ntors_per_pod = 1\naggs_per_pod = 1\ncores = 1\nhosts_per_tor = {hosts}\n\
         links_per_pair = {links}\ncore_links_per_pair = {core_links}"
    )
}

/// A fair hash gives 250 of 1000 flows of 10 frames to each of four links, with a deviation of 14, and 500 to each of two, with one of 16.
#[test]
fn ecmp_spreads_over_the_links_of_a_bundle() {
    let many = flow(0, 1, "arrivals = \"periodic\"\ninterval = \"1 us\"\ncount = 1000\n");
    let all = of(&tree(1, 4, 2), &many);
    let rows = run(&all);
    for (from, to, links, deviation) in [("tor0", "agg0", 4, 14), ("agg0", "core0", 2, 16), ("agg1", "tor1", 4, 14)] {
        let shares = shares(&all, &rows, from, to);
        assert_eq!((shares.len(), shares.iter().sum::<u64>()), (links, 10_000), "{from} {to}");
        let fair = 10_000 / links as u64;
        assert!(shares.iter().all(|share| share.abs_diff(fair) < 50 * deviation), "{from} {to}: {shares:?}");
    }
}

/// Four hosts send 100 frames each over bundles of four links. If k flows share a link, the last of their k x 100 frames has left it 80 ns
/// x k x 100 after the first arrived. With one on each link all end as if they were alone.
#[test]
fn flows_over_a_bundle_have_the_rate_of_its_links() {
    let flows = "[[flow]]\nfrom = \"0..3\"\nto = \"4..7\"\nsize = \"100 KB\"\npath = [\"tor0\", \"agg0\", \"core0\", \"agg1\", \"tor1\"]\n";
    let all = of(&tree(4, 4, 4), flows);
    let mut met = BTreeSet::new();
    for seed in 0..60 {
        let rows = run_with(&all, seed);
        let most = shares(&all, &rows, "tor0", "agg0").into_iter().max().unwrap() / 100;
        let last = rows.flows.iter().filter_map(|flow| flow.fct_last_byte).max().unwrap();
        assert_eq!(last, Time((most * 100 + 5) * FRAME.0) + Time::us(6), "seed {seed}: {most} flows on one link");
        met.insert(most);
    }
    assert!(met.contains(&1) && met.contains(&2), "{met:?}");
}

/// The second of three links to a core is slow, and no other.
#[test]
fn a_link_of_a_bundle_is_named_by_its_number() {
    let slow = "[[link.at]]\nbetween = [\"agg1\", \"core0\"]\nnumber = 1\nrate = \"25 Gb/s\"\n";
    let all = of(&tree(1, 2, 3), slow);
    let [agg, core] = ["agg1", "core0"].map(|name| all.layout().graph.node(name).unwrap());
    let bundle: Vec<_> = all.layout().graph.links.iter().filter(|link| (link.a, link.b) == (agg, core)).collect();
    let rates: Vec<u64> = bundle.iter().map(|link| link.slowest().0 / 1_000_000_000).collect();
    assert_eq!(rates, [100, 25, 100]);
    assert_eq!(all.layout().graph.links.iter().filter(|link| link.slowest().0 < 100_000_000_000).count(), 1);
}

const PLANES: &str = "kind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 2\nplanes = 2";
const BY_INDEX: &str = "[nic]\nlink = \"index\"\n";

/// Plane 1 has a spine with a quarter of the rate, and a flow over its links takes 320 ns a frame.
#[test]
fn a_flow_stays_in_its_plane() {
    let slow = "[[link.at]]\nbetween = [\"leaf2..leaf3\", \"spine1\"]\nrate = \"25 Gb/s\"\n";
    for (plane, sum, most) in [(0, Time::ns(4 * 80), FRAME), (1, Time::ns(2 * 80 + 2 * 320), Time::ns(320))] {
        let all = of(PLANES, &format!("{BY_INDEX}{slow}{}", flow(1, 3, &format!("link = {plane}\n"))));
        let rows = run(&all);
        assert_eq!(time(&rows), after(sum, most, Time::us(4)));
        let [leaf, spine] = [format!("leaf{}", 2 * plane), format!("spine{plane}")];
        assert_eq!((data(&all, &rows, "h1", &leaf), data(&all, &rows, &leaf, &spine)), (10, 10));
    }
    // Both planes carry a flow of one host each as if it were alone: a host has the rate of two links.
    let both = format!("{BY_INDEX}{}{}", flow(1, 3, "link = 0\n"), flow(1, 3, "link = 1\n"));
    let rows = run(&of(PLANES, &both));
    let alone = after(Time::ns(4 * 80), FRAME, Time::us(4));
    assert!(rows.flows.iter().all(|flow| flow.fct_last_byte == alone) && rows.flows.len() == 2);
}

/// Four leaves in two pairs: hosts of a pair are two links apart over either leaf, others four. When a link fails, the other remains.
#[test]
fn a_host_has_a_pair_of_leaves() {
    let pairs = "kind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 2\nleaves_per_host = 2";
    for (to, link, links) in [(1, 0, 2), (1, 1, 2), (3, 0, 4), (3, 1, 4)] {
        let all = of(pairs, &format!("{BY_INDEX}{}", flow(0, to, &format!("link = {link}\n"))));
        let rows = run(&all);
        assert_eq!(time(&rows), after(Time(links * FRAME.0), FRAME, Time::us(links)), "{to} by {link}");
        assert_eq!(data(&all, &rows, "h0", &format!("leaf{link}")), 10);
    }
    let down = "[[link.at]]\nbetween = [\"h0\", \"leaf0\"]\ndown = true\n";
    let many = flow(0, 3, "count = 50\n");
    let all = of(pairs, &format!("{down}{many}"));
    let rows = run(&all);
    assert_eq!((data(&all, &rows, "h0", "leaf0"), data(&all, &rows, "h0", "leaf1")), (0, 500));
}

/// Two servers of two GPUs on two rails.
const GPUS: &str = "kind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 2\nrails = 2\n\
                    [topology.nvlink]\ngpus = 2\nrate = \"400 Gb/s\"\ndelay = \"100 ns\"";

/// Within a server two links of 20 ns a frame; on one rail two links of the network; across rails four.
#[test]
fn nvlink_is_the_shortest_way_within_a_server() {
    for (to, sum, most, delays, over) in [
        (1, Time::ns(2 * 20), Time::ns(20), Time::ns(2 * 100), "nvlink0"),
        (2, Time::ns(2 * 80), FRAME, Time::us(2), "leaf0"),
        (3, Time::ns(4 * 80), FRAME, Time::us(4), "leaf0"),
    ] {
        let all = of(GPUS, &flow(0, to, ""));
        assert_eq!(all.warnings, []);
        let rows = run(&all);
        assert_eq!(time(&rows), after(sum, most, delays), "to h{to}");
        assert_eq!(data(&all, &rows, "h0", over), 10, "to h{to}");
    }
    // The switch adds its latency, once.
    let slow = "[[switch.at]]\ntier = \"nvlink\"\nlatency = \"500 ns\"\n";
    let rows = run(&of(GPUS, &format!("{slow}{}", flow(0, 1, ""))));
    assert_eq!(time(&rows), after(Time::ns(2 * 20), Time::ns(20), Time::ns(2 * 100 + 500)));
    // Eight flows share the only link of a GPU, whose rate is finite: 80 frames.
    let rows = run(&of(GPUS, &flow(0, 1, "count = 8\n")));
    let last = rows.flows.iter().filter_map(|flow| flow.fct_last_byte).max();
    assert_eq!(last, Some(Time::ns(2 * 20 + 79 * 20 + 2 * 100)));
}

/// GPUs of a server that are also at one leaf have two paths of two links.
#[test]
fn a_leaf_as_near_as_the_nvlink_switch_is_told() {
    let same = GPUS.replace("rails = 2\n", "");
    let all = of(&same, &flow(0, 1, "count = 100\n"));
    assert_eq!(all.warnings.iter().map(|warning| warning.key.as_str()).collect::<Vec<_>>(), ["topology.nvlink"]);
    let rows = run(&all);
    let shares = [data(&all, &rows, "h0", "nvlink0"), data(&all, &rows, "h0", "leaf0")];
    assert!(shares[0] > 0 && shares[1] > 0 && shares[0] + shares[1] == 1_000, "{shares:?}");
    assert_eq!(of(&same, &format!("{BY_INDEX}{}", flow(0, 1, "link = 1\n"))).warnings, []);
}

/// Three groups of two leaves and two spines, with two hosts a leaf; groups are far apart.
const GROUPS: &str = "kind = \"dragonfly-plus\"\ngroups = 3\nleaves_per_group = 2\nspines_per_group = 2\nhosts_per_leaf = 2\n\
                      global_links_per_spine = 2\nglobal_rate = \"400 Gb/s\"\nglobal_delay = \"5 us\"";

/// One leaf; two leaves of a group over a spine; two groups over a spine each.
#[test]
fn ways_through_groups() {
    for (to, sum, delays) in [
        (1, Time::ns(2 * 80), Time::us(2)),
        (3, Time::ns(4 * 80), Time::us(4)),
        (4, Time::ns(4 * 80 + 20), Time::us(4 + 5)),
        (11, Time::ns(4 * 80 + 20), Time::us(4 + 5)),
    ] {
        let rows = run(&of(GROUPS, &flow(0, to, "")));
        assert_eq!(time(&rows), after(sum, FRAME, delays), "to h{to}");
    }
    // Traffic from group 0 to group 1 never passes group 2.
    let all = of(GROUPS, "[[flow]]\nfrom = \"0..3\"\nto = \"4..7\"\nsize = \"10 KB\"\ncount = 50\n");
    let rows = run(&all);
    let spine = |n: u32| format!("spine{n}");
    let across = |a: u32, b: u32| data(&all, &rows, &spine(a), &spine(b));
    let direct: Vec<u64> = (0..2).flat_map(|a| (2..4).map(move |b| (a, b))).map(|(a, b)| across(a, b)).collect();
    assert_eq!(direct.iter().sum::<u64>(), 4 * 50 * 10);
    assert!((0..4).all(|a| across(a, 4) + across(a, 5) == 0));
}

/// Nine groups of four routers with one host and two global links each: a h + 1 = 9, one link between any two groups. That of group 0 to
/// group 1 is port 0 of both: router0 to router4.
const ROUTERS: &str = "kind = \"dragonfly\"\ngroups = 9\nrouters_per_group = 4\nhosts_per_router = 1\nglobal_links_per_router = 2\n\
                       global_rate = \"400 Gb/s\"\nglobal_delay = \"5 us\"";

/// Within a group; between groups with no, one and two links within one beside the global link.
#[test]
fn minimal_ways_of_a_dragonfly() {
    for (from, to, sum, delays) in [
        (0, 3, Time::ns(3 * 80), Time::us(3)),
        (0, 4, Time::ns(2 * 80 + 20), Time::us(2 + 5)),
        (1, 4, Time::ns(3 * 80 + 20), Time::us(3 + 5)),
        (3, 7, Time::ns(4 * 80 + 20), Time::us(4 + 5)),
    ] {
        let rows = run(&of(ROUTERS, &flow(from, to, "")));
        assert_eq!(time(&rows), after(sum, FRAME, delays), "h{from} to h{to}");
    }
    // A frame from each of 36 hosts to each other. The 36 x 32 to other groups pass one global link each, never two. In a pair of groups 16
    // pairs of routers share one link between the groups: 12 have a link within the group before it, and 12 one behind it. Each group has
    // 12 internal pairs.
    let all = of(ROUTERS, "[[flow]]\npattern = \"all-to-all\"\nsize = \"1 KB\"\n");
    let rows = run(&all);
    let router = |node: backwater_net::packet::NodeId| {
        let name = &all.layout().graph.nodes[node.0 as usize].name;
        name.strip_prefix("router").and_then(|number| number.parse::<u32>().ok())
    };
    let (mut global, mut within) = (0, 0);
    for row in &rows.ports {
        if let (Some(a), Some(b)) = (router(row.node), router(row.peer)) {
            *(if a / 4 == b / 4 { &mut within } else { &mut global }) += row.stats.tx_data_frames;
        }
    }
    assert_eq!((global, within), (36 * 32, 9 * 8 * (12 + 12) + 9 * 12));
    // So is a path with a router in `via`.
    let by = run(&of(ROUTERS, &flow(3, 7, "via = [\"router4\"]\n")));
    assert_eq!(time(&by), after(Time::ns(4 * 80 + 20), FRAME, Time::us(4 + 5)));
}

/// When the only link between two groups is down, paths lead over a third.
#[test]
fn a_dragonfly_goes_round_a_link_that_is_down() {
    let down = "[[link.at]]\nbetween = [\"router0\", \"router4\"]\ndown = true\n";
    let all = of(ROUTERS, &format!("{down}{}", flow(0, 4, "count = 20\n")));
    let rows = run(&all);
    assert!(rows.flows.iter().all(|flow| flow.state == State::Complete && flow.fct_last_byte > Some(Time::us(12))));
}

#[test]
fn every_fabric_reaches_all_and_names_its_tiers() {
    let rails = "kind = \"leaf-spine\"\nleaves = 8\nspines = 2\nhosts_per_leaf = 2\nrails = 2\nleaves_per_host = 2\nplanes = 2\n\
                 links_per_pair = 2\n[topology.nvlink]\ngpus = 2\nrate = \"3.6 Tb/s\"\ndelay = \"100 ns\"";
    for (topology, tiers) in [
        (tree(2, 2, 3).as_str(), &["tor", "agg", "core"][..]),
        (PLANES, &["leaf", "spine"]),
        (GPUS, &["leaf", "spine", "nvlink"]),
        (rails, &["leaf", "spine", "nvlink"]),
        (GROUPS, &["leaf", "spine"]),
        (ROUTERS, &["router"]),
    ] {
        all_reach_all(topology);
        tiers_are(topology, tiers);
        // The resolved scenario describes the same network.
        let all = of(topology, "");
        assert_eq!(checked(&all.resolved().to_toml()).layout().graph, all.layout().graph, "{topology}");
    }
}

/// An impossible value is reported at its key.
#[test]
fn errors_name_their_key() {
    let refused = |topology: &str| {
        let text = format!("[topology]\nrate = \"1 Gb/s\"\nlink_delay = \"1 us\"\n{topology}\n");
        let scenario = Scenario::from_text(&text, "net.toml", Path::new("."));
        let error = scenario.and_then(|scenario| scenario.check().map(|_| ())).unwrap_err();
        format!("{}: {}", error.key.unwrap_or_default(), error.reason)
    };
    let wide =
        tree(1, 1_024, 1).replace("aggs_per_pod = 1", "aggs_per_pod = 1024").replace("cores = 1", "cores = 1024");
    for (topology, expected) in [
        (
            GROUPS.replace("groups = 3", "groups = 4"),
            "topology.groups: 4 global links of a group cannot be shared out evenly among 3 other groups",
        ),
        (GROUPS.replace("groups = 3", "groups = 1"), "topology.groups: `1` is less than 2"),
        (
            PLANES.replace("planes", "leaves_per_host = 3\nplanes"),
            "topology.leaves_per_host: 2 leaves cannot be shared out evenly among 3",
        ),
        (
            PLANES.replace("planes", "rails = 3\nplanes"),
            "topology.rails: 2 leaves cannot be shared out evenly among 3 rails",
        ),
        (
            GPUS.replace("gpus = 2", "gpus = 3"),
            "topology.nvlink: 4 hosts cannot be shared out evenly among 3 GPUs of a server",
        ),
        (GPUS.replace("400 Gb/s", "0 b/s"), "topology.nvlink.rate: "),
        (wide, "topology: 2097152 links between ToR and aggregation switches are too many"),
    ] {
        let notified = refused(&topology);
        assert!(notified.starts_with(expected), "{notified}");
    }
}
