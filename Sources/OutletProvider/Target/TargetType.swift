public import FoundationEssentials
public import OutletHTTP

/// One call of an API, as a value: where to, how, with what.
public protocol TargetType: Sendable {
    /// What the API's addresses have in common.
    var baseURL: URL { get }
    /// What is appended to ``baseURL``; appended as text, so `?` and `%` are escaped.
    var path: String { get }
    /// The request method.
    var method: HTTPMethod { get }
    /// The body of the stubbed response; empty by default.
    var sampleData: Data { get }
    /// What is sent, and how.
    var task: HTTPTask { get }
    /// Which status codes are accepted; all by default.
    var validationType: ValidationType { get }
    /// The header fields.
    var headers: [String: String]? { get }
    /// Facts for plugins and logs, readable as `target.<name>` there; none by default.
    var attributes: [String: String] { get }
}

extension TargetType {
    /// Accepts all status codes.
    public var validationType: ValidationType { .none }
    /// No bytes.
    public var sampleData: Data { Data() }
    /// None.
    public var attributes: [String: String] { [:] }
}

/// Which status codes are accepted.
public enum ValidationType: Sendable, Equatable {
    /// All.
    case none
    /// 200 to 299.
    case successCodes
    /// 200 to 399.
    case successAndRedirectCodes
    /// Those listed; all when none is.
    case customCodes([Int])

    /// The accepted codes; empty when all are.
    public var statusCodes: [Int] {
        switch self {
        case .none: []
        case .successCodes: Array(200..<300)
        case .successAndRedirectCodes: Array(200..<400)
        case .customCodes(let codes): codes
        }
    }
}

extension URL {
    /// The address of a target: its base and, unless empty, its path behind it.
    ///
    /// One slash joins them whatever the two carry; the base's query stays behind the new path.
    public init<Target: TargetType>(target: Target) {
        self =
            target.path.isEmpty
            ? target.baseURL : target.baseURL.appendingPathComponent(target.path)
    }
}
