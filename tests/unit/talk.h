/* Sessions that a test speaks for: what they say goes in as bytes, what they hear is compared. */
#ifndef BATON_UNIT_TALK_H
#define BATON_UNIT_TALK_H

#include "session.h"
#include "unit.h"

/* A client with its connection. */
typedef struct talker {
    session session; /* first: found from it */
    traffic traffic;
    notice *first, **last; /* posted, and not taken yet */
} talker;

void talk_begin(talker *t, service *of);
/* The connection is gone, without a word. */
void talk_end(talker *t, uint64_t now);

/* Commands as they are typed, and all that is said to the client at once; nothing else was. */
void talk(talker *t, uint64_t now, const char *commands, const char *answer);
/* The same for one command of words with '|' between them, which may be empty. */
void talk_words(talker *t, uint64_t now, const char *words, const char *answer);
/* Such a command, whatever it is told. */
void talk_say(talker *t, uint64_t now, const char *words);
/* What it is told when it takes what was posted to it. */
void talk_hear(talker *t, uint64_t now, const char *answer);
/* The same when it looks at the clock. */
void talk_time(talker *t, uint64_t now, const char *answer);
/* The last answer is one that begins with that. */
void talk_begins(talker *t, uint64_t now, const char *commands, const char *answer);
/* A number from the answer to commands: what LOCK or TRY gave. */
uint64_t talk_token(talker *t, uint64_t now, const char *commands);

/* Every command of a table, with a word too few and one too many, before AUTH and after it. */
typedef struct talk_rule {
    const char *name;
    uint32_t least, max;
    const char *stranger; /* what a stranger is told; NULL: that it is one */
} talk_rule;
void talk_rules(service *of, const talk_rule *rules, size_t count);

#endif
