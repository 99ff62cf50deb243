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
    package static let maximumCodings = 5
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

    /// Decodes until a piece is full or the input is consumed.
    ///
    /// - Parameter input: Coded bytes; consumed ones are removed from its start. The memory must
    ///   stay valid until the decoder returns an empty piece.
    /// - Returns: Decoded bytes, valid until the next call; empty if all input is consumed and all
    ///   output was returned.
    /// - Throws: ``Failure`` if the input is not valid for its coding, or continues after its end.
    package func decode(
        _ input: inout UnsafeRawBufferPointer
    ) throws(Failure) -> UnsafeRawBufferPointer {
        guard let outer else { return try step(&input) }
        while true {
            let piece = try step(&between)
            guard piece.isEmpty else { return piece }
            between = try outer.decode(&input)
            if between.isEmpty { return between }
        }
    }

    private func step(
        _ input: inout UnsafeRawBufferPointer
    ) throws(Failure) -> UnsafeRawBufferPointer {
        let count = try engine.decode(&input, into: output)
        return UnsafeRawBufferPointer(rebasing: output[..<count])
    }
}
