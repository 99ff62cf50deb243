import FoundationEssentials
import OutletHTTP

/// Parses the pieces of a body into values, in order; a new parser for each attempt.
protocol StreamParser: SendableMetatype {
    associatedtype Value: Sendable
    associatedtype Failure: Error

    /// Whether it calls no user code.
    static var isQuick: Bool { get }

    /// Returns why the parser cannot read the body of a response; `nil` if it can.
    static func refusal(of head: HTTPResponse) -> SessionError?

    /// Returns the values of a piece: any number.
    mutating func feed(_ data: Data) -> [Result<Value, Failure>]
    /// Returns the values that are left at the end of the body.
    mutating func finish() -> [Result<Value, Failure>]
}

extension StreamParser {
    static var isQuick: Bool { true }

    static func refusal(of head: HTTPResponse) -> SessionError? { nil }

    mutating func finish() -> [Result<Value, Failure>] { [] }
}

/// Returns pieces unchanged.
struct PassthroughParser: StreamParser {
    func feed(_ data: Data) -> [Result<Data, Never>] { [.success(data)] }
}

/// Passes each piece to a serializer.
struct SerializingParser<Serializer: DataStreamSerializer>: StreamParser {
    let serializer: Serializer

    static var isQuick: Bool { false }

    func feed(_ data: Data) -> [Result<Serializer.SerializedObject, SessionError>] {
        let result = Result { try serializer.serialize(data) }
        return [
            result.mapError { error in
                error.asSessionError {
                    .responseSerializationFailed(reason: .customSerializationFailed(error: $0))
                }
            }
        ]
    }
}

/// Decodes UTF-8 text; invalid bytes become U+FFFD.
///
/// A character that is split across two pieces is returned with the second.
struct TextParser: StreamParser {
    private var rest = Data()

    mutating func feed(_ data: Data) -> [Result<String, Never>] {
        let bytes = rest + data
        let whole = bytes.dropLast(Self.incompleteSuffix(of: bytes))
        rest = Data(bytes.dropFirst(whole.count))
        return whole.isEmpty ? [] : [.success(String(decoding: whole, as: UTF8.self))]
    }

    mutating func finish() -> [Result<String, Never>] {
        defer { rest = Data() }
        return rest.isEmpty ? [] : [.success(String(decoding: rest, as: UTF8.self))]
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
    private var parser: Parser
    private var attempt = 0

    init(_ make: @escaping @Sendable () -> Parser) {
        self.make = make
        parser = make()
    }

    func feed(_ data: Data, attempt: Int) -> [Result<Parser.Value, Parser.Failure>] {
        if attempt != self.attempt {
            self.attempt = attempt
            parser = make()
        }
        return parser.feed(data)
    }

    func finish() -> [Result<Parser.Value, Parser.Failure>] { parser.finish() }
}
