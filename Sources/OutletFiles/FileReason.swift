package import FoundationEssentials
import Glibc

extension CocoaError {
    /// Makes the error of a file operation with the value of `errno`, as `FileManager` does.
    package init(_ code: Code, number: Int32) {
        // FoundationEssentials has no public name for the key that `underlying` reads.
        self.init(
            code,
            userInfo: POSIXErrorCode(rawValue: number).map {
                ["NSUnderlyingError": POSIXError($0)]
            } ?? [:])
    }
}

extension Error {
    /// Why a file operation has failed, in one line: the system's text for its error number, or the
    /// text of an error that is not the file system's.
    ///
    /// The text of a `CocoaError` contains its domain and its dictionary.
    package var fileReason: String {
        guard let error = self as? CocoaError else { return "\(self)" }
        let number: Int32? =
            switch error.code {
            case _ where error.underlying is POSIXError:
                (error.underlying as? POSIXError)?.code.rawValue
            case .fileNoSuchFile, .fileReadNoSuchFile: ENOENT
            case .fileWriteFileExists: EEXIST
            case .fileReadNoPermission, .fileWriteNoPermission: EACCES
            case .fileWriteOutOfSpace: ENOSPC
            case .fileWriteVolumeReadOnly: EROFS
            case .fileReadUnsupportedScheme, .fileWriteUnsupportedScheme: nil
            default: EIO
            }
        return number.map { systemText($0) } ?? "not a file URL"
    }
}

/// The system's text for a value of `errno`, such as "No such file or directory".
///
/// Thread: any; the C library has a text for each thread (since glibc 2.32).
package func systemText(_ number: Int32) -> String {
    strerror(number).map { String(cString: $0) } ?? "error \(number)"
}
