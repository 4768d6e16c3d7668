/* `baton-check` for what ships: the locks, and store & collect. */
#include "programs.h"
#include "shipped.h"

int main(int argc, char **argv)
{
    baton_check_subject subjects[MOST_SHIPPED + MOST_PROGRAMS];
    size_t locks = shipped_subjects(subjects);
    return baton_check_main(argc, argv, subjects, locks + shipped_programs(subjects + locks));
}
