import FoundationEssentials
import Glibc
import OutletFiles
import OutletTransport

/// Moves a downloaded file to its destination.
enum FileMove {
    /// Moves a file.
    ///
    /// The whole file appears at its destination at once, also on another file system: with
    /// `removePreviousFile`, it replaces an existing file, else that is an error even if the file was
    /// made meanwhile. File systems without hard links do not notice a file that is made in between.
    ///
    /// - Throws: `CocoaError`: `.fileNoSuchFile` when the directory is missing,
    ///   `.fileWriteFileExists` when there is a file that may not be replaced,
    ///   `.fileWriteUnsupportedScheme` when the destination is not a `file:` URL; other errors of
    ///   the file system.
    static func move(
        _ source: URL, to destination: URL, options: DownloadRequest.Options
    ) throws {
        guard destination.isFileURL else { throw CocoaError(.fileWriteUnsupportedScheme) }
        let files = FileManager.default
        if options.contains(.createIntermediateDirectories) {
            try files.createDirectory(
                at: destination.deletingLastPathComponent(), withIntermediateDirectories: true)
        }
        let replaces = options.contains(.removePreviousFile)
        let number = place(source.path, at: destination.path, replaces: replaces)
        if number == 0 { return }
        guard number == EXDEV else { throw error(number) }
        // Before the copy, which may take long.
        var status = stat()
        if !replaces, lstat(destination.path, &status) == 0 { throw error(EEXIST) }
        // On another file system: copies next to the destination first.
        let near = destination.deletingLastPathComponent()
            .appending(path: ".Outlet_\(UUID().uuidString).part")
        do {
            try files.copyItem(at: source, to: near)
            let number = place(near.path, at: destination.path, replaces: replaces)
            guard number == 0 else { throw error(number) }
        } catch {
            try? files.removeItem(at: near)
            throw error
        }
        try? files.removeItem(at: source)
    }

    /// Gives a file another name on its file system.
    ///
    /// - Returns: The error number, `EEXIST` for an existing file that is not replaced; 0 on success.
    private static func place(_ source: String, at destination: String, replaces: Bool) -> Int32 {
        if !replaces {
            // Unlike `rename`, fails if there is a file.
            if link(source, destination) == 0 {
                unlink(source)
                return 0
            }
            guard errno != EEXIST, errno != EXDEV else { return errno }
            // Some file systems have no hard links, and a container may forbid them.
            var status = stat()
            guard lstat(destination, &status) != 0 else { return EEXIST }
        }
        return rename(source, destination) == 0 ? 0 : errno
    }

    private static func error(_ number: Int32) -> CocoaError {
        let code: CocoaError.Code =
            switch number {
            case ENOENT, ENOTDIR: .fileNoSuchFile
            case EISDIR, ENOTEMPTY, EEXIST: .fileWriteFileExists
            case EACCES, EPERM: .fileWriteNoPermission
            case ENOSPC, EDQUOT: .fileWriteOutOfSpace
            case EROFS: .fileWriteVolumeReadOnly
            default: .fileWriteUnknown
            }
        return CocoaError(code, number: number)
    }
}
