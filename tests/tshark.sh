#!/usr/bin/env bash
# Sees that tshark is there for the tests of captures: installs Debian's where that is possible without being asked for anything, else says
# that these tests will not run. Where CI is set, that is an error.
set -uo pipefail
command -v tshark > /dev/null && exit 0

as_root=()
if [ "$(id -u)" != 0 ]; then
    as_root=(sudo -n)
fi
if command -v apt-get > /dev/null && "${as_root[@]}" true 2> /dev/null; then
    echo "installing tshark, for the tests of captures"
    # The package asks whether everybody may capture; nobody needs to.
    if "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive sh -c \
        'apt-get install -y --no-install-recommends tshark || { apt-get update && apt-get install -y --no-install-recommends tshark; }' \
        > /dev/null 2>&1 && command -v tshark > /dev/null; then
        exit 0
    fi
fi

echo "*** tshark is missing and cannot be installed from here (Debian: apt-get install tshark)." >&2
echo "*** What Wireshark makes of captures will NOT be tested." >&2
if [ -n "${CI:-}" ]; then
    echo "error: CI is set, and these tests must run there" >&2
    exit 1
fi
