import FoundationEssentials
import OutletHTTP

/// Parses the dates in cookies, which have many formats (RFC 6265 §5.1.1).
enum CookieDate {
    private static let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]

    /// Parses a date; `nil` unless it has a day, a month, a year and a time of day that exist.
    static func parse(_ text: String) -> Date? {
        var time: (Int, Int, Int)?
        var day: Int?
        var month: Int?
        var year: Int?
        for token in text.utf8.split(whereSeparator: isDelimiter) {
            let token = Substring(token)
            if time == nil, let found = clock(token) {
                time = found
            } else if day == nil, let found = number(token, digits: 1...2) {
                day = found
            } else if month == nil,
                let found = months.firstIndex(where: { token.startsIgnoringCase(with: $0) })
            {
                month = found + 1
            } else if year == nil, let found = number(token, digits: 2...4) {
                year = found < 70 ? found + 2000 : found < 100 ? found + 1900 : found
            }
        }
        guard let time, let day, let month, let year, year >= 1601,
            time.2 < 60, HTTPDate.exists(year: year, month: month, day: day)
        else { return nil }
        return HTTPDate.date(
            year: year, month: month, day: day, hour: time.0, minute: time.1, second: time.2)
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        byte == 0x09 || (0x20...0x2F).contains(byte) || (0x3B...0x40).contains(byte)
            || (0x5B...0x60).contains(byte) || (0x7B...0x7E).contains(byte)
    }

    private static func clock(_ token: Substring) -> (Int, Int, Int)? {
        let parts = token.parts(separatedBy: ":")
        guard parts.count == 3, let hour = number(parts[0], digits: 1...2),
            let minute = number(parts[1], digits: 1...2),
            let second = number(parts[2], digits: 1...2)
        else { return nil }
        return (hour, minute, second)
    }

    /// Parses the number at the start of a token; it may be followed by anything but a digit.
    private static func number(_ token: Substring, digits: ClosedRange<Int>) -> Int? {
        let leading = token.prefix(whileByte: \.isDigit)
        return digits.contains(leading.utf8.count) ? leading.decimal() : nil
    }
}
