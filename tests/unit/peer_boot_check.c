/* Boot messages, lists, how far locks are, on the wire: there and back, and what no node writes. */
#include "peer_messages.h"

#include <stdio.h>
#include <string.h>

static void expect_whole(const resp_out *out, peer_said *said, peer_verb verb)
{
    for (size_t part = 0; part < out->bytes; part++)
        assert_int_equal(peer_read(out->at, part, 3, said).verdict, RESP_MORE);
    resp_parsed p = peer_read(out->at, out->bytes, 3, said);
    assert_int_equal(p.verdict, RESP_COMPLETE);
    assert_int_equal(p.used, out->bytes);
    assert_int_equal(said->verb, verb);
}

static void test_boot(void **state)
{
    static peer_said said;
    static const boot_message some[] = {
        {true, 0, 1, BOOT_NEW, false, 0, 0, 0, 0, 0},
        {false, UINT64_MAX, UINT64_MAX, BOOT_FORGETFUL, true, UINT64_MAX / 2, 8, UINT64_MAX, 10,
         11},
        {false, 17, 4711, BOOT_SETTLED, false, 3, UINT64_MAX / 2, 4, UINT64_MAX / 2,
         UINT64_MAX / 2},
    };
    (void)state;
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        resp_out out = {0};
        peer_say_boot(&out, &some[i]);
        expect_whole(&out, &said, PEER_BOOT);
        const boot_message *m = &said.boot_check;
        assert_true(m->asks == some[i].asks && m->nonce == some[i].nonce &&
                    m->boot == some[i].boot && m->state == some[i].state &&
                    m->other == some[i].other && m->life == some[i].life &&
                    m->known == some[i].known && m->run == some[i].run &&
                    m->begin == some[i].begin && m->turn == some[i].turn);
        resp_free(&out);
    }
}

static void test_list(void **state)
{
    static peer_said said;
    static const char name[PEER_MAX_NAME] = {'l', '\r', 0};
    (void)state;
    for (uint32_t names = 0; names <= PEER_MAX_LISTED; names++) {
        peer_list l = {.nonce = 3 + names, .end = names % 2 == 0, .names = names};
        for (uint32_t i = 0; i < names; i++)
            l.name[i] = (resp_word){name, i % 3 == 0 ? sizeof name : 1 + i};
        resp_out out = {0};
        peer_say_listed(&out, &l);
        expect_whole(&out, &said, PEER_LISTED);
        assert_true(said.list.nonce == l.nonce && said.list.end == l.end);
        assert_int_equal(said.list.names, names);
        for (uint32_t i = 0; i < names; i++)
            assert_true(said.list.name[i].bytes == l.name[i].bytes &&
                        memcmp(said.list.name[i].at, name, l.name[i].bytes) == 0);
        resp_free(&out);
        if (names > 1)
            continue;
        out = (resp_out){0};
        peer_say_list(&out, &l);
        expect_whole(&out, &said, PEER_LIST);
        assert_true(said.list.nonce == l.nonce && said.list.names == names);
        resp_free(&out);
    }
}

static void test_syncs(void **state)
{
    static peer_said said;
    static const char name[PEER_MAX_NAME] = {'l', '\r', 0};
    (void)state;
    for (uint32_t names = 1; names <= PEER_MAX_LISTED; names++) {
        peer_syncs s = {0};
        for (uint32_t i = 0; i < names; i++) {
            wme_message m = {.kind = WME_SYNC,
                             .epoch = i + 1,
                             .sn = i % 2 == 0 ? (1ULL << WME_ENTRY_BITS) - 1 : 0,
                             .executed = 7};
            peer_syncs_add(&s, (resp_word){name, i % 3 == 0 ? sizeof name : 1 + i}, &m);
        }
        resp_out out = {0};
        assert_null(peer_say_syncs(&out, &s));
        expect_whole(&out, &said, PEER_SYNCS);
        assert_int_equal(said.syncs.names, names);
        for (uint32_t i = 0; i < names; i++) {
            wme_message is = peer_syncs_at(&said.syncs, i);
            wme_message was = peer_syncs_at(&s, i);
            assert_memory_equal(&is, &was, sizeof is);
            assert_true(is.kind == WME_SYNC && is.epoch == i + 1 && is.executed == 7);
            assert_true(said.syncs.name[i].bytes == s.name[i].bytes &&
                        memcmp(said.syncs.name[i].at, name, s.name[i].bytes) == 0);
        }
        resp_free(&out);
    }
}

/* No room for all of it: nothing is there, and what was there stays. */
static void test_no_room(void **state)
{
    (void)state;
    for (size_t max = 30; max < 60; max += 3) {
        resp_out out = {.max = max};
        peer_say_heartbeat(&out, 1);
        peer_say_boot(&out, &(boot_message){.nonce = UINT64_MAX, .boot = UINT64_MAX});
        peer_say_listed(&out, &(peer_list){.names = 1, .name[0] = {"a long name, of a lock", 22}});
        peer_syncs s = {.names = 1, .name[0] = {"a long name, of a lock", 22}};
        assert_non_null(peer_say_syncs(&out, &s));
        assert_int_equal(out.bytes, 26);
        assert_false(out.overflow);
        resp_free(&out);
    }
}

static void expect_bad(const char *bytes, size_t count)
{
    static peer_said said;
    resp_parsed p = peer_read(bytes, count, 3, &said);
    assert_int_equal(p.verdict, RESP_BAD);
    assert_non_null(strstr(p.complaint, "ERR "));
}

static void test_bad_boots_and_lists(void **state)
{
    static const char *const words[] = {
        "BOOT",
        "BOOT|1 2 3 0 0 0 0 0 0",
        "BOOT|1 2 3 0 0 0 0 0 0 0 0",
        "BOOT|2 2 3 0 0 0 0 0 0 0",
        "BOOT|1 2 0 0 0 0 0 0 0 0",
        "BOOT|1 2 3 3 0 0 0 0 0 0",
        "BOOT|1 2 3 0 2 0 0 0 0 0",
        "BOOT|1 02 3 0 0 0 0 0 0 0",
        "BOOT|1  2 3 0 0 0 0 0 0 0",
        "BOOT|1 2 3 0 0 0 0 0 0 0 ",
        "BOOT|1 18446744073709551616 3 0 0 0 0 0 0 0",
        "BOOT|1 2 3 0 0 0 0 0 0 0|more",
        "BOOT|1 2 3 0 0 9223372036854775808 0 0 0 0",
        "BOOT|1 2 3 0 0 0 9223372036854775808 0 0 0",
        "BOOT|1 2 3 0 0 0 0 0 9223372036854775808 0",
        "BOOT|1 2 3 0 0 0 0 0 0 9223372036854775808",
        "LIST",
        "LIST|x",
        "LIST|1|",
        "LIST|1|a|b",
        "LISTED|1",
        "LISTED|1|2",
        "LISTED|1|1|",
        "LISTED|1|x|a",
        "SYNCS",
        "SYNCS|1 2 3",
        "SYNCS|1 2|a",
        "SYNCS|1 2 3 4|a",
        "SYNCS|1 2 3|a|b",
        "SYNCS|1 2 3|",
        "SYNCS|1 x 3|a",
        "SYNCS|0 2 3|a",
        "SYNCS|1 2 3 0 2 3|a|b",
        "SYNCS|18446744073709551615 2 3|a",
        "SYNCS|1 18446744073709551615 3|a",
        "SYNCS|1 2 18446744073709551615|a",
        "LISTED|1|0|a|a|a|a|a|a|a|a|a|a|a|a|a|a|a|a|a|a|a|a|a|a|a|a|a",
    };
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        resp_out all = {0};
        char copy[128];
        char *rest = copy;
        uint32_t count = 0;
        snprintf(copy, sizeof copy, "%s", words[i]);
        for (char *word; (word = strsep(&rest, "|")) != NULL; count++)
            resp_text(&all, word);
        resp_out out = {0};
        resp_array(&out, count);
        resp_raw(&out, all.at, all.bytes);
        expect_bad(out.at, out.bytes);
        resp_free(&out);
        resp_free(&all);
    }
}

void peer_boot_tests(suite *s)
{
    suite_add(s, test_boot, NULL, "a boot message there and back");
    suite_add(s, test_list, NULL, "a list there and back");
    suite_add(s, test_syncs, NULL, "how far several locks are, there and back");
    suite_add(s, test_no_room, NULL, "no room for it");
    suite_add(s, test_bad_boots_and_lists, NULL, "boot messages and lists that make no sense");
}
