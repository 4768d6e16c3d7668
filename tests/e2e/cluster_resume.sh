#!/usr/bin/env bash
# Sections that outlive their connections and their nodes; see cluster_resume.py.
cd "$(dirname "$0")/../.." || exit 1
exec python3 tests/e2e/cluster_resume.py "${BATON_BUILD:-build}/baton"
