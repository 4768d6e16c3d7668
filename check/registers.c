/* Registers: where they lie in the subject's memory, and what is said about them. */
#include "registers.h"
#include "baton/check.h"
#include "seen.h"
#include "source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNIT = sizeof(baton_futex) };

static struct {
    char *arena; /* the subject's memory */
    size_t bytes;
    reg_info reg[MAX_REGISTERS];
    uint32_t regs;
    uint32_t *reg_of; /* index + 1 by offset / UNIT; 0 if no register begins there */
    const char *trouble;
} x;

void registers_begin(char *arena, size_t bytes)
{
    x.arena = arena;
    x.bytes = bytes;
    x.reg_of = must_zero(bytes / UNIT, sizeof *x.reg_of);
}

void registers_end(void)
{
    free(x.reg_of);
    memset(&x, 0, sizeof x);
}

const char *registers_trouble(void)
{
    return x.trouble;
}

uint32_t registers(void)
{
    return x.regs;
}

const reg_info *register_at(uint32_t index)
{
    return &x.reg[index];
}

long offset_of(const void *address)
{
    uintptr_t start = (uintptr_t)x.arena;
    uintptr_t there = (uintptr_t)address;
    return there >= start && there < start + x.bytes ? (long)(there - start) : -1;
}

int register_index(const void *reg, size_t bytes)
{
    long offset = offset_of(reg);
    if (offset < 0 || offset % (long)bytes != 0)
        return -1;
    int index = (int)x.reg_of[offset / UNIT] - 1;
    return index >= 0 && x.reg[index].bytes == bytes ? index : -1;
}

baton_word register_holds(uint32_t index, baton_word value)
{
    return x.reg[index].bytes == sizeof(baton_word) ? value : (uint32_t)value;
}

void register_add(const void *reg, size_t bytes, baton_word value, const char *name,
                  const char *file, int line)
{
    long offset = offset_of(reg);
    if (offset < 0 || offset % (long)bytes != 0) {
        x.trouble = "a register is initialised outside of the subject's memory";
        return;
    }
    int index = register_index(reg, bytes);
    if (index < 0) {
        if (x.regs == MAX_REGISTERS) {
            x.trouble = "too many registers for so many processes";
            return;
        }
        index = (int)x.regs++;
        x.reg_of[offset / UNIT] = (uint32_t)index + 1;
    }
    reg_info *info = &x.reg[index];
    info->address = reg;
    info->bytes = bytes;
    info->initial = value;
    source_name_register(name, file, line, info->name, sizeof info->name);
}

void baton_check_home(const baton_reg *reg, baton_word owner)
{
    int index = register_index(reg, sizeof *reg);
    if (index >= 0)
        x.reg[index].home = (uint32_t)owner;
}

void baton_check_unshared(const baton_reg *reg)
{
    int index = register_index(reg, sizeof *reg);
    if (index < 0)
        x.trouble = "what is said to be unshared is no register";
    else
        x.reg[index].unshared = true;
}

void baton_check_clock(const baton_reg *reg)
{
    int index = register_index(reg, sizeof *reg);
    if (index < 0)
        x.trouble = "what is said to be a clock is no register";
    else
        x.reg[index].clock = true;
}

const char *value_name(baton_word value, char buffer[48])
{
    for (uint32_t i = 0; i < x.regs; i++) {
        if (value >= 8 * sizeof(baton_word) &&
            (baton_word)x.reg[i].address - (baton_word)x.arena == value) {
            /* A reference: the object's name is that of its first register, without the field. */
            snprintf(buffer, 48, "->%s", x.reg[i].name);
            char *dot = strrchr(buffer, '.');
            if (dot != NULL)
                *dot = '\0';
            return buffer;
        }
    }
    snprintf(buffer, 48, "%lld", (long long)(intptr_t)value);
    return buffer;
}

void registers_name_owned(void)
{
    for (uint32_t i = 0; i < x.regs; i++)
        if (x.reg[i].home > 0) {
            char plain[sizeof x.reg[i].name];
            memcpy(plain, x.reg[i].name, sizeof plain);
            source_name_owned(plain, x.reg[i].home, x.reg[i].name, sizeof x.reg[i].name);
        }
}
