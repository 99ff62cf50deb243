/// The progress line of a transfer: `42 %  12.3 MiB of 29.1 MiB  4.10 MiB/s  4 s left`.
struct ProgressLine: Sendable, Equatable {
    /// The number of bytes transferred so far.
    var done: Int64
    /// The total number of bytes; -1 if it is unknown.
    var total: Int64
    /// The time since the start, in microseconds.
    var elapsed: Int64

    /// Returns the line's text, shorter than the width of the terminal.
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
            if rate > 0 {
                // Rounded up: as long as something is left, it takes time.
                let rest = (total - done).quotientAndRemainder(dividingBy: rate)
                parts.append("\(rest.quotient + rest.remainder.signum()) s left")
            }
        } else {
            parts = [Quantity.bytes(done), "\(Quantity.bytes(rate))/s", Quantity.duration(elapsed)]
        }
        return String(parts.joined(separator: "  ").prefix(max(1, columns - 1)))
    }
}
