#!/usr/bin/env bash
# `baton-sim` as a sceptic types it: what ships holds, what the paper prints does not.
# shellcheck source=tap.inc
. "$(dirname "$0")/tap.inc"
sim=$build/baton-sim

field() { # JQ COMMAND...
    local query=$1
    shift
    "$@" --json | jq -r "$query"
}

check 'two clients, three tries each' says exhausted "$sim" wdme --clients 2 --tries 3
check 'three clients, tries and waits' says exhausted "$sim" wdme --clients 3 --tries 1 --locks 0 --leases 1 --cuts 1
check 'a wait that is given up' says exhausted "$sim" wdme --tries 1 --locks 1 --cancels 1
check 'restarts' says exhausted "$sim" wdme --tries 1 --locks 1 --restarts 1
check 'by chance, with all that can go wrong' says 'runs done' "$sim" wdme --clients 16 --tries 20 --locks 20 \
    --cancels 50 --cuts 50 --leases 50 --restarts 10 --seed 1 --runs 300
check 'a seed gives the same run again' test \
    "$(field .steps "$sim" wdme --clients 5 --cuts 5 --seed 42 --runs 20)" -eq \
    "$(field .steps "$sim" wdme --clients 5 --cuts 5 --seed 42 --runs 20)"
check 'another seed gives another run' test \
    "$(field .steps "$sim" wdme --clients 5 --cuts 5 --seed 42 --runs 1)" -ne \
    "$(field .steps "$sim" wdme --clients 5 --cuts 5 --seed 43 --runs 1)"
check 'a run is told step by step' says 'process 1 tries' "$sim" wdme --seed 7 --tell

broken() { # WORDS ARGUMENT...
    local words=$1
    shift
    "$sim" wdme "$@" > "$scratch/told"
    [ $? -eq 1 ] && grep -qF -- "!! $words" "$scratch/told"
}
check 'as printed, two are inside' broken 'two are in the critical section' --model printed
check 'and the run is told' grep -q 'from process 1: EXIT' "$scratch/told"
check 'mended, Theorem 1 is false' broken 'Theorem 1' --model printed-mended

count() { # MODEL
    field .messages_per_section "$sim" wdme --model "$1" --clients 8 --tries 100 --count 100
}
check 'corrected: 4 messages for the winner, 3 for each of 7 losers' test "$(count corrected)" = 25
check 'polling: 4, 2 for each of 700 tries, 7 resets' test "$(count polling)" = 1411
check 'the limit has an exit code' bash -c "'$sim' wdme --clients 3 --limit 100 > /dev/null; [ \$? -eq 75 ]"
check 'help' says 'Usage: baton-sim' "$sim" --help

refuse 64 'name a protocol' 'no protocol' "$sim"
refuse 64 "no protocol 'tcp'" 'another protocol' "$sim" tcp
refuse 64 "unexpected 'more'" 'one word too many' "$sim" wdme more
refuse 64 "no model 'mine'" 'another model' "$sim" wdme --model mine
refuse 64 "'17' is no number from 1 to 16" 'too many clients' "$sim" wdme --clients 17
refuse 64 "'x' is no number" 'letters for a number' "$sim" wdme --tries x
refuse 64 "'--nonsense' is no option" 'another option' "$sim" wdme --nonsense
refuse 64 'wants a value' 'a value is missing' "$sim" wdme --seed
refuse 64 "know tries only" 'waits in the printed automata' "$sim" wdme --model printed --locks 1
refuse 64 '--tell tells the run of a --seed' 'telling without a seed' "$sim" wdme --tell
refuse 74 'cannot write the output' 'a full disk' bash -c "'$sim' wdme > /dev/full"
finish
