// Many requests over a transport and a session, started, cancelled, suspended and resumed from many
// threads at once, half of them cancelled at random times, against peers that misbehave.
//
//   OutletStressTest COUNT
//   OutletStressTest leave ADDRESS AUTHORITY
//
// The second exits with 7 in the middle of connections over TLS to that server.
//
// Exits with 1, and says what is wrong, when a completion is missing or comes twice, when a request
// fails that has no reason to, or when descriptors, threads or memory are left behind.
//
// No Swift task runs here: the thread sanitizer of Swift 6.3 does not see how tasks synchronise.

import CFaults
import Glibc

/// One stress test from the first server to the last request's end; what was wrong.
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
// The first one fills what libcurl, OpenSSL and Dispatch make once and keep.
var faults = stress(min(count, 1000))
let before = HeldResources.settled(at: nil)
print("before: \(before)")
faults += stress(count)
let after = HeldResources.settled(at: before)
print("after: \(after), \(late_lookups()) slow lookups")
faults += after.excess(over: before)
if late_lookups() == 0 { faults.append("resolver: the system's was used, not the slow one") }

for fault in faults { print("fault: \(fault)") }
// The leak check ends the program by itself, and loses what is not written yet.
fflush(nil)
exit(faults.isEmpty ? 0 : 1)
