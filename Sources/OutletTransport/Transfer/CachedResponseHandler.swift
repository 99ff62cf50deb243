/// Decides whether a response is stored in the session's cache, and may change what is stored.
public protocol CachedResponseHandler: Sendable {
    /// Calls `completion` with the response to store, or with `nil` to store nothing.
    ///
    /// Called for each response that HTTP allows to be stored, of all kinds of requests. The
    /// request continues when `completion` is called. When the session's `interceptorTimeout` has
    /// passed, the request continues and nothing is stored.
    ///
    /// - Parameters:
    ///   - task: The transfer of the response.
    ///   - response: What would be stored.
    ///   - completion: Must be called exactly once; a second call is ignored.
    ///
    /// Thread: the session's request queue.
    func dataTask(
        _ task: any TransferTask, willCacheResponse response: CachedResponse,
        completion: @escaping @Sendable (CachedResponse?) -> Void)
}

/// A cached-response handler that stores responses, does not store them, or changes them first.
public struct ResponseCacher: CachedResponseHandler {
    /// What happens with a response that may be stored.
    public enum Behavior: Sendable {
        /// It is stored.
        case cache
        /// It is not stored.
        case doNotCache
        /// The closure returns the response to store, or `nil` to store nothing.
        case modify(
            @Sendable (_ task: any TransferTask, _ response: CachedResponse) -> CachedResponse?)
    }

    /// Stores all responses that may be stored.
    public static let cache = ResponseCacher(behavior: .cache)
    /// Stores nothing.
    public static let doNotCache = ResponseCacher(behavior: .doNotCache)

    /// What happens with a response that may be stored.
    public let behavior: Behavior

    /// Makes a handler.
    ///
    /// - Parameter behavior: What happens with each response that may be stored.
    public init(behavior: Behavior) {
        self.behavior = behavior
    }

    /// Calls `completion` according to ``behavior``, before this returns.
    ///
    /// - Parameters:
    ///   - task: The transfer of the response.
    ///   - response: What would be stored.
    ///   - completion: Called once, on the calling thread, with the response to store or with
    ///     `nil`.
    public func dataTask(
        _ task: any TransferTask, willCacheResponse response: CachedResponse,
        completion: @escaping @Sendable (CachedResponse?) -> Void
    ) {
        switch behavior {
        case .cache: completion(response)
        case .doNotCache: completion(nil)
        case .modify(let closure): completion(closure(task, response))
        }
    }
}

extension CachedResponseHandler where Self == ResponseCacher {
    /// Stores all responses that may be stored.
    public static var cache: ResponseCacher { ResponseCacher.cache }
    /// Stores nothing.
    public static var doNotCache: ResponseCacher { ResponseCacher.doNotCache }

    /// Stores what a closure returns.
    ///
    /// - Parameter closure: Returns the response to store, or `nil` to store nothing. Called for
    ///   each response that may be stored, on the session's request queue.
    public static func modify(
        using closure:
            @escaping @Sendable (_ task: any TransferTask, _ response: CachedResponse) ->
            CachedResponse?
    ) -> ResponseCacher { ResponseCacher(behavior: .modify(closure)) }
}
