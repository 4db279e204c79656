"""Facts about single mechanisms that metrics need. No other file of `numbers` names a mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

WATCHDOG = "pfc-watchdog"
"""The kind, in table `control`, of a watchdog's messages that it gave up a queue."""


def no_cnps(scenario: Mapping[str, Any]) -> str | None:
    """Return why receivers send no CNPs though senders react to marks; None: they send them."""
    if scenario.get("dcqcn", {}).get("law") != "ns3":
        return None
    return 'dcqcn.law = "ns3" reacts to marks in acknowledgements, and no CNPs are sent'
