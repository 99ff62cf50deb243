public import FoundationEssentials
public import OutletHTTP

/// Which requests are answered, and with what, one answer after the other.
public struct Stub: Sendable {
    /// What the stub is called in reports.
    public var name: String
    /// Which requests it answers.
    public var matcher: RequestMatcher
    /// What it answers, in turn.
    public var answers: [StubAnswer]
    /// Whether the last answer is given again and again; if not, the stub answers no more.
    public var repeatsLast: Bool

    /// Makes a stub with several answers.
    ///
    /// - Parameters:
    ///   - matcher: Which requests it answers.
    ///   - name: What it is called in reports; the matcher's description if `nil`.
    ///   - answers: What it answers, in turn.
    ///   - repeatsLast: Whether the last answer is given again and again.
    public init(
        _ matcher: RequestMatcher, name: String? = nil, answers: [StubAnswer],
        repeatsLast: Bool = true
    ) {
        self.name = name ?? matcher.description
        self.matcher = matcher
        self.answers = answers
        self.repeatsLast = repeatsLast
    }

    /// Makes a stub that always gives the same answer.
    public init(_ matcher: RequestMatcher, name: String? = nil, _ answer: StubAnswer) {
        self.init(matcher, name: name, answers: [answer])
    }
}

/// A request that came to a stubbed transport.
public struct RecordedRequest: Sendable, Equatable {
    /// The request as it would have gone on the wire.
    public let request: HTTPRequest
    /// Its body, read to the end.
    public let body: Data
    /// Which stub has answered; `nil` when none did, or a closure.
    public let stub: String?
}

/// What is wrong between the stubs and the requests that came.
public enum StubError: Error, Equatable, Sendable {
    /// A request came that no stub answers.
    ///
    /// - Parameters:
    ///   - request: Method and address.
    ///   - nearMisses: What kept the stubs from answering, the nearest first.
    case unmatched(request: String, nearMisses: [String])
    /// Stubs have not given all their answers.
    case unused(stubs: [String])
}

extension StubError: CustomStringConvertible {
    /// What is wrong, and the facts.
    public var description: String {
        switch self {
        case .unmatched(let request, let nearMisses):
            "\(request): no stub answers it: "
                + (nearMisses.isEmpty ? "there are none" : nearMisses.joined(separator: "; "))
        case .unused(let stubs): "stubs: not used: \(stubs.joined(separator: "; "))"
        }
    }
}

/// The stubs of a transport, and what they have answered.
struct StubTable: Sendable {
    private var stubs: [(stub: Stub, given: Int)] = []
    private static let reported = 5

    init(_ stubs: [Stub]) {
        self.stubs = stubs.map { ($0, 0) }
    }

    mutating func append(_ stub: Stub) {
        stubs.append((stub, 0))
    }

    /// The first stub's answer that matches and has one left.
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
        // Sorting by number keeps the order among equals.
        let nearest = misses.enumerated()
            .sorted { ($0.element.count, $0.offset) < ($1.element.count, $1.offset) }
            .prefix(Self.reported).map(\.element.text)
        throw .unmatched(request: request.shown, nearMisses: nearest)
    }

    /// Which stubs have answers left that were never given.
    var unused: [String] {
        stubs.compactMap { stub, given in
            guard given < stub.answers.count else { return nil }
            return "'\(stub.name)': \(given) of \(stub.answers.count) answers given"
        }
    }
}
