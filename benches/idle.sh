#!/usr/bin/env bash
# The cost of mechanisms that a run does not use: instructions per packet-hop with the registry as it is, and with ten more mechanisms that
# have every hook that a frame can call. Needs cargo and valgrind. Makes two release builds, of several minutes each.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/mechanisms"
for number in {0..9}; do
    sed "s/Idle0/Idle$number/g; s/idle_0/idle_$number/" benches/idle.rs >"$scratch/mechanisms/idle_$number.rs"
done
cargo build --quiet --release --package backwater --features jemalloc --example hops
cp "$target/release/examples/hops" "$scratch/without"
BACKWATER_MECHANISMS="$scratch/mechanisms" cargo build --quiet --release --package backwater --features jemalloc --example hops
cp "$target/release/examples/hops" "$scratch/with"

count() {
    valgrind --tool=callgrind --callgrind-out-file="$scratch/profile" "$@" >"$scratch/hops" 2>"$scratch/log"
    read -r frames _ <"$scratch/hops"
    read -r instructions < <(awk '/^totals:/ { print $2 }' "$scratch/profile")
}
per_hop() {
    count "$1" "$2" "$3"
    local before=("$frames" "$instructions")
    count "$1" "$2" "$4"
    awk -v hops=$((frames - before[0])) -v ir=$((instructions - before[1])) 'BEGIN { printf "%.1f", ir / hops }'
}
echo "per packet-hop (callgrind): instructions without and with ten idle mechanisms"
while read -r case short long; do
    without=$(per_hop "$scratch/without" "$case" "$short" "$long")
    with=$(per_hop "$scratch/with" "$case" "$short" "$long")
    awk -v case="$case" -v a="$without" -v b="$with" 'BEGIN { printf "%-22s %7.1f %7.1f %+5.2f %%\n", case, a, b, (b / a - 1) * 100 }'
done <<'CASES'
ecmp-128 100 300
permutation-128 200 600
study-case-2-pfc+sfc 20 60
fat-tree-320 100 200
CASES
