/// Formats durations and sizes, independently of the locale.
enum Quantity {
    /// Formats a duration in microseconds: `345 µs`, `1.23 ms`, `12.3 ms`, `4.56 s`.
    static func duration(_ microseconds: Int64) -> String {
        switch microseconds {
        case ..<1000: "\(microseconds) µs"
        case ..<1_000_000: "\(threeDigits(microseconds, per: 1000)) ms"
        default: "\(threeDigits(microseconds, per: 1_000_000)) s"
        }
    }

    /// Formats a size in bytes: `17 B`, `1.50 KiB`, `34.0 MiB`.
    static func bytes(_ count: Int64) -> String {
        guard count >= 1024 else { return "\(count) B" }
        var unit: Int64 = 1024
        for name in ["KiB", "MiB", "GiB"] {
            if count / 1024 < unit { return "\(threeDigits(count, per: unit)) \(name)" }
            unit *= 1024
        }
        return "\(threeDigits(count, per: unit)) TiB"
    }

    /// Formats `value / unit` with three significant digits, rounded down.
    private static func threeDigits(_ value: Int64, per unit: Int64) -> String {
        let whole = value / unit
        let places = whole >= 100 ? 0 : whole >= 10 ? 1 : 2
        guard places > 0 else { return "\(whole)" }
        let scale: Int64 = places == 1 ? 10 : 100
        // Scales only the remainder, because scaling the whole value could overflow.
        let fraction = String(value % unit * scale / unit)
        return "\(whole).\(String(repeating: "0", count: places - fraction.count))\(fraction)"
    }
}

/// Pads a text with spaces to a width, on the right or, if `atLeft` is `true`, on the left.
func padded(_ text: String, to width: Int, atLeft: Bool = false) -> String {
    let blanks = String(repeating: " ", count: max(0, width - text.count))
    return atLeft ? blanks + text : text + blanks
}
