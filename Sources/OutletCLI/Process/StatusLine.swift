import OutletTransport
import Synchronization

/// The line at the end of stderr that is drawn again and again while a transfer runs.
///
/// What else is written to stderr meanwhile goes through ``interrupt(_:)``.
///
/// Thread: any.
enum StatusLine {
    private static let isDrawn = Lock(false)
    /// Without a line, no write waits for that of another thread.
    private static let isUsed = Atomic(false)

    /// Prepares for the first line.
    static func begin() { isUsed.store(true, ordering: .relaxed) }

    /// Draws the line, or draws it anew.
    static func draw(_ text: String) {
        isDrawn.withLock { isDrawn in
            isDrawn = true
            try? OutputFile.standardError.write("\r\(text)\u{1B}[K")
        }
    }

    /// Erases the line.
    static func erase() { interrupt {} }

    /// Erases the line, and calls `write` before it is drawn again.
    static func interrupt(_ write: () -> Void) {
        guard isUsed.load(ordering: .relaxed) else { return write() }
        isDrawn.withLock { isDrawn in
            if isDrawn { try? OutputFile.standardError.write("\r\u{1B}[K") }
            isDrawn = false
            write()
        }
    }
}
