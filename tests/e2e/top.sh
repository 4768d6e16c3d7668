#!/usr/bin/env bash
# `baton top` as a user types it, with actors that hold, wait, deadlock and die; and boards that somebody has
# damaged. Nothing here depends on how long something takes, but for limits after which it has failed.
# shellcheck source=tap.inc
. "$(dirname "$0")/tap.inc"
baton=$build/baton
actor=$build/tests/e2e/board_actor
board=e2e-$$ # and with a letter behind it, one for each part
actors=()
tops=()

clean_up() {
    [ ${#actors[@]} -eq 0 ] || kill -9 "${actors[@]}" 2> /dev/null
    [ ${#tops[@]} -eq 0 ] || kill -9 "${tops[@]}" 2> /dev/null
    wait 2> /dev/null
    rm -f /dev/shm/baton."$board"*
    rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

# ---- what the tests are made of ----

file_of() { echo "/dev/shm/baton.$1"; }

start() { # NAME BOARD ROLE...: an actor of that name. Each board has locks of its own.
    local name=$1 on=$2
    shift 2
    : > "$scratch/$name.out" # now: an actor of that name may have been READY before
    "$actor" "$on" "$scratch/locks-$on" "$@" > "$scratch/$name.out" 2> "$scratch/$name.err" &
    actors+=($!)
    eval "pid_$name=$!"
    disown
}

is_ready() { until_true grep -q READY "$scratch/$1.out"; }

play() { # NAME BOARD ROLE...: and until it does what it was told
    start "$@"
    is_ready "$1" || { echo "# actor $1 is not ready"; sed 's/^/# /' "$scratch/$1.err"; }
}

look() { # OPTION... BOARD: the report as JSON
    "$baton" top --json "$@" > "$scratch/top.json"
}

# EXPECTED EXPRESSION: of the last report. `lock` finds a lock by its name, `ids` takes processes out of a list.
says() {
    local got
    got=$(python3 - "$scratch/top.json" "$2" << 'END'
import json, sys
top = json.load(open(sys.argv[1], encoding='utf-8'))
def lock(name): return next(l for l in top['locks'] if l['name'] == name)
def ids(cards): return [card['process'] for card in cards]
print(eval(sys.argv[2]))
END
    )
    [ "$got" = "$1" ] || { echo "got: $got, expected: $1"; return 1; }
}

has() { # WORDS COMMAND...
    local words=$1
    shift
    "$@" > "$scratch/text" 2>&1
    grep -qF -- "$words" "$scratch/text" || { cat "$scratch/text"; return 1; }
}

# ---- usage ----
check 'help' has 'Usage: baton top' "$baton" top --help
check 'help about top' has 'Usage: baton top' "$baton" help top
check 'top is among the commands' has '  top ' "$baton" --help
refuse 64 "'--jsno' is no option" 'unknown option' "$baton" top --jsno
refuse 64 "'-x' is no option" 'unknown letter' "$baton" top -x
refuse 64 'wants a value' 'interval missing' "$baton" top --interval
refuse 64 'wants a value' 'count missing' "$baton" top -n
for seconds in 0 0.019 -1 3600.1 1e1 nan inf 0x1 1s . 1.2.3 ' 1' ''; do
    refuse 64 '--interval takes seconds' "interval '$seconds'" "$baton" top -i "$seconds" "$board"
done
for reports in 0 -1 1.5 many 4294967296 ''; do
    refuse 64 '--count takes' "count '$reports'" "$baton" top --count "$reports" "$board"
done
refuse 64 '--once and --count' 'once and count' "$baton" top --once -n 2 "$board"
refuse 64 '--list and --remove' 'list and remove' "$baton" top --list --remove
refuse 64 'takes no options' 'list as JSON' "$baton" top --list --json
refuse 64 'takes no options' 'remove once' "$baton" top --remove --once "$board"
refuse 64 "unexpected 'b'" 'two boards' "$baton" top a b
refuse 64 "unexpected '$board'" 'list of a board' "$baton" top --list "$board"
for name in '' . .hidden a/b ../shm 'a b' $'a\nb' "$(printf '%064d' 0)"; do
    refuse 64 'is no name for a board' "bad name '${name//$'\n'/ }'" "$baton" top --once "$name"
done
refuse 64 'is no name for a board' 'bad name in the environment' env BATON_BOARD=a/b "$baton" top --once
refuse 64 'is no name for a board' 'bad name to remove' "$baton" top --remove a/b
refuse 1 "no board '$board'; 'baton top --list' lists them" 'no such board' "$baton" top "$board"
refuse 1 "no board '$board'" 'no such board, once' "$baton" top --once "$board"
refuse 1 "no board '$board'" 'no such board, as JSON' "$baton" top --json "$board"
refuse 1 "no board '$board'" 'no such board to remove' "$baton" top --remove "$board"
check 'a board that is not there is not made' test ! -e "$(file_of "$board")"

# ---- holder and waiters ----
b=${board}a
play holder "$b" hold A
play first "$b" wait A
play second "$b" wait A
play third "$b" wait A
check 'JSON' look "$b"
# shellcheck disable=SC2154 # the names are set by `start`
check 'the holder' says "$pid_holder" "lock('A')['holder']['process']"
check 'its command' says 'board_actor' "lock('A')['holder']['command']"
check 'its thread' says "$pid_holder" "lock('A')['holder']['thread']"
check 'it is alive' says 'False' "lock('A')['holder']['dead']"
check 'how long it has held' says 'True' "lock('A')['holder']['held_s'] >= lock('A')['waiters'][0]['waiting_s'] - 0.1"
# shellcheck disable=SC2154
check 'waiters in their order' says "[$pid_first, $pid_second, $pid_third]" "ids(lock('A')['waiters'])"
check 'who came first has waited longest' says 'True' \
    "(lambda s: s == sorted(s, reverse=True) and s[-1] >= 0)([w['waiting_s'] for w in lock('A')['waiters']])"
check 'a free lock' says '[None, 0, []]' "[lock('B')[key] for key in ('holder', 'passages', 'waiters')]"
check 'figures of the board' says "['$b', 128, 4, 4]" \
    "[top['board'], top['participants'], top['cards'], len(top['locks'])]"
check 'version' says "$("$baton" --version | cut -d ' ' -f 2)" "top['version']"
check 'no deadlock, no dead' says '[[], []]' "[top['deadlocks'], top['dead']]"
check 'the busiest first' says 'A' "top['locks'][0]['name']"
check 'the board from the environment' env BATON_BOARD="$b" "$baton" top --once
check 'text' has "holds $pid_holder (board_actor)" "$baton" top --once "$b"
check 'text: waiters in their order' test \
    "$(sed -n 's/.* waits \([0-9]*\) .*/\1/p' "$scratch/text" | tr '\n' ' ')" = "$pid_first $pid_second $pid_third "
check 'text: header' grep -q "^Board $b: 4 of 128 participants, 4 locks$" "$scratch/text"
play passer "$b" pass C
look "$b"
check 'a rate' says 'True' "lock('C')['passages'] > 100 and lock('C')['passages_per_s'] > 0"
check 'list' has "$b" "$baton" top --list
check 'three reports of JSON' test "$("$baton" top --json -n 3 -i 0.02 "$b" | jq -s length)" -eq 3
check 'three reports of text, with a line between' test \
    "$("$baton" top -n 3 -i 0.02 "$b" | grep -c '^$')" -eq 2

# ---- the holder dies ----
kill -9 "$pid_holder"
until_true bash -c "! kill -0 $pid_holder 2> /dev/null"
look "$b"
check 'killed: still the holder, and dead' says "[$pid_holder, True]" "[lock('A')['holder'][k] for k in ('process', 'dead')]"
check 'killed: waiters still wait' says "[$pid_first, $pid_second, $pid_third]" "ids(lock('A')['waiters'])"
check 'killed: among the dead' says "[($pid_holder, 'holds', 'A')]" \
    "[(d['process'], d['doing'], d['lock']) for d in top['dead']]"
check 'killed: said in words' has \
    "stuck: A is held by $pid_holder (board_actor), which is dead; 3 wait" "$baton" top --once "$b"
check 'killed: and among the dead' grep -q "^dead: $pid_holder (board_actor) held A$" "$scratch/text"

# ---- a deadlock ----
b=${board}b
start one "$b" hold A then-wait B
start two "$b" hold B then-wait A
is_ready one
is_ready two
look "$b"
# shellcheck disable=SC2154
check 'deadlock' says "[[($pid_one, 'A', 'B'), ($pid_two, 'B', 'A')]]" \
    "[sorted(((s['process'], s['holds'], s['waits_for']) for s in d), key=lambda s: s[1]) for d in top['deadlocks']]"
"$baton" top --once "$b" > "$scratch/text"
named() {
    grep -qE "^deadlock: $1 \(board_actor\) holds $2 and waits for $3, held by $4 \(board_actor\), which waits for $2$" \
        "$scratch/text"
}
check 'deadlock in words' bash -c "$(declare -f named); scratch=$scratch
    named $pid_one A B $pid_two || named $pid_two B A $pid_one"
kill -9 "$pid_two"
until_true bash -c "! kill -0 $pid_two 2> /dev/null"
look "$b"
check 'once one of them is dead it is none' says '[]' "top['deadlocks']"
check 'but the other is stuck' has 'stuck: B is held by' "$baton" top --once "$b"
b=${board}c
start one "$b" hold A then-wait B
start two "$b" hold B then-wait C
start three "$b" hold C then-wait A
play behind "$b" wait A
is_ready one
is_ready two
is_ready three
look "$b"
# shellcheck disable=SC2154
check 'three in a circle, and one behind them' says "[[('A', $pid_one, 'B'), ('B', $pid_two, 'C'), ('C', $pid_three, 'A')]]" \
    "[sorted((s['holds'], s['process'], s['waits_for']) for s in d) for d in top['deadlocks']]"

# ---- a full board ----
b=${board}d
play one "$b" participants 2 hold A
play two "$b" rest
refuse 1 "no room on board '$b': all of its 2 cards" 'a third on a board for two' \
    "$actor" "$b" "$scratch/locks-$b" rest
kill -9 "$pid_one"
until_true bash -c "! kill -0 $pid_one 2> /dev/null"
look "$b"
check 'full: the dead one is shown' says "[$pid_one]" "ids(top['dead'])"
play three "$b" hold B
look "$b"
check 'full: its place is used again' says "[2, [], $pid_three, None]" \
    "[top['cards'], top['dead'], lock('B')['holder']['process'], lock('A')['holder']]"

# ---- reports without end ----
b=${board}a
check 'closed pipe' has '1' bash -c "'$baton' top -i 0.05 $b | grep -m 1 -c Board; test \${PIPESTATUS[0]} -eq 0"
check 'closed pipe: noticed while it waits' timeout 60 bash -c \
    "'$baton' top -i 3600 $b | head -n 1 > /dev/null; test \${PIPESTATUS[0]} -eq 0"
refuse 1 'cannot write the output' 'full disk' bash -c "'$baton' top -i 0.02 $b > /dev/full"
refuse 1 'cannot write the output' 'full disk, as JSON' bash -c "'$baton' top --json $b > /dev/full"
refuse 1 'cannot write the output' 'no output' bash -c "'$baton' top --once $b >&-"

watch_board() { # BOARD OPTION...: in the background, until its first report is there
    local on=$1
    shift
    : > "$scratch/watch.out" # as in `start`
    "$baton" top "$@" "$on" > "$scratch/watch.out" 2> "$scratch/watch.err" < /dev/null &
    watcher=$!
    tops+=("$watcher")
    until_true grep -q "^Board $on" "$scratch/watch.out"
}
for signal in INT TERM HUP; do
    watch_board "$b" -i 3600
    kill -$signal $watcher
    wait $watcher
    check "SIG$signal ends it" test $? -eq 0
done
check 'a reader that does not read cannot hold it' timeout 60 bash -c "
    '$baton' top -i 0.02 $b > >(sleep 100 & sleeper=\$!; echo \$sleeper > '$scratch/sleeper'; wait) &
    sleep 1; kill \$!; wait \$!; code=\$?; kill \$(cat '$scratch/sleeper'); exit \$code"

# ---- the screen ----
screen() { # ROWS COLUMNS KEYS-OR-SIGNAL BOARD: shows it live until then; prints what the terminal got
    python3 - "$baton" "$@" << 'END'
import fcntl, os, pty, select, signal, struct, sys, termios, time
baton, rows, columns, end, board = sys.argv[1:]
def resize(fd, rows, columns): fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))
master, slave = pty.openpty()
resize(slave, int(rows), int(columns))
before = termios.tcgetattr(slave)
child = os.fork()
if child == 0:
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for fd in range(3): os.dup2(slave, fd)
    os.environ['TERM'] = 'xterm'
    os.execv(baton, [baton, 'top', '-i', '3600' if end == 'resize' else '0.05', board])
def read_until(words, text=b'', limit=30):
    late = time.monotonic() + limit
    while words not in text and time.monotonic() < late:
        if select.select([master], [], [], 0.1)[0]: text += os.read(master, 65536)
    return text
text = read_until(b'\033[J')
if end == 'resize':
    resize(slave, 40, 120)
    text += read_until(b'\033[J')
    os.write(master, b'q')
elif end == 'stop': # Ctrl-Z, and fg
    os.write(master, b'\x1a')
    text += read_until(b'\033[?1049l')
    if not os.WIFSTOPPED(os.waitpid(child, os.WUNTRACED)[1]): sys.exit('not stopped')
    if termios.tcgetattr(slave) != before: sys.exit('the terminal is not given back')
    os.kill(child, signal.SIGCONT)
    text += read_until(b'\033[J')
    os.write(master, b'q')
elif end.startswith('SIG'): os.kill(child, getattr(signal, end))
else: os.write(master, end.encode().decode('unicode_escape').encode())
text += read_until(b'\033[?1049l')
late = time.monotonic() + 30
while (done := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < late: time.sleep(0.02)
if done == (0, 0): os.kill(child, 9)
sys.stdout.write(text.decode().replace('\033', 'ESC').replace('\r', ''))
if done[1] != 0: sys.exit(f'ended with {done}')
if termios.tcgetattr(slave) != before: sys.exit('the terminal is not what it was')
if not text.startswith(b'\033[?1049h') or not text.rstrip().endswith(b'\033[?1049l'): sys.exit('no other screen')
END
}
for end in q SIGTERM SIGINT SIGHUP '\x03'; do
    check "live, until ${end/\\x03/Ctrl-C}" screen 24 80 "$end" "$b"
done
check 'live: stopped by Ctrl-Z, and going on' screen 24 80 stop "$b"
screen 8 50 q "$b" > "$scratch/text"
check 'live: cut to the rows there are' grep -q '^\.\.\. and [0-9]* more locks' "$scratch/text"
check 'live: and to the columns' python3 -c "import re, sys
sys.exit(max(len(re.sub('ESC.[?0-9]*[A-Za-z]', '', l)) for l in open('$scratch/text')) > 50)"
check 'live: waiters are cut too' grep -q '^\.\.\. and [0-9]* more wait' "$scratch/text"
for size in '1 1' '2 3' '3 200' '500 500'; do
    # shellcheck disable=SC2086 # rows and columns
    check "live: a screen of $size" screen $size q "$b"
done
screen 6 50 resize "$b" > "$scratch/text"
check 'live: a larger window is used at once' grep -q '^D ' "$scratch/text"
check 'live: on a dumb terminal it is plain text' bash -c \
    "TERM=dumb script -qec \"'$baton' top -n 1 $b\" /dev/null < /dev/null | tr -d '\r' > '$scratch/text'
     grep -q '^Board' '$scratch/text' && ! grep -q $'\033' '$scratch/text'"

# ---- boards that change while they are shown ----
copy() { cp "$(file_of "${board}a")" "$(file_of "$1")"; }
b=${board}e
copy "$b"
watch_board "$b" -i 0.1 -n 600
check 'remove' has "Removed board '$b'" "$baton" top --remove "$b"
wait $watcher
check 'removed while it is shown' bash -c "test $? -eq 1 && grep -q 'has been removed' '$scratch/watch.err'"
copy "$b"
watch_board "$b" -i 0.05
check 'five cards are shown' grep -q "^Board $b: 5 of" "$scratch/watch.out"
cp "$(file_of "${board}b")" "$(file_of "${board}f")"
mv "$(file_of "${board}f")" "$(file_of "$b")" # in one step
check 'made anew while it is shown' until_true grep -q "^Board $b: 4 of" "$scratch/watch.out"
kill $watcher
wait $watcher
check 'made anew: goes on' test $? -eq 0
for bytes in 0 100 half; do
    copy "$b"
    [ $bytes = half ] && bytes=$(($(stat -c %s "$(file_of "$b")") / 2))
    watch_board "$b" -i 0.1 -n 600
    truncate -s "$bytes" "$(file_of "$b")"
    wait $watcher
    check "cut to $bytes bytes while it is shown" bash -c "test $? -eq 1 && test -s '$scratch/watch.err'"
done
copy "$b"
watch_board "$b" -i 0.1 -n 20
truncate -s 4096 "$(file_of "$b")"
wait $watcher
check 'cut off: says so' bash -c "test $? -eq 1 && grep -q 'the board was cut off' '$scratch/watch.err'"

# Cut off just after it was mapped: what is read then is not there.
cat > "$scratch/cut.c" << 'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static void *map(const char *name, void *at, size_t bytes, int how, int flags, int file, off_t from)
{
    void *(*next)(void *, size_t, int, int, int, off_t) = dlsym(RTLD_NEXT, name);
    void *memory = next(at, bytes, how, flags, file, from);
    static int looks;
    if ((flags & MAP_SHARED) && file >= 0 && ++looks == atoi(getenv("CUT_AT_LOOK")) &&
        truncate(getenv("CUT_FILE"), 0) != 0)
        abort();
    return memory;
}
void *mmap(void *at, size_t bytes, int how, int flags, int file, off_t from)
{
    return map("mmap", at, bytes, how, flags, file, from);
}
void *mmap64(void *at, size_t bytes, int how, int flags, int file, off_t from)
{
    return map("mmap64", at, bytes, how, flags, file, from);
}
END
check 'a library that cuts boards off' cc -shared -fPIC -o "$scratch/cut.so" "$scratch/cut.c" -ldl
for number in 1 2 3; do
    copy "$b"
    refuse 1 'the board was cut off' "cut off in the middle of look $number" \
        env LD_PRELOAD="$scratch/cut.so" CUT_FILE="$(file_of "$b")" CUT_AT_LOOK=$number "$baton" top -i 0.02 -n 9 "$b"
done

# ---- boards that are damaged ----
patch() { # BOARD STATEMENT...: changes `data`, a bytearray, and with seal() makes the header whole again
    python3 - "$(file_of "$1")" "${@:2}" << 'END'
import random, struct, sys
path, *statements = sys.argv[1:]
data = bytearray(open(path, 'rb').read())
HEADER, COLLECT = 64, data.find(b'locbaton') # the object of cards, by its magic number
def seal():
    total = 0xcbf29ce484222325
    for byte in data[8:40]: total = (total ^ byte) * 0x100000001b3 % 2**64
    data[40:48] = struct.pack('<Q', total)
def scribble(seed): # over everything but the two headers, with words that now and then make sense
    dice = random.Random(seed)
    def word():
        some = [0, 1, 2, 3, dice.randrange(200), 2**64 - 1, 4711, dice.randrange(2**64), 0x415b1b0a9bff0d22]
        return struct.pack('<Q', dice.choice(some[:dice.choice([2, 5, 9])]))
    for part in [(48, COLLECT), (COLLECT + 64, len(data))]:
        for at in range(*part, 8): data[at:at + 8] = word()
for statement in statements: exec(statement)
open(path, 'wb').write(data)
END
}
damaged() { # CODE WORDS NAME STATEMENT...
    copy "$b"
    patch "$b" "${@:4}"
    refuse "$1" "$2" "$3" "$baton" top --once "$b"
}
damaged 1 'another version' 'another version' 'data[8] += 1'
damaged 1 'another version' 'another size of words' 'data[12] = 4'
damaged 1 'is damaged' 'magic number' 'data[0] ^= 1'
damaged 1 'is damaged' 'checksum' 'data[41] ^= 1'
damaged 1 'is damaged' 'number of participants' 'data[16] += 1'
damaged 1 'is damaged' 'number of participants, sealed' 'data[16] += 1; seal()'
damaged 1 'is damaged' 'no locks, sealed' 'data[20:24] = bytes(4); seal()'
damaged 1 'is damaged' 'more locks than there can be, sealed' "data[20:24] = b'\\xff' * 4; seal()"
damaged 1 'is damaged' 'size, sealed' 'data[33] ^= 1; seal()'
damaged 1 'another pid namespace' 'another pid namespace' 'data[24] ^= 1; seal()'
damaged 1 'is damaged' 'object of cards' 'data[COLLECT] ^= 1'
damaged 1 'is damaged' 'header of zeros' 'data[0:64] = bytes(64)'
damaged 1 'is damaged' 'nothing but text' "data = b'not a board\\n' * 1000"
for bytes in 0 1 55; do
    copy "$b"
    truncate -s $bytes "$(file_of "$b")"
    refuse 1 'is damaged' "cut to $bytes bytes" "$baton" top --once "$b"
done
for bytes in 100 4096 $(($(stat -c %s "$(file_of "${board}a")") / 2)) $(($(stat -c %s "$(file_of "${board}a")") - 1)); do
    copy "$b"
    truncate -s "$bytes" "$(file_of "$b")"
    refuse 1 'the board was cut off' "cut to $bytes bytes" "$baton" top --once "$b"
done
check 'a damaged board can be removed' "$baton" top --remove "$b"
copy "$b"
patch "$b" "data[48:56] = b'\\xff' * 8" "data[72:80] = b'\\033[2J\\xff\\n\\x9b\"'"
check 'garbage for a name: still JSON' look "$b"
check 'garbage for a name: nothing of it gets out' says '?[2J???"' "next(l['name'] for l in top['locks'] if '[2J' in l['name'])"
check 'more locks than there is room for' says '256' "len(top['locks'])"
for seed in $(seq 20); do
    copy "$b"
    patch "$b" "scribble($seed)"
    "$baton" top --json -n 1 -i 0.02 "$b" > "$scratch/top.json" 2> "$scratch/err"
    code=$?
    check "scribbled over, $seed" bash -c "[ $code -eq 0 ] && python3 -m json.tool '$scratch/top.json' > /dev/null"
    "$baton" top -n 1 -i 0.02 "$b" > "$scratch/text" 2>&1 || result 1 "scribbled over, $seed, as text"
done

# ---- who may not look ----
copy "$b"
stranger=()
if [ "$(id -u)" -eq 0 ]; then
    stranger=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    chmod 600 "$(file_of "$b")"
else
    chmod 000 "$(file_of "$b")"
fi
if "${stranger[@]}" "$baton" --version > /dev/null 2>&1; then
    refuse 1 'Permission denied' 'a board of somebody else' "${stranger[@]}" "$baton" top --once "$b"
fi
if unshare -m true 2> /dev/null; then
    check 'no boards' has '(no boards)' unshare -m bash -c "mount -t tmpfs none /dev/shm && '$baton' top --list"
    check 'a hostile name in the list' has 'a?[2J' unshare -m bash -c \
        "mount -t tmpfs none /dev/shm && touch /dev/shm/baton.a$'\033'[2J && '$baton' top --list"
fi
finish
