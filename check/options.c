/* Reads the options of baton-check. */
#include "options.h"
#include "../src/cli/number.h"
#include "explore.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

const char *options_parse(options *o, int argc, char **argv)
{
    enum {
        RESTING = 256,
        PARK,
        FIGURES,
        ENDLESS,
        RANDOM,
        TIMED,
        RUNS,
        MOST_STATES,
        TRACE,
        SVG,
        JSON,
        ALL,
        QUICK,
        LIST
    };
    static const struct option known[] = {
        {"processes", required_argument, NULL, 'n'},
        {"passages", required_argument, NULL, 'p'},
        {"resting", required_argument, NULL, RESTING},
        {"memory", required_argument, NULL, 'm'},
        {"park", no_argument, NULL, PARK},
        {"figures", no_argument, NULL, FIGURES},
        {"endless", no_argument, NULL, ENDLESS},
        {"random", required_argument, NULL, RANDOM},
        {"timed", required_argument, NULL, TIMED},
        {"runs", required_argument, NULL, RUNS},
        {"limit", required_argument, NULL, MOST_STATES},
        {"trace", required_argument, NULL, TRACE},
        {"svg", required_argument, NULL, SVG},
        {"json", no_argument, NULL, JSON},
        {"all", no_argument, NULL, ALL},
        {"quick", no_argument, NULL, QUICK},
        {"list", no_argument, NULL, LIST},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    static char complaint[128];
    uint64_t value = 0;
    *o = (options){.plan = {.processes = 2, .passages = 1}, .limit = DEFAULT_LIMIT, .runs = 10000};
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, ":n:p:m:h", known, NULL)) != -1;) {
        switch (option) {
        case 'n':
            if (!parse_number(optarg, 1, MOST_PROCESSES, &value))
                return "--processes takes a number from 1 to 6";
            o->plan.processes = (uint32_t)value;
            break;
        case 'p':
            if (!parse_number(optarg, 1, 60, &value))
                return "--passages takes a number from 1 to 60";
            o->plan.passages = (uint32_t)value;
            break;
        case RESTING:
            if (!parse_number(optarg, 0, MOST_PROCESSES - 1, &value))
                return "--resting takes a number from 0 to 5";
            o->plan.start = (uint32_t)value;
            break;
        case 'm':
            if (strcmp(optarg, "sc") != 0 && strcmp(optarg, "c11") != 0)
                return "--memory is sc or c11";
            o->plan.c11 = strcmp(optarg, "c11") == 0;
            break;
        case PARK:
            o->plan.park = true;
            break;
        case FIGURES:
            o->figures = true;
            break;
        case ENDLESS:
            o->endless = true;
            break;
        case RANDOM:
            o->random = true;
            if (!parse_number(optarg, 0, UINT64_MAX, &o->seed))
                return "--random takes a seed, a whole number";
            break;
        case TIMED:
            o->timed = true;
            if (!parse_number(optarg, 0, UINT64_MAX, &o->seed))
                return "--timed takes a seed, a whole number";
            break;
        case RUNS:
            if (!parse_number(optarg, 1, UINT64_MAX, &o->runs))
                return "--runs takes a whole number";
            break;
        case MOST_STATES:
            if (!parse_number(optarg, 1, UINT32_MAX / 2, &o->limit))
                return "--limit takes a number from 1 to 2147483647";
            break;
        case TRACE:
            o->trace = optarg;
            break;
        case SVG:
            o->svg = optarg;
            break;
        case JSON:
            o->json = true;
            break;
        case ALL:
            o->all = true;
            break;
        case QUICK:
            o->quick = true;
            break;
        case LIST:
            o->list = true;
            break;
        case 'h':
            o->help = true;
            break;
        default:
            snprintf(complaint, sizeof complaint, "'%s' %s", argv[optind - 1],
                     option == ':' ? "wants a value" : "is no option");
            return complaint;
        }
    }
    o->words = optind;
    if (o->plan.start >= o->plan.processes)
        return "--resting leaves nobody who moves";
    if (o->plan.park && (o->plan.c11 || o->endless || o->figures))
        return "--park goes with --memory sc, and without --figures and --endless";
    return NULL;
}
