import FoundationEssentials
import Glibc
import OutletFiles
import OutletHTTP
import OutletTransport

/// A failed system call on a file.
public struct FileAccessError: Error, Equatable, Sendable {
    /// The call that failed, by its name in POSIX.
    public let call: String
    /// The file.
    public let path: String
    /// The value of `errno` after the call.
    public let code: Int32

    /// Makes an error; reads `errno` by default, so nothing may be called in between.
    init(_ call: String, path: String, code: Int32 = errno) {
        self.call = call
        self.path = path
        self.code = code
    }
}

extension FileAccessError: CustomStringConvertible {
    /// The path, the call and the text of `strerror`.
    public var description: String { "\(path): \(call): \(systemText(code))" }
}

/// A file's bytes as a body: opened at the first read, closed at the end.
///
/// Sends exactly as many bytes as the file had when this stream was made. A file whose size has
/// changed since then is an error, because `Content-Length` has been sent already. So is a file that
/// is written to while it is read: no server takes a mixture of two contents for a whole one. A file
/// in `/proc` has no size, and is sent to its end.
final class FileBodyStream: BodyStream, @unchecked Sendable {
    // because the calls of a `BodyStream` never overlap.

    /// The file.
    let path: String
    /// The size of the file in bytes when this stream was made; `nil` if only reading it tells.
    let length: Int64?

    private var descriptor: Int32 = -1
    /// The content when the file was opened.
    private var version: FileVersion?
    private var offset: Int64 = 0
    private var isAtEnd = false

    /// Makes a stream of a regular file.
    ///
    /// - Throws: ``FileAccessError`` when there is no such file, it is not a regular one (`EISDIR`,
    ///   `ESPIPE`), or it may not be read.
    init(path: String) throws {
        var status = stat()
        guard stat(path, &status) == 0 else { throw FileAccessError("stat", path: path) }
        switch status.st_mode & S_IFMT {
        case S_IFREG: break
        case S_IFDIR: throw FileAccessError("open", path: path, code: EISDIR)
        default: throw FileAccessError("lseek", path: path, code: ESPIPE)
        }
        guard access(path, R_OK) == 0 else { throw FileAccessError("open", path: path) }
        self.path = path
        length = FileLength.of(path, size: status.st_size)
    }

    deinit { close() }

    /// Copies the next bytes of the file.
    ///
    /// - Throws: ``FileAccessError`` when opening or reading fails;
    ///   ``SessionError/UnexpectedInputStreamLength`` when the file is shorter or longer than at
    ///   first; `TransferError` when it was written to since it was opened.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        guard !buffer.isEmpty else { return 0 }
        if descriptor < 0 {
            // At the end of the body, the file has been closed already.
            guard !isAtEnd else { return 0 }
            try open()
        }
        guard let size = length else {
            let count = try readSome(buffer)
            offset += Int64(count)
            if count == 0 { end() }
            return count
        }
        let wanted = min(buffer.count, Int(clamping: size - offset))
        guard wanted > 0 else {
            try checkEnd(size)
            return 0
        }
        let count = try readSome(UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]))
        guard count > 0 else { throw unexpected(offset, size) }
        offset += Int64(count)
        if offset == size { try checkEnd(size) }
        return count
    }

    /// Rewinds to the file's first byte.
    func rewind() {
        close()
        offset = 0
        isAtEnd = false
    }

    private func open() throws {
        descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw FileAccessError("open", path: path) }
        posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL)
        version = try currentVersion()
    }

    private func currentVersion() throws -> FileVersion {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw FileAccessError("fstat", path: path) }
        return FileVersion(status)
    }

    /// Ends the body, or throws if the file is longer than its size, or was written to.
    private func checkEnd(_ size: Int64) throws {
        var byte: UInt8 = 0
        let rest = try withUnsafeMutableBytes(of: &byte) { try readSome($0) }
        guard rest == 0 else { throw unexpected(size + 1, size) }
        if let version, let change = try currentVersion().change(since: version) {
            throw TransferError(
                code: .cannotOpenFile, stage: .sending,
                reason: "\(path): \(change) while it was sent",
                advice: "send a copy that nothing writes to")
        }
        end()
    }

    private func end() {
        close()
        isAtEnd = true
    }

    private func readSome(_ buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        while true {
            let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            guard errno == EINTR else { throw FileAccessError("read", path: path) }
        }
    }

    private func unexpected(
        _ bytesRead: Int64, _ size: Int64
    ) -> SessionError.UnexpectedInputStreamLength {
        SessionError.UnexpectedInputStreamLength(
            bytesExpected: UInt64(size), bytesRead: UInt64(bytesRead), file: URL(filePath: path))
    }

    private func close() {
        guard descriptor >= 0 else { return }
        Glibc.close(descriptor)
        descriptor = -1
    }
}
