import FoundationEssentials
import Glibc
import Outlet
import Synchronization

/// Takes a body piece by piece, unchanged, into a file that is made when the body begins.
///
/// Thread: any; one piece at a time.
final class BodySink: Sendable {
    private struct State {
        var file: OutputFile?
        var bytes: Int64 = 0
    }

    /// The file's path.
    let path: String
    private let state = Mutex(State())

    /// A sink that makes a file, or empties the one that is there.
    init(path: String) { self.path = path }

    deinit { close() }

    /// Writes a piece, after making the file if it is the first.
    func write(_ data: Data) throws(OutputError) {
        let error = state.withLock { state -> OutputError? in
            do throws(OutputError) {
                let file = try open(&state)
                try file.write(data)
                state.bytes += Int64(data.count)
                return nil
            } catch {
                return error
            }
        }
        if let error { throw error }
    }

    /// How many bytes were written.
    var bytes: Int64 { state.withLock { $0.bytes } }

    /// Closes the file.
    func close() {
        let file = state.withLock { state in
            defer { state.file = nil }
            return state.file
        }
        if let file { Glibc.close(file.descriptor) }
    }

    private func open(_ state: inout State) throws(OutputError) -> OutputFile {
        if let file = state.file { return file }
        // A named pipe waits for its reader.
        let number = WritesUnderWay.begin(path)
        defer { WritesUnderWay.end(number, took: 0) }
        let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else {
            throw .failed(name: path, reason: systemReason(errno))
        }
        let file = OutputFile(descriptor: descriptor, name: path)
        state.file = file
        return file
    }
}
