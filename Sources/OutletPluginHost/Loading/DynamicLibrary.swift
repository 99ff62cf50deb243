import Glibc
import OutletHTTP
import OutletTransport
import Synchronization

/// A shared library loaded into this process, which is never unloaded.
///
/// The types of a Swift library stay registered with the runtime when it is unmapped, and the next
/// dynamic cast would crash.
struct DynamicLibrary: @unchecked Sendable {
    // @unchecked because the library is never unmapped.
    private let handle: UnsafeMutableRawPointer
    /// The path of the original file, for reports.
    private let plugin: String
    /// Identifies the library in the process, from 1.
    let number: UInt32

    /// The loaded libraries by the path of the original file.
    private static let mapped = Lock<[String: [(bundle: PluginBundle, library: Self)]]>([:])
    /// The number of libraries so far, also of those that could not be loaded.
    private static let count = Atomic<UInt32>(0)

    struct Refusal: Error {
        let reason: String
    }

    /// Loads a library and binds all its symbols; runs its constructors.
    ///
    /// A file with the same path and bytes as one loaded before returns the same library, as
    /// `dlopen` does; if the bytes have changed, the file is loaded as another library.
    static func load(_ file: PluginFile) throws(Refusal) -> DynamicLibrary {
        let known = mapped.withLock { $0[file.place] ?? [] }
        if let same = known.first(where: { $0.bundle.hasSameBytes(as: file.bundle) }) {
            return same.library
        }
        let library = try file.bundle.withPath { path throws(Refusal) in
            try DynamicLibrary(path: path, of: file.path)
        }
        mapped.withLock { $0[file.place, default: []].append((file.bundle, library)) }
        return library
    }

    private init(path: String, of plugin: String) throws(Refusal) {
        number = DynamicLibrary.count.wrappingAdd(1, ordering: .relaxed).newValue
        let opened = PluginWatch.watching(plugin, in: number, "load", about: nil) {
            dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)
        }
        guard let handle = opened else {
            let text = dlerror().map { String(cString: $0) } ?? "no reason given"
            throw Refusal(reason: DynamicLibrary.explain(text, path))
        }
        PluginWatch.noteLoading()
        self.handle = handle
        self.plugin = plugin
    }

    /// The address of an exported function; `nil` where there is none.
    func function<Function>(_ name: String, as type: Function.Type) -> Function? {
        // Runs code of the library if the function is an indirect one (IFUNC).
        PluginWatch.watching(plugin, in: number, "load", about: nil) { dlsym(handle, name) }
            .map { unsafeBitCast($0, to: type) }
    }

    /// The dynamic linker's error text without the path, with advice.
    private static func explain(_ text: String, _ path: String) -> String {
        let isNamed = text.startsWithBytes(of: "\(path): ")
        let fact = text.droppingBytes(isNamed ? path.utf8.count + 2 : 0)
        if let (_, symbol) = fact.cut(around: "undefined symbol: ") {
            let name = symbol.prefix(whileByte: { !$0.isBlank && $0 != UInt8(ascii: ",") })
            return "\(fact); link the plugin with the library that defines \(name), or with "
                + "-Wl,-z,defs to learn of it earlier"
        }
        if let (library, _) = fact.cut(around: ": cannot open shared object file") {
            return "\(fact); install the package that holds \(library)"
        }
        if fact.startsWithBytes(of: "cannot open shared object file") {
            return "\(fact); plugins are loaded by way of /proc, which must be there"
        }
        if fact.containsBytes(of: "failed to map segment") {
            return
                "\(fact); the system does not allow running code from memory files, which plugins are "
                + "copied to"
        }
        return String(fact)
    }
}
