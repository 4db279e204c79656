#!/usr/bin/env bash
# wheel.sh DIR BIN: installs the wheel in DIR into an empty environment, without network, compiler or this tree, and runs the first scenario of
# README with it. The fingerprint must be that of the build in BIN. Dependencies of the wheel are downloaded first, in the versions of
# requirements.lock.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$(realpath "$1") bin=$(realpath "$2")
wheel=$(echo "$dir"/*.whl) sdist=$(echo "$dir"/*.tar.gz)
[ -f "$wheel" ] && [ -f "$sdist" ] || { echo "error: $dir: not one wheel and one sdist" >&2; exit 1; }

fail() { echo "error: $1" >&2; exit 1; }
case "$wheel" in
    *-cp311-abi3-manylinux_*) ;;
    *) fail "$(basename "$wheel"): is no abi3 wheel of manylinux" ;;
esac

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
store=dist/wheelhouse
sed -n 's/^\([A-Za-z0-9._-]*==[^ ;]*\).*/\1/p' requirements.lock > "$place/versions"
"$bin/python" -m pip download --quiet --only-binary :all: --dest "$store" --constraint "$place/versions" "$wheel"
store=$(realpath "$store")

"$bin/python" -m venv "$place/empty"
alone=(env -i "PATH=$place/empty/bin" "HOME=$place" PIP_DISABLE_PIP_VERSION_CHECK=1 LANG=C.UTF-8)
for tool in cc gcc clang cargo rustc make; do
    "${alone[@]}" "$BASH" -c "command -v $tool" > /dev/null && fail "$tool is on the path of the empty environment"
done
cd "$place"
"${alone[@]}" python -m pip install --quiet --no-index --find-links "$store" "$wheel"
installed=$("${alone[@]}" python -c 'import backwater; print(backwater.__file__)')
case "$installed" in
    "$place"/empty/*) ;;
    *) fail "$installed: is not the wheel's" ;;
esac

said() { "$bin/python" -c 'import json, sys; print(json.load(sys.stdin)["fingerprint"])'; }
"${alone[@]}" backwater new first.toml --from incast-victim
ours=$("${alone[@]}" backwater run first.toml --variant sfc --out sfc --json - | said)
theirs=$("$bin/backwater" run "$OLDPWD/scenarios/incast-victim.toml" --variant sfc --out source --json - | said)
[ "$ours" = "$theirs" ] || fail "fingerprints differ: $ours from the wheel, $theirs from the tree"

# Commands also read data files: templates of pages, the schema, studies, the script for Wireshark.
"${alone[@]}" backwater report sfc -o page.html > /dev/null
"${alone[@]}" backwater schema > schema.json
"${alone[@]}" backwater list studies > studies
grep -q sfc-aidc-2025 studies || fail "the wheel has no studies"
"${alone[@]}" backwater reproduce sfc-aidc-2025 --case 1 --seeds 1 --out case > /dev/null
script=$("${alone[@]}" backwater pcap dissector 2> /dev/null)
for file in page.html schema.json case/table.json "$script"; do
    [ -s "$file" ] || fail "$file is empty"
done

# The sdist is a whole workspace: cargo reads all manifests, and finds all files that they name.
mkdir source-tree
tar --extract --file "$sdist" --directory source-tree --strip-components 1
(cd source-tree && cargo metadata --locked --offline --format-version 1 > /dev/null) || fail "the sdist is not whole"
[ -f source-tree/python/backwater/scenarios/incast-victim.toml ] || fail "the sdist has no scenarios"

echo "$(basename "$wheel") ($(du -h "$wheel" | cut -f1)): installed without a compiler; fingerprint $ours, as from the source"
