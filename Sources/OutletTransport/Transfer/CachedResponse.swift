public import FoundationEssentials
public import OutletHTTP

/// A response as a cache stores it.
public struct CachedResponse: Sendable, Equatable {
    /// Where a response may be stored.
    public enum StoragePolicy: String, Sendable, Codable {
        /// In memory and on disk.
        case allowed
        /// In memory.
        case allowedInMemoryOnly
        /// Nowhere.
        case notAllowed
    }

    /// The head.
    public var response: HTTPResponse
    /// The body, decoded.
    public var data: Data
    /// Values of the application that are stored with the response; `nil` for none.
    public var userInfo: [String: String]?
    /// Where the response may be stored.
    public var storagePolicy: StoragePolicy

    /// Makes a response to store.
    ///
    /// - Parameters:
    ///   - response: The head.
    ///   - data: The body, decoded.
    ///   - userInfo: Values of the application to store with the response; `nil` for none.
    ///   - storagePolicy: Where it may be stored; by default in memory and on disk.
    public init(
        response: HTTPResponse, data: Data, userInfo: [String: String]? = nil,
        storagePolicy: StoragePolicy = .allowed
    ) {
        self.response = response
        self.data = data
        self.userInfo = userInfo
        self.storagePolicy = storagePolicy
    }
}
