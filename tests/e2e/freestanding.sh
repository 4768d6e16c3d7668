#!/usr/bin/env bash
# The read/write locks on cores without an operating system and without read-modify-write
# instructions: Cortex-M0+ and RV32IMC. Shows that the objects need nothing and contain none.
# shellcheck source=tap.inc
. "$(dirname "$0")/tap.inc"

# The files that are made of reads and writes alone.
# shellcheck disable=SC2046 # words
locks=$(cd "$root/src/lock" && grep -L 'reg_swap\|reg_cas\|reg_fetch_add' $(grep -l reg_await -- *.c) | sed 's/\.c$//')
check 'there are such locks' test "$(wc -w <<< "$locks")" -ge 3
flags='-std=c17 -O2 -ffreestanding -Wall -Wextra -Wconversion -Wshadow -Werror'

# TARGET PREFIX READ-MODIFY-WRITE CPU-FLAGS...
try_target() {
    local target=$1 prefix=$2 forbidden=$3 lock object
    shift 3
    for lock in $locks; do
        object=$scratch/$target-$lock.o
        # shellcheck disable=SC2086 # words
        check "$target: $lock compiles" \
            "$prefix-gcc" $flags "$@" -I "$root/include" -c "$root/src/lock/$lock.c" -o "$object"
        check "$target: $lock has code for enter and exit" test \
            "$("$prefix-nm" --defined-only "$object" | grep -cE ' T baton_.*_(enter|exit)$')" -ge 2
        check "$target: $lock calls nothing, __atomic_* least of all" test -z "$("$prefix-nm" -u "$object")"
        check "$target: $lock has no read-modify-write instruction" test -z \
            "$("$prefix-objdump" -d "$object" | grep -E "\s($forbidden)")"
        check "$target: $lock has fences" test -n "$("$prefix-objdump" -d "$object" | grep -E '\s(dmb|fence)')"
    done
}

try_target cortex-m0plus arm-none-eabi 'ldrex|strex|swp|ldaex|stlex' -mcpu=cortex-m0plus -mthumb
try_target rv32imc riscv64-unknown-elf 'lr\.|sc\.|amo' -march=rv32imc -mabi=ilp32
finish
