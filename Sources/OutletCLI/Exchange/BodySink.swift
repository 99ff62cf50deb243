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
        if case .nothing = target(of: place) {
            return .failed(name: path, reason: systemText(EBADF))
        }
        var status = stat()
        let code: Int32
        if stat(place, &status) == 0 {
            let isDirectory = status.st_mode & S_IFMT == S_IFDIR
            code = isDirectory ? EISDIR : refusal(to: W_OK, place)
        } else if errno == ENOENT {
            // A link to a file that does not exist yet may be written.
            code = refusal(to: W_OK | X_OK, directory(of: linkedPlaces(place).last ?? place))
        } else {
            code = errno
        }
        return code == 0 ? nil : .failed(name: path, reason: systemText(code))
    }

    private static func directory(of place: String) -> String {
        let end = place.utf8.lastIndex(of: UInt8(ascii: "/"))
        return end.map { String(place[...$0]) } ?? "./"
    }

    /// The paths that a chain of links leads through: the path itself, then the target of each link.
    private static func linkedPlaces(_ place: String) -> [String] {
        var places = [place]
        // The system follows no more links (`ELOOP`).
        while places.count <= 40 {
            let last = places[places.count - 1]
            guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: last)
            else { break }
            let isWhole = target.startsWithBytes(of: "/")
            places.append(isWhole ? target : directory(of: last) + target)
        }
        return places
    }

    /// The error of a kind of access; 0 if it is allowed.
    private static func refusal(to access: Int32, _ place: String) -> Int32 {
        faccessat(AT_FDCWD, place, access, AT_EACCESS) == 0 ? 0 : errno
    }

    /// The identity of the file at a path; `nil` if there is none.
    static func identity(of path: String) -> FileIdentity? { FileIdentity(at: place(of: path)) }

    /// What a path means.
    private enum Target {
        /// A descriptor that is open already: opening its file again would truncate it, and write
        /// over what others append.
        case descriptor(Int32)
        /// A file to open.
        case file
        /// A descriptor of the program's own, or one that is not open.
        case nothing
    }

    private static func target(of place: String) -> Target {
        if let number = linkedPlaces(place).lazy.compactMap(descriptor(namedBy:)).first {
            return target(ofDescriptor: number)
        }
        guard let file = FileIdentity(at: place) else { return .file }
        for stream in [OutputFile.standardOutput, .standardError]
        where FileIdentity(of: stream.descriptor) == file && isWritable(stream.descriptor) {
            return .descriptor(stream.descriptor)
        }
        // A file that is named by its path gets a new content, unless somebody appends to it.
        let appending = (0..<mostDescriptors).first {
            FileIdentity(of: $0) == file && isInherited($0) && isWritable($0)
                && fcntl($0, F_GETFL) & O_APPEND != 0
        }
        return appending.map(Target.descriptor) ?? .file
    }

    private static func target(ofDescriptor number: Int32) -> Target {
        switch number {
        case STDIN_FILENO:
            let stdin = StandardInput.descriptor
            return isWritable(stdin) ? .descriptor(stdin) : .nothing
        // Descriptor 1 may be stderr (``OutputFile/keepStandardOutput()``).
        case STDOUT_FILENO: return .descriptor(OutputFile.standardOutput.descriptor)
        case STDERR_FILENO: return .descriptor(OutputFile.standardError.descriptor)
        default:
            guard isInherited(number) else { return .nothing }
            return isWritable(number) ? .descriptor(number) : .file
        }
    }

    /// The number of a descriptor of this process if a path is that of one, as `/dev/fd/3`.
    private static func descriptor(namedBy place: String) -> Int32? {
        let directory = directory(of: place)
        let name = place.utf8.dropFirst(directory.utf8.count)
        guard name.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int32(Substring(name))
        else { return nil }
        // Also if `/proc` is not mounted.
        if ["/dev/fd/", "/proc/self/fd/"].contains(directory) { return number }
        guard let path = realpath(directory, nil) else { return nil }
        defer { free(path) }
        let real = String(cString: path)
        // A thread's own directory has the same descriptors.
        let isOwn = real.startsWithBytes(of: "/proc/\(getpid())/") && real.endsWithBytes(of: "/fd")
        return isOwn ? number : nil
    }

    /// Whether a descriptor is open, and is not the program's own.
    private static func isInherited(_ number: Int32) -> Bool {
        let flags = fcntl(number, F_GETFD)
        // What the program opens itself is not inherited by others.
        return flags >= 0 && flags & FD_CLOEXEC == 0
    }

    private static func isWritable(_ number: Int32) -> Bool {
        let flags = fcntl(number, F_GETFL)
        return flags >= 0 && flags & O_ACCMODE != O_RDONLY
    }

    /// The number of descriptors that are compared with a path.
    private static let mostDescriptors: Int32 = 1024

    private static func isSpecial(_ place: String) -> Bool {
        var status = stat()
        return stat(place, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
    }

    /// Whether the path is that of a pipe or a device, which has no old content to keep.
    var isSpecial: Bool { Self.isSpecial(place) }

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
        let descriptor: Int32
        switch Self.target(of: place) {
        case .descriptor(let number): descriptor = fcntl(number, F_DUPFD_CLOEXEC, 3)
        case .file:
            descriptor = Glibc.open(place, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        case .nothing: throw .failed(name: path, reason: systemText(EBADF))
        }
        guard descriptor >= 0 else {
            throw .failed(name: path, reason: systemText(errno))
        }
        let file = OutputFile(descriptor: descriptor, name: path)
        state.file = file
        return file
    }
}
