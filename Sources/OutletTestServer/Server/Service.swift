internal import CMicroHTTPD
internal import Synchronization

/// Answers requests: calls their endpoint, delays the reply if the endpoint says so, and queues the
/// reply in libmicrohttpd.
final class Service: Sendable {
    let port: UInt16
    let suspensions = Suspensions()
    /// The number of requests by key, for endpoints that return `Answer.counted`.
    private let counts = Mutex<[String: Int]>([:])

    init(port: UInt16) {
        self.port = port
    }

    /// Answers a request.
    ///
    /// Thread: called on the daemon's thread when the request is complete, and again when its
    /// connection is resumed.
    func answer(_ exchange: Exchange, on connection: OpaquePointer) -> MHD_Result {
        if let reply = exchange.reply {
            return queue(reply, on: connection)
        }
        switch Endpoint.answer(to: exchange, port: port) {
        case .now(let reply):
            return queue(reply, on: connection)
        case .counted(let key, let reply):
            let before = counts.withLock { counts in
                defer { counts[key, default: 0] += 1 }
                return counts[key, default: 0]
            }
            return queue(reply(before), on: connection)
        case .after(let seconds, let reply):
            exchange.reply = reply
            if suspensions.suspend(connection, seconds: seconds) { return .YES }
            return queue(reply, on: connection)
        case .together(let count, let reply):
            exchange.reply = reply
            if suspensions.hold(connection, until: count) { return .YES }
            return queue(reply, on: connection)
        }
    }

    private func queue(_ reply: Reply, on connection: OpaquePointer) -> MHD_Result {
        guard
            let response = reply.body.makeResponse(connection: connection, suspensions: suspensions)
        else { return .NO }
        defer { MHD_destroy_response(response) }
        for (name, value) in reply.headers {
            guard MHD_add_response_header(response, name, value) == .YES else {
                let refusal = Reply.error(400, "header: not allowed in a response: \(name)")
                return queue(refusal, on: connection)
            }
        }
        return MHD_queue_response(connection, UInt32(reply.status), response)
    }
}
