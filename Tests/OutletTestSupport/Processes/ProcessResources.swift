internal import CFaults
internal import FoundationEssentials

/// What this process holds of the system: descriptors, threads, memory.
///
/// For processes that run one test alone: elsewhere the others' are counted as well.
public struct ProcessResources: Sendable, CustomStringConvertible {
    /// How many descriptors are open of each kind: `socket`, `pipe`, `anon_inode:[eventpoll]`, paths.
    public let descriptors: [String: Int]
    /// How many threads carry each name.
    public let threads: [String: Int]
    /// Bytes that the heap has handed out and not got back.
    public let heapBytes: Int

    /// What there is now.
    public static func now() -> ProcessResources { ProcessResources() }

    private init() {
        let files = FileManager.default
        var descriptors: [String: Int] = [:]
        for number in Self.entries("/proc/self/fd") {
            let target = try? files.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")
            // The one that lists the directory is gone by now.
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

    /// The first line of a file.
    private static func read(_ path: String) -> String? { lines(path).first.map(String.init) }

    /// What there is more of than before; empty if nothing is.
    ///
    /// - Parameters:
    ///   - before: What there was.
    ///   - pools: Names of threads that do not count: those of the pools of Dispatch and of Swift
    ///     come and go as they like.
    ///   - heap: So many bytes more do not count.
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

    /// All of it on one line.
    public var description: String { "\(descriptors) \(threads) \(heapBytes) B" }

    /// Waits until there is no more of anything than before.
    ///
    /// The system tells nobody of a thread's end, so it is looked at again and again.
    ///
    /// - Returns: What is left over when the deadline passes; empty if all is as before.
    public static func settle(
        to before: ProcessResources, pools: Set<String> = [], heap: Int = .max,
        within deadline: Duration = .seconds(10)
    ) async -> [String] {
        let limit = ContinuousClock.now + deadline * patience
        while true {
            let excess = now().excess(over: before, pools: pools, heap: heap)
            if excess.isEmpty || ContinuousClock.now > limit { return excess }
            try? await Task.sleep(for: .milliseconds(5))
        }
    }

    /// The most memory that a running process had resident at a time, in bytes; `nil` if it has ended.
    ///
    /// What `wait4` says at the end counts the process that started it, too.
    public static func peakMemory(of process: Int32) -> Int? {
        let line = lines("/proc/\(process)/status").first { $0.hasPrefix("VmHWM:") }
        return line?.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 * 1024 }
    }

    /// The name of the calling thread, which threads made from it inherit.
    public static var threadName: String { read("/proc/thread-self/comm") ?? "" }

    /// The name of the process's first thread.
    public static var processName: String { read("/proc/self/comm") ?? "" }
}
