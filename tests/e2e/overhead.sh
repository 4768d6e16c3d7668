#!/usr/bin/env bash
# No overhead: what the compiler makes of `tas`, read from the library itself.
# shellcheck source=tap.inc
. "$(dirname "$0")/tap.inc"

# The instructions of a function, without the part that only a waiting process runs (NAME.cold).
instructions() {
    objdump --no-show-raw-insn --disassemble="$1" "$build/libbaton.so" | grep -E '^ +[0-9a-f]+:'
}

counts() { # FUNCTION PATTERN NUMBER
    local found
    found=$(instructions "$1" | grep -cE "$2")
    instructions "$1"
    echo "found $found of '$2' in $1"
    [ "$found" -eq "$3" ]
}

if [ "$(uname -m)" = x86_64 ]; then
    for function in baton_tas_enter baton_tas_exit; do
        check "$function is there" test -n "$(instructions $function)"
        check "$function: no call (waiting is in $function.cold)" counts $function '\bcall' 0
    done
    check 'tas enter: one exchange' counts baton_tas_enter '\bxchg .*\(' 1
    check 'tas enter: no other locked instruction' counts baton_tas_enter '\block\b' 0
    check 'tas exit: no exchange' counts baton_tas_exit '\bxchg .*\(' 0
    check 'tas exit: no locked instruction' counts baton_tas_exit '\block\b' 0
    # Alone, the queue locks take two atomic instructions: one to enter, one to leave.
    check 'dt1 exit: no call' counts baton_dt1_exit '\bcall' 0
    check 'dt2 exit: no call' counts baton_dt2_exit '\bcall' 0
    # A program that wants no call either links statically with -flto.
    check 'a program is linked with -flto' cc -O2 -flto -pthread -I "$root/include" \
        "$root/examples/threads.c" "$build/libbaton.a" -o "$scratch/inlined"
    check 'and has enter and exit inlined' test -z \
        "$(objdump -d "$scratch/inlined" | grep -E 'call.*<baton_dt1_(enter|exit)>')"
    check 'and runs' "$scratch/inlined"
else
    check 'libbaton.so is there (disassembly is read on x86_64 only)' test -e "$build/libbaton.so"
fi
finish
