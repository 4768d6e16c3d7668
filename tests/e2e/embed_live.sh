#!/usr/bin/env bash
# Three replicas in one program; see embed_live.c.
cd "$(dirname "$0")/../.." || exit 1
build=${BATON_BUILD:-build}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
CMOCKA_MESSAGE_OUTPUT=TAP "$build/tests/embed_live" "$scratch"
