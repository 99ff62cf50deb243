public import FoundationEssentials
import Glibc
import OutletFiles
import OutletSession

/// An HTTP archive (HAR 1.2): what went over the network, readable by browsers and other tools.
///
/// Names are the format's own. Members that begin with `_` in the file are this library's.
///
/// Thread: any; a value.
public struct HAR: Sendable, Equatable, Codable {
    /// The one member of the file.
    public var log: Log

    /// Makes an archive.
    public init(log: Log) {
        self.log = log
    }

    /// What the archive holds.
    public struct Log: Sendable, Equatable, Codable {
        /// The format's version.
        public var version = "1.2"
        /// Who has written it.
        public var creator: Creator
        /// The exchanges, in the order of their ends.
        public var entries: [Entry]
        /// What a reader should know of the whole.
        public var comment: String?
        /// How many entries, the oldest, were left out for the sake of memory; `nil` for none.
        public var droppedEntries: Int?

        /// Makes a log.
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

    /// A program.
    public struct Creator: Sendable, Equatable, Codable {
        /// Its name.
        public var name: String
        /// Its version.
        public var version: String

        /// Names a program.
        public init(name: String, version: String) {
            self.name = name
            self.version = version
        }

        /// This library.
        public static let outlet = Creator(name: "Outlet", version: outletVersion)
    }

    /// A name and a value: of a field, a query parameter, a cookie.
    public struct Pair: Sendable, Equatable, Codable {
        /// The name.
        public var name: String
        /// The value.
        public var value: String

        /// Makes a pair.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }
}

/// Why an archive cannot be read or written.
public enum HARError: Error, Equatable, Sendable {
    /// The file cannot be read.
    case unreadable(path: String, reason: String)
    /// The file is no archive.
    case malformed(path: String, reason: String)
    /// The file cannot be written.
    case unwritable(path: String, reason: String)
}

extension HARError {
    init(_ failure: PrivateFile.Failure, path: String) {
        let reason = String(cString: strerror(failure.number))
        self = .unwritable(path: path, reason: "\(failure.what): \(reason)")
    }
}

extension HARError: CustomStringConvertible {
    /// The file, what is wrong, and the fact.
    public var description: String {
        switch self {
        case .unreadable(let path, let reason): "\(path): cannot be read: \(reason)"
        case .malformed(let path, let reason): "\(path): is no HTTP archive: \(reason)"
        case .unwritable(let path, let reason): "\(path): cannot be written: \(reason)"
        }
    }
}

extension HAR {
    /// Reads an archive.
    ///
    /// - Throws: ``HARError``.
    public init(contentsOf url: URL) throws(HARError) {
        let path = url.path(percentEncoded: false)
        let data: Data
        do {
            data = try Data(contentOf: url)
        } catch {
            throw .unreadable(path: path, reason: "\(error)")
        }
        do {
            self = try JSONDecoder().decode(HAR.self, from: data)
        } catch {
            throw .malformed(path: path, reason: Self.place(of: error))
        }
    }

    /// Writes the archive as JSON, members sorted by name, a line each.
    ///
    /// The file is there whole or not at all, and only its owner may read it, whatever was there.
    ///
    /// - Throws: ``HARError``.
    public func write(to url: URL) throws(HARError) {
        let path = url.path(percentEncoded: false)
        let data: Data
        do {
            data = try Self.encoded(self)
        } catch {
            throw .unwritable(path: path, reason: "\(error)")
        }
        do throws(PrivateFile.Failure) {
            try PrivateFile.write(data, to: path)
        } catch {
            throw HARError(error, path: path)
        }
    }

    /// A part of an archive as JSON.
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
