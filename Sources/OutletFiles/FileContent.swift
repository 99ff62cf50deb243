package import FoundationEssentials
import Glibc

extension Data {
    /// Reads a whole plain file.
    ///
    /// Not by `init(contentsOf:)`, which waits for ever for somebody who writes to a pipe, and that of
    /// Swift 6.3 loses 4 KiB of memory with every file that has nothing in it.
    ///
    /// - Throws: ``NotPlainFile``, or what `init(contentsOf:)` throws.
    package init(contentOf file: URL) throws {
        let path = file.path(percentEncoded: false)
        let descriptor = file.isFileURL ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1
        // It says why in the words that callers know.
        guard descriptor >= 0 else {
            if let fault = NotPlainFile(path) { throw fault }
            self = try Data(contentsOf: file)
            return
        }
        defer { close(descriptor) }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0 else { throw CocoaError(.fileReadUnknown) }
        if let fault = NotPlainFile(path, facts) { throw fault }
        // The kernel's own files have no size and a content all the same.
        self.init(count: Int(facts.st_size))
        var done = 0
        while true {
            if done == count { count += 16_384 }
            let piece = withUnsafeMutableBytes { buffer in
                read(descriptor, buffer.baseAddress?.advanced(by: done), buffer.count - done)
            }
            if piece < 0, errno == EINTR { continue }
            guard piece >= 0 else { throw CocoaError(.fileReadUnknown) }
            guard piece > 0 else { break }
            done += piece
        }
        count = done
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

/// A path names something other than a regular file where one is required: reading a pipe blocks until
/// it has a writer, and a device may never end.
package struct NotPlainFile: Error, Equatable, CustomStringConvertible {
    /// Where it lies.
    package let path: String
    /// What it is.
    package let kind: String

    /// `nil` for a plain file, links to one included, and where there is nothing.
    package init?(_ path: String) {
        var facts = stat()
        guard stat(path, &facts) == 0 else { return nil }
        self.init(path, facts)
    }

    fileprivate init?(_ path: String, _ facts: stat) {
        switch facts.st_mode & S_IFMT {
        case S_IFREG: return nil
        case S_IFDIR: kind = "a directory"
        case S_IFIFO: kind = "a named pipe"
        case S_IFSOCK: kind = "a socket"
        default: kind = "a device"
        }
        self.path = path
    }

    /// What lies where.
    package var description: String { "\(path) is \(kind), not a plain file" }
}
