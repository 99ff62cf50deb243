import FoundationEssentials
import Glibc
import Outlet
import Synchronization

/// Writes a body unchanged to a file, piece by piece.
///
/// Thread: any; one piece at a time.
final class BodySink: Sendable {
    private struct State {
        var file: OutputFile?
        var bytes: Int64 = 0
    }

    /// The file's path as given.
    let path: String
    /// The path from the directory in which the program was started.
    private let place: String
    private let state = Mutex(State())

    /// Makes a sink; the first write creates the file, or truncates an existing one.
    init(path: String) {
        self.path = path
        let directory = ProcessSetup.directory
        let isRelative = !path.startsWithBytes(of: "/") && !directory.isEmpty
        place = isRelative ? "\(directory)/\(path)" : path
    }

    deinit { close() }

    /// Writes a piece; the first call opens the file.
    ///
    /// - Throws: ``OutputError`` if the file cannot be opened or written.
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

    /// The number of bytes written.
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
        // Opening a named pipe blocks until it has a reader.
        let number = ActiveWrites.begin(path)
        defer { ActiveWrites.end(number, took: 0) }
        let descriptor = Glibc.open(place, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else {
            throw .failed(name: path, reason: systemReason(errno))
        }
        let file = OutputFile(descriptor: descriptor, name: path)
        state.file = file
        return file
    }
}
