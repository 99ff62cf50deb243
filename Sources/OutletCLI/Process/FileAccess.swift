import Glibc
import Outlet
import Synchronization

/// What the program waits for before there is a request: stdin, or a file that may be a pipe.
enum AwaitedInput {
    private static let awaited = Mutex<String?>(nil)

    /// Its name; `nil` when nothing is waited for.
    static var name: String? { awaited.withLock { $0 } }

    /// Reads something that may be waited for.
    static func reading<Result, Failure: Error>(
        _ name: String, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        awaited.withLock { $0 = name }
        defer { awaited.withLock { $0 = nil } }
        return try body()
    }
}

/// The most bytes of a file that is a value within the request.
private let longestValue = 256 << 20

/// Reads a file that the command line names, as a value within the request.
///
/// - Throws: A usage error: the line names something that cannot be read.
///
/// Thread: blocks until a pipe is at its end.
func readFile(_ path: String) throws(CommandError) -> [UInt8] {
    try readFile(path, limit: longestValue, advice: "the whole body, @FILE, may be of any size")
}

/// Reads a file that the command line names.
///
/// - Parameters:
///   - limit: The most bytes it may have.
///   - advice: What to do when it has more.
/// - Throws: A usage error: the line names something that cannot be read.
///
/// Thread: blocks until a pipe is at its end.
func readFile(_ path: String, limit: Int, advice: String = "") throws(CommandError) -> [UInt8] {
    try AwaitedInput.reading(path) { () throws(CommandError) in
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw .usage("\(path): cannot be read: \(systemReason(errno))", advice: "")
        }
        defer { close(descriptor) }
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while content.count <= limit {
            let count = read(descriptor, &buffer, buffer.count)
            if count == 0 { return content }
            if count > 0 {
                content += buffer[..<count]
            } else if errno != EINTR {
                throw .usage("\(path): cannot be read: \(systemReason(errno))", advice: "")
            }
        }
        throw .usage(
            "\(path): larger than \(Quantity.bytes(Int64(limit)))",
            advice: advice)
    }
}
