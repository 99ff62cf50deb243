import COutletPlugin
import OutletPointers

/// A piece of a response's body, for ``MutableRequest/watchResponse(_:end:)``.
public struct BodyPiece: Sendable {
    /// The head of the response; its body cannot be read.
    ///
    /// Valid until the closure that received the piece returns.
    public let response: Response
    /// Where the piece begins in the decoded body, in bytes.
    ///
    /// A piece at 0 begins another body, for example of the next attempt.
    public let offset: UInt64
    /// The decoded bytes; empty, once, at the end of the body.
    public let bytes: [UInt8]

    /// Whether this is the end of the body.
    public var isEnd: Bool { bytes.isEmpty }
}

extension MutableRequest {
    /// Observes the bodies of the request's responses, in memory, files and streams.
    ///
    /// Includes all responses from the network, also of redirects and authentication challenges,
    /// but not those of a cache or a plugin. Possible in `adapt`, `prepare` and `finalize` only.
    ///
    /// - Parameters:
    ///   - piece: Called with each piece, and once at the end of each body, before the program
    ///     receives it. No more of the body is read until it returns. An error that it throws fails
    ///     the request. Thread: any, one piece at a time.
    ///   - end: Called exactly once, after all pieces, when the call has ended; `isWhole` says
    ///     whether the last body was complete. Thread: any.
    /// - Throws: ``PluginError`` with the status `OUTLET_E_STATE` in other hooks or when 1,024
    ///   streams of the instance are open, or with the code `unsupported` when the host has no
    ///   streams. Neither closure is called then.
    public func watchResponse(
        _ piece: @escaping @Sendable (BodyPiece) async throws -> Void,
        end: @escaping @Sendable (_ isWhole: Bool) -> Void = { _ in }
    ) throws(PluginError) {
        let streams = try streams()
        let data = ObjectPointer.retained(WatchedBody(piece: piece, end: end))
        let status = streams.pointee.watch_response(
            current.host.table, current.handle, { pieceCame($0, $1, $2, $3, $4, $5, $6) },
            { watchedBodyEnded($0, $1, $2, $3) }, data)
        if status != OUTLET_OK { ObjectPointer.release(data) }
        try PluginError.check(status, "watching the response", because: refusals)
    }

    /// Replaces the request's body by one that is generated while it is sent.
    ///
    /// Other hooks cannot read such a body. Possible in `adapt` and `prepare` only.
    ///
    /// - Parameters:
    ///   - length: The exact length of the body, in bytes; `nil` sends it without `Content-Length`.
    ///   - make: Returns the next piece, at most 64 MiB, given the number of bytes returned before;
    ///     an empty piece ends the body, also one with a `length`. Offset 0 begins the body, once
    ///     more if it has to be sent again. The request waits until it returns. An error that it
    ///     throws fails the request.
    ///     Thread: any, one piece at a time.
    ///   - end: Called exactly once, after all pieces, when the call has ended; `isWhole` says
    ///     whether the last body was complete. Thread: any.
    /// - Throws: ``PluginError`` with the status `OUTLET_E_STATE` in other hooks or when 1,024
    ///   streams of the instance are open, or with the code `unsupported` when the host has no
    ///   streams. Neither closure is called then.
    public func sendBody(
        length: UInt64? = nil,
        _ make: @escaping @Sendable (_ offset: UInt64) async throws -> [UInt8],
        end: @escaping @Sendable (_ isWhole: Bool) -> Void = { _ in }
    ) throws(PluginError) {
        let streams = try streams()
        let data = ObjectPointer.retained(MadeBody(make: make, end: end))
        let status = streams.pointee.send_body(
            current.host.table, current.handle, length ?? unknownLength,
            { pieceIsWanted($0, $1, $2, $3, $4, $5) }, { madeBodyEnded($0, $1, $2, $3) },
            data)
        if status != OUTLET_OK { ObjectPointer.release(data) }
        try PluginError.check(status, "sending a body in pieces", because: refusals)
    }

    private func streams() throws(PluginError) -> UnsafePointer<outlet_streams> {
        try current.host.service(OUTLET_STREAM_1, without: "this host has no streams")
    }
}

/// Why the host opens no stream.
private let refusals: KeyValuePairs = [
    OUTLET_E_STATE: "not possible in this hook, or \(OUTLET_MAX_STREAMS) streams are open"
]

/// `OUTLET_UNKNOWN_LENGTH`, a macro that Swift does not import.
private let unknownLength = UInt64.max

/// The closures of ``MutableRequest/watchResponse(_:end:)``, retained until the end of the stream.
private final class WatchedBody: Sendable {
    let piece: @Sendable (BodyPiece) async throws -> Void
    let end: @Sendable (Bool) -> Void

    init(
        piece: @escaping @Sendable (BodyPiece) async throws -> Void,
        end: @escaping @Sendable (Bool) -> Void
    ) {
        self.piece = piece
        self.end = end
    }
}

/// The closures of ``MutableRequest/sendBody(length:_:end:)``, retained until the end of the
/// stream.
private final class MadeBody: Sendable {
    let make: @Sendable (UInt64) async throws -> [UInt8]
    let end: @Sendable (Bool) -> Void

    init(
        make: @escaping @Sendable (UInt64) async throws -> [UInt8],
        end: @escaping @Sendable (Bool) -> Void
    ) {
        self.make = make
        self.end = end
    }
}

private func pieceCame(
    _ instance: OpaquePointer, _ call: outlet_call, _ response: outlet_response, _ offset: UInt64,
    _ bytes: outlet_view, _ completion: outlet_completion, _ data: UnsafeMutableRawPointer?
) -> outlet_status {
    guard let instance = Instance.at(instance), let data else { return OUTLET_OK }
    let body = ObjectPointer.object(at: data, as: WatchedBody.self)
    let piece = BodyPiece(
        response: Response(host: instance.host, handle: response), offset: offset,
        bytes: bytes.bytes)
    return instance.run(completion) {
        let error = await caught { try await body.piece(piece) }
        return { $0.settle(completion, error) }
    }
}

private func pieceIsWanted(
    _ instance: OpaquePointer, _ call: outlet_call, _ offset: UInt64, _ sink: outlet_sink,
    _ completion: outlet_completion, _ data: UnsafeMutableRawPointer?
) -> outlet_status {
    guard let instance = Instance.at(instance), let data else { return OUTLET_E_STATE }
    let body = ObjectPointer.object(at: data, as: MadeBody.self)
    let host = instance.host
    return instance.run(completion) {
        let error = await caught {
            let piece = try await body.make(offset)
            let status = withView(piece) {
                host.table.pointee.sink_write(host.table, sink, $0)
            }
            try PluginError.check(status, "piece of a body")
        }
        return { $0.settle(completion, error) }
    }
}

private func watchedBodyEnded(
    _ instance: OpaquePointer, _ call: outlet_call, _ status: outlet_status,
    _ data: UnsafeMutableRawPointer?
) {
    guard let data else { return }
    ObjectPointer.takeRetained(data, as: WatchedBody.self).end(status == OUTLET_OK)
}

private func madeBodyEnded(
    _ instance: OpaquePointer, _ call: outlet_call, _ status: outlet_status,
    _ data: UnsafeMutableRawPointer?
) {
    guard let data else { return }
    ObjectPointer.takeRetained(data, as: MadeBody.self).end(status == OUTLET_OK)
}
