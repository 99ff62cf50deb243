import CStressTest
import FoundationEssentials
import Glibc

/// The system resources that this process holds.
struct HeldResources: CustomStringConvertible {
    /// Open descriptors.
    let descriptors: Int
    /// Running threads.
    let threads: Int
    /// Bytes in use in malloc's arenas; 0 under the address sanitizer, which has its own leak check.
    let bytes: Int

    private static var now: HeldResources {
        HeldResources(
            descriptors: entries("/proc/self/fd"), threads: entries("/proc/self/task"),
            bytes: Int(heap_bytes()))
    }

    private static func entries(_ path: String) -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: path).count) ?? 0
    }

    /// What is held once it is not more than `before`, or has not become less for a while.
    ///
    /// Dispatch ends a thread that has been idle for five seconds, and a lookup
    /// that nobody waits for any more takes its time.
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

    /// What there is more of than before, in words.
    ///
    /// A few MiB of difference are caches: of malloc per thread, of names per host.
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
