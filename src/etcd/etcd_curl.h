/* How libcurl is to ask etcd, whatever it asks: how it connects, and whom it trusts. */
#ifndef BATON_ETCD_ETCD_CURL_H
#define BATON_ETCD_ETCD_CURL_H

#include "etcd.h"

#include <curl/curl.h>

/* NULL if there is no memory. The files of the settings are read for each connection. */
CURL *etcd_curl(const etcd_settings *settings);

#endif
