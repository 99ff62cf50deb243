import Glibc
import OutletHTTP

/// Where the dynamic linker looks for the libraries that a library needs (ld.so(8)).
struct LibrarySearch {
    private let library: ELFLibrary
    /// The library's own directory, which `$ORIGIN` stands for.
    private let origin: String

    /// - Parameter origin: Absolute, without symbolic links.
    init(_ library: ELFLibrary, origin: String) {
        self.library = library
        self.origin = origin
    }

    /// What the library says of the directories, and in which words.
    private var lists: [(name: String, directories: [String])] {
        [("DT_RUNPATH", library.runPath), ("DT_RPATH", library.oldRunPath)].compactMap {
            name, directories in directories.map { (name, $0) }
        }
    }

    /// Why others could have the library load a file of theirs; `nil` when they cannot.
    ///
    /// Its own directory is not judged here.
    var objection: String? {
        for list in lists {
            for directory in list.directories {
                let text = "looks for libraries in \(String(reflecting: directory)) (\(list.name))"
                if directory.isEmpty { return "\(text), which is the current directory" }
                if let reason = objection(to: directory) { return "\(text)\(reason)" }
            }
        }
        for needed in library.neededLibraries {
            guard let place = needed.cutAtLast("/")?.head else { continue }
            let directory = place.isEmpty ? "/" : String(place)
            if let reason = objection(to: directory) {
                return "needs \(String(reflecting: needed))\(reason)"
            }
        }
        return nil
    }

    private func objection(to directory: String) -> String? {
        guard let path = LibrarySearch.expand(directory, origin: origin) else {
            return ", of which only $ORIGIN is understood"
        }
        guard path.startsWithBytes(of: "/") else {
            return ", which is relative to the current directory"
        }
        // Damaged text was repaired where it was read: it is another name.
        if path.containsBytes(of: "\u{FFFD}") { return ", which is not UTF-8" }
        if path.hasSameBytes(as: origin) { return nil }
        return FileTrust.objection(toPath: path).map { ": \($0)" }
    }

    /// A directory that libraries are looked for in.
    struct Directory {
        /// The directory as it was written, without a slash at its end.
        let path: String
        /// The way to it from the library's own directory; `nil` when it is written without `$ORIGIN`.
        let wayFromOrigin: String?
    }

    /// The directories that the library lists, those that cannot be understood left out.
    ///
    /// Where there are both lists, `DT_RUNPATH` counts alone.
    var directories: [Directory] {
        (library.runPath ?? library.oldRunPath ?? []).compactMap(parsed)
    }

    /// The directory in which the linker looks for a library whose name says where; `nil` when it does
    /// not.
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

    /// Puts the library's directory in the place of `$ORIGIN`; `nil` when there is another `$`.
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
