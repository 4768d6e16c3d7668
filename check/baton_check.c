/* `baton-check` for the locks that ship. */
#include "shipped.h"

int main(int argc, char **argv)
{
    baton_check_subject subjects[MOST_SHIPPED];
    size_t count = shipped_subjects(subjects);
    return baton_check_main(argc, argv, subjects, count);
}
