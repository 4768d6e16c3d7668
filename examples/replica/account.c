/*
 * A bank account that is kept by three processes, and never goes below zero. Start three of these,
 * each in a terminal of its own, as a, b and c:
 *
 *     cc account.c -o account $(pkg-config --cflags --libs baton-replica)
 *     ./account a a=127.0.0.1:7801,b=127.0.0.1:7802,c=127.0.0.1:7803 /tmp/account-a
 *
 * Then type: deposit 100, withdraw 30, balance; several on a line happen within one section, so
 * that nobody gets in between. `look` shows what this process has, without asking the others. Kill
 * one with -9 and start it again, or all of them: no money is lost.
 */
#include <baton/replica.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the resource ---- */

typedef struct account {
    int64_t balance;
    int64_t lowest; /* that it ever had here: never below zero */
} account;

/* Numbers travel as text: the same on machines of any kind. */
static bool read_money(const void *text, size_t bytes, int64_t *money)
{
    char copy[24] = "";
    char *end;
    if (bytes < 1 || bytes >= sizeof copy)
        return false;
    memcpy(copy, text, bytes);
    *money = strtoll(copy, &end, 10);
    return end == copy + bytes;
}

/*
 * A change of the balance. Whether there is enough money is decided here, when all earlier
 * operations have been executed, and not by who asks: so it is the same everywhere.
 */
static void apply(void *context, const void *operation, size_t bytes, baton_replica_result *result)
{
    account *a = context;
    int64_t change;
    bool fine = read_money(operation, bytes, &change) && change >= -a->balance &&
                change <= INT64_MAX - a->balance;
    if (fine)
        a->balance += change;
    if (a->balance < a->lowest)
        a->lowest = a->balance;
    result->bytes = (size_t)snprintf(result->at, sizeof result->at, "%s %" PRId64,
                                     fine ? "ok" : "refused", a->balance);
}

static void snapshot(void *context, baton_replica_state *to)
{
    const account *a = context;
    char text[24];
    baton_replica_put(to, text, (size_t)snprintf(text, sizeof text, "%" PRId64, a->balance));
}

/* From nothing, the account of the beginning. */
static bool restore(void *context, const void *state, size_t bytes)
{
    account *a = context;
    a->balance = 0;
    return bytes == 0 || read_money(state, bytes, &a->balance);
}

/* ---- what is typed ---- */

static account the_account;

static void look(void *context, baton_replica_position place)
{
    const account *a = context;
    printf("look %" PRId64 " lowest %" PRId64 " executed %" PRIu64, a->balance, a->lowest,
           place.executed);
}

/* One change within the section; false if nothing was executed. */
static bool change(baton_replica *replica, uint64_t token, const char *sign, const char *amount)
{
    baton_replica_result result;
    char operation[32];
    int length = snprintf(operation, sizeof operation, "%s%.24s", sign, amount);
    int error = baton_replica_issue(replica, token, operation, (size_t)length, &result);
    fputs(error == BATON_OK ? result.at : baton_strerror(error), stdout);
    return error == BATON_OK;
}

/* All words of a line, within one section. */
static void run_line(baton_replica *replica, char *line)
{
    static const char ends[] = " \t\n";
    uint64_t token;
    bool goes_on = true;
    int error = baton_replica_enter(replica, 10000, &token);
    if (error != BATON_OK) {
        fputs(baton_strerror(error), stdout);
        return;
    }
    for (char *word = strtok(line, ends); word != NULL && goes_on; word = strtok(NULL, ends)) {
        const char *amount = strcmp(word, "balance") == 0 ? "0" : strtok(NULL, ends);
        const char *sign = strcmp(word, "withdraw") == 0 ? "-" : "";
        goes_on = change(replica, token, sign, amount != NULL ? amount : "?");
        fputs(" ", stdout);
    }
    baton_replica_exit(replica, token);
}

int main(int argc, char **argv)
{
    baton_replica *replica;
    char why[BATON_REPLICA_WHY_BYTES];
    char line[512];
    if (argc != 4) {
        puts("Usage: account ID ID=HOST:PORT,... DIRECTORY");
        return 0;
    }
    baton_replica_options options = {
        .id = argv[1],
        .peers = argv[2],
        .data = argv[3],
        .name = "account",
        .resource = {&the_account, apply, snapshot, restore},
    };
    if (baton_replica_open(&options, &replica, why) != BATON_OK) {
        fprintf(stderr, "account: %s\n", why);
        return 1;
    }
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (strcmp(line, "look\n") == 0)
            baton_replica_look(replica, look, &the_account);
        else
            run_line(replica, line);
        puts("");
        fflush(stdout);
    }
    const char *trouble = baton_replica_why(replica);
    if (*trouble != '\0')
        fprintf(stderr, "account: %s\n", trouble);
    int status = *trouble == '\0' ? 0 : 1;
    baton_replica_close(replica);
    return status;
}
