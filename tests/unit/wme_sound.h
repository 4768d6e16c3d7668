/* What is true of a stub after every step, whatever has happened. */
#ifndef BATON_WME_SOUND_H
#define BATON_WME_SOUND_H

#include "wme.h"

/* What is not as it should be; NULL if all is well. */
const char *wme_unsound(const wme_stub *stub, const wme_node *node);

#endif
