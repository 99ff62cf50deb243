import Glibc
import OutletHTTP

/// A candidate for a plugin: opened once, judged by its bytes, and by what may be done to it.
struct PluginFile {
    let path: String
    let library: ELFLibrary
    let manifest: PluginManifest?
    private let identity: FileIdentity

    /// Which file a path leads to, and whether it was written or moved since.
    private struct FileIdentity: Equatable {
        let device: UInt64
        let node: UInt64
        let size: Int64
        let seconds: Int
        let nanoseconds: Int

        init(_ status: stat) {
            device = UInt64(status.st_dev)
            node = UInt64(status.st_ino)
            size = Int64(status.st_size)
            // ctime, not mtime: a writer can set mtime back.
            seconds = status.st_ctim.tv_sec
            nanoseconds = status.st_ctim.tv_nsec
        }
    }

    /// Opens and checks a file; runs none of it.
    init(path: String, checksOwnership: Bool) throws(PluginLoadError) {
        self.path = path
        // O_NONBLOCK because opening a FIFO would wait for a writer.
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else {
            if errno == ELOOP {
                throw .notAFile(path: path, kind: "a symbolic link; copy the file instead")
            }
            throw .unreadable(path: path, reason: systemText(errno))
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw .unreadable(path: path, reason: systemText(errno))
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw .notAFile(path: path, kind: PluginFile.kind(status.st_mode))
        }
        if checksOwnership, let objection = FileTrust.objection(to: status) {
            throw .unsafe(path: path, reason: objection)
        }
        identity = FileIdentity(status)
        let file = FileBytes(descriptor: descriptor, size: UInt64(clamping: status.st_size))
        do {
            library = try ELFLibrary(file)
        } catch {
            switch error {
            case .invalid(let reason): throw .invalidLibrary(path: path, reason: reason)
            case .wrongMachine(let library, let host):
                throw .wrongMachine(path: path, library: library, host: host)
            case .manifest(let reason): throw .invalidManifest(path: path, reason: reason)
            }
        }
        if checksOwnership {
            let search = LibrarySearch(library, origin: try PluginFile.directory(of: path))
            if let objection = search.objection {
                throw .unsafe(path: path, reason: objection)
            }
        }
        do {
            manifest = try library.manifest.map(PluginManifest.init(bytes:))
        } catch {
            throw .invalidManifest(path: path, reason: error.reason)
        }
    }

    /// The directory that a file lies in, absolute, without symbolic links.
    static func directory(of path: String) throws(PluginLoadError) -> String {
        let directory = path.cutAtLast("/")?.head ?? "."
        guard let resolved = realpath(directory.isEmpty ? "/" : String(directory), nil) else {
            throw .unreadable(path: path, reason: systemText(errno))
        }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// Whether the path still leads to the bytes that were checked.
    ///
    /// Asked after `dlopen`, which opens the path anew.
    var isUnchanged: Bool {
        var status = stat()
        return lstat(path, &status) == 0 && FileIdentity(status) == identity
    }

    private static func kind(_ mode: mode_t) -> String {
        switch mode & S_IFMT {
        case S_IFDIR: "a directory"
        case S_IFIFO: "a FIFO"
        case S_IFSOCK: "a socket"
        case S_IFCHR, S_IFBLK: "a device"
        default: "something else"
        }
    }
}
