import FoundationEssentials
import Glibc
import OutletFiles
import OutletHTTP
import OutletTransport

/// A request's body in the form that libcurl needs.
enum RequestBody {
    case none
    /// libcurl sends the bytes from this memory (`CURLOPT_POSTFIELDS`).
    case bytes(Data)
    /// libcurl reads piece by piece (`CURLOPT_READFUNCTION`).
    case reader(any RequestBodyReader)

    /// Opens the body's file, if it is one.
    ///
    /// - Throws: `TransferError` if the file cannot be opened, or a stream's length is wrong.
    init(_ body: HTTPBody) throws(TransferError) {
        switch body {
        case .none: self = .none
        case .data(let data): self = .bytes(data)
        case .file(let path): self = .reader(try FileReader(path: path))
        case .stream(let stream): self = .reader(try StreamReader(stream))
        }
    }

    /// The length in bytes; `nil` if unknown.
    var length: Int64? {
        switch self {
        case .none: 0
        case .bytes(let data): Int64(data.count)
        case .reader(let reader): reader.length
        }
    }

    /// The number of bytes that a stream has given, which has not ended yet; `nil` for other bodies.
    var givenWithoutEnd: Int64? {
        guard case .reader(let reader) = self else { return nil }
        return reader.givenWithoutEnd
    }

    /// The number of bytes of the body among those that libcurl counts as sent, which include the
    /// framing of chunks.
    func bytes(inSent count: Int64) -> Int64 {
        guard case .reader(let reader) = self, reader.length == nil else { return count }
        return min(count, reader.given)
    }

    /// Returns the body limited to the request's own `Content-Length`.
    func declared(_ length: Int64) -> RequestBody {
        guard case .reader(let reader) = self, reader.length != length else { return self }
        return .reader(DeclaredReader(reader, length: length))
    }

    /// Whether the body does not end where the request's own `Content-Length` says: it has more
    /// bytes, or fails there.
    var isCut: Bool {
        guard case .reader(let reader as DeclaredReader) = self else { return false }
        return reader.isCut
    }
}

/// A body that is read while it is sent.
protocol RequestBodyReader: AnyObject {
    /// The length in bytes; `nil` if unknown.
    var length: Int64? { get }
    /// Whether there is no data now; `ready` is then called once, on any thread, when there is.
    func mustWait(ready: @escaping @Sendable () -> Void) -> Bool
    /// Reads bytes to the start of `buffer`.
    ///
    /// - Returns: The number of bytes read; 0 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(TransferError) -> Int
    /// Continues reading at the first byte.
    func rewind() throws(TransferError)
    /// The number of bytes read since the first one.
    var given: Int64 { get }
    /// The number of bytes read, if more of them may follow from a stream; `nil` otherwise.
    var givenWithoutEnd: Int64? { get }
}

extension RequestBodyReader {
    func mustWait(ready: @escaping @Sendable () -> Void) -> Bool { false }
    var givenWithoutEnd: Int64? { nil }
}

/// The content of a file.
///
/// Reading fails if the file changes meanwhile, before the last bytes are sent, so that no server takes
/// a mixture of two contents for a whole body; never more than the first length is sent. Pipes are
/// refused, because reading one would block the loop.
private final class FileReader: RequestBodyReader {
    private let path: String
    private let descriptor: Int32
    private let isRegular: Bool
    /// The content when the file was opened.
    private let version: FileVersion
    private var position: Int64 = 0
    /// The pieces that were read while a change of the file would not have changed its time.
    private var unsettled: [(offset: Int, count: Int, hash: Int)] = []
    let length: Int64?
    var given: Int64 { position }

    init(path: String) throws(TransferError) {
        self.path = path
        // Without O_NONBLOCK opening a named pipe waits for its writer.
        descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw Self.error(path, "cannot be opened", errno) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            let number = errno
            _ = Glibc.close(descriptor)
            throw Self.error(path, "cannot be looked at", number)
        }
        isRegular = status.st_mode & S_IFMT == S_IFREG
        version = FileVersion(status)
        switch status.st_mode & S_IFMT {
        case S_IFDIR:
            _ = Glibc.close(descriptor)
            throw Self.error(path, "cannot be sent", EISDIR)
        case S_IFIFO:
            _ = Glibc.close(descriptor)
            throw TransferError(
                code: .cannotOpenFile, stage: .preparing,
                reason: "\(path): the request's body cannot be sent: it is a pipe, not a file",
                advice: "send it as a stream")
        case S_IFREG: length = FileLength.of(descriptor, size: status.st_size)
        default: length = nil
        }
    }

    deinit {
        _ = Glibc.close(descriptor)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(TransferError) -> Int {
        var wanted = buffer.count
        if let length { wanted = Int(min(Int64(wanted), length - position)) }
        guard wanted > 0 else { return 0 }
        while true {
            let isSettled = !isRegular || length == nil || version.isSettled
            let count =
                isRegular
                ? pread(descriptor, buffer.baseAddress, wanted, Int(position))
                : Glibc.read(descriptor, buffer.baseAddress, wanted)
            if count < 0 {
                if errno == EINTR { continue }
                throw Self.error(path, "cannot be read at byte \(position)", errno)
            }
            if count == 0, let length {
                throw changed(
                    "became shorter while it was sent: it ended after \(position) of \(length) bytes"
                )
            }
            if !isSettled {
                let piece = UnsafeRawBufferPointer(rebasing: buffer.prefix(count))
                unsettled.append((Int(position), count, Self.hash(piece)))
            }
            position += Int64(count)
            if position == length { try checkUnchanged() }
            return count
        }
    }

    /// Throws if the file has changed since it was opened.
    private func checkUnchanged() throws(TransferError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw Self.error(path, "cannot be looked at", errno)
        }
        if let change = FileVersion(status).change(since: version) {
            throw changed("\(change) while it was sent")
        }
        if !unsettled.isEmpty { try compareUnsettled() }
    }

    /// Reads the pieces in ``unsettled`` again, and throws if they differ from what was sent.
    private func compareUnsettled() throws(TransferError) {
        for piece in unsettled {
            let isSame = withUnsafeTemporaryAllocation(byteCount: piece.count, alignment: 1) {
                pread(descriptor, $0.baseAddress, piece.count, piece.offset) == piece.count
                    && Self.hash(UnsafeRawBufferPointer($0)) == piece.hash
            }
            guard isSame else { throw changed("was written to while it was sent") }
        }
    }

    /// A hash that differs between processes, so that nobody can make two contents with the same.
    private static func hash(_ bytes: UnsafeRawBufferPointer) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: bytes)
        return hasher.finalize()
    }

    private func changed(_ change: String) -> TransferError {
        TransferError(
            code: .cannotOpenFile, stage: .sending, reason: "\(path): \(change)",
            advice: "send a copy that nothing writes to")
    }

    func rewind() throws(TransferError) {
        if !isRegular, position > 0 {
            throw TransferError(
                code: .requestBodyStreamExhausted, stage: .sending,
                reason: "\(path): the body has to be sent again, but this is no regular file")
        }
        position = 0
        unsettled = []
    }

    private static func error(_ path: String, _ what: String, _ number: Int32) -> TransferError {
        TransferError(
            code: number == EMFILE || number == ENFILE ? .tooManyOpenFiles : .cannotOpenFile,
            stage: .preparing,
            reason: "\(path): the request's body \(what): \(systemText(number))")
    }
}

/// The content of the user's stream.
private final class StreamReader: RequestBodyReader {
    private let stream: any BodyStream
    private(set) var given: Int64 = 0
    private var hasEnded = false
    let length: Int64?

    init(_ stream: any BodyStream) throws(TransferError) {
        self.stream = stream
        length = stream.length
        // libcurl never reads a body of length 0, so check now that it is empty.
        if length == 0 { try checkEnd() }
        if let length, length < 0 {
            throw TransferError(
                code: .badRequest,
                reason: "the request's body stream: its length cannot be \(length)",
                advice: "a length that is not known is nil")
        }
    }

    var givenWithoutEnd: Int64? { hasEnded ? nil : given }

    func mustWait(ready: @escaping @Sendable () -> Void) -> Bool {
        stream.mustWait(ready: ready)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(TransferError) -> Int {
        var room = buffer
        if let length {
            room = UnsafeMutableRawBufferPointer(
                rebasing: buffer.prefix(Int(min(Int64(buffer.count), max(0, length - given)))))
        }
        guard room.count > 0 else { return 0 }
        let count = try next(into: room)
        if count == 0, let length {
            throw TransferError(
                code: .badRequest, stage: .sending,
                reason: "the request's body stream: ended after \(given) of \(length) bytes")
        }
        given += Int64(count)
        // Checked before the last bytes are sent, so that no server takes a part of the body for
        // the whole.
        if given == length { try checkEnd() }
        return count
    }

    /// Throws if the stream has more data than its length says.
    private func checkEnd() throws(TransferError) {
        let count = try withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) {
            (byte) throws(TransferError) in try next(into: byte)
        }
        guard count == 0 else {
            throw TransferError(
                code: .badRequest, stage: .sending,
                reason: "the request's body stream: continues after the \(given) bytes that are "
                    + "its length")
        }
    }

    private func next(into room: UnsafeMutableRawBufferPointer) throws(TransferError) -> Int {
        let count: Int
        do {
            count = try stream.read(into: room)
        } catch let error as TransferError {
            throw error
        } catch {
            throw TransferError(
                code: .cannotOpenFile, stage: .sending,
                reason: "the request's body stream failed at byte \(given): \(error)")
        }
        guard (0...room.count).contains(count) else {
            throw TransferError(
                code: .badRequest, stage: .sending,
                reason:
                    "the request's body stream: gave \(count) bytes for a buffer of \(room.count)")
        }
        hasEnded = count == 0
        return count
    }

    func rewind() throws(TransferError) {
        do {
            try stream.rewind()
        } catch {
            throw TransferError(
                code: .requestBodyStreamExhausted, stage: .sending,
                reason:
                    "the request's body has to be sent again, but its stream cannot go back: \(error)"
            )
        }
        given = 0
        hasEnded = false
    }
}

/// A body of which the length that the request declares is sent, and no more.
private final class DeclaredReader: RequestBodyReader {
    private let reader: any RequestBodyReader
    private let declared: Int64
    private(set) var given: Int64 = 0

    init(_ reader: any RequestBodyReader, length: Int64) {
        self.reader = reader
        declared = length
    }

    var length: Int64? { declared }

    /// Whether the body has more bytes than declared, or fails where it should end; reads on if its
    /// length is unknown.
    var isCut: Bool {
        guard given == declared else { return false }
        if let length = reader.length { return length > declared }
        return withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { rest in
            do throws(TransferError) {
                return try reader.read(into: rest) > 0
            } catch {
                return true
            }
        }
    }

    var givenWithoutEnd: Int64? { given < declared ? reader.givenWithoutEnd : nil }

    func mustWait(ready: @escaping @Sendable () -> Void) -> Bool { reader.mustWait(ready: ready) }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(TransferError) -> Int {
        let room = Int(min(Int64(buffer.count), declared - given))
        guard room > 0 else { return 0 }
        let count = try reader.read(
            into: UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(room)))
        guard count > 0 else {
            throw TransferError(
                code: .badRequest, stage: .sending,
                reason: "header Content-Length: says \(declared), but the body ended after "
                    + "\(given) bytes")
        }
        given += Int64(count)
        return count
    }

    func rewind() throws(TransferError) {
        try reader.rewind()
        given = 0
    }
}
