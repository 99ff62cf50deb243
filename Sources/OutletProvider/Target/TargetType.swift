public import FoundationEssentials
public import OutletHTTP
import OutletSession

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
        let (base, path) = (target.baseURL, target.path)
        self =
            path.isEmpty
            ? base : Self.joined(base, path) ?? base.appendingPathComponent(path)
    }

    /// What `appendingPathComponent` makes, of a base and a path that are joined as they are, without a
    /// thought of escapes and dots: it costs a fifth of a request (`Benchmarks/count provider`).
    private static func joined(_ base: URL, _ path: String) -> URL? {
        guard base.baseURL == nil else { return nil }
        var (start, end) = (base.absoluteString, path)
        let text = start.withUTF8 { start in end.withUTF8 { joined(start, $0) } }
        return text.flatMap { ParsedURLCache.shared.url($0) }
    }

    private static func joined(
        _ base: UnsafeBufferPointer<UInt8>, _ path: UnsafeBufferPointer<UInt8>
    ) -> String? {
        let slash = UInt8(ascii: "/")
        let head = base.last == slash ? base.dropLast() : base[...]
        guard base.starts(with: "http".utf8), head.last != slash,
            base.allSatisfy(\.isPlainInBase)
        else { return nil }
        var former = slash
        let tail = path.first == slash ? path.dropFirst() : path[...]
        for byte in tail {
            guard byte == slash ? former != slash : byte.isPlain else { return nil }
            former = byte
        }
        return String(unsafeUninitializedCapacity: head.count + 1 + tail.count) { text in
            let middle = text.update(fromContentsOf: head)
            text[middle] = slash
            return text[(middle + 1)...].update(fromContentsOf: tail)
        }
    }
}

extension UInt8 {
    /// A letter, a digit, or what needs no escape either; not a dot, which may be a segment of its own.
    fileprivate var isPlain: Bool {
        isAlpha || isDigit || self == UInt8(ascii: "-") || self == UInt8(ascii: "_")
    }

    /// The same, and what parts an address down to its path.
    fileprivate var isPlainInBase: Bool {
        isPlain || self == UInt8(ascii: ":") || self == UInt8(ascii: "/")
            || self == UInt8(ascii: ".")
    }
}
