#!/usr/bin/env bash
# `baton serve` over real sockets; see serve.py.
cd "$(dirname "$0")/../.." || exit 1
exec python3 tests/e2e/serve.py "${BATON_BUILD:-build}/baton"
