#!/usr/bin/env bash
# `baton node` in a network that is cut, one-way, slow and lossy (by proxies); see cluster.py.
cd "$(dirname "$0")/../.." || exit 1
exec python3 tests/e2e/cluster.py "${BATON_BUILD:-build}/baton" --faults network --seconds 15
