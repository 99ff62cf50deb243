// Sends many requests with transports and a session. Several threads start, suspend, resume and
// cancel them at the same time. Half of the requests are cancelled, at random times, and some of
// the servers misbehave.
//
//   OutletStressTest COUNT
//   OutletStressTest leave ADDRESS AUTHORITY
//
// The first form exits with 1, and prints what is wrong, when a completion is missing or occurs
// twice, when a request fails without a reason, or when file descriptors, threads or memory leak.
//
// The second form opens TLS connections to the server at ADDRESS, whose authority's certificate is
// in the file AUTHORITY, and exits with 7 while they are in use.
//
// Uses no Swift task: the thread sanitizer of Swift 6.3 does not see how tasks synchronise.

import CFaults
import Glibc

/// Starts the servers, runs one stress test and returns the faults found.
func stress(_ count: Int) -> [String] {
    do {
        return try StressTest(Peers(), count: count).run()
    } catch {
        return ["\(error)"]
    }
}

if CommandLine.arguments.count == 4, CommandLine.arguments[1] == "leave" {
    ExitTest.run(CommandLine.arguments[2], authority: CommandLine.arguments[3])
}
guard CommandLine.arguments.count == 2, let count = Int(CommandLine.arguments[1]), count > 0 else {
    print("usage: OutletStressTest COUNT | OutletStressTest leave ADDRESS AUTHORITY")
    exit(64)
}
// The first run makes libcurl, OpenSSL and Dispatch allocate what they keep for the whole process.
var faults = stress(min(count, 1000))
let before = HeldResources.settled(at: nil)
print("before: \(before)")
faults += stress(count)
let after = HeldResources.settled(at: before)
print("after: \(after), \(late_lookups()) slow lookups")
faults += after.excess(over: before)
if late_lookups() == 0 { faults.append("resolver: the system's was used, not the slow one") }

for fault in faults { print("fault: \(fault)") }
// The leak check may end the process without writing buffered output.
fflush(nil)
exit(faults.isEmpty ? 0 : 1)
