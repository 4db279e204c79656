#!/usr/bin/env bash
# Time, memory and instructions per packet-hop. Needs cargo; with valgrind also the instructions.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build --quiet --release --package backwater --example hops
hops=${CARGO_TARGET_DIR:-target}/release/examples/hops

lscpu 2>/dev/null | sed -nE 's/^(CPU\(s\)|Model name|L2 cache|L3 cache): +/\1: /p' || true
echo
"$hops"

echo
echo "peak resident memory"
while read -r case length _; do
    read -r _ _ kilobytes < <("$hops" "$case" "$length")
    printf '%-22s %4d MB\n' "$case" $((kilobytes / 1000))
done <<'CASES'
permutation-128 4000
permutation-2048 250
study-case-2-pfc 100
study-case-2-pfc+sfc 100
fat-tree-320 300
prefill-2048 1800
CASES

echo
if ! command -v valgrind >/dev/null; then
    echo "instructions per packet-hop: not measured, valgrind is missing (Debian has it in the package valgrind)"
    exit 0
fi

# Two lengths and a subtraction: what building the network and starting the flows takes falls out.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
count() {
    valgrind --tool=callgrind --callgrind-out-file="$scratch/profile" "$hops" "$1" "$2" \
        >"$scratch/hops" 2>"$scratch/log"
    read -r frames data _ <"$scratch/hops"
    instructions=$(sed -nE 's/.*Collected : ([0-9]+).*/\1/p' "$scratch/log")
}
echo "instructions per packet-hop (callgrind), all frames / data frames only"
while read -r case short long; do
    count "$case" "$short"
    before=("$frames" "$data" "$instructions")
    count "$case" "$long"
    spent=$((instructions - before[2]))
    printf '%-22s %5d /%5d\n' "$case" $((spent / (frames - before[0]))) $((spent / (data - before[1])))
done <<'CASES'
permutation-128 200 600
permutation-2048 60 120
study-case-2-pfc 20 60
study-case-2-pfc+sfc 20 60
fat-tree-320 100 200
prefill-2048 50 100
CASES
