import FoundationEssentials
import Glibc
import Outlet
import OutletFiles
import OutletTransport

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
    private let state = Lock(State())

    /// Makes a sink; the first write creates the file, or truncates an existing one.
    init(path: String) {
        self.path = path
        place = Self.place(of: path)
    }

    private static func place(of path: String) -> String {
        let directory = ProcessSetup.directory
        let isRelative = !path.startsWithBytes(of: "/") && !directory.isEmpty
        return isRelative ? "\(directory)/\(path)" : path
    }

    /// Why a file could not be written, to know it before a request is sent.
    ///
    /// - Returns: `nil` if nothing is in the way. The file stays as it is.
    static func fault(of path: String) -> OutputError? {
        let place = place(of: path)
        var status = stat()
        let code: Int32
        if stat(place, &status) == 0 {
            let isDirectory = status.st_mode & S_IFMT == S_IFDIR
            code = isDirectory ? EISDIR : refusal(to: W_OK, place)
        } else if errno == ENOENT, lstat(place, &status) != 0 {
            let end = place.utf8.lastIndex(of: UInt8(ascii: "/"))
            code = refusal(to: W_OK | X_OK, end.map { String(place[...$0]) } ?? ".")
        } else {
            // A link to a file that does not exist yet may be written.
            code = errno == ENOENT ? 0 : errno
        }
        return code == 0 ? nil : .failed(name: path, reason: systemText(code))
    }

    /// The error of a kind of access; 0 if it is allowed.
    private static func refusal(to access: Int32, _ place: String) -> Int32 {
        faccessat(AT_FDCWD, place, access, AT_EACCESS) == 0 ? 0 : errno
    }

    /// The identity of the file at a path; `nil` if there is none.
    static func identity(of path: String) -> FileIdentity? { FileIdentity(at: place(of: path)) }

    /// The open descriptor that the path means: that of stdout or stderr if it is the same file, and
    /// that of `/dev/fd/N`; `nil` for others.
    ///
    /// Opening them again would truncate the file, and write over what is already there.
    private var openDescriptor: Int32? {
        let streams = [OutputFile.standardOutput, .standardError]
        // Descriptor 1 may be stderr (``OutputFile/keepStandardOutput()``).
        let named = [
            "/dev/stdout": streams[0], "/dev/fd/1": streams[0], "/proc/self/fd/1": streams[0],
            "/dev/stderr": streams[1], "/dev/fd/2": streams[1], "/proc/self/fd/2": streams[1],
        ]
        if let stream = named[place] { return stream.descriptor }
        for folder in ["/dev/fd/", "/proc/self/fd/"] where place.startsWithBytes(of: folder) {
            return Int32(place.droppingBytes(folder.utf8.count))
        }
        guard let file = FileIdentity(at: place) else { return nil }
        return streams.first { FileIdentity(of: $0.descriptor) == file }?.descriptor
    }

    /// Whether the path is that of a pipe or a device, which has no old content to keep.
    var isSpecial: Bool {
        var status = stat()
        return stat(place, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
    }

    // Of a body that could not be written, whose error is known.
    deinit { try? close() }

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
    ///
    /// - Throws: ``OutputError`` if the system could not store what was written.
    func close() throws(OutputError) {
        let file = state.withLock { state in
            defer { state.file = nil }
            return state.file
        }
        guard let file, Glibc.close(file.descriptor) < 0, errno != EINTR else { return }
        throw .failed(name: path, reason: systemText(errno))
    }

    private func open(_ state: inout State) throws(OutputError) -> OutputFile {
        if let file = state.file { return file }
        // Opening a named pipe blocks until it has a reader.
        let number = ActiveWrites.begin(path)
        defer { ActiveWrites.end(number, took: 0) }
        let descriptor =
            openDescriptor.map { fcntl($0, F_DUPFD_CLOEXEC, 3) }
            ?? Glibc.open(place, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else {
            throw .failed(name: path, reason: systemText(errno))
        }
        let file = OutputFile(descriptor: descriptor, name: path)
        state.file = file
        return file
    }
}
