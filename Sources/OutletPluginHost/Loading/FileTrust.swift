import Glibc
import OutletHTTP

/// Whether a file or directory is out of reach of users other than root and this one.
enum FileTrust {
    /// What speaks against a directory or one above it; `nil` when nothing does.
    ///
    /// A directory above may be writable by all when it is sticky, as `/tmp` is: there, nobody can
    /// rename what is not theirs. The plugin directory itself may not.
    ///
    /// - Parameter path: Absolute, without symbolic links.
    static func objection(toDirectory path: String) -> String? {
        var directory = path[...]
        var isAncestor = false
        while true {
            let current = directory.isEmpty ? "/" : String(directory)
            var status = stat()
            guard lstat(current, &status) == 0 else { return systemText(errno) }
            let isSticky = isAncestor && status.st_mode & mode_t(S_ISVTX) != 0
            if let objection = objection(to: status, allowsWriting: isSticky) {
                return isAncestor ? "\(current), above it, \(objection)" : objection
            }
            guard let parent = directory.cutAtLast("/")?.head else { return nil }
            directory = parent
            isAncestor = true
        }
    }

    /// What speaks against a file; `nil` when nothing does.
    static func objection(to status: stat, allowsWriting: Bool = false) -> String? {
        guard status.st_uid == 0 || status.st_uid == geteuid() else {
            return "belongs to user \(status.st_uid), neither root nor user \(geteuid())"
        }
        let writable = status.st_mode & mode_t(S_IWGRP | S_IWOTH)
        guard writable != 0, !allowsWriting else { return nil }
        let who = status.st_mode & mode_t(S_IWOTH) != 0 ? "all users" : "its group"
        let mode = String(status.st_mode & 0o7777, radix: 8)
        return "is writable by \(who) (mode \(mode)); chmod go-w"
    }
}
