import FoundationEssentials
import OutletHTTP

/// The format of curl's `--hsts` file: `.example.org "20301231 23:59:59"` in each line, in UTC.
enum HSTSFile {
    static func encode(_ policies: [HSTSStorage.Policy]) -> String {
        policies.filter { Cookie.isHost($0.host) }.reduce(into: "# HSTS cache\n") { text, policy in
            text += "\(policy.includesSubdomains ? "." : "")\(policy.host) "
            text += "\"\(HTTPDate.compact(policy.expiresDate))\"\n"
        }
    }

    static func decode(_ text: String) -> [HSTSStorage.Policy] {
        text.lines.compactMap { line in
            guard let (name, time) = line.cut(at: " "), let end = date(time) else { return nil }
            let includesSubdomains = name.startsWithBytes(of: ".")
            let host = name.droppingBytes(includesSubdomains ? 1 : 0)
            let policy = HSTSStorage.Policy(
                host: String(host), includesSubdomains: includesSubdomains, expiresDate: end)
            return Cookie.isHost(policy.host) && !Origin.isAddress(policy.host) ? policy : nil
        }
    }

    /// Parses `unlimited`, or the fourteen digits of a date and time with quotes, blanks and
    /// colons.
    private static func date(_ text: Substring) -> Date? {
        let bytes = text.utf8.filter { !"\" :".utf8.contains($0) }
        if bytes.elementsEqual("unlimited".utf8) { return .distantFuture }
        guard bytes.count == 14, bytes.allSatisfy(\.isDigit) else { return nil }
        func number(_ range: Range<Int>) -> Int {
            bytes[range].reduce(0) { $0 * 10 + Int($1 & 0x0F) }
        }
        return HTTPDate.date(
            year: number(0..<4), month: number(4..<6), day: number(6..<8), hour: number(8..<10),
            minute: number(10..<12), second: number(12..<14))
    }
}
