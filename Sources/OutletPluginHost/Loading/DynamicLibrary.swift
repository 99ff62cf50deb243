import Glibc
import OutletHTTP

/// A shared library in this process; once in, it stays.
///
/// Never closed: a Swift library that is unmapped leaves its types behind in the runtime, and the
/// next dynamic cast crashes.
struct DynamicLibrary {
    private let handle: UnsafeMutableRawPointer

    struct Refusal: Error {
        let reason: String
    }

    /// Maps a library and binds all its symbols; its constructors run now.
    init(path: String) throws(Refusal) {
        let opened = PluginWatch.watching(path, "load", about: nil) {
            dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)
        }
        guard let handle = opened else {
            let text = dlerror().map { String(cString: $0) } ?? "no reason given"
            throw Refusal(reason: DynamicLibrary.explain(text, path))
        }
        self.handle = handle
    }

    /// The address of an exported function.
    func function<Function>(_ name: String, as type: Function.Type) -> Function? {
        dlsym(handle, name).map { unsafeBitCast($0, to: type) }
    }

    /// The dynamic linker's text without the path, with what helps.
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
        return String(fact)
    }
}
