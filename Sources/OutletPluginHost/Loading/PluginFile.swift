import Glibc
import OutletFiles
import OutletHTTP

/// A candidate for a plugin: opened once and copied; its bytes and file permissions are checked.
struct PluginFile {
    let path: String
    /// The path without symbolic links or relative parts.
    let place: String
    let library: ELFLibrary
    /// The manifests of its plugins; empty when there are none.
    let manifests: [PluginManifest]
    /// Copies of the checked bytes, which are the ones that are mapped.
    let bundle: PluginBundle

    /// Opens and checks a file without running any of its code.
    ///
    /// - Throws: ``PluginLoadError``.
    init(path: String, checksOwnership: Bool) throws(PluginLoadError) {
        self.path = path
        // O_NONBLOCK because opening a FIFO would wait for a writer.
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else {
            if errno == ELOOP {
                throw .notAFile(path: path, kind: "a symbolic link; copy the file instead")
            }
            let reason = systemText(errno)
            // A socket cannot be opened.
            throw PluginFile.kind(at: path).map { .notAFile(path: path, kind: $0) }
                ?? .unreadable(path: path, reason: reason)
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
            throw .unsafe(path: path, reason: "\(objection)", cause: objection.cause)
        }
        let directory = try PluginFile.directory(of: path)
        let name = path.cutAtLast("/").map { String($0.tail) } ?? path
        place = "\(directory)/\(name)"
        do throws(ELFLibrary.Problem) {
            let copy = try PluginCopy(of: descriptor, name: name)
            library = try ELFLibrary(copy.bytes)
            if checksOwnership,
                let objection = LibrarySearch(library, origin: directory).objection
            {
                throw ELFLibrary.Problem.unsafe(objection)
            }
            bundle = try PluginBundle(
                copy, library, directory: directory, name: name, checksOwnership: checksOwnership)
        } catch {
            switch error {
            case .invalid(let reason): throw .invalidLibrary(path: path, reason: reason)
            case .wrongMachine(let library, let host):
                throw .wrongMachine(path: path, library: library, host: host)
            case .manifest(let reason): throw .invalidManifest(path: path, reason: reason)
            case .unsafe(let objection):
                throw .unsafe(path: path, reason: "\(objection)", cause: objection.cause)
            case .notCopied(let reason): throw .notLoadable(path: path, reason: reason)
            }
        }
        do {
            manifests = try library.manifest.map(PluginManifest.all) ?? []
        } catch {
            throw .invalidManifest(path: path, reason: error.reason)
        }
    }

    /// The directory of a file as an absolute path without symbolic links.
    ///
    /// - Throws: ``PluginLoadError/unreadable(path:reason:)``.
    static func directory(of path: String) throws(PluginLoadError) -> String {
        let directory = path.cutAtLast("/")?.head ?? "."
        guard let resolved = realpath(directory.isEmpty ? "/" : String(directory), nil) else {
            throw .unreadable(path: path, reason: systemText(errno))
        }
        defer { free(resolved) }
        guard let directory = String(validatingCString: resolved) else {
            throw .unreadable(path: path, reason: "the name of its directory is not UTF-8")
        }
        return directory
    }

    /// What a path is; `nil` for a regular file, a symbolic link, and what cannot be examined.
    static func kind(at path: String) -> String? {
        var status = stat()
        guard lstat(path, &status) == 0,
            ![S_IFREG, S_IFLNK].contains(status.st_mode & S_IFMT)
        else { return nil }
        return kind(status.st_mode)
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
