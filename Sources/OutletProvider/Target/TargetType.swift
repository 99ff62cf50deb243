public import FoundationEssentials
public import OutletHTTP
import OutletSession

/// One call of an API as a value: URL, method, headers, body.
public protocol TargetType: Sendable {
    /// The base URL of the API.
    var baseURL: URL { get }
    /// The path, appended to ``baseURL``; not percent-encoded, so `?` and `%` are escaped.
    var path: String { get }
    /// The request method.
    var method: HTTPMethod { get }
    /// The body of the sample response; empty by default.
    var sampleData: Data { get }
    /// The kind of the request, its body and parameters.
    var task: HTTPTask { get }
    /// Which status codes are accepted; all by default.
    var validationType: ValidationType { get }
    /// The headers; `nil` for none.
    var headers: [String: String]? { get }
    /// Facts for plugins and logs, which read them as `target.<name>`; none by default.
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
///
/// Another one fails the call with ``ProviderError/underlying(_:_:)`` and
/// `SessionError.responseValidationFailed(reason:)`.
public enum ValidationType: Sendable, Equatable {
    /// All.
    case none
    /// 200 to 299.
    case successCodes
    /// 200 to 399.
    case successAndRedirectCodes
    /// The listed codes; an empty list accepts all.
    case customCodes([Int])

    /// The accepted codes; empty if all are.
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
    /// Makes the URL of a target: ``TargetType/baseURL`` with ``TargetType/path`` appended.
    ///
    /// Exactly one slash separates the two, whether they end or begin with one or not. A query of
    /// the base URL follows the path. An empty path leaves the base URL unchanged.
    ///
    /// - Parameter target: The target.
    public init<Target: TargetType>(target: Target) {
        self = Self.address(of: target).url
    }

    /// As ``init(target:)``, which would copy the target.
    static func address<Target: TargetType>(of target: Target) -> TargetAddress {
        let (base, path) = (target.baseURL, target.path)
        return RecentAddress.shared.address(base, path) {
            path.isEmpty ? base : joined(base, path) ?? base.appendingPathComponent(path)
        }
    }

    /// Joins a base and a path that need no escaping; `nil` for others.
    ///
    /// Faster than `appendingPathComponent`, which takes a tenth of a request's instructions
    /// if ``RecentAddress`` does not know the address (`Benchmarks/tricks joined-address`).
    private static func joined(_ base: URL, _ path: String) -> URL? {
        guard base.baseURL == nil else { return nil }
        var (start, end) = (base.absoluteString, path)
        return start.withUTF8 { start in end.withUTF8 { joined(start, $0) } }
    }

    private static func joined(
        _ base: UnsafeBufferPointer<UInt8>, _ path: UnsafeBufferPointer<UInt8>
    ) -> URL? {
        let slash = UInt8(ascii: "/")
        let head = base.last == slash ? base.dropLast() : base[...]
        guard base.startsIgnoringCase(with: "http"), head.last != slash,
            base.allSatisfy(\.isPlainInBase)
        else { return nil }
        var former = slash
        let tail = path.first == slash ? path.dropFirst() : path[...]
        for byte in tail {
            guard byte == slash ? former != slash : byte.isPlain else { return nil }
            former = byte
        }
        let count = head.count + 1 + tail.count
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: count) { text in
            let middle = text.initialize(fromContentsOf: head)
            text.initializeElement(at: middle, to: slash)
            _ = text[(middle + 1)...].initialize(fromContentsOf: tail)
            return ParsedURLCache.shared.url(UnsafeBufferPointer(text))
        }
    }
}

extension UInt8 {
    /// A letter, a digit, `-` or `_`; not a dot, because `.` and `..` are segments of their own.
    fileprivate var isPlain: Bool {
        isAlpha || isDigit || self == UInt8(ascii: "-") || self == UInt8(ascii: "_")
    }

    /// ``isPlain``, or `:`, `/` or `.`.
    fileprivate var isPlainInBase: Bool {
        isPlain || self == UInt8(ascii: ":") || self == UInt8(ascii: "/")
            || self == UInt8(ascii: ".")
    }
}
