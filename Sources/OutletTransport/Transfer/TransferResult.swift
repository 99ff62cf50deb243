public import FoundationEssentials
public import OutletHTTP

/// The body bytes transferred so far; totals are -1 if they are not known.
public struct TransferCounts: Sendable, Equatable {
    /// Bytes of the request's body passed to the network.
    public var sent: Int64
    /// The length of the request's body in bytes; -1 if it is not known.
    public var expectedToSend: Int64
    /// Bytes of the response's body received, after decoding.
    public var received: Int64
    /// The length of the response's body in bytes, as `Content-Length` says; -1 if it is not known,
    /// as for compressed bodies.
    public var expectedToReceive: Int64

    /// Makes counts; by default nothing was transferred and no total is known.
    ///
    /// - Parameters:
    ///   - sent: Bytes of the request's body passed to the network.
    ///   - expectedToSend: The length of the request's body in bytes; -1 if it is not known.
    ///   - received: Bytes of the response's body received, after decoding.
    ///   - expectedToReceive: The length of the response's body in bytes; -1 if it is not known.
    public init(
        sent: Int64 = 0, expectedToSend: Int64 = -1, received: Int64 = 0,
        expectedToReceive: Int64 = -1
    ) {
        self.sent = sent
        self.expectedToSend = expectedToSend
        self.received = received
        self.expectedToReceive = expectedToReceive
    }
}

/// How a transfer ended.
///
/// The properties are declared `Optional<T>` instead of `T?`, because the implicit default `nil` of
/// `T?` makes the compiler initialise the value in memory, copy it and destroy the original.
public struct TransferResult: Sendable {
    /// The final head; `nil` if none arrived.
    public var response: Optional<HTTPResponse>
    /// The body, under ``BodyDelivery/collect`` only; `nil` if it is empty.
    public var body: Optional<Data>
    /// Why the transfer failed; `nil` if the response arrived completely.
    public var error: Optional<TransferError>
    /// Times and sizes of the transfer.
    public var metrics: TransferMetrics
    /// The trailer fields (RFC 9110 §6.5); `nil` if there are none.
    public var trailers: HTTPHeaders? {
        get { extras?.value.trailers }
        set { if newValue != nil || extras != nil { change { $0.trailers = newValue } } }
    }
    /// The proxy's answer to `CONNECT`, if it asks for a credential (407).
    public var tunnelRefusal: TunnelRefusal? {
        get { extras?.value.tunnelRefusal }
        set { if newValue != nil || extras != nil { change { $0.tunnelRefusal = newValue } } }
    }
    /// The response that the session's cache was about to store.
    package var proposedForCache: CachedResponse? {
        get { extras?.value.proposedForCache }
        set { if newValue != nil || extras != nil { change { $0.proposedForCache = newValue } } }
    }

    /// Boxed, because few results have any of these values.
    private var extras: Optional<Boxed<Extras>>

    private struct Extras: Sendable {
        var trailers: HTTPHeaders?
        var tunnelRefusal: TunnelRefusal?
        var proposedForCache: CachedResponse?
    }

    private mutating func change(_ body: (inout Extras) -> Void) {
        var changed = extras ?? Boxed(Extras())
        extras = nil
        body(&changed.value)
        extras = changed
    }

    /// Makes a result; by default an empty one without an error.
    ///
    /// - Parameters:
    ///   - response: The final head; `nil` if none arrived.
    ///   - body: The body, under ``BodyDelivery/collect`` only; `nil` if it is empty.
    ///   - trailers: The trailer fields; `nil` if there are none.
    ///   - error: Why the transfer failed; `nil` if the response arrived completely.
    ///   - metrics: Times and sizes of the transfer.
    ///   - tunnelRefusal: The proxy's answer to `CONNECT`, if it asks for a credential.
    public init(
        response: HTTPResponse? = nil, body: Data? = nil, trailers: HTTPHeaders? = nil,
        error: TransferError? = nil, metrics: TransferMetrics = TransferMetrics(),
        tunnelRefusal: TunnelRefusal? = nil
    ) {
        self.response = response
        self.body = body
        self.error = error
        self.metrics = metrics
        extras =
            trailers != nil || tunnelRefusal != nil
            ? Boxed(Extras(trailers: trailers, tunnelRefusal: tunnelRefusal)) : nil
    }
}

/// A result that is passed on without a copy, for instance to all requests that a cache answers
/// with it.
package final class KnownResult: Sendable {
    package let value: TransferResult

    package init(_ value: TransferResult) { self.value = value }
}

/// A proxy's answer to `CONNECT`; a class, because few results have one.
public final class TunnelRefusal: Sendable {
    /// The head of the answer.
    public let head: HTTPResponse

    /// Wraps a head.
    ///
    /// - Parameter head: The head of the proxy's answer to `CONNECT`.
    public init(head: HTTPResponse) {
        self.head = head
    }
}
