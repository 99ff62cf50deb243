internal import CFaults
internal import FoundationEssentials
internal import Glibc

/// A count of the open descriptors, threads and heap bytes of this process.
///
/// Only for processes that run one test: the count includes what other tests hold.
public struct ProcessResources: Sendable, CustomStringConvertible {
    /// The number of open descriptors by kind.
    ///
    /// A kind is `socket`, `pipe`, `anon_inode:[eventpoll]` and the like, or a file's path.
    public let descriptors: [String: Int]
    /// The number of threads by name.
    public let threads: [String: Int]
    /// The bytes allocated with `malloc` and not freed.
    public let heapBytes: Int

    /// Counts the resources that the process holds now.
    public static func now() -> ProcessResources { ProcessResources() }

    private init() {
        let files = FileManager.default
        var descriptors: [String: Int] = [:]
        for number in Self.entries("/proc/self/fd") {
            let target = try? files.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")
            // The descriptor used to list the directory is closed by now.
            guard let target else { continue }
            let isNumbered = target.hasPrefix("socket:") || target.hasPrefix("pipe:")
            let kind = isNumbered ? target.prefix { $0 != ":" } : target[...]
            descriptors[String(kind), default: 0] += 1
        }
        var threads: [String: Int] = [:]
        for number in Self.entries("/proc/self/task") {
            guard let name = Self.read("/proc/self/task/\(number)/comm") else { continue }
            threads[name, default: 0] += 1
        }
        self.descriptors = descriptors
        self.threads = threads
        heapBytes = heap_in_use()
    }

    private static func entries(_ path: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    }

    private static func lines(_ path: String) -> [Substring] {
        let bytes = FileManager.default.contents(atPath: path) ?? Data()
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    }

    /// Returns the first line of a file; `nil` if it is empty or cannot be read.
    private static func read(_ path: String) -> String? { lines(path).first.map(String.init) }

    /// Returns a line for each resource of which there is more than before.
    ///
    /// - Parameters:
    ///   - before: The earlier count.
    ///   - pools: Names of threads to ignore: the thread pools of Dispatch and of Swift start and
    ///     end threads at any time.
    ///   - heap: By how many bytes the heap may grow; any number by default.
    /// - Returns: The lines; empty if there is no more of anything.
    public func excess(
        over before: ProcessResources, pools: Set<String> = [], heap: Int = .max
    ) -> [String] {
        func more(_ now: [String: Int], _ then: [String: Int], _ what: String) -> [String] {
            now.compactMap { kind, count in
                let known = then[kind] ?? 0
                return count > known ? "\(what) \(kind): \(known) → \(count)" : nil
            }
        }
        let grown = heapBytes - before.heapBytes
        return more(descriptors, before.descriptors, "descriptors")
            + more(threads.filter { !pools.contains($0.key) }, before.threads, "threads")
            + (grown > heap ? ["heap: \(before.heapBytes) → \(heapBytes) bytes"] : [])
    }

    /// All counts on one line.
    public var description: String { "\(descriptors) \(threads) \(heapBytes) B" }

    /// Waits until there is no more of any resource than before.
    ///
    /// Counts every 5 ms, because the system has no notification for the end of a thread. Blocks a
    /// thread meanwhile, because `Task.sleep` makes a descriptor, which would count.
    ///
    /// - Parameters:
    ///   - before: The earlier count.
    ///   - pools: Names of threads to ignore.
    ///   - heap: By how many bytes the heap may grow; any number by default.
    ///   - deadline: How long to wait at most, times ``patience``.
    /// - Returns: A line for each resource of which there is still more at the deadline; empty if
    ///   there is none.
    public static func settle(
        to before: ProcessResources, pools: Set<String> = [], heap: Int = .max,
        within deadline: Duration = .seconds(10)
    ) async -> [String] {
        let limit = ContinuousClock.now + deadline * patience
        while true {
            let excess = now().excess(over: before, pools: pools, heap: heap)
            if excess.isEmpty || ContinuousClock.now > limit { return excess }
            usleep(5000)
            await Task.yield()
        }
    }

    /// Returns the peak resident memory of a running process in bytes; `nil` if it has ended.
    ///
    /// `ru_maxrss` of `wait4` cannot replace it: that also counts the process before `exec`, which
    /// is a copy of the test process.
    public static func peakMemory(of process: Int32) -> Int? {
        let line = lines("/proc/\(process)/status").first { $0.hasPrefix("VmHWM:") }
        return line?.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 * 1024 }
    }

    /// The name of the calling thread; threads that it starts inherit the name.
    public static var threadName: String { read("/proc/thread-self/comm") ?? "" }

    /// The name of the process's first thread.
    public static var processName: String { read("/proc/self/comm") ?? "" }
}
