public import FoundationEssentials
import Glibc
import OutletFiles

/// The error when responses, cookies or HSTS hosts cannot be written to disk.
///
/// It does not affect requests.
public struct CacheStorageError: Error, Sendable, Equatable, CustomStringConvertible,
    LocalizedError
{
    /// The file or the directory.
    public let path: String
    /// The failed operation and the system's error message.
    public let reason: String

    init(_ failure: PrivateFile.Failure) {
        path = failure.path
        reason = "\(failure.what): \(systemText(failure.number))"
    }

    /// The path and the reason.
    public var description: String { "\(path): \(reason)" }

    /// The ``description``, for `localizedDescription`.
    public var errorDescription: String? { description }
}
