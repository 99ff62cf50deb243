import COutletPlugin
import OutletPointers

/// A piece of a response's body, as a plugin watches it.
public struct BodyPiece: Sendable {
    /// The head of the response; its body cannot be read.
    ///
    /// Valid until the piece is answered.
    public let response: Response
    /// Where the piece begins in its body, in bytes, after decoding.
    ///
    /// A piece at 0 begins another body, such as that of another attempt.
    public let offset: UInt64
    /// The bytes; empty, once, at the body's end, which the program does not see before the answer.
    public let bytes: [UInt8]

    /// Whether this is the body's end.
    public var isEnd: Bool { bytes.isEmpty }
}

extension MutableRequest {
    /// Watches the bodies of the request's responses, wherever they go: memory, a file, a stream.
    ///
    /// All that come over the wire, those of redirects and challenges included; not what a cache or a plugin
    /// answers. In `adapt`, `prepare` and `finalize` only.
    ///
    /// - Parameters:
    ///   - piece: Called with each piece before the program sees it. Nothing more of the body is read until
    ///     it returns; throwing ends the request. Thread: one piece at a time, on any thread.
    ///   - end: Called exactly once, after all pieces, when the call is over; with whether the last body
    ///     came to its end.
    /// - Throws: ``PluginError`` where the hook cannot change the request, 1,024 streams are open, or the
    ///   host has no streams; neither closure is called then.
    public func watchResponse(
        _ piece: @escaping @Sendable (BodyPiece) async throws -> Void,
        end: @escaping @Sendable (_ isWhole: Bool) -> Void = { _ in }
    ) throws(PluginError) {
        let streams = try streams()
        let data = ObjectPointer.keep(WatchedBody(piece: piece, end: end))
        let status = streams.pointee.watch_response(
            current.host.table, current.handle, { pieceCame($0, $1, $2, $3, $4, $5, $6) },
            { watchedBodyEnded($0, $1, $2, $3) }, data)
        if status != OUTLET_OK { ObjectPointer.release(data) }
        try PluginError.check(status, "watching the response")
    }

    /// Makes the request's body while it is sent, in place of the one that it has.
    ///
    /// Other hooks cannot read such a body. In `adapt` and `prepare` only.
    ///
    /// - Parameters:
    ///   - length: How many bytes it will have, which it has to keep; `nil` sends it chunked.
    ///   - make: Makes the next piece, given how many bytes were made before; empty is the body's end. 0
    ///     begins the body, again where it has to be sent again. The request waits until it returns;
    ///     throwing ends it. Thread: one piece at a time, on any thread.
    ///   - end: Called exactly once, after all pieces, when the call is over; with whether the last body
    ///     came to its end.
    /// - Throws: ``PluginError`` where the hook cannot change the request, 1,024 streams are open, or the
    ///   host has no streams; neither closure is called then.
    public func sendBody(
        length: UInt64? = nil,
        _ make: @escaping @Sendable (_ offset: UInt64) async throws -> [UInt8],
        end: @escaping @Sendable (_ isWhole: Bool) -> Void = { _ in }
    ) throws(PluginError) {
        let streams = try streams()
        let data = ObjectPointer.keep(MadeBody(make: make, end: end))
        let status = streams.pointee.send_body(
            current.host.table, current.handle, length ?? unknownLength,
            { pieceIsWanted($0, $1, $2, $3, $4, $5) }, { madeBodyEnded($0, $1, $2, $3) },
            data)
        if status != OUTLET_OK { ObjectPointer.release(data) }
        try PluginError.check(status, "sending a body in pieces")
    }

    private func streams() throws(PluginError) -> UnsafePointer<outlet_streams> {
        guard let streams: UnsafePointer<outlet_streams> = current.host.service(OUTLET_STREAM_1)
        else { throw PluginError("this host has no streams", code: "unsupported") }
        return streams
    }
}

/// `OUTLET_LENGTH_UNKNOWN`, a macro that Swift does not see.
private let unknownLength = UInt64.max

/// What is kept for a watched body until its end.
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

/// What is kept for a body that is made until its end.
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
        $0.host.settle(completion, await caught { try await body.piece(piece) })
    }
}

private func pieceIsWanted(
    _ instance: OpaquePointer, _ call: outlet_call, _ offset: UInt64, _ sink: outlet_sink,
    _ completion: outlet_completion, _ data: UnsafeMutableRawPointer?
) -> outlet_status {
    guard let instance = Instance.at(instance), let data else { return OUTLET_E_STATE }
    let body = ObjectPointer.object(at: data, as: MadeBody.self)
    return instance.run(completion) { instance in
        let host = instance.host
        host.settle(
            completion,
            await caught {
                let piece = try await body.make(offset)
                let status = withView(piece) {
                    host.table.pointee.sink_write(host.table, sink, $0)
                }
                try PluginError.check(status, "piece of a body")
            })
    }
}

private func watchedBodyEnded(
    _ instance: OpaquePointer, _ call: outlet_call, _ status: outlet_status,
    _ data: UnsafeMutableRawPointer?
) {
    guard let data else { return }
    ObjectPointer.take(data, as: WatchedBody.self).end(status == OUTLET_OK)
}

private func madeBodyEnded(
    _ instance: OpaquePointer, _ call: outlet_call, _ status: outlet_status,
    _ data: UnsafeMutableRawPointer?
) {
    guard let data else { return }
    ObjectPointer.take(data, as: MadeBody.self).end(status == OUTLET_OK)
}
