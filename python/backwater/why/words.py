"""Describes the facts of a run in words and numbers. Every number has its unit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from backwater.naming import flow_in_group, flow_name
from backwater.why.pauses import STORM
from backwater.wording import many, sent_again, size, us_text

if TYPE_CHECKING:
    from collections.abc import Iterator

# The most branches of a tree, and items of a flow, to list.
BRANCHES = 6
ITEMS = 12
# The most parts of a critical path to list, and waits of each.
LEGS_SHOWN = 20
LEG_WAITS = 3
LEGS = {
    "transfer": "transfers of {}",
    "compute": "computed {}",
    "held": "nothing: the next step waited for its start time or an acknowledgement",
    "unrecorded": "not recorded",
}

CAUSES = {
    "control-frames": "the port sent acknowledgements or control frames",
    "gate": "{} kept the gate of its queue closed",
    "credit": "a mechanism let no frame of its queue start, for example without credits",
    "lane": "{} held it in an isolation queue",
    "fabric": "the switch's fabric had not yet delivered it to the port",
    "receiver": "the receiver was slow to take it from its buffer",
    "sent-again": "the link damaged it or a frame before it, and it was retransmitted",
    "issue": "the interface issued earlier messages first",
    "memory": "the host's memory still fetched the frame before",
    "rate-limit": "its rate limiter allowed no frame",
    "window": "its window was full",
    "held-at-source": "{} held the flow at its source",
    "acknowledgements": "all was sent, and acknowledgements or a timeout were pending",
}


def run_words(facts: dict[str, Any]) -> Iterator[str]:
    """Yield lines that describe what happened in one run."""
    again = ", repeated with its causes recorded" if facts["repeated"] else ""
    if again and facts["cut_short"] is not None:
        again += f"; earlier: {facts['cut_short']}"
    elif again:
        again += ": the same fingerprint"
    title = facts["title"] or "A scenario without a title"
    yield f"{title} (seed {facts['seed']}, fingerprint {facts['fingerprint']}{again})"
    yield ""
    if facts["error"]:
        yield f"The run ended early: {facts['error']}."
    yield from _first(facts)
    yield from _roots(facts)
    yield from _dropped(facts)
    yield from _lost(facts)
    yield from _cut(facts["cut"])
    yield from _control(facts)
    if deadlock := facts["deadlock"]:
        cycle = " -> ".join([*deadlock["cycle"], deadlock["cycle"][0]])
        yield ""
        yield f"Deadlock, found at {us_text(deadlock['time_ps'])}: {cycle}."
        waiting = size(deadlock["waiting_bytes"])
        yield f"Each waits for the next to resume; {waiting} wait in these queues."
    yield from _unfinished(facts)
    for path in facts["jobs"]:
        yield from path_words(path)
    yield from _sums(facts["waits"])
    for flow in facts["delays"]:
        yield ""
        yield from _flow(flow)


def _first(facts: dict[str, Any]) -> Iterator[str]:
    drop, pause = facts["first_drop"], facts["first_pause"]
    if drop is None:
        cut = facts["cut"]["packets"]
        instead = f"; {many(cut, 'packet')} trimmed instead" if cut else ""
        yield f"First drop: none, no frame was dropped for want of memory{instead}."
    else:
        yield f"First drop: at {us_text(drop['time_ps'])} {_drop(drop)}{_asked(facts)}"
    if pause is None and facts["unrecorded"]:
        yield f"First pause: not recorded ({', '.join(facts['unrecorded'])})."
    elif pause is None:
        yield "First pause: none."
    else:
        where = (
            "in a pause storm (a fault)"
            if pause.get("cause") == STORM
            else f"which held {size(pause['ingress_bytes'])} from port {pause['port']}"
        )
        yield f"First pause: requested at {us_text(pause['asked_ps'])} by {pause['node']}, {where}"
        yield f"  in force from {us_text(pause['start_ps'])} at {pause['paused']}"
        if pause.get("cause") != STORM:
            yield f"  cause: {pause['behind']}"


def _drop(drop: dict[str, Any]) -> str:
    """Describe a drop and whose memory was full: an ingress does not know that of others."""
    frame = f"{drop['node']} dropped a frame of {drop['bytes']} B"
    memory = drop.get("memory_per")
    if memory in ("egress", "queue"):
        of = f" class {drop['queue']}" if memory == "queue" else ""
        return (
            f"{frame} for port {drop['egress_port']} (to {drop['egress_peer']}){of}, whose memory "
            f"was full: {size(drop['egress_bytes'])} waited there, "
            f"{size(drop['switch_bytes'])} were in the switch. It had arrived at port "
            f"{drop['port']}."
        )
    return (
        f"{frame} that arrived at port {drop['port']} in class {drop['class']}; "
        f"{size(drop['ingress_bytes'])} from that port were in the switch, "
        f"{size(drop['switch_bytes'])} in all."
    )


def _asked(facts: dict[str, Any]) -> str:
    """State if the dropped frame's sender had been asked to pause; empty if its class never was."""
    drop = facts["first_drop"]
    if drop["pause_asked"]:
        return " The neighbour had been asked to pause."
    of = facts["paused_classes"]
    if drop["class"] in of or None in of:
        return " The neighbour had not been asked to pause."
    return ""


def _roots(facts: dict[str, Any]) -> Iterator[str]:
    roots = facts["pause_roots"]
    if not roots:
        return
    yield ""
    yield (
        f"Pauses: {many(facts['paused_ports'], 'port')} paused, from {many(len(roots), 'root')}. "
        "A root is an unpaused queue behind which paused ports waited, or a fault."
    )
    for root in roots[:BRANCHES]:
        held = f"{many(root['pauses'], 'pause')}, {us_text(root['paused_ps'])} in all"
        yield f"root: {root['where']}: {held}, the first at {us_text(root['first_ps'])}"
        yield from _branches(root, "  ")
    if len(roots) > BRANCHES:
        yield f"... and {many(len(roots) - BRANCHES, 'further root')} (--json has all)"


def _branches(above: dict[str, Any], margin: str) -> Iterator[str]:
    for branch in above["branches"][:BRANCHES]:
        yield (
            f"{margin}paused {branch['where']}: {many(branch['pauses'], 'pause')}, "
            f"{us_text(branch['paused_ps'])} in all, the longest {us_text(branch['longest_ps'])}"
        )
        yield from _branches(branch, margin + "  ")
    if len(above["branches"]) > BRANCHES:
        yield f"{margin}... and {many(len(above['branches']) - BRANCHES, 'further port')}"
    if above["deeper"]:
        yield f"{margin}... and {many(above['deeper'], 'port')} deeper"


def _dropped(facts: dict[str, Any]) -> Iterator[str]:
    if not facts["dropped"]:
        return
    yield ""
    for port in facts["dropped"]:
        lost = f"{many(port['drop_frames'], 'frame')} dropped, {size(port['drop_bytes'])}"
        short = ""
        if port["pauses_sent"]:
            lost_there = size(port["drop_bytes"])
            by = f"at most {lost_there}, all that was dropped there"
            if facts["error"]:
                by = f"{lost_there} or more, as the run ended with the first drop"
            short = f"; it had asked {port['peer']} to pause"
            unpaused = _unpaused(facts, port)
            if not unpaused:
                short += f": its headroom was short, by {by}"
            elif facts["error"]:
                short += ", but not in the class of the dropped frame"
            else:
                of = ", ".join(str(number) for number in unpaused)
                short += (
                    f", but never class{'es' if len(unpaused) > 1 else ''} {of}: "
                    "the dropped frames may be of that, and the headroom sufficient"
                )
        yield f"{port['node']} port {port['port']} (from {port['peer']}): {lost}{short}."


def _unpaused(facts: dict[str, Any], port: dict[str, Any]) -> list[int]:
    """Return the classes without any pause to which the frames dropped at a port may belong."""
    of = facts["paused_classes"]
    # The classes that the run carries. If it ended with its first drop, only that of the drop.
    first = facts["first_drop"] or {}
    here = all(first.get(key) == port[key] for key in ("node", "port"))
    own = {first["class"]} if here else set()
    may = own if own and facts["error"] else own | set(facts["carried_classes"])
    return [] if None in of else sorted(may - set(of))


def _lost(facts: dict[str, Any]) -> Iterator[str]:
    for name, what, column in (
        ("flushed", "Flushed: {} that a mechanism dropped from queues", "flushed_frames"),
        ("fault_losses", "Lost by faults of links: {}", "fault_frames"),
    ):
        lost = facts[name]
        if not lost["frames"]:
            continue
        yield ""
        frames = many(lost["frames"], "frame")
        yield f"{what.format(frames)}. Their times are not recorded; by port:"
        yield from _ports(lost["ports"], column, "frame")


def _cut(cut: dict[str, Any]) -> Iterator[str]:
    if not cut["packets"]:
        return
    yield ""
    yield (
        f"Trimmed for want of memory: {many(cut['packets'], 'packet')}. "
        "Their times are not recorded; by egress port:"
    )
    yield from _ports(cut["ports"], "packets", "packet")


def _ports(ports: list[dict[str, Any]], column: str, what: str) -> Iterator[str]:
    for port in ports[:BRANCHES]:
        number = many(port[column], what)
        yield f"  {port['node']} port {port['port']} (to {port['peer']}): {number}"
    if more := ports[BRANCHES:]:
        left = many(sum(port[column] for port in more), what)
        yield f"  ... and {many(len(more), 'further port')}: {left} (--json has all)"


def _control(facts: dict[str, Any]) -> Iterator[str]:
    if not facts["control"]:
        return
    yield ""
    yield "Control messages by kind:"
    for row in facts["control"]:
        port = "" if row["port"] is None else f" port {row['port']}"
        of = "" if row["class"] is None else f" class {row['class']}"
        where = f"{row['node']}{port}{of}"
        yield f"  {row['kind']}: {row['messages']}, the first at {us_text(row['time_ps'])}, {where}"


def _unfinished(facts: dict[str, Any]) -> Iterator[str]:
    left = facts["unfinished"]
    if not left["flows"] and not left["failed"]:
        return
    yield ""
    yield (
        f"{left['flows']} of {facts['flows']} flows did not finish, "
        f"{left['failed']} failed (transport.retries)."
    )
    for flow in left["first"]:
        yield (
            f"  {flow_name(flow)}: {size(flow['received'])} of {size(flow['bytes'])} received, "
            f"waits for {flow['waits_for']}"
        )
    if left["flows"] > len(left["first"]):
        yield f"  ... and {left['flows'] - len(left['first'])} others"


def _flow(flow: dict[str, Any]) -> Iterator[str]:
    who = f"{flow_name(flow)}, {size(flow['bytes'])}"
    if flow["delay_ps"] is None:
        yield f"{who}, {flow['state']}: waited for {us_text(flow['waited_ps'])}"
    else:
        yield (
            f"{who}: {us_text(flow['fct_last_byte_ps'])} to its last byte, "
            f"{us_text(flow['ideal_fct_ps'])} in an idle network: delayed by "
            f"{us_text(flow['delay_ps'])}"
        )
    whole = flow["delay_ps"] or flow["waited_ps"]
    for item in flow["items"][:ITEMS]:
        share = f"{item['wait_ps'] / whole:.1%}" if whole else ""
        yield f"  {us_text(item['wait_ps']):>15}  {share:>6}  {_place(item)}: {_cause(item)}"
    yield from _rest(flow["items"][ITEMS:])
    if flow["own_ps"]:
        how = "waited less for each other" if flow["own_ps"] < 0 else "took longer"
        own = f"{us_text(flow['own_ps']):>15}"
        yield f"  {own}          its own frames {how} than in an idle network"
    if flow["delay_ps"] is not None and flow["items"]:
        yield f"  {us_text(flow['waited_ps'] + flow['own_ps']):>15}          together"
    yield from _packets(flow)


def _packets(flow: dict[str, Any]) -> Iterator[str]:
    """Yield a line about a flow's packets: a wait for its window does not show losses."""
    sent = f"It sent {many(flow['packets'], 'data packet')}"
    counts = []
    if flow["retransmitted"] or sent_again(flow):
        again = f"{flow['retransmitted']:,}" if flow["retransmitted"] else "none"
        counts.append(f"{again} of them retransmitted{sent_again(flow)}")
    if flow["marked"]:
        counts.append(f"{flow['marked']:,} arrived marked (ECN)")
    if counts:
        yield f"  {sent}, {'; '.join(counts)}."


def _rest(items: list[dict[str, Any]]) -> Iterator[str]:
    """Sum up the further waits of a flow by cause."""
    for cause in dict.fromkeys(item["cause"] for item in items):
        of = [item for item in items if item["cause"] == cause]
        time = sum(item["wait_ps"] for item in of)
        waits = f"{many(len(of), 'further wait')}: {_cause_name(cause)}"
        yield f"  {us_text(time):>15}          {waits}"


def path_words(path: dict[str, Any]) -> Iterator[str]:
    """Yield lines for the critical path of a job."""
    yield ""
    which = f", instance {path['instance']}" if path["instances"] > 1 else ""
    legs = path["legs"]
    if not legs:
        yield f"Job {path['job']}{which} is not complete, and no transfer of it was in progress."
        return
    whole = sum(leg["duration_ps"] for leg in legs)
    until = "complete" if path["complete"] else "not complete; to the end of the run"
    yield f"Job {path['job']}{which}: {until} after {us_text(whole)}. Its critical path, summed up:"
    for one in path["by_kind"]:
        what = LEGS[one["kind"]].format(one["label"])
        times = "" if one["legs"] == 1 else f", {one['legs']} times"
        share = f"{one['time_ps'] / whole:.1%}" if whole else ""
        yield f"  {us_text(one['time_ps']):>15}  {share:>6}  {what}{times}"
    waited, software = path["waited"], path["software_ps"]
    if waited or software:
        causes = ", ".join(f"{us_text(w['wait_ps'])} {_cause_name(w['cause'])}" for w in waited)
        hosts = f" and {us_text(software)} in the hosts' software" if software else ""
        waits = f"; its transfers waited {causes}" if waited else ""
        yield f"  of this {us_text(path['ideal_ps'])} in an idle network{hosts}{waits}"
    shown = set(sorted(range(len(legs)), key=lambda n: -legs[n]["duration_ps"])[:LEGS_SHOWN])
    yield "In order of time:" if len(shown) == len(legs) else "Its longest parts, in order of time:"
    for number in sorted(shown):
        yield from _leg(legs[number])
    if len(shown) < len(legs):
        left = sum(leg["duration_ps"] for n, leg in enumerate(legs) if n not in shown)
        shorter = many(len(legs) - len(shown), "shorter part")
        yield f"  {us_text(left):>15}  {shorter} (--json has all)"
    yield f"  {us_text(whole):>15}  together"


def _leg(leg: dict[str, Any]) -> Iterator[str]:
    begun = f"  {us_text(leg['duration_ps']):>15}  from {us_text(leg['start_ps'])}: "
    if leg["kind"] != "transfer":
        yield begun + LEGS[leg["kind"]].format(leg["label"])
        return
    ends = [f"{leg[f'{end}_rank']} ({leg[f'{end}_host']})" for end in ("src", "dst")]
    ranks, flow = f"rank {' to '.join(ends)}", flow_in_group(leg["flow_id"])
    phase = f"round {leg['round']}, phase {leg['phase']}"
    yield begun + f"{leg['step']}, {phase}: {size(leg['bytes'])}, {ranks}, flow {flow}"
    places: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for item in leg["items"]:
        where = (item["node"], item["port"], item["cause"], item["mechanism"])
        places.setdefault(where, []).append(item)
    longest = sorted(places.values(), key=lambda of: -sum(item["wait_ps"] for item in of))
    for of in longest[:LEG_WAITS]:
        why = _cause(of[0]) if len(of) == 1 else f"the port sent data of {len(of)} other flows"
        time = sum(item["wait_ps"] for item in of)
        yield f"  {'':>15}    waited {us_text(time)} {_place(of[0])}: {why}"
    if rest := [item for of in longest[LEG_WAITS:] for item in of]:
        time = sum(item["wait_ps"] for item in rest)
        others = many(len(longest) - LEG_WAITS, "other place")
        yield f"  {'':>15}    waited {us_text(time)} at {others}"


def _sums(waits: dict[str, Any]) -> Iterator[str]:
    """Yield the sums of all flows' waits, by cause, link, sending host and group."""
    if not waits["total_ps"]:
        return
    yield ""
    yield f"All flows together waited {us_text(waits['total_ps'])}:"
    for key, by, name in (
        ("causes", "cause", lambda row: _cause_name(row["cause"])),
        ("links", "link", lambda row: f"{row['node']} port {row['port']} (to {row['peer']})"),
        ("hosts", "sending host", lambda row: row.get("src_host", "unknown")),
        ("groups", "group", lambda row: row["group"]),
    ):
        rows = waits[key]
        entries = [f"{name(row)} {us_text(row['wait_ps'])}" for row in rows[:BRANCHES]]
        if more := rows[BRANCHES:]:
            entries.append(f"{len(more)} more {us_text(sum(row['wait_ps'] for row in more))}")
        if entries:
            yield f"  by {by}: {'; '.join(entries)}"


def _cause_name(cause: str) -> str:
    """Return a cause as a sum names it."""
    return "behind other flows" if cause == "behind" else cause


def _place(item: dict[str, Any]) -> str:
    return f"at {item['node']} port {item['port']} (to {item['peer']})"


def _cause(item: dict[str, Any]) -> str:
    cause = str(item["cause"])
    if cause == "paused":
        roots = item["roots"]
        behind = f", behind {roots[0]}" if roots else ""
        more = f" and {many(len(roots) - 1, 'further root')}" if len(roots) > 1 else ""
        return f"paused by {item['peer']}{behind}{more}"
    if cause == "behind":
        other = item["behind"]
        if other is None:
            return "the port sent data of several other flows"
        return f"the port sent data of {flow_name(other)}"
    return CAUSES.get(cause, cause).format(item["mechanism"] or "a mechanism")
