#!/usr/bin/env bash
# `make install DESTDIR=`, and what a stranger's program sees of it: headers, pkg-config, symbols.
# shellcheck source=tap.inc
. "$(dirname "$0")/tap.inc"

check 'make install DESTDIR=' make -s -C "$root" install BUILD="$build" DESTDIR="$scratch/root"
prefix=$(find "$scratch/root" -name baton.pc -print -quit)
export PKG_CONFIG_PATH="${prefix%/*}" PKG_CONFIG_SYSROOT_DIR="$scratch/root"
library_path=$(dirname "$(dirname "$prefix")")
check 'pkg-config finds it' pkg-config --exists baton

read -r -a include <<< "$(pkg-config --cflags baton)"
read -r -a flags <<< "$(pkg-config --cflags --libs baton) -pthread"
for example in "$root"/examples/*.c; do
    name=$(basename "$example" .c)
    check "example $name: builds with the shared library" \
        cc -std=c17 -Wall -Wextra -pedantic -Werror "$example" -o "$scratch/$name" "${flags[@]}"
    check "example $name: runs" env LD_LIBRARY_PATH="$library_path" "$scratch/$name"
    check "example $name: builds with the static library" \
        cc -std=c17 "$example" -o "$scratch/$name-static" "${include[@]}" \
        "$library_path/libbaton.a" -pthread
    check "example $name: runs without the shared library" "$scratch/$name-static"
done

read -r -a check_flags <<< "$(pkg-config --cflags --libs baton-check)"
check 'example check-your-lock: builds with libbaton-check' \
    cc -std=c17 "$root/examples/check-your-lock/ticket.c" -o "$scratch/ticket" "${check_flags[@]}"
check 'example check-your-lock: is explored' "$scratch/ticket" --processes 3 --memory c11

read -r -a replica_flags <<< "$(pkg-config --cflags --libs baton-replica)"
check 'example replica: builds with libbaton-replica' \
    cc -std=c17 -Wall -Wextra -pedantic -Werror "$root/examples/replica/account.c" -o "$scratch/account" "${replica_flags[@]}"
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
keep_account() { # DIRECTORY < LINES: alone
    LD_LIBRARY_PATH="$library_path" "$scratch/account" a "a=127.0.0.1:$port" "$1"
}
check 'example replica: runs' diff <(keep_account "$scratch/account-a" <<< 'deposit 5 withdraw 9') <(echo 'ok 5 refused 5 ')
check 'example replica: remembers' diff <(keep_account "$scratch/account-a" <<< 'balance') <(echo 'ok 5 ')

printf '#include <baton/board.h>\n#include <baton/client.h>\n#include <baton/replica.h>\nint main() { return baton_algorithm_find("dt1") ? 0 : 1; }\n' \
    > "$scratch/plus.cc"
check 'the headers are C++ too' \
    c++ -std=c++17 -Wall -Wextra "$scratch/plus.cc" -o "$scratch/plus" "${flags[@]}"
check 'a C++ program runs' env LD_LIBRARY_PATH="$library_path" "$scratch/plus"

exported() { nm -D --defined-only "$library_path/$1.so" | sed -n 's/.* T \([a-z0-9_]*\)@@BATON_0$/\1/p' | sort; }
declared() { # HEADER...
    printf '#include <baton/%s>\n' "$@" | cc -E -P -I "$root/include" -x c - |
        tr '\n' ' ' | tr ';{}' '\n' | grep 'visibility' | grep -oE '\bbaton_[a-z0-9_]+ ?\(' | tr -d ' (' | sort -u
}
check 'exports are exactly what the headers declare' diff <(declared board.h client.h) <(exported libbaton)
check 'so are those of libbaton-replica' diff <(declared replica.h | grep '^baton_replica_') <(exported libbaton-replica)
for library in libbaton libbaton-replica; do
    check "$library: nothing is exported without a version" test -z \
        "$(nm -D --defined-only "$library_path/$library.so" | grep -v '@@BATON_0$\| A BATON_0$')"
    check "$library: soname" grep -q "soname.*$library.so.0" <(readelf -d "$library_path/$library.so")
done
check 'libbaton needs nothing but the C library' test -z \
    "$(readelf -d "$library_path/libbaton.so" | grep NEEDED | grep -v '\[libc\.so\|\[ld-linux')"
check 'the command is installed and runs' "$(find "$scratch/root" -path '*/bin/baton')" --version
check 'so is the explorer' "$(find "$scratch/root" -path '*/bin/baton-check')" --list
check 'so is the simulator' "$(find "$scratch/root" -path '*/bin/baton-sim')" --help
unit=$(find "$scratch/root" -path '*/lib/systemd/system/baton-node@.service')
started=$(sed -n 's/^ExecStart=\([^ ]*\) .*/\1/p' "$unit")
check 'the unit of a node starts what is installed' test -x "$scratch/root$started"
check 'and waits for its disk' grep -q '^RequiresMountsFor=%S/baton/%i$' "$unit"
check 'its user, and an example of its configuration' test -s "$(find "$scratch/root" -path '*/lib/sysusers.d/baton.conf')" \
    -a -s "$(find "$scratch/root" -path '*/doc/baton/node.conf')"
for page in baton.1 baton-bench.1 baton-check.1 baton-issue.1 baton-locks.1 baton-node.1 baton-read.1 baton-release.1 baton-run.1 \
    baton-serve.1 baton-sim.1 baton-status.1 baton-top.1 libbaton.3 libbaton-replica.3; do
    check "manual page $page" test -s "$(find "$scratch/root" -name "$page*" -print -quit)"
done
finish
