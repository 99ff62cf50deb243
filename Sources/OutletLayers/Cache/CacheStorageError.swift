import Glibc
import OutletFiles

/// Why responses, cookies or hosts could not be kept on disk; requests go on without.
public struct CacheStorageError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The file or the directory.
    public let path: String
    /// What went wrong, and the system's word for it.
    public let reason: String

    init(_ failure: PrivateFile.Failure) {
        path = failure.path
        reason = "\(failure.what): \(String(cString: strerror(failure.number)))"
    }

    /// The path and the fault.
    public var description: String { "\(path): \(reason)" }
}
