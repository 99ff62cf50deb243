import FoundationEssentials
import OutletHTTP

/// Parses the pieces of a body into values, in order; a new parser for each attempt.
protocol StreamParser: SendableMetatype {
    associatedtype Value: Sendable
    associatedtype Failure: Error

    /// Whether it calls no user code.
    static var isQuick: Bool { get }

    /// Whether nothing follows its first failure, so that the request ends with that.
    static var endsAtFailure: Bool { get }

    /// Returns why the parser cannot read the body of a response; `nil` if it can.
    static func refusal(of head: HTTPResponse) -> SessionError?

    /// Receives a value.
    typealias Receiver = (_ result: consuming Result<Value, Failure>) -> Void

    /// Parses a piece, and passes its values to `receive`: any number.
    mutating func feed(_ data: Data, _ receive: Receiver)
    /// Passes the values that are left at the end of the body to `receive`.
    mutating func finish(_ receive: Receiver)
}

extension StreamParser {
    static var isQuick: Bool { true }

    static var endsAtFailure: Bool { false }

    static func refusal(of head: HTTPResponse) -> SessionError? { nil }

    mutating func finish(_ receive: Receiver) {}
}

/// Returns pieces unchanged.
struct PassthroughParser: StreamParser {
    func feed(_ data: Data, _ receive: (consuming Result<Data, Never>) -> Void) {
        receive(.success(data))
    }
}

/// Passes each piece to a serializer.
struct SerializingParser<Serializer: DataStreamSerializer>: StreamParser {
    let serializer: Serializer

    static var isQuick: Bool { false }

    func feed(
        _ data: Data,
        _ receive: (consuming Result<Serializer.SerializedObject, SessionError>) -> Void
    ) {
        let result = Result { try serializer.serialize(data) }
        receive(
            result.mapError { error in
                error.asSessionError {
                    .responseSerializationFailed(reason: .customSerializationFailed(error: $0))
                }
            })
    }
}

/// Decodes UTF-8 text; invalid bytes become U+FFFD.
///
/// A character that is split across two pieces is returned with the second.
struct TextParser: StreamParser {
    private var rest = Data()

    mutating func feed(_ data: Data, _ receive: (consuming Result<String, Never>) -> Void) {
        let bytes = rest + data
        let whole = bytes.dropLast(Self.incompleteSuffix(of: bytes))
        rest = Data(bytes.dropFirst(whole.count))
        if !whole.isEmpty { receive(.success(String(decoding: whole, as: UTF8.self))) }
    }

    mutating func finish(_ receive: (consuming Result<String, Never>) -> Void) {
        if !rest.isEmpty { receive(.success(String(decoding: rest, as: UTF8.self))) }
        rest = Data()
    }

    /// The number of bytes at the end that are the start of an incomplete character.
    private static func incompleteSuffix(of bytes: Data) -> Int {
        for (index, byte) in bytes.suffix(3).reversed().enumerated() {
            switch byte {
            case 0x80...0xBF: continue
            case 0xC2...0xDF: return index < 1 ? index + 1 : 0
            case 0xE0...0xEF: return index < 2 ? index + 1 : 0
            case 0xF0...0xF4: return index < 3 ? index + 1 : 0
            default: return 0
            }
        }
        return 0
    }
}

/// The parser of one pipe.
final class ParserBox<Parser: StreamParser>: @unchecked Sendable {
    // because a pipe processes one item at a time.
    private let make: @Sendable () -> Parser
    /// Whether the values are passed on to another queue.
    let passesOn: Bool
    private var parser: Parser
    private var attempt = 0
    /// Whether a failure ends the request, so that nothing follows it.
    var hasEnded = false

    init(_ make: @escaping @Sendable () -> Parser, passesOn: Bool = false) {
        self.make = make
        self.passesOn = passesOn
        parser = make()
    }

    func parse(_ item: DataStreamRequest.Item, _ receive: Parser.Receiver) {
        switch item {
        case .chunk(let data, let attempt, _):
            if attempt != self.attempt {
                self.attempt = attempt
                parser = make()
            }
            parser.feed(data, receive)
        case .completion: parser.finish(receive)
        }
    }
}
