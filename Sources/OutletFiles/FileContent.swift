package import FoundationEssentials
import Glibc

extension Data {
    /// Reads a whole file.
    ///
    /// Not `init(contentsOf:)`, because that of Swift 6.3 loses 4 KiB of memory with every file that
    /// has nothing in it.
    ///
    /// - Throws: What `init(contentsOf:options:)` throws.
    package init(contentOf file: URL, options: ReadingOptions = []) throws {
        self = file.isEmptyFile ? Data() : try Data(contentsOf: file, options: options)
    }
}

extension URL {
    /// Whether this is a file that may be read and has nothing in it.
    ///
    /// The kernel's own files have no size and a content all the same, so the first byte is asked for.
    fileprivate var isEmptyFile: Bool {
        let path = path(percentEncoded: false)
        var facts = stat()
        guard isFileURL, stat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG,
            facts.st_size == 0
        else { return false }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var byte: UInt8 = 0
        return read(descriptor, &byte, 1) == 0
    }
}
