#!/usr/bin/env bash
# `baton run`, `baton issue` and `baton read` against three nodes: no two are inside, whichever node is killed or
# hangs. As in run.sh, that two did not overlap is seen from the order of lines in a file. Leases are long, so that
# nobody loses a lock because this machine is busy, but where losing it is what is looked at.
# shellcheck source=tap.inc
. "$(dirname "$0")/tap.inc"
baton=$build/baton
export BATON_RUNTIME_DIR=$scratch/runtime XDG_STATE_HOME=$scratch/state
unset BATON_AT BATON_PASSWORD_FILE BATON_SESSION BATON_LOCK
mkdir -m 700 "$BATON_RUNTIME_DIR"
started=()

clean_up() {
    [ ${#started[@]} -eq 0 ] || kill -9 "${started[@]}" 2> /dev/null
    wait 2> /dev/null
    rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

# ---- what the tests are made of ----

start() { # ARGUMENT...: `baton` with these, in the background
    timeout 120 "$baton" "$@" > "$scratch/bg.out" 2> "$scratch/bg.err" &
    last=$!
    started+=("$last")
}

peers=$(python3 -c 'import socket
s = [socket.socket() for _ in "abc"]
[x.bind(("127.0.0.1", 0)) for x in s]
print(",".join(f"{i}=127.0.0.1:{x.getsockname()[1]}" for i, x in zip("abc", s)))')
declare -A node

start_node() { # ID
    rm -f "$scratch/$1"
    "$baton" node --id "$1" --peers "$peers" --client "$scratch/$1" --data "$scratch/$1.data" \
        --log-level error 2>> "$scratch/$1.log" &
    node[$1]=$!
    started+=("$!")
    until_true test -S "$scratch/$1"
}

kill_node() { # ID
    kill -9 "${node[$1]}"
    wait "${node[$1]}" 2> /dev/null
}

connections() { # COUNT ID: at least so many have been made to that node
    [ "$(grep -c " 03 [0-9 ]*$scratch/$2\$" /proc/net/unix)" -ge "$1" ]
}

has_lines() { # COUNT FILE
    [ "$( (wc -l < "$2") 2> /dev/null || echo 0)" -ge "$1" ]
}

ticks() { # LETTER FILE: a command that writes the letter again and again, and does not care for TERM
    echo "trap '' TERM; while :; do echo $1 >> '$2'; sleep 0.01; done"
}

some() { # LETTER FILE: the same, but it ends by itself
    echo "for i in 1 2 3 4 5 6 7 8 9; do echo $1 >> '$2'; sleep 0.01; done"
}

no_overlap() { # FILE: no line of A behind a line of B, and both are there
    sort -c "$1" && grep -q A "$1" && grep -q B "$1"
}

for id in a b c; do start_node $id; done
a=$scratch/a b=$scratch/b c=$scratch/c
are_up() { "$baton" status --at "$a,$b,$c" > /dev/null 2>&1; }
until_true are_up

# ---- three nodes, all alive ----
echo 0 > "$scratch/counter"
runs=()
# shellcheck disable=SC2016 # for the other shell
add='n=$(cat "$1"); sleep 0.03; echo $((n + 1)) > "$1"; echo $BATON_TOKEN >> "$1.tokens"'
for i in 1 2 3; do
    for at in "$a,$b,$c" "$b,$c,$a" "$c,$a,$b"; do
        start run counter --lease 30 --at "$at" -- sh -c "$add" sh "$scratch/counter"
        runs+=("$last")
    done
done
all_end() { local pid; for pid in "${runs[@]}"; do ends_with 0 "$pid" || return 1; done; }
check 'nine at three nodes: all enter' all_end
check 'no update is lost' test "$(cat "$scratch/counter")" -eq 9
check 'tokens grow from one to the next' sort -c -n -u "$scratch/counter.tokens"
check 'the first cannot be reached' code 5 "$baton" run a --at "$scratch/none,127.0.0.1:1,$b" -- sh -c 'exit 5'
check 'one node is enough' code 0 "$baton" run a --at "$c" -- true
check 'by the environment' code 0 env BATON_AT="$a,$b" "$baton" run a -- true
check 'locks: the first cannot be reached' code 0 "$baton" locks --at "$scratch/none,$b"
refuse 69 'cannot reach' 'none can be reached' "$baton" run a --at "$scratch/none,127.0.0.1:1" -- true
refuse 64 'at ' 'an empty address' "$baton" run a --at "$a,,$b" -- true
refuse 64 'at ' 'a comma too much' "$baton" run a --at "$a," -- true
start run busy --lease 30 --at "$a,$b,$c" -- sh -c "echo > '$scratch/busy'; until test -e '$scratch/tried'; do sleep 0.05; done"
until_true test -e "$scratch/busy"
refuse 75 'held by another' 'held, at another node' "$baton" run busy --try --at "$c,$a,$b" -- true
refuse 75 'time is over' 'and for longer than that' "$baton" run busy --timeout 0.5 --at "$b,$c" -- true
: > "$scratch/tried"
check 'and then left' ends_with 0 "$last"

# ---- operations ----
r=("$baton" run data --lease 30 --at "$a,$b,$c" --)
i=("${r[@]}" "$baton" issue)
check 'issue: SET' test "$("${i[@]}" SET color 'dark blue')" = OK
check 'issue: GET, at another node' test "$("$baton" run data --at "$c,$b" -- "$baton" issue GET color)" = 'dark blue'
check 'issue: GET of nothing' test -z "$("${i[@]}" GET nothing)"
check 'issue: INCR' test "$("${i[@]}" INCR n 41) $("${i[@]}" INCR n)" = '41 42'
check 'issue: a word that looks like an option' test "$("${i[@]}" INCR n -2)" = 40
check 'issue: CAS' test "$("${i[@]}" CAS n EQ 7 8) $("${i[@]}" CAS n EQ 40 41)" = '0 1'
check 'issue: DEL' test "$("${i[@]}" DEL n) $("${i[@]}" DEL n)" = '1 0'
check 'issue: SCAN' test "$("${i[@]}" SCAN)" = "color	dark blue"
check 'issue: many keys, and long values' "${r[@]}" bash -c "for k in {100..150}; do '$baton' issue SET \$k \$(printf %01000d \$k) > /dev/null; done
    [ \"\$('$baton' issue SCAN '' 1000 | wc -lc | tr -s ' ')\" = ' 52 51271' ] || { '$baton' issue SCAN '' 1000 | wc -lc; exit 1; }"
check 'issue: the end of a SCAN that is not all' grep -q "go on with 'baton issue SCAN 101'" <("${i[@]}" SCAN '' 1 2>&1)
check 'issue: one section, many operations at once' "${r[@]}" bash -c "for k in {1..20}; do '$baton' issue INCR many & done; wait
    test \"\$('$baton' issue GET many)\" = 20"
refuse 1 'ERR' 'issue: no such operation' "${i[@]}" FLY away
refuse 1 'ERR' 'issue: too few words' "${i[@]}" SET color
refuse 1 'ERR' 'issue: not a number' "${i[@]}" INCR color
refuse 1 'ERR' 'issue: too long a value' "${r[@]}" bash -c "exec '$baton' issue SET long \$(printf %050000d 0)"
refuse 64 'bytes at most' 'issue: longer than that' "${r[@]}" bash -c "exec '$baton' issue SET long \$(printf %070000d 0)"
refuse 64 'takes an operation' 'issue: nothing' "${i[@]}"
# shellcheck disable=SC2046
refuse 64 'takes an operation' 'issue: too many words' "${i[@]}" $(seq 30)
refuse 64 'is no option' 'issue: unknown option' "${i[@]}" --fast
refuse 64 "no 'baton run' around" 'issue: outside' "$baton" issue SET color red
refuse 69 'has ended' 'issue: of a run that is over' env BATON_SESSION="$scratch/none" "$baton" issue SET color red
refuse 64 'not of a cluster' 'issue: a lock of a server' "$baton" run a -- "$baton" issue SET color red
check 'issue: help' grep -q 'Usage: baton issue' <("$baton" issue --help)
# shellcheck disable=SC2016
check 'the session is for this user alone' test "$("${r[@]}" sh -c 'stat -c %a "$BATON_SESSION"')" = 600
check 'and is gone afterwards' bash -c "! ls '$BATON_RUNTIME_DIR'/session-*"
# shellcheck disable=SC2016
check 'what is no request is refused, and does no harm' "${r[@]}" python3 -c "import os, socket, subprocess
for junk in (b'*99999\r\n', b'*1\r\n\$99999999\r\n', b'\r\n', b'*1\r\n\$1\r\n'):
    s = socket.socket(socket.AF_UNIX)
    s.connect(os.environ['BATON_SESSION'])
    s.sendall(junk)
    s.shutdown(socket.SHUT_WR)
    while s.recv(1000): pass
assert subprocess.run(['$baton', 'issue', 'GET', 'color'], stdout=subprocess.PIPE).stdout == b'dark blue\n'"

check 'read' test "$("$baton" read -q --at "$a,$b" data color)" = 'dark blue'
check 'read: as of when' grep -qE 'as of epoch [0-9]+, sn [0-9]+' <("$baton" read --at "$a" data color 2>&1)
refuse 1 'no such key' 'read: no such key' "$baton" read --at "$a" data nothing
refuse 1 'no such key' 'read: no such lock' "$baton" read --at "$a" nobody color
refuse 1 'refuses' 'read: a server has no data' "$baton" run a -- "$baton" read data color
refuse 64 'name of a lock' 'read: no key' "$baton" read --at "$a" data
refuse 64 'must name a node' 'read: no node' "$baton" read data color
refuse 64 'wants a value' 'read: no address' "$baton" read --at
refuse 64 'is no option' 'read: unknown option' "$baton" read --at "$a" --sure data color
refuse 69 'cannot reach' 'read: nobody there' "$baton" read --at "$scratch/none,127.0.0.1:1" data color
check 'read: help' grep -q 'Usage: baton read' <("$baton" read --help)

# ---- a node is killed, or hangs, at which somebody waits ----
for harm in KILL STOP; do
    log=$scratch/waits-$harm
    start run waits --lease 30 --at "$a,$c" -- sh -c "until test -e '$log.go'; do echo A >> '$log'; sleep 0.01; done"
    holder=$last
    until_true has_lines 5 "$log"
    start run waits --at "$b,$c,$a" -- sh -c "$(some B "$log")"
    until_true connections 2 b
    kill -"$harm" "${node[b]}"
    : > "$log.go"
    check "$harm of the node at which it waits: the holder ends" ends_with 0 "$holder"
    check 'who waited enters at another' ends_with 0 "$last"
    check 'after the holder' no_overlap "$log"
    kill -9 "${node[b]}" 2> /dev/null
    wait "${node[b]}" 2> /dev/null
    start_node b
done

# ---- the holder's node is killed: see also test_run_resume.py ----
for id in a b c; do
    others=${peers//[!abc,]/} # a,b,c
    next=$scratch/$(tr -d "$id," <<< "$others" | cut -c1)
    log=$scratch/dies-$id
    start run dies --lease 30 --grace 0 --at "$scratch/$id" -- sh -c "$(ticks A "$log")"
    holder=$last
    until_true has_lines 5 "$log"
    start run dies --lease 30 --at "$next" -- sh -c "$(some B "$log")"
    until_true connections 2 "${next##*/}"
    kill_node $id
    check "the holder's node $id is killed, and it knows no other: lost" ends_with 76 "$holder"
    check 'the next enters' ends_with 0 "$last"
    check 'when the command is dead' no_overlap "$log"
    start_node $id
done

# ---- the holder's node hangs: nothing is heard, so the lease decides ----
log=$scratch/hangs
start run hangs --at "$c" --lease 1 -- sh -c "$(ticks A "$log")"
holder=$last
until_true has_lines 5 "$log"
kill -STOP "${node[c]}"
check "the holder's node hangs: lost" ends_with 76 "$holder"
check 'another enters' code 0 "$baton" run hangs --at "$a,$b" --timeout 60 -- true
kill -CONT "${node[c]}"

# ---- other nodes die: one of them, and two ----
log=$scratch/others
start run others --lease 30 --at "$a,$b" -- sh -c "echo > '$log.ready'; until test -e '$log.go'; do sleep 0.05; done; exit 4"
until_true test -e "$log.ready"
kill_node c
# Ejected or not, node b is asked in the new epoch, so the death of c has been noticed.
refuse 75 'time is over' 'another node is killed: the lock is still held' \
    "$baton" run others --at "$b" --timeout 3 -- true
: > "$log.go"
check 'and the command was left alone' ends_with 4 "$last"
start_node c
log=$scratch/alone
start run alone --at "$a" --lease 1 -- sh -c "$(ticks A "$log")"
until_true has_lines 5 "$log"
kill -STOP "${node[b]}" "${node[c]}"
check 'the node of the holder is alone: lost when the lease is over' ends_with 76 "$last"
kill -CONT "${node[b]}" "${node[c]}"
check 'and free again' code 0 "$baton" run alone --at "$b,$c,$a" --timeout 60 -- true

# ---- operations that come too late ----
log=$scratch/late
start run data --at "$b" --grace 20 --lease 60 -- sh -c "trap '' TERM; '$baton' issue SET late no; echo > '$log.ready'
    until test -e '$log.go'; do sleep 0.05; done; '$baton' issue SET late yes 2> '$log.err'; echo \$? > '$log.code'"
until_true test -e "$log.ready"
kill_node b
check 'another has entered meanwhile' code 0 "$baton" run data --at "$a,$c" --timeout 60 -- true
: > "$log.go"
check 'the first has lost' ends_with 76 "$last"
check 'issue: lost' test "$(cat "$log.code")" = 76
check 'and says so' grep -q 'the lock was lost; nothing was executed' "$log.err"
check 'nothing was executed' test "$("$baton" run data --at "$a,$c" --timeout 60 -- "$baton" issue GET late)" = no

# ---- one of three is not enough ----
kill_node a
refuse 75 'time is over' 'without a majority nobody enters' "$baton" run few --at "$a,$b,$c" --timeout 1 -- true
start_node a
check 'with one, all is as before' code 0 "$baton" run few --at "$b,$a,$c" --timeout 60 -- true

check 'nobody complained' bash -c "! cat '$scratch'/[abc].log | grep ."
finish
