import Dispatch
import Outlet
import OutletTransport

/// Draws a progress line on stderr, ten times per second, starting after one second.
///
/// Draws nothing if stderr is not a terminal, only errors are wanted, or the wire log is written to
/// stderr at the same time.
final class ProgressReporter: Sendable {
    private struct State {
        var done: Int64 = 0
        var total: Int64 = -1
        var isStopped = false
    }

    private let state = Lock(State())
    private let console: Console
    private let start = ContinuousClock.now
    private let draws: Bool

    /// Makes a reporter.
    ///
    /// - Parameter console: The program's streams.
    init(console: Console) {
        self.console = console
        draws = console.canAnimate && !console.isQuiet && !console.logsWire
        guard draws else { return }
        StatusLine.begin()
        draw(after: .seconds(1))
    }

    /// Shows the progress of a request's upload and download.
    func watch(_ request: Request) {
        guard draws else { return }
        request.uploadProgress { [weak self] in self?.update($0) }
        request.downloadProgress { [weak self] in self?.update($0) }
    }

    private func update(_ progress: TransferProgress) {
        state.withLock { state in
            state.done = progress.completedUnitCount
            state.total = progress.totalUnitCount
        }
    }

    /// Erases the line until it is drawn the next time.
    func erase() {
        if draws { StatusLine.erase() }
    }

    /// Erases the line and stops drawing.
    func stop() {
        state.withLock { state in
            if draws, !state.isStopped { StatusLine.erase() }
            state.isStopped = true
        }
    }

    private func draw(after delay: DispatchTimeInterval) {
        DispatchQueue.global().asyncAfter(deadline: .now() + delay) { [weak self] in
            guard let self, self.draw() else { return }
            self.draw(after: .milliseconds(100))
        }
    }

    /// Draws the line; returns `false` once the reporter is stopped.
    private func draw() -> Bool {
        // Under the lock, so that no line is drawn after `stop` has erased it.
        state.withLock { state in
            guard !state.isStopped else { return false }
            let line = ProgressLine(
                done: state.done, total: state.total,
                elapsed: Int64((ContinuousClock.now - start) / .microseconds(1)))
            StatusLine.draw(line.text(columns: console.columns))
            return true
        }
    }
}
