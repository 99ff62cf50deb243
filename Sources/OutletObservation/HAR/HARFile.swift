import Dispatch
package import FoundationEssentials
import Glibc
import OutletFiles
import OutletTransport

/// An archive file to which entries are appended; it is a valid archive after each entry.
///
/// It is written as a draft next to its destination. The first ``finish()`` moves it there and
/// replaces an older file.
///
/// Thread: any; the file is written on a private queue.
package final class HARFile: Sendable {
    private struct State: Sendable {
        let draft: PrivateFile.Draft
        /// Whether the draft was moved to its destination.
        var isPublished = false
        /// The offset of the next entry, in bytes; it overwrites the closing brackets.
        var position: Int
        var isFirst = true
        var error: HARError?
    }
    private let state: Lock<State>
    private let path: String
    private let tail: Data
    private let queue = DispatchQueue(label: "outlet.har.file")

    /// Creates an archive without entries next to its destination; only its owner may read it.
    ///
    /// - Parameter url: The destination; an existing file is kept until ``finish()``.
    /// - Throws: ``HARError/unwritable(path:reason:)`` when it cannot be created.
    package init(creatingAt url: URL) throws(HARError) {
        let path = url.path
        let draft: PrivateFile.Draft
        do throws(PrivateFile.Failure) {
            draft = try PrivateFile.Draft(of: PrivateFile.path(of: url))
        } catch {
            throw HARError(error, path: path)
        }
        self.path = path
        let creator = HAR.Creator.outlet
        let frame =
            #"{"log": {"version": "1.2", "creator": {"name": "\#(creator.name)", "#
            + #""version": "\#(creator.version)"}, "entries": [\#n"#
        tail = Data("\n]}}\n".utf8)
        let start = State(draft: draft, position: frame.utf8.count)
        let error = Self.write(Data(frame.utf8) + tail, to: draft.descriptor, at: 0)
        state = Lock(start)
        if let error { throw .unwritable(path: path, reason: error) }
    }

    deinit {
        let (draft, isPublished) = state.withLock { ($0.draft, $0.isPublished) }
        close(draft.descriptor)
        if !isPublished { draft.discard() }
    }

    /// Enqueues an entry; ``finish()`` throws the error if it cannot be written.
    ///
    /// - Parameter entry: The entry.
    package func append(_ entry: HAR.Entry) {
        queue.async { self.write(entry) }
    }

    private func write(_ entry: HAR.Entry) {
        let (descriptor, position, isFirst) = state.withLock {
            ($0.draft.descriptor, $0.position, $0.isFirst)
        }
        do {
            let text = try Data((isFirst ? "" : ",\n").utf8) + HAR.encoded(entry)
            let reason = Self.write(text + tail, to: descriptor, at: position)
            let error = reason.map { HARError.unwritable(path: path, reason: $0) }
            state.withLock { state in
                state.error = state.error ?? error
                guard error == nil else { return }
                state.position += text.count
                state.isFirst = false
            }
        } catch {
            let error = HARError.unwritable(path: path, reason: "\(error)")
            state.withLock { $0.error = $0.error ?? error }
        }
    }

    /// Waits until all enqueued entries are written, and moves the archive to its destination.
    ///
    /// - Throws: ``HARError/unwritable(path:reason:)``, the first error of writing or moving; an
    ///   older file is then kept.
    package func finish() async throws(HARError) {
        await withCheckedContinuation { continuation in
            queue.async {
                self.publish()
                continuation.resume()
            }
        }
        if let error = state.withLock({ $0.error }) { throw error }
    }

    /// Moves the archive to its destination, once and unless writing failed.
    ///
    /// Thread: the queue.
    private func publish() {
        let (draft, isReady) = state.withLock { ($0.draft, $0.error == nil && !$0.isPublished) }
        guard isReady else { return }
        do throws(PrivateFile.Failure) {
            try draft.publish()
            state.withLock { $0.isPublished = true }
        } catch {
            let error = HARError(error, path: path)
            state.withLock { $0.error = error }
        }
    }

    /// Writes all data at an offset; returns an error text if that fails.
    private static func write(_ data: Data, to descriptor: Int32, at position: Int) -> String? {
        var done = 0
        while done < data.count {
            let count = data.withUnsafeBytes {
                pwrite(
                    descriptor, $0.baseAddress?.advanced(by: done), data.count - done,
                    off_t(position + done))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return systemText(errno) }
            done += count
        }
        return nil
    }
}
