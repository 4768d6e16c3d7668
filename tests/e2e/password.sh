#!/usr/bin/env bash
# Passwords that are proved, not told; see password.py.
cd "$(dirname "$0")/../.." || exit 1
exec python3 tests/e2e/password.py "${BATON_BUILD:-build}/baton"
