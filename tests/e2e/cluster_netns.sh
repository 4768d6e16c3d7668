#!/usr/bin/env bash
# `baton node` in network namespaces: cables unplugged, packets lost one way; see cluster_netns.py.
cd "$(dirname "$0")/../.." || exit 1
exec python3 tests/e2e/cluster.py "${BATON_BUILD:-build}/baton" --faults namespaces --seconds 15
