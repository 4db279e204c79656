#!/usr/bin/env bash
# Sees that Chromium is there for the tests of pages: installs Debian's where that is possible without being asked for anything, else
# says that these tests will not run. Where CI is set, that is an error.
set -uo pipefail
if command -v chromium chromium-browser > /dev/null; then
    exit 0
fi

as_root=()
if [ "$(id -u)" != 0 ]; then
    as_root=(sudo -n)
fi
install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium)
if command -v apt-get > /dev/null && "${as_root[@]}" true 2> /dev/null; then
    echo "installing chromium, for the tests of pages"
    "${as_root[@]}" "${install[@]}" > /dev/null 2>&1 ||
        { "${as_root[@]}" apt-get update && "${as_root[@]}" "${install[@]}"; } > /dev/null 2>&1
    command -v chromium > /dev/null && exit 0
fi

echo "*** chromium is missing and cannot be installed from here (Debian: apt-get install chromium)." >&2
echo "*** What a browser makes of reports will NOT be tested." >&2
if [ -n "${CI:-}" ]; then
    echo "error: CI is set, and these tests must run there" >&2
    exit 1
fi
