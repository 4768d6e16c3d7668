#!/usr/bin/env bash
# What nodes are told wrongly; see cluster_input.py.
cd "$(dirname "$0")/../.." || exit 1
exec python3 tests/e2e/cluster_input.py "${BATON_BUILD:-build}/baton"
