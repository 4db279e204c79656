"""What metrics know of single mechanisms. No other file of `numbers` names one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

WATCHDOG = "pfc-watchdog"
"""Kind of message of the table of control, by which a watchdog says that it gave up a queue."""


def no_cnps(scenario: Mapping[str, Any]) -> str | None:
    """Say why receivers of a scenario send no CNPs though senders react to marks."""
    if scenario.get("dcqcn", {}).get("law") != "ns3":
        return None
    return 'dcqcn.law = "ns3" reacts to marks in acknowledgements, and no CNPs are sent'
