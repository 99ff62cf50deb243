import CFaults
import FoundationEssentials
import Glibc

/// The system resources that this process holds.
struct HeldResources: CustomStringConvertible {
    /// The number of open file descriptors.
    let descriptors: Int
    /// The number of running threads.
    let threads: Int
    /// The number of bytes allocated with `malloc`; 0 under the address sanitizer, which has its
    /// own leak check.
    let bytes: Int

    private static var now: HeldResources {
        HeldResources(
            descriptors: entries("/proc/self/fd"), threads: entries("/proc/self/task"),
            bytes: Int(heap_in_use()))
    }

    private static func entries(_ path: String) -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: path).count) ?? 0
    }

    /// Waits until the process holds no more than `before`, or until the numbers of threads and
    /// descriptors have not fallen for 8 seconds, and returns what it holds then.
    ///
    /// The wait is necessary because Dispatch keeps an idle thread for five seconds, and because
    /// the lookup of a cancelled request still runs to its end.
    ///
    /// - Parameter before: `nil` waits for the numbers to stop falling only.
    static func settled(at before: HeldResources?) -> HeldResources {
        var last = now
        var quiet = 0
        while quiet < 80 {
            if let before, last.excess(over: before).isEmpty { break }
            usleep(100_000)
            let next = now
            let isLess = next.threads < last.threads || next.descriptors < last.descriptors
            quiet = isLess ? 0 : quiet + 1
            last = next
        }
        return last
    }

    /// Describes each resource of which the process holds more than before.
    ///
    /// Allows 4 MiB more memory, because malloc caches memory per thread and libcurl caches the
    /// addresses of each host.
    func excess(over before: HeldResources) -> [String] {
        var faults: [String] = []
        if descriptors > before.descriptors {
            faults.append("descriptors: \(descriptors - before.descriptors) more than before")
        }
        if threads > before.threads {
            faults.append("threads: \(threads - before.threads) more than before")
        }
        if bytes > before.bytes + 4 << 20 {
            faults.append("memory: \((bytes - before.bytes) >> 10) KiB more than before")
        }
        return faults
    }

    var description: String {
        "\(descriptors) descriptors, \(threads) threads, \(bytes >> 10) KiB"
    }
}
