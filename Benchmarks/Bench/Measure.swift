import FoundationEssentials
import Glibc

/// Measures time, CPU time and memory of a piece of work, and prints them as a line of JSON.
struct Measure {
    private let wall: Int64
    private let cpu: Int64

    /// Starts the measurement.
    init() {
        wall = Self.now
        cpu = Self.cpuTime
    }

    /// The time of the monotonic clock, in nanoseconds.
    static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// The user and system time of the process, in microseconds.
    private static var cpuTime: Int64 {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return Int64(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1_000_000
            + Int64(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)
    }

    /// The peak resident memory of the process, in KiB; 0 if it cannot be read.
    ///
    /// `ru_maxrss` cannot replace it: it also counts the process before `exec`, which is a copy of
    /// its parent.
    private static var peak: Int {
        guard let text = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
            let line = text.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") })
        else { return 0 }
        return line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0
    }

    /// Ends the measurement and prints the line.
    ///
    /// - Parameters:
    ///   - name: The name of the measurement.
    ///   - n: The number of concurrent requests.
    ///   - count: The number of requests in total.
    ///   - latencies: The duration of each request in nanoseconds, in the order of their ends;
    ///     empty if they were not measured.
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
