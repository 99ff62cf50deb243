import FoundationEssentials
import Glibc
import Outlet
import OutletFiles

/// Stores a body until it is complete and its kind is known.
///
/// Up to 1 MiB is stored in memory, more in an unlinked temporary file.
struct BodySpool {
    /// The kind of a body.
    enum Kind: Sendable, Equatable {
        case json
        case text
        case binary
    }

    private static let memoryLimit = 1 << 20
    /// A multiple of 3, so that pieces in base64 join without padding.
    private static let pieceSize = 48 << 10

    /// The number of bytes stored.
    private(set) var count: Int64 = 0
    /// Why a body that claims to be JSON is invalid; `nil` if it is valid or claims nothing.
    private(set) var jsonFault: JSONSyntaxError?

    private var memory: [UInt8] = []
    private var file: TemporaryFile?
    private var json: JSONReformatter?

    /// The kind of the body; valid after ``finish()``.
    private(set) var kind = Kind.binary

    private let limit: Int64

    /// Makes an empty store.
    ///
    /// - Parameters:
    ///   - claimsJSON: Whether the response's content type is JSON.
    ///   - limit: The maximum number of bytes.
    init(claimsJSON: Bool, limit: Int64) {
        self.limit = limit
        json = claimsJSON ? .reader : nil
    }

    /// Adds a piece.
    ///
    /// - Throws: ``OutputError/tooLarge(limit:)`` if the body exceeds its limit,
    ///   ``OutputError/failed(name:reason:advice:)`` if the temporary file cannot be written.
    mutating func append(_ piece: Data) throws(OutputError) {
        guard limit - count >= piece.count else { throw .tooLarge(limit: limit) }
        if jsonFault == nil {
            var scratch: [UInt8] = []
            do {
                try json?.append(piece, to: &scratch)
            } catch {
                jsonFault = error
            }
        }
        count += Int64(piece.count)
        if file == nil, memory.count + piece.count > Self.memoryLimit {
            let file = try TemporaryFile()
            try file.output.write(Data(memory))
            memory = []
            self.file = file
        }
        if let file { try file.output.write(piece) } else { memory += piece }
    }

    /// Determines the kind of the body; called when it is complete.
    ///
    /// - Throws: ``OutputError`` if the temporary file cannot be read.
    mutating func finish() throws(OutputError) {
        kind = try isJSON() ? .json : isText() ? .text : .binary
    }

    private mutating func isJSON() -> Bool {
        guard var parser = json, jsonFault == nil, count > 0 else { return false }
        do {
            try parser.finish()
            return true
        } catch {
            jsonFault = error
            return false
        }
    }

    private func isText() throws(OutputError) -> Bool {
        var decoder = UTF8Decoder()
        var isText = true
        try forEachPiece { piece in
            isText = isText && piece.allSatisfy { $0 != 0 && decoder.accepts($0) }
        }
        return isText && decoder.isEmpty
    }

    /// Calls `body` with each piece in order.
    ///
    /// The length of every piece except the last is a multiple of 3, for base64.
    ///
    /// - Throws: ``OutputError`` if the temporary file cannot be read, or any error of `body`.
    func forEachPiece(_ body: ([UInt8]) throws(OutputError) -> Void) throws(OutputError) {
        guard let file else { return try body(memory) }
        var offset: Int64 = 0
        while offset < count {
            let piece = try file.read(at: offset, count: Self.pieceSize)
            try body(piece)
            offset += Int64(piece.count)
        }
    }
}

/// A temporary file without a name, which the system deletes when this object is released.
private final class TemporaryFile {
    let output: OutputFile

    init() throws(OutputError) {
        let chosen = getenv("TMPDIR").map { String(cString: $0) } ?? ""
        let directory = chosen.isEmpty ? "/tmp" : chosen
        let name = "a temporary file in \(directory)"
        let advice = "set TMPDIR to a directory that can be written to"
        var path = Array("\(directory)/outlet-XXXXXX".utf8CString)
        let descriptor = mkstemp(&path)
        guard descriptor >= 0 else {
            throw .failed(name: name, reason: systemText(errno), advice: advice)
        }
        unlink(path)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        output = OutputFile(descriptor: descriptor, name: name, advice: advice)
    }

    deinit { close(output.descriptor) }

    /// Reads `count` bytes, or fewer at the end of the file.
    ///
    /// - Throws: ``OutputError`` if the file cannot be read, or there are no bytes at `offset`.
    func read(at offset: Int64, count: Int) throws(OutputError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let result = bytes.withUnsafeMutableBytes { buffer in
                pread(
                    output.descriptor, buffer.baseAddress.map { $0 + filled }, count - filled,
                    Int(offset) + filled)
            }
            if result == 0 { break }
            if result > 0 {
                filled += result
            } else if errno != EINTR {
                throw .failed(name: output.name, reason: systemText(errno))
            }
        }
        guard filled > 0 else { throw .failed(name: output.name, reason: "became shorter") }
        return Array(bytes[..<filled])
    }
}
