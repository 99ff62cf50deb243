package import OutletHTTP

/// Thrown by a ``SynchronousRequestAdapter`` that has begun to adapt a request and will answer later.
package struct AnswerFollows: Error {
    /// Asks for the answer; returns as ``AbandonableAdapter/beginAdapting(_:using:_:)``.
    package typealias Begin =
        @Sendable (_ completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void)
        -> (@Sendable () -> Void)?

    let begin: Begin

    /// - Parameter begin: Called once.
    package init(_ begin: @escaping Begin) { self.begin = begin }
}
