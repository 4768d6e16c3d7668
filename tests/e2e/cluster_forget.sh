#!/usr/bin/env bash
# `baton node`: nodes whose directories are emptied, or that keep their data in memory; see cluster_forget.py.
cd "$(dirname "$0")/../.." || exit 1
exec python3 tests/e2e/cluster_forget.py "${BATON_BUILD:-build}/baton"
