#!/usr/bin/env bash
# A bank account in three programs; see embed.py.
cd "$(dirname "$0")/../.." || exit 1
exec python3 tests/e2e/embed.py "${BATON_BUILD:-build}/baton"
