import FoundationEssentials
import Glibc
import OutletFiles
import OutletTransport

/// Moves a downloaded file to its destination.
enum FileMove {
    /// Moves a file.
    ///
    /// With `removePreviousFile`, an existing file is replaced atomically, also across file
    /// systems.
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
        guard options.contains(.removePreviousFile) else {
            return try files.moveItem(at: source, to: destination)
        }
        if rename(source.path, destination.path) == 0 { return }
        guard errno == EXDEV else { throw error(errno) }
        // On another file system: copies next to the destination, then renames atomically.
        let near = destination.deletingLastPathComponent()
            .appending(path: ".Outlet_\(UUID().uuidString).part")
        do {
            try files.copyItem(at: source, to: near)
            guard rename(near.path, destination.path) == 0 else { throw error(errno) }
        } catch {
            try? files.removeItem(at: near)
            throw error
        }
        try? files.removeItem(at: source)
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
