import Glibc
import OutletFiles
import OutletHTTP

/// Why a file or directory is not safe, as a sentence.
package struct Objection: CustomStringConvertible {
    package let description: String
    /// What it says, for programs.
    let cause: UnsafeCause

    init(_ description: String, _ cause: UnsafeCause = .other) {
        self.description = description
        self.cause = cause
    }

    /// The objection with words before it.
    func after(_ words: String) -> Objection { Objection(words + description, cause) }
}

/// Checks whether users other than root and the current user can change a file or directory.
package enum FileTrust {
    /// Checks a directory and all directories above it.
    ///
    /// A parent directory may be writable by all if it has the sticky bit, as `/tmp` has: users can
    /// rename only their own entries there. The directory itself may not.
    ///
    /// - Parameters:
    ///   - path: An absolute path without symbolic links.
    ///   - isAncestor: Whether the directory itself may have the sticky bit, too.
    /// - Returns: The first directory from `path` upwards that is not safe, and the reason, such as
    ///   "is writable by all users"; `nil` when all are.
    static func fault(
        of path: String, isAncestor: Bool = false
    ) -> (directory: String, reason: Objection)? {
        var directory = path[...]
        var isAncestor = isAncestor
        while true {
            let current = directory.isEmpty ? "/" : String(directory)
            var status = stat()
            guard lstat(current, &status) == 0 else {
                return (current, Objection("cannot be checked: \(systemText(errno))"))
            }
            let isSticky = isAncestor && status.st_mode & mode_t(S_ISVTX) != 0
            if let objection = objection(to: status, allowsWriting: isSticky) {
                return (current, objection)
            }
            guard let parent = directory.cutAtLast("/")?.head else { return nil }
            directory = parent
            isAncestor = true
        }
    }

    /// Checks a file or directory that is opened by its path.
    ///
    /// Symbolic links on the way are checked, too; if something on the path does not exist, the
    /// directory in which it could be created is checked.
    ///
    /// - Parameter path: An absolute path.
    /// - Returns: Why the path is not safe; `nil` when it is.
    package static func objection(toPath path: String) -> Objection? {
        var rest = Array(path.parts(separatedBy: "/").reversed())
        // The path so far, without symbolic links.
        var directory = ""
        var links = 0
        while let name = rest.popLast() {
            if name.isEmpty || name == "." { continue }
            if name == ".." {
                directory = directory.cutAtLast("/").map { String($0.head) } ?? ""
                continue
            }
            let next = "\(directory)/\(name)"
            var status = stat()
            guard lstat(next, &status) == 0 else {
                guard errno == ENOENT else { return Objection("\(next): \(systemText(errno))") }
                return fault(of: directory).map {
                    $0.reason.after("\(next) is missing, and \($0.directory) ")
                }
            }
            guard status.st_mode & S_IFMT == S_IFLNK else {
                directory = next
                continue
            }
            links += 1
            guard links <= 40, let target = target(ofLink: next) else {
                return Objection("\(next) is a symbolic link that leads nowhere")
            }
            if let fault = fault(of: directory, isAncestor: true) {
                return fault.reason.after("\(fault.directory) ")
            }
            if let objection = objection(to: status, allowsWriting: true) {
                return objection.after("\(next) ")
            }
            rest += target.parts(separatedBy: "/").reversed()
            if target.startsWithBytes(of: "/") { directory = "" }
        }
        return fault(of: directory).map { $0.reason.after("\($0.directory) ") }
    }

    private static func target(ofLink path: String) -> String? {
        var length = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: Int(PATH_MAX)) { buffer, count in
            length = buffer.withMemoryRebound(to: CChar.self) { buffer in
                buffer.baseAddress.map { readlink(path, $0, buffer.count) } ?? 0
            }
            count = max(length, 0)
        }
        return length > 0 ? String(validating: bytes, as: UTF8.self) : nil
    }

    /// Checks the owner and mode of a file or directory.
    ///
    /// - Parameter allowsWriting: Whether write permission for others is accepted; the owner is
    ///   checked in any case.
    /// - Returns: Why it is not safe; `nil` when it is.
    static func objection(to status: stat, allowsWriting: Bool = false) -> Objection? {
        guard status.st_uid == 0 || status.st_uid == geteuid() else {
            return Objection(
                "belongs to user \(status.st_uid), neither root nor user \(geteuid())", .owner)
        }
        let writable = status.st_mode & mode_t(S_IWGRP | S_IWOTH)
        guard writable != 0, !allowsWriting else { return nil }
        let who = status.st_mode & mode_t(S_IWOTH) != 0 ? "all users" : "its group"
        let mode = String(status.st_mode & 0o7777, radix: 8)
        return Objection("is writable by \(who) (mode \(mode)); chmod go-w")
    }
}
