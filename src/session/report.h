/* What sessions are told about the whole: INFO and LOCKS. */
#ifndef BATON_SESSION_REPORT_H
#define BATON_SESSION_REPORT_H

#include "session.h"

enum { REPORT_MAX_LOCKS = 1000 }; /* that one command looks at, or a few more */

/* Answers INFO. */
void session_report_figures(session *me);
/*
 * Answers LOCKS; an empty pattern is for all. An error if there are more locks than can be looked
 * at for one command.
 */
void session_report_locks(session *me, resp_word pattern, uint64_t now);
/*
 * The same in parts, from a place on: where the next part begins, 0 after the last; then the rows.
 */
void session_report_page(session *me, resp_word pattern, uint64_t from, uint64_t now);

#endif
