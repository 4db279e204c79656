#!/usr/bin/env bash
# Processor time of each further run of a series: 101 and 501 seeds of the scenario that `backwater new` writes, in turns.
set -euo pipefail
cd "$(dirname "$0")/.."
backwater=${BACKWATER:-.venv/bin/backwater}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$backwater" new "$scratch/tiny.toml" >"$scratch/said" 2>&1

# Prints the user and system time of a number of seeds, in seconds.
spent() {
    local TIMEFORMAT='%U %S'
    { time "$backwater" run "$scratch/tiny.toml" --seeds "$1" --out "$scratch/series" --force >"$scratch/said" 2>&1; } 2>&1 |
        awk '{ print $1 + $2 }'
}

for pair in 1 2 3 4 5 6 7; do
    few=$(spent 101)
    many=$(spent 501)
    awk -v pair="$pair" -v few="$few" -v many="$many" \
        'BEGIN { printf "pair %d: %.2f ms a run (%.2f s for 101 seeds, %.2f s for 501)\n", pair, (many - few) / 400 * 1000, few, many }'
done
printf 'files of 501 runs: %d\n' "$(find "$scratch/series" -type f | wc -l)"
