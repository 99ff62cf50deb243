import OutletHTTP
import OutletTransport

/// What a request that shares a transfer has in its place.
final class SharedTask: TransferTask {
    let identifier = TransferIdentifier.next()
    let currentRequest: HTTPRequest?
    private let flight: Flight
    private let visible = VisibleState()

    init(flight: Flight, request: HTTPRequest) {
        self.flight = flight
        currentRequest = request
    }

    var state: TransferState { visible.state }

    var isServerVerified: Bool { flight.isServerVerified }

    func cancel() {
        visible.wish(.canceling)
        flight.cancel(self)
    }

    func suspend() {
        visible.wish(.suspended)
        flight.suspend(self)
    }

    func resume() {
        visible.wish(.running)
        flight.resume(self)
    }

    /// The request that shares the transfer has its result.
    func complete() { visible.complete() }

    func reportProgress() { flight.reportProgress() }
}
