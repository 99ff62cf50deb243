import Glibc

/// Time, CPU and memory of a stretch of work, and the line of JSON that tells them.
struct Measure {
    private let wall: Int64
    private let cpu: Int64

    /// Begins to measure.
    init() {
        wall = Self.now
        cpu = Self.usage().cpu
    }

    /// The monotonic clock, ns.
    static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    private static func usage() -> (cpu: Int64, peak: Int) {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        let cpu =
            Int64(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1_000_000
            + Int64(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)
        return (cpu, usage.ru_maxrss)
    }

    /// Ends and prints the line.
    ///
    /// - Parameters:
    ///   - name: What was measured.
    ///   - n: How many requests ran at a time.
    ///   - count: How many ran in all.
    ///   - latencies: How long each took, ns; may be empty.
    ///   - extra: Further members, such as `"pending_s":0.4`.
    func end(_ name: String, n: Int, count: Int, latencies: [Int64] = [], extra: String = "") {
        let seconds = Double(Self.now - wall) / 1e9
        let (cpu, peak) = Self.usage()
        let sorted = latencies.sorted()
        let p50 = sorted.isEmpty ? 0 : sorted[sorted.count / 2]
        let p99 = sorted.isEmpty ? 0 : sorted[sorted.count * 99 / 100]
        let members = [
            "\"name\":\"\(name)\"", "\"n\":\(n)",
            "\"req_per_s\":\(Int(Double(count) / seconds))",
            "\"cpu_us_per_req\":\(Self.round(Double(cpu - self.cpu) / Double(count)))",
            "\"p50_us\":\(Self.round(Double(p50) / 1e3))",
            "\"p99_us\":\(Self.round(Double(p99) / 1e3))",
            "\"peak_rss_mib\":\(Self.round(Double(peak) / 1024))",
            "\"wall_s\":\((seconds * 10000).rounded() / 10000)",
        ]
        print("{" + (members + (extra.isEmpty ? [] : [extra])).joined(separator: ",") + "}")
    }

    private static func round(_ number: Double) -> Double { (number * 100).rounded() / 100 }
}
