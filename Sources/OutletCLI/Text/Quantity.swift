/// Times and sizes as people read them, the same in every locale.
enum Quantity {
    /// A time in microseconds: `345 µs`, `1.23 ms`, `12.3 ms`, `4.56 s`.
    static func duration(_ microseconds: Int64) -> String {
        switch microseconds {
        case ..<1000: "\(microseconds) µs"
        case ..<1_000_000: "\(threeDigits(microseconds, per: 1000)) ms"
        default: "\(threeDigits(microseconds, per: 1_000_000)) s"
        }
    }

    /// A size in bytes: `17 B`, `1.50 KiB`, `34.0 MiB`.
    static func bytes(_ count: Int64) -> String {
        guard count >= 1024 else { return "\(count) B" }
        var unit: Int64 = 1024
        for name in ["KiB", "MiB", "GiB"] {
            if count / 1024 < unit { return "\(threeDigits(count, per: unit)) \(name)" }
            unit *= 1024
        }
        return "\(threeDigits(count, per: unit)) TiB"
    }

    /// A fraction with three digits in all, rounded down.
    private static func threeDigits(_ value: Int64, per unit: Int64) -> String {
        let whole = value / unit
        let places = whole >= 100 ? 0 : whole >= 10 ? 1 : 2
        guard places > 0 else { return "\(whole)" }
        let scale: Int64 = places == 1 ? 10 : 100
        // The remainder alone is scaled: the whole value may not fit.
        let fraction = String(value % unit * scale / unit)
        return "\(whole).\(String(repeating: "0", count: places - fraction.count))\(fraction)"
    }
}

/// A text filled up with blanks to a width, on the right or on the left.
func padded(_ text: String, to width: Int, atLeft: Bool = false) -> String {
    let blanks = String(repeating: " ", count: max(0, width - text.count))
    return atLeft ? blanks + text : text + blanks
}
