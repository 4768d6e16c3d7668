/*
 * The client of the lock service against servers of this process, which say what each test wants.
 * CLIENT_TESTS=PATTERN chooses some. Against real servers: tests/e2e/client_live.c.
 */
#include "false_nodes.h"

#include <stdlib.h>

#define at_false_nodes(test) cmocka_unit_test_setup_teardown(test, false_set_up, false_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        at_false_nodes(answers_to_try_and_lock),
        at_false_nodes(refusal_beside_a_section),
        at_false_nodes(answers_to_exit),
        at_false_nodes(answers_to_operations),
        at_false_nodes(replies_of_any_size),
        at_false_nodes(operations_that_are_none),
        at_false_nodes(no_client),
        at_false_nodes(addresses_that_lead_nowhere),
        at_false_nodes(longest_path),
        at_false_nodes(answers_to_who_connects),
        at_false_nodes(answers_to_who_proves),
        at_false_nodes(server_that_is_silent_at_first),
        at_false_nodes(error_from_before_means_nothing),
        at_false_nodes(pushes_that_mean_nothing),
        at_false_nodes(gate_opens_over_the_main_line_only),
        at_false_nodes(gate_opens_when_the_main_line_breaks),
        at_false_nodes(section_is_kept),
        at_false_nodes(losses_are_told_one_by_one),
        at_false_nodes(losses_wait_for_who_is_told),
        at_false_nodes(line_of_a_lost_section_is_used_again),
        at_false_nodes(very_many_losses),
        at_false_nodes(wait_at_a_node_without_majority),
        at_false_nodes(wait_at_the_only_node),
        at_false_nodes(operation_while_there_is_no_majority),
        at_false_nodes(section_leaves_a_node_without_majority),
        at_false_nodes(timed_wait_ends_on_its_way),
        at_false_nodes(endless_wait_stays_endless),
        at_false_nodes(section_moves),
        at_false_nodes(section_that_may_not_go_on),
        at_false_nodes(section_that_may_not_go_on_yet),
        at_false_nodes(section_without_a_name_is_lost),
        at_false_nodes(who_needs_a_name_says_it),
        at_false_nodes(as_many_lines_as_may_be),
        at_false_nodes(lines_that_cannot_be_made),
        at_false_nodes(few_lines_are_kept_idle),
        at_false_nodes(nothing_is_left),
        at_false_nodes(names_are_forgotten),
        at_false_nodes(server_that_reads_slowly),
        at_false_nodes(sockets_that_are_slow),
        at_false_nodes(keeper_sleeps_when_nothing_is_due),
        at_false_nodes(keeper_sleeps_beside_who_calls),
        at_false_nodes(keeper_sleeps_beside_a_child),
        at_false_nodes(all_that_is_held_is_left),
        at_false_nodes(child_that_closes_twice),
        at_false_nodes(farewell_is_said_where_it_is_held),
        at_false_nodes(operation_of_a_lock_that_is_taken_away),
        at_false_nodes(line_of_an_ejected_section_is_used_again),
        at_false_nodes(line_of_a_node_without_majority_is_not),
        at_false_nodes(operation_at_a_node_without_majority),
        at_false_nodes(try_beside_a_section_at_a_node_that_ends),
        at_false_nodes(two_tries_at_a_node_that_ends),
        at_false_nodes(wait_until_somebody_lets_in),
        at_false_nodes(very_many_move_in_time),
        at_false_nodes(cut_at_every_byte),
        cmocka_unit_test(anything_is_said),
    };
    cmocka_set_test_filter(getenv("CLIENT_TESTS")); /* a pattern; all if there is none */
    return cmocka_run_group_tests_name("client", tests, nodes_begin, nodes_end);
}
