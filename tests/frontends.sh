#!/usr/bin/env bash
# frontends.sh LIBRARIES: tests what the frontends for other programs share, with no program fetched: the matching of sends and receives, the
# options, and the loop on the static library in this directory. Without a compiler of C++, which it tries to install, nothing is tested; in
# continuous integration (CI is set) that is an error.
set -euo pipefail
cd "$(dirname "$0")/.."
compiler=${CXX:-g++}
bash tests/tool.sh "$compiler" "Frontends"
command -v "$compiler" >/dev/null || exit 0
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
strict=(-std=c++17 -Wall -Wextra -Wpedantic -Wconversion -Werror -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all)
"$compiler" "${strict[@]}" frontends/tests/matching.cpp -o "$place/matching"
"$place/matching"
"$compiler" "${strict[@]}" frontends/tests/command.cpp -o "$place/command"
"$place/command" "$place"
"$compiler" "${strict[@]}" -I crates/backwater-capi/include frontends/tests/loop.cpp -o "$place/loop" "$1/libbackwater_capi.a" -lpthread -ldl -lm
"$place/loop" "$place"
echo "frontends: all holds"
