/* Does not export the entry function. The host must refuse the file: it is not a plugin. */
int something_else(void);
int something_else(void) { return 1; }
