package import FoundationEssentials
import Glibc

extension Data {
    /// Reads a whole regular file.
    ///
    /// Used instead of `init(contentsOf:)`, which blocks on a named pipe until it has a writer, and
    /// in Swift 6.3 leaks 4 KiB for every empty file.
    ///
    /// - Throws: ``NotPlainFile``; the error of `init(contentsOf:)` if the file cannot be opened;
    ///   `CocoaError` with `fileReadUnknown` if it cannot be read.
    ///
    /// Thread: any that may block on a disk.
    package init(contentOf file: URL) throws {
        let path = file.path
        let descriptor = file.isFileURL ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1
        // `init(contentsOf:)` throws the error that callers expect.
        guard descriptor >= 0 else {
            if let fault = NotPlainFile(path) { throw fault }
            self = try Data(contentsOf: file)
            return
        }
        defer { close(descriptor) }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0 else {
            throw CocoaError(.fileReadUnknown, number: errno)
        }
        if let fault = NotPlainFile(path, facts) { throw fault }
        // Reads on to the end: files in `/proc` and `/sys` report a wrong size.
        self.init(count: Int(facts.st_size))
        var done = 0
        while true {
            if done == count { count += 16_384 }
            let piece = withUnsafeMutableBytes { buffer in
                read(descriptor, buffer.baseAddress?.advanced(by: done), buffer.count - done)
            }
            if piece < 0, errno == EINTR { continue }
            guard piece >= 0 else { throw CocoaError(.fileReadUnknown, number: errno) }
            guard piece > 0 else { break }
            done += piece
        }
        count = done
    }

    /// Reads a whole regular file; `nil` if it cannot be read, is a symbolic link, or is longer
    /// than the limit.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - limit: The largest length to read, in bytes.
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

    /// Reads exactly `count` bytes from the descriptor's position; `nil` if there are fewer or
    /// reading fails.
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

/// The error of a path that does not name a regular file.
///
/// Reading a named pipe blocks until it has a writer, and a device may have no end.
package struct NotPlainFile: Error, Equatable, CustomStringConvertible {
    /// The path.
    package let path: String
    /// The kind of the file, such as `a directory`.
    package let kind: String

    /// Makes an error for a path; `nil` if it names a regular file, follows a link to one, or names
    /// nothing.
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

    /// The path and the kind of the file.
    package var description: String { "\(path) is \(kind), not a plain file" }
}
