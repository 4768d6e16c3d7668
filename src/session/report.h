/* What sessions are told about the whole: INFO and LOCKS. */
#ifndef BATON_SESSION_REPORT_H
#define BATON_SESSION_REPORT_H

#include "session.h"

/* Answers INFO. */
void session_report_figures(session *me);
/* Answers LOCKS; an empty pattern is for all. */
void session_report_locks(session *me, resp_word pattern, uint64_t now);

#endif
