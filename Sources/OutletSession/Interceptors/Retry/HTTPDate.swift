import FoundationEssentials

/// Dates of header fields: the preferred form and the two obsolete ones (RFC 9110 §5.6.7).
enum HTTPDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// The time that a text names; `nil` if it has none of the three forms.
    static func parse(_ text: String) -> Date? {
        let parts = text.split { $0 == " " || $0 == "-" || $0 == "," }.map(String.init)
        // Sun, 06 Nov 1994 08:49:37 GMT and Sunday, 06-Nov-94 08:49:37 GMT
        if parts.count == 6, parts[5] == "GMT" {
            return date(year: parts[3], month: parts[2], day: parts[1], time: parts[4])
        }
        // Sun Nov  6 08:49:37 1994
        if parts.count == 5 {
            return date(year: parts[4], month: parts[1], day: parts[2], time: parts[3])
        }
        return nil
    }

    private static func date(year: String, month: String, day: String, time: String) -> Date? {
        let clock = time.split(separator: ":", omittingEmptySubsequences: false).map { Int($0) }
        guard var years = Int(year), let month = months.firstIndex(of: month), let day = Int(day),
            clock.count == 3, let hour = clock[0], let minute = clock[1], let second = clock[2],
            (1...31).contains(day), (0...23).contains(hour), (0...59).contains(minute),
            (0...60).contains(second), (0...9999).contains(years)
        else { return nil }
        // Of two digits: no server that sends them means a year before 1970.
        if year.utf8.count == 2 { years += years < 70 ? 2000 : 1900 }
        let days = daysSince1970(year: years, month: month + 1, day: day)
        return Date(
            timeIntervalSince1970: TimeInterval(
                days * 86_400 + hour * 3600 + minute * 60 + second))
    }

    /// Days of the proleptic Gregorian calendar, counted in eras of 400 years from March on.
    private static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}
