import FoundationEssentials
import OutletHTTP

/// Makes values of a body's pieces, in order; a new one for each attempt.
protocol StreamParser: SendableMetatype {
    associatedtype Value: Sendable
    associatedtype Failure: Error

    /// Whether it runs no code of the user's.
    static var isQuick: Bool { get }

    /// Why the body of a response is not for this parser.
    static func refusal(of head: HTTPResponse) -> SessionError?

    /// What a piece brings: any number of values.
    mutating func feed(_ data: Data) -> [Result<Value, Failure>]
    /// What is left at the end.
    mutating func finish() -> [Result<Value, Failure>]
}

extension StreamParser {
    static var isQuick: Bool { true }

    static func refusal(of head: HTTPResponse) -> SessionError? { nil }

    mutating func finish() -> [Result<Value, Failure>] { [] }
}

/// Pieces as they are.
struct PassthroughParser: StreamParser {
    func feed(_ data: Data) -> [Result<Data, Never>] { [.success(data)] }
}

/// Each piece through a serializer.
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

/// Text in UTF-8; what is not is replaced by U+FFFD.
///
/// A character that lies across two pieces comes with the second.
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

    /// How many bytes at the end begin a character that more bytes may complete.
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

/// A parser that is used by one pipe.
final class ParserBox<Parser: StreamParser>: @unchecked Sendable {
    // because a pipe runs one thing at a time, each after the other has ended.
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
