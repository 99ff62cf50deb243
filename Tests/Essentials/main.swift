// Sends every kind of request and body through the library, in a program that links
// FoundationEssentials and not full Foundation.
//
//   OutletEssentials DIRECTORY
//
// Prints a line for each request, and exits with 1 if one fails.

import Glibc

guard CommandLine.arguments.count == 2 else {
    print("usage: OutletEssentials DIRECTORY")
    exit(64)
}
exit(await Kinds.send(directory: CommandLine.arguments[1]) ? 0 : 1)
