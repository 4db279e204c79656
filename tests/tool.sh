#!/usr/bin/env bash
# tool.sh PROGRAM WHAT: sees that a program is there for the tests: installs Debian's package of its name where that is possible without
# being asked for anything, else says that what it is for will not be tested. Where CI is set, that is an error.
set -uo pipefail
program=$1 what=$2
# Some distributions call Chromium so.
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
