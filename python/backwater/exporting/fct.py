"""`fct.txt`: a line for each complete flow, in order of completion.

    sip dip sport dport size start_ns fct_ns standalone_ns

The format is that of `qp_finish` in `scratch/third.cc` of HPCC's ns-3 code (at 9f4be2a). ConWeave's
code writes numbers of nodes in place of addresses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from backwater.exporting.network import PS_PER_NS, Network
from backwater.exporting.ns3_flows import offset_ns, ports
from backwater.exporting.rows import counted, rows

if TYPE_CHECKING:
    from backwater.exporting import Options
    from backwater.exporting.place import Place
    from backwater.results import Run

TAKES = ("ids", "incast", "standalone", "offset")
FILES = ()

COLUMNS = (
    *("src", "dst", "bytes", "start_ps", "fct_last_ack_ps", "fct_last_byte_ps", "ideal_fct_ps"),
    "state",
)


def write(run: Run, place: Place, options: Options) -> list[str]:
    """Write the file."""
    network = Network.of(run)
    name = network.address if options.ids == "ip" else str
    offset = offset_ns(options)
    left_out = without_ideal = without_acks = 0
    with place.text() as out:
        for (source, target), row in zip(
            ports(run, options), rows(run, "flows", COLUMNS), strict=True
        ):
            src, dst, size, start, last_ack, last_byte, ideal, state = row
            if state != "complete":
                left_out += 1
                continue
            if options.standalone == "ns3":
                alone = network.standalone_ns(src, dst, size)
            elif ideal is None:
                without_ideal += 1
                continue
            else:
                alone = ideal // PS_PER_NS
            without_acks += last_ack is None
            took = (last_byte if last_ack is None else last_ack) // PS_PER_NS
            begun = offset + start // PS_PER_NS
            out.write(f"{name(src)} {name(dst)} {source} {target} {size} {begun} {took} {alone}\n")
    return counted(
        (left_out, "flows that are not complete and are left out"),
        (without_ideal, "flows that are streams, which have no ideal time, and are left out"),
        (without_acks, "flows that have no acknowledgements: their time is that of the last byte"),
    )
