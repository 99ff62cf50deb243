public import FoundationEssentials
import Glibc
import OutletFiles
import OutletHTTP

/// A directory that plugins are loaded from; its subdirectories are not searched.
struct PluginDirectory {
    /// The directory without symbolic links or relative parts.
    let path: String
    /// The paths of its `*.so` entries, sorted by byte values.
    let candidates: [String]
    /// Errors for `*.so` entries whose names are not UTF-8.
    let failures: [PluginLoadError]

    /// Reads a directory.
    ///
    /// - Parameters:
    ///   - path: The directory, or a symbolic link to it.
    ///   - checksOwnership: Whether to refuse a directory that other users can write to, or exchange
    ///     for another one by a link on the way to it.
    /// - Throws: ``PluginDirectoryError/unreadable(path:reason:)`` or
    ///   ``PluginDirectoryError/unsafe(path:reason:)``.
    init(path: String, checksOwnership: Bool) throws(PluginDirectoryError) {
        guard let resolved = realpath(path, nil) else {
            throw .unreadable(path: path, reason: systemText(errno))
        }
        defer { free(resolved) }
        guard let own = String(validatingCString: resolved) else {
            throw .unreadable(path: path, reason: "it leads to a name that is not UTF-8")
        }
        self.path = own
        if checksOwnership, let fault = FileTrust.fault(of: self.path) {
            throw .unsafe(path: path, reason: "\(fault.directory) \(fault.reason)")
        }
        if checksOwnership, let objection = FileTrust.objection(toPath: try Self.absolute(path)) {
            throw .unsafe(path: path, reason: "\(objection)")
        }
        guard let stream = opendir(resolved) else {
            throw .unreadable(path: path, reason: systemText(errno))
        }
        defer { closedir(stream) }
        let directory = self.path == "/" ? "" : self.path
        var names: [String] = []
        var failures: [PluginLoadError] = []
        errno = 0
        while let entry = readdir(stream) {
            let bytes = withUnsafeBytes(of: &entry.pointee.d_name) {
                Array($0.prefix { $0 != 0 })
            }
            if bytes.suffix(3) == Array(".so".utf8)[...], bytes.first != UInt8(ascii: ".") {
                if let name = String(validating: bytes, as: UTF8.self) {
                    names.append(name)
                } else {
                    failures.append(
                        .unreadable(
                            path: "\(directory)/\(bytes.escapingNonASCII)",
                            reason: "its name is not UTF-8"))
                }
            }
            errno = 0
        }
        guard errno == 0 else { throw .unreadable(path: path, reason: systemText(errno)) }
        self.failures = failures
        candidates = names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            .map { "\(directory)/\($0)" }
    }
}

extension PluginDirectory {
    /// A path from the root, with its links.
    private static func absolute(_ path: String) throws(PluginDirectoryError) -> String {
        guard !path.startsWithBytes(of: "/") else { return path }
        guard let current = getcwd(nil, 0) else {
            throw .unreadable(path: path, reason: systemText(errno))
        }
        defer { free(current) }
        guard let current = String(validatingCString: current) else {
            throw .unreadable(path: path, reason: "it leads to a name that is not UTF-8")
        }
        return "\(current)/\(path)"
    }
}

extension [UInt8] {
    /// The bytes as text, with bytes that are not ASCII as `\xE9`.
    fileprivate var escapingNonASCII: String {
        map { byte in
            byte < 0x80
                ? String(Unicode.Scalar(byte))
                : "\\x" + String(byte, radix: 16, uppercase: true)
        }.joined()
    }
}

/// Why plugins could not be loaded from directories and files.
public enum PluginDirectoryError: Error, Equatable, Sendable {
    /// The directory cannot be read; `reason` is the system's error text.
    case unreadable(path: String, reason: String)
    /// Users other than root and the current user can write to the directory or one above it, or to
    /// one with a symbolic link on the way to it.
    case unsafe(path: String, reason: String)
    /// Its `plugins.json` cannot be read or is not safe; `path` is the file.
    case unusableSettings(path: String, reason: String)
    /// The content of its `plugins.json` is invalid; `path` is the file.
    case invalidSettings(path: String, violations: [ConfigurationViolation])
    /// At least one plugin cannot be used, and the load policy requires all.
    case incomplete([PluginLoadError])

    /// The directory as it was given, its `plugins.json`, or the first file that cannot be used.
    public var path: String {
        switch self {
        case .unreadable(let path, _), .unsafe(let path, _), .unusableSettings(let path, _),
            .invalidSettings(let path, _):
            path
        case .incomplete(let failures): failures.first?.path ?? ""
        }
    }
}

extension PluginDirectoryError: CustomStringConvertible, LocalizedError {
    /// One line: the path, what is wrong, and the evidence.
    public var description: String {
        switch self {
        case .unreadable(let path, let reason):
            "\(path): plugin directory cannot be read: \(reason)"
        case .unsafe(let path, let reason):
            "\(path): plugin directory is not safe: \(reason)"
        case .unusableSettings(let path, let reason):
            "\(path): settings of plugins cannot be used: \(reason)"
        case .invalidSettings(let path, let violations):
            "\(path): settings of plugins are wrong: \(violations.line)"
        case .incomplete(let failures):
            (failures.first?.description ?? "plugins cannot be used")
                + (failures.count > 1 ? "; and \(failures.count - 1) more" : "")
        }
    }

    /// The ``description``, for `localizedDescription`.
    public var errorDescription: String? { description }
}
