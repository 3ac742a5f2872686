/* A library that cannot be opened: what it needs is nowhere. */
extern int there_is_no_such_function(void);
int needs_it(void) { return there_is_no_such_function(); }
