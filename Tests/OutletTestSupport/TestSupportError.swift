internal import Glibc

/// Something the tests stand on did not work: says what, and the fact that shows it.
public struct TestSupportError: Error, Sendable, CustomStringConvertible {
    /// One line for people.
    public let description: String

    /// An error with its line.
    public init(_ description: String) {
        self.description = description
    }

    /// An error from a system call's error number.
    init(_ what: String, errno code: Int32) {
        self.init("\(what): \(String(cString: strerror(code)))")
    }
}
