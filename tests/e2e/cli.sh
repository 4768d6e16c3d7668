#!/usr/bin/env bash
# `baton locks` and `baton bench` as a user types them, rightly and wrongly.
# shellcheck source=tap.inc
. "$(dirname "$0")/tap.inc"
baton=$build/baton

# ---- help and version ----
check 'help' says 'Usage: baton COMMAND' "$baton" --help
check 'help about bench' says 'Usage: baton bench' "$baton" help bench
check 'help of bench' says 'Usage: baton bench' "$baton" bench --help
check 'help of locks' says 'Usage: baton locks' "$baton" locks --help
check 'version' says "baton $(sed -n "s/^ *version: '\([0-9.]*\)',$/\1/p" "$root/meson.build" | head -n 1)" \
    "$baton" --version
refuse 64 'Usage: baton COMMAND' 'no command' "$baton"
refuse 64 "no command 'lokcs'" 'unknown command' "$baton" lokcs

# ---- locks ----
check 'table has the ten locks at least' test "$("$baton" locks | tail -n +2 | wc -l)" -ge 10
check 'table as JSON has as many' test \
    "$("$baton" locks --json | jq length)" -eq "$("$baton" locks | tail -n +2 | wc -l)"
check 'dt2 promises FIFO and wait-free exit' test \
    "$("$baton" locks --json | jq -r '.[] | select(.name == "dt2") | .fifo and .wait_free_exit')" = true
bytes() { "$baton" locks --json --space "$2" "$3" | jq ".bytes.\"$1\""; }
check 'space: twice the locks for dt2 with many participants is little more' test \
    "$(bytes dt2 20 10000)" -lt "$(($(bytes dt2 10 10000) * 11 / 10))"
check 'space: twice the locks for dt1 is twice the space' test \
    "$(bytes dt1 20 10000)" -gt "$(($(bytes dt1 10 10000) * 19 / 10))"
check 'space: beyond its limit a lock has none' test "$(bytes filter 1 1025)" = null
refuse 64 'not a whole number' 'space of no locks' "$baton" locks --space 0 1
refuse 64 'not a whole number' 'space of no participants' "$baton" locks --space 1 0
refuse 64 'not a whole number' 'space of words' "$baton" locks --space many 1
refuse 64 'not a whole number' 'space of too many' "$baton" locks --space 99999999999999999999 1
refuse 64 'takes two numbers' 'space without numbers' "$baton" locks --space
refuse 64 "'--sapce' is no option" 'locks: unknown option' "$baton" locks --sapce
refuse 64 "'-x' is no option" 'locks: unknown letter' "$baton" locks -xh
refuse 64 "unexpected 'dt1'" 'locks: unexpected word' "$baton" locks dt1
refuse 1 'cannot write the output' 'locks: full disk' bash -c "'$baton' locks > /dev/full"

# ---- bench ----
"$baton" bench --json --seconds 1 --rounds 1 --threads 1,2 --plot "$scratch/plot.svg" tas dt1 \
    > "$scratch/bench.json" 2> "$scratch/bench.err"
result $? 'bench of two locks'
field() { jq "$1" "$scratch/bench.json"; }
check 'bench: two locks and two peers at two thread counts' test "$(field '.results | length')" -eq 8
check 'bench: every figure is there' test \
    "$(field '[.results[] | .passages_per_s > 0 and .fairness > 0 and .longest_wait_us >= 0 and
        .context_switches_per_s >= 0 and .ratio_to_pthread > 0 and .ratio_to_ck_mcs > 0] | all')" = true
check 'bench: pthread is its own measure' test \
    "$(field '[.results[] | select(.lock == "pthread") | .ratio_to_pthread == 1] | all')" = true
check 'bench: a plot' grep -q '</svg>' "$scratch/plot.svg"
check 'bench: no progress line where nobody looks' test ! -s "$scratch/bench.err"
check 'bench: parking, without peers, as text' says 'parking' \
    "$baton" bench --seconds 1 --rounds 1 --threads 2 --park --no-peers dt2
check 'bench: more threads than a lock takes is no error' says 'peterson                   -' \
    "$baton" bench --seconds 1 --rounds 1 --threads 3 --no-peers peterson
refuse 64 "no lock 'mutex'" 'bench: unknown lock' "$baton" bench mutex
refuse 64 '--threads takes' 'bench: no threads' "$baton" bench --threads 0
refuse 64 '--threads takes' 'bench: too many threads' "$baton" bench --threads 1,1025
refuse 64 '--threads takes' 'bench: hole in the list of threads' "$baton" bench --threads 1,,2
refuse 64 '--threads takes' 'bench: empty list of threads' "$baton" bench --threads ''
refuse 64 '--seconds takes' 'bench: bad seconds' "$baton" bench --seconds -1
refuse 64 '--rounds takes' 'bench: bad rounds' "$baton" bench --rounds 0
refuse 64 'nanoseconds' 'bench: bad inside' "$baton" bench --inside 1ms
refuse 64 'wants a value' 'bench: value missing' "$baton" bench --seconds
refuse 64 "'--fast' is no option" 'bench: unknown option' "$baton" bench --fast
refuse 1 'cannot write the plot' 'bench: plot into nowhere' \
    "$baton" bench --seconds 1 --rounds 1 --threads 1 --plot "$scratch/no/plot.svg" tas
refuse 1 'nothing to plot' 'bench: plot of nothing' \
    "$baton" bench --seconds 1 --rounds 1 --threads 3 --no-peers --plot "$scratch/plot.svg" peterson
check 'bench: threads in any order can be plotted' \
    "$baton" bench --seconds 1 --rounds 1 --threads 2,1,2 --no-peers --plot "$scratch/plot2.svg" tas
check 'bench: and the plot is there' grep -q '</svg>' "$scratch/plot2.svg"
refuse 1 'cannot start that many threads' 'bench: more threads than the system allows' \
    bash -c "ulimit -v 400000; '$baton' bench --seconds 1 --rounds 1 --threads 1024 --no-peers tas"

# ---- bench --collect ----
"$baton" bench --collect --json --seconds 1 --rounds 1 --plot "$scratch/collect.svg" \
    > "$scratch/bench.json" 2> "$scratch/bench.err"
result $? 'bench --collect'
rows() { field "[.results[] | select(.object == \"$1\") | .stored]" | jq -c .; }
check 'bench --collect: array, a row per k' test "$(rows array)" = '[1,2,4,8,16,32,64]'
check 'bench --collect: matrix, a row per k' test "$(rows matrix)" = '[1,2,4,8,16,32,64]'
check 'bench --collect: tree, a row per k up to its n' test "$(rows tree)" = '[1,2,4,8,16]'
check 'bench --collect: n is what it should be' test \
    "$(field '[.results[] | .participants] | unique' | jq -c .)" = '[16,64]'
check 'bench --collect: every figure is there' test \
    "$(field '[.results[] | .first_store_ns >= 0 and .later_store_ns > 0 and .collect_ns > 0] | all')" = true
check 'bench --collect: a value is a word' test "$(field .value_bytes)" -eq "$(($(getconf LONG_BIT) / 8))"
check 'bench --collect: a plot' grep -q '</svg>' "$scratch/collect.svg"
check 'bench --collect: no progress line where nobody looks' test ! -s "$scratch/bench.err"
"$baton" bench --collect --value 100 --seconds 1 --rounds 2 > "$scratch/bench.txt"
result $? 'bench --collect: wide values, as text'
shows() { grep -qE -- "$1" "$scratch/bench.txt"; }
check 'bench --collect: says how it was measured' shows 'one after another'
check 'bench --collect: says what was stored' shows 'Values of 100 bytes, median of 2 rounds'
check 'bench --collect: all operations' shows 'first STORE +later STORE +COLLECT'
check 'bench --collect: all objects' shows '^  k( +array +tree +matrix){3}$'
check 'bench --collect: all k' test "$(grep -cE '^ *(1|2|4|8|16|32|64)( +[0-9.]+| +-){9}$' "$scratch/bench.txt")" -eq 7
check 'bench --collect: no tree for more than its n' shows '^ 64 +[0-9.]+ +- +[0-9.]+'
for bytes in 1 65536; do
    check "bench --collect: values of $bytes" says "Values of $bytes byte" \
        "$baton" bench --collect --value $bytes --seconds 1 --rounds 1
done
for bytes in 0 65537 -1 word ''; do
    refuse 64 '--value takes' "bench --collect: values of '$bytes'" "$baton" bench --collect --value "$bytes"
done
refuse 64 '--value needs --collect' 'bench: values are for --collect' "$baton" bench --value 8
for option in '--threads 2' '--inside 5' '--outside 5' --park --no-peers; do
    # shellcheck disable=SC2086 # an option and its value
    refuse 64 "${option% *} is about locks" "bench --collect $option" "$baton" bench $option --collect
done
refuse 64 '--threads is about locks' 'bench --collect -t' "$baton" bench --collect -t 2
refuse 64 "unexpected 'dt1'" 'bench --collect: a lock' "$baton" bench --collect dt1
refuse 64 '--seconds takes' 'bench --collect: bad seconds' "$baton" bench --collect --seconds 0
refuse 64 '--rounds takes' 'bench --collect: bad rounds' "$baton" bench --collect --rounds 102
refuse 1 'cannot write the plot' 'bench --collect: plot into nowhere' \
    "$baton" bench --collect --seconds 1 --rounds 1 --plot "$scratch/no/plot.svg"
refuse 1 'no memory' 'bench --collect: more memory than the system allows' \
    bash -c "ulimit -v 40000; '$baton' bench --collect --value 65536 --seconds 1 --rounds 1"

# ---- bench --at; with somebody there: test_bench_load.py ----
for option in '--clients 2' '--mix lock' '--locks 2' '--operation set' '--size 2' '--rate 2' '--count 2' \
    '--warm-up 2' '--prefix x' '--password-file x'; do
    # shellcheck disable=SC2086 # an option and its value
    refuse 64 "${option% *} needs --at" "bench $option without --at" "$baton" bench $option
done
for option in '--threads 2' '--inside 5' --park --no-peers '--value 5' --collect --board '--rounds 2'; do
    # shellcheck disable=SC2086 # an option and its value
    refuse 64 "${option% *} does not go with --at" "bench --at $option" "$baton" bench --at a:1 $option
done
load() { "$baton" bench --at "$scratch/nobody" "$@"; }
refuse 69 "cannot reach $scratch/nobody" 'bench --at: nobody is there' load
refuse 64 "unexpected 'dt1'" 'bench --at: a lock' load dt1
for list in '' word 'a:1,' 'a:1,,b:1'; do
    refuse 64 '--at takes one, as in' "bench --at '$list'" "$baton" bench --at "$list"
done
for mix in '' word issue=0 issue=1001 issue=x 'lock,lock' 'lock,'; do
    refuse 64 '--mix takes one, as in' "bench --at: mix '$mix'" load --mix "$mix"
done
for size in '' 0 32001 9-8 x 1-32001; do
    refuse 64 '--size takes bytes' "bench --at: size '$size'" load --size "$size"
done
refuse 64 '--clients takes' 'bench --at: no clients' load --clients 0
refuse 64 '--clients takes' 'bench --at: too many clients' load -c 10001
refuse 64 '--locks takes' 'bench --at: no locks' load --locks 0
refuse 64 '--rate takes operations per second' 'bench --at: no rate' load --rate 0
refuse 64 '--count takes' 'bench --at: no count' load -n 0
refuse 64 '--warm-up takes seconds' 'bench --at: bad warm-up' load --warm-up -1
refuse 64 '--operation is one of these' 'bench --at: bad operation' load --operation DEL
refuse 64 '--prefix takes' 'bench --at: no prefix' load --prefix ''
refuse 64 '--prefix takes' 'bench --at: too long a prefix' load --prefix "$(printf '%0201d' 0)"
finish
