"""`backwater advise`: thresholds, headroom and pause times from rates and delays."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from backwater import _core
from backwater.cli.arguments import Json, Set, Variant, With, read
from backwater.cli.output import message, show, write_json
from backwater.cli.targets import Kind, writable
from backwater.cli.views import View
from backwater.errors import InputError

app = typer.Typer(
    help="Work out thresholds, headroom and pause times from rates and delays.",
    no_args_is_help=True,
)

# The network of the study sfc-aidc-2025: what counts where neither an option nor a scenario says.
STUDY: dict[str, Any] = {
    "rate": "200 Gb/s",
    "links": 3,
    "switches": 3,
    "link_delay": "150 ns",
    "switch_latency": "300 ns",
    "pfc_threshold": "380 KB",
}
# The threshold of its 3:1 cases.
STUDY_THRESHOLD = "200 KB"

Rate = Annotated[str, typer.Option("--rate", help="Rate of every link.")]
LinkDelay = Annotated[str, typer.Option("--link-delay", help="Propagation delay of a link.")]


def _help(text: str, key: str) -> str:
    return f"{text} Default: the scenario's, or {STUDY[key]}."


@app.command("sfc")
def sfc(
    senders: Annotated[
        int | None,
        typer.Option(
            "--senders", min=1, help="Senders into one port. Default: of the scenario's incast."
        ),
    ] = None,
    scenario: Annotated[
        str | None,
        typer.Option(
            "--scenario",
            metavar="FILE",
            help="Take what no option gives from a scenario; - reads stdin.",
        ),
    ] = None,
    settings: Set = None,
    mechanisms: With = None,
    variant: Variant = None,
    rate: Annotated[
        str | None, typer.Option("--rate", help=_help("Rate of every link.", "rate"))
    ] = None,
    links: Annotated[
        int | None,
        typer.Option(
            "--links", min=1, help=_help("Links from a sender to the receiver's switch.", "links")
        ),
    ] = None,
    switches: Annotated[
        int | None,
        typer.Option(
            "--switches",
            min=1,
            help=_help("Switches on the way, the congested one too.", "switches"),
        ),
    ] = None,
    link_delay: Annotated[
        str | None,
        typer.Option("--link-delay", help=_help("Propagation delay of a link.", "link_delay")),
    ] = None,
    switch_latency: Annotated[
        str | None,
        typer.Option(
            "--switch-latency", help=_help("Processing delay of a switch.", "switch_latency")
        ),
    ] = None,
    pfc_threshold: Annotated[
        str | None,
        typer.Option(
            "--pfc-threshold", help=_help("Where PFC pauses an ingress.", "pfc_threshold")
        ),
    ] = None,
    threshold: Annotated[
        str | None,
        typer.Option(
            "--threshold",
            help="The SFC threshold you have in mind. Default: the scenario's, or "
            f"{STUDY_THRESHOLD}, or the largest legal one if that is less.",
        ),
    ] = None,
    pause: Annotated[
        str | None,
        typer.Option("--pause", help="The pause time you have in mind. Default: the scenario's."),
    ] = None,
    interval: Annotated[
        str | None,
        typer.Option(
            "--interval",
            help="Time between two messages to one sender. Default: the scenario's, or the pause.",
        ),
    ] = None,
    packet: Annotated[
        str | None,
        typer.Option(
            "--packet",
            help="Largest frame; with it serialisation is counted too. Default: the scenario's.",
        ),
    ] = None,
    json: Json = None,
) -> int:
    """Headroom, largest threshold and legal range of pause times of Source Flow Control.

    What neither an option nor a scenario gives is the network of the study sfc-aidc-2025. Ends with
    code 1 if there is no legal setting, or if the one in mind is not legal. That is by the formula
    of the contribution to P802.1Qdw; beside it stands this project's bound, which counts
    serialisation and whole frames and only cautions.
    """
    writable(json, Kind.JSON, scenario)
    facts = _facts(scenario, variant, settings, mechanisms)
    if senders is None and facts.get("senders") is None:
        raise InputError(*_no_senders(scenario))
    given = {
        "senders": senders,
        "rate": rate,
        "links": links,
        "switches": switches,
        "link_delay": link_delay,
        "switch_latency": switch_latency,
        "pfc_threshold": pfc_threshold,
        "threshold": threshold,
        "pause": pause,
        "interval": interval,
        "packet": packet,
        "message": None,
    }
    told = {key: facts.get(key) if value is None else value for key, value in given.items()}
    question: dict[str, Any] = {
        key: STUDY.get(key) if value is None else value for key, value in told.items()
    }
    source = _source(scenario, facts, given)
    if scenario is not None or question["threshold"] is not None:
        return _show(_core.advise_sfc(**question), json, source)
    advice = _core.advise_sfc(**question | {"threshold": STUDY_THRESHOLD})
    if not advice["feasible"]:
        advice = _core.advise_sfc(**question)
    for row in advice["rows"]:
        if row["name"].startswith("threshold") and row["formula"] == "as given":
            row["formula"] = "the study's"
    return _show(advice, json, source)


def _facts(
    file: str | None,
    variant: str | None,
    settings: list[str] | None,
    mechanisms: list[str] | None,
) -> dict[str, Any]:
    if file is None:
        if variant is not None or settings or mechanisms:
            raise InputError(
                "--variant, --with and --set are about a scenario", "name it with --scenario FILE"
            )
        return {}
    facts = read(file, variant, settings, mechanisms).sfc_facts()
    return facts | {"switches": facts["links"]}


def _no_senders(scenario: str | None) -> tuple[str, str]:
    if scenario is None:
        return "--senders is missing", "how many send into one port, or --scenario FILE"
    reason = "no flows are known to start at once from several hosts into one"
    return f"{scenario}: {reason}", "say how many there may be with --senders"


def _source(scenario: str | None, facts: dict[str, Any], given: dict[str, Any]) -> str | None:
    """Say what was taken from where, in a line."""
    if scenario is None:
        return None
    own = [key for key, value in given.items() if value is None and facts.get(key) is not None]
    names = [key.replace("_", " ") for key in own]
    if "pfc_threshold" in own and facts["pfc_threshold_key"] != "pfc.xoff":
        # A dynamic threshold of PFC is the limit, or without PFC the memory itself.
        names[own.index("pfc_threshold")] = f"limit ({facts['pfc_threshold_key']})"
    into = f" (into {facts['receiver']})" if "senders" in own else ""
    return f"From {scenario}{into}: {', '.join(names)}."


@app.command("pfc")
def pfc(
    rate: Rate = "200 Gb/s",
    link_delay: LinkDelay = "150 ns",
    packet: Annotated[str, typer.Option("--packet", help="Largest frame.")] = "4064 B",
    control_packet: Annotated[
        str, typer.Option("--control-packet", help="Size of a PFC frame.")
    ] = "64 B",
    response: Annotated[
        str, typer.Option("--response", help="Time from a pause's arrival to the stop.")
    ] = "0 ns",
    model: Annotated[
        str,
        typer.Option("--model", help="simulator: what this simulator needs; standard: 802.1Q's."),
    ] = "simulator",
    json: Json = None,
) -> int:
    """PFC headroom of one port and class, itemised."""
    writable(json, Kind.JSON)
    advice = _core.advise_pfc(
        rate=rate,
        link_delay=link_delay,
        packet=packet,
        control_packet=control_packet,
        response=response,
        model=model,
    )
    return _show(advice, json)


def _show(advice: dict[str, Any], json: str | None, source: str | None = None) -> int:
    if json is not None:
        write_json(json, advice)
    if json != "-":
        view = View()
        view.add_column("")
        view.add_column("value", justify="right")
        view.add_column("unit")
        view.add_column("from", overflow="fold")
        for row in advice["rows"]:
            view.add_row(row["name"], row["value"], row["unit"], row["formula"])
        show(view, advice["title"], *_sentence(advice), *([source] if source else []))
    for caution in advice["cautions"]:
        message(f"caution: {caution}")
    for problem in advice["problems"]:
        message(f"not feasible: {problem}")
    return 0 if advice["feasible"] else 1


def _sentence(advice: dict[str, Any]) -> list[str]:
    """Say what an SFC advice comes to: by the document's formula, serialised, and by our bound."""
    rows = {row["name"]: f"{row['value']} {row['unit']}" for row in advice["rows"]}
    if not advice["feasible"]:
        return []
    lines = [
        f"{start}headroom {rows[f'headroom{end}']}; "
        f"threshold at most {rows[f'largest threshold{end}']}; "
        f"pause {rows[f'pause longer than{end}']} to {rows[f'pause shorter than{end}']} "
        f"at a threshold of {rows[f'threshold{end}']}."
        for start, end in (
            ("\nThe contribution dw-chen-sfc-computation-simulation: ", ""),
            ("The same, serialised: ", " with serialisation"),
        )
        if f"pause longer than{end}" in rows
    ]
    if "headroom, our bound" in rows:
        lines.append(
            f"This project's bound: headroom {rows['headroom, our bound']}; "
            f"threshold at most {rows['largest threshold, our bound'].strip()}; "
            f"pause {rows['pause at least, our bound']} to {rows['pause at most, our bound']} "
            f"at a threshold of {rows['threshold']}."
        )
    return lines
