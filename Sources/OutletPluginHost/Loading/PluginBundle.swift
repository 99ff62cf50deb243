import FoundationEssentials
import Glibc
import OutletFiles
import OutletHTTP

/// Checked copies of a plugin's library and of the libraries that it finds relative to its
/// directory (`$ORIGIN`).
struct PluginBundle: Sendable {
    /// The file's name.
    private let name: String
    private let library: PluginCopy
    private(set) var needed: [(place: Place, copy: PluginCopy)] = []
    /// The directories on the paths to them.
    private var directories: Set<Place> = []
    private var bytesLeft = PluginCopy.largestSize
    private let checksOwnership: Bool

    /// A path relative to the plugin's directory: a number of `..`, then names.
    struct Place: Hashable {
        private(set) var ups = 0
        private(set) var names: [String] = []

        mutating func go(to name: String) {
            guard name == ".." else { return names.append(name) }
            if names.popLast() == nil { ups += 1 }
        }
    }

    /// A library whose dependencies are to be copied.
    private struct Owner {
        let library: ELFLibrary
        /// Its directory, and the same relative to the plugin's.
        let directory: String
        let place: Place
        /// The search path inherited from the library that needs it: `DT_RPATH` also applies to
        /// dependencies.
        let inherited: [(path: String, place: Place?)]
    }

    /// Copies the libraries that a library finds relative to its directory, and their dependencies.
    ///
    /// - Parameters:
    ///   - directory: The library's directory: absolute, without symbolic links.
    ///   - name: The library's file name.
    /// - Throws: ``ELFLibrary/Problem`` when a dependency is damaged, not safe or cannot be copied.
    init(
        _ copy: PluginCopy, _ library: ELFLibrary, directory: String, name: String,
        checksOwnership: Bool
    ) throws(ELFLibrary.Problem) {
        self.name = name
        self.library = copy
        self.checksOwnership = checksOwnership
        bytesLeft -= copy.bytes.size
        var owners = [
            Owner(library: library, directory: directory, place: Place(), inherited: [])
        ]
        while let owner = owners.popLast() {
            owners += try gather(for: owner)
        }
    }

    /// Copies the dependencies of one library.
    ///
    /// - Returns: The copied libraries, whose dependencies follow.
    private mutating func gather(for owner: Owner) throws(ELFLibrary.Problem) -> [Owner] {
        let search = LibrarySearch(owner.library, origin: owner.directory)
        let ways =
            owner.library.neededLibraries.compactMap(search.directory(ofNeeded:))
            + search.directories
        for way in ways { noteDirectories(on: way, from: owner.place) }
        func located(_ directory: LibrarySearch.Directory) -> (path: String, place: Place?) {
            let way = directory.wayFromOrigin.map { $0.parts(separatedBy: "/").map(String.init) }
            return (directory.path, way.map { self.place($0, from: owner.place) })
        }
        let own = search.directories.map(located)
        let directories = owner.library.runPath == nil ? own + owner.inherited : own
        var found: [Owner] = []
        for needed in owner.library.neededLibraries {
            let name = needed.cutAtLast("/").map { String($0.tail) } ?? needed
            let named = search.directory(ofNeeded: needed).map { [located($0)] }
            guard
                let (path, place) = (named ?? (needed.containsByte("/") ? [] : directories))
                    .first(where: { access("\($0.path)/\(name)", F_OK) == 0 }),
                let place
            else { continue }
            var target = place
            target.go(to: name)
            guard !self.needed.contains(where: { $0.place == target }) else { continue }
            let library = try copy("\(path)/\(name)", name: name, to: target)
            found.append(
                Owner(
                    library: library, directory: path, place: place,
                    inherited: owner.library.runPath == nil ? directories : []))
        }
        return found
    }

    private func place(_ way: [String], from start: Place) -> Place {
        var place = start
        for name in way where !name.isEmpty && name != "." { place.go(to: name) }
        return place
    }

    /// Records the directories of a path: the linker does not normalize paths, so each directory
    /// must exist, even one left again by `..`.
    private mutating func noteDirectories(on way: LibrarySearch.Directory, from start: Place) {
        guard let way = way.wayFromOrigin else { return }
        let names = way.parts(separatedBy: "/").map(String.init)
        for count in names.indices {
            directories.insert(place(Array(names[...count]), from: start))
        }
    }

    private mutating func copy(
        _ path: String, name: String, to place: Place
    ) throws(ELFLibrary.Problem) -> ELFLibrary {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { throw .needed(path, .invalid(reason: systemText(errno))) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw .needed(path, .invalid(reason: "it is not a regular file"))
        }
        if checksOwnership {
            if let objection = FileTrust.objection(to: status) {
                throw .unsafe(objection.after("needs \(path), which "))
            }
            if let objection = FileTrust.objection(toPath: path) {
                throw .unsafe(objection.after("needs \(path): "))
            }
        }
        do throws(ELFLibrary.Problem) {
            let copy = try PluginCopy(of: descriptor, name: name, limit: bytesLeft)
            bytesLeft -= copy.bytes.size
            let library = try ELFLibrary(copy.bytes)
            needed.append((place, copy))
            guard checksOwnership else { return library }
            let origin = path.cutAtLast("/").map { String($0.head) } ?? ""
            if let objection = LibrarySearch(library, origin: origin).objection {
                throw ELFLibrary.Problem.unsafe(objection.after("needs \(path), which "))
            }
            return library
        } catch {
            throw .needed(path, error)
        }
    }

    /// Whether two bundles have the same libraries with the same bytes at the same relative paths.
    func hasSameBytes(as other: PluginBundle) -> Bool {
        needed.count == other.needed.count && library.hasSameBytes(as: other.library)
            && zip(needed, other.needed).allSatisfy {
                $0.place == $1.place && $0.copy.hasSameBytes(as: $1.copy)
            }
    }

    /// Calls `body` with a path to the library that the dynamic linker can load, with its
    /// dependencies beside it.
    ///
    /// If there are dependencies, this creates a directory that only this user can enter, with
    /// links to the copies, and removes it before it returns; a debugger can read the symbols of
    /// the libraries only until then. Without dependencies, the path is that of the copy.
    func withPath<Result>(
        _ body: (String) throws(DynamicLibrary.Refusal) -> Result
    ) throws(DynamicLibrary.Refusal) -> Result {
        guard !needed.isEmpty else { return try body(library.path) }
        let root = try PluginBundle.makeDirectory()
        defer { PluginBundle.remove(root) }
        let depth = (directories.map(\.ups) + needed.map(\.place.ups)).max() ?? 0
        func path(_ place: Place) -> String {
            let ups = Array(repeating: "up", count: depth - place.ups)
            return ([root] + ups + place.names).joined(separator: "/")
        }
        for count in 0...depth {
            var place = Place()
            for _ in 0..<count { place.go(to: "..") }
            try PluginBundle.make(directory: path(place), below: root)
        }
        for directory in directories {
            try PluginBundle.make(directory: path(directory), below: root)
        }
        var own = Place()
        own.go(to: name)
        for (place, copy) in needed + [(own, library)] {
            let path = path(place)
            if let directory = path.cutAtLast("/")?.head {
                try PluginBundle.make(directory: String(directory), below: root)
            }
            guard symlink(copy.path, path) == 0 else {
                throw DynamicLibrary.Refusal(reason: "\(path): \(systemText(errno))")
            }
        }
        do {
            return try body(path(own))
        } catch {
            // The linker's text on a dependency begins with the temporary path, which means nothing
            // to users.
            let isNamed = error.reason.startsWithBytes(of: "\(root)/")
            throw DynamicLibrary.Refusal(
                reason: String(error.reason.droppingBytes(isNamed ? root.utf8.count + 1 : 0)))
        }
    }

    /// Creates a directory and its missing parents below `root`.
    private static func make(
        directory: String, below root: String
    ) throws(DynamicLibrary.Refusal) {
        var path = root
        for name in directory.droppingBytes(root.utf8.count).parts(separatedBy: "/")
        where !name.isEmpty {
            path += "/\(name)"
            guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
                throw DynamicLibrary.Refusal(reason: "\(path): \(systemText(errno))")
            }
        }
    }

    /// Creates a directory that only this user can enter, in `XDG_RUNTIME_DIR` or the temporary
    /// directory.
    private static func makeDirectory() throws(DynamicLibrary.Refusal) -> String {
        var status = stat()
        let runtime = getenv("XDG_RUNTIME_DIR").map { String(cString: $0) } ?? ""
        let isOwn =
            runtime.startsWithBytes(of: "/") && lstat(runtime, &status) == 0
            && status.st_mode & (S_IFMT | 0o7777) == S_IFDIR | 0o700 && status.st_uid == geteuid()
        let temporary = getenv("TMPDIR").map { String(cString: $0) } ?? ""
        let places = (isOwn ? [runtime] : []) + [temporary.isEmpty ? "/tmp" : temporary]
        var reason = ""
        for place in places {
            var template = Array("\(place)/outlet-plugin-XXXXXX".utf8CString)
            if mkdtemp(&template) != nil {
                return String(
                    decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
            }
            reason =
                "\(place): no directory can be made for its libraries: \(systemText(errno)); set "
                + "TMPDIR to one that can be written to"
        }
        throw DynamicLibrary.Refusal(reason: reason)
    }

    /// Removes a directory and its contents without following links.
    private static func remove(_ root: String) {
        try? FileManager.default.removeItem(atPath: root)
    }
}
