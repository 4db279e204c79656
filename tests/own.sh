#!/usr/bin/env bash
# own.sh BIN: tests the promises of docs/own-mechanism.md. It writes, tests, builds and installs a crate with its own mechanism, beside the
# Backwater of this tree. A run with the mechanism must end, and one without it must have the fingerprint of the command in BIN.
set -euo pipefail
cd "$(dirname "$0")/.."
tree=$PWD bin=$(realpath "$1")
fail() { echo "error: $1" >&2; exit 1; }

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
"$bin/backwater" new mechanism my_law
cd my_law
export PYO3_PYTHON=$bin/python CARGO_TARGET_DIR=$tree/target/own
cargo test --quiet
"$bin/maturin" build --release --out wheel --quiet
"$bin/python" -m pip install --quiet --no-deps --target installed wheel/*.whl
command=(env "PYTHONPATH=$PWD/installed" "$bin/python" -m backwater_my_law)

said() { "$bin/python" -c 'import json, sys; print(json.load(sys.stdin)["fingerprint"])'; }
with=$("${command[@]}" run scenario.toml --out with --json - | said)
again=$("${command[@]}" run scenario.toml --out again --json - | said)
[ "$with" = "$again" ] || fail "two runs with the mechanism differ: $with and $again"
sed '/^\[my_law\]/,/^$/d' scenario.toml > without.toml
ours=$("${command[@]}" run without.toml --out without --json - | said)
theirs=$("$bin/backwater" run without.toml --out theirs --json - | said)
[ "$ours" = "$theirs" ] || fail "without the mechanism the fingerprints differ: $ours and $theirs"
[ "$with" != "$ours" ] || fail "the mechanism changes nothing"
as_class=$("$bin/python" - "$tree/docs/modelling/prototype.md" <<'END'
# The law as the guide's class, from the guide's text before its own scenario.
import re
import sys
from pathlib import Path

import backwater

block = re.search(r"^```python runnable\n(.*?)^scenario = ", Path(sys.argv[1]).read_text(), re.DOTALL | re.MULTILINE)
exec(block[1])
print(backwater.load("without.toml").prototype(Aimd).run().fingerprint)
END
)
[ "$with" = "$as_class" ] || fail "the law in Rust and the class in Python differ: $with and $as_class"
case $("${command[@]}" explain my_law) in
    *increase*decrease*initial*) ;;
    *) fail "the command does not explain the mechanism" ;;
esac
"$bin/backwater" check scenario.toml > /dev/null 2>&1 && fail "the command without the mechanism takes its scenario"
# Each point of a sweep runs in its own process.
"${command[@]}" sweep scenario.toml --vary my_law.decrease=0.25,0.5 --seeds 1..2 --out sweep > /dev/null
echo "a mechanism of one's own: $with with it and as a class of Python; $ours without, as from the tree"
