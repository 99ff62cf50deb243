public import FoundationEssentials
public import OutletHTTP

/// How many body bytes have passed; totals are -1 where unknown.
public struct TransferCounts: Sendable, Equatable {
    /// Bytes of the request's body handed to the network.
    public var sent: Int64
    /// Bytes of the request's body in all.
    public var expectedToSend: Int64
    /// Bytes of the response's body received, decoded.
    public var received: Int64
    /// Bytes of the response's body in all, as announced.
    public var expectedToReceive: Int64

    /// Makes counts.
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
/// `Optional` is spelled out, because what begins as `nil` by itself has the compiler make the value
/// in memory, copy it and destroy the first.
public struct TransferResult: Sendable {
    /// The final head, if one arrived.
    public var response: Optional<HTTPResponse>
    /// The body, under ``BodyDelivery/collect``; `nil` when no byte arrived.
    public var body: Optional<Data>
    /// Why it failed; `nil` when the response arrived whole.
    public var error: Optional<TransferError>
    /// What was measured.
    public var metrics: TransferMetrics
    /// Trailer fields (RFC 9110 §6.5).
    public var trailers: HTTPHeaders? {
        get { extras?.value.trailers }
        set { if newValue != nil || extras != nil { change { $0.trailers = newValue } } }
    }
    /// The head of a proxy that wants a credential before it makes way (407 to `CONNECT`).
    public var tunnelRefusal: TunnelRefusal? {
        get { extras?.value.tunnelRefusal }
        set { if newValue != nil || extras != nil { change { $0.tunnelRefusal = newValue } } }
    }
    /// What the session's cache was about to keep of it.
    package var proposedForCache: CachedResponse? {
        get { extras?.value.proposedForCache }
        set { if newValue != nil || extras != nil { change { $0.proposedForCache = newValue } } }
    }

    /// By reference, because few results have any.
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

    /// Makes a result.
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

/// A proxy's answer to `CONNECT`; a class, because few results have one.
public final class TunnelRefusal: Sendable {
    /// The head.
    public let head: HTTPResponse

    /// Keeps a head.
    public init(head: HTTPResponse) {
        self.head = head
    }
}
