public import FoundationEssentials
public import OutletHTTP

/// Wraps a target of any type, for a provider of several target types.
public enum MultiTarget: TargetType {
    /// Wraps a target.
    case target(any TargetType)

    /// Wraps a target.
    ///
    /// - Parameter target: The target to wrap.
    public init(_ target: any TargetType) {
        self = .target(target)
    }

    /// The wrapped target, never a ``MultiTarget`` itself.
    public var target: any TargetType {
        switch self {
        case .target(let target): (target as? MultiTarget)?.target ?? target
        }
    }

    /// The target's.
    public var baseURL: URL { target.baseURL }
    /// The target's.
    public var path: String { target.path }
    /// The target's.
    public var method: HTTPMethod { target.method }
    /// The target's.
    public var sampleData: Data { target.sampleData }
    /// The target's.
    public var task: HTTPTask { target.task }
    /// The target's.
    public var validationType: ValidationType { target.validationType }
    /// The target's.
    public var headers: [String: String]? { target.headers }
    /// The target's.
    public var attributes: [String: String] { target.attributes }
}
