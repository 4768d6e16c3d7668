/* The parts of test_wme. */
#ifndef BATON_WME_TESTS_H
#define BATON_WME_TESTS_H

#include "wme_scene.h"

void wme_errata_tests(suite *s);
void wme_catchup_tests(suite *s);
void wme_crash_tests(suite *s);
void wme_refusal_tests(suite *s);
void wme_yield_tests(suite *s);
void wme_resume_tests(suite *s);
void wme_rejoin_tests(suite *s);
void wme_outside_tests(suite *s);
void wme_rest_tests(suite *s);
void wme_replica_tests(suite *s);
void wme_random_tests(suite *s);

/* Node 0 is taken for dead by the others, and consensus makes node 1 the owner. */
void scene_depose_0(scene *w);

#endif
