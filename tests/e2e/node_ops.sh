#!/usr/bin/env bash
# What somebody who looks after a cluster sees and does; see node_ops.py.
cd "$(dirname "$0")/../.." || exit 1
exec python3 tests/e2e/node_ops.py "${BATON_BUILD:-build}/baton"
