import FoundationEssentials
import Glibc
import OutletHTTP
import OutletTransport

/// A request's body in the form that libcurl takes it.
enum RequestBody {
    case none
    /// libcurl sends the bytes where they are (`CURLOPT_POSTFIELDS`).
    case bytes(Data)
    /// libcurl asks for piece after piece (`CURLOPT_READFUNCTION`).
    case reader(any RequestBodyReader)

    /// Opens what has to be opened.
    init(_ body: HTTPBody) throws(TransferError) {
        switch body {
        case .none: self = .none
        case .data(let data): self = .bytes(data)
        case .file(let path): self = .reader(try FileReader(path: path))
        case .stream(let stream): self = .reader(try StreamReader(stream))
        }
    }

    /// The length in bytes; `nil` when unknown.
    var length: Int64? {
        switch self {
        case .none: 0
        case .bytes(let data): Int64(data.count)
        case .reader(let reader): reader.length
        }
    }

    /// The same bytes, no more than the request's own `Content-Length` says.
    func declared(_ length: Int64) -> RequestBody {
        guard case .reader(let reader) = self, reader.length != length else { return self }
        return .reader(DeclaredReader(reader, length: length))
    }

    /// Whether there were more bytes than the request's own `Content-Length` let through.
    var isCut: Bool {
        guard case .reader(let reader as DeclaredReader) = self else { return false }
        return reader.isCut
    }
}

/// A body read while it is sent.
///
/// Thread: the loop's.
protocol RequestBodyReader: AnyObject {
    /// How many bytes there are; `nil` when unknown.
    var length: Int64? { get }
    /// Whether there is nothing to read now; `ready` is called once, on any thread, when there is.
    func mustWait(ready: @escaping @Sendable () -> Void) -> Bool
    /// Fills `buffer` from its start; 0 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(TransferError) -> Int
    /// Goes back to the first byte.
    func rewind() throws(TransferError)
}

extension RequestBodyReader {
    func mustWait(ready: @escaping @Sendable () -> Void) -> Bool { false }
}

/// A file's content.
///
/// A file that grows meanwhile is sent as long as it was, one that shrinks fails. A pipe is refused: its
/// writer would hold up the loop.
private final class FileReader: RequestBodyReader {
    private let path: String
    private let descriptor: Int32
    private var position: Int64 = 0
    let length: Int64?

    init(path: String) throws(TransferError) {
        self.path = path
        // Without O_NONBLOCK the opening of a named pipe waits for its writer.
        descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw Self.error(path, "cannot be opened", errno) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            let number = errno
            _ = Glibc.close(descriptor)
            throw Self.error(path, "cannot be looked at", number)
        }
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
        case S_IFREG: length = Int64(status.st_size)
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
            let count =
                length == nil
                ? Glibc.read(descriptor, buffer.baseAddress, wanted)
                : pread(descriptor, buffer.baseAddress, wanted, Int(position))
            if count < 0 {
                if errno == EINTR { continue }
                throw Self.error(path, "cannot be read at byte \(position)", errno)
            }
            if count == 0, let length {
                throw TransferError(
                    code: .cannotOpenFile, stage: .sending,
                    reason: "\(path): became shorter while it was sent: "
                        + "\(position) of \(length) bytes are left")
            }
            position += Int64(count)
            return count
        }
    }

    func rewind() throws(TransferError) {
        if length == nil, position > 0 {
            throw TransferError(
                code: .requestBodyStreamExhausted, stage: .sending,
                reason: "\(path): the body has to be sent again, but this is no regular file")
        }
        position = 0
    }

    private static func error(_ path: String, _ what: String, _ number: Int32) -> TransferError {
        TransferError(
            code: number == EMFILE || number == ENFILE ? .tooManyOpenFiles : .cannotOpenFile,
            stage: .preparing,
            reason: "\(path): the request's body \(what): \(String(cString: strerror(number)))")
    }
}

/// A stream of the user's.
private final class StreamReader: RequestBodyReader {
    private let stream: any BodyStream
    private var given: Int64 = 0
    let length: Int64?

    init(_ stream: any BodyStream) throws(TransferError) {
        self.stream = stream
        length = stream.length
        // Of nothing libcurl asks for nothing.
        if length == 0 { try checkEnd() }
        if let length, length < 0 {
            throw TransferError(
                code: .badRequest,
                reason: "the request's body stream: its length cannot be \(length)",
                advice: "a length that is not known is nil")
        }
    }

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
        // Before the last bytes go out, so that no server takes the beginning for the whole.
        if given == length { try checkEnd() }
        return count
    }

    /// Refuses a stream that has more than it said.
    private func checkEnd() throws(TransferError) {
        let count = try withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) {
            (byte) throws(TransferError) in try next(into: byte)
        }
        guard count == 0 else {
            throw TransferError(
                code: .badRequest, stage: .sending,
                reason: "the request's body stream: goes on after the \(given) bytes that are its "
                    + "length")
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
    }
}

/// A body under a length that the request declares; what comes behind it is left.
private final class DeclaredReader: RequestBodyReader {
    private let reader: any RequestBodyReader
    private let declared: Int64
    private var given: Int64 = 0

    init(_ reader: any RequestBodyReader, length: Int64) {
        self.reader = reader
        declared = length
    }

    var length: Int64? { declared }

    /// Whether bytes are left behind those declared; reads on to see, where only that can tell.
    var isCut: Bool {
        guard given == declared else { return false }
        if let length = reader.length { return length > declared }
        return withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { rest in
            ((try? reader.read(into: rest)) ?? 0) > 0
        }
    }

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
