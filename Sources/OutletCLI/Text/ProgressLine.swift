/// The line that shows how far a transfer has come: `42 %  12.3 MiB of 29.1 MiB  4.1 MiB/s  4 s`.
struct ProgressLine: Sendable, Equatable {
    /// Bytes so far.
    var done: Int64
    /// Bytes in all; -1 when that is not known.
    var total: Int64
    /// Time since the start, in microseconds.
    var elapsed: Int64

    /// The line's text, not longer than the terminal is wide.
    func text(columns: Int) -> String {
        let rate = elapsed > 0 ? Int64(Double(done) * 1_000_000 / Double(elapsed)) : 0
        var parts: [String] = []
        if done == 0 {
            parts = ["waiting", Quantity.duration(elapsed)]
        } else if total > 0, total >= done {
            parts = [
                "\(Int64(Double(done) / Double(total) * 100)) %",
                "\(Quantity.bytes(done)) of \(Quantity.bytes(total))",
                "\(Quantity.bytes(rate))/s",
            ]
            if rate > 0 { parts.append("\((total - done) / rate) s left") }
        } else {
            parts = [Quantity.bytes(done), "\(Quantity.bytes(rate))/s", Quantity.duration(elapsed)]
        }
        return String(parts.joined(separator: "  ").prefix(max(1, columns - 1)))
    }
}
