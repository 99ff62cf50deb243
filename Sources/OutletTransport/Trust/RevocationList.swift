public import FoundationEssentials
import Glibc
import OutletFiles

/// A list of certificates that their issuer has taken back (RFC 5280 §5).
///
/// Thread: any.
public struct RevocationList: Sendable, Equatable {
    private let source: Source

    /// The list, DER or PEM; of a file, what it holds now.
    ///
    /// A PEM text may hold several.
    public var bytes: Data { source.content.bytes }

    /// Takes a list as it is; whether it is one shows when it is used.
    public init(bytes: Data) {
        source = Source(Content(bytes: bytes, file: nil), path: nil)
    }

    /// Reads a file, DER or PEM, and again when another one lies in its place.
    ///
    /// Each connection that is judged by the list looks at the file's number, size and time of
    /// change. Put a new list in its place by renaming it there: half of one is none, and nobody is
    /// trusted. One that cannot be read is passed over, and the last one stays.
    ///
    /// - Throws: The file system's error when it cannot be read.
    public init(path: String) throws {
        source = Source(try Content(path: path), path: path)
    }

    /// The same bytes.
    public static func == (a: RevocationList, b: RevocationList) -> Bool { a.bytes == b.bytes }

    /// Whether both are of one file, or hold the same bytes for good.
    package func isSame(as other: RevocationList) -> Bool {
        if source.path != nil || other.source.path != nil {
            return source.path == other.source.path
        }
        return self == other
    }

    /// What the list holds now: the same object as long as that is the same.
    package var content: Content { source.content }

    /// What a list holds at one time.
    package final class Content: Sendable {
        /// DER or PEM.
        package let bytes: Data
        fileprivate let file: FileIdentity?

        fileprivate init(bytes: Data, file: FileIdentity?) {
            self.bytes = bytes
            self.file = file
        }

        fileprivate convenience init(path: String) throws {
            // Looked at before it is read: a change in between is seen the next time.
            let file = FileIdentity(path: path)
            self.init(bytes: try Data(contentOf: URL(filePath: path)), file: file)
        }
    }

    /// What tells a file from the one before it under the same name.
    fileprivate struct FileIdentity: Sendable, Equatable {
        private let device: UInt64
        private let number: UInt64
        private let size: Int64
        private let seconds: Int
        private let nanoseconds: Int

        init?(path: String) {
            var facts = stat()
            guard stat(path, &facts) == 0 else { return nil }
            device = UInt64(facts.st_dev)
            number = UInt64(facts.st_ino)
            size = Int64(facts.st_size)
            seconds = facts.st_mtim.tv_sec
            nanoseconds = facts.st_mtim.tv_nsec
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
            guard let path, let file = FileIdentity(path: path), file != known.file,
                let content = try? Content(path: path)
            else { return known }
            last.withLock { $0 = content }
            return content
        }
    }
}
