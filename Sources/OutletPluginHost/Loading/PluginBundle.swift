import FoundationEssentials
import Glibc
import OutletHTTP

/// A plugin's library and those that lie beside it for it to find (`$ORIGIN`): copies of all, checked.
struct PluginBundle: Sendable {
    /// The file's name.
    private let name: String
    private let library: PluginCopy
    private(set) var needed: [(place: Place, copy: PluginCopy)] = []
    /// What is walked through on the way to them.
    private var directories: Set<Place> = []
    private var bytesLeft = PluginCopy.largestSize
    private let checksOwnership: Bool

    /// A way from the plugin's directory: up some, then down.
    struct Place: Hashable {
        private(set) var ups = 0
        private(set) var names: [String] = []

        mutating func go(to name: String) {
            guard name == ".." else { return names.append(name) }
            if names.popLast() == nil { ups += 1 }
        }
    }

    /// A library whose needs are to be seen to.
    private struct Owner {
        let library: ELFLibrary
        /// Its directory, and where that is from the plugin's.
        let directory: String
        let place: Place
        /// The search path of the object that needs it (`DT_RPATH` also applies to its dependencies).
        let inherited: [(path: String, place: Place?)]
    }

    /// Copies what a library finds with the help of its own directory, and what that finds so.
    ///
    /// - Parameters:
    ///   - directory: Where the library lies, absolute, without symbolic links.
    ///   - name: Its name there.
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

    /// Copies what one library needs; gives the copied ones.
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

    /// The linker walks a way as it is written: what is left again on it must be there, too.
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
                throw .unsafe(reason: "needs \(path), which \(objection)")
            }
            if let objection = FileTrust.objection(toPath: path) {
                throw .unsafe(reason: "needs \(path): \(objection)")
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
                throw ELFLibrary.Problem.unsafe(reason: "needs \(path), which \(objection)")
            }
            return library
        } catch {
            throw .needed(path, error)
        }
    }

    /// Whether two bundles would be the same library to the linker.
    func hasSameBytes(as other: PluginBundle) -> Bool {
        needed.count == other.needed.count && library.hasSameBytes(as: other.library)
            && zip(needed, other.needed).allSatisfy {
                $0.place == $1.place && $0.copy.hasSameBytes(as: $1.copy)
            }
    }

    /// Gives the dynamic linker the path of the library, beside which it finds what is needed.
    ///
    /// That takes a directory of this user alone, which leads to the copies and is gone when this
    /// returns: what a debugger knows of such a plugin is what it read before. A plugin without libraries
    /// of its own needs none.
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
            // What the linker says of a needed library begins with where that was, which nobody knows.
            let isNamed = error.reason.startsWithBytes(of: "\(root)/")
            throw DynamicLibrary.Refusal(
                reason: String(error.reason.droppingBytes(isNamed ? root.utf8.count + 1 : 0)))
        }
    }

    /// Makes a directory and those above it.
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

    /// A new directory where nobody else can enter: in the user's own place, or the temporary one.
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
            reason = "\(place): no directory can be made for its libraries: \(systemText(errno))"
        }
        throw DynamicLibrary.Refusal(reason: reason)
    }

    /// Removes a directory with all that is in it; links are not followed.
    private static func remove(_ root: String) {
        try? FileManager.default.removeItem(atPath: root)
    }
}
