internal import CFaults
internal import OutletSession
internal import OutletTransport

/// A name service that answers when a test lets it: for names that end in `.slow.test`.
///
/// Every other name is looked up as ever. Look-ups block the calling thread, as a name server
/// that does not answer would.
public final class SlowNameService: Sendable {
    private static let services = Lock<[String: SlowNameService]>([:])
    private static let observe: Void = observe_slow_lookups { name in
        guard let name else { return }
        let text = String(cString: name)
        let label = text.prefix { $0 != "." }
        services.withLock { $0[String(label)] }?.answer(text)
    }

    /// The name that is looked up so slowly.
    public let hostName: String
    /// Each look-up, as it begins.
    public let lookups = Recorder<String>()
    /// Each look-up, when it ends.
    public let answers = Recorder<String>()

    private let gate: Gate
    private let limit: Duration

    /// Makes a name whose look-up takes `limit`, unless it is let go before.
    ///
    /// - Throws: ``TestSupportError`` if there are no descriptors left.
    public init(taking limit: Duration = .seconds(60)) throws {
        gate = try Gate()
        self.limit = limit
        let label = "name\(UInt64.random(in: 0 ... .max))"
        hostName = "\(label).slow.test"
        _ = Self.observe
        Self.services.withLock { $0[label] = self }
    }

    /// Lets all look-ups end: the name does not exist.
    public func answer() {
        let label = hostName.prefix { $0 != "." }
        _ = Self.services.withLock { $0.removeValue(forKey: String(label)) }
        gate.open()
    }

    private func answer(_ name: String) {
        lookups.record(name)
        _ = gate.isOpen(within: limit)
        answers.record(name)
    }
}
