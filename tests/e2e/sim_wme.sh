#!/usr/bin/env bash
# `baton-sim wme`: replicas that ship, in a cluster in which all goes wrong that can.
# shellcheck source=tap.inc
. "$(dirname "$0")/tap.inc"
sim=$build/baton-sim

field() { # JQ ARGUMENT...
    local query=$1
    shift
    "$sim" wme "$@" --json | jq -r "$query"
}
told_with() { # CODE COMMAND...
    local code=$1
    shift
    "$@" > "$scratch/told"
    [ $? -eq "$code" ]
}

# ---- nothing breaks ----
fine() { # RUNS ARGUMENT...
    local runs=$1
    shift
    [ "$(field '"\(.runs) \(.broken | length)"' --runs "$runs" "$@")" = "$runs 0" ]
}
check '20000 runs, with all that can go wrong' fine 20000
check 'nice runs need no consensus and suspect nobody' fine 500 --faults none
check 'and take no decision' test "$(field '"\(.decisions) \(.suspicions)"' --runs 500 --faults none)" = '0 0'
for nodes in 2 4 7 9; do
    check "$nodes nodes" fine 200 --nodes $nodes
done
for fault in crash ambush forget late pause drift cut split lose duplicate slow; do
    check "nothing but $fault" fine 200 --faults $fault
done

check '5000 runs with consensus outside' fine 5000 --consensus outside
check 'which takes decisions' test "$(field .decisions --runs 200 --consensus outside)" -gt 200
check 'of which nice runs need none' \
    test "$(field '"\(.broken | length) \(.decisions)"' --runs 200 --faults none --consensus outside)" = '0 0'

# ---- one seed is one run ----
replay() { # FILE ARGUMENT...
    local file=$scratch/$1
    shift
    "$sim" wme "$@" --replay > "$file"
}
same_twice() { # ARGUMENT...
    replay one "$@" && replay two "$@" && cmp "$scratch/one" "$scratch/two" && [ -s "$scratch/one" ]
}
check 'a replay gives the same bytes twice' same_twice --seed 7
check 'it has an epoch change in it' grep -q 'learns the decision' "$scratch/one"
check 'and a crash' grep -q CRASHES "$scratch/one"
replay other --seed 8
check 'another seed gives another run' bash -c "! cmp -s '$scratch/one' '$scratch/other'"
cp "$scratch/one" "$scratch/other"
check 'consensus outside gives the same bytes twice' same_twice --seed 7 --consensus outside
check 'and is another run' bash -c "! cmp -s '$scratch/one' '$scratch/other'"
sums() { # ARGUMENT...
    field '"\(.events) \(.messages) \(.sections) \(.operations) \(.ejected) \(.longest_wait_us)"' "$@"
}
check 'as many workers as you like' test "$(sums --runs 200 --jobs 1)" = "$(sums --runs 200 --jobs 5)"
"$sim" wme --seed 7 --replay --from 100 --to 120 | grep -E '^ +[0-9]' > "$scratch/part"
# shellcheck disable=SC2016 # awk's own
check 'a part of a replay' awk '$1 < 100 || $1 > 120 { exit 1 } END { exit NR == 0 }' "$scratch/part"

# ---- plans ----
"$sim" wme --nodes 5 --seed 7 --print-plan > "$scratch/plan"
"$sim" wme --nodes 5 --plan "$scratch/plan" --print-plan > "$scratch/again"
check 'a plan is printed' grep -q '^at [0-9]* [a-z]* .*for [0-9e]' "$scratch/plan"
check 'and read as it was printed' cmp "$scratch/plan" "$scratch/again"
round_trips() {
    local seed
    for seed in {1..60}; do
        "$sim" wme --nodes 9 --seed "$seed" --print-plan > "$scratch/drawn"
        "$sim" wme --nodes 9 --plan "$scratch/drawn" --print-plan | cmp - "$scratch/drawn" || return 1
    done
}
check 'so are sixty others' round_trips
replay drawn --nodes 5 --ack all --locks 1 --seed 7
replay read --nodes 5 --ack all --locks 1 --seed 7 --plan "$scratch/plan"
check 'the plan of a seed makes its run' cmp "$scratch/drawn" "$scratch/read"
cat > "$scratch/script" << 'PLAN'
# the owner stops for good, and everybody is told late
at 100 crash 0 after 0 for ever
at 100 slow 5 for 300   # a comment
PLAN
check 'a scripted plan' fine 50 --nodes 3 --plan "$scratch/script"
check 'it happens' says '0    CRASHES' "$sim" wme --nodes 3 --plan "$scratch/script" --replay
check 'and leads to another epoch' test "$(field .highest_epoch --nodes 3 --plan "$scratch/script" --runs 50)" -ge 2
echo 'at 100 split 2 for 800' > "$scratch/split"
check 'a minority on its own is told to be suspended' \
    says 'says suspended' "$sim" wme --nodes 3 --plan "$scratch/split" --replay
check 'and later that it is not' says 'says resumed' "$sim" wme --nodes 3 --plan "$scratch/split" --replay

# ---- what fails: an epoch that is not to be reached ----
first=$(field '.broken[0].seed' --runs 100 --fail-if-epoch 3 --jobs 1)
check 'the first seed that fails, whoever finds it' \
    test "$first" = "$(field '.broken[0].seed' --runs 100 --fail-if-epoch 3 --jobs 4)"
check 'a failure has an exit code' told_with 1 "$sim" wme --runs 100 --fail-if-epoch 3
command=$(sed -n 's/^  baton-sim \(wme .* --replay\)$/\1/p' "$scratch/told" | head -n 1)
reported=$(sed -n 's/^BROKEN: \(.*\)$/\1/p' "$scratch/told" | head -n 1)
# shellcheck disable=SC2086 # the command's words
check 'the command that it prints fails too' told_with 1 "$sim" $command
check 'a command with consensus outside says so' says '--consensus outside --faults' \
    "$sim" wme --runs 100 --fail-if-epoch 3 --consensus outside
check 'in the same way' grep -qF -- "$reported" "$scratch/told"
check 'with the words where they belong' grep -q '^ .*!! node' "$scratch/told"
check 'keep going counts them' test "$(field '.broken[0].runs' --runs 100 --fail-if-epoch 3 --keep-going)" -gt 1
check 'and does all runs' test "$(field .runs --runs 100 --fail-if-epoch 3 --keep-going)" -eq 100

cat > "$scratch/large" << 'PLAN'
at 50 duplicate 30 for 900
at 200 crash 0 after 3 for 600
at 300 drift 1 by 5 for ever
at 400 lose 2 for 100
at 700 pause 2 for 20
PLAN
minimize() { told_with 1 "$sim" wme --nodes 3 --ack all --locks 1 --seed 3 --plan "$scratch/large" --fail-if-epoch 2 --minimize; }
check 'a failing plan is minimized' minimize
cp "$scratch/told" "$scratch/small"
check 'one crash is enough' test "$(grep -c '^at' "$scratch/small")" -eq 1
# shellcheck disable=SC2016 # awk's own
check 'and a shorter one' awk '/^at/ { exit !($3 == "crash" && $8 < 600) }' "$scratch/small"
check 'what it prints is a plan that fails' told_with 1 "$sim" wme --nodes 3 --ack all --locks 1 --seed 3 \
    --plan "$scratch/small" --fail-if-epoch 2
check 'one that breaks nothing is told so' says 'breaks nothing' "$sim" wme --seed 7 --minimize

# ---- pictures ----
check 'a picture' "$sim" wme --seed 7 --svg "$scratch/run.svg" --from 0 --to 300
check 'with as many lanes as nodes' test "$(grep -c '>node [0-9]<' "$scratch/run.svg")" -eq \
    "$("$sim" wme --seed 7 --replay | sed -n '1s/.*: \([0-9]*\) nodes.*/\1/p')"
check 'that is well-formed' python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$scratch/run.svg"
check 'with arrows' grep -q 'marker-end' "$scratch/run.svg"

# ---- Table 1 ----
table() { # JQ ARGUMENT...
    local query=$1
    shift
    field "[.[] | $query] | join(\" \")" --count "$@"
}
operation='"\(.operation.messages)/\(.operation.steps)/\(.operation.steps_all)"'
check 'to enter, 2(N-1) messages and 2 steps' test \
    "$(table '"\(.enter_elsewhere.messages)/\(.enter_elsewhere.steps)"' --ack all)" = '4/2 8/2 12/2 16/2'
check 'nothing with the token here' test "$(table '.enter_here.messages + .enter_here.steps' --ack owner)" = '0 0 0 0'
check 'to exit, no step' test "$(table '.exit_alone.steps + .exit_handing.steps' --ack all)" = '0 0 0 0'
check 'an operation of WME-1' test "$(table "$operation" --ack all)" = '6/2/2 20/2/2 42/2/2 72/2/2'
check 'an operation of WME-2' test "$(table "$operation" --ack owner)" = '6/2/3 12/2/3 18/2/3 24/2/3'
check 'consensus for every event, N^2 - 1 messages and 3 steps' test \
    "$(field '[.[] | select(.name | endswith("all")) | .operation | "\(.messages)/\(.steps)"] | join(" ")' \
        --count --baseline)" = '8/3 24/3 48/3 80/3'
check 'or 4(N-1) messages and 4 steps' test \
    "$(field '[.[] | select(.name | endswith("paxos")) | .exit_alone | "\(.messages)/\(.steps)"] | join(" ")' \
        --count --baseline)" = '8/4 16/4 24/4 32/4'

check 'a million operations leave no trace' test "$(field .flat --million --ack owner)" = true

# ---- wrong usage ----
check 'help' says 'Usage: baton-sim wme' "$sim" wme --help
refuse 64 "'10' is no number from 2 to 9" 'too many nodes' "$sim" wme --nodes 10
refuse 64 "'4' is no number from 1 to 3" 'too many locks' "$sim" wme --locks 4
refuse 64 "neither 'all' nor 'owner'" 'acknowledgements to somebody else' "$sim" wme --ack me
refuse 64 "neither 'paxos' nor 'outside'" 'another consensus' "$sim" wme --consensus raft
refuse 64 "'fire' is no list of faults" 'another fault' "$sim" wme --faults fire
refuse 64 'one thing at a time' 'two things' "$sim" wme --replay --count
refuse 64 '--baseline goes with --count' 'a baseline of nothing' "$sim" wme --baseline
refuse 64 '--from must be before --to' 'a part that is none' "$sim" wme --replay --from 5 --to 5
refuse 64 "unexpected 'more'" 'one word too many' "$sim" wme more
refuse 64 "'--nonsense' is no option" 'another option' "$sim" wme --nonsense
refuse 64 'wants a value' 'a value is missing' "$sim" wme --seed
refuse 64 "cannot read the plan '$scratch/none'" 'a plan that is not there' "$sim" wme --plan "$scratch/none"
bad_plan() { # WORDS NAME LINE...
    local words=$1 name=$2
    shift 2
    printf '%s\n' "$@" > "$scratch/bad"
    refuse 64 "$words" "$name" "$sim" wme --nodes 3 --plan "$scratch/bad"
}
bad_plan "line 2 of the plan is no fault of 3 nodes: 'at 5 crash 3 after 0 for 1'" 'a node that is not there' \
    'at 5 crash 2 after 0 for 1' 'at 5 crash 3 after 0 for 1'
bad_plan 'line 1 of the plan' 'no such fault' 'at 5 flood 1 for 10'
bad_plan 'line 1 of the plan' 'a fault without end' 'at 5 pause 1 for ever'
bad_plan 'line 1 of the plan' 'more than it may say' 'at 5 lose 101 for 10'
bad_plan 'line 1 of the plan' 'words too many' 'at 5 lose 10 for 10 ms'
bad_plan 'only a minority' 'a majority that stays away' 'at 5 crash 0 after 0 for ever' 'at 5 crash 1 after 0 for ever'
refuse 74 'cannot write the output' 'a full disk' bash -c "'$sim' wme --runs 5 > /dev/full"
refuse 74 "cannot write '/nowhere/x.svg'" 'a picture that cannot be' "$sim" wme --svg /nowhere/x.svg
finish
