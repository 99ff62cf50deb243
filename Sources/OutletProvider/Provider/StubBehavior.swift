/// Whether a request is sent, or answered with the endpoint's sample response.
public enum StubBehavior: Sendable, Equatable {
    /// The request is sent.
    case never
    /// The sample response is delivered at once.
    case immediate
    /// The sample response is delivered after a delay, in seconds; anything but a finite positive
    /// number counts as 0.
    case delayed(seconds: Double)
}
