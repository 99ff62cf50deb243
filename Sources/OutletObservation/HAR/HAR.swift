public import FoundationEssentials
import Glibc
import OutletFiles
import OutletSession

/// An HTTP archive (HAR 1.2): recorded requests and responses, readable by browsers and other
/// tools.
///
/// The property names are those of the format. Members that begin with `_` in the file are
/// extensions of this library.
///
/// Thread: any; a value.
public struct HAR: Sendable, Equatable, Codable {
    /// The log, which is the only member of the file.
    public var log: Log

    /// Makes an archive from a log.
    ///
    /// - Parameter log: The content of the archive.
    public init(log: Log) {
        self.log = log
    }

    /// The contents of an archive.
    public struct Log: Sendable, Equatable, Codable {
        /// The version of the format.
        public var version = "1.2"
        /// The program that wrote the archive.
        public var creator: Creator
        /// The transfers, in the order in which they ended.
        public var entries: [Entry]
        /// A remark about the archive, for readers.
        public var comment: String?
        /// The number of the oldest entries that were dropped to limit memory; `nil` for none.
        public var droppedEntries: Int?

        /// Makes a log.
        ///
        /// - Parameters:
        ///   - creator: The program that writes the archive; this library by default.
        ///   - entries: The transfers, in the order in which they ended.
        ///   - comment: A remark about the archive, for readers.
        public init(creator: Creator = .outlet, entries: [Entry] = [], comment: String? = nil) {
            self.creator = creator
            self.entries = entries
            self.comment = comment
        }

        private enum CodingKeys: String, CodingKey {
            case version, creator, entries, comment
            case droppedEntries = "_droppedEntries"
        }
    }

    /// A program that writes archives.
    public struct Creator: Sendable, Equatable, Codable {
        /// The name of the program.
        public var name: String
        /// The version of the program.
        public var version: String

        /// Makes a creator.
        ///
        /// - Parameters:
        ///   - name: The name of the program.
        ///   - version: The version of the program.
        public init(name: String, version: String) {
            self.name = name
            self.version = version
        }

        /// This library.
        public static let outlet = Creator(name: "Outlet", version: outletVersion)
    }

    /// A name and a value: of a header, a query parameter or a cookie.
    public struct Pair: Sendable, Equatable, Codable {
        /// The name.
        public var name: String
        /// The value.
        public var value: String

        /// Makes a pair.
        ///
        /// - Parameters:
        ///   - name: The name.
        ///   - value: The value.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }
}

/// The reason why an archive cannot be read or written.
public enum HARError: Error, Equatable, Sendable {
    /// The file cannot be read.
    case unreadable(path: String, reason: String)
    /// The file is not an archive; `reason` names the member that is wrong or missing.
    case malformed(path: String, reason: String)
    /// The file cannot be written, or the archive cannot be encoded.
    case unwritable(path: String, reason: String)
}

extension HARError {
    init(_ failure: PrivateFile.Failure, path: String) {
        let reason = systemText(failure.number)
        self = .unwritable(path: path, reason: "\(failure.what): \(reason)")
    }
}

extension HARError: CustomStringConvertible, LocalizedError {
    /// The path of the file, and what is wrong with it.
    public var description: String {
        switch self {
        case .unreadable(let path, let reason): "\(path): cannot be read: \(reason)"
        case .malformed(let path, let reason): "\(path): is no HTTP archive: \(reason)"
        case .unwritable(let path, let reason): "\(path): cannot be written: \(reason)"
        }
    }

    /// The ``description``, for `localizedDescription`.
    public var errorDescription: String? { description }
}

extension HAR {
    /// Reads an archive from a file.
    ///
    /// Blocks while the file is read into memory.
    ///
    /// - Parameter url: A file URL.
    /// - Throws: ``HARError/unreadable(path:reason:)`` when the file cannot be read,
    ///   ``HARError/malformed(path:reason:)`` when it is not an archive.
    public init(contentsOf url: URL) throws(HARError) {
        let path = url.path
        let data: Data
        do {
            data = try Data(contentOf: url)
        } catch {
            throw .unreadable(path: path, reason: error.fileReason)
        }
        do {
            self = try JSONDecoder().decode(HAR.self, from: data)
        } catch {
            throw .malformed(path: path, reason: Self.place(of: error))
        }
    }

    /// Writes the archive as JSON, one member per line, sorted by name.
    ///
    /// Replaces an existing file atomically. Only the owner may read the new file, whatever the
    /// permissions of the old one were. Blocks while the file is written.
    ///
    /// - Parameter url: A file URL.
    /// - Throws: ``HARError/unwritable(path:reason:)`` when the archive cannot be encoded or the
    ///   file cannot be written.
    public func write(to url: URL) throws(HARError) {
        let path = url.path
        let data: Data
        do {
            data = try Self.encoded(self)
        } catch {
            throw .unwritable(path: path, reason: "\(error)")
        }
        do throws(PrivateFile.Failure) {
            try PrivateFile.write(data, to: PrivateFile.path(of: url))
        } catch {
            throw HARError(error, path: path)
        }
    }

    /// Encodes a part of an archive as JSON.
    static func encoded(_ value: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(value)
    }

    private static func place(of error: any Error) -> String {
        func path(_ context: DecodingError.Context) -> String {
            context.codingPath.map { $0.intValue.map { "[\($0)]" } ?? ".\($0.stringValue)" }
                .joined()
        }
        return switch error {
        case DecodingError.keyNotFound(let key, let context):
            "\(path(context)).\(key.stringValue) is missing"
        case DecodingError.typeMismatch(_, let context),
            DecodingError.valueNotFound(_, let context),
            DecodingError.dataCorrupted(let context):
            "\(path(context)): \(context.debugDescription)"
        default: "\(error)"
        }
    }
}
