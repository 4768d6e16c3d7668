#!/usr/bin/env bash
# `baton run`, `baton release` and `baton locks --at` as a user types them: exit codes, signals, and that no two
# hold one lock, whoever is stopped or killed. Nothing here depends on how long something takes, but for limits
# after which it has failed; that two did not overlap is seen from the order of lines in a file.
# shellcheck source=tap.inc
. "$(dirname "$0")/tap.inc"
baton=$build/baton
export BATON_RUNTIME_DIR=$scratch/runtime XDG_STATE_HOME=$scratch/state
unset BATON_AT BATON_PASSWORD_FILE
ulimit -c 0
mkdir -m 700 "$BATON_RUNTIME_DIR"
private=$BATON_RUNTIME_DIR/socket
started=()

servers() { # process numbers of the servers that were started for this script
    local directory
    for directory in /proc/[0-9]*; do
        { tr '\0' ' ' < "$directory/cmdline"; } 2> /dev/null | grep -qF -- "serve --listen $scratch" &&
            echo "${directory#/proc/}"
    done
}

clean_up() {
    local pids
    [ ${#started[@]} -eq 0 ] || kill -9 "${started[@]}" 2> /dev/null
    pids=$(servers)
    # shellcheck disable=SC2086 # a list of words
    [ -z "$pids" ] || kill -9 $pids 2> /dev/null
    wait 2> /dev/null
    rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

# ---- what the tests are made of ----

start() { # ARGUMENT...: `baton` with these, in the background
    "$baton" "$@" > "$scratch/bg.out" 2> "$scratch/bg.err" &
    last=$!
    started+=("$last")
}

has_lines() { # COUNT FILE
    [ "$( (wc -l < "$2") 2> /dev/null || echo 0)" -ge "$1" ]
}

waiting() { # COUNT NAME [ADDRESS]: so many wait for the lock
    [ "$("$baton" locks --json --at "${3:-$private}" "$2" 2> /dev/null | jq '.[0].waiting')" = "$1" ]
}

dead() { # PID: gone, or a zombie
    case $(sed 's/.*) //' "/proc/$1/stat" 2> /dev/null) in '' | Z*) ;; *) return 1 ;; esac
}

# A command that writes LETTER to FILE again and again, and does not care for TERM if told so.
ticker() { # LETTER FILE [stubborn]
    local ignore=
    [ $# -lt 3 ] || ignore="trap '' TERM;"
    echo "$ignore echo \$\$ > '$2.$1.pid'; while :; do echo $1 >> '$2'; sleep 0.01; done"
}

no_overlap() { # FILE: no line of A behind a line of B, and both are there
    sort -c "$1" && grep -q A "$1" && grep -q B "$1"
}

server() { # NAME OPTION...: a server of its own; its address is then in $at
    at=$scratch/$1
    shift
    "$baton" serve --listen "$at" --state "$at.tokens" --log-level error "$@" 2> "$at.log" &
    server=$!
    started+=("$server")
    until_true test -S "$at"
}

# ---- exit codes ----
check 'the code of a command that succeeds' code 0 "$baton" run a -- true
check 'the code of a command that fails' code 7 "$baton" run a -- sh -c 'exit 7'
for name in KILL TERM INT SEGV; do
    number=$(kill -l $name)
    by_signal="import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]) != -$number)"
    check "a command that $name ended" code $((128 + number)) \
        "$baton" run a -- sh -c "kill -$name \$\$"
    check 'it ends baton run too' python3 -c "$by_signal" \
        "$baton" run a -- sh -c "kill -$name \$\$"
done
check 'options behind and before the name, and no --' code 3 "$baton" run --lease 2 a --quiet sh -c 'exit 3'
# shellcheck disable=SC2016 # for the other shell
check 'options of the command are its own' code 0 "$baton" run a -- sh -c 'test "$1" = --try' sh --try
check 'the lock is free afterwards' code 0 "$baton" run a --try -- true
refuse 127 'No such file' 'not found' "$baton" run a -- "$scratch/nothing"
refuse 127 'No such file' 'not found in PATH' "$baton" run a -- no-such-command-anywhere
refuse 126 'Permission denied' 'not executable' "$baton" run a -- "$root/README.md"
echo '#!/no/such/interpreter' > "$scratch/script"
chmod 755 "$scratch/script"
refuse 127 'cannot run' 'what only exec can find out' "$baton" run a -- "$scratch/script"
echo '#!/' > "$scratch/script"
refuse 126 'Permission denied' 'an interpreter that is a directory' \
    "$baton" run a -- "$scratch/script"
refuse 69 "start one with 'baton serve'" 'no server' "$baton" run a --at "$scratch/none" -- true
refuse 69 'cannot reach 127.0.0.1:1' 'no server at a port' "$baton" run a --at 127.0.0.1:1 -- true
check 'no server, quietly' bash -c "! '$baton' run -q a --at '$scratch/none' -- true 2>&1 | grep ."
refuse 64 'takes the name of a lock' 'no arguments' "$baton" run
refuse 64 'takes the name of a lock' 'no command' "$baton" run a --
refuse 64 'a name has' 'empty name' "$baton" run '' -- true
refuse 64 'a name has' 'long name' "$baton" run "$(printf '%0513d' 0)" -- true
refuse 64 '--timeout takes' 'wrong timeout' "$baton" run a --timeout soon -- true
refuse 64 '--timeout takes' 'negative timeout' "$baton" run a --timeout -1 -- true
refuse 64 '--lease takes' 'lease too short' "$baton" run a --lease 0.1 -- true
refuse 64 '--lease takes' 'lease too long' "$baton" run a --lease 86401 -- true
refuse 64 '--grace takes' 'wrong grace' "$baton" run a --grace 1s -- true
refuse 64 'does not wait' 'try and timeout' "$baton" run a --try --timeout 1 -- true
refuse 64 'is no option' 'unknown option' "$baton" run --fast a -- true
refuse 64 'wants a value' 'value missing' "$baton" run a --at
check 'help' grep -q 'Usage: baton run' <("$baton" run --help)

# ---- what the command finds ----
# shellcheck disable=SC2016 # for the other shell
check 'environment' test "$("$baton" run 'a b' -- sh -c 'echo $BATON_LOCK $((BATON_TOKEN > 0)) $BATON_AT')" = \
    "a b 1 $private"
check 'tokens grow' bash -c "[ \"\$('$baton' run a -- printenv BATON_TOKEN)\" -lt \"\$('$baton' run a -- printenv BATON_TOKEN)\" ]"
check 'standard input' test "$(echo to you | "$baton" run a -- cat)" = 'to you'
check 'standard error' test "$("$baton" run a -- sh -c 'echo no >&2' 2>&1 > /dev/null)" = no
# shellcheck disable=SC2016
check 'a process group of its own' "$baton" run a -- sh -c 'test "$(ps -o pgid= -p $$ | tr -d " ")" = $$'
# shellcheck disable=SC2016
descriptors='cd /proc/$$/fd && echo *'
check 'no descriptor but those that it would have had' test "$("$baton" run a -- sh -c "$descriptors")" = \
    "$(sh -c "$descriptors")"
check 'one lock inside of another' "$baton" run outer -- "$baton" run inner -- true
refuse 64 'would wait for itself' 'a lock inside of itself' \
    timeout 60 "$baton" run outer -- "$baton" run outer -- touch "$scratch/never"
refuse 64 'would wait for itself' 'also with a time limit' \
    timeout 60 "$baton" run outer -- "$baton" run --timeout 60 outer -- touch "$scratch/never"
refuse 75 'held by another' 'a try fails as always' \
    "$baton" run outer -- "$baton" run --try outer -- touch "$scratch/never"
check 'none has run its command' test ! -e "$scratch/never"
check 'who has outlived its lock may have it again' code 0 \
    env BATON_LOCK=outer BATON_AT="$private" "$baton" run outer -- true

# ---- one at a time ----
echo 0 > "$scratch/counter"
contenders=()
for _ in $(seq 20); do
    # shellcheck disable=SC2016
    "$baton" run counter -- sh -c 'read n < "$1"; sleep 0.01; echo $((n+1)) > "$1"' sh "$scratch/counter" &
    contenders+=($!)
done
wait "${contenders[@]}"
check 'twenty at once lose no update' test "$(cat "$scratch/counter")" -eq 20
rm -rf "$BATON_RUNTIME_DIR/fresh"
mkdir -m 700 "$BATON_RUNTIME_DIR/fresh"
contenders=()
for _ in $(seq 20); do
    BATON_RUNTIME_DIR=$BATON_RUNTIME_DIR/fresh "$baton" run start -- sh -c "echo x >> '$scratch/starts'" &
    contenders+=($!)
done
wait "${contenders[@]}"
check 'twenty that start the private server at once' test "$(wc -l < "$scratch/starts")" -eq 20
check 'and there is one' test "$(servers | wc -l)" -eq 2 # with the one of all other tests

start run held -- sh -c "echo > '$scratch/held'; exec sleep 60"
holder=$last
until_true test -e "$scratch/held"
refuse 75 'held by another' 'try' "$baton" run held --try -- touch "$scratch/never"
refuse 75 'time is over' 'timeout' "$baton" run held --timeout 0.2 -- touch "$scratch/never"
check 'neither has run its command' test ! -e "$scratch/never"
for number in 1 2 3 4; do
    start run held -- sh -c "echo $number >> '$scratch/order'"
    check "number $number waits" until_true waiting $number held
done
kill "$holder"
check 'a signal for the holder ends its command' ends_with 143 "$holder"
until_true has_lines 4 "$scratch/order"
check 'first come, first served' test "$(tr -d '\n' < "$scratch/order")" = 1234
wait "${started[@]}" 2> /dev/null

# ---- signals ----
for name in INT TERM HUP QUIT USR1 USR2; do
    rm -f "$scratch/ready"
    # `&` makes INT and QUIT ignored where there is no job control; python takes that back.
    start run signals -- python3 -c "
import signal, sys
signal.signal(signal.SIG$name, lambda *_: sys.exit(42))
open('$scratch/ready', 'w').close()
while True: signal.pause()"
    until_true test -e "$scratch/ready"
    kill -$name "$last"
    check "$name is passed on" ends_with 42 "$last"
done
rm -f "$scratch/ready"
start run signals -- sh -c "echo \$\$ > '$scratch/ready'; exec sleep 60"
until_true test -s "$scratch/ready"
child=$(cat "$scratch/ready")
state_is() { grep -q "^State:.$2" "/proc/$1/status"; }
kill -TSTP "$last"
check 'TSTP stops the command' until_true state_is "$child" T
check 'and baton run' until_true state_is "$last" T
kill -CONT "$last"
check 'CONT continues both' until_true state_is "$child" '[SR]'
kill "$last"
check 'and it ends as if nothing had been' ends_with 143 "$last"
for name in INT TERM HUP QUIT; do
    rm -f "$scratch/ready"
    start run stopped -- python3 -c "
import os, signal
signal.signal(signal.SIG$name, signal.SIG_DFL)
open('$scratch/ready', 'w').write(f'{os.getpid()}\n')
while True: signal.pause()"
    until_true test -s "$scratch/ready"
    child=$(cat "$scratch/ready")
    kill -STOP "$child"
    until_true state_is "$child" T
    kill -$name "$last"
    until_true dead "$child" || kill -9 "$last"
    check "$name ends a command that is stopped" ends_with $((128 + $(kill -l $name))) "$last"
done
start run waits -- sleep 60
holder=$last
until_true waiting 0 waits
start run waits -- true
until_true waiting 1 waits
kill "$last"
check 'a signal ends one who waits' ends_with 143 "$last"
check 'and nobody waits any more' until_true waiting 0 waits
kill "$holder"
wait "$holder"

# ---- who is killed ----
log=$scratch/killed
start run killed -- sh -c "$(ticker A "$log")"
holder=$last
until_true has_lines 5 "$log"
start run killed -- sh -c "for i in 1 2 3 4 5 6 7 8 9; do echo B >> '$log'; sleep 0.01; done"
until_true waiting 1 killed
kill -9 "$holder"
check 'baton run is killed: the next enters' ends_with 0 "$last"
check 'and the command of the killed one was dead before' no_overlap "$log"
check 'and is' dead "$(cat "$log.A.pid")"

log=$scratch/grandchild
start run grandchild -- sh -c "($(ticker A "$log")) & wait"
holder=$last
until_true has_lines 5 "$log"
kill -9 "$holder"
check 'baton run is killed: processes of the group die too' code 0 "$baton" run grandchild -- sh -c \
    "for i in 1 2 3 4 5 6 7 8 9; do echo B >> '$log'; sleep 0.01; done"
check 'before the next enters' no_overlap "$log"

# ---- the server is killed ----
log=$scratch/crash
start run crash --lease 4 --grace 0.5 -- sh -c "$(ticker A "$log" stubborn)"
holder=$last
until_true has_lines 5 "$log"
# shellcheck disable=SC2046 # a list of words
kill -9 $(servers)
check 'the private server is killed: another takes over' code 0 "$baton" run crash -- sh -c \
    "for i in 1 2 3 4 5 6 7 8 9; do echo B >> '$log'; sleep 0.01; done"
check 'the command has lost its lock' ends_with 76 "$holder"
check 'and was dead before the next entered' no_overlap "$log"

server crashing
start run crash --at "$at" --on-lost "echo \$BATON_LOCK > '$scratch/on-lost'" -- \
    sh -c "trap 'echo > \"$scratch/termed\"; exit 0' TERM; echo > '$scratch/crash-ready'; while :; do sleep 0.01; done"
until_true test -e "$scratch/crash-ready"
kill -9 "$server"
check 'a server is killed: the lock is lost' ends_with 76 "$last"
check 'the command was asked to end' test -e "$scratch/termed"
check '--on-lost was run' test "$(cat "$scratch/on-lost")" = crash
check 'and it says so' grep -q 'was lost' "$scratch/bg.err"

log=$scratch/restart
server restarted
start run restart --at "$at" --lease 4 --grace 2 -- sh -c "$(ticker A "$log" stubborn)"
holder=$last
until_true has_lines 5 "$log"
kill -9 "$server"
wait "$server" 2> /dev/null
rm -f "$at" # so that `server` sees when the next one is there
server restarted
refuse 75 'held by another' 'a server is killed, another takes its place: nobody enters at once' \
    "$baton" run restart --at "$at" --try -- touch "$scratch/never"
refuse 75 'time is over' 'nor in a short time' "$baton" run restart --at "$at" --timeout 0.1 -- touch "$scratch/never"
check 'who waits enters' code 0 "$baton" run restart --at "$at" --timeout 60 -- sh -c \
    "for i in 1 2 3 4 5 6 7 8 9; do echo B >> '$log'; sleep 0.01; done"
check 'the command that was running has lost its lock' ends_with 76 "$holder"
check 'and was dead before' no_overlap "$log"

# ---- baton run is stopped for longer than its lease ----
server stopping
for manner in '' stubborn; do
    log=$scratch/stopped$manner
    # shellcheck disable=SC2086
    start run stopped --at "$at" --lease 1 -- sh -c "$(ticker A "$log" $manner)"
    holder=$last
    until_true has_lines 5 "$log"
    start run stopped --at "$at" -- sh -c "for i in 1 2 3 4 5 6 7 8 9; do echo B >> '$log'; sleep 0.01; done"
    until_true waiting 1 stopped "$at"
    kill -STOP "$holder"
    check "stopped${manner:+, with a stubborn command}: the next enters" ends_with 0 "$last"
    check 'when the command is dead' no_overlap "$log"
    kill -CONT "$holder"
    check 'continued: it was lost' ends_with 76 "$holder"
done
# Continued as soon as its command has been asked to end, which is before the lease is over: only the keeper knows.
rm -f "$scratch/ready"
start run asked --at "$at" --lease 3 -- sh -c "trap 'echo > \"$scratch/asked\"; exit 0' TERM; echo > '$scratch/ready'
    while :; do sleep 0.01; done"
holder=$last
until_true test -e "$scratch/ready"
kill -STOP "$holder"
check 'stopped: the command is asked to end before it is killed' until_true test -e "$scratch/asked"
kill -CONT "$holder"
check 'continued at once: lost all the same' ends_with 76 "$holder"
rm -f "$scratch/ready"
start run renewed --at "$at" --lease 1 -- sh -c "echo > '$scratch/ready'
    until test -e '$scratch/tried'; do sleep 0.05; done; exit 5"
until_true test -e "$scratch/ready"
refuse 75 'held by another' 'renewed for longer than its lease' bash -c \
    "sleep 2; exec '$baton' run renewed --at '$at' --try -- true"
: > "$scratch/tried"
check 'and not lost' ends_with 5 "$last"
rm -f "$scratch/ready"
start run forever --at "$at" --lease 0 -- sh -c "echo > '$scratch/ready'; exec sleep 60"
until_true test -e "$scratch/ready"
check 'without a lease it sleeps until there is something to do' until_true state_is "$last" S
kill "$last"
check 'and hears signals' ends_with 143 "$last"

check 'a lock inside of one of that name at another server' \
    timeout 60 "$baton" run outer -- "$baton" run --at "$at" outer -- true

# ---- release, locks ----
start run taken --at "$at" --grace 0 -- sh -c "trap '' TERM; while :; do sleep 0.1; done"
until_true waiting 0 taken "$at"
token=$("$baton" locks --json --at "$at" 'tak*' | jq '.[0].token')
check 'locks: a table' grep -qE "^taken +$token +unix" <("$baton" locks --at "$at")
check 'locks: a pattern that fits none' test "$("$baton" locks --json --at "$at" 'x*' | jq length)" -eq 0
refuse 1 'is not held' 'release: another token' "$baton" release --at "$at" taken $((token + 1))
check 'release' "$baton" release --at "$at" taken "$token"
check 'the holder has lost it' ends_with 76 "$last"
refuse 1 'is not held' 'release: not held' "$baton" release --at "$at" taken "$token"
refuse 64 'name of a lock' 'release: no token' "$baton" release --at "$at" taken
refuse 64 'is no token' 'release: wrong token' "$baton" release --at "$at" taken x
refuse 64 'wants a value' 'release: no address' "$baton" release --at
refuse 64 'is no option' 'release: unknown option' "$baton" release --force a 1
refuse 69 'cannot reach' 'release: no server' "$baton" release --at "$scratch/none" taken 1
refuse 69 'cannot reach' 'locks: no server' "$baton" locks --at "$scratch/none"
refuse 64 'one pattern' 'locks: two patterns' "$baton" locks --at "$at" a b

# ---- passwords ----
(umask 077 && echo open sesame > "$scratch/password" && echo wrong > "$scratch/wrong")
server secret --auth-file "$scratch/password"
check 'a password' code 0 "$baton" run a --at "$at" --password-file "$scratch/password" -- true
check 'from the environment' code 0 env BATON_AT="$at" BATON_PASSWORD_FILE="$scratch/password" "$baton" run a -- true
check 'a wrong one' code 69 "$baton" run a --at "$at" --password-file "$scratch/wrong" -- true
check 'none' code 69 "$baton" run a --at "$at" -- true
refuse 69 'wrong password' 'which it says' "$baton" run a --at "$at" -- true
refuse 1 'Is a directory' 'a file that cannot be read' \
    "$baton" run a --at "$at" --password-file "$scratch" -- true
check 'locks: a password' code 0 "$baton" locks --at "$at" --password-file "$scratch/password"
refuse 1 'the server refuses' 'locks: a wrong one' "$baton" locks --at "$at" --password-file "$scratch/wrong"

# ---- a disk that cannot be written ----
server unwritable
mkdir "$at.tokens.new" # where the tokens are written before they take the place of the file
refuse 69 'it cannot write its files' 'a server that cannot write' \
    "$baton" run a --at "$at" -- touch "$scratch/never"
check 'nothing is run' test ! -e "$scratch/never"
check 'nor does it blame the password' bash -c "! grep password '$scratch/err'"
rmdir "$at.tokens.new"
check 'one that can write again' code 0 "$baton" run a --at "$at" -- true
mkdir -m 700 "$scratch/unguarded" "$scratch/unguarded/guard"
refuse 69 'Is a directory' 'a guard that cannot be opened' \
    env BATON_RUNTIME_DIR="$scratch/unguarded" "$baton" run a -- true

# ---- the private directory ----
mkdir -m 777 "$scratch/open"
mkdir "$scratch/open/baton"
chmod 755 "$scratch/open/baton"
refuse 69 'not a directory of yours alone' 'a directory that others can read' \
    env BATON_RUNTIME_DIR="$scratch/open/baton" "$baton" run a -- true
mkdir "$scratch/$(printf '%0120d' 0)"
refuse 69 'too long' 'a directory whose name is too long' \
    env BATON_RUNTIME_DIR="$scratch/$(printf '%0120d' 0)" "$baton" run a -- true

# ---- a terminal ----
check 'a terminal: the command is in the foreground, and gives it back' python3 - "$baton" << 'END'
import os, pty, sys
command = f"""'{sys.argv[1]}' run tty -- python3 -c 'import os; print(os.tcgetpgrp(0) == os.getpgrp())'
python3 -c 'import os; print(os.tcgetpgrp(0) == os.getpgrp())'"""
pid, terminal = pty.fork()
if pid == 0:
    os.execvp("bash", ["bash", "-c", command])
text = b""
try:
    while True:
        data = os.read(terminal, 4096)
        if not data:
            break
        text += data
except OSError:
    pass
os.waitpid(pid, 0)
assert text.split() == [b"True", b"True"], text
END
check 'a terminal: who waits is told what for' python3 - "$baton" "$scratch" << 'END'
import os, pty, sys
baton, scratch = sys.argv[1:]
holder = f"echo > '{scratch}/slow'; i=0; until test -e '{scratch}/told' || test $((i += 1)) -gt 600; do sleep 0.05; done"
command = f"""'{baton}' run slow -- sh -c "$HOLDER" & until test -e '{scratch}/slow'; do sleep 0.05; done
'{baton}' run slow -- true; wait"""
pid, terminal = pty.fork()
if pid == 0:
    os.environ["HOLDER"] = holder
    os.execvp("bash", ["bash", "-c", command])
text = b""
words = b"baton run: waiting for slow ..."
try:
    while True:
        data = os.read(terminal, 4096)
        if not data:
            break
        text += data
        if words in text:
            open(f"{scratch}/told", "w").close()
except OSError:
    pass
os.waitpid(pid, 0)
assert words in text, text
END
check 'a terminal: Ctrl-Z stops, fg goes on' timeout 60 python3 - "$baton" << 'END'
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.environ["PS1"] = "ready "
    os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
text = b""
def until(words):
    global text
    while words not in text:
        text += os.read(terminal, 4096) # ends with an error if the shell does
    text = text.split(words, 1)[1]
def say(line):
    os.write(terminal, line.encode())
until(b"ready ")
# What is waited for is put together by the commands, so that it is not found in the echo of what is typed.
command = 'print("in" + "side"); input(); print("do" + "ne")'
say(f"'{sys.argv[1]}' run ctrl-z -- python3 -u -c '{command}'\n")
until(b"inside")
say("\x1a")
until(b"Stopped")
until(b"ready ")
say(f"'{sys.argv[1]}' run ctrl-z --try -- true; echo st''ill=$?\n")
until(b"still=75") # stopped for less than its lease, it holds the lock
until(b"ready ")
say("fg\n")
until(b"ctrl-z")
say("\n")
until(b"done")
until(b"ready ")
say("echo co''de=$?\n")
until(b"code=0")
say("exit\n")
os.waitpid(pid, 0)
END

# ---- nothing stays ----
private_ended() { ! servers | xargs -r -I{} cat /proc/{}/cmdline 2> /dev/null | tr '\0' ' ' | grep -qF idle-exit; }
check 'private servers end when nobody needs them' until_true private_ended
check 'no keeper, nor a command, is left' bash -c "! grep -lsF '$scratch' /proc/[0-9]*/environ | cut -d/ -f3 | while read -r pid; do
    tr '\0' ' ' < /proc/\$pid/cmdline 2> /dev/null; echo; done | grep -E 'baton (run|keeper)|echo [AB]'"
finish
