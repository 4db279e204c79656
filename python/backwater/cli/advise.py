"""`backwater advise`: thresholds, headroom and pause times from rates and delays."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from backwater import _core
from backwater.cli.arguments import Json
from backwater.cli.output import message, show, table, writable, write_json

app = typer.Typer(
    help="Work out thresholds, headroom and pause times from rates and delays.",
    no_args_is_help=True,
)

# The threshold of the study's 3:1 cases, as the other defaults are its network.
STUDY_THRESHOLD = "200 KB"

Rate = Annotated[str, typer.Option("--rate", help="Rate of every link.")]
LinkDelay = Annotated[str, typer.Option("--link-delay", help="Propagation delay of a link.")]


@app.command("sfc")
def sfc(
    senders: Annotated[int, typer.Option("--senders", min=1, help="Senders into one port.")],
    rate: Rate = "200 Gb/s",
    links: Annotated[
        int, typer.Option("--links", min=1, help="Links from a sender to the receiver's switch.")
    ] = 3,
    switches: Annotated[
        int, typer.Option("--switches", min=1, help="Switches on the way, the congested one too.")
    ] = 3,
    link_delay: LinkDelay = "150 ns",
    switch_latency: Annotated[
        str, typer.Option("--switch-latency", help="Processing delay of a switch.")
    ] = "300 ns",
    pfc_threshold: Annotated[
        str, typer.Option("--pfc-threshold", help="Where PFC pauses an ingress.")
    ] = "380 KB",
    threshold: Annotated[
        str | None,
        typer.Option(
            "--threshold",
            help="The SFC threshold you have in mind. "
            f"[default: {STUDY_THRESHOLD}, or the largest legal one if that is less]",
        ),
    ] = None,
    packet: Annotated[
        str | None,
        typer.Option("--packet", help="Largest frame; with it serialisation is counted too."),
    ] = None,
    json: Json = None,
) -> int:
    """Headroom, largest threshold and legal range of pause times of Source Flow Control.

    The defaults are the network of the study sfc-aidc-2025. Ends with code 1 if there is no legal
    setting.
    """
    writable(json)

    def ask(threshold: str | None) -> dict[str, Any]:
        return _core.advise_sfc(
            senders=senders,
            rate=rate,
            links=links,
            switches=switches,
            link_delay=link_delay,
            switch_latency=switch_latency,
            pfc_threshold=pfc_threshold,
            threshold=threshold,
            packet=packet,
        )

    if threshold is not None:
        return _show(ask(threshold), json)
    advice = ask(STUDY_THRESHOLD)
    return _show(advice if advice["feasible"] else ask(None), json)


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
    writable(json)
    advice = _core.advise_pfc(
        rate=rate,
        link_delay=link_delay,
        packet=packet,
        control_packet=control_packet,
        response=response,
        model=model,
    )
    return _show(advice, json)


def _show(advice: dict[str, Any], json: str | None) -> int:
    if json is not None:
        write_json(json, advice)
    if json != "-":
        view = table()
        view.add_column("")
        view.add_column("value", justify="right")
        view.add_column("unit")
        view.add_column("from", overflow="fold")
        for row in advice["rows"]:
            view.add_row(row["name"], row["value"], row["unit"], row["formula"])
        show(view, advice["title"], *_sentence(advice))
    for problem in advice["problems"]:
        message(f"not feasible: {problem}")
    return 0 if advice["feasible"] else 1


def _sentence(advice: dict[str, Any]) -> list[str]:
    """Say what an SFC advice comes to, in a line; and in another with serialisation counted."""
    rows = {row["name"]: f"{row['value']} {row['unit']}" for row in advice["rows"]}
    if not advice["feasible"]:
        return []
    return [
        f"{start}headroom {rows[f'headroom{end}']}; "
        f"threshold at most {rows[f'largest threshold{end}']}; "
        f"pause {rows[f'pause longer than{end}']} to {rows[f'pause shorter than{end}']} "
        f"at a threshold of {rows[f'threshold{end}']}."
        for start, end in (("\nIn short: ", ""), ("Serialised: ", " with serialisation"))
        if f"pause longer than{end}" in rows
    ]
