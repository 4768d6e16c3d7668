#!/usr/bin/env bash
# `baton node`, three of them as real processes; see cluster.py.
cd "$(dirname "$0")/../.." || exit 1
exec python3 tests/e2e/cluster.py "${BATON_BUILD:-build}/baton"
