/*
 * Names for people, from the source itself: what a register is called, what stands on a line, and
 * which line of the paper it is. Where the source is not to be found, names are plainer.
 */
#ifndef BATON_CHECK_SOURCE_H
#define BATON_CHECK_SOURCE_H

#include <stddef.h>
#include <stdint.h>

/* Begins to count registers of the same name anew. */
void source_names_restart(void);
/* From "fme_flag(lock, node)", initialised in a loop at that line, makes "fme_flag(2)", "(3)"... */
void source_name_register(const char *expression, const char *file, int line, char *name,
                          size_t bytes);
/* The same with its owner in front, if it does not say it: "p1.next". */
void source_name_owned(const char *plain, uint32_t owner, char *name, size_t bytes);
/* The statement on that line, without its comment; "" if the source is not there. */
const char *source_text(const char *file, int line);
/* The paper's line number, which stands first in the comment at the end of the line; "" if none. */
const char *source_paper_line(const char *file, int line);

#endif
