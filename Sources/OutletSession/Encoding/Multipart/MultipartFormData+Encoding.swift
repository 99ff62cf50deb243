public import FoundationEssentials
import Glibc
import OutletHTTP

extension MultipartFormData {
    /// Encodes the whole body into memory.
    ///
    /// - Throws: ``SessionError/multipartEncodingFailed(reason:)``: the first error of an `append`
    ///   or of the boundary; `bodyPartFileNotReachableWithError` or `inputStreamReadFailed` when a
    ///   file or a stream cannot be read or has another length than declared.
    ///
    /// Thread: any; blocks while files and streams are read.
    public func encode() throws -> Data {
        let stream = try bodyStream()
        var encoded = Data()
        // A stream may declare any length.
        if let length = stream.length { encoded.reserveCapacity(Int(min(length, 64 << 20))) }
        try Self.drain(stream) { encoded.append($0.bindMemory(to: UInt8.self)) }
        return encoded
    }

    /// Writes the whole body to a new file.
    ///
    /// A file that could not be written completely is removed.
    ///
    /// - Parameter fileURL: A `file:` URL where no file exists yet, in an existing directory.
    /// - Throws: As ``encode()``, and ``SessionError/multipartEncodingFailed(reason:)`` with
    ///   `outputStreamURLInvalid` when the URL is not a file's, `outputStreamFileAlreadyExists`,
    ///   `outputStreamCreationFailed` when the file cannot be created, or
    ///   `outputStreamWriteFailed`.
    ///
    /// Thread: any; blocks until the file is written.
    public func writeEncodedData(to fileURL: URL) throws {
        let stream = try bodyStream()
        guard fileURL.isFileURL else { throw failure(.outputStreamURLInvalid(url: fileURL)) }
        let path = fileURL.path
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else {
            throw failure(
                errno == EEXIST
                    ? .outputStreamFileAlreadyExists(at: fileURL)
                    : .outputStreamCreationFailed(for: fileURL))
        }
        do {
            defer { close(descriptor) }
            try Self.drain(stream) { try write($0, to: descriptor, path) }
        } catch {
            unlink(path)
            throw error
        }
    }

    private static let bufferSize = 65_536

    private static func drain(
        _ stream: any BodyStream, _ take: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bufferSize, alignment: 16)
        defer { buffer.deallocate() }
        while true {
            let count = try stream.read(into: buffer)
            guard count > 0 else { return }
            try take(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }

    private func write(
        _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, _ path: String
    ) throws {
        var written = 0
        while written < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
            let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
            if count >= 0 {
                written += count
            } else if errno != EINTR {
                throw failure(
                    .outputStreamWriteFailed(error: FileAccessError("write", path: path)))
            }
        }
    }

    private func failure(_ reason: SessionError.MultipartEncodingFailureReason) -> SessionError {
        .multipartEncodingFailed(reason: reason)
    }
}
