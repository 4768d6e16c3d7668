#!/usr/bin/env bash
# The judge of recorded histories: it must find what is wrong, or the tests of clusters show nothing.
. "$(dirname "$0")/tap.inc"

verdict() { # CODE WORDS NAME EVENTS...: of two users; an event is WORD USER NUMBERS
    local code=$1 words=$2 name=$3 at=0
    shift 3
    for event in "$@"; do
        at=$((at + 1))
        echo "$at $event"
    done > "$scratch/events"
    "$build/tests/judge_history" 2 < "$scratch/events" > "$scratch/out" 2>&1
    local status=$?
    if [ $status -eq "$code" ] && grep -qF -- "$words" "$scratch/out"; then
        result 0 "$name"
    else
        sed 's/^/# /' "$scratch/out"
        echo "# exit code $status, expected $code and the words '$words'"
        result 1 "$name"
    fi
}

one=('try 0' 'crit 0 10' 'issue 0 1' 'outcome 0 1 1' 'exit 0' 'rem 0')
two=('try 1' 'crit 1 11' 'issue 1 2' 'outcome 1 2 2' 'exit 1' 'rem 1')

verdict 0 'outcomes 2 ejected 0' 'two sections, one after the other' "${one[@]}" "${two[@]}" 'count 0 2'
verdict 1 'lost' 'an operation that was acknowledged is gone' "${one[@]}" "${two[@]}" 'count 0 1'
verdict 1 'nobody can have issued it' 'an operation that counted twice' "${one[@]}" "${two[@]}" 'count 0 3'
verdict 1 "another operation's too" 'two operations with one result' "${one[@]}" \
    'try 1' 'crit 1 11' 'issue 1 2' 'outcome 1 2 1' 'exit 1' 'rem 1' 'count 0 2'
verdict 1 'token' 'one token for two' "${one[@]}" 'try 1' 'crit 1 10' 'exit 1' 'rem 1' 'count 0 1'
verdict 1 'broken' 'an operation under a token that was out of date' "${two[@]/outcome 1 2 2/outcome 1 2 1}" \
    'try 0' 'crit 0 10' 'issue 0 1' 'outcome 0 1 2' 'exit 0' 'rem 0' 'count 0 2'
verdict 0 'outcomes 1' 'one whose user was gone may be executed' \
    'try 0' 'crit 0 10' 'issue 0 1' 'gone 0' "${two[@]}" 'count 0 2'
verdict 1 'nobody can have issued it' 'but not after somebody else was inside' "${two[@]/outcome 1 2 2/outcome 1 2 1}" \
    'try 0' 'crit 0 10' 'issue 0 1' 'gone 0' 'count 0 2'
verdict 1 'nobody can have issued it' 'one that was ejected must not be executed' \
    'try 0' 'crit 0 10' 'issue 0 1' 'ejected 0' 'try 1' 'crit 1 11' 'issue 1 2' 'outcome 1 2 2' \
    'exit 1' 'rem 1' 'count 0 2'
verdict 2 'no such word' 'what is no history is refused' 'dance 0'
verdict 2 'no such user' 'nor users that there are not' 'try 5'
finish
