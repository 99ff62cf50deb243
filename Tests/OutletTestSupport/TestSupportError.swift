internal import Glibc

/// An error of the test support itself, not of the code under test.
public struct TestSupportError: Error, Sendable, CustomStringConvertible {
    /// What failed and why, on one line.
    public let description: String

    /// Creates an error with its description.
    public init(_ description: String) {
        self.description = description
    }

    /// Creates an error with the description of a system call's `errno`.
    init(_ what: String, errno code: Int32) {
        self.init("\(what): \(String(cString: strerror(code)))")
    }
}
