public import FoundationEssentials
import OutletHTTP

/// Why reading an event stream failed.
public enum ServerSentEventError: Error, Sendable, Equatable, CustomStringConvertible,
    LocalizedError
{
    /// An event is longer than `limit` bytes.
    case tooLarge(limit: Int)
    /// The response is not an event stream: its status is not 200, or its `Content-Type` is not
    /// `text/event-stream`.
    case notAnEventStream(statusCode: Int, contentType: String?)

    /// What is wrong.
    public var description: String {
        switch self {
        case .tooLarge(let limit): "event stream: an event is longer than \(limit) bytes"
        case .notAnEventStream(let statusCode, let contentType):
            "event stream: the server answered \(statusCode) with "
                + (contentType.map { "Content-Type \(Redaction.standard.quote($0))" }
                    ?? "no Content-Type")
                + ", not 200 with text/event-stream"
        }
    }

    /// The ``description``, for `localizedDescription`.
    public var errorDescription: String? { description }
}
