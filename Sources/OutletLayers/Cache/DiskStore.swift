import FoundationEssentials
import Glibc
import OutletFiles
import OutletHTTP
import OutletTransport

/// Stored responses in a directory, one file each; several processes may share it.
///
/// Files are created by renaming and read as a whole, so that no reader sees half of one. Files
/// damaged by a crash are detected by their checksum and removed. The file `<key>` contains the
/// last response of a URL; responses for other values of the fields in `Vary` are in
/// `<key>-<variant>`. Variants are found only through `<key>`, and never outlive it. Files that
/// another user has written, or can write to, are not used: the directory may be in a shared one.
///
/// Thread: any that may wait for the disk. ``write(_:key:)``, ``remove(_:)`` and ``removeAll()``
/// must not run at the same time.
final class DiskStore: Sendable {
    private let directory: String
    private struct Budget: Sendable {
        var capacity: Int
        /// The number of bytes at the last scan of the directory; `nil` before the first one.
        var usage: Int?
        var written = 0
    }
    private let budget: Lock<Budget>

    init(directory: String, capacity: Int) {
        self.directory = directory
        budget = Lock(Budget(capacity: capacity))
    }

    var capacity: Int {
        get { budget.withLock { $0.capacity } }
        set { budget.withLock { $0.capacity = newValue } }
    }

    // MARK: Reading

    func entry(for request: CacheRequest) -> CacheEntry? {
        guard let key = request.key else { return nil }
        let name = CacheFile.name(of: key)
        guard let last = read(name, key: key) else { return nil }
        if last.matches(request) { return last }
        let selectors = last.selectors.map {
            CacheEntry.Selector(name: $0.name, value: request.value(of: $0.name))
        }
        let other = read("\(name)-\(CacheFile.variant(selectors))", key: key)
        return other.flatMap { $0.matches(request) ? $0 : nil }
    }

    private func read(_ name: String, key: String) -> CacheEntry? {
        let path = path(name)
        // The path may be something else than a file: opening a pipe would block.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        guard status.st_uid == geteuid(), status.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
            return nil
        }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_size <= capacity,
            let data = Data(from: descriptor, count: Int(status.st_size)),
            let entry = CacheFile.decode(data, key: key)
        else {
            removeFile(name)
            return nil
        }
        // Files are removed in the order of their last use.
        futimens(descriptor, nil)
        return entry
    }

    // MARK: Writing

    /// Writes a response; replaces the one for the same requests.
    ///
    /// Does not write responses larger than an eighth of the capacity.
    ///
    /// - Throws: ``CacheStorageError`` if the directory cannot be created or the file cannot be
    ///   written.
    func write(_ entry: CacheEntry, key: String) throws(CacheStorageError) {
        guard let data = CacheFile.encode(entry, key: key), data.count <= capacity / 8 else {
            return removeReplaced(by: entry, key: key)
        }
        if mkdir(directory, 0o700) != 0, errno != EEXIST {
            throw CacheStorageError(
                PrivateFile.Failure(path: directory, what: "cannot be made", number: errno))
        }
        let name = CacheFile.name(of: key)
        if let last = read(name, key: key), !last.isReplaced(by: entry) {
            // A second name, and no new one: if the write fails, `<key>` must still be there.
            let variant = path("\(name)-\(CacheFile.variant(last.selectors))")
            unlink(variant)
            link(path(name), variant)
        }
        do throws(PrivateFile.Failure) {
            try PrivateFile.write(data, to: path(name))
        } catch {
            removeReplaced(by: entry, key: key)
            throw CacheStorageError(error)
        }
        keepInBounds(written: data.count)
    }

    /// Removes the response that a newer one, which is not written, would replace.
    func removeReplaced(by entry: CacheEntry, key: String) {
        let name = CacheFile.name(of: key)
        guard let last = read(name, key: key) else { return }
        if last.isReplaced(by: entry) {
            removeFile(name)
        } else {
            removeFile("\(name)-\(CacheFile.variant(entry.selectors))")
        }
    }

    /// Removes all responses of a URL.
    func remove(_ key: String) { removeFile(CacheFile.name(of: key)) }

    /// Removes a file; with a `<key>` also its variants.
    private func removeFile(_ name: String) {
        // Without a `<key>` there are no variants to scan the directory for.
        guard unlink(path(name)) == 0, !Self.isVariant(name) else { return }
        for file in files() where file.name.startsWithBytes(of: "\(name)-") {
            unlink(path(file.name))
        }
    }

    private static func isVariant(_ name: String) -> Bool { name.containsByte("-") }

    func removeAll() {
        for file in files() { unlink(path(file.name)) }
        budget.withLock { $0.usage = 0 }
    }

    /// The number of bytes used; reads the directory.
    var usage: Int { files().reduce(0) { $0 + $1.size } }

    // MARK: Bounds

    private struct File {
        let name: String
        let size: Int
        /// The time of the last use, in nanoseconds since 1970.
        let used: Duration
    }

    /// Returns the files of the cache.
    private func files() -> [File] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.compactMap { name in
            guard name.utf8.count >= 32, name.utf8.prefix(32).allSatisfy(Self.isNameByte) else {
                return nil
            }
            var status = stat()
            guard lstat(path(name), &status) == 0 else { return nil }
            return File(
                name: name, size: Int(status.st_size),
                used: .seconds(status.st_mtim.tv_sec) + .nanoseconds(status.st_mtim.tv_nsec))
        }
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        byte.hexValue != nil && byte.lowercased == byte
    }

    /// Scans the directory and removes the least recently used files if they exceed the capacity.
    ///
    /// Scans only if the directory may be full, or if so much was written that other processes may
    /// have filled it.
    private func keepInBounds(written: Int) {
        let capacity = budget.withLock { budget -> Int? in
            budget.written += written
            if let usage = budget.usage, usage + budget.written <= budget.capacity,
                budget.written <= budget.capacity / 8
            {
                return nil
            }
            return budget.capacity
        }
        guard let capacity else { return }
        var files = files()
        // Temporary files of processes that ended while writing.
        let hourAgo = Duration.seconds(time(nil) - 3600)
        for file in files where file.name.endsWithBytes(of: ".tmp") && file.used < hourAgo {
            unlink(path(file.name))
        }
        files.removeAll { $0.name.endsWithBytes(of: ".tmp") }
        var usage = files.reduce(0) { $0 + $1.size }
        if usage > capacity {
            var variants: [Substring: [File]] = [:]
            for file in files where Self.isVariant(file.name) {
                variants[file.name.prefix(whileByte: { $0 != UInt8(ascii: "-") }), default: []]
                    .append(file)
            }
            for file in files.sorted(by: { $0.used < $1.used }) {
                // Frees an eighth of the capacity, so that not every write has to scan again.
                guard usage > capacity - capacity / 8 else { break }
                for file in [file] + variants[file.name[...], default: []]
                where unlink(path(file.name)) == 0 { usage -= file.size }
            }
        }
        let left = usage
        budget.withLock { budget in
            budget.usage = left
            budget.written = 0
        }
    }

    private func path(_ name: String) -> String { "\(directory)/\(name)" }
}
