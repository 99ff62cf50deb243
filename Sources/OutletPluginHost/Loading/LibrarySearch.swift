import Glibc
import OutletHTTP

/// The directories in which the dynamic linker searches for a library's dependencies (ld.so(8)).
struct LibrarySearch {
    private let library: ELFLibrary
    /// The library's own directory, the value of `$ORIGIN`.
    private let origin: String

    /// Creates the search of one library.
    ///
    /// - Parameter origin: The library's directory: absolute, without symbolic links.
    init(_ library: ELFLibrary, origin: String) {
        self.library = library
        self.origin = origin
    }

    /// The search paths of the library with the names of their entries.
    private var lists: [(name: String, directories: [String])] {
        [("DT_RUNPATH", library.runPath), ("DT_RPATH", library.oldRunPath)].compactMap {
            name, directories in directories.map { (name, $0) }
        }
    }

    /// Why other users could make the library load a file of theirs; `nil` when they cannot.
    ///
    /// The library's own directory is not checked here.
    var objection: Objection? {
        for list in lists {
            for directory in list.directories {
                let text = "looks for libraries in \(String(reflecting: directory)) (\(list.name))"
                if directory.isEmpty {
                    return Objection("\(text), which is the current directory")
                }
                if let reason = objection(to: directory) { return reason.after(text) }
            }
        }
        for needed in library.neededLibraries {
            guard let place = needed.cutAtLast("/")?.head else { continue }
            let directory = place.isEmpty ? "/" : String(place)
            if let reason = objection(to: directory) {
                return reason.after("needs \(String(reflecting: needed))")
            }
        }
        return nil
    }

    private func objection(to directory: String) -> Objection? {
        guard let path = LibrarySearch.expand(directory, origin: origin) else {
            return Objection(", of which only $ORIGIN is understood")
        }
        guard path.startsWithBytes(of: "/") else {
            return Objection(", which is relative to the current directory")
        }
        // Invalid UTF-8 was replaced when it was read, so this is another name.
        if path.containsBytes(of: "\u{FFFD}") { return Objection(", which is not UTF-8") }
        if path.hasSameBytes(as: origin) { return nil }
        return FileTrust.objection(toPath: path).map { $0.after(": ") }
    }

    /// A directory of a search path.
    struct Directory {
        /// The directory with `$ORIGIN` replaced, without a slash at its end.
        let path: String
        /// Its path relative to the library's directory; `nil` when it is written without
        /// `$ORIGIN`.
        let wayFromOrigin: String?
    }

    /// The directories in the library's search path, without those that cannot be interpreted.
    ///
    /// Where both lists exist, only `DT_RUNPATH` counts.
    var directories: [Directory] {
        (library.runPath ?? library.oldRunPath ?? []).compactMap(parsed)
    }

    /// The directory of a dependency whose name contains a path; `nil` for names without one.
    func directory(ofNeeded name: String) -> Directory? {
        name.cutAtLast("/").flatMap { parsed(String($0.head)) }
    }

    private func parsed(_ text: String) -> Directory? {
        guard !text.isEmpty, let path = LibrarySearch.expand(text, origin: origin) else {
            return nil
        }
        let variable = ["$ORIGIN", "${ORIGIN}"].first(where: text.startsWithBytes)
        return Directory(
            path: String(path.endsWithBytes(of: "/") ? path.cutAtLast("/")?.head ?? "" : path[...]),
            wayFromOrigin: variable.map { String(text.droppingBytes($0.utf8.count)) })
    }

    /// Replaces `$ORIGIN` by the library's directory; `nil` when there is another `$`.
    private static func expand(_ text: String, origin: String) -> String? {
        var path = ""
        var rest = text[...]
        while let (head, tail) = rest.cut(at: "$") {
            path += head
            guard let token = ["ORIGIN", "{ORIGIN}"].first(where: tail.startsWithBytes) else {
                return nil
            }
            path += origin
            rest = tail.droppingBytes(token.utf8.count)
        }
        return path + rest
    }
}
