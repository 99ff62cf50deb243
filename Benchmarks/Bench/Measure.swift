import FoundationEssentials
import Glibc

/// Time, CPU and memory of a stretch of work, and the line of JSON that tells them.
struct Measure {
    private let wall: Int64
    private let cpu: Int64

    /// Begins to measure.
    init() {
        wall = Self.now
        cpu = Self.cpuTime
    }

    /// The monotonic clock, ns.
    static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    private static var cpuTime: Int64 {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return Int64(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1_000_000
            + Int64(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)
    }

    /// The most memory that was resident, KiB.
    ///
    /// `ru_maxrss` would count that of the process which started this one.
    private static var peak: Int {
        guard let text = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
            let line = text.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") })
        else { return 0 }
        return line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0
    }

    /// Ends and prints the line.
    ///
    /// - Parameters:
    ///   - name: What was measured.
    ///   - n: How many requests ran at a time.
    ///   - count: How many ran in all.
    ///   - latencies: How long each took, ns, the first that ended first; may be empty.
    func end(_ name: String, n: Int, count: Int, latencies: [Int64] = []) {
        let seconds = Double(Self.now - wall) / 1e9
        let cpu = Self.cpuTime
        let sorted = latencies.sorted()
        let p50 = sorted.isEmpty ? 0 : sorted[sorted.count / 2]
        let p99 = sorted.isEmpty ? 0 : sorted[sorted.count * 99 / 100]
        let members = [
            "\"name\":\"\(name)\"", "\"n\":\(n)",
            "\"req_per_s\":\(Int(Double(count) / seconds))",
            "\"cpu_us_per_req\":\(Self.round(Double(cpu - self.cpu) / Double(count)))",
            "\"p50_us\":\(Self.round(Double(p50) / 1e3))",
            "\"p99_us\":\(Self.round(Double(p99) / 1e3))",
            "\"peak_rss_mib\":\(Self.round(Double(Self.peak) / 1024))",
            "\"wall_s\":\((seconds * 10000).rounded() / 10000)",
            "\"first_s\":\(Double(latencies.first ?? 0) / 1e9)",
        ]
        print("{" + members.joined(separator: ",") + "}")
    }

    private static func round(_ number: Double) -> Double { (number * 100).rounded() / 100 }
}
