internal import CMicroHTTPD
internal import Dispatch
internal import Synchronization

/// Suspends connections (`MHD_suspend_connection`) and resumes them later.
///
/// A callback must not sleep instead: it would block the one thread that serves all connections.
final class Suspensions: Sendable {
    /// A suspended connection of libmicrohttpd.
    ///
    /// `@unchecked Sendable` because `MHD_resume_connection` may be called from any thread.
    private struct Connection: @unchecked Sendable {
        let pointer: OpaquePointer

        func resume() {
            MHD_resume_connection(pointer)
        }
    }

    private struct State {
        var isStopping = false
        var lastID = 0
        var timed: [Int: Connection] = [:]
        var held: [Int: [Connection]] = [:]
    }

    private let state = Mutex(State())

    /// Suspends a connection for a time.
    ///
    /// - Returns: `false` if the server is stopping; the connection is then not suspended.
    func suspend(_ connection: OpaquePointer, seconds: Double) -> Bool {
        let connection = Connection(pointer: connection)
        let id = state.withLock { state -> Int? in
            guard !state.isStopping else { return nil }
            state.lastID += 1
            state.timed[state.lastID] = connection
            MHD_suspend_connection(connection.pointer)
            return state.lastID
        }
        guard let id else { return false }
        DispatchQueue.global().asyncAfter(deadline: .now() + seconds) { [weak self] in
            self?.state.withLock { $0.timed.removeValue(forKey: id)?.resume() }
        }
        return true
    }

    /// Suspends a connection until this was called `count` times with this count, then resumes all.
    ///
    /// - Returns: `false` if this is the last connection or the server is stopping; the connection
    ///   is then not suspended.
    func hold(_ connection: OpaquePointer, until count: Int) -> Bool {
        let connection = Connection(pointer: connection)
        return state.withLock { state in
            guard !state.isStopping else { return false }
            let held = state.held[count, default: []]
            if held.count + 1 >= count {
                state.held[count] = nil
                for connection in held { connection.resume() }
                return false
            }
            state.held[count] = held + [connection]
            MHD_suspend_connection(connection.pointer)
            return true
        }
    }

    /// Resumes all connections; later calls suspend none.
    func stop() {
        state.withLock { state in
            state.isStopping = true
            for connection in state.timed.values { connection.resume() }
            for connection in state.held.values.joined() { connection.resume() }
            state.timed = [:]
            state.held = [:]
        }
    }
}
