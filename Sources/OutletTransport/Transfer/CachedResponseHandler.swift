/// Decides whether, and as what, a response is stored in the session's cache.
public protocol CachedResponseHandler: Sendable {
    /// Answers with what is to be stored, or with `nil` for nothing.
    ///
    /// Asked for responses of all kinds of requests that HTTP allows to be stored; the request goes on
    /// once it has answered, and without storing once the session's `interceptorTimeout` has
    /// passed.
    ///
    /// - Parameters:
    ///   - task: The transfer that brought the response.
    ///   - response: What would be stored.
    ///   - completion: To be called exactly once; a second call is ignored.
    ///
    /// Thread: the session's request queue.
    func dataTask(
        _ task: any TransferTask, willCacheResponse response: CachedResponse,
        completion: @escaping @Sendable (CachedResponse?) -> Void)
}

/// A cached-response handler of the usual kinds.
public struct ResponseCacher: CachedResponseHandler {
    /// What is done with a response that may be stored.
    public enum Behavior: Sendable {
        /// It is stored.
        case cache
        /// It is not.
        case doNotCache
        /// The closure says what to store, `nil` for nothing.
        case modify(
            @Sendable (_ task: any TransferTask, _ response: CachedResponse) -> CachedResponse?)
    }

    /// Stores what may be stored.
    public static let cache = ResponseCacher(behavior: .cache)
    /// Stores nothing.
    public static let doNotCache = ResponseCacher(behavior: .doNotCache)

    /// What is done with a response that may be stored.
    public let behavior: Behavior

    /// Makes a handler.
    ///
    /// - Parameter behavior: What is done with each response that the cache would store.
    public init(behavior: Behavior) {
        self.behavior = behavior
    }

    /// Answers as the behaviour says.
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
    /// Stores what may be stored.
    public static var cache: ResponseCacher { ResponseCacher.cache }
    /// Stores nothing.
    public static var doNotCache: ResponseCacher { ResponseCacher.doNotCache }

    /// Asks a closure what to store, `nil` for nothing.
    public static func modify(
        using closure:
            @escaping @Sendable (_ task: any TransferTask, _ response: CachedResponse) ->
            CachedResponse?
    ) -> ResponseCacher { ResponseCacher(behavior: .modify(closure)) }
}
