//! Links that differ from the rest of their topology: `[[link.at]]`.

use backwater::load::offers;
use backwater::{Checked, Scenario, TableFlow, build};
use backwater_engine::Time;
use backwater_mech::stage;
use backwater_net::Rate;
use backwater_net::packet::Class;
use backwater_net::record::Rows;
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

pub(crate) fn run(checked: &Checked) -> Rows {
    run_with(checked, 1)
}

/// With a seed of its own.
pub(crate) fn run_with(checked: &Checked, seed: u64) -> Rows {
    let mut network = stage::build(build(checked, seed).unwrap_or_else(|e| panic!("{e}"))).unwrap();
    let mut rows = Rows::default();
    while !stage::run(&mut network, 1 << 16, &mut rows).unwrap_or_else(|e| panic!("{e:?}")).done {}
    network.finish(&mut rows);
    rows
}

/// Data frames that each node has sent to another.
pub(crate) fn data(checked: &Checked, rows: &Rows, from: &str, to: &str) -> u64 {
    let node = |name: &str| checked.layout().graph.node(name).unwrap_or_else(|| panic!("no node {name}"));
    let (from, to) = (node(from), node(to));
    rows.ports.iter().filter(|row| row.node == from && row.peer == to).map(|row| row.stats.tx_data_frames).sum()
}

fn links(checked: &Checked, a: &str, b: &str) -> Vec<Link> {
    let ends = [a, b].map(|name| checked.layout().graph.node(name).unwrap_or_else(|| panic!("no node {name}")));
    checked
        .layout()
        .graph
        .links
        .iter()
        .filter(|link| ends.contains(&link.a) && ends.contains(&link.b))
        .copied()
        .collect()
}

const FLOW: &str = "[[flow]]\nfrom = 0\nto = 1\nsize = \"10 KB\"\n";
const BACK: &str = "[[flow]]\nfrom = 1\nto = 0\nsize = \"10 KB\"\n";

/// Ten packets over four links. The first takes 80 ns on each of three and 320 ns on the slow one, which determines the spacing of the nine
/// others.
#[test]
fn completion_times_are_those_of_the_links_passed() {
    let slow = "[[link.at]]\nbetween = [\"leaf0\", \"spine0\"]\nrate = \"25 Gb/s\"\ndelay = \"3 us\"\n";
    let rows = run(&clos(1, &format!("{slow}{FLOW}")));
    let expected = Time::ns(3 * 80 + 320 + 9 * 320) + Time::us(1 + 3 + 1 + 1);
    assert_eq!(rows.flows[0].fct_last_byte, Some(expected));
    assert_eq!(rows.flows[0].ideal, Some(expected));
}

/// Slow in one direction only: a sender in the other direction has 80 ns a packet all along.
#[test]
fn a_rate_may_be_of_one_direction() {
    let slow = "[[link.at]]\nfrom = \"spine0\"\nto = \"leaf0\"\nrate = \"25 Gb/s\"\n";
    let there = run(&clos(1, &format!("{slow}{FLOW}")));
    let back = run(&clos(1, &format!("{slow}{BACK}")));
    let of = |rows: &Rows| rows.flows[0].fct_last_byte;
    assert_eq!(of(&there), Some(Time::ns(4 * 80 + 9 * 80) + Time::us(4)));
    assert_eq!(of(&back), Some(Time::ns(3 * 80 + 320 + 9 * 320) + Time::us(4)));
    assert_eq!(back.flows[0].ideal, of(&back));
    // The same for a link of an explicit topology.
    let explicit = run(&checked(&format!(
        "[topology]\nkind = \"explicit\"\nnode = [{{ name = \"a\", kind = \"host\" }}, {{ name = \"b\", kind = \"host\" }}, \
         {{ name = \"s\", kind = \"switch\" }}]\nlink = [\n\
         {{ a = \"s\", b = \"a\", rate = {{ ab = \"25 Gb/s\", ba = \"100 Gb/s\" }}, delay = \"1 us\" }},\n\
         {{ a = \"s\", b = \"b\", rate = \"100 Gb/s\", delay = \"1 us\" }} ]\n{PLAIN}{BACK}"
    )));
    assert_eq!(of(&explicit), Some(Time::ns(80 + 320 + 9 * 320) + Time::us(2)));
}

/// Three of four spines are cut off from leaf0: all traffic from and to it passes the first.
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
    // Half of the flows that begin after a second link has come up take that: 50 by hash, and a deviation of 5.
    let up = "[[fault]]\nkind = \"link-up\"\nat = \"0 s\"\na = \"leaf0\"\nb = \"spine2\"\n";
    let two = clos(4, &format!("{down}{up}{flows}"));
    let rows = run(&two);
    let shares = ["spine0", "spine1", "spine2", "spine3"].map(|spine| data(&two, &rows, "leaf0", spine));
    assert_eq!((shares[1], shares[3], shares[0] + shares[2]), (0, 0, 100));
    assert!(shares[2].abs_diff(50) <= 25, "{shares:?}");
}

/// 20,000 frames, each lost with a probability of 10 %: 2,000, with a deviation of 42.
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
            let [from, to] = [from, to].map(|name| all.layout().graph.node(name));
            let port = rows.ports.iter().find(|row| Some(row.node) == from && Some(row.peer) == to);
            port.map_or(0, |row| row.stats.fault_frames)
        };
        [of("h0", "s0"), of("s0", "h0"), of("s0", "h1"), of("h1", "s0")]
    };
    let there = lost("from = \"h0\"");
    assert!(there[0].abs_diff(2_000) < 5 * 42 && there[1..] == [0, 0, 0], "{there:?}");
    // The same ratio of the 20,000 acknowledgements; s0 sends the frames that h0 has not lost.
    let both = lost("between = [\"h1\", \"s0\"]");
    assert!(both[2].abs_diff(2_000) < 5 * 42 && both[3].abs_diff(1_800) < 5 * 42, "{both:?}");
    assert_eq!(both[..2], [0, 0]);
    let unexpected = text("from = \"h0\"").replace("[transport]\nloss = \"expected\"\n", "");
    assert_eq!(checked(&unexpected).warnings[0].key, "transport.recovery");
}

/// One of two links of a trunk; if several entries change a link the last counts, key by key.
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
    let again = checked(&all.resolved().to_toml());
    assert_eq!(again.layout().graph.links, all.layout().graph.links);
}

/// A link that flaps does what as many faults of a link that goes down and comes up do, and routes follow it later.
#[test]
fn a_flap_is_a_series_of_failures() {
    let flow = "[[flow]]\nfrom = \"h0\"\nto = \"h1\"\nsize = \"2 MB\"\n[transport]\nrecovery = \"selective-repeat\"\ntimeout = \"20 us\"\n";
    let fault = |kind: &str, at: u64| {
        format!("[[fault]]\nkind = \"link-{kind}\"\nat = \"{at} us\"\na = \"leaf0\"\nb = \"spine0\"\n")
    };
    let single: String = [("down", 10), ("up", 15), ("down", 35), ("up", 40), ("down", 60), ("up", 65)]
        .map(|(kind, at)| fault(kind, at))
        .concat();
    let flap = fault("flap", 10) + "down = \"5 us\"\nup = \"20 us\"\ntimes = 3\n";
    for convergence in ["", "[link]\nconvergence = \"7 us\"\n"] {
        let rows = [&single, &flap].map(|faults| run(&clos(1, &format!("{convergence}{flow}{faults}"))));
        assert_eq!(rows[0].flows, rows[1].flows);
        assert_eq!(rows[0].flows[0].received, 2_000_000);
    }
    let all = clos(2, &format!("[link]\nconvergence = \"7 us\"\n{flow}{flap}"));
    assert_eq!(checked(&all.resolved().to_toml()).resolved().to_toml(), all.resolved().to_toml());
}

/// htsim's `-failed 3`: three of the links from cores down to the first aggregation switch have a quarter of their rate, and none upwards
/// (csg-htsim, `fat_tree_topology.cpp`).
#[test]
fn failed_links_of_htsim_are_one_entry() {
    let all = checked(
        "[topology]\nkind = \"fat-tree\"\npods = 2\ntors_per_pod = 1\naggs_per_pod = 2\ncores = 8\nhosts_per_tor = 1\nrate = \"100 Gb/s\"\n\
         link_delay = \"1 us\"\n[[link.at]]\nfrom = \"core0..core2\"\nto = \"agg0\"\nrate = \"25 Gb/s\"\n",
    );
    let slow: Vec<&Link> = all.layout().graph.links.iter().filter(|link| link.slowest() < Rate::gbps(100)).collect();
    assert_eq!(slow.len(), 3);
    for link in slow {
        let name = |node: backwater_net::packet::NodeId| all.layout().graph.nodes[node.0 as usize].name.as_str();
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

/// Hosts a, b, c … and these cables between them, of 100 Gb/s and 5 ns.
fn cables(hosts: u32, links: &[(u32, u32)], flows: &str) -> String {
    let name = |host: u32| char::from(b'a' + host as u8);
    let nodes: Vec<String> =
        (0..hosts).map(|host| format!("{{ name = \"{}\", kind = \"host\" }}", name(host))).collect();
    let link = |(a, b): &(u32, u32)| {
        format!("{{ a = \"{}\", b = \"{}\", rate = \"100 Gb/s\", delay = \"5 ns\" }}", name(*a), name(*b))
    };
    let links: Vec<String> = links.iter().map(link).collect();
    format!(
        "[topology]\nkind = \"explicit\"\nnode = [{}]\nlink = [{}]\n{PLAIN}{flows}",
        nodes.join(", "),
        links.join(", ")
    )
}

/// 1000 packets of 80 ns, and 5 ns of cable.
#[test]
fn hosts_that_cables_join_need_no_switch() {
    let flow = "[[flow]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 MB\"\n";
    let expected = Some(Time::ns(1000 * 80 + 5));
    for (hosts, links) in [
        (2, &[(0, 1)][..]),
        (2, &[(0, 1), (0, 1)]),
        (2, &[(0, 1), (1, 0), (0, 1)]),
        (3, &[(0, 1), (1, 2), (2, 0)]),
        (4, &[(0, 1), (1, 2), (2, 3), (3, 0)]),
        (3, &[(0, 1), (1, 2)]),
    ] {
        let all = checked(&cables(hosts, links, flow));
        let rows = run(&all);
        assert_eq!((rows.flows[0].fct_last_byte, rows.flows[0].ideal), (expected, expected), "{links:?}");
        assert_eq!(data(&all, &rows, "a", "b"), 1000, "{links:?}");
    }
    // A cable that fails leaves the other to the flow.
    let down = "[transport]\nrecovery = \"go-back-n\"\n[[fault]]\nkind = \"link-down\"\nat = \"20 us\"\na = \"a\"\nb = \"b\"\n";
    let up = "[[fault]]\nkind = \"link-up\"\nat = \"30 us\"\na = \"a\"\nb = \"b\"\n";
    let rows = run(&checked(&cables(2, &[(0, 1), (0, 1)], &format!("{down}{up}{flow}"))));
    assert_eq!(rows.flows[0].received, 1_000_000);
    // Hosts do not forward.
    let chain = cables(3, &[(0, 1), (1, 2)], &flow.replace("\"b\"", "\"c\""));
    let refused = Scenario::from_text(&chain, "net.toml", Path::new(".")).and_then(|s| s.check()).err().unwrap();
    assert_eq!(
        (refused.key.as_deref(), refused.reason.as_str()),
        (Some("flow.0.to"), "a cannot reach c: only other hosts join them, and a host forwards nothing")
    );
}

/// For any cables between hosts, a host with a cable to another sends over it, and a flow without a cable is refused.
#[test]
fn random_networks_of_hosts_carry_what_cables_join() {
    let mut drawn = 1u64;
    let mut draw = |below: u32| {
        drawn = backwater_engine::fingerprint::mix(drawn.wrapping_add(1));
        (drawn % u64::from(below)) as u32
    };
    let (mut ran, mut refused) = (0, 0);
    for case in 0..200 {
        let hosts = 2 + draw(5);
        // Each host has a cable; more follow.
        let mut links: Vec<(u32, u32)> = (0..hosts).map(|a| (a, (a + 1 + draw(hosts - 1)) % hosts)).collect();
        for _ in 0..draw(4) {
            let a = draw(hosts);
            links.push((a, (a + 1 + draw(hosts - 1)) % hosts));
        }
        let (from, to) = links[draw(links.len() as u32) as usize];
        let flow = |from: u32, to: u32| format!("[[flow]]\nfrom = {from}\nto = {to}\nsize = \"10 KB\"\n");
        let joined = |a: u32, b: u32| links.contains(&(a, b)) || links.contains(&(b, a));
        let (one, other) = (draw(hosts), draw(hosts));
        let choice = ["hash", "least-loaded", "index"][draw(3) as usize];
        let more = format!("[nic]\nlink = \"{choice}\"\n{}{}", flow(from, to), flow(to, from));
        let rows = run_with(&checked(&cables(hosts, &links, &more)), case);
        assert!(
            rows.flows.iter().all(|row| row.received == 10_000 && row.fct_last_ack.is_some()),
            "{links:?} {from} {to}"
        );
        ran += 1;
        if one != other && !joined(one, other) {
            let text = cables(hosts, &links, &flow(one, other));
            let error = Scenario::from_text(&text, "net.toml", Path::new(".")).and_then(|s| s.check()).err();
            assert_eq!(error.and_then(|e| e.key).as_deref(), Some("flow.0.to"), "{links:?} {one} {other}");
            refused += 1;
        }
    }
    assert!(ran == 200 && refused > 20, "{refused}");
}

/// At 100 Gb/s 10^17 B take 8 x 10^18 ps, which results can hold, and ten times as much does not fit.
#[test]
fn an_ideal_time_beyond_those_of_results_is_none() {
    let ideal = |size: &str| {
        let flow = format!("[stop]\nat = \"1 us\"\n[[flow]]\nfrom = 0\nto = 1\nsize = \"{size}\"\n");
        run(&checked(&cables(2, &[(0, 1)], &flow))).flows[0].ideal
    };
    assert_eq!(ideal("100000 TB"), Some(Time(8_000_000_000_000_000_000) + Time::ns(5)));
    assert_eq!(ideal("1000000 TB"), None);
}

/// Frames of 48 B and payload take at 400 Gb/s 20 ps a byte: one of 50 B a tick of 1 ns, one of 49 B less.
#[test]
fn a_clock_is_judged_by_frames_that_occur() {
    let text = |more: &str| {
        format!(
            "[topology]\nkind = \"star\"\nhosts = 3\nrate = \"400 Gb/s\"\nlink_delay = \"1 us\"\n[packet]\n\
             payload = \"1000 B\"\nheader = \"48 B\"\ngap = \"0 B\"\nclock = \"1 ns\"\n{more}"
        )
    };
    let flow = |more: &str| text(&format!("[[flow]]\nfrom = 0\nto = 1\n{more}"));
    let read = |text: &str| Scenario::from_text(text, "net.toml", Path::new("."));
    let refused = |text: &str| {
        let error = read(text).and_then(|s| s.check()).err();
        error.map(|error| (error.key.unwrap_or_default(), error.reason.contains("49 B on the wire")))
    };
    let short = Some(("packet.clock".to_owned(), true));
    assert_eq!(refused(&flow("size = \"2 KB\"\n")), None);
    assert_eq!(refused(&flow("size = \"2003 B\"\n")), None, "51 B");
    assert_eq!(refused(&flow("size = \"2001 B\"\n")), short);
    assert_eq!(refused(&flow("sizes = \"web-search\"\narrivals = \"poisson\"\nload = \"10 %\"\ncount = 3\n")), short);
    // Acknowledgements, headers of trimmed packets, and messages of ports for credit or retries are frames, too.
    for more in [
        "[ack]\nsize = \"50 B\"\n",
        "[transport]\nrecovery = \"selective-repeat\"\n[trim]\n",
        "[llr]\n",
        "[cbfc]\ncredits = 1000\n",
    ] {
        let text = format!("{}{more}", flow("size = \"2 KB\"\n"));
        assert_eq!(refused(&text).map(|(key, _)| key).as_deref(), Some("packet.clock"), "{more}");
    }
    // The rows of a table are known when they are read.
    let row = |bytes| TableFlow {
        id: 0,
        src: 0,
        dst: 1,
        bytes,
        start: Time::ZERO,
        class: None,
        path: None,
        ack_path: None,
        link: None,
    };
    let table = |bytes| {
        let scenario = read(&text("")).unwrap().with_flows("given", [row(bytes)].into());
        build(&scenario.check().unwrap(), 1).err().and_then(|error| error.key)
    };
    assert_eq!((table(2000), table(2001).as_deref()), (None, Some("packet.clock")));
}

/// Two limits of a slow host, one for the class and one for the whole link, are lifted at the same instant. A frame of PAUSE names no class,
/// so these are two frames. (A random scenario found that they became one.)
#[test]
fn a_slow_host_resumes_a_class_and_the_link_at_once() {
    let slow = "[[fault]]\nkind = \"slow-receiver\"\nhost = \"h4\"\nrate = \"1 Mb/s\"\nxoff = \"1 B\"\nxon = \"1 B\"\n";
    let rows = run(&checked(&format!(
        "[topology]\nkind = \"dumbbell\"\nleft_hosts = 3\nright_hosts = 3\nrate = \"1 Gb/s\"\nlink_delay = \"0 s\"\n\
         [[flow]]\nfrom = [0, 1, 2]\nto = 4\nsize = \"18 B\"\n{slow}{slow}link = true\n"
    )));
    assert!(rows.flows.iter().all(|flow| flow.received == 18));
    let resumes = rows.control.iter().filter(|row| row.kind == "mac-control" && row.value == 0);
    let classes: Vec<_> = resumes.map(|row| row.class).collect();
    assert!(classes.contains(&None) && classes.contains(&Some(Class(3))), "{classes:?}");
}
