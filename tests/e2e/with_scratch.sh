#!/usr/bin/env bash
# Runs a program with a scratch directory of its own as its last argument.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' INT TERM HUP
"$@" "$scratch"
