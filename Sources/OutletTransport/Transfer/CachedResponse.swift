public import FoundationEssentials
public import OutletHTTP

/// A response as a cache keeps it.
public struct CachedResponse: Sendable, Equatable {
    /// Where a response may be kept.
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
    /// Values of the program's own that are stored beside the response.
    public var userInfo: [String: String]?
    /// Where it may be kept.
    public var storagePolicy: StoragePolicy

    /// Makes a response to be kept.
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
