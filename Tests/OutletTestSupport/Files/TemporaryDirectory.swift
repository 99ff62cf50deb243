public import FoundationEssentials
internal import Glibc
internal import OutletFiles
internal import OutletSession
internal import OutletTransport

/// A new directory inside the system's temporary directory.
///
/// It is removed when its last reference is released, or else when the test process exits.
public final class TemporaryDirectory: Sendable {
    private static let existing = Lock<Set<String>>([])

    private static let removeAtExit: Void = {
        atexit {
            for path in TemporaryDirectory.existing.withLock({ $0 }) {
                try? FileManager.default.removeItem(atPath: path)
            }
        }
    }()

    /// The absolute path, without a slash at its end.
    public let path: String

    /// Makes an empty directory that only this user can enter.
    ///
    /// - Throws: ``TestSupportError`` if it cannot be made.
    public init() throws {
        let place = FileManager.default.temporaryDirectory.appending(path: "outlet-test-XXXXXX")
        var template = Array(place.path.utf8CString)
        guard mkdtemp(&template) != nil else {
            throw TestSupportError("temporary directory: not made", errno: errno)
        }
        let path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        self.path = path
        _ = Self.removeAtExit
        _ = Self.existing.withLock { $0.insert(path) }
    }

    deinit {
        _ = Self.existing.withLock { $0.remove(path) }
        try? FileManager.default.removeItem(atPath: path)
    }

    /// The directory as a URL.
    public var url: URL { URL(filePath: path, directoryHint: .isDirectory) }

    /// The names of its entries, sorted.
    public var names: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
    }

    /// Returns the text of a file in the directory; `nil` if there is no such file.
    public func text(_ name: String) -> String? {
        (try? read(name)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the path of an entry, which need not exist.
    public func path(_ name: String) -> String { "\(path)/\(name)" }

    /// Writes a file and returns its path; makes the directories in `name` if they are missing.
    ///
    /// - Throws: ``TestSupportError`` if the file cannot be written.
    @discardableResult
    public func write(_ text: String, to name: String) throws -> String {
        try write(Array(text.utf8), to: name)
    }

    /// Writes a file and returns its path; makes the directories in `name` if they are missing.
    ///
    /// - Throws: ``TestSupportError`` if the file cannot be written.
    @discardableResult
    public func write(_ bytes: [UInt8], to name: String) throws -> String {
        let path = path(name)
        if let slash = name.lastIndex(of: "/") {
            try FileManager.default.createDirectory(
                atPath: self.path(String(name[..<slash])), withIntermediateDirectories: true)
        }
        guard FileManager.default.createFile(atPath: path, contents: Data(bytes)) else {
            throw TestSupportError("temporary directory: not written: \(path)")
        }
        return path
    }

    /// Copies a product, named as for ``Products/path(_:)``, and returns the path of the copy.
    ///
    /// - Throws: ``TestSupportError`` if the product is not there or cannot be copied.
    @discardableResult
    public func copy(_ product: String) throws -> String {
        guard let data = try? Data(contentsOf: URL(filePath: Products.path(product))) else {
            throw TestSupportError("temporary directory: not copied: \(product)")
        }
        return try write(Array(data), to: product)
    }

    /// Reads a file in the directory.
    ///
    /// - Throws: ``TestSupportError`` if there is no such file.
    public func read(_ name: String) throws -> [UInt8] {
        guard let data = try? Data(contentOf: URL(filePath: path(name))) else {
            throw TestSupportError("temporary directory: no such file: \(path(name))")
        }
        return Array(data)
    }
}
