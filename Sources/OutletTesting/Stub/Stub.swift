public import FoundationEssentials
public import OutletHTTP

/// Answers the requests that a matcher selects.
public struct Stub: Sendable {
    /// The name of the stub in error messages.
    public var name: String
    /// Selects the requests that the stub answers.
    public var matcher: RequestMatcher
    /// The answers, one for each request, in order.
    public var answers: [StubAnswer]
    /// Whether the last answer is repeated; if not, the stub matches no further requests.
    public var repeatsLast: Bool

    /// Makes a stub with several answers.
    ///
    /// - Parameters:
    ///   - matcher: Selects the requests that the stub answers.
    ///   - name: The name in error messages; the matcher's description if `nil`.
    ///   - answers: The answers, one for each request, in order; a stub without any matches no
    ///     request.
    ///   - repeatsLast: Whether the last answer is repeated; if not, the stub matches no further
    ///     requests after it.
    public init(
        _ matcher: RequestMatcher, name: String? = nil, answers: [StubAnswer],
        repeatsLast: Bool = true
    ) {
        self.name = name ?? matcher.description
        self.matcher = matcher
        self.answers = answers
        self.repeatsLast = repeatsLast
    }

    /// Makes a stub that gives the same answer to every request.
    ///
    /// - Parameters:
    ///   - matcher: Selects the requests that the stub answers.
    ///   - name: The name in error messages; the matcher's description if `nil`.
    ///   - answer: The answer to every request.
    public init(_ matcher: RequestMatcher, name: String? = nil, _ answer: StubAnswer) {
        self.init(matcher, name: name, answers: [answer])
    }
}

/// A request that a ``StubTransport`` received.
public struct RecordedRequest: Sendable, Equatable {
    /// The request as a network transport would send it.
    public let request: HTTPRequest
    /// The whole body; empty without one.
    public let body: Data
    /// The name of the stub that answered; `nil` if none matched, or a closure answered.
    public let stub: String?
}

/// The received requests do not fit the stubs.
public enum StubError: Error, Equatable, Sendable {
    /// No stub matches a request.
    ///
    /// - Parameters:
    ///   - request: Method and URL, secrets redacted.
    ///   - nearMisses: Why stubs do not match, the one with the fewest reasons first; at most five.
    case unmatched(request: String, nearMisses: [String])
    /// Stubs have answers left; each text has the stub's name, and how many answers it gave.
    case unused(stubs: [String])
}

extension StubError: CustomStringConvertible, LocalizedError {
    /// What is wrong, and the facts.
    public var description: String {
        switch self {
        case .unmatched(let request, let nearMisses):
            "\(request): no stub answers it: "
                + (nearMisses.isEmpty ? "there are none" : nearMisses.joined(separator: "; "))
        case .unused(let stubs): "stubs: not used: \(stubs.joined(separator: "; "))"
        }
    }

    /// The ``description``, for `localizedDescription`.
    public var errorDescription: String? { description }
}

/// The stubs of a transport, and how many answers each has given.
struct StubTable: Sendable {
    private var stubs: [(stub: Stub, given: Int)] = []
    private static let reported = 5

    init(_ stubs: [Stub]) {
        self.stubs = stubs.map { ($0, 0) }
    }

    mutating func append(_ stub: Stub) {
        stubs.append((stub, 0))
    }

    /// Takes the next answer of the first stub that matches and has one left.
    mutating func answer(
        _ request: HTTPRequest, body: Data
    ) throws(StubError) -> (answer: StubAnswer, stub: String) {
        var misses: [(text: String, count: Int)] = []
        for index in stubs.indices {
            let (stub, given) = stubs[index]
            var reasons = stub.matcher.misses(of: request, body: body)
            let isUsedUp = given >= stub.answers.count && !(stub.repeatsLast && given > 0)
            if isUsedUp { reasons.append("all \(stub.answers.count) answers are given") }
            guard !reasons.isEmpty else {
                stubs[index].given += 1
                return (stub.answers[min(given, stub.answers.count - 1)], stub.name)
            }
            misses.append(("'\(stub.name)': \(reasons.joined(separator: ", "))", reasons.count))
        }
        // The offset keeps the order of equal counts.
        let nearest = misses.enumerated()
            .sorted { ($0.element.count, $0.offset) < ($1.element.count, $1.offset) }
            .prefix(Self.reported).map(\.element.text)
        throw .unmatched(request: request.shown, nearMisses: nearest)
    }

    /// The stubs that have answers left.
    var unused: [String] {
        stubs.compactMap { stub, given in
            guard given < stub.answers.count else { return nil }
            return "'\(stub.name)': \(given) of \(stub.answers.count) answers given"
        }
    }
}
