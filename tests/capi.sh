#!/usr/bin/env bash
# capi.sh LIBRARIES [quick]: compiles the C test of backwater.h with every compiler there is, against the shared and the static library in this
# directory, and runs it: by itself, with the sanitizers of addresses and of undefined behaviour, and under valgrind. The example of
# docs/c.md is compiled and run, too. Only a C compiler must be there; in continuous integration (CI is set), all of them. `quick`: with one
# compiler, the static library, and few messages, which takes some seconds.
set -euo pipefail
cd "$(dirname "$0")/.."
libraries=$(realpath "$1")
header=crates/backwater-capi/include source=crates/backwater-capi/tests/capi.c
strict=(-std=c11 -Wall -Wextra -Wpedantic -Wconversion -Werror -O1 -g -I "$header")
system=(-lpthread -ldl -lm)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

there() {
    command -v "$1" >/dev/null && return
    [ -z "${CI:-}" ] || { echo "error: $1 is missing; Debian has it in a package of this name" >&2; exit 1; }
    echo "without $1, which is not installed"
    return 1
}

# run NAME MESSAGES COMMAND...: with a directory of its own.
run() {
    local name=$1 messages=$2
    shift 2
    mkdir -p "$place/$name"
    "$@" "$messages" "$place/$name" || { echo "error: the test fails: $name" >&2; exit 1; }
    echo "$name: all holds"
}

if [ "${2:-}" = quick ]; then
    "${CC:-cc}" "${strict[@]}" "$source" -o "$place/quick" "$libraries/libbackwater_capi.a" "${system[@]}"
    run "C library" 500 "$place/quick"
    exit
fi

{
    sed -n '/^```c$/,/^```$/p' docs/c.md | sed '/^```/d'
    printf '%s\n' 'static const char STAR[] = "[topology]\nkind = \"star\"\nhosts = 2\nrate = \"100 Gb/s\"\nlink_delay = \"1 us\"\n";' \
        'int main(void) { return run(STAR, sizeof STAR - 1); }'
} > "$place/example.c"

for compiler in gcc clang; do
    there "$compiler" || continue
    built=$place/$compiler
    "$compiler" "${strict[@]}" "$source" -o "$built-static" "$libraries/libbackwater_capi.a" "${system[@]}"
    "$compiler" "${strict[@]}" "$source" -o "$built-shared" -L "$libraries" -lbackwater_capi -Wl,-rpath,"$libraries"
    "$compiler" "${strict[@]}" -fsanitize=address,undefined -fno-sanitize-recover=all "$source" -o "$built-sanitized" \
        "$libraries/libbackwater_capi.a" "${system[@]}"
    run "$compiler, static" 20000 "$built-static"
    run "$compiler, shared" 2000 "$built-shared"
    run "$compiler, sanitized" 2000 "$built-sanitized"
    "$compiler" "${strict[@]}" "$place/example.c" -o "$built-example" "$libraries/libbackwater_capi.a" "${system[@]}"
    said=$("$built-example")
    [[ $said = "message 7 came at "*" ps" ]] || { echo "error: the example of docs/c.md says: $said" >&2; exit 1; }
    "$compiler" -x c++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only "$header/backwater.h"
done
if there valgrind; then
    # What is reachable by pointers into the middle of memory is not lost: tables in statics are.
    run valgrind 100 valgrind --quiet --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite --error-exitcode=9 "$(ls "$place"/*-static | tail -n 1)"
fi
