//! Tests imports of NCCL topologies.

use crate::{fixture, imported};
use backwater_import::{Imported, Memory, Options, Source, import, mutation};

fn text(name: &str) -> String {
    String::from_utf8(fixture(&format!("nccl/{name}"))).expect("text")
}

fn servers(count: u32) -> Options {
    Options { servers: Some(count), ..Options::default() }
}

fn done(text: &str, options: &Options) -> (Imported, toml::Table) {
    let (result, _) = imported(&[("t", text)], options).unwrap_or_else(|error| panic!("{error}"));
    let scenario = result.scenario.parse().unwrap_or_else(|error| panic!("{error}\n{}", result.scenario));
    (result, scenario)
}

/// Returns the notes on which GPU uses which NIC, without the kind of path.
fn uses(result: &Imported) -> Vec<String> {
    let reported = result.notes.iter().filter(|note| note.text.contains(" uses NIC "));
    reported.map(|note| note.text.rsplit_once(": ").unwrap().0.to_owned()).collect()
}

fn has(result: &Imported, note: &str) {
    let notes: Vec<String> = result.notes.iter().map(ToString::to_string).collect();
    assert!(notes.iter().any(|own| own.starts_with(note)), "{note} is missing in {notes:#?}");
}

/// Returns the links of an explicit topology, as `a-b RATE`.
fn links(scenario: &toml::Table) -> Vec<String> {
    let line = |link: &toml::Value| {
        let [a, b, rate] = ["a", "b", "rate"].map(|key| link[key].as_str().unwrap());
        format!("{a}-{b} {rate}")
    };
    scenario["topology"]["link"].as_array().unwrap().iter().map(line).collect()
}

/// Returns a server of one CPU with devices below one bridge.
fn below_one_bridge(devices: &str) -> String {
    format!(
        "<system version=\"1\">\n<cpu numaid=\"0\" arch=\"x86_64\" vendor=\"AuthenticAMD\">\n\
         <pci busid=\"0000:01:00.0\" class=\"0x060400\" link_speed=\"16 GT/s\" link_width=\"16\">\n{devices}</pci>\n</cpu>\n</system>\n"
    )
}

fn gpu(dev: u32, nvlinks: &str) -> String {
    format!(
        "<pci busid=\"0000:1{dev}:00.0\" class=\"0x030200\" link_speed=\"16 GT/s\" link_width=\"16\">\n\
         <gpu dev=\"{dev}\" sm=\"80\" rank=\"{dev}\" gdr=\"1\">{nvlinks}</gpu>\n</pci>\n"
    )
}

fn nic(dev: u32, mbps: u32, width: u32) -> String {
    format!(
        "<pci busid=\"0000:2{dev}:00.0\" class=\"0x020700\" link_speed=\"16 GT/s\" link_width=\"{width}\">\n\
         <nic><net name=\"n{dev}\" dev=\"{dev}\" speed=\"{mbps}\" gdr=\"1\"/></nic>\n</pci>\n"
    )
}

/// Two bridges below a bridge have a GPU and a NIC each. NVML numbers GPUs by their busid, which differs from the order
/// of the file.
#[test]
fn azure_ndv4_has_a_nic_for_each_gpu() {
    let (result, scenario) = done(&text("ndv4-topo.xml"), &Options::default());
    let busids = ["0001", "0002", "0003", "0004", "000b", "000c", "000d", "000e"];
    let expected = (0..8).map(|n| format!("GPU {n} ({}:00:00.0) uses NIC 010{}:00:00.0", busids[n], n + 1));
    assert_eq!(uses(&result), expected.collect::<Vec<_>>());
    has(&result, "t:12: verdict: GPU 0 (0001:00:00.0) uses NIC 0101:00:00.0: PIX, 192 Gb/s by NCCL's reckoning");
    // Without NVLinks each GPU has one link: two servers on eight rails.
    let topology = &scenario["topology"];
    let number = |key: &str| topology[key].as_integer();
    assert_eq!(topology["kind"].as_str(), Some("leaf-spine"));
    assert_eq!(
        ["leaves", "spines", "hosts_per_leaf", "rails"].map(number),
        [8, 2, 2, 8].map(Some),
        "{}",
        result.scenario
    );
    assert_eq!(topology["rate"].as_str(), Some("200 Gb/s"));
    has(&result, "t:5: assumed: rates of NICs");
    has(&result, "t: assumed: 2 servers; --servers N says another number");
    has(&result, "t: assumed: no NVLinks");
    let (_, scenario) = done(&text("ndv4-topo.xml"), &servers(16));
    assert_eq!(scenario["topology"]["hosts_per_leaf"].as_integer(), Some(16));
}

#[test]
fn azure_ndv5_has_a_bridge_for_each_gpu() {
    let (result, scenario) = done(&text("ndv5-topo.xml"), &Options::default());
    let busids = ["0001", "0002", "0003", "0008", "0009", "000a", "000b", "000c"];
    let expected = (0..8).map(|n| format!("GPU {n} ({}:00:00.0) uses NIC 010{}:00:00.0", busids[n], n + 1));
    assert_eq!(uses(&result), expected.collect::<Vec<_>>());
    assert_eq!(scenario["topology"]["rate"].as_str(), Some("400 Gb/s"));
}

/// Each of four bridges has two GPUs and a NIC of 100 Gb/s: each GPU gets half of it.
#[test]
fn aws_p4d_shares_each_nic() {
    let (result, scenario) = done(&text("p4d-24xl-topo.xml"), &Options::default());
    let at = ["10", "10", "20", "20", "90", "90", "a0", "a0"];
    let expected =
        (0..8).map(|n| format!("GPU {n} (0000:{}:1{}.0) uses NIC 0000:{}:1b.0", at[n], ["c", "d"][n % 2], at[n]));
    assert_eq!(uses(&result), expected.collect::<Vec<_>>());
    has(&result, "t:20: differs: NIC 0000:10:1b.0 serves 2 GPUs: each has a link of 50 Gb/s");
    let topology = &scenario["topology"];
    assert_eq!((topology["rate"].as_str(), topology["rails"].as_integer()), (Some("50 Gb/s"), Some(8)));
}

/// One NIC is at the first of four CPUs, and NVLinks lead back to their own GPU.
#[test]
fn azure_ncv4_has_one_nic() {
    let (result, scenario) = done(&text("ncv4-topo.xml"), &servers(3));
    let expected = (0..4).map(|n| format!("GPU {n} (000{}:00:00.0) uses NIC eth0", n + 1));
    assert_eq!(uses(&result), expected.collect::<Vec<_>>());
    has(&result, "t:4: verdict: GPU 0 (0001:00:00.0) uses NIC eth0: PHB, 96 Gb/s");
    has(&result, "t:14: verdict: GPU 1 (0002:00:00.0) uses NIC eth0: SYS, 96 Gb/s");
    has(&result, "t:5: ignored: NVLinks of a GPU to itself, whatever their target and count (and lines 15, 22, 29)");
    assert_eq!(scenario["topology"]["rate"].as_str(), Some("25 Gb/s"));
    assert_eq!(scenario["topology"]["hosts_per_leaf"].as_integer(), Some(3));
}

/// 18 NVLinks of 20.6 GB/s lead to four switches, which NCCL counts as one.
#[test]
fn a_dump_has_nvlinks_and_rates() {
    let (result, scenario) = done(&text("dump.xml"), &Options::default());
    let expected = (0..4).map(|n| format!("GPU {n} (0000:{}:00.0) uses NIC mlx5_{n}", ["19", "5e", "9b", "dc"][n]));
    assert_eq!(uses(&result), expected.collect::<Vec<_>>());
    let expected: toml::Table = "kind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 2\nrails = 4\nrate = \"400 Gb/s\"\n\
                                 link_delay = \"500 ns\"\n[nvlink]\ngpus = 4\nrate = \"2966.4 Gb/s\"\ndelay = \"25 ns\"\n"
        .parse()
        .unwrap();
    assert_eq!(scenario["topology"].as_table(), Some(&expected));
    assert!(result.notes.iter().all(|note| !note.text.contains("rates of NICs") && !note.text.contains("no NVLinks")));
    has(&result, "t: differs: PXN");
    has(
        &result,
        "t: assumed: links within a server: 25 ns a link, and by NCCL's reckoning 164.8 Gb/s each of the NVLinks of sm 90",
    );
    // A single server gets one spine, so that the fabric is connected without NVLink, too.
    let (_, scenario) = done(&text("dump.xml"), &servers(1));
    assert_eq!(scenario["topology"]["spines"].as_integer(), Some(1));
    // The topology kinds have no key for a GPU with fewer NVLinks, so the links are listed.
    let fewer = text("dump.xml").replacen("count=\"4\"", "count=\"3\"", 1);
    let (_, scenario) = done(&fewer, &servers(2));
    assert_eq!(links(&scenario)[..2], ["h0-nvlink0 2801.6 Gb/s", "h1-nvlink0 2966.4 Gb/s"]);
    assert_eq!(links(&scenario).len(), 2 * (4 + 4) + 4 * 2);
}

/// The rate of an NVLink by generation: 18, 20, 20, 12, 20.6 and 40.1 GB/s.
#[test]
fn nvlinks_are_as_fast_as_nccl_takes_them_to_be() {
    for (sm, rate) in
        [(60, "1440"), (70, "1600"), (75, "1600"), (80, "1600"), (86, "960"), (89, "1600"), (90, "1648"), (100, "3208")]
    {
        let links = "<nvlink target=\"0000:05:00.0\" count=\"10\" tclass=\"0x068000\"/>";
        let devices = [gpu(0, links), gpu(1, links), nic(0, 100_000, 16)].concat();
        let devices = devices.replace("sm=\"80\"", &format!("sm=\"{sm}\""));
        let (_, scenario) = done(&below_one_bridge(&devices), &servers(1));
        assert_eq!(scenario["topology"]["nvlink"]["rate"].as_str(), Some(format!("{rate} Gb/s").as_str()), "{sm}");
    }
}

#[test]
fn gpus_that_are_joined_directly_have_links() {
    let to =
        |dev: u32, count: u32| format!("<nvlink target=\"0000:1{dev}:00.0\" count=\"{count}\" tclass=\"0x030200\"/>");
    let devices = [gpu(0, &to(1, 4)), gpu(1, &to(0, 4)), nic(0, 100_000, 16)].concat();
    let (_, scenario) = done(&below_one_bridge(&devices), &servers(1));
    let expected =
        ["h0-h1 640 Gb/s", "h0-leaf0 50 Gb/s", "h1-leaf1 50 Gb/s", "leaf0-spine0 50 Gb/s", "leaf1-spine0 50 Gb/s"];
    assert_eq!(links(&scenario), expected);
    let lies = devices.replace(&to(0, 4), &to(0, 3));
    let error = imported(&[("t", &below_one_bridge(&lies))], &servers(1)).unwrap_err().to_string();
    assert_eq!(error, "t:5: `0000:10:00.0`: links of 640 Gb/s to GPU 0000:11:00.0, which has links of 480 Gb/s back");
}

/// Four AMD GPUs, joined in pairs and each with a NIC: RCCL's version 2.
#[test]
fn amds_gpus_are_joined_by_xgmi() {
    let (result, scenario) = done(&text("rccl.xml"), &servers(2));
    // A link of gfx942 has 48 GB/s. A server has six pairs.
    let direct: Vec<String> = links(&scenario).into_iter().filter(|link| !link.contains("leaf")).collect();
    let pairs = |first: u32| (0..4).flat_map(move |a| (a + 1..4).map(move |b| (first + a, first + b)));
    let expected: Vec<String> = pairs(0).chain(pairs(4)).map(|(a, b)| format!("h{a}-h{b} 384 Gb/s")).collect();
    assert_eq!(direct, expected);
    assert_eq!(uses(&result)[3], "GPU 3 (0000:3a:00.0) uses NIC mlx5_3");
    has(
        &result,
        "t: assumed: links within a server: 25 ns a link, and by NCCL's reckoning 384 Gb/s each of the xGMI links of gfx942",
    );
    let carried = |gcn: &str| {
        let (result, scenario) = done(&text("rccl.xml").replace("gfx942", gcn), &servers(1));
        let note = result.notes.iter().find(|note| note.text.contains("links within a server")).unwrap();
        (links(&scenario)[0].clone(), note.text.rsplit_once(" of ").unwrap().1.to_owned())
    };
    // `ncclTopoXGMISpeed`: 36, 48 and 24 GB/s.
    assert_eq!(carried("910"), ("h0-h1 288 Gb/s".to_owned(), "gfx90a".to_owned()));
    assert_eq!(carried("gfx950"), ("h0-h1 384 Gb/s".to_owned(), "gfx950".to_owned()));
    assert_eq!(carried("908"), ("h0-h1 192 Gb/s".to_owned(), "gfx908".to_owned()));
    let shared = text("rccl.xml").replace("rank=\"0\"", "rank=\"0,1\"");
    has(&done(&shared, &servers(1)).0, "t:5: ignored: <gpu>: ranks that share a GPU are one here");
    let without = text("rccl.xml").replacen(" gcn=\"gfx942\"", "", 1);
    let error = imported(&[("t", &without)], &servers(1)).unwrap_err().to_string();
    assert!(error.starts_with("t:5: <gpu> has xGMI links and no gcn"), "{error}");
}

/// `ncclTopoGetLocalNetType` gives two GPUs two each of four equally near NICs. The second GPU begins at NIC 2, the
/// mirrored bits of 1. With three NICs, each GPU gets two, from its own number on, and both share the middle one.
#[test]
fn several_nics_are_spread() {
    let nics = |count: u32| (0..count).map(|dev| nic(dev, 100_000, 16)).collect::<String>();
    let of = |count: u32| done(&below_one_bridge(&[gpu(0, ""), gpu(1, ""), nics(count)].concat()), &servers(2));
    let (result, scenario) = of(4);
    assert_eq!(uses(&result), ["GPU 0 (0000:10:00.0) uses NIC n0 and n1", "GPU 1 (0000:11:00.0) uses NIC n2 and n3"]);
    assert_eq!(scenario["nic"]["link"].as_str(), Some("least-loaded"));
    let own: Vec<String> = links(&scenario).into_iter().filter(|link| link.starts_with("h3-")).collect();
    assert_eq!(own, ["h3-leaf2 100 Gb/s", "h3-leaf3 100 Gb/s"]);
    let (result, scenario) = of(3);
    assert_eq!(uses(&result), ["GPU 0 (0000:10:00.0) uses NIC n0 and n1", "GPU 1 (0000:11:00.0) uses NIC n1 and n2"]);
    let own: Vec<String> = links(&scenario).into_iter().filter(|link| link.starts_with("h0-")).collect();
    assert_eq!(own, ["h0-leaf0 100 Gb/s", "h0-leaf1 50 Gb/s"]);
}

/// The rate of a path counts before its length.
#[test]
fn a_slow_pci_link_makes_a_far_nic_the_nearer_one() {
    let far = nic(1, 200_000, 16);
    let server = |width: u32| {
        let near = below_one_bridge(&[gpu(0, ""), nic(0, 200_000, width)].concat());
        near.replace("</cpu>", &format!("{far}</cpu>"))
    };
    // Four lanes of 12 Gb/s each are slower than the path through the CPU.
    let (result, _) = done(&server(4), &Options::default());
    assert_eq!(uses(&result), ["GPU 0 (0000:10:00.0) uses NIC n1"]);
    has(&result, "t:5: verdict: GPU 0 (0000:10:00.0) uses NIC n1: PHB, 192 Gb/s");
    has(&result, "t:8: ignored: NIC n0, which no GPU uses");
    let (result, _) = done(&server(16), &Options::default());
    has(&result, "t:5: verdict: GPU 0 (0000:10:00.0) uses NIC n0: PIX, 192 Gb/s");
}

/// Without GPU direct RDMA, all data goes through the CPU, so a NIC behind the same bridge is not nearer than one
/// beside it.
#[test]
fn without_direct_access_the_cpu_lies_between() {
    let devices = [gpu(0, ""), nic(0, 200_000, 16)].concat().replace("gdr=\"1\"", "gdr=\"0\"");
    let (result, _) = done(&below_one_bridge(&devices), &Options::default());
    has(&result, "t:5: verdict: GPU 0 (0000:10:00.0) uses NIC n0: PHB, 192 Gb/s");
    // A second bridge is between them.
    let inner = "<pci busid=\"0000:02:00.0\" class=\"0x060400\" link_speed=\"16 GT/s\" link_width=\"16\">\n";
    let devices = format!("{}{inner}{}</pci>\n", gpu(0, ""), nic(0, 200_000, 16));
    let (result, _) = done(&below_one_bridge(&devices), &Options::default());
    has(&result, "t:5: verdict: GPU 0 (0000:10:00.0) uses NIC n0: PXB, 192 Gb/s");
}

/// NCCL lists a NIC that it cannot place once for each CPU.
#[test]
fn a_nic_that_stands_at_each_cpu_is_one() {
    let one = "<nic><net name=\"eth0\" dev=\"0\" speed=\"10000\" gdr=\"0\"/></nic>\n";
    let devices =
        below_one_bridge(&gpu(0, "")).replace("</cpu>", &format!("{one}</cpu>\n<cpu numaid=\"1\">\n{one}</cpu>"));
    let (result, scenario) = done(&devices, &Options::default());
    assert_eq!(uses(&result), ["GPU 0 (0000:10:00.0) uses NIC eth0"]);
    has(&result, "t:11: ignored: <net> that is there already");
    assert_eq!(scenario["topology"]["rate"].as_str(), Some("10 Gb/s"));
}

#[test]
fn servers_without_nics_are_one() {
    let links = "<nvlink target=\"0000:05:00.0\" count=\"1\" tclass=\"0x068000\"/>";
    let file = below_one_bridge(&[gpu(0, links), gpu(1, links)].concat());
    let (result, scenario) = done(&file, &Options::default());
    assert_eq!(scenario["topology"]["kind"].as_str(), Some("star"));
    assert_eq!(scenario["topology"]["rate"].as_str(), Some("160 Gb/s"));
    has(&result, "t: assumed: one server: it has no NIC");
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    let whole = below_one_bridge(&[gpu(0, ""), gpu(1, ""), nic(0, 100_000, 16)].concat());
    let with = |from: &str, to: &str| {
        assert!(whole.contains(from), "{from}");
        whole.replacen(from, to, 1)
    };
    let link = |text: &str| with("gdr=\"1\"></gpu>", &format!("gdr=\"1\">{text}</gpu>"));
    for (file, expected) in [
        (with("version=\"1\"", "version=\"3\""), "t:1: `3`: NCCL has version 1 alone, and RCCL version 2"),
        (with(" version=\"1\"", ""), "t:1: <system> has no version"),
        (with("numaid=\"0\"", "numaid=\"0x\""), "t:2: `0x`: is no numaid of <cpu>"),
        (with("</cpu>", "</cpu><cpu numaid=\"0\"/>"), "t:14: the CPU of numaid 0 is there already"),
        (
            with("</cpu>", "</cpu><cpu numaid=\"1\" host_hash=\"0x7\"/>"),
            "t:14: `0x7`: a CPU of another server, as host_hash says\nhint: give the topology of one server",
        ),
        (with("0000:11:00.0", "0000:10:00.0"), "t:7: `0000:10:00.0`: busid is there already, at line 4"),
        // The same number in another spelling.
        (with("0000:11:00.0", "00001000.0"), "t:7: `00001000.0`: busid is there already, at line 4"),
        (with("0000:11:00.0", "0000:1x:00.0"), "t:7: `0000:1x:00.0`: is no busid of <pci>"),
        (with("busid=\"0000:11:00.0\"", ""), "t:7: <pci> has no busid"),
        (with("dev=\"1\"", "dev=\"0\""), "t:8: GPU 0 is there already, at line 5"),
        (with("dev=\"1\"", "dev=\"4294967296\""), "t:8: `4294967296`: is no dev of <gpu>"),
        (with("dev=\"1\"", ""), "t:8: <gpu> has no dev"),
        (with("link_width=\"16\"", "link_width=\"2147483648\""), "t:3: `2147483648`: is no link_width of <pci>"),
        (with("link_width=\"16\"", "link_width=\"-1\""), "t:3: `-1`: is no link_width of <pci>"),
        (with("speed=\"100000\"", "speed=\"2147483648\""), "t:11: `2147483648`: is no speed of <net>"),
        (with("speed=\"100000\"", "speed=\"1e5\""), "t:11: `1e5`: is no speed of <net>"),
        (with("</nic>", "<net name=\"m\" dev=\"0\" speed=\"1\"/></nic>"), "t:11: <net> 0 is there already, at line 11"),
        (link("<nvlink tclass=\"0x068000\"/>"), "t:5: <nvlink> has no count"),
        (link("<nvlink count=\"0\" tclass=\"0x068000\"/>"), "t:5: `0`: count: a GPU has 1 to 1000 links in all"),
        (link("<nvlink count=\"2147483648\" tclass=\"0x068000\"/>"), "t:5: `2147483648`: count: a GPU has 1 to 1000"),
        (link("<nvlink count=\"4294967296\" tclass=\"0x068000\"/>"), "t:5: `4294967296`: is no count of <nvlink>"),
        (
            link(&"<nvlink count=\"600\" tclass=\"0x068000\"/>".repeat(2)),
            "t:5: `600`: count: a GPU has 1 to 1000 links in all",
        ),
        (link("<nvlink count=\"1\" target=\"0000:11:00.0\"/>"), "t:5: <nvlink> has no tclass"),
        (link("<nvlink count=\"1\" tclass=\"0x030200\"/>"), "t:5: ``: <nvlink> to a GPU has no target that is a busid"),
        (
            link("<nvlink count=\"1\" tclass=\"0x068000\"/>").replace(" sm=\"80\"", ""),
            "t:5: <gpu> has NVLinks and no sm",
        ),
        (
            link("<nvlink count=\"1\" target=\"0000:11:00.0\" tclass=\"0x030200\"/>"),
            "t:5: `0000:10:00.0`: links of 160 Gb/s to GPU 0000:11:00.0, which has links of 0 b/s back",
        ),
        (with("</cpu>", "</cpv>"), "t:14: not well-formed XML"),
    ] {
        let error = imported(&[("t", &file)], &Options::default()).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}\nis not {expected}\n{file}");
    }
    let no_class = "<system version=\"1\"><cpu numaid=\"0\">\n<pci busid=\"0000:00:16.0\"/></cpu></system>";
    for (file, expected) in [
        (
            no_class,
            "t:2: `0000:00:16.0`: <pci> has no class: NCCL asks the machine what it is\nhint: give what NCCL writes",
        ),
        ("<system version=\"1\"><cpu numaid=\"0\"/></system>", "t:1: there is no GPU"),
        (&below_one_bridge(&gpu(0, "")), "t:1: no GPU has a NIC, an NVLink or an xGMI link"),
    ] {
        let error = imported(&[("t", file)], &Options::default()).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}\nis not {expected}");
    }
    for (count, expected) in
        [(0, "t:1: --servers 0: there is no server"), (40_000, "t:5: 40000 servers of 2 GPUs have 80000 hosts")]
    {
        let error = imported(&[("t", &whole)], &servers(count)).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}\nis not {expected}");
    }
    let fabric = Options { fabric: Some(("star.toml".into(), String::new())), ..Options::default() };
    let (result, _) = imported(&[("t", &whole)], &fabric).unwrap();
    has(&result, "--fabric: ignored: the files have no workload to run on it");
}

/// Nested bridges, and devices, as many as a file can hold.
#[test]
fn what_is_deep_or_wide_is_refused() {
    let open =
        |n: usize| format!("<pci busid=\"{n:x}\" class=\"0x060400\" link_speed=\"16 GT/s\" link_width=\"16\">\n");
    for depth in [65, 100_000] {
        let inside = (2..depth + 2).map(open).collect::<String>() + &"</pci>\n".repeat(depth);
        let error = imported(&[("t", &below_one_bridge(&inside))], &Options::default()).unwrap_err().to_string();
        assert!(error.contains("bridges, each below another") || error.contains("not well-formed"), "{error}");
    }
    let many = |count: usize, class: &str| {
        let one = |n: usize| open(n).replace("0x060400", class).replace(">\n", "/>\n");
        below_one_bridge(&(2..count + 2).map(one).collect::<String>())
    };
    for (class, what) in [("0x030200", "GPUs"), ("0x020700", "NICs")] {
        let error = imported(&[("t", &many(100_000, class))], &Options::default()).unwrap_err().to_string();
        assert_eq!(error, format!("t:644: more than 640 {what}"));
    }
}

/// One GPU is the nearest to all NICs. By NCCL's rule, each of the others therefore uses them all.
#[test]
fn too_many_ports_are_refused() {
    let device = |n: u32, class: &str, width: u32| {
        format!("<pci busid=\"{n:x}\" class=\"{class}\" link_speed=\"16 GT/s\" link_width=\"{width}\"/>\n")
    };
    let gpus = (0..65).map(|n| device(0x1_0000 + n, "0x030200", if n == 0 { 16 } else { 8 }));
    let nics = (0..64).map(|n| device(0x2_0000 + n, "0x020700", 16));
    let file = below_one_bridge(&gpus.chain(nics).collect::<String>());
    let error = imported(&[("t", &file)], &Options::default()).unwrap_err().to_string();
    assert_eq!(
        error,
        "t:4: GPUs use 4160 ports of NICs: each of them is as near to as many\nhint: 4096 ports of a server at most"
    );
}

/// Mutations of a complete topology, with several servers.
#[test]
fn mutated_topologies_are_read_or_refused() {
    let original = fixture("nccl/dump.xml");
    let options = Options { format: Some("nccl".into()), servers: Some(3), ..Options::default() };
    let mut read = 0;
    for seed in 0..600 {
        let source = Source::octets("it", mutation::of(&original, seed));
        if let Ok(result) = import(vec![source], "it", &options, &mut Memory::default()) {
            result.scenario.parse::<toml::Table>().unwrap_or_else(|error| panic!("{seed}: {error}"));
            read += 1;
        }
    }
    assert!(read > 60, "{read} of 600");
}
