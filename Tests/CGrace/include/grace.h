/* Nothing to call: linked into a program, it takes effect by itself. */
