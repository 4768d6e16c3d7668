#!/usr/bin/env bash
# `baton serve --http`: health and metrics; see http.py.
cd "$(dirname "$0")/../.." || exit 1
exec python3 tests/e2e/http.py "${BATON_BUILD:-build}/baton"
