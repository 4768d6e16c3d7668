/* Certificates for a test, made when it begins: files in a directory of its own. */
#ifndef BATON_UNIT_CERTIFICATES_H
#define BATON_UNIT_CERTIFICATES_H

/*
 * Authorities "ours" and "theirs"; by the first "a" and "b", which have these names, and "b" also
 * 127.0.0.1; and "bare", which is called a and has no name that counts; by the second "fake",
 * which has the name b.
 */
void certificates_make(void);
void certificates_remove(void);
/* NAME.ENDING there: crt or key. Valid until eight more have been asked for. */
const char *certificates_path(const char *name, const char *ending);

#endif
