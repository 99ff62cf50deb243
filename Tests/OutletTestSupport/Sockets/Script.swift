/// One step of the script that a ``ScriptedServer`` runs on a connection.
///
/// After the last step the server sends FIN, reads until the client closes, and then closes the
/// connection.
public enum Step: Sendable {
    /// Reads a request with its body.
    case request
    /// Reads a request's head up to its empty line, and leaves the body unread.
    case requestHead
    /// Reads a request with its body, calls the closure, and sends the bytes it returns.
    ///
    /// Thread: the closure is called on the connection's thread.
    case answer(@Sendable (ScriptedServer.Request) -> [UInt8])
    /// Sends bytes as they are.
    case send([UInt8])
    /// Sends a response with a `Content-Length` and further header lines.
    ///
    /// As the last step it adds `Connection: close`, unless `headers` contains a `Connection` line.
    /// Otherwise a client could reuse the connection while the server closes it, and its next
    /// request would fail or not, depending on timing.
    case respond(_ status: String = "200 OK", headers: [String] = [], body: String = "")
    /// Sends bytes in pieces of `size` bytes, and waits `interval` between them.
    case trickle([UInt8], size: Int, interval: Duration)
    /// Sends bytes again and again until the client closes the connection, and reads nothing.
    case `repeat`([UInt8])
    /// Waits until the test opens the gate.
    case wait(Gate)
    /// Opens a gate.
    case open(Gate)
    /// Reads and drops what the client sends until it closes the connection.
    case stall
    /// Forwards bytes to another server and back until both sides have closed, as a tunnel does.
    case relay(SocketAddress)
    /// Forwards bytes as ``relay(_:)`` until `limit` bytes have come back, then runs the next step.
    case relayed(SocketAddress, limit: Int)
    /// Waits for any bytes, and records them as the head of a request.
    case anything
    /// Closes the connection with a reset (RST).
    case reset
    /// Reads a WebSocket handshake and accepts it.
    ///
    /// The header lines of the first value are added to the response, and replace lines of the same
    /// name. The frames in `glued` follow in the same write. Of all this, only the first `limit`
    /// bytes are sent.
    case upgrade([String] = [], glued: [WebSocketFrame] = [], limit: Int = .max)
    /// Reads one WebSocket frame from the client and records it.
    case frame
    /// Echoes messages, and answers pings and the close frame, until the client closes.
    case echo
    /// Restarts the script on the same connection.
    case again

    /// Sends the UTF-8 bytes of a text as they are.
    public static func send(_ text: String) -> Step { .send(Array(text.utf8)) }
}
