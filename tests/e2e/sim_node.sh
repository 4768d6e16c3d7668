#!/usr/bin/env bash
# `baton-sim node`: whole nodes that ship, with their clients, in a network in which all goes wrong that can.
# shellcheck source=tap.inc
. "$(dirname "$0")/tap.inc"
sim=$build/baton-sim

says() { # WORDS COMMAND...
    local words=$1
    shift
    "$@" | grep -qF -- "$words"
}
field() { # JQ ARGUMENT...
    local query=$1
    shift
    "$sim" node "$@" --json | jq -r "$query"
}

# ---- nothing breaks ----
fine() { # RUNS ARGUMENT...
    local runs=$1
    shift
    [ "$(field '"\(.runs) \(.broken | length)"' --runs "$runs" "$@")" = "$runs 0" ]
}
check '6000 runs, with all that can go wrong' fine 6000
check 'nothing goes wrong in nice runs' fine 40 --faults none
for nodes in {1..7}; do
    check "$nodes nodes" fine 20 --nodes "$nodes" --seed 1000
done
for fault in crash wipe away ambush swap pause drift cut split drop slow drain power kill full choke restore move; do
    check "nothing but $fault" fine 20 --faults $fault --seed 2000
    check "of which there is some" test "$(field ".faults.$fault" --faults $fault --seed 2000 --runs 20)" -gt 0
done
check 'sections outlive a node that dies or hangs' fine 40 --scene failover
check 'also one of two, and one that has kept it' fine 200 --scene failover -n 2 --consensus outside
check 'and locks their numbers' fine 20 --scene aged

# ---- disks, and what is instead of them ----
some() { # FIELD ARGUMENT...
    local name=$1
    shift
    [ "$(field ".$name" "$@")" -gt 0 ]
}
check 'a turn that is torn after a torn turn' fine 150 --faults power --durability disk
check 'of which there are some' some torn_turns --runs 20 --faults power --durability disk
check 'killed before the sync, and then the power fails' fine 60 --faults kill --durability disk
check 'which takes sectors with it' some lost_sectors --runs 60 --faults kill,power --durability disk
check 'a full disk, and a power failure' fine 60 --faults full,power --durability disk
check 'at which nodes end' some ended_for_want_of_room --runs 20 --faults full --durability disk
check 'older copies of directories are refused' some older_copies --runs 60 --faults restore
check 'mostly all that follows is judged' test \
    "$(field '.older_copies > 4 * .runs_not_judged_to_the_end' --runs 200 --faults restore)" = true
check 'all in memory, of which never a majority is off' fine 100 --durability memory
check 'in which nodes die all the same' some deaths --runs 20 --durability memory
check 'consensus outside' fine 100 --consensus outside
for way in lost twice late; do
    check "whose answers and questions are $way" some asked_outside_$way --runs 20 --consensus outside
done
check 'a seed draws where data are' some runs_in_memory --runs 60
check 'also for some of the nodes' some runs_partly_in_memory --runs 60
check 'and who ends epochs' some runs_with_consensus_outside --runs 60

# ---- clients that mind their leases, by the code of libbaton's client ----
check 'nobody enters while another believes that it is inside' fine 300 --clients library
for deed in renewed given_up left_silent overlaps; do
    check "of which there are some: $deed" some $deed --runs 100 --clients library
done
check 'clients that do not' fine 100 --clients script
check 'which renew nothing' test "$(field .renewed --runs 20 --clients script)" -eq 0

# ---- one seed is one run ----
replay() { # FILE ARGUMENT...
    local file=$scratch/$1
    shift
    "$sim" node "$@" --replay > "$file"
    [ $? -le 1 ] # 1: it breaks something
}
same_twice() { # ARGUMENT...
    replay one "$@" && replay two "$@" && cmp "$scratch/one" "$scratch/two" && [ -s "$scratch/one" ]
}
for seed in 3 9 1032 1708; do
    check "a replay of seed $seed gives the same bytes twice" same_twice --seed $seed
done
check 'it has a death in it' grep -q DIES "$scratch/one"
check 'and an operation' grep -q 'says ISSUE' "$scratch/one"
check 'and a connection that is lost' grep -q 'the connection is lost' "$scratch/one"
replay other --seed 10
replay nine --seed 9
check 'another seed gives another run' bash -c "! cmp -s '$scratch/one' '$scratch/other'"
sums() { # ARGUMENT...
    field '"\(.events) \(.messages) \(.sections) \(.operations) \(.deaths)"' --keep-going "$@"
}
check 'a picture' "$sim" node --seed 9 --svg "$scratch/run.svg" --from 100 --to 700
check 'with as many lanes as nodes' test "$(grep -c '>node [0-9]<' "$scratch/run.svg")" -eq \
    "$(grep -o '^seed 9: [0-9]' "$scratch/nine" | grep -o '[0-9]$')"
check 'that is well-formed' python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$scratch/run.svg"
check 'with arrows' grep -q 'marker-end' "$scratch/run.svg"
check 'and sections' grep -q "fill='#43a047'/>$" "$scratch/run.svg"
check 'as many workers as you like' test "$(sums --runs 20 --jobs 1)" = "$(sums --runs 20 --jobs 3)"
left_behind() { # disks of processes that are gone
    local room
    for room in /dev/shm/baton-sim-*; do
        [ ! -d "$room" ] || kill -0 "${room##*-}" || return 0
    done
    return 1
}
check 'no disk is left behind' bash -c "$(declare -f left_behind); ! left_behind"

# ---- plans ----
"$sim" node --nodes 5 --seed 1708 --print-plan > "$scratch/plan"
"$sim" node --nodes 5 --plan "$scratch/plan" --print-plan > "$scratch/again"
check 'a plan is printed' grep -q '^at [0-9]* [a-z]* .*for [0-9]* by' "$scratch/plan"
check 'and read as it was printed' cmp "$scratch/plan" "$scratch/again"
round_trips() {
    local seed
    for seed in {1..60}; do
        "$sim" node --nodes 7 --seed "$seed" --print-plan > "$scratch/drawn"
        "$sim" node --nodes 7 --plan "$scratch/drawn" --print-plan | cmp - "$scratch/drawn" || return 1
    done
}
check 'so are sixty others' round_trips
echo 'at 300 crash 0 for 400 by 3 # a comment' > "$scratch/script"
check 'a scripted plan happens' says 'node 0    DIES' "$sim" node --nodes 3 --plan "$scratch/script" --replay

# ---- wrong usage ----
check 'help' says 'Usage: baton-sim node' "$sim" node --help
refuse 64 "'8' is no number from 1 to 7" 'too many nodes' "$sim" node --nodes 8
refuse 64 "'0' is no number from 1 to 7" 'no nodes' "$sim" node --nodes 0
refuse 64 "'4' is no number from 1 to 3" 'too many locks' "$sim" node --locks 4
refuse 64 "neither 'all' nor 'owner'" 'acknowledgements to somebody else' "$sim" node --ack me
refuse 64 "'fire' is no list of faults" 'another fault' "$sim" node --faults fire
refuse 64 "neither 'disk' nor 'memory'" 'data elsewhere' "$sim" node --durability tape
refuse 64 "neither 'paxos' nor 'outside'" 'another engine' "$sim" node --consensus raft
refuse 64 "neither 'script' nor 'library'" 'other clients' "$sim" node --clients python
refuse 64 'what is in memory has no age' 'old locks in memory' "$sim" node --scene aged --durability memory
refuse 64 "'night' is no scene" 'another scene' "$sim" node --scene night
refuse 74 "cannot write '/nowhere/x.svg'" 'a picture that cannot be' "$sim" node --svg /nowhere/x.svg
refuse 64 '--from must be before --to' 'a time that never is' "$sim" node --svg /dev/null --from 9 --to 3
refuse 64 'one thing at a time' 'two things' "$sim" node --replay --minimize
refuse 64 "unexpected 'more'" 'one word too many' "$sim" node more
refuse 64 "'--nonsense' is no option" 'another option' "$sim" node --nonsense
refuse 64 'wants a value' 'a value is missing' "$sim" node --seed
refuse 64 "cannot read the plan '$scratch/none'" 'a plan that is not there' "$sim" node --plan "$scratch/none"
bad_plan() { # WORDS NAME LINE...
    local words=$1 name=$2
    shift 2
    printf '%s\n' "$@" > "$scratch/bad"
    refuse 64 "$words" "$name" "$sim" node --nodes 3 --plan "$scratch/bad"
}
bad_plan "line 2 of the plan is no mishap of 3 nodes: 'at 5 crash 3 for 1 by 0'" 'a node that is not there' \
    'at 5 crash 2 for 1 by 0' 'at 5 crash 3 for 1 by 0'
bad_plan 'line 1 of the plan' 'no such fault' 'at 5 flood 1 for 10 by 0'
bad_plan 'line 1 of the plan' 'no such point of a turn' 'at 5 crash 1 for 10 by 5'
bad_plan 'line 1 of the plan' 'a power failure that never is' 'at 5 power 1 for 10 by 0'
bad_plan 'line 1 of the plan' 'a cut from nobody to nobody' 'at 5 cut 1 for 10 by 0'
bad_plan 'line 1 of the plan' 'words too many' 'at 5 pause 1 for 10 by 0 ms'
refuse 74 'cannot write the output' 'a full disk' bash -c "'$sim' node --runs 2 --faults none > /dev/full"
finish
