#!/usr/bin/env bash
# `baton node`: three real nodes that are killed, paused and ended; see cluster.py.
cd "$(dirname "$0")/../.." || exit 1
exec python3 tests/e2e/cluster.py "${BATON_BUILD:-build}/baton" --seconds "${BATON_SOAK_SECONDS:-30}"
