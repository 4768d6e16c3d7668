#!/usr/bin/env bash
# `baton-check` as a sceptic types it, and somebody's own lock with a bug in it.
# shellcheck source=tap.inc
. "$(dirname "$0")/tap.inc"
check=$build/baton-check
cd "$root" || exit 1

check 'every lock at the quick bounds' "$check" --all --quick
check 'the search says that it was exhausted' says 'exhausted' "$check" dt1 -n 2 -p 2 -m c11
check 'every property has a verdict' test \
    "$("$check" dt2 -n 2 -p 2 | grep -cE '^  (mutual exclusion|deadlock freedom|FIFO|wait-free exit|memory safety) +holds$')" -eq 5
check 'tas can starve, and does not promise otherwise' says 'process 1 can try for ever' "$check" tas --endless
check 'filter waits for 3 sections at n = 3' says 'worst wait         3' "$check" filter -n 3 --endless
check 'filter-fme2 waits for 2 sections at n = 3' says 'worst wait         2' "$check" filter-fme2 -n 3 --endless
check 'random runs, replayable from their seed' test \
    "$("$check" dt1 -n 4 -p 2 -m c11 --random 7 --runs 50 --json | jq .steps)" -eq \
    "$("$check" dt1 -n 4 -p 2 -m c11 --random 7 --runs 50 --json | jq .steps)"
check 'the limit has an exit code' bash -c "'$check' filter -n 4 --limit 1000; [ \$? -eq 75 ]"
check 'and is said to be the limit' says 'stopped at the limit' bash -c "'$check' filter -n 4 --limit 1000 || true"
check 'JSON' test "$("$check" mcs -n 2 -p 2 --figures --json | jq -r '.exit_waits, .rmr_dsm' | xargs)" = 'true 4'

check 'reductions lose no execution' test \
    "$("$check" dt1 -n 3 --json | jq .executions)" = "$("$check" dt1 -n 3 --no-reduction --json | jq .executions)"

# ---- programs ----
check 'programs are listed' test "$("$check" --list | grep -cxE 'dt1|splitter|tree|wide|park')" -eq 5
check 'a program: its outcomes are judged' says 'outcome            holds' "$check" splitter -n 3 -m c11
check 'a program: its figures' test \
    "$("$check" tree-bounds -n 3 --json | jq -r '.program, .figures.marked, .figures.depth' | xargs)" = 'tree-bounds 5 2'
check 'a program: no word of passages' test \
    "$("$check" tree-bounds -n 2 --json | jq 'has("lock") or has("passages") or has("resting")')" = false
check 'sleeping and waking: nobody sleeps for ever' says 'deadlock freedom   holds' "$check" park -n 3 -m c11
check 'a program at random' says 'random runs done' "$check" tree -n 4 -m c11 --random 7 --runs 50

# ---- somebody's own lock ----
ticket() { # BUG
    cc -std=gnu17 -O2 -DBATON_CHECK -DBUG="$1" -I include examples/check-your-lock/ticket.c \
        "$build/libbaton-check.a" -lm -o "$scratch/ticket$1"
}
check 'your lock: compiles' ticket 0
check 'your lock: is right' "$scratch/ticket0" -n 3 -p 2 -m c11
check 'your lock: compiles with a bug' ticket 1
check 'your lock: the bug is found' bash -c "'$scratch/ticket1' -n 2 --trace '$scratch/trace' --svg '$scratch/run.svg' > '$scratch/found'; [ \$? -eq 1 ]"
check 'your lock: two have the same ticket' grep -q 'FIFO  *VIOLATED' "$scratch/found"
check 'your lock: the run shows the source' grep -q 'ticket.c:.*reg_write(&lock->next, mine + 1, relaxed)' "$scratch/found"
check 'your lock: the culprit is marked' grep -q '!! overtakes one whose doorway was earlier' "$scratch/found"
check 'your lock: the drawing' grep -q '</svg>' "$scratch/run.svg"
check 'your lock: the run can be replayed' bash -c "'$scratch/ticket1' replay '$scratch/trace' > '$scratch/again'; [ \$? -eq 1 ]"
check 'your lock: and is the same' diff <(sed -n '/process 1/,$p' "$scratch/found") <(sed -n '/process 1/,$p' "$scratch/again")
check 'your lock: compiles with a bug of memory order' ticket 2
check 'your lock: sc does not see it' "$scratch/ticket2" -n 2 -p 2 -m sc
check 'your lock: c11 does' bash -c "'$scratch/ticket2' -n 2 -p 2 -m c11 > '$scratch/found'; [ \$? -eq 1 ]"
check 'your lock: the holder misses what was written' grep -q 'may not see what the last holder wrote' "$scratch/found"

# ---- wrong usage ----
refuse 64 "no lock or program 'mutex'" 'unknown lock' "$check" mutex
refuse 64 'name a lock' 'no lock' "$check"
refuse 64 '--processes takes' 'no processes' "$check" dt1 -n 0
refuse 64 '--processes takes' 'too many processes' "$check" dt1 -n 7
refuse 64 '--passages takes' 'no passages' "$check" dt1 -p 0
refuse 64 '--passages takes' 'too many passages' "$check" dt1 -p 61
refuse 64 'does not take so many' 'three for peterson' "$check" peterson -n 3
for option in '--passages 2' '--resting 1' --park --figures --endless '--timed 1'; do
    # shellcheck disable=SC2086 # an option and its value
    refuse 64 "${option% *} is for locks, and tree is a program" "a program with $option" "$check" dt1 tree $option
done
refuse 64 'does not take so many' 'five for the splitter' "$check" splitter -n 5
refuse 64 '--memory is' 'unknown memory' "$check" dt1 -m tso
refuse 64 'nobody who moves' 'all resting' "$check" dt1 -n 2 --resting 2
refuse 64 'exclude each other' 'quick and deep' "$check" --all --quick --deep
refuse 64 'is no option' 'unknown option' "$check" dt1 --fast
refuse 64 'wants a value' 'value missing' "$check" dt1 -n
refuse 64 'No such file' 'replay of nothing' "$check" replay "$scratch/nothing"
refuse 64 'no trace' 'replay of something else' "$check" replay "$root/README.md"
refuse 64 'not here' "replay of somebody else's lock" "$check" replay "$scratch/trace"
sed 's/^subject .*/subject tas/; s/^processes .*/processes 1/' "$scratch/trace" > "$scratch/misfit"
refuse 64 'does not fit' 'replay of a run that does not fit' "$check" replay "$scratch/misfit"
sed 's/^steps .*/steps 4000000000/' "$scratch/trace" | sed 's/^subject .*/subject tas/' > "$scratch/misfit"
refuse 64 'does not fit' 'replay of a run that is too long' "$check" replay "$scratch/misfit"
finish
