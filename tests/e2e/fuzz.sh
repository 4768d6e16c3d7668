#!/usr/bin/env bash
# The parsers of the wire, what nodes read from each other and from etcd, and a replica, under libFuzzer, from the
# corpora in the tree; BATON_FUZZ_SECONDS for each (10).
# shellcheck source=tap.inc
. "$(dirname "$0")/tap.inc"
seconds=${BATON_FUZZ_SECONDS:-10}
includes=(-I "$root/tests/unit")
for room in base resp wdme wme consensus replica cluster etcd; do
    includes+=(-I "$root/src/$room")
done

# fuzz NAME LONGEST SOURCE...: what it finds on the way stays in the scratch directory.
fuzz() {
    local name=$1 longest=$2
    shift 2
    mkdir -p "$scratch/$name"
    clang -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -std=gnu17 -D_GNU_SOURCE \
        -I "$root/include" "${includes[@]}" "$root/tests/fuzz/fuzz_$name.c" "${@/#/$root/}" -o "$scratch/fuzz_$name" -ljansson &&
        "$scratch/fuzz_$name" -max_total_time="$seconds" -max_len="$longest" -rss_limit_mb=512 \
            -artifact_prefix="$scratch/" "$scratch/$name" "$root/tests/fuzz/corpus_$name"
}
# fuzz_aside NAME ...: the same in the background; say_aside tells how it went.
fuzz_aside() {
    fuzz "$@" > "$scratch/$1.log" 2>&1 &
    asides[$1]=$!
}
say_aside() {
    wait "${asides[$1]}" || { cat "$scratch/$1.log"; false; }
    result $? "$2, for $seconds s"
}
declare -A asides
# All at once, since each keeps one processor busy for all that time.
fuzz_aside resp 700 src/resp/resp.c
fuzz_aside wme 700 tests/unit/wme_sound.c src/wme/{stub,users,epoch,catchup,rejoin,record,out}.c src/consensus/paxos.c \
    src/replica/replica.c
fuzz_aside peer 1500 src/resp/{resp,proof,sha256}.c src/cluster/{peer_walk,peer_wire,peer_hello,peers}.c \
    src/wme/{record,out}.c
fuzz_aside etcd 700 src/etcd/etcd_txn.c src/base/base64.c src/resp/resp.c src/consensus/outside.c
check "replies, for $seconds s" fuzz reply 700 src/resp/resp_reply.c src/resp/resp.c
say_aside resp commands
say_aside wme 'a replica'
say_aside peer 'what nodes say to each other'
say_aside etcd 'what etcd answers'
finish
