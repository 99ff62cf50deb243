import CPluginLoad
import Glibc
import OutletHTTP

/// Process-wide state that a library must not change, and that some runtimes change when they are
/// loaded.
///
/// Recorded before a plugin's code runs for the first time and compared after it; differences are
/// restored, except for the environment, open files, the user, the root directory and the
/// ``KernelState`` of the thread. One library is loaded at a time.
/// A signal handler counts only if it lies in a library that was loaded meanwhile, or if a plugin is
/// known to have set the signal's action, because other threads of the host may set handlers of
/// their own. The cost does not grow with the number of loaded libraries, unless a handler did
/// change.
package struct RestorableProcessState {
    private static let environmentName = "the environment"
    /// The name of a change of the default size of a thread's stack.
    package static let stackName = "the default stack of threads"
    private static let filesName = "the open files: no further one can be opened"
    /// The names of changes that are not restored.
    private static let keptNames =
        [environmentName, filesName] + Identity.names + ProcessGroup.names
        + StandardStream.names + KernelState.names

    /// Describes what loading a plugin changed, and whether that was restored.
    ///
    /// - Parameter changes: The names of the changes, at least one.
    package static func fact(ofLoading changes: [String]) -> String {
        let kept = changes.filter(keptNames.contains)
        let end =
            switch kept.count {
            case changes.count: ""
            case 0: "; that was put back"
            default: "; that was put back, except for \(kept.joined(separator: ", "))"
            }
        return "loading it changed \(changes.joined(separator: ", "))\(end)"
    }

    private let dispositions: [Int32: Disposition]
    private let loadCount: UInt64
    private let directory: String
    private let root: KernelState.Directory
    private let locale: String
    private let umask: String
    private let limits: [ResourceLimit]
    private let stackSize: Int
    private let environment: [String]
    private let streams: [StandardStream]
    private let hadFreeDescriptor: Bool
    private let identity: Identity
    private let group: ProcessGroup
    /// That of the thread, which loads the plugin.
    private let floats: UInt64
    private let kernel: KernelState

    /// Records the current state.
    init() {
        var dispositions: [Int32: Disposition] = [:]
        for signal in Int32(1)...64 { dispositions[signal] = Disposition(of: signal) }
        self.dispositions = dispositions
        loadCount = cpluginload_count()
        directory = RestorableProcessState.currentDirectory
        root = .root
        locale = RestorableProcessState.currentLocale
        umask = RestorableProcessState.currentUmask
        limits = ResourceLimit.all
        stackSize = RestorableProcessState.currentStackSize
        environment = RestorableProcessState.currentEnvironment
        streams = StandardStream.all
        hadFreeDescriptor =
            RestorableProcessState.hasFreeDescriptor
            && !limits.contains(where: \.isLowLimitOfFiles)
        identity = Identity()
        group = ProcessGroup()
        floats = cpluginload_expected_float_control()
        kernel = KernelState()
    }

    /// The differences from the recorded state, one item each; nothing is restored.
    var changes: [String] {
        var changes: [String] = []
        for (signal, before) in dispositions.sorted(by: { $0.key < $1.key })
        where Disposition(of: signal).map({ $0 != before }) == true {
            changes.append("the handler of \(signalName(signal))")
        }
        if hasOtherDirectory { changes.append("the current directory") }
        if RestorableProcessState.currentLocale != locale { changes.append("the locale") }
        let mask = RestorableProcessState.currentUmask
        if !mask.isEmpty, mask != umask { changes.append("the umask") }
        for (before, now) in zip(limits, ResourceLimit.all) where before != now {
            changes.append("the limit of \(before.name)")
        }
        if RestorableProcessState.currentStackSize != stackSize { changes.append(Self.stackName) }
        return changes + keptChanges
    }

    /// The differences that are not restored.
    private var keptChanges: [String] {
        let environment =
            RestorableProcessState.currentEnvironment == environment
            ? [] : [RestorableProcessState.environmentName]
        let isFull = hadFreeDescriptor && !RestorableProcessState.hasFreeDescriptor
        return environment + (isFull ? [RestorableProcessState.filesName] : [])
            + (root == .root ? [] : [KernelState.rootName])
            + identity.changes(in: Identity()) + group.changes(in: ProcessGroup())
            + zip(streams, StandardStream.all).filter { $0 != $1 }.map(\.0.name)
    }

    /// Restores what has changed and can be restored.
    ///
    /// Signal handlers that the host may have set itself are neither restored nor returned.
    ///
    /// - Returns: The differences, one item each, including those that are not restored.
    ///
    /// Thread: that which recorded the state.
    func restore() -> [String] {
        var changes: [String] = []
        for (signal, before) in dispositions.sorted(by: { $0.key < $1.key }) {
            guard let after = Disposition(of: signal), after != before,
                PluginWatch.hasSetAction(of: signal)
                    || cpluginload_is_new(after.handler, loadCount)
            else { continue }
            before.restore(signal)
            changes.append("the handler of \(signalName(signal))")
        }
        if hasOtherDirectory {
            _ = chdir(directory)
            changes.append("the current directory")
        }
        if RestorableProcessState.currentLocale != locale {
            setlocale(LC_ALL, locale)
            changes.append("the locale")
        }
        // If the umask cannot be read, for example without free descriptors, it is not compared.
        let now = RestorableProcessState.currentUmask
        if !now.isEmpty, now != umask, let mask = mode_t(umask, radix: 8) {
            _ = Glibc.umask(mask)
            changes.append("the umask")
        }
        for (before, now) in zip(limits, ResourceLimit.all) where before != now {
            before.restore()
            changes.append("the limit of \(before.name)")
        }
        if RestorableProcessState.currentStackSize != stackSize {
            cpluginload_set_stack_size(stackSize)
            changes.append(Self.stackName)
        }
        if cpluginload_float_control() != floats {
            cpluginload_set_float_control(floats)
            changes.append("the floating-point control")
        }
        let kept = keptChanges
        // With the user the kernel changes capabilities and settings.
        let isOther = kept.contains(where: Identity.names.contains)
        let ofThread = isOther ? [] : KernelState().changes(since: kernel)
        return changes + kept + ofThread.filter { !kept.contains($0) }
    }

    /// Whether the current directory has changed.
    ///
    /// Not compared below another root directory, where its path is another one.
    private var hasOtherDirectory: Bool {
        root == .root && RestorableProcessState.currentDirectory != directory
    }

    /// Whether a further file can be opened.
    private static var hasFreeDescriptor: Bool {
        let descriptor = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
        guard descriptor >= 0 else { return errno != EMFILE }
        close(descriptor)
        return true
    }

    private static var currentDirectory: String {
        guard let path = getcwd(nil, 0) else { return "" }
        defer { free(path) }
        return String(cString: path)
    }

    private static var currentLocale: String {
        setlocale(LC_ALL, nil).map { String(cString: $0) } ?? ""
    }

    /// The umask in octal, read from /proc because `umask` would change it for other threads.
    private static var currentUmask: String {
        ProcessStatus()["Umask:"] ?? ""
    }
}

extension RestorableProcessState {
    /// The default size of a thread's stack, in bytes.
    package static var currentStackSize: Int { cpluginload_stack_size() }

    /// The environment variables in their order.
    package static var currentEnvironment: [String] {
        var variables: [String] = []
        // `environ` of Glibc traps after `clearenv()`.
        guard var next = cpluginload_environment() else { return [] }
        while let variable = next.pointee {
            variables.append(String(cString: variable))
            next += 1
        }
        return variables
    }
}

/// The group and the session of processes that this one belongs to: signals of a terminal go to them.
private struct ProcessGroup {
    static let names = [KernelState.sessionName, KernelState.groupName]

    private let session = getsid(0)
    private let group = getpgrp()

    func changes(in now: ProcessGroup) -> [String] {
        (session == now.session ? [] : [KernelState.sessionName])
            + (group == now.group ? [] : [KernelState.groupName])
    }
}

/// The user and the groups that the process acts for.
package struct Identity: Equatable, Sendable {
    private static let userName = "the user"
    private static let groupName = "the groups"
    package static let names = [userName, groupName]

    /// The real, effective and saved user.
    private let users: [uid_t]
    /// The real, effective and saved group, and the supplementary ones.
    private let groups: [gid_t]

    /// Records the current ones.
    package init() {
        let ids = cpluginload_identity()
        users = [ids.user, ids.effective_user, ids.saved_user]
        var others = [gid_t](repeating: 0, count: Int(max(getgroups(0, nil), 0)))
        let count = getgroups(Int32(others.count), &others)
        groups =
            [ids.group, ids.effective_group, ids.saved_group]
            + others.prefix(Int(max(count, 0))).sorted()
    }

    /// The names of what differs in a later state.
    package func changes(in now: Identity) -> [String] {
        (users == now.users ? [] : [Self.userName])
            + (groups == now.groups ? [] : [Self.groupName])
    }
}

/// The file of a standard stream; closed ones are compared, too.
private struct StandardStream: Equatable {
    static let names = [
        "the standard input", "the standard output", "the standard error stream",
    ]
    static var all: [StandardStream] {
        zip(STDIN_FILENO...STDERR_FILENO, names).map(StandardStream.init)
    }

    let name: String
    private let device: dev_t
    private let number: ino_t

    private init(_ descriptor: Int32, _ name: String) {
        self.name = name
        var status = stat()
        let isOpen = fstat(descriptor, &status) == 0
        device = isOpen ? status.st_dev : 0
        number = isOpen ? status.st_ino : 0
    }
}

/// The action of a signal.
private struct Disposition: Equatable {
    private let action: sigaction

    /// Reads the current action.
    ///
    /// - Returns: `nil` for signals that the C library reserves.
    init?(of signal: Int32) {
        var action = sigaction()
        guard sigaction(signal, nil, &action) == 0 else { return nil }
        self.action = action
    }

    func restore(_ signal: Int32) {
        var action = action
        sigaction(signal, &action, nil)
    }

    /// The handler's address; 0 for the default action, 1 for ignoring.
    var handler: UInt { withUnsafeBytes(of: action) { $0.loadUnaligned(as: UInt.self) } }

    /// `SA_RESTORER` of the kernel, which the C library sets itself, and shows in what it returns:
    /// `system()` passes it to the kernel also where it was not set before.
    private static let restorer: Int32 = 0x0400_0000

    /// The handler, the flags and the mask of the kernel's 64 signals; the rest of the mask is
    /// never written.
    private var facts: [UInt64] {
        withUnsafeBytes(of: action) { bytes in
            let mask = MemoryLayout<sigaction>.offset(of: \.sa_mask) ?? 0
            return [
                UInt64(handler),
                UInt64(UInt32(bitPattern: action.sa_flags & ~Self.restorer)),
                bytes.loadUnaligned(fromByteOffset: mask, as: UInt64.self),
            ]
        }
    }

    static func == (a: Disposition, b: Disposition) -> Bool { a.facts == b.facts }
}
