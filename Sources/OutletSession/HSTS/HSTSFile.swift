import FoundationEssentials
import OutletHTTP

/// Hosts in the format of curl's `--hsts` file: `.example.org "20301231 23:59:59"`, UTC.
enum HSTSFile {
    static func encode(_ policies: [HSTSStorage.Policy]) -> String {
        policies.reduce(into: "# HSTS cache\n") { text, policy in
            text += "\(policy.includesSubdomains ? "." : "")\(policy.host) "
            text += "\"\(HTTPDate.compact(policy.expiresDate))\"\n"
        }
    }

    static func decode(_ text: String) -> [HSTSStorage.Policy] {
        text.split(whereSeparator: \.isNewline).compactMap { line in
            guard !line.hasPrefix("#"), let blank = line.firstIndex(of: " ") else { return nil }
            let host = line[..<blank]
            guard let end = date(line[blank...].filter { $0 != "\"" && $0 != " " && $0 != ":" }),
                !host.isEmpty
            else { return nil }
            return HSTSStorage.Policy(
                host: String(host.hasPrefix(".") ? host.dropFirst() : host),
                includesSubdomains: host.hasPrefix("."), expiresDate: end)
        }
    }

    /// Fourteen digits, or `unlimited`.
    private static func date(_ text: String) -> Date? {
        if text == "unlimited" { return .distantFuture }
        let digits = text.utf8.map { Int($0) - 0x30 }
        guard digits.count == 14, digits.allSatisfy({ (0...9).contains($0) }) else { return nil }
        func number(_ range: Range<Int>) -> Int { digits[range].reduce(0) { $0 * 10 + $1 } }
        return HTTPDate.date(
            year: number(0..<4), month: number(4..<6), day: number(6..<8), hour: number(8..<10),
            minute: number(10..<12), second: number(12..<14))
    }
}
