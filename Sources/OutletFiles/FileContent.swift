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

    /// Reads a whole plain file, if it can be read and has no more bytes than that.
    package init?(contentOf path: String, limit: Int) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG,
            facts.st_size <= limit
        else { return nil }
        self.init(from: descriptor, count: facts.st_size)
    }

    /// Reads so many bytes; `nil` if there are fewer.
    package init?(from descriptor: Int32, count: Int) {
        self.init(count: count)
        let done = withUnsafeMutableBytes { buffer -> Int in
            var done = 0
            while done < count {
                let piece = read(
                    descriptor, buffer.baseAddress?.advanced(by: done), count - done)
                if piece < 0, errno == EINTR { continue }
                guard piece > 0 else { break }
                done += piece
            }
            return done
        }
        guard done == count else { return nil }
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
