#!/usr/bin/env bash
# The lock service with thousands of connections and names at once; see crowd.py.
exec python3 "$(dirname "$0")/crowd.py" "${BATON_BUILD:-$(dirname "$0")/../../build}/baton"
