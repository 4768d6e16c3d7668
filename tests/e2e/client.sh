#!/usr/bin/env bash
# The client of the lock service against a real `baton serve`; see client_live.c.
cd "$(dirname "$0")/../.." || exit 1
build=${BATON_BUILD:-build}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
CMOCKA_MESSAGE_OUTPUT=TAP "$build/tests/client_live" "$build/baton" "$scratch"
