#!/usr/bin/env bash
# `baton serve`, ended, killed, and started again; see restart.py.
cd "$(dirname "$0")/../.." || exit 1
exec python3 tests/e2e/restart.py "${BATON_BUILD:-build}/baton"
