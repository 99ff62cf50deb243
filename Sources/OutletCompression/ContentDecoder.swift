import OutletHTTP

/// Decodes the content codings of a body (RFC 9110 §8.4.1) piece by piece, and detects their end.
///
/// libcurl can decode as well, but does not report whether a coded stream was complete, so that a
/// truncated one would be accepted.
///
/// Thread: one at a time.
package final class ContentDecoder {
    /// The error of a body that cannot be decoded.
    package struct Failure: Error, Equatable, CustomStringConvertible {
        /// The coding, and what is wrong with it.
        package let description: String
        /// Whether the body exceeds a limit, and may be well-formed.
        package let isExcess: Bool

        init(description: String, isExcess: Bool = false) {
            self.description = description
            self.isExcess = isExcess
        }
    }

    /// The result of a step of decoding.
    package enum Step {
        /// Decoded bytes, valid until the next call.
        case piece(UnsafeRawBufferPointer)
        /// Bytes passed from one coding to the next, which has not made any of them yet.
        case passed
        /// All input is consumed and all output was returned.
        case consumed
    }

    /// The decoder of one coding, implemented with a C library.
    protocol Engine: AnyObject {
        /// Whether the coded stream has ended; for some codings another one may follow.
        var isAtEnd: Bool { get }
        /// Decodes until the output is full or the input is consumed.
        ///
        /// - Parameters:
        ///   - input: Coded bytes; consumed ones are removed from its start.
        ///   - output: Filled from its start.
        /// - Returns: The number of bytes written; fewer than the output's size only if more input
        ///   is needed or the stream has ended.
        func decode(
            _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
        ) throws(Failure) -> Int
    }

    /// The largest number of codings of one body; more are refused as an attack.
    ///
    /// Each needs memory for its window: `br` up to 16 MiB, `zstd` up to 8 MiB. Servers apply one; two
    /// if a proxy compresses what was compressed before.
    package static let maximumCodings = 2
    /// The largest number of gzip members or zstd frames without content in one body.
    ///
    /// They cost time, but no limit on decoded bytes counts them.
    package static let maximumEmptyMembers = 1000
    /// The largest size of a decoded piece, in bytes.
    package static let pieceSize = 32 * 1024

    /// The supported codings.
    package static let codings = ["gzip", "x-gzip", "deflate", "br", "zstd"]

    private let engine: any Engine
    private let output: UnsafeMutableRawBufferPointer
    /// The decoder of the coding that was applied after this one, whose output is this one's input.
    private let outer: ContentDecoder?
    /// The bytes that ``outer`` has decoded and this decoder has not consumed.
    private var between = UnsafeRawBufferPointer(start: nil, count: 0)
    /// The number of bytes that ``outer`` has decoded.
    private var received: Int64 = 0

    /// Makes a decoder for the values of a `Content-Encoding` field.
    ///
    /// - Parameter fields: The values of all `Content-Encoding` fields, in order.
    /// - Returns: `nil` if they name no coding that changes the body.
    /// - Throws: ``Failure`` if a coding is not supported, if there are more than
    ///   ``maximumCodings``, or if there is not enough memory.
    package static func make(_ fields: [String]) throws(Failure) -> ContentDecoder? {
        var names: [String] = []
        for field in fields {
            for name in field.listItems().map(\.lowercasedASCII)
            where name != "identity" && name != "none" {
                names.append(name)
            }
        }
        guard names.count <= maximumCodings else {
            throw Failure(
                description: "\(names.count) codings on top of each other; "
                    + "at most \(maximumCodings) are undone")
        }
        // Codings are listed in the order in which they were applied (RFC 9110 §8.4).
        var decoder: ContentDecoder?
        for name in names.reversed() {
            decoder = ContentDecoder(try engine(name), outer: decoder)
        }
        return decoder
    }

    private static func engine(_ name: String) throws(Failure) -> any Engine {
        switch name {
        case "gzip", "x-gzip": try Inflater(.gzip)
        case "deflate": try Inflater(.deflate)
        case "br": try BrotliEngine()
        case "zstd": try ZstdEngine()
        default:
            throw Failure(
                description: "\(Redaction.standard.quote(name)): not a coding that is undone here: "
                    + codings.joined(separator: ", "))
        }
    }

    private init(_ engine: any Engine, outer: ContentDecoder?) {
        self.engine = engine
        self.outer = outer
        output = .allocate(byteCount: Self.pieceSize, alignment: 16)
    }

    deinit { output.deallocate() }

    /// Whether the coded streams of all codings have ended.
    package var isAtEnd: Bool {
        engine.isAtEnd && between.isEmpty && outer?.isAtEnd ?? true
    }

    /// The largest number of bytes that passed from one of the codings to the next.
    package private(set) var passed: Int64 = 0

    /// Decodes until a piece is full, the input is consumed, or a piece has passed from one coding to
    /// the next: each call takes a limited time.
    ///
    /// - Parameter input: Coded bytes; consumed ones are removed from its start. The memory must
    ///   stay valid until the decoder returns ``Step/consumed``.
    /// - Throws: ``Failure`` if the input is not valid for its coding, continues after its end, or has
    ///   more than ``maximumEmptyMembers``.
    package func decode(_ input: inout UnsafeRawBufferPointer) throws(Failure) -> Step {
        guard let outer else {
            let piece = try run(&input)
            return piece.isEmpty ? .consumed : .piece(piece)
        }
        let piece = try run(&between)
        guard piece.isEmpty else { return .piece(piece) }
        switch try outer.decode(&input) {
        case .piece(let bytes):
            between = bytes
            received += Int64(bytes.count)
            passed = max(received, outer.passed)
            return .passed
        case .passed:
            passed = max(received, outer.passed)
            return .passed
        case .consumed: return .consumed
        }
    }

    private func run(
        _ input: inout UnsafeRawBufferPointer
    ) throws(Failure) -> UnsafeRawBufferPointer {
        let count = try engine.decode(&input, into: output)
        return UnsafeRawBufferPointer(rebasing: output[..<count])
    }
}

/// Counts the members of a coding that have no content.
struct EmptyMembers {
    private var count = 0

    /// Records the end of a member.
    ///
    /// - Throws: `ContentDecoder.Failure` if too many were empty.
    mutating func end(
        isEmpty: Bool, _ coding: String
    ) throws(ContentDecoder.Failure) {
        guard isEmpty else { return }
        count += 1
        guard count > ContentDecoder.maximumEmptyMembers else { return }
        throw ContentDecoder.Failure(
            description: "\(coding): more than \(ContentDecoder.maximumEmptyMembers) parts without "
                + "content", isExcess: true)
    }
}
