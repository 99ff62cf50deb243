/// What a ``ScriptedServer`` does on one connection, step by step.
///
/// A script that runs out closes the connection, once all that was sent has been read.
public enum Step: Sendable {
    /// Reads a request: its head, and the body that the head announces.
    case request
    /// Reads up to the empty line behind a head and leaves the body unread.
    case requestHead
    /// Reads a request, and sends what is to be sent for it, as it is.
    case answer(@Sendable (ScriptedServer.Request) -> [UInt8])
    /// Sends bytes as they are.
    case send([UInt8])
    /// Sends a response with a `Content-Length` and other header lines, as they are to appear.
    ///
    /// As the last step it says `Connection: close`, unless a line says otherwise: a client that takes
    /// the connection for its next request would lose that one or not, as chance has it.
    case respond(_ status: String = "200 OK", headers: [String] = [], body: String = "")
    /// Sends bytes in pieces of `size`, waiting `interval` before each but the first.
    case trickle([UInt8], size: Int, interval: Duration)
    /// Does nothing until the test opens the gate.
    case wait(Gate)
    /// Opens a gate.
    case open(Gate)
    /// Does nothing until the client closes the connection; what it sends is read and dropped.
    case stall
    /// Passes bytes on to another server and back until one side closes, as a tunnel does.
    case relay(SocketAddress)
    /// The same, until so many bytes have come back; the script then goes on.
    case relayed(SocketAddress, limit: Int)
    /// Reads until something has come, whatever it is, and records it as a request's head.
    case anything
    /// Closes the connection with a reset (RST).
    case reset
    /// Reads a WebSocket handshake and accepts it: with more lines in the answer's head, which take
    /// the place of those of the same name, with frames glued behind it, and no more than `limit`
    /// bytes of all that.
    case upgrade([String] = [], glued: [WebSocketFrame] = [], limit: Int = .max)
    /// Reads one WebSocket frame of the client's and records it.
    case frame
    /// Sends messages back and answers pings and the close frame, until the client is gone.
    case echo
    /// Starts the script again on the same connection.
    case again

    /// Sends text as it is.
    public static func send(_ text: String) -> Step { .send(Array(text.utf8)) }
}
