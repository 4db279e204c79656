#!/usr/bin/env bash
# tool.sh PROGRAM WHAT: checks that tests have a program. If not, it installs Debian's package of that name, if possible without a
# question. Else it warns that WHAT will not be tested; if CI is set, that is an error.
set -uo pipefail
program=$1 what=$2
# Some distributions call Chromium chromium-browser.
command -v "$program" "$program-browser" > /dev/null && exit 0

as_root=()
if [ "$(id -u)" != 0 ]; then
    as_root=(sudo -n)
fi
install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$program")
if command -v apt-get > /dev/null && "${as_root[@]}" true 2> /dev/null; then
    echo "installing $program, for the tests"
    "${as_root[@]}" "${install[@]}" > /dev/null 2>&1 ||
        { "${as_root[@]}" apt-get update && "${as_root[@]}" "${install[@]}"; } > /dev/null 2>&1
    command -v "$program" > /dev/null && exit 0
fi

echo "*** $program is missing and cannot be installed from here (Debian: apt-get install $program)." >&2
echo "*** $what will NOT be tested." >&2
if [ -n "${CI:-}" ]; then
    echo "error: CI is set, and these tests must run there" >&2
    exit 1
fi
