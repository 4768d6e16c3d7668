/* A run as a space-time diagram: a lane for each node, time from left to right. */
#ifndef BATON_SIM_SVG_H
#define BATON_SIM_SVG_H

#include "note.h"

#include <stdio.h>

typedef struct picture picture;

/* Of this part of the run, in us. */
picture *picture_new(uint8_t nodes, uint64_t from, uint64_t to);
teller *picture_teller(picture *p);
/* `end` is when the run ended. */
/* Writes it to that file, and frees it; EXIT_FINE, or EXIT_IO with a message. */
int picture_save(picture *p, const char *title, uint64_t end, const char *file);

#endif
