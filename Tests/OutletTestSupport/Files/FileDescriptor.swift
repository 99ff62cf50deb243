internal import CSpawn
internal import Glibc

/// A file descriptor that is closed when its last reference is released.
public final class FileDescriptor: Sendable {
    /// The descriptor's number.
    public let number: Int32

    /// Takes ownership of a descriptor.
    public init(_ number: Int32) {
        self.number = number
    }

    deinit {
        close(number)
    }

    /// Makes a pipe that child processes do not inherit.
    static func pipe() throws -> (reader: FileDescriptor, writer: FileDescriptor) {
        var ends: [Int32] = [-1, -1]
        let error = private_pipe(&ends)
        guard error == 0 else { throw TestSupportError("pipe: not made", errno: error) }
        return (FileDescriptor(ends[0]), FileDescriptor(ends[1]))
    }

    /// Reads up to `limit` bytes, and blocks until there are some.
    ///
    /// - Returns: The bytes read; empty at the end of the file and on an error.
    func read(upTo limit: Int = 64 * 1024) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            var result = 0
            repeat {
                result = Glibc.read(number, buffer.baseAddress, limit)
            } while result < 0 && errno == EINTR
            count = max(0, result)
        }
    }

    /// Writes all bytes, and blocks until they are written.
    ///
    /// - Returns: `false` on an error, such as a pipe whose reader is closed.
    @discardableResult
    func write(_ bytes: ArraySlice<UInt8>) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let result = rest.withUnsafeBytes { Glibc.write(number, $0.baseAddress, $0.count) }
            if result > 0 {
                rest = rest.dropFirst(result)
            } else if errno != EINTR {
                return false
            }
        }
        return true
    }
}
