//! Every kind of bad input gives one clear error: place, line, value, reason, hint. The complete texts are in `errors.expected` beside it;
//! `UPDATE_EXPECT=1 cargo test` writes it anew, so a change is a readable diff.

use backwater::{Scenario, ScenarioError, build};
use expect_test::expect_file;
use std::fmt::Write as _;
use std::path::Path;

/// 4 hosts around one switch, buffer of 400 KB per ingress port.
const STAR: &str = "[topology]
kind = \"star\"
hosts = 4
rate = \"200 Gb/s\"
link_delay = \"150 ns\"
[switch]
buffer = \"400 KB\"
buffer_per = \"ingress\"
";

const CLOS: &str = "[topology]
kind = \"leaf-spine\"
leaves = 2
spines = 2
hosts_per_leaf = 2
rate = \"200 Gb/s\"
link_delay = \"150 ns\"
";

const LINE: &str = "[topology]
kind = \"explicit\"
node = [
    { name = \"a\", kind = \"host\" },
    { name = \"s\", kind = \"switch\" },
    { name = \"b\", kind = \"host\" },
    { name = \"t\", kind = \"switch\" },
]
";

const HOSTS: &str = "[topology]
kind = \"explicit\"
node = [
    { name = \"a\", kind = \"host\" },
    { name = \"b\", kind = \"host\" },
    { name = \"c\", kind = \"host\" },
]
link = [
    { a = \"a\", b = \"b\", rate = \"1 Gb/s\", delay = \"0 ns\" },
    { a = \"b\", b = \"c\", rate = \"1 Gb/s\", delay = \"0 ns\" },
]
";

fn whole(text: &str) -> Result<(), ScenarioError> {
    let scenario = Scenario::from_text(text, "net.toml", Path::new("tests"))?;
    for variant in scenario.variants() {
        scenario.with_variant(&variant)?.check()?;
    }
    build(&scenario.check()?, 1).map(|_| ())
}

#[test]
fn a_variant_that_is_wrong_stands_in_no_other_ones_way() {
    let tables = "[variant.good]\nseed = 2\n[variant.bad.pfc]\nxofff = \"380 KB\"\n[variant.nested.variant.a]\nseed = 3\n[variant]\nnone = 3\n";
    let scenario = Scenario::from_text(&format!("{STAR}{tables}"), "net.toml", Path::new(".")).unwrap();
    assert_eq!(scenario.variants(), ["good", "bad", "nested", "none"]);
    assert_eq!(scenario.with_variant("good").unwrap().seed(), 2);
    for (name, line, reason) in [("bad", 12, "unknown key `xofff`"), ("nested", 13, "a variant has no variants")] {
        let error = scenario.with_variant(name).map(|_| ()).unwrap_err();
        assert_eq!((error.line, error.reason.as_str()), (Some(line), reason));
    }
    assert!(scenario.with_variant("none").is_err());
}

fn star(more: &str) -> Result<(), ScenarioError> {
    whole(&format!("{STAR}{more}"))
}

/// As above, but each queue of a port has a memory of its own.
fn own_queues(more: &str) -> Result<(), ScenarioError> {
    whole(&format!("{}{more}", STAR.replace("ingress", "queue")))
}

/// Sizes for eight queues.
const SIZES: &str = "[\"800 KB\", \"800 KB\", \"800 KB\", \"400 KB\", \"800 KB\", \"800 KB\", \"800 KB\", \"800 KB\"]";

const TRIM: &str = "[transport]\nrecovery = \"selective-repeat\"\nin_order = false\n[trim]\n";

fn flow(more: &str) -> Result<(), ScenarioError> {
    star(&format!("[[flow]]\n{more}"))
}

/// Flows of class 3, and others of class 0.
fn confined(more: &str) -> Result<(), ScenarioError> {
    let group = |label: &str, class: u8| {
        format!("[[flow]]\nlabel = \"{label}\"\nfrom = 0\nto = 1\nsize = \"1 KB\"\nclass = {class}\n")
    };
    star(&format!("[ecn]\n{}{}{more}", group("roce", 3), group("tcp", 0)))
}

const JOB: &str = "[[job]]\nranks = 4\n";
const STEP: &str = "[[job.step]]\nkind = \"compute\"\ntime = \"1 us\"\n";

/// A job of four ranks whose steps compute.
fn job(more: &str, first: &str, others: &[&str]) -> Result<(), ScenarioError> {
    let step = |more: &&str| format!("{STEP}{more}\n");
    star(&format!("{JOB}{more}{}{}", step(&first), others.iter().map(step).collect::<String>()))
}

/// A job of four ranks with the given step.
fn steps(step: &str) -> Result<(), ScenarioError> {
    star(&format!("{JOB}[[job.step]]\n{step}\n"))
}

fn pipeline(keys: &str) -> Result<(), ScenarioError> {
    star(&format!("{JOB}[job.pipeline]\nforward = \"1 us\"\n{keys}\n"))
}

fn set(key: &str, value: &str) -> Result<(), ScenarioError> {
    Scenario::from_text(STAR, "net.toml", Path::new("tests"))?.with_set(key, value)?.check().map(|_| ())
}

fn cases() -> Vec<(&'static str, Result<(), ScenarioError>)> {
    let links = |list: &str| {
        whole(&format!("{LINE}link = [\n{list}\n]\n[[flow]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 KB\"\n"))
    };
    let link = |a: &str, b: &str| format!("    {{ a = \"{a}\", b = \"{b}\", rate = \"1 Gb/s\", delay = \"0 ns\" }},\n");
    let two = |more: &str| {
        let list = link("a", "s") + &link("a", "t") + &link("b", "s");
        whole(&format!("{LINE}link = [\n{list}]\n{more}"))
    };
    let clos = |more: &str| whole(&format!("{CLOS}[[flow]]\nfrom = 0\nto = 3\nsize = \"1 MB\"\n{more}"));
    vec![
        ("empty file", whole("")),
        ("syntax", whole("[topology\nkind = 1\n")),
        ("no quotes", whole("[topology]\nkind = star\n")),
        ("key twice", whole("seed = 1\nseed = 2\n")),
        ("variant twice", star("[variant.a]\nseed = 1\n[variant.a]\nseed = 2\n")),
        ("binary", whole("\u{0}\u{1}\u{2}ELF\u{7f}")),
        ("unknown key", star("[pfc]\nxof = \"380 KB\"\n")),
        ("unknown table", star("[pfd]\nxoff = \"380 KB\"\n")),
        ("unknown key in a variant", star("[variant.a.pfc]\nxofff = \"380 KB\"\n")),
        ("unknown kind", whole("[topology]\nkind = \"leafspine\"\n")),
        ("no kind", whole("[topology]\nhosts = 3\n")),
        ("key of another kind", whole("[topology]\nkind = \"star\"\nhosts = 3\nspines = 4\n")),
        ("PFC and nothing else", whole("[pfc]\n")),
        ("PFC in a star of nothing", whole("[topology]\nkind = \"star\"\n[pfc]\n")),
        (
            "PFC with a dynamic threshold in a topology of no kind",
            whole("[topology]\n[pfc]\nthreshold = \"dynamic\"\n"),
        ),
        ("missing key", whole("[topology]\nkind = \"star\"\nhosts = 3\nrate = \"1 Gb/s\"\n")),
        ("missing unit", star("[pfc]\nxoff = 380000\n")),
        ("missing unit in a string", star("[pfc]\nxoff = \"380\"\n")),
        ("wrong unit", star("[pfc]\nxoff = \"380 us\"\n")),
        ("bits for bytes", star("[pfc]\nxoff = \"380 Kb\"\n")),
        ("negative", star("[pfc]\nxoff = \"-380 KB\"\n")),
        ("fraction of the smallest unit", star("[sfc]\nthreshold = \"1 KB\"\npause = \"0.1 ps\"\n")),
        ("too large for a quantity", star("[pfc]\nxoff = \"99999999999999 TB\"\n")),
        ("not a number", star("[ecn]\npmax = nan\n")),
        ("percentage of what is a number", star("[ecn]\npmax = \"1 %\"\n")),
        ("infinite", star("[ecn]\npmax = inf\n")),
        ("negative number", star("[ecn]\npmax = -0.5\n")),
        ("recovery without acknowledgements", star("[ack]\nenabled = false\n[transport]\nrecovery = \"go-back-n\"\n")),
        ("window without acknowledgements", star("[ack]\nenabled = false\n[transport]\nwindow = \"bdp\"\n")),
        (
            "clusters of no size",
            flow("pattern = \"clusters\"\nsize = \"1 KB\"\narrivals = \"poisson\"\nload = \"1 %\"\nuntil = \"1 us\"\n"),
        ),
        ("clusters that do not divide", flow("pattern = \"gather\"\ncluster = 3\nsize = \"1 KB\"\n")),
        ("cluster of another pattern", flow("pattern = \"all-to-all\"\ncluster = 2\nsize = \"1 KB\"\n")),
        ("receivers of clusters", flow("pattern = \"gather\"\ncluster = 2\nto = 1\nsize = \"1 KB\"\n")),
        ("pinned and placed", flow("from = 1\nto = 0\nvia = [\"s0\"]\nplacement = \"random\"\nsize = \"1 KB\"\n")),
        ("no classes", flow("from = 1\nto = 0\nclasses = []\nsize = \"1 KB\"\n")),
        ("class above 7 among classes", flow("from = 1\nto = 0\nclasses = [3, 8]\nsize = \"1 KB\"\n")),
        ("small without class", flow("from = 1\nto = 0\nsmall_below = \"10 KB\"\nsize = \"1 KB\"\n")),
        ("class of small without size", flow("from = 1\nto = 0\nsmall_class = 5\nsize = \"1 KB\"\n")),
        ("awaited group unknown", flow("from = 1\nto = 0\nsize = \"1 KB\"\n[stop]\nwhen = [\"flow\"]\n")),
        ("recorded group unknown", flow("from = 1\nto = 0\nsize = \"1 KB\"\n[output]\nwaits = [\"incst\"]\n")),
        ("table placed", flow("table = \"flows.csv\"\nplacement = \"random\"\n")),
        ("no recovery of that name", star("[transport]\nrecovery = \"go-back\"\n")),
        (
            "credit of each flow, and a limiter for each destination",
            star("[transport]\nrecovery = \"rud\"\n[qcn]\nper = \"destination\"\n[rccc]\n"),
        ),
        ("a window that counts, and go-back-n", star("[transport]\nrecovery = \"go-back-n\"\n[nscc]\n")),
        ("nothing is acknowledged at a time", star("[transport]\nrecovery = \"rud\"\n[ack]\nbytes = \"0 B\"\n")),
        ("no timeout", star("[transport]\nrecovery = \"go-back-n\"\ntimeout = \"0 s\"\n")),
        ("retries of no number", star("[transport]\nrecovery = \"go-back-n\"\nretries = \"many\"\n")),
        ("negative retries", star("[transport]\nrecovery = \"go-back-n\"\nretries = -1\n")),
        ("marks for a port without a rate", star("[ecn]\nreference_rate = \"0 Gb/s\"\n")),
        ("window below what is acknowledged", star("[ack]\nevery = 4\n[transport]\nwindow = \"10 KB\"\n")),
        ("window of no size", star("[transport]\nwindow = \"bpd\"\n")),
        ("scaled window that is none", star("[transport]\nwindow_scaling = true\n")),
        ("a clock in whose tick the shortest frame is over", star("[packet]\nclock = \"4 ns\"\n")),
        ("no packets per acknowledgement", star("[ack]\nevery = 0\n")),
        ("negative seed", whole("seed = -1\n")),
        ("huge integer", whole("seed = 99999999999999999999\n")),
        ("date", whole("title = 2025-01-01\n")),
        ("string for a number", star("[dcqcn]\nf = \"five\"\n")),
        ("fraction for a whole number", star("[dcqcn]\nf = 1.5\n")),
        ("table for a string", star("[pfc.xoff]\na = 1\n")),
        (
            "steps that wait for each other",
            job("", "label = \"a\"\nafter = [\"c\"]", &["label = \"b\"", "label = \"c\""]),
        ),
        ("a step that waits for itself", job("", "label = \"a\"\nafter = [\"a\"]", &[])),
        ("unknown step", job("", "label = \"think\"", &["label = \"say\"\nafter = [\"thing\"]"])),
        ("two steps of one label", job("", "label = \"a\"", &["label = \"a\""])),
        ("missing rank", job("", "label = \"a\"\nranks = \"2..4\"", &[])),
        ("missing rank of a pair", steps("kind = \"point-to-point\"\npairs = [[0, 4]]\nsize = \"1 MB\"")),
        ("pair of one rank", steps("kind = \"point-to-point\"\npairs = [[1, 1]]\nsize = \"1 MB\"")),
        ("pairs of three", steps("kind = \"point-to-point\"\npairs = [[1, 2, 3]]\nsize = \"1 MB\"")),
        ("a shift beyond all ranks", steps("kind = \"point-to-point\"\nshift = 4\nsize = \"1 MB\"")),
        ("a transfer to nobody", steps("kind = \"point-to-point\"\nsize = \"1 MB\"")),
        ("size of zero", steps("kind = \"all-reduce\"\nsize = \"0 B\"")),
        ("no byte for each rank", steps("kind = \"all-reduce\"\nsize = \"3 B\"")),
        ("no size", steps("kind = \"all-to-all\"")),
        ("no time", steps("kind = \"compute\"")),
        ("key of another kind of step", steps("kind = \"all-reduce\"\nsize = \"1 MB\"\nfan_out = 2")),
        ("algorithm of another kind", steps("kind = \"all-reduce\"\nsize = \"1 MB\"\nalgorithm = \"pairwise\"")),
        ("unknown kind of step", steps("kind = \"allreduce\"\nsize = \"1 MB\"")),
        (
            "halving of three",
            steps("kind = \"all-reduce\"\nsize = \"1 MB\"\nalgorithm = \"halving-doubling\"\nranks = \"0..2\""),
        ),
        ("stages that do not fit", pipeline("stages = 3\nmicro_batches = 4\nsize = \"1 MB\"")),
        ("chunks of no interleaved schedule", pipeline("stages = 2\nmicro_batches = 4\nsize = \"1 MB\"\nchunks = 2")),
        (
            "micro-batches that do not interleave",
            pipeline("stages = 2\nmicro_batches = 3\nsize = \"1 MB\"\nschedule = \"interleaved\"\nchunks = 2"),
        ),
        (
            "a pipeline and steps",
            pipeline(
                "stages = 2\nmicro_batches = 2\nsize = \"1 MB\"\n[[job.step]]\nkind = \"compute\"\ntime = \"1 us\"",
            ),
        ),
        ("a tree of a gather", steps("kind = \"all-gather\"\nsize = \"1 MB\"\nalgorithm = \"tree\"")),
        ("chunks of a ring", steps("kind = \"all-reduce\"\nsize = \"1 MB\"\nchunks = 4")),
        (
            "a hierarchy of no servers",
            steps(
                "kind = \"all-reduce\"\nsize = \"1 MB\"\nalgorithm = \"hierarchical\"\nranks = \"0..2\"\ngroup_size = 1",
            ),
        ),
        ("experts that do not fit", steps("kind = \"dispatch\"\nsize = \"1 KB\"\ntokens = 9\ntop_k = 1\nexperts = 6")),
        ("more experts than there are", steps("kind = \"dispatch\"\nsize = \"1 KB\"\ntokens = 9\ntop_k = 5")),
        ("a dispatch without tokens", steps("kind = \"dispatch\"\nsize = \"1 KB\"\ntop_k = 2")),
        ("a combine of nothing", steps("kind = \"combine\"\nsize = \"1 KB\"")),
        ("a combine of itself", steps("label = \"back\"\nkind = \"combine\"\nsize = \"1 KB\"\nof = \"back\"")),
        ("groups that do not fit", steps("kind = \"all-reduce\"\nsize = \"1 MB\"\ngroup_size = 3")),
        ("more receivers than others", steps("kind = \"all-to-all-v\"\nsize = \"1 MB\"\nfan_out = 4")),
        ("no receivers", steps("kind = \"all-to-all-v\"\nsize = \"1 MB\"")),
        ("sizes of too few", steps("kind = \"all-to-all-v\"\nsizes = [[\"0 B\", \"1 MB\"], [\"1 MB\", \"0 B\"]]")),
        (
            "sizes in lists of other lengths",
            steps("kind = \"all-to-all-v\"\nsizes = [[\"0 B\", \"1 KB\", \"1 KB\"], [\"1 KB\"]]\nranks = \"0..1\""),
        ),
        (
            "sizes of nothing",
            steps("kind = \"all-to-all-v\"\nsizes = [[\"0 B\", \"0 B\"], [\"0 B\", \"0 B\"]]\nranks = \"0..1\""),
        ),
        ("sizes without a unit", steps("kind = \"all-to-all-v\"\nsizes = [[0, 1], [1, 0]]\nranks = \"0..1\"")),
        ("a rank that is no number", steps("kind = \"compute\"\ntime = \"1 us\"\nranks = \"h3\"")),
        ("nothing arrives", job("", "label = \"a\"\nranks = 0", &["label = \"b\"\nranks = 1"])),
        ("more ranks than hosts", job("instances = 2\n", "label = \"a\"", &[])),
        ("servers that are not full", job("ranks_per_server = 3\n", "label = \"a\"", &[])),
        ("a stride of another placement", job("stride = 2\n", "label = \"a\"", &[])),
        ("a job without steps", star("[[job]]\nranks = 4\nstep = []\n")),
        ("rounds that take no time", {
            let more = "rounds = 1000000000000\n";
            star(&format!("{JOB}{more}[[job.step]]\nkind = \"compute\"\ntime = \"0 s\"\n"))
        }),
        ("rounds in flight", {
            let others = ["b", "c", "d", "e", "f"].map(|label| format!("label = \"{label}\""));
            let others = others.each_ref().map(String::as_str);
            job("rounds = 1000000000\nrounds_in_flight = 1000000\n", "label = \"a\"", &others)
        }),
        ("all to all of 30,000 ranks at once", {
            let hosts = STAR.replace("hosts = 4", "hosts = 30000");
            let step = "[[job.step]]\nkind = \"all-to-all\"\nsize = \"1 KB\"\n";
            whole(&format!("{hosts}[[job]]\nranks = 30000\n{step}"))
        }),
        ("more links than are possible", {
            whole(&CLOS.replace("leaves = 2", "leaves = 2000").replace("spines = 2", "spines = 2000"))
        }),
        ("two jobs of one label", star(&format!("{JOB}{STEP}{JOB}{STEP}"))),
        ("spraying and flowlets", star("[spray]\n[flowlet]\n")),
        (
            "spraying with a receiver that takes gaps for losses",
            star("[spray]\n[transport]\nrecovery = \"selective-repeat\"\n"),
        ),
        ("any order with go-back-n", star("[transport]\nrecovery = \"go-back-n\"\nin_order = false\n")),
        ("rails that do not share out", whole(&CLOS.replace("leaves = 2", "leaves = 2\nrails = 3"))),
        ("zero rate", whole("[topology]\nkind = \"star\"\nhosts = 3\nrate = \"0 Gb/s\"\nlink_delay = \"1 ns\"\n")),
        ("class above 7", flow("from = 0\nto = 1\nsize = \"1 KB\"\nclass = 8\n")),
        ("class of PFC above 7", star("[pfc]\nxoff = \"300 KB\"\nclasses = [3, 8]\n")),
        (
            "too many hosts",
            whole(
                "[topology]\nkind = \"leaf-spine\"\nleaves = 65535\nspines = 1\nhosts_per_leaf = 65535\nrate = \"1 Gb/s\"\nlink_delay = \"1 ns\"\n",
            ),
        ),
        (
            "too many ports",
            whole("[topology]\nkind = \"star\"\nhosts = 70000\nrate = \"1 Gb/s\"\nlink_delay = \"1 ns\"\n"),
        ),
        ("threshold above buffer", star("[pfc]\nxoff = \"401 KB\"\n")),
        ("PAUSE threshold above buffer", star("[pause]\nxoff = \"400 KB\"\n")),
        ("KiB against KB, above the buffer", star("[pfc]\nxoff = \"400 KiB\"\n")),
        ("KiB against KB, into the headroom", star("[pfc]\nxoff = \"390 KiB\"\n")),
        ("headroom of a lossless scenario", whole(&format!("lossless = true\n{STAR}[pfc]\nxoff = \"399 KB\"\n"))),
        ("SFC threshold above buffer", star("[sfc]\nthreshold = \"2 MB\"\n")),
        ("proxy of flows", star("[sfc]\nthreshold = \"100 KB\"\nat_source = \"proxy\"\ngranularity = \"flow\"\n")),
        (
            "proxy that signals otherwise than PFC",
            star(
                "[sfc]\nthreshold = \"100 KB\"\nat_source = \"proxy\"\n[pfc]\nxoff = \"300 KB\"\nsignal = \"ideal\"\n",
            ),
        ),
        (
            "cores that cannot be shared out",
            whole(
                "[topology]\nkind = \"fat-tree\"\npods = 2\ntors_per_pod = 2\naggs_per_pod = 2\ncores = 3\nhosts_per_tor = 2\nrate = \"1 Gb/s\"\nlink_delay = \"1 ns\"\n",
            ),
        ),
        ("xon above xoff", star("[pfc]\nxoff = \"200 KB\"\nxon = \"300 KB\"\n")),
        ("static threshold without xoff", star("[pfc]\n")),
        ("missing parameter", star("[sfc]\npause = \"6 us\"\n")),
        ("two that pause the link", star("[pause]\nxoff = \"300 KB\"\n[pfc]\nxoff = \"300 KB\"\n")),
        ("BCN without an equilibrium", star("[bcn]\n")),
        ("sizes of queues of a shared memory", star(&format!("queue_buffers = {SIZES}\n"))),
        ("too few sizes of queues", own_queues("queue_buffers = [\"400 KB\", \"800 KB\"]\n")),
        (
            "a queue that holds no frame",
            own_queues(&format!("queue_buffers = {}\n", SIZES.replacen("800 KB", "4000 B", 1))),
        ),
        (
            "a queue of a slow port that holds no frame",
            own_queues(&format!("queue_buffers = {SIZES}\nreference_rate = \"100 Tb/s\"\n")),
        ),
        (
            "PFC threshold above the memory of a queue",
            own_queues(&format!("queue_buffers = {SIZES}\n[pfc]\nxoff = \"400 KB\"\n")),
        ),
        ("entropy values that are no power of two", star("[transport]\nrecovery = \"rud\"\n[ev]\nvalues = 100\n")),
        ("a memory in which nothing gives way", star(&format!("{TRIM}victim = \"either\"\n"))),
        (
            "a crossbar before which nothing gives way",
            own_queues(&format!("architecture = \"voq\"\n{TRIM}victim = \"either\"\n")),
        ),
        ("QCN set point above the buffer", star("[qcn]\ncp_qsp = \"400 KB\"\n")),
        ("QCN weight", star("[qcn]\ncp_w = 11\n")),
        ("isolation without a congesting queue", star("[ci]\nqueue_map = [0, 0, 0, 4, 0, 0, 0, 0]\n")),
        ("isolation with too short a map", star("[ci]\nqueue-map = [-4, 4]\n")),
        ("isolation upside down", star("[ci]\nlow = \"400 KB\"\n")),
        (
            "isolation, and PFC that counts at the egress",
            star("[pfc]\nclasses = [2, 3]\nxoff = \"300 KB\"\ncounter = \"egress\"\n[ci]\n"),
        ),
        ("dynamic thresholds of egress queues", star("[pfc]\nthreshold = \"dynamic\"\ncounter = \"egress\"\n")),
        (
            "dynamic thresholds of a memory that no ingress knows",
            whole(
                "lossless = true\n[topology]\nkind = \"star\"\nhosts = 4\nrate = \"1 Gb/s\"\nlink_delay = \"1 ns\"\n[switch]\nbuffer_per = \"egress\"\n[pfc]\nthreshold = \"dynamic\"\n",
            ),
        ),
        (
            "marks below a limit that queues do not have",
            star("architecture = \"output-queued\"\n[ecn]\nthreshold = \"dynamic\"\noffset = \"100 KB\"\n"),
        ),
        ("marks at an unknown offset", star("architecture = \"shared-memory\"\n[ecn]\nthreshold = \"dynamic\"\n")),
        (
            "the shipped SFC at a rate that its program does not know",
            whole(
                "[topology]\nkind = \"star\"\nhosts = 4\nrate = \"10 Gb/s\"\nlink_delay = \"1 ns\"\n[sfc_tofino2]\nthreshold = \"100 KB\"\n",
            ),
        ),
        (
            "the shipped SFC beside pauses that are signalled otherwise",
            whole(
                "[topology]\nkind = \"star\"\nhosts = 4\nrate = \"100 Gb/s\"\nlink_delay = \"1 ns\"\n[pfc]\nxoff = \"300 KB\"\nsignal = \"on-off\"\n[sfc_tofino2]\nthreshold = \"100 KB\"\n",
            ),
        ),
        ("looks of no watchdog", star("[pfc]\nxoff = \"300 KB\"\nwatchdog_poll = \"200 ms\"\n")),
        ("frames that nobody counts", star("[pfc]\nxoff = \"300 KB\"\nwatchdog = \"200 ms\"\nwatchdog_blind = true\n")),
        (
            "a watchdog that forwards",
            whole(&format!(
                "lossless = true\n{STAR}[pfc]\nxoff = \"300 KB\"\nwatchdog = \"9 us\"\nwatchdog_action = \"forward\"\n"
            )),
        ),
        ("a reference rate of zero", star("[pfc]\nxoff = \"300 KB\"\nreference_rate = \"0 b/s\"\n")),
        ("a reference rate of zero for PAUSE", star("[pause]\nxoff = \"300 KB\"\nreference_rate = \"0 b/s\"\n")),
        ("a reference rate of zero for headroom", star("reference_rate = \"0 b/s\"\n")),
        ("NACKs without end", star("[transport]\nrecovery = \"go-back-n\"\nnack_interval = \"0 s\"\n")),
        (
            "a NACK interval of selective repeat",
            star("[transport]\nrecovery = \"selective-repeat\"\nnack_interval = \"50 us\"\n"),
        ),
        ("a NACK interval without recovery", star("[transport]\nrecovery = \"none\"\nnack_interval = \"50 us\"\n")),
        ("dynamic thresholds of queues", star("[pfc]\nthreshold = \"dynamic\"\ncounter = \"queue\"\n")),
        ("PAUSE by queues", star("[pause]\nxoff = \"300 KB\"\ncounter = \"queue\"\n")),
        (
            "isolation of flows, and of what is for a congested destination",
            star("[sfc]\nthreshold = \"100 KB\"\nat_source = \"isolation\"\n[pfc]\nxoff = \"300 KB\"\n[ci]\n"),
        ),
        ("a host's queue in the congesting queue's priority", star("[nic]\nqueues = 8\n[ci]\n")),
        ("two that decide about rates", star("[qcn]\n[dcqcn]\n")),
        ("two that decide about the rates of some flows", confined("[dcqcn]\n[dctcp.flows]\nclasses = [0]\n")),
        (
            "a group of one class is the other's",
            confined("[dcqcn.flows]\nclasses = [0]\n[swift.flows]\ngroups = [\"tcp\"]\n"),
        ),
        ("confined to no class", confined("[dcqcn.flows]\nclasses = []\n")),
        ("confined to a class that cannot be", confined("[dcqcn.flows]\nclasses = [8]\n")),
        ("confined to an unknown group", confined("[dcqcn.flows]\ngroups = [\"roce\", \"tpc\"]\n")),
        (
            "confined to classes that its groups do not have",
            confined("[dcqcn.flows]\nclasses = [0]\ngroups = [\"roce\"]\n"),
        ),
        ("no such key of flows", confined("[dcqcn.flows]\nclass = 3\n")),
        ("flows of a switch's mechanism", confined("[ecn.flows]\nclasses = [3]\n")),
        ("flows in an override", confined("[dcqcn]\n[[dcqcn.at]]\ntier = \"switch\"\nflows = { classes = [3] }\n")),
        (
            "limiters that only some flows share",
            confined(
                "[nic]\nrate_limiters = \"least\"\n[qcn]\nper = \"destination\"\n[bcn]\nqeq = \"20 KB\"\n[bcn.flows]\nclasses = [0]\n",
            ),
        ),
        (
            "limiters of different flows",
            star("[nic]\nrate_limiters = \"least\"\n[ecn]\n[dcqcn]\n[qcn]\nper = \"class\"\n"),
        ),
        ("no such rule for rate limiters", star("[nic]\nrate_limiters = \"both\"\n")),
        ("turns of what takes none", star("[nic]\ncontrol_turns = 10\n[ack]\nfirst_at_nic = false\n")),
        ("no turns", star("[nic]\ncontrol_turns = 0\n")),
        ("no queue", star("[nic]\nqueues = 0\n")),
        ("queues of no class", star("[nic]\nqueue_class = 8\n")),
        (
            "more queues than free priorities",
            flow(
                "from = 0\nto = 1\nsize = \"1 KB\"\nclass = 1\n[nic]\nqueues = 6\n[ack]\nclass = 0\n[sfc]\nthreshold = \"1 KB\"\n",
            ),
        ),
        ("control delay of no host", star("[[nic.at]]\nhosts = [0, \"h9\"]\ncontrol_delay = \"1 us\"\n")),
        ("control delay for nobody", star("[[nic.at]]\ncontrol_delay = \"1 us\"\n")),
        ("control delay without unit", star("[nic]\ncontrol_delay = \"12\"\n")),
        ("control delay of a second", star("[[nic.at]]\nhosts = 0\ncontrol_delay = \"1 s\"\n")),
        ("issue of a second", star("[nic]\nissue = \"1 s\"\n")),
        ("issue of some hosts without unit", star("[[nic.at]]\nhosts = 0\nissue = 3\n")),
        ("interfaces at which nothing differs", star("[[nic.at]]\nhosts = 0\n")),
        (
            "segment of half packets",
            star(
                "[packet]\npayload = \"4 KB\"\n[[flow]]\nfrom = 1\nto = 0\nsize = \"1 MB\"\nqueue_pairs = 4\nsegment = \"10 KB\"\n",
            ),
        ),
        (
            "segment of nothing",
            star(
                "[[job]]\nranks = 2\nqueue_pairs = 4\nsegment = \"0 B\"\n[[job.step]]\nkind = \"all-to-all\"\nsize = \"1 MB\"\n",
            ),
        ),
        ("no queue pair", star("[[flow]]\nfrom = 1\nto = 0\nsize = \"1 MB\"\nqueue_pairs = 0\n")),
        (
            "queue pairs of a stream",
            star(
                "[[flow]]\nfrom = 1\nto = 0\narrivals = \"bernoulli\"\nload = \"10 %\"\nuntil = \"1 us\"\nqueue_pairs = 2\n",
            ),
        ),
        ("queue of what is no stream", star("[[flow]]\nfrom = 1\nto = 0\nsize = \"1 MB\"\nqueue = 4\n")),
        ("alias and name", star("[dcqcn]\nrai = \"1 Gb/s\"\nrpg-ai-rate = \"1 Gb/s\"\n")),
        ("unknown preset", star("[dcqcn]\npreset = \"papr\"\n")),
        ("override for nobody", star("[[pfc.at]]\nxoff = \"1 KB\"\n[pfc]\nxoff = \"300 KB\"\n")),
        (
            "override of an unknown tier",
            star("[pfc]\nxoff = \"300 KB\"\n[[pfc.at]]\ntier = \"leaf\"\nxoff = \"1 KB\"\n"),
        ),
        ("override that cannot be", star("[pfc]\nxoff = \"300 KB\"\n[[pfc.at]]\nnode = \"s0\"\nxoff = \"500 KB\"\n")),
        ("reserves above the buffer", star("[switch.at]\n")),
        ("reserves above the buffer", set("switch.reserve", "60 KB")),
        ("buffer below a frame", set("switch.buffer", "4 KB")),
        ("a cell of nothing", set("switch.cell", "0 B")),
        ("a cell too large", set("switch.cell", "65537 B")),
        ("buffer below the cells of a frame", whole(&format!("{}cell = \"60 KB\"\n", STAR.replace("400 KB", "50 KB")))),
        ("unknown host", flow("from = 0\nto = 4\nsize = \"1 KB\"\n")),
        ("unknown host by name", flow("from = 0\nto = [\"h1\", \"g2\"]\nsize = \"1 KB\"\n")),
        ("host that is none", flow("from = 0\nto = -1\nsize = \"1 KB\"\n")),
        ("range backwards", flow("from = \"3..1\"\nto = 0\nsize = \"1 KB\"\n")),
        ("source is destination", flow("from = 1\nto = \"h1\"\nsize = \"1 KB\"\n")),
        ("source among the destinations", flow("from = \"1..2\"\nto = [3, 2]\nsize = \"1 KB\"\n")),
        ("unequal pairs", flow("from = \"0..2\"\nto = \"0..1\"\nsize = \"1 KB\"\n")),
        ("no size", flow("from = 0\nto = 1\n")),
        ("size of zero", flow("from = 0\nto = 1\nsize = \"0 B\"\n")),
        ("load without arrivals", flow("from = 0\nto = 1\nsize = \"1 KB\"\nload = \"10 %\"\n")),
        ("load without unit", flow("from = 0\nto = 1\nsize = \"1 KB\"\narrivals = \"poisson\"\nload = 0.4\n")),
        ("never ends", flow("from = 0\nto = 1\nsize = \"1 KB\"\narrivals = \"poisson\"\nload = \"10 %\"\n")),
        (
            "load above the link",
            flow("from = 0\nto = 1\nsize = \"1 KB\"\narrivals = \"poisson\"\ncount = 9\nload = \"101 %\"\n"),
        ),
        (
            "interval above the link",
            flow("from = 0\nto = 1\nsize = \"1 MB\"\narrivals = \"periodic\"\ncount = 9\ninterval = \"40 us\"\n"),
        ),
        (
            "load above the link in sum",
            flow(
                "label = \"one\"\nfrom = 0\nto = 1\nsize = \"1 KB\"\narrivals = \"poisson\"\nuntil = \"1 ms\"\nload = \"70 %\"\n\
                 [[flow]]\nlabel = \"two\"\nsize = \"1 KB\"\npattern = \"random\"\narrivals = \"poisson\"\nuntil = \"1 ms\"\nload = \"40 %\"\n",
            ),
        ),
        (
            "load of the network above the links of few",
            flow(
                "from = 0\nto = 1\nsize = \"1 KB\"\narrivals = \"poisson\"\ncount = 9\nload = \"30 %\"\nload_of = \"network\"\n",
            ),
        ),
        (
            "payload that fits and its headers do not",
            flow(
                "from = 0\nto = 1\nsize = \"1 B\"\narrivals = \"poisson\"\ncount = 9\nload = \"9 %\"\nload_counts = \"payload\"\n",
            ),
        ),
        ("incast without fan_in", flow("pattern = \"incast\"\nsize = \"1 KB\"\n")),
        ("incast of too many", flow("pattern = \"incast\"\nsize = \"1 KB\"\nfan_in = 4\n")),
        (
            "incast as a stream",
            flow("pattern = \"incast\"\nfan_in = 2\narrivals = \"bernoulli\"\nload = \"9 %\"\nuntil = \"1 ms\"\n"),
        ),
        (
            "incast that never ends",
            flow("pattern = \"incast\"\nsize = \"1 KB\"\nfan_in = 2\narrivals = \"poisson\"\nload = \"9 %\"\n"),
        ),
        ("fan_in of pairs", flow("from = 0\nto = 1\nsize = \"1 KB\"\nfan_in = 2\n")),
        (
            "matrix without a file",
            flow("pattern = \"matrix\"\nsize = \"1 KB\"\narrivals = \"poisson\"\nload = \"9 %\"\nuntil = \"1 ms\"\n"),
        ),
        (
            "matrix that is missing",
            flow(
                "pattern = \"matrix\"\nmatrix = \"none.csv\"\nsize = \"1 KB\"\narrivals = \"poisson\"\nload = \"9 %\"\nuntil = \"1 ms\"\n",
            ),
        ),
        ("step that is none", flow("from = \"0..3 step none\"\nto = 1\nsize = \"1 KB\"\n")),
        ("hosts at a switch that is none", flow("from = \"at s1\"\nto = 1\nsize = \"1 KB\"\n")),
        ("path that is none", clos("path = [\"leaf0\", \"leaf1\"]\n")),
        ("path through an unknown node", clos("path = [\"leaf0\", \"spin1\", \"leaf1\"]\n")),
        ("way that is not unique", clos("via = [\"leaf1\"]\n")),
        ("way through an unknown node", clos("via = [\"spine7\"]\n")),
        ("unreachable", links(&(link("a", "s") + &link("b", "t")))),
        ("only a host between", whole(&format!("{HOSTS}[[flow]]\nfrom = \"a\"\nto = \"c\"\nsize = \"1 KB\"\n"))),
        ("link to an unknown node", links(&link("a", "u"))),
        ("port used twice", links(&(link("a", "s:0") + &link("b", "s:0")))),
        ("port that leaves a hole", links(&(link("a", "s:0") + &link("b", "s:7")))),
        ("port that is none", links(&link("a", "s:x"))),
        ("host without a link", links(&link("a", "s"))),
        (
            "slow receiver with two links",
            two(
                "[[fault]]\nkind = \"slow-receiver\"\nhost = \"a\"\nrate = \"1 Gb/s\"\nxoff = \"9 KB\"\nxon = \"8 KB\"\n",
            ),
        ),
        (
            "memory that ports share",
            whole(&format!(
                "lossless = true\n{}[pfc]\nxoff = \"600 KB\"\n",
                STAR.replace("400 KB", "2 MB").replace("ingress", "switch")
            )),
        ),
        ("set of a label with blanks", set("flow.h3 to h0.size", "1 KB")),
        (
            "storm of pauses that ends before it begins",
            clos("[[fault]]\nkind = \"pause-storm\"\nhost = 0\nat = \"5 us\"\nuntil = \"5 us\"\n"),
        ),
        ("storm of pauses of no class", clos("[[fault]]\nkind = \"pause-storm\"\nhost = 0\nclasses = []\n")),
        (
            "storm of pauses of a link and of classes",
            clos("[[fault]]\nkind = \"pause-storm\"\nhost = 0\nlink = true\nclasses = [3]\n"),
        ),
        (
            "slow receiver that pauses a link and a class",
            clos(
                "[[fault]]\nkind = \"slow-receiver\"\nhost = 0\nrate = \"1 Gb/s\"\nxoff = \"9 KB\"\nxon = \"8 KB\"\nlink = true\nclass = 3\n",
            ),
        ),
        ("storm of pauses of class 8", clos("[[fault]]\nkind = \"pause-storm\"\nhost = 0\nclasses = [8]\n")),
        (
            "proxy of a host with two links",
            two("[sfc]\nthreshold = \"100 KB\"\ntarget = \"20 KB\"\nat_source = \"proxy\"\n"),
        ),
        ("link of a host that chooses", flow("from = 0\nto = 1\nsize = \"1 KB\"\nlink = 0\n")),
        ("link that a host has not", flow("from = 0\nto = 1\nsize = \"1 KB\"\nlink = 1\n[nic]\nlink = \"index\"\n")),
        (
            "directions that differ",
            links("    { a = \"a\", b = \"s\", rate = \"1 Gb/s\", delay = { ab = \"1 ns\", ba = \"2 ns\" } },\n"),
        ),
        ("link.at without links", clos("[[link.at]]\nrate = \"1 Gb/s\"\n")),
        (
            "link.at both ways",
            clos("[[link.at]]\nbetween = [\"leaf0\", \"tier spine\"]\nfrom = \"leaf0\"\nloss = 0.1\n"),
        ),
        ("link.at that changes nothing", clos("[[link.at]]\nbetween = [\"leaf0\", \"tier spine\"]\n")),
        ("link.at between nobody", clos("[[link.at]]\nbetween = [\"h0\", \"tier spine\"]\ndown = true\n")),
        (
            "link.at of too high a number",
            clos("[[link.at]]\nbetween = [\"leaf0\", \"spine0\"]\nnumber = 1\ndown = true\n"),
        ),
        ("link.at of one set", clos("[[link.at]]\nbetween = [\"leaf0\"]\ndown = true\n")),
        ("link.at of an unknown node", clos("[[link.at]]\nfrom = \"leaf0..leaf9\"\nloss = 0.1\n")),
        ("link.at of an unknown tier", clos("[[link.at]]\nfrom = \"tier leaves\"\nloss = 0.1\n")),
        ("link.at of a range of two tiers", clos("[[link.at]]\nfrom = \"leaf0..spine1\"\nloss = 0.1\n")),
        ("link.at of a range backwards", clos("[[link.at]]\nfrom = \"leaf1..leaf0\"\nloss = 0.1\n")),
        ("link.at with a step of nothing", clos("[[link.at]]\nfrom = \"leaf0..leaf1 step 0\"\nloss = 0.1\n")),
        ("delay of one direction", clos("[[link.at]]\nfrom = \"leaf0\"\ndelay = \"1 us\"\n")),
        (
            "host cut off by link.at",
            clos(
                "[[link.at]]\nbetween = [\"h0\", \"leaf0\"]\ndown = true\n[[flow]]\nfrom = 0\nto = 3\nsize = \"1 KB\"\n",
            ),
        ),
        (
            "path over a link that is down",
            clos(
                "[[link.at]]\nbetween = [\"leaf0\", \"spine0\"]\ndown = true\n[[flow]]\nfrom = 0\nto = 3\nsize = \"1 KB\"\npath = [\"leaf0\", \"spine0\", \"leaf1\"]\n",
            ),
        ),
        (
            "unknown node of a fault",
            star("[[fault]]\nkind = \"loss\"\nfrom = \"h0\"\nto = \"s1\"\nprobability = 0.1\n"),
        ),
        ("unknown kind of frame of a fault", star("[[fault]]\nkind = \"loss\"\nframe = \"cpn\"\nprobability = 0.1\n")),
        ("fault where no link is", star("[[fault]]\nkind = \"link-down\"\nat = \"1 us\"\na = \"h0\"\nb = \"h1\"\n")),
        (
            "fault of a link that is not there",
            star("[[fault]]\nkind = \"link-down\"\nat = \"1 us\"\na = \"h0\"\nb = \"s0\"\nnumber = 1\n"),
        ),
        (
            "number of a link without its ends",
            star("[[fault]]\nkind = \"loss\"\nto = \"s0\"\nnumber = 0\nprobability = 0.1\n"),
        ),
        (
            "flap without a break",
            star(
                "[[fault]]\nkind = \"link-flap\"\nat = \"1 us\"\na = \"h0\"\nb = \"s0\"\ndown = \"1 us\"\nup = \"0 s\"\n",
            ),
        ),
        (
            "too many flaps",
            star(
                "[[fault]]\nkind = \"link-flap\"\nat = \"1 us\"\na = \"h0\"\nb = \"s0\"\ndown = \"1000 s\"\nup = \"1000 s\"\ntimes = 100000\n",
            ),
        ),
        (
            "rank named twice in rings side by side",
            steps("kind = \"all-reduce\"\nsize = \"1 MB\"\nchannels = 2\nranks = [0, 0]\n"),
        ),
        (
            "channels of another algorithm",
            steps("kind = \"all-reduce\"\nsize = \"1 MB\"\nalgorithm = \"tree\"\nchannels = 2\n"),
        ),
        (
            "protocol of an algorithm that NCCL lacks",
            steps("kind = \"all-reduce\"\nsize = \"1 MB\"\nalgorithm = \"halving-doubling\"\nprotocol = \"ll\"\n"),
        ),
        ("protocol of an all-to-all", steps("kind = \"all-to-all\"\nsize = \"1 MB\"\nprotocol = \"ll\"\n")),
        (
            "keys of another kind of fault",
            star("[[fault]]\nkind = \"link-down\"\nat = \"1 us\"\nfrom = \"h0\"\nto = \"s0\"\n"),
        ),
        ("probability above 1", star("[[fault]]\nkind = \"loss\"\nfrom = \"h0\"\nto = \"s0\"\nprobability = 2.0\n")),
        ("series without interval", star("[output]\nqueues = true\n")),
        ("one flow instead of a list", star("[flow]\nsize = \"1 KB\"\n")),
        ("flow table that is missing", flow("table = \"none.csv\"\n")),
        ("flow table with a size", flow("table = \"none.csv\"\nsize = \"1 KB\"\n")),
        ("variant of an unknown flow", star("[variant.a.flow.incast]\nsize = \"1 KB\"\n")),
        (
            "unknown variant",
            Scenario::from_text(&format!("{STAR}[variant.large]\n"), "net.toml", Path::new("."))
                .and_then(|s| s.with_variant("larg").map(|_| ())),
        ),
        ("set: unknown key", set("pfc.xof", "3 KB")),
        ("set: missing unit", set("switch.buffer", "400")),
        ("set: no key", set("", "400")),
        ("set: unknown value", set("switch.architecture", "voqs")),
        ("missing file", Scenario::load(Path::new("tests/none.toml")).map(|_| ())),
        ("directory", Scenario::load(Path::new("tests")).map(|_| ())),
        ("endless file", Scenario::load(Path::new("/dev/zero")).map(|_| ())),
    ]
}

#[test]
fn every_error_reads_well() {
    let mut text = String::new();
    for (name, result) in cases() {
        match result {
            Ok(()) => panic!("{name}: accepted"),
            Err(error) => {
                assert!(!error.reason.is_empty() && error.file.is_some(), "{name}: {error:?}");
                let _ = writeln!(text, "## {name}\n{error}\n");
            }
        }
    }
    expect_file!["errors.expected"].assert_eq(&text);
}

#[test]
fn files_that_are_no_text_or_too_long() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let garbage = dir.join("garbage.toml");
    std::fs::write(&garbage, b"seed = 1\ntitle = \"\xff\xfe\"\n").unwrap();
    let error = Scenario::load(&garbage).map(|_| ()).unwrap_err();
    assert_eq!((error.line, error.reason.as_str()), (Some(2), "not text: byte 18 is not UTF-8"));
    // A sparse file: no byte of it is read.
    let huge = dir.join("huge.toml");
    std::fs::File::create(&huge).unwrap().set_len(10_000_000_000).unwrap();
    let error = Scenario::load(&huge).map(|_| ()).unwrap_err();
    assert!(error.reason.contains("10000000000 bytes are too many"), "{error}");
    std::fs::remove_file(&huge).unwrap();
}

#[test]
fn headroom_is_a_warning_unless_lossless_is_promised() {
    let text = format!("{STAR}[pfc]\nxoff = \"399 KB\"\n");
    let resolved = Scenario::from_text(&text, "net.toml", Path::new(".")).unwrap().check().unwrap();
    let keys: Vec<&str> = resolved.warnings.iter().map(|w| w.key.as_str()).collect();
    assert_eq!(keys, ["pfc.xoff", "flow"]);
}

#[test]
fn parquet_tables_wait_for_their_rows() {
    let text = format!("{STAR}[[flow]]\ntable = \"big.parquet\"\n");
    let scenario = Scenario::from_text(&text, "net.toml", Path::new("/data")).unwrap();
    assert_eq!(scenario.flow_table().as_deref(), Some(Path::new("/data/big.parquet")));
    assert!(build(&scenario.check().unwrap(), 1).is_err_and(|e| e.reason.contains("has not been read")));
    let row = |id| backwater::TableFlow {
        id,
        src: 0,
        dst: 1,
        bytes: 10,
        start: Default::default(),
        class: Some(3),
        path: None,
        ack_path: None,
        link: None,
    };
    let read = scenario.with_table(Path::new("/data/big.parquet"), vec![row(5), row(6)].into());
    assert_eq!(read.flow_table(), None);
    assert_eq!(build(&read.check().unwrap(), 1).unwrap().flows_total, Some(2));
    let twice = read.with_flows("other", vec![row(6), row(6)].into());
    let error = build(&twice.check().unwrap(), 1).map(|_| ()).unwrap_err();
    assert!(error.reason.contains('6'), "{error}");
    assert_eq!(build(&read.with_flows("other", vec![row(6)].into()).check().unwrap(), 1).unwrap().flows_total, Some(3));
}
