public import FoundationEssentials
import OutletFiles

/// A certificate revocation list (RFC 5280 §5).
///
/// Thread: any.
public struct RevocationList: Sendable, Equatable {
    private let source: Source

    /// The list as DER or PEM; for a file, its current content.
    ///
    /// A PEM text may contain several lists.
    public var bytes: Data { source.content.bytes }

    /// Makes a list from bytes, which are not parsed before the list is used.
    ///
    /// - Parameter bytes: DER or PEM. If they cannot be parsed, all servers checked with the list
    ///   are refused.
    public init(bytes: Data) {
        source = Source(Content(bytes: bytes, file: nil), path: nil)
    }

    /// Reads a file, and reads it again whenever it has changed.
    ///
    /// Each connection that is checked with the list compares the file's inode, size and
    /// times. Replace the file by renaming the new one to its path: a partly written
    /// list cannot be parsed, and all servers are refused. If the new file cannot be read, the
    /// former content stays in use.
    ///
    /// - Parameter path: The path of the file, DER or PEM.
    /// - Throws: The file system's error if the file cannot be read.
    public init(path: String) throws {
        source = Source(try Content(path: path), path: path)
    }

    /// Compares the current bytes.
    public static func == (a: RevocationList, b: RevocationList) -> Bool { a.bytes == b.bytes }

    /// Whether both have the same path, or neither has a path and the bytes are equal.
    package func isSame(as other: RevocationList) -> Bool {
        if source.path != nil || other.source.path != nil {
            return source.path == other.source.path
        }
        return self == other
    }

    /// The current content: the same object as long as the file does not change.
    package var content: Content { source.content }

    /// The content of a list at one time.
    package final class Content: Sendable {
        /// DER or PEM.
        package let bytes: Data
        fileprivate let file: FileState?

        fileprivate init(bytes: Data, file: FileState?) {
            self.bytes = bytes
            self.file = file
        }

        fileprivate convenience init(path: String) throws {
            // Before the file is read, so that a change in between is noticed the next time.
            let file = FileState(path: path)
            self.init(bytes: try Data(contentOf: URL(filePath: path)), file: file)
        }
    }

    /// Where the bytes come from.
    private final class Source: Sendable {
        let path: String?
        private let last: Lock<Content>

        init(_ content: Content, path: String?) {
            self.path = path
            last = Lock(content)
        }

        var content: Content {
            let known = last.withLock { $0 }
            guard let path, let file = FileState(path: path), file != known.file,
                let content = try? Content(path: path)
            else { return known }
            last.withLock { $0 = content }
            return content
        }
    }
}
