/* How a client shows that it knows the password: it tells it, or proves it. */
#include "session.h"

#include <string.h>

static bool is_secret(const service *of, resp_word given)
{
    size_t bytes = strlen(of->secret);
    unsigned char differ = bytes != given.bytes;
    for (size_t i = 0; i < given.bytes && bytes > 0; i++) /* as long whether right or wrong */
        differ |= (unsigned char)(given.at[i] ^ of->secret[i % bytes]);
    return differ == 0;
}

/* Others may have guessed wrong from there: then this one waits. */
static bool is_too_early(session *me, uint64_t now)
{
    if (me->of->guesses == NULL)
        return false;
    if (me->guess_at == 0)
        me->guess_at = guesses_turn(me->of->guesses, me->who.from, now);
    me->comes_again = me->waits = now < me->guess_at;
    me->wait_until = me->guess_at;
    return me->waits;
}

void session_trust(session *me)
{
    me->trusted = true;
    me->out.max = me->of->max_output;
}

bool session_authenticate(const order *o, resp_word secret)
{
    session *me = o->me;
    if (me->of->secret == NULL) {
        resp_error(&me->out, "ERR AUTH <password> called without any password configured");
        return false;
    }
    if (is_too_early(me, o->now))
        return false;
    me->guess_at = 0;
    bool right;
    if (me->challenged && o->command->words == 3 && resp_is(o->command->word[1], "PROOF"))
        right = proof_fits(me->of->secret, me->challenge, secret);
    else
        right = is_secret(me->of, secret);
    me->challenged = false; /* one answer to each */
    if (right) {
        session_trust(me);
    } else {
        me->trusted = false;
        resp_error(&me->out, "WRONGPASS invalid username-password pair or user is disabled.");
        if (me->of->guesses != NULL)
            guesses_wrong(me->of->guesses, me->who.from, o->now);
    }
    return right;
}

static void challenge(session *me)
{
    char hex[PROOF_HEX + 1];
    me->challenged = proof_nonce(me->challenge);
    proof_to_hex(me->challenge, hex);
    if (me->challenged)
        resp_text(&me->out, hex);
    else
        resp_error(&me->out, "ERR the server has no random number");
}

/* AUTH [USER] SECRET; or AUTH CHALLENGE, which gives a number, and then AUTH PROOF HEX. */
void session_auth(const order *o)
{
    if (o->command->words == 2 && resp_is(o->command->word[1], "CHALLENGE") &&
        o->me->of->secret != NULL)
        challenge(o->me);
    else if (session_authenticate(o, o->command->word[o->command->words - 1]))
        resp_ok(&o->me->out);
}
