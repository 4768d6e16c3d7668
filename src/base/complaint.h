/* A sentence that says why something could not be done, and what to do about it. */
#ifndef BATON_BASE_COMPLAINT_H
#define BATON_BASE_COMPLAINT_H

enum { COMPLAINT = 512 }; /* bytes of it; paths in it may be long */

#endif
