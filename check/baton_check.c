/* `baton-check` for what ships: the locks, store & collect, and parking. */
#include "parking.h"
#include "programs.h"
#include "shipped.h"

int main(int argc, char **argv)
{
    baton_check_subject subjects[MAX_SHIPPED + MAX_PROGRAMS + MAX_PARKING];
    size_t count = shipped_subjects(subjects);
    count += shipped_programs(subjects + count);
    count += parking_programs(subjects + count);
    return baton_check_main(argc, argv, subjects, count);
}
