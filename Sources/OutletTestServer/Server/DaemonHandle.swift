import OutletPointers

internal import CMicroHTTPD
internal import Glibc

/// A running libmicrohttpd daemon.
///
/// `@unchecked Sendable` because `MHD_stop_daemon` may be called from any thread, and
/// ``LoopbackServer`` ensures that it is called only once.
struct DaemonHandle: @unchecked Sendable {
    private let daemon: OpaquePointer

    /// Starts the daemon's thread.
    ///
    /// - Parameters:
    ///   - listener: The listening socket, which the daemon takes over.
    ///   - service: Answers the requests; not retained, so it must exist until ``stop()`` returns.
    /// - Throws: ``LoopbackServerError/cannotServe(errno:)`` if libmicrohttpd does not start.
    init(listener: ListeningSocket, service: Service) throws(LoopbackServerError) {
        let context = ObjectPointer.unretained(service)
        let contextWord = Int(bitPattern: context)
        let flags = MHD_USE_EPOLL_INTERNAL_THREAD.rawValue | MHD_ALLOW_SUSPEND_RESUME.rawValue
        let options: [any CVarArg] = [
            MHD_OPTION.LISTEN_SOCKET.rawValue, listener.descriptor,
            MHD_OPTION.CONNECTION_LIMIT.rawValue, UInt32(16_384),
            // In bytes: enough for large header sections, and for few callbacks per large upload.
            MHD_OPTION.CONNECTION_MEMORY_LIMIT.rawValue, 128 * 1024,
            MHD_OPTION.URI_LOG_CALLBACK.rawValue,
            unsafeBitCast(requestBegan, to: Int.self), contextWord,
            MHD_OPTION.NOTIFY_COMPLETED.rawValue,
            unsafeBitCast(requestEnded, to: Int.self), contextWord,
            MHD_OPTION.END.rawValue,
        ]
        let daemon = withVaList(options) {
            MHD_start_daemon_va(flags, 0, nil, nil, requestArrived, context, $0)
        }
        // On failure the socket is not closed here: libmicrohttpd does not report whether it has
        // closed it, and a second `close` could close another, newly opened descriptor.
        guard let daemon else { throw .cannotServe(errno: errno) }
        self.daemon = daemon
    }

    /// Ends the daemon's thread and closes its sockets.
    ///
    /// No connection may be suspended at that time. Blocks until the thread has ended.
    func stop() {
        MHD_stop_daemon(daemon)
    }
}

private typealias RequestBegan =
    @convention(c) (
        UnsafeMutableRawPointer?, UnsafePointer<CChar>?, OpaquePointer?
    ) -> UnsafeMutableRawPointer?

/// Makes the ``Exchange`` that libmicrohttpd passes to the other callbacks of the request.
private let requestBegan: RequestBegan = { _, uri, _ in
    let exchange = Exchange(target: uri.map { String(cString: $0) } ?? "/")
    return ObjectPointer.retained(exchange)
}

/// Releases the ``Exchange`` when the request is answered or its connection is closed.
private let requestEnded: MHD_RequestCompletedCallback = { _, _, context, _ in
    guard let pointer = context?.pointee else { return }
    context?.pointee = nil
    ObjectPointer.release(pointer)
}

/// Called once with the head, then with each piece of the body, then to queue the response.
private let requestArrived: MHD_AccessHandlerCallback = {
    serviceContext, connection, _, method, _, data, size, context in
    guard let serviceContext, let connection, let method, let size, let pointer = context?.pointee
    else { return .NO }
    let service = ObjectPointer.object(at: serviceContext, as: Service.self)
    let exchange = ObjectPointer.object(at: pointer, as: Exchange.self)

    guard exchange.hasHead else {
        exchange.readHead(method: String(cString: method), connection: connection)
        return .YES
    }
    guard size.pointee == 0 else {
        exchange.body.append(contentsOf: UnsafeRawBufferPointer(start: data, count: size.pointee))
        size.pointee = 0
        return .YES
    }
    return service.answer(exchange, on: connection)
}
