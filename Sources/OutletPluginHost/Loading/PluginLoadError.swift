public import FoundationEssentials
import OutletHTTP

/// Why a plugin could not be loaded.
public enum PluginLoadError: Error, Equatable, Sendable {
    /// The file cannot be opened or read; `reason` is the system's error text.
    case unreadable(path: String, reason: String)
    /// The path is not a regular file; `kind` says what it is.
    case notAFile(path: String, kind: String)
    /// Users other than root and the current user could have written the file or a library it
    /// loads; `cause` is what `reason` says, for programs.
    case unsafe(path: String, reason: String, cause: UnsafeCause = .other)
    /// The file is not a shared library, or is damaged.
    case invalidLibrary(path: String, reason: String)
    /// The library is built for another processor architecture.
    case wrongMachine(path: String, library: String, host: String)
    /// The library exports no `outlet_module_v1`.
    case noEntryPoint(path: String)
    /// The plugin was built for other major versions of the ABI, which `plugin` lists.
    case wrongABI(path: String, plugin: [UInt32], host: UInt32)
    /// The plugin needs a newer minor version of the ABI.
    case hostTooOld(path: String, wanted: UInt32, host: UInt32)
    /// The manifest is malformed, missing where the host requires one, or different from what the
    /// code declares.
    case invalidManifest(path: String, reason: String)
    /// The dynamic linker refused the file; `reason` is its error text.
    case notLoadable(path: String, reason: String)
    /// `outlet_module_v1` returned null for this host's minor version.
    case refused(path: String, host: UInt32)
    /// The plugin's module, descriptor or exports violate the contract.
    case invalidModule(path: String, reason: String)
    /// The signature of a function that the plugin exports is invalid.
    case invalidSignature(path: String, reason: String)
    /// A plugin with the same id was loaded before from the file `first`.
    case duplicate(path: String, id: String, first: String)
    /// The plugin's JSON Schema is invalid.
    case invalidSchema(path: String, id: String, reason: String)
    /// The plugin's settings are invalid: not a JSON object, not valid by its schema, or with
    /// invalid permissions or instance names.
    case invalidConfiguration(path: String, id: String, violations: [ConfigurationViolation])
    /// The policy does not grant permissions that the plugin asks for; `policy` is the origin of
    /// the policy.
    case notGranted(path: String, id: String, permissions: [String], policy: String)
    /// The instance could not be created; `reason` is the plugin's or the host's, `code` the
    /// plugin's stable error code, empty where it gave none. `reasonFault` says why the reason is
    /// the host's although the plugin should have given one.
    case creationFailed(
        path: String, id: String, code: String = "", reason: String,
        reasonFault: ReasonFault? = nil)
    /// The plugin's `create` returned `OUTLET_OK` without an instance.
    case noInstance(path: String, id: String)
    /// Settings name a plugin that was not found; `path` is the settings file, the origin of the
    /// program's settings, or without one the directories and files that were loaded.
    case unknownPlugin(path: String, id: String, known: [String])

    /// The path of the file; for ``unknownPlugin(path:id:known:)`` see there.
    public var path: String {
        switch self {
        case .unreadable(let path, _), .notAFile(let path, _), .unsafe(let path, _, _),
            .invalidLibrary(let path, _), .wrongMachine(let path, _, _), .noEntryPoint(let path),
            .wrongABI(let path, _, _), .hostTooOld(let path, _, _), .invalidManifest(let path, _),
            .notLoadable(let path, _), .refused(let path, _), .invalidModule(let path, _),
            .invalidSignature(let path, _),
            .duplicate(let path, _, _), .invalidSchema(let path, _, _),
            .invalidConfiguration(let path, _, _), .notGranted(let path, _, _, _),
            .creationFailed(let path, _, _, _, _), .noInstance(let path, _),
            .unknownPlugin(let path, _, _):
            path
        }
    }
}

/// What makes a file unsafe to load.
public enum UnsafeCause: Sendable, Equatable {
    /// Other users can change the directory of the file.
    case directory
    /// The file, or one that it needs, belongs to another user.
    case owner
    /// Anything else, such as a mode that lets other users write to the file.
    case other
}

extension PluginLoadError: CustomStringConvertible, LocalizedError {
    /// One line: the file, what is wrong, and the evidence.
    ///
    /// A plugin's reason is shown whole, because it may be about a setting with a secret name.
    public var description: String { TerminalText.visibleLine("\(path): \(what)") }

    /// The ``description``, for `localizedDescription`.
    public var errorDescription: String? { description }

    private var what: String {
        switch self {
        case .unreadable(_, let reason): "cannot be read: \(reason)"
        case .notAFile(_, let kind): "not a regular file: it is \(kind)"
        case .unsafe(_, let reason, _): "not safe to load: it \(reason)"
        case .invalidLibrary(_, let reason): "not a usable shared library: \(reason)"
        case .wrongMachine(_, let library, let host):
            "built for another machine: \(library), this host is \(host)"
        case .noEntryPoint: "not an Outlet plugin: no symbol 'outlet_module_v1'"
        case .wrongABI(_, let plugin, let host):
            "uses another ABI: the plugin needs ABI "
                + plugin.map(String.init).joined(separator: " or ") + ", this host has \(host)"
        case .hostTooOld(_, let wanted, let host):
            "needs a newer host: ABI minor \(wanted), this host has \(host)"
        case .invalidManifest(_, let reason): "manifest is wrong: \(reason)"
        case .notLoadable(_, let reason): "cannot be loaded: \(reason)"
        case .refused(_, let host):
            "refused this host: outlet_module_v1(\(host)) returned null"
        case .invalidModule(_, let reason), .invalidSignature(_, let reason):
            "breaks the plugin contract: \(reason)"
        case .duplicate(_, let id, let first):
            "a second plugin '\(id)': the first is \(first), and is kept"
        case .invalidSchema(_, let id, let reason):
            "the configuration schema of '\(id)' is wrong: \(reason)"
        case .invalidConfiguration(let path, let id, let violations):
            "configuration of '\(id)' is wrong: "
                + (["", path].contains(violations.commonSource)
                    ? "" : "\(violations.commonSource): ")
                + violations.line
        case .notGranted(_, let id, let permissions, let policy):
            "'\(id)' needs permissions that are not granted: "
                + "\(permissions.joined(separator: ", ")) (policy: \(policy))"
        case .creationFailed(_, let id, let code, let reason, _):
            "'\(id)' could not start\(code.isEmpty ? "" : " (\(code))"): \(reason)"
        case .noInstance(_, let id):
            "'\(id)' could not start: create returned OUTLET_OK without an instance"
        case .unknownPlugin(_, let id, let known):
            "configuration for '\(id)': no such plugin"
                + (known.isEmpty ? "" : "; there is \(known.joined(separator: ", "))")
        }
    }
}

extension PluginLoadError {
    /// Converts an error of validating configuration.
    init(_ problem: ConfigurationSchema.Unusable, path: String, id: String, _ source: String) {
        switch problem {
        case .schema(let reason): self = .invalidSchema(path: path, id: id, reason: reason)
        case .value(let reason):
            self = .invalidConfiguration(
                path: path, id: id,
                violations: [ConfigurationViolation(fact: reason, source: source)])
        case .noResources:
            self = .creationFailed(
                path: path, id: id,
                reason: "there is no memory or no thread to check its configuration with")
        }
    }
}
