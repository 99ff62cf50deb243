/// The error of a closure or a component of a test that refuses something.
public struct Refused: Error, Sendable {
    /// Makes the error.
    public init() {}
}
