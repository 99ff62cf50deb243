/// Whether a request goes to the network.
public enum StubBehavior: Sendable, Equatable {
    /// It does.
    case never
    /// The sample answers at once.
    case immediate
    /// The sample answers after so many seconds.
    case delayed(seconds: Double)
}
