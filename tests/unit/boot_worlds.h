/* Worlds of nodes that start, crash and are emptied: see boot_worlds.c. *state: how many nodes. */
#ifndef BATON_BOOT_WORLDS_H
#define BATON_BOOT_WORLDS_H

#include "boot_check.h"
#include "unit.h"

enum { BOOT_WORLDS = 3000 };

void test_world(void **state);
void test_copies(void **state);

#endif
