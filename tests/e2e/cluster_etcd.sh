#!/usr/bin/env bash
# Three nodes whose epochs are ended by Debian's etcd; see cluster_etcd.py.
cd "$(dirname "$0")/../.." || exit 1
exec python3 tests/e2e/cluster_etcd.py "${BATON_BUILD:-build}/baton"
