/* What a load shall be: reads addresses, mixes and sizes. */
#include "load.h"
#include "number.h"

#include <string.h>

const char *const load_kind_name[LOAD_KINDS] = {"read", "issue", "section", "lock", "try"};

/* The next word of a list with commas, and what follows it; false if it does not fit. */
static bool next_word(const char **list, char *word, size_t room)
{
    size_t bytes = strcspn(*list, ",");
    if (bytes == 0 || bytes >= room)
        return false;
    memcpy(word, *list, bytes);
    word[bytes] = '\0';
    *list += bytes;
    return true;
}

/* To the next word; false at the end. */
static bool has_more(const char **list)
{
    if (**list == '\0')
        return false;
    ++*list;
    return true;
}

bool load_take_addresses(load_plan *plan, const char *list)
{
    plan->addresses = 0;
    do {
        if (plan->addresses == LOAD_MAX_ADDRESSES)
            return false;
        char *text = plan->address[plan->addresses].text;
        if (!next_word(&list, text, LOAD_ADDRESS_BYTES))
            return false;
        if (strchr(text, '/') == NULL && strchr(text, ':') == NULL)
            return false;
        plan->addresses++;
    } while (has_more(&list));
    return true;
}

static load_kind kind_called(const char *name)
{
    load_kind kind = 0;
    while (kind < LOAD_KINDS && strcmp(load_kind_name[kind], name) != 0)
        kind++;
    return kind;
}

/* "issue=80", or "issue" alone for 1. A kind that comes twice makes no sense. */
static bool take_part(load_plan *plan, char *part)
{
    uint64_t weight = 1;
    char *equals = strchr(part, '=');
    if (equals != NULL) {
        *equals = '\0';
        if (!parse_number(equals + 1, 1, 1000, &weight))
            return false;
    }
    load_kind kind = kind_called(part);
    if (kind == LOAD_KINDS || plan->weight[kind] != 0)
        return false;
    plan->weight[kind] = (uint32_t)weight;
    return true;
}

bool load_take_mix(load_plan *plan, const char *mix)
{
    char part[32];
    memset(plan->weight, 0, sizeof plan->weight);
    do {
        if (!next_word(&mix, part, sizeof part) || !take_part(plan, part))
            return false;
    } while (has_more(&mix));
    return true;
}

bool load_take_size(load_plan *plan, const char *size)
{
    char least[8];
    uint64_t from, to;
    const char *dash = strchr(size, '-');
    if (dash == NULL) {
        if (!parse_number(size, 1, LOAD_MAX_VALUE, &from))
            return false;
        plan->least_bytes = plan->max_bytes = (uint32_t)from;
        return true;
    }
    if ((size_t)(dash - size) >= sizeof least)
        return false;
    memcpy(least, size, (size_t)(dash - size));
    least[dash - size] = '\0';
    if (!parse_number(least, 1, LOAD_MAX_VALUE, &from) ||
        !parse_number(dash + 1, from, LOAD_MAX_VALUE, &to))
        return false;
    plan->least_bytes = (uint32_t)from;
    plan->max_bytes = (uint32_t)to;
    return true;
}
