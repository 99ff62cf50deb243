package import FoundationEssentials
package import OutletHTTP

/// The head of a request as it was sent, with the fields that the transport has added.
package struct SentHead: Sendable, Equatable {
    /// The request method.
    package let method: String
    /// The target in the request line; a whole URL for a proxy.
    package let target: String
    /// The protocol version, such as `HTTP/1.1` or `HTTP/2`.
    package let httpVersion: String
    /// The fields, in the order in which they were sent.
    package let headers: HTTPHeaders

    /// Parses a head.
    ///
    /// - Parameter bytes: The head in the form of HTTP/1.1, which libcurl also has for HTTP/2.
    /// - Returns: `nil` if its first line is not a request line.
    package init?(_ bytes: [UInt8]) {
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let line = bytes[..<end].filter { $0 != UInt8(ascii: "\r") }
        guard let first = line.firstIndex(of: 0x20), let last = line.lastIndex(of: 0x20),
            first < last
        else { return nil }
        method = String(decoding: line[..<first], as: UTF8.self)
        target = String(decoding: line[(first + 1)..<last], as: UTF8.self)
        httpVersion = String(decoding: line[(last + 1)...], as: UTF8.self)
        headers = HTTPHeaders(HeaderBlock(bytes: Array(bytes[(end + 1)...])))
    }
}

/// Keeps the last head that was sent for a request in whose context it is.
///
/// Has an effect only with ``TransportConfiguration/recordsSentHeads``. Requests to open a tunnel
/// through a proxy (`CONNECT`) are not kept.
///
/// Thread: any.
package final class SentHeadRecorder: Sendable {
    /// The key of the recorder in the context of a request.
    package enum Key: RequestContextKey {
        package typealias Value = SentHeadRecorder
    }

    /// The number of a transfer, and how often it had sent its request before.
    package typealias Sending = (transfer: UInt64, number: Int)

    private struct State {
        /// The bytes of a head of which the end has not been sent, and below that who sends it.
        var begun: [UInt8] = []
        var sending: Sending = (0, 0)
        var url: URL?
        var head: SentHead?
    }

    private let state = Lock(State())

    /// Makes a recorder without a head.
    package init() {}

    /// The last complete head that was sent to a URL; `nil` if there is none, or if a later one was sent
    /// to another URL.
    package func head(sentTo url: URL?) -> SentHead? {
        state.withLock { $0.url == url ? $0.head : nil }
    }

    /// Adds a piece of a head, which ends with an empty line.
    ///
    /// - Parameters:
    ///   - piece: The next bytes that were sent.
    ///   - sending: The transfer. A head that another one, or an earlier attempt, has not sent
    ///     completely is discarded.
    ///   - url: The URL of the request.
    package func append(_ piece: UnsafeRawBufferPointer, by sending: Sending, to url: URL?) {
        state.withLock { state in
            if state.sending != sending { state.begun = [] }
            state.sending = sending
            state.begun += piece
            guard state.begun.ends(with: "\r\n\r\n".utf8) else { return }
            if let head = SentHead(state.begun), head.method != HTTPMethod.connect.rawValue {
                state.head = head
                state.url = url
            }
            state.begun = []
        }
    }
}

extension [UInt8] {
    fileprivate func ends(with other: some BidirectionalCollection<UInt8>) -> Bool {
        reversed().starts(with: other.reversed())
    }
}
