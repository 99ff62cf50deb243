package import OutletHTTP

/// Thrown by a ``SynchronousRequestAdapter`` that has begun to adapt a request and will answer
/// later.
package struct AnswerFollows: Error {
    /// Sets the closure that receives the answer; the result is that of
    /// ``AbandonableAdapter/beginAdapting(_:using:_:)``.
    package typealias Begin =
        @Sendable (_ completion: @escaping @Sendable (Result<HTTPRequest, any Error>) -> Void)
        -> (@Sendable () -> Void)?

    let begin: Begin

    /// - Parameter begin: Called once.
    package init(_ begin: @escaping Begin) { self.begin = begin }
}
