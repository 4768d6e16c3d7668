/*
 * The registers of the subject: found when they are initialised, numbered from 0 in that order, and
 * known by where they lie in its memory.
 */
#ifndef BATON_CHECK_REGISTERS_H
#define BATON_CHECK_REGISTERS_H

#include "baton/reg.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_REGISTERS = 96 };

/* A register of the subject, found when it was initialised. */
typedef struct reg_info {
    const void *address;
    size_t bytes; /* of a baton_reg, or of a baton_futex */
    baton_word initial;
    bool unshared; /* nobody reads what another has written */
    bool clock;    /* its messages tell nothing of other registers */
    uint32_t home; /* number of the process in whose memory it lies, from 1; 0 if in nobody's */
    char name[40];
} reg_info;

/* Of a subject whose memory is `arena`; until registers_end. */
void registers_begin(char *arena, size_t bytes);
void registers_end(void);
/* What was wrong with one of them; NULL if nothing. */
const char *registers_trouble(void);

void register_add(const void *reg, size_t bytes, baton_word value, const char *name,
                  const char *file, int line);
/* When all are there: puts the owner into the names of those that are at home with somebody. */
void registers_name_owned(void);

uint32_t registers(void);
const reg_info *register_at(uint32_t index);
/* The number of a register of that size; -1 if there is none. */
int register_index(const void *reg, size_t bytes);
/* What it holds after `value` is written: no more than fits. */
baton_word register_holds(uint32_t index, baton_word value);
/* Byte offset in the subject's memory; -1 if it lies elsewhere. */
long offset_of(const void *address);
/* What a word means: a number, or the name of what it refers to. */
const char *value_name(baton_word value, char buffer[48]);

#endif
