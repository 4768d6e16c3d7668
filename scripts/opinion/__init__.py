"""What scripts/second-opinion is made of.

    subjects   the locks of src/lock/table.c, as programs that GenMC can run
    genmc      runs GenMC, and says what it has found
    figures    the table of docs/check.md that says what GenMC found last time
"""
