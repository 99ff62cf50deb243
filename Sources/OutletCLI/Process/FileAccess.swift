import Glibc
import Outlet
import OutletFiles
import OutletTransport

/// The input that the program waits for: stdin, or before there is a request a file that may be a
/// pipe.
///
/// If a signal or the time limit ends the program meanwhile, the error names this input.
enum AwaitedInput {
    private static let awaited = Lock<String?>(nil)

    /// A description of the input that is being read; `nil` if there is none.
    static var blocker: String? { awaited.withLock { $0 }.map { "\($0) is not at its end" } }

    /// Calls `body`, which reads the input `name` and may block.
    static func reading<Result, Failure: Error>(
        _ name: String, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        awaited.withLock { $0 = name }
        defer { awaited.withLock { $0 = nil } }
        return try body()
    }
}

/// The maximum size of a file whose contents are a value in the request, in bytes.
private let longestValue = 256 << 20

/// Reads a file from the command line whose contents are a value in the request.
///
/// - Throws: ``CommandError`` with ``ExitCode/usage`` if the file cannot be read or is too large.
///
/// Thread: blocks until the end of the file, which may be a pipe.
func readFile(_ path: String) throws(CommandError) -> [UInt8] {
    try readFile(path, limit: longestValue, advice: "the whole body, @FILE, may be of any size")
}

/// Reads a file from the command line.
///
/// - Parameters:
///   - path: The file's path.
///   - limit: The maximum size in bytes.
///   - advice: The advice of the error for a larger file.
/// - Throws: ``CommandError`` with ``ExitCode/usage`` if the file cannot be read or is too large.
///
/// Thread: blocks until the end of the file, which may be a pipe.
func readFile(_ path: String, limit: Int, advice: String = "") throws(CommandError) -> [UInt8] {
    try AwaitedInput.reading(path) { () throws(CommandError) in
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw .usage(
                "\(path): cannot be read: \(systemText(errno))",
                advice: path == "-" ? "stdin is /dev/stdin" : "")
        }
        StandardInput.take(path: path)
        defer { close(descriptor) }
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while content.count <= limit {
            let count = read(descriptor, &buffer, buffer.count)
            if count == 0 { return content }
            if count > 0 {
                content += buffer[..<count]
            } else if errno != EINTR {
                throw .usage("\(path): cannot be read: \(systemText(errno))", advice: "")
            }
        }
        throw .usage(
            "\(path): larger than \(Quantity.bytes(Int64(limit)))",
            advice: advice)
    }
}
