#!/usr/bin/env bash
# Sessions at three real nodes; see cluster_sessions.py.
cd "$(dirname "$0")/../.." || exit 1
exec python3 tests/e2e/cluster_sessions.py "${BATON_BUILD:-build}/baton"
