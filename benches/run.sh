#!/usr/bin/env bash
# Time and memory per packet-hop; with valgrind also instructions and cache misses. Needs cargo.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build --quiet --release --package backwater --features jemalloc --example hops
hops=${CARGO_TARGET_DIR:-target}/release/examples/hops

lscpu 2>/dev/null | sed -nE 's/^(CPU\(s\)|Model name|L2 cache|L3 cache): +/\1: /p' || true
echo
"$hops"

# A case, its length for the peak memory, and its length for two threads, if it is run on two.
cases='ecmp-128 1280 1280
ecmp-2048 80 80
ecmp-16384 10 10
permutation-1024 2000 2000
permutation-128 4000 4000
permutation-2048 250 250
study-case-2-pfc 100
study-case-2-pfc+sfc 100
fat-tree-320 300 300
prefill-2048 1800 450
dispatch-8192 20 20'

echo
echo "peak resident memory"
while read -r case length _; do
    read -r _ _ kilobytes < <("$hops" "$case" "$length")
    printf '%-22s %4d MB\n' "$case" $((kilobytes / 1000))
done <<< "$cases"

echo
echo "one thread and two, in turns: seconds of the loop, their ratio, and the peak resident memory of each"
measured() { "$hops" "$@" | sed -E 's/.*: ([0-9.]+) s, [0-9a-f]+, ([0-9]+) kB/\1 \2/'; }
while read -r case _ length; do
    [[ $length ]] || continue
    for pair in 1 2 3 4 5; do
        read -r one its < <(measured "$case" "$length" 1)
        read -r two theirs < <(measured "$case" "$length" 2)
        awk -v case="$case" -v pair="$pair" -v one="$one" -v two="$two" -v its="$its" -v theirs="$theirs" \
            'BEGIN { printf "%-22s pair %d: %7.3f %7.3f %5.2f %6d %6d MB\n", case, pair, one, two, one / two, its / 1000, theirs / 1000 }'
    done
done <<< "$cases"

echo
if ! command -v valgrind >/dev/null; then
    echo "instructions and misses per packet-hop: not measured, valgrind is missing (Debian has it in the package valgrind)"
    exit 0
fi

# The difference of two lengths leaves out the building of the network and the start of flows. The caches have 48 KiB and 1 MiB.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
count() {
    valgrind --tool=callgrind --cache-sim=yes --D1=49152,12,64 --LL=1048576,16,64 \
        --callgrind-out-file="$scratch/profile" "$hops" "$1" "$2" >"$scratch/hops" 2>"$scratch/log"
    read -r frames data _ <"$scratch/hops"
    # Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw
    read -r instructions first second < <(awk '/^totals:/ { print $2, $6 + $7, $9 + $10 }' "$scratch/profile")
}
echo "per packet-hop (callgrind): instructions of all frames / of data frames only, misses of the first and of the second cache"
while read -r case short long; do
    count "$case" "$short"
    before=("$frames" "$data" "$instructions" "$first" "$second")
    count "$case" "$long"
    awk -v case="$case" -v hops=$((frames - before[0])) -v data=$((data - before[1])) -v ir=$((instructions - before[2])) \
        -v d1=$((first - before[3])) -v ll=$((second - before[4])) \
        'BEGIN { printf "%-22s %5d /%5d %7.1f %6.1f\n", case, ir / hops, ir / data, d1 / hops, ll / hops }'
done <<'CASES'
ecmp-128 100 300
ecmp-2048 10 30
ecmp-16384 2 4
permutation-1024 100 200
permutation-128 200 600
permutation-2048 60 120
study-case-2-pfc 20 60
study-case-2-pfc+sfc 20 60
fat-tree-320 100 200
prefill-2048 50 100
CASES
