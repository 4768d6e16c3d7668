/*
 * What nodes say to each other: whatever is written is read back the same, messages by chance and
 * all that stubs send in scenes; and bytes that no node writes are refused.
 */
#include "peer_messages.h"
#include "wme_scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGES = 3000, SCENES = 200, STEPS = 600 };

static void expect_round_trip(const wme_message *m, uint8_t nodes, resp_word name)
{
    static peer_said said;
    resp_out out = {0};
    assert_null(peer_say(&out, nodes, name, m));
    assert_true(out.bytes <= PEER_MAX_BYTES);
    resp_parsed p = peer_read(out.at, out.bytes, nodes, &said);
    assert_int_equal(p.verdict, RESP_COMPLETE);
    assert_int_equal(p.used, out.bytes);
    assert_int_equal(said.verb, PEER_MESSAGE);
    assert_int_equal(said.words.bytes, name.bytes);
    assert_memory_equal(said.words.at, name.at, name.bytes);
    expect_message(&said.message, m);
    peer_said_drop(&said);
    resp_free(&out);
}

/* ---- what is written is read ---- */

static void test_round_trip(void **state)
{
    wme_kind kind = *(const wme_kind *)*state;
    char name[PEER_MAX_NAME];
    chance_seed = 88172645463325252U + (uint64_t)kind;
    for (size_t i = 0; i < sizeof name; i++)
        name[i] = (char)chance(256);
    for (int i = 0; i < MESSAGES; i++) {
        peer_snapshot snapshot;
        uint8_t nodes = (uint8_t)(1 + chance(WME_MAX_NODES));
        wme_message m = some_message(kind, nodes, &snapshot);
        expect_round_trip(&m, nodes, (resp_word){name, (size_t)chance_number(1, sizeof name)});
        drop_message(&m);
    }
}

/* Lets something happen to a cluster in which one node may be cut off for long. */
static void happen(scene *w)
{
    uint8_t node = (uint8_t)chance(w->nodes);
    uint8_t other = (uint8_t)((node + 1 + chance(w->nodes - 1U)) % w->nodes);
    scene_user *user = scene_user_at(w, node, 0);
    memset(user->told, 0, sizeof user->told);
    switch (chance(25)) {
    case 0:
    case 1:
        scene_try(w, node, 0);
        break;
    case 2:
        scene_exit(w, node, 0);
        break;
    case 3:
        scene_tick(w, node);
        break;
    case 4:
        scene_cut(w, w->nodes - 1, chance(8) != 0);
        break;
    case 5:
        if (chance(4) == 0)
            scene_suspect(w, node, other);
        else
            scene_trust(w, node, other);
        break;
    case 6:
        if (w->count > 0)
            scene_lose(w);
        break;
    case 7:
        if (node == 1 && w->next_key > WME_MAX_LOG && scene_stub(w, node)->away == 0) {
            scene_forget(w, node);
            scene_restart(w, node);
        }
        break;
    case 8:
    case 9:
    case 10:
    case 11:
    case 12:
        if (w->next_key < SCENE_OPS - 1)
            scene_issue(w, node, 0);
        break;
    default:
        while (w->count > SCENE_FLIGHT / 2)
            scene_lose(w);
        if (w->count > 0)
            scene_deliver(w, ANY, ANY, ANY);
    }
}

/* Nothing that a stub sends has a field that the wire does not carry. */
static void test_scenes(void **state)
{
    uint32_t seen[WME_KINDS] = {0};
    uint32_t snapshots = 0;
    (void)state;
    for (uint64_t run = 1; run <= SCENES; run++) {
        chance_seed = run * 0x9e3779b97f4a7c15U;
        scene *w = scene_open(run % 2 ? 3 : 5, run % 4 < 2);
        for (int step = 0; step < STEPS; step++) {
            uint32_t before = scene_sent(w);
            happen(w);
            uint32_t fresh = scene_sent(w) - before;
            for (uint32_t i = w->count - (fresh < w->count ? fresh : w->count); i < w->count; i++) {
                scene_letter *letter = w->flight[i];
                peer_snapshot snapshot = {&letter->resource, sizeof letter->resource};
                wme_message m = letter->message;
                if (m.snapshot)
                    m.resource = &snapshot;
                seen[m.kind]++;
                snapshots += m.snapshot;
                wme_op *ops[] = {m.op, m.record.last};
                uint32_t holders[] = {ops[0] ? ops[0]->holders : 0, ops[1] ? ops[1]->holders : 0};
                expect_round_trip(&m, w->nodes, (resp_word){"lock", 4});
                for (int k = 0; k < 2; k++)
                    assert_true(ops[k] == NULL || ops[k]->holders == holders[k]);
            }
        }
        scene_close(w);
    }
    for (int kind = 0; kind < WME_KINDS; kind++)
        assert_true(seen[kind] > 0);
    assert_true(snapshots > 0);
}

static void test_heartbeat(void **state)
{
    resp_out out = {0};
    peer_said said;
    (void)state;
    peer_say_heartbeat(&out, 4711);
    assert_int_equal(out.bytes, 29);
    for (size_t part = 0; part < out.bytes; part++)
        assert_int_equal(peer_read(out.at, part, 3, &said).verdict, RESP_MORE);
    assert_int_equal(peer_read(out.at, out.bytes, 3, &said).verdict, RESP_COMPLETE);
    assert_int_equal(said.verb, PEER_HEARTBEAT);
    assert_int_equal(said.turn, 4711);
    peer_said_drop(&said);
    resp_free(&out);
}

static void test_complaint(void **state)
{
    static const char bytes[] = "-ERR go away\r\n*";
    peer_said said;
    (void)state;
    resp_parsed p = peer_read(bytes, sizeof bytes - 1, 3, &said);
    assert_int_equal(p.verdict, RESP_COMPLETE);
    assert_int_equal(p.used, 14);
    assert_int_equal(said.verb, PEER_COMPLAINT);
    assert_int_equal(said.words.bytes, 11);
    assert_memory_equal(said.words.at, "ERR go away", 11);
    assert_int_equal(peer_read("-ERR", 4, 3, &said).verdict, RESP_MORE);
    char endless[PEER_MAX_COMPLAINT];
    memset(endless, '-', sizeof endless);
    assert_int_equal(peer_read(endless, sizeof endless, 3, &said).verdict, RESP_BAD);
    assert_int_equal(peer_read("-\n", 2, 3, &said).verdict, RESP_COMPLETE);
    assert_int_equal(said.words.bytes, 0);
}

/* ---- what no node writes ---- */

static void expect_bad(const char *bytes, size_t count, const char *why)
{
    static peer_said said;
    resp_parsed p = peer_read(bytes, count, 3, &said);
    assert_int_equal(p.verdict, RESP_BAD);
    assert_non_null(strstr(p.complaint, why));
    assert_null(said.message.op); /* nothing to be dropped */
}

/* The command that has these numbers in the place of its own, and so many words less. */
static void expect_changed_bad(const resp_command *c, resp_word numbers, uint32_t words)
{
    resp_out out = {0};
    resp_array(&out, words);
    for (uint32_t i = 0; i < words; i++) {
        resp_word word = i == 2 ? numbers : i < c->words ? c->word[i] : (resp_word){"x", 1};
        resp_bulk(&out, word.at, word.bytes);
    }
    expect_bad(out.at, out.bytes, "ERR ");
    resp_free(&out);
}

/* Each number in turn left out, and replaced by what is no number, or none that fits. */
static void expect_numbers_checked(const resp_command *c)
{
    static const char *const instead[] = {NULL,
                                          "",
                                          "x",
                                          "-1",
                                          "01",
                                          "1 1",
                                          " 1",
                                          "1x",
                                          "1\n",
                                          "18446744073709551616",
                                          "99999999999999999999999"};
    resp_word numbers = c->word[2];
    const char *end = numbers.at + numbers.bytes;
    for (const char *at = numbers.at; at < end;) {
        const char *space = memchr(at, ' ', (size_t)(end - at));
        const char *behind = space != NULL ? space : end;
        for (size_t i = 0; i < sizeof instead / sizeof instead[0]; i++) {
            char text[2048];
            int length =
                snprintf(text, sizeof text, "%.*s%s%.*s", (int)(at - numbers.at), numbers.at,
                         instead[i] != NULL ? instead[i] : "", (int)(end - behind), behind);
            char *from = text;
            if (instead[i] == NULL && at == numbers.at && length > 0)
                from++, length--; /* without the space before the second */
            expect_changed_bad(c, (resp_word){from, (size_t)length}, c->words);
        }
        at = space != NULL ? space + 1 : end;
    }
}

static void test_malformed(void **state)
{
    wme_kind kind = *(const wme_kind *)*state;
    resp_limits limits = {PEER_MAX_SNAPSHOT, PEER_MAX_BYTES};
    chance_seed = 362436069U + (uint64_t)kind;
    for (int i = 0; i < 60; i++) {
        peer_snapshot snapshot;
        resp_command c;
        static peer_said said;
        resp_out out = {0};
        wme_message m = some_message(kind, 3, &snapshot);
        assert_null(peer_say(&out, 3, (resp_word){"lock", 4}, &m));
        assert_int_equal(resp_parse(out.at, out.bytes, &limits, &c).verdict, RESP_COMPLETE);
        expect_numbers_checked(&c);
        for (uint32_t words = 1; words < c.words; words++)
            expect_changed_bad(&c, c.word[2], words);
        expect_changed_bad(&c, c.word[2], c.words + 1);
        for (size_t part = 0; part < out.bytes; part += part < 200 ? 1 : 997)
            assert_int_equal(peer_read(out.at, part, 3, &said).verdict, RESP_MORE);
        drop_message(&m);
        resp_free(&out);
    }
}

typedef struct wrong {
    const char *bytes;
    const char *why;
} wrong;

#define ACK(numbers)     "*3\r\n$3\r\nACK\r\n$4\r\nlock\r\n" numbers "\r\n"
#define GRANTED(numbers) "*3\r\n$7\r\nGRANTED\r\n$4\r\nlock\r\n" numbers "\r\n"
#define DECIDED(numbers) "*3\r\n$7\r\nDECIDED\r\n$4\r\nlock\r\n" numbers "\r\n"

static const wrong wrongs[] = {
    {"PING\r\n", "arrays"},
    {"GET / HTTP/1.1\r\n\r\n", "arrays"},
    {"\r\n", "arrays"},
    {"*0\r\n", "no words"},
    {"*1\r\n$4\r\nPING\r\n", "no known kind"},
    {"*1\r\n$0\r\n\r\n", "no known kind"},
    {"*1\r\n$9\r\nHEARTBEAT\r\n", "heartbeat"},
    {"*2\r\n$9\r\nHEARTBEAT\r\n$1\r\nx\r\n", "heartbeat"},
    {"*2\r\n$9\r\nHEARTBEAT\r\n$19\r\n9223372036854775808\r\n", "heartbeat"},
    {"*3\r\n$9\r\nHEARTBEAT\r\n$1\r\n1\r\n$1\r\n1\r\n", "heartbeat"},
    {"*1\r\n$3\r\nACK\r\n", "without a name"},
    {"*2\r\n$3\r\nACK\r\n$4\r\nlock\r\n", "without numbers"},
    {"*3\r\n$3\r\nACK\r\n$0\r\n\r\n$7\r\n1 2 3 0\r\n", "name"},
    {ACK("$7\r\n0 2 3 0"), "the epoch"},
    {ACK("$14\r\n16777215 2 3 0"), "the epoch"},
    {ACK("$19\r\n1 1099511627776 3 0"), "the slot"},
    {ACK("$25\r\n1 2 9223372036854775808 0"), "executed"},
    {ACK("$7\r\n1 2 3 2"), "repeated"},
    {ACK("$5\r\n1 2 3"), "repeated"},
    {ACK("$9\r\n1 2 3 0 0"), "more numbers"},
    {GRANTED("$9\r\n1 2 3 4 3"), "the new owner"},
    {DECIDED("$21\r\n1 2 3 4 5 3 0 0 0 0 0"), "the owner"},
    {DECIDED("$21\r\n1 2 3 4 5 0 0 0 0 4 0"), "queued"},
    {DECIDED("$25\r\n1 2 3 4 5 0 0 0 0 1 3 1 0"), "in the queue"},
    {DECIDED("$29\r\n1 2 3 4 5 0 0 0 0 2 1 1 1 2 0"), "twice"},
    {DECIDED("$25\r\n1 2 3 4 5 0 0 0 0 0 1 0 3"), "origin"},
    {DECIDED("$25\r\n1 2 3 4 5 0 0 0 0 0 1 0 2"), "operation or a snapshot is missing"},
    /* Too long: known before it has come. */
    {"*4\r\n$6\r\nINVOKE\r\n$4\r\nlock\r\n$9\r\n1 2 3 4 0\r\n$65537\r\n", "bulk length"},
    {"*3\r\n$3\r\nACK\r\n$65537\r\n", "bulk length"},
    {"*4\r\n$5\r\nSTATE\r\n$17825793\r\n", "bulk length"},
    {"*33\r\n", "multibulk length"},
};

static void test_wrong(void **state)
{
    const wrong *w = *state;
    expect_bad(w->bytes, strlen(w->bytes), w->why);
}

/* ---- limits ---- */

static void test_name(void **state)
{
    char name[PEER_MAX_NAME + 1] = {0};
    resp_out out = {0};
    (void)state;
    resp_array(&out, 3);
    resp_text(&out, "DOINVOKE");
    resp_bulk(&out, name, sizeof name);
    resp_text(&out, "1 2");
    expect_bad(out.at, out.bytes, "name");
    resp_free(&out);
}

/* A message of nearly the size of a snapshot must be a STATE; others are cut off early. */
static void test_large(void **state)
{
    char *bytes = calloc(1, PEER_MAX_SNAPSHOT + 1);
    resp_out out = {0};
    peer_said said;
    (void)state;
    assert_non_null(bytes);
    peer_snapshot snapshot = {bytes, PEER_MAX_SNAPSHOT};
    wme_message m = {.kind = WME_STATE, .epoch = 1, .record.epoch = 1, .snapshot = true};
    m.resource = &snapshot;
    expect_round_trip(&m, 3, (resp_word){"lock", 4});
    snapshot.bytes++;
    assert_non_null(strstr(peer_say(&out, 3, (resp_word){"lock", 4}, &m), "too large"));
    assert_int_equal(out.bytes, 0);

    const char *head = "*4\r\n$6\r\nINVOKE\r\n$4\r\nlock\r\n$9\r\n1 2 3 4 0\r\n";
    memcpy(bytes, head, strlen(head));
    assert_int_equal(peer_read(bytes, strlen(head), 3, &said).verdict, RESP_MORE);
    head = "*32\r\n$6\r\nINVOKE\r\n";
    resp_raw(&out, head, strlen(head));
    resp_bulk(&out, bytes, WME_MAX_OP);
    assert_int_equal(peer_read(out.at, out.bytes, 3, &said).verdict, RESP_MORE);
    resp_bulk(&out, bytes, WME_MAX_OP);
    expect_bad(out.at, out.bytes, "too big");
    resp_free(&out);
    free(bytes);
}

/* A message that cannot be sent leaves no trace, as if it had been lost. */
static void test_full(void **state)
{
    wme_message m = {.kind = WME_DOINVOKE, .epoch = 1, .sn = 2};
    resp_out out = {.max = 64};
    resp_word name = {"lock", 4};
    (void)state;
    assert_null(peer_say(&out, 3, name, &m));
    size_t bytes = out.bytes;
    assert_non_null(peer_say(&out, 3, name, &m));
    assert_int_equal(out.bytes, bytes);
    assert_false(out.overflow);
    out.bytes = 0;
    assert_null(peer_say(&out, 3, name, &m));
    assert_int_equal(out.bytes, bytes);
    m.epoch = 0;
    assert_non_null(strstr(peer_say(&out, 3, name, &m), "the epoch"));
    m = (wme_message){.kind = WME_INVOKE, .epoch = 1};
    assert_non_null(strstr(peer_say(&out, 3, name, &m), "operation is missing"));
    m = (wme_message){.kind = WME_NEWEP, .epoch = 1, .record.epoch = 2};
    assert_non_null(strstr(peer_say(&out, 3, name, &m), "another epoch"));
    m = (wme_message){.kind = WME_STATE, .epoch = 1, .record.epoch = 1, .count = 255};
    assert_non_null(strstr(peer_say(&out, 3, name, &m), "how many operations"));
    assert_int_equal(out.bytes, bytes);
    resp_free(&out);
}

int main(void)
{
    static wme_kind kinds[WME_KINDS];
    suite s = {0};
    for (int i = 0; i < WME_KINDS; i++) {
        kinds[i] = (wme_kind)i;
        const char *name = peer_kind_name(kinds[i]);
        suite_add(&s, test_round_trip, &kinds[i], "%s there and back", name);
        suite_add(&s, test_malformed, &kinds[i], "%s malformed", name);
    }
    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++)
        suite_add(&s, test_wrong, &wrongs[i], "refused %zu: %s", i, wrongs[i].why);
    suite_add(&s, test_scenes, NULL, "all that stubs send in %d scenes", SCENES);
    suite_add(&s, test_heartbeat, NULL, "a heartbeat");
    peer_boot_tests(&s);
    suite_add(&s, test_complaint, NULL, "the other node's last words");
    suite_add(&s, test_name, NULL, "a name that is too long");
    suite_add(&s, test_large, NULL, "large messages");
    suite_add(&s, test_full, NULL, "what cannot be sent");
    return suite_run(&s, "peer_wire");
}
