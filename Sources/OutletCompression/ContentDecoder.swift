import OutletHTTP

/// Undoes the codings of a body (RFC 9110 §8.4.1) piece by piece, and knows whether it saw their end.
///
/// libcurl decodes as well, but tells nobody whether a coded stream had come to its end, so that half
/// of one counts as whole.
///
/// Thread: one at a time.
package final class ContentDecoder {
    /// Why a body cannot be decoded.
    package struct Failure: Error, Equatable, CustomStringConvertible {
        /// The coding, and what is wrong with it.
        package let description: String
    }

    /// One coding, as a library undoes it.
    protocol Engine: AnyObject {
        /// The coded stream has ended; more bytes may begin another one where the coding allows it.
        var isAtEnd: Bool { get }
        /// Decodes as much as fits.
        ///
        /// - Parameter input: Coded bytes; those that were used up are taken off its front.
        /// - Returns: How many bytes were written; less than there is room for when the input is
        ///   used up.
        func decode(
            _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
        ) throws(Failure) -> Int
    }

    /// More codings on top of each other than this are an attack.
    package static let maximumCodings = 5
    /// How many bytes come out at once, at most.
    package static let pieceSize = 32 * 1024

    /// The codings that can be undone.
    package static let codings = ["gzip", "x-gzip", "deflate", "br", "zstd"]

    private let engine: any Engine
    private let output: UnsafeMutableRawBufferPointer
    /// Undoes the coding that was put on top of this one.
    private let outer: ContentDecoder?
    /// What the outer one has decoded and this one not.
    private var between = UnsafeRawBufferPointer(start: nil, count: 0)

    /// Makes a decoder for the lines of a `Content-Encoding` field.
    ///
    /// - Returns: `nil` when they name nothing that changes the body.
    /// - Throws: ``Failure`` for a coding that is not known, for too many, and for lack of memory.
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
        // The last one named was put on last (RFC 9110 §8.4).
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
                description: "\(name): not a coding that is undone here: "
                    + codings.joined(separator: ", "))
        }
    }

    private init(_ engine: any Engine, outer: ContentDecoder?) {
        self.engine = engine
        self.outer = outer
        output = .allocate(byteCount: Self.pieceSize, alignment: 16)
    }

    deinit { output.deallocate() }

    /// Whether all codings have come to their end.
    package var isAtEnd: Bool {
        engine.isAtEnd && between.isEmpty && outer?.isAtEnd ?? true
    }

    /// Decodes until a piece is full or the input is used up.
    ///
    /// - Parameter input: Coded bytes; those that were used up are taken off its front. They must
    ///   stay where they are until the decoder returns an empty piece.
    /// - Returns: Decoded bytes, valid until the next call; none when all input is used up and
    ///   nothing more can be made of it.
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
