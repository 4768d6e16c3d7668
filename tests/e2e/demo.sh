#!/usr/bin/env bash
# The second part of `make demo`: the count is exact though a node is killed.
. "$(dirname "$0")/tap.inc"

timeout 120 "$root/scripts/demo-cluster" "$build/baton" > "$scratch/demo"
result $? 'the demo of a cluster ends well'
check 'a node is killed' grep -q 'kill -9 of node' "$scratch/demo"
check 'the count is exact' grep -q 'at the three nodes: exactly' "$scratch/demo"
lines_in_color() { grep -c $'\x1b' "$scratch/demo"; }
check 'plain text where there is no terminal' test "$(lines_in_color)" -eq 0
finish
