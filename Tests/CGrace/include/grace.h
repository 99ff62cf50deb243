/* Declares nothing: linking this library into a program is enough. */
