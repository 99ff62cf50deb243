package import FoundationEssentials

/// Parses dates of header fields: the preferred format and the two obsolete ones
/// (RFC 9110 §5.6.7).
package enum HTTPDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Returns the time of an HTTP date; `nil` if the text has none of the three formats.
    package static func parse(_ text: String) -> Date? {
        if let date = parseFixed(text) { return date }
        let separators: [UInt8] = [UInt8(ascii: " "), UInt8(ascii: "-"), UInt8(ascii: ",")]
        let parts = Substring(text).utf8.split { separators.contains($0) }.map { Substring($0) }
        // Sun, 06 Nov 1994 08:49:37 GMT and Sunday, 06-Nov-94 08:49:37 GMT
        if parts.count == 6, parts[5].hasSameBytes(as: "GMT") {
            return date(year: parts[3], month: parts[2], day: parts[1], time: parts[4])
        }
        // Sun Nov  6 08:49:37 1994
        if parts.count == 5 {
            return date(year: parts[4], month: parts[1], day: parts[2], time: parts[3])
        }
        return nil
    }

    /// Parses the format that servers send, such as `Sun, 06 Nov 1994 08:49:37 GMT`, without
    /// allocating.
    private static func parseFixed(_ text: String) -> Date? {
        var text = text
        return text.withUTF8 { bytes in
            guard bytes.count == 29, bytes[3] == UInt8(ascii: ","), bytes[26] == UInt8(ascii: "G"),
                bytes[4] == 0x20, bytes[7] == 0x20, bytes[11] == 0x20, bytes[16] == 0x20,
                bytes[19] == UInt8(ascii: ":"), bytes[22] == UInt8(ascii: ":"),
                let day = number(bytes[5..<7]), let year = number(bytes[12..<16]),
                let hour = number(bytes[17..<19]), let minute = number(bytes[20..<22]),
                let second = number(bytes[23..<25]),
                let month = months.firstIndex(where: { $0.utf8.elementsEqual(bytes[8..<11]) })
            else { return nil }
            return date(
                year: year, month: month + 1, day: day, hour: hour, minute: minute, second: second)
        }
    }

    private static func number(_ digits: Slice<UnsafeBufferPointer<UInt8>>) -> Int? {
        var number = 0
        for digit in digits {
            guard digit >= 0x30, digit <= 0x39 else { return nil }
            number = number * 10 + Int(digit & 0x0F)
        }
        return number
    }

    private static func date(
        year: Substring, month: Substring, day: Substring, time: Substring
    ) -> Date? {
        let clock = time.parts(separatedBy: ":").map { $0.decimal(Int.self) }
        guard var years = year.decimal(Int.self), let day = day.decimal(Int.self),
            let month = months.firstIndex(where: { $0.hasSameBytes(as: month) }),
            clock.count == 3, let hour = clock[0], let minute = clock[1], let second = clock[2]
        else { return nil }
        // Two digits are a year from 1970 to 2069: there was no HTTP before.
        if year.utf8.count == 2 { years += years < 70 ? 2000 : 1900 }
        return date(
            year: years, month: month + 1, day: day, hour: hour, minute: minute, second: second)
    }

    /// Returns the time of a date in UTC; `nil` if one of the numbers is out of range.
    ///
    /// Every month may have 31 days, and `second` may be 60, for leap seconds.
    package static func date(
        year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int
    ) -> Date? {
        guard (1...12).contains(month), (1...31).contains(day), (0...23).contains(hour),
            (0...59).contains(minute), (0...60).contains(second), (0...9999).contains(year)
        else { return nil }
        let days = daysSince1970(year: year, month: month, day: day)
        return Date(
            timeIntervalSince1970: TimeInterval(
                days * 86_400 + hour * 3600 + minute * 60 + second))
    }

    /// Whether a month has a day.
    package static func exists(year: Int, month: Int, day: Int) -> Bool {
        (1...12).contains(month) && (1...31).contains(day)
            && civil(daysSince1970: daysSince1970(year: year, month: month, day: day))
                == (year, month, day)
    }

    /// Returns the number of days since 1970-01-01 in the proleptic Gregorian calendar.
    ///
    /// Counts in eras of 400 years that begin in March, so that the leap day is a year's last day.
    private static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    /// Returns a time in UTC, in whole seconds, such as `19941106 08:49:37`.
    package static func compact(_ date: Date) -> String {
        // Limits the date to the years 1970 to 9999.
        let seconds = Int(min(max(date.timeIntervalSince1970, 0), 253_402_300_799))
        let (days, rest) = (seconds / 86_400, seconds % 86_400)
        let (year, month, day) = civil(daysSince1970: days)
        let clock = [rest / 3600, rest / 60 % 60, rest % 60].map(twoDigits)
        return "\(year)\(twoDigits(month))\(twoDigits(day)) \(clock.joined(separator: ":"))"
    }

    /// Returns the date of a day, the reverse of ``daysSince1970(year:month:day:)``.
    private static func civil(daysSince1970 days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }

    private static func twoDigits(_ number: Int) -> String {
        number < 10 ? "0\(number)" : "\(number)"
    }
}
